//! Pictures of recordings: which frame, in which colours, from where.

mod chains;
mod color;
mod drawing;
mod joints;
mod scenery;
mod subject;

pub use chains::{Chain, chains, mean_radius};
pub use color::{Color, color_range, palette, values};
pub use drawing::{Drawing, GHOST, PictureError, Style, THICKEST_CHAIN};
pub use esker_study::grain_forms::GrainForms;
pub use joints::{JOINT_BAR, JOINT_COLORS, JOINTED_GHOST, JointMark, joint_marks, joint_surfaces};
pub use scenery::{Clip, FLOOR_COLOR, Shown, WALL_COLOR};
pub use subject::{Subject, VIEWS, camera, sample, up};
