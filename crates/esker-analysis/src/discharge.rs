//! Discharge through an orifice: mass flow and Beverloo's law.
//!
//! ```text
//! W = C ρ_b √g (D − k d)^(5/2)                                  kg/s   (1)
//! ```
//!
//! with bulk density `ρ_b`, orifice diameter `D` and grain diameter `d`;
//! usually `C ≈ 0.58`, `k ≈ 1.4` for spheres.

use crate::fit::{self, Fit};

/// Mass flow from a series (time s, mass that has left kg) between two times,
/// kg/s, by a straight line; `None` with fewer than two points there.
pub fn rate(series: &[[f64; 2]], [from, to]: [f64; 2]) -> Option<f64> {
    let points: Vec<[f64; 2]> = series
        .iter()
        .copied()
        .filter(|p| (from..=to).contains(&p[0]))
        .collect();
    fit::line(&points).map(|l| l.slope)
}

/// The law (1) fitted to flows.
#[derive(Clone, Debug, PartialEq)]
pub struct Beverloo {
    /// Coefficient C.
    pub coefficient: f64,
    /// Empty annulus k, in grain diameters.
    pub annulus: f64,
    /// Standard error of the coefficient; infinite for two orifices.
    pub coefficient_error: f64,
    /// Standard error of the annulus; infinite for two orifices.
    pub annulus_error: f64,
    /// Exponent when it is fitted too, with `k` as found for 5/2.
    pub exponent: f64,
    /// Correlation of `W^(2/5)` with `D`.
    pub correlation: f64,
    /// Largest relative deviation of a flow from the law.
    pub worst: f64,
}

/// What Beverloo's law refers to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Material {
    /// Bulk density ρ_b, kg/m³.
    pub bulk_density: f64,
    /// Grain diameter d, m.
    pub diameter: f64,
    /// |g|, m/s².
    pub gravity: f64,
}

/// Fits (1) to points (orifice m, flow kg/s) of the same relative standard `error`. `W^(2/5)` is
/// linear in `D`, so that no start value is needed. `None` for fewer than two flows above zero.
pub fn fit_beverloo(points: &[[f64; 2]], material: Material, error: f64) -> Option<Beverloo> {
    let flowing: Vec<[f64; 2]> = points.iter().copied().filter(|p| p[1] > 0.0).collect();
    let straight: Vec<[f64; 2]> = flowing.iter().map(|p| [p[0], p[1].powf(0.4)]).collect();
    let line = fit::line(&straight)?;
    if line.slope <= 0.0 {
        return None;
    }
    let unit = material.bulk_density * material.gravity.sqrt();
    let offset = -line.intercept / line.slope;
    let law = |d: f64| line.slope.powf(2.5) * (d - offset).max(0.0).powf(2.5);
    let worst = flowing
        .iter()
        .map(|p| (law(p[0]) / p[1] - 1.0).abs())
        .fold(0.0, f64::max);
    let logs: Vec<[f64; 2]> = flowing
        .iter()
        .filter(|p| p[0] > offset)
        .map(|p| [(p[0] - offset).ln(), p[1].ln()])
        .collect();
    let coefficient = line.slope.powf(2.5) / unit;
    let [slope_error, offset_error] = line_errors(&straight, &line, 0.4 * error);
    Some(Beverloo {
        coefficient,
        annulus: offset / material.diameter,
        coefficient_error: 2.5 * coefficient * slope_error / line.slope,
        annulus_error: offset_error / material.diameter,
        exponent: fit::line(&logs)?.slope,
        correlation: line.r_squared.sqrt(),
        worst,
    })
}

/// Standard errors of a line's slope and of the place where it meets zero, from the relative
/// `error` of its points; infinite for two, which lie on a line always.
fn line_errors(points: &[[f64; 2]], line: &fit::Line, error: f64) -> [f64; 2] {
    let count = points.len() as f64;
    if points.len() < 3 {
        return [f64::INFINITY; 2];
    }
    let mean = points.iter().map(|p| p[0]).sum::<f64>() / count;
    let spread: f64 = points.iter().map(|p| (p[0] - mean).powi(2)).sum();
    let zero = -line.intercept / line.slope;
    // How much slope and zero change with the value of a point.
    let of_slope = |x: f64| (x - mean) / spread;
    let of_zero = |x: f64| (1.0 / count + (zero - mean) * of_slope(x)) / line.slope;
    let propagated = |change: &dyn Fn(f64) -> f64| {
        let parts = points.iter().map(|[x, y]| (change(*x) * error * y).powi(2));
        parts.sum::<f64>().sqrt()
    };
    [propagated(&of_slope), propagated(&of_zero)]
}

/// When an orifice clogged: the time of the last outflow, if nothing has left
/// for `silence` seconds until the end of a series (time s, mass out kg).
pub fn clogged_at(series: &[[f64; 2]], silence: f64) -> Option<f64> {
    let &[end, out] = series.last()?;
    let first = series.iter().find(|p| p[1] >= out)?;
    (end - first[0] >= silence).then_some(first[0])
}

/// Fits `W = a (D − k d)^n` with all three free: `[a, k d, n]`.
pub fn fit_power(points: &[[f64; 2]], start: [f64; 3]) -> Option<Fit> {
    let data: Vec<f64> = points.iter().map(|p| p[1].ln()).collect();
    let law =
        |q: &[f64], i: usize| q[0].ln() + q[2] * (points[i][0] - q[1]).max(f64::MIN_POSITIVE).ln();
    fit::model(&data, &start, law)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_the_slope_inside_the_window() {
        let series: Vec<[f64; 2]> = (0..100)
            .map(|i| 0.1 * i as f64)
            .map(|t| [t, if t < 2.0 { 0.0 } else { 0.3 * (t - 2.0) }])
            .collect();
        assert!((rate(&series, [2.0, 9.0]).unwrap() - 0.3).abs() < 1e-12);
        assert_eq!(rate(&series, [20.0, 30.0]), None);
    }

    #[test]
    fn beverloo_parameters_come_back_from_its_own_law() {
        let material = Material {
            bulk_density: 1500.0,
            diameter: 0.01,
            gravity: 9.81,
        };
        let flow = |d: f64| 0.6 * 1500.0 * 9.81_f64.sqrt() * (d - 0.013).powf(2.5);
        let points: Vec<[f64; 2]> = (4..=10)
            .map(|i| 0.01 * i as f64)
            .map(|d| [d, flow(d)])
            .collect();
        let fit = fit_beverloo(&points, material, 0.0).unwrap();
        assert!((fit.coefficient - 0.6).abs() < 1e-9);
        assert!((fit.annulus - 1.3).abs() < 1e-9);
        assert!((fit.exponent - 2.5).abs() < 1e-9 && fit.worst < 1e-9);
        let power = fit_power(&points, [100.0, 0.01, 2.2]).unwrap();
        assert!((power.parameters[2] - 2.5).abs() < 1e-4);
    }

    #[test]
    fn errors_of_the_constants_are_what_errors_of_the_flows_make_of_them() {
        let material = Material {
            bulk_density: 1500.0,
            diameter: 0.01,
            gravity: 9.81,
        };
        let flow = |d: f64| 0.6 * 1500.0 * 9.81_f64.sqrt() * (d - 0.013).powf(2.5);
        let points: Vec<[f64; 2]> = (4..=10)
            .map(|i| 0.01 * f64::from(i))
            .map(|d| [d, flow(d)])
            .collect();
        let error = 1e-4;
        let fit = fit_beverloo(&points, material, error).unwrap();
        // One flow after the other, off by its error.
        let mut squares = [0.0; 2];
        for i in 0..points.len() {
            let mut changed = points.clone();
            changed[i][1] *= 1.0 + error;
            let other = fit_beverloo(&changed, material, error).unwrap();
            squares[0] += (other.coefficient - fit.coefficient).powi(2);
            squares[1] += (other.annulus - fit.annulus).powi(2);
        }
        let [coefficient, annulus] = squares.map(f64::sqrt);
        assert!((fit.coefficient_error / coefficient - 1.0).abs() < 1e-3);
        assert!((fit.annulus_error / annulus - 1.0).abs() < 1e-3);
        let two = fit_beverloo(&points[..2], material, error).unwrap();
        assert!(two.coefficient_error.is_infinite());
    }

    #[test]
    fn an_orifice_is_clogged_when_nothing_leaves_any_more() {
        let series: Vec<[f64; 2]> = (0..=100)
            .map(|i| 0.01 * f64::from(i))
            .map(|t| [t, t.min(0.4)])
            .collect();
        assert!((clogged_at(&series, 0.5).unwrap() - 0.4).abs() < 1e-9);
        assert_eq!(clogged_at(&series, 0.7), None);
        assert_eq!(clogged_at(&series[..30], 0.1), None);
        assert_eq!(clogged_at(&[], 0.1), None);
    }

    #[test]
    fn a_blocked_orifice_gives_no_law() {
        let material = Material {
            bulk_density: 1500.0,
            diameter: 0.01,
            gravity: 9.81,
        };
        assert_eq!(
            fit_beverloo(&[[0.02, 0.0], [0.03, 0.0]], material, 0.0),
            None
        );
    }
}
