//! The residual of all contacts of a plan.
//!
//! Contacts are summed group by group, and groups exactly: who sums which groups, and in what
//! order, does not enter.

use esker_contact::{BodyState, Impulse, ResidualSum, RowCompliance};
use esker_parallel::{ExactSum, Team};
use glam::DVec3;

use crate::backend::{SubstepProblem, SubstepRun};
use crate::packed::Row;
use crate::plan::SweepPlan;
use crate::substep::time_of_end;

/// What a step of substeps left of its contacts and bodies, for the residual. A contact is
/// named by its group and lane, and by its place in the plan's order.
pub trait SweptContacts: Sync {
    /// Gives a row the geometry that its contact has now and the spring that it is swept
    /// with, but for its bias rate, which follows.
    fn bring_up_to_date(&self, row: &mut Row, at: [usize; 2], place: usize);

    /// Impulse of the last substep; anything of an impact.
    fn impulse(&self, at: [usize; 2], place: usize) -> Impulse;

    /// Whether the contacts of a group are still as they were at the start of the step.
    fn is_asleep(&self, group: usize) -> bool;

    /// Whether a contact was an impact row in the last substep.
    fn is_impact(&self, at: [usize; 2], place: usize) -> bool;

    /// `v°` and `ω°` of the last substep, of a body in the list with copies.
    fn before(&self, body: usize) -> [DVec3; 2];

    /// Sum of a body's velocities over the substeps.
    fn moved(&self, body: usize) -> DVec3;
}

/// Residual of the last substep's rows.
pub fn substep_residual(
    team: &mut Team,
    problem: SubstepProblem<'_>,
    bodies: &[BodyState],
    run: SubstepRun<'_>,
    row: impl Fn(usize) -> Row + Sync,
    swept: &impl SweptContacts,
) -> f64 {
    let plan = problem.plan;
    let fall = run.gravity * run.step;
    let before = |k: u32| swept.before(plan.copies.place_of(k) as usize);
    let free = |k: u32| {
        let body = bodies[k as usize];
        let [mut velocity, angular_velocity] = before(k);
        if body.inverse_mass > 0.0 {
            velocity += fall;
        }
        let mut free = BodyState {
            velocity,
            angular_velocity,
            ..body
        };
        let one = std::slice::from_mut(&mut free);
        run.accelerations.act(k as usize, one, run.step);
        free
    };
    residual_of(team, plan, |sum, g, lane, i| {
        let (at, mut row) = ([g, lane], row(i));
        let law = &problem.laws[plan.laws[g] as usize];
        swept.bring_up_to_date(&mut row, at, i);
        row.spring.bias_rate = law.bias_rate * row.spring.damping_factor;
        let contact = &row.contact;
        if swept.is_asleep(g) {
            // As it was at the start of the step.
            let moved = |k: u32| swept.moved(k as usize) - bodies[k as usize].velocity;
            let [a, b] = contact.bodies.map(moved);
            row.spring.overlap -= run.step * contact.normal.dot(b - a);
        }
        let end = time_of_end(run.substeps - 1, run.substeps, run.step);
        let rows = contact.rows(problem.general, end);
        let [a, b] = contact.bodies.map(|k| {
            let [velocity, angular_velocity] = before(k);
            BodyState {
                velocity,
                angular_velocity,
                ..Default::default()
            }
        });
        let at_start = contact.rows(problem.general, end - run.step);
        let u_n = at_start.normal_velocity(&a, &b);
        let free = contact.bodies.map(free);
        if swept.is_impact(at, i) {
            sum.add_impact(rows, -law.restitution * u_n, [&free[0], &free[1]]);
            return;
        }
        let (target, normal) = row.spring.row(u_n, run.step);
        let compliance = RowCompliance {
            normal,
            tangent: problem.compliance.friction,
            rolling: problem.compliance.rolling,
        };
        let now = contact.bodies.map(|k| &bodies[k as usize]);
        let impulse = swept.impulse(at, i);
        if impulse.normal > 0.0 {
            sum.add_weight(rows, now, fall.length());
        }
        sum.add(
            rows,
            target,
            compliance,
            now,
            [&free[0], &free[1]],
            &impulse,
        );
    })
}

/// Sums a residual over all contacts: `add(sum, group, lane, descriptor)`.
pub(crate) fn residual_of(
    team: &mut Team,
    plan: &SweepPlan,
    add: impl Fn(&mut ResidualSum, usize, usize, usize) + Sync,
) -> f64 {
    let sums = team.reduce(plan.group_count(), |sums: &mut [ExactSum; 5], g| {
        let mut group = ResidualSum::default();
        for (lane, i) in (plan.groups[g]..plan.groups[g + 1]).enumerate() {
            add(&mut group, g, lane, i as usize);
        }
        let ResidualSum {
            current,
            start,
            weight,
            carried,
            rounding,
        } = group;
        for (sum, x) in sums
            .iter_mut()
            .zip([current, start, weight, carried, rounding])
        {
            sum.add(x);
        }
    });
    let [current, start, weight, carried, rounding] = sums.map(|sum| sum.value());
    let whole = ResidualSum {
        current,
        start,
        weight,
        carried,
        rounding,
    };
    whole.relative()
}
