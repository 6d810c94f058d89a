//! `esker info`: what is in a file.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use esker::{SceneFolder, recording_path};
use esker_geometry::TriangleMesh;
use esker_record::Checkpoint;
use esker_scene::{Checked, Device};
use esker_world::definition::Split;
use glam::DVec3;
use serde_json::{Map, Value, json};

use crate::exit_code::ExitCode;
use crate::run_folder::{open_recording, read_scalars};

/// Show what is in a recording, checkpoint, scene or mesh, or what can compute.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  esker info out/drum\n  esker info scenes/drum.toml --json\n  esker info --devices"
)]
pub struct Arguments {
    /// Folder of a run, recording (.h5), checkpoint (.esker), scene (.toml) or mesh (.stl, .obj)
    file: Option<PathBuf>,
    /// Show the devices of this machine
    #[arg(long, conflicts_with = "file")]
    devices: bool,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// A fact: key, value for machines, words for people (none: for machines alone).
struct Fact(&'static str, Value, String);

fn fact(key: &'static str, value: impl Into<Value>, words: impl Into<String>) -> Fact {
    Fact(key, value.into(), words.into())
}

/// A fact whose number needs no more words.
fn plain(key: &'static str, value: impl Into<Value> + ToString) -> Fact {
    let words = value.to_string();
    fact(key, value, words)
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let (title, facts) = match &arguments.file {
        None if arguments.devices => ("devices".to_owned(), of_devices()),
        None => bail!("give a FILE to show, or --devices to show what this machine computes with"),
        Some(file) => {
            let path = recording_path(file);
            let facts = match file.is_dir() {
                true => of_recording(&path)?,
                false => facts(&path)?,
            };
            (path.display().to_string(), facts)
        }
    };
    if arguments.json {
        let map: Map<String, Value> = facts
            .into_iter()
            .map(|Fact(key, value, _)| (key.to_owned(), value))
            .collect();
        println!("{}", serde_json::to_string_pretty(&map)?);
    } else {
        println!("{title}");
        for Fact(key, _, words) in facts.into_iter().filter(|fact| !fact.2.is_empty()) {
            println!("  {:<12} {words}", key.replace('_', " "));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What this machine has to compute with.
fn of_devices() -> Vec<Fact> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let instructions = format!("{:?}", esker_solver::lanes::Instructions::detect());
    let cpu = fact(
        "cpu",
        json!({ "threads": cores, "instructions": instructions }),
        format!("{cores} threads, {instructions}"),
    );
    std::iter::once(cpu).chain(gpus()).collect()
}

/// That there is no GPU, and why.
fn no_gpu(reason: &str) -> Vec<Fact> {
    vec![
        fact("gpu", Value::Null, format!("none: {reason}")),
        fact("gpu_reason", reason, ""),
    ]
}

#[cfg(feature = "gpu")]
fn gpus() -> Vec<Fact> {
    let devices = match esker_gpu::devices() {
        Ok(devices) => devices,
        Err(error) => return no_gpu(&error.to_string()),
    };
    let in_words = devices.iter().map(|device| {
        let [major, minor] = device.capability;
        let (gibibytes, processors) = (device.memory >> 30, device.multiprocessors);
        format!(
            "{}: {gibibytes} GiB, {processors} multiprocessors, compute capability {major}.{minor}",
            device.name
        )
    });
    let words = in_words.collect::<Vec<_>>().join("; ");
    let values = devices.iter().map(|device| {
        json!({
            "name": device.name,
            "memory": device.memory,
            "multiprocessors": device.multiprocessors,
            "capability": device.capability,
        })
    });
    vec![fact("gpu", values.collect::<Vec<_>>(), words)]
}

#[cfg(not(feature = "gpu"))]
fn gpus() -> Vec<Fact> {
    no_gpu(&esker::DeviceUnavailable::NotBuilt.to_string())
}

/// Recognises a file by its first bytes, or else by its name.
fn facts(path: &Path) -> anyhow::Result<Vec<Fact>> {
    let mut start = Vec::new();
    File::open(path)
        .and_then(|file| file.take(8).read_to_end(&mut start))
        .with_context(|| format!("cannot open {}", path.display()))?;
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    match (start.as_slice(), extension.to_ascii_lowercase().as_str()) {
        (b"\x89HDF\r\n\x1a\n", _) => of_recording(path),
        (b"ESKERCKP", _) | (_, "esker") => of_checkpoint(path),
        (_, "toml") => of_scene(path),
        (_, "stl" | "obj") => of_mesh(path),
        _ => bail!(
            "{} is no recording, checkpoint, scene (.toml) or mesh (.stl, .obj)",
            path.display()
        ),
    }
}

fn of_recording(path: &Path) -> anyhow::Result<Vec<Fact>> {
    let recording = open_recording(path)?;
    let header = recording.header();
    let settings = &header.settings;
    let frames = recording.frames();
    let scalars = read_scalars(&recording)?;
    let span = match (frames.first(), frames.last()) {
        (Some(first), Some(last)) => format!(
            "{} from {:.4} to {:.4} s",
            frames.len(),
            first.time,
            last.time
        ),
        _ => "none".into(),
    };
    let fields: Vec<&str> = settings.fields.iter().map(|f| f.name()).collect();
    let walls: Vec<&str> = header.walls.iter().map(|w| w.name.as_str()).collect();
    let probes: Vec<&str> = header.probes.iter().map(|p| p.name.as_str()).collect();
    let grains = frames.last().map_or(0, |f| f.grains);
    let shapes = match header.shapes.len() {
        0 => "spheres alone".to_owned(),
        count => format!("{count} beside spheres"),
    };
    let bits = match settings.precision {
        esker_record::Precision::Single => 32,
        esker_record::Precision::Double => 64,
    };
    let sizes = recording.files().map(std::fs::metadata);
    let size = sizes.flatten().map(|data| data.len()).sum::<u64>();
    Ok(vec![
        plain("kind", "recording"),
        plain("scene", header.name.as_str()),
        fact(
            "version",
            header.version.as_str(),
            format!("written by esker {}", header.version),
        ),
        fact("frames", frames.len(), span),
        fact("grains", grains, format!("{grains} in the last frame")),
        fact(
            "steps",
            scalars.len(),
            format!("{} of {} s each, with scalars", scalars.len(), header.step),
        ),
        fact(
            "fields",
            fields.clone(),
            format!("id {}, {bits} bit", fields.join(" ")),
        ),
        plain("contacts", settings.contacts),
        fact("shapes", header.shapes.len(), shapes),
        fact("walls", walls.clone(), walls.join(", ")),
        fact("probes", probes.clone(), probes.join(", ")),
        fact("size", size, bytes(size)),
    ])
}

fn of_checkpoint(path: &Path) -> anyhow::Result<Vec<Fact>> {
    let checkpoint = Checkpoint::read(path)?;
    let state = &checkpoint.state;
    let size = std::fs::metadata(path)?.len();
    Ok(vec![
        plain("kind", "checkpoint"),
        fact(
            "version",
            checkpoint.version.as_str(),
            format!("written by esker {}", checkpoint.version),
        ),
        plain("identity", checkpoint.scene.to_string()),
        plain("step", state.steps_done),
        fact("time", checkpoint.time, format!("{:.6} s", checkpoint.time)),
        plain(
            "grains",
            state.all_grains().filter(|g| !g.is_body()).count(),
        ),
        plain(
            "bodies",
            state.grains.iter().filter(|g| g.is_body()).count(),
        ),
        fact(
            "contacts",
            state.remembered.len(),
            format!("{} with remembered impulses", state.remembered.len()),
        ),
        plain("frames", checkpoint.mark.frames),
        fact("size", size, bytes(size)),
    ])
}

fn of_scene(path: &Path) -> anyhow::Result<Vec<Fact>> {
    let files = SceneFolder::of_scene(path);
    let Checked { scene, grains } = esker_scene::load_from(path, &files, usize::MAX)?;
    let world = &scene.world;
    let materials: Vec<&str> = world.materials.iter().map(|m| m.name.as_str()).collect();
    let walls: Vec<&str> = world.walls.iter().map(|w| w.name.as_str()).collect();
    let grains = grains.map_or(0, |grains| grains.count());
    let record = match scene.record.every {
        Some(every) => format!("every {every} s"),
        None => "first and last state".into(),
    };
    let reduction = world.reduction.map(|reduction| match reduction.split {
        Split::Balance => "balance",
        Split::Trial(_) => "trial",
    });
    let frozen = match reduction {
        Some(method) => format!("grains at rest are frozen (method {method:?})"),
        None => "off".into(),
    };
    let is_stated =
        |device: &&(&str, Device)| scene.device_is_given && device.1 == scene.run.device;
    let device = Device::ALL.iter().find(is_stated).map(|(name, _)| *name);
    Ok(vec![
        plain("kind", "scene"),
        plain("scene", scene.name.as_str()),
        fact(
            "duration",
            scene.run.duration,
            format!(
                "{} s in {} steps of {} s",
                scene.run.duration,
                scene.steps(),
                world.step
            ),
        ),
        fact("materials", materials.clone(), materials.join(", ")),
        fact("walls", walls.clone(), walls.join(", ")),
        fact("grains", grains, format!("{grains} at the start")),
        plain("emitters", world.emitters.len()),
        plain("sinks", world.sinks.len()),
        fact("reduction", json!(reduction), frozen),
        fact(
            "device",
            json!(device),
            device.unwrap_or("not stated: the CPU, in an order of its own"),
        ),
        fact("record", json!(scene.record.every), record),
    ])
}

fn of_mesh(path: &Path) -> anyhow::Result<Vec<Fact>> {
    let mesh = TriangleMesh::from_path(path)?;
    let bounds = mesh.bounds();
    let size = bounds.size();
    let list = |v: DVec3| json!(v.to_array());
    Ok(vec![
        plain("kind", "mesh"),
        plain("triangles", mesh.soup().triangles.len()),
        plain("vertices", mesh.soup().vertices.len()),
        fact(
            "dropped",
            mesh.dropped_triangles(),
            format!(
                "{} degenerate or doubled triangles",
                mesh.dropped_triangles()
            ),
        ),
        fact(
            "size",
            list(size),
            format!("{:.6} × {:.6} × {:.6} m", size.x, size.y, size.z),
        ),
        fact("min", list(bounds.min), format!("{} m", bounds.min)),
        fact("max", list(bounds.max), format!("{} m", bounds.max)),
        plain("closed", mesh.is_closed()),
    ])
}

/// A number of bytes for people.
fn bytes(count: u64) -> String {
    const UNITS: [(f64, &str); 3] = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let exact = count as f64;
    match UNITS.iter().find(|(size, _)| exact >= *size) {
        Some((size, unit)) => format!("{:.1} {unit}", exact / size),
        None => format!("{count} bytes"),
    }
}
