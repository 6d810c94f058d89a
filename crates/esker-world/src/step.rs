//! One step, on one screen.

use esker_contact::{BodyState, ContactProblem, EnergyLoss, Impulse};
use esker_geometry::TooManyPairs;
use esker_parallel::{ExactSum, Max, SharedSlice, Team};
use esker_solver::backend::{Partners, SubstepBackend, SubstepRun};
use esker_solver::block_sweep::WholeStepProblem;
use esker_solver::device::{DeviceError, WorldBackend};
use esker_solver::plan::block_edge;
use esker_solver::sweep::{Stop, SweepReport};
use glam::DVec3;

use crate::World;
use crate::accuracy::whole_step_stop;
use crate::assemble::{Bodies, Equations, Rows, StepConstants, WholeStepEquations};
use crate::begin::Turnover;
use crate::candidate::Candidate;
use crate::cohesion::CohesiveForces;
use crate::collide::{Collider, Scene};
use crate::contact::{ContactGeometry, Partner};
use crate::definition::{
    ContactSettings, Method, Smooth, Solver, SubStepped, WarmStart, WholeStep,
};
use crate::diameters::Diameters;
use crate::energy::loss_of_impulses;
use crate::errors::ErrorScratch;
use crate::forces::BodyForces;
use crate::general_solve::{self, SolveError};
use crate::ghosts::Ghosts;
use crate::grains::{GrainId, Grains, locks_of_row, shape_of};
use crate::inertia::{InertiaFloor, LoadedInertia};
use crate::integrate;
use crate::load::{GivenToWall, LoadIntegral};
use crate::midpoint::{Midpoints, finish_rotation};
use crate::order::Order;
use crate::reach::Reach;
use crate::report::{Stage, StageClock, StepReport};
use crate::smooth::{self, SmoothStepper};

/// Scratch of a step: reused, never part of the state.
#[derive(Default)]
pub(crate) struct Workspace {
    /// Of the grains of the step. Written by stage `find_pairs`.
    pub(crate) diameters: Diameters,
    pub(crate) collider: Collider,
    /// Grains in the middle of the step, where some are no spheres. Written by
    /// stage `find_pairs`.
    pub(crate) midpoints: Midpoints,
    pub(crate) contacts: Vec<ContactGeometry>,
    pub(crate) impulses: Vec<Impulse>,
    /// Contacts with walls and bodies of their own, ascending. Written by stage
    /// `collide`.
    pub(crate) tracked: Vec<u32>,
    /// Contacts whose two bodies are walls or held by joints, ascending. Written by stage
    /// `collide`.
    pub(crate) between_ghosts: Vec<u32>,
    /// Impulses of tracked contacts over the whole step, impacts included. Written by stage
    /// `advance`.
    pub(crate) tracked_impulses: Vec<Impulse>,
    /// Of bodies of their own, then of walls, as rows of the table.
    pub(crate) load_sums: Vec<LoadIntegral>,
    /// What walls got of contacts of a step on a device.
    pub(crate) given_by_tracked: Vec<Option<GivenToWall>>,
    pub(crate) equations: Equations,
    whole: WholeStepEquations,
    velocities: Vec<BodyState>,
    impact_impulses: Vec<Impulse>,
    pub(crate) backend: WorldBackend,
    smooth_stepper: SmoothStepper,
    pub(crate) memory_order: [Vec<(u64, u32)>; 2],
    inertia: InertiaFloor,
    pub(crate) cohesion: CohesiveForces,
    /// Accelerations of the step. Written by stage `assemble`.
    pub(crate) forces: BodyForces,
    pub(crate) errors: ErrorScratch,
}

/// Why a step failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StepError {
    /// A grain's state is not a number any more.
    #[error(
        "{grain} has a non-finite state after step {step} (t = {time} s): \
         position {position}, velocity {velocity}; a smaller time step or more sweeps may help"
    )]
    NonFinite {
        /// Such a grain, of several the one with the smallest id.
        grain: GrainId,
        /// The step.
        step: u64,
        /// Time after the step, s.
        time: f64,
        /// Its position, m.
        position: DVec3,
        /// Its velocity, m/s.
        velocity: DVec3,
    },
    /// The solver that the definition names cannot begin.
    #[error("step {step}: {source}")]
    Solve {
        /// The step.
        step: u64,
        /// Why.
        source: SolveError,
    },
    /// The device that computes the substeps failed.
    #[error("step {step}: {source}; the last checkpoint can be resumed, on the CPU too")]
    Device {
        /// The step.
        step: u64,
        /// Why.
        source: DeviceError,
    },
    /// Grains lie on top of one another.
    #[error("step {step}: {source}")]
    Crowd {
        /// The step.
        step: u64,
        /// How many and where.
        source: TooManyPairs,
    },
}

/// What stages `find_pairs` and `collide` go by.
#[derive(Clone, Copy)]
struct Detection {
    reach: Reach,
    /// Time at the middle of the step, s.
    middle: f64,
}

/// Contacts that were found and chosen, in no order.
pub(crate) struct SearchedContacts<'a> {
    pub(crate) parts: &'a [Vec<Candidate>],
    pub(crate) reaches: &'a [f64],
    /// See [`Collider::longest_sleep`].
    pub(crate) longest_sleep: f64,
}

/// The outcome of stage `advance`.
struct Advanced {
    solve: SweepReport,
    impacts: usize,
    residual: Option<f64>,
}

impl World {
    /// Advances the world by one step.
    pub fn step(&mut self) -> Result<StepReport, StepError> {
        if self.steps_on_device() {
            return self.step_on_device();
        }
        self.fetch()?;
        self.step_with(|_| {})
    }

    /// The same with a look at the world before its contacts are found.
    pub(crate) fn step_with(
        &mut self,
        observe: impl FnOnce(&mut World),
    ) -> Result<StepReport, StepError> {
        let mut clock = StageClock::start();
        self.choose_threads();
        let turnover = self.begin();
        observe(self);
        clock.end(Stage::Begin);
        self.step_from_begin(clock, turnover)
    }

    /// A step whose stage `begin` is done.
    pub(crate) fn step_from_begin(
        &mut self,
        mut clock: StageClock,
        turnover: Turnover,
    ) -> Result<StepReport, StepError> {
        let detection = self.find_pairs()?;
        clock.end(Stage::FindPairs);
        self.collide(detection);
        clock.end(Stage::Collide);
        self.assemble()?;
        clock.end(Stage::Assemble);
        let advanced = self.book_advance(World::advance)?;
        self.applied.clear();
        clock.end(Stage::Advance);
        let mut report = self.finish(&advanced, turnover)?;
        clock.end(Stage::Finish);
        report.times = clock.times();
        report.threads = self.team.threads();
        if let Some(choice) = &mut self.thread_choice {
            choice.end_step(report.times.total());
        }
        Ok(report)
    }

    pub(crate) fn choose_threads(&mut self) {
        let freed = self.about_to_be_free();
        if let Some(choice) = &mut self.thread_choice {
            let work = self.grains.len() + freed + self.workspace.contacts.len();
            self.team.set_threads(choice.begin_step(work));
        }
    }

    /// Lets threads share what the host does of a step that a device makes, of about so many grains
    /// or contacts.
    pub(crate) fn share_on_host(&mut self, work: usize) {
        if let Some(choice) = &self.thread_choice {
            self.team.set_threads(choice.for_work(work));
        }
    }

    fn find_pairs(&mut self) -> Result<Detection, StepError> {
        let reach = self.reach();
        let diameters = self.grains.diameters(&mut self.team);
        self.workspace.diameters = diameters;
        let middle = self.time() + 0.5 * self.step;
        let (team, midpoints) = (&mut self.team, &mut self.workspace.midpoints);
        midpoints.set(team, &self.grains, self.step);
        let scene = Scene {
            grains: &self.grains,
            walls: &self.walls,
            shapes: &self.shapes,
            midpoints,
            middle,
            history: &self.history,
            periodic: self.periodic,
            diameters,
            reach,
        };
        let found = self.workspace.collider.find_pairs(team, scene);
        found.map_err(|source| StepError::Crowd {
            step: self.steps_done + 1,
            source,
        })?;
        Ok(Detection { reach, middle })
    }

    fn collide(&mut self, detection: Detection) {
        let Detection { reach, middle } = detection;
        let constants = step_constants(&self.contact, &self.method, self.step, self.gravity);
        let (work, pairs) = (&mut self.workspace, &self.pairs);
        let diameters = work.diameters;
        let equations = &mut work.equations;
        equations.set_laws(pairs, constants, &self.grains);
        let scene = Scene {
            grains: &self.grains,
            walls: &self.walls,
            shapes: &self.shapes,
            midpoints: &work.midpoints,
            middle,
            history: &self.history,
            periodic: self.periodic,
            diameters,
            reach,
        };
        let is_coloured = self.device_order && matches!(self.method, Method::SubStepped(_));
        let order = Order {
            edge: block_edge(
                self.grains.len(),
                diameters.mean,
                diameters.max,
                is_coloured,
            ),
            laws: (pairs, equations.laws_of_pairs()),
            following: equations.following(),
            is_coloured,
            most_flat: self.most_flat,
            plain: self.plain_order,
        };
        work.collider
            .collide(&mut self.team, scene, order, &mut work.contacts);
        self.track_contacts();
    }

    /// Finds and chooses contacts without planning a sweep over them.
    pub(crate) fn search_contacts(
        &mut self,
        substeps: usize,
    ) -> Result<SearchedContacts<'_>, StepError> {
        let Detection { reach, middle } = self.find_pairs()?;
        let work = &mut self.workspace;
        let scene = Scene {
            grains: &self.grains,
            walls: &self.walls,
            shapes: &self.shapes,
            midpoints: &work.midpoints,
            middle,
            history: &self.history,
            periodic: self.periodic,
            diameters: work.diameters,
            reach,
        };
        let longest_sleep = work.collider.longest_sleep(substeps);
        let (parts, reaches) = work.collider.search(&mut self.team, scene);
        Ok(SearchedContacts {
            parts,
            reaches,
            longest_sleep,
        })
    }

    /// Lists the contacts whose forces on walls and bodies of their own are wanted.
    fn track_contacts(&mut self) {
        let (work, grains) = (&mut self.workspace, &self.grains);
        work.tracked.clear();
        work.between_ghosts.clear();
        if self.bodies.is_empty() {
            // Frozen grains and walls do not meet as contacts: no contact has two ghosts.
            work.tracked.extend_from_slice(&work.collider.plan.fixed);
            return;
        }
        let contacts = (0..).zip(&work.contacts);
        let is_tracked = |c: &ContactGeometry| match c.partner {
            Partner::Wall(_) => true,
            Partner::Grain(j) => c.grain.max(j) as usize >= grains.free_count(),
        };
        let tracked = contacts.filter(|(_, contact)| is_tracked(contact));
        work.tracked.extend(tracked.map(|(i, _)| i));
        let has_ghost = |row: Option<u32>| row.is_none_or(|row| grains.has_ghost(row as usize));
        let fixed = work.collider.plan.fixed.iter().filter(|&&i| {
            let contact = &work.contacts[i as usize];
            has_ghost(Some(contact.grain)) && has_ghost(contact.partner.row())
        });
        work.between_ghosts.extend(fixed);
    }

    fn assemble(&mut self) -> Result<(), StepError> {
        let (work, team) = (&mut self.workspace, &mut self.team);
        let ghosts = Ghosts::new(&self.grains, &work.collider.plan, &work.between_ghosts);
        let bodies = Bodies {
            grains: &self.grains,
            walls: &self.walls,
            midpoints: &work.midpoints,
            shaped: &work.collider.shaped,
            periodic: self.periodic,
        };
        let contacts = &work.contacts[..];
        work.equations.set_bodies(team, bodies, (contacts, ghosts));
        work.equations.set_general(team, bodies, contacts);
        if let Method::SubStepped(_) = self.method {
            let load = LoadedInertia {
                gravity: self.gravity.length(),
                substep: self.step / self.method.moves(),
            };
            work.inertia.raise(
                team,
                load,
                &self.grains,
                (contacts, &mut work.equations.bodies),
            );
        }
        let has_shapes = self.grains.has_shapes();
        let of_walls = (contacts, ghosts.contacts);
        self.history
            .recall(team, &self.grains, of_walls, &mut work.impulses);
        self.evaluate_cohesion();
        self.evaluate_forces();
        self.set_jointed_ghosts();
        let (work, team) = (&mut self.workspace, &mut self.team);
        let rows = Rows {
            equations: &work.equations,
            grains: &self.grains,
            walls: &self.walls,
            pairs: &self.pairs,
            contacts: &work.contacts,
            ghosts: Ghosts::new(&self.grains, &work.collider.plan, &work.between_ghosts),
            impulses: &work.impulses,
            constants: step_constants(&self.contact, &self.method, self.step, self.gravity),
        };
        match &self.method {
            Method::SubStepped(_) => {
                let problem = work.equations.problem(&work.collider.plan);
                let (backend, bodies) = (&mut work.backend, &work.equations.bodies);
                let uploaded = if has_shapes {
                    backend.upload(team, problem, bodies, |i| rows.row::<true>(i))
                } else {
                    backend.upload(team, problem, bodies, |i| rows.row::<false>(i))
                };
                uploaded.map_err(|source| self.device_error(source))?;
            }
            Method::WholeStep(_) => work.whole.assemble(team, rows),
            Method::Smooth(_) => {}
        }
        Ok(())
    }

    pub(crate) fn device_error(&self, source: DeviceError) -> StepError {
        StepError::Device {
            step: self.steps_done + 1,
            source,
        }
    }

    fn advance(&mut self) -> Result<(Advanced, EnergyLoss), StepError> {
        let advanced = match self.method.clone() {
            Method::SubStepped(method) => self
                .advance_substeps(&method)
                .map_err(|source| self.device_error(source))?,
            Method::WholeStep(method) => self.advance_whole(&method)?,
            Method::Smooth(method) => self.advance_smooth(&method),
        };
        self.place_held();
        Ok(advanced)
    }

    /// Substeps of one warm-started sweep each.
    fn advance_substeps(
        &mut self,
        method: &SubStepped,
    ) -> Result<(Advanced, EnergyLoss), DeviceError> {
        let measure = method.tolerance.is_some() || self.looks();
        let (time, step) = (self.time(), self.substep());
        let (work, team) = (&mut self.workspace, &mut self.team);
        let run = SubstepRun {
            substeps: method.substeps,
            step,
            gravity: self.gravity,
            accelerations: work.forces.accelerations(),
            tracked: &work.tracked,
            movable: self.grains.len(),
            longest_sleep: work.collider.longest_sleep(method.substeps),
        };
        let (backend, plan) = (&mut work.backend, &work.collider.plan);
        backend.measure_losses(self.energy.is_some());
        let mut machines = self.machinery.running(time, step);
        let mut bodies = std::mem::take(&mut work.equations.bodies);
        let problem = work.equations.problem(plan);
        let partners = Partners::alone(machines.jointed());
        let impacts = backend.advance(team, problem, &mut bodies, run, partners);
        work.equations.bodies = bodies;
        let impacts = impacts?;
        let residual = if measure {
            let rows = Rows {
                equations: &work.equations,
                grains: &self.grains,
                walls: &self.walls,
                pairs: &self.pairs,
                contacts: &work.contacts,
                ghosts: Ghosts::new(&self.grains, plan, &work.between_ghosts),
                impulses: &work.impulses,
                constants: step_constants(&self.contact, &self.method, self.step, self.gravity),
            };
            let problem = work.equations.problem(plan);
            let bodies = &work.equations.bodies;
            Some(backend.residual(team, problem, bodies, run, |i| rows.row::<true>(i))?)
        } else {
            None
        };
        let (fall, accelerations) = (self.gravity * self.step, work.forces.accelerations());
        let bodies = &mut work.equations.bodies;
        work.inertia.return_momentum(&self.grains, bodies, |i| {
            fall + accelerations
                .of(i)
                .map_or(DVec3::ZERO, |a| a.linear * self.step)
        });
        backend.download(team, plan, &mut work.impulses)?;
        work.tracked_impulses.clear();
        work.tracked_impulses
            .extend_from_slice(backend.impulse_sums());
        let moved = Moved {
            midpoints: &work.midpoints,
            velocities: &work.equations.bodies,
            step: self.step,
        };
        moved.apply(team, &mut self.grains, |i| {
            let [velocity, angular_velocity] = backend.moved(i);
            (velocity * step, angular_velocity * step)
        });
        self.machinery.place_bodies(&mut self.grains);
        let converged = method
            .tolerance
            .is_none_or(|t| residual.is_none_or(|r| r <= t));
        let advanced = Advanced {
            solve: SweepReport {
                sweeps: method.substeps,
                residual: 0.0,
                converged,
            },
            impacts,
            residual,
        };
        Ok((advanced, backend.losses()))
    }

    /// The problem of a whole step's main stage from the present state, without
    /// impacts; only scratch changes.
    pub(crate) fn whole_step_problem(&mut self) -> Result<ContactProblem, StepError> {
        let detection = self.find_pairs()?;
        self.collide(detection);
        self.assemble()?;
        let (whole, team) = (&mut self.workspace.whole, &mut self.team);
        whole.set_main_rows(team, self.step);
        whole.add_velocity(team, self.gravity * self.step);
        whole.accelerate(self.workspace.forces.accelerations(), self.step);
        Ok(whole.problem.clone())
    }

    /// Impact stage where there are impacts, then one solve over the step.
    fn advance_whole(&mut self, method: &WholeStep) -> Result<(Advanced, EnergyLoss), StepError> {
        let time = self.time();
        let (work, team) = (&mut self.workspace, &mut self.team);
        let (sweeper, plan) = (&mut work.backend.sweeper, &work.collider.plan);
        let (whole, laws) = (&mut work.whole, &work.equations.laws);
        let impacts = whole.set_impact_rows(team, &work.impulses, self.step, self.gravity);
        if impacts > 0 {
            let count = work.contacts.len();
            team.fill(&mut work.impact_impulses, count, |_| Impulse::default());
            let stop = Stop {
                min_sweeps: 0,
                sweeps: method.impact_sweeps,
                tolerance: None,
            };
            let problem = WholeStepProblem {
                plan,
                laws,
                problem: &whole.problem,
                stop,
            };
            let (impulses, velocities) = (&mut work.impact_impulses, &mut work.velocities);
            if self.machinery.is_empty() {
                sweeper.solve(team, problem, None, impulses, velocities);
            } else {
                let mut machines = self.machinery.impacting();
                sweeper.solve(team, problem, machines.jointed(), impulses, velocities);
                let contacts = &whole.problem.contacts;
                self.machinery.take_up_impacts(contacts, impulses);
            }
            std::mem::swap(&mut whole.problem.bodies, &mut work.velocities);
        }
        let is_booked = self.energy.is_some();
        let mut loss = EnergyLoss::default();
        let impact_impulse = |i: usize| {
            let impulses = (impacts > 0).then_some(&work.impact_impulses);
            impulses.map_or_else(Impulse::default, |impulses| impulses[i])
        };
        if is_booked && impacts > 0 {
            let states = [&work.velocities[..], &whole.problem.bodies];
            loss = loss_of_impulses(team, &whole.problem, impact_impulse, states).as_impact();
        }
        let before = is_booked.then(|| whole.problem.bodies.clone());
        whole.set_main_rows(team, self.step);
        whole.add_velocity(team, self.gravity * self.step);
        whole.accelerate(work.forces.accelerations(), self.step);
        if !self.machinery.is_empty() {
            let bodies = &mut whole.problem.bodies;
            self.machinery.free_ghosts(time, self.step, bodies);
        }
        let rows = Rows {
            equations: &work.equations,
            grains: &self.grains,
            walls: &self.walls,
            pairs: &self.pairs,
            contacts: &work.contacts,
            ghosts: Ghosts::new(&self.grains, &work.collider.plan, &work.between_ghosts),
            impulses: &[],
            constants: step_constants(&self.contact, &self.method, self.step, self.gravity),
        };
        let force = |i: usize| rows.static_force(i);
        whole.warm_start(method.warm_start, self.step, &mut work.impulses, force);
        // Impulses that the solve starts from without acting on the bodies.
        let subtracted = match method.warm_start {
            WarmStart::HistoryWithoutVelocity { .. } => work.impulses.clone(),
            _ => Vec::new(),
        };
        let stop = whole_step_stop(method, self.accuracy.is_some());
        let (impulses, velocities) = (&mut work.impulses, &mut work.velocities);
        let solve = match &method.solver {
            Solver::Sweep => {
                let problem = WholeStepProblem {
                    plan,
                    laws,
                    problem: &whole.problem,
                    stop,
                };
                let mut machines = self.machinery.running(time, self.step);
                sweeper.solve(team, problem, machines.jointed(), impulses, velocities)
            }
            Solver::Named(name) => {
                let problem = (&whole.problem, &self.machinery);
                general_solve::solve(name, problem, stop, impulses, velocities).map_err(
                    |source| StepError::Solve {
                        step: self.steps_done + 1,
                        source,
                    },
                )?
            }
        };
        if !self.machinery.is_empty() {
            let given = (&whole.problem.contacts[..], &impulses[..]);
            self.machinery
                .end_whole_step(time, self.step, given, velocities);
        }
        let main_impulse = |i: usize| match subtracted.get(i) {
            Some(start) => impulses[i].plus(&start.scaled(-1.0)),
            None => impulses[i],
        };
        let both = |&i: &u32| impact_impulse(i as usize).plus(&main_impulse(i as usize));
        work.tracked_impulses.clear();
        work.tracked_impulses.extend(work.tracked.iter().map(both));
        let (velocities, step) = (&work.velocities, self.step);
        if let Some(before) = &before {
            let states = [&before[..], velocities];
            let main = loss_of_impulses(team, &whole.problem, main_impulse, states);
            loss = loss.plus(&main);
        }
        let moved = Moved {
            midpoints: &work.midpoints,
            velocities,
            step,
        };
        moved.apply(team, &mut self.grains, |i| {
            (
                velocities[i].velocity * step,
                velocities[i].angular_velocity * step,
            )
        });
        self.machinery.place_bodies(&mut self.grains);
        if impacts > 0 {
            let first_body = self.grains.count();
            let Grains {
                position: positions,
                locks,
                ..
            } = &mut self.grains;
            whole.place_impacts(velocities, |body, displacement| {
                // Ghosts of walls come after the grains.
                if let Some(position) = positions.get_mut(body) {
                    let locks = locks_of_row(locks, first_body, body);
                    *position += displacement * locks.free_translation();
                }
            });
        }
        let advanced = Advanced {
            solve: SweepReport {
                converged: method.tolerance.is_none_or(|t| solve.residual <= t),
                ..solve
            },
            impacts,
            residual: Some(solve.residual),
        };
        Ok((advanced, loss))
    }

    /// Explicit substeps of springs and dashpots.
    fn advance_smooth(&mut self, method: &Smooth) -> (Advanced, EnergyLoss) {
        let step = self.substep();
        let work = &mut self.workspace;
        let scene = smooth::Scene {
            contacts: &work.contacts,
            pairs: &self.pairs,
            walls: &self.walls,
            gravity: self.gravity,
            accelerations: work.forces.accelerations(),
            periodic: self.periodic,
            step,
        };
        work.smooth_stepper.measure_losses(self.energy.is_some());
        work.smooth_stepper.advance(
            method,
            &scene,
            &mut self.grains,
            &mut work.equations.bodies,
            &mut work.impulses,
        );
        work.tracked_impulses.clear();
        work.tracked_impulses
            .extend_from_slice(work.smooth_stepper.wall_impulses());
        let advanced = Advanced {
            solve: SweepReport {
                sweeps: work.smooth_stepper.substeps(),
                residual: 0.0,
                converged: true,
            },
            impacts: 0,
            residual: None,
        };
        (advanced, work.smooth_stepper.losses())
    }

    fn finish(&mut self, advanced: &Advanced, turnover: Turnover) -> Result<StepReport, StepError> {
        self.steps_done += 1;
        let time = self.time();
        let mut report = StepReport {
            step: self.steps_done,
            time,
            step_length: self.step,
            grains: self.grain_count(),
            frozen: self.frozen_count(),
            emitted: turnover.emitted,
            removed: turnover.removed,
            lost: turnover.lost,
            owed: self.emitters.iter().map(|e| e.owed(time)).sum(),
            contacts: self.workspace.contacts.len(),
            sweeps: advanced.solve.sweeps,
            impacts: advanced.impacts,
            residual: advanced.residual,
            converged: advanced.solve.converged,
            ..Default::default()
        };
        self.measure_overlaps(&mut report);
        let drives = self.book_loads();
        if let Some(ledger) = &mut self.energy {
            ledger.drives += drives;
        }
        self.check_finite(time)?;
        self.remember_contacts();
        self.judge(&mut report);
        if let Some(periodic) = self.periodic {
            periodic.wrap(&mut self.team, &mut self.grains);
        }
        for wall in &mut self.walls {
            wall.move_to(time);
        }
        self.decide_reduction();
        Ok(report)
    }

    /// Keeps what the next step starts from: impulses, and from which side
    /// containers held grains.
    fn remember_contacts(&mut self) {
        let (work, walls) = (&self.workspace, &self.walls);
        let (grains, shapes) = (&self.grains, &self.shapes);
        let at_walls = work.tracked.iter().zip(&work.tracked_impulses);
        let held = at_walls.filter_map(|(&i, impulse)| {
            let contact = &work.contacts[i as usize];
            let wall = &walls[contact.key.wall_index()? as usize];
            let shape = shape_of(grains, shapes, contact.grain);
            let has_side = wall.side_of(contact.key.wall_feature(), shape).is_some();
            (has_side && impulse.normal > 0.0).then_some(i as usize)
        });
        let contacts = (&work.contacts[..], &work.impulses[..]);
        self.history
            .store(&mut self.team, &self.grains, contacts, held);
    }

    fn measure_overlaps(&mut self, report: &mut StepReport) {
        let contacts = &self.workspace.contacts;
        let add = |(touching, sum, max): &mut (usize, ExactSum, Max), i: usize| {
            let contact = &contacts[i];
            if contact.overlap > 0.0 {
                let overlap = contact.overlap / contact.diameter();
                *touching += 1;
                sum.add(overlap);
                max.add(overlap);
            }
        };
        let (touching, sum, max) = self.team.reduce(contacts.len(), add);
        report.touching = touching;
        report.max_overlap = max.0.max(0.0);
        if touching > 0 {
            report.mean_overlap = sum.value() / touching as f64;
        }
    }

    pub(crate) fn check_finite(&self, time: f64) -> Result<(), StepError> {
        let grains = &self.grains;
        let broken = (0..grains.len()).filter(|&i| {
            let state = &grains.state[i];
            !(grains.position[i].is_finite()
                && state.velocity.is_finite()
                && state.angular_velocity.is_finite())
        });
        match broken.min_by_key(|&i| grains.id[i]) {
            None => Ok(()),
            Some(i) => Err(StepError::NonFinite {
                grain: grains.id[i],
                step: self.steps_done,
                time,
                position: grains.position[i],
                velocity: grains.state[i].velocity,
            }),
        }
    }

    /// How far grains reach in the step.
    pub(crate) fn reach(&self) -> Reach {
        Reach {
            margin: self.contact.margin,
            step: self.step,
            fall: self.gravity * (self.step * self.method.free_fall_factor()),
            restitution: self.pairs.max_restitution(),
            cohesive_gap: self.pairs.longest_cohesive_gap(),
            impact_chain: self.method.impact_chain(),
        }
    }

    pub(crate) fn step_constants(&self) -> StepConstants<'_> {
        step_constants(&self.contact, &self.method, self.step, self.gravity)
    }

    /// Step that stored impulses belong to: h, or h/n when sub-stepping, s.
    pub fn substep(&self) -> f64 {
        self.step / self.method.moves()
    }
}

pub(crate) fn step_constants<'a>(
    settings: &'a ContactSettings,
    method: &Method,
    step: f64,
    gravity: DVec3,
) -> StepConstants<'a> {
    StepConstants {
        step,
        substep: step / method.moves(),
        cap: method.stiffness_cap(),
        gravity: gravity.length(),
        settings,
    }
}

/// What a step made of the grains.
struct Moved<'a> {
    midpoints: &'a Midpoints,
    /// Bodies of the equations at the end of the step.
    velocities: &'a [BodyState],
    /// Whole step h, s.
    step: f64,
}

impl Moved<'_> {
    /// Gives the grains their velocities and moves them by `motion(i)`:
    /// displacement, m, and rotation vector, rad (of bodies that are no spheres in
    /// their metric).
    fn apply(
        &self,
        team: &mut Team,
        grains: &mut Grains,
        motion: impl Fn(usize) -> (DVec3, DVec3) + Sync,
    ) {
        let count = grains.len();
        let (shapes, first_body) = (&grains.shape, grains.count());
        let locks = &grains.locks;
        let state = SharedSlice::new(&mut grains.state);
        let position = SharedSlice::new(&mut grains.position);
        let orientation = SharedSlice::new(&mut grains.orientation);
        team.run(|worker| {
            for i in worker.part_of(count, 1) {
                let (displacement, rotation) = motion(i);
                let end = &self.velocities[i];
                // SAFETY: the parts of different workers are disjoint.
                let (state, position, orientation) =
                    unsafe { (state.at(i), position.at(i), orientation.at(i)) };
                state.velocity = end.velocity;
                if let Some(Some(shape)) = shapes.get(i) {
                    *position += displacement;
                    let metric = [rotation / self.step, end.angular_velocity];
                    let midpoint = &self.midpoints.0[i];
                    let locks = locks_of_row(locks, first_body, i);
                    (*orientation, state.angular_velocity) =
                        finish_rotation(shape, *orientation, midpoint, (metric, locks), self.step);
                } else {
                    state.angular_velocity = end.angular_velocity;
                    integrate::advance(position, orientation, displacement, rotation);
                }
            }
        });
    }
}
