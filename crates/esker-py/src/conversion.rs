//! From Python's values to ours, with the exceptions that Python's users expect.

use esker::world::GrainId;
use glam::DVec3;
use numpy::ndarray::Array2;
use numpy::{
    Element, IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArrayDyn,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Whatever numpy takes for an array of this type, as one.
fn array<'py, T: Element>(
    value: &Bound<'py, PyAny>,
    (what, kind): (&str, &str),
) -> PyResult<PyReadonlyArrayDyn<'py, T>> {
    let numpy = value.py().import("numpy")?;
    let array = numpy
        .call_method1("asarray", (value,))
        .and_then(|array| {
            let kwargs = PyDict::new(value.py());
            // Parts of complex numbers would be lost; whole numbers lose nothing.
            let is_whole = kind == "uint64";
            kwargs.set_item("casting", if is_whole { "unsafe" } else { "same_kind" })?;
            array.call_method("astype", (kind,), Some(&kwargs))
        })
        .map_err(|error| PyTypeError::new_err(format!("{what}: {}", error.value(value.py()))))?;
    Ok(array.cast::<numpy::PyArrayDyn<T>>()?.try_readonly()?)
}

/// Vectors of so many grains: one for each, or one for all.
pub fn vectors(value: &Bound<'_, PyAny>, what: &str, count: usize) -> PyResult<Vec<DVec3>> {
    let array = array::<f64>(value, (what, "float64"))?;
    let view = array.as_array();
    match *array.shape() {
        [3] => Ok(vec![DVec3::new(view[[0]], view[[1]], view[[2]]); count]),
        [n, 3] if n == count => Ok((0..n)
            .map(|i| DVec3::new(view[[i, 0]], view[[i, 1]], view[[i, 2]]))
            .collect()),
        _ => Err(PyTypeError::new_err(format!(
            "{what} must have the shape ({count}, 3) or (3,), not {:?}",
            array.shape()
        ))),
    }
}

/// Vectors, as many as there are.
pub fn any_vectors(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<DVec3>> {
    let count = match array::<f64>(value, (what, "float64"))?.shape() {
        [n, 3] => *n,
        _ => 1,
    };
    vectors(value, what, count)
}

/// One vector.
pub fn vector(value: &Bound<'_, PyAny>, what: &str) -> PyResult<DVec3> {
    let array = array::<f64>(value, (what, "float64"))?;
    match *array.shape() {
        [3] => Ok(vectors(value, what, 1)?[0]),
        _ => Err(PyTypeError::new_err(format!(
            "{what} must be three numbers, not of shape {:?}",
            array.shape()
        ))),
    }
}

/// Numbers of so many grains: one for each, or one for all.
pub fn numbers(value: &Bound<'_, PyAny>, what: &str, count: usize) -> PyResult<Vec<f64>> {
    let array = array::<f64>(value, (what, "float64"))?;
    match *array.shape() {
        [] => Ok(vec![array.as_array().iter().copied().sum(); count]),
        [n] if n == count => Ok(array.as_array().iter().copied().collect()),
        _ => Err(PyTypeError::new_err(format!(
            "{what} must have the shape ({count},), or be one number, not {:?}",
            array.shape()
        ))),
    }
}

/// Ids of grains: one or several.
pub fn grain_ids(value: &Bound<'_, PyAny>) -> PyResult<Vec<GrainId>> {
    let py = value.py();
    let numbers = py.import("numpy")?.call_method1("asarray", (value,))?;
    let is_empty = numbers.getattr("size")?.extract::<usize>()? == 0;
    let kind: String = numbers.getattr("dtype")?.getattr("kind")?.extract()?;
    // Numbers with a fraction are no ids, whatever numpy would make of them.
    if !is_empty && kind != "u" && kind != "i" {
        return Err(PyTypeError::new_err("ids must be whole numbers"));
    }
    if !is_empty && numbers.call_method0("min")?.lt(0)? {
        return Err(PyKeyError::new_err("ids are never negative"));
    }
    let array = array::<u64>(&numbers, ("ids", "uint64"))?;
    match array.shape() {
        [] | [_] => Ok(array
            .as_array()
            .iter()
            .map(|&id| GrainId::from_u64(id))
            .collect()),
        shape => Err(PyTypeError::new_err(format!(
            "ids must be one id or a list of them, not of shape {shape:?}"
        ))),
    }
}

/// Threads to use where a caller asks for so many: never more than cores, which would only wait
/// for each other.
pub fn most_threads(threads: Option<usize>) -> PyResult<usize> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    match threads {
        Some(0) => Err(PyValueError::new_err("threads must be at least 1")),
        threads => Ok(threads.map_or(cores, |threads| threads.min(cores))),
    }
}

/// A read-only array of numbers.
pub fn to_array<T: Element>(py: Python<'_>, values: Vec<T>) -> PyResult<Bound<'_, PyArray1<T>>> {
    let array = values.into_pyarray(py);
    array.try_readwrite()?.make_nonwriteable();
    Ok(array)
}

/// A read-only array with `N` numbers in each row.
pub fn to_rows<T: Element, const N: usize>(
    py: Python<'_>,
    rows: impl ExactSizeIterator<Item = [T; N]>,
) -> PyResult<Bound<'_, PyArray2<T>>> {
    let count = rows.len();
    let mut values = Vec::with_capacity(count * N);
    rows.for_each(|row| values.extend(row));
    let table = Array2::from_shape_vec((count, N), values)
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    let array = table.into_pyarray(py);
    array.try_readwrite()?.make_nonwriteable();
    Ok(array)
}

/// A vector as a read-only array.
pub fn to_vector(py: Python<'_>, vector: DVec3) -> PyResult<Bound<'_, PyArray1<f64>>> {
    to_array(py, vector.to_array().to_vec())
}
