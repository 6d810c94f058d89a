//! Loads of practice, timed as a whole.

use std::time::Instant;

use clap::ValueEnum;
use esker::device_for;
use esker_geometry::{OpenFaces, Pose, Region, Side, WallShape};
use esker_scene::{Device, DevicePrecision};
use esker_world::definition::*;
use esker_world::{Stage, StageTimes, World};
use glam::{DQuat, DVec3};
use serde::Serialize;

use super::bed::sub_stepped;

use crate::exit_code::ExitCode;

/// A load that can be timed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Load {
    /// A balling drum: 80,000 balls of 10 mm, steps of 10 ms with 25 sweeps
    Drum,
    /// Beds at rest, with all grains simulated and with grains at rest frozen
    Rest,
}

const GRAINS: usize = 80_000;
const SWEEPS: usize = 25;
/// Step, s.
const STEP: f64 = 10e-3;
/// Time until the flow in the drum is steady, s.
const RUN_UP: f64 = 3.0;
/// Time that is measured, s.
const MEASURED: f64 = 1.0;
/// Inner radius, m.
const RADIUS: f64 = 0.375;
/// Length, m: a bed about ten balls deep.
const LENGTH: f64 = 2.5;
/// Rate of turning, rad/s.
const RATE: f64 = 2.5;
/// Radius of the balls, m.
const BALL: f64 = 5e-3;

/// What was measured.
#[derive(Debug, Serialize)]
struct LoadTime {
    grains: usize,
    /// Contacts, predicted ones included.
    contacts: usize,
    /// Contacts with positive overlap.
    touching: usize,
    threads: usize,
    /// The GPU that computed the substeps.
    device: Option<String>,
    sweeps: usize,
    seconds_per_step: f64,
    /// Wall time per simulated second.
    seconds_per_second: f64,
    mean_overlap: f64,
    /// Seconds per step of each stage.
    stages: Vec<(&'static str, f64)>,
}

/// Runs the drum and prints its time.
pub fn drum(
    (device, precision): (Device, DevicePrecision),
    threads: usize,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let def = drum_of_balls();
    let mut world = World::new(&def)?;
    if let Some(device) = device_for(device, precision, &def)?.gpu() {
        world.set_device_order(true);
        device.hand_to(&mut world)?;
        world.leave_on_device(true);
    }
    world.set_threads(threads);
    for _ in 0..(RUN_UP / STEP) as usize {
        world.step()?;
    }
    let steps = (MEASURED / STEP) as usize;
    let start = Instant::now();
    let (mut contacts, mut mean_overlap) = (0, 0.0);
    let (mut touching, mut times) = (0, StageTimes::default());
    for _ in 0..steps {
        let report = world.step()?;
        contacts += report.contacts;
        touching += report.touching;
        times.add(&report.times);
        mean_overlap += report.mean_overlap;
    }
    let seconds = start.elapsed().as_secs_f64();
    let time = LoadTime {
        grains: world.grains().len(),
        contacts: contacts / steps,
        touching: touching / steps,
        threads,
        device: world.device().map(|device| device.name().to_owned()),
        sweeps: SWEEPS,
        seconds_per_step: seconds / steps as f64,
        seconds_per_second: seconds / MEASURED,
        mean_overlap: mean_overlap / steps as f64,
        stages: Stage::ALL
            .map(|s| (s.name(), times.get(s).as_secs_f64() / steps as f64))
            .to_vec(),
    };
    if json {
        println!("{}", serde_json::to_string_pretty(&time)?);
    } else {
        println!(
            "drum of {} grains, {} contacts ({} touch), {} threads{}, {SWEEPS} sweeps, \
             steps of {} ms: {:.1} ms per step, {:.2} s per simulated second, \
             mean overlap {:.2e} d",
            time.grains,
            time.contacts,
            time.touching,
            time.threads,
            time.device
                .as_ref()
                .map_or_else(String::new, |name| format!(" and {name}")),
            STEP * 1e3,
            time.seconds_per_step * 1e3,
            time.seconds_per_second,
            time.mean_overlap
        );
        for (name, seconds) in &time.stages {
            println!("{name:>12} {:6.1} ms", seconds * 1e3);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Moist balls of iron ore in a closed drum that turns about y.
fn drum_of_balls() -> WorldDef {
    let pose = Pose::new(DVec3::ZERO, DQuat::from_rotation_arc(DVec3::Z, DVec3::Y));
    let clearance = 0.02;
    WorldDef {
        step: STEP,
        method: sub_stepped(SWEEPS),
        materials: vec![Material {
            name: "green ball".into(),
            density: 2500.0,
            young: 0.5e6,
            poisson: 0.25,
        }],
        pairs: vec![PairDef {
            materials: [0, 0],
            law: PairLaw {
                friction: 0.7,
                ..Default::default()
            },
        }],
        walls: vec![WallDef {
            motion: Motion::Rotate {
                axis: DVec3::Y,
                centre: DVec3::ZERO,
                rate: RATE,
                start: 0.0,
                stop: f64::INFINITY,
            },
            ..WallDef::new(
                "drum",
                WallShape::Cylinder {
                    radius: RADIUS,
                    length: LENGTH,
                    side: Side::Inside,
                    open: OpenFaces::NONE,
                },
                pose,
            )
        }],
        packings: vec![PackingDef {
            shape: None,
            material: 0,
            velocity: DVec3::ZERO,
            placement: Placement::Lattice {
                region: Region::Cylinder {
                    radius: RADIUS - clearance,
                    length: LENGTH - clearance,
                    pose,
                },
                spacing: None,
                jitter: 0.5,
                count: Some(GRAINS),
                sizes: SizeDistribution::Fixed { radius: BALL },
            },
        }],
        ..Default::default()
    }
}
