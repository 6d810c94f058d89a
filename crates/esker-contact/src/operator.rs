//! The flat view of a contact problem that every general solver works on.
//!
//! ```text
//! u = W λ + q,                                                          (1)
//! ```
//!
//! with one block of [`block`](ContactOperator::block) rows per contact, in the
//! order normal, tangents, rolling, twisting (see [`crate::cone`]). Compliance is
//! part of `W`, target velocities are part of `q`. Solvers never ask which form
//! of the problem is behind the operator; those that can use the velocities of
//! bodies ask for [`ContactOperator::body_space`].

use crate::AssembledProblem;
use crate::cone::{ConeLimits, is_known_block};
use crate::factored::BodySpace;
use thiserror::Error;

/// A contact problem as a linear operator with cone limits.
pub trait ContactOperator {
    /// Number of contacts.
    fn contacts(&self) -> usize;

    /// Rows per contact: 1, 2, 3 or 6.
    fn block(&self) -> usize;

    /// Total number of rows.
    fn rows(&self) -> usize {
        self.contacts() * self.block()
    }

    /// Limits of the admissible set of a contact.
    fn limits(&self, contact: usize) -> ConeLimits;

    /// `q` of (1): relative velocities without contact impulses, less the targets.
    fn offset(&self) -> &[f64];

    /// `u ← W λ` (without `q`).
    fn product(&self, lambda: &[f64], u: &mut [f64]);

    /// Row-major diagonal block `W_cc` of a contact.
    fn diagonal_block(&self, contact: usize, out: &mut [f64]);

    /// A state that follows changes of single contacts, for Gauss–Seidel.
    fn sweeper<'a>(&'a self) -> Box<dyn Sweeper + 'a>;

    /// The same problem with `W` as a sparse matrix.
    fn assemble(&self) -> AssembledProblem;

    /// Factors `W = G M⁻¹ Gᵀ + Σ`, where the problem has bodies.
    fn body_space(&self) -> Option<BodySpace> {
        None
    }
}

/// Velocities that follow the impulses while contacts are changed one by one.
pub trait Sweeper {
    /// Starts from the given impulses.
    fn reset(&mut self, lambda: &[f64]);

    /// Velocity `u_c` of one contact for the present impulses.
    fn velocity(&self, contact: usize, u: &mut [f64]);

    /// Adds to the impulses of one contact.
    fn add(&mut self, contact: usize, delta: &[f64]);
}

/// Why a contact problem cannot be solved as it stands.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ProblemError {
    /// An array has the wrong length.
    #[error("{what} has {found} entries where {expected} are needed")]
    WrongLength {
        /// The array.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length that fits the rest of the problem.
        expected: usize,
    },
    /// A number is infinite or not a number.
    #[error("{what} of contact {contact} is not finite")]
    NotFinite {
        /// The quantity.
        what: &'static str,
        /// The contact, counted from 0.
        contact: usize,
    },
    /// A limit of a cone is negative.
    #[error("contact {contact} has a negative friction, rolling or twisting limit")]
    NegativeLimit {
        /// The contact, counted from 0.
        contact: usize,
    },
    /// The number of rows per contact is not 1, 2, 3 or 6.
    #[error("{block} rows per contact: 1, 2, 3 or 6 are possible")]
    UnknownBlock {
        /// The number found.
        block: usize,
    },
    /// An index points outside its matrix.
    #[error("{what} has an index outside its {limit} rows or columns")]
    IndexOutside {
        /// The matrix.
        what: &'static str,
        /// Its size.
        limit: usize,
    },
    /// A mass matrix cannot be inverted.
    #[error("the mass matrix is singular at degree of freedom {dof}")]
    SingularMass {
        /// The degree of freedom, counted from 0.
        dof: usize,
    },
    /// One connected part of a mass matrix is too large for the dense reduction.
    #[error("the mass matrix couples {size} degrees of freedom, more than {limit}")]
    MassTooCoupled {
        /// Degrees of freedom in the part.
        size: usize,
        /// The largest size that is reduced.
        limit: usize,
    },
}

/// Checks everything a solver relies on: sizes, finite numbers, limits ≥ 0.
///
/// # Errors
/// The first defect found. Indefinite `W` is not a defect: solvers have to
/// report honestly what they reached.
pub fn validate(problem: &dyn ContactOperator, lambda: &[f64]) -> Result<(), ProblemError> {
    let block = problem.block();
    if !is_known_block(block) {
        return Err(ProblemError::UnknownBlock { block });
    }
    for (what, found) in [
        ("the impulse vector", lambda.len()),
        ("the velocity offset", problem.offset().len()),
    ] {
        if found != problem.rows() {
            return Err(ProblemError::WrongLength {
                what,
                found,
                expected: problem.rows(),
            });
        }
    }
    let mut diagonal = vec![0.0; block * block];
    for contact in 0..problem.contacts() {
        let rows = contact * block..(contact + 1) * block;
        problem.diagonal_block(contact, &mut diagonal);
        let limits = problem.limits(contact);
        let limits = [limits.friction, limits.rolling, limits.twisting];
        for (what, values) in [
            ("the velocity offset", &problem.offset()[rows.clone()]),
            ("the starting impulse", &lambda[rows]),
            ("the diagonal of W", &diagonal[..]),
            ("a limit", &limits[..]),
        ] {
            if !values.iter().all(|v| v.is_finite()) {
                return Err(ProblemError::NotFinite { what, contact });
            }
        }
        if limits.iter().any(|&v| v < 0.0) {
            return Err(ProblemError::NegativeLimit { contact });
        }
    }
    Ok(())
}
