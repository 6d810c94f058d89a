//! Plots and tables: the paper's figures with all ways side by side.

use esker_plot::{Axis, Plot, Series, number};

use super::run::Run;
use super::worlds::{Test, Way};
use crate::criterion::Reported;
use crate::experiment::{Outcome, Table};

/// What the paper has of a test, beside ours.
fn paper(test: Test) -> &'static str {
    match test {
        Test::Collapse => "29.9 to 36.2, reduced 34 to 37.5",
        Test::Belt => "40.6 to 41.5, reduced 40.3",
        Test::Drum => "43 to 44, reduced 44 to 49",
        Test::Rest | Test::Tilt | Test::Stockpile => "not in the paper",
    }
}

/// All plots and tables.
pub(super) struct Figures {
    results: Table,
    starts: Table,
    levels: Plot,
    speed_ups: Plot,
    measured: Vec<[f64; 2]>,
    others: Vec<Plot>,
    reported: Vec<Reported>,
}

impl Figures {
    pub(super) fn new() -> Self {
        let estimate = (0..=95).map(|percent| f64::from(percent) / 100.0);
        let estimate = estimate.map(|level| [level, (1.0 - level).powf(-4.0 / 3.0)]);
        Figures {
            results: Table::new(
                "With all grains simulated, with trial steps, and with grains at rest frozen",
                &[
                    "test",
                    "way",
                    "grains",
                    "level",
                    "contacts solved",
                    "time (s)",
                    "speed-up",
                    "floor/weight",
                    "imbalance",
                    "z_cm (d)",
                    "x_99 (d)",
                    "E_k (J)",
                    "outflow",
                    "surface (°)",
                    "lift (°)",
                    "plug",
                    "moved",
                    "overlap (d)",
                ],
            ),
            starts: Table::new(
                "The same test from different starts",
                &[
                    "test",
                    "way",
                    "start",
                    "level",
                    "contacts (10⁶)",
                    "time (s)",
                    "surface (°)",
                    "lift (°)",
                    "plug",
                ],
            ),
            levels: Plot::new(
                "Share of frozen grains (as Figs. 11 and 13)",
                Axis::linear("time (s)"),
                Axis::linear("reduction level"),
            ),
            speed_ups: Plot::new(
                "Speed-up against mean level (as Fig. 14)",
                Axis::linear("reduction level"),
                Axis::log("time of all grains over time"),
            )
            .with(Series::dashed("the paper's estimate", estimate.collect())),
            measured: Vec::new(),
            others: Vec::new(),
            reported: Vec::new(),
        }
    }

    /// Adds the runs of a test, the full one first.
    pub(super) fn add(&mut self, test: Test, runs: &[(Way, Run)]) {
        let Some((_, full)) = runs.first() else {
            return;
        };
        for (way, run) in runs {
            let speed_up = full.seconds / run.seconds;
            let moved: Vec<String> = run.moved.iter().map(|m| number(*m, 4)).collect();
            self.results.row([
                format!("{test:?}"),
                way.name().into(),
                number(run.grains, 6),
                number(run.mean_level, 3),
                number(run.contacts / full.contacts, 3),
                number(run.seconds, 3),
                number(speed_up, 3),
                number(run.base, 4),
                number(run.imbalance, 2),
                number(run.height, 4),
                number(run.front, 4),
                number(run.kinetic, 3),
                number(run.outflow, 5),
                number(run.slope(), 3),
                number(run.lift, 4),
                number(run.plug, 3),
                moved.join(" / "),
                number(run.overlap, 3),
            ]);
            if *way == Way::Reduced {
                self.measured.push([run.mean_level, speed_up]);
            }
            if matches!(way, Way::Reduced | Way::Trial) {
                let name = format!("{test:?}, {}", way.name());
                let level = run.level.clone();
                self.levels.series.push(match way {
                    Way::Trial => Series::dashed(name, level),
                    _ => Series::line(name, level),
                });
            }
            if run.slope().is_finite() {
                self.reported.push(Reported::new(
                    format!("{test:?}, {}: slope of the surface (°)", way.name()),
                    run.slope(),
                    paper(test),
                    "the paper's angles depend on its solver's sweeps; ours are compared with all \
                     grains",
                ));
            }
        }
        let mut plot = |title: &str, axes: [&str; 2], points: fn(&Run) -> &Vec<[f64; 2]>| {
            let [x, y] = axes.map(Axis::linear);
            let mut plot = Plot::new(format!("{test:?}: {title}"), x, y);
            for (way, run) in runs {
                plot.series
                    .push(Series::line(way.name(), points(run).clone()));
            }
            self.others.push(plot);
        };
        match test {
            Test::Rest => {}
            Test::Collapse | Test::Belt | Test::Stockpile => {
                plot("surface", ["time (s)", "slope (°)"], |run| &run.angles);
                plot("centre of mass", ["time (s)", "height (d)"], |run| {
                    &run.heights
                });
            }
            Test::Tilt => plot("centre of mass", ["time (s)", "height (d)"], |run| {
                &run.heights
            }),
            Test::Drum => {
                plot("surface (as Fig. 12)", ["time (s)", "slope (°)"], |run| {
                    &run.angles
                });
                plot(
                    "flow below the middle of the surface",
                    ["depth (d)", "velocity over that of the shell"],
                    |run| &run.profile,
                );
            }
        }
    }

    /// Adds the runs of a way that differ in how they start.
    pub(super) fn add_starts(&mut self, test: Test, way: Way, runs: &[Run]) {
        for (start, run) in runs.iter().enumerate() {
            self.starts.row([
                format!("{test:?}"),
                way.name().into(),
                (start + 1).to_string(),
                number(run.mean_level, 3),
                number(run.contacts * 1e-6, 3),
                number(run.seconds, 3),
                number(run.slope(), 3),
                number(run.lift, 4),
                number(run.plug, 3),
            ]);
        }
    }

    pub(super) fn put_into(mut self, outcome: &mut Outcome) {
        self.speed_ups
            .series
            .push(Series::points("measured", self.measured));
        outcome.svg(self.levels.svg());
        outcome.svg(self.speed_ups.svg());
        for plot in &self.others {
            outcome.svg(plot.svg());
        }
        outcome.table(self.results);
        outcome.table(self.starts);
        for reported in self.reported {
            outcome.report(reported);
        }
    }
}
