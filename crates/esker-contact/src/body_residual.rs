//! The natural-map residual of the body form, Coulomb law.
//!
//! With `γ = (p, p_t)`, `u = (u_n + σ p − b_n, u_t + Σ_t p_t)`, De Saxcé's
//! shift `ũ = u + (µ|u_t|, 0)` and `d = (D_n + 2 D_t)/3`, a contact's residual is
//!
//! ```text
//! R = γ − P_K(γ − ũ/d),                                               (1)
//! R_r = p_r − disc(p_r − ω_t/D_r, µ_r r* p)   (and alike for twisting)  (2)
//! ```
//!
//! and the reported number is `√(Σ d|R|² + D_r|R_r|²) / √(Σ d|R(0)|²)`:
//! dimensionless, 1 for no impulses at all, 0 at the solution. A substep starts from the impulses of
//! the one before. Where bodies rebound these outlast what they had to carry, and would be called
//! worse than none; there the residual is 1 unless it is larger than the impulses, `Σ d|γ|²`.

use crate::general::ContactRows;
use crate::{BodyState, Impulse, project_cone, project_disc};

/// Sums of the residual over contacts.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResidualSum {
    /// `Σ d|R|² + D_r|R_r|²`, J.
    pub current: f64,
    /// `Σ d|R(0)|²`, J.
    pub start: f64,
    /// The same for loaded contacts that carry the weight of their grains.
    pub weight: f64,
    /// `Σ d|γ|²`, J.
    pub carried: f64,
    /// What the rounding of velocities can make of it where there is nothing to solve.
    pub rounding: f64,
}

/// Rounding of relative velocities over the velocities of the bodies.
const ROUNDING: f64 = 16.0 * f64::EPSILON;

/// Compliances of the rows of one contact.
#[derive(Clone, Copy, Debug)]
pub struct RowCompliance {
    /// Normal, σ, 1/kg.
    pub normal: f64,
    /// Friction, `Σ_t/S_t`.
    pub tangent: f64,
    /// Rolling and twisting, `Σ_r/S_r`.
    pub rolling: f64,
}

/// (1) of one contact.
struct NaturalMap<'a> {
    rows: ContactRows<'a>,
    target: f64,
    /// σ, 1/kg.
    normal_compliance: f64,
    /// `Σ_t`, 1/kg.
    tangent_compliance: f64,
    d: f64,
}

impl<'a> NaturalMap<'a> {
    fn new(
        rows: ContactRows<'a>,
        target: f64,
        compliance: RowCompliance,
        [a, b]: [&BodyState; 2],
    ) -> Self {
        let s_t = rows.tangent_mobility(a, b);
        let tangent_compliance = compliance.tangent * s_t;
        let d_n = rows.normal_mobility(a, b) + compliance.normal;
        NaturalMap {
            rows,
            target,
            normal_compliance: compliance.normal,
            tangent_compliance,
            d: (d_n + 2.0 * (s_t + tangent_compliance)) / 3.0,
        }
    }

    /// `d|R|²` of an impulse and the bodies that it leaves, J.
    fn weighed(&self, [a, b]: [&BodyState; 2], p: &Impulse) -> f64 {
        let contact = self.rows.contact;
        let (n, friction, d) = (contact.normal, contact.friction, self.d);
        let u = self.rows.relative_velocity(a, b);
        let u_n = n.dot(u);
        let u_t = u - n * u_n + p.friction * self.tangent_compliance;
        let shifted =
            u_n + self.normal_compliance * p.normal - self.target + friction * u_t.length();
        let (pn, pt) = project_cone(p.normal - shifted / d, p.friction - u_t / d, friction);
        d * ((p.normal - pn).powi(2) + (p.friction - pt).length_squared())
    }
}

impl ResidualSum {
    /// Adds one contact: bodies as they are now and as they would be without
    /// any impulse, and the impulse that makes the difference.
    pub fn add(
        &mut self,
        rows: ContactRows<'_>,
        target: f64,
        compliance: RowCompliance,
        now: [&BodyState; 2],
        free: [&BodyState; 2],
        impulse: &Impulse,
    ) {
        let contact = rows.contact;
        let n = contact.normal;
        let [a, b] = now;
        let map = NaturalMap::new(rows, target, compliance, now);
        self.current += map.weighed(now, impulse);
        self.start += map.weighed(free, &Impulse::default());
        self.carried += map.d * (impulse.normal.powi(2) + impulse.friction.length_squared());
        let squares = a.velocity.length_squared() + b.velocity.length_squared();
        self.rounding += ROUNDING * ROUNDING * (squares + target * target) / map.d;
        let s_r = match contact.rolling > 0.0 || contact.twisting > 0.0 {
            true => rows.rolling_mobility(a, b),
            false => 0.0,
        };
        // Bodies that do not rotate have no such rows: there is nothing that they could solve.
        if s_r > 0.0 {
            let sigma_r = compliance.rolling * s_r;
            let d_r = s_r + sigma_r;
            let angular_velocity = rows.relative_angular_velocity(a, b);
            let twist = n.dot(angular_velocity) + sigma_r * impulse.twisting;
            let roll = angular_velocity - n * n.dot(angular_velocity) + impulse.rolling * sigma_r;
            let rolled = project_disc(
                impulse.rolling - roll / d_r,
                contact.rolling * impulse.normal,
            );
            let limit = contact.twisting * impulse.normal;
            let twisted = (impulse.twisting - twist / d_r).clamp(-limit, limit);
            self.current += d_r
                * ((impulse.rolling - rolled).length_squared()
                    + (impulse.twisting - twisted).powi(2));
        }
    }

    /// Adds what an impact row with this target had to solve. It is exact, but the contacts
    /// around it have to follow what it does: without it their residual would be held against
    /// what there was before the impact.
    pub fn add_impact(&mut self, rows: ContactRows<'_>, target: f64, free: [&BodyState; 2]) {
        let rigid = RowCompliance {
            normal: 0.0,
            tangent: 0.0,
            rolling: 0.0,
        };
        let map = NaturalMap::new(rows, target, rigid, free);
        self.start += map.weighed(free, &Impulse::default());
    }

    /// Adds the weight of a loaded contact, which the residual is held against
    /// where next to nothing had to be solved, as in free fall: `fall` is the
    /// speed that gravity adds in the step, m/s.
    pub fn add_weight(&mut self, rows: ContactRows<'_>, bodies: [&BodyState; 2], fall: f64) {
        let mobility = rows.normal_mobility(bodies[0], bodies[1]);
        if mobility > 0.0 {
            self.weight += fall * fall / mobility;
        }
    }

    /// The residual: 0 when nothing had to be solved. (Impacts leave contacts just where their
    /// rows are met, so that rounding decides whether anything had to be.)
    pub fn relative(&self) -> f64 {
        let carried = self.carried.min(self.current);
        let scale = self.start.max(self.weight).max(carried);
        if self.current <= self.rounding {
            0.0
        } else if scale == 0.0 {
            f64::INFINITY
        } else {
            (self.current / scale).sqrt()
        }
    }
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;
    use crate::Contact;

    /// Bodies that do not rotate: the residual of a contact with rolling resistance was no number.
    #[test]
    fn rows_that_turn_what_does_not_rotate_do_not_exist() {
        let frictionless = Contact::frictionless([0, 1], DVec3::X, [0.01, 0.01]);
        let body = |speed: f64| BodyState {
            velocity: DVec3::X * speed,
            inverse_mass: 1e3,
            angular_velocity: DVec3::ZERO,
            inverse_inertia: 0.0,
        };
        let compliance = RowCompliance {
            normal: 0.0,
            tangent: 0.0,
            rolling: 0.1,
        };
        let residuals = [0.0, 0.2].map(|rolling| {
            let contact = Contact {
                rolling,
                twisting: rolling,
                ..frictionless
            };
            let (now, free) = ([body(0.1), body(0.0)], [body(0.3), body(-0.2)]);
            let impulse = Impulse {
                normal: 1e-4,
                ..Default::default()
            };
            let [now, free] = [&now, &free].map(|[a, b]| [a, b]);
            let mut sum = ResidualSum::default();
            sum.add(contact.radial(), 0.0, compliance, now, free, &impulse);
            sum.relative()
        });
        assert!(
            residuals[0] > 0.0 && residuals[0] == residuals[1],
            "{residuals:?}"
        );
    }

    /// A contact that an impact has left just where its row is met: in a drum that was
    /// filled, one such step made the residual of the whole run infinite.
    #[test]
    fn rounding_where_nothing_has_to_be_solved_is_no_residual() {
        let contact = Contact::frictionless([0, 1], DVec3::X, [0.01, 0.0]);
        let grain = BodyState {
            velocity: DVec3::new(0.7, 0.1, 0.0),
            inverse_mass: 1e3,
            ..Default::default()
        };
        let wall = BodyState::default();
        let target = contact.radial().normal_velocity(&grain, &wall);
        let residual = |impulse: f64| {
            let impulse = Impulse {
                normal: impulse,
                ..Default::default()
            };
            let (mut a, mut b) = (grain, wall);
            contact.radial().apply(&impulse, &mut a, &mut b);
            let mut sum = ResidualSum::default();
            let rigid = RowCompliance {
                normal: 0.0,
                tangent: 0.0,
                rolling: 0.0,
            };
            let bodies = ([&a, &b], [&grain, &wall]);
            sum.add(
                contact.radial(),
                target,
                rigid,
                bodies.0,
                bodies.1,
                &impulse,
            );
            sum.relative()
        };
        assert_eq!(residual(0.0), 0.0);
        assert_eq!(residual(2e-19), 0.0);
        assert_eq!(residual(1e-9), 1.0, "an impulse that is all error");
    }
}
