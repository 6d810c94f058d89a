//! `esker check`: what is wrong with a scene, and what it will cost.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

/// Check a scene without running it, and estimate what it needs.
#[derive(Args)]
#[command(after_help = "Examples:\n  esker check scenes/drum.toml\n  esker check --schema > esker.schema.json")]
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
