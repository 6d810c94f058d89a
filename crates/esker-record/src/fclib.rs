//! One-step contact problems in the HDF5 layout of FCLIB, the frictional
//! contact library.
//!
//! ```text
//! /fclib_local/spacedim
//! /fclib_local/W/{nzmax,m,n,nz,p,i,x}
//! /fclib_local/vectors/{q[m], mu[contacts]}
//! /fclib_global/{spacedim, M/, H/, vectors/{f[n], w[m], mu[contacts]}}
//! ```
//!
//! Integers are 32 bit, numbers 64 bit, scalars have shape (1,), indices count
//! from 0 and a contact's rows are N, T1, T2 (N, T in two dimensions). A matrix is
//! a list of triplets (`nz ≥ 0`, of length `nz`: `i` row, `p` column), compressed
//! columns (`nz = −1`) or compressed rows (`nz = −2`). `M` may hold one triangle
//! only. Stored solutions and guesses are not read.

use esker_contact::{AssembledProblem, ConeLimits, GlobalProblem, ProblemError, SparseMatrix};
use rust_hdf5::{H5File, H5Group, Hdf5Error};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A problem as a file stores it.
#[derive(Clone, Debug, PartialEq)]
pub enum FclibProblem {
    /// `u = W r + q`.
    Local(AssembledProblem),
    /// `M v = H r + f`, `u = Hᵀ v + w`.
    Global(GlobalProblem),
}

/// Why a problem file cannot be read or written.
#[derive(Debug, Error)]
pub enum FclibError {
    /// The file or one of its datasets cannot be accessed.
    #[error("{path}: {what}: {source}")]
    Hdf5 {
        /// The file.
        path: PathBuf,
        /// What was wanted of it.
        what: String,
        /// The library's own words.
        source: Box<Hdf5Error>,
    },
    /// The file has neither a local nor a global problem.
    #[error("{path}: neither /fclib_local nor /fclib_global is there: not an FCLIB problem file")]
    NoProblem {
        /// The file.
        path: PathBuf,
    },
    /// The layout is there, its contents are not sound.
    #[error("{path}: {what}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The parts do not make a contact problem.
    #[error("{path}: {source}")]
    Problem {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        source: ProblemError,
    },
}

impl FclibProblem {
    /// The problem in the local form; the global form is reduced.
    ///
    /// # Errors
    /// When the mass matrix cannot be eliminated.
    pub fn into_assembled(self) -> Result<AssembledProblem, ProblemError> {
        match self {
            FclibProblem::Local(problem) => Ok(problem),
            FclibProblem::Global(problem) => problem.reduce(),
        }
    }
}

/// Reads a problem file, local or global.
///
/// # Errors
/// When the file is missing, is not an FCLIB problem, or is inconsistent.
pub fn read(path: &Path) -> Result<FclibProblem, FclibError> {
    let reader = Reader::open(path)?;
    let names = reader.file.dataset_names();
    let has = |root: &str| {
        names.iter().any(|name| {
            name.trim_start_matches('/')
                .starts_with(&format!("{root}/"))
        })
    };
    if has("fclib_local") {
        let block = reader.space_dimension("fclib_local")?;
        let matrix = reader.matrix("fclib_local/W")?;
        let offset = reader.numbers("fclib_local/vectors/q")?;
        let limits = reader.limits("fclib_local/vectors/mu")?;
        AssembledProblem::from_sparse(block, &matrix, offset, limits)
            .map(FclibProblem::Local)
            .map_err(|source| reader.problem(source))
    } else if has("fclib_global") {
        Ok(FclibProblem::Global(GlobalProblem {
            block: reader.space_dimension("fclib_global")?,
            mass: reader.matrix("fclib_global/M")?.with_both_triangles(),
            transfer: reader.matrix("fclib_global/H")?,
            force: reader.numbers("fclib_global/vectors/f")?,
            offset: reader.numbers("fclib_global/vectors/w")?,
            limits: reader.limits("fclib_global/vectors/mu")?,
        }))
    } else {
        Err(FclibError::NoProblem {
            path: path.to_path_buf(),
        })
    }
}

/// Reads a problem file and brings it into the local form.
///
/// # Errors
/// As [`read`], and when the mass matrix cannot be eliminated.
pub fn read_assembled(path: &Path) -> Result<AssembledProblem, FclibError> {
    read(path)?
        .into_assembled()
        .map_err(|source| FclibError::Problem {
            path: path.to_path_buf(),
            source,
        })
}

/// Writes a problem file. FCLIB knows two or three rows per contact and one
/// friction coefficient; anything else is refused.
///
/// # Errors
/// When the problem has rolling rows or the file cannot be written.
pub fn write(path: &Path, problem: &FclibProblem) -> Result<(), FclibError> {
    let (block, limits) = match problem {
        FclibProblem::Local(p) => (p.block, &p.limits),
        FclibProblem::Global(p) => (p.block, &p.limits),
    };
    if !(2..=3).contains(&block) {
        return Err(FclibError::Malformed {
            path: path.to_path_buf(),
            what: format!("{block} rows per contact cannot be stored, only 2 or 3"),
        });
    }
    let fail = |source| FclibError::Hdf5 {
        path: path.to_path_buf(),
        what: "writing".to_string(),
        source: Box::new(source),
    };
    let mu: Vec<f64> = limits.iter().map(|l| l.friction).collect();
    let body = || -> Result<(), Hdf5Error> {
        let file = H5File::create(path)?;
        let root = match problem {
            FclibProblem::Local(local) => {
                let root = file.create_group("fclib_local")?;
                write_matrix(&root, "W", &local.to_sparse())?;
                let vectors = root.create_group("vectors")?;
                write_numbers(&vectors, "q", &local.offset)?;
                write_numbers(&vectors, "mu", &mu)?;
                root
            }
            FclibProblem::Global(global) => {
                let root = file.create_group("fclib_global")?;
                write_matrix(&root, "M", &global.mass)?;
                write_matrix(&root, "H", &global.transfer)?;
                let vectors = root.create_group("vectors")?;
                write_numbers(&vectors, "f", &global.force)?;
                write_numbers(&vectors, "w", &global.offset)?;
                write_numbers(&vectors, "mu", &mu)?;
                root
            }
        };
        write_integers(&root, "spacedim", &[block as i32])?;
        file.close()
    };
    body().map_err(fail)
}

fn write_numbers(group: &H5Group, name: &str, values: &[f64]) -> Result<(), Hdf5Error> {
    group
        .new_dataset::<f64>()
        .shape([values.len()])
        .create(name)?
        .write_raw(values)
}

fn write_integers(group: &H5Group, name: &str, values: &[i32]) -> Result<(), Hdf5Error> {
    group
        .new_dataset::<i32>()
        .shape([values.len()])
        .create(name)?
        .write_raw(values)
}

fn write_matrix(root: &H5Group, name: &str, matrix: &SparseMatrix) -> Result<(), Hdf5Error> {
    let triplets = matrix.triplets();
    let group = root.create_group(name)?;
    let count = triplets.len() as i32;
    for (name, value) in [
        ("nzmax", count),
        ("m", matrix.rows as i32),
        ("n", matrix.columns as i32),
        ("nz", count),
    ] {
        write_integers(&group, name, &[value])?;
    }
    let column = |of: fn(&(usize, usize, f64)) -> i32| triplets.iter().map(of).collect::<Vec<_>>();
    write_integers(&group, "p", &column(|t| t.1 as i32))?;
    write_integers(&group, "i", &column(|t| t.0 as i32))?;
    let values: Vec<f64> = triplets.iter().map(|t| t.2).collect();
    write_numbers(&group, "x", &values)
}

struct Reader<'a> {
    path: &'a Path,
    file: H5File,
}

impl<'a> Reader<'a> {
    fn open(path: &'a Path) -> Result<Self, FclibError> {
        let file = H5File::open(path).map_err(|source| FclibError::Hdf5 {
            path: path.to_path_buf(),
            what: "opening".to_string(),
            source: Box::new(source),
        })?;
        Ok(Reader { path, file })
    }

    fn malformed(&self, what: String) -> FclibError {
        FclibError::Malformed {
            path: self.path.to_path_buf(),
            what,
        }
    }

    fn problem(&self, source: ProblemError) -> FclibError {
        FclibError::Problem {
            path: self.path.to_path_buf(),
            source,
        }
    }

    fn hdf5(&self, name: &str, source: Hdf5Error) -> FclibError {
        FclibError::Hdf5 {
            path: self.path.to_path_buf(),
            what: format!("dataset {name}"),
            source: Box::new(source),
        }
    }

    fn numbers(&self, name: &str) -> Result<Vec<f64>, FclibError> {
        self.file
            .dataset(name)
            .and_then(|dataset| dataset.read_raw::<f64>())
            .map_err(|source| self.hdf5(name, source))
    }

    fn integers(&self, name: &str) -> Result<Vec<i32>, FclibError> {
        self.file
            .dataset(name)
            .and_then(|dataset| dataset.read_raw::<i32>())
            .map_err(|source| self.hdf5(name, source))
    }

    fn integer(&self, name: &str) -> Result<i32, FclibError> {
        match self.integers(name)?[..] {
            [value] => Ok(value),
            ref other => Err(self.malformed(format!(
                "{name} has {} entries where one is expected",
                other.len()
            ))),
        }
    }

    fn size(&self, name: &str) -> Result<usize, FclibError> {
        let value = self.integer(name)?;
        usize::try_from(value).map_err(|_| self.malformed(format!("{name} is {value}, below zero")))
    }

    fn space_dimension(&self, root: &str) -> Result<usize, FclibError> {
        match self.integer(&format!("{root}/spacedim"))? {
            dimension @ (2 | 3) => Ok(dimension as usize),
            other => Err(self.malformed(format!("spacedim is {other}; 2 and 3 are possible"))),
        }
    }

    fn limits(&self, name: &str) -> Result<Vec<ConeLimits>, FclibError> {
        Ok(self
            .numbers(name)?
            .into_iter()
            .map(ConeLimits::coulomb)
            .collect())
    }

    fn matrix(&self, group: &str) -> Result<SparseMatrix, FclibError> {
        let (rows, columns) = (
            self.size(&format!("{group}/m"))?,
            self.size(&format!("{group}/n"))?,
        );
        let nz = self.integer(&format!("{group}/nz"))?;
        let p = self.integers(&format!("{group}/p"))?;
        let i = self.integers(&format!("{group}/i"))?;
        let x = self.numbers(&format!("{group}/x"))?;
        let triplets: Vec<(i64, i64, f64)> = match nz {
            -1 | -2 => {
                let lines = if nz == -1 { columns } else { rows };
                let mut triplets = Vec::with_capacity(x.len());
                if p.len() <= lines {
                    return Err(self.malformed(format!("{group}/p is too short")));
                }
                for line in 0..lines {
                    for k in p[line]..p[line + 1] {
                        let at = usize::try_from(k)
                            .ok()
                            .filter(|&k| k < i.len().min(x.len()));
                        let at = at.ok_or_else(|| {
                            self.malformed(format!("{group}/p points outside i and x"))
                        })?;
                        let (line, other) = (line as i64, i64::from(i[at]));
                        triplets.push(if nz == -1 {
                            (other, line, x[at])
                        } else {
                            (line, other, x[at])
                        });
                    }
                }
                triplets
            }
            count if count >= 0 => {
                let count = count as usize;
                if count > i.len().min(p.len()).min(x.len()) {
                    return Err(self.malformed(format!("{group} has fewer entries than nz says")));
                }
                (0..count)
                    .map(|k| (i64::from(i[k]), i64::from(p[k]), x[k]))
                    .collect()
            }
            other => return Err(self.malformed(format!("{group}/nz is {other}"))),
        };
        let inside = |v: i64, limit: usize| usize::try_from(v).ok().filter(|&v| v < limit);
        let checked: Option<Vec<_>> = triplets
            .into_iter()
            .map(|(i, j, v)| Some((inside(i, rows)?, inside(j, columns)?, v)))
            .collect();
        checked
            .map(|triplets| SparseMatrix::from_triplets(rows, columns, &triplets))
            .ok_or_else(|| self.malformed(format!("{group} has an index outside its size")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("esker-fclib-{}-{name}", std::process::id()))
    }

    #[test]
    fn local_and_global_problems_survive_a_file() {
        let matrix = SparseMatrix::from_triplets(
            6,
            6,
            &[
                (0, 0, 2.0),
                (1, 1, 3.0),
                (0, 4, -1.0),
                (4, 0, -1.0),
                (5, 5, 0.5),
            ],
        );
        let local = FclibProblem::Local(
            AssembledProblem::from_sparse(
                3,
                &matrix,
                vec![1.0, -2.0, 3.5, 0.0, 0.25, -1e-9],
                vec![ConeLimits::coulomb(0.3), ConeLimits::coulomb(0.7)],
            )
            .expect("valid"),
        );
        let global = FclibProblem::Global(GlobalProblem {
            block: 2,
            mass: SparseMatrix::from_triplets(2, 2, &[(0, 0, 2.0), (1, 1, 4.0)]),
            transfer: SparseMatrix::from_triplets(2, 2, &[(0, 0, 1.0), (1, 1, -1.0)]),
            force: vec![0.5, -0.5],
            offset: vec![1.0, 2.0],
            limits: vec![ConeLimits::coulomb(0.4)],
        });
        for (name, problem) in [("local", local), ("global", global)] {
            let path = scratch(name);
            write(&path, &problem).expect("written");
            let back = read(&path).expect("read");
            std::fs::remove_file(&path).ok();
            assert_eq!(back, problem);
        }
    }

    #[test]
    fn rolling_rows_are_refused_instead_of_dropped() {
        let problem = FclibProblem::Local(AssembledProblem {
            block: 6,
            ..Default::default()
        });
        assert!(write(&scratch("rolling"), &problem).is_err());
    }

    #[test]
    fn a_file_that_is_no_problem_is_refused() {
        let path = scratch("text");
        std::fs::write(&path, "not HDF5").expect("written");
        let result = read(&path);
        std::fs::remove_file(&path).ok();
        assert!(matches!(result, Err(FclibError::Hdf5 { .. })));
    }
}
