//! Gyroscopic motion and the conservation of angular momentum.

mod common;

use common::{assert_close, build};
use esker_machine::mechanisms::{HeavyTop, torque_free_top};
use esker_machine::rig::Plan;
use esker_machine::{JointKind, Spatial};
use glam::DVec3;

/// Bodies held at their centre of mass, at 1000 rad/s: energy stays, and the direction of the
/// angular momentum is of first order in the substep.
#[test]
fn torque_free_tops_keep_energy_and_angular_momentum() {
    for moments in [
        DVec3::new(1.0, 2.0, 3.0),
        DVec3::new(0.1, 1.0, 1.0),
        DVec3::new(1.0, 1.0, 1.9),
    ] {
        let mut errors = [0.0; 2];
        for (error, step) in errors.iter_mut().zip([5e-4, 1e-4]) {
            let mut rig = build(&torque_free_top(moments), step);
            rig.velocities[0].angular = DVec3::new(0.3, 1.0, 0.4).normalize() * 1000.0;
            let (energy, momentum) = (rig.kinetic_energy(), rig.angular_momentum());
            rig.run(1.0, |_| {});
            assert_close("energy", rig.kinetic_energy(), energy, 1e-9);
            let after = rig.angular_momentum();
            assert_close("length", after.length(), momentum.length(), 1e-9);
            *error = (after - momentum).length() / momentum.length();
            assert_eq!(rig.machines.troubles().fast_rotations, 0);
        }
        assert!(
            errors[0] < 0.25 && errors[1] < 0.05,
            "{moments}: {errors:?}"
        );
    }
}

/// Where a substep is more than a radian the term is stable, loses energy, and says so.
#[test]
fn substeps_of_more_than_a_radian_are_stable_and_counted() {
    let mut rig = build(&torque_free_top(DVec3::new(1.0, 2.0, 3.0)), 5e-3);
    rig.velocities[0].angular = DVec3::new(300.0, 900.0, 300.0);
    let energy = rig.kinetic_energy();
    rig.run(1.0, |rig| {
        assert!(rig.kinetic_energy() <= energy * (1.0 + 1e-9));
    });
    assert!(rig.machines.troubles().fast_rotations > 0);
}

/// A heavy top on a ball joint: 1 kg, 0.1 m, tilted by 0.5 rad, at 1000 rad/s.
#[test]
fn a_heavy_top_precesses() {
    let mechanism = HeavyTop {
        tilt: 0.5,
        spin: 1000.0,
    };
    assert_close("exact", mechanism.precession(), 0.99012, 1e-4);
    for (step, expected, drift) in [(5e-4, 0.9943, 0.042), (1e-4, 0.98965, 0.008)] {
        let mut rig = build(&mechanism.plan(), step);
        rig.velocities[0] = mechanism.velocity();
        rig.run(0.5, |_| {});
        let end = rig.poses[0].orientation * DVec3::Z;
        assert_close("precession", end.y.atan2(end.x) / 0.5, expected, 2e-3);
        let tilted = (end.angle_between(DVec3::Z) - mechanism.tilt).abs();
        assert_close("tilt", tilted, drift, 0.25);
    }
}

/// Two bodies on a joint of each kind float and tumble: nothing but their own forces acts.
/// Linear momentum stays to rounding; angular momentum to the order of the substep.
#[test]
fn a_free_machine_keeps_its_momenta() {
    for kind in [
        JointKind::Fixed,
        JointKind::Revolute,
        JointKind::Prismatic,
        JointKind::Cylindrical,
        JointKind::Ball,
        JointKind::Distance { length: 0.5 },
        JointKind::Screw { pitch: 0.1 },
    ] {
        let drift = |step: f64| {
            let mut plan = Plan::default();
            let first = plan.add_rod(1.0, DVec3::ZERO, DVec3::X);
            let second = plan.add_rod(2.0, DVec3::X, DVec3::new(1.5, 0.8, 0.3));
            let sides = [Some(first), Some(second)];
            let joint = plan.join(kind, sides, DVec3::X, DVec3::new(0.2, 1.0, 0.3));
            if let JointKind::Distance { .. } = kind {
                let inverse = plan.poses[second].orientation.conjugate();
                plan.joints[joint].frames[1].anchor += inverse * DVec3::new(0.0, 0.3, 0.4);
            }
            let mut rig = build(&plan, step);
            rig.velocities[first] = Spatial::new(DVec3::Z, DVec3::new(0.5, 2.0, -1.0));
            rig.velocities[second] = Spatial::new(-DVec3::Y, DVec3::new(1.0, 0.3, 2.0));
            // The first substep makes velocities that the joint allows.
            rig.step();
            let (linear, angular) = (rig.momentum(), rig.angular_momentum());
            rig.run(0.5, |_| {});
            assert!(rig.momentum().distance(linear) < 1e-12, "{kind:?}");
            rig.angular_momentum().distance(angular) / angular.length()
        };
        let (coarse, fine) = (drift(1e-3), drift(1e-4));
        assert!(coarse < 5e-3, "{kind:?}: {coarse}");
        assert!(fine < 0.15 * coarse, "{kind:?}: {coarse} {fine}");
    }
}
