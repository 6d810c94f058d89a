//! Sweeps needed to carry a column of grains (Wang et al. 2016 § 4.1, Figs. 2 and 3).
//!
//! The error is the worst `|l − l_theory|/l_theory` in the last second, with the
//! height from Hertz's law,
//!
//! ```text
//! l = N d − Σ_i ((N − i) m g / k_i)^(2/3).                                  (1)
//! ```
//!
//! A tall column that is placed at its full height swings, and its waves are damped by
//! its contacts alone, in proportion to `1/N`: a hundred grains swing by 0.7 % after five
//! seconds, which is no error of a method that follows waves. Columns are therefore
//! watched until they stand, and one swing is compared with smooth stepping.
//!
//! Needed are the fewest sweeps from which on the error stays below the
//! tolerance for all larger numbers that were tried.

use esker_analysis::fit;
use esker_plot::{Axis, Plot, Series, number};
use esker_world::World;
use esker_world::definition::{Method, Placement, Smooth};
use serde::{Deserialize, Serialize};

use crate::bench::{self, Start};
use crate::criterion::{Criterion, Reported, max_or_nan};
use crate::experiment::{About, Case, Experiment, Outcome, Size, Table};
use crate::results::{Results, StudyError};

/// See the module.
pub struct Column;

const SCENE: &str = include_str!("../../../../scenes/experiments/column.toml");
const DIAMETER: f64 = 0.013;
const TOLERANCES: [f64; 3] = [0.001, 0.01, 0.05];
const STARTS: [Start; 5] = [
    Start::Cold,
    Start::History,
    Start::FullHistory,
    Start::Model,
    Start::SubStepped,
];

/// Sweeps that a cold start needed for columns of 5, 10, 25, 50, 100 in an
/// independent implementation, per tolerance.
const REFERENCE_COLD: [[f64; 5]; 3] = [
    [20.0, 49.0, 116.0, 183.0, 286.0],
    [7.0, 16.0, 38.0, 67.0, 116.0],
    [2.0, 5.0, 11.0, 22.0, 45.0],
];
/// Ratio of neighbouring numbers of sweeps at reduced size.
const LADDER_REDUCED: f64 = 1.18;
const COUNTS: [usize; 5] = [5, 10, 25, 50, 100];

/// Height error per number of sweeps.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Scan {
    errors: Vec<(usize, f64)>,
}

/// Stands for a column that fell apart.
const BROKEN: f64 = 10.0;

impl Scan {
    /// Fewest sweeps that keep a tolerance, with all larger ones that were
    /// tried; `None` when even the most do not.
    fn needed(&self, tolerance: f64) -> Option<usize> {
        // An error that is not a number is within no tolerance.
        let within = |error: f64| error <= tolerance;
        let failing = self.errors.iter().rposition(|e| !within(e.1));
        let first = failing.map_or(0, |i| i + 1);
        self.errors.get(first).map(|e| e.0)
    }
}

fn theory(count: usize) -> f64 {
    let mass = 3700.0 * std::f64::consts::PI / 6.0 * DIAMETER.powi(3);
    let modulus = 4.0 / 3.0 * 6e6 / (2.0 * (1.0 - 0.25 * 0.25));
    let sunk: f64 = (0..count)
        .map(|i| {
            let radius: f64 = if i == 0 {
                0.5 * DIAMETER
            } else {
                0.25 * DIAMETER
            };
            let load = (count - i) as f64 * mass * 9.81;
            (load / (modulus * radius.sqrt())).powf(2.0 / 3.0)
        })
        .sum();
    count as f64 * DIAMETER - sunk
}

/// A column at its full height, to be stepped in one way; the scene's step if none is given.
fn standing(method: Method, count: usize, step: Option<f64>) -> Result<World, StudyError> {
    let mut def = bench::world_of_scene(SCENE)?;
    def.method = method;
    def.step = step.unwrap_or(def.step);
    if let Placement::Column { count: n, gap, .. } = &mut def.packings[0].placement {
        (*n, *gap) = (count, -1e-6);
    }
    bench::build(&def)
}

/// Relative height errors of the steps of the next second: the smallest and the largest.
fn errors_of_a_second(world: &mut World, count: usize) -> Result<[f64; 2], StudyError> {
    let expected = theory(count);
    let mut errors = Vec::new();
    bench::run(world, 1.0, |world, _| {
        let height = max_or_nan(world.grains().position().iter().map(|x| x.z)) + 0.5 * DIAMETER;
        errors.push(height / expected - 1.0);
    })?;
    let low = -max_or_nan(errors.iter().map(|e| -e));
    Ok([low, max_or_nan(errors)])
}

/// Swing within a second, relative to the height, of a column that stands: a tenth of
/// the smallest tolerance.
const STANDING: f64 = 1e-4;
/// Seconds after which a column that still swings counts as it is.
const LONGEST: usize = 40;

/// The height error of a column that stands, after so many seconds at least.
fn height_error(
    start: Start,
    count: usize,
    sweeps: usize,
    seconds: usize,
) -> Result<f64, StudyError> {
    let mut world = standing(start.method(sweeps), count, None)?;
    let mut error = f64::NAN;
    for second in 1..=LONGEST {
        // A column that flies apart is a result: so many sweeps are too few.
        let Ok([low, high]) = errors_of_a_second(&mut world, count) else {
            return Ok(BROKEN);
        };
        error = max_or_nan([low.abs(), high.abs()]);
        if second >= seconds && high - low < STANDING {
            break;
        }
    }
    Ok(error.clamp(0.0, BROKEN))
}

/// Swing of a column in its fifth second, relative to its height.
fn swing(method: Method, step: f64, count: usize) -> Result<f64, StudyError> {
    let mut world = standing(method, count, Some(step))?;
    let mut swing = f64::NAN;
    for _ in 0..5 {
        let [low, high] = errors_of_a_second(&mut world, count)?;
        swing = high - low;
    }
    Ok(swing)
}

/// Grains of the column whose swing is compared. Waves of shorter ones are over within a
/// second.
const SWINGING: usize = 100;

/// Cases that compare swings at full size, with their steps, s: substeps of 50 µs and less
/// follow the waves. Contacts are damped as they are at the start of a step, which tells in
/// long ones.
fn swings() -> [(String, Method, f64); 3] {
    let smooth = Smooth {
        substeps: 80,
        ..Default::default()
    };
    [
        ("sub-stepped", Start::SubStepped.method(20), 1e-3),
        ("smooth", Method::Smooth(smooth), 1e-3),
        ("sub-stepped", Start::SubStepped.method(100), 5e-3),
    ]
    .map(|(way, method, step)| {
        let milliseconds = 1e3 * step;
        let name = format!("swing, {way}, step {milliseconds} ms, N={SWINGING}");
        (name, method, step)
    })
}

/// Waves are those of the column, not of the method.
fn judge_swings(results: &Results, outcome: &mut Outcome) -> Result<(), StudyError> {
    let [sub, smooth, long] = swings().map(|(name, ..)| results.get::<f64>(&name));
    let (sub, smooth, long) = (sub?, smooth?, long?);
    let name = |step: &str| {
        format!("swing of {SWINGING} grains in the fifth second, sub-stepped ({step}) over smooth")
    };
    outcome.require(
        Criterion::within(name("1 ms"), sub / smooth, [0.95, 1.05], "not in the paper")
            .because("waves of a column are damped by its contacts, whatever the way: 5 %"),
    );
    outcome.report(Reported::new(
        name("5 ms"),
        long / smooth,
        "not in the paper",
        "contacts are damped as they are at the start of a step: waves lose a little more in long ones",
    ));
    outcome.text(format!(
        "Columns that are placed at their full height swing: {SWINGING} grains by {} % of their \
         height in the fifth second, by {} % in smooth stepping.",
        number(100.0 * sub, 3),
        number(100.0 * smooth, 3),
    ));
    Ok(())
}

/// Numbers of sweeps to try: geometric, from 2 on.
fn ladder(most: usize, factor: f64) -> Vec<usize> {
    let mut sweeps = vec![2];
    while let Some(&last) = sweeps.last() {
        let next = ((last as f64 * factor) as usize).max(last + 1);
        if next > most {
            break;
        }
        sweeps.push(next);
    }
    sweeps
}

fn counts(size: Size) -> &'static [usize] {
    size.pick(&COUNTS[..], &COUNTS[..3])
}

fn case_name(start: Start, count: usize, size: Size) -> String {
    format!("{}, N={count}, {}", start.name(), size.name())
}

impl Experiment for Column {
    fn about(&self) -> About {
        About {
            name: "column",
            paper: "Wang et al. 2016, Figs. 2–4",
            shows: "Sweeps needed for 0.1, 1 and 5 % height error of a column: linear in its \
                    height, about three times fewer with a history warm start, fewer still \
                    sub-stepped.",
            seconds_full: 250.0,
            seconds_reduced: 6.0,
        }
    }

    fn scene(&self) -> &'static str {
        SCENE
    }

    fn cases(&self, size: Size) -> Vec<Case> {
        let mut cases = Vec::new();
        for &count in counts(size) {
            for start in STARTS {
                cases.push(Case::new(case_name(start, count, size), move || {
                    let (seconds, factor) = size.pick((5, 1.1), (3, LADDER_REDUCED));
                    let most = (6 * count).clamp(60, 400);
                    let errors = ladder(most, factor)
                        .into_iter()
                        .map(|n| Ok((n, height_error(start, count, n, seconds)?)))
                        .collect::<Result<_, StudyError>>()?;
                    Ok(Scan { errors })
                }));
            }
        }
        if size == Size::Full {
            cases.extend(swings().map(|(name, method, step)| {
                Case::new(name, move || swing(method.clone(), step, SWINGING))
            }));
        }
        cases
    }

    fn judge(&self, size: Size, results: &Results) -> Result<Outcome, StudyError> {
        let mut outcome = Outcome::default();
        let scan = |start, count| results.get::<Scan>(&case_name(start, count, size));
        for (t, tolerance) in TOLERANCES.into_iter().enumerate() {
            let percent = number(100.0 * tolerance, 2);
            let mut plot = Plot::new(
                format!("Sweeps needed for {percent} % height error"),
                Axis::log("grains in the column"),
                Axis::log("sweeps per step"),
            );
            let mut table = Table::new(
                format!("Sweeps needed for {percent} % height error"),
                &["start"],
            );
            table
                .head
                .extend(counts(size).iter().map(|n| format!("N = {n}")));
            for start in STARTS {
                let mut cells = vec![start.name().to_string()];
                let mut points = Vec::new();
                for &count in counts(size) {
                    let needed = scan(start, count)?.needed(tolerance);
                    cells.push(needed.map_or("more than tried".into(), |n| n.to_string()));
                    points.extend(needed.map(|n| [count as f64, n as f64]));
                }
                table.row(cells);
                plot.series
                    .push(Series::line(start.name(), points).with_points());
            }
            let reference = counts(size)
                .iter()
                .zip(REFERENCE_COLD[t])
                .map(|(n, s)| [*n as f64, s])
                .collect();
            plot.series
                .push(Series::dashed("cold, independent code", reference));
            outcome.svg(plot.svg());
            outcome.table(table);
            self.judge_tolerance(size, t, &scan, &mut outcome)?;
        }
        let &longest = counts(size).last().unwrap_or(&5);
        let mut plot = Plot::new(
            format!("Height error of {longest} grains"),
            Axis::log("sweeps per step"),
            Axis::log("height error"),
        );
        for start in STARTS {
            let points = scan(start, longest)?
                .errors
                .iter()
                .map(|(n, e)| [*n as f64, e.max(1e-7)])
                .collect();
            plot.series.push(Series::line(start.name(), points));
        }
        outcome.svg(plot.svg());
        outcome.text(format!(
            "Starting from the static law gives the exact height once it is stable, but below \
             a number of sweeps that grows with the column it oscillates. Sub-stepping needs \
             the fewest sweeps throughout. Heights are taken when a column swings by less than \
             {} % within a second, or after {LONGEST} s.",
            number(100.0 * STANDING, 2),
        ));
        if size == Size::Full {
            judge_swings(results, &mut outcome)?;
        }
        Ok(outcome)
    }
}

impl Column {
    fn judge_tolerance(
        &self,
        size: Size,
        t: usize,
        scan: &dyn Fn(Start, usize) -> Result<Scan, StudyError>,
        outcome: &mut Outcome,
    ) -> Result<(), StudyError> {
        let tolerance = TOLERANCES[t];
        let percent = number(100.0 * tolerance, 2);
        let needed = |start, count| -> Result<f64, StudyError> {
            let found = scan(start, count)?.needed(tolerance);
            Ok(found.map_or(f64::NAN, |n| n as f64))
        };
        let (mut colds, mut cold_ratio) = (Vec::new(), Vec::new());
        let (mut gains, mut sub_gains) = (Vec::new(), Vec::new());
        for (&count, reference) in counts(size).iter().zip(REFERENCE_COLD[t]) {
            let cold = needed(Start::Cold, count)?;
            colds.push(cold);
            // One sweep more or less is not a deviation.
            let off = (cold - reference).abs() - 1.0;
            cold_ratio.push(1.0 + if off < 0.0 { 0.0 } else { off } / reference);
            if count >= 10 {
                gains.push(cold / needed(Start::History, count)?);
                sub_gains.push(cold / needed(Start::SubStepped, count)?);
            }
        }
        let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
        outcome.require(
            Criterion::at_most(
                format!("{percent} %: cold sweeps over the independent code's, worst"),
                max_or_nan(cold_ratio),
                1.15 * size.pick(1.0, LADDER_REDUCED),
                "almost linear in N (Fig. 3)",
            )
            .because("an independent code within 15 %, and a rung of the ladder at reduced size"),
        );
        outcome.require(Criterion::within(
            format!("{percent} %: gain of history 0.85 over cold, N ≥ 10, mean"),
            mean(&gains),
            [2.0, 5.0],
            "three times on average; 2 to 5 over all systems",
        ));
        let heights: Vec<f64> = counts(size).iter().map(|n| *n as f64).collect();
        outcome.require(
            Criterion::within(
                format!("{percent} %: power with which cold sweeps grow with N"),
                power(&heights, &colds),
                [0.8, 1.2],
                "almost linear in N (Fig. 3)",
            )
            .because("a power of one, to a fifth"),
        );
        outcome.require(
            Criterion::at_least(
                format!("{percent} %: gain of sub-stepping over cold, N ≥ 10, mean"),
                mean(&sub_gains),
                2.0,
                "not in the paper",
            )
            .because("the smallest gain that Wang et al. 2016 have for warm starting"),
        );
        Ok(())
    }
}

/// The power of `x` with which `y` grows, from a line through the logarithms.
fn power(x: &[f64], y: &[f64]) -> f64 {
    let logs: Vec<[f64; 2]> = x.iter().zip(y).map(|(x, y)| [x.ln(), y.ln()]).collect();
    fit::line(&logs).map_or(f64::NAN, |line| line.slope)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::criterion::Judgement;
    use crate::runner;

    #[test]
    fn needed_sweeps_hold_for_all_larger_ones() {
        let scan = Scan {
            errors: vec![(2, 0.5), (4, 0.01), (8, 0.2), (16, 0.02), (32, 0.001)],
        };
        assert_eq!(scan.needed(0.05), Some(16));
        assert_eq!(scan.needed(0.5), Some(2));
        assert_eq!(scan.needed(1e-4), None);
    }

    /// Scans in which cold needs the independent code's sweeps and the others
    /// a fraction of them.
    fn results() -> Results {
        let mut results = Results::default();
        for (k, &count) in counts(Size::Reduced).iter().enumerate() {
            for start in STARTS {
                let gain = match start {
                    Start::Cold => 1.0,
                    Start::SubStepped => 5.0,
                    _ => 2.5,
                };
                let errors = (1..200)
                    .map(|n| {
                        let enough = |t: &usize| gain * n as f64 >= REFERENCE_COLD[*t][k];
                        let kept = (0..3).find(enough);
                        (n, kept.map_or(1.0, |t| 0.9 * TOLERANCES[t]))
                    })
                    .collect();
                let scan = serde_json::to_value(Scan { errors }).unwrap();
                results.insert(&case_name(start, count, Size::Reduced), scan);
            }
        }
        results
    }

    #[test]
    fn an_error_that_is_not_a_number_is_within_no_tolerance() {
        let scan = Scan {
            errors: vec![(2, 0.001), (4, f64::NAN)],
        };
        assert_eq!(scan.needed(0.05), None);
    }

    #[test]
    fn columns_that_never_stand_fail_and_do_not_count_as_perfect() {
        let sound = runner::judge(&Column, Size::Reduced, &results());
        assert_eq!(sound.judgement(), Judgement::Reproduced, "{sound:#?}");
        for start in [Start::Cold, Start::History, Start::SubStepped] {
            let mut results = results();
            let errors = (1..200).map(|n| (n, BROKEN)).collect();
            let never = serde_json::to_value(Scan { errors }).unwrap();
            results.insert(&case_name(start, 10, Size::Reduced), never);
            let outcome = runner::judge(&Column, Size::Reduced, &results);
            assert_eq!(outcome.judgement(), Judgement::Fails, "{start:?}");
        }
    }
}
