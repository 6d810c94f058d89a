//! Sphere against a box about the origin, from inside or outside.
//!
//! Features: with `s ∈ {−1, 0, 1}³` the sign of the surface point along each axis (zero where it
//! is between the faces), the feature is `Σ (s_k + 1) 3^k`. So faces, edges and corners have names
//! that do not depend on the dimensions.

use super::Probe;
use crate::shape::{Side, Touch};
use glam::DVec3;

pub(super) fn touches(probe: &Probe, half: DVec3, side: Side, out: &mut Vec<Touch>) {
    match side {
        Side::Inside => container(probe, half, out),
        Side::Outside => block(probe, half, out),
    }
}

fn feature(signs: [i32; 3]) -> u32 {
    ((signs[0] + 1) + 3 * (signs[1] + 1) + 9 * (signs[2] + 1)) as u32
}

fn face(axis: usize, sign: i32) -> (DVec3, u32) {
    let mut signs = [0; 3];
    signs[axis] = sign;
    (f64::from(sign) * DVec3::AXES[axis], feature(signs))
}

fn container(probe: &Probe, half: DVec3, out: &mut Vec<Touch>) {
    // A ball lies in a convex container exactly when it lies in every face's half-space.
    let deepest = (half - probe.centre.abs()).min_element();
    if deepest < -probe.radius {
        return;
    }
    for axis in 0..3 {
        for sign in [-1, 1] {
            let distance = half[axis] - f64::from(sign) * probe.centre[axis];
            if probe.reaches(distance) {
                let (normal, feature) = face(axis, sign);
                out.push(probe.touch(normal, distance, 0.0, feature));
            }
        }
    }
}

fn block(probe: &Probe, half: DVec3, out: &mut Vec<Touch>) {
    let nearest = probe.centre.clamp(-half, half);
    let offset = nearest - probe.centre;
    let distance = offset.length();
    if distance > 0.0 {
        if probe.reaches(distance) {
            let sign = |k: usize| i32::from(offset[k] < 0.0) - i32::from(offset[k] > 0.0);
            let feature = feature([sign(0), sign(1), sign(2)]);
            out.push(probe.touch(offset / distance, distance, 0.0, feature));
        }
        return;
    }
    let depth = half - probe.centre.abs();
    let axis = (0..3).fold(0, |best, k| if depth[k] < depth[best] { k } else { best });
    let sign = if probe.centre[axis] < 0.0 { -1 } else { 1 };
    let (outward, feature) = face(axis, sign);
    out.push(probe.touch(-outward, -depth[axis], 0.0, feature));
}

#[cfg(test)]
mod tests {
    use crate::{Side, Touch, WallShape};
    use glam::DVec3;

    fn touches(side: Side, centre: DVec3, radius: f64) -> Vec<Touch> {
        let mut out = Vec::new();
        let half_extents = DVec3::new(1.0, 2.0, 3.0);
        WallShape::Box { half_extents, side }.touches(centre, radius, 0.0, &mut out);
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
    fn container_takes_back_a_centre_up_to_one_radius_beyond() {
        let out = touches(Side::Inside, DVec3::new(1.09, 0.0, 0.0), 0.1);
        assert_eq!(out.len(), 1);
        assert!((out[0].overlap - 0.19).abs() < 1e-14);
        assert!((out[0].point.x - 1.0).abs() < 1e-14);
        assert!(touches(Side::Inside, DVec3::new(1.11, 0.0, 0.0), 0.1).is_empty());
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
