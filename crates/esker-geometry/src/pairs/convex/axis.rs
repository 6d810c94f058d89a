//! The direction along which two convex bodies are nearest, or overlap the least.
//!
//! With support functions `h` the signed distance of two bodies is
//!
//! ```text
//! gap = max over unit n of g(n),   g(n) = n · (x_b − x_a) − h_a(n) − h_b(−n).   (1)
//! ```
//!
//! The maximum lies where `n` is the normal of a face, or meets an edge or a line of a mantle of both
//! (two circles of directions that cross) or of one (a circle), or anywhere else (corners, rims,
//! ellipsoids). A first guess comes from [`gjk`] where the cores are apart and from [`epa`] where they
//! overlap; every one of these kinds next to it is then solved for exactly, and the best is taken: no
//! case has to be told from another, and curved bodies lose nothing by a coarse guess.
//!
//! So that the normal of a contact at rest does not flicker, a face is taken where it is nearly as
//! good as the best ([`FACE_BIAS`]), and a face of `a` where it is as good as one of `b`
//! ([`FIRST_BIAS`]).

use super::epa;
use super::gjk::{self, Proximity};
use super::polygon::nearest_on_segments;
use super::solid::{Circle, Core, Extreme, Solid};
use glam::{DMat2, DMat3, DVec2, DVec3};

/// What an edge must be better by than a face, in inner radii.
pub(super) const FACE_BIAS: f64 = 2e-3;

/// What a face of `b` must be better by than a face of `a`, in inner radii.
const FIRST_BIAS: f64 = 1e-6;

/// Edges whose directions have a cross product below this are parallel.
const PARALLEL: f64 = 1e-3;

/// Overlap, in inner radii, up to which the face of the last contact is not doubted.
const SHALLOW: f64 = 0.05;

/// Angles (rad) and lengths (inner radii) that are rounding alone.
const EXACT: f64 = 1e-9;

/// Whose face the normal belongs to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Owner {
    FaceOfA(u32),
    FaceOfB(u32),
    Neither,
}

/// A direction and the distance of the surfaces along it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    /// Unit vector from `a` to `b`.
    pub normal: DVec3,
    /// Equation (1) (m).
    pub gap: f64,
    pub owner: Owner,
}

/// What the search found.
pub(super) struct Axes {
    /// The best direction.
    pub best: Axis,
    /// The one to build a manifold on: a face where one is nearly as good.
    pub chosen: Axis,
    /// The best face.
    pub face: Option<Axis>,
}

/// Length below which differences do not matter, for two bodies (m).
pub(super) fn smaller_inner_radius(a: &Solid, b: &Solid) -> f64 {
    a.inner_radius.min(b.inner_radius)
}

fn axis(a: &Solid, b: &Solid, normal: DVec3, owner: Owner) -> Axis {
    let between = b.support(-normal) - a.support(normal);
    Axis {
        normal,
        gap: normal.dot(between) - a.rounding - b.rounding,
        owner,
    }
}

fn better(one: Axis, two: Axis, bias: f64) -> Axis {
    if two.gap > one.gap + bias { two } else { one }
}

impl Axes {
    /// Chooses among the best face of `a`, of `b` and anything else.
    fn choose(faces: [Option<Axis>; 2], other: Axis, a: &Solid, b: &Solid) -> Self {
        let inner = smaller_inner_radius(a, b);
        // A single point of contact is the same on either side of an edge.
        let is_single = a.is_round() || b.is_round();
        let bias = if is_single { 1e-12 } else { FACE_BIAS } * inner;
        let face = match faces {
            [Some(one), Some(two)] => Some(better(one, two, FIRST_BIAS * inner)),
            [one, two] => one.or(two),
        };
        let chosen = face.map_or(other, |face| better(face, other, bias));
        let best = face.map_or(other, |face| better(face, other, 0.0));
        Self { best, chosen, face }
    }
}

/// The axes of any two bodies; `None` where they are farther apart than `margin`.
pub(super) fn general(a: &Solid, b: &Solid, margin: f64, last: Option<DVec3>) -> Option<Axes> {
    let start = last.unwrap_or_else(|| (b.position - a.position).normalize_or(DVec3::Z));
    let mut is_overlapping = false;
    let guess = match gjk::proximity(a, b, start) {
        Proximity::Apart(normal) => normal,
        Proximity::Overlapping(simplex) => {
            is_overlapping = true;
            epa::min_overlap(a, b, &simplex).unwrap_or(start)
        }
    };
    let mut other = axis(a, b, guess, Owner::Neither);
    // The guess is a lower bound of the distance.
    if other.gap > margin {
        return None;
    }
    let is_curved =
        |body: &Solid| matches!(body.core, Core::Ellipsoid { .. } | Core::Frustum { .. });
    let mut consider = |normal: Option<DVec3>| {
        if let Some(normal) = normal {
            other = better(other, axis(a, b, normal, Owner::Neither), 0.0);
        }
    };
    let on_a = a.circle(guess);
    let on_b = b.circle(-guess).map(reversed);
    let has_curved = is_curved(a) || is_curved(b);
    if let (Some(one), Some(two)) = (on_a, on_b)
        && (is_overlapping || has_curved)
    {
        consider(crossing(one, two, guess));
    }
    if has_curved {
        for circle in [on_a, on_b].into_iter().flatten() {
            consider(climb_on_circle(a, b, circle, guess));
        }
        consider(Some(climb(a, b, guess)));
    }
    let faces = faces_towards(a, b, other.normal);
    let axes = Axes::choose(faces, other, a, b);
    (axes.best.gap < margin).then_some(axes)
}

/// The best direction square to a line `b`, uphill from a guess.
pub(super) fn across_line(a: &Solid, b: &Solid, guess: DVec3) -> Option<Axis> {
    let line = b.circle(-guess).map(reversed)?;
    let near = climb_on_circle(a, b, line, guess)?;
    let found = axis(a, b, near, Owner::Neither);
    let edge = a.circle(near).and_then(|edge| crossing(edge, line, near));
    Some(edge.map_or(found, |normal| {
        better(found, axis(a, b, normal, Owner::Neither), 0.0)
    }))
}

fn faces_towards(a: &Solid, b: &Solid, normal: DVec3) -> [Option<Axis>; 2] {
    let of_a = a.face_towards(normal);
    let of_b = b.face_towards(-normal);
    [
        of_a.map(|(face, outward)| axis(a, b, outward, Owner::FaceOfA(face))),
        of_b.map(|(face, outward)| axis(a, b, -outward, Owner::FaceOfB(face))),
    ]
}

/// The face that the last normal belongs to, where the bodies are within the margin and overlap but
/// little. If a point of the other body lies over it at this gap, no direction next to it is better:
/// apart that is the shortest way, and in a shallow overlap the least.
pub(super) fn last_face(a: &Solid, b: &Solid, margin: f64, last: DVec3) -> Option<Axis> {
    let inner = smaller_inner_radius(a, b);
    let face = match faces_towards(a, b, last) {
        [Some(one), Some(two)] => better(one, two, FIRST_BIAS * inner),
        [one, two] => one.or(two)?,
    };
    let is_same = face.normal.dot(last) > 0.999;
    (is_same && face.gap < margin && face.gap > -SHALLOW * inner).then_some(face)
}

/// The same where the last normal was square to a line of each body: they still cross, so that no
/// direction next to theirs is better.
pub(super) fn last_edges(a: &Solid, b: &Solid, margin: f64, last: DVec3) -> Option<Axes> {
    let inner = smaller_inner_radius(a, b);
    let normal = crossing(a.circle(last)?, reversed(b.circle(-last)?), last)?;
    let other = axis(a, b, normal, Owner::Neither);
    let is_same = normal.dot(last) > 0.999;
    if !is_same || other.gap > margin || other.gap < -SHALLOW * inner {
        return None;
    }
    let (Extreme::Line { ends: one, .. }, Extreme::Line { ends: two, .. }) =
        (a.extreme(normal, EXACT), b.extreme(-normal, EXACT))
    else {
        return None;
    };
    let [from, to] = nearest_on_segments(&one, &two);
    let is_crossing = (to - from).cross(normal).length() < EXACT * inner;
    is_crossing.then(|| Axes::choose(faces_towards(a, b, normal), other, a, b))
}

/// Directions out of `b` as directions from `a` to `b`.
fn reversed(circle: Circle) -> Circle {
    Circle {
        axis: -circle.axis,
        ..circle
    }
}

/// Where two circles of directions cross, next to a guess.
fn crossing(one: Circle, two: Circle, guess: DVec3) -> Option<DVec3> {
    let across = one.axis.cross(two.axis);
    let squared = across.length_squared();
    if squared < PARALLEL * PARALLEL {
        return None;
    }
    let cosine = one.axis.dot(two.axis);
    let along_one = (one.height - two.height * cosine) / squared;
    let along_two = (two.height - one.height * cosine) / squared;
    let base = along_one * one.axis + along_two * two.axis;
    let rest = 1.0 - base.length_squared();
    if rest < 0.0 {
        return None;
    }
    let sign = 1_f64.copysign(across.dot(guess));
    (base + across * (sign * (rest / squared).sqrt())).try_normalize()
}

/// The maximum of (1) on a circle of directions, by Newton's method with halved steps:
/// `n = height·axis + k ρ`, `t = axis × ρ`, `g' = k t·w`, `g'' = −k ρ·w − k² t·H t`.
fn climb_on_circle(a: &Solid, b: &Solid, circle: Circle, guess: DVec3) -> Option<DVec3> {
    let Circle { axis: u, height } = circle;
    let k = (1.0 - height * height).sqrt();
    let mut radial = (guess - u * u.dot(guess)).try_normalize()?;
    let at = |radial: DVec3| height * u + k * radial;
    let value = |n: DVec3| n.dot(b.support(-n) - a.support(n));
    let mut best = value(at(radial));
    for _ in 0..24 {
        let (n, t) = (at(radial), u.cross(radial));
        let w = b.support(-n) - a.support(n);
        let bend = t.dot((a.radii_of_curvature(n) + b.radii_of_curvature(-n)) * t);
        let slope = k * t.dot(w);
        let fall = k * radial.dot(w) + k * k * bend;
        let mut step = if fall > 0.0 { slope / fall } else { slope };
        step = step.clamp(-0.5, 0.5);
        let is_done = loop {
            if step.abs() < 1e-15 {
                break true;
            }
            let (sin, cos) = step.sin_cos();
            let new = (cos * radial + sin * t).normalize();
            let found = value(at(new));
            if found > best {
                (radial, best) = (new, found);
                break false;
            }
            step *= 0.5;
            if step.abs() < 1e-9 {
                // Rounding of g hides the rest of the way, which Newton's step knows.
                if fall > 0.0 && (slope / fall).abs() < 1e-7 {
                    radial = (radial + slope / fall * t).normalize();
                }
                break true;
            }
        };
        if is_done {
            break;
        }
    }
    Some(at(radial))
}

/// The maximum of (1) over all directions, by Newton's method on the sphere with a shift that keeps
/// it uphill and halved steps.
fn climb(a: &Solid, b: &Solid, guess: DVec3) -> DVec3 {
    let mut n = guess;
    let value = |n: DVec3| n.dot(b.support(-n) - a.support(n));
    let mut best = value(n);
    for _ in 0..32 {
        let (t, s) = n.any_orthonormal_pair();
        let w = b.support(-n) - a.support(n);
        let radii: DMat3 = a.radii_of_curvature(n) + b.radii_of_curvature(-n);
        let (rt, rs) = (radii * t, radii * s);
        let (tt, ts, ss) = (t.dot(rt), t.dot(rs), s.dot(rs));
        let mean = 0.5 * (tt + ss);
        let max = mean + (0.5 * (tt - ss)).hypot(ts);
        let min = if max > 0.0 {
            ((tt * ss - ts * ts) / max).max(0.0)
        } else {
            0.0
        };
        let shift = n.dot(w).max(-0.9 * min);
        let y = DVec2::new(t.dot(w), s.dot(w));
        let matrix = DMat2::from_cols(DVec2::new(tt + shift, ts), DVec2::new(ts, ss + shift));
        let determinant = matrix.determinant();
        let newton = if determinant > 0.0 {
            matrix.inverse() * y
        } else {
            y / (max + shift.abs()).max(f64::MIN_POSITIVE)
        };
        let mut step = newton.clamp_length_max(0.5);
        let is_done = loop {
            let new = (n + t * step.x + s * step.y).normalize();
            let found = value(new);
            if found > best {
                (n, best) = (new, found);
                break step.length() < 1e-15;
            }
            step *= 0.5;
            if step.length() < 1e-9 {
                if newton.length() < 1e-7 {
                    n = (n + t * newton.x + s * newton.y).normalize();
                }
                break true;
            }
        };
        if is_done {
            break;
        }
    }
    n
}

/// The axes of two boxes: their 15 directions, without a guess. The gap of corner against corner or
/// edge is larger than that of the best of them.
pub(super) fn of_boxes(a: &Solid, b: &Solid, half: [DVec3; 2], margin: f64) -> Option<Axes> {
    let [ha, hb] = half;
    let offset = b.position - a.position;
    let cosines = a.rotation.transpose() * b.rotation;
    let c = [cosines.x_axis, cosines.y_axis, cosines.z_axis].map(|column| column.to_array());
    let at = |i: usize, j: usize| c[j][i];
    let to_b = a.rotation.transpose() * offset;
    let signed = |towards: f64, axis: DVec3| if towards < 0.0 { -axis } else { axis };

    let mut of_a: Option<Axis> = None;
    for i in 0..3 {
        let reach = ha[i] + hb.x * at(i, 0).abs() + hb.y * at(i, 1).abs() + hb.z * at(i, 2).abs();
        let gap = to_b[i].abs() - reach;
        if gap > margin {
            return None;
        }
        if of_a.is_none_or(|best| gap > best.gap) {
            let face = 2 * i as u32 + u32::from(to_b[i] >= 0.0);
            of_a = Some(Axis {
                normal: signed(to_b[i], a.rotation.col(i)),
                gap,
                owner: Owner::FaceOfA(face),
            });
        }
    }
    let mut of_b: Option<Axis> = None;
    for j in 0..3 {
        let towards = offset.dot(b.rotation.col(j));
        let reach = hb[j] + ha.x * at(0, j).abs() + ha.y * at(1, j).abs() + ha.z * at(2, j).abs();
        let gap = towards.abs() - reach;
        if gap > margin {
            return None;
        }
        if of_b.is_none_or(|best| gap > best.gap) {
            let face = 2 * j as u32 + u32::from(towards < 0.0);
            of_b = Some(Axis {
                normal: signed(towards, b.rotation.col(j)),
                gap,
                owner: Owner::FaceOfB(face),
            });
        }
    }
    let mut other = Axis {
        normal: DVec3::ZERO,
        gap: f64::NEG_INFINITY,
        owner: Owner::Neither,
    };
    for i in 0..3 {
        let (i1, i2) = ((i + 1) % 3, (i + 2) % 3);
        for j in 0..3 {
            let squared = 1.0 - at(i, j) * at(i, j);
            if squared < PARALLEL * PARALLEL {
                continue;
            }
            let (j1, j2) = ((j + 1) % 3, (j + 2) % 3);
            let towards = to_b[i2] * at(i1, j) - to_b[i1] * at(i2, j);
            let reach = ha[i1] * at(i2, j).abs()
                + ha[i2] * at(i1, j).abs()
                + hb[j1] * at(i, j2).abs()
                + hb[j2] * at(i, j1).abs();
            let length = squared.sqrt();
            let gap = (towards.abs() - reach) / length;
            if gap > margin {
                return None;
            }
            if gap > other.gap {
                let across = a.rotation.col(i).cross(b.rotation.col(j)) / length;
                other.normal = signed(towards, across);
                other.gap = gap;
            }
        }
    }
    Some(Axes::choose([of_a, of_b], other, a, b))
}
