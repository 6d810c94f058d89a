//! Discharge of a flat-bottomed silo against Beverloo's law: orifices of 4 to
//! 10 grain diameters, exponent 5/2. Not in the papers; users expect it.

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
    size.pick(&[4.0, 5.0, 6.0, 7.0, 8.0, 10.0][..], &[4.0, 5.5, 7.5][..])
}

/// Silo radius (m), grains, settling time and time of the flow (s).
fn dimensions(size: Size) -> (f64, usize, f64, f64) {
    size.pick((0.1, 8000, 1.0, 2.0), (0.065, 2200, 0.5, 1.2))
}

fn world(size: Size, orifice: f64) -> Result<WorldDef, StudyError> {
    let mut def = bench::world_of_scene(SCENE)?;
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
        (*radius_bottom, *radius_top) = (0.5 * orifice * DIAMETER, radius + 0.002);
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

fn flow(size: Size, orifice: f64) -> Result<Flow, StudyError> {
    let (radius, _, settle, time) = dimensions(size);
    let mut world = bench::build(&world(size, orifice)?)?;
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
        &format!("orifice {orifice} d"),
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

fn case_name(size: Size, orifice: f64) -> String {
    format!("orifice {orifice} d, {}", size.name())
}

impl Experiment for Beverloo {
    fn about(&self) -> About {
        About {
            name: "beverloo",
            paper: "Beverloo et al. 1961",
            shows: "Discharge of a flat-bottomed silo grows as (D − k d)^(5/2).",
            seconds_full: 330.0,
            seconds_reduced: 12.0,
        }
    }

    fn scene(&self) -> &'static str {
        SCENE
    }

    fn cases(&self, size: Size) -> Vec<Case> {
        orifices(size)
            .iter()
            .map(|&o| Case::new(case_name(size, o), move || flow(size, o)))
            .collect()
    }

    fn judge(&self, size: Size, results: &Results) -> Result<Outcome, StudyError> {
        let mut outcome = Outcome::default();
        let mut points = Vec::new();
        let mut history = Plot::new(
            "Mass that has left",
            Axis::linear("time (s)"),
            Axis::linear("mass (kg)"),
        );
        let (mut density, mut counted) = (0.0, Vec::new());
        for &o in orifices(size) {
            let flow: Flow = results.get(&case_name(size, o))?;
            if let Some(time) = flow.clogged {
                outcome.text(format!(
                    "The orifice of {o} d clogged after {} s: an arch of grains closes it. It has \
                     no part in the fit.",
                    number(time, 2)
                ));
            } else {
                points.push([o * DIAMETER, flow.rate]);
                counted.push((o, flow.counted));
            }
            if o == 5.5 || o == 6.0 {
                outcome.frame(flow.frame);
            }
            density += flow.bulk_density / orifices(size).len() as f64;
            history
                .series
                .push(Series::line(format!("D = {o} d"), flow.series));
        }
        let material = Material {
            bulk_density: density,
            diameter: DIAMETER,
            gravity: 9.81,
        };
        let law = discharge::fit_beverloo(&points, material);
        let mut plot = Plot::new(
            "Mass flow against Beverloo's law",
            Axis::linear("orifice (d)"),
            Axis::linear("W^(2/5) ((kg/s)^(2/5))"),
        );
        let straight = |points: &[[f64; 2]]| -> Vec<[f64; 2]> {
            points
                .iter()
                .map(|p| [p[0] / DIAMETER, p[1].max(0.0).powf(0.4)])
                .collect()
        };
        plot.series
            .push(Series::points("measured", straight(&points)));
        let mut table = Table::new(
            "Mass flow",
            &["orifice (d)", "measured (kg/s)", "law (kg/s)"],
        );
        if let Some(law) = &law {
            let flow = |d: f64| {
                let free = (d - law.annulus * DIAMETER).max(0.0);
                law.coefficient * density * 9.81_f64.sqrt() * free.powf(2.5)
            };
            let curve: Vec<[f64; 2]> = points.iter().map(|p| [p[0], flow(p[0])]).collect();
            plot.series
                .push(Series::dashed("Beverloo", straight(&curve)));
            for (p, q) in points.iter().zip(&curve) {
                table.row([number(p[0] / DIAMETER, 3), number(p[1], 4), number(q[1], 4)]);
            }
        }
        outcome.svg(plot.svg());
        outcome.svg(history.svg());
        outcome.table(table);
        let value = |f: fn(&discharge::Beverloo) -> f64| law.as_ref().map_or(f64::NAN, f);
        judge_flows(size, &counted, &mut outcome);
        let bound = size.pick(0.05, 0.1);
        outcome.require(
            Criterion::at_most(
                "max deviation of a flow from the law",
                value(|l| l.worst),
                bound,
                "the law is W = C ρ_b √g (D − k d)^(5/2)",
            )
            .because(format!("{} %", 100.0 * bound)),
        );
        for (name, found, error, [low, high], paper) in [
            (
                "coefficient C",
                value(|l| l.coefficient),
                value(|l| l.coefficient_error),
                [0.55, 0.65],
                "0.55–0.65",
            ),
            (
                "empty annulus k",
                value(|l| l.annulus),
                value(|l| l.annulus_error),
                [0.9, 1.9],
                "1.4 ± 0.5",
            ),
        ] {
            let range = Criterion::within(name, found, [low, high], paper);
            outcome.require(range.because("the literature's range"));
            outcome.require(
                Criterion::at_most(
                    format!("standard error of the {name}"),
                    error,
                    0.5 * (high - low),
                    paper,
                )
                .because("half the literature's range: a fit less sure than that says nothing")
                .unless(
                    [0.5 * (high - low), high - low],
                    "flows of few grains through few orifices scatter",
                ),
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
        outcome.text(format!(
            "Bulk density at rest {} kg/m³; largest deviation from the law {} %.",
            number(density, 4),
            number(100.0 * value(|l| l.worst), 2)
        ));
        Ok(outcome)
    }
}

/// Grains that must leave in the steady part for a rate to mean anything: a
/// counting error of 14 %.
const MIN_COUNTED: f64 = 50.0;

/// Below so many grain diameters an arch of grains may close an orifice.
const ARCHING: f64 = 5.0;

/// Wide orifices must flow, and all that do long enough to be measured. `counted`
/// has the orifices that flow, in grain diameters, and the grains that left.
fn judge_flows(size: Size, counted: &[(f64, f64)], outcome: &mut Outcome) {
    let wide = |o: f64| o >= ARCHING;
    let all = orifices(size).iter().filter(|o| wide(**o)).count();
    let flowing = counted.iter().filter(|(o, _)| wide(*o)).count();
    outcome.require(Criterion::at_least(
        "orifices of five diameters and more that flow",
        flowing as f64,
        all as f64,
        "all",
    ));
    let fewest = -max_or_nan(counted.iter().map(|(_, n)| -n));
    outcome.require(
        Criterion::at_least(
            "grains that left through the slowest orifice",
            fewest,
            MIN_COUNTED,
            "",
        )
        .because("a counting error of 14 %"),
    );
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
        for &o in orifices(Size::Reduced) {
            let mut flow = Flow {
                series: vec![[0.0, 0.0], [1.0, 1.0]],
                rate: 0.6 * 1500.0 * 9.81_f64.sqrt() * ((o - 1.4) * DIAMETER).powf(2.5),
                bulk_density: 1500.0,
                counted: 200.0,
                clogged: None,
                frame: Frame::default(),
            };
            change(o, &mut flow);
            results.insert(&case_name(Size::Reduced, o), json!(flow));
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
        let outcome = judged(|o, flow| flow.clogged = (o == 5.5).then_some(0.1));
        assert_eq!(outcome.judgement(), Judgement::Fails);
        let name = "orifices of five diameters and more that flow";
        assert_eq!(status(&outcome, name), Status::Fails);
        // With two flows left any line fits: its errors are infinite.
        let outcome = judged(|o, flow| flow.clogged = (o == 4.0).then_some(0.1));
        let name = "standard error of the coefficient C";
        assert_eq!(status(&outcome, name), Status::Fails);
    }

    #[test]
    fn a_bad_fit_and_a_flow_of_few_grains_fail() {
        let scattered = judged(|o, flow| flow.rate *= if o == 5.5 { 0.7 } else { 1.0 });
        let name = "max deviation of a flow from the law";
        assert_eq!(status(&scattered, name), Status::Fails);
        let few = judged(|_, flow| flow.counted = 9.0);
        assert_eq!(few.judgement(), Judgement::Fails);
        let unknown = judged(|_, flow| flow.rate = f64::NAN);
        assert_eq!(unknown.judgement(), Judgement::Fails);
    }
}
