//! Errors as Python's users expect them.

use std::io;

use esker::world::InterventionError;
use esker::{Error, measure, picture, problem};
use pyo3::create_exception;
use pyo3::exceptions::{
    PyFileExistsError, PyFileNotFoundError, PyKeyError, PyOSError, PyRuntimeError, PyValueError,
};
use pyo3::prelude::*;

create_exception!(
    esker,
    SimulationError,
    PyRuntimeError,
    "A simulation, a recording or a checkpoint that cannot go on."
);

/// An error of the library.
pub fn of_library(error: Error) -> PyErr {
    let words = error.to_string();
    match error {
        Error::Scene(_) | Error::Build(_) => PyValueError::new_err(words),
        Error::Exists { .. } => {
            PyFileExistsError::new_err(format!("{words}; overwrite=True replaces its results"))
        }
        Error::NotResults { .. } => PyFileExistsError::new_err(words),
        Error::NoFolder { .. } => PyFileNotFoundError::new_err(words),
        Error::InUse { .. } => PyOSError::new_err(words),
        Error::File { source, .. } => io::Error::new(source.kind(), words).into(),
        _ => SimulationError::new_err(words),
    }
}

/// An error of a recording.
pub fn of_record(error: esker::record::RecordError) -> PyErr {
    let words = error.to_string();
    match error {
        esker::record::RecordError::Open { source, .. } => {
            io::Error::new(source.kind(), words).into()
        }
        _ => SimulationError::new_err(words),
    }
}

/// An error of a change from outside.
pub fn of_intervention(error: InterventionError) -> PyErr {
    let words = error.to_string();
    match error {
        InterventionError::NoGrain(_) => PyKeyError::new_err(words),
        _ => PyValueError::new_err(words),
    }
}

/// An error of a measure.
pub fn of_measure(error: measure::MeasureError) -> PyErr {
    match error {
        measure::MeasureError::Record(error) => of_record(error),
        error => PyValueError::new_err(error.to_string()),
    }
}

/// An error of a picture.
pub fn of_picture(error: picture::PictureError) -> PyErr {
    match error {
        picture::PictureError::Record(error) => of_record(error),
        error => PyValueError::new_err(error.to_string()),
    }
}

/// An error of a problem file.
pub fn of_problem(error: problem::ProblemError) -> PyErr {
    let words = error.to_string();
    match error {
        problem::ProblemError::File { source, .. } => io::Error::new(source.kind(), words).into(),
        _ => PyValueError::new_err(words),
    }
}
