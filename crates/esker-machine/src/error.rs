//! What is wrong with the definition of a machine.

use thiserror::Error;

/// A machine that cannot be. Joints, gears and drives are named by what they are called.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum MachineError {
    /// A joint names a body that is not there.
    #[error("joint `{joint}` names body {body}, but there are {count}")]
    NoSuchBody {
        /// The joint.
        joint: String,
        /// The index it has.
        body: usize,
        /// How many bodies there are.
        count: usize,
    },
    /// A joint between a body and itself.
    #[error("joint `{joint}` joins a body with itself; its two bodies must differ")]
    SameBodyTwice {
        /// The joint.
        joint: String,
    },
    /// A joint whose bodies cannot move.
    #[error("joint `{joint}` joins two bodies that cannot move")]
    NothingToMove {
        /// The joint.
        joint: String,
    },
    /// Mass properties that cannot be.
    #[error(
        "body {body} of a machine has mass {mass} and moments {moments:?}; all must be positive"
    )]
    BadMass {
        /// Its index.
        body: usize,
        /// Its mass, kg.
        mass: f64,
        /// Its moments, kg m².
        moments: [f64; 3],
    },
    /// An axis of no length.
    #[error("the axis of joint `{joint}` has no length")]
    ZeroAxis {
        /// The joint.
        joint: String,
    },
    /// A reference direction along the axis.
    #[error("the reference direction of joint `{joint}` is parallel to its axis")]
    ReferenceAlongAxis {
        /// The joint.
        joint: String,
    },
    /// A value that cannot be.
    #[error("{what} of `{name}` is {value}; it must be {must}")]
    BadValue {
        /// The joint, gear or drive.
        name: String,
        /// Which value.
        what: &'static str,
        /// What it is.
        value: f64,
        /// What it must be.
        must: &'static str,
    },
    /// Limits in the wrong order.
    #[error("{coordinate} of joint `{joint}` has its lower limit {lower} above the upper {upper}")]
    CrossedLimits {
        /// The joint.
        joint: String,
        /// Which coordinate.
        coordinate: &'static str,
        /// Lower limit.
        lower: f64,
        /// Upper limit.
        upper: f64,
    },
    /// A coordinate that is outside of its limits at the start.
    #[error(
        "{coordinate} of joint `{joint}` is {value} at the start, outside of its limits {lower} … {upper}"
    )]
    OutsideLimits {
        /// The joint.
        joint: String,
        /// Which coordinate.
        coordinate: &'static str,
        /// Where it is.
        value: f64,
        /// Lower limit.
        lower: f64,
        /// Upper limit.
        upper: f64,
    },
    /// Limits or friction of a coordinate that a joint has not, or a drive or gear on it.
    #[error("`{name}` needs the {coordinate} of joint `{joint}`, but a {kind} joint has none")]
    NoSuchCoordinate {
        /// What needs it: a drive, a gear or the joint itself.
        name: String,
        /// Which coordinate.
        coordinate: &'static str,
        /// The joint.
        joint: String,
        /// Its kind.
        kind: &'static str,
    },
    /// A drive or gear on a joint that is not there.
    #[error("`{name}` names joint {joint}, but there are {count}")]
    NoSuchJoint {
        /// The drive or gear.
        name: String,
        /// The index it has.
        joint: usize,
        /// How many joints there are.
        count: usize,
    },
    /// A gear between a coordinate and itself.
    #[error("gear `{gear}` joins a coordinate with itself")]
    SameCoordinateTwice {
        /// The gear.
        gear: String,
    },
    /// A velocity motor that nothing stops.
    #[error("motor `{drive}` has no force limit: it would push through whatever cannot move")]
    MotorWithoutLimit {
        /// The drive.
        drive: String,
    },
    /// A table whose times do not increase or whose columns differ in length.
    #[error("the table of drive `{drive}` must have rows, a value per time, and increasing times")]
    BadTable {
        /// The drive.
        drive: String,
    },
    /// Anchors that do not meet, or axes that do not align, at the start.
    #[error(
        "the two sides of joint `{joint}` are {distance:.3e} m and {angle:.3e} rad apart at the start; \
         up to {max_distance:.3e} m and {max_angle:.3e} rad are assembled"
    )]
    Apart {
        /// The joint.
        joint: String,
        /// How far the anchors are apart, m.
        distance: f64,
        /// How far the axes are apart, rad.
        angle: f64,
        /// Largest distance that is assembled, m.
        max_distance: f64,
        /// Largest angle that is assembled, rad.
        max_angle: f64,
    },
    /// Joints that contradict each other.
    #[error(
        "the machine cannot be assembled: joint `{joint}` stays {distance:.3e} m and {angle:.3e} rad \
         apart, since others hold its bodies"
    )]
    CannotAssemble {
        /// The joint that is worst.
        joint: String,
        /// What is left between the anchors, m.
        distance: f64,
        /// What is left between the axes, rad.
        angle: f64,
    },
    /// A state that belongs to other machines.
    #[error("the state of machines has {found} {what}, but the definition has {expected}")]
    StateMismatch {
        /// Of what.
        what: &'static str,
        /// In the state.
        found: usize,
        /// In the definition.
        expected: usize,
    },
}

impl MachineError {
    /// Name of the joint, gear or drive that is wrong; `None` for a body or a state.
    pub fn part(&self) -> Option<&str> {
        match self {
            MachineError::NoSuchBody { joint, .. }
            | MachineError::SameBodyTwice { joint }
            | MachineError::NothingToMove { joint }
            | MachineError::ZeroAxis { joint }
            | MachineError::ReferenceAlongAxis { joint }
            | MachineError::CrossedLimits { joint, .. }
            | MachineError::OutsideLimits { joint, .. }
            | MachineError::Apart { joint, .. }
            | MachineError::CannotAssemble { joint, .. } => Some(joint),
            MachineError::BadValue { name, .. }
            | MachineError::NoSuchCoordinate { name, .. }
            | MachineError::NoSuchJoint { name, .. } => Some(name),
            MachineError::SameCoordinateTwice { gear } => Some(gear),
            MachineError::MotorWithoutLimit { drive } | MachineError::BadTable { drive } => {
                Some(drive)
            }
            MachineError::BadMass { .. } | MachineError::StateMismatch { .. } => None,
        }
    }
}
