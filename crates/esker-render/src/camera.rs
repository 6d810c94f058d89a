//! Cameras, and where they see a point.
//!
//! Camera space has its origin in the eye and the axes right, up and forward, coordinates
//! `(x, y, z)`. A perspective camera sees a point at the slopes
//!
//! ```text
//! u = x / z,   v = y / z                                                            (1)
//! ```
//!
//! and an orthographic one at `u = x`, `v = y`. The picture shows `|v| ≤ k` with `k = tan(fov/2)`,
//! or half the height in metres.

use glam::DVec3;

use crate::framing::{Bounds, Framing};

/// How depth becomes size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Projection {
    /// Far things look smaller; the full vertical angle of view in radians, between 0 and π.
    Perspective {
        /// Vertical angle of view, rad.
        fov_y: f64,
    },
    /// Sizes do not depend on depth.
    Orthographic {
        /// Height of the visible region, m.
        height: f64,
    },
}

/// Where a picture is taken from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// Position, m.
    pub eye: DVec3,
    /// Point in the middle of the picture, m.
    pub target: DVec3,
    /// Direction that points upwards in the picture; need not be perpendicular to the view.
    pub up: DVec3,
    /// Perspective or orthographic.
    pub projection: Projection,
}

/// Where a point appears.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Projected {
    /// Pixels from the left edge; a pixel's middle is at a half.
    pub x: f64,
    /// Pixels from the top edge.
    pub y: f64,
    /// Distance from the eye along the view direction, m.
    pub depth: f64,
}

impl Camera {
    /// A perspective camera that looks along `direction` and sees all of `bounds` with a small
    /// margin, in a picture whose width is `aspect` times its height. The z axis points up.
    /// [`Framing`] has the finer control.
    pub fn fit(bounds: &Bounds, direction: DVec3, aspect: f64) -> Self {
        Framing::new(direction, aspect).fit(bounds)
    }

    /// Where `point` appears in a picture of `size` pixels; `None` behind a perspective eye, or
    /// when the camera is degenerate. The place may lie outside the picture.
    pub fn project(&self, point: DVec3, size: (u32, u32)) -> Option<Projected> {
        let view = View::new(self, size)?;
        let p = view.to_camera(point);
        if !p.is_finite() || (view.perspective && p.z <= 0.0) {
            return None;
        }
        let (u, v) = view.slopes(p);
        Some(Projected {
            x: view.pixel_x(u),
            y: view.pixel_y(v),
            depth: p.z / view.scale,
        })
    }
}

/// Right, up and forward unit vectors; falls back to other axes where the input is degenerate.
pub(crate) fn basis(direction: DVec3, up: DVec3) -> (DVec3, DVec3, DVec3) {
    let forward = direction.try_normalize().unwrap_or(DVec3::Y);
    let right = [up, DVec3::Z, DVec3::Y]
        .into_iter()
        .filter_map(DVec3::try_normalize)
        .map(|up| forward.cross(up))
        .find(|right| right.length() > 1e-6)
        .and_then(DVec3::try_normalize)
        .unwrap_or(DVec3::X);
    (right, right.cross(forward), forward)
}

/// A camera made ready for one picture size. Lengths are divided by the distance from eye to
/// target, so that single precision suffices for depths at any scale of the scene.
///
/// Depth is kept as *nearness*, which is affine over the picture for every plane:
/// `1/z` in perspective, `−z` in orthographic views. Larger is nearer.
#[derive(Clone, Debug)]
pub(crate) struct View {
    eye: DVec3,
    pub right: DVec3,
    pub up: DVec3,
    pub forward: DVec3,
    /// Camera units per metre.
    pub scale: f64,
    pub perspective: bool,
    /// Slope (or camera units) per pixel.
    pub pixel: f64,
    half_size: (f64, f64),
}

impl View {
    /// Depth of the nearest thing shown in perspective, in camera units.
    pub const NEAR: f64 = 1e-4;

    pub fn new(camera: &Camera, size: (u32, u32)) -> Option<Self> {
        let sight = camera.target - camera.eye;
        let distance = sight.length();
        let usable = camera.eye.is_finite() && distance.is_finite() && distance > 0.0;
        if !usable || size.0 == 0 || size.1 == 0 {
            return None;
        }
        let scale = 1.0 / distance;
        let half_size = (0.5 * f64::from(size.0), 0.5 * f64::from(size.1));
        let (perspective, half_height) = match camera.projection {
            Projection::Perspective { fov_y } => {
                let possible = fov_y > 0.0 && fov_y < std::f64::consts::PI;
                (
                    true,
                    if possible {
                        (0.5 * fov_y).tan()
                    } else {
                        f64::NAN
                    },
                )
            }
            Projection::Orthographic { height } => (false, 0.5 * height * scale),
        };
        if !(half_height > 0.0 && half_height.is_finite() && scale.is_finite()) {
            return None;
        }
        let (right, up, forward) = basis(sight, camera.up);
        Some(Self {
            eye: camera.eye,
            right,
            up,
            forward,
            scale,
            perspective,
            pixel: half_height / half_size.1,
            half_size,
        })
    }

    pub fn to_camera(&self, point: DVec3) -> DVec3 {
        self.turn((point - self.eye) * self.scale)
    }

    /// World direction to camera direction.
    pub fn turn(&self, direction: DVec3) -> DVec3 {
        DVec3::new(
            direction.dot(self.right),
            direction.dot(self.up),
            direction.dot(self.forward),
        )
    }

    /// Eq. (1).
    pub fn slopes(&self, p: DVec3) -> (f64, f64) {
        if self.perspective {
            (p.x / p.z, p.y / p.z)
        } else {
            (p.x, p.y)
        }
    }

    pub fn u(&self, pixel_x: f64) -> f64 {
        (pixel_x - self.half_size.0) * self.pixel
    }

    pub fn v(&self, pixel_y: f64) -> f64 {
        (self.half_size.1 - pixel_y) * self.pixel
    }

    pub fn pixel_x(&self, u: f64) -> f64 {
        u / self.pixel + self.half_size.0
    }

    pub fn pixel_y(&self, v: f64) -> f64 {
        self.half_size.1 - v / self.pixel
    }

    pub fn nearness(&self, z: f64) -> f64 {
        if self.perspective { 1.0 / z } else { -z }
    }

    /// The point seen at slopes `(u, v)` with the given nearness.
    pub fn point(&self, u: f64, v: f64, nearness: f64) -> DVec3 {
        if self.perspective {
            DVec3::new(u, v, 1.0) / nearness
        } else {
            DVec3::new(u, v, -nearness)
        }
    }

    /// Unit vector from the point seen at slopes `(u, v)` towards the eye.
    pub fn towards_eye(&self, u: f64, v: f64) -> DVec3 {
        if self.perspective {
            -DVec3::new(u, v, 1.0).normalize()
        } else {
            DVec3::NEG_Z
        }
    }

    /// Pixels per camera unit at a point of the given nearness.
    pub fn magnification(&self, nearness: f64) -> f64 {
        if self.perspective {
            nearness / self.pixel
        } else {
            1.0 / self.pixel
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_behind_the_eye_are_not_projected() {
        let camera = Camera {
            eye: DVec3::ZERO,
            target: DVec3::Y,
            up: DVec3::Z,
            projection: Projection::Perspective { fov_y: 1.0 },
        };
        assert!(camera.project(DVec3::NEG_Y, (10, 10)).is_none());
        let ahead = camera.project(DVec3::new(0.0, 3.0, 0.0), (10, 10)).unwrap();
        assert!((ahead.x - 5.0).abs() < 1e-12 && (ahead.depth - 3.0).abs() < 1e-12);
    }
}
