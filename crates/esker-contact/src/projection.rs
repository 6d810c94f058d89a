//! Projections onto the sets that bound contact impulses.

use glam::DVec3;

/// The point of the disc `|x| ≤ radius` nearest to `x`.
///
/// `radius` must not be negative; a zero radius gives zero.
#[inline]
pub fn project_disc(x: DVec3, radius: f64) -> DVec3 {
    let square = x.length_squared();
    if square <= radius * radius {
        x
    } else {
        x * (radius / square.sqrt())
    }
}

/// The point of the friction cone `K_µ = {|t| ≤ µ n}` nearest to `(n, t)`.
///
/// Three cases: inside the cone the point stays, inside the polar cone it
/// becomes zero, elsewhere it lands on the cone's surface.
#[inline]
pub fn project_cone(n: f64, t: DVec3, mu: f64) -> (f64, DVec3) {
    let slip = t.length();
    if n >= 0.0 && slip <= mu * n {
        (n, t)
    } else if mu * slip <= -n {
        (0.0, DVec3::ZERO)
    } else {
        let normal = (n + mu * slip) / (1.0 + mu * mu);
        (normal, t * (mu * normal / slip))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tangent() -> impl Strategy<Value = DVec3> {
        (-10.0..10.0_f64, -10.0..10.0_f64).prop_map(|(y, z)| DVec3::new(0.0, y, z))
    }

    /// Without friction and slip both sides of `|t| ≤ µ n` are zero, whatever the sign of `n`.
    #[test]
    fn nothing_pulls_without_friction() {
        assert_eq!(project_cone(-1.0, DVec3::ZERO, 0.0), (0.0, DVec3::ZERO));
    }

    proptest! {
        /// A projection onto a convex set satisfies ⟨x − Px, y − Px⟩ ≤ 0 for
        /// every y of the set, and repeats itself.
        #[test]
        fn cone_projection_is_optimal_and_idempotent(
            n in -10.0..10.0_f64, t in tangent(), mu in 0.0..2.0_f64,
            yn in 0.0..10.0_f64, yt in tangent(), fraction in 0.0..1.0_f64,
        ) {
            let (pn, pt) = project_cone(n, t, mu);
            prop_assert!(pt.length() <= mu * pn * (1.0 + 1e-12) + 1e-14);
            let member = yt.normalize_or_zero() * (mu * yn * fraction);
            let angle = (n - pn) * (yn - pn) + (t - pt).dot(member - pt);
            prop_assert!(angle <= 1e-10, "not the nearest point: {angle}");
            let (qn, qt) = project_cone(pn, pt, mu);
            prop_assert!((qn - pn).abs() <= 1e-12 * (1.0 + pn) && (qt - pt).length() <= 1e-12 * (1.0 + pn));
        }

        #[test]
        fn disc_projection_is_optimal_and_idempotent(
            x in tangent(), radius in 0.0..10.0_f64, y in tangent(), fraction in 0.0..1.0_f64,
        ) {
            let p = project_disc(x, radius);
            prop_assert!(p.length() <= radius * (1.0 + 1e-12));
            let member = y.normalize_or_zero() * (radius * fraction);
            prop_assert!((x - p).dot(member - p) <= 1e-10);
            prop_assert!((project_disc(p, radius) - p).length() <= 1e-12 * (1.0 + radius));
        }
    }

    #[test]
    fn frictionless_cone_is_the_half_line() {
        assert_eq!(project_cone(2.0, DVec3::Y, 0.0), (2.0, DVec3::ZERO));
        assert_eq!(project_cone(-2.0, DVec3::Y, 0.0), (0.0, DVec3::ZERO));
    }
}
