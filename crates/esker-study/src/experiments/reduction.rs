//! Adaptive model reduction (Servin and Wang 2015, thesis paper V): beds, a collapse, a belt and a
//! drum with grains at rest frozen, side by side with all grains simulated all the time.
//!
//! The paper estimates speed-ups from the share of frozen grains; here they are measured, as time
//! and as the contacts that were solved. The tolerances are those that hold between repeated runs
//! and prototypes of the method, for each test its own.

use esker_geometry::{Pose, Region};
use esker_plot::{Axis, Plot, Series, number};
use esker_world::World;
use esker_world::definition::{
    EmitterDef, Motion, Presence, Rate, Reduction, SinkDef, SizeDistribution, Total, WorldDef,
};
use glam::{DQuat, DVec3};
use serde::{Deserialize, Serialize};

use crate::bench::{self, Prepared};
use crate::criterion::Criterion;
use crate::experiment::{About, Case, Experiment, Frame, Outcome, Size, Table};
use crate::frame;
use crate::results::{Results, StudyError};

/// See the module.
pub struct ReductionStudy;

const SCENE: &str = include_str!("../../../../scenes/experiments/reduction.toml");
const DRUM: &str = include_str!("../../../../scenes/experiments/drum.toml");
/// Larger diameter of the pellets, m.
const DIAMETER: f64 = 0.013;
/// Time after which the gate vanishes, s.
const GATE: f64 = 0.1;
/// Rate at which a bed is tilted, rad/s.
const TILTING: f64 = 10.0 * std::f64::consts::PI / 180.0;
/// Angles at which grains that have moved are counted, degrees.
const TILTS: [f64; 3] = [34.0, 38.0, 42.0];

/// The tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Test {
    Rest,
    Collapse,
    Tilt,
    Belt,
    Drum,
}

const TESTS: [Test; 5] = [
    Test::Rest,
    Test::Collapse,
    Test::Tilt,
    Test::Belt,
    Test::Drum,
];

/// How a test is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Full,
    Reduced,
    Careful,
}

const WAYS: [Way; 3] = [Way::Full, Way::Reduced, Way::Careful];

impl Way {
    fn name(self) -> &'static str {
        match self {
            Way::Full => "all grains",
            Way::Reduced => "reduced",
            Way::Careful => "reduced, imbalance 0.2",
        }
    }

    fn settings(self) -> Option<Reduction> {
        match self {
            Way::Full => None,
            Way::Reduced => Some(Reduction::default()),
            Way::Careful => Some(Reduction {
                imbalance: 0.2,
                ..Default::default()
            }),
        }
    }
}

/// What came of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Run {
    /// Share of frozen grains against time, s.
    level: Vec<[f64; 2]>,
    mean_level: f64,
    /// Contacts that were solved, summed over steps.
    contacts: f64,
    /// Time on the clock, s.
    seconds: f64,
    /// Force on the floor at the end over the weight of the grains.
    base: f64,
    /// Height of the centre of mass at the end, in diameters.
    height: f64,
    /// Place along x that 99 of 100 grains do not exceed, in diameters.
    front: f64,
    /// Kinetic energy a tenth of a second after the start of motion, J.
    kinetic: f64,
    /// Grains that have moved by more than a diameter, at each of [`TILTS`].
    moved: Vec<f64>,
    /// Grains that left.
    outflow: f64,
    /// Angle of the centre of mass below the axis of the drum against gravity, degrees.
    lift: f64,
    /// Largest overlap of a step, in diameters, as mean over the steps.
    overlap: f64,
    /// Energy that freezing took over all that gravity gave.
    energy_lost: f64,
    grains: f64,
    frame: Frame,
}

fn case_name(test: Test, way: Way, size: Size) -> String {
    format!("{test:?}, {}, {}", way.name(), size.name())
}

fn bed_name(size: Size) -> String {
    format!("settled bed, {}", size.name())
}

/// A bed in its box, with the gate that never vanishes.
fn bed(size: Size) -> Result<WorldDef, StudyError> {
    let mut def = bench::world_of_scene(SCENE)?;
    def.reduction = None;
    wall(&mut def, "gate").presence = Presence::ALWAYS;
    if size == Size::Reduced {
        let width = 9.0 * DIAMETER;
        wall(&mut def, "back").pose.position.y = width;
        wall(&mut def, "gate").pose.position.x = width;
        if let esker_world::definition::Placement::Packed { region, .. } =
            &mut def.packings[0].placement
        {
            let half = DVec3::new(0.5 * width, 0.5 * width, 0.11);
            *region = Region::Box {
                half_extents: half,
                pose: Pose::from_position(half),
            };
        }
    }
    Ok(def)
}

fn wall<'a>(def: &'a mut WorldDef, name: &str) -> &'a mut esker_world::definition::WallDef {
    let wall = def.walls.iter_mut().find(|wall| wall.name == name);
    wall.expect("the scene has this wall")
}

fn prepared(size: Size) -> Result<Prepared, StudyError> {
    let mut world = bench::build(&bed(size)?)?;
    bench::run(&mut world, 1.2, |_, _| {})?;
    Ok(Prepared::of(&world))
}

/// Pellets that rain on a belt.
fn belt(size: Size) -> Result<WorldDef, StudyError> {
    let mut def = bench::world_of_scene(SCENE)?;
    def.packings.clear();
    def.walls.retain(|wall| wall.name == "floor");
    def.walls[0].surface_velocity = DVec3::X * 0.1;
    let length = size.pick(50.0, 20.0) * DIAMETER;
    let half = DVec3::new(size.pick(7.5, 5.0), 2.0, 1.0) * DIAMETER;
    let above = DVec3::Z * (0.1 + half.z);
    def.emitters = vec![EmitterDef {
        name: "feeder".into(),
        material: 0,
        shape: None,
        region: Region::Box {
            half_extents: half,
            pose: Pose::from_position(above),
        },
        rate: Rate::Number(size.pick(1000.0, 500.0)),
        sizes: SizeDistribution::Fixed {
            radius: 0.5 * DIAMETER,
        },
        velocity: DVec3::ZERO,
        total: Total::Unlimited,
        start: 0.0,
        stop: f64::INFINITY,
    }];
    let far = DVec3::new(1.0, 5.0, 5.0);
    def.sinks = vec![SinkDef {
        name: "end of the belt".into(),
        region: Region::Box {
            half_extents: far,
            pose: Pose::from_position(DVec3::X * (length + far.x)),
        },
    }];
    Ok(def)
}

/// The world of a test, and for how long it runs, s.
fn world_of(
    test: Test,
    size: Size,
    prepared: Option<&Prepared>,
) -> Result<(WorldDef, f64), StudyError> {
    let (mut def, time) = match test {
        Test::Rest => (bed(size)?, size.pick(6.4, 2.0)),
        Test::Collapse => {
            let mut def = bed(size)?;
            wall(&mut def, "gate").presence.until = GATE;
            (def, size.pick(2.4, 1.2))
        }
        Test::Tilt => {
            let mut def = bed(size)?;
            for wall in &mut def.walls {
                wall.motion = Motion::Rotate {
                    axis: DVec3::Y,
                    centre: DVec3::ZERO,
                    rate: TILTING,
                    start: 0.0,
                    stop: f64::INFINITY,
                };
            }
            (def, TILTS[2].to_radians() / TILTING)
        }
        Test::Belt => (belt(size)?, size.pick(9.0, 3.5)),
        Test::Drum => {
            let mut def = bench::world_of_scene(DRUM)?;
            for wall in &mut def.walls {
                if let Motion::Rotate { rate, .. } = &mut wall.motion {
                    *rate = 0.5;
                }
            }
            if size == Size::Reduced {
                for wall in &mut def.walls {
                    if let esker_geometry::WallShape::Cylinder { radius, .. } = &mut wall.shape {
                        *radius *= 0.5;
                    }
                }
                if let esker_world::definition::Placement::Lattice { region, count, .. } =
                    &mut def.packings[0].placement
                {
                    *count = Some(900);
                    if let Region::Cylinder { radius, .. } = region {
                        *radius = 0.128;
                    }
                }
            }
            (def, size.pick(4.0, 3.0))
        }
    };
    if let Some(prepared) = prepared {
        prepared.put_into(&mut def);
    }
    Ok((def, time))
}

fn run(test: Test, way: Way, size: Size, prepared: Option<&Prepared>) -> Result<Run, StudyError> {
    let (mut def, time) = world_of(test, size, prepared)?;
    def.reduction = way.settings();
    let mut world = bench::build(&def)?;
    let start = place_of(&world, DQuat::IDENTITY);
    let mut run = Run {
        level: Vec::new(),
        mean_level: 0.0,
        contacts: 0.0,
        seconds: 0.0,
        base: f64::NAN,
        height: f64::NAN,
        front: f64::NAN,
        kinetic: f64::NAN,
        moved: Vec::new(),
        outflow: 0.0,
        lift: f64::NAN,
        overlap: 0.0,
        energy_lost: 0.0,
        grains: 0.0,
        frame: Frame::default(),
    };
    let (mut bases, mut lifts) = (Vec::new(), Vec::new());
    let mut next_tilt = TILTS
        .iter()
        .map(|tilt| tilt.to_radians() / TILTING)
        .peekable();
    let half_step = 0.5 * world.step_length();
    bench::run(&mut world, time, |world, report| {
        run.contacts += report.contacts as f64;
        run.seconds += report.times.total().as_secs_f64();
        run.overlap += report.max_overlap * half_step * 2.0 / time;
        if report.step.is_multiple_of(10) {
            let share = report.frozen as f64 / report.grains.max(1) as f64;
            run.level.push([report.time, share]);
        }
        if (report.time - (GATE + 0.1)).abs() < half_step {
            run.kinetic = world.kinetic_energy();
        }
        if report.time > 0.5 * time {
            let all = world.all_grains();
            let mass: f64 = all.mass().iter().sum();
            bases.push(-world.walls()[0].load.force.z / (mass * 9.81));
            let moment: DVec3 = (0..all.count())
                .map(|i| all.position()[i] * all.mass()[i])
                .sum();
            let centre = moment / mass;
            lifts.push((centre.x.abs() / -centre.z).atan().to_degrees());
        }
        if test == Test::Tilt
            && next_tilt
                .next_if(|at| report.time > at - half_step)
                .is_some()
        {
            let back = DQuat::from_axis_angle(DVec3::Y, -TILTING * report.time);
            let now = place_of(world, back);
            let moved = now.iter().zip(&start);
            let moved = moved.filter(|(now, then)| now.distance(**then) > DIAMETER);
            run.moved.push(moved.count() as f64);
        }
    })?;
    let mean = |list: &[f64]| list.iter().sum::<f64>() / list.len() as f64;
    run.base = mean(&bases);
    run.lift = mean(&lifts);
    let all = world.all_grains();
    let count = all.count() as f64;
    run.grains = count;
    run.height = all.position().iter().map(|x| x.z).sum::<f64>() / count / DIAMETER;
    let mut along: Vec<f64> = all.position().iter().map(|x| x.x / DIAMETER).collect();
    along.sort_by(f64::total_cmp);
    run.front = along[(0.99 * count) as usize];
    run.outflow = world
        .sinks()
        .iter()
        .map(|sink| sink.total().number as f64)
        .sum();
    let fall: f64 = (start.iter().zip(place_of(&world, DQuat::IDENTITY)))
        .map(|(then, now)| (then.z - now.z).max(0.0))
        .sum::<f64>()
        * 9.81
        * all.mass().iter().sum::<f64>()
        / count;
    if let Some(totals) = world.reduction() {
        run.mean_level = totals.mean_level();
        run.energy_lost = if fall > 0.0 {
            totals.energy_lost / fall
        } else {
            0.0
        };
    }
    let aggregates: Vec<f64> = all
        .id()
        .iter()
        .map(|id| f64::from(world.aggregate_of(*id)))
        .collect();
    let direction = match test {
        Test::Drum => DVec3::Y,
        _ => DVec3::new(-0.4, 1.0, -0.35),
    };
    run.frame = frame::draw(
        &world,
        &frame::Shot {
            caption: &format!("{test:?}, {}", way.name()),
            direction,
            legend: "frozen",
            values: &aggregates,
            range: [0.0, 1.0],
        },
    )?;
    Ok(run)
}

/// Places of all grains in the order of ids, rotated.
fn place_of(world: &World, turn: DQuat) -> Vec<DVec3> {
    let all = world.all_grains();
    let order = all.in_id_order().into_iter();
    order.map(|i| turn * all.position()[i]).collect()
}

impl Experiment for ReductionStudy {
    fn about(&self) -> About {
        About {
            name: "reduction",
            paper: "Servin and Wang 2015, Figs. 5 to 14",
            shows: "Grains at rest frozen to the walls they rest on: a bed at rest, a collapse, a \
                    tilted bed, a belt and a drum as with all grains simulated, at a part of the \
                    cost.",
            seconds_full: 900.0,
            seconds_reduced: 12.0,
        }
    }

    fn scene(&self) -> &'static str {
        SCENE
    }

    fn cases(&self, size: Size) -> Vec<Case> {
        let mut cases = vec![Case::new(bed_name(size), move || prepared(size))];
        for test in TESTS {
            for way in WAYS {
                let name = case_name(test, way, size);
                let needs_bed = matches!(test, Test::Rest | Test::Collapse | Test::Tilt);
                cases.push(Case::after(1, name, move |results| {
                    let bed: Option<Prepared> = match needs_bed {
                        true => Some(results.get(&bed_name(size))?),
                        false => None,
                    };
                    run(test, way, size, bed.as_ref())
                }));
            }
        }
        cases
    }

    fn judge(&self, size: Size, results: &Results) -> Result<Outcome, StudyError> {
        let mut outcome = Outcome::default();
        let mut levels = Plot::new(
            "Share of frozen grains",
            Axis::linear("time (s)"),
            Axis::linear("reduction level"),
        );
        let mut table = Table::new(
            "With all grains simulated, and with grains at rest frozen",
            &[
                "test",
                "way",
                "grains",
                "level",
                "contacts solved",
                "time (s)",
                "speed-up",
                "floor/weight",
                "z_cm (d)",
                "x_99 (d)",
                "E_k (J)",
                "outflow",
                "lift (°)",
                "moved",
                "overlap (d)",
            ],
        );
        for test in TESTS {
            let get = |way: Way| results.get::<Run>(&case_name(test, way, size));
            let full = get(Way::Full)?;
            for way in WAYS {
                let run = get(way)?;
                if way == Way::Reduced {
                    levels
                        .series
                        .push(Series::line(format!("{test:?}"), run.level.clone()));
                    outcome.frame(run.frame.clone());
                }
                let moved: Vec<String> = run.moved.iter().map(|m| number(*m, 4)).collect();
                table.row([
                    format!("{test:?}"),
                    way.name().into(),
                    number(run.grains, 6),
                    number(run.mean_level, 3),
                    number(run.contacts / full.contacts, 3),
                    number(run.seconds, 3),
                    number(full.seconds / run.seconds, 3),
                    number(run.base, 4),
                    number(run.height, 4),
                    number(run.front, 4),
                    number(run.kinetic, 3),
                    number(run.outflow, 5),
                    number(run.lift, 4),
                    moved.join(" / "),
                    number(run.overlap, 3),
                ]);
                if way != Way::Full {
                    judge(&mut outcome, test, way, [&full, &run], size);
                }
            }
        }
        outcome.svg(levels.svg());
        outcome.table(table);
        Ok(outcome)
    }
}

/// Judges a reduced run against the full one.
fn judge(outcome: &mut Outcome, test: Test, way: Way, [full, run]: [&Run; 2], size: Size) {
    let named = |what: &str| format!("{test:?}, {}: {what}", way.name());
    let mut require = |what: &str, value: f64, bounds: [f64; 2], basis: &str| {
        outcome.require(Criterion::within(named(what), value, bounds, "").because(basis));
    };
    let scatter = "scatter of repeated runs of prototypes";
    require(
        "largest overlap of a step over that of all grains",
        run.overlap / full.overlap,
        [0.0, 1.2],
        "freezing must not press grains together",
    );
    let moved = |k: usize, run: &Run| run.moved.get(k).copied().unwrap_or(f64::NAN);
    match test {
        Test::Rest => {
            require("level at the end", last(&run.level), [0.99, 1.0], scatter);
            require("floor over weight", run.base, [0.995, 1.005], scatter);
            require(
                "contacts solved, of those of all grains",
                run.contacts / full.contacts,
                [0.0, size.pick(0.1, 0.25)],
                "refreshes alone, and less often each time",
            );
        }
        Test::Collapse => {
            let height = run.height - full.height;
            let slack = size.pick(0.1, 0.2);
            require(
                "z_cm less that of all grains (d)",
                height,
                [-slack, slack],
                scatter,
            );
            let front = run.front - full.front;
            let slack = size.pick(0.9, 1.5);
            require(
                "x_99 less that of all grains (d)",
                front,
                [-slack, slack],
                scatter,
            );
            let kinetic = run.kinetic / full.kinetic;
            require(
                "E_k after 0.1 s over that of all grains",
                kinetic,
                [0.95, 1.05],
                scatter,
            );
            require("level at the end", last(&run.level), [0.9, 1.0], scatter);
            require(
                "energy taken by freezing over what gravity gave",
                run.energy_lost,
                [0.0, 5e-4],
                "ten times what prototypes lose",
            );
        }
        Test::Tilt => {
            let full_moved = moved(2, full);
            let share = (moved(2, run) - full_moved) / full.grains;
            require(
                "grains moved at 42°, less those of all grains, of all",
                share,
                [-0.2, 0.2],
                "a slope fails late by up to one refresh",
            );
            require(
                "grains moved at 42°",
                moved(2, run),
                [1.0, f64::INFINITY],
                "they move at all",
            );
        }
        Test::Belt => {
            let outflow = run.outflow / full.outflow;
            let slack = size.pick(0.02, 0.06);
            require(
                "outflow over that of all grains",
                outflow,
                [1.0 - slack, 1.0 + slack],
                scatter,
            );
            let height = run.height - full.height;
            require(
                "z_cm less that of all grains (d)",
                height,
                [-0.15, 0.15],
                scatter,
            );
            let level = size.pick(0.4, 0.05);
            require("mean level", run.mean_level, [level, 1.0], scatter);
        }
        Test::Drum => {
            let lift = run.lift - full.lift;
            require(
                "angle of the centre of mass less that of all grains (°)",
                lift,
                size.pick([-1.5, 2.5], [-4.0, 4.0]),
                "freezing stops the creep of the plug; a small drum slips in avalanches",
            );
        }
    }
}

fn last(series: &[[f64; 2]]) -> f64 {
    series.last().map_or(f64::NAN, |point| point[1])
}
