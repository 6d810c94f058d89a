//! Where frozen grains are: cells of a grid in the frame of each group, which they do not leave.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use esker_geometry::Aabb;
use glam::DVec3;

/// The end of a list.
pub(super) const NONE: u32 = u32::MAX;

/// A group and a cell of its grid.
type Key = (u8, [i32; 3]);

/// Mixes the few numbers of a key; nobody chooses keys to collide.
#[derive(Default)]
pub(super) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u8(&mut self, x: u8) {
        self.write_u64(u64::from(x));
    }

    fn write_u32(&mut self, x: u32) {
        self.write_u64(u64::from(x));
    }

    fn write_i32(&mut self, x: i32) {
        self.write_u64(x as u64);
    }

    fn write_usize(&mut self, x: usize) {
        self.write_u64(x as u64);
    }

    fn write_u64(&mut self, x: u64) {
        self.0 = (self.0.rotate_left(5) ^ x).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        // The table looks at the lowest and at the highest bits.
        self.0 ^ (self.0 >> 32)
    }
}

pub(super) type KeyMap<K, V> = HashMap<K, V, BuildHasherDefault<KeyHasher>>;

/// A member in the list of its cell.
#[derive(Clone, Copy, Debug)]
struct Entry {
    place: DVec3,
    next: u32,
}

/// Members by place.
#[derive(Debug, Default)]
pub(super) struct Grid {
    edge: f64,
    /// The first member of each cell.
    cells: KeyMap<Key, u32>,
    /// How many cells with members there are among a cell and those around it, where there are
    /// some: most who look find that nobody is near.
    near: KeyMap<Key, u8>,
    /// Cells that members of a group have been in since there were none.
    ranges: KeyMap<u8, Range>,
    /// By member.
    entries: Vec<Entry>,
    /// All members of some groups cell by cell, as long as nobody comes.
    laid_out: Vec<LaidOut>,
    /// Lists of an earlier layout, for the next one.
    spare: Vec<LaidOut>,
}

/// The members of a group cell by cell: those of cells beside each other along x lie beside each
/// other, so that a search goes through few lists, and through memory in order.
#[derive(Debug, Default)]
struct LaidOut {
    group: u8,
    range: Range,
    /// Where the members of each cell begin, and where those of the last one end.
    starts: Vec<u32>,
    members: Vec<(DVec3, u32)>,
}

/// Cells of an array for each one that has members, up to which one is laid out.
const SPARSE: f64 = 32.0;

impl LaidOut {
    fn place(&self, cell: [i32; 3]) -> usize {
        let size = self.range.size();
        let at: [usize; 3] = std::array::from_fn(|k| (cell[k] - self.range.low[k]) as usize);
        (at[2] * size[1] + at[1]) * size[0] + at[0]
    }

    /// Lays out the members of a grid's group, whose cells are all in this range.
    fn lay_out(&mut self, grid: &Grid, group: u8, range: Range) {
        (self.group, self.range) = (group, range);
        self.starts.clear();
        self.starts.resize(range.count() as usize + 1, NONE);
        for (&(own, cell), &first) in &grid.cells {
            if own == group {
                let place = self.place(cell);
                self.starts[place] = first;
            }
        }
        self.members.clear();
        for start in &mut self.starts {
            let mut at = std::mem::replace(start, self.members.len() as u32);
            while at != NONE {
                let entry = &grid.entries[at as usize];
                self.members.push((entry.place, at));
                at = entry.next;
            }
        }
    }

    /// Lets nobody find a member any more, which is in this cell.
    fn hide(&mut self, member: u32, cell: [i32; 3]) {
        let cell = self.place(cell);
        let in_cell = self.starts[cell] as usize..self.starts[cell + 1] as usize;
        let mut in_cell = self.members[in_cell].iter_mut();
        if let Some((place, _)) = in_cell.find(|(_, own)| *own == member) {
            *place = DVec3::INFINITY;
        }
    }

    /// Calls `look` with the members in a range of cells, and with their places: nowhere, if they
    /// have left.
    fn each_in(&self, range: Range, mut look: impl FnMut(u32, DVec3)) {
        let range = range.and(&self.range);
        let ([x, y, z], [far_x, far_y, far_z]) = (range.low, range.high);
        if x > far_x {
            return;
        }
        for z in z..=far_z {
            for y in y..=far_y {
                let cells = self.place([x, y, z])..self.place([far_x, y, z]) + 1;
                let members = self.starts[cells.start] as usize..self.starts[cells.end] as usize;
                for &(place, member) in &self.members[members] {
                    look(member, place);
                }
            }
        }
    }
}

impl Grid {
    /// Forgets all members; cells are this wide from now on, m.
    pub(super) fn clear(&mut self, edge: f64) {
        self.edge = edge;
        self.cells.clear();
        self.near.clear();
        self.ranges.clear();
        self.entries.clear();
        self.forget_layout();
    }

    /// Takes back the layout: somebody comes, or all go.
    fn forget_layout(&mut self) {
        self.spare.append(&mut self.laid_out);
    }

    /// Gets ready for so many searches: where they are more than the cells, members are laid out cell
    /// by cell, where they are found sooner than by the names of cells.
    pub(super) fn prepare(&mut self, searches: usize) {
        let cells = self.cells.len();
        if searches < cells || !self.laid_out.is_empty() {
            return;
        }
        let mut laid_out = std::mem::take(&mut self.laid_out);
        for (&group, &range) in &self.ranges {
            if range.count() <= SPARSE * cells as f64 {
                let mut layout = self.spare.pop().unwrap_or_default();
                layout.lay_out(self, group, range);
                laid_out.push(layout);
            }
        }
        self.laid_out = laid_out;
    }

    /// Width of cells, m.
    pub(super) fn edge(&self) -> f64 {
        self.edge
    }

    pub(super) fn insert(&mut self, member: u32, group: u8, place: DVec3) {
        self.forget_layout();
        let key = (group, cell_at(self.edge, place));
        if !self.cells.contains_key(&key) {
            for cell in Range::around(key.1).cells() {
                *self.near.entry((group, cell)).or_insert(0) += 1;
            }
            let range = self.ranges.entry(group).or_insert(Range::of(key.1));
            *range = range.with(key.1);
        }
        let first = self.cells.entry(key).or_insert(NONE);
        let entry = Entry {
            place,
            next: *first,
        };
        if self.entries.len() <= member as usize {
            self.entries.resize(member as usize + 1, entry);
        }
        self.entries[member as usize] = entry;
        *first = member;
    }

    pub(super) fn remove(&mut self, member: u32, group: u8, place: DVec3) {
        let key = (group, cell_at(self.edge, place));
        if let Some(laid_out) = self.laid_out.iter_mut().find(|l| l.group == group) {
            laid_out.hide(member, key.1);
        }
        let Some(first) = self.cells.get_mut(&key) else {
            return;
        };
        let after = self.entries[member as usize].next;
        if *first == member {
            *first = after;
            if after == NONE {
                self.cells.remove(&key);
                for cell in Range::around(key.1).cells() {
                    if let Some(count) = self.near.get_mut(&(group, cell)) {
                        *count -= 1;
                        if *count == 0 {
                            self.near.remove(&(group, cell));
                        }
                    }
                }
            }
            return;
        }
        let mut at = *first;
        while at != NONE {
            let next = &mut self.entries[at as usize].next;
            if *next == member {
                *next = after;
                return;
            }
            at = *next;
        }
    }

    /// Calls `found` with every member of a group within this distance, m.
    pub(super) fn within(&self, group: u8, around: (DVec3, f64), mut found: impl FnMut(u32)) {
        let (centre, distance) = around;
        let look = |member, place: DVec3| {
            if place.distance_squared(centre) <= distance * distance {
                found(member);
            }
        };
        let range = Range::new(self.edge, around);
        if let Some(laid_out) = self.laid_out.iter().find(|l| l.group == group) {
            return laid_out.each_in(range, look);
        }
        let is_near = |cell: [i32; 3]| self.near.contains_key(&(group, cell));
        if distance > self.edge || is_near(cell_at(self.edge, centre)) {
            self.each_in(group, range, look);
        }
    }

    /// Calls `found` with every member of a group whose place is in this box.
    pub(super) fn within_box(&self, group: u8, bounds: Aabb, mut found: impl FnMut(u32)) {
        let range = Range {
            low: cell_at(self.edge, bounds.min),
            high: cell_at(self.edge, bounds.max),
        };
        self.each_in(group, range, |member, place| {
            if bounds.contains(place) {
                found(member);
            }
        });
    }

    /// A box that holds the members of a group; `None` where it never had any.
    pub(super) fn bounds(&self, group: u8) -> Option<Aabb> {
        Some(self.ranges.get(&group)?.bounds(self.edge))
    }

    /// Calls `found` with every member of a group, but for those in cells within balls of which
    /// `is_far` says that nobody is wanted there, by their centre and radius, m. Boxes of cells are
    /// halved until it says so, or until they are one cell.
    pub(super) fn each_outside(
        &self,
        group: u8,
        is_far: impl Fn(DVec3, f64) -> bool,
        mut found: impl FnMut(u32),
    ) {
        let Some(&occupied) = self.ranges.get(&group) else {
            return;
        };
        let is_far = |range: Range| {
            let bounds = range.bounds(self.edge);
            is_far(bounds.centre(), 0.5 * bounds.size().length())
        };
        let mut look = |member, place: DVec3| {
            // Those that have left a layout are nowhere.
            if place.is_finite() {
                found(member);
            }
        };
        let (mut waiting, mut wanted) = (vec![occupied], Vec::new());
        while let Some(range) = waiting.pop() {
            if is_far(range) {
                continue;
            }
            match range.halves() {
                Some(halves) => waiting.extend(halves),
                None => wanted.push(range),
            }
            if wanted.len() > self.cells.len() {
                // Most of them are empty: members lie far apart.
                let cells = self.cells.iter().filter(|((own, _), _)| *own == group);
                let wanted = cells.map(|(&(_, cell), _)| Range::of(cell));
                let wanted = wanted.filter(|&cell| !is_far(cell));
                wanted.for_each(|cell| self.each_in(group, cell, &mut look));
                return;
            }
        }
        for cell in wanted {
            self.each_in(group, cell, &mut look);
        }
    }

    /// Calls `look` with the members of a group in a range of cells, and with their places.
    fn each_in(&self, group: u8, range: Range, mut look: impl FnMut(u32, DVec3)) {
        if let Some(laid_out) = self.laid_out.iter().find(|l| l.group == group) {
            return laid_out.each_in(range, look);
        }
        let Some(occupied) = self.ranges.get(&group) else {
            return;
        };
        let range = range.and(occupied);
        let mut look = |first: u32| {
            let mut at = first;
            while at != NONE {
                let entry = &self.entries[at as usize];
                look(at, entry.place);
                at = entry.next;
            }
        };
        if range.count() > self.cells.len() as f64 {
            let cells = self.cells.iter();
            let near = cells.filter(|((own, cell), _)| *own == group && range.contains(*cell));
            near.for_each(|(_, &first)| look(first));
        } else {
            let occupied = range
                .cells()
                .filter_map(|cell| self.cells.get(&(group, cell)));
            occupied.for_each(|&first| look(first));
        }
    }
}

/// The cell of a place in a grid of this edge, m. Saturates: what is farther out shares the last
/// cells.
fn cell_at(edge: f64, place: DVec3) -> [i32; 3] {
    // Down, not towards zero; without an instruction for it `floor` is a function of its own.
    (place / edge).to_array().map(|x| {
        let towards_zero = x as i32;
        towards_zero.saturating_sub(i32::from(x < f64::from(towards_zero)))
    })
}

/// Cells that a box meets.
#[derive(Clone, Copy, Debug, Default)]
struct Range {
    low: [i32; 3],
    high: [i32; 3],
}

impl Range {
    fn new(edge: f64, (place, distance): (DVec3, f64)) -> Self {
        Range {
            low: cell_at(edge, place - distance),
            high: cell_at(edge, place + distance),
        }
    }

    /// One cell.
    fn of(cell: [i32; 3]) -> Self {
        Range {
            low: cell,
            high: cell,
        }
    }

    /// A cell and those around it.
    fn around(cell: [i32; 3]) -> Self {
        Range {
            low: cell.map(|x| x.saturating_sub(1)),
            high: cell.map(|x| x.saturating_add(1)),
        }
    }

    /// With one more cell.
    fn with(&self, cell: [i32; 3]) -> Self {
        Range {
            low: std::array::from_fn(|k| self.low[k].min(cell[k])),
            high: std::array::from_fn(|k| self.high[k].max(cell[k])),
        }
    }

    /// Cells that are in both; none where the lowest is above the highest.
    fn and(&self, other: &Range) -> Self {
        Range {
            low: std::array::from_fn(|k| self.low[k].max(other.low[k])),
            high: std::array::from_fn(|k| self.high[k].min(other.high[k])),
        }
    }

    /// The box of its cells, which are so wide, m, and a little more: places are rounded.
    fn bounds(&self, edge: f64) -> Aabb {
        let corner = |cell: [i32; 3]| DVec3::from_array(cell.map(f64::from)) * edge;
        // Cell zero begins where those below it end: rounding is that of the numbers.
        let (low, high) = (corner(self.low), corner(self.high) + edge);
        Aabb::new(low, high).inflated(1e-9 * (edge + low.abs().max(high.abs()).max_element()))
    }

    /// Two halves, across its longest side; `None` of one cell.
    fn halves(self) -> Option<[Range; 2]> {
        let lengths: [i64; 3] =
            std::array::from_fn(|k| i64::from(self.high[k]) - i64::from(self.low[k]));
        let axis = (0..3).max_by_key(|&k| lengths[k])?;
        if lengths[axis] == 0 {
            return None;
        }
        let middle = i64::from(self.low[axis]) + lengths[axis] / 2;
        let (mut lower, mut upper) = (self, self);
        lower.high[axis] = middle as i32;
        upper.low[axis] = middle as i32 + 1;
        Some([lower, upper])
    }

    fn size(&self) -> [usize; 3] {
        std::array::from_fn(|k| (self.high[k] - self.low[k]) as usize + 1)
    }

    fn count(&self) -> f64 {
        let along = |axis: usize| {
            let cells = f64::from(self.high[axis]) - f64::from(self.low[axis]) + 1.0;
            cells.max(0.0)
        };
        along(0) * along(1) * along(2)
    }

    fn contains(&self, cell: [i32; 3]) -> bool {
        (0..3).all(|axis| (self.low[axis]..=self.high[axis]).contains(&cell[axis]))
    }

    fn cells(self) -> impl Iterator<Item = [i32; 3]> {
        let along = move |axis: usize| self.low[axis]..=self.high[axis];
        along(2).flat_map(move |z| along(1).flat_map(move |y| along(0).map(move |x| [x, y, z])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_where_they_are() {
        let mut grid = Grid::default();
        grid.clear(0.5);
        let place = |k: u32| DVec3::new(f64::from(k % 10), f64::from(k / 10), -1.0) * 0.2;
        for k in 0..100 {
            grid.insert(k, u8::from(k >= 50), place(k));
        }
        for k in (0..100).step_by(3) {
            grid.remove(k, u8::from(k >= 50), place(k));
        }
        let near = |grid: &Grid, group: u8, around: (DVec3, f64)| {
            let mut found = Vec::new();
            grid.within(group, around, |member| found.push(member));
            found.sort_unstable();
            found
        };
        let mut there: Vec<u32> = (0..100).filter(|k| k % 3 != 0).collect();
        // By name, then in arrays, from which some leave.
        for (searches, group) in [(0, 0), (0, 1), (1000, 0), (1000, 1), (1000, 0)] {
            grid.prepare(searches);
            assert_eq!(grid.laid_out.is_empty(), searches == 0);
            let expected = |group: u8, (centre, distance): (DVec3, f64)| -> Vec<u32> {
                let of_group = there.iter().filter(|&&k| u8::from(k >= 50) == group);
                let near = of_group.filter(|&&k| place(k).distance(centre) <= distance);
                near.copied().collect()
            };
            // The last box is far larger than what is there.
            for around in [(place(44), 0.25), (place(50), 0.7), (DVec3::ZERO, 1e9)] {
                assert_eq!(near(&grid, group, around), expected(group, around));
            }
            // All over, and beyond where there are any.
            for k in 0..4000 {
                let centre = DVec3::new(f64::from(k % 40), f64::from(k / 40), 0.0) * 0.1 - 1.0;
                for distance in [0.3, 0.5, 1.3] {
                    let around = (centre, distance);
                    assert_eq!(near(&grid, group, around), expected(group, around));
                }
            }
            if searches > 0 {
                let leaves = there.remove(there.len() / 2);
                grid.remove(leaves, u8::from(leaves >= 50), place(leaves));
            }
        }
    }
}
