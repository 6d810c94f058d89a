//! The energy ledger: every term is measured for itself, and they add up.

mod common;

use common::*;
use esker_geometry::{OpenFaces, Pose, Region, Side, WallShape};
use esker_world::definition::*;
use esker_world::{EnergyLedger, World};
use glam::DVec3;

fn smooth_steps(substeps: usize) -> Method {
    Method::Smooth(Smooth {
        substeps,
        ..Default::default()
    })
}

/// How far a world's ledger is from closing, as a share of its throughput.
fn imbalance(world: &World) -> f64 {
    let kinetic = world.grains().kinetic_energy();
    let ledger = world.energy().unwrap();
    ledger.imbalance(kinetic) / ledger.throughput(kinetic)
}

fn ledger(world: &World) -> EnergyLedger {
    *world.energy().unwrap()
}

/// A drum like the one of `scenes/drum.toml`, 15 diameters across.
fn drum(method: Method, step: f64) -> WorldDef {
    let law = PairLaw {
        friction: 0.91,
        rolling: 0.32,
        restitution: 0.18,
        damping: 5e-4,
        ..Default::default()
    };
    let shell = WallShape::Cylinder {
        radius: 0.1,
        length: 0.046,
        side: Side::Inside,
        open: OpenFaces::NONE,
    };
    let axis = glam::DQuat::from_rotation_arc(DVec3::Z, DVec3::Y);
    WorldDef {
        energy_ledger: true,
        walls: vec![WallDef {
            motion: Motion::Rotate {
                axis: DVec3::Y,
                centre: DVec3::ZERO,
                rate: 1.0,
                start: 0.0,
                stop: f64::INFINITY,
            },
            ..wall(shell, Pose::new(DVec3::ZERO, axis))
        }],
        packings: vec![PackingDef {
            shape: None,
            material: 0,
            velocity: DVec3::ZERO,
            placement: Placement::Lattice {
                region: Region::Cylinder {
                    radius: 0.098,
                    length: 0.044,
                    pose: Pose::new(DVec3::ZERO, axis),
                },
                spacing: None,
                jitter: 0.3,
                count: Some(250),
                sizes: SizeDistribution::Uniform {
                    min: 5e-3,
                    max: PELLET_RADIUS,
                },
            },
        }],
        ..scene(pellet(), law, method, step)
    }
}

#[test]
fn the_ledger_of_a_drum_closes_to_one_per_cent_in_all_ways_of_stepping() {
    let cases = [
        (sub_stepped(25), 5e-3),
        (sub_stepped(25), 1e-3),
        // An impact stage changes velocities at the start of a step, and what
        // gravity does to them counts from there: an error of first order.
        (whole_step(50, history(0.85)), 5e-4),
        (smooth_steps(50), 2e-3),
    ];
    for (method, step) in cases {
        let mut world = build(&drum(method.clone(), step));
        // Half around, so that the drive's work is more than the first fall's.
        run(&mut world, 3.0);
        let l = ledger(&world);
        assert!(
            imbalance(&world).abs() < 0.01,
            "{}, {method:?}",
            imbalance(&world)
        );
        assert!(l.drives > l.gravity, "{l:?}");
        for loss in [l.friction, l.rolling, l.damping + l.impact] {
            assert!(loss > 0.0, "{l:?}");
        }
        assert_eq!(l.impact > 0.0, !matches!(method, Method::Smooth(_)));
        assert!(relative(l.drives, world.walls()[0].total_load.work) < 1e-12);
    }
}

#[test]
fn the_ledger_has_the_same_bits_on_any_number_of_threads_and_after_a_restart() {
    let def = drum(sub_stepped(25), 5e-3);
    let mut one = build(&def);
    let mut three = build(&def);
    three.set_threads(3);
    run(&mut one, 0.5);
    run(&mut three, 0.5);
    assert_eq!(ledger(&one), ledger(&three));
    let mut restored = World::restore(&def, one.state()).unwrap();
    run(&mut one, 0.25);
    run(&mut restored, 0.25);
    assert_eq!(ledger(&one), ledger(&restored));
}

/// Keeping the ledger changes nothing else.
#[test]
fn a_run_with_the_ledger_is_the_run_without_it() {
    for (method, step) in [
        (sub_stepped(25), 5e-3),
        (whole_step(20, history(0.85)), 5e-3),
    ] {
        let def = drum(method, step);
        let mut with = build(&def);
        let mut without = build(&WorldDef {
            energy_ledger: false,
            ..def
        });
        run(&mut with, 0.5);
        run(&mut without, 0.5);
        assert!(without.energy().is_none());
        assert_eq!(with.grains().state_hash(), without.grains().state_hash());
    }
}

fn one_ball(method: Method, step: f64, law: PairLaw, ball: ListedGrain) -> World {
    one_ball_of(pellet(), method, step, law, ball)
}

fn one_ball_of(
    material: Material,
    method: Method,
    step: f64,
    law: PairLaw,
    ball: ListedGrain,
) -> World {
    let mut def = scene(material, law, method, step);
    def.energy_ledger = true;
    def.walls = vec![floor()];
    def.packings = vec![listed(vec![ball])];
    build(&def)
}

/// A bounce takes 1 − e² of the energy of the approach, and nothing else does. (A
/// whole step books it with the speed at the start of the step.)
#[test]
fn a_bounce_is_booked_as_an_impact() {
    for method in [sub_stepped(25), whole_step(30, history(0.85))] {
        let law = PairLaw {
            restitution: 0.6,
            ..smooth()
        };
        let ball = grain(DVec3::Z * 0.1, PELLET_RADIUS);
        // So stiff that its bounces are impacts.
        let stiff = material(3700.0, 6e10, 0.25);
        let mut world = one_ball_of(stiff, method.clone(), 1e-3, law, ball);
        // One bounce, and not yet the second.
        run(&mut world, 0.2);
        let l = ledger(&world);
        let fall = sphere_mass(3700.0, PELLET_RADIUS) * G * (0.1 - PELLET_RADIUS);
        assert!(relative(l.impact, (1.0 - 0.36) * fall) < 0.05, "{l:?}");
        assert!(l.damping.abs() + l.friction.abs() < 0.01 * fall, "{l:?}");
        assert!(imbalance(&world).abs() < 0.05, "{method:?}");
    }
}

/// A sphere that slides into rolling leaves 2/7 of its energy to friction.
#[test]
fn sliding_is_booked_as_friction() {
    for (method, step) in [
        (sub_stepped(25), 1e-3),
        (whole_step(30, history(0.85)), 1e-3),
        (smooth_steps(40), 1e-3),
    ] {
        let law = PairLaw {
            friction: 0.3,
            damping: 1e-3,
            ..Default::default()
        };
        let ball = ListedGrain {
            velocity: DVec3::X * 0.5,
            ..grain(DVec3::Z * (PELLET_RADIUS - 2.45e-5), PELLET_RADIUS)
        };
        let mut world = one_ball(method.clone(), step, law, ball);
        run(&mut world, 0.3);
        let energy = 0.5 * sphere_mass(3700.0, PELLET_RADIUS) * 0.25;
        let l = ledger(&world);
        assert!(
            relative(l.friction, 2.0 / 7.0 * energy) < 0.01,
            "{l:?}, {method:?}"
        );
        assert!(l.drives == 0.0 && l.rolling == 0.0);
        assert!(imbalance(&world).abs() < 0.01, "{method:?}");
    }
}

/// Grains that enter and leave carry their energy with them.
#[test]
fn the_ledger_closes_where_grains_come_and_go() {
    let region = |centre, half| Region::Box {
        half_extents: DVec3::splat(half),
        pose: Pose::from_position(centre),
    };
    let law = PairLaw {
        restitution: 0.3,
        ..Default::default()
    };
    let mut def = scene(pellet(), law, sub_stepped(25), 2e-3);
    def.energy_ledger = true;
    def.walls = vec![WallDef {
        surface_velocity: DVec3::X * 0.4,
        ..floor()
    }];
    def.emitters = vec![EmitterDef {
        shape: None,
        name: "hopper".into(),
        material: 0,
        region: region(DVec3::Z * 0.05, 0.03),
        rate: Rate::Number(200.0),
        sizes: SizeDistribution::Uniform {
            min: 3e-3,
            max: 5e-3,
        },
        velocity: DVec3::new(0.3, 0.0, -1.0),
        total: Total::Unlimited,
        start: 0.0,
        stop: f64::INFINITY,
    }];
    def.sinks = vec![SinkDef {
        name: "bin".into(),
        region: region(DVec3::X * 1.1, 1.0),
    }];
    def.bounds = Some([DVec3::new(-1.0, -0.04, -1.0), DVec3::new(1.0, 0.04, 1.0)]);
    let mut world = build(&def);
    run(&mut world, 2.0);
    let l = ledger(&world);
    assert!(world.sinks()[0].total().number > 50 && world.lost() > 0);
    assert!(l.emitted > 0.0 && l.removed > 0.0 && l.drives > 0.0);
    assert!(
        imbalance(&world).abs() < 0.01,
        "{} {l:?}",
        imbalance(&world)
    );
}
