//! A plain sparse matrix in compressed rows: the currency between problem
//! files, the reduction of the global form, and block assembly.

use crate::operator::ProblemError;

/// A sparse matrix in compressed rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SparseMatrix {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// Row `i` has the entries `starts[i]..starts[i + 1]`.
    pub starts: Vec<usize>,
    /// Column of each entry, increasing within a row.
    pub indices: Vec<usize>,
    /// Value of each entry.
    pub values: Vec<f64>,
}

impl SparseMatrix {
    /// Builds a matrix from `(row, column, value)`; entries of one place are added.
    ///
    /// # Panics
    /// When an index lies outside; file readers check first.
    pub fn from_triplets(rows: usize, columns: usize, triplets: &[(usize, usize, f64)]) -> Self {
        let mut sorted = triplets.to_vec();
        sorted.sort_by_key(|&(i, j, _)| (i, j));
        let mut matrix = SparseMatrix {
            rows,
            columns,
            starts: vec![0; rows + 1],
            ..Default::default()
        };
        let mut last = None;
        for (i, j, value) in sorted {
            assert!(
                i < rows && j < columns,
                "triplet ({i}, {j}) outside {rows} × {columns}"
            );
            if last == Some((i, j)) {
                *matrix
                    .values
                    .last_mut()
                    .expect("an entry precedes a repeated one") += value;
            } else {
                matrix.indices.push(j);
                matrix.values.push(value);
                matrix.starts[i + 1] += 1;
                last = Some((i, j));
            }
        }
        for i in 0..rows {
            matrix.starts[i + 1] += matrix.starts[i];
        }
        matrix
    }

    /// Entries `(column, value)` of a row.
    #[inline]
    pub fn row(&self, row: usize) -> impl Iterator<Item = (usize, f64)> {
        let range = self.starts[row]..self.starts[row + 1];
        self.indices[range.clone()]
            .iter()
            .copied()
            .zip(self.values[range].iter().copied())
    }

    /// All entries as `(row, column, value)`.
    pub fn triplets(&self) -> Vec<(usize, usize, f64)> {
        (0..self.rows)
            .flat_map(|i| self.row(i).map(move |(j, v)| (i, j, v)))
            .collect()
    }

    /// The transposed matrix.
    pub fn transposed(&self) -> Self {
        let swapped: Vec<_> = self.triplets().iter().map(|&(i, j, v)| (j, i, v)).collect();
        SparseMatrix::from_triplets(self.columns, self.rows, &swapped)
    }

    /// The full symmetric matrix when only one triangle is stored; otherwise the
    /// matrix as it is.
    pub fn with_both_triangles(self) -> Self {
        let triplets = self.triplets();
        let above = triplets.iter().any(|&(i, j, v)| j > i && v != 0.0);
        let below = triplets.iter().any(|&(i, j, v)| j < i && v != 0.0);
        if above == below {
            return self;
        }
        let full: Vec<_> = triplets
            .iter()
            .flat_map(|&(i, j, v)| [Some((i, j, v)), (i != j).then_some((j, i, v))])
            .flatten()
            .collect();
        SparseMatrix::from_triplets(self.rows, self.columns, &full)
    }

    /// # Errors
    /// When an entry lies outside the matrix.
    pub fn check_indices(&self, what: &'static str) -> Result<(), ProblemError> {
        match self.indices.iter().find(|&&j| j >= self.columns) {
            Some(_) => Err(ProblemError::IndexOutside {
                what,
                limit: self.columns,
            }),
            None => Ok(()),
        }
    }
}
