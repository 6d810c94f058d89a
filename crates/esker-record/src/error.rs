//! Why a recording could not be written or read.

use std::io;
use std::path::PathBuf;

/// Why a recording could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The disk has no room.
    #[error(
        "the disk is full: `{}` holds all frames up to the last one reported as written; \
         make room and continue with --resume",
        path.display()
    )]
    DiskFull {
        /// The recording.
        path: PathBuf,
    },
    /// The system limits the size of files.
    #[error(
        "`{}` has reached the largest size that files may have here; it holds all frames up to \
         the last one reported as written",
        path.display()
    )]
    FileTooLarge {
        /// The recording.
        path: PathBuf,
    },
    /// Writing failed.
    #[error("cannot write recording `{}`: {why}", path.display())]
    Write {
        /// The recording.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// An earlier error has ended the recording.
    #[error("the recording has stopped after an earlier error")]
    Stopped,
    /// The file cannot be opened.
    #[error("cannot open `{}`: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is no HDF5 file, or its structure is damaged beyond reading.
    #[error("`{}` cannot be read as an HDF5 file: {why}", path.display())]
    NotHdf5 {
        /// The file.
        path: PathBuf,
        /// What the library says.
        why: String,
    },
    /// It is an HDF5 file of something else.
    #[error("`{}` is not a recording of Esker", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// It was written by a newer program.
    #[error(
        "recording `{}` has format {format}, but this program reads only up to {newest}: \
         use a newer Esker",
        path.display()
    )]
    TooNew {
        /// The recording.
        path: PathBuf,
        /// Its format.
        format: u32,
        /// The newest that can be read.
        newest: u32,
    },
    /// A checksum does not match, or parts contradict one another.
    #[error("recording `{}` is damaged: {what}", path.display())]
    Damaged {
        /// The recording.
        path: PathBuf,
        /// What.
        what: String,
    },
    /// It has no positions, which an export needs.
    #[error("recording `{}` has no positions: record the field \"position\"", path.display())]
    NoPositions {
        /// The recording.
        path: PathBuf,
    },
    /// It belongs to another scene.
    #[error("recording `{}` belongs to another scene", path.display())]
    OtherScene {
        /// The recording.
        path: PathBuf,
    },
    /// It ends before the place where a run wants to continue.
    #[error(
        "recording `{}` has {found} frames, but the checkpoint was taken after {expected}",
        path.display()
    )]
    TooShort {
        /// The recording.
        path: PathBuf,
        /// Frames it has.
        found: u64,
        /// Frames that the checkpoint counts on.
        expected: u64,
    },
    /// A row belongs to no probe of the recording.
    #[error("the recording has no probe of index {index}")]
    NoProbe {
        /// The index.
        index: usize,
    },
}

impl RecordError {
    /// Whether a file that was written is not there or not usable, as opposed
    /// to one that cannot be written or that is not to be touched.
    pub(crate) fn is_loss(&self) -> bool {
        match self {
            RecordError::Open { .. }
            | RecordError::NotHdf5 { .. }
            | RecordError::Foreign { .. }
            | RecordError::Damaged { .. }
            | RecordError::TooShort { .. } => true,
            RecordError::DiskFull { .. }
            | RecordError::FileTooLarge { .. }
            | RecordError::Write { .. }
            | RecordError::Stopped
            | RecordError::TooNew { .. }
            | RecordError::NoPositions { .. }
            | RecordError::OtherScene { .. }
            | RecordError::NoProbe { .. } => false,
        }
    }
}
