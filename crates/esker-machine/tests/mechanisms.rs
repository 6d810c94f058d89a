//! Mechanisms whose motion is known.

mod common;

use common::{GRAVITY, Plan, Rig, assert_close};
use esker_machine::{BodyPose, Coordinate, DriveKind, Elasticity, JointKind, Signal};
use glam::{DQuat, DVec3};

/// A rod of 1 kg and 1 m that swings about its end, released horizontally.
fn pendulum(step: f64) -> Rig {
    let mut plan = Plan {
        gravity: GRAVITY,
        ..Plan::default()
    };
    let rod = plan.add_rod(1.0, DVec3::ZERO, DVec3::X);
    plan.join(
        JointKind::Revolute,
        [None, Some(rod)],
        DVec3::ZERO,
        DVec3::Y,
    );
    plan.build(step)
}

/// Joint error, energy loss and angle error of first order or better in the substep alone.
#[test]
fn a_rod_pendulum_swings_as_computed() {
    for (step, joint, loss, angle) in [
        (5e-3, 4.57e-4, 1.1e-2, -2.2e-3),
        (1e-3, 1.83e-5, 1.7e-3, -4.5e-4),
        (5e-4, 4.59e-6, 8.5e-4, -2.3e-4),
        (1e-4, 1.83e-7, 1.7e-4, -4.7e-5),
    ] {
        let mut rig = pendulum(step);
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
        assert_close("angle", at_two + 0.030_295_538, angle, 0.1);
    }
}

#[test]
fn a_double_pendulum_follows_the_reference() {
    for (step, tip_error, joint) in [
        (5e-3, 8.2e-3, 3.4e-3),
        (5e-4, 9.5e-4, 3.5e-5),
        (1e-4, 1.9e-4, 1.4e-6),
    ] {
        let mut plan = Plan {
            gravity: GRAVITY,
            ..Plan::default()
        };
        let [_, second] = plan.add_arm([1.0, 1.0], 2.0 * DVec3::X, DVec3::Y);
        let mut rig = plan.build(step);
        rig.run(1.0, |_| {});
        let tip = rig.poses[second].to_world(DVec3::X * 0.5);
        let error = tip.distance(DVec3::new(-1.66473, 0.0, -1.04056));
        assert_close("tip", error, tip_error, 0.05);
        rig.run(5.0, |_| {});
        let violations = (0..2).map(|j| rig.machines.joint(j).max_violation.distance);
        assert_close("joint", violations.fold(0.0, f64::max), joint, 0.05);
    }
}

/// A crank of 0.1 m at 20 rad/s moves a slider through a rod of 0.3 m.
#[test]
fn a_slider_crank_moves_the_slider_as_its_geometry_says() {
    let (r, l, rate) = (0.1, 0.3, 20.0);
    for (step, expected) in [(5e-3, 1.66e-3), (1e-3, 6.7e-5), (5e-4, 1.67e-5)] {
        let mut plan = Plan::default();
        let pin = DVec3::X * r;
        let crank = plan.add_rod(1.0, DVec3::ZERO, pin);
        let rod = plan.add_rod(1.0, pin, DVec3::X * (r + l));
        let slider = plan.add_box(
            1.0,
            DVec3::splat(0.1),
            BodyPose {
                position: DVec3::X * (r + l),
                orientation: DQuat::IDENTITY,
            },
        );
        let pivot = plan.join(
            JointKind::Revolute,
            [None, Some(crank)],
            DVec3::ZERO,
            DVec3::Y,
        );
        plan.join(JointKind::Revolute, [Some(crank), Some(rod)], pin, DVec3::Y);
        plan.join(
            JointKind::Revolute,
            [Some(rod), Some(slider)],
            DVec3::X * (r + l),
            DVec3::Y,
        );
        let guide = plan.join(
            JointKind::Prismatic,
            [None, Some(slider)],
            DVec3::X * (r + l),
            DVec3::X,
        );
        plan.drive(
            pivot,
            Coordinate::Angle,
            DriveKind::VelocityMotor,
            Signal::Constant(rate),
            Some(1e6),
        );
        let mut rig = plan.build(step);
        let (mut worst, mut peak, mut last) = (0.0_f64, 0.0_f64, 0.0);
        rig.run(2.0, |rig| {
            let angle = rate * rig.time();
            let exact = r * angle.cos() + (l * l - (r * angle.sin()).powi(2)).sqrt() - r - l;
            worst = worst.max((rig.slide(guide) - exact).abs());
            let velocity = rig.velocities[slider].linear.x;
            if rig.steps > 10 {
                peak = peak.max(((velocity - last) / step).abs());
            }
            last = velocity;
        });
        assert_close("slider", worst, expected, 0.1);
        if step < 1e-3 {
            assert_close("acceleration", peak, 53.33, 5e-3);
        }
    }
}

/// Four revolutes in a plane: three rows too many. Motion does not depend on the regularisation
/// that decides between them.
#[test]
fn a_four_bar_with_redundant_rows_follows_its_geometry() {
    let pins = [[0.0, 0.0], [0.0, 0.3], [0.8, 0.7], [1.0, 0.0]].map(|[x, z]| DVec3::new(x, 0.0, z));
    let linkage = || {
        let mut plan = Plan::default();
        let bars = [0, 1, 2].map(|i| plan.add_rod(1.0, pins[i], pins[i + 1]));
        let sides = [
            [None, Some(bars[0])],
            [Some(bars[0]), Some(bars[1])],
            [Some(bars[1]), Some(bars[2])],
            [Some(bars[2]), None],
        ];
        for (bodies, pin) in sides.into_iter().zip(pins) {
            plan.join(JointKind::Revolute, bodies, pin, DVec3::Y);
        }
        plan.drive(
            0,
            Coordinate::Angle,
            DriveKind::VelocityMotor,
            Signal::Constant(2.0),
            Some(1e6),
        );
        plan
    };
    let lengths = [0, 1, 2].map(|i| pins[i].distance(pins[i + 1]));
    // The third pin is where the circles about the second and fourth cross.
    let third = |angle: f64| {
        let second = DQuat::from_rotation_y(angle) * pins[1];
        let base = pins[3] - second;
        let d = base.length();
        let along = (d * d + lengths[1].powi(2) - lengths[2].powi(2)) / (2.0 * d);
        let up = (lengths[1].powi(2) - along * along).sqrt();
        second + base * (along / d) + DVec3::new(-base.z, 0.0, base.x) * (up / d)
    };
    assert!(third(0.0).distance(pins[2]) < 1e-12);
    for (step, expected) in [(5e-3, 6.5e-5), (5e-4, 6.5e-7)] {
        let mut rig = linkage().build(step);
        let mut worst = 0.0_f64;
        rig.run(4.0, |rig| {
            let pin = rig.poses[1].to_world(DVec3::X * (0.5 * lengths[1]));
            worst = worst.max(pin.distance(third(2.0 * rig.time())));
        });
        assert_close("pin", worst, expected, 0.15);
    }
    let end = |regularisation: f64| {
        let mut rig = linkage().build(1e-3);
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
    let mut rig = plan.build(step);
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
    let mut rig = plan.build(step);
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
    let mut rig = plan.build(1e-3);
    assert_ne!(rig.poses, plan.poses);
    rig.step();
    let violation = rig.machines.joint(1).violation;
    assert!(violation.distance < 1e-12 && violation.angle < 1e-12);
}
