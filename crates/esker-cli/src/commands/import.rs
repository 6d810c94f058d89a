//! `esker import`: a robot as a scene.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use clap::Args;
use esker_urdf::Base;

use crate::exit_code::ExitCode;
use esker::output_file;

/// Write a scene with the robot that a URDF file describes.
#[derive(Args)]
#[command(after_help = "Examples:\n  esker import robot.urdf\n  \
    esker import digger.urdf -o digger.toml --floating")]
pub struct Arguments {
    /// URDF file
    file: PathBuf,
    /// Scene to write [default: the file's name with .toml]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Let the robot float instead of fixing its root to the ground
    #[arg(long)]
    floating: bool,
    /// Replace an existing scene
    #[arg(long)]
    force: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let file = &arguments.file;
    let text =
        std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let robot = esker_urdf::read(&text).with_context(|| file.display().to_string())?;
    let output = match &arguments.output {
        Some(path) => path.clone(),
        None => file.with_extension("toml"),
    };
    if output.exists() && !arguments.force {
        bail!(
            "{} exists already; choose another name with -o, or replace it with --force",
            output.display()
        );
    }
    let base = if arguments.floating {
        Base::Floating
    } else {
        Base::Fixed
    };
    let folder = |path: &Path| path.parent().unwrap_or(Path::new("")).to_path_buf();
    let (source, target) = (folder(file), folder(&output));
    let mesh_file = |name: &str| {
        let found = find_mesh(&source, name);
        let seen = found.strip_prefix(&target).unwrap_or(&found);
        match seen.is_relative() && source == target {
            true => seen.display().to_string(),
            // The scene is elsewhere: only a whole path leads there.
            false => std::path::absolute(&found)
                .unwrap_or(found)
                .display()
                .to_string(),
        }
    };
    let scene = esker_urdf::write_scene(&robot, base, &mesh_file)
        .map_err(|problem| anyhow!("{}: {problem}", file.display()))?;
    output_file::write(&output, scene.text.as_bytes())?;
    let shown = output.display();
    println!("{shown}");
    for note in &scene.notes {
        println!("note: {note}");
    }
    println!("next: esker check {shown}, then esker run {shown}");
    Ok(ExitCode::SUCCESS)
}

/// Where a mesh file is: relative to the description, or `package://NAME/…` in the folder of that
/// name around it. The name as it is where it is not found: `esker check` tells.
fn find_mesh(source: &Path, name: &str) -> PathBuf {
    let plain = name.strip_prefix("file://").unwrap_or(name);
    let Some(rest) = plain.strip_prefix("package://") else {
        return source.join(plain);
    };
    let inside = rest.split_once('/').map_or(rest, |(_, path)| path);
    let whole = std::path::absolute(source).unwrap_or_else(|_| source.to_path_buf());
    let around = whole
        .ancestors()
        .flat_map(|folder| [folder.join(rest), folder.join(inside)]);
    let near = [source.join(rest), source.join(inside)];
    near.into_iter()
        .chain(around)
        .find(|path| path.exists())
        .unwrap_or_else(|| source.join(inside))
}
