//! Sphere against the half-space `z < 0`.

use super::{Probe, TouchSink};
use glam::DVec3;

pub(super) fn touches(probe: &Probe, out: &mut impl TouchSink) {
    let distance = probe.centre.z;
    if probe.reaches(distance) {
        out.push(probe.touch(DVec3::NEG_Z, distance, 0.0, 0));
    }
}

#[cfg(test)]
mod tests {
    use crate::WallShape;
    use glam::DVec3;

    #[test]
    fn overlap_counts_from_the_surface_at_any_depth() {
        for (z, expected) in [(0.9, 0.1), (1.05, -0.05), (-7.0, 8.0)] {
            let mut out = Vec::new();
            WallShape::HalfSpace.touches(DVec3::new(3.0, 4.0, z), 1.0, 0.1, &mut out);
            assert_eq!(out.len(), 1);
            assert!((out[0].overlap - expected).abs() < 1e-15);
            assert_eq!(out[0].normal, DVec3::NEG_Z);
            assert!((out[0].point - DVec3::new(3.0, 4.0, 0.0)).length() < 1e-14);
        }
        let mut out = Vec::new();
        WallShape::HalfSpace.touches(DVec3::new(0.0, 0.0, 1.2), 1.0, 0.1, &mut out);
        assert!(out.is_empty());
    }
}
