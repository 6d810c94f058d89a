//! Colours: a qualitative set for curves and one perceptually ordered scale.

/// Colours of curves, told apart also by people who see red and green alike
/// (after Okabe and Ito).
pub const SERIES_COLOURS: [&str; 8] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c6d31",
];

/// Anchors of the ordered scale, dark blue to yellow, equally spaced.
const SCALE: [[f64; 3]; 6] = [
    [53.0, 33.0, 110.0],
    [52.0, 94.0, 141.0],
    [33.0, 144.0, 140.0],
    [68.0, 190.0, 112.0],
    [170.0, 220.0, 50.0],
    [253.0, 231.0, 37.0],
];

/// Colour of a share (0…1; others are cut off) of the ordered scale, as `#rrggbb`.
pub fn colour_of(share: f64) -> String {
    let share = if share.is_finite() {
        share.clamp(0.0, 1.0)
    } else {
        0.0
    };
    let place = share * (SCALE.len() - 1) as f64;
    let below = (place as usize).min(SCALE.len() - 2);
    let part = place - below as f64;
    let mix = |k: usize| {
        let (a, b) = (SCALE[below][k], SCALE[below + 1][k]);
        (a + (b - a) * part).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", mix(0), mix(1), mix(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_ends_where_it_says_and_bears_bad_input() {
        assert_eq!(colour_of(0.0), "#35216e");
        assert_eq!(colour_of(2.0), "#fde725");
        assert_eq!(colour_of(f64::NAN), colour_of(0.0));
    }
}
