//! Anderson-accelerated Gauss–Seidel: sweeps in blocks, extrapolated.
//!
//! With `T` a block of sweeps, `x = D^½ λ` and `f = T(x) − x`, the next iterate
//! combines the last `m` blocks (type II):
//!
//! ```text
//! c = argmin |f_k − Σ c_j (f_k − f_j)|,   x⁺ = T(x_k) − Σ c_j (T(x_k) − T(x_j))    (1)
//! ```
//!
//! projected into the cone. It is taken only where its residual is below twice that
//! of `T(x_k)`, so the method is never much worse than plain sweeps; every third
//! refusal clears the memory. No matrices are formed: memory is `2m` vectors.

use crate::ContactSolver;
use crate::gauss_seidel::{GaussSeidel, Sweeps};
use crate::linear::dot;
use crate::local::solve_small;
use crate::report::{Monitor, SolveReport, Stopping};
use crate::scaling::Scaling;
use esker_contact::ContactOperator;

/// Parameters of the method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Anderson {
    /// Sweeps per block.
    pub sweeps: usize,
    /// Blocks remembered.
    pub memory: usize,
    /// The sweeps.
    pub sweep: GaussSeidel,
}

impl Default for Anderson {
    fn default() -> Self {
        Anderson {
            sweeps: 20,
            memory: 10,
            sweep: GaussSeidel::default(),
        }
    }
}

impl ContactSolver for Anderson {
    fn name(&self) -> &'static str {
        "anderson"
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
        let block = problem.block();
        let scaling = Scaling::new(problem);
        let roots = scaling.roots(block);
        let mut sweeps = Sweeps::new(problem, stop.law, self.sweep, lambda);
        let mut x = lambda.to_vec();
        let mut memory: Vec<(Vec<f64>, Vec<f64>)> = Vec::new();
        let mut refusals = 0;
        let status = loop {
            sweeps.reset(&x);
            (0..self.sweeps.max(1)).for_each(|_| sweeps.sweep());
            monitor.count_iterations(self.sweeps.max(1));
            monitor.count_products(self.sweeps.max(1));
            let mapped = sweeps.lambda().to_vec();
            if let Some(status) = monitor.observe(&mapped) {
                break status;
            }
            let plain = monitor.last_residual();
            let f: Vec<f64> = (0..x.len())
                .map(|i| roots[i] * (mapped[i] - x[i]))
                .collect();
            let candidate = extrapolate(&memory, &mapped, &f).map(|mut next| {
                scaling.project(problem, &mut next);
                next
            });
            memory.push((mapped.clone(), f));
            if memory.len() > self.memory {
                memory.remove(0);
            }
            x = mapped;
            let Some(next) = candidate else { continue };
            if let Some(status) = monitor.observe(&next)
                && monitor.last_residual().is_finite()
            {
                break status;
            }
            if monitor.last_residual() < 2.0 * plain {
                x = next;
            } else {
                refusals += 1;
                if refusals % 3 == 0 {
                    memory.clear();
                }
            }
        };
        monitor.finish(status, lambda)
    }
}

/// `x⁺` of (1), or nothing where the memory is empty or its system is singular.
pub(crate) fn extrapolate(
    memory: &[(Vec<f64>, Vec<f64>)],
    mapped: &[f64],
    f: &[f64],
) -> Option<Vec<f64>> {
    if memory.is_empty() {
        return None;
    }
    let differences: Vec<Vec<f64>> = memory
        .iter()
        .map(|(_, g)| f.iter().zip(g).map(|(f, g)| f - g).collect())
        .collect();
    let m = memory.len();
    let mut normal = vec![0.0; m * m];
    let mut weights = vec![0.0; m];
    for i in 0..m {
        for j in 0..m {
            normal[i * m + j] = dot(&differences[i], &differences[j]);
        }
        weights[i] = dot(&differences[i], f);
    }
    let largest = (0..m).map(|i| normal[i * m + i]).fold(0.0, f64::max);
    (0..m).for_each(|i| normal[i * m + i] += 1e-10 * largest);
    if !solve_small(&mut normal, &mut weights) {
        return None;
    }
    let mut next = mapped.to_vec();
    for (weight, (other, _)) in weights.iter().zip(memory) {
        for ((next, now), other) in next.iter_mut().zip(mapped).zip(other) {
            *next -= weight * (now - other);
        }
    }
    next.iter().all(|v| v.is_finite()).then_some(next)
}
