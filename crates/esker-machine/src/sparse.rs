//! Sparse factorisation of the equations of a large machine.
//!
//! `S x = b` with `S = G M⁻¹ Gᵀ + Σ` is solved through the quasi-definite matrix
//!
//! ```text
//! [ M  Gᵀ ] [  u ]   [  0 ]
//! [ G  −Σ ] [  x ] = [ −b ]                                               (1)
//! ```
//!
//! which has an LDLᵀ factorisation in every order of elimination, so that its pattern alone decides
//! and is analysed once. It is factorised column by column (not in dense blocks): machines are
//! chains and loops with little fill, and the operations then have one order on every machine.

use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::sparse::linalg::SupernodalThreshold;
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, LdltRef, SymbolicCholesky, SymmetricOrdering,
    factorize_symbolic_cholesky,
};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMat};
use faer::{Conj, MatMut, Par, Side, Spec};

use crate::body::WorldMass;
use crate::row::Row;

/// The matrix (1), its pattern and its factor.
pub(crate) struct SparseFactor {
    bodies: usize,
    pattern: SymbolicSparseColMat<usize>,
    symbolic: SymbolicCholesky<usize>,
    /// Upper triangle of the matrix, in the order of the pattern.
    values: Vec<f64>,
    factor: Vec<f64>,
    /// Right-hand side and solution of (1).
    solution: Vec<f64>,
    memory: MemBuffer,
}

impl std::fmt::Debug for SparseFactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SparseFactor")
            .field("size", &self.solution.len())
            .field("entries", &self.factor.len())
            .finish()
    }
}

impl SparseFactor {
    /// Analyses the pattern of a machine with these bilateral rows.
    pub(crate) fn new(bodies: usize, rows: &[Row]) -> Self {
        let size = 6 * bodies + rows.len();
        let (mut starts, mut indices) = (vec![0], Vec::new());
        for body in 0..bodies {
            for k in 0..6 {
                // Mass is diagonal, inertia an upper triangle.
                let first = if k < 3 { k } else { 3 };
                indices.extend((first..=k).map(|i| 6 * body + i));
                starts.push(indices.len());
            }
        }
        for (i, row) in rows.iter().enumerate() {
            let mut of_row: Vec<usize> = row.entries().iter().map(|e| e.body).collect();
            of_row.sort_unstable();
            indices.extend(of_row.iter().flat_map(|b| 6 * b..6 * b + 6));
            indices.push(6 * bodies + i);
            starts.push(indices.len());
        }
        let count = indices.len();
        let pattern = SymbolicSparseColMat::new_checked(size, size, starts, None, indices);
        let symbolic = factorize_symbolic_cholesky(
            pattern.as_ref(),
            Side::Upper,
            SymmetricOrdering::Amd,
            CholeskySymbolicParams {
                supernodal_flop_ratio_threshold: SupernodalThreshold::FORCE_SIMPLICIAL,
                ..Default::default()
            },
        )
        .expect("a machine's pattern fits into memory");
        let memory = MemBuffer::new(StackReq::or(
            symbolic.factorize_numeric_ldlt_scratch::<f64>(Par::Seq, Spec::default()),
            symbolic.solve_in_place_scratch::<f64>(1, Par::Seq),
        ));
        SparseFactor {
            bodies,
            factor: vec![0.0; symbolic.len_val()],
            values: vec![0.0; count],
            solution: vec![0.0; size],
            pattern,
            symbolic,
            memory,
        }
    }

    /// Factorises the matrix of the present rows; false where a pivot is zero.
    pub(crate) fn factorise(&mut self, masses: &[WorldMass], rows: &[Row]) -> bool {
        let mut at = 0;
        let mut put = |value: f64| {
            self.values[at] = value;
            at += 1;
        };
        for mass in masses {
            (0..3).for_each(|k| put(mass.mass[k]));
            for k in 0..3 {
                (0..=k).for_each(|i| put(mass.inertia.col(k)[i]));
            }
        }
        for row in rows {
            let mut order = [0, 1, 2, 3];
            let entries = row.entries();
            let order = &mut order[..entries.len()];
            order.sort_unstable_by_key(|&i| entries[i].body);
            for &i in order.iter() {
                (0..6).for_each(|k| put(entries[i].jacobian.component(k)));
            }
            put(-row.sigma);
        }
        let matrix = SparseColMatRef::new(self.pattern.as_ref(), &self.values);
        self.symbolic
            .factorize_numeric_ldlt(
                &mut self.factor,
                matrix,
                Side::Upper,
                Default::default(),
                Par::Seq,
                MemStack::new(&mut self.memory),
                Spec::default(),
            )
            .is_ok()
    }

    /// `x ← S⁻¹ x`.
    pub(crate) fn solve(&mut self, x: &mut [f64]) {
        let (bodies, rows) = self.solution.split_at_mut(6 * self.bodies);
        bodies.fill(0.0);
        for (r, x) in rows.iter_mut().zip(x.iter()) {
            *r = -x;
        }
        let size = self.solution.len();
        LdltRef::new(&self.symbolic, &self.factor).solve_in_place_with_conj(
            Conj::No,
            MatMut::from_column_major_slice_mut(&mut self.solution, size, 1),
            Par::Seq,
            MemStack::new(&mut self.memory),
        );
        x.copy_from_slice(&self.solution[6 * self.bodies..]);
    }
}
