//! The gyroscopic term of a substep.
//!
//! In the axes of the body, over the substep `h`, the implicit midpoint rule
//!
//! ```text
//! I (ω₁ − ω₀) + h ω_m × I ω_m = 0,    ω_m = (ω₀ + ω₁)/2                   (1)
//! ```
//!
//! is solved by Newton's method. It keeps energy and the length of the angular momentum, and the
//! rotation `exp(h ω) q` by the velocity at the end leaves the body components of `ω` as they are.
//! Within a substep the axes do not move, so (1) holds in world axes as well, where axes that
//! a body cannot rotate about drop out of it.
//!
//! Where a substep is no small part of a revolution, `h |ω| > 1`, Newton's method fails for (1);
//! one Newton step of the implicit Euler rule is stable there, at the price of energy.

use glam::{DMat3, DVec3};

use crate::body::{WorldMass, cross_matrix};

/// Angular velocity after the gyroscopic term of a substep, and whether (1) held.
pub(crate) fn gyroscopic_step(
    mass: &WorldMass,
    free: DVec3,
    start: DVec3,
    step: f64,
) -> (DVec3, bool) {
    let rotates_about = free.x + free.y + free.z;
    if start == DVec3::ZERO || rotates_about < 2.0 {
        return (start, true);
    }
    let inertia = mass.inertia;
    let torque = |w: DVec3| free * w.cross(inertia * w);
    // Derivative of the torque.
    let slope = |w: DVec3| {
        let whole = cross_matrix(w) * inertia - cross_matrix(inertia * w);
        let mask = DMat3::from_diagonal(free);
        mask * whole * mask
    };
    if step * start.length() > 1.0 {
        let change = (inertia + slope(start) * step).inverse() * (torque(start) * step);
        return (start - change, false);
    }
    let mut end = start;
    for _ in 0..3 {
        let mean = (start + end) * 0.5;
        let residual = inertia * (end - start) + torque(mean) * step;
        end -= (inertia + slope(mean) * (0.5 * step)).inverse() * residual;
    }
    (end, true)
}
