//! What some contacts give to their bodies over all substeps of a step: those with walls and
//! whatever else has its forces recorded.
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

/// Sums of the impulses of some contacts.
#[derive(Debug, Default)]
pub(crate) struct ImpulseSums {
    /// Slots (group · LANES + lane) of the contacts, ascending.
    slots: Vec<u32>,
    /// Block `b` has the slots `starts[b]..starts[b + 1]`.
    starts: Vec<u32>,
    sums: Vec<Impulse>,
}

impl ImpulseSums {
    /// Begins a step: sums are kept of the contacts at these places of a plan, ascending.
    pub(crate) fn begin(&mut self, plan: &SweepPlan, tracked: &[u32]) -> SharedSums<'_> {
        let ImpulseSums {
            slots,
            starts,
            sums,
        } = self;
        clear_and_reserve(slots, tracked.len());
        clear_and_reserve(starts, plan.blocks.len());
        let (mut group, mut block) = (0, 0);
        for &contact in tracked {
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
        SharedSums {
            slots,
            starts,
            sums: SharedSlice::new(sums),
        }
    }

    /// One sum per contact, in their order.
    pub(crate) fn sums(&self) -> &[Impulse] {
        &self.sums
    }
}

/// The sums of [`ImpulseSums`] as threads share them.
#[derive(Clone, Copy)]
pub(crate) struct SharedSums<'a> {
    slots: &'a [u32],
    starts: &'a [u32],
    sums: SharedSlice<'a, Impulse>,
}

impl SharedSums<'_> {
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
