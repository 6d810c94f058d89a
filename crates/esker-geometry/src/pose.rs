//! Rigid poses and axis-aligned boxes.

use glam::{DMat3, DQuat, DVec3};

/// A rigid placement: local coordinates `y` become `x = position + R(orientation) y` (m).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    /// Where the local origin is in the world (m).
    pub position: DVec3,
    /// Unit quaternion that turns local directions into world directions.
    pub orientation: DQuat,
}

impl Default for Pose {
    fn default() -> Self {
        Self::IDENTITY
    }
}

impl Pose {
    /// Local and world frame coincide.
    pub const IDENTITY: Self = Self {
        position: DVec3::ZERO,
        orientation: DQuat::IDENTITY,
    };

    /// The pose with this position and orientation.
    pub const fn new(position: DVec3, orientation: DQuat) -> Self {
        Self {
            position,
            orientation,
        }
    }

    /// A pose without rotation.
    pub const fn from_position(position: DVec3) -> Self {
        Self::new(position, DQuat::IDENTITY)
    }

    /// The pose that undoes this one.
    #[must_use]
    pub fn inverse(&self) -> Self {
        let orientation = self.orientation.conjugate();
        Self::new(orientation * -self.position, orientation)
    }

    /// World coordinates of a point given in local ones.
    pub fn to_world(&self, local: DVec3) -> DVec3 {
        self.position + self.orientation * local
    }

    /// Local coordinates of a point given in world ones.
    pub fn to_local(&self, world: DVec3) -> DVec3 {
        self.orientation.conjugate() * (world - self.position)
    }

    /// World direction of a local direction.
    pub fn rotate(&self, local: DVec3) -> DVec3 {
        self.orientation * local
    }

    /// Local direction of a world direction.
    pub fn inverse_rotate(&self, world: DVec3) -> DVec3 {
        self.orientation.conjugate() * world
    }
}

impl std::ops::Mul for Pose {
    type Output = Self;

    /// The pose of what has the pose `inner` in the frame with this one.
    fn mul(self, inner: Self) -> Self {
        Self::new(
            self.to_world(inner.position),
            (self.orientation * inner.orientation).normalize(),
        )
    }
}

/// A box aligned with the axes (m). Empty when a component of `min` exceeds that of `max`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aabb {
    /// Smallest corner (m).
    pub min: DVec3,
    /// Largest corner (m).
    pub max: DVec3,
}

impl Aabb {
    /// The box that holds nothing: the neutral element of [`Aabb::including`].
    pub const EMPTY: Self = Self {
        min: DVec3::INFINITY,
        max: DVec3::NEG_INFINITY,
    };

    /// The box with these corners.
    pub const fn new(min: DVec3, max: DVec3) -> Self {
        Self { min, max }
    }

    /// The smallest box around the points.
    pub fn of_points(points: impl IntoIterator<Item = DVec3>) -> Self {
        points.into_iter().fold(Self::EMPTY, Self::including)
    }

    /// The smallest box around this one and the point.
    #[must_use]
    pub fn including(self, point: DVec3) -> Self {
        Self::new(self.min.min(point), self.max.max(point))
    }

    /// The smallest box around both.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self::new(self.min.min(other.min), self.max.max(other.max))
    }

    /// This box grown by `distance` (m) on every side.
    #[must_use]
    pub fn inflated(self, distance: f64) -> Self {
        Self::new(self.min - distance, self.max + distance)
    }

    /// Midpoint (m).
    pub fn centre(&self) -> DVec3 {
        0.5 * (self.min + self.max)
    }

    /// Edge lengths (m).
    pub fn size(&self) -> DVec3 {
        self.max - self.min
    }

    /// Whether the point is in the box, faces included.
    pub fn contains(&self, point: DVec3) -> bool {
        point.cmpge(self.min).all() && point.cmple(self.max).all()
    }

    /// Whether the boxes share a point.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.min.cmple(other.max).all() && other.min.cmple(self.max).all()
    }

    /// Square of the distance from the point to the box (m²); zero inside.
    pub fn distance_squared(&self, point: DVec3) -> f64 {
        (point.clamp(self.min, self.max) - point).length_squared()
    }

    /// The smallest world box around this local box placed at `pose`.
    #[must_use]
    pub fn transformed(&self, pose: &Pose) -> Self {
        let rotation = DMat3::from_quat(pose.orientation);
        let half = 0.5 * self.size();
        let half = rotation.x_axis.abs() * half.x
            + rotation.y_axis.abs() * half.y
            + rotation.z_axis.abs() * half.z;
        let centre = pose.to_world(self.centre());
        Self::new(centre - half, centre + half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::FRAC_PI_2;

    #[test]
    fn to_local_undoes_to_world() {
        let pose = Pose::new(
            DVec3::new(1.0, -2.0, 3.0),
            DQuat::from_axis_angle(DVec3::new(1.0, 2.0, 2.0) / 3.0, 0.7),
        );
        let point = DVec3::new(0.3, 0.4, -5.0);
        assert!((pose.to_local(pose.to_world(point)) - point).length() < 1e-14);
        assert!((pose.inverse_rotate(pose.rotate(point)) - point).length() < 1e-14);
    }

    #[test]
    fn transformed_box_holds_its_turned_corners_tightly() {
        let local = Aabb::new(DVec3::new(-1.0, 0.0, 0.0), DVec3::new(1.0, 4.0, 6.0));
        let pose = Pose::new(DVec3::X, DQuat::from_rotation_z(FRAC_PI_2));
        let world = local.transformed(&pose);
        assert!((world.min - DVec3::new(-3.0, -1.0, 0.0)).length() < 1e-12);
        assert!((world.max - DVec3::new(1.0, 1.0, 6.0)).length() < 1e-12);
    }
}
