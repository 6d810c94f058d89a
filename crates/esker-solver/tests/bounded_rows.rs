//! Rows with bounds and limits of joints, solved by every general solver.

use esker_contact::{
    BodySpace, ConeLimits, ContactOperator, FactoredOperator, FrictionLaw, Measure,
};
use esker_solver::{Stopping, registry, solve_by_name};

const GRAVITY: f64 = 9.81;
const MASS: f64 = 10.0;
const FRICTION: f64 = 0.4;
const STEP: f64 = 0.01;

/// A block on a floor: degrees of freedom x and z, one contact.
fn block_on_floor() -> FactoredOperator {
    let mut space = BodySpace::new(3, vec![MASS, MASS]);
    // Rows n, t1, t2 over (x, z).
    let rows = [0.0, 1.0, 1.0, 0.0, 0.0, 0.0];
    space.push(&[0, 1], &rows, &[0.0, 0.0, 1.0 / MASS]);
    let limits = ConeLimits {
        friction: FRICTION,
        ..ConeLimits::default()
    };
    let offset = vec![-GRAVITY * STEP, 0.0, 0.0];
    FactoredOperator::new(space, offset, vec![limits]).expect("sizes fit")
}

/// Velocities x and z after the step by every solver of the registry.
fn for_each_solver(problem: &FactoredOperator, check: impl Fn(&str, &[f64], &[f64])) {
    let stopping = Stopping {
        law: FrictionLaw::Coulomb,
        measure: Measure::Scaled,
        tolerance: 1e-9,
        iterations: 20_000,
        seconds: None,
    };
    for entry in registry() {
        let mut lambda = vec![0.0; problem.rows()];
        solve_by_name(entry.name, problem, &mut lambda, &stopping).expect("a known name");
        check(entry.name, &problem.velocities(&lambda), &lambda);
    }
}

/// A motor of limited force pushes the block against friction: it holds, or it slides as the
/// difference of the forces says, or it reaches the motor's velocity.
#[test]
fn a_motor_with_a_force_limit_pushes_a_block() {
    let held = FRICTION * MASS * GRAVITY;
    for (force, set, expected) in [
        (30.0, 0.5, (0.0, 30.0)),
        (60.0, 0.5, ((60.0 - held) / MASS * STEP, 60.0)),
        (60.0, 0.01, (0.01, held + MASS * 0.01 / STEP)),
        (60.0, -0.5, (-(60.0 - held) / MASS * STEP, -60.0)),
    ] {
        let mut problem = block_on_floor();
        problem.push_bounded(&[0], &[1.0], (-set, 0.0), force * STEP);
        for_each_solver(&problem, |name, v, lambda| {
            assert!((v[0] - expected.0).abs() < 1e-6, "{name} {force}: {v:?}");
            let motor = lambda[4] / STEP;
            assert!((motor - expected.1).abs() < 1e-3, "{name} {force}: {motor}");
        });
    }
}

/// A stop takes the block's velocity, and does not hold it back.
#[test]
fn a_limit_pushes_and_does_not_pull() {
    for (start, expected) in [(-1.0, 0.0), (1.0, 1.0)] {
        let space = BodySpace::new(3, vec![MASS, MASS]);
        let mut problem = FactoredOperator::new(space, Vec::new(), Vec::new()).expect("sizes fit");
        problem.push_unilateral(&[0], &[1.0], (start, 0.0));
        for_each_solver(&problem, |name, v, _| {
            let v = start + v[0];
            assert!((v - expected).abs() < 1e-7, "{name} {start}: {v}");
        });
    }
}
