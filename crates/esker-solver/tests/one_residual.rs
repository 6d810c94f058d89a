//! "Converged" has one meaning: what a run reports as its residual is the
//! scaled measure by which the general solvers are judged.

use esker_contact::{
    BodyOperator, BodyState, Contact, ContactProblem, FrictionLaw, Impulse, residuals,
};
use esker_solver::sweep::{GaussSeidel, Stop, residual};
use glam::DVec3;

/// A row of spheres on a floor that push one another sideways.
fn row_of_spheres() -> ContactProblem {
    let count = 6_u32;
    let mut bodies: Vec<BodyState> = (0..count)
        .map(|i| BodyState {
            velocity: DVec3::new(0.5 - 0.2 * f64::from(i), 0.1, -0.3 + 0.05 * f64::from(i)),
            inverse_mass: 1.0 + 0.5 * f64::from(i % 3),
            angular_velocity: DVec3::new(0.2, -0.1 * f64::from(i), 0.3),
            inverse_inertia: 250.0,
        })
        .collect();
    let contact = |bodies: [u32; 2], normal: DVec3, target: f64| Contact {
        bodies,
        normal,
        arms: [0.1, 0.1],
        form: esker_contact::Form::Radial,
        friction: 0.4,
        rolling: 0.0,
        twisting: 0.0,
        compliance: 0.02,
        target,
    };
    let mut contacts = Vec::new();
    for i in 0..count {
        bodies.push(BodyState::default());
        contacts.push(contact([i, count + i], -DVec3::Z, 0.01 * f64::from(i)));
        if i > 0 {
            let tilted = DVec3::new(1.0, 0.0, 0.1).normalize();
            contacts.push(contact([i - 1, i], tilted, -0.02));
        }
    }
    ContactProblem {
        bodies,
        contacts,
        tangent_compliance: 1e-3,
        rolling_compliance: 1e-3,
        ..Default::default()
    }
}

#[test]
fn the_residual_of_runs_is_the_scaled_measure_of_solvers() {
    let problem = row_of_spheres();
    let operator = BodyOperator::new(&problem).expect("a sound problem");
    for sweeps in [0, 1, 3, 10, 100] {
        let mut impulses = vec![Impulse::default(); problem.contacts.len()];
        let mut bodies = Vec::new();
        let stop = Stop {
            min_sweeps: 0,
            sweeps,
            tolerance: None,
        };
        GaussSeidel::default().solve(&problem, &mut impulses, &mut bodies, stop);
        let of_runs = residual(&problem, &impulses, &bodies);
        let lambda = operator.to_local(&impulses);
        let of_solvers = residuals(&operator, &lambda, FrictionLaw::Coulomb).scaled;
        assert!(
            (of_runs - of_solvers).abs() <= 1e-9 * of_solvers + 1e-13,
            "after {sweeps} sweeps: {of_runs} and {of_solvers}"
        );
    }
}
