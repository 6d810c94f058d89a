//! Diameters of all rows, known at any time as rows come and go.

use esker_parallel::{ExactSum, Reduce};

/// Diameters of all grains and bodies of their own, m; one where there are none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Diameters {
    /// Mean and smallest, of spheres of equal volume.
    pub(crate) mean: f64,
    pub(crate) min: f64,
    /// Largest, of the balls that hold them.
    pub(crate) max: f64,
}

impl Default for Diameters {
    fn default() -> Self {
        Diameters {
            mean: 1.0,
            min: 1.0,
            max: 1.0,
        }
    }
}

/// A smallest or largest number, and how many rows have it.
#[derive(Clone, Copy, Debug)]
struct Extreme {
    value: f64,
    rows: usize,
}

impl Extreme {
    fn join(&mut self, other: Extreme, is_farther: impl Fn(f64, f64) -> bool) {
        if other.rows == 0 {
            return;
        }
        if is_farther(other.value, self.value) {
            *self = other;
        } else if other.value == self.value {
            self.rows += other.rows;
        }
    }

    /// Takes one away; false where the extreme is not known any more.
    fn remove(&mut self, value: f64) -> bool {
        self.rows -= usize::from(value == self.value);
        self.rows > 0
    }
}

/// What diameters follow from. The order of rows does not enter, nor what came and went.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RadiusStatistics {
    rows: usize,
    sum: ExactSum,
    min: Extreme,
    /// Of the balls that hold rows.
    max: Extreme,
}

impl Reduce for RadiusStatistics {
    const NOTHING: Self = RadiusStatistics {
        rows: 0,
        sum: ExactSum::ZERO,
        min: Extreme {
            value: f64::INFINITY,
            rows: 0,
        },
        max: Extreme {
            value: 0.0,
            rows: 0,
        },
    };

    fn join(&mut self, other: &Self) {
        self.rows += other.rows;
        self.sum = self.sum.plus(&other.sum);
        self.join_extremes(other);
    }
}

impl RadiusStatistics {
    fn join_extremes(&mut self, other: &Self) {
        self.min.join(other.min, |a, b| a < b);
        self.max.join(other.max, |a, b| a > b);
    }

    /// A row with this radius and that of the ball that holds it, m, comes.
    pub(crate) fn add(&mut self, radius: f64, bounding_radius: f64) {
        let of = |value| Extreme { value, rows: 1 };
        self.rows += 1;
        self.sum.add(radius);
        self.join_extremes(&RadiusStatistics {
            min: of(radius),
            max: of(bounding_radius),
            ..Self::NOTHING
        });
    }

    /// The same goes. False where it was the last of the smallest or largest: all have to be
    /// measured anew.
    pub(crate) fn remove(&mut self, radius: f64, bounding_radius: f64) -> bool {
        self.rows -= 1;
        self.sum.add(-radius);
        let is_min_known = self.min.remove(radius);
        let is_max_known = self.max.remove(bounding_radius);
        is_min_known && is_max_known
    }

    pub(crate) fn diameters(&self) -> Diameters {
        if self.rows == 0 {
            return Diameters::default();
        }
        Diameters {
            mean: 2.0 * self.sum.value() / self.rows as f64,
            min: 2.0 * self.min.value,
            max: 2.0 * self.max.value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(radii: &[f64]) -> RadiusStatistics {
        let mut statistics = RadiusStatistics::NOTHING;
        radii.iter().for_each(|&r| statistics.add(r, 1.5 * r));
        statistics
    }

    #[test]
    fn what_came_and_went_leaves_no_trace_in_diameters() {
        let stayed = [0.3, 0.1, 0.7, 0.1, 0.2];
        let mut statistics = of(&stayed);
        for k in 0..1000 {
            statistics.add(0.1 + 0.001 * f64::from(k % 500), 0.15);
        }
        for k in 0..1000 {
            assert!(statistics.remove(0.1 + 0.001 * f64::from(k % 500), 0.15));
        }
        assert_eq!(statistics.diameters(), of(&stayed).diameters());
        // Of two smallest ones the second takes the knowledge with it, and so does the largest.
        assert!(statistics.remove(0.1, 0.15));
        assert!(!statistics.remove(0.1, 0.15));
        assert!(!of(&stayed).remove(0.7, 1.5 * 0.7));
    }
}
