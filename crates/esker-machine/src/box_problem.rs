//! The box problem of bounded rows.
//!
//! Find `λ` with `lo ≤ λ ≤ hi` and `w = C λ − b` such that
//!
//! ```text
//! λ = lo: w ≥ 0,    lo < λ < hi: w = 0,    λ = hi: w ≤ 0                  (1)
//! ```
//!
//! for a symmetric positive definite `C`, by block principal pivoting (Júdice and Pires 1992): from
//! a guess of which rows are at a bound, all rows that contradict (1) change sides while their
//! number falls; where it does not for some rounds, only the one of largest index does, which ends.

use crate::dense::{Cholesky, dot};

/// Where the impulse of a bounded row is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Activity {
    /// At its lower bound.
    Lower,
    /// Between its bounds: the row holds.
    #[default]
    Free,
    /// At its upper bound.
    Upper,
}

/// Rounds in which all contradicting rows may change sides without becoming fewer.
const PATIENCE: usize = 10;

/// A box problem; keeps its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct BoxProblem {
    size: usize,
    /// `C`, row by row.
    matrix: Vec<f64>,
    /// Where rows are; the guess of the next solve.
    pub(crate) activity: Vec<Activity>,
    /// Where they are expected to be once contacts have acted.
    expected: Vec<Activity>,
    /// Rows that are free, in order, and the factor of their part of `C`.
    free: Vec<usize>,
    factor: Cholesky,
    scratch: Vec<f64>,
    violators: Vec<(usize, Activity)>,
}

impl BoxProblem {
    /// Makes room for a problem of this size; all rows are free.
    pub(crate) fn resize(&mut self, size: usize) {
        self.size = size;
        self.matrix.resize(size * size, 0.0);
        self.activity.resize(size, Activity::Free);
        self.expected.resize(size, Activity::Free);
        self.scratch.resize(size, 0.0);
        self.free.reserve(size);
        self.violators.reserve(size);
        self.factor.resize(size);
    }

    /// Sets an entry of `C` and the one across the diagonal.
    #[inline]
    pub(crate) fn set_entry(&mut self, i: usize, j: usize, value: f64) {
        self.matrix[i * self.size + j] = value;
        self.matrix[j * self.size + i] = value;
    }

    /// Factorises the part of `C` that belongs to free rows.
    pub(crate) fn factorise(&mut self) {
        self.free.clear();
        let rows = self.activity.iter().enumerate();
        self.free
            .extend(rows.filter(|(_, a)| **a == Activity::Free).map(|(i, _)| i));
        self.factor.resize(self.free.len());
        for (r, &i) in self.free.iter().enumerate() {
            for (c, &j) in self.free[..=r].iter().enumerate() {
                *self.factor.entry(r, c) = self.matrix[i * self.size + j];
            }
        }
        self.factor.factorise(f64::MIN_POSITIVE);
    }

    /// `x ← C_FF⁻¹ x` on free rows, zero on the others.
    pub(crate) fn solve_free(&mut self, x: &mut [f64]) {
        let count = self.free.len();
        for (s, &i) in self.scratch.iter_mut().zip(&self.free) {
            *s = x[i];
        }
        self.factor.solve(&mut self.scratch[..count]);
        x.fill(0.0);
        for (s, &i) in self.scratch.iter().zip(&self.free) {
            x[i] = *s;
        }
    }

    /// From now on rows that are `meant` are expected to be where the last solve found them.
    pub(crate) fn expect(&mut self, meant: impl Fn(usize) -> bool) {
        let rows = self.expected.iter_mut().zip(&self.activity).enumerate();
        for (_, (expected, found)) in rows.filter(|(j, _)| meant(*j)) {
            *expected = *found;
        }
        self.activity.copy_from_slice(&self.expected);
        self.factorise();
    }

    /// The solution for `b` with all rows where they are expected to be, whatever (1) says.
    pub(crate) fn solve_expected(
        &mut self,
        b: &[f64],
        bounds: impl Fn(usize) -> [f64; 2],
        x: &mut [f64],
    ) {
        self.activity.copy_from_slice(&self.expected);
        self.solve_as_it_is(b, &bounds, x);
    }

    /// The solution for `b` with all rows where they are.
    fn solve_as_it_is(&mut self, b: &[f64], bounds: impl Fn(usize) -> [f64; 2], x: &mut [f64]) {
        let n = self.size;
        self.factorise();
        for (i, (x, activity)) in x.iter_mut().zip(&self.activity).enumerate() {
            *x = match activity {
                Activity::Lower => bounds(i)[0],
                Activity::Free => 0.0,
                Activity::Upper => bounds(i)[1],
            };
        }
        for (s, &i) in self.scratch.iter_mut().zip(&self.free) {
            *s = b[i] - dot(&self.matrix[i * n..][..n], x);
        }
        let count = self.free.len();
        self.factor.solve(&mut self.scratch[..count]);
        for (s, &i) in self.scratch.iter().zip(&self.free) {
            x[i] = *s;
        }
    }

    /// Solves (1) for `b` into `x`; `bounds` of a row by its index. False where
    /// the rounds did not suffice.
    pub(crate) fn solve(
        &mut self,
        b: &[f64],
        bounds: impl Fn(usize) -> [f64; 2],
        x: &mut [f64],
    ) -> bool {
        let n = self.size;
        let (mut fewest, mut patience) = (n + 1, PATIENCE);
        for _ in 0..100 + 10 * n {
            self.solve_as_it_is(b, &bounds, x);
            self.find_violators(b, &bounds, x);
            let count = self.violators.len();
            if count == 0 {
                return true;
            }
            if count < fewest {
                (fewest, patience) = (count, PATIENCE);
            } else if patience > 0 {
                patience -= 1;
            } else {
                self.violators.drain(..count - 1);
            }
            for &(i, activity) in &self.violators {
                self.activity[i] = activity;
            }
        }
        for (i, x) in x.iter_mut().enumerate() {
            let [lower, upper] = bounds(i);
            *x = x.clamp(lower, upper);
        }
        false
    }

    /// Lists rows that contradict (1), with where they should be.
    fn find_violators(&mut self, b: &[f64], bounds: impl Fn(usize) -> [f64; 2], x: &[f64]) {
        self.violators.clear();
        for i in 0..self.size {
            let [lower, upper] = bounds(i);
            let row = &self.matrix[i * self.size..][..self.size];
            // What rounding leaves of w.
            let scale = row.iter().zip(x).map(|(c, x)| (c * x).abs()).sum::<f64>();
            let slack = 1e-13 * (scale + b[i].abs());
            let w = || dot(row, x) - b[i];
            let side = match self.activity[i] {
                Activity::Free if x[i] < lower => Activity::Lower,
                Activity::Free if x[i] > upper => Activity::Upper,
                Activity::Lower if w() < -slack => Activity::Free,
                Activity::Upper if w() > slack => Activity::Free,
                as_it_is => as_it_is,
            };
            if side != self.activity[i] {
                self.violators.push((i, side));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The solution by trying every set of rows at their bounds.
    fn by_enumeration(c: &[Vec<f64>], b: &[f64], bounds: &[[f64; 2]]) -> Vec<f64> {
        let n = b.len();
        'sets: for set in 0..3_usize.pow(n as u32) {
            let sides: Vec<usize> = (0..n).map(|i| set / 3_usize.pow(i as u32) % 3).collect();
            let free: Vec<usize> = (0..n).filter(|&i| sides[i] == 2).collect();
            let mut x: Vec<f64> = (0..n)
                .map(|i| {
                    if sides[i] == 2 {
                        0.0
                    } else {
                        bounds[i][sides[i]]
                    }
                })
                .collect();
            if x.iter().any(|x| x.is_infinite()) {
                continue;
            }
            let mut factor = Cholesky::default();
            factor.resize(free.len());
            for (r, &i) in free.iter().enumerate() {
                for (k, &j) in free[..=r].iter().enumerate() {
                    *factor.entry(r, k) = c[i][j];
                }
            }
            factor.factorise(0.0);
            let mut y: Vec<f64> = free.iter().map(|&i| b[i] - dot(&c[i], &x)).collect();
            factor.solve(&mut y);
            free.iter().zip(&y).for_each(|(&i, y)| x[i] = *y);
            for i in 0..n {
                let w = dot(&c[i], &x) - b[i];
                let fits = match sides[i] {
                    0 => w >= -1e-9,
                    1 => w <= 1e-9,
                    _ => (bounds[i][0] - 1e-9..=bounds[i][1] + 1e-9).contains(&x[i]),
                };
                if !fits {
                    continue 'sets;
                }
            }
            return x;
        }
        unreachable!("a positive definite box problem has a solution")
    }

    fn positive_definite(n: usize, entries: &[f64]) -> Vec<Vec<f64>> {
        let row = |i: usize| &entries[i * n..][..n];
        (0..n)
            .map(|i| {
                (0..n)
                    .map(|j| dot(row(i), row(j)) + if i == j { 1e-2 } else { 0.0 })
                    .collect()
            })
            .collect()
    }

    proptest! {
        /// From any guess of which rows are at their bounds.
        #[test]
        fn box_problems_are_solved_as_by_enumeration(
            n in 1_usize..7,
            entries in prop::collection::vec(-1.0..1.0_f64, 36),
            b in prop::collection::vec(-3.0..3.0_f64, 6),
            widths in prop::collection::vec(0.01..2.0_f64, 6),
            kinds in prop::collection::vec(0..3_u8, 6),
            guess in prop::collection::vec(0..2_u8, 6),
        ) {
            let c = positive_definite(n, &entries);
            let bounds: Vec<[f64; 2]> = (0..n)
                .map(|i| if kinds[i] == 0 { [0.0, f64::INFINITY] } else { [-widths[i], widths[i]] })
                .collect();
            let mut problem = BoxProblem::default();
            problem.resize(n);
            for i in 0..n {
                (0..=i).for_each(|j| problem.set_entry(i, j, c[i][j]));
                problem.activity[i] = [Activity::Free, Activity::Lower][usize::from(guess[i])];
            }
            let mut x = vec![0.0; n];
            prop_assert!(problem.solve(&b[..n], |i| bounds[i], &mut x));
            let expected = by_enumeration(&c, &b[..n], &bounds);
            for (x, e) in x.iter().zip(&expected) {
                prop_assert!((x - e).abs() < 1e-6, "{} {}", x, e);
            }
        }
    }
}
