//! Elementary tests of one pellet (Wang et al. 2015 § 4, Table 2).
//!
//! | test | what must come out |
//! | --- | --- |
//! | elasticity | a resting pellet sinks by `(m g/k)^(2/3)`; between piston and plane `f/δ^(3/2) = k` |
//! | restitution | rebound `√(h_b/h_d) = e` |
//! | friction | slides where `tan φ > µ`, with `g (sin φ − µ cos φ)` |
//! | rolling | starts where `tan φ > µ_r r*/l`, slows down by `(5/7) µ_r g` |

use std::sync::Arc;

use esker_analysis::series::statistics;
use esker_geometry::{Pose, WallShape};
use esker_plot::{Axis, Plot, Series, number};
use esker_world::World;
use esker_world::definition::{ListedGrain, Motion, Placement, WallDef, WorldDef};
use glam::{DQuat, DVec3};

use crate::bench::{self, Start};
use crate::criterion::{Criterion, max_or_nan};
use crate::experiment::{About, Case, Experiment, Outcome, Size, Table};
use crate::results::{Results, StudyError};

/// See the module.
pub struct Verification;

const SCENE: &str = include_str!("../../../../scenes/experiments/pellet.toml");
const RADIUS: f64 = 6.5e-3;
const FRICTION: f64 = 0.91;
const ROLLING: f64 = 0.32;
const GRAVITY: f64 = 9.81;
/// Stiffness of the pellet on a plane, N/m^(3/2): `(4/3) E* √r`, equal materials.
fn stiffness() -> f64 {
    4.0 / 3.0 * 6e6 / (2.0 * (1.0 - 0.25 * 0.25)) * RADIUS.sqrt()
}

fn mass() -> f64 {
    3700.0 * 4.0 / 3.0 * std::f64::consts::PI * RADIUS.powi(3)
}

/// The ways to step that are compared, with their sweeps.
const WAYS: [(Start, usize); 3] = [
    (Start::Cold, 150),
    (Start::History, 150),
    (Start::SubStepped, 10),
];
const RESTITUTIONS: [f64; 3] = [0.18, 0.5, 0.9];
/// The finer of the two steps with which the paper drops pellets, s.
const PAPERS_FINE_STEP: f64 = 2e-4;

fn pellet(start: Start, sweeps: usize, step: f64) -> Result<WorldDef, StudyError> {
    let mut def = bench::world_of_scene(SCENE)?;
    def.step = step;
    def.method = start.method(sweeps);
    Ok(def)
}

fn place(def: &mut WorldDef, height: f64, velocity: DVec3, angular_velocity: DVec3) {
    def.packings[0].placement = Placement::Listed {
        grains: Arc::new(vec![ListedGrain {
            position: DVec3::Z * height,
            radius: RADIUS,
            velocity,
            angular_velocity,
        }]),
    };
}

/// Relative error of the overlap at rest.
fn static_overlap(start: Start, sweeps: usize, step: f64) -> Result<f64, StudyError> {
    let mut def = pellet(start, sweeps, step)?;
    let expected = (mass() * GRAVITY / stiffness()).powf(2.0 / 3.0);
    place(&mut def, RADIUS - 0.9 * expected, DVec3::ZERO, DVec3::ZERO);
    let mut world = bench::build(&def)?;
    bench::run(&mut world, 4.0, |_, _| {})?;
    Ok(((RADIUS - world.grains().position()[0].z) / expected - 1.0).abs())
}

/// Largest relative error of `f/δ^(3/2)` up to 10 % compression, between a
/// piston that moves by 0.02 mm/s and the floor.
fn piston(start: Start, sweeps: usize, step: f64) -> Result<f64, StudyError> {
    let mut def = pellet(start, sweeps, step)?;
    // Quasi-static: the piston's own motion must not matter, gravity even less.
    def.gravity = DVec3::ZERO;
    place(&mut def, RADIUS, DVec3::ZERO, DVec3::ZERO);
    let depth = 0.1 * 2.0 * RADIUS;
    let speed = 2e-5;
    let stop = 2.0 * depth / speed;
    def.walls.push(WallDef {
        motion: Motion::Translate {
            velocity: DVec3::Z * -speed,
            start: 0.0,
            stop,
        },
        ..WallDef::new(
            "piston",
            WallShape::HalfSpace,
            Pose {
                position: DVec3::Z * 2.0 * RADIUS,
                orientation: DQuat::from_rotation_x(std::f64::consts::PI),
            },
        )
    });
    let mut world = bench::build(&def)?;
    let mut errors = Vec::new();
    bench::run(&mut world, stop, |world, _| {
        let overlap = RADIUS - world.grains().position()[0].z;
        if overlap > 0.1 * depth {
            let found = world.walls()[0].load.force.length() / overlap.powf(1.5);
            errors.push((found / stiffness() - 1.0).abs());
        }
    })?;
    Ok(max_or_nan(errors))
}

/// Rebounds `√(h_b/h_d)` from drop heights up to 0.45 m.
fn rebounds(start: Start, step: f64, restitution: f64) -> Result<Vec<f64>, StudyError> {
    let mut found = Vec::new();
    for k in 1..=15 {
        // Heights that do not repeat the phase of the step.
        let drop = 0.03 * k as f64 + 1.7e-4 * (k * k) as f64 % 1e-3;
        let sweeps = if start == Start::SubStepped { 10 } else { 20 };
        let mut def = pellet(start, sweeps, step)?;
        def.pairs[0].law.restitution = restitution;
        def.contact.impact_speed = Some(0.05);
        place(&mut def, RADIUS + drop, DVec3::ZERO, DVec3::ZERO);
        let mut world = bench::build(&def)?;
        let (mut impacted, mut heights) = (false, Vec::new());
        let time = (1.0 + 2.0 * restitution) * (2.0 * drop / GRAVITY).sqrt();
        bench::run(&mut world, time, |world, _| {
            impacted |= world.grains().state()[0].velocity.z > 0.0;
            if impacted {
                heights.push(world.grains().position()[0].z - RADIUS);
            }
        })?;
        // A pellet that does not leave the plane has a rebound of zero, one
        // that never came up again has none.
        let height = max_or_nan(heights);
        found.push((if height < 0.0 { 0.0 } else { height } / drop).sqrt());
    }
    Ok(found)
}

fn tilt(def: &mut WorldDef, slope: f64) {
    let angle = slope.atan();
    def.gravity = DVec3::new(angle.sin(), 0.0, -angle.cos()) * GRAVITY;
}

/// The steepest slope `tan φ` at which the pellet is slower than 1 mm/s after
/// one second, by bisection.
fn onset(start: Start, sweeps: usize, rotates: bool, bracket: [f64; 2]) -> Result<f64, StudyError> {
    let [mut low, mut high] = bracket;
    for _ in 0..18 {
        let slope = 0.5 * (low + high);
        let mut def = pellet(start, sweeps, 5e-3)?;
        def.rotation = rotates;
        tilt(&mut def, slope);
        let rest = (mass() * GRAVITY * slope.atan().cos() / stiffness()).powf(2.0 / 3.0);
        place(&mut def, RADIUS - rest, DVec3::ZERO, DVec3::ZERO);
        let mut world = bench::build(&def)?;
        bench::run(&mut world, 1.0, |_, _| {})?;
        if world.grains().state()[0].velocity.x < 1e-3 {
            low = slope;
        } else {
            high = slope;
        }
    }
    Ok(0.5 * (low + high))
}

/// Speed-up along the slope or slow-down on the level, m/s², from 0.2 to 0.6 s.
fn acceleration(world: &mut World) -> Result<f64, StudyError> {
    bench::run(world, 0.2, |_, _| {})?;
    let before = world.grains().state()[0].velocity.x;
    bench::run(world, 0.4, |_, _| {})?;
    Ok((world.grains().state()[0].velocity.x - before) / 0.4)
}

fn slide_error(start: Start, sweeps: usize) -> Result<f64, StudyError> {
    let mut def = pellet(start, sweeps, 5e-3)?;
    def.rotation = false;
    let slope: f64 = 1.1;
    tilt(&mut def, slope);
    place(&mut def, RADIUS - 2.2e-5, DVec3::ZERO, DVec3::ZERO);
    let angle = slope.atan();
    let expected = GRAVITY * (angle.sin() - FRICTION * angle.cos());
    Ok((acceleration(&mut bench::build(&def)?)? / expected - 1.0).abs())
}

fn roll_deceleration(start: Start, sweeps: usize) -> Result<f64, StudyError> {
    let mut def = pellet(start, sweeps, 5e-3)?;
    let speed = 3.0;
    place(
        &mut def,
        RADIUS - 2.45e-5,
        DVec3::X * speed,
        DVec3::Y * speed / RADIUS,
    );
    let found = -acceleration(&mut bench::build(&def)?)?;
    Ok(found / (5.0 / 7.0 * ROLLING * GRAVITY))
}

impl Experiment for Verification {
    fn about(&self) -> About {
        About {
            name: "verification",
            paper: "Wang et al. 2015, Table 2 and Fig. 6",
            shows: "One pellet obeys the laws of elasticity, impact, friction and rolling.",
            seconds_full: 8.0,
            seconds_reduced: 2.0,
        }
    }

    fn scene(&self) -> &'static str {
        SCENE
    }

    fn cases(&self, size: Size) -> Vec<Case> {
        let mut cases = Vec::new();
        for (start, sweeps) in WAYS {
            let way = start.name();
            for step in [1e-2, 5e-3, 1e-3] {
                cases.push(Case::new(format!("overlap, {way}, h={step}"), move || {
                    static_overlap(start, sweeps, step)
                }));
            }
            cases.push(Case::new(format!("slide onset, {way}"), move || {
                onset(start, sweeps, false, [0.8, 1.0])
            }));
            cases.push(Case::new(format!("slide, {way}"), move || {
                slide_error(start, sweeps)
            }));
            cases.push(Case::new(format!("roll onset, {way}"), move || {
                onset(start, sweeps, true, [0.25, 0.4])
            }));
            cases.push(Case::new(format!("roll, {way}"), move || {
                roll_deceleration(start, sweeps)
            }));
        }
        // Squeezed between two walls a grain is Gauss–Seidel's slowest case: the
        // two rows undo one another's work but for 1 % per sweep.
        for (start, sweeps) in [(Start::Cold, 600), (Start::SubStepped, 10)] {
            cases.push(Case::new(format!("piston, {}", start.name()), move || {
                piston(start, sweeps, 5e-3)
            }));
            for step in steps(size) {
                for e in RESTITUTIONS {
                    let name = format!("rebound, {}, h={step}, e={e}", start.name());
                    cases.push(Case::new(name, move || rebounds(start, step, e)));
                }
            }
        }
        cases
    }

    fn judge(&self, size: Size, results: &Results) -> Result<Outcome, StudyError> {
        let mut outcome = Outcome::default();
        let mut table = Table::new(
            "Elementary tests",
            &[
                "test",
                "cold, 150 sweeps",
                "history 0.85, 150 sweeps",
                "sub-stepped, n = 10",
            ],
        );
        let mut row = |test: &str,
                       name: &dyn Fn(Start) -> String|
         -> Result<Vec<f64>, StudyError> {
            let values: Vec<f64> = WAYS
                .iter()
                .map(|(start, _)| results.get(&name(*start)))
                .collect::<Result<_, _>>()?;
            table
                .row(std::iter::once(test.to_string()).chain(values.iter().map(|v| number(*v, 4))));
            Ok(values)
        };
        let mut overlap = Vec::new();
        for step in [1e-2, 5e-3, 1e-3] {
            overlap.extend(row(
                &format!(
                    "relative error of the overlap at rest, h = {} ms",
                    step * 1e3
                ),
                &|s| format!("overlap, {}, h={step}", s.name()),
            )?);
        }
        let slide_onset = row("slope tan φ at which sliding starts", &|s| {
            format!("slide onset, {}", s.name())
        })?;
        let slide = row("relative error of sliding acceleration", &|s| {
            format!("slide, {}", s.name())
        })?;
        let roll_onset = row("slope tan φ at which rolling starts", &|s| {
            format!("roll onset, {}", s.name())
        })?;
        let roll = row("rolling deceleration over (5/7) µ_r g", &|s| {
            format!("roll, {}", s.name())
        })?;
        outcome.table(table);
        outcome.require(Criterion::at_most(
            "elasticity: worst relative error of the overlap at rest",
            max_or_nan(overlap),
            1e-8,
            "matches to machine precision",
        ));
        for (start, bound) in [(Start::Cold, 0.02), (Start::SubStepped, 0.02)] {
            outcome.require(Criterion::at_most(
                format!("elasticity: worst error of f/δ^(3/2), {}", start.name()),
                results.get(&format!("piston, {}", start.name()))?,
                bound,
                "at most 2 % at δ/d = 0.1, h = 5 ms",
            ));
        }
        let error = |v: &[f64], law: f64| max_or_nan(v.iter().map(|x| (x / law - 1.0).abs()));
        outcome.require(Criterion::at_most(
            "friction: worst relative error of the onset",
            error(&slide_onset, FRICTION),
            1e-3,
            "0 %",
        ));
        outcome.require(Criterion::at_most(
            "friction: worst relative error of the acceleration",
            max_or_nan(slide),
            1e-3,
            "0 %",
        ));
        outcome.require(Criterion::at_most(
            "rolling: worst relative error of the onset against tan φ = µ_r",
            error(&roll_onset, ROLLING),
            0.01,
            "0–1 % (printed with sin φ = 0.31; the law is tan φ)",
        ));
        outcome.require(Criterion::at_most(
            "rolling: worst relative error of the deceleration",
            error(&roll, 1.0),
            3e-3,
            "machine precision; here r* = r, l = r − δ/2 makes 0.8 ‰",
        ));
        self.judge_rebounds(size, results, &mut outcome)?;
        Ok(outcome)
    }
}

fn steps(size: Size) -> Vec<f64> {
    // The paper's are 5 ms and 0.2 ms.
    size.pick(
        vec![5e-3, 1e-3, PAPERS_FINE_STEP, 5e-5],
        vec![5e-3, 1e-3, PAPERS_FINE_STEP],
    )
}

impl Verification {
    fn judge_rebounds(
        &self,
        size: Size,
        results: &Results,
        outcome: &mut Outcome,
    ) -> Result<(), StudyError> {
        let mut table = Table::new(
            "Rebound √(h_b/h_d), range over 15 drop heights up to 0.45 m",
            &["way", "step (ms)", "e = 0.18", "e = 0.5", "e = 0.9"],
        );
        let mut plot = Plot::new(
            "Effective restitution, e = 0.18",
            Axis::linear("drop height (m)"),
            Axis::linear("√(h_b/h_d)"),
        );
        for start in [Start::Cold, Start::SubStepped] {
            for step in steps(size) {
                let mut cells = vec![start.name().to_string(), number(step * 1e3, 3)];
                for e in RESTITUTIONS {
                    let name = format!("rebound, {}, h={step}, e={e}", start.name());
                    let found: Vec<f64> = results.get(&name)?;
                    let s = statistics(&found);
                    cells.push(format!("{}–{}", number(s.min, 3), number(s.max, 3)));
                    judge_rebound((start, step, e), &found, outcome);
                    if e == 0.18 {
                        let points = found
                            .iter()
                            .enumerate()
                            .map(|(k, r)| [0.03 * (k + 1) as f64, *r])
                            .collect();
                        let name = format!("{}, h = {} ms", start.name(), number(step * 1e3, 3));
                        plot.series.push(Series::line(name, points).with_points());
                    }
                }
                table.row(cells);
            }
        }
        outcome.table(table);
        outcome.svg(plot.svg());
        outcome.text(
            "Sub-stepping finds the moment of impact within a substep, so that the rebound \
             errs by g h/(n v) only; a whole step treats the impact at its start.",
        );
        Ok(())
    }
}

/// Judges rebounds `√(h_b/h_d)` from all heights.
fn judge_rebound((start, step, e): (Start, f64, f64), found: &[f64], outcome: &mut Outcome) {
    let way = start.name();
    let error = max_or_nan(found.iter().map(|r| (r - e).abs()));
    let mean = statistics(found).mean;
    if start == Start::SubStepped && step <= 1e-3 {
        let step = number(step * 1e3, 3);
        outcome.require(
            Criterion::at_most(
                format!("restitution e = {e}: max error, {way}, h = {step} ms"),
                error,
                0.01,
                "error of 1 % where the step resolves the impact (Table 2)",
            )
            .because("a hundredth, whatever the restitution")
            .unless(
                [0.01, 0.03],
                "rebounds are measured by their height over the floor: a soft, strongly damped \
                 pellet parts from the floor while it is still below its surface, and the law \
                 itself, not an impact, returns the restitution where substeps resolve it",
            ),
        );
    }
    if e != 0.18 || start != Start::Cold {
        return;
    }
    let name = |step: &str| format!("restitution e = 0.18: mean, whole step, h = {step} ms");
    if step == 5e-3 {
        let paper = "0.17 ± 0.07";
        outcome.require(Criterion::within(name("5"), mean, [0.10, 0.24], paper));
    }
    if step == PAPERS_FINE_STEP {
        outcome.require(
            Criterion::within(name("0.2"), mean, [0.171, 0.179], "0.175 ± 0.004").unless(
                [0.18 - 0.004, 0.18 + 0.004],
                "the law asks for 0.18 and the paper's pellets fall short of it by 3 %: contacts \
                 that are predicted meet the plane without the overlap that its impacts leave",
            ),
        );
    }
}
