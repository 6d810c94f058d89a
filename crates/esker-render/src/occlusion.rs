//! How open each pixel is to the sky and to the key light.
//!
//! **Sky.** For the point `p` seen in a pixel, with normal `n`, the points `q` seen in 16 pixels
//! around it within the radius `R` hide the part
//!
//! ```text
//! 1 − A = c · mean over q of max(0, n·(q − p)/|q − p| − β) · max(0, 1 − |q − p|²/R²)       (1)
//! ```
//!
//! of the sky. **Key light.** A second visibility buffer seen from the light tells which points
//! it reaches. Both are computed once per pixel, with a pattern of taps that is rotated over
//! blocks of 4 × 4 pixels, and averaged over such a block where the depth is continuous.

use glam::DVec3;

use crate::bodies::Bodies;
use crate::camera::View;
use crate::framing::Framing;
use crate::light::{Light, Openness};
use crate::visibility::{NOTHING, SAMPLES, VisibilityBuffer, sample_x, sample_y};

const TAPS: usize = 16;
/// Cosine and sine of the golden angle, by which successive taps are turned.
const GOLDEN: (f64, f64) = (-0.737_368_878_078_319_9, 0.675_490_294_261_523_6);
/// `c` of eq. (1).
const STRENGTH: f64 = 2.3;
/// `β` of eq. (1): keeps a flat surface open in spite of rounding.
const BIAS: f64 = 0.06;
/// `R` of eq. (1) over the mean radius of the bodies.
const REACH: f64 = 2.2;
/// The sample that stands for its pixel.
const REPRESENTATIVE: usize = 2;
/// Depth behind a body at which its shadow begins, over the mean radius of the bodies.
const SHADOW_TOLERANCE: f64 = 0.12;
/// Width over which shadows on planes fade, over the mean radius of the bodies.
const SHADOW_BLUR: f64 = 0.6;
/// Darkest sky, so that deep gaps keep their colour.
const LEAST_SKY: f64 = 0.18;

/// What a shader needs for the same occlusion.
pub(crate) fn constants() -> [(&'static str, f64); 6] {
    [
        ("OCCLUSION_STRENGTH", STRENGTH),
        ("OCCLUSION_BIAS", BIAS),
        ("OCCLUSION_REACH", REACH),
        ("LEAST_SKY", LEAST_SKY),
        ("SHADOW_TOLERANCE", SHADOW_TOLERANCE),
        ("SHADOW_BLUR", SHADOW_BLUR),
    ]
}

/// Openness per pixel, row by row.
pub(crate) fn openness(
    bodies: &Bodies,
    view: &View,
    shadows: &ShadowMap,
    seen: &VisibilityBuffer,
) -> Vec<Openness> {
    let (width, height) = (seen.width, seen.rows / SAMPLES);
    let mut rough = vec![Openness::FULL; width * height];
    let size = bodies.mean_radius();
    if size == 0.0 {
        return rough;
    }
    let points = seen_points(view, seen);
    for y in 0..height {
        for x in 0..width {
            let item = seen.item[seen.index(y * SAMPLES + REPRESENTATIVE, x)];
            if item == NOTHING {
                continue;
            }
            let p = points[y * width + x];
            let normal = bodies.normal(item, p);
            let nearness = view.nearness(p.z);
            let reach = (REACH * size * view.magnification(nearness)).clamp(1.5, 80.0);
            let sky = open_sky(
                &points,
                (width, height),
                (x, y),
                normal,
                reach,
                REACH * size,
            );
            rough[y * width + x] = Openness {
                sky: sky as f32,
                key: shadows.lit_part(p, normal),
            };
        }
    }
    smooth(&rough, &points, width, 0.5 * size)
}

/// The point seen in each pixel; not finite where there is none.
fn seen_points(view: &View, seen: &VisibilityBuffer) -> Vec<DVec3> {
    let mut points = Vec::with_capacity(seen.width * seen.rows / SAMPLES);
    for row in (REPRESENTATIVE..seen.rows).step_by(SAMPLES) {
        for column in 0..seen.width {
            let sample = seen.index(row, column);
            points.push(if seen.item[sample] == NOTHING {
                DVec3::INFINITY
            } else {
                let (u, v) = (view.u(column as f64 + sample_x(row)), view.v(sample_y(row)));
                view.point(u, v, f64::from(seen.nearness[sample]))
            });
        }
    }
    points
}

/// Eq. (1); `reach` in pixels, `radius` in camera units.
fn open_sky(
    points: &[DVec3],
    (width, height): (usize, usize),
    (x, y): (usize, usize),
    normal: DVec3,
    reach: f64,
    radius: f64,
) -> f64 {
    let p = points[y * width + x];
    // Ordered so that neighbours in the block differ much.
    const ORDER: [usize; 16] = [0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5];
    let block = ORDER[(y % 4) * 4 + x % 4] as f64 / 16.0;
    let (mut sin, mut cos) = (block * std::f64::consts::TAU).sin_cos();
    let mut hidden = 0.0;
    for tap in 0..TAPS {
        (cos, sin) = (
            cos * GOLDEN.0 - sin * GOLDEN.1,
            cos * GOLDEN.1 + sin * GOLDEN.0,
        );
        let distance = reach * ((tap as f64 + block) / TAPS as f64).sqrt();
        let (tap_x, tap_y) = (
            x as f64 + 0.5 + cos * distance,
            y as f64 + 0.5 + sin * distance,
        );
        if tap_x < 0.0 || tap_y < 0.0 || tap_x >= width as f64 || tap_y >= height as f64 {
            continue;
        }
        let offset = points[tap_y as usize * width + tap_x as usize] - p;
        let squared = offset.length_squared();
        if squared > 0.0 && squared < radius * radius {
            let rise = normal.dot(offset) / squared.sqrt() - BIAS;
            hidden += rise.max(0.0) * (1.0 - squared / (radius * radius));
        }
    }
    (1.0 - STRENGTH * hidden / TAPS as f64).max(LEAST_SKY)
}

/// Mean over 4 × 4 pixels of those not farther in depth than `tolerance`.
fn smooth(rough: &[Openness], points: &[DVec3], width: usize, tolerance: f64) -> Vec<Openness> {
    let height = rough.len() / width;
    let mut result = Vec::with_capacity(rough.len());
    for y in 0..height {
        for x in 0..width {
            let depth = points[y * width + x].z;
            let (mut sky, mut key, mut count) = (0.0, 0.0, 0.0);
            for other_y in y.saturating_sub(1)..(y + 3).min(height) {
                for other_x in x.saturating_sub(1)..(x + 3).min(width) {
                    let other = other_y * width + other_x;
                    if (points[other].z - depth).abs() < tolerance {
                        sky += rough[other].sky;
                        key += rough[other].key;
                        count += 1.0;
                    }
                }
            }
            result.push(if count > 0.0 {
                Openness {
                    sky: sky / count,
                    key: key / count,
                }
            } else {
                rough[y * width + x]
            });
        }
    }
    result
}

/// What the key light sees.
pub(crate) struct ShadowMap {
    view: Option<View>,
    seen: VisibilityBuffer,
    /// A point must lie this deep behind another to be in its shadow, camera units.
    tolerance: f64,
    /// Width over which shadows on planes fade, camera units.
    blur: f64,
}

impl ShadowMap {
    pub fn new(bodies: &Bodies, light: &Light, picture_side: u32) -> Self {
        let size = bodies.mean_radius();
        let side = (picture_side / 2).clamp(64, 1024);
        let framing = Framing {
            fov_y: None,
            up: DVec3::X,
            ..Framing::new(-light.key, 1.0)
        };
        let camera = framing.fit_balls(bodies.shown_balls().map(|ball| (ball.centre, ball.radius)));
        let view = View::new(&camera, (side, side)).filter(|_| size > 0.0);
        let mut seen = VisibilityBuffer::new((side, side));
        if let Some(view) = &view {
            bodies.draw_as_seen_by(view, &mut seen);
        }
        Self {
            view,
            seen,
            tolerance: SHADOW_TOLERANCE * size,
            blur: SHADOW_BLUR * size,
        }
    }

    /// The same on a plane, as of a light that is not a point: mean of places around.
    pub fn soft_lit_part(&self, p: DVec3, normal: DVec3) -> f32 {
        let along = normal.any_orthonormal_vector() * self.blur;
        let across = normal.cross(along);
        let (mut sin, mut cos) = (0.0, 1.0);
        let mut lit = 0.0;
        for tap in 0..TAPS {
            (cos, sin) = (
                cos * GOLDEN.0 - sin * GOLDEN.1,
                cos * GOLDEN.1 + sin * GOLDEN.0,
            );
            let reach = ((tap as f64 + 0.5) / TAPS as f64).sqrt();
            lit += self.lit_part(p + (along * cos + across * sin) * reach, normal);
        }
        lit / TAPS as f32
    }

    /// Part of the light that reaches a point, from the samples of 2 × 2 pixels around it.
    fn lit_part(&self, p: DVec3, normal: DVec3) -> f32 {
        let Some(view) = &self.view else {
            return 1.0;
        };
        // A step off the surface keeps the rounded side of a grain out of its own shadow.
        let p = view.to_camera(p + normal * self.tolerance);
        let nearness = view.nearness(p.z - self.tolerance * view.scale) as f32;
        let (u, v) = view.slopes(p);
        let (x, y) = (view.pixel_x(u) - 0.5, view.pixel_y(v) - 0.5);
        let last = (self.seen.width - 2) as f64;
        if !(x >= 0.0 && y >= 0.0 && x < last && y < last) {
            return 1.0;
        }
        let (column, first_row) = (x as usize, y as usize * SAMPLES);
        let mut lit = 0;
        for row in first_row..first_row + 2 * SAMPLES {
            let sample = self.seen.index(row, column);
            lit += u32::from(self.seen.nearness[sample] <= nearness);
            lit += u32::from(self.seen.nearness[sample + 1] <= nearness);
        }
        lit as f32 / (4 * SAMPLES) as f32
    }
}
