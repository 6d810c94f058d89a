//! Reproducible randomness: one stream per source, so that adding an emitter
//! does not change what another one draws.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Streams are numbered by what draws from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The packing with this index.
    Packing(usize),
    /// The emitter with this index.
    Emitter(usize),
    /// Samples for checks before a run.
    Check(usize),
}

/// One random stream; its state is the seed, the stream and a position.
#[derive(Clone, Debug)]
pub struct RandomStream {
    generator: ChaCha8Rng,
}

impl RandomStream {
    /// The stream of a source under a seed.
    pub fn new(seed: u64, source: Source) -> Self {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        let (kind, index) = match source {
            Source::Packing(i) => (1_u64, i),
            Source::Emitter(i) => (2, i),
            Source::Check(i) => (3, i),
        };
        generator.set_stream(kind << 32 | index as u64);
        RandomStream { generator }
    }

    /// A number uniform in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        // The upper 53 bits fill a mantissa exactly.
        (self.generator.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Three numbers uniform in [0, 1).
    pub fn uniform3(&mut self) -> [f64; 3] {
        [self.uniform(), self.uniform(), self.uniform()]
    }

    /// A standard normal number (Box–Muller; the second one is not kept, so
    /// that the position in the stream is the whole state).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Position in the stream, for a checkpoint.
    pub fn position(&self) -> u128 {
        self.generator.get_word_pos()
    }

    /// Continues from a position read from a checkpoint.
    pub fn set_position(&mut self, position: u128) {
        self.generator.set_word_pos(position);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_and_continue_from_a_position() {
        let mut a = RandomStream::new(7, Source::Emitter(0));
        let mut b = RandomStream::new(7, Source::Emitter(1));
        assert_ne!(a.uniform(), b.uniform());
        let position = a.position();
        let next = a.uniform3();
        let mut again = RandomStream::new(7, Source::Emitter(0));
        again.set_position(position);
        assert_eq!(again.uniform3(), next);
    }

    #[test]
    fn normal_numbers_have_mean_zero_and_variance_one() {
        let mut stream = RandomStream::new(1, Source::Check(0));
        let draws: Vec<f64> = (0..20_000).map(|_| stream.normal()).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / draws.len() as f64;
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.04);
    }
}
