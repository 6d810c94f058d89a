//! Finding the recording of a run.

use std::path::{Path, PathBuf};

use crate::RECORDING_FILE_NAME;

/// The recording that is meant by a file, or by a run's folder.
pub fn recording_path(run: &Path) -> PathBuf {
    if run.is_dir() {
        run.join(RECORDING_FILE_NAME)
    } else {
        run.to_owned()
    }
}
