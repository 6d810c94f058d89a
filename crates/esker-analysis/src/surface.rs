//! The upper surface of a bed: the envelope of its grains seen from above.
//!
//! Each grain covers the cells of its footprint up to
//!
//! ```text
//! z = z_c + √(r² − ρ²),     ρ: horizontal distance of the cell from the centre,   (1)
//! ```
//!
//! and a cell keeps the highest. A cell that no grain covers has no height.
//! Unevenness of a profile of width `w` (Wang et al. 2015, equations 14 and 15):
//!
//! ```text
//! σ_h² = (1/w) ∫ ((h − ⟨h⟩)/⟨h⟩)² dy                                              (2)
//! σ²   = (4/w) ∫ ((h − h̄)/(⟨h⟩ + ⟨h̄⟩))² dy                                       (3)
//! ```

use glam::DVec3;

use crate::Snapshot;

/// Axes of a height map: two horizontal directions and the way up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Where all three coordinates are zero, m.
    pub origin: DVec3,
    /// First horizontal unit direction.
    pub u: DVec3,
    /// Second horizontal unit direction.
    pub v: DVec3,
    /// Unit direction of height.
    pub up: DVec3,
}

impl Frame {
    /// World axes: x, y, and z up.
    pub const WORLD: Frame = Frame {
        origin: DVec3::ZERO,
        u: DVec3::X,
        v: DVec3::Y,
        up: DVec3::Z,
    };
}

/// Heights of the upper surface on a grid of square cells.
#[derive(Clone, Debug, PartialEq)]
pub struct HeightMap {
    /// Edge of a cell, m.
    pub cell: f64,
    /// Lower corner, m.
    pub low: [f64; 2],
    /// Cells along u and v.
    pub cells: [usize; 2],
    /// Heights, m, u fastest; NaN where no grain is.
    pub height: Vec<f64>,
}

/// A height profile: positions and mean heights, m.
pub type Profile = Vec<[f64; 2]>;

impl HeightMap {
    /// The surface inside the rectangle `low`–`high` of the frame.
    pub fn new(
        snapshot: &Snapshot,
        frame: Frame,
        low: [f64; 2],
        high: [f64; 2],
        cell: f64,
    ) -> Self {
        let cells = [0, 1].map(|k| ((high[k] - low[k]) / cell).ceil().max(1.0) as usize);
        let mut height = vec![f64::NAN; cells[0] * cells[1]];
        for (x, &r) in snapshot.positions.iter().zip(&snapshot.radii) {
            let d = *x - frame.origin;
            let place = [d.dot(frame.u), d.dot(frame.v)];
            let z = d.dot(frame.up);
            let range = |k: usize| {
                let at = |p: f64| ((p - low[k]) / cell).floor().max(0.0) as usize;
                at(place[k] - r)..(at(place[k] + r) + 1).min(cells[k])
            };
            for j in range(1) {
                for i in range(0) {
                    let du = low[0] + (i as f64 + 0.5) * cell - place[0];
                    let dv = low[1] + (j as f64 + 0.5) * cell - place[1];
                    let square = r * r - du * du - dv * dv;
                    if square >= 0.0 {
                        let h = &mut height[j * cells[0] + i];
                        *h = h.max(z + square.sqrt());
                    }
                }
            }
        }
        HeightMap {
            cell,
            low,
            cells,
            height,
        }
    }

    /// Middle of a cell, m.
    fn middle(&self, i: usize, j: usize) -> [f64; 2] {
        [
            self.low[0] + (i as f64 + 0.5) * self.cell,
            self.low[1] + (j as f64 + 0.5) * self.cell,
        ]
    }

    /// Distance from a centre and height, m, of every cell with a grain.
    pub fn points_about(&self, centre: [f64; 2]) -> Vec<[f64; 2]> {
        let cells = (0..self.cells[1]).flat_map(|j| (0..self.cells[0]).map(move |i| (i, j)));
        cells
            .map(|(i, j)| {
                let [u, v] = self.middle(i, j);
                let distance = (u - centre[0]).hypot(v - centre[1]);
                [distance, self.height[j * self.cells[0] + i]]
            })
            .filter(|[_, height]| !height.is_nan())
            .collect()
    }

    /// Largest height, m; NaN where there is no grain.
    pub fn peak(&self) -> f64 {
        self.height.iter().copied().fold(f64::NAN, f64::max)
    }

    /// Mean height over v for every u; cells without grains count with `floor`.
    pub fn profile_along_u(&self, floor: f64) -> Profile {
        (0..self.cells[0])
            .map(|i| {
                let sum: f64 = (0..self.cells[1])
                    .map(|j| self.height[j * self.cells[0] + i])
                    .map(|h| if h.is_nan() { floor } else { h })
                    .sum();
                [self.middle(i, 0)[0], sum / self.cells[1] as f64]
            })
            .collect()
    }

    /// Mean height in rings of width `ring` about a centre; cells without
    /// grains count with `floor`. Rings without cells are left out.
    pub fn radial_profile(&self, centre: [f64; 2], ring: f64, floor: f64) -> Profile {
        let mut rings: Vec<(f64, usize)> = Vec::new();
        for j in 0..self.cells[1] {
            for i in 0..self.cells[0] {
                let [u, v] = self.middle(i, j);
                let k = ((u - centre[0]).hypot(v - centre[1]) / ring) as usize;
                if k >= rings.len() {
                    rings.resize(k + 1, (0.0, 0));
                }
                let h = self.height[j * self.cells[0] + i];
                rings[k].0 += if h.is_nan() { floor } else { h };
                rings[k].1 += 1;
            }
        }
        rings
            .iter()
            .enumerate()
            .filter(|(_, r)| r.1 > 0)
            .map(|(k, (sum, count))| [(k as f64 + 0.5) * ring, sum / *count as f64])
            .collect()
    }
}

/// Height of a pile above `floor`, m: the level below which `share` of the
/// volume-weighted grains' tops lie; a share of 1 is the very highest top.
pub fn pile_height(snapshot: &Snapshot, floor: f64, share: f64) -> f64 {
    let up = snapshot.up();
    let mut tops: Vec<f64> = snapshot
        .positions
        .iter()
        .zip(&snapshot.radii)
        .map(|(x, r)| x.dot(up) + r)
        .collect();
    tops.sort_unstable_by(f64::total_cmp);
    let last = tops.len().saturating_sub(1);
    let index = (share.clamp(0.0, 1.0) * last as f64).round() as usize;
    tops.get(index).map_or(0.0, |t| t - floor)
}

/// Coefficient of variation of a profile with equal steps, equation (2).
pub fn unevenness(heights: &[f64]) -> f64 {
    let mean = heights.iter().sum::<f64>() / heights.len() as f64;
    let square: f64 = heights.iter().map(|h| ((h - mean) / mean).powi(2)).sum();
    (square / heights.len() as f64).sqrt()
}

/// Relative variation of two profiles on the same steps, equation (3).
pub fn profile_difference(a: &[f64], b: &[f64]) -> f64 {
    let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
    let sum = mean(a) + mean(b);
    let square: f64 = a.iter().zip(b).map(|(x, y)| ((x - y) / sum).powi(2)).sum();
    (4.0 * square / a.len() as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::equal_grains;

    #[test]
    fn one_sphere_is_a_cap_of_its_own_volume() {
        let snapshot = equal_grains(vec![DVec3::new(0.0, 0.0, 1.0)], 1.0);
        let map = HeightMap::new(&snapshot, Frame::WORLD, [-1.5; 2], [1.5; 2], 0.01);
        assert!((map.peak() - 2.0).abs() < 1e-3);
        let volume: f64 = map
            .height
            .iter()
            .filter(|h| h.is_finite())
            .map(|h| h * map.cell * map.cell)
            .sum();
        // Upper half sphere on a cylinder of height 1.
        let exact = std::f64::consts::PI * (1.0 + 2.0 / 3.0);
        assert!((volume / exact - 1.0).abs() < 1e-3);
    }

    #[test]
    fn profiles_of_a_tilted_carpet_have_its_slope() {
        let positions = (0..40)
            .flat_map(|i| (0..40).map(move |j| (i as f64, j as f64)))
            .map(|(i, j)| DVec3::new(i, j, 0.5 * i))
            .collect();
        let snapshot = equal_grains(positions, 1.0);
        let map = HeightMap::new(&snapshot, Frame::WORLD, [5.0; 2], [35.0; 2], 0.25);
        let fit = crate::fit::line(&map.profile_along_u(0.0)).unwrap();
        assert!((fit.slope - 0.5).abs() < 0.01);
    }

    #[test]
    fn pile_height_can_leave_out_a_single_flier() {
        let mut positions: Vec<DVec3> = (0..100).map(|i| DVec3::Z * (0.01 * i as f64)).collect();
        positions.push(DVec3::Z * 50.0);
        let snapshot = equal_grains(positions, 0.5);
        assert_eq!(pile_height(&snapshot, 0.0, 1.0), 50.5);
        assert!((pile_height(&snapshot, 0.0, 0.99) - 1.49).abs() < 1e-12);
    }

    #[test]
    fn unevenness_of_a_step_is_known() {
        // Half at 1, half at 3: deviation 1 of mean 2.
        assert!((unevenness(&[1.0, 1.0, 3.0, 3.0]) - 0.5).abs() < 1e-12);
        assert!((profile_difference(&[1.0, 1.0], &[3.0, 3.0]) - 1.0).abs() < 1e-12);
        assert_eq!(profile_difference(&[1.0, 2.0], &[1.0, 2.0]), 0.0);
    }
}
