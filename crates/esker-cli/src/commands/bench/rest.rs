//! Beds at rest: what a step costs with all grains simulated, and with grains at rest frozen.

use std::time::Instant;

use esker_world::definition::Reduction;
use esker_world::{Stage, StageTimes, World};
use serde::Serialize;

use super::bed::{RowCount, SettledBox, sub_stepped};
use super::status_bytes;
use crate::exit_code::ExitCode;

/// Substeps per step.
const SUBSTEPS: usize = 25;
/// Steps in which a bed that was put together from boxes finds its loads.
const STEPS_TO_REST: usize = 40;
/// Steps of the full bed that are timed.
const FULL_STEPS: usize = 5;

/// Share of frozen grains from which on a step is calm.
const CALM: f64 = 0.999;

/// How a bed is measured.
pub struct Options {
    /// Numbers of grains.
    pub sizes: Vec<usize>,
    /// Steps with grains frozen that are timed, from the first one on.
    pub steps: usize,
    /// Threads.
    pub threads: usize,
}

/// What was measured of a bed.
#[derive(Debug, Serialize)]
struct BedTime {
    grains: usize,
    threads: usize,
    /// Seconds per step with all grains simulated.
    all_grains: f64,
    /// The same with grains at rest frozen, on as many of the threads as are faster, from the
    /// first step on: mean, refreshes included.
    reduced_mean: f64,
    /// Mean of the steps in which nearly all grains are frozen, if there are any, and how many there
    /// are.
    calm_mean: Option<f64>,
    calm_steps: usize,
    steps: usize,
    /// Steps before which everybody was set free.
    refreshes: usize,
    /// Grains that are free in the last step, and contacts that it solves.
    free: usize,
    contacts: usize,
    /// Mean share of frozen grains.
    level: f64,
    /// Resident memory per grain before anything is frozen and at the end, bytes.
    bytes_per_grain: [f64; 2],
    /// Seconds per step of each stage with grains frozen, mean.
    stages: Vec<(&'static str, f64)>,
}

/// Measures beds and prints what came out.
pub fn run(options: &Options, json: bool) -> anyhow::Result<ExitCode> {
    let settled = SettledBox::prepare(options.threads)?;
    let mut times = Vec::new();
    for &grains in &options.sizes {
        let time = measure(&settled, grains, options)?;
        if !json {
            print(&time);
        }
        times.push(time);
    }
    if json {
        println!("{}", serde_json::to_string_pretty(&times)?);
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(settled: &SettledBox, grains: usize, options: &Options) -> anyhow::Result<BedTime> {
    let before = status_bytes("VmRSS:").unwrap_or(0);
    let used = || status_bytes("VmRSS:").unwrap_or(0).saturating_sub(before) as f64;
    let mut def = settled.bed(grains, RowCount::Three, sub_stepped(SUBSTEPS));
    let mut world = World::new(&def)?;
    world.set_threads(options.threads);
    for _ in 0..STEPS_TO_REST {
        world.step()?;
    }
    let start = Instant::now();
    for _ in 0..FULL_STEPS {
        world.step()?;
    }
    let all_grains = start.elapsed().as_secs_f64() / FULL_STEPS as f64;
    let bytes = used();
    // The same bed goes on with its impulses.
    def.reduction = Some(Reduction::default());
    let state = world.state();
    drop(world);
    let mut world = World::restore(&def, state)?;
    // Threads that meet in every substep for a handful of grains cost more than the grains.
    world.set_max_threads(options.threads);
    let mut times = StageTimes::default();
    let (mut seconds, mut calm) = (Vec::new(), Vec::new());
    let (mut refreshes, mut refreshed) = (0, 0);
    let (mut free, mut contacts) = (0, 0);
    for _ in 0..options.steps {
        let start = Instant::now();
        let report = world.step()?;
        seconds.push(start.elapsed().as_secs_f64());
        if report.frozen as f64 > CALM * report.grains as f64 {
            calm.extend(seconds.last());
        }
        times.add(&report.times);
        (free, contacts) = (report.grains - report.frozen, report.contacts);
        let totals = world.reduction().copied().unwrap_or_default();
        refreshes += usize::from(totals.refreshed > refreshed);
        refreshed = totals.refreshed;
    }
    let count = world.grain_count() as f64;
    let steps = options.steps as f64;
    let mean = |list: &[f64]| list.iter().sum::<f64>() / list.len() as f64;
    Ok(BedTime {
        grains: world.grain_count(),
        threads: options.threads,
        all_grains,
        reduced_mean: mean(&seconds),
        calm_mean: (!calm.is_empty()).then(|| mean(&calm)),
        calm_steps: calm.len(),
        steps: options.steps,
        refreshes,
        free,
        contacts,
        level: world.reduction().map_or(0.0, |totals| totals.mean_level()),
        bytes_per_grain: [bytes / count, used() / count],
        stages: Stage::ALL
            .map(|s| (s.name(), times.get(s).as_secs_f64() / steps))
            .to_vec(),
    })
}

fn print(time: &BedTime) {
    let ms = |seconds: f64| 1e3 * seconds;
    let frozen = format!("with more than {:.1} % of the grains frozen", 100.0 * CALM);
    let calm = match time.calm_mean {
        None => format!("no step {frozen} (--steps: take more)"),
        Some(mean) => format!(
            "{:.3} ms in the {} steps {frozen} ({:.0} times less)",
            ms(mean),
            time.calm_steps,
            time.all_grains / mean
        ),
    };
    println!(
        "bed of {} grains at rest, {} threads: {:.2} ms per step; with grains at rest frozen {:.3} ms \
         over {} steps ({:.1} times less, {} refreshes), {calm}; \
         {:.1} % frozen on average, {} free and {} contacts at the end, {:.0} and {:.0} bytes per grain",
        time.grains,
        time.threads,
        ms(time.all_grains),
        ms(time.reduced_mean),
        time.steps,
        time.all_grains / time.reduced_mean,
        time.refreshes,
        100.0 * time.level,
        time.free,
        time.contacts,
        time.bytes_per_grain[0],
        time.bytes_per_grain[1],
    );
    for (name, seconds) in &time.stages {
        println!("{name:>12} {:8.3} ms", ms(*seconds));
    }
}
