//! Esker: granular matter simulated with the nonsmooth discrete element method.
//!
//! This crate is the front door. A scene says what is simulated (SI units, sizes are diameters),
//! a [`Simulation`] takes it through time, and everything can be looked at between two steps:
//!
//! ```
//! use esker::{Error, LoadedScene, Simulation, Until};
//!
//! let scene = r#"
//!     duration = 0.2
//!     step = 1e-3
//!     material.glass = { density = 2500, young = 5e7, poisson = 0.3 }
//!     wall = [{ name = "floor", shape = "plane" }]
//!     grains = [{ place = "column", count = 3, diameter = 0.01 }]
//! "#;
//! let mut simulation = Simulation::new(LoadedScene::parse(scene, "three", ".")?)?;
//!
//! // One step at a time ...
//! let report = simulation.step()?;
//! assert_eq!(report.step, 1);
//!
//! // ... or to an end, with a look at every step.
//! let mut most_contacts = 0;
//! let stop = || false;
//! simulation.run(Until::time(0.1), stop, |simulation, report| {
//!     most_contacts = most_contacts.max(report.contacts);
//!     assert_eq!(simulation.world().grains().count(), 3);
//!     Ok::<(), Error>(())
//! })?;
//! assert!(most_contacts >= 3);
//!
//! // The floor carries the weight of the column.
//! let weight: f64 = simulation.world().grains().mass().iter().sum::<f64>() * 9.81;
//! let force = simulation.world().walls()[0].load.force;
//! assert!((force.z / -weight - 1.0).abs() < 0.01, "{force} {weight}");
//! # Ok::<(), Error>(())
//! ```
//!
//! With [`Simulation::record_to`] it leaves what `esker run` leaves: a recording (read it with
//! [`record::Recording`], measure it with [`measure`], draw it with [`picture`]), checkpoints and
//! a summary with a [`Verdict`]. [`Simulation::resume`] continues a run that was stopped or
//! killed with the same bits.
//!
//! | look for | in |
//! | --- | --- |
//! | scenes, what is wrong with them, what they will cost | [`scene`] |
//! | grains, walls, contacts, the step, what may be changed between steps | [`world`] |
//! | worlds that are built in code, without a scene | [`world::definition`] |
//! | joints, gears and drives of rigid bodies | [`machine`] |
//! | probes: time series of a running world | [`probe`] |
//! | contact problems and solvers | [`problem`], [`contact`], [`solver`] |
//! | recordings, checkpoints, exports | [`record`] |
//! | measures of states: angles, fields, mixing, wall pressure | [`analysis`] |
//! | shapes, meshes, distances | [`geometry`] |
//! | published experiments with their criteria | [`study`] |
//!
//! Quantities are SI, vectors are in world axes. What a caller passes is checked where a world is
//! built and gives a typed [`Error`]; nothing that is passed can panic. A run that went wrong
//! without an error says so in its [`Verdict`]: [`Simulation::finish`] returns it in the [`Summary`].
//!
//! Results do not depend on the number of threads, and the same program gives the same bits for
//! the same scene. The crate's examples are a drum in thirty lines, a measure of one's own while
//! running, and one contact problem that every solver solves. The book in `docs` has the equations, and
//! says how to choose an accuracy.

mod device;
mod error;
mod loaded_scene;
pub mod measure;
pub mod output_file;
pub mod picture;
pub mod probe_table;
pub mod problem;
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

pub use device::{ChosenDevice, DeviceUnavailable, device_for};
pub use error::Error;
pub use loaded_scene::LoadedScene;
pub use run::{Finding, Grade, SUMMARY_FILE_NAME, Simulation, Summary, Until, Verdict, duration};
pub use run_folder::recording_path;
pub use scene_folder::{RECORDING_FILE_NAME, SceneFolder};
