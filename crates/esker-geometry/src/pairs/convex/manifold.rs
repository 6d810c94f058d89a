//! Points of contact of two convex bodies along an axis.
//!
//! Where the axis is the normal of a face, the face of the other body that looks at it most, or the
//! line or point of a round one, is clipped to the prism over it: every point of what is left is a
//! point of contact with its own gap, and four of them are kept. Otherwise two lines give one point
//! where they cross, and two where they are parallel; anything else gives one point.

use super::axis::{self, Axes, Axis, Owner, smaller_inner_radius};
use super::conformity::{self, flat};
use super::polygon::{
    Candidate, Corner, WITHIN, Window, clip, clip_segment, crossing, nearest_on_segment,
    nearest_on_segments, reduce,
};
use super::solid::{Core, Extreme, Solid};
use crate::manifold::{Conformity, ContactPoint};
use glam::DVec3;
use smallvec::SmallVec;

/// Lengths that decide nothing, in inner radii.
pub(super) const TOLERANCE: f64 = 1e-6;

/// Sine of the angle up to which a line of a round body lies on a face, or along another line.
pub(super) const LINE_TILT: f64 = 0.05;

/// How much farther than the bodies the points of a manifold may be apart, in inner radii.
pub(super) const MISSED: f64 = 0.01;

/// Cosine of the angle up to which a face takes part beside edges that are nearer.
const NEARLY_PARALLEL: f64 = 0.9;

/// Points that a manifold has at most.
const MOST_POINTS: usize = 4;

/// Two bodies and how far apart points of contact may be.
pub(super) struct Pair<'a> {
    pub a: &'a Solid<'a>,
    pub b: &'a Solid<'a>,
    pub margin: f64,
}

impl Pair<'_> {
    /// Appends the points of contact.
    pub fn contacts(&self, last_normal: Option<DVec3>, out: &mut Vec<ContactPoint>) {
        let Self { a, b, margin } = *self;
        let inner = smaller_inner_radius(a, b);
        let boxes = match (&a.core, &b.core) {
            (Core::Box { half: one }, Core::Box { half: two }) => Some([*one, *two]),
            _ => None,
        };
        let found = if let Some(half) = boxes {
            axis::of_boxes(a, b, half, margin)
        } else {
            let known = last_normal.and_then(|last| axis::last_face(a, b, margin, last));
            if known.is_some_and(|face| self.on_face(&face, face.gap + TOLERANCE * inner, out)) {
                return;
            }
            let known = last_normal.and_then(|last| axis::last_edges(a, b, margin, last));
            known.or_else(|| axis::general(a, b, margin, last_normal))
        };
        let Some(mut axes) = found else { return };
        if self.on_face(&axes.chosen, axes.best.gap + MISSED * inner, out) {
            return;
        }
        // Beside the face. Where corners or edges are nearest, no direction of two boxes tells.
        if boxes.is_some() && axes.best.gap > 0.0 {
            let Some(exact) = axis::general(a, b, margin, None) else {
                return;
            };
            axes = exact;
        }
        let first = out.len();
        self.between_edges(&axes.best, out);
        self.beside_edges(&axes, first, out);
    }

    /// Where edges are nearest but faces nearly parallel, the points of the face too: a
    /// rotation may bring them nearer than the edges before the bodies are looked at again.
    fn beside_edges(&self, axes: &Axes, first: usize, out: &mut Vec<ContactPoint>) {
        let Self { a, b, .. } = *self;
        let Some(face) = axes.face else { return };
        let is_flat = !a.is_round() && !b.is_round();
        if !is_flat || face.normal.dot(axes.best.normal) < NEARLY_PARALLEL {
            return;
        }
        let edges = out.len();
        self.on_face(&face, f64::INFINITY, out);
        let nearest = axes.best.gap - TOLERANCE * smaller_inner_radius(a, b);
        let mut kept = edges;
        for k in edges..out.len() {
            let is_new = out[first..edges]
                .iter()
                .all(|edge| edge.feature != out[k].feature);
            if out[k].gap >= nearest && is_new {
                out[kept] = out[k];
                kept += 1;
            }
        }
        out.truncate(kept);
        if out.len() > first + MOST_POINTS
            && let Some(edge) = out[first..edges].first().map(|edge| edge.point)
        {
            let distance = |point: &ContactPoint| point.point.distance_squared(edge);
            let beside =
                (edges..out.len()).min_by(|&i, &j| distance(&out[i]).total_cmp(&distance(&out[j])));
            if let Some(beside) = beside {
                out.remove(beside);
            }
        }
    }

    /// The manifold on the face that the axis belongs to; false where there is none, or where its
    /// deepest point is not as deep as `deepest`: then the bodies are nearest beside the face.
    pub fn on_face(&self, axis: &Axis, deepest: f64, out: &mut Vec<ContactPoint>) -> bool {
        let Self { a, b, margin } = *self;
        let Axis { normal, owner, .. } = *axis;
        let (reference, incident, face, outward) = match owner {
            Owner::FaceOfA(face) => (a, b, face, normal),
            Owner::FaceOfB(face) => (b, a, face, -normal),
            Owner::Neither => return false,
        };
        let window = Window {
            corners: &reference.polygon(face, outward),
            normal: outward,
            tolerance: TOLERANCE * smaller_inner_radius(a, b),
            is_of_a: matches!(owner, Owner::FaceOfA(_)),
            plate: reference.as_plate(),
        };
        let height = outward.dot(reference.support(outward)) + incident.rounding;
        let mut candidates: SmallVec<[Candidate; 12]> = SmallVec::new();
        let mut consider = |corner: Corner| {
            let gap = outward.dot(corner.point) - height;
            candidates.push(Candidate { corner, gap });
        };
        let mut law = None;
        if let Some(polygon) = incident.incident_face(-outward) {
            clip(&polygon, &window).into_iter().for_each(consider);
        } else {
            match incident.extreme(-outward, 2.0) {
                Extreme::Line { ends, .. } => {
                    let clipped = clip_segment(ends, &window);
                    clipped.into_iter().flatten().for_each(consider);
                    let along = (ends[1].point - ends[0].point).normalize_or_zero();
                    let is_lying = along.dot(outward).abs() < LINE_TILT;
                    let line = clipped.filter(|_| is_lying || incident.rounding > 0.0);
                    law = conformity::on_face(incident, -outward, line.as_ref());
                }
                Extreme::Point(corner) => {
                    clip(&[corner], &window).into_iter().for_each(&mut consider);
                    law = conformity::on_face(incident, -outward, None);
                }
            }
        }
        if !candidates.iter().any(|point| point.gap <= deepest) {
            return false;
        }
        candidates.retain(|point| point.gap < margin && point.corner.name != WITHIN);
        // Pieces of a wall are put together first.
        if window.plate.is_none() {
            reduce(&mut candidates, outward, window.tolerance);
        }
        let conformity = law.unwrap_or_else(|| flat(a, b));
        let is_single = incident.is_round();
        out.extend(
            candidates
                .iter()
                .map(|&Candidate { corner, gap }| ContactPoint {
                    point: corner.point - (0.5 * gap + incident.rounding) * outward,
                    normal,
                    gap,
                    feature: if is_single { 0 } else { corner.name },
                    conformity,
                }),
        );
        true
    }

    /// One or two points on edges, corners and round surfaces.
    pub fn between_edges(&self, axis: &Axis, out: &mut Vec<ContactPoint>) {
        let Self { a, b, margin } = *self;
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
        if let (Some(one), Some(two)) = (on_a.as_line(), on_b.as_line())
            && let Some(shared) = shared_stretch(one, two)
        {
            let half_length = 0.5 * shared[0][0].point.distance(shared[1][0].point);
            let law = conformity::along_lines(a, b, n, [one, two], half_length).unwrap_or(law);
            for [at_a, at_b] in shared {
                push(at_a.point, at_b.point, at_a.name, law);
            }
            return;
        }
        let [at_a, at_b] = match (&on_a, &on_b) {
            (Extreme::Line { ends: one, .. }, Extreme::Line { ends: two, .. }) => {
                nearest_on_segments(one, two)
            }
            (Extreme::Line { ends, .. }, Extreme::Point(to)) => {
                [nearest_on_segment(ends, to.point), to.point]
            }
            (Extreme::Point(to), Extreme::Line { ends, .. }) => {
                [to.point, nearest_on_segment(ends, to.point)]
            }
            (Extreme::Point(one), Extreme::Point(two)) => [one.point, two.point],
        };
        let is_single = a.is_round() || b.is_round();
        let feature = if is_single {
            0
        } else {
            crossing(on_a.name(), on_b.name())
        };
        push(at_a, at_b, feature, law);
    }
}

impl Extreme {
    fn as_line(&self) -> Option<&[Corner; 2]> {
        match self {
            Self::Line { ends, .. } => Some(ends),
            Self::Point(_) => None,
        }
    }

    fn name(&self) -> u32 {
        match self {
            Self::Line { name, .. } => *name,
            Self::Point(corner) => corner.name,
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
    let end = |at: f64, own: (f64, Corner), other: Corner| {
        let is_own = (at - own.0).abs() <= TOLERANCE * length;
        let name = if is_own { !own.1.name } else { other.name };
        let part = (at - others[0].0) / (others[1].0 - others[0].0);
        let points = [
            one[0].point + at * along,
            others[0].1.point.lerp(others[1].1.point, part),
        ];
        points.map(|point| Corner { point, name })
    };
    Some([
        end(from, (0.0, one[0]), others[0].1),
        end(to, (length, one[1]), others[1].1),
    ])
}
