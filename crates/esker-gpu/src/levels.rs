//! Levels of the contacts of a block.
//!
//! A contact's level is one more than the largest level of the contacts before it that share a
//! body with it:
//!
//! ```text
//! L(c) = 1 + max { L(c') : c' before c, c' and c share a body }            (1)
//! ```
//!
//! Contacts of one level share no body and may be swept at the same time. Level after level, a
//! body meets its contacts in the order of the plan, so that the result is that of the plan's
//! order to the bit.

/// Levels of one block after another; keeps its memory.
#[derive(Clone, Debug, Default)]
pub struct LevelOrder {
    /// Slots of a hash table of bodies: stamp of the block, body, its index in `bodies`.
    table: Vec<[u32; 3]>,
    stamp: u32,
    /// Largest level that a body is in so far, by its index.
    last_level: Vec<u32>,
    /// Per contact, its level.
    pub level_of: Vec<u32>,
    /// Bodies of the block, in the order in which contacts name them first.
    pub bodies: Vec<u32>,
    /// Per contact, its bodies as indices of `bodies`.
    pub indices: Vec<[u32; 2]>,
    /// Level `l` has the places `starts[l]..starts[l + 1]`.
    pub starts: Vec<u32>,
    /// Per contact, its place in the order of levels.
    pub places: Vec<u32>,
}

impl LevelOrder {
    /// Orders the contacts of a block, given by their bodies in the order of the plan.
    pub fn order(&mut self, contacts: &[[u32; 2]]) {
        self.begin(contacts.len());
        for bodies in contacts {
            let indices = bodies.map(|body| self.index_of(body));
            let level = 1 + indices
                .map(|index| self.last_level[index as usize])
                .into_iter()
                .fold(0, u32::max);
            for index in indices {
                self.last_level[index as usize] = level;
            }
            self.indices.push(indices);
            self.level_of.push(level - 1);
        }
        self.sort();
    }

    fn begin(&mut self, contacts: usize) {
        let slots = (4 * contacts).next_power_of_two().max(64);
        if self.table.len() < slots || self.stamp == u32::MAX {
            self.table.clear();
            self.table.resize(slots, [0; 3]);
            self.stamp = 0;
        }
        self.stamp += 1;
        self.bodies.clear();
        self.last_level.clear();
        self.indices.clear();
        self.level_of.clear();
    }

    fn index_of(&mut self, body: u32) -> u32 {
        let mask = self.table.len() - 1;
        // Fibonacci hashing: neighbours in memory go far apart.
        let mut slot = (u64::from(body).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        loop {
            let [stamp, found, index] = self.table[slot];
            if stamp != self.stamp {
                let index = self.bodies.len() as u32;
                self.table[slot] = [self.stamp, body, index];
                self.bodies.push(body);
                self.last_level.push(0);
                return index;
            }
            if found == body {
                return index;
            }
            slot = (slot + 1) & mask;
        }
    }

    /// A stable counting sort by level.
    fn sort(&mut self) {
        let levels = self.level_of.iter().map(|&l| l + 1).max().unwrap_or(0) as usize;
        self.starts.clear();
        self.starts.resize(levels + 1, 0);
        for &level in &self.level_of {
            self.starts[level as usize + 1] += 1;
        }
        for level in 0..levels {
            self.starts[level + 1] += self.starts[level];
        }
        self.places.clear();
        // What a body's last level was is not needed any more: its memory counts places.
        self.last_level.clear();
        self.last_level.extend_from_slice(&self.starts);
        for &level in &self.level_of {
            let next = &mut self.last_level[level as usize];
            self.places.push(*next);
            *next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    /// What (1) says, contact by contact.
    fn plain_levels(contacts: &[[u32; 2]]) -> Vec<u32> {
        let mut last = HashMap::new();
        let level_of = |bodies: &[u32; 2]| {
            let level = 1 + bodies
                .iter()
                .map(|b| *last.get(b).unwrap_or(&0))
                .max()
                .unwrap();
            for &body in bodies {
                last.insert(body, level);
            }
            level - 1
        };
        contacts.iter().map(level_of).collect()
    }

    proptest! {
        #[test]
        fn levels_share_no_body_and_bodies_meet_their_contacts_in_order(
            pairs in proptest::collection::vec((0_u32..40, 1_u32..40), 0..300),
            spread in 1_u32..100_000,
        ) {
            let contacts: Vec<[u32; 2]> =
                pairs.iter().map(|&(a, d)| [a * spread, (a + d) * spread]).collect();
            let mut order = LevelOrder::default();
            order.order(&[[7, 9], [9, 11]]);
            order.order(&contacts);
            let plain = plain_levels(&contacts);
            let mut places = order.places.clone();
            for (i, &level) in plain.iter().enumerate() {
                let [start, end] = [0, 1].map(|k| order.starts[level as usize + k]);
                prop_assert!((start..end).contains(&order.places[i]));
                prop_assert_eq!(order.indices[i].map(|k| order.bodies[k as usize]), contacts[i]);
            }
            places.sort_unstable();
            prop_assert_eq!(places, (0..contacts.len() as u32).collect::<Vec<_>>());
            let levels = plain.iter().map(|&l| l as usize + 1).max().unwrap_or(0);
            prop_assert_eq!(order.starts.len(), levels + 1);
        }
    }

    #[test]
    fn a_block_without_contacts_has_no_levels() {
        let mut order = LevelOrder::default();
        order.order(&[]);
        assert_eq!((order.starts.len(), order.bodies.len()), (1, 0));
    }
}
