//! Worlds whose grains stay on a device from step to step.
//!
//! A [`ResidentDevice`] makes whole steps, with the CPU's bits. Grains and what is remembered of
//! contacts then live there; the host keeps walls, emitters, sinks and the clock, and is told what
//! a report says. Where grains come and go the device lists those that may leave or are near an
//! emitter; the host, which knows names, sizes and masses of all, decides by these, and tells the
//! device which rows have changed (`known_rows.rs`). What is rare is left to the host: the state is
//! fetched, the host does it, and the state is sent again. Which step is made where does not show
//! in any result.
//!
//! A step leaves grains on the device only where the caller allows it
//! ([`World::leave_on_device`]), since whoever reads the world then has to fetch them first
//! ([`World::fetch`]). Contacts are those of the last step that the host made.

use std::fmt::Debug;
use std::time::Duration;

use esker_contact::BodyState;
use esker_solver::device::{DeviceError, DeviceWork};
use esker_solver::plan::block_edge;
use glam::{DQuat, DVec3};

use crate::World;
use crate::begin::Turnover;
use crate::definition::Method;
use crate::inertia::{Burden, LoadedInertia};
use crate::known_rows::{KnownRows, ListedRows};
use crate::report::{Stage, StageClock, StepReport};
use crate::resident::{BorderGrain, RowChanges};
use crate::resident_look::LookTotals;
use crate::step::StepError;

/// A device that makes whole steps of grains that stay there.
pub trait ResidentDevice: Debug + Send + Sync {
    /// What it is called, for people.
    fn name(&self) -> &str;

    /// What it did in its last step.
    fn work(&self) -> Result<DeviceWork, DeviceError>;

    /// Takes grains and what is remembered of their contacts from a world.
    fn send(&mut self, world: &mut World) -> Result<(), DeviceError>;

    /// Makes a step of the grains that are there, with walls and settings of the world, and books
    /// the loads of its walls. `None` where the host has to make it: nothing has changed then.
    fn step(&mut self, world: &mut World) -> Result<Option<ResidentStep>, DeviceError>;

    /// Looks closely at the step that was just made.
    fn look(&mut self, world: &World, with_residual: bool) -> Result<LookTotals, DeviceError>;

    /// Multiplies the impulses that are remembered: for substeps of another length.
    fn scale_remembered(&mut self, factor: f64) -> Result<(), DeviceError>;

    /// Grains in the boxes of [`World::exits`] after the last step, in no order; `None` where
    /// there were more than it had room for.
    fn listed(&self) -> Option<&[BorderGrain]>;

    /// How many grains may be added to those that are there.
    fn room(&self) -> usize;

    /// Changes rows of grains as the world has changed its own.
    fn change_rows(&mut self, world: &World, changes: &RowChanges) -> Result<(), DeviceError>;

    /// Takes up the order of rows that the world's grains have now: `order` says which row each
    /// of them had.
    fn reorder(&mut self, world: &World, order: &[u32]) -> Result<(), DeviceError>;

    /// Gives the world its grains.
    fn fetch_grains(&mut self, world: &mut World) -> Result<(), DeviceError>;

    /// Gives the world back what it took.
    fn fetch(&mut self, world: &mut World) -> Result<(), DeviceError>;
}

/// What somebody reads of a world after a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wanted {
    /// Its report, and walls.
    #[default]
    Report,
    /// Grains, too.
    Grains,
    /// Contacts, too.
    Contacts,
}

/// What a step on a device came to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ResidentStep {
    /// See [`StepReport::contacts`].
    pub contacts: usize,
    /// See [`StepReport::impacts`].
    pub impacts: usize,
    /// See [`StepReport::touching`].
    pub touching: usize,
    /// See [`StepReport::mean_overlap`].
    pub mean_overlap: f64,
    /// See [`StepReport::max_overlap`].
    pub max_overlap: f64,
    /// Kinetic energy after the step, J.
    pub kinetic_energy: f64,
    /// Whether some grain's state is not a number any more.
    pub is_broken: bool,
    /// Whether some grain may be in a sink or beyond the bounds.
    pub may_leave: bool,
    /// Time of the stages from `find_pairs` on.
    pub times: [Duration; 5],
}

/// Edges of blocks in diameters of the largest grain, at least.
const ROOM_IN_BLOCK: f64 = 1.05;

/// Where the grains of a world are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// On the host alone.
    #[default]
    Host,
    /// On the device; the host has those of an earlier step.
    Device,
    /// On the device, and the host knows how they are; not what is remembered of contacts.
    Seen,
}

/// A world's device and what is there.
#[derive(Debug, Default)]
pub(crate) struct Residency {
    device: Option<Box<dyn ResidentDevice>>,
    place: Place,
    may_stay: bool,
    last: ResidentStep,
    /// Factors that what is remembered there has still to be multiplied by, one by one.
    scales: Vec<f64>,
    /// What is known of the burden of grains that are on the device, for substeps of this
    /// length, s.
    burden: Option<(f64, Burden)>,
}

/// Why the grains of a world do not stay on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResidentObstacle {
    /// No substeps, or a residual is wanted in every step.
    #[error("only several substeps without a tolerance of their own stay on a device")]
    Method,
    /// Grains that are no spheres, bodies or machines.
    #[error("only spheres stay on a device")]
    Shapes,
    /// Bridges or other attraction.
    #[error("grains attract each other")]
    Cohesion,
    /// A periodic axis.
    #[error("an axis is periodic")]
    Periodic,
    /// Grains at rest are frozen.
    #[error("grains at rest are frozen (`reduction`)")]
    Reduction,
    /// A ledger of energy is kept.
    #[error("energy is booked (`energy`)")]
    Energy,
    /// An order of sweeps that is not that of devices ([`World::set_device_order`]).
    #[error("contacts are swept in another order than that of devices")]
    Order,
    /// Some grains are so heavy that light ones below them are given more inertia.
    #[error("some grains are far heavier than others")]
    Inertia,
    /// Some grains are so large that they act through copies.
    #[error("some grains are far larger than others")]
    Sizes,
}

impl World {
    /// Hands whole steps to a device from now on, where they can be made there, or takes them
    /// back from it. Grains that were on another device are fetched.
    pub fn set_resident_device(
        &mut self,
        device: Option<Box<dyn ResidentDevice>>,
    ) -> Result<(), StepError> {
        self.fetch()?;
        self.residency.device = device;
        Ok(())
    }

    /// The device that makes whole steps, where there is one.
    pub fn resident_device(&self) -> Option<&dyn ResidentDevice> {
        self.residency.device.as_deref()
    }

    /// Allows the next steps to leave the grains on the device. Whoever reads them afterwards
    /// calls [`World::fetch`] before.
    pub fn leave_on_device(&mut self, may_stay: bool) {
        self.residency.may_stay = may_stay;
    }

    /// Whether the grains are on the device, and the world has those of an earlier step.
    pub fn is_on_device(&self) -> bool {
        self.residency.place != Place::Host
    }

    /// Brings grains back from a device, if they are there, where they stay.
    pub fn fetch_grains(&mut self) -> Result<(), StepError> {
        if self.residency.place == Place::Device {
            self.with_resident_device(|device, world| device.fetch_grains(world))?;
            self.residency.place = Place::Seen;
        }
        Ok(())
    }

    /// Brings grains and what is remembered of their contacts back from a device, if they are
    /// there.
    pub fn fetch(&mut self) -> Result<(), StepError> {
        if self.residency.place == Place::Host {
            return Ok(());
        }
        self.catch_up_on_device()?;
        self.with_resident_device(|device, world| device.fetch(world))?;
        self.residency.place = Place::Host;
        Ok(())
    }

    /// The report of the next step as far as it is known: its number, its length and its end.
    pub fn next_report(&self) -> StepReport {
        let mut clock = self.clock;
        if self.next.level != clock.level() {
            clock.set_level(self.next.level, self.steps_done);
        }
        StepReport {
            step: self.steps_done + 1,
            time: clock.time(self.steps_done + 1),
            step_length: self.next_step_length(),
            ..Default::default()
        }
    }

    /// Why its grains do not stay on a device, if they do not.
    pub fn resident_obstacle(&mut self) -> Option<ResidentObstacle> {
        let substeps = matches!(&self.method, Method::SubStepped(m) if m.tolerance.is_none());
        if !substeps || self.next.sweeps == 1 {
            Some(ResidentObstacle::Method)
        } else if self.grains.has_shapes() || !self.bodies.is_empty() || !self.machinery.is_empty()
        {
            Some(ResidentObstacle::Shapes)
        } else if self.pairs.is_cohesive() {
            Some(ResidentObstacle::Cohesion)
        } else if self.periodic.is_some() {
            Some(ResidentObstacle::Periodic)
        } else if self.aggregates.is_some() {
            Some(ResidentObstacle::Reduction)
        } else if self.energy.is_some() {
            Some(ResidentObstacle::Energy)
        } else if self.plain_order || !self.device_order {
            Some(ResidentObstacle::Order)
        } else if self.acts_through_copies() {
            Some(ResidentObstacle::Sizes)
        } else if self.has_burdens() {
            Some(ResidentObstacle::Inertia)
        } else {
            None
        }
    }

    /// Whether light grains are given the inertia that heavy ones ask for in the next step
    /// (`inertia.rs`), which devices do not do.
    fn has_burdens(&mut self) -> bool {
        let load = self.next_load();
        let known = self.residency.burden.filter(|_| self.is_on_device());
        let burden = match known {
            Some((substep, burden)) if substep == load.substep => burden,
            _ => Burden::of(&mut self.team, load, &self.grains),
        };
        self.residency.burden = Some((load.substep, burden));
        burden.is_one()
    }

    fn next_load(&self) -> LoadedInertia {
        LoadedInertia {
            gravity: self.gravity.length(),
            substep: self.next.substep(&self.clock, &self.method),
        }
    }

    /// Lets what is remembered on the device belong to substeps of another length.
    pub(crate) fn scale_on_device(&mut self, factor: f64) {
        self.residency.scales.push(factor);
    }

    /// Multiplies what is remembered on the device by what it has still to be multiplied by.
    fn catch_up_on_device(&mut self) -> Result<(), StepError> {
        for factor in std::mem::take(&mut self.residency.scales) {
            self.with_resident_device(|device, _| device.scale_remembered(factor))?;
        }
        Ok(())
    }

    /// Whether some grain is so large that blocks of the plan do not hold it.
    fn acts_through_copies(&mut self) -> bool {
        let diameters = self.grains.diameters(&mut self.team);
        let edge = block_edge(self.grains.len(), diameters.mean, diameters.max, true);
        ROOM_IN_BLOCK * diameters.max > edge
    }

    /// Gives grains the state that a device left them in.
    pub fn set_moved_grains(
        &mut self,
        position: &[DVec3],
        state: &[BodyState],
        orientation: &[DQuat],
    ) {
        let rows = self.grains.position.len();
        let grains = &mut self.grains;
        assert!([position.len(), state.len(), orientation.len()] == [rows; 3]);
        self.team.fill(&mut grains.position, rows, |i| position[i]);
        self.team.fill(&mut grains.state, rows, |i| state[i]);
        self.team
            .fill(&mut grains.orientation, rows, |i| orientation[i]);
    }

    /// Kinetic energy that the device measured, where the grains are there.
    pub(crate) fn resident_kinetic_energy(&self) -> Option<f64> {
        self.is_on_device()
            .then_some(self.residency.last.kinetic_energy)
    }

    fn with_resident_device<T>(
        &mut self,
        with: impl FnOnce(&mut dyn ResidentDevice, &mut World) -> Result<T, DeviceError>,
    ) -> Result<T, StepError> {
        let mut device = self
            .residency
            .device
            .take()
            .expect("grains are on a device only where there is one");
        let result = with(&mut *device, self);
        self.residency.device = Some(device);
        result.map_err(|source| self.device_error(source))
    }

    /// Whether the next step can be made on the device, and may be.
    pub(crate) fn steps_on_device(&mut self) -> bool {
        self.residency.device.is_some()
            && self.residency.may_stay
            && self.applied.is_empty()
            && !self.grains.is_empty()
            && self.resident_obstacle().is_none()
    }

    /// Stage `begin`, with the grains on the device where they are there.
    fn begin_on_device(&mut self) -> Result<Turnover, StepError> {
        if self.is_on_device() && !self.can_change_rows() {
            self.fetch()?;
        }
        if !self.is_on_device() {
            return Ok(self.begin());
        }
        self.take_up_resolution();
        let mut rows = KnownRows::Listed(self.listed_rows()?);
        let turnover = self.turn_over(&mut rows);
        if let KnownRows::Listed(rows) = rows
            && turnover != Turnover::default()
        {
            self.change_rows_on_device(rows, turnover.emitted)?;
        }
        if self.sorts_memory() {
            self.share_on_host(self.grains.len());
            self.fetch_grains()?;
            let order = self.memory_order();
            self.grains.reorder(&order, &mut self.team);
            self.with_resident_device(|device, world| device.reorder(world, &order))?;
        }
        Ok(turnover)
    }

    /// Whether somebody may come or go as the next step begins.
    fn may_turn_over(&self) -> bool {
        self.residency.last.may_leave || self.may_emit()
    }

    /// Whether grains that come and go need not be on the host: the device has listed those that
    /// it takes to know, and has room for others. (Grains stay where some are.)
    fn can_change_rows(&self) -> bool {
        let Some(device) = &self.residency.device else {
            return false;
        };
        !self.may_turn_over()
            || (self.most_emitted() <= device.room()
                && device
                    .listed()
                    .is_some_and(|listed| listed.len() < self.grains.len()))
    }

    /// Rows that the device has listed, with their places.
    fn listed_rows(&mut self) -> Result<ListedRows, StepError> {
        if !self.may_turn_over() {
            return Ok(ListedRows::default());
        }
        self.with_resident_device(|device, world| {
            let listed = device.listed().unwrap_or_default();
            for grain in listed {
                world.grains.position[grain.row as usize] = DVec3::from_array(grain.position);
            }
            Ok(ListedRows::new(listed.iter().map(|grain| grain.row)))
        })
    }

    /// Lets the rows of the device follow those of the table, of which the last are new.
    fn change_rows_on_device(&mut self, rows: ListedRows, added: usize) -> Result<(), StepError> {
        let (moved, gone) = rows.into_changes();
        let kept = self.grains.len() - added;
        let load = self.next_load();
        if let Some((substep, burden)) = &mut self.residency.burden
            && *substep == load.substep
        {
            *burden = burden.with(load, &self.grains, kept..self.grains.len());
        } else {
            self.residency.burden = None;
        }
        let changes = RowChanges { moved, gone, kept };
        self.with_resident_device(|device, world| device.change_rows(world, &changes))
    }

    /// A whole step on the device.
    pub(crate) fn step_on_device(&mut self) -> Result<StepReport, StepError> {
        let mut clock = StageClock::start();
        let turnover = self.begin_on_device()?;
        let was_here = !self.is_on_device();
        self.catch_up_on_device()?;
        // Those that came may be heavier or larger than all others.
        let is_possible =
            turnover.emitted == 0 || !(self.acts_through_copies() || self.has_burdens());
        let outcome = match is_possible {
            false => None,
            true => self.with_resident_device(|device, world| {
                if was_here {
                    device.send(world)?;
                }
                device.step(world)
            })?,
        };
        let Some(outcome) = outcome else {
            self.fetch()?;
            self.choose_threads();
            clock.end(Stage::Begin);
            return self.step_from_begin(clock, turnover);
        };
        self.residency.place = Place::Device;
        self.residency.last = outcome;
        clock.end(Stage::Begin);
        self.steps_done += 1;
        let time = self.time();
        let mut report = StepReport {
            step: self.steps_done,
            time,
            step_length: self.step,
            grains: self.grain_count(),
            emitted: turnover.emitted,
            removed: turnover.removed,
            lost: turnover.lost,
            owed: self.emitters.iter().map(|e| e.owed(time)).sum(),
            contacts: outcome.contacts,
            touching: outcome.touching,
            mean_overlap: outcome.mean_overlap,
            max_overlap: outcome.max_overlap,
            sweeps: self.method.sweeps(),
            impacts: outcome.impacts,
            converged: true,
            times: clock.times().with_device(outcome.times),
            threads: self.team.threads(),
            ..Default::default()
        };
        if outcome.is_broken {
            self.fetch()?;
            self.check_finite(time)?;
        }
        self.judge_on_device(&mut report)?;
        for wall in &mut self.walls {
            wall.move_to(time);
        }
        Ok(report)
    }

    /// Judges the step that was just made on the device, as [`World::judge`] does.
    fn judge_on_device(&mut self, report: &mut StepReport) -> Result<(), StepError> {
        let is_look = self.looked();
        if self.accuracy.is_none() && !is_look {
            return Ok(());
        }
        let totals = self.with_resident_device(|device, world| device.look(world, is_look))?;
        self.judge_look(&totals, report);
        Ok(())
    }
}
