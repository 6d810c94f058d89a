//! The vector kernel: updates (1)–(4) of [`crate::sweep`] for a group of
//! contacts at once.
//!
//! For spheres a normal impulse leaves the tangential velocity alone, so the
//! friction row starts from the velocities that the normal row was given:
//! one gather, one scatter and one projection onto the tangent plane per
//! contact. The substep form also does equation (2) of [`crate::substep`] or
//! equation (1) of `follow.rs`, and recognises impacts.
//!
//! `unsafe`: the kernel writes to bodies that other threads read and write in
//! other places. [`Work`]'s invariants say what makes that sound.

use std::sync::atomic::{AtomicU16, Ordering};

use esker_contact::BodyState;
use esker_parallel::prefetch_address;
use glam::DVec3;

use crate::follow::turned;
use crate::general_kernel::GeneralKernel;
use crate::lanes::Instructions;
#[cfg(target_arch = "x86_64")]
use crate::lanes::{Avx2, Avx512};
use crate::lanes::{Half, Lanes, Portable, Quad};
use crate::packed::{
    GeneralGroup, GeneralLockedGroup, GeneralRollingGroup, Group, Law, Line, RollingGroup, Rows,
    Wait, set_vector, vector,
};
use crate::plan::LANES;
use crate::row_kernel::{
    Approach, NormalRow, change_friction, change_rolling, cross, dot, load, load3, minus, plus,
    store3, times,
};
use crate::sweep::TangentCompliance;

/// What a sweep works on, as threads share it.
///
/// Invariants, kept by `block_sweep`: the pointers are valid for the lengths
/// of the plan and the bodies for as long as a team runs; a group is worked on
/// by one thread at a time; between two barriers no two groups that are worked
/// on share a body that contacts can move, and bodies that several groups
/// could name are not written (ghosts of walls belong to one contact).
#[derive(Clone, Copy)]
pub(crate) struct Work<'a> {
    pub(crate) groups: *mut Group,
    pub(crate) rolling: *mut RollingGroup,
    /// Whether there are rolling groups.
    pub(crate) rolls: bool,
    /// Of groups of general form, and what they have besides where they roll or
    /// where bodies are locked.
    pub(crate) general: *const GeneralGroup,
    pub(crate) general_rolling: *const GeneralRollingGroup,
    pub(crate) general_locked: *const GeneralLockedGroup,
    /// Index of each group in them; empty where no group is of general form.
    pub(crate) general_of: &'a [u32],
    pub(crate) bodies: *mut BodyState,
    /// Velocities `v°`; null for a whole step.
    pub(crate) before: *const Quad,
    /// Angular velocities at the same time.
    pub(crate) before_angular_velocity: *const Quad,
    /// Per group the substep in which it must be looked at next, or zero for
    /// every one; null for a whole step.
    pub(crate) wake: *mut u16,
    /// Per group, where `wake` is used.
    pub(crate) waits: *const Wait,
    /// Sums of velocities over the substeps done, where `wake` is used.
    pub(crate) moved: *const Quad,
    /// End of each group in the list of contacts.
    pub(crate) group_ends: &'a [u32],
    /// Law of each group.
    pub(crate) group_laws: &'a [u16],
    pub(crate) laws: &'a [Law],
    pub(crate) compliance: TangentCompliance,
    /// Substeps that a group sleeps at most between two looks.
    pub(crate) longest_sleep: f64,
    /// Whether what follows is to be prefetched.
    pub(crate) looks_ahead: bool,
}

impl Work<'_> {
    /// Whether a group takes part in every sweep.
    ///
    /// # Safety
    /// The group is one of the plan's.
    #[inline(always)]
    unsafe fn is_awake(&self, group: usize) -> bool {
        // SAFETY: passed on to the caller.
        self.wake.is_null() || unsafe { self.wake_of(group) }.load(Ordering::Relaxed) == 0
    }

    /// Whether a group has something to do in a substep, to take part or to be looked
    /// at, and whether it is to take part.
    ///
    /// # Safety
    /// The group is one of the plan's.
    #[inline(always)]
    unsafe fn due_and_awake(&self, group: usize, substep: usize) -> (bool, bool) {
        if self.wake.is_null() {
            return (true, true);
        }
        // SAFETY: passed on to the caller.
        let wake = unsafe { self.wake_of(group) }.load(Ordering::Relaxed);
        (usize::from(wake) <= substep, wake == 0)
    }

    /// When a group must be looked at next. Atomic, because threads that look
    /// ahead read it of groups that others work on.
    ///
    /// # Safety
    /// The group is one of the plan's, and there is a `wake`.
    #[inline(always)]
    unsafe fn wake_of(&self, group: usize) -> &AtomicU16 {
        // SAFETY: valid by the invariants; all threads go through here.
        unsafe { AtomicU16::from_ptr(self.wake.add(group)) }
    }
}

// SAFETY: see the invariants of `Work`.
unsafe impl Send for Work<'_> {}
// SAFETY: see the invariants of `Work`.
unsafe impl Sync for Work<'_> {}

/// What to do with a group.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pass {
    /// Apply the impulses that contacts start with.
    WarmStart,
    /// A sweep over a whole step's rows.
    Whole,
    /// The sweep of a substep.
    Substep(SubstepTimes),
}

/// Times of one substep.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SubstepTimes {
    /// Which substep it is.
    pub(crate) index: usize,
    /// Time by which overlaps have changed since they were set: zero in the
    /// first substep, else `h_s`.
    pub(crate) moved: f64,
    /// `h_s`.
    pub(crate) step: f64,
    /// End of the substep, from the middle of the step on, s.
    pub(crate) end: f64,
}

/// Groups whose lines are prefetched: hardware does not
/// follow a sweep across pages, nor to the bodies that contacts name.
const GROUPS_AHEAD: usize = 3;
/// Groups whose sums of velocities are prefetched where they are looked at: the group itself
/// must be there.
const LOOKS_AHEAD: usize = 1;

/// Goes through `groups` once. Slots (group · LANES + lane) that became impact
/// rows are appended to `impacts`.
///
/// # Safety
/// The invariants of [`Work`], and `instructions` that the processor has.
pub(crate) unsafe fn sweep(
    instructions: Instructions,
    work: &Work<'_>,
    groups: std::ops::Range<usize>,
    pass: Pass,
    impacts: &mut Vec<u32>,
) {
    // SAFETY: passed on to the caller.
    unsafe {
        match instructions {
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => sweep_avx512(work, groups, pass, impacts),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => sweep_avx2(work, groups, pass, impacts),
            _ => sweep_lanes::<Portable, Portable>(work, groups, pass, impacts),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn sweep_avx2(
    work: &Work<'_>,
    groups: std::ops::Range<usize>,
    pass: Pass,
    impacts: &mut Vec<u32>,
) {
    // SAFETY: passed on to the caller.
    unsafe { sweep_lanes::<Avx2, Avx2>(work, groups, pass, impacts) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl")]
unsafe fn sweep_avx512(
    work: &Work<'_>,
    groups: std::ops::Range<usize>,
    pass: Pass,
    impacts: &mut Vec<u32>,
) {
    // SAFETY: passed on to the caller.
    unsafe { sweep_lanes::<Avx512, Avx512>(work, groups, pass, impacts) }
}

/// Wide registers for full groups, narrow ones for what is left of others.
#[inline(always)]
unsafe fn sweep_lanes<V: Lanes, N: GeneralKernel>(
    work: &Work<'_>,
    groups: std::ops::Range<usize>,
    pass: Pass,
    impacts: &mut Vec<u32>,
) {
    // SAFETY: passed on to the caller.
    unsafe {
        match pass {
            Pass::WarmStart => start_rows::<V, N>(work, groups),
            Pass::Substep(times) => sweep_rows::<V, N, true>(work, groups, times, impacts),
            Pass::Whole => {
                let unused = SubstepTimes {
                    index: 0,
                    moved: 0.0,
                    step: 1.0,
                    // Rates of whole steps are packed with their time.
                    end: 1.0,
                };
                sweep_rows::<V, N, false>(work, groups, unused, impacts);
            }
        }
    }
}

#[inline(always)]
fn prefetch_lines(lines: *const Line, count: usize) {
    for k in 0..count {
        prefetch_address(lines.wrapping_add(k));
    }
}

/// Asks for what the groups after `g` will need.
#[inline(always)]
unsafe fn prefetch_next(work: &Work<'_>, g: usize, substep: usize) {
    let last = work.group_laws.len() - 1;
    let ahead = (g + GROUPS_AHEAD).min(last);
    // SAFETY: the group is one of the plan's; so below.
    let (is_due, is_awake) = unsafe { work.due_and_awake(ahead, substep) };
    if is_due {
        let lines = work.groups.wrapping_add(ahead).cast::<Line>();
        prefetch_lines(lines, Group::LOOKED_AT);
        if is_awake {
            let rest = size_of::<Group>() / size_of::<Line>() - Group::LOOKED_AT;
            prefetch_lines(lines.wrapping_add(Group::LOOKED_AT), rest);
            if work.rolls {
                let lines = work.rolling.wrapping_add(ahead).cast::<Line>();
                prefetch_lines(lines, size_of::<RollingGroup>() / size_of::<Line>());
            }
        }
    }
    let ahead = (g + LOOKS_AHEAD).min(last);
    // SAFETY: `last` is a group, so this is one too.
    if let (true, false) = unsafe { work.due_and_awake(ahead, substep) } {
        // SAFETY: as above. Another thread may work on the group, but it borrows its
        // rows alone, and nobody writes to the indices of its bodies.
        let bodies = unsafe { &(*work.groups.add(ahead)).bodies };
        for body in bodies.as_flattened() {
            prefetch_address(work.moved.wrapping_add(*body as usize));
        }
    }
}

/// Prefetches the bodies of a block: they are few enough to stay near until it is swept, and
/// every contact that names them finds them there.
pub(crate) fn prefetch_bodies(work: &Work<'_>, bodies: &[u32]) {
    if !work.looks_ahead {
        return;
    }
    for &body in bodies {
        prefetch_address(work.bodies.wrapping_add(body as usize));
        // Null for a whole step; nothing faults.
        prefetch_address(work.before.wrapping_add(body as usize));
    }
}

/// Applies the impulses that contacts start with, as `Contact::apply` does.
#[inline(always)]
unsafe fn start_rows<V: Lanes, N: GeneralKernel>(work: &Work<'_>, groups: std::ops::Range<usize>) {
    for g in groups {
        if work.looks_ahead {
            // SAFETY: passed on to the caller.
            unsafe { prefetch_next(work, g, 0) };
        }
        // SAFETY: passed on to the caller.
        if unsafe { !work.is_awake(g) } {
            continue;
        }
        let law = &work.laws[work.group_laws[g] as usize];
        let rolls = law.rolls;
        let size = (work.group_ends[g + 1] - work.group_ends[g]) as usize;
        let mut first = 0;
        while first < size {
            let lanes = (first, size - first);
            // SAFETY: passed on to the caller.
            unsafe {
                let group = (
                    &*work.groups.add(g),
                    work.rolling.wrapping_add(g).cast_const(),
                );
                if law.general {
                    N::start_general(work, g, law, lanes);
                    first += N::WIDTH;
                } else if lanes.1 > N::WIDTH {
                    start::<V>(work, group, rolls, lanes);
                    first += V::WIDTH;
                } else {
                    start::<N>(work, group, rolls, lanes);
                    first += N::WIDTH;
                }
            }
        }
    }
}

#[inline(always)]
unsafe fn start<V: Lanes>(
    work: &Work<'_>,
    (group, rolling): (&Group, *const RollingGroup),
    rolls: bool,
    (first, active): (usize, usize),
) {
    let Group { bodies, rows: g } = group;
    // SAFETY: the invariants of `Work`.
    unsafe {
        let p = load::<V>(&g.impulse, first);
        if V::bits(V::splat(0.0).less(p)) == 0 {
            return;
        }
        let index_a = bodies[0].as_ptr().add(first);
        let index_b = bodies[1].as_ptr().add(first);
        let n: [V; 3] = load3(g.normal.as_ptr(), first);
        let friction: [V; 3] = load3(g.friction.as_ptr(), first);
        let linear_impulse = plus(times(n, p), friction);
        let moment = cross(n, friction);
        let mut torque_a = times(moment, load::<V>(&g.arms[0], first));
        let mut torque_b = times(moment, load::<V>(&g.arms[1], first));
        if rolls {
            let r = &*rolling;
            let twisting = times(n, load::<V>(&r.twisting, first));
            let torque_impulse = plus(load3(r.rolling.as_ptr(), first), twisting);
            torque_a = plus(torque_a, torque_impulse);
            torque_b = minus(torque_b, torque_impulse);
        }
        let [vx, vy, vz, mass, wx, wy, wz, inertia] = V::gather_bodies(work.bodies, index_a);
        let [vx, vy, vz] = minus([vx, vy, vz], times(linear_impulse, mass));
        let [wx, wy, wz] = minus([wx, wy, wz], times(torque_a, inertia));
        let bodies = [vx, vy, vz, mass, wx, wy, wz, inertia];
        V::scatter_bodies(bodies, work.bodies, index_a, active);
        let [vx, vy, vz, mass, wx, wy, wz, inertia] = V::gather_bodies(work.bodies, index_b);
        let [vx, vy, vz] = plus([vx, vy, vz], times(linear_impulse, mass));
        let [wx, wy, wz] = minus([wx, wy, wz], times(torque_b, inertia));
        let bodies = [vx, vy, vz, mass, wx, wy, wz, inertia];
        V::scatter_bodies(bodies, work.bodies, index_b, active);
    }
}

#[inline(always)]
unsafe fn sweep_rows<V: Lanes, N: GeneralKernel, const SUBSTEP: bool>(
    work: &Work<'_>,
    groups: std::ops::Range<usize>,
    times: SubstepTimes,
    impacts: &mut Vec<u32>,
) {
    for g in groups {
        if work.looks_ahead {
            // SAFETY: passed on to the caller.
            unsafe { prefetch_next(work, g, times.index) };
        }
        let mut times = times;
        // SAFETY: passed on to the caller.
        if unsafe { SUBSTEP && !work.is_awake(g) } {
            // SAFETY: passed on to the caller.
            if unsafe { sleeps_on::<V, N>(work, g, times) } {
                continue;
            }
            times.moved = 0.0;
        }
        let law = &work.laws[work.group_laws[g] as usize];
        let size = (work.group_ends[g + 1] - work.group_ends[g]) as usize;
        let mut first = 0;
        while first < size {
            let active = size - first;
            // SAFETY: passed on to the caller.
            unsafe {
                let lanes = (first, active);
                let impacted = if law.general {
                    N::relax_general::<SUBSTEP>(work, g, law, times, lanes)
                } else if active > N::WIDTH {
                    relax_kind::<V, SUBSTEP>(work, g, law, times, lanes)
                } else {
                    relax_kind::<N, SUBSTEP>(work, g, law, times, lanes)
                };
                if SUBSTEP && impacted != 0 {
                    let slot = (g * LANES + first) as u32;
                    let lanes = 0..active as u32;
                    impacts.extend(lanes.filter(|k| impacted >> k & 1 == 1).map(|k| slot + k));
                }
            }
            first += if active > N::WIDTH && !law.general {
                V::WIDTH
            } else {
                N::WIDTH
            };
        }
    }
}

/// [`relax`] in the form that a law needs.
#[inline(always)]
unsafe fn relax_kind<V: Lanes, const SUBSTEP: bool>(
    work: &Work<'_>,
    g: usize,
    law: &Law,
    times: SubstepTimes,
    lanes: (usize, usize),
) -> u32 {
    // SAFETY: passed on to the caller.
    unsafe {
        let group = (work.groups.add(g), work.rolling.wrapping_add(g));
        match (law.rolls, SUBSTEP && law.follows) {
            (true, true) => relax::<V, SUBSTEP, true, true>(work, group, law, times, lanes),
            (true, false) => relax::<V, SUBSTEP, true, false>(work, group, law, times, lanes),
            (false, true) => relax::<V, SUBSTEP, false, true>(work, group, law, times, lanes),
            (false, false) => relax::<V, SUBSTEP, false, false>(work, group, law, times, lanes),
        }
    }
}

/// Whether a sleeping group has nothing to do in this substep. One whose
/// contacts may close within it is woken for the rest of the step, its
/// geometry brought up to date. Until then a contact's gap is taken along the
/// normal that it had at the start,
///
/// ```text
/// δ = δ_0 − h_s n·Σ (v_b − v_a),
/// ```
///
/// which is less than the true gap of two spheres. The expected closing speed
/// may be wrong where a push passes through a chain of grains, so that the
/// speed of now counts too, and no group sleeps for more than
/// `work.longest_sleep` substeps without a look.
#[inline(always)]
unsafe fn sleeps_on<V: Lanes, N: Lanes>(work: &Work<'_>, g: usize, times: SubstepTimes) -> bool {
    // SAFETY: the invariants of `Work`.
    unsafe {
        let wake = work.wake_of(g);
        if usize::from(wake.load(Ordering::Relaxed)) > times.index {
            return true;
        }
        let group = work.groups.add(g);
        let (bodies, rows) = (&(*group).bodies, &mut (*group).rows);
        let size = (work.group_ends[g + 1] - work.group_ends[g]) as usize;
        let wait = &*work.waits.add(g);
        // Lanes without a contact are a metre open.
        let mut open: Line = [f64::INFINITY; LANES];
        let mut first = 0;
        while first < size {
            if size - first > N::WIDTH {
                look::<V>(work, (bodies, rows, wait), times.step, first, &mut open);
                first += V::WIDTH;
            } else {
                look::<N>(work, (bodies, rows, wait), times.step, first, &mut open);
                first += N::WIDTH;
            }
        }
        // What is no number does not count.
        let sooner = |a: f64, b: f64| if b < a { b } else { a };
        let time = open.into_iter().fold(f64::INFINITY, sooner);
        // An overlap, a gap of zero with a speed of zero: all but a long wait wakes.
        if time >= times.step {
            let next = after(times.index, (time / times.step).min(work.longest_sleep));
            wake.store(next, Ordering::Relaxed);
            return true;
        }
        wake.store(0, Ordering::Relaxed);
        let follows = work.laws[work.group_laws[g] as usize].follows;
        for lane in 0..size {
            bring_up_to_date(work, (bodies, rows), (lane, follows), times.step);
        }
        false
    }
}

/// Brings an open contact to where its bodies are after the substeps done.
unsafe fn bring_up_to_date(
    work: &Work<'_>,
    (bodies, rows): (&[[u32; LANES]; 2], &mut Rows),
    (lane, follows): (usize, bool),
    step: f64,
) {
    let [a, b] = bodies.map(|bodies| {
        // SAFETY: the invariants of `Work`.
        let moved = unsafe { &*work.moved.add(bodies[lane] as usize) };
        DVec3::from_slice(&moved.0)
    });
    let normal = vector(&rows.normal, lane);
    if !follows {
        rows.overlap[lane] -= normal.dot(b - a) * step;
        return;
    }
    let arms = rows.arms.map(|arms| arms[lane]);
    let (normal, arms, deeper) = turned(normal, arms, (b - a) * step);
    set_vector(&mut rows.normal, lane, normal);
    for (arms, arm) in rows.arms.iter_mut().zip(arms) {
        arms[lane] = arm;
    }
    rows.overlap[lane] += deeper;
}

/// The substep so many substeps after another.
#[inline]
pub(crate) fn after(index: usize, substeps: f64) -> u16 {
    // `as` saturates.
    (substeps as u16).saturating_add(index as u16)
}

/// Sets the times, s, that some contacts of a group stay open from now on.
#[inline(always)]
unsafe fn look<V: Lanes>(
    work: &Work<'_>,
    (bodies, rows, wait): (&[[u32; LANES]; 2], &Rows, &Wait),
    step: f64,
    first: usize,
    open: &mut Line,
) {
    // SAFETY: the invariants of `Work`.
    unsafe {
        let n: [V; 3] = load3(rows.normal.as_ptr(), first);
        let index_a = bodies[0].as_ptr().add(first);
        let index_b = bodies[1].as_ptr().add(first);
        let moved = V::gather_differences(work.moved, [index_a, index_b]);
        let gap = dot(n, moved) * V::splat(step) - load::<V>(&rows.overlap, first);
        let approach = dot(n, V::gather_differences(work.before, [index_b, index_a]));
        let closing = V::load_single(wait.closing.as_ptr().add(first));
        (gap / closing.max(approach)).store(open.as_mut_ptr().add(first));
    }
}

/// Relaxes the lanes `first..first + WIDTH` of a group, of which the first
/// `active` are contacts. Returns a bit per impact row.
#[inline(always)]
unsafe fn relax<V: Lanes, const SUBSTEP: bool, const ROLLING: bool, const FOLLOW: bool>(
    work: &Work<'_>,
    (group, rolling): (*mut Group, *mut RollingGroup),
    law: &Law,
    step: SubstepTimes,
    (first, active): (usize, usize),
) -> u32 {
    // SAFETY: the invariants of `Work`.
    unsafe {
        let (bodies, g) = (&(*group).bodies, &mut (*group).rows);
        let index_a = bodies[0].as_ptr().add(first);
        let index_b = bodies[1].as_ptr().add(first);
        let zero = V::splat(0.0);
        let one = V::splat(1.0);

        let mut n: [V; 3] = load3(g.normal.as_ptr(), first);
        let p = load::<V>(&g.impulse, first);
        let is_loaded = V::bits(zero.less(p)) != 0;
        // Rotations are gathered where they are needed: of contacts that stay open they are
        // not, and of others registers are short until then.
        let [vax, vay, vaz, mass_a] = V::gather_half(work.bodies, index_a, Half::Linear);
        let [vbx, vby, vbz, mass_b] = V::gather_half(work.bodies, index_b, Half::Linear);
        let (mut va, mut vb) = ([vax, vay, vaz], [vbx, vby, vbz]);
        let mobility = mass_a + mass_b;
        let mut turning = None;

        let mut impacted = 0;
        let (u_n, dv, row);
        if SUBSTEP {
            let apart = V::gather_differences(work.before, [index_a, index_b]);
            let (overlap, u_before);
            if FOLLOW && step.moved > 0.0 {
                // Equation (1) of `follow.rs`.
                let arms: [V; 2] = [load(&g.arms[0], first), load(&g.arms[1], first)];
                let distance = arms[0] + arms[1];
                let branch = plus(times(n, distance), times(apart, V::splat(step.moved)));
                let moved = dot(branch, branch).sqrt();
                let turned = times(branch, one / moved);
                let change = moved - distance;
                let longer = V::splat(0.5) * change;
                let turned_arms = [arms[0] + longer, arms[1] + longer];
                if is_loaded {
                    let old: [V; 3] = load3(g.friction.as_ptr(), first);
                    let new = minus(old, times(turned, dot(turned, old)));
                    store3(new, g.friction.as_mut_ptr(), first);
                    let linear_impulse = plus(times(minus(turned, n), p), minus(new, old));
                    va = minus(va, times(linear_impulse, mass_a));
                    vb = plus(vb, times(linear_impulse, mass_b));
                    let (moment, turned_moment) = (cross(n, old), cross(turned, new));
                    // No closure: it would not have the instructions of its caller.
                    let [mut torque_a, mut torque_b] = [
                        minus(times(turned_moment, turned_arms[0]), times(moment, arms[0])),
                        minus(times(turned_moment, turned_arms[1]), times(moment, arms[1])),
                    ];
                    if ROLLING {
                        let r = &mut *rolling;
                        let old: [V; 3] = load3(r.rolling.as_ptr(), first);
                        let new = minus(old, times(turned, dot(turned, old)));
                        store3(new, r.rolling.as_mut_ptr(), first);
                        let twist = times(minus(turned, n), load::<V>(&r.twisting, first));
                        let torque_impulse = plus(minus(new, old), twist);
                        torque_a = plus(torque_a, torque_impulse);
                        torque_b = minus(torque_b, torque_impulse);
                    }
                    turning = Some([torque_a, torque_b]);
                }
                n = turned;
                store3(n, g.normal.as_mut_ptr(), first);
                turned_arms[0].store(g.arms[0].as_mut_ptr().add(first));
                turned_arms[1].store(g.arms[1].as_mut_ptr().add(first));
                u_before = dot(n, apart);
                overlap = load::<V>(&g.overlap, first) - change;
            } else {
                u_before = dot(n, apart);
                overlap = load::<V>(&g.overlap, first) - V::splat(step.moved) * u_before;
            }
            dv = minus(vb, va);
            u_n = dot(n, dv);
            let approach = Approach {
                overlap,
                before: u_before,
                now: u_n,
                mobility,
                impulse: p,
            };
            let substep;
            (substep, impacted) = NormalRow::of_substep(g, law, step.step, first, approach);
            let Some(substep) = substep else {
                return impacted;
            };
            row = substep;
        } else {
            row = NormalRow::of_whole_step(g, first);
            dv = minus(vb, va);
            u_n = dot(n, dv);
        }
        let p_new = row.impulse(p, u_n, mobility);
        if V::bits(zero.less(p.max(p_new))) == 0 {
            // Open before and after: nothing else can change.
            return impacted;
        }
        p_new.store(g.impulse.as_mut_ptr().add(first));
        let mut linear_impulse = times(n, p_new - p);
        let [wax, way, waz, inertia_a] = V::gather_half(work.bodies, index_a, Half::Angular);
        let [wbx, wby, wbz, inertia_b] = V::gather_half(work.bodies, index_b, Half::Angular);
        let (mut wa, mut wb) = ([wax, way, waz], [wbx, wby, wbz]);
        if let Some([torque_a, torque_b]) = turning {
            wa = minus(wa, times(torque_a, inertia_a));
            wb = minus(wb, times(torque_b, inertia_b));
        }

        if law.friction > 0.0 {
            let (arm_a, arm_b) = (load::<V>(&g.arms[0], first), load::<V>(&g.arms[1], first));
            let slip = cross(plus(times(wa, arm_a), times(wb, arm_b)), n);
            let u_t = minus(minus(dv, times(n, u_n)), slip);
            let bound = V::splat(law.friction) * p_new;
            let factor = work.compliance.friction_factor();
            let change = change_friction(g, first, u_t, bound, factor);
            linear_impulse = plus(linear_impulse, change);
            let moment = cross(n, change);
            wa = minus(wa, times(moment, arm_a * inertia_a));
            wb = minus(wb, times(moment, arm_b * inertia_b));
        }

        if ROLLING {
            let angular_velocity = (minus(wb, wa), n);
            let factor = work.compliance.rolling_factor();
            let torque_impulse =
                change_rolling(&mut *rolling, first, angular_velocity, p_new, factor);
            wa = minus(wa, times(torque_impulse, inertia_a));
            wb = plus(wb, times(torque_impulse, inertia_b));
        }

        let va = minus(va, times(linear_impulse, mass_a));
        let vb = plus(vb, times(linear_impulse, mass_b));
        V::scatter_bodies(
            [va[0], va[1], va[2], mass_a, wa[0], wa[1], wa[2], inertia_a],
            work.bodies,
            index_a,
            active,
        );
        V::scatter_bodies(
            [vb[0], vb[1], vb[2], mass_b, wb[0], wb[1], wb[2], inertia_b],
            work.bodies,
            index_b,
            active,
        );
        impacted
    }
}
