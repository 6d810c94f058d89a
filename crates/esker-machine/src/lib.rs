//! Machines: rigid bodies with joints and drives, solved directly.
//!
//! Bodies are mass properties, poses and velocities; what they look like and what they touch is not
//! known here. Bodies that joints connect are one machine; machines that are connected through the
//! ground alone are independent. Contacts come in as impulses, and see a machine through the
//! articulated inverse mass of the body that they touch.
//!
//! A pendulum that swings for a millisecond:
//!
//! ```
//! use esker_machine::{
//!     Assembly, BodyPose, BodyProperties, JointDef, JointKind, MachineDef, Machines, Spatial, Substep,
//! };
//! use glam::{DQuat, DVec3};
//!
//! let bodies = [BodyProperties::new(1.0, DVec3::new(0.002, 0.08, 0.08))];
//! let mut poses = [BodyPose { position: DVec3::X * 0.5, orientation: DQuat::IDENTITY }];
//! let pivot = JointDef::at("pivot", JointKind::Revolute, [None, Some(0)], (DVec3::ZERO, DVec3::Y), &poses);
//! let def = MachineDef { bodies: &bodies, joints: &[pivot], gears: &[], drives: &[] };
//! let mut machines = Machines::new(&def, &mut poses, Assembly::default())?;
//!
//! let (h, weight) = (1e-3, [Spatial::new(DVec3::Z * -9.81, DVec3::ZERO)]);
//! let mut velocities = [Spatial::ZERO];
//! machines.begin_substep(&Substep { length: h, time: 0.0, poses: &poses, velocities: &velocities, forces: &weight });
//! machines.solve(&[Spatial::ZERO], &mut velocities);
//! poses[0] = poses[0].moved(velocities[0], h);
//! machines.end_substep(&poses);
//! assert!(velocities[0].angular.y > 0.0);
//! # Ok::<(), esker_machine::MachineError>(())
//! ```

mod body;
mod box_problem;
mod definition;
mod dense;
mod equations;
mod error;
mod generalised;
mod gyroscopic;
mod joint;
mod machine;
mod machines;
pub mod mechanisms;
mod report;
pub mod rig;
mod row;
mod sparse;
mod validate;

pub use body::{BodyPose, BodyProperties, InverseMass6, Spatial};
pub use box_problem::Activity;
pub use definition::{
    Coordinate, CoordinateLaw, DriveDef, DriveKind, Elasticity, GearDef, JointCoordinate, JointDef,
    JointFrame, JointKind, Signal, bracket,
};
pub use error::MachineError;
pub use generalised::Generalised;
pub use machine::{Machine, REGULARISATION, Substep};
pub use machines::{Assembly, MachineDef, MachineState, Machines};
pub use report::{DriveTotals, GearTotals, JointPlace, JointTotals, Troubles, Violation};
pub use row::{Row, RowEntry};
