//! Pile formation (000 § 4.2, Figs. 5 and 6): the height of a heap against
//! sweeps per step, for different starts of the solve.
//!
//! With few sweeps the heap is squeezed and its grains slide: it melts. The
//! error is `(l_ref − l)/l_ref` with the height `l = 4 z_cm` of the cone that has the
//! heap's centre of mass (a single grain at the tip does not matter then); the reference is the sub-stepped way with many
//! substeps, which § 18 of the physics notes shows to be converged there.

use esker_analysis::repose;
use esker_analysis::surface::{Frame, HeightMap};
use esker_geometry::Region;
use esker_plot::{Axis, Plot, Series, number};
use esker_world::definition::{Rate, Total, WorldDef};
use serde::{Deserialize, Serialize};

use crate::bench::{self, Start};
use crate::experiment::{About, Case, Criterion, Experiment, Outcome, Size, Table};
use crate::observe;
use crate::results::{Results, StudyError};

/// See the module.
pub struct Pile;

const SCENE: &str = include_str!("../../../../scenes/experiments/pile.toml");
const DIAMETER: f64 = 0.013;
const STARTS: [Start; 5] = [
    Start::Cold,
    Start::History,
    Start::NormalsOnly,
    Start::WithoutVelocity,
    Start::SubStepped,
];

/// A finished heap.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Heap {
    /// Height of the cone with the same centre of mass, m.
    height: f64,
    /// Angle of the flank, degrees.
    angle: f64,
    /// Mean overlap, in diameters.
    overlap: f64,
    /// Radius and height, m.
    profile: Vec<[f64; 2]>,
}

fn sweeps(size: Size) -> &'static [usize] {
    size.pick(&[10, 25, 50, 100][..], &[10, 40][..])
}

fn reference_sweeps(size: Size) -> usize {
    size.pick(200, 40)
}

fn case_name(start: Start, sweeps: usize, size: Size) -> String {
    format!("{}, {sweeps} sweeps, {}", start.name(), size.name())
}

fn world(size: Size) -> Result<(WorldDef, f64), StudyError> {
    let mut def = bench::world_of_scene(SCENE)?;
    let (rate, total, rest) = size.pick((420.0, 3363, 4.0), (250.0, 450, 0.7));
    let source = &mut def.emitters[0];
    source.rate = Rate::Number(rate);
    source.total = Total::Number(total);
    if size == Size::Reduced {
        // A small heap grows only under a gentle rain.
        source.velocity.z = -0.8;
        if let Region::Cylinder { pose, .. } = &mut source.region {
            pose.position.z = 11.0 * DIAMETER;
        }
    }
    Ok((def, total as f64 / rate + rest))
}

fn heap(start: Start, sweeps: usize, size: Size) -> Result<Heap, StudyError> {
    let (mut def, time) = world(size)?;
    def.method = start.method(sweeps);
    let mut world = bench::build(&def)?;
    let mut overlap = 0.0;
    bench::run(&mut world, time, |_, report| overlap = report.mean_overlap);
    let snapshot = observe::snapshot(&world);
    let half = 40.0 * DIAMETER;
    let map = HeightMap::new(
        &snapshot,
        Frame::WORLD,
        [-half; 2],
        [half; 2],
        0.25 * DIAMETER,
    );
    let centre = snapshot.centre_of_mass();
    let centre = [centre.x, centre.y];
    let profile = map.radial_profile(centre, 1.5 * DIAMETER, 0.0);
    Ok(Heap {
        height: 4.0 * snapshot.centre_of_mass().z,
        angle: repose::cone_angle(&map, centre, 0.0).map_or(0.0, f64::to_degrees),
        overlap,
        profile,
    })
}

impl Experiment for Pile {
    fn about(&self) -> About {
        About {
            name: "pile",
            paper: "000 Figs. 5 and 6",
            shows: "Height of a heap against sweeps: history warm start needs about half the \
                    sweeps of cold; without its velocity update it is no better than cold; \
                    sub-stepped, ten sweeps are enough.",
            seconds_full: 1600.0,
            seconds_reduced: 12.0,
        }
    }

    fn scene(&self) -> &'static str {
        SCENE
    }

    fn cases(&self, size: Size) -> Vec<Case> {
        let mut wanted = Vec::new();
        for start in STARTS {
            wanted.extend(sweeps(size).iter().map(|n| (start, *n)));
        }
        let reference = (Start::SubStepped, reference_sweeps(size));
        if !wanted.contains(&reference) {
            wanted.push(reference);
        }
        wanted
            .into_iter()
            .map(|(start, n)| Case::new(case_name(start, n, size), move || heap(start, n, size)))
            .collect()
    }

    fn judge(&self, size: Size, results: &Results) -> Result<Outcome, StudyError> {
        let mut outcome = Outcome::default();
        let heap = |start, n| results.get::<Heap>(&case_name(start, n, size));
        let reference = heap(Start::SubStepped, reference_sweeps(size))?;
        let error = |start, n| -> Result<f64, StudyError> {
            Ok(1.0 - heap(start, n)?.height / reference.height)
        };
        let mut plot = Plot::new(
            "Height error of the heap",
            Axis::log("sweeps per step"),
            Axis::linear("(l_ref − l)/l_ref"),
        );
        let mut table = Table::new(
            "Height error (%) / angle (°) / mean overlap (% of d)",
            &["start"],
        );
        table
            .head
            .extend(sweeps(size).iter().map(|n| format!("{n} sweeps")));
        for start in STARTS {
            let mut cells = vec![start.name().to_string()];
            let mut points = Vec::new();
            for &n in sweeps(size) {
                let (h, e) = (heap(start, n)?, error(start, n)?);
                points.push([n as f64, e]);
                cells.push(format!(
                    "{} / {} / {}",
                    number(100.0 * e, 3),
                    number(h.angle, 3),
                    number(100.0 * h.overlap, 2)
                ));
            }
            table.row(cells);
            plot.series
                .push(Series::line(start.name(), points).with_points());
        }
        outcome.svg(plot.svg());
        outcome.table(table);
        let most = *sweeps(size).last().unwrap_or(&10);
        let mut shapes = Plot::new(
            format!("Shapes of heaps after {most} sweeps per step"),
            Axis::linear("radius (m)"),
            Axis::linear("height (m)"),
        );
        shapes
            .series
            .push(Series::dashed("reference", reference.profile.clone()));
        for start in STARTS {
            let profile = heap(start, most)?.profile;
            shapes.series.push(Series::line(start.name(), profile));
        }
        outcome.svg(shapes.svg());

        let [few, middle, double] = size.pick([25, 50, 100], [10, 10, 40]);
        outcome.require(Criterion::at_most(
            format!("history at {middle} sweeps: error over that of cold at {double}"),
            error(Start::History, middle)? / error(Start::Cold, double)?.max(0.02),
            1.3,
            "history needs half the sweeps",
        ));
        outcome.require(Criterion::at_least(
            format!("without the velocity update at {few} sweeps: error over that of history"),
            error(Start::WithoutVelocity, few)? / error(Start::History, few)?.max(0.01),
            1.2,
            "worse than cold",
        ));
        outcome.require(Criterion::at_least(
            format!("normals only at {few} sweeps: error over that of history"),
            error(Start::NormalsOnly, few)? / error(Start::History, few)?.max(0.01),
            1.1,
            "no significant gain over cold",
        ));
        outcome.require(Criterion::at_most(
            "sub-stepped with 10 sweeps: height error",
            error(Start::SubStepped, 10)?.abs(),
            0.08,
            "not in the paper",
        ));
        outcome.require(Criterion::within(
            "height of the reference heap in diameters",
            reference.height / DIAMETER,
            size.pick([11.0, 18.0], [3.0, 8.0]),
            "about 15 (3363 grains)",
        ));
        Ok(outcome)
    }
}
