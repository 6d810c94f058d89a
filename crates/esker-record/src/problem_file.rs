//! Contact problems of our own simulations in a file: the body form, exactly.
//!
//! ```text
//! offset  bytes  content
//!      0      8  "ESKERPRB"
//!      8      4  format version
//!     12      8  checksum of the payload (XXH3, 64 bit)
//!     20         payload: compliances, bodies, contacts; from format 3 on the time of
//!                general contacts, the form of every contact, general contacts
//! ```
//!
//! All numbers are little-endian, so that a problem read back is the problem
//! written, bit for bit.

use std::path::{Path, PathBuf};

use esker_contact::{BodyState, Contact, ContactProblem, Form, GeneralContact};
use glam::{DMat3, DVec3};
use thiserror::Error;
use xxhash_rust::xxh3::xxh3_64;

use crate::bytes::{Malformed, Plain, Source, put_list};

/// First bytes of a problem file.
pub const PROBLEM_MAGIC: &[u8; 8] = b"ESKERPRB";
/// Format 1 held compliances of friction and rolling in units, format 2 contacts of
/// the radial form alone, format 3 no locked axes.
const VERSION: u32 = 4;
const OLDEST_VERSION: u32 = 2;

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
        self.angular_velocity.put(out);
        self.inverse_inertia.put(out);
    }

    fn get(bytes: &[u8]) -> Self {
        BodyState {
            velocity: Plain::get(&bytes[..24]),
            inverse_mass: Plain::get(&bytes[24..32]),
            angular_velocity: Plain::get(&bytes[32..56]),
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
            form: Form::Radial,
            friction: number(2),
            rolling: number(3),
            twisting: number(4),
            compliance: number(5),
            target: number(6),
        }
    }
}

impl Plain for GeneralContact {
    const SIZE: usize = GeneralOfFormat3::SIZE + 2 * DVec3::SIZE;

    fn put(&self, out: &mut Vec<u8>) {
        GeneralOfFormat3(*self).put(out);
        self.free.iter().for_each(|free| free.put(out));
    }

    fn get(bytes: &[u8]) -> Self {
        let (rest, free) = bytes.split_at(GeneralOfFormat3::SIZE);
        let (a, b) = free.split_at(DVec3::SIZE);
        GeneralContact {
            free: [DVec3::get(a), DVec3::get(b)],
            ..GeneralOfFormat3::get(rest).0
        }
    }
}

/// Without locked axes.
struct GeneralOfFormat3(GeneralContact);

impl Plain for GeneralOfFormat3 {
    const SIZE: usize = 8 * (4 * 9 + 3);

    fn put(&self, out: &mut Vec<u8>) {
        let matrices = self.0.angular.iter().chain(&self.0.angular_velocity);
        let numbers = matrices.flat_map(DMat3::to_cols_array);
        numbers.for_each(|x| x.put(out));
        self.0.rate.put(out);
    }

    fn get(bytes: &[u8]) -> Self {
        let matrix = |k: usize| {
            let number = |i: usize| f64::get(&bytes[8 * (9 * k + i)..8 * (9 * k + i + 1)]);
            DMat3::from_cols_array(&std::array::from_fn(number))
        };
        GeneralOfFormat3(GeneralContact {
            angular: [matrix(0), matrix(1)],
            angular_velocity: [matrix(2), matrix(3)],
            rate: DVec3::get(&bytes[8 * 36..]),
            ..Default::default()
        })
    }
}

/// A form as a number: zero, or one more than the index of a general contact.
fn form_code(form: Form) -> u32 {
    match form {
        Form::Radial => 0,
        Form::General(index) => index + 1,
    }
}

/// The bytes of a problem file.
pub fn encode_problem(problem: &ContactProblem) -> Vec<u8> {
    let mut payload = Vec::new();
    problem.tangent_compliance.put(&mut payload);
    problem.rolling_compliance.put(&mut payload);
    put_list(&mut payload, problem.bodies.iter().copied());
    put_list(&mut payload, problem.contacts.iter().copied());
    problem.time.put(&mut payload);
    let forms = problem.contacts.iter().map(|c| form_code(c.form));
    put_list(&mut payload, forms);
    put_list(&mut payload, problem.general.iter().copied());
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
    if version < OLDEST_VERSION {
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
    let mut problem = ContactProblem {
        tangent_compliance: source.get().map_err(damaged)?,
        rolling_compliance: source.get().map_err(damaged)?,
        bodies: source.list().map_err(damaged)?,
        contacts: source.list().map_err(damaged)?,
        ..Default::default()
    };
    if version > 2 {
        problem.time = source.get().map_err(damaged)?;
        let forms: Vec<u32> = source.list().map_err(damaged)?;
        problem.general = if version > 3 {
            source.list().map_err(damaged)?
        } else {
            let free: Vec<GeneralOfFormat3> = source.list().map_err(damaged)?;
            free.into_iter().map(|general| general.0).collect()
        };
        let known = problem.general.len() as u32;
        if forms.len() != problem.contacts.len() || forms.iter().any(|&code| code > known) {
            return Err(damaged(Malformed));
        }
        for (contact, code) in problem.contacts.iter_mut().zip(forms) {
            contact.form = code.checked_sub(1).map_or(Form::Radial, Form::General);
        }
    }
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

    fn problem() -> ContactProblem {
        let body = BodyState {
            velocity: DVec3::new(0.1, -0.2, 0.3),
            inverse_mass: 2.0,
            angular_velocity: DVec3::new(1.0, f64::MIN_POSITIVE, -0.0),
            inverse_inertia: 7.0,
        };
        let contact = Contact {
            bodies: [0, 1],
            normal: DVec3::Z,
            arms: [0.1, 0.2],
            form: Form::Radial,
            friction: 0.3,
            rolling: 0.4,
            twisting: 0.5,
            compliance: 0.6,
            target: -0.7,
        };
        ContactProblem {
            bodies: vec![body, BodyState::default()],
            contacts: vec![
                contact,
                Contact {
                    form: Form::General(0),
                    ..contact
                },
            ],
            general: vec![GeneralContact {
                rate: DVec3::new(0.1, 0.2, 0.3),
                angular: [DMat3::IDENTITY * 0.7, DMat3::ZERO],
                angular_velocity: [DMat3::IDENTITY, DMat3::from_diagonal(DVec3::X)],
                free: [DVec3::ONE, DVec3::new(1.0, 0.0, 1.0)],
            }],
            time: 1e-3,
            tangent_compliance: 1e-4,
            rolling_compliance: 2e-4,
        }
    }

    /// A file of format 3 ends with general contacts without their last six numbers.
    #[test]
    fn bodies_of_format_3_are_free() {
        let mut problem = problem();
        let new = encode_problem(&problem);
        let mut old = new[..new.len() - 2 * DVec3::SIZE].to_vec();
        old[8..12].copy_from_slice(&3_u32.to_le_bytes());
        let checksum = xxh3_64(&old[20..]);
        old[12..20].copy_from_slice(&checksum.to_le_bytes());
        problem.general[0].free = [DVec3::ONE; 2];
        let back = decode_problem(&old, Path::new("p")).unwrap();
        assert_eq!(back.general, problem.general);
    }

    #[test]
    fn a_problem_comes_back_bit_for_bit() {
        let bytes = encode_problem(&problem());
        let back = decode_problem(&bytes, Path::new("p")).unwrap();
        assert_eq!(encode_problem(&back), bytes);
        assert_eq!(back.contacts, problem().contacts);
        assert_eq!(back.bodies, problem().bodies);
        assert_eq!(back.general, problem().general);
        assert_eq!(back.time, problem().time);
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
