//! `esker run`: simulates a scene.

mod progress;
mod summary;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context, bail};
use clap::Args;
use esker_scene::Scene;
use esker_world::World;

use progress::Progress;
use summary::{Summary, Totals};

/// Simulate a scene and write what came of it.
#[derive(Args)]
#[command(after_help = "Example:\n  esker run scenes/drum.toml -o out/drum")]
pub struct Arguments {
    /// Scene file (TOML)
    scene: PathBuf,
    /// Folder for the results [default: out/NAME]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Threads to use; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Stop after so many steps
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    steps: Option<u64>,
    /// Replace an existing folder
    #[arg(long)]
    force: bool,
    /// Print the summary as JSON on standard output
    #[arg(long)]
    json: bool,
}

/// Exit code of a run that was stopped from the keyboard.
const INTERRUPTED: u8 = 130;

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let scene = esker_scene::load(&arguments.scene)?;
    let output = match &arguments.output {
        Some(output) => output.clone(),
        None => Path::new("out").join(&scene.name),
    };
    let mut world = World::new(&scene.world)?;
    prepare_folder(&output, arguments.force)?;

    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed))
        .context("cannot listen for Ctrl-C")?;

    let steps = arguments.steps.unwrap_or(u64::MAX).min(scene.steps());
    let totals = simulate(&mut world, &scene, steps, &stop)?;
    let summary = Summary::new(&scene, &world, &totals, stop.load(Ordering::Relaxed));
    summary.write(&output, &world)?;
    if arguments.json {
        println!("{}", summary.to_json()?);
    } else {
        summary.print(&output);
    }
    Ok(if summary.interrupted {
        ExitCode::from(INTERRUPTED)
    } else {
        ExitCode::SUCCESS
    })
}

fn simulate(
    world: &mut World,
    scene: &Scene,
    steps: u64,
    stop: &AtomicBool,
) -> anyhow::Result<Totals> {
    let mut progress = Progress::new(&scene.name, steps, world.step_length());
    let mut totals = Totals::default();
    let start = Instant::now();
    while world.steps_done < steps && !stop.load(Ordering::Relaxed) {
        let report = world
            .step()
            .with_context(|| format!("scene {}", scene.name))?;
        totals.add(&report);
        totals.wall = start.elapsed();
        progress.show(&report, totals.wall);
    }
    progress.finish();
    Ok(totals)
}

/// Makes the result folder, or empties it when `force` is given. A folder that
/// holds anything but results of a run is never emptied.
fn prepare_folder(output: &Path, force: bool) -> anyhow::Result<()> {
    if output.exists() {
        if !force {
            bail!(
                "{} exists already; choose another folder with -o, or replace it with --force",
                output.display()
            );
        }
        let ours = output.join(summary::FILE_NAME).exists()
            || output
                .read_dir()
                .is_ok_and(|mut entries| entries.next().is_none());
        if !ours {
            bail!(
                "{} is not a folder of results (it has no {}), so --force does not replace it",
                output.display(),
                summary::FILE_NAME
            );
        }
        std::fs::remove_dir_all(output)
            .with_context(|| format!("cannot replace {}", output.display()))?;
    }
    std::fs::create_dir_all(output).with_context(|| format!("cannot create {}", output.display()))
}
