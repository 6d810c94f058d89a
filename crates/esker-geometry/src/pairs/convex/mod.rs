//! Pairs of bodies of which one at least has flat faces: box, cylinder, polyhedron.

mod axis;
mod conformity;
mod epa;
mod gjk;
mod manifold;
mod polygon;
mod solid;

use super::BodyQuery;
use crate::body::PlacedShape;
use crate::manifold::ContactPoint;
use glam::DVec3;
use manifold::Pair;
use solid::Solid;

#[cfg(test)]
mod tests;

/// Appends the points of contact of two bodies, neither of them a clump, with gaps below the margin.
pub(crate) fn body_contacts(
    a: &PlacedShape,
    b: &PlacedShape,
    query: &BodyQuery,
    out: &mut Vec<ContactPoint>,
) {
    let (Some(mut one), Some(mut two)) = (Solid::new(a), Solid::new(b)) else {
        return;
    };
    // About the centre of a: far from the origin digits would be lost.
    two.position -= one.position;
    one.position = DVec3::ZERO;
    let first = out.len();
    let pair = Pair {
        a: &one,
        b: &two,
        margin: query.margin,
    };
    pair.contacts(query.last_normal, out);
    for point in &mut out[first..] {
        point.point += a.position;
    }
}
