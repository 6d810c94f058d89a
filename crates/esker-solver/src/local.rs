//! Solvers of one contact while all others rest: the inner step of Gauss–Seidel.
//!
//! Given the present impulse `x`, its velocity `u` and the diagonal block `W`, find
//! the new impulse for `u(y) = u + W (y − x)`.

use crate::nonsmooth_map::{ContactMap, MapDerivatives, MapKind};
use esker_contact::cone::{MAX_BLOCK, group_norm, groups};
use esker_contact::{ConeLimits, FrictionLaw, Mobility};

/// How one contact is solved inside a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LocalSolver {
    /// Row by row with a clamp: the normal row first, then each tangential group
    /// projected onto its disc. One step towards the local solution, the
    /// cheapest, and what the papers do. For the associated law, one projection
    /// onto the cone.
    #[default]
    Clamp,
    /// The exact solution of the 2 or 3 rows by cases (open, stick, and slip as
    /// the roots of a quartic); for 6 rows and for the associated law, iterated
    /// to rounding.
    Exact,
    /// Newton's method on the local nonsmooth equations, with the clamp as fall-back.
    AlartCurnier,
}

/// What a local solver needs to know about a contact.
#[derive(Clone, Debug)]
pub struct LocalProblem<'a> {
    /// Row-major diagonal block.
    pub matrix: &'a [f64],
    /// Isotropic mobilities.
    pub mobility: Mobility,
    /// Limits of the cone.
    pub limits: ConeLimits,
    /// The law.
    pub law: FrictionLaw,
}

impl LocalProblem<'_> {
    /// Replaces `x` by the local solver's answer; `u` is the velocity at `x`.
    #[inline]
    pub fn solve(&self, solver: LocalSolver, x: &mut [f64], u: &[f64]) {
        match (solver, self.law) {
            (LocalSolver::Clamp, FrictionLaw::Coulomb) => self.clamp(x, u),
            (LocalSolver::Clamp, FrictionLaw::Associated) => self.project(x, u),
            (LocalSolver::Exact, FrictionLaw::Coulomb) => self.exact(x, u),
            (LocalSolver::Exact, FrictionLaw::Associated) | (LocalSolver::AlartCurnier, _) => {
                self.newton(x, u)
            }
        }
    }

    /// `u + W (y − x)`.
    fn moved(&self, x: &[f64], u: &[f64], y: &[f64], out: &mut [f64]) {
        let n = x.len();
        for i in 0..n {
            let row = &self.matrix[i * n..(i + 1) * n];
            out[i] = u[i] + (0..n).map(|j| row[j] * (y[j] - x[j])).sum::<f64>();
        }
    }

    /// Mean of the diagonal over the rows of a group, or the isotropic mobility
    /// where nothing moves.
    #[inline]
    fn divisor(&self, n: usize, start: usize, end: usize) -> f64 {
        let sum: f64 = (start..end).map(|i| self.matrix[i * n + i]).sum();
        if sum > 0.0 {
            sum / (end - start) as f64
        } else {
            self.mobility.row(start)
        }
    }

    #[inline]
    fn clamp(&self, x: &mut [f64], u: &[f64]) {
        let n = x.len();
        let before = x[0];
        x[0] = (before - u[0] / self.divisor(n, 0, 1)).max(0.0);
        let push = x[0] - before;
        for (g, &(start, end)) in groups(n).iter().enumerate() {
            let d = self.divisor(n, start, end);
            for i in start..end {
                x[i] -= (u[i] + self.matrix[i * n] * push) / d;
            }
            let bound = self.limits.of(g) * x[0];
            let norm = group_norm(x, (start, end));
            if norm > bound {
                x[start..end].iter_mut().for_each(|v| *v *= bound / norm);
            }
        }
    }

    /// One step of projected gradient in the metric of the mobilities. The step is
    /// shortened where the block's largest eigenvalue asks for it, so that the local
    /// energy never grows.
    #[inline]
    fn project(&self, x: &mut [f64], u: &[f64]) {
        let n = x.len();
        let stretch = (self.mobility.rolling / self.mobility.sliding).sqrt();
        let metric = |i: usize| if i < 3 { 1.0 } else { stretch };
        let largest = (0..n)
            .map(|i| {
                (0..n)
                    .map(|j| self.matrix[i * n + j].abs() / (metric(i) * metric(j)))
                    .sum::<f64>()
            })
            .fold(0.0, f64::max);
        let step = 1.0 / (0.55 * largest).max(self.mobility.sliding);
        for i in 0..n {
            x[i] = x[i] * metric(i) - step * u[i] / metric(i);
        }
        self.limits.stretched(stretch).project(x);
        for (i, v) in x.iter_mut().enumerate() {
            *v /= metric(i);
        }
    }

    /// Newton on the local equation; where it does not get to rounding in a few
    /// steps, the clamped answer (Coulomb) or steps of projected gradient.
    fn newton(&self, x: &mut [f64], u: &[f64]) {
        const STEPS: usize = 25;
        let n = x.len();
        let map = ContactMap {
            kind: match self.law {
                FrictionLaw::Coulomb => MapKind::AlartCurnier,
                FrictionLaw::Associated => MapKind::NaturalMap(FrictionLaw::Associated),
            },
            limits: self.limits,
            normal_scale: 1.0 / self.mobility.sliding,
            tangent_scale: 1.0 / self.mobility.sliding,
            rolling_scale: 1.0 / self.mobility.rolling,
        };
        let scale = u
            .iter()
            .enumerate()
            .map(|(i, v)| v.abs() / self.mobility.row(i))
            .chain(x.iter().map(|v| v.abs()))
            .fold(0.0, f64::max);
        let mut y = [0.0; MAX_BLOCK];
        let y = &mut y[..n];
        y.copy_from_slice(x);
        let mut d = MapDerivatives::default();
        let (mut f, mut v) = ([0.0; MAX_BLOCK], [0.0; MAX_BLOCK]);
        for _ in 0..STEPS {
            self.moved(x, u, y, &mut v[..n]);
            map.evaluate(y, &v[..n], &mut f[..n], Some(&mut d));
            let size = f[..n].iter().fold(0.0_f64, |m, v| m.max(v.abs()));
            if size <= 1e-13 * scale {
                x.copy_from_slice(y);
                return;
            }
            let mut system = [0.0; MAX_BLOCK * MAX_BLOCK];
            for i in 0..n {
                for j in 0..n {
                    let along: f64 = (0..n)
                        .map(|k| d.velocity[i * n + k] * self.matrix[k * n + j])
                        .sum();
                    system[i * n + j] = along + d.impulse[i * n + j];
                }
            }
            if !solve_small(&mut system[..n * n], &mut f[..n]) {
                break;
            }
            for (y, step) in y.iter_mut().zip(&f) {
                *y -= step;
            }
        }
        match self.law {
            FrictionLaw::Coulomb => self.clamp(x, u),
            FrictionLaw::Associated => {
                let mut v = [0.0; MAX_BLOCK];
                v[..n].copy_from_slice(u);
                for _ in 0..STEPS {
                    y.copy_from_slice(x);
                    self.project(x, &v[..n]);
                    let before = v;
                    self.moved(y, &before[..n], x, &mut v[..n]);
                }
            }
        }
    }

    fn exact(&self, x: &mut [f64], u: &[f64]) {
        let n = x.len();
        if let [_, 0.0, 0.0, 0.0, t1, 0.0, 0.0, 0.0, t2] = *self.matrix {
            // Uncoupled and isotropic, as for spheres: the clamp is exact.
            if t1 == t2 {
                self.clamp(x, u);
                return;
            }
        }
        // Velocity at zero impulse.
        let mut q = [0.0; MAX_BLOCK];
        self.moved(x, u, &[0.0; MAX_BLOCK][..n], &mut q[..n]);
        let q = &q[..n];
        if q[0] >= 0.0 {
            x.fill(0.0);
            return;
        }
        let solution = match n {
            1 => Some([-q[0] / self.matrix[0], 0.0, 0.0]),
            2 => self.exact_plane(q),
            3 => self.exact_space(q, x),
            _ => None,
        };
        match solution {
            Some(y) if y[..n].iter().all(|v| v.is_finite()) => x.copy_from_slice(&y[..n]),
            _ => self.newton(x, u),
        }
    }

    fn exact_plane(&self, q: &[f64]) -> Option<[f64; 3]> {
        let w = self.matrix;
        let mu = self.limits.friction;
        let det = w[0] * w[3] - w[1] * w[2];
        if det > 0.0 {
            let y = [
                (-q[0] * w[3] + q[1] * w[1]) / det,
                (-q[1] * w[0] + q[0] * w[2]) / det,
                0.0,
            ];
            if y[0] >= 0.0 && y[1].abs() <= mu * y[0] {
                return Some(y);
            }
        }
        [1.0, -1.0].into_iter().find_map(|side| {
            let normal = -q[0] / (w[0] + side * mu * w[1]);
            let slip = q[1] + (w[2] + side * mu * w[3]) * normal;
            (normal > 0.0 && slip * side <= 0.0).then_some([normal, side * mu * normal, 0.0])
        })
    }

    /// Stick by a 3 × 3 solve; slip with `u_t = −α x_t`, `α > 0`: eliminating the
    /// normal row leaves `(A + α I) x_t = −b` with `|x_t| = µ x_n`, a quartic in `α`.
    fn exact_space(&self, q: &[f64], x: &[f64]) -> Option<[f64; 3]> {
        let w = self.matrix;
        let mu = self.limits.friction;
        if !(w[0] > 0.0) {
            return None;
        }
        let mut system = [0.0; 9];
        system.copy_from_slice(w);
        let mut stick = [-q[0], -q[1], -q[2]];
        if solve_small(&mut system, &mut stick)
            && stick[0] >= 0.0
            && stick[1].hypot(stick[2]) <= mu * stick[0] * (1.0 + 1e-14)
        {
            return Some(stick);
        }
        let a = [
            w[4] - w[3] * w[1] / w[0],
            w[5] - w[3] * w[2] / w[0],
            w[7] - w[6] * w[1] / w[0],
            w[8] - w[6] * w[2] / w[0],
        ];
        let b = [q[1] - w[3] * q[0] / w[0], q[2] - w[6] * q[0] / w[0]];
        // (A + αI)⁻¹ b = (adj₀ + α b)/det(α), det(α) = α² + trace α + det A.
        let adjugate = [a[3] * b[0] - a[1] * b[1], a[0] * b[1] - a[2] * b[0]];
        let (trace, det) = (a[0] + a[3], a[0] * a[3] - a[1] * a[2]);
        // x_n det = −(q_n det − W_nt (adj₀ + α b))/W_nn, a quadratic in α.
        let along = |v: [f64; 2]| w[1] * v[0] + w[2] * v[1];
        let normal = [
            -(q[0] * det - along(adjugate)) / w[0],
            -(q[0] * trace - along(b)) / w[0],
            -q[0] / w[0],
        ];
        let square = |p: [f64; 3]| {
            [
                p[0] * p[0],
                2.0 * p[0] * p[1],
                p[1] * p[1] + 2.0 * p[0] * p[2],
                2.0 * p[1] * p[2],
                p[2] * p[2],
            ]
        };
        let mut quartic = square(normal).map(|v| v * mu * mu);
        for i in 0..2 {
            let part = square([adjugate[i], b[i], 0.0]);
            for k in 0..5 {
                quartic[k] -= part[k];
            }
        }
        let mut best: Option<([f64; 3], f64)> = None;
        for alpha in positive_roots(&quartic) {
            let scale = 1.0 / (alpha * alpha + trace * alpha + det);
            let t = [0, 1].map(|i| -(adjugate[i] + alpha * b[i]) * scale);
            let n = -(q[0] + along(t)) / w[0];
            if n > 0.0 && t[0].is_finite() && t[1].is_finite() {
                // Several slips can be right: keep the one nearest to where we are.
                let far = (t[0] - x[1]).hypot(t[1] - x[2]) + (n - x[0]).abs();
                if best.is_none_or(|(_, d)| far < d) {
                    let norm = t[0].hypot(t[1]);
                    let fit = if norm > 0.0 { mu * n / norm } else { 0.0 };
                    best = Some(([n, t[0] * fit, t[1] * fit], far));
                }
            }
        }
        best.map(|(y, _)| y)
    }
}

/// Solves a small dense system in place by Gauss elimination with row pivoting;
/// false when it is singular to working precision.
pub fn solve_small(a: &mut [f64], b: &mut [f64]) -> bool {
    let n = b.len();
    let largest = a.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    for k in 0..n {
        let mut pivot = k;
        for i in k + 1..n {
            if a[i * n + k].abs() > a[pivot * n + k].abs() {
                pivot = i;
            }
        }
        if !(a[pivot * n + k].abs() > 1e-15 * largest) {
            return false;
        }
        if pivot != k {
            for j in k..n {
                a.swap(k * n + j, pivot * n + j);
            }
            b.swap(k, pivot);
        }
        for i in k + 1..n {
            let factor = a[i * n + k] / a[k * n + k];
            for j in k + 1..n {
                a[i * n + j] -= factor * a[k * n + j];
            }
            b[i] -= factor * b[k];
        }
    }
    for i in (0..n).rev() {
        for j in i + 1..n {
            b[i] -= a[i * n + j] * b[j];
        }
        b[i] /= a[i * n + i];
    }
    true
}

/// Positive roots of `c[0] + c[1] x + ... + c[4] x⁴`, found by bisection between the
/// turning points (the roots of the derivative, recursively).
fn positive_roots(c: &[f64; 5]) -> Vec<f64> {
    // Cauchy's bound on the size of a root.
    let Some(degree) = (1..5).rev().find(|&k| c[k] != 0.0) else {
        return Vec::new();
    };
    let bound = 1.0
        + (0..degree)
            .map(|k| (c[k] / c[degree]).abs())
            .fold(0.0, f64::max);
    if !bound.is_finite() {
        return Vec::new();
    }
    roots_between(&c[..=degree], 0.0, bound)
}

fn roots_between(c: &[f64], low: f64, high: f64) -> Vec<f64> {
    let value = |x: f64| c.iter().rev().fold(0.0, |sum, &k| sum * x + k);
    if c.len() == 2 {
        let root = -c[0] / c[1];
        return if root > low && root < high {
            vec![root]
        } else {
            Vec::new()
        };
    }
    let slope: Vec<f64> = c
        .iter()
        .enumerate()
        .skip(1)
        .map(|(k, v)| k as f64 * v)
        .collect();
    let mut ends = vec![low];
    if slope.last().is_some_and(|v| *v != 0.0) {
        ends.extend(roots_between(&slope, low, high));
    }
    ends.push(high);
    let mut roots = Vec::new();
    for pair in ends.windows(2) {
        let (mut a, mut b) = (pair[0], pair[1]);
        let (fa, fb) = (value(a), value(b));
        if fa * fb > 0.0 || fa == fb {
            continue;
        }
        let rising = fb > fa;
        // Newton from the middle, kept inside the bracket by bisection.
        let mut x = 0.5 * (a + b);
        for _ in 0..100 {
            let f = value(x);
            if (f > 0.0) == rising {
                b = x;
            } else {
                a = x;
            }
            let steepness = slope.iter().rev().fold(0.0, |sum, &k| sum * x + k);
            let newton = x - f / steepness;
            let next = if newton >= a && newton <= b {
                newton
            } else {
                0.5 * (a + b)
            };
            let done = (next - x).abs() <= 1e-15 * next.abs();
            x = next;
            if done {
                break;
            }
        }
        roots.push(x);
    }
    roots
}

#[cfg(test)]
mod tests {
    use super::*;
    use esker_contact::{AssembledProblem, ContactOperator, SparseMatrix, residuals};
    use proptest::prelude::*;

    fn spd(entries: &[f64], n: usize) -> Vec<f64> {
        let mut w = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                w[i * n + j] = (0..n)
                    .map(|k| entries[i * n + k] * entries[j * n + k])
                    .sum::<f64>()
                    + if i == j { 0.1 } else { 0.0 };
            }
        }
        w
    }

    proptest! {
        #[test]
        fn exact_and_newton_local_solutions_satisfy_the_law(
            entries in prop::collection::vec(-1.0..1.0_f64, 36),
            q in prop::array::uniform6(-1.0..1.0_f64),
            mu in 0.05..1.0_f64,
            n in prop::sample::select(vec![1_usize, 2, 3]),
        ) {
            let w = spd(&entries, n);
            let triplets: Vec<_> = (0..n * n).map(|k| (k / n, k % n, w[k])).collect();
            let problem = AssembledProblem::from_sparse(
                n, &SparseMatrix::from_triplets(n, n, &triplets), q[..n].to_vec(),
                vec![ConeLimits::coulomb(mu)],
            ).unwrap();
            let mut stored = vec![0.0; n * n];
            problem.diagonal_block(0, &mut stored);
            let local = LocalProblem {
                matrix: &stored,
                mobility: Mobility::of_block(&stored, n, 1.0),
                limits: problem.limits[0],
                law: FrictionLaw::Coulomb,
            };
            let mut x = vec![0.0; n];
            local.solve(LocalSolver::Exact, &mut x, &q[..n]);
            let reached = residuals(&problem, &x, FrictionLaw::Coulomb).natural_map;
            prop_assert!(reached < 1e-7, "{reached} {x:?}");
        }
    }

    #[test]
    fn roots_of_a_quartic_are_all_found() {
        // (x − 1)(x − 2)(x + 3)(x − 5)
        let roots = positive_roots(&[-30.0, 41.0, -7.0, -5.0, 1.0]);
        assert_eq!(roots.len(), 3);
        for (root, expected) in roots.iter().zip([1.0, 2.0, 5.0]) {
            assert!((root - expected).abs() < 1e-12);
        }
    }
}
