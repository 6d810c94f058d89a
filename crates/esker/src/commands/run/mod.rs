//! `esker run`: simulates a scene.

mod balance;
mod folder;
mod output;
mod probes;
mod profile;
mod progress;
mod stop;
mod summary;
mod totals;
mod verdict;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context;
use clap::Args;
use esker_record::fclib::{self, FclibProblem};
use esker_record::problem_file::write_problem;
use esker_world::World;

use crate::scene_file::SceneFile;
use crate::threads::most_threads;
use folder::ResultFolder;
use output::{Job, Output};
use profile::Profile;
use progress::Progress;
use stop::StopSignal;
use summary::Summary;
use totals::Totals;

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
    let (file, grains) = SceneFile::load(&arguments.scene, arguments.resume)?;
    let scene = &file.scene;
    for warning in esker_scene::estimate::estimate(scene, None).warnings {
        eprintln!("warning: {warning}");
    }
    let folder = match &arguments.output {
        Some(folder) => folder.clone(),
        None => Path::new("out").join(&scene.name),
    };
    let (folder, mut job) = if arguments.resume {
        let folder = ResultFolder::open(&folder)?;
        let job = Output::resume(folder.path(), &file)?;
        (folder, job)
    } else {
        let grains = grains.expect("a run that starts places its grains");
        let world = World::with_grains_of(&scene.world, grains)?;
        let folder = ResultFolder::create(&folder, arguments.force)?;
        let output = Output::start(folder.path(), &file, &world)?;
        let job = Job {
            totals: Totals::of_start(&world),
            world,
            output,
        };
        (folder, job)
    };
    let folder = folder.path();

    let until = Until {
        steps: arguments.steps.unwrap_or(u64::MAX),
        time: scene.steps() as f64 * scene.world.step,
    };
    let mut profile = arguments.profile.then(Profile::default);
    let watch = Watch {
        stop: &stop,
        dump_steps: &arguments.dump_step,
        folder,
    };
    job.world
        .set_max_threads(most_threads(arguments.threads.map(usize::from)));
    simulate(&mut job, &file, until, watch, profile.as_mut())?;
    let Job {
        world,
        totals,
        output,
    } = job;
    output.finish(&world, &totals)?;
    let interrupted = !until.reached(&world);
    let summary = Summary::new(scene, &world, &totals, interrupted);
    summary.write(folder, &world)?;
    if arguments.json {
        println!("{}", summary.to_json()?);
    } else {
        summary.print(folder);
    }
    if let Some(profile) = profile {
        profile.write(folder)?;
        eprintln!("{}", profile.table());
    }
    if let Some(code) = stop.exit_code().filter(|_| interrupted) {
        eprintln!(
            "to continue: esker run {} -o {} --resume",
            arguments.scene.display(),
            folder.display()
        );
        return Ok(ExitCode::from(code));
    }
    if summary.is_wrong() {
        return Ok(ExitCode::from(WRONG));
    }
    Ok(ExitCode::SUCCESS)
}

/// Exit code of a run that came to its end but must not be used.
const WRONG: u8 = 2;

/// Where a run ends.
#[derive(Clone, Copy)]
struct Until {
    steps: u64,
    time: f64,
}

impl Until {
    fn reached(self, world: &World) -> bool {
        let rounding = 1e-6 * world.step_length();
        world.steps_done >= self.steps || world.time() > self.time - rounding
    }
}

/// What a run looks out for between steps.
struct Watch<'a> {
    stop: &'a StopSignal,
    dump_steps: &'a [u64],
    folder: &'a Path,
}

fn simulate(
    job: &mut Job<'_>,
    file: &SceneFile,
    until: Until,
    watch: Watch<'_>,
    mut profile: Option<&mut Profile>,
) -> anyhow::Result<()> {
    let Job {
        world,
        totals,
        output,
    } = job;
    let name = file.scene.name.as_str();
    let steps = file.scene.steps().min(until.steps);
    let mut progress = Progress::new(name, steps, file.scene.world.step);
    let (start, before) = (Instant::now(), totals.wall);
    while !until.reached(world) && watch.stop.exit_code().is_none() {
        let report = world.step().with_context(|| failure(name, output))?;
        totals.add(&report, &world.walls);
        totals.wall = before + start.elapsed().as_secs_f64();
        output.after_step(world, &report, totals)?;
        if let Some(profile) = &mut profile {
            profile.add(report.step, report.times);
        }
        if watch.dump_steps.contains(&report.step) {
            write_problem_ahead(world, watch.folder)?;
        }
        progress.show(&report, totals.wall);
    }
    progress.finish();
    Ok(())
}

/// Writes the contact problem of the step to come: where there are machines, with their joints, in
/// the layout of FCLIB.
fn write_problem_ahead(world: &mut World, folder: &Path) -> anyhow::Result<()> {
    let name = format!("problem-{}", world.steps_done);
    if world.machines().is_empty() {
        let problem = world.problem_ahead()?;
        write_problem(&folder.join(name).with_extension("esker"), &problem)?;
    } else {
        let problem = FclibProblem::Local(world.coupled_problem_ahead()?);
        fclib::write(&folder.join(name).with_extension("hdf5"), &problem)?;
    }
    Ok(())
}

/// What to say when a step fails.
fn failure(name: &str, output: &Output<'_>) -> String {
    match output.last_good_checkpoint() {
        Some(path) => format!("scene {name} (last good checkpoint: {})", path.display()),
        None => format!("scene {name} (there is no checkpoint yet)"),
    }
}
