//! Broad phase: all pairs of spheres that are near each other.
//!
//! A hierarchy of uniform grids. Level `ℓ` has cells of size
//!
//! ```text
//! s_ℓ = 2 f max(reach) / 2^ℓ,   1 ≤ f < 2,                               (1)
//! ```
//!
//! where `f` makes one level just wide enough for most of the spheres, and a sphere lives in the
//! finest level whose cells are at least as wide as twice its reach. Two near spheres of one level are then in the same or in touching cells; half of the
//! neighbourhood is searched, to find each pair once. (Crowded cells are cut in two along each
//! axis, and two cells on each side are searched.) A sphere finds its partners in a finer level
//! in the cells that its box, grown by half a fine cell, meets. (The other way round, from the fine
//! sphere to the coarse cells around it, tests 27 times as many pairs.)
//!
//! No cell is stored. Spheres are sorted by the key of their cell, `(i_z n_y + i_y) n_x + i_x`;
//! cells side by side in x are then one contiguous run, and as the search moves on in sorted
//! order, the runs around it only move forward. So memory is proportional to the number of
//! spheres however far some have flown: cell coordinates are clamped to a bounded range about the
//! median position, and as clamping is monotone and shortens distances, neighbours stay
//! neighbours. A dense table of cells was rejected because strays make it either huge or coarse.
//!
//! Work on one sorted sphere reads shared arrays only, so threads take chunks of the sorted range
//! as they come. On one thread the order of the pairs follows from positions and indices.

mod spheres;

use crate::pose::Aabb;
use esker_parallel::{SharedSlice, Team, resize};
use glam::DVec3;
use spheres::{Lanes, Scalar, Spheres};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use thiserror::Error;

/// Cells are this much wider than equation (1), to outweigh rounding of the cell coordinates.
const CELL_SLACK: f64 = 1.0 + 1e-6;

/// Number of grids: a size ratio of 2^15; smaller spheres share the finest.
const MAX_LEVELS: usize = 16;

/// Cells of a level with more spheres each than this are cut in two along each
/// axis: fewer pairs to test, in more rows.
const CROWDED: f64 = 6.0;

/// Rows of cells ahead of a cell, at most: those of a level cut in two.
const MOST_ROWS: usize = 12;

/// Share of the spheres that one level is made to fit.
const MOST: f64 = 0.9;

/// Up to this ratio of sizes spheres are in one level.
const SPARE: f64 = 1.1;

/// Spheres that are looked at to find out about all.
const SAMPLE: usize = 257;

/// Cells along each axis: with their border, all cells of all levels fit a 62-bit key.
const MAX_CELLS: f64 = ((1 << 19) - 8) as f64;

/// Bits of a sort key handled per pass.
const RADIX_BITS: u32 = 11;

/// More pairs than any packing of grains can have: spheres lie on top of one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "more than {limit} near pairs among {spheres} spheres: many of them coincide, for instance at sphere {sphere}"
)]
pub struct TooManyPairs {
    /// The bound that was met.
    pub limit: usize,
    /// Number of spheres.
    pub spheres: usize,
    /// A sphere in the crowd.
    pub sphere: u32,
}

/// A sphere of a pair that was found.
#[derive(Clone, Copy, Debug)]
pub struct PairEntry<'a, T> {
    /// Its index.
    pub index: u32,
    /// Its centre, m.
    pub centre: DVec3,
    /// What it carries with it.
    pub user_data: &'a T,
}

/// The spheres that pairs are looked for among.
#[derive(Clone, Copy, Debug)]
pub struct Crowd<'a> {
    /// Their centres, m.
    pub centres: &'a [DVec3],
    /// How far each reaches from its centre, m.
    pub reach: &'a [f64],
    /// The first sphere that has a box, and the boxes from there on: pairs of such a sphere with a
    /// smaller one that is farther from its box than it reaches itself may be left out. A ball
    /// around a plate holds half of a bed.
    pub boxes: (usize, &'a [Aabb]),
}

impl<'a> Crowd<'a> {
    /// Spheres without boxes.
    pub fn new(centres: &'a [DVec3], reach: &'a [f64]) -> Self {
        Crowd {
            centres,
            reach,
            boxes: (0, &[]),
        }
    }
}

/// What spheres carry with them; nothing by default.
pub trait UserData: Copy + Default + Send + Sync {}

impl<T: Copy + Default + Send + Sync> UserData for T {}

/// A sphere while it is sorted.
#[derive(Clone, Copy, Debug, Default)]
struct SortEntry {
    key: u64,
    index: u32,
}

/// One grid of the hierarchy.
#[derive(Clone, Debug)]
struct Level {
    /// Its part of the sorted spheres.
    range: Range<usize>,
    /// Keys of its cells are not below this.
    first_key: u64,
    /// Corner of cell (0, 0, 0) (m).
    origin: DVec3,
    cells_per_metre: f64,
    /// Smallest and largest occupied cell coordinates.
    min: [i64; 3],
    max: [i64; 3],
    /// Cells along x and y, with a border of empty cells on each side.
    width: [i64; 2],
    /// Cells that make up the width of equation (1): two near spheres are at
    /// most as many cells apart.
    division: i64,
}

impl Level {
    fn cell(&self, point: DVec3) -> [i64; 3] {
        // Clamped before the conversion: no position can overflow.
        let cell = ((point - self.origin) * self.cells_per_metre)
            .max(DVec3::ZERO)
            .min(DVec3::splat(MAX_CELLS));
        [cell.x as i64, cell.y as i64, cell.z as i64]
    }

    /// Key of a cell in the occupied box.
    fn key(&self, cell: [i64; 3]) -> u64 {
        let along = |k: usize| cell[k] - self.min[k] + self.division;
        let place = (along(2) * self.width[1] + along(1)) * self.width[0] + along(0);
        self.first_key + place as u64
    }

    /// Half of the rows of cells around a cell's own, as distances in key.
    fn rows_ahead(&self) -> ([u64; MOST_ROWS], usize) {
        let (mut rows, mut count) = ([0; MOST_ROWS], 0);
        let k = self.division;
        for dz in 0..=k {
            for dy in if dz == 0 { 1 } else { -k }..=k {
                rows[count] = self.row_offset(dy, dz);
                count += 1;
            }
        }
        (rows, count)
    }

    /// Distance in key between a cell and the one `dy`, `dz` further on.
    fn row_offset(&self, dy: i64, dz: i64) -> u64 {
        ((dz * self.width[1] + dy) * self.width[0]) as u64
    }
}

/// How many spheres a level has, and where.
#[derive(Clone, Copy)]
struct CellStatistics {
    population: usize,
    min: [i64; 3],
    max: [i64; 3],
}

impl CellStatistics {
    const EMPTY: CellStatistics = CellStatistics {
        population: 0,
        min: [i64::MAX; 3],
        max: [i64::MIN; 3],
    };

    fn add(&mut self, cell: [i64; 3]) {
        *self = self.joined(&CellStatistics {
            population: 1,
            min: cell,
            max: cell,
        });
    }

    fn is_crowded(&self) -> bool {
        let cells = (0..3).map(|k| (self.max[k] as f64) - (self.min[k] as f64) + 1.0);
        self.population as f64 > CROWDED * cells.product::<f64>()
    }

    fn joined(&self, other: &CellStatistics) -> CellStatistics {
        CellStatistics {
            population: self.population + other.population,
            min: std::array::from_fn(|k| self.min[k].min(other.min[k])),
            max: std::array::from_fn(|k| self.max[k].max(other.max[k])),
        }
    }
}

/// Finds pairs of near spheres; keeps its buffers from call to call.
#[derive(Clone, Debug, Default)]
pub struct BroadPhase<T = ()> {
    levels: Vec<Level>,
    // All spheres, level after level, the coarsest first, each level sorted by key.
    keys: Vec<u64>,
    spheres: Spheres,
    user_data: Vec<T>,
    indices: Vec<u32>,
    /// Boxes of the spheres from this index on.
    first_box: usize,
    boxes: Vec<Aabb>,
    // Scratch of the sorting.
    entries: Vec<SortEntry>,
    swap: Vec<SortEntry>,
    counts: Vec<u32>,
    sample: Vec<f64>,
}

/// Pairs per sphere that there is room for from the start. Room that is not used costs no memory;
/// a large output that grows is there twice for a while.
const ROOM: usize = 8;

/// Spheres that a thread takes at a time.
const CHUNK: usize = 64;
/// Finer spheres per coarse one from which on a thread takes part of the cells around one coarse
/// sphere at a time: a few giants would be the work of one thread.
const SHARED_GIANT: usize = 512;
/// Parts at most into which the cells around a giant are cut.
const MAX_SLABS: usize = 64;

/// A part of the search: the pairs of one level with itself or with a finer one.
struct Search<'a> {
    level: &'a Level,
    finer: Option<&'a Level>,
    /// Spheres of the level that a thread takes at a time.
    chunk: usize,
    /// Parts into which the cells around each of them are cut.
    slabs: usize,
    /// Chunks and slabs that are taken.
    taken: AtomicUsize,
}

impl BroadPhase {
    /// An empty broad phase; buffers grow on first use.
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces `pairs` by every `[i, j]`, `i < j`, with `|x_i − x_j| < reach_i + reach_j`, each
    /// once, in an order that depends on the arguments only.
    ///
    /// Spheres with a non-finite centre or reach or a negative reach have no pairs. On an error
    /// `pairs` holds the pairs found so far.
    ///
    /// # Panics
    ///
    /// If the slices differ in length or hold more than `u32::MAX` spheres.
    pub fn find_pairs(
        &mut self,
        centres: &[DVec3],
        reach: &[f64],
        pairs: &mut Vec<[u32; 2]>,
    ) -> Result<(), TooManyPairs> {
        let found = &mut [std::mem::take(pairs)];
        let result = self.search(
            &mut Team::default(),
            Crowd::new(centres, reach),
            |_| (),
            found,
            |[a, b]| ([a.index.min(b.index), a.index.max(b.index)], true),
        );
        [*pairs] = std::mem::take(found);
        result
    }
}

impl<T: UserData> BroadPhase<T> {
    /// The bound on the number of pairs among `spheres` spheres, beyond which
    /// [`BroadPhase::search`] gives up instead of filling the memory: 100 pairs per sphere
    /// (a dense packing has about 7) and a million for small crowds.
    pub const fn pair_limit(spheres: usize) -> usize {
        1_000_000 + 100 * spheres
    }

    /// Replaces what is in `outputs` by `describe(pair)` of every two spheres with
    /// `|x_i − x_j| < reach_i + reach_j`, each once, of those that it says are wanted, but for what
    /// boxes leave out. Sphere `i`
    /// has `user_data(i)` with it there. Every thread has an output of its own; which of them finds
    /// a pair, and in which order, is left open.
    ///
    /// # Panics
    ///
    /// If the slices differ in length or hold more than `u32::MAX` spheres, or there is not one
    /// output per thread.
    pub fn search<C: Copy + Send>(
        &mut self,
        team: &mut Team,
        crowd: Crowd<'_>,
        user_data: impl Fn(usize) -> T + Sync,
        outputs: &mut [Vec<C>],
        describe: impl Fn([PairEntry<'_, T>; 2]) -> (C, bool) + Sync,
    ) -> Result<(), TooManyPairs> {
        let Crowd {
            centres,
            reach,
            boxes: (first_box, boxes),
        } = crowd;
        assert_eq!(centres.len(), reach.len(), "one reach per centre");
        assert!(u32::try_from(centres.len()).is_ok(), "indices are 32 bits");
        assert_eq!(outputs.len(), team.threads(), "one output per thread");
        self.first_box = first_box;
        self.boxes.clear();
        self.boxes.extend_from_slice(boxes);
        self.sort_into_levels(team, centres, reach);
        let entries = &self.entries;
        team.fill(&mut self.keys, entries.len(), |slot| entries[slot].key);
        team.fill(&mut self.indices, entries.len(), |slot| entries[slot].index);
        let index = |slot: usize| entries[slot].index as usize;
        self.spheres.fill(team, entries.len(), |slot| {
            (centres[index(slot)], reach[index(slot)])
        });
        team.fill(&mut self.user_data, entries.len(), |slot| {
            user_data(index(slot))
        });
        let limit = Self::pair_limit(self.keys.len());
        let (found, crowd) = (AtomicUsize::new(0), AtomicU32::new(u32::MAX));
        let outputs = SharedSlice::new(outputs);
        let searches = self.searches();
        let searches = || searches.iter().map_while(Option::as_ref);
        team.run(|worker| {
            // SAFETY: every worker has an output of its own.
            let place = unsafe { outputs.at(worker.index) };
            // Lengths of neighbouring outputs share a cache line, and they change with every pair.
            let mut output = std::mem::take(place);
            output.clear();
            output.reserve(ROOM * self.keys.len() / worker.count);
            'searches: for search in searches() {
                while let Some((slots, slab)) = search.take() {
                    let before = output.len();
                    let max = limit.saturating_sub(found.load(Ordering::Relaxed));
                    let last = self.pairs_of(Task {
                        search,
                        slots,
                        slab,
                        max: before + max,
                        output: &mut output,
                        describe: &describe,
                    });
                    let own = output.len() - before;
                    if found.fetch_add(own, Ordering::Relaxed) + own > limit {
                        crowd.store(self.indices[last], Ordering::Relaxed);
                        break 'searches;
                    }
                }
            }
            *place = output;
        });
        match crowd.into_inner() {
            u32::MAX => Ok(()),
            sphere => Err(TooManyPairs {
                limit,
                spheres: self.keys.len(),
                sphere,
            }),
        }
    }

    /// Every level with itself and with each finer one.
    fn searches(&self) -> [Option<Search<'_>>; MAX_LEVELS * (MAX_LEVELS + 1) / 2] {
        let mut all = self.levels.iter().enumerate().flat_map(|(depth, level)| {
            let finer = self.levels[depth + 1..].iter().map(Some);
            std::iter::once(None)
                .chain(finer)
                .map(move |finer| Search::new(level, finer))
        });
        std::array::from_fn(|_| all.next())
    }

    /// Puts the spheres that take part into `entries`, level after level, each level sorted by
    /// key.
    fn sort_into_levels(&mut self, team: &mut Team, centres: &[DVec3], reach: &[f64]) {
        self.levels.clear();
        self.entries.clear();
        let takes_part =
            |i: usize| centres[i].is_finite() && (0.0..f64::INFINITY).contains(&reach[i]);
        let max_reach = team.fold(
            centres.len(),
            0.0,
            |range| {
                let taking = range.filter(|&i| takes_part(i));
                taking.fold(0.0, |max, i| reach[i].max(max))
            },
            |a: f64, b| a.max(*b),
        );
        if max_reach == 0.0 {
            return;
        }
        let widest = self.widest(reach, max_reach);
        let level_of = |i: usize| {
            if takes_part(i) {
                exponent(widest / reach[i]).min(MAX_LEVELS - 1)
            } else {
                MAX_LEVELS
            }
        };
        let median = self.median_centre(centres);
        let empty_level = |depth: usize, division: i64| {
            let cells = (1_u64 << depth) as f64 * division as f64;
            let cell_size = CELL_SLACK * 2.0 * widest / cells;
            Level {
                range: 0..0,
                first_key: 0,
                origin: median - 0.5 * MAX_CELLS * cell_size,
                cells_per_metre: 1.0 / cell_size,
                min: [i64::MAX; 3],
                max: [i64::MIN; 3],
                width: [0; 2],
                division,
            }
        };
        let mut count_cells = |levels: &[Level; MAX_LEVELS]| {
            team.fold(
                centres.len(),
                [CellStatistics::EMPTY; MAX_LEVELS],
                |range| {
                    let mut statistics = [CellStatistics::EMPTY; MAX_LEVELS];
                    for i in range {
                        if let Some(count) = statistics.get_mut(level_of(i)) {
                            count.add(levels[level_of(i)].cell(centres[i]));
                        }
                    }
                    statistics
                },
                |a, b| std::array::from_fn(|depth| a[depth].joined(&b[depth])),
            )
        };
        let mut all: [Level; MAX_LEVELS] = std::array::from_fn(|depth| empty_level(depth, 1));
        let mut statistics = count_cells(&all);
        let is_crowded: [bool; MAX_LEVELS] = std::array::from_fn(|k| statistics[k].is_crowded());
        if is_crowded.contains(&true) {
            all = std::array::from_fn(|k| empty_level(k, 1 + i64::from(is_crowded[k])));
            statistics = count_cells(&all);
        }
        let (mut start, mut next_key) = (0, 0);
        for (level, statistics) in all.iter_mut().zip(&statistics) {
            level.range = start..start + statistics.population;
            start = level.range.end;
            level.first_key = next_key;
            (level.min, level.max) = (statistics.min, statistics.max);
            if statistics.population > 0 {
                level.width = [0, 1].map(|k| level.max[k] - level.min[k] + 1 + 2 * level.division);
                // Room for the border of empty cells behind the last one.
                next_key = level.key(level.max.map(|c| c + level.division)) + 1;
            }
        }
        team.fill(&mut self.entries, centres.len(), |i| SortEntry {
            key: match all.get(level_of(i)) {
                Some(level) => level.key(level.cell(centres[i])),
                None => next_key,
            },
            index: i as u32,
        });
        let (swap, counts) = (&mut self.swap, &mut self.counts);
        radix_sort(team, &mut self.entries, next_key, swap, counts);
        self.entries.truncate(start);
        let used = all.into_iter().filter(|level| !level.range.is_empty());
        self.levels.extend(used);
    }

    /// `f max(reach)` of equation (1).
    fn widest(&mut self, reach: &[f64], max_reach: f64) -> f64 {
        self.take_sample(reach.len(), |i| reach[i]);
        self.sample.retain(|r| (0.0..=max_reach).contains(r));
        if self.sample.is_empty() {
            return max_reach;
        }
        let rank = (MOST * (self.sample.len() - 1) as f64) as usize;
        let most = *self.sample.select_nth_unstable_by(rank, f64::total_cmp).1;
        // Beside a giant, what is hardly larger than most shares their level.
        let fitting = self.sample.iter().filter(|r| **r <= SPARE * most);
        let mut widest = fitting.fold(most, |max, r| r.max(max));
        while SPARE * widest < max_reach && widest > 0.0 {
            widest *= 2.0;
        }
        // Zero, or so small that doubling does not get there.
        widest.max(max_reach)
    }

    fn take_sample(&mut self, count: usize, value: impl Fn(usize) -> f64) {
        self.sample.clear();
        let stride = count.div_ceil(SAMPLE).max(1);
        self.sample.extend((0..count).step_by(stride).map(value));
    }

    /// Componentwise median of a sample: a few strays do not move it.
    fn median_centre(&mut self, centres: &[DVec3]) -> DVec3 {
        let mut median = DVec3::ZERO;
        for axis in 0..3 {
            self.take_sample(centres.len(), |i| centres[i][axis]);
            self.sample.retain(|c| c.is_finite());
            if self.sample.is_empty() {
                continue;
            }
            let middle = self.sample.len() / 2;
            median[axis] = *self.sample.select_nth_unstable_by(middle, f64::total_cmp).1;
        }
        median
    }

    /// The pairs of a task; returns the slot looked at last.
    fn pairs_of<C: Copy>(
        &self,
        task: Task<'_, C, impl Fn([PairEntry<'_, T>; 2]) -> (C, bool)>,
    ) -> usize {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has the instructions.
            return unsafe { self.pairs_avx2(task) };
        }
        // SAFETY: no instructions are asked for.
        unsafe { self.pairs_with::<Scalar, C>(task) }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    unsafe fn pairs_avx2<C: Copy>(
        &self,
        task: Task<'_, C, impl Fn([PairEntry<'_, T>; 2]) -> (C, bool)>,
    ) -> usize {
        // SAFETY: passed on to the caller.
        unsafe { self.pairs_with::<spheres::Avx2, C>(task) }
    }

    // No closure between here and the tests: it would be a function of its own, without the
    // instruction set, at three times the run time.

    /// # Safety
    /// The processor has the instructions of `W`.
    #[inline(always)]
    unsafe fn pairs_with<W: Lanes, C: Copy>(
        &self,
        task: Task<'_, C, impl Fn([PairEntry<'_, T>; 2]) -> (C, bool)>,
    ) -> usize {
        let Task {
            search,
            slots,
            slab,
            max,
            output,
            describe,
        } = task;
        let mut cursor = Cursor::new(search.level);
        let mut last = slots.start;
        for slot in slots {
            last = slot;
            if let Some(finer) = search.finer {
                let mut runs = FinerRuns::around(self, finer, slot, [slab, search.slabs]);
                while let Some(run) = runs.next(&self.keys) {
                    // SAFETY: passed on to the caller.
                    unsafe { self.pairs_in_run::<W, C>(slot, run, output, describe) };
                }
            } else {
                cursor.move_to(search.level, &self.keys, slot);
                let own = slot + 1..cursor.beside;
                // SAFETY: passed on to the caller.
                unsafe { self.pairs_in_run::<W, C>(slot, own, output, describe) };
                for run in &cursor.runs[..cursor.rows.1] {
                    // SAFETY: passed on to the caller.
                    unsafe { self.pairs_in_run::<W, C>(slot, run.clone(), output, describe) };
                }
            }
            if output.len() > max {
                break;
            }
        }
        last
    }

    /// The pairs of the sphere at `slot` with a run of others.
    #[inline(always)]
    unsafe fn pairs_in_run<W: Lanes, C: Copy>(
        &self,
        slot: usize,
        run: Range<usize>,
        output: &mut Vec<C>,
        describe: &impl Fn([PairEntry<'_, T>; 2]) -> (C, bool),
    ) {
        let mut first = run.start;
        while first < run.end {
            // SAFETY: passed on to the caller.
            let mut bits = unsafe { self.spheres.near::<W>(slot, first, run.end) };
            // Pairs that are not wanted are overwritten instead of jumped over. Whether one is
            // wanted is hard to predict, and a mispredicted branch makes the processor
            // wait for the root in the pair's distance.
            if output.capacity() < output.len() + W::COUNT {
                output.reserve(output.len() + W::COUNT);
            }
            let mut length = output.len();
            while bits != 0 {
                let other = first + bits.trailing_zeros() as usize;
                let (pair, wanted) = describe([self.pair_entry(slot), self.pair_entry(other)]);
                // SAFETY: there is room for as many as there are bits, and all below the length
                // are written.
                unsafe { output.as_mut_ptr().add(length).write(pair) };
                length += usize::from(wanted);
                bits &= bits - 1;
            }
            // SAFETY: as above.
            unsafe { output.set_len(length) };
            first += W::COUNT;
        }
    }

    /// The box of the sphere at `slot`, if it has one.
    fn box_of(&self, slot: usize) -> Option<&Aabb> {
        let boxed = (self.indices[slot] as usize).checked_sub(self.first_box)?;
        self.boxes.get(boxed)
    }

    #[inline(always)]
    fn pair_entry(&self, slot: usize) -> PairEntry<'_, T> {
        PairEntry {
            index: self.indices[slot],
            centre: self.spheres.centre(slot),
            user_data: &self.user_data[slot],
        }
    }
}

/// The runs of a finer level that may hold spheres near one of a coarser level: of all of them, or
/// of one slab of the cells around it.
struct FinerRuns<'a> {
    finer: &'a Level,
    from: [i64; 3],
    to: [i64; 3],
    /// Rows of cells along the first axis that are left to look at.
    rows: Range<usize>,
    /// All there is, where that is less work than to look at all rows.
    everything: Option<Range<usize>>,
    at: usize,
}

impl<'a> FinerRuns<'a> {
    /// `slab` is which of how many.
    fn around<T: UserData>(
        spheres: &BroadPhase<T>,
        finer: &'a Level,
        slot: usize,
        [slab, slabs]: [usize; 2],
    ) -> Self {
        let (centre, reach) = (spheres.spheres.centre(slot), spheres.spheres.reach(slot));
        // A fine sphere reaches half the width of equation (1) less the slack; rounding is
        // monotone.
        let fine_reach = 0.5 * finer.division as f64 / finer.cells_per_metre;
        let mut within = Aabb::new(centre, centre).inflated(reach);
        if let Some(own) = spheres.box_of(slot) {
            within = Aabb::new(within.min.max(own.min), within.max.min(own.max));
        }
        let within = within.inflated(fine_reach);
        let (from, to) = (finer.cell(within.min), finer.cell(within.max));
        let from = [0, 1, 2].map(|k| from[k].max(finer.min[k]));
        let to = [0, 1, 2].map(|k| to[k].min(finer.max[k]));
        let [x, y, z] = [0, 1, 2].map(|k| (to[k] - from[k] + 1).max(0) as usize);
        let rows = if x > 0 { y.saturating_mul(z) } else { 0 };
        let part = |count: usize| count * slab / slabs..count * (slab + 1) / slabs;
        let count = finer.range.len();
        // A giant among few.
        let is_giant = rows > count;
        FinerRuns {
            finer,
            from,
            to,
            rows: part(if is_giant { 0 } else { rows }),
            everything: is_giant.then(|| {
                let part = part(count);
                finer.range.start + part.start..finer.range.start + part.end
            }),
            at: finer.range.start,
        }
    }

    fn next(&mut self, keys: &[u64]) -> Option<Range<usize>> {
        if let Some(run) = self.everything.take() {
            return Some(run);
        }
        let (from, to, finer) = (self.from, self.to, self.finer);
        let row = self.rows.next()? as i64;
        let width = to[1] - from[1] + 1;
        let (y, z) = (from[1] + row % width, from[2] + row / width);
        let keys = &keys[..finer.range.end];
        let start = advance(keys, self.at, finer.key([from[0], y, z]));
        self.at = advance(keys, start, finer.key([to[0], y, z]) + 1);
        Some(start..self.at)
    }
}

/// What a thread does at a time.
struct Task<'a, C, D> {
    search: &'a Search<'a>,
    /// The spheres whose pairs are looked for.
    slots: Range<usize>,
    /// In which of the search's slabs.
    slab: usize,
    /// The output may grow just beyond this length.
    max: usize,
    output: &'a mut Vec<C>,
    describe: &'a D,
}

impl<'a> Search<'a> {
    fn new(level: &'a Level, finer: Option<&'a Level>) -> Self {
        let finer_count = finer.map_or(0, |finer| finer.range.len());
        let per_sphere = finer_count / level.range.len().max(1);
        let (chunk, slabs) = if per_sphere < SHARED_GIANT {
            (CHUNK, 1)
        } else {
            (1, (per_sphere / SHARED_GIANT).min(MAX_SLABS))
        };
        Search {
            level,
            finer,
            chunk,
            slabs,
            taken: AtomicUsize::new(0),
        }
    }

    /// The next chunk of spheres and slab of the cells around them, until all are taken.
    fn take(&self) -> Option<(Range<usize>, usize)> {
        let all = &self.level.range;
        let next = self.taken.fetch_add(1, Ordering::Relaxed);
        let start = all.start + next / self.slabs * self.chunk;
        let slots = start..all.end.min(start + self.chunk);
        (start < all.end).then_some((slots, next % self.slabs))
    }
}

/// The runs of a level's spheres around one that moves on in sorted order.
struct Cursor {
    key: u64,
    /// End of the own cell and the next ones in x.
    beside: usize,
    /// Other rows, as distances in key, and how many there are.
    rows: ([u64; MOST_ROWS], usize),
    /// What is on both sides in each of them.
    runs: [Range<usize>; MOST_ROWS],
}

impl Cursor {
    fn new(level: &Level) -> Self {
        let start = level.range.start;
        Cursor {
            key: u64::MAX,
            beside: start,
            rows: level.rows_ahead(),
            runs: std::array::from_fn(|_| start..start),
        }
    }

    /// Moves the runs on to those around the sphere at `slot`, not before the last one.
    #[inline(always)]
    fn move_to(&mut self, level: &Level, keys: &[u64], slot: usize) {
        let keys = &keys[..level.range.end];
        let key = keys[slot];
        if key == self.key {
            return;
        }
        self.key = key;
        let apart = level.division as u64;
        self.beside = advance(keys, self.beside, key + apart + 1);
        for (row, run) in self.rows.0[..self.rows.1].iter().zip(&mut self.runs) {
            run.start = advance(keys, run.start, key + row - apart);
            run.end = advance(keys, run.end.max(run.start), key + row + apart + 1);
        }
    }
}

/// First position at or after `start` whose key is at least `key`: strides that double, then
/// halving, so that short ways cost little and long ones a logarithm.
fn advance(keys: &[u64], start: usize, key: u64) -> usize {
    let mut from = start;
    let mut stride = 1;
    while from + stride <= keys.len() && keys[from + stride - 1] < key {
        from += stride;
        stride *= 2;
    }
    let to = (from + stride - 1).min(keys.len());
    from + keys[from..to].partition_point(|&k| k < key)
}

/// The exponent of two of a number that is at least one.
fn exponent(x: f64) -> usize {
    const MANTISSA: u32 = f64::MANTISSA_DIGITS - 1;
    ((x.to_bits() >> MANTISSA) as usize).saturating_sub(f64::MAX_EXP as usize - 1)
}

/// Stable sort by key; `max_key` bounds the keys. Every worker counts and then places its own
/// part, digit by digit.
fn radix_sort(
    team: &mut Team,
    entries: &mut Vec<SortEntry>,
    max_key: u64,
    swap: &mut Vec<SortEntry>,
    counts: &mut Vec<u32>,
) {
    const DIGITS: usize = 1 << RADIX_BITS;
    if entries.len() < 256 {
        // Indices ascend within a key, so that this order is the stable one.
        entries.sort_unstable_by_key(|entry| (entry.key, entry.index));
        return;
    }
    resize(swap, entries.len());
    counts.resize(DIGITS * team.threads(), 0);
    let mut shift = 0;
    while shift < u64::BITS && max_key >> shift > 0 {
        let digit = |entry: &SortEntry| (entry.key >> shift) as usize & (DIGITS - 1);
        let from = &entries[..];
        let own_counts = SharedSlice::new(counts);
        team.run(|worker| {
            let own = worker.index * DIGITS..(worker.index + 1) * DIGITS;
            // SAFETY: every worker has counts of its own.
            let own = unsafe { own_counts.part(own) };
            own.fill(0);
            for entry in &from[worker.part_of(from.len(), 1)] {
                own[digit(entry)] += 1;
            }
        });
        let mut start = 0;
        for digit in 0..DIGITS {
            for own in counts.chunks_mut(DIGITS) {
                start += std::mem::replace(&mut own[digit], start);
            }
        }
        let own_counts = SharedSlice::new(counts);
        let to = SharedSlice::new(swap);
        team.run(|worker| {
            let own = worker.index * DIGITS..(worker.index + 1) * DIGITS;
            // SAFETY: every worker has counts of its own, and they give every
            // ticket a place of its own.
            let next = unsafe { own_counts.part(own) };
            for entry in &from[worker.part_of(from.len(), 1)] {
                let place = &mut next[digit(entry)];
                // SAFETY: as above.
                unsafe { *to.at(*place as usize) = *entry };
                *place += 1;
            }
        });
        std::mem::swap(entries, swap);
        shift += RADIX_BITS;
    }
}
