//! How well two classes of grains are mixed.
//!
//! Lacey's index compares the variance of a class's share over samples (cells
//! of space) with those of the fully segregated and the randomly mixed state.
//! With `n_i` grains in sample `i`, a share `p_i` of them of the class, `K`
//! samples, `N` grains and a share `p` of all:
//!
//! ```text
//! σ²  = Σ n_i (p_i − p)² / N                                             (1)
//! σ₀² = p (1 − p)                    every sample holds one class only   (2)
//! σ_r² = p (1 − p) (K − 1)/(N − 1)   the mean of (1) over all ways of    (3)
//!                                    giving the class to the grains
//! M = (σ₀² − σ²) / (σ₀² − σ_r²)                                          (4)
//! ```
//!
//! (3) holds whatever the numbers of grains in the samples are, so that no
//! sample has to be left out; for many equal samples it is Lacey's `p (1 − p)/n`.
//!
//! The segregation index along a direction orders all grains by height. With
//! `u` the share of the volume below a grain's middle and means weighted by volume,
//!
//! ```text
//! S = 2 (⟨u⟩_class − ⟨u⟩_others),                                        (5)
//! ```
//!
//! which is 1 when the whole class lies above all others, −1 below, and zero
//! on average when they are mixed, whatever the shape of the bed.

/// Lacey's index (4) from the numbers of grains of the class and of others in
/// each sample; `None` where there is only one class, one sample, or no sample
/// with more than one grain.
pub fn lacey_index(samples: impl IntoIterator<Item = [u64; 2]>) -> Option<f64> {
    let samples: Vec<[f64; 2]> = samples
        .into_iter()
        .map(|s| s.map(|count| count as f64))
        .filter(|[a, b]| a + b > 0.0)
        .collect();
    let (count, all) = (samples.len() as f64, |k: usize| {
        samples.iter().map(|s| s[k]).sum::<f64>()
    });
    let (class, others) = (all(0), all(1));
    let total = class + others;
    let share = class / total;
    let segregated = share * (1.0 - share);
    let random = segregated * (count - 1.0) / (total - 1.0);
    let variance = samples
        .iter()
        .map(|[a, b]| (a + b) * (a / (a + b) - share).powi(2))
        .sum::<f64>()
        / total;
    let index = (segregated - variance) / (segregated - random);
    (class > 0.0 && others > 0.0 && count > 1.0 && total > count).then_some(index)
}

/// A grain as the segregation index sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placed {
    /// Height along the direction, m.
    pub height: f64,
    /// Volume, m³.
    pub volume: f64,
    /// Whether it belongs to the class.
    pub is_class: bool,
}

/// The segregation index (5); `None` where there is only one class.
pub fn segregation_index(mut grains: Vec<Placed>) -> Option<f64> {
    // Ties are broken by their order in the list: the sort is stable.
    grains.sort_by(|a, b| a.height.total_cmp(&b.height));
    let total: f64 = grains.iter().map(|g| g.volume).sum();
    let mut below = 0.0;
    let mut sums = [[0.0; 2]; 2];
    for grain in &grains {
        let middle = (below + 0.5 * grain.volume) / total;
        below += grain.volume;
        let sum = &mut sums[usize::from(grain.is_class)];
        sum[0] += grain.volume * middle;
        sum[1] += grain.volume;
    }
    let [others, class] = sums;
    let is_known = others[1] > 0.0 && class[1] > 0.0;
    is_known.then(|| 2.0 * (class[0] / class[1] - others[0] / others[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pure_samples_have_index_zero_and_equal_ones_more_than_one() {
        let pure = lacey_index([[20, 0], [0, 7], [13, 0]]).unwrap();
        assert!(pure.abs() < 1e-15, "{pure}");
        // More even than chance.
        assert!(lacey_index([[10, 10]; 20]).unwrap() > 1.0);
        assert_eq!(lacey_index([[10, 0], [7, 0]]), None);
        assert_eq!(lacey_index([[10, 3]]), None);
        assert_eq!(lacey_index([]), None);
    }

    /// Classes given to grains at random, in samples of very unequal size.
    #[test]
    fn random_mixtures_have_index_one_on_average() {
        let mut state = 1_u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        let sizes: Vec<u64> = (0..40).map(|i| 1 + 3 * (i % 7)).collect();
        let trials = 400;
        let mean = (0..trials)
            .map(|_| {
                lacey_index(sizes.iter().map(|&n| {
                    let class = (0..n).filter(|_| next() % 3 == 0).count() as u64;
                    [class, n - class]
                }))
                .unwrap()
            })
            .sum::<f64>()
            / trials as f64;
        assert!((mean - 1.0).abs() < 0.005, "{mean}");
    }

    fn bed(is_class: impl Fn(usize) -> bool) -> Vec<Placed> {
        let place = |i: usize| Placed {
            height: (i as f64).sqrt(),
            volume: 1.0 + (i % 3) as f64,
            is_class: is_class(i),
        };
        (0..99).map(place).collect()
    }

    #[test]
    fn a_layer_on_top_has_segregation_one_and_one_below_minus_one() {
        assert!((segregation_index(bed(|i| i > 60)).unwrap() - 1.0).abs() < 1e-12);
        assert!((segregation_index(bed(|i| i < 10)).unwrap() + 1.0).abs() < 1e-12);
        assert!(segregation_index(bed(|i| i % 2 == 0)).unwrap().abs() < 0.03);
        assert_eq!(segregation_index(bed(|_| true)), None);
    }
}
