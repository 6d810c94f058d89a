//! How well impulses solve a contact problem: one function for all solvers.
//!
//! With `F = u` (associated law) or `F = u + s(u) e_n` (Coulomb, De Saxcé's shift,
//! see [`crate::cone`]) and `P` the projection onto the cone `K` of a contact:
//!
//! ```text
//! C_a = λ_a − P(λ_a − F_a),   e = √Σ ‖C_a‖²          natural map          (1)
//! e/‖q‖                                              primary measure      (2)
//! e/max(‖q‖, ‖λ‖, ‖u‖)                               Siconos' scaling     (3)
//! g = Σ⟨W_aa⁻¹ C_a, C_a⟩ / Σ⟨W_aa⁻¹ q_a, q_a⟩        Koziara's merit      (4)
//! ε = ‖D^½ R(λ)‖ / ‖D^½ R(0)‖,
//!     R_a = λ_a − P(λ_a − F_a/d_a), d_a = trace(W_aa)/rows                (5)
//! ```
//!
//! (1)–(4) add impulses and velocities and so depend on units; (5) does not. In
//! (5) rolling and twisting rows have their own `d`, and the cone is taken in
//! that metric.

use crate::cone::{FrictionLaw, MAX_BLOCK};
use crate::operator::ContactOperator;

/// All measures of one iterate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Residuals {
    /// (2), the primary measure: `e/‖q‖`; `e` itself where `q = 0`.
    pub natural_map: f64,
    /// (3).
    pub siconos: f64,
    /// (4).
    pub merit: f64,
    /// (5), dimensionless and independent of units.
    pub scaled: f64,
    /// Worst violation of the cone by an impulse, N s (rolling: N m s).
    pub cone_violation: f64,
    /// Worst normal velocity below its target, m/s.
    pub penetration: f64,
    /// Energy given to the bodies by the impulses, `½ λᵀ(u + q)`, J; not above
    /// zero for a dissipative law without targets.
    pub energy: f64,
    /// `Σ |λ_a · F_a|`, J: zero for a solution.
    pub complementarity: f64,
}

/// The measure that a solver is asked to bring below a tolerance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Measure {
    /// `e/‖q‖`, (2).
    #[default]
    NaturalMap,
    /// (3).
    Siconos,
    /// (4).
    Merit,
    /// (5).
    Scaled,
}

impl Residuals {
    /// The value of one measure.
    pub fn get(&self, measure: Measure) -> f64 {
        match measure {
            Measure::NaturalMap => self.natural_map,
            Measure::Siconos => self.siconos,
            Measure::Merit => self.merit,
            Measure::Scaled => self.scaled,
        }
    }
}

/// Isotropic mobilities of a contact: `d` of its normal and tangential rows, and
/// of its rolling and twisting rows, 1/kg and 1/(kg m²).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mobility {
    /// Mean of the diagonal of the first (at most three) rows.
    pub sliding: f64,
    /// Mean of the diagonal of the rolling and twisting rows.
    pub rolling: f64,
}

impl Mobility {
    /// Means of the diagonal of a row-major block. Rows that nothing can move
    /// (zero or negative mean) get `fallback`, so that divisions stay defined.
    pub fn of_block(diagonal_block: &[f64], block: usize, fallback: f64) -> Self {
        let mean = |rows: std::ops::Range<usize>| {
            let count = rows.len().max(1) as f64;
            let sum: f64 = rows.map(|i| diagonal_block[i * block + i]).sum();
            if sum > 0.0 { sum / count } else { fallback }
        };
        let sliding = mean(0..block.min(3));
        Mobility {
            sliding,
            rolling: if block == 6 { mean(3..6) } else { sliding },
        }
    }

    /// `d` of a row of the block.
    #[inline]
    pub fn row(&self, row: usize) -> f64 {
        if row < 3 { self.sliding } else { self.rolling }
    }
}

/// Isotropic mobilities of all contacts. A contact whose block is zero gets the
/// largest mobility of the problem (1 where there is none).
pub fn mobilities(problem: &dyn ContactOperator) -> Vec<Mobility> {
    let block = problem.block();
    let mut diagonal = vec![0.0; block * block];
    let mut all: Vec<Mobility> = (0..problem.contacts())
        .map(|contact| {
            problem.diagonal_block(contact, &mut diagonal);
            Mobility::of_block(&diagonal, block, 0.0)
        })
        .collect();
    let largest = |values: &mut dyn Iterator<Item = f64>| {
        let largest = values.fold(0.0, f64::max);
        if largest > 0.0 { largest } else { 1.0 }
    };
    let sliding = largest(&mut all.iter().map(|d| d.sliding));
    let rolling = largest(&mut all.iter().map(|d| d.rolling));
    for d in &mut all {
        if d.sliding == 0.0 {
            d.sliding = sliding;
        }
        if d.rolling == 0.0 {
            d.rolling = rolling;
        }
    }
    all
}

/// Everything that measures one problem and does not change with the iterate.
#[derive(Clone, Debug)]
pub struct Judge {
    law: FrictionLaw,
    mobilities: Vec<Mobility>,
    inverse_blocks: Vec<f64>,
    offset_norm: f64,
    merit_scale: f64,
    scaled_start: f64,
}

impl Judge {
    /// Prepares the scales of (2)–(5).
    pub fn new(problem: &dyn ContactOperator, law: FrictionLaw) -> Self {
        let block = problem.block();
        let mobilities = mobilities(problem);
        let offset = problem.offset();
        let mut inverse_blocks = vec![0.0; problem.contacts() * block * block];
        for (contact, inverse) in inverse_blocks.chunks_exact_mut(block * block).enumerate() {
            problem.diagonal_block(contact, inverse);
            invert_or_scale(inverse, block, &mobilities[contact]);
        }
        let mut judge = Judge {
            law,
            mobilities,
            inverse_blocks,
            offset_norm: norm(offset),
            merit_scale: 1.0,
            scaled_start: 1.0,
        };
        let merit: f64 = (0..problem.contacts())
            .map(|c| judge.inverse_form(c, &offset[c * block..(c + 1) * block]))
            .sum();
        if merit > 0.0 {
            judge.merit_scale = merit;
        }
        let start = judge.scaled_norm(problem, &vec![0.0; offset.len()], offset);
        if start > 0.0 {
            judge.scaled_start = start;
        }
        judge
    }

    /// The law that is judged.
    pub fn law(&self) -> FrictionLaw {
        self.law
    }

    /// Isotropic mobilities per contact.
    pub fn mobilities(&self) -> &[Mobility] {
        &self.mobilities
    }

    /// One measure alone, for use inside a solver's loop; `u = W λ + q`.
    pub fn measure(
        &self,
        problem: &dyn ContactOperator,
        lambda: &[f64],
        u: &[f64],
        measure: Measure,
    ) -> f64 {
        match measure {
            Measure::NaturalMap | Measure::Siconos => {
                let e = self.natural_norm(problem, lambda, u);
                let largest = match measure {
                    Measure::NaturalMap => self.offset_norm,
                    _ => self.offset_norm.max(norm(lambda)).max(norm(u)),
                };
                e / nonzero(largest)
            }
            Measure::Scaled => self.scaled_norm(problem, lambda, u) / self.scaled_start,
            Measure::Merit => self.judge(problem, lambda, u).merit,
        }
    }

    /// All measures; `u = W λ + q`.
    pub fn judge(&self, problem: &dyn ContactOperator, lambda: &[f64], u: &[f64]) -> Residuals {
        let block = problem.block();
        let offset = problem.offset();
        let mut out = Residuals::default();
        let (mut square, mut merit) = (0.0, 0.0);
        for contact in 0..problem.contacts() {
            let rows = contact * block..(contact + 1) * block;
            let (x, v) = (&lambda[rows.clone()], &u[rows.clone()]);
            let limits = problem.limits(contact);
            let mut c = [0.0; MAX_BLOCK];
            let c = &mut c[..block];
            self.natural_map(problem, contact, x, v, c);
            square += c.iter().map(|c| c * c).sum::<f64>();
            merit += self.inverse_form(contact, c);
            out.cone_violation = worse(out.cone_violation, limits.violation(x));
            out.penetration = worse(out.penetration, -v[0]);
            let shift = self.shift(problem, contact, v);
            let power: f64 = x.iter().zip(v).map(|(x, v)| x * v).sum::<f64>() + x[0] * shift;
            out.complementarity += power.abs();
            out.energy += x
                .iter()
                .zip(v)
                .zip(&offset[rows])
                .map(|((x, v), q)| 0.5 * x * (v + q))
                .sum::<f64>();
        }
        let e = square.sqrt();
        out.natural_map = e / nonzero(self.offset_norm);
        out.siconos = e / nonzero(self.offset_norm.max(norm(lambda)).max(norm(u)));
        out.merit = merit / self.merit_scale;
        out.scaled = self.scaled_norm(problem, lambda, u) / self.scaled_start;
        out
    }

    fn shift(&self, problem: &dyn ContactOperator, contact: usize, u: &[f64]) -> f64 {
        match self.law {
            FrictionLaw::Coulomb => problem.limits(contact).de_saxce_shift(u),
            FrictionLaw::Associated => 0.0,
        }
    }

    /// `C_a` of (1).
    fn natural_map(
        &self,
        problem: &dyn ContactOperator,
        contact: usize,
        x: &[f64],
        u: &[f64],
        c: &mut [f64],
    ) {
        for ((c, x), u) in c.iter_mut().zip(x).zip(u) {
            *c = x - u;
        }
        c[0] -= self.shift(problem, contact, u);
        problem.limits(contact).project(c);
        for (c, x) in c.iter_mut().zip(x) {
            *c = x - *c;
        }
    }

    fn natural_norm(&self, problem: &dyn ContactOperator, lambda: &[f64], u: &[f64]) -> f64 {
        let block = problem.block();
        let mut c = [0.0; MAX_BLOCK];
        let c = &mut c[..block];
        let mut square = 0.0;
        for contact in 0..problem.contacts() {
            let rows = contact * block..(contact + 1) * block;
            self.natural_map(problem, contact, &lambda[rows.clone()], &u[rows], c);
            square += c.iter().map(|c| c * c).sum::<f64>();
        }
        square.sqrt()
    }

    /// `‖D^½ R‖` of (5).
    fn scaled_norm(&self, problem: &dyn ContactOperator, lambda: &[f64], u: &[f64]) -> f64 {
        let block = problem.block();
        let mut z = [0.0; MAX_BLOCK];
        let z = &mut z[..block];
        let mut square = 0.0;
        for (contact, d) in self.mobilities.iter().enumerate() {
            let rows = contact * block..(contact + 1) * block;
            let (x, v) = (&lambda[rows.clone()], &u[rows]);
            let roots = [d.sliding.sqrt(), d.rolling.sqrt()];
            let root = |i: usize| roots[usize::from(i >= 3)];
            for i in 0..block {
                z[i] = root(i) * x[i] - v[i] / root(i);
            }
            z[0] -= self.shift(problem, contact, v) / roots[0];
            problem
                .limits(contact)
                .stretched(roots[1] / roots[0])
                .project(z);
            for i in 0..block {
                let r = root(i) * x[i] - z[i];
                square += r * r;
            }
        }
        square.sqrt()
    }

    fn inverse_form(&self, contact: usize, x: &[f64]) -> f64 {
        let n = x.len();
        let inverse = &self.inverse_blocks[contact * n * n..(contact + 1) * n * n];
        (0..n)
            .flat_map(|i| (0..n).map(move |j| (i, j)))
            .map(|(i, j)| x[i] * inverse[i * n + j] * x[j])
            .sum()
    }
}

/// All measures of given impulses; computes `u` itself.
pub fn residuals(problem: &dyn ContactOperator, lambda: &[f64], law: FrictionLaw) -> Residuals {
    let mut u = vec![0.0; problem.rows()];
    problem.product(lambda, &mut u);
    for (u, q) in u.iter_mut().zip(problem.offset()) {
        *u += q;
    }
    Judge::new(problem, law).judge(problem, lambda, &u)
}

/// The larger of two numbers; not a number wins, so that it is never hidden.
fn worse(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else {
        a.max(b)
    }
}

fn nonzero(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { x }
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// Inverts a small block in place by Gauss–Jordan with row pivoting; a block that
/// is singular to working precision becomes the inverse of its mobilities.
fn invert_or_scale(a: &mut [f64], n: usize, mobility: &Mobility) {
    let largest = a.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    let mut work = a.to_vec();
    let mut inverse = vec![0.0; n * n];
    (0..n).for_each(|i| inverse[i * n + i] = 1.0);
    for k in 0..n {
        let pivot = (k..n)
            .max_by(|&i, &j| work[i * n + k].abs().total_cmp(&work[j * n + k].abs()))
            .unwrap_or(k);
        if !(work[pivot * n + k].abs() > 1e-13 * largest) {
            a.fill(0.0);
            (0..n).for_each(|i| a[i * n + i] = 1.0 / mobility.row(i));
            return;
        }
        for j in 0..n {
            work.swap(k * n + j, pivot * n + j);
            inverse.swap(k * n + j, pivot * n + j);
        }
        let scale = 1.0 / work[k * n + k];
        for j in 0..n {
            work[k * n + j] *= scale;
            inverse[k * n + j] *= scale;
        }
        for i in (0..n).filter(|&i| i != k) {
            let factor = work[i * n + k];
            for j in 0..n {
                work[i * n + j] -= factor * work[k * n + j];
                inverse[i * n + j] -= factor * inverse[k * n + j];
            }
        }
    }
    a.copy_from_slice(&inverse);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AssembledProblem, ConeLimits, SparseMatrix};

    /// A block of mass 2 on a table: pushed down by 1 m/s and sideways by `slip`.
    fn block_on_table(slip: f64, mu: f64) -> AssembledProblem {
        AssembledProblem::from_sparse(
            3,
            &SparseMatrix::from_triplets(3, 3, &[(0, 0, 0.5), (1, 1, 0.5), (2, 2, 0.5)]),
            vec![-1.0, slip, 0.0],
            vec![ConeLimits::coulomb(mu)],
        )
        .expect("valid")
    }

    #[test]
    fn known_solutions_have_zero_residual_in_every_measure() {
        // Sticking: the impulse stops the block. Sliding: friction is at its limit.
        let stick = (block_on_table(0.2, 0.5), [2.0, -0.4, 0.0]);
        let slide = (block_on_table(3.0, 0.5), [2.0, -1.0, 0.0]);
        for (problem, lambda) in [stick, slide] {
            let r = residuals(&problem, &lambda, FrictionLaw::Coulomb);
            for value in [
                r.natural_map,
                r.siconos,
                r.merit,
                r.scaled,
                r.complementarity,
            ] {
                assert!(value.abs() < 1e-15, "{r:?}");
            }
            assert!(r.cone_violation < 1e-15 && r.penetration < 1e-15);
            assert!(r.energy < 0.0);
        }
    }

    #[test]
    fn the_sliding_coulomb_solution_does_not_solve_the_associated_law() {
        let problem = block_on_table(3.0, 0.5);
        let r = residuals(&problem, &[2.0, -1.0, 0.0], FrictionLaw::Associated);
        assert!(r.natural_map > 0.1);
    }

    #[test]
    fn scaled_residual_is_one_at_rest_and_free_of_units() {
        let problem = block_on_table(3.0, 0.5);
        let zero = residuals(&problem, &[0.0; 3], FrictionLaw::Coulomb);
        assert!((zero.scaled - 1.0).abs() < 1e-15);
        // Grams instead of kilograms: W shrinks, λ grows by 1000.
        let mut grams = problem.clone();
        grams.values.iter_mut().for_each(|v| *v *= 1e-3);
        let a = residuals(&problem, &[1.5, -0.3, 0.1], FrictionLaw::Coulomb).scaled;
        let b = residuals(&grams, &[1500.0, -300.0, 100.0], FrictionLaw::Coulomb).scaled;
        assert!((a - b).abs() < 1e-12);
    }

    #[test]
    fn not_a_number_is_never_hidden() {
        let problem = block_on_table(3.0, 0.5);
        let r = residuals(&problem, &[f64::NAN, 0.0, 0.0], FrictionLaw::Coulomb);
        assert!(r.natural_map.is_nan() && r.scaled.is_nan());
    }
}
