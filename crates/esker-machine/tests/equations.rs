//! The equations as others see them: articulated inverse mass, the common problem, restarts.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use common::build;
use esker_machine::rig::{GRAVITY, Plan, Rig};
use esker_machine::{
    Coordinate, DriveKind, Elasticity, InverseMass6, JointKind, Signal, Spatial, Substep,
};
use faer::Mat;
use faer::linalg::solvers::Solve;
use glam::DVec3;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator with a count per thread: other tests run beside.
struct Counting;

// SAFETY: every call is passed on to the system's allocator unchanged; the counter is a `Cell`
// without a destructor, so counting neither allocates nor fails while a thread ends.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promises, passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises, passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// An arm of several links with a motor that is too weak, one that is not, a limit, friction, a
/// compliant joint and, where `links` is large, a sparse factorisation.
fn arm(links: usize, step: f64) -> Rig {
    let mut plan = Plan {
        gravity: GRAVITY,
        ..Plan::default()
    };
    let mut below = None;
    for i in 0..links {
        let (from, to) = (DVec3::X * i as f64, DVec3::X * (i + 1) as f64);
        let link = plan.add_rod(1.0 + 0.3 * i as f64, from, to);
        let axis = DVec3::new(0.1 * i as f64, 1.0, 0.3);
        let joint = plan.join(JointKind::Revolute, [below, Some(link)], from, axis);
        plan.joints[joint].angle.friction = 0.05;
        below = Some(link);
    }
    plan.joints[2].angular = Elasticity {
        compliance: 1e-4,
        damping: 10.0,
    };
    plan.joints[2].angle.limits = [-0.01, 0.01];
    for (joint, rate, limit) in [(0, -1.0, 20.0), (1, 0.5, 1e5)] {
        plan.drive(
            joint,
            Coordinate::Angle,
            DriveKind::VelocityMotor,
            Signal::Constant(rate),
            Some(limit),
        );
    }
    build(&plan, step)
}

fn begin(rig: &mut Rig) {
    let weight = |b: usize| Spatial::new(GRAVITY * rig.plan.bodies[b].mass, DVec3::ZERO);
    let forces: Vec<_> = (0..rig.poses.len()).map(weight).collect();
    rig.machines.begin_substep(&Substep {
        length: rig.step,
        time: rig.time(),
        poses: &rig.poses,
        velocities: &rig.velocities,
        forces: &forces,
    });
}

fn solved(rig: &mut Rig, body: usize, impulse: Spatial) -> Vec<Spatial> {
    let mut impulses = vec![Spatial::ZERO; rig.poses.len()];
    impulses[body] = impulse;
    let mut velocities = impulses.clone();
    rig.machines.solve(&impulses, &mut velocities);
    velocities
}

/// A slider of 2 kg on a motor that holds 1 m/s with at most 40 N, for substeps of 1 ms: 0.04 N s.
/// What is less than that moves nothing, what is more is felt by the mass alone.
#[test]
fn a_motor_is_where_contacts_are_expected_to_leave_it() {
    let step = 1e-3;
    let mut plan = esker_machine::mechanisms::slider();
    plan.motor(0, Coordinate::Slide, 1.0, 40.0);
    plan.joints[0].slide.limits = [-0.25, 1.0];
    let mut rig = build(&plan, step);
    rig.velocities[0].linear = DVec3::X;
    for (expected, is_at_limit) in [(-0.039, false), (-0.041, true)] {
        begin_free(&mut rig);
        let impulse = |x: f64| [Spatial::new(DVec3::X * x, DVec3::ZERO)];
        let mut velocities = [Spatial::ZERO];
        rig.machines.expect(&impulse(expected), &mut velocities);
        let left = 1.0 + (expected + 0.04_f64).min(0.0) / 2.0;
        assert!((velocities[0].linear.x - left).abs() < 1e-9);
        let along = rig
            .machines
            .articulated_inverse_mass(0)
            .linear_linear
            .x_axis
            .x;
        let inverse_mass = if is_at_limit { 0.5 } else { 0.0 };
        assert!((along - inverse_mass).abs() < 1e-9, "{along}");
        // Before contacts act, it pushes with all it has where they will need that.
        rig.machines.solve_expected(&impulse(0.0), &mut velocities);
        let pushed = if is_at_limit { 1.0 + 0.04 / 2.0 } else { 1.0 };
        assert!((velocities[0].linear.x - pushed).abs() < 1e-9);
        // A limit that such impulses would reach is not taken for one that holds.
        rig.machines.expect(&impulse(0.0), &mut velocities);
        rig.machines.expect_more(&impulse(-1e3), &mut velocities);
        assert!(
            (velocities[0].linear.x + 0.25 / step).abs() < 1e-6,
            "it holds"
        );
        rig.machines.solve_expected(&impulse(0.0), &mut velocities);
        assert!((velocities[0].linear.x - 1.02).abs() < 1e-9);
        // And what is there decides.
        rig.machines.solve(&impulse(-0.01), &mut velocities);
        assert!((velocities[0].linear.x - 1.0).abs() < 1e-9);
    }
}

/// Begins a substep without forces.
fn begin_free(rig: &mut Rig) {
    rig.machines.begin_substep(&Substep {
        length: rig.step,
        time: rig.time(),
        poses: &rig.poses,
        velocities: &rig.velocities,
        forces: &rig.forces,
    });
}

/// Small impulses leave rows at their bounds where they are: velocities then change by `A p`.
#[test]
fn contacts_see_the_articulated_inverse_mass() {
    for links in [4, 16] {
        let mut rig = arm(links, 1e-3);
        rig.run(0.05, |_| {});
        begin(&mut rig);
        let before = solved(&mut rig, 3, Spatial::ZERO);
        let articulated: InverseMass6 = rig.machines.articulated_inverse_mass(3);
        let own = 1.0 / rig.plan.bodies[3].mass;
        assert!(articulated.linear_linear.z_axis.z < 0.95 * own);
        for k in 0..6 {
            let impulse = Spatial::unit(k) * 1e-4;
            let answer: Vec<_> = rig.machines.machines_mut()[0].response(3, impulse).to_vec();
            let after = solved(&mut rig, 3, impulse);
            for b in 0..links {
                let change = after[b] - before[b];
                let error = change - answer[b];
                let error = error.linear.length() + error.angular.length();
                assert!(error < 1e-10, "{links} {k} {b}: {error}");
            }
            let direct = articulated.apply(impulse) - answer[3];
            assert!(direct.linear.length() + direct.angular.length() < 1e-13);
        }
        let (arm, push) = (DVec3::new(0.1, -0.2, 0.3), DVec3::new(1.0, 2.0, -1.0));
        let there = articulated
            .apply(Spatial::from_impulse_at(push, arm))
            .at(arm);
        assert!((articulated.at(arm) * push - there).length() < 1e-12);
    }
}

/// `(M + Gᵀ Σ⁻¹ G) v = M v_free + P + Gᵀ Σ⁻¹ q`, with bounded rows that are not at a bound taken
/// along and the impulses of the others applied.
#[test]
fn the_common_problem_has_the_same_velocities() {
    let mut rig = arm(4, 1e-3);
    rig.run(0.05, |_| {});
    rig.machines.set_regularisation(1e-6);
    begin(&mut rig);
    let push = Spatial::new(DVec3::new(0.1, 0.2, 0.05), DVec3::X * 0.01);
    let expected = solved(&mut rig, 2, push);
    let machine = &rig.machines.machines()[0];
    let (bilateral, bounded) = machine.rows();
    let size = 6 * machine.bodies().len();
    let mut matrix = Mat::<f64>::zeros(size, size);
    let mut right = Mat::<f64>::zeros(size, 1);
    for (b, &body) in machine.bodies().iter().enumerate() {
        let (mass, inertia) = (rig.plan.bodies[body].mass, rig.inertia(body));
        let free = machine.free_velocities()[b];
        let momentum = Spatial::new(free.linear * mass, inertia * free.angular)
            + if body == 2 { push } else { Spatial::ZERO };
        for k in 0..6 {
            right[(6 * b + k, 0)] = momentum.component(k);
            for l in 0..3 {
                if k < 3 {
                    matrix[(6 * b + k, 6 * b + k)] = mass;
                } else {
                    matrix[(6 * b + k, 6 * b + 3 + l)] = inertia.col(l)[k - 3];
                }
            }
        }
    }
    let state = rig.machines.state();
    let free = |k: usize| state.activities[k] == esker_machine::Activity::Free;
    let mut at_bounds = 0;
    let rows = bilateral.iter().map(|row| (row, true));
    let all = rows.chain(bounded.iter().enumerate().map(|(k, row)| (row, free(k))));
    for (k, (row, is_free)) in all.enumerate() {
        if !is_free {
            at_bounds += 1;
            let upper = state.activities[k - bilateral.len()] == esker_machine::Activity::Upper;
            let impulse = row.bounds[usize::from(upper)];
            for e in row.entries() {
                for c in 0..6 {
                    right[(6 * e.body + c, 0)] += e.jacobian.component(c) * impulse;
                }
            }
            continue;
        }
        for e in row.entries() {
            for c in 0..6 {
                let at = 6 * e.body + c;
                let entry = e.jacobian.component(c) / row.sigma;
                right[(at, 0)] += entry * row.target;
                for f in row.entries() {
                    for d in 0..6 {
                        matrix[(at, 6 * f.body + d)] += entry * f.jacobian.component(d);
                    }
                }
            }
        }
    }
    assert!(at_bounds > 0 && at_bounds < bounded.len());
    let v = matrix.partial_piv_lu().solve(&right);
    for (b, &body) in machine.bodies().iter().enumerate() {
        for k in 0..6 {
            let difference = v[(6 * b + k, 0)] - expected[body].component(k);
            assert!(difference.abs() < 1e-8, "{body} {k}: {difference}");
        }
    }
}

/// Bits, not digits: a run goes on from its state as if nothing had happened.
#[test]
fn a_restored_machine_goes_on_with_the_same_bits() {
    for links in [4, 16] {
        let mut rig = arm(links, 1e-3);
        rig.run(0.2, |_| {});
        let mut other = arm(links, 1e-3);
        other.machines.restore(&rig.machines.state()).unwrap();
        (other.poses, other.velocities) = (rig.poses.clone(), rig.velocities.clone());
        other.steps = rig.steps;
        assert_eq!(other.machines.state(), rig.machines.state());
        rig.run(0.3, |_| {});
        other.run(0.3, |_| {});
        assert_eq!(other.poses, rig.poses);
        assert_eq!(other.velocities, rig.velocities);
        assert_eq!(other.machines.state(), rig.machines.state());
    }
}

#[test]
fn a_state_of_other_machines_is_refused() {
    let rig = arm(4, 1e-3);
    let mut other = arm(5, 1e-3);
    let error = other.machines.restore(&rig.machines.state()).unwrap_err();
    assert!(error.to_string().contains("coordinates"), "{error}");
}

#[test]
fn a_substep_allocates_nothing() {
    for links in [4, 16] {
        let mut rig = arm(links, 1e-3);
        rig.run(0.01, |_| {});
        let impulses = vec![Spatial::ZERO; links];
        let forces = impulses.clone();
        let mut velocities = rig.velocities.clone();
        let before = ALLOCATIONS.get();
        for _ in 0..20 {
            rig.machines.begin_substep(&Substep {
                length: 1e-3,
                time: 0.0,
                poses: &rig.poses,
                velocities: &rig.velocities,
                forces: &forces,
            });
            rig.machines.solve(&impulses, &mut velocities);
            rig.machines.articulated_inverse_mass(2);
            rig.machines.solve(&impulses, &mut velocities);
            rig.machines.end_substep(&rig.poses);
        }
        assert_eq!(ALLOCATIONS.get(), before, "{links} links");
    }
}

/// Machines that only the ground connects are problems of their own; a body without joints is none.
#[test]
fn the_ground_does_not_connect_machines() {
    let mut plan = Plan::default();
    for i in 0..4 {
        let from = DVec3::Y * f64::from(i);
        plan.add_rod(1.0, from, from + DVec3::X);
    }
    plan.join(JointKind::Ball, [None, Some(3)], DVec3::Y * 3.0, DVec3::Z);
    plan.join(JointKind::Ball, [Some(0), None], DVec3::ZERO, DVec3::Z);
    plan.join(JointKind::Ball, [Some(0), Some(2)], DVec3::X, DVec3::Z);
    let rig = build(&plan, 1e-3);
    let bodies: Vec<_> = rig.machines.machines().iter().map(|m| m.bodies()).collect();
    assert_eq!(bodies, [&[0, 2][..], &[3]]);
    let machines = [0, 1, 2, 3].map(|b| rig.machines.machine_of(b));
    assert_eq!(machines, [Some(0), None, Some(0), Some(1)]);
}
