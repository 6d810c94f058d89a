//! `esker init`: a scene to start from.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;

use crate::exit_code::ExitCode;
use esker::output_file;

/// Write a commented scene to start from.
#[derive(Args)]
#[command(after_help = "Examples:\n  esker init --list\n  esker init hopper\n  \
    esker init pile -o heap.toml")]
pub struct Arguments {
    /// Which scene: hopper, drum, pile or mixer
    #[arg(required_unless_present = "list")]
    name: Option<String>,
    /// File to write [default: NAME.toml]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
    /// List the scenes
    #[arg(long)]
    list: bool,
}

/// Scenes by name.
const TEMPLATES: [(&str, &str); 4] = [
    ("hopper", include_str!("../../templates/hopper.toml")),
    ("drum", include_str!("../../templates/drum.toml")),
    ("pile", include_str!("../../templates/pile.toml")),
    ("mixer", include_str!("../../templates/mixer.toml")),
];

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if arguments.list {
        for (name, text) in TEMPLATES {
            println!("{name:<8} {}", title(text));
        }
    }
    let Some(name) = &arguments.name else {
        return Ok(ExitCode::SUCCESS);
    };
    let Some((_, text)) = TEMPLATES.iter().find(|(known, _)| known == name) else {
        let names = TEMPLATES.map(|(name, _)| name).join(", ");
        bail!("there is no scene \"{name}\" to start from; there are: {names}");
    };
    let path = match &arguments.output {
        Some(path) => path.clone(),
        None => PathBuf::from(format!("{name}.toml")),
    };
    if path.exists() && !arguments.force {
        bail!(
            "{} exists already; choose another name with -o, or replace it with --force",
            path.display()
        );
    }
    let shown = path.display().to_string();
    output_file::write(&path, text.replace("FILE", &shown).as_bytes())?;
    println!("{shown}");
    println!("next: esker check {shown}, then esker run {shown}");
    Ok(ExitCode::SUCCESS)
}

/// The first line of a scene, which says what it is.
fn title(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    line.trim_start_matches(['#', ' '])
}
