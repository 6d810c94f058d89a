//! The shell of a balling drum, with the bumps that fine material makes on it.

use std::f64::consts::TAU;
use std::sync::Arc;

use esker_geometry::{TriangleMesh, TriangleSoup, WallShape};
use glam::DVec3;

use crate::bench;
use crate::results::StudyError;

/// Gaussian bumps, spread evenly but not regularly.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bumps {
    /// Width, m: twice the standard deviation.
    pub(super) width: f64,
    /// Smallest and largest height, m.
    pub(super) height: [f64; 2],
    /// Bumps per m².
    pub(super) density: f64,
}

/// Those of Wang et al. 2015 § 6.2.
pub(super) const PLANT_BUMPS: Bumps = Bumps {
    width: 0.05,
    height: [0.03, 0.05],
    density: 20.0,
};

/// Corners of triangles per width of a bump.
const CORNERS_PER_WIDTH: f64 = 3.5;
/// A bump ends this many standard deviations from its middle.
const EXTENT: f64 = 4.0;
/// Steps of a sequence that fills a square evenly, and of one that fills a line: powers of the
/// real roots of `x³ = x + 1` and `x² = x + 1`.
const EVEN: [f64; 3] = [
    0.754_877_666_246_692_7,
    0.569_840_290_998_053_3,
    0.618_033_988_749_894_9,
];

impl Bumps {
    /// Those of a drum that is so many times as large.
    pub(super) fn scaled(self, scale: f64) -> Bumps {
        Bumps {
            width: self.width * scale,
            height: self.height.map(|height| height * scale),
            density: self.density / (scale * scale),
        }
    }

    /// A cylinder about the axis y with these bumps on its inside, `0 ≤ y ≤ length`.
    pub(super) fn shell(&self, radius: f64, length: f64) -> Result<WallShape, StudyError> {
        let mesh = TriangleMesh::new(self.triangles(radius, length));
        Ok(WallShape::Mesh(Arc::new(
            mesh.map_err(|e| bench::failed("shell", e))?,
        )))
    }

    fn triangles(&self, radius: f64, length: f64) -> TriangleSoup {
        let around = TAU * radius;
        let edge = self.width / CORNERS_PER_WIDTH;
        let [columns, rows] = [around, length].map(|l| (l / edge).ceil() as usize);
        let heights = self.heights([around, length], [columns, rows]);
        let vertices = heights.iter().enumerate().map(|(k, height)| {
            let angle = TAU * (k % columns) as f64 / columns as f64;
            let y = length * (k / columns) as f64 / rows as f64;
            DVec3::new(angle.cos(), 0.0, angle.sin()) * (radius - height) + DVec3::Y * y
        });
        let triangles = (0..columns * rows).flat_map(|k| {
            let right = k - k % columns + (k + 1) % columns;
            let [a, b, c, d] = [k, right, right + columns, k + columns].map(|i| i as u32);
            [[a, b, c], [a, c, d]]
        });
        TriangleSoup {
            vertices: vertices.collect(),
            triangles: triangles.collect(),
        }
    }

    /// Heights over a rolled out shell of this size, row after row of corners, m.
    fn heights(&self, size: [f64; 2], [columns, rows]: [usize; 2]) -> Vec<f64> {
        let mut heights = vec![0.0; columns * (rows + 1)];
        let spacing = [size[0] / columns as f64, size[1] / rows as f64];
        let deviation = 0.5 * self.width;
        let reach = spacing.map(|s| (EXTENT * deviation / s).ceil() as i64);
        let count = (self.density * size[0] * size[1]).round() as usize;
        for k in 0..count {
            let [u, v, w] = EVEN.map(|step| (0.5 + (k + 1) as f64 * step).fract());
            let at = [u * columns as f64, v * rows as f64];
            let height = self.height[0] + w * (self.height[1] - self.height[0]);
            for row in at[1] as i64 - reach[1]..=at[1] as i64 + reach[1] {
                if !(0..=rows as i64).contains(&row) {
                    continue;
                }
                for column in at[0] as i64 - reach[0]..=at[0] as i64 + reach[0] {
                    let x = (column as f64 - at[0]) * spacing[0];
                    let y = (row as f64 - at[1]) * spacing[1];
                    let square = (x * x + y * y) / (deviation * deviation);
                    let corner = column.rem_euclid(columns as i64) as usize;
                    heights[row as usize * columns + corner] += height * (-0.5 * square).exp();
                }
            }
        }
        // Where several meet, fine material fills what is between them and no more.
        for height in &mut heights {
            *height = height.min(self.height[1]);
        }
        heights
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bumps_are_as_many_and_as_high_as_asked_for() {
        let (radius, length) = (0.4, 0.5);
        let bumps = PLANT_BUMPS.scaled(0.2);
        let soup = bumps.triangles(radius, length);
        let depths: Vec<f64> = soup
            .vertices
            .iter()
            .map(|v| radius - v.x.hypot(v.z))
            .collect();
        let max = depths.iter().fold(0.0, |a: f64, b| a.max(*b));
        assert!((0.9 * bumps.height[1]..=bumps.height[1] + 1e-12).contains(&max));
        // The volume of Gaussian bumps of mean height, per area; some of it is cut.
        let mean = depths.iter().sum::<f64>() / depths.len() as f64;
        let sigma = 0.5 * bumps.width;
        let height = 0.5 * (bumps.height[0] + bumps.height[1]);
        let expected = bumps.density * height * TAU * sigma * sigma;
        assert!((mean / expected - 1.0).abs() < 0.1, "{mean} for {expected}");
        let mesh = TriangleMesh::new(soup).unwrap();
        assert_eq!(mesh.dropped_triangles(), 0);
    }
}
