//! Esker: granular matter simulated with the nonsmooth discrete element method.
//!
//! This crate is the front door: it brings the other crates together under one name, and a
//! [`Simulation`] takes a scene from its text to results.

mod error;
mod loaded_scene;
pub mod output_file;
pub mod picture;
pub mod probe_table;
mod run;
mod run_folder;
mod scene_folder;

pub use esker_analysis as analysis;
pub use esker_contact as contact;
pub use esker_geometry as geometry;
pub use esker_machine as machine;
pub use esker_probe as probe;
pub use esker_record as record;
pub use esker_render as render;
pub use esker_scene as scene;
pub use esker_solver as solver;
pub use esker_study as study;
pub use esker_world as world;

pub use error::Error;
pub use loaded_scene::LoadedScene;
pub use run::{Finding, Grade, SUMMARY_FILE_NAME, Simulation, Summary, Until, Verdict, duration};
pub use run_folder::recording_path;
pub use scene_folder::{RECORDING_FILE_NAME, SceneFolder};
