//! Drives, limits, friction, gears and screws against what they should do.

mod common;

use common::{assert_close, build};
use esker_machine::mechanisms::{
    GearedRotors, ScrewNut, saturated_motors, saturated_velocities, servo_response, slider,
};
use esker_machine::rig::{Plan, Rig};
use esker_machine::{
    BodyPose, Coordinate, CoordinateLaw, DriveKind, GearDef, JointCoordinate, JointKind, Signal,
};
use glam::DVec3;

fn driven(kind: DriveKind, signal: Signal, limit: Option<f64>, step: f64) -> Rig {
    let mut plan = slider();
    plan.drive(0, Coordinate::Slide, kind, signal, limit);
    build(&plan, step)
}

fn speed(rig: &Rig) -> f64 {
    rig.velocities[0].linear.x
}

#[test]
fn a_motor_accelerates_at_its_limit_and_then_keeps_its_speed() {
    let step = 1e-3;
    let mut rig = driven(
        DriveKind::VelocityMotor,
        Signal::Constant(1.0),
        Some(4.0),
        step,
    );
    rig.run(0.25, |_| {});
    assert_close("speed", speed(&rig), 0.5, 1e-9);
    rig.run(1.0, |_| {});
    assert_close("speed", speed(&rig), 1.0, 1e-9);
    // All of its impulse and work went into the body.
    assert_close("impulse", rig.machines.drive(0).impulse, 2.0, 1e-9);
    assert_close("work", rig.machines.drive(0).work, 1.0, 1e-9);
    // Against 3 N it holds with 3 N, against 5 N it gives way with 4 N.
    for (force, held) in [(-3.0, 3.0), (-5.0, 4.0)] {
        rig.forces[0].linear.x = force;
        let before = rig.machines.drive(0).impulse;
        rig.step();
        let mean = (rig.machines.drive(0).impulse - before) / step;
        assert_close("force", mean, held, 1e-6);
    }
    assert_close("speed", speed(&rig), 1.0 - 0.5 * step, 1e-9);
}

#[test]
fn a_servo_answers_a_step_as_a_damped_spring() {
    let [stiffness, damping] = [200.0, 4.0];
    let mut errors = [0.0_f64; 2];
    for (error, step) in errors.iter_mut().zip([1e-3, 1e-4]) {
        let kind = DriveKind::PositionServo { stiffness, damping };
        let mut rig = driven(kind, Signal::Constant(1.0), None, step);
        rig.run(3.0, |rig| {
            let exact = servo_response([stiffness, damping], rig.time());
            *error = error.max((rig.slide(0) - exact).abs());
        });
    }
    assert!(
        errors[0] < 6e-3 && errors[1] < 0.12 * errors[0],
        "{errors:?}"
    );
}

/// Damping acts relative to the set velocity, so that a ramp is followed without lag.
#[test]
fn a_servo_follows_a_ramp_without_lag() {
    let kind = DriveKind::PositionServo {
        stiffness: 1000.0,
        damping: 90.0,
    };
    let ramp = Signal::Table {
        times: vec![0.0, 10.0],
        values: vec![0.0, 5.0],
    };
    let mut rig = driven(kind, ramp, None, 1e-3);
    rig.run(3.0, |_| {});
    assert!((rig.slide(0) - 1.5).abs() < 1e-8, "{}", rig.slide(0));
}

#[test]
fn a_servo_is_no_stronger_than_its_limit() {
    let kind = DriveKind::PositionServo {
        stiffness: 1e3,
        damping: 100.0,
    };
    let mut rig = driven(kind, Signal::Constant(1.0), Some(6.0), 1e-3);
    rig.run(0.5, |_| {});
    assert_close("speed", speed(&rig), 1.5, 1e-9);
    rig.run(20.0, |_| {});
    assert!((rig.slide(0) - 1.0).abs() < 1e-3, "{}", rig.slide(0));
}

/// Force `f − c v`: the speed tends to f/c without overshooting, however long the substep.
#[test]
fn a_damped_force_reaches_its_terminal_speed() {
    for step in [1e-3, 10.0] {
        let kind = DriveKind::DampedForce { damping: 8.0 };
        let mut rig = driven(kind, Signal::Constant(4.0), None, step);
        let decay = 1.0 / (1.0 + 4.0 * step);
        for k in 1..200 {
            rig.step();
            let expected = 0.5 * (1.0 - f64::powi(decay, k));
            assert_close("speed", speed(&rig), expected, 1e-9);
        }
    }
}

#[test]
fn applied_forces_give_their_impulse() {
    let sine = Signal::Sine {
        mean: 3.0,
        amplitude: 10.0,
        frequency: 0.25,
        phase: 0.0,
    };
    let mut rig = driven(DriveKind::Force, sine, None, 1e-3);
    rig.run(2.0, |_| {});
    // ∫ of half a period.
    let impulse = 6.0 + 10.0 * 2.0 / (std::f64::consts::TAU * 0.25);
    assert_close("momentum", 2.0 * speed(&rig), impulse, 1e-6);
    assert_close("impulse", rig.machines.drive(0).impulse, impulse, 1e-6);
}

#[test]
fn drives_are_set_from_outside() {
    let mut rig = driven(DriveKind::Force, Signal::External(2.0), None, 0.5);
    rig.step();
    assert!(rig.machines.set_drive(0, -4.0));
    rig.step();
    assert_close("speed", speed(&rig), 0.5 - 1.0, 1e-12);
    assert!(!rig.machines.set_drive(0, f64::NAN));
    let mut fixed = driven(DriveKind::Force, Signal::Constant(2.0), None, 0.5);
    assert!(!fixed.machines.set_drive(0, 1.0));
}

/// A body falls onto its limit, stays there without sinking, and leaves it freely.
#[test]
fn a_limit_stops_and_does_not_hold_back() {
    let step = 1e-3;
    let mut plan = slider();
    plan.joints[0].slide.limits = [-0.5, 0.25];
    let mut rig = build(&plan, step);
    rig.forces[0].linear.x = -10.0;
    let mut lowest = 0.0_f64;
    rig.run(1.0, |rig| lowest = lowest.min(rig.slide(0)));
    assert!((lowest + 0.5).abs() < 1e-9, "{lowest}");
    assert!(speed(&rig).abs() < 1e-9);
    let before = rig.machines.joint(0).impulse.linear.x;
    rig.step();
    let push = (rig.machines.joint(0).impulse.linear.x - before) / step;
    assert_close("reaction", push, 10.0, 1e-6);
    rig.forces[0].linear.x = 10.0;
    rig.step();
    assert_close("speed", speed(&rig), 5.0 * step, 1e-6);
    rig.run(2.0, |_| {});
    assert!((rig.slide(0) - 0.25).abs() < 1e-9, "{}", rig.slide(0));
}

/// A motor that is stronger than what a limit can be pushed with does not move it.
#[test]
fn a_motor_stops_at_a_limit() {
    let mut plan = slider();
    plan.joints[0].slide.limits = [-1.0, 0.1];
    plan.drive(
        0,
        Coordinate::Slide,
        DriveKind::VelocityMotor,
        Signal::Constant(1.0),
        Some(1e4),
    );
    let mut rig = build(&plan, 1e-3);
    rig.run(0.5, |_| {});
    assert!((rig.slide(0) - 0.1).abs() < 1e-9);
    assert_eq!(rig.machines.troubles().unsolved, 0);
    let before = *rig.machines.drive(0);
    rig.step();
    let force = (rig.machines.drive(0).impulse - before.impulse) / 1e-3;
    assert_close("force", force, 1e4, 1e-6);
}

#[test]
fn joint_friction_holds_and_slips() {
    let mut plan = slider();
    plan.joints[0].slide = CoordinateLaw {
        friction: 10.0,
        ..CoordinateLaw::FREE
    };
    let mut rig = build(&plan, 1e-3);
    rig.forces[0].linear.x = 9.0;
    rig.run(1.0, |_| {});
    assert!(rig.slide(0).abs() < 1e-9 && speed(&rig).abs() < 1e-9);
    rig.forces[0].linear.x = 14.0;
    rig.run(2.0, |_| {});
    assert_close("speed", speed(&rig), 2.0, 1e-6);
    let work = rig.machines.joint(0).work;
    assert_close("dissipation", -work, 10.0 * rig.slide(0), 1e-2);
    // It stops without turning round.
    rig.forces[0].linear.x = 0.0;
    rig.run(3.0, |_| {});
    assert!(speed(&rig).abs() < 1e-9);
}

/// A motor works against the friction of its own joint: two rows on one coordinate.
#[test]
fn a_motor_overcomes_friction_of_its_own_joint() {
    let mut plan = slider();
    plan.joints[0].slide.friction = 10.0;
    plan.drive(
        0,
        Coordinate::Slide,
        DriveKind::VelocityMotor,
        Signal::Constant(0.3),
        Some(25.0),
    );
    let mut rig = build(&plan, 1e-3);
    rig.run(0.02, |_| {});
    assert_close("speed", speed(&rig), 7.5 * 0.02, 1e-9);
    rig.run(1.0, |_| {});
    assert_close("speed", speed(&rig), 0.3, 1e-6);
    let before = rig.machines.drive(0).impulse;
    rig.step();
    let force = (rig.machines.drive(0).impulse - before) / 1e-3;
    assert_close("force", force, 10.0, 1e-6);
    assert_eq!(rig.machines.troubles().unsolved, 0);
}

/// Accelerations follow from the limits of the motors alone.
#[test]
fn several_motors_saturate_at_once() {
    let mut rig = build(&saturated_motors(), 1e-3);
    rig.run(0.05, |_| {});
    for (body, expected) in saturated_velocities(0.05).into_iter().enumerate() {
        assert_close("velocity", rig.velocities[body].linear.x, expected, 1e-6);
    }
    assert_eq!(rig.machines.troubles().unsolved, 0);
}

#[test]
fn gears_turn_in_their_ratio() {
    let ratio = -2.5;
    let gear = GearedRotors {
        ratio,
        inertias: [0.4, 3.0],
        torque: 11.0,
    };
    let mut rig = build(&gear.plan(), 1e-3);
    assert_eq!(rig.machines.machines().len(), 1);
    rig.run(4.0, |_| {});
    let acceleration = gear.acceleration();
    assert_close(
        "speed",
        rig.velocities[1].angular.z,
        4.0 * acceleration,
        1e-6,
    );
    // More than three revolutions of the large one; all are counted.
    assert_close("angle", rig.angle(1), 8.0 * acceleration, 1e-3);
    assert!((rig.angle(0) - ratio * rig.angle(1)).abs() < 1e-9);
    assert!(rig.machines.gear(0).max_violation < 1e-9);
    assert_close(
        "torque",
        rig.machines.gear(0).impulse / 4.0,
        ratio * 0.4 * acceleration,
        1e-6,
    );
}

/// A rack and pinion: a gear between an angle and a slide.
#[test]
fn a_pinion_drives_a_rack() {
    let mut plan = Plan::default();
    let pinion = plan.add(1.0, DVec3::splat(0.5), BodyPose::IDENTITY);
    let rack = plan.add(3.0, DVec3::ONE, BodyPose::IDENTITY);
    plan.join(
        JointKind::Revolute,
        [None, Some(pinion)],
        DVec3::ZERO,
        DVec3::Z,
    );
    plan.join(
        JointKind::Prismatic,
        [None, Some(rack)],
        DVec3::ZERO,
        DVec3::X,
    );
    let at = |joint, coordinate| JointCoordinate { joint, coordinate };
    plan.gears.push(GearDef {
        name: "rack".into(),
        coordinates: [at(1, Coordinate::Slide), at(0, Coordinate::Angle)],
        ratio: 0.2,
    });
    plan.drive(
        0,
        Coordinate::Angle,
        DriveKind::Force,
        Signal::Constant(2.0),
        None,
    );
    let mut rig = build(&plan, 1e-3);
    rig.run(1.0, |_| {});
    let rate = 2.0 / (0.5 + 0.04 * 3.0);
    assert_close("pinion", rig.velocities[pinion].angular.z, rate, 1e-6);
    assert_close("rack", rig.velocities[rack].linear.x, 0.2 * rate, 1e-6);
}

/// A nut that runs down a vertical screw under gravity, over several revolutions.
#[test]
fn a_screw_turns_as_it_advances() {
    let nut = ScrewNut {
        pitch: 0.2,
        mass: 2.0,
        inertia: 1e-3,
    };
    let mut rig = build(&nut.plan(), 1e-3);
    rig.run(1.0, |_| {});
    let speed = rig.velocities[0].linear.z;
    assert_close("speed", speed, nut.acceleration(), 1e-6);
    assert!(
        rig.angle(0) < -4.0 * std::f64::consts::TAU,
        "{}",
        rig.angle(0)
    );
    let advance = nut.pitch * rig.angle(0) / std::f64::consts::TAU;
    assert!((rig.slide(0) - advance).abs() < 1e-9);
}

/// Kinetic energy is what drives and joints gave, to rounding.
#[test]
fn work_of_drives_and_joints_is_the_kinetic_energy() {
    let mut plan = Plan::default();
    let axis = DVec3::new(0.3, 1.0, 0.2);
    plan.add_arm([1.0, 2.0], DVec3::new(1.0, 0.0, 1.0), axis);
    plan.joints[1].angle.friction = 0.2;
    for (joint, torque) in [(0, 3.0), (1, -1.0)] {
        plan.drive(
            joint,
            Coordinate::Angle,
            DriveKind::Force,
            Signal::Constant(torque),
            None,
        );
    }
    let mut rig = build(&plan, 1e-3);
    rig.run(1.0, |_| {});
    let machines = &rig.machines;
    let work: f64 = (0..2)
        .map(|k| machines.drive(k).work + machines.joint(k).work)
        .sum();
    assert!(rig.kinetic_energy() > 0.5);
    assert_close("work", work, rig.kinetic_energy(), 1e-9);
}
