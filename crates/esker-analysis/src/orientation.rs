//! How far long grains point the same way.
//!
//! With unit vectors `n` along the axes of `N` grains, of which `n` and `−n` mean the same,
//!
//! ```text
//! Q = 3/2 ⟨n nᵀ⟩ − 1/2,   S = largest eigenvalue of Q                                  (1)
//! ```
//!
//! `S` is 0 for axes in all directions and 1 where all are parallel; the eigenvector is the
//! director. `S` of `N` random axes is about `1/√N`, not 0.

use glam::{DMat3, DVec3};

/// Order of axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NematicOrder {
    /// `S` of eq. (1).
    pub order: f64,
    /// Mean direction of the axes, a unit vector; its sign means nothing.
    pub director: DVec3,
}

/// Order of axes, unit vectors; `None` where there are none.
pub fn nematic_order(axes: &[DVec3]) -> Option<NematicOrder> {
    if axes.is_empty() {
        return None;
    }
    let outer = |n: DVec3| DMat3::from_cols(n.x * n, n.y * n, n.z * n);
    let sum = axes.iter().fold(DMat3::ZERO, |sum, &n| sum + outer(n));
    let q = sum * (1.5 / axes.len() as f64) - DMat3::from_diagonal(DVec3::splat(0.5));
    let director = eigenvector(q, max_eigenvalue(q));
    Some(NematicOrder {
        // The solution of the cubic loses half of its digits where two eigenvalues are nearly
        // equal; this does not.
        order: director.dot(q * director),
        director,
    })
}

/// Of a symmetric matrix with trace zero, by the trigonometric solution of its cubic.
fn max_eigenvalue(q: DMat3) -> f64 {
    let p = (q * q).x_axis.x + (q * q).y_axis.y + (q * q).z_axis.z;
    let radius = (p / 6.0).sqrt();
    if radius < 1e-12 {
        return 0.0;
    }
    let cosine = (q * (1.0 / radius)).determinant() / 2.0;
    2.0 * radius * (cosine.clamp(-1.0, 1.0).acos() / 3.0).cos()
}

/// A unit vector that a symmetric matrix stretches by `value`, its largest eigenvalue.
fn eigenvector(q: DMat3, value: f64) -> DVec3 {
    let rest = q - DMat3::from_diagonal(DVec3::splat(value));
    let [a, b, c] = [rest.x_axis, rest.y_axis, rest.z_axis];
    let candidates = [a.cross(b), b.cross(c), c.cross(a)];
    let longest = candidates
        .into_iter()
        .max_by(|a, b| a.length_squared().total_cmp(&b.length_squared()));
    let longest = longest.unwrap_or(DVec3::Z);
    if longest.length() > 1e-9 {
        return longest.normalize();
    }
    // A plane of eigenvectors: anything across the one row that is left.
    let row = [a, b, c].into_iter().find(|row| row.length() > 1e-9);
    row.map_or(DVec3::Z, |row| row.normalize().any_orthonormal_vector())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parallel_axes_have_order_one_whatever_their_signs() {
        let axis = DVec3::new(1.0, -2.0, 0.5).normalize();
        let found = nematic_order(&[axis, -axis, axis]).unwrap();
        assert!((found.order - 1.0).abs() < 1e-12);
        assert!((found.director.dot(axis).abs() - 1.0).abs() < 1e-12);
        assert!(nematic_order(&[]).is_none());
    }

    #[test]
    fn axes_in_all_directions_have_no_order() {
        let found = nematic_order(&[DVec3::X, DVec3::Y, DVec3::Z]).unwrap();
        assert!(found.order.abs() < 1e-12 && found.director.is_normalized());
    }

    /// Axes in a plane: Q has the eigenvalues 1/4, 1/4 and −1/2.
    #[test]
    fn axes_in_a_plane_have_order_a_quarter_and_a_director_in_it() {
        let around = |k: u32| {
            let (sin, cos) = (f64::from(k) * std::f64::consts::PI / 9.0).sin_cos();
            DVec3::new(cos, 0.0, sin)
        };
        let axes: Vec<DVec3> = (0..9).map(around).collect();
        let found = nematic_order(&axes).unwrap();
        assert!((found.order - 0.25).abs() < 1e-12, "{found:?}");
        assert!(found.director.y.abs() < 1e-6 && found.director.is_normalized());
    }

    /// Axes at an angle θ about a line: S = (3 cos² θ − 1)/2.
    #[test]
    fn axes_on_a_cone_have_the_order_of_its_angle() {
        let (sin, cos) = 0.4_f64.sin_cos();
        let around = |k: u32| {
            let (s, c) = (f64::from(k) * std::f64::consts::TAU / 7.0).sin_cos();
            DVec3::new(sin * c, sin * s, cos)
        };
        let axes: Vec<DVec3> = (0..7).map(around).collect();
        let found = nematic_order(&axes).unwrap();
        assert!((found.order - 0.5 * (3.0 * cos * cos - 1.0)).abs() < 1e-12);
        assert!((found.director.z.abs() - 1.0).abs() < 1e-9);
    }
}
