//! Rolling resistance of bodies that are no spheres.

mod common;

use std::f64::consts::PI;

use common::{floor, grain, listed, material, scene};
use esker_geometry::BodyShape;
use esker_world::World;
use esker_world::definition::*;
use glam::{DQuat, DVec3};

const RADIUS: f64 = 0.05;
const SLOPE: f64 = 0.2;

/// Acceleration down a slope of a body that rolls about the y axis, m/s².
fn acceleration(method: Method, shape: BodyShape, law: PairLaw) -> f64 {
    let radius = shape.volume_radius();
    let world = WorldDef {
        gravity: 9.81 * DVec3::new(SLOPE.sin(), 0.0, -SLOPE.cos()),
        shapes: vec![shape],
        walls: vec![floor()],
        packings: vec![PackingDef {
            shape: Some(ShapeUse {
                shape: 0,
                orientation: Orientation::Given(DQuat::IDENTITY),
            }),
            ..listed(vec![grain(DVec3::Z * RADIUS, radius)])
        }],
        ..scene(material(800.0, 1e9, 0.3), law, method, 1e-3)
    };
    let mut world = World::new(&world).unwrap();
    for _ in 0..100 {
        world.step().unwrap();
    }
    let before = world.grains().state()[0].velocity.x;
    for _ in 0..200 {
        world.step().unwrap();
    }
    (world.grains().state()[0].velocity.x - before) / 0.2
}

/// The weight turns a body with `m g r sin θ` about its contact, the resistance holds against it
/// with `µ_r r* m g cos θ`: `r*` is the radius of a sphere, and that of the sphere of equal volume
/// of an ellipsoid that lies on its blunt side. A ball and such an ellipsoid about its long axis
/// have the moment of inertia 2/5 m r².
#[test]
fn a_body_on_a_slope_rolls_where_its_resistance_is_overcome() {
    let ellipsoid = |long: f64| BodyShape::Ellipsoid {
        semi_axes: DVec3::new(RADIUS, long * RADIUS, RADIUS),
    };
    let whole = Method::WholeStep(WholeStep {
        sweeps: 200,
        ..Default::default()
    });
    for method in [Method::default(), whole] {
        for (shape, effective) in [(ellipsoid(1.0), 1.0), (ellipsoid(1.5), 1.5_f64.cbrt())] {
            for (rolling, acts) in [(0.1, true), (0.25, true), (0.25, false)] {
                let law = PairLaw {
                    friction: 1.0,
                    rolling,
                    rolling_of_shapes: acts,
                    ..Default::default()
                };
                let held = if acts { rolling * effective } else { 0.0 };
                let expected = 9.81 * (SLOPE.sin() - held * SLOPE.cos()).max(0.0) / 1.4;
                let got = acceleration(method.clone(), shape.clone(), law);
                assert!(
                    (got - expected).abs() < 2e-3,
                    "{got} {expected} {rolling} {effective} {method:?}"
                );
            }
        }
    }
    assert!(SLOPE.tan() < 0.25 && SLOPE < 0.25 * PI);
}
