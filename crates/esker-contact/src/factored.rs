//! Contact problems by the factors of `W = G M⁻¹ Gᵀ + Σ`: any number of degrees of freedom per
//! contact, not only those of two bodies. A contact with a machine touches all of the machine's.
//!
//! Only one kind of set is needed for what is no contact: a cone. A row `λ ≥ 0` is a contact
//! without friction, and a row with bounds `|λ| ≤ b`, as a motor has, is the friction of a
//! contact whose normal row stands alone and is always pressed with `b`
//! ([`FactoredOperator::push_bounded`]). Rows without any bound are eliminated before: a machine
//! has degrees of freedom in which its joints are part of the mass.

use crate::assembled::AssembledProblem;
use crate::body_form::BodyOperator;
use crate::cone::ConeLimits;
use crate::operator::{ContactOperator, ProblemError, Sweeper};
use crate::sparse::SparseMatrix;
use glam::DVec3;

/// The factors of `W = G M⁻¹ Gᵀ + Σ`. A contact touches few degrees of
/// freedom: its rows of `G` are a dense block over a short list of them.
#[derive(Clone, Debug)]
pub struct BodySpace {
    /// Rows per contact.
    pub block: usize,
    /// Diagonal of `M`, one entry per degree of freedom that contacts can move.
    pub mass: Vec<f64>,
    /// Contact `c` touches `dofs[starts[c]..starts[c + 1]]`.
    pub starts: Vec<usize>,
    /// Degrees of freedom of the contacts, one after the other.
    pub dofs: Vec<u32>,
    /// Entries of `G`: for contact `c`, `block` rows of as many columns as it has
    /// degrees of freedom, from `block * starts[c]`.
    pub entries: Vec<f64>,
    /// Diagonal of `Σ`, one entry per row.
    pub compliance: Vec<f64>,
}

impl BodySpace {
    /// No contacts yet between degrees of freedom of these masses.
    pub fn new(block: usize, mass: Vec<f64>) -> Self {
        BodySpace {
            block,
            mass,
            starts: vec![0],
            dofs: Vec::new(),
            entries: Vec::new(),
            compliance: Vec::new(),
        }
    }

    /// Number of contacts.
    pub fn contacts(&self) -> usize {
        self.starts.len() - 1
    }

    /// Degrees of freedom of a contact.
    #[inline]
    pub fn dofs_of(&self, contact: usize) -> &[u32] {
        &self.dofs[self.starts[contact]..self.starts[contact + 1]]
    }

    /// Row-major block of `G` of a contact.
    #[inline]
    pub fn entries_of(&self, contact: usize) -> &[f64] {
        &self.entries[self.block * self.starts[contact]..self.block * self.starts[contact + 1]]
    }

    /// `u ← G w`.
    pub fn gather(&self, w: &[f64], u: &mut [f64]) {
        for (contact, rows) in u.chunks_exact_mut(self.block).enumerate() {
            let dofs = self.dofs_of(contact);
            if dofs.is_empty() {
                rows.fill(0.0);
                continue;
            }
            for (row, g) in rows
                .iter_mut()
                .zip(self.entries_of(contact).chunks_exact(dofs.len()))
            {
                *row = g.iter().zip(dofs).map(|(g, &d)| g * w[d as usize]).sum();
            }
        }
    }

    /// `f ← f + Gᵀ λ`.
    pub fn scatter_add(&self, lambda: &[f64], f: &mut [f64]) {
        for (contact, rows) in lambda.chunks_exact(self.block).enumerate() {
            let dofs = self.dofs_of(contact);
            if dofs.is_empty() {
                continue;
            }
            for (row, g) in rows
                .iter()
                .zip(self.entries_of(contact).chunks_exact(dofs.len()))
            {
                for (g, &d) in g.iter().zip(dofs) {
                    f[d as usize] += g * row;
                }
            }
        }
    }

    /// Adds a contact that touches these degrees of freedom: its rows of `G`, one after the other,
    /// and its part of the diagonal of `Σ`.
    pub fn push(&mut self, dofs: &[u32], rows: &[f64], compliance: &[f64]) {
        assert_eq!(rows.len(), self.block * dofs.len());
        assert_eq!(compliance.len(), self.block);
        self.dofs.extend_from_slice(dofs);
        self.entries.extend_from_slice(rows);
        self.compliance.extend_from_slice(compliance);
        self.starts.push(self.dofs.len());
    }

    /// The problem with `W` as a sparse matrix.
    pub fn assemble(&self, offset: Vec<f64>, limits: Vec<ConeLimits>) -> AssembledProblem {
        let contacts = self.contacts();
        let mut by_dof: Vec<Vec<(u32, usize)>> = vec![Vec::new(); self.mass.len()];
        for contact in 0..contacts {
            for (k, &dof) in self.dofs_of(contact).iter().enumerate() {
                by_dof[dof as usize].push((contact as u32, k));
            }
        }
        let n = self.block;
        let column = |contact: u32, k: usize, row: usize| {
            let width = self.dofs_of(contact as usize).len();
            self.entries_of(contact as usize)[row * width + k]
        };
        let mut triplets = Vec::new();
        for (dof, touching) in by_dof.iter().enumerate() {
            for &(ci, ki) in touching {
                for &(cj, kj) in touching {
                    for i in 0..n {
                        for j in 0..n {
                            let value = column(ci, ki, i) * column(cj, kj, j) / self.mass[dof];
                            if value != 0.0 {
                                triplets.push((ci as usize * n + i, cj as usize * n + j, value));
                            }
                        }
                    }
                }
            }
        }
        triplets.extend(
            self.compliance
                .iter()
                .enumerate()
                .filter(|(_, s)| **s != 0.0)
                .map(|(row, s)| (row, row, *s)),
        );
        let rows = contacts * n;
        let matrix = SparseMatrix::from_triplets(rows, rows, &triplets);
        AssembledProblem::from_sparse(n, &matrix, offset, limits)
            .expect("the rows of a body-form problem fit together")
    }
}

/// A side of a contact that moves with degrees of freedom of a machine.
#[derive(Clone, Debug)]
pub struct CoupledSide {
    /// The contact; sides are listed in the order of contacts.
    pub contact: usize,
    /// Zero for body `a`, one for `b`.
    pub side: usize,
    /// The first of its degrees of freedom, counted after those of the bodies.
    pub first: u32,
    /// Velocity and angular velocity of the surface at the contact per unit of each.
    pub motions: Vec<[DVec3; 2]>,
}

/// A contact problem by its factors.
#[derive(Clone, Debug)]
pub struct FactoredOperator {
    space: BodySpace,
    offset: Vec<f64>,
    limits: Vec<ConeLimits>,
}

impl FactoredOperator {
    /// The problem with these factors, `q` and limits.
    ///
    /// # Errors
    /// When their sizes differ.
    pub fn new(
        space: BodySpace,
        offset: Vec<f64>,
        limits: Vec<ConeLimits>,
    ) -> Result<Self, ProblemError> {
        let contacts = space.contacts();
        for (what, found, expected) in [
            ("the velocity offset", offset.len(), contacts * space.block),
            ("the list of limits", limits.len(), contacts),
            (
                "the compliance",
                space.compliance.len(),
                contacts * space.block,
            ),
        ] {
            if found != expected {
                return Err(ProblemError::WrongLength {
                    what,
                    found,
                    expected,
                });
            }
        }
        Ok(FactoredOperator {
            space,
            offset,
            limits,
        })
    }

    /// The problem of an operator in which some sides of contacts have degrees of freedom of
    /// their own, of these masses, instead of those of a body that contacts can move.
    pub fn with_coupled_sides(
        operator: &BodyOperator<'_>,
        mass: &[f64],
        sides: &[CoupledSide],
    ) -> Self {
        let own = operator.space();
        let block = own.block;
        let first = own.mass.len() as u32;
        let mut space = BodySpace::new(block, [&own.mass[..], mass].concat());
        let mut sides = sides.iter().peekable();
        for contact in 0..own.contacts() {
            let mut dofs = own.dofs_of(contact).to_vec();
            let mut columns: Vec<Vec<f64>> = (0..dofs.len())
                .map(|k| {
                    let entries = own.entries_of(contact);
                    (0..block)
                        .map(|row| entries[row * dofs.len() + k])
                        .collect()
                })
                .collect();
            while let Some(side) = sides.next_if(|side| side.contact == contact) {
                let [translation, rotation] = operator.columns(contact, side.side);
                for (k, motion) in side.motions.iter().enumerate() {
                    let of_row = |row: usize| {
                        let linear = (0..3).map(|x| translation[x][row] * motion[0][x]);
                        let angular = (0..3).map(|x| rotation[x][row] * motion[1][x]);
                        linear.chain(angular).sum::<f64>()
                    };
                    let column = (0..block).map(of_row);
                    let dof = first + side.first + k as u32;
                    match dofs.iter().position(|&known| known == dof) {
                        Some(k) => {
                            let both = columns[k].iter_mut().zip(column);
                            both.for_each(|(sum, entry)| *sum += entry);
                        }
                        None => {
                            dofs.push(dof);
                            columns.push(column.collect());
                        }
                    }
                }
            }
            let rows: Vec<f64> = (0..block)
                .flat_map(|row| columns.iter().map(move |column| column[row]))
                .collect();
            let compliance = &own.compliance[block * contact..block * (contact + 1)];
            space.push(&dofs, &rows, compliance);
        }
        FactoredOperator {
            space,
            offset: operator.offset().to_vec(),
            limits: (0..operator.contacts())
                .map(|c| operator.limits(c))
                .collect(),
        }
    }

    /// The factors.
    pub fn space(&self) -> &BodySpace {
        &self.space
    }

    /// Adds a row of `G` whose impulse is not negative: a limit of a joint. `offset` is its
    /// velocity without impulses, less the target.
    pub fn push_unilateral(&mut self, dofs: &[u32], row: &[f64], (offset, compliance): (f64, f64)) {
        self.push_row(0, dofs, row, (offset, compliance));
        self.limits.push(ConeLimits::default());
    }

    /// Adds a row of `G` whose impulse is between `−bound` and `bound` (at least zero): a motor.
    /// It is the first friction row of its block, with the friction coefficient one.
    pub fn push_bounded(
        &mut self,
        dofs: &[u32],
        row: &[f64],
        (offset, compliance): (f64, f64),
        bound: f64,
    ) {
        let mobility = self.push_row(1, dofs, row, (offset, compliance));
        let first = self.offset.len() - self.space.block;
        // 0 ≤ p ⟂ mobility (p − bound) ≥ 0.
        self.offset[first] = -mobility * bound;
        self.space.compliance[first] = mobility;
        self.limits.push(ConeLimits {
            friction: 1.0,
            ..ConeLimits::default()
        });
    }

    /// Adds a block that has this row alone; the others have the same mobility and nothing to do.
    /// Returns the mobility of the row.
    fn push_row(
        &mut self,
        place: usize,
        dofs: &[u32],
        row: &[f64],
        (offset, compliance): (f64, f64),
    ) -> f64 {
        let block = self.space.block;
        let of_dofs = dofs.iter().zip(row);
        let mobility: f64 = of_dofs
            .map(|(&d, g)| g * g / self.space.mass[d as usize])
            .sum::<f64>()
            + compliance;
        let mut rows = vec![0.0; block * dofs.len()];
        rows[place * dofs.len()..(place + 1) * dofs.len()].copy_from_slice(row);
        let mut compliances = vec![mobility; block];
        compliances[place] = compliance;
        self.space.push(dofs, &rows, &compliances);
        let mut offsets = vec![0.0; block];
        offsets[place] = offset;
        self.offset.extend(offsets);
        mobility
    }

    /// The same problem with `W` as a sparse matrix.
    pub fn assemble(&self) -> AssembledProblem {
        self.space
            .assemble(self.offset.clone(), self.limits.clone())
    }

    /// Velocities `M⁻¹ Gᵀ λ` of the degrees of freedom.
    pub fn velocities(&self, lambda: &[f64]) -> Vec<f64> {
        let mut velocities = vec![0.0; self.space.mass.len()];
        self.space.scatter_add(lambda, &mut velocities);
        for (v, m) in velocities.iter_mut().zip(&self.space.mass) {
            *v /= m;
        }
        velocities
    }
}

impl ContactOperator for FactoredOperator {
    fn contacts(&self) -> usize {
        self.limits.len()
    }

    fn block(&self) -> usize {
        self.space.block
    }

    fn limits(&self, contact: usize) -> ConeLimits {
        self.limits[contact]
    }

    fn offset(&self) -> &[f64] {
        &self.offset
    }

    fn product(&self, lambda: &[f64], u: &mut [f64]) {
        self.space.gather(&self.velocities(lambda), u);
        for ((u, s), x) in u.iter_mut().zip(&self.space.compliance).zip(lambda) {
            *u += s * x;
        }
    }

    fn diagonal_block(&self, contact: usize, out: &mut [f64]) {
        let n = self.space.block;
        let (dofs, g) = (self.space.dofs_of(contact), self.space.entries_of(contact));
        let width = dofs.len();
        for i in 0..n {
            for j in 0..n {
                let entries = dofs.iter().enumerate().map(|(k, &d)| {
                    g[i * width + k] * g[j * width + k] / self.space.mass[d as usize]
                });
                out[i * n + j] = entries.sum();
            }
            out[i * n + i] += self.space.compliance[contact * n + i];
        }
    }

    fn sweeper<'a>(&'a self) -> Box<dyn Sweeper + 'a> {
        Box::new(FactoredSweeper {
            operator: self,
            velocities: vec![0.0; self.space.mass.len()],
            lambda: vec![0.0; self.rows()],
        })
    }

    fn assemble(&self) -> AssembledProblem {
        self.space
            .assemble(self.offset.clone(), self.limits.clone())
    }

    fn body_space(&self) -> Option<BodySpace> {
        Some(self.space.clone())
    }
}

/// Velocities of the degrees of freedom for the present impulses.
struct FactoredSweeper<'a> {
    operator: &'a FactoredOperator,
    velocities: Vec<f64>,
    lambda: Vec<f64>,
}

impl Sweeper for FactoredSweeper<'_> {
    fn reset(&mut self, lambda: &[f64]) {
        self.lambda.copy_from_slice(lambda);
        self.velocities = self.operator.velocities(lambda);
    }

    fn velocity(&self, contact: usize, u: &mut [f64]) {
        let FactoredOperator { space, offset, .. } = self.operator;
        let dofs = space.dofs_of(contact);
        let first = contact * space.block;
        for (i, u) in u.iter_mut().enumerate() {
            let g = &space.entries_of(contact)[i * dofs.len()..(i + 1) * dofs.len()];
            let moved = g
                .iter()
                .zip(dofs)
                .map(|(g, &d)| g * self.velocities[d as usize]);
            let yields = space.compliance[first + i] * self.lambda[first + i];
            *u = moved.sum::<f64>() + yields + offset[first + i];
        }
    }

    fn add(&mut self, contact: usize, delta: &[f64]) {
        let space = &self.operator.space;
        let dofs = space.dofs_of(contact);
        for (i, x) in delta.iter().enumerate() {
            self.lambda[contact * space.block + i] += x;
            let g = &space.entries_of(contact)[i * dofs.len()..(i + 1) * dofs.len()];
            for (g, &d) in g.iter().zip(dofs) {
                self.velocities[d as usize] += g * x / space.mass[d as usize];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One mass of 2 kg on a line.
    fn one_mass() -> FactoredOperator {
        FactoredOperator::new(BodySpace::new(3, vec![2.0]), Vec::new(), Vec::new())
            .expect("sizes fit")
    }

    /// The block of a bounded row is pressed with its bound whatever the row does, so the
    /// friction row has the law of a motor.
    #[test]
    fn a_bounded_row_is_friction_under_a_constant_load() {
        let mut problem = one_mass();
        problem.push_bounded(&[0], &[1.0], (-3.0, 0.25), 0.7);
        let mut u = [0.0; 3];
        problem.product(&[0.7, 0.4, 0.0], &mut u);
        let u: Vec<f64> = u.iter().zip(problem.offset()).map(|(u, q)| u + q).collect();
        assert!(u[0].abs() < 1e-15, "pressed with the bound: {u:?}");
        assert!((u[1] - (0.4 * (0.5 + 0.25) - 3.0)).abs() < 1e-15);
        assert_eq!(problem.limits(0).friction, 1.0);
    }

    #[test]
    fn sizes_that_differ_are_refused() {
        let space = one_mass().space.clone();
        assert!(FactoredOperator::new(space, vec![0.0], Vec::new()).is_err());
    }
}
