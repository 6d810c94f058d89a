//! The vector kernel of contacts of the general form: updates (1)–(4) of
//! [`crate::sweep`] with arms that are no multiples of the normal, inertia that
//! is not isotropic, and rates (see `esker_contact::GeneralContact`).
//!
//! The rows are those of `kernel.rs`; what differs is how relative velocities
//! are gathered and impulses scattered. A group takes so long that it is worth a
//! call: kernels of spheres are not burdened with the code of this one.

use crate::kernel::{SubstepTimes, Work};
#[cfg(target_arch = "x86_64")]
use crate::lanes::{Avx2, Avx512};
use crate::lanes::{Lanes, Portable};
use crate::packed::{GeneralLockedGroup, Group, Law, Line};
use crate::row_kernel::{
    Approach, NormalRow, change_friction, change_rolling, dot, load, load3, minus, plus, times,
};

/// Instructions that general groups are swept with.
///
/// # Safety
/// For all functions: the invariants of [`Work`], the group is of general form, and the
/// processor has the instructions.
pub(crate) trait GeneralKernel: Lanes {
    /// Applies the impulses that contacts start with.
    unsafe fn start_general(work: &Work<'_>, g: usize, law: &Law, lanes: (usize, usize));

    /// Relaxes the lanes `first..first + WIDTH` of a group, of which the first
    /// `active` are contacts. Returns a bit per impact row.
    unsafe fn relax_general<const SUBSTEP: bool>(
        work: &Work<'_>,
        g: usize,
        law: &Law,
        step: SubstepTimes,
        lanes: (usize, usize),
    ) -> u32;
}

/// Implements [`GeneralKernel`] with functions of their own that may use these
/// processor features.
macro_rules! general_kernel {
    ($lanes:ident $(, $features:literal)?) => {
        impl GeneralKernel for $lanes {
            unsafe fn start_general(work: &Work<'_>, g: usize, law: &Law, lanes: (usize, usize)) {
                $(#[target_feature(enable = $features)])?
                unsafe fn call(work: &Work<'_>, g: usize, law: &Law, lanes: (usize, usize)) {
                    // SAFETY: passed on to the caller.
                    unsafe { start_lanes::<$lanes>(work, g, law, lanes) }
                }
                // SAFETY: passed on to the caller.
                unsafe { call(work, g, law, lanes) }
            }

            unsafe fn relax_general<const SUBSTEP: bool>(
                work: &Work<'_>,
                g: usize,
                law: &Law,
                step: SubstepTimes,
                lanes: (usize, usize),
            ) -> u32 {
                $(#[target_feature(enable = $features)])?
                unsafe fn call<const SUBSTEP: bool, const ROLLING: bool>(
                    work: &Work<'_>,
                    g: usize,
                    law: &Law,
                    step: SubstepTimes,
                    lanes: (usize, usize),
                ) -> u32 {
                    // SAFETY: passed on to the caller.
                    unsafe { relax_lanes::<$lanes, SUBSTEP, ROLLING>(work, g, law, step, lanes) }
                }
                // SAFETY: passed on to the caller.
                unsafe {
                    if law.rolls {
                        call::<SUBSTEP, true>(work, g, law, step, lanes)
                    } else {
                        call::<SUBSTEP, false>(work, g, law, step, lanes)
                    }
                }
            }
        }
    };
}

general_kernel!(Portable);
#[cfg(target_arch = "x86_64")]
general_kernel!(Avx2, "avx2");
#[cfg(target_arch = "x86_64")]
general_kernel!(Avx512, "avx512f,avx512vl");

/// Matrices of a group, column by column.
#[inline(always)]
unsafe fn load_matrix<V: Lanes>(lines: &[Line; 9], first: usize) -> [[V; 3]; 3] {
    // SAFETY: nine lines follow one another.
    unsafe {
        [
            load3(lines.as_ptr(), first),
            load3(lines.as_ptr().add(3), first),
            load3(lines.as_ptr().add(6), first),
        ]
    }
}

/// `Mᵀ x`.
#[inline(always)]
fn transposed<V: Lanes>(m: &[[V; 3]; 3], x: [V; 3]) -> [V; 3] {
    [dot(m[0], x), dot(m[1], x), dot(m[2], x)]
}

/// Relative velocity at the contact point, from `B_a` and `B_b`, that of the centres and
/// metric angular velocities. No closure: it would not have the instructions of its caller.
#[inline(always)]
fn relative<V: Lanes>(
    [b_a, b_b]: [&[[V; 3]; 3]; 2],
    apart: [V; 3],
    [wa, wb]: [[V; 3]; 2],
) -> [V; 3] {
    plus(apart, minus(transposed(b_b, wb), transposed(b_a, wa)))
}

/// `M x`.
#[inline(always)]
fn product<V: Lanes>(m: &[[V; 3]; 3], x: [V; 3]) -> [V; 3] {
    plus(
        plus(times(m[0], x[0]), times(m[1], x[1])),
        times(m[2], x[2]),
    )
}

/// What bodies take of an impulse where some are locked along axes: nothing along those.
#[derive(Clone, Copy)]
struct Free<'a>(Option<&'a GeneralLockedGroup>);

impl<'a> Free<'a> {
    /// # Safety
    /// The invariants of [`Work`].
    #[inline(always)]
    unsafe fn of(work: &Work<'a>, g: usize, law: &Law) -> Self {
        // SAFETY: passed on to the caller; laws that lock have these parts.
        Free(
            law.locks
                .then(|| unsafe { &*work.general_locked.add(work.general_of[g] as usize) }),
        )
    }

    /// The free part of vectors of the bodies on one side.
    #[inline(always)]
    unsafe fn part<V: Lanes>(self, side: usize, x: [V; 3], first: usize) -> [V; 3] {
        match self.0 {
            None => x,
            Some(locked) => {
                // SAFETY: three lines follow one another.
                let free: [V; 3] = unsafe { load3(locked.free[side].as_ptr(), first) };
                [free[0] * x[0], free[1] * x[1], free[2] * x[2]]
            }
        }
    }
}

/// [`GeneralKernel::start_general`].
#[inline(always)]
unsafe fn start_lanes<V: Lanes>(
    work: &Work<'_>,
    g: usize,
    law: &Law,
    (first, active): (usize, usize),
) {
    // SAFETY: the invariants of `Work`.
    unsafe {
        let Group { bodies, rows } = &*work.groups.add(g);
        let p = load::<V>(&rows.impulse, first);
        if V::bits(V::splat(0.0).less(p)) == 0 {
            return;
        }
        let general = &*work.general.add(work.general_of[g] as usize);
        let n: [V; 3] = load3(rows.normal.as_ptr(), first);
        let linear = plus(times(n, p), load3(rows.friction.as_ptr(), first));
        let mut torque_a = product(&load_matrix(&general.angular[0], first), linear);
        let mut torque_b = product(&load_matrix(&general.angular[1], first), linear);
        if law.rolls {
            let rolling = &*work.rolling.add(g);
            let angular_velocity =
                &(*work.general_rolling.add(work.general_of[g] as usize)).angular_velocity;
            let twisting = times(n, load::<V>(&rolling.twisting, first));
            let torque = plus(load3(rolling.rolling.as_ptr(), first), twisting);
            torque_a = plus(
                torque_a,
                transposed(&load_matrix(&angular_velocity[0], first), torque),
            );
            torque_b = plus(
                torque_b,
                transposed(&load_matrix(&angular_velocity[1], first), torque),
            );
        }
        let zero = V::splat(0.0);
        let index_a = bodies[0].as_ptr().add(first);
        let index_b = bodies[1].as_ptr().add(first);
        let free = Free::of(work, g, law);
        add_to_bodies(
            work,
            index_a,
            active,
            times(free.part(0, linear, first), zero - V::splat(1.0)),
            times(torque_a, zero - V::splat(1.0)),
        );
        add_to_bodies(work, index_b, active, free.part(1, linear, first), torque_b);
    }
}

/// Adds an impulse and a torque impulse to bodies.
#[inline(always)]
unsafe fn add_to_bodies<V: Lanes>(
    work: &Work<'_>,
    index: *const u32,
    active: usize,
    linear: [V; 3],
    angular: [V; 3],
) {
    // SAFETY: the invariants of `Work`.
    unsafe {
        let [vx, vy, vz, mass, wx, wy, wz, inertia] = V::gather_bodies(work.bodies, index);
        let [vx, vy, vz] = plus([vx, vy, vz], times(linear, mass));
        let [wx, wy, wz] = plus([wx, wy, wz], times(angular, inertia));
        let bodies = [vx, vy, vz, mass, wx, wy, wz, inertia];
        V::scatter_bodies(bodies, work.bodies, index, active);
    }
}

/// [`GeneralKernel::relax_general`].
#[inline(always)]
unsafe fn relax_lanes<V: Lanes, const SUBSTEP: bool, const ROLLING: bool>(
    work: &Work<'_>,
    g: usize,
    law: &Law,
    step: SubstepTimes,
    (first, active): (usize, usize),
) -> u32 {
    // SAFETY: the invariants of `Work`.
    unsafe {
        let group = work.groups.add(g);
        let (bodies, rows) = (&(*group).bodies, &mut (*group).rows);
        let general = &*work.general.add(work.general_of[g] as usize);
        let index_a = bodies[0].as_ptr().add(first);
        let index_b = bodies[1].as_ptr().add(first);
        let zero = V::splat(0.0);
        let free = Free::of(work, g, law);

        let n: [V; 3] = load3(rows.normal.as_ptr(), first);
        let b_a = load_matrix::<V>(&general.angular[0], first);
        let b_b = load_matrix::<V>(&general.angular[1], first);
        let rate: [V; 3] = load3(general.rate.as_ptr(), first);
        let [vax, vay, vaz, mass_a, wax, way, waz, inertia_a] =
            V::gather_bodies(work.bodies, index_a);
        let [vbx, vby, vbz, mass_b, wbx, wby, wbz, inertia_b] =
            V::gather_bodies(work.bodies, index_b);
        let (va, vb) = ([vax, vay, vaz], [vbx, vby, vbz]);
        let (mut wa, mut wb) = ([wax, way, waz], [wbx, wby, wbz]);
        let apart = minus(free.part(1, vb, first), free.part(0, va, first));
        let apart = relative([&b_a, &b_b], apart, [wa, wb]);
        let u = plus(apart, times(rate, V::splat(step.end)));
        let u_n = dot(n, u);
        let mobility = load::<V>(&general.mobility, first);
        let p = load::<V>(&rows.impulse, first);

        let mut impacted = 0;
        let row;
        if SUBSTEP {
            let va = V::gather_quads(work.before, index_a);
            let vb = V::gather_quads(work.before, index_b);
            let before = relative(
                [&b_a, &b_b],
                minus(free.part(1, vb, first), free.part(0, va, first)),
                [
                    V::gather_quads(work.before_angular_velocity, index_a),
                    V::gather_quads(work.before_angular_velocity, index_b),
                ],
            );
            let (rate_n, without_rate) = (dot(n, rate), dot(n, before));
            let u_before = without_rate + rate_n * V::splat(step.end - step.step);
            let mean = without_rate + rate_n * V::splat(step.end - 1.5 * step.step);
            let overlap = load::<V>(&rows.overlap, first) - V::splat(step.moved) * mean;
            let approach = Approach {
                overlap,
                before: u_before,
                now: u_n,
                mobility,
                impulse: p,
            };
            let substep;
            (substep, impacted) = NormalRow::of_substep(rows, law, step.step, first, approach);
            let Some(substep) = substep else {
                return impacted;
            };
            row = substep;
        } else {
            row = NormalRow::of_whole_step(rows, first);
        }
        let p_new = row.impulse(p, u_n, mobility);
        if V::bits(zero.less(p.max(p_new))) == 0 {
            // Open before and after: nothing else can change.
            return impacted;
        }
        p_new.store(rows.impulse.as_mut_ptr().add(first));
        let mut linear = times(n, p_new - p);

        if law.friction > 0.0 {
            let coupling: [V; 3] = load3(general.coupling.as_ptr(), first);
            let u_t = plus(minus(u, times(n, u_n)), times(coupling, p_new - p));
            let bound = V::splat(law.friction) * p_new;
            let factor = work.compliance.friction_factor();
            linear = plus(linear, change_friction(rows, first, u_t, bound, factor));
        }
        wa = minus(wa, times(product(&b_a, linear), inertia_a));
        wb = plus(wb, times(product(&b_b, linear), inertia_b));

        if ROLLING {
            let r = &mut *work.rolling.add(g);
            let angular_velocities =
                &(*work.general_rolling.add(work.general_of[g] as usize)).angular_velocity;
            let c_a = load_matrix::<V>(&angular_velocities[0], first);
            let c_b = load_matrix::<V>(&angular_velocities[1], first);
            let angular_velocity = minus(product(&c_b, wb), product(&c_a, wa));
            let factor = work.compliance.rolling_factor();
            let torque = change_rolling(r, first, (angular_velocity, n), p_new, factor);
            wa = minus(wa, times(transposed(&c_a, torque), inertia_a));
            wb = plus(wb, times(transposed(&c_b, torque), inertia_b));
        }

        let va = minus(va, times(free.part(0, linear, first), mass_a));
        let vb = plus(vb, times(free.part(1, linear, first), mass_b));
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
