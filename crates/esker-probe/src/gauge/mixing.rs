//! Mixing and segregation of two classes of grains.

use std::collections::BTreeMap;

use esker_analysis::mixing::{Placed, lacey_index, segregation_index};
use esker_geometry::Region;
use esker_world::World;
use glam::DVec3;

use super::{Gauge, up};
use crate::definition::{Class, Column};

pub(super) const COLUMNS: [Column; 2] = [
    Column::single(
        "lacey",
        "1",
        "Lacey's mixing index by number of grains: 0 segregated, 1 randomly mixed",
    ),
    Column::single(
        "segregation",
        "1",
        "segregation index: 1 where the class lies above all others, −1 below, 0 mixed",
    ),
];

pub(super) struct Mixing {
    pub(super) class: Class,
    pub(super) region: Option<Region>,
    pub(super) cell: f64,
    pub(super) direction: Option<DVec3>,
}

impl Gauge for Mixing {
    fn measures_states(&self) -> bool {
        true
    }

    fn close(&mut self, world: &World, _length: f64) -> Vec<f64> {
        let grains = &*world.all_grains();
        let direction = self.direction.unwrap_or_else(|| up(world));
        let mut cells: BTreeMap<[i64; 3], [u64; 2]> = BTreeMap::new();
        let mut placed = Vec::new();
        for (i, &x) in grains.position()[..grains.count()].iter().enumerate() {
            let counts = |x: &DVec3| self.region.is_none_or(|region| region.contains(*x));
            let Some(x) = world.images(x).find(counts) else {
                continue;
            };
            let radius = grains.radius()[i];
            let is_class = match self.class {
                Class::Material(material) => grains.material()[i] == material,
                Class::LargerThan(diameter) => 2.0 * radius > diameter,
            };
            let cell = (x / self.cell).floor().to_array().map(|k| k as i64);
            cells.entry(cell).or_default()[usize::from(!is_class)] += 1;
            placed.push(Placed {
                height: x.dot(direction),
                volume: radius.powi(3),
                is_class,
            });
        }
        let indices = [lacey_index(cells.into_values()), segregation_index(placed)];
        indices.map(|index| index.unwrap_or(f64::NAN)).to_vec()
    }
}
