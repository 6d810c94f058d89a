//! Contacts between grains that move across their normal turn with the grains.
//!
//! A contact whose normal is frozen over a step is a plane: a grain that slides
//! past another then runs into a plane of the grain it has passed. So where
//! grains move across the normal, every substep moves the branch vector `b` from
//! centre to centre, and with it normal, overlap and arms:
//!
//! ```text
//! b' = b + h_s (v_b − v_a),   n' = b'/|b'|,   δ' = δ + |b| − |b'|,
//! l' = l + ½ (|b'| − |b|),    p_t' = (I − n' n'ᵀ) p_t                     (1)
//! ```
//!
//! The warm start of the substep has repeated the velocity changes of the old
//! impulse `p n + p_t`; what (1) changes of it is made up for here. The sum of
//! the arms is the distance of the centres throughout, so that impulses keep
//! the angular momentum to rounding.

use esker_contact::{BodyState, Contact, Impulse};
use glam::DVec3;

/// Normal and arms of (1) for bodies that moved apart by `displacement`, and by
/// how much their overlap has grown, all m but the normal.
#[inline]
pub(crate) fn turned(normal: DVec3, arms: [f64; 2], displacement: DVec3) -> (DVec3, [f64; 2], f64) {
    let distance = arms[0] + arms[1];
    let branch = normal * distance + displacement;
    let moved = branch.length();
    let arms = arms.map(|l| l + 0.5 * (moved - distance));
    (branch / moved, arms, distance - moved)
}

/// Equation (1) for one contact whose bodies moved apart by `displacement`, m.
pub(crate) fn follow(
    contact: &mut Contact,
    overlap: &mut f64,
    displacement: DVec3,
    impulse: &mut Impulse,
    bodies: [&mut BodyState; 2],
) {
    let (normal, arms, deeper) = turned(contact.normal, contact.arms, displacement);
    let turned = Contact {
        normal,
        arms,
        ..*contact
    };
    *overlap += deeper;
    if impulse.normal > 0.0 {
        let [a, b] = bodies;
        contact.radial().apply(&impulse.scaled(-1.0), a, b);
        *impulse = impulse.in_plane_of(turned.normal);
        turned.radial().apply(impulse, a, b);
    }
    *contact = turned;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two grains that pass each other at a distance: the turned contact knows
    /// the distance, a frozen one thinks that they are as near as ever.
    #[test]
    fn a_contact_of_grains_that_pass_each_other_opens() {
        let mut contact = Contact::frictionless([0, 1], DVec3::X, [0.5, 0.5]);
        let (mut a, mut b) = (BodyState::default(), BodyState::default());
        let mut overlap = 0.0;
        for _ in 0..10 {
            let across = DVec3::Y * 0.1;
            follow(
                &mut contact,
                &mut overlap,
                across,
                &mut Impulse::default(),
                [&mut a, &mut b],
            );
        }
        assert!((overlap + 2_f64.sqrt() - 1.0).abs() < 1e-14);
        assert!((contact.normal - (DVec3::X + DVec3::Y).normalize()).length() < 1e-14);
        assert!((contact.arms[0] + contact.arms[1] - 2_f64.sqrt()).abs() < 1e-14);
    }
}
