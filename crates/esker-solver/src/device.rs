//! Substeps on a device: a back end that a world is handed at run time.
//!
//! [`SubstepDevice`] is the seam of [`crate::backend`] as an object, so that worlds need to know
//! neither the device nor its libraries. [`WorldBackend`] is what a world holds: the block sweep,
//! and a device where it was given one.
//!
//! A device gives the bits of the block sweep. What it cannot do it says before a run begins
//! ([`DeviceError::Unsupported`]); what goes wrong on the way ends the step with an error, never
//! with a wrong result.

use std::fmt::Debug;

use esker_contact::{BodyState, EnergyLoss, Impulse};
use esker_parallel::Team;
use glam::DVec3;

use crate::backend::{Exchange, Partners, SubstepBackend, SubstepProblem, SubstepRun};
use crate::block_sweep::BlockSweeper;
use crate::packed::Row;
use crate::plan::SweepPlan;

/// Why a device cannot go on.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DeviceError {
    /// Its memory does not hold the step.
    #[error(
        "the memory of {device} is too small: a step of {bodies} bodies and {contacts} contacts takes {} MiB, and {} MiB are free; about {fitting} such bodies fit",
        needed >> 20, free >> 20
    )]
    OutOfMemory {
        /// The device.
        device: String,
        /// Bodies of the step, those of contacts with walls among them.
        bodies: usize,
        /// Contacts of the step.
        contacts: usize,
        /// Bytes that the step takes.
        needed: usize,
        /// Bytes that can be had.
        free: usize,
        /// Bodies that would fit with as many contacts each.
        fitting: usize,
    },
    /// The device does not answer any more, or a call to it failed.
    #[error("{device} failed in {call}: {message}")]
    Failed {
        /// The device.
        device: String,
        /// What was asked of it.
        call: &'static str,
        /// What its driver says.
        message: String,
    },
    /// Something that the device does not compute.
    #[error("{device} does not compute {what}")]
    Unsupported {
        /// The device.
        device: String,
        /// What was asked for.
        what: &'static str,
    },
}

/// What a device did in its last step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DeviceWork {
    /// Time that its kernels took, s; zero where it does not measure.
    pub kernel_seconds: f64,
    /// Kernels that were launched.
    pub launches: usize,
    /// Bytes that were sent to it, and that came back.
    pub copied: [usize; 2],
    /// Bytes per second that its memory can move, by its data sheet; zero where it is not known.
    pub bandwidth: f64,
}

/// [`SubstepBackend`] as an object. Joints and several processes are not among what devices
/// do.
pub trait SubstepDevice: Debug + Send + Sync {
    /// What it is called, for people.
    fn name(&self) -> &str;

    /// What it did in its last step.
    fn work(&self) -> Result<DeviceWork, DeviceError>;

    /// See [`SubstepBackend::upload`].
    fn upload(
        &mut self,
        team: &mut Team,
        problem: SubstepProblem<'_>,
        bodies: &[BodyState],
        row: &(dyn Fn(usize) -> Row + Sync),
    ) -> Result<(), DeviceError>;

    /// See [`SubstepBackend::advance`].
    fn advance(
        &mut self,
        team: &mut Team,
        problem: SubstepProblem<'_>,
        bodies: &mut [BodyState],
        run: SubstepRun<'_>,
    ) -> Result<usize, DeviceError>;

    /// See [`SubstepBackend::residual`].
    fn residual(
        &mut self,
        team: &mut Team,
        problem: SubstepProblem<'_>,
        bodies: &[BodyState],
        run: SubstepRun<'_>,
        row: &(dyn Fn(usize) -> Row + Sync),
    ) -> Result<f64, DeviceError>;

    /// See [`SubstepBackend::download`].
    fn download(
        &mut self,
        team: &mut Team,
        plan: &SweepPlan,
        impulses: &mut Vec<Impulse>,
    ) -> Result<(), DeviceError>;

    /// See [`SubstepBackend::moved`].
    fn moved(&self, body: usize) -> [DVec3; 2];

    /// See [`SubstepBackend::impulse_sums`].
    fn impulse_sums(&self) -> &[Impulse];

    /// See [`BlockSweeper::measure_losses`].
    fn measure_losses(&mut self, measure: bool);

    /// See [`BlockSweeper::losses`].
    fn losses(&self) -> EnergyLoss;
}

/// The back end of a world: the block sweep, or the device in its place.
#[derive(Debug, Default)]
pub struct WorldBackend {
    /// Sweeps whole steps in any case, and substeps where there is no device.
    pub sweeper: BlockSweeper,
    device: Option<Box<dyn SubstepDevice>>,
}

impl WorldBackend {
    /// Gives substeps to a device, or takes them back from it.
    pub fn set_device(&mut self, device: Option<Box<dyn SubstepDevice>>) {
        self.device = device;
    }

    /// The device, where there is one.
    pub fn device(&self) -> Option<&dyn SubstepDevice> {
        self.device.as_deref()
    }

    /// See [`BlockSweeper::measure_losses`].
    pub fn measure_losses(&mut self, measure: bool) {
        match &mut self.device {
            Some(device) => device.measure_losses(measure),
            None => self.sweeper.measure_losses(measure),
        }
    }

    /// See [`BlockSweeper::losses`].
    pub fn losses(&self) -> EnergyLoss {
        match &self.device {
            Some(device) => device.losses(),
            None => self.sweeper.losses(),
        }
    }
}

impl SubstepBackend for WorldBackend {
    fn upload(
        &mut self,
        team: &mut Team,
        problem: SubstepProblem<'_>,
        bodies: &[BodyState],
        row: impl Fn(usize) -> Row + Sync,
    ) -> Result<(), DeviceError> {
        match &mut self.device {
            Some(device) => device.upload(team, problem, bodies, &row),
            None => self.sweeper.upload(team, problem, bodies, row),
        }
    }

    fn advance<E: Exchange>(
        &mut self,
        team: &mut Team,
        problem: SubstepProblem<'_>,
        bodies: &mut [BodyState],
        run: SubstepRun<'_>,
        partners: Partners<'_, '_, E>,
    ) -> Result<usize, DeviceError> {
        let Some(device) = &mut self.device else {
            return self.sweeper.advance(team, problem, bodies, run, partners);
        };
        let what = if E::IS_NEEDED {
            "steps that several processes share"
        } else if partners.jointed.is_some() {
            "joints"
        } else {
            return device.advance(team, problem, bodies, run);
        };
        Err(DeviceError::Unsupported {
            device: device.name().to_owned(),
            what,
        })
    }

    fn residual(
        &mut self,
        team: &mut Team,
        problem: SubstepProblem<'_>,
        bodies: &[BodyState],
        run: SubstepRun<'_>,
        row: impl Fn(usize) -> Row + Sync,
    ) -> Result<f64, DeviceError> {
        match &mut self.device {
            Some(device) => device.residual(team, problem, bodies, run, &row),
            None => self.sweeper.residual(team, problem, bodies, run, row),
        }
    }

    fn download(
        &mut self,
        team: &mut Team,
        plan: &SweepPlan,
        impulses: &mut Vec<Impulse>,
    ) -> Result<(), DeviceError> {
        match &mut self.device {
            Some(device) => device.download(team, plan, impulses),
            None => self.sweeper.download(team, plan, impulses),
        }
    }

    fn moved(&self, body: usize) -> [DVec3; 2] {
        match &self.device {
            Some(device) => device.moved(body),
            None => SubstepBackend::moved(&self.sweeper, body),
        }
    }

    fn impulse_sums(&self) -> &[Impulse] {
        match &self.device {
            Some(device) => device.impulse_sums(),
            None => self.sweeper.impulse_sums(),
        }
    }
}
