//! Where the energy goes over the substeps of a step: the terms of
//! [`EnergyLoss`] summed over loaded contacts after every sweep.
//!
//! A pass of its own over all contacts, made only where somebody wants to know.
//! Sums are kept per chunk of groups and joined in order, so that the number of
//! threads does not enter.

use esker_contact::{BodyState, EnergyLoss};
use esker_parallel::{SharedSlice, Worker};
use glam::DVec3;

use crate::kernel::Work;
use crate::lanes::Quad;
use crate::packed::{Group, impulse_in, with_rows};
use crate::plan::LANES;

/// Groups whose losses are summed together.
pub const GROUPS_PER_LOSS: usize = 64;

/// Losses of the contacts of a plan.
#[derive(Debug, Default)]
pub(crate) struct EnergyLosses {
    /// Per chunk of groups.
    chunks: Vec<EnergyLoss>,
    /// Per group, a bit for each lane that was an impact row in this substep.
    impacts: Vec<u8>,
}

impl EnergyLosses {
    /// Begins a step over so many groups.
    pub(crate) fn begin(&mut self, groups: usize) -> SharedLosses<'_> {
        const { assert!(LANES <= u8::BITS as usize) };
        self.chunks.clear();
        self.chunks
            .resize(groups.div_ceil(GROUPS_PER_LOSS), EnergyLoss::default());
        self.impacts.clear();
        self.impacts.resize(groups, 0);
        SharedLosses {
            chunks: SharedSlice::new(&mut self.chunks),
            impacts: SharedSlice::new(&mut self.impacts),
        }
    }

    /// Losses of all contacts over the step.
    pub(crate) fn total(&self) -> EnergyLoss {
        let zero = EnergyLoss::default();
        self.chunks.iter().fold(zero, |sum, loss| sum.plus(loss))
    }
}

/// [`EnergyLosses`] as threads share them.
#[derive(Clone, Copy)]
pub(crate) struct SharedLosses<'a> {
    chunks: SharedSlice<'a, EnergyLoss>,
    impacts: SharedSlice<'a, u8>,
}

impl SharedLosses<'_> {
    /// Adds the losses of the substep that was just swept, by all workers
    /// together. `before_angular_velocity` are the angular velocities at its start (velocities
    /// are the work's), `impacts` the slots of the impact rows that this worker swept.
    ///
    /// # Safety
    /// Groups, bodies and the states before are not written until the call has returned
    /// on all workers, and no slot is an impact of two workers' blocks.
    pub(crate) unsafe fn add_substep(
        &self,
        worker: Worker<'_>,
        work: &Work<'_>,
        before_angular_velocity: SharedSlice<'_, Quad>,
        impacts: &[u32],
    ) {
        for &slot in impacts {
            // SAFETY: a group is in one block, and a block was swept by one worker.
            unsafe { *self.impacts.at(slot as usize / LANES) |= 1 << (slot as usize % LANES) };
        }
        worker.wait_for_all();
        let groups = work.group_laws.len();
        for chunk in worker.part_of(self.chunks.len(), 1) {
            let range = chunk * GROUPS_PER_LOSS..((chunk + 1) * GROUPS_PER_LOSS).min(groups);
            // SAFETY: parts of workers are disjoint; the rest is passed on to
            // the caller.
            unsafe {
                let sum = self.chunks.at(chunk);
                for group in range {
                    let impacts = std::mem::take(self.impacts.at(group));
                    add_group(sum, work, group, before_angular_velocity, impacts);
                }
            }
        }
        worker.wait_for_all();
    }
}

/// Adds the losses of the loaded contacts of one group.
///
/// # Safety
/// As for [`SharedLosses::add_substep`].
unsafe fn add_group(
    sum: &mut EnergyLoss,
    work: &Work<'_>,
    group: usize,
    before_angular_velocity: SharedSlice<'_, Quad>,
    impacts: u8,
) {
    let size = (work.group_ends[group + 1] - work.group_ends[group]) as usize;
    // SAFETY: passed on to the caller; nothing is written here.
    unsafe {
        let rolling = work.rolls.then(|| &*work.rolling.add(group));
        let Group { bodies, rows: g } = &*work.groups.add(group);
        for lane in (0..size).filter(|&lane| g.impulse[lane] > 0.0) {
            let bodies = bodies.map(|b| b[lane] as usize);
            let before = bodies.map(|b| BodyState {
                velocity: DVec3::from_slice(&work.before.add(b).read().0),
                angular_velocity: DVec3::from_slice(
                    &before_angular_velocity.as_mut_ptr().add(b).read().0,
                ),
                ..Default::default()
            });
            let after = bodies.map(|b| &*work.bodies.add(b));
            let impulse = impulse_in(g, rolling, lane);
            let states = [&before[0], &before[1]];
            let loss = with_rows(work, group, lane, |rows| {
                EnergyLoss::of(rows, &impulse, states, after)
            });
            let is_impact = impacts >> lane & 1 == 1;
            *sum = sum.plus(&if is_impact { loss.as_impact() } else { loss });
        }
    }
}
