//! Grains at rest that are frozen to the walls that they rest on.

use esker_geometry::{Pose, Region, WallShape};
use esker_world::World;
use esker_world::definition::*;
use glam::{DQuat, DVec3};

const D: f64 = 0.013;

/// Half space with this normal through a point.
fn plane(name: &str, point: DVec3, normal: DVec3, material: usize) -> WallDef {
    let pose = Pose::new(point, DQuat::from_rotation_arc(DVec3::Z, normal));
    WallDef {
        material,
        ..WallDef::new(name, WallShape::HalfSpace, pose)
    }
}

/// A box of this size, m, open above, with grains dropped into it as a lattice this high, m.
fn bed(size: DVec3, height: f64, reduction: Option<Reduction>) -> WorldDef {
    let materials = [0.91, 0.0].map(|friction| Material {
        name: format!("friction {friction}"),
        density: 3700.0,
        young: 1e7,
        poisson: 0.3,
    });
    let law = |friction: f64| PairLaw {
        normal: NormalLaw::Linear { stiffness: 3000.0 },
        friction,
        rolling: 0.32,
        restitution: 0.18,
        ..Default::default()
    };
    let half = 0.5 * size;
    WorldDef {
        reduction,
        materials: materials.to_vec(),
        pairs: vec![
            PairDef {
                materials: [0, 0],
                law: law(0.91),
            },
            PairDef {
                materials: [0, 1],
                law: PairLaw {
                    rolling: 0.0,
                    ..law(0.0)
                },
            },
        ],
        walls: vec![
            plane("floor", DVec3::ZERO, DVec3::Z, 0),
            plane("left", DVec3::NEG_X * half.x, DVec3::X, 1),
            plane("right", DVec3::X * half.x, DVec3::NEG_X, 1),
            plane("front", DVec3::NEG_Y * half.y, DVec3::Y, 1),
            plane("back", DVec3::Y * half.y, DVec3::NEG_Y, 1),
        ],
        packings: vec![PackingDef {
            material: 0,
            shape: None,
            velocity: DVec3::ZERO,
            placement: Placement::Lattice {
                region: Region::Box {
                    half_extents: DVec3::new(half.x, half.y, 0.5 * height),
                    pose: Pose::from_position(DVec3::Z * (0.5 * height)),
                },
                spacing: None,
                jitter: 0.5,
                count: None,
                sizes: SizeDistribution::Uniform {
                    min: 0.45 * D,
                    max: 0.5 * D,
                },
            },
        }],
        step: 5e-3,
        method: Method::SubStepped(SubStepped {
            substeps: 20,
            ..Default::default()
        }),
        ..Default::default()
    }
}

fn run(world: &mut World, steps: usize) {
    for _ in 0..steps {
        world.step().unwrap();
    }
}

/// A bed that falls, comes to rest, and loses a wall.
fn collapse(reduction: Option<Reduction>) -> WorldDef {
    let mut def = bed(DVec3::new(8.0, 6.0, 0.0) * D, 10.0 * D, reduction);
    def.walls[2].presence = Presence {
        from: 0.0,
        until: 0.7,
    };
    def.energy_ledger = true;
    def
}

#[test]
fn aggregates_have_the_same_bits_on_any_number_of_threads_and_after_a_restart() {
    let def = collapse(Some(Reduction::default()));
    let mut reference = World::new(&def).unwrap();
    let mut others = [2, 3].map(|threads| {
        let mut world = World::new(&def).unwrap();
        world.set_threads(threads);
        world
    });
    let mut most = 0;
    for step in 0..260 {
        run(&mut reference, 1);
        most = most.max(reference.frozen_count());
        let hash = reference.all_grains().state_hash();
        for world in &mut others {
            run(world, 1);
            assert_eq!(world.all_grains().state_hash(), hash, "step {step}");
        }
        // A world that is saved and restored in every other step.
        if step % 2 == 0 {
            let state = others[0].state();
            others[0] = World::restore(&def, state.clone()).unwrap();
            assert_eq!(others[0].state(), state);
        }
    }
    assert!(most > reference.grain_count() / 2, "{most} frozen at most");
    assert_eq!(others[0].state(), reference.state());
    assert!(reference.reduction().unwrap().split_by_walls > 0);
}

/// More grains than memory order is left alone for, in a box that rotates: what is remembered,
/// frozen and set free in one step used to be remembered twice.
#[test]
fn a_large_rotating_bed_has_the_same_bits_on_any_number_of_threads_and_after_a_restart() {
    let mut def = bed(
        DVec3::new(16.0, 15.0, 0.0) * D,
        22.0 * D,
        Some(Reduction::default()),
    );
    for wall in &mut def.walls {
        wall.motion = Motion::Rotate {
            axis: DVec3::Y,
            centre: DVec3::ZERO,
            rate: 0.6,
            start: 0.4,
            stop: f64::INFINITY,
        };
    }
    let mut reference = World::new(&def).unwrap();
    assert!(reference.grain_count() > 4096);
    let mut other = World::new(&def).unwrap();
    other.set_threads(3);
    for step in 0..260 {
        run(&mut reference, 1);
        run(&mut other, 1);
        let hashes = [&reference, &other].map(|w| w.all_grains().state_hash());
        assert_eq!(hashes[0], hashes[1], "step {step}");
        if step % 40 == 39 {
            let state = other.state();
            other = World::restore(&def, state.clone()).unwrap();
            other.set_threads(2);
            assert!(other.state() == state, "restored after step {step}");
        }
    }
    let totals = reference.reduction().unwrap();
    assert!(totals.mean_level() > 0.1, "{totals:?}");
    assert!(
        totals.split_by_imbalance > 0 && totals.split_by_walls > 0,
        "{totals:?}"
    );
}
