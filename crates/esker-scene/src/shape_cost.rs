//! What contacts of grains cost that are no spheres, for estimates.
//!
//! Measured on beds of 1,100 to 3,400 grains of one size in a box, 350 steps of 10 substeps from a
//! lattice to rest, one thread, in units of the time that a contact of spheres takes per sweep in
//! such a bed.

use esker_geometry::BodyShape;
use esker_world::definition::{ShapeUse, WorldDef};

/// Contacts of one kind of grains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ContactCost {
    /// How many there are per grain in a bed.
    pub(crate) per_grain: f64,
    /// Time of one in a sweep.
    sweep: f64,
    /// Time of one in the rest of a step, the search for it above all.
    step: f64,
}

impl ContactCost {
    /// Of spheres: what a step needs besides is in the time per sweep.
    const SPHERE: Self = Self::new(3.0, 1.0, 0.0);

    const fn new(per_grain: f64, sweep: f64, step: f64) -> Self {
        ContactCost {
            per_grain,
            sweep,
            step,
        }
    }

    /// Of grains with a shape of the world's list, or of spheres.
    pub(crate) fn of(world: &WorldDef, shape: Option<&ShapeUse>) -> Self {
        match shape.map(|used| &world.shapes[used.shape]) {
            None | Some(BodyShape::Sphere { .. }) => Self::SPHERE,
            Some(BodyShape::Ellipsoid { .. }) => Self::new(3.4, 5.9, 140.0),
            Some(BodyShape::Capsule { .. }) => Self::new(3.4, 5.3, 69.0),
            Some(BodyShape::Clump(_)) => Self::new(4.6, 6.8, 89.0),
            Some(BodyShape::Box { .. }) => Self::new(5.3, 7.8, 134.0),
            Some(BodyShape::Cylinder { .. }) => Self::new(4.6, 5.1, 540.0),
            // Grains have neither compounds nor meshes.
            Some(BodyShape::Polyhedron(_) | BodyShape::Compound(_) | BodyShape::Mesh(_)) => {
                Self::new(7.2, 2.9, 78.0)
            }
        }
    }

    /// Time of all contacts of a grain in a step of so many sweeps.
    pub(crate) fn of_step(&self, sweeps: f64) -> f64 {
        self.per_grain * (sweeps * self.sweep + self.step)
    }
}
