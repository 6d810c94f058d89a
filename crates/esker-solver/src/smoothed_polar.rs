//! The contact law through a smoothed projection onto the polar cone: the equation of
//! the projected quasi-Newton method.
//!
//! With `s = √(1 + µ²)`, a direction `t` in the tangent plane and the two orthogonal
//! rays `e₁ = −(1, µ t)/s` on the surface of `−K` and `e₂ = (−µ, t)/s` on that of the
//! polar cone `K°`, every `z` with `z_t ∥ t` is
//!
//! ```text
//! z = λ₁ e₁ + λ₂ e₂,  λ₁ = −(z_n + µ|z_t|)/s,  λ₂ = (|z_t| − µ z_n)/s          (1)
//! P_K°(z) = max(λ₁, 0) e₁ + max(λ₂, 0) e₂                                   (2)
//! m(z) = g_w(λ₁) e₁ + g_µw(λ₂) e₂,  g_w(λ) = (λ + √(λ² + 4w²))/2             (3)
//! F = (u_n + µ(√(u_t² + v²) − v), u_t),  C = ρF + m(x − ρF)                  (4)
//! ```
//!
//! `C → x − P_K(x − ρF)`, the natural map, as `w → 0`. The width `µw` of the second ray
//! keeps `m` continuously differentiable where `z_t = 0`: there `g_µw(µλ) = µ g_w(λ)`, and the part along
//! `t` vanishes. `ρ` turns velocities into impulses, `v = w/ρ`.

use crate::nonsmooth_map::MapDerivatives;
use esker_contact::FrictionLaw;

/// The smooth maximum `g_w` of 0 and `a`, and its slope.
#[inline]
pub fn above_zero(a: f64, width: f64) -> (f64, f64) {
    let root = a.hypot(2.0 * width);
    if root == 0.0 {
        // The slope from above: without friction λ₂ = |z_t| is never below zero.
        return (0.0, 1.0);
    }
    // Written so that nothing cancels for a far below zero.
    let value = if a > 0.0 {
        0.5 * (a + root)
    } else {
        2.0 * width * width / (root - a)
    };
    (value, 0.5 * (1.0 + a / root))
}

/// The smoothed equation of one contact of up to three rows.
#[derive(Clone, Copy, Debug)]
pub struct SmoothedPolar {
    /// The law; (4) has no shift for the associated one.
    pub law: FrictionLaw,
    /// Friction coefficient.
    pub friction: f64,
    /// `ρ`, kg.
    pub scale: f64,
    /// `w`, N s.
    pub width: f64,
}

impl SmoothedPolar {
    /// `C` of (4) in impulses, and its derivatives with respect to `u` and `x`.
    pub fn evaluate(&self, x: &[f64], u: &[f64], c: &mut [f64], d: &mut MapDerivatives) {
        let n = x.len();
        let mu = if n > 1 { self.friction } else { 0.0 };
        let mut force = [0.0; 3];
        // ∂F_n/∂u.
        let mut shift = [0.0; 3];
        force[..n].copy_from_slice(u);
        shift[0] = 1.0;
        if self.law == FrictionLaw::Coulomb {
            let round = self.width / self.scale;
            let speed = tail(u).hypot(round);
            force[0] += mu * (speed - round);
            for i in 1..n {
                shift[i] = if speed > 0.0 { mu * u[i] / speed } else { 0.0 };
            }
        }
        let mut z = [0.0; 3];
        for i in 0..n {
            z[i] = x[i] - self.scale * force[i];
        }
        let (m, slope) = smoothed_projection(mu, self.width, &z[..n]);
        d.open = false;
        for i in 0..n {
            c[i] = self.scale * force[i] + m[i];
            for j in 0..n {
                d.impulse[i * n + j] = slope[i][j];
                // (I − m') ∂F/∂u, where F has its normal row from `shift`.
                let identity = f64::from(u8::from(i == j));
                let head = (f64::from(u8::from(i == 0)) - slope[i][0]) * shift[j];
                let rest = if j > 0 { identity - slope[i][j] } else { 0.0 };
                d.velocity[i * n + j] = self.scale * (head + rest);
            }
        }
    }
}

fn tail(v: &[f64]) -> f64 {
    v[1..].iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// `m(z)` of (3) and its derivative.
fn smoothed_projection(mu: f64, width: f64, z: &[f64]) -> ([f64; 3], [[f64; 3]; 3]) {
    let n = z.len();
    let square = 1.0 + mu * mu;
    let s = square.sqrt();
    let r = tail(z);
    let (g1, d1) = above_zero(-(z[0] + mu * r) / s, width);
    let (g2, d2) = above_zero((r - mu * z[0]) / s, mu * width);
    let along = (g2 - mu * g1) / s;
    // along/r; its limit at r = 0 is the slope of `along`.
    let stretch = if r > 1e-9 * width.max(z[0].abs()) && r > 0.0 {
        along / r
    } else {
        (mu * mu * d1 + d2) / square
    };
    let direction = |i: usize| if r > 0.0 { z[i] / r } else { 0.0 };
    let mut m = [0.0; 3];
    let mut slope = [[0.0; 3]; 3];
    m[0] = -(g1 + mu * g2) / s;
    slope[0][0] = (d1 + mu * mu * d2) / square;
    for i in 1..n {
        let t = direction(i);
        m[i] = stretch * z[i];
        slope[0][i] = mu * (d1 - d2) * t / square;
        slope[i][0] = slope[0][i];
        for j in 1..n {
            let identity = f64::from(u8::from(i == j));
            let radial = (mu * mu * d1 + d2) / square;
            slope[i][j] = radial * t * direction(j) + stretch * (identity - t * direction(j));
        }
    }
    (m, slope)
}

#[cfg(test)]
mod tests {
    use super::*;
    use esker_contact::ConeLimits;
    use proptest::prelude::*;

    proptest! {
        /// (3) tends to the exact projection: z = P_K(z) + P_K°(z).
        #[test]
        fn without_width_it_is_the_projection_onto_the_polar_cone(
            z in prop::array::uniform3(-1.0..1.0_f64),
            mu in 0.05..1.5_f64,
            n in 1..4_usize,
        ) {
            let mu = if n == 1 { 0.0 } else { mu };
            let (m, _) = smoothed_projection(mu, 1e-9, &z[..n]);
            let mut inside = z;
            ConeLimits::coulomb(mu).project(&mut inside[..n]);
            for i in 0..n {
                prop_assert!((m[i] + inside[i] - z[i]).abs() < 1e-8);
            }
        }

        /// Derivatives against central differences, down to z_t = 0 exactly.
        #[test]
        fn derivatives_agree_with_finite_differences(
            x in prop::array::uniform3(-1.0..1.0_f64),
            u in prop::array::uniform3(-1.0..1.0_f64),
            mu in prop_oneof![Just(0.0), 0.2..1.5_f64],
            n in 1..4_usize,
            straight in any::<bool>(),
            coulomb in any::<bool>(),
        ) {
            let map = SmoothedPolar {
                law: if coulomb { FrictionLaw::Coulomb } else { FrictionLaw::Associated },
                friction: mu,
                scale: 1.3,
                width: 0.2,
            };
            let (mut x, mut u) = (x, u);
            if straight {
                x[1..].fill(0.0);
                u[1..].fill(0.0);
            }
            let mut d = MapDerivatives::default();
            let mut c = [0.0; 3];
            map.evaluate(&x[..n], &u[..n], &mut c[..n], &mut d);
            // At z_t = 0 the second derivative jumps, by up to 1/(µw).
            let step = 1e-6;
            for j in 0..n {
                for (of_velocity, stated) in [(true, &d.velocity), (false, &d.impulse)] {
                    let at = |by: f64| {
                        let (mut x, mut u) = (x, u);
                        if of_velocity { u[j] += by } else { x[j] += by }
                        let mut c = [0.0; 3];
                        map.evaluate(&x[..n], &u[..n], &mut c[..n], &mut MapDerivatives::default());
                        c
                    };
                    let (plus, minus) = (at(step), at(-step));
                    for i in 0..n {
                        let central = (plus[i] - minus[i]) / (2.0 * step);
                        prop_assert!((central - stated[i * n + j]).abs() < step / (0.2 * map.width),
                            "row {i} column {j}: {central} against {}", stated[i * n + j]);
                    }
                }
            }
        }
    }
}
