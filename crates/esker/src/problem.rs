//! Contact problems in files, of our own layout or of FCLIB's.

use std::io::Read;
use std::path::{Path, PathBuf};

use esker_contact::{BodyOperator, ContactOperator};
use esker_record::fclib::{self, FclibError, FclibProblem};
use esker_record::problem_file::{PROBLEM_MAGIC, ProblemFileError, read_problem};

/// Why a contact problem cannot be had from a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is damaged, or of a newer version.
    #[error(transparent)]
    Ours(#[from] ProblemFileError),
    /// It is not in FCLIB's layout.
    #[error(transparent)]
    Fclib(#[from] FclibError),
    /// What it says cannot be solved.
    #[error(transparent)]
    Problem(#[from] esker_contact::ProblemError),
}

/// Reads a problem of either layout and hands it on in the form that keeps most of its
/// structure.
pub fn with_problem<T, E: From<ProblemError>>(
    path: &Path,
    work: impl FnOnce(&dyn ContactOperator) -> Result<T, E>,
) -> Result<T, E> {
    let mut start = [0; 8];
    let read = std::fs::File::open(path)
        .and_then(|mut file| file.read(&mut start))
        .map_err(|source| ProblemError::File {
            path: path.to_owned(),
            source,
        })?;
    if &start[..read] == PROBLEM_MAGIC {
        let problem = read_problem(path).map_err(ProblemError::from)?;
        return work(&BodyOperator::new(&problem).map_err(ProblemError::from)?);
    }
    match fclib::read(path).map_err(ProblemError::from)? {
        FclibProblem::Local(problem) => work(&problem),
        FclibProblem::Global(problem) => work(&problem.reduce().map_err(ProblemError::from)?),
    }
}
