//! What a run leaves behind: recordings, checkpoints and exports.
//!
//! - [`Checkpoint`]: the complete state of a run, for an exact restart.

mod bytes;
mod checkpoint;
mod state_codec;

pub use checkpoint::{
    Checkpoint, CheckpointError, CheckpointHeader, CheckpointStore, FORMAT_VERSION, Latest,
    SceneIdentity,
};
