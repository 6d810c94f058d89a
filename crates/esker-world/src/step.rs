//! One step, on one screen.

use esker_contact::{BodyState, Impulse};
use esker_geometry::{BroadPhase, TooManyPairs};
use esker_solver::substep::{SubStepper, Substeps};
use esker_solver::sweep::{GaussSeidel, Stop, SweepReport, TangentCompliance};
use glam::DVec3;

use crate::World;
use crate::assemble::{Equations, StepConstants};
use crate::collide::{Candidates, ContactGeometry, Partner, Reach, SpatialOrder};
use crate::definition::{Method, SubStepped, WarmStart, WholeStep};
use crate::grains::GrainId;
use crate::integrate;
use crate::report::{Stage, StageClock, StepReport};

/// Scratch of a step: reused, never part of the state.
#[derive(Default)]
pub(crate) struct Workspace {
    reach: Vec<f64>,
    pairs: Vec<[u32; 2]>,
    candidates: Candidates,
    pub(crate) contacts: Vec<ContactGeometry>,
    pub(crate) impulses: Vec<Impulse>,
    pub(crate) equations: Equations,
    velocities: Vec<BodyState>,
    impact_impulses: Vec<Impulse>,
    broad_phase: BroadPhase,
    order: SpatialOrder,
    gauss_seidel: GaussSeidel,
    sub_stepper: SubStepper,
}

/// Why a step failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StepError {
    /// A grain's state is not a number any more.
    #[error(
        "grain {} (generation {}) has a non-finite state after step {step} (t = {time} s): \
         position {position}, velocity {velocity}; a smaller time step or more sweeps may help",
        grain.slot, grain.generation
    )]
    NonFinite {
        /// The first such grain.
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
    /// Grains lie on top of one another.
    #[error("step {step}: {source}")]
    Crowd {
        /// The step.
        step: u64,
        /// How many and where.
        source: TooManyPairs,
    },
}

/// The outcome of stage `advance`.
struct Advanced {
    solve: SweepReport,
    impacts: usize,
    residual: Option<f64>,
}

/// Sub-stepped steps between two looks at the residual where no tolerance asks
/// for it every step.
const STEPS_PER_RESIDUAL: u64 = 10;

/// Cells of the contact order, in mean grain diameters.
const ORDER_CELL_DIAMETERS: f64 = 2.0;

impl World {
    /// Advances the world by one step.
    pub fn step(&mut self) -> Result<StepReport, StepError> {
        let mut clock = StageClock::start();
        let emitted = self.supply();
        clock.end(Stage::Supply);
        let reach = self.find_pairs()?;
        clock.end(Stage::FindPairs);
        self.collide(reach);
        clock.end(Stage::Collide);
        self.assemble();
        clock.end(Stage::Assemble);
        let advanced = self.advance();
        clock.end(Stage::Advance);
        let mut report = self.finish(&advanced)?;
        report.emitted = emitted;
        clock.end(Stage::Finish);
        report.times = clock.times();
        Ok(report)
    }

    fn supply(&mut self) -> usize {
        let (time, step) = (self.time(), self.step);
        let (grains, rotates) = (&mut self.grains, self.rotation);
        self.emitters
            .iter_mut()
            .map(|e| e.emit(time, step, grains, rotates))
            .sum()
    }

    fn find_pairs(&mut self) -> Result<Reach, StepError> {
        let grains = &self.grains;
        let reach = Reach::new(
            grains,
            self.contact.margin,
            self.step,
            self.gravity.length(),
        );
        let work = &mut self.workspace;
        work.reach.clear();
        work.reach.extend(
            grains
                .radius
                .iter()
                .zip(&grains.state)
                .map(|(&r, s)| reach.of_grain(r, s.velocity)),
        );
        work.broad_phase
            .find_pairs(&grains.position, &work.reach, &mut work.pairs)
            .map_err(|source| StepError::Crowd {
                step: self.steps_done + 1,
                source,
            })?;
        Ok(reach)
    }

    fn collide(&mut self, reach: Reach) {
        let cell = ORDER_CELL_DIAMETERS * self.mean_diameter();
        let (grains, work) = (&self.grains, &mut self.workspace);
        work.candidates.clear();
        work.candidates.add_grains(grains, &work.pairs);
        for (i, wall) in self.walls.iter().enumerate() {
            work.candidates.add_wall(grains, (i as u32, wall), reach);
        }
        work.contacts.clear();
        work.candidates.select(grains, reach, &mut work.contacts);
        work.order.sort(&mut work.contacts, cell);
    }

    fn assemble(&mut self) {
        let (row_step, cap) = match &self.method {
            Method::SubStepped(m) => (self.step / m.substeps as f64, m.stiffness_cap),
            Method::WholeStep(_) => (self.step, 0.0),
        };
        let constants = StepConstants {
            step: self.step,
            row_step,
            cap,
            gravity: self.gravity.length(),
            settings: &self.contact,
        };
        let work = &mut self.workspace;
        work.equations.assemble(
            &self.grains,
            &self.walls,
            &self.pairs,
            &work.contacts,
            constants,
        );
        self.history.recall(&work.contacts, &mut work.impulses);
    }

    fn advance(&mut self) -> Advanced {
        match self.method.clone() {
            Method::SubStepped(method) => self.advance_substeps(&method),
            Method::WholeStep(method) => self.advance_whole(&method),
        }
    }

    /// Substeps of one warm-started sweep, each followed by its own move.
    fn advance_substeps(&mut self, method: &SubStepped) -> Advanced {
        let measure =
            method.tolerance.is_some() || self.steps_done.is_multiple_of(STEPS_PER_RESIDUAL);
        let work = &mut self.workspace;
        let step = self.step / method.substeps as f64;
        let equations = &mut work.equations;
        let mut substeps = Substeps {
            contacts: &equations.problem.contacts,
            springs: &mut equations.springs,
            impacts: &equations.impacts,
            impulses: &mut work.impulses,
            bodies: &mut equations.problem.bodies,
            step,
            gravity: self.gravity,
            compliance: TangentCompliance {
                friction: equations.problem.tangent_compliance,
                rolling: equations.problem.rolling_compliance,
            },
        };
        let grains = &mut self.grains;
        work.sub_stepper.begin(&mut substeps);
        for k in 0..method.substeps {
            work.sub_stepper.substep(&mut substeps, k == 0);
            integrate::advance(
                &mut grains.position,
                &mut grains.orientation,
                substeps.bodies,
                step,
            );
        }
        let residual = measure.then(|| work.sub_stepper.residual(&substeps));
        work.sub_stepper.finish(&mut substeps);
        let count = grains.len();
        grains
            .state
            .copy_from_slice(&equations.problem.bodies[..count]);
        let converged = method
            .tolerance
            .is_none_or(|t| residual.is_none_or(|r| r <= t));
        Advanced {
            solve: SweepReport {
                sweeps: method.substeps,
                residual: 0.0,
                converged,
            },
            impacts: work.sub_stepper.impact_count,
            residual,
        }
    }

    /// Impact stage where there are impacts, then one solve over the step.
    fn advance_whole(&mut self, method: &WholeStep) -> Advanced {
        let work = &mut self.workspace;
        let equations = &mut work.equations;
        let impacts = equations.set_impact_rows(self.step);
        if impacts > 0 {
            work.impact_impulses.clear();
            work.impact_impulses
                .resize(work.contacts.len(), Impulse::default());
            let stop = Stop {
                sweeps: method.impact_sweeps,
                tolerance: None,
            };
            work.gauss_seidel.solve(
                &equations.problem,
                &mut work.impact_impulses,
                &mut work.velocities,
                stop,
            );
            std::mem::swap(&mut equations.problem.bodies, &mut work.velocities);
        }
        equations.set_main_rows(self.step);
        let fall = self.gravity * self.step;
        for body in equations
            .problem
            .bodies
            .iter_mut()
            .filter(|b| b.inverse_mass > 0.0)
        {
            body.velocity += fall;
        }
        equations.warm_start(method.warm_start, self.step, &mut work.impulses);
        let stop = Stop {
            sweeps: method.sweeps,
            tolerance: method.tolerance,
        };
        let solve = work.gauss_seidel.solve(
            &equations.problem,
            &mut work.impulses,
            &mut work.velocities,
            stop,
        );
        let grains = &mut self.grains;
        let count = grains.len();
        grains.state.copy_from_slice(&work.velocities[..count]);
        integrate::advance(
            &mut grains.position,
            &mut grains.orientation,
            &grains.state,
            self.step,
        );
        Advanced {
            solve,
            impacts,
            residual: Some(solve.residual),
        }
    }

    fn finish(&mut self, advanced: &Advanced) -> Result<StepReport, StepError> {
        self.steps_done += 1;
        let time = self.time();
        let mut report = StepReport {
            step: self.steps_done,
            time,
            contacts: self.workspace.contacts.len(),
            sweeps: advanced.solve.sweeps,
            impacts: advanced.impacts,
            residual: advanced.residual,
            converged: advanced.solve.converged,
            ..Default::default()
        };
        self.measure_overlaps(&mut report);
        self.measure_wall_forces();
        self.check_finite(time)?;
        let work = &self.workspace;
        self.history
            .store(self.grains.slots(), &work.contacts, &work.impulses);
        for wall in &mut self.walls {
            wall.move_to(time, self.step);
        }
        for sink in &mut self.sinks {
            report.removed += sink.take(time, &mut self.grains);
        }
        report.lost = self.remove_lost();
        self.lost += report.lost as u64;
        report.grains = self.grains.len();
        Ok(report)
    }

    fn measure_overlaps(&self, report: &mut StepReport) {
        let mut sum = 0.0;
        for contact in self.workspace.contacts.iter().filter(|c| c.overlap > 0.0) {
            let overlap = contact.overlap / contact.diameter;
            sum += overlap;
            report.touching += 1;
            report.max_overlap = report.max_overlap.max(overlap);
        }
        if report.touching > 0 {
            report.mean_overlap = sum / report.touching as f64;
        }
    }

    fn measure_wall_forces(&mut self) {
        let row_step = self.row_step();
        for wall in &mut self.walls {
            wall.force = DVec3::ZERO;
            wall.torque = DVec3::ZERO;
        }
        for (contact, impulse) in self.workspace.contacts.iter().zip(&self.workspace.impulses) {
            if let Partner::Wall(w) = contact.partner {
                let wall = &mut self.walls[w as usize];
                let force = (contact.normal * impulse.normal + impulse.friction) / row_step;
                let couple = (contact.normal * impulse.twisting + impulse.rolling) / row_step;
                wall.force += force;
                wall.torque += (contact.point - wall.pose.position).cross(force) + couple;
            }
        }
    }

    fn check_finite(&self, time: f64) -> Result<(), StepError> {
        let grains = &self.grains;
        let broken = (0..grains.len()).find(|&i| {
            let state = &grains.state[i];
            !(grains.position[i].is_finite()
                && state.velocity.is_finite()
                && state.spin.is_finite())
        });
        match broken {
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

    fn remove_lost(&mut self) -> usize {
        let Some([low, high]) = self.bounds else {
            return 0;
        };
        let before = self.grains.len();
        for i in (0..before).rev() {
            let x = self.grains.position[i];
            if x.cmplt(low).any() || x.cmpgt(high).any() {
                self.grains.remove(i);
            }
        }
        before - self.grains.len()
    }

    fn mean_diameter(&self) -> f64 {
        let count = self.grains.len().max(1);
        let mean = 2.0 * self.grains.radius.iter().sum::<f64>() / count as f64;
        if mean > 0.0 { mean } else { 1.0 }
    }

    /// Step that stored impulses belong to: h, or h/n when sub-stepping, s.
    pub fn row_step(&self) -> f64 {
        match &self.method {
            Method::SubStepped(m) => self.step / m.substeps as f64,
            Method::WholeStep(_) => self.step,
        }
    }

    /// Whether steps start from the last step's impulses.
    pub fn keeps_history(&self) -> bool {
        !matches!(
            &self.method,
            Method::WholeStep(WholeStep {
                warm_start: WarmStart::Cold | WarmStart::Model,
                ..
            })
        )
    }
}
