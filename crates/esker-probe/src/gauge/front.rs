//! Run-out: how far the grains have come.

use esker_analysis::runout::{Front, Reached, front};
use esker_world::World;

use super::Gauge;
use crate::definition::{Column, Path};

pub(super) const COLUMNS: [Column; 2] = [
    Column::single(
        "front",
        "m",
        "distance within which the given share of the mass lies",
    ),
    Column::single(
        "farthest",
        "m",
        "distance of the far side of the foremost grain",
    ),
];

pub(super) struct FrontGauge {
    pub(super) path: Path,
    pub(super) share: f64,
}

impl Gauge for FrontGauge {
    fn measures_states(&self) -> bool {
        true
    }

    fn close(&mut self, world: &World, _length: f64) -> Vec<f64> {
        let grains = &*world.all_grains();
        let reached = (0..grains.count()).map(|i| {
            let x = grains.position()[i];
            Reached {
                distance: match self.path {
                    Path::Along { origin, direction } => (x - origin).dot(direction),
                    Path::Around { origin, axis } => {
                        (x - origin).reject_from_normalized(axis).length()
                    }
                },
                radius: grains.radius()[i],
                mass: grains.mass()[i],
            }
        });
        match front(reached.collect(), self.share) {
            Some(Front { front, farthest }) => vec![front, farthest],
            None => vec![f64::NAN; 2],
        }
    }
}
