//! Time series: means, spreads, and how much two of them differ.

/// Mean and spread of values; all NaN but the count where there are none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statistics {
    /// How many values.
    pub count: usize,
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub deviation: f64,
    /// Min; NaN where a value is.
    pub min: f64,
    /// Max; NaN where a value is.
    pub max: f64,
}

/// Statistics of values.
pub fn statistics(values: &[f64]) -> Statistics {
    let count = values.len();
    let extreme = |first: f64, better: fn(&f64, &f64) -> bool| {
        values.iter().copied().fold(
            first,
            |a, b| {
                if a.is_nan() || better(&a, &b) { a } else { b }
            },
        )
    };
    let first = values.first().copied().unwrap_or(f64::NAN);
    let mean = values.iter().sum::<f64>() / count as f64;
    let square = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
    Statistics {
        count,
        mean,
        deviation: (square / (count.max(2) - 1) as f64).sqrt(),
        min: extreme(first, f64::lt),
        max: extreme(first, f64::gt),
    }
}

/// Standard error of the mean of a correlated series, from the scatter of the
/// means of `blocks` consecutive blocks.
pub fn block_error(values: &[f64], blocks: usize) -> f64 {
    let length = values.len() / blocks.max(1);
    if length == 0 || blocks < 2 {
        return f64::INFINITY;
    }
    let means: Vec<f64> = values
        .chunks_exact(length)
        .take(blocks)
        .map(|b| b.iter().sum::<f64>() / length as f64)
        .collect();
    statistics(&means).deviation / (blocks as f64).sqrt()
}

/// Difference of the means of two steady series over the range that both
/// cover together (Sundberg 2014, equation 5.1); zero for two equal constants,
/// NaN where a series has no values.
pub fn difference_over_range(a: &[f64], b: &[f64]) -> f64 {
    let (sa, sb) = (statistics(a), statistics(b));
    let range = sa.max.max(sb.max) - sa.min.min(sb.min);
    let difference = (sa.mean - sb.mean).abs();
    if difference == 0.0 {
        0.0
    } else {
        difference / range
    }
}

/// Difference of the means of two series over the mean of the first; NaN
/// where a series has no values.
pub fn relative_difference(a: &[f64], b: &[f64]) -> f64 {
    let (ma, mb) = (statistics(a).mean, statistics(b).mean);
    if ma == mb {
        0.0
    } else {
        (ma - mb).abs() / ma.abs()
    }
}

/// A histogram with equal bins.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// Lower end of the first bin.
    pub low: f64,
    /// Width of a bin.
    pub width: f64,
    /// Share of all values per unit of the value, per bin.
    pub density: Vec<f64>,
}

impl Histogram {
    /// Counts values from `low` to `high`; values outside count for the total only.
    pub fn new(values: &[f64], low: f64, high: f64, bins: usize) -> Self {
        let width = (high - low) / bins.max(1) as f64;
        let mut density = vec![0.0; bins.max(1)];
        for v in values.iter().filter(|v| (low..high).contains(*v)) {
            let bin = (((v - low) / width) as usize).min(density.len() - 1);
            density[bin] += 1.0 / (values.len() as f64 * width);
        }
        Histogram {
            low,
            width,
            density,
        }
    }

    /// Middle of each bin with its density.
    pub fn points(&self) -> Vec<[f64; 2]> {
        self.density
            .iter()
            .enumerate()
            .map(|(i, d)| [self.low + (i as f64 + 0.5) * self.width, *d])
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_spread_of_a_ramp() {
        let s = statistics(&[1.0, 2.0, 3.0, 4.0]);
        assert_eq!((s.count, s.mean, s.min, s.max), (4, 2.5, 1.0, 4.0));
        assert!((s.deviation - (5.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        let none = statistics(&[]);
        assert!(none.count == 0 && none.mean.is_nan() && none.max.is_nan());
        let broken = statistics(&[1.0, f64::NAN, 3.0]);
        assert!(broken.mean.is_nan() && broken.min.is_nan() && broken.max.is_nan());
    }

    #[test]
    fn blocks_see_the_correlation_that_single_values_hide() {
        let slow: Vec<f64> = (0..1000).map(|i| (i as f64 * 0.01).sin()).collect();
        let naive = statistics(&slow).deviation / 1000_f64.sqrt();
        assert!(block_error(&slow, 5) > 5.0 * naive);
    }

    #[test]
    fn differences_are_relative_to_range_or_mean() {
        let (a, b) = ([1.0, 3.0], [2.0, 4.0]);
        assert!((difference_over_range(&a, &b) - 1.0 / 3.0).abs() < 1e-12);
        assert!((relative_difference(&a, &b) - 0.5).abs() < 1e-12);
        assert_eq!(difference_over_range(&[2.0], &[2.0]), 0.0);
        // Two series without values are not alike.
        assert!(relative_difference(&[], &[]).is_nan());
        assert!(difference_over_range(&[], &[]).is_nan());
    }

    #[test]
    fn a_histogram_integrates_to_the_share_it_covers() {
        let values: Vec<f64> = (0..1000).map(|i| i as f64 / 1000.0).collect();
        let h = Histogram::new(&values, 0.0, 0.5, 10);
        let sum: f64 = h.density.iter().map(|d| d * h.width).sum();
        assert!((sum - 0.5).abs() < 1e-9);
        assert!((h.points()[0][1] - 1.0).abs() < 1e-9);
    }
}
