//! Capsule against ellipsoid.
//!
//! A capsule with axis `z`, half length `l` and radius `r` is a segment, grown. With `c` from the
//! ellipsoid's centre to the capsule's,
//!
//! ```text
//! gap = max over n of n·c − h(n) − l |n·z| − r.                          (1)
//! ```
//!
//! The maximum over the circle `n·z = 0` is that of the segment's whole line. It is the answer where
//! the line's nearest point lies within the segment, else the sphere at the end beyond it is.

use crate::hertz::{OtherCurvature, Sym2};
use crate::manifold::{Conformity, ContactPoint};
use crate::pairs::body_body::BodyQuery;
use crate::pairs::ellipsoid_ellipsoid;
use crate::smooth::capsule::Capsule;
use crate::smooth::circle::{Circle, Facing};
use crate::smooth::ellipsoid::Ellipsoid;
use crate::smooth::{Ball, Support};
use glam::{DVec2, DVec3};

/// The contact, with the normal from the ellipsoid to the capsule.
pub(super) fn contact(
    (ellipsoid, centre): (&Ellipsoid, DVec3),
    capsule: &Capsule,
    query: &BodyQuery,
) -> Option<ContactPoint> {
    let c = capsule.centre - centre;
    let reach = ellipsoid.size() + capsule.half_length + capsule.radius + query.margin;
    let is_near = c.length_squared() < reach * reach;
    if !is_near {
        return None;
    }
    let circle = Circle::across(capsule.axis);
    let start = circle.outer_start(ellipsoid, c);
    let near = circle.climb(ellipsoid, c, Facing::Outer, start);
    let along = capsule.axis.dot(near.point - c);
    if along.abs() > capsule.half_length {
        let end = capsule.at(capsule.half_length.copysign(along));
        let ball = Ball {
            radius: capsule.radius,
        };
        return ellipsoid_ellipsoid::contact((ellipsoid, centre), (&ball, end), query);
    }
    let gap = near.value - capsule.radius;
    (gap < query.margin).then(|| ContactPoint {
        point: centre + near.point + 0.5 * gap * near.normal,
        normal: near.normal,
        gap,
        feature: 0,
        conformity: conformity(ellipsoid, near.normal, capsule),
    })
}

fn conformity(ellipsoid: &Ellipsoid, normal: DVec3, capsule: &Capsule) -> Conformity {
    let basis = [capsule.axis, normal.cross(capsule.axis)];
    let radii: Sym2 = ellipsoid.radii(&ellipsoid.extent(normal), basis);
    Conformity::against(radii, OtherCurvature::Along(DVec2::Y, 1.0 / capsule.radius))
}
