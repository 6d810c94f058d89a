//! Esker in Python: the native half of the package `esker`.
//!
//! What needs the simulation is here, what is convenience is in `python/esker`. Everything that
//! takes time releases the interpreter. A simulation is locked while it works, so that another
//! thread of Python gets an error instead of a crash, and never while it calls Python, so that
//! callbacks may look at it.

mod arrays;
mod bodies;
mod conversion;
mod error;
mod grains;
mod machines;
mod recording;
mod report;
mod scene;
mod simulation;
mod tools;

use pyo3::prelude::*;

/// Sweeps jump about in arrays of many megabytes.
#[global_allocator]
static ALLOCATOR: esker_parallel::HugePages = esker_parallel::HugePages;

/// The native half of the package `esker`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add(
        "SimulationError",
        module.py().get_type::<error::SimulationError>(),
    )?;
    module.add_class::<scene::CheckedScene>()?;
    module.add_class::<simulation::Simulation>()?;
    module.add_class::<grains::Grains>()?;
    module.add_class::<grains::Contacts>()?;
    module.add_class::<bodies::Walls>()?;
    module.add_class::<bodies::Wall>()?;
    module.add_class::<bodies::Bodies>()?;
    module.add_class::<bodies::Body>()?;
    module.add_class::<machines::Joints>()?;
    module.add_class::<machines::Joint>()?;
    module.add_class::<machines::Drives>()?;
    module.add_class::<machines::Drive>()?;
    module.add_class::<report::StepReport>()?;
    module.add_class::<recording::RecordingFile>()?;
    module.add_function(wrap_pyfunction!(tools::solve, module)?)?;
    module.add_function(wrap_pyfunction!(tools::experiments, module)?)?;
    module.add_function(wrap_pyfunction!(tools::experiment, module)?)?;
    module.add_function(wrap_pyfunction!(tools::main, module)?)?;
    Ok(())
}
