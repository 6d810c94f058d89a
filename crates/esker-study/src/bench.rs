//! The laboratory bench: what experiments do with worlds again and again.

use std::cell::Cell;
use std::io;
use std::sync::Arc;

use esker_world::definition::{
    ListedGrain, Method, PackingDef, Placement, SubStepped, WarmStart, WholeStep, WorldDef,
};
use esker_world::{StepReport, World};
use glam::DVec3;
use serde::{Deserialize, Serialize};

use crate::results::StudyError;

/// Files that shipped scenes name, by their names there.
struct Shipped;

const SHIPPED: [(&str, &[u8]); 3] = [
    (
        "impact/grains.csv",
        include_bytes!("../../../scenes/experiments/impact/grains.csv"),
    ),
    (
        "impact/ball.csv",
        include_bytes!("../../../scenes/experiments/impact/ball.csv"),
    ),
    (
        "meshes/lifter-drum.stl",
        include_bytes!("../../../scenes/meshes/lifter-drum.stl"),
    ),
];

impl esker_scene::Files for Shipped {
    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let file = SHIPPED.iter().find(|(known, _)| *known == name);
        file.map(|(_, bytes)| bytes.to_vec())
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// A shipped scene.
pub fn scene(text: &str) -> Result<esker_scene::Scene, StudyError> {
    esker_scene::interpret(text, "experiment.toml", &Shipped)
        .map_err(|errors| failed("scene", errors))
}

/// The world of a shipped scene.
pub fn world_of_scene(text: &str) -> Result<WorldDef, StudyError> {
    scene(text).map(|scene| scene.world)
}

/// An error of a case, from whatever went wrong.
pub fn failed(case: &str, reason: impl std::fmt::Display) -> StudyError {
    StudyError::Case {
        case: case.into(),
        reason: reason.to_string(),
    }
}

thread_local! {
    /// Threads of the worlds that cases on this thread build.
    static THREADS: Cell<usize> = const { Cell::new(1) };
}

/// Worlds that this thread builds from now on step with so many threads (at first one).
pub(crate) fn set_threads(threads: usize) {
    THREADS.set(threads.max(1));
}

/// Hands a world of a definition what computes its steps, where it can.
pub type DeviceSource = fn(&WorldDef, &mut World) -> Result<(), String>;

thread_local! {
    /// What computes the steps of worlds that cases on this thread build.
    static DEVICE: Cell<Option<DeviceSource>> = const { Cell::new(None) };
}

/// Steps of worlds that this thread builds from now on are computed by what this hands them, in
/// the order of devices; at first by the CPU in its own.
pub(crate) fn set_device(source: Option<DeviceSource>) {
    DEVICE.set(source);
}

/// Builds a world.
pub fn build(def: &WorldDef) -> Result<World, StudyError> {
    let mut world = World::new(def).map_err(|e| failed("build", e))?;
    world.set_threads(THREADS.get());
    if let Some(hand_device) = DEVICE.get() {
        world.set_device_order(true);
        hand_device(def, &mut world).map_err(|e| failed("device", e))?;
    }
    Ok(world)
}

/// [`run`] where only the grains matter, and only after steps that `looks` says so of: they may
/// stay on a device in between.
pub fn run_with_looks(
    world: &mut World,
    seconds: f64,
    looks: impl Fn(&StepReport) -> bool,
    mut watch: impl FnMut(&World),
) -> Result<(), StudyError> {
    let steps = (seconds / world.step_length()).round() as u64;
    world.leave_on_device(true);
    for _ in 0..steps {
        let report = world.step().map_err(|e| failed("run", e))?;
        if looks(&report) {
            world.fetch_grains().map_err(|e| failed("run", e))?;
            watch(world);
        }
    }
    world.leave_on_device(false);
    world.fetch().map_err(|e| failed("run", e))
}

/// Steps a world for some seconds; `watch` sees every step. An error when the
/// state blew up: in a study of convergence that can be a result.
pub fn run(
    world: &mut World,
    seconds: f64,
    mut watch: impl FnMut(&World, &StepReport),
) -> Result<(), StudyError> {
    let steps = (seconds / world.step_length()).round() as u64;
    for _ in 0..steps {
        let report = world.step().map_err(|e| failed("run", e))?;
        watch(world, &report);
    }
    Ok(())
}

/// A way to advance, as experiments vary it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Start {
    /// Whole step from zero.
    Cold,
    /// Whole step from 0.85 of the last impulses, as the papers.
    History,
    /// Whole step from the last impulses.
    FullHistory,
    /// Whole step from 0.85 of the last normal impulses only.
    NormalsOnly,
    /// Whole step from 0.85 of the last impulses without their velocity change.
    WithoutVelocity,
    /// Whole step from the static law.
    Model,
    /// Sub-stepped, one sweep per substep.
    SubStepped,
}

impl Start {
    /// Name in tables and legends.
    pub fn name(self) -> &'static str {
        match self {
            Start::Cold => "cold",
            Start::History => "history 0.85",
            Start::FullHistory => "history 1",
            Start::NormalsOnly => "history, normals only",
            Start::WithoutVelocity => "history, no velocity update",
            Start::Model => "model",
            Start::SubStepped => "sub-stepped",
        }
    }

    /// The method with this many sweeps per step.
    pub fn method(self, sweeps: usize) -> Method {
        let factor = 0.85;
        let warm_start = match self {
            Start::SubStepped => {
                return Method::SubStepped(SubStepped {
                    substeps: sweeps,
                    ..Default::default()
                });
            }
            Start::Cold => WarmStart::Cold,
            Start::History => WarmStart::History { factor },
            Start::FullHistory => WarmStart::History { factor: 1.0 },
            Start::NormalsOnly => WarmStart::HistoryOfNormals { factor },
            Start::WithoutVelocity => WarmStart::HistoryWithoutVelocity { factor },
            Start::Model => WarmStart::Model,
        };
        Method::WholeStep(WholeStep {
            sweeps,
            warm_start,
            ..Default::default()
        })
    }
}

/// Grains of a prepared state, to start other cases from.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Prepared {
    /// Per grain: position, velocity, angular velocity, radius.
    grains: Vec<[f64; 10]>,
}

impl Prepared {
    /// The grains of a world, in the order of their ids.
    pub fn of(world: &World) -> Self {
        let g = world.all_grains();
        let row = |i: usize| {
            let (x, s) = (g.position()[i], &g.state()[i]);
            let mut row = [0.0; 10];
            for (k, v) in [x, s.velocity, s.angular_velocity].into_iter().enumerate() {
                row[3 * k..3 * k + 3].copy_from_slice(&v.to_array());
            }
            row[9] = g.radius()[i];
            row
        };
        Prepared {
            grains: g.in_id_order().into_iter().map(row).collect(),
        }
    }

    /// Replaces all grains and sources of a world by these; they get the
    /// first packing's material (or material 0).
    pub fn put_into(&self, def: &mut WorldDef) {
        let vector = |r: &[f64; 10], k: usize| DVec3::new(r[3 * k], r[3 * k + 1], r[3 * k + 2]);
        let grains = self
            .grains
            .iter()
            .map(|r| ListedGrain {
                position: vector(r, 0),
                velocity: vector(r, 1),
                angular_velocity: vector(r, 2),
                radius: r[9],
            })
            .collect();
        let material = def.packings.first().map_or(0, |p| p.material);
        def.emitters.clear();
        def.packings = vec![PackingDef {
            shape: None,
            material,
            velocity: DVec3::ZERO,
            placement: Placement::Listed {
                grains: Arc::new(grains),
            },
        }];
    }
}
