//! `esker export`: a recording as files that other tools open.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use esker_record::{
    export_vtk, walls_in_frame, write_grains_csv, write_joints_csv, write_scalars_csv,
};

use crate::arguments::time;
use crate::exit_code::ExitCode;
use crate::run_folder::{open_recording, read_scalars};
use esker::output_file;

/// Export a recording: VTK for ParaView, scalars and grains as CSV, walls as STL.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  esker export out/drum\n  esker export out/drum --stl --at 0.5 -o meshes\n  \
    esker export out/fill --csv    (a scene reads grains.csv with place = \"csv\")"
)]
pub struct Arguments {
    /// Folder of a run, or a recording
    run: PathBuf,
    /// Folder for the files [default: RUN/export]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Only grains, walls, contacts and joints as VTKHDF, for ParaView
    #[arg(long)]
    vtk: bool,
    /// Only scalars and wall loads of every step, and the grains of one frame, as CSV
    #[arg(long)]
    csv: bool,
    /// Only walls as STL
    #[arg(long)]
    stl: bool,
    /// Time of the grains in CSV and of the walls in STL, s [default: the last frame of grains,
    /// the first of walls]
    #[arg(long, value_name = "TIME", value_parser = time)]
    at: Option<f64>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let recording = open_recording(&arguments.run)?;
    if recording.frames().is_empty() {
        bail!("the recording has no frames yet");
    }
    let folder = match (&arguments.output, recording.path().parent()) {
        (Some(folder), _) => folder.clone(),
        (None, parent) => parent.unwrap_or(Path::new("")).join("export"),
    };
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let all = !(arguments.vtk || arguments.csv || arguments.stl);
    let mut written = Vec::new();
    if all || arguments.vtk {
        written.extend(export_vtk(&recording, &folder)?);
        let header = recording.header();
        if !header.joints.is_empty() {
            written.push(write_with(folder.join("joints.csv"), |out| {
                write_joints_csv(header, out)
            })?);
        }
    }
    if all || arguments.csv {
        let scalars = read_scalars(&recording)?;
        written.push(write_with(folder.join("scalars.csv"), |out| {
            write_scalars_csv(&scalars, out)
        })?);
        let last = recording.frames().len() - 1;
        let index = arguments.at.and_then(|time| recording.nearest(time));
        let frame = recording.frame(index.unwrap_or(last))?;
        written.push(write_with(folder.join("grains.csv"), |out| {
            write_grains_csv(recording.header(), &frame, out)
        })?);
    }
    if all || arguments.stl {
        let index = arguments
            .at
            .and_then(|time| recording.nearest(time))
            .unwrap_or(0);
        let frame = recording.frame(index)?;
        for (i, (name, soup)) in walls_in_frame(recording.header(), &frame)
            .iter()
            .enumerate()
        {
            let path = folder.join(format!("wall-{i}-{}.stl", file_name(name)));
            written.push(write_with(path, |out| soup.write_stl_binary(out))?);
        }
    }
    for path in written {
        println!("{}", path.display());
    }
    Ok(ExitCode::SUCCESS)
}

fn write_with(
    path: PathBuf,
    content: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
) -> anyhow::Result<PathBuf> {
    output_file::write_with(&path, content)?;
    Ok(path)
}

/// A wall's name with only what file names may hold everywhere.
fn file_name(name: &str) -> String {
    let allowed = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    name.chars()
        .map(|c| if allowed(c) { c } else { '_' })
        .collect()
}
