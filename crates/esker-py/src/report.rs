//! What a step says about itself.

use pyo3::prelude::*;

/// What one step did.
#[pyclass(frozen, get_all, module = "esker")]
#[derive(Clone)]
pub struct StepReport {
    /// Steps done, this one included.
    step: u64,
    /// Time after the step, s.
    time: f64,
    /// Length of the step, s.
    step_length: f64,
    /// Grains that the step moved.
    grains: usize,
    /// Contacts in the problem, predicted ones included.
    contacts: usize,
    /// Contacts with positive overlap at the start of the step.
    touching: usize,
    /// Mean overlap of touching contacts, in diameters.
    mean_overlap: f64,
    /// Largest overlap, in diameters.
    max_overlap: f64,
    /// Sweeps, or substeps.
    sweeps: usize,
    /// Residual of the contact problem, 1 where nothing is solved; None where it was not measured.
    residual: Option<f64>,
    /// False when a tolerance was set and missed.
    converged: bool,
    /// Grains that emitters added as the step began.
    emitted: usize,
    /// Grains that sinks removed as the step began.
    removed: usize,
    /// Grains removed as the step began because they had left the bounds.
    lost: usize,
    /// Threads used.
    threads: usize,
    /// Time on the clock, s.
    seconds: f64,
}

impl From<&esker::world::StepReport> for StepReport {
    fn from(report: &esker::world::StepReport) -> Self {
        StepReport {
            step: report.step,
            time: report.time,
            step_length: report.step_length,
            grains: report.grains,
            contacts: report.contacts,
            touching: report.touching,
            mean_overlap: report.mean_overlap,
            max_overlap: report.max_overlap,
            sweeps: report.sweeps,
            residual: report.residual,
            converged: report.converged,
            emitted: report.emitted,
            removed: report.removed,
            lost: report.lost,
            threads: report.threads,
            seconds: report.times.total().as_secs_f64(),
        }
    }
}

impl StepReport {
    /// Contacts in the problem.
    pub fn contacts(&self) -> usize {
        self.contacts
    }
}

#[pymethods]
impl StepReport {
    fn __repr__(&self) -> String {
        format!(
            "<StepReport step {} at {:.6} s: {} grains, {} contacts>",
            self.step, self.time, self.grains, self.contacts
        )
    }
}
