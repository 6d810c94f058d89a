//! What is where in a recording.
//!
//! ```text
//! about/       format, name, scene, version, identity, materials, gravity, step, impulse_step
//! walls/       name, vertex, triangle, first_vertex, first_triangle: surfaces in their own frames
//!              position, orientation, force, torque: one row per frame
//! grains/      id and the chosen quantities, all frames one after another
//! contacts/    the same for contacts
//! frames/      step, time, and which rows of grains and contacts belong to the frame
//! scalars/     one row per step
//! integrity/   checksums
//! ```
//!
//! In a compressed recording every frame starts on a new chunk, so that no
//! chunk is compressed and stored twice; the rows between frames hold zeros.

use esker_geometry::TriangleSoup;
use esker_world::{Stage, StepReport, World};
use glam::{DQuat, DVec3};

use crate::SceneIdentity;
use crate::bytes::Plain;
use crate::frame::{Frame, FrameContact, FramePartner};
use crate::hdf5::Number;

/// Version of the format that this program writes; older ones are read.
pub const RECORDING_FORMAT: u32 = 1;

/// Text of the root attribute `format`, by which a recording is known.
pub(crate) const FORMAT_NAME: &str = "Esker recording";

/// Precision of the numbers of grains and contacts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// 32 bits.
    Single,
    /// 64 bits.
    Double,
}

/// A quantity recorded of each grain, besides its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrainField {
    /// Centre, m.
    Position,
    /// Velocity, m/s.
    Velocity,
    /// Orientation, unit quaternion.
    Orientation,
    /// Angular velocity, rad/s.
    Spin,
    /// Radius, m.
    Radius,
    /// Index of the material.
    Material,
}

/// What is recorded, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordSettings {
    /// Quantities of grains.
    pub fields: Vec<GrainField>,
    /// Precision of the numbers of grains and contacts.
    pub precision: Precision,
    /// Deflate level, 0 (none) to 9.
    pub compression: u8,
    /// Whether contacts are recorded.
    pub contacts: bool,
}

impl Default for RecordSettings {
    fn default() -> Self {
        RecordSettings {
            fields: vec![
                GrainField::Position,
                GrainField::Velocity,
                GrainField::Radius,
            ],
            precision: Precision::Single,
            compression: 0,
            contacts: false,
        }
    }
}

impl RecordSettings {
    /// The chosen fields in the order of the file, each once.
    pub(crate) fn ordered_fields(&self) -> impl Iterator<Item = GrainField> + '_ {
        GrainField::ALL
            .into_iter()
            .filter(|f| self.fields.contains(f))
    }
}

/// Surface of a wall in its own frame.
#[derive(Clone, Debug, PartialEq)]
pub struct WallSurface {
    /// Name of the wall.
    pub name: String,
    /// Its triangles.
    pub surface: TriangleSoup,
}

/// What is known about a recording before its first frame.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordingHeader {
    /// Name of the scene.
    pub name: String,
    /// Text of the scene file.
    pub scene: String,
    /// Identity of the scene.
    pub identity: SceneIdentity,
    /// Version of the program.
    pub version: String,
    /// Names of materials, by index.
    pub materials: Vec<String>,
    /// Gravity, m/s².
    pub gravity: DVec3,
    /// Time step, s.
    pub step: f64,
    /// Time that impulses of contacts belong to, s: forces are impulses divided by it.
    pub impulse_step: f64,
    /// Walls.
    pub walls: Vec<WallSurface>,
    /// What is recorded.
    pub settings: RecordSettings,
}

/// Row of one number.
const ONE: &[u64] = &[];
/// Row of a vector.
const V3: &[u64] = &[3];

/// How a column of rows is stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spec {
    pub(crate) path: &'static str,
    pub(crate) number: Number,
    /// Extents of a row; none for a single number.
    pub(crate) inner: &'static [u64],
    pub(crate) unit: &'static str,
    pub(crate) meaning: &'static str,
}

impl Precision {
    pub(crate) fn number(self) -> Number {
        match self {
            Precision::Single => Number::F32,
            Precision::Double => Number::F64,
        }
    }

    fn put(self, out: &mut Vec<u8>, values: &[f64]) {
        match self {
            Precision::Single => values.iter().for_each(|&x| (x as f32).put(out)),
            Precision::Double => values.iter().for_each(|x| x.put(out)),
        }
    }

    /// Rows of `N` numbers.
    fn get<const N: usize>(self, bytes: &[u8]) -> impl Iterator<Item = [f64; N]> + '_ {
        let size = self.number().size();
        bytes.chunks_exact(N * size).map(move |row| {
            std::array::from_fn(|i| {
                let number = &row[i * size..(i + 1) * size];
                match self {
                    Precision::Single => f64::from(f32::get(number)),
                    Precision::Double => f64::get(number),
                }
            })
        })
    }
}

/// The column of ids.
pub(crate) const GRAIN_ID: Spec = Spec {
    path: "grains/id",
    number: Number::U64,
    inner: &[],
    unit: "1",
    meaning: "id of the grain: slot in the lower 32 bits, generation of the slot in the upper",
};

impl GrainField {
    /// All fields, in the order of the file.
    pub const ALL: [GrainField; 6] = [
        GrainField::Position,
        GrainField::Velocity,
        GrainField::Orientation,
        GrainField::Spin,
        GrainField::Radius,
        GrainField::Material,
    ];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        let path = self.spec(Precision::Double).path;
        path.rsplit_once('/').map_or(path, |(_, name)| name)
    }

    pub(crate) fn spec(self, precision: Precision) -> Spec {
        let number = precision.number();
        let (path, number, inner, unit, meaning) = match self {
            GrainField::Position => ("grains/position", number, V3, "m", "centre of the grain"),
            GrainField::Velocity => (
                "grains/velocity",
                number,
                V3,
                "m/s",
                "velocity of the centre",
            ),
            GrainField::Orientation => (
                "grains/orientation",
                number,
                &[4][..],
                "1",
                "unit quaternion (x, y, z, w) that turns the grain's axes into the world's",
            ),
            GrainField::Spin => (
                "grains/spin",
                number,
                V3,
                "rad/s",
                "angular velocity, world axes",
            ),
            GrainField::Radius => ("grains/radius", number, ONE, "m", "radius"),
            GrainField::Material => {
                let meaning = "index of the material in about/materials";
                ("grains/material", Number::U16, ONE, "1", meaning)
            }
        };
        Spec {
            path,
            number,
            inner,
            unit,
            meaning,
        }
    }

    pub(crate) fn encode(self, frame: &Frame, precision: Precision) -> Vec<u8> {
        let mut out = Vec::new();
        let mut vectors = |list: &[DVec3]| {
            for x in list {
                precision.put(&mut out, &x.to_array());
            }
        };
        match self {
            GrainField::Position => vectors(&frame.position),
            GrainField::Velocity => vectors(&frame.velocity),
            GrainField::Spin => vectors(&frame.spin),
            GrainField::Orientation => {
                for q in &frame.orientation {
                    precision.put(&mut out, &q.to_array());
                }
            }
            GrainField::Radius => precision.put(&mut out, &frame.radius),
            GrainField::Material => frame.material.iter().for_each(|m| m.put(&mut out)),
        }
        out
    }

    pub(crate) fn decode(self, bytes: &[u8], precision: Precision, frame: &mut Frame) {
        let vectors = || precision.get::<3>(bytes).map(DVec3::from_array).collect();
        match self {
            GrainField::Position => frame.position = vectors(),
            GrainField::Velocity => frame.velocity = vectors(),
            GrainField::Spin => frame.spin = vectors(),
            GrainField::Orientation => {
                frame.orientation = precision.get::<4>(bytes).map(DQuat::from_array).collect();
            }
            GrainField::Radius => frame.radius = precision.get::<1>(bytes).map(|[r]| r).collect(),
            GrainField::Material => frame.material = bytes.chunks_exact(2).map(u16::get).collect(),
        }
    }
}

/// Columns of contacts.
pub(crate) fn contact_specs(precision: Precision) -> [Spec; 10] {
    let spec = |path, number, inner, unit, meaning| Spec {
        path,
        number,
        inner,
        unit,
        meaning,
    };
    let real = precision.number();
    [
        spec("contacts/grain", Number::U64, ONE, "1", "id of the grain"),
        spec(
            "contacts/partner",
            Number::U64,
            ONE,
            "1",
            "what it touches: id of the other grain, or index of the wall",
        ),
        spec(
            "contacts/partner_is_wall",
            Number::U8,
            ONE,
            "1",
            "1 where the partner is a wall",
        ),
        spec("contacts/point", real, V3, "m", "contact point"),
        spec(
            "contacts/normal",
            real,
            V3,
            "1",
            "unit normal from the grain to its partner",
        ),
        spec(
            "contacts/overlap",
            real,
            ONE,
            "m",
            "overlap at the start of the step; negative: gap",
        ),
        spec(
            "contacts/normal_impulse",
            real,
            ONE,
            "N s",
            "normal impulse; divide by about/impulse_step for the force",
        ),
        spec(
            "contacts/friction_impulse",
            real,
            V3,
            "N s",
            "friction impulse on the partner",
        ),
        spec(
            "contacts/rolling_impulse",
            real,
            V3,
            "N m s",
            "rolling impulse on the partner",
        ),
        spec(
            "contacts/twisting_impulse",
            real,
            ONE,
            "N m s",
            "twisting impulse on the partner about the normal",
        ),
    ]
}

/// Bytes of all columns of [`contact_specs`].
pub(crate) fn encode_contacts(contacts: &[FrameContact], precision: Precision) -> [Vec<u8>; 10] {
    let mut columns: [Vec<u8>; 10] = Default::default();
    for c in contacts {
        let (partner, is_wall) = match c.partner {
            FramePartner::Grain(id) => (id, 0_u8),
            FramePartner::Wall(index) => (index, 1),
        };
        c.grain.put(&mut columns[0]);
        partner.put(&mut columns[1]);
        is_wall.put(&mut columns[2]);
        let reals: [&[f64]; 7] = [
            &c.point.to_array(),
            &c.normal.to_array(),
            &[c.overlap],
            &[c.normal_impulse],
            &c.friction_impulse.to_array(),
            &c.rolling_impulse.to_array(),
            &[c.twisting_impulse],
        ];
        for (column, values) in columns[3..].iter_mut().zip(reals) {
            precision.put(column, values);
        }
    }
    columns
}

/// Contacts from the bytes of all columns, all of the same number of rows.
pub(crate) fn decode_contacts(columns: &[Vec<u8>; 10], precision: Precision) -> Vec<FrameContact> {
    let ids = |column: usize| columns[column].chunks_exact(8).map(u64::get);
    let vectors = |column: usize| precision.get::<3>(&columns[column]).map(DVec3::from_array);
    let reals = |column: usize| precision.get::<1>(&columns[column]).map(|[x]| x);
    let bodies = ids(0).zip(ids(1)).zip(&columns[2]);
    let geometry = vectors(3).zip(vectors(4)).zip(reals(5));
    let impulses = reals(6).zip(vectors(7)).zip(vectors(8)).zip(reals(9));
    bodies
        .zip(geometry)
        .zip(impulses)
        .map(|((bodies, geometry), impulses)| {
            let ((grain, partner), &is_wall) = bodies;
            let ((point, normal), overlap) = geometry;
            let (((normal_impulse, friction_impulse), rolling_impulse), twisting_impulse) =
                impulses;
            FrameContact {
                grain,
                partner: if is_wall == 0 {
                    FramePartner::Grain(partner)
                } else {
                    FramePartner::Wall(partner)
                },
                point,
                normal,
                overlap,
                normal_impulse,
                friction_impulse,
                rolling_impulse,
                twisting_impulse,
            }
        })
        .collect()
}

/// One scalar that is recorded after every step.
#[derive(Clone, Copy)]
pub struct Scalar {
    /// Its name.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// What it is.
    pub meaning: &'static str,
    pub(crate) value: fn(&World, &StepReport) -> f64,
}

const fn scalar(
    name: &'static str,
    unit: &'static str,
    meaning: &'static str,
    value: fn(&World, &StepReport) -> f64,
) -> Scalar {
    Scalar {
        name,
        unit,
        meaning,
        value,
    }
}

/// Time of a stage of the step, s.
macro_rules! stage_seconds {
    ($name:literal, $stage:ident, $meaning:literal) => {
        scalar($name, "s", $meaning, |_, r| {
            r.times.get(Stage::$stage).as_secs_f64()
        })
    };
}

/// Everything that is recorded after every step.
pub const SCALARS: [Scalar; 21] = [
    scalar("step", "1", "steps done", |_, r| r.step as f64),
    scalar("time", "s", "time after the step", |_, r| r.time),
    scalar("grains", "1", "grains after the step", |_, r| {
        r.grains as f64
    }),
    scalar(
        "contacts",
        "1",
        "contacts, predicted ones included",
        |_, r| r.contacts as f64,
    ),
    scalar("touching", "1", "contacts with positive overlap", |_, r| {
        r.touching as f64
    }),
    scalar(
        "kinetic_energy",
        "J",
        "kinetic energy, rotation included",
        |w, _| w.grains.kinetic_energy(),
    ),
    scalar(
        "mean_overlap",
        "1",
        "mean overlap of touching contacts, in diameters",
        |_, r| r.mean_overlap,
    ),
    scalar(
        "max_overlap",
        "1",
        "greatest overlap, in diameters",
        |_, r| r.max_overlap,
    ),
    scalar(
        "residual",
        "1",
        "residual of the contact problem; not a number: not measured",
        |_, r| r.residual.unwrap_or(f64::NAN),
    ),
    scalar("sweeps", "1", "sweeps of the main stage", |_, r| {
        r.sweeps as f64
    }),
    scalar("impacts", "1", "impacts", |_, r| r.impacts as f64),
    scalar(
        "converged",
        "1",
        "0 where a tolerance was set and missed",
        |_, r| f64::from(u8::from(r.converged)),
    ),
    scalar("emitted", "1", "grains added in the step", |_, r| {
        r.emitted as f64
    }),
    scalar(
        "removed",
        "1",
        "grains removed by sinks in the step",
        |_, r| r.removed as f64,
    ),
    scalar(
        "lost",
        "1",
        "grains that left the bounds in the step",
        |_, r| r.lost as f64,
    ),
    stage_seconds!(
        "seconds_supply",
        Supply,
        "time on the clock of stage supply"
    ),
    stage_seconds!(
        "seconds_find_pairs",
        FindPairs,
        "time on the clock of stage find_pairs"
    ),
    stage_seconds!(
        "seconds_collide",
        Collide,
        "time on the clock of stage collide"
    ),
    stage_seconds!(
        "seconds_assemble",
        Assemble,
        "time on the clock of stage assemble"
    ),
    stage_seconds!(
        "seconds_advance",
        Advance,
        "time on the clock of stage advance"
    ),
    stage_seconds!(
        "seconds_finish",
        Finish,
        "time on the clock of stage finish"
    ),
];
