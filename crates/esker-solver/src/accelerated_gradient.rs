//! Accelerated projected gradient (Nesterov) with adaptive step and restart.
//!
//! For the associated law the impulses minimise `f = ½ λᵀWλ + qᵀλ` over the cones.
//! In `z = √d λ`, `W̃ = D^-½ W D^-½`, `q̃ = D^-½ q`:
//!
//! ```text
//! g = W̃ y + q̃
//! x⁺ = P(y − g/L), L doubled while f(x⁺) > f(y) + g·(x⁺−y) + L/2 |x⁺−y|²     (1)
//! θ⁺ = (−θ² + θ√(θ²+4))/2,  β = θ(1−θ)/(θ²+θ⁺)
//! y⁺ = x⁺ + β (x⁺ − x), or y⁺ = x⁺ and θ = 1 where g·(x⁺−x) > 0             (2)
//! ```
//!
//! `W̃ x` is stored, so `W̃ y` is a linear combination and an iteration costs one
//! product. For Coulomb's law De Saxcé's shift `s = µ|u_t|` is frozen in `q̃`,
//! renewed every [`AcceleratedGradient::shift_every`] iterations, and the momentum
//! restarted: a fixed point without proof of convergence, slow but cheap.

use crate::ContactSolver;
use crate::report::{Monitor, SolveReport, Status, Stopping};
use crate::scaling::Scaling;
use esker_contact::{ContactOperator, FrictionLaw};

/// Parameters of the method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AcceleratedGradient {
    /// Iterations between two updates of De Saxcé's shift (Coulomb only).
    pub shift_every: usize,
    /// Iterations between two measurements of the residual.
    pub check_every: usize,
    /// Factor on `L` after every iteration, so that steps can grow again.
    pub relax_step: f64,
}

impl Default for AcceleratedGradient {
    fn default() -> Self {
        AcceleratedGradient {
            shift_every: 20,
            check_every: 5,
            relax_step: 0.9,
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

impl ContactSolver for AcceleratedGradient {
    fn name(&self) -> &'static str {
        "accelerated-gradient"
    }

    fn solve(
        &self,
        problem: &dyn ContactOperator,
        lambda: &mut [f64],
        stop: &Stopping,
    ) -> SolveReport {
        let mut monitor = match Monitor::begin(self.name(), problem, lambda, stop) {
            Ok(monitor) => monitor,
            Err(report) => return *report,
        };
        let scaling = Scaling::new(problem);
        let block = problem.block();
        let n = lambda.len();
        // All vectors are kept in λ and u; the metric D enters products of the two.
        let d: Vec<f64> = scaling.roots(block).iter().map(|r| r * r).collect();
        let weighted = |a: &[f64], b: &[f64]| -> f64 {
            a.iter().zip(b).zip(&d).map(|((x, y), d)| x * y * d).sum()
        };
        let mut x = lambda.to_vec();
        let mut u_x = vec![0.0; n];
        monitor.velocity(&x, &mut u_x);
        let mut shift = vec![0.0; n];
        let refresh_shift = |u: &[f64], shift: &mut [f64]| {
            if stop.law == FrictionLaw::Coulomb {
                for (contact, rows) in u.chunks_exact(block).enumerate() {
                    shift[contact * block] = problem.limits(contact).de_saxce_shift(rows);
                }
            }
        };
        refresh_shift(&u_x, &mut shift);
        let (mut y, mut u_y) = (x.clone(), u_x.clone());
        let (mut next, mut u_next) = (x.clone(), u_x.clone());
        let mut gradient = vec![0.0; n];
        let mut step = vec![0.0; n];
        let (mut theta, mut l) = (1.0_f64, 1.0_f64);
        let status = loop {
            for i in 0..n {
                gradient[i] = u_y[i] + shift[i];
            }
            loop {
                next.copy_from_slice(&y);
                scaling.step_and_project(problem, &mut next, &gradient, 1.0 / l);
                monitor.velocity(&next, &mut u_next);
                for i in 0..n {
                    step[i] = next[i] - y[i];
                }
                // f(x⁺) − f(y) − g·(x⁺−y) is half the curvature along the step.
                let curvature: f64 = (0..n).map(|i| step[i] * (u_next[i] - u_y[i])).sum();
                let allowed = l * weighted(&step, &step);
                if curvature <= allowed * (1.0 + 1e-12) || !(allowed > 0.0) || l > 1e12 {
                    break;
                }
                l *= 2.0;
                if monitor.out_of_time() {
                    break;
                }
            }
            for i in 0..n {
                step[i] = next[i] - x[i];
            }
            let turned = dot(&gradient, &step) > 0.0;
            let theta_next = 0.5 * (-theta * theta + theta * (theta * theta + 4.0).sqrt());
            let beta = theta * (1.0 - theta) / (theta * theta + theta_next);
            monitor.count_iterations(1);
            let iteration = monitor.iterations();
            let new_shift =
                stop.law == FrictionLaw::Coulomb && iteration % self.shift_every.max(1) == 0;
            if turned || new_shift {
                theta = 1.0;
                y.copy_from_slice(&next);
                u_y.copy_from_slice(&u_next);
            } else {
                theta = theta_next;
                for i in 0..n {
                    y[i] = next[i] + beta * (next[i] - x[i]);
                    u_y[i] = u_next[i] + beta * (u_next[i] - u_x[i]);
                }
            }
            std::mem::swap(&mut x, &mut next);
            std::mem::swap(&mut u_x, &mut u_next);
            if new_shift {
                refresh_shift(&u_x, &mut shift);
            }
            l *= self.relax_step;
            if iteration % self.check_every.max(1) == 0 {
                if let Some(status) = monitor.observe_with(&x, &u_x) {
                    break status;
                }
            } else if iteration >= stop.iterations {
                break Status::IterationLimit;
            }
        };
        monitor.finish(status, lambda)
    }
}
