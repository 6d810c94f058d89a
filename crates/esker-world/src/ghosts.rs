//! Bodies that stand for one side of one contact each: for walls, and for bodies that joints
//! hold.
//!
//! Contacts of a step act on rows of the table of grains. What else they may touch, no contact
//! moves by itself: a wall does what its motion says, a jointed body what its machine makes of
//! all impulses (`machinery.rs`). Such a side has a ghost with the velocity of the surface at
//! the contact, after the rows.

use esker_contact::Form;
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

    fn place(list: &[u32], contact: usize) -> usize {
        list.partition_point(|&k| (k as usize) < contact)
    }

    /// The bodies that a contact of this form acts on: rows or ghosts.
    #[inline(always)]
    pub(crate) fn bodies_of(
        &self,
        i: usize,
        (contact, form): (&ContactGeometry, Form),
        grains: &Grains,
    ) -> [u32; 2] {
        let ghost = || (self.rows + Self::place(self.contacts, i)) as u32;
        match form {
            Form::Radial => [contact.grain, contact.partner.row().unwrap_or_else(ghost)],
            Form::General(_) => {
                let is_row = |j: &u32| !grains.is_jointed(*j as usize);
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
    }
}
