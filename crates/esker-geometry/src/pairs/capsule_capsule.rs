//! Capsule against capsule or sphere.
//!
//! Capsules that lie side by side touch along a line: the two ends of the stretch in which each
//! runs beside the other stand for it. They do as long as no point between them is nearer by more
//! than [`MAX_SAG`]; else the nearest point alone is the contact.

use crate::hertz::PARALLEL_SINE;
use crate::manifold::{Conformity, ContactPoint};
use crate::pairs::body_body::BodyQuery;
use crate::pairs::sphere_sphere::SphereTouch;
use crate::smooth::capsule::Capsule;
use glam::DVec3;

/// How much nearer the capsules may be between the two points of a line, in effective radii.
const MAX_SAG: f64 = 1e-3;

/// Names of the points: the nearest one, and both ends of a line along the axis of `a`.
const NEAREST: u32 = 0;
const LINE_ENDS: [u32; 2] = [1, 2];

/// Appends the contacts of two capsules.
pub(super) fn contacts(a: &Capsule, b: &Capsule, query: &BodyQuery, out: &mut Vec<ContactPoint>) {
    let (along_a, along_b) = a.nearest_points(b);
    let nearest = touch(a, along_a, b, along_b);
    let is_near = -nearest.overlap < query.margin;
    if !is_near {
        return;
    }
    let sine = a.axis.cross(b.axis).length();
    if let Some(stretch) = common_stretch(a, b).filter(|_| sine < PARALLEL_SINE) {
        let ends = stretch.map(|(along, others)| touch(a, along, b, others));
        let effective = a.radius * b.radius / (a.radius + b.radius);
        let sag = nearest.overlap - ends[0].overlap.max(ends[1].overlap);
        if sag <= MAX_SAG * effective {
            let half = 0.5 * (stretch[1].0 - stretch[0].0);
            // How steeply the two run towards each other, seen along the contact plane.
            let tilt = (ends[1].overlap - ends[0].overlap) / (2.0 * half);
            let conformity = Conformity::of_line_end(effective, half, sine.max(tilt.abs()));
            for (end, feature) in ends.iter().zip(LINE_ENDS) {
                if -end.overlap < query.margin {
                    out.push(contact(end, feature, conformity));
                }
            }
            return;
        }
    }
    let is_end = |along: f64, capsule: &Capsule| along.abs() >= capsule.half_length;
    let curvature = |axis: DVec3, radius: f64, is_end: bool| {
        let along = if is_end { 1.0 / radius } else { 0.0 };
        (axis, 1.0 / radius, along)
    };
    let conformity = of_curvatures(
        nearest.normal,
        curvature(a.axis, a.radius, is_end(along_a, a)),
        curvature(b.axis, b.radius, is_end(along_b, b)),
    );
    out.push(contact(&nearest, NEAREST, conformity));
}

/// The contact of a capsule with a sphere.
pub(super) fn sphere_contact(
    a: &Capsule,
    centre: DVec3,
    radius: f64,
    query: &BodyQuery,
) -> Option<ContactPoint> {
    let ball = Capsule {
        centre,
        axis: a.axis,
        half_length: 0.0,
        radius,
    };
    let along = a.nearest_to(centre);
    let touch = touch(a, along, &ball, 0.0);
    let is_near = -touch.overlap < query.margin;
    if !is_near {
        return None;
    }
    let is_end = along.abs() >= a.half_length;
    let own = if is_end { 1.0 / a.radius } else { 0.0 };
    let conformity = of_curvatures(
        touch.normal,
        (a.axis, 1.0 / a.radius, own),
        (a.axis, 1.0 / radius, 1.0 / radius),
    );
    Some(contact(&touch, NEAREST, conformity))
}

fn touch(a: &Capsule, along_a: f64, b: &Capsule, along_b: f64) -> SphereTouch {
    SphereTouch::of(a.at(along_a), a.radius, b.at(along_b), b.radius)
}

fn contact(touch: &SphereTouch, feature: u32, conformity: Conformity) -> ContactPoint {
    ContactPoint {
        point: touch.point,
        normal: touch.normal,
        gap: -touch.overlap,
        feature,
        conformity,
    }
}

/// Both ends of the stretch in which the segments run beside each other, along the axes of `a` and
/// `b`: at each of them one segment ends.
fn common_stretch(a: &Capsule, b: &Capsule) -> Option<[(f64, f64); 2]> {
    let same_way = a.axis.dot(b.axis).signum();
    let end = |side: f64| {
        let own = side * a.half_length;
        let beside = b.axis.dot(a.at(own) - b.centre);
        if beside.abs() <= b.half_length {
            (own, beside)
        } else {
            let others = side * same_way * b.half_length;
            (a.nearest_to(b.at(others)), others)
        }
    };
    let ends = [end(-1.0), end(1.0)];
    (ends[1].0 > ends[0].0).then_some(ends)
}

/// Of two surfaces, each with an axis, the curvature across it and that along it (1/m).
fn of_curvatures(normal: DVec3, a: (DVec3, f64, f64), b: (DVec3, f64, f64)) -> Conformity {
    // Of axes seen along the normal; tensors κ⊥ 1 + (κ∥ − κ⊥) e eᵀ.
    let flat = |axis: DVec3| (axis - axis.dot(normal) * normal).normalize_or_zero();
    let squared_sine = flat(a.0).cross(flat(b.0)).length_squared();
    let trace = a.1 + a.2 + b.1 + b.2;
    let (drop_a, drop_b) = (a.1 - a.2, b.1 - b.2);
    // det of (κ 1 − α e eᵀ − β f fᵀ) = κ² − κ(α + β) + α β sin².
    let sum = a.1 + b.1;
    let determinant = sum * (sum - drop_a - drop_b) + drop_a * drop_b * squared_sine;
    Conformity::from_curvature(trace, determinant)
}
