//! Scenes that the proofs share, built in code.

// Every test binary uses its own part of this.
#![allow(dead_code)]

use std::sync::Arc;

use esker_geometry::{Pose, WallShape};
use esker_world::World;
use esker_world::definition::*;
use glam::DVec3;

/// Gravity, m/s².
pub const G: f64 = 9.81;

/// An iron ore pellet: d = 13 mm, 3700 kg/m³, E = 6 MPa.
pub const PELLET_RADIUS: f64 = 6.5e-3;

/// Material of [`PELLET_RADIUS`].
pub fn pellet() -> Material {
    material(3700.0, 6e6, 0.25)
}

/// A material without a story.
pub fn material(density: f64, young: f64, poisson: f64) -> Material {
    Material {
        name: "grain".into(),
        density,
        young,
        poisson,
    }
}

/// A law with nothing but a normal force.
pub fn smooth() -> PairLaw {
    PairLaw {
        friction: 0.0,
        ..Default::default()
    }
}

/// A world of one material under gravity, without walls or grains.
pub fn scene(material: Material, law: PairLaw, method: Method, step: f64) -> WorldDef {
    WorldDef {
        step,
        method,
        materials: vec![material],
        pairs: vec![PairDef {
            materials: [0, 0],
            law,
        }],
        ..Default::default()
    }
}

/// A wall of material 0 that stands still.
pub fn wall(shape: WallShape, pose: Pose) -> WallDef {
    WallDef::new("wall", shape, pose)
}

/// The plane z = 0.
pub fn floor() -> WallDef {
    wall(WallShape::HalfSpace, Pose::IDENTITY)
}

/// A resting grain.
pub fn grain(position: DVec3, radius: f64) -> ListedGrain {
    ListedGrain {
        position,
        radius,
        velocity: DVec3::ZERO,
        angular_velocity: DVec3::ZERO,
    }
}

/// Grains of material 0, listed.
pub fn listed(grains: Vec<ListedGrain>) -> PackingDef {
    PackingDef {
        shape: None,
        material: 0,
        velocity: DVec3::ZERO,
        placement: Placement::Listed {
            grains: Arc::new(grains),
        },
    }
}

/// The grains of a world as they are now, to start another world from.
pub fn snapshot(world: &World) -> PackingDef {
    let g = world.grains();
    listed(
        g.in_id_order()
            .into_iter()
            .map(|i| ListedGrain {
                position: g.position()[i],
                radius: g.radius()[i],
                velocity: g.state()[i].velocity,
                angular_velocity: g.state()[i].angular_velocity,
            })
            .collect(),
    )
}

/// Gravity of an incline of this slope (tangent) for the plane z = 0.
pub fn inclined_gravity(slope: f64) -> DVec3 {
    let angle = slope.atan();
    DVec3::new(angle.sin(), 0.0, -angle.cos()) * G
}

/// Whole steps with a fixed number of sweeps.
pub fn whole_step(sweeps: usize, warm_start: WarmStart) -> Method {
    Method::WholeStep(WholeStep {
        sweeps,
        warm_start,
        ..Default::default()
    })
}

/// Sub-stepping with default cap.
pub fn sub_stepped(substeps: usize) -> Method {
    Method::SubStepped(SubStepped {
        substeps,
        ..Default::default()
    })
}

/// Warm start from history with this factor.
pub fn history(factor: f64) -> WarmStart {
    WarmStart::History { factor }
}

/// Builds a world that must build.
pub fn build(def: &WorldDef) -> World {
    World::new(def).expect("the scene is sound")
}

/// Runs for some simulated seconds.
pub fn run(world: &mut World, seconds: f64) {
    let steps = (seconds / world.step_length()).round() as usize;
    for _ in 0..steps {
        world.step().expect("the state stays finite");
    }
}

/// Relative difference of two numbers.
pub fn relative(value: f64, expected: f64) -> f64 {
    (value / expected - 1.0).abs()
}

/// Mass of a sphere, kg.
pub fn sphere_mass(density: f64, radius: f64) -> f64 {
    density * 4.0 / 3.0 * std::f64::consts::PI * radius.powi(3)
}

/// Hertz stiffness of equal materials, N/m^(3/2), written out independently of
/// the code under test.
pub fn hertz_stiffness(material: &Material, effective_radius: f64) -> f64 {
    2.0 / 3.0 * material.young * effective_radius.sqrt() / (1.0 - material.poisson.powi(2))
}
