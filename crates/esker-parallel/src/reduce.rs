//! Results over parts of something that join to the same bits in any order.

use crate::{ExactSum, Team};

/// A result over a part of something, such as a number, a sum or the largest value. Whoever
/// holds which part, and in what order and grouping parts are joined, does not change one bit:
/// what a step reduces over threads today, processes may reduce tomorrow.
pub trait Reduce: Copy + Send {
    /// The result over nothing.
    const NOTHING: Self;

    /// Makes it the result over both parts.
    fn join(&mut self, other: &Self);
}

impl Team {
    /// Reduces over `0..length`: `add` adds one of them to the result so far.
    pub fn reduce<R: Reduce>(&mut self, length: usize, add: impl Fn(&mut R, usize) + Sync) -> R {
        self.fold(
            length,
            R::NOTHING,
            |range| {
                let mut part = R::NOTHING;
                for i in range {
                    add(&mut part, i);
                }
                part
            },
            |mut a, b| {
                a.join(b);
                a
            },
        )
    }
}

/// The largest of numbers; what is no number does not count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Max(pub f64);

/// The smallest of numbers; what is no number does not count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Min(pub f64);

impl Max {
    /// Takes a number in.
    #[inline]
    pub fn add(&mut self, x: f64) {
        self.0 = self.0.max(x);
    }
}

impl Min {
    /// Takes a number in.
    #[inline]
    pub fn add(&mut self, x: f64) {
        self.0 = self.0.min(x);
    }
}

impl Reduce for Max {
    const NOTHING: Self = Max(f64::NEG_INFINITY);

    fn join(&mut self, other: &Self) {
        self.add(other.0);
    }
}

impl Reduce for Min {
    const NOTHING: Self = Min(f64::INFINITY);

    fn join(&mut self, other: &Self) {
        self.add(other.0);
    }
}

/// A number of things.
impl Reduce for usize {
    const NOTHING: Self = 0;

    fn join(&mut self, other: &Self) {
        *self += other;
    }
}

impl Reduce for ExactSum {
    const NOTHING: Self = ExactSum::ZERO;

    fn join(&mut self, other: &Self) {
        *self = self.plus(other);
    }
}

impl<R: Reduce, const N: usize> Reduce for [R; N] {
    const NOTHING: Self = [R::NOTHING; N];

    fn join(&mut self, other: &Self) {
        for (own, other) in self.iter_mut().zip(other) {
            own.join(other);
        }
    }
}

impl<A: Reduce, B: Reduce, C: Reduce> Reduce for (A, B, C) {
    const NOTHING: Self = (A::NOTHING, B::NOTHING, C::NOTHING);

    fn join(&mut self, other: &Self) {
        self.0.join(&other.0);
        self.1.join(&other.1);
        self.2.join(&other.2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_join_to_the_same_bits_in_any_order_and_on_any_number_of_threads() {
        let length = if cfg!(miri) { 100 } else { 10_007 };
        let value = |i: usize| (i as f64 * 0.7).sin() * 10_f64.powi((i % 17) as i32 - 8);
        // Once each: the last bit of a sine may differ from call to call.
        let values: Vec<f64> = (0..length).map(value).collect();
        type Parts = (usize, [ExactSum; 2], (Min, Max, usize));
        let add = |part: &mut Parts, i: usize| {
            part.0 += 1;
            part.1[i % 2].add(values[i]);
            part.2.0.add(values[i]);
            part.2.1.add(values[i]);
        };
        let seen = |part: &Parts| {
            let (sums, ends) = (part.1.map(|sum| sum.value()), (part.2.0, part.2.1));
            (part.0, sums, ends)
        };
        let forward = Team::new(1).reduce(length, add);
        for threads in [1, 3, 7] {
            let backward = Team::new(threads).reduce(length, |p, i| add(p, length - 1 - i));
            assert_eq!(seen(&forward), seen(&backward));
        }
        let mut twice = forward;
        twice.join(&Parts::NOTHING);
        assert_eq!(seen(&twice), seen(&forward));
        twice.join(&forward);
        assert_eq!(twice.0, 2 * length);
        assert_eq!(twice.1[0].value(), 2.0 * forward.1[0].value());
    }
}
