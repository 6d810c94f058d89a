//! The flat operator of a [`ContactProblem`]: rows in a local frame, products
//! through the velocities of bodies, nothing assembled unless asked for.

use crate::assembled::AssembledProblem;
use crate::cone::ConeLimits;
use crate::factored::BodySpace;
use crate::general::Form;
use crate::operator::{ContactOperator, ProblemError, Sweeper};
use crate::problem::{BodyState, ContactProblem, Impulse};
use glam::DVec3;

/// A [`ContactProblem`] seen as `u = W λ + q`.
///
/// Three rows per contact, or six when some contact has a rolling or twisting
/// limit. The frame `(n, t1, t2)` is made from the normal alone.
#[derive(Clone, Debug)]
pub struct BodyOperator<'a> {
    problem: &'a ContactProblem,
    frames: Vec<[DVec3; 2]>,
    block: usize,
    offset: Vec<f64>,
}

impl<'a> BodyOperator<'a> {
    /// Builds the frames and `q`.
    ///
    /// # Errors
    /// When a contact names a body that is not there, or joins a body to itself.
    pub fn new(problem: &'a ContactProblem) -> Result<Self, ProblemError> {
        let count = problem.bodies.len();
        for contact in &problem.contacts {
            if let Form::General(index) = contact.form
                && index as usize >= problem.general.len()
            {
                return Err(ProblemError::IndexOutside {
                    what: "the list of general contacts",
                    limit: problem.general.len(),
                });
            }
            let [a, b] = contact.bodies.map(|i| i as usize);
            if a >= count || b >= count || a == b {
                return Err(ProblemError::IndexOutside {
                    what: "the list of contacts (two different bodies each)",
                    limit: count,
                });
            }
        }
        let block = if problem.has_rolling() { 6 } else { 3 };
        let mut operator = BodyOperator {
            problem,
            frames: problem
                .contacts
                .iter()
                .map(|c| {
                    let t1 = c.normal.any_orthonormal_vector();
                    [t1, c.normal.cross(t1)]
                })
                .collect(),
            block,
            offset: vec![0.0; problem.contacts.len() * block],
        };
        let mut offset = std::mem::take(&mut operator.offset);
        for (index, rows) in offset.chunks_exact_mut(block).enumerate() {
            operator.gather(index, &problem.bodies, problem.time, rows);
            rows[0] -= problem.contacts[index].target;
        }
        operator.offset = offset;
        Ok(operator)
    }

    /// World impulses of flat local ones.
    pub fn to_impulses(&self, lambda: &[f64]) -> Vec<Impulse> {
        lambda
            .chunks_exact(self.block)
            .enumerate()
            .map(|(index, rows)| self.impulse(index, rows))
            .collect()
    }

    /// Flat local impulses of world ones.
    pub fn to_local(&self, impulses: &[Impulse]) -> Vec<f64> {
        let mut lambda = vec![0.0; self.rows()];
        for (index, (impulse, rows)) in impulses
            .iter()
            .zip(lambda.chunks_exact_mut(self.block))
            .enumerate()
        {
            let [t1, t2] = self.frames[index];
            rows[0] = impulse.normal;
            rows[1] = t1.dot(impulse.friction);
            rows[2] = t2.dot(impulse.friction);
            if self.block == 6 {
                rows[3] = t1.dot(impulse.rolling);
                rows[4] = t2.dot(impulse.rolling);
                rows[5] = impulse.twisting;
            }
        }
        lambda
    }

    /// Bodies with the velocities after the impulses.
    pub fn velocities(&self, lambda: &[f64]) -> Vec<BodyState> {
        let mut bodies = self.problem.bodies.clone();
        for (index, rows) in lambda.chunks_exact(self.block).enumerate() {
            self.scatter(index, rows, &mut bodies);
        }
        bodies
    }

    #[inline]
    fn impulse(&self, index: usize, rows: &[f64]) -> Impulse {
        let [t1, t2] = self.frames[index];
        let mut impulse = Impulse {
            normal: rows[0],
            friction: t1 * rows[1] + t2 * rows[2],
            ..Default::default()
        };
        if self.block == 6 {
            impulse.rolling = t1 * rows[3] + t2 * rows[4];
            impulse.twisting = rows[5];
        }
        impulse
    }

    /// Relative velocities of a contact at this time since its geometry was taken, s: at
    /// zero they are linear in those of the bodies.
    #[inline]
    fn gather(&self, index: usize, bodies: &[BodyState], time: f64, rows: &mut [f64]) {
        let contact = &self.problem.contacts[index];
        let view = contact.rows(&self.problem.general, time);
        let [t1, t2] = self.frames[index];
        let a = &bodies[contact.bodies[0] as usize];
        let b = &bodies[contact.bodies[1] as usize];
        let u = view.relative_velocity(a, b);
        rows[0] = contact.normal.dot(u);
        rows[1] = t1.dot(u);
        rows[2] = t2.dot(u);
        if self.block == 6 {
            let angular_velocity = view.relative_angular_velocity(a, b);
            rows[3] = t1.dot(angular_velocity);
            rows[4] = t2.dot(angular_velocity);
            rows[5] = contact.normal.dot(angular_velocity);
        }
    }

    #[inline]
    fn scatter(&self, index: usize, rows: &[f64], bodies: &mut [BodyState]) {
        let contact = &self.problem.contacts[index];
        let (a, b) = ContactProblem::bodies_of(bodies, contact);
        self.problem
            .rows(index)
            .apply(&self.impulse(index, rows), a, b);
    }

    /// Diagonal of `Σ` at a contact.
    #[inline]
    fn compliance(&self, index: usize) -> [f64; 6] {
        let rows = self.problem.rows(index);
        let contact = rows.contact;
        let [a, b] = contact.bodies.map(|i| &self.problem.bodies[i as usize]);
        let t = self.problem.tangent_compliance * rows.tangent_mobility(a, b);
        let r = self.problem.rolling_compliance * rows.rolling_mobility(a, b);
        [contact.compliance, t, t, r, r, r]
    }
}

impl ContactOperator for BodyOperator<'_> {
    fn contacts(&self) -> usize {
        self.problem.contacts.len()
    }

    fn block(&self) -> usize {
        self.block
    }

    fn limits(&self, contact: usize) -> ConeLimits {
        let contact = &self.problem.contacts[contact];
        ConeLimits {
            friction: contact.friction,
            rolling: contact.rolling,
            twisting: contact.twisting,
        }
    }

    fn offset(&self) -> &[f64] {
        &self.offset
    }

    fn product(&self, lambda: &[f64], u: &mut [f64]) {
        let mut bodies: Vec<BodyState> = self
            .problem
            .bodies
            .iter()
            .map(|body| BodyState {
                velocity: DVec3::ZERO,
                angular_velocity: DVec3::ZERO,
                ..*body
            })
            .collect();
        for (index, rows) in lambda.chunks_exact(self.block).enumerate() {
            self.scatter(index, rows, &mut bodies);
        }
        for (index, rows) in u.chunks_exact_mut(self.block).enumerate() {
            self.gather(index, &bodies, 0.0, rows);
            let sigma = self.compliance(index);
            let impulse = &lambda[index * self.block..];
            for ((row, s), x) in rows.iter_mut().zip(sigma).zip(impulse) {
                *row += s * x;
            }
        }
    }

    fn diagonal_block(&self, contact: usize, out: &mut [f64]) {
        let bodies = self.problem.contacts[contact].bodies;
        let n = self.block;
        out.fill(0.0);
        for (side, body) in bodies
            .map(|i| self.problem.bodies[i as usize])
            .iter()
            .enumerate()
        {
            let [translation, rotation] = self.columns(contact, side);
            let weighted = translation
                .iter()
                .map(|column| (column, body.inverse_mass))
                .chain(rotation.iter().map(|column| (column, body.inverse_inertia)));
            for (column, inverse) in weighted {
                for i in 0..n {
                    for j in 0..n {
                        out[i * n + j] += column[i] * column[j] * inverse;
                    }
                }
            }
        }
        for (i, s) in self.compliance(contact)[..n].iter().enumerate() {
            out[i * n + i] += s;
        }
    }

    fn sweeper<'b>(&'b self) -> Box<dyn Sweeper + 'b> {
        Box::new(BodySweeper {
            operator: self,
            bodies: self.problem.bodies.clone(),
            lambda: vec![0.0; self.rows()],
        })
    }

    fn assemble(&self) -> AssembledProblem {
        let limits = (0..self.contacts()).map(|c| self.limits(c)).collect();
        self.space().assemble(self.offset.clone(), limits)
    }

    fn body_space(&self) -> Option<BodySpace> {
        Some(self.space())
    }
}

impl BodyOperator<'_> {
    /// Columns of the rows of a contact for the velocity and the angular
    /// velocity of one of its bodies.
    fn columns(&self, index: usize, side: usize) -> [[[f64; 6]; 3]; 2] {
        let view = self.problem.rows(index);
        let (n, [t1, t2]) = (view.contact.normal, self.frames[index]);
        let sign = if side == 0 { -1.0 } else { 1.0 };
        let ([r0, r1, r2], turning) = match view.general() {
            // −d_a × t and d_b × t are both −l n × t.
            None => {
                let arm = |t: DVec3| n.cross(t) * -view.contact.arms[side];
                (
                    [DVec3::ZERO, arm(t1), arm(t2)],
                    [t1 * sign, t2 * sign, n * sign],
                )
            }
            Some(g) => (
                [n, t1, t2].map(|t| g.angular[side] * t * sign),
                [t1, t2, n].map(|t| g.angular_velocity[side].transpose() * t * sign),
            ),
        };
        let [w1, w2, wn] = turning;
        let free = view.free()[side] * sign;
        let translation =
            std::array::from_fn(|k| [n[k], t1[k], t2[k], 0.0, 0.0, 0.0].map(|v| free[k] * v));
        let rotation = std::array::from_fn(|k| [r0[k], r1[k], r2[k], w1[k], w2[k], wn[k]]);
        [translation, rotation]
    }

    fn space(&self) -> BodySpace {
        let mut mass = Vec::new();
        // First translational and rotational degree of freedom per body.
        let places: Vec<[Option<u32>; 2]> = self
            .problem
            .bodies
            .iter()
            .map(|body| {
                [body.inverse_mass, body.inverse_inertia].map(|inverse| {
                    (inverse > 0.0).then(|| {
                        let first = mass.len() as u32;
                        mass.extend([1.0 / inverse; 3]);
                        first
                    })
                })
            })
            .collect();
        let mut space = BodySpace::new(self.block, mass);
        for (index, contact) in self.problem.contacts.iter().enumerate() {
            let first = space.dofs.len();
            let mut columns: Vec<[f64; 6]> = Vec::with_capacity(12);
            for (side, body) in contact.bodies.into_iter().enumerate() {
                let own = self.columns(index, side);
                for (dof, own) in places[body as usize].into_iter().zip(own) {
                    if let Some(dof) = dof {
                        space.dofs.extend(dof..dof + 3);
                        columns.extend(own);
                    }
                }
            }
            for row in 0..self.block {
                space
                    .entries
                    .extend(columns.iter().map(|column| column[row]));
            }
            debug_assert_eq!(space.dofs.len() - first, columns.len());
            space.starts.push(space.dofs.len());
            space
                .compliance
                .extend_from_slice(&self.compliance(index)[..self.block]);
        }
        space
    }
}

/// Bodies that carry the velocities of the present impulses.
struct BodySweeper<'a> {
    operator: &'a BodyOperator<'a>,
    bodies: Vec<BodyState>,
    lambda: Vec<f64>,
}

impl Sweeper for BodySweeper<'_> {
    fn reset(&mut self, lambda: &[f64]) {
        self.lambda.copy_from_slice(lambda);
        self.bodies = self.operator.velocities(lambda);
    }

    #[inline]
    fn velocity(&self, contact: usize, u: &mut [f64]) {
        let time = self.operator.problem.time;
        self.operator.gather(contact, &self.bodies, time, u);
        let c = &self.operator.problem.contacts[contact];
        u[0] -= c.target;
        let sigma = self.operator.compliance(contact);
        let own = &self.lambda[contact * self.operator.block..];
        for ((u, s), x) in u.iter_mut().zip(sigma).zip(own) {
            *u += s * x;
        }
    }

    #[inline]
    fn add(&mut self, contact: usize, delta: &[f64]) {
        self.operator.scatter(contact, delta, &mut self.bodies);
        let first = contact * self.operator.block;
        for (x, d) in self.lambda[first..].iter_mut().zip(delta) {
            *x += d;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::factored::FactoredOperator;
    use crate::general::tests::general_contact;
    use crate::problem::Contact;

    /// Three bodies in a ring; the second contact is of the general form.
    fn three_bodies(rolling: f64) -> ContactProblem {
        let body = |seed: f64, inverse_mass: f64, inverse_inertia: f64| BodyState {
            velocity: DVec3::new(seed, 1.0 - seed, -0.5 * seed),
            inverse_mass,
            angular_velocity: DVec3::new(-seed, 0.2, seed * seed),
            inverse_inertia,
        };
        let contact = |bodies, normal: DVec3, arms| Contact {
            bodies,
            normal: normal.normalize(),
            arms,
            form: Form::Radial,
            friction: 0.5,
            rolling,
            twisting: 0.5 * rolling,
            compliance: 0.01,
            target: 0.25,
        };
        let (_, general, _) = general_contact();
        let general = crate::GeneralContact {
            rate: DVec3::new(0.3, -0.1, 0.2),
            ..general
        };
        ContactProblem {
            general: vec![general],
            time: 0.01,
            bodies: vec![
                body(0.3, 0.0, 0.0),
                body(0.7, 2.0, 11.0),
                body(-0.4, 0.5, 3.0),
            ],
            contacts: vec![
                contact([0, 1], DVec3::new(0.1, 0.2, 1.0), [0.9, 0.5]),
                Contact {
                    form: Form::General(0),
                    ..contact([1, 2], DVec3::new(1.0, -0.4, 0.3), [0.5, 0.8])
                },
                contact([2, 0], DVec3::new(-0.2, 0.1, -1.0), [0.8, 0.9]),
            ],
            tangent_compliance: 0.002,
            rolling_compliance: 0.003,
        }
    }

    /// The matrix-free product, the assembled matrix, the factors G M⁻¹ Gᵀ + Σ,
    /// the diagonal blocks and the sweeper are five views of one W.
    #[test]
    fn every_view_of_the_operator_agrees() {
        for rolling in [0.0, 0.1] {
            let problem = three_bodies(rolling);
            let operator = BodyOperator::new(&problem).expect("valid");
            let n = operator.rows();
            assert_eq!(n, if rolling > 0.0 { 18 } else { 9 });
            let lambda: Vec<f64> = (0..n).map(|i| (i as f64 * 1.7).sin()).collect();
            let mut product = vec![0.0; n];
            operator.product(&lambda, &mut product);

            let assembled = operator.assemble();
            let mut other = vec![0.0; n];
            assembled.product(&lambda, &mut other);
            for (a, b) in product.iter().zip(&other) {
                assert!((a - b).abs() < 1e-12);
            }

            let space = operator.body_space().expect("has bodies");
            let mut momentum = vec![0.0; space.mass.len()];
            space.scatter_add(&lambda, &mut momentum);
            for (p, m) in momentum.iter_mut().zip(&space.mass) {
                *p /= m;
            }
            space.gather(&momentum, &mut other);
            for i in 0..n {
                let value = other[i] + space.compliance[i] * lambda[i];
                assert!((product[i] - value).abs() < 1e-12);
            }

            let limits = (0..3).map(|c| operator.limits(c)).collect();
            let factored = FactoredOperator::new(space, operator.offset().to_vec(), limits);
            let factored = factored.expect("sizes fit");
            factored.product(&lambda, &mut other);
            for (a, b) in product.iter().zip(&other) {
                assert!((a - b).abs() < 1e-12);
            }

            let b = operator.block();
            let (mut own, mut stored) = (vec![0.0; b * b], vec![0.0; b * b]);
            let views: [&dyn ContactOperator; 2] = [&operator, &factored];
            for view in views {
                let mut sweeper = view.sweeper();
                sweeper.reset(&vec![0.0; n]);
                let mut u = vec![0.0; b];
                for c in 0..3 {
                    sweeper.add(c, &lambda[c * b..(c + 1) * b]);
                }
                for c in 0..3 {
                    view.diagonal_block(c, &mut own);
                    assembled.diagonal_block(c, &mut stored);
                    for (x, y) in own.iter().zip(&stored) {
                        assert!((x - y).abs() < 1e-12, "block {c}: {own:?} {stored:?}");
                    }
                    for restarted in [false, true] {
                        if restarted {
                            sweeper.reset(&lambda);
                        }
                        sweeper.velocity(c, &mut u);
                        for i in 0..b {
                            let expected = product[c * b + i] + operator.offset()[c * b + i];
                            assert!((u[i] - expected).abs() < 1e-12);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn local_and_world_impulses_convert_back_and_forth() {
        let problem = three_bodies(0.2);
        let operator = BodyOperator::new(&problem).expect("valid");
        let lambda: Vec<f64> = (0..operator.rows()).map(|i| (i as f64).cos()).collect();
        let back = operator.to_local(&operator.to_impulses(&lambda));
        for (a, b) in lambda.iter().zip(&back) {
            assert!((a - b).abs() < 1e-14);
        }
    }

    #[test]
    fn a_contact_with_a_missing_body_is_refused() {
        let mut problem = three_bodies(0.0);
        problem.contacts[1].bodies = [1, 9];
        assert!(BodyOperator::new(&problem).is_err());
    }
}
