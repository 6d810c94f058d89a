//! Joints and drives, by name.

use esker::machine::{Coordinate, JointCoordinate};
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::bodies::find;
use crate::conversion::to_vector;
use crate::simulation::{Simulation, State};

type Vector<'py> = PyResult<Bound<'py, PyArray1<f64>>>;

/// The joints of a simulation, by name.
#[pyclass(frozen, mapping, module = "esker")]
pub struct Joints(pub Py<Simulation>);

#[pymethods]
impl Joints {
    fn keys(&self) -> PyResult<Vec<String>> {
        let names = |state: &mut State| {
            let names = state.world().machines().joint_names();
            Ok(names.map(str::to_owned).collect())
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

    fn __getitem__(&self, py: Python<'_>, name: &str) -> PyResult<Joint> {
        Ok(Joint {
            joint: find(&self.keys()?, "joint", name)?,
            simulation: self.0.clone_ref(py),
        })
    }
}

/// A joint. Impulses are sums since the start: their difference over a time is a mean force.
#[pyclass(frozen, module = "esker")]
pub struct Joint {
    simulation: Py<Simulation>,
    joint: usize,
}

impl Joint {
    fn read<T>(&self, read: impl FnOnce(&State) -> PyResult<T>) -> PyResult<T> {
        self.simulation.get().with(|state| read(state))
    }

    fn coordinate(&self, coordinate: Coordinate) -> PyResult<Option<f64>> {
        let at = JointCoordinate {
            joint: self.joint,
            coordinate,
        };
        self.read(|state| Ok(state.world().joint_coordinate(at)))
    }
}

#[pymethods]
impl Joint {
    /// Its name.
    #[getter]
    fn name(&self) -> PyResult<String> {
        let nth = |state: &State| {
            let name = state.world().machines().joint_names().nth(self.joint);
            Ok(name.unwrap_or_default().to_owned())
        };
        self.read(nth)
    }

    /// Angle about its axis, rad, with all its revolutions; None where it has none.
    #[getter]
    fn angle(&self) -> PyResult<Option<f64>> {
        self.coordinate(Coordinate::Angle)
    }

    /// Displacement along its axis, m; None where it has none.
    #[getter]
    fn slide(&self) -> PyResult<Option<f64>> {
        self.coordinate(Coordinate::Slide)
    }

    /// How far its anchors are apart, m.
    #[getter]
    fn gap(&self) -> PyResult<f64> {
        self.read(|state| Ok(state.world().joint(self.joint).violation.distance))
    }

    /// Impulse of the joint on its second body since the start, without drives, (3,), N s.
    #[getter]
    fn impulse<'py>(&self, py: Python<'py>) -> Vector<'py> {
        self.read(|state| to_vector(py, state.world().joint(self.joint).impulse.linear))
    }

    /// The same of torques about the anchor, (3,), N m s.
    #[getter]
    fn torque_impulse<'py>(&self, py: Python<'py>) -> Vector<'py> {
        self.read(|state| to_vector(py, state.world().joint(self.joint).impulse.angular))
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(format!("<Joint {}>", self.name()?))
    }
}

/// The drives of a simulation, by name.
#[pyclass(frozen, mapping, module = "esker")]
pub struct Drives(pub Py<Simulation>);

#[pymethods]
impl Drives {
    fn keys(&self) -> PyResult<Vec<String>> {
        let names = |state: &mut State| {
            let names = state.world().machines().drive_names();
            Ok(names.map(str::to_owned).collect())
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

    fn __getitem__(&self, py: Python<'_>, name: &str) -> PyResult<Drive> {
        Ok(Drive {
            drive: find(&self.keys()?, "drive", name)?,
            simulation: self.0.clone_ref(py),
        })
    }
}

/// A drive of a joint. Impulse and work are sums since the start.
#[pyclass(frozen, module = "esker")]
pub struct Drive {
    simulation: Py<Simulation>,
    drive: usize,
}

impl Drive {
    fn read<T>(&self, read: impl FnOnce(&mut State) -> PyResult<T>) -> PyResult<T> {
        self.simulation.get().with(read)
    }
}

#[pymethods]
impl Drive {
    /// Its name.
    #[getter]
    fn name(&self) -> PyResult<String> {
        let nth = |state: &mut State| {
            let name = state.world().machines().drive_names().nth(self.drive);
            Ok(name.unwrap_or_default().to_owned())
        };
        self.read(nth)
    }

    /// Sets the velocity, position or force that it is to have from the next step on. Its scene
    /// must say `external`, with the value that it starts with.
    fn set(&self, value: f64) -> PyResult<()> {
        if !value.is_finite() {
            return Err(PyValueError::new_err("value: must be finite"));
        }
        let name = self.name()?;
        self.read(|state| {
            let world = state.simulation.world_mut();
            if world.set_drive(self.drive, value) {
                return Ok(());
            }
            Err(PyValueError::new_err(format!(
                "drive \"{name}\" follows the value, table or sine of its scene; write \
                 `external = 0` there to set it while it runs"
            )))
        })
    }

    /// Impulse of its force or torque since the start, N s or N m s.
    #[getter]
    fn impulse(&self) -> PyResult<f64> {
        self.read(|state| Ok(state.world().drive(self.drive).impulse))
    }

    /// Work that it did since the start, J.
    #[getter]
    fn work(&self) -> PyResult<f64> {
        self.read(|state| Ok(state.world().drive(self.drive).work))
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(format!("<Drive {}>", self.name()?))
    }
}
