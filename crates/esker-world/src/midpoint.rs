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
//!
//! A body that cannot rotate about some world axes has an angular velocity `ω = E w` with the
//! other axes as columns of `E`. What holds it acts about the locked axes alone, so `Eᵀ L` is what
//! is conserved, and
//!
//! ```text
//! I_f⁻¹ = E (Eᵀ I E)⁻¹ Eᵀ                                                (3)
//! ```
//!
//! takes the place of `I⁻¹`, with roots of the same rank; it rotates by `exp(h ω_m)`.

use esker_contact::BodyState;
use esker_geometry::{PlacedShape, Pose};
use esker_parallel::Team;
use glam::{DMat2, DMat3, DQuat, DVec3};

use crate::definition::Locks;
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
    /// Of a body that cannot rotate about some axes.
    fn of_locked(
        state: &BodyState,
        position: DVec3,
        orientation: DQuat,
        (shape, locks): (&GrainShape, Locks),
        step: f64,
    ) -> Self {
        let free = locks.free_rotation();
        let momentum = free * (shape.inertia(orientation) * state.angular_velocity);
        let orientation = turned(orientation, state.angular_velocity * (0.5 * step));
        let [root, inverse_root] = free_roots(shape.inertia(orientation), free);
        Midpoint {
            pose: Pose::new(position, orientation),
            axes: DMat3::from_quat(orientation),
            angular_velocity: inverse_root * (inverse_root * momentum),
            root,
            inverse_root: inverse_root * f64::from(u8::from(state.inverse_inertia > 0.0)),
        }
    }

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
            let locks = grains.locks_of(i);
            if locks.rotation != [false; 3] {
                return Midpoint::of_locked(state, position, orientation, (shape, locks), step);
            }
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
    ([mean, last], locks): ([DVec3; 2], Locks),
    step: f64,
) -> (DQuat, DVec3) {
    if locks.rotation != [false; 3] {
        let orientation = turned(orientation, midpoint.inverse_root * mean * step);
        let inertia = shape.inertia(orientation);
        let [_, inverse_root] = free_roots(inertia, locks.free_rotation());
        let momentum = midpoint.root * last;
        return (orientation, inverse_root * (inverse_root * momentum));
    }
    let orientation = rotate(orientation, midpoint.root * mean, shape.moments, step);
    let axes = DMat3::from_quat(orientation);
    let angular_velocity = in_world_axes(axes, shape.moments.recip()) * (midpoint.root * last);
    (orientation, angular_velocity)
}

/// An orientation turned by a rotation vector in world axes, rad.
fn turned(orientation: DQuat, rotation: DVec3) -> DQuat {
    (DQuat::from_scaled_axis(rotation) * orientation).normalize()
}

/// Roots of an inertia and of its inverse (3) as far as a body can rotate: `free` is one
/// along axes that it can rotate about, else zero.
fn free_roots(inertia: DMat3, free: DVec3) -> [DMat3; 2] {
    let (mut axes, mut count) = ([0; 3], 0);
    for k in (0..3).filter(|&k| free[k] > 0.0) {
        axes[count] = k;
        count += 1;
    }
    let (mut root, mut inverse) = (DMat3::ZERO, DMat3::ZERO);
    match axes[..count] {
        [k] => {
            let entry = inertia.col(k)[k].sqrt();
            root.col_mut(k)[k] = entry;
            inverse.col_mut(k)[k] = entry.recip();
        }
        [j, k] => {
            // √M = (M + √det 1)/√(tr + 2 √det) for two rows and columns.
            let m = DMat2::from_cols_array_2d(&[j, k].map(|c| [j, k].map(|r| inertia.col(c)[r])));
            let s = m.determinant().sqrt();
            let trace = m.x_axis.x + m.y_axis.y;
            let own = (m + DMat2::IDENTITY * s) * (trace + 2.0 * s).sqrt().recip();
            for (whole, part) in [(&mut root, own), (&mut inverse, own.inverse())] {
                for (c, column) in [j, k].into_iter().zip([part.x_axis, part.y_axis]) {
                    whole.col_mut(c)[j] = column.x;
                    whole.col_mut(c)[k] = column.y;
                }
            }
        }
        _ => {}
    }
    [root, inverse]
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
    fn roots_of_locked_inertia_respond_about_free_axes_alone() {
        let q = DQuat::from_scaled_axis(DVec3::new(0.3, 0.2, -0.7));
        let inertia = in_world_axes(DMat3::from_quat(q), DVec3::new(1.0, 2.0, 2.5));
        for free in [
            DVec3::Y,
            DVec3::new(1.0, 0.0, 1.0),
            DVec3::new(0.0, 1.0, 1.0),
        ] {
            let [root, inverse] = free_roots(inertia, free);
            let mask = DMat3::from_diagonal(free);
            assert!((root * inverse).abs_diff_eq(mask, 1e-14));
            assert!((root * root).abs_diff_eq(mask * inertia * mask, 1e-14));
        }
        assert_eq!(free_roots(inertia, DVec3::ZERO), [DMat3::ZERO; 2]);
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
