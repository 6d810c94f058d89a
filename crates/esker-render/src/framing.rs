//! Boxes around scenes, and cameras that see all of them.
//!
//! With the camera axes right, up, forward and the sides of the picture at the slopes `−k₋`, `k₊`,
//! a ball of centre `(x, y, z)` and radius `r` lies left of the right side's plane through the eye
//! `(e, ·, d)` when `x − e + r √(1 + k₊²) ≤ k₊ (z − d)`. With the two extremes
//!
//! ```text
//! P = max(x − k₊ z + r √(1 + k₊²)),   Q = max(−x − k₋ z + r √(1 + k₋²))             (1)
//! d ≤ −(P + Q) / (k₊ + k₋),           P + k₊ d ≤ e ≤ −Q − k₋ d                      (2)
//! ```
//!
//! the nearest eye position that sees every ball follows in closed form; `k₊` and `k₋` differ
//! when one side is kept free for the legend.

use glam::DVec3;

use crate::camera::{Camera, Projection, basis};
use crate::picture::{Sphere, Wall};

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
    /// spheres inside that. Grains at the border of a compact heap are therefore never cut off,
    /// and of so few grains that `trim` is less than one, none is.
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
        if trim * (drawable.len() as f64) < 1.0 {
            return Self::of_spheres(&drawable);
        }
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
        let subject = Subject::new(balls, basis(self.direction, self.up));
        match self.fov_y {
            Some(fov_y) => self.fit_perspective(&subject, fov_y.clamp(0.01, 3.0)),
            None => self.fit_orthographic(&subject),
        }
    }

    /// Usable half widths `(k₋, k₊)` across and along a picture of the given half height.
    fn sides(&self, half_height: f64) -> [(f64, f64); 2] {
        let used = 1.0 - self.margin.clamp(0.0, 0.9);
        let beside_strip = 1.0 - 2.0 * self.right_strip.clamp(0.0, 0.5) - 0.5 * (1.0 - used);
        let aspect = if self.aspect.is_finite() && self.aspect > 0.0 {
            self.aspect
        } else {
            1.0
        };
        let half_width = half_height * aspect;
        [
            (half_width * used, half_width * used.min(beside_strip)),
            (half_height * used, half_height * used),
        ]
    }

    /// Eqs. (1) and (2).
    fn fit_perspective(&self, subject: &Subject, fov_y: f64) -> Camera {
        let sides = self.sides((0.5 * fov_y).tan());
        let extremes = [0, 1].map(|axis| {
            let (minus, plus) = sides[axis];
            (
                subject.reach(axis, 1.0, plus),
                subject.reach(axis, -1.0, minus),
            )
        });
        // The eye stays outside of what it looks at, also when that is thin.
        let mut depth = subject.nearest().min(0.0) - 1e-3;
        for ((p, q), (minus, plus)) in extremes.into_iter().zip(sides) {
            depth = depth.min(-(p + q) / (plus + minus));
        }
        let eye = [0, 1].map(|axis| {
            let ((p, q), (minus, plus)) = (extremes[axis], sides[axis]);
            0.5 * ((p + plus * depth) - (q + minus * depth))
        });
        Camera {
            eye: subject.place(DVec3::new(eye[0], eye[1], depth)),
            target: subject.place(DVec3::new(eye[0], eye[1], 0.0)),
            up: self.up,
            projection: Projection::Perspective { fov_y },
        }
    }

    /// The same with parallel sides: the half height takes the place of the distance.
    fn fit_orthographic(&self, subject: &Subject) -> Camera {
        let sides = self.sides(1.0);
        let extremes = [0, 1].map(|axis| {
            (
                subject.reach(axis, 1.0, 0.0),
                subject.reach(axis, -1.0, 0.0),
            )
        });
        let mut half_height = 1e-6_f64;
        for ((p, q), (minus, plus)) in extremes.into_iter().zip(sides) {
            half_height = half_height.max((p + q) / (plus + minus));
        }
        let eye = [0, 1].map(|axis| {
            let ((p, q), (minus, plus)) = (extremes[axis], sides[axis]);
            0.5 * ((p - plus * half_height) - (q - minus * half_height))
        });
        Camera {
            eye: subject.place(DVec3::new(eye[0], eye[1], -4.0)),
            target: subject.place(DVec3::new(eye[0], eye[1], 0.0)),
            up: self.up,
            projection: Projection::Orthographic {
                height: 2.0 * half_height * subject.size,
            },
        }
    }
}

/// Balls in camera axes about their own middle, in units of their own size: small scenes far from
/// the origin stay exact.
struct Subject {
    balls: Vec<(DVec3, f64)>,
    axes: (DVec3, DVec3, DVec3),
    middle: DVec3,
    size: f64,
}

impl Subject {
    fn new(balls: impl IntoIterator<Item = (DVec3, f64)>, axes: (DVec3, DVec3, DVec3)) -> Self {
        let finite = |(centre, radius): &(DVec3, f64)| centre.is_finite() && radius.is_finite();
        let mut balls: Vec<(DVec3, f64)> = balls.into_iter().filter(finite).collect();
        if balls.is_empty() {
            balls.push((DVec3::ZERO, 1.0));
        }
        let extent = balls
            .iter()
            .fold(Bounds::EMPTY, |extent, (centre, radius)| {
                extent.union(&Bounds {
                    min: *centre - *radius,
                    max: *centre + *radius,
                })
            });
        let middle = 0.5 * extent.min + 0.5 * extent.max;
        let size = match (0.5 * extent.max - 0.5 * extent.min).length() {
            size if size > 0.0 && size.is_finite() => size,
            _ => 1.0,
        };
        for (centre, radius) in &mut balls {
            let p = (*centre - middle) / size;
            *centre = DVec3::new(p.dot(axes.0), p.dot(axes.1), p.dot(axes.2));
            *radius /= size;
        }
        Self {
            balls,
            axes,
            middle,
            size,
        }
    }

    /// Eq. (1): how far the balls reach beyond the plane of slope `k` through the origin.
    fn reach(&self, axis: usize, sign: f64, k: f64) -> f64 {
        self.balls.iter().fold(f64::NEG_INFINITY, |far, (p, r)| {
            far.max(sign * p[axis] - k * p.z + r * (1.0 + k * k).sqrt())
        })
    }

    fn nearest(&self) -> f64 {
        self.balls
            .iter()
            .fold(f64::INFINITY, |near, (p, r)| near.min(p.z - r))
    }

    /// World coordinates of a point.
    fn place(&self, p: DVec3) -> DVec3 {
        let (right, up, forward) = self.axes;
        self.middle + self.size * (p.x * right + p.y * up + p.z * forward)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::camera::View;

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

    /// Four bouncing balls, one of them high up: it was left out of the picture.
    #[test]
    fn none_of_a_few_grains_is_left_out() {
        let balls = [0.0, 0.1, 0.2, 9.0].map(|z| ball(z, 0.0, z, 0.02));
        assert_eq!(Bounds::of_bulk(&balls, 0.01), Bounds::of_spheres(&balls));
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
}
