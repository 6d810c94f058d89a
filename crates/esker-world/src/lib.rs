//! The world: grains, walls, what supplies and removes them, and the step.
//!
//! `step.rs` shows a whole step on one screen; each stage has its own module.
//! The crate knows no files and no terminals.
//!
//! ```
//! use esker_world::{World, definition::*};
//! use esker_geometry::{Pose, WallShape};
//! use glam::DVec3;
//!
//! let glass = Material { name: "glass".into(), density: 2500.0, young: 5e9, poisson: 0.3 };
//! let mut world = World::new(&WorldDef {
//!     materials: vec![glass],
//!     walls: vec![WallDef::new("floor", WallShape::HalfSpace, Pose::IDENTITY)],
//!     packings: vec![PackingDef {
//!         shape: None,
//!         material: 0,
//!         velocity: DVec3::ZERO,
//!         placement: Placement::Column {
//!             base: DVec3::ZERO,
//!             direction: DVec3::Z,
//!             count: 3,
//!             gap: 0.0,
//!             sizes: SizeDistribution::Fixed { radius: 5e-3 },
//!         },
//!     }],
//!     ..Default::default()
//! })?;
//! for _ in 0..100 {
//!     world.step()?;
//! }
//! assert!(world.grains().kinetic_energy() < 1e-9);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod accuracy;
mod assemble;
mod begin;
mod bodies;
mod candidate;
pub mod check;
mod clock;
mod cohesion;
mod collide;
mod contact;
pub mod definition;
mod device;
mod diameters;
mod drive;
mod end_of_step;
mod energy;
mod errors;
mod flight;
mod forces;
mod general_solve;
mod ghosts;
mod grains;
mod history;
mod impact_prediction;
mod inertia;
mod integrate;
mod intervention;
mod known_rows;
mod load;
mod machinery;
mod material;
mod midpoint;
mod near;
mod order;
mod outline;
pub mod packing;
mod periodic;
mod random;
mod random_packing;
mod reach;
mod reduction;
mod report;
mod residency;
pub mod resident;
pub mod resident_look;
pub mod resident_rows;
mod shaped_contacts;
mod sizes;
mod smooth;
pub mod state;
mod step;
mod supply;
mod table;
mod tool_forces;
mod validate;
mod wall;
mod world;

pub use accuracy::Missed;
pub use bodies::Body;
pub use contact::{ContactGeometry, ContactKey, Partner};
pub use device::DeviceObstacle;
pub use energy::EnergyLedger;
pub use errors::{StepErrors, WorstContact};
pub use general_solve::SolveError;
pub use grains::{GrainId, GrainShape, Grains, NewGrain, sphere_inertia};
pub use intervention::{AddedGrain, AppliedForce, InterventionError};
pub use load::{LoadIntegral, WallLoad};
pub use material::PairTable;
pub use reduction::{ReductionTotals, StoredContact};
pub use report::{Stage, StageTimes, StepReport};
pub use residency::{ResidentDevice, ResidentObstacle, ResidentStep, Wanted};
pub use smooth::longest_substep;
pub use state::{RestoreError, WorldState};
pub use step::StepError;
pub use table::{BodyId, BodyKind, BodyTable};
pub use validate::MOST_GRAINS;
pub use wall::Wall;
pub use world::{BuildError, LastProblem, World};
