//! Walls, and bodies of their own, by name.

use numpy::PyArray1;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;

use crate::conversion::{to_array, to_vector};
use crate::simulation::{Simulation, State};

type Vector<'py> = PyResult<Bound<'py, PyArray1<f64>>>;

/// The place of a name; tells the names that there are where it is none.
pub(crate) fn find(names: &[String], what: &str, name: &str) -> PyResult<usize> {
    names.iter().position(|known| known == name).ok_or_else(|| {
        let known = names.join(", ");
        PyKeyError::new_err(format!("there is no {what} \"{name}\"; there are: {known}"))
    })
}

/// The walls of a simulation, by name.
#[pyclass(frozen, mapping, module = "esker")]
pub struct Walls(pub Py<Simulation>);

#[pymethods]
impl Walls {
    fn keys(&self) -> PyResult<Vec<String>> {
        let names = |state: &mut State| {
            let walls = state.world().walls().iter();
            Ok(walls.map(|wall| wall.name.clone()).collect())
        };
        self.0.get().with(names)
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(self.keys()?.len())
    }

    fn __contains__(&self, name: &str) -> PyResult<bool> {
        Ok(self.keys()?.iter().any(|known| known == name))
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.keys()?.into_pyobject(py)?.try_iter()?.into_any())
    }

    fn __getitem__(&self, py: Python<'_>, name: &str) -> PyResult<Wall> {
        Ok(Wall {
            wall: find(&self.keys()?, "wall", name)?,
            simulation: self.0.clone_ref(py),
        })
    }
}

/// A wall. Loads are means over the last step, of grains on the wall.
#[pyclass(frozen, module = "esker")]
pub struct Wall {
    simulation: Py<Simulation>,
    wall: usize,
}

impl Wall {
    fn read<T>(&self, read: impl FnOnce(&esker::world::Wall) -> PyResult<T>) -> PyResult<T> {
        let simulation = self.simulation.get();
        simulation.with(|state| read(&state.world().walls()[self.wall]))
    }
}

#[pymethods]
impl Wall {
    /// Its name.
    #[getter]
    fn name(&self) -> PyResult<String> {
        self.read(|wall| Ok(wall.name.clone()))
    }

    /// Origin of its frame, (3,), m.
    #[getter]
    fn position<'py>(&self, py: Python<'py>) -> Vector<'py> {
        self.read(|wall| to_vector(py, wall.pose.position))
    }

    /// Orientation of its frame, (4,), a unit quaternion (x, y, z, w).
    #[getter]
    fn orientation<'py>(&self, py: Python<'py>) -> Vector<'py> {
        self.read(|wall| to_array(py, wall.pose.orientation.to_array().to_vec()))
    }

    /// Velocity of its origin over the last step, (3,), m/s.
    #[getter]
    fn velocity<'py>(&self, py: Python<'py>) -> Vector<'py> {
        self.read(|wall| to_vector(py, wall.twist.at(wall.pose.position)))
    }

    /// Angular velocity over the last step, (3,), rad/s.
    #[getter]
    fn angular_velocity<'py>(&self, py: Python<'py>) -> Vector<'py> {
        self.read(|wall| to_vector(py, wall.twist.angular_velocity))
    }

    /// Force of the grains on it, (3,), N.
    #[getter]
    fn force<'py>(&self, py: Python<'py>) -> Vector<'py> {
        self.read(|wall| to_vector(py, wall.load.force))
    }

    /// Torque of the grains on it about the origin of its frame, (3,), N m.
    #[getter]
    fn torque<'py>(&self, py: Python<'py>) -> Vector<'py> {
        self.read(|wall| to_vector(py, wall.load.torque))
    }

    /// Power that its drive puts into the grains, W.
    #[getter]
    fn power(&self) -> PyResult<f64> {
        self.read(|wall| Ok(wall.load.power))
    }

    /// Lets a callable lead the wall: `drive(time)` returns its displacement, (3,), m, or a pair
    /// of that and a rotation vector about its origin, rad, both relative to where the scene has
    /// it at time zero. It is called with the end of every step, and the wall goes there in that
    /// step. None leaves the wall where it is.
    fn drive(&self, py: Python<'_>, drive: Option<Py<PyAny>>) -> PyResult<()> {
        self.simulation.get().set_drive(py, self.wall, drive)
    }

    fn __repr__(&self) -> PyResult<String> {
        self.read(|wall| Ok(format!("<Wall {}>", wall.name)))
    }
}

/// Bodies of their own of a simulation, by name.
#[pyclass(frozen, mapping, module = "esker")]
pub struct Bodies(pub Py<Simulation>);

#[pymethods]
impl Bodies {
    fn keys(&self) -> PyResult<Vec<String>> {
        let names = |state: &mut State| {
            let bodies = state.world().bodies().iter();
            Ok(bodies.map(|body| body.name.clone()).collect())
        };
        self.0.get().with(names)
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(self.keys()?.len())
    }

    fn __contains__(&self, name: &str) -> PyResult<bool> {
        Ok(self.keys()?.iter().any(|known| known == name))
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.keys()?.into_pyobject(py)?.try_iter()?.into_any())
    }

    fn __getitem__(&self, py: Python<'_>, name: &str) -> PyResult<Body> {
        Ok(Body {
            body: find(&self.keys()?, "body", name)?,
            simulation: self.0.clone_ref(py),
        })
    }
}

/// A body of its own. Loads are means over the last step, of its contacts.
#[pyclass(frozen, module = "esker")]
pub struct Body {
    simulation: Py<Simulation>,
    body: usize,
}

impl Body {
    fn read<T>(&self, read: impl FnOnce(&State) -> PyResult<T>) -> PyResult<T> {
        self.simulation.get().with(|state| read(state))
    }
}

#[pymethods]
impl Body {
    /// Its name.
    #[getter]
    fn name(&self) -> PyResult<String> {
        self.read(|state| Ok(state.world().bodies()[self.body].name.clone()))
    }

    /// Origin of its frame, (3,), m.
    #[getter]
    fn position<'py>(&self, py: Python<'py>) -> Vector<'py> {
        self.read(|state| to_vector(py, state.world().body_pose(self.body).position))
    }

    /// Orientation of its frame, (4,), a unit quaternion (x, y, z, w).
    #[getter]
    fn orientation<'py>(&self, py: Python<'py>) -> Vector<'py> {
        self.read(|state| {
            let pose = state.world().body_pose(self.body);
            to_array(py, pose.orientation.to_array().to_vec())
        })
    }

    /// Velocity of its centre of mass, (3,), m/s.
    #[getter]
    fn velocity<'py>(&self, py: Python<'py>) -> Vector<'py> {
        self.read(|state| to_vector(py, state.world().body_velocity(self.body)[0]))
    }

    /// Angular velocity, (3,), rad/s.
    #[getter]
    fn angular_velocity<'py>(&self, py: Python<'py>) -> Vector<'py> {
        self.read(|state| to_vector(py, state.world().body_velocity(self.body)[1]))
    }

    /// Force of its contacts on it, (3,), N.
    #[getter]
    fn force<'py>(&self, py: Python<'py>) -> Vector<'py> {
        self.read(|state| to_vector(py, state.world().bodies()[self.body].load.force))
    }

    /// Torque of its contacts about the origin of its frame, (3,), N m.
    #[getter]
    fn torque<'py>(&self, py: Python<'py>) -> Vector<'py> {
        self.read(|state| to_vector(py, state.world().bodies()[self.body].load.torque))
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(format!("<Body {}>", self.name()?))
    }
}
