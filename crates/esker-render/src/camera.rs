//! Cameras, and cameras that see a whole scene.
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
//!
//! **Fit.** A ball of centre `(x, y, z)` and radius `r` lies left of the plane `u = k` through the
//! eye `(e, ·, d)` when `x − e + r √(1 + k²) ≤ k (z − d)`. With the two extremes
//!
//! ```text
//! P = max(x − k₊ z + r √(1 + k₊²)),   Q = max(−x − k₋ z + r √(1 + k₋²))             (2)
//! d ≤ −(P + Q) / (k₊ + k₋),           P + k₊ d ≤ e ≤ −Q − k₋ d                      (3)
//! ```
//!
//! the nearest eye position that sees every ball follows in closed form; `k₊` and `k₋` differ
//! when one side is kept free for the legend.

use glam::DVec3;

use crate::picture::{Sphere, Wall};

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

/// An axis-aligned box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Smallest coordinates, m.
    pub min: DVec3,
    /// Largest coordinates, m.
    pub max: DVec3,
}

impl Bounds {
    /// Contains nothing; the start of a union.
    pub const EMPTY: Self = Self {
        min: DVec3::INFINITY,
        max: DVec3::NEG_INFINITY,
    };

    /// Whether nothing is inside.
    pub fn is_empty(&self) -> bool {
        !(self.min.cmple(self.max).all() && self.min.is_finite() && self.max.is_finite())
    }

    /// The smallest box around both.
    pub fn union(&self, other: &Self) -> Self {
        Self {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
        }
    }

    /// Box around all drawable spheres.
    pub fn of_spheres(spheres: &[Sphere]) -> Self {
        let drawable = spheres.iter().filter(|sphere| is_drawable(sphere));
        drawable.fold(Self::EMPTY, |bounds, sphere| {
            bounds.union(&Self {
                min: sphere.centre - sphere.radius,
                max: sphere.centre + sphere.radius,
            })
        })
    }

    /// Box around the bulk of the spheres, so that a stray grain does not shrink the picture.
    ///
    /// On each axis the centres between the quantiles `trim` and `1 − trim` (usually 0.01) span
    /// the core; the core is widened by its own size on both sides, and the box encloses the
    /// spheres inside that. Grains at the border of a compact heap are therefore never cut off.
    pub fn of_bulk(spheres: &[Sphere], trim: f64) -> Self {
        let drawable: Vec<Sphere> = spheres.iter().copied().filter(is_drawable).collect();
        if drawable.is_empty() {
            return Self::EMPTY;
        }
        let trim = if trim.is_finite() {
            trim.clamp(0.0, 0.49)
        } else {
            0.0
        };
        let mut low = DVec3::ZERO;
        let mut high = DVec3::ZERO;
        let largest = drawable.iter().fold(0.0, |r: f64, s| r.max(s.radius));
        for axis in 0..3 {
            let mut sorted: Vec<f64> = drawable.iter().map(|s| s.centre[axis]).collect();
            sorted.sort_by(f64::total_cmp);
            let last = (sorted.len() - 1) as f64;
            let lower = sorted[(trim * last).ceil() as usize];
            let upper = sorted[((1.0 - trim) * last).floor() as usize];
            let margin = (upper - lower).abs() + 2.0 * largest;
            low[axis] = lower.min(upper) - margin;
            high[axis] = upper.max(lower) + margin;
        }
        let bulk: Vec<Sphere> = drawable
            .into_iter()
            .filter(|s| s.centre.cmpge(low).all() && s.centre.cmple(high).all())
            .collect();
        Self::of_spheres(&bulk)
    }

    /// Box around all finite corners of the walls.
    pub fn of_walls(walls: &[Wall]) -> Self {
        let triangles = walls.iter().flat_map(|wall| &wall.triangles);
        let corners = triangles.flat_map(|triangle| triangle.corners);
        corners
            .filter(|corner| corner.is_finite())
            .fold(Self::EMPTY, |bounds, corner| {
                bounds.union(&Self {
                    min: corner,
                    max: corner,
                })
            })
    }

    fn corners(&self) -> [DVec3; 8] {
        std::array::from_fn(|i| {
            let pick = |bit: usize, low: f64, high: f64| if i >> bit & 1 == 0 { low } else { high };
            DVec3::new(
                pick(0, self.min.x, self.max.x),
                pick(1, self.min.y, self.max.y),
                pick(2, self.min.z, self.max.z),
            )
        })
    }
}

/// Whether a sphere can be shown at all.
pub(crate) fn is_drawable(sphere: &Sphere) -> bool {
    sphere.centre.is_finite() && sphere.radius.is_finite() && sphere.radius > 0.0
}

/// How a fitted camera frames its subject.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Framing {
    /// Viewing direction, from the eye into the scene.
    pub direction: DVec3,
    /// Direction that points upwards in the picture.
    pub up: DVec3,
    /// Width of the picture over its height.
    pub aspect: f64,
    /// Vertical angle of view in rad; `None` for an orthographic camera.
    pub fov_y: Option<f64>,
    /// Part of the half picture that stays free on each side, 0 to 0.9.
    pub margin: f64,
    /// Part of the width at the right edge kept free for the legend, 0 to 0.5;
    /// [`Framing::LEGEND_STRIP`] suits the legend drawn here.
    pub right_strip: f64,
}

impl Framing {
    /// Part of the picture's width that a legend takes.
    pub const LEGEND_STRIP: f64 = 0.14;

    /// Perspective of 30°, z up, a margin of 5 % and no strip for a legend.
    pub fn new(direction: DVec3, aspect: f64) -> Self {
        Self {
            direction,
            up: DVec3::Z,
            aspect,
            fov_y: Some(30_f64.to_radians()),
            margin: 0.05,
            right_strip: 0.0,
        }
    }

    /// The nearest camera that sees the whole box.
    pub fn fit(&self, bounds: &Bounds) -> Camera {
        let corners = if bounds.is_empty() {
            [DVec3::ZERO; 8]
        } else {
            bounds.corners()
        };
        self.fit_balls(corners.map(|corner| (corner, 0.0)))
    }

    /// The nearest camera that sees all balls (centre, radius); tighter than a box around them.
    pub fn fit_balls(&self, balls: impl IntoIterator<Item = (DVec3, f64)>) -> Camera {
        let balls: Vec<(DVec3, f64)> = balls
            .into_iter()
            .filter(|(centre, radius)| centre.is_finite() && radius.is_finite())
            .collect();
        let (right, up, forward) = basis(self.direction, self.up);
        let mut extent = Bounds::EMPTY;
        for (centre, radius) in &balls {
            extent = extent.union(&Bounds {
                min: *centre - *radius,
                max: *centre + *radius,
            });
        }
        if extent.is_empty() {
            extent = Bounds {
                min: DVec3::ZERO,
                max: DVec3::ZERO,
            };
        }
        // Working about the middle keeps small scenes far from the origin exact.
        let middle = 0.5 * extent.min + 0.5 * extent.max;
        let size = match (0.5 * extent.max - 0.5 * extent.min).length() {
            size if size > 0.0 && size.is_finite() => size,
            _ => 1.0,
        };
        let local: Vec<(DVec3, f64)> = balls
            .iter()
            .map(|(centre, radius)| {
                let p = (*centre - middle) / size;
                (
                    DVec3::new(p.dot(right), p.dot(up), p.dot(forward)),
                    radius / size,
                )
            })
            .collect();

        let used = 1.0 - self.margin.clamp(0.0, 0.9);
        let strip = 1.0 - 2.0 * self.right_strip.clamp(0.0, 0.5);
        let aspect = if self.aspect.is_finite() && self.aspect > 0.0 {
            self.aspect
        } else {
            1.0
        };
        // A strip so wide that the middle is covered makes the upper bound negative: still valid.
        let sides = |half_height: f64| {
            let half_width = half_height * aspect;
            let right_side = half_width * (strip - (1.0 - used) * 0.5).min(used);
            [
                (half_width * used, right_side),
                (half_height * used, half_height * used),
            ]
        };
        let place =
            |offset: DVec3| middle + size * (offset.x * right + offset.y * up + offset.z * forward);

        match self.fov_y {
            Some(fov) => {
                let fov_y = fov.clamp(0.01, 3.0);
                let sides = sides((0.5 * fov_y).tan());
                let extremes = |axis: usize, (minus, plus): (f64, f64)| {
                    let reach = |sign: f64, k: f64| {
                        local.iter().fold(f64::NEG_INFINITY, |far, (p, r)| {
                            far.max(sign * p[axis] - k * p.z + r * (1.0 + k * k).sqrt())
                        })
                    };
                    (reach(1.0, plus), reach(-1.0, minus))
                };
                let mut depth = -1e-3_f64;
                let limits = [0, 1].map(|axis| extremes(axis, sides[axis]));
                for axis in 0..2 {
                    let ((p, q), (minus, plus)) = (limits[axis], sides[axis]);
                    depth = depth.min(-(p + q) / (plus + minus));
                }
                // The eye stays outside of what it looks at, also when that is thin.
                let nearest = local.iter().fold(0.0, |z: f64, (p, r)| z.min(p.z - r));
                depth = depth.min(nearest - 1e-3);
                let centred = [0, 1].map(|axis| {
                    let ((p, q), (minus, plus)) = (limits[axis], sides[axis]);
                    if p.is_finite() && q.is_finite() {
                        0.5 * ((p + plus * depth) + (-q - minus * depth))
                    } else {
                        0.0
                    }
                });
                let eye = DVec3::new(
                    centred[0],
                    centred[1],
                    if depth.is_finite() { depth } else { -4.0 },
                );
                Camera {
                    eye: place(eye),
                    target: place(DVec3::new(eye.x, eye.y, 0.0)),
                    up: self.up,
                    projection: Projection::Perspective { fov_y },
                }
            }
            None => {
                let unit = sides(1.0);
                let mut half_height = 1e-6_f64;
                let mut centred = [0.0; 2];
                let reach = |axis: usize, sign: f64| {
                    local
                        .iter()
                        .fold(f64::NEG_INFINITY, |far, (p, r)| far.max(sign * p[axis] + r))
                };
                let limits = [0, 1].map(|axis| (reach(axis, 1.0), reach(axis, -1.0)));
                for axis in 0..2 {
                    let ((p, q), (minus, plus)) = (limits[axis], unit[axis]);
                    half_height = half_height.max((p + q) / (plus + minus));
                }
                for axis in 0..2 {
                    let ((p, q), (minus, plus)) = (limits[axis], unit[axis]);
                    if p.is_finite() && q.is_finite() {
                        centred[axis] =
                            0.5 * ((p - plus * half_height) + (minus * half_height - q));
                    }
                }
                Camera {
                    eye: place(DVec3::new(centred[0], centred[1], -4.0)),
                    target: place(DVec3::new(centred[0], centred[1], 0.0)),
                    up: self.up,
                    projection: Projection::Orthographic {
                        height: 2.0 * half_height * size,
                    },
                }
            }
        }
    }
}

/// Right, up and forward unit vectors; falls back to other axes where the input is degenerate.
fn basis(direction: DVec3, up: DVec3) -> (DVec3, DVec3, DVec3) {
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

    fn ball(x: f64, y: f64, z: f64, radius: f64) -> Sphere {
        Sphere {
            centre: DVec3::new(x, y, z),
            radius,
            value: 0.0,
            orientation: None,
        }
    }

    #[test]
    fn fitted_cameras_see_every_corner_and_touch_the_margin_at_every_scale() {
        for scale in [1e-9, 1.0, 1e9] {
            for fov_y in [None, Some(0.6)] {
                let bounds = Bounds {
                    min: DVec3::new(2.0, -1.0, 0.5) * scale,
                    max: DVec3::new(7.0, 1.5, 1.5) * scale,
                };
                let framing = Framing {
                    fov_y,
                    ..Framing::new(DVec3::new(0.4, 1.0, -0.3), 1.5)
                };
                let camera = framing.fit(&bounds);
                let mut widest = 0.0_f64;
                for corner in bounds.corners() {
                    let seen = camera.project(corner, (600, 400)).unwrap();
                    let across = (seen.x - 300.0).abs() / 300.0;
                    let along = (seen.y - 200.0).abs() / 200.0;
                    widest = widest.max(across).max(along);
                }
                assert!((widest - 0.95).abs() < 1e-6, "{scale} {fov_y:?} {widest}");
            }
        }
    }

    #[test]
    fn the_strip_for_the_legend_stays_free() {
        let framing = Framing {
            right_strip: 0.2,
            ..Framing::new(DVec3::Y, 2.0)
        };
        let wide = [
            (DVec3::new(-3.0, 0.0, 0.0), 0.5),
            (DVec3::new(3.0, 0.2, 0.0), 0.5),
        ];
        let camera = framing.fit_balls(wide);
        let right_end = camera
            .project(DVec3::new(3.5, 0.2, 0.0), (200, 100))
            .unwrap();
        assert!(right_end.x < 160.0 && right_end.x > 150.0, "{right_end:?}");
    }

    #[test]
    fn one_stray_grain_does_not_change_the_bulk_bounds() {
        let mut heap: Vec<Sphere> = (0..1000)
            .map(|i| {
                ball(
                    f64::from(i % 10),
                    f64::from(i / 10 % 10),
                    f64::from(i / 100),
                    0.5,
                )
            })
            .collect();
        let without = Bounds::of_bulk(&heap, 0.01);
        assert_eq!(without, Bounds::of_spheres(&heap));
        heap.push(ball(0.0, 0.0, -5000.0, 0.5));
        heap.push(ball(f64::NAN, 0.0, 0.0, 0.5));
        assert_eq!(Bounds::of_bulk(&heap, 0.01), without);
    }

    #[test]
    fn degenerate_input_gives_a_camera_and_no_panic() {
        for (direction, aspect) in [(DVec3::ZERO, 1.0), (DVec3::Z, f64::NAN), (DVec3::NAN, -1.0)] {
            let camera = Camera::fit(&Bounds::EMPTY, direction, aspect);
            assert!(camera.eye.is_finite() && View::new(&camera, (4, 4)).is_some());
        }
        let point = Bounds {
            min: DVec3::ONE,
            max: DVec3::ONE,
        };
        assert!(Camera::fit(&point, DVec3::Y, 1.0).eye.is_finite());
    }

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
