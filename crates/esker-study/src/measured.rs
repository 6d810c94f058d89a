//! Means with standard errors, and bounds that allow for them.

use esker_analysis::series::statistics;

/// A mean with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Measured {
    pub mean: f64,
    pub error: f64,
}

impl Measured {
    /// Of independent values, for example one per bed. The error of a single value is not
    /// known: infinite.
    pub fn of(values: &[f64]) -> Self {
        let statistics = statistics(values);
        Measured {
            mean: statistics.mean,
            error: if values.len() < 2 {
                f64::INFINITY
            } else {
                statistics.deviation / (values.len() as f64).sqrt()
            },
        }
    }

    /// A range that was published or found by other means, widened by twice what this mean's
    /// error adds to the other's: where the mean must lie if both measure the same.
    ///
    /// Only for a mean whose own error is judged too, since a wild one would be anywhere within.
    pub fn agreeing(self, [low, high]: [f64; 2], error: f64) -> [f64; 2] {
        let both = 2.0 * self.error.hypot(error);
        [low - both, high + both]
    }

    /// The difference to another mean, in units of their combined error.
    pub fn difference(self, other: Measured) -> f64 {
        (self.mean - other.mean) / self.error.hypot(other.error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_mean_falls_with_the_root_of_the_count() {
        let m = Measured::of(&[1.0, 3.0]);
        assert_eq!((m.mean, m.error), (2.0, 1.0));
        let four = Measured::of(&[1.0, 3.0, 1.0, 3.0]);
        assert!((four.error - (1.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(Measured::of(&[1.0]).error, f64::INFINITY);
        assert!(Measured::of(&[]).mean.is_nan());
    }

    #[test]
    fn agreement_allows_for_both_errors_and_no_more() {
        let m = Measured {
            mean: 10.0,
            error: 3.0,
        };
        assert_eq!(m.agreeing([20.0, 22.0], 4.0), [10.0, 32.0]);
        let other = Measured {
            mean: 0.0,
            error: 4.0,
        };
        assert_eq!(m.difference(other), 2.0);
        // What has no error known agrees with nothing: the bounds exclude no value.
        assert!(Measured::of(&[1.0]).agreeing([0.0, 1.0], 0.1)[1].is_infinite());
    }
}
