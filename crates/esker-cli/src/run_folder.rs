//! Opening the recording of a run, with a word about what is missing of it.

use std::path::Path;

use anyhow::Context;
use esker::recording_path;
use esker_record::{Recording, Scalars};

/// Opens the recording of a run, and says what is missing of it.
pub fn open_recording(run: &Path) -> anyhow::Result<Recording> {
    let recording = Recording::open(&recording_path(run))
        .with_context(|| format!("{} has no usable recording", run.display()))?;
    for gap in recording.gaps() {
        eprintln!("warning: {gap}");
    }
    Ok(recording)
}

/// The scalars of a recording; says so where some are missing.
pub fn read_scalars(recording: &Recording) -> anyhow::Result<Scalars> {
    let scalars = recording.scalars()?;
    warn_of_lost_scalars(&scalars);
    Ok(scalars)
}

/// Says so where scalars are missing.
pub fn warn_of_lost_scalars(scalars: &Scalars) {
    if !scalars.is_complete() {
        eprintln!("warning: the scalars of some steps cannot be read and are left out");
    }
}
