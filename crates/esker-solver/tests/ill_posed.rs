//! Input that is no proper problem: defined behaviour, honest status, no panic.

mod common;

use common::{SI, dense, heap};
use esker_contact::{
    AssembledProblem, BodyOperator, ConeLimits, ContactOperator, FrictionLaw, SparseMatrix,
};
use esker_solver::{SolveReport, Status, Stopping, registry, solve_by_name};

fn each_solver(problem: &dyn ContactOperator, check: impl Fn(&str, &[f64], &SolveReport)) {
    for law in [FrictionLaw::Coulomb, FrictionLaw::Associated] {
        let stop = Stopping {
            law,
            tolerance: 1e-8,
            iterations: 2000,
            seconds: Some(1.0),
            ..Default::default()
        };
        for entry in registry() {
            let mut lambda = vec![0.0; problem.rows()];
            let report = solve_by_name(entry.name, problem, &mut lambda, &stop).expect("known");
            check(entry.name, &lambda, &report);
        }
    }
}

/// Converged is claimed exactly where the residual says so.
fn honest(name: &str, report: &SolveReport) {
    assert_eq!(
        report.status == Status::Converged,
        report.residuals.natural_map <= 1e-8,
        "{name}: {:?} at {:.1e}",
        report.status,
        report.residuals.natural_map
    );
}

#[test]
fn no_contacts_is_a_solved_problem() {
    each_solver(&dense(0, 3, 1), |name, _, report| {
        assert_eq!(report.status, Status::Converged, "{name}");
        assert_eq!(report.iterations, 0, "{name}");
    });
}

#[test]
fn not_a_number_is_refused_with_a_note() {
    let mut in_offset = dense(3, 3, 2);
    in_offset.offset[4] = f64::NAN;
    let mut in_matrix = dense(3, 3, 2);
    in_matrix.values[0] = f64::INFINITY;
    let mut in_limit = dense(3, 3, 2);
    in_limit.limits[1].friction = -0.5;
    for problem in [in_offset, in_matrix, in_limit] {
        each_solver(&problem, |name, lambda, report| {
            assert_eq!(report.status, Status::Failed, "{name}");
            assert!(!report.notes.is_empty(), "{name} must say why");
            assert!(
                lambda.iter().all(|v| *v == 0.0),
                "{name} must leave the start alone"
            );
        });
    }
}

#[test]
fn a_number_that_is_none_off_the_diagonal_ends_as_failed() {
    let mut problem = dense(3, 3, 2);
    let size = problem.block * problem.block;
    problem.values[size] = f64::NAN;
    each_solver(&problem, |name, _, report| {
        assert_ne!(report.status, Status::Converged, "{name}");
    });
}

#[test]
fn without_friction_only_normal_impulses_remain() {
    let mut problem = dense(6, 3, 3);
    problem.limits.fill(ConeLimits::coulomb(0.0));
    each_solver(&problem, |name, lambda, report| {
        honest(name, report);
        assert_eq!(
            report.status,
            Status::Converged,
            "{name}: {:.1e}",
            report.residuals.natural_map
        );
        for rows in lambda.chunks_exact(3) {
            assert!(rows[1].abs() < 1e-8 && rows[2].abs() < 1e-8, "{name}");
        }
    });
}

#[test]
fn an_indefinite_matrix_gets_an_honest_status() {
    let triplets: Vec<_> = (0..6)
        .map(|i| (i, i, if i == 4 { -0.5 } else { 1.0 }))
        .chain([(0, 3, 1.5), (3, 0, 1.5)])
        .collect();
    let problem = AssembledProblem::from_sparse(
        3,
        &SparseMatrix::from_triplets(6, 6, &triplets),
        vec![-1.0, 0.3, 0.2, -0.8, 0.4, -0.1],
        vec![ConeLimits::coulomb(0.5); 2],
    )
    .expect("sizes fit");
    each_solver(&problem, |name, lambda, report| {
        honest(name, report);
        assert!(lambda.iter().all(|v| v.is_finite()), "{name}");
    });
}

#[test]
fn rows_of_zeros_do_no_harm() {
    let mut problem = dense(4, 3, 4);
    let (contact, size) = (2, 9);
    for row in 0..4 {
        for k in problem.row_starts[row]..problem.row_starts[row + 1] {
            if row == contact || problem.columns[k] as usize == contact {
                problem.values[k * size..(k + 1) * size].fill(0.0);
            }
        }
    }
    // A contact that nothing can move, closing: no solution. And separating: λ = 0.
    for (normal, solvable) in [(-1.0, false), (1.0, true)] {
        problem.offset[contact * 3..contact * 3 + 3].copy_from_slice(&[normal, 0.0, 0.0]);
        each_solver(&problem, |name, lambda, report| {
            honest(name, report);
            assert!(lambda.iter().all(|v| v.is_finite()), "{name}");
            if solvable && name != "jacobi" {
                assert_eq!(
                    report.status,
                    Status::Converged,
                    "{name}: {:.1e}",
                    report.residuals.natural_map
                );
            }
        });
    }
}

#[test]
fn a_mass_ratio_of_a_million_is_solved_or_reported() {
    let mut problem = heap(8, false, 5, SI);
    problem.bodies[8].inverse_mass *= 1e-6;
    problem.bodies[8].inverse_inertia *= 1e-6;
    let operator = BodyOperator::new(&problem).expect("valid");
    each_solver(&operator, |name, lambda, report| {
        honest(name, report);
        assert!(lambda.iter().all(|v| v.is_finite()), "{name}");
        if ["auto", "newton"].contains(&name) {
            assert_eq!(
                report.status,
                Status::Converged,
                "{name}: {:?}",
                report.notes
            );
        }
    });
}

#[test]
fn a_vector_of_the_wrong_length_is_refused() {
    let problem = dense(3, 3, 6);
    for entry in registry() {
        let mut short = vec![0.0; 4];
        let report = (entry.build)().solve(&problem, &mut short, &Stopping::default());
        assert_eq!(report.status, Status::Failed, "{}", entry.name);
    }
}
