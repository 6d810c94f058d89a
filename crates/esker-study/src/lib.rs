//! Experiments of the literature, run and judged; cost formulas; reports.
//!
//! An [`Experiment`] is a list of independent cases and a judgement of their
//! results. The [`runner`] runs the cases that have no stored result yet, so
//! that an interrupted study resumes where it was; [`report`] writes what came
//! out as HTML and JSON, and [`pages`] as pages of the book.
//!
//! ```no_run
//! use esker_study::{Size, registry, runner};
//!
//! let experiment = registry::find("column").expect("it is in the registry");
//! let options = runner::Options::new("results".into(), Size::Reduced);
//! let finished = runner::run(experiment, &options, &|_| {})?;
//! println!("{}", finished.judgement().name());
//! # Ok::<(), esker_study::StudyError>(())
//! ```

mod bench;
pub mod bibliography;
mod convergence;
mod criterion;
mod experiment;
pub mod experiments;
mod frame;
pub mod grain_forms;
mod machine;
mod measured;
pub mod observe;
pub mod pages;
pub mod registry;
pub mod report;
mod results;
pub mod runner;

pub use bench::DeviceSource;
pub use criterion::{Criterion, Judgement, KnownDifference, Reported, Status};
pub use experiment::{About, Case, Experiment, Figure, Frame, Outcome, Size, Table};
pub use results::{Results, StudyError};
