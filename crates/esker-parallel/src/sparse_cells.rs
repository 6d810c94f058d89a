//! Cells of space that have something in them, numbered in their order.
//!
//! Space has no end, and what is in it may be anywhere: a table of all cells between the
//! outermost would be as large as one stray makes it. So cells are found by a hash map, one
//! per worker, and numbered together. Neighbours in a list are mostly neighbours in space:
//! most look-ups end at the cell of the one before.
//!
//! Numbers depend on the cells alone, not on the order in which things are listed nor on the
//! number of threads.

use crate::{SharedSlice, Team, resize};

/// Name of a cell: cells are ordered as these are.
pub type CellKey = [i32; 4];

/// Coordinates of cells stay within this on either side of zero: what lies farther out joins
/// the outermost. Out there a coordinate is still good to `2^-32` of a cell.
pub const FARTHEST_CELL: i32 = 1 << 21;

/// Coordinate of the cell of edge one that a number is in.
#[inline(always)]
pub fn cell_coordinate(x: f64) -> i32 {
    const FAR: f64 = FARTHEST_CELL as f64;
    // Rounded down without `floor`, which is a call where processors of all kinds are
    // served. What is no number is in the cell zero.
    let x = x.clamp(-FAR, FAR);
    let towards_zero = x as i32;
    towards_zero - i32::from(f64::from(towards_zero) > x)
}

/// Numbers cells; keeps its memory.
#[derive(Clone, Debug, Default)]
pub struct SparseCells {
    maps: Vec<CellMap>,
    /// Cells of all workers: key, worker, number there.
    found: Vec<(CellKey, u32, u32)>,
    keys: Vec<CellKey>,
}

impl SparseCells {
    /// Replaces `numbers` by the number of the cell `key(i)` for every `i` below `length`.
    pub fn number(
        &mut self,
        team: &mut Team,
        length: usize,
        numbers: &mut Vec<u32>,
        key: impl Fn(usize) -> CellKey + Sync,
    ) {
        self.maps.resize_with(team.threads(), CellMap::default);
        resize(numbers, length);
        let (maps, out) = (SharedSlice::new(&mut self.maps), SharedSlice::new(numbers));
        team.run(|worker| {
            // SAFETY: every worker has a map of its own, and parts are disjoint.
            let map = unsafe { maps.at(worker.index) };
            map.clear();
            let part = worker.part_of(length, 1);
            // SAFETY: as above.
            let own = unsafe { out.part(part.clone()) };
            for (number, i) in own.iter_mut().zip(part) {
                *number = map.number(key(i));
            }
        });
        self.merge();
        let maps = &self.maps;
        let out = SharedSlice::new(numbers);
        team.run(|worker| {
            let renumbered = &maps[worker.index].renumbered;
            // SAFETY: parts are disjoint.
            for number in unsafe { out.part(worker.part_of(length, 1)) } {
                *number = renumbered[*number as usize];
            }
        });
    }

    /// The cells, ascending.
    pub fn keys(&self) -> &[CellKey] {
        &self.keys
    }

    /// Numbers the cells of all workers in their order.
    fn merge(&mut self) {
        let SparseCells { maps, found, keys } = self;
        found.clear();
        keys.clear();
        // As much room as the maps have: a step in steady state should not allocate.
        let room = maps.iter().map(|map| map.keys.capacity()).sum();
        found.reserve(room);
        keys.reserve(room);
        for (worker, map) in (0..).zip(&mut *maps) {
            let cells = (0..).zip(&map.keys);
            found.extend(cells.map(|(local, key)| (*key, worker, local)));
            map.renumbered.clear();
            map.renumbered.reserve(map.keys.capacity());
            map.renumbered.resize(map.keys.len(), 0);
        }
        found.sort_unstable();
        for (key, worker, local) in found {
            if keys.last() != Some(key) {
                keys.push(*key);
            }
            maps[*worker as usize].renumbered[*local as usize] = keys.len() as u32 - 1;
        }
    }
}

/// Marks a slot of the map as free.
const FREE: u32 = u32::MAX;
/// Slots of the smallest map.
const MIN_SLOTS: usize = 64;

/// The cells of one worker, numbered as they are found. Maps of different workers share no
/// cache line.
#[derive(Clone, Debug, Default)]
#[repr(align(128))]
struct CellMap {
    /// Numbers of cells, at the place that a cell's hash says or behind it; a power of two,
    /// at most half of them used.
    slots: Vec<u32>,
    keys: Vec<CellKey>,
    /// Number of the cell that was asked for last.
    last: u32,
    /// Numbers among the cells of all workers.
    renumbered: Vec<u32>,
}

impl CellMap {
    fn clear(&mut self) {
        self.keys.clear();
        self.slots.fill(FREE);
        if self.slots.is_empty() {
            self.slots.resize(MIN_SLOTS, FREE);
            self.keys.reserve(MIN_SLOTS);
        }
        self.last = 0;
    }

    #[inline]
    fn number(&mut self, key: CellKey) -> u32 {
        if self.keys.get(self.last as usize) != Some(&key) {
            self.last = self.find(key);
        }
        self.last
    }

    fn find(&mut self, key: CellKey) -> u32 {
        let mask = self.slots.len() - 1;
        let mut slot = hash(key) & mask;
        while self.slots[slot] != FREE {
            let number = self.slots[slot];
            if self.keys[number as usize] == key {
                return number;
            }
            slot = (slot + 1) & mask;
        }
        let number = self.keys.len() as u32;
        self.slots[slot] = number;
        self.keys.push(key);
        if 2 * self.keys.len() > self.slots.len() {
            self.grow();
        }
        number
    }

    fn grow(&mut self) {
        let slots = 2 * self.slots.len();
        self.slots.clear();
        self.slots.resize(slots, FREE);
        self.keys.reserve(slots - self.keys.len());
        for (number, key) in (0..).zip(&self.keys) {
            let mut slot = hash(*key) & (slots - 1);
            while self.slots[slot] != FREE {
                slot = (slot + 1) & (slots - 1);
            }
            self.slots[slot] = number;
        }
    }
}

#[inline]
fn hash(key: CellKey) -> usize {
    let mixed = key.into_iter().fold(0_u64, |mixed, coordinate| {
        (mixed.rotate_left(23) ^ u64::from(coordinate as u32)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    });
    (mixed >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Many near cells, and a few as far as cells can be.
    fn key(i: usize) -> CellKey {
        let wide = (i as u32).wrapping_mul(2_654_435_761);
        let near = |shift: u32| (wide >> shift & 15) as i32 - 8;
        match i % 97 {
            0 => [0, FARTHEST_CELL, -FARTHEST_CELL, near(9)],
            _ => [near(3) & 1, near(9), near(17), near(25)],
        }
    }

    #[test]
    fn cells_are_numbered_in_their_order_on_any_number_of_threads() {
        let length = if cfg!(miri) { 500 } else { 20_000 };
        let mut expected: Vec<CellKey> = (0..length).map(key).collect();
        expected.sort_unstable();
        expected.dedup();
        let mut cells = SparseCells::default();
        for threads in [1, 2, 3, 7] {
            let team = &mut Team::new(threads);
            let mut numbers = Vec::new();
            // Twice: what is left of before must not matter.
            for _ in 0..2 {
                cells.number(team, length, &mut numbers, key);
                assert_eq!(cells.keys(), expected);
                let named = numbers.iter().map(|&n| expected[n as usize]);
                assert!(named.eq((0..length).map(key)));
            }
        }
        let team = &mut Team::new(5);
        cells.number(team, 0, &mut vec![3], key);
        assert!(cells.keys().is_empty());
    }

    #[test]
    fn coordinates_are_rounded_down_and_bounded() {
        for (x, cell) in [
            (0.0, 0),
            (0.99, 0),
            (1.0, 1),
            (-0.01, -1),
            (-1.0, -1),
            (-1.5, -2),
            (1e300, FARTHEST_CELL),
            (f64::NEG_INFINITY, -FARTHEST_CELL),
            (f64::NAN, 0),
        ] {
            assert_eq!(cell_coordinate(x), cell, "{x}");
        }
    }
}
