//! Drawing grain radii from a [`SizeDistribution`].

use crate::definition::SizeDistribution;
use crate::random::RandomStream;

/// Draws rejected before a cut-off distribution falls back to its centre.
const MOST_REJECTIONS: usize = 1000;

impl SizeDistribution {
    /// One radius, m.
    pub fn draw(&self, stream: &mut RandomStream) -> f64 {
        match self {
            SizeDistribution::Fixed { radius } => *radius,
            SizeDistribution::Uniform { min, max } => min + (max - min) * stream.uniform(),
            SizeDistribution::Normal {
                mean,
                deviation,
                min,
                max,
            } => cut_off(*min, *max, *mean, || mean + deviation * stream.normal()),
            SizeDistribution::LogNormal {
                median,
                deviation,
                min,
                max,
            } => cut_off(*min, *max, *median, || {
                median * (deviation * stream.normal()).exp()
            }),
            SizeDistribution::Mixture { radii, .. } => {
                let total: f64 = (0..radii.len()).map(|i| self.number_share(i)).sum();
                let mut left = stream.uniform() * total;
                for (i, radius) in radii.iter().enumerate() {
                    left -= self.number_share(i);
                    if left < 0.0 {
                        return *radius;
                    }
                }
                radii[radii.len() - 1]
            }
        }
    }

    /// Share by number of one component of a mixture (not normalised).
    fn number_share(&self, component: usize) -> f64 {
        match self {
            SizeDistribution::Mixture {
                radii,
                shares,
                by_mass,
            } if *by_mass => shares[component] / radii[component].powi(3),
            SizeDistribution::Mixture { shares, .. } => shares[component],
            _ => 1.0,
        }
    }

    /// The distribution of radii times a factor.
    pub fn scaled(&self, factor: f64) -> Self {
        let mut scaled = self.clone();
        match &mut scaled {
            SizeDistribution::Fixed { radius } => *radius *= factor,
            SizeDistribution::Uniform { min, max } => {
                *min *= factor;
                *max *= factor;
            }
            SizeDistribution::Normal {
                mean,
                deviation,
                min,
                max,
            } => [mean, deviation, min, max]
                .into_iter()
                .for_each(|x| *x *= factor),
            SizeDistribution::LogNormal {
                median, min, max, ..
            } => [median, min, max].into_iter().for_each(|x| *x *= factor),
            SizeDistribution::Mixture { radii, .. } => radii.iter_mut().for_each(|x| *x *= factor),
        }
        scaled
    }

    /// Smallest radius that can be drawn, m.
    pub fn min(&self) -> f64 {
        match self {
            SizeDistribution::Fixed { radius } => *radius,
            SizeDistribution::Uniform { min, .. }
            | SizeDistribution::Normal { min, .. }
            | SizeDistribution::LogNormal { min, .. } => *min,
            SizeDistribution::Mixture { radii, .. } => {
                radii.iter().copied().fold(f64::INFINITY, f64::min)
            }
        }
    }

    /// Largest radius that can be drawn, m.
    pub fn max(&self) -> f64 {
        match self {
            SizeDistribution::Fixed { radius } => *radius,
            SizeDistribution::Uniform { max, .. }
            | SizeDistribution::Normal { max, .. }
            | SizeDistribution::LogNormal { max, .. } => *max,
            SizeDistribution::Mixture { radii, .. } => radii.iter().copied().fold(0.0, f64::max),
        }
    }

    /// Mean of radius³, m³: what a number of grains weighs. Cut-offs of the
    /// normal laws are neglected.
    pub fn mean_cube(&self) -> f64 {
        match self {
            SizeDistribution::Fixed { radius } => radius.powi(3),
            SizeDistribution::Uniform { min, max } => (min + max) * (min * min + max * max) / 4.0,
            SizeDistribution::Normal {
                mean, deviation, ..
            } => mean.powi(3) + 3.0 * mean * deviation.powi(2),
            SizeDistribution::LogNormal {
                median, deviation, ..
            } => median.powi(3) * (4.5 * deviation.powi(2)).exp(),
            SizeDistribution::Mixture { radii, .. } => {
                let shares = (0..radii.len()).map(|i| self.number_share(i));
                let total: f64 = shares.clone().sum();
                shares.zip(radii).map(|(s, r)| s * r.powi(3)).sum::<f64>() / total
            }
        }
    }
}

fn cut_off(min: f64, max: f64, centre: f64, mut draw: impl FnMut() -> f64) -> f64 {
    (0..MOST_REJECTIONS)
        .map(|_| draw())
        .find(|r| (min..=max).contains(r))
        .unwrap_or_else(|| centre.clamp(min, max))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Source;

    #[test]
    fn draws_match_their_mean_volume_and_limits() {
        let cases = [
            SizeDistribution::Fixed { radius: 2.0 },
            SizeDistribution::Uniform { min: 1.0, max: 3.0 },
            SizeDistribution::Normal {
                mean: 2.0,
                deviation: 0.2,
                min: 1.0,
                max: 3.0,
            },
            SizeDistribution::LogNormal {
                median: 2.0,
                deviation: 0.1,
                min: 1.0,
                max: 4.0,
            },
            SizeDistribution::Mixture {
                radii: vec![1.0, 2.0],
                shares: vec![1.0, 3.0],
                by_mass: true,
            },
        ];
        for sizes in cases {
            let mut stream = RandomStream::new(3, Source::Packing(0));
            let draws: Vec<f64> = (0..40_000).map(|_| sizes.draw(&mut stream)).collect();
            assert!(
                draws
                    .iter()
                    .all(|r| (sizes.min()..=sizes.max()).contains(r))
            );
            let cube = draws.iter().map(|r| r.powi(3)).sum::<f64>() / draws.len() as f64;
            assert!(
                (cube / sizes.mean_cube() - 1.0).abs() < 0.02,
                "{sizes:?}: {cube}"
            );
        }
    }

    /// Equal mass shares of radius 1 and 2 are eight small grains to one large.
    #[test]
    fn mass_shares_become_number_shares() {
        let sizes = SizeDistribution::Mixture {
            radii: vec![1.0, 2.0],
            shares: vec![1.0, 1.0],
            by_mass: true,
        };
        let mut stream = RandomStream::new(3, Source::Packing(0));
        let large = (0..90_000)
            .filter(|_| sizes.draw(&mut stream) == 2.0)
            .count();
        assert!((large as f64 / 10_000.0 - 1.0).abs() < 0.04);
    }
}
