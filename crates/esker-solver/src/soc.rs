//! Algebra of one second-order cone `C = {x₀ ≥ |x₁|}` of dimension 1, 2 or 3, and its
//! Nesterov–Todd scaling.
//!
//! With `det x = x₀² − |x₁|²`, `J = diag(1, −1, −1)` and the Jordan product
//! `x ∘ y = (x·y, x₀ y₁ + y₀ x₁)`:
//!
//! ```text
//! x̄ = x/√det x, ȳ likewise,  γ = √((1 + x̄·ȳ)/2),  w = (x̄ + J ȳ)/(2γ)
//! η = (det x/det y)^¼,  W = η [[w₀, w₁ᵀ], [w₁, I + w₁ w₁ᵀ/(1 + w₀)]]       (1)
//! ```
//!
//! so that `W y = W⁻¹ x`, and `W² = η² (2 w wᵀ − J)`.

/// A point of a cone; entries beyond the cone's dimension are zero.
pub type Point = [f64; 3];

/// `x₀² − |x₁|²`, computed without cancellation of squares.
#[inline]
pub fn det(x: &Point) -> f64 {
    let tail = x[1].hypot(x[2]);
    (x[0] - tail) * (x[0] + tail)
}

/// Scalar product.
#[inline]
pub fn inner(x: &Point, y: &Point) -> f64 {
    x[0] * y[0] + x[1] * y[1] + x[2] * y[2]
}

/// The Jordan product.
#[inline]
pub fn jordan(x: &Point, y: &Point) -> Point {
    [
        inner(x, y),
        x[0] * y[1] + y[0] * x[1],
        x[0] * y[2] + y[0] * x[2],
    ]
}

/// Solves `l ∘ z = r` for `l` inside the cone.
#[inline]
pub fn jordan_solve(l: &Point, r: &Point) -> Point {
    let head = (l[0] * r[0] - l[1] * r[1] - l[2] * r[2]) / det(l);
    [
        head,
        (r[1] - head * l[1]) / l[0],
        (r[2] - head * l[2]) / l[0],
    ]
}

/// The largest `t` with `x + t dx` in the cone, for `x` inside it.
#[inline]
pub fn distance(x: &Point, dx: &Point) -> f64 {
    let a = det(dx);
    let b = x[0] * dx[0] - x[1] * dx[1] - x[2] * dx[2];
    let c = det(x);
    let root = b * b - a * c;
    if root < 0.0 {
        return f64::INFINITY;
    }
    let below = -b + root.sqrt();
    if below > 0.0 {
        c / below
    } else {
        f64::INFINITY
    }
}

/// The scaling (1) of a pair of points.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scaling {
    w: Point,
    eta: f64,
}

impl Scaling {
    /// The scaling of two points inside the cone.
    #[inline]
    pub fn new(x: &Point, y: &Point) -> Self {
        let (dx, dy) = (det(x), det(y));
        let (rx, ry) = (1.0 / dx.sqrt(), 1.0 / dy.sqrt());
        let gamma = (0.5 * (1.0 + inner(x, y) * rx * ry)).sqrt();
        let half = 0.5 / gamma;
        Scaling {
            w: [
                half * (x[0] * rx + y[0] * ry),
                half * (x[1] * rx - y[1] * ry),
                half * (x[2] * rx - y[2] * ry),
            ],
            eta: (dx / dy).sqrt().sqrt(),
        }
    }

    /// `W v`.
    #[inline]
    pub fn apply(&self, v: &Point) -> Point {
        Self::apply_with(self.w, self.eta, v)
    }

    /// `W⁻¹ v`.
    #[inline]
    pub fn apply_inverse(&self, v: &Point) -> Point {
        Self::apply_with([self.w[0], -self.w[1], -self.w[2]], 1.0 / self.eta, v)
    }

    #[inline]
    fn apply_with(w: Point, eta: f64, v: &Point) -> Point {
        let along = w[1] * v[1] + w[2] * v[2];
        let spread = v[0] + along / (1.0 + w[0]);
        [
            eta * (w[0] * v[0] + along),
            eta * (v[1] + spread * w[1]),
            eta * (v[2] + spread * w[2]),
        ]
    }

    /// `W²`, row-major; rows beyond the cone's dimension are those of `η² I`.
    #[inline]
    pub fn square(&self) -> [f64; 9] {
        let e = self.eta * self.eta;
        let w = self.w;
        let mut out = [0.0; 9];
        for i in 0..3 {
            for j in 0..3 {
                out[i * 3 + j] = e * 2.0 * w[i] * w[j];
            }
        }
        out[0] -= e;
        out[4] += e;
        out[8] += e;
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn inside() -> impl Strategy<Value = Point> {
        (0.01..3.0_f64, -2.0..2.0_f64, -2.0..2.0_f64)
            .prop_map(|(gap, a, b)| [gap + a.hypot(b), a, b])
    }

    proptest! {
        #[test]
        fn the_scaling_maps_both_points_to_one(x in inside(), y in inside(), v in inside()) {
            let scaling = Scaling::new(&x, &y);
            let (from_x, from_y) = (scaling.apply_inverse(&x), scaling.apply(&y));
            let square = scaling.square();
            let twice = scaling.apply(&scaling.apply(&v));
            for i in 0..3 {
                prop_assert!((from_x[i] - from_y[i]).abs() < 1e-9 * (1.0 + from_x[0]));
                let by_square: f64 = (0..3).map(|j| square[i * 3 + j] * v[j]).sum();
                prop_assert!((by_square - twice[i]).abs() < 1e-9 * (1.0 + twice[0].abs()));
            }
        }

        #[test]
        fn a_step_of_the_stated_length_ends_on_the_surface(x in inside(), dx in inside()) {
            let back = [-dx[0], dx[1], -dx[2]];
            let t = distance(&x, &back);
            prop_assert!(t.is_finite());
            let end = [0, 1, 2].map(|i| x[i] + t * back[i]);
            prop_assert!(det(&end).abs() < 1e-8 * (1.0 + x[0] * x[0]) && end[0] > -1e-9);
            prop_assert!(jordan_solve(&x, &jordan(&x, &dx)).iter().zip(&dx).all(|(a, b)| (a - b).abs() < 1e-6));
        }
    }
}
