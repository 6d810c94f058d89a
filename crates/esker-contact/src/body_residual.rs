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
//! dimensionless, 1 for no impulses at all, 0 at the solution.

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
        let s_t = rows.tangent_mobility(a, b);
        let sigma_t = compliance.tangent * s_t;
        let d_t = s_t + sigma_t;
        let d = (rows.normal_mobility(a, b) + compliance.normal + 2.0 * d_t) / 3.0;
        let map = |bodies: [&BodyState; 2], p: &Impulse| {
            let u = rows.relative_velocity(bodies[0], bodies[1]);
            let u_n = n.dot(u);
            let u_t = u - n * u_n + p.friction * sigma_t;
            let shifted =
                u_n + compliance.normal * p.normal - target + contact.friction * u_t.length();
            let (pn, pt) = project_cone(
                p.normal - shifted / d,
                p.friction - u_t / d,
                contact.friction,
            );
            (p.normal - pn).powi(2) + (p.friction - pt).length_squared()
        };
        self.current += d * map(now, impulse);
        let squares = a.velocity.length_squared() + b.velocity.length_squared();
        self.rounding += ROUNDING * ROUNDING * (squares + target * target) / d;
        self.start += d * map(free, &Impulse::default());
        if contact.rolling > 0.0 || contact.twisting > 0.0 {
            let s_r = rows.rolling_mobility(a, b);
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

    /// Adds the weight of a loaded contact, which the residual is held against
    /// where next to nothing had to be solved, as in free fall: `fall` is the
    /// speed that gravity adds in the step, m/s.
    pub fn add_weight(&mut self, rows: ContactRows<'_>, bodies: [&BodyState; 2], fall: f64) {
        let mobility = rows.normal_mobility(bodies[0], bodies[1]);
        if mobility > 0.0 {
            self.weight += fall * fall / mobility;
        }
    }

    /// This and another.
    pub fn plus(&self, other: &Self) -> Self {
        ResidualSum {
            current: self.current + other.current,
            start: self.start + other.start,
            weight: self.weight + other.weight,
            rounding: self.rounding + other.rounding,
        }
    }

    /// The residual: 0 when nothing had to be solved. (Impacts leave contacts just where their
    /// rows are met, so that rounding decides whether anything had to be.)
    pub fn relative(&self) -> f64 {
        let scale = self.start.max(self.weight);
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
        assert!(residual(1e-9) > 1.0);
    }
}
