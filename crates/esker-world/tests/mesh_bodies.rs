//! Jointed bodies whose surface is a triangle mesh: grains meet them as walls, and push back.

mod common;

use std::f64::consts::TAU;
use std::sync::Arc;

use common::{G, grain, material, run, sub_stepped};
use esker_geometry::{
    BodyMesh, BodyShape, OpenFaces, Pose, Side, TriangleMesh, TriangleSoup, WallShape,
};
use esker_machine::{
    BodyPose, Coordinate, DriveDef, DriveKind, JointCoordinate, JointDef, JointKind, Signal,
};
use esker_world::World;
use esker_world::definition::*;
use glam::{DMat3, DQuat, DVec3};

const LAW: PairLaw = PairLaw {
    normal: NormalLaw::Hertz,
    friction: 0.5,
    rolling: 0.0,
    twisting: 0.0,
    rolling_of_shapes: false,
    restitution: 0.0,
    damping: 0.0,
    cohesion: Cohesion::None,
};

fn cuboid(edges: [f64; 3]) -> BodyShape {
    BodyShape::Box {
        half_edges: DVec3::from(edges) / 2.0,
    }
}

/// The same body with the surface of its shape as a mesh.
fn as_mesh(body: &BodyDef) -> BodyDef {
    let (mesh, frame) = BodyMesh::closed(&body.shape.triangulate()).unwrap();
    let own = BodyDef::new("mesh", BodyShape::Mesh(Arc::new(mesh)), body.mass);
    BodyDef {
        name: body.name.clone(),
        frame: frame.inverse(),
        pose: body.pose,
        ..own
    }
}

/// Holds a body to the ground at a point, along or about an axis.
fn held(body: &BodyDef, kind: JointKind, at: [DVec3; 2]) -> JointDef {
    let centre = body.centre();
    let pose = BodyPose {
        position: centre.position,
        orientation: centre.orientation,
    };
    JointDef::at("joint", kind, [None, Some(0)], (at[0], at[1]), &[pose])
}

fn drive(kind: DriveKind, coordinate: Coordinate, value: f64, limit: Option<f64>) -> DriveDef {
    DriveDef {
        name: "drive".into(),
        coordinate: JointCoordinate {
            joint: 0,
            coordinate,
        },
        kind,
        signal: Signal::Constant(value),
        force_limit: limit,
    }
}

/// A bed of grains in a box under a plate that is pressed down with 40 N.
fn pressed_bed(plate: BodyDef) -> WorldDef {
    let mut def = common::scene(material(2500.0, 5e7, 0.3), LAW, sub_stepped(10), 5e-3);
    def.walls.push(common::wall(
        WallShape::Box {
            half_extents: DVec3::new(0.05, 0.05, 0.2),
            side: Side::Inside,
            open: OpenFaces::NONE,
        },
        Pose::from_position(DVec3::Z * 0.2),
    ));
    let (d, mut grains) = (0.0195, Vec::new());
    for k in 0..100 {
        let place = DVec3::new(
            f64::from(k % 5) - 2.0,
            f64::from(k / 5 % 5) - 2.0,
            0.5 + f64::from(k / 25),
        );
        let jitter = |n: i32| (f64::from(k * n) * 0.7).sin() * 1e-4;
        let place = place * (d * 1.02) + DVec3::new(jitter(3), jitter(5), 0.0);
        grains.push(grain(place, d / 2.0));
    }
    def.packings = vec![common::listed(grains)];
    let guide = [DVec3::Z * 0.1, -DVec3::Z];
    def.joints = vec![held(&plate, JointKind::Prismatic, guide)];
    def.bodies = vec![plate];
    let servo = DriveKind::DampedForce { damping: 400.0 };
    def.drives = vec![drive(servo, Coordinate::Slide, 40.0, None)];
    def
}

fn plate(mass: f64) -> BodyDef {
    BodyDef {
        pose: Pose::from_position(DVec3::Z * 0.1),
        ..BodyDef::new("plate", cuboid([0.09, 0.09, 0.01]), mass)
    }
}

/// Mean force on the first body over a time, N.
fn force_on_body(world: &mut World, seconds: f64) -> DVec3 {
    let (start, before) = (world.time(), world.bodies()[0].total_load.impulse);
    run(world, seconds);
    (world.bodies()[0].total_load.impulse - before) / (world.time() - start)
}

/// Whatever a plate weighs, as a mesh it rests on the bed as it does as a box: the bed carries
/// force and weight.
#[test]
fn a_plate_rests_on_a_bed_as_a_mesh_as_it_does_as_a_box() {
    for mass in [0.01, 0.3, 10.0] {
        let ends = [plate(mass), as_mesh(&plate(mass))].map(|plate| {
            let mut world = World::new(&pressed_bed(plate)).unwrap();
            run(&mut world, 3.0);
            let [velocity, _] = world.body_velocity(0);
            assert!(velocity.length() < 1e-4, "{mass} kg: {velocity}");
            let force = force_on_body(&mut world, 0.1).z;
            let expected = 40.0 + mass * G;
            assert!((force - expected).abs() < 0.01, "{mass} kg: {force}");
            assert!(world.joint(0).violation.distance < 1e-8);
            world.body_pose(0).position.z
        });
        // The bed may rearrange, by less than its grains.
        let difference = (ends[0] - ends[1]).abs();
        assert!(difference < 2e-3, "{mass} kg: {ends:?}");
        assert!(ends[1] > 0.06, "{mass} kg: {ends:?}");
    }
}

/// A ball bounces off a hinged rod as the restitution and the rod's inertia about the hinge say.
#[test]
fn a_ball_bounces_off_a_hinged_mesh() {
    let (radius, density, speed, lever) = (0.05, 2000.0, 2.0, 0.7);
    for restitution in [0.0, 0.5, 0.9] {
        let law = PairLaw {
            restitution,
            friction: 0.0,
            ..LAW
        };
        let mut def = common::scene(material(density, 1e9, 0.3), law, sub_stepped(10), 1e-3);
        def.gravity = DVec3::ZERO;
        let rod = BodyDef {
            pose: Pose::from_position(DVec3::Z * -0.5),
            ..BodyDef::new("rod", cuboid([0.1, 0.1, 1.0]), 3.0)
        };
        let rod = as_mesh(&rod);
        def.joints = vec![held(&rod, JointKind::Revolute, [DVec3::ZERO, DVec3::Y])];
        def.bodies = vec![rod];
        def.packings = vec![common::listed(vec![ListedGrain {
            velocity: DVec3::X * speed,
            ..grain(DVec3::new(-0.05 - radius - 0.0207, 0.0, -lever), radius)
        }])];
        let mut world = World::new(&def).unwrap();
        run(&mut world, 0.02);
        let mass = common::sphere_mass(density, radius);
        let inertia = 3.0 * (1.0 / 3.0 + 0.1 * 0.1 / 12.0);
        let impulse = (1.0 + restitution) * speed / (1.0 / mass + lever * lever / inertia);
        let ball = world.grains().state()[0].velocity.x;
        let turning = world.body_velocity(0)[1].y;
        let expected = [speed - impulse / mass, -impulse * lever / inertia];
        assert!(
            (ball - expected[0]).abs() < 0.01 * speed,
            "e = {restitution}: ball {ball}, {expected:?}"
        );
        assert!(
            (turning / expected[1] - 1.0).abs() < 0.01,
            "e = {restitution}: rod {turning}, {expected:?}"
        );
        // Along x only the hinge acts on both from outside.
        let gained = 3.0 * world.body_velocity(0)[0].x + mass * (ball - speed);
        let hinge = world.joint(0).impulse.linear.x;
        assert!((hinge - gained).abs() < 1e-6 * impulse);
    }
}

/// A tube about the y axis with ribs inside: thin, open and not convex.
fn ribbed_drum() -> TriangleSoup {
    let (facets, radius, half_length) = (24_u32, 0.1, 0.02);
    let mut soup = TriangleSoup::default();
    let mut fan = |corners: &[DVec3]| {
        let first = soup.vertices.len() as u32;
        soup.vertices.extend(corners);
        let count = corners.len() as u32;
        let triangles = (2..count).map(|k| [first, first + k - 1, first + k]);
        soup.triangles.extend(triangles);
    };
    let at = |k: u32, radius: f64, y: f64| {
        let (sin, cos) = (TAU * f64::from(k) / f64::from(facets)).sin_cos();
        DVec3::new(radius * cos, y, radius * sin)
    };
    for k in 0..facets {
        let [left, right] = [-half_length, half_length];
        fan(&[
            at(k, radius, left),
            at(k, radius, right),
            at(k + 1, radius, right),
            at(k + 1, radius, left),
        ]);
        if k % 6 == 0 {
            let inner = 0.85 * radius;
            fan(&[
                at(k, radius, left),
                at(k, radius, right),
                at(k, inner, right),
                at(k, inner, left),
            ]);
        }
        for y in [left, right] {
            fan(&[at(k, radius, y), at(k + 1, radius, y), DVec3::Y * y]);
        }
    }
    soup
}

/// Grains in the drum: a body on a motor, or a wall that turns as fast.
fn turning_drum(as_body: bool) -> WorldDef {
    let mut def = common::scene(material(2500.0, 5e7, 0.3), LAW, sub_stepped(10), 2e-3);
    let rate = 2.0;
    if as_body {
        // What a thin drum of 5 kg has, near enough: the motor holds its velocity.
        let inertia = DMat3::from_diagonal(DVec3::new(6e-3, 1e-2, 6e-3));
        let hollow = BodyMesh::hollow(&ribbed_drum()).unwrap();
        let made = hollow.with_inertia(Pose::IDENTITY, DVec3::ZERO, inertia);
        let (mesh, frame) = made.unwrap();
        let drum = BodyDef {
            frame: frame.inverse(),
            ..BodyDef::new("drum", BodyShape::Mesh(Arc::new(mesh)), 5.0)
        };
        def.joints = vec![held(&drum, JointKind::Revolute, [DVec3::ZERO, DVec3::Y])];
        def.bodies = vec![drum];
        let motor = DriveKind::VelocityMotor;
        def.drives = vec![drive(motor, Coordinate::Angle, rate, Some(100.0))];
    } else {
        let mesh = TriangleMesh::new(ribbed_drum()).unwrap();
        def.walls.push(WallDef {
            motion: Motion::Rotate {
                axis: DVec3::Y,
                centre: DVec3::ZERO,
                rate,
                start: 0.0,
                stop: f64::INFINITY,
            },
            ..WallDef::new("drum", WallShape::Mesh(Arc::new(mesh)), Pose::IDENTITY)
        });
    }
    let d = 0.012;
    let grains = (0..108).map(|k| {
        let place = DVec3::new(
            f64::from(k % 9) - 4.0,
            f64::from(k / 9 % 3) - 1.0,
            f64::from(k / 27) - 3.0,
        );
        let jitter = (f64::from(k) * 0.7).sin() * 1e-4;
        grain(place * (d * 1.03) + DVec3::splat(jitter), d / 2.0)
    });
    def.packings = vec![common::listed(grains.collect())];
    def
}

/// A motor turns a drum with ribs as a body: it carries its grains as the same drum does as a
/// wall with a given motion, takes the same torque, and loses none.
#[test]
fn a_drum_on_a_motor_carries_grains_as_a_driven_wall_does() {
    let carried = [true, false].map(|as_body| {
        let mut world = World::new(&turning_drum(as_body)).unwrap();
        run(&mut world, 1.0);
        let totals = |world: &World| match as_body {
            true => world.bodies()[0].total_load,
            false => world.walls()[0].total_load,
        };
        let before = totals(&world);
        let (mut centre, mut steps) = (DVec3::ZERO, 0.0);
        let end = world.time() + 6.0;
        while world.time() < end {
            world.step().unwrap();
            let places = world.grains().position();
            centre += places.iter().sum::<DVec3>() / places.len() as f64;
            steps += 1.0;
        }
        assert!(world.grains().position().iter().all(|x| x.length() < 0.11));
        let after = totals(&world);
        let weight = common::sphere_mass(2500.0, 0.006) * 108.0 * G;
        let force = (after.impulse - before.impulse) / 6.0;
        assert!((force.z / -weight - 1.0).abs() < 0.02, "{force}");
        let torque = (after.angular_impulse - before.angular_impulse).y / 6.0;
        if as_body {
            let motor = world.drive(0).impulse / world.time();
            assert!((motor / -torque - 1.0).abs() < 0.15, "{motor} {torque}");
            let turned = world.joint_coordinate(JointCoordinate {
                joint: 0,
                coordinate: Coordinate::Angle,
            });
            assert!((turned.unwrap() / (2.0 * world.time()) - 1.0).abs() < 1e-3);
        }
        (centre / steps, torque)
    });
    let [(body_centre, body_torque), (wall_centre, wall_torque)] = carried;
    let apart = body_centre.distance(wall_centre);
    assert!(apart < 3e-3, "{body_centre} {wall_centre}");
    assert!(
        (body_torque / wall_torque - 1.0).abs() < 0.08,
        "{body_torque} {wall_torque}"
    );
}

/// The same bits on any number of threads, and after a restart.
#[test]
fn mesh_bodies_keep_their_bits_on_threads_and_after_restart() {
    for def in [turning_drum(true), pressed_bed(as_mesh(&plate(0.3)))] {
        let hash = |threads: usize| {
            let mut world = World::new(&def).unwrap();
            world.set_threads(threads);
            run(&mut world, 0.4);
            world.grains().state_hash()
        };
        let one = hash(1);
        assert!([2, 3, 7].iter().all(|&n| hash(n) == one));
        let mut world = World::new(&def).unwrap();
        run(&mut world, 0.2);
        let mut other = World::restore(&def, world.state()).unwrap();
        run(&mut world, 0.2);
        run(&mut other, 0.2);
        assert_eq!(world.grains().state_hash(), one);
        assert_eq!(other.grains().state_hash(), one);
        assert_eq!(world.state().machines, other.state().machines);
    }
}

/// Grains of other shapes meet a mesh as they meet a wall that is one.
#[test]
fn grains_of_other_shapes_rest_on_a_mesh() {
    let shapes = [
        (cuboid([0.04, 0.04, 0.02]), 0.01),
        (
            BodyShape::Capsule {
                radius: 0.01,
                half_length: 0.02,
            },
            0.01,
        ),
        (
            BodyShape::Ellipsoid {
                semi_axes: DVec3::new(0.02, 0.02, 0.01),
            },
            0.01,
        ),
    ];
    for (shape, height) in shapes {
        let mut def = common::scene(material(2500.0, 5e8, 0.3), LAW, sub_stepped(20), 2e-3);
        let table = BodyDef::new("table", cuboid([0.3, 0.3, 0.02]), 4.0);
        let table = as_mesh(&table);
        def.joints = vec![held(&table, JointKind::Fixed, [DVec3::ZERO, DVec3::Z])];
        def.bodies = vec![table];
        let turn = match shape {
            BodyShape::Capsule { .. } => DQuat::from_rotation_x(TAU / 4.0),
            _ => DQuat::IDENTITY,
        };
        def.shapes = vec![shape.clone()];
        let radius = shape.volume_radius();
        def.packings = vec![PackingDef {
            shape: Some(ShapeUse {
                shape: 0,
                orientation: Orientation::Given(turn),
            }),
            ..common::listed(vec![grain(DVec3::Z * (0.011 + height), radius)])
        }];
        let mut world = World::new(&def).unwrap();
        run(&mut world, 0.5);
        let place = world.grains().position()[0];
        assert!((place.z - 0.01 - height).abs() < 1e-4, "{shape:?}: {place}");
        let mass = world.grains().mass()[0];
        let force = world.bodies()[0].load.force.z;
        assert!(
            (force / (-mass * G) - 1.0).abs() < 0.01,
            "{shape:?}: {force}"
        );
    }
}

/// A mesh that nothing holds would fall through every floor.
#[test]
fn a_mesh_that_nothing_holds_is_refused() {
    let mut def = pressed_bed(as_mesh(&plate(0.3)));
    def.joints.clear();
    def.drives.clear();
    let error = World::new(&def).err().unwrap().to_string();
    assert!(error.contains("nothing holds the body"), "{error}");
}
