//! The contact law of one contact as a nonsmooth equation `F(λ, u) = 0`, with
//! its generalised derivatives `dF = A du + B dλ`.
//!
//! Two equations with the same zeros are offered for Coulomb's law. With
//! `z = λ − ρ u` and groups as in [`esker_contact::cone`]:
//!
//! ```text
//! Alart–Curnier   F_n = λ_n − z_n⁺,   F_g = λ_g − disc(z_g, l_g z_n⁺)      (1)
//! natural map     F = λ − P_K(λ − ρ (u + s(u) e_n))                       (2)
//! ```
//!
//! and (1) is also offered with its kinks rounded off over a width `w` (an impulse),
//! `max(0, z)` becoming `(z + √(z² + 4w²))/2` and the disc shrinking by `b/m` with the
//! same smooth maximum `m` of `b` and `|z|`: differentiable everywhere, the start of a
//! path that leads past kinks as `w → 0`.
//!
//! (1) takes a scale `ρ` per group of rows; (2) is the projection in the metric
//! that `ρ` defines, and without the shift `s` it is the associated law.

use crate::smoothed_polar::{SmoothedPolar, above_zero};
use esker_contact::cone::{MAX_BLOCK, MAX_GROUPS, group_norm, groups};
use esker_contact::{ConeLimits, FrictionLaw};

/// Which equation stands for the law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MapKind {
    /// (1); Coulomb's law only.
    AlartCurnier,
    /// (1) rounded off over a width, N s (times a length for rolling rows).
    Smoothed {
        /// The width `w`.
        width: f64,
    },
    /// (2).
    NaturalMap(FrictionLaw),
    /// (2) through a smoothed projection onto the polar cone, see
    /// [`crate::smoothed_polar`]; up to three rows.
    SmoothedPolar {
        /// The law.
        law: FrictionLaw,
        /// Width of the smoothing, N s.
        width: f64,
    },
}

/// The equation of one contact.
#[derive(Clone, Copy, Debug)]
pub struct ContactMap {
    /// Which equation.
    pub kind: MapKind,
    /// Limits of the cone.
    pub limits: ConeLimits,
    /// `ρ` of the normal row, kg.
    pub normal_scale: f64,
    /// `ρ` of the tangential rows, kg; (2) uses the normal row's instead.
    pub tangent_scale: f64,
    /// `ρ` of the rolling and twisting rows, kg m².
    pub rolling_scale: f64,
}

/// Generalised derivatives of one contact's equation, row-major.
#[derive(Clone, Copy, Debug)]
pub struct MapDerivatives {
    /// `∂F/∂u`.
    pub velocity: [f64; MAX_BLOCK * MAX_BLOCK],
    /// `∂F/∂λ`.
    pub impulse: [f64; MAX_BLOCK * MAX_BLOCK],
    /// True when `F = λ` here: the contact is open and has no part in the system.
    pub open: bool,
}

impl Default for MapDerivatives {
    fn default() -> Self {
        MapDerivatives {
            velocity: [0.0; MAX_BLOCK * MAX_BLOCK],
            impulse: [0.0; MAX_BLOCK * MAX_BLOCK],
            open: false,
        }
    }
}

impl ContactMap {
    /// The equation that suits a law.
    pub fn kind_for(law: FrictionLaw) -> MapKind {
        match law {
            FrictionLaw::Coulomb => MapKind::AlartCurnier,
            FrictionLaw::Associated => MapKind::NaturalMap(FrictionLaw::Associated),
        }
    }

    /// `F(λ, u)`, and its derivatives where they are wanted.
    pub fn evaluate(
        &self,
        x: &[f64],
        u: &[f64],
        f: &mut [f64],
        derivatives: Option<&mut MapDerivatives>,
    ) {
        match self.kind {
            MapKind::AlartCurnier => self.alart_curnier(x, u, f, derivatives),
            MapKind::Smoothed { width } => self.smoothed(width, x, u, f, derivatives),
            MapKind::NaturalMap(law) => self.natural_map(law, x, u, f, derivatives),
            MapKind::SmoothedPolar { law, width } => SmoothedPolar {
                law,
                friction: self.limits.friction,
                scale: self.normal_scale,
                width,
            }
            .evaluate(
                x,
                u,
                f,
                derivatives.unwrap_or(&mut MapDerivatives::default()),
            ),
        }
    }

    fn group_scale(&self, g: usize) -> f64 {
        if g == 0 {
            self.tangent_scale
        } else {
            self.rolling_scale
        }
    }

    fn alart_curnier(
        &self,
        x: &[f64],
        u: &[f64],
        f: &mut [f64],
        derivatives: Option<&mut MapDerivatives>,
    ) {
        let n = x.len();
        let rho_n = self.normal_scale;
        let z_n = x[0] - rho_n * u[0];
        let mut unused = MapDerivatives::default();
        let wanted = derivatives.is_some();
        let d = derivatives.unwrap_or(&mut unused);
        if wanted {
            d.velocity[..n * n].fill(0.0);
            d.impulse[..n * n].fill(0.0);
            d.open = !(z_n > 0.0);
        }
        if !(z_n > 0.0) {
            f.copy_from_slice(x);
            if wanted {
                (0..n).for_each(|i| d.impulse[i * n + i] = 1.0);
            }
            return;
        }
        f[0] = rho_n * u[0];
        if wanted {
            d.velocity[0] = rho_n;
        }
        for (g, &(start, end)) in groups(n).iter().enumerate() {
            let limit = self.limits.of(g);
            let rho = self.group_scale(g);
            let bound = limit * z_n;
            let mut z = [0.0; MAX_BLOCK];
            for i in start..end {
                z[i] = x[i] - rho * u[i];
            }
            let norm = group_norm(&z, (start, end));
            if norm <= bound {
                for i in start..end {
                    f[i] = rho * u[i];
                    if wanted {
                        d.velocity[i * n + i] = rho;
                    }
                }
                continue;
            }
            let shrink = bound / norm;
            for i in start..end {
                let t_i = z[i] / norm;
                f[i] = x[i] - bound * t_i;
                if wanted {
                    d.velocity[i * n] = limit * rho_n * t_i;
                    d.impulse[i * n] = -limit * t_i;
                    for j in start..end {
                        let identity = f64::from(u8::from(i == j));
                        let across = shrink * (identity - t_i * z[j] / norm);
                        d.velocity[i * n + j] = rho * across;
                        d.impulse[i * n + j] = identity - across;
                    }
                }
            }
        }
    }

    fn smoothed(
        &self,
        width: f64,
        x: &[f64],
        u: &[f64],
        f: &mut [f64],
        derivatives: Option<&mut MapDerivatives>,
    ) {
        let n = x.len();
        let rho_n = self.normal_scale;
        let z_n = x[0] - rho_n * u[0];
        let (p, slope) = above_zero(z_n, width);
        let mut unused = MapDerivatives::default();
        let d = derivatives.unwrap_or(&mut unused);
        d.velocity[..n * n].fill(0.0);
        d.impulse[..n * n].fill(0.0);
        d.open = false;
        f[0] = x[0] - p;
        d.velocity[0] = rho_n * slope;
        d.impulse[0] = 1.0 - slope;
        for (g, &(start, end)) in groups(n).iter().enumerate() {
            let limit = self.limits.of(g);
            let rho = self.group_scale(g);
            let width = if g == 0 {
                width
            } else {
                width * (rho / rho_n).sqrt()
            };
            let bound = limit * p;
            let mut z = [0.0; MAX_BLOCK];
            for i in start..end {
                z[i] = x[i] - rho * u[i];
            }
            let norm = group_norm(&z, (start, end));
            // max(b, r) = r + max(0, b − r).
            let (excess, by_bound) = above_zero(bound - norm, width);
            let m = norm + excess;
            let by_norm = 1.0 - by_bound;
            let shrink = bound / m;
            // d(b/m) = along_bound db − along_norm dr.
            let along_bound = (1.0 - shrink * by_bound) / m;
            let along_norm = shrink * by_norm / m;
            for i in start..end {
                f[i] = x[i] - z[i] * shrink;
                let by_normal = z[i] * along_bound * limit * slope;
                d.impulse[i * n] = -by_normal;
                d.velocity[i * n] = rho_n * by_normal;
                for j in start..end {
                    let identity = f64::from(u8::from(i == j));
                    let direction = if norm > 0.0 { z[j] / norm } else { 0.0 };
                    let by_z = shrink * identity - z[i] * along_norm * direction;
                    d.impulse[i * n + j] = identity - by_z;
                    d.velocity[i * n + j] = rho * by_z;
                }
            }
        }
    }

    fn natural_map(
        &self,
        law: FrictionLaw,
        x: &[f64],
        u: &[f64],
        f: &mut [f64],
        derivatives: Option<&mut MapDerivatives>,
    ) {
        let n = x.len();
        // In the metric of ρ: x̃ = x/√ρ, ũ = √ρ u, and stretched rolling limits.
        let roots = [self.normal_scale.sqrt(), self.rolling_scale.sqrt()];
        let root = |i: usize| roots[usize::from(i >= 3)];
        let limits = self.limits.stretched(roots[0] / roots[1]);
        let mut velocity = [0.0; MAX_BLOCK];
        let mut z = [0.0; MAX_BLOCK];
        for i in 0..n {
            velocity[i] = u[i] * root(i);
            z[i] = x[i] / root(i) - velocity[i];
        }
        if law == FrictionLaw::Coulomb {
            z[0] -= limits.de_saxce_shift(&velocity[..n]);
        }
        let found = limits.project_normal(&z[..n]);
        let mut direction = [0.0; MAX_BLOCK];
        let mut spread = [0.0; MAX_GROUPS];
        let mut nearest = z;
        nearest[0] = found.normal;
        for (g, &(start, end)) in groups(n).iter().enumerate() {
            if found.on_surface[g] && found.norms[g] > 0.0 {
                spread[g] = limits.of(g) * found.normal / found.norms[g];
                for i in start..end {
                    direction[i] = z[i] / found.norms[g];
                }
            }
            if found.on_surface[g] {
                for i in start..end {
                    nearest[i] = limits.of(g) * found.normal * direction[i];
                }
            }
        }
        for i in 0..n {
            f[i] = x[i] - root(i) * nearest[i];
        }
        let Some(d) = derivatives else { return };
        d.open = found.normal <= 0.0;
        // The derivative of the projection.
        let mut slope = [0.0; MAX_BLOCK * MAX_BLOCK];
        if !d.open {
            let mut normal_row = [0.0; MAX_BLOCK];
            normal_row[0] = 1.0 / found.weight;
            for (g, &(start, end)) in groups(n).iter().enumerate() {
                if found.on_surface[g] {
                    for i in start..end {
                        normal_row[i] = limits.of(g) * direction[i] / found.weight;
                    }
                }
            }
            slope[..n].copy_from_slice(&normal_row[..n]);
            for (g, &(start, end)) in groups(n).iter().enumerate() {
                for i in start..end {
                    if !found.on_surface[g] {
                        slope[i * n + i] = 1.0;
                        continue;
                    }
                    for j in 0..n {
                        slope[i * n + j] = limits.of(g) * direction[i] * normal_row[j];
                    }
                    for j in start..end {
                        let identity = f64::from(u8::from(i == j));
                        slope[i * n + j] += spread[g] * (identity - direction[i] * direction[j]);
                    }
                }
            }
        }
        // d(u + s e)/du: the first row gains l_g u_g/|u_g|.
        let mut shift_row = [0.0; MAX_BLOCK];
        if law == FrictionLaw::Coulomb {
            for (g, &(start, end)) in groups(n).iter().enumerate() {
                let norm = group_norm(&velocity[..n], (start, end));
                if norm > 0.0 {
                    for i in start..end {
                        shift_row[i] = limits.of(g) * velocity[i] / norm;
                    }
                }
            }
        }
        for i in 0..n {
            for j in 0..n {
                let along = slope[i * n + j] + slope[i * n] * shift_row[j];
                let identity = f64::from(u8::from(i == j));
                d.velocity[i * n + j] = root(i) * along * root(j);
                d.impulse[i * n + j] = root(i) * (identity - slope[i * n + j]) / root(j);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Central differences agree with the stated derivatives wherever the
        /// step does not cross a kink.
        #[test]
        fn derivatives_agree_with_finite_differences(
            x in prop::array::uniform6(-1.0..1.0_f64),
            u in prop::array::uniform6(-1.0..1.0_f64),
            block in prop::sample::select(vec![1_usize, 2, 3, 6]),
            which in 0..4_usize,
        ) {
            let kind = [
                MapKind::AlartCurnier,
                MapKind::NaturalMap(FrictionLaw::Coulomb),
                MapKind::NaturalMap(FrictionLaw::Associated),
                MapKind::Smoothed { width: 0.1 },
            ][which];
            let map = ContactMap {
                kind,
                limits: ConeLimits { friction: 0.6, rolling: 0.2, twisting: 0.1 },
                normal_scale: 1.3,
                tangent_scale: if which % 3 == 0 { 0.8 } else { 1.3 },
                rolling_scale: 0.4,
            };
            let n = block;
            let mut d = MapDerivatives::default();
            let mut f = [0.0; MAX_BLOCK];
            map.evaluate(&x[..n], &u[..n], &mut f[..n], Some(&mut d));
            let step = 1e-6;
            for j in 0..n {
                for (of_velocity, stated) in [(true, &d.velocity), (false, &d.impulse)] {
                    let at = |by: f64| {
                        let (mut x, mut u) = (x, u);
                        if of_velocity { u[j] += by } else { x[j] += by }
                        let mut f = [0.0; MAX_BLOCK];
                        map.evaluate(&x[..n], &u[..n], &mut f[..n], None);
                        f
                    };
                    let (plus, minus, wide) = (at(step), at(-step), at(2.0 * step));
                    for i in 0..n {
                        let central = (plus[i] - minus[i]) / (2.0 * step);
                        let outer = (wide[i] - plus[i]) / step;
                        // Where one-sided slopes differ, a kink is within reach.
                        let kink = (outer - central).abs() > 1e-4;
                        prop_assert!(kink || (central - stated[i * n + j]).abs() < 1e-5,
                            "{kind:?} row {i} column {j}: {central} against {}", stated[i * n + j]);
                    }
                }
            }
        }
    }

    #[test]
    fn a_sliding_contact_is_a_zero_of_both_equations() {
        for kind in [
            MapKind::AlartCurnier,
            MapKind::NaturalMap(FrictionLaw::Coulomb),
        ] {
            let map = ContactMap {
                kind,
                limits: ConeLimits::coulomb(0.5),
                normal_scale: 2.0,
                tangent_scale: 2.0,
                rolling_scale: 2.0,
            };
            let mut f = [1.0; 3];
            map.evaluate(&[2.0, -0.6, -0.8], &[0.0, 0.3, 0.4], &mut f, None);
            assert!(f.iter().all(|v| v.abs() < 1e-15), "{f:?}");
        }
    }
}
