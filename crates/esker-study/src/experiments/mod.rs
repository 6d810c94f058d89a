//! The experiments, one file each.

pub mod column;
pub mod verification;
