//! `esker bench threads`: what sharing a step among threads gains on a quiet
//! machine, and what it costs on a busy one.
//!
//! Worlds that differ in nothing but their threads take turns at the same
//! steps, so that all of them see the same machine. Times count from the first
//! step: they include what it costs to find out how many threads are best.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use clap::Args;
use esker_world::World;
use serde::Serialize;

use super::bed::{RowCount, SettledBox, sub_stepped};
use crate::exit_code::ExitCode;
use crate::threads::{cores, most_threads};

/// Measure what threads gain on a quiet machine and cost on a busy one.
#[derive(Args)]
#[command(after_help = "Example:\n  esker bench threads --busy 8")]
pub struct Arguments {
    /// Threads of other work that keep the machine busy in the second half
    #[arg(long, value_name = "N", default_value_t = 4)]
    busy: usize,
    /// Numbers of grains
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_values_t = [1, 100, 2_400, MANY])]
    grains: Vec<usize>,
    /// Threads to use at most [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Seconds per number of grains that one thread is measured for
    #[arg(long, value_name = "S", default_value_t = 6.0)]
    seconds: f64,
    /// Print the results as JSON on standard output
    #[arg(long)]
    json: bool,
}

/// Grains of the bed on which two threads are compared with one.
const MANY: usize = 100_000;
/// A step may take this many times what it takes on one thread.
const MOST_SLOWER: f64 = 1.3;
/// Two threads are to be this much faster than one on [`MANY`] grains.
const LEAST_SPEEDUP: f64 = 1.8;
/// Substeps per step.
const SUBSTEPS: usize = 25;
/// Turns that the measured time is cut into.
const TURNS: f64 = 12.0;

/// One row of the table; times are means, s per step.
#[derive(Debug, Serialize)]
struct Row {
    grains: usize,
    /// Threads of other work.
    busy: usize,
    steps: usize,
    one_thread: f64,
    /// On exactly two threads; on a quiet machine with two cores only.
    two_threads: Option<f64>,
    /// On as many as the program chose.
    chosen: f64,
    /// How many these were.
    mean_threads: f64,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let most = most_threads(arguments.threads);
    let settled = SettledBox::prepare(cores())?;
    let mut rows = Vec::new();
    if !arguments.json {
        println!("  busy   grains    one thread   two threads  up to {most} threads   over one");
    }
    for busy in [0, arguments.busy] {
        let _load = OtherWork::start(busy);
        for &grains in &arguments.grains {
            let row = measure(&settled, (grains, busy), most, arguments.seconds)?;
            if !arguments.json {
                row.print();
            }
            rows.push(row);
        }
    }
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&rows)?);
    }
    let broken: Vec<String> = rows.iter().filter_map(Row::broken_bound).collect();
    for bound in &broken {
        eprintln!("MISSED: {bound}");
    }
    Ok(if broken.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

impl Row {
    fn broken_bound(&self) -> Option<String> {
        let slower = self.chosen / self.one_thread;
        if slower > MOST_SLOWER {
            return Some(format!(
                "{} grains beside {} busy threads: {slower:.2} times one thread's time, \
                 {MOST_SLOWER} allowed",
                self.grains, self.busy
            ));
        }
        let speedup = self.one_thread / self.two_threads?;
        (self.grains >= MANY && speedup < LEAST_SPEEDUP).then(|| {
            format!(
                "{} grains: two threads are {speedup:.2} times as fast as one, \
                 {LEAST_SPEEDUP} wanted",
                self.grains
            )
        })
    }

    fn print(&self) {
        let two_threads = self
            .two_threads
            .map_or_else(String::new, |time| format!("{:.3} ms", 1e3 * time));
        println!(
            "{:6} {:8} {:10.3} ms {two_threads:>13} {:10.3} ms ({:.1}) {:9.2}",
            self.busy,
            self.grains,
            1e3 * self.one_thread,
            1e3 * self.chosen,
            self.mean_threads,
            self.chosen / self.one_thread
        );
    }
}

/// A world and the time its steps took.
struct Contender {
    world: World,
    seconds: f64,
    threads: usize,
}

impl Contender {
    fn new(world: World) -> Self {
        Contender {
            world,
            seconds: 0.0,
            threads: 0,
        }
    }

    fn step(&mut self, steps: usize) -> anyhow::Result<()> {
        let start = Instant::now();
        for _ in 0..steps {
            self.threads += self.world.step()?.threads;
        }
        self.seconds += start.elapsed().as_secs_f64();
        Ok(())
    }
}

fn measure(
    settled: &SettledBox,
    (grains, busy): (usize, usize),
    most: usize,
    seconds: f64,
) -> anyhow::Result<Row> {
    let world = || -> anyhow::Result<World> {
        let method = sub_stepped(SUBSTEPS);
        match grains {
            0 | 1 => settled.lone_grain(method),
            _ => Ok(World::new(&settled.bed(grains, RowCount::Three, method))?),
        }
    };
    let mut one = Contender::new(world()?);
    let mut chosen = Contender::new(world()?);
    chosen.world.set_max_threads(most);
    let mut two = if busy == 0 && most > 1 {
        let mut world = world()?;
        world.set_threads(2);
        Some(Contender::new(world))
    } else {
        None
    };
    // Turns of a length that fits the scene.
    let mut turn = 1;
    let mut steps = 0;
    while one.seconds < seconds {
        let before = one.seconds;
        one.step(turn)?;
        chosen.step(turn)?;
        if let Some(two) = &mut two {
            two.step(turn)?;
        }
        steps += turn;
        if one.seconds - before < seconds / TURNS / 2.0 {
            turn *= 2;
        }
    }
    let per_step = |contender: &Contender| contender.seconds / steps as f64;
    Ok(Row {
        grains: one.world.grains().len(),
        busy,
        steps,
        one_thread: per_step(&one),
        two_threads: two.as_ref().map(per_step),
        chosen: per_step(&chosen),
        mean_threads: chosen.threads as f64 / steps as f64,
    })
}

/// Threads that do nothing but keep cores busy; the system gives them the same
/// share of the cores as it would to processes. Ends with the value.
struct OtherWork {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl OtherWork {
    fn start(count: usize) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let threads = (0..count).map(|_| {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || {
                let mut x = 1.0_f64;
                while !stop.load(Ordering::Relaxed) {
                    for _ in 0..1000 {
                        x = black_box(x).sqrt() + 1.0;
                    }
                }
            })
        });
        OtherWork {
            threads: threads.collect(),
            stop,
        }
    }
}

impl Drop for OtherWork {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // It cannot panic.
            let _ = thread.join();
        }
    }
}
