//! What a run leaves behind: recordings, checkpoints and exports.
//!
//! - [`Recorder`] writes and [`Recording`] reads one HDF5 file per run: frames
//!   of grains, contacts and walls, and scalars of every step. The file
//!   describes itself: every dataset has its unit and meaning.
//! - [`Checkpoint`] holds the complete state of a run, for an exact restart.
//! - [`fclib`] reads and writes contact problems in FCLIB's layout.

mod bytes;
mod checkpoint;
mod error;
pub mod fclib;
mod frame;
mod hdf5;
mod layout;
mod recorder;
mod recording;
mod state_codec;

pub use checkpoint::{
    Checkpoint, CheckpointError, CheckpointHeader, CheckpointStore, FORMAT_VERSION, Latest,
    SceneIdentity,
};
pub use error::RecordError;
pub use frame::{Frame, FrameContact, FramePartner, FrameWall};
pub use layout::{
    GrainField, Precision, RECORDING_FORMAT, RecordSettings, RecordingHeader, SCALARS, Scalar,
    WallSurface,
};
pub use recorder::{FrameRow, Recorder};
pub use recording::{Recording, Scalars};
