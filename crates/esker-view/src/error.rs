//! What can go wrong between a run and the page that shows it.

use std::io;
use std::net::SocketAddr;

use esker::picture::PictureError;
use esker::record::RecordError;

/// Why something cannot be shown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// The port is taken.
    #[error("port {} of {} is in use by another program", address.port(), address.ip())]
    PortInUse {
        /// Where was to be listened.
        address: SocketAddr,
    },
    /// The server cannot listen.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Where was to be listened.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// The server cannot work.
    #[error("cannot start the server: {0}")]
    Start(io::Error),
    /// A recording cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A picture cannot be drawn.
    #[error(transparent)]
    Picture(#[from] PictureError),
    /// A run cannot be simulated or recorded.
    #[error(transparent)]
    Run(#[from] esker::Error),
    /// There is nothing to show yet.
    #[error("the recording has no frames yet")]
    NoFrames,
    /// A frame is not there.
    #[error("there is no frame of step {step}")]
    NoFrame {
        /// The step.
        step: u64,
    },
    /// A grain is not there.
    #[error("the grain is not in this frame")]
    NoGrain,
    /// A request that no page of ours makes.
    #[error("{0}")]
    Request(String),
    /// A command for a live run, given to a recording.
    #[error("this is a recording: it cannot be paused or stepped")]
    NotLive,
}

impl ViewError {
    /// The status of an answer that says so.
    pub(crate) fn status(&self) -> u16 {
        match self {
            ViewError::Request(_) | ViewError::Picture(PictureError::NoView { .. }) => 400,
            ViewError::NoFrames | ViewError::NoFrame { .. } | ViewError::NoGrain => 404,
            ViewError::NotLive | ViewError::Picture(_) => 409,
            ViewError::Record(_) => 410,
            _ => 500,
        }
    }
}
