//! `esker bench`: how fast this machine steps, as ratios to the reference code.

mod bed;
mod gpu;
mod kernels;
mod load;
mod rest;
mod solvers;
mod threads;

use std::time::Instant;

use anyhow::bail;
use clap::{Args, Subcommand};
use esker_parallel::Team;
use esker_scene::{Device, DevicePrecision};
use esker_solver::lanes::Instructions;
use esker_solver::packed::{BYTES_PER_BODY, BYTES_PER_CONTACT, BYTES_WRITTEN_PER_CONTACT};
use esker_world::{Stage, StageTimes, World};
use serde::Serialize;

use crate::exit_code::ExitCode;
use crate::threads::{cores, most_threads};
use bed::{RowCount, SettledBox, sub_stepped};
use kernels::{KernelTime, Sweeps, Way};

/// Measure the speed of every stage on this machine.
#[derive(Args)]
#[command(after_help = "Example:\n  esker bench --quick")]
pub struct Arguments {
    #[command(subcommand)]
    what: Option<What>,
    /// Take under a minute: beds of up to 1e5 grains, fewer repeats
    #[arg(long)]
    quick: bool,
    /// Print the results as JSON on standard output
    #[arg(long)]
    json: bool,
    /// Thread counts to measure, besides one [default: 2 and all cores]
    #[arg(long, value_name = "N,N", value_delimiter = ',')]
    threads: Vec<usize>,
    /// Only this load, as wall time per simulated second on the most threads
    #[arg(long, value_enum)]
    load: Option<load::Load>,
    /// Compare steps on this device with those on all cores, or time a load on it
    #[arg(long, value_name = "DEVICE", value_parser = ["cpu", "gpu"])]
    device: Option<String>,
    /// Precision of a load on a GPU
    #[arg(long, value_name = "PRECISION", value_parser = ["double", "mixed"], requires = "load")]
    precision: Option<String>,
    /// Sizes of the beds of `--load rest` [default: 10,000, 100,000 and, unless quick, 1,000,000]
    #[arg(long, value_name = "N,N", value_delimiter = ',', requires = "load", value_parser = clap::value_parser!(u32).range(1..))]
    grains: Vec<u32>,
    /// Steps of `--load rest` that are timed
    #[arg(long, value_name = "N", default_value_t = 2000, requires = "load", value_parser = clap::value_parser!(u32).range(1..))]
    steps: u32,
}

#[derive(Subcommand)]
enum What {
    Solvers(solvers::Arguments),
    Threads(threads::Arguments),
}

/// Everything measured.
#[derive(Debug, Serialize)]
struct Report {
    /// Instruction set in use.
    instructions: &'static str,
    /// Cores there are.
    cores: usize,
    /// K: time per 3-row contact and sweep, one thread, data beyond L2, s: the
    /// best of the two ways, which is the sweep over a whole step's rows.
    seconds_per_contact_iteration: f64,
    /// The same of a substep, which also moves bodies and follows overlaps, s.
    seconds_per_contact_substep: f64,
    /// The same with data in L2, s.
    seconds_per_contact_iteration_in_cache: f64,
    /// Block sweep over scalar reference, one thread, data beyond L2.
    vector_speedup: f64,
    /// The same with data in L2.
    vector_speedup_in_cache: f64,
    /// Whole step on two threads over one, 1e5 grains.
    thread_speedup_2: f64,
    /// Share of find_pairs, collide and assemble in a step of 1e5 grains, 50 sweeps.
    collision_and_assembly_share: f64,
    /// Largest resident memory of the whole run.
    peak_bytes: Option<u64>,
    /// Stage `advance` per contact and sweep at 1e6 grains over that at 1e5;
    /// full runs only.
    million_over_hundred_thousand: Option<f64>,
    /// Resident memory per grain.
    bytes_per_particle: f64,
    /// Resident memory per contact.
    bytes_per_contact: f64,
    /// Data of contacts and bodies that a 3-row substep reads and writes per
    /// contact, 1e5 grains.
    bytes_moved_per_contact_iteration: f64,
    /// That times the rate of contacts, bytes per second.
    contact_bandwidth: f64,
    kernels: Vec<KernelTime>,
    steps: Vec<StepTime>,
}

/// Mean time of whole steps.
#[derive(Clone, Debug, Serialize)]
struct StepTime {
    grains: usize,
    contacts: usize,
    threads: usize,
    sweeps: usize,
    seconds_per_step: f64,
    /// Stage `advance` per contact and sweep, s.
    seconds_per_contact_iteration: f64,
    /// Whole step per contact and sweep, s.
    step_seconds_per_contact_iteration: f64,
    /// Mean overlap of touching contacts, in diameters.
    mean_overlap: f64,
    /// Seconds per step of each stage.
    stages: Vec<(&'static str, f64)>,
}

/// Grains of the bed that headline numbers are measured on.
const MANY: usize = 100_000;
/// Grains whose contacts fit L2.
const FEW: usize = 800;
/// Sweeps per step.
const SWEEPS: usize = 50;

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    match &arguments.what {
        Some(What::Solvers(arguments)) => return solvers::run(arguments),
        Some(What::Threads(arguments)) => return threads::run(arguments),
        None => {}
    }
    let cores = cores();
    let device = arguments.device.as_deref().and_then(Device::named);
    if let Some(load) = arguments.load {
        let threads = most_threads(arguments.threads.iter().copied().max());
        return match load {
            load::Load::Drum => {
                let precision = arguments.precision.as_deref();
                let precision = precision.and_then(DevicePrecision::named);
                let on = (device.unwrap_or_default(), precision.unwrap_or_default());
                load::drum(on, threads, arguments.json)
            }
            load::Load::Rest => {
                let stated = [
                    ("--device", &arguments.device),
                    ("--precision", &arguments.precision),
                ];
                if let Some((option, _)) = stated.iter().find(|(_, value)| value.is_some()) {
                    bail!(
                        "--load rest has no {option}: it measures the CPU, which is faster where \
                         nearly all grains are frozen; --load drum has one"
                    );
                }
                let sizes = match (&arguments.grains[..], arguments.quick) {
                    ([], true) => vec![10_000, MANY],
                    ([], false) => vec![10_000, MANY, 1_000_000],
                    (given, _) => given.iter().map(|&grains| grains as usize).collect(),
                };
                let options = rest::Options {
                    sizes,
                    steps: arguments.steps as usize,
                    threads,
                };
                rest::run(&options, arguments.json)
            }
        };
    }
    if let Some(Device::Gpu) = device {
        return gpu::run(arguments.quick, arguments.json);
    }
    let mut thread_counts = if arguments.threads.is_empty() {
        vec![2, cores]
    } else {
        arguments.threads.clone()
    };
    thread_counts.push(2);
    thread_counts.retain(|&n| n > 1);
    thread_counts.sort_unstable();
    thread_counts.dedup();

    let settled = SettledBox::prepare(cores)?;
    let repeats = if arguments.quick { 3 } else { 7 };
    let mut kernels = Vec::new();
    for (rows, count) in [(RowCount::Three, 3), (RowCount::Six, 6)] {
        for grains in [FEW, MANY] {
            let world = warmed(&settled, grains, rows)?;
            let repeats = repeats * if grains == FEW { 20 } else { 1 };
            let sweeps = Sweeps::of(&world, count, repeats);
            for way in [Way::SubStepped, Way::WholeStep] {
                kernels.push(sweeps.reference(way));
                for instructions in Instructions::available() {
                    kernels.push(sweeps.block(way, instructions, &mut Team::new(1)));
                }
                if grains == MANY {
                    for &threads in &thread_counts {
                        let team = &mut Team::new(threads);
                        kernels.push(sweeps.block(way, Instructions::detect(), team));
                    }
                }
            }
        }
    }

    let sizes: &[usize] = if arguments.quick {
        &[1_000, 10_000, MANY]
    } else {
        &[1_000, 10_000, MANY, 1_000_000]
    };
    let mut steps = Vec::new();
    let mut memory = (0.0, 0.0);
    for &grains in sizes {
        let before = status_bytes("VmRSS:");
        let bed = settled.bed(grains, RowCount::Three, sub_stepped(SWEEPS));
        let mut world = World::new(&bed)?;
        world.set_threads(cores);
        for _ in 0..if grains > MANY { 2 } else { STEPS_TO_REST } {
            world.step()?;
        }
        let mut counts = vec![1];
        if grains == MANY {
            counts.extend(&thread_counts);
        }
        for threads in counts {
            world.set_threads(threads);
            steps.push(time_steps(
                &mut world,
                if grains > MANY { 2 } else { repeats },
            )?);
        }
        if let (Some(before), Some(after), Some(step)) =
            (before, status_bytes("VmRSS:"), steps.last())
        {
            let used = after.saturating_sub(before) as f64;
            if grains >= MANY && used > 0.0 {
                memory = (used / step.grains as f64, used / step.contacts as f64);
            }
        }
    }
    let report = summarise(cores, kernels, steps, memory);
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print(&report);
    }
    Ok(ExitCode::SUCCESS)
}

/// Steps in which a bed comes to rest that was put together from boxes.
const STEPS_TO_REST: usize = 20;

/// A bed whose contacts have found their loads.
fn warmed(settled: &SettledBox, grains: usize, rows: RowCount) -> anyhow::Result<World> {
    let mut world = World::new(&settled.bed(grains, rows, sub_stepped(25)))?;
    for _ in 0..3 {
        world.step()?;
    }
    Ok(world)
}

fn time_steps(world: &mut World, steps: usize) -> anyhow::Result<StepTime> {
    world.step()?;
    let mut times = StageTimes::default();
    let (mut contacts, mut overlap) = (0, 0.0);
    let start = Instant::now();
    for _ in 0..steps {
        let report = world.step()?;
        times.add(&report.times);
        contacts = report.contacts;
        overlap = report.mean_overlap;
    }
    let seconds = start.elapsed().as_secs_f64() / steps as f64;
    let sweeps = world.method().sweeps();
    let of = |stage| times.get(stage).as_secs_f64() / steps as f64;
    let per_contact = 1.0 / (contacts * sweeps) as f64;
    Ok(StepTime {
        grains: world.grains().len(),
        contacts,
        threads: world.threads(),
        sweeps,
        seconds_per_step: seconds,
        seconds_per_contact_iteration: of(Stage::Advance) * per_contact,
        step_seconds_per_contact_iteration: seconds * per_contact,
        mean_overlap: overlap,
        stages: Stage::ALL.map(|s| (s.name(), of(s))).to_vec(),
    })
}

fn summarise(
    cores: usize,
    kernels: Vec<KernelTime>,
    steps: Vec<StepTime>,
    memory: (f64, f64),
) -> Report {
    let widest = Instructions::detect().name();
    let kernel = |way: Way, code: &str, few: bool| {
        kernels
            .iter()
            .find(|k| {
                (k.way, k.rows, k.threads, k.code) == (way, 3, 1, code)
                    && (k.grains < 10 * FEW) == few
            })
            .map_or(f64::NAN, |k| k.seconds_per_contact_iteration)
    };
    let best = [Way::WholeStep, Way::SubStepped]
        .into_iter()
        .min_by(|a, b| kernel(*a, widest, false).total_cmp(&kernel(*b, widest, false)))
        .unwrap_or(Way::WholeStep);
    let gain = |few| kernel(best, "scalar_reference", few) / kernel(best, widest, few);
    let substep = kernel(Way::SubStepped, widest, false);
    let step = |threads: usize| {
        let near = |s: &&StepTime| s.threads == threads && s.grains.abs_diff(MANY) < MANY / 2;
        steps.iter().find(near)
    };
    let seconds = |threads: usize| step(threads).map_or(f64::NAN, |s| s.seconds_per_step);
    let share = step(1).map_or(f64::NAN, |s| {
        let front = ["find_pairs", "collide", "assemble"];
        let stages = s.stages.iter().filter(|(name, _)| front.contains(name));
        stages.map(|(_, t)| t).sum::<f64>() / s.seconds_per_step
    });
    let of_contacts = BYTES_PER_CONTACT[0] + BYTES_WRITTEN_PER_CONTACT[0];
    let moved = step(1).map_or(f64::NAN, |s| {
        let bodies = s.grains as f64 / s.contacts as f64;
        of_contacts as f64 + bodies * BYTES_PER_BODY as f64
    });
    let million = steps.iter().find(|s| s.grains > 5 * MANY);
    let million_over_hundred_thousand = million.and_then(|m| {
        let hundred_thousand = step(1)?.seconds_per_contact_iteration;
        Some(m.seconds_per_contact_iteration / hundred_thousand)
    });
    Report {
        instructions: widest,
        cores,
        seconds_per_contact_iteration: kernel(best, widest, false),
        seconds_per_contact_substep: substep,
        seconds_per_contact_iteration_in_cache: kernel(best, widest, true),
        vector_speedup: gain(false),
        vector_speedup_in_cache: gain(true),
        thread_speedup_2: seconds(1) / seconds(2),
        collision_and_assembly_share: share,
        peak_bytes: status_bytes("VmHWM:"),
        million_over_hundred_thousand,
        bytes_per_particle: memory.0,
        bytes_per_contact: memory.1,
        bytes_moved_per_contact_iteration: moved,
        contact_bandwidth: moved / substep,
        kernels,
        steps,
    }
}

fn print(report: &Report) {
    let nano = |s: f64| format!("{:6.1} ns", s * 1e9);
    println!(
        "{} on {} cores, {} of contacts and bodies moved per contact and substep ({:.1} GB/s)\n",
        report.instructions,
        report.cores,
        format_args!("{:.0} B", report.bytes_moved_per_contact_iteration),
        report.contact_bandwidth * 1e-9
    );
    println!(
        "sweeps, per contact            rows  grains  threads      time   over scalar  lanes filled"
    );
    for k in &report.kernels {
        let reference = report.kernels.iter().find(|r| {
            (r.way, r.rows, r.grains) == (k.way, k.rows, k.grains) && r.code == "scalar_reference"
        });
        let speedup = reference.map_or(f64::NAN, |r| {
            r.seconds_per_contact_iteration / k.seconds_per_contact_iteration
        });
        println!(
            "{:12} {:17} {:4} {:8} {:6}  {}   {:5.2}   {:.0} %",
            match k.way {
                Way::SubStepped => "sub-stepped",
                Way::WholeStep => "whole-step",
            },
            k.code,
            k.rows,
            k.grains,
            k.threads,
            nano(k.seconds_per_contact_iteration),
            speedup,
            100.0 * k.lane_fill
        );
    }
    println!("\nsteps of {SWEEPS} substeps");
    println!(
        "   grains  contacts threads   per step   advance per contact-sweep   all   shares of stages"
    );
    for s in &report.steps {
        let shares: Vec<String> = s
            .stages
            .iter()
            .map(|(name, t)| format!("{name} {:.1} %", 100.0 * t / s.seconds_per_step))
            .collect();
        println!(
            "{:9} {:9} {:4} {:9.1} ms   {}   {}   {}",
            s.grains,
            s.contacts,
            s.threads,
            s.seconds_per_step * 1e3,
            nano(s.seconds_per_contact_iteration),
            nano(s.step_seconds_per_contact_iteration),
            shares.join(", ")
        );
    }
    println!(
        "\nvector speed-up {:.2} ({:.2} in cache), two threads {:.2}, collision and assembly {:.1} %, \
         {:.0} B per grain, {:.0} B per contact",
        report.vector_speedup,
        report.vector_speedup_in_cache,
        report.thread_speedup_2,
        100.0 * report.collision_and_assembly_share,
        report.bytes_per_particle,
        report.bytes_per_contact
    );
    if let Some(peak) = report.peak_bytes {
        println!("peak memory {:.2} GB", peak as f64 * 1e-9);
    }
    if let Some(ratio) = report.million_over_hundred_thousand {
        println!("a contact and sweep of 1e6 grains takes {ratio:.2} of what it takes at 1e5");
    }
}

/// A number of bytes that the system tells about this process, where it does.
fn status_bytes(what: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with(what))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}
