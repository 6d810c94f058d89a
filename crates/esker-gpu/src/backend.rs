//! A step on a device: rows go there, velocities and impulses come back.
//!
//! Contacts lie in two memories. That of the contacts is filled and sent as a step is uploaded,
//! block by block in the order of levels; that of the bodies as it is advanced, with the record
//! that tells kernels where everything is. What comes back of a step lies at the end of each, so
//! that one copy fetches it; what only a residual needs is fetched when one is asked for.
//!
//! `unsafe`: threads write to blocks of contacts, each to those of its own.

use std::ops::Range;

use esker_contact::{BodyState, EnergyLoss, Impulse};
use esker_parallel::{SharedSlice, Team};
use esker_solver::backend::{SubstepProblem, SubstepRun};
use esker_solver::block_residual::{SweptContacts, substep_residual};
use esker_solver::device::{DeviceError, DeviceWork, SubstepDevice};
use esker_solver::packed::Row;
use esker_solver::plan::{LANES, SweepPlan};
use esker_solver::substep::{Acceleration, Accelerations};
use glam::DVec3;

use crate::arrays::{
    BodyArrays, BodySizes, ContactArrays, ContactSizes, addresses, loss_ranges, places, span,
};
use crate::launch::{Executor, StepShape};
use crate::layout::{
    ColourStarts, LawRecord, MOST_COLOURS, OriginalRecord, StepRecord, UNTRACKED, WOKEN,
    fitting_bodies,
};
use crate::memory::{Array, DeviceMemory, Layout, Plain, staged, staged_mut};
use crate::upload::{BlockScratch, Blocks, SharedContacts};

/// Substeps on a device.
#[derive(Debug)]
pub struct Gpu<E: Executor> {
    executor: E,
    contacts: Option<E::Memory>,
    bodies: Option<E::Memory>,
    contact_arrays: ContactArrays,
    body_arrays: BodyArrays,
    /// Place on the device of every contact, by its place in the plan's order.
    places: Vec<u32>,
    workers: Vec<BlockScratch>,
    /// Bodies with copies, where there are any.
    all_bodies: Vec<BodyState>,
    accelerations: Vec<Acceleration>,
    sums: Vec<Impulse>,
    measures_losses: bool,
    losses: EnergyLoss,
    /// Most bodies of a block that fit into the memory of a thread block.
    cached_bodies: u32,
}

/// Memory grows by more than is needed, so that it seldom does.
const SLACK: f64 = 1.2;

impl<E: Executor> Gpu<E> {
    /// Substeps by this executor.
    pub fn new(executor: E) -> Self {
        Gpu {
            executor,
            contacts: None,
            bodies: None,
            contact_arrays: ContactArrays::default(),
            body_arrays: BodyArrays::default(),
            places: Vec::new(),
            workers: Vec::new(),
            all_bodies: Vec::new(),
            accelerations: Vec::new(),
            sums: Vec::new(),
            measures_losses: false,
            losses: EnergyLoss::default(),
            cached_bodies: 0,
        }
    }
}

/// Where colours begin, and the end: blocks of a plan, or places of a flat one.
fn starts_of_colours(plan: &SweepPlan) -> impl Iterator<Item = u32> + Clone {
    plan.colours.iter().map(|&block| match plan.is_flat {
        false => block,
        true => LANES as u32 * plan.blocks[block as usize],
    })
}

/// Makes sure that a memory holds so many bytes; what it held is lost where it does not.
pub(crate) fn reserve<E: Executor>(
    executor: &mut E,
    memory: &mut Option<E::Memory>,
    needed: usize,
    size: (usize, usize),
) -> Result<(), DeviceError> {
    reserve_with(executor, memory, needed, size, E::allocate)
}

/// The same of memory that has no staging.
pub(crate) fn reserve_scratch<E: Executor>(
    executor: &mut E,
    memory: &mut Option<E::Memory>,
    needed: usize,
    size: (usize, usize),
) -> Result<(), DeviceError> {
    reserve_with(executor, memory, needed, size, E::allocate_scratch)
}

type Allocate<E> = fn(&mut E, usize) -> Result<Option<<E as Executor>::Memory>, DeviceError>;

fn reserve_with<E: Executor>(
    executor: &mut E,
    memory: &mut Option<E::Memory>,
    needed: usize,
    (bodies, contacts): (usize, usize),
    allocate: Allocate<E>,
) -> Result<(), DeviceError> {
    // A step without contacts has memory, too, if there is nothing in it.
    let needed = needed.max(1);
    if memory.as_ref().is_some_and(|memory| memory.len() >= needed) {
        return Ok(());
    }
    // Given back before more is asked for.
    *memory = None;
    let generous = (needed as f64 * SLACK) as usize;
    for bytes in [generous, needed] {
        *memory = allocate(executor, bytes)?;
        if memory.is_some() {
            return Ok(());
        }
    }
    let free = executor.free_bytes()?;
    Err(DeviceError::OutOfMemory {
        device: executor.name().to_owned(),
        bodies,
        contacts,
        needed,
        free,
        fitting: (bodies as f64 * (free as f64 / needed as f64).min(1.0)) as usize,
    })
}

impl<E: Executor> Gpu<E> {
    /// A memory that an earlier call has made.
    fn memory(memory: &mut Option<E::Memory>) -> &mut E::Memory {
        memory
            .as_mut()
            .expect("a step is uploaded before it is advanced")
    }

    /// Fills the bodies' memory but for the record.
    fn stage_bodies(
        &mut self,
        team: &mut Team,
        problem: SubstepProblem<'_>,
        bodies: &[BodyState],
        run: &SubstepRun<'_>,
    ) {
        let (plan, arrays) = (problem.plan, self.body_arrays);
        let memory = Self::memory(&mut self.bodies);
        for (record, law) in staged_mut(memory, arrays.laws).iter_mut().zip(problem.laws) {
            *record = LawRecord::of(law);
        }
        let originals = staged_mut(memory, arrays.original);
        for (record, original) in originals.iter_mut().zip(plan.copies.all()) {
            *record = OriginalRecord {
                body: original.body,
                first: original.first,
                count: original.count,
                unused: 0,
            };
        }
        let rates = staged_mut(memory, arrays.acceleration).chunks_exact_mut(6);
        for (six, rate) in rates.zip(run.accelerations.list) {
            six[..3].copy_from_slice(&rate.linear.to_array());
            six[3..].copy_from_slice(&rate.angular.to_array());
        }
        let tracked = staged_mut(memory, arrays.tracked);
        team.for_each_part(tracked, 1, |_, part| part.fill(UNTRACKED));
        for (k, &contact) in (0..).zip(run.tracked) {
            tracked[self.places[contact as usize] as usize] = k;
        }
        if self.measures_losses {
            let plan_places = staged_mut(memory, arrays.plan_place);
            for (i, &place) in (0..).zip(&self.places) {
                plan_places[place as usize] = i;
            }
            let ranges = staged_mut(memory, arrays.loss_ranges);
            for (range, start) in ranges.iter_mut().zip(loss_ranges(plan)) {
                *range = start;
            }
        }
        let states = staged_mut(memory, arrays.state);
        team.for_each_part(states, 1, |start, part| {
            part.copy_from_slice(&bodies[start..start + part.len()]);
        });
    }

    /// The record of a step.
    fn record(
        &mut self,
        problem: SubstepProblem<'_>,
        bodies: usize,
        run: &SubstepRun<'_>,
    ) -> StepRecord {
        let (plan, c, b) = (problem.plan, self.contact_arrays, self.body_arrays);
        let contacts = &*Self::memory(&mut self.contacts);
        let own = &*Self::memory(&mut self.bodies);
        let starts = starts_of_colours(plan);
        let end = starts.clone().last().unwrap_or(0);
        let mut colours = ColourStarts([end; MOST_COLOURS + 1]);
        for (colour, start) in colours.0.iter_mut().zip(starts) {
            *colour = start;
        }
        StepRecord {
            step: run.step,
            inverse_step: 1.0 / run.step,
            fall: (run.gravity * run.step).to_array(),
            friction_factor: problem.compliance.friction_factor(),
            rolling_factor: problem.compliance.rolling_factor(),
            longest_sleep: run.longest_sleep,
            substeps: run.substeps as u32,
            bodies: bodies as u32,
            movable: run.movable as u32,
            contacts: places(plan) as u32,
            is_flat: plan.is_flat.into(),
            groups: plan.group_count() as u32,
            blocks: plan.blocks.len() as u32 - 1,
            tracked_contacts: run.tracked.len() as u32,
            rolls: c.rolls.into(),
            first_acceleration: run.accelerations.first as u32,
            accelerations: run.accelerations.list.len() as u32,
            originals: plan.copies.all().len() as u32,
            loss_sums: match self.measures_losses {
                true => loss_ranges(plan).count() as u32 - 1,
                false => 0,
            },
            colours,
            ..addresses((&c, contacts), (&b, own))
        }
    }

    /// The substeps of a step of bodies with copies among them; these become what they are after
    /// it. Returns the number of impact rows.
    fn run_substeps(
        &mut self,
        team: &mut Team,
        problem: SubstepProblem<'_>,
        bodies: &mut [BodyState],
        run: SubstepRun<'_>,
    ) -> Result<usize, DeviceError> {
        let plan = problem.plan;
        let mut layout = Layout::default();
        let sizes = BodySizes::of(problem, &run, bodies.len(), self.measures_losses);
        let arrays = BodyArrays::new(&mut layout, sizes);
        self.body_arrays = arrays;
        let size = (bodies.len(), plan.contacts());
        reserve(&mut self.executor, &mut self.bodies, layout.end(), size)?;
        self.stage_bodies(team, problem, bodies, &run);
        let record = self.record(problem, bodies.len(), &run);
        let colours = record.colours;
        let memory = Self::memory(&mut self.bodies);
        staged_mut(memory, arrays.step)[0] = record;
        memory.upload(span(&arrays.step, &arrays.state))?;
        let shape = StepShape {
            substeps: run.substeps as u32,
            blocks: colours.sizes(),
            is_flat: plan.is_flat,
            is_in_turn: false,
            cached_bodies: self.cached_bodies,
            bodies: bodies.len() as u32,
            rolls: self.contact_arrays.rolls,
            has_copies: !plan.copies.is_empty(),
            has_losses: self.measures_losses,
        };
        let address = arrays.step.address(memory);
        self.executor.run(&shape, address)?;
        let memory = Self::memory(&mut self.bodies);
        memory.download(span(&arrays.state, &arrays.loss_sum))?;
        let c = self.contact_arrays;
        Self::memory(&mut self.contacts).download(span(&c.impulse, &c.twisting))?;
        self.executor.wait()?;
        let memory = &*Self::memory(&mut self.bodies);
        let states = staged(memory, arrays.state);
        team.for_each_part(bodies, 1, |start, part| {
            part.copy_from_slice(&states[start..start + part.len()]);
        });
        self.sums.clear();
        let sums = staged(memory, arrays.sums).chunks_exact(8);
        self.sums.extend(sums.map(|sum| Impulse {
            normal: sum[0],
            friction: DVec3::from_slice(&sum[1..]),
            rolling: DVec3::from_slice(&sum[4..]),
            twisting: sum[7],
        }));
        let losses = staged(memory, arrays.loss_sum).chunks_exact(4);
        self.losses = losses.fold(EnergyLoss::default(), |sum, loss| {
            sum.plus(&EnergyLoss {
                normal: loss[0],
                impact: loss[1],
                friction: loss[2],
                rolling: loss[3],
            })
        });
        impacts_of(&self.executor, staged(memory, arrays.impact_counts))
    }
}

/// Sum of the impacts of substeps, behind which kernels note that they gave up: one cannot use
/// what they have computed then.
pub(crate) fn impacts_of<E: Executor>(executor: &E, counts: &[u32]) -> Result<usize, DeviceError> {
    let (is_stuck, counts) = counts.split_last().expect("there is room for it");
    if *is_stuck != 0 {
        return Err(DeviceError::Failed {
            device: executor.name().to_owned(),
            call: "a step",
            message: "thread blocks waited for one another in vain".to_owned(),
        });
    }
    Ok(counts.iter().map(|&count| count as usize).sum())
}

impl<E: Executor> SubstepDevice for Gpu<E> {
    fn name(&self) -> &str {
        self.executor.name()
    }

    fn work(&self) -> Result<DeviceWork, DeviceError> {
        let (b, c) = (&self.body_arrays, &self.contact_arrays);
        let sent = [span(&b.step, &b.state), span(&c.block, &c.twisting)];
        let fetched = [span(&b.state, &b.loss_sum), span(&c.impulse, &c.twisting)];
        Ok(DeviceWork {
            copied: [sent, fetched].map(|ranges| ranges.iter().map(Range::len).sum()),
            ..self.executor.work()?
        })
    }

    fn upload(
        &mut self,
        team: &mut Team,
        problem: SubstepProblem<'_>,
        bodies: &[BodyState],
        row: &(dyn Fn(usize) -> Row + Sync),
    ) -> Result<(), DeviceError> {
        let plan = problem.plan;
        if problem.laws.iter().any(|law| law.general) {
            return Err(DeviceError::Unsupported {
                device: self.executor.name().to_owned(),
                what: "contacts of bodies that are no spheres",
            });
        }
        let rolls = problem.laws.iter().any(|law| law.rolls);
        let mut layout = Layout::default();
        let arrays = ContactArrays::new(&mut layout, ContactSizes::of(plan, rolls));
        self.contact_arrays = arrays;
        let size = (bodies.len(), plan.contacts());
        reserve(&mut self.executor, &mut self.contacts, layout.end(), size)?;
        let bodies = if plan.copies.is_empty() {
            bodies
        } else {
            plan.copies.expand(team, bodies, &mut self.all_bodies);
            &self.all_bodies
        };
        let blocks = Blocks {
            problem,
            bodies,
            row,
            fitting: fitting_bodies(self.executor.shared_bytes()),
        };
        self.places.resize(plan.contacts(), 0);
        self.workers
            .resize_with(team.threads(), BlockScratch::default);
        let places = SharedSlice::new(&mut self.places);
        let workers = SharedSlice::new(&mut self.workers);
        let memory = Self::memory(&mut self.contacts);
        let out = SharedContacts::new(memory, &arrays);
        let count = plan.blocks.len() - 1;
        team.run(|worker| {
            // SAFETY: every worker has scratch of its own.
            let scratch = unsafe { workers.at(worker.index) };
            scratch.most_bodies = 0;
            // Blocks by the place of their first contact: about as many contacts each. Those
            // without contacts go with the one after them.
            let part = worker.part_of(plan.contacts() + 1, 1);
            let starts = |contact: usize| {
                plan.blocks[..count]
                    .partition_point(|&group| (plan.groups[group as usize] as usize) < contact)
            };
            for block in starts(part.start)..starts(part.end) {
                // SAFETY: parts are disjoint, so that nobody else has this block.
                unsafe { blocks.write(block, &out, places, scratch) };
            }
        });
        let most = self.workers.iter().map(|scratch| scratch.most_bodies).max();
        self.cached_bodies = most.unwrap_or(0);
        Self::memory(&mut self.contacts).upload(span(&arrays.block, &arrays.twisting))
    }

    fn advance(
        &mut self,
        team: &mut Team,
        problem: SubstepProblem<'_>,
        bodies: &mut [BodyState],
        run: SubstepRun<'_>,
    ) -> Result<usize, DeviceError> {
        let copies = &problem.plan.copies;
        if copies.is_empty() {
            return self.run_substeps(team, problem, bodies, run);
        }
        let mut accelerations = std::mem::take(&mut self.accelerations);
        copies.expand_accelerations(run.accelerations, &mut accelerations);
        let mut all = std::mem::take(&mut self.all_bodies);
        copies.expand(team, bodies, &mut all);
        let run = SubstepRun {
            movable: run.movable + copies.count(),
            accelerations: Accelerations {
                first: run.accelerations.first,
                list: &accelerations,
            },
            ..run
        };
        let impacts = self.run_substeps(team, problem, &mut all, run);
        copies.contract(team, &all, bodies);
        self.all_bodies = all;
        self.accelerations = accelerations;
        impacts
    }

    fn residual(
        &mut self,
        team: &mut Team,
        problem: SubstepProblem<'_>,
        bodies: &[BodyState],
        run: SubstepRun<'_>,
        row: &(dyn Fn(usize) -> Row + Sync),
    ) -> Result<f64, DeviceError> {
        let c = self.contact_arrays;
        let memory = Self::memory(&mut self.contacts);
        memory.download(span(&c.normal[0], &c.arms[1]))?;
        memory.download(span(&c.is_impact, &c.wake))?;
        let before = self.body_arrays.before.bytes();
        Self::memory(&mut self.bodies).download(before)?;
        self.executor.wait()?;
        Ok(substep_residual(
            team,
            problem,
            bodies,
            run,
            row,
            &Swept(self),
        ))
    }

    fn download(
        &mut self,
        team: &mut Team,
        plan: &SweepPlan,
        impulses: &mut Vec<Impulse>,
    ) -> Result<(), DeviceError> {
        let swept = Swept(self);
        team.fill(impulses, plan.contacts(), |i| swept.impulse([0; 2], i));
        Ok(())
    }

    fn moved(&self, body: usize) -> [DVec3; 2] {
        let memory = self.bodies.as_ref().expect("a step was advanced");
        let moved = &staged(memory, self.body_arrays.moved)[8 * body..];
        [0, 4].map(|k| DVec3::from_slice(&moved[k..]))
    }

    fn impulse_sums(&self) -> &[Impulse] {
        &self.sums
    }

    fn measure_losses(&mut self, measure: bool) {
        self.measures_losses = measure;
        self.losses = EnergyLoss::default();
    }

    fn losses(&self) -> EnergyLoss {
        self.losses
    }
}

/// What a step left, as it lies in staging memory.
struct Swept<'a, E: Executor>(&'a Gpu<E>);

impl<E: Executor> Swept<'_, E> {
    fn of_contact<T: Plain, const N: usize>(&self, arrays: [Array<T>; N], place: usize) -> [T; N] {
        let memory = self.0.contacts.as_ref().expect("a step was uploaded");
        let at = self.0.places[place] as usize;
        arrays.map(|array| staged(memory, array)[at])
    }
}

impl<E: Executor> SweptContacts for Swept<'_, E> {
    fn bring_up_to_date(&self, row: &mut Row, _at: [usize; 2], place: usize) {
        let arrays = &self.0.contact_arrays;
        row.contact.normal = DVec3::from_array(self.of_contact(arrays.normal, place));
        row.contact.arms = self.of_contact(arrays.arms, place);
        let spring = &mut row.spring;
        [spring.overlap, spring.unit_compliance] =
            self.of_contact([arrays.overlap, arrays.compliance], place);
        let [cap, factor] = self.of_contact([arrays.cap, arrays.damping_factor], place);
        spring.cap = f64::from(cap);
        spring.set_packed_damping(factor);
    }

    fn impulse(&self, _at: [usize; 2], place: usize) -> Impulse {
        let arrays = &self.0.contact_arrays;
        let [normal] = self.of_contact([arrays.impulse], place);
        // That of an impact.
        if normal < 0.0 {
            return Impulse::default();
        }
        let friction = DVec3::from_array(self.of_contact(arrays.friction, place));
        if !arrays.rolls {
            return Impulse {
                normal,
                friction,
                ..Default::default()
            };
        }
        let [twisting] = self.of_contact([arrays.twisting], place);
        Impulse {
            normal,
            friction,
            rolling: DVec3::from_array(self.of_contact(arrays.rolling, place)),
            twisting,
        }
    }

    fn is_asleep(&self, group: usize) -> bool {
        let memory = self.0.contacts.as_ref().expect("a step was uploaded");
        (1..WOKEN).contains(&staged(memory, self.0.contact_arrays.wake)[group])
    }

    fn is_impact(&self, _at: [usize; 2], place: usize) -> bool {
        let memory = self.0.contacts.as_ref().expect("a step was uploaded");
        let at = self.0.places[place] as usize;
        staged(memory, self.0.contact_arrays.is_impact)[at] != 0
    }

    fn before(&self, body: usize) -> [DVec3; 2] {
        let memory = self.0.bodies.as_ref().expect("a step was advanced");
        let before = &staged(memory, self.0.body_arrays.before)[8 * body..];
        [0, 4].map(|k| DVec3::from_slice(&before[k..]))
    }

    fn moved(&self, body: usize) -> DVec3 {
        SubstepDevice::moved(self.0, body)[0]
    }
}

#[cfg(all(test, feature = "host"))]
mod tests {
    use super::*;
    use crate::host::Host;

    #[test]
    fn a_step_whose_thread_blocks_gave_up_is_no_result() {
        let host = Host::default();
        assert_eq!(impacts_of(&host, &[2, 0, 3, 0]), Ok(5));
        let error = impacts_of(&host, &[2, 0, 3, 1]).expect_err("they gave up");
        assert!(error.to_string().contains("waited"), "{error}");
    }
}
