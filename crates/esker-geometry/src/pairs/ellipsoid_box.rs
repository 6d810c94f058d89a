//! Ellipsoid against a box, and edges and corners of a box for any body.
//!
//! Faces, edges and corners have the names that they have for spheres (`sphere_box.rs`). From inside
//! each closed face is a half-space, as far as no open face bounds it where the body is nearest to
//! it: there its rim is touched. From outside the nearest face, edge or corner is.

use super::body_wall::WallQuery;
use super::ellipsoid_wall::WallSurface;
use super::sharp::{Near, PlacedEllipsoid, Sharp};
use super::sphere_box::{OUTER, face, feature, nearest_axis, sign_of};
use crate::manifold::ContactPoint;
use crate::shape::{Face, OpenFaces};
use crate::smooth::Support;
use glam::DVec3;

/// Which edges and corners are looked at.
pub(super) struct Sought {
    /// Those of open faces alone.
    pub rims_only: bool,
    /// Those nearer to the centre than this (m).
    pub reach: f64,
}

impl Sought {
    /// Wherever they are: one of them is the nearest.
    const ALL: Self = Self {
        rims_only: false,
        reach: f64::INFINITY,
    };

    /// Those that a body can reach.
    pub fn within(margin: f64, body: &impl Sharp) -> Self {
        Self {
            rims_only: false,
            reach: body.bound() + margin,
        }
    }
}

/// A box wall.
#[derive(Clone, Copy)]
pub(super) struct BoxWall {
    pub half: DVec3,
    pub open: OpenFaces,
}

impl BoxWall {
    fn is_closed(&self, axis: usize, sign: i32) -> bool {
        !self.open.contains(Face::across(axis, sign > 0))
    }

    /// Calls `visit` with every edge that is the end of a closed face, is nearest to the body there
    /// and can be in reach.
    pub fn each_edge(&self, body: &impl Sharp, sought: &Sought, mut visit: impl FnMut(Near, u32)) {
        for axis in 0..3 {
            let [i, j] = [(axis + 1) % 3, (axis + 2) % 3];
            for (si, sj) in [(-1, -1), (-1, 1), (1, -1), (1, 1)] {
                let mut signs = [0; 3];
                (signs[i], signs[j]) = (si, sj);
                let closed = [self.is_closed(i, si), self.is_closed(j, sj)];
                if closed == [false; 2] || (sought.rims_only && closed == [true; 2]) {
                    continue;
                }
                let origin = self.corner(signs);
                let mut nearest = origin;
                nearest[axis] = body.centre()[axis].clamp(-self.half[axis], self.half[axis]);
                if nearest.distance_squared(body.centre()) > sought.reach * sought.reach {
                    continue;
                }
                let Some(near) = body.near_line(origin, DVec3::AXES[axis]) else {
                    continue;
                };
                // The face across `i` goes on along `j`, and the other way round.
                let into_i = closed[0].then_some(-f64::from(sj) * DVec3::AXES[j]);
                let into_j = closed[1].then_some(-f64::from(si) * DVec3::AXES[i]);
                let is_on_edge = near.wall_point()[axis].abs() <= self.half[axis];
                if is_on_edge && body.is_minimum(&near, into_i.into_iter().chain(into_j)) {
                    visit(near, feature(signs));
                }
            }
        }
    }

    /// Calls `visit` with every corner of a closed face that is nearest to the body there and can
    /// be in reach.
    pub fn each_corner(
        &self,
        body: &impl Sharp,
        sought: &Sought,
        mut visit: impl FnMut(Near, u32),
    ) {
        for index in 0..8 {
            let signs = [0, 1, 2].map(|k| if index >> k & 1 == 1 { 1 } else { -1 });
            let closed = [0, 1, 2].map(|k| self.is_closed(k, signs[k]));
            if closed == [false; 3] || (sought.rims_only && closed == [true; 3]) {
                continue;
            }
            let corner = self.corner(signs);
            if corner.distance_squared(body.centre()) > sought.reach * sought.reach {
                continue;
            }
            let Some(near) = body.near_point(corner) else {
                continue;
            };
            // The edge along an axis is there when one of the faces across the others is.
            let has_edge = |k: usize| closed[(k + 1) % 3] || closed[(k + 2) % 3];
            let ray = |k: usize| -f64::from(signs[k]) * DVec3::AXES[k];
            if body.is_minimum(&near, (0..3).filter(|k| has_edge(*k)).map(ray)) {
                visit(near, feature(signs));
            }
        }
    }

    /// Where all three signs meet; the middle along an axis without a sign.
    fn corner(&self, signs: [i32; 3]) -> DVec3 {
        self.half * DVec3::from(signs.map(f64::from))
    }

    /// Whether a ball meets the box.
    pub fn is_in_reach(&self, centre: DVec3, radius: f64) -> bool {
        let nearest = centre.clamp(-self.half, self.half);
        centre.distance_squared(nearest) < radius * radius
    }
}

/// Appends the contacts with a container.
pub(super) fn shell(
    wall: &BoxWall,
    body: &PlacedEllipsoid,
    query: &WallQuery,
    out: &mut Vec<ContactPoint>,
) {
    let centre = body.centre;
    let depth = wall.half - centre.abs();
    let nearest = nearest_axis(depth);
    let is_nearest_closed =
        (0..3).all(|k| (depth[k] >= 0.0 && k != nearest) || wall.is_closed(k, sign_of(centre[k])));
    let probe = query.probe(centre, body.body.extent(DVec3::AXES[nearest]).h);
    let is_open = wall.open != OpenFaces::NONE;
    let is_inside = probe.is_held_inside(depth[nearest], is_nearest_closed);
    if is_inside {
        faces_from_inside(wall, body, query.margin, out);
    } else if !wall.is_in_reach(centre, body.bound() + query.margin) {
        return;
    } else if !is_open {
        from_outside(wall, body, OUTER, query.margin, out);
        return;
    } else if depth[nearest] >= 0.0 {
        out.extend(nearest_face(wall, body, OUTER, query.margin));
        return;
    } else {
        faces_by_side(wall, body, query.margin, out);
    }
    if is_open {
        let mut push = |near: Near, feature: u32| {
            if near.gap < query.margin {
                out.push(body.contact(&near, feature));
            }
        };
        let sought = Sought {
            rims_only: is_inside,
            ..Sought::within(query.margin, body)
        };
        wall.each_edge(body, &sought, &mut push);
        wall.each_corner(body, &sought, &mut push);
    }
}

/// Appends the contact with a block.
pub(super) fn solid(
    half: DVec3,
    body: &PlacedEllipsoid,
    query: &WallQuery,
    out: &mut Vec<ContactPoint>,
) {
    let wall = BoxWall {
        half,
        open: OpenFaces::NONE,
    };
    if wall.is_in_reach(body.centre, body.bound() + query.margin) {
        from_outside(&wall, body, 0, query.margin, out);
    }
}

/// A face seen from one side.
struct FaceView {
    surface: WallSurface,
    /// Of the body, where it is nearest to the face's plane (m).
    foot: DVec3,
}

/// A face from inside (`outer = 0`) or outside, with `outer` added to its name.
fn view(
    wall: &BoxWall,
    body: &PlacedEllipsoid,
    (axis, sign): (usize, i32),
    outer: Option<u32>,
) -> FaceView {
    let (outward, feature) = face(axis, sign);
    let facing = if outer.is_some() { -1.0 } else { 1.0 };
    let normal = facing * outward;
    let extent = body.body.extent(normal);
    let to_plane = facing * (wall.half[axis] - f64::from(sign) * body.centre[axis]);
    FaceView {
        surface: WallSurface::plane(normal, to_plane - extent.h, outer.unwrap_or(0) + feature),
        foot: body.centre + body.body.point(&extent),
    }
}

const FACES: [(usize, i32); 6] = [(0, -1), (0, 1), (1, -1), (1, 1), (2, -1), (2, 1)];

/// Every closed face as a half-space that ends at open faces.
fn faces_from_inside(
    wall: &BoxWall,
    body: &PlacedEllipsoid,
    margin: f64,
    out: &mut Vec<ContactPoint>,
) {
    for (axis, sign) in FACES.into_iter().filter(|f| wall.is_closed(f.0, f.1)) {
        let seen = view(wall, body, (axis, sign), None);
        let is_beyond_open = |k: usize| {
            seen.foot[k].abs() > wall.half[k] && !wall.is_closed(k, sign_of(seen.foot[k]))
        };
        if seen.surface.gap < margin && !(0..3).any(|k| k != axis && is_beyond_open(k)) {
            out.push(seen.surface.contact(body.body, body.centre));
        }
    }
}

/// Closed faces that the body is nearest to within their outline, each from the side of the centre.
fn faces_by_side(wall: &BoxWall, body: &PlacedEllipsoid, margin: f64, out: &mut Vec<ContactPoint>) {
    for (axis, sign) in FACES.into_iter().filter(|f| wall.is_closed(f.0, f.1)) {
        let is_beyond = f64::from(sign) * body.centre[axis] > wall.half[axis];
        let seen = view(wall, body, (axis, sign), is_beyond.then_some(OUTER));
        let is_met = seen.surface.is_met(body.body, seen.foot - body.centre);
        if seen.surface.gap < margin && is_met && is_within(wall, axis, seen.foot) {
            out.push(seen.surface.contact(body.body, body.centre));
        }
    }
}

fn is_within(wall: &BoxWall, axis: usize, foot: DVec3) -> bool {
    (0..3).all(|k| k == axis || foot[k].abs() <= wall.half[k])
}

/// The nearest face, edge or corner of a box without openings.
fn from_outside(
    wall: &BoxWall,
    body: &PlacedEllipsoid,
    outer: u32,
    margin: f64,
    out: &mut Vec<ContactPoint>,
) {
    let beyond = |k: usize| body.centre[k].abs() > wall.half[k];
    for axis in (0..3).filter(|k| beyond(*k)) {
        let sign = sign_of(body.centre[axis]);
        let seen = view(wall, body, (axis, sign), Some(outer));
        if is_within(wall, axis, seen.foot) {
            if seen.surface.gap < margin {
                out.push(seen.surface.contact(body.body, body.centre));
            }
            return;
        }
    }
    if (0..3).any(beyond) {
        // Of convex bodies apart from each other one place is nearest; where they overlap by much
        // there can be others, and the shallowest counts.
        let mut best: Option<(Near, u32)> = None;
        let mut keep = |near: Near, feature: u32| {
            if best.is_none_or(|(known, _)| near.gap > known.gap) {
                best = Some((near, feature));
            }
        };
        wall.each_edge(body, &Sought::ALL, &mut keep);
        wall.each_corner(body, &Sought::ALL, &mut keep);
        if let Some((near, feature)) = best {
            if near.gap < margin {
                out.push(body.contact(&near, feature));
            }
            return;
        }
    }
    out.extend(nearest_face(wall, body, outer, margin));
}

/// The face through which a body deep in the box has the shortest way out.
fn nearest_face(
    wall: &BoxWall,
    body: &PlacedEllipsoid,
    outer: u32,
    margin: f64,
) -> Option<ContactPoint> {
    let views = (0..3).map(|axis| {
        let sign = sign_of(body.centre[axis]);
        view(wall, body, (axis, sign), Some(outer)).surface
    });
    let shallowest = views.max_by(|a, b| a.gap.total_cmp(&b.gap))?;
    (shallowest.gap < margin).then(|| shallowest.contact(body.body, body.centre))
}
