//! Grains at rest in upright cylinders (003 paper I §§ 5.1, 5.3, Figs. 3–6).
//!
//! * Sweeps needed for a mean overlap of 5 %: they grow with the fill height
//!   and saturate at a few cylinder diameters; the constants of
//!   `N = (c_0/ε) w (1 − exp(−c_2 l/w))` (formula 41 at rest) are fitted.
//! * Wall pressure over depth: too few sweeps press like a liquid, converged
//!   ones saturate after Janssen.
//! * Force networks with few and many sweeps.

use esker_analysis::fit;
use esker_analysis::network;
use esker_analysis::series::statistics;
use esker_analysis::wall_pressure::{self, Strips};
use esker_geometry::{Region, WallShape};
use esker_plot::{Axis, Picture, Plot, Segment, Series, number};
use esker_scene::estimate::sweeps_needed;
use esker_world::definition::{Placement, WorldDef};
use esker_world::{StepReport, World};
use glam::DVec3;
use serde::{Deserialize, Serialize};

use crate::bench::{self, Prepared, Start};
use crate::experiment::{About, Case, Criterion, Experiment, Outcome, Size, Table};
use crate::observe;
use crate::results::{Results, StudyError};

/// See the module.
pub struct Silo;

const SCENE: &str = include_str!("../../../../scenes/experiments/silo.toml");
const DIAMETER: f64 = 0.01;
const WALL: usize = 0;
const FLOOR: usize = 1;
/// Mean overlap that counts as converged, in diameters.
const TOLERANCE: f64 = 0.05;

fn widths(size: Size) -> &'static [usize] {
    size.pick(&[3, 6, 9, 15][..], &[3, 6][..])
}

/// Fill heights in diameters.
fn heights(size: Size) -> &'static [usize] {
    size.pick(&[5, 10, 20, 40, 80][..], &[5, 10, 20][..])
}

/// Grains that fill a cylinder about this high.
fn grains(width: usize, height: usize) -> usize {
    (0.86 * (width * width * height) as f64) as usize
}

/// Cylinder in which pressure profiles are taken.
fn profile_silo(size: Size) -> (usize, usize) {
    size.pick((9, 107), (6, 20))
}

fn profile_cases(size: Size) -> Vec<(Start, usize)> {
    let mut cases: Vec<(Start, usize)> = size
        .pick(&[10, 50, 100, 500][..], &[10, 100][..])
        .iter()
        .map(|n| (Start::Cold, *n))
        .collect();
    cases.push((Start::History, 100));
    cases.push((Start::SubStepped, 25));
    cases
}

fn world(width: usize, height: usize) -> Result<WorldDef, StudyError> {
    let mut def = bench::world_of_scene(SCENE)?;
    let radius = 0.5 * width as f64 * DIAMETER;
    if let WallShape::Cylinder { radius: r, .. } = &mut def.walls[WALL].shape {
        *r = radius;
    }
    let count = grains(width, height);
    let layer = (std::f64::consts::PI * (0.5 * (width as f64 - 1.0)).powi(2)).max(1.0);
    let tall = (1.6 * count as f64 / layer + 4.0) * 1.05 * DIAMETER;
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
            pose.position = DVec3::Z * (0.5 * tall);
        }
        *c = Some(count);
    }
    Ok(def)
}

/// A settled fill, by the sub-stepped way.
fn settled(width: usize, height: usize) -> Result<Prepared, StudyError> {
    let mut world = bench::build(&world(width, height)?)?;
    // The lattice is up to three times as tall as the fill: let it fall.
    let time = 1.5 + 2.0 * (3.0 * height as f64 * DIAMETER / 9.81).sqrt();
    bench::run(&mut world, time, |_, _| {});
    Ok(Prepared::of(&world))
}

/// State after a run of two seconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Rest {
    sweeps: usize,
    /// Mean overlap in diameters, over the last quarter.
    overlap: f64,
    /// Force on the floor over the weight.
    base: f64,
    /// Fill height in diameters.
    height: f64,
}

fn top(world: &World) -> f64 {
    let mut tops: Vec<f64> = world.grains.position.iter().map(|x| x.z).collect();
    tops.sort_unstable_by(f64::total_cmp);
    // Not the very highest: one grain on top of all others is not the fill.
    let index = tops.len() - 1 - tops.len() / 100;
    tops[index] + 0.5 * DIAMETER
}

fn rest(
    prepared: &Prepared,
    width: usize,
    height: usize,
    (start, sweeps): (Start, usize),
    mut watch: impl FnMut(&World, &StepReport),
) -> Result<(Rest, World), StudyError> {
    let mut def = world(width, height)?;
    prepared.put_into(&mut def);
    def.method = start.method(sweeps);
    let mut world = bench::build(&def)?;
    let weight = world.grains.mass.iter().sum::<f64>() * 9.81;
    let (mut overlaps, mut bases) = (Vec::new(), Vec::new());
    let whole = bench::run(&mut world, 2.0, |world, report| {
        if report.time > 1.5 {
            overlaps.push(report.mean_overlap);
            bases.push(-world.walls[FLOOR].force.z / weight);
            watch(world, report);
        }
    });
    let rest = Rest {
        sweeps,
        overlap: if whole {
            statistics(&overlaps).mean
        } else {
            1.0
        },
        base: statistics(&bases).mean,
        height: top(&world) / DIAMETER,
    };
    Ok((rest, world))
}

/// Runs with more and more sweeps until the overlap is well below the tolerance.
fn scan(
    prepared: &Prepared,
    width: usize,
    height: usize,
    start: Start,
) -> Result<Vec<Rest>, StudyError> {
    let mut found: Vec<Rest> = Vec::new();
    // Far below the formula's number nothing is learnt but how soup behaves.
    let formula = sweeps_needed(TOLERANCE, height as f64, width as f64, 0.0);
    let first = if start == Start::Cold {
        0.4 * formula
    } else {
        4.0
    };
    let ladder = [4, 6, 9, 13, 19, 28, 40, 60, 85, 120, 180, 260, 400];
    for sweeps in ladder.into_iter().filter(|n| *n as f64 >= first) {
        let (rest, _) = rest(prepared, width, height, (start, sweeps), |_, _| {})?;
        let done = rest.overlap < 0.8 * TOLERANCE;
        found.push(rest);
        if done {
            break;
        }
    }
    Ok(found)
}

/// Sweeps at which the overlap crosses the tolerance, interpolated between
/// logarithms; NaN when it never does.
fn needed(scan: &[Rest]) -> f64 {
    let Some(after) = scan.iter().position(|r| r.overlap <= TOLERANCE) else {
        return f64::NAN;
    };
    let b = &scan[after];
    let Some(a) = after.checked_sub(1).map(|i| &scan[i]) else {
        return b.sweeps as f64;
    };
    let part = (a.overlap / TOLERANCE).ln() / (a.overlap / b.overlap).ln();
    (a.sweeps as f64) * (b.sweeps as f64 / a.sweeps as f64).powf(part)
}

/// Pressure profile, network and picture of one run.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Column {
    rest: Rest,
    /// Depth below the surface, m, and wall pressure, Pa.
    pressure: Vec<[f64; 2]>,
    strong_load: f64,
    strong_share: f64,
    coordination: f64,
    /// Densities of f/⟨f⟩.
    distribution: Vec<[f64; 2]>,
    /// Contacts near the middle plane: ends (m) and force (N).
    network: Vec<[f64; 5]>,
}

fn column(
    prepared: &Prepared,
    (width, height): (usize, usize),
    way: (Start, usize),
) -> Result<Column, StudyError> {
    let strip = 5.0 * DIAMETER * if height > 50 { 1.0 } else { 0.5 };
    let count = (1.3 * height as f64 * DIAMETER / strip) as usize + 1;
    let strips = Strips {
        wall: WALL,
        perimeter: std::f64::consts::PI * width as f64 * DIAMETER,
        base: 0.0,
        height: strip,
        count,
    };
    let mut sums = vec![0.0; count];
    let mut samples = 0.0;
    let (rest, world) = rest(prepared, width, height, way, |world, report| {
        if report.step.is_multiple_of(5)
            && let Ok(profile) = wall_pressure::profile(&observe::snapshot(world), strips)
        {
            samples += 1.0;
            for (sum, strip) in sums.iter_mut().zip(profile) {
                *sum += strip.pressure;
            }
        }
    })?;
    let snapshot = observe::snapshot(&world);
    let statistics = network::statistics(&snapshot).map_err(|e| bench::failed("network", e))?;
    let distribution =
        network::force_distribution(&snapshot, 6.0, 24).map_err(|e| bench::failed("network", e))?;
    let surface = rest.height * DIAMETER;
    let pressure = sums
        .iter()
        .enumerate()
        .map(|(k, sum)| [surface - (k as f64 + 0.5) * strip, sum / samples])
        .filter(|p| p[0] > 0.0)
        .collect();
    let network = snapshot
        .contacts
        .iter()
        .flatten()
        .filter(|c| c.normal_force > 0.0 && c.point.y.abs() < DIAMETER)
        .filter_map(|c| match c.partner {
            esker_analysis::Partner::Grain(b) => {
                let (x, y) = (snapshot.positions[c.grain], snapshot.positions[b]);
                Some([x.x, x.z, y.x, y.z, c.normal_force])
            }
            esker_analysis::Partner::Wall(_) => None,
        })
        .collect();
    Ok(Column {
        rest,
        pressure,
        strong_load: statistics.strong_load,
        strong_share: statistics.strong_share,
        coordination: statistics.coordination,
        distribution: distribution.points(),
        network,
    })
}

fn prepared_name((width, height): (usize, usize)) -> String {
    format!("settled, {width} d wide, {height} d high")
}

fn scan_name(width: usize, height: usize, start: Start) -> String {
    format!("{}, {width} d wide, {height} d high", start.name())
}

fn column_name((start, sweeps): (Start, usize), size: Size) -> String {
    format!("column, {}, {sweeps} sweeps, {}", start.name(), size.name())
}

/// Cylinder in which starts are compared.
fn compared(size: Size) -> (usize, usize) {
    size.pick((9, 20), (6, 10))
}

impl Experiment for Silo {
    fn about(&self) -> About {
        About {
            name: "silo",
            paper: "003 paper I, Figs. 3–6 and formula 41",
            shows: "Sweeps needed in a silo saturate with fill height; wall pressure follows \
                    Janssen once the solve converges; constants of formula 41.",
            seconds_full: 1500.0,
            seconds_reduced: 12.0,
        }
    }

    fn scene(&self) -> &'static str {
        SCENE
    }

    fn cases(&self, size: Size) -> Vec<Case> {
        let mut silos: Vec<(usize, usize)> = widths(size)
            .iter()
            .flat_map(|w| heights(size).iter().map(move |h| (*w, *h)))
            .collect();
        let mut cases = Vec::new();
        for &(w, h) in &silos {
            let mut starts = vec![Start::Cold];
            if (w, h) == compared(size) {
                starts.extend([Start::History, Start::SubStepped]);
            }
            for start in starts {
                let name = scan_name(w, h, start);
                cases.push(Case::after(1, name, move |results| {
                    scan(&results.get(&prepared_name((w, h)))?, w, h, start)
                }));
            }
        }
        let tall = profile_silo(size);
        if !silos.contains(&tall) {
            silos.push(tall);
        }
        for way in profile_cases(size) {
            cases.push(Case::after(1, column_name(way, size), move |results| {
                column(&results.get(&prepared_name(tall))?, tall, way)
            }));
        }
        cases.extend(
            silos
                .into_iter()
                .map(|(w, h)| Case::new(prepared_name((w, h)), move || settled(w, h))),
        );
        cases
    }

    fn judge(&self, size: Size, results: &Results) -> Result<Outcome, StudyError> {
        let mut outcome = Outcome::default();
        self.judge_sweeps(size, results, &mut outcome)?;
        self.judge_pressure(size, results, &mut outcome)?;
        Ok(outcome)
    }
}

impl Silo {
    fn judge_sweeps(
        &self,
        size: Size,
        results: &Results,
        outcome: &mut Outcome,
    ) -> Result<(), StudyError> {
        let mut plot = Plot::new(
            "Sweeps needed for 5 % mean overlap, cold start",
            Axis::linear("fill height (d)"),
            Axis::linear("sweeps per step"),
        );
        let mut table = Table::new(
            "Sweeps needed for 5 % mean overlap, cold (formula 41 in brackets)",
            &["width (d)"],
        );
        table
            .head
            .extend(heights(size).iter().map(|h| format!("≈ {h} d high")));
        let mut points: Vec<[f64; 3]> = Vec::new();
        for &w in widths(size) {
            let mut cells = vec![w.to_string()];
            let mut curve = Vec::new();
            for &h in heights(size) {
                let scan: Vec<Rest> = results.get(&scan_name(w, h, Start::Cold))?;
                let sweeps = needed(&scan);
                let height = scan.last().map_or(h as f64, |r| r.height);
                let formula = sweeps_needed(TOLERANCE, height, w as f64, 0.0);
                curve.push([height, sweeps]);
                cells.push(format!("{} ({})", number(sweeps, 3), number(formula, 3)));
                if w >= 5 && sweeps.is_finite() {
                    points.push([height, w as f64, sweeps]);
                }
            }
            table.row(cells);
            plot.series
                .push(Series::line(format!("{w} d wide"), curve).with_points());
        }
        outcome.svg(plot.svg());
        outcome.table(table);
        let data: Vec<f64> = points.iter().map(|p| p[2]).collect();
        let law = |q: &[f64], i: usize| {
            let [l, w, _] = points[i];
            q[0] / TOLERANCE * w * (1.0 - (-q[1] * l / w).exp())
        };
        let fitted = fit::model(&data, &[0.3, 0.44], law);
        let constant = |k: usize| fitted.as_ref().map_or(f64::NAN, |f| f.parameters[k]);
        outcome.require(Criterion::within(
            "fitted c_0 of formula 41",
            constant(0),
            size.pick([0.15, 0.6], [0.15, 1.0]),
            "0.300 ± 0.005",
        ));
        outcome.require(Criterion::within(
            "fitted c_2 of formula 41",
            constant(1),
            [0.08, 1.2],
            "0.44 ± 0.02",
        ));
        let &w = widths(size).last().unwrap_or(&6);
        let w = if size == Size::Full { 6 } else { w };
        let sweeps_at = |h: usize| -> Result<f64, StudyError> {
            Ok(needed(&results.get::<Vec<Rest>>(&scan_name(
                w,
                h,
                Start::Cold,
            ))?))
        };
        let [low, high] = size.pick([20, 80], [10, 20]);
        outcome.require(Criterion::at_most(
            format!("saturation, {w} d wide: sweeps at {high} d over those at {low} d high"),
            sweeps_at(high)? / sweeps_at(low)?,
            size.pick(2.0, 1.85),
            size.pick(
                "stop growing (without walls: 4)",
                "slow down (without walls: 2)",
            ),
        ));
        let (w, h) = compared(size);
        let way = |start| -> Result<f64, StudyError> {
            Ok(needed(&results.get::<Vec<Rest>>(&scan_name(w, h, start))?))
        };
        let cold = way(Start::Cold)?;
        outcome.require(Criterion::at_least(
            format!("{w} d wide, {h} d high: gain of history 0.85 over cold"),
            cold / way(Start::History)?,
            1.8,
            "“no significant effect” in paper I; 2–5 in 000",
        ));
        outcome.require(Criterion::at_least(
            format!("{w} d wide, {h} d high: gain of sub-stepping over cold"),
            cold / way(Start::SubStepped)?,
            2.5,
            "not in the paper",
        ));
        Ok(())
    }

    fn judge_pressure(
        &self,
        size: Size,
        results: &Results,
        outcome: &mut Outcome,
    ) -> Result<(), StudyError> {
        let (width, height) = profile_silo(size);
        let mut plot = Plot::new(
            format!("Wall pressure, {width} d wide, {height} d high"),
            Axis::linear("depth below the surface (d)"),
            Axis::linear("pressure (Pa)"),
        );
        let mut table = Table::new(
            "Columns at rest",
            &[
                "start",
                "sweeps",
                "overlap/d",
                "height (d)",
                "base/weight",
                "coordination",
                "strong contacts",
                "their load",
            ],
        );
        let mut spectrum = Plot::new(
            "Distribution of normal forces",
            Axis::linear("f/⟨f⟩"),
            Axis::log("density"),
        );
        let mut pictures = Vec::new();
        for way in profile_cases(size) {
            let c: Column = results.get(&column_name(way, size))?;
            let name = format!("{}, {} sweeps", way.0.name(), way.1);
            let scaled = c.pressure.iter().map(|p| [p[0] / DIAMETER, p[1]]).collect();
            plot.series
                .push(Series::line(name.clone(), scaled).with_points());
            spectrum
                .series
                .push(Series::line(name.clone(), c.distribution.clone()));
            table.row([
                way.0.name().to_string(),
                way.1.to_string(),
                number(c.rest.overlap, 3),
                number(c.rest.height, 4),
                number(c.rest.base, 3),
                number(c.coordination, 3),
                number(c.strong_share, 3),
                number(c.strong_load, 3),
            ]);
            if way.0 != Start::History {
                pictures.push(force_picture(&name, &c.network));
            }
        }
        outcome.svg(plot.svg());
        outcome.svg(spectrum.svg());
        outcome.table(table);
        for picture in pictures {
            outcome.svg(picture.svg());
        }
        let get = |way| results.get::<Column>(&column_name(way, size));
        let few = get((Start::Cold, 10))?;
        let converged = get((Start::Cold, size.pick(500, 100)))?;
        let sub = get((Start::SubStepped, 25))?;
        outcome.require(Criterion::at_most(
            "height with 10 cold sweeps over the converged one",
            few.rest.height / sub.rest.height,
            size.pick(0.6, 0.85),
            "below 0.4 (7500 grains)",
        ));
        outcome.require(Criterion::at_most(
            "force on the floor over weight, converged",
            converged.rest.base,
            size.pick(0.35, 0.8),
            "saturates (Janssen)",
        ));
        let fitted = wall_pressure::fit_janssen(&sub.pressure);
        let depth = fitted.as_ref().map_or(f64::NAN, |f| f.parameters[1]);
        outcome.require(Criterion::within(
            "Janssen depth ζ_0 over cylinder diameter, sub-stepped",
            depth / (width as f64 * DIAMETER),
            [0.2, 3.0],
            "w/(4 µ K): 0.4–3.6 for K = 0.1–0.9",
        ));
        outcome.require(Criterion::within(
            "share of strong contacts, sub-stepped",
            sub.strong_share,
            [0.25, 0.45],
            "strong chains appear with many sweeps",
        ));
        Ok(())
    }
}

fn force_picture(title: &str, network: &[[f64; 5]]) -> Picture {
    let greatest = network.iter().map(|s| s[4]).fold(1e-12, f64::max);
    let mut picture = Picture::new(title, "normal force (N)", [0.0, 0.6 * greatest]);
    picture.size = [160.0, 480.0];
    picture.segments = network
        .iter()
        .map(|&[x0, y0, x1, y1, force]| Segment {
            ends: [[x0, y0], [x1, y1]],
            width: 0.8 * DIAMETER * (force / greatest).sqrt(),
            value: force,
        })
        .collect();
    picture
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needed_sweeps_are_interpolated_between_logarithms() {
        let rest = |sweeps, overlap| Rest {
            sweeps,
            overlap,
            base: 1.0,
            height: 10.0,
        };
        // The overlap falls as 1/sweeps: 0.05 is crossed at 20.
        let scan = [rest(5, 0.2), rest(10, 0.1), rest(40, 0.025)];
        assert!((needed(&scan) - 20.0).abs() < 1e-9);
        assert_eq!(needed(&scan[2..]), 40.0);
        assert!(needed(&scan[..2]).is_nan());
    }
}
