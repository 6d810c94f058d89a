//! Colour maps and the conversions between stored and physical light.
//!
//! A continuous map is a list of control points in Oklab cylinder coordinates (lightness `L`,
//! chroma `C`, hue `h`), with
//!
//! ```text
//! a = C cos h,   b = C sin h                                                        (1)
//! ```
//!
//! and is interpolated linearly in `(L, a, b)`. The control points are equally spaced in `L`, so
//! equal steps of the value are equal steps of perceived lightness: the map is readable for the
//! colour-blind and in grey print. Light is added and blended in linear RGB, stored as sRGB.

use std::str::FromStr;

/// A colour with linear components, proportional to light.
pub(crate) type Linear = [f32; 3];

/// How a scalar becomes a colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColorMap {
    /// Dark violet, blue, teal, green, yellow; in the manner of matplotlib's map of that name.
    #[default]
    Viridis,
    /// Dark blue, grey, yellow: the same for every kind of colour vision.
    Cividis,
    /// Okabe and Ito's eight distinct colours; a value is rounded to the index of its category,
    /// and indices wrap around. For materials.
    Categorical,
}

/// A name that is no colour map.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no colour map is called '{0}'; there are viridis, cividis and categorical")]
pub struct UnknownColorMap(pub String);

impl FromStr for ColorMap {
    type Err = UnknownColorMap;

    fn from_str(name: &str) -> Result<Self, UnknownColorMap> {
        match name {
            "viridis" => Ok(Self::Viridis),
            "cividis" => Ok(Self::Cividis),
            "categorical" => Ok(Self::Categorical),
            _ => Err(UnknownColorMap(name.to_owned())),
        }
    }
}

/// Chroma and hue in degrees; the lightness of point `i` of `n` is [`lightness_at`] `i / (n - 1)`.
const VIRIDIS: [(f64, f64); 7] = [
    (0.130, 312.0),
    (0.130, 285.0),
    (0.105, 252.0),
    (0.092, 200.0),
    (0.130, 162.0),
    (0.180, 132.0),
    (0.190, 104.0),
];
const CIVIDIS: [(f64, f64); 5] = [
    (0.085, 262.0),
    (0.055, 266.0),
    (0.012, 100.0),
    (0.075, 99.0),
    (0.150, 98.0),
];
const DARKEST: f64 = 0.27;
const LIGHTEST: f64 = 0.92;

/// Okabe and Ito's palette in sRGB, the strongest hues first and black last.
const OKABE_ITO: [[u8; 3]; 8] = [
    [0, 114, 178],
    [230, 159, 0],
    [0, 158, 115],
    [204, 121, 167],
    [86, 180, 233],
    [213, 94, 0],
    [240, 228, 66],
    [70, 70, 70],
];

/// Shown where there is no value.
const NEUTRAL: [u8; 3] = [176, 176, 176];

impl ColorMap {
    /// The sRGB colour of `value` when the map spans `range`; grey when the value is not finite.
    pub fn color(self, value: f64, range: (f64, f64)) -> [u8; 3] {
        to_srgb(self.linear(value, range))
    }

    pub(crate) fn linear(self, value: f64, (low, high): (f64, f64)) -> Linear {
        if !value.is_finite() {
            return from_srgb(NEUTRAL);
        }
        // Halves keep the difference of two huge ends finite.
        let fraction = || ((value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0)).clamp(0.0, 1.0);
        match self {
            Self::Viridis => interpolate(&VIRIDIS, fraction()),
            Self::Cividis => interpolate(&CIVIDIS, fraction()),
            Self::Categorical => {
                let index = value.round().rem_euclid(OKABE_ITO.len() as f64);
                from_srgb(OKABE_ITO[index as usize % OKABE_ITO.len()])
            }
        }
    }
}

fn lightness_at(fraction: f64) -> f64 {
    DARKEST + (LIGHTEST - DARKEST) * fraction
}

fn interpolate(points: &[(f64, f64)], fraction: f64) -> Linear {
    let position = fraction * (points.len() - 1) as f64;
    let first = (position as usize).min(points.len() - 2);
    let weight = position - first as f64;
    let tint = |(chroma, hue): (f64, f64)| {
        let (sin, cos) = hue.to_radians().sin_cos();
        (chroma * cos, chroma * sin)
    };
    let (a0, b0) = tint(points[first]);
    let (a1, b1) = tint(points[first + 1]);
    oklab_to_linear([
        lightness_at(fraction),
        a0 + (a1 - a0) * weight,
        b0 + (b1 - b0) * weight,
    ])
}

fn oklab_to_linear([lightness, a, b]: [f64; 3]) -> Linear {
    let cube = |x: f64| x * x * x;
    let l = cube(lightness + 0.396_337_777_4 * a + 0.215_803_757_3 * b);
    let m = cube(lightness - 0.105_561_345_8 * a - 0.063_854_172_8 * b);
    let s = cube(lightness - 0.089_484_177_5 * a - 1.291_485_548_0 * b);
    let red = 4.076_741_662_1 * l - 3.307_711_591_3 * m + 0.230_969_929_2 * s;
    let green = -1.268_438_004_6 * l + 2.609_757_401_1 * m - 0.341_319_396_5 * s;
    let blue = -0.004_196_086_3 * l - 0.703_418_614_7 * m + 1.707_614_701_0 * s;
    [red, green, blue].map(|x| x.clamp(0.0, 1.0) as f32)
}

pub(crate) fn from_srgb(color: [u8; 3]) -> Linear {
    color.map(|byte| decode(f32::from(byte) / 255.0))
}

/// sRGB component (0 to 1) to linear light.
pub(crate) fn decode(x: f32) -> f32 {
    if x <= 0.040_45 {
        x / 12.92
    } else {
        ((x + 0.055) / 1.055).powf(2.4)
    }
}

pub(crate) fn to_srgb(color: Linear) -> [u8; 3] {
    color.map(|x| (encode(x.clamp(0.0, 1.0)) * 255.0 + 0.5) as u8)
}

fn encode(x: f32) -> f32 {
    if x <= 0.003_130_8 {
        12.92 * x
    } else {
        1.055 * x.powf(1.0 / 2.4) - 0.055
    }
}

/// Relative luminance of linear light.
pub(crate) fn luminance([red, green, blue]: Linear) -> f32 {
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

pub(crate) fn mix(from: Linear, to: Linear, weight: f32) -> Linear {
    std::array::from_fn(|i| from[i] + (to[i] - from[i]) * weight)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn luminance_of_continuous_maps_grows_with_the_value() {
        for map in [ColorMap::Viridis, ColorMap::Cividis] {
            let luminances: Vec<f32> = (0..=256)
                .map(|i| luminance(map.linear(f64::from(i), (0.0, 256.0))))
                .collect();
            assert!(luminances.windows(2).all(|w| w[0] < w[1]), "{map:?}");
            assert!(luminances[0] < 0.04 && luminances[256] > 0.7, "{map:?}");
        }
    }

    #[test]
    fn values_outside_the_range_take_the_end_colours_and_nan_is_grey() {
        let map = ColorMap::Viridis;
        assert_eq!(map.color(-5.0, (0.0, 1.0)), map.color(0.0, (0.0, 1.0)));
        assert_eq!(map.color(7.0, (0.0, 1.0)), map.color(1.0, (0.0, 1.0)));
        assert_eq!(map.color(f64::NAN, (0.0, 1.0)), NEUTRAL);
        let huge = (-f64::MAX, f64::MAX);
        assert_eq!(map.color(0.0, huge), map.color(0.5, (0.0, 1.0)));
    }

    #[test]
    fn categories_wrap_around_and_differ() {
        let color = |value| ColorMap::Categorical.color(value, (0.0, 1.0));
        assert_eq!(color(0.0), color(8.0));
        assert_eq!(color(-1.0), color(7.0));
        for i in 0..8 {
            for j in 0..i {
                assert_ne!(color(f64::from(i)), color(f64::from(j)));
            }
        }
        color(1e300);
    }

    #[test]
    fn stored_colours_survive_the_way_through_linear_light() {
        for byte in 0..=255 {
            assert_eq!(to_srgb(from_srgb([byte; 3])), [byte; 3]);
        }
    }

    #[test]
    fn colour_maps_are_found_by_name_and_unknown_names_are_told() {
        assert_eq!("cividis".parse(), Ok(ColorMap::Cividis));
        let error = "jet".parse::<ColorMap>().unwrap_err();
        assert!(error.to_string().contains("viridis"));
    }
}
