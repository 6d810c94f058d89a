//! Discharge of a flat-bottomed silo against Beverloo's law: orifices of 4 to
//! 10 grain diameters, exponent 5/2. Not in the papers; users expect it.
//!
//! Flows are means over several beds, whose scatter gives their errors. The law is fitted
//! to orifices of five diameters and more: below, grains arch and stall, and it does not
//! hold. Its coefficient depends on friction; an independent code, LAMMPS, was run with the
//! same beds.

use esker_analysis::discharge::{self, Material};
use esker_analysis::packing;
use esker_geometry::{Pose, Region, WallShape};
use esker_plot::{Axis, Plot, Series, number};
use esker_world::definition::{Motion, Placement, WallDef, WorldDef};
use glam::DVec3;
use serde::{Deserialize, Serialize};

use crate::bench;
use crate::criterion::{Criterion, Reported, max_or_nan};
use crate::experiment::{About, Case, Experiment, Frame, Outcome, Size, Table};
use crate::frame;
use crate::measured::Measured;
use crate::observe;
use crate::results::{Results, StudyError};

/// See the module.
pub struct Beverloo;

const SCENE: &str = include_str!("../../../../scenes/experiments/beverloo.toml");
const DIAMETER: f64 = 0.01;
const WALL: usize = 0;
const FLOOR: usize = 1;

/// Flow through one orifice.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Flow {
    /// Time, s, and mass that has left, kg.
    series: Vec<[f64; 2]>,
    /// Mass flow in the steady part, kg/s.
    rate: f64,
    /// Bulk density at rest, kg/m³.
    bulk_density: f64,
    /// Grains that left in the steady part.
    counted: f64,
    /// When the orifice clogged, s.
    clogged: Option<f64>,
    /// A view into the flow.
    frame: Frame,
}

/// Time without a grain through the orifice that counts as a clog, s: fifty
/// times the fall of one diameter.
const SILENCE: f64 = 0.25;

/// Orifice diameters, in grain diameters.
fn orifices(size: Size) -> &'static [f64] {
    size.pick(&[4.0, 5.0, 6.0, 7.0, 8.0, 10.0][..], &[5.0, 6.5, 8.0][..])
}

/// Seeds of the beds that flow through every orifice.
fn beds(size: Size) -> &'static [u64] {
    size.pick(&[1, 2, 3][..], &[1, 2][..])
}

/// Friction of smoother grains, whose flow is shown beside the others at full size.
const SMOOTHER: f64 = 0.2;

/// What flows: orifice in grain diameters, seed of the bed, and the grains' friction where
/// it is not the scene's.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bed {
    orifice: f64,
    seed: u64,
    friction: Option<f64>,
}

impl Bed {
    fn name(self, size: Size) -> String {
        let friction = self
            .friction
            .map_or(String::new(), |f| format!(", µ = {f}"));
        format!(
            "orifice {} d, bed {}{friction}, {}",
            self.orifice,
            self.seed,
            size.name()
        )
    }
}

/// All beds of the law, per orifice, or one of smoother grains.
fn beds_of(size: Size, orifice: f64, friction: Option<f64>) -> Vec<Bed> {
    let seeds = if friction.is_some() {
        &beds(size)[..1]
    } else {
        beds(size)
    };
    seeds
        .iter()
        .map(|&seed| Bed {
            orifice,
            seed,
            friction,
        })
        .collect()
}

/// Silo radius (m), grains, settling time and time of the flow (s).
fn dimensions(size: Size) -> (f64, usize, f64, f64) {
    size.pick((0.1, 8000, 1.0, 2.0), (0.065, 2200, 0.5, 1.2))
}

fn world(size: Size, bed: Bed) -> Result<WorldDef, StudyError> {
    let mut def = bench::world_of_scene(SCENE)?;
    def.seed = bed.seed;
    if let Some(friction) = bed.friction {
        def.pairs[0].law.friction = friction;
    }
    let (radius, count, settle, _) = dimensions(size);
    if let WallShape::Cylinder { radius: r, .. } = &mut def.walls[WALL].shape {
        *r = radius;
    }
    if let WallShape::Cone {
        radius_bottom,
        radius_top,
        ..
    } = &mut def.walls[FLOOR].shape
    {
        (*radius_bottom, *radius_top) = (0.5 * bed.orifice * DIAMETER, radius + 0.002);
    }
    let layer = 0.75 * (radius / DIAMETER).powi(2) * std::f64::consts::PI;
    let tall = (count as f64 / layer + 6.0) * 1.05 * DIAMETER;
    if let Placement::Lattice {
        region, count: c, ..
    } = &mut def.packings[0].placement
    {
        if let Region::Cylinder {
            radius: r,
            length,
            pose,
        } = region
        {
            (*r, *length) = (radius, tall);
            pose.position = DVec3::Z * (0.5 * tall + 0.002);
        }
        *c = Some(count);
    }
    // A lid below the hole that drops away once the grains have settled.
    def.walls.push(WallDef {
        motion: Motion::Translate {
            velocity: DVec3::Z * -4.0,
            start: settle,
            stop: 10.0,
        },
        ..WallDef::new(
            "lid",
            WallShape::HalfSpace,
            Pose::from_position(DVec3::Z * -0.0005),
        )
    });
    Ok(def)
}

fn flow(size: Size, bed: Bed) -> Result<Flow, StudyError> {
    let (radius, _, settle, time) = dimensions(size);
    let mut world = bench::build(&world(size, bed)?)?;
    bench::run(&mut world, settle, |_, _| {})?;
    let snapshot = observe::snapshot(&world);
    let area = std::f64::consts::PI * radius * radius;
    let levels = [3.0 * DIAMETER, 10.0 * DIAMETER];
    let fraction = packing::slab_fraction(&snapshot, DVec3::Z, levels, area);
    let whole = snapshot.mass()?;
    let grain_mass = whole / snapshot.len() as f64;
    let mut series = Vec::new();
    bench::run(&mut world, time, |world, report| {
        let left = world.grains().mass().iter().sum::<f64>();
        series.push([report.time - settle, whole - left]);
    })?;
    let frame = frame::draw_speeds(
        &world,
        &format!("orifice {} d", bed.orifice),
        DVec3::new(0.0, 1.0, -0.25),
        0.5,
    )?;
    let clogged = discharge::clogged_at(&series, SILENCE);
    // The first grains fall freely, the last ones from a shallow bed.
    let shallow = series
        .iter()
        .find(|p| p[1] > 0.55 * whole)
        .map_or(time, |p| p[0]);
    let window = [0.3_f64.min(0.4 * shallow), shallow];
    Ok(Flow {
        rate: discharge::rate(&series, window).unwrap_or(0.0),
        counted: counted(&series, window) / grain_mass,
        clogged,
        frame,
        bulk_density: 2500.0 * fraction,
        series: series.into_iter().step_by(10).collect(),
    })
}

/// Mass that left in a window, kg.
fn counted(series: &[[f64; 2]], [from, to]: [f64; 2]) -> f64 {
    let out = |t: f64| {
        series
            .iter()
            .rev()
            .find(|p| p[0] <= t)
            .map_or(0.0, |p| p[1])
    };
    out(to) - out(from)
}

impl Experiment for Beverloo {
    fn about(&self) -> About {
        About {
            name: "beverloo",
            paper: "Beverloo et al. 1961",
            shows: "Discharge of a flat-bottomed silo grows as (D − k d)^(5/2).",
            seconds_full: 460.0,
            seconds_reduced: 20.0,
        }
    }

    fn scene(&self) -> &'static str {
        SCENE
    }

    fn cases(&self, size: Size) -> Vec<Case> {
        let mut all: Vec<Bed> = Vec::new();
        for &o in orifices(size) {
            all.extend(beds_of(size, o, None));
            if size == Size::Full && is_wide(o) {
                all.extend(beds_of(size, o, Some(SMOOTHER)));
            }
        }
        let case = |bed: Bed| Case::new(bed.name(size), move || flow(size, bed));
        all.into_iter().map(case).collect()
    }

    fn judge(&self, size: Size, results: &Results) -> Result<Outcome, StudyError> {
        let mut outcome = Outcome::default();
        let mut history = Plot::new(
            "Mass that has left",
            Axis::linear("time (s)"),
            Axis::linear("mass (kg)"),
        );
        for &o in orifices(size) {
            if let Some(&bed) = beds_of(size, o, None).first() {
                let flow: Flow = results.get(&bed.name(size))?;
                if o == 6.0 || o == 6.5 {
                    outcome.frame(flow.frame);
                }
                let line = Series::line(format!("D = {o} d"), flow.series);
                history.series.push(line);
            }
        }
        let discharge = Discharge::of(size, results, None)?;
        for (o, time) in &discharge.clogged {
            outcome.text(format!(
                "A bed over the orifice of {o} d clogged after {} s: an arch of grains closes it. \
                 It has no part in the mean.",
                number(*time, 2)
            ));
        }
        discharge.show(&mut outcome);
        outcome.svg(history.svg());
        discharge.judge_flows(size, &mut outcome);
        let law = discharge.law();
        judge_law(size, law.as_ref(), &mut outcome);
        outcome.text(format!(
            "Bulk density at rest {} kg/m³. Errors of flows are standard errors over {} beds.",
            number(discharge.density, 4),
            beds(size).len()
        ));
        if size == Size::Full {
            let smoother = Discharge::of(size, results, Some(SMOOTHER))?;
            outcome.report(Reported::new(
                format!("coefficient C of grains with friction {SMOOTHER}"),
                smoother.law().map_or(f64::NAN, |l| l.coefficient),
                "0.55–0.65",
                "the literature's grains are not described; one bed per orifice",
            ));
        }
        Ok(outcome)
    }
}

/// Below so many grain diameters an arch of grains may close an orifice, and the flow
/// stalls and starts.
const ARCHING: f64 = 5.0;

fn is_wide(orifice: f64) -> bool {
    orifice >= ARCHING
}

/// Grains that must leave in the steady part for a rate to mean anything: a
/// counting error of 14 %.
const MIN_COUNTED: f64 = 50.0;

/// Largest relative standard error of mean flows that are compared with the law.
const MAX_ERROR: f64 = 0.025;

/// Coefficient C of LAMMPS (22 July 2025) for the first bed at full size, with its standard error:
/// Hertz contacts of the scene's material, restitution and friction, Mindlin's tangential springs,
/// steps of 20 and 40 µs. Flows of 0.593, 1.055, 1.720, 2.696 and 5.281 kg/s through orifices of
/// 5, 6, 7, 8 and 10 diameters, taken to be known to 2 %, the scatter of single beds.
const INDEPENDENT: [f64; 2] = [0.554, 0.020];

/// Mean flow through one orifice.
struct MeanFlow {
    /// In grain diameters.
    orifice: f64,
    /// kg/s.
    rate: Measured,
}

/// Mean flows of all beds.
struct Discharge {
    flows: Vec<MeanFlow>,
    /// Orifice in diameters and when a bed over it clogged, s.
    clogged: Vec<(f64, f64)>,
    /// Grains that left through wide orifices, per bed that flows.
    counted: Vec<f64>,
    /// Bulk density at rest, kg/m³.
    density: f64,
}

impl Discharge {
    fn of(size: Size, results: &Results, friction: Option<f64>) -> Result<Self, StudyError> {
        let (mut flows, mut clogged) = (Vec::new(), Vec::new());
        let (mut counted, mut densities) = (Vec::new(), Vec::new());
        for &orifice in orifices(size) {
            if friction.is_some() && !is_wide(orifice) {
                continue;
            }
            let mut rates = Vec::new();
            for bed in beds_of(size, orifice, friction) {
                let flow: Flow = results.get(&bed.name(size))?;
                densities.push(flow.bulk_density);
                if let Some(time) = flow.clogged {
                    clogged.push((orifice, time));
                } else {
                    rates.push(flow.rate);
                    counted.extend(is_wide(orifice).then_some(flow.counted));
                }
            }
            let rate = Measured::of(&rates);
            flows.extend((!rates.is_empty()).then_some(MeanFlow { orifice, rate }));
        }
        Ok(Discharge {
            flows,
            clogged,
            counted,
            density: densities.iter().sum::<f64>() / densities.len() as f64,
        })
    }

    /// The law, fitted to wide orifices.
    fn law(&self) -> Option<discharge::Beverloo> {
        let points: Vec<[f64; 2]> = self
            .flows
            .iter()
            .filter(|f| is_wide(f.orifice))
            .map(|f| [f.orifice * DIAMETER, f.rate.mean])
            .collect();
        let material = Material {
            bulk_density: self.density,
            diameter: DIAMETER,
            gravity: 9.81,
        };
        discharge::fit_beverloo(&points, material, self.error())
    }

    /// Relative standard error of the flows through wide orifices, root of the mean square:
    /// few beds do not tell those of single orifices.
    fn error(&self) -> f64 {
        let wide = self.flows.iter().filter(|f| is_wide(f.orifice));
        let squares: Vec<f64> = wide.map(|f| (f.rate.error / f.rate.mean).powi(2)).collect();
        (squares.iter().sum::<f64>() / squares.len() as f64).sqrt()
    }

    fn show(&self, outcome: &mut Outcome) {
        let mut plot = Plot::new(
            "Mass flow against Beverloo's law",
            Axis::linear("orifice (d)"),
            Axis::linear("W^(2/5) ((kg/s)^(2/5))"),
        );
        let mut table = Table::new(
            "Mass flow",
            &["orifice (d)", "measured (kg/s)", "law (kg/s)"],
        );
        let straight = |rate: f64| rate.max(0.0).powf(0.4);
        let measured = self.flows.iter();
        let measured = measured.map(|f| [f.orifice, straight(f.rate.mean)]);
        plot.series
            .push(Series::points("measured", measured.collect()));
        if let Some(law) = self.law() {
            let flow = |orifice: f64| {
                let free = ((orifice - law.annulus) * DIAMETER).max(0.0);
                law.coefficient * self.density * 9.81_f64.sqrt() * free.powf(2.5)
            };
            let curve = self.flows.iter();
            let curve = curve.map(|f| [f.orifice, straight(flow(f.orifice))]);
            plot.series
                .push(Series::dashed("Beverloo", curve.collect()));
            for f in &self.flows {
                table.row([
                    number(f.orifice, 3),
                    format!("{} ± {}", number(f.rate.mean, 4), number(f.rate.error, 2)),
                    number(flow(f.orifice), 4),
                ]);
            }
        }
        outcome.svg(plot.svg());
        outcome.table(table);
    }

    /// Wide orifices must flow in every bed, long enough and steadily enough to be measured.
    fn judge_flows(&self, size: Size, outcome: &mut Outcome) {
        let all = orifices(size).iter().filter(|o| is_wide(**o)).count();
        outcome.require(Criterion::at_least(
            "beds over orifices of five diameters and more that flow",
            self.counted.len() as f64,
            (all * beds(size).len()) as f64,
            "all",
        ));
        outcome.require(
            Criterion::at_least(
                "grains that left through the slowest of them",
                -max_or_nan(self.counted.iter().map(|n| -n)),
                MIN_COUNTED,
                "",
            )
            .because("a counting error of 14 %"),
        );
        outcome.require(
            Criterion::at_most(
                "standard error of the mean flows, relative",
                self.error(),
                MAX_ERROR * size.pick(1.0, 2.0),
                "",
            )
            .because("half of the deviation from the law that is allowed"),
        );
    }
}

/// The law and its constants.
fn judge_law(size: Size, law: Option<&discharge::Beverloo>, outcome: &mut Outcome) {
    let value = |f: fn(&discharge::Beverloo) -> f64| law.map_or(f64::NAN, f);
    let bound = 2.0 * MAX_ERROR * size.pick(1.0, 2.0);
    outcome.require(
        Criterion::at_most(
            "max deviation of a mean flow from the law",
            value(|l| l.worst),
            bound,
            "the law is W = C ρ_b √g (D − k d)^(5/2), from five diameters on",
        )
        .because(format!("{} %", 100.0 * bound)),
    );
    let coefficient = Measured {
        mean: value(|l| l.coefficient),
        error: value(|l| l.coefficient_error),
    };
    let [same, error] = INDEPENDENT;
    outcome.require(
        Criterion::within("coefficient C", coefficient.mean, [0.55, 0.65], "0.55–0.65")
            .because("the literature's range")
            .unless(
                coefficient.agreeing([same; 2], error),
                format!(
                    "spheres with friction 0.5: LAMMPS finds {same} ± {error} for a bed of this \
                     silo, and smoother ones flow faster"
                ),
            ),
    );
    let annulus = value(|l| l.annulus);
    outcome.require(
        Criterion::within("empty annulus k", annulus, [0.9, 1.9], "1.4 ± 0.5")
            .because("the literature's range"),
    );
    for (name, error, width, paper) in [
        ("coefficient C", coefficient.error, 0.1, "0.55–0.65"),
        (
            "empty annulus k",
            value(|l| l.annulus_error),
            1.0,
            "1.4 ± 0.5",
        ),
    ] {
        outcome.require(
            Criterion::at_most(
                format!("standard error of the {name}"),
                error,
                0.5 * width,
                paper,
            )
            .because("half the literature's range: a fit less sure than that says nothing"),
        );
    }
    outcome.report(Reported::new(
        "correlation of W^(2/5) with the orifice",
        value(|l| l.correlation),
        "1",
        "follows from the deviation above",
    ));
    outcome.report(Reported::new(
        "exponent, fitted with that annulus",
        value(|l| l.exponent),
        "5/2",
        "the annulus was found for 5/2",
    ));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::criterion::{Judgement, Status};
    use crate::runner;
    use serde_json::json;

    /// Results that follow the law, with changes per orifice.
    fn judged(change: impl Fn(f64, &mut Flow)) -> Outcome {
        let mut results = Results::default();
        let all = orifices(Size::Reduced).iter();
        for bed in all.flat_map(|o| beds_of(Size::Reduced, *o, None)) {
            let o = bed.orifice;
            let mut flow = Flow {
                series: vec![[0.0, 0.0], [1.0, 1.0]],
                rate: 0.6 * 1500.0 * 9.81_f64.sqrt() * ((o - 1.4) * DIAMETER).powf(2.5),
                bulk_density: 1500.0,
                counted: 200.0,
                clogged: None,
                frame: Frame::default(),
            };
            change(o, &mut flow);
            results.insert(&bed.name(Size::Reduced), json!(flow));
        }
        runner::judge(&Beverloo, Size::Reduced, &results)
    }

    fn status(outcome: &Outcome, name: &str) -> Status {
        let mut criteria = outcome.criteria.iter();
        criteria.find(|c| c.name == name).unwrap().status
    }

    #[test]
    fn flows_after_the_law_are_reproduced() {
        assert_eq!(judged(|_, _| ()).judgement(), Judgement::Reproduced);
    }

    #[test]
    fn a_clogged_orifice_fails() {
        let outcome = judged(|o, flow| flow.clogged = (o == 6.5).then_some(0.1));
        assert_eq!(outcome.judgement(), Judgement::Fails);
        let name = "beds over orifices of five diameters and more that flow";
        assert_eq!(status(&outcome, name), Status::Fails);
        // With two flows left any line fits: its errors are infinite.
        let name = "standard error of the coefficient C";
        assert_eq!(status(&outcome, name), Status::Fails);
    }

    #[test]
    fn a_bad_fit_and_a_flow_of_few_grains_fail() {
        let scattered = judged(|o, flow| flow.rate *= if o == 6.5 { 0.7 } else { 1.0 });
        let name = "max deviation of a mean flow from the law";
        assert_eq!(status(&scattered, name), Status::Fails);
        let few = judged(|_, flow| flow.counted = 9.0);
        assert_eq!(few.judgement(), Judgement::Fails);
        let unknown = judged(|_, flow| flow.rate = f64::NAN);
        assert_eq!(unknown.judgement(), Judgement::Fails);
    }
}
