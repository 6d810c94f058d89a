//! The contact problem with explicit masses, as problem files may give it:
//!
//! ```text
//! M v = H λ + f,   u = Hᵀ v + w                                         (1)
//! W = Hᵀ M⁻¹ H,    q = Hᵀ M⁻¹ f + w.                                    (2)
//! ```

use crate::assembled::AssembledProblem;
use crate::cone::ConeLimits;
use crate::operator::ProblemError;
use crate::sparse::SparseMatrix;

/// A contact problem in the global form (1).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GlobalProblem {
    /// Rows per contact.
    pub block: usize,
    /// `M`, symmetric, both triangles.
    pub mass: SparseMatrix,
    /// `H`: degrees of freedom by contact rows.
    pub transfer: SparseMatrix,
    /// `f`, one entry per degree of freedom.
    pub force: Vec<f64>,
    /// `w`, one entry per contact row.
    pub offset: Vec<f64>,
    /// Limits per contact.
    pub limits: Vec<ConeLimits>,
}

/// Largest connected part of `M` that [`GlobalProblem::reduce`] inverts densely.
const LARGEST_PART: usize = 3000;

impl GlobalProblem {
    /// Eliminates the velocities by (2).
    ///
    /// Rigid bodies make `M` block diagonal; every connected part of its graph is
    /// factorised densely and separately, so `W` stays as sparse as the contact graph.
    ///
    /// # Errors
    /// When sizes do not fit, `M` is singular, or one part is too large.
    pub fn reduce(&self) -> Result<AssembledProblem, ProblemError> {
        self.check()?;
        let (dofs, rows) = (self.mass.rows, self.transfer.columns);
        let parts = connected_parts(&self.mass);
        let mut offset = self.offset.clone();
        let mut triplets = Vec::new();
        for part in &parts {
            if part.len() > LARGEST_PART {
                return Err(ProblemError::MassTooCoupled {
                    size: part.len(),
                    limit: LARGEST_PART,
                });
            }
            let mut place = vec![usize::MAX; dofs];
            for (k, &dof) in part.iter().enumerate() {
                place[dof] = k;
            }
            let size = part.len();
            let mut dense = vec![0.0; size * size];
            for (k, &dof) in part.iter().enumerate() {
                for (column, value) in self.mass.row(dof) {
                    dense[k * size + place[column]] += value;
                }
            }
            let factor = DenseLu::new(dense, size)
                .map_err(|k| ProblemError::SingularMass { dof: part[k] })?;
            // Rows of H on this part, column by column: M⁻¹ H restricted to it.
            let mut touched: Vec<usize> = part
                .iter()
                .flat_map(|&dof| self.transfer.row(dof).map(|(column, _)| column))
                .collect();
            touched.sort_unstable();
            touched.dedup();
            let mut column_of = vec![usize::MAX; rows];
            for (k, &column) in touched.iter().enumerate() {
                column_of[column] = k;
            }
            let mut columns = vec![vec![0.0; size]; touched.len()];
            for (k, &dof) in part.iter().enumerate() {
                for (column, value) in self.transfer.row(dof) {
                    columns[column_of[column]][k] += value;
                }
            }
            let force = factor.solve(part.iter().map(|&dof| self.force[dof]).collect());
            for (j, column) in columns.iter().enumerate() {
                offset[touched[j]] += dot(column, &force);
                let response = factor.solve(column.clone());
                for (i, other) in columns.iter().enumerate() {
                    triplets.push((touched[i], touched[j], dot(other, &response)));
                }
            }
        }
        let matrix = SparseMatrix::from_triplets(rows, rows, &triplets);
        AssembledProblem::from_sparse(self.block, &matrix, offset, self.limits.clone())
    }

    fn check(&self) -> Result<(), ProblemError> {
        let dofs = self.mass.rows;
        let rows = self.limits.len() * self.block;
        for (what, found, expected) in [
            ("the columns of M", self.mass.columns, dofs),
            ("the rows of H", self.transfer.rows, dofs),
            ("the columns of H", self.transfer.columns, rows),
            ("the force vector", self.force.len(), dofs),
            ("the velocity offset", self.offset.len(), rows),
        ] {
            if found != expected {
                return Err(ProblemError::WrongLength {
                    what,
                    found,
                    expected,
                });
            }
        }
        self.mass.check_indices("M")?;
        self.transfer.check_indices("H")
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Connected parts of the graph of a symmetric matrix, each in increasing order.
fn connected_parts(matrix: &SparseMatrix) -> Vec<Vec<usize>> {
    let mut seen = vec![false; matrix.rows];
    let mut parts = Vec::new();
    for first in 0..matrix.rows {
        if seen[first] {
            continue;
        }
        seen[first] = true;
        let mut part = vec![first];
        let mut next = 0;
        while next < part.len() {
            for (column, _) in matrix.row(part[next]) {
                if !seen[column] {
                    seen[column] = true;
                    part.push(column);
                }
            }
            next += 1;
        }
        part.sort_unstable();
        parts.push(part);
    }
    parts
}

/// LU factors with partial pivoting; masses are small and nearly always diagonal.
struct DenseLu {
    factors: Vec<f64>,
    order: Vec<usize>,
    size: usize,
}

impl DenseLu {
    /// Factorises a row-major matrix; the error is the index of a zero pivot.
    fn new(mut a: Vec<f64>, size: usize) -> Result<Self, usize> {
        let mut order: Vec<usize> = (0..size).collect();
        for k in 0..size {
            let pivot = (k..size)
                .max_by(|&i, &j| a[i * size + k].abs().total_cmp(&a[j * size + k].abs()))
                .unwrap_or(k);
            if !(a[pivot * size + k].abs() > 0.0) {
                return Err(k);
            }
            if pivot != k {
                order.swap(k, pivot);
                for j in 0..size {
                    a.swap(k * size + j, pivot * size + j);
                }
            }
            let (head, tail) = a.split_at_mut((k + 1) * size);
            let pivot_row = &head[k * size..];
            for row in tail.chunks_exact_mut(size) {
                let factor = row[k] / pivot_row[k];
                row[k] = factor;
                if factor != 0.0 {
                    for j in k + 1..size {
                        row[j] -= factor * pivot_row[j];
                    }
                }
            }
        }
        Ok(DenseLu {
            factors: a,
            order,
            size,
        })
    }

    fn solve(&self, b: Vec<f64>) -> Vec<f64> {
        let n = self.size;
        let mut x: Vec<f64> = self.order.iter().map(|&i| b[i]).collect();
        for i in 0..n {
            x[i] -= dot(&self.factors[i * n..i * n + i], &x[..i]);
        }
        for i in (0..n).rev() {
            let row = &self.factors[i * n..(i + 1) * n];
            x[i] = (x[i] - dot(&row[i + 1..], &x[i + 1..])) / row[i];
        }
        x
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::ContactOperator;

    /// One body with a full 3 × 3 mass, one contact that sees it through a
    /// rotation-like H: the reduced problem must act as M v = Hλ + f does.
    #[test]
    fn reduction_gives_the_velocity_of_the_global_form() {
        let m = [[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]];
        let upper: Vec<_> = (0..3)
            .flat_map(|i| (i..3).map(move |j| (i, j, m[i][j])))
            .collect();
        let h = [[0.6, 0.8, 0.1], [-0.8, 0.6, 0.0], [0.3, 0.0, 1.0]];
        let problem = GlobalProblem {
            block: 3,
            mass: SparseMatrix::from_triplets(3, 3, &upper).with_both_triangles(),
            transfer: SparseMatrix::from_triplets(
                3,
                3,
                &(0..9)
                    .map(|k| (k / 3, k % 3, h[k / 3][k % 3]))
                    .collect::<Vec<_>>(),
            ),
            force: vec![1.0, -2.0, 0.5],
            offset: vec![0.1, 0.2, 0.3],
            limits: vec![ConeLimits::coulomb(0.3)],
        };
        let reduced = problem.reduce().expect("M is regular");
        let lambda = [2.0, -0.5, 0.25];
        let mut u = [0.0; 3];
        reduced.product(&lambda, &mut u);
        // v from M v = Hλ + f, checked by multiplying back.
        let rhs: Vec<f64> = (0..3)
            .map(|i| dot(&h[i], &lambda) + problem.force[i])
            .collect();
        let v = DenseLu::new(m.concat(), 3)
            .unwrap_or_else(|dof| panic!("M is singular at {dof}"))
            .solve(rhs.clone());
        for i in 0..3 {
            assert!((dot(&m[i], &v) - rhs[i]).abs() < 1e-12);
        }
        for j in 0..3 {
            let expected: f64 = (0..3).map(|i| h[i][j] * v[i]).sum::<f64>() + problem.offset[j];
            assert!((u[j] + reduced.offset[j] - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn singular_mass_is_named() {
        let problem = GlobalProblem {
            block: 1,
            mass: SparseMatrix::from_triplets(1, 1, &[(0, 0, 0.0)]),
            transfer: SparseMatrix::from_triplets(1, 1, &[(0, 0, 1.0)]),
            force: vec![0.0],
            offset: vec![0.0],
            limits: vec![ConeLimits::default()],
        };
        assert_eq!(problem.reduce(), Err(ProblemError::SingularMass { dof: 0 }));
    }
}
