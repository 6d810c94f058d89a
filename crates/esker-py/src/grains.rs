//! Grains and contacts as arrays.

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;

use crate::arrays::Field;
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
        simulation.with(|state| Ok(state.world().grain_count()))
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
    fn array<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let arrays = self.0.get().with(|state| {
            let world = state.simulation.world();
            state.arrays.of_contacts(py, world)
        })?;
        let found = arrays.get_item(name)?;
        found.ok_or_else(|| PyKeyError::new_err(name.to_owned()))
    }
}

#[pymethods]
impl Contacts {
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.array(py, "grain")?.len()
    }

    /// Ids of the grains, (n,).
    #[getter]
    fn grain<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.array(py, "grain")
    }

    /// Ids of the grains that they touch, (n,); -1 at walls.
    #[getter]
    fn partner<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.array(py, "partner")
    }

    /// Indices of the walls, and of bodies after them, that they touch, (n,); -1 between grains.
    #[getter]
    fn wall<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.array(py, "wall")
    }

    /// Contact points, (n, 3), m.
    #[getter]
    fn point<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.array(py, "point")
    }

    /// Unit normals from the grain to its partner, (n, 3).
    #[getter]
    fn normal<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.array(py, "normal")
    }

    /// Overlaps at the start of the step, (n,), m; negative for a gap.
    #[getter]
    fn overlap<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.array(py, "overlap")
    }

    /// Normal forces, (n,), N.
    #[getter]
    fn normal_force<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.array(py, "normal_force")
    }

    /// Friction forces on the partner, (n, 3), N.
    #[getter]
    fn friction_force<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.array(py, "friction_force")
    }
}
