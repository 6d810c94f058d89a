//! Checks of a definition that need no poses.

use crate::definition::{
    Coordinate, CoordinateLaw, DriveDef, DriveKind, Elasticity, GearDef, JointCoordinate, JointDef,
    JointKind, Signal,
};
use crate::error::MachineError;
use crate::machines::MachineDef;

/// Refuses what cannot be.
pub(crate) fn validate(def: &MachineDef<'_>) -> Result<(), MachineError> {
    def.joints
        .iter()
        .try_for_each(|joint| check_joint(joint, def))?;
    def.gears
        .iter()
        .try_for_each(|gear| check_gear(gear, def))?;
    def.drives
        .iter()
        .try_for_each(|drive| check_drive(drive, def))
}

fn check_joint(joint: &JointDef, def: &MachineDef<'_>) -> Result<(), MachineError> {
    let name = || joint.name.clone();
    let count = def.bodies.len();
    if let Some(body) = joint.bodies.iter().flatten().copied().find(|&b| b >= count) {
        return Err(MachineError::NoSuchBody {
            joint: name(),
            body,
            count,
        });
    }
    if joint.bodies[0] == joint.bodies[1] {
        return Err(if joint.bodies[0].is_some() {
            MachineError::SameBodyTwice { joint: name() }
        } else {
            MachineError::NothingToMove { joint: name() }
        });
    }
    let mut can_move = false;
    for &b in joint.bodies.iter().flatten() {
        let body = &def.bodies[b];
        let good = |v: f64| v > 0.0 && v.is_finite();
        if !good(body.mass) || !body.moments.to_array().into_iter().all(good) {
            return Err(MachineError::BadMass {
                body: b,
                mass: body.mass,
                moments: body.moments.to_array(),
            });
        }
        can_move |= (body.free_translation + body.free_rotation).max_element() > 0.0;
    }
    if !can_move {
        return Err(MachineError::NothingToMove { joint: name() });
    }
    for frame in &joint.frames {
        let finite = frame.anchor.is_finite() && frame.axis.is_finite();
        if !finite || frame.axis.try_normalize().is_none() {
            return Err(MachineError::ZeroAxis { joint: name() });
        }
        let across = frame.reference.reject_from(frame.axis);
        let long = across.length() > 1e-9 * frame.reference.length();
        if !(long && across.is_finite() && across.try_normalize().is_some()) {
            return Err(MachineError::ReferenceAlongAxis { joint: name() });
        }
    }
    check_kind(joint)?;
    for elasticity in [joint.linear, joint.angular] {
        check_elasticity(joint, elasticity)?;
    }
    for coordinate in Coordinate::ALL {
        check_law(joint, coordinate)?;
    }
    Ok(())
}

fn check_kind(joint: &JointDef) -> Result<(), MachineError> {
    match joint.kind {
        JointKind::Distance { length } => positive(&joint.name, "length", length),
        JointKind::Screw { pitch } if !(pitch.is_finite() && pitch != 0.0) => {
            Err(bad(&joint.name, "pitch", pitch, "finite and not zero"))
        }
        _ => Ok(()),
    }
}

fn check_elasticity(joint: &JointDef, elasticity: Elasticity) -> Result<(), MachineError> {
    let Elasticity {
        compliance,
        damping,
    } = elasticity;
    not_negative(&joint.name, "compliance", compliance)?;
    not_negative(&joint.name, "damping", damping)?;
    if compliance == 0.0 && damping > 0.0 {
        let must = "zero where the joint is rigid: give a compliance too";
        return Err(bad(&joint.name, "damping", damping, must));
    }
    Ok(())
}

fn check_law(joint: &JointDef, coordinate: Coordinate) -> Result<(), MachineError> {
    let law = match coordinate {
        Coordinate::Angle => &joint.angle,
        Coordinate::Slide => &joint.slide,
    };
    if *law != CoordinateLaw::FREE && !joint.kind.has(coordinate) {
        return Err(no_coordinate(&joint.name, joint, coordinate));
    }
    not_negative(&joint.name, "friction", law.friction)?;
    let [lower, upper] = law.limits;
    if lower.is_nan() || upper.is_nan() || lower > upper {
        return Err(MachineError::CrossedLimits {
            joint: joint.name.clone(),
            coordinate: coordinate.name(),
            lower,
            upper,
        });
    }
    Ok(())
}

fn check_gear(gear: &GearDef, def: &MachineDef<'_>) -> Result<(), MachineError> {
    for coordinate in gear.coordinates {
        check_coordinate(&gear.name, coordinate, def)?;
    }
    if gear.coordinates[0] == gear.coordinates[1] {
        return Err(MachineError::SameCoordinateTwice {
            gear: gear.name.clone(),
        });
    }
    if !(gear.ratio.is_finite() && gear.ratio != 0.0) {
        return Err(bad(&gear.name, "ratio", gear.ratio, "finite and not zero"));
    }
    Ok(())
}

fn check_drive(drive: &DriveDef, def: &MachineDef<'_>) -> Result<(), MachineError> {
    let name = &drive.name;
    check_coordinate(name, drive.coordinate, def)?;
    match drive.kind {
        DriveKind::VelocityMotor if drive.force_limit.is_none() => {
            return Err(MachineError::MotorWithoutLimit {
                drive: name.clone(),
            });
        }
        DriveKind::PositionServo { stiffness, damping } => {
            positive(name, "stiffness", stiffness)?;
            not_negative(name, "damping", damping)?;
        }
        DriveKind::DampedForce { damping } => positive(name, "damping", damping)?,
        DriveKind::VelocityMotor | DriveKind::Force => {}
    }
    if let Some(limit) = drive.force_limit {
        positive(name, "force limit", limit)?;
    }
    match &drive.signal {
        Signal::Constant(value) | Signal::External(value) => finite(name, "value", *value),
        Signal::Table { times, values } => {
            let increasing = times.is_sorted_by(|a, b| a < b);
            let all_finite = times.iter().chain(values).all(|v| v.is_finite());
            if times.is_empty() || times.len() != values.len() || !increasing || !all_finite {
                return Err(MachineError::BadTable {
                    drive: name.clone(),
                });
            }
            Ok(())
        }
        Signal::Sine {
            mean,
            amplitude,
            frequency,
            phase,
        } => {
            finite(name, "mean", *mean)?;
            finite(name, "amplitude", *amplitude)?;
            finite(name, "frequency", *frequency)?;
            finite(name, "phase", *phase)
        }
    }
}

fn check_coordinate(
    name: &str,
    coordinate: JointCoordinate,
    def: &MachineDef<'_>,
) -> Result<(), MachineError> {
    let Some(joint) = def.joints.get(coordinate.joint) else {
        return Err(MachineError::NoSuchJoint {
            name: name.to_owned(),
            joint: coordinate.joint,
            count: def.joints.len(),
        });
    };
    if joint.kind.has(coordinate.coordinate) {
        Ok(())
    } else {
        Err(no_coordinate(name, joint, coordinate.coordinate))
    }
}

fn no_coordinate(name: &str, joint: &JointDef, coordinate: Coordinate) -> MachineError {
    MachineError::NoSuchCoordinate {
        name: name.to_owned(),
        coordinate: coordinate.name(),
        joint: joint.name.clone(),
        kind: joint.kind.name(),
    }
}

fn bad(name: &str, what: &'static str, value: f64, must: &'static str) -> MachineError {
    MachineError::BadValue {
        name: name.to_owned(),
        what,
        value,
        must,
    }
}

fn positive(name: &str, what: &'static str, value: f64) -> Result<(), MachineError> {
    if value > 0.0 && value.is_finite() {
        Ok(())
    } else {
        Err(bad(name, what, value, "positive and finite"))
    }
}

fn not_negative(name: &str, what: &'static str, value: f64) -> Result<(), MachineError> {
    if value >= 0.0 && value.is_finite() {
        Ok(())
    } else {
        Err(bad(name, what, value, "finite and not negative"))
    }
}

fn finite(name: &str, what: &'static str, value: f64) -> Result<(), MachineError> {
    if value.is_finite() {
        Ok(())
    } else {
        Err(bad(name, what, value, "finite"))
    }
}
