//! Sums that are the same in any order: of floating-point numbers as a wide integer.
//!
//! A number is added as a whole multiple of the unit `2^-160`, so a sum does not depend on
//! the order of its terms, on chunks, threads or processes. Range and unit follow from what
//! is summed. Masses and lengths go from 1e-15 to 1e9 in SI units. A number of 1e-15 is at
//! least `2^-50` and has its last bit at `2^-102`: a unit of `2^-60`, in which it would have
//! ten bits, is too coarse for it. Kinetic energies of the lightest grains, `m v²` down to
//! 1e-33, ask for a unit of `2^-162` or so. Upwards, `2^31` numbers below `2^30` make
//! `2^61`. So limbs of 32 bits span from `2^-160` up to `2^96`.
//!
//! A limb is kept in 64 bits: `2^31` numbers can be added before carries have to be passed
//! on.

/// Limbs, the lowest first.
const LIMBS: usize = 8;
const LIMB_BITS: u32 = 32;
/// The unit is two to the minus this.
const UNIT: i32 = 160;
/// Bits of a mantissa, the hidden one included.
const MANTISSA: u32 = 53;
/// A number with this exponent of its last bit, in units, or more is too large.
const TOO_LARGE: i32 = (LIMBS as i32 - 2) * LIMB_BITS as i32;

/// A sum of numbers below `2^84`, each cut to a multiple of `2^-160`. It is exact; numbers
/// that are larger or no numbers make it infinite or no number.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExactSum {
    limbs: [i64; LIMBS],
    /// Sum of what limbs do not hold: infinities and what is no number.
    beyond: f64,
}

impl ExactSum {
    /// The sum of nothing.
    pub const ZERO: Self = ExactSum {
        limbs: [0; LIMBS],
        beyond: 0.0,
    };

    /// The sum of so many units of each limb, the lowest first.
    pub fn of_limbs(limbs: [i64; LIMBS]) -> Self {
        ExactSum { limbs, beyond: 0.0 }
    }

    /// The same with this sum of what limbs do not hold.
    #[must_use]
    pub fn and_beyond(self, beyond: f64) -> Self {
        ExactSum { beyond, ..self }
    }

    /// Adds a number.
    #[inline]
    pub fn add(&mut self, x: f64) {
        let bits = x.to_bits();
        let exponent = (bits >> 52 & 0x7ff) as i32;
        // Numbers without the hidden bit are far below the unit.
        let mantissa = bits & ((1 << 52) - 1) | 1 << 52;
        let last_bit = exponent - 1075 + UNIT;
        if !(0..TOO_LARGE).contains(&last_bit) {
            return self.add_at_the_ends(x, mantissa, last_bit);
        }
        self.add_shifted(mantissa, last_bit as u32, bits as i64 >> 63);
    }

    /// Adds a mantissa with its last bit so many bits above the unit; `sign` is all ones for
    /// a negative number and else zero.
    #[inline(always)]
    fn add_shifted(&mut self, mantissa: u64, last_bit: u32, sign: i64) {
        let shift = last_bit % LIMB_BITS;
        let low = mantissa << shift;
        // In two steps, because one by 64 bits is none.
        let high = mantissa >> 1 >> (63 - shift);
        let parts = [low as u32 as i64, (low >> 32) as i64, high as i64];
        let first = (last_bit / LIMB_BITS) as usize;
        for (limb, part) in self.limbs[first..first + 3].iter_mut().zip(parts) {
            *limb += (part ^ sign) - sign;
        }
    }

    /// Adds a number that is too large, none, or has bits below the unit.
    #[cold]
    fn add_at_the_ends(&mut self, x: f64, mantissa: u64, last_bit: i32) {
        if last_bit < 0 {
            let cut = mantissa.checked_shr(last_bit.unsigned_abs()).unwrap_or(0);
            self.add_shifted(cut, 0, if x < 0.0 { -1 } else { 0 });
        } else if x.is_finite() {
            self.beyond += f64::INFINITY.copysign(x);
        } else {
            self.beyond += x;
        }
    }

    /// The sum of two sums.
    #[must_use]
    pub fn plus(mut self, other: &ExactSum) -> ExactSum {
        for (limb, other) in self.limbs.iter_mut().zip(other.limbs) {
            *limb += other;
        }
        self.beyond += other.beyond;
        self.carry();
        self
    }

    /// The sum as the nearest number.
    pub fn value(&self) -> f64 {
        if self.beyond != 0.0 {
            return self.beyond;
        }
        let mut sum = *self;
        sum.carry();
        let is_negative = sum.limbs[LIMBS - 1] < 0;
        if is_negative {
            sum.limbs = sum.limbs.map(|limb| -limb);
            sum.carry();
        }
        let Some(top) = sum.limbs.iter().rposition(|&limb| limb != 0) else {
            return 0.0;
        };
        // 64 bits or more, the last of which says whether anything is left below them: more
        // than a mantissa and its rounding need.
        let limb = |k: usize| sum.limbs.get(k).map_or(0, |&limb| limb as u128);
        let low = top.saturating_sub(2);
        let head = limb(low + 2) << 64 | limb(low + 1) << 32 | limb(low);
        let rest = sum.limbs[..low].iter().any(|&limb| limb != 0);
        let magnitude = (head | u128::from(rest)) as f64;
        let unit = power_of_two(low as i32 * LIMB_BITS as i32 - UNIT);
        magnitude * if is_negative { -unit } else { unit }
    }

    /// Passes carries on: all limbs but the last have 32 bits then.
    fn carry(&mut self) {
        let mut carry = 0;
        for limb in &mut self.limbs[..LIMBS - 1] {
            let sum = *limb + carry;
            carry = sum >> LIMB_BITS;
            *limb = sum & ((1 << LIMB_BITS) - 1);
        }
        self.limbs[LIMBS - 1] += carry;
    }
}

/// Two to a power, to the bit: `powi` promises no last bit.
fn power_of_two(exponent: i32) -> f64 {
    debug_assert!((-1022..=1023).contains(&exponent));
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

impl FromIterator<f64> for ExactSum {
    fn from_iter<T: IntoIterator<Item = f64>>(numbers: T) -> Self {
        let mut sum = ExactSum::default();
        for x in numbers {
            sum.add(x);
        }
        sum
    }
}

const _: () = assert!(TOO_LARGE as u32 + MANTISSA <= LIMBS as u32 * LIMB_BITS);

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(numbers: &[f64]) -> f64 {
        numbers.iter().copied().collect::<ExactSum>().value()
    }

    /// Numbers of either sign and of all magnitudes that lengths, masses and energies have.
    fn numbers(seed: u64, count: usize) -> Vec<f64> {
        let mut state = seed;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let number = |next: &mut dyn FnMut() -> f64| {
            10_f64.powf(-15.0 + 24.0 * next()) * (2.0 * next() - 1.0)
        };
        (0..count).map(|_| number(&mut next)).collect()
    }

    #[test]
    fn one_number_from_the_smallest_mass_to_the_largest_length_is_kept_to_the_bit() {
        for x in numbers(1, if cfg!(miri) { 100 } else { 10_000 }) {
            assert_eq!(sum(&[x]), x);
            assert_eq!(sum(&[x, 1e9, -1e9]), x, "{x:e} beside the largest");
        }
        for x in [0.0, 1e-15, -1e-15, 1e9, 1.0, 0.1, power_of_two(-160), 1e25] {
            assert_eq!(sum(&[x]), x);
        }
    }

    #[test]
    fn order_and_grouping_do_not_matter() {
        let (seeds, length) = if cfg!(miri) { (2, 100) } else { (20, 3000) };
        for seed in 0..seeds {
            let mut list = numbers(seed, length);
            let expected = sum(&list);
            list.reverse();
            assert_eq!(sum(&list), expected);
            list.sort_unstable_by(f64::total_cmp);
            assert_eq!(sum(&list), expected);
            let parts = list.chunks(7 + seed as usize);
            let parts = parts.map(|part| part.iter().copied().collect::<ExactSum>());
            let joined = parts.fold(ExactSum::default(), |a, b| a.plus(&b));
            assert_eq!(joined.value(), expected);
            // What is added and taken away again leaves nothing.
            let back = list.iter().map(|x| -x);
            let nothing: ExactSum = list.iter().copied().chain(back).collect();
            assert_eq!(nothing.value(), 0.0);
        }
    }

    /// Integers sum without rounding, so that their sum is known.
    #[test]
    fn sums_are_rounded_once() {
        let integers: Vec<i128> = (0..if cfg!(miri) { 100 } else { 5000 })
            .map(|k: i128| (k * 0x9e37_79b9_7f4a_7c15) % (1 << 53) - (1 << 52))
            .collect();
        let exact: i128 = integers.iter().sum();
        let list: Vec<f64> = integers.iter().map(|&k| k as f64).collect();
        assert_eq!(sum(&list), exact as f64);
        // Halves of the last bit go to the even neighbour, what is above them up.
        let one = 1.0 + f64::EPSILON;
        let half = 0.5 * f64::EPSILON;
        assert_eq!(sum(&[1.0, half]), 1.0);
        assert_eq!(sum(&[one, half]), 1.0 + 2.0 * f64::EPSILON);
        assert_eq!(sum(&[1.0, half, power_of_two(-150)]), one);
        assert_eq!(sum(&[-1.0, -half, -power_of_two(-150)]), -one);
    }

    #[test]
    fn as_many_as_there_are_grains_fit() {
        let mut sum = ExactSum::default();
        sum.add(1e9);
        // Doubled 31 times, as two thousand million numbers would.
        for _ in 0..31 {
            sum = sum.plus(&sum.clone());
        }
        assert_eq!(sum.value(), 1e9 * power_of_two(31));
    }

    #[test]
    fn what_does_not_fit_is_said_in_any_order() {
        assert_eq!(sum(&[1.0, 1e300]), f64::INFINITY);
        assert_eq!(sum(&[-1e300, 1.0]), f64::NEG_INFINITY);
        assert!(sum(&[1e300, -1e300]).is_nan());
        assert!(sum(&[f64::NAN, 1.0]).is_nan());
        assert!(sum(&[f64::INFINITY, f64::NAN]).is_nan());
        assert_eq!(sum(&[1e-300, f64::MIN_POSITIVE / 4.0]), 0.0);
    }
}
