//! Loads of the grains on a wall: exact means, from its load integral.

use esker_world::{LoadIntegral, WallLoad, Wanted, World};
use glam::DVec3;

use super::Gauge;
use crate::definition::Column;

pub(super) const COLUMNS: [Column; 7] = [
    Column::single("force_x", "N", FORCE),
    Column::single("force_y", "N", FORCE),
    Column::single("force_z", "N", FORCE),
    Column::single("torque_x", "N m", TORQUE),
    Column::single("torque_y", "N m", TORQUE),
    Column::single("torque_z", "N m", TORQUE),
    Column::single(
        "power",
        "W",
        "power of the wall's drive on the grains, mean over the interval",
    ),
];
const FORCE: &str = "force of the grains on the wall, mean over the interval";
const TORQUE: &str =
    "torque of the grains about the origin of the wall's frame, mean over the interval";

pub(super) struct WallGauge {
    wall: usize,
    at_start: LoadIntegral,
}

impl WallGauge {
    pub(super) fn new(wall: usize, world: &World) -> Self {
        WallGauge {
            wall,
            at_start: world.walls()[wall].total_load,
        }
    }
}

impl Gauge for WallGauge {
    fn reads(&self) -> Wanted {
        Wanted::Report
    }

    fn close(&mut self, world: &World, length: f64) -> Vec<f64> {
        let total = world.walls()[self.wall].total_load;
        let WallLoad {
            force,
            torque,
            power,
        } = (total - self.at_start).mean(length);
        self.at_start = total;
        let vectors = [force.to_array(), torque.to_array()];
        vectors.into_iter().flatten().chain([power]).collect()
    }

    fn state(&self) -> Vec<f64> {
        let LoadIntegral {
            impulse,
            angular_impulse,
            work,
        } = self.at_start;
        let vectors = [impulse.to_array(), angular_impulse.to_array()];
        vectors.into_iter().flatten().chain([work]).collect()
    }

    fn restore(&mut self, state: &[f64]) -> bool {
        let &[px, py, pz, lx, ly, lz, work] = state else {
            return false;
        };
        self.at_start = LoadIntegral {
            impulse: DVec3::new(px, py, pz),
            angular_impulse: DVec3::new(lx, ly, lz),
            work,
        };
        true
    }
}
