//! The arrays of a step, and where they lie in the memories of contacts and bodies.

use std::ops::Range;

use esker_contact::BodyState;
use esker_solver::backend::{SubstepProblem, SubstepRun};
use esker_solver::energy_losses::GROUPS_PER_LOSS;
use esker_solver::plan::SweepPlan;

use crate::layout::{BlockRecord, LawRecord, OriginalRecord, StepRecord};
use crate::memory::{Array, Layout};

/// Arrays of the contacts' memory. Capacities of lists follow from the number of contacts, so
/// that a block knows its places before others are done: `2 c` bodies, `c + 1` levels.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ContactArrays {
    pub(crate) block: Array<BlockRecord>,
    pub(crate) level: Array<u32>,
    pub(crate) body_list: Array<u32>,
    pub(crate) open_time: Array<f64>,
    pub(crate) last_body: Array<u32>,
    pub(crate) contact_bodies: Array<u32>,
    pub(crate) group: Array<u32>,
    pub(crate) law: Array<u16>,
    pub(crate) compliance: Array<f64>,
    pub(crate) inverse_tangent: Array<f32>,
    pub(crate) cap: Array<f32>,
    pub(crate) min_overlap: Array<f32>,
    pub(crate) damping_factor: Array<f32>,
    pub(crate) closing: Array<f32>,
    pub(crate) rolling_limit: Array<f64>,
    pub(crate) twisting_limit: Array<f64>,
    pub(crate) inverse_rolling: Array<f64>,
    pub(crate) normal: [Array<f64>; 3],
    pub(crate) overlap: Array<f64>,
    pub(crate) arms: [Array<f64>; 2],
    pub(crate) impulse: Array<f64>,
    pub(crate) friction: [Array<f64>; 3],
    pub(crate) rolling: [Array<f64>; 3],
    pub(crate) twisting: Array<f64>,
    pub(crate) is_impact: Array<u32>,
    pub(crate) wake: Array<u32>,
    pub(crate) soonest: Array<u64>,
    pub(crate) rolls: bool,
}

impl ContactArrays {
    pub(crate) fn new(plan: &SweepPlan, rolls: bool) -> (Self, usize) {
        let mut layout = Layout::default();
        let (contacts, groups) = (plan.contacts(), plan.group_count());
        let blocks = plan.blocks.len() - 1;
        let rolling = if rolls { contacts } else { 0 };
        // Fields are placed in the order in which they are written here.
        let arrays = ContactArrays {
            block: layout.array(blocks),
            level: layout.array(contacts),
            body_list: layout.array(2 * contacts),
            open_time: layout.array(groups),
            last_body: layout.array(groups),
            contact_bodies: layout.array(2 * contacts),
            group: layout.array(contacts),
            law: layout.array(contacts),
            compliance: layout.array(contacts),
            inverse_tangent: layout.array(contacts),
            cap: layout.array(contacts),
            min_overlap: layout.array(contacts),
            damping_factor: layout.array(contacts),
            closing: layout.array(contacts),
            rolling_limit: layout.array(rolling),
            twisting_limit: layout.array(rolling),
            inverse_rolling: layout.array(rolling),
            normal: layout.arrays(contacts),
            overlap: layout.array(contacts),
            arms: layout.arrays(contacts),
            impulse: layout.array(contacts),
            friction: layout.arrays(contacts),
            rolling: layout.arrays(rolling),
            twisting: layout.array(rolling),
            is_impact: layout.array(contacts),
            wake: layout.array(groups),
            soonest: layout.array(groups),
            rolls,
        };
        (arrays, layout.end())
    }
}

/// Arrays of the bodies' memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BodyArrays {
    pub(crate) step: Array<StepRecord>,
    pub(crate) laws: Array<LawRecord>,
    pub(crate) original: Array<OriginalRecord>,
    pub(crate) acceleration: Array<f64>,
    pub(crate) tracked: Array<u32>,
    pub(crate) plan_place: Array<u32>,
    pub(crate) loss_ranges: Array<u32>,
    pub(crate) state: Array<BodyState>,
    pub(crate) moved: Array<f64>,
    pub(crate) sums: Array<f64>,
    pub(crate) impact_counts: Array<u32>,
    pub(crate) loss_sum: Array<f64>,
    pub(crate) losses: Array<f64>,
    pub(crate) before: Array<f64>,
    pub(crate) change: Array<f64>,
    pub(crate) impacted: Array<u32>,
}

impl BodyArrays {
    pub(crate) fn new(
        problem: SubstepProblem<'_>,
        run: &SubstepRun<'_>,
        bodies: usize,
        has_losses: bool,
    ) -> (Self, usize) {
        let mut layout = Layout::default();
        let plan = problem.plan;
        let [contacts, ranges] = match has_losses {
            true => [plan.contacts(), loss_ranges(plan).count()],
            false => [0, 0],
        };
        // Fields are placed in the order in which they are written here.
        let arrays = BodyArrays {
            step: layout.array(1),
            laws: layout.array(problem.laws.len()),
            original: layout.array(plan.copies.all().len()),
            acceleration: layout.array(6 * run.accelerations.list.len()),
            tracked: layout.array(plan.contacts()),
            plan_place: layout.array(contacts),
            loss_ranges: layout.array(ranges),
            state: layout.array(bodies),
            moved: layout.array(8 * run.movable),
            sums: layout.array(8 * run.tracked.len()),
            impact_counts: layout.array(run.substeps),
            loss_sum: layout.array(4 * ranges.saturating_sub(1)),
            losses: layout.array(4 * contacts),
            before: layout.array(8 * bodies),
            change: layout.array(6 * run.movable),
            impacted: layout.array(run.movable),
        };
        (arrays, layout.end())
    }
}

/// Contacts whose losses the CPU sums together, as the places where they begin and the end.
pub(crate) fn loss_ranges(plan: &SweepPlan) -> impl Iterator<Item = u32> {
    let starts = plan.groups[..plan.group_count()]
        .iter()
        .step_by(GROUPS_PER_LOSS);
    starts.copied().chain([plan.contacts() as u32])
}

/// Bytes from the first of one array to the end of another.
pub(crate) fn span<A, B>(first: &Array<A>, last: &Array<B>) -> Range<usize> {
    first.bytes().start..last.bytes().end
}
