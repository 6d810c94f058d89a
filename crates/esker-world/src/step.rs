//! One step, on one screen.

use esker_contact::{BodyState, ContactProblem, Impulse};
use esker_geometry::TooManyPairs;
use esker_parallel::{SharedSlice, Team};
use esker_solver::block_sweep::{BlockSweeper, SubstepRun, WholeStepProblem};
use esker_solver::packed::{Packing, RowKind};
use esker_solver::plan::block_edge;
use esker_solver::sweep::{Stop, SweepReport};
use glam::DVec3;

use crate::World;
use crate::assemble::{Equations, Rows, StepConstants, WholeStepEquations};
use crate::collide::{Collider, ContactGeometry, Order, Partner, Scene};
use crate::definition::{ContactSettings, Method, Smooth, Solver, SubStepped, WholeStep};
use crate::general_solve;
use crate::grains::{GrainId, Grains};
use crate::integrate;
use crate::reach::Reach;
use crate::report::{Stage, StageClock, StepReport};
use crate::smooth::{self, SmoothStepper};

/// Scratch of a step: reused, never part of the state.
#[derive(Default)]
pub(crate) struct Workspace {
    pub(crate) collider: Collider,
    pub(crate) contacts: Vec<ContactGeometry>,
    pub(crate) impulses: Vec<Impulse>,
    pub(crate) equations: Equations,
    whole: WholeStepEquations,
    velocities: Vec<BodyState>,
    impact_impulses: Vec<Impulse>,
    sweeper: BlockSweeper,
    smooth_stepper: SmoothStepper,
    memory_order: Vec<(u64, u32)>,
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

/// Steps between two re-sortings of the grains in memory: grains move a
/// fraction of a diameter per step.
const STEPS_PER_MEMORY_ORDER: u64 = 64;
/// Grains below which memory order does not matter: all fit the nearest cache.
const MEMORY_ORDER_GRAINS: usize = 4096;

impl World {
    /// Advances the world by one step.
    pub fn step(&mut self) -> Result<StepReport, StepError> {
        let mut clock = StageClock::start();
        self.choose_threads();
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
        report.excess_overlap = self.keep_accuracy();
        clock.end(Stage::Finish);
        report.times = clock.times();
        report.threads = self.team.threads();
        if let Some(choice) = &mut self.thread_choice {
            choice.end_step(report.times.total());
        }
        Ok(report)
    }

    fn choose_threads(&mut self) {
        if let Some(choice) = &mut self.thread_choice {
            let work = self.grains.len() + self.workspace.contacts.len();
            self.team.set_threads(choice.begin_step(work));
        }
    }

    fn supply(&mut self) -> usize {
        let (time, step) = (self.time(), self.step);
        let (grains, rotates) = (&mut self.grains, self.rotation);
        let emitted = self
            .emitters
            .iter_mut()
            .map(|e| e.emit(time, step, grains, rotates))
            .sum();
        if self.steps_done.is_multiple_of(STEPS_PER_MEMORY_ORDER)
            && self.grains.len() > MEMORY_ORDER_GRAINS
        {
            self.sort_grains_in_memory();
        }
        emitted
    }

    /// Puts neighbours in space near each other in memory, along a
    /// space-filling curve. Nothing else changes.
    fn sort_grains_in_memory(&mut self) {
        let cell = self.mean_and_max_diameter()[0];
        let (grains, order) = (&mut self.grains, &mut self.workspace.memory_order);
        self.team.fill(order, grains.len(), |i| {
            (morton(grains.position[i] / cell), i as u32)
        });
        order.sort_unstable_by_key(|&(key, i)| (key, grains.id[i as usize]));
        let order: Vec<u32> = order.iter().map(|&(_, i)| i).collect();
        grains.reorder(&order);
    }

    fn find_pairs(&mut self) -> Result<Reach, StepError> {
        let reach = Reach {
            margin: self.contact.margin,
            step: self.step,
            fall: self.gravity * (self.step * self.method.share_of_fall()),
            restitution: self.pairs.greatest_restitution(),
        };
        let [mean_diameter, _] = self.mean_and_max_diameter();
        let scene = Scene {
            grains: &self.grains,
            walls: &self.walls,
            mean_diameter,
            reach,
        };
        let found = self.workspace.collider.find_pairs(&mut self.team, scene);
        found.map_err(|source| StepError::Crowd {
            step: self.steps_done + 1,
            source,
        })?;
        Ok(reach)
    }

    fn collide(&mut self, reach: Reach) {
        let [mean_diameter, max_diameter] = self.mean_and_max_diameter();
        let constants = step_constants(&self.contact, &self.method, self.step, self.gravity);
        let (work, pairs) = (&mut self.workspace, &self.pairs);
        let equations = &mut work.equations;
        equations.set_laws(pairs, constants);
        let scene = Scene {
            grains: &self.grains,
            walls: &self.walls,
            mean_diameter,
            reach,
        };
        let order = Order {
            edge: block_edge(self.grains.len(), mean_diameter, max_diameter),
            laws: (pairs, equations.laws_of_pairs()),
            plain: self.plain_order,
        };
        work.collider
            .collide(&mut self.team, scene, order, &mut work.contacts);
    }

    fn assemble(&mut self) {
        let (work, team) = (&mut self.workspace, &mut self.team);
        let contacts = (&work.contacts[..], &work.collider.plan.fixed[..]);
        work.equations
            .set_bodies(team, &self.grains, &self.walls, contacts);
        self.history.recall(team, contacts, &mut work.impulses);
        let rows = Rows {
            equations: &work.equations,
            grains: &self.grains,
            walls: &self.walls,
            pairs: &self.pairs,
            contacts: &work.contacts,
            wall_contacts: &work.collider.plan.fixed,
            impulses: &work.impulses,
            constants: step_constants(&self.contact, &self.method, self.step, self.gravity),
        };
        match &self.method {
            Method::SubStepped(_) => {
                let packing = Packing {
                    kind: RowKind::Substep,
                    laws: &work.equations.laws,
                    compliance: work.equations.compliance,
                };
                let (packed, plan) = (&mut work.sweeper.packed, &work.collider.plan);
                packed.pack(team, plan, packing, &work.equations.bodies, |i| rows.row(i));
            }
            Method::WholeStep(_) => work.whole.assemble(team, rows),
            Method::Smooth(_) => {}
        }
    }

    fn advance(&mut self) -> Advanced {
        match self.method.clone() {
            Method::SubStepped(method) => self.advance_substeps(&method),
            Method::WholeStep(method) => self.advance_whole(&method),
            Method::Smooth(method) => self.advance_smooth(&method),
        }
    }

    /// Substeps of one warm-started sweep each.
    fn advance_substeps(&mut self, method: &SubStepped) -> Advanced {
        let measure =
            method.tolerance.is_some() || self.steps_done.is_multiple_of(STEPS_PER_RESIDUAL);
        let step = self.row_step();
        let (work, team) = (&mut self.workspace, &mut self.team);
        let run = SubstepRun {
            substeps: method.substeps,
            step,
            gravity: self.gravity,
            movable: self.grains.len(),
            compliance: work.equations.compliance,
        };
        let (sweeper, plan) = (&mut work.sweeper, &work.collider.plan);
        let impacts = sweeper.substeps(team, plan, &mut work.equations.bodies, run);
        let residual = measure.then(|| {
            let rows = Rows {
                equations: &work.equations,
                grains: &self.grains,
                walls: &self.walls,
                pairs: &self.pairs,
                contacts: &work.contacts,
                wall_contacts: &plan.fixed,
                impulses: &work.impulses,
                constants: step_constants(&self.contact, &self.method, self.step, self.gravity),
            };
            sweeper.substep_residual(team, plan, &work.equations.bodies, run, |i| rows.row(i))
        });
        sweeper.forget_impacts();
        sweeper.packed.impulses(team, plan, &mut work.impulses);
        move_grains(team, &mut self.grains, &work.equations.bodies, |i| {
            let [velocity, spin] = sweeper.moved(i);
            (velocity * step, spin * step)
        });
        let converged = method
            .tolerance
            .is_none_or(|t| residual.is_none_or(|r| r <= t));
        Advanced {
            solve: SweepReport {
                sweeps: method.substeps,
                residual: 0.0,
                converged,
            },
            impacts,
            residual,
        }
    }

    /// The problem of a whole step's main stage from the present state, without
    /// impacts; only scratch changes.
    pub(crate) fn whole_step_problem(&mut self) -> Result<ContactProblem, StepError> {
        let reach = self.find_pairs()?;
        self.collide(reach);
        self.assemble();
        let (whole, team) = (&mut self.workspace.whole, &mut self.team);
        whole.set_main_rows(team, self.step);
        whole.add_velocity(team, self.gravity * self.step);
        Ok(whole.problem.clone())
    }

    /// Impact stage where there are impacts, then one solve over the step.
    fn advance_whole(&mut self, method: &WholeStep) -> Advanced {
        let (work, team) = (&mut self.workspace, &mut self.team);
        let (sweeper, plan) = (&mut work.sweeper, &work.collider.plan);
        let (whole, laws) = (&mut work.whole, &work.equations.laws);
        let impacts = whole.set_impact_rows(team, self.step);
        if impacts > 0 {
            let count = work.contacts.len();
            team.fill(&mut work.impact_impulses, count, |_| Impulse::default());
            let stop = Stop {
                sweeps: method.impact_sweeps,
                tolerance: None,
            };
            let problem = WholeStepProblem {
                plan,
                laws,
                problem: &whole.problem,
                stop,
            };
            sweeper.solve(
                team,
                problem,
                &mut work.impact_impulses,
                &mut work.velocities,
            );
            std::mem::swap(&mut whole.problem.bodies, &mut work.velocities);
        }
        whole.set_main_rows(team, self.step);
        whole.add_velocity(team, self.gravity * self.step);
        let rows = Rows {
            equations: &work.equations,
            grains: &self.grains,
            walls: &self.walls,
            pairs: &self.pairs,
            contacts: &work.contacts,
            wall_contacts: &work.collider.plan.fixed,
            impulses: &[],
            constants: step_constants(&self.contact, &self.method, self.step, self.gravity),
        };
        let force = |i: usize| rows.static_force(i);
        whole.warm_start(method.warm_start, self.step, &mut work.impulses, force);
        let stop = Stop {
            sweeps: method.sweeps,
            tolerance: method.tolerance,
        };
        let (impulses, velocities) = (&mut work.impulses, &mut work.velocities);
        let solve = match &method.solver {
            Solver::Sweep => {
                let problem = WholeStepProblem {
                    plan,
                    laws,
                    problem: &whole.problem,
                    stop,
                };
                sweeper.solve(team, problem, impulses, velocities)
            }
            Solver::Named(name) => {
                general_solve::solve(name, &whole.problem, stop, impulses, velocities)
            }
        };
        let (velocities, step) = (&work.velocities, self.step);
        move_grains(team, &mut self.grains, velocities, |i| {
            (velocities[i].velocity * step, velocities[i].spin * step)
        });
        Advanced {
            solve,
            impacts,
            residual: Some(solve.residual),
        }
    }

    /// Explicit substeps of springs and dashpots.
    fn advance_smooth(&mut self, method: &Smooth) -> Advanced {
        let step = self.row_step();
        let work = &mut self.workspace;
        let scene = smooth::Scene {
            contacts: &work.contacts,
            pairs: &self.pairs,
            walls: &self.walls,
            gravity: self.gravity,
            step,
        };
        work.smooth_stepper.advance(
            method,
            &scene,
            &mut self.grains,
            &mut work.equations.bodies,
            &mut work.impulses,
        );
        Advanced {
            solve: SweepReport {
                sweeps: method.substeps,
                residual: 0.0,
                converged: true,
            },
            impacts: 0,
            residual: None,
        }
    }

    fn finish(&mut self, advanced: &Advanced) -> Result<StepReport, StepError> {
        self.steps_done += 1;
        let time = self.time();
        let mut report = StepReport {
            step: self.steps_done,
            time,
            step_length: self.step,
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
        let slots = self.grains.slots();
        self.history
            .store(&mut self.team, slots, &work.contacts, &work.impulses);
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

    fn measure_overlaps(&mut self, report: &mut StepReport) {
        let contacts = &self.workspace.contacts;
        // Number, sum and greatest.
        let (touching, sum, greatest) = self.team.fold(
            contacts.len(),
            (0, 0.0, 0.0),
            |range| {
                let touching = contacts[range].iter().filter(|c| c.overlap > 0.0);
                touching.fold((0, 0.0, 0.0), |(n, sum, max), c| {
                    let overlap = c.overlap / c.diameter();
                    (n + 1, sum + overlap, f64::max(max, overlap))
                })
            },
            |a, b| (a.0 + b.0, a.1 + b.1, f64::max(a.2, b.2)),
        );
        report.touching = touching;
        report.max_overlap = greatest;
        if touching > 0 {
            report.mean_overlap = sum / touching as f64;
        }
    }

    fn measure_wall_forces(&mut self) {
        let row_step = self.row_step();
        for wall in &mut self.walls {
            wall.force = DVec3::ZERO;
            wall.torque = DVec3::ZERO;
        }
        let work = &self.workspace;
        for &i in &work.collider.plan.fixed {
            let (contact, impulse) = (&work.contacts[i as usize], &work.impulses[i as usize]);
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

    fn mean_and_max_diameter(&mut self) -> [f64; 2] {
        let radius = &self.grains.radius;
        let (sum, max) = self.team.fold(
            radius.len(),
            (0.0, 0.0),
            |range| {
                let radii = radius[range].iter();
                radii.fold((0.0, 0.0), |(sum, max), &r| (sum + r, f64::max(max, r)))
            },
            |a, b| (a.0 + b.0, f64::max(a.1, b.1)),
        );
        if sum > 0.0 {
            [2.0 * sum / radius.len() as f64, 2.0 * max]
        } else {
            [1.0, 1.0]
        }
    }

    pub(crate) fn step_constants(&self) -> StepConstants<'_> {
        step_constants(&self.contact, &self.method, self.step, self.gravity)
    }

    /// Step that stored impulses belong to: h, or h/n when sub-stepping, s.
    pub fn row_step(&self) -> f64 {
        self.step / self.method.moves()
    }
}

fn step_constants<'a>(
    settings: &'a ContactSettings,
    method: &Method,
    step: f64,
    gravity: DVec3,
) -> StepConstants<'a> {
    let cap = match method {
        Method::SubStepped(m) => m.stiffness_cap,
        Method::WholeStep(_) | Method::Smooth(_) => 0.0,
    };
    StepConstants {
        step,
        row_step: step / method.moves(),
        cap,
        gravity: gravity.length(),
        settings,
    }
}

/// Gives the grains their velocities and moves them by `motion(i)`:
/// displacement, m, and rotation vector, rad.
fn move_grains(
    team: &mut Team,
    grains: &mut Grains,
    velocities: &[BodyState],
    motion: impl Fn(usize) -> (DVec3, DVec3) + Sync,
) {
    let count = grains.len();
    let state = SharedSlice::new(&mut grains.state);
    let position = SharedSlice::new(&mut grains.position);
    let orientation = SharedSlice::new(&mut grains.orientation);
    team.run(|worker| {
        for i in worker.part_of(count, 1) {
            // SAFETY: the parts of different workers are disjoint.
            unsafe {
                *state.at(i) = velocities[i];
                let (displacement, turn) = motion(i);
                integrate::advance(position.at(i), orientation.at(i), displacement, turn);
            }
        }
    });
}

/// Place of a point along a space-filling curve through unit cells.
fn morton(point: DVec3) -> u64 {
    const BITS: u32 = 20;
    // `as` saturates and maps NaN to zero; the offset makes coordinates positive.
    let cell = |x: f64| ((x.floor() as i64) + (1 << BITS)).clamp(0, (1 << (BITS + 1)) - 1) as u64;
    let cells = point.to_array().map(cell);
    let mut key = 0;
    for bit in (0..=BITS).rev() {
        for coordinate in cells.iter().rev() {
            key = key << 1 | (coordinate >> bit & 1);
        }
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_stays_in_a_cell_before_it_goes_on() {
        let at = |x: f64, y: f64, z: f64| morton(DVec3::new(x, y, z));
        assert!(at(0.5, 0.5, 0.5) < at(1.5, 1.5, 1.5));
        assert!(at(1.5, 1.5, 1.5) < at(2.5, 0.5, 0.5));
        assert!(at(-0.5, 0.5, 0.5) < at(0.5, 0.5, 0.5));
        assert!(at(f64::NAN, 1e300, -1e300) > 0);
    }
}
