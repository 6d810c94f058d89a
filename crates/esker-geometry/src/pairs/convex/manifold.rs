//! Points of contact of two convex bodies along an axis.
//!
//! Where the axis is the normal of a face, the face of the other body that looks at it most, or the
//! line or point of a round one, is clipped to the prism over it: every point of what is left is a
//! point of contact with its own gap, and four of them are kept. Otherwise two lines give one point
//! where they cross, and two where they are parallel; anything else gives one point.

use super::axis::{self, Axes, Axis, Owner, smaller_inner_radius};
use super::conformity::{self, flat};
use super::polygon::{
    Candidate, Corner, clip, clip_segment, crossing, edge_name, exchanged, mix, reduce,
};
use super::solid::{Core, Extreme, Solid};
use crate::manifold::{Conformity, ContactPoint};
use glam::DVec3;
use smallvec::SmallVec;

/// Lengths that decide nothing, in inner radii.
const TOLERANCE: f64 = 1e-6;

/// Sine of the angle up to which a line of a round body lies on a face, or along another line.
const LINE_TILT: f64 = 0.05;

type Candidates = SmallVec<[Candidate; 16]>;

/// Appends the points of contact of two bodies with gaps below `margin`.
pub(super) fn contacts(
    a: &Solid,
    b: &Solid,
    margin: f64,
    last_normal: Option<DVec3>,
    out: &mut Vec<ContactPoint>,
) {
    let found = match (&a.core, &b.core) {
        (Core::Box { half: one }, Core::Box { half: two }) => {
            axis::of_boxes(a, b, [*one, *two], margin)
        }
        _ => axis::general(a, b, margin, last_normal),
    };
    let Some(axes) = found else { return };
    if on_face(a, b, &axes, margin, out) {
        return;
    }
    // Beside the face: corners and edges are nearest, and their distance is larger than any box
    // axis says.
    let best = match (&a.core, &b.core) {
        (Core::Box { .. }, Core::Box { .. }) if axes.best.gap > 0.0 => {
            axis::general(a, b, margin, None)
        }
        _ => Some(axes),
    };
    if let Some(axes) = best {
        between_edges(a, b, &axes.best, margin, out);
    }
}

/// The manifold on the face that the axis belongs to; false where there is none, or where it is not
/// where the bodies are nearest.
fn on_face(a: &Solid, b: &Solid, axes: &Axes, margin: f64, out: &mut Vec<ContactPoint>) -> bool {
    let Axis { normal, owner, .. } = axes.chosen;
    let (reference, incident, face, outward) = match owner {
        Owner::FaceOfA(face) => (a, b, face, normal),
        Owner::FaceOfB(face) => (b, a, face, -normal),
        Owner::Neither => return false,
    };
    let inner = smaller_inner_radius(a, b);
    let tolerance = TOLERANCE * inner;
    let window = reference.polygon(face, outward);
    let height = outward.dot(reference.support(outward)) + incident.rounding;
    let mut candidates = Candidates::new();
    let mut consider = |corner: Corner| {
        let gap = outward.dot(corner.point) - height;
        candidates.push(Candidate { corner, gap });
    };
    let mut law = flat(a, b);
    if let Some(polygon) = incident.incident_face(-outward) {
        let clipped = clip(&polygon, &window, outward, tolerance);
        clipped.into_iter().for_each(&mut consider);
    } else {
        match incident.extreme(-outward, 2.0) {
            Extreme::Line(ends) => {
                let clipped = clip_segment(ends, &window, outward, tolerance);
                clipped.into_iter().flatten().for_each(&mut consider);
                let along = (ends[1].point - ends[0].point).normalize_or_zero();
                let is_lying = along.dot(outward).abs() < LINE_TILT;
                let line = clipped.filter(|_| is_lying);
                law = conformity::on_face(incident, -outward, line.as_ref()).unwrap_or(law);
            }
            Extreme::Point(corner) => {
                clip(&[corner], &window, outward, tolerance)
                    .into_iter()
                    .for_each(&mut consider);
                law = conformity::on_face(incident, -outward, None).unwrap_or(law);
            }
        }
    }
    let deepest = candidates
        .iter()
        .map(|point| point.gap)
        .fold(f64::INFINITY, f64::min);
    if deepest > axes.best.gap + 0.01 * inner {
        return false;
    }
    candidates.retain(|point| point.gap < margin);
    reduce(&mut candidates, outward, tolerance);
    let is_single = incident.is_round();
    for Candidate { corner, gap } in candidates {
        let name = match owner {
            _ if is_single => 0,
            Owner::FaceOfB(_) => exchanged(corner.name),
            _ => corner.name,
        };
        out.push(ContactPoint {
            point: corner.point - (0.5 * gap + incident.rounding) * outward,
            normal,
            gap,
            feature: name,
            conformity: law,
        });
    }
    true
}

/// One or two points on edges, corners and round surfaces.
fn between_edges(a: &Solid, b: &Solid, axis: &Axis, margin: f64, out: &mut Vec<ContactPoint>) {
    let n = axis.normal;
    let (on_a, on_b) = (a.extreme(n, LINE_TILT), b.extreme(-n, LINE_TILT));
    let mut push = |at_a: DVec3, at_b: DVec3, feature: u32, conformity: Conformity| {
        let gap = n.dot(at_b - at_a) - a.rounding - b.rounding;
        if gap < margin {
            out.push(ContactPoint {
                point: 0.5 * (at_a + at_b + n * (a.rounding - b.rounding)),
                normal: n,
                gap,
                feature,
                conformity,
            });
        }
    };
    let law = conformity::of_point(a, b, n, on_a.as_line(), on_b.as_line());
    let is_single = a.is_round() || b.is_round();
    match (&on_a, &on_b) {
        (Extreme::Line(one), Extreme::Line(two)) => {
            if let Some(shared) = shared_stretch(one, two) {
                let length = shared[0][0].point.distance(shared[1][0].point);
                let law = conformity::along_line(a, b, n, one, two, 0.5 * length).unwrap_or(law);
                for [at_a, at_b] in shared {
                    push(at_a.point, at_b.point, at_a.name, law);
                }
                return;
            }
            let [at_a, at_b] = nearest_on_segments(one, two);
            let edges = [one, two].map(|[from, to]| edge_name(from.name, to.name));
            push(at_a, at_b, crossing(edges[0], edges[1]), law);
        }
        (Extreme::Line(line), Extreme::Point(point)) => {
            let name = mix(edge_name(line[0].name, line[1].name), point.name);
            let at_a = nearest_on_segment(line, point.point);
            push(at_a, point.point, if is_single { 0 } else { name }, law);
        }
        (Extreme::Point(point), Extreme::Line(line)) => {
            let name = mix(point.name, edge_name(line[0].name, line[1].name));
            let at_b = nearest_on_segment(line, point.point);
            push(point.point, at_b, if is_single { 0 } else { name }, law);
        }
        (Extreme::Point(one), Extreme::Point(two)) => {
            let name = if is_single {
                0
            } else {
                mix(one.name, two.name)
            };
            push(one.point, two.point, name, law);
        }
    }
}

/// The ends of the stretch that two nearly parallel segments have side by side, each as a point of
/// both; `None` where they cross or do not pass one another.
fn shared_stretch(one: &[Corner; 2], two: &[Corner; 2]) -> Option<[[Corner; 2]; 2]> {
    let along = one[1].point - one[0].point;
    let length = along.length();
    let along = along / length;
    let other = two[1].point - two[0].point;
    if along.cross(other).length() > LINE_TILT * other.length() {
        return None;
    }
    let place = |corner: &Corner| along.dot(corner.point - one[0].point);
    let mut others = two.map(|corner| (place(&corner), corner));
    if others[0].0 > others[1].0 {
        others.swap(0, 1);
    }
    let (from, to) = (others[0].0.max(0.0), others[1].0.min(length));
    if to - from <= TOLERANCE * length {
        return None;
    }
    let end = |at: f64, own: (f64, Corner), other: (f64, Corner)| {
        let is_own = at == own.0;
        let name = if is_own { !own.1.name } else { other.1.name };
        let part = (at - others[0].0) / (others[1].0 - others[0].0);
        let points = [
            one[0].point + at * along,
            others[0].1.point.lerp(others[1].1.point, part),
        ];
        points.map(|point| Corner { point, name })
    };
    Some([
        end(from, (0.0, one[0]), others[0]),
        end(to, (length, one[1]), others[1]),
    ])
}

fn nearest_on_segment(ends: &[Corner; 2], point: DVec3) -> DVec3 {
    let along = ends[1].point - ends[0].point;
    let part = along.dot(point - ends[0].point) / along.length_squared();
    ends[0].point + part.clamp(0.0, 1.0) * along
}

/// The points of two segments that are nearest to one another.
fn nearest_on_segments(one: &[Corner; 2], two: &[Corner; 2]) -> [DVec3; 2] {
    let (u, v) = (one[1].point - one[0].point, two[1].point - two[0].point);
    let between = one[0].point - two[0].point;
    let (uu, uv, vv) = (u.dot(u), u.dot(v), v.dot(v));
    let (ub, vb) = (u.dot(between), v.dot(between));
    let determinant = uu * vv - uv * uv;
    let along_u = if determinant > 0.0 {
        ((uv * vb - vv * ub) / determinant).clamp(0.0, 1.0)
    } else {
        0.0
    };
    let at_two = nearest_on_segment(two, one[0].point + along_u * u);
    [nearest_on_segment(one, at_two), at_two]
}
