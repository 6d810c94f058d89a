//! Pellets dropped on a moving belt (Wang et al. 2015 § 6.1, Figs. 13 and 14):
//! the angle of repose of the long heap, with full, a tenth and no rolling
//! resistance.

use esker_analysis::repose;
use esker_analysis::surface::{self, HeightMap};
use esker_geometry::Region;
use esker_plot::{Axis, Plot, Series, number};
use esker_world::World;
use esker_world::definition::{Rate, WorldDef};
use glam::DVec3;
use serde::{Deserialize, Serialize};

use crate::bench::{self, Start};
use crate::criterion::{Criterion, Reported, max_or_nan};
use crate::experiment::{About, Case, Experiment, Frame, Outcome, Size, Table};
use crate::frame;
use crate::observe;
use crate::results::{Results, StudyError};

/// See the module.
pub struct Repose;

const SCENE: &str = include_str!("../../../../scenes/experiments/repose.toml");
const DIAMETER: f64 = 0.013;
const ROLLING: [f64; 3] = [0.32, 0.032, 0.0];

/// The heap on the belt.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Heap {
    /// Mean angle of both flanks, degrees; 0 where a layer has no flank.
    angle: f64,
    /// Place across the belt and height, m.
    profile: Vec<[f64; 2]>,
    /// The same just after the source and far from it: angles, degrees.
    near_and_far: [f64; 2],
    frame: Frame,
}

/// Where the cross-section is taken, m from the source.
fn segment(size: Size) -> [f64; 2] {
    size.pick([10.0 * DIAMETER, 60.0 * DIAMETER], [0.05, 0.20])
}

fn world(size: Size, rolling: f64) -> Result<(WorldDef, f64), StudyError> {
    let mut def = bench::world_of_scene(SCENE)?;
    def.pairs[0].law.rolling = rolling;
    if size == Size::Full {
        return Ok((def, 9.0));
    }
    // A shorter source feeds the same mass per length of belt with fewer grains.
    if let Region::Box { half_extents, pose } = &mut def.emitters[0].region {
        half_extents.x = 0.1;
        pose.position.x = -0.1;
        half_extents.y = 0.016;
    }
    def.emitters[0].rate = Rate::Mass(2.4);
    def.walls[0].surface_velocity.x = 0.12;
    if let Region::Box { half_extents, pose } = &mut def.sinks[0].region {
        half_extents.x = 2.0;
        pose.position.x = 2.0 + 0.24;
    }
    Ok((def, 3.2))
}

fn angle_of(profile: &Vec<[f64; 2]>) -> f64 {
    let peak = max_or_nan(profile.iter().map(|p| p[1]));
    // No grain, no angle.
    if peak.is_nan() || peak <= 0.0 {
        return f64::NAN;
    }
    // A layer of single grains has no flank to speak of.
    if peak < 1.5 * DIAMETER {
        return 0.0;
    }
    repose::ridge_angle(profile, 0.0).map_or(f64::NAN, f64::to_degrees)
}

fn cross_section(world: &World, [from, to]: [f64; 2]) -> Vec<[f64; 2]> {
    let frame = surface::Frame {
        origin: DVec3::ZERO,
        u: DVec3::Y,
        v: DVec3::X,
        up: DVec3::Z,
    };
    let mut snapshot = observe::snapshot(world);
    // Grains in the air are no part of the heap.
    for (x, v) in snapshot
        .positions
        .iter_mut()
        .zip(snapshot.velocities.iter().flatten())
    {
        if v.z < -0.5 {
            x.z = -1.0;
        }
    }
    let half = 25.0 * DIAMETER;
    let map = HeightMap::new(&snapshot, frame, [-half, from], [half, to], 0.5 * DIAMETER);
    map.profile_along_u(0.0)
}

fn heap(size: Size, rolling: f64, start: Start, sweeps: usize) -> Result<Heap, StudyError> {
    let (mut def, time) = world(size, rolling)?;
    def.method = start.method(sweeps);
    let mut world = bench::build(&def)?;
    let [from, to] = segment(size);
    let mut profiles: Vec<Vec<[f64; 2]>> = Vec::new();
    bench::run(&mut world, time, |world, report| {
        if report.time > 0.85 * time && report.step.is_multiple_of(20) {
            profiles.push(cross_section(world, [from, to]));
        }
    })?;
    let count = profiles.len().max(1) as f64;
    let profile: Vec<[f64; 2]> = (0..profiles.first().map_or(0, Vec::len))
        .map(|i| {
            let sum: f64 = profiles.iter().map(|p| p[i][1]).sum();
            [profiles[0][i][0], sum / count]
        })
        .collect();
    let third = (to - from) / 3.0;
    let heights: Vec<f64> = world
        .grains()
        .position()
        .iter()
        .map(|x| x.z / DIAMETER)
        .collect();
    let shot = frame::Shot {
        caption: &format!("µ_r = {rolling}, {}, {sweeps} sweeps", start.name()),
        direction: DVec3::new(-1.0, 0.35, -0.4),
        legend: "height (d)",
        values: &heights,
        range: [0.0, size.pick(10.0, 6.0)],
    };
    Ok(Heap {
        frame: frame::draw(&world, &shot)?,
        angle: angle_of(&profile),
        near_and_far: [
            angle_of(&cross_section(&world, [from, from + third])),
            angle_of(&cross_section(&world, [to - third, to])),
        ],
        profile,
    })
}

fn ways(size: Size) -> Vec<(Start, usize)> {
    size.pick(
        vec![
            (Start::SubStepped, 25),
            (Start::Cold, 150),
            (Start::History, 150),
        ],
        vec![(Start::SubStepped, 15)],
    )
}

fn case_name(rolling: f64, (start, sweeps): (Start, usize), size: Size) -> String {
    format!(
        "µ_r={rolling}, {}, {sweeps} sweeps, {}",
        start.name(),
        size.name()
    )
}

fn wanted(size: Size) -> Vec<(f64, (Start, usize))> {
    let ways = ways(size);
    let mut wanted: Vec<_> = ROLLING.iter().map(|r| (*r, ways[0])).collect();
    wanted.extend(ways[1..].iter().map(|w| (ROLLING[0], *w)));
    wanted
}

impl Experiment for Repose {
    fn about(&self) -> About {
        About {
            name: "repose",
            paper: "Wang et al. 2015 § 6.1, Figs. 13 and 14",
            shows: "Angle of repose of pellets on a moving belt: 36 ± 2° with rolling \
                    resistance, 22° with a tenth of it, next to nothing without.",
            seconds_full: 400.0,
            seconds_reduced: 10.0,
        }
    }

    fn scene(&self) -> &'static str {
        SCENE
    }

    fn cases(&self, size: Size) -> Vec<Case> {
        wanted(size)
            .into_iter()
            .map(|(rolling, (start, sweeps))| {
                Case::new(case_name(rolling, (start, sweeps), size), move || {
                    heap(size, rolling, start, sweeps)
                })
            })
            .collect()
    }

    fn judge(&self, size: Size, results: &Results) -> Result<Outcome, StudyError> {
        let mut outcome = Outcome::default();
        let mut plot = Plot::new(
            "Cross-section of the heap",
            Axis::linear("across the belt (m)"),
            Axis::linear("height (m)"),
        );
        let mut table = Table::new(
            "Angle of repose (°)",
            &["µ_r", "way", "mean", "near the source", "far from it"],
        );
        for (rolling, way) in wanted(size) {
            let heap: Heap = results.get(&case_name(rolling, way, size))?;
            let name = format!("µ_r = {rolling}, {}, {} sweeps", way.0.name(), way.1);
            plot.series.push(Series::line(name, heap.profile.clone()));
            table.row([
                number(rolling, 2),
                format!("{}, {}", way.0.name(), way.1),
                number(heap.angle, 3),
                number(heap.near_and_far[0], 3),
                number(heap.near_and_far[1], 3),
            ]);
        }
        outcome.svg(plot.svg());
        outcome.table(table);
        let way = ways(size)[0];
        let heap = |rolling| results.get::<Heap>(&case_name(rolling, way, size));
        let [full, tenth, none] = [heap(ROLLING[0])?, heap(ROLLING[1])?, heap(ROLLING[2])?];
        for heap in [&full, &tenth, &none] {
            outcome.frame(heap.frame.clone());
        }
        let full_paper = "36 ± 2 (33 ± 2 at h = 0.2 ms; observed 34 ± 3)";
        if size == Size::Full {
            outcome.require(
                Criterion::within(
                    "angle with µ_r = 0.32 (°)",
                    full.angle,
                    [31.0, 38.0],
                    full_paper,
                )
                .because("the paper's two steps with their errors"),
            );
            outcome.require(
                Criterion::within(
                    "angle with µ_r = 0.032 (°)",
                    tenth.angle,
                    [20.0, 24.0],
                    "22",
                )
                .because("the paper, with the error that it has for µ_r = 0.32"),
            );
            let [near, far] = none.near_and_far;
            outcome.require(
                Criterion::within(
                    "angle without rolling resistance near the source (°)",
                    near,
                    [13.0, 17.0],
                    "15 at first",
                )
                .because("the paper, with the error that it has for µ_r = 0.32"),
            );
            outcome.require(
                Criterion::at_most(
                    "angle without rolling resistance far from the source (°)",
                    far,
                    2.0,
                    "melts to 0",
                )
                .because("the paper, with the error that it has for µ_r = 0.32"),
            );
        } else {
            let reason = "a heap half as high, from a source half as long";
            for (name, heap, paper) in [
                ("angle with µ_r = 0.32 (°)", &full, full_paper),
                ("angle with µ_r = 0.032 (°)", &tenth, "22"),
                (
                    "angle without rolling resistance (°)",
                    &none,
                    "15 at first, melts to 0",
                ),
            ] {
                outcome.report(Reported::new(name, heap.angle, paper, reason));
            }
            let basis = "the order of the paper's angles, apart by twice its error of 2°";
            for (name, low, high, paper) in [
                (
                    "with full minus a tenth of the rolling resistance",
                    &tenth,
                    &full,
                    "14",
                ),
                (
                    "with a tenth minus none of the rolling resistance",
                    &none,
                    &tenth,
                    "7–22",
                ),
            ] {
                outcome.require(
                    Criterion::at_least(
                        format!("angle {name} (°)"),
                        high.angle - low.angle,
                        4.0,
                        paper,
                    )
                    .because(basis),
                );
            }
            outcome.require(
                Criterion::at_most(
                    "angle with µ_r = 0.32 (°) above the paper's and the observed",
                    full.angle,
                    38.0,
                    full_paper,
                )
                .because("a smaller heap cannot be steeper"),
            );
        }
        Ok(outcome)
    }
}
