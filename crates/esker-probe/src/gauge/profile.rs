//! Height of the upper surface along a line.

use esker_analysis::Snapshot;
use esker_analysis::surface::{Frame, HeightMap};
use esker_world::World;
use glam::DVec3;

use super::{Gauge, up};
use crate::definition::Column;

/// The column of a profile of this length and number of heights.
pub(super) fn column(length: f64, cells: usize) -> Column {
    Column {
        name: "height",
        unit: "m",
        meaning: "height of the upper surface above the line, mean over the width; \
                  zero where there is no grain",
        width: cells,
        spacing: length / cells as f64,
    }
}

pub(super) struct Profile {
    pub(super) base: DVec3,
    pub(super) direction: DVec3,
    pub(super) length: f64,
    pub(super) width: f64,
    pub(super) cells: usize,
}

impl Gauge for Profile {
    fn measures_states(&self) -> bool {
        true
    }

    fn close(&mut self, world: &World, _length: f64) -> Vec<f64> {
        let up = up(world);
        let u = self
            .direction
            .reject_from_normalized(up)
            .normalize_or_zero();
        let frame = Frame {
            origin: self.base,
            u,
            v: up.cross(u),
            up,
        };
        let grains = world.all_grains();
        let rows = ..grains.count();
        let places = grains.position()[rows].iter();
        let grains = places.zip(&grains.radius()[rows]);
        let seen = grains.flat_map(|(&x, &r)| world.images(x).map(move |x| (x, r)));
        let (positions, radii) = seen.unzip();
        let snapshot = Snapshot {
            positions,
            radii,
            ..Default::default()
        };
        let cell = self.length / self.cells as f64;
        let across = (self.width / cell).round().max(1.0);
        // Half a cell less, so that rounding cannot add one.
        let high = [
            (self.cells as f64 - 0.5) * cell,
            (0.5 * across - 0.5) * cell,
        ];
        let low = [0.0, -0.5 * across * cell];
        let map = HeightMap::new(&snapshot, frame, low, high, cell);
        let profile = map.profile_along_u(0.0);
        profile.iter().map(|[_, height]| *height).collect()
    }
}
