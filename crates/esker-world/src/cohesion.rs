//! Cohesion: forces that pull the bodies of a contact towards each other.
//!
//! A pair of materials may attract with a force `F` along the normal, added to
//! the repulsion of its normal law: at rest under the load `N`, `k δ^(3/2) = N + F`.
//! With the effective radius `r*` of the pair and the gap `g`:
//!
//! ```text
//! constant   F = F_c                                       while touching (1)
//! adhesion   F = 2π w r*                                   while touching (2)
//! liquid     F = 4π γ r* cos θ (1 − 1/√(1 + V/(π r* g²)))  up to g_r      (3)
//!            g_r = (1 + θ/2) V^(1/3)                                      (4)
//! ```
//!
//! (2) is the pull-off force of Derjaguin, Muller and Toporov for the work of
//! adhesion `w` (J. Colloid Interface Sci. 53, 1975). (3) is the capillary force
//! of a bridge of the volume `V`, surface tension `γ` and contact angle `θ`
//! (Y. Rabinovich, M. Esayanur, B. Moudgil, Langmuir 21, 2005), and (4) its
//! rupture distance (G. Lian, C. Thornton, M. Adams, J. Colloid Interface Sci.
//! 161, 1993). Bridges have no memory: every gap below (4) is bridged, whether
//! or not the bodies have touched before.
//!
//! Friction and rolling are limited by the repulsion `N + F`: cohesion
//! strengthens them.
//!
//! `F` is evaluated once per step, from the gap and the normal at its start, and
//! is constant over it. It acts like gravity: grain by grain
//!
//! ```text
//! a_i = 1/m_i Σ_c ± F_c n_c,    τ_i = Σ_c ± d_c × F_c n_c,                (5)
//! ```
//!
//! with the arm `d_c` from the grain's centre to the contact point, along `n_c` for a sphere.
//! Forces come in pairs with one point of attack, so momentum and angular momentum are
//! conserved; walls feel the opposite ones in their loads (see `load.rs`).

use std::f64::consts::PI;

use glam::{DQuat, DVec3};

use crate::World;
use crate::contact::{ContactGeometry, Partner};
use crate::definition::Cohesion;
use crate::grains::Grains;
use crate::material::PairConstants;
use crate::midpoint::Midpoints;
use crate::periodic::Periodic;
use crate::world::pair_of;

impl Cohesion {
    /// Attraction (1)–(3) at an overlap (negative for a gap, m) of bodies with
    /// this effective radius, m; N.
    pub fn force(&self, effective_radius: f64, overlap: f64) -> f64 {
        let is_touching = overlap >= 0.0;
        match *self {
            Cohesion::Force(force) if is_touching => force,
            Cohesion::Energy(work) if is_touching => 2.0 * PI * work * effective_radius,
            Cohesion::Liquid {
                volume,
                surface_tension,
                contact_angle,
            } if -overlap < self.longest_gap() => {
                let at_touch = 4.0 * PI * surface_tension * effective_radius * contact_angle.cos();
                if is_touching {
                    return at_touch;
                }
                let slenderness = volume / (PI * effective_radius * overlap * overlap);
                at_touch * (1.0 - 1.0 / (1.0 + slenderness).sqrt())
            }
            _ => 0.0,
        }
    }

    /// The gap up to which bodies attract each other, m: (4) for liquids.
    pub fn longest_gap(&self) -> f64 {
        match *self {
            Cohesion::Liquid {
                volume,
                contact_angle,
                ..
            } => (1.0 + 0.5 * contact_angle) * volume.cbrt(),
            _ => 0.0,
        }
    }
}

/// The cohesive forces of a step; keeps its memory.
#[derive(Debug, Default)]
pub(crate) struct CohesiveForces {
    /// Attraction of each contact, N; empty where no pair is cohesive.
    contacts: Vec<f64>,
    /// Sum over the contacts of each grain, N; empty likewise.
    grains: Vec<DVec3>,
    /// Torque on each grain, N m; empty where all are spheres too.
    torques: Vec<DVec3>,
}

/// Where the grains are that attract each other.
#[derive(Clone, Copy)]
struct Places<'a> {
    grains: usize,
    /// Empty where all grains are spheres.
    midpoints: &'a Midpoints,
    periodic: Option<Periodic>,
}

impl Places<'_> {
    /// Arms from the centres of a contact's grains to its point, m; a wall has none.
    fn arms(&self, contact: &ContactGeometry) -> [DVec3; 2] {
        let centre = |i: u32| self.midpoints.0[i as usize].pose.position;
        let own = contact.point - centre(contact.grain);
        let Partner::Grain(j) = contact.partner else {
            return [own, DVec3::ZERO];
        };
        let branch = centre(j) - centre(contact.grain);
        [
            own,
            own - self.periodic.map_or(branch, |p| p.branch(branch)),
        ]
    }
}

impl CohesiveForces {
    /// No pair is cohesive.
    pub(crate) fn clear(&mut self) {
        self.contacts.clear();
        self.grains.clear();
        self.torques.clear();
    }

    /// Sums the forces of these contacts in their order, which the number of
    /// threads does not change.
    fn evaluate<'a>(
        &mut self,
        contacts: &[ContactGeometry],
        places: Places<'_>,
        pair: impl Fn(&ContactGeometry) -> &'a PairConstants,
    ) {
        self.clear();
        self.grains.resize(places.grains, DVec3::ZERO);
        self.torques.resize(places.midpoints.0.len(), DVec3::ZERO);
        for contact in contacts {
            let cohesion = pair(contact).law.cohesion;
            let force = cohesion.force(contact.elastic_radius, contact.overlap);
            self.contacts.push(force);
            self.grains[contact.grain as usize] += contact.normal * force;
            if let Partner::Grain(j) = contact.partner {
                self.grains[j as usize] -= contact.normal * force;
            }
            if !self.torques.is_empty() && force > 0.0 {
                let [own, other] = places.arms(contact);
                let force = contact.normal * force;
                self.torques[contact.grain as usize] += own.cross(force);
                if let Partner::Grain(j) = contact.partner {
                    self.torques[j as usize] -= other.cross(force);
                }
            }
        }
    }

    /// Force on each grain, N, of which `forces.rs` makes (5); empty where no pair is
    /// cohesive.
    pub(crate) fn forces(&self) -> &[DVec3] {
        &self.grains
    }

    /// Torque on a grain, N m.
    pub(crate) fn torque(&self, grain: usize) -> DVec3 {
        self.torques.get(grain).copied().unwrap_or(DVec3::ZERO)
    }

    /// Orientations that [`CohesiveForces::work_of_torques`] is to start from: none where
    /// nothing turns.
    pub(crate) fn turned_orientations(&self, grains: &Grains) -> Vec<DQuat> {
        grains.orientation[..self.torques.len()].to_vec()
    }

    /// Work of the torques on grains that had these orientations, J.
    pub(crate) fn work_of_torques(&self, before: &[DQuat], grains: &Grains) -> f64 {
        let turned = before.iter().zip(&grains.orientation).zip(&self.torques);
        let work = turned
            .map(|((&from, &to), torque)| torque.dot((to * from.conjugate()).to_scaled_axis()));
        work.sum()
    }

    /// Attraction of a contact, N.
    pub(crate) fn of_contact(&self, contact: usize) -> f64 {
        self.contacts.get(contact).copied().unwrap_or(0.0)
    }

    /// `Σ F·x` over the grains, J: its change over a step is the work on them.
    pub(crate) fn dot_positions(&self, grains: &Grains) -> f64 {
        let forces = self.grains.iter().zip(&grains.position);
        forces.map(|(force, x)| force.dot(*x)).sum()
    }
}

impl World {
    /// Evaluates the cohesive forces of the step; part of stage `assemble`.
    pub(crate) fn evaluate_cohesion(&mut self) {
        let World {
            grains,
            walls,
            pairs,
            periodic,
            workspace: work,
            ..
        } = self;
        if pairs.is_cohesive() {
            let pair = |contact: &_| pair_of(contact, pairs, grains, walls);
            let places = Places {
                grains: grains.len(),
                midpoints: &work.midpoints,
                periodic: *periodic,
            };
            work.cohesion.evaluate(&work.contacts, places, pair);
        } else {
            work.cohesion.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WATER: Cohesion = Cohesion::Liquid {
        volume: 1e-12,
        surface_tension: 0.072,
        contact_angle: 0.5,
    };

    #[test]
    fn contact_forces_end_where_bodies_part() {
        for (law, force) in [
            (Cohesion::Force(3e-4), 3e-4),
            (Cohesion::Energy(0.05), 2.0 * PI * 0.05 * 2e-3),
        ] {
            assert_eq!(law.force(2e-3, 0.0), force);
            assert_eq!(law.force(2e-3, 1e-5), force);
            assert_eq!(law.force(2e-3, -1e-12), 0.0);
        }
        assert_eq!(Cohesion::None.force(2e-3, 1e-5), 0.0);
    }

    #[test]
    fn a_liquid_bridge_weakens_with_the_gap_and_ruptures() {
        let at_touch = 4.0 * PI * 0.072 * 2e-3 * f64::cos(0.5);
        assert!((WATER.force(2e-3, 1e-6) / at_touch - 1.0).abs() < 1e-15);
        assert!((WATER.force(2e-3, -1e-12) / at_touch - 1.0).abs() < 1e-6);
        // V = 3 π r* g²: the root is 2.
        let gap = f64::sqrt(1e-12 / (3.0 * PI * 2e-3));
        assert!((WATER.force(2e-3, -gap) / (0.5 * at_touch) - 1.0).abs() < 1e-12);
        assert!((WATER.longest_gap() / 1.25e-4 - 1.0).abs() < 1e-12);
        assert!(WATER.force(2e-3, -1.249e-4) > 0.0);
        assert_eq!(WATER.force(2e-3, -1.251e-4), 0.0);
    }
}
