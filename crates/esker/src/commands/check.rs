//! `esker check`: what is wrong with a scene, and what it will cost.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

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
    let scene = esker_scene::load(path)?;
    let estimate = esker_scene::estimate::estimate(&scene, None);
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&estimate)?);
    } else {
        println!("{}: the scene is right", scene.name);
        print!("{estimate}");
    }
    Ok(ExitCode::SUCCESS)
}
