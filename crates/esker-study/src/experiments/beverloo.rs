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
use crate::experiment::{About, Case, Criterion, Experiment, Outcome, Size, Table};
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
}

/// Orifice diameters, in grain diameters.
fn orifices(size: Size) -> &'static [f64] {
    size.pick(&[4.0, 5.0, 6.0, 7.0, 8.0, 10.0][..], &[4.0, 5.5, 7.5][..])
}

/// Silo radius (m), grains, settling time and time of the flow (s).
fn dimensions(size: Size) -> (f64, usize, f64, f64) {
    size.pick((0.1, 8000, 1.0, 2.0), (0.065, 1200, 0.5, 0.6))
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
        name: "lid".into(),
        shape: WallShape::HalfSpace,
        pose: Pose::from_position(DVec3::Z * -0.0005),
        material: 0,
        motion: Motion::Translate {
            velocity: DVec3::Z * -4.0,
            start: settle,
            stop: 10.0,
        },
        surface_velocity: DVec3::ZERO,
    });
    Ok(def)
}

fn flow(size: Size, orifice: f64) -> Result<Flow, StudyError> {
    let (radius, _, settle, time) = dimensions(size);
    let mut world = bench::build(&world(size, orifice)?)?;
    bench::run(&mut world, settle, |_, _| {});
    let snapshot = observe::snapshot(&world);
    let area = std::f64::consts::PI * radius * radius;
    let levels = [3.0 * DIAMETER, 10.0 * DIAMETER];
    let fraction = packing::slab_fraction(&snapshot, DVec3::Z, levels, area);
    let whole = snapshot.mass();
    let mut series = Vec::new();
    bench::run(&mut world, time, |world, report| {
        let left = world.grains.mass.iter().sum::<f64>();
        series.push([report.time - settle, whole - left]);
    });
    // The first grains fall freely, the last ones from a shallow bed.
    let shallow = series
        .iter()
        .find(|p| p[1] > 0.55 * whole)
        .map_or(time, |p| p[0]);
    let window = [0.3_f64.min(0.4 * shallow), shallow];
    Ok(Flow {
        rate: discharge::rate(&series, window).unwrap_or(0.0),
        bulk_density: 2500.0 * fraction,
        series: series.into_iter().step_by(10).collect(),
    })
}

fn case_name(size: Size, orifice: f64) -> String {
    format!("orifice {orifice} d, {}", size.name())
}

impl Experiment for Beverloo {
    fn about(&self) -> About {
        About {
            name: "beverloo",
            paper: "Beverloo, Leniger and van de Velde 1961 (not one of the papers)",
            shows: "Discharge of a flat-bottomed silo grows as (D − k d)^(5/2).",
            seconds_full: 500.0,
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
        let mut density = 0.0;
        for &o in orifices(size) {
            let flow: Flow = results.get(&case_name(size, o))?;
            points.push([o * DIAMETER, flow.rate]);
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
        outcome.require(Criterion::at_least(
            "correlation of W^(2/5) with the orifice",
            value(|l| l.correlation),
            0.99,
            "the law is a straight line",
        ));
        outcome.require(Criterion::within(
            "coefficient C",
            value(|l| l.coefficient),
            size.pick([0.45, 0.75], [0.4, 0.85]),
            "0.55–0.65",
        ));
        outcome.require(Criterion::within(
            "empty annulus k",
            value(|l| l.annulus),
            [0.5, 2.5],
            "1.4 ± 0.5",
        ));
        outcome.require(Criterion::within(
            "exponent, fitted with that annulus",
            value(|l| l.exponent),
            [2.2, 2.8],
            "5/2",
        ));
        outcome.text(format!(
            "Bulk density at rest {} kg/m³; greatest deviation from the law {} %.",
            number(density, 4),
            number(100.0 * value(|l| l.worst), 2)
        ));
        Ok(outcome)
    }
}
