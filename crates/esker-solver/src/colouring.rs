//! Colours of contacts all over space, for [`crate::plan`].
//!
//! Every contact gets the smallest colour that its bodies do not have yet:
//!
//! ```text
//! c(i) = min { k ≥ 0 : no contact before i that shares a body with it has colour k }     (1)
//! ```
//!
//! Contacts are taken parity after parity of blocks, and within a block from the bottom up. Blocks
//! of one parity share no body, so that threads colour them at the same time, and the result is
//! that of one thread. Contacts of one colour share no body either: a device sweeps all of a
//! colour at once, in as many rounds as there are colours, some 12 to 15.
//!
//! In the order of a sweep contacts come by colour, by law and class, and then as they were
//! coloured; [`LANES`] that follow one another are a group, and groups [`GROUPS_PER_BLOCK`] at a
//! time are a block.
//!
//! `unsafe`: threads share the colours of bodies. Blocks of one parity share no body, each is
//! coloured by one thread, and barriers stand between parities.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use esker_parallel::{SharedSlice, Team, clear_and_reserve, resize};

use crate::packer::SortRecord;
use crate::plan::{CLASSES, FIXED, LANES};

/// Colours that there are at most: bits of a word.
pub const MOST_COLOURS: usize = u64::BITS as usize;

/// Groups of a block: what a thread takes at a time.
pub const GROUPS_PER_BLOCK: usize = 16;

/// Colours contacts; keeps its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Colouring {
    /// Per body, the colours of its contacts, as bits.
    of_bodies: Vec<u64>,
    /// Per contact, in the order in which they are coloured.
    of_contacts: Vec<u8>,
    /// Contacts in the order of the sweep.
    sorted: Vec<SortRecord>,
    /// Per worker: contacts of every colour, law and class; then the places of its own.
    tables: Vec<u32>,
    largest_kinds: Vec<u32>,
}

/// Where contacts lie before they are coloured.
#[derive(Clone, Copy)]
pub(crate) struct ByBlocks<'a> {
    /// Block by block, from the bottom up.
    pub(crate) records: &'a [SortRecord],
    /// First contact of each block, and the end.
    pub(crate) starts: &'a [u32],
    /// First block of each parity, and the end.
    pub(crate) parities: &'a [u32],
}

/// Parts of a plan that colours decide about.
pub(crate) struct ColouredPlan<'a> {
    pub(crate) order: &'a mut Vec<u32>,
    pub(crate) groups: &'a mut Vec<u32>,
    pub(crate) laws: &'a mut Vec<u16>,
    pub(crate) blocks: &'a mut Vec<u32>,
    pub(crate) colours: &'a mut Vec<u32>,
    pub(crate) fixed: &'a mut Vec<u32>,
    pub(crate) bodies: &'a mut Vec<u32>,
    pub(crate) body_ends: &'a mut Vec<u32>,
}

impl Colouring {
    /// Colours contacts of so many bodies. False where a body has more contacts than there are
    /// colours.
    pub(crate) fn colour(
        &mut self,
        team: &mut Team,
        contacts: ByBlocks<'_>,
        bodies: usize,
    ) -> bool {
        let ByBlocks {
            records,
            starts,
            parities,
        } = contacts;
        resize(&mut self.of_bodies, bodies);
        resize(&mut self.of_contacts, records.len());
        self.largest_kinds.clear();
        self.largest_kinds.resize(team.threads(), 0);
        let of_bodies = SharedSlice::new(&mut self.of_bodies);
        let of_contacts = SharedSlice::new(&mut self.of_contacts);
        let largest_kinds = SharedSlice::new(&mut self.largest_kinds);
        let are_too_many = AtomicBool::new(false);
        team.run(|worker| {
            // SAFETY: parts are disjoint, and a barrier follows.
            unsafe { of_bodies.part(worker.part_of(bodies, 1)) }.fill(0);
            worker.wait_for_all();
            let mut largest_kind = 0;
            for parity in parities.windows(2) {
                let blocks = &starts[parity[0] as usize..=parity[1] as usize];
                let (first, end) = (blocks[0] as usize, blocks[blocks.len() - 1] as usize);
                let share = worker.part_of(end - first, 1);
                let bound = |at: usize| {
                    let own = blocks[..blocks.len() - 1]
                        .partition_point(|&start| (start as usize - first) < at);
                    blocks[own] as usize
                };
                for i in bound(share.start)..bound(share.end) {
                    let record = &records[i];
                    let bodies = record.shared_bodies();
                    // SAFETY: the module's invariants; so below.
                    let taken = bodies
                        .clone()
                        .fold(0, |taken, body| taken | unsafe { *of_bodies.at(body) });
                    let colour = (!taken).trailing_zeros().min(MOST_COLOURS as u32 - 1);
                    if taken == u64::MAX {
                        are_too_many.store(true, Relaxed);
                    }
                    for body in bodies {
                        // SAFETY: as above.
                        unsafe { *of_bodies.at(body) |= 1 << colour };
                    }
                    // SAFETY: a contact is one block's.
                    unsafe { *of_contacts.at(i) = colour as u8 };
                    largest_kind = largest_kind.max(record.law_and_class);
                }
                worker.wait_for_all();
            }
            // SAFETY: every worker has one of its own.
            unsafe { *largest_kinds.at(worker.index) = largest_kind };
        });
        !are_too_many.into_inner()
    }

    /// Puts coloured contacts into the order of a sweep.
    pub(crate) fn sort(
        &mut self,
        team: &mut Team,
        records: &[SortRecord],
        plan: &mut ColouredPlan<'_>,
    ) {
        let count = records.len();
        let kinds = 1 + self.largest_kinds.iter().copied().max().unwrap_or(0) as usize;
        let bins = MOST_COLOURS * kinds;
        resize(&mut self.tables, bins * team.threads());
        let colours = &self.of_contacts;
        let bin_of = |i: usize| usize::from(colours[i]) * kinds + records[i].law_and_class as usize;
        let own_table = |worker: usize| worker * bins..(worker + 1) * bins;
        let tables = SharedSlice::new(&mut self.tables);
        team.run(|worker| {
            // SAFETY: every worker has a table of its own.
            let counts = unsafe { tables.part(own_table(worker.index)) };
            counts.fill(0);
            for i in worker.part_of(count, 1) {
                counts[bin_of(i)] += 1;
            }
        });
        cut(&mut self.tables, kinds, count, plan);
        resize(&mut self.sorted, count);
        let tables = SharedSlice::new(&mut self.tables);
        let sorted = SharedSlice::new(&mut self.sorted);
        team.run(|worker| {
            // SAFETY: every worker has a table of its own, and the tables give every contact a
            // place of its own.
            let next = unsafe { tables.part(own_table(worker.index)) };
            for i in worker.part_of(count, 1) {
                let place = &mut next[bin_of(i)];
                // SAFETY: as above.
                unsafe { *sorted.at(*place as usize) = records[i] };
                *place += 1;
            }
        });
        let sorted = &self.sorted;
        team.fill(plan.order, count, |k| sorted[k].contact);
        // A fixed body is not worth a prefetch, and its partner no harm twice.
        team.fill(plan.bodies, 2 * count, |k| {
            let bodies = sorted[k / 2].bodies;
            let own = bodies[k % 2];
            if own == FIXED { bodies[1 - k % 2] } else { own }
        });
        clear_and_reserve(plan.fixed, count);
        let is_fixed = |k: &u32| sorted[*k as usize].bodies.contains(&FIXED);
        plan.fixed.extend((0..count as u32).filter(is_fixed));
    }
}

/// Cuts the order into groups and blocks; tables become places.
fn cut(tables: &mut [u32], kinds: usize, count: usize, plan: &mut ColouredPlan<'_>) {
    let bins = MOST_COLOURS * kinds;
    // A group has a contact at least.
    clear_and_reserve(plan.groups, count + 1);
    clear_and_reserve(plan.laws, count);
    clear_and_reserve(plan.blocks, count + 1);
    plan.colours.clear();
    plan.groups.push(0);
    plan.blocks.push(0);
    let mut next = 0_u32;
    for colour in 0..MOST_COLOURS {
        // Greedy colours are used without gaps.
        if next as usize == count {
            break;
        }
        let first = plan.laws.len();
        plan.colours.push(plan.blocks.len() as u32 - 1);
        for kind in 0..kinds {
            let start = next;
            for table in tables.chunks_exact_mut(bins) {
                let entry = &mut table[colour * kinds + kind];
                next += std::mem::replace(entry, next);
            }
            let starts = (start..next).step_by(LANES);
            plan.groups
                .extend(starts.map(|group| (group + LANES as u32).min(next)));
            let law = (kind / usize::from(CLASSES)) as u16;
            plan.laws.resize(plan.groups.len() - 1, law);
        }
        let groups = plan.laws.len();
        let ends = (first + GROUPS_PER_BLOCK..groups).step_by(GROUPS_PER_BLOCK);
        plan.blocks.extend(ends.map(|group| group as u32));
        plan.blocks.push(groups as u32);
    }
    plan.colours.push(plan.blocks.len() as u32 - 1);
    plan.body_ends.clear();
    let contacts = plan.blocks.iter().map(|&group| plan.groups[group as usize]);
    plan.body_ends.extend(contacts.map(|contact| 2 * contact));
}
