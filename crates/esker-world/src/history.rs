//! Impulses kept from step to step for warm starting, found by contact key.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use esker_contact::{Form, Impulse};
use esker_parallel::{SharedSlice, Team, prefetch};
use glam::DVec3;

use crate::contact::{ContactGeometry, ContactKey, Partner};
use crate::grains::GrainId;

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

/// Contacts of the last step, found by their owner's slot. The order of one
/// slot's names depends on the threads that listed them, so no search may.
#[derive(Debug, Default)]
pub struct History {
    /// First of each slot's names; they end where those of the next slot start.
    starts: Vec<AtomicU32>,
    names: Vec<Name>,
    entries: Vec<Remembered>,
    /// Whether a contact of this step took the entry.
    claimed: Vec<AtomicBool>,
}

/// What tells the entries of one slot apart.
#[derive(Clone, Copy, Debug, Default)]
struct Name {
    other: u64,
    generation: u32,
    entry: u32,
    feature: u32,
}

/// Contacts whose slot is looked up ahead of its use; its names are asked for
/// half way.
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
        slots: usize,
        (contacts, impulses): (&[ContactGeometry], &[Impulse]),
        held: impl Iterator<Item = usize>,
    ) {
        let remember = |i: usize| Remembered {
            key: contacts[i].key,
            normal: contacts[i].normal,
            impulse: impulses[i],
        };
        team.select(
            contacts.len(),
            &mut self.entries,
            |i| impulses[i].normal > 0.0,
            remember,
        );
        let only_held = held.filter(|&i| impulses[i].normal == 0.0);
        self.entries.extend(only_held.map(remember));
        self.link(team, slots);
    }

    /// Multiplies all that is remembered: for a substep of another length.
    pub fn scale(&mut self, factor: f64) {
        for entry in &mut self.entries {
            entry.impulse = entry.impulse.scaled(factor);
        }
    }

    /// Remembers exactly these contacts.
    pub fn replace(&mut self, slots: usize, remembered: impl Iterator<Item = Remembered>) {
        self.entries.clear();
        self.entries.extend(remembered);
        self.link(&mut Team::default(), slots);
    }

    /// Lists the names of the entries by slot: a counting sort.
    fn link(&mut self, team: &mut Team, slots: usize) {
        self.starts.resize_with(slots, AtomicU32::default);
        self.names.clear();
        // As much room as the entries have: a step should not allocate.
        self.names.reserve(self.entries.capacity());
        self.names.resize(self.entries.len(), Name::default());
        let (starts, entries) = (&self.starts, &self.entries);
        let names = SharedSlice::new(&mut self.names);
        let counter = |i: usize| &starts[entries[i].key.owner.slot as usize];
        team.run(|worker| {
            for count in &starts[worker.part_of(slots, 1)] {
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
            // From the end of each slot's part down to its start.
            for i in worker.part_of(entries.len(), 1) {
                let place = counter(i).fetch_sub(1, Ordering::Relaxed) - 1;
                let key = entries[i].key;
                // SAFETY: the counter gives every entry a place of its own.
                unsafe {
                    *names.at(place as usize) = Name {
                        other: key.other,
                        generation: key.owner.generation,
                        entry: i as u32,
                        feature: key.feature,
                    };
                }
            }
        });
    }

    /// Everything remembered.
    pub fn entries(&self) -> &[Remembered] {
        &self.entries
    }

    /// Impulses of the contacts as they were in the last step, projected onto
    /// their new tangent planes; zero for new contacts. The second list has the
    /// indices of contacts with walls; `has_shapes` says whether pairs of grains may
    /// have several points of contact.
    pub fn recall(
        &mut self,
        team: &mut Team,
        (contacts, wall_contacts): (&[ContactGeometry], &[u32]),
        has_shapes: bool,
        impulses: &mut Vec<Impulse>,
    ) {
        self.claimed.clear();
        self.claimed.reserve(self.entries.capacity());
        self.claimed
            .resize_with(self.entries.len(), AtomicBool::default);
        team.fill(impulses, contacts.len(), |i| {
            if let Some(ahead) = contacts.get(i + PREFETCHED) {
                prefetch(&self.starts, ahead.key.owner.slot as usize);
            }
            if let Some(ahead) = contacts.get(i + PREFETCHED / 2) {
                prefetch(&self.names, self.start(ahead.key.owner.slot as usize));
            }
            let contact = &contacts[i];
            let mut names = self.of_owner(contact.key.owner).iter();
            let key = &contact.key;
            let found = names.find(|name| name.other == key.other && name.feature == key.feature);
            self.claim(found.map(|name| name.entry as usize), contact)
        });
        // One after another, in the order of contacts: the first takes it.
        for &i in wall_contacts {
            self.claim_moved(&contacts[i as usize], &mut impulses[i as usize]);
        }
        if has_shapes {
            for (contact, impulse) in contacts.iter().zip(impulses) {
                if matches!(
                    (contact.form, contact.partner),
                    (Form::General(_), Partner::Grain(_))
                ) {
                    self.claim_moved(contact, impulse);
                }
            }
        }
    }

    /// Gives a contact without an impulse that of another feature of the same pair
    /// which nobody has claimed.
    fn claim_moved(&self, contact: &ContactGeometry, impulse: &mut Impulse) {
        if impulse.normal > 0.0 {
            return;
        }
        let names = self.of_owner(contact.key.owner).iter();
        let same = names.map(|name| name.entry as usize).filter(|&e| {
            let entry = &self.entries[e];
            !self.claimed[e].load(Ordering::Relaxed)
                && entry.impulse.normal > 0.0
                && entry.key.is_of_same_pair(&contact.key)
                && entry.normal.dot(contact.normal) > SAME_DIRECTION
        });
        *impulse = self.claim(same.min(), contact);
    }

    /// Normal of a pair of bodies with one point of contact that carried load in the last step.
    pub(crate) fn normal_of_pair(&self, owner: GrainId, other: GrainId) -> Option<DVec3> {
        let other = other.as_u64();
        let mut names = self.of_owner(owner).iter();
        let name = names.find(|name| name.other == other && name.feature == 0)?;
        Some(self.entries[name.entry as usize].normal)
    }

    /// Features of a wall that held a grain in the last step, in no order.
    pub fn features_at(&self, owner: GrainId, wall: u32) -> impl Iterator<Item = u32> {
        let names = self.of_owner(owner).iter();
        let keys = names.map(move |name| ContactKey {
            owner,
            other: name.other,
            feature: name.feature,
        });
        keys.filter(move |key| key.wall_index() == Some(wall))
            .map(|key| key.wall_feature())
    }

    /// First name of a slot, or the end of all where there is no such slot.
    fn start(&self, slot: usize) -> usize {
        let start = self.starts.get(slot);
        start.map_or(self.names.len(), |s| s.load(Ordering::Relaxed) as usize)
    }

    /// Names of an owner, in no order. All names of a slot are those
    /// of the grain that had it when they were stored.
    fn of_owner(&self, owner: GrainId) -> &[Name] {
        let slot = owner.slot as usize;
        let names = &self.names[self.start(slot)..self.start(slot + 1)];
        match names.first() {
            Some(name) if name.generation == owner.generation => names,
            _ => &[],
        }
    }

    fn claim(&self, found: Option<usize>, contact: &ContactGeometry) -> Impulse {
        found.map_or_else(Impulse::default, |e| {
            self.claimed[e].store(true, Ordering::Relaxed);
            self.entries[e].impulse.in_plane_of(contact.normal)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grains::GrainId;

    fn contact(key: ContactKey, normal: DVec3) -> ContactGeometry {
        ContactGeometry {
            key,
            grain: 0,
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
        let id = |slot, generation| GrainId { slot, generation };
        let old = [
            contact(ContactKey::grains(id(2, 0), id(5, 0)), DVec3::X),
            contact(ContactKey::wall(id(0, 0), 1, 7), DVec3::Z),
            contact(ContactKey::wall(id(2, 0), 1, 7), DVec3::Z),
        ];
        let mut history = History::default();
        let mut team = Team::new(2);
        let loads = [load(1.0), load(2.0), load(3.0)];
        history.store(&mut team, 6, (&old, &loads), std::iter::empty());
        let tilted = DVec3::new(0.1, 0.0, 1.0).normalize();
        let new = [
            contact(ContactKey::wall(id(2, 0), 1, 8), tilted),
            contact(ContactKey::grains(id(2, 0), id(5, 0)), DVec3::X),
            contact(ContactKey::grains(id(2, 0), id(5, 1)), DVec3::X),
            contact(ContactKey::wall(id(0, 0), 1, 9), DVec3::X),
        ];
        let mut impulses = Vec::new();
        history.recall(&mut team, (&new, &[0, 3]), false, &mut impulses);
        let normals: Vec<f64> = impulses.iter().map(|p| p.normal).collect();
        assert_eq!(normals, [3.0, 1.0, 0.0, 0.0]);
        assert!(
            impulses
                .iter()
                .zip(&new)
                .all(|(p, c)| p.friction.dot(c.normal).abs() < 1e-15)
        );
    }
}
