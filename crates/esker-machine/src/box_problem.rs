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
            self.factorise();
            for i in 0..n {
                x[i] = match self.activity[i] {
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
