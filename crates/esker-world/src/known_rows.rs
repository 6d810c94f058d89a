//! Rows of grains whose places are known as grains come and go: all of them, or, while grains are
//! on a device, those that it has listed because they may leave or are near an emitter.
//!
//! Whatever is done to the table of grains is the same in either case. What it amounts to is
//! written down for the device, whose rows have to follow.

use std::collections::{BTreeMap, BTreeSet};

/// See the module.
#[derive(Debug)]
pub(crate) enum KnownRows {
    All,
    Listed(ListedRows),
}

/// Some rows, and what becomes of all while some are removed.
#[derive(Debug, Default)]
pub(crate) struct ListedRows {
    rows: BTreeSet<u32>,
    /// Rows that have another grain than at first, and the row that it had.
    origins: BTreeMap<u32, u32>,
    /// First rows of grains that were removed.
    gone: Vec<u32>,
}

impl ListedRows {
    pub(crate) fn new(rows: impl IntoIterator<Item = u32>) -> Self {
        ListedRows {
            rows: rows.into_iter().collect(),
            ..Default::default()
        }
    }

    /// Rows that have another grain than at first, and the row that it had; and first rows of
    /// grains that were removed.
    pub(crate) fn into_changes(self) -> (Vec<[u32; 2]>, Vec<u32>) {
        let moved = self.origins.into_iter().map(|(to, from)| [to, from]);
        (moved.collect(), self.gone)
    }
}

impl KnownRows {
    /// The last of them before a row.
    pub(crate) fn before(&self, row: usize) -> Option<usize> {
        match self {
            KnownRows::All => row.checked_sub(1),
            KnownRows::Listed(listed) => {
                let mut before = listed.rows.range(..row as u32);
                before.next_back().map(|&row| row as usize)
            }
        }
    }

    /// They, where the table has so many grains.
    pub(crate) fn of(&self, count: usize) -> impl Iterator<Item = usize> {
        let (all, listed) = match self {
            KnownRows::All => (0..count, None),
            KnownRows::Listed(listed) => (0..0, Some(listed.rows.iter())),
        };
        all.chain(listed.into_iter().flatten().map(|&row| row as usize))
    }

    /// A grain was added in a row.
    pub(crate) fn add(&mut self, row: usize) {
        if let KnownRows::Listed(listed) = self {
            listed.rows.insert(row as u32);
        }
    }

    /// A grain was removed, and that of the last row took its place.
    pub(crate) fn remove(&mut self, row: usize, last: usize) {
        let KnownRows::Listed(listed) = self else {
            return;
        };
        let [row, last] = [row, last].map(|row| row as u32);
        let origin = listed.origins.get(&row);
        listed.gone.push(origin.copied().unwrap_or(row));
        listed.rows.remove(&row);
        let of_last = listed.origins.remove(&last).unwrap_or(last);
        if row != last {
            listed.origins.insert(row, of_last);
            if listed.rows.remove(&last) {
                listed.rows.insert(row);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_rows_are_those_of_a_table() {
        let mut table: Vec<u32> = (0..12).collect();
        let mut rows = KnownRows::Listed(ListedRows::new([1, 3, 4, 9, 10, 11]));
        // What was removed first, last, and again from a row that another took.
        for removed in [11, 3, 9, 3, 1] {
            let last = table.len() - 1;
            table.swap_remove(removed);
            rows.remove(removed, last);
        }
        let listed: Vec<u32> = rows.of(0).map(|row| table[row]).collect();
        let mut sorted = listed.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [4]);
        assert_eq!(rows.before(12), rows.of(0).max());
        let KnownRows::Listed(listed) = rows else {
            unreachable!()
        };
        let (moved, mut gone) = listed.into_changes();
        for [to, from] in &moved {
            assert_eq!(table[*to as usize], *from);
        }
        let unmoved = (0..table.len() as u32).filter(|row| table[*row as usize] == *row);
        assert_eq!(unmoved.count() + moved.len(), table.len());
        gone.sort_unstable();
        let left: Vec<u32> = (0..12).filter(|row| !table.contains(row)).collect();
        assert_eq!(gone, left);
    }
}
