//! A slowly turning drum (Wang et al. 2016 § 4.3, Figs. 10–13): dynamic angle of repose and
//! share of the plug zone against sweeps per step, cold and warm.
//!
//! The angle is that of the centre of mass, as in the paper. All runs start
//! from states prepared sub-stepped. So slow a drum flows by avalanches: the bed
//! is carried up to 40–47° and slides back to about 30°, every 2.7 s. Angles
//! are therefore means over several of them, in beds that differ in the order of their
//! sizes, and their errors come from the scatter of blocks longer than one avalanche.
//! Gains are taken where the angle still rises steeply with sweeps, and at twice their error
//! on the safe side.
//!
//! Variants of walls, speed and rolling law are run to see what could
//! explain the paper's 48–50°; one of them is the same drum as Servin and Wang 2015 has
//! it: twice as fast, end walls without friction, angle of the surface 44 ± 3°. It is
//! run with smooth stepping, too, which shares nothing with the others but the contact law.

use esker_analysis::series::statistics;
use esker_analysis::{errors, plug, repose};
use esker_geometry::{Region, WallShape};
use esker_plot::{Axis, Plot, Series, number};
use esker_world::World;
use esker_world::definition::{Method, Motion, Placement, Smooth, WorldDef};
use glam::DVec3;
use serde::{Deserialize, Serialize};

use crate::bench::{self, Prepared, Start};
use crate::convergence::{gain, needed, reaching};
use crate::criterion::{Criterion, Reported};
use crate::experiment::{About, Case, Experiment, Frame, Outcome, Size, Table};
use crate::frame::{self, Shot};
use crate::measured::Measured;
use crate::observe;
use crate::results::{Results, StudyError};

/// See the module.
pub struct Drum;

const SCENE: &str = include_str!("../../../../scenes/experiments/drum.toml");
const SHELL: usize = 0;
const ENDS: usize = 1;

/// Measures of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Flow {
    /// Angle of the centre of mass, degrees, over time.
    angles: Vec<f64>,
    /// Angle of the surface, degrees, over time.
    surfaces: Vec<f64>,
    /// Share of the plug zone, over time.
    plugs: Vec<f64>,
    /// Mean overlap, in diameters.
    overlap: f64,
    /// Mean error of the direction of sliding friction.
    direction: f64,
    /// Speed relative to the drum, in units of its surface speed.
    frame: Frame,
}

/// The flow of all beds of a kind.
struct Flows(Vec<Flow>);

impl Flows {
    /// Mean over all beds. Its error comes from the scatter of blocks, each longer than an
    /// avalanche at full size.
    fn mean(&self, size: Size, series: fn(&Flow) -> &[f64]) -> Measured {
        let blocks = size.pick(3, 6);
        let mut means = Vec::new();
        for flow in &self.0 {
            let values = series(flow);
            let length = (values.len() / blocks).max(1);
            let chunks = values.chunks_exact(length).take(blocks);
            means.extend(chunks.map(|block| statistics(block).mean));
        }
        Measured::of(&means)
    }

    fn angle(&self, size: Size) -> Measured {
        self.mean(size, |f| &f.angles)
    }

    fn surface(&self, size: Size) -> Measured {
        self.mean(size, |f| &f.surfaces)
    }

    fn plug(&self, size: Size) -> Measured {
        self.mean(size, |f| &f.plugs)
    }

    fn over_beds(&self, value: fn(&Flow) -> f64) -> f64 {
        let values: Vec<f64> = self.0.iter().map(value).collect();
        statistics(&values).mean
    }

    /// How far the angle swings: its standard deviation over time, in the first bed.
    fn swing(&self) -> f64 {
        self.0
            .first()
            .map_or(f64::NAN, |f| statistics(&f.angles).deviation)
    }

    fn frame(&self) -> Frame {
        self.0.first().map(|f| f.frame.clone()).unwrap_or_default()
    }
}

/// Accuracy of the angle that Wang et al. 2016 § 5 ask for when it compares starts.
const ACCURACY: f64 = 0.05;

/// What is changed against the paper's description.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Variant {
    name: &'static str,
    /// Factor of the radius that bounds the rolling torque between grains.
    rolling: f64,
    rough_ends: bool,
    /// Factor of the rate of rotation.
    rate: f64,
    /// Factor of Young's modulus.
    stiffness: f64,
    /// Explicit springs and dashpots, in place of substeps with sweeps.
    smooth: bool,
}

const DESCRIBED: Variant = Variant {
    name: "smooth end walls",
    rolling: 1.0,
    rough_ends: false,
    rate: 1.0,
    stiffness: 1.0,
    smooth: false,
};
const ROUGH: Variant = Variant {
    name: "end walls as rough as the shell",
    rough_ends: true,
    ..DESCRIBED
};
const FASTER: Variant = Variant {
    name: "as Servin and Wang 2015: smooth end walls, twice as fast",
    rate: 2.0,
    ..DESCRIBED
};
const FASTER_DOUBLE: Variant = Variant {
    name: "as Servin and Wang 2015, rolling radius twice as large",
    rate: 2.0,
    rolling: 2.0,
    ..DESCRIBED
};
const FASTER_EXPLICIT: Variant = Variant {
    name: "as Servin and Wang 2015, smooth stepping",
    smooth: true,
    ..FASTER
};
const VARIANTS: [Variant; 9] = [
    DESCRIBED,
    ROUGH,
    FASTER,
    FASTER_DOUBLE,
    FASTER_EXPLICIT,
    Variant {
        name: "smooth end walls, rolling radius twice as large",
        rolling: 2.0,
        ..DESCRIBED
    },
    Variant {
        name: "smooth end walls, rolling radius four times as large",
        rolling: 4.0,
        ..DESCRIBED
    },
    Variant {
        name: "rough end walls and twice the rolling radius",
        rolling: 2.0,
        ..ROUGH
    },
    Variant {
        name: "smooth end walls, ten times stiffer grains",
        stiffness: 10.0,
        ..DESCRIBED
    },
];

impl Variant {
    fn apply(self, def: &mut WorldDef) {
        let (ends, grains) = (def.walls[ENDS].material, def.packings[0].material);
        for pair in &mut def.pairs {
            if self.rough_ends && pair.materials.contains(&ends) {
                pair.law.friction = 0.91;
                pair.law.rolling = 0.32;
            }
            if pair.materials == [grains, grains] {
                pair.law.rolling *= self.rolling;
            }
        }
        for wall in &mut def.walls {
            if let Motion::Rotate { rate, .. } = &mut wall.motion {
                *rate *= self.rate;
            }
        }
        for material in &mut def.materials {
            material.young *= self.stiffness;
        }
        if self.smooth {
            def.step = 1e-3;
            def.method = Method::Smooth(Smooth {
                substeps: 20,
                ..Default::default()
            });
        }
    }
}

/// The drum and its rate of rotation, rad/s.
fn world(size: Size) -> Result<(WorldDef, f64), StudyError> {
    let mut def = bench::world_of_scene(SCENE)?;
    if size == Size::Full {
        return Ok((def, 0.25));
    }
    // Half the diameter and half the width, at the same Froude number.
    let rate = 0.25 * 2_f64.sqrt();
    let (radius, width) = (0.13, 0.0455);
    if let WallShape::Cylinder { radius: r, .. } = &mut def.walls[SHELL].shape {
        *r = radius;
    }
    if let WallShape::Box { half_extents, .. } = &mut def.walls[ENDS].shape {
        half_extents.y = 0.5 * width;
    }
    for wall in &mut def.walls {
        if let Motion::Rotate { rate: r, .. } = &mut wall.motion {
            *r = rate;
        }
    }
    if let Placement::Lattice { region, count, .. } = &mut def.packings[0].placement {
        if let Region::Cylinder {
            radius: r, length, ..
        } = region
        {
            (*r, *length) = (radius - 0.002, width);
        }
        *count = Some(608);
    }
    Ok((def, rate))
}

fn radius(def: &WorldDef) -> f64 {
    match def.walls[SHELL].shape {
        WallShape::Cylinder { radius, .. } => radius,
        _ => f64::NAN,
    }
}

fn measure(
    world: &mut World,
    caption: &str,
    time: f64,
    (radius, rate): (f64, f64),
) -> Result<Flow, StudyError> {
    let axis = DVec3::Y;
    let every = (SAMPLING / world.step_length()).round() as u64;
    let (mut angles, mut surfaces, mut plugs) = (Vec::new(), Vec::new(), Vec::new());
    let (mut overlaps, mut directions) = (Vec::new(), Vec::new());
    bench::run(world, time, |world, report| {
        if !report.step.is_multiple_of(every) {
            return;
        }
        let snapshot = observe::snapshot(world);
        let degrees = f64::to_degrees;
        let angle = repose::centre_of_mass_angle(&snapshot, axis, DVec3::ZERO);
        angles.extend(angle.map(degrees));
        let surface = repose::drum_surface_angle(&snapshot, axis, DVec3::ZERO, radius);
        surfaces.extend(surface.map(degrees));
        let angular_velocity = axis * rate;
        // Velocities and contacts are always there in a running world.
        plugs.extend(plug::fraction(&snapshot, angular_velocity, DVec3::ZERO, radius).ok());
        if let Ok(found) = errors::contact_errors(&snapshot) {
            overlaps.push(found.overlap.mean);
            // Nothing may slide at a moment.
            directions.extend((found.direction.count > 0).then_some(found.direction.mean));
        }
    })?;
    let snapshot = observe::snapshot(world);
    let speeds = plug::relative_speeds(&snapshot, axis * rate, DVec3::ZERO, radius)
        .map_err(|e| bench::failed("drum", e))?;
    let frame = frame::draw(
        world,
        &Shot {
            caption,
            direction: DVec3::Y,
            legend: "relative speed",
            values: &speeds,
            range: [0.0, 1.0],
        },
    )?;
    let mean = |v: &[f64]| statistics(v).mean;
    Ok(Flow {
        frame,
        overlap: mean(&overlaps),
        direction: mean(&directions),
        angles,
        surfaces,
        plugs,
    })
}

/// Time between two measurements, s.
const SAMPLING: f64 = 0.05;

/// Time of preparation, of getting used to another way, and of measuring, s.
fn times(size: Size) -> [f64; 3] {
    size.pick([10.0, 4.0, 12.0], [2.0, 1.2, 1.2])
}

/// Seeds of the order of sizes.
fn beds(size: Size) -> &'static [u64] {
    size.pick(&[1, 2][..], &[1][..])
}

fn ladder(size: Size, start: Start) -> &'static [usize] {
    match (size, start) {
        (Size::Full, Start::SubStepped) => &[5, 10, 25, 50, 100],
        (Size::Full, Start::Cold) => &[10, 25, 50, 100, 200],
        (Size::Full, _) => &[5, 10, 25, 50, 100, 200],
        (Size::Reduced, Start::SubStepped) => &[5, 10, 25],
        // Gains are taken where the better start has 5 sweeps: the ladder of the
        // worse one begins where the gain would be too small.
        (Size::Reduced, Start::Cold) => &[5, 10, 25, 60],
        (Size::Reduced, _) => &[2, 5, 10, 25],
    }
}

const STARTS: [Start; 3] = [Start::Cold, Start::History, Start::SubStepped];

fn prepared_name(bed: u64, size: Size) -> String {
    format!("prepared, bed {bed}, {}", size.name())
}

fn case_name(start: Start, sweeps: usize, bed: u64, size: Size) -> String {
    format!(
        "{}, {sweeps} sweeps, bed {bed}, {}",
        start.name(),
        size.name()
    )
}

fn variant_name(variant: Variant, bed: u64, size: Size) -> String {
    format!("{}, bed {bed}, {}", variant.name, size.name())
}

fn variants(size: Size) -> &'static [Variant] {
    size.pick(&VARIANTS[..], &VARIANTS[..2])
}

/// Variants that are judged, and run with all beds.
const JUDGED: [Variant; 3] = [DESCRIBED, ROUGH, FASTER];

/// Variants that are run with a bed: those that are only shown, or take long, with the first.
fn variants_of(bed: u64, size: Size) -> impl Iterator<Item = Variant> {
    let is_first = beds(size).first() == Some(&bed);
    let all = variants(size).iter().rev().copied();
    all.filter(move |v| is_first || JUDGED.contains(v))
}

impl Experiment for Drum {
    fn about(&self) -> About {
        About {
            name: "drum",
            paper: "Wang et al. 2016, Figs. 10–13",
            shows: "Dynamic angle of repose and plug zone of a slow drum against sweeps: warm \
                    starting needs about a third of the sweeps, sub-stepping a tenth; why the \
                    paper's 48–50° are not reached.",
            seconds_full: 2300.0,
            seconds_reduced: 14.0,
        }
    }

    fn scene(&self) -> &'static str {
        SCENE
    }

    fn cases(&self, size: Size) -> Vec<Case> {
        let [preparation, settling, time] = times(size);
        let mut cases = Vec::new();
        for &bed in beds(size) {
            cases.push(Case::new(prepared_name(bed, size), move || {
                let (mut def, _) = world(size)?;
                def.seed = bed;
                let mut world = bench::build(&def)?;
                bench::run(&mut world, preparation, |_, _| {})?;
                Ok(Prepared::of(&world))
            }));
            for variant in variants_of(bed, size) {
                let name = variant_name(variant, bed, size);
                cases.push(Case::after(1, name, move |_| {
                    let (mut def, rate) = world(size)?;
                    def.seed = bed;
                    variant.apply(&mut def);
                    let mut world = bench::build(&def)?;
                    bench::run(&mut world, preparation + settling, |_, _| {})?;
                    let drum = (radius(&def), variant.rate * rate);
                    measure(&mut world, variant.name, time, drum)
                }));
            }
            for start in STARTS {
                // The longest first.
                for &sweeps in ladder(size, start).iter().rev() {
                    let name = case_name(start, sweeps, bed, size);
                    cases.push(Case::after(1, name, move |results| {
                        let (mut def, rate) = world(size)?;
                        let prepared: Prepared = results.get(&prepared_name(bed, size))?;
                        prepared.put_into(&mut def);
                        def.method = start.method(sweeps);
                        let caption = format!("{}, {sweeps} sweeps per step", start.name());
                        let drum = (radius(&def), rate);
                        let mut world = bench::build(&def)?;
                        bench::run(&mut world, settling, |_, _| {})?;
                        measure(&mut world, &caption, time, drum)
                    }));
                }
            }
        }
        cases
    }

    fn judge(&self, size: Size, results: &Results) -> Result<Outcome, StudyError> {
        let mut outcome = Outcome::default();
        let flows = |start, n| -> Result<Flows, StudyError> {
            let found = beds(size).iter();
            let found = found.map(|bed| results.get(&case_name(start, n, *bed, size)));
            Ok(Flows(found.collect::<Result<_, _>>()?))
        };
        let mut angle_plot = Plot::new(
            "Dynamic angle of repose (centre of mass)",
            Axis::log("sweeps per step"),
            Axis::linear("angle (°)"),
        );
        let mut plug_plot = Plot::new(
            "Share of the plug zone",
            Axis::log("sweeps per step"),
            Axis::linear("N_plug/N_p"),
        );
        let mut table = Table::new(
            "Flow against sweeps",
            &[
                "start",
                "sweeps",
                "angle (°)",
                "swing (°)",
                "surface (°)",
                "plug",
                "overlap/d",
                "direction error",
            ],
        );
        for start in STARTS {
            let (mut angles, mut bands, mut plugs) = (Vec::new(), Vec::new(), Vec::new());
            for &n in ladder(size, start) {
                let f = flows(start, n)?;
                let (angle, plug) = (f.angle(size), f.plug(size));
                angles.push([n as f64, angle.mean]);
                bands.push([angle.mean - angle.error, angle.mean + angle.error]);
                plugs.push([n as f64, plug.mean]);
                table.row([
                    start.name().to_string(),
                    n.to_string(),
                    with_error(angle),
                    number(f.swing(), 2),
                    number(f.surface(size).mean, 3),
                    number(plug.mean, 2),
                    number(f.over_beds(|f| f.overlap), 3),
                    number(f.over_beds(|f| f.direction), 2),
                ]);
            }
            let series = Series::line(start.name(), angles).with_points();
            angle_plot.series.push(series.with_band(bands));
            plug_plot
                .series
                .push(Series::line(start.name(), plugs).with_points());
        }
        outcome.svg(angle_plot.svg());
        outcome.svg(plug_plot.svg());
        outcome.table(table);
        let most = |start| *ladder(size, start).last().unwrap_or(&10);
        for (start, n) in [
            (Start::Cold, 10),
            (Start::History, 10),
            (Start::SubStepped, 10),
            (Start::SubStepped, most(Start::SubStepped)),
        ] {
            outcome.frame(flows(start, n)?.frame());
        }
        // Angle over sweeps.
        let rungs = |start: Start| -> Result<Vec<Rung>, StudyError> {
            ladder(size, start)
                .iter()
                .map(|&n| Ok((n as f64, flows(start, n)?.angle(size))))
                .collect()
        };
        let ladders = [
            rungs(Start::Cold)?,
            rungs(Start::History)?,
            rungs(Start::SubStepped)?,
        ];
        judge_gains(&ladders, &mut outcome);
        let last = |start| flows(start, most(start));
        let [history, best] = [last(Start::History)?, last(Start::SubStepped)?];
        judge_state(size, &history, &best, &mut outcome);
        self.judge_variants(size, results, &mut outcome)?;
        Ok(outcome)
    }
}

fn with_error(value: Measured) -> String {
    format!("{} ± {}", number(value.mean, 3), number(value.error, 2))
}

/// Sweeps and the angle with them.
type Rung = (f64, Measured);

/// Sweeps of the better start at which starts are compared.
const COMPARED: f64 = 5.0;

/// How many times fewer sweeps the better of two starts needs for the angle that it has with
/// five, on the safe side: for an angle lower by twice the error of the comparison. So few
/// sweeps are where angles rise with sweeps by many times their errors.
fn safe_gain(worse: &[Rung], better: &[Rung]) -> f64 {
    let Some((_, target)) = better.iter().find(|r| r.0 == COMPARED) else {
        return f64::NAN;
    };
    let ladder: Vec<[f64; 2]> = worse.iter().map(|(n, a)| [*n, a.mean]).collect();
    let needed = reaching(&ladder, target.mean);
    // The error of the worse start's rung that is next to it.
    let next = worse.iter().find(|r| r.0 >= needed).or(worse.last());
    let error = next.map_or(f64::NAN, |r| target.error.hypot(r.1.error));
    reaching(&ladder, target.mean - 2.0 * error) / COMPARED
}

/// How many fewer sweeps better starts need, from angles over sweeps.
fn judge_gains([cold, history, sub]: &[Vec<Rung>; 3], outcome: &mut Outcome) {
    let aim = format!(
        "sweeps for the angle that the better start has with {COMPARED}, at least (two errors)"
    );
    outcome.require(
        Criterion::at_least(
            format!("gain of history over cold: {aim}"),
            safe_gain(cold, history),
            2.0,
            "about 3 (Fig. 13 and § 5); 2–5 over all systems",
        )
        .because("the smallest gain of the paper's range"),
    );
    outcome.require(
        Criterion::at_least(
            format!("gain of sub-stepping over history: {aim}"),
            safe_gain(history, sub),
            1.0,
            "not in the paper",
        )
        .because("the default must not be worse than the papers' best"),
    );
    let converged = sub.last().map_or(f64::NAN, |r| r.1.mean);
    let mut table = Table::new(
        "Sweeps for an angle within 5 % of the converged one",
        &["start", "sweeps", "gain over cold"],
    );
    let errors = |ladder: &[Rung]| -> Vec<[f64; 2]> {
        ladder
            .iter()
            .map(|(n, a)| [*n, a.mean / converged - 1.0])
            .collect()
    };
    let of_cold = errors(cold);
    for (start, ladder) in STARTS.into_iter().zip([cold, history, sub]) {
        let errors = errors(ladder);
        let most = errors.last().map_or(f64::NAN, |r| r[0]);
        table.row([
            start.name().to_string(),
            needed(&errors, ACCURACY).map_or_else(|| format!("more than {most}"), |n| number(n, 3)),
            number(gain(&of_cold, &errors, ACCURACY), 3),
        ]);
    }
    outcome.table(table);
}

/// Largest standard error of the converged angle, °: the scatter of the independent code's.
const MAX_ERROR: f64 = 1.0;

/// The converged flow: angle and plug zone.
fn judge_state(size: Size, history: &Flows, best: &Flows, outcome: &mut Outcome) {
    let (angle, plug) = (best.angle(size), best.plug(size));
    let names = ["angle, converged (°)", "plug share, converged"];
    let papers = ["48–50", "0.58 ± 0.05"];
    if size == Size::Reduced {
        let reason = "a drum of 20 d, not 40 d";
        outcome.report(Reported::new(names[0], angle.mean, papers[0], reason));
        outcome.report(Reported::new(names[1], plug.mean, papers[1], reason));
        return;
    }
    outcome.require(
        Criterion::at_most(
            "standard error of the converged angle (°)",
            angle.error,
            MAX_ERROR,
            "",
        )
        .because("the scatter of the independent code's angles"),
    );
    outcome.require(
        Criterion::within(
            "angle of sub-stepping minus that of history, both converged, in combined errors",
            angle.difference(history.angle(size)),
            [-3.0, 3.0],
            "not in the paper",
        )
        .because("two ways to one solution: three errors"),
    );
    let reason = "end walls without friction, which Wang et al. 2016 do not describe: an \
                  independent code finds 36.8–38.2° ± 1° and 0.71–0.80 ± 0.04 with them, and \
                  rough ones lift the bed (see the variants)";
    for (name, value, paper, bounds, independent, error) in [
        (names[0], angle, papers[0], [48.0, 50.0], [36.8, 38.2], 1.0),
        (names[1], plug, papers[1], [0.53, 0.63], [0.71, 0.80], 0.04),
    ] {
        let criterion = Criterion::within(name, value.mean, bounds, paper);
        outcome.require(criterion.unless(value.agreeing(independent, error), reason));
    }
}

impl Drum {
    fn judge_variants(
        &self,
        size: Size,
        results: &Results,
        outcome: &mut Outcome,
    ) -> Result<(), StudyError> {
        let mut table = Table::new(
            "What could explain the paper's 48–50°? (sub-stepped, n = 25)",
            &["variant", "angle (°)", "swing (°)", "surface (°)", "plug"],
        );
        let flows = |variant| -> Result<Flows, StudyError> {
            let beds = beds(size).iter().copied();
            let beds = beds.filter(|bed| variants_of(*bed, size).any(|v| v == variant));
            let found = beds.map(|bed| results.get(&variant_name(variant, bed, size)));
            Ok(Flows(found.collect::<Result<_, _>>()?))
        };
        let mut max = (f64::NEG_INFINITY, "");
        for &variant in variants(size) {
            let f = flows(variant)?;
            let angle = f.angle(size);
            if angle.mean > max.0 {
                max = (angle.mean, variant.name);
            }
            table.row([
                variant.name.to_string(),
                with_error(angle),
                number(f.swing(), 2),
                with_error(f.surface(size)),
                with_error(f.plug(size)),
            ]);
        }
        outcome.table(table);
        let [smooth, rough] = [flows(DESCRIBED)?, flows(ROUGH)?];
        outcome.frame(rough.frame());
        let (smooth, rough) = (smooth.angle(size), rough.angle(size));
        outcome.require(
            Criterion::at_least(
                "angle with rough end walls minus smooth ones, in standard errors",
                rough.difference(smooth),
                2.0,
                "not in the paper",
            )
            .because("friction at the end walls carries part of the bed: the difference must show"),
        );
        if size == Size::Full {
            judge_faster(&flows(FASTER)?, &flows(FASTER_EXPLICIT)?, outcome);
            outcome.report(Reported::new(
                "the same with twice the rolling radius (°)",
                flows(FASTER_DOUBLE)?.surface(size).mean,
                "44 ± 3",
                "a test of the radius that bounds the rolling torque",
            ));
        }
        outcome.text(format!(
            "In a drum seven diameters wide, end walls as rough as the shell lift the bed from {}° \
             to {}°. The steepest variant is “{}” with {}°. The paper does not say whether its \
             end walls are rough. Servin and Wang 2015 has the same drum twice as fast and says that its \
             end walls are without friction: it finds 44 ± 3° at the surface, four to six degrees \
             less than Wang et al. 2016, which is what rough end walls add here. The radius that bounds the \
             rolling torque (equation 17 is printed upside down) is r_a r_b/(r_a + r_b) here; the \
             drum alone does not settle it, since twice that radius also lies within the range of Servin and Wang 2015.",
            number(smooth.mean, 3),
            number(rough.mean, 3),
            max.1,
            number(max.0, 3)
        ));
        Ok(())
    }
}

/// The drum of Servin and Wang 2015, sub-stepped and smooth.
fn judge_faster(found: &Flows, explicit: &Flows, outcome: &mut Outcome) {
    let [found, explicit] = [found, explicit].map(|f| f.surface(Size::Full));
    let reason = format!(
        "smooth stepping, which solves nothing, finds {}° for this drum; the paper's 500 sweeps and \
         its surface are not described in more detail",
        with_error(explicit)
    );
    outcome.require(
        Criterion::within(
            "surface angle of the drum of Servin and Wang 2015 (°)",
            found.mean,
            [41.0, 47.0],
            "44 ± 3",
        )
        .because("Servin and Wang 2015, the same drum at 0.5 rad/s, end walls without friction")
        .unless(found.agreeing([explicit.mean; 2], explicit.error), reason),
    );
    outcome.require(
        Criterion::at_most("its standard error (°)", found.error, MAX_ERROR, "")
            .because("as for the slower drum"),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::criterion::Status;

    /// How the gains of history and sub-stepping are judged, reduced.
    fn gains([cold, history, sub]: [&[f64]; 3]) -> [Status; 2] {
        let ladder = |start, angles: &[f64]| -> Vec<Rung> {
            let sweeps = self::ladder(Size::Reduced, start).iter();
            let measured = |mean| Measured { mean, error: 0.5 };
            let rungs = sweeps.zip(angles);
            rungs.map(|(n, a)| (*n as f64, measured(*a))).collect()
        };
        let ladders = [
            ladder(Start::Cold, cold),
            ladder(Start::History, history),
            ladder(Start::SubStepped, sub),
        ];
        let mut outcome = Outcome::default();
        judge_gains(&ladders, &mut outcome);
        [outcome.criteria[0].status, outcome.criteria[1].status]
    }

    #[test]
    fn a_start_that_is_no_better_has_no_gain() {
        let cold: &[f64] = &[10.0, 15.0, 22.0, 30.0];
        let history: &[f64] = &[15.0, 22.0, 27.0, 33.0];
        let sub: &[f64] = &[30.0, 36.0, 40.0];
        use Status::{Fails, Holds};
        assert_eq!(gains([cold, history, sub]), [Holds, Holds]);
        // History as good as cold; sub-stepping worse than history.
        let as_cold: &[f64] = &[5.0, 10.0, 15.0, 22.0];
        assert_eq!(gains([cold, as_cold, sub])[0], Fails);
        let worse: &[f64] = &[14.0, 36.0, 40.0];
        assert_eq!(gains([cold, history, worse])[1], Fails);
    }

    #[test]
    fn angles_that_are_missing_or_not_numbers_give_no_gain() {
        let cold: &[f64] = &[10.0, 15.0, 22.0, 30.0];
        let history: &[f64] = &[15.0, 22.0, 27.0, 33.0];
        let nan: &[f64] = &[15.0, f64::NAN, 27.0, 33.0];
        assert_eq!(gains([cold, nan, history]), [Status::Fails; 2]);
        assert_eq!(gains([cold, history, &[]])[1], Status::Fails);
    }
}
