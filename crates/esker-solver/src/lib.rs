//! Solvers of the contact problem, one file per method.

pub mod substep;
pub mod sweep;
