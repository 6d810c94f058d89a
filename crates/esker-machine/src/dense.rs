//! Cholesky factorisation of small dense matrices, written out: its operations have one order on
//! every machine, which those of a library that chooses instructions at run time have not.

/// A Cholesky factor `L` of a symmetric positive definite matrix; keeps its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cholesky {
    size: usize,
    /// Rows of `L`; before factorisation the lower triangle of the matrix. The diagonal has the
    /// inverse of `L`'s.
    rows: Vec<f64>,
}

impl Cholesky {
    /// Makes room for a matrix of this size; its entries are then set with [`Self::entry`].
    pub(crate) fn resize(&mut self, size: usize) {
        self.size = size;
        self.rows.clear();
        self.rows.resize(size * size, 0.0);
    }

    /// An entry on or below the diagonal.
    #[inline]
    pub(crate) fn entry(&mut self, row: usize, column: usize) -> &mut f64 {
        &mut self.rows[row * self.size + column]
    }

    /// Factorises in place. Pivots that rounding made non-positive count as `smallest`.
    pub(crate) fn factorise(&mut self, smallest: f64) {
        let n = self.size;
        for i in 0..n {
            let (done, rest) = self.rows.split_at_mut(i * n);
            let row = &mut rest[..=i];
            for j in 0..i {
                let pivot_row = &done[j * n..=j * n + j];
                let sum = dot(&row[..j], &pivot_row[..j]);
                row[j] = (row[j] - sum) * pivot_row[j];
            }
            let pivot = row[i] - dot(&row[..i], &row[..i]);
            row[i] = pivot.max(smallest).sqrt().recip();
        }
    }

    /// Solves in place.
    pub(crate) fn solve(&self, x: &mut [f64]) {
        let n = self.size;
        for i in 0..n {
            let row = &self.rows[i * n..=i * n + i];
            x[i] = (x[i] - dot(&row[..i], &x[..i])) * row[i];
        }
        self.solve_upper(x);
    }

    /// `x ← L⁻ᵀ x`.
    pub(crate) fn solve_upper(&self, x: &mut [f64]) {
        let n = self.size;
        for i in (0..n).rev() {
            let row = &self.rows[i * n..=i * n + i];
            let value = x[i] * row[i];
            x[i] = value;
            for (x, l) in x[..i].iter_mut().zip(row) {
                *x -= l * value;
            }
        }
    }
}

/// `aᵀ b`, in four partial sums that the compiler can keep in a vector register.
#[inline]
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (a4, b4) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = a4
        .remainder()
        .iter()
        .zip(b4.remainder())
        .map(|(x, y)| x * y)
        .sum();
    for (x, y) in a4.zip(b4) {
        for k in 0..4 {
            sums[k] += x[k] * y[k];
        }
    }
    (sums[0] + sums[2]) + (sums[1] + sums[3]) + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cholesky_solves_what_it_factorised() {
        let n = 7;
        let entry = |i: usize, j: usize| {
            let base = 1.0 / (1.0 + i as f64 + j as f64);
            if i == j { base + 1.0 } else { base }
        };
        let mut factor = Cholesky::default();
        factor.resize(n);
        for i in 0..n {
            for j in 0..=i {
                *factor.entry(i, j) = entry(i, j);
            }
        }
        factor.factorise(0.0);
        let expected: Vec<f64> = (0..n).map(|i| i as f64 - 2.5).collect();
        let mut x: Vec<f64> = (0..n)
            .map(|i| {
                (0..n)
                    .map(|j| entry(i.max(j), i.min(j)) * expected[j])
                    .sum()
            })
            .collect();
        factor.solve(&mut x);
        for (x, e) in x.iter().zip(&expected) {
            assert!((x - e).abs() < 1e-14, "{x} {e}");
        }
    }
}
