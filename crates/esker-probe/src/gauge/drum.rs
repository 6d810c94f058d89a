//! Flow in a section of a rotating drum.

use esker_analysis::Snapshot;
use esker_analysis::drum::DrumSection;
use esker_world::World;

use super::Gauge;
use crate::definition::Column;

pub(super) const COLUMNS: [Column; 5] = [
    Column::single(
        "angle",
        "°",
        "angle of the bed: from straight down to its centre of mass",
    ),
    Column::single("transport", "m/s", "mean velocity along the axis"),
    Column::single("surface", "m/s", "speed of the surface"),
    Column::single("axial", "m/s", "velocity of the surface along the axis"),
    Column::single(
        "across",
        "m/s",
        "velocity of the surface in the cross-section",
    ),
];

pub(super) struct DrumGauge {
    pub(super) section: DrumSection,
}

impl Gauge for DrumGauge {
    fn measures_states(&self) -> bool {
        true
    }

    fn close(&mut self, world: &World, _length: f64) -> Vec<f64> {
        let grains = &*world.all_grains();
        let rows: Vec<usize> = (0..grains.count())
            .filter(|&i| self.section.contains(grains.position()[i]))
            .collect();
        let of = |values: &[f64]| rows.iter().map(|&i| values[i]).collect::<Vec<_>>();
        let part = Snapshot {
            time: world.time(),
            gravity: world.gravity(),
            positions: rows.iter().map(|&i| grains.position()[i]).collect(),
            radii: of(grains.radius()),
            masses: Some(of(grains.mass())),
            velocities: Some(rows.iter().map(|&i| grains.state()[i].velocity).collect()),
            ..Default::default()
        };
        if rows.is_empty() {
            return vec![f64::NAN; COLUMNS.len()];
        }
        let diameter = 2.0 * part.radii.iter().sum::<f64>() / rows.len() as f64;
        let angle = self.section.angle(&part);
        let surface = self.section.surface(&part, diameter);
        let [speed, axial, across] =
            surface.map_or([f64::NAN; 3], |s| [s.speed, s.axial, s.across]);
        vec![
            angle.map_or(f64::NAN, f64::to_degrees),
            self.section.transport(&part),
            speed,
            axial,
            across,
        ]
    }
}
