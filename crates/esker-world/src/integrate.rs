//! Poses from velocities: the only writer of grain positions and orientations.

use esker_geometry::portable;
use glam::{DQuat, DVec3};

/// Moves a centre by a displacement, m, and turns an orientation by a rotation
/// vector, rad.
#[inline]
pub fn advance(position: &mut DVec3, orientation: &mut DQuat, displacement: DVec3, turn: DVec3) {
    *position += displacement;
    let angle = turn.length();
    if angle > 0.0 {
        let (sin, cos) = portable::sin_cos(0.5 * angle);
        let axis = turn / angle * sin;
        let turn = DQuat::from_xyzw(axis.x, axis.y, axis.z, cos);
        *orientation = (turn * *orientation).normalize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_small_turns_make_a_full_one() {
        let (mut x, mut q) = (DVec3::ZERO, DQuat::IDENTITY);
        let turn = DVec3::Z * (std::f64::consts::TAU * 1e-3);
        for _ in 0..1000 {
            advance(&mut x, &mut q, DVec3::X * 1e-3, turn);
        }
        assert!((x - DVec3::X).length() < 1e-12);
        assert!(q.dot(DQuat::IDENTITY).abs() > 1.0 - 1e-12);
    }
}
