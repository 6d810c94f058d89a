//! The experiments, one file each.

pub mod column;
pub mod drum;
pub mod pile;
pub mod silo;
pub mod verification;
