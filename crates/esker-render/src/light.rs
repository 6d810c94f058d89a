//! How surfaces answer to light: a sky, one key light and a faint light from the eye.
//!
//! With the unit normal `n`, the directions up `s`, to the key light `l` and to the eye `e`,
//!
//! ```text
//! light = A (ground + (sky − ground) (1 + n·s)/2) + K max(0, n·l) S + F max(0, n·e)        (1)
//! ```
//!
//! where `A` and `S` in 0 to 1 are the open parts of the sky and of the key light
//! ([`crate::occlusion`]). A small highlight is added, and the outermost pixel of a grain is
//! darkened to separate it from its neighbours.

use glam::DVec3;

use crate::camera::View;
use crate::color::Linear;

const SKY: f32 = 0.58;
const GROUND: f32 = 0.26;
const KEY: f32 = 0.80;
const FILL: f32 = 0.12;
const HIGHLIGHT: f32 = 0.10;
/// Light that reaches the rim of a grain.
const RIM: f32 = 0.30;
/// Direction to the key light: so much towards the sky, and right, up and forward in the picture.
const KEY_SKY: f64 = 0.95;
const KEY_CAMERA: DVec3 = DVec3::new(-0.55, 0.1, -0.6);
/// Light on a wall that faces away from the key light, and what the key light adds.
const WALL_BASE: f32 = 0.72;
const WALL_KEY: f32 = 0.36;
/// Highlight of a wall, and how much denser than seen straight on it is at grazing angles.
const WALL_HIGHLIGHT: f32 = 0.25;
const WALL_GRAZING: f32 = 1.8;

/// What a shader needs for the same light.
pub(crate) fn constants() -> Vec<(&'static str, f64)> {
    let light = [
        ("SKY", SKY),
        ("GROUND", GROUND),
        ("KEY", KEY),
        ("FILL", FILL),
        ("HIGHLIGHT", HIGHLIGHT),
        ("RIM", RIM),
        ("WALL_BASE", WALL_BASE),
        ("WALL_KEY", WALL_KEY),
        ("WALL_HIGHLIGHT", WALL_HIGHLIGHT),
        ("WALL_GRAZING", WALL_GRAZING),
    ]
    .map(|(name, value)| (name, f64::from(value)));
    let direction = [
        ("KEY_SKY", KEY_SKY),
        ("KEY_RIGHT", KEY_CAMERA.x),
        ("KEY_UP", KEY_CAMERA.y),
        ("KEY_FORWARD", KEY_CAMERA.z),
    ];
    light.into_iter().chain(direction).collect()
}

/// Open parts of the sky and of the key light at a point, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Openness {
    pub sky: f32,
    pub key: f32,
}

impl Openness {
    pub const FULL: Self = Self { sky: 1.0, key: 1.0 };
}

/// Light directions in camera space.
pub(crate) struct Light {
    sky: DVec3,
    pub key: DVec3,
}

impl Light {
    /// The sky is where the camera's `up` points; the key light stands high on the left, on the
    /// side of the eye, so that the grains seen are lit.
    pub fn new(view: &View, up: DVec3) -> Self {
        let sky = view.turn(up).try_normalize().unwrap_or(DVec3::Y);
        let key = (sky * KEY_SKY + KEY_CAMERA).normalize();
        Self { sky, key }
    }

    /// `inside_rim`: 0 at the rim of the body to 1 where its outline ends.
    pub fn on_body(
        &self,
        normal: DVec3,
        towards_eye: DVec3,
        albedo: Linear,
        open: Openness,
        inside_rim: f32,
    ) -> Linear {
        let facing = normal.dot(towards_eye).max(0.0) as f32;
        let height = 0.5 + 0.5 * normal.dot(self.sky) as f32;
        let key = normal.dot(self.key).max(0.0) as f32 * open.key;
        let light = open.sky * (GROUND + (SKY - GROUND) * height + FILL * facing) + KEY * key;
        let halfway = (self.key + towards_eye).normalize_or_zero();
        let highlight = HIGHLIGHT * (normal.dot(halfway).max(0.0) as f32).powi(40) * open.key;
        let rim = RIM + (1.0 - RIM) * inside_rim;
        albedo.map(|x| (x * light + highlight) * rim)
    }

    /// Colour and opacity of a wall; denser where it is seen at a grazing angle, as glass is.
    pub fn on_wall(
        &self,
        normal: DVec3,
        towards_eye: DVec3,
        color: Linear,
        opacity: f32,
    ) -> (Linear, f32) {
        let facing = normal.dot(towards_eye);
        let normal = if facing < 0.0 { -normal } else { normal };
        let grazing = 1.0 - facing.abs() as f32;
        let light = WALL_BASE + WALL_KEY * normal.dot(self.key).max(0.0) as f32;
        let halfway = (self.key + towards_eye).normalize_or_zero();
        let highlight = WALL_HIGHLIGHT * (normal.dot(halfway).max(0.0) as f32).powi(24);
        let denser =
            opacity * (1.0 + WALL_GRAZING * grazing * grazing * grazing) + opacity * highlight;
        (
            color.map(|x| (x * light + highlight).min(1.0)),
            denser.min(1.0),
        )
    }
}
