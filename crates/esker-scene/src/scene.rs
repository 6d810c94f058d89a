//! What a scene file says, as plain data.

use esker_probe::ProbeDef;
use esker_world::DeviceObstacle;
use esker_world::definition::WorldDef;

/// A complete, checked scene.
#[derive(Clone, Debug)]
pub struct Scene {
    /// Its name.
    pub name: String,
    /// The source text, to be kept with results.
    pub text: String,
    /// What decides the course of the run, as `path = value`: the same for
    /// scenes that differ only in their words, their duration, their device or what they record.
    /// The precision counts where a GPU may compute.
    pub physics: Vec<String>,
    /// Whether it says its step; else that of `world` was chosen.
    pub step_is_given: bool,
    /// Whether the scene, or who runs it, says what computes it: contacts are then swept in the
    /// order of devices, on whichever.
    pub device_is_given: bool,
    /// What is simulated.
    pub world: WorldDef,
    /// How long.
    pub run: RunDef,
    /// Colours of materials in pictures, sRGB, by index; `None`: by their order.
    pub material_colors: Vec<Option<[u8; 3]>>,
    /// What is measured while running.
    pub probes: Vec<ProbeDef>,
    /// What is recorded.
    pub record: RecordDef,
    /// When the state is saved for a restart.
    pub checkpoint: CheckpointDef,
}

impl Scene {
    /// Number of steps of the run: enough to reach the duration, which is
    /// taken as met when a step ends within a millionth of a step of it.
    pub fn steps(&self) -> u64 {
        ((self.run.duration / self.world.step) - 1e-6)
            .ceil()
            .max(1.0) as u64
    }
}

/// How long a run is, and what computes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunDef {
    /// Simulated time, s.
    pub duration: f64,
    /// What computes the substeps.
    pub device: Device,
    /// Numbers that a graphics processor computes substeps with.
    pub precision: DevicePrecision,
}

/// What whoever runs a scene states in place of its own keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// In place of `device`.
    pub device: Option<Device>,
    /// In place of `precision`.
    pub precision: Option<DevicePrecision>,
}

/// What computes the steps of a run. All that are stated give the same results to the bit; where
/// none is, the processor sweeps contacts in an order of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// The processor.
    #[default]
    Cpu,
    /// A graphics processor.
    Gpu,
    /// A graphics processor where there is one that can, else the processor.
    Auto,
}

impl Device {
    /// All of them with their names.
    pub const ALL: [(&'static str, Device); 3] = [
        ("cpu", Device::Cpu),
        ("gpu", Device::Gpu),
        ("auto", Device::Auto),
    ];

    /// The one of this name.
    pub fn named(name: &str) -> Option<Device> {
        let found = Device::ALL.into_iter().find(|(own, _)| *own == name);
        found.map(|(_, device)| device)
    }
}

/// Why a GPU cannot compute a scene, for people.
pub fn in_words(obstacle: DeviceObstacle) -> &'static str {
    match obstacle {
        DeviceObstacle::Method => "a GPU computes the solver method \"substepped\" only",
        DeviceObstacle::Shapes => "a GPU computes spheres only, and some grains have other shapes",
        DeviceObstacle::Bodies => "a GPU computes spheres only, and there are bodies or machines",
    }
}

/// Numbers that graphics processors compute substeps with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DevicePrecision {
    /// Double precision, with the bits of the processor.
    #[default]
    Double,
    /// Velocities and contacts in single precision, positions in double precision; bits of their
    /// own.
    Mixed,
}

impl DevicePrecision {
    /// All of them with their names.
    pub const ALL: [(&'static str, DevicePrecision); 2] = [
        ("double", DevicePrecision::Double),
        ("mixed", DevicePrecision::Mixed),
    ];

    /// The one of this name.
    pub fn named(name: &str) -> Option<DevicePrecision> {
        let found = DevicePrecision::ALL
            .into_iter()
            .find(|(own, _)| *own == name);
        found.map(|(_, precision)| precision)
    }
}

/// What is recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordDef {
    /// Simulated time between frames, s; `None`: only the first and the last state.
    pub every: Option<f64>,
    /// What is recorded of each grain.
    pub fields: Vec<Field>,
    /// Precision of recorded numbers.
    pub precision: Precision,
    /// Effort of the compression, 0 (none) to 9.
    pub compression: u8,
    /// Whether contacts and their forces are recorded too.
    pub contacts: bool,
}

/// A quantity recorded of each grain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// Centre, m.
    Position,
    /// Velocity, m/s.
    Velocity,
    /// Orientation, as a quaternion.
    Orientation,
    /// Angular velocity, rad/s.
    AngularVelocity,
    /// Radius, m.
    Radius,
    /// Index of the material.
    Material,
    /// Mass, kg.
    Mass,
}

impl Field {
    /// The field with this name in scenes.
    pub fn named(name: &str) -> Option<Field> {
        Some(match name {
            "position" => Field::Position,
            "velocity" => Field::Velocity,
            "orientation" => Field::Orientation,
            "spin" => Field::AngularVelocity,
            "radius" => Field::Radius,
            "material" => Field::Material,
            "mass" => Field::Mass,
            _ => return None,
        })
    }
}

/// Precision of recorded numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// 32 bits.
    Single,
    /// 64 bits.
    Double,
}

/// When the state is saved for a restart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CheckpointDef {
    /// After so much time on the clock, s.
    EveryWall(f64),
    /// After so much simulated time, s.
    EverySimulated(f64),
}
