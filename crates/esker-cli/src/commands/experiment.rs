//! `esker experiment`: published experiments, run and judged.

use std::path::PathBuf;

use anyhow::{anyhow, bail};
use clap::Args;
use esker::{ChosenDevice, DeviceUnavailable};
use esker_scene::{Device, DevicePrecision};
use esker_study::DeviceSource;
use esker_study::bibliography::{self, Reference};
use esker_study::runner::{Finished, Options, Progress};
use esker_study::{Experiment, Judgement, Size, Status, pages, registry, report, runner};

use esker_world::World;
use esker_world::definition::WorldDef;

use crate::exit_code::ExitCode;

/// Run published experiments, compare with the papers and write reports.
///
/// Without a name, lists them. An experiment is reproduced, differs from the
/// paper for a known reason, or fails. Finished cases are kept in the output folder:
/// an interrupted run resumes where it was.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  esker experiment\n  esker experiment drum -o results\n  \
                        esker experiment --all --full -o results\n  \
                        esker experiment excavator --full --case frozen --threads 2"
)]
pub struct Arguments {
    /// Which one
    name: Option<String>,
    /// Run all
    #[arg(long, conflicts_with = "name")]
    all: bool,
    /// Run at full size rather than reduced
    #[arg(long)]
    full: bool,
    /// Print verdicts as JSON
    #[arg(long)]
    json: bool,
    /// Folder of results and reports
    #[arg(short, long, default_value = "experiments")]
    output: PathBuf,
    /// Also write pages of the book into this folder: Markdown, plots and pictures, and their index
    #[arg(long, value_name = "FOLDER")]
    book: Option<PathBuf>,
    /// Cases run at the same time; as many as the cores have threads for if not given
    #[arg(long)]
    workers: Option<usize>,
    /// Threads of each case; results do not depend on it
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// What computes steps, where it can; in runs of several devices results are the same to the
    /// bit, and in those of none as good [default: the CPU, in an order of its own]
    #[arg(long, value_name = "DEVICE", value_parser = ["cpu", "gpu", "auto"])]
    device: Option<String>,
    /// Run only cases whose names contain this text, and judge once all have results; may be
    /// given several times
    #[arg(long, value_name = "TEXT", requires = "name")]
    case: Vec<String>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let chosen = match &arguments.name {
        Some(name) => vec![find(name)?],
        None if arguments.all => registry::ALL.to_vec(),
        None => {
            list(arguments.json)?;
            return Ok(ExitCode::SUCCESS);
        }
    };
    let size = if arguments.full {
        Size::Full
    } else {
        Size::Reduced
    };
    if let Some(device) = arguments.device.as_deref().and_then(Device::named) {
        // Asked for once, and before any case: who has no GPU is told so in one line.
        let chosen = esker::device_for(device, DevicePrecision::Double, &WorldDef::default());
        if let ChosenDevice::NoGpu(reason) = chosen.map_err(no_gpu)? {
            eprintln!("device \"auto\": the CPU computes all cases: {reason}");
        }
    }
    let mut options = Options::new(arguments.output.clone(), size);
    options.threads = arguments.threads.max(1);
    options.device = arguments.device.as_deref().map(device_source);
    options.workers = match arguments.workers {
        Some(workers) => workers,
        None => options.workers / options.threads,
    }
    .max(1);
    let mut verdicts = Vec::new();
    for experiment in chosen {
        let name = experiment.about().name;
        if !arguments.case.is_empty() {
            let left = runner::run_some(experiment, &options, &arguments.case, &|p| {
                show_progress(name, p)
            })?;
            if let Some(first) = left.first() {
                eprintln!(
                    "{name}: {} cases have no result yet, such as “{first}”; it is judged when all have",
                    left.len()
                );
                continue;
            }
        }
        let finished = runner::run(experiment, &options, &|p| show_progress(name, p))?;
        let page = report::write(&arguments.output, experiment, &finished)?;
        if !arguments.json {
            show(&finished);
            println!("  report: {}", page.display());
        }
        if let Some(folder) = &arguments.book {
            let page = pages::write(folder, experiment, &finished)?;
            if !arguments.json {
                println!("  page of the book: {}", page.display());
            }
        }
        verdicts.push(finished.verdict());
    }
    if arguments.json {
        match verdicts.as_slice() {
            [one] if !arguments.all => println!("{}", serde_json::to_string_pretty(one)?),
            all => println!("{}", serde_json::to_string_pretty(all)?),
        }
    }
    let fails = verdicts.iter().any(|v| v.verdict == Judgement::Fails);
    Ok(if fails {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// Hands worlds the device of this name; those that it cannot compute stay on the CPU.
fn device_source(name: &str) -> DeviceSource {
    fn hand(device: Device, def: &WorldDef, world: &mut World) -> Result<(), String> {
        if def.device_obstacle().is_some() {
            return Ok(());
        }
        let device = esker::device_for(device, DevicePrecision::Double, def);
        match device.map_err(|error| error.to_string())?.gpu() {
            Some(device) => device.hand_to(world).map_err(|error| error.to_string()),
            None => Ok(()),
        }
    }
    match Device::named(name) {
        Some(Device::Gpu) => |def, world| hand(Device::Gpu, def, world),
        Some(Device::Auto) => |def, world| hand(Device::Auto, def, world),
        _ => |def, world| hand(Device::Cpu, def, world),
    }
}

fn no_gpu(reason: DeviceUnavailable) -> anyhow::Error {
    anyhow!("no GPU for this experiment: {reason}")
}

fn find(name: &str) -> anyhow::Result<&'static dyn Experiment> {
    if let Some(experiment) = registry::find(name) {
        return Ok(experiment);
    }
    let near = registry::near(name);
    if near.is_empty() {
        let all: Vec<&str> = registry::ALL.iter().map(|e| e.about().name).collect();
        bail!(
            "there is no experiment `{name}`; there are: {}",
            all.join(", ")
        );
    }
    bail!(
        "there is no experiment `{name}`; did you mean `{}`?",
        near.join("` or `")
    );
}

fn list(json: bool) -> anyhow::Result<()> {
    let all: Vec<_> = registry::ALL.iter().map(|e| e.about()).collect();
    if json {
        println!("{}", serde_json::to_string_pretty(&all)?);
        return Ok(());
    }
    println!("{:<20} {:>8} {:>8}  paper", "experiment", "full", "reduced");
    for about in all {
        println!(
            "{:<20} {:>7.0}s {:>7.0}s  {}\n    {}",
            about.name, about.seconds_full, about.seconds_reduced, about.paper, about.shows
        );
    }
    println!("\npapers (docs/src/bibliography.md)");
    let named = |reference: &&Reference| {
        let experiments = registry::ALL.iter().map(|e| e.about().paper);
        experiments
            .into_iter()
            .any(|paper| bibliography::of(paper) == Some(*reference))
    };
    for reference in bibliography::ALL.iter().filter(named) {
        println!("  {}\n    {reference}", reference.key);
    }
    Ok(())
}

fn show_progress(name: &str, progress: &Progress) {
    let stored = if progress.stored { " (stored)" } else { "" };
    eprintln!(
        "{name} {}/{}: {}{stored}",
        progress.done, progress.cases, progress.case
    );
}

fn show(finished: &Finished) {
    println!(
        "{}: {} ({:.1} s)",
        finished.experiment,
        finished.judgement().name(),
        finished.seconds
    );
    let bound = |b: Option<f64>| b.map_or("…".into(), |b| format!("{b:.4}"));
    let criteria = &finished.outcome.criteria;
    for c in criteria.iter().filter(|c| c.status != Status::Differs) {
        println!(
            "  {} {}: {:.4} [{}, {}]  paper: {}  (bounds: {})",
            if c.status == Status::Holds {
                "holds"
            } else {
                "FAILS"
            },
            c.name,
            c.value,
            bound(c.low),
            bound(c.high),
            c.paper,
            c.basis
        );
    }
    let differing: Vec<_> = criteria
        .iter()
        .filter(|c| c.status == Status::Differs)
        .filter_map(|c| c.difference.as_ref().map(|d| (c, d)))
        .collect();
    if !differing.is_empty() {
        println!("  differs from the paper, for known reasons:");
    }
    for (c, d) in differing {
        println!(
            "    FAILS {}: {:.4} [{}, {}]  paper: {}\n      explained [{}, {}]: {}",
            c.name,
            c.value,
            bound(c.low),
            bound(c.high),
            c.paper,
            bound(d.low),
            bound(d.high),
            d.reason
        );
    }
    for r in &finished.outcome.reported {
        println!(
            "  shown {}: {:.4}  paper: {}  (not judged: {})",
            r.name, r.value, r.paper, r.reason
        );
    }
}
