//! Poses from velocities: the only writer of grain positions and orientations.

use esker_contact::BodyState;
use glam::{DQuat, DVec3};

/// Moves centres by `h v` and turns orientations by `h ω`.
pub fn advance(
    positions: &mut [DVec3],
    orientations: &mut [DQuat],
    bodies: &[BodyState],
    step: f64,
) {
    for ((x, q), body) in positions.iter_mut().zip(orientations).zip(bodies) {
        *x += body.velocity * step;
        let half = body.spin * (0.5 * step);
        let turn = DQuat::from_xyzw(half.x, half.y, half.z, 0.0) * *q;
        *q = (*q + turn).normalize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_small_turns_make_a_full_one() {
        let body = BodyState {
            spin: DVec3::Z * std::f64::consts::TAU,
            velocity: DVec3::X,
            ..Default::default()
        };
        let (mut x, mut q) = ([DVec3::ZERO], [DQuat::IDENTITY]);
        for _ in 0..1000 {
            advance(&mut x, &mut q, &[body], 1e-3);
        }
        assert!((x[0] - DVec3::X).length() < 1e-12);
        assert!(q[0].dot(DQuat::IDENTITY).abs() > 1.0 - 1e-9);
    }
}
