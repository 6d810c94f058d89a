//! Rigid bodies as machines know them: mass properties, pose and velocity.

use std::ops::{Add, AddAssign, Mul, Neg, Sub};

use glam::{DMat3, DQuat, DVec3};

/// A spatial vector in world axes, about the centre of mass of a body: a velocity (m/s, rad/s),
/// a force and torque (N, N m), or their impulses (N s, N m s).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spatial {
    /// Linear part.
    pub linear: DVec3,
    /// Angular part.
    pub angular: DVec3,
}

impl Spatial {
    /// No velocity, no force.
    pub const ZERO: Spatial = Spatial::new(DVec3::ZERO, DVec3::ZERO);

    /// The vector with these parts.
    pub const fn new(linear: DVec3, angular: DVec3) -> Self {
        Spatial { linear, angular }
    }

    /// Power of a force at a velocity: the scalar product.
    #[inline]
    pub fn dot(self, other: Self) -> f64 {
        self.linear.dot(other.linear) + self.angular.dot(other.angular)
    }

    /// Velocity of the point at `arm` from the centre of mass.
    #[inline]
    pub fn at(self, arm: DVec3) -> DVec3 {
        self.linear + self.angular.cross(arm)
    }

    /// The impulse `p` (or force) that acts at `arm` from the centre of mass.
    #[inline]
    pub fn from_impulse_at(p: DVec3, arm: DVec3) -> Self {
        Spatial::new(p, arm.cross(p))
    }

    /// Component 0 … 5: linear x, y, z, then angular.
    #[inline]
    pub fn component(self, k: usize) -> f64 {
        if k < 3 {
            self.linear[k]
        } else {
            self.angular[k - 3]
        }
    }

    /// The unit vector along component 0 … 5.
    pub fn unit(k: usize) -> Self {
        let mut unit = Spatial::ZERO;
        if k < 3 {
            unit.linear[k] = 1.0;
        } else {
            unit.angular[k - 3] = 1.0;
        }
        unit
    }

    /// Whether all components are finite.
    pub fn is_finite(self) -> bool {
        self.linear.is_finite() && self.angular.is_finite()
    }
}

impl Add for Spatial {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Spatial::new(self.linear + other.linear, self.angular + other.angular)
    }
}

impl Sub for Spatial {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Spatial::new(self.linear - other.linear, self.angular - other.angular)
    }
}

impl Neg for Spatial {
    type Output = Self;
    #[inline]
    fn neg(self) -> Self {
        Spatial::new(-self.linear, -self.angular)
    }
}

impl Mul<f64> for Spatial {
    type Output = Self;
    #[inline]
    fn mul(self, factor: f64) -> Self {
        Spatial::new(self.linear * factor, self.angular * factor)
    }
}

impl AddAssign for Spatial {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// A 6×6 matrix that makes a velocity of an impulse, in blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InverseMass6 {
    /// Velocity per impulse.
    pub linear_linear: DMat3,
    /// Velocity per torque impulse; the transpose of the block below the diagonal.
    pub linear_angular: DMat3,
    /// Angular velocity per torque impulse.
    pub angular_angular: DMat3,
}

impl InverseMass6 {
    /// Velocity change of the point at `arm` per impulse there: `J A Jᵀ` with `J = [1, −[arm]×]`.
    pub fn at(&self, arm: DVec3) -> DMat3 {
        let cross = cross_matrix(arm);
        let mixed = cross * self.linear_angular.transpose();
        self.linear_linear - mixed - mixed.transpose()
            + cross * self.angular_angular * cross.transpose()
    }

    /// Velocity change by an impulse.
    pub fn apply(&self, impulse: Spatial) -> Spatial {
        Spatial::new(
            self.linear_linear * impulse.linear + self.linear_angular * impulse.angular,
            self.linear_angular.transpose() * impulse.linear
                + self.angular_angular * impulse.angular,
        )
    }
}

/// `[a]×`: `a × b = [a]× b`.
pub(crate) fn cross_matrix(a: DVec3) -> DMat3 {
    DMat3::from_cols(
        DVec3::new(0.0, a.z, -a.y),
        DVec3::new(-a.z, 0.0, a.x),
        DVec3::new(a.y, -a.x, 0.0),
    )
}

/// Mass properties of a body, about its centre of mass in its principal axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyProperties {
    /// Mass, kg.
    pub mass: f64,
    /// Principal moments of inertia, kg m².
    pub moments: DVec3,
    /// One along world axes that it can move along, zero along those it is locked in.
    pub free_translation: DVec3,
    /// The same of world axes that it can rotate about.
    pub free_rotation: DVec3,
}

impl BodyProperties {
    /// A body that is free to move.
    pub const fn new(mass: f64, moments: DVec3) -> Self {
        BodyProperties {
            mass,
            moments,
            free_translation: DVec3::ONE,
            free_rotation: DVec3::ONE,
        }
    }
}

/// Where the centre of mass and the principal axes of a body are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyPose {
    /// Centre of mass, m.
    pub position: DVec3,
    /// Unit quaternion that turns principal axes into world axes.
    pub orientation: DQuat,
}

impl BodyPose {
    /// The pose of the ground.
    pub const IDENTITY: BodyPose = BodyPose {
        position: DVec3::ZERO,
        orientation: DQuat::IDENTITY,
    };

    /// The pose after a time, s, at constant velocity: `x + h v`, `exp(h ω) q`.
    #[must_use]
    pub fn moved(&self, velocity: Spatial, time: f64) -> Self {
        let rotation = DQuat::from_scaled_axis(velocity.angular * time);
        BodyPose {
            position: self.position + velocity.linear * time,
            orientation: (rotation * self.orientation).normalize(),
        }
    }

    /// World coordinates of a point of the body.
    pub fn to_world(&self, local: DVec3) -> DVec3 {
        self.position + self.orientation * local
    }

    /// Coordinates in the body of a point given in world ones.
    pub fn to_local(&self, world: DVec3) -> DVec3 {
        self.orientation.conjugate() * (world - self.position)
    }
}

/// Inverse mass of a body in world axes, zero along those it is locked in; its inertia is one about
/// those that it cannot rotate about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorldMass {
    pub(crate) inertia: DMat3,
    pub(crate) inverse_mass: DVec3,
    pub(crate) inverse_inertia: DMat3,
}

impl WorldMass {
    pub(crate) fn new(body: &BodyProperties, orientation: DQuat) -> Self {
        let axes = DMat3::from_quat(orientation);
        let turned = |d: DVec3| axes * DMat3::from_diagonal(d) * axes.transpose();
        let ones = DVec3::ONE;
        let (inertia, inverse_inertia) = if body.free_rotation == ones {
            (turned(body.moments), turned(body.moments.recip()))
        } else {
            let mask = DMat3::from_diagonal(body.free_rotation);
            let locked = DMat3::from_diagonal(ones - body.free_rotation);
            let inertia = mask * turned(body.moments) * mask + locked;
            (inertia, mask * inertia.inverse() * mask)
        };
        WorldMass {
            inertia,
            inverse_mass: body.free_translation / body.mass,
            inverse_inertia,
        }
    }

    /// `M⁻¹ p`.
    #[inline]
    pub(crate) fn velocity_of(&self, impulse: Spatial) -> Spatial {
        Spatial::new(
            self.inverse_mass * impulse.linear,
            self.inverse_inertia * impulse.angular,
        )
    }
}
