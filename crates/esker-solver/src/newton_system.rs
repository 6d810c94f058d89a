//! The linear system of one semismooth Newton step on the contact equations
//! `F(λ, u) = 0`, `u = (W + Σ_p) λ + q`, with `dF = A du + B dλ` per contact and
//! a diagonal addition `Σ_p` from the proximal term:
//!
//! ```text
//! contact space   (A (W + Σ_p) + B) dλ = −F                                  (1)
//! body space      C = A Σ' + B,  H = C⁻¹ A,  Σ' = Σ + Σ_p
//!                 (M + Gᵀ H G) dw = −Gᵀ C⁻¹ F,   dλ = −C⁻¹ F − H G dw        (2)
//! ```
//!
//! (1) is solved by LU over the contacts that are not open. (2) has one row per
//! degree of freedom, however many contacts there are; it is unsymmetric where
//! contacts slide, and solved by GMRES with the Cholesky factors of its symmetric
//! relative (no coupling from normal velocity to friction) as preconditioner. It
//! needs `Σ' > 0`.

use crate::linear::{BodyMatrix, Factor, Gmres, apply_blocks, apply_body_matrix};
use crate::local::solve_small;
use crate::nonsmooth_map::MapDerivatives;
use esker_contact::cone::MAX_BLOCK;
use esker_contact::{AssembledProblem, BodySpace, ContactOperator};

/// Solves Newton systems of one problem.
pub enum NewtonSystem {
    /// (1).
    Contacts(ContactSystem),
    /// (2).
    Bodies(Box<BodySystem>),
}

impl NewtonSystem {
    /// The form that suits the problem: body space where there are bodies and
    /// the contacts outnumber them.
    pub fn new(problem: &dyn ContactOperator) -> Self {
        if let Some(space) = problem.body_space()
            && problem.rows() > 150
            && space.mass.len() < 2 * problem.rows()
            && let Some(matrix) = BodyMatrix::new(&space)
        {
            return NewtonSystem::Bodies(Box::new(BodySystem {
                space,
                matrix,
                iterations: 0,
            }));
        }
        NewtonSystem::Contacts(ContactSystem {
            problem: problem.assemble(),
        })
    }

    /// Iterations of the inner linear solver so far; zero where it is direct.
    pub fn iterations(&self) -> usize {
        match self {
            NewtonSystem::Contacts(_) => 0,
            NewtonSystem::Bodies(system) => system.iterations,
        }
    }

    /// The step for given `F` and derivatives; `extra` is the diagonal of `Σ_p`.
    /// `None` when the system cannot be solved.
    pub fn step(
        &mut self,
        derivatives: &[MapDerivatives],
        extra: &[f64],
        f: &[f64],
    ) -> Option<Vec<f64>> {
        match self {
            NewtonSystem::Contacts(system) => system.step(derivatives, extra, f),
            NewtonSystem::Bodies(system) => system.step(derivatives, extra, f),
        }
    }
}

/// System (1).
pub struct ContactSystem {
    problem: AssembledProblem,
}

impl ContactSystem {
    fn step(&self, derivatives: &[MapDerivatives], extra: &[f64], f: &[f64]) -> Option<Vec<f64>> {
        let b = self.problem.block;
        let mut place = vec![usize::MAX; derivatives.len()];
        let mut size = 0;
        for (contact, d) in derivatives.iter().enumerate() {
            if !d.open {
                place[contact] = size;
                size += b;
            }
        }
        let mut dx: Vec<f64> = f.iter().map(|v| -v).collect();
        if size == 0 {
            return Some(dx);
        }
        let mut triplets = Vec::with_capacity(size * b * 8);
        let mut rhs = vec![0.0; size];
        for (contact, d) in derivatives.iter().enumerate().filter(|(_, d)| !d.open) {
            let first = place[contact];
            let a = &d.velocity[..b * b];
            for i in 0..b {
                rhs[first + i] = -f[contact * b + i];
            }
            for (other, w) in self.problem.row(contact) {
                for i in 0..b {
                    for j in 0..b {
                        let mut value: f64 = (0..b).map(|k| a[i * b + k] * w[k * b + j]).sum();
                        if other == contact {
                            value += a[i * b + j] * extra[contact * b + j] + d.impulse[i * b + j];
                        }
                        if place[other] == usize::MAX {
                            rhs[first + i] -= value * dx[other * b + j];
                        } else if value != 0.0 {
                            triplets.push((first + i, place[other] + j, value));
                        }
                    }
                }
            }
        }
        if !Factor::new(size, &triplets)?.solve(&mut rhs) {
            return None;
        }
        for (contact, &first) in place.iter().enumerate() {
            if first != usize::MAX {
                dx[contact * b..(contact + 1) * b].copy_from_slice(&rhs[first..first + b]);
            }
        }
        Some(dx)
    }
}

/// System (2).
pub struct BodySystem {
    space: BodySpace,
    matrix: BodyMatrix,
    iterations: usize,
}

impl BodySystem {
    fn step(
        &mut self,
        derivatives: &[MapDerivatives],
        extra: &[f64],
        f: &[f64],
    ) -> Option<Vec<f64>> {
        let b = self.space.block;
        let rows = f.len();
        let dofs = self.space.mass.len();
        let mut h = vec![0.0; derivatives.len() * b * b];
        // C⁻¹ F per contact.
        let mut base = vec![0.0; rows];
        self.matrix.begin(&self.space.mass);
        for (contact, d) in derivatives.iter().enumerate() {
            let at = contact * b;
            base[at..at + b].copy_from_slice(&f[at..at + b]);
            if d.open {
                continue;
            }
            let mut c = [0.0; MAX_BLOCK * MAX_BLOCK];
            for i in 0..b {
                for j in 0..b {
                    let sigma = self.space.compliance[at + j] + extra[at + j];
                    c[i * b + j] = d.velocity[i * b + j] * sigma + d.impulse[i * b + j];
                }
            }
            let mut column = [0.0; MAX_BLOCK];
            for j in 0..=b {
                let mut system = c;
                for i in 0..b {
                    column[i] = if j < b {
                        d.velocity[i * b + j]
                    } else {
                        f[at + i]
                    };
                }
                if !solve_small(&mut system[..b * b], &mut column[..b]) {
                    return None;
                }
                for i in 0..b {
                    if j < b {
                        h[(at + i) * b + j] = column[i];
                    } else {
                        base[at + i] = column[i];
                    }
                }
            }
            let mut symmetric = [0.0; MAX_BLOCK * MAX_BLOCK];
            let own = &h[at * b..(at + b) * b];
            for i in 0..b {
                for j in 0..b {
                    let (here, there) = (own[i * b + j], own[j * b + i]);
                    let crossing = (i == 0) != (j == 0);
                    symmetric[i * b + j] = if !crossing {
                        0.5 * (here + there)
                    } else if here * there > 0.0 {
                        // What couples in both directions, and no rounding error
                        // of a zero, stays.
                        here.signum() * here.abs().min(there.abs())
                    } else {
                        0.0
                    };
                }
            }
            self.matrix.add(&self.space, contact, &symmetric[..b * b]);
        }
        if !self.matrix.factorise() {
            return None;
        }
        let mut rhs = vec![0.0; dofs];
        self.space.scatter_add(&base, &mut rhs);
        rhs.iter_mut().for_each(|v| *v = -*v);
        let gmres = Gmres {
            limit: 150,
            tolerance: 1e-6,
        };
        let (space, matrix) = (&self.space, &self.matrix);
        let mut u = vec![0.0; rows];
        let (dw, iterations) = gmres.solve(
            &rhs,
            |x, out| apply_body_matrix(space, &h, x, &mut u, out),
            |v| matrix.solve(v),
        );
        self.iterations += iterations;
        space.gather(&dw, &mut u);
        apply_blocks(b, &h, &mut u);
        let dx: Vec<f64> = base.iter().zip(&u).map(|(b, h)| -b - h).collect();
        dx.iter().all(|v| v.is_finite()).then_some(dx)
    }
}
