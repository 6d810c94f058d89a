//! Principal axes of a symmetric tensor.

use glam::{DMat3, DVec3};

/// Sweeps of Jacobi rotations; convergence is quadratic, and five are enough for any matrix.
const MAX_SWEEPS: usize = 20;

/// Eigenvalues and eigenvectors (columns, right-handed) of a symmetric matrix, by Jacobi
/// rotations. A matrix that is diagonal already keeps its axes, in their order.
pub(crate) fn principal_axes(tensor: DMat3) -> (DVec3, DMat3) {
    let mut a = tensor;
    let mut axes = DMat3::IDENTITY;
    for _ in 0..MAX_SWEEPS {
        let off = a.y_axis.x.abs() + a.z_axis.x.abs() + a.z_axis.y.abs();
        let size = a.x_axis.x.abs() + a.y_axis.y.abs() + a.z_axis.z.abs();
        if off <= f64::EPSILON * 1e-3 * size {
            break;
        }
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            let element = a.col(q)[p];
            if element == 0.0 {
                continue;
            }
            let theta = (a.col(q)[q] - a.col(p)[p]) / (2.0 * element);
            let t = 1_f64.copysign(theta) / (theta.abs() + theta.hypot(1.0));
            let cos = 1.0 / t.hypot(1.0);
            let sin = t * cos;
            let mut rotation = DMat3::IDENTITY;
            rotation.col_mut(p)[p] = cos;
            rotation.col_mut(q)[q] = cos;
            rotation.col_mut(q)[p] = sin;
            rotation.col_mut(p)[q] = -sin;
            a = rotation.transpose() * a * rotation;
            axes *= rotation;
        }
    }
    (DVec3::new(a.x_axis.x, a.y_axis.y, a.z_axis.z), axes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_diagonalise_and_are_right_handed() {
        let tensor = DMat3::from_cols(
            DVec3::new(2.0, -0.3, 0.1),
            DVec3::new(-0.3, 1.0, 0.7),
            DVec3::new(0.1, 0.7, 1.5),
        );
        let (values, axes) = principal_axes(tensor);
        let back = axes * DMat3::from_diagonal(values) * axes.transpose();
        assert!(back.abs_diff_eq(tensor, 1e-14));
        assert!((axes.determinant() - 1.0).abs() < 1e-14);
    }

    #[test]
    fn diagonal_and_isotropic_tensors_keep_their_axes() {
        for diagonal in [DVec3::new(3.0, 1.0, 2.0), DVec3::ONE, DVec3::ZERO] {
            let (values, axes) = principal_axes(DMat3::from_diagonal(diagonal));
            assert_eq!((values, axes), (diagonal, DMat3::IDENTITY));
        }
    }
}
