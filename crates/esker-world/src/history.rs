//! Impulses kept from step to step for warm starting, found by contact key.

use esker_contact::Impulse;
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

/// Contacts of the last step, grouped by their owner's slot.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Entries of slot `s` are `entries[start[s]..start[s + 1]]`.
    start: Vec<u32>,
    entries: Vec<Remembered>,
    claimed: Vec<bool>,
}

/// Cosine above which a contact on another facet of the same wall is taken
/// for the same contact that moved on.
const SAME_DIRECTION: f64 = 0.95;

impl History {
    /// Remembers contacts that carry load.
    pub fn store(&mut self, slots: usize, contacts: &[ContactGeometry], impulses: &[Impulse]) {
        let loaded = || {
            contacts
                .iter()
                .zip(impulses)
                .filter(|(_, p)| p.normal > 0.0)
        };
        self.replace(
            slots,
            loaded().map(|(c, p)| Remembered {
                key: c.key,
                normal: c.normal,
                impulse: *p,
            }),
        );
    }

    /// Remembers exactly these contacts.
    pub fn replace(&mut self, slots: usize, remembered: impl Iterator<Item = Remembered> + Clone) {
        self.start.clear();
        self.start.resize(slots + 1, 0);
        for entry in remembered.clone() {
            self.start[entry.key.owner.slot as usize + 1] += 1;
        }
        for slot in 0..slots {
            self.start[slot + 1] += self.start[slot];
        }
        let count = self.start[slots] as usize;
        let nothing = Remembered {
            key: ContactKey {
                owner: crate::grains::GrainId {
                    slot: 0,
                    generation: 0,
                },
                other: 0,
            },
            normal: DVec3::ZERO,
            impulse: Impulse::default(),
        };
        self.entries.clear();
        self.entries.resize(count, nothing);
        for entry in remembered {
            let next = &mut self.start[entry.key.owner.slot as usize];
            self.entries[*next as usize] = entry;
            *next += 1;
        }
        // Filling moved every start to the next slot's; move them back.
        self.start.rotate_right(1);
        self.start[0] = 0;
    }

    /// Everything remembered.
    pub fn entries(&self) -> &[Remembered] {
        &self.entries
    }

    /// Impulses of the contacts as they were in the last step, projected onto
    /// their new tangent planes; zero for new contacts.
    pub fn recall(&mut self, contacts: &[ContactGeometry], impulses: &mut Vec<Impulse>) {
        self.claimed.clear();
        self.claimed.resize(self.entries.len(), false);
        impulses.clear();
        for contact in contacts {
            let found = self
                .range(contact)
                .find(|&i| self.entries[i].key == contact.key);
            impulses.push(self.claim(found, contact));
        }
        for (contact, impulse) in contacts.iter().zip(impulses) {
            let Some(wall) = contact.key.wall_index() else {
                continue;
            };
            if impulse.normal > 0.0 {
                continue;
            }
            let found = self.range(contact).find(|&i| {
                let entry = &self.entries[i];
                !self.claimed[i]
                    && entry.key.owner == contact.key.owner
                    && entry.key.wall_index() == Some(wall)
                    && entry.normal.dot(contact.normal) > SAME_DIRECTION
            });
            *impulse = self.claim(found, contact);
        }
    }

    fn range(&self, contact: &ContactGeometry) -> std::ops::Range<usize> {
        let slot = contact.key.owner.slot as usize;
        match self.start.get(slot..slot + 2) {
            Some(&[from, to]) => from as usize..to as usize,
            _ => 0..0,
        }
    }

    fn claim(&mut self, found: Option<usize>, contact: &ContactGeometry) -> Impulse {
        found.map_or_else(Impulse::default, |i| {
            self.claimed[i] = true;
            self.entries[i].impulse.in_plane_of(contact.normal)
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
        history.store(6, &old, &[load(1.0), load(2.0), load(3.0)]);
        let tilted = DVec3::new(0.1, 0.0, 1.0).normalize();
        let new = [
            contact(ContactKey::wall(id(2, 0), 1, 8), tilted),
            contact(ContactKey::grains(id(2, 0), id(5, 0)), DVec3::X),
            contact(ContactKey::grains(id(2, 0), id(5, 1)), DVec3::X),
            contact(ContactKey::wall(id(0, 0), 1, 9), DVec3::X),
        ];
        let mut impulses = Vec::new();
        history.recall(&new, &mut impulses);
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
