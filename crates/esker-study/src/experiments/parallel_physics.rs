//! Does the parallel sweep keep the physics? (Sundberg 2014, Tables 5.1–5.3)
//!
//! Three systems are run twice, once with contacts swept one after another
//! from the bottom up and once in the block order that threads share; the
//! block order itself gives the same bits on any number of threads. Both start
//! from one settled or flowing state. Compared are means over the steady part,
//! relative to the mean; beside them stands the thesis' measure
//!
//! ```text
//! |⟨K_serial⟩ − ⟨K_parallel⟩| / (max K − min K).                        (5.1)
//! ```
//!
//! The drum has the sawtooth shell of the thesis (dimensions in Servin et al. 2014
//! § 4.2.2): 64 teeth, 1.2 d high, attack angle 50°.

use std::f64::consts::TAU;
use std::sync::Arc;

use esker_analysis::series;
use esker_geometry::{OpenFaces, Pose, Region, TriangleMesh, TriangleSoup, WallShape};
use esker_plot::{Axis, Plot, Series, number};
use esker_world::definition::{Placement, SizeDistribution, WallDef, WorldDef};
use glam::DVec3;
use serde::{Deserialize, Serialize};

use crate::bench::{self, Prepared, Start};
use crate::criterion::{Criterion, Reported};
use crate::experiment::{About, Case, Experiment, Frame, Outcome, Size, Table};
use crate::frame;
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

    /// Time of preparation, of the run and from when on it is steady, s.
    fn times(self, size: Size) -> [f64; 3] {
        match self {
            System::Column => size.pick([0.0, 20.0, 5.0], [0.0, 6.0, 3.0]),
            System::Cylinder => size.pick([6.0, 6.0, 2.0], [2.0, 2.5, 1.0]),
            // Few grains need long: over 10 s the mean energy of 900 scatters by 7 %.
            System::Drum => size.pick([7.0, 8.0, 1.0], [3.0, 60.0, 1.0]),
        }
    }

    fn world(self, size: Size) -> Result<WorldDef, StudyError> {
        let mut def = bench::world_of_scene(SCENE)?;
        let material = def.packings[0].material;
        let still = |shape, height: f64| WallDef {
            material,
            ..WallDef::new("wall", shape, Pose::from_position(DVec3::Z * height))
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
                Ok(def)
            }
            System::Cylinder => {
                let (radius, count) = size.pick((0.045, 7500), (0.03, 400));
                let tube = WallShape::Cylinder {
                    radius,
                    length: 20.0,
                    side: esker_geometry::Side::Inside,
                    open: OpenFaces::ENDS,
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
                Ok(def)
            }
            System::Drum => {
                let (radius, width) = size.pick((0.4, 0.1), (0.2, 0.04));
                def.walls[0].shape = sawtooth(radius, width + 2.0 * DIAMETER)?;
                if let WallShape::Box { half_extents, .. } = &mut def.walls[1].shape {
                    half_extents.y = 0.5 * width;
                }
                if let Placement::Lattice { region, count, .. } = &mut def.packings[0].placement {
                    if let Region::Cylinder {
                        radius: r, length, ..
                    } = region
                    {
                        (*r, *length) = (radius - TOOTH_HEIGHT, width);
                    }
                    *count = Some(size.pick(7500, 900));
                }
                Ok(def)
            }
        }
    }
}

const TOOTH_HEIGHT: f64 = 1.2 * DIAMETER;
const ATTACK_ANGLE: f64 = 50.0;

/// A drum about the local z axis whose teeth are steep on the side that lifts: 64
/// where it is 80 diameters across.
fn sawtooth(radius: f64, length: f64) -> Result<WallShape, StudyError> {
    let teeth = (64.0 * radius / (40.0 * DIAMETER)).round() as u32;
    let steep = TOOTH_HEIGHT / ATTACK_ANGLE.to_radians().tan() / radius;
    let mut soup = TriangleSoup::default();
    for tooth in 0..teeth {
        let angle = TAU * f64::from(tooth) / f64::from(teeth);
        // The foot of the steep side, then its tip; the next foot closes the tooth.
        for (phi, r) in [(angle, radius), (angle - steep, radius - TOOTH_HEIGHT)] {
            for z in [-0.5 * length, 0.5 * length] {
                soup.vertices
                    .push(DVec3::new(r * phi.cos(), r * phi.sin(), z));
            }
        }
    }
    // Going round against the angle: foot, tip, foot of the tooth before.
    let points = 2 * teeth;
    for point in 0..points {
        let tooth = point / 2;
        let next = if point % 2 == 0 {
            point + 1
        } else {
            2 * ((tooth + teeth - 1) % teeth)
        };
        let [a, b] = [2 * point, 2 * next];
        soup.triangles.push([a, b, a + 1]);
        soup.triangles.push([b, b + 1, a + 1]);
    }
    let mesh = TriangleMesh::new(soup).map_err(|e| bench::failed("sawtooth", e))?;
    Ok(WallShape::Mesh(Arc::new(mesh)))
}

/// Steady series of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Run {
    times: Vec<f64>,
    overlap: Vec<f64>,
    contacts: Vec<f64>,
    energy: Vec<f64>,
    height: Vec<f64>,
    frame: Option<Frame>,
}

/// Mean height of the twenty highest grains (thesis § 5.1) above the lowest, m.
fn surface_height(world: &esker_world::World) -> f64 {
    let mut heights: Vec<f64> = world.grains().position().iter().map(|x| x.z).collect();
    heights.sort_unstable_by(|a, b| b.total_cmp(a));
    let lowest = heights.last().copied().unwrap_or(0.0);
    heights.truncate(20);
    heights.iter_mut().for_each(|z| *z -= lowest);
    series::statistics(&heights).mean
}

fn run(
    prepared: Option<Prepared>,
    (system, size): (System, Size),
    (start, sweeps): (Start, usize),
    plain: bool,
) -> Result<Run, StudyError> {
    let mut def = system.world(size)?;
    if let Some(prepared) = prepared {
        prepared.put_into(&mut def);
    }
    let [_, time, steady] = system.times(size);
    def.method = start.method(sweeps);
    let mut world = bench::build(&def)?;
    world.set_plain_order(plain);
    let mut run = Run {
        times: Vec::new(),
        overlap: Vec::new(),
        contacts: Vec::new(),
        energy: Vec::new(),
        height: Vec::new(),
        frame: None,
    };
    bench::run(&mut world, time, |world, report| {
        if report.time < steady || !report.step.is_multiple_of(5) {
            return;
        }
        run.times.push(report.time);
        run.overlap.push(report.mean_overlap);
        run.contacts.push(report.touching as f64);
        run.energy.push(world.grains().kinetic_energy());
        run.height.push(surface_height(world));
    })?;
    if system == System::Drum {
        let order = if plain { "serial" } else { "block" };
        let caption = format!("{}, {sweeps} sweeps, {order} order", start.name());
        run.frame = Some(frame::draw_speeds(&world, &caption, DVec3::Y, 1.0)?);
    }
    Ok(run)
}

fn prepared_name(system: System, size: Size) -> String {
    format!("{}, prepared, {}", system.name(), size.name())
}

fn ways(size: Size, system: System) -> Vec<(Start, usize)> {
    let mut ways = match (size, system) {
        (_, System::Column) => vec![(Start::Cold, 100), (Start::Cold, 500)],
        (Size::Full, System::Cylinder) => vec![(Start::Cold, 100), (Start::Cold, 500)],
        (Size::Full, System::Drum) => vec![(Start::Cold, 100)],
        // The drum flows: cold solves of its two orders would cost the suite too much.
        (Size::Reduced, System::Drum) => Vec::new(),
        (Size::Reduced, _) => vec![(Start::Cold, 100)],
    };
    ways.push((Start::SubStepped, 25));
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

/// Share by which the overlaps of two orders may differ after too few sweeps.
const UNCONVERGED: f64 = 0.15;
const UNCONVERGED_REASON: &str = "far from converged in a tall bed, and the two orders converge at \
    different speed: an order that does not go from the bottom up has 5–15 % more overlap in an \
    independent code";

/// What the thesis has per system: contacts, overlap, kinetic energy, height.
const PAPER: [[&str; 4]; 3] = [
    ["", "0.5 % (6.5 % by 5.1)", "9.8 % (5.1)", ""],
    ["0.8 %", "1.3 %", "", ""],
    ["1 % (5.1)", "1.8 % (5.1)", "3.2 % (5.1)", "7.3 % (5.1)"],
];

impl Experiment for ParallelPhysics {
    fn about(&self) -> About {
        About {
            name: "parallel-physics",
            paper: "Sundberg 2014, Tables 5.1–5.3",
            shows: "The order in which threads share the sweep gives the same physics as the \
                    serial order: column, cylinder and drum.",
            seconds_full: 1400.0,
            seconds_reduced: 12.0,
        }
    }

    fn scene(&self) -> &'static str {
        SCENE
    }

    fn cases(&self, size: Size) -> Vec<Case> {
        let mut cases = Vec::new();
        for system in SYSTEMS {
            let [preparation, ..] = system.times(size);
            if preparation > 0.0 {
                cases.push(Case::new(prepared_name(system, size), move || {
                    let mut world = bench::build(&system.world(size)?)?;
                    bench::run(&mut world, preparation, |_, _| {})?;
                    Ok(Prepared::of(&world))
                }));
            }
            for way in ways(size, system) {
                for plain in [true, false] {
                    let name = case_name(system, size, way, plain);
                    cases.push(Case::after(1, name, move |results| {
                        let prepared = (preparation > 0.0)
                            .then(|| results.get(&prepared_name(system, size)))
                            .transpose()?;
                        run(prepared, (system, size), way, plain)
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
                let energy = compare(|r| &r.energy);
                let name = format!("{}, {} sweeps", way.0.name(), way.1);
                table.row([
                    system.name().to_string(),
                    name.clone(),
                    show(overlap),
                    show(contacts),
                    show(energy),
                    show(height),
                ]);
                for (run, order) in [(&serial, "serial"), (&blocks, "blocks")] {
                    let points = run.times.iter().zip(&run.overlap).map(|(t, o)| [*t, *o]);
                    plot.series
                        .push(Series::line(format!("{name}, {order}"), points.collect()));
                }
                let measures: [(&str, (f64, f64), f64); 4] = [
                    ("contacts", contacts, 0.01),
                    ("overlap", overlap, 0.02),
                    ("kinetic energy", energy, 0.10),
                    ("surface height", height, 0.07),
                ];
                for (k, (measure, found, bound)) in measures.into_iter().enumerate() {
                    let what = format!("{}, {name}: {measure}", system.name());
                    let paper = PAPER[system as usize][k];
                    if measure == "kinetic energy" && system != System::Drum {
                        if paper.is_empty() || way != (Start::Cold, 100) {
                            let reason = "a bed at rest: its energy is rounding noise";
                            outcome.report(Reported::new(what, found.0, paper, reason));
                        } else {
                            let what = format!("{what}, difference over the range (5.1)");
                            outcome.require(Criterion::at_most(what, found.1, 0.098, paper));
                        }
                        continue;
                    }
                    let criterion = Criterion::at_most(
                        format!("{what}, difference of means"),
                        found.0,
                        bound,
                        paper,
                    )
                    .because(
                        "the thesis' differences in round numbers: contacts 1 %, overlap 2 %, \
                         kinetic energy 10 %, surface height 7 %",
                    );
                    let unconverged = way == (Start::Cold, 100) && system != System::Drum;
                    outcome.require(
                        if unconverged && (measure == "overlap" || measure == "contacts") {
                            criterion.unless([bound, UNCONVERGED], UNCONVERGED_REASON)
                        } else {
                            criterion
                        },
                    );
                }
                for frame in [serial.frame, blocks.frame].into_iter().flatten() {
                    outcome.frame(frame);
                }
            }
            outcome.svg(plot.svg());
        }
        outcome.table(table);
        outcome.text(
            "The thesis fills cylinder and drum from a random source, anew for each run; here \
             both orders start from the same state, so that what differs is the order alone.",
        );
        Ok(outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sawtooth_drum_is_closed_around_and_faces_the_grains() {
        let WallShape::Mesh(mesh) = sawtooth(0.4, 0.12).unwrap() else {
            panic!("not a mesh")
        };
        let soup = mesh.soup();
        // Two flat sides per tooth.
        assert_eq!(soup.triangles.len(), 64 * 4);
        for (i, normal) in mesh.normals().enumerate() {
            let [a, b, c] = soup.corners(i);
            let centre = (a + b + c) / 3.0;
            let inwards = -DVec3::new(centre.x, centre.y, 0.0).normalize();
            assert!(normal.dot(inwards) > 0.3, "{normal}");
        }
        let radii = soup.vertices.iter().map(|v| v.x.hypot(v.y));
        let (low, high) = radii.fold((f64::MAX, 0.0_f64), |(l, h), r| (l.min(r), h.max(r)));
        assert!((high - 0.4).abs() < 1e-9 && (low - 0.388).abs() < 1e-9);
    }
}
