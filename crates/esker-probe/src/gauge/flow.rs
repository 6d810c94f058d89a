//! Flow through a plane: grains counted as their centres cross it.
//!
//! The path of a grain within a step is taken as straight. Net counts
//! telescope: a grain that swings about the plane for ever counts at most once.
//! Across periodic boundaries a grain is where its image nearest to the opening is.

use esker_world::World;
use glam::DVec3;

use super::Gauge;
use crate::definition::{Column, Opening, OpeningShape};
use crate::track::Track;

pub(super) const COLUMNS: [Column; 4] = [
    Column::single(
        "mass_flow",
        "kg/s",
        "net mass along the normal per time, mean over the interval",
    ),
    Column::single(
        "number_flow",
        "1/s",
        "net grains along the normal per time, mean over the interval",
    ),
    Column::single("mass", "kg", "net mass along the normal since the start"),
    Column::single("number", "1", "net grains along the normal since the start"),
];

pub(super) struct Flow {
    opening: Opening,
    /// Net since the start: mass, kg, and grains.
    total: [f64; 2],
    /// The same at the start of the interval.
    at_start: [f64; 2],
}

impl Flow {
    pub(super) fn new(opening: Opening) -> Self {
        Flow {
            opening,
            total: [0.0; 2],
            at_start: [0.0; 2],
        }
    }
}

impl Gauge for Flow {
    fn after_step(&mut self, world: &World, track: &Track) {
        let grains = &*world.grains_in_motion();
        for i in 0..grains.count() {
            let to = grains.position()[i];
            // A grain that was emitted in this step came with its velocity.
            let from = track
                .before(grains, i)
                .unwrap_or_else(|| to - grains.state()[i].velocity * world.step_length());
            let from = world.nearest_image(from, self.opening.position);
            let to = world.nearest_image(to, from);
            let sign = self.opening.crossing(from, to);
            self.total[0] += sign * grains.mass()[i];
            self.total[1] += sign;
        }
    }

    fn follows_grains(&self) -> bool {
        true
    }

    fn close(&mut self, _world: &World, length: f64) -> Vec<f64> {
        let flow = [0, 1].map(|k| (self.total[k] - self.at_start[k]) / length);
        self.at_start = self.total;
        [flow, self.total].concat()
    }

    fn state(&self) -> Vec<f64> {
        [self.total, self.at_start].concat()
    }

    fn restore(&mut self, state: &[f64]) -> bool {
        let &[mass, number, mass_at_start, number_at_start] = state else {
            return false;
        };
        self.total = [mass, number];
        self.at_start = [mass_at_start, number_at_start];
        true
    }
}

impl Opening {
    /// 1 for a straight path that crosses the opening along the normal, −1 for
    /// one against it, 0 for any other.
    fn crossing(&self, from: DVec3, to: DVec3) -> f64 {
        let height = |x: DVec3| (x - self.position).dot(self.normal);
        let (a, b) = (height(from), height(to));
        if (a < 0.0) == (b < 0.0) {
            return 0.0;
        }
        let point = from.lerp(to, a / (a - b)) - self.position;
        match self.shape {
            OpeningShape::Disc { radius } if point.length_squared() > radius * radius => 0.0,
            OpeningShape::Rectangle {
                size: [length, width],
                along,
            } if point.dot(along).abs() > 0.5 * length
                || point.dot(self.normal.cross(along)).abs() > 0.5 * width =>
            {
                0.0
            }
            _ if a < 0.0 => 1.0,
            _ => -1.0,
        }
    }
}
