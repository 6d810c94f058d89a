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

use crate::general::ContactRows;
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
    /// The terms of (1) of one contact, from the states of its bodies before
    /// and after.
    #[inline]
    pub fn of(
        rows: ContactRows<'_>,
        impulse: &Impulse,
        before: [&BodyState; 2],
        after: [&BodyState; 2],
    ) -> Self {
        let mean = |k: usize| BodyState {
            velocity: 0.5 * (before[k].velocity + after[k].velocity),
            angular_velocity: 0.5 * (before[k].angular_velocity + after[k].angular_velocity),
            ..Default::default()
        };
        let (a, b, normal) = (mean(0), mean(1), rows.contact.normal);
        let u = rows.relative_velocity(&a, &b);
        let torque_impulse = impulse.rolling + normal * impulse.twisting;
        EnergyLoss {
            normal: -impulse.normal * normal.dot(u),
            impact: 0.0,
            friction: -impulse.friction.dot(u),
            rolling: -torque_impulse.dot(rows.relative_angular_velocity(&a, &b)),
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
    use crate::general::tests::{general_contact, impulse_at};

    #[test]
    fn the_losses_of_a_contact_are_what_its_bodies_lose() {
        let (contact, general, before) = general_contact();
        let general = [general];
        let rows = contact.rows(&general, 0.0);
        let impulse = impulse_at(&contact);
        let [mut a, mut b] = before;
        rows.apply(&impulse, &mut a, &mut b);
        let energy = |s: &BodyState| {
            0.5 * (s.velocity.length_squared() / s.inverse_mass
                + s.angular_velocity.length_squared() / s.inverse_inertia)
        };
        let lost = before.iter().map(energy).sum::<f64>() - energy(&a) - energy(&b);
        let loss = EnergyLoss::of(rows, &impulse, [&before[0], &before[1]], [&a, &b]);
        assert!(loss.friction != 0.0 && loss.rolling != 0.0 && loss.normal != 0.0);
        assert!((loss.total() - lost).abs() < 1e-13 * lost.abs());
        assert_eq!(loss.as_impact().total(), loss.total());
    }
}
