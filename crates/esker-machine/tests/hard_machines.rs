//! Machines that are hard on a direct solver: closed loops, long chains, masses far apart, several
//! bounds at once, trains of joints that have one freedom together.

mod common;

use std::f64::consts::{PI, TAU};

use common::{assert_close, build};
use esker_machine::rig::{GRAVITY, Plan, Rig};
use esker_machine::{BodyPose, Coordinate, GearDef, JointCoordinate, JointKind};
use glam::{DQuat, DVec3};

/// Largest gap of any joint since the start, m.
fn gap(rig: &Rig) -> f64 {
    let joints = 0..rig.plan.joints.len();
    let gaps = joints.map(|j| rig.machines.joint(j).max_violation.distance);
    gaps.fold(0.0, f64::max)
}

fn falling() -> Plan {
    Plan {
        gravity: GRAVITY,
        ..Plan::default()
    }
}

/// Bricard's linkage, six rods along edges of a cube, each hinged at right angles to both its
/// neighbours: by count of rows it cannot move, by its geometry it can. Regularised with 1e-10 it
/// jammed: joints that gape by 3e-5 of a rod made of the redundant row one that is none, and all of
/// its energy (51 of 50 J) was lost within ten seconds.
#[test]
fn a_linkage_that_moves_by_its_geometry_alone_keeps_its_energy() {
    let corners = [
        [0, 0, 0],
        [1, 0, 0],
        [1, 1, 0],
        [1, 1, 1],
        [0, 1, 1],
        [0, 0, 1],
    ];
    let corners = corners.map(|c: [i32; 3]| DVec3::from_array(c.map(f64::from)));
    let axes = [DVec3::Y, DVec3::Z, DVec3::X, DVec3::Y, DVec3::Z, DVec3::X];
    let run = |step: f64| {
        let mut plan = falling();
        plan.gravity = DVec3::Y * GRAVITY.z;
        // The sixth rod, from the last corner to the first, is the ground.
        let rods = [0, 1, 2, 3, 4].map(|i| plan.add_rod(1.0, corners[i], corners[i + 1]));
        for k in 0..6_usize {
            let sides = [k.checked_sub(1).map(|i| rods[i]), rods.get(k).copied()];
            plan.join(JointKind::Revolute, sides, corners[k], axes[k]);
        }
        let mut rig = build(&plan, step);
        let start = rig.energy();
        let (mut loss, mut kinetic): (f64, f64) = (0.0, 0.0);
        rig.run(10.0, |rig| {
            loss = loss.max(start - rig.energy());
            kinetic = kinetic.max(rig.kinetic_energy());
        });
        loss / kinetic
    };
    let (coarse, fine) = (run(1e-3), run(5e-4));
    assert!(coarse < 0.012, "{coarse}");
    assert_close("loss over that of twice the step", fine / coarse, 0.5, 0.1);
}

/// A chain of 100 links of 0.1 m on ball joints is let go horizontally and swings through.
#[test]
fn a_long_chain_holds_together_and_keeps_its_energy() {
    let (links, length, mass) = (100, 0.1, 0.1);
    let run = |step: f64| {
        let mut plan = falling();
        let mut last = None;
        for k in 0..links {
            let from = DVec3::X * (f64::from(k) * length);
            let link = plan.add_rod(mass, from, from + DVec3::X * length);
            plan.join(JointKind::Ball, [last, Some(link)], from, DVec3::Y);
            last = Some(link);
        }
        let mut rig = build(&plan, step);
        let start = rig.energy();
        let (mut loss, mut gain): (f64, f64) = (0.0, 0.0);
        rig.run(2.0, |rig| {
            loss = loss.max(start - rig.energy());
            gain = gain.max(rig.energy() - start);
        });
        let n = f64::from(links);
        let fall = 0.5 * n * length * n * mass * 9.81;
        assert!(gain < 1e-9 * fall, "{gain}");
        (loss / fall, gap(&rig))
    };
    let ((loss, coarse), (_, fine)) = (run(1e-3), run(5e-4));
    assert!(loss < 0.0025, "{loss}");
    assert!(coarse < 0.005, "{coarse}");
    assert_close("gap over that of twice the step", fine / coarse, 0.25, 0.15);
}

/// Three links under each other, pulled to the side; the middle one is a million times lighter or
/// heavier than the others. A link of no mass at all would do the same.
#[test]
fn light_links_between_heavy_ones_move_as_if_they_had_no_mass() {
    let hung = |scale: f64, ratio: f64| {
        let mut plan = falling();
        let mut above = None;
        for (k, mass) in [scale, scale * ratio, scale].into_iter().enumerate() {
            let top = DVec3::Z * -(k as f64);
            let link = plan.add_rod(mass, top, top - DVec3::Z);
            plan.join(JointKind::Ball, [above, Some(link)], top, DVec3::Y);
            above = Some(link);
        }
        let mut rig = build(&plan, 1e-3);
        rig.forces[2].linear = DVec3::X * (3.0 * scale);
        rig.run(1.0, |_| {});
        assert!(gap(&rig) < 1e-4, "{scale} {ratio}: {}", gap(&rig));
        rig.poses[2].position
    };
    let reference = hung(1.0, 1e-3);
    assert!(hung(1.0, 1e-6).distance(reference) < 1e-3);
    // Nothing depends on the unit of mass.
    for scale in [1e-3, 1e5] {
        assert!(hung(scale, 1e-3).distance(reference) < 1e-9, "{scale}");
    }
    // A heavy one hardly follows; the joints hold all the same.
    let still = hung(1.0, 1e6);
    assert!(still.distance(hung(1.0, 1e3)) < 2e-3, "{still}");
}

/// Two shafts 30° apart, joined by a Hooke joint whose first fork is across the plane of both:
/// `tan out = cos 30° · tan in`. Bearings and joint have three rows too many.
#[test]
fn a_universal_joint_turns_its_output_unevenly() {
    let tilt = PI / 6.0;
    let along = DVec3::new(tilt.cos(), 0.0, tilt.sin());
    let mut plan = Plan::default();
    let mut shaft = |position: DVec3| {
        let pose = BodyPose {
            position,
            orientation: DQuat::IDENTITY,
        };
        plan.add(1.0, DVec3::splat(0.01), pose)
    };
    let (input, output) = (shaft(-DVec3::X), shaft(along));
    let bearing = JointKind::Revolute;
    let first = plan.join(bearing, [None, Some(input)], -DVec3::X, DVec3::X);
    let second = plan.join(bearing, [None, Some(output)], along, along);
    let sides = [Some(input), Some(output)];
    let cross = plan.join(JointKind::Universal, sides, DVec3::ZERO, DVec3::Y);
    let fork = DVec3::Y.cross(along);
    plan.joints[cross].frames[1].axis = fork;
    plan.joints[cross].frames[1].reference = fork.any_orthogonal_vector();
    plan.motor(first, Coordinate::Angle, 5.0, 1e3);
    let mut rig = build(&plan, 1e-3);
    let mut worst: f64 = 0.0;
    rig.run(3.0, |rig| {
        let (sin, cos) = rig.angle(first).sin_cos();
        let expected = (tilt.cos() * sin).atan2(cos);
        let error = (rig.angle(second) - expected + PI).rem_euclid(TAU) - PI;
        worst = worst.max(error.abs());
    });
    assert!(worst < 2e-5, "{worst}");
    assert!(gap(&rig) < 1e-7, "{}", gap(&rig));
}

/// A screw jack: the motor's torque lifts `m g` by `m g p / 2π`, until the slide's limit stops
/// both, where the motor pushes with its own limit.
#[test]
fn a_motor_lifts_a_nut_by_its_screw_up_to_a_limit() {
    let (mass, pitch, torque) = (10.0, 0.05, 2.0);
    let mut plan = falling();
    let nut = plan.add(mass, DVec3::splat(0.01), BodyPose::IDENTITY);
    let kind = JointKind::Screw { pitch };
    let screw = plan.join(kind, [None, Some(nut)], DVec3::ZERO, DVec3::Z);
    plan.joints[screw].slide.limits = [-0.2, 0.1];
    let motor = plan.motor(screw, Coordinate::Angle, 10.0, torque);
    let mut rig = build(&plan, 1e-3);
    let mut impulses = vec![0.0];
    rig.run(4.0, |rig| impulses.push(rig.machines.drive(motor).impulse));
    let mean =
        |from: usize, to: usize| (impulses[to] - impulses[from]) / ((to - from) as f64 * 1e-3);
    assert_close("lifting", mean(500, 1000), mass * 9.81 * pitch / TAU, 1e-9);
    assert_close("at the limit", mean(3000, 4000), torque, 1e-9);
    assert_close("slide", rig.slide(screw), 0.1, 1e-9);
    assert_close("angle", rig.angle(screw), 0.1 / pitch * TAU, 1e-9);
}

/// Rotors of 1, 2 and 3 kg m² with `x₁ = −2 x₂` and `x₂ = 3 x₃`, and motors of 1, 3 and 50 N m that
/// never get where they want: as one rotor with the inertia 36 + 18 + 3 and the torque −6 + 9 − 50.
#[test]
fn motors_of_a_gear_train_add_up_at_their_limits() {
    let mut plan = Plan::default();
    let at = |joint| JointCoordinate {
        joint,
        coordinate: Coordinate::Angle,
    };
    for (inertia, rate, torque) in [(1.0, 100.0, 1.0), (2.0, 100.0, 3.0), (3.0, -100.0, 50.0)] {
        let rotor = plan.add(1.0, DVec3::splat(inertia), BodyPose::IDENTITY);
        let bodies = [None, Some(rotor)];
        let bearing = plan.join(JointKind::Revolute, bodies, DVec3::ZERO, DVec3::Z);
        plan.motor(bearing, Coordinate::Angle, rate, torque);
    }
    for (first, second, ratio) in [(0, 1, -2.0), (1, 2, 3.0)] {
        plan.gears.push(GearDef {
            name: format!("{first} on {second}"),
            coordinates: [at(first), at(second)],
            ratio,
        });
    }
    let mut rig = build(&plan, 1e-3);
    rig.run(1.0, |_| {});
    let [first, second, third] = [0, 1, 2].map(|r: usize| rig.velocities[r].angular.z);
    // Rows of gears are rigid but for a millionth of what the motors would give the rotors.
    assert_close("third", third, -47.0 / 57.0, 1e-5);
    assert_close("second", second, 3.0 * third, 1e-5);
    assert_close("first", first, -6.0 * third, 1e-5);
}

/// A limit of one wheel stops the motor of the other: 4 × (5 − 0.1) N m of torque at the limit.
#[test]
fn a_limit_holds_through_a_gear_against_motor_and_friction() {
    let mut plan = Plan::default();
    let at = |joint| JointCoordinate {
        joint,
        coordinate: Coordinate::Angle,
    };
    for inertia in [1.0, 2.0] {
        let rotor = plan.add(1.0, DVec3::splat(inertia), BodyPose::IDENTITY);
        plan.join(
            JointKind::Revolute,
            [None, Some(rotor)],
            DVec3::ZERO,
            DVec3::Z,
        );
    }
    plan.joints[0].angle.friction = 0.1;
    plan.joints[1].angle.limits = [-1.0, 0.5];
    plan.gears.push(GearDef {
        name: "gear".into(),
        coordinates: [at(0), at(1)],
        ratio: 4.0,
    });
    let motor = plan.motor(0, Coordinate::Angle, 10.0, 5.0);
    let mut rig = build(&plan, 1e-3);
    rig.run(3.0, |_| {});
    let before = rig.machines.joint(1).impulse.angular.z;
    let pushed = rig.machines.drive(motor).impulse;
    rig.run(4.0, |_| {});
    assert_close(
        "motor",
        rig.machines.drive(motor).impulse - pushed,
        5.0,
        1e-9,
    );
    // The friction is at rest and takes what the redundant set leaves it, at most 0.1 N m.
    let limit = before - rig.machines.joint(1).impulse.angular.z;
    assert!((19.6 - 1e-6..=20.4 + 1e-6).contains(&limit), "{limit}");
    assert_close("angle", rig.angle(1), 0.5, 1e-6);
    assert_close("angle of the motor", rig.angle(0), 2.0, 1e-6);
}
