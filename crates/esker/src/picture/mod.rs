//! Pictures of recordings: which frame, in which colours, from where.

mod drawing;
mod scenery;

pub use drawing::{Color, Drawing, PictureError, Style};
pub use scenery::{Clip, Shown};
