//! A run: its simulation, and what it leaves behind.

mod balance;
mod folder;
mod output;
mod probes;
mod reduction_summary;
mod simulation;
mod summary;
mod totals;
mod verdict;

pub use simulation::{Simulation, Until};
pub use summary::{SUMMARY_FILE_NAME, Summary, duration};
pub use verdict::{Finding, Grade, Verdict};
