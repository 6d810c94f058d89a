//! Solvers of the contact problem, one file per method.
//!
//! [`sweep`] and [`substep`] are the reference: one contact after another, as
//! simple as they can be. [`block_sweep`] does the same on lanes and threads,
//! in the order of a [`plan`], from contacts that are [`packed`] for it.

pub mod block_sweep;
mod kernel;
pub mod lanes;
pub mod packed;
pub mod plan;
pub mod substep;
pub mod sweep;
