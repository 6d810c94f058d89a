//! Conformity of curved surfaces.
//!
//! With `H` the tensor of the radii of curvature of a surface in the contact plane, the relative
//! curvature of two surfaces is `K = H_a⁻¹ + H_b⁻¹`, with principal values `κ₁ ≥ κ₂`. Hertz' theory
//! gives `f = (4/3) E* √R Φ δ^(3/2)` with
//!
//! ```text
//! R = (κ₁ κ₂)^(-1/2),   Φ = 1 + 0.02157 x² − 6.33e-4 x³ + 8.78e-5 x⁴,   x = ln(κ₁/κ₂).   (1)
//! ```
//!
//! The fit to the elliptic integrals is good to 0.04 % up to `κ₁/κ₂ = 1000`, where the ratio ends.

use crate::manifold::Conformity;
use crate::shape::MAX_CONFORMITY;
use glam::DVec2;

/// Ratio of the principal curvatures at most.
const MAX_RATIO: f64 = 1000.0;

/// A symmetric tensor in the contact plane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sym2 {
    pub xx: f64,
    pub xy: f64,
    pub yy: f64,
}

impl Sym2 {
    pub fn isotropic(value: f64) -> Self {
        Self {
            xx: value,
            xy: 0.0,
            yy: value,
        }
    }

    pub fn determinant(&self) -> f64 {
        self.xx * self.yy - self.xy * self.xy
    }

    pub fn trace(&self) -> f64 {
        self.xx + self.yy
    }

    pub fn max_eigenvalue(&self) -> f64 {
        let half = 0.5 * (self.xx - self.yy);
        0.5 * self.trace() + half.hypot(self.xy)
    }

    /// The tensor with `shift` added to its diagonal, inverted and applied.
    pub fn solve_shifted(&self, shift: f64, y: DVec2) -> DVec2 {
        let (xx, yy) = (self.xx + shift, self.yy + shift);
        let determinant = xx * yy - self.xy * self.xy;
        DVec2::new(yy * y.x - self.xy * y.y, xx * y.y - self.xy * y.x) / determinant
    }

    /// `e · S e`.
    pub fn along(&self, e: DVec2) -> f64 {
        self.xx * e.x * e.x + 2.0 * self.xy * e.x * e.y + self.yy * e.y * e.y
    }
}

impl std::ops::Add for Sym2 {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            xx: self.xx + other.xx,
            xy: self.xy + other.xy,
            yy: self.yy + other.yy,
        }
    }
}

impl std::ops::Mul<DVec2> for Sym2 {
    type Output = DVec2;

    fn mul(self, v: DVec2) -> DVec2 {
        DVec2::new(self.xx * v.x + self.xy * v.y, self.xy * v.x + self.yy * v.y)
    }
}

/// Curvature (1/m) of the other surface at a contact, positive where it bends away.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum OtherCurvature {
    /// A plane, or an edge or corner, which count as one.
    None,
    /// The same in all directions.
    Isotropic(f64),
    /// In one direction of the contact plane (unit vector), as a cylinder's.
    Along(DVec2, f64),
}

impl Conformity {
    /// Equation (1) from trace and determinant of the relative curvature (1/m, 1/m²).
    pub(crate) fn from_curvature(trace: f64, determinant: f64) -> Self {
        let half = 0.5 * trace;
        let max = half + (half * half - determinant).max(0.0).sqrt();
        let determinant = determinant.max(max * max / MAX_RATIO);
        let x = (max * max / determinant).ln().max(0.0);
        Self::Curved {
            radius: 1.0 / determinant.sqrt(),
            ellipse_factor: 1.0 + x * x * (0.02157 + x * (-6.33e-4 + x * 8.78e-5)),
        }
    }

    /// Equation (1) of two surfaces with these radii of curvature (m), which need not be inverted.
    pub(crate) fn of_radii(a: Sym2, b: Sym2) -> Self {
        let (det_a, det_b) = (a.determinant(), b.determinant());
        let trace = a.trace() / det_a + b.trace() / det_b;
        Self::from_curvature(trace, (a + b).determinant() / (det_a * det_b))
    }

    /// Equation (1) of a surface with these radii of curvature against another of which the
    /// curvature is known. A hollow one fits as closely as [`MAX_CONFORMITY`] allows at most.
    pub(crate) fn against(radii: Sym2, other: OtherCurvature) -> Self {
        let determinant = radii.determinant();
        let trace = radii.trace() / determinant;
        match other {
            OtherCurvature::None => Self::from_curvature(trace, 1.0 / determinant),
            OtherCurvature::Isotropic(curvature) => {
                let curvature = curvature.max(-MAX_CONFORMITY / radii.max_eigenvalue());
                Self::from_curvature(
                    trace + 2.0 * curvature,
                    1.0 / determinant + curvature * (trace + curvature),
                )
            }
            OtherCurvature::Along(direction, curvature) => {
                let across = radii.along(direction);
                let curvature = curvature.max(-MAX_CONFORMITY / across);
                Self::from_curvature(trace + curvature, (1.0 + curvature * across) / determinant)
            }
        }
    }

    /// Of a sphere with this radius (m) against a wall of this curvature (1/m).
    pub(crate) fn of_sphere(radius: f64, curvature: f64) -> Self {
        Self::Curved {
            radius: 1.0 / (1.0 / radius + curvature),
            ellipse_factor: 1.0,
        }
    }

    /// Of each of the two points that stand for a line of contact of this half length (m), with
    /// `radius` the effective radius of the two surfaces across it (m) and `sine` that of the
    /// angle by which they are not parallel: from a line to a point the change is gradual.
    pub(crate) fn of_line_end(radius: f64, half_length: f64, sine: f64) -> Self {
        let parallel = (1.0 - (sine / PARALLEL_SINE).powi(2)).max(0.0);
        let longer = (half_length - radius).max(0.0);
        Self::Curved {
            radius: (radius * (radius + parallel * longer)).sqrt(),
            ellipse_factor: 1.0,
        }
    }
}

/// Sine of the angle between two lines up to which they touch along a length.
pub(crate) const PARALLEL_SINE: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(conformity: Conformity) -> (f64, f64) {
        match conformity {
            Conformity::Curved {
                radius,
                ellipse_factor,
            } => (radius, ellipse_factor),
            Conformity::Flat { .. } => unreachable!("curved surfaces"),
        }
    }

    #[test]
    fn ellipse_factor_fits_the_elliptic_integrals_and_ends_at_a_thousand() {
        for (ratio, exact) in [
            (1.0, 1.0),
            (10.0, 1.10904),
            (100.0, 1.43506),
            (1e3, 2.02053),
        ] {
            let (radius, factor) = parts(Conformity::from_curvature(1.0 + ratio, ratio));
            assert!((factor / exact - 1.0).abs() < 4.5e-4, "{ratio}: {factor}");
            assert!((radius * ratio.sqrt() - 1.0).abs() < 1e-12);
        }
        let limit = parts(Conformity::from_curvature(1001.0, 1000.0));
        let beyond = parts(Conformity::from_curvature(1e6, 0.0));
        assert!((limit.1 - beyond.1).abs() < 1e-12 && beyond.0.is_finite());
    }

    #[test]
    fn hollow_walls_fit_a_body_as_closely_as_they_may() {
        let radii = Sym2 {
            xx: 2.0,
            xy: 0.5,
            yy: 1.0,
        };
        for other in [
            OtherCurvature::Along(DVec2::X, -10.0),
            OtherCurvature::Isotropic(-10.0),
        ] {
            let (radius, factor) = parts(Conformity::against(radii, other));
            let (own, _) = parts(Conformity::against(radii, OtherCurvature::None));
            assert!(
                radius > own && radius < 40.0 * own && factor >= 1.0,
                "{radius}"
            );
        }
    }

    #[test]
    fn two_tensors_and_a_curvature_give_the_same() {
        let radii = Sym2 {
            xx: 2.0,
            xy: 0.5,
            yy: 1.0,
        };
        let one = parts(Conformity::of_radii(radii, Sym2::isotropic(0.5)));
        let two = parts(Conformity::against(radii, OtherCurvature::Isotropic(2.0)));
        assert!((one.0 - two.0).abs() < 1e-14 && (one.1 - two.1).abs() < 1e-14);
    }
}
