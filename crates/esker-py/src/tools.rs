//! Contact problems, experiments and the command line.

use std::path::PathBuf;

use esker::contact::{FrictionLaw, Measure};
use esker::problem::with_problem;
use esker::solver::registry::{compare, registry};
use esker::solver::{SolveReport, Stopping};
use esker::study::runner::{self, Options};
use esker::study::{self, Size};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::conversion::to_array;
use crate::error::of_problem;

/// Solves a contact problem with solvers of these names; one dict for each. `["all"]` is all.
#[pyfunction]
pub fn solve<'py>(
    py: Python<'py>,
    path: PathBuf,
    solvers: Vec<String>,
    limits: (f64, f64, usize),
    law: &str,
) -> PyResult<Bound<'py, PyList>> {
    let (tolerance, time_limit, iterations) = limits;
    if !(tolerance > 0.0 && time_limit > 0.0) {
        let words = "tolerance and time_limit must be positive";
        return Err(PyValueError::new_err(words));
    }
    let stop = Stopping {
        law: match law {
            "coulomb" => FrictionLaw::Coulomb,
            "associated" => FrictionLaw::Associated,
            _ => {
                let words = format!("\"{law}\" is no law: there are coulomb and associated");
                return Err(PyValueError::new_err(words));
            }
        },
        measure: Measure::NaturalMap,
        tolerance,
        iterations,
        seconds: Some(time_limit),
    };
    let reports = py.detach(|| {
        let names: Vec<&str> = match solvers.iter().any(|name| name == "all") {
            true => registry().iter().map(|entry| entry.name).collect(),
            false => solvers.iter().map(String::as_str).collect(),
        };
        with_problem(&path, |problem| {
            compare(&names, problem, &stop)
                .map_err(|error| Failure(PyValueError::new_err(error.to_string())))
        })
    });
    let reports = reports.map_err(|Failure(error)| error)?;
    let list = PyList::empty(py);
    for report in &reports {
        list.append(solve_report(py, report)?)?;
    }
    Ok(list)
}

/// An exception that is on its way to Python.
struct Failure(PyErr);

impl From<esker::problem::ProblemError> for Failure {
    fn from(error: esker::problem::ProblemError) -> Self {
        Failure(of_problem(error))
    }
}

fn solve_report<'py>(py: Python<'py>, report: &SolveReport) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let r = &report.residuals;
    dict.set_item("solver", report.solver)?;
    dict.set_item("status", report.status.word())?;
    dict.set_item("iterations", report.iterations)?;
    dict.set_item("products", report.products)?;
    dict.set_item("seconds", report.seconds)?;
    for (name, value) in [
        ("natural_map", r.natural_map),
        ("merit", r.merit),
        ("scaled", r.scaled),
        ("cone_violation", r.cone_violation),
        ("penetration", r.penetration),
        ("energy", r.energy),
    ] {
        dict.set_item(name, value)?;
    }
    let history = PyDict::new(py);
    let points = || report.history.iter();
    let products = points().map(|p| p.products as u64).collect();
    history.set_item("products", to_array::<u64>(py, products)?)?;
    let seconds = points().map(|p| p.seconds).collect();
    history.set_item("seconds", to_array::<f64>(py, seconds)?)?;
    let residuals = points().map(|p| p.residual).collect();
    history.set_item("residual", to_array::<f64>(py, residuals)?)?;
    dict.set_item("history", history)?;
    dict.set_item("notes", report.notes.clone())?;
    Ok(dict)
}

/// All experiments, as JSON.
#[pyfunction]
pub fn experiments() -> PyResult<String> {
    let all: Vec<_> = study::registry::ALL.iter().map(|e| e.about()).collect();
    serde_json::to_string(&all).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// Runs an experiment; its verdict as JSON.
#[pyfunction]
pub fn experiment(
    py: Python<'_>,
    name: &str,
    full: bool,
    folder: PathBuf,
    workers: Option<usize>,
) -> PyResult<String> {
    let Some(experiment) = study::registry::find(name) else {
        let all: Vec<&str> = study::registry::ALL
            .iter()
            .map(|e| e.about().name)
            .collect();
        return Err(PyValueError::new_err(format!(
            "there is no experiment \"{name}\"; there are: {}",
            all.join(", ")
        )));
    };
    let size = if full { Size::Full } else { Size::Reduced };
    let mut options = Options::new(folder, size);
    if let Some(workers) = workers {
        options.workers = workers.max(1);
    }
    let finished = py
        .detach(|| {
            let finished = runner::run(experiment, &options, &|_| {})?;
            study::report::write(&options.folder, experiment, &finished)?;
            Ok::<_, study::StudyError>(finished)
        })
        .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    let verdict = serde_json::to_string(&finished.verdict());
    verdict.map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// The program `esker` with these arguments, of which the first is its name; its exit code.
#[pyfunction]
pub fn main(py: Python<'_>, arguments: Vec<String>) -> u8 {
    py.detach(|| esker_cli::main_with(arguments).number())
}
