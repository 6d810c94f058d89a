//! What contacts give to the walls over all substeps of a step.
//!
//! The impulse of a contact in a substep is what it stores after the sweep:
//! warm start and impacts are in it. Impacts are subtracted again before the
//! next substep, so the sum has to be kept while they are there. It is taken
//! block by block right after the block's sweep, when its groups are in the
//! nearest cache; every contact has a sum of its own, so that the number of
//! threads does not enter.

use esker_contact::Impulse;
use esker_parallel::{SharedSlice, clear_and_reserve};

use crate::kernel::Work;
use crate::packed::vector;
use crate::plan::{LANES, SweepPlan};

/// Sums of the impulses of the contacts with walls.
#[derive(Debug, Default)]
pub(crate) struct WallImpulses {
    /// Slots (group · LANES + lane) of the plan's fixed contacts, ascending.
    slots: Vec<u32>,
    /// Block `b` has the slots `starts[b]..starts[b + 1]`.
    starts: Vec<u32>,
    sums: Vec<Impulse>,
}

impl WallImpulses {
    /// Begins a step over the contacts of a plan.
    pub(crate) fn begin(&mut self, plan: &SweepPlan) -> WallSums<'_> {
        let WallImpulses {
            slots,
            starts,
            sums,
        } = self;
        clear_and_reserve(slots, plan.fixed.len());
        clear_and_reserve(starts, plan.blocks.len());
        let (mut group, mut block) = (0, 0);
        for &contact in &plan.fixed {
            while plan.groups[group + 1] <= contact {
                group += 1;
            }
            while plan.blocks[block] as usize <= group {
                starts.push(slots.len() as u32);
                block += 1;
            }
            let lane = (contact - plan.groups[group]) as usize;
            slots.push((group * LANES + lane) as u32);
        }
        starts.resize(plan.blocks.len(), slots.len() as u32);
        clear_and_reserve(sums, slots.len());
        sums.resize(slots.len(), Impulse::default());
        WallSums {
            slots,
            starts,
            sums: SharedSlice::new(sums),
        }
    }

    /// One sum per contact of [`SweepPlan::fixed`], in its order.
    pub(crate) fn sums(&self) -> &[Impulse] {
        &self.sums
    }
}

/// The sums of [`WallImpulses`] as threads share them.
#[derive(Clone, Copy)]
pub(crate) struct WallSums<'a> {
    slots: &'a [u32],
    starts: &'a [u32],
    sums: SharedSlice<'a, Impulse>,
}

impl WallSums<'_> {
    /// Adds the impulses that the contacts of a block hold now.
    ///
    /// # Safety
    /// No other thread touches the groups or the sums of this block.
    #[inline]
    pub(crate) unsafe fn add_block(&self, work: &Work<'_>, block: usize) {
        let range = self.starts[block] as usize..self.starts[block + 1] as usize;
        // SAFETY: blocks are disjoint ranges of slots; the rest is passed on to
        // the caller.
        let sums = unsafe { self.sums.part(range.clone()) };
        for (&slot, sum) in self.slots[range].iter().zip(sums) {
            let (group, lane) = (slot as usize / LANES, slot as usize % LANES);
            // SAFETY: passed on to the caller.
            let (rows, rolling) = unsafe {
                (
                    &(*work.groups.add(group)).rows,
                    work.rolls.then(|| &*work.rolling.add(group)),
                )
            };
            if rows.impulse[lane] > 0.0 {
                sum.normal += rows.impulse[lane];
                sum.friction += vector(&rows.friction, lane);
                if let Some(rolling) = rolling {
                    sum.rolling += vector(&rolling.rolling, lane);
                    sum.twisting += rolling.twisting[lane];
                }
            }
        }
    }
}
