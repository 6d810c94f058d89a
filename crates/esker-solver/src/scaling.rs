//! Row scales and projections that first-order methods share.
//!
//! In `z = √d λ` with one `d` per contact (and one for its rolling rows) the
//! scaled operator `D^-½ W D^-½` has diagonal blocks of mean one, and the cone
//! keeps its shape up to stretched rolling limits.

use crate::random;
use esker_contact::{ContactOperator, Mobility, mobilities};

/// Isotropic scales of all contacts.
pub struct Scaling {
    mobilities: Vec<Mobility>,
}

impl Scaling {
    /// The scales of a problem.
    pub fn new(problem: &dyn ContactOperator) -> Self {
        Scaling {
            mobilities: mobilities(problem),
        }
    }

    /// `√d` of every row.
    pub fn roots(&self, block: usize) -> Vec<f64> {
        self.mobilities
            .iter()
            .flat_map(|d| (0..block).map(|row| d.row(row).sqrt()))
            .collect()
    }

    /// An estimate from below of `λ_max(D^-½ W D^-½)` by power iteration.
    pub fn largest_eigenvalue(&self, problem: &dyn ContactOperator, products: usize) -> f64 {
        let roots = self.roots(problem.block());
        let mut state = 1;
        let mut x: Vec<f64> = roots
            .iter()
            .map(|_| random::unit(&mut state) - 0.5)
            .collect();
        let mut y = vec![0.0; x.len()];
        let mut estimate = 0.0;
        for _ in 0..products {
            let norm = x.iter().map(|v| v * v).sum::<f64>().sqrt();
            if !(norm > 0.0) {
                return 0.0;
            }
            for (x, root) in x.iter_mut().zip(&roots) {
                *x /= norm * root;
            }
            problem.product(&x, &mut y);
            for ((x, y), root) in x.iter_mut().zip(&y).zip(&roots) {
                *x = y / root;
            }
            estimate = x.iter().map(|v| v * v).sum::<f64>().sqrt();
        }
        estimate
    }

    /// Adds De Saxcé's shift to the normal rows of a velocity.
    pub fn add_shift(&self, problem: &dyn ContactOperator, u: &mut [f64]) {
        for (contact, rows) in u.chunks_exact_mut(problem.block()).enumerate() {
            rows[0] += problem.limits(contact).de_saxce_shift(rows);
        }
    }

    /// `x ← P_K(x)` in the metric of `D`.
    pub fn project(&self, problem: &dyn ContactOperator, x: &mut [f64]) {
        let block = problem.block();
        for (contact, rows) in x.chunks_exact_mut(block).enumerate() {
            let d = &self.mobilities[contact];
            let stretch = (d.rolling / d.sliding).sqrt();
            rows.iter_mut().skip(3).for_each(|v| *v *= stretch);
            problem.limits(contact).stretched(stretch).project(rows);
            rows.iter_mut().skip(3).for_each(|v| *v /= stretch);
        }
    }

    /// `x ← P_K(x − ω D⁻¹ u)` in the metric of `D`.
    pub fn step_and_project(
        &self,
        problem: &dyn ContactOperator,
        x: &mut [f64],
        u: &[f64],
        omega: f64,
    ) {
        let block = problem.block();
        for (contact, rows) in x.chunks_exact_mut(block).enumerate() {
            let d = &self.mobilities[contact];
            let limits = problem.limits(contact);
            if block <= 3 {
                let step = omega / d.sliding;
                for (v, u) in rows.iter_mut().zip(&u[contact * block..]) {
                    *v -= step * u;
                }
                limits.project(rows);
                continue;
            }
            let stretch = (d.rolling / d.sliding).sqrt();
            for (i, v) in rows.iter_mut().enumerate() {
                *v -= omega * u[contact * block + i] / d.row(i);
                if i >= 3 {
                    *v *= stretch;
                }
            }
            limits.stretched(stretch).project(rows);
            rows.iter_mut().skip(3).for_each(|v| *v /= stretch);
        }
    }
}
