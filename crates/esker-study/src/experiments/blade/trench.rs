//! Beds with a plate in them.

use esker_geometry::{BodyShape, Pose, Region, WallShape};
use esker_machine::Signal;
use esker_world::definition::{Placement, SizeDistribution, WorldDef};
use glam::DVec3;

use super::SCENE;
use crate::bench::{self, Prepared};
use crate::experiment::Size;
use crate::results::StudyError;

/// Time in which a bed settles, s.
const PREPARATION: f64 = 0.5;

/// A bed and its plate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Trench {
    /// Part of the names of its cases.
    pub(super) name: &'static str,
    /// How far it reaches behind and in front of the plate, m.
    pub(super) reach: [f64; 2],
    /// Width, m.
    pub(super) width: f64,
    /// Height that grains are placed up to, m.
    pub(super) height: f64,
    /// Width of the plate and what is left between it and the floor, m.
    pub(super) plate: [f64; 2],
    /// Smallest and largest diameter, m.
    pub(super) diameters: [f64; 2],
    /// Share that a random packing fills; `None`: a lattice.
    pub(super) fraction: Option<f64>,
}

/// The scene as it is: 22 × 9 × 8 places.
pub(super) const WIDE: Trench = Trench {
    name: "wide plate",
    reach: [0.1173, 0.3133],
    width: 0.1762,
    height: 0.1566,
    plate: [0.165, 0.01],
    diameters: [0.0189, 0.0191],
    fraction: None,
};

/// The same for solvers that take long.
pub(super) const SHORT: Trench = Trench {
    name: "short trench",
    reach: [0.04, 0.16],
    width: 0.1175,
    height: 0.098,
    plate: [0.106, 0.01],
    ..WIDE
};

/// A plate in a wide bed.
pub(super) fn narrow(size: Size) -> Trench {
    let diameters = [0.015, 0.023];
    let fraction = Some(0.56);
    size.pick(
        // As many grains as Kleinert's trench, whose size is not given.
        Trench {
            name: "narrow plate, full size",
            reach: [0.5, 1.9],
            width: 0.8,
            height: 0.37,
            plate: [0.12, 0.2],
            diameters,
            fraction,
        },
        Trench {
            name: "narrow plate",
            reach: [0.1, 0.42],
            width: 0.4,
            height: 0.12,
            plate: [0.06, 0.05],
            diameters,
            fraction,
        },
    )
}

/// Half of the plate's thickness and its clearance from grains, m.
pub(super) const HALF_THICKNESS: f64 = 0.01;

impl Trench {
    /// The scene with this bed and plate.
    pub(super) fn definition(&self, seed: u64) -> Result<WorldDef, StudyError> {
        let mut def = bench::world_of_scene(SCENE)?;
        def.seed = seed;
        let [behind, ahead] = self.reach;
        let lattice_spacing = match &def.packings[0].placement {
            Placement::Lattice { spacing, .. } => *spacing,
            _ => None,
        };
        for (packing, [from, to]) in def
            .packings
            .iter_mut()
            .zip([[-behind, -HALF_THICKNESS], [HALF_THICKNESS, ahead]])
        {
            let half_extents = DVec3::new(to - from, self.width, self.height) / 2.0;
            let centre = DVec3::new(0.5 * (from + to), 0.0, half_extents.z);
            let region = Region::Box {
                half_extents,
                pose: Pose::from_position(centre),
            };
            let [min, max] = self.diameters.map(|d| 0.5 * d);
            let sizes = SizeDistribution::Uniform { min, max };
            packing.placement = match self.fraction {
                Some(fraction) => Placement::Packed {
                    region,
                    fraction,
                    sizes,
                },
                None => Placement::Lattice {
                    region,
                    spacing: lattice_spacing,
                    jitter: 1.0,
                    count: None,
                    sizes,
                },
            };
        }
        let wall = &mut def.walls[0];
        wall.pose.position.x = 0.5 * (ahead - behind);
        if let WallShape::Box { half_extents, .. } = &mut wall.shape {
            (half_extents.x, half_extents.y) = (0.5 * (behind + ahead), 0.5 * self.width);
        }
        let plate = &mut def.bodies[0];
        if let BodyShape::Box { half_edges } = &mut plate.shape {
            let [width, clearance] = self.plate;
            half_edges.y = 0.5 * width;
            half_edges.z = plate.pose.position.z - clearance;
        }
        Ok(def)
    }

    pub(super) fn prepared_name(&self, seed: u64) -> String {
        format!("prepared: {}, seed {seed}", self.name)
    }

    /// The bed at rest, with the plate held.
    pub(super) fn prepared(&self, seed: u64) -> Result<Prepared, StudyError> {
        let mut def = self.definition(seed)?;
        def.drives[0].signal = Signal::Constant(0.0);
        let mut world = bench::build(&def)?;
        bench::run(&mut world, PREPARATION, |_, _| {})?;
        Ok(Prepared::of(&world))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wide_plate_is_that_of_the_scene() {
        let scene = bench::world_of_scene(SCENE).unwrap();
        let own = WIDE.definition(scene.seed).unwrap();
        let told = |def: &WorldDef| {
            let [wall, plate] = [&def.walls[0].pose, &def.bodies[0].pose].map(|pose| pose.position);
            format!(
                "{:.9?} {wall:.9?} {:.9?} {plate:.9?} {:.9?}",
                def.walls[0].shape, def.bodies[0].shape, def.packings
            )
        };
        assert_eq!(told(&own), told(&scene));
    }
}
