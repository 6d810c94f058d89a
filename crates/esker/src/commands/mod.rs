//! The commands of `esker`, one file each.

pub mod bench;
pub mod check;
pub mod experiment;
pub mod run;
