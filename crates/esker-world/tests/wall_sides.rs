//! Containers from both sides and around their rims: no wall ever adds energy
//! or draws a grain through itself.

mod common;

use common::*;
use esker_geometry::{Face, OpenFaces, Pose, Side, WallShape};
use esker_world::World;
use esker_world::definition::*;
use glam::DVec3;

const RADIUS: f64 = 0.01;

fn containers(open: OpenFaces) -> [(&'static str, WallShape); 3] {
    let side = Side::Inside;
    [
        (
            "box",
            WallShape::Box {
                half_extents: DVec3::splat(0.1),
                side,
                open,
            },
        ),
        (
            "cylinder",
            WallShape::Cylinder {
                radius: 0.1,
                length: 0.2,
                side,
                open,
            },
        ),
        (
            "cone",
            WallShape::Cone {
                radius_bottom: 0.05,
                radius_top: 0.1,
                length: 0.2,
                side,
                open,
            },
        ),
    ]
}

fn law(restitution: f64) -> PairLaw {
    PairLaw {
        restitution,
        friction: 0.5,
        ..Default::default()
    }
}

/// Grains around one container about the origin.
fn around(shape: WallShape, restitution: f64, step: f64, grains: Vec<ListedGrain>) -> WorldDef {
    let mut def = scene(
        material(2500.0, 5e7, 0.3),
        law(restitution),
        Method::default(),
        step,
    );
    def.walls = vec![wall(shape, Pose::IDENTITY)];
    def.packings = vec![listed(grains)];
    def
}

/// Kinetic and potential energy, J, with that of contacts where it is booked.
fn energy(world: &World) -> f64 {
    let grains = world.grains();
    let potential = grains.position().iter().zip(grains.mass());
    let potential: f64 = potential.map(|(x, m)| -m * world.gravity().dot(*x)).sum();
    let stored = world.energy().map_or(0.0, |ledger| ledger.stored);
    grains.kinetic_energy() + potential + stored
}

/// A ball that hit a box from outside was drawn in and thrown at 7.8 m/s,
/// whatever its speed.
#[test]
fn a_ball_that_hits_a_closed_container_from_outside_gains_no_energy() {
    let directions = [
        DVec3::NEG_X,
        DVec3::NEG_Z,
        DVec3::Z,
        DVec3::new(-1.0, -0.4, -0.3).normalize(),
    ];
    for (name, shape) in containers(OpenFaces::NONE) {
        for direction in directions {
            for speed in [0.1, 1.0, 5.0, 20.0] {
                for (restitution, step) in [(0.0, 1e-3), (0.8, 1e-3), (1.0, 5e-3)] {
                    let ball = ListedGrain {
                        velocity: direction * speed,
                        ..grain(direction * -0.3, RADIUS)
                    };
                    let mut def = around(shape.clone(), restitution, step, vec![ball]);
                    def.gravity = DVec3::ZERO;
                    let mut world = build(&def);
                    let start = world.grains().kinetic_energy();
                    let story = format!("{name} hit along {direction} at {speed} m/s");
                    let mut most = 0.0;
                    for _ in 0..(0.6 / speed / step) as usize {
                        world.step().expect("finite");
                        most = f64::max(most, world.grains().kinetic_energy());
                    }
                    assert!(most < 1.01 * start, "{story}: {}", most / start);
                    let at = world.grains().position()[0];
                    assert!(at.dot(direction) < 0.0, "{story}: went through to {at}");
                }
            }
        }
    }
}

#[test]
fn balls_dropped_into_an_open_container_stay() {
    let open = OpenFaces::NONE.with(Face::Top);
    for (name, shape) in containers(open) {
        for restitution in [0.0, 0.5] {
            let drops = [(0.0, 0.0), (0.04, 0.01), (-0.03, 0.05)];
            let balls = drops.map(|(x, y)| grain(DVec3::new(x, y, 0.2), RADIUS));
            let mut world = build(&around(shape.clone(), restitution, 1e-3, balls.to_vec()));
            let start = energy(&world);
            for _ in 0..2000 {
                world.step().expect("finite");
                assert!(energy(&world) < start + 1e-6, "{name}");
            }
            for at in world.grains().position() {
                let is_inside = at.abs().max_element() < 0.1 && at.z < 0.0;
                assert!(is_inside, "{name}: a ball is at {at}");
            }
        }
    }
}

/// Half of the grains of a block that falls on a rim fall beside it.
#[test]
fn grains_poured_over_a_rim_gain_no_energy_and_do_not_pass_the_wall() {
    let open = OpenFaces::NONE.with(Face::Top);
    for (name, shape) in containers(open) {
        let mut grains = Vec::new();
        for k in 0..6 * 4 * 5 {
            let place = [k % 6, k / 6 % 4, k / 24].map(f64::from);
            let corner = DVec3::new(0.04, -0.035, 0.12);
            grains.push(grain(corner + DVec3::from(place) * 0.021, RADIUS));
        }
        let mut def = around(shape, 0.3, 5e-4, grains);
        def.energy_ledger = true;
        let floor_pose = Pose::from_position(DVec3::new(0.0, 0.0, -0.3));
        def.walls.push(wall(WallShape::HalfSpace, floor_pose));
        let mut world = build(&def);
        let mut before = energy(&world);
        for _ in 0..1600 {
            world.step().expect("finite");
            let now = energy(&world);
            assert!(now < before + 1e-4, "{name}: {before} J, then {now} J");
            before = before.min(now);
        }
        let inside = |x: &&DVec3| x.truncate().length() < 0.15 && x.z > -0.1 && x.z < 0.1;
        let caught = world.grains().position().iter().filter(inside).count();
        assert!(
            (10..110).contains(&caught),
            "{name}: {caught} of 120 grains are in the container"
        );
        let walls = 2.0 * RADIUS * 0.3;
        for at in world.grains().position() {
            assert!(at.z > -0.3, "{name}: below the floor at {at}");
            let below = at.z < -0.1 - RADIUS + walls || at.z > -0.1;
            assert!(below, "{name}: stuck in the bottom at {at}");
        }
    }
}

/// A ball that rolls outwards over the rim comes down outside with the energy
/// that it had.
#[test]
fn a_ball_rolls_over_a_rim() {
    let open = OpenFaces::NONE.with(Face::Top);
    for (name, shape) in containers(open).into_iter().take(2) {
        let ball = ListedGrain {
            velocity: DVec3::new(0.25, 0.0, 0.0),
            ..grain(DVec3::new(0.1 - 1e-3, 0.0, 0.1 + RADIUS), RADIUS)
        };
        let mut world = build(&around(shape, 0.0, 2e-4, vec![ball]));
        let start = energy(&world);
        for _ in 0..1000 {
            world.step().expect("finite");
            let now = energy(&world);
            assert!(
                now < start * (1.0 + 1e-4),
                "{name}: {start} J, then {now} J"
            );
        }
        let at = world.grains().position()[0];
        assert!(at.x > 0.1 && at.z < 0.0, "{name}: the ball is at {at}");
    }
}
