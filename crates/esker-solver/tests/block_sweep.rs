//! The vector sweep against the scalar reference, on every instruction set of
//! this processor and on several threads.

#[path = "common/crowd.rs"]
mod crowd;

use crowd::*;
use esker_contact::{BodyState, Contact, ContactProblem, EnergyLoss, Form, Impulse};
use esker_parallel::Team;
use esker_solver::backend::{Partners, SubstepBackend, SubstepRun};
use esker_solver::block_sweep::{BlockSweeper, WholeStepProblem};
use esker_solver::lanes::Instructions;
use esker_solver::packed::Row;
use esker_solver::substep::{Accelerations, Impact, SubStepper, Substeps};
use esker_solver::sweep::{GaussSeidel, Stop};
use glam::DVec3;

/// Bodies, impulses and number of impacts after a step.
type Outcome = (Vec<BodyState>, Vec<Impulse>, usize);

fn reference_substeps(crowd: &Crowd) -> (Outcome, f64) {
    let reference = reference_sums(crowd, GRAVITY, crowd.accelerations());
    (reference.outcome, reference.residual)
}

/// What the scalar substeps give.
struct Reference {
    outcome: Outcome,
    residual: f64,
    /// Impulses of every contact over the whole step.
    sums: Vec<Impulse>,
    /// Max speed of each body in any substep, m/s.
    fastest: Vec<f64>,
}

fn reference_sums(crowd: &Crowd, gravity: DVec3, accelerations: Accelerations<'_>) -> Reference {
    let mut contacts: Vec<Contact> = crowd.rows.iter().map(|r| r.contact).collect();
    let laws = crowd.plan.laws_of_contacts();
    let follows: Vec<bool> = laws.map(|law| crowd.laws[law as usize].follows).collect();
    let mut springs: Vec<_> = crowd.rows.iter().map(|r| r.spring).collect();
    let impact = Impact {
        restitution: crowd.laws[0].restitution,
        speed: crowd.laws[0].impact_speed,
    };
    let impacts = vec![impact; crowd.rows.len()];
    let mut impulses: Vec<_> = crowd.rows.iter().map(|r| r.impulse).collect();
    let mut bodies = crowd.bodies.clone();
    let mut substeps = Substeps {
        contacts: &mut contacts,
        general: &crowd.general,
        substeps: SUBSTEPS,
        follows: &follows,
        springs: &mut springs,
        impacts: &impacts,
        impulses: &mut impulses,
        bodies: &mut bodies,
        step: STEP,
        gravity,
        accelerations,
        compliance: COMPLIANCE,
    };
    let mut stepper = SubStepper::default();
    let mut fastest = vec![0.0_f64; substeps.bodies.len()];
    let mut watch = |bodies: &[BodyState]| {
        for (speed, body) in fastest.iter_mut().zip(bodies) {
            *speed = speed.max(body.velocity.length());
        }
    };
    watch(substeps.bodies);
    stepper.begin(&mut substeps);
    for k in 0..SUBSTEPS {
        stepper.substep(&mut substeps, k);
        watch(substeps.bodies);
    }
    let residual = stepper.residual(&substeps);
    stepper.finish(substeps.impulses);
    Reference {
        outcome: (bodies, impulses, stepper.impact_count),
        residual,
        sums: stepper.impulse_sums,
        fastest,
    }
}

fn block_substeps(crowd: &Crowd, instructions: Instructions, threads: usize) -> (Outcome, f64) {
    block_substeps_with(crowd, instructions, threads, f64::INFINITY)
}

fn block_substeps_with(
    crowd: &Crowd,
    instructions: Instructions,
    threads: usize,
    longest_sleep: f64,
) -> (Outcome, f64) {
    let mut team = Team::new(threads);
    let mut sweeper = BlockSweeper::with_instructions(instructions);
    let mut bodies = crowd.bodies.clone();
    let problem = crowd.problem(&crowd.plan);
    let run = SubstepRun {
        longest_sleep,
        ..crowd.run(&crowd.plan.fixed)
    };
    let row = |i: usize| crowd.rows[i];
    sweeper.upload(&mut team, problem, &bodies, row).unwrap();
    let impacts = sweeper
        .advance(&mut team, problem, &mut bodies, run, Partners::alone(None))
        .unwrap();
    let residual = sweeper
        .residual(&mut team, problem, &bodies, run, row)
        .unwrap();
    let mut impulses = Vec::new();
    sweeper
        .download(&mut team, &crowd.plan, &mut impulses)
        .unwrap();
    ((bodies, impulses, impacts), residual)
}

/// What walls were given over a step, and what contacts took out of the motion.
fn block_sums(crowd: &Crowd, threads: usize) -> (Vec<BodyState>, Vec<Impulse>, EnergyLoss) {
    let mut team = Team::new(threads);
    let mut sweeper = BlockSweeper::default();
    sweeper.measure_losses(true);
    let mut bodies = crowd.bodies.clone();
    let problem = crowd.problem(&crowd.plan);
    let run = SubstepRun {
        gravity: DVec3::ZERO,
        accelerations: Accelerations::default(),
        ..crowd.run(&crowd.plan.fixed)
    };
    sweeper
        .upload(&mut team, problem, &bodies, |i| crowd.rows[i])
        .unwrap();
    sweeper
        .advance(&mut team, problem, &mut bodies, run, Partners::alone(None))
        .unwrap();
    (bodies, sweeper.impulse_sums().to_vec(), sweeper.losses())
}

#[test]
fn sums_over_substeps_balance_momentum_and_energy_with_the_same_bits_on_any_thread_count() {
    for rolls in [false, true] {
        // Locked bodies are held by something that is not there.
        let crowd = crowd_with_locks(9, rolls, false);
        let (bodies, walls, loss) = block_sums(&crowd, 1);
        for threads in [2, 3, 7] {
            let other = block_sums(&crowd, threads);
            assert!(other == (bodies.clone(), walls.clone(), loss), "{threads}");
        }
        assert_eq!(walls.len(), crowd.plan.fixed.len());
        let sums = reference_sums(&crowd, DVec3::ZERO, Accelerations::default()).sums;
        let load = sums.iter().map(|p| p.normal).fold(0.0, f64::max);
        for (&i, sum) in crowd.plan.fixed.iter().zip(&walls) {
            let other = &sums[i as usize];
            assert!((sum.normal - other.normal).abs() < 1e-11 * load);
            assert!((sum.friction - other.friction).length() < 1e-11 * load);
            assert!((sum.rolling - other.rolling).length() < 1e-13 * load);
        }
        let movable = |bodies: &[BodyState]| bodies[..crowd.movable].to_vec();
        let (before, after) = (movable(&crowd.bodies), movable(&bodies));
        let momentum = |bodies: &[BodyState]| -> DVec3 {
            bodies.iter().map(|b| b.velocity / b.inverse_mass).sum()
        };
        let energy = |bodies: &[BodyState]| -> f64 {
            let linear = |b: &BodyState| b.velocity.length_squared() / b.inverse_mass;
            let angular = |b: &BodyState| b.angular_velocity.length_squared() / b.inverse_inertia;
            0.5 * bodies.iter().map(|b| linear(b) + angular(b)).sum::<f64>()
        };
        let mut given = DVec3::ZERO;
        let mut work = 0.0;
        for (&i, sum) in crowd.plan.fixed.iter().zip(&walls) {
            let contact = &crowd.rows[i as usize].contact;
            let impulse = contact.normal * sum.normal + sum.friction;
            given += impulse;
            work -= impulse.dot(crowd.bodies[contact.bodies[1] as usize].velocity);
        }
        assert!(given.length() > 0.0 && work.abs() > 0.0);
        let gained = momentum(&after) - momentum(&before);
        assert!((gained + given).length() < 1e-12 * given.length());
        // Impacts, friction and, where there is any, rolling resistance only lose.
        assert!(loss.impact > 0.0 && loss.friction > 0.0);
        assert_eq!(loss.rolling > 0.0, rolls);
        let balance = energy(&after) - energy(&before) + loss.total() - work;
        assert!(
            balance.abs() < 1e-12 * energy(&before),
            "{balance} of {loss:?}"
        );
    }
}

fn assert_close(a: &Outcome, b: &Outcome) {
    let speed = a.0.iter().map(|s| s.velocity.length()).fold(0.0, f64::max);
    let angular_velocity =
        a.0.iter()
            .map(|s| s.angular_velocity.length())
            .fold(0.0, f64::max);
    let load = a.1.iter().map(|p| p.normal).fold(0.0, f64::max);
    for (x, y) in a.0.iter().zip(&b.0) {
        assert!((x.velocity - y.velocity).length() < 1e-11 * speed);
        assert!((x.angular_velocity - y.angular_velocity).length() < 1e-11 * angular_velocity);
    }
    for (x, y) in a.1.iter().zip(&b.1) {
        assert!((x.normal - y.normal).abs() < 1e-11 * load);
        assert!((x.friction - y.friction).length() < 1e-11 * load);
        assert!((x.rolling - y.rolling).length() < 1e-13 * load);
        assert!((x.twisting - y.twisting).abs() < 1e-13 * load);
    }
    assert_eq!(a.2, b.2, "numbers of impacts differ");
}

#[test]
fn vector_substeps_equal_the_scalar_reference_to_rounding() {
    for rolls in [false, true] {
        let crowd = crowd::crowd(11, rolls);
        let (reference, residual) = reference_substeps(&crowd);
        assert!(reference.2 > 10, "the crowd has impacts");
        for instructions in Instructions::available() {
            let (outcome, other) = block_substeps(&crowd, instructions, 1);
            assert_close(&reference, &outcome);
            assert!((other / residual - 1.0).abs() < 1e-9, "{other} {residual}");
        }
    }
}

#[test]
fn groups_sleep_for_as_long_as_their_closing_speeds_allow() {
    let mut crowd = crowd::crowd(11, true);
    let Reference {
        outcome: reference,
        fastest,
        ..
    } = reference_sums(&crowd, GRAVITY, crowd.accelerations());
    let is_open = |row: &Row| row.spring.overlap < 0.0 && row.impulse.normal <= 0.0;
    // What the crowd declares is a bound for the speeds that came true, and every
    // pair may declare its own: groups then sleep for different times. Twice
    // the speeds at the ends of substeps leaves room for those within a sweep.
    let movable = crowd.movable as u32;
    for row in &mut crowd.rows {
        let [a, b] = row.contact.bodies;
        if b < movable {
            let speed = fastest[a as usize] + fastest[b as usize];
            assert!(speed < CLOSING, "a pair may close at {speed} m/s");
            row.closing = 2.0 * speed;
        }
    }
    let (own, _) = block_substeps(&crowd, Instructions::detect(), 2);
    assert_close(&reference, &own);
    let mut never = reference.clone();
    for closing in [f64::INFINITY, 10.0, CLOSING, 0.0] {
        for row in &mut crowd.rows {
            if row.contact.bodies[1] < movable {
                row.closing = closing;
            }
        }
        let (outcome, _) = block_substeps(&crowd, Instructions::detect(), 2);
        if closing > 0.0 {
            assert_close(&reference, &outcome);
        } else {
            never = outcome;
        }
    }
    // With speeds that promise that no gap ever closes, none does in groups that sleep:
    // those without a contact that touches, a wall or a contact of the general form.
    let sleeps = |row: &Row| is_open(row) && row.closing == 0.0 && row.contact.form == Form::Radial;
    let groups = crowd.plan.groups.windows(2);
    let members = groups.map(|ends| ends[0] as usize..ends[1] as usize);
    let asleep: Vec<usize> = members
        .filter(|members| crowd.rows[members.clone()].iter().all(sleeps))
        .flatten()
        .collect();
    let closed = |outcome: &Outcome| {
        let impulses = asleep.iter().map(|&i| &outcome.1[i]);
        impulses.filter(|p| p.normal > 0.0).count()
    };
    assert!(closed(&reference) > 100);
    assert_eq!(closed(&never), 0);
    // A look every other substep finds them nevertheless.
    let (watched, _) = block_substeps_with(&crowd, Instructions::detect(), 2, 2.0);
    assert!(10 * closed(&watched) > 9 * closed(&reference));
}

#[test]
fn substeps_give_the_same_bits_on_any_thread_count_and_instruction_set() {
    let crowd = crowd::crowd(12, true);
    let widest = Instructions::detect();
    let (reference, residual) = block_substeps(&crowd, widest, 1);
    for threads in [2, 3, 4, 7, 16] {
        let (outcome, other) = block_substeps(&crowd, widest, threads);
        assert!(reference == outcome, "{threads} threads");
        assert_eq!(residual.to_bits(), other.to_bits());
    }
    for instructions in Instructions::available() {
        let (outcome, _) = block_substeps(&crowd, instructions, 2);
        assert!(reference == outcome, "{instructions:?}");
    }
}

#[test]
fn vector_whole_step_sweeps_equal_the_scalar_reference() {
    for rolls in [false, true] {
        let crowd = crowd::crowd(9, rolls);
        let problem = ContactProblem {
            bodies: crowd.bodies.clone(),
            contacts: crowd.rows.iter().map(|r| r.contact).collect(),
            general: crowd.general.clone(),
            time: 0.5 * STEP,
            tangent_compliance: COMPLIANCE.friction,
            rolling_compliance: COMPLIANCE.rolling,
        };
        let mut impulses: Vec<_> = crowd.rows.iter().map(|r| r.impulse).collect();
        let mut bodies = Vec::new();
        let stop = Stop {
            min_sweeps: 0,
            sweeps: 30,
            tolerance: None,
        };
        let report = GaussSeidel::default().solve(&problem, &mut impulses, &mut bodies, stop);
        let reference = (bodies, impulses, 0);
        for (instructions, threads) in Instructions::available().into_iter().zip([1, 3, 2]) {
            let mut team = Team::new(threads);
            let mut sweeper = BlockSweeper::with_instructions(instructions);
            let mut impulses: Vec<_> = crowd.rows.iter().map(|r| r.impulse).collect();
            let mut bodies = Vec::new();
            let whole = WholeStepProblem {
                plan: &crowd.plan,
                laws: &crowd.laws,
                problem: &problem,
                stop,
            };
            let other = sweeper.solve(&mut team, whole, None, &mut impulses, &mut bodies);
            assert!((other.residual / report.residual - 1.0).abs() < 1e-9);
            assert_close(&reference, &(bodies, impulses, 0));
        }
    }
}
