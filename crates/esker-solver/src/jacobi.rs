//! Projected Jacobi: all contacts at once, each damped.
//!
//! ```text
//! λ_a ← P_K(λ_a − (ω/d_a) (u_a + s_a e_n)),   d_a = trace(W_aa)/rows      (1)
//! ```
//!
//! with De Saxcé's shift `s` for Coulomb's law and none for the associated one. An
//! isotropic `d_a` is required for the projection to be the right one. It converges
//! for `ω < 2/λ_max(D⁻¹W)`: about 0.36 for packings of spheres. The slowest method
//! here, kept as the baseline that published comparisons use.

use crate::ContactSolver;
use crate::report::{Monitor, SolveReport, Status, Stopping};
use crate::scaling::Scaling;
use esker_contact::{ContactOperator, FrictionLaw};

/// Parameters of the method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jacobi {
    /// Largest `ω`; it is lowered where an estimate of `λ_max` asks for it.
    pub relaxation: f64,
    /// Iterations between two measurements of the residual.
    pub check_every: usize,
}

impl Default for Jacobi {
    fn default() -> Self {
        Jacobi {
            relaxation: 0.3,
            check_every: 10,
        }
    }
}

impl ContactSolver for Jacobi {
    fn name(&self) -> &'static str {
        "jacobi"
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
        // The power iteration underestimates: 1.7 instead of 2 keeps a margin.
        let largest = scaling.largest_eigenvalue(problem, 15);
        monitor.count_products(15);
        let omega = self.relaxation.min(1.7 / largest.max(f64::MIN_POSITIVE));
        if omega < self.relaxation {
            monitor.note(format!("relaxation lowered to {omega:.3}"));
        }
        let mut x = lambda.to_vec();
        let mut u = vec![0.0; x.len()];
        let status = loop {
            monitor.velocity(&x, &mut u);
            if monitor.iterations() % self.check_every.max(1) == 0 && monitor.iterations() > 0 {
                if let Some(status) = monitor.observe_with(&x, &u) {
                    break status;
                }
            } else if monitor.iterations() >= stop.iterations {
                break Status::IterationLimit;
            }
            if stop.law == FrictionLaw::Coulomb {
                scaling.add_shift(problem, &mut u);
            }
            scaling.step_and_project(problem, &mut x, &u, omega);
            monitor.count_iterations(1);
        };
        monitor.finish(status, lambda)
    }
}
