//! Scenes that are known to be right.

use std::path::PathBuf;

use esker::LoadedScene;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A scene that was checked, with its grains placed.
#[pyclass(frozen, module = "esker")]
pub struct CheckedScene(pub LoadedScene);

#[pymethods]
impl CheckedScene {
    /// Checks a scene given as text; files that it names are in `folder`.
    #[staticmethod]
    fn parse(py: Python<'_>, text: &str, name: &str, folder: PathBuf) -> PyResult<Self> {
        let checked = py.detach(|| LoadedScene::parse(text, name, folder));
        checked
            .map(CheckedScene)
            .map_err(|errors| PyValueError::new_err(errors.to_string()))
    }

    /// Checks a scene file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let checked = py.detach(|| LoadedScene::load(path));
        checked
            .map(CheckedScene)
            .map_err(|errors| PyValueError::new_err(errors.to_string()))
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.0.scene().name
    }

    /// Its text.
    #[getter]
    fn text(&self) -> &str {
        &self.0.scene().text
    }

    /// Simulated time, s.
    #[getter]
    fn duration(&self) -> f64 {
        self.0.scene().run.duration
    }

    /// Time step, s: the scene's, or the one that was chosen.
    #[getter]
    fn step(&self) -> f64 {
        self.0.scene().world.step
    }

    /// Names of materials, by the index that grains carry.
    #[getter]
    fn materials(&self) -> Vec<String> {
        let materials = self.0.scene().world.materials.iter();
        materials.map(|material| material.name.clone()).collect()
    }

    /// What a careful reader would be warned of.
    fn warnings(&self) -> Vec<String> {
        self.0.warnings()
    }
}
