//! The set of admissible impulses of one contact, for every number of rows.
//!
//! A contact has `1`, `2`, `3` or `6` rows: normal; normal and one tangent (two
//! dimensions); normal and two tangents; and additionally two rolling rows and
//! one twisting row. With the tangential rows collected in groups `g`, each with
//! its limit `l_g` (`µ`, `µ_r r*`, `µ_w r*`), the admissible set and its dual are
//!
//! ```text
//! K  = { (p, x) : |x_g| ≤ l_g p for every g },                          (1)
//! K* = { (u, y) : u ≥ Σ_g l_g |y_g| }.                                  (2)
//! ```
//!
//! The *associated* (convex) law is `K* ∋ u ⟂ λ ∈ K`. Coulomb's law is the same
//! with De Saxcé's shift `u_n + s(u)`, `s = Σ_g l_g |u_g|`: then `u_n + s ≥ s`
//! means `u_n ≥ 0`, and the complementarity splits into one maximal
//! dissipation principle per group.

/// Which law ties impulses and velocities together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FrictionLaw {
    /// Signorini's condition and Coulomb friction: what grains do.
    #[default]
    Coulomb,
    /// The convex relaxation `K* ∋ u ⟂ λ ∈ K`: sliding contacts separate with
    /// `u_n = µ |u_t|`. Its velocities are unique and it is a cone programme.
    Associated,
}

/// Limits of the tangential groups of one contact, as multiples of the normal impulse.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ConeLimits {
    /// Coulomb coefficient µ.
    pub friction: f64,
    /// Rolling limit `µ_r r*`, m.
    pub rolling: f64,
    /// Twisting limit `µ_w r*`, m.
    pub twisting: f64,
}

/// Rows of one tangential group within a contact's block: `start..end`.
pub type Group = (usize, usize);

/// The largest number of rows of a contact.
pub const MAX_BLOCK: usize = 6;

/// The largest number of tangential groups of a contact.
pub const MAX_GROUPS: usize = 3;

/// Tangential groups of a contact with `block` rows; empty for an unknown size.
#[inline]
pub fn groups(block: usize) -> &'static [Group] {
    match block {
        2 => &[(1, 2)],
        3 => &[(1, 3)],
        6 => &[(1, 3), (3, 5), (5, 6)],
        _ => &[],
    }
}

/// True for the block sizes that this crate knows.
pub fn is_known_block(block: usize) -> bool {
    matches!(block, 1 | 2 | 3 | 6)
}

/// Euclidean norm of the rows of one group.
#[inline]
pub fn group_norm(x: &[f64], (start, end): Group) -> f64 {
    x[start..end].iter().map(|v| v * v).sum::<f64>().sqrt()
}

impl ConeLimits {
    /// Limits of a contact with friction only.
    pub fn coulomb(friction: f64) -> Self {
        ConeLimits {
            friction,
            ..Default::default()
        }
    }

    /// Limit of group number `g`, in the order of [`groups`].
    #[inline]
    pub fn of(&self, g: usize) -> f64 {
        match g {
            0 => self.friction,
            1 => self.rolling,
            _ => self.twisting,
        }
    }

    /// The limits seen in the metric where rolling and twisting rows are
    /// multiplied by `factor` more than the others.
    #[inline]
    pub fn stretched(&self, factor: f64) -> Self {
        ConeLimits {
            friction: self.friction,
            rolling: self.rolling * factor,
            twisting: self.twisting * factor,
        }
    }

    /// Replaces `x` by the nearest point of `K`.
    ///
    /// The normal part minimises the piecewise quadratic
    /// `(p − x_n)² + Σ_g (|x_g| − l_g p)₊²`; its kinks `|x_g|/l_g` are passed in
    /// increasing order, so at most [`MAX_GROUPS`] linear pieces are tried.
    #[inline]
    pub fn project(&self, x: &mut [f64]) {
        if let [n, t1, t2] = x {
            // Nearly every contact has three rows: the closed form, without loops.
            let slip = (*t1 * *t1 + *t2 * *t2).sqrt();
            let mu = self.friction;
            if slip > mu * *n || *n < 0.0 {
                let normal = ((*n + mu * slip) / (1.0 + mu * mu)).max(0.0);
                let shrink = if slip > 0.0 { mu * normal / slip } else { 0.0 };
                (*n, *t1, *t2) = (normal, *t1 * shrink, *t2 * shrink);
            } else if slip.is_nan() || n.is_nan() {
                *n = f64::NAN;
            }
            return;
        }
        let groups = groups(x.len());
        let projection = self.project_normal(x);
        x[0] = projection.normal;
        for (g, &group) in groups.iter().enumerate() {
            if projection.on_surface[g] {
                let norm = projection.norms[g];
                let factor = if norm > 0.0 {
                    self.of(g) * projection.normal / norm
                } else {
                    0.0
                };
                x[group.0..group.1].iter_mut().for_each(|v| *v *= factor);
            }
        }
    }

    /// The normal part of the projection and the groups that end on the
    /// surface of the cone.
    #[inline]
    pub fn project_normal(&self, x: &[f64]) -> ConeProjection {
        let groups = groups(x.len());
        let mut on_surface = [false; MAX_GROUPS];
        let mut norms = [0.0; MAX_GROUPS];
        let (mut weight, mut sum) = (1.0, x[0]);
        for (g, &group) in groups.iter().enumerate() {
            let limit = self.of(g);
            norms[g] = group_norm(x, group);
            on_surface[g] = true;
            weight += limit * limit;
            sum += limit * norms[g];
        }
        if sum <= 0.0 {
            return ConeProjection {
                normal: 0.0,
                on_surface,
                norms,
                weight,
            };
        }
        loop {
            let normal = sum / weight;
            let first_kink = (0..groups.len())
                .filter(|&g| on_surface[g] && norms[g] <= self.of(g) * normal)
                .min_by(|&a, &b| (norms[a] * self.of(b)).total_cmp(&(norms[b] * self.of(a))));
            match first_kink {
                Some(g) => {
                    on_surface[g] = false;
                    weight -= self.of(g) * self.of(g);
                    sum -= self.of(g) * norms[g];
                }
                None => {
                    return ConeProjection {
                        normal,
                        on_surface,
                        norms,
                        weight,
                    };
                }
            }
        }
    }

    /// De Saxcé's shift `s(u) = Σ_g l_g |u_g|`.
    #[inline]
    pub fn de_saxce_shift(&self, u: &[f64]) -> f64 {
        groups(u.len())
            .iter()
            .enumerate()
            .map(|(g, &group)| self.of(g) * group_norm(u, group))
            .sum()
    }

    /// How far `x` is outside `K`: `max(−x_n, |x_g| − l_g max(x_n, 0))`, never negative.
    pub fn violation(&self, x: &[f64]) -> f64 {
        let normal = x[0].max(0.0);
        groups(x.len())
            .iter()
            .enumerate()
            .map(|(g, &group)| group_norm(x, group) - self.of(g) * normal)
            .fold((-x[0]).max(0.0), f64::max)
    }
}

/// What [`ConeLimits::project_normal`] found; enough to differentiate the projection.
#[derive(Clone, Copy, Debug)]
pub struct ConeProjection {
    /// Normal part of the nearest point.
    pub normal: f64,
    /// Groups whose tangential part ends on `|x_g| = l_g p`.
    pub on_surface: [bool; MAX_GROUPS],
    /// `|x_g|` of the point that was projected.
    pub norms: [f64; MAX_GROUPS],
    /// `1 + Σ l_g²` over the groups on the surface: the slope `dp/dx_n` is its inverse.
    pub weight: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DVec3;
    use proptest::prelude::*;

    /// Without friction and slip both sides of `|t| ≤ µ n` are zero, whatever the sign of `n`.
    #[test]
    fn nothing_pulls_without_friction() {
        for block in [1, 2, 3, 6] {
            let mut x = [-1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
            ConeLimits::default().project(&mut x[..block]);
            assert_eq!(x[0], 0.0, "{block} rows");
        }
    }

    #[test]
    fn points_on_the_axis_project_to_the_axis() {
        for block in [1, 2, 3, 6] {
            for (normal, expected) in [(-2.0, 0.0), (2.0, 2.0), (0.0, 0.0)] {
                let mut x = [0.0; MAX_BLOCK];
                x[0] = normal;
                ConeLimits::coulomb(0.5).project(&mut x[..block]);
                let mut on_axis = [0.0; MAX_BLOCK];
                on_axis[0] = expected;
                assert_eq!(x, on_axis);
            }
        }
    }

    fn limits() -> impl Strategy<Value = ConeLimits> {
        (0.0..1.5_f64, 0.0..0.7_f64, 0.0..0.3_f64).prop_map(|(friction, rolling, twisting)| {
            ConeLimits {
                friction,
                rolling,
                twisting,
            }
        })
    }

    proptest! {
        #[test]
        fn projection_onto_every_block_size_is_optimal_and_idempotent(
            limits in limits(),
            x in prop::array::uniform6(-5.0..5.0_f64),
            y in prop::array::uniform6(-5.0..5.0_f64),
        ) {
            for block in [1, 2, 3, 6] {
                let mut p = x;
                limits.project(&mut p[..block]);
                prop_assert!(limits.violation(&p[..block]) < 1e-12);
                let mut member = y;
                member[0] = member[0].abs();
                for (g, &(start, end)) in groups(block).iter().enumerate() {
                    let norm = group_norm(&member[..block], (start, end)).max(1e-300);
                    let bound = limits.of(g) * member[0];
                    member[start..end].iter_mut().for_each(|v| *v *= (bound / norm).min(1.0));
                }
                let angle: f64 = (0..block).map(|i| (x[i] - p[i]) * (member[i] - p[i])).sum();
                prop_assert!(angle < 1e-10, "not the nearest point: {angle}");
                let mut again = p;
                limits.project(&mut again[..block]);
                for i in 0..block {
                    prop_assert!((again[i] - p[i]).abs() < 1e-12);
                }
            }
        }

        #[test]
        fn three_rows_agree_with_the_closed_form(
            n in -5.0..5.0_f64, a in -5.0..5.0_f64, b in -5.0..5.0_f64, mu in 0.0..2.0_f64,
        ) {
            let (pn, pt) = crate::project_cone(n, DVec3::new(0.0, a, b), mu);
            let mut x = [n, a, b];
            ConeLimits::coulomb(mu).project(&mut x);
            prop_assert!((x[0] - pn).abs() < 1e-13);
            prop_assert!((x[1] - pt.y).abs() < 1e-13 && (x[2] - pt.z).abs() < 1e-13);
        }
    }
}
