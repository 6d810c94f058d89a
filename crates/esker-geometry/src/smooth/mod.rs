//! Smooth convex bodies and how near they are to each other.
//!
//! A convex body is its support function `h(n)`, the extent along a unit vector `n`; the surface
//! point with normal `n` is `s(n)`, and `H(n) = ∂s/∂n` is the tensor of the radii of curvature
//! there. The signed distance of two bodies with centres `c` apart is
//!
//! ```text
//! gap = max over n of g(n) = n·c − h_a(n) − h_b(n),                      (1)
//! ```
//!
//! found by Newton's method on the sphere ([`separation`]), or on a circle of it where the other
//! body is a line, a tube or a cone ([`circle`]). Every `g(n)` is a lower bound of the gap.

pub(crate) mod capsule;
pub(crate) mod circle;
pub(crate) mod ellipsoid;
pub(crate) mod separation;

use crate::hertz::Sym2;
use glam::DVec3;

/// The extent of a body along a direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    /// `h(n)` (m).
    pub h: f64,
    /// The point of the unit sphere that the body maps to `s(n)`.
    pub unit: DVec3,
}

/// A strictly convex body about the origin, by its support function.
pub(crate) trait Support {
    /// `h(n)` for a unit vector.
    fn extent(&self, n: DVec3) -> Extent;

    /// `s(n)` (m).
    fn point(&self, extent: &Extent) -> DVec3;

    /// `H(n)` in the basis `t` of the plane across `n` (m).
    fn radii(&self, extent: &Extent, t: [DVec3; 2]) -> Sym2;

    /// `d·H(n) d` for a vector `d` across `n` (m times the square of `d`).
    fn bend(&self, extent: &Extent, d: DVec3) -> f64;

    /// Largest extent (m).
    fn size(&self) -> f64;
}

/// A ball; one of no radius is a point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ball {
    /// Radius (m).
    pub radius: f64,
}

impl Support for Ball {
    fn extent(&self, n: DVec3) -> Extent {
        Extent {
            h: self.radius,
            unit: n,
        }
    }

    fn point(&self, extent: &Extent) -> DVec3 {
        self.radius * extent.unit
    }

    fn radii(&self, _: &Extent, _: [DVec3; 2]) -> Sym2 {
        Sym2::isotropic(self.radius)
    }

    fn bend(&self, _: &Extent, d: DVec3) -> f64 {
        self.radius * d.length_squared()
    }

    fn size(&self) -> f64 {
        self.radius
    }
}
