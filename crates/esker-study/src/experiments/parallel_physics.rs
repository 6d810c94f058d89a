//! Does the parallel sweep keep the physics? (thesis 001, Tables 5.1–5.3)
//!
//! Three systems are run twice, once with contacts swept one after another
//! from the bottom up and once in the block order that threads share; the
//! block order itself gives the same bits on any number of threads. Compared
//! are means of steady series, by the thesis' measure
//!
//! ```text
//! |⟨K_serial⟩ − ⟨K_parallel⟩| / (max K − min K),                        (5.1)
//! ```
//!
//! or relative to the mean where the series still drift.

use esker_analysis::series;
use esker_geometry::{Pose, Region, WallShape};
use esker_plot::{Axis, Plot, Series, number};
use esker_world::definition::{Motion, Placement, SizeDistribution, WallDef, WorldDef};
use glam::DVec3;
use serde::{Deserialize, Serialize};

use crate::bench::{self, Start};
use crate::experiment::{About, Case, Criterion, Experiment, Outcome, Size, Table};
use crate::results::{Results, StudyError};

/// See the module.
pub struct ParallelPhysics;

const SCENE: &str = include_str!("../../../../scenes/experiments/parallel.toml");
const DIAMETER: f64 = 0.01;

/// The thesis' systems.
#[derive(Clone, Copy, Debug, PartialEq)]
enum System {
    Column,
    Cylinder,
    Drum,
}

const SYSTEMS: [System; 3] = [System::Column, System::Cylinder, System::Drum];

impl System {
    fn name(self) -> &'static str {
        match self {
            System::Column => "column",
            System::Cylinder => "cylinder",
            System::Drum => "drum",
        }
    }

    /// The world, how long it is run and from when on it is steady, s.
    fn world(self, size: Size) -> Result<(WorldDef, f64, f64), StudyError> {
        let mut def = bench::world_of_scene(SCENE)?;
        let material = def.packings[0].material;
        let still = |shape, height: f64| WallDef {
            name: "wall".into(),
            shape,
            pose: Pose::from_position(DVec3::Z * height),
            material,
            motion: Motion::Still,
            surface_velocity: DVec3::ZERO,
        };
        let sizes = SizeDistribution::Fixed {
            radius: 0.5 * DIAMETER,
        };
        match self {
            System::Column => {
                def.walls = vec![still(WallShape::HalfSpace, 0.0)];
                def.contact.margin = 0.5;
                def.packings[0].placement = Placement::Column {
                    base: DVec3::ZERO,
                    direction: DVec3::Z,
                    count: size.pick(100, 40),
                    // The thesis places centres two diameters apart.
                    gap: DIAMETER,
                    sizes,
                };
                Ok((def, size.pick(20.0, 6.0), size.pick(5.0, 3.0)))
            }
            System::Cylinder => {
                let (radius, count) = size.pick((0.045, 7500), (0.03, 400));
                let tube = WallShape::Cylinder {
                    radius,
                    length: 20.0,
                    side: esker_geometry::Side::Inside,
                    caps: false,
                };
                def.walls = vec![still(tube, 0.0), still(WallShape::HalfSpace, 0.0)];
                let tall = count as f64 * size.pick(3.2e-4, 8e-4) + 0.1;
                def.packings[0].placement = Placement::Lattice {
                    region: Region::Cylinder {
                        radius,
                        length: tall,
                        pose: Pose::from_position(DVec3::Z * (0.5 * tall)),
                    },
                    spacing: None,
                    jitter: 1.0,
                    count: Some(count),
                    sizes,
                };
                Ok((def, size.pick(8.0, 2.5), size.pick(5.0, 1.5)))
            }
            System::Drum => {
                if size == Size::Reduced {
                    if let WallShape::Cylinder { radius, .. } = &mut def.walls[0].shape {
                        *radius = 0.15;
                    }
                    if let WallShape::Box { half_extents, .. } = &mut def.walls[1].shape {
                        half_extents.y = 0.02;
                    }
                    if let Placement::Lattice { region, count, .. } = &mut def.packings[0].placement
                    {
                        if let Region::Cylinder { radius, length, .. } = region {
                            (*radius, *length) = (0.145, 0.04);
                        }
                        *count = Some(600);
                    }
                }
                Ok((def, size.pick(12.0, 4.0), size.pick(7.0, 2.0)))
            }
        }
    }
}

/// Steady series of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Run {
    times: Vec<f64>,
    overlap: Vec<f64>,
    contacts: Vec<f64>,
    energy: Vec<f64>,
    height: Vec<f64>,
}

fn run(
    system: System,
    size: Size,
    (start, sweeps): (Start, usize),
    plain: bool,
) -> Result<Run, StudyError> {
    let (mut def, time, steady) = system.world(size)?;
    def.method = start.method(sweeps);
    let mut world = bench::build(&def)?;
    world.set_plain_order(plain);
    let mut run = Run {
        times: Vec::new(),
        overlap: Vec::new(),
        contacts: Vec::new(),
        energy: Vec::new(),
        height: Vec::new(),
    };
    bench::run(&mut world, time, |world, report| {
        if report.time < steady || !report.step.is_multiple_of(5) {
            return;
        }
        run.times.push(report.time);
        run.overlap.push(report.mean_overlap);
        run.contacts.push(report.touching as f64);
        run.energy.push(world.grains.kinetic_energy());
        let top = world.grains.position.iter().map(|x| x.z);
        run.height.push(top.fold(f64::NEG_INFINITY, f64::max));
    });
    Ok(run)
}

fn ways(size: Size, system: System) -> Vec<(Start, usize)> {
    let mut ways = match (size, system) {
        (Size::Full, System::Column) => vec![(Start::Cold, 100), (Start::Cold, 500)],
        (Size::Full, _) => vec![(Start::Cold, 100)],
        (Size::Reduced, _) => vec![(Start::Cold, 40)],
    };
    ways.push((Start::SubStepped, size.pick(25, 15)));
    ways
}

fn case_name(system: System, size: Size, (start, sweeps): (Start, usize), plain: bool) -> String {
    let order = if plain { "serial" } else { "blocks" };
    format!(
        "{}, {}, {sweeps} sweeps, {order}, {}",
        system.name(),
        start.name(),
        size.name()
    )
}

impl Experiment for ParallelPhysics {
    fn about(&self) -> About {
        About {
            name: "parallel-physics",
            paper: "001 Tables 5.1–5.3",
            shows: "The order in which threads share the sweep gives the same physics as the \
                    serial order: column, cylinder and drum.",
            seconds_full: 2200.0,
            seconds_reduced: 12.0,
        }
    }

    fn scene(&self) -> &'static str {
        SCENE
    }

    fn cases(&self, size: Size) -> Vec<Case> {
        let mut cases = Vec::new();
        for system in SYSTEMS {
            for way in ways(size, system) {
                for plain in [true, false] {
                    cases.push(Case::new(case_name(system, size, way, plain), move || {
                        run(system, size, way, plain)
                    }));
                }
            }
        }
        cases
    }

    fn judge(&self, size: Size, results: &Results) -> Result<Outcome, StudyError> {
        let mut outcome = Outcome::default();
        let mut table = Table::new(
            "Serial against block order: difference of means over the mean / over the range (5.1)",
            &[
                "system",
                "way",
                "overlap",
                "contacts",
                "kinetic energy",
                "height",
            ],
        );
        for system in SYSTEMS {
            let mut plot = Plot::new(
                format!("Mean overlap, {}", system.name()),
                Axis::linear("time (s)"),
                Axis::linear("overlap/d"),
            );
            for way in ways(size, system) {
                let get = |plain| results.get::<Run>(&case_name(system, size, way, plain));
                let (serial, blocks) = (get(true)?, get(false)?);
                let compare = |f: fn(&Run) -> &Vec<f64>| {
                    let (a, b) = (f(&serial), f(&blocks));
                    (
                        series::relative_difference(a, b),
                        series::difference_over_range(a, b),
                    )
                };
                let show = |(mean, range): (f64, f64)| {
                    format!(
                        "{} % / {} %",
                        number(100.0 * mean, 2),
                        number(100.0 * range, 2)
                    )
                };
                let overlap = compare(|r| &r.overlap);
                let contacts = compare(|r| &r.contacts);
                let height = compare(|r| &r.height);
                let name = format!("{}, {} sweeps", way.0.name(), way.1);
                table.row([
                    system.name().to_string(),
                    name.clone(),
                    show(overlap),
                    show(contacts),
                    show(compare(|r| &r.energy)),
                    show(height),
                ]);
                for (run, order) in [(&serial, "serial"), (&blocks, "blocks")] {
                    let points = run.times.iter().zip(&run.overlap).map(|(t, o)| [*t, *o]);
                    plot.series
                        .push(Series::line(format!("{name}, {order}"), points.collect()));
                }
                let paper = match system {
                    System::Column => "6.5 % of the range",
                    System::Cylinder => "1.3 %",
                    System::Drum => "1.8 %",
                };
                outcome.require(Criterion::at_most(
                    format!("{}, {name}: overlap, difference of means", system.name()),
                    overlap.0,
                    // A fall into a silo is chaotic: few grains end in another packing.
                    size.pick(0.05, 0.2),
                    paper,
                ));
                if system != System::Column {
                    outcome.require(Criterion::at_most(
                        format!("{}, {name}: contacts, difference of means", system.name()),
                        contacts.0,
                        size.pick(0.03, 0.08),
                        if system == System::Drum {
                            "1 %"
                        } else {
                            "0.8 %"
                        },
                    ));
                }
            }
            outcome.svg(plot.svg());
        }
        outcome.table(table);
        outcome.text(
            "The thesis' drum has lifters; this one has a rough shell instead. Kinetic energies \
             of beds at rest are rounding noise, so that their relative difference says nothing.",
        );
        Ok(outcome)
    }
}
