//! Worlds whose substeps a device computes (see `esker_solver::device`).
//!
//! A device gives the bits of the CPU, so a world may be handed one, and lose it, between any two
//! steps. What is part of the definition and a device cannot do is known before the first step.

use esker_solver::device::SubstepDevice;

use crate::World;
use crate::definition::{Method, WorldDef};

/// Why the substeps of a world have to be computed by the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceObstacle {
    /// A whole step is solved at once, or springs are followed.
    #[error("devices compute substeps only (`solver.method = \"substepped\"`)")]
    Method,
    /// Some grains are no spheres.
    #[error("devices compute spheres only, and some grains have other shapes")]
    Shapes,
    /// There are bodies of their own, and joints perhaps.
    #[error("devices compute spheres only, and there are bodies and machines")]
    Bodies,
}

impl WorldDef {
    /// Why a device cannot compute the substeps of such a world, if it cannot.
    pub fn device_obstacle(&self) -> Option<DeviceObstacle> {
        if !matches!(self.method, Method::SubStepped(_)) {
            Some(DeviceObstacle::Method)
        } else if !self.bodies.is_empty() {
            Some(DeviceObstacle::Bodies)
        } else if !self.shapes.is_empty() {
            Some(DeviceObstacle::Shapes)
        } else {
            None
        }
    }
}

impl World {
    /// Hands the substeps of all steps from now on to a device, or back to the CPU. What a
    /// device cannot do ([`WorldDef::device_obstacle`]) fails in the next step.
    pub fn set_device(&mut self, device: Option<Box<dyn SubstepDevice>>) {
        self.workspace.backend.set_device(device);
    }

    /// The device that computes substeps, where there is one.
    pub fn device(&self) -> Option<&dyn SubstepDevice> {
        self.workspace.backend.device()
    }
}
