//! All methods solve the same problems to the same answers.

mod common;

use common::{SI, Units, dense, heap};
use esker_contact::{BodyOperator, ContactOperator, FrictionLaw, Measure};
use esker_solver::{SolveReport, Status, Stopping, registry, solve_by_name};

fn names() -> Vec<&'static str> {
    registry().iter().map(|e| e.name).collect()
}

fn velocity(problem: &dyn ContactOperator, lambda: &[f64]) -> Vec<f64> {
    let mut u = vec![0.0; problem.rows()];
    problem.product(lambda, &mut u);
    u.iter().zip(problem.offset()).map(|(u, q)| u + q).collect()
}

fn farthest(a: &[f64], b: &[f64]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(x, y)| (x - y).abs())
        .fold(0.0, f64::max)
}

fn solve(name: &str, problem: &dyn ContactOperator, stop: &Stopping) -> (Vec<f64>, SolveReport) {
    let mut lambda = vec![0.0; problem.rows()];
    let report = solve_by_name(name, problem, &mut lambda, stop).expect("a known name");
    (lambda, report)
}

/// Small problems of every block size, in both forms.
fn small_problems(check: &mut dyn FnMut(&str, &dyn ContactOperator)) {
    for (block, key) in [(1, 5), (2, 11), (3, 21), (3, 22), (6, 31)] {
        check(
            &format!("dense, {block} rows, key {key}"),
            &dense(6, block, key),
        );
    }
    for rolling in [false, true] {
        let problem = heap(5, rolling, 7, SI);
        let operator = BodyOperator::new(&problem).expect("valid");
        check(&format!("heap, rolling {rolling}"), &operator);
    }
}

#[test]
fn every_solver_finds_the_velocities_of_the_direct_reference_for_the_associated_law() {
    let stop = Stopping {
        law: FrictionLaw::Associated,
        tolerance: 1e-10,
        iterations: 200_000,
        ..Default::default()
    };
    small_problems(&mut |title, problem| {
        let (reference, report) = solve("direct", problem, &stop);
        assert_eq!(
            report.status,
            Status::Converged,
            "{title}: {:?}",
            report.notes
        );
        let exact = velocity(problem, &reference);
        for name in names() {
            let (lambda, report) = solve(name, problem, &stop);
            let error = farthest(&velocity(problem, &lambda), &exact);
            assert!(
                error < 1e-8,
                "{title}, {name}: velocities differ by {error:.1e}, {:?}, residual {:.1e}",
                report.status,
                report.residuals.natural_map
            );
        }
    });
}

#[test]
fn every_solver_solves_coulombs_law_to_1e_minus_8() {
    let stop = Stopping {
        tolerance: 1e-8,
        iterations: 200_000,
        ..Default::default()
    };
    small_problems(&mut |title, problem| {
        for name in names() {
            let (_, report) = solve(name, problem, &stop);
            assert!(
                report.residuals.natural_map <= 1e-8 && report.status == Status::Converged,
                "{title}, {name}: {:?}, residual {:.1e}, {:?}",
                report.status,
                report.residuals.natural_map,
                report.notes
            );
        }
    });
}

#[test]
fn solvers_agree_pairwise_on_a_larger_heap() {
    let problem = heap(30, false, 3, SI);
    let operator = BodyOperator::new(&problem).expect("valid");
    let stop = Stopping {
        law: FrictionLaw::Associated,
        measure: Measure::Scaled,
        tolerance: 1e-9,
        iterations: 200_000,
        seconds: None,
    };
    let answers: Vec<(&str, Vec<f64>)> = names()
        .into_iter()
        .filter(|name| !["direct", "jacobi"].contains(name))
        .map(|name| (name, velocity(&operator, &solve(name, &operator, &stop).0)))
        .collect();
    for (name, u) in &answers {
        for (other, v) in &answers {
            let error = farthest(u, v);
            assert!(error < 1e-6, "{name} and {other} differ by {error:.1e} m/s");
        }
    }
}

/// Units do not change what a solver reaches with the same number of iterations.
/// They are powers of sixteen, so that every product, quotient and root is the
/// same but for its exponent: what differs by more than rounding (which inner
/// solves to a tolerance make larger) has a constant with a unit in it, or adds
/// up what has different ones.
#[test]
fn units_of_mass_length_and_time_do_not_change_the_quality_of_iterates() {
    let other_units = Units {
        mass: 256.0,
        length: 65536.0,
        time: 16.0,
    };
    let reach = |name: &str, units: Units| {
        let problem = heap(12, true, 9, units);
        let operator = BodyOperator::new(&problem).expect("valid");
        // Sixty interior point steps end in the midst of its Coulomb fixed point.
        let law = if name.starts_with("interior-point") {
            FrictionLaw::Associated
        } else {
            FrictionLaw::Coulomb
        };
        let stop = Stopping {
            law,
            measure: Measure::Scaled,
            tolerance: 1e-5,
            iterations: 60,
            ..Default::default()
        };
        let report = solve(name, &operator, &stop).1;
        // What is smaller is rounding.
        (report.residuals.scaled.max(1e-12), report.iterations)
    };
    for name in names() {
        let ((a, n), (b, m)) = (reach(name, SI), reach(name, other_units));
        // The last step of a fast method takes rounding for all there is.
        let done = a.max(b) <= 1e-5;
        let bound = if done { 0.7 } else { 1e-3 };
        assert!(
            n == m && (a / b).ln().abs() < bound,
            "{name}: {a:.6e} after {n} iterations in one set of units, {b:.6e} after {m} in another"
        );
    }
}

/// The direct reference is exact to rounding where Newton stopped at a tolerance.
#[test]
fn the_direct_reference_polishes_to_rounding() {
    let stop = Stopping {
        tolerance: 1e-6,
        ..Default::default()
    };
    let (_, report) = solve("direct", &dense(8, 3, 77), &stop);
    assert!(
        report.residuals.natural_map < 1e-13,
        "{:?}",
        report.residuals
    );
}
