//! The plain form of a back end: one contact after another, in the order of the plan. It knows
//! neither copies nor joints.

use std::ops::Range;

use esker_contact::{BodyState, Contact, Impulse, Spring};
use esker_parallel::Team;
use esker_solver::backend::{
    Exchange, Partners, SubstepBackend, SubstepProblem, SubstepRun, SubstepState, VelocityChange,
};
use esker_solver::device::DeviceError;
use esker_solver::packed::Row;
use esker_solver::plan::SweepPlan;
use esker_solver::substep::{Impact, SubStepper, Substeps};
use glam::DVec3;

/// One contact after another.
#[derive(Default)]
pub struct ReferenceBackend {
    contacts: Vec<Contact>,
    springs: Vec<Spring>,
    impulses: Vec<Impulse>,
    follows: Vec<bool>,
    impacts: Vec<Impact>,
    stepper: SubStepper,
    moved: Vec<[DVec3; 2]>,
    tracked: Vec<Impulse>,
}

/// Contacts of a colour, as places of the plan's order.
fn contacts_of(plan: &SweepPlan, colour: usize) -> Range<usize> {
    let start = |colour: usize| {
        let block = plan.colours[colour] as usize;
        plan.groups[plan.blocks[block] as usize] as usize
    };
    start(colour)..start(colour + 1)
}

impl ReferenceBackend {
    /// Calls `with` with what the scalar substeps work on.
    fn with<T>(
        &mut self,
        problem: SubstepProblem<'_>,
        bodies: &mut [BodyState],
        run: SubstepRun<'_>,
        with: impl FnOnce(&mut SubStepper, &mut Substeps<'_>) -> T,
    ) -> T {
        let mut substeps = Substeps {
            contacts: &mut self.contacts,
            general: problem.general,
            substeps: run.substeps,
            follows: &self.follows,
            springs: &mut self.springs,
            impacts: &self.impacts,
            impulses: &mut self.impulses,
            bodies,
            step: run.step,
            gravity: run.gravity,
            accelerations: run.accelerations,
            compliance: problem.compliance,
        };
        with(&mut self.stepper, &mut substeps)
    }
}

impl SubstepBackend for ReferenceBackend {
    fn upload(
        &mut self,
        _team: &mut Team,
        problem: SubstepProblem<'_>,
        _bodies: &[BodyState],
        row: impl Fn(usize) -> Row + Sync,
    ) -> Result<(), DeviceError> {
        assert!(problem.plan.copies.is_empty());
        let rows: Vec<Row> = (0..problem.plan.contacts()).map(row).collect();
        let laws = || {
            let indices = problem.plan.laws_of_contacts();
            indices.map(|law| &problem.laws[law as usize])
        };
        self.contacts = rows.iter().map(|row| row.contact).collect();
        self.springs = rows.iter().map(|row| row.spring).collect();
        self.impulses = rows.iter().map(|row| row.impulse).collect();
        self.follows = laws().map(|law| law.follows).collect();
        let impacts = laws().map(|law| Impact {
            restitution: law.restitution,
            speed: law.impact_speed,
        });
        self.impacts = impacts.collect();
        Ok(())
    }

    fn advance<E: Exchange>(
        &mut self,
        _team: &mut Team,
        problem: SubstepProblem<'_>,
        bodies: &mut [BodyState],
        run: SubstepRun<'_>,
        partners: Partners<'_, '_, E>,
    ) -> Result<usize, DeviceError> {
        assert!(partners.jointed.is_none());
        let plan = problem.plan;
        let colours = plan.colours.len() - 1;
        let mut moved = vec![[DVec3::ZERO; 2]; run.movable];
        let meet = |colour, stepper: &mut SubStepper, s: &mut Substeps<'_>| {
            let changes = stepper.impact_changes();
            let mut state = ScalarState(s.bodies, changes);
            partners.exchange.after_colour(colour, &mut state);
        };
        let (impacts, sums) = self.with(problem, bodies, run, |stepper, s| {
            stepper.begin_bodies(s);
            for colour in 0..colours {
                stepper.apply_impulses(s, contacts_of(plan, colour));
                meet(colour, stepper, s);
            }
            for k in 0..run.substeps {
                if k > 0 {
                    stepper.warm_start_bodies(s);
                }
                for colour in 0..colours {
                    stepper.sweep(s, k, contacts_of(plan, colour));
                    meet(colour, stepper, s);
                }
                for (sum, body) in moved.iter_mut().zip(&*s.bodies) {
                    sum[0] += body.velocity;
                    sum[1] += body.angular_velocity;
                }
            }
            (stepper.impact_count, stepper.impulse_sums.clone())
        });
        self.moved = moved;
        self.tracked = run.tracked.iter().map(|&i| sums[i as usize]).collect();
        Ok(impacts)
    }

    fn residual(
        &mut self,
        _team: &mut Team,
        problem: SubstepProblem<'_>,
        bodies: &[BodyState],
        run: SubstepRun<'_>,
        _row: impl Fn(usize) -> Row + Sync,
    ) -> Result<f64, DeviceError> {
        let mut bodies = bodies.to_vec();
        Ok(self.with(problem, &mut bodies, run, |stepper, s| stepper.residual(s)))
    }

    fn download(
        &mut self,
        _team: &mut Team,
        _plan: &SweepPlan,
        impulses: &mut Vec<Impulse>,
    ) -> Result<(), DeviceError> {
        self.stepper.finish(&mut self.impulses);
        impulses.clone_from(&self.impulses);
        Ok(())
    }

    fn moved(&self, body: usize) -> [DVec3; 2] {
        self.moved[body]
    }

    fn impulse_sums(&self) -> &[Impulse] {
        &self.tracked
    }
}

struct ScalarState<'a>(&'a mut [BodyState], &'a mut [Option<VelocityChange>]);

impl SubstepState for ScalarState<'_> {
    fn velocity(&self, body: usize) -> [DVec3; 2] {
        [self.0[body].velocity, self.0[body].angular_velocity]
    }

    fn set_velocity(&mut self, body: usize, velocity: [DVec3; 2]) {
        [self.0[body].velocity, self.0[body].angular_velocity] = velocity;
    }

    fn impact_change(&self, body: usize) -> Option<VelocityChange> {
        self.1[body]
    }

    fn set_impact_change(&mut self, body: usize, change: VelocityChange) {
        self.1[body] = Some(change);
    }
}
