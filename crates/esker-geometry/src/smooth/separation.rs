//! Signed distance of two strictly convex bodies, by Newton's method on the sphere.
//!
//! With `t` a basis of the plane across `n`, `w = c − s_a − s_b`, `y = tᵀw` the gradient of `g` and
//! `S = tᵀ(H_a + H_b)t`, so that the Hessian is `−(S + g I)`:
//!
//! ```text
//! (S + max(g, −0.9 λ_min(S)) I) dn = y,    n ← normalise(n + t dn).      (1)
//! ```
//!
//! The floor keeps the step an ascent where bodies overlap by more than the smallest radius of
//! relative curvature. Steps are cut to half a radian and halved until `g` grows. Near the maximum
//! the growth is below rounding: steps are then taken as they are while they halve.

use super::{Extent, Support};
use crate::hertz::Sym2;
use glam::{DVec2, DVec3};

/// Newton steps at most; eleven were needed at an aspect ratio of 30.
const MAX_STEPS: usize = 60;
/// Growth of `g` below this, in sizes of the bodies, is lost in rounding.
const ROUNDING: f64 = 1e-13;

/// Two bodies where they are nearest, and the contact plane there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Separation {
    /// From `a` to `b`.
    pub normal: DVec3,
    /// Signed distance (m).
    pub gap: f64,
    /// `s_a(n)`, from the centre of `a` (m).
    pub point_a: DVec3,
    /// `s_b(n)`: the point of `b` is at `−s_b` from its centre (m).
    pub point_b: DVec3,
    /// Radii of curvature in the basis (m).
    pub radii: [Sym2; 2],
    /// Of the contact plane.
    pub basis: [DVec3; 2],
}

/// Both bodies seen along one direction.
struct View {
    n: DVec3,
    extents: [Extent; 2],
    gap: f64,
}

/// Solves equation (1) of the module above from `start`; `None` as soon as the gap is known to be
/// `margin` or more.
pub(crate) fn separation<A: Support, B: Support>(
    (a, b): (&A, &B),
    c: DVec3,
    start: DVec3,
    margin: f64,
) -> Option<Separation> {
    let look = |n: DVec3| {
        let extents = [a.extent(n), b.extent(n)];
        View {
            n,
            extents,
            gap: n.dot(c) - (extents[0].h + extents[1].h),
        }
    };
    let size = a.size() + b.size();
    let mut view = look(start);
    let mut last_step = f64::INFINITY;
    for _ in 0..MAX_STEPS {
        if view.gap >= margin {
            return None;
        }
        let here = measure((a, b), &view);
        let (step, growth) = newton_step(&here, c);
        let length = step.length();
        if growth < ROUNDING * size {
            let is_converging = length < 0.5 * last_step;
            if !is_converging {
                return Some(here);
            }
            last_step = length;
            view = look(moved(&here, step));
            continue;
        }
        let mut factor = 1.0;
        view = loop {
            let next = look(moved(&here, factor * step));
            if next.gap >= here.gap + 1e-4 * factor * growth {
                break next;
            }
            factor *= 0.5;
            if factor < 1e-6 {
                return Some(here);
            }
        };
    }
    (view.gap < margin).then(|| measure((a, b), &view))
}

fn moved(here: &Separation, step: DVec2) -> DVec3 {
    (here.normal + step.x * here.basis[0] + step.y * here.basis[1]).normalize()
}

#[inline]
fn measure<A: Support, B: Support>((a, b): (&A, &B), view: &View) -> Separation {
    let (x, y) = view.n.any_orthonormal_pair();
    let basis = [x, y];
    Separation {
        normal: view.n,
        gap: view.gap,
        point_a: a.point(&view.extents[0]),
        point_b: b.point(&view.extents[1]),
        radii: [
            a.radii(&view.extents[0], basis),
            b.radii(&view.extents[1], basis),
        ],
        basis,
    }
}

/// The step of equation (1), cut to half a radian, and the growth of `g` that it promises (m).
#[inline]
fn newton_step(here: &Separation, c: DVec3) -> (DVec2, f64) {
    let w = c - (here.point_a + here.point_b);
    let y = DVec2::new(here.basis[0].dot(w), here.basis[1].dot(w));
    let s = here.radii[0] + here.radii[1];
    // The smaller eigenvalue from the product of both: their difference would cancel.
    let smallest = s.determinant() / s.max_eigenvalue();
    let mut step = s.solve_shifted(here.gap.max(-0.9 * smallest), y);
    let length = step.length();
    if length > 0.5 {
        step *= 0.5 / length;
    }
    (step, y.dot(step))
}
