//! Broad phase: all pairs of spheres that are near each other.
//!
//! A hierarchy of uniform grids. Level `ℓ` has cells of size
//!
//! ```text
//! s_ℓ = 2 max(reach) / 2^ℓ,                                              (1)
//! ```
//!
//! and a sphere lives in the finest level whose cells are at least as wide as twice its reach.
//! Then spheres `i`, `j` with `|x_i − x_j| < reach_i + reach_j` are in the same or in touching
//! cells of the coarser of their two levels, so that each sphere looks around itself in its own
//! level (half of the neighbourhood, to find each pair once) and in all coarser ones.
//!
//! No cell is stored. Spheres are sorted by the key of their cell, `(i_z n_y + i_y) n_x + i_x`;
//! the three cells side by side in x are then one contiguous run, and as the sphere under
//! inspection moves on in sorted order, the starts of the runs around it only move forward. So
//! memory is proportional to the number of spheres however far some have flown: cell
//! coordinates are clamped to a bounded range about the median position, and as clamping is
//! monotone and shortens distances, neighbours stay neighbours. A dense table of cells was
//! rejected because strays make it either huge or coarse.
//!
//! The order of the pairs follows from the positions and indices only. Work on one sorted sphere
//! reads shared arrays and appends to the output, so the sorted range can be cut into parts whose
//! outputs, joined in order, are the same pairs in the same order.

use crate::Aabb;
use glam::DVec3;
use std::ops::Range;
use thiserror::Error;

/// Cells are this much wider than equation (1), to outweigh rounding of the cell coordinates.
const CELL_SLACK: f64 = 1.0 + 1e-6;

/// Number of grids: a size ratio of 2^15; smaller spheres share the finest.
const MAX_LEVELS: usize = 16;

/// Largest cell coordinate: three of them and their border fit a 63-bit key.
const MAX_CELL: i64 = (1 << 20) - 4;

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

/// A sphere of one level, in the order of its cells.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    centre: DVec3,
    reach: f64,
    index: u32,
    key: u64,
}

/// One grid of the hierarchy.
#[derive(Clone, Debug, Default)]
struct Level {
    /// Part of the sorted entries.
    entries: Range<usize>,
    cells_per_metre: f64,
    origin: DVec3,
    /// Least occupied cell coordinate.
    least: [i64; 3],
    /// Cells along x and y, with a border of one empty cell on each side.
    width: [i64; 2],
}

impl Level {
    fn cell(&self, centre: DVec3) -> [i64; 3] {
        let cell = ((centre - self.origin) * self.cells_per_metre).floor();
        // Conversion to integer saturates, so that no position can overflow.
        [cell.x, cell.y, cell.z].map(|c| (c as i64).clamp(-MAX_CELL, MAX_CELL))
    }

    /// Key of a cell of the occupied box.
    fn key(&self, cell: [i64; 3]) -> u64 {
        let [x, y, z] = [0, 1, 2].map(|k| cell[k] - self.least[k] + 1);
        ((z * self.width[1] + y) * self.width[0] + x) as u64
    }

    /// Distance in key between a cell and the one `dy`, `dz` further on.
    fn row_offset(&self, dy: i64, dz: i64) -> i64 {
        (dz * self.width[1] + dy) * self.width[0]
    }
}

/// Finds pairs of near spheres; keeps its buffers from call to call.
#[derive(Clone, Debug, Default)]
pub struct BroadPhase {
    levels: Vec<Level>,
    /// All levels one after the other, the coarsest first, each sorted by key.
    entries: Vec<Entry>,
    scratch: Vec<Entry>,
    counts: Vec<u32>,
    median: Vec<f64>,
}

impl BroadPhase {
    /// An empty broad phase; buffers grow on first use.
    pub fn new() -> Self {
        Self::default()
    }

    /// The bound on the number of pairs among `spheres` spheres, beyond which
    /// [`BroadPhase::find_pairs`] gives up instead of filling the memory: 100 pairs per sphere
    /// (a dense packing has about 7) and a million for small crowds.
    pub const fn pair_limit(spheres: usize) -> usize {
        1_000_000 + 100 * spheres
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
        assert_eq!(centres.len(), reach.len(), "one reach per centre");
        assert!(u32::try_from(centres.len()).is_ok(), "indices are 32 bits");
        pairs.clear();
        self.sort_into_levels(centres, reach);
        for (level_index, level) in self.levels.iter().enumerate() {
            self.pairs_within(level, pairs)?;
            for coarser in &self.levels[..level_index] {
                self.pairs_between(level, coarser, pairs)?;
            }
        }
        Ok(())
    }

    fn sort_into_levels(&mut self, centres: &[DVec3], reach: &[f64]) {
        self.levels.clear();
        self.entries.clear();
        let takes_part =
            |i: usize| centres[i].is_finite() && reach[i] >= 0.0 && reach[i].is_finite();
        let max_reach = (0..centres.len())
            .filter(|&i| takes_part(i))
            .fold(0.0, |max, i| reach[i].max(max));
        if max_reach == 0.0 {
            return;
        }
        let origin = self.median_centre(centres);
        let finest = MAX_LEVELS - 1;
        let level_of = |reach: f64| ((max_reach / reach).log2().floor() as usize).min(finest);
        let mut population = [0_usize; MAX_LEVELS];
        // The logarithm is costly and most neighbours in memory are equal in size.
        let mut last = (max_reach, 0);
        let mut cached_level = |reach: f64| {
            if reach != last.0 {
                last = (reach, level_of(reach));
            }
            last.1
        };
        for i in (0..centres.len()).filter(|&i| takes_part(i)) {
            population[cached_level(reach[i])] += 1;
        }
        let mut next = [0_usize; MAX_LEVELS];
        let mut total = 0;
        for (level, count) in population.iter().enumerate() {
            next[level] = total;
            total += count;
        }
        let starts = next;
        self.entries.resize(total, Entry::default());
        for i in (0..centres.len()).filter(|&i| takes_part(i)) {
            let level = cached_level(reach[i]);
            self.entries[next[level]] = Entry {
                centre: centres[i],
                reach: reach[i],
                index: i as u32,
                key: 0,
            };
            next[level] += 1;
        }
        for level in (0..MAX_LEVELS).filter(|&level| population[level] > 0) {
            let cell_size = CELL_SLACK * 2.0 * max_reach / (1_u64 << level) as f64;
            self.sort_level(Level {
                entries: starts[level]..starts[level] + population[level],
                cells_per_metre: 1.0 / cell_size,
                origin,
                ..Level::default()
            });
        }
    }

    /// Fixes the occupied box of the level and sorts its entries by key.
    fn sort_level(&mut self, mut level: Level) {
        let entries = &mut self.entries[level.entries.clone()];
        let (mut least, mut most) = ([i64::MAX; 3], [i64::MIN; 3]);
        for entry in entries.iter() {
            let cell = level.cell(entry.centre);
            for k in 0..3 {
                least[k] = least[k].min(cell[k]);
                most[k] = most[k].max(cell[k]);
            }
        }
        level.least = least;
        let width = [0, 1, 2].map(|k| most[k] - least[k] + 3);
        level.width = [width[0], width[1]];
        for entry in entries.iter_mut() {
            entry.key = level.key(level.cell(entry.centre));
        }
        let max_key = (width[0] * width[1] * width[2]) as u64;
        radix_sort(entries, max_key, &mut self.scratch, &mut self.counts);
        self.levels.push(level);
    }

    /// Componentwise median of a sample: a few strays do not move it.
    fn median_centre(&mut self, centres: &[DVec3]) -> DVec3 {
        const SAMPLE: usize = 257;
        let stride = centres.len().div_ceil(SAMPLE).max(1);
        let mut median = DVec3::ZERO;
        for axis in 0..3 {
            self.median.clear();
            let sample = centres.iter().step_by(stride).map(|c| c[axis]);
            self.median.extend(sample.filter(|c| c.is_finite()));
            if self.median.is_empty() {
                continue;
            }
            let middle = self.median.len() / 2;
            median[axis] = *self.median.select_nth_unstable_by(middle, f64::total_cmp).1;
        }
        median
    }

    /// Pairs of spheres of the same level.
    fn pairs_within(&self, level: &Level, pairs: &mut Vec<[u32; 2]>) -> Result<(), TooManyPairs> {
        let entries = &self.entries[level.entries.clone()];
        let rows =
            [(1, 0), (-1, 1), (0, 1), (1, 1)].map(|(dy, dz)| level.row_offset(dy, dz) as u64);
        let mut runs = [(0, 0); 4];
        let mut key = None;
        for (k, entry) in entries.iter().enumerate() {
            if key != Some(entry.key) {
                key = Some(entry.key);
                for (row, run) in rows.iter().zip(&mut runs) {
                    run.0 = advance(entries, run.0, entry.key + row - 1);
                    run.1 = advance(entries, run.1.max(run.0), entry.key + row + 2);
                }
            }
            let beside = entries[k + 1..]
                .iter()
                .take_while(|other| other.key <= entry.key + 1);
            append_near(entry, beside, pairs);
            for run in runs {
                append_near(entry, &entries[run.0..run.1], pairs);
            }
            self.check_limit(entry, pairs)?;
        }
        Ok(())
    }

    /// Pairs of a sphere of `level` with one of the `coarser` level.
    fn pairs_between(
        &self,
        level: &Level,
        coarser: &Level,
        pairs: &mut Vec<[u32; 2]>,
    ) -> Result<(), TooManyPairs> {
        let others = &self.entries[coarser.entries.clone()];
        let mut runs = [(0, 0); 9];
        // Spheres sorted by fine cells mostly stay in one coarse cell for a while.
        let mut cell = None;
        for entry in &self.entries[level.entries.clone()] {
            let coarse_cell = coarser.cell(entry.centre);
            if cell != Some(coarse_cell) {
                cell = Some(coarse_cell);
                runs = coarser.runs_around(others, coarse_cell);
            }
            for run in runs {
                append_near(entry, &others[run.0..run.1], pairs);
            }
            self.check_limit(entry, pairs)?;
        }
        Ok(())
    }

    fn check_limit(&self, entry: &Entry, pairs: &[[u32; 2]]) -> Result<(), TooManyPairs> {
        let spheres = self.entries.len();
        let limit = Self::pair_limit(spheres);
        if pairs.len() <= limit {
            return Ok(());
        }
        Err(TooManyPairs {
            limit,
            spheres,
            sphere: entry.index,
        })
    }
}

impl Level {
    /// The entries of this level in the 27 cells around `cell`, as nine runs along x.
    fn runs_around(&self, entries: &[Entry], cell: [i64; 3]) -> [(usize, usize); 9] {
        let mut runs = [(0, 0); 9];
        let last = entries[entries.len() - 1].key;
        for (slot, run) in runs.iter_mut().enumerate() {
            let (dy, dz) = (slot as i64 % 3 - 1, slot as i64 / 3 - 1);
            // Cells off the occupied box have no key of their own: clip the run to the box.
            let (y, z) = (cell[1] + dy - self.least[1], cell[2] + dz - self.least[2]);
            let from = (cell[0] - 1 - self.least[0]).max(-1);
            let to = (cell[0] + 1 - self.least[0]).min(self.width[0] - 2);
            if z < 0 || !(0..self.width[1] - 2).contains(&y) || from > to {
                continue;
            }
            let row = ((z + 1) * self.width[1] + y + 1) * self.width[0] + 1;
            let (from, to) = ((row + from) as u64, (row + to) as u64);
            if from > last {
                continue;
            }
            let start = entries.partition_point(|e| e.key < from);
            run.0 = start;
            run.1 = start + entries[start..].iter().take_while(|e| e.key <= to).count();
        }
        runs
    }
}

/// First position at or after `start` whose key is at least `key`.
fn advance(entries: &[Entry], start: usize, key: u64) -> usize {
    let mut at = start;
    while at < entries.len() && entries[at].key < key {
        at += 1;
    }
    at
}

fn append_near<'a>(
    entry: &Entry,
    others: impl IntoIterator<Item = &'a Entry>,
    pairs: &mut Vec<[u32; 2]>,
) {
    for other in others {
        let reach = entry.reach + other.reach;
        if entry.centre.distance_squared(other.centre) < reach * reach {
            pairs.push([entry.index.min(other.index), entry.index.max(other.index)]);
        }
    }
}

/// Stable sort by key; `max_key` bounds the keys.
fn radix_sort(
    entries: &mut [Entry],
    max_key: u64,
    scratch: &mut Vec<Entry>,
    counts: &mut Vec<u32>,
) {
    if entries.len() < 256 {
        // Indices ascend within a key, so that this order is the stable one.
        entries.sort_unstable_by_key(|e| (e.key, e.index));
        return;
    }
    scratch.clear();
    scratch.resize(entries.len(), Entry::default());
    let mut shift = 0;
    while shift < u64::BITS && max_key >> shift > 0 {
        let digit = |e: &Entry| (e.key >> shift) as usize & ((1 << RADIX_BITS) - 1);
        counts.clear();
        counts.resize(1 << RADIX_BITS, 0);
        for entry in entries.iter() {
            counts[digit(entry)] += 1;
        }
        let mut start = 0;
        for count in counts.iter_mut() {
            start += std::mem::replace(count, start);
        }
        for entry in entries.iter() {
            let slot = &mut counts[digit(entry)];
            scratch[*slot as usize] = *entry;
            *slot += 1;
        }
        entries.copy_from_slice(scratch);
        shift += RADIX_BITS;
    }
}

/// Calls `visit` with the index of every sphere whose box meets `bounds`, in ascending order.
///
/// A linear scan: ten walls among 1e5 spheres take about a millisecond, less than keeping any
/// structure for the walls would. Inflate `bounds` by the margin beforehand.
pub fn for_each_near(
    centres: &[DVec3],
    reach: &[f64],
    bounds: &Aabb,
    mut visit: impl FnMut(usize),
) {
    for (i, (centre, &reach)) in centres.iter().zip(reach).enumerate() {
        let is_near = centre.x + reach >= bounds.min.x
            && centre.x - reach <= bounds.max.x
            && centre.y + reach >= bounds.min.y
            && centre.y - reach <= bounds.max.y
            && centre.z + reach >= bounds.min.z
            && centre.z - reach <= bounds.max.z;
        if is_near {
            visit(i);
        }
    }
}
