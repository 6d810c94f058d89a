//! A small world with an emitter, a sink and a moving wall, and folders that
//! vanish.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use esker_geometry::{BodyShape, Clump, Polyhedron, Pose, Region, WallShape};
use esker_record::{
    Frame, GrainField, JointLabel, LoadInterval, Precision, RecordSettings, Recorder,
    RecordingHeader, SceneIdentity, WallSurface,
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
            motion: Motion::Oscillate {
                direction: DVec3::Z,
                amplitude: 5e-4,
                frequency: 10.0,
                phase: 0.2,
            },
            ..WallDef::new("floor", WallShape::HalfSpace, Pose::IDENTITY)
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

/// Grains of all shapes, and a sphere, in flight with different scales.
pub fn shaped_world() -> WorldDef {
    let length = 0.01;
    let corners = [[0, 0, 0], [3, 0, 0], [0, 2, 0], [0, 0, 1], [2, 2, 2]];
    let corners = corners.map(|c| length * DVec3::from(c.map(f64::from)));
    let spheres = [(DVec3::ZERO, length), (length * DVec3::X, 0.5 * length)];
    let shapes = vec![
        BodyShape::Ellipsoid {
            semi_axes: length * DVec3::new(0.5, 1.0, 2.0),
        },
        BodyShape::Capsule {
            radius: length,
            half_length: 1.5 * length,
        },
        BodyShape::Cylinder {
            radius: length,
            half_length: 0.5 * length,
        },
        BodyShape::Box {
            half_edges: length * DVec3::new(1.0, 2.0, 3.0),
        },
        BodyShape::Polyhedron(Arc::new(Polyhedron::from_points(&corners).unwrap().0)),
        BodyShape::Clump(Arc::new(Clump::new(&spheres).unwrap().0)),
        BodyShape::Sphere { radius: length },
    ];
    let packing = |number: usize, shape: Option<usize>| PackingDef {
        shape: shape.map(|shape| ShapeUse {
            shape,
            orientation: Orientation::Random,
        }),
        material: 0,
        velocity: DVec3::Y,
        placement: Placement::Listed {
            grains: Arc::new(vec![ListedGrain {
                position: 0.1 * number as f64 * DVec3::X,
                radius: 2e-3 * (number + 1) as f64,
                velocity: DVec3::ZERO,
                angular_velocity: DVec3::new(1.0, 2.0, 3.0),
            }]),
        },
    };
    let shaped = (0..shapes.len()).map(|i| packing(i + 1, Some(i)));
    WorldDef {
        packings: std::iter::once(packing(0, None)).chain(shaped).collect(),
        shapes,
        walls: Vec::new(),
        emitters: Vec::new(),
        sinks: Vec::new(),
        ..emitting_world()
    }
}

/// Everything that can be recorded of spheres.
pub fn sphere_settings(precision: Precision, compression: u8) -> RecordSettings {
    let mut settings = full_settings(precision, compression);
    settings
        .fields
        .retain(|f| !matches!(f, GrainField::Shape | GrainField::Scale));
    settings
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
        impulse_step: world.substep(),
        origin: DVec3::ZERO,
        shapes: world.shapes().to_vec(),
        walls: world
            .walls()
            .iter()
            .map(|w| WallSurface {
                name: w.name.clone(),
                surface: w.shape.triangulate(0.1),
                unbounded: w.shape.bounds().is_none(),
                body: None,
            })
            .collect(),
        joints: JointLabel::of_world(world),
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
        if world.steps_done().is_multiple_of(every) {
            recorder.record_frame(world).unwrap();
            let frame = Frame::of(world, &recorder.header().settings, &interval);
            interval = LoadInterval::after(&frame);
            frames.push(frame);
        }
    }
    frames
}
