//! Shapes of rigid bodies: grains and parts of machines that are not (only) spheres.
//!
//! A body's frame has its origin at the centre of mass of the homogeneous shape and its axes along
//! the principal axes of inertia, so that mass properties are three numbers. A shape is shared by
//! all bodies that have it; each body scales it by a factor of its own.

use crate::Pose;
use glam::{DMat3, DVec3};
use std::sync::Arc;

mod clump;
mod hull;
mod polyhedron;

pub use clump::{Clump, ClumpError};
pub use polyhedron::{HullError, Polyhedron, PolyhedronEdge, PolyhedronFace};

/// The shape of a rigid body in its own frame. Lengths in m.
#[derive(Clone, Debug, PartialEq)]
pub enum BodyShape {
    /// A ball about the origin.
    Sphere {
        /// Radius (m).
        radius: f64,
    },
    /// An ellipsoid with its axes along x, y, z.
    Ellipsoid {
        /// Half of each axis (m).
        semi_axes: DVec3,
    },
    /// All points within `radius` of a segment of the z axis.
    Capsule {
        /// Radius (m).
        radius: f64,
        /// Half the length of the segment between the centres of the two end caps (m).
        half_length: f64,
    },
    /// A circular cylinder about the z axis.
    Cylinder {
        /// Radius (m).
        radius: f64,
        /// Half of the length (m).
        half_length: f64,
    },
    /// A cuboid.
    Box {
        /// Half of each edge (m).
        half_edges: DVec3,
    },
    /// A convex polyhedron.
    Polyhedron(Arc<Polyhedron>),
    /// Spheres that move as one; they may overlap.
    Clump(Arc<Clump>),
}

/// Volume, mean square extents and bounds of a shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MassProperties {
    /// Volume (m³).
    pub volume: f64,
    /// Principal moments of inertia per mass (m²), about the body's axes.
    pub inertia_per_mass: DVec3,
}

/// A body's shape where it is: the argument of every pair function.
#[derive(Clone, Copy, Debug)]
pub struct PlacedShape<'a> {
    /// The shape, in its own frame.
    pub shape: &'a BodyShape,
    /// Factor on all of its lengths.
    pub scale: f64,
    /// Centre of mass (m).
    pub position: DVec3,
    /// Body axes in world axes (columns).
    pub rotation: DMat3,
}

impl<'a> PlacedShape<'a> {
    /// The shape at a pose.
    pub fn new(shape: &'a BodyShape, scale: f64, pose: Pose) -> Self {
        Self {
            shape,
            scale,
            position: pose.position,
            rotation: DMat3::from_quat(pose.orientation),
        }
    }
}
