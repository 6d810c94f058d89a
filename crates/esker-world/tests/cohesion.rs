//! Cohesion: pull-off forces, static overlaps, liquid bridges and heaps.

mod common;

use std::f64::consts::PI;

use common::*;
use esker_geometry::{BodyShape, Pose, WallShape};
use esker_world::World;
use esker_world::definition::*;
use glam::{DQuat, DVec3};

/// All ways of stepping, with a step that suits each.
fn methods() -> [(Method, f64); 3] {
    [
        (sub_stepped(25), 5e-3),
        (whole_step(50, history(0.85)), 1e-3),
        (
            Method::Smooth(Smooth {
                substeps: 40,
                ..Default::default()
            }),
            1e-3,
        ),
    ]
}

/// Laws that hold a pellet (at a wall, `r*` is its radius) with this force, N.
fn laws(force: f64) -> [Cohesion; 3] {
    let (radius, contact_angle) = (PELLET_RADIUS, 0.3);
    [
        Cohesion::Force(force),
        Cohesion::Energy(force / (2.0 * PI * radius)),
        Cohesion::Liquid {
            volume: 1e-9,
            surface_tension: force / (4.0 * PI * radius * f64::cos(contact_angle)),
            contact_angle,
        },
    ]
}

fn sticky(cohesion: Cohesion) -> PairLaw {
    PairLaw {
        damping: 1e-3,
        cohesion,
        ..Default::default()
    }
}

/// Static overlap of a pellet pressed on a wall, m.
fn static_overlap(force: f64) -> f64 {
    (force / hertz_stiffness(&pellet(), PELLET_RADIUS)).powf(2.0 / 3.0)
}

/// Weight of a pellet, N.
fn weight() -> f64 {
    sphere_mass(pellet().density, PELLET_RADIUS) * G
}

/// A pellet under a ceiling, pressed on by as much as its attraction exceeds
/// its weight; where it does not, just touching.
fn hanging(cohesion: Cohesion, force: f64, method: Method, step: f64) -> World {
    let downwards = Pose::new(DVec3::ZERO, DQuat::from_rotation_x(PI));
    let overlap = static_overlap((force - weight()).max(0.0));
    build(&WorldDef {
        energy_ledger: true,
        walls: vec![wall(WallShape::HalfSpace, downwards)],
        packings: vec![listed(vec![grain(
            DVec3::Z * (overlap - PELLET_RADIUS),
            PELLET_RADIUS,
        )])],
        ..scene(pellet(), sticky(cohesion), method, step)
    })
}

#[test]
fn a_ball_hangs_while_its_attraction_exceeds_its_weight() {
    for (method, step) in methods() {
        for share in [0.99, 1.01] {
            let force = share * weight();
            for cohesion in laws(force) {
                let mut world = hanging(cohesion, force, method.clone(), step);
                run(&mut world, 0.5);
                let depth = -PELLET_RADIUS - world.grains().position()[0].z;
                let hangs = depth < 0.0;
                let case = format!("{depth} m at {share} of the weight: {cohesion:?}, {method:?}");
                assert_eq!(hangs, share > 1.0, "{case}");
                // What falls has left for good.
                assert!(hangs || depth > 1e-3, "{case}");
            }
        }
    }
}

#[test]
fn attraction_presses_a_resting_ball_into_the_floor() {
    for (method, step) in methods() {
        let force = 5.0 * weight();
        for cohesion in laws(force) {
            let mut world = build(&WorldDef {
                walls: vec![floor()],
                packings: vec![listed(vec![grain(
                    DVec3::Z * (PELLET_RADIUS - static_overlap(force)),
                    PELLET_RADIUS,
                )])],
                ..scene(pellet(), sticky(cohesion), method.clone(), step)
            });
            run(&mut world, 0.5);
            let overlap = PELLET_RADIUS - world.grains().position()[0].z;
            let expected = static_overlap(force + weight());
            assert!(
                relative(overlap, expected) < 0.01,
                "{overlap} m instead of {expected} m: {cohesion:?}, {method:?}"
            );
            // The floor feels the weight alone.
            let load = world.walls()[0].load.force.z;
            assert!(relative(-load, weight()) < 0.01, "{load} N: {method:?}");
        }
    }
}

/// Two pellets with a gap, at rest without gravity.
fn bridged(gap: f64, cohesion: Cohesion, method: Method, step: f64) -> World {
    build(&WorldDef {
        gravity: DVec3::ZERO,
        energy_ledger: true,
        packings: vec![listed(vec![
            grain(DVec3::ZERO, PELLET_RADIUS),
            grain(
                DVec3::new(0.6, 0.0, 0.8) * (1.5 * PELLET_RADIUS + gap),
                0.5 * PELLET_RADIUS,
            ),
        ])],
        ..scene(pellet(), sticky(cohesion), method, step)
    })
}

#[test]
fn a_liquid_bridge_pulls_grains_together_from_within_its_rupture_distance() {
    for (method, step) in methods() {
        let cohesion = laws(3.0 * weight())[2];
        let rupture = cohesion.longest_gap();
        for (gap, meet) in [(0.95 * rupture, true), (1.05 * rupture, false)] {
            let mut world = bridged(gap, cohesion, method.clone(), step);
            run(&mut world, 0.3);
            let [a, b] = [0, 1].map(|i| &world.grains().state()[i]);
            let masses = [0, 1].map(|i| world.grains().mass()[i]);
            let positions = world.grains().position();
            let apart = gap_between(&world);
            if meet {
                assert!(apart < 0.0, "{apart} m: {method:?}");
                // What the pull gave within a millisecond, as a scale.
                let scale = 3.0 * weight() * 1e-3;
                let momentum = a.velocity * masses[0] + b.velocity * masses[1];
                assert!(momentum.length() < 1e-12 * scale, "{momentum}: {method:?}");
                let moment = positions[0] * masses[0] + positions[1] * masses[1];
                let start = DVec3::new(0.6, 0.0, 0.8) * ((1.5 * PELLET_RADIUS + gap) * masses[1]);
                assert!((moment - start).length() < 1e-12 * start.length());
            } else {
                let start = bridged(gap, cohesion, method.clone(), step);
                assert_eq!(apart, gap_between(&start));
                assert_eq!(a.velocity, DVec3::ZERO);
            }
        }
    }
}

/// Gap between the two pellets of [`bridged`], m.
fn gap_between(world: &World) -> f64 {
    world.grains().position()[0].distance(world.grains().position()[1]) - 1.5 * PELLET_RADIUS
}

/// A pillar of pellets, free to collapse on a floor, whose grains attract one
/// another with this multiple of their weight.
fn column(bond_number: f64) -> WorldDef {
    let (width, layers) = (3, 16);
    let spacing = 2.0 * PELLET_RADIUS;
    let layer = width * width;
    let places = (0..layer * layers).map(|k| {
        let [x, y, z] = [k % width, k / width % width, k / layer].map(f64::from);
        // Every layer in the hollows of the one below, some a little aside.
        let aside = DVec3::new((7.0 * y + z).sin(), (5.0 * x - z).cos(), 0.0) * 2e-4;
        let shift = 0.5 * (z % 2.0);
        DVec3::new(x + shift, y + shift, 0.71 * z) * spacing + DVec3::Z * PELLET_RADIUS + aside
    });
    let law = PairLaw {
        friction: 0.3,
        ..sticky(Cohesion::Force(bond_number * weight()))
    };
    WorldDef {
        energy_ledger: true,
        walls: vec![floor()],
        packings: vec![listed(places.map(|x| grain(x, PELLET_RADIUS)).collect())],
        ..scene(pellet(), law, sub_stepped(25), 5e-3)
    }
}

/// Mean height over mean distance from the middle: a slope.
fn steepness(world: &World) -> f64 {
    let positions = world.grains().position();
    let count = positions.len() as f64;
    let middle = positions.iter().sum::<DVec3>() / count;
    let distance = |x: &DVec3| (*x - middle).truncate().length();
    middle.z / (positions.iter().map(distance).sum::<f64>() / count)
}

#[test]
fn a_heap_stands_the_steeper_the_more_its_grains_attract() {
    let slopes = [0.0, 5.0, 20.0].map(|bond_number| {
        let mut world = build(&column(bond_number));
        run(&mut world, 1.0);
        steepness(&world)
    });
    assert!(
        slopes.windows(2).all(|pair| 2.0 * pair[0] < pair[1]),
        "{slopes:?}"
    );
}

#[test]
fn cohesive_runs_have_the_same_bits_on_any_number_of_threads_and_after_a_restart() {
    let mut def = column(5.0);
    def.pairs[0].law.cohesion = laws(5.0 * weight())[2];
    let (mut one, mut three) = (build(&def), build(&def));
    three.set_threads(3);
    run(&mut one, 0.25);
    run(&mut three, 0.25);
    assert_eq!(one.grains().state_hash(), three.grains().state_hash());
    assert_eq!(one.energy(), three.energy());
    let mut restored = World::restore(&def, one.state()).unwrap();
    run(&mut one, 0.25);
    run(&mut restored, 0.25);
    assert_eq!(one.grains().state_hash(), restored.grains().state_hash());
    assert_eq!(one.energy(), restored.energy());
}

#[test]
fn an_attraction_of_zero_is_none() {
    for (method, step) in methods() {
        let def = WorldDef {
            method,
            step,
            ..column(0.0)
        };
        let mut none = def.clone();
        none.pairs[0].law.cohesion = Cohesion::None;
        let (mut zero, mut none) = (build(&def), build(&none));
        run(&mut zero, 0.2);
        run(&mut none, 0.2);
        assert_eq!(zero.grains().state_hash(), none.grains().state_hash());
    }
}

/// A boulder acts on its many small neighbours through copies: all of them
/// feel what pulls on it.
#[test]
fn a_boulder_keeps_the_pellets_that_stick_to_it_and_its_momentum() {
    let boulder = 15.0 * PELLET_RADIUS;
    let count = 300;
    // All on one side, so that the pull on the boulder does not cancel out.
    let pellets = (0..count).map(|k| {
        let z = (f64::from(k) + 0.5) / f64::from(count);
        let (sin, cos) = (f64::from(k) * 2.399_963).sin_cos();
        let across = (1.0 - z * z).sqrt();
        let direction = DVec3::new(across * cos, across * sin, z);
        grain(direction * (boulder + PELLET_RADIUS - 1e-6), PELLET_RADIUS)
    });
    let grains = std::iter::once(grain(DVec3::ZERO, boulder)).chain(pellets);
    let law = sticky(Cohesion::Energy(1.0));
    let def = WorldDef {
        gravity: DVec3::ZERO,
        packings: vec![listed(grains.collect())],
        ..scene(pellet(), law, sub_stepped(25), 2e-3)
    };
    let mut world = build(&def);
    run(&mut world, 0.1);
    let momentum = |world: &World| {
        let grains = world.grains().state().iter().zip(world.grains().mass());
        grains
            .map(|(state, mass)| state.velocity * *mass)
            .sum::<DVec3>()
    };
    // The pull of one pellet over the time, as a scale.
    let scale = 2.0 * PI * PELLET_RADIUS * 0.1;
    assert!(
        momentum(&world).length() < 1e-9 * scale,
        "{}",
        momentum(&world)
    );
    let touching = world.contacts().filter(|(_, p)| p.normal > 0.0).count();
    assert!(touching >= count as usize, "{touching} of {count}");
}

/// Every step, momentum changes by what gravity and the floor give; energy by
/// what the ledger says.
#[test]
fn walls_carry_cohesion_and_the_ledger_closes() {
    for (method, step, bound) in [
        (sub_stepped(25), 1e-3, 1e-3),
        // Forces act on velocities after the impact stage: an error of first
        // order (see `energy_ledger.rs`).
        (whole_step(50, history(0.85)), 2e-4, 0.05),
        (
            Method::Smooth(Smooth {
                substeps: 20,
                ..Default::default()
            }),
            5e-4,
            1e-3,
        ),
    ] {
        let mut def = column(5.0);
        def.method = method.clone();
        def.step = step;
        def.pairs[0].law.cohesion = laws(5.0 * weight())[2];
        // A floor that sinks away from what sticks to it.
        def.walls[0].motion = Motion::Translate {
            velocity: DVec3::new(0.0, 0.0, -0.1),
            start: 0.1,
            stop: 0.2,
        };
        let mut world = build(&def);
        let momentum = |world: &World| {
            let grains = world.grains().state().iter().zip(world.grains().mass());
            grains
                .map(|(state, mass)| state.velocity * *mass)
                .sum::<DVec3>()
        };
        let mass: f64 = world.grains().mass().iter().sum();
        while world.time() < 0.3 {
            let before = momentum(&world);
            world.step().unwrap();
            let given = (world.gravity() * mass - world.walls()[0].load.force) * step;
            let change = momentum(&world) - before;
            assert!(
                (change - given).length() < 1e-9 * mass * G * step,
                "{method:?}"
            );
        }
        let ledger = world.energy().unwrap();
        let kinetic = world.grains().kinetic_energy();
        let error = ledger.imbalance(kinetic) / ledger.throughput(kinetic);
        assert!(error.abs() < bound, "{error}: {ledger:?}, {method:?}");
        // More than what the ledger is allowed to miss in substeps.
        assert!(ledger.cohesion.abs() > 5e-3 * ledger.gravity, "{ledger:?}");
    }
}

#[test]
fn impossible_numbers_are_refused_by_name() {
    let liquid = |volume, surface_tension, contact_angle| Cohesion::Liquid {
        volume,
        surface_tension,
        contact_angle,
    };
    for (cohesion, key) in [
        (Cohesion::Force(-1.0), "force"),
        (Cohesion::Energy(f64::NAN), "energy"),
        (liquid(-1e-9, 0.07, 0.0), "liquid"),
        (liquid(1e-9, f64::INFINITY, 0.0), "surface_tension"),
        (liquid(1e-9, 0.07, 2.0), "contact_angle"),
    ] {
        let mut def = column(0.0);
        def.pairs[0].law.cohesion = cohesion;
        let error = World::new(&def).err().map(|error| error.to_string());
        let path = format!("pair.0.cohesion.{key}");
        assert!(
            error.as_ref().is_some_and(|e| e.contains(&path)),
            "{error:?}"
        );
    }
}

/// A box of 40 × 20 × 20 mm and a bead over its upper face, 15 mm off its centre, without gravity.
fn box_and_bead(cohesion: Cohesion, gap: f64) -> World {
    let mut def = scene(
        material(2500.0, 1e7, 0.25),
        sticky(cohesion),
        sub_stepped(25),
        1e-4,
    );
    def.gravity = DVec3::ZERO;
    def.energy_ledger = true;
    let shape = BodyShape::Box {
        half_edges: DVec3::new(0.02, 0.01, 0.01),
    };
    let radius = 5e-3;
    let boxes = PackingDef {
        shape: Some(ShapeUse {
            shape: 0,
            orientation: Orientation::Given(DQuat::IDENTITY),
        }),
        ..listed(vec![grain(DVec3::ZERO, shape.volume_radius())])
    };
    let bead = listed(vec![grain(
        DVec3::new(0.015, 0.0, 0.01 + radius + gap),
        radius,
    )]);
    def.shapes = vec![shape];
    def.packings = vec![boxes, bead];
    build(&def)
}

/// A liquid bridge pulls where it is, not at the centre of the box.
#[test]
fn cohesion_turns_a_box_as_the_torque_of_its_contact_says() {
    let water = Cohesion::Liquid {
        volume: 1e-9,
        surface_tension: 0.072,
        contact_angle: 0.0,
    };
    let mut world = box_and_bead(water, 5e-4);
    world.step().expect("a step");
    let grains = world.grains();
    let pulled = grains.mass()[1] * grains.state()[1].velocity;
    assert!(pulled.z < 0.0 && pulled.x.abs() < 1e-12 * pulled.z.abs());
    let moment = grains.mass()[0] / 3.0 * (0.02 * 0.02 + 0.01 * 0.01);
    let expected = 0.015 * pulled.z / moment;
    let turned = grains.state()[0].angular_velocity;
    assert!(relative(turned.y, expected) < 1e-4, "{turned} {expected}");
}

/// Attraction and repulsion of one contact act at one point: what they hold does not turn itself.
#[test]
fn a_bead_that_sticks_to_a_box_off_its_centre_does_not_turn_it() {
    let mut world = box_and_bead(Cohesion::Force(0.05), -1e-8);
    for _ in 0..2000 {
        world.step().expect("a step");
    }
    let grains = world.grains();
    let fastest = grains.state()[0].angular_velocity.length() * 0.02;
    // The pull alone would bring 0.05 N × 15 mm over 0.2 s: some 20 rad/s.
    assert!(fastest < 1e-3, "{:?}", grains.state()[0]);
    assert!(grains.state()[1].velocity.length() < 1e-3);
}
