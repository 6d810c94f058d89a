//! Forces on walls are forces: what walls and gravity give is what grains get.

mod common;

use common::*;
use esker_geometry::{OpenFaces, Pose, Region, Side, WallShape};
use esker_world::World;
use esker_world::definition::*;
use esker_world::sphere_inertia;
use glam::DVec3;

fn smooth_steps(substeps: usize) -> Method {
    Method::Smooth(Smooth {
        substeps,
        ..Default::default()
    })
}

fn rough(restitution: f64) -> PairLaw {
    PairLaw {
        friction: 0.5,
        rolling: 0.1,
        twisting: 0.05,
        restitution,
        damping: 2e-4,
        ..Default::default()
    }
}

/// A turning drum with caps, a belt through its lower half and a shaken rod:
/// grains fall, bounce, slide and roll on walls of every kind of motion.
fn machine(method: Method, step: f64) -> WorldDef {
    let named = |name: &str, def: WallDef| WallDef {
        name: name.into(),
        ..def
    };
    let drum = WallShape::Cylinder {
        radius: 0.08,
        length: 0.06,
        side: Side::Inside,
        open: OpenFaces::NONE,
    };
    let rod = WallShape::Cylinder {
        radius: 0.01,
        length: 0.05,
        side: Side::Outside,
        open: OpenFaces::NONE,
    };
    let floor = Pose::new(
        DVec3::new(0.0, -0.06, 0.0),
        glam::DQuat::from_rotation_arc(DVec3::Z, DVec3::Y),
    );
    WorldDef {
        gravity: DVec3::new(0.5, -9.81, 0.2),
        walls: vec![
            WallDef {
                motion: Motion::Rotate {
                    axis: DVec3::Z,
                    centre: DVec3::ZERO,
                    rate: 3.0,
                    start: 0.0,
                    stop: f64::INFINITY,
                },
                ..named("drum", wall(drum, Pose::IDENTITY))
            },
            WallDef {
                surface_velocity: DVec3::new(0.3, 0.1, 0.0),
                ..named("belt", wall(WallShape::HalfSpace, floor))
            },
            WallDef {
                motion: Motion::Oscillate {
                    direction: DVec3::Y,
                    amplitude: 3e-3,
                    frequency: 10.0,
                    phase: 0.3,
                },
                ..named("rod", wall(rod, Pose::from_position(DVec3::Y * -0.03)))
            },
        ],
        packings: vec![PackingDef {
            shape: None,
            material: 0,
            velocity: DVec3::new(0.1, -0.3, 0.0),
            placement: Placement::Lattice {
                region: Region::Box {
                    half_extents: DVec3::new(0.05, 0.03, 0.025),
                    pose: Pose::from_position(DVec3::Y * 0.02),
                },
                spacing: None,
                jitter: 0.5,
                count: Some(150),
                sizes: SizeDistribution::Uniform {
                    min: 3e-3,
                    max: 4.5e-3,
                },
            },
        }],
        ..scene(pellet(), rough(0.4), method, step)
    }
}

fn momentum(world: &World) -> DVec3 {
    let g = world.grains();
    (0..g.len())
        .map(|i| g.state()[i].velocity * g.mass()[i])
        .sum()
}

fn angular_momentum(world: &World) -> DVec3 {
    let g = world.grains();
    let of = |i: usize| {
        g.position()[i].cross(g.state()[i].velocity * g.mass()[i])
            + g.state()[i].angular_velocity * sphere_inertia(g.mass()[i], g.radius()[i])
    };
    (0..g.len()).map(of).sum()
}

fn methods() -> Vec<(Method, f64)> {
    let named = Method::WholeStep(WholeStep {
        solver: Solver::Named("gauss-seidel".into()),
        sweeps: 50,
        ..Default::default()
    });
    vec![
        (sub_stepped(25), 2e-3),
        (whole_step(20, history(0.85)), 2e-3),
        (
            whole_step(20, WarmStart::HistoryWithoutVelocity { factor: 0.5 }),
            2e-3,
        ),
        (named, 2e-3),
        (smooth_steps(40), 1e-3),
    ]
}

#[test]
fn grains_gain_in_every_step_what_gravity_and_walls_give_them() {
    for (method, step) in methods() {
        for threads in [1, 3] {
            let mut world = World::new(&machine(method.clone(), step)).unwrap();
            world.set_threads(threads);
            let mass: f64 = world.grains().mass().iter().sum();
            let weight = world.gravity() * mass;
            let mut impacts = 0;
            let mut loaded = [0; 3];
            for _ in 0..150 {
                let before = momentum(&world);
                impacts += world.step().unwrap().impacts;
                let walls: DVec3 = world.walls().iter().map(|w| w.load.force).sum();
                let error = momentum(&world) - before - (weight - walls) * step;
                let scale = (weight.length() + walls.length()) * step + before.length();
                assert!(
                    error.length() < 1e-12 * scale,
                    "{error} of {scale}, step {}, {method:?}",
                    world.steps_done()
                );
                for (count, wall) in loaded.iter_mut().zip(world.walls()) {
                    *count += usize::from(wall.load.force != DVec3::ZERO);
                }
            }
            assert!(loaded.iter().all(|&count| count > 50), "{loaded:?}");
            assert!(impacts > 100 || matches!(method, Method::Smooth(_)));
        }
    }
}

/// A boulder that falls on pebbles. They are given more inertia than they have, and
/// the floor carried the weight of that too.
#[test]
fn a_boulder_on_pebbles_gains_what_gravity_and_the_floor_give_it() {
    let d = 0.01;
    let mut def = scene(
        material(2500.0, 5e10, 0.2),
        rough(0.2),
        sub_stepped(25),
        5e-3,
    );
    def.walls = vec![floor()];
    let pebbles = (0..100).map(|k| {
        let [x, y] = [k % 10, k / 10].map(|n| (f64::from(n) - 4.5) * d);
        grain(DVec3::new(x, y, 0.5 * d), 0.5 * d)
    });
    let boulder = grain(DVec3::Z * 0.33, 0.3);
    def.packings = vec![listed(pebbles.chain([boulder]).collect())];
    let mut world = build(&def);
    let weight = world.gravity() * world.grains().mass().iter().sum::<f64>();
    let mut raised = 0.0_f64;
    for _ in 0..200 {
        let before = momentum(&world);
        world.step().unwrap();
        let walls = world.walls()[0].load.force;
        let error = momentum(&world) - before - (weight - walls) * def.step;
        let scale = (weight.length() + walls.length()) * def.step + before.length();
        assert!(error.length() < 1e-12 * scale, "{error} of {scale}");
        raised = raised.max(walls.length() / weight.length());
    }
    assert!(raised > 1.0, "they must meet");
}

/// Whole steps keep angular momentum to rounding, so that torques can be held
/// against it; all walls of this one have their frames at the origin. (Where a
/// grain meets a wall in mid-step its place is that of a later impulse.)
#[test]
fn grains_gain_in_every_whole_step_the_torque_of_gravity_and_walls() {
    let mut def = machine(whole_step(20, history(0.85)), 2e-3);
    def.walls.truncate(1);
    let mut world = World::new(&def).unwrap();
    let mut compared = 0;
    for _ in 0..300 {
        let before = angular_momentum(&world);
        let g = world.grains();
        let moment: DVec3 = (0..g.len()).map(|i| g.position()[i] * g.mass()[i]).sum();
        let gravity = moment.cross(world.gravity());
        if world.step().unwrap().impacts > 0 {
            continue;
        }
        compared += 1;
        let torque = world.walls()[0].load.torque;
        let error = angular_momentum(&world) - before - (gravity - torque) * 2e-3;
        let scale = before.length() + (gravity.length() + torque.length()) * 2e-3;
        assert!(error.length() < 1e-11 * scale, "{error} of {scale}");
    }
    assert!(compared > 30, "{compared} steps without an impact");
    assert!(world.walls()[0].total_load.angular_impulse.z.abs() > 0.0);
}

/// The floor carries the weight of a ball on average, whether the ball rests on
/// it or bounces. (The force of the last substep, without impacts, was zero.)
#[test]
fn a_bouncing_ball_presses_on_the_floor_with_its_weight_on_average() {
    let cases = [
        (sub_stepped(25), 2e-3),
        (whole_step(30, history(0.85)), 2e-3),
        (smooth_steps(100), 1e-3),
    ];
    for (method, step) in cases {
        let law = PairLaw {
            restitution: 0.7,
            damping: 1e-4,
            ..smooth()
        };
        let mut def = scene(pellet(), law, method.clone(), step);
        def.walls = vec![floor()];
        def.packings = vec![listed(vec![grain(DVec3::Z * 0.05, PELLET_RADIUS)])];
        let mut world = build(&def);
        run(&mut world, 2.0);
        let weight = sphere_mass(3700.0, PELLET_RADIUS) * G;
        let force = world.walls()[0].total_load.mean(world.time()).force;
        assert!(relative(-force.z, weight) < 0.01, "{force}, {method:?}");
        assert!(force.truncate().length() < 1e-9 * weight);
    }
}

/// Without belts, the power of a drive is what the load takes of its motion:
/// torque times rate for a turning wall, force times velocity for others.
#[test]
fn the_power_of_a_drive_is_its_load_times_its_motion() {
    for (method, step) in methods() {
        let mut world = World::new(&machine(method.clone(), step)).unwrap();
        let mut total = [0.0; 3];
        for _ in 0..150 {
            let places: Vec<_> = world.walls().iter().map(|w| w.pose.position).collect();
            world.step().unwrap();
            for ((wall, place), total) in world.walls().iter().zip(places).zip(&mut total) {
                let (velocity, angular_velocity) =
                    (wall.twist.at(place), wall.twist.angular_velocity);
                let load = wall.load;
                let belt = wall.pose.orientation * wall.surface_velocity;
                let expected = -load.force.dot(velocity)
                    - load.torque.dot(angular_velocity)
                    - load.force.dot(belt);
                let scale = load.torque.length() * angular_velocity.length()
                    + load.force.length() * (velocity.length() + belt.length());
                assert!((load.power - expected).abs() <= 1e-12 * scale);
                *total += load.power * step;
            }
        }
        for (wall, total) in world.walls().iter().zip(total) {
            assert!(relative(wall.total_load.work, total) < 1e-12);
        }
        // The turning drum and the belt drag grains along.
        assert!(total[0] > 0.0 && total[1] > 0.0, "{total:?}");
    }
}

#[test]
fn loads_are_the_same_on_any_number_of_threads_and_survive_a_restart() {
    for (method, step) in methods() {
        let def = machine(method.clone(), step);
        let mut one = World::new(&def).unwrap();
        let mut three = World::new(&def).unwrap();
        three.set_threads(3);
        for _ in 0..100 {
            one.step().unwrap();
            three.step().unwrap();
        }
        let mut restored = World::restore(&def, one.state()).unwrap();
        for _ in 0..50 {
            one.step().unwrap();
            three.step().unwrap();
            restored.step().unwrap();
        }
        for other in [three, restored] {
            for (a, b) in one.walls().iter().zip(other.walls()) {
                assert_eq!((a.load, a.total_load), (b.load, b.total_load));
            }
        }
    }
}
