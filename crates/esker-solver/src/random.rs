//! A tiny keyed generator (SplitMix64): the same key gives the same order on
//! every machine and with every version.

/// The next number of the sequence.
pub fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A number in [0, 1).
pub fn unit(state: &mut u64) -> f64 {
    (next(state) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Shuffles in place (Fisher–Yates).
pub fn shuffle(items: &mut [u32], key: u64) {
    let mut state = key;
    for i in (1..items.len()).rev() {
        items.swap(i, (next(&mut state) % (i as u64 + 1)) as usize);
    }
}
