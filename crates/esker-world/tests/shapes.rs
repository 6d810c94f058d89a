//! Grains that are no spheres.

mod common;

use common::{G, floor, grain, listed, material, scene, wall};
use esker_geometry::{BodyShape, Clump, OpenFaces, Pose, Region, Side, WallShape};
use esker_world::World;
use esker_world::definition::*;
use glam::{DQuat, DVec3};
use std::sync::Arc;

const RADIUS: f64 = 0.05;

/// A sphere of [`RADIUS`] in four disguises.
fn disguises() -> Vec<(&'static str, Option<BodyShape>)> {
    let (clump, _) = Clump::new(&[(DVec3::ZERO, RADIUS)]).expect("one sphere");
    vec![
        ("sphere", None),
        (
            "ellipsoid",
            Some(BodyShape::Ellipsoid {
                semi_axes: DVec3::splat(RADIUS),
            }),
        ),
        (
            "capsule",
            Some(BodyShape::Capsule {
                radius: RADIUS,
                half_length: 0.0,
            }),
        ),
        ("clump", Some(BodyShape::Clump(Arc::new(clump)))),
    ]
}

/// One resting grain of a shape at a place.
fn one(shape: Option<BodyShape>, place: DVec3, orientation: DQuat) -> WorldDef {
    let mut def = scene(
        material(2500.0, 1e7, 0.25),
        PairLaw {
            friction: 0.3,
            ..Default::default()
        },
        Method::default(),
        2e-3,
    );
    let radius = shape.as_ref().map_or(RADIUS, BodyShape::volume_radius);
    def.packings = vec![PackingDef {
        shape: shape.is_some().then_some(ShapeUse {
            shape: 0,
            orientation: Orientation::Given(orientation),
        }),
        ..listed(vec![grain(place, radius)])
    }];
    def.shapes.extend(shape);
    def
}

/// Gives the grain of [`one`] these velocities to start with.
fn start(def: &mut WorldDef, velocity: DVec3, angular_velocity: DVec3) {
    let Placement::Listed { grains } = &def.packings[0].placement else {
        unreachable!("one grain is listed")
    };
    let moving = ListedGrain {
        velocity,
        angular_velocity,
        ..grains[0]
    };
    def.packings[0].placement = listed(vec![moving]).placement;
}

fn world(def: &WorldDef) -> World {
    World::new(def).expect("a valid world")
}

fn run(world: &mut World, time: f64) {
    while world.time() < time - 1e-9 {
        world.step().expect("a step");
    }
}

/// A sphere that slides on a plane ends up rolling with 5/7 of its speed, whatever it
/// is called.
#[test]
fn a_sphere_in_disguise_slides_and_rolls_like_a_sphere() {
    let mut ends = Vec::new();
    for (name, shape) in disguises() {
        let mut def = one(shape, DVec3::Z * RADIUS, DQuat::IDENTITY);
        def.walls = vec![floor()];
        // Stiff: arms are shorter than the radius by half of the overlap.
        def.materials[0].young = 1e9;
        def.packings[0].velocity = DVec3::X * 2.0;
        let mut world = world(&def);
        run(&mut world, 1.0);
        let state = &world.grains().state()[0];
        let kept = state.velocity.x / 2.0;
        assert!((kept - 5.0 / 7.0).abs() < 2e-3, "{name}: {kept}");
        assert!(
            (state.angular_velocity.y * RADIUS / state.velocity.x - 1.0).abs() < 2e-3,
            "{name}"
        );
        ends.push((name, world.grains().position()[0]));
    }
    for (name, end) in &ends[1..] {
        let apart = end.distance(ends[0].1);
        assert!(apart < 1e-3 * ends[0].1.x, "{name}: {apart} m");
    }
}

/// `δ = (m g/k)^(2/3)` with Hertz's stiffness of an ellipse: R = 0.18 and 0.045 m at the
/// poles y and z of the axes 0.09, 0.05, 0.1 m, with factors 1.0009 and 1.0287.
#[test]
fn an_ellipsoid_sinks_into_a_plane_as_its_curvatures_say() {
    let semi_axes = DVec3::new(0.09, 0.05, 0.1);
    let poles = [
        (
            DQuat::from_rotation_x(-std::f64::consts::FRAC_PI_2),
            0.05,
            0.18,
            1.0009,
        ),
        (DQuat::IDENTITY, 0.1, 0.045, 1.0287),
    ];
    for (orientation, height, radius, factor) in poles {
        let shape = BodyShape::Ellipsoid { semi_axes };
        let mut def = one(Some(shape), DVec3::Z * height, orientation);
        def.walls = vec![floor()];
        // A pole on the long side is an unstable rest: none turns without friction's help.
        def.rotation = false;
        let mut world = world(&def);
        run(&mut world, 2.0);
        let modulus = 1e7 / (2.0 * (1.0 - 0.25 * 0.25));
        let stiffness = 4.0 / 3.0 * modulus * f64::sqrt(radius) * factor;
        let expected = (world.grains().mass()[0] * G / stiffness).powf(2.0 / 3.0);
        let overlap = height - world.grains().position()[0].z;
        assert!(
            (overlap / expected - 1.0).abs() < 2e-3,
            "{overlap} {expected}"
        );
    }
}

fn angular_momentum(world: &World) -> DVec3 {
    let grains = world.grains();
    (0..grains.len())
        .map(|i| {
            let state = &grains.state()[i];
            let own = match grains.shape_of(i) {
                Some(shape) => shape.inertia(grains.orientation()[i]) * state.angular_velocity,
                None => state.angular_velocity / state.inverse_inertia,
            };
            own + grains.position()[i].cross(state.velocity) * grains.mass()[i]
        })
        .sum()
}

fn momentum(world: &World) -> DVec3 {
    let grains = world.grains();
    (0..grains.len())
        .map(|i| grains.state()[i].velocity * grains.mass()[i])
        .sum()
}

/// A box thrown into the air tumbles with the angular momentum and the energy of rotation
/// that it started with.
#[test]
fn a_thrown_box_keeps_its_angular_momentum() {
    let shape = BodyShape::Box {
        half_edges: DVec3::new(0.1, 0.05, 0.02),
    };
    let mut def = one(Some(shape), DVec3::ZERO, DQuat::from_rotation_y(0.4));
    def.gravity = DVec3::ZERO;
    start(&mut def, DVec3::ZERO, DVec3::new(1.0, 12.0, -2.0));
    let mut world = world(&def);
    let (before, energy) = (angular_momentum(&world), world.grains().kinetic_energy());
    let start = world.grains().orientation()[0];
    run(&mut world, 5.0);
    let drift = (angular_momentum(&world) - before).length() / before.length();
    assert!(drift < 1e-11, "{drift}");
    assert!((world.grains().kinetic_energy() / energy - 1.0).abs() < 1e-3);
    assert!(world.grains().orientation()[0].dot(start).abs() < 0.999);
}

/// A few hundred grains of four shapes that fall into a cup.
fn cup_of_shapes() -> WorldDef {
    let mut def = scene(
        material(2500.0, 1e8, 0.25),
        PairLaw {
            friction: 0.4,
            restitution: 0.3,
            ..Default::default()
        },
        Method::default(),
        1e-3,
    );
    let (clump, _) = Clump::new(&[
        (DVec3::ZERO, 4e-3),
        (DVec3::X * 5e-3, 3e-3),
        (DVec3::new(2e-3, 4e-3, 0.0), 3e-3),
    ])
    .expect("three spheres");
    def.shapes = vec![
        BodyShape::Ellipsoid {
            semi_axes: DVec3::new(6e-3, 4e-3, 3e-3),
        },
        BodyShape::Capsule {
            radius: 3e-3,
            half_length: 3e-3,
        },
        BodyShape::Clump(Arc::new(clump)),
    ];
    def.walls = vec![wall(
        WallShape::Cylinder {
            radius: 0.04,
            length: 0.2,
            side: Side::Inside,
            open: OpenFaces::NONE,
        },
        Pose::from_position(DVec3::Z * 0.1),
    )];
    let layer = |shape: Option<usize>, k: usize| PackingDef {
        material: 0,
        shape: shape.map(|shape| ShapeUse {
            shape,
            orientation: Orientation::Random,
        }),
        velocity: DVec3::ZERO,
        placement: Placement::Random {
            region: Region::Cylinder {
                radius: 0.035,
                length: 0.035,
                pose: Pose::from_position(DVec3::Z * (0.025 + 0.04 * k as f64)),
            },
            count: 40,
            sizes: SizeDistribution::Uniform {
                min: 3.5e-3,
                max: 4.5e-3,
            },
        },
    };
    def.packings = vec![
        layer(Some(0), 0),
        layer(Some(1), 1),
        layer(None, 2),
        layer(Some(2), 3),
    ];
    def
}

#[test]
fn mixed_shapes_have_the_same_bits_on_any_thread_count() {
    let hash = |threads: usize| {
        let mut world = world(&cup_of_shapes());
        world.set_threads(threads);
        run(&mut world, 0.12);
        world.grains().state_hash()
    };
    let one = hash(1);
    for threads in [2, 3, 7] {
        assert_eq!(hash(threads), one, "{threads} threads");
    }
}

#[test]
fn mixed_shapes_continue_from_a_saved_state_with_the_same_bits() {
    let def = cup_of_shapes();
    let mut through = world(&def);
    let mut resumed = world(&def);
    for k in 0..100 {
        through.step().expect("a step");
        resumed.step().expect("a step");
        if k % 7 == 0 {
            resumed = World::restore(&def, resumed.state()).expect("a state");
        }
        assert_eq!(
            through.grains().state_hash(),
            resumed.grains().state_hash(),
            "step {k}"
        );
    }
}

/// Two ellipsoids that collide off centre in empty space.
#[test]
fn a_collision_of_ellipsoids_keeps_momentum_and_angular_momentum() {
    let shape = BodyShape::Ellipsoid {
        semi_axes: DVec3::new(0.06, 0.04, 0.03),
    };
    let mut errors = Vec::new();
    for step in [1e-3, 5e-4] {
        let place = DVec3::new(-0.07, 0.0, 0.0);
        let mut def = one(Some(shape.clone()), place, DQuat::from_rotation_z(0.7));
        def.gravity = DVec3::ZERO;
        def.step = step;
        def.pairs[0].law.restitution = 0.5;
        def.packings[0].velocity = DVec3::X;
        let mut other = def.packings[0].clone();
        other.velocity = DVec3::NEG_X;
        let place = DVec3::new(0.07, 0.02, 0.01);
        other.placement = listed(vec![grain(place, shape.volume_radius())]).placement;
        def.packings.push(other);
        let mut world = world(&def);
        let before = (momentum(&world), angular_momentum(&world));
        run(&mut world, 0.2);
        let scale = world.grains().mass()[0];
        assert!((momentum(&world) - before.0).length() < 1e-13 * scale);
        assert!(world.grains().state()[0].velocity.x < 0.0, "they have met");
        errors.push((angular_momentum(&world) - before.1).length() / before.1.length());
    }
    // Contacts are frozen over a step, about the pose of its middle.
    assert!(errors.iter().all(|e| *e < 2e-3), "{errors:?}");
}

#[test]
fn shapes_in_a_cup_lose_energy_and_come_to_rest() {
    let mut def = cup_of_shapes();
    def.pairs[0].law.restitution = 0.0;
    let mut world = world(&def);
    let potential = |world: &World| -> f64 {
        let g = world.grains();
        (0..g.len())
            .map(|i| g.mass()[i] * G * g.position()[i].z)
            .sum()
    };
    let start = potential(&world);
    let mut last = start;
    let mut worst: f64 = 0.0;
    for _ in 0..800 {
        let report = world.step().expect("a step");
        let energy = potential(&world) + world.grains().kinetic_energy();
        assert!(energy < last + 2e-3 * start, "{energy} J after {last} J");
        last = energy;
        if world.time() > 0.5 {
            worst = worst.max(report.max_overlap);
        }
    }
    let weight: f64 = world.grains().mass().iter().sum::<f64>() * G;
    let load = -world.walls()[0].load.force.z;
    assert!((load / weight - 1.0).abs() < 1e-2, "{load} N of {weight} N");
    assert!(world.grains().kinetic_energy() < 1e-5 * start, "at rest");
    assert!(worst < 0.02, "overlap {worst}");
    let lost = world
        .grains()
        .position()
        .iter()
        .filter(|x| x.z < 0.0 || x.truncate().length() > 0.04);
    assert_eq!(lost.count(), 0, "all are in the cup");
}

/// A box on a plane under gravity that is turned slowly: it slides where tan = µ, and
/// on a steeper slope with `g (sin − µ cos)`.
#[test]
fn a_box_slides_when_the_slope_exceeds_friction() {
    let half_edges = DVec3::new(0.1, 0.1, 0.05);
    let mut def = one(
        Some(BodyShape::Box { half_edges }),
        DVec3::Z * 0.05,
        DQuat::IDENTITY,
    );
    def.materials[0].young = 1e8;
    def.pairs[0].law.friction = 0.5;
    def.walls = vec![floor()];
    let slope = |degrees: f64| {
        let (sin, cos) = degrees.to_radians().sin_cos();
        DVec3::new(G * sin, 0.0, -G * cos)
    };
    let speed_after = |degrees: f64, time: f64| {
        let mut def = def.clone();
        def.gravity = slope(degrees);
        let mut world = world(&def);
        run(&mut world, time);
        let state = world.grains().state()[0];
        assert!(
            state.angular_velocity.length() < 1e-3,
            "{}",
            state.angular_velocity
        );
        state.velocity.x
    };
    // arctan 0.5 is 26.565°.
    assert!(speed_after(15.0, 1.0).abs() < 1e-5);
    assert!(speed_after(26.3, 1.0).abs() < 1e-3);
    let exact = slope(35.0).x + 0.5 * slope(35.0).z;
    let measured = speed_after(35.0, 2.0) - speed_after(35.0, 1.0);
    assert!((measured / exact - 1.0).abs() < 1e-3, "{measured} {exact}");
}

/// A slender box on a slope tips where its width over its height says: 18.435° for
/// 1 : 3.
#[test]
fn a_box_tips_when_its_weight_passes_its_edge() {
    let half_edges = DVec3::new(0.1, 0.1, 0.3);
    let mut def = one(
        Some(BodyShape::Box { half_edges }),
        DVec3::Z * 0.3,
        DQuat::IDENTITY,
    );
    def.materials[0].young = 1e8;
    def.pairs[0].law.friction = 2.0;
    def.walls = vec![floor()];
    let tips = |degrees: f64| {
        let mut def = def.clone();
        let (sin, cos) = degrees.to_radians().sin_cos();
        def.gravity = DVec3::new(G * sin, 0.0, -G * cos);
        let mut world = world(&def);
        run(&mut world, 3.0);
        (world.grains().orientation()[0] * DVec3::Z).z < 0.9
    };
    assert!(!tips(17.5));
    assert!(tips(18.6));
}

/// Ten cubes on top of one another stand still, and sink by what their law says.
#[test]
fn a_stack_of_ten_cubes_stands() {
    let edge = 0.2;
    let shape = BodyShape::Box {
        half_edges: DVec3::splat(0.5 * edge),
    };
    let radius = shape.volume_radius();
    let mut def = one(Some(shape), DVec3::ZERO, DQuat::IDENTITY);
    def.materials[0].young = 1e8;
    def.materials[0].density = 1000.0;
    def.pairs[0].law.friction = 0.5;
    def.walls = vec![floor()];
    let cubes = (0..10).map(|k| grain(DVec3::Z * (edge * (f64::from(k) + 0.5)), radius));
    def.packings[0].placement = listed(cubes.collect()).placement;
    let mut world = world(&def);
    run(&mut world, 4.0);
    let grains = world.grains();
    let fastest = grains
        .state()
        .iter()
        .map(|s| s.velocity.length())
        .fold(0.0, f64::max);
    assert!(fastest < 1e-4, "{fastest} m/s");
    // Four points of E* r*/2 each, r* half of the radius between two cubes, and the
    // radius itself on the floor.
    let modulus = 1e8 / (2.0 * (1.0 - 0.25 * 0.25));
    let weight = grains.mass()[0] * G;
    let sunk = |k: f64| {
        let effective = if k == 0.0 { radius } else { 0.5 * radius };
        (10.0 - k) * weight / (4.0 * 0.5 * modulus * effective)
    };
    let expected: f64 = (0..10).map(|k| sunk(f64::from(k))).sum();
    let measured = 9.5 * edge - grains.position()[9].z;
    assert!(
        (measured / expected - 1.0).abs() < 0.02,
        "{measured} m, {expected} m"
    );
    for k in 0..10 {
        let aside = grains.position()[k].truncate().length();
        assert!(aside < 1e-4, "cube {k} is {aside} m aside");
    }
}

/// An elliptic section rolls on a plane without gaining or losing more than 3 % of
/// its energy in two seconds.
#[test]
fn a_rolling_ellipsoid_keeps_its_energy() {
    let semi_axes = DVec3::new(0.075, 0.1, 0.05);
    let shape = BodyShape::Ellipsoid { semi_axes };
    let mut def = one(Some(shape), DVec3::Z * 0.05, DQuat::IDENTITY);
    def.step = 5e-3;
    def.materials[0].young = 9e7;
    def.pairs[0].law.friction = 1.0;
    def.walls = vec![floor()];
    let speed = 0.7;
    start(&mut def, DVec3::X * speed, DVec3::Y * (speed / 0.05));
    let mut world = world(&def);
    let energy = |world: &World| {
        let g = world.grains();
        g.kinetic_energy() + g.mass()[0] * G * (g.position()[0].z - 0.05)
    };
    let start = energy(&world);
    run(&mut world, 2.0);
    let kept = energy(&world) / start;
    assert!(kept > 0.97 && kept <= 1.0, "{kept}");
    assert!(world.grains().position()[0].x > 0.8);
}

/// Boxes that fall on one another in a narrow tube, at random orientations: where edges were
/// nearest, corners that a rotation brought in were missed, and the bodies threw each
/// other apart.
#[test]
fn boxes_that_tumble_onto_each_other_do_not_sink_in() {
    for seed in 1..=3 {
        let mut def = scene(
            material(2500.0, 1e8, 0.25),
            PairLaw {
                friction: 0.0,
                restitution: 0.3,
                ..Default::default()
            },
            Method::default(),
            5e-4,
        );
        def.seed = seed;
        let shape = BodyShape::Box {
            half_edges: DVec3::new(3.1e-3, 2.8e-3, 2.5e-3),
        };
        let radius = shape.volume_radius();
        def.shapes = vec![shape];
        def.walls = vec![wall(
            WallShape::Cylinder {
                radius: 8e-3,
                length: 0.4,
                side: Side::Inside,
                open: OpenFaces::NONE,
            },
            Pose::from_position(DVec3::Z * 0.2),
        )];
        def.packings = vec![PackingDef {
            material: 0,
            shape: Some(ShapeUse {
                shape: 0,
                orientation: Orientation::Random,
            }),
            velocity: DVec3::ZERO,
            placement: Placement::Column {
                base: DVec3::Z * 2e-3,
                direction: DVec3::Z,
                count: 10,
                gap: 1e-3,
                sizes: SizeDistribution::Fixed { radius },
            },
        }];
        let mut world = world(&def);
        let mut worst: f64 = 0.0;
        for _ in 0..800 {
            worst = worst.max(world.step().expect("a step").max_overlap);
        }
        assert!(worst < 0.03, "seed {seed}: {worst} of a diameter");
        assert!(world.grains().kinetic_energy() < 1e-4, "seed {seed}");
    }
}
