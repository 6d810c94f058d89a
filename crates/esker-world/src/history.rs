//! Impulses kept from step to step for warm starting, found by contact key.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use esker_contact::Impulse;
use esker_parallel::Team;
use glam::DVec3;

use crate::collide::{ContactGeometry, ContactKey};

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

/// Contacts of the last step, as one linked list per owner's slot. The order
/// within a list depends on the threads that built it, so no search may.
#[derive(Debug, Default)]
pub struct History {
    /// First entry of each slot's list, or [`END`].
    first: Vec<AtomicU32>,
    /// Entry after each entry, or [`END`].
    next: Vec<AtomicU32>,
    entries: Vec<Remembered>,
    parts: Vec<Vec<Remembered>>,
    /// Whether a contact of this step took the entry.
    claimed: Vec<AtomicBool>,
    wall_contacts: Vec<u32>,
    wall_parts: Vec<Vec<u32>>,
}

/// End of a list.
const END: u32 = u32::MAX;

/// Cosine above which a contact on another facet of the same wall is taken
/// for the same contact that moved on.
const SAME_DIRECTION: f64 = 0.95;

impl History {
    /// Remembers contacts that carry load.
    pub fn store(
        &mut self,
        team: &mut Team,
        slots: usize,
        contacts: &[ContactGeometry],
        impulses: &[Impulse],
    ) {
        team.gather(
            contacts.len(),
            &mut self.parts,
            &mut self.entries,
            |range, out| {
                let loaded = range.filter(|&i| impulses[i].normal > 0.0);
                out.extend(loaded.map(|i| Remembered {
                    key: contacts[i].key,
                    normal: contacts[i].normal,
                    impulse: impulses[i],
                }));
            },
        );
        self.link(team, slots);
    }

    /// Multiplies all that is remembered: for a row step of another length.
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

    fn link(&mut self, team: &mut Team, slots: usize) {
        self.first.resize_with(slots, AtomicU32::default);
        self.next
            .resize_with(self.entries.len(), AtomicU32::default);
        let (first, next, entries) = (&self.first, &self.next, &self.entries);
        team.run(|worker| {
            for slot in worker.part_of(slots, 1) {
                first[slot].store(END, Ordering::Relaxed);
            }
            worker.wait_for_all();
            for i in worker.part_of(entries.len(), 1) {
                let slot = entries[i].key.owner.slot as usize;
                next[i].store(
                    first[slot].swap(i as u32, Ordering::Relaxed),
                    Ordering::Relaxed,
                );
            }
        });
    }

    /// Everything remembered.
    pub fn entries(&self) -> &[Remembered] {
        &self.entries
    }

    /// Impulses of the contacts as they were in the last step, projected onto
    /// their new tangent planes; zero for new contacts.
    pub fn recall(
        &mut self,
        team: &mut Team,
        contacts: &[ContactGeometry],
        impulses: &mut Vec<Impulse>,
    ) {
        self.claimed.clear();
        self.claimed
            .resize_with(self.entries.len(), AtomicBool::default);
        team.fill(impulses, contacts.len(), |i| {
            let contact = &contacts[i];
            let found = self
                .of_owner(contact)
                .find(|&e| self.entries[e].key == contact.key);
            self.claim(found, contact)
        });
        team.gather(
            contacts.len(),
            &mut self.wall_parts,
            &mut self.wall_contacts,
            |range, out| {
                let new = range.filter(|&i| impulses[i].normal <= 0.0);
                let at_wall = new.filter(|&i| contacts[i].key.wall_index().is_some());
                out.extend(at_wall.map(|i| i as u32));
            },
        );
        // One after another, in the order of contacts: the first takes it.
        for &i in &self.wall_contacts {
            let contact = &contacts[i as usize];
            let same = self.of_owner(contact).filter(|&e| {
                let entry = &self.entries[e];
                !self.claimed[e].load(Ordering::Relaxed)
                    && entry.key.owner == contact.key.owner
                    && entry.key.wall_index() == contact.key.wall_index()
                    && entry.normal.dot(contact.normal) > SAME_DIRECTION
            });
            impulses[i as usize] = self.claim(same.min(), contact);
        }
    }

    /// Entries of the slot of a contact's owner, in no order.
    fn of_owner(&self, contact: &ContactGeometry) -> impl Iterator<Item = usize> {
        let first = self.first.get(contact.key.owner.slot as usize);
        let mut at = first.map_or(END, |first| first.load(Ordering::Relaxed));
        std::iter::from_fn(move || {
            let here = (at != END).then_some(at as usize)?;
            at = self.next[here].load(Ordering::Relaxed);
            Some(here)
        })
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
    use crate::collide::Partner;
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
            diameter: 0.2,
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
        history.store(&mut team, 6, &old, &[load(1.0), load(2.0), load(3.0)]);
        let tilted = DVec3::new(0.1, 0.0, 1.0).normalize();
        let new = [
            contact(ContactKey::wall(id(2, 0), 1, 8), tilted),
            contact(ContactKey::grains(id(2, 0), id(5, 0)), DVec3::X),
            contact(ContactKey::grains(id(2, 0), id(5, 1)), DVec3::X),
            contact(ContactKey::wall(id(0, 0), 1, 9), DVec3::X),
        ];
        let mut impulses = Vec::new();
        history.recall(&mut team, &new, &mut impulses);
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
