//! What can be wrong with a mesh file.

use std::fmt;
use thiserror::Error;

/// Where in the input a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Line of a text file, from 1.
    Line(usize),
    /// Offset in a binary file, from 0.
    Byte(usize),
    /// Index of a vertex given in memory.
    Vertex(usize),
    /// Index of a triangle given in memory.
    Triangle(usize),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Byte(offset) => write!(f, "byte {offset}"),
            Self::Vertex(index) => write!(f, "vertex {index}"),
            Self::Triangle(index) => write!(f, "triangle {index}"),
        }
    }
}

/// A mesh that cannot be read or used.
#[derive(Debug, Error)]
pub enum MeshError {
    /// The extension is none we read.
    #[error("`{name}` is neither an .stl nor an .obj file")]
    UnsupportedFormat {
        /// Name of the file.
        name: String,
    },
    /// The file could not be read.
    #[error("cannot read `{name}`")]
    Unreadable {
        /// Name of the file.
        name: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file ends too early.
    #[error("{place}: the file ends in the middle of {what}")]
    Truncated {
        /// Where the unfinished part begins.
        place: Place,
        /// What is unfinished.
        what: &'static str,
    },
    /// A line or record is not what it should be.
    #[error("{place}: expected {expected}")]
    Syntax {
        /// Where.
        place: Place,
        /// What should be there.
        expected: &'static str,
    },
    /// A coordinate is infinite or not a number.
    #[error("{place}: a vertex has a coordinate that is not a finite number")]
    NonFiniteVertex {
        /// Where.
        place: Place,
    },
    /// A triangle names a vertex that does not exist.
    #[error("{place}: vertex {index} does not exist")]
    UnknownVertex {
        /// Where.
        place: Place,
        /// The index as given.
        index: i64,
    },
    /// Nothing is left to touch.
    #[error("the mesh has no triangles ({dropped} without area were dropped)")]
    NoTriangles {
        /// Number of degenerate triangles.
        dropped: usize,
    },
    /// More vertices or triangles than 32-bit indices can name.
    #[error("the mesh is too large")]
    TooLarge,
}
