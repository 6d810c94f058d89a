//! A joint of a machine: where it is, and exact means of what it carries.

use esker_machine::{Coordinate, JointCoordinate, Spatial};
use esker_world::World;
use glam::DVec3;

use super::Gauge;
use crate::definition::Column;

pub(super) const COLUMNS: [Column; 10] = [
    Column::single("angle", "rad", "angle of the joint, where it has one"),
    Column::single(
        "slide",
        "m",
        "displacement along its axis, where it has one",
    ),
    Column::single("force_x", "N", FORCE),
    Column::single("force_y", "N", FORCE),
    Column::single("force_z", "N", FORCE),
    Column::single("torque_x", "N m", TORQUE),
    Column::single("torque_y", "N m", TORQUE),
    Column::single("torque_z", "N m", TORQUE),
    Column::single("gap", "m", "how far the anchors of the joint are apart"),
    Column::single(
        "tilt",
        "rad",
        "how far the axes of the joint are from aligned",
    ),
];
const FORCE: &str = "force of the joint on its second body, without drives, mean over the interval";
const TORQUE: &str =
    "torque of the joint on its second body about the anchor, mean over the interval";

pub(super) struct JointGauge {
    joint: usize,
    at_start: Spatial,
}

impl JointGauge {
    pub(super) fn new(joint: usize, world: &World) -> Self {
        JointGauge {
            joint,
            at_start: world.joint(joint).impulse,
        }
    }
}

impl Gauge for JointGauge {
    fn close(&mut self, world: &World, length: f64) -> Vec<f64> {
        let totals = world.joint(self.joint);
        let given = totals.impulse - self.at_start;
        self.at_start = totals.impulse;
        let mean = if length > 0.0 {
            given * length.recip()
        } else {
            Spatial::ZERO
        };
        let joint = self.joint;
        let coordinate = |coordinate: Coordinate| {
            let value = world.joint_coordinate(JointCoordinate { joint, coordinate });
            value.unwrap_or(f64::NAN)
        };
        let mut row = Coordinate::ALL.map(coordinate).to_vec();
        row.extend(mean.linear.to_array());
        row.extend(mean.angular.to_array());
        row.extend([totals.violation.distance, totals.violation.angle]);
        row
    }

    fn state(&self) -> Vec<f64> {
        (0..6).map(|k| self.at_start.component(k)).collect()
    }

    fn restore(&mut self, state: &[f64]) -> bool {
        if state.len() != 6 {
            return false;
        }
        self.at_start = Spatial::new(DVec3::from_slice(state), DVec3::from_slice(&state[3..]));
        true
    }
}
