//! An excavator of 50 t digs in a trench: what cold and warm starting make of bed and forces
//! (Wang et al. 2016, section 5).
//!
//! The machine is that of the scene `excavator`; the paper gives neither its lengths nor what its
//! cylinders do. Cases change bed, step and method. The paper's numbers are those of two runs with
//! 25 sweeps per step, which are compared with a sub-stepped run of as many sweeps. A cylinder also
//! moves the machine: what the bed adds to its force is the difference to a run without a bed.
//!
//! At full size each way of starting has a bed of its own: poured into the trench and left to itself
//! for some seconds by the solver that then digs. That is where the paper's difference of heights can
//! come from: a bed that is started cold is compressed and slips as it comes to rest, and goes on
//! creeping. Of 11,316 grains of 50 to 200 mm with 12 sweeps per 3.5 ms the bed started warm was
//! higher by 4.7 % after 1.5 s and by 6.8 % after 4 s; as the bucket came down it was by 6.1 %, and
//! resisted with 1.09 times the force. (Beds that all began as one dense packing differed by 1 %.) The
//! paper's displaced volume is not explained by it: in the bed started cold more was moved, 3.6 m³
//! for 1.0, which is not its creep (without the machine nothing in it moved by 0.3 m), but what the
//! bucket drags along. At reduced size beds begin as a loose packing.
//!
//! Most of the bed rests while a part of it is dug: a last run freezes it (`reduction`) and takes fewer
//! sweeps in longer steps.
//!
//! A sweep passes a load on from grain to grain, so that sweeps per step go with the layers of a
//! bed: 25 for some thirty layers at full size are 5 for six at reduced size.

use esker_analysis::surface::{Frame as Axes, HeightMap};
use esker_geometry::{Pose, Region, WallShape};
use esker_plot::{Axis, Plot, Series, number};
use esker_world::World;
use esker_world::definition::{Placement, Reduction, SizeDistribution, WorldDef};
use glam::DVec3;
use serde::{Deserialize, Serialize};

use crate::bench::{self, Prepared, Start};
use crate::criterion::{Criterion, Reported};
use crate::experiment::{About, Case, Experiment, Frame, Outcome, Size, Table};
use crate::frame::{self, Shot};
use crate::observe;
use crate::results::{Results, StudyError};

/// See the module.
pub struct Excavator;

const SCENE: &str = include_str!("../../../../scenes/excavator.toml");
/// Share of space that grains fill when they are let go above the trench.
const POURED: f64 = 0.3;
/// When the bed is at rest and the bucket is still above it, s.
const UNDISTURBED: f64 = 1.5;
/// Times between which the bucket is in the bed, s.
const DIGGING: [f64; 2] = [2.0, 6.0];
/// Overlap of two grains at one time, in diameters, beyond which a run calls itself wrong. (The few
/// sweeps of the reduced size come near it where the bucket traps a grain.)
const LARGEST_OVERLAP: f64 = 0.5;
/// Grains that have moved farther than this are displaced, m.
const DISPLACED: f64 = 0.3;
/// Share of space that grains fill, for volumes of displaced grains.
const FRACTION: f64 = 0.6;
/// Time between points of curves, s.
const EVERY: f64 = 0.1;
/// The cylinders, by their drives.
const CYLINDERS: [&str; 3] = ["boom", "stick", "bucket"];
/// The one in the middle, whose force the paper shows.
const MIDDLE: usize = 1;

/// A bed of rubble.
#[derive(Clone, Copy)]
struct Bed {
    /// Smallest and largest diameter, m.
    diameters: [f64; 2],
    /// Lower and upper corner of the bed, m.
    corners: [DVec3; 2],
    /// Share of it that all grains together fill.
    fraction: f64,
    /// Time in which poured grains come to rest, s; `None`: grains are packed.
    settling: Option<f64>,
    /// Step, s.
    step: f64,
    /// Sweeps per step.
    sweeps: usize,
    /// Step (s) and sweeps of the fast run.
    fast: (f64, usize),
    /// Time that is simulated, s.
    duration: f64,
}

impl Bed {
    fn of(size: Size) -> Self {
        let corner = |x: f64, y: f64, z: f64| DVec3::new(x, y, z);
        size.pick(
            Bed {
                diameters: [0.025, 0.1],
                corners: [corner(3.7, -1.2, -2.0), corner(9.7, 1.2, 0.0)],
                fraction: 0.55,
                settling: Some(4.0),
                step: 2.5e-3,
                sweeps: 25,
                // Small grains between large ones yield as the square of the substep: with 0.4 ms
                // some overlap by half a diameter.
                fast: (10e-3, 50),
                duration: 6.5,
            },
            Bed {
                diameters: [0.22, 0.3],
                corners: [corner(4.2, -1.2, -1.4), corner(9.4, 1.2, 0.0)],
                fraction: 0.52,
                settling: None,
                step: 5e-3,
                sweeps: 5,
                fast: (5e-3, 5),
                duration: 7.5,
            },
        )
    }

    /// The scene with this bed.
    fn definition(&self) -> Result<WorldDef, StudyError> {
        self.definition_up_to(self.corners[1], self.fraction)
    }

    /// The scene with grains that fill this share of the bed up to an upper corner.
    fn definition_up_to(&self, high: DVec3, fraction: f64) -> Result<WorldDef, StudyError> {
        let mut def = bench::world_of_scene(SCENE)?;
        let low = self.corners[0];
        let centre = 0.5 * (low + high);
        def.step = self.step;
        let trench = &mut def.walls[0];
        if let WallShape::Box { half_extents, .. } = &mut trench.shape {
            // Its walls stand above the rubble, so that none is lost.
            *half_extents = 0.5 * (high - low + DVec3::Z);
        }
        trench.pose.position = centre + 0.5 * DVec3::Z;
        let [min, max] = self.diameters.map(|d| 0.5 * d);
        def.packings[0].placement = Placement::Packed {
            region: Region::Box {
                half_extents: 0.5 * (high - low),
                pose: Pose::from_position(centre),
            },
            fraction,
            sizes: SizeDistribution::Uniform { min, max },
        };
        Ok(def)
    }

    /// Grains that were let go above the trench and came to rest there, without the machine.
    fn poured(&self, start: Start, settling: f64, seed: u64) -> Result<Prepared, StudyError> {
        let [low, high] = self.corners;
        let height = (high.z - low.z) * self.fraction / POURED;
        let mut def = self.definition_up_to(high.with_z(low.z + height), POURED)?;
        def.seed = seed;
        def.method = start.method(self.sweeps);
        def.bodies.clear();
        def.joints.clear();
        def.drives.clear();
        let mut world = bench::build(&def)?;
        bench::run(&mut world, settling, |_, _| {})?;
        Ok(Prepared::of(&world))
    }

    /// Name of the case of [`Bed::poured`].
    fn poured_name(&self, start: Start, size: Size, seed: u64) -> String {
        let (sweeps, start, size) = (self.sweeps, start.name(), size.name());
        format!("poured: {start}, {sweeps} sweeps, {size}, bed {seed}")
    }

    /// Mean height of the surface above the floor, m.
    fn height(&self, world: &World) -> f64 {
        let [low, high] = self.corners;
        let (snapshot, cell) = (observe::grains_alone(world), 0.5 * self.diameters[1]);
        let [from, to] = [low, high].map(|corner| [corner.x, corner.y]);
        let map = HeightMap::new(&snapshot, Axes::WORLD, from, to, cell);
        let profile = map.profile_along_u(low.z);
        let sum: f64 = profile.iter().map(|point| point[1] - low.z).sum();
        sum / profile.len() as f64
    }
}

/// A cycle of the machine.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Dug {
    /// Time (s) and forces of the cylinders (N), means since the last row.
    forces: Vec<[f64; 4]>,
    /// Time (s) and size of the force of the bed on the bucket (N), as above.
    bucket: Vec<[f64; 2]>,
    /// Height of the bed before the bucket enters it, m.
    height: f64,
    /// Volume of displaced grains at the end, with what is between them, m³.
    displaced: f64,
    /// Largest gap of a joint, m.
    gap: f64,
    /// Largest overlap of two grains or of one with the machine at any time, in diameters.
    overlap: f64,
    /// Grains.
    grains: usize,
    /// Time on the clock per simulated second, s, from where the bed is at rest, with so many
    /// threads.
    pace: f64,
    threads: usize,
    frame: Frame,
}

/// The same cycle in several beds; of each number the mean of all.
struct Beds(Vec<Dug>);

impl Beds {
    fn mean(&self, value: impl Fn(&Dug) -> f64) -> f64 {
        self.0.iter().map(value).sum::<f64>() / self.0.len() as f64
    }

    fn max(&self, value: impl Fn(&Dug) -> f64) -> f64 {
        self.0.iter().map(value).fold(0.0, f64::max)
    }

    fn height(&self) -> f64 {
        self.mean(|dug| dug.height)
    }

    fn displaced(&self) -> f64 {
        self.mean(|dug| dug.displaced)
    }

    fn added(&self, empty: &Dug, cylinder: usize) -> f64 {
        self.mean(|dug| dug.added(empty, cylinder))
    }

    fn resistance(&self) -> f64 {
        self.mean(Dug::resistance)
    }
}

impl Dug {
    /// What the bed adds to the force of a cylinder while the bucket is in it, N: the root of the
    /// mean square of the difference to the machine without a bed.
    fn added(&self, empty: &Dug, cylinder: usize) -> f64 {
        let pairs = self.forces.iter().zip(&empty.forces);
        let squares = pairs.map(|(row, other)| {
            let difference = row[1 + cylinder] - other[1 + cylinder];
            [row[0], difference * difference]
        });
        mean(squares).sqrt()
    }

    /// Mean force on the bucket while it is in the bed, N.
    fn resistance(&self) -> f64 {
        mean(self.bucket.iter().copied())
    }
}

/// Mean of rows with a time over the time of digging; NaN where there is none.
fn mean(rows: impl Iterator<Item = [f64; 2]>) -> f64 {
    let during = rows.filter(|row| row[0] > DIGGING[0] && row[0] <= DIGGING[1]);
    let (sum, count) = during.fold((0.0, 0.0), |(sum, n), row| (sum + row[1], n + 1.0));
    sum / count
}

/// Positions of all grains, by id.
fn positions(world: &World) -> Vec<DVec3> {
    let grains = world.all_grains();
    let order = grains.in_id_order().into_iter();
    order.map(|i| grains.position()[i]).collect()
}

/// Volume of grains that moved far, m³.
fn displaced(world: &World, before: &[DVec3]) -> f64 {
    let grains = world.all_grains();
    let order = grains.in_id_order();
    let moved = order
        .into_iter()
        .zip(before)
        .filter(|&(i, from)| grains.position()[i].distance(*from) > DISPLACED);
    let volume = |radius: f64| 4.0 / 3.0 * std::f64::consts::PI * radius.powi(3);
    moved.map(|(i, _)| volume(grains.radius()[i])).sum::<f64>() / FRACTION
}

fn dug(size: Size, way: Way, seed: u64, poured: Option<&Prepared>) -> Result<Dug, StudyError> {
    let bed = Bed::of(size);
    let mut def = bed.definition()?;
    def.seed = seed;
    if let Some(grains) = poured {
        grains.put_into(&mut def);
    }
    match way {
        Way::All(start) => def.method = start.method(bed.sweeps),
        Way::Fast => {
            let (step, sweeps) = bed.fast;
            def.step = step;
            def.method = Start::SubStepped.method(sweeps);
            def.reduction = Some(Reduction::default());
        }
        Way::Empty => {
            def.method = Start::SubStepped.method(bed.sweeps);
            def.packings.clear();
        }
    }
    let drives = CYLINDERS.map(|name| def.drives.iter().position(|drive| drive.name == name));
    let [Some(boom), Some(stick), Some(bucket_drive)] = drives else {
        return Err(bench::failed("scene", "a cylinder is missing"));
    };
    let mut world = bench::build(&def)?;
    let bucket = world
        .body_named("bucket")
        .ok_or_else(|| bench::failed("scene", "there is no bucket"))?;
    let mut dug = Dug {
        grains: world.grains().count(),
        threads: world.threads(),
        ..Dug::default()
    };
    bench::run(&mut world, UNDISTURBED, |_, report| {
        dug.overlap = dug.overlap.max(report.max_overlap);
    })?;
    if way != Way::Empty {
        dug.height = bed.height(&world);
    }
    let before = positions(&world);
    let totals = |world: &World| {
        let impulse = |drive: usize| world.drive(drive).impulse;
        let pushed = world.bodies()[bucket].total_load.impulse;
        ([boom, stick, bucket_drive].map(impulse), pushed)
    };
    let mut last = totals(&world);
    let mut seconds = 0.0;
    let digging = bed.duration - UNDISTURBED;
    bench::run(&mut world, digging, |world, report| {
        seconds += report.times.total().as_secs_f64();
        dug.overlap = dug.overlap.max(report.max_overlap);
        if report.reached_multiple_of(EVERY) {
            let now = totals(world);
            let [a, b, c] = [0, 1, 2].map(|k| (now.0[k] - last.0[k]) / EVERY);
            dug.forces.push([report.time, a, b, c]);
            let push = (now.1 - last.1).length() / EVERY;
            dug.bucket.push([report.time, push]);
            last = now;
        }
    })?;
    dug.pace = seconds / digging;
    dug.displaced = displaced(&world, &before);
    let gaps = (0..def.joints.len()).map(|j| world.joint(j).max_violation.distance);
    dug.gap = gaps.fold(0.0, f64::max);
    if way != Way::Empty {
        let [low, high] = bed.corners;
        let heights: Vec<f64> = world.all_grains().position().iter().map(|x| x.z).collect();
        dug.frame = frame::draw(
            &world,
            &Shot {
                caption: way.name(),
                direction: DVec3::new(-0.5, 1.0, -0.45),
                legend: "height (m)",
                values: &heights,
                range: [low.z, high.z],
            },
        )?;
    }
    Ok(dug)
}

fn threads_of(count: usize) -> String {
    match count {
        1 => "one thread".into(),
        count => format!("{count} threads"),
    }
}

/// How a cycle is simulated.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// With all grains all the time.
    All(Start),
    /// Sub-stepped with longer steps, and grains at rest frozen.
    Fast,
    /// Without a bed.
    Empty,
}

impl Way {
    /// How the bed that it digs in was poured; `None` without a bed.
    fn poured(self) -> Option<Start> {
        match self {
            Way::All(start) => Some(start),
            Way::Fast => Some(Start::SubStepped),
            Way::Empty => None,
        }
    }

    /// Every case.
    const EVERY: [Way; 5] = [
        Way::All(Start::Cold),
        Way::All(Start::History),
        Way::All(Start::SubStepped),
        Way::Fast,
        Way::Empty,
    ];

    fn name(self) -> &'static str {
        match self {
            Way::All(start) => start.name(),
            Way::Fast => "sub-stepped, at rest frozen",
            Way::Empty => "without a bed",
        }
    }

    /// Seeds of its beds: of few large grains one bed alone says little.
    fn seeds(self, size: Size) -> &'static [u64] {
        match self {
            Way::Empty => &[1],
            Way::All(_) | Way::Fast => size.pick(&[1], &[1, 2, 3]),
        }
    }

    /// Name of its case.
    fn case(self, size: Size, seed: u64) -> String {
        let bed = Bed::of(size);
        let sweeps = match self {
            Way::Fast => bed.fast.1,
            Way::All(_) | Way::Empty => bed.sweeps,
        };
        let (name, size) = (self.name(), size.name());
        format!("{name}, {sweeps} sweeps, {size}, bed {seed}")
    }
}

impl Experiment for Excavator {
    fn about(&self) -> About {
        About {
            name: "excavator",
            paper: "Wang et al. 2016, section 5",
            shows: "An excavator digs in a trench: what cold and warm starting make of the height \
                    of the bed, of what is displaced and of the forces of the cylinders.",
            // Of one thread: 1,600 steps of 0.3 s for each of three beds, 2,600 for each of three of the
            // cases, and a fast one.
            seconds_full: 4000.0,
            seconds_reduced: 40.0,
        }
    }

    fn scene(&self) -> &'static str {
        SCENE
    }

    fn cases(&self, size: Size) -> Vec<Case> {
        let bed = Bed::of(size);
        let mut cases = Vec::new();
        for way in Way::EVERY {
            for &seed in way.seeds(size) {
                if let (Way::All(start), Some(settling)) = (way, bed.settling) {
                    let name = bed.poured_name(start, size, seed);
                    cases.push(Case::new(name, move || bed.poured(start, settling, seed)));
                }
                let start = way.poured().filter(|_| bed.settling.is_some());
                let poured = start.map(|start| bed.poured_name(start, size, seed));
                let stage = usize::from(poured.is_some());
                cases.push(Case::after(stage, way.case(size, seed), move |results| {
                    let grains: Option<Prepared> =
                        poured.as_ref().map(|name| results.get(name)).transpose()?;
                    dug(size, way, seed, grains.as_ref())
                }));
            }
        }
        cases
    }

    fn judge(&self, size: Size, results: &Results) -> Result<Outcome, StudyError> {
        let mut outcome = Outcome::default();
        let bed = Bed::of(size);
        let run = |way: Way| {
            let seeds = way.seeds(size).iter();
            let beds = seeds.map(|&seed| results.get::<Dug>(&way.case(size, seed)));
            beds.collect::<Result<Vec<_>, _>>().map(Beds)
        };
        let [cold, warm, sub_stepped, fast, empty] = Way::EVERY.map(run);
        let (cold, warm, sub_stepped) = (cold?, warm?, sub_stepped?);
        let (fast, empty) = (fast?, empty?);
        let empty = &empty.0[0];
        let runs = [
            ("cold", &cold),
            ("warm", &warm),
            ("sub-stepped", &sub_stepped),
            ("at rest frozen", &fast),
        ];
        let mut table = Table::new(
            format!(
                "{} grains, {} sweeps per step ({} per {} ms with those at rest frozen); forces are \
                 what the bed adds to those of the cylinders while the bucket is in it",
                cold.0[0].grains,
                bed.sweeps,
                bed.fast.1,
                1e3 * bed.fast.0,
            ),
            &[
                "start",
                "height (m)",
                "displaced (m³)",
                "boom (kN)",
                "stick (kN)",
                "bucket (kN)",
                "bed on bucket (kN)",
                "largest overlap (d)",
                "s per simulated s",
            ],
        );
        for (name, dug) in runs {
            let [boom, stick, bucket] = [0, 1, 2].map(|k| 1e-3 * dug.added(empty, k));
            table.row([
                name.to_owned(),
                number(dug.height(), 3),
                number(dug.displaced(), 3),
                number(boom, 3),
                number(stick, 3),
                number(bucket, 3),
                number(1e-3 * dug.resistance(), 3),
                number(dug.max(|dug| dug.overlap), 2),
                number(dug.mean(|dug| dug.pace), 3),
            ]);
            outcome.require(
                Criterion::at_most(
                    format!("{name}: gap of joints, mm"),
                    1e3 * dug.max(|dug| dug.gap),
                    1.0,
                    "0",
                )
                .because("joints hold while the bucket digs"),
            );
        }
        let paper = against_paper(&cold, &warm, empty, size);
        let warmed = against_warm(&warm, &sub_stepped, empty);
        let frozen = against_all_grains(&sub_stepped, &fast, empty);
        for criterion in paper.into_iter().chain(warmed).chain(frozen) {
            outcome.require(criterion);
        }
        for (name, dug) in [("sub-stepped", &sub_stepped), ("at rest frozen", &fast)] {
            if let Size::Full = size {
                outcome.require(
                    Criterion::at_most(
                        format!("{name}: largest overlap at any time, in diameters"),
                        dug.max(|dug| dug.overlap),
                        LARGEST_OVERLAP,
                        "",
                    )
                    .because("beyond it two grains are no grains any more, and a run says so"),
                );
            }
            outcome.report(Reported::new(
                format!(
                    "{name}: seconds per simulated second, {}",
                    threads_of(dug.0[0].threads)
                ),
                dug.mean(|dug| dug.pace),
                "100 (1e5 grains, 3.46 GHz)",
                "a clock depends on the machine and on what else it does",
            ));
        }
        for (cylinder, name) in CYLINDERS.iter().enumerate() {
            let mut plot = Plot::new(
                format!("Force of the cylinder of the {name}"),
                Axis::linear("time (s)"),
                Axis::linear("force (kN)"),
            );
            let first = runs.map(|(start, dug)| (start, &dug.0[0]));
            for (start, dug) in first.into_iter().chain([("without a bed", empty)]) {
                let points = dug.forces.iter();
                let points = points.map(|row| [row[0], 1e-3 * row[1 + cylinder]]);
                plot.series.push(Series::line(start, points.collect()));
            }
            outcome.svg(plot.svg());
        }
        outcome.table(table);
        for dug in [cold, warm, sub_stepped, fast] {
            outcome.frame(dug.0[0].frame.clone());
        }
        Ok(outcome)
    }
}

/// Warm over cold.
fn against_paper(cold: &Beds, warm: &Beds, empty: &Dug, size: Size) -> [Criterion; 4] {
    let height = Criterion::within(
        "height of the undisturbed bed, warm over cold",
        warm.height() / cold.height(),
        [1.05, 1.15],
        "1.10",
    );
    let displaced = Criterion::at_least(
        "displaced volume, warm over cold",
        warm.displaced() / cold.displaced(),
        1.3,
        "at least 1.3",
    );
    let middle = Criterion::within(
        "what the bed adds to the force of the middle cylinder, warm over cold",
        warm.added(empty, MIDDLE) / cold.added(empty, MIDDLE),
        [1.3, 1.7],
        "1.5",
    )
    .unless(
        [0.8, 2.5],
        "the share of the middle cylinder depends on the lengths of the machine and on what its \
         cylinders do, which are not given",
    );
    let bucket = Criterion::within(
        "force of the bed on the bucket, warm over cold",
        warm.resistance() / cold.resistance(),
        [1.15, 2.5],
        "",
    )
    .because("more of the bed is set in motion, and it resists more");
    [
        explained(height, [1.002, 1.05], size),
        explained(displaced, [0.2, 1.3], size),
        middle,
        bucket,
    ]
}

/// A criterion of the paper at a size: a small bed may be in a range of its own.
fn explained(criterion: Criterion, reduced: [f64; 2], size: Size) -> Criterion {
    match size {
        Size::Full => criterion,
        Size::Reduced => criterion.unless(
            reduced,
            "the bed has six layers, not thirty, and what is not solved adds up over the layers; \
             the bucket holds some thirty grains, and a bed that is started cold creeps as a whole: 1.6 to \
             5.2 m³ in four beds",
        ),
    }
}

/// Sub-stepped over warm: as many sweeps do at least as well.
fn against_warm(warm: &Beds, sub_stepped: &Beds, empty: &Dug) -> [Criterion; 2] {
    [
        Criterion::within(
            "height of the undisturbed bed, sub-stepped over warm",
            sub_stepped.height() / warm.height(),
            [0.99, 1.1],
            "",
        )
        .because("sub-stepping holds a bed up with as many sweeps"),
        Criterion::within(
            "what the bed adds to the force of the middle cylinder, sub-stepped over warm",
            sub_stepped.added(empty, MIDDLE) / warm.added(empty, MIDDLE),
            [0.75, 1.35],
            "",
        )
        .because("both are to find one force; beds are few, and their grains are coarse"),
    ]
}

/// The fast run over the sub-stepped one.
fn against_all_grains(sub_stepped: &Beds, fast: &Beds, empty: &Dug) -> [Criterion; 3] {
    [
        Criterion::within(
            "height of the undisturbed bed, at rest frozen over sub-stepped",
            fast.height() / sub_stepped.height(),
            [0.99, 1.01],
            "",
        )
        .because("a bed at rest stays as high when it is frozen"),
        Criterion::within(
            "what the bed adds to the force of the middle cylinder, at rest frozen over sub-stepped",
            fast.added(empty, MIDDLE) / sub_stepped.added(empty, MIDDLE),
            [0.75, 1.35],
            "",
        )
        .because("the bucket feels the grains that it moves; beds are few, and their grains are coarse"),
        Criterion::within(
            "force of the bed on the bucket, at rest frozen over sub-stepped",
            fast.resistance() / sub_stepped.resistance(),
            [0.8, 1.25],
            "",
        )
        .because("the bucket feels the grains that it moves"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The machine above the bed was measured with it: a bed of 2 m was 2.4 m high.
    #[test]
    fn the_machine_is_no_part_of_the_bed() {
        let bed = Bed::of(Size::Reduced);
        let world = bench::build(&bed.definition().unwrap()).unwrap();
        let [low, high] = bed.corners;
        let height = bed.height(&world);
        let depth = high.z - low.z;
        assert!((0.8 * depth..1.02 * depth).contains(&height), "{height}");
    }
}
