//! Robots described in URDF, as scenes.
//!
//! Links become bodies with their mass and inertia, joints become joints with their limits, friction
//! and damping; a joint with an effort gets a motor of that strength that holds it, to be given
//! something to do. What a description leaves open, or says of things that a scene has not, is told
//! in notes.
//!
//! [`read`] reads a description, [`write_scene`] writes the scene.

mod error;
mod robot;
mod scene;
mod xml;

pub use error::UrdfError;
pub use robot::{Geometry, Inertial, Joint, JointType, Link, Mimic, Robot, Shape, read};
pub use scene::{Base, SceneText, write_scene};
