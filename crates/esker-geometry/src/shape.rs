//! The shapes walls are made of, and what a touch of a sphere with one is.

use crate::Aabb;
use crate::mesh::TriangleMesh;
use glam::DVec3;
use std::sync::Arc;
use thiserror::Error;

/// On which side of a closed surface the grains are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The surface is a container around the grains.
    Inside,
    /// The surface bounds a solid that the grains surround.
    Outside,
}

/// A wall in its local frame. Lengths in m.
#[derive(Clone, Debug)]
pub enum WallShape {
    /// `z < 0` is solid, the surface is `z = 0`.
    HalfSpace,
    /// A box about the origin. `Inside`: a container with six faces. `Outside`: a solid block.
    Box {
        /// Half of each edge length (m).
        half_extents: DVec3,
        /// Where the grains are.
        side: Side,
    },
    /// A circular cylinder about the local z axis, from `-length/2` to `+length/2`.
    ///
    /// `Inside` with caps is a closed drum, without them an open tube (a thin shell whose rims
    /// can be touched). `Outside` is a solid, always with caps.
    Cylinder {
        /// Radius (m).
        radius: f64,
        /// Length along the axis (m).
        length: f64,
        /// Where the grains are.
        side: Side,
        /// Whether the ends are closed; only read for `Side::Inside`.
        caps: bool,
    },
    /// A frustum of a cone about the local z axis; either radius may be zero. Sides and caps as
    /// for the cylinder.
    Cone {
        /// Radius at `z = -length/2` (m).
        radius_bottom: f64,
        /// Radius at `z = +length/2` (m).
        radius_top: f64,
        /// Length along the axis (m).
        length: f64,
        /// Where the grains are.
        side: Side,
        /// Whether the ends are closed; only read for `Side::Inside`.
        caps: bool,
    },
    /// A triangulated thin surface; grains can be on either side.
    Mesh(Arc<TriangleMesh>),
}

/// One place where a sphere touches a wall, in the wall's local frame.
///
/// All fields obey `point = centre + (radius - overlap) normal`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Touch {
    /// Unit vector from the sphere to the wall. The wall pushes along `-normal`.
    pub normal: DVec3,
    /// The touched point of the wall's surface (m).
    pub point: DVec3,
    /// Penetration (m), `-gap` when the surfaces do not meet yet.
    pub overlap: f64,
    /// Curvature of the wall (1/m), signed such that the effective radius of the contact is
    /// `1 / (1/r + curvature)`: negative inside a tube, positive on a convex wall, zero on
    /// planes, sharp edges and corners. At least `-0.9/r` (see [`MAX_CONFORMITY`]).
    pub curvature: f64,
    /// Stable name of the touched face, edge or corner, unique within the wall.
    pub feature: u32,
}

/// Bound on how closely a hollow wall can fit a sphere: `curvature ≥ -MAX_CONFORMITY / r`.
///
/// A sphere as wide as its tube has an infinite effective radius, and a wider one a negative
/// one; contact laws need a positive number, so the effective radius ends at ten radii.
pub const MAX_CONFORMITY: f64 = 0.9;

/// A wall whose dimensions make no sense.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum ShapeError {
    /// A length that must be positive and finite is not.
    #[error("{what} of the {shape} must be positive and finite, but is {value} m")]
    NotPositive {
        /// Name of the shape.
        shape: &'static str,
        /// Name of the dimension.
        what: &'static str,
        /// What was given (m).
        value: f64,
    },
    /// A radius that must be finite and not negative is.
    #[error("{what} of the {shape} must be finite and at least zero, but is {value} m")]
    Negative {
        /// Name of the shape.
        shape: &'static str,
        /// Name of the dimension.
        what: &'static str,
        /// What was given (m).
        value: f64,
    },
    /// Both ends of a cone are points.
    #[error("a cone needs at least one radius above zero")]
    NeedleCone,
}

fn positive(shape: &'static str, what: &'static str, value: f64) -> Result<(), ShapeError> {
    if value > 0.0 && value.is_finite() {
        Ok(())
    } else {
        Err(ShapeError::NotPositive { shape, what, value })
    }
}

fn not_negative(shape: &'static str, what: &'static str, value: f64) -> Result<(), ShapeError> {
    if value >= 0.0 && value.is_finite() {
        Ok(())
    } else {
        Err(ShapeError::Negative { shape, what, value })
    }
}

impl WallShape {
    /// Whether a ball, in the wall's local frame, certainly meets no part of the wall: then no
    /// sphere within the ball has a touch. Quick, and false in case of doubt.
    pub fn is_clear_of(&self, centre: DVec3, radius: f64) -> bool {
        let inside = match self {
            Self::HalfSpace => return centre.z > radius,
            Self::Box {
                half_extents,
                side: Side::Inside,
            } => (centre.abs() + radius).cmplt(*half_extents).all(),
            Self::Cylinder {
                radius: wall,
                length,
                side: Side::Inside,
                ..
            } => {
                let within = centre.truncate().length() + radius < *wall;
                within && centre.z.abs() + radius < 0.5 * length
            }
            _ => false,
        };
        let outside = |bounds: Aabb| bounds.distance_squared(centre) > radius * radius;
        inside || self.bounds().is_some_and(outside)
    }

    /// Checks the dimensions. The other methods assume a valid shape: with an invalid one they
    /// return meaningless touches, but do not panic.
    pub fn validate(&self) -> Result<(), ShapeError> {
        match self {
            // A mesh is checked when it is built.
            Self::HalfSpace | Self::Mesh(_) => Ok(()),
            Self::Box { half_extents, .. } => {
                positive("box", "half extent in x", half_extents.x)?;
                positive("box", "half extent in y", half_extents.y)?;
                positive("box", "half extent in z", half_extents.z)
            }
            Self::Cylinder { radius, length, .. } => {
                positive("cylinder", "radius", *radius)?;
                positive("cylinder", "length", *length)
            }
            Self::Cone {
                radius_bottom,
                radius_top,
                length,
                ..
            } => {
                not_negative("cone", "bottom radius", *radius_bottom)?;
                not_negative("cone", "top radius", *radius_top)?;
                positive("cone", "length", *length)?;
                if *radius_bottom == 0.0 && *radius_top == 0.0 {
                    return Err(ShapeError::NeedleCone);
                }
                Ok(())
            }
        }
    }

    /// The local box around the surface; `None` when it is unbounded.
    ///
    /// A sphere whose box grown by the margin does not meet this one has no touch.
    pub fn bounds(&self) -> Option<Aabb> {
        let half = match self {
            Self::HalfSpace => return None,
            Self::Mesh(mesh) => return Some(mesh.bounds()),
            Self::Box { half_extents, .. } => *half_extents,
            Self::Cylinder { radius, length, .. } => DVec3::new(*radius, *radius, 0.5 * length),
            Self::Cone {
                radius_bottom,
                radius_top,
                length,
                ..
            } => {
                let radius = radius_bottom.max(*radius_top);
                DVec3::new(radius, radius, 0.5 * length)
            }
        };
        Some(Aabb::new(-half, half))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_sphere_within_a_clear_ball_touches() {
        let boxed = |side| WallShape::Box {
            half_extents: DVec3::new(1.0, 0.8, 0.6),
            side,
        };
        let tube = |side, caps| WallShape::Cylinder {
            radius: 1.0,
            length: 1.5,
            side,
            caps,
        };
        let shapes = [
            WallShape::HalfSpace,
            boxed(Side::Inside),
            boxed(Side::Outside),
            tube(Side::Inside, true),
            tube(Side::Inside, false),
            tube(Side::Outside, true),
        ];
        let mut state = 1_u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        for shape in shapes {
            let (mut clear, mut touched) = (0, 0);
            for _ in 0..4000 {
                let mut point = || DVec3::new(random(), random(), random()) * 4.0 - 2.0;
                let (centre, direction) = (point(), point().normalize());
                let radius = 0.5 * random();
                // A sphere that touches the ball from within, gap included.
                let (inner, gap) = (0.3 * radius, 0.2 * radius);
                let mut touches = Vec::new();
                let place = centre + direction * (radius - inner - gap);
                shape.touches(place, inner, gap, &mut touches);
                let is_clear = shape.is_clear_of(centre, radius);
                assert!(!is_clear || touches.is_empty(), "{shape:?} at {centre}");
                clear += usize::from(is_clear);
                touched += usize::from(!touches.is_empty());
            }
            assert!(
                clear > 100 && touched > 100,
                "{shape:?}: {clear}, {touched}"
            );
        }
    }

    #[test]
    fn impossible_dimensions_are_named() {
        let flat = WallShape::Box {
            half_extents: DVec3::new(1.0, 0.0, 1.0),
            side: Side::Inside,
        };
        assert_eq!(
            flat.validate().unwrap_err().to_string(),
            "half extent in y of the box must be positive and finite, but is 0 m"
        );
        let cone = |radius_bottom, radius_top| WallShape::Cone {
            radius_bottom,
            radius_top,
            length: 1.0,
            side: Side::Inside,
            caps: false,
        };
        assert_eq!(cone(0.0, 0.0).validate(), Err(ShapeError::NeedleCone));
        assert_eq!(cone(0.0, 1.0).validate(), Ok(()));
        assert!(cone(f64::NAN, 1.0).validate().is_err());
    }
}
