//! How far a state is from the exact contact laws (Servin et al. 2014 § 4.1).
//!
//! ```text
//! ε_c   = δ/d                       of touching contacts                   (1)
//! ε_sl  = (|f_t| − µ f_n)/(µ f_n)   of sliding ones                        (2)
//! ε_dir = (θ − π)/π                 θ: angle between slip and friction     (3)
//! ```
//!
//! A contact slides when `|u_t| ≥ 0.01 √(g d/2)`; those with less than 1 % of
//! a grain's weight do not count in (2) and (3).

use crate::series::{Statistics, statistics};
use crate::{MissingField, Snapshot};

/// Errors of a state against the contact laws.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactErrors {
    /// Overlaps (1) of touching contacts.
    pub overlap: Statistics,
    /// Slide errors (2); 0: exactly on the friction limit, negative: below it.
    pub slide: Statistics,
    /// Slide direction errors (3); 0: friction exactly against the slip.
    pub direction: Statistics,
}

/// Share of a grain's weight below which a contact's slide is not judged.
const LEAST_FORCE: f64 = 0.01;
/// Share of `√(g d/2)` above which a contact slides.
const LEAST_SLIP: f64 = 0.01;

/// Errors of a snapshot with contacts.
pub fn contact_errors(snapshot: &Snapshot) -> Result<ContactErrors, MissingField> {
    let (contacts, masses) = (snapshot.contacts()?, snapshot.masses()?);
    let gravity = snapshot.gravity.length();
    let overlaps: Vec<f64> = contacts
        .iter()
        .filter(|c| c.overlap > 0.0)
        .map(|c| c.overlap / c.diameter)
        .collect();
    let (mut slides, mut directions) = (Vec::new(), Vec::new());
    for c in contacts.iter().filter(|c| c.friction > 0.0) {
        let slip = c.slip();
        let weight = masses[c.grain] * gravity;
        if slip.length() < LEAST_SLIP * (0.5 * gravity * c.diameter).sqrt()
            || c.normal_force <= LEAST_FORCE * weight
        {
            continue;
        }
        let limit = c.friction * c.normal_force;
        slides.push((c.friction_force.length() - limit) / limit);
        if c.friction_force.length() > 0.0 {
            let angle = c.friction_force.angle_between(slip);
            directions.push((angle - std::f64::consts::PI) / std::f64::consts::PI);
        }
    }
    Ok(ContactErrors {
        overlap: statistics(&overlaps),
        slide: statistics(&slides),
        direction: statistics(&directions),
    })
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;
    use crate::Partner;
    use crate::snapshot::{bare_contact, equal_grains};

    #[test]
    fn exact_sliding_has_no_error_and_a_wrong_direction_shows() {
        let mut snapshot = equal_grains(vec![DVec3::ZERO], 0.5);
        let slider = |force: DVec3| {
            let mut c = bare_contact(0, Partner::Wall(0), DVec3::NEG_Z);
            c.overlap = 0.02;
            c.normal_force = 10.0;
            c.relative_velocity = DVec3::X;
            c.friction_force = force;
            c
        };
        snapshot.contacts = Some(vec![slider(DVec3::NEG_X * 5.0)]);
        let exact = contact_errors(&snapshot).unwrap();
        assert!(exact.slide.mean.abs() < 1e-12 && exact.direction.mean.abs() < 1e-12);
        assert!((exact.overlap.mean - 0.02).abs() < 1e-12);
        snapshot.contacts = Some(vec![slider(DVec3::Y * 4.0)]);
        let wrong = contact_errors(&snapshot).unwrap();
        assert!((wrong.slide.mean + 0.2).abs() < 1e-12);
        assert!((wrong.direction.mean + 0.5).abs() < 1e-12);
    }

    #[test]
    fn sticking_and_weak_contacts_are_not_judged() {
        let mut snapshot = equal_grains(vec![DVec3::ZERO], 0.5);
        let mut sticking = bare_contact(0, Partner::Wall(0), DVec3::NEG_Z);
        sticking.normal_force = 10.0;
        let mut weak = sticking;
        weak.normal_force = 1e-4;
        weak.relative_velocity = DVec3::X;
        snapshot.contacts = Some(vec![sticking, weak]);
        assert_eq!(contact_errors(&snapshot).unwrap().slide.count, 0);
    }
}
