//! Contacts of spheres against the midpoint geometry of other shapes: an ellipsoid with equal axes
//! is a sphere whose contacts have the geometry of the middle of the step.

mod common;

use common::{G, build, grain, listed, material, scene, sub_stepped, wall};
use esker_geometry::{BodyShape, OpenFaces, Pose, Side, WallShape};
use esker_world::World;
use esker_world::definition::*;
use glam::{DQuat, DVec3};
use std::f64::consts::FRAC_PI_2;

const RADIUS: f64 = 0.05;

/// Spheres, as such or as ellipsoids, with a law and a step.
fn balls(grains: Vec<ListedGrain>, law: PairLaw, step: f64, is_shaped: bool) -> WorldDef {
    let mut def = scene(material(2500.0, 1e7, 0.25), law, sub_stepped(25), step);
    def.packings = vec![PackingDef {
        shape: is_shaped.then_some(ShapeUse {
            shape: 0,
            orientation: Orientation::Given(DQuat::IDENTITY),
        }),
        ..listed(grains)
    }];
    if is_shaped {
        def.shapes = vec![BodyShape::Ellipsoid {
            semi_axes: DVec3::splat(RADIUS),
        }];
    }
    def
}

fn angular_momentum(world: &World) -> DVec3 {
    let grains = world.grains();
    let of = |i: usize| {
        let (state, mass) = (&grains.state()[i], grains.mass()[i]);
        let moment = 0.4 * mass * RADIUS * RADIUS;
        grains.position()[i].cross(state.velocity) * mass + state.angular_velocity * moment
    };
    (0..grains.len()).map(of).sum()
}

/// Share of the angular momentum that an off-centre impact of two spheres loses.
fn impact_loss(step: f64, is_shaped: bool) -> f64 {
    let law = PairLaw {
        friction: 0.5,
        restitution: 0.5,
        ..Default::default()
    };
    let mut worst = 0.0_f64;
    for part in [0.3, 0.6, 0.9] {
        let across = 2.0 * RADIUS * part;
        let apart = (4.0 * RADIUS * RADIUS - across * across).sqrt() + 2e-3;
        let mut moving = grain(DVec3::new(-apart, across, 0.0), RADIUS);
        moving.velocity = DVec3::X * 2.0;
        let still = grain(DVec3::ZERO, RADIUS);
        let mut def = balls(vec![moving, still], law, step, is_shaped);
        def.gravity = DVec3::ZERO;
        let mut world = build(&def);
        let before = angular_momentum(&world);
        while world.time() < 0.05 {
            world.step().expect("a step");
        }
        assert!(world.grains().state()[1].velocity.length() > 0.1);
        worst = worst.max((angular_momentum(&world) - before).length() / before.length());
    }
    worst
}

/// Energy of a ball that rolls to and fro in a drum for two seconds, over that at its start.
fn kept_in_drum(step: f64, is_shaped: bool) -> f64 {
    let law = PairLaw {
        friction: 1.0,
        restitution: 0.0,
        ..Default::default()
    };
    let drum = WallShape::Cylinder {
        radius: 0.5,
        length: 1.0,
        side: Side::Inside,
        open: OpenFaces::ENDS,
    };
    let way = 0.5 - RADIUS;
    let start = DVec3::new(way * f64::sin(0.8), 0.0, -way * f64::cos(0.8));
    let mut def = balls(vec![grain(start, RADIUS)], law, step, is_shaped);
    let about_y = DQuat::from_rotation_x(-FRAC_PI_2);
    def.walls = vec![wall(drum, Pose::new(DVec3::ZERO, about_y))];
    let mut world = build(&def);
    let energy = |world: &World| {
        let height = world.grains().position()[0].z + way;
        world.grains().kinetic_energy() + world.grains().mass()[0] * G * height
    };
    let before = energy(&world);
    while world.time() < 2.0 {
        world.step().expect("a step");
    }
    energy(&world) / before
}

/// Measured: spheres 5e-15, 4.9e-3 and 4.0e-3 at 5, 2 and 1 ms, the midpoint 2.3e-4, 7.7e-4 and
/// 1.3e-4. Contacts that follow their grains keep it to rounding; at short steps they do not follow.
#[test]
fn an_off_centre_impact_keeps_its_angular_momentum() {
    assert!(impact_loss(5e-3, false) < 1e-12);
    for step in [5e-3, 2e-3, 1e-3] {
        let [frozen, midpoint] = [false, true].map(|is_shaped| impact_loss(step, is_shaped));
        assert!(frozen < 6e-3, "{step}: {frozen}");
        assert!(midpoint < 1e-3, "{step}: {midpoint}");
    }
}

/// Measured: spheres 1.063, 1.026 and 1.012 at 5, 2 and 1 ms, an error of first order, since at
/// walls they move along the tangent of the start of the step; the midpoint 0.993, 0.995 and 0.996.
#[test]
fn a_ball_that_rolls_in_a_drum_gains_no_energy_with_midpoint_geometry() {
    for step in [5e-3, 2e-3, 1e-3] {
        let [tangent, midpoint] = [false, true].map(|is_shaped| kept_in_drum(step, is_shaped));
        assert!((tangent - 1.0).abs() < 14.0 * step, "{step}: {tangent}");
        assert!((0.99..=1.0).contains(&midpoint), "{step}: {midpoint}");
    }
}
