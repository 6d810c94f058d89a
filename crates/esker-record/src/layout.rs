//! What is where in a recording.
//!
//! ```text
//! about/          format, name, scene, version, identity, materials, gravity, origin (since format 3), …
//! shapes/         kind, size, point, triangle, …: shapes of grains (since format 4)
//! walls/          name, vertex, triangle, first_vertex, first_triangle: surfaces in their own frames
//! grains          table: id and the chosen quantities, all frames one after another
//! contacts        table: the same for contacts
//! wall_states     table: poses and loads of all walls, frame after frame
//! joints/         name, kind, drives: joints of machines, where there are any (since format 5)
//! joint_states    table: places, coordinates and loads of all joints, frame after frame
//! scalars         table: one row per step
//! wall_loads      table: loads of all walls, step after step (since format 2)
//! scalar_blocks   table: checksums of scalars and wall_loads
//! probes/         one table of rows per probe, where the scene has probes
//! frames          table: step, time, and which rows of grains and contacts belong to the frame
//! ```
//!
//! In a compressed recording every frame starts on a new chunk, so that no
//! chunk is compressed and stored twice; the rows between frames hold zeros.

use esker_geometry::Pose;
use esker_world::{LoadIntegral, Stage, StepReport, WallLoad, World};
use glam::{DQuat, DVec3};

use crate::bytes::{Malformed, Plain, Source};
use crate::frame::{Frame, FrameContact, FramePartner, FrameWall};
use crate::hdf5::{Member, Number, row_size};
use crate::series::{UNKNOWN_LOAD, get_load, put_load};

pub(crate) const GRAINS: &str = "grains";
pub(crate) const CONTACTS: &str = "contacts";
pub(crate) const WALL_STATES: &str = "wall_states";
pub(crate) const SCALAR_TABLE: &str = "scalars";
pub(crate) const WALL_LOADS: &str = "wall_loads";
pub(crate) const SCALAR_BLOCKS: &str = "scalar_blocks";
pub(crate) const FRAMES: &str = "frames";

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
    AngularVelocity,
    /// Radius, m; of the sphere of equal volume, where a grain is none.
    Radius,
    /// Index of the material.
    Material,
    /// Mass, kg.
    Mass,
    /// Number of the shape: 0 for a sphere, else one more than its index.
    Shape,
    /// Factor on the lengths of the shape; the radius of a sphere, m.
    Scale,
    /// Aggregate that the grain is frozen in: one more than the index of its group of walls, or 0.
    Aggregate,
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
                GrainField::Mass,
            ],
            precision: Precision::Single,
            compression: 0,
            contacts: false,
        }
    }
}

/// What grains that are no spheres are drawn and measured by.
const SHAPE_FIELDS: [GrainField; 3] = [
    GrainField::Orientation,
    GrainField::Shape,
    GrainField::Scale,
];

impl RecordSettings {
    /// Whether shapes of grains can be drawn and measured.
    pub(crate) fn has_shapes(&self) -> bool {
        SHAPE_FIELDS.iter().all(|field| self.fields.contains(field))
    }

    /// Adds what grains that are no spheres are drawn and measured by.
    pub(crate) fn add_shapes(&mut self) {
        for field in SHAPE_FIELDS {
            if !self.fields.contains(&field) {
                self.fields.push(field);
            }
        }
    }

    /// The chosen fields in the order of the file, each once.
    pub(crate) fn ordered_fields(&self) -> impl Iterator<Item = GrainField> + '_ {
        GrainField::ALL
            .into_iter()
            .filter(|f| self.fields.contains(f))
    }
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

    fn get<const N: usize>(self, source: &mut Source<'_>) -> Result<[f64; N], Malformed> {
        let mut values = [0.0; N];
        for value in &mut values {
            *value = match self {
                Precision::Single => f64::from(source.get::<f32>()?),
                Precision::Double => source.get()?,
            };
        }
        Ok(values)
    }

    fn get_vector(self, source: &mut Source<'_>) -> Result<DVec3, Malformed> {
        self.get(source).map(DVec3::from_array)
    }
}

pub(crate) const fn member(
    name: &'static str,
    number: Number,
    width: usize,
    unit: &'static str,
    meaning: &'static str,
) -> Member<'static> {
    Member {
        name,
        number,
        width,
        unit,
        meaning,
    }
}

impl GrainField {
    /// All fields, in the order of the file.
    pub const ALL: [GrainField; 10] = [
        GrainField::Position,
        GrainField::Velocity,
        GrainField::Orientation,
        GrainField::AngularVelocity,
        GrainField::Radius,
        GrainField::Material,
        GrainField::Mass,
        GrainField::Shape,
        GrainField::Scale,
        GrainField::Aggregate,
    ];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        self.member(Precision::Double).name
    }

    fn member(self, precision: Precision) -> Member<'static> {
        let real = precision.number();
        match self {
            GrainField::Position => {
                member("position", real, 3, "m", "centre, relative to about/origin")
            }
            GrainField::Velocity => member("velocity", real, 3, "m/s", "velocity of the centre"),
            GrainField::Orientation => member(
                "orientation",
                real,
                4,
                "1",
                "unit quaternion (x, y, z, w) that turns the grain's axes into the world's",
            ),
            GrainField::AngularVelocity => {
                member("spin", real, 3, "rad/s", "angular velocity, world axes")
            }
            GrainField::Radius => member("radius", real, 1, "m", "radius"),
            GrainField::Material => member(
                "material",
                Number::U16,
                1,
                "1",
                "index of the material in about/materials",
            ),
            GrainField::Mass => member("mass", real, 1, "kg", "mass"),
            GrainField::Shape => member(
                "shape",
                Number::U16,
                1,
                "1",
                "0: a sphere, else one more than the index of its shape in shapes/*",
            ),
            GrainField::Scale => member(
                "scale",
                real,
                1,
                "1",
                "factor on all lengths of the shape; the radius in m of a sphere",
            ),
            GrainField::Aggregate => member(
                "aggregate",
                Number::U16,
                1,
                "1",
                "0: free, else 1 + the group of walls that the grain is frozen to",
            ),
        }
    }

    fn put(self, out: &mut Vec<u8>, frame: &Frame, i: usize, precision: Precision) {
        match self {
            GrainField::Position => precision.put(out, &frame.position[i].to_array()),
            GrainField::Velocity => precision.put(out, &frame.velocity[i].to_array()),
            GrainField::Orientation => precision.put(out, &frame.orientation[i].to_array()),
            GrainField::AngularVelocity => {
                precision.put(out, &frame.angular_velocity[i].to_array())
            }
            GrainField::Radius => precision.put(out, &[frame.radius[i]]),
            GrainField::Material => frame.material[i].put(out),
            GrainField::Mass => precision.put(out, &[frame.mass[i]]),
            GrainField::Shape => frame.shape[i].put(out),
            GrainField::Scale => precision.put(out, &[frame.scale[i]]),
            GrainField::Aggregate => frame.aggregate[i].put(out),
        }
    }

    fn get(
        self,
        source: &mut Source<'_>,
        frame: &mut Frame,
        precision: Precision,
    ) -> Result<(), Malformed> {
        match self {
            GrainField::Position => frame.position.push(precision.get_vector(source)?),
            GrainField::Velocity => frame.velocity.push(precision.get_vector(source)?),
            GrainField::Orientation => {
                let q = precision.get(source)?;
                frame.orientation.push(DQuat::from_array(q));
            }
            GrainField::AngularVelocity => {
                frame.angular_velocity.push(precision.get_vector(source)?)
            }
            GrainField::Radius => {
                let [radius] = precision.get(source)?;
                frame.radius.push(radius);
            }
            GrainField::Material => frame.material.push(source.get()?),
            GrainField::Mass => {
                let [mass] = precision.get(source)?;
                frame.mass.push(mass);
            }
            GrainField::Shape => frame.shape.push(source.get()?),
            GrainField::Scale => {
                let [scale] = precision.get(source)?;
                frame.scale.push(scale);
            }
            GrainField::Aggregate => frame.aggregate.push(source.get()?),
        }
        Ok(())
    }
}

/// Members of the table of grains.
pub(crate) fn grain_members(settings: &RecordSettings) -> Vec<Member<'static>> {
    let id = "id: number in the lower 48 bits, above it 0 for grains of the start or 1 + emitter";
    std::iter::once(member("id", Number::U64, 1, "1", id))
        .chain(
            settings
                .ordered_fields()
                .map(|f| f.member(settings.precision)),
        )
        .collect()
}

/// Rows of the table of grains.
pub(crate) fn put_grains(frame: &Frame, settings: &RecordSettings) -> Vec<u8> {
    let mut out = Vec::with_capacity(frame.id.len() * row_size(&grain_members(settings)));
    let fields: Vec<GrainField> = settings.ordered_fields().collect();
    for (i, id) in frame.id.iter().enumerate() {
        id.put(&mut out);
        for field in &fields {
            field.put(&mut out, frame, i, settings.precision);
        }
    }
    out
}

/// Fills a frame from `count` rows of the table of grains.
pub(crate) fn get_grains(
    source: &mut Source<'_>,
    count: u64,
    frame: &mut Frame,
    settings: &RecordSettings,
) -> Result<(), Malformed> {
    let fields: Vec<GrainField> = settings.ordered_fields().collect();
    for _ in 0..count {
        frame.id.push(source.get()?);
        for field in &fields {
            field.get(source, frame, settings.precision)?;
        }
    }
    Ok(())
}

/// Members of the table of contacts.
pub(crate) fn contact_members(precision: Precision) -> [Member<'static>; 10] {
    let real = precision.number();
    let grain = "id of the grain; of a body 2^63 plus its index among the walls";
    let partner = "what it touches: id of the other grain, or index of the wall";
    let force = "normal impulse; divide by about/impulse_step for the force";
    let overlap = "overlap at the start of the step; negative: gap";
    let twisting = "twisting impulse on the partner about the normal";
    [
        member("grain", Number::U64, 1, "1", grain),
        member("partner", Number::U64, 1, "1", partner),
        member(
            "partner_is_wall",
            Number::U8,
            1,
            "1",
            "1 where the partner is a wall",
        ),
        member(
            "point",
            real,
            3,
            "m",
            "contact point, relative to about/origin",
        ),
        member(
            "normal",
            real,
            3,
            "1",
            "unit normal from the grain to its partner",
        ),
        member("overlap", real, 1, "m", overlap),
        member("normal_impulse", real, 1, "N s", force),
        member(
            "friction_impulse",
            real,
            3,
            "N s",
            "friction impulse on the partner",
        ),
        member(
            "rolling_impulse",
            real,
            3,
            "N m s",
            "rolling impulse on the partner",
        ),
        member("twisting_impulse", real, 1, "N m s", twisting),
    ]
}

/// Appends a row of the table of contacts.
pub(crate) fn put_contact(out: &mut Vec<u8>, contact: &FrameContact, precision: Precision) {
    let (partner, is_wall) = match contact.partner {
        FramePartner::Grain(id) => (id, 0_u8),
        FramePartner::Wall(index) => (index, 1),
    };
    contact.grain.put(out);
    partner.put(out);
    is_wall.put(out);
    precision.put(out, &contact.point.to_array());
    precision.put(out, &contact.normal.to_array());
    precision.put(out, &[contact.overlap, contact.normal_impulse]);
    precision.put(out, &contact.friction_impulse.to_array());
    precision.put(out, &contact.rolling_impulse.to_array());
    precision.put(out, &[contact.twisting_impulse]);
}

/// Reads a row of the table of contacts.
pub(crate) fn get_contact(
    source: &mut Source<'_>,
    precision: Precision,
) -> Result<FrameContact, Malformed> {
    let (grain, partner, is_wall) = (source.get()?, source.get()?, source.get::<u8>()?);
    let (point, normal) = (precision.get_vector(source)?, precision.get_vector(source)?);
    let [overlap, normal_impulse] = precision.get(source)?;
    let friction_impulse = precision.get_vector(source)?;
    let rolling_impulse = precision.get_vector(source)?;
    let [twisting_impulse] = precision.get(source)?;
    Ok(FrameContact {
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
    })
}

/// Members of the table of wall states in a format.
pub(crate) fn wall_members(format: u32) -> &'static [Member<'static>] {
    // Loads were those of the last substep, without power and sums.
    if format == 1 {
        &WALL_MEMBERS[..4]
    } else {
        &WALL_MEMBERS
    }
}

const WALL_MEMBERS: [Member<'static>; 8] = [
    member(
        "position",
        Number::F64,
        3,
        "m",
        "origin of the wall's frame",
    ),
    member(
        "orientation",
        Number::F64,
        4,
        "1",
        "unit quaternion (x, y, z, w) of the wall",
    ),
    member(
        "force",
        Number::F64,
        3,
        "N",
        "force of the grains on the wall, mean since the frame before",
    ),
    member(
        "torque",
        Number::F64,
        3,
        "N m",
        "torque of the grains about the wall's origin, mean since the frame before",
    ),
    member(
        "power",
        Number::F64,
        1,
        "W",
        "power of the wall's drive on the grains, mean since the frame before",
    ),
    member(
        "impulse",
        Number::F64,
        3,
        "N s",
        "impulse of the grains on the wall since the start",
    ),
    member(
        "angular_impulse",
        Number::F64,
        3,
        "N m s",
        "angular impulse about the wall's origin since the start",
    ),
    member(
        "work",
        Number::F64,
        1,
        "J",
        "work of the wall's drive on the grains since the start",
    ),
];

/// Members of the table of loads of every step.
pub(crate) const LOAD_MEMBERS: [Member<'static>; 3] = [
    member(
        "force",
        Number::F64,
        3,
        "N",
        "force of the grains on the wall, mean over the step",
    ),
    member(
        "torque",
        Number::F64,
        3,
        "N m",
        "torque of the grains about the wall's origin, mean over the step",
    ),
    member(
        "power",
        Number::F64,
        1,
        "W",
        "power of the wall's drive on the grains, mean over the step",
    ),
];

/// Appends a row of the table of wall states.
pub(crate) fn put_wall(out: &mut Vec<u8>, wall: &FrameWall) {
    wall.pose.position.put(out);
    wall.pose.orientation.put(out);
    put_load(out, &wall.load);
    wall.total_load.impulse.put(out);
    wall.total_load.angular_impulse.put(out);
    wall.total_load.work.put(out);
}

/// Reads a row of the table of wall states in a format.
pub(crate) fn get_wall(source: &mut Source<'_>, format: u32) -> Result<FrameWall, Malformed> {
    let pose = Pose::new(source.get()?, source.get()?);
    if format == 1 {
        let (force, torque) = (source.get()?, source.get()?);
        return Ok(FrameWall {
            pose,
            load: WallLoad {
                force,
                torque,
                ..UNKNOWN_LOAD
            },
            total_load: LoadIntegral::default(),
        });
    }
    Ok(FrameWall {
        pose,
        load: get_load(source)?,
        total_load: LoadIntegral {
            impulse: source.get()?,
            angular_impulse: source.get()?,
            work: source.get()?,
        },
    })
}

/// A row of the table of frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameRow {
    /// Steps done.
    pub step: u64,
    /// Time, s.
    pub time: f64,
    /// First row in the table of grains.
    pub first_grain: u64,
    /// Number of grains.
    pub grains: u64,
    /// First row in the table of contacts.
    pub first_contact: u64,
    /// Number of contacts.
    pub contacts: u64,
    /// Checksum of the frame.
    pub(crate) checksum: u64,
}

/// Members of the table of frames.
pub(crate) const FRAME_MEMBERS: [Member<'static>; 7] = [
    member("step", Number::U64, 1, "1", "steps done"),
    member("time", Number::F64, 1, "s", "time"),
    member(
        "first_grain",
        Number::U64,
        1,
        "1",
        "first row of the frame in grains",
    ),
    member(
        "grains",
        Number::U64,
        1,
        "1",
        "number of grains of the frame",
    ),
    member(
        "first_contact",
        Number::U64,
        1,
        "1",
        "first row of the frame in contacts",
    ),
    member(
        "contacts",
        Number::U64,
        1,
        "1",
        "number of recorded contacts of the frame",
    ),
    member(
        "checksum",
        Number::U64,
        1,
        "1",
        "XXH3 of the frame: this row, grains, contacts, walls, joints",
    ),
];

impl FrameRow {
    /// The row as it is stored.
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        self.step.put(out);
        self.time.put(out);
        for number in [
            self.first_grain,
            self.grains,
            self.first_contact,
            self.contacts,
        ] {
            number.put(out);
        }
        self.checksum.put(out);
    }

    pub(crate) fn get(source: &mut Source<'_>) -> Result<Self, Malformed> {
        Ok(FrameRow {
            step: source.get()?,
            time: source.get()?,
            first_grain: source.get()?,
            grains: source.get()?,
            first_contact: source.get()?,
            contacts: source.get()?,
            checksum: source.get()?,
        })
    }
}

/// Members of the table of scalar blocks.
pub(crate) const BLOCK_MEMBERS: [Member<'static>; 2] = [
    member(
        "end",
        Number::U64,
        1,
        "1",
        "rows of scalars up to the end of the block",
    ),
    member("checksum", Number::U64, 1, "1", "XXH3 of the block's rows"),
];

/// Members of the table of scalars.
pub(crate) fn scalar_members() -> [Member<'static>; SCALARS.len()] {
    SCALARS.map(|s| member(s.name, Number::F64, 1, s.unit, s.meaning))
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
// New ones go to the end: rows of older recordings are the beginning of today's.
pub const SCALARS: [Scalar; 23] = [
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
        |w, _| w.kinetic_energy(),
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
        "largest overlap, in diameters",
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
    stage_seconds!("seconds_begin", Begin, "time on the clock of stage begin"),
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
    scalar(
        "owed",
        "1",
        "grains that emitters owe: due, but there was no room",
        |_, r| r.owed as f64,
    ),
    scalar(
        "frozen_share",
        "1",
        "share of grains that are frozen; not a number: none may be",
        |w, r| match w.reduction() {
            Some(_) => r.frozen as f64 / r.grains.max(1) as f64,
            None => f64::NAN,
        },
    ),
];

/// All scalars of a step, in the order of [`SCALARS`].
pub type ScalarRow = [f64; SCALARS.len()];
