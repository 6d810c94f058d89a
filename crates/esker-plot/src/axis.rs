//! Axes: ranges, ticks and the map from data to the page.

use crate::number;

/// How an axis spreads its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps are equal lengths.
    Linear,
    /// Equal factors are equal lengths; values ≤ 0 are left out.
    Log,
}

/// One axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What it shows, with its unit.
    pub label: String,
    /// How it spreads values.
    pub scale: Scale,
    /// Fixed range; `None`: from the data.
    pub range: Option<[f64; 2]>,
}

impl Axis {
    /// A linear axis.
    pub fn linear(label: impl Into<String>) -> Self {
        Axis {
            label: label.into(),
            scale: Scale::Linear,
            range: None,
        }
    }

    /// A logarithmic axis.
    pub fn log(label: impl Into<String>) -> Self {
        Axis {
            scale: Scale::Log,
            ..Axis::linear(label)
        }
    }

    /// The axis with a fixed range.
    pub fn within(mut self, low: f64, high: f64) -> Self {
        self.range = Some([low, high]);
        self
    }

    /// Whether a value can be shown.
    pub(crate) fn shows(&self, value: f64) -> bool {
        value.is_finite() && (self.scale == Scale::Linear || value > 0.0)
    }

    /// The axis fitted to data and laid on page coordinates `from` → `to`.
    pub(crate) fn fit(&self, values: impl Iterator<Item = f64>, page: [f64; 2]) -> FittedAxis {
        let [mut low, mut high] = self.range.unwrap_or_else(|| {
            values
                .filter(|&v| self.shows(v))
                .fold([f64::INFINITY, f64::NEG_INFINITY], |[l, h], v| {
                    [l.min(v), h.max(v)]
                })
        });
        if !(self.shows(low) && self.shows(high)) {
            [low, high] = [0.1, 1.0];
        }
        match self.scale {
            Scale::Linear => {
                if high <= low {
                    let half = if low == 0.0 { 1.0 } else { 0.1 * low.abs() };
                    [low, high] = [low - half, high + half];
                }
                if self.range.is_none() {
                    let pad = 0.04 * (high - low);
                    let starts_at_zero = low >= 0.0 && low < 0.25 * high;
                    low = if starts_at_zero { 0.0 } else { low - pad };
                    high += pad;
                }
            }
            Scale::Log => {
                if self.range.is_none() {
                    low /= 1.15;
                    high *= 1.15;
                }
                if high <= low {
                    [low, high] = [low / 2.0, low * 2.0];
                }
            }
        }
        FittedAxis {
            scale: self.scale,
            range: [low, high],
            page,
        }
    }
}

/// An axis with its range and place on the page.
pub(crate) struct FittedAxis {
    scale: Scale,
    pub(crate) range: [f64; 2],
    page: [f64; 2],
}

impl FittedAxis {
    /// Page coordinate of a value.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let [low, high] = self.range;
        let share = match self.scale {
            Scale::Linear => (value - low) / (high - low),
            Scale::Log => (value / low).ln() / (high / low).ln(),
        };
        self.page[0] + share * (self.page[1] - self.page[0])
    }

    /// Ticks as (value, label); unlabelled ones have an empty label.
    pub(crate) fn ticks(&self) -> Vec<(f64, String)> {
        let [low, high] = self.range;
        match self.scale {
            Scale::Linear => {
                let step = nice_step((high - low) / 5.0);
                let first = (low / step - 1e-9).ceil() as i64;
                let last = (high / step + 1e-9).floor() as i64;
                (first..=last)
                    .map(|k| (k as f64 * step, number(k as f64 * step, 6)))
                    .collect()
            }
            Scale::Log => {
                let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
                let narrow = high / low < 30.0;
                let sparse = ((last - first) as usize).div_ceil(8).max(1) as i32;
                (first..=last)
                    .flat_map(|e| (1..10).map(move |m| (e, m)))
                    .map(|(e, m)| (f64::from(m) * 10_f64.powi(e), e, m))
                    .filter(|(v, ..)| (low * (1.0 - 1e-9)..=high * (1.0 + 1e-9)).contains(v))
                    .map(|(v, e, m)| {
                        let labelled =
                            (m == 1 && e % sparse == 0) || (narrow && matches!(m, 2 | 3 | 5 | 7));
                        (
                            v,
                            if labelled {
                                number(v, 3)
                            } else {
                                String::new()
                            },
                        )
                    })
                    .collect()
            }
        }
    }
}

/// The next of 1, 2, 5 × 10ⁿ.
fn nice_step(rough: f64) -> f64 {
    let power = 10_f64.powf(rough.log10().floor());
    let share = rough / power;
    let nice = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|n| share <= n * 1.000_001)
        .unwrap_or(10.0);
    nice * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_ticks_are_round_numbers_inside_the_range() {
        let axis = Axis::linear("x")
            .within(0.0, 7.3)
            .fit([].into_iter(), [0.0, 100.0]);
        let values: Vec<f64> = axis.ticks().into_iter().map(|t| t.0).collect();
        assert_eq!(values, [0.0, 2.0, 4.0, 6.0]);
        assert!((axis.at(7.3) - 100.0).abs() < 1e-12);
    }

    #[test]
    fn log_axes_map_factors_to_lengths_and_leave_out_zero() {
        let axis = Axis::log("x");
        assert!(!axis.shows(0.0));
        let fitted = Axis::log("x")
            .within(1.0, 100.0)
            .fit([].into_iter(), [0.0, 2.0]);
        assert!((fitted.at(10.0) - 1.0).abs() < 1e-12);
        let labelled = fitted.ticks().into_iter().filter(|t| !t.1.is_empty());
        assert_eq!(
            labelled.map(|t| t.1).collect::<Vec<_>>(),
            ["1", "10", "100"]
        );
    }

    #[test]
    fn empty_and_constant_data_still_give_an_axis() {
        for values in [vec![], vec![f64::NAN], vec![3.0, 3.0], vec![0.0]] {
            let axis = Axis::linear("x").fit(values.into_iter(), [0.0, 1.0]);
            assert!(axis.range[0] < axis.range[1]);
            assert!(!axis.ticks().is_empty());
        }
    }
}
