//! The contact problem with `W` as a sparse matrix of small dense blocks:
//! what problem files contain, and what contact-space factorisations need.

use crate::cone::{ConeLimits, is_known_block};
use crate::operator::{ContactOperator, ProblemError, Sweeper};
use crate::sparse::SparseMatrix;

/// `u = W λ + q` with `W` in compressed block rows.
///
/// `W` need not be symmetric: files written with six digits are not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AssembledProblem {
    /// Rows per contact: 1, 2 (plane problems), 3 or 6.
    pub block: usize,
    /// Block row `c` has the blocks `row_starts[c]..row_starts[c + 1]`.
    pub row_starts: Vec<usize>,
    /// Contact of each block's columns, increasing within a row.
    pub columns: Vec<u32>,
    /// The blocks, row-major, `block²` numbers each, 1/kg.
    pub values: Vec<f64>,
    /// `q`, m/s.
    pub offset: Vec<f64>,
    /// Limits per contact.
    pub limits: Vec<ConeLimits>,
}

impl AssembledProblem {
    /// Builds the blocks from a scalar sparse matrix. Diagonal blocks are always
    /// stored, even when they are zero.
    ///
    /// # Errors
    /// When sizes do not fit together or an index lies outside the matrix.
    pub fn from_sparse(
        block: usize,
        matrix: &SparseMatrix,
        offset: Vec<f64>,
        limits: Vec<ConeLimits>,
    ) -> Result<Self, ProblemError> {
        if !is_known_block(block) {
            return Err(ProblemError::UnknownBlock { block });
        }
        let contacts = limits.len();
        for (what, found) in [
            ("the rows of W", matrix.rows),
            ("the columns of W", matrix.columns),
            ("the velocity offset", offset.len()),
        ] {
            if found != contacts * block {
                return Err(ProblemError::WrongLength {
                    what,
                    found,
                    expected: contacts * block,
                });
            }
        }
        matrix.check_indices("W")?;
        let mut problem = AssembledProblem {
            block,
            row_starts: vec![0],
            offset,
            limits,
            ..Default::default()
        };
        let mut place = vec![usize::MAX; contacts];
        for contact in 0..contacts {
            let first = problem.columns.len();
            let rows = contact * block..(contact + 1) * block;
            let mut columns: Vec<u32> = rows
                .clone()
                .flat_map(|row| matrix.row(row).map(|(column, _)| (column / block) as u32))
                .chain([contact as u32])
                .collect();
            columns.sort_unstable();
            columns.dedup();
            for (k, &column) in columns.iter().enumerate() {
                place[column as usize] = first + k;
            }
            problem.columns.extend_from_slice(&columns);
            problem
                .values
                .resize(problem.columns.len() * block * block, 0.0);
            for row in rows {
                for (column, value) in matrix.row(row) {
                    let at = place[column / block] * block * block
                        + (row % block) * block
                        + column % block;
                    problem.values[at] += value;
                }
            }
            problem.row_starts.push(problem.columns.len());
        }
        Ok(problem)
    }

    /// The scalar sparse matrix `W`, explicit zeros of the blocks left out.
    pub fn to_sparse(&self) -> SparseMatrix {
        let b = self.block;
        let mut triplets = Vec::with_capacity(self.values.len());
        for contact in 0..self.limits.len() {
            for k in self.row_starts[contact]..self.row_starts[contact + 1] {
                let column = self.columns[k] as usize;
                for (i, value) in self.values[k * b * b..(k + 1) * b * b].iter().enumerate() {
                    if *value != 0.0 {
                        triplets.push((contact * b + i / b, column * b + i % b, *value));
                    }
                }
            }
        }
        let n = self.limits.len() * b;
        SparseMatrix::from_triplets(n, n, &triplets)
    }

    /// The stored blocks of a block row: contact of the columns and entries.
    #[inline]
    pub fn row(&self, contact: usize) -> impl Iterator<Item = (usize, &[f64])> {
        let size = self.block * self.block;
        (self.row_starts[contact]..self.row_starts[contact + 1]).map(move |k| {
            (
                self.columns[k] as usize,
                &self.values[k * size..(k + 1) * size],
            )
        })
    }

    /// `u_c ← W_c λ` for one block row.
    #[inline]
    fn row_product(&self, contact: usize, lambda: &[f64], u: &mut [f64]) {
        match self.block {
            3 => self.row_product_of::<3>(contact, lambda, u),
            2 => self.row_product_of::<2>(contact, lambda, u),
            6 => self.row_product_of::<6>(contact, lambda, u),
            _ => self.row_product_of::<1>(contact, lambda, u),
        }
    }

    #[inline]
    fn row_product_of<const B: usize>(&self, contact: usize, lambda: &[f64], u: &mut [f64]) {
        let mut sum = [0.0; B];
        for k in self.row_starts[contact]..self.row_starts[contact + 1] {
            let x = &lambda[self.columns[k] as usize * B..][..B];
            let w = &self.values[k * B * B..][..B * B];
            for i in 0..B {
                for j in 0..B {
                    sum[i] += w[i * B + j] * x[j];
                }
            }
        }
        u.copy_from_slice(&sum);
    }
}

impl ContactOperator for AssembledProblem {
    fn contacts(&self) -> usize {
        self.limits.len()
    }

    fn block(&self) -> usize {
        self.block
    }

    fn limits(&self, contact: usize) -> ConeLimits {
        self.limits[contact]
    }

    fn offset(&self) -> &[f64] {
        &self.offset
    }

    fn product(&self, lambda: &[f64], u: &mut [f64]) {
        for (contact, rows) in u.chunks_exact_mut(self.block).enumerate() {
            self.row_product(contact, lambda, rows);
        }
    }

    fn diagonal_block(&self, contact: usize, out: &mut [f64]) {
        out.fill(0.0);
        if let Some((_, values)) = self.row(contact).find(|(column, _)| *column == contact) {
            out.copy_from_slice(values);
        }
    }

    fn sweeper<'a>(&'a self) -> Box<dyn Sweeper + 'a> {
        Box::new(AssembledSweeper {
            problem: self,
            lambda: vec![0.0; self.rows()],
        })
    }

    fn assemble(&self) -> AssembledProblem {
        self.clone()
    }
}

/// Recomputes a contact's velocity from its block row: no drift, and no
/// symmetry of `W` is assumed.
struct AssembledSweeper<'a> {
    problem: &'a AssembledProblem,
    lambda: Vec<f64>,
}

impl Sweeper for AssembledSweeper<'_> {
    fn reset(&mut self, lambda: &[f64]) {
        self.lambda.copy_from_slice(lambda);
    }

    #[inline]
    fn velocity(&self, contact: usize, u: &mut [f64]) {
        self.problem.row_product(contact, &self.lambda, u);
        let first = contact * self.problem.block;
        for (u, q) in u.iter_mut().zip(&self.problem.offset[first..]) {
            *u += q;
        }
    }

    #[inline]
    fn add(&mut self, contact: usize, delta: &[f64]) {
        let first = contact * self.problem.block;
        for (x, d) in self.lambda[first..].iter_mut().zip(delta) {
            *x += d;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain() -> AssembledProblem {
        let triplets: Vec<_> = (0..6)
            .map(|i| (i, i, 2.0 + i as f64))
            .chain([(0, 3, -1.0), (3, 0, -1.0), (2, 4, 0.25)])
            .collect();
        AssembledProblem::from_sparse(
            3,
            &SparseMatrix::from_triplets(6, 6, &triplets),
            vec![1.0, 2.0, 3.0, -1.0, 0.0, 0.5],
            vec![ConeLimits::coulomb(0.5); 2],
        )
        .expect("sizes fit")
    }

    #[test]
    fn blocks_keep_every_entry_of_the_scalar_matrix() {
        let problem = chain();
        let x = [1.0, -2.0, 0.5, 3.0, 4.0, -1.0];
        let mut by_blocks = [0.0; 6];
        problem.product(&x, &mut by_blocks);
        let scalar = problem.to_sparse();
        for (i, value) in by_blocks.iter().enumerate() {
            let expected: f64 = scalar.row(i).map(|(j, v)| v * x[j]).sum();
            assert_eq!(*value, expected);
        }
    }

    #[test]
    fn sweeper_velocity_equals_the_product() {
        let problem = chain();
        let mut lambda = vec![0.5; 6];
        let mut sweeper = problem.sweeper();
        sweeper.reset(&lambda);
        sweeper.add(1, &[1.0, -2.0, 3.0]);
        for (x, d) in lambda[3..].iter_mut().zip([1.0, -2.0, 3.0]) {
            *x += d;
        }
        let mut expected = vec![0.0; 6];
        problem.product(&lambda, &mut expected);
        for contact in 0..2 {
            let mut u = [0.0; 3];
            sweeper.velocity(contact, &mut u);
            for i in 0..3 {
                let row = contact * 3 + i;
                assert!((u[i] - expected[row] - problem.offset[row]).abs() < 1e-14);
            }
        }
    }

    #[test]
    fn wrong_sizes_are_named() {
        let matrix = SparseMatrix::from_triplets(3, 3, &[]);
        let error = AssembledProblem::from_sparse(3, &matrix, vec![0.0; 3], vec![]);
        assert!(matches!(error, Err(ProblemError::WrongLength { .. })));
        let outside = SparseMatrix {
            indices: vec![7],
            values: vec![1.0],
            starts: vec![0, 1, 1, 1],
            ..matrix
        };
        let error =
            AssembledProblem::from_sparse(3, &outside, vec![0.0; 3], vec![ConeLimits::default()]);
        assert!(matches!(error, Err(ProblemError::IndexOutside { .. })));
    }
}
