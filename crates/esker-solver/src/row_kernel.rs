//! Updates (1)–(4) of [`crate::sweep`] for some lanes of a group, from relative
//! velocities to changes of impulses: what the kernels of spheres and of other
//! bodies share. How velocities are gathered and impulses scattered is theirs.
//!
//! `unsafe`: lanes are loaded and stored through pointers into the lines of a group,
//! which the callers borrow.

use esker_contact::CLOSING_OVERLAP;

use crate::lanes::Lanes;
use crate::packed::{Law, RollingGroup, Rows};
use crate::plan::LANES;

/// The normal row: with `σ = A/s` the update (1) is
/// `p − (s (u_n − b_n) + A p)/(s S_n + A)`, one division.
#[derive(Clone, Copy)]
pub(crate) struct NormalRow<V> {
    target: V,
    /// `A`.
    compliance: V,
    /// `s`.
    root: V,
}

/// Where contacts stand in a substep.
#[derive(Clone, Copy)]
pub(crate) struct Approach<V> {
    /// Overlap `δ` at its start.
    pub(crate) overlap: V,
    /// `u_n` at its start.
    pub(crate) before: V,
    /// `u_n` now.
    pub(crate) now: V,
    /// `S_n`.
    pub(crate) mobility: V,
    /// Impulse `p` so far.
    pub(crate) impulse: V,
}

impl<V: Lanes> NormalRow<V> {
    /// The row of a whole step.
    ///
    /// # Safety
    /// There are as many lanes as `V` has from `first` on.
    #[inline(always)]
    pub(crate) unsafe fn of_whole_step(rows: &Rows, first: usize) -> Self {
        // SAFETY: passed on to the caller.
        unsafe {
            NormalRow {
                root: V::splat(1.0),
                compliance: load::<V>(&rows.compliance, first),
                target: load::<V>(&rows.overlap, first),
            }
        }
    }

    /// The row of a substep of this length, s, with a bit for every lane that is
    /// an impact; keeps the overlap. `None` where all lanes are open before and after:
    /// roots and quotients are slow, and nothing else can change.
    ///
    /// # Safety
    /// There are as many lanes as `V` has from `first` on.
    #[inline(always)]
    pub(crate) unsafe fn of_substep(
        rows: &mut Rows,
        law: &Law,
        step: f64,
        first: usize,
        approach: Approach<V>,
    ) -> (Option<Self>, u32) {
        let Approach {
            overlap,
            before,
            now,
            mobility,
            impulse: p,
        } = approach;
        // SAFETY: passed on to the caller.
        unsafe {
            let (zero, one) = (V::splat(0.0), V::splat(1.0));
            overlap.store(rows.overlap.as_mut_ptr().add(first));
            let factor = V::load_single(rows.damping_factor.as_ptr().add(first));
            let damping = factor.max(zero - factor);
            // Equation (3'') of `esker_contact::spring`.
            let (mut mean, mut reached, mut width) = (overlap, overlap, one);
            let is_resolved = factor.less(zero);
            if law.hertz && V::bits(is_resolved) != 0 {
                let half = before * V::splat(-0.5 * step);
                let closing = V::both(is_resolved, overlap.max(zero - overlap).less(half));
                if V::bits(closing) != 0 {
                    reached = V::select(closing, overlap + half, overlap);
                    mean = V::select(closing, reached * V::splat(CLOSING_OVERLAP), overlap);
                    width = V::select(closing, reached / (V::splat(3.0) * half), one);
                }
            }
            let mut target = V::select(
                zero.less(mean),
                damping * (V::splat(law.bias_rate) * mean + before),
                overlap * V::splat(1.0 / step),
            );
            // An impact closes what gap there is, and overlaps count as closed:
            // `u h < δ` says both for `u < 0`.
            let is_fast = before.less(V::splat(-law.impact_speed));
            let closes = (before * V::splat(step)).less(overlap);
            let impacts = V::both(V::both(is_fast, zero.less(factor)), closes);
            let loaded = V::bits(zero.less(p));
            let impacted = V::bits(impacts) & !loaded;
            let unloaded_impacts = V::both(impacts, p.less(V::splat(f64::MIN_POSITIVE)));
            if impacted != 0 {
                // An approach that others have slowed already is returned as such.
                let returned = V::splat(law.restitution) * before.max(now).min(zero);
                target = V::select(unloaded_impacts, zero - returned, target);
            }
            // What is not loaded and faster than its target stays so.
            if loaded | V::bits(now.less(target)) == 0 {
                return (None, impacted);
            }
            let mut root = if law.hertz {
                let min = V::load_single(rows.min_overlap.as_ptr().add(first));
                reached.max(min).sqrt() * width
            } else {
                one
            };
            let cap = V::load_single(rows.cap.as_ptr().add(first));
            let mut compliance = load::<V>(&rows.compliance, first).max(mobility * cap * root);
            if impacted != 0 {
                compliance = V::select(unloaded_impacts, zero, compliance);
                root = V::select(unloaded_impacts, one, root);
            }
            let row = NormalRow {
                target,
                compliance,
                root,
            };
            (Some(row), impacted)
        }
    }

    /// The new impulse, from the one before, `u_n` and `S_n`.
    ///
    /// # Safety
    /// The processor has the instructions of `V`; so for all functions here.
    #[inline(always)]
    pub(crate) unsafe fn impulse(&self, p: V, u_n: V, mobility: V) -> V {
        let excess = self.root * (u_n - self.target) + self.compliance * p;
        // SAFETY: passed on to the caller.
        let zero = unsafe { V::splat(0.0) };
        (p - excess / (self.root * mobility + self.compliance)).max(zero)
    }
}

/// Update (2): what friction impulses change by, for velocities `u_t` in the
/// contact plane, bounds `µ p` and the factor on the old impulses.
///
/// # Safety
/// There are as many lanes as `V` has from `first` on.
#[inline(always)]
pub(crate) unsafe fn change_friction<V: Lanes>(
    rows: &mut Rows,
    first: usize,
    u_t: [V; 3],
    bound: V,
    factor: f64,
) -> [V; 3] {
    // SAFETY: passed on to the caller.
    unsafe {
        let inverse = V::load_single(rows.inverse_tangent.as_ptr().add(first));
        let old: [V; 3] = load3(rows.friction.as_ptr(), first);
        let wanted = minus(times(old, V::splat(factor)), times(u_t, inverse));
        let friction = onto_disc(wanted, bound, V::splat(1.0));
        store3(friction, rows.friction.as_mut_ptr(), first);
        minus(friction, old)
    }
}

/// Updates (3) and (4): what torque impulses change by, for relative angular
/// velocities, normals, normal impulses `p` and the factor on the old ones.
///
/// # Safety
/// There are as many lanes as `V` has from `first` on.
#[inline(always)]
pub(crate) unsafe fn change_rolling<V: Lanes>(
    rows: &mut RollingGroup,
    first: usize,
    (angular_velocity, n): ([V; 3], [V; 3]),
    p: V,
    factor: f64,
) -> [V; 3] {
    // SAFETY: passed on to the caller.
    unsafe {
        let omega_n = dot(n, angular_velocity);
        let omega_t = minus(angular_velocity, times(n, omega_n));
        let inverse = load::<V>(&rows.inverse_rolling, first);
        let factor = V::splat(factor);
        let old: [V; 3] = load3(rows.rolling.as_ptr(), first);
        let wanted = minus(times(old, factor), times(omega_t, inverse));
        let bound = load::<V>(&rows.rolling_limit, first) * p;
        let rolled = onto_disc(wanted, bound, V::splat(1.0));
        let old_twist = load::<V>(&rows.twisting, first);
        let limit = load::<V>(&rows.twisting_limit, first) * p;
        let twisted = (old_twist * factor - omega_n * inverse)
            .min(limit)
            .max(V::splat(0.0) - limit);
        store3(rolled, rows.rolling.as_mut_ptr(), first);
        twisted.store(rows.twisting.as_mut_ptr().add(first));
        plus(minus(rolled, old), times(n, twisted - old_twist))
    }
}

#[inline(always)]
pub(crate) fn dot<V: Lanes>(a: [V; 3], b: [V; 3]) -> V {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

#[inline(always)]
pub(crate) fn cross<V: Lanes>(a: [V; 3], b: [V; 3]) -> [V; 3] {
    [
        a[1] * b[2] - b[1] * a[2],
        a[2] * b[0] - b[2] * a[0],
        a[0] * b[1] - b[0] * a[1],
    ]
}

#[inline(always)]
pub(crate) fn times<V: Lanes>(a: [V; 3], s: V) -> [V; 3] {
    [a[0] * s, a[1] * s, a[2] * s]
}

#[inline(always)]
pub(crate) fn plus<V: Lanes>(a: [V; 3], b: [V; 3]) -> [V; 3] {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

#[inline(always)]
pub(crate) fn minus<V: Lanes>(a: [V; 3], b: [V; 3]) -> [V; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// The nearest point of a disc (see `esker_contact::project_disc`).
#[inline(always)]
pub(crate) fn onto_disc<V: Lanes>(x: [V; 3], radius: V, one: V) -> [V; 3] {
    let square = dot(x, x);
    let outside = (radius * radius).less(square);
    if V::bits(outside) == 0 {
        // At rest nearly all contacts stick, and roots and quotients are slow.
        return x;
    }
    times(x, V::select(outside, radius / square.sqrt(), one))
}

#[inline(always)]
pub(crate) unsafe fn load3<V: Lanes>(lines: *const [f64; LANES], first: usize) -> [V; 3] {
    // SAFETY: three lines follow one another.
    unsafe {
        [
            V::load(lines.cast::<f64>().add(first)),
            V::load(lines.add(1).cast::<f64>().add(first)),
            V::load(lines.add(2).cast::<f64>().add(first)),
        ]
    }
}

#[inline(always)]
pub(crate) unsafe fn store3<V: Lanes>(value: [V; 3], lines: *mut [f64; LANES], first: usize) {
    // SAFETY: three lines follow one another.
    unsafe {
        value[0].store(lines.cast::<f64>().add(first));
        value[1].store(lines.add(1).cast::<f64>().add(first));
        value[2].store(lines.add(2).cast::<f64>().add(first));
    }
}

#[inline(always)]
pub(crate) unsafe fn load<V: Lanes>(line: &[f64; LANES], first: usize) -> V {
    // SAFETY: the caller's lanes are those of the line.
    unsafe { V::load(line.as_ptr().add(first)) }
}
