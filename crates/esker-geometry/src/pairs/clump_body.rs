//! A clump against any body or wall: every sphere for itself.

use crate::body::{BodyShape, Clump, PlacedShape};
use crate::manifold::ContactPoint;
use crate::pairs::body_body::{BodyQuery, body_contacts};
use glam::DVec3;

/// Centres and radii (m) of a placed clump's spheres.
pub(super) fn spheres<'a>(
    clump: &'a Clump,
    placed: &'a PlacedShape<'_>,
) -> impl Iterator<Item = (DVec3, f64)> + 'a {
    let place = |&(centre, radius): &(DVec3, f64)| {
        let offset = placed.rotation * (placed.scale * centre);
        (placed.position + offset, placed.scale * radius)
    };
    clump.spheres().iter().map(place)
}

/// Appends the contacts of each sphere of `a`. A sphere has one with any convex body, so the
/// numbers of the spheres are the name.
pub(super) fn contacts(
    (clump, a): (&Clump, &PlacedShape),
    b: &PlacedShape,
    query: &BodyQuery,
    out: &mut Vec<ContactPoint>,
) {
    let count = clump.spheres().len() as u32;
    let bound = b.bounding_radius() + query.margin;
    let query = &BodyQuery {
        last_normal: None,
        ..*query
    };
    for (index, (centre, radius)) in (0..).zip(spheres(clump, a)) {
        let reach = bound + radius;
        let is_near = centre.distance_squared(b.position) < reach * reach;
        if !is_near {
            continue;
        }
        let sphere = PlacedShape {
            shape: &BodyShape::Sphere { radius },
            scale: 1.0,
            position: centre,
            rotation: a.rotation,
        };
        let first = out.len();
        body_contacts(&sphere, b, query, out);
        for contact in &mut out[first..] {
            contact.feature = contact.feature.wrapping_mul(count).wrapping_add(index);
        }
    }
}
