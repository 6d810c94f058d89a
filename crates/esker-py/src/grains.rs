//! Grains and contacts as arrays.

use pyo3::prelude::*;

use crate::arrays::{ContactField, Field};
use crate::simulation::Simulation;

/// The grains of a simulation as read-only arrays in the order of ids. An array shows the state
/// that it was taken from, also after later steps.
#[pyclass(frozen, module = "esker")]
pub struct Grains(pub Py<Simulation>);

impl Grains {
    fn array(&self, py: Python<'_>, field: Field) -> PyResult<Py<PyAny>> {
        self.0.get().with(|state| {
            let world = state.simulation.world();
            state.arrays.of_grains(py, world, field)
        })
    }
}

#[pymethods]
impl Grains {
    fn __len__(&self) -> PyResult<usize> {
        let simulation = self.0.get();
        simulation.with(|state| Ok(state.world().grains().count()))
    }

    /// Ids, (n,): never given to another grain.
    #[getter]
    fn id(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.array(py, Field::Id)
    }

    /// Centres of mass, (n, 3), m.
    #[getter]
    fn position(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.array(py, Field::Position)
    }

    /// Orientations, (n, 4), unit quaternions (x, y, z, w).
    #[getter]
    fn orientation(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.array(py, Field::Orientation)
    }

    /// Velocities, (n, 3), m/s.
    #[getter]
    fn velocity(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.array(py, Field::Velocity)
    }

    /// Angular velocities, (n, 3), rad/s.
    #[getter]
    fn angular_velocity(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.array(py, Field::AngularVelocity)
    }

    /// Radii, (n,), m; of spheres of equal volume, where grains are none.
    #[getter]
    fn radius(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.array(py, Field::Radius)
    }

    /// Masses, (n,), kg.
    #[getter]
    fn mass(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.array(py, Field::Mass)
    }

    /// Indices into Simulation.materials, (n,).
    #[getter]
    fn material(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.array(py, Field::Material)
    }

    /// Numbers of shapes, (n,): 0 for a sphere.
    #[getter]
    fn shape(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.array(py, Field::Shape)
    }
}

/// Contacts of the last step that touch or carry load, as read-only arrays.
#[pyclass(frozen, module = "esker")]
pub struct Contacts(pub Py<Simulation>);

impl Contacts {
    fn array(&self, py: Python<'_>, field: ContactField) -> PyResult<Py<PyAny>> {
        self.0.get().with(|state| {
            let world = state.simulation.world();
            state.arrays.of_contacts(py, world, field)
        })
    }
}

#[pymethods]
impl Contacts {
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.array(py, ContactField::Grain)?.bind(py).len()
    }

    /// Ids of the grains, (n,).
    #[getter]
    fn grain(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.array(py, ContactField::Grain)
    }

    /// Ids of the grains that they touch, (n,); -1 at walls.
    #[getter]
    fn partner(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.array(py, ContactField::Partner)
    }

    /// Indices of the walls, and of bodies after them, that they touch, (n,); -1 between grains.
    #[getter]
    fn wall(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.array(py, ContactField::Wall)
    }

    /// Contact points, (n, 3), m.
    #[getter]
    fn point(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.array(py, ContactField::Point)
    }

    /// Unit normals from the grain to its partner, (n, 3).
    #[getter]
    fn normal(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.array(py, ContactField::Normal)
    }

    /// Overlaps at the start of the step, (n,), m; negative for a gap.
    #[getter]
    fn overlap(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.array(py, ContactField::Overlap)
    }

    /// Normal forces, (n,), N.
    #[getter]
    fn normal_force(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.array(py, ContactField::NormalForce)
    }

    /// Friction forces on the partner, (n, 3), N.
    #[getter]
    fn friction_force(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.array(py, ContactField::FrictionForce)
    }
}
