//! Bodies too large for the blocks of a plan, as copies.
//!
//! A large body among small ones has thousands of contacts, and contacts that
//! share a body can neither be in one group nor be swept at the same time. So
//! its contacts with much smaller bodies act on copies of it: the blocks of one
//! colour have different ones, and so do the lanes of a group. The `n` copies
//! of a body have the nth part of its mass and inertia each, and after all
//! colours their means
//!
//! ```text
//! v = 1/n Σ_c v_c,   ω = 1/n Σ_c ω_c                                     (1)
//! ```
//!
//! are the velocities of the body, from which its other contacts and then all
//! copies go on (R. Tonge, F. Benevolenski, A. Voroshilov, Mass splitting for
//! jitter-free parallel rigid body simulation, 2012). Momentum is conserved,
//! and as a sweep that changes no impulse leaves all copies equal, sweeps end
//! at the solution of the undivided contacts. On the way there a contact sees
//! the inverse mass `n/m + 1/m_b` instead of `1/m + 1/m_b`, which slows it down
//! only where `m_b` is not much smaller than `m/n`. A body of `s` small
//! diameters has `n ∝ s²` copies and a mass `m ∝ s³`: the larger it is, the
//! less it notices.
//!
//! Copies follow the bodies of the plan, before those that belong to one
//! contact alone. Outside the sweep nobody sees them.
//!
//! `unsafe`: joining and spreading work on bodies that threads share, in the
//! last block of a sweep, which no other block runs beside.

use esker_contact::BodyState;
use esker_parallel::Team;
use glam::DVec3;

use crate::plan::{FIXED, LANES};
use crate::substep::{Acceleration, Accelerations};

/// Marks a large body of a contact that is to act on a copy.
const LARGE: u32 = 1 << 31;

/// Bodies that a plan can have: indices below the mark.
pub(crate) const MOST_BODIES: usize = LARGE as usize - 1;

pub(crate) fn marked(body: u32) -> u32 {
    body | LARGE
}

fn is_marked(body: u32) -> bool {
    body & LARGE != 0 && body != FIXED
}

/// Contacts of one large body in one block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    block: u32,
    body: u32,
    contacts: u32,
    /// Index of the first copy that they act on.
    first: u32,
}

impl Share {
    fn copies(&self) -> u32 {
        self.contacts.min(LANES as u32)
    }
}

/// Counts the contacts that act on copies in a block; blocks come in ascending order.
pub(crate) fn count_marked(block: u32, bodies: impl Iterator<Item = u32>, shares: &mut Vec<Share>) {
    let first = shares.len();
    for body in bodies.filter(|&body| is_marked(body)) {
        match shares[first..]
            .iter_mut()
            .find(|share| share.body == body & !LARGE)
        {
            Some(share) => share.contacts += 1,
            None => shares.push(Share {
                block,
                body: body & !LARGE,
                contacts: 1,
                first: 0,
            }),
        }
    }
}

/// A body with copies.
#[derive(Clone, Copy, Debug)]
pub struct Original {
    /// The body.
    pub body: u32,
    /// Its first copy, in the list with copies.
    pub first: u32,
    /// How many follow one another there.
    pub count: u32,
}

/// The copies of a plan.
#[derive(Clone, Debug, Default)]
pub struct Copies {
    /// Bodies of the plan.
    bodies: u32,
    count: u32,
    originals: Vec<Original>,
    /// By block, then by body.
    shares: Vec<Share>,
    /// What contacts act on, in the plan's order; empty where there are no copies.
    pub(crate) contacts: Vec<[u32; 2]>,
}

impl Copies {
    /// Whether every contact acts on its own bodies.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count as usize
    }

    /// Forgets all copies; there are now this many bodies.
    pub(crate) fn clear(&mut self, bodies: usize) {
        self.bodies = bodies as u32;
        self.count = 0;
        self.originals.clear();
        self.shares.clear();
        self.contacts.clear();
    }

    /// Adds what [`count_marked`] found.
    pub(crate) fn add_shares(&mut self, shares: &[Share]) {
        self.shares.extend_from_slice(shares);
    }

    /// Gives every share copies that no other share of its body and colour has. Colour `c` has
    /// the blocks from `colours[c]` to the next.
    pub(crate) fn allot(&mut self, colours: &[u32]) {
        self.shares
            .sort_unstable_by_key(|share| (share.body, share.block));
        for of_body in self.shares.chunk_by_mut(|a, b| a.body == b.body) {
            let first = self.bodies + self.count;
            let (mut colour, mut used, mut count) = (0, 0, 0);
            for share in of_body.iter_mut() {
                let own = colours.partition_point(|&start| start <= share.block);
                if own != colour {
                    (colour, used) = (own, 0);
                }
                share.first = first + used;
                used += share.copies();
                count = count.max(used);
            }
            self.originals.push(Original {
                body: of_body[0].body,
                first,
                count,
            });
            self.count += count;
        }
        self.shares
            .sort_unstable_by_key(|share| (share.block, share.body));
    }

    /// Replaces marked bodies of a block's contacts by copies, in turn; `taken` is scratch.
    pub(crate) fn name<'a>(
        &self,
        block: u32,
        bodies: impl Iterator<Item = &'a mut u32>,
        taken: &mut Vec<u32>,
    ) {
        let start = self.shares.partition_point(|share| share.block < block);
        let end = self.shares.partition_point(|share| share.block <= block);
        let shares = &self.shares[start..end];
        if shares.is_empty() {
            return;
        }
        taken.clear();
        taken.resize(shares.len(), 0);
        for body in bodies.filter(|body| is_marked(**body)) {
            let original = *body & !LARGE;
            if let Ok(k) = shares.binary_search_by_key(&original, |share| share.body) {
                *body = shares[k].first + taken[k] % shares[k].copies();
                taken[k] += 1;
            }
        }
    }

    /// Where a body is in the list with copies.
    #[inline]
    pub fn place_of(&self, body: u32) -> u32 {
        if body < self.bodies {
            body
        } else {
            body + self.count
        }
    }

    /// What the contact at a place of the plan's order acts on, in the list with copies.
    #[inline]
    pub fn acted_on(&self, contact: usize, bodies: [u32; 2]) -> [u32; 2] {
        let Some(named) = self.contacts.get(contact) else {
            return bodies;
        };
        std::array::from_fn(|k| match named[k] {
            FIXED => self.place_of(bodies[k]),
            body => body,
        })
    }

    /// Sets `all` to the bodies with the copies among them.
    pub fn expand(&self, team: &mut Team, bodies: &[BodyState], all: &mut Vec<BodyState>) {
        let (own, count) = (self.bodies as usize, self.count as usize);
        team.fill(all, bodies.len() + count, |k| {
            if k < own {
                bodies[k]
            } else if k < own + count {
                self.copy(k as u32, bodies)
            } else {
                bodies[k - count]
            }
        });
    }

    /// Sets `all` to the accelerations of the bodies, followed by those of the
    /// copies; to none where there are none.
    pub fn expand_accelerations(
        &self,
        Accelerations { first, list }: Accelerations<'_>,
        all: &mut Vec<Acceleration>,
    ) {
        all.clear();
        all.extend_from_slice(list);
        if !list.is_empty() {
            let copies = self.bodies..self.bodies + self.count;
            all.extend(copies.map(|k| {
                let entry = (self.original(k).body as usize).checked_sub(first);
                entry.map_or_else(Acceleration::default, |entry| list[entry])
            }));
        }
    }

    /// Bodies that have copies, ascending, and where these are.
    pub fn all(&self) -> &[Original] {
        &self.originals
    }

    /// Bodies that have copies, ascending.
    pub(crate) fn originals(&self) -> impl Iterator<Item = u32> {
        self.originals.iter().map(|original| original.body)
    }

    /// Whether a body has copies.
    pub(crate) fn has_copies(&self, body: u32) -> bool {
        let found = self.originals.binary_search_by_key(&body, |o| o.body);
        found.is_ok()
    }

    fn original(&self, copy: u32) -> &Original {
        let after = self
            .originals
            .partition_point(|original| original.first <= copy);
        &self.originals[after - 1]
    }

    fn copy(&self, copy: u32, bodies: &[BodyState]) -> BodyState {
        let original = self.original(copy);
        let body = bodies[original.body as usize];
        BodyState {
            inverse_mass: f64::from(original.count) * body.inverse_mass,
            inverse_inertia: f64::from(original.count) * body.inverse_inertia,
            ..body
        }
    }

    /// Sets the bodies to what they are among the copies.
    pub fn contract(&self, team: &mut Team, all: &[BodyState], bodies: &mut [BodyState]) {
        let own = &mut bodies[..self.bodies as usize];
        team.for_each_part(own, 1, |start, part| {
            part.copy_from_slice(&all[start..start + part.len()]);
        });
    }

    /// Equation (1).
    ///
    /// # Safety
    /// `all` is the list of [`Copies::expand`], and no other thread touches
    /// bodies that have copies, nor the copies.
    pub(crate) unsafe fn join(&self, all: *mut BodyState) {
        for original in &self.originals {
            let (mut velocity, mut angular_velocity) = (DVec3::ZERO, DVec3::ZERO);
            // SAFETY: passed on to the caller.
            let body = unsafe { &mut *all.add(original.body as usize) };
            for copy in original.first..original.first + original.count {
                // SAFETY: passed on to the caller; a copy is not the body.
                let copy = unsafe { &*all.add(copy as usize) };
                // Differences: equal copies change nothing at all.
                velocity += copy.velocity - body.velocity;
                angular_velocity += copy.angular_velocity - body.angular_velocity;
            }
            body.velocity += velocity / f64::from(original.count);
            body.angular_velocity += angular_velocity / f64::from(original.count);
        }
    }

    /// Gives the copies the velocities of their bodies.
    ///
    /// # Safety
    /// As for [`Copies::join`].
    pub(crate) unsafe fn spread(&self, all: *mut BodyState) {
        for original in &self.originals {
            // SAFETY: passed on to the caller; a copy is not the body.
            unsafe {
                let body = *all.add(original.body as usize);
                for copy in original.first..original.first + original.count {
                    let copy = &mut *all.add(copy as usize);
                    (copy.velocity, copy.angular_velocity) = (body.velocity, body.angular_velocity);
                }
            }
        }
    }
}
