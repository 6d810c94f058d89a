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
//! An open shell is thin: a centre up to half a radius beyond it is pushed back inside, a centre
//! further out is treated as a grain that touches the shell from outside. So grains inside are
//! safe against tunnelling, and grains outside a lifted tube or below a hopper are not sucked in.

use super::Probe;
use crate::shape::{Side, Touch};
use glam::{DVec2, DVec3};
use std::f64::consts::PI;

/// Feature names; each of the first three stands for the three azimuths `+0, +1, +2`.
mod feature {
    pub const MANTLE: u32 = 0;
    pub const RIM_BOTTOM: u32 = 3;
    pub const RIM_TOP: u32 = 6;
    pub const CAP_BOTTOM: u32 = 9;
    pub const CAP_TOP: u32 = 10;
    pub const MANTLE_OUTER: u32 = 11;
}

/// How far beyond an open shell a centre still counts as inside, in sphere radii.
const SHELL_RECOVERY: f64 = 0.5;

/// The mantle line of equation (1).
pub(super) struct Frustum {
    bottom: DVec2,
    top: DVec2,
    direction: DVec2,
    outward: DVec2,
    slant: f64,
}

/// A centre seen in the meridian plane of one azimuth.
struct Meridian {
    /// Horizontal unit vector of the azimuth.
    radial: DVec3,
    /// Inner distance to the mantle line, equation (2) (m).
    distance: f64,
    /// Foot along the mantle, equation (3) (m).
    along: f64,
    /// Axial distance of the foot, for equation (4) (m).
    foot_radius: f64,
}

impl Frustum {
    pub(super) fn new(radius_bottom: f64, radius_top: f64, length: f64) -> Self {
        let bottom = DVec2::new(radius_bottom, -0.5 * length);
        let top = DVec2::new(radius_top, 0.5 * length);
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

    pub(super) fn touches(&self, probe: &Probe, side: Side, caps: bool, out: &mut Vec<Touch>) {
        match (side, caps) {
            (Side::Inside, true) => self.container(probe, out),
            (Side::Inside, false) => self.open_shell(probe, out),
            (Side::Outside, _) => self.solid(probe, out),
        }
    }

    /// Equations (2) to (4) at the azimuth of the centre (`third = 0`) or a third of a turn on.
    fn meridian(&self, centre: DVec3, third: u32) -> Meridian {
        let rho = centre.x.hypot(centre.y);
        let own = if rho > 0.0 {
            DVec2::new(centre.x / rho, centre.y / rho)
        } else {
            DVec2::X
        };
        let turn = DVec2::from_angle(2.0 * PI / 3.0 * f64::from(third));
        let (radial, rho) = match third {
            0 => (own, rho),
            _ => (turn.rotate(own), rho * turn.x),
        };
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
    fn mantle_normal(&self, meridian: &Meridian) -> DVec3 {
        self.outward.x * meridian.radial + DVec3::Z * self.outward.y
    }

    /// Equation (4); huge where the foot reaches the apex.
    fn mantle_curvature(&self, meridian: &Meridian) -> f64 {
        self.outward.x / meridian.foot_radius.max(f64::MIN_POSITIVE)
    }

    /// A touch of the mantle from inside.
    fn mantle_touch(&self, probe: &Probe, meridian: &Meridian, third: u32) -> Touch {
        probe.touch(
            self.mantle_normal(meridian),
            meridian.distance,
            -self.mantle_curvature(meridian),
            feature::MANTLE + third,
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
        let offset = rim.x * meridian.radial + DVec3::Z * rim.y - probe.centre;
        let distance = offset.length();
        if !probe.reaches(distance) {
            return None;
        }
        let normal = if distance > 0.0 {
            offset / distance
        } else {
            self.mantle_normal(meridian)
        };
        Some(probe.touch(normal, distance, 0.0, feature + third))
    }

    /// Closed container: mantle and both caps, each as a half-space.
    fn container(&self, probe: &Probe, out: &mut Vec<Touch>) {
        let nearest = self.meridian(probe.centre, 0);
        let to_bottom = probe.centre.z - self.bottom.y;
        let to_top = self.top.y - probe.centre.z;
        let least = nearest.distance.min(to_bottom).min(to_top);
        if least < -probe.radius {
            return;
        }
        // From inside, a face whose foot lies off it hides behind the face it meets there.
        let is_beyond = least < 0.0;
        for third in 0..3 {
            let meridian = self.meridian(probe.centre, third);
            if probe.reaches(meridian.distance) && (is_beyond || self.is_on_mantle(&meridian)) {
                out.push(self.mantle_touch(probe, &meridian, third));
            }
        }
        let rho = probe.centre.truncate().length();
        for (radius, distance, normal, feature) in [
            (self.bottom.x, to_bottom, DVec3::NEG_Z, feature::CAP_BOTTOM),
            (self.top.x, to_top, DVec3::Z, feature::CAP_TOP),
        ] {
            if radius > 0.0 && probe.reaches(distance) && (is_beyond || rho <= radius) {
                out.push(probe.touch(normal, distance, 0.0, feature));
            }
        }
    }

    /// Thin shell without caps: mantle from inside or outside, or the rims.
    fn open_shell(&self, probe: &Probe, out: &mut Vec<Touch>) {
        let recovery = SHELL_RECOVERY * probe.radius;
        for third in 0..3 {
            let meridian = self.meridian(probe.centre, third);
            let (rim, _) = self.nearest_rim(&meridian);
            let is_at_apex = rim.x == 0.0 && rim.distance(probe.centre_in_meridian()) <= recovery;
            if self.is_on_mantle(&meridian) || is_at_apex {
                if meridian.distance >= -recovery {
                    if probe.reaches(meridian.distance) {
                        out.push(self.mantle_touch(probe, &meridian, third));
                    }
                } else {
                    // Seen from outside the shell is convex: one touch is all.
                    if probe.reaches(-meridian.distance) {
                        out.push(self.outer_mantle_touch(probe, &meridian));
                    }
                    return;
                }
            } else if third == 0 || rim.x > 0.0 {
                out.extend(self.rim_touch(probe, &meridian, third));
            }
        }
    }

    /// Solid with caps: the nearest point of the convex outline.
    fn solid(&self, probe: &Probe, out: &mut Vec<Touch>) {
        let meridian = self.meridian(probe.centre, 0);
        let rho = probe.centre.truncate().length();
        let to_bottom = probe.centre.z - self.bottom.y;
        let to_top = self.top.y - probe.centre.z;
        let bottom_touch = || probe.touch(DVec3::Z, -to_bottom, 0.0, feature::CAP_BOTTOM);
        let top_touch = || probe.touch(DVec3::NEG_Z, -to_top, 0.0, feature::CAP_TOP);
        let least = meridian.distance.min(to_bottom).min(to_top);
        if least >= 0.0 {
            out.push(if meridian.distance == least {
                self.outer_mantle_touch(probe, &meridian)
            } else if to_bottom == least {
                bottom_touch()
            } else {
                top_touch()
            });
        } else if rho <= self.bottom.x && to_bottom <= 0.0 {
            out.extend(probe.reaches(-to_bottom).then(bottom_touch));
        } else if rho <= self.top.x && to_top <= 0.0 {
            out.extend(probe.reaches(-to_top).then(top_touch));
        } else if self.is_on_mantle(&meridian) {
            let is_reached = probe.reaches(-meridian.distance);
            out.extend(is_reached.then(|| self.outer_mantle_touch(probe, &meridian)));
        } else {
            out.extend(self.rim_touch(probe, &meridian, 0));
        }
    }
}

impl Probe {
    /// The centre as `(ρ, z)`.
    fn centre_in_meridian(&self) -> DVec2 {
        DVec2::new(self.centre.truncate().length(), self.centre.z)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Side, Touch, WallShape};
    use glam::DVec3;

    fn cylinder(side: Side, caps: bool) -> WallShape {
        WallShape::Cylinder {
            radius: 1.0,
            length: 4.0,
            side,
            caps,
        }
    }

    fn cone(radius_bottom: f64, radius_top: f64, side: Side, caps: bool) -> WallShape {
        WallShape::Cone {
            radius_bottom,
            radius_top,
            length: 2.0,
            side,
            caps,
        }
    }

    fn touches(shape: &WallShape, centre: [f64; 3], radius: f64) -> Vec<Touch> {
        let mut out = Vec::new();
        shape.touches(DVec3::from(centre), radius, 0.0, &mut out);
        for touch in &out {
            assert!((touch.normal.length() - 1.0).abs() < 1e-12);
            let point = DVec3::from(centre) + (radius - touch.overlap) * touch.normal;
            assert!((point - touch.point).length() < 1e-12);
        }
        out
    }

    #[test]
    fn tube_touch_has_radial_normal_and_hollow_curvature() {
        for caps in [false, true] {
            let out = touches(&cylinder(Side::Inside, caps), [0.0, 0.81, 0.5], 0.2);
            assert_eq!(out.len(), 1);
            assert!((out[0].normal - DVec3::Y).length() < 1e-15);
            assert!((out[0].overlap - 0.01).abs() < 1e-14);
            assert!((out[0].curvature + 1.0).abs() < 1e-14);
        }
    }

    #[test]
    fn drum_corner_gives_mantle_and_cap() {
        let out = touches(&cylinder(Side::Inside, true), [0.85, 0.0, -1.9], 0.2);
        assert_eq!(out.len(), 2);
        assert_eq!(out[1].normal, DVec3::NEG_Z);
        let lost_in_corner = touches(&cylinder(Side::Inside, true), [1.1, 0.0, -2.1], 0.2);
        assert_eq!(lost_in_corner.len(), 2);
        assert!(
            lost_in_corner
                .iter()
                .all(|t| (t.overlap - 0.3).abs() < 1e-12)
        );
    }

    #[test]
    fn centre_slightly_beyond_the_tube_is_pushed_back_inside() {
        let out = touches(&cylinder(Side::Inside, false), [1.05, 0.0, 0.0], 0.2);
        assert_eq!(out.len(), 1);
        assert!((out[0].overlap - 0.25).abs() < 1e-14);
        assert_eq!(out[0].normal, DVec3::X);
    }

    #[test]
    fn grain_outside_an_open_tube_rests_on_its_outer_face() {
        let out = touches(&cylinder(Side::Inside, false), [1.19, 0.0, 0.0], 0.2);
        assert_eq!(out.len(), 1);
        assert!((out[0].overlap - 0.01).abs() < 1e-14);
        assert_eq!(out[0].normal, DVec3::NEG_X);
        assert!(out[0].curvature > 0.0);
        assert!(touches(&cylinder(Side::Inside, true), [1.21, 0.0, 0.0], 0.2).is_empty());
    }

    #[test]
    fn open_rim_is_an_edge_from_either_side() {
        for (x, normal) in [(0.97, 0.6), (1.03, -0.6)] {
            let out = touches(&cylinder(Side::Inside, false), [x, 0.0, 2.04], 0.2);
            assert_eq!(out.len(), 1);
            assert!((out[0].normal - DVec3::new(normal, 0.0, -0.8)).length() < 1e-12);
            assert!((out[0].overlap - 0.15).abs() < 1e-12);
            assert_eq!(out[0].curvature, 0.0);
        }
    }

    #[test]
    fn sphere_wider_than_the_tube_is_held_evenly() {
        let out = touches(&cylinder(Side::Inside, false), [0.0; 3], 1.1);
        assert_eq!(out.len(), 3);
        let sum: DVec3 = out.iter().map(|t| t.normal * t.overlap).sum();
        assert!(sum.length() < 1e-14);
        assert!(out.iter().all(|t| 1.0 / 1.1 + t.curvature > 0.0));
        let on_the_rim = touches(&cylinder(Side::Inside, false), [0.0, 0.0, 2.4], 1.1);
        assert_eq!(on_the_rim.len(), 3);
        let sum: DVec3 = on_the_rim.iter().map(|t| t.normal).sum();
        assert!(sum.truncate().length() < 1e-14 && sum.z < 0.0);
    }

    #[test]
    fn sphere_on_the_axis_of_a_cone_rests_on_three_points() {
        // Half-angle 45°: apex at z = -1, so a sphere of radius r rests at height √2 r above it.
        for caps in [false, true] {
            let radius = 0.1_f64;
            let z = -1.0 + 2.0_f64.sqrt() * radius - 1e-3;
            let out = touches(&cone(0.0, 2.0, Side::Inside, caps), [0.0, 0.0, z], radius);
            assert_eq!(out.len(), 3);
            for touch in &out {
                assert!((touch.overlap - 1e-3 / 2.0_f64.sqrt()).abs() < 1e-12);
                assert!((touch.normal.z + 0.5_f64.sqrt()).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn centre_just_below_the_apex_is_pushed_back_up() {
        for caps in [false, true] {
            let shape = cone(0.0, 2.0, Side::Inside, caps);
            let out = touches(&shape, [0.0, 0.0, -1.03], 0.1);
            let push: DVec3 = out.iter().map(|t| -t.normal * t.overlap).sum();
            assert!(push.z > 0.1 && push.truncate().length() < 1e-12);
        }
    }

    #[test]
    fn hopper_wall_touch_is_perpendicular_to_the_slope() {
        let shape = cone(0.5, 1.5, Side::Inside, false);
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
        let shape = cone(0.5, 1.5, Side::Inside, true);
        let out = touches(&shape, [0.3, 0.0, -0.92], 0.1);
        assert_eq!(out.len(), 1);
        assert_eq!(out[0].normal, DVec3::NEG_Z);
    }

    #[test]
    fn solid_gives_one_touch_on_mantle_cap_and_rim() {
        let shape = cylinder(Side::Outside, true);
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
        let shape = cylinder(Side::Outside, true);
        let mantle = touches(&shape, [-0.9, 0.0, 0.0], 0.2);
        assert!((mantle[0].normal - DVec3::X).length() < 1e-12);
        assert!((mantle[0].overlap - 0.3).abs() < 1e-12);
        let cap = touches(&shape, [0.1, 0.0, 1.95], 0.2);
        assert_eq!(cap[0].normal, DVec3::NEG_Z);
        let apex = touches(&cone(1.0, 0.0, Side::Outside, true), [0.0, 0.0, 1.1], 0.2);
        assert_eq!(apex.len(), 1);
        assert!((apex[0].overlap - 0.1).abs() < 1e-12);
    }
}
