//! Convex polyhedra.

use glam::DVec3;
use thiserror::Error;

/// A convex polyhedron about its centre of mass, in its principal axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Polyhedron {
    vertices: Vec<DVec3>,
}

/// Points or a surface that bound no convex body.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum HullError {
    /// All points lie in one plane.
    #[error("the points lie in one plane: the polyhedron has no volume")]
    Flat,
}

impl Polyhedron {
    pub(crate) fn mass_properties(&self) -> super::MassProperties {
        super::MassProperties {
            volume: 0.0,
            inertia_per_mass: DVec3::ZERO,
        }
    }

    pub(crate) fn bounding_radius(&self) -> f64 {
        self.vertices.iter().map(|v| v.length()).fold(0.0, f64::max)
    }
}
