//! Ellipsoid against a frustum of a cone about the z axis, and its rims for any body.
//!
//! With the outward normal `(n_ρ, n_z)` and the corner `B` of the mantle line (`sphere_frustum.rs`),
//! the tangent planes of the mantle are `n(φ)·y = n_ρ R_b − n_z h = o` with `n(φ)` on a circle of
//! directions (`smooth/circle.rs`). A body at `x` is
//!
//! ```text
//! inside    o − (n·x + h(n)),   at every maximum of n·x + h(n): one, or both ends of a long body,  (1)
//! outside   (n·x − h(n)) − o    at the maximum                                            (2)
//! ```
//!
//! from them, where its foot lies on the mantle. A body that has one maximum inside has, like a sphere,
//! the planes a third of a turn away too, and those ahead of its motion.

use super::body_wall::WallQuery;
use super::ellipsoid_wall::{WallCurvature, WallSurface};
use super::sharp::{Near, PlacedEllipsoid, Rim, Sharp};
use super::sphere_frustum::{Frustum, feature, is_closed_there};
use crate::manifold::ContactPoint;
use crate::shape::{OpenFaces, Side};
use crate::smooth::Support;
use crate::smooth::circle::{Circle, Extreme, Facing};
use glam::{DVec2, DVec3};
use std::f64::consts::TAU;

/// A tangent plane of the mantle, seen from a body.
struct MantleView {
    surface: WallSurface,
    /// Foot along the mantle from the bottom (m).
    along: f64,
    /// The body's point nearest to the plane (m).
    foot: DVec3,
}

impl Frustum {
    /// Appends the contacts of an ellipsoid.
    pub(super) fn ellipsoid_contacts(
        &self,
        body: &PlacedEllipsoid,
        (side, open): (Side, OpenFaces),
        query: &WallQuery,
        out: &mut Vec<ContactPoint>,
    ) {
        let is_open = self.open_ends(open);
        let to_ends = self.distances_to_ends(body.centre);
        let depth = self
            .distance_to_mantle(body.centre)
            .min(to_ends[0])
            .min(to_ends[1]);
        if side == Side::Outside {
            self.ellipsoid_outside(body, [false; 2], query.margin, out);
            return;
        }
        let towards = self.direction_of_depth(body.centre, to_ends, depth);
        let probe = query.probe(body.centre, body.body.extent(towards).h);
        if probe.is_held_inside(depth, is_closed_there(is_open, to_ends, depth)) {
            self.ellipsoid_inside(body, is_open, depth < 0.0, query, out);
        } else if depth < 0.0 && (0..2).any(|end| is_open[end] && to_ends[end] < 0.0) {
            self.ellipsoid_over_open_end(body, is_open, query.margin, out);
        } else {
            self.ellipsoid_outside(body, is_open, query.margin, out);
        }
    }

    /// Outward normal of the face that a centre is nearest to.
    fn direction_of_depth(&self, centre: DVec3, to_ends: [f64; 2], depth: f64) -> DVec3 {
        if to_ends.contains(&depth) {
            return DVec3::Z;
        }
        let radial = centre.truncate().try_normalize().unwrap_or(DVec2::X);
        (self.outward.x * radial).extend(self.outward.y)
    }

    /// Outward normals of the mantle.
    pub(super) fn normals(&self) -> Circle {
        Circle {
            u: self.outward.x * DVec3::X,
            v: self.outward.x * DVec3::Y,
            k: self.outward.y * DVec3::Z,
        }
    }

    /// Distance of the tangent planes from the origin (m).
    pub(super) fn offset(&self) -> f64 {
        self.outward.dot(self.bottom)
    }

    /// Horizontal unit vector of a mantle normal.
    pub(super) fn radial(&self, normal: DVec3) -> DVec3 {
        (normal.truncate() / self.outward.x).extend(0.0)
    }

    /// How far up the mantle a point is, in the meridian of a horizontal unit vector (m).
    pub(super) fn along(&self, radial: DVec3, point: DVec3) -> f64 {
        let in_meridian = DVec2::new(radial.dot(point), point.z);
        self.direction.dot(in_meridian - self.bottom)
    }

    /// Curvature of the mantle at a point, seen from outside (1/m).
    pub(super) fn curvature(&self, radial: DVec3, point: DVec3) -> f64 {
        self.outward.x / radial.dot(point).max(f64::MIN_POSITIVE)
    }

    fn mantle_view(
        &self,
        body: &PlacedEllipsoid,
        extreme: &Extreme,
        facing: Facing,
        feature: u32,
    ) -> MantleView {
        let sign = if facing == Facing::Hollow { 1.0 } else { -1.0 };
        let gap = sign * (self.offset() - extreme.value);
        let foot = body.centre + sign * extreme.point;
        let radial = self.radial(extreme.normal);
        let normal = sign * extreme.normal;
        let curvature = -sign * self.curvature(radial, foot + gap * normal);
        let around = DVec3::Z.cross(radial);
        let surface = WallSurface {
            normal,
            gap,
            curvature: WallCurvature::Along(around, curvature),
            feature,
        };
        MantleView {
            surface,
            along: self.along(radial, foot),
            foot,
        }
    }

    fn is_on_mantle_at(&self, along: f64) -> bool {
        (0.0..=self.slant).contains(&along)
    }

    /// Calls `visit` with the tangent planes that hold a body from inside and can be in reach.
    fn each_hollow(&self, body: &PlacedEllipsoid, margin: f64, mut visit: impl FnMut(MantleView)) {
        // No plane is nearer to the centre than that at its own azimuth.
        if self.distance_to_mantle(body.centre) >= body.bound() + margin {
            return;
        }
        let circle = self.normals();
        let (first, second) = circle.hollow_maxima(body.body, body.centre);
        let see = |extreme: &Extreme, name: u32| {
            self.mantle_view(body, extreme, Facing::Hollow, feature::MANTLE + name)
        };
        if let Some(second) = second {
            // Named by the end of the body, which does not change while it rolls.
            let along = |extreme: &Extreme| body.body.long_axis().dot(extreme.normal);
            let names = if along(&first) > along(&second) {
                [1, 2]
            } else {
                [2, 1]
            };
            visit(see(&first, names[0]));
            visit(see(&second, names[1]));
            return;
        }
        visit(see(&first, 0));
        let own = circle.angle_of(first.normal);
        for third in 1..3 {
            let angle = own + TAU / 3.0 * f64::from(third);
            let normal = circle.at(angle);
            if self.offset() - normal.dot(body.centre) < body.bound() + margin {
                let plane = circle.measure(body.body, body.centre, Facing::Hollow, angle);
                visit(see(&plane, third));
            }
        }
    }

    /// Mantle and closed ends, each as a half-space, and rims of open ends.
    fn ellipsoid_inside(
        &self,
        body: &PlacedEllipsoid,
        is_open: [bool; 2],
        is_beyond: bool,
        query: &WallQuery,
        out: &mut Vec<ContactPoint>,
    ) {
        let margin = query.margin;
        let caps = [0, 1].map(|end| self.cap_from_inside(body, end));
        self.each_hollow(body, margin, |view| {
            let end = usize::from(view.along >= 0.5 * self.slant);
            // As for spheres: a mantle whose foot lies off it hides behind the end it meets there,
            // if the body is through that end too. The tip of a long one need not be.
            let is_hidden = !is_beyond && view.surface.gap < 0.0 && caps[end].0.gap < 0.0;
            let is_touched = self.is_on_mantle_at(view.along) || (!is_open[end] && !is_hidden);
            if is_touched && view.surface.gap < margin {
                out.push(view.surface.contact(body.body, body.centre));
            }
        });
        self.ellipsoid_tangents_ahead(body, is_open, query, out);
        for end in (0..2).filter(|end| !is_open[*end]) {
            let (cap, foot) = caps[end];
            let radius = self.rim(end).radius;
            let is_seen = is_beyond || foot.truncate().length() <= radius || cap.gap >= 0.0;
            if radius > 0.0 && is_seen && cap.gap < margin {
                out.push(cap.contact(body.body, body.centre));
            }
        }
        self.open_rims(body, is_open, margin, |near, name| {
            out.push(body.contact(&near, name));
        });
    }

    /// An end from inside, and the body's point nearest to its plane (m).
    fn cap_from_inside(&self, body: &PlacedEllipsoid, end: usize) -> (WallSurface, DVec3) {
        let normal = [DVec3::NEG_Z, DVec3::Z][end];
        let extent = body.body.extent(normal);
        let gap = self.distances_to_ends(body.centre)[end] - extent.h;
        let name = [feature::CAP_BOTTOM, feature::CAP_TOP][end];
        let foot = body.centre + body.body.point(&extent);
        let cap = WallSurface::plane(normal, gap, name);
        (cap, foot)
    }

    /// Tangent planes that a fast body can reach within its motion.
    fn ellipsoid_tangents_ahead(
        &self,
        body: &PlacedEllipsoid,
        is_open: [bool; 2],
        query: &WallQuery,
        out: &mut Vec<ContactPoint>,
    ) {
        let probe = query.probe(body.centre, body.body.min_extent());
        let Some((swept, count)) = self.azimuths_ahead(&probe) else {
            return;
        };
        let margin = query.margin.max(query.motion);
        let circle = self.normals();
        let own = circle.angle_of(body.centre);
        for k in 1..=count {
            let turn = swept * f64::from(k) / f64::from(count);
            for (side, turn) in [turn, -turn].into_iter().enumerate() {
                let plane = circle.measure(body.body, body.centre, Facing::Hollow, own + turn);
                let name = feature::TANGENT + 2 * k + side as u32;
                let view = self.mantle_view(body, &plane, Facing::Hollow, name);
                let end = usize::from(view.along >= 0.5 * self.slant);
                let is_ahead = !is_open[end] && view.surface.gap >= 0.0;
                if (self.is_on_mantle_at(view.along) || is_ahead) && view.surface.gap < margin {
                    out.push(view.surface.contact(body.body, body.centre));
                }
            }
        }
    }

    /// Rims, and the surface on the side of the centre as far as it can be seen.
    fn ellipsoid_over_open_end(
        &self,
        body: &PlacedEllipsoid,
        is_open: [bool; 2],
        margin: f64,
        out: &mut Vec<ContactPoint>,
    ) {
        let mut push = |view: &MantleView| {
            let is_met = view.surface.is_met(body.body, view.foot - body.centre);
            if self.is_on_mantle_at(view.along) && is_met && view.surface.gap < margin {
                out.push(view.surface.contact(body.body, body.centre));
            }
        };
        if self.distance_to_mantle(body.centre) < 0.0 {
            push(&self.outer_mantle(body));
        } else {
            self.each_hollow(body, margin, |view| push(&view));
            for end in (0..2).filter(|end| !is_open[*end]) {
                let (cap, foot) = self.cap_from_inside(body, end);
                let is_on_cap = foot.truncate().length() <= self.rim(end).radius;
                let is_met = cap.is_met(body.body, foot - body.centre);
                if is_on_cap && is_met && cap.gap < margin {
                    out.push(cap.contact(body.body, body.centre));
                }
            }
        }
        self.open_rims(body, is_open, margin, |near, name| {
            out.push(body.contact(&near, name));
        });
    }

    fn outer_mantle(&self, body: &PlacedEllipsoid) -> MantleView {
        let circle = self.normals();
        let start = circle.angle_of(body.centre);
        let extreme = circle.climb(body.body, body.centre, Facing::Outer, start);
        self.mantle_view(body, &extreme, Facing::Outer, feature::MANTLE_OUTER)
    }

    /// The nearest place of the convex outline; a body deep in it is pushed out the shortest way.
    fn ellipsoid_outside(
        &self,
        body: &PlacedEllipsoid,
        is_open: [bool; 2],
        margin: f64,
        out: &mut Vec<ContactPoint>,
    ) {
        let bound = body.bound() + margin;
        let widest = self.bottom.x.max(self.top.x);
        let to_ends = self.distances_to_ends(body.centre);
        let is_beside = body.centre.truncate().length() < widest + bound;
        let is_near = is_beside && to_ends.iter().all(|to_end| -to_end <= bound);
        if !is_near {
            return;
        }
        let mantle = self.outer_mantle(body);
        let caps = [0, 1].map(|end| {
            let normal = [DVec3::Z, DVec3::NEG_Z][end];
            let extent = body.body.extent(normal);
            let name = [feature::CAP_BOTTOM_OUTER, feature::CAP_TOP_OUTER][end];
            let foot = body.centre + body.body.point(&extent);
            let is_on_cap = foot.truncate().length() <= self.rim(end).radius;
            let cap = WallSurface::plane(normal, -to_ends[end] - extent.h, name);
            let is_nearest = is_on_cap && to_ends[end] <= 0.0 && !is_open[end];
            (cap, is_nearest && (cap.gap >= 0.0 || self.holds(foot)))
        });
        let is_outside = to_ends[0]
            .min(to_ends[1])
            .min(self.distance_to_mantle(body.centre))
            < 0.0;
        let face = caps
            .iter()
            .find(|(_, is_nearest)| *is_nearest)
            .map(|(cap, _)| *cap);
        let is_on_mantle = self.is_on_mantle_at(mantle.along)
            && (mantle.surface.gap >= 0.0 || self.holds(mantle.foot));
        let face = face.or(is_on_mantle.then_some(mantle.surface));
        if let Some(face) = face.filter(|_| is_outside) {
            if face.gap < margin {
                out.push(face.contact(body.body, body.centre));
            }
            return;
        }
        if is_outside {
            // A closed outline has one nearest place, but for bodies deep in it, where the
            // shallowest counts; the rims of open ends can be touched in several.
            let mut is_any = false;
            let mut best: Option<(Near, u32)> = None;
            for (end, is_open) in is_open.into_iter().enumerate() {
                self.each_rim_minimum(body, end, is_open, |near, name| {
                    is_any = true;
                    if is_open && near.gap < margin {
                        out.push(body.contact(&near, name));
                    }
                    if !is_open && best.is_none_or(|(known, _)| near.gap > known.gap) {
                        best = Some((near, name));
                    }
                });
            }
            if let Some((near, name)) = best.filter(|(near, _)| near.gap < margin) {
                out.push(body.contact(&near, name));
            }
            if is_any {
                return;
            }
        }
        let faces = caps.map(|(cap, _)| cap).into_iter().chain([mantle.surface]);
        let shallowest = faces.max_by(|a, b| a.gap.total_cmp(&b.gap));
        out.extend(
            shallowest
                .filter(|face| face.gap < margin)
                .map(|face| face.contact(body.body, body.centre)),
        );
    }

    /// Whether a point lies in the frustum.
    fn holds(&self, point: DVec3) -> bool {
        let in_meridian = DVec2::new(point.truncate().length(), point.z);
        let is_within_ends = (self.bottom.y..=self.top.y).contains(&point.z);
        is_within_ends && self.outward.dot(in_meridian - self.bottom) <= 0.0
    }

    /// The circle at the bottom (0) or top (1).
    pub(super) fn rim(&self, end: usize) -> Rim {
        let corner = [self.bottom, self.top][end];
        Rim {
            radius: corner.x,
            z: corner.y,
        }
    }

    /// Directions from a point of a rim into the mantle, and into the end if it is closed.
    fn inward_from_rim(
        &self,
        end: usize,
        is_open: bool,
        azimuth: f64,
    ) -> impl Iterator<Item = DVec3> {
        let radial = DVec2::from_angle(azimuth).extend(0.0);
        let up = self.direction.x * radial + self.direction.y * DVec3::Z;
        let into_mantle = if end == 0 { up } else { -up };
        std::iter::once(into_mantle).chain((!is_open).then_some(-radial))
    }

    /// Calls `visit` with the places where a rim is nearer to the body than the surfaces that it
    /// bounds, at any distance.
    pub(super) fn each_rim_minimum(
        &self,
        body: &impl Sharp,
        end: usize,
        is_open: bool,
        mut visit: impl FnMut(Near, u32),
    ) {
        let rim = self.rim(end);
        let name = [feature::RIM_BOTTOM, feature::RIM_TOP][end];
        if rim.radius == 0.0 {
            // An apex: the distance must grow all around.
            let near = body.near_point(rim.point(0.0));
            let around = (0..8).map(|k| TAU / 8.0 * f64::from(k));
            let inward = around.flat_map(|azimuth| self.inward_from_rim(end, true, azimuth));
            if let Some(near) = near.filter(|near| body.is_minimum(near, inward)) {
                visit(near, name);
            }
            return;
        }
        let is_minimum = |azimuth: f64, near: &Near| {
            body.is_minimum(near, self.inward_from_rim(end, is_open, azimuth))
        };
        let minima = rim.minima(body).kept(body, is_minimum);
        let &[(own, near)] = minima.as_slice() else {
            let first = if minima.as_slice().len() == 2 { 1 } else { 0 };
            for (index, (_, near)) in (first..).zip(minima.as_slice()) {
                visit(*near, name + index);
            }
            return;
        };
        visit(near, name);
        // As for spheres: a body on a rim about as wide as it is held from all sides.
        for third in (1..3).filter(|_| is_open) {
            let azimuth = own + TAU / 3.0 * f64::from(third);
            let near = body.near_point(rim.point(azimuth));
            if let Some(near) = near.filter(|near| is_minimum(azimuth, near)) {
                visit(near, name + third);
            }
        }
    }

    /// Contacts with the rims of open ends.
    pub(super) fn open_rims(
        &self,
        body: &impl Sharp,
        is_open: [bool; 2],
        margin: f64,
        mut push: impl FnMut(Near, u32),
    ) {
        for end in (0..2).filter(|end| is_open[*end]) {
            if self.rim(end).is_in_reach(body, margin) {
                self.each_rim_minimum(body, end, true, |near, name| {
                    if near.gap < margin {
                        push(near, name);
                    }
                });
            }
        }
    }
}
