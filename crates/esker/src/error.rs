//! What can go wrong between a scene and its results.

use std::io;
use std::path::{Path, PathBuf};

use esker_record::{CheckpointError, RecordError};
use esker_scene::SceneErrors;
use esker_world::{BuildError, RestoreError, StepError};

use crate::device::DeviceUnavailable;
use crate::run::SUMMARY_FILE_NAME;

/// Why a simulation could not be made, go on, or write its results.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The scene is wrong; the message has lines and advice.
    #[error(transparent)]
    Scene(#[from] SceneErrors),
    /// The definition of a world is wrong.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The GPU that the scene or the caller asks for cannot be used.
    #[error("no GPU for this run: {0}")]
    Device(#[from] DeviceUnavailable),
    /// A step failed. The simulation makes no more of them.
    #[error("scene {scene} ({}): {source}", last_good(checkpoint.as_deref()))]
    Step {
        /// Name of the scene.
        scene: String,
        /// The newest checkpoint that can be used, if there is one.
        checkpoint: Option<PathBuf>,
        /// Why.
        source: Box<StepError>,
    },
    /// A folder of results is there already.
    #[error("{} exists already", path.display())]
    Exists {
        /// The folder.
        path: PathBuf,
    },
    /// A folder to be replaced holds something else than results.
    #[error(
        "{} is not a folder of results (it has no {SUMMARY_FILE_NAME}), so it is not replaced",
        path.display()
    )]
    NotResults {
        /// The folder.
        path: PathBuf,
    },
    /// Another simulation writes to a folder.
    #[error(
        "{} is in use: {holder} writes to it; wait for its end or stop it, \
         or choose another folder",
        path.display()
    )]
    InUse {
        /// The folder.
        path: PathBuf,
        /// Who, in words.
        holder: String,
    },
    /// A folder to be resumed is not there.
    #[error("there is no folder {} to resume", path.display())]
    NoFolder {
        /// The folder.
        path: PathBuf,
    },
    /// A simulation that records already was told to record.
    #[error("the simulation records to {} already", path.display())]
    Recording {
        /// The folder.
        path: PathBuf,
    },
    /// A simulation that does not record was asked for a checkpoint.
    #[error("the simulation has no folder for checkpoints: record to one first")]
    NoRecording,
    /// There is no checkpoint to resume from.
    #[error("cannot resume {}: {}{source}", folder.display(), before(changes.as_deref()))]
    Resume {
        /// The folder.
        folder: PathBuf,
        /// What has changed in the scene, as far as that is known.
        changes: Option<String>,
        /// Why.
        source: CheckpointError,
    },
    /// A checkpoint does not fit the scene.
    #[error("cannot resume from {}: {source}", checkpoint.display())]
    Restore {
        /// The checkpoint.
        checkpoint: PathBuf,
        /// Why.
        source: RestoreError,
    },
    /// A recording cannot be written or read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A checkpoint cannot be written.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// A file cannot be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

impl Error {
    /// An error of the operating system about a file.
    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Error::File {
            action,
            path,
            source,
        }
    }
}

fn last_good(checkpoint: Option<&Path>) -> String {
    match checkpoint {
        Some(path) => format!("last good checkpoint: {}", path.display()),
        None => "there is no checkpoint yet".to_owned(),
    }
}

fn before(changes: Option<&str>) -> String {
    changes.map_or_else(String::new, |changes| format!("{changes}: "))
}
