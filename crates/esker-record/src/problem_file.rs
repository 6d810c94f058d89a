//! Contact problems of our own simulations in a file: the body form, exactly.
//!
//! ```text
//! offset  bytes  content
//!      0      8  "ESKERPRB"
//!      8      4  format version
//!     12      8  checksum of the payload (XXH3, 64 bit)
//!     20         payload: compliances, bodies, contacts
//! ```
//!
//! All numbers are little-endian, so that a problem read back is the problem
//! written, bit for bit.

use std::path::{Path, PathBuf};

use esker_contact::{BodyState, Contact, ContactProblem};
use thiserror::Error;
use xxhash_rust::xxh3::xxh3_64;

use crate::bytes::{Malformed, Plain, Source, put_list};

/// First bytes of a problem file.
pub const PROBLEM_MAGIC: &[u8; 8] = b"ESKERPRB";
/// Format 1 held compliances of friction and rolling in units.
const VERSION: u32 = 2;

/// Why a problem file cannot be read or written.
#[derive(Debug, Error)]
pub enum ProblemFileError {
    /// The file cannot be accessed.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file does not start like a problem file.
    #[error("{path}: not a problem file of Esker")]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A later program wrote the file.
    #[error("{path}: written in format {version}, but this program knows formats up to {VERSION}")]
    TooNew {
        /// The file.
        path: PathBuf,
        /// Its format.
        version: u32,
    },
    /// An earlier program wrote the file.
    #[error("{path}: written in format {version}, whose compliances had units; write it anew")]
    TooOld {
        /// The file.
        path: PathBuf,
        /// Its format.
        version: u32,
    },
    /// The contents are not what was written.
    #[error("{path}: the file is damaged or cut short")]
    Damaged {
        /// The file.
        path: PathBuf,
    },
}

impl Plain for BodyState {
    const SIZE: usize = 64;

    fn put(&self, out: &mut Vec<u8>) {
        self.velocity.put(out);
        self.inverse_mass.put(out);
        self.spin.put(out);
        self.inverse_inertia.put(out);
    }

    fn get(bytes: &[u8]) -> Self {
        BodyState {
            velocity: Plain::get(&bytes[..24]),
            inverse_mass: Plain::get(&bytes[24..32]),
            spin: Plain::get(&bytes[32..56]),
            inverse_inertia: Plain::get(&bytes[56..64]),
        }
    }
}

impl Plain for Contact {
    const SIZE: usize = 88;

    fn put(&self, out: &mut Vec<u8>) {
        self.bodies.iter().for_each(|b| b.put(out));
        self.normal.put(out);
        let numbers = [
            self.arms[0],
            self.arms[1],
            self.friction,
            self.rolling,
            self.twisting,
            self.compliance,
            self.target,
        ];
        numbers.iter().for_each(|x| x.put(out));
    }

    fn get(bytes: &[u8]) -> Self {
        let number = |i: usize| f64::get(&bytes[32 + 8 * i..40 + 8 * i]);
        Contact {
            bodies: [Plain::get(&bytes[..4]), Plain::get(&bytes[4..8])],
            normal: Plain::get(&bytes[8..32]),
            arms: [number(0), number(1)],
            friction: number(2),
            rolling: number(3),
            twisting: number(4),
            compliance: number(5),
            target: number(6),
        }
    }
}

/// The bytes of a problem file.
pub fn encode_problem(problem: &ContactProblem) -> Vec<u8> {
    let mut payload = Vec::new();
    problem.tangent_compliance.put(&mut payload);
    problem.rolling_compliance.put(&mut payload);
    put_list(&mut payload, problem.bodies.iter().copied());
    put_list(&mut payload, problem.contacts.iter().copied());
    let mut out = PROBLEM_MAGIC.to_vec();
    VERSION.put(&mut out);
    xxh3_64(&payload).put(&mut out);
    out.extend_from_slice(&payload);
    out
}

/// The problem in the bytes of a file; `path` is for messages.
///
/// # Errors
/// When the bytes are not an intact problem file.
pub fn decode_problem(bytes: &[u8], path: &Path) -> Result<ContactProblem, ProblemFileError> {
    let path = || path.to_path_buf();
    let mut source = Source::new(bytes);
    if source.take(PROBLEM_MAGIC.len()) != Ok(PROBLEM_MAGIC.as_slice()) {
        return Err(ProblemFileError::Foreign { path: path() });
    }
    let damaged = |_: Malformed| ProblemFileError::Damaged { path: path() };
    let version: u32 = source.get().map_err(damaged)?;
    if version > VERSION {
        return Err(ProblemFileError::TooNew {
            path: path(),
            version,
        });
    }
    if version < VERSION {
        return Err(ProblemFileError::TooOld {
            path: path(),
            version,
        });
    }
    let checksum: u64 = source.get().map_err(damaged)?;
    if bytes
        .get(20..)
        .is_none_or(|payload| xxh3_64(payload) != checksum)
    {
        return Err(damaged(Malformed));
    }
    let problem = ContactProblem {
        tangent_compliance: source.get().map_err(damaged)?,
        rolling_compliance: source.get().map_err(damaged)?,
        bodies: source.list().map_err(damaged)?,
        contacts: source.list().map_err(damaged)?,
    };
    source.end().map_err(damaged)?;
    Ok(problem)
}

/// Writes a problem file.
///
/// # Errors
/// When the file cannot be written.
pub fn write_problem(path: &Path, problem: &ContactProblem) -> Result<(), ProblemFileError> {
    std::fs::write(path, encode_problem(problem)).map_err(|source| ProblemFileError::Io {
        path: path.to_path_buf(),
        source,
    })
}

/// Reads a problem file.
///
/// # Errors
/// When the file cannot be read or is not an intact problem file.
pub fn read_problem(path: &Path) -> Result<ContactProblem, ProblemFileError> {
    let bytes = std::fs::read(path).map_err(|source| ProblemFileError::Io {
        path: path.to_path_buf(),
        source,
    })?;
    decode_problem(&bytes, path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DVec3;

    fn problem() -> ContactProblem {
        let body = BodyState {
            velocity: DVec3::new(0.1, -0.2, 0.3),
            inverse_mass: 2.0,
            spin: DVec3::new(1.0, f64::MIN_POSITIVE, -0.0),
            inverse_inertia: 7.0,
        };
        let contact = Contact {
            bodies: [0, 1],
            normal: DVec3::Z,
            arms: [0.1, 0.2],
            friction: 0.3,
            rolling: 0.4,
            twisting: 0.5,
            compliance: 0.6,
            target: -0.7,
        };
        ContactProblem {
            bodies: vec![body, BodyState::default()],
            contacts: vec![contact],
            tangent_compliance: 1e-4,
            rolling_compliance: 2e-4,
        }
    }

    #[test]
    fn a_problem_comes_back_bit_for_bit() {
        let bytes = encode_problem(&problem());
        let back = decode_problem(&bytes, Path::new("p")).unwrap();
        assert_eq!(encode_problem(&back), bytes);
        assert_eq!(back.contacts, problem().contacts);
        assert_eq!(back.bodies, problem().bodies);
    }

    #[test]
    fn a_cut_or_changed_file_is_refused_at_every_byte() {
        let bytes = encode_problem(&problem());
        for length in 0..bytes.len() {
            assert!(decode_problem(&bytes[..length], Path::new("p")).is_err());
        }
        for i in 0..bytes.len() {
            let mut wrong = bytes.clone();
            wrong[i] ^= 0x10;
            assert!(decode_problem(&wrong, Path::new("p")).is_err(), "byte {i}");
        }
    }
}
