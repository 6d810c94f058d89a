//! The contact problem: what a solver is given and what it returns.
//!
//! One step of a granular system asks for impulses `λ` such that
//!
//! ```text
//! u = W λ + q,   W = G M⁻¹ Gᵀ + Σ,                                  (1)
//! ```
//!
//! with `u` the relative velocity after the step and, per contact,
//! non-penetration and Coulomb friction:
//!
//! ```text
//! 0 ≤ p  ⟂  u_n + σ p − b_n ≥ 0,                                     (2)
//! |p_t| ≤ µ p,      p_t opposes slip when the bound is reached,      (3)
//! |p_r| ≤ µ_r r* p, |p_w| ≤ µ_w r* p   (rolling and twisting).       (4)
//! ```
//!
//! This crate knows bodies only as inverse masses and velocities: no shapes,
//! no time, no files. Sign convention: the normal points from body `a` to body
//! `b`, `u = v_b + ω_b × d_b − v_a − ω_a × d_a`, so `u_n > 0` separates.

#![allow(
    clippy::needless_range_loop,
    reason = "small dense blocks are clearest with their row and column indices"
)]
#![allow(
    clippy::neg_cmp_op_on_partial_ord,
    reason = "`!(x > 0)` is meant to catch not-a-number as well"
)]

mod assembled;
mod body_form;
mod body_residual;
pub mod cone;
mod energy_loss;
mod factored;
mod general;
mod global;
mod operator;
mod problem;
mod projection;
mod residual;
mod sparse;
mod spring;

pub use assembled::AssembledProblem;
pub use body_form::BodyOperator;
pub use body_residual::{ResidualSum, RowCompliance};
pub use cone::{ConeLimits, FrictionLaw};
pub use energy_loss::EnergyLoss;
pub use factored::{BodySpace, CoupledSide, FactoredOperator};
pub use general::{ContactRows, Form, GeneralContact, cross_matrix};
pub use global::GlobalProblem;
pub use operator::{ContactOperator, ProblemError, Sweeper, validate};
pub use problem::{BodyState, Contact, ContactProblem, Impulse};
pub use projection::{project_cone, project_disc};
pub use residual::{Judge, Measure, Mobility, Residuals, mobilities, residuals};
pub use sparse::SparseMatrix;
pub use spring::{
    CLOSING_OVERLAP, ContactState, Damping, Spring, SpringLaw, Stabilisation, highest_cap,
    raise_of_cap, single,
};
