//! What impacts change in a substep, body by body.
//!
//! The warm start of a substep repeats what the one before did to a body (equation (1) of
//! [`crate::substep`]), impacts included, which are not to be repeated. So every impact row
//! adds the velocity change that it made to a sum of each of its bodies while it is swept,
//! and the next warm start subtracts the sums. That takes no pass over contacts: no colours,
//! no barriers between them, and of another process it needs the sums of the bodies that it
//! shares alone.
//!
//! `unsafe`: threads share the sums. A body's sum is touched by who sweeps the block that the
//! body is in, or by who passes over the part of the bodies that it is in; barriers stand
//! between the two.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use esker_contact::BodyState;
use esker_parallel::{SharedSlice, resize};
use glam::DVec3;

use crate::copies::Copies;
use crate::kernel::Work;
use crate::packed::{impulse_in, with_rows};
use crate::plan::LANES;

/// A change of a body's velocities.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VelocityChange {
    /// Of the velocity, m/s.
    pub linear: DVec3,
    /// Of the angular velocity, rad/s, or of the metric one.
    pub angular: DVec3,
}

impl VelocityChange {
    /// The velocities of a body that had none.
    pub(crate) fn of(body: &BodyState) -> Self {
        VelocityChange {
            linear: body.velocity,
            angular: body.angular_velocity,
        }
    }

    /// This and another.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        VelocityChange {
            linear: self.linear + other.linear,
            angular: self.angular + other.angular,
        }
    }

    /// Takes it back.
    pub(crate) fn subtract_from(&self, body: &mut BodyState) {
        body.velocity -= self.linear;
        body.angular_velocity -= self.angular;
    }
}

/// A body of these masses without velocity.
pub(crate) fn at_rest(body: &BodyState) -> BodyState {
    BodyState {
        velocity: DVec3::ZERO,
        angular_velocity: DVec3::ZERO,
        ..*body
    }
}

/// Sums of the changes by impacts in a substep; keeps its memory.
#[derive(Debug, Default)]
pub(crate) struct ImpactChanges {
    /// Of bodies that were impacted; anything of others.
    sums: Vec<VelocityChange>,
    /// A bit per body that was impacted.
    impacted: Vec<AtomicU64>,
}

impl ImpactChanges {
    /// Begins a step with so many bodies that contacts can move.
    pub(crate) fn begin(&mut self, movable: usize) -> SharedChanges<'_> {
        resize(&mut self.sums, movable);
        self.impacted.clear();
        self.impacted
            .resize_with(movable.div_ceil(64), AtomicU64::default);
        SharedChanges {
            sums: SharedSlice::new(&mut self.sums),
            impacted: &self.impacted,
        }
    }
}

/// [`ImpactChanges`] as threads share them.
#[derive(Clone, Copy)]
pub(crate) struct SharedChanges<'a> {
    sums: SharedSlice<'a, VelocityChange>,
    impacted: &'a [AtomicU64],
}

impl SharedChanges<'_> {
    /// Adds what the impact rows in these slots (group · LANES + lane) did.
    ///
    /// # Safety
    /// The invariants of [`Work`]; the slots are of one block, which the caller has swept.
    pub(crate) unsafe fn add(&self, work: &Work<'_>, slots: &[u32]) {
        for &slot in slots {
            let (group, lane) = (slot as usize / LANES, slot as usize % LANES);
            // SAFETY: passed on to the caller.
            unsafe {
                let rolling = work.rolls.then(|| &*work.rolling.add(group));
                let impulse = impulse_in(&(*work.groups.add(group)).rows, rolling, lane);
                with_rows(work, group, lane, |rows| {
                    let bodies = rows.contact.bodies.map(|b| b as usize);
                    let [mut a, mut b] = bodies.map(|b| at_rest(&*work.bodies.add(b)));
                    rows.apply(&impulse, &mut a, &mut b);
                    self.add_to(bodies[0], &VelocityChange::of(&a));
                    self.add_to(bodies[1], &VelocityChange::of(&b));
                });
            }
        }
    }

    /// # Safety
    /// Nobody else touches the sum of this body.
    unsafe fn add_to(&self, body: usize, change: &VelocityChange) {
        // Others belong to one contact and have no warm start.
        if body >= self.sums.len() {
            return;
        }
        let bit = 1 << (body % 64);
        let before = self.impacted[body / 64].fetch_or(bit, Ordering::Relaxed);
        // SAFETY: passed on to the caller.
        let sum = unsafe { self.sums.at(body) };
        *sum = if before & bit == 0 {
            *change
        } else {
            sum.plus(change)
        };
    }

    /// Takes the changes of some bodies, which begin with the first of `range`, back and
    /// forgets them; not those of bodies with copies, which have to be joined before.
    ///
    /// # Safety
    /// Nobody else touches the sums of these bodies.
    pub(crate) unsafe fn subtract(
        &self,
        range: Range<usize>,
        bodies: &mut [BodyState],
        copies: &Copies,
    ) {
        for word in range.start / 64..range.end.div_ceil(64) {
            let mut left = self.impacted[word].load(Ordering::Relaxed);
            while left != 0 {
                let body = 64 * word + left.trailing_zeros() as usize;
                left &= left - 1;
                if range.contains(&body) && !copies.has_copies(body as u32) {
                    // SAFETY: passed on to the caller.
                    unsafe { self.subtract_one(body, &mut bodies[body - range.start]) };
                }
            }
        }
    }

    /// Takes the changes of bodies with copies back, which have been joined, and forgets
    /// them.
    ///
    /// # Safety
    /// Nobody else touches bodies or sums; `all` is the list with copies.
    pub(crate) unsafe fn subtract_from_originals(&self, all: *mut BodyState, copies: &Copies) {
        for body in copies.originals().map(|body| body as usize) {
            let bit = 1 << (body % 64);
            if self.impacted[body / 64].load(Ordering::Relaxed) & bit != 0 {
                // SAFETY: passed on to the caller.
                unsafe { self.subtract_one(body, &mut *all.add(body)) };
            }
        }
    }

    /// # Safety
    /// Nobody else touches the sum of this body.
    unsafe fn subtract_one(&self, body: usize, state: &mut BodyState) {
        self.impacted[body / 64].fetch_and(!(1 << (body % 64)), Ordering::Relaxed);
        // SAFETY: passed on to the caller.
        unsafe { self.sums.at(body) }.subtract_from(state);
    }

    /// What impacts have changed of a body in this substep so far.
    ///
    /// # Safety
    /// Nobody writes to the sum of this body.
    pub(crate) unsafe fn get(&self, body: usize) -> Option<VelocityChange> {
        let word = self.impacted.get(body / 64)?.load(Ordering::Relaxed);
        // SAFETY: passed on to the caller.
        (word >> (body % 64) & 1 == 1).then(|| unsafe { *self.sums.at(body) })
    }

    /// Sets what impacts have changed of a body that contacts can move.
    ///
    /// # Safety
    /// Nobody else touches the sum of this body.
    pub(crate) unsafe fn set(&self, body: usize, change: VelocityChange) {
        self.impacted[body / 64].fetch_or(1 << (body % 64), Ordering::Relaxed);
        // SAFETY: passed on to the caller.
        unsafe { *self.sums.at(body) = change };
    }
}
