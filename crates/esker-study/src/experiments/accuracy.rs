//! A stated accuracy is kept: shipped scenes with `tolerance = "1%"` against
//! runs with a tenth of their own step and four times their sweeps.

use esker_analysis::Snapshot;
use esker_analysis::repose;
use esker_analysis::series::statistics;
use esker_analysis::surface::{self, HeightMap};
use esker_plot::number;
use esker_scene::{Scene, estimate};
use esker_world::definition::{Method, Motion, WarmStart, WholeStep};
use esker_world::{StepReport, World};
use glam::DVec3;
use serde::{Deserialize, Serialize};

use crate::bench;
use crate::criterion::Criterion;
use crate::experiment::{About, Case, Experiment, Outcome, Size, Table};
use crate::observe;
use crate::results::{Results, StudyError};

/// See the module.
pub struct Accuracy;

/// The accuracy that is asked for, in diameters.
const TOLERANCE: f64 = 0.01;
/// Seconds between two looks at overlaps and angles.
const LOOK: f64 = 0.01;
/// Share of steps that may miss the accuracy: a violent moment.
const MISSED: f64 = 0.1;
/// Sweeps that a run of a stated accuracy takes at most.
const MOST_SWEEPS: usize = 2000;

/// A shipped scene, and what is read off it.
struct Sample {
    name: &'static str,
    text: &'static str,
    /// How long it runs, and from when on it is measured, s.
    duration: f64,
    from: f64,
    /// The wall whose load is compared.
    wall: &'static str,
    slope: Slope,
    /// Beds whose means are compared: what friction does to a load depends on
    /// the history of each.
    beds: u64,
}

/// How a slope is measured.
#[derive(Clone, Copy, PartialEq)]
enum Slope {
    None,
    /// Centre of mass about the axis y.
    Drum,
    /// Cone about the axis z.
    Pile,
}

const LIMITS: &str = include_str!("../../../../scenes/experiments/limits.toml");

const SAMPLES: [Sample; 9] = [
    Sample {
        name: "drum",
        text: include_str!("../../../../scenes/drum.toml"),
        duration: 10.0,
        from: 4.0,
        wall: "shell",
        slope: Slope::Drum,
        beds: 2,
    },
    Sample {
        name: "pile",
        text: include_str!("../../../../scenes/pile.toml"),
        duration: 6.0,
        from: 5.0,
        wall: "plate",
        slope: Slope::Pile,
        beds: 2,
    },
    Sample {
        name: "silo",
        text: include_str!("../../../../scenes/silo.toml"),
        duration: 3.0,
        from: 2.0,
        wall: "floor",
        slope: Slope::None,
        beds: 8,
    },
    Sample {
        name: "hopper",
        text: include_str!("../../../../scenes/hopper.toml"),
        duration: 2.0,
        from: 0.3,
        wall: "cone",
        slope: Slope::None,
        beds: 2,
    },
    Sample {
        name: "conveyor",
        text: include_str!("../../../../scenes/conveyor.toml"),
        duration: 4.0,
        from: 2.0,
        wall: "belt",
        slope: Slope::None,
        beds: 1,
    },
    Sample {
        name: "lifter-drum",
        text: include_str!("../../../../scenes/lifter-drum.toml"),
        duration: 4.0,
        from: 1.0,
        wall: "shell",
        slope: Slope::Drum,
        beds: 1,
    },
    Sample {
        name: "plate",
        text: LIMITS,
        duration: 0.9,
        from: 0.7,
        wall: "plate",
        slope: Slope::None,
        beds: 4,
    },
    Sample {
        name: "column",
        text: include_str!("../../../../scenes/column.toml"),
        duration: 6.0,
        from: 3.0,
        wall: "floor",
        slope: Slope::None,
        beds: 1,
    },
    Sample {
        name: "bounce",
        text: include_str!("../../../../scenes/bounce.toml"),
        duration: 3.0,
        from: 0.0,
        wall: "floor",
        slope: Slope::None,
        beds: 1,
    },
];

/// When the plate sets off in its settled bed, s, and how fast, m/s.
const PLATE_START: f64 = 0.6;
const PLATE_SPEED: f64 = 0.5;

/// A way to run a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Reference,
    SubStepped,
    GaussSeidel,
}

impl Way {
    const ALL: [Way; 3] = [Way::Reference, Way::SubStepped, Way::GaussSeidel];

    fn name(self) -> &'static str {
        match self {
            Way::Reference => "a tenth of the step",
            Way::SubStepped => "1 %, sub-stepped",
            Way::GaussSeidel => "1 %, gauss-seidel",
        }
    }
}

/// What is read off one run.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Found {
    /// Mean and 99.9th percentile of overlaps, in diameters.
    mean_overlap: f64,
    high_overlap: f64,
    /// Slope, degrees; zero where none is measured.
    slope: f64,
    /// Mean force on the wall, N.
    force: f64,
    /// Share of steps that missed the accuracy, and of those that did with all sweeps that they
    /// may take.
    missed: f64,
    missed_with_most_sweeps: f64,
    /// Mean step, s, and mean sweeps per step.
    step: f64,
    sweeps: f64,
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    statistics(&values.collect::<Vec<_>>()).mean
}

fn samples(size: Size) -> &'static [Sample] {
    size.pick(&SAMPLES[..], &SAMPLES[7..])
}

fn beds(size: Size, sample: &Sample) -> std::ops::Range<u64> {
    0..size.pick(sample.beds, 1)
}

fn case_name(size: Size, sample: &Sample, way: Way, bed: u64) -> String {
    format!(
        "{}, {}, bed {bed}, {}",
        sample.name,
        way.name(),
        size.name()
    )
}

/// The sample's scene, run that way.
fn scene(sample: &Sample, way: Way, bed: u64) -> Result<Scene, StudyError> {
    let mut scene = bench::scene(sample.text)?;
    let world = &mut scene.world;
    world.seed += bed;
    if sample.name == "plate" {
        world.walls[1].motion = Motion::Translate {
            velocity: PLATE_SPEED * DVec3::X,
            start: PLATE_START,
            stop: f64::INFINITY,
        };
    }
    match way {
        Way::Reference => {
            world.step *= 0.1;
            let sweeps = 4 * world.method.sweeps();
            world.method.set_sweeps(sweeps);
            return Ok(scene);
        }
        Way::SubStepped => {}
        Way::GaussSeidel => {
            world.method = Method::WholeStep(WholeStep {
                warm_start: WarmStart::FULL_HISTORY,
                ..Default::default()
            });
        }
    }
    world.accuracy = Some(TOLERANCE);
    scene.step_is_given = false;
    estimate::choose(&mut scene, TOLERANCE);
    Ok(scene)
}

fn measured(sample: &Sample, way: Way, bed: u64) -> Result<Found, StudyError> {
    let def = scene(sample, way, bed)?.world;
    let mut world = bench::build(&def)?;
    let wall = world.walls().iter().position(|w| w.name == sample.wall);
    let wall = wall.ok_or_else(|| bench::failed(sample.name, "the wall is missing"))?;
    let mut readings = Readings::default();
    let mut before = None;
    while world.time() < sample.duration - 1e-9 {
        let report = world.step().map_err(|e| bench::failed(sample.name, e))?;
        readings.count(&report);
        if world.time() >= sample.from {
            let load = world.walls()[wall].total_load.impulse;
            before.get_or_insert((world.time(), load));
            readings.look(&world, sample.slope);
        }
    }
    let (start, load) = before.ok_or_else(|| bench::failed(sample.name, "nothing measured"))?;
    let force = (world.walls()[wall].total_load.impulse - load) / (world.time() - start);
    Ok(readings.found(force.length(), world.time()))
}

/// What is gathered along a run.
#[derive(Default)]
struct Readings {
    means: Vec<f64>,
    highs: Vec<f64>,
    slopes: Vec<f64>,
    next_look: f64,
    steps: f64,
    missed: f64,
    missed_with_most_sweeps: f64,
    sweeps: f64,
}

impl Readings {
    fn count(&mut self, report: &StepReport) {
        self.steps += 1.0;
        let missed = report.missed.any();
        let has_most_sweeps = report.sweeps >= MOST_SWEEPS;
        self.missed += f64::from(u8::from(missed));
        self.missed_with_most_sweeps += f64::from(u8::from(missed && has_most_sweeps));
        self.sweeps += report.sweeps as f64;
    }

    fn look(&mut self, world: &World, slope: Slope) {
        if world.time() < self.next_look {
            return;
        }
        self.next_look = world.time() + LOOK;
        let contacts = world.contacts().filter(|(c, _)| c.overlap > 0.0);
        let mut overlaps: Vec<f64> = contacts.map(|(c, _)| c.overlap / c.diameter()).collect();
        overlaps.sort_unstable_by(f64::total_cmp);
        if let Some(&high) = overlaps.get((0.999 * overlaps.len() as f64) as usize) {
            self.means.push(mean(overlaps.iter().copied()));
            self.highs.push(high);
        }
        let snapshot = || observe::snapshot(world);
        let angle = match slope {
            Slope::None => None,
            Slope::Drum => repose::centre_of_mass_angle(&snapshot(), DVec3::Y, DVec3::ZERO).ok(),
            Slope::Pile => pile_angle(&snapshot()),
        };
        self.slopes.extend(angle.map(f64::to_degrees));
    }

    fn found(&self, force: f64, time: f64) -> Found {
        let or_zero = |values: &[f64]| {
            if values.is_empty() {
                0.0
            } else {
                mean(values.iter().copied())
            }
        };
        Found {
            mean_overlap: or_zero(&self.means),
            high_overlap: or_zero(&self.highs),
            slope: or_zero(&self.slopes),
            force,
            missed: self.missed / self.steps,
            missed_with_most_sweeps: self.missed_with_most_sweeps / self.steps,
            step: time / self.steps,
            sweeps: self.sweeps / self.steps,
        }
    }
}

/// Angle of a pile on the level z = 0 about the axis z, rad.
fn pile_angle(snapshot: &Snapshot) -> Option<f64> {
    let frame = surface::Frame {
        origin: DVec3::ZERO,
        u: DVec3::X,
        v: DVec3::Y,
        up: DVec3::Z,
    };
    let reach = 0.15;
    let cell = snapshot.mean_diameter();
    let map = HeightMap::new(snapshot, frame, [-reach; 2], [reach; 2], cell);
    repose::cone_angle(&map, [0.0; 2], 0.0)
}

impl Experiment for Accuracy {
    fn about(&self) -> About {
        About {
            name: "accuracy",
            paper: "runs with a tenth of the step and four times the sweeps",
            shows: "`tolerance = \"1%\"` keeps overlaps, angles and forces on every shipped \
                    scene, sub-stepped and with gauss-seidel, and says where it does not.",
            seconds_full: 3000.0,
            seconds_reduced: 20.0,
        }
    }

    fn scene(&self) -> &'static str {
        LIMITS
    }

    fn cases(&self, size: Size) -> Vec<Case> {
        let mut cases = Vec::new();
        // The longest first.
        for way in Way::ALL {
            for sample in samples(size) {
                for bed in beds(size, sample) {
                    let name = case_name(size, sample, way, bed);
                    cases.push(Case::new(name, move || measured(sample, way, bed)));
                }
            }
        }
        cases
    }

    fn judge(&self, size: Size, results: &Results) -> Result<Outcome, StudyError> {
        let mut outcome = Outcome::default();
        let mut table = Table::new(
            "Runs at a stated accuracy of 1 %",
            &[
                "scene",
                "run",
                "mean overlap (%)",
                "99.9th percentile (%)",
                "slope (°)",
                "force (N)",
                "steps that missed (%)",
                "step (ms)",
                "sweeps",
            ],
        );
        for sample in samples(size) {
            let mut means = Vec::new();
            for way in Way::ALL {
                let found: Vec<Found> = beds(size, sample)
                    .map(|bed| results.get(&case_name(size, sample, way, bed)))
                    .collect::<Result<_, _>>()?;
                let over = |f: fn(&Found) -> f64| mean(found.iter().map(f));
                let found = Found {
                    mean_overlap: over(|f| f.mean_overlap),
                    high_overlap: over(|f| f.high_overlap),
                    slope: over(|f| f.slope),
                    force: over(|f| f.force),
                    missed: over(|f| f.missed),
                    missed_with_most_sweeps: over(|f| f.missed_with_most_sweeps),
                    step: over(|f| f.step),
                    sweeps: over(|f| f.sweeps),
                };
                table.row([
                    sample.name.to_string(),
                    way.name().to_string(),
                    number(100.0 * found.mean_overlap, 3),
                    number(100.0 * found.high_overlap, 3),
                    number(found.slope, 3),
                    number(found.force, 4),
                    number(100.0 * found.missed, 2),
                    number(1e3 * found.step, 2),
                    number(found.sweeps, 0),
                ]);
                means.push((way, found));
            }
            let reference = means[0].1;
            for &(way, found) in &means[1..] {
                judge_run(&mut outcome, sample, way, [&reference, &found]);
            }
        }
        outcome.table(table);
        Ok(outcome)
    }
}

fn judge_run(outcome: &mut Outcome, sample: &Sample, way: Way, [reference, found]: [&Found; 2]) {
    let name = |what: &str| format!("{}, {}: {what}", sample.name, way.name());
    let mut require = |what: &str, value: f64, bound: f64| {
        outcome.require(
            Criterion::at_most(name(what), value, bound, "the reference run")
                .because("what the accuracy promises"),
        );
    };
    let apart = |f: fn(&Found) -> f64| (f(found) - f(reference)).abs();
    require(
        "error of the mean overlap",
        apart(|f| f.mean_overlap),
        TOLERANCE,
    );
    require(
        "error of the 99.9th percentile of overlaps",
        apart(|f| f.high_overlap),
        TOLERANCE,
    );
    require(
        "relative error of the force",
        apart(|f| f.force) / reference.force,
        0.03,
    );
    if sample.slope != Slope::None {
        require("error of the slope (°)", apart(|f| f.slope), 1.5);
    }
    // A run that cannot keep the accuracy with the sweeps it may take must say so.
    let missed = Criterion::at_most(
        name("share of steps that missed"),
        found.missed,
        MISSED,
        "the reference run",
    )
    .because("what the accuracy promises");
    let had_sweeps_left = found.missed - found.missed_with_most_sweeps > MISSED;
    outcome.require(if had_sweeps_left {
        missed
    } else {
        missed.unless(
            [MISSED, 1.0],
            "a sweep passes a load on by one layer, and a hundred layers need more sweeps than an \
             accuracy may take: the steps are counted, as they must be",
        )
    });
}
