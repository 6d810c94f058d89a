//! Bodies of their own: how forces, torques and contacts move them, what is locked stays, what
//! they leave behind.

mod common;

use std::sync::Arc;

use common::{grain, material};
use esker_geometry::{BodyShape, Compound, Pose};
use esker_world::check::find_problems;
use esker_world::definition::*;
use esker_world::{BodyKind, World};
use glam::{DQuat, DVec3};

fn methods() -> [Method; 3] {
    let whole = |solver: Solver| {
        Method::WholeStep(WholeStep {
            solver,
            sweeps: 400,
            tolerance: Some(1e-9),
            ..Default::default()
        })
    };
    [
        Method::default(),
        whole(Solver::Sweep),
        whole(Solver::Named("newton".into())),
    ]
}

fn scene(method: Method, law: PairLaw, bodies: Vec<BodyDef>) -> WorldDef {
    WorldDef {
        bodies,
        ..common::scene(material(2000.0, 1e9, 0.3), law, method, 1e-3)
    }
}

fn floor() -> WallDef {
    WallDef {
        name: "floor".into(),
        ..common::floor()
    }
}

fn cuboid(edges: [f64; 3]) -> BodyShape {
    BodyShape::Box {
        half_edges: DVec3::from(edges) / 2.0,
    }
}

fn block() -> BodyDef {
    BodyDef {
        pose: Pose::from_position(DVec3::Z * 0.05),
        ..BodyDef::new("block", cuboid([0.2, 0.2, 0.1]), 10.0)
    }
}

fn listed(grains: Vec<(DVec3, f64, DVec3)>) -> PackingDef {
    let moving = |(position, radius, velocity): (DVec3, f64, DVec3)| ListedGrain {
        velocity,
        ..grain(position, radius)
    };
    common::listed(grains.into_iter().map(moving).collect())
}

fn run(world: &mut World, steps: usize) {
    for _ in 0..steps {
        world.step().unwrap();
    }
}

const RUBBER: PairLaw = PairLaw {
    normal: NormalLaw::Hertz,
    friction: 0.4,
    rolling: 0.0,
    twisting: 0.0,
    rolling_of_shapes: false,
    restitution: 0.0,
    damping: 0.0,
    cohesion: Cohesion::None,
};
const ICE: PairLaw = PairLaw {
    friction: 0.0,
    ..RUBBER
};

/// 10 kg with friction 0.4: below 39.24 N it holds, and above the rest accelerates it. The floor
/// carries the weight, and the body feels the floor.
#[test]
fn a_pushed_block_holds_or_slides_and_its_contact_force_is_known() {
    for method in methods() {
        for (push, acceleration) in [(30.0, 0.0), (60.0, (60.0 - 0.4 * 98.1) / 10.0)] {
            let body = BodyDef {
                force: VectorOfTime::Constant(DVec3::X * push),
                ..block()
            };
            let mut def = scene(method.clone(), RUBBER, vec![body]);
            def.walls.push(floor());
            let mut world = World::new(&def).unwrap();
            run(&mut world, 200);
            let before = world.body_velocity(0)[0].x;
            run(&mut world, 300);
            let got = (world.body_velocity(0)[0].x - before) / 0.3;
            assert!(
                (got - acceleration).abs() < 2e-4,
                "{push} N: {got} {method:?}"
            );
            let load = world.bodies()[0].load;
            let friction = f64::min(push, 0.4 * 98.1);
            assert!((load.force.z / 98.1 - 1.0).abs() < 1e-3, "{load:?}");
            assert!((load.force.x / friction + 1.0).abs() < 1e-3, "{load:?}");
            let floor = world.walls()[0].load;
            assert!((floor.force + load.force).length() < 1e-9 * 98.1);
        }
    }
}

/// Whatever a row is, it is read in one way; what contacts give to one row they take from others.
#[test]
fn grains_bodies_and_walls_are_rows_of_one_table() {
    let mut def = scene(Method::default(), RUBBER, vec![block()]);
    def.walls.push(WallDef {
        surface_velocity: DVec3::X * 0.3,
        ..floor()
    });
    def.packings.push(listed(vec![(
        DVec3::new(0.5, 0.0, 0.02),
        0.02,
        DVec3::ZERO,
    )]));
    let mut world = World::new(&def).unwrap();
    run(&mut world, 300);
    let table = world.table();
    let kinds = [BodyKind::Grain(0), BodyKind::Body(0), BodyKind::Wall(0)];
    assert_eq!(table.count(), kinds.len());
    for (row, kind) in kinds.into_iter().enumerate() {
        assert_eq!((table.kind(row), table.row(kind)), (kind, row));
        assert_eq!(table.find(table.id(row)), Some(row));
    }
    let names: Vec<_> = table.named_rows().map(|row| table.name(row)).collect();
    assert_eq!(names, [Some("floor"), Some("block")]);
    assert_eq!(table.name(0), None);
    assert_eq!(table.pose(1).position, world.body_pose(0).position);
    let pairs: Vec<_> = world.contacts().map(|(c, _)| table.rows_of(c)).collect();
    assert!(
        pairs.contains(&[0, 2]) && pairs.contains(&[1, 2]),
        "{pairs:?}"
    );
    // The belt takes both along: the grain rolls, the block stands on it.
    for (contact, _) in world.contacts() {
        for row in table.rows_of(contact) {
            let velocity = table.surface_velocity_at(row, contact.point, contact.normal);
            assert!(
                (velocity - DVec3::X * 0.3).length() < 1e-3,
                "{row}: {velocity}"
            );
        }
    }
    let force = |row: usize| table.load(row).unwrap().force;
    let weight = world.grains().mass()[0] * world.gravity();
    assert!(table.load(0).is_none());
    assert!((force(2) + force(1) - weight).length() < 1e-6 * force(1).z);
}

#[test]
fn a_table_of_torque_angular_velocities_a_free_body_up_about_its_axis() {
    for method in methods() {
        let turned = DQuat::from_rotation_x(0.4);
        let body = BodyDef {
            pose: Pose::new(DVec3::ZERO, turned),
            torque: VectorOfTime::Table {
                times: vec![0.0, 0.1],
                values: vec![DVec3::ZERO, turned * DVec3::Z * 0.2],
            },
            ..BodyDef::new("top", cuboid([0.2, 0.3, 0.1]), 10.0)
        };
        let moment = body.moments.z;
        let mut def = scene(method, ICE, vec![body]);
        def.gravity = DVec3::ZERO;
        let mut world = World::new(&def).unwrap();
        run(&mut world, 150);
        // ∫ τ dt = ½ 0.1 s 0.2 N m + 0.05 s 0.2 N m.
        let angular_velocity = turned.conjugate() * world.body_velocity(0)[1];
        assert!(
            (angular_velocity - DVec3::Z * 0.02 / moment).length() < 1e-12,
            "{angular_velocity}"
        );
        assert!(world.body_pose(0).position.length() < 1e-15);
    }
}

/// A force acts where the centre of mass is, not where the frame has its origin.
#[test]
fn a_body_is_known_by_the_frame_that_it_is_given_in() {
    let parts = [
        (cuboid([0.2, 0.1, 0.1]), Pose::from_position(DVec3::X * 0.1)),
        (
            cuboid([0.1, 0.1, 0.3]),
            Pose::from_position(DVec3::X * 0.25),
        ),
    ];
    let (compound, frame) = Compound::new(&parts).unwrap();
    let shape = BodyShape::Compound(Arc::new(compound));
    let body = BodyDef {
        frame: frame.inverse(),
        pose: Pose::new(DVec3::new(1.0, 2.0, 3.0), DQuat::from_rotation_y(0.3)),
        force: VectorOfTime::Constant(DVec3::Y * 50.0),
        ..BodyDef::new("hammer", shape, 5.0)
    };
    let start = body.pose;
    let mut def = scene(Method::default(), ICE, vec![body]);
    def.gravity = DVec3::ZERO;
    let mut world = World::new(&def).unwrap();
    let offset = world.body_pose(0).position.distance(start.position);
    assert!(offset < 1e-14, "{offset}");
    run(&mut world, 100);
    let pose = world.body_pose(0);
    assert!(pose.orientation.dot(start.orientation).abs() > 1.0 - 1e-14);
    assert!((world.body_velocity(0)[0] - DVec3::Y).length() < 1e-12);
    assert_eq!(world.body_named("hammer"), Some(0));
}

/// A ball falls on a bar that can only turn about y through its centre: one system with the
/// moment of inertia `I + m d²`.
#[test]
fn contacts_see_the_inverse_mass_of_what_a_locked_body_can_do() {
    let (radius, arm) = (0.02, 0.3);
    for method in methods() {
        let bar = BodyDef {
            locks: Locks {
                translation: [true; 3],
                rotation: [true, false, true],
            },
            ..BodyDef::new("bar", cuboid([0.8, 0.1, 0.04]), 0.5)
        };
        let moment = bar.moments.y;
        let mut def = scene(method.clone(), ICE, vec![bar]);
        def.packings.push(listed(vec![(
            DVec3::new(arm, 0.0, 0.02 + radius),
            radius,
            DVec3::ZERO,
        )]));
        let mass = 2000.0 * 4.0 / 3.0 * std::f64::consts::PI * radius.powi(3);
        let mut world = World::new(&def).unwrap();
        run(&mut world, 20);
        let [velocity, angular_velocity] = world.body_velocity(0);
        assert_eq!(velocity, DVec3::ZERO);
        assert_eq!((angular_velocity.x, angular_velocity.z), (0.0, 0.0));
        // The bar's top is 0.02 m above its axis, which the ball does not feel.
        let expected = mass * 9.81 * arm / (moment + mass * arm * arm) * 0.02;
        assert!(
            (angular_velocity.y / expected - 1.0).abs() < 0.02,
            "{} {expected} {method:?}",
            angular_velocity.y
        );
        assert_eq!(world.body_pose(0).position, DVec3::ZERO);
    }
}

/// What is locked is not moved, not even by gravity, and the rest moves as if nothing were.
#[test]
fn a_body_that_is_locked_in_one_direction_slides_in_the_others() {
    for method in methods() {
        let mut pushed = BodyDef {
            locks: Locks {
                translation: [false, true, true],
                rotation: [true; 3],
            },
            force: VectorOfTime::Constant(DVec3::new(20.0, 30.0, 40.0)),
            ..block()
        };
        pushed.pose.position.z = 0.3;
        let mut def = scene(method, ICE, vec![pushed]);
        // A heavy ball that strikes it obliquely without friction.
        def.packings.push(listed(vec![(
            DVec3::new(0.11, 0.0, 0.42),
            0.05,
            DVec3::new(-0.5, 0.0, -1.0),
        )]));
        let mut world = World::new(&def).unwrap();
        run(&mut world, 100);
        let pose = world.body_pose(0);
        assert_eq!((pose.position.y, pose.position.z), (0.0, 0.3));
        assert_eq!(pose.orientation, DQuat::IDENTITY);
        let load = world.bodies()[0].total_load.impulse;
        assert!(load.z < -0.5, "{load}");
        let [velocity, _] = world.body_velocity(0);
        assert!(
            (velocity.x - (20.0 * 0.1 + load.x) / 10.0).abs() < 1e-9,
            "{velocity} {load}"
        );
    }
}

#[test]
fn bodies_and_grains_conserve_momentum_together() {
    for method in methods() {
        let body = BodyDef {
            velocity: DVec3::new(0.0, 0.0, 1.0),
            angular_velocity: DVec3::new(0.0, 3.0, 1.0),
            ..block()
        };
        let mut def = scene(method, RUBBER, vec![body]);
        def.gravity = DVec3::ZERO;
        let ball = |x: f64, y: f64| (DVec3::new(x, y, 0.15), 0.03, DVec3::new(0.1, 0.0, -1.0));
        def.packings
            .push(listed(vec![ball(0.05, 0.05), ball(-0.06, -0.02)]));
        let mut world = World::new(&def).unwrap();
        let momentum = |world: &World| -> DVec3 {
            let rows = world.grains().state().iter().zip(world.grains().mass());
            rows.map(|(s, m)| s.velocity * *m).sum()
        };
        let (before, first) = (momentum(&world), world.body_velocity(0)[0]);
        run(&mut world, 100);
        assert!((momentum(&world) - before).length() < 1e-12);
        let given = (world.body_velocity(0)[0] - first) * 10.0;
        assert!(given.length() > 0.1);
        assert!((world.bodies()[0].total_load.impulse - given).length() < 1e-9);
    }
}

/// Grains that come and go, a compound, a hinged paddle and a pushed block.
fn busy(method: Method) -> WorldDef {
    let parts = [
        (cuboid([0.2, 0.1, 0.02]), Pose::IDENTITY),
        (
            BodyShape::Sphere { radius: 0.03 },
            Pose::from_position(DVec3::new(0.1, 0.0, 0.03)),
        ),
    ];
    let (compound, frame) = Compound::new(&parts).unwrap();
    let pan = BodyDef {
        frame: frame.inverse(),
        pose: Pose::new(DVec3::new(0.0, 0.0, 0.03), DQuat::from_rotation_y(0.1)),
        ..BodyDef::new("pan", BodyShape::Compound(Arc::new(compound)), 2.0)
    };
    let paddle = BodyDef {
        pose: Pose::from_position(DVec3::new(0.13, 0.0, 0.14)),
        locks: Locks {
            translation: [true, false, true],
            rotation: [true, false, true],
        },
        torque: VectorOfTime::Table {
            times: vec![0.0, 0.05, 0.1],
            values: vec![DVec3::ZERO, DVec3::Y * 0.3, DVec3::Y * -0.3],
        },
        ..BodyDef::new("paddle", cuboid([0.1, 0.1, 0.02]), 0.4)
    };
    let mut def = scene(method, RUBBER, vec![pan, paddle, block()]);
    def.bodies[2].pose.position = DVec3::new(-0.3, 0.0, 0.05);
    def.walls.push(floor());
    def.packings.push(PackingDef {
        material: 0,
        shape: None,
        velocity: DVec3::Z * -1.5,
        placement: Placement::Lattice {
            region: esker_geometry::Region::Box {
                half_extents: DVec3::new(0.12, 0.08, 0.06),
                pose: Pose::from_position(DVec3::Z * 0.27),
            },
            spacing: None,
            jitter: 0.5,
            count: None,
            sizes: SizeDistribution::Uniform {
                min: 0.01,
                max: 0.014,
            },
        },
    });
    def.sinks.push(SinkDef {
        name: "bin".into(),
        region: esker_geometry::Region::Box {
            half_extents: DVec3::splat(0.03),
            pose: Pose::from_position(DVec3::new(0.08, 0.05, 0.17)),
        },
    });
    def
}

#[test]
fn worlds_with_bodies_have_the_same_bits_on_any_thread_count_and_after_a_restart() {
    let whole = Method::WholeStep(WholeStep {
        sweeps: 30,
        ..Default::default()
    });
    for method in [Method::default(), whole] {
        let def = busy(method);
        let mut world = World::new(&def).unwrap();
        run(&mut world, 80);
        let state = world.state();
        run(&mut world, 80);
        assert!(world.grains().count() > 50 && world.sinks()[0].total().number > 0);
        assert_eq!(world.grains().len(), world.grains().count() + 3);
        let loads = world.bodies().iter().map(|b| b.total_load.impulse.length());
        assert!(loads.fold(f64::INFINITY, f64::min) > 0.0);
        for threads in [2, 3] {
            let mut other = World::new(&def).unwrap();
            other.set_threads(threads);
            run(&mut other, 160);
            assert_eq!(world.state(), other.state(), "{threads} threads");
        }
        let mut resumed = World::restore(&def, state.clone()).unwrap();
        assert_eq!(resumed.state(), state);
        run(&mut resumed, 80);
        assert_eq!(world.state(), resumed.state());
        let mut swapped = state;
        let last = swapped.grains.len() - 1;
        swapped.grains.swap(last, 0);
        let error = World::restore(&def, swapped).err().unwrap().to_string();
        assert!(error.contains("shape"), "{error}");
    }
}

/// A long plank is held by a ball that has room for a whole emitter.
#[test]
fn emitters_give_grains_beside_bodies_and_none_inside_of_them() {
    let given = |height: f64| {
        let plank = BodyDef {
            locks: Locks {
                translation: [true; 3],
                rotation: [true; 3],
            },
            ..BodyDef::new("plank", cuboid([1.0, 0.2, 0.1]), 1.0)
        };
        let mut def = scene(Method::default(), ICE, vec![plank]);
        def.emitters.push(EmitterDef {
            name: "spout".into(),
            material: 0,
            shape: None,
            region: esker_geometry::Region::Box {
                half_extents: DVec3::new(0.1, 0.05, 0.02),
                pose: Pose::from_position(DVec3::Z * height),
            },
            rate: Rate::Number(1000.0),
            sizes: SizeDistribution::Fixed { radius: 0.01 },
            velocity: DVec3::ZERO,
            total: Total::Unlimited,
            start: 0.0,
            stop: f64::INFINITY,
        });
        let mut world = World::new(&def).unwrap();
        run(&mut world, 20);
        world.grains().count()
    };
    assert_eq!(given(0.2), 20);
    assert_eq!(given(0.0), 0);
}

#[test]
fn the_energy_ledger_closes_with_applied_forces() {
    let body = BodyDef {
        force: VectorOfTime::Constant(DVec3::X * 60.0),
        torque: VectorOfTime::Constant(DVec3::Z * 2.0),
        ..block()
    };
    let mut def = scene(Method::default(), RUBBER, vec![body]);
    def.walls.push(floor());
    def.energy_ledger = true;
    let mut world = World::new(&def).unwrap();
    run(&mut world, 300);
    let (ledger, kinetic) = (world.energy().unwrap(), world.grains().kinetic_energy());
    assert!(ledger.drives > 1.0 && ledger.friction > 1.0, "{ledger:?}");
    let share = ledger.imbalance(kinetic) / ledger.throughput(kinetic);
    assert!(share.abs() < 0.01, "{share} {ledger:?}");
}

#[test]
fn impossible_bodies_are_refused_by_name() {
    let refused = |damage: &dyn Fn(&mut WorldDef)| {
        let mut def = scene(Method::default(), RUBBER, vec![block(), block()]);
        def.walls.push(floor());
        def.bodies[0].pose.position.z = 1.0;
        damage(&mut def);
        let problems = find_problems(&def);
        problems.first().map(|p| p.to_string()).unwrap_or_default()
    };
    assert_eq!(refused(&|_| {}), "");
    let text = refused(&|def| def.bodies[1].pose.position.z = 0.03);
    assert!(
        text.contains("body \"block\" reaches 20.000 mm into wall \"floor\""),
        "{text}"
    );
    let text = refused(&|def| def.bodies[0].pose.position.z = 0.1);
    assert!(text.contains("into body \"block\""), "{text}");
    let text = refused(&|def| {
        def.packings
            .push(listed(vec![(DVec3::Z * 1.0, 0.02, DVec3::ZERO)]));
    });
    assert!(text.contains("into 1 grains"), "{text}");
    let text = refused(&|def| def.bodies[1].moments = DVec3::new(1.0, 1.0, 3.0));
    assert!(
        text.contains("body.1.inertia") && text.contains("together"),
        "{text}"
    );
    let text = refused(&|def| {
        def.bodies[1].locks.translation[0] = true;
        def.bodies[1].velocity.x = 1.0;
    });
    assert!(text.contains("locked axis"), "{text}");
    let text = refused(&|def| def.method = Method::Smooth(Smooth::default()));
    assert!(text.contains("spheres alone"), "{text}");
    let text = refused(&|def| {
        def.bodies[0].force = VectorOfTime::Table {
            times: vec![0.0, 0.0],
            values: vec![DVec3::ZERO; 2],
        };
    });
    assert!(text.contains("body.0.force"), "{text}");
}
