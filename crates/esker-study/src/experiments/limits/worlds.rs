//! The small worlds of the limits, and what is measured in them.

use std::f64::consts::TAU;
use std::sync::Arc;

use esker_geometry::{Pose, Region, WallShape};
use esker_world::World;
use esker_world::definition::{
    ListedGrain, Material, Method, Motion, PackingDef, PairDef, PairLaw, Placement, Presence,
    SizeDistribution, WallDef, WorldDef,
};
use glam::{DQuat, DVec3};

use crate::bench;
use crate::results::StudyError;

const G: f64 = 9.81;
const DIAMETER: f64 = 0.01;
const DENSITY: f64 = 2500.0;
const POISSON: f64 = 0.2;

/// A world of stones without walls or grains.
fn world(young: f64, law: PairLaw, method: Method, step: f64) -> WorldDef {
    WorldDef {
        step,
        method,
        materials: vec![Material {
            name: "stone".into(),
            density: DENSITY,
            young,
            poisson: POISSON,
        }],
        pairs: vec![PairDef {
            materials: [0, 0],
            law,
        }],
        ..Default::default()
    }
}

fn bouncing(restitution: f64) -> PairLaw {
    PairLaw {
        friction: 0.0,
        restitution,
        ..Default::default()
    }
}

fn floor() -> WallDef {
    WallDef {
        name: "floor".into(),
        shape: WallShape::HalfSpace,
        pose: Pose::IDENTITY,
        material: 0,
        motion: Motion::Still,
        surface_velocity: DVec3::ZERO,
        presence: Presence::ALWAYS,
    }
}

fn grain(position: DVec3, diameter: f64) -> ListedGrain {
    ListedGrain {
        position,
        radius: 0.5 * diameter,
        velocity: DVec3::ZERO,
        angular_velocity: DVec3::ZERO,
    }
}

fn listed(grains: Vec<ListedGrain>) -> Vec<PackingDef> {
    vec![PackingDef {
        shape: None,
        material: 0,
        velocity: DVec3::ZERO,
        placement: Placement::Listed {
            grains: Arc::new(grains),
        },
    }]
}

/// Effective restitution of a grain that meets a floor under gravity, or
/// another grain without, at `speed` in the middle of a step.
pub(super) fn effective_restitution(
    (young, e): (f64, f64),
    (method, step): (Method, f64),
    (speed, on_floor): (f64, bool),
) -> Result<f64, StudyError> {
    let radius = 0.5 * DIAMETER;
    let mut def = world(young, bouncing(e), method, step);
    let gravity = if on_floor { G } else { 0.0 };
    def.gravity = -DVec3::Z * gravity;
    let flight = 1.37 * step;
    let mut grains = vec![ListedGrain {
        velocity: -DVec3::Z * speed,
        ..grain(DVec3::Z * (radius + speed * flight), DIAMETER)
    }];
    if on_floor {
        def.walls = vec![floor()];
    } else {
        grains.push(grain(-DVec3::Z * radius, DIAMETER));
    }
    def.packings = listed(grains);
    let mut world = bench::build(&def)?;
    // What free flight in steps of h_s conserves exactly gives the speed at the
    // floor from any moment of the flight.
    let speed_at_floor = |world: &World| {
        let (v, z) = (
            world.grains().state()[0].velocity.z,
            world.grains().position()[0].z,
        );
        let energy = 0.5 * v * v + gravity * (z - radius - 0.5 * world.substep() * v);
        (2.0 * energy).max(0.0).sqrt()
    };
    let approach = speed_at_floor(&world);
    // Four times what a collision lasts.
    let mass = DENSITY * TAU / 1.5 * radius.powi(3);
    let stiffness = 2.0 / 3.0 * young * radius.sqrt() / (1.0 - POISSON * POISSON);
    let collision = 2.9 * (mass * mass / (stiffness * stiffness * speed)).powf(0.2);
    let mut rebound = 0.0_f64;
    let end = flight + 3.0 * step + 4.0 * collision;
    bench::run(&mut world, end, |world, _| {
        if world.grains().state()[0].velocity.z > 0.0 {
            rebound = rebound.max(speed_at_floor(world));
        }
    })?;
    let velocity = |i: usize| world.grains().state()[i].velocity.z;
    Ok(if on_floor {
        rebound / approach
    } else {
        (velocity(0) - velocity(1)) / speed
    })
}

/// Twenty grains in a row without gravity are pushed by a plane at 1 m/s for
/// 20 ms: kinetic energy in units of ½ M U², worst overlap in diameters.
pub(super) fn pushed_row(e: f64, method: Method, step: f64) -> Result<[f64; 2], StudyError> {
    const GRAINS: usize = 20;
    let mut def = world(5e9, bouncing(e), method, step);
    def.gravity = DVec3::ZERO;
    def.walls = vec![WallDef {
        pose: Pose::new(DVec3::ZERO, DQuat::from_rotation_arc(DVec3::Z, DVec3::X)),
        motion: Motion::Translate {
            velocity: DVec3::X,
            start: 0.0,
            stop: f64::INFINITY,
        },
        ..floor()
    }];
    let at = |k: usize| (0.501 + 1.001 * k as f64) * DIAMETER;
    let grains = (0..GRAINS).map(|k| grain(DVec3::X * at(k), DIAMETER));
    def.packings = listed(grains.collect());
    let mut world = bench::build(&def)?;
    let overlap = worst_overlap(&mut world, 0.02)?;
    let states = world.grains().state().iter();
    let squares: f64 = states.map(|s| s.velocity.length_squared()).sum();
    Ok([squares / GRAINS as f64, overlap])
}

/// Worst overlap of a run, in diameters.
pub(super) fn worst_overlap(world: &mut World, seconds: f64) -> Result<f64, StudyError> {
    let mut worst = 0.0_f64;
    bench::run(world, seconds, |_, report| {
        worst = worst.max(report.max_overlap);
    })?;
    Ok(worst)
}

/// Worst overlap, in diameters, of a lattice with wide gaps that falls on a floor.
pub(super) fn dropped_lattice(method: Method) -> Result<f64, StudyError> {
    let mut def = world(6e6, PairLaw::default(), method, 5e-3);
    // Ore rather than stone.
    (def.materials[0].density, def.materials[0].poisson) = (3700.0, 0.25);
    def.walls = vec![floor()];
    def.packings = vec![PackingDef {
        shape: None,
        material: 0,
        velocity: DVec3::new(0.0, 0.0, -0.3),
        placement: Placement::Lattice {
            region: Region::Box {
                half_extents: DVec3::new(0.03, 0.03, 0.12),
                pose: Pose::from_position(DVec3::new(0.0, 0.0, 0.13)),
            },
            spacing: Some(0.0135),
            jitter: 0.5,
            count: None,
            sizes: SizeDistribution::Mixture {
                radii: vec![5e-3, 6.5e-3],
                shares: vec![1.0, 1.0],
                by_mass: false,
            },
        },
    }];
    worst_overlap(&mut bench::build(&def)?, 0.2)
}

/// Creep velocity of a grain that sticks on a slope of 15°, over √(g d).
pub(super) fn creep(diameter: f64, method: Method) -> Result<f64, StudyError> {
    // A step in which the grain falls by 1 % of its diameter.
    let step = (0.02 * diameter / G).sqrt().min(1e-2);
    let mut def = world(1e8, PairLaw::default(), method, step);
    let (sin, cos) = 15_f64.to_radians().sin_cos();
    def.gravity = DVec3::new(sin, 0.0, -cos) * G;
    def.rotation = false;
    def.walls = vec![floor()];
    def.packings = listed(vec![grain(DVec3::Z * 0.5 * diameter, diameter)]);
    let mut world = bench::build(&def)?;
    bench::run(&mut world, 400.0 * step, |_, _| ())?;
    let start = world.grains().position()[0].x;
    bench::run(&mut world, 100.0 * step, |_, _| ())?;
    let velocity = (world.grains().position()[0].x - start) / (100.0 * step);
    Ok(velocity / (G * diameter).sqrt())
}

/// Diameter of a boulder over that of a pebble, for a mass ratio.
fn size_ratio(mass_ratio: f64) -> f64 {
    mass_ratio.cbrt()
}

/// Overlap at rest, in diameters of a pebble, of a boulder on three pebbles.
pub(super) fn boulder_on_pebbles(mass_ratio: f64, method: Method) -> Result<f64, StudyError> {
    let law = PairLaw {
        // The pebbles would be squeezed out from under it.
        friction: 1.0,
        ..Default::default()
    };
    let mut def = world(5e10, law, method, 5e-3);
    def.rotation = false;
    def.walls = vec![floor()];
    let boulder = DIAMETER * size_ratio(mass_ratio);
    let across = DIAMETER / 3_f64.sqrt();
    let mut grains: Vec<ListedGrain> = (0..3)
        .map(|k| {
            let (sin, cos) = (TAU / 3.0 * f64::from(k)).sin_cos();
            let place = DVec3::new(across * cos, across * sin, 0.5 * DIAMETER);
            grain(place, DIAMETER)
        })
        .collect();
    let reach = 0.5 * (boulder + DIAMETER);
    let above = (reach * reach - across * across).sqrt();
    grains.push(grain(DVec3::Z * (0.5 * DIAMETER + above), boulder));
    def.packings = listed(grains);
    let mut world = bench::build(&def)?;
    bench::run(&mut world, 0.5, |_, _| ())?;
    let overlaps = world.contacts().map(|(c, _)| c.overlap / DIAMETER);
    Ok(overlaps.fold(0.0, f64::max))
}
