//! Rotation of bodies whose inertia is not isotropic, and the poses at which
//! their contacts are found.
//!
//! Contacts of bodies that are no spheres have the geometry of the middle of the
//! step: with that of its start the error is of first order, and a rolling
//! ellipsoid gains energy. A body is taken there as it moves freely, with its
//! angular momentum `L`:
//!
//! ```text
//! x_m = x + ½ h v,    q_m = rotate(q, L, ½ h),    ω_m = I(q_m)⁻¹ L        (1)
//! ```
//!
//! Within the step the inertia `I_m` of that pose is frozen: gyroscopic motion is
//! in the free rotation over the whole step at its end, with the mean angular
//! momentum of the substeps,
//!
//! ```text
//! q ← rotate(q, I_m Σ h_s ω/h, h),    ω ← I(q)⁻¹ I_m ω                    (2)
//! ```
//!
//! which conserves angular momentum in world axes to rounding and keeps the
//! energy of a free body bounded (a gyroscopic torque in every substep does
//! neither). `rotate` is the symmetric splitting of free rotation into rotations
//! about the principal axes.

use esker_contact::BodyState;
use esker_geometry::{PlacedShape, Pose};
use esker_parallel::Team;
use glam::{DMat3, DQuat, DVec3};

use crate::grains::{GrainShape, Grains, in_world_axes};

/// A grain in the middle of the step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Midpoint {
    /// Pose.
    pub(crate) pose: Pose,
    /// Axes of the body in world axes.
    pub(crate) axes: DMat3,
    /// Angular velocity, rad/s.
    pub(crate) angular_velocity: DVec3,
    /// `I_m^(1/2)`, world axes; one for a sphere.
    pub(crate) root: DMat3,
    /// Its inverse; zero where rotation is locked.
    pub(crate) inverse_root: DMat3,
}

impl Midpoint {
    /// A body as contacts see it: with its metric angular velocity.
    pub(crate) fn metric_state(&self, state: BodyState) -> BodyState {
        let rotates = state.inverse_inertia > 0.0;
        BodyState {
            angular_velocity: self.root * self.angular_velocity,
            inverse_inertia: f64::from(u8::from(rotates)),
            ..state
        }
    }
}

/// Midpoints of all grains; empty where all are spheres.
#[derive(Debug, Default)]
pub(crate) struct Midpoints(pub(crate) Vec<Midpoint>);

impl Midpoints {
    /// Sets the midpoints (1) of a step.
    pub(crate) fn set(&mut self, team: &mut Team, grains: &Grains, step: f64) {
        let count = if grains.has_shapes() { grains.len() } else { 0 };
        team.fill(&mut self.0, count, |i| {
            let state = &grains.state[i];
            let position = grains.position[i] + state.velocity * (0.5 * step);
            let orientation = grains.orientation[i];
            let Some(shape) = grains.shape_of(i) else {
                return Midpoint {
                    pose: Pose::new(position, orientation),
                    axes: DMat3::IDENTITY,
                    angular_velocity: state.angular_velocity,
                    root: DMat3::IDENTITY,
                    inverse_root: DMat3::IDENTITY,
                };
            };
            let momentum = shape.inertia(orientation) * state.angular_velocity;
            let orientation = rotate(orientation, momentum, shape.moments, 0.5 * step);
            let axes = DMat3::from_quat(orientation);
            let root = shape.moments.map(f64::sqrt);
            let rotates = f64::from(u8::from(state.inverse_inertia > 0.0));
            Midpoint {
                pose: Pose::new(position, orientation),
                axes,
                angular_velocity: in_world_axes(axes, shape.moments.recip()) * momentum,
                root: in_world_axes(axes, root),
                inverse_root: in_world_axes(axes, root.recip() * rotates),
            }
        });
    }

    /// The grain's shape where it is in the middle of the step; spheres are given by
    /// their radius.
    pub(crate) fn placed<'a>(
        &self,
        i: usize,
        shape: &'a esker_geometry::BodyShape,
        scale: f64,
    ) -> PlacedShape<'a> {
        let midpoint = &self.0[i];
        PlacedShape {
            shape,
            scale,
            position: midpoint.pose.position,
            rotation: midpoint.axes,
        }
    }
}

/// Moves a body on by (2): orientation and angular velocity after the step, from the
/// mean and the last of its metric angular velocities.
pub(crate) fn finish_rotation(
    shape: &GrainShape,
    orientation: DQuat,
    midpoint: &Midpoint,
    [mean, last]: [DVec3; 2],
    step: f64,
) -> (DQuat, DVec3) {
    let orientation = rotate(orientation, midpoint.root * mean, shape.moments, step);
    let axes = DMat3::from_quat(orientation);
    let angular_velocity = in_world_axes(axes, shape.moments.recip()) * (midpoint.root * last);
    (orientation, angular_velocity)
}

/// Free rotation of a body with these principal moments, kg m², and the angular
/// momentum `momentum`, kg m²/s in world axes, over a time, s.
pub(crate) fn rotate(orientation: DQuat, momentum: DVec3, moments: DVec3, time: f64) -> DQuat {
    let mut q = orientation;
    let mut l = q.conjugate() * momentum;
    for (axis, share) in [(0, 0.5), (1, 0.5), (2, 1.0), (1, 0.5), (0, 0.5)] {
        let angle = share * time * l[axis] / moments[axis];
        let turn = DQuat::from_axis_angle(DVec3::AXES[axis], angle);
        q *= turn;
        l = turn.conjugate() * l;
    }
    q.normalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A body with three different moments that rotates about the middle one tumbles.
    /// Time between two flips and energy against an integration to rounding.
    #[test]
    fn a_free_top_tumbles_and_keeps_energy_and_angular_momentum() {
        let moments = DVec3::new(1.0, 2.0, 3.0);
        let (rate, step) = (20.0, 5e-3);
        let start = DVec3::new(0.01, 1.0, 0.01) * rate;
        let momentum = moments * start;
        let energy = |l: DVec3| 0.5 * (l * l).dot(moments.recip());
        let mut q = DQuat::IDENTITY;
        let (mut flips, mut sign, mut worst) = (Vec::new(), 1.0, 0.0_f64);
        for k in 1..=20_000_u32 {
            q = rotate(q, momentum, moments, step);
            let l = q.conjugate() * momentum;
            worst = worst.max((energy(l) / energy(momentum) - 1.0).abs());
            if l.y * sign < 0.0 {
                flips.push(f64::from(k) * step);
                sign = -sign;
            }
        }
        assert!(worst < 1e-4, "{worst}");
        let last = flips.len() - 1;
        let period = (flips[last] - flips[0]) / last as f64;
        // An elliptic integral: 19.553 over the rate.
        assert!((period / 0.97765 - 1.0).abs() < 2e-3, "{period}");
    }

    #[test]
    fn free_rotation_is_reversible() {
        let moments = DVec3::new(1.0, 2.0, 3.0);
        let momentum = DVec3::new(3.0, -2.0, 5.0);
        let q = DQuat::from_scaled_axis(DVec3::new(0.3, 0.2, -0.7));
        let there = rotate(q, momentum, moments, 0.1);
        let back = rotate(there, -momentum, moments, 0.1);
        assert!(q.dot(back).abs() > 1.0 - 1e-14);
    }
}
