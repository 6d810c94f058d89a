//! Finding the recording of a run.

use std::path::{Path, PathBuf};

use anyhow::Context;
use esker_record::Recording;

use crate::commands::run::RECORDING_FILE_NAME;

/// The recording that a command's argument means: a file, or a run's folder.
pub fn recording_path(run: &Path) -> PathBuf {
    if run.is_dir() {
        run.join(RECORDING_FILE_NAME)
    } else {
        run.to_owned()
    }
}

/// Opens the recording of a run; says so where its last frame is incomplete.
pub fn open_recording(run: &Path) -> anyhow::Result<Recording> {
    let recording = Recording::open(&recording_path(run))
        .with_context(|| format!("{} has no usable recording", run.display()))?;
    if recording.was_cut_short() {
        eprintln!("warning: the last frame was cut short and is left out");
    }
    Ok(recording)
}
