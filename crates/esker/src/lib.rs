//! Esker: granular matter simulated with the nonsmooth discrete element method.
//!
//! This crate is the front door: it brings the other crates together under
//! one name and holds the `esker` command line.

mod scene_folder;

pub use esker_contact as contact;
pub use esker_geometry as geometry;
pub use esker_machine as machine;
pub use esker_probe as probe;
pub use esker_record as record;
pub use esker_render as render;
pub use esker_scene as scene;
pub use esker_solver as solver;
pub use esker_world as world;

pub use scene_folder::{RECORDING_FILE_NAME, SceneFolder};
