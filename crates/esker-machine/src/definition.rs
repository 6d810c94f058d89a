//! What machines are made of: plain data, which [`crate::Machines::new`] validates.
//!
//! SI units: metre, kilogram, second, newton, radian.

use glam::DVec3;

use crate::body::BodyPose;

/// A joint between two bodies.
#[derive(Clone, Debug, PartialEq)]
pub struct JointDef {
    /// Name used by reports.
    pub name: String,
    /// What it lets the bodies do.
    pub kind: JointKind,
    /// The two bodies, by index; `None` is the ground.
    pub bodies: [Option<usize>; 2],
    /// Where it is, in the frame of each body; world coordinates for the ground.
    pub frames: [JointFrame; 2],
    /// How it yields along its linear rows, m/N and N s/m.
    pub linear: Elasticity,
    /// How it yields along its angular rows, rad/(N m) and N m s.
    pub angular: Elasticity,
    /// Limits and friction torque of its angle, rad and N m.
    pub angle: CoordinateLaw,
    /// Limits and friction force of its slide, m and N.
    pub slide: CoordinateLaw,
}

impl JointDef {
    /// A rigid joint without limits and friction, whose anchor and axis are given in world
    /// coordinates for bodies with these poses; angle and slide are zero there.
    pub fn at(
        name: impl Into<String>,
        kind: JointKind,
        bodies: [Option<usize>; 2],
        (anchor, axis): (DVec3, DVec3),
        poses: &[BodyPose],
    ) -> Self {
        let reference = axis.any_orthogonal_vector();
        let frame = |body: Option<usize>| {
            let pose = body
                .and_then(|b| poses.get(b))
                .unwrap_or(&BodyPose::IDENTITY);
            let inverse = pose.orientation.conjugate();
            JointFrame {
                anchor: pose.to_local(anchor),
                axis: inverse * axis,
                reference: inverse * reference,
            }
        };
        JointDef {
            name: name.into(),
            kind,
            bodies,
            frames: bodies.map(frame),
            linear: Elasticity::RIGID,
            angular: Elasticity::RIGID,
            angle: CoordinateLaw::FREE,
            slide: CoordinateLaw::FREE,
        }
    }
}

/// What a joint lets two bodies do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JointKind {
    /// Nothing.
    Fixed,
    /// Rotate about the axis (a hinge): an angle.
    Revolute,
    /// Move along the axis: a slide.
    Prismatic,
    /// Both: angle and slide.
    Cylindrical,
    /// Rotate about the anchor.
    Ball,
    /// Rotate about the axis of the first and about that of the second body, which are at right
    /// angles (Cardan's joint).
    Universal,
    /// Everything that leaves the distance of the anchors as it is.
    Distance {
        /// The distance, m.
        length: f64,
    },
    /// Move along the axis by `pitch` per revolution: angle and slide.
    Screw {
        /// Advance per revolution, m; positive for a right-handed thread.
        pitch: f64,
    },
}

impl JointKind {
    /// Whether joints of this kind have a coordinate.
    pub fn has(self, coordinate: Coordinate) -> bool {
        match self {
            JointKind::Revolute => coordinate == Coordinate::Angle,
            JointKind::Prismatic => coordinate == Coordinate::Slide,
            JointKind::Cylindrical | JointKind::Screw { .. } => true,
            JointKind::Fixed
            | JointKind::Ball
            | JointKind::Universal
            | JointKind::Distance { .. } => false,
        }
    }

    /// Whether joints of this kind have an axis: their frames have one whatever they are.
    pub fn has_axis(self) -> bool {
        match self {
            JointKind::Revolute
            | JointKind::Prismatic
            | JointKind::Cylindrical
            | JointKind::Universal
            | JointKind::Screw { .. } => true,
            JointKind::Fixed | JointKind::Ball | JointKind::Distance { .. } => false,
        }
    }

    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            JointKind::Fixed => "fixed",
            JointKind::Revolute => "revolute",
            JointKind::Prismatic => "prismatic",
            JointKind::Cylindrical => "cylindrical",
            JointKind::Ball => "ball",
            JointKind::Universal => "universal",
            JointKind::Distance { .. } => "distance",
            JointKind::Screw { .. } => "screw",
        }
    }

    /// How many rows of the equations it has, limits and friction left out.
    pub(crate) fn rows(self) -> usize {
        match self {
            JointKind::Fixed => 6,
            JointKind::Revolute | JointKind::Prismatic | JointKind::Screw { .. } => 5,
            JointKind::Cylindrical | JointKind::Universal => 4,
            JointKind::Ball => 3,
            JointKind::Distance { .. } => 1,
        }
    }
}

/// Where a joint is on a body, in the frame of its centre of mass and principal axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointFrame {
    /// The anchor, m.
    pub anchor: DVec3,
    /// The axis, of any length but zero.
    pub axis: DVec3,
    /// A direction that is not parallel to the axis: where those of both bodies are in one plane
    /// with the axis, the angle is zero.
    pub reference: DVec3,
}

/// How a joint yields: a spring and a damper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Elasticity {
    /// Compliance, the inverse of a stiffness; zero: rigid.
    pub compliance: f64,
    /// Damping coefficient; zero where the joint is rigid.
    pub damping: f64,
}

impl Elasticity {
    /// Does not yield.
    pub const RIGID: Elasticity = Elasticity {
        compliance: 0.0,
        damping: 0.0,
    };
}

/// A coordinate of a joint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coordinate {
    /// Angle of the second body relative to the first, right-handed about the axis of the first,
    /// rad; whole revolutions are counted.
    Angle,
    /// Displacement of the second anchor from the first along the axis of the first, m.
    Slide,
}

impl Coordinate {
    /// Both.
    pub const ALL: [Coordinate; 2] = [Coordinate::Angle, Coordinate::Slide];

    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Coordinate::Angle => "angle",
            Coordinate::Slide => "slide",
        }
    }
}

/// Limits and friction of a coordinate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoordinateLaw {
    /// Smallest and largest value, rad or m; infinite where there is no limit.
    pub limits: [f64; 2],
    /// Largest friction force or torque, N or N m.
    pub friction: f64,
}

impl CoordinateLaw {
    /// No limits, no friction.
    pub const FREE: CoordinateLaw = CoordinateLaw {
        limits: [f64::NEG_INFINITY, f64::INFINITY],
        friction: 0.0,
    };
}

/// A coordinate of a joint, by the joint's index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JointCoordinate {
    /// Index of the joint.
    pub joint: usize,
    /// Which of its coordinates.
    pub coordinate: Coordinate,
}

/// A transmission between coordinates of two joints: gears, a belt, rack and pinion.
/// `x₁ − ratio x₂` keeps its value.
#[derive(Clone, Debug, PartialEq)]
pub struct GearDef {
    /// Name used by reports.
    pub name: String,
    /// The coordinates `x₁` and `x₂`.
    pub coordinates: [JointCoordinate; 2],
    /// Change of `x₁` per change of `x₂`; negative for a pair of spur gears.
    pub ratio: f64,
}

/// A drive of a coordinate of a joint.
#[derive(Clone, Debug, PartialEq)]
pub struct DriveDef {
    /// Name used by reports.
    pub name: String,
    /// What it drives.
    pub coordinate: JointCoordinate,
    /// How.
    pub kind: DriveKind,
    /// Its set value, as a function of time.
    pub signal: Signal,
    /// Largest force or torque, N or N m. A velocity motor must have one: without, it would push
    /// through whatever cannot move.
    pub force_limit: Option<f64>,
}

/// How a drive acts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DriveKind {
    /// Keeps a velocity, m/s or rad/s, with whatever force that takes within its limit.
    VelocityMotor,
    /// Pulls towards a position, m or rad, with a spring and a damper (acting on the velocity
    /// relative to that of the set position), implicitly.
    PositionServo {
        /// Stiffness `k`, N/m or N m/rad.
        stiffness: f64,
        /// Damping coefficient `c`, N s/m or N m s/rad.
        damping: f64,
    },
    /// Applies a force or torque, N or N m.
    Force,
    /// Applies the force `f − c v`, implicitly: a servo wall.
    DampedForce {
        /// Damping coefficient `c`, N s/m or N m s/rad.
        damping: f64,
    },
}

/// A number that may change with time.
#[derive(Clone, Debug, PartialEq)]
pub enum Signal {
    /// The same at all times.
    Constant(f64),
    /// Between the rows of a table by linear interpolation; before the first and after the last
    /// it is what they say.
    Table {
        /// Times, s, strictly increasing.
        times: Vec<f64>,
        /// Values, one per time.
        values: Vec<f64>,
    },
    /// `mean + amplitude sin(2π frequency t + phase)`.
    Sine {
        /// Mean.
        mean: f64,
        /// Amplitude.
        amplitude: f64,
        /// Frequency, Hz.
        frequency: f64,
        /// Phase, rad.
        phase: f64,
    },
    /// Set from outside while running ([`crate::Machines::set_drive`]); at first this value.
    External(f64),
}

impl Signal {
    /// The value at a time, s; `external` is what was set from outside.
    pub fn at(&self, time: f64, external: f64) -> f64 {
        match self {
            Signal::Constant(value) => *value,
            Signal::Table { times, values } => {
                let (k, share) = bracket(times, time);
                let next = values.get(k + 1).unwrap_or(&values[k]);
                values[k] + share * (next - values[k])
            }
            Signal::Sine {
                mean,
                amplitude,
                frequency,
                phase,
            } => mean + amplitude * (std::f64::consts::TAU * frequency * time + phase).sin(),
            Signal::External(_) => external,
        }
    }

    /// The time, s, at which a table ends.
    pub fn end(&self) -> Option<f64> {
        match self {
            Signal::Table { times, .. } => times.last().copied(),
            _ => None,
        }
    }
}

/// Index and weight such that a time lies between rows `i` and `i + 1` of a table; the first or
/// the last row alone where it lies before or after all of them.
pub fn bracket(times: &[f64], time: f64) -> (usize, f64) {
    let after = times.partition_point(|&t| t <= time);
    if after == 0 {
        (0, 0.0)
    } else if after == times.len() {
        (times.len() - 1, 0.0)
    } else {
        let low = after - 1;
        (low, (time - times[low]) / (times[after] - times[low]))
    }
}
