//! What a run leaves behind: recordings, checkpoints and exports.
//!
//! - [`Recorder`] writes and [`Recording`] reads one HDF5 file per run: frames
//!   of grains, contacts and walls, and scalars of every step. The file
//!   describes itself: every dataset has its unit and meaning.
//! - [`Checkpoint`] holds the complete state of a run, for an exact restart.
//! - [`export_vtk`] and [`write_scalars_csv`] turn a recording into what other tools read.
//! - [`problem_file`] keeps contact problems of our own simulations; [`fclib`] reads and writes
//!   those of others in FCLIB's layout.

mod background;
mod bytes;
mod checkpoint;
mod error;
pub mod fclib;
mod frame;
mod hdf5;
mod header;
mod joints;
mod layout;
mod part;
mod probes;
pub mod problem_file;
mod recorder;
mod recording;
mod series;
mod shapes;
mod state_codec;
mod tables;
mod vtk;

pub use background::BackgroundRecorder;
pub use checkpoint::{
    CHECKPOINT_FORMAT, Checkpoint, CheckpointError, CheckpointHeader, CheckpointStore, Latest,
    SceneIdentity,
};
pub use error::RecordError;
pub use frame::{Frame, FrameContact, FramePartner, FrameWall, LoadInterval};
pub use header::{RECORDING_FORMAT, RecordingHeader, WallSurface};
pub use joints::{FrameJoint, JointLabel, JointLoad};
pub use layout::{FrameRow, GrainField, Precision, RecordSettings, SCALARS, Scalar, ScalarRow};
pub use probes::{ProbeColumn, ProbeRow, ProbeTable};
pub use recorder::{Continued, Recorder, RecordingMark};
pub use recording::{Recording, part_path};
pub use series::Scalars;
pub use tables::{walls_in_frame, write_grains_csv, write_joints_csv, write_scalars_csv};
pub use vtk::export_vtk;
