//! Mechanisms whose motion is known.

mod common;

use common::{assert_close, build};
use esker_machine::mechanisms::{self, FourBar, SliderCrank};
use esker_machine::rig::Plan;
use esker_machine::{BodyPose, Coordinate, DriveKind, Elasticity, JointKind, Signal};
use glam::DVec3;

/// Joint error, energy loss and angle error of first order or better in the substep alone.
#[test]
fn a_rod_pendulum_swings_as_computed() {
    for (step, joint, loss, angle) in [
        (5e-3, 4.57e-4, 1.1e-2, -2.2e-3),
        (1e-3, 1.83e-5, 1.7e-3, -4.5e-4),
        (5e-4, 4.59e-6, 8.5e-4, -2.3e-4),
        (1e-4, 1.83e-7, 1.7e-4, -4.7e-5),
    ] {
        let mut rig = build(&mechanisms::pendulum(), step);
        let start = rig.energy();
        let (mut at_two, mut worst) = (0.0, 0.0_f64);
        rig.run(10.0, |rig| {
            worst = worst.max(start - rig.energy());
            if (rig.time() - 2.0).abs() < 0.1 * step {
                at_two = -rig.angle(0);
            }
        });
        let violation = rig.machines.joint(0).max_violation.distance;
        assert_close("joint", violation, joint, 0.1);
        assert_close("energy", worst / (0.5 * 9.81), loss, 0.1);
        assert_close(
            "angle",
            at_two - mechanisms::PENDULUM_AFTER_TWO_SECONDS,
            angle,
            0.1,
        );
    }
}

#[test]
fn a_double_pendulum_follows_the_reference() {
    for (step, tip_error, joint) in [
        (5e-3, 8.2e-3, 3.4e-3),
        (5e-4, 9.5e-4, 3.5e-5),
        (1e-4, 1.9e-4, 1.4e-6),
    ] {
        let mut rig = build(&mechanisms::double_pendulum(), step);
        rig.run(1.0, |_| {});
        let tip = rig.poses[1].to_world(DVec3::X * 0.5);
        let error = tip.distance(mechanisms::DOUBLE_PENDULUM_TIP);
        assert_close("tip", error, tip_error, 0.05);
        rig.run(5.0, |_| {});
        let violations = (0..2).map(|j| rig.machines.joint(j).max_violation.distance);
        assert_close("joint", violations.fold(0.0, f64::max), joint, 0.05);
    }
}

/// A crank of 0.1 m at 20 rad/s moves a slider through a rod of 0.3 m.
#[test]
fn a_slider_crank_moves_the_slider_as_its_geometry_says() {
    let mechanism = SliderCrank {
        crank: 0.1,
        rod: 0.3,
        rate: 20.0,
    };
    for (step, expected) in [(5e-3, 1.66e-3), (1e-3, 6.7e-5), (5e-4, 1.67e-5)] {
        let mut rig = build(&mechanism.plan(), step);
        let (mut worst, mut peak, mut last) = (0.0_f64, 0.0_f64, 0.0);
        rig.run(2.0, |rig| {
            let error = rig.slide(SliderCrank::GUIDE) - mechanism.slide(rig.time());
            worst = worst.max(error.abs());
            let velocity = rig.velocities[SliderCrank::SLIDER].linear.x;
            if rig.steps > 10 {
                peak = peak.max(((velocity - last) / step).abs());
            }
            last = velocity;
        });
        assert_close("slider", worst, expected, 0.1);
        if step < 1e-3 {
            assert_close("acceleration", peak, mechanism.peak_acceleration(), 5e-3);
        }
    }
}

/// Four revolutes in a plane: three rows too many. Motion does not depend on the regularisation
/// that decides between them.
#[test]
fn a_four_bar_with_redundant_rows_follows_its_geometry() {
    let linkage = FourBar::new();
    let pin = linkage.pin_in_body();
    for (step, expected) in [(5e-3, 6.5e-5), (5e-4, 6.5e-7)] {
        let mut rig = build(&linkage.plan(), step);
        let mut worst = 0.0_f64;
        rig.run(4.0, |rig| {
            let error = rig.poses[1]
                .to_world(pin)
                .distance(linkage.third_pin(rig.time()));
            worst = worst.max(error);
        });
        assert_close("pin", worst, expected, 0.15);
    }
    let end = |regularisation: f64| {
        let mut rig = build(&linkage.plan(), 1e-3);
        rig.machines.set_regularisation(regularisation);
        rig.run(1.0, |_| {});
        (rig.poses[1].position, rig.machines.drive(0).impulse)
    };
    let (position, impulse) = end(1e-10);
    for regularisation in [1e-12, 1e-8, 1e-6] {
        let (other, torque) = end(regularisation);
        assert!(other.distance(position) < 1e-7, "{regularisation}");
        assert_close("torque", torque, impulse, 1e-4);
    }
}

/// On a circle an anchor accelerates: `g = a h² (1/4 + τ/2h) = 1.25 a h²`.
#[test]
fn steady_violation_is_what_the_acceleration_makes() {
    let (step, rate) = (1e-3, 10.0);
    let mut plan = Plan::default();
    let rod = plan.add_rod(1.0, DVec3::ZERO, DVec3::X);
    let pivot = plan.join(
        JointKind::Revolute,
        [None, Some(rod)],
        DVec3::ZERO,
        DVec3::Y,
    );
    plan.drive(
        pivot,
        Coordinate::Angle,
        DriveKind::VelocityMotor,
        Signal::Constant(rate),
        Some(1e6),
    );
    let mut rig = build(&plan, step);
    rig.run(1.0, |_| {});
    let violation = rig.machines.joint(pivot).violation.distance;
    assert_close(
        "violation",
        violation,
        1.25 * 0.5 * rate * rate * step * step,
        0.01,
    );
}

/// A compliant joint is a spring: period and decay of a mass on it.
#[test]
fn a_compliant_joint_swings_as_a_damped_spring() {
    let (mass, stiffness, damping, step) = (2.0, 200.0, 1.0, 1e-4);
    let mut plan = Plan::default();
    let body = plan.add(mass, DVec3::ONE, BodyPose::IDENTITY);
    let joint = plan.join(JointKind::Fixed, [None, Some(body)], DVec3::ZERO, DVec3::Z);
    plan.joints[joint].linear = Elasticity {
        compliance: 1.0 / stiffness,
        damping,
    };
    let mut rig = build(&plan, step);
    rig.velocities[body].linear = DVec3::X;
    let (decay, frequency) = (damping / (2.0 * mass), (stiffness / mass).sqrt());
    let swing = (frequency * frequency - decay * decay).sqrt();
    rig.run(2.0, |rig| {
        let t = rig.time();
        let exact = (-decay * t).exp() * (swing * t).sin() / swing;
        assert!((rig.poses[body].position.x - exact).abs() < 1e-4, "{t}");
    });
    let lost = 0.5 * mass - rig.kinetic_energy();
    assert_close("work", -rig.machines.joint(joint).work, lost, 1e-9);
}

/// Joints between anchors that are apart by less than allowed are brought together at the start.
#[test]
fn sides_that_are_nearly_together_are_assembled() {
    let mut plan = Plan::default();
    plan.add_arm([1.0, 1.0], DVec3::new(1.0, 0.0, 1.0), DVec3::Y);
    plan.joints[1].frames[1].anchor += DVec3::new(4e-4, 3e-4, -2e-4);
    let mut rig = build(&plan, 1e-3);
    assert_ne!(rig.poses, plan.poses);
    rig.step();
    let violation = rig.machines.joint(1).violation;
    assert!(violation.distance < 1e-12 && violation.angle < 1e-12);
}
