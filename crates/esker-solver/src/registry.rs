//! All methods by name. A new method is one file and one line here.

use crate::report::{SolveReport, Stopping};
use crate::{
    ContactSolver, accelerated_gradient, anderson, auto, direct, gauss_seidel, interior_point,
    jacobi, newton, quasi_newton,
};
use esker_contact::ContactOperator;
use thiserror::Error;

/// One line of the registry.
#[derive(Clone, Copy)]
pub struct Entry {
    /// The name users write.
    pub name: &'static str,
    /// What it is for, in one line.
    pub summary: &'static str,
    /// Makes the method with its default parameters.
    pub build: fn() -> Box<dyn ContactSolver>,
}

/// No method has this name.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("there is no solver {name:?}; did you mean {nearest:?}? Known: {known}")]
pub struct UnknownSolver {
    /// The name asked for.
    pub name: String,
    /// The most similar name there is.
    pub nearest: &'static str,
    /// All names.
    pub known: String,
}

/// All methods, in the order in which tables list them.
pub fn registry() -> Vec<Entry> {
    macro_rules! entry {
        ($name:literal, $summary:literal, $build:expr) => {
            Entry {
                name: $name,
                summary: $summary,
                build: || Box::new($build),
            }
        };
    }
    vec![
        entry!(
            "auto",
            "chooses, watches and switches; what to use",
            auto::Auto::default()
        ),
        entry!(
            "gauss-seidel",
            "projected block Gauss–Seidel, exact local solutions",
            gauss_seidel::GaussSeidel::default()
        ),
        entry!(
            "jacobi",
            "projected Jacobi, the baseline",
            jacobi::Jacobi::default()
        ),
        entry!(
            "accelerated-gradient",
            "Nesterov's projected gradient, best for rough accuracy of the associated law",
            accelerated_gradient::AcceleratedGradient::default()
        ),
        entry!(
            "interior-point",
            "interior point with sparse Cholesky, best for tight accuracy of the associated law",
            interior_point::InteriorPoint::default()
        ),
        entry!(
            "interior-point-cg",
            "interior point without matrices",
            interior_point::InteriorPoint {
                linear: interior_point::InteriorLinear::ConjugateGradient { tolerance: 1e-7 },
                ..Default::default()
            }
        ),
        entry!(
            "newton",
            "semismooth Newton in a proximal-point loop, for tight accuracy",
            newton::Newton::default()
        ),
        entry!(
            "quasi-newton",
            "projected quasi-Newton with GMRES on the smoothed equations",
            quasi_newton::QuasiNewton::default()
        ),
        entry!(
            "anderson",
            "Anderson-accelerated Gauss–Seidel, tight accuracy without factorisations",
            anderson::Anderson::default()
        ),
        entry!(
            "direct",
            "pivoting over contact states, the reference for small problems",
            direct::Direct::default()
        ),
    ]
}

/// The method of a name, with its default parameters; hyphens may be
/// underscores.
///
/// # Errors
/// When there is none; the error names the nearest.
pub fn by_name(name: &str) -> Result<Box<dyn ContactSolver>, UnknownSolver> {
    let entries = registry();
    let spelt = name.replace('_', "-");
    match entries.iter().find(|e| e.name == spelt) {
        Some(entry) => Ok((entry.build)()),
        None => Err(UnknownSolver {
            name: name.to_string(),
            nearest: entries
                .iter()
                .min_by_key(|e| edit_distance(e.name, name))
                .map_or("auto", |e| e.name),
            known: entries
                .iter()
                .map(|e| e.name)
                .collect::<Vec<_>>()
                .join(", "),
        }),
    }
}

/// Solves with the method of a name.
///
/// # Errors
/// When there is no such method.
pub fn solve_by_name(
    name: &str,
    problem: &dyn ContactOperator,
    lambda: &mut [f64],
    stop: &Stopping,
) -> Result<SolveReport, UnknownSolver> {
    Ok(by_name(name)?.solve(problem, lambda, stop))
}

/// Runs methods on one problem, each from zero impulses: the rows of a
/// comparison table, in the order given.
///
/// # Errors
/// When a name is unknown.
pub fn compare(
    names: &[&str],
    problem: &dyn ContactOperator,
    stop: &Stopping,
) -> Result<Vec<SolveReport>, UnknownSolver> {
    names
        .iter()
        .map(|name| solve_by_name(name, problem, &mut vec![0.0; problem.rows()], stop))
        .collect()
}

/// Edits that turn one name into another (Levenshtein's distance).
pub fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_gets_the_nearest_one() {
        let error = by_name("gaus_seidl").err().expect("unknown");
        assert_eq!(error.nearest, "gauss-seidel");
        assert!(by_name("gauss_seidel").is_ok());
    }

    #[test]
    fn names_in_the_registry_are_the_names_of_the_methods() {
        for entry in registry() {
            assert_eq!((entry.build)().name(), entry.name);
        }
    }
}
