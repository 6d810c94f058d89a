//! Capsule against a wall: its two ends as spheres, and what lies between them.

use super::body_wall::WallQuery;
use crate::manifold::ContactPoint;
use crate::shape::WallShape;
use crate::smooth::capsule::Capsule;

/// Both ends, and the stretch between them.
pub(super) const PARTS: u32 = 3;

/// Appends the contacts of a capsule.
pub(super) fn contacts(
    wall: &WallShape,
    capsule: &Capsule,
    query: &WallQuery,
    out: &mut Vec<ContactPoint>,
) {
    for (part, end) in (0..).zip(capsule.ends()) {
        wall.sphere_contacts(&query.probe(end, capsule.radius), |contact| {
            out.push(contact.of_part(part, PARTS));
        });
    }
}
