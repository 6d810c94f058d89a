//! Ellipsoid against ellipsoid or sphere.

use crate::hertz::{OtherCurvature, Sym2};
use crate::manifold::{Conformity, ContactPoint};
use crate::pairs::body_body::BodyQuery;
use crate::smooth::Support;
use crate::smooth::ellipsoid::{Ellipsoid, Quadric};
use crate::smooth::separation::{Separation, separation};
use glam::DVec3;

/// Where an ellipsoid is nearest to a body of the same kind whose centre is `c` away; `None` when
/// the gap is `margin` or more.
///
/// The search starts from the last normal where that is safe: with an overlap below the smallest
/// radius of curvature there is one maximum in reach.
pub(super) fn nearest<B: Quadric>(
    a: &Ellipsoid,
    b: &B,
    c: DVec3,
    query: &BodyQuery,
) -> Option<Separation> {
    let reach = a.size() + b.size() + query.margin;
    let is_near = c.length_squared() < reach * reach;
    if !is_near {
        return None;
    }
    let start = query.last_normal.filter(|n| {
        let bound = n.dot(c) - (a.extent(*n).h + b.extent(*n).h);
        bound > -0.5 * (a.min_radius() + b.min_radius())
    });
    let start = start.unwrap_or_else(|| a.perram_wertheim(b, c));
    separation((a, b), c, start, query.margin)
}

/// The contact of bodies `a` and `b` at these centres.
pub(super) fn contact<B: Quadric>(
    (a, centre_a): (&Ellipsoid, DVec3),
    (b, centre_b): (&B, DVec3),
    query: &BodyQuery,
) -> Option<ContactPoint> {
    let near = nearest(a, b, centre_b - centre_a, query)?;
    Some(ContactPoint {
        point: 0.5 * ((centre_a + near.point_a) + (centre_b - near.point_b)),
        normal: near.normal,
        gap: near.gap,
        feature: 0,
        conformity: conformity(&near.radii),
    })
}

/// Of two bodies with these radii of curvature; a point has none and counts as a plane.
fn conformity(radii: &[Sym2; 2]) -> Conformity {
    if radii[1].trace() > 0.0 {
        Conformity::of_radii(radii[0], radii[1])
    } else {
        Conformity::against(radii[0], OtherCurvature::None)
    }
}
