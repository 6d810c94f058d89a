//! Least squares: straight lines, and any model with few parameters.

/// A straight line `y = intercept + slope x` through points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Slope.
    pub slope: f64,
    /// Value at `x = 0`.
    pub intercept: f64,
    /// Share of the variance that the line explains.
    pub r_squared: f64,
    /// Standard error of the slope, from the scatter about the line; zero for
    /// two points.
    pub slope_error: f64,
}

/// Fits a straight line with weights 1; `None` for fewer than two distinct abscissae.
pub fn line(points: &[[f64; 2]]) -> Option<Line> {
    let count = points.len() as f64;
    if points.len() < 2 {
        return None;
    }
    let mean = |k: usize| points.iter().map(|p| p[k]).sum::<f64>() / count;
    let (mx, my) = (mean(0), mean(1));
    let (mut sxx, mut sxy, mut syy) = (0.0, 0.0, 0.0);
    for [x, y] in points {
        let (dx, dy) = (x - mx, y - my);
        sxx += dx * dx;
        sxy += dx * dy;
        syy += dy * dy;
    }
    if sxx <= 0.0 || !sxx.is_finite() {
        return None;
    }
    let slope = sxy / sxx;
    let scatter = (syy - slope * sxy).max(0.0) / (count - 2.0).max(1.0);
    Some(Line {
        slope_error: (scatter / sxx).sqrt(),
        slope,
        intercept: my - slope * mx,
        r_squared: if syy > 0.0 {
            sxy * sxy / (sxx * syy)
        } else {
            1.0
        },
    })
}

/// Parameters of a model fitted to data.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The parameters.
    pub parameters: Vec<f64>,
    /// Their standard errors, from the curvature at the minimum.
    pub errors: Vec<f64>,
    /// Share of the variance that the model explains.
    pub r_squared: f64,
}

/// Rounds of [`model`] at most.
const MAX_ROUNDS: usize = 200;
/// Relative change of the squared error below which the fit has arrived.
const ARRIVED: f64 = 1e-12;

/// Fits a model by Levenberg–Marquardt steps with finite differences.
///
/// `model(parameters, i)` is its value at data point `i`; `data[i]` is what was
/// measured. `None` when there are fewer points than parameters or the start
/// gives no finite value.
pub fn model(data: &[f64], start: &[f64], model: impl Fn(&[f64], usize) -> f64) -> Option<Fit> {
    let count = start.len();
    if data.len() < count || count == 0 {
        return None;
    }
    let residuals = |p: &[f64]| -> Vec<f64> {
        data.iter()
            .enumerate()
            .map(|(i, y)| y - model(p, i))
            .collect()
    };
    let square = |r: &[f64]| r.iter().map(|x| x * x).sum::<f64>();
    let mut p = start.to_vec();
    let mut r = residuals(&p);
    let mut cost = square(&r);
    if !cost.is_finite() {
        return None;
    }
    let mut damping = 1e-3;
    for _ in 0..MAX_ROUNDS {
        let (normal, gradient) = normal_equations(&p, &r, &model);
        let mut damped = normal.clone();
        for (k, row) in damped.iter_mut().enumerate() {
            row[k] = row[k] * (1.0 + damping) + f64::MIN_POSITIVE;
        }
        let Some(step) = solve(damped, gradient) else {
            break;
        };
        let trial: Vec<f64> = p.iter().zip(&step).map(|(a, b)| a + b).collect();
        let trial_r = residuals(&trial);
        let trial_cost = square(&trial_r);
        if trial_cost.is_finite() && trial_cost <= cost {
            let gain = cost - trial_cost;
            (p, r, cost) = (trial, trial_r, trial_cost);
            damping = (damping * 0.3).max(1e-12);
            if gain <= ARRIVED * cost {
                break;
            }
        } else {
            damping *= 4.0;
            if damping > 1e12 {
                break;
            }
        }
    }
    let (normal, _) = normal_equations(&p, &r, &model);
    let freedom = (data.len() - count).max(1) as f64;
    let errors = (0..count)
        .map(|k| {
            let mut unit = vec![0.0; count];
            unit[k] = 1.0;
            solve(normal.clone(), unit)
                .map_or(f64::INFINITY, |c| (c[k].max(0.0) * cost / freedom).sqrt())
        })
        .collect();
    let mean = data.iter().sum::<f64>() / data.len() as f64;
    let variance: f64 = data.iter().map(|y| (y - mean).powi(2)).sum();
    Some(Fit {
        parameters: p,
        errors,
        r_squared: if variance > 0.0 {
            1.0 - cost / variance
        } else {
            1.0
        },
    })
}

/// `JᵀJ` and `Jᵀr` with central differences.
fn normal_equations(
    p: &[f64],
    r: &[f64],
    model: &impl Fn(&[f64], usize) -> f64,
) -> (Vec<Vec<f64>>, Vec<f64>) {
    let count = p.len();
    let mut jacobian = vec![vec![0.0; r.len()]; count];
    for k in 0..count {
        let step = 1e-6 * p[k].abs().max(1e-6);
        let (mut up, mut down) = (p.to_vec(), p.to_vec());
        up[k] += step;
        down[k] -= step;
        for (i, j) in jacobian[k].iter_mut().enumerate() {
            *j = (model(&up, i) - model(&down, i)) / (2.0 * step);
        }
    }
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let normal = (0..count)
        .map(|i| {
            (0..count)
                .map(|j| dot(&jacobian[i], &jacobian[j]))
                .collect()
        })
        .collect();
    let gradient = jacobian.iter().map(|column| dot(column, r)).collect();
    (normal, gradient)
}

/// Gaussian elimination with partial pivoting; `None` for a singular matrix.
fn solve(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Option<Vec<f64>> {
    let n = b.len();
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs()))?;
        if a[pivot][k] == 0.0 || !a[pivot][k].is_finite() {
            return None;
        }
        a.swap(k, pivot);
        b.swap(k, pivot);
        for i in k + 1..n {
            let factor = a[i][k] / a[k][k];
            let (above, below) = a.split_at_mut(i);
            for (x, y) in below[0][k..].iter_mut().zip(&above[k][k..]) {
                *x -= factor * y;
            }
            b[i] -= factor * b[k];
        }
    }
    for k in (0..n).rev() {
        let tail: f64 = (k + 1..n).map(|j| a[k][j] * b[j]).sum();
        b[k] = (b[k] - tail) / a[k][k];
    }
    b.iter().all(|x| x.is_finite()).then_some(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_and_an_upright_one_refused() {
        let points: Vec<[f64; 2]> = (0..9).map(|i| [i as f64, 3.0 - 0.5 * i as f64]).collect();
        let fit = line(&points).unwrap();
        assert!((fit.slope + 0.5).abs() < 1e-12 && (fit.intercept - 3.0).abs() < 1e-12);
        assert!((fit.r_squared - 1.0).abs() < 1e-12);
        assert_eq!(line(&[[1.0, 0.0], [1.0, 2.0]]), None);
    }

    /// Points a unit above and below a line of eight abscissae: the scatter is
    /// 8/6 and their spread 42.
    #[test]
    fn the_error_of_a_slope_is_that_of_its_scatter() {
        let points: Vec<[f64; 2]> = [1.0, -1.0, -1.0, 1.0, 1.0, -1.0, -1.0, 1.0]
            .iter()
            .enumerate()
            .map(|(i, e)| [i as f64, 2.0 * i as f64 + e])
            .collect();
        let fit = line(&points).unwrap();
        assert!((fit.slope - 2.0).abs() < 1e-12, "{fit:?}");
        assert!((fit.slope_error - (8.0_f64 / 6.0 / 42.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn a_saturating_curve_gives_its_parameters_back() {
        let x: Vec<f64> = (1..20).map(|i| 0.3 * i as f64).collect();
        let law = |p: &[f64], i: usize| p[0] * (1.0 - (-p[1] * x[i]).exp());
        let data: Vec<f64> = (0..x.len()).map(|i| law(&[4.2, 0.7], i)).collect();
        let fit = model(&data, &[1.0, 2.0], law).unwrap();
        assert!((fit.parameters[0] - 4.2).abs() < 1e-6);
        assert!((fit.parameters[1] - 0.7).abs() < 1e-6);
        assert!(fit.errors.iter().all(|e| *e < 1e-4));
    }

    #[test]
    fn too_few_points_are_refused() {
        assert_eq!(model(&[1.0], &[1.0, 2.0], |p, _| p[0]), None);
    }
}
