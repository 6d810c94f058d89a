//! Reproducible numbers for the tests.

/// Splitmix64: numbers in [0, 1).
pub fn numbers(mut state: u64) -> impl FnMut() -> f64 {
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// A random rotation.
#[allow(dead_code)] // Not every test file needs it.
pub fn rotation(next: &mut impl FnMut() -> f64) -> esker_geometry::DQuat {
    let [a, b, c] = [next(), next(), next()];
    let (one, two) = ((1.0 - a).sqrt(), a.sqrt());
    let (sb, cb) = (std::f64::consts::TAU * b).sin_cos();
    let (sc, cc) = (std::f64::consts::TAU * c).sin_cos();
    esker_geometry::DQuat::from_xyzw(one * sb, one * cb, two * sc, two * cc)
}
