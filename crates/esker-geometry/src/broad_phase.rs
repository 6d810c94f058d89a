//! Broad phase: all pairs of spheres that are near each other.
//!
//! A hierarchy of uniform grids. Level `ℓ` has cells of size
//!
//! ```text
//! s_ℓ = 2 f max(reach) / 2^ℓ,   1 ≤ f < 2,                               (1)
//! ```
//!
//! where `f` makes one level just wide enough for most of the spheres, and a sphere lives in the finest level whose cells are at least as wide as twice its reach.
//! Two near spheres of one level are then in the same or in touching cells; half of the
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
//! The order of the pairs follows from the positions and indices only. Work on one sorted sphere
//! reads shared arrays and appends to the output, so the sorted range can be cut into parts whose
//! outputs, joined in order, are the same pairs in the same order.

use crate::Aabb;
use esker_parallel::{SharedSlice, Team};
use glam::DVec3;
use std::ops::Range;
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

/// Cells along each axis: three coordinates and their border fit a 63-bit key.
const MAX_CELLS: f64 = ((1 << 21) - 8) as f64;

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

/// What the search reads of a sphere.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ball {
    /// Its centre, m.
    pub centre: DVec3,
    /// The reach it was given, m.
    pub reach: f64,
}

/// What spheres carry with them; nothing by default.
pub trait Tag: Copy + Default + Send + Sync {}

impl<T: Copy + Default + Send + Sync> Tag for T {}

/// A sphere while it is sorted.
#[derive(Clone, Copy, Debug, Default)]
struct Ticket {
    key: u64,
    index: u32,
}

/// One grid of the hierarchy.
#[derive(Clone, Debug)]
struct Level {
    /// Its part of the sorted spheres.
    range: Range<usize>,
    /// Corner of cell (0, 0, 0) (m).
    origin: DVec3,
    cells_per_metre: f64,
    /// Least and greatest occupied cell coordinates.
    least: [i64; 3],
    most: [i64; 3],
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
        let [x, y, z] = [0, 1, 2].map(|k| cell[k] - self.least[k] + self.division);
        ((z * self.width[1] + y) * self.width[0] + x) as u64
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
struct Census {
    population: usize,
    least: [i64; 3],
    most: [i64; 3],
}

impl Census {
    const EMPTY: Census = Census {
        population: 0,
        least: [i64::MAX; 3],
        most: [i64::MIN; 3],
    };

    fn add(&mut self, cell: [i64; 3]) {
        *self = self.joined(&Census {
            population: 1,
            least: cell,
            most: cell,
        });
    }

    fn is_crowded(&self) -> bool {
        let cells = (0..3).map(|k| (self.most[k] as f64) - (self.least[k] as f64) + 1.0);
        self.population as f64 > CROWDED * cells.product::<f64>()
    }

    fn joined(&self, other: &Census) -> Census {
        Census {
            population: self.population + other.population,
            least: std::array::from_fn(|k| self.least[k].min(other.least[k])),
            most: std::array::from_fn(|k| self.most[k].max(other.most[k])),
        }
    }
}

/// Finds pairs of near spheres; keeps its buffers from call to call.
#[derive(Clone, Debug, Default)]
pub struct BroadPhase<T = ()> {
    levels: Vec<Level>,
    // All spheres, level after level, the coarsest first, each level sorted by key.
    keys: Vec<u64>,
    balls: Vec<Ball>,
    tags: Vec<T>,
    indices: Vec<u32>,
    // Scratch of the sorting.
    tickets: Vec<Ticket>,
    swap: Vec<Ticket>,
    counts: Vec<u32>,
    sample: Vec<f64>,
    // Scratch of the search.
    parts: Vec<Vec<[u32; 2]>>,
    found: Vec<[u32; 2]>,
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
        let team = &mut Team::default();
        self.find_pairs_where(team, (centres, reach), |_| (), |_| true, pairs)
    }
}

impl<T: Tag> BroadPhase<T> {
    /// The bound on the number of pairs among `spheres` spheres, beyond which
    /// [`BroadPhase::find_pairs`] gives up instead of filling the memory: 100 pairs per sphere
    /// (a dense packing has about 7) and a million for small crowds.
    pub const fn pair_limit(spheres: usize) -> usize {
        1_000_000 + 100 * spheres
    }

    /// [`BroadPhase::find_pairs`] on several threads, with the same pairs in the same order, of
    /// those that `keep` says are wanted. Sphere `i` has `tag(i)` with it there.
    pub fn find_pairs_where(
        &mut self,
        team: &mut Team,
        (centres, reach): (&[DVec3], &[f64]),
        tag: impl Fn(usize) -> T + Sync,
        keep: impl Fn([(&Ball, &T); 2]) -> bool + Sync,
        pairs: &mut Vec<[u32; 2]>,
    ) -> Result<(), TooManyPairs> {
        assert_eq!(centres.len(), reach.len(), "one reach per centre");
        assert!(u32::try_from(centres.len()).is_ok(), "indices are 32 bits");
        pairs.clear();
        self.sort_into_levels(team, centres, reach);
        let tickets = &self.tickets;
        team.fill(&mut self.keys, tickets.len(), |slot| tickets[slot].key);
        team.fill(&mut self.indices, tickets.len(), |slot| tickets[slot].index);
        team.fill(&mut self.balls, tickets.len(), |slot| {
            let i = tickets[slot].index as usize;
            Ball {
                centre: centres[i],
                reach: reach[i],
            }
        });
        team.fill(&mut self.tags, tickets.len(), |slot| {
            tag(tickets[slot].index as usize)
        });
        let mut parts = std::mem::take(&mut self.parts);
        let mut found = std::mem::take(&mut self.found);
        for (depth, level) in self.levels.iter().enumerate() {
            let start = level.range.start;
            team.gather(level.range.len(), &mut parts, &mut found, |range, out| {
                self.pairs_within(level, start + range.start..start + range.end, &keep, out);
            });
            pairs.extend_from_slice(&found);
            for finer in &self.levels[depth + 1..] {
                team.gather(level.range.len(), &mut parts, &mut found, |range, out| {
                    let slots = start + range.start..start + range.end;
                    self.pairs_between(finer, slots, &keep, out);
                });
                pairs.extend_from_slice(&found);
            }
            self.check_limit(pairs)?;
        }
        self.parts = parts;
        self.found = found;
        Ok(())
    }

    /// Puts the spheres that take part into `tickets`, level after level, each level sorted by
    /// key.
    fn sort_into_levels(&mut self, team: &mut Team, centres: &[DVec3], reach: &[f64]) {
        self.levels.clear();
        self.tickets.clear();
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
                origin: median - 0.5 * MAX_CELLS * cell_size,
                cells_per_metre: 1.0 / cell_size,
                least: [i64::MAX; 3],
                most: [i64::MIN; 3],
                width: [0; 2],
                division,
            }
        };
        let mut take_census = |levels: &[Level; MAX_LEVELS]| {
            team.fold(
                centres.len(),
                [Census::EMPTY; MAX_LEVELS],
                |range| {
                    let mut census = [Census::EMPTY; MAX_LEVELS];
                    for i in range {
                        if let Some(count) = census.get_mut(level_of(i)) {
                            count.add(levels[level_of(i)].cell(centres[i]));
                        }
                    }
                    census
                },
                |a, b| std::array::from_fn(|depth| a[depth].joined(&b[depth])),
            )
        };
        let mut all: [Level; MAX_LEVELS] = std::array::from_fn(|depth| empty_level(depth, 1));
        let mut census = take_census(&all);
        let is_crowded: [bool; MAX_LEVELS] = std::array::from_fn(|k| census[k].is_crowded());
        if is_crowded.contains(&true) {
            all = std::array::from_fn(|k| empty_level(k, 1 + i64::from(is_crowded[k])));
            census = take_census(&all);
        }
        team.fill(&mut self.tickets, centres.len(), |i| Ticket {
            key: level_of(i) as u64,
            index: i as u32,
        });
        let (swap, counts) = (&mut self.swap, &mut self.counts);
        if census[0].population < centres.len() {
            radix_sort(team, &mut self.tickets, MAX_LEVELS as u64, swap, counts);
        }
        let mut start = 0;
        for (level, census) in all.iter_mut().zip(&census) {
            level.range = start..start + census.population;
            start = level.range.end;
            (level.least, level.most) = (census.least, census.most);
            if census.population == 0 {
                continue;
            }
            level.width = [0, 1].map(|k| level.most[k] - level.least[k] + 1 + 2 * level.division);
            let tickets = &mut self.tickets[level.range.clone()];
            team.for_each_part(tickets, 1, |_, part| {
                for ticket in part {
                    ticket.key = level.key(level.cell(centres[ticket.index as usize]));
                }
            });
            radix_sort(team, tickets, level.key(level.most), swap, counts);
            self.levels.push(level.clone());
        }
        self.tickets.truncate(start);
    }

    /// `f max(reach)` of equation (1).
    fn widest(&mut self, reach: &[f64], max_reach: f64) -> f64 {
        self.take_sample(reach.iter().copied(), reach.len());
        self.sample.retain(|r| (0.0..=max_reach).contains(r));
        if self.sample.is_empty() {
            return max_reach;
        }
        let rank = (MOST * (self.sample.len() - 1) as f64) as usize;
        let most = *self.sample.select_nth_unstable_by(rank, f64::total_cmp).1;
        let mut widest = most;
        while SPARE * widest < max_reach && widest > 0.0 {
            widest *= 2.0;
        }
        // Zero, or so small that doubling does not get there.
        widest.max(max_reach)
    }

    fn take_sample(&mut self, values: impl Iterator<Item = f64>, count: usize) {
        self.sample.clear();
        let stride = count.div_ceil(SAMPLE).max(1);
        self.sample.extend(values.step_by(stride));
    }

    /// Componentwise median of a sample: a few strays do not move it.
    fn median_centre(&mut self, centres: &[DVec3]) -> DVec3 {
        let mut median = DVec3::ZERO;
        for axis in 0..3 {
            self.take_sample(centres.iter().map(|c| c[axis]), centres.len());
            self.sample.retain(|c| c.is_finite());
            if self.sample.is_empty() {
                continue;
            }
            let middle = self.sample.len() / 2;
            median[axis] = *self.sample.select_nth_unstable_by(middle, f64::total_cmp).1;
        }
        median
    }

    /// Pairs of spheres of the same level.
    fn pairs_within(
        &self,
        level: &Level,
        slots: Range<usize>,
        keep: &impl Fn([(&Ball, &T); 2]) -> bool,
        pairs: &mut Vec<[u32; 2]>,
    ) {
        let keys = &self.keys[..level.range.end];
        let (rows, count) = level.rows_ahead();
        let rows = &rows[..count];
        let apart = level.division as u64;
        // Own cell and the next ones in x, then those on both sides in each of the other rows.
        let mut beside = level.range.start;
        let mut runs = [(level.range.start, level.range.start); MOST_ROWS];
        let runs = &mut runs[..count];
        let mut last_key = u64::MAX;
        for slot in slots {
            let key = keys[slot];
            if key != last_key {
                last_key = key;
                beside = advance(keys, beside, key + apart + 1);
                for (row, run) in rows.iter().zip(runs.iter_mut()) {
                    run.0 = advance(keys, run.0, key + row - apart);
                    run.1 = advance(keys, run.1.max(run.0), key + row + apart + 1);
                }
            }
            self.append_near(slot, slot + 1..beside, keep, pairs);
            for run in runs.iter() {
                self.append_near(slot, run.0..run.1, keep, pairs);
            }
            if self.is_crowd(pairs.len()) {
                break;
            }
        }
    }

    /// Pairs of the spheres at `slots` with those of a `finer` level.
    fn pairs_between(
        &self,
        finer: &Level,
        slots: Range<usize>,
        keep: &impl Fn([(&Ball, &T); 2]) -> bool,
        pairs: &mut Vec<[u32; 2]>,
    ) {
        let keys = &self.keys[..finer.range.end];
        for slot in slots {
            let Ball { centre, reach } = self.balls[slot];
            // A fine sphere reaches half the width of equation (1) less the slack; rounding is
            // monotone.
            let half_width = reach + 0.5 * finer.division as f64 / finer.cells_per_metre;
            let (from, to) = (
                finer.cell(centre - half_width),
                finer.cell(centre + half_width),
            );
            let from = [0, 1, 2].map(|k| from[k].max(finer.least[k]));
            let to = [0, 1, 2].map(|k| to[k].min(finer.most[k]));
            if (0..3).any(|k| from[k] > to[k]) {
                continue;
            }
            let rows = (to[1] - from[1] + 1) * (to[2] - from[2] + 1);
            if rows as usize > finer.range.len() {
                // A giant among few: looking at all of them is less work than at all rows.
                self.append_near(slot, finer.range.clone(), keep, pairs);
            } else {
                let mut at = finer.range.start;
                for z in from[2]..=to[2] {
                    for y in from[1]..=to[1] {
                        let start = advance(keys, at, finer.key([from[0], y, z]));
                        at = advance(keys, start, finer.key([to[0], y, z]) + 1);
                        self.append_near(slot, start..at, keep, pairs);
                    }
                }
            }
            if self.is_crowd(pairs.len()) {
                break;
            }
        }
    }

    /// Appends the wanted ones of the spheres `others` that are near the sphere `slot`.
    #[inline]
    fn append_near(
        &self,
        slot: usize,
        others: Range<usize>,
        keep: &impl Fn([(&Ball, &T); 2]) -> bool,
        pairs: &mut Vec<[u32; 2]>,
    ) {
        let (ball, index) = (&self.balls[slot], self.indices[slot]);
        for (k, other) in others.clone().zip(&self.balls[others]) {
            let sum = ball.reach + other.reach;
            if ball.centre.distance_squared(other.centre) < sum * sum
                && keep([(ball, &self.tags[slot]), (other, &self.tags[k])])
            {
                let other_index = self.indices[k];
                pairs.push([index.min(other_index), index.max(other_index)]);
            }
        }
    }

    /// Whether so many pairs are more than any packing has.
    fn is_crowd(&self, pairs: usize) -> bool {
        pairs > Self::pair_limit(self.keys.len())
    }

    fn check_limit(&self, pairs: &[[u32; 2]]) -> Result<(), TooManyPairs> {
        let spheres = self.keys.len();
        let limit = Self::pair_limit(spheres);
        match pairs.get(limit) {
            None => Ok(()),
            Some(&[sphere, _]) => Err(TooManyPairs {
                limit,
                spheres,
                sphere,
            }),
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
    tickets: &mut [Ticket],
    max_key: u64,
    swap: &mut Vec<Ticket>,
    counts: &mut Vec<u32>,
) {
    const DIGITS: usize = 1 << RADIX_BITS;
    if tickets.len() < 256 {
        // Indices ascend within a key, so that this order is the stable one.
        tickets.sort_unstable_by_key(|ticket| (ticket.key, ticket.index));
        return;
    }
    swap.resize(tickets.len(), Ticket::default());
    counts.resize(DIGITS * team.threads(), 0);
    let mut shift = 0;
    while shift < u64::BITS && max_key >> shift > 0 {
        let digit = |ticket: &Ticket| (ticket.key >> shift) as usize & (DIGITS - 1);
        let from = &*tickets;
        let own_counts = SharedSlice::new(counts);
        team.run(|worker| {
            let own = worker.index * DIGITS..(worker.index + 1) * DIGITS;
            // SAFETY: every worker has counts of its own.
            let own = unsafe { own_counts.part(own) };
            own.fill(0);
            for ticket in &from[worker.part_of(from.len(), 1)] {
                own[digit(ticket)] += 1;
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
            for ticket in &from[worker.part_of(from.len(), 1)] {
                let place = &mut next[digit(ticket)];
                unsafe { *to.at(*place as usize) = *ticket };
                *place += 1;
            }
        });
        team.for_each_part(tickets, 1, |start, part| {
            part.copy_from_slice(&swap[start..start + part.len()]);
        });
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
