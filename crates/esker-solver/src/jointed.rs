//! Bodies that joints move as well as contacts: the parts of machines.
//!
//! A contact sees such a body through a ghost of its own, as it sees a wall, but one that
//! yields: with the velocity of the body's point there and a finite inverse mass (mass
//! splitting per contact, see `copies.rs`). So the plan, its order and its lanes know nothing
//! of machines, and a machine that touches thousands of grains does not make their contacts
//! one serial block. In every substep
//!
//! ```text
//! P  = Σ impulses of the last substep, without impacts     begin → velocities of ghosts
//! one sweep over all contacts
//! P  = Σ impulses of this one                              end   → velocities of ghosts
//! ```
//!
//! and over a whole step the same with a `solve` after every sweep,
//! with sums in an order that the number of threads does not enter. Who moves the bodies
//! between the sums and the velocities, and what their inverse mass at a contact is, is the
//! affair of a [`JointedBodies`].
//!
//! `unsafe`: threads share ghosts and sums. Every side of a contact has a ghost and every chunk
//! of sides has a sum of its own, and barriers separate what reads from what writes.

use std::ops::Range;

use esker_contact::{BodyState, Impulse};
use esker_machine::Spatial;
use esker_parallel::{SharedSlice, Worker, clear_and_reserve};
use glam::DVec3;

use crate::kernel::Work;
use crate::lanes::Quad;
use crate::packed::{impulse_in, vector};
use crate::plan::{LANES, SweepPlan};

/// What moves jointed bodies within a substep, or a whole step. All functions get the impulses
/// that contacts give to each body in it and set the velocities at its end.
pub trait JointedBodies: Send {
    /// Begins a substep, with the impulses that contacts start from.
    fn begin(&mut self, impulses: &[Spatial], velocities: &mut [Spatial]);

    /// The same substep with other impulses.
    fn solve(&mut self, impulses: &[Spatial], velocities: &mut [Spatial]);

    /// Ends it with the impulses that contacts end with.
    fn end(&mut self, impulses: &[Spatial], velocities: &mut [Spatial]);
}

/// A side of a contact on which a jointed body is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointedSide {
    /// Place of the contact in the plan's order.
    pub contact: u32,
    /// Zero for body `a` of the contact, one for `b`.
    pub side: u8,
    /// Index among the jointed bodies.
    pub body: u32,
    /// Index of the ghost that stands for the body there among the bodies of the contacts.
    pub ghost: u32,
    /// From the body's centre of mass to the contact point, m.
    pub arm: DVec3,
}

impl JointedSide {
    /// What a contact with this normal gives to the body.
    pub fn given(&self, normal: DVec3, impulse: &Impulse) -> Spatial {
        let sign = if self.side == 0 { -1.0 } else { 1.0 };
        let torque = (impulse.rolling + normal * impulse.twisting) * sign;
        let linear = (normal * impulse.normal + impulse.friction) * sign;
        Spatial::from_impulse_at(linear, self.arm) + Spatial::new(DVec3::ZERO, torque)
    }
}

/// The jointed bodies of a step.
pub struct Jointed<'a> {
    /// Where contacts have them; those of one body follow one another.
    pub sides: &'a [JointedSide],
    /// How many there are.
    pub count: usize,
    /// What moves them.
    pub bodies: &'a mut dyn JointedBodies,
}

/// Sides whose impulses are summed together.
const CHUNK: usize = 256;

/// Some of the sides of one body.
#[derive(Clone, Debug)]
struct Chunk {
    body: usize,
    sides: Range<usize>,
}

/// Scratch of the coupling, kept from step to step.
#[derive(Debug, Default)]
pub(crate) struct Coupling {
    /// Slot (group · LANES + lane) of each side's contact.
    slots: Vec<u32>,
    chunks: Vec<Chunk>,
    chunk_sums: Vec<Spatial>,
    impulses: Vec<Spatial>,
    velocities: Vec<Spatial>,
}

impl Coupling {
    /// Begins a step. Ghosts are numbered as in the list without copies.
    pub(crate) fn begin<'a, 'b>(
        &'a mut self,
        plan: &SweepPlan,
        jointed: Option<Jointed<'b>>,
    ) -> Option<SharedCoupling<'a, 'b>> {
        let Jointed {
            sides,
            count,
            bodies,
        } = jointed?;
        clear_and_reserve(&mut self.slots, sides.len());
        self.slots.extend(sides.iter().map(|side| {
            let group = plan.groups.partition_point(|&start| start <= side.contact) - 1;
            let lane = (side.contact - plan.groups[group]) as usize;
            (group * LANES + lane) as u32
        }));
        self.chunks.clear();
        let mut start = 0;
        for of_body in sides.chunk_by(|a, b| a.body == b.body) {
            for part in of_body.chunks(CHUNK) {
                self.chunks.push(Chunk {
                    body: part[0].body as usize,
                    sides: start..start + part.len(),
                });
                start += part.len();
            }
        }
        self.chunk_sums.clear();
        self.chunk_sums.resize(self.chunks.len(), Spatial::ZERO);
        self.impulses.clear();
        self.impulses.resize(count, Spatial::ZERO);
        self.velocities.clear();
        self.velocities.resize(count, Spatial::ZERO);
        Some(SharedCoupling {
            sides,
            slots: &self.slots,
            copies: plan.copies.count(),
            chunks: &self.chunks,
            chunk_sums: SharedSlice::new(&mut self.chunk_sums),
            impulses: SharedSlice::new(&mut self.impulses),
            velocities: SharedSlice::new(&mut self.velocities),
            bodies: Mover(bodies),
        })
    }
}

/// What moves the bodies, which one worker alone calls.
struct Mover<'a>(*mut (dyn JointedBodies + 'a));

// SAFETY: only the first worker follows the pointer, and the trait is `Send`.
unsafe impl Sync for Mover<'_> {}

/// [`Coupling`] as threads share it.
pub(crate) struct SharedCoupling<'a, 'b> {
    sides: &'b [JointedSide],
    slots: &'a [u32],
    copies: usize,
    chunks: &'a [Chunk],
    chunk_sums: SharedSlice<'a, Spatial>,
    impulses: SharedSlice<'a, Spatial>,
    velocities: SharedSlice<'a, Spatial>,
    bodies: Mover<'b>,
}

/// States of the bodies of the contacts before a substep.
#[derive(Clone, Copy)]
pub(crate) struct Before<'a> {
    pub(crate) velocity: SharedSlice<'a, Quad>,
    pub(crate) angular_velocity: SharedSlice<'a, Quad>,
}

impl Before<'_> {
    /// # Safety
    /// Nobody else touches these states of the body.
    unsafe fn set(&self, index: usize, (linear, angular): (DVec3, DVec3)) {
        // SAFETY: passed on to the caller.
        let (velocity, angular_velocity) =
            unsafe { (self.velocity.at(index), self.angular_velocity.at(index)) };
        velocity.0[..3].copy_from_slice(&linear.to_array());
        angular_velocity.0[..3].copy_from_slice(&angular.to_array());
    }
}

impl SharedCoupling<'_, '_> {
    /// Gives ghosts the velocities that a substep begins with; where there was one before, those
    /// that it ended with become the ones `before`. All workers call this together.
    ///
    /// # Safety
    /// Nobody else touches ghosts, groups or the states before until all workers have returned.
    pub(crate) unsafe fn begin_substep(
        &self,
        worker: Worker<'_>,
        work: &Work<'_>,
        before: Option<Before<'_>>,
    ) {
        // SAFETY: passed on to the caller; every side has a ghost of its own.
        unsafe {
            if let Some(before) = before {
                self.for_each_ghost(worker, work, |ghost, _, velocity| {
                    before.set(ghost, velocity)
                });
            }
            self.sum_impulses(worker, work);
            self.solve(worker, |bodies, impulses, velocities| {
                bodies.begin(impulses, velocities);
            });
            self.for_each_ghost(worker, work, |_, body, velocity| {
                (body.velocity, body.angular_velocity) = velocity;
            });
        }
    }

    /// Gives ghosts the velocities after a sweep, which may be the last of a substep. All workers
    /// call this together.
    ///
    /// # Safety
    /// As for [`SharedCoupling::begin_substep`].
    pub(crate) unsafe fn after_sweep(&self, worker: Worker<'_>, work: &Work<'_>, is_last: bool) {
        // SAFETY: passed on to the caller.
        unsafe {
            self.sum_impulses(worker, work);
            self.solve(worker, |bodies, impulses, velocities| {
                if is_last {
                    bodies.end(impulses, velocities);
                } else {
                    bodies.solve(impulses, velocities);
                }
            });
            self.for_each_ghost(worker, work, |_, body, velocity| {
                (body.velocity, body.angular_velocity) = velocity;
            });
        }
    }

    /// Sums the impulses of all sides, chunk by chunk.
    unsafe fn sum_impulses(&self, worker: Worker<'_>, work: &Work<'_>) {
        for k in worker.part_of(self.chunks.len(), 1) {
            let chunk = self.chunks[k].sides.clone();
            let sides = self.sides[chunk.clone()].iter().zip(&self.slots[chunk]);
            let mut sum = Spatial::ZERO;
            for (side, &slot) in sides {
                // SAFETY: nobody writes to groups.
                sum += unsafe { impulse_on(side, slot as usize, work) };
            }
            // SAFETY: parts of workers are disjoint.
            unsafe { *self.chunk_sums.at(k) = sum };
        }
        worker.wait_for_all();
    }

    unsafe fn solve(
        &self,
        worker: Worker<'_>,
        solve: impl FnOnce(&mut dyn JointedBodies, &[Spatial], &mut [Spatial]),
    ) {
        if worker.index == 0 {
            // SAFETY: this thread alone, between barriers.
            unsafe {
                let impulses = self.impulses.part(0..self.impulses.len());
                impulses.fill(Spatial::ZERO);
                for (chunk, sum) in self.chunks.iter().zip(self.all_sums()) {
                    impulses[chunk.body] += *sum;
                }
                let velocities = self.velocities.part(0..self.velocities.len());
                solve(&mut *self.bodies.0, impulses, velocities);
            }
        }
        worker.wait_for_all();
    }

    /// # Safety
    /// Nobody writes to the sums.
    unsafe fn all_sums(&self) -> &[Spatial] {
        // SAFETY: passed on to the caller.
        unsafe { self.chunk_sums.part(0..self.chunk_sums.len()) }
    }

    /// Calls `set` with the index of every ghost, the ghost, and the velocity and angular
    /// velocity of its body there.
    unsafe fn for_each_ghost(
        &self,
        worker: Worker<'_>,
        work: &Work<'_>,
        set: impl Fn(usize, &mut BodyState, (DVec3, DVec3)),
    ) {
        for side in &self.sides[worker.part_of(self.sides.len(), 1)] {
            let ghost = side.ghost as usize + self.copies;
            // SAFETY: every side has a ghost of its own; velocities are only read.
            unsafe {
                let motion = self.velocities.as_mut_ptr().add(side.body as usize).read();
                let velocity = (motion.at(side.arm), motion.angular);
                set(ghost, &mut *work.bodies.add(ghost), velocity);
            }
        }
        worker.wait_for_all();
    }
}

/// What a contact gives to the body on one of its sides.
///
/// # Safety
/// Nobody writes to the group.
unsafe fn impulse_on(side: &JointedSide, slot: usize, work: &Work<'_>) -> Spatial {
    let (group, lane) = (slot / LANES, slot % LANES);
    // SAFETY: passed on to the caller.
    let (rows, rolling) = unsafe {
        (
            &(*work.groups.add(group)).rows,
            work.rolls.then(|| &*work.rolling.add(group)),
        )
    };
    if rows.impulse[lane] <= 0.0 {
        return Spatial::ZERO;
    }
    side.given(vector(&rows.normal, lane), &impulse_in(rows, rolling, lane))
}
