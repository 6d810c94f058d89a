//! Sphere against a box about the origin: a thin shell, closed or with open faces, or a solid.
//!
//! Features: with `s ∈ {−1, 0, 1}³` the sign of the surface point along each axis (zero where it
//! is between the faces), the feature is `Σ (s_k + 1) 3^k`, plus [`OUTER`] for the outer side of a
//! shell's face. So faces, edges and corners have names that do not depend on the dimensions.
//!
//! From inside, the shell is a half-space for each closed face. From outside and over open faces
//! its touches are the local minima of the distance: the nearest point of a closed face, but where
//! it lies on an edge only if no other closed face there has a nearer one.

use super::{Probe, TouchSink};
use crate::shape::{Face, OpenFaces, Side};
use glam::DVec3;

/// Features from here on are outer sides of a shell's faces.
pub(super) const OUTER: u32 = 32;

/// See `WallShape::side_of`.
pub(super) fn side_of(feature: u32) -> Option<Side> {
    if feature >= OUTER {
        Some(Side::Outside)
    } else {
        is_face(feature).then_some(Side::Inside)
    }
}

/// Whether a feature is a face, from either side.
pub(super) fn is_face(feature: u32) -> bool {
    let signs = (0..3).map(|k| feature % OUTER / 3_u32.pow(k) % 3);
    signs.filter(|s| *s != 1).count() == 1
}

pub(super) fn feature(signs: [i32; 3]) -> u32 {
    ((signs[0] + 1) + 3 * (signs[1] + 1) + 9 * (signs[2] + 1)) as u32
}

pub(super) fn face(axis: usize, sign: i32) -> (DVec3, u32) {
    let mut signs = [0; 3];
    signs[axis] = sign;
    (f64::from(sign) * DVec3::AXES[axis], feature(signs))
}

/// Side of the middle on which a coordinate is, `±1`.
pub(super) fn sign_of(x: f64) -> i32 {
    if x < 0.0 { -1 } else { 1 }
}

/// A container.
pub(super) fn shell(probe: &Probe, half: DVec3, open: OpenFaces, out: &mut impl TouchSink) {
    let is_closed = |axis: usize, sign: i32| !open.contains(Face::across(axis, sign > 0));
    let depth = half - probe.centre.abs();
    let nearest = nearest_axis(depth);
    let is_nearest_closed =
        (0..3).all(|k| (depth[k] >= 0.0 && k != nearest) || is_closed(k, sign_of(probe.centre[k])));
    if probe.is_held_inside(depth[nearest], is_nearest_closed) {
        faces_from_inside(probe, half, is_closed, out);
        return;
    }
    let beyond = (0..3).filter(|k| depth[*k] < 0.0).count();
    let sign = sign_of(probe.centre[nearest]);
    if is_closed(nearest, sign) && beyond <= 1 {
        if probe.reaches(-depth[nearest]) {
            let (outward, feature) = face(nearest, sign);
            out.push(probe.touch(-outward, -depth[nearest], 0.0, OUTER + feature));
        }
        return;
    }
    local_minima(probe, half, is_closed, out);
}

/// A ball lies in a convex container exactly when it lies in every face's half-space.
fn faces_from_inside(
    probe: &Probe,
    half: DVec3,
    is_closed: impl Fn(usize, i32) -> bool,
    out: &mut impl TouchSink,
) {
    for axis in 0..3 {
        for sign in [-1, 1] {
            let distance = half[axis] - f64::from(sign) * probe.centre[axis];
            if probe.reaches(distance) && is_closed(axis, sign) {
                let (normal, feature) = face(axis, sign);
                out.push(probe.touch(normal, distance, 0.0, feature));
            }
        }
    }
}

/// Nearest points of the closed faces, for a centre outside of the box that is not just over a
/// closed face.
fn local_minima(
    probe: &Probe,
    half: DVec3,
    is_closed: impl Fn(usize, i32) -> bool,
    out: &mut impl TouchSink,
) {
    let centre = probe.centre;
    // Sign of the end that the centre is beyond, along each axis.
    let beyond: [i32; 3] =
        std::array::from_fn(|k| i32::from(centre[k] > half[k]) - i32::from(centre[k] < -half[k]));
    for axis in 0..3 {
        for sign in [-1, 1] {
            // Faces that meet this one at its nearest point.
            let mut meeting =
                (0..3).filter(|&k| k != axis && beyond[k] != 0 && is_closed(k, beyond[k]));
            // One of them is nearer, or has the same nearest point and reports it.
            let is_reported_by = |k: usize| beyond[axis] != sign || k < axis;
            if !is_closed(axis, sign) || meeting.any(is_reported_by) {
                continue;
            }
            let mut signs = beyond;
            signs[axis] = sign;
            let mut point = centre.clamp(-half, half);
            point[axis] = f64::from(sign) * half[axis];
            let (outward, _) = face(axis, sign);
            out.extend(probe.point_touch(point, outward, feature(signs)));
        }
    }
}

/// A block.
pub(super) fn solid(probe: &Probe, half: DVec3, out: &mut impl TouchSink) {
    let nearest = probe.centre.clamp(-half, half);
    let offset = nearest - probe.centre;
    if offset != DVec3::ZERO {
        let sign = |k: usize| i32::from(offset[k] < 0.0) - i32::from(offset[k] > 0.0);
        let feature = feature([sign(0), sign(1), sign(2)]);
        out.extend(probe.point_touch(nearest, offset, feature));
        return;
    }
    let depth = half - probe.centre.abs();
    let axis = nearest_axis(depth);
    let (outward, feature) = face(axis, sign_of(probe.centre[axis]));
    out.push(probe.touch(-outward, -depth[axis], 0.0, feature));
}

/// The axis along which a face is nearest.
pub(super) fn nearest_axis(depth: DVec3) -> usize {
    (0..3).fold(0, |best, k| if depth[k] < depth[best] { k } else { best })
}

#[cfg(test)]
mod tests {
    use crate::{Face, OpenFaces, Probe, Side, Touch, WallShape};
    use glam::DVec3;

    fn touches(side: Side, centre: DVec3, radius: f64) -> Vec<Touch> {
        let mut out = Vec::new();
        let shape = WallShape::Box {
            half_extents: DVec3::new(1.0, 2.0, 3.0),
            side,
            open: OpenFaces::NONE,
        };
        shape.touches(centre, radius, 0.0, &mut out);
        out
    }

    fn container(open: OpenFaces) -> WallShape {
        WallShape::Box {
            half_extents: DVec3::new(1.0, 2.0, 3.0),
            side: Side::Inside,
            open,
        }
    }

    /// Touches of a sphere of radius 0.1 that the container held from this side last.
    fn touches_from(last: Option<Side>, open: OpenFaces, centre: DVec3) -> Vec<Touch> {
        let mut out = Vec::new();
        let probe = Probe {
            last_side: &|| last,
            ..Probe::at(centre, 0.1, 0.0)
        };
        container(open).touches_of(&probe, &mut out);
        out
    }

    #[test]
    fn container_corner_gives_three_touches() {
        let out = touches(Side::Inside, DVec3::new(0.95, -1.96, 2.97), 0.1);
        assert_eq!(out.len(), 3);
        let overlaps: Vec<f64> = out.iter().map(|t| t.overlap).collect();
        for (got, expected) in overlaps.iter().zip([0.05, 0.06, 0.07]) {
            assert!((got - expected).abs() < 1e-14);
        }
        assert_eq!(out[0].normal, DVec3::X);
        assert_eq!(out[1].normal, DVec3::NEG_Y);
        assert_eq!(out[2].normal, DVec3::Z);
    }

    #[test]
    fn centre_beyond_a_face_is_pushed_back_to_where_it_was() {
        for (last, x, normal, overlap) in [
            (Some(Side::Inside), 1.09, 1.0, 0.19),
            (Some(Side::Outside), 1.09, -1.0, 0.01),
            (None, 1.09, -1.0, 0.01),
            (Some(Side::Outside), 0.97, -1.0, 0.13),
            (Some(Side::Inside), 0.97, 1.0, 0.07),
            (None, 0.97, 1.0, 0.07),
            (Some(Side::Outside), 0.93, 1.0, 0.03),
        ] {
            let out = touches_from(last, OpenFaces::NONE, DVec3::new(x, 0.0, 0.0));
            assert_eq!(out.len(), 1);
            assert!((out[0].overlap - overlap).abs() < 1e-14, "{last:?} at {x}");
            assert!((out[0].point.x - 1.0).abs() < 1e-14);
            assert_eq!(out[0].normal, normal * DVec3::X);
            let side = if normal > 0.0 {
                Side::Inside
            } else {
                Side::Outside
            };
            assert_eq!(
                container(OpenFaces::NONE).side_of(out[0].feature),
                Some(side)
            );
        }
        let far = DVec3::new(1.11, 0.0, 0.0);
        assert!(touches_from(Some(Side::Inside), OpenFaces::NONE, far).is_empty());
    }

    #[test]
    fn closed_container_is_touched_from_outside_like_a_block() {
        let mut state = 7_u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        for _ in 0..2000 {
            let half = DVec3::new(1.0, 2.0, 3.0);
            let centre = (DVec3::new(random(), random(), random()) * 2.4 - 1.2) * half;
            if centre.abs().cmple(half).all() {
                continue;
            }
            let block = touches(Side::Outside, centre, 0.2);
            let shell = touches(Side::Inside, centre, 0.2);
            assert_eq!(shell.len(), block.len(), "at {centre}");
            for (a, b) in shell.iter().zip(&block) {
                assert!((a.normal - b.normal).length() < 1e-12);
                assert!((a.overlap - b.overlap).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn rims_of_open_faces_are_edges() {
        let tray = OpenFaces::NONE.with(Face::Top);
        let at = |x: f64, y: f64, z: f64| touches_from(None, tray, DVec3::new(x, y, z));
        assert!(at(0.0, 0.0, 3.0).is_empty(), "the lid is not there");
        for (x, normal) in [(0.97, 0.6), (1.03, -0.6)] {
            let rim = at(x, 0.0, 3.04);
            assert_eq!(rim.len(), 1);
            assert!((rim[0].normal - DVec3::new(normal, 0.0, -0.8)).length() < 1e-12);
            assert_eq!(container(tray).side_of(rim[0].feature), None);
        }
        // In a corner of the opening two rims, beyond it the corner alone.
        assert_eq!(at(0.97, 1.97, 3.04).len(), 2);
        assert_eq!(at(1.03, 2.03, 3.04).len(), 1);
        // The outer edges of closed faces are still there.
        let lower = at(1.04, 0.0, -3.03);
        assert_eq!(lower.len(), 1);
        assert!((lower[0].normal - DVec3::new(-0.8, 0.0, 0.6)).length() < 1e-12);
    }

    #[test]
    fn sphere_higher_than_a_tray_touches_its_bottom() {
        let tray = WallShape::Box {
            half_extents: DVec3::new(1.0, 1.0, 0.05),
            side: Side::Inside,
            open: OpenFaces::NONE.with(Face::Top),
        };
        let mut out = Vec::new();
        tray.touches(DVec3::new(0.3, 0.0, 0.14), 0.2, 0.0, &mut out);
        assert_eq!(out.len(), 1);
        assert_eq!(out[0].normal, DVec3::NEG_Z);
        assert!((out[0].overlap - 0.01).abs() < 1e-14);
    }

    #[test]
    fn two_open_faces_leave_no_edge_between_them() {
        let scoop = OpenFaces::NONE.with(Face::Top).with(Face::Right);
        let at = |x: f64, y: f64, z: f64| touches_from(None, scoop, DVec3::new(x, y, z));
        assert!(at(1.02, 0.0, 3.02).is_empty());
        assert_eq!(at(1.02, 1.98, 3.02).len(), 1, "the corner of the back wall");
        assert_eq!(at(1.02, 0.0, -2.95).len(), 1, "the rim of the bottom");
    }

    #[test]
    fn block_gives_one_touch_on_face_edge_and_corner() {
        for (centre, normal) in [
            (DVec3::new(0.0, 0.0, 3.05), DVec3::NEG_Z),
            (DVec3::new(1.04, 0.0, 3.03), DVec3::new(-0.8, 0.0, -0.6)),
            (
                DVec3::new(-1.01, -2.02, 3.02),
                DVec3::new(1.0, 2.0, -2.0) / 3.0,
            ),
        ] {
            let out = touches(Side::Outside, centre, 0.1);
            assert_eq!(out.len(), 1);
            assert!((out[0].normal - normal).length() < 1e-12);
        }
    }

    #[test]
    fn block_pushes_a_centre_inside_out_through_the_nearest_face() {
        let out = touches(Side::Outside, DVec3::new(0.2, -1.9, 0.0), 0.1);
        assert_eq!(out.len(), 1);
        assert_eq!(out[0].normal, DVec3::Y);
        assert!((out[0].overlap - 0.2).abs() < 1e-14);
        let face = touches(Side::Outside, DVec3::new(0.2, -2.05, 0.0), 0.1)[0].feature;
        assert_eq!(out[0].feature, face, "the key survives deep penetration");
    }
}
