//! Problems that several test files share.

use esker_contact::{
    AssembledProblem, BodyState, ConeLimits, Contact, ContactProblem, SparseMatrix,
};
use esker_solver::random;
use glam::DVec3;

/// Units of mass (kg), length (m) and time (s) in which a problem is written.
#[derive(Clone, Copy)]
pub struct Units {
    pub mass: f64,
    pub length: f64,
    pub time: f64,
}

pub const SI: Units = Units {
    mass: 1.0,
    length: 1.0,
    time: 1.0,
};

/// A heap of spheres on a floor: every sphere touches two or three bodies below it
/// in random directions, and all fall.
pub fn heap(spheres: usize, rolling: bool, key: u64, units: Units) -> ContactProblem {
    let mut state = key;
    let mut draw = |low: f64, high: f64| low + (high - low) * random::unit(&mut state);
    let speed = units.length / units.time;
    let mut problem = ContactProblem {
        bodies: vec![BodyState::default()],
        ..Default::default()
    };
    for index in 1..=spheres {
        let radius = draw(0.4, 0.8) * units.length;
        let mass = draw(0.5, 3.0) * units.mass;
        let velocity = DVec3::new(draw(-1.0, 1.0), draw(-1.0, 1.0), draw(-2.0, -0.5)) * speed;
        problem.bodies.push(BodyState {
            velocity,
            inverse_mass: 1.0 / mass,
            angular_velocity: DVec3::new(draw(-1.0, 1.0), draw(-1.0, 1.0), draw(-1.0, 1.0))
                / units.time,
            inverse_inertia: 2.5 / (mass * radius * radius),
        });
        for touch in 0..2 + index % 2 {
            let below = if touch == 0 && index > 3 {
                index - 1
            } else {
                (draw(0.0, 1.0) * index as f64) as usize
            };
            let sideways = DVec3::new(draw(-0.8, 0.8), draw(-0.8, 0.8), 1.0);
            problem.contacts.push(Contact {
                bodies: [below as u32, index as u32],
                normal: sideways.normalize(),
                arms: [radius, radius],
                form: esker_contact::Form::Radial,
                friction: draw(0.2, 0.7),
                rolling: if rolling {
                    draw(0.02, 0.1) * units.length
                } else {
                    0.0
                },
                twisting: if rolling {
                    draw(0.01, 0.05) * units.length
                } else {
                    0.0
                },
                compliance: 0.01 / units.mass,
                target: 0.0,
            });
        }
    }
    problem.tangent_compliance = 1e-4;
    problem.rolling_compliance = 1e-4;
    problem
}

/// A dense positive definite problem with random blocks.
pub fn dense(contacts: usize, block: usize, key: u64) -> AssembledProblem {
    let n = contacts * block;
    let mut state = key;
    let mut draw = || 2.0 * random::unit(&mut state) - 1.0;
    let g: Vec<f64> = (0..n * n).map(|_| draw()).collect();
    let mut triplets = Vec::new();
    for i in 0..n {
        for j in 0..n {
            let product: f64 = (0..n).map(|k| g[i * n + k] * g[j * n + k]).sum();
            let ridge = if i == j { 0.5 } else { 0.0 };
            triplets.push((i, j, product / n as f64 + ridge));
        }
    }
    let offset = (0..n)
        .map(|i| draw() - if i % block == 0 { 0.5 } else { 0.0 })
        .collect();
    let limits = (0..contacts)
        .map(|_| ConeLimits {
            friction: 0.4 + 0.3 * draw(),
            rolling: 0.1,
            twisting: 0.05,
        })
        .collect();
    AssembledProblem::from_sparse(
        block,
        &SparseMatrix::from_triplets(n, n, &triplets),
        offset,
        limits,
    )
    .expect("sizes fit")
}
