//! Sphere against a frustum of a cone about the z axis; a cylinder is the one with equal radii.
//!
//! In the meridian half-plane `(ρ, z)` the mantle is a straight line from `B = (R_b, −h)` to
//! `T = (R_t, +h)`, `h = length/2`, with direction `t` and outward normal `n`:
//!
//! ```text
//! t = (R_t − R_b, 2h) / L,   n = (2h, R_b − R_t) / L,   L = |T − B|,     (1)
//! inner distance   d = n · (B − c),                                      (2)
//! foot along t     s = t · (c − B),   on the mantle when 0 ≤ s ≤ L,      (3)
//! curvature        κ = n_ρ / ρ_foot.                                     (4)
//! ```
//!
//! A hollow frustum is the intersection of its tangent half-spaces, so besides the nearest
//! tangent plane, at the azimuth of the centre, those a third of a turn away are tested with
//! `ρ cos(±120°)` in place of `ρ`. They only come into reach when the sphere is about as wide as
//! the tube or sits on the axis of a cone, and there they hold it from all sides instead of
//! throwing it to and fro.
//!
//! A sphere that moves by `m` before it is looked at again would leave along a frozen tangent
//! plane, by the sagitta `m²/2R`. Where that is more than [`MAX_SAGITTA`] radii the planes within
//! its reach are touches too, so close to one another that the polygon they form departs from the
//! circle by no more than that.
//!
//! From outside the shell is convex: one touch, on the mantle, a closed end or a rim. Over an open
//! end the rim is touched, and what can be seen of the inner surface.

use super::{Probe, TouchSink};
use crate::portable;
use crate::shape::{Face, OpenFaces, Side, Touch};
use glam::{DVec2, DVec3};
use std::f64::consts::PI;

/// Feature names; each of the first three stands for the three azimuths `+0, +1, +2`.
pub(super) mod feature {
    pub const MANTLE: u32 = 0;
    pub const RIM_BOTTOM: u32 = 3;
    pub const RIM_TOP: u32 = 6;
    pub const CAP_BOTTOM: u32 = 9;
    pub const CAP_TOP: u32 = 10;
    pub const MANTLE_OUTER: u32 = 11;
    pub const CAP_BOTTOM_OUTER: u32 = 12;
    pub const CAP_TOP_OUTER: u32 = 13;
    /// Tangent planes ahead of a fast sphere, from here on.
    pub const TANGENT: u32 = 16;
}

/// Rotations by thirds of a turn.
const THIRDS: [DVec2; 3] = [
    DVec2::X,
    DVec2::new(-0.5, HALF_ROOT_3),
    DVec2::new(-0.5, -HALF_ROOT_3),
];
const HALF_ROOT_3: f64 = 0.866_025_403_784_438_6;

/// Departure of tangent planes from the mantle that is accepted, in sphere radii.
const MAX_SAGITTA: f64 = 0.2;
/// Tangent planes ahead, to either side, at most.
const MAX_TANGENTS: f64 = 32.0;

/// See `WallShape::side_of`.
pub(super) fn side_of(feature: u32) -> Option<Side> {
    match feature {
        feature::RIM_BOTTOM..feature::CAP_BOTTOM => None,
        feature::MANTLE_OUTER..feature::TANGENT => Some(Side::Outside),
        _ => Some(Side::Inside),
    }
}

/// Whether a feature is an end or the inner side of the mantle.
pub(super) fn is_plane_or_hollow(feature: u32) -> bool {
    let is_rim = (feature::RIM_BOTTOM..feature::CAP_BOTTOM).contains(&feature);
    !is_rim && feature != feature::MANTLE_OUTER
}

/// Whether a feature is the inner side of the mantle.
pub(super) fn is_hollow_mantle(feature: u32) -> bool {
    !(feature::RIM_BOTTOM..feature::TANGENT).contains(&feature)
}

/// Whether the ends beyond which a centre is, or that it is nearest to, are closed.
pub(super) fn is_closed_there(is_open: [bool; 2], to_ends: [f64; 2], depth: f64) -> bool {
    (0..2).all(|end| {
        let is_out = to_ends[end] < 0.0 || to_ends[end] == depth;
        !(is_open[end] && is_out)
    })
}

/// The mantle of a cylinder or cone as a line in the meridian half-plane `(ρ, z)`.
#[derive(Clone, Copy, Debug)]
pub struct Frustum {
    /// Its lower end, m.
    pub bottom: DVec2,
    /// Its upper end, m.
    pub top: DVec2,
    /// Unit vector from the lower to the upper end.
    pub direction: DVec2,
    /// Outward unit normal.
    pub outward: DVec2,
    /// Its length, m.
    pub slant: f64,
}

/// A centre seen in the meridian plane of one azimuth.
pub(super) struct Meridian {
    /// Horizontal unit vector of the azimuth.
    radial: DVec3,
    /// Inner distance to the mantle line, equation (2) (m).
    pub distance: f64,
    /// Foot along the mantle, equation (3) (m).
    pub along: f64,
    /// Axial distance of the foot, for equation (4) (m).
    foot_radius: f64,
}

impl Frustum {
    /// With these radii at the lower and the upper end, and this length (m).
    pub(super) fn new(radii: [f64; 2], length: f64) -> Self {
        let bottom = DVec2::new(radii[0], -0.5 * length);
        let top = DVec2::new(radii[1], 0.5 * length);
        let slant = bottom.distance(top);
        let direction = (top - bottom) / slant;
        Self {
            bottom,
            top,
            direction,
            outward: DVec2::new(direction.y, -direction.x),
            slant,
        }
    }

    pub(super) fn touches(
        &self,
        probe: &Probe,
        side: Side,
        open: OpenFaces,
        out: &mut impl TouchSink,
    ) {
        match side {
            Side::Inside => self.shell(probe, open, out),
            Side::Outside => self.solid(probe, out),
        }
    }

    /// Equations (2) to (4) at the azimuth of the centre (`third = 0`) or a third of a turn on.
    pub(super) fn meridian(&self, centre: DVec3, third: u32) -> Meridian {
        self.meridian_at(centre, THIRDS[third as usize])
    }

    /// Equations (2) to (4) at an azimuth, as a rotation from that of the centre.
    fn meridian_at(&self, centre: DVec3, turn: DVec2) -> Meridian {
        let rho = centre.truncate().length();
        let own = if rho > 0.0 {
            DVec2::new(centre.x / rho, centre.y / rho)
        } else {
            DVec2::X
        };
        let (radial, rho) = (turn.rotate(own), rho * turn.x);
        let position = DVec2::new(rho, centre.z);
        let distance = self.outward.dot(self.bottom - position);
        Meridian {
            radial: radial.extend(0.0),
            distance,
            along: self.direction.dot(position - self.bottom),
            foot_radius: rho + distance * self.outward.x,
        }
    }

    fn is_on_mantle(&self, meridian: &Meridian) -> bool {
        (0.0..=self.slant).contains(&meridian.along)
    }

    /// Outward normal of the mantle in space.
    pub(super) fn mantle_normal(&self, meridian: &Meridian) -> DVec3 {
        self.outward.x * meridian.radial + DVec3::Z * self.outward.y
    }

    /// Equation (4); huge where the foot reaches the apex.
    pub(super) fn mantle_curvature(&self, meridian: &Meridian) -> f64 {
        self.outward.x / meridian.foot_radius.max(f64::MIN_POSITIVE)
    }

    /// A touch of the mantle from inside.
    fn mantle_touch(&self, probe: &Probe, meridian: &Meridian, feature: u32) -> Touch {
        let curvature = -self.mantle_curvature(meridian);
        probe.touch(
            self.mantle_normal(meridian),
            meridian.distance,
            curvature,
            feature,
        )
    }

    /// A touch of the mantle from outside.
    fn outer_mantle_touch(&self, probe: &Probe, meridian: &Meridian) -> Touch {
        probe.touch(
            -self.mantle_normal(meridian),
            -meridian.distance,
            self.mantle_curvature(meridian),
            feature::MANTLE_OUTER,
        )
    }

    /// The circle at the end of the mantle that the foot overshoots, and its feature.
    fn nearest_rim(&self, meridian: &Meridian) -> (DVec2, u32) {
        if meridian.along < 0.5 * self.slant {
            (self.bottom, feature::RIM_BOTTOM)
        } else {
            (self.top, feature::RIM_TOP)
        }
    }

    /// The touch of the rim point at the azimuth of the meridian, if in reach.
    fn rim_touch(&self, probe: &Probe, meridian: &Meridian, third: u32) -> Option<Touch> {
        let (rim, feature) = self.nearest_rim(meridian);
        let point = rim.x * meridian.radial + DVec3::Z * rim.y;
        probe.point_touch(point, self.mantle_normal(meridian), feature + third)
    }

    /// Thin shell with open or closed ends.
    fn shell(&self, probe: &Probe, open: OpenFaces, out: &mut impl TouchSink) {
        let is_open = self.open_ends(open);
        let nearest = self.meridian(probe.centre, 0);
        let to_ends = self.distances_to_ends(probe.centre);
        let depth = nearest.distance.min(to_ends[0]).min(to_ends[1]);
        if probe.is_held_inside(depth, is_closed_there(is_open, to_ends, depth)) {
            self.seen_inside(probe, is_open, depth < 0.0, out);
        } else if depth >= 0.0 {
            out.push(self.outward_touch(probe, &nearest, to_ends, depth));
        } else if let Some(end) = (0..2).find(|end| is_open[*end] && to_ends[*end] < 0.0) {
            self.over_open_end(probe, is_open, end, out);
        } else {
            self.seen_outside(probe, &nearest, out);
        }
    }

    /// Which ends are open; that of a cone that is a point has nothing to open.
    pub(super) fn open_ends(&self, open: OpenFaces) -> [bool; 2] {
        [
            open.contains(Face::Bottom) && self.bottom.x > 0.0,
            open.contains(Face::Top) && self.top.x > 0.0,
        ]
    }

    /// Distances of a centre to the planes of both ends, negative beyond them (m).
    pub(super) fn distances_to_ends(&self, centre: DVec3) -> [f64; 2] {
        [centre.z - self.bottom.y, self.top.y - centre.z]
    }

    /// Inner distance of a centre to the mantle at its own azimuth (m).
    pub(super) fn distance_to_mantle(&self, centre: DVec3) -> f64 {
        self.meridian(centre, 0).distance
    }

    /// Mantle and closed ends, each as a half-space, and rims of open ends that the foot of the
    /// centre overshoots.
    fn seen_inside(
        &self,
        probe: &Probe,
        is_open: [bool; 2],
        is_beyond: bool,
        out: &mut impl TouchSink,
    ) {
        for third in 0..3 {
            let meridian = self.meridian(probe.centre, third);
            let end = usize::from(meridian.along >= 0.5 * self.slant);
            // From inside, a mantle whose foot lies off it hides behind the end it meets there:
            // nothing that overlaps its plane alone touches it.
            let is_hidden = !is_beyond && meridian.distance < probe.radius;
            if self.is_on_mantle(&meridian) || (!is_open[end] && !is_hidden) {
                if probe.reaches(meridian.distance) {
                    out.push(self.mantle_touch(probe, &meridian, feature::MANTLE + third));
                }
            } else if is_open[end] {
                out.extend(self.rim_touch(probe, &meridian, third));
            }
        }
        self.tangents_ahead(probe, is_open, out);
        let rho = probe.centre_in_meridian().x;
        let to_ends = self.distances_to_ends(probe.centre);
        for end in 0..2 {
            let radius = [self.bottom.x, self.top.x][end];
            let is_seen = is_beyond || rho <= radius || to_ends[end] >= probe.radius;
            if radius > 0.0 && !is_open[end] && is_seen && probe.reaches(to_ends[end]) {
                out.push(self.cap_touch(probe, end));
            }
        }
    }

    /// An end, touched from inside.
    fn cap_touch(&self, probe: &Probe, end: usize) -> Touch {
        let normal = [DVec3::NEG_Z, DVec3::Z][end];
        let feature = [feature::CAP_BOTTOM, feature::CAP_TOP][end];
        probe.touch(
            normal,
            self.distances_to_ends(probe.centre)[end],
            0.0,
            feature,
        )
    }

    /// An end, touched from outside.
    fn outer_cap_touch(&self, probe: &Probe, end: usize) -> Touch {
        let normal = [DVec3::Z, DVec3::NEG_Z][end];
        let feature = [feature::CAP_BOTTOM_OUTER, feature::CAP_TOP_OUTER][end];
        probe.touch(
            normal,
            -self.distances_to_ends(probe.centre)[end],
            0.0,
            feature,
        )
    }

    /// How far around, to either side (rad), tangent planes are within reach of a fast sphere, and
    /// how many stand for them; `None` where the nearest one does.
    pub(super) fn azimuths_ahead(&self, probe: &Probe) -> Option<(f64, u32)> {
        let widest = self.bottom.x.max(self.top.x);
        let accepted = MAX_SAGITTA * probe.radius;
        if probe.motion * probe.motion < 2.0 * accepted * widest {
            return None;
        }
        let rho = probe.centre_in_meridian().x;
        let swept = if probe.motion < rho {
            portable::asin(probe.motion / rho)
        } else {
            PI
        };
        // Between two planes the polygon is (1/cos(spacing/2) − 1) R from the circle.
        let spacing = 2.0 * (2.0 * accepted / widest).sqrt().min(0.25);
        let count = (swept / spacing).ceil().min(MAX_TANGENTS);
        Some((swept, count as u32))
    }

    /// Tangent planes that a sphere can reach within its motion, besides the nearest.
    fn tangents_ahead(&self, probe: &Probe, is_open: [bool; 2], out: &mut impl TouchSink) {
        let Some((swept, count)) = self.azimuths_ahead(probe) else {
            return;
        };
        let probe = &Probe {
            margin: probe.margin.max(probe.motion),
            ..*probe
        };
        for k in 1..=count {
            let (sin, cos) = portable::sin_cos(swept * f64::from(k) / f64::from(count));
            for (side, sin) in [sin, -sin].into_iter().enumerate() {
                let meridian = self.meridian_at(probe.centre, DVec2::new(cos, sin));
                let end = usize::from(meridian.along >= 0.5 * self.slant);
                let is_ahead = !is_open[end] && meridian.distance >= probe.radius;
                if (self.is_on_mantle(&meridian) || is_ahead) && probe.reaches(meridian.distance) {
                    let feature = feature::TANGENT + 2 * k + side as u32;
                    out.push(self.mantle_touch(probe, &meridian, feature));
                }
            }
        }
    }

    /// Rims, and the inner surface as far as it can be seen through an open end.
    fn over_open_end(
        &self,
        probe: &Probe,
        is_open: [bool; 2],
        end: usize,
        out: &mut impl TouchSink,
    ) {
        let rho = probe.centre_in_meridian().x;
        let radii = [self.bottom.x, self.top.x];
        for third in 0..3 {
            let meridian = self.meridian(probe.centre, third);
            if self.is_on_mantle(&meridian) {
                if meridian.distance < 0.0 {
                    // Beside the opening of a cone, the outer side is seen, and it is convex.
                    if probe.reaches(-meridian.distance) {
                        out.push(self.outer_mantle_touch(probe, &meridian));
                    }
                    return;
                }
                if probe.reaches(meridian.distance) {
                    out.push(self.mantle_touch(probe, &meridian, feature::MANTLE + third));
                }
            } else if is_open[usize::from(meridian.along >= 0.5 * self.slant)] {
                out.extend(self.rim_touch(probe, &meridian, third));
            }
        }
        let far = 1 - end;
        let is_seen = rho <= radii[end] && rho <= radii[far];
        if is_seen && !is_open[far] && probe.reaches(self.distances_to_ends(probe.centre)[far]) {
            out.push(self.cap_touch(probe, far));
        }
    }

    /// The nearest point of a convex shell from outside.
    fn seen_outside(&self, probe: &Probe, meridian: &Meridian, out: &mut impl TouchSink) {
        let rho = probe.centre_in_meridian().x;
        let to_ends = self.distances_to_ends(probe.centre);
        let radii = [self.bottom.x, self.top.x];
        if let Some(end) = (0..2).find(|&end| rho <= radii[end] && to_ends[end] <= 0.0) {
            out.extend(
                probe
                    .reaches(-to_ends[end])
                    .then(|| self.outer_cap_touch(probe, end)),
            );
        } else if self.is_on_mantle(meridian) {
            let is_reached = probe.reaches(-meridian.distance);
            out.extend(is_reached.then(|| self.outer_mantle_touch(probe, meridian)));
        } else {
            out.extend(self.rim_touch(probe, meridian, 0));
        }
    }

    /// The nearest face for a centre that is inside and is pushed out.
    fn outward_touch(
        &self,
        probe: &Probe,
        meridian: &Meridian,
        to_ends: [f64; 2],
        depth: f64,
    ) -> Touch {
        if meridian.distance == depth {
            self.outer_mantle_touch(probe, meridian)
        } else {
            self.outer_cap_touch(probe, usize::from(to_ends[1] == depth))
        }
    }

    /// Solid: the nearest point of the convex outline.
    fn solid(&self, probe: &Probe, out: &mut impl TouchSink) {
        let meridian = self.meridian(probe.centre, 0);
        let to_ends = self.distances_to_ends(probe.centre);
        let depth = meridian.distance.min(to_ends[0]).min(to_ends[1]);
        if depth >= 0.0 {
            out.push(self.outward_touch(probe, &meridian, to_ends, depth));
        } else {
            self.seen_outside(probe, &meridian, out);
        }
    }
}

impl Probe<'_> {
    /// The centre as `(ρ, z)`.
    fn centre_in_meridian(&self) -> DVec2 {
        DVec2::new(self.centre.truncate().length(), self.centre.z)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Face, OpenFaces, Probe, Side, Touch, WallShape};
    const BOTH: [OpenFaces; 2] = [OpenFaces::NONE, OpenFaces::ENDS];
    use glam::DVec3;

    fn cylinder(side: Side, open: OpenFaces) -> WallShape {
        WallShape::Cylinder {
            radius: 1.0,
            length: 4.0,
            side,
            open,
        }
    }

    fn cone(radius_bottom: f64, radius_top: f64, side: Side, open: OpenFaces) -> WallShape {
        WallShape::Cone {
            radius_bottom,
            radius_top,
            length: 2.0,
            side,
            open,
        }
    }

    fn touches(shape: &WallShape, centre: [f64; 3], radius: f64) -> Vec<Touch> {
        touches_from(None, shape, centre, radius)
    }

    /// Touches of a sphere that the wall held from this side last.
    fn touches_from(
        last_side: Option<Side>,
        shape: &WallShape,
        centre: [f64; 3],
        radius: f64,
    ) -> Vec<Touch> {
        let mut out = Vec::new();
        let probe = Probe {
            last_side: &|| last_side,
            ..Probe::at(DVec3::from(centre), radius, 0.0)
        };
        shape.touches_of(&probe, &mut out);
        for touch in &out {
            assert!((touch.normal.length() - 1.0).abs() < 1e-12);
            let point = DVec3::from(centre) + (radius - touch.overlap) * touch.normal;
            assert!((point - touch.point).length() < 1e-12);
        }
        out
    }

    #[test]
    fn tube_touch_has_radial_normal_and_hollow_curvature() {
        for open in BOTH {
            let out = touches(&cylinder(Side::Inside, open), [0.0, 0.81, 0.5], 0.2);
            assert_eq!(out.len(), 1);
            assert!((out[0].normal - DVec3::Y).length() < 1e-15);
            assert!((out[0].overlap - 0.01).abs() < 1e-14);
            assert!((out[0].curvature + 1.0).abs() < 1e-14);
        }
    }

    #[test]
    fn drum_corner_gives_mantle_and_cap() {
        let out = touches(
            &cylinder(Side::Inside, OpenFaces::NONE),
            [0.85, 0.0, -1.9],
            0.2,
        );
        assert_eq!(out.len(), 2);
        assert_eq!(out[1].normal, DVec3::NEG_Z);
        let drum = cylinder(Side::Inside, OpenFaces::NONE);
        let lost_in_corner = touches_from(Some(Side::Inside), &drum, [1.1, 0.0, -2.1], 0.2);
        assert_eq!(lost_in_corner.len(), 2);
        assert!(
            lost_in_corner
                .iter()
                .all(|t| (t.overlap - 0.3).abs() < 1e-12)
        );
    }

    #[test]
    fn centre_beyond_the_shell_is_pushed_back_to_where_it_was() {
        for open in BOTH {
            let shape = cylinder(Side::Inside, open);
            for (last, x, normal, overlap) in [
                (Some(Side::Inside), 1.15, 1.0, 0.35),
                (Some(Side::Outside), 1.15, -1.0, 0.05),
                (None, 1.15, -1.0, 0.05),
                (Some(Side::Outside), 0.95, -1.0, 0.25),
                (Some(Side::Inside), 0.95, 1.0, 0.15),
                (None, 0.95, 1.0, 0.15),
            ] {
                let out = touches_from(last, &shape, [x, 0.0, 0.0], 0.2);
                assert_eq!(out.len(), 1);
                assert!((out[0].overlap - overlap).abs() < 1e-14, "{last:?} at {x}");
                assert_eq!(out[0].normal, normal * DVec3::X);
                if last.is_some() {
                    assert_eq!(shape.side_of(out[0].feature), last, "the side stays");
                }
            }
        }
    }

    #[test]
    fn closed_drum_is_solid_from_outside() {
        let drum = cylinder(Side::Inside, OpenFaces::NONE);
        for (centre, normal) in [
            ([0.0, 1.15, 0.3], DVec3::NEG_Y),
            ([0.3, 0.2, 2.1], DVec3::NEG_Z),
            ([1.06, 0.0, 2.08], DVec3::new(-0.6, 0.0, -0.8)),
        ] {
            let out = touches(&drum, centre, 0.2);
            assert_eq!(out.len(), 1);
            assert!((out[0].normal - normal).length() < 1e-12);
        }
    }

    #[test]
    fn beaker_has_a_bottom_a_rim_and_no_lid() {
        let beaker = cylinder(Side::Inside, OpenFaces::NONE.with(Face::Top));
        assert_eq!(
            touches(&beaker, [0.0, 0.0, -1.9], 0.2)[0].normal,
            DVec3::NEG_Z
        );
        assert_eq!(touches(&beaker, [0.0, 0.0, -2.1], 0.2)[0].normal, DVec3::Z);
        assert!(touches(&beaker, [0.0, 0.0, 1.95], 0.2).is_empty());
        let rim = touches(&beaker, [0.97, 0.0, 2.04], 0.2);
        assert_eq!(rim.len(), 1);
        assert!((rim[0].normal - DVec3::new(0.6, 0.0, -0.8)).length() < 1e-12);
    }

    #[test]
    fn sphere_higher_than_a_dish_touches_its_bottom() {
        let dish = WallShape::Cylinder {
            radius: 1.0,
            length: 0.1,
            side: Side::Inside,
            open: OpenFaces::NONE.with(Face::Top),
        };
        let out = touches(&dish, [0.2, 0.0, 0.14], 0.2);
        assert_eq!(out.len(), 1);
        assert_eq!(out[0].normal, DVec3::NEG_Z);
        assert!((out[0].overlap - 0.01).abs() < 1e-14);
    }

    #[test]
    fn tangent_planes_ahead_close_the_tube_around_a_fast_sphere() {
        let shape = cylinder(Side::Inside, OpenFaces::NONE);
        let radius = 0.05;
        let centre = DVec3::new(0.9, 0.0, 0.0);
        let planes = |motion: f64| {
            let mut out = Vec::new();
            let probe = Probe {
                motion,
                ..Probe::at(centre, radius, 2.0)
            };
            shape.touches_of(&probe, &mut out);
            out
        };
        let slow = planes(0.02);
        assert!(slow.iter().all(|t| t.feature < super::feature::TANGENT));
        let fast = planes(3.0);
        // Wherever the sphere goes within all planes, it stays near the circle.
        for k in 0..1000 {
            let direction = glam::DVec2::from_angle(0.00628 * f64::from(k)).extend(0.0);
            let way = |t: &Touch| (-t.overlap - (centre.dot(-t.normal))) / direction.dot(t.normal);
            let ahead = fast.iter().filter(|t| direction.dot(t.normal) > 1e-9);
            let farthest = ahead.map(way).fold(f64::INFINITY, f64::min);
            assert!(
                farthest - (1.0 - radius) < 0.21 * radius,
                "{farthest} at {k}"
            );
        }
        let mut names: Vec<u32> = fast.iter().map(|t| t.feature).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), fast.len());
    }

    #[test]
    fn grain_outside_an_open_tube_rests_on_its_outer_face() {
        let out = touches(
            &cylinder(Side::Inside, OpenFaces::ENDS),
            [1.19, 0.0, 0.0],
            0.2,
        );
        assert_eq!(out.len(), 1);
        assert!((out[0].overlap - 0.01).abs() < 1e-14);
        assert_eq!(out[0].normal, DVec3::NEG_X);
        assert!(out[0].curvature > 0.0);
        assert!(
            touches(
                &cylinder(Side::Inside, OpenFaces::NONE),
                [1.21, 0.0, 0.0],
                0.2
            )
            .is_empty()
        );
    }

    #[test]
    fn open_rim_is_an_edge_from_either_side() {
        for (x, normal) in [(0.97, 0.6), (1.03, -0.6)] {
            let out = touches(
                &cylinder(Side::Inside, OpenFaces::ENDS),
                [x, 0.0, 2.04],
                0.2,
            );
            assert_eq!(out.len(), 1);
            assert!((out[0].normal - DVec3::new(normal, 0.0, -0.8)).length() < 1e-12);
            assert!((out[0].overlap - 0.15).abs() < 1e-12);
            assert_eq!(out[0].curvature, 0.0);
        }
    }

    #[test]
    fn sphere_wider_than_the_tube_is_held_evenly() {
        let out = touches(&cylinder(Side::Inside, OpenFaces::ENDS), [0.0; 3], 1.1);
        assert_eq!(out.len(), 3);
        let sum: DVec3 = out.iter().map(|t| t.normal * t.overlap).sum();
        assert!(sum.length() < 1e-14);
        assert!(out.iter().all(|t| 1.0 / 1.1 + t.curvature > 0.0));
        let on_the_rim = touches(
            &cylinder(Side::Inside, OpenFaces::ENDS),
            [0.0, 0.0, 2.4],
            1.1,
        );
        assert_eq!(on_the_rim.len(), 3);
        let sum: DVec3 = on_the_rim.iter().map(|t| t.normal).sum();
        assert!(sum.truncate().length() < 1e-14 && sum.z < 0.0);
    }

    #[test]
    fn sphere_on_the_axis_of_a_cone_rests_on_three_points() {
        // Half-angle 45°: apex at z = -1, so a sphere of radius r rests at height √2 r above it.
        for open in BOTH {
            let radius = 0.1_f64;
            let z = -1.0 + 2.0_f64.sqrt() * radius - 1e-3;
            let out = touches(&cone(0.0, 2.0, Side::Inside, open), [0.0, 0.0, z], radius);
            assert_eq!(out.len(), 3);
            for touch in &out {
                assert!((touch.overlap - 1e-3 / 2.0_f64.sqrt()).abs() < 1e-12);
                assert!((touch.normal.z + 0.5_f64.sqrt()).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn centre_just_below_the_apex_is_pushed_back_up() {
        for open in BOTH {
            let shape = cone(0.0, 2.0, Side::Inside, open);
            let out = touches_from(Some(Side::Inside), &shape, [0.0, 0.0, -1.03], 0.1);
            let push: DVec3 = out.iter().map(|t| -t.normal * t.overlap).sum();
            assert!(push.z > 0.1 && push.truncate().length() < 1e-12);
        }
    }

    #[test]
    fn hopper_wall_touch_is_perpendicular_to_the_slope() {
        let shape = cone(0.5, 1.5, Side::Inside, OpenFaces::ENDS);
        // Foot (1, 0) of the generatrix; inner side is towards the axis and up.
        let slant = 5.0_f64.sqrt();
        let inward = DVec3::new(-2.0, 0.0, 1.0) / slant;
        let centre = DVec3::X + 0.19 * inward;
        let out = touches(&shape, centre.into(), 0.2);
        assert_eq!(out.len(), 1);
        assert!((out[0].normal + inward).length() < 1e-12);
        assert!((out[0].point - DVec3::X).length() < 1e-12);
        assert!((out[0].overlap - 0.01).abs() < 1e-12);
        assert!((out[0].curvature + 2.0 / slant).abs() < 1e-12);
    }

    #[test]
    fn closed_hopper_floor_hides_the_mantle_continued_below_it() {
        let shape = cone(0.5, 1.5, Side::Inside, OpenFaces::NONE);
        let out = touches(&shape, [0.3, 0.0, -0.92], 0.1);
        assert_eq!(out.len(), 1);
        assert_eq!(out[0].normal, DVec3::NEG_Z);
    }

    #[test]
    fn solid_gives_one_touch_on_mantle_cap_and_rim() {
        let shape = cylinder(Side::Outside, OpenFaces::NONE);
        for (centre, normal, curvature) in [
            ([0.0, 1.15, 0.3], DVec3::NEG_Y, 1.0),
            ([0.3, 0.2, 2.1], DVec3::NEG_Z, 0.0),
            ([1.06, 0.0, 2.08], DVec3::new(-0.6, 0.0, -0.8), 0.0),
        ] {
            let out = touches(&shape, centre, 0.2);
            assert_eq!(out.len(), 1);
            assert!((out[0].normal - normal).length() < 1e-12);
            assert!((out[0].curvature - curvature).abs() < 1e-12);
        }
        assert!(touches(&shape, [1.3, 0.0, 0.0], 0.2).is_empty());
    }

    #[test]
    fn solid_pushes_a_centre_inside_out_through_the_nearest_face() {
        let shape = cylinder(Side::Outside, OpenFaces::NONE);
        let mantle = touches(&shape, [-0.9, 0.0, 0.0], 0.2);
        assert!((mantle[0].normal - DVec3::X).length() < 1e-12);
        assert!((mantle[0].overlap - 0.3).abs() < 1e-12);
        let cap = touches(&shape, [0.1, 0.0, 1.95], 0.2);
        assert_eq!(cap[0].normal, DVec3::NEG_Z);
        let apex = touches(
            &cone(1.0, 0.0, Side::Outside, OpenFaces::NONE),
            [0.0, 0.0, 1.1],
            0.2,
        );
        assert_eq!(apex.len(), 1);
        assert!((apex[0].overlap - 0.1).abs() < 1e-12);
    }
}
