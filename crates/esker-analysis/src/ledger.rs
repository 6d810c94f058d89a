//! Where the energy is and where it goes, per kind of contact.
//!
//! ```text
//! E  = Σ ½ m v² + Σ ½ I ω² − Σ m g·x + Σ elastic                J   (1)
//! P_n = −f_n u_n,  P_t = −f_t·u_t,  P_r = −τ·ω_rel              W   (2)
//! P_wall = −f·v_wall                                            W   (3)
//! ```
//!
//! (2) is what normal damping, friction and rolling take out of the motion
//! (`P_n` includes what is stored elastically); (3) is what moving walls put
//! in: `f` is the force on the wall.

use std::collections::BTreeMap;

use crate::{MissingField, Partner, Snapshot};

/// A kind of contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Among grains.
    Grains,
    /// Of grains with this wall.
    Wall(usize),
}

/// Power taken from the motion by one kind of contact, W.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Power {
    /// Contacts that carry load.
    pub contacts: usize,
    /// By normal forces (damping, and what is stored elastically).
    pub normal: f64,
    /// By friction.
    pub friction: f64,
    /// By rolling and twisting resistance.
    pub rolling: f64,
    /// Put in by the motion of the partner, walls only.
    pub input: f64,
}

/// Energies, J, and powers, W.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    /// Kinetic energy of translation.
    pub translation: f64,
    /// Kinetic energy of rotation.
    pub rotation: f64,
    /// Potential energy in gravity.
    pub gravity: f64,
    /// Elastic energy of contacts.
    pub elastic: f64,
    /// Powers per kind of contact.
    pub power: BTreeMap<Kind, Power>,
}

impl Ledger {
    /// The ledger of a snapshot with velocities, angular velocities and contacts whose
    /// normal force grows with `overlap^exponent` (3/2: Hertz, 1: linear).
    pub fn new(snapshot: &Snapshot, exponent: f64) -> Result<Self, MissingField> {
        let mut ledger = Ledger {
            translation: snapshot.translational_energy()?,
            rotation: snapshot.rotational_energy()?,
            gravity: -snapshot
                .positions
                .iter()
                .zip(snapshot.masses()?)
                .map(|(x, m)| m * x.dot(snapshot.gravity))
                .sum::<f64>(),
            ..Default::default()
        };
        for c in snapshot.contacts()?.iter().filter(|c| c.normal_force > 0.0) {
            ledger.elastic += c.normal_force * c.overlap.max(0.0) / (exponent + 1.0);
            let kind = match c.partner {
                Partner::Grain(_) => Kind::Grains,
                Partner::Wall(w) => Kind::Wall(w),
            };
            let power = ledger.power.entry(kind).or_default();
            power.contacts += 1;
            power.normal -= c.normal_force * c.normal_velocity();
            power.friction -= c.friction_force.dot(c.slip());
            power.rolling -= c.torque.dot(c.relative_angular_velocity);
            if matches!(kind, Kind::Wall(_)) {
                power.input -= c.force().dot(c.partner_velocity);
            }
        }
        Ok(ledger)
    }

    /// Energy (1), J.
    pub fn total(&self) -> f64 {
        self.translation + self.rotation + self.gravity + self.elastic
    }
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;
    use crate::snapshot::{bare_contact, equal_grains};

    /// A block on a belt that runs at 2 m/s while the block stands: friction
    /// turns all that the belt gives into heat.
    #[test]
    fn what_a_belt_gives_a_held_block_goes_into_friction() {
        let mut snapshot = equal_grains(vec![DVec3::Z], 0.5);
        snapshot.velocities = Some(vec![DVec3::ZERO]);
        snapshot.angular_velocities = Some(vec![DVec3::ZERO]);
        let mut c = bare_contact(0, Partner::Wall(3), DVec3::NEG_Z);
        c.normal_force = 10.0;
        c.overlap = 0.01;
        c.relative_velocity = DVec3::X * 2.0;
        c.partner_velocity = DVec3::X * 2.0;
        // On the belt friction acts against its motion.
        c.friction_force = DVec3::NEG_X * 5.0;
        snapshot.contacts = Some(vec![c]);
        let ledger = Ledger::new(&snapshot, 1.5).unwrap();
        let power = ledger.power[&Kind::Wall(3)];
        assert_eq!((power.friction, power.input), (10.0, 10.0));
        assert!((ledger.elastic - 0.04).abs() < 1e-12);
        assert!((ledger.gravity / (snapshot.mass().unwrap() * 9.81) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn an_approach_is_damped_and_rolling_costs() {
        let mut snapshot = equal_grains(vec![DVec3::ZERO; 2], 0.5);
        snapshot.velocities = Some(vec![DVec3::ZERO; 2]);
        snapshot.angular_velocities = Some(vec![DVec3::ZERO; 2]);
        let mut c = bare_contact(0, Partner::Grain(1), DVec3::X);
        c.normal_force = 3.0;
        c.relative_velocity = DVec3::NEG_X * 0.5;
        c.relative_angular_velocity = DVec3::Y * 4.0;
        c.torque = DVec3::NEG_Y * 0.25;
        snapshot.contacts = Some(vec![c]);
        let power = Ledger::new(&snapshot, 1.5).unwrap().power[&Kind::Grains];
        assert_eq!((power.normal, power.rolling, power.input), (1.5, 1.0, 0.0));
    }
}
