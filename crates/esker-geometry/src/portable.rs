//! Sines and cube roots with the same bits everywhere.
//!
//! Every library computes them with bits of its own, and devices have other libraries than
//! processors. What enters the state of grains is therefore computed here, from operations that
//! all round alike: sums of the series
//!
//! ```text
//! sin x = x − x³/3! + x⁵/5! − …,   cos x = 1 − x²/2! + x⁴/4! − …,   |x| ≤ π/4,
//! ```
//!
//! of an angle less a multiple of π/2, which is known in three parts. `esker-gpu` has the same
//! in its kernels (`kernels/vectors.h`), operation by operation.

/// π/2 in three parts: a multiple of the first two is exact up to some 10⁵ turns.
const QUARTER_TURN: [f64; 3] = [
    1.570_796_326_734_125_6,
    6.077_100_506_303_966e-11,
    2.022_266_248_795_950_6e-21,
];
const QUARTERS_PER_RADIAN: f64 = std::f64::consts::FRAC_2_PI;

fn sine_of_reduced(x: f64) -> f64 {
    let z = x * x;
    let mut sum = 1.0 / 355_687_428_096_000.0;
    sum = sum * z - 1.0 / 1_307_674_368_000.0;
    sum = sum * z + 1.0 / 6_227_020_800.0;
    sum = sum * z - 1.0 / 39_916_800.0;
    sum = sum * z + 1.0 / 362_880.0;
    sum = sum * z - 1.0 / 5040.0;
    sum = sum * z + 1.0 / 120.0;
    sum = sum * z - 1.0 / 6.0;
    x + x * (z * sum)
}

fn cosine_of_reduced(x: f64) -> f64 {
    let z = x * x;
    let mut sum = 1.0 / 6_402_373_705_728_000.0;
    sum = sum * z - 1.0 / 20_922_789_888_000.0;
    sum = sum * z + 1.0 / 87_178_291_200.0;
    sum = sum * z - 1.0 / 479_001_600.0;
    sum = sum * z + 1.0 / 3_628_800.0;
    sum = sum * z - 1.0 / 40_320.0;
    sum = sum * z + 1.0 / 720.0;
    sum = sum * z - 1.0 / 24.0;
    sum = sum * z + 0.5;
    1.0 - z * sum
}

/// Cube root of a number that is not negative: a third of the exponent, and Newton's method.
pub fn cube_root(x: f64) -> f64 {
    if x == 0.0 {
        return 0.0;
    }
    // The offset makes 1 nearly 1.
    let mut root = f64::from_bits(x.to_bits() / 3 + 0x2a9f_7893_7f80_0000);
    for _ in 0..5 {
        root = root - (root - x / (root * root)) * (1.0 / 3.0);
    }
    root
}

/// Sine and cosine of an angle, rad.
pub fn sin_cos(angle: f64) -> (f64, f64) {
    let turns = angle * QUARTERS_PER_RADIAN;
    let quarters = (if turns < 0.0 {
        turns - 0.5
    } else {
        turns + 0.5
    }) as i64;
    let [first, second, third] = QUARTER_TURN;
    let count = quarters as f64;
    let x = ((angle - count * first) - count * second) - count * third;
    let (sine, cosine) = (sine_of_reduced(x), cosine_of_reduced(x));
    match quarters & 3 {
        0 => (sine, cosine),
        1 => (cosine, -sine),
        2 => (-sine, -cosine),
        _ => (-cosine, sine),
    }
}

/// The angle, rad, whose sine is `y`, of `0 ≤ y ≤ 1`.
pub fn asin(y: f64) -> f64 {
    let is_steep = y > std::f64::consts::FRAC_1_SQRT_2;
    let x = if is_steep {
        ((1.0 - y) * (1.0 + y)).sqrt()
    } else {
        y
    };
    // Newton's method on the sine, from a good guess.
    let mut angle = x + x * x * x * (1.0 / 6.0);
    for _ in 0..5 {
        let (sine, cosine) = sin_cos(angle);
        angle -= (sine - x) / cosine;
    }
    if is_steep {
        std::f64::consts::FRAC_PI_2 - angle
    } else {
        angle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sines_are_those_of_the_library_but_for_the_last_bits() {
        for k in -40_000_i32..40_000 {
            let angle = f64::from(k) * 1.37e-3;
            let (sine, cosine) = sin_cos(angle);
            assert!((sine - angle.sin()).abs() < 3e-16, "sin {angle}");
            assert!((cosine - angle.cos()).abs() < 3e-16, "cos {angle}");
        }
        for k in 0..=1000 {
            let y = f64::from(k) * 1e-3;
            assert!((asin(y) - y.asin()).abs() < 5e-16, "asin {y}");
        }
        // Small angles to the last bit or the one before it.
        let (sine, _) = sin_cos(1e-9);
        assert_eq!(sine, 1e-9);
    }

    #[test]
    fn cube_roots_are_right_but_for_the_last_bits() {
        assert_eq!(cube_root(0.0), 0.0);
        for k in -400_i32..=100 {
            let x = 10_f64.powf(0.1 * f64::from(k));
            assert!((cube_root(x) / x.cbrt() - 1.0).abs() < 4e-16, "{x}");
        }
    }

    #[test]
    fn numbers_that_are_no_angles_are_survived() {
        for angle in [f64::NAN, f64::INFINITY, 1e300, -1e18] {
            let _ = sin_cos(angle);
        }
    }
}
