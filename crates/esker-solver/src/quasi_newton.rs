//! Projected quasi-Newton: the smoothed contact equations, solved inexactly by GMRES
//! and projected back into the cones.
//!
//! With the equations `F(λ, u) = 0` of [`crate::smoothed_polar`] (with rolling rows: the
//! rounded ones of [`crate::nonsmooth_map`]), smoothed over a width `w`, their derivatives `A = ∂F/∂u`, `B = ∂F/∂λ`, and a shift `δ`:
//!
//! ```text
//! λ ← P_K[ λ − GMRES_m,ε (A W + B + δ)⁻¹ F ]                                (1)
//! ```
//!
//! preconditioned by the 3 × 3 diagonal blocks. The inner solve must stay rough
//! (`ε = 0.25`): accurate steps of the smoothed equations diverge. `ρ = 1/d` inside `F` is
//! needed because it adds impulses and velocities. Where the steps no longer reduce
//! the residual, sweeps of Gauss–Seidel take over for a while.
//!
//! Only products with `W` are used: the method works without any factorisation.

use crate::ContactSolver;
use crate::gauss_seidel::{GaussSeidel, Sweeps};
use crate::linear::Gmres;
use crate::local::solve_small;
use crate::nonsmooth_map::{ContactMap, MapDerivatives, MapKind};
use crate::report::{Monitor, SolveReport, Stopping};
use crate::scaling::Scaling;
use esker_contact::cone::MAX_BLOCK;
use esker_contact::{ContactOperator, FrictionLaw};

/// Parameters of the method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuasiNewton {
    /// Width `w` of the smoothing relative to the root mean square of `q/d`
    /// over normal and friction rows.
    pub width: f64,
    /// Shift `δ`, relative to the scaled equations (dimensionless).
    pub shift: f64,
    /// `ε`: relative residual at which GMRES stops.
    pub inner_tolerance: f64,
    /// `m`: most iterations of GMRES.
    pub inner_limit: usize,
    /// Steps without progress after which sweeps take over.
    pub idle_limit: usize,
    /// Sweeps of each such fall-back.
    pub sweeps: usize,
}

impl Default for QuasiNewton {
    fn default() -> Self {
        QuasiNewton {
            width: 1e-6,
            shift: 0.01,
            inner_tolerance: 0.25,
            inner_limit: 10,
            idle_limit: 10,
            sweeps: 50,
        }
    }
}

impl ContactSolver for QuasiNewton {
    fn name(&self) -> &'static str {
        "quasi-newton"
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
        let b = problem.block();
        let n = lambda.len();
        let mobilities = esker_contact::mobilities(problem);
        // Rows of impulses only: those of torque impulses have another unit.
        let impulses: Vec<f64> = problem
            .offset()
            .iter()
            .enumerate()
            .filter(|(i, _)| i % b < 3)
            .map(|(i, q)| q / mobilities[i / b].row(i % b))
            .collect();
        let squares = impulses.iter().map(|p| p * p).sum::<f64>();
        let typical = (squares / impulses.len() as f64).sqrt();
        let maps: Vec<ContactMap> = mobilities
            .iter()
            .enumerate()
            .map(|(c, d)| ContactMap {
                kind: match stop.law {
                    law if b <= 3 => MapKind::SmoothedPolar {
                        law,
                        width: self.width * typical,
                    },
                    FrictionLaw::Coulomb => MapKind::Smoothed {
                        width: self.width * typical,
                    },
                    FrictionLaw::Associated => MapKind::NaturalMap(FrictionLaw::Associated),
                },
                limits: problem.limits(c),
                normal_scale: 1.0 / d.sliding,
                tangent_scale: 1.0 / d.sliding,
                rolling_scale: 1.0 / d.rolling,
            })
            .collect();
        let mut blocks = vec![0.0; problem.contacts() * b * b];
        for (c, block) in blocks.chunks_exact_mut(b * b).enumerate() {
            problem.diagonal_block(c, block);
        }
        let scaling = Scaling::new(problem);
        let roots = scaling.roots(b);
        let gmres = Gmres {
            limit: self.inner_limit,
            tolerance: self.inner_tolerance,
        };
        let mut sweeps = Sweeps::new(problem, stop.law, GaussSeidel::as_part(), lambda);
        let mut x = lambda.to_vec();
        let mut u = vec![0.0; n];
        let mut f = vec![0.0; n];
        let mut derivatives = vec![MapDerivatives::default(); problem.contacts()];
        let (mut idle, mut fallbacks) = (0, 0);
        let status = loop {
            monitor.velocity(&x, &mut u);
            for (c, d) in derivatives.iter_mut().enumerate() {
                let rows = c * b..(c + 1) * b;
                maps[c].evaluate(&x[rows.clone()], &u[rows.clone()], &mut f[rows], Some(d));
            }
            let (step, products) = self.step(problem, &gmres, &derivatives, &blocks, &f, &roots);
            monitor.count_products(products);
            for (x, step) in x.iter_mut().zip(&step) {
                *x -= step;
            }
            scaling.project(problem, &mut x);
            monitor.count_iterations(1);
            let before = monitor.best_residual();
            let verdict = if x.iter().all(|v| v.is_finite()) {
                monitor.observe(&x)
            } else {
                x.copy_from_slice(monitor.best());
                monitor.observe(&x)
            };
            if let Some(status) = verdict {
                break status;
            }
            idle = if monitor.best_residual() < 0.99 * before {
                0
            } else {
                idle + 1
            };
            if idle >= self.idle_limit {
                fallbacks += 1;
                sweeps.reset(monitor.best());
                (0..self.sweeps).for_each(|_| sweeps.sweep());
                monitor.count_products(self.sweeps);
                x.copy_from_slice(sweeps.lambda());
                idle = 0;
                if let Some(status) = monitor.observe(&x) {
                    break status;
                }
            }
        };
        if fallbacks > 0 {
            monitor.note(format!(
                "{fallbacks} times {} sweeps where steps stalled",
                self.sweeps
            ));
        }
        monitor.finish(status, lambda)
    }
}

impl QuasiNewton {
    /// `(A W + B + δ)⁻¹ F`, roughly, and the products it took. GMRES works in
    /// `√d λ`, where rows of impulses and of couples have one unit.
    fn step(
        &self,
        problem: &dyn ContactOperator,
        gmres: &Gmres,
        derivatives: &[MapDerivatives],
        blocks: &[f64],
        f: &[f64],
        roots: &[f64],
    ) -> (Vec<f64>, usize) {
        let b = problem.block();
        let mut wx = vec![0.0; f.len()];
        let mut plain = vec![0.0; f.len()];
        let scaled: Vec<f64> = f.iter().zip(roots).map(|(f, r)| f * r).collect();
        let (mut step, products) = gmres.solve(
            &scaled,
            |v, out| {
                for ((p, v), r) in plain.iter_mut().zip(v).zip(roots) {
                    *p = v / r;
                }
                let v = &plain;
                problem.product(v, &mut wx);
                for (c, d) in derivatives.iter().enumerate() {
                    for i in 0..b {
                        let row = c * b + i;
                        out[row] = self.shift * v[row];
                        for j in 0..b {
                            out[row] += d.velocity[i * b + j] * wx[c * b + j]
                                + d.impulse[i * b + j] * v[c * b + j];
                        }
                        out[row] *= roots[row];
                    }
                }
            },
            |v| {
                for (c, d) in derivatives.iter().enumerate() {
                    let w = &blocks[c * b * b..(c + 1) * b * b];
                    let mut system = [0.0; MAX_BLOCK * MAX_BLOCK];
                    for i in 0..b {
                        for j in 0..b {
                            system[i * b + j] = d.impulse[i * b + j]
                                + (0..b)
                                    .map(|k| d.velocity[i * b + k] * w[k * b + j])
                                    .sum::<f64>();
                        }
                        system[i * b + i] += self.shift;
                    }
                    let mut rows = [0.0; MAX_BLOCK];
                    for i in 0..b {
                        rows[i] = v[c * b + i] / roots[c * b + i];
                    }
                    // A singular block keeps its rows as they are.
                    if solve_small(&mut system[..b * b], &mut rows[..b]) {
                        for i in 0..b {
                            v[c * b + i] = rows[i] * roots[c * b + i];
                        }
                    }
                }
            },
        );
        for (step, r) in step.iter_mut().zip(roots) {
            *step /= r;
        }
        (step, products)
    }
}
