//! Impulses kept from step to step for warm starting, found by contact key.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use esker_contact::{Form, Impulse};
use esker_parallel::{SharedSlice, Team, prefetch};
use glam::DVec3;

use crate::contact::{ContactGeometry, ContactKey, Partner};
use crate::grains::{GrainId, Grains};

/// One remembered contact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Remembered {
    /// Its name.
    pub key: ContactKey,
    /// Its normal, to recognise it on a neighbouring facet of the same wall.
    pub normal: DVec3,
    /// Its impulse.
    pub impulse: Impulse,
}

/// Contacts of the last step, found by their owner. Owners are numbered as the rows of the step
/// were, those that came since after them, and a table by slot has the numbers: what has not
/// been in the step costs nothing. The order of one owner's names depends on the threads that
/// listed them, so no search may. A slot may be another grain's since: names say whose they are.
#[derive(Debug, Default)]
pub struct History {
    /// Number of each slot's owner; of slots that have none, anything.
    numbers: Vec<u32>,
    /// Slots of owners by number.
    owners: Vec<u32>,
    /// First of each owner's names; they end where those of the next one start.
    starts: Vec<AtomicU32>,
    names: Vec<Name>,
    /// Whether names are of the entries as they are now.
    is_linked: bool,
    entries: Vec<Entry>,
    /// Whether a contact of this step took the entry.
    claimed: Vec<AtomicBool>,
}

/// A remembered contact.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) contact: Remembered,
    /// Slot of its owner.
    pub(crate) slot: u32,
    /// Slot of the other grain, or [`NO_SLOT`].
    pub(crate) other_slot: u32,
}

/// Stands for the slot of a wall, and of a grain that is not known.
pub(crate) const NO_SLOT: u32 = u32::MAX;

/// What tells the entries of one owner apart.
#[derive(Clone, Copy, Debug, Default)]
struct Name {
    owner: GrainId,
    other: u64,
    entry: u32,
    feature: u32,
}

/// Contacts whose owner's number is prefetched ahead of its use; its names are half way.
const PREFETCHED: usize = 16;

/// Cosine above which a contact on another facet of the same wall is taken
/// for the same contact that moved on.
const SAME_DIRECTION: f64 = 0.95;

impl History {
    /// Remembers contacts that carry load, and besides them those with the
    /// indices `held`, which carried some within the step.
    pub fn store(
        &mut self,
        team: &mut Team,
        grains: &Grains,
        (contacts, impulses): (&[ContactGeometry], &[Impulse]),
        held: impl Iterator<Item = usize>,
    ) {
        let remember = |i: usize| Entry {
            contact: Remembered {
                key: contacts[i].key,
                normal: contacts[i].normal,
                impulse: impulses[i],
            },
            slot: grains.slot(contacts[i].grain as usize) as u32,
            other_slot: match contacts[i].partner {
                Partner::Grain(j) => grains.slot(j as usize) as u32,
                Partner::Wall(_) => NO_SLOT,
            },
        };
        team.select(
            contacts.len(),
            &mut self.entries,
            |i| impulses[i].normal > 0.0,
            remember,
        );
        let only_held = held.filter(|&i| impulses[i].normal == 0.0);
        self.entries.extend(only_held.map(remember));
        self.number_rows(team, grains);
        self.is_linked = false;
    }

    /// Numbers the owners as the rows are.
    fn number_rows(&mut self, team: &mut Team, grains: &Grains) {
        self.numbers.resize(grains.slots(), NO_SLOT);
        team.fill(&mut self.owners, grains.len(), |row| {
            grains.slot(row) as u32
        });
        let numbers = SharedSlice::new(&mut self.numbers);
        team.run(|worker| {
            for row in worker.part_of(grains.len(), 1) {
                // SAFETY: every row has a slot of its own.
                unsafe { *numbers.at(grains.slot(row)) = row as u32 };
            }
        });
    }

    /// Number of the owner with this slot, if it has one.
    #[inline]
    fn number(&self, slot: usize) -> Option<usize> {
        let number = *self.numbers.get(slot)? as usize;
        (self.owners.get(number).copied() == Some(slot as u32)).then_some(number)
    }

    /// Multiplies all that is remembered: for a substep of another length.
    pub fn scale(&mut self, factor: f64) {
        for Entry { contact, .. } in &mut self.entries {
            contact.impulse = contact.impulse.scaled(factor);
        }
    }

    /// Lists the names of the entries by owner, a counting sort, unless they are listed: what is
    /// remembered may change several times before somebody looks.
    pub(crate) fn link(&mut self, team: &mut Team) {
        if std::mem::replace(&mut self.is_linked, true) {
            return;
        }
        let owners = self.owners.len();
        self.starts.resize_with(owners, AtomicU32::default);
        self.names.clear();
        // As much room as the entries have: a step should not allocate.
        self.names.reserve(self.entries.capacity());
        self.names.resize(self.entries.len(), Name::default());
        let (starts, entries, numbers) = (&self.starts, &self.entries, &self.numbers);
        let names = SharedSlice::new(&mut self.names);
        let counter = |i: usize| &starts[numbers[entries[i].slot as usize] as usize];
        team.run(|worker| {
            for count in &starts[worker.part_of(owners, 1)] {
                count.store(0, Ordering::Relaxed);
            }
            worker.wait_for_all();
            for i in worker.part_of(entries.len(), 1) {
                counter(i).fetch_add(1, Ordering::Relaxed);
            }
            worker.wait_for_all();
            if worker.index == 0 {
                let mut end = 0;
                for count in starts {
                    end += count.load(Ordering::Relaxed);
                    count.store(end, Ordering::Relaxed);
                }
            }
            worker.wait_for_all();
            // From the end of each owner's part down to its start.
            for i in worker.part_of(entries.len(), 1) {
                let place = counter(i).fetch_sub(1, Ordering::Relaxed) - 1;
                let key = entries[i].contact.key;
                // SAFETY: the counter gives every entry a place of its own.
                unsafe {
                    *names.at(place as usize) = Name {
                        owner: key.owner,
                        other: key.other,
                        entry: i as u32,
                        feature: key.feature,
                    };
                }
            }
        });
    }

    /// Remembers these contacts and no others.
    pub(crate) fn replace(&mut self, team: &mut Team, grains: &Grains, entries: Vec<Entry>) {
        self.entries = entries;
        self.number_rows(team, grains);
        self.is_linked = false;
    }

    /// Remembers these contacts too.
    pub(crate) fn extend(&mut self, grains: &Grains, entries: Vec<Entry>) {
        if entries.is_empty() {
            return;
        }
        self.numbers.resize(grains.slots(), NO_SLOT);
        for entry in &entries {
            if self.number(entry.slot as usize).is_none() {
                self.numbers[entry.slot as usize] = self.owners.len() as u32;
                self.owners.push(entry.slot);
            }
        }
        if self.entries.is_empty() {
            self.entries = entries;
        } else {
            self.entries.extend(entries);
        }
        self.is_linked = false;
    }

    /// Forgets the contacts that `forget` says so of.
    pub(crate) fn forget(&mut self, mut forget: impl FnMut(&Remembered) -> bool) {
        let before = self.entries.len();
        self.entries.retain(|entry| !forget(&entry.contact));
        self.is_linked &= self.entries.len() == before;
    }

    /// Everything remembered.
    pub fn entries(&self) -> impl Iterator<Item = &Remembered> {
        self.entries.iter().map(|entry| &entry.contact)
    }

    /// Everything remembered, with the slots of who touched.
    pub(crate) fn entries_with_slots(&self) -> &[Entry] {
        &self.entries
    }

    /// Impulses of the contacts as they were in the last step, projected onto
    /// their new tangent planes; zero for new contacts. The second list has the
    /// indices of contacts with walls.
    pub fn recall(
        &mut self,
        team: &mut Team,
        grains: &Grains,
        (contacts, wall_contacts): (&[ContactGeometry], &[u32]),
        impulses: &mut Vec<Impulse>,
    ) {
        self.link(team);
        self.claimed.clear();
        self.claimed.reserve(self.entries.capacity());
        self.claimed
            .resize_with(self.entries.len(), AtomicBool::default);
        team.fill(impulses, contacts.len(), |i| {
            if let Some(ahead) = contacts.get(i + PREFETCHED) {
                prefetch(&self.numbers, grains.slot(ahead.grain as usize));
            }
            if let Some(ahead) = contacts.get(i + PREFETCHED / 2) {
                let number = self.number(grains.slot(ahead.grain as usize));
                prefetch(&self.names, self.start(number.unwrap_or(0)));
            }
            let contact = &contacts[i];
            let mut names = self.of_row(grains, contact.grain as usize).iter();
            let key = &contact.key;
            let found = names.find(|name| name.other == key.other && name.feature == key.feature);
            self.claim(found.map(|name| name.entry as usize), contact)
        });
        // One after another, in the order of contacts: the first takes it.
        for &i in wall_contacts {
            self.claim_moved(grains, &contacts[i as usize], &mut impulses[i as usize]);
        }
        // Pairs of other shapes may have several points of contact.
        if grains.has_shapes() {
            for (contact, impulse) in contacts.iter().zip(impulses) {
                if matches!(
                    (contact.form, contact.partner),
                    (Form::General(_), Partner::Grain(_))
                ) {
                    self.claim_moved(grains, contact, impulse);
                }
            }
        }
    }

    /// Gives a contact without an impulse that of another feature of the same pair
    /// which nobody has claimed.
    fn claim_moved(&self, grains: &Grains, contact: &ContactGeometry, impulse: &mut Impulse) {
        if impulse.normal > 0.0 {
            return;
        }
        let names = self.of_row(grains, contact.grain as usize).iter();
        let same = names.map(|name| name.entry as usize).filter(|&e| {
            let entry = &self.entries[e].contact;
            !self.claimed[e].load(Ordering::Relaxed)
                && entry.impulse.normal > 0.0
                && entry.key.is_of_same_pair(&contact.key)
                && entry.normal.dot(contact.normal) > SAME_DIRECTION
        });
        *impulse = self.claim(same.min(), contact);
    }

    /// Normal of a pair of bodies, given by their rows, with one point of contact that carried
    /// load in the last step.
    pub(crate) fn normal_of_pair(&self, grains: &Grains, rows: [usize; 2]) -> Option<DVec3> {
        let other = grains.id[rows[1]].as_u64();
        let mut names = self.of_row(grains, rows[0]).iter();
        let name = names.find(|name| name.other == other && name.feature == 0)?;
        Some(self.entries[name.entry as usize].contact.normal)
    }

    /// Features of a wall that held the grain in a row in the last step, in no order.
    pub fn features_at(&self, grains: &Grains, row: usize, wall: u32) -> impl Iterator<Item = u32> {
        let names = self.of_row(grains, row).iter();
        let keys = names.map(|name| ContactKey {
            owner: name.owner,
            other: name.other,
            feature: name.feature,
        });
        keys.filter(move |key| key.wall_index() == Some(wall))
            .map(|key| key.wall_feature())
    }

    /// First name of an owner, or the end of all where there is no such owner.
    fn start(&self, number: usize) -> usize {
        let start = self.starts.get(number);
        start.map_or(self.names.len(), |s| s.load(Ordering::Relaxed) as usize)
    }

    /// Names of the grain in a row, in no order. All names of an owner are those
    /// of the grain that had its slot when they were stored.
    #[inline]
    fn of_row(&self, grains: &Grains, row: usize) -> &[Name] {
        debug_assert!(self.is_linked);
        let Some(number) = self.number(grains.slot(row)) else {
            return &[];
        };
        let names = &self.names[self.start(number)..self.start(number + 1)];
        match names.first() {
            Some(name) if name.owner == grains.id[row] => names,
            _ => &[],
        }
    }

    fn claim(&self, found: Option<usize>, contact: &ContactGeometry) -> Impulse {
        found.map_or_else(Impulse::default, |e| {
            self.claimed[e].store(true, Ordering::Relaxed);
            let impulse = &self.entries[e].contact.impulse;
            impulse.in_plane_of(contact.normal)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grains::NewGrain;

    fn contact(grain: u32, key: ContactKey, normal: DVec3) -> ContactGeometry {
        ContactGeometry {
            key,
            grain,
            partner: Partner::Wall(0),
            normal,
            point: DVec3::ZERO,
            overlap: 0.0,
            arms: [0.1, 0.0],
            rolling_radius: 0.1,
            elastic_radius: 0.1,
            class: Default::default(),
            form: Default::default(),
            closing_speed: 0.0,
        }
    }

    fn load(normal: f64) -> Impulse {
        Impulse {
            normal,
            friction: DVec3::new(0.1, 0.0, 0.2),
            ..Default::default()
        }
    }

    #[test]
    fn impulses_are_found_by_key_and_follow_a_wall_to_its_next_facet() {
        let mut grains = Grains::default();
        let new_grain = NewGrain {
            position: DVec3::ZERO,
            velocity: DVec3::ZERO,
            angular_velocity: DVec3::ZERO,
            orientation: glam::DQuat::IDENTITY,
            radius: 0.1,
            mass: 1.0,
            material: 0,
            shape: None,
        };
        let ids = [0; 6].map(|_| grains.insert(new_grain, true));
        let old = [
            contact(2, ContactKey::grains(ids[2], ids[5]), DVec3::X),
            contact(0, ContactKey::wall(ids[0], 1, 7), DVec3::Z),
            contact(2, ContactKey::wall(ids[2], 1, 7), DVec3::Z),
            contact(4, ContactKey::wall(ids[4], 1, 7), DVec3::Z),
        ];
        let mut history = History::default();
        let mut team = Team::new(2);
        let loads = [load(1.0), load(2.0), load(3.0), load(4.0)];
        let none = std::iter::empty();
        history.store(&mut team, &grains, (&old, &loads), none);
        // The last takes the row of the one that leaves, the newest its slot and no more.
        grains.remove(4);
        let newest = grains.insert(new_grain, true);
        assert_eq!((grains.id[4], grains.id[5]), (ids[5], newest));
        grains.reorder(&[0, 1, 3, 2, 4, 5], &mut Team::new(1));
        let tilted = DVec3::new(0.1, 0.0, 1.0).normalize();
        let new = [
            contact(3, ContactKey::wall(ids[2], 1, 8), tilted),
            contact(3, ContactKey::grains(ids[2], ids[5]), DVec3::X),
            contact(3, ContactKey::grains(ids[2], newest), DVec3::X),
            contact(0, ContactKey::wall(ids[0], 1, 9), DVec3::X),
            contact(5, ContactKey::wall(newest, 1, 7), DVec3::Z),
        ];
        let mut impulses = Vec::new();
        history.recall(&mut team, &grains, (&new, &[0, 3, 4]), &mut impulses);
        let normals: Vec<f64> = impulses.iter().map(|p| p.normal).collect();
        assert_eq!(normals, [3.0, 1.0, 0.0, 0.0, 0.0]);
        assert!(
            impulses
                .iter()
                .zip(&new)
                .all(|(p, c)| p.friction.dot(c.normal).abs() < 1e-15)
        );
    }
}
