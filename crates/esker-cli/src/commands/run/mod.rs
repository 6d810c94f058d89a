//! `esker run`: simulates a scene.

mod profile;
mod progress;

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;
use esker::{Error, Grade, LoadedScene, Simulation, Until};
use esker_record::fclib::{self, FclibProblem};
use esker_record::problem_file::write_problem;
use esker_scene::{Device, DevicePrecision, Overrides};
use esker_world::World;

use crate::exit_code::ExitCode;
use crate::stop_signal::StopSignal;
use crate::threads::most_threads;
use profile::Profile;
use progress::Progress;

/// Simulate a scene and write what came of it.
#[derive(Args)]
#[command(after_help = "Example:\n  esker run scenes/drum.toml -o out/drum\n\n\
    Ctrl-C, SIGTERM and SIGHUP end a run with a checkpoint and the exit codes 130, 143 and 129; \
    --resume continues it.")]
pub struct Arguments {
    /// Scene file (TOML)
    scene: PathBuf,
    /// Folder for the results [default: out/NAME]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Threads to use at most, as long as they are faster than fewer; results do not depend on it
    /// [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// What computes steps. cpu, gpu and auto give the same results to the bit; without any, the CPU
    /// sweeps contacts in an order of its own, with other last digits [default: `device` of the scene,
    /// or none]
    #[arg(long, value_name = "DEVICE", value_parser = ["cpu", "gpu", "auto"])]
    device: Option<String>,
    /// Numbers that a GPU computes whole steps with: mixed is faster and has bits of its own; the CPU
    /// computes in double precision [default: `precision` of the scene, or double]
    #[arg(long, value_name = "PRECISION", value_parser = ["double", "mixed"])]
    precision: Option<String>,
    /// Stop after so many steps
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    steps: Option<u64>,
    /// Replace an existing folder
    #[arg(long)]
    force: bool,
    /// Continue a run that was stopped or killed, from its newest checkpoint
    #[arg(long, conflicts_with = "force")]
    resume: bool,
    /// Print where the time goes, and write a trace for trace viewers
    #[arg(long)]
    profile: bool,
    /// Write the contact problem after so many steps to problem-N.esker (problem-N.hdf5 where there are joints), for `esker solve`
    #[arg(long, value_name = "N")]
    dump_step: Vec<u64>,
    /// Print the summary as JSON on standard output
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let stop = StopSignal::listen()?;
    let mut simulation = begin(arguments)?;
    let folder = simulation.folder().map(Path::to_owned).unwrap_or_default();
    let until = Until {
        steps: arguments.steps.unwrap_or(u64::MAX),
        ..simulation.end_of_scene()
    };
    let world = simulation.world_mut();
    world.set_max_threads(most_threads(arguments.threads.map(usize::from)));
    let mut profile = arguments.profile.then(Profile::default);
    let scene = simulation.scene().scene();
    let steps = scene.steps().min(until.steps);
    let mut progress = Progress::new(&scene.name, steps, scene.world.step);
    let is_stopped = || stop.exit_code().is_some();
    simulation.run(until, is_stopped, |simulation, report| {
        if let Some(profile) = &mut profile {
            profile.add(report.step, report.times);
        }
        if arguments.dump_step.contains(&report.step) {
            simulation.fetch()?;
            write_problem_ahead(simulation.world_mut(), &folder)?;
        }
        progress.show(report, simulation.wall_seconds());
        anyhow::Ok(())
    })?;
    progress.finish();
    let summary = simulation.finish()?;
    match arguments.json {
        true => println!("{}", summary.to_json()),
        false => println!("{summary}"),
    }
    if let Some(profile) = profile {
        profile.write(&folder)?;
        eprintln!("{}", profile.table());
    }
    if let Some(code) = stop.exit_code().filter(|_| summary.is_interrupted()) {
        eprintln!(
            "to continue: esker run {} -o {} --resume",
            arguments.scene.display(),
            folder.display()
        );
        return Ok(ExitCode::from(code));
    }
    if summary.verdict().grade == Grade::Wrong {
        return Ok(ExitCode::from(WRONG));
    }
    Ok(ExitCode::SUCCESS)
}

/// Exit code of a run that came to its end but must not be used.
const WRONG: u8 = 2;

/// Loads the scene and starts or resumes its run.
fn begin(arguments: &Arguments) -> anyhow::Result<Simulation> {
    let overrides = Overrides {
        device: arguments.device.as_deref().and_then(Device::named),
        precision: (arguments.precision.as_deref()).and_then(DevicePrecision::named),
    };
    let scene = match arguments.resume {
        true => LoadedScene::load_to_resume(&arguments.scene, overrides)?,
        false => LoadedScene::load_overridden(&arguments.scene, overrides)?,
    };
    for warning in scene.warnings() {
        eprintln!("warning: {warning}");
    }
    let folder = match &arguments.output {
        Some(folder) => folder.clone(),
        None => Path::new("out").join(&scene.scene().name),
    };
    let mut simulation = if arguments.resume {
        Simulation::resume(scene, &folder).map_err(advised)?
    } else {
        let mut simulation = Simulation::new(scene)?;
        simulation
            .record_to(&folder, arguments.force)
            .map_err(advised)?;
        simulation
    };
    for warning in simulation.take_warnings() {
        eprintln!("warning: {warning}");
    }
    simulation.leave_on_device(true);
    let obstacle = simulation.world_mut().resident_obstacle();
    let is_mixed = simulation.scene().scene().run.precision == DevicePrecision::Mixed;
    match (simulation.world().device(), obstacle) {
        (None, _) if is_mixed => {
            eprintln!("precision \"mixed\" has no effect: the CPU computes in double precision");
        }
        (None, _) => {}
        (Some(device), None) if is_mixed => eprintln!(
            "steps on {} in mixed precision, with bits of its own",
            device.name()
        ),
        (Some(device), None) => eprintln!("steps on {}", device.name()),
        (Some(device), Some(why)) => {
            let effect = match is_mixed {
                true => "; precision \"mixed\" has no effect on them",
                false => "",
            };
            let name = device.name();
            eprintln!("substeps on {name} (all else by the CPU: {why}){effect}");
        }
    }
    if arguments.resume {
        let (steps, time) = (simulation.world().steps_done(), simulation.time());
        eprintln!("resuming at step {steps}, t = {time:.4} s");
    }
    Ok(simulation)
}

/// An error with the options that help.
pub fn advised(error: Error) -> anyhow::Error {
    match error {
        Error::Exists { .. } => {
            anyhow!("{error}; choose another folder with -o, or replace it with --force")
        }
        Error::NotResults { .. } => anyhow!("{error} by --force"),
        Error::InUse { .. } => anyhow!("{error} with -o"),
        error => error.into(),
    }
}

/// Writes the contact problem of the step to come: where there are machines, with their joints, in
/// the layout of FCLIB.
fn write_problem_ahead(world: &mut World, folder: &Path) -> anyhow::Result<()> {
    let name = format!("problem-{}", world.steps_done());
    if world.machines().is_empty() {
        let problem = world.problem_ahead()?;
        write_problem(&folder.join(name).with_extension("esker"), &problem)?;
    } else {
        let problem = FclibProblem::Local(world.coupled_problem_ahead()?);
        fclib::write(&folder.join(name).with_extension("hdf5"), &problem)?;
    }
    Ok(())
}
