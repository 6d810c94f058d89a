//! Extremes of a support function over a circle of directions.
//!
//! A line, a tube or a cone is touched along directions of one circle,
//! `n(φ) = k + u cos φ + v sin φ`. With `d = dn/dφ`, the signed distance to a line or to the outer
//! side of a tube is the maximum (`σ = −1`), and the depth within the inner side a maximum
//! (`σ = +1`), of
//!
//! ```text
//! F(φ) = n·p + σ h(n),   F′ = d·(p + σ s),   F″ = −(n − k)·(p + σ s) + σ d·H d.     (1)
//! ```
//!
//! Outside there is one maximum, as far as bodies are apart. Inside there can be two: both ends of
//! a long body touch. In the cross-section the body is an ellipse with semi-axes `p ≥ q` and centre
//! `X` in its axes, and `F′ = 0` says that the normal at `s` passes through `−X`: there are four
//! such normals within the ellipse's evolute, else two,
//!
//! ```text
//! (p|X₁|)^(2/3) + (q|X₂|)^(2/3) < (p² − q²)^(2/3).                       (2)
//! ```
//!
//! Seen from the quadrant of `X`, the deepest maximum is in the first quadrant and the other, if
//! there is one, in the second, beyond the direction that belongs to the point of the evolute on
//! the way from the centre through `X`: each has a bracket in which `F′` changes its sign once.

use super::Support;
use super::ellipsoid::{Ellipsoid, Quadric};
use glam::{DMat2, DVec2, DVec3};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

/// Newton steps at most.
const MAX_STEPS: usize = 60;
/// Growth of `F` below this, in sizes of the body, is lost in rounding.
const ROUNDING: f64 = 1e-13;
/// Halvings of the bracket in the cross-section, to less than a thousandth of a radian: a start.
const BRACKET_STEPS: usize = 11;

/// The directions `n(φ)`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Circle {
    pub u: DVec3,
    pub v: DVec3,
    pub k: DVec3,
}

/// Which side of the other surface the body is on: the sign `σ` of equation (1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Facing {
    /// `σ = −1`.
    Outer,
    /// `σ = +1`.
    Hollow,
}

/// A maximum of equation (1).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extreme {
    /// `n`.
    pub normal: DVec3,
    /// `d`.
    pub tangent: DVec3,
    /// `s(n)` (m).
    pub point: DVec3,
    /// `F` (m).
    pub value: f64,
    /// `F″` (m).
    pub second: f64,
}

impl Circle {
    /// The directions across an axis (unit vector).
    pub fn across(axis: DVec3) -> Self {
        let (u, v) = axis.any_orthonormal_pair();
        let k = DVec3::ZERO;
        Self { u, v, k }
    }

    /// `n(φ)`.
    pub fn at(&self, angle: f64) -> DVec3 {
        let (sin, cos) = angle.sin_cos();
        self.k + cos * self.u + sin * self.v
    }

    /// Equation (1) at an angle.
    pub fn measure(&self, body: &impl Support, p: DVec3, facing: Facing, angle: f64) -> Extreme {
        let sign = match facing {
            Facing::Outer => -1.0,
            Facing::Hollow => 1.0,
        };
        let (sin, cos) = angle.sin_cos();
        let n = self.k + cos * self.u + sin * self.v;
        let d = cos * self.v - sin * self.u;
        let extent = body.extent(n);
        let point = body.point(&extent);
        let second = -(n - self.k).dot(p + sign * point) + sign * body.bend(&extent, d);
        Extreme {
            normal: n,
            tangent: d,
            point,
            value: n.dot(p) + sign * extent.h,
            second,
        }
    }

    /// The maximum of equation (1) that is reached from an angle by going up.
    pub fn climb(&self, body: &impl Support, p: DVec3, facing: Facing, start: f64) -> Extreme {
        let sign = match facing {
            Facing::Outer => -1.0,
            Facing::Hollow => 1.0,
        };
        let mut angle = start;
        let mut here = self.measure(body, p, facing, angle);
        let mut last_step = f64::INFINITY;
        for _ in 0..MAX_STEPS {
            let slope = here.tangent.dot(p + sign * here.point);
            // Where the curvature is no guide, a step of a fair size up.
            let floor = 0.1 * here.second.abs() + 1e-3 * body.size();
            let step = (slope / (-here.second).max(floor)).clamp(-0.5, 0.5);
            if (slope * step) < ROUNDING * body.size() {
                // The floor must not stop Newton short of a flat maximum.
                let exact = -slope / here.second;
                let step = if here.second < 0.0 { exact } else { step };
                if !(step.abs() < 0.5 * last_step && step.abs() < 0.5) {
                    return here;
                }
                last_step = step.abs();
                angle += step;
                here = self.measure(body, p, facing, angle);
                continue;
            }
            let mut factor = 1.0;
            loop {
                let next = self.measure(body, p, facing, angle + factor * step);
                if next.value >= here.value + 1e-4 * factor * slope * step {
                    angle += factor * step;
                    here = next;
                    break;
                }
                factor *= 0.5;
                if factor < 1e-6 {
                    return here;
                }
            }
        }
        here
    }

    /// The angle of a direction, as seen along `k`.
    pub fn angle_of(&self, direction: DVec3) -> f64 {
        direction.dot(self.v).atan2(direction.dot(self.u))
    }

    /// The section of an ellipsoid, projected along `k`.
    pub fn section(&self, body: &Ellipsoid) -> Section {
        let a = body.squared();
        let (u, v) = (self.u.normalize(), self.v.normalize());
        let (uu, uv, vv) = (u.dot(a * u), u.dot(a * v), v.dot(a * v));
        let half = 0.5 * (uu - vv);
        let spread = half.hypot(uv);
        let mean = 0.5 * (uu + vv);
        let long = if spread > 0.0 {
            DVec2::from_angle(0.5 * uv.atan2(half))
        } else {
            DVec2::X
        };
        let p2 = mean + spread;
        // The smaller from the product of both: their difference would cancel.
        let q2 = (uu * vv - uv * uv).max(0.0) / p2;
        Section {
            long,
            p2,
            q2,
            basis: [u, v],
        }
    }

    /// Start for the outer maximum: exact where the line or the tube's axis is on the surface.
    pub fn outer_start(&self, body: &Ellipsoid, p: DVec3) -> f64 {
        let section = self.section(body);
        let x = section.local(p);
        let n = DVec2::new(x.x / section.p2, x.y / section.q2);
        if n == DVec2::ZERO {
            return section.long.perp().to_angle();
        }
        section.long.rotate(n).to_angle()
    }

    /// The maxima of the depth within a tube or cone, the deepest first.
    pub fn hollow_maxima(&self, body: &Ellipsoid, p: DVec3) -> (Extreme, Option<Extreme>) {
        let section = self.section(body);
        let (start, other) = section.hollow_angles(section.local(p));
        let climb = |angle: f64| self.climb(body, p, Facing::Hollow, angle);
        let mut first = climb(start);
        let mut second: Option<Extreme> = None;
        let mut add = |found: Extreme| {
            let is_known = |known: &Extreme| found.normal.distance(known.normal) < 1e-6;
            if is_known(&first) || second.as_ref().is_some_and(is_known) {
                return;
            }
            if found.value > first.value {
                second = Some(std::mem::replace(&mut first, found));
            } else if second.is_none_or(|known| found.value > known.value) {
                second = Some(found);
            }
        };
        if let Some(angle) = other {
            add(climb(angle));
        }
        if self.k != DVec3::ZERO {
            // On a cone the section is a guide only: maxima are looked for all around. Where the
            // depth does not change, as anywhere around a ball on the axis, there is none.
            for quarter in 1..4 {
                let found = climb(start + FRAC_PI_2 * f64::from(quarter));
                if found.second < -1e-9 * body.size() {
                    add(found);
                }
            }
        }
        (first, second)
    }
}

/// The ellipse that a projected ellipsoid is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Section {
    /// Direction of the long axis in the basis.
    pub long: DVec2,
    /// Squares of the semi-axes (m²).
    p2: f64,
    q2: f64,
    basis: [DVec3; 2],
}

impl Section {
    fn local(&self, p: DVec3) -> DVec2 {
        let x = DVec2::new(self.basis[0].dot(p), self.basis[1].dot(p));
        DVec2::new(self.long.dot(x), self.long.perp_dot(x))
    }

    /// Directions of the maxima of `X·n + h(n)` in the basis, near enough to start from.
    fn hollow_angles(&self, x: DVec2) -> (f64, Option<f64>) {
        let signs = DVec2::ONE.copysign(x);
        let x = x.abs();
        let slope = |angle: f64| {
            let (sin, cos) = angle.sin_cos();
            let h = (self.p2 * cos * cos + self.q2 * sin * sin).sqrt();
            x.y * cos - x.x * sin - (self.p2 - self.q2) * sin * cos / h
        };
        let back = |angle: f64| {
            let local = DVec2::from_angle(angle) * signs;
            DMat2::from_cols(self.long, self.long.perp())
                .mul_vec2(local)
                .to_angle()
        };
        let deepest = back(root(slope, 0.0, FRAC_PI_2));
        let excess = self.p2 - self.q2;
        let (a, b) = ((self.p2.sqrt() * x.x).cbrt(), (self.q2.sqrt() * x.y).cbrt());
        // Nearly a circle: the second maximum is no more than rounding.
        let is_round = excess <= 1e-12 * self.p2;
        if is_round || a * a + b * b >= excess.cbrt().powi(2) {
            return (deepest, None);
        }
        let between = if a + b > 0.0 {
            let normal = DVec2::new(-a / self.p2.sqrt(), b / self.q2.sqrt());
            normal.to_angle()
        } else {
            3.0 * FRAC_PI_4
        };
        (deepest, Some(back(root(slope, between, PI))))
    }
}

/// Where a slope that is positive at `low` and negative at `high` changes its sign.
fn root(slope: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    for _ in 0..BRACKET_STEPS {
        let middle = 0.5 * (low + high);
        if slope(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}
