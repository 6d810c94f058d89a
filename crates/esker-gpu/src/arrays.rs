//! The arrays of a step, and where they lie in the memories of contacts and bodies.

use std::ops::Range;

use esker_contact::BodyState;
use esker_solver::backend::{SubstepProblem, SubstepRun};
use esker_solver::energy_losses::GROUPS_PER_LOSS;
use esker_solver::plan::{LANES, SweepPlan};

use crate::layout::{BlockRecord, LawRecord, OriginalRecord, StepRecord, TurnsRecord};
use crate::memory::{Array, DeviceMemory, Layout};

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

/// Sizes of the contacts' memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ContactSizes {
    pub(crate) contacts: usize,
    pub(crate) groups: usize,
    pub(crate) blocks: usize,
    pub(crate) rolls: bool,
}

/// Places of contacts on a device: those of a flat plan lie in whole groups.
pub(crate) fn places(plan: &SweepPlan) -> usize {
    match plan.is_flat {
        true => LANES * plan.group_count(),
        false => plan.contacts(),
    }
}

impl ContactSizes {
    pub(crate) fn of(plan: &SweepPlan, rolls: bool) -> Self {
        ContactSizes {
            contacts: places(plan),
            groups: plan.group_count(),
            blocks: plan.blocks.len() - 1,
            rolls,
        }
    }
}

impl ContactArrays {
    pub(crate) fn new(layout: &mut Layout, sizes: ContactSizes) -> Self {
        let ContactSizes {
            contacts,
            groups,
            blocks,
            rolls,
        } = sizes;
        let rolling = if rolls { contacts } else { 0 };
        // Fields are placed in the order in which they are written here.
        ContactArrays {
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
        }
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
    pub(crate) turns: Array<TurnsRecord>,
    pub(crate) in_turn: Array<u32>,
    pub(crate) masses: [Array<f64>; 4],
}

/// Sizes of the bodies' memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BodySizes {
    pub(crate) laws: usize,
    pub(crate) originals: usize,
    pub(crate) accelerations: usize,
    pub(crate) contacts: usize,
    pub(crate) bodies: usize,
    pub(crate) movable: usize,
    pub(crate) tracked: usize,
    pub(crate) substeps: usize,
    /// Contacts whose losses are found, and sums of them.
    pub(crate) losses: [usize; 2],
}

impl BodySizes {
    pub(crate) fn of(
        problem: SubstepProblem<'_>,
        run: &SubstepRun<'_>,
        bodies: usize,
        has_losses: bool,
    ) -> Self {
        let plan = problem.plan;
        BodySizes {
            laws: problem.laws.len(),
            originals: plan.copies.all().len(),
            accelerations: run.accelerations.list.len(),
            contacts: places(plan),
            bodies,
            movable: run.movable,
            tracked: run.tracked.len(),
            substeps: run.substeps,
            losses: match has_losses {
                true => [places(plan), loss_ranges(plan).count()],
                false => [0, 0],
            },
        }
    }
}

impl BodyArrays {
    pub(crate) fn new(layout: &mut Layout, sizes: BodySizes) -> Self {
        let [losses, ranges] = sizes.losses;
        // Fields are placed in the order in which they are written here.
        BodyArrays {
            step: layout.array(1),
            laws: layout.array(sizes.laws),
            original: layout.array(sizes.originals),
            acceleration: layout.array(6 * sizes.accelerations),
            tracked: layout.array(sizes.contacts),
            plan_place: layout.array(losses),
            loss_ranges: layout.array(ranges),
            state: layout.array(sizes.bodies),
            moved: layout.array(8 * sizes.movable),
            sums: layout.array(8 * sizes.tracked),
            impact_counts: layout.array(sizes.substeps + 1),
            loss_sum: layout.array(4 * ranges.saturating_sub(1)),
            losses: layout.array(4 * losses),
            before: layout.array(8 * sizes.bodies),
            change: layout.array(6 * sizes.movable),
            impacted: layout.array(sizes.movable),
            turns: layout.array(sizes.bodies),
            in_turn: layout.array(2 * sizes.contacts),
            masses: layout.arrays(sizes.contacts),
        }
    }
}

/// A record that says where all of these are, and nothing else.
pub(crate) fn addresses<M: DeviceMemory>(
    (c, contacts): (&ContactArrays, &M),
    (b, own): (&BodyArrays, &M),
) -> StepRecord {
    StepRecord {
        laws: b.laws.address(own),
        block: c.block.address(contacts),
        level: c.level.address(contacts),
        body_list: c.body_list.address(contacts),
        original: b.original.address(own),
        acceleration: b.acceleration.address(own),
        state: b.state.address(own),
        before: b.before.address(own),
        moved: b.moved.address(own),
        change: b.change.address(own),
        impacted: b.impacted.address(own),
        turns: b.turns.address(own),
        in_turn: b.in_turn.address(own),
        masses: b.masses.map(|array| array.address(own)),
        open_time: c.open_time.address(contacts),
        last_body: c.last_body.address(contacts),
        wake: c.wake.address(contacts),
        soonest: c.soonest.address(contacts),
        contact_bodies: c.contact_bodies.address(contacts),
        group: c.group.address(contacts),
        law: c.law.address(contacts),
        tracked: b.tracked.address(own),
        plan_place: b.plan_place.address(own),
        normal: c.normal.map(|array| array.address(contacts)),
        overlap: c.overlap.address(contacts),
        arms: c.arms.map(|array| array.address(contacts)),
        compliance: c.compliance.address(contacts),
        inverse_tangent: c.inverse_tangent.address(contacts),
        cap: c.cap.address(contacts),
        min_overlap: c.min_overlap.address(contacts),
        damping_factor: c.damping_factor.address(contacts),
        closing: c.closing.address(contacts),
        impulse: c.impulse.address(contacts),
        friction: c.friction.map(|array| array.address(contacts)),
        rolling_limit: c.rolling_limit.address(contacts),
        twisting_limit: c.twisting_limit.address(contacts),
        inverse_rolling: c.inverse_rolling.address(contacts),
        rolling: c.rolling.map(|array| array.address(contacts)),
        twisting: c.twisting.address(contacts),
        is_impact: c.is_impact.address(contacts),
        sums: b.sums.address(own),
        impact_counts: b.impact_counts.address(own),
        losses: b.losses.address(own),
        loss_sum: b.loss_sum.address(own),
        loss_ranges: b.loss_ranges.address(own),
        ..StepRecord::default()
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
