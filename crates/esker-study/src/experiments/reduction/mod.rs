//! Adaptive model reduction (Servin and Wang 2015, thesis paper V): beds, a collapse, a belt, a
//! drum and a stockpile with grains at rest frozen, side by side with all grains simulated all the
//! time, and with the trial steps of the paper.
//!
//! The paper estimates speed-ups from the share of frozen grains; here they are measured, as time
//! and as the contacts that were solved. The tolerances are those that hold between repeated runs
//! and prototypes of the method, for each test its own.

mod figures;
mod run;
mod worlds;

use crate::bench::Prepared;
use crate::criterion::Criterion;
use crate::experiment::{About, Case, Experiment, Outcome, Size};
use crate::results::{Results, StudyError};
use figures::Figures;
use run::{Run, run};
use worlds::{SCENE, TESTS, Test, Way, prepared};

/// See the module.
pub struct ReductionStudy;

fn case_name(test: Test, way: Way, size: Size, start: u64) -> String {
    let name = format!("{test:?}, {}, {}", way.name(), size.name());
    match test.starts(way, size) {
        1 => name,
        _ => format!("{name}, start {}", start + 1),
    }
}

fn bed_name(size: Size) -> String {
    format!("settled bed, {}", size.name())
}

impl Experiment for ReductionStudy {
    fn about(&self) -> About {
        About {
            name: "reduction",
            paper: "Servin and Wang 2015, Figs. 5 to 14",
            shows: "Grains at rest frozen to the walls they rest on: a bed at rest, a collapse, a \
                    tilted bed, a belt, a drum and a stockpile as with all grains simulated, at a \
                    part of the cost.",
            seconds_full: 3500.0,
            seconds_reduced: 60.0,
        }
    }

    fn scene(&self) -> &'static str {
        SCENE
    }

    fn cases(&self, size: Size) -> Vec<Case> {
        let mut cases = vec![Case::new(bed_name(size), move || prepared(size))];
        // The longest first.
        for test in TESTS.into_iter().rev() {
            let starts = |way: Way| (0..test.starts(way, size)).map(move |start| (way, start));
            for (way, start) in test.ways(size).iter().flat_map(|way| starts(*way)) {
                let name = case_name(test, way, size, start);
                cases.push(Case::after(1, name, move |results| {
                    let bed: Option<Prepared> = match test.needs_bed() {
                        true => Some(results.get(&bed_name(size))?),
                        false => None,
                    };
                    run(test, way, size, start, bed.as_ref())
                }));
            }
        }
        cases
    }

    fn judge(&self, size: Size, results: &Results) -> Result<Outcome, StudyError> {
        let mut outcome = Outcome::default();
        let mut figures = Figures::new();
        for test in TESTS {
            let mut means = Vec::new();
            for &way in test.ways(size) {
                let names =
                    (0..test.starts(way, size)).map(|start| case_name(test, way, size, start));
                let runs: Result<Vec<Run>, StudyError> =
                    names.map(|name| results.get::<Run>(&name)).collect();
                let runs = runs?;
                if runs.len() > 1 {
                    figures.add_starts(test, way, &runs);
                }
                means.extend(Run::mean_of(&runs).map(|run| (way, run)));
            }
            let full = means[0].1.clone();
            for (way, run) in &means {
                if *way == Way::Reduced {
                    outcome.frame(run.frame.clone());
                }
                if *way != Way::Full {
                    judge(&mut outcome, test, *way, [&full, run], size);
                }
            }
            figures.add(test, &means);
        }
        figures.put_into(&mut outcome);
        Ok(outcome)
    }
}

/// Judges a reduced run against the full one.
fn judge(outcome: &mut Outcome, test: Test, way: Way, [full, run]: [&Run; 2], size: Size) {
    let named = |what: &str| format!("{test:?}, {}: {what}", way.name());
    let mut require = |what: &str, value: f64, bounds: [f64; 2], basis: &str| {
        outcome.require(Criterion::within(named(what), value, bounds, "").because(basis));
    };
    let scatter = "scatter of repeated runs of prototypes";
    let balance = "walls give what changes the momentum of grains, frozen or not";
    require(
        "largest overlap of a step over that of all grains",
        run.overlap / full.overlap,
        [0.0, 1.2],
        "freezing must not press grains together",
    );
    let moved = |k: usize, run: &Run| run.moved.get(k).copied().unwrap_or(f64::NAN);
    if way == Way::Trial {
        // The rest of it is shown beside ours, not judged.
        if test == Test::Collapse {
            require(
                "x_99 less that of all grains (d)",
                run.front - full.front,
                [-3.0, 3.0],
                "trial steps see that the bed has lost a wall",
            );
        }
        return;
    }
    match test {
        Test::Rest => {
            require("level at the end", last(&run.level), [0.99, 1.0], scatter);
            require("floor over weight", run.base, [0.999, 1.001], balance);
            require(
                "imbalance of what is frozen, over its weight",
                run.imbalance,
                [0.0, 0.005],
                scatter,
            );
            require(
                "contacts solved, of those of all grains",
                run.contacts / full.contacts,
                [0.0, size.pick(0.1, 0.25)],
                "refreshes alone, and less often each time",
            );
        }
        Test::Collapse => {
            let height = run.height - full.height;
            let slack = size.pick(0.1, 0.2);
            require(
                "z_cm less that of all grains (d)",
                height,
                [-slack, slack],
                scatter,
            );
            let front = run.front - full.front;
            let slack = size.pick(0.9, 1.5);
            require(
                "x_99 less that of all grains (d)",
                front,
                [-slack, slack],
                scatter,
            );
            let kinetic = run.kinetic / full.kinetic;
            require(
                "E_k after 0.1 s over that of all grains",
                kinetic,
                [0.95, 1.05],
                scatter,
            );
            require("level at the end", last(&run.level), [0.9, 1.0], scatter);
            require(
                "energy taken by freezing over what gravity gave",
                run.energy_lost,
                [0.0, 5e-4],
                "ten times what prototypes lose",
            );
        }
        Test::Tilt => {
            let full_moved = moved(2, full);
            let share = (moved(2, run) - full_moved) / full.grains;
            require(
                "grains moved at 42°, less those of all grains, of all",
                share,
                [-0.2, 0.2],
                "a slope fails late by up to one refresh",
            );
            require(
                "grains moved at 42°",
                moved(2, run),
                [1.0, f64::INFINITY],
                "they move at all",
            );
        }
        Test::Belt => {
            let outflow = run.outflow / full.outflow;
            let slack = size.pick(0.02, 0.06);
            require(
                "outflow over that of all grains",
                outflow,
                [1.0 - slack, 1.0 + slack],
                scatter,
            );
            let height = run.height - full.height;
            require(
                "z_cm less that of all grains (d)",
                height,
                [-0.15, 0.15],
                scatter,
            );
            let level = size.pick(0.4, 0.05);
            require("mean level", run.mean_level, [level, 1.0], scatter);
        }
        Test::Drum => {
            // Samples of a load that trembles, as their mean.
            let slack = size.pick(0.01, 0.03);
            let bounds = [1.0 - slack, 1.0 + slack];
            require("shell over weight", run.base, bounds, balance);
            let lift = run.lift - full.lift;
            require(
                "angle of the centre of mass less that of all grains (°)",
                lift,
                size.pick([-1.5, 2.5], [-4.0, 4.0]),
                "freezing stops the creep of the plug; a small drum slips in avalanches",
            );
            let slack = size.pick(0.05, 0.15);
            require(
                "share of the plug less that of all grains",
                run.plug - full.plug,
                [-slack, slack],
                scatter,
            );
        }
        Test::Stockpile => {
            let height = run.height / full.height;
            let slack = size.pick(0.05, 0.1);
            require(
                "z_cm over that of all grains",
                height,
                [1.0 - slack, 1.0 + slack],
                scatter,
            );
        }
    }
    let slope_slack = match test {
        Test::Belt => Some(size.pick(1.5, 4.0)),
        Test::Stockpile => Some(size.pick(2.5, 5.0)),
        _ => None,
    };
    if let Some(slack) = slope_slack {
        require(
            "slope of the pile less that of all grains (°)",
            run.slope() - full.slope(),
            [-slack, slack],
            scatter,
        );
    }
}

fn last(series: &[[f64; 2]]) -> f64 {
    series.last().map_or(f64::NAN, |point| point[1])
}
