//! The bed that benchmarks run on: spheres of 10 mm settled in a box.
//!
//! A box of 4,096 spheres is filled and settled once. Larger beds are made of
//! copies of it side by side, each the mirror image of its neighbour: a sphere
//! that leaned on a wall then leans on its own image, and the bed is as settled
//! as the box was.

use std::sync::Arc;

use anyhow::Context;
use esker_geometry::{Pose, Region, WallShape};
use esker_world::World;
use esker_world::definition::*;
use glam::{DQuat, DVec3};

/// Diameter of the spheres, m.
pub const DIAMETER: f64 = 0.01;
/// Inner width of the settled box, m: 16 diameters and a little.
pub const WIDTH: f64 = 16.3 * DIAMETER;
/// Spheres of the settled box.
pub const BOX_GRAINS: usize = 4096;
/// Time step, s.
pub const STEP: f64 = 5e-3;

/// Rows per contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowCount {
    /// Normal and friction.
    Three,
    /// Rolling and twisting too.
    Six,
}

/// A settled box; beds of any size are made of it.
pub struct SettledBox {
    grains: Vec<ListedGrain>,
}

impl SettledBox {
    /// Fills a box and lets it come to rest.
    pub fn prepare(threads: usize) -> anyhow::Result<Self> {
        let height = 1.1 * (BOX_GRAINS as f64 / 225.0) * DIAMETER;
        let mut def = definition(WIDTH, WIDTH, RowCount::Three, sub_stepped(25));
        def.packings = vec![PackingDef {
            shape: None,
            material: 0,
            velocity: DVec3::ZERO,
            placement: Placement::Lattice {
                region: Region::Box {
                    half_extents: DVec3::new(0.5 * WIDTH, 0.5 * WIDTH, height),
                    pose: Pose::from_position(DVec3::new(0.5 * WIDTH, 0.5 * WIDTH, height)),
                },
                spacing: Some(1.05 * DIAMETER),
                jitter: 0.9,
                count: Some(BOX_GRAINS),
                sizes: SizeDistribution::Fixed {
                    radius: 0.5 * DIAMETER,
                },
            },
        }];
        let mut world = World::new(&def)?;
        world.set_threads(threads);
        for _ in 0..SETTLING_STEPS {
            world.step().context("settling the box")?;
        }
        let grains = world
            .grains()
            .in_id_order()
            .into_iter()
            .map(|i| ListedGrain {
                position: world.grains().position()[i],
                radius: world.grains().radius()[i],
                velocity: DVec3::ZERO,
                angular_velocity: DVec3::ZERO,
            });
        Ok(SettledBox {
            grains: grains.collect(),
        })
    }

    /// A bed of about this many grains, stepped by this method.
    pub fn bed(&self, grains: usize, rows: RowCount, method: Method) -> WorldDef {
        let tiles = (grains as f64 / BOX_GRAINS as f64).max(0.02);
        let across = tiles.sqrt().round().max(1.0) as usize;
        let along = (tiles / across as f64).round().max(1.0) as usize;
        let mut placed = Vec::with_capacity(across * along * BOX_GRAINS);
        for tile in 0..across * along {
            let (i, j) = (tile % across, tile / across);
            let mirror = |x: f64, k: usize| {
                let place = if k.is_multiple_of(2) { x } else { WIDTH - x };
                place + k as f64 * WIDTH
            };
            placed.extend(self.grains.iter().map(|g| ListedGrain {
                position: DVec3::new(
                    mirror(g.position.x, i),
                    mirror(g.position.y, j),
                    g.position.z,
                ),
                ..*g
            }));
        }
        let mut size = [across as f64 * WIDTH, along as f64 * WIDTH];
        if tiles < 0.7 {
            // A small bed is a corner of the box.
            let width = (tiles.sqrt() * WIDTH / DIAMETER).ceil() * DIAMETER;
            let inside = |x: f64| x < width - 0.5 * DIAMETER;
            placed.retain(|g| inside(g.position.x) && inside(g.position.y));
            size = [width; 2];
        }
        let mut def = definition(size[0], size[1], rows, method);
        def.packings = vec![listed(placed)];
        def
    }

    /// One grain at rest on the floor of the box.
    pub fn lone_grain(&self, method: Method) -> anyhow::Result<World> {
        let mut def = definition(WIDTH, WIDTH, RowCount::Three, method);
        let position = DVec3::new(0.5 * WIDTH, 0.5 * WIDTH, 0.5 * DIAMETER);
        def.packings = vec![listed(vec![ListedGrain {
            position,
            ..self.grains[0]
        }])];
        Ok(World::new(&def)?)
    }
}

fn listed(grains: Vec<ListedGrain>) -> PackingDef {
    PackingDef {
        shape: None,
        material: 0,
        velocity: DVec3::ZERO,
        placement: Placement::Listed {
            grains: Arc::new(grains),
        },
    }
}

/// Steps until the box is at rest: 1.25 s.
const SETTLING_STEPS: usize = 250;

/// The sub-stepped way.
pub fn sub_stepped(substeps: usize) -> Method {
    Method::SubStepped(SubStepped {
        substeps,
        ..Default::default()
    })
}

fn definition(width: f64, depth: f64, rows: RowCount, method: Method) -> WorldDef {
    let half_space = |point: DVec3, normal: DVec3| {
        WallDef::new(
            "box",
            WallShape::HalfSpace,
            Pose::new(point, DQuat::from_rotation_arc(DVec3::Z, normal)),
        )
    };
    let rolling = match rows {
        RowCount::Three => 0.0,
        RowCount::Six => 0.05,
    };
    WorldDef {
        step: STEP,
        method,
        materials: vec![Material {
            name: "glass".into(),
            density: 2500.0,
            young: 5e9,
            poisson: 0.3,
        }],
        pairs: vec![PairDef {
            materials: [0, 0],
            law: PairLaw {
                friction: 0.5,
                rolling,
                twisting: rolling,
                ..Default::default()
            },
        }],
        walls: vec![
            half_space(DVec3::ZERO, DVec3::Z),
            half_space(DVec3::ZERO, DVec3::X),
            half_space(DVec3::ZERO, DVec3::Y),
            half_space(DVec3::X * width, -DVec3::X),
            half_space(DVec3::Y * depth, -DVec3::Y),
        ],
        ..Default::default()
    }
}
