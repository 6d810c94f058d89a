//! Stages `find_pairs` and `collide` on a device, up to the contacts that are chosen.

use esker_solver::device::DeviceError;
use esker_world::resident::{CandidateRecord, FindSettings, HeldContact, WallRecord};

use super::grains::{GrainsRecord, ResidentGrains};
use super::kernels;
use super::primitives::over;
use crate::backend::{reserve, reserve_scratch};
use crate::launch::{Executor, ResidentKernel, ResidentLaunch};
use crate::layout::RESIDENT_THREADS;
use crate::memory::{Array, DeviceMemory, Layout, Plain, staged, staged_mut};

/// `struct FieldCell` of `kernels/find.h`, for its size.
#[derive(Clone, Copy)]
#[repr(C)]
struct FieldCell([u64; 9], [f64; 4], [u32; 32]);

/// `struct GridCell` of `kernels/find.h`, for its size.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct GridCell([u64; 2]);

/// `struct Sphere` of `kernels/find.h`, for its size.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Sphere([f64; 4]);

/// `struct InReach` of `kernels/find.h`, for its size.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct InReach([u32; 2]);

/// `struct FindNumbers` of `kernels/find.h`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
#[allow(missing_docs, reason = "fields are documented in kernels/find.h")]
pub struct FindNumbers {
    pub sums: [u64; 4],
    pub deviation: u64,
    pub far: u64,
    pub hit_anywhere: u64,
    pub difference: u64,
    pub longest_reach: u64,
    pub cell_size: f64,
    pub longest_sleep: f64,
    pub cells: u32,
    pub in_reach: u32,
    pub placed: u32,
    pub wide: u32,
    pub levels: u32,
    pub has_impacts: u32,
    pub found: u32,
    pub chosen: u32,
}

/// `struct Find` of `kernels/find.h`; addresses on the device.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct FindRecord {
    grains: u64,
    walls: u64,
    numbers: u64,
    settings: FindSettings,
    mask: u32,
    room: u32,
    pair_room: u32,
    side_words: u32,
    at: u64,
    table: u64,
    slot_of: u64,
    number_of_slot: u64,
    cell_of: u64,
    cells: u64,
    bound: [u64; 4],
    impact_reach: u64,
    reaches: u64,
    grid: u64,
    grid_slot_of: u64,
    grid_rank: u64,
    spheres: u64,
    keys: u64,
    order: u64,
    wide: u64,
    in_reach: u64,
    sides: u64,
    history: HistoryAddress,
    found: u64,
    chosen: u64,
    rising: u64,
    changes: u64,
    impacted: u64,
}

/// Where contacts of the last step are on the device.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct HistoryAddress {
    /// How many there are.
    pub count: u64,
    /// Rows of their owners.
    pub row: u64,
    /// The others, as in their keys.
    pub other: u64,
}

// SAFETY: records of numbers; so below.
unsafe impl Plain for FieldCell {}
// SAFETY: as above.
unsafe impl Plain for GridCell {}
// SAFETY: as above.
unsafe impl Plain for Sphere {}
// SAFETY: as above.
unsafe impl Plain for InReach {}
// SAFETY: as above.
unsafe impl Plain for FindNumbers {}
// SAFETY: as above.
unsafe impl Plain for FindRecord {}
// SAFETY: as above.
unsafe impl Plain for WallRecord {}
// SAFETY: as above.
unsafe impl Plain for CandidateRecord {}

/// What the host writes and reads.
#[derive(Clone, Copy, Debug, Default)]
struct Staged {
    find: Array<FindRecord>,
    grains: Array<GrainsRecord>,
    walls: Array<WallRecord>,
    numbers: Array<FindNumbers>,
}

impl Staged {
    fn new(walls: usize) -> (Self, usize) {
        let mut layout = Layout::default();
        let arrays = Staged {
            find: layout.array(1),
            grains: layout.array(1),
            walls: layout.array(walls),
            numbers: layout.array(1),
        };
        (arrays, layout.end())
    }
}

/// Places in memory that the host does not see.
#[derive(Clone, Copy, Debug, Default)]
struct Scratch {
    at: Array<u32>,
    table: Array<u32>,
    slot_of: Array<u32>,
    number_of_slot: Array<u32>,
    cell_of: Array<u32>,
    cells: usize,
    bound: [Array<f64>; 4],
    impact_reach: Array<f64>,
    reaches: Array<f64>,
    grid: Array<GridCell>,
    grid_slot_of: Array<u32>,
    grid_rank: Array<u32>,
    spheres: Array<Sphere>,
    keys: Array<u64>,
    order: Array<u32>,
    wide: Array<u32>,
    in_reach: Array<InReach>,
    sides: Array<u32>,
    found: Array<CandidateRecord>,
    chosen: Array<CandidateRecord>,
    rising: Array<u32>,
    changes: Array<u32>,
    impacted: Array<u32>,
}

/// Walls that one number of `sides` has bits for.
const WALLS_PER_WORD: usize = 16;

impl Scratch {
    fn new(grains: usize, walls: usize, room: Room) -> (Self, usize) {
        let mut layout = Layout::default();
        let slots = slots(grains);
        let cells: Array<FieldCell> = layout.array(grains);
        let scratch = Scratch {
            cells: cells.bytes().start,
            at: layout.array(3 * grains),
            table: layout.array(slots),
            slot_of: layout.array(grains),
            number_of_slot: layout.array(slots),
            cell_of: layout.array(grains),
            bound: layout.arrays(grains),
            impact_reach: layout.array(grains),
            reaches: layout.array(grains),
            grid: layout.array(slots),
            grid_slot_of: layout.array(grains),
            grid_rank: layout.array(grains),
            spheres: layout.array(grains),
            keys: layout.array(grains),
            order: layout.array(grains),
            wide: layout.array(grains),
            in_reach: layout.array(room.pairs),
            sides: layout.array(grains * side_words(walls)),
            found: layout.array(room.candidates),
            chosen: layout.array(room.candidates),
            rising: layout.array(6 * grains),
            changes: layout.array(6 * grains),
            impacted: layout.array(grains),
        };
        (scratch, layout.end())
    }
}

/// Slots of a table for the cells of so many grains: at most half are used.
fn slots(grains: usize) -> usize {
    (2 * grains).next_power_of_two().max(1024)
}

fn side_words(walls: usize) -> usize {
    walls.div_ceil(WALLS_PER_WORD).max(1)
}

/// Thread blocks for grains that reach farther than most.
const WIDE_BLOCKS: u32 = 1024;

/// Candidates, and pairs in reach, per grain that there is room for at first.
const ROOM: usize = 8;

/// How many there is room for.
#[derive(Clone, Copy, Debug, Default)]
struct Room {
    candidates: usize,
    /// Spheres in reach of each other, of which some become candidates.
    pairs: usize,
}

/// Finds contacts of grains on a device.
#[derive(Debug)]
pub struct Finder<E: Executor> {
    memory: Option<E::Memory>,
    scratch: Option<E::Memory>,
    staged: Staged,
    arrays: Scratch,
    grains: usize,
    room: Room,
    has_meshes: bool,
}

impl<E: Executor> Default for Finder<E> {
    fn default() -> Self {
        Finder {
            memory: None,
            scratch: None,
            staged: Staged::default(),
            arrays: Scratch::default(),
            grains: 0,
            room: Room::default(),
            has_meshes: false,
        }
    }
}

impl<E: Executor> Finder<E> {
    /// Begins to send what the next step is searched with.
    pub fn send(
        &mut self,
        executor: &mut E,
        grains: &ResidentGrains<E>,
        walls: &[WallRecord],
        settings: FindSettings,
        history: HistoryAddress,
    ) -> Result<(), DeviceError> {
        let count = grains.count();
        self.grains = count;
        self.has_meshes = walls.iter().any(|wall| wall.mesh != 0);
        let least = (ROOM * count).max(1024);
        self.room.candidates = self.room.candidates.max(least);
        self.room.pairs = self.room.pairs.max(least);
        let (scratch, bytes) = Scratch::new(count, walls.len(), self.room);
        reserve_scratch(
            executor,
            &mut self.scratch,
            bytes,
            (count, self.room.candidates),
        )?;
        let (staged, bytes) = Staged::new(walls.len());
        reserve(executor, &mut self.memory, bytes, (count, 0))?;
        (self.arrays, self.staged) = (scratch, staged);
        let memory = self.memory.as_mut().expect("just reserved");
        let hidden = self.scratch.as_ref().expect("just reserved");
        let s = &scratch;
        let record = FindRecord {
            grains: staged.grains.address(memory),
            walls: staged.walls.address(memory),
            numbers: staged.numbers.address(memory),
            settings,
            mask: slots(count) as u32 - 1,
            room: self.room.candidates as u32,
            pair_room: self.room.pairs as u32,
            side_words: side_words(walls.len()) as u32,
            at: s.at.address(hidden),
            table: s.table.address(hidden),
            slot_of: s.slot_of.address(hidden),
            number_of_slot: s.number_of_slot.address(hidden),
            cell_of: s.cell_of.address(hidden),
            cells: hidden.address() + s.cells as u64,
            bound: s.bound.map(|array| array.address(hidden)),
            impact_reach: s.impact_reach.address(hidden),
            reaches: s.reaches.address(hidden),
            grid: s.grid.address(hidden),
            grid_slot_of: s.grid_slot_of.address(hidden),
            grid_rank: s.grid_rank.address(hidden),
            spheres: s.spheres.address(hidden),
            keys: s.keys.address(hidden),
            order: s.order.address(hidden),
            wide: s.wide.address(hidden),
            in_reach: s.in_reach.address(hidden),
            sides: s.sides.address(hidden),
            history,
            found: s.found.address(hidden),
            chosen: s.chosen.address(hidden),
            rising: s.rising.address(hidden),
            changes: s.changes.address(hidden),
            impacted: s.impacted.address(hidden),
        };
        staged_mut(memory, staged.find)[0] = record;
        staged_mut(memory, staged.grains)[0] = grains.record(walls.len());
        staged_mut(memory, staged.walls).copy_from_slice(walls);
        memory.upload(0..staged.walls.bytes().end)
    }

    /// The kernels of a search in their order, about how many entries each passes over, and
    /// its number. Kernels stride over what there is.
    fn kernels(&self, history: usize) -> Vec<(&'static ResidentKernel, usize, u32)> {
        use kernels::*;
        let (grains, slots) = (self.grains, slots(self.grains));
        let (cells, pairs) = (grains.div_ceil(8), 5 * grains);
        let wide = (RESIDENT_THREADS * WIDE_BLOCKS) as usize;
        let mut kernels: Vec<(&'static ResidentKernel, usize, u32)> = vec![
            (&field_begin, slots, 0),
            (&walls_sides, history, 0),
            (&field_claim, grains, 0),
            (&field_sum, grains, 0),
            (&field_means, 9 * cells, 0),
            (&field_spread_of_cells, cells, 0),
            (&field_deviations, grains, 0),
            (&field_hit, cells, 0),
            (&field_compare, cells, 0),
            (&field_spread, cells, 0),
            (&field_spread, cells, 1),
            (&field_spread, cells, 0),
            (&field_reaches, grains, 0),
            (&grid_choose, 1, 0),
            (&grid_claim, grains, 0),
            (&grid_divide, slots, 0),
            (&grid_place, grains, 0),
            (&pairs_of_level, 5 * grains, 0),
            (&pairs_of_wide, wide, 0),
            (&pairs_near, pairs, 0),
            (&walls_near, grains, 0),
        ];
        if self.has_meshes {
            kernels.push((&meshes_near, grains, 0));
        }
        kernels.extend([
            (&impacts_find, pairs, 0),
            (&impacts_keep, 6 * grains, 0),
            (&pushes_sum, grains, 0),
            (&pushes_bound, cells, 0),
            (&field_spread, cells, 2),
            (&field_spread, cells, 3),
            (&field_spread, cells, 2),
            (&impacts_propagate, pairs, 0),
            (&impacts_keep, 6 * grains, 0),
            (&choose, pairs, 0),
        ]);
        kernels
    }

    /// Begins the search. `history` is about how many contacts were remembered.
    pub fn launch(&mut self, executor: &mut E, history: usize) -> Result<(), DeviceError> {
        let memory = self.memory.as_ref().expect("a step was sent");
        let record = self.staged.find.address(memory);
        for (kernel, entries, number) in self.kernels(history) {
            executor.launch(ResidentLaunch {
                number,
                ..over(kernel, entries, record)
            })?;
        }
        Ok(())
    }

    /// Begins to bring back what the search left in numbers.
    pub fn fetch_numbers(&mut self) -> Result<(), DeviceError> {
        let bytes = self.staged.numbers.bytes();
        self.memory
            .as_mut()
            .expect("a step was sent")
            .download(bytes)
    }

    /// These numbers, once they are there.
    pub fn numbers(&self) -> FindNumbers {
        staged(
            self.memory.as_ref().expect("a step was sent"),
            self.staged.numbers,
        )[0]
    }

    /// Makes room for as many pairs and candidates as were found; false where there was enough,
    /// and the search is right. Where there was not it has to be repeated.
    pub fn grow(&mut self) -> bool {
        let numbers = self.numbers();
        let mut has_grown = false;
        for (room, found) in [
            (&mut self.room.candidates, numbers.found as usize),
            (&mut self.room.pairs, numbers.in_reach as usize),
        ] {
            if found > *room {
                *room = found + found / 4;
                has_grown = true;
            }
        }
        has_grown
    }

    /// Where the records of grains, the chosen candidates and the numbers are.
    pub fn found(&self) -> FoundAddress {
        let memory = self.memory.as_ref().expect("a step was sent");
        let hidden = self.scratch.as_ref().expect("a step was sent");
        FoundAddress {
            grains: self.staged.grains.address(memory),
            walls: self.staged.walls.address(memory),
            numbers: self.staged.numbers.address(memory),
            chosen: self.arrays.chosen.address(hidden),
            room: self.room.candidates,
        }
    }

    /// Reaches of the grains and the chosen candidates, for comparison.
    pub fn fetch_found(
        &mut self,
        executor: &mut E,
    ) -> Result<(Vec<f64>, Vec<CandidateRecord>), DeviceError> {
        let hidden = self.scratch.as_ref().expect("a step was sent");
        let reaches = executor.read_scratch(hidden, self.arrays.reaches)?;
        let chosen = executor.read_scratch(hidden, self.arrays.chosen)?;
        Ok((reaches, chosen[..self.numbers().chosen as usize].to_vec()))
    }
}

/// Addresses of what a search left on the device.
#[derive(Clone, Copy, Debug)]
pub struct FoundAddress {
    /// `struct Grains`.
    pub grains: u64,
    /// `struct Wall`, one per wall.
    pub walls: u64,
    /// `struct FindNumbers`.
    pub numbers: u64,
    /// `struct Candidate`, as many as the numbers say.
    pub chosen: u64,
    /// Most that there can be.
    pub room: usize,
}

/// Contacts of the last step, sent by the host.
#[derive(Debug)]
pub struct SentHistory<E: Executor> {
    memory: Option<E::Memory>,
    count: usize,
    address: HistoryAddress,
}

impl<E: Executor> Default for SentHistory<E> {
    fn default() -> Self {
        SentHistory {
            memory: None,
            count: 0,
            address: HistoryAddress::default(),
        }
    }
}

impl<E: Executor> SentHistory<E> {
    /// Begins to send them.
    pub fn send(&mut self, executor: &mut E, held: &[HeldContact]) -> Result<(), DeviceError> {
        let mut layout = Layout::default();
        let count: Array<u32> = layout.array(1);
        let rows: Array<u32> = layout.array(held.len());
        let others: Array<u64> = layout.array(held.len());
        reserve(executor, &mut self.memory, layout.end(), (0, held.len()))?;
        let memory = self.memory.as_mut().expect("just reserved");
        staged_mut(memory, count)[0] = held.len() as u32;
        for (row, contact) in staged_mut(memory, rows).iter_mut().zip(held) {
            *row = contact.row;
        }
        for (other, contact) in staged_mut(memory, others).iter_mut().zip(held) {
            *other = contact.other;
        }
        self.count = held.len();
        self.address = HistoryAddress {
            count: count.address(memory),
            row: rows.address(memory),
            other: others.address(memory),
        };
        memory.upload(0..layout.end())
    }

    /// Where they are.
    pub fn address(&self) -> HistoryAddress {
        self.address
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }
}
