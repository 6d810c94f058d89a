//! A body in or at a container: a thin shell, closed or with open faces.
//!
//! Whether the container holds the body from inside is decided as for a sphere about its centre that
//! lies within it. From inside every wall is flat or hollow, so that a convex body touches it with
//! points of its outline: corners, and of a cylinder points of its rims. Points beyond an open face
//! touch nothing, and the rim around it is touched like an edge. From outside the shell is a solid
//! block, cylinder or cone, but where that is touched in an open face: there only rims are.
//!
//! What is approximate: a round rim is taken as [`CHORDS`] straight pieces; a hollow mantle touches a
//! body in [`MAX_POINTS`] points at most, each with the tangent plane at its azimuth; a body that moves
//! far sees the tangent planes of its own points only.

use super::axis;
use super::conformity::flat_at_wall;
use super::manifold::{LINE_TILT, Pair, TOLERANCE};
use super::plane::{Plane, passage};
use super::polygon::{Candidate, Corner, MAX_POINTS, mix, reduce};
use super::solid::{Core, Extreme, RIM_POINTS, Solid};
use super::{box_contacts, frustum_contacts};
use crate::manifold::{Conformity, ContactPoint};
use crate::pairs::body_wall::WallQuery;
use crate::pairs::sphere_frustum::{Frustum, Meridian, is_closed_there};
use crate::shape::{Face, MAX_CONFORMITY, OpenFaces, Side, WallShape, WallSurface};
use glam::{DMat3, DVec2, DVec3};
use smallvec::SmallVec;
use std::f64::consts::TAU;

/// The upper two bits of a body's feature at a container: from which side it is held, or that it
/// touches a rim.
const INSIDE: u32 = 0b01 << 30;
const OUTSIDE: u32 = 0b10 << 30;
const RIM: u32 = 0b11 << 30;

/// Straight pieces of a round rim: the sagitta is 0.0075 % of the radius.
const CHORDS: u32 = 256;

/// Points of a rim nearer than this are one, in inner radii.
const SAME: f64 = 1e-2;

/// Trials around a cylinder's rim for the places where it is nearest to a mantle.
const TRIALS: u32 = 24;

/// Departure of tangent planes from a mantle that is accepted, in inner radii; as for spheres.
const MAX_SAGITTA: f64 = 0.2;

/// From which side a container holds a body that touches it with this feature; `None` for rims and
/// for walls that are no containers.
pub(crate) fn container_side(wall: &WallShape, feature: u32) -> Option<Side> {
    match wall.surface() {
        WallSurface::Box { side, .. } | WallSurface::Frustum { side, .. }
            if side == Side::Inside => {}
        _ => return None,
    }
    match feature & RIM {
        INSIDE => Some(Side::Inside),
        OUTSIDE => Some(Side::Outside),
        _ => None,
    }
}

/// The name of a point that a part of a compound has, from its name as a point of the part alone.
pub(crate) fn feature_of_part(part: u32, feature: u32) -> u32 {
    mix(part, feature)
}

/// The same at a wall that holds the part from this side, if it is a container.
pub(crate) fn feature_of_part_at_wall(part: u32, feature: u32, side: Option<Side>) -> u32 {
    let side = match side {
        Some(Side::Inside) => INSIDE,
        Some(Side::Outside) => OUTSIDE,
        None => RIM,
    };
    side | mix(part, feature) & !RIM
}

/// Renames points that belong to one part of the wall.
fn rename(points: &mut [ContactPoint], side: u32, part: u32) {
    for point in points {
        point.feature = side | mix(part, point.feature) & !RIM;
    }
}

impl ContactPoint {
    /// The touched point of the wall.
    fn on_wall(&self) -> DVec3 {
        self.point + 0.5 * self.gap * self.normal
    }
}

/// A straight piece of the rim of an open face.
struct RimPiece {
    ends: [DVec3; 2],
    /// From the rim into the wall that ends there.
    into_wall: DVec3,
    /// Whether the rim goes on beyond the ends: then they are not touched.
    goes_on: bool,
    name: u32,
}

impl RimPiece {
    /// The points where a body touches the piece, with normals that the wall does not hide.
    fn contacts(&self, body: &Solid, margin: f64, out: &mut Vec<ContactPoint>) {
        let half_length = 0.5 * self.ends[0].distance(self.ends[1]);
        let centre = 0.5 * (self.ends[0] + self.ends[1]);
        let reach = half_length + body.bounding_radius() + margin;
        if centre.distance_squared(body.position) > reach * reach {
            return;
        }
        let first = out.len();
        let piece = self.segment(half_length, body);
        let pair = Pair {
            a: body,
            b: &piece,
            margin,
        };
        if self.goes_on {
            let line = self.segment(reach + body.bounding_radius(), body);
            let with_line = Pair { b: &line, ..pair };
            self.contacts_of_curve(&pair, &with_line, out);
        } else {
            pair.contacts(None, out);
        }
        keep(out, first, |point| self.is_seen(point.normal));
        rename(&mut out[first..], RIM, self.name);
    }

    /// Whether the wall does not hide a body that would be touched with this normal.
    fn is_seen(&self, normal: DVec3) -> bool {
        normal.dot(self.into_wall) >= -1e-9
    }

    /// A straight line about the middle of the piece.
    fn segment(&self, half_length: f64, body: &Solid) -> Solid<'static> {
        let [from, to] = self.ends;
        let along = (to - from).normalize_or_zero();
        let (x, y) = along.any_orthonormal_pair();
        Solid {
            core: Core::Segment { half_length },
            position: 0.5 * (from + to),
            rotation: DMat3::from_cols(x, y, along),
            rounding: 0.0,
            inner_radius: body.inner_radius,
            is_wall: true,
        }
    }

    /// The points of a piece of a curve. Normals are those of the tangent, which has no ends within
    /// the body: the shortest way out for the piece alone is along the curve where an edge of the
    /// body straddles it, and takes no account of the pieces beside.
    fn contacts_of_curve(
        &self,
        with_piece: &Pair<'_>,
        with_line: &Pair<'_>,
        out: &mut Vec<ContactPoint>,
    ) {
        let Pair { a, b, margin } = *with_line;
        let Some(axes) = axis::general(a, b, margin, None) else {
            return;
        };
        let best = if self.is_seen(axes.best.normal) {
            if with_piece.on_face(&axes.chosen, f64::INFINITY, out) {
                return;
            }
            axes.best
        } else {
            // A corner that has just passed the rim: the way back is barred by the wall.
            let outward = b.position - a.position;
            let guess = outward.reject_from_normalized(self.into_wall);
            match axis::across_line(a, b, guess.normalize_or(self.into_wall)) {
                Some(seen) if self.is_seen(seen.normal) => seen,
                _ => return,
            }
        };
        let first = out.len();
        with_piece.between_edges(&best, out);
        if out.len() == first + 1 {
            // Lines that cross, maybe beside the piece.
            out.truncate(first);
            with_line.between_edges(&best, out);
            let [from, to] = self.ends;
            let length = from.distance(to);
            let is_on_piece = |point: &ContactPoint| {
                let place = (point.on_wall() - from).dot(to - from) / length;
                // Normals of two pieces leave that much between them.
                let slack = point.gap.abs() * TAU / f64::from(CHORDS);
                (-slack..=length + slack).contains(&place)
            };
            keep(out, first, is_on_piece);
        }
    }
}

/// Keeps of the points from `first` on those that a test accepts, in their order.
fn keep(out: &mut Vec<ContactPoint>, first: usize, is_kept: impl Fn(&ContactPoint) -> bool) {
    let mut kept = first;
    for k in first..out.len() {
        if is_kept(&out[k]) {
            out.swap(kept, k);
            kept += 1;
        }
    }
    out.truncate(kept);
}

/// A box that is a container.
pub(super) struct BoxShell {
    pub half: DVec3,
    pub open: OpenFaces,
}

impl BoxShell {
    fn is_open(&self, axis: usize, is_upper: bool) -> bool {
        self.open.contains(Face::across(axis, is_upper))
    }

    pub fn contacts(&self, body: &Solid, query: &WallQuery, out: &mut Vec<ContactPoint>) {
        let centre = body.position;
        let depth = self.half - centre.abs();
        let nearest = depth.min_position();
        let is_beyond_open =
            |axis: usize| depth[axis] < 0.0 && self.is_open(axis, centre[axis] >= 0.0);
        let is_closed =
            (0..3).all(|k| (depth[k] >= 0.0 && k != nearest) || !self.is_open(k, centre[k] >= 0.0));
        let is_over_opening = (0..3).any(|axis| {
            let others_within = (0..3).all(|k| k == axis || depth[k] >= 0.0);
            is_beyond_open(axis) && others_within
        });
        let probe = query.probe(centre, body.inner_radius);
        if probe.is_held_inside(depth[nearest], is_closed) || is_over_opening {
            self.touches_inside(body, query.margin, out);
            return;
        }
        let first = out.len();
        box_contacts(body, self.half, query.margin, out);
        let is_on_lid = |point: &ContactPoint| {
            let at = point.on_wall();
            let reach = self.half - TOLERANCE * body.inner_radius;
            let beyond = |k: usize| at[k].abs() > reach[k];
            (0..3).any(|axis| {
                let is_alone = (0..3).all(|k| k == axis || !beyond(k));
                beyond(axis) && is_alone && self.is_open(axis, at[axis] >= 0.0)
            })
        };
        if out[first..].iter().any(is_on_lid) {
            out.truncate(first);
            self.all_rims(body, query.margin, out);
        } else {
            rename(&mut out[first..], OUTSIDE, 0);
        }
    }

    fn all_rims(&self, body: &Solid, margin: f64, out: &mut Vec<ContactPoint>) {
        for axis in 0..3 {
            for is_upper in [false, true] {
                if self.is_open(axis, is_upper) {
                    self.rims(body, axis, is_upper, margin, out);
                }
            }
        }
    }

    fn touches_inside(&self, body: &Solid, margin: f64, out: &mut Vec<ContactPoint>) {
        self.all_rims(body, margin, out);
        for axis in 0..3 {
            for is_upper in [false, true] {
                let sign = if is_upper { 1.0 } else { -1.0 };
                if self.is_open(axis, is_upper) {
                    continue;
                }
                let plane = Plane {
                    normal: sign * DVec3::AXES[axis],
                    offset: self.half[axis],
                };
                let is_over = |point: DVec3| {
                    (0..3).all(|k| {
                        let is_within = point[k].abs() <= self.half[k];
                        k == axis || is_within || !self.is_open(k, point[k] >= 0.0)
                    })
                };
                let first = out.len();
                plane.contacts(body, margin, is_over, out);
                rename(
                    &mut out[first..],
                    INSIDE,
                    Face::across(axis, is_upper) as u32,
                );
            }
        }
    }

    /// The edges of the closed faces around an open one.
    fn rims(
        &self,
        body: &Solid,
        axis: usize,
        is_upper: bool,
        margin: f64,
        out: &mut Vec<ContactPoint>,
    ) {
        let sign = |is_upper: bool| if is_upper { 1.0 } else { -1.0 };
        let opening = sign(is_upper) * DVec3::AXES[axis];
        for k in [(axis + 1) % 3, (axis + 2) % 3] {
            let along = DVec3::AXES[3 - axis - k];
            for is_far in [false, true] {
                if self.is_open(k, is_far) {
                    continue;
                }
                let middle = self.half * (opening + sign(is_far) * DVec3::AXES[k]);
                let half = self.half * along;
                let faces = [(axis, is_upper), (k, is_far)];
                let [one, two] = faces.map(|(axis, is_upper)| Face::across(axis, is_upper) as u32);
                let rim = RimPiece {
                    ends: [middle - half, middle + half],
                    into_wall: -opening,
                    goes_on: false,
                    name: 8 * one + two,
                };
                rim.contacts(body, margin, out);
            }
        }
    }
}

/// A cylinder or cone that is a container.
pub(super) struct FrustumShell {
    frustum: Frustum,
    /// Bottom and top; the end of a cone that is a point has nothing to open.
    is_open: [bool; 2],
}

/// A point of a body next to the mantle.
#[derive(Clone, Copy)]
struct MantlePoint {
    candidate: Candidate,
    normal: DVec3,
    curvature: f64,
}

impl FrustumShell {
    pub fn new(radii: [f64; 2], length: f64, open: OpenFaces) -> Self {
        Self {
            frustum: Frustum::new(radii, length),
            is_open: [
                open.contains(Face::Bottom) && radii[0] > 0.0,
                open.contains(Face::Top) && radii[1] > 0.0,
            ],
        }
    }

    pub fn radii(&self) -> [f64; 2] {
        [self.frustum.bottom.x, self.frustum.top.x]
    }

    pub fn half_length(&self) -> f64 {
        self.frustum.top.y
    }

    pub fn contacts(&self, body: &Solid, query: &WallQuery, out: &mut Vec<ContactPoint>) {
        let centre = body.position;
        let nearest = self.frustum.meridian(centre, 0);
        let half = self.half_length();
        let to_ends = [centre.z + half, half - centre.z];
        let depth = nearest.distance.min(to_ends[0]).min(to_ends[1]);
        let is_closed = is_closed_there(self.is_open, to_ends, depth);
        let across = centre.truncate().length();
        let is_over_opening = (0..2)
            .any(|end| self.is_open[end] && to_ends[end] < 0.0 && across <= self.radii()[end]);
        let probe = query.probe(centre, body.inner_radius);
        if probe.is_held_inside(depth, is_closed) || is_over_opening {
            self.touches_inside(body, query, out);
            return;
        }
        let first = out.len();
        frustum_contacts(body, self, query.margin, out);
        let is_on_lid = |point: &ContactPoint| {
            let at = point.on_wall();
            let slack = TOLERANCE * body.inner_radius;
            let end = usize::from(at.z >= 0.0);
            let is_at_end = at.z.abs() > half - slack;
            let is_within = at.truncate().length() < self.radii()[end] - slack;
            self.is_open[end] && is_at_end && is_within
        };
        if out[first..].iter().any(is_on_lid) {
            out.truncate(first);
            for end in (0..2).filter(|end| self.is_open[*end]) {
                self.rim(body, end, query.margin, out);
            }
        } else {
            rename(&mut out[first..], OUTSIDE, 0);
        }
    }

    fn touches_inside(&self, body: &Solid, query: &WallQuery, out: &mut Vec<ContactPoint>) {
        self.mantle(body, query, out);
        for end in 0..2 {
            let radius = self.radii()[end];
            if self.is_open[end] {
                self.rim(body, end, query.margin, out);
            } else if radius > 0.0 {
                let cap = Plane {
                    normal: [DVec3::NEG_Z, DVec3::Z][end],
                    offset: self.half_length(),
                };
                let widest = radius + query.margin + body.inner_radius;
                let first = out.len();
                cap.contacts(
                    body,
                    query.margin,
                    |point| point.truncate().length() <= widest,
                    out,
                );
                rename(&mut out[first..], INSIDE, 1 + end as u32);
            }
        }
    }

    /// Points of the body's outline within the margin of the hollow mantle.
    fn mantle(&self, body: &Solid, query: &WallQuery, out: &mut Vec<ContactPoint>) {
        let widest = self.radii()[0].max(self.radii()[1]);
        let is_fast = query.motion * query.motion > 2.0 * MAX_SAGITTA * body.inner_radius * widest;
        let margin = if is_fast {
            query.margin.max(query.motion)
        } else {
            query.margin
        };
        let mut points: SmallVec<[MantlePoint; 12]> = SmallVec::new();
        let to_centre = self.frustum.meridian(body.position, 0).distance;
        let mut consider = |corner: Corner| {
            let meridian = self.frustum.meridian(corner.point, 0);
            if meridian.distance >= margin {
                return;
            }
            let passage = passage(to_centre, meridian.distance);
            let passed = body.position.lerp(corner.point, passage);
            let is_on_mantle = |meridian: &Meridian| self.is_on_mantle(meridian, body.inner_radius);
            if is_on_mantle(&meridian) && is_on_mantle(&self.frustum.meridian(passed, 0)) {
                points.push(MantlePoint {
                    candidate: Candidate {
                        corner,
                        gap: meridian.distance,
                    },
                    normal: self.frustum.mantle_normal(&meridian),
                    curvature: self.frustum.mantle_curvature(&meridian),
                });
            }
        };
        match &body.core {
            Core::Frustum { .. } => self.nearest_rim_points(body, &mut consider),
            _ => body.for_each_vertex(&mut consider),
        }
        let Some(deepest) = points
            .iter()
            .min_by(|one, two| one.candidate.gap.total_cmp(&two.candidate.gap))
            .copied()
        else {
            return;
        };
        let mut kept: SmallVec<[Candidate; 12]> =
            points.iter().map(|point| point.candidate).collect();
        if kept.len() > MAX_POINTS && !is_fast {
            reduce(&mut kept, deepest.normal, TOLERANCE * body.inner_radius);
        }
        let law = self.conformity(body, &deepest);
        for Candidate { corner, gap } in kept {
            let Some(point) = points
                .iter()
                .find(|point| point.candidate.corner.name == corner.name)
            else {
                continue;
            };
            out.push(ContactPoint {
                point: corner.point + 0.5 * gap * point.normal,
                normal: point.normal,
                gap,
                feature: INSIDE | mix(0, corner.name) & !RIM,
                conformity: law,
            });
        }
    }

    /// Whether the foot of a point lies on the mantle, or so far beyond a closed end that the point
    /// was pushed there.
    fn is_on_mantle(&self, meridian: &Meridian, slack: f64) -> bool {
        let slack = self
            .is_open
            .map(|is_open| if is_open { 0.0 } else { slack });
        (-slack[0]..=self.frustum.slant + slack[1]).contains(&meridian.along)
    }

    /// A line of a cylinder that lies in the mantle, or points.
    fn conformity(&self, body: &Solid, deepest: &MantlePoint) -> Conformity {
        let flat = flat_at_wall(body);
        let (Core::Frustum { radii, .. }, Extreme::Line { ends, .. }) =
            (&body.core, body.extreme(deepest.normal, LINE_TILT))
        else {
            return flat;
        };
        let curvature = radii[0].recip() - deepest.curvature.min(MAX_CONFORMITY / radii[0]);
        let half_length = 0.5 * ends[0].point.distance(ends[1].point);
        Conformity::Curved {
            radius: (half_length / curvature).sqrt(),
            ellipse_factor: 1.0,
        }
    }

    /// The places, two at most, where each rim of a cylinder is nearest to the mantle.
    fn nearest_rim_points(&self, body: &Solid, consider: &mut impl FnMut(Corner)) {
        let step = TAU / f64::from(TRIALS);
        for end in 0..2 {
            let point = |angle: f64| body.rim_point(end, DVec2::from_angle(angle));
            let gap = |angle: f64| self.frustum.meridian(point(angle), 0).distance;
            let gaps: [f64; TRIALS as usize] = std::array::from_fn(|k| gap(step * k as f64));
            let count = TRIALS as usize;
            let mut minima: SmallVec<[(f64, f64); 4]> = SmallVec::new();
            for k in 0..count {
                let (before, after) = (gaps[(k + count - 1) % count], gaps[(k + 1) % count]);
                if gaps[k] <= before && gaps[k] < after {
                    let angle = minimum(gap, step * (k as f64 - 1.0), step * (k as f64 + 1.0));
                    minima.push((gap(angle), angle));
                }
            }
            if minima.is_empty() {
                // A rim that is everywhere as near: two points of it.
                minima.extend([0.0, 0.5 * TAU].map(|angle| (gap(angle), angle)));
            }
            minima.sort_by(|one, two| one.0.total_cmp(&two.0));
            minima.truncate(2);
            minima.sort_by(|one, two| one.1.total_cmp(&two.1));
            for (k, (_, angle)) in minima.into_iter().enumerate() {
                consider(Corner {
                    point: point(angle),
                    name: RIM_POINTS * end as u32 + k as u32,
                });
            }
        }
    }

    /// The rim of an open end.
    fn rim(&self, body: &Solid, end: usize, margin: f64, out: &mut Vec<ContactPoint>) {
        let height = [-self.half_length(), self.half_length()][end];
        let radius = self.radii()[end];
        let reach = body.bounding_radius() + margin;
        let across = body.position.truncate().length();
        if (body.position.z - height).abs() > reach || (across - radius).abs() > reach {
            return;
        }
        let at = |k: u32| {
            let direction = DVec2::from_angle(TAU * f64::from(k) / f64::from(CHORDS));
            (radius * direction).extend(height)
        };
        let towards = self.radii()[1 - end] - radius;
        let first = out.len();
        for k in 0..CHORDS {
            let ends = [at(k), at(k + 1)];
            let radial = (0.5 * (ends[0] + ends[1])).truncate().normalize_or_zero();
            let into_wall = (towards * radial).extend(-2.0 * height).normalize_or_zero();
            let piece = RimPiece {
                ends,
                into_wall,
                goes_on: true,
                name: CHORDS * (end as u32 + 1),
            };
            piece.contacts(body, margin, out);
        }
        keep_spread(out, first, body);
        for (k, point) in out[first..].iter_mut().enumerate() {
            point.feature = RIM | (CHORDS * (end as u32 + 1) + k as u32);
        }
    }
}

/// Keeps four of the points from `first` on, ordered by azimuth.
fn keep_spread(out: &mut Vec<ContactPoint>, first: usize, body: &Solid) {
    let found = &mut out[first..];
    let Some(normal) = found
        .iter()
        .min_by(|one, two| one.gap.total_cmp(&two.gap))
        .map(|deepest| deepest.normal)
    else {
        return;
    };
    let azimuth = |point: &ContactPoint| point.point.y.atan2(point.point.x);
    found.sort_by(|one, two| azimuth(one).total_cmp(&azimuth(two)));
    let mut kept: SmallVec<[Candidate; 12]> = SmallVec::new();
    for (k, ContactPoint { point, gap, .. }) in found.iter().enumerate() {
        let is_new =
            |known: &Candidate| known.corner.point.distance(*point) > SAME * body.inner_radius;
        if kept.iter().all(is_new) {
            kept.push(Candidate {
                corner: Corner {
                    point: *point,
                    name: k as u32,
                },
                gap: *gap,
            });
        }
    }
    reduce(&mut kept, normal, TOLERANCE * body.inner_radius);
    for (to, candidate) in kept.iter().enumerate() {
        out[first + to] = out[first + candidate.corner.name as usize];
    }
    out.truncate(first + kept.len());
}

/// The place of the only minimum of a function between two, by golden sections.
fn minimum(value: impl Fn(f64) -> f64, mut from: f64, mut to: f64) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let (mut left, mut right) = (to - GOLDEN * (to - from), from + GOLDEN * (to - from));
    let (mut at_left, mut at_right) = (value(left), value(right));
    while to - from > 1e-8 {
        if at_left < at_right {
            (to, right, at_right) = (right, left, at_left);
            left = to - GOLDEN * (to - from);
            at_left = value(left);
        } else {
            (from, left, at_left) = (left, right, at_right);
            right = from + GOLDEN * (to - from);
            at_right = value(right);
        }
    }
    0.5 * (from + to)
}
