//! The order of a sweep: contacts in lanes, lanes in blocks, blocks in colours.
//!
//! Space is cut into cubic blocks of edge `s`. A contact belongs to the block
//! of its contact point; blocks are coloured by the parity of their three
//! coordinates. A body touches its contacts at distances up to its arm `l`, so
//! two contacts of one body are at most `2 l` apart, while different blocks of
//! one colour are at least `s` apart in some direction:
//!
//! ```text
//! s > 2 max(l)   ⇒   blocks of one colour share no body,               (1)
//! ```
//!
//! and they can be swept at the same time in any order with the same result.
//! A body with an arm that breaks (1) takes part in contacts with much smaller
//! bodies by copies, which share no block of one colour and no group (see
//! [`crate::copies`]). Its other contacts, few as such bodies are, come last, in
//! a block of their own.
//!
//! Within a block contacts are taken from the bottom up and packed into groups of
//! [`LANES`] contacts that share no body and follow one law, first fit. Contacts
//! that touch and contacts that may do so sooner or later go into different groups: a
//! group of open contacts mostly has nothing to do. What is left of a block when all of its
//! contacts are taken fills lanes of one another: contacts that may sleep go with those that are
//! swept, and contacts whose geometry may stay as it was with those that follow their bodies.
//!
//! Devices need fewer steps that depend on one another than the 40 to 80 that a block
//! has in this order. Up to some number of contacts these come by colours of all of
//! space ([`crate::colouring`]); blocks are runs of groups then. Of more, contacts of a block
//! are given colours, each the smallest that its bodies do not have yet, and packed
//! colour after colour: a block has little more steps than a body has contacts,
//! some 12, and its bodies are fetched once per sweep.
//!
//! The order is a function of the contacts' places and laws. Neither the order
//! in which they are listed nor the number of threads enters. Swept one after
//! another in this order, contacts give what the lanes and threads give.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use esker_parallel::{
    CellKey, SharedSlice, SparseCells, Team, Worker, cell_coordinate, clear_and_reserve, resize,
};
use glam::DVec3;

use crate::colouring::{ByBlocks, ColouredPlan, Colouring};
use crate::copies::{self, Copies};
use crate::packer::{Packer, SortRecord};

/// Contacts per group: one AVX-512 register, or two of AVX2.
pub const LANES: usize = 8;

/// What the plan needs to know about one contact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactDescriptor {
    /// Contact point, m.
    pub point: DVec3,
    /// Distances from the point to the centres of the bodies, m; any for a
    /// [`FIXED`] one.
    pub arms: [f64; 2],
    /// The bodies; [`FIXED`] for one that belongs to this contact alone.
    pub bodies: [u32; 2],
    /// Decides between contacts at the same point.
    pub name: [u64; 3],
    /// Index of its law; contacts of one group have the same.
    pub law: u16,
    /// Who touches already and who can do so sooner or later, below [`CLASSES`];
    /// contacts of one group are of one kind.
    pub class: u8,
}

/// Contacts to plan for.
pub trait ContactDescriptors: Sync {
    /// How many there are.
    fn count(&self) -> usize;

    /// Where one of them is.
    fn descriptor(&self, contact: usize) -> ContactDescriptor;
}

impl ContactDescriptors for [ContactDescriptor] {
    fn count(&self) -> usize {
        self.len()
    }

    fn descriptor(&self, contact: usize) -> ContactDescriptor {
        self[contact]
    }
}

/// Kinds of contacts that a plan tells apart.
pub const CLASSES: u8 = 4;

/// A body that no other contact moves, such as a wall.
pub const FIXED: u32 = u32::MAX;

/// The order of a sweep, as nested ranges.
#[derive(Clone, Debug, Default)]
pub struct SweepPlan {
    /// Contacts in sweep order, as indices of the list planned.
    pub order: Vec<u32>,
    /// Group `g` has the contacts `order[groups[g]..groups[g + 1]]`.
    pub groups: Vec<u32>,
    /// Law of each group.
    pub laws: Vec<u16>,
    /// Block `b` has the groups `blocks[b]..blocks[b + 1]`.
    pub blocks: Vec<u32>,
    /// Colour `c` has the blocks `colours[c]..colours[c + 1]`.
    pub colours: Vec<u32>,
    /// Places in `order` of contacts with a [`FIXED`] body, ascending.
    pub fixed: Vec<u32>,
    /// Whether contacts are ordered by colours first, as devices do it, and not from the bottom
    /// up alone.
    pub is_coloured: bool,
    /// Contacts up to which colours are those of all of space; those of more are the blocks' own.
    pub most_flat: usize,
    /// Whether they are those of all of space: contacts of one colour share no body, and blocks are
    /// no more than runs of groups.
    pub is_flat: bool,
    /// By how much larger the law of contacts is that follow their bodies; zero where none do.
    /// A contact may be put into a group of followers though its own law does not follow.
    pub following: u16,
    /// The bodies of each block, block after block, without [`FIXED`] ones.
    bodies: Vec<u32>,
    /// Block `b` has the bodies `bodies[body_ends[b]..body_ends[b + 1]]`.
    body_ends: Vec<u32>,
    /// Copies of large bodies.
    pub copies: Copies,
    scratch: Scratch,
}

/// Memory kept from plan to plan.
#[derive(Clone, Debug, Default)]
struct Scratch {
    cells: SparseCells,
    cell_of: Vec<u32>,
    unsorted: Vec<SortRecord>,
    /// One table of cells per worker: first counts, then places.
    tables: Vec<u32>,
    /// What packing reads of the contacts, block after block.
    records: Vec<SortRecord>,
    /// First contact of each block, and the end.
    starts: Vec<u32>,
    group_counts: Vec<u32>,
    body_counts: Vec<u32>,
    packers: Vec<Packer>,
    colouring: Colouring,
}

/// Contacts up to which plans of devices are flat. A colour of all of space fetches its bodies anew
/// and a block once per sweep, but blocks wait for level after level, and are packed one contact
/// after the other.
pub const MOST_FLAT: usize = 10_000_000;

/// Blocks aimed at: enough for many threads to share them evenly.
const BLOCKS_WANTED: f64 = 500.0;
/// Smallest and largest edge of a block, in mean diameters.
const EDGE_RANGE: [f64; 2] = [4.0, 8.0];
/// The edge may grow to this many mean diameters to hold the largest grains.
const WIDEST_EDGE: f64 = 12.0;
/// Contacts of a grain of a packing, about.
const CONTACTS_PER_GRAIN: usize = 3;
/// Edge of the blocks for this many grains, m: a few diameters. In the order of devices
/// (`is_coloured`), as long as it is flat, blocks are as small as they may be: a device orders many
/// at once, and each in the memory of a thread block.
pub fn block_edge(grains: usize, mean_diameter: f64, max_diameter: f64, is_coloured: bool) -> f64 {
    // A random packing has about 1.15 grains per cubed diameter.
    let wanted = match is_coloured && grains <= MOST_FLAT / CONTACTS_PER_GRAIN {
        true => EDGE_RANGE[0],
        false => (grains as f64 / (1.15 * BLOCKS_WANTED)).cbrt(),
    };
    // The slack over equation (1) covers gaps, which make arms longer.
    let min = (1.1 * max_diameter / mean_diameter).min(WIDEST_EDGE);
    wanted.clamp(EDGE_RANGE[0], EDGE_RANGE[1]).max(min) * mean_diameter
}

/// A body counts as much smaller than another if its arm is at most this part.
const MUCH_SMALLER: f64 = 0.25;

/// The cells that blocks are cut along.
#[derive(Clone, Copy, Debug, Default)]
struct Cells {
    edge: f64,
    cells_per_metre: f64,
}

/// Parities of three coordinates.
const COLOURS: usize = 8;

/// The block of contacts that (1) does not hold for: the last.
const OVERFLOW: CellKey = [COLOURS as i32, 0, 0, 0];

impl Cells {
    fn new(edge: f64) -> Self {
        Cells {
            edge,
            cells_per_metre: 1.0 / edge,
        }
    }

    /// The cell of a point: colour after colour, from the bottom up. That what lies
    /// farther out joins the outermost brings no two cells of one colour closer: (1) stays
    /// true.
    #[inline(always)]
    fn key(&self, point: DVec3) -> CellKey {
        let at = point * self.cells_per_metre;
        let [x, y, z] = [at.x, at.y, at.z].map(cell_coordinate);
        [x & 1 | (y & 1) << 1 | (z & 1) << 2, z, y, x]
    }

    /// Whether (1) holds for an arm, with more than rounding to spare.
    #[inline]
    fn hold(&self, arm: f64) -> bool {
        2.0 * arm < (1.0 - 1e-9) * self.edge
    }

    /// The cell of a contact, or the one behind all cells where (1) does not
    /// hold; marks a body that is to act through copies.
    #[inline(always)]
    fn assign(&self, descriptor: &mut ContactDescriptor) -> CellKey {
        let [a, b] = descriptor.arms;
        let holds = [0, 1].map(|k| descriptor.bodies[k] == FIXED || self.hold(descriptor.arms[k]));
        let large = match holds {
            [true, true] => return self.key(descriptor.point),
            [false, true] if descriptor.bodies[1] != FIXED && b <= MUCH_SMALLER * a => 0,
            [true, false] if descriptor.bodies[0] != FIXED && a <= MUCH_SMALLER * b => 1,
            _ => return OVERFLOW,
        };
        descriptor.bodies[large] = copies::marked(descriptor.bodies[large]);
        self.key(descriptor.point)
    }
}

impl SweepPlan {
    /// Number of contacts.
    pub fn contacts(&self) -> usize {
        self.order.len()
    }

    /// Number of groups.
    pub fn group_count(&self) -> usize {
        self.laws.len()
    }

    /// The law of every contact, in order.
    pub fn laws_of_contacts(&self) -> impl Iterator<Item = u16> {
        let sizes = self
            .groups
            .windows(2)
            .map(|ends| (ends[1] - ends[0]) as usize);
        let groups = sizes.zip(&self.laws);
        groups.flat_map(|(size, &law)| std::iter::repeat_n(law, size))
    }

    /// Share of the lanes that hold a contact.
    pub fn fill(&self) -> f64 {
        self.contacts() as f64 / (LANES * self.group_count()).max(1) as f64
    }

    /// Plans a sweep over these contacts of so many bodies, with blocks of this
    /// edge, m.
    pub fn build<P: ContactDescriptors + ?Sized>(
        &mut self,
        team: &mut Team,
        descriptors: &P,
        (bodies, edge): (usize, f64),
    ) {
        assert!(bodies < copies::MOST_BODIES, "indices are 31 bits");
        self.copies.clear(bodies);
        let is_split = self.sort_into_blocks(team, descriptors, Cells::new(edge));
        self.is_flat = self.is_coloured
            && !is_split
            && (1..=self.most_flat).contains(&descriptors.count())
            && self.colour(team, descriptors, bodies);
        if self.is_flat {
            return;
        }
        if is_split {
            self.allot_copies(team);
        }
        self.pack_blocks(team, descriptors, bodies);
        self.join_blocks();
    }

    /// Orders contacts by colours of all of space; false where these do not do.
    fn colour<P: ContactDescriptors + ?Sized>(
        &mut self,
        team: &mut Team,
        descriptors: &P,
        bodies: usize,
    ) -> bool {
        let Scratch {
            records,
            starts,
            colouring,
            ..
        } = &mut self.scratch;
        let all = SharedSlice::new(records);
        team.run(|worker| {
            for block in own_blocks(starts, worker) {
                // SAFETY: blocks are shared out by where they start.
                let records =
                    unsafe { all.part(starts[block] as usize..starts[block + 1] as usize) };
                sort_by_height(records, descriptors);
            }
        });
        let contacts = ByBlocks {
            records,
            starts,
            parities: &self.colours,
        };
        if !colouring.colour(team, contacts, bodies) {
            return false;
        }
        let mut plan = ColouredPlan {
            order: &mut self.order,
            groups: &mut self.groups,
            laws: &mut self.laws,
            blocks: &mut self.blocks,
            colours: &mut self.colours,
            fixed: &mut self.fixed,
            bodies: &mut self.bodies,
            body_ends: &mut self.body_ends,
        };
        colouring.sort(team, records, &mut plan);
        true
    }

    /// Plans a plain serial sweep: from the bottom up, one contact per group,
    /// all in one block. What block orders are compared with.
    pub fn build_plain<P: ContactDescriptors + ?Sized>(&mut self, descriptors: &P) {
        let descriptors: Vec<ContactDescriptor> = (0..descriptors.count())
            .map(|i| descriptors.descriptor(i))
            .collect();
        let count = descriptors.len() as u32;
        self.copies.clear(0);
        self.is_flat = false;
        self.order.clear();
        self.order.extend(0..count);
        self.order.sort_unstable_by(|&a, &b| {
            let (a, b) = (&descriptors[a as usize], &descriptors[b as usize]);
            a.point.z.total_cmp(&b.point.z).then_with(|| exactly(a, b))
        });
        self.groups.clear();
        self.groups.extend(0..=count);
        self.laws.clear();
        self.laws
            .extend(self.order.iter().map(|&i| descriptors[i as usize].law));
        self.bodies.clear();
        self.body_ends.clear();
        self.blocks.clear();
        self.blocks.extend([0, count]);
        self.colours.clear();
        self.colours.extend([0, 1]);
        self.fixed.clear();
        let is_fixed = |k: &u32| {
            descriptors[self.order[*k as usize] as usize]
                .bodies
                .contains(&FIXED)
        };
        self.fixed.extend((0..count).filter(is_fixed));
    }

    /// Whether copies are joined in this block: the last, if there are any.
    #[inline]
    pub(crate) fn joins_copies(&self, block: usize) -> bool {
        !self.copies.is_empty() && block + 2 == self.blocks.len()
    }

    /// A stable counting sort by block, colour after colour: every worker
    /// counts and then places its own part of the contacts. Returns whether
    /// contacts act on copies; there is then a last block, be it empty.
    fn sort_into_blocks<P: ContactDescriptors + ?Sized>(
        &mut self,
        team: &mut Team,
        descriptors: &P,
        edges: Cells,
    ) -> bool {
        let Scratch {
            cells,
            cell_of,
            unsorted,
            tables,
            records,
            starts,
            ..
        } = &mut self.scratch;
        let count = descriptors.count();
        resize(unsorted, count);
        let slots = SharedSlice::new(unsorted);
        let is_split = AtomicBool::new(false);
        cells.number(team, count, cell_of, |i| {
            let mut descriptor = descriptors.descriptor(i);
            let bodies = descriptor.bodies;
            let cell = edges.assign(&mut descriptor);
            if descriptor.bodies != bodies {
                is_split.store(true, Relaxed);
            }
            // SAFETY: this is called once for every contact.
            unsafe { *slots.at(i) = SortRecord::new(i, &descriptor) };
            cell
        });
        let is_split = is_split.into_inner();
        let table = cells.keys().len();
        resize(tables, table * team.threads());
        tables.fill(0);
        let own_tables = SharedSlice::new(tables);
        team.run(|worker| {
            // SAFETY: every worker has a table of its own.
            let counts =
                unsafe { own_tables.part(worker.index * table..(worker.index + 1) * table) };
            for &cell in &cell_of[worker.part_of(count, 1)] {
                counts[cell as usize] += 1;
            }
        });
        clear_and_reserve(starts, table + 2);
        self.colours.clear();
        let mut next = 0;
        for (cell, key) in cells.keys().iter().enumerate() {
            let colour = key[0] as usize;
            self.colours
                .resize((colour + 1).max(self.colours.len()), starts.len() as u32);
            starts.push(next);
            for worker in 0..team.threads() {
                next += std::mem::replace(&mut tables[worker * table + cell], next);
            }
        }
        // All colours, and the block behind them.
        self.colours.resize(COLOURS + 1, starts.len() as u32);
        if is_split && cells.keys().last() != Some(&OVERFLOW) {
            starts.push(next);
        }
        self.colours.push(starts.len() as u32);
        starts.push(next);

        resize(records, unsorted.len());
        let own_tables = SharedSlice::new(tables);
        let slots = SharedSlice::new(records);
        team.run(|worker| {
            // SAFETY: every worker has a table of its own, and the tables give
            // every contact a slot of its own.
            let next = unsafe { own_tables.part(worker.index * table..(worker.index + 1) * table) };
            for i in worker.part_of(unsorted.len(), 1) {
                let slot = &mut next[cell_of[i] as usize];
                // SAFETY: as above.
                unsafe { *slots.at(*slot as usize) = unsorted[i] };
                *slot += 1;
            }
        });
        is_split
    }

    /// Counts what acts on copies and gives it copies.
    fn allot_copies(&mut self, team: &mut Team) {
        let Scratch {
            records,
            starts,
            packers,
            ..
        } = &mut self.scratch;
        packers.resize_with(team.threads(), Packer::default);
        let all = SharedSlice::new(packers);
        team.run(|worker| {
            // SAFETY: every worker has a packer of its own.
            let shares = unsafe { &mut all.at(worker.index).shares };
            shares.clear();
            for block in own_blocks(starts, worker) {
                let records = &records[starts[block] as usize..starts[block + 1] as usize];
                let bodies = records.iter().flat_map(|record| record.bodies);
                copies::count_marked(block as u32, bodies, shares);
            }
        });
        for packer in packers {
            self.copies.add_shares(&packer.shares);
        }
        self.copies.allot(&self.colours);
        resize(&mut self.copies.contacts, records.len());
    }

    /// Sorts every block from the bottom up and packs it into groups. Workers
    /// take consecutive blocks.
    fn pack_blocks<P: ContactDescriptors + ?Sized>(
        &mut self,
        team: &mut Team,
        descriptors: &P,
        bodies: usize,
    ) {
        let Scratch {
            records,
            starts,
            group_counts,
            body_counts,
            packers,
            ..
        } = &mut self.scratch;
        let blocks = starts.len() - 1;
        let copies = &mut self.copies;
        let mut acted_on = std::mem::take(&mut copies.contacts);
        let bodies = bodies + copies.count();
        let (is_coloured, following) = (self.is_coloured, self.following);
        resize(&mut self.order, records.len());
        for counts in [&mut *group_counts, &mut *body_counts] {
            counts.clear();
            counts.reserve(starts.capacity());
            counts.resize(blocks, 0);
        }
        packers.resize_with(team.threads(), Packer::default);
        let count = records.len();
        let (records, order) = (SharedSlice::new(records), SharedSlice::new(&mut self.order));
        let (packers, counts) = (SharedSlice::new(packers), SharedSlice::new(group_counts));
        let body_counts = SharedSlice::new(body_counts);
        let named = SharedSlice::new(&mut acted_on);
        team.run(|worker| {
            // SAFETY: every worker has a packer of its own, and blocks (hence
            // their contacts) are shared out by where they start.
            let packer = unsafe { packers.at(worker.index) };
            packer.start(bodies, worker.part_of(count, 1).len(), following);
            for block in own_blocks(starts, worker) {
                let range = starts[block] as usize..starts[block + 1] as usize;
                let first = range.start;
                // SAFETY: as above.
                let (records, order) =
                    unsafe { (records.part(range.clone()), order.part(range.clone())) };
                sort_by_height(records, descriptors);
                let before = (packer.groups.len(), packer.bodies.len());
                if copies.is_empty() {
                    if is_coloured {
                        packer.sort_by_colour(records);
                    }
                    packer.pack(records, (order, &mut []), first, !is_coloured);
                } else {
                    let bodies = records.iter_mut().flat_map(|record| &mut record.bodies);
                    copies.name(block as u32, bodies, &mut packer.taken);
                    if is_coloured {
                        packer.sort_by_colour(records);
                    }
                    // SAFETY: as above.
                    let named = unsafe { named.part(range) };
                    packer.pack(records, (order, named), first, !is_coloured);
                }
                // SAFETY: as above.
                unsafe {
                    *counts.at(block) = (packer.groups.len() - before.0) as u32;
                    *body_counts.at(block) = (packer.bodies.len() - before.1) as u32;
                }
            }
        });
        copies.contacts = acted_on;
    }

    fn join_blocks(&mut self) {
        self.groups.clear();
        self.laws.clear();
        self.groups.push(0);
        let mut end = 0;
        for packer in &self.scratch.packers {
            for &(size, law) in &packer.groups {
                end += u32::from(size);
                self.groups.push(end);
                self.laws.push(law);
            }
        }
        // All could be: as much room as for the order.
        clear_and_reserve(&mut self.fixed, self.order.len());
        for packer in &self.scratch.packers {
            self.fixed.extend_from_slice(&packer.fixed);
        }
        // Two of every contact at most.
        clear_and_reserve(&mut self.bodies, 2 * self.order.len());
        for packer in &self.scratch.packers {
            self.bodies.extend_from_slice(&packer.bodies);
        }
        add_up(&self.scratch.group_counts, &mut self.blocks);
        add_up(&self.scratch.body_counts, &mut self.body_ends);
    }

    /// The bodies of a block that other contacts may move too, to be prefetched; none of a
    /// plain sweep's, nor beyond the last.
    #[inline]
    pub(crate) fn bodies_of(&self, block: usize) -> &[u32] {
        match self.body_ends.get(block..block + 2) {
            Some(ends) => &self.bodies[ends[0] as usize..ends[1] as usize],
            None => &[],
        }
    }
}

/// Zero and the sums of the first counts, the last of all.
fn add_up(counts: &[u32], sums: &mut Vec<u32>) {
    let mut sum = 0;
    sums.clear();
    sums.push(0);
    sums.extend(counts.iter().map(|count| {
        sum += count;
        sum
    }));
}

/// The blocks of a worker: those that start in its part of the contacts.
fn own_blocks(starts: &[u32], worker: Worker<'_>) -> Range<usize> {
    let Some((&count, blocks)) = starts.split_last() else {
        return 0..0;
    };
    let share = worker.part_of(count as usize, 1);
    let before = |end: usize| blocks.partition_point(|&start| (start as usize) < end);
    before(share.start)..before(share.end)
}

/// Sorts the contacts of a block from the bottom up.
fn sort_by_height<P: ContactDescriptors + ?Sized>(records: &mut [SortRecord], descriptors: &P) {
    records.sort_unstable_by_key(|record| record.height);
    // Few are at the same height.
    for level in records.chunk_by_mut(|a, b| a.height == b.height) {
        if level.len() > 1 {
            let descriptor = |record: &SortRecord| descriptors.descriptor(record.contact as usize);
            level.sort_unstable_by(|a, b| exactly(&descriptor(a), &descriptor(b)));
        }
    }
}

fn exactly(a: &ContactDescriptor, b: &ContactDescriptor) -> Ordering {
    let by = |k: usize| a.point[k].total_cmp(&b.point[k]);
    by(1).then(by(0)).then(a.name.cmp(&b.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Contacts of a jittered crowd of spheres, with a few walls, two laws,
    /// one stray and one giant.
    fn crowd() -> (Vec<ContactDescriptor>, usize) {
        let mut descriptors = Vec::new();
        let side = 14_u32;
        let index = |x: u32, y: u32, z: u32| (z * side + y) * side + x;
        let noise = |i: u32| f64::from(i.wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24);
        for z in 0..side {
            for y in 0..side {
                for x in 0..side {
                    let me = index(x, y, z);
                    let at = DVec3::new(f64::from(x), f64::from(y), f64::from(z))
                        + DVec3::splat(0.2 * noise(me));
                    let mut add = |other: u32, offset: DVec3| {
                        let number = descriptors.len() as u32;
                        descriptors.push(ContactDescriptor {
                            point: at + offset * 0.5,
                            arms: [0.55; 2],
                            bodies: [me, other],
                            name: [u64::from(me), u64::from(other), 0],
                            law: (noise(number) * 2.0) as u16,
                            class: (noise(number + 77) * 2.0) as u8,
                        });
                    };
                    for (dx, dy, dz) in [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0)] {
                        if x + dx < side && y + dy < side && z + dz < side {
                            let offset = DVec3::new(f64::from(dx), f64::from(dy), f64::from(dz));
                            add(index(x + dx, y + dy, z + dz), offset);
                        }
                    }
                    if z == 0 {
                        add(FIXED, DVec3::NEG_Z);
                    }
                }
            }
        }
        // The giant lies below all: it acts on the bottom layer by copies, on
        // a body half its size as itself.
        let giant = side.pow(3);
        for other in 0..side * side {
            let (x, y) = (f64::from(other % side), f64::from(other / side));
            descriptors.push(ContactDescriptor {
                point: DVec3::new(x, y, -0.5),
                arms: [80.0, 0.5],
                bodies: [giant, other],
                name: [1, u64::from(other), 0],
                law: 0,
                class: 0,
            });
        }
        descriptors.push(ContactDescriptor {
            point: DVec3::new(3.0, 3.0, -0.5),
            arms: [80.0, 40.0],
            bodies: [giant, giant + 1],
            name: [1, u64::from(giant + 1), 0],
            law: 0,
            class: 0,
        });
        let stray = descriptors[0];
        descriptors.push(ContactDescriptor {
            point: DVec3::new(1e30, -1e5, f64::NAN),
            bodies: [giant - 1, FIXED],
            name: [2, 2, 0],
            ..stray
        });
        (descriptors, giant as usize + 2)
    }

    fn plan(descriptors: &[ContactDescriptor], bodies: usize, threads: usize) -> SweepPlan {
        let mut plan = SweepPlan::default();
        plan.build(&mut Team::new(threads), descriptors, (bodies, 3.5));
        plan
    }

    #[test]
    fn groups_share_no_body_and_blocks_of_one_colour_neither() {
        let (descriptors, bodies) = crowd();
        let plan = plan(&descriptors, bodies, 2);
        let all_bodies = bodies + plan.copies.count();
        let giant = bodies as u32 - 2;
        assert!(plan.copies.count() >= LANES);
        let mut seen = plan.order.clone();
        seen.sort_unstable();
        assert!(seen.iter().copied().eq(0..descriptors.len() as u32));
        assert_eq!(*plan.groups.last().unwrap() as usize, descriptors.len());
        assert_eq!(*plan.blocks.last().unwrap() as usize, plan.group_count());
        assert_eq!(plan.colours.len(), COLOURS + 2);
        for colour in plan.colours.windows(2) {
            let mut block_of = vec![None; all_bodies];
            for block in colour[0]..colour[1] {
                for group in plan.blocks[block as usize]..plan.blocks[block as usize + 1] {
                    let group = group as usize;
                    let range = plan.groups[group] as usize..plan.groups[group + 1] as usize;
                    let contacts = &plan.order[range.clone()];
                    let mut members: Vec<u32> = Vec::new();
                    for descriptor in range {
                        let acted_on = plan.copies.contacts[descriptor];
                        let descriptor = &descriptors[plan.order[descriptor] as usize];
                        assert_eq!(descriptor.law, plan.laws[group]);
                        assert!(descriptor.class >= descriptors[contacts[0] as usize].class);
                        for (body, acted_on) in descriptor.bodies.into_iter().zip(acted_on) {
                            let is_copy = acted_on as usize >= bodies && acted_on != FIXED;
                            assert_eq!(is_copy, body == giant && descriptor.arms[1] < 1.0);
                            assert!(is_copy || body == acted_on);
                        }
                        for body in acted_on.into_iter().filter(|&b| b != FIXED) {
                            assert!(!members.contains(&body), "a group shares a body");
                            members.push(body);
                            let owner = block_of[body as usize].get_or_insert(block);
                            assert_eq!(*owner, block, "blocks of one colour share a body");
                        }
                    }
                }
            }
        }
        // What is prefetched of a block is what its contacts act on, once.
        for block in 0..plan.blocks.len() - 1 {
            let groups = plan.blocks[block] as usize..plan.blocks[block + 1] as usize;
            let range = plan.groups[groups.start] as usize..plan.groups[groups.end] as usize;
            let mut acted_on = plan.copies.contacts[range].concat();
            acted_on.retain(|&body| body != FIXED);
            acted_on.sort_unstable();
            acted_on.dedup();
            let mut listed = plan.bodies_of(block).to_vec();
            listed.sort_unstable();
            assert_eq!(listed, acted_on);
        }
        assert!(plan.bodies_of(plan.blocks.len() - 1).is_empty());
        assert!(
            plan.fill() > 0.85,
            "lanes are filled to {} only",
            plan.fill()
        );
    }

    /// Groups of few contacts used to keep their lanes empty: a bed in which a fourth of the
    /// contacts follow their bodies had 69 of 100 filled.
    #[test]
    fn empty_lanes_take_contacts_that_need_less() {
        let (mut descriptors, bodies) = crowd();
        for (k, descriptor) in descriptors.iter_mut().enumerate() {
            let is_pair = !descriptor.bodies.contains(&FIXED);
            descriptor.law += 2 * u16::from(is_pair && k % 4 == 0);
        }
        let plan_of = |following: u16, threads: usize| {
            let mut plan = SweepPlan {
                following,
                ..Default::default()
            };
            let team = &mut Team::new(threads);
            plan.build(team, descriptors.as_slice(), (bodies, 3.5));
            plan
        };
        let plan = plan_of(2, 1);
        let mut followers = 0;
        for (group, range) in plan.groups.windows(2).enumerate() {
            let members = &plan.order[range[0] as usize..range[1] as usize];
            let members = || members.iter().map(|&i| &descriptors[i as usize]);
            let first = members().next().unwrap();
            for contact in members() {
                assert!(contact.class >= first.class, "it would be woken too late");
                if contact.law != plan.laws[group] {
                    followers += 1;
                    assert_eq!(contact.law + 2, plan.laws[group]);
                    assert!(!contact.bodies.contains(&FIXED), "walls do not turn");
                }
            }
        }
        assert!(followers > 20, "{followers}");
        assert!(plan.fill() > 0.8, "{}", plan.fill());
        assert!(plan.fill() > plan_of(0, 1).fill() + 0.02);
        let list = &descriptors;
        assert_same_order([(list, &plan), (list, &plan_of(2, 3))]);
    }

    #[test]
    fn the_order_depends_on_places_alone() {
        let (descriptors, bodies) = crowd();
        let reference = plan(&descriptors, bodies, 1);
        let mut shuffled = descriptors.clone();
        shuffled.reverse();
        shuffled.swap(5, 900);
        for (list, threads) in [
            (&descriptors, 2),
            (&descriptors, 7),
            (&shuffled, 1),
            (&shuffled, 3),
        ] {
            let other = plan(list, bodies, threads);
            assert_same_order([(&descriptors, &reference), (list, &other)]);
        }
    }

    /// Two plans of the same contacts, listed in whatever order, sweep them alike.
    fn assert_same_order(plans: [(&Vec<ContactDescriptor>, &SweepPlan); 2]) {
        let [ours, theirs] = plans.map(|(list, plan)| {
            let names = plan.order.iter().map(|&i| list[i as usize].name);
            (names.collect::<Vec<_>>(), plan)
        });
        assert_eq!(ours.0, theirs.0);
        assert_eq!(ours.1.groups, theirs.1.groups);
        assert_eq!(ours.1.blocks, theirs.1.blocks);
        assert_eq!(ours.1.colours, theirs.1.colours);
    }

    /// The crowd without its giant, by colours of all of space.
    fn flat_plan(descriptors: &[ContactDescriptor], bodies: usize, threads: usize) -> SweepPlan {
        let mut plan = SweepPlan {
            is_coloured: true,
            most_flat: MOST_FLAT,
            ..Default::default()
        };
        plan.build(&mut Team::new(threads), descriptors, (bodies, 3.5));
        plan
    }

    fn small_crowd() -> (Vec<ContactDescriptor>, usize) {
        let (mut descriptors, bodies) = crowd();
        descriptors.retain(|contact| contact.arms[0] < 1.0);
        (descriptors, bodies)
    }

    #[test]
    fn contacts_of_a_colour_of_a_flat_plan_share_no_body() {
        let (descriptors, bodies) = small_crowd();
        let plan = flat_plan(&descriptors, bodies, 2);
        assert!(plan.is_flat);
        let mut seen = plan.order.clone();
        seen.sort_unstable();
        assert!(seen.iter().copied().eq(0..descriptors.len() as u32));
        assert_eq!(*plan.blocks.last().unwrap() as usize, plan.group_count());
        assert_eq!(
            *plan.colours.last().unwrap() as usize,
            plan.blocks.len() - 1
        );
        let most = (0..bodies as u32)
            .map(|body| {
                let of_body = descriptors.iter().filter(|d| d.bodies.contains(&body));
                of_body.count()
            })
            .max()
            .unwrap();
        let colours = plan.colours.len() - 1;
        assert!((most..2 * most).contains(&colours), "{colours} for {most}");
        for colour in plan.colours.windows(2) {
            let [first, end] = [0, 1].map(|k| plan.blocks[colour[k] as usize] as usize);
            let mut acted_on = Vec::new();
            for group in first..end {
                let members = plan.groups[group] as usize..plan.groups[group + 1] as usize;
                let class = descriptors[plan.order[members.start] as usize].class;
                for &contact in &plan.order[members] {
                    let descriptor = &descriptors[contact as usize];
                    assert_eq!(descriptor.law, plan.laws[group]);
                    assert_eq!(descriptor.class, class);
                    acted_on.extend(descriptor.bodies.into_iter().filter(|&b| b != FIXED));
                }
            }
            let count = acted_on.len();
            acted_on.sort_unstable();
            acted_on.dedup();
            assert_eq!(acted_on.len(), count, "a colour shares a body");
        }
        let fixed = |k: &u32| {
            let contact = plan.order[*k as usize];
            descriptors[contact as usize].bodies.contains(&FIXED)
        };
        let all = 0..plan.contacts() as u32;
        assert!(all.filter(fixed).eq(plan.fixed.iter().copied()));
        assert!(plan.fill() > 0.9, "{}", plan.fill());
    }

    #[test]
    fn a_flat_order_depends_on_places_alone() {
        let (descriptors, bodies) = small_crowd();
        let reference = flat_plan(&descriptors, bodies, 1);
        let mut shuffled = descriptors.clone();
        shuffled.reverse();
        shuffled.swap(5, 900);
        for (list, threads) in [(&descriptors, 2), (&descriptors, 7), (&shuffled, 3)] {
            let other = flat_plan(list, bodies, threads);
            assert_same_order([(&descriptors, &reference), (list, &other)]);
        }
    }

    #[test]
    fn what_colours_do_not_do_for_is_swept_in_blocks() {
        // A hub with as many contacts as there are colours, and one more.
        for contacts in [64, 65] {
            let hub: Vec<ContactDescriptor> = (0..contacts)
                .map(|k| ContactDescriptor {
                    point: DVec3::X * f64::from(k) * 0.01,
                    arms: [0.5; 2],
                    bodies: [0, k + 1],
                    name: [u64::from(k), 0, 0],
                    law: 0,
                    class: 0,
                })
                .collect();
            let plan = flat_plan(&hub, contacts as usize + 1, 2);
            assert_eq!(plan.is_flat, contacts == 64);
            assert_eq!(plan.contacts(), contacts as usize);
        }
        // Copies of a giant belong to blocks.
        let (descriptors, bodies) = crowd();
        let plan = flat_plan(&descriptors, bodies, 2);
        assert!(!plan.is_flat && plan.copies.count() > 0);
    }

    /// Blocks used to be cut off 64 cells from the middle: all that was farther out along a
    /// belt was one block, swept by one thread.
    #[test]
    fn a_long_row_of_contacts_has_as_many_blocks_as_it_is_long() {
        let contacts = 4000_u32;
        let row: Vec<ContactDescriptor> = (0..contacts)
            .map(|k| ContactDescriptor {
                point: DVec3::X * f64::from(k),
                arms: [0.5; 2],
                bodies: [k, k + 1],
                name: [u64::from(k), 0, 0],
                law: 0,
                class: 0,
            })
            .collect();
        let plan = plan(&row, contacts as usize + 1, 3);
        let largest = plan
            .blocks
            .windows(2)
            .map(|ends| plan.groups[ends[1] as usize] - plan.groups[ends[0] as usize])
            .max();
        assert_eq!(largest, Some(4), "contacts of the largest block");
        assert!(plan.blocks.len() > contacts as usize / 4);
    }

    #[test]
    fn an_empty_problem_has_an_empty_plan() {
        let plan = plan(&[], 0, 3);
        assert_eq!((plan.contacts(), plan.group_count()), (0, 0));
    }
}
