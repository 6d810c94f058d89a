//! Bodies that stand for one side of one contact each: for walls, for bodies that joints
//! hold, and for frozen grains.
//!
//! Contacts of a step act on rows of the table of grains. What else they may touch, no contact
//! moves by itself: a wall does what its motion says, a frozen grain what the walls do that it
//! rests on (`reduction/`), a jointed body what its machine makes of all impulses
//! (`machinery.rs`). Such a side has a ghost with the velocity of the surface at
//! the contact, after the rows.

use esker_solver::plan::SweepPlan;

use crate::contact::ContactGeometry;
use crate::grains::Grains;

/// The ghosts of a step.
#[derive(Clone, Copy)]
pub(crate) struct Ghosts<'a> {
    /// Rows of the table, after which they come.
    pub(crate) rows: usize,
    /// Contacts with a ghost, ascending: for the second body, or for the first where the
    /// second is a row.
    pub(crate) contacts: &'a [u32],
    /// Contacts both of whose bodies have one, ascending: ghosts of the first body come after
    /// all others.
    pub(crate) both: &'a [u32],
}

impl<'a> Ghosts<'a> {
    /// Those of the contacts of a plan; `both` as in [`Ghosts::both`].
    pub(crate) fn new(grains: &Grains, plan: &'a SweepPlan, both: &'a [u32]) -> Self {
        Ghosts {
            rows: grains.len(),
            contacts: &plan.fixed,
            both,
        }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.contacts.len() + self.both.len()
    }

    /// The contact of a ghost, and the row that it stands for; none where that is a wall.
    pub(crate) fn of<'c>(
        &self,
        ghost: usize,
        contacts: &'c [ContactGeometry],
        grains: &Grains,
    ) -> (&'c ContactGeometry, Option<u32>) {
        let contact = |list: &[u32], place: usize| &contacts[list[place] as usize];
        match ghost.checked_sub(self.contacts.len()) {
            Some(place) => {
                let contact = contact(self.both, place);
                (contact, Some(contact.grain))
            }
            None => {
                let contact = contact(self.contacts, ghost);
                let row = match contact.partner.row() {
                    Some(j) if !grains.has_ghost(j as usize) => Some(contact.grain),
                    other => other,
                };
                (contact, row)
            }
        }
    }

    fn place(list: &[u32], contact: usize) -> usize {
        list.partition_point(|&k| (k as usize) < contact)
    }

    /// The bodies that a contact acts on: rows or ghosts.
    #[inline(always)]
    pub(crate) fn bodies_of(
        &self,
        i: usize,
        contact: &ContactGeometry,
        grains: &Grains,
    ) -> [u32; 2] {
        let ghost = || (self.rows + Self::place(self.contacts, i)) as u32;
        let is_row = |j: &u32| !grains.has_ghost(*j as usize);
        let own = Some(contact.grain).filter(is_row);
        let other = contact.partner.row().filter(is_row);
        match (own, other) {
            (Some(a), Some(b)) => [a, b],
            (Some(a), None) => [a, ghost()],
            (None, Some(b)) => [ghost(), b],
            (None, None) => {
                let second = self.contacts.len() + Self::place(self.both, i);
                [(self.rows + second) as u32, ghost()]
            }
        }
    }
}
