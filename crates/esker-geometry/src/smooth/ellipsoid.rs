//! The ellipsoid.
//!
//! With semi-axes `r` and axes `R` let `L = diag(r) Rᵀ`, so that `A = LᵀL`, and `u = L n`:
//!
//! ```text
//! h = |u|,   s = Lᵀu/h,   tᵢ·H tⱼ = (pᵢ·pⱼ − (pᵢ·u)(pⱼ·u)/h²)/h,   pᵢ = L tᵢ.      (1)
//! ```
//!
//! Unlike `n·A n` this loses no digits where a thin ellipsoid is seen along its short axis.

use super::{Ball, Extent, Support};
use crate::hertz::Sym2;
use glam::{DMat3, DVec3};

/// An ellipsoid about the origin, turned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ellipsoid {
    /// `L` and its transpose (m).
    l: DMat3,
    transposed: DMat3,
    semi_axes: DVec3,
    rotation: DMat3,
}

impl Ellipsoid {
    pub fn new(semi_axes: DVec3, rotation: DMat3) -> Self {
        let transposed = DMat3::from_cols(
            rotation.x_axis * semi_axes.x,
            rotation.y_axis * semi_axes.y,
            rotation.z_axis * semi_axes.z,
        );
        Self {
            l: transposed.transpose(),
            transposed,
            semi_axes,
            rotation,
        }
    }

    /// The normal of the similar ellipsoid through a point: exact for a point of the surface,
    /// and a start for others.
    pub fn normal_towards(&self, point: DVec3) -> DVec3 {
        let local = self.rotation.transpose() * point;
        let normal = self.rotation * (local / (self.semi_axes * self.semi_axes));
        normal.try_normalize().unwrap_or_else(|| self.short_axis())
    }

    /// Whether a point lies in the ellipsoid, to rounding.
    pub fn contains(&self, point: DVec3) -> bool {
        self.scaled(point).length_squared() <= 1.0 + 1e-9
    }

    /// A point in the coordinates in which the ellipsoid is the unit ball.
    pub fn scaled(&self, point: DVec3) -> DVec3 {
        (self.rotation.transpose() * point) / self.semi_axes
    }

    /// Direction of the shortest axis.
    pub fn short_axis(&self) -> DVec3 {
        self.rotation.col(self.semi_axes.min_position())
    }

    /// Smallest semi-axis (m).
    pub fn min_extent(&self) -> f64 {
        self.semi_axes.min_element()
    }

    /// The longest semi-axis (m).
    pub fn long_axis(&self) -> DVec3 {
        self.transposed.col(self.semi_axes.max_position())
    }

    /// The two longest semi-axes (m).
    pub fn long_axes(&self) -> [DVec3; 2] {
        let short = self.semi_axes.min_position();
        [(short + 1) % 3, (short + 2) % 3].map(|k| self.transposed.col(k))
    }

    /// The normal where this ellipsoid and another, their centres
    /// `c` apart, touch first when both grow about their centres: Perram and Wertheim's contact
    /// function `max over λ of λ(1−λ) c·Y c`, `Y = ((1−λ)A + λB)⁻¹`, by the fixed point
    /// `λ/(1−λ) = √(y·A y / y·B y)`, `y = Y c`, to a thousandth.
    pub fn perram_wertheim(&self, other: &impl Quadric, c: DVec3) -> DVec3 {
        let (a, b) = (self.squared(), other.squared());
        let (mut low, mut high) = (0.0, 1.0);
        let mut lambda = self.size() / (self.size() + other.size());
        let mut y = DVec3::ZERO;
        for _ in 0..MAX_FIXED_POINT {
            let mixed = (1.0 - lambda) * a + lambda * b;
            y = solve_symmetric(&mixed, c);
            let (in_a, in_b) = (y.dot(a * y), y.dot(b * y));
            // The sign of the derivative brackets the maximum.
            let slope = (1.0 - lambda).powi(2) * in_a - lambda * lambda * in_b;
            if slope > 0.0 {
                low = lambda;
            } else {
                high = lambda;
            }
            let ratio = (in_a / in_b).sqrt();
            let mut next = ratio / (1.0 + ratio);
            if !(next > low && next < high) {
                next = 0.5 * (low + high);
            }
            let change = (next - lambda).abs();
            lambda = next;
            if change < 1e-3 {
                break;
            }
        }
        y.try_normalize().unwrap_or_else(|| self.short_axis())
    }
}

const MAX_FIXED_POINT: usize = 30;

/// A body whose support function is `√(n·A n)`.
pub(crate) trait Quadric: Support {
    /// `A` (m²).
    fn squared(&self) -> DMat3;

    /// Smallest radius of curvature (m).
    fn min_radius(&self) -> f64;
}

impl Quadric for Ellipsoid {
    fn squared(&self) -> DMat3 {
        self.transposed * self.l
    }

    fn min_radius(&self) -> f64 {
        self.semi_axes.min_element().powi(2) / self.size()
    }
}

impl Quadric for Ball {
    fn squared(&self) -> DMat3 {
        DMat3::from_diagonal(DVec3::splat(self.radius * self.radius))
    }

    fn min_radius(&self) -> f64 {
        self.radius
    }
}

/// `M⁻¹ c` up to a positive factor, for a positive definite `M`.
fn solve_symmetric(m: &DMat3, c: DVec3) -> DVec3 {
    let (x, y, z) = (m.x_axis, m.y_axis, m.z_axis);
    let (yz, zx, xy) = (y.cross(z), z.cross(x), x.cross(y));
    let y = DVec3::new(yz.dot(c), zx.dot(c), xy.dot(c));
    // Of length about one: its square must not underflow for small bodies.
    y / y.abs().max_element().max(f64::MIN_POSITIVE)
}

impl Support for Ellipsoid {
    #[inline]
    fn extent(&self, n: DVec3) -> Extent {
        let u = self.l * n;
        let h = u.length();
        Extent { h, unit: u / h }
    }

    #[inline]
    fn point(&self, extent: &Extent) -> DVec3 {
        self.transposed * extent.unit
    }

    #[inline]
    fn radii(&self, extent: &Extent, t: [DVec3; 2]) -> Sym2 {
        let across = |t: DVec3| {
            let p = self.l * t;
            p - p.dot(extent.unit) * extent.unit
        };
        let (p, q) = (across(t[0]), across(t[1]));
        Sym2 {
            xx: p.dot(p) / extent.h,
            xy: p.dot(q) / extent.h,
            yy: q.dot(q) / extent.h,
        }
    }

    fn bend(&self, extent: &Extent, d: DVec3) -> f64 {
        let p = self.l * d;
        (p - p.dot(extent.unit) * extent.unit).length_squared() / extent.h
    }

    fn size(&self) -> f64 {
        self.semi_axes.max_element()
    }
}
