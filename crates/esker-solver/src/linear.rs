//! Linear algebra that several methods share: dense and sparse LU, the sparse
//! Cholesky factorisation in body space, and GMRES.

use esker_contact::BodySpace;
use faer::linalg::solvers::Solve;
use faer::sparse::linalg::solvers::{Llt, Lu, SymbolicLlt, SymbolicLu};
use faer::sparse::{SparseColMat, SparseColMatRef, SymbolicSparseColMat, Triplet};
use faer::{ColMut, Mat, Side};

/// `aᵀ b`.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// `‖a‖`.
pub fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// `y ← y + a x`.
pub fn axpy(a: f64, x: &[f64], y: &mut [f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += a * x;
    }
}

/// A factorised square matrix.
pub enum Factor {
    /// Dense LU with partial pivoting.
    Dense(faer::linalg::solvers::PartialPivLu<f64>),
    /// Sparse LU.
    Sparse(Lu<usize, f64>),
}

impl Factor {
    /// Factorises a matrix given by triplets (`row`, `column`, `value`), entries of
    /// one place added. Small or dense matrices are factorised densely.
    pub fn new(size: usize, triplets: &[(usize, usize, f64)]) -> Option<Self> {
        if size <= 150 || triplets.len() * 8 > size * size {
            let mut dense = Mat::<f64>::zeros(size, size);
            for &(i, j, v) in triplets {
                dense[(i, j)] += v;
            }
            return Some(Factor::Dense(dense.partial_piv_lu()));
        }
        let entries: Vec<_> = triplets
            .iter()
            .map(|&(row, col, val)| Triplet { row, col, val })
            .collect();
        let matrix =
            SparseColMat::<usize, f64>::try_new_from_triplets(size, size, &entries).ok()?;
        let symbolic = SymbolicLu::try_new(matrix.symbolic()).ok()?;
        Lu::try_new_with_symbolic(symbolic, matrix.as_ref())
            .ok()
            .map(Factor::Sparse)
    }

    /// Solves in place; false when the answer is not finite.
    pub fn solve(&self, rhs: &mut [f64]) -> bool {
        let column = ColMut::from_slice_mut(rhs);
        match self {
            Factor::Dense(lu) => lu.solve_in_place(column),
            Factor::Sparse(lu) => lu.solve_in_place(column),
        }
        rhs.iter().all(|v| v.is_finite())
    }
}

/// The symmetric matrix `K = diag + Gᵀ H G` over the degrees of freedom of the
/// bodies, `H` block diagonal over contacts; its pattern is fixed by the contacts.
pub struct BodyMatrix {
    symbolic: SymbolicSparseColMat<usize>,
    cholesky: SymbolicLlt<usize>,
    /// Place of every diagonal entry.
    diagonal: Vec<usize>,
    /// For every contact and every pair (i ≥ j) of its degrees of freedom, in
    /// row-major order of the lower triangle: the place of the entry.
    places: Vec<u32>,
    /// Start of a contact's pairs.
    pair_starts: Vec<usize>,
    values: Vec<f64>,
    factor: Option<Llt<usize, f64>>,
}

impl BodyMatrix {
    /// Analyses the pattern.
    pub fn new(space: &BodySpace) -> Option<Self> {
        let size = space.mass.len();
        let contacts = space.starts.len().saturating_sub(1);
        let mut columns: Vec<Vec<u32>> = (0..size as u32).map(|i| vec![i]).collect();
        for contact in 0..contacts {
            for &i in space.dofs_of(contact) {
                for &j in space.dofs_of(contact) {
                    if i > j {
                        columns[j as usize].push(i);
                    }
                }
            }
        }
        let mut starts = vec![0];
        let mut rows = Vec::new();
        for column in &mut columns {
            column.sort_unstable();
            column.dedup();
            rows.extend(column.iter().map(|&i| i as usize));
            starts.push(rows.len());
        }
        let place = |i: u32, j: u32| {
            let (row, column) = (i.max(j) as usize, i.min(j) as usize);
            let range = starts[column]..starts[column + 1];
            range.start
                + rows[range]
                    .binary_search(&row)
                    .expect("the pattern has every pair")
        };
        let mut places = Vec::new();
        let mut pair_starts = vec![0];
        for contact in 0..contacts {
            let dofs = space.dofs_of(contact);
            for (a, &i) in dofs.iter().enumerate() {
                places.extend(dofs[..=a].iter().map(|&j| place(i, j) as u32));
            }
            pair_starts.push(places.len());
        }
        let diagonal = (0..size as u32).map(|i| place(i, i)).collect();
        let values = vec![0.0; rows.len()];
        let symbolic = SymbolicSparseColMat::new_checked(size, size, starts, None, rows);
        let cholesky = SymbolicLlt::try_new(symbolic.as_ref(), Side::Lower).ok()?;
        Some(BodyMatrix {
            symbolic,
            cholesky,
            diagonal,
            places,
            pair_starts,
            values,
            factor: None,
        })
    }

    /// Starts a new matrix with this diagonal.
    pub fn begin(&mut self, diagonal: &[f64]) {
        self.values.fill(0.0);
        for (place, value) in self.diagonal.iter().zip(diagonal) {
            self.values[*place] = *value;
        }
    }

    /// Adds `G_cᵀ H_c G_c` of one contact; `h` is symmetric and row-major.
    pub fn add(&mut self, space: &BodySpace, contact: usize, h: &[f64]) {
        let b = space.block;
        let width = space.dofs_of(contact).len();
        let g = space.entries_of(contact);
        // H G, at most 6 × 12.
        let mut hg = [0.0; 72];
        for i in 0..b {
            for k in 0..b {
                let value = h[i * b + k];
                if value != 0.0 {
                    for j in 0..width {
                        hg[i * width + j] += value * g[k * width + j];
                    }
                }
            }
        }
        let mut pair = self.pair_starts[contact];
        for i in 0..width {
            for j in 0..=i {
                let mut sum = 0.0;
                for k in 0..b {
                    sum += g[k * width + i] * hg[k * width + j];
                }
                self.values[self.places[pair] as usize] += sum;
                pair += 1;
            }
        }
    }

    /// Factorises; where rounding has made the matrix indefinite, with a growing
    /// addition to the diagonal. False when nothing helps.
    pub fn factorise(&mut self) -> bool {
        let mut shift = 0.0;
        for _ in 0..4 {
            if shift > 0.0 {
                for place in &self.diagonal {
                    self.values[*place] *= 1.0 + shift;
                }
            }
            let matrix = SparseColMatRef::new(self.symbolic.as_ref(), &self.values);
            if let Ok(factor) =
                Llt::try_new_with_symbolic(self.cholesky.clone(), matrix, Side::Lower)
            {
                self.factor = Some(factor);
                return true;
            }
            shift = if shift == 0.0 { 1e-14 } else { shift * 100.0 };
        }
        false
    }

    /// Solves with the last factorisation, in place.
    pub fn solve(&self, rhs: &mut [f64]) {
        if let Some(factor) = &self.factor {
            factor.solve_in_place(ColMut::from_slice_mut(rhs));
        }
    }
}

/// `out ← (M + Gᵀ H G) x` with `h` block diagonal over contacts, row-major, symmetric or
/// not; `u` is room for one velocity per row.
pub fn apply_body_matrix(space: &BodySpace, h: &[f64], x: &[f64], u: &mut [f64], out: &mut [f64]) {
    space.gather(x, u);
    apply_blocks(space.block, h, u);
    for ((out, x), m) in out.iter_mut().zip(x).zip(&space.mass) {
        *out = m * x;
    }
    space.scatter_add(u, out);
}

/// `u ← H u`, contact by contact.
pub fn apply_blocks(b: usize, h: &[f64], u: &mut [f64]) {
    for (c, rows) in u.chunks_exact_mut(b).enumerate() {
        let mut product = [0.0; 6];
        for i in 0..b {
            product[i] = dot(&h[(c * b + i) * b..(c * b + i + 1) * b], rows);
        }
        rows.copy_from_slice(&product[..b]);
    }
}

/// Restart-free GMRES with right preconditioning: solves `A P y = b`, `x = P y`.
pub struct Gmres {
    /// Most iterations, and so most basis vectors kept.
    pub limit: usize,
    /// Residual relative to the right-hand side.
    pub tolerance: f64,
}

impl Gmres {
    /// Returns the solution and the number of iterations. `operator(v, out)`
    /// computes `A v`, `preconditioner(v)` replaces `v` by `P v`.
    pub fn solve(
        &self,
        b: &[f64],
        mut operator: impl FnMut(&[f64], &mut [f64]),
        mut preconditioner: impl FnMut(&mut [f64]),
    ) -> (Vec<f64>, usize) {
        let n = b.len();
        let beta = norm(b);
        if !(beta > 0.0) {
            return (vec![0.0; n], 0);
        }
        let mut basis: Vec<Vec<f64>> = vec![b.iter().map(|v| v / beta).collect()];
        let mut columns: Vec<Vec<f64>> = Vec::new();
        let mut rotations: Vec<(f64, f64)> = Vec::new();
        let mut rhs = vec![beta];
        for k in 0..self.limit {
            let mut z = basis[k].clone();
            preconditioner(&mut z);
            let mut w = vec![0.0; n];
            operator(&z, &mut w);
            let mut column: Vec<f64> = Vec::with_capacity(k + 2);
            for v in &basis {
                let h = dot(&w, v);
                axpy(-h, v, &mut w);
                column.push(h);
            }
            let last = norm(&w);
            column.push(last);
            for (i, &(c, s)) in rotations.iter().enumerate() {
                let (a, b) = (column[i], column[i + 1]);
                column[i] = c * a + s * b;
                column[i + 1] = -s * a + c * b;
            }
            let radius = column[k].hypot(column[k + 1]);
            if !(radius > 0.0) || !radius.is_finite() {
                break;
            }
            let (c, s) = (column[k] / radius, column[k + 1] / radius);
            rotations.push((c, s));
            column[k] = radius;
            column.truncate(k + 1);
            columns.push(column);
            let r = rhs[k];
            rhs[k] = c * r;
            rhs.push(-s * r);
            if rhs[k + 1].abs() <= self.tolerance * beta || !(last > 1e-300) {
                break;
            }
            basis.push(w.iter().map(|v| v / last).collect());
        }
        let k = columns.len();
        let mut y = rhs[..k].to_vec();
        for i in (0..k).rev() {
            for j in i + 1..k {
                y[i] -= columns[j][i] * y[j];
            }
            y[i] /= columns[i][i];
        }
        let mut x = vec![0.0; n];
        for (value, v) in y.iter().zip(&basis) {
            axpy(*value, v, &mut x);
        }
        preconditioner(&mut x);
        (x, k)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn triplets(n: usize) -> Vec<(usize, usize, f64)> {
        (0..n)
            .flat_map(|i| {
                [
                    (i, i, 4.0 + (i as f64).sin()),
                    (i, (i + 1) % n, -1.0),
                    ((i * 7 + 3) % n, i, 0.5),
                ]
            })
            .collect()
    }

    fn product(triplets: &[(usize, usize, f64)], x: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        triplets.iter().for_each(|&(i, j, v)| out[i] += v * x[j]);
    }

    #[test]
    fn dense_and_sparse_lu_and_gmres_give_the_same_solution() {
        for n in [20, 400] {
            let a = triplets(n);
            let expected: Vec<f64> = (0..n).map(|i| (i as f64 * 0.3).cos()).collect();
            let mut b = vec![0.0; n];
            product(&a, &expected, &mut b);
            let mut direct = b.clone();
            let factor = Factor::new(n, &a).expect("regular");
            assert_eq!(matches!(factor, Factor::Sparse(_)), n == 400);
            assert!(factor.solve(&mut direct));
            let gmres = Gmres {
                limit: 100,
                tolerance: 1e-13,
            };
            let (iterative, _) = gmres.solve(&b, |x, out| product(&a, x, out), |_| {});
            for i in 0..n {
                assert!((direct[i] - expected[i]).abs() < 1e-11);
                assert!((iterative[i] - expected[i]).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn body_matrix_solves_what_it_assembles() {
        let space = BodySpace {
            block: 2,
            mass: vec![2.0, 3.0, 4.0],
            starts: vec![0, 2, 4],
            dofs: vec![0, 1, 1, 2],
            entries: vec![1.0, -1.0, 0.5, 2.0, 0.3, 1.0, -2.0, 0.7],
            compliance: vec![0.0; 4],
        };
        let h = [2.0, 0.5, 0.5, 1.0];
        let mut matrix = BodyMatrix::new(&space).expect("a pattern");
        matrix.begin(&space.mass);
        (0..2).for_each(|c| matrix.add(&space, c, &h));
        assert!(matrix.factorise());
        let x = [1.0, -2.0, 0.5];
        let mut b: Vec<f64> = (0..3).map(|i| space.mass[i] * x[i]).collect();
        let (mut u, mut hu) = ([0.0; 4], [0.0; 4]);
        space.gather(&x, &mut u);
        for c in 0..2 {
            for i in 0..2 {
                hu[c * 2 + i] = h[i * 2] * u[c * 2] + h[i * 2 + 1] * u[c * 2 + 1];
            }
        }
        space.scatter_add(&hu, &mut b);
        matrix.solve(&mut b);
        for i in 0..3 {
            assert!((b[i] - x[i]).abs() < 1e-13);
        }
    }
}
