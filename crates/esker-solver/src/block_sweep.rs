//! Sweeps over packed contacts by a team of threads: the fast form of
//! [`crate::sweep`] and [`crate::substep`], in the order of a [`SweepPlan`].
//!
//! Colours follow one another with a barrier between; the blocks of a colour
//! are shared out by weight, and a thread that is done helps its neighbours.
//! Who sweeps a block does not matter, so neither does the number of threads.
//!
//! Positions do not enter a substep, so what bodies move is summed up over the
//! substeps, `Σ v` and `Σ ω`, and handed to the caller at the end.
//!
//! A group of open contacts sleeps while none of them is expected to close: a
//! prediction of their closing speeds says for how many substeps, and a look at
//! the bodies every few substeps catches what was not predicted. In a lively
//! flow most contacts are only predicted, and most of those never come about.
//!
//! `unsafe`: threads write to bodies and groups through raw pointers. A plan's
//! blocks of one colour share no body (tested there), each block is claimed by
//! one thread, and barriers stand between colours: the invariants of
//! the kernel. Passes over bodies work on disjoint parts.

use std::sync::atomic::{AtomicUsize, Ordering};

use esker_contact::{BodyState, ContactProblem, EnergyLoss, Impulse, RowCompliance};
use esker_parallel::{SharedSlice, Team, Worker, clear_and_reserve, resize};
use glam::DVec3;

use crate::backend::{
    Exchange, Partners, SubstepBackend, SubstepProblem, SubstepRun, SubstepState,
};
use crate::block_residual::{SweptContacts, residual_of, substep_residual};
use crate::block_shares::Shares;
use crate::body_pass::{self, BodyColumns};
use crate::device::DeviceError;
use crate::energy_losses::EnergyLosses;
use crate::impact_changes::{ImpactChanges, SharedChanges, VelocityChange};
use crate::impulse_sums::ImpulseSums;
use crate::jointed::{AfterSweep, Before, Coupling, Jointed, SharedCoupling};
use crate::kernel::{self, Pass, SubstepTimes, Work};
use crate::lanes::{Instructions, Quad};
use crate::packed::{Law, PackedContacts, Packing, Row, RowKind, clear_slot};
use crate::plan::{LANES, SweepPlan};
use crate::substep::{Acceleration, Accelerations, time_of_end};
use crate::sweep::{SWEEPS_PER_CHECK, Stop, SweepReport, TangentCompliance};

/// A problem to solve over a whole step.
#[derive(Clone, Copy, Debug)]
pub struct WholeStepProblem<'a> {
    /// Order of the sweep.
    pub plan: &'a SweepPlan,
    /// Laws, by the plan's index.
    pub laws: &'a [Law],
    /// Bodies, and contacts in the plan's order.
    pub problem: &'a ContactProblem,
    /// When to stop.
    pub stop: Stop,
}

/// Some sweeps over a whole step.
#[derive(Clone, Copy)]
struct SweepPass {
    count: usize,
    compliance: TangentCompliance,
    /// Whether they are the first of the step.
    begins: bool,
}

/// Sweeps packed contacts; keeps its memory from step to step.
#[derive(Debug)]
pub struct BlockSweeper {
    /// The contacts; pack them before a solve.
    pub packed: PackedContacts,
    instructions: Instructions,
    before_velocity: Vec<Quad>,
    before_angular_velocity: Vec<Quad>,
    moved_velocity: Vec<Quad>,
    moved_angular_velocity: Vec<Quad>,
    /// Those of a [`SubstepRun`] with the copies'.
    accelerations: Vec<Acceleration>,
    /// Per group (see [`Work::wake`]).
    wake: Vec<u16>,
    /// Impact rows of the last substep, per worker.
    impacts: Vec<Impacts>,
    impact_changes: ImpactChanges,
    /// Slots of all of them, sorted.
    all_impacts: Vec<u32>,
    shares: Shares,
    impulse_sums: ImpulseSums,
    coupling: Coupling,
    /// `None` where nobody wants to know.
    losses: Option<EnergyLosses>,
}

/// Slots of the impact rows of a substep that one worker swept; those of different workers
/// share no cache line.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Impacts(Vec<u32>);

impl Default for BlockSweeper {
    fn default() -> Self {
        BlockSweeper {
            packed: PackedContacts::default(),
            instructions: Instructions::detect(),
            before_velocity: Vec::new(),
            before_angular_velocity: Vec::new(),
            moved_velocity: Vec::new(),
            moved_angular_velocity: Vec::new(),
            accelerations: Vec::new(),
            wake: Vec::new(),
            impacts: Vec::new(),
            impact_changes: ImpactChanges::default(),
            all_impacts: Vec::new(),
            shares: Shares::default(),
            impulse_sums: ImpulseSums::default(),
            coupling: Coupling::default(),
            losses: None,
        }
    }
}

impl BlockSweeper {
    /// A sweeper that uses these instructions if the processor has them.
    pub fn with_instructions(instructions: Instructions) -> Self {
        let available = Instructions::available();
        BlockSweeper {
            instructions: if available.contains(&instructions) {
                instructions
            } else {
                Instructions::Portable
            },
            ..Default::default()
        }
    }

    /// Whether substeps find out where the energy goes: a pass over all contacts
    /// in every one.
    pub fn measure_losses(&mut self, measure: bool) {
        if measure != self.losses.is_some() {
            self.losses = measure.then(EnergyLosses::default);
        }
    }

    /// Energy that contacts took out of the motion in the last step of substeps; zero
    /// where it was not measured.
    pub fn losses(&self) -> EnergyLoss {
        let losses = self.losses.as_ref();
        losses.map_or_else(EnergyLoss::default, EnergyLosses::total)
    }

    /// Calls `sweep` with the bodies that the plan's contacts act on, copies
    /// among them.
    fn with_copies<T>(
        &mut self,
        team: &mut Team,
        plan: &SweepPlan,
        bodies: &mut [BodyState],
        sweep: impl FnOnce(&mut Self, &mut Team, &mut [BodyState]) -> T,
    ) -> T {
        if plan.copies.is_empty() {
            return sweep(self, team, bodies);
        }
        let mut all = std::mem::take(&mut self.packed.all_bodies);
        plan.copies.expand(team, bodies, &mut all);
        let result = sweep(self, team, &mut all);
        plan.copies.contract(team, &all, bodies);
        self.packed.all_bodies = all;
        result
    }

    fn run_substeps<E: Exchange>(
        &mut self,
        team: &mut Team,
        problem: SubstepProblem<'_>,
        bodies: &mut [BodyState],
        run: SubstepRun<'_>,
        partners: Partners<'_, '_, E>,
    ) -> usize {
        let SubstepProblem {
            plan, compliance, ..
        } = problem;
        let Partners { jointed, exchange } = partners;
        let count = bodies.len();
        self.before_velocity.resize(count, Quad::default());
        self.before_angular_velocity.resize(count, Quad::default());
        // Sleeping contacts are between movable bodies alone.
        self.moved_velocity.resize(run.movable, Quad::default());
        self.moved_angular_velocity
            .resize(run.movable, Quad::default());
        resize(&mut self.wake, plan.group_count());
        self.impacts.resize_with(team.threads(), Impacts::default);
        self.shares.divide(plan, team.threads());
        let before_velocity = SharedSlice::new(&mut self.before_velocity);
        let before_angular_velocity = SharedSlice::new(&mut self.before_angular_velocity);
        let moved_velocity = SharedSlice::new(&mut self.moved_velocity);
        let moved_angular_velocity = SharedSlice::new(&mut self.moved_angular_velocity);
        let wake = SharedSlice::new(&mut self.wake);
        let impacts = SharedSlice::new(&mut self.impacts);
        let changes = self.impact_changes.begin(run.movable);
        let bodies = SharedSlice::new(bodies);
        let waits = std::mem::take(&mut self.packed.waits);
        assert_eq!(waits.len(), plan.group_count(), "pack substep rows");
        let work = work_of(&mut self.packed, plan, bodies, compliance);
        let work = Work {
            before: before_velocity.as_mut_ptr(),
            before_angular_velocity: before_angular_velocity.as_mut_ptr(),
            wake: wake.as_mut_ptr(),
            waits: waits.as_ptr(),
            moved: moved_velocity.as_mut_ptr(),
            longest_sleep: run.longest_sleep,
            ..work
        };
        let (shares, instructions) = (&self.shares, self.instructions);
        let sums = self.impulse_sums.begin(plan, run.tracked);
        let losses = self.losses.as_mut().map(|l| l.begin(plan.group_count()));
        let coupling = self.coupling.begin(plan, jointed);
        let before = Before {
            velocity: before_velocity,
            angular_velocity: before_angular_velocity,
        };
        let impacted = AtomicUsize::new(0);
        let fall = run.gravity * run.step;
        team.run(|worker| {
            // SAFETY: every worker has a list of its own.
            let own_impacts = || unsafe { &mut impacts.at(worker.index).0 };
            let part = |length: usize| worker.part_of(length, 1);
            let exchange_after = |colour: usize| {
                if E::IS_NEEDED {
                    worker.wait_for_all();
                    on_first(worker, || {
                        exchange.after_colour(colour, &mut SweptBodies { bodies, changes });
                    });
                }
            };
            // Parts of bodies are disjoint, and barriers separate passes over
            // bodies from sweeps.
            let range = part(count);
            body_pass::begin(
                // SAFETY: parts are disjoint, and a barrier follows.
                unsafe { bodies.part(range.clone()) },
                // SAFETY: parts are disjoint, and a barrier follows.
                unsafe { before_velocity.part(range.clone()) },
                // SAFETY: parts are disjoint, and a barrier follows.
                unsafe { before_angular_velocity.part(range.clone()) },
                fall,
            );
            let start = range.start;
            // SAFETY: parts are disjoint, and a barrier follows.
            let own_bodies = unsafe { bodies.part(range) };
            run.accelerations.act(start, own_bodies, run.step);
            // SAFETY: parts are disjoint, and a barrier follows.
            unsafe { moved_velocity.part(part(run.movable)) }.fill(Quad::default());
            // SAFETY: parts are disjoint, and a barrier follows.
            unsafe { moved_angular_velocity.part(part(run.movable)) }.fill(Quad::default());
            let groups = part(waits.len());
            // SAFETY: parts are disjoint, and a barrier follows.
            let own_wake = unsafe { wake.part(groups.clone()) };
            for (wake, g) in own_wake.iter_mut().zip(groups) {
                *wake = kernel::after(0, (waits[g].time / run.step).min(run.longest_sleep));
                // SAFETY: nobody writes to groups before the barrier.
                let bodies = unsafe { &(*work.groups.add(g)).bodies };
                // What the gathers of sums rely on.
                let has_fixed = || {
                    let mut bodies = bodies.as_flattened().iter();
                    bodies.any(|b| *b as usize >= run.movable)
                };
                // Looks at sleeping groups know nothing of rotation.
                let is_general = work.laws[work.group_laws[g] as usize].general;
                if *wake != 0 && (is_general || has_fixed()) {
                    *wake = 0;
                }
            }
            own_impacts().clear();
            worker.wait_for_all();
            warm_start(shares, worker, plan, (&work, instructions), exchange_after);
            if let Some(coupling) = &coupling {
                // SAFETY: barriers separate it from sweeps and passes over bodies.
                unsafe { coupling.begin(worker, &work) };
            }
            let mut impacted_before = 0;
            for k in 0..run.substeps {
                if k > 0 {
                    let range = part(run.movable);
                    // All counted theirs before the last barrier.
                    let impacted_now = impacted.load(Ordering::Relaxed);
                    let has_impacts = E::IS_NEEDED || impacted_now != impacted_before;
                    impacted_before = impacted_now;
                    // SAFETY: parts are disjoint, and a barrier follows; the processor
                    // has the instructions.
                    unsafe {
                        let columns = BodyColumns {
                            bodies: bodies.part(range.clone()),
                            before_velocity: before_velocity.part(range.clone()),
                            before_angular_velocity: before_angular_velocity.part(range.clone()),
                            moved_velocity: moved_velocity.part(range.clone()),
                            moved_angular_velocity: moved_angular_velocity.part(range.clone()),
                        };
                        body_pass::warm_start(instructions, columns);
                        if has_impacts {
                            changes.subtract(range.clone(), bodies.part(range), &plan.copies);
                            clear_impulses(&work, own_impacts());
                        }
                        if let Some(coupling) = &coupling {
                            coupling.begin_ghosts(worker, &work, before);
                        }
                    }
                    own_impacts().clear();
                    worker.wait_for_all();
                    if has_impacts && !plan.copies.is_empty() {
                        // SAFETY: this thread alone, between barriers.
                        on_first(worker, || unsafe {
                            plan.copies.join(work.bodies);
                            changes.subtract_from_originals(work.bodies, &plan.copies);
                            plan.copies.spread(work.bodies);
                        });
                    }
                }
                let times = SubstepTimes {
                    index: k,
                    moved: if k > 0 { run.step } else { 0.0 },
                    step: run.step,
                    end: time_of_end(k, run.substeps, run.step),
                };
                shares.for_each_block(
                    worker,
                    |block| {
                        // SAFETY: the module's invariants.
                        unsafe {
                            let pass = Pass::Substep(times);
                            let slots = own_impacts();
                            let first = slots.len();
                            sweep_block(instructions, &work, (plan, block), pass, slots);
                            if slots.len() > first {
                                changes.add(&work, &slots[first..]);
                            }
                            sums.add_block(&work, block);
                            if let Some(coupling) = &coupling {
                                coupling.sum_block(&work, block, &slots[first..]);
                            }
                        }
                    },
                    |colour| {
                        if colour + 1 == shares.colours {
                            impacted.fetch_add(own_impacts().len(), Ordering::Relaxed);
                        }
                    },
                    exchange_after,
                );
                if let Some(coupling) = &coupling {
                    let is_last = k + 1 == run.substeps;
                    coupling.solve(
                        worker,
                        match is_last {
                            true => AfterSweep::End,
                            false => AfterSweep::NextSubstep,
                        },
                    );
                    if is_last || losses.is_some() {
                        // SAFETY: a barrier came before, and one follows.
                        unsafe { coupling.end_ghosts(worker, &work) };
                        worker.wait_for_all();
                    }
                }
                if let Some(losses) = losses {
                    let slots = own_impacts();
                    // SAFETY: the sweep has ended with a barrier, and the call
                    // ends with one.
                    unsafe { losses.add_substep(worker, &work, before_angular_velocity, slots) };
                }
            }
            let range = part(run.movable);
            // SAFETY: parts are disjoint, and a barrier came before.
            let bodies = unsafe { bodies.part(range.clone()) };
            // SAFETY: parts are disjoint, and a barrier came before.
            let velocities = unsafe { moved_velocity.part(range.clone()) };
            // SAFETY: parts are disjoint, and a barrier came before.
            let angular_velocities = unsafe { moved_angular_velocity.part(range) };
            for ((body, velocity), angular_velocity) in
                bodies.iter().zip(velocities).zip(angular_velocities)
            {
                body_pass::add_to(velocity, body.velocity);
                body_pass::add_to(angular_velocity, body.angular_velocity);
            }
        });
        self.packed.waits = waits;
        impacted.into_inner()
    }

    /// Adds the velocity changes of the packed impulses to the bodies.
    pub fn apply_impulses(
        &mut self,
        team: &mut Team,
        plan: &SweepPlan,
        bodies: &mut [BodyState],
        compliance: TangentCompliance,
    ) {
        self.with_copies(team, plan, bodies, |sweeper, team, bodies| {
            sweeper.shares.divide(plan, team.threads());
            let bodies = SharedSlice::new(bodies);
            let work = work_of(&mut sweeper.packed, plan, bodies, compliance);
            let (shares, instructions) = (&sweeper.shares, sweeper.instructions);
            team.run(|worker| warm_start(shares, worker, plan, (&work, instructions), |_| {}));
        });
    }

    /// Whole-step sweeps over packed rows of kind [`RowKind::Whole`].
    pub fn sweeps(
        &mut self,
        team: &mut Team,
        plan: &SweepPlan,
        bodies: &mut [BodyState],
        compliance: TangentCompliance,
        count: usize,
    ) {
        let pass = SweepPass {
            count,
            compliance,
            begins: false,
        };
        self.coupled_sweeps(team, plan, bodies, pass, None);
    }

    fn coupled_sweeps(
        &mut self,
        team: &mut Team,
        plan: &SweepPlan,
        bodies: &mut [BodyState],
        pass: SweepPass,
        coupling: Option<&SharedCoupling<'_, '_>>,
    ) {
        self.with_copies(team, plan, bodies, |sweeper, team, bodies| {
            sweeper.run_sweeps(team, plan, bodies, pass, coupling);
        });
    }

    fn run_sweeps(
        &mut self,
        team: &mut Team,
        plan: &SweepPlan,
        bodies: &mut [BodyState],
        pass: SweepPass,
        coupling: Option<&SharedCoupling<'_, '_>>,
    ) {
        self.shares.divide(plan, team.threads());
        let bodies = SharedSlice::new(bodies);
        let work = work_of(&mut self.packed, plan, bodies, pass.compliance);
        let (shares, instructions) = (&self.shares, self.instructions);
        team.run(|worker| {
            let mut no_impacts = Vec::new();
            if let (Some(coupling), true) = (coupling, pass.begins) {
                // SAFETY: barriers separate it from sweeps.
                unsafe { coupling.begin(worker, &work) };
            }
            for _ in 0..pass.count {
                let no_impacts = std::cell::RefCell::new(&mut no_impacts);
                shares.for_each_block(
                    worker,
                    |block| {
                        let mut impacts = no_impacts.borrow_mut();
                        let (pass, block) = (Pass::Whole, (plan, block));
                        // SAFETY: the module's invariants.
                        unsafe {
                            sweep_block(instructions, &work, block, pass, &mut impacts);
                            if let Some(coupling) = coupling {
                                coupling.sum_block(&work, block.1, &[]);
                            }
                        }
                    },
                    |_| {},
                    |_| {},
                );
                if let Some(coupling) = coupling {
                    coupling.solve(worker, AfterSweep::Again);
                    // SAFETY: a barrier came before, and one follows.
                    unsafe { coupling.end_ghosts(worker, &work) };
                    worker.wait_for_all();
                }
            }
        });
    }

    /// Solves a whole step's problem whose contacts are in the plan's order,
    /// from the given impulses; `bodies` become the velocities after the step. Those that are
    /// `jointed` are not told which sweep is the last.
    /// The fast form of [`crate::sweep::GaussSeidel::solve`].
    pub fn solve(
        &mut self,
        team: &mut Team,
        whole: WholeStepProblem<'_>,
        jointed: Option<Jointed<'_>>,
        impulses: &mut Vec<Impulse>,
        bodies: &mut Vec<BodyState>,
    ) -> SweepReport {
        let WholeStepProblem {
            plan,
            laws,
            problem,
            stop,
        } = whole;
        let compliance = TangentCompliance {
            friction: problem.tangent_compliance,
            rolling: problem.rolling_compliance,
        };
        let packing = Packing {
            kind: RowKind::Whole,
            laws,
            compliance,
            general: &problem.general,
            time: problem.time,
        };
        team.fill(bodies, problem.bodies.len(), |i| problem.bodies[i]);
        self.packed.pack(team, plan, packing, bodies, |i| {
            Row::whole(problem.contacts[i], impulses[i])
        });
        self.apply_impulses(team, plan, bodies, compliance);
        let residual = |team: &mut Team, packed: &PackedContacts, bodies: &[BodyState]| {
            residual_of(team, plan, |sum, g, lane, i| {
                let contact = &problem.contacts[i];
                let [a, b] = contact.bodies.map(|k| k as usize);
                let rows = RowCompliance {
                    normal: contact.compliance,
                    tangent: compliance.friction,
                    rolling: compliance.rolling,
                };
                let (now, free) = (
                    [&bodies[a], &bodies[b]],
                    [&problem.bodies[a], &problem.bodies[b]],
                );
                let impulse = packed.impulse(g, lane);
                sum.add(problem.rows(i), contact.target, rows, now, free, &impulse);
            })
        };
        let mut coupling = std::mem::take(&mut self.coupling);
        let coupled = coupling.begin(plan, jointed);
        let mut report = SweepReport::default();
        let between_checks = match stop.tolerance {
            Some(_) => SWEEPS_PER_CHECK,
            None => stop.sweeps.max(1),
        };
        while report.sweeps < stop.sweeps {
            let sweeps = between_checks.min(stop.sweeps - report.sweeps);
            let pass = SweepPass {
                count: sweeps,
                compliance,
                begins: report.sweeps == 0,
            };
            self.coupled_sweeps(team, plan, bodies, pass, coupled.as_ref());
            report.sweeps += sweeps;
            if let Some(tolerance) = stop.tolerance
                && report.sweeps >= stop.min_sweeps
                && residual(team, &self.packed, bodies) <= tolerance
            {
                break;
            }
        }
        self.coupling = coupling;
        report.residual = residual(team, &self.packed, bodies);
        report.converged = stop.tolerance.is_none_or(|t| report.residual <= t);
        self.packed.impulses(team, plan, impulses);
        report
    }
}

impl SubstepBackend for BlockSweeper {
    fn upload(
        &mut self,
        team: &mut Team,
        problem: SubstepProblem<'_>,
        bodies: &[BodyState],
        row: impl Fn(usize) -> Row + Sync,
    ) -> Result<(), DeviceError> {
        let packing = Packing {
            kind: RowKind::Substep,
            laws: problem.laws,
            compliance: problem.compliance,
            general: problem.general,
            time: 0.0,
        };
        self.packed.pack(team, problem.plan, packing, bodies, row);
        Ok(())
    }

    fn advance<E: Exchange>(
        &mut self,
        team: &mut Team,
        problem: SubstepProblem<'_>,
        bodies: &mut [BodyState],
        run: SubstepRun<'_>,
        partners: Partners<'_, '_, E>,
    ) -> Result<usize, DeviceError> {
        let copies = &problem.plan.copies;
        let mut accelerations = std::mem::take(&mut self.accelerations);
        copies.expand_accelerations(run.accelerations, &mut accelerations);
        let run = SubstepRun {
            movable: run.movable + copies.count(),
            accelerations: Accelerations {
                first: run.accelerations.first,
                list: &accelerations,
            },
            ..run
        };
        let impacts = self.with_copies(team, problem.plan, bodies, |sweeper, team, bodies| {
            sweeper.run_substeps(team, problem, bodies, run, partners)
        });
        self.accelerations = accelerations;
        Ok(impacts)
    }

    fn residual(
        &mut self,
        team: &mut Team,
        problem: SubstepProblem<'_>,
        bodies: &[BodyState],
        run: SubstepRun<'_>,
        row: impl Fn(usize) -> Row + Sync,
    ) -> Result<f64, DeviceError> {
        let impacted = &mut self.all_impacts;
        // All could be.
        clear_and_reserve(impacted, problem.plan.contacts());
        impacted.extend(self.impacts.iter().flat_map(|own| &own.0));
        impacted.sort_unstable();
        Ok(substep_residual(team, problem, bodies, run, row, &*self))
    }

    fn download(
        &mut self,
        team: &mut Team,
        plan: &SweepPlan,
        impulses: &mut Vec<Impulse>,
    ) -> Result<(), DeviceError> {
        for own in &mut self.impacts {
            for slot in own.0.drain(..) {
                let (group, lane) = (slot as usize / LANES, slot as usize % LANES);
                let rolling = self.packed.rolling.get_mut(group);
                clear_slot(&mut self.packed.groups[group].rows, rolling, lane);
            }
        }
        self.packed.impulses(team, plan, impulses);
        Ok(())
    }

    fn moved(&self, body: usize) -> [DVec3; 2] {
        [&self.moved_velocity, &self.moved_angular_velocity]
            .map(|sums| DVec3::from_slice(&sums[body].0))
    }

    fn impulse_sums(&self) -> &[Impulse] {
        self.impulse_sums.sums()
    }
}

impl SweptContacts for BlockSweeper {
    fn bring_up_to_date(&self, row: &mut Row, [group, lane]: [usize; 2], _place: usize) {
        self.packed.bring_up_to_date(row, group, lane);
    }

    fn impulse(&self, [group, lane]: [usize; 2], _place: usize) -> Impulse {
        self.packed.impulse(group, lane)
    }

    fn is_asleep(&self, group: usize) -> bool {
        self.wake[group] != 0
    }

    fn is_impact(&self, [group, lane]: [usize; 2], _place: usize) -> bool {
        let slot = (group * LANES + lane) as u32;
        self.all_impacts.binary_search(&slot).is_ok()
    }

    fn before(&self, body: usize) -> [DVec3; 2] {
        [&self.before_velocity, &self.before_angular_velocity]
            .map(|states| DVec3::from_slice(&states[body].0))
    }

    fn moved(&self, body: usize) -> DVec3 {
        SubstepBackend::moved(self, body)[0]
    }
}

/// Bodies between two colours, as one thread that is alone sees them.
struct SweptBodies<'a> {
    bodies: SharedSlice<'a, BodyState>,
    changes: SharedChanges<'a>,
}

impl SubstepState for SweptBodies<'_> {
    fn velocity(&self, body: usize) -> [DVec3; 2] {
        // SAFETY: all other threads wait.
        let body = unsafe { self.bodies.at(body) };
        [body.velocity, body.angular_velocity]
    }

    fn set_velocity(&mut self, body: usize, velocity: [DVec3; 2]) {
        // SAFETY: all other threads wait.
        let body = unsafe { self.bodies.at(body) };
        [body.velocity, body.angular_velocity] = velocity;
    }

    fn impact_change(&self, body: usize) -> Option<VelocityChange> {
        // SAFETY: all other threads wait.
        unsafe { self.changes.get(body) }
    }

    fn set_impact_change(&mut self, body: usize, change: VelocityChange) {
        // SAFETY: all other threads wait.
        unsafe { self.changes.set(body, change) };
    }
}

/// Bytes of contacts that stay in the nearer caches from sweep to sweep: asking
/// for them ahead of their use costs a tenth of a sweep and gains nothing. Miri
/// is to see that too.
const NEAR_CACHE: usize = if cfg!(miri) { 0 } else { 512 << 10 };

fn work_of<'a>(
    packed: &'a mut PackedContacts,
    plan: &'a SweepPlan,
    bodies: SharedSlice<'a, BodyState>,
    compliance: TangentCompliance,
) -> Work<'a> {
    assert_eq!(
        packed.groups.len(),
        plan.group_count(),
        "pack before a solve"
    );
    Work {
        groups: packed.groups.as_mut_ptr(),
        rolling: packed.rolling.as_mut_ptr(),
        rolls: !packed.rolling.is_empty(),
        general: packed.general.as_mut_ptr(),
        general_rolling: packed.general_rolling.as_mut_ptr(),
        general_locked: packed.general_locked.as_ptr(),
        general_of: &packed.general_of,
        bodies: bodies.as_mut_ptr(),
        before: std::ptr::null(),
        before_angular_velocity: std::ptr::null(),
        wake: std::ptr::null_mut(),
        waits: std::ptr::null(),
        moved: std::ptr::null(),
        group_ends: &plan.groups,
        group_laws: &plan.laws,
        laws: &packed.laws,
        compliance,
        longest_sleep: 0.0,
        looks_ahead: size_of_val(packed.groups.as_slice()) > NEAR_CACHE,
    }
}

/// Applies the packed impulses.
fn warm_start(
    shares: &Shares,
    worker: Worker<'_>,
    plan: &SweepPlan,
    (work, instructions): (&Work<'_>, Instructions),
    meet: impl Fn(usize),
) {
    shares.for_each_block(
        worker,
        |block| {
            let (pass, block) = (Pass::WarmStart, (plan, block));
            // SAFETY: the module's invariants. A warm start makes no impact.
            unsafe { sweep_block(instructions, work, block, pass, &mut Vec::new()) };
        },
        |_| {},
        meet,
    );
}

/// Sweeps one block; the one that joins copies does so before, and gives them
/// what became of their bodies after.
///
/// # Safety
/// The module's invariants.
unsafe fn sweep_block(
    instructions: Instructions,
    work: &Work<'_>,
    (plan, block): (&SweepPlan, usize),
    pass: Pass,
    impacts: &mut Vec<u32>,
) {
    let groups = plan.blocks[block] as usize..plan.blocks[block + 1] as usize;
    // Mostly the one that is swept next.
    kernel::prefetch_bodies(work, plan.bodies_of(block + 1));
    // SAFETY: passed on to the caller; the block that joins is alone in its colour.
    unsafe {
        if plan.joins_copies(block) {
            plan.copies.join(work.bodies);
        }
        kernel::sweep(instructions, work, groups, pass, impacts);
        if plan.joins_copies(block) {
            plan.copies.spread(work.bodies);
        }
    }
}

/// Calls `run` on the first worker while the others wait; all must call this.
fn on_first(worker: Worker<'_>, run: impl FnOnce()) {
    if worker.index == 0 {
        run();
    }
    worker.wait_for_all();
}

/// Forgets the impulses of impacts of the last substep.
///
/// # Safety
/// No other thread touches the groups of these slots.
unsafe fn clear_impulses(work: &Work<'_>, slots: &[u32]) {
    for &slot in slots {
        let (group, lane) = (slot as usize / LANES, slot as usize % LANES);
        // SAFETY: passed on to the caller.
        unsafe {
            let rolling = work.rolls.then(|| &mut *work.rolling.add(group));
            clear_slot(&mut (*work.groups.add(group)).rows, rolling, lane);
        }
    }
}
