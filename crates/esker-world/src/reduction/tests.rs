//! What freezing and setting free conserve, and whom it overlooks.

use esker_geometry::{Pose, Region, WallShape};
use glam::DVec3;

use crate::World;
use crate::definition::*;

/// Grains in an open tray that is tilted.
fn tray() -> WorldDef {
    let radius = 5e-3;
    let tilt = Motion::Rotate {
        axis: DVec3::Y,
        centre: DVec3::new(0.3, 0.0, 0.1),
        rate: 0.15,
        start: 0.3,
        stop: f64::INFINITY,
    };
    let shape = WallShape::Box {
        half_extents: DVec3::new(0.04, 0.03, 0.06),
        side: esker_geometry::Side::Inside,
        open: esker_geometry::OpenFaces::NONE,
    };
    let pose = Pose::from_position(DVec3::Z * 0.06);
    WorldDef {
        step: 4e-3,
        reduction: Some(Reduction::default()),
        materials: vec![Material {
            name: "gravel".into(),
            density: 2600.0,
            young: 1e7,
            poisson: 0.3,
        }],
        pairs: vec![PairDef {
            materials: [0, 0],
            law: PairLaw {
                friction: 0.6,
                rolling: 0.1,
                ..Default::default()
            },
        }],
        walls: vec![WallDef {
            motion: tilt,
            ..WallDef::new("tray", shape, pose)
        }],
        packings: vec![PackingDef {
            material: 0,
            shape: None,
            velocity: DVec3::ZERO,
            placement: Placement::Random {
                region: Region::Box {
                    half_extents: DVec3::new(0.033, 0.024, 0.05),
                    pose: Pose::from_position(DVec3::Z * 0.06),
                },
                count: 160,
                sizes: SizeDistribution::Uniform {
                    min: 0.8 * radius,
                    max: radius,
                },
            },
        }],
        ..Default::default()
    }
}

/// Momentum, angular momentum about the world's origin, and energy of motion.
fn invariants(world: &World) -> (DVec3, DVec3, f64) {
    let all = world.all_grains();
    let (mut momentum, mut angular) = (DVec3::ZERO, DVec3::ZERO);
    for i in 0..all.len() {
        let state = &all.state[i];
        let own = state.velocity * all.mass[i];
        momentum += own;
        angular += all.position[i].cross(own) + state.angular_velocity / state.inverse_inertia;
    }
    (momentum, angular, all.kinetic_energy())
}

#[test]
fn setting_free_conserves_momentum_and_freezing_gives_the_rest_to_walls() {
    let mut world = World::new(&tray()).unwrap();
    let (mut freezes, mut releases) = (0, 0);
    for _ in 0..400 {
        world.step().unwrap();
        let frozen = world.frozen_count();
        // The start of the next step without anything else that it does.
        let before = invariants(&world);
        let totals = *world.reduction().unwrap();
        world.take_up_resolution();
        world.begin_reduction();
        let after = invariants(&world);
        let scale = 1e-13 * (1.0 + before.0.length());
        let given = world.reduction().unwrap().impulse_to_walls - totals.impulse_to_walls;
        assert!((before.0 - after.0).distance(given) < scale);
        let lost = world.reduction().unwrap().energy_lost - totals.energy_lost;
        assert!(lost >= 0.0);
        freezes += world.reduction().unwrap().merges - totals.merges;
        if given == DVec3::ZERO {
            assert!((before.1 - after.1).length() < scale);
            assert!((before.2 - after.2).abs() < scale);
            releases += frozen - world.frozen_count().min(frozen);
        }
    }
    assert!(
        freezes > 300 && releases > 200,
        "{freezes} frozen, {releases} set free"
    );
}

/// Of a copy in which all are free, nearly all frozen grains stay where they are.
#[test]
fn few_are_frozen_that_would_move() {
    let def = tray();
    let mut world = World::new(&def).unwrap();
    let (mut looked_at, mut missed) = (0, 0);
    for step in 0..500 {
        world.step().unwrap();
        if step % 25 != 24 {
            continue;
        }
        let mut copy = World::restore(&def, world.state()).unwrap();
        copy.set_all_free();
        if let Some(aggregates) = &mut copy.aggregates {
            aggregates.settings.rest_time = 1e9;
        }
        let aggregates = world.aggregates.as_ref().unwrap();
        for _ in 0..4 {
            copy.step().unwrap();
        }
        let time = copy.time();
        let moved = copy.all_grains();
        for i in 0..moved.count() {
            let Some(member) = aggregates.members.find(moved.id[i]) else {
                continue;
            };
            looked_at += 1;
            let carried = aggregates.pose_at(member, time).position;
            missed += usize::from(moved.position[i].distance(carried) > 0.1 * moved.radius[i]);
        }
    }
    assert!(looked_at > 1000, "{looked_at}");
    assert!(missed * 100 < looked_at, "{missed} of {looked_at}");
}
