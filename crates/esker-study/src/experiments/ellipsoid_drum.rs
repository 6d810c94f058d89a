//! A hundred ellipsoids in a drum with lifters, every step solved to 1e-8
//! (Koziara 2019 § 8.1, Tables 2 and 3): how many iterations solvers need, and
//! how often they fail.
//!
//! The pipe is round where the report has 32 flat pieces, and grains fall in
//! from a chute instead of a lattice; contacts have the stiffness of their
//! material; 5 of its 10 seconds are run. So iterations are shown beside the report's,
//! not judged.

use esker_analysis::repose;
use esker_plot::{Axis, Plot, Series, number};
use esker_world::Stage;
use esker_world::definition::{Method, SizeDistribution, Solver, Total, WholeStep, WorldDef};
use glam::DVec3;
use serde::{Deserialize, Serialize};

use crate::bench;
use crate::criterion::{Criterion, Reported};
use crate::experiment::{About, Case, Experiment, Frame, Outcome, Size, Table};
use crate::frame;
use crate::observe;
use crate::results::{Results, StudyError};

/// See the module.
pub struct EllipsoidDrum;

const SCENE: &str = include_str!("../../../../scenes/experiments/ellipsoid-drum.toml");
/// When the drum begins to turn, s.
const TURNING: f64 = 1.5;
/// Radius of the spheres: the mean of the ellipsoids' axes, m.
const SPHERE_RADIUS: f64 = 0.08;

/// What solves the steps: the sweep of steps, or a solver of the registry.
const SOLVERS: [&str; 5] = ["gauss-seidel", "auto", "quasi-newton", "newton", "anderson"];

/// Those that a drum of this size compares.
fn solvers(size: Size) -> &'static [&'static str] {
    size.pick(&SOLVERS[..], &SOLVERS[..2])
}

/// A drum from the moment it turns.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Drum {
    /// Mean iterations of the steps that reached the tolerance.
    iterations: f64,
    /// Share of steps that did.
    solved: f64,
    /// Steps counted.
    steps: u64,
    /// Mean contacts.
    contacts: f64,
    /// Time of the solves, s, and its share of the steps' time.
    solve: [f64; 2],
    /// Mean angle of the bed's centre of mass, degrees.
    angle: f64,
    /// Time, s, and iterations, means over a tenth of a second.
    history: Vec<[f64; 2]>,
    frame: Frame,
}

fn world(size: Size, is_round: bool, solver: &str) -> Result<WorldDef, StudyError> {
    let mut def = bench::world_of_scene(SCENE)?;
    if is_round {
        def.emitters[0].shape = None;
        def.emitters[0].sizes = SizeDistribution::Fixed {
            radius: SPHERE_RADIUS,
        };
    }
    if let Method::WholeStep(WholeStep { solver: own, .. }) = &mut def.method
        && solver != SOLVERS[0]
    {
        *own = Solver::Named(solver.into());
    }
    if size == Size::Reduced {
        def.emitters[0].total = Total::Number(24);
    }
    Ok(def)
}

fn drum(size: Size, is_round: bool, solver: &str) -> Result<Drum, StudyError> {
    let def = world(size, is_round, solver)?;
    let mut world = bench::build(&def)?;
    let (mut steps, mut failed, mut contacts) = (0, 0, 0);
    let mut iterations = 0;
    let (mut solve, mut total) = (0.0, 0.0);
    let mut angles = Vec::new();
    let mut history: Vec<[f64; 2]> = Vec::new();
    let mut recent = (0, 0);
    bench::run(&mut world, size.pick(5.0, 2.2), |world, report| {
        if report.time < TURNING {
            return;
        }
        steps += 1;
        contacts += report.contacts;
        if report.converged {
            iterations += report.sweeps;
        } else {
            failed += 1;
        }
        solve += report.times.get(Stage::Advance).as_secs_f64();
        total += report.times.total().as_secs_f64();
        recent = (recent.0 + report.sweeps, recent.1 + 1);
        if report.reached_multiple_of(0.1) {
            history.push([report.time, recent.0 as f64 / f64::from(recent.1)]);
            recent = (0, 0);
            let snapshot = observe::snapshot(world);
            if let Ok(angle) = repose::centre_of_mass_angle(&snapshot, DVec3::Y, DVec3::ZERO) {
                angles.push(angle.to_degrees());
            }
        }
    })?;
    let converged = steps - failed;
    let caption = format!("{}, {solver}", grains_name(is_round));
    Ok(Drum {
        iterations: iterations as f64 / converged as f64,
        solved: converged as f64 / steps as f64,
        steps,
        contacts: contacts as f64 / steps as f64,
        solve: [solve, solve / total],
        angle: angles.iter().sum::<f64>() / angles.len() as f64,
        history,
        frame: frame::draw_speeds(&world, &caption, DVec3::new(0.0, 1.0, -0.2), 2.0)?,
    })
}

fn grains_name(is_round: bool) -> &'static str {
    if is_round { "spheres" } else { "ellipsoids" }
}

fn case_name(is_round: bool, solver: &str, size: Size) -> String {
    format!("{}, {solver}, {}", grains_name(is_round), size.name())
}

/// What is published for a solver: iterations, and steps of 10,000 that failed.
fn published(is_round: bool, solver: &str) -> Option<[f64; 2]> {
    match (solver, is_round) {
        ("gauss-seidel", false) => Some([112.0, 20.0]),
        ("gauss-seidel", true) => Some([174.0, 330.0]),
        ("quasi-newton", false) => Some([10.0, 0.0]),
        ("quasi-newton", true) => Some([12.0, 1.0]),
        _ => None,
    }
}

/// Share of this many steps that may fail where so many of 10,000 do on average: three
/// times the scatter of their count more.
fn failures_allowed(published: f64, steps: u64) -> f64 {
    let expected = 1e-4 * published * steps as f64;
    (expected + 3.0 * expected.max(1.0).sqrt()) / steps as f64
}

impl Experiment for EllipsoidDrum {
    fn about(&self) -> About {
        About {
            name: "ellipsoid-drum",
            paper: "Koziara 2019 § 8.1, Tables 2 and 3",
            shows: "Every step of a drum of ellipsoids solved to 1e-8 by five solvers: how many \
                    iterations they need, how often they fail, and that the bed flows alike.",
            seconds_full: 1550.0,
            seconds_reduced: 15.0,
        }
    }

    fn scene(&self) -> &'static str {
        SCENE
    }

    fn cases(&self, size: Size) -> Vec<Case> {
        let mut cases = Vec::new();
        for is_round in [false, true] {
            for &solver in solvers(size) {
                cases.push(Case::new(case_name(is_round, solver, size), move || {
                    drum(size, is_round, solver)
                }));
            }
        }
        cases
    }

    fn judge(&self, size: Size, results: &Results) -> Result<Outcome, StudyError> {
        let mut outcome = Outcome::default();
        let mut plot = Plot::new(
            "Iterations per step",
            Axis::linear("time (s)"),
            Axis::log("iterations"),
        );
        let mut table = Table::new(
            "Steps from the moment the drum turns (published in brackets)",
            &[
                "grains",
                "solver",
                "iterations",
                "failed of 10,000",
                "contacts",
                "solve (s)",
                "share of the time",
                "angle (°)",
            ],
        );
        let drum =
            |is_round: bool, solver: &str| results.get::<Drum>(&case_name(is_round, solver, size));
        for is_round in [false, true] {
            let reference = drum(is_round, SOLVERS[0])?;
            for &solver in solvers(size) {
                let found = drum(is_round, solver)?;
                let beside = |k: usize, value: String| match published(is_round, solver) {
                    Some(p) => format!("{value} ({})", number(p[k], 3)),
                    None => value,
                };
                let name = format!("{}, {solver}", grains_name(is_round));
                plot.series
                    .push(Series::line(name.clone(), found.history.clone()));
                table.row([
                    grains_name(is_round).into(),
                    solver.into(),
                    beside(0, number(found.iterations, 3)),
                    beside(1, number(1e4 * (1.0 - found.solved), 3)),
                    number(found.contacts, 3),
                    number(found.solve[0], 3),
                    number(found.solve[1], 2),
                    number(found.angle, 3),
                ]);
                if let Some([iterations, failed]) = published(is_round, solver) {
                    outcome.report(Reported::new(
                        format!("{name}: iterations per step"),
                        found.iterations,
                        number(iterations, 3),
                        "measures of error, stiffness and what a solver calls an iteration differ",
                    ));
                    outcome.require(
                        Criterion::at_least(
                            format!("{name}: share of steps solved to 1e-8"),
                            found.solved,
                            1.0 - failures_allowed(failed, found.steps),
                            number(1.0 - 1e-4 * failed, 4),
                        )
                        .because("the report's, and three times the scatter of so many steps"),
                    );
                }
                if solver != SOLVERS[0] {
                    outcome.require(
                        Criterion::within(
                            format!("{name}: angle of the bed beside that of gauss-seidel (°)"),
                            found.angle - reference.angle,
                            size.pick([-5.5, 5.5], [-8.0, 8.0]),
                            "0",
                        )
                        .because("all solve the same problems; beds of few grains surge, and means scatter by 2°"),
                    );
                }
            }
        }
        outcome.report(Reported::new(
            "gauss-seidel: iterations of spheres over those of ellipsoids",
            drum(true, SOLVERS[0])?.iterations / drum(false, SOLVERS[0])?.iterations,
            number(174.0 / 112.0, 3),
            "follows the stiffness, which differs from the report's",
        ));
        outcome.svg(plot.svg());
        outcome.table(table);
        outcome.frame(drum(false, SOLVERS[0])?.frame);
        outcome.frame(drum(true, SOLVERS[0])?.frame);
        let limit = bench::world_of_scene(SCENE)?.method.sweeps();
        outcome.text(format!(
            "Every step stops at a residual of 1e-8 or after {limit} iterations, and starts from \
             the last step's impulses."
        ));
        Ok(outcome)
    }
}
