//! Smooth stepping comes to rest. It did not where substeps were too long for
//! stiff contacts, and nothing said so: a heap of grains of 10 GPa with 25
//! substeps per millisecond reached 1e18 J.

mod common;

use common::floor;
use esker_geometry::{Pose, Region};
use esker_world::World;
use esker_world::definition::*;
use glam::DVec3;

/// Fifty grains that fall on a floor, with substeps that are far too long for
/// the stiffer of them.
fn heap(young: f64, restitution: f64) -> WorldDef {
    WorldDef {
        step: 1e-3,
        method: Method::Smooth(Smooth {
            substeps: 40,
            ..Default::default()
        }),
        materials: vec![Material {
            name: "pellet".into(),
            density: 2500.0,
            young,
            poisson: 0.3,
        }],
        pairs: vec![PairDef {
            materials: [0, 0],
            law: PairLaw {
                friction: 0.5,
                rolling: 0.1,
                // Without it nothing ends an angular velocity about the normal.
                twisting: 0.1,
                restitution,
                ..Default::default()
            },
        }],
        walls: vec![floor()],
        packings: vec![PackingDef {
            shape: None,
            material: 0,
            velocity: DVec3::ZERO,
            placement: Placement::Random {
                region: Region::Box {
                    half_extents: DVec3::new(0.02, 0.02, 0.05),
                    pose: Pose::from_position(DVec3::Z * 0.05),
                },
                count: 50,
                sizes: SizeDistribution::Fixed { radius: 5e-3 },
            },
        }],
        ..Default::default()
    }
}

#[test]
fn a_heap_comes_to_rest_however_stiff_it_is() {
    for (young, restitution) in [(1e7, 0.5), (1e7, 0.0), (1e10, 0.5)] {
        let mut world = World::new(&heap(young, restitution)).unwrap();
        let mut most = 0;
        for _ in 0..1200 {
            most = most.max(world.step().unwrap().sweeps);
        }
        let energy = world.grains().kinetic_energy();
        println!("{young:e}, {restitution}: {energy:.1e} J, {most} substeps at most");
        assert!(energy < 1e-15, "{young:e}, {restitution}: {energy:.1e} J");
        // Soft grains need no more than they were given.
        assert_eq!(most == 40, young < 1e8);
    }
}

/// A sphere on a slope below its angles of friction and rolling stays: springs
/// do not fade from step to step.
#[test]
fn static_friction_holds_on_a_slope() {
    let slope: f64 = 0.08;
    let mut def = heap(1e8, 0.3);
    def.gravity = DVec3::new(slope.sin(), 0.0, -slope.cos()) * 9.81;
    def.packings[0].placement = Placement::Column {
        base: DVec3::ZERO,
        direction: DVec3::Z,
        count: 1,
        gap: 0.0,
        sizes: SizeDistribution::Fixed { radius: 5e-3 },
    };
    let mut world = World::new(&def).unwrap();
    let mut run = |steps: usize| {
        for _ in 0..steps {
            world.step().unwrap();
        }
        world.grains().position()[0]
    };
    let settled = run(1000);
    let moved = run(1000).distance(settled);
    assert!(moved < 1e-12, "{moved}");
}
