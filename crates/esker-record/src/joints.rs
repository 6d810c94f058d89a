//! Joints of machines in a recording: what they are, where they are in every frame, and what they
//! and their drives do.

use std::ops::Sub;

use esker_machine::{Coordinate, JointCoordinate};
use esker_world::World;
use glam::DVec3;

use crate::bytes::{Malformed, Plain, Source, put_text};
use crate::error::RecordError;
use crate::hdf5::{Member, Number, Reader, Writer};
use crate::layout::member;

/// The table of joint states.
pub(crate) const JOINT_STATES: &str = "joint_states";
const GROUP: &str = "joints";
const NAME: &str = "joints/name";
const KIND: &str = "joints/kind";
const DRIVES: &str = "joints/drives";

/// A joint of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JointLabel {
    /// Its name.
    pub name: String,
    /// Its kind in words: `revolute`, `prismatic`, …
    pub kind: String,
    /// Names of its drives, separated by commas.
    pub drives: String,
}

impl JointLabel {
    /// Those of all joints of a world.
    pub fn of_world(world: &World) -> Vec<Self> {
        let machines = world.machines();
        let names = machines.joint_names().enumerate();
        names
            .map(|(joint, name)| {
                let drives = machines.drive_names().enumerate();
                let own = drives.filter(|(d, _)| machines.drive_coordinate(*d).joint == joint);
                JointLabel {
                    name: name.to_owned(),
                    kind: machines.joint_kind(joint).name().to_owned(),
                    drives: own.map(|(_, name)| name).collect::<Vec<_>>().join(", "),
                }
            })
            .collect()
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        for text in [&self.name, &self.kind, &self.drives] {
            put_text(out, text);
        }
    }
}

/// What a joint and its drives do to its second body. Forces and power as means over an interval,
/// or their integrals since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JointLoad {
    /// Force of the joint, without drives, N (N s).
    pub force: DVec3,
    /// Its torque about the anchor, N m (N m s).
    pub torque: DVec3,
    /// Force of its drives along the axis, N (N s).
    pub drive_force: f64,
    /// Torque of its drives about the axis, N m (N m s).
    pub drive_torque: f64,
    /// Power of its drives, W (J).
    pub power: f64,
}

impl JointLoad {
    fn numbers(&self) -> [f64; 9] {
        let ([a, b, c], [d, e, f]) = (self.force.to_array(), self.torque.to_array());
        let Self {
            drive_force,
            drive_torque,
            power,
            ..
        } = *self;
        [a, b, c, d, e, f, drive_force, drive_torque, power]
    }

    fn of_numbers(n: [f64; 9]) -> Self {
        JointLoad {
            force: DVec3::from_slice(&n),
            torque: DVec3::from_slice(&n[3..]),
            drive_force: n[6],
            drive_torque: n[7],
            power: n[8],
        }
    }

    /// The mean of an integral over a time, s; zero where there is none.
    fn mean(self, time: f64) -> Self {
        match time > 0.0 {
            true => Self::of_numbers(self.numbers().map(|x| x / time)),
            false => Self::default(),
        }
    }
}

impl Sub for JointLoad {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        let (own, others) = (self.numbers(), other.numbers());
        Self::of_numbers(std::array::from_fn(|k| own[k] - others[k]))
    }
}

/// A joint of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FrameJoint {
    /// Its anchors on the first and on the second body, m.
    pub anchors: [DVec3; 2],
    /// Its axis, a unit vector, where its kind has one.
    pub axis: Option<DVec3>,
    /// Its angle with all revolutions, rad, where it has one.
    pub angle: Option<f64>,
    /// Its displacement along the axis, m, where it has one.
    pub slide: Option<f64>,
    /// How far its anchors are apart that should not be, m.
    pub gap: f64,
    /// How far its axes are from aligned, rad.
    pub tilt: f64,
    /// Mean load since the frame before.
    pub load: JointLoad,
    /// Load integrated since the start of the run.
    pub total_load: JointLoad,
}

/// Loads of all joints integrated since the start.
pub(crate) fn joint_totals(world: &World) -> Vec<JointLoad> {
    let machines = world.machines();
    let joints = 0..machines.joint_names().count();
    let of_joint = |joint: usize| {
        let given = world.joint(joint).impulse;
        JointLoad {
            force: given.linear,
            torque: given.angular,
            ..JointLoad::default()
        }
    };
    let mut totals: Vec<JointLoad> = joints.map(of_joint).collect();
    for drive in 0..machines.drive_names().count() {
        let JointCoordinate { joint, coordinate } = machines.drive_coordinate(drive);
        let (done, total) = (world.drive(drive), &mut totals[joint]);
        total.power += done.work;
        match coordinate {
            Coordinate::Slide => total.drive_force += done.impulse,
            Coordinate::Angle => total.drive_torque += done.impulse,
        }
    }
    totals
}

/// All joints of a world now; loads are means over a time, s, since they had these totals.
pub(crate) fn joints_of(world: &World, before: &[JointLoad], time: f64) -> Vec<FrameJoint> {
    let totals = joint_totals(world).into_iter().enumerate();
    totals
        .map(|(joint, total_load)| {
            let place = world.joint_place(joint);
            let coordinate =
                |coordinate| world.joint_coordinate(JointCoordinate { joint, coordinate });
            let violation = world.joint(joint).violation;
            let start = before.get(joint).copied().unwrap_or_default();
            FrameJoint {
                anchors: place.anchors,
                axis: place.axis,
                angle: coordinate(Coordinate::Angle),
                slide: coordinate(Coordinate::Slide),
                gap: violation.distance,
                tilt: violation.angle,
                load: (total_load - start).mean(time),
                total_load,
            }
        })
        .collect()
}

const MEAN: &str = "mean since the frame before";
const SUM: &str = "integrated since the start of the run";

/// Members of the table of joint states.
pub(crate) const JOINT_MEMBERS: [Member<'static>; 17] = [
    member(
        "first_anchor",
        Number::F64,
        3,
        "m",
        "its anchor on the first body",
    ),
    member(
        "anchor",
        Number::F64,
        3,
        "m",
        "its anchor on the second body",
    ),
    member(
        "axis",
        Number::F64,
        3,
        "1",
        "unit vector of its axis; zero: it has none",
    ),
    member(
        "angle",
        Number::F64,
        1,
        "rad",
        "its angle; not a number: it has none",
    ),
    member(
        "slide",
        Number::F64,
        1,
        "m",
        "displacement along its axis; not a number: it has none",
    ),
    member(
        "gap",
        Number::F64,
        1,
        "m",
        "how far its anchors are apart that should not be",
    ),
    member(
        "tilt",
        Number::F64,
        1,
        "rad",
        "how far its axes are from aligned",
    ),
    member("force", Number::F64, 3, "N", MEAN),
    member("torque", Number::F64, 3, "N m", MEAN),
    member("drive_force", Number::F64, 1, "N", MEAN),
    member("drive_torque", Number::F64, 1, "N m", MEAN),
    member("power", Number::F64, 1, "W", MEAN),
    member("impulse", Number::F64, 3, "N s", SUM),
    member("angular_impulse", Number::F64, 3, "N m s", SUM),
    member("drive_impulse", Number::F64, 1, "N s", SUM),
    member("drive_angular_impulse", Number::F64, 1, "N m s", SUM),
    member("work", Number::F64, 1, "J", SUM),
];

/// Appends a row of the table of joint states.
pub(crate) fn put_joint(out: &mut Vec<u8>, joint: &FrameJoint) {
    joint.anchors.iter().for_each(|anchor| anchor.put(out));
    joint.axis.unwrap_or_default().put(out);
    joint.angle.unwrap_or(f64::NAN).put(out);
    joint.slide.unwrap_or(f64::NAN).put(out);
    joint.gap.put(out);
    joint.tilt.put(out);
    for load in [&joint.load, &joint.total_load] {
        load.numbers().iter().for_each(|number| number.put(out));
    }
}

/// Reads a row of the table of joint states.
pub(crate) fn get_joint(source: &mut Source<'_>) -> Result<FrameJoint, Malformed> {
    let anchors = [source.get()?, source.get()?];
    let axis: DVec3 = source.get()?;
    let mut numbers = [0.0_f64; 4];
    for number in &mut numbers {
        *number = source.get()?;
    }
    let mut loads = [[0.0; 9]; 2];
    for number in loads.as_flattened_mut() {
        *number = source.get()?;
    }
    let [angle, slide, gap, tilt] = numbers;
    let [load, total_load] = loads.map(JointLoad::of_numbers);
    Ok(FrameJoint {
        anchors,
        axis: Some(axis).filter(|axis| *axis != DVec3::ZERO),
        angle: Some(angle).filter(|x| !x.is_nan()),
        slide: Some(slide).filter(|x| !x.is_nan()),
        gap,
        tilt,
        load,
        total_load,
    })
}

/// Writes what joints are.
pub(crate) fn write_joints(writer: &mut Writer, joints: &[JointLabel]) -> Result<(), RecordError> {
    if joints.is_empty() {
        return Ok(());
    }
    writer.group(GROUP, "joints of machines; see joint_states")?;
    type Text = fn(&JointLabel) -> &str;
    let columns: [(&str, Text, &str); 3] = [
        (NAME, |joint| &joint.name, "names of joints"),
        (KIND, |joint| &joint.kind, "kinds of joints"),
        (
            DRIVES,
            |joint| &joint.drives,
            "names of the drives of each joint",
        ),
    ];
    for (path, text, meaning) in columns {
        let texts: Vec<&str> = joints.iter().map(text).collect();
        writer.texts(path, &texts, meaning)?;
    }
    Ok(())
}

/// Reads what joints are; none where a file has no joints.
pub(crate) fn read_joints(reader: &Reader) -> Result<Vec<JointLabel>, RecordError> {
    if !reader.has(NAME) {
        return Ok(Vec::new());
    }
    let [names, kinds, drives] = [NAME, KIND, DRIVES].map(|path| reader.texts(path));
    let texts = names?.into_iter().zip(kinds?).zip(drives?);
    Ok(texts
        .map(|((name, kind), drives)| JointLabel { name, kind, drives })
        .collect())
}
