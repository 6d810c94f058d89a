//! A small world with an emitter, a sink and a moving wall, and folders that
//! vanish.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::path::{Path, PathBuf};

use esker_geometry::{Pose, Region, WallShape};
use esker_record::{
    Frame, GrainField, LoadInterval, Precision, RecordSettings, Recorder, RecordingHeader,
    SceneIdentity, WallSurface,
};
use esker_world::World;
use esker_world::definition::*;
use glam::DVec3;

/// A folder that is removed with its content when dropped.
pub struct TemporaryDir(PathBuf);

impl TemporaryDir {
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A new folder for one test.
pub fn temporary_dir(name: &str) -> TemporaryDir {
    let path = std::env::temp_dir().join(format!("esker-record-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    TemporaryDir(path)
}

/// Grains fall onto a shaken floor and leave through a sink at its side.
pub fn emitting_world() -> WorldDef {
    let region = |centre, half| Region::Box {
        half_extents: DVec3::splat(half),
        pose: Pose::from_position(centre),
    };
    WorldDef {
        step: 4e-3,
        materials: vec![Material {
            name: "glass".into(),
            density: 2500.0,
            young: 1e8,
            poisson: 0.3,
        }],
        walls: vec![WallDef {
            name: "floor".into(),
            shape: WallShape::HalfSpace,
            pose: Pose::IDENTITY,
            material: 0,
            motion: Motion::Oscillate {
                direction: DVec3::Z,
                amplitude: 5e-4,
                frequency: 10.0,
                phase: 0.2,
            },
            surface_velocity: DVec3::ZERO,
            presence: Presence::ALWAYS,
        }],
        emitters: vec![EmitterDef {
            shape: None,
            name: "hopper".into(),
            material: 0,
            region: region(DVec3::Z * 0.03, 0.02),
            rate: Rate::Number(150.0),
            sizes: SizeDistribution::Uniform {
                min: 3e-3,
                max: 5e-3,
            },
            velocity: DVec3::new(0.3, 0.0, -0.5),
            total: Total::Unlimited,
            start: 0.0,
            stop: f64::INFINITY,
        }],
        sinks: vec![SinkDef {
            name: "bin".into(),
            region: region(DVec3::X * 1.04, 1.0),
        }],
        ..Default::default()
    }
}

/// Everything that can be recorded.
pub fn full_settings(precision: Precision, compression: u8) -> RecordSettings {
    RecordSettings {
        fields: GrainField::ALL.to_vec(),
        precision,
        compression,
        contacts: true,
    }
}

/// The header of a recording of a world.
pub fn header_of(world: &World, settings: RecordSettings) -> RecordingHeader {
    RecordingHeader {
        name: "test".into(),
        scene: "# a scene of\n# two lines\n".into(),
        identity: SceneIdentity::of_parts([b"test".as_slice()]),
        version: "0.1.0".into(),
        materials: vec!["glass".into()],
        material_colors: vec![Some([200, 100, 5])],
        gravity: world.gravity(),
        step: world.step_length(),
        impulse_step: world.row_step(),
        origin: DVec3::ZERO,
        walls: world
            .walls
            .iter()
            .map(|w| WallSurface {
                name: w.name.clone(),
                surface: w.shape.triangulate(0.1),
                unbounded: w.shape.bounds().is_none(),
            })
            .collect(),
        probes: Vec::new(),
        settings,
    }
}

/// Runs a world for some steps, recording every `every`th; returns the frames.
pub fn record_run(
    world: &mut World,
    recorder: &mut Recorder,
    steps: usize,
    every: u64,
) -> Vec<Frame> {
    let mut frames = Vec::new();
    let now = Frame::of(world, &recorder.header().settings, &LoadInterval::default());
    let mut interval = LoadInterval::after(&now);
    for _ in 0..steps {
        let report = world.step().unwrap();
        recorder.record_step(world, &report).unwrap();
        if world.steps_done.is_multiple_of(every) {
            recorder.record_frame(world).unwrap();
            let frame = Frame::of(world, &recorder.header().settings, &interval);
            interval = LoadInterval::after(&frame);
            frames.push(frame);
        }
    }
    frames
}
