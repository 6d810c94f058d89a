//! A step from the chosen candidates on: plan, rows, substeps, and what becomes of grains and
//! contacts. Everything stays on the device; the host reads numbers, and what walls got.
//!
//! What is remembered lies in two memories that take turns, so that either may grow.

use esker_parallel::ExactSum;
use esker_solver::device::DeviceError;
use esker_solver::plan::{CLASSES, LANES};
use esker_world::resident::CandidateRecord;
use esker_world::resident_rows::{AdvanceSettings, EntryRecord, PairRecord, TrackedRecord};

use super::find::HistoryAddress;
use super::grains::room_of_rows;
use super::kernels;
use super::primitives::{
    ScanRecord, SortPlace, SortRecord, over, scan, scan_scratch, sort_scratch,
};
use crate::arrays::{BodyArrays, BodySizes, ContactArrays, ContactSizes, addresses};
use crate::backend::{impacts_of, reserve, reserve_scratch};
use crate::launch::{Executor, ResidentKernel, ResidentLaunch, StepShape};
use crate::layout::{
    ColourStarts, LawRecord, MOST_COLOURS, RESIDENT_THREADS, StepRecord, fitting_bodies,
};
use crate::memory::{Array, DeviceMemory, Layout, Plain, staged, staged_mut};

/// Threads of which one packs a block of the plan.
const THREADS_PER_BLOCK: usize = 32;

/// Parities of blocks, and the block behind them.
const PARITIES: u32 = 9;
/// An obstacle of `kernels/advance.h`: contacts of a body have more colours than there are.
const MANY_COLOURS: u32 = 8;

/// Moments of a step: contacts are in order, rows are set, substeps are done.
pub(super) const PLANNED: usize = 2;
pub(super) const ASSEMBLED: usize = 3;
pub(super) const ADVANCED: usize = 4;

/// Limbs of an exact sum.
const LIMBS: usize = 8;

/// `struct AdvanceNumbers` of `kernels/advance.h`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
#[allow(missing_docs, reason = "fields are documented in kernels/advance.h")]
pub struct AdvanceNumbers {
    pub overlap_sum: [u64; LIMBS],
    pub max_overlap: u64,
    pub blocks: u32,
    pub contacts: u32,
    pub fixed: u32,
    pub cached_bodies: u32,
    pub touching: u32,
    pub broken: u32,
    pub obstacle: u32,
    pub history: u32,
    pub groups: u32,
    pub unused: u32,
    pub colours: ColourStarts,
}

impl AdvanceNumbers {
    /// Sum of the overlaps of contacts that touch, in diameters.
    pub fn overlap_sum(&self) -> f64 {
        ExactSum::of_limbs(self.overlap_sum.map(|limb| limb as i64)).value()
    }
}

/// `struct Advance` of `kernels/advance.h`; addresses on the device.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct AdvanceRecord {
    grains: u64,
    walls: u64,
    chosen: u64,
    numbers: u64,
    step: u64,
    whole_step: f64,
    gravity: f64,
    cells_per_metre: f64,
    longest_arm: f64,
    friction_compliance: f64,
    rolling_compliance: f64,
    materials: u32,
    following: u32,
    is_whole_step: u32,
    rolls: u32,
    count: u32,
    mask: u32,
    fitting: u32,
    kinds: u32,
    pairs: u64,
    height: u64,
    slot_of: u64,
    rank_in_cell: u64,
    law_and_class: u64,
    cell_keys: u64,
    cell_list: u64,
    cell_count: u64,
    cell_block: u64,
    block_keys: u64,
    block_count: u64,
    block_start: u64,
    block_bodies: u64,
    block_groups: u64,
    block_fixed: u64,
    fixed_start: u64,
    sorted_height: u64,
    sorted: u64,
    sorted_class: u64,
    local_bodies: u64,
    body_table: u64,
    body_index: u64,
    masks: u64,
    last_level: u64,
    coloured: u64,
    level_starts: u64,
    key_start: u64,
    key_group: u64,
    order: u64,
    from: u64,
    block_of: u64,
    group_of: u64,
    level_of: u64,
    place: u64,
    fixed_rank: u64,
    group_start: u64,
    group_end: u64,
    group_law: u64,
    open_time_of: u64,
    found_entry: u64,
    next_at_wall: u64,
    first_at_wall: u64,
    colours_of: u64,
    entry_of: u64,
    next_entry_of: u64,
    history: u64,
    next_history: u64,
    next_history_row: u64,
    next_history_other: u64,
    tracked: u64,
}

/// `struct Scale` of `kernels/finish.h`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct ScaleRecord {
    advance: u64,
    factor: f64,
}

/// `struct RememberedRows` of `kernels/turnover.h`; addresses on the device.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct RememberedRows {
    entry_of: u64,
    entries: u64,
    rows: u64,
    count: u64,
}

// SAFETY: records of numbers; so below.
unsafe impl Plain for ScaleRecord {}
// SAFETY: as above.
unsafe impl Plain for AdvanceNumbers {}
// SAFETY: as above.
unsafe impl Plain for AdvanceRecord {}
// SAFETY: as above.
unsafe impl Plain for PairRecord {}
// SAFETY: as above.
unsafe impl Plain for EntryRecord {}
// SAFETY: as above.
unsafe impl Plain for TrackedRecord {}

/// What the host writes and reads.
#[derive(Clone, Copy, Debug, Default)]
struct Staged {
    advance: Array<AdvanceRecord>,
    step: Array<StepRecord>,
    scans: [Array<ScanRecord>; 3],
    sort: SortPlace,
    laws: Array<LawRecord>,
    pairs: Array<PairRecord>,
    numbers: Array<AdvanceNumbers>,
    impact_counts: Array<u32>,
}

/// Places in memory that the host does not see.
#[derive(Clone, Copy, Debug, Default)]
struct Scratch {
    height: Array<u64>,
    of_candidates: [Array<u32>; 3],
    cell_keys: Array<u64>,
    of_slots: [Array<u32>; 2],
    cell_list: Array<u32>,
    block_keys: Array<u64>,
    of_blocks: [Array<u32>; 6],
    sorted_height: Array<u64>,
    sorted: Array<u32>,
    sorted_class: Array<u32>,
    local_bodies: Array<u32>,
    body_table: [Array<u32>; 2],
    masks: Array<u64>,
    last_level: Array<u32>,
    from_bottom: [Array<u32>; 2],
    of_keys: [Array<u32>; 2],
    of_plan: [Array<u32>; 11],
    group_law: Array<u16>,
    open_time_of: Array<f64>,
    first_at_wall: Array<u32>,
    colours_of: Array<u64>,
    tiles: Array<u32>,
    digit_counts: Array<u32>,
    digit_tiles: Array<u32>,
    sort_lengths: [Array<u32>; 2],
}

impl Scratch {
    fn new(layout: &mut Layout, contacts: usize, grains: usize, kinds: usize) -> Self {
        let slots = slots(contacts);
        Scratch {
            height: layout.array(contacts),
            of_candidates: layout.arrays(contacts),
            cell_keys: layout.array(slots),
            of_slots: layout.arrays(slots),
            cell_list: layout.array(contacts),
            block_keys: layout.array(contacts),
            of_blocks: layout.arrays(contacts),
            sorted_height: layout.array(contacts),
            sorted: layout.array(contacts),
            sorted_class: layout.array(contacts),
            local_bodies: layout.array(2 * contacts),
            body_table: layout.arrays(4 * contacts),
            masks: layout.array(2 * contacts),
            last_level: layout.array(2 * contacts),
            from_bottom: layout.arrays(contacts),
            of_keys: layout.arrays(MOST_COLOURS * kinds + 1),
            of_plan: layout.arrays(contacts),
            group_law: layout.array(contacts),
            open_time_of: layout.array(contacts),
            first_at_wall: layout.array(grains),
            colours_of: layout.array(grains),
            tiles: layout.array(scan_scratch(contacts)),
            digit_counts: layout.array(sort_scratch(contacts)),
            digit_tiles: layout.array(scan_scratch(sort_scratch(contacts))),
            sort_lengths: layout.arrays(1),
        }
    }
}

/// Slots of a table for the cells of so many contacts: at most half are used.
fn slots(contacts: usize) -> usize {
    (2 * contacts).next_power_of_two().max(1024)
}

/// A memory of what is remembered.
#[derive(Debug)]
struct HistoryMemory<M> {
    memory: Option<M>,
    entries: Array<EntryRecord>,
    rows: Array<u32>,
    others: Array<u64>,
    entry_of: Array<u32>,
}

impl<M> Default for HistoryMemory<M> {
    fn default() -> Self {
        HistoryMemory {
            memory: None,
            entries: Array::default(),
            rows: Array::default(),
            others: Array::default(),
            entry_of: Array::default(),
        }
    }
}

impl<M: DeviceMemory> HistoryMemory<M> {
    fn reserve<E: Executor<Memory = M>>(
        &mut self,
        executor: &mut E,
        entries: usize,
        grains: usize,
    ) -> Result<(), DeviceError> {
        let mut layout = Layout::default();
        self.entries = layout.array(entries);
        self.rows = layout.array(entries);
        self.others = layout.array(entries);
        self.entry_of = layout.array(room_of_rows(grains));
        reserve(executor, &mut self.memory, layout.end(), (grains, entries))
    }

    fn memory(&self) -> &M {
        self.memory.as_ref().expect("it was reserved")
    }
}

/// What a step from the candidates on starts with.
#[derive(Clone, Copy, Debug)]
pub struct AdvanceInput<'a> {
    /// What rows and substeps go by.
    pub settings: &'a AdvanceSettings,
    /// Address of `struct Grains`.
    pub grains: u64,
    /// Number of grains.
    pub grain_count: usize,
    /// Address of `struct Wall`.
    pub walls: u64,
    /// Address of the candidates.
    pub chosen: u64,
    /// How many there are.
    pub candidates: usize,
    /// Substeps that an open contact may sleep.
    pub longest_sleep: f64,
}

/// Advances grains on a device.
#[derive(Debug)]
pub struct Advancer<E: Executor> {
    memory: Option<E::Memory>,
    scratch: Option<E::Memory>,
    tracked: Option<E::Memory>,
    scale: Option<E::Memory>,
    staged: Staged,
    scratch_arrays: Scratch,
    tracked_array: Array<TrackedRecord>,
    history: [HistoryMemory<E::Memory>; 2],
    /// Which of the two is that of the last step.
    last: usize,
    fixed: usize,
    impacts: usize,
}

impl<E: Executor> Default for Advancer<E> {
    fn default() -> Self {
        Advancer {
            memory: None,
            scratch: None,
            tracked: None,
            scale: None,
            staged: Staged::default(),
            scratch_arrays: Scratch::default(),
            tracked_array: Array::default(),
            history: [HistoryMemory::default(), HistoryMemory::default()],
            last: 0,
            fixed: 0,
            impacts: 0,
        }
    }
}

impl<E: Executor> Advancer<E> {
    fn staged_memory(&mut self) -> &mut E::Memory {
        self.memory.as_mut().expect("a step was sent")
    }

    fn stage(
        &mut self,
        executor: &mut E,
        input: &AdvanceInput<'_>,
        entries: usize,
        is_flat: bool,
    ) -> Result<(), DeviceError> {
        let settings = input.settings;
        let (contacts, grains) = (input.candidates, input.grain_count);
        let kinds = if is_flat { kinds(settings) } else { 0 };
        // Every group of a flat plan has all its places; the last of a law and class may have
        // empty ones.
        let keys = MOST_COLOURS * kinds;
        let places = contacts + (LANES - 1) * keys.min(contacts);
        let size = (grains, contacts);
        let mut layout = Layout::default();
        let staged = Staged {
            advance: layout.array(1),
            step: layout.array(1),
            scans: layout.arrays(1),
            sort: SortPlace::new(&mut layout, contacts),
            laws: layout.array(settings.laws.len()),
            pairs: layout.array(settings.pairs.len()),
            numbers: layout.array(1),
            impact_counts: layout.array(settings.substeps + 1),
        };
        reserve(executor, &mut self.memory, layout.end(), size)?;
        let mut layout = Layout::default();
        let rolls = settings.laws.iter().any(|law| law.rolls);
        let scratch = Scratch::new(&mut layout, contacts, grains, kinds);
        let of_contacts = ContactArrays::new(
            &mut layout,
            ContactSizes {
                contacts: places,
                groups: contacts,
                blocks: contacts,
                rolls,
            },
        );
        // Every contact may have a ghost.
        let of_bodies = BodyArrays::new(
            &mut layout,
            BodySizes {
                contacts: places,
                bodies: grains + contacts,
                movable: grains,
                tracked: contacts,
                ..Default::default()
            },
        );
        reserve_scratch(executor, &mut self.scratch, layout.end(), size)?;
        let mut layout = Layout::default();
        self.tracked_array = layout.array(contacts);
        reserve(executor, &mut self.tracked, layout.end(), size)?;
        self.history[1 - self.last].reserve(executor, contacts.max(entries), grains)?;
        if self.history[self.last].memory.is_none() {
            self.history[self.last].reserve(executor, 1, grains)?;
        }
        (self.staged, self.scratch_arrays) = (staged, scratch);
        let memory = self.memory.as_mut().expect("just reserved");
        let hidden = self.scratch.as_ref().expect("just reserved");
        let tracked = self.tracked.as_ref().expect("just reserved");
        let (s, n) = (&scratch, staged.numbers.address(memory));
        let [slot_of, rank_in_cell, law_and_class] = s.of_candidates.map(|a| a.address(hidden));
        let [cell_count, cell_block] = s.of_slots.map(|a| a.address(hidden));
        let of_blocks = s.of_blocks.map(|a| a.address(hidden));
        let [
            block_count,
            block_start,
            block_bodies,
            block_groups,
            block_fixed,
            fixed_start,
        ] = of_blocks;
        let [body_table, body_index] = s.body_table.map(|a| a.address(hidden));
        let [coloured, level_starts] = s.from_bottom.map(|a| a.address(hidden));
        let [key_start, key_group] = s.of_keys.map(|a| a.address(hidden));
        let [
            order,
            from,
            block_of,
            group_of,
            level_of,
            place,
            fixed_rank,
            group_start,
            group_end,
            found_entry,
            next_at_wall,
        ] = s.of_plan.map(|a| a.address(hidden));
        let (last, next) = (&self.history[self.last], &self.history[1 - self.last]);
        let numbers_at = |field: usize| n + field as u64;
        staged_mut(memory, staged.advance)[0] = AdvanceRecord {
            grains: input.grains,
            walls: input.walls,
            chosen: input.chosen,
            numbers: n,
            step: staged.step.address(memory),
            whole_step: settings.whole_step,
            gravity: settings.gravity.length(),
            cells_per_metre: 1.0 / settings.edge,
            longest_arm: (1.0 - 1e-9) * settings.edge,
            friction_compliance: settings.compliance.friction,
            rolling_compliance: settings.compliance.rolling,
            materials: settings.materials as u32,
            following: settings.following.into(),
            is_whole_step: settings.is_whole_step.into(),
            rolls: rolls.into(),
            count: contacts as u32,
            mask: slots(contacts) as u32 - 1,
            fitting: fitting_bodies(executor.shared_bytes()) as u32,
            kinds: kinds as u32,
            pairs: staged.pairs.address(memory),
            height: s.height.address(hidden),
            slot_of,
            rank_in_cell,
            law_and_class,
            cell_keys: s.cell_keys.address(hidden),
            cell_list: s.cell_list.address(hidden),
            cell_count,
            cell_block,
            block_keys: s.block_keys.address(hidden),
            block_count,
            block_start,
            block_bodies,
            block_groups,
            block_fixed,
            fixed_start,
            sorted_height: s.sorted_height.address(hidden),
            sorted: s.sorted.address(hidden),
            sorted_class: s.sorted_class.address(hidden),
            local_bodies: s.local_bodies.address(hidden),
            body_table,
            body_index,
            masks: s.masks.address(hidden),
            last_level: s.last_level.address(hidden),
            coloured,
            level_starts,
            key_start,
            key_group,
            order,
            from,
            block_of,
            group_of,
            level_of,
            place,
            fixed_rank,
            group_start,
            group_end,
            group_law: s.group_law.address(hidden),
            open_time_of: s.open_time_of.address(hidden),
            found_entry,
            next_at_wall,
            first_at_wall: s.first_at_wall.address(hidden),
            colours_of: s.colours_of.address(hidden),
            entry_of: last.entry_of.address(last.memory()),
            next_entry_of: next.entry_of.address(next.memory()),
            history: last.entries.address(last.memory()),
            next_history: next.entries.address(next.memory()),
            next_history_row: next.rows.address(next.memory()),
            next_history_other: next.others.address(next.memory()),
            tracked: self.tracked_array.address(tracked),
        };
        let blocks = numbers_at(std::mem::offset_of!(AdvanceNumbers, blocks));
        let all_contacts = numbers_at(std::mem::offset_of!(AdvanceNumbers, contacts));
        let fixed = numbers_at(std::mem::offset_of!(AdvanceNumbers, fixed));
        let tiles = s.tiles.address(hidden);
        // The sum of all contacts of blocks is known: it goes where it is.
        let ends = [
            (block_count, block_start, blocks, all_contacts),
            (block_fixed, fixed_start, blocks, fixed),
            (fixed_rank, fixed_rank, all_contacts, fixed),
        ];
        for (array, (input, output, length, total)) in staged.scans.into_iter().zip(ends) {
            staged_mut(memory, array)[0] = ScanRecord {
                input,
                output,
                length,
                total,
                tiles,
            };
        }
        let [count_length, digits] = s.sort_lengths.map(|a| a.address(hidden));
        staged.sort.write(
            memory,
            SortRecord {
                keys: [s.sorted_height, s.height].map(|a| a.address(hidden)),
                values: [coloured, level_starts],
                length: all_contacts,
                counts: s.digit_counts.address(hidden),
                count_length,
            },
            s.digit_tiles.address(hidden),
            digits,
        );
        for (record, law) in staged_mut(memory, staged.laws)
            .iter_mut()
            .zip(&settings.laws)
        {
            *record = LawRecord::of(law);
        }
        staged_mut(memory, staged.pairs).copy_from_slice(&settings.pairs);
        let step = settings.step;
        let record = StepRecord {
            step,
            inverse_step: 1.0 / step,
            fall: (settings.gravity * step).to_array(),
            friction_factor: settings.compliance.friction_factor(),
            rolling_factor: settings.compliance.rolling_factor(),
            longest_sleep: input.longest_sleep,
            substeps: settings.substeps as u32,
            movable: grains as u32,
            rolls: rolls.into(),
            laws: staged.laws.address(memory),
            colours_of: if is_flat {
                s.colours_of.address(hidden)
            } else {
                0
            },
            impact_counts: staged.impact_counts.address(memory),
            ..addresses((&of_contacts, hidden), (&of_bodies, hidden))
        };
        staged_mut(memory, staged.step)[0] = record;
        memory.upload(0..staged.pairs.bytes().end)
    }

    /// Begins to send what is to be remembered of the last step; `input` need not have candidates.
    pub fn send_history(
        &mut self,
        executor: &mut E,
        input: &AdvanceInput<'_>,
        entries: &[EntryRecord],
    ) -> Result<(), DeviceError> {
        self.stage(executor, input, entries.len(), false)?;
        let numbers = self.staged.numbers;
        let memory = self.staged_memory();
        staged_mut(memory, numbers)[0] = AdvanceNumbers {
            history: entries.len() as u32,
            ..Default::default()
        };
        memory.upload(numbers.bytes())?;
        let advance = self.staged.advance;
        let record = advance.address(self.staged_memory());
        let next = &mut self.history[1 - self.last];
        let (array, memory) = (next.entries, next.memory.as_mut().expect("just reserved"));
        staged_mut(memory, array)[..entries.len()].copy_from_slice(entries);
        memory.upload(array.bytes())?;
        executor.launch(over(&kernels::history_begin, input.grain_count, record))?;
        executor.launch(over(&kernels::history_link, entries.len(), record))?;
        self.last = 1 - self.last;
        // What is staged must have arrived before it is written again.
        executor.wait()
    }

    /// Makes a step of the candidates. The numbers say whether the CPU has to make it instead:
    /// nothing has changed then.
    pub fn advance(
        &mut self,
        executor: &mut E,
        input: &AdvanceInput<'_>,
    ) -> Result<AdvanceNumbers, DeviceError> {
        let may_be_flat = (1..=input.settings.most_flat).contains(&input.candidates);
        let numbers = self.advance_with(executor, input, may_be_flat)?;
        if may_be_flat && numbers.obstacle & MANY_COLOURS != 0 {
            return self.advance_with(executor, input, false);
        }
        Ok(numbers)
    }

    /// The same with a plan that is flat or not; that colours do not do for a flat one is an
    /// obstacle like others.
    fn advance_with(
        &mut self,
        executor: &mut E,
        input: &AdvanceInput<'_>,
        is_flat: bool,
    ) -> Result<AdvanceNumbers, DeviceError> {
        use kernels::*;
        self.stage(executor, input, 0, is_flat)?;
        let staged = self.staged;
        let record = staged.advance.address(self.staged_memory());
        let scans = staged.scans.map(|scan| scan.address(self.staged_memory()));
        let (contacts, grains) = (input.candidates, input.grain_count);
        let begin = |executor: &mut E, kernel: &'static ResidentKernel, entries: usize| {
            executor.launch(over(kernel, entries, record))
        };
        // A guess; kernels stride over what there is.
        let blocks = contacts.div_ceil(64);
        let by_blocks = |executor: &mut E, kernel: &'static ResidentKernel, per: usize| {
            executor.launch(ResidentLaunch {
                thread_blocks: (blocks.div_ceil(per) as u32).clamp(1, 4096),
                ..over(kernel, 1, record)
            })
        };
        begin(executor, &plan_begin, slots(contacts).max(grains))?;
        begin(executor, &plan_claim, contacts)?;
        begin(executor, &plan_rank, blocks)?;
        scan(executor, scans[0], contacts)?;
        begin(executor, &plan_place, contacts)?;
        by_blocks(executor, &plan_sort, 1)?;
        if is_flat {
            for parity in 0..PARITIES {
                executor.launch(ResidentLaunch {
                    thread_blocks: (blocks as u32).div_ceil(PARITIES).clamp(1, 4096),
                    number: parity,
                    ..over(&flat_colour, 1, record)
                })?;
            }
            begin(executor, &flat_keys, contacts)?;
            let keys = (MOST_COLOURS * kinds(input.settings)) as u32;
            let memory = self.memory.as_ref().expect("a step was sent");
            let bits = u32::BITS - (keys - 1).leading_zeros();
            let sorted = staged.sort.sort(executor, memory, bits)? as u32;
            let begin_at = |executor: &mut E, kernel: &'static ResidentKernel, entries: usize| {
                executor.launch(ResidentLaunch {
                    number: sorted,
                    ..over(kernel, entries, record)
                })
            };
            begin_at(executor, &flat_bounds, contacts + 1)?;
            begin_at(executor, &flat_groups, 1)?;
            begin_at(executor, &flat_order, contacts)?;
            scan(executor, scans[2], contacts)?;
            begin(executor, &flat_finish, 1)?;
        } else {
            by_blocks(
                executor,
                &plan_pack,
                RESIDENT_THREADS as usize / THREADS_PER_BLOCK,
            )?;
            scan(executor, scans[1], contacts)?;
            begin(executor, &plan_finish, blocks)?;
        }
        executor.mark(PLANNED)?;
        begin(executor, &rows_recall, contacts)?;
        begin(executor, &rows_claim, grains)?;
        self.staged_memory().download(staged.numbers.bytes())?;
        begin(executor, &rows_set, contacts)?;
        begin(executor, &rows_groups, contacts)?;
        executor.mark(ASSEMBLED)?;
        executor.wait()?;
        let numbers = staged_numbers::<E>(self);
        if numbers.obstacle != 0 {
            return Ok(numbers);
        }
        let shape = StepShape {
            substeps: input.settings.substeps as u32,
            blocks: numbers.colours.sizes(),
            is_flat,
            is_in_turn: false,
            cached_bodies: numbers.cached_bodies,
            bodies: (grains + numbers.fixed as usize) as u32,
            rolls: input.settings.laws.iter().any(|law| law.rolls),
            has_copies: false,
            has_losses: false,
        };
        let step = staged.step.address(self.staged_memory());
        executor.run(&shape, step)?;
        executor.mark(ADVANCED)?;
        begin(executor, &finish_grains, grains)?;
        begin(executor, &finish_contacts, contacts)?;
        self.staged_memory()
            .download(staged.numbers.bytes().start..staged.impact_counts.bytes().end)?;
        self.fixed = numbers.fixed as usize;
        let tracked = self.tracked_array.bytes().start;
        self.tracked
            .as_mut()
            .expect("just reserved")
            .download(tracked..tracked + self.fixed * size_of::<TrackedRecord>())?;
        executor.wait()?;
        let memory = self.memory.as_ref().expect("a step was sent");
        let counts = crate::memory::staged(memory, staged.impact_counts);
        self.impacts = impacts_of(executor, counts)?;
        self.last = 1 - self.last;
        Ok(staged_numbers::<E>(self))
    }

    /// Address of the record of the last step (`struct Advance`): what it left is there until the
    /// next one is sent.
    pub(super) fn record(&self) -> u64 {
        let memory = self.memory.as_ref().expect("a step was sent");
        self.staged.advance.address(memory)
    }

    /// Begins to multiply all that is remembered: for substeps of another length.
    pub fn scale_history(&mut self, executor: &mut E, factor: f64) -> Result<(), DeviceError> {
        let mut layout = Layout::default();
        let array: Array<ScaleRecord> = layout.array(1);
        reserve(executor, &mut self.scale, layout.end(), (0, 0))?;
        // What was sent before may be on its way still.
        executor.wait()?;
        let advance = self.record();
        let memory = self.scale.as_mut().expect("just reserved");
        staged_mut(memory, array)[0] = ScaleRecord { advance, factor };
        memory.upload(array.bytes())?;
        let entries = self.history[self.last].entries.count();
        executor.launch(over(
            &kernels::history_scale,
            entries,
            array.address(memory),
        ))
    }

    /// What walls got in the last step, in the order of the plan.
    pub fn tracked(&self) -> &[TrackedRecord] {
        match &self.tracked {
            Some(memory) => &staged(memory, self.tracked_array)[..self.fixed],
            None => &[],
        }
    }

    /// Impact rows of the last step.
    pub fn impacts(&self) -> usize {
        self.impacts
    }

    /// Where contacts of the last step are on the device.
    pub fn history(&self) -> HistoryAddress {
        let last = &self.history[self.last];
        let memory = self.memory.as_ref().expect("a step was sent");
        HistoryAddress {
            count: self.staged.numbers.address(memory)
                + std::mem::offset_of!(AdvanceNumbers, history) as u64,
            row: last.rows.address(last.memory()),
            other: last.others.address(last.memory()),
        }
    }

    /// Where what is remembered is found by the rows of its owners.
    pub(super) fn remembered(&self) -> RememberedRows {
        let last = &self.history[self.last];
        let HistoryAddress { count, row, .. } = self.history();
        RememberedRows {
            entry_of: last.entry_of.address(last.memory()),
            entries: last.entries.address(last.memory()),
            rows: row,
            count,
        }
    }

    /// Entries that are remembered at most.
    pub(super) fn most_remembered(&self) -> usize {
        self.history[self.last].entries.count()
    }

    /// Brings back what is remembered, in the order of the plan.
    pub fn fetch_history(&mut self, executor: &mut E) -> Result<Vec<EntryRecord>, DeviceError> {
        let numbers = self.staged.numbers;
        self.staged_memory().download(numbers.bytes())?;
        let last = &mut self.history[self.last];
        let array = last.entries;
        let memory = last.memory.as_mut().expect("it was reserved");
        memory.download(array.bytes())?;
        executor.wait()?;
        let count = staged_numbers::<E>(self).history as usize;
        let last = &self.history[self.last];
        let mut entries = staged(last.memory(), array)[..count].to_vec();
        entries.sort_unstable_by_key(|entry| entry.rank);
        Ok(entries)
    }
}

/// Laws times classes: contacts of one are swept together.
fn kinds(settings: &AdvanceSettings) -> usize {
    settings.laws.len().max(1) * usize::from(CLASSES)
}

fn staged_numbers<E: Executor>(advancer: &Advancer<E>) -> AdvanceNumbers {
    let memory = advancer.memory.as_ref().expect("a step was sent");
    staged(memory, advancer.staged.numbers)[0]
}

/// Candidates that the host sends.
#[derive(Debug)]
pub struct SentCandidates<E: Executor> {
    memory: Option<E::Memory>,
}

impl<E: Executor> Default for SentCandidates<E> {
    fn default() -> Self {
        SentCandidates { memory: None }
    }
}

impl<E: Executor> SentCandidates<E> {
    /// Sends them; returns where they are.
    pub fn send(
        &mut self,
        executor: &mut E,
        candidates: &[CandidateRecord],
    ) -> Result<u64, DeviceError> {
        let mut layout = Layout::default();
        let array: Array<CandidateRecord> = layout.array(candidates.len());
        reserve(
            executor,
            &mut self.memory,
            layout.end(),
            (0, candidates.len()),
        )?;
        let memory = self.memory.as_mut().expect("just reserved");
        staged_mut(memory, array).copy_from_slice(candidates);
        memory.upload(array.bytes())?;
        let address = array.address(memory);
        executor.wait()?;
        Ok(address)
    }
}
