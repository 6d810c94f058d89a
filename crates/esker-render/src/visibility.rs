//! Which grain or bar is nearest at each sample of the picture.
//!
//! A pixel has four samples, each in its own quarter row and quarter column (a rotated grid), so
//! that edges near the horizontal and the vertical get four grey levels per pixel. Samples are
//! stored as four rows per pixel row; each row has one sample per pixel at a fixed offset.
//!
//! **Spheres.** For a sphere of centre `c` and radius `r` in camera space the ray `(u, v, 1)`
//! meets it at the nearness `n = 1/z`
//!
//! ```text
//! n = (b + √(b² − a q)) / q,   a = u² + v² + 1,  b = u cₓ + v c_y + c_z,  q = c·c − r²     (1)
//! ```
//!
//! Along a row (`v` fixed) the radicand is a parabola in `u` with the roots `u₀`, `u₁`,
//!
//! ```text
//! √(b² − a q) / q = √( A (u − u₀)(u₁ − u) ) / q,   A = c_y² + c_z² − r²                    (2)
//! u₀,₁ = ( cₓ (v c_y + c_z) ± √( q (r² (1 + v²) − (v c_z − c_y)²) ) ) / A                   (3)
//! ```
//!
//! so a row is one exact span, with no cancellation for small or distant spheres. Seen
//! orthographically, `n = −z = −c_z + √((u − u₀)(u₁ − u))` with `u₀,₁ = cₓ ± √(r² − (v − c_y)²)`.

use glam::DVec3;

use crate::camera::View;
use crate::solids::PlacedSolid;

/// Samples per pixel, one in each quarter row.
pub(crate) const SAMPLES: usize = 4;

/// Place of each sample in its pixel, across.
const ACROSS: [f64; SAMPLES] = [0.375, 0.875, 0.125, 0.625];

/// Pixel coordinate of the sample of pixel column 0 in a sample row.
pub(crate) fn sample_x(row: usize) -> f64 {
    ACROSS[row % SAMPLES]
}

/// Pixel coordinate of a sample row.
pub(crate) fn sample_y(row: usize) -> f64 {
    (row as f64 + 0.5) / SAMPLES as f64
}

/// No item at this sample.
pub(crate) const NOTHING: u32 = u32::MAX;

/// A sphere in camera space.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ball {
    pub centre: DVec3,
    pub radius: f64,
}

/// A bar with round ends in camera space.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Capsule {
    pub from: DVec3,
    pub to: DVec3,
    pub radius: f64,
}

impl Capsule {
    /// The point of the axis nearest to `p`.
    pub fn axis_point(&self, p: DVec3) -> DVec3 {
        let axis = self.to - self.from;
        let length_squared = axis.length_squared();
        if length_squared == 0.0 {
            return self.from;
        }
        self.from + axis * ((p - self.from).dot(axis) / length_squared).clamp(0.0, 1.0)
    }

    /// The part in front of the eye; `None` if there is none.
    fn clipped(&self, view: &View) -> Option<Self> {
        let limit = View::NEAR + 2.0 * self.radius;
        let (from, to) = (self.from, self.to);
        if !view.perspective || (from.z >= limit && to.z >= limit) {
            return Some(*self);
        }
        if from.z < limit && to.z < limit {
            return None;
        }
        let cut = from + (to - from) * ((limit - from.z) / (to.z - from.z));
        Some(if from.z < limit {
            Self { from: cut, ..*self }
        } else {
            Self { to: cut, ..*self }
        })
    }
}

/// Nearness of and index of the nearest item, per sample.
pub(crate) struct VisibilityBuffer {
    pub width: usize,
    pub rows: usize,
    pub nearness: Vec<f32>,
    pub item: Vec<u32>,
}

/// One row of a sphere: the nearness is `base + slope u + √(bulge (u − from)(to − u))`.
struct RowSpan {
    from: f64,
    to: f64,
    base: f64,
    slope: f64,
    bulge: f64,
}

impl Ball {
    /// Whether the whole ball is in front of the eye. Balls that cross the eye's plane are not
    /// shown: they would cover the picture.
    fn is_in_front(&self, view: &View) -> bool {
        !view.perspective || self.centre.z - self.radius > View::NEAR
    }

    /// Smallest and largest value of one slope, eq. (3) with the roles of `u` and `v` exchanged.
    fn slope_extent(&self, view: &View, lateral: f64) -> (f64, f64) {
        let (z, r) = (self.centre.z, self.radius);
        if !view.perspective {
            return (lateral - r, lateral + r);
        }
        let a = z * z - r * r;
        let half = r * (lateral * lateral + a).sqrt();
        ((lateral * z - half) / a, (lateral * z + half) / a)
    }

    fn row(&self, view: &View, v: f64) -> Option<RowSpan> {
        let (c, r) = (self.centre, self.radius);
        if view.perspective {
            let q = c.length_squared() - r * r;
            let a = c.y * c.y + c.z * c.z - r * r;
            let k = v * c.y + c.z;
            let offset = v * c.z - c.y;
            let radicand = r * r * (1.0 + v * v) - offset * offset;
            let half = (q * radicand).sqrt() / a;
            let middle = c.x * k / a;
            (radicand > 0.0).then(|| RowSpan {
                from: middle - half,
                to: middle + half,
                base: k / q,
                slope: c.x / q,
                bulge: a / (q * q),
            })
        } else {
            let radicand = r * r - (v - c.y) * (v - c.y);
            let half = radicand.sqrt();
            (radicand > 0.0).then(|| RowSpan {
                from: c.x - half,
                to: c.x + half,
                base: -c.z,
                slope: 0.0,
                bulge: 1.0,
            })
        }
    }
}

impl VisibilityBuffer {
    pub fn new((width, height): (u32, u32)) -> Self {
        let (width, rows) = (width as usize, height as usize * SAMPLES);
        Self {
            width,
            rows,
            nearness: vec![f32::NEG_INFINITY; width * rows],
            item: vec![NOTHING; width * rows],
        }
    }

    pub fn index(&self, row: usize, column: usize) -> usize {
        row * self.width + column
    }

    /// Sample rows whose `v` lies between `low` and `high`.
    fn rows_between(&self, view: &View, (low, high): (f64, f64)) -> std::ops::Range<usize> {
        let samples = SAMPLES as f64;
        let first = (view.pixel_y(high) * samples - 0.5).ceil().max(0.0);
        let end = (view.pixel_y(low) * samples - 0.5).floor() + 1.0;
        first as usize..(end.max(0.0) as usize).min(self.rows)
    }

    /// Columns whose sample in `row` has a `u` between `low` and `high`.
    fn columns_between(
        &self,
        view: &View,
        row: usize,
        (low, high): (f64, f64),
    ) -> std::ops::Range<usize> {
        let first = (view.pixel_x(low) - sample_x(row)).ceil().max(0.0);
        let end = (view.pixel_x(high) - sample_x(row)).floor() + 1.0;
        first as usize..(end.max(0.0) as usize).min(self.width)
    }

    /// Draws a sphere. Hidden samples cost one comparison, so draw near spheres first.
    pub fn draw_ball(&mut self, view: &View, ball: &Ball, item: u32) {
        if !ball.is_in_front(view) {
            return;
        }
        let nearest = view.nearness(ball.centre.z - ball.radius) as f32;
        for row in self.rows_between(view, ball.slope_extent(view, ball.centre.y)) {
            let Some(span) = ball.row(view, view.v(sample_y(row))) else {
                continue;
            };
            let columns = self.columns_between(view, row, (span.from, span.to));
            if columns.is_empty() {
                continue;
            }
            let first_u = view.u(columns.start as f64 + sample_x(row));
            let samples = self.index(row, columns.start)..self.index(row, columns.end);
            let nearness = self.nearness[samples.clone()].iter_mut();
            for (i, (near, shown)) in nearness.zip(&mut self.item[samples]).enumerate() {
                if *near >= nearest {
                    continue;
                }
                let u = first_u + i as f64 * view.pixel;
                let bulge = (span.bulge * (u - span.from) * (span.to - u)).max(0.0);
                let candidate = (span.base + span.slope * u + bulge.sqrt()) as f32;
                if candidate > *near {
                    *near = candidate;
                    *shown = item;
                }
            }
        }
    }

    /// Draws a solid, by the sight lines that meet a ball around it.
    pub fn draw_solid(&mut self, view: &View, solid: &PlacedSolid<'_>, item: u32) {
        let ball = solid.ball();
        if !ball.is_in_front(view) {
            return;
        }
        let nearest = view.nearness(ball.centre.z - ball.radius) as f32;
        for row in self.rows_between(view, ball.slope_extent(view, ball.centre.y)) {
            let v = view.v(sample_y(row));
            let Some(span) = ball.row(view, v) else {
                continue;
            };
            for column in self.columns_between(view, row, (span.from, span.to)) {
                let sample = self.index(row, column);
                if self.nearness[sample] >= nearest {
                    continue;
                }
                let (origin, direction) =
                    sight_line(view, view.u(column as f64 + sample_x(row)), v);
                let Some(z) = solid.depth(origin, direction) else {
                    continue;
                };
                let candidate = view.nearness(z) as f32;
                if candidate > self.nearness[sample] {
                    self.nearness[sample] = candidate;
                    self.item[sample] = item;
                }
            }
        }
    }

    /// Draws a bar. Its picture is covered by boxes around short pieces, because one box around
    /// a long slanting bar would be mostly empty.
    pub fn draw_capsule(&mut self, view: &View, capsule: &Capsule, item: u32) {
        let Some(capsule) = capsule.clipped(view) else {
            return;
        };
        let axis = capsule.to - capsule.from;
        let pieces = (axis.length() / (4.0 * capsule.radius))
            .ceil()
            .clamp(1.0, 1000.0) as usize;
        for piece in 0..pieces {
            let end = |offset: usize| Ball {
                centre: capsule.from + axis * ((piece + offset) as f64 / pieces as f64),
                radius: capsule.radius,
            };
            let (one, other) = (end(0), end(1));
            let union = |a: (f64, f64), b: (f64, f64)| (a.0.min(b.0), a.1.max(b.1));
            let high = union(
                one.slope_extent(view, one.centre.y),
                other.slope_extent(view, other.centre.y),
            );
            let wide = union(
                one.slope_extent(view, one.centre.x),
                other.slope_extent(view, other.centre.x),
            );
            for row in self.rows_between(view, high) {
                let v = view.v(sample_y(row));
                for column in self.columns_between(view, row, wide) {
                    let u = view.u(column as f64 + sample_x(row));
                    let Some(z) = depth_of_capsule(view, &capsule, u, v) else {
                        continue;
                    };
                    let candidate = view.nearness(z) as f32;
                    let sample = self.index(row, column);
                    if candidate > self.nearness[sample] {
                        self.nearness[sample] = candidate;
                        self.item[sample] = item;
                    }
                }
            }
        }
    }
}

/// Origin and direction of the sight line through `(u, v)`; its parameter is the depth.
fn sight_line(view: &View, u: f64, v: f64) -> (DVec3, DVec3) {
    if view.perspective {
        (DVec3::ZERO, DVec3::new(u, v, 1.0))
    } else {
        (DVec3::new(u, v, 0.0), DVec3::Z)
    }
}

/// Depth `z` at which the sight line through `(u, v)` first meets the bar: the nearest of the
/// side (where the foot point lies between the ends) and of the two end spheres.
fn depth_of_capsule(view: &View, capsule: &Capsule, u: f64, v: f64) -> Option<f64> {
    let (origin, direction) = sight_line(view, u, v);
    let entry = |offset: DVec3, direction: DVec3| {
        let a = direction.length_squared();
        let b = offset.dot(direction);
        let radicand = b * b - a * (offset.length_squared() - capsule.radius * capsule.radius);
        (a > 0.0 && radicand >= 0.0).then(|| (-b - radicand.sqrt()) / a)
    };
    let axis = capsule.to - capsule.from;
    let length = axis.length();
    if length > 0.0 {
        let axis = axis / length;
        let offset = origin - capsule.from;
        let across = |w: DVec3| w - axis * w.dot(axis);
        if let Some(z) = entry(across(offset), across(direction)) {
            let foot = (offset + direction * z).dot(axis);
            if (0.0..=length).contains(&foot) {
                return Some(z);
            }
        }
    }
    [capsule.from, capsule.to]
        .into_iter()
        .filter_map(|end| entry(origin - end, direction))
        .min_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::camera::{Camera, Projection};
    use proptest::prelude::*;

    fn view(projection: Projection) -> View {
        let camera = Camera {
            eye: DVec3::ZERO,
            target: DVec3::Y,
            up: DVec3::Z,
            projection,
        };
        View::new(&camera, (40, 30)).unwrap()
    }

    fn views() -> [View; 2] {
        [
            view(Projection::Perspective { fov_y: 1.0 }),
            view(Projection::Orthographic { height: 1.2 }),
        ]
    }

    proptest! {
        /// The span formulas (1)–(3) against the distance of the seen point from the centre.
        #[test]
        fn every_drawn_sample_lies_on_the_sphere_and_no_other_ray_meets_it(
            x in -0.6..0.6, y in -0.6..0.6, z in 0.6..1.5, radius in 0.01..0.4,
        ) {
            let ball = Ball { centre: DVec3::new(x, y, z), radius };
            for view in views() {
                let mut buffer = VisibilityBuffer::new((40, 30));
                buffer.draw_ball(&view, &ball, 7);
                for row in 0..buffer.rows {
                    for column in 0..buffer.width {
                        let (u, v) = (view.u(column as f64 + sample_x(row)), view.v(sample_y(row)));
                        let sample = buffer.index(row, column);
                        let towards_eye = view.towards_eye(u, v);
                        let on_ray = view.point(u, v, view.nearness(1.0)) - ball.centre;
                        let miss = on_ray.cross(towards_eye).length();
                        if buffer.item[sample] == 7 {
                            let p = view.point(u, v, f64::from(buffer.nearness[sample]));
                            let error = ((p - ball.centre).length() - radius).abs();
                            prop_assert!(error < 1e-5 || miss > radius * (1.0 - 1e-6));
                            prop_assert!((p - ball.centre).dot(towards_eye) > -1e-4);
                        } else {
                            prop_assert!(miss > radius * (1.0 - 1e-9));
                        }
                    }
                }
            }
        }

        #[test]
        fn a_capsule_without_length_is_a_sphere(
            x in -0.4..0.4, y in -0.4..0.4, z in 1.0..1.5, radius in 0.02..0.3,
        ) {
            let centre = DVec3::new(x, y, z);
            for view in views() {
                let mut balls = VisibilityBuffer::new((40, 30));
                balls.draw_ball(&view, &Ball { centre, radius }, 0);
                let mut bars = VisibilityBuffer::new((40, 30));
                bars.draw_capsule(&view, &Capsule { from: centre, to: centre, radius }, 0);
                for (ball, bar) in balls.nearness.iter().zip(&bars.nearness) {
                    let rim = *ball == f32::NEG_INFINITY || *bar == f32::NEG_INFINITY;
                    prop_assert!(rim || (ball - bar).abs() < 1e-4);
                }
                let count = |buffer: &VisibilityBuffer| {
                    buffer.item.iter().filter(|item| **item == 0).count()
                };
                prop_assert!(count(&balls).abs_diff(count(&bars)) <= 4);
            }
        }
    }
}
