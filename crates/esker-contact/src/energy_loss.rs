//! Where the energy goes in contacts.
//!
//! Impulses `p` that change velocities from `v⁻` to `v⁺`, `M (v⁺ − v⁻) = Gᵀ p`,
//! change the kinetic energy by exactly
//!
//! ```text
//! ½ v⁺·M v⁺ − ½ v⁻·M v⁻ = p·G (v⁻ + v⁺)/2 = Σ p·ū,                     (1)
//! ```
//!
//! with `ū` the mean of the relative velocities before and after. Each row of a
//! contact has its own term of the sum; its negative is what the row takes out
//! of the motion of its two bodies. (At a wall one of them is driven from
//! outside, and what the wall gives is counted there.)

use glam::DVec3;

use crate::problem::{BodyState, Impulse};

/// Energy that contacts take out of the motion, J, by kind of row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EnergyLoss {
    /// By normal rows of lasting contacts: damped or stored elastically.
    pub normal: f64,
    /// By normal rows of impacts.
    pub impact: f64,
    /// By friction rows.
    pub friction: f64,
    /// By rolling and twisting rows.
    pub rolling: f64,
}

impl EnergyLoss {
    /// The terms of (1) of one contact with this normal and these arms, from
    /// the states of its bodies before and after.
    #[inline]
    pub fn of(
        (normal, arms): (DVec3, [f64; 2]),
        impulse: &Impulse,
        before: [&BodyState; 2],
        after: [&BodyState; 2],
    ) -> Self {
        let mean = |k: usize| {
            (
                0.5 * (before[k].velocity + after[k].velocity),
                0.5 * (before[k].spin + after[k].spin),
            )
        };
        let ((v_a, w_a), (v_b, w_b)) = (mean(0), mean(1));
        let u = v_b - v_a - (w_a * arms[0] + w_b * arms[1]).cross(normal);
        let torque_impulse = impulse.rolling + normal * impulse.twisting;
        EnergyLoss {
            normal: -impulse.normal * normal.dot(u),
            impact: 0.0,
            friction: -impulse.friction.dot(u),
            rolling: -torque_impulse.dot(w_b - w_a),
        }
    }

    /// The same with its normal row booked as an impact.
    pub fn as_impact(self) -> Self {
        EnergyLoss {
            normal: 0.0,
            impact: self.impact + self.normal,
            ..self
        }
    }

    /// The sum of two.
    #[inline]
    pub fn plus(&self, other: &Self) -> Self {
        EnergyLoss {
            normal: self.normal + other.normal,
            impact: self.impact + other.impact,
            friction: self.friction + other.friction,
            rolling: self.rolling + other.rolling,
        }
    }

    /// By all rows.
    pub fn total(&self) -> f64 {
        self.normal + self.impact + self.friction + self.rolling
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Contact;

    #[test]
    fn the_losses_of_a_contact_are_what_its_bodies_lose() {
        let contact = Contact {
            bodies: [0, 1],
            normal: DVec3::new(1.0, 2.0, -2.0) / 3.0,
            arms: [0.3, 0.7],
            friction: 0.5,
            rolling: 0.1,
            twisting: 0.05,
            compliance: 0.0,
            target: 0.0,
        };
        let body = |seed: f64, inverse_mass, inverse_inertia| BodyState {
            velocity: DVec3::new(seed, -2.0 * seed, 0.3),
            inverse_mass,
            spin: DVec3::new(0.7, seed, -seed),
            inverse_inertia,
        };
        let before = [body(1.0, 2.0, 30.0), body(-0.4, 0.5, 7.0)];
        let tangent = contact.normal.cross(DVec3::X).normalize();
        let impulse = Impulse {
            normal: 1.3,
            friction: tangent * 0.4,
            rolling: tangent * -0.2,
            twisting: 0.1,
        };
        let [mut a, mut b] = before;
        contact.apply(&impulse, &mut a, &mut b);
        let energy = |s: &BodyState| {
            0.5 * (s.velocity.length_squared() / s.inverse_mass
                + s.spin.length_squared() / s.inverse_inertia)
        };
        let lost = before.iter().map(energy).sum::<f64>() - energy(&a) - energy(&b);
        let loss = EnergyLoss::of(
            (contact.normal, contact.arms),
            &impulse,
            [&before[0], &before[1]],
            [&a, &b],
        );
        assert!(loss.friction != 0.0 && loss.rolling != 0.0 && loss.normal != 0.0);
        assert!((loss.total() - lost).abs() < 1e-13 * lost.abs());
        assert_eq!(loss.as_impact().total(), loss.total());
    }
}
