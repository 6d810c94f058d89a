//! Times of the sweep alone, on the contacts of a settled bed: the scalar
//! reference, and the block sweep on every instruction set.

use std::time::Instant;

use esker_contact::{BodyState, Contact, ContactProblem, Impulse};
use esker_parallel::Team;
use esker_solver::backend::{Partners, SubstepBackend, SubstepProblem, SubstepRun};
use esker_solver::block_sweep::BlockSweeper;
use esker_solver::lanes::Instructions;
use esker_solver::packed::{Packing, Row, RowKind};
use esker_solver::substep::{Accelerations, Impact, SubStepper, Substeps};
use esker_solver::sweep::{Diagonal, relax};
use esker_world::{LastProblem, World};
use serde::Serialize;

/// Sweeps per timing.
const SWEEPS: usize = 10;

/// Which way of stepping a sweep belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// One sweep per substep, overlaps updated.
    SubStepped,
    /// Plain sweeps over fixed rows.
    WholeStep,
}

/// One timing.
#[derive(Clone, Debug, Serialize)]
pub struct KernelTime {
    /// Way of stepping.
    pub way: Way,
    /// Rows per contact.
    pub rows: usize,
    /// Instruction set, or `scalar_reference`.
    pub code: &'static str,
    /// Threads.
    pub threads: usize,
    /// Grains of the bed.
    pub grains: usize,
    /// Contacts of the bed.
    pub contacts: usize,
    /// Share of the lanes that hold a contact.
    pub lane_fill: f64,
    /// Best time per contact and sweep, s.
    pub seconds_per_contact_iteration: f64,
}

/// The contacts of a world's last step, ready to be swept again and again.
pub struct Sweeps<'a> {
    problem: LastProblem<'a>,
    run: SubstepRun<'a>,
    rows_per_contact: usize,
    repeats: usize,
}

impl<'a> Sweeps<'a> {
    /// The contacts of the last step of `world`.
    pub fn of(world: &'a World, rows_per_contact: usize, repeats: usize) -> Self {
        let mut problem = world.last_problem();
        for row in &mut problem.rows {
            // What a whole step would start from.
            (row.contact.target, row.contact.compliance) = row.spring.row(0.0, world.substep());
        }
        let run = SubstepRun {
            substeps: SWEEPS,
            step: world.substep(),
            gravity: world.gravity(),
            accelerations: Accelerations::default(),
            tracked: &problem.plan.fixed,
            movable: world.grains().len(),
            longest_sleep: f64::INFINITY,
        };
        Sweeps {
            problem,
            run,
            rows_per_contact,
            repeats,
        }
    }

    fn time(&self, way: Way, code: &'static str, threads: usize, best: f64) -> KernelTime {
        let contacts = self.problem.rows.len();
        KernelTime {
            way,
            rows: self.rows_per_contact,
            code,
            threads,
            grains: self.run.movable,
            contacts,
            lane_fill: self.problem.plan.fill(),
            seconds_per_contact_iteration: best / (contacts * SWEEPS) as f64,
        }
    }

    /// The smallest time of several runs, each from the same start.
    fn best(&self, mut run: impl FnMut(Vec<BodyState>) -> f64) -> f64 {
        (0..self.repeats)
            .map(|_| run(self.problem.bodies.to_vec()))
            .fold(f64::INFINITY, f64::min)
    }

    /// The scalar reference in the same order.
    pub fn reference(&self, way: Way) -> KernelTime {
        let column = |f: fn(&Row) -> Contact| self.problem.rows.iter().map(f).collect::<Vec<_>>();
        let contacts = column(|r| r.contact);
        let laws = || {
            let indices = self.problem.plan.laws_of_contacts();
            indices.map(|law| self.problem.laws[law as usize])
        };
        let impacts: Vec<_> = laws()
            .map(|law| Impact {
                restitution: law.restitution,
                speed: law.impact_speed,
            })
            .collect();
        let follows: Vec<_> = laws().map(|law| law.follows).collect();
        let compliance = self.problem.compliance;
        let best = self.best(|mut bodies| {
            let mut impulses: Vec<Impulse> = self.problem.rows.iter().map(|r| r.impulse).collect();
            let mut springs: Vec<_> = self.problem.rows.iter().map(|r| r.spring).collect();
            if way == Way::SubStepped {
                let mut substeps = Substeps {
                    contacts: &mut contacts.clone(),
                    general: self.problem.general,
                    substeps: SWEEPS,
                    follows: &follows,
                    springs: &mut springs,
                    impacts: &impacts,
                    impulses: &mut impulses,
                    bodies: &mut bodies,
                    step: self.run.step,
                    gravity: self.run.gravity,
                    accelerations: Accelerations::default(),
                    compliance,
                };
                let mut stepper = SubStepper::default();
                let start = Instant::now();
                stepper.begin(&mut substeps);
                for k in 0..SWEEPS {
                    stepper.substep(&mut substeps, k);
                }
                return start.elapsed().as_secs_f64();
            }
            let diagonals: Vec<_> = contacts
                .iter()
                .map(|c| Diagonal::of(c.rows(self.problem.general, 0.0), &bodies, compliance))
                .collect();
            let start = Instant::now();
            for _ in 0..SWEEPS {
                for ((contact, diagonal), impulse) in
                    contacts.iter().zip(&diagonals).zip(&mut impulses)
                {
                    let pair = ContactProblem::bodies_of(&mut bodies, contact);
                    let normal = (contact.target, contact.compliance);
                    let rows = contact.rows(self.problem.general, 0.0);
                    relax(rows, diagonal, normal, compliance, pair, impulse);
                }
            }
            start.elapsed().as_secs_f64()
        });
        self.time(way, "scalar_reference", 1, best)
    }

    /// The block sweep.
    pub fn block(&self, way: Way, instructions: Instructions, team: &mut Team) -> KernelTime {
        let mut sweeper = BlockSweeper::with_instructions(instructions);
        let LastProblem {
            plan,
            laws,
            compliance,
            ref rows,
            ..
        } = self.problem;
        let general = self.problem.general;
        let problem = SubstepProblem {
            plan,
            laws,
            compliance,
            general,
        };
        let packing = Packing {
            kind: RowKind::Whole,
            laws,
            compliance,
            general,
            time: 0.0,
        };
        let row = |i: usize| rows[i];
        let threads = team.threads();
        let best = self.best(|mut bodies| match way {
            Way::SubStepped => {
                let never = "the processor does not fail";
                sweeper.upload(team, problem, &bodies, row).expect(never);
                let (start, partners) = (Instant::now(), Partners::alone(None));
                let advanced = sweeper.advance(team, problem, &mut bodies, self.run, partners);
                advanced.expect(never);
                start.elapsed().as_secs_f64()
            }
            Way::WholeStep => {
                sweeper.packed.pack(team, plan, packing, &bodies, row);
                let start = Instant::now();
                sweeper.sweeps(team, plan, &mut bodies, compliance, SWEEPS);
                start.elapsed().as_secs_f64()
            }
        });
        self.time(way, instructions.name(), threads, best)
    }
}
