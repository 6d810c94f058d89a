//! `esker check`: what is wrong with a scene, and what it will cost.

use std::path::PathBuf;

use clap::Args;
use esker::SceneFolder;
use esker_scene::{Checked, Device, DevicePrecision, Scene};
use esker_world::definition::WorldDef;

use crate::exit_code::ExitCode;

/// Grains that are placed without being asked to: a second or two.
const PLACED_UNASKED: usize = 50_000;

/// Check a scene without running it, and estimate what it needs.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  esker check scenes/drum.toml\n  esker check --schema > esker.schema.json"
)]
pub struct Arguments {
    /// Scene file (TOML)
    #[arg(required_unless_present = "schema")]
    scene: Option<PathBuf>,
    /// Print the JSON schema of scenes, for editors
    #[arg(long)]
    schema: bool,
    /// Place the grains also where there are very many, to see whether they have room
    #[arg(long)]
    place: bool,
    /// Print the estimate as JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if arguments.schema {
        println!("{}", serde_json::to_string_pretty(&esker_scene::schema())?);
    }
    let Some(path) = &arguments.scene else {
        return Ok(ExitCode::SUCCESS);
    };
    let most_placed = match arguments.place {
        true => usize::MAX,
        false => PLACED_UNASKED,
    };
    let Checked { scene, grains } =
        esker_scene::load_from(path, &SceneFolder::of_scene(path), most_placed)?;
    let mut estimate = esker_scene::estimate::estimate(&scene, None);
    estimate.notes.extend(missing_gpu(&scene));
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&estimate)?);
    } else {
        println!("{}: the scene is right", scene.name);
        if !scene.step_is_given {
            let step = scene.world.step;
            println!("step        {step:.2e} s (chosen; `step` in the scene sets it)");
        }
        print!("{estimate}");
        if grains.is_none() {
            println!(
                "note: so many grains were not placed to see whether they have room; \
                 --place does, in about the time and memory that a run needs to start"
            );
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// That this machine has no GPU for a scene that names one.
fn missing_gpu(scene: &Scene) -> Option<String> {
    let device = scene.run.device;
    if device == Device::Cpu || scene.world.device_obstacle().is_some() {
        return None;
    }
    // Of a world without grains: whether the device opens is the question.
    let reason =
        esker::device_for(Device::Gpu, DevicePrecision::Double, &WorldDef::default()).err()?;
    let then = match device {
        Device::Auto => "the processor computes the run",
        _ => "the run fails, unless `--device cpu` or `--device auto` is given",
    };
    Some(format!("no GPU here: {reason}; {then}"))
}
