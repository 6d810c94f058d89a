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
//! and over a whole step the same with a `solve` after every sweep. Impulses are summed block by
//! block right after a block's sweep, then over the blocks in their order, so that the number of
//! threads does not enter; the end of a substep and the beginning of the next are one
//! serial section, since both follow from the same impulses. Who moves the bodies
//! between the sums and the velocities, and what their inverse mass at a contact is, is the
//! affair of a [`JointedBodies`].
//!
//! `unsafe`: threads share ghosts and sums. Every side of a contact has a ghost and every chunk
//! of sides has sums of its own, and barriers separate what reads from what writes.

use std::ops::Range;

use esker_contact::Impulse;
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
    /// Where contacts have them.
    pub sides: &'a [JointedSide],
    /// How many there are.
    pub count: usize,
    /// What moves them.
    pub bodies: &'a mut dyn JointedBodies,
}

/// A side where its contact is packed.
#[derive(Clone, Copy, Debug)]
struct PackedSide {
    side: JointedSide,
    /// Slot (group · LANES + lane) of the contact.
    slot: u32,
    block: u32,
}

/// The sides of one body in one block.
#[derive(Clone, Debug)]
struct Chunk {
    body: usize,
    sides: Range<usize>,
}

/// What a chunk's contacts give to its body.
#[derive(Clone, Copy, Debug, Default)]
struct ChunkSum {
    all: Spatial,
    /// The part of impacts, which the next substep does not start from.
    of_impacts: Spatial,
}

/// Scratch of the coupling, kept from step to step.
#[derive(Debug, Default)]
pub(crate) struct Coupling {
    /// By block, then body, then slot.
    sides: Vec<PackedSide>,
    chunks: Vec<Chunk>,
    /// Block `b` has the chunks `starts[b]..starts[b + 1]`.
    starts: Vec<u32>,
    sums: Vec<ChunkSum>,
    impulses: Vec<Spatial>,
    /// After the last sweep, and before the next.
    after: Vec<Spatial>,
    ahead: Vec<Spatial>,
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
        clear_and_reserve(&mut self.sides, sides.len());
        self.sides.extend(sides.iter().map(|&side| {
            let group = plan.groups.partition_point(|&start| start <= side.contact) - 1;
            let lane = (side.contact - plan.groups[group]) as usize;
            let block = plan
                .blocks
                .partition_point(|&start| start as usize <= group)
                - 1;
            PackedSide {
                side,
                slot: (group * LANES + lane) as u32,
                block: block as u32,
            }
        }));
        self.sides
            .sort_unstable_by_key(|s| (s.block, s.side.body, s.slot, s.side.side));
        self.chunks.clear();
        clear_and_reserve(&mut self.starts, plan.blocks.len());
        let mut start = 0;
        let chunks =
            |a: &PackedSide, b: &PackedSide| (a.block, a.side.body) == (b.block, b.side.body);
        for part in self.sides.chunk_by(chunks) {
            let first = &part[0];
            self.starts
                .resize(first.block as usize + 1, self.chunks.len() as u32);
            self.chunks.push(Chunk {
                body: first.side.body as usize,
                sides: start..start + part.len(),
            });
            start += part.len();
        }
        self.starts
            .resize(plan.blocks.len(), self.chunks.len() as u32);
        self.sums.clear();
        self.sums.resize(self.chunks.len(), ChunkSum::default());
        for list in [&mut self.impulses, &mut self.after, &mut self.ahead] {
            list.clear();
            list.resize(count, Spatial::ZERO);
        }
        Some(SharedCoupling {
            sides: &self.sides,
            copies: plan.copies.count(),
            chunks: &self.chunks,
            starts: &self.starts,
            sums: SharedSlice::new(&mut self.sums),
            impulses: SharedSlice::new(&mut self.impulses),
            after: SharedSlice::new(&mut self.after),
            ahead: SharedSlice::new(&mut self.ahead),
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
    sides: &'a [PackedSide],
    copies: usize,
    chunks: &'a [Chunk],
    starts: &'a [u32],
    sums: SharedSlice<'a, ChunkSum>,
    impulses: SharedSlice<'a, Spatial>,
    after: SharedSlice<'a, Spatial>,
    ahead: SharedSlice<'a, Spatial>,
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

/// What follows a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterSweep {
    /// Another one over the same step.
    Again,
    /// Another substep.
    NextSubstep,
    /// The end of the step.
    End,
}

impl SharedCoupling<'_, '_> {
    /// Begins the first substep, or a whole step, with the impulses that contacts start from.
    /// All workers call this together.
    ///
    /// # Safety
    /// Nobody else touches ghosts or groups until all workers have returned.
    pub(crate) unsafe fn begin(&self, worker: Worker<'_>, work: &Work<'_>) {
        // SAFETY: passed on to the caller; blocks of workers are disjoint, and the first worker
        // is alone between barriers.
        unsafe {
            for block in worker.part_of(self.starts.len().saturating_sub(1), 1) {
                self.sum_block(work, block, &[]);
            }
            worker.wait_for_all();
            if worker.index == 0 {
                let (impulses, velocities) = (self.summed(|sum| sum.all), self.all(&self.ahead));
                (*self.bodies.0).begin(impulses, velocities);
            }
            worker.wait_for_all();
            self.set_ghosts(worker, work, &self.ahead);
            worker.wait_for_all();
        }
    }

    /// Sums what the contacts of a block give to jointed bodies; `impacts` are its slots of
    /// impacts, ascending.
    ///
    /// # Safety
    /// No other thread touches the groups or the sums of this block.
    #[inline]
    pub(crate) unsafe fn sum_block(&self, work: &Work<'_>, block: usize, impacts: &[u32]) {
        for k in self.starts[block] as usize..self.starts[block + 1] as usize {
            let mut sum = ChunkSum::default();
            for packed in &self.sides[self.chunks[k].sides.clone()] {
                // SAFETY: passed on to the caller.
                let given = unsafe { impulse_on(packed, work) };
                sum.all += given;
                if impacts.binary_search(&packed.slot).is_ok() {
                    sum.of_impacts += given;
                }
            }
            // SAFETY: passed on to the caller.
            unsafe { *self.sums.at(k) = sum };
        }
    }

    /// Moves the bodies by the sums of all blocks. All workers call this together, after a sweep
    /// that ended with a barrier; it ends with one, and ghosts are as they were.
    pub(crate) fn solve(&self, worker: Worker<'_>, then: AfterSweep) {
        if worker.index == 0 {
            // SAFETY: this thread alone, between barriers.
            unsafe {
                let bodies = &mut *self.bodies.0;
                let impulses = self.summed(|sum| sum.all);
                match then {
                    AfterSweep::Again => bodies.solve(impulses, self.all(&self.after)),
                    AfterSweep::End => bodies.end(impulses, self.all(&self.after)),
                    AfterSweep::NextSubstep => {
                        bodies.end(impulses, self.all(&self.after));
                        let kept = self.summed(|sum| sum.all - sum.of_impacts);
                        bodies.begin(kept, self.all(&self.ahead));
                    }
                }
            }
        }
        worker.wait_for_all();
    }

    /// Gives this worker's part of the ghosts the velocities that the last sweep led to.
    ///
    /// # Safety
    /// Nobody touches ghosts until all workers have returned and met.
    pub(crate) unsafe fn end_ghosts(&self, worker: Worker<'_>, work: &Work<'_>) {
        // SAFETY: passed on to the caller.
        unsafe { self.set_ghosts(worker, work, &self.after) };
    }

    /// Gives this worker's part of the ghosts the velocities that the next substep begins with;
    /// those that the last one led to become the ones `before`.
    ///
    /// # Safety
    /// As for [`SharedCoupling::end_ghosts`], and for the states before.
    pub(crate) unsafe fn begin_ghosts(
        &self,
        worker: Worker<'_>,
        work: &Work<'_>,
        before: Before<'_>,
    ) {
        // SAFETY: passed on to the caller; every side has a ghost of its own.
        unsafe {
            self.for_each_ghost(worker, &self.after, |ghost, velocity| {
                before.set(ghost, velocity);
            });
            self.set_ghosts(worker, work, &self.ahead);
        }
    }

    /// Sums of all blocks, per body.
    ///
    /// # Safety
    /// Nobody else touches sums and impulses.
    unsafe fn summed(&self, part: impl Fn(&ChunkSum) -> Spatial) -> &[Spatial] {
        // SAFETY: passed on to the caller.
        let (impulses, sums) = unsafe {
            let sums = self.sums.part(0..self.sums.len());
            (self.all(&self.impulses), sums)
        };
        impulses.fill(Spatial::ZERO);
        for (chunk, sum) in self.chunks.iter().zip(&*sums) {
            impulses[chunk.body] += part(sum);
        }
        impulses
    }

    /// # Safety
    /// Nobody else touches the list.
    #[expect(clippy::mut_from_ref, reason = "the caller is alone with the list")]
    unsafe fn all<'c>(&self, list: &'c SharedSlice<'_, Spatial>) -> &'c mut [Spatial] {
        // SAFETY: passed on to the caller.
        unsafe { list.part(0..list.len()) }
    }

    /// # Safety
    /// As for [`SharedCoupling::end_ghosts`].
    unsafe fn set_ghosts(
        &self,
        worker: Worker<'_>,
        work: &Work<'_>,
        velocities: &SharedSlice<'_, Spatial>,
    ) {
        self.for_each_ghost(worker, velocities, |ghost, velocity| {
            // SAFETY: every side has a ghost of its own; the rest is passed on to the caller.
            let ghost = unsafe { &mut *work.bodies.add(ghost) };
            (ghost.velocity, ghost.angular_velocity) = velocity;
        });
    }

    /// Calls `set` with the index of every ghost of this worker's part, and the velocity and
    /// angular velocity of its body there.
    fn for_each_ghost(
        &self,
        worker: Worker<'_>,
        velocities: &SharedSlice<'_, Spatial>,
        set: impl Fn(usize, (DVec3, DVec3)),
    ) {
        for PackedSide { side, .. } in &self.sides[worker.part_of(self.sides.len(), 1)] {
            // SAFETY: velocities are only read between barriers.
            let motion = unsafe { velocities.as_mut_ptr().add(side.body as usize).read() };
            let ghost = side.ghost as usize + self.copies;
            set(ghost, (motion.at(side.arm), motion.angular));
        }
    }
}

/// What a contact gives to the body on one of its sides.
///
/// # Safety
/// Nobody writes to the group.
unsafe fn impulse_on(packed: &PackedSide, work: &Work<'_>) -> Spatial {
    let slot = packed.slot as usize;
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
    let impulse = impulse_in(rows, rolling, lane);
    packed.side.given(vector(&rows.normal, lane), &impulse)
}
