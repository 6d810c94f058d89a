//! Packs the contacts of a block into groups for [`crate::plan`].

use std::cmp::Reverse;

use esker_parallel::clear_and_reserve;
use smallvec::SmallVec;

use crate::copies::Share;
use crate::plan::{CLASSES, ContactDescriptor, FIXED, LANES};

/// What packing needs to know about a contact; slips of a block lie side by side.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SortRecord {
    /// Orders as the height of the contact point does.
    pub(crate) height: u64,
    pub(crate) contact: u32,
    pub(crate) bodies: [u32; 2],
    /// Law and kind.
    pub(crate) law_and_class: u32,
}

impl SortRecord {
    pub(crate) fn new(contact: usize, descriptor: &ContactDescriptor) -> Self {
        SortRecord {
            height: ascending(descriptor.point.z),
            contact: contact as u32,
            bodies: descriptor.bodies,
            law_and_class: u32::from(CLASSES) * u32::from(descriptor.law)
                + u32::from(descriptor.class.min(CLASSES - 1)),
        }
    }

    /// The bodies that other contacts may move too.
    pub(crate) fn shared_bodies(&self) -> impl Iterator<Item = usize> + Clone {
        let shared = self.bodies.into_iter().filter(|&b| b != FIXED);
        shared.map(|b| b as usize)
    }
}

/// Packs the contacts of a block into groups, first fit. Packers of different
/// threads share no cache line.
#[derive(Clone, Debug, Default)]
#[repr(align(128))]
pub(crate) struct Packer {
    /// Size and law of every group made, in order.
    pub(crate) groups: Vec<(u8, u16)>,
    /// Bodies of every block, in order, those that others may move too.
    pub(crate) bodies: Vec<u32>,
    /// Places of contacts with a fixed body, in order.
    pub(crate) fixed: Vec<u32>,
    /// Per body, the open groups that it is in, as bits.
    in_groups: Vec<u64>,
    /// Per body, the last block that had it.
    last_block: Vec<u32>,
    block: u32,
    /// Per law and kind, the open groups, as bits.
    of_class: Vec<u64>,
    open: Vec<OpenGroup>,
    /// By how much larger the law of contacts that follow their bodies is; zero where none do.
    following: u16,
    /// Groups that the contacts of another one were moved to, in their order.
    moved_to: Vec<usize>,
    /// Contacts of a block from the bottom up, and their colours.
    ascending: Vec<SortRecord>,
    colours: Vec<u8>,
    /// Contacts on copies in its blocks, and how many of a block have theirs.
    pub(crate) shares: Vec<Share>,
    pub(crate) taken: Vec<u32>,
}

/// A group that is being filled.
#[derive(Clone, Copy, Debug, Default)]
struct OpenGroup {
    records: [SortRecord; LANES],
    size: usize,
    law_and_class: usize,
    born: u32,
}

impl OpenGroup {
    fn law(&self) -> u16 {
        (self.law_and_class / usize::from(CLASSES)) as u16
    }

    fn class(&self) -> usize {
        self.law_and_class % usize::from(CLASSES)
    }
}

/// The contacts of a block in the order of their groups.
struct Packed<'a> {
    order: &'a mut [u32],
    /// Empty where they are not asked for.
    bodies: &'a mut [[u32; 2]],
    done: usize,
}

impl Packed<'_> {
    #[inline]
    fn push(&mut self, record: &SortRecord) {
        self.order[self.done] = record.contact;
        if let Some(bodies) = self.bodies.get_mut(self.done) {
            *bodies = record.bodies;
        }
        self.done += 1;
    }
}

/// Colours of the contacts of a block: bits of a word. Where these do not do, many have the last.
const COLOURS: usize = u64::BITS as usize;

/// Groups that are filled at the same time: bits of a word.
const OPEN_GROUPS: usize = u64::BITS as usize;

impl Packer {
    pub(crate) fn start(&mut self, bodies: usize, contacts: usize, following: u16) {
        self.following = following;
        self.groups.clear();
        clear_and_reserve(&mut self.bodies, 2 * contacts);
        clear_and_reserve(&mut self.fixed, contacts);
        // Left at zero by what was packed before.
        self.in_groups.resize(bodies, 0);
        self.last_block.resize(bodies, self.block);
        self.of_class.clear();
        self.open.clear();
        self.open.resize(OPEN_GROUPS, OpenGroup::default());
    }

    /// Puts contacts into the order of greedy colours: taken as they come, a contact gets the
    /// smallest colour that its bodies do not have yet.
    pub(crate) fn sort_by_colour(&mut self, records: &mut [SortRecord]) {
        let mut counts = [0_u32; COLOURS];
        self.colours.clear();
        for record in &*records {
            let bodies = record.shared_bodies();
            let taken = bodies.clone().fold(0, |t, b| t | self.in_groups[b]);
            let colour = (!taken).trailing_zeros().min(COLOURS as u32 - 1);
            for body in bodies {
                self.in_groups[body] |= 1 << colour;
            }
            self.colours.push(colour as u8);
            counts[colour as usize] += 1;
        }
        let mut next = 0;
        for count in &mut counts {
            next += std::mem::replace(count, next);
        }
        self.ascending.clear();
        self.ascending.extend_from_slice(records);
        for (record, &colour) in self.ascending.iter().zip(&self.colours) {
            let place = &mut counts[usize::from(colour)];
            records[*place as usize] = *record;
            *place += 1;
            for body in record.shared_bodies() {
                self.in_groups[body] = 0;
            }
        }
    }

    /// Packs contacts in the order of `records`; `order`, which begins at this
    /// place of the whole order, gets them in the order of groups, and so do
    /// their bodies, if asked for.
    pub(crate) fn pack(
        &mut self,
        records: &[SortRecord],
        (order, bodies_out): (&mut [u32], &mut [[u32; 2]]),
        first: usize,
        fills_up: bool,
    ) {
        let mut out = Packed {
            order,
            bodies: bodies_out,
            done: 0,
        };
        let (mut in_use, mut born) = (0_u64, 0);
        self.block = self.block.wrapping_add(1);
        let written = self.fixed.len();
        for record in records {
            let law_and_class = record.law_and_class as usize;
            if law_and_class >= self.of_class.len() {
                self.of_class.resize(law_and_class + 1, 0);
            }
            let bodies = record.shared_bodies();
            let taken = bodies.clone().fold(0, |t, b| t | self.in_groups[b]);
            let mut fit = self.of_class[law_and_class] & !taken;
            if fit == 0 {
                if in_use == u64::MAX {
                    let oldest = (0..OPEN_GROUPS).min_by_key(|&g| self.open[g].born);
                    in_use &= !self.close(oldest.unwrap_or(0), &mut out);
                }
                fit = !in_use & in_use.wrapping_add(1);
                in_use |= fit;
                self.of_class[law_and_class] |= fit;
                let group = &mut self.open[fit.trailing_zeros() as usize];
                (group.size, group.law_and_class, group.born) = (0, law_and_class, born);
                born += 1;
            }
            let slot = fit.trailing_zeros() as usize;
            for body in bodies {
                self.in_groups[body] |= 1 << slot;
            }
            let group = &mut self.open[slot];
            group.records[group.size] = *record;
            group.size += 1;
            if group.size == LANES {
                in_use &= !self.close(slot, &mut out);
            }
        }
        if fills_up {
            in_use = self.fill_up(in_use);
        }
        while in_use != 0 {
            let oldest = bits(in_use).min_by_key(|&g| self.open[g].born);
            in_use &= !self.close(oldest.unwrap_or(0), &mut out);
        }
        for descriptor in &mut self.fixed[written..] {
            *descriptor += first as u32;
        }
    }

    /// Moves the contacts of groups that are not full to empty lanes of others, where all of a
    /// group find some, those that need the least first; returns the groups that are left.
    fn fill_up(&mut self, mut in_use: u64) -> u64 {
        let mut smallest_need: SmallVec<[usize; OPEN_GROUPS]> = bits(in_use).collect();
        smallest_need.sort_unstable_by_key(|&slot| {
            let group = &self.open[slot];
            (Reverse(group.class()), group.law(), group.born)
        });
        for slot in smallest_need {
            let bit = 1 << slot;
            let takers = self.takers(slot) & !bit;
            if takers != 0 && self.move_all(slot, takers) {
                self.of_class[self.open[slot].law_and_class] &= !bit;
                in_use &= !bit;
            }
        }
        in_use
    }

    /// The groups in which contacts of another one lose nothing: they are looked at as often at
    /// least, and may follow their bodies though they need not. Those with walls may not.
    fn takers(&self, slot: usize) -> u64 {
        let group = &self.open[slot];
        let up_to_class = |law: u16| {
            let first = usize::from(CLASSES) * usize::from(law);
            // As many as this packer has met yet.
            let classes = self.of_class.iter().skip(first).take(group.class() + 1);
            classes.fold(0, |t, groups| t | groups)
        };
        let is_fixed = |record: &SortRecord| record.bodies.contains(&FIXED);
        let mut takers = up_to_class(group.law());
        if group.law() < self.following && !group.records[..group.size].iter().any(is_fixed) {
            takers |= up_to_class(group.law() + self.following);
        }
        takers
    }

    /// Moves all contacts of a group to these ones, or none where one does not fit.
    fn move_all(&mut self, slot: usize, mut takers: u64) -> bool {
        let group = self.open[slot];
        self.moved_to.clear();
        for record in &group.records[..group.size] {
            let bodies = record.shared_bodies();
            let taken = bodies.clone().fold(0, |t, b| t | self.in_groups[b]);
            let mut fit = takers & !taken;
            while fit != 0 && self.open[fit.trailing_zeros() as usize].size == LANES {
                takers &= !(1 << fit.trailing_zeros());
                fit &= takers;
            }
            if fit == 0 {
                break;
            }
            let taker = fit.trailing_zeros() as usize;
            for body in bodies {
                self.in_groups[body] |= 1 << taker;
            }
            let open = &mut self.open[taker];
            open.records[open.size] = *record;
            open.size += 1;
            self.moved_to.push(taker);
        }
        let fits = self.moved_to.len() == group.size;
        for (record, &taker) in group.records.iter().zip(&self.moved_to) {
            let left = if fits { slot } else { taker };
            for body in record.shared_bodies() {
                self.in_groups[body] &= !(1 << left);
            }
            if !fits {
                self.open[taker].size -= 1;
            }
        }
        fits
    }

    /// Writes a group out and forgets it; returns its bit.
    fn close(&mut self, slot: usize, out: &mut Packed<'_>) -> u64 {
        let bit = 1 << slot;
        let group = &self.open[slot];
        for record in &group.records[..group.size] {
            if record.bodies.contains(&FIXED) {
                self.fixed.push(out.done as u32);
            }
            out.push(record);
            for body in record.shared_bodies() {
                self.in_groups[body] &= !bit;
                let last = std::mem::replace(&mut self.last_block[body], self.block);
                if last != self.block {
                    self.bodies.push(body as u32);
                }
            }
        }
        self.of_class[group.law_and_class] &= !bit;
        self.groups.push((group.size as u8, group.law()));
        bit
    }
}

/// The places of the bits that are set, ascending.
fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = word.trailing_zeros() as usize;
        word &= word.wrapping_sub(1);
        (place < OPEN_GROUPS).then_some(place)
    })
}

/// Maps numbers to integers in the same order.
fn ascending(x: f64) -> u64 {
    let bits = x.to_bits();
    // Negative numbers order backwards; flip them, and put them below.
    bits ^ ((bits as i64 >> 63) as u64 | 1 << 63)
}
