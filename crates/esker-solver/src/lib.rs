//! Solvers of the contact problem: one file per method, one meaning of converged.
//!
//! Every method implements [`ContactSolver`]: it is given a problem as a flat
//! operator, starts from the given impulses, and returns a [`SolveReport`] that says
//! honestly how it ended. [`registry()`] lists them by name.
//!
//! What steps of a world use is leaner: [`sweep`] and [`substep`] are the
//! reference, one contact after another; [`block_sweep`] does the same on lanes
//! and threads, in the order of a [`plan`], from contacts [`packed`] for it. A
//! [`backend`] is what a world hands the substeps of a step to.

#![allow(
    clippy::needless_range_loop,
    reason = "small dense blocks are clearest with their row and column indices"
)]
#![allow(
    clippy::neg_cmp_op_on_partial_ord,
    reason = "`!(x > 0)` is meant to catch not-a-number as well"
)]

pub mod accelerated_gradient;
pub mod anderson;
pub mod auto;
pub mod backend;
pub mod block_residual;
mod block_shares;
pub mod block_sweep;
mod body_pass;
pub mod cluster;
pub mod colouring;
mod contact_cones;
pub mod copies;
pub mod device;
pub mod direct;
pub mod energy_losses;
mod follow;
pub mod gauss_seidel;
mod general_kernel;
mod impact_changes;
mod impulse_sums;
pub mod interior_point;
pub mod jacobi;
pub mod jointed;
mod kernel;
pub mod lanes;
pub mod linear;
pub mod local;
pub mod newton;
pub mod newton_system;
pub mod nonsmooth_map;
pub mod packed;
mod packer;
pub mod plan;
pub mod proximal;
pub mod quasi_newton;
pub mod random;
pub mod registry;
mod report;
mod row_kernel;
mod scaling;
pub mod smoothed_polar;
pub mod soc;
pub mod substep;
pub mod sweep;

pub use registry::{Entry, UnknownSolver, by_name, compare, registry, solve_by_name};
pub use report::{Monitor, Progress, SolveReport, Status, Stopping};

use esker_contact::ContactOperator;

/// A method that solves contact problems.
pub trait ContactSolver {
    /// Its name in the registry.
    fn name(&self) -> &'static str;

    /// Improves `lambda` until the request is met or cannot be met.
    ///
    /// Never panics on what a problem contains: input that is not a problem
    /// ends with [`Status::Failed`] and a note.
    fn solve(
        &self,
        problem: &dyn ContactOperator,
        lambda: &mut [f64],
        stop: &Stopping,
    ) -> SolveReport;
}
