//! A drive of a machine: where its joint is, and exact means of what it does.

use esker_machine::{Coordinate, DriveTotals, JointCoordinate};
use esker_world::World;

use super::Gauge;
use crate::definition::Column;

const POWER: Column = Column::single("power", "W", "power of the drive, mean over the interval");

/// Columns of a drive of this coordinate.
pub(super) fn columns(coordinate: Coordinate) -> [Column; 3] {
    match coordinate {
        Coordinate::Angle => [
            Column::single("angle", "rad", "angle of the joint"),
            Column::single(
                "torque",
                "N m",
                "torque of the drive, mean over the interval",
            ),
            POWER,
        ],
        Coordinate::Slide => [
            Column::single("slide", "m", "displacement along the axis of the joint"),
            Column::single("force", "N", "force of the drive, mean over the interval"),
            POWER,
        ],
    }
}

pub(super) struct DriveGauge {
    drive: usize,
    at: JointCoordinate,
    at_start: DriveTotals,
}

impl DriveGauge {
    pub(super) fn new(drive: usize, at: JointCoordinate, world: &World) -> Self {
        DriveGauge {
            drive,
            at,
            at_start: *world.drive(drive),
        }
    }
}

impl Gauge for DriveGauge {
    fn close(&mut self, world: &World, length: f64) -> Vec<f64> {
        let totals = *world.drive(self.drive);
        let before = std::mem::replace(&mut self.at_start, totals);
        let mean = |change: f64| if length > 0.0 { change / length } else { 0.0 };
        vec![
            world.joint_coordinate(self.at).unwrap_or(f64::NAN),
            mean(totals.impulse - before.impulse),
            mean(totals.work - before.work),
        ]
    }

    fn state(&self) -> Vec<f64> {
        vec![self.at_start.impulse, self.at_start.work]
    }

    fn restore(&mut self, state: &[f64]) -> bool {
        let &[impulse, work] = state else {
            return false;
        };
        self.at_start = DriveTotals { impulse, work };
        true
    }
}
