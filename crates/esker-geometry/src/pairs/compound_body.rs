//! A compound against any body or wall: every part for itself.

use crate::body::{Compound, PlacedShape};
use crate::manifold::ContactPoint;
use crate::pairs::body_body::{BodyQuery, body_contacts};
use crate::pairs::body_wall::WallQuery;
use crate::pairs::convex::{feature_of_part, feature_of_part_at_wall};
use crate::shape::WallShape;
use glam::DMat3;

/// The parts of a placed compound, where they are.
fn parts<'a>(
    compound: &'a Compound,
    placed: &'a PlacedShape<'_>,
) -> impl Iterator<Item = PlacedShape<'a>> + 'a {
    compound.parts().iter().map(|(shape, pose)| PlacedShape {
        shape,
        scale: placed.scale,
        position: placed.position + placed.rotation * (placed.scale * pose.position),
        rotation: placed.rotation * DMat3::from_quat(pose.orientation),
    })
}

/// Appends the contacts of each part of `a`.
pub(super) fn contacts(
    (compound, a): (&Compound, &PlacedShape),
    b: &PlacedShape,
    query: &BodyQuery,
    out: &mut Vec<ContactPoint>,
) {
    let query = &BodyQuery {
        last_normal: None,
        ..*query
    };
    for (index, part) in (0..).zip(parts(compound, a)) {
        let reach = part.bounding_radius() + b.bounding_radius() + query.margin;
        if part.position.distance_squared(b.position) >= reach * reach {
            continue;
        }
        let first = out.len();
        body_contacts(&part, b, query, out);
        for contact in &mut out[first..] {
            contact.feature = feature_of_part(index, contact.feature);
        }
    }
}

/// Appends the contacts of each part with a wall, in whose frame the compound is placed.
pub(super) fn wall_contacts(
    wall: &WallShape,
    (compound, placed): (&Compound, &PlacedShape),
    query: &WallQuery<'_>,
    out: &mut Vec<ContactPoint>,
) {
    for (index, part) in (0..).zip(parts(compound, placed)) {
        if wall.is_clear_of(part.position, part.bounding_radius() + query.margin) {
            continue;
        }
        let first = out.len();
        wall.body_contacts(&part, query, out);
        for contact in &mut out[first..] {
            let side = wall.side_of_body(part.shape, contact.feature);
            contact.feature = feature_of_part_at_wall(index, contact.feature, side);
        }
    }
}
