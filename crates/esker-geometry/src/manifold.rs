//! Where two bodies, or a body and a wall, are near each other.

use glam::DVec3;

/// One point of contact between shapes `a` and `b`.
///
/// With `n` the normal and `g` the gap, the surfaces are at `point − g n/2` (of `a`) and
/// `point + g n/2` (of `b`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactPoint {
    /// Midway between the two surfaces (m).
    pub point: DVec3,
    /// Unit vector from `a` to `b`.
    pub normal: DVec3,
    /// Distance of the surfaces along the normal (m); negative where they overlap.
    pub gap: f64,
    /// Stable name of the point within the pair: the same while the contact lasts.
    pub feature: u32,
    /// What the contact law needs to know of the two surfaces.
    pub conformity: Conformity,
}

/// How closely two surfaces fit where they touch: the geometry in a contact's stiffness.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Conformity {
    /// Curved surfaces touch in a point that grows to an ellipse: `f = (4/3) E* √R Φ δ^(3/2)`.
    Curved {
        /// Geometric mean of the principal radii of relative curvature, `R = (κ₁ κ₂)^(-1/2)` (m).
        radius: f64,
        /// Factor `Φ` of the ellipse's eccentricity; 1 where both curvatures are equal.
        ellipse_factor: f64,
    },
    /// Flat faces, edges and corners: `f = E* ℓ δ`, for each point of the manifold by itself, so
    /// that forces stay continuous when points come and go.
    Flat {
        /// Length `ℓ` (m): half the effective radius of the spheres of equal volume.
        length: f64,
    },
}

/// Second derivatives of the contact geometry of two bodies that move on with constant velocity
/// and angular velocity.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ContactRates {
    /// `d²gap/dt²` (m/s²).
    pub normal: f64,
    /// Rate of the relative velocity in the contact plane that the moving contact point brings
    /// (m/s²).
    pub tangential: DVec3,
}

/// Motion of a rigid body: velocity of its centre of mass and angular velocity, world axes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RigidMotion {
    /// Velocity (m/s).
    pub velocity: DVec3,
    /// Angular velocity (rad/s).
    pub angular_velocity: DVec3,
}
