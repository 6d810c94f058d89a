//! Machines that cannot be are refused, each with its own error.

mod common;

use common::build;
use esker_machine::rig::Plan;
use esker_machine::{
    BodyPose, Coordinate, DriveKind, Elasticity, GearDef, JointCoordinate, JointKind, MachineError,
    Signal,
};
use glam::DVec3;

/// Two rods on two hinges.
fn arm() -> Plan {
    let mut plan = Plan::default();
    plan.add_arm([1.0, 1.0], 2.0 * DVec3::X, DVec3::Y);
    plan
}

fn refused(change: impl FnOnce(&mut Plan)) -> MachineError {
    let mut plan = arm();
    build(&plan, 1e-3);
    change(&mut plan);
    plan.build(1e-3).expect_err("it must be refused")
}

fn motor(plan: &mut Plan, signal: Signal, limit: Option<f64>) {
    plan.drive(
        0,
        Coordinate::Angle,
        DriveKind::VelocityMotor,
        signal,
        limit,
    );
}

#[test]
fn bodies_of_a_joint_must_be_there_and_differ() {
    let error = refused(|plan| plan.joints[1].bodies[1] = Some(7));
    assert!(matches!(
        error,
        MachineError::NoSuchBody {
            body: 7,
            count: 2,
            ..
        }
    ));
    let error = refused(|plan| plan.joints[1].bodies[1] = Some(0));
    assert!(matches!(error, MachineError::SameBodyTwice { .. }));
    let error = refused(|plan| plan.joints[0].bodies = [None, None]);
    assert!(matches!(error, MachineError::NothingToMove { .. }));
    let error = refused(|plan| {
        plan.bodies[0].free_translation = DVec3::ZERO;
        plan.bodies[0].free_rotation = DVec3::ZERO;
    });
    assert!(matches!(error, MachineError::NothingToMove { .. }));
    let error = refused(|plan| plan.bodies[1].mass = 0.0);
    assert!(matches!(error, MachineError::BadMass { body: 1, .. }));
}

#[test]
fn axes_have_a_length_and_references_are_across() {
    let error = refused(|plan| plan.joints[0].frames[1].axis = DVec3::ZERO);
    assert!(matches!(error, MachineError::ZeroAxis { .. }));
    let error = refused(|plan| {
        let frame = &mut plan.joints[0].frames[0];
        frame.reference = frame.axis * 2.0;
    });
    assert!(matches!(error, MachineError::ReferenceAlongAxis { .. }));
}

#[test]
fn sides_that_do_not_meet_are_refused_with_their_distance() {
    let error = refused(|plan| plan.joints[1].frames[1].anchor.y += 0.02);
    let MachineError::Apart {
        joint, distance, ..
    } = &error
    else {
        panic!("{error}")
    };
    assert_eq!(joint, "joint 1");
    assert!((distance - 0.02).abs() < 1e-12);
    // An axis that points the other way has rows without violation.
    let error = refused(|plan| plan.joints[1].frames[1].axis *= -1.0);
    let MachineError::Apart { angle, .. } = error else {
        panic!("{error}")
    };
    assert!((angle - std::f64::consts::PI).abs() < 1e-6);
}

/// A rod on two fixed hinges that are half a millimetre farther apart than its anchors.
#[test]
fn joints_that_contradict_each_other_are_refused() {
    let mut plan = Plan::default();
    let rod = plan.add_rod(1.0, DVec3::ZERO, DVec3::X);
    plan.join(
        JointKind::Revolute,
        [None, Some(rod)],
        DVec3::ZERO,
        DVec3::Y,
    );
    plan.join(JointKind::Revolute, [None, Some(rod)], DVec3::X, DVec3::Y);
    build(&plan, 1e-3);
    plan.joints[1].frames[0].anchor.x += 5e-4;
    let error = plan.build(1e-3).err().unwrap();
    assert!(
        matches!(error, MachineError::CannotAssemble { distance, .. } if distance > 1e-4),
        "{error}"
    );
}

#[test]
fn limits_are_in_order_and_hold_the_start() {
    let error = refused(|plan| plan.joints[0].angle.limits = [0.5, -0.5]);
    assert!(matches!(error, MachineError::CrossedLimits { .. }));
    let error = refused(|plan| plan.joints[0].angle.limits = [0.1, 0.5]);
    assert!(
        matches!(error, MachineError::OutsideLimits { value, .. } if value.abs() < 1e-12),
        "{error}"
    );
    let error = refused(|plan| plan.joints[0].slide.limits = [-1.0, 1.0]);
    assert!(matches!(error, MachineError::NoSuchCoordinate { .. }));
}

#[test]
fn values_of_joints_are_possible() {
    for (linear, word) in [
        ((-1.0, 0.0), "compliance"),
        ((1e-3, -1.0), "damping"),
        ((0.0, 1.0), "damping"),
    ] {
        let error = refused(|plan| {
            plan.joints[0].linear = Elasticity {
                compliance: linear.0,
                damping: linear.1,
            };
        });
        assert!(error.to_string().contains(word), "{error}");
    }
    let error = refused(|plan| plan.joints[0].angle.friction = f64::NAN);
    assert!(error.to_string().contains("friction"), "{error}");
    let error = refused(|plan| plan.joints[0].kind = JointKind::Screw { pitch: 0.0 });
    assert!(error.to_string().contains("pitch"), "{error}");
    let error = refused(|plan| plan.joints[0].kind = JointKind::Distance { length: 0.0 });
    assert!(error.to_string().contains("length"), "{error}");
}

#[test]
fn drives_need_their_coordinate_and_motors_a_limit() {
    let error = refused(|plan| motor(plan, Signal::Constant(1.0), None));
    assert!(matches!(error, MachineError::MotorWithoutLimit { .. }));
    let error = refused(|plan| motor(plan, Signal::Constant(1.0), Some(-2.0)));
    assert!(error.to_string().contains("force limit"), "{error}");
    let error = refused(|plan| {
        motor(plan, Signal::Constant(1.0), Some(1.0));
        plan.drives[0].coordinate.coordinate = Coordinate::Slide;
    });
    assert_eq!(
        error.to_string(),
        "`drive 0` needs the slide of joint `joint 0`, but a revolute joint has none"
    );
    let error = refused(|plan| {
        motor(plan, Signal::Constant(1.0), Some(1.0));
        plan.drives[0].coordinate.joint = 9;
    });
    assert!(matches!(error, MachineError::NoSuchJoint { .. }));
    for (times, values) in [
        (vec![], vec![]),
        (vec![0.0, 0.0], vec![1.0, 2.0]),
        (vec![0.0, 1.0], vec![1.0]),
    ] {
        let error = refused(|plan| motor(plan, Signal::Table { times, values }, Some(1.0)));
        assert!(matches!(error, MachineError::BadTable { .. }));
    }
    let error = refused(|plan| {
        motor(plan, Signal::Constant(1.0), Some(1.0));
        plan.drives[0].kind = DriveKind::PositionServo {
            stiffness: 0.0,
            damping: 1.0,
        };
    });
    assert!(error.to_string().contains("stiffness"), "{error}");
}

#[test]
fn gears_join_two_coordinates() {
    let angle = |joint| JointCoordinate {
        joint,
        coordinate: Coordinate::Angle,
    };
    let gear = |plan: &mut Plan, coordinates, ratio| {
        plan.gears.push(GearDef {
            name: "gear".into(),
            coordinates,
            ratio,
        });
    };
    let error = refused(|plan| gear(plan, [angle(0), angle(0)], 1.0));
    assert!(matches!(error, MachineError::SameCoordinateTwice { .. }));
    let error = refused(|plan| gear(plan, [angle(0), angle(1)], 0.0));
    assert!(error.to_string().contains("ratio"), "{error}");
    let error = refused(|plan| gear(plan, [angle(0), angle(4)], 1.0));
    assert!(matches!(error, MachineError::NoSuchJoint { .. }));
}

/// A body that is locked in some axes moves along the others alone, whatever its joints ask.
#[test]
fn locked_axes_stay_where_they_are() {
    let mut plan = Plan {
        gravity: DVec3::new(0.0, 0.0, -9.81),
        ..Plan::default()
    };
    let body = plan.add(1.0, DVec3::new(0.1, 0.2, 0.3), BodyPose::IDENTITY);
    plan.join(JointKind::Ball, [None, Some(body)], DVec3::Y, DVec3::Z);
    plan.bodies[body].free_rotation = DVec3::X;
    let mut rig = build(&plan, 1e-3);
    rig.run(0.5, |_| {});
    let w = rig.velocities[body].angular;
    assert!(w.y == 0.0 && w.z == 0.0 && w.x.abs() > 0.1, "{w}");
    assert!(rig.machines.joint(0).max_violation.distance < 1e-4);
}
