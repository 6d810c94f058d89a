//! Checkpoints: a run's complete state in one file, for an exact restart.
//!
//! ```text
//! offset  bytes  content
//!      0      8  "ESKERCKP"
//!      8      4  format version
//!     12     16  identity of the scene (XXH3, 128 bit)
//!     28      8  steps done
//!     36      8  time, s
//!     44      8  length of the payload
//!     52      8  checksum of the payload (XXH3, 64 bit)
//!     60      8  checksum of the 60 bytes before
//!     68         payload: program version, position in the recording, tally, state
//! ```
//!
//! All numbers are little-endian. A checkpoint is written to a temporary file,
//! synced and renamed, so that a name never stands for half a file; the newest
//! two are kept, so that one damaged file does not cost the run.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use esker_world::WorldState;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::bytes::{Malformed, Plain, Source, put_text};
use crate::recorder::RecordingMark;
use crate::state_codec::{get_state, put_state};

const MAGIC: &[u8; 8] = b"ESKERCKP";
/// Version of the format that this program writes; older ones are read.
pub const CHECKPOINT_FORMAT: u32 = 10;
const HEADER_SIZE: usize = 68;
/// Ticks of a state's clock per step of the scene.
const TICKS_PER_STEP: f64 = 64.0;
/// How many checkpoints of a run are kept.
const KEPT: usize = 2;

/// Which scene a file belongs to: a hash of what decides the course of a run,
/// and of all files that the scene uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SceneIdentity(pub u128);

impl SceneIdentity {
    /// The identity of a scene made of these parts, in this order.
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hash = Xxh3::new();
        for part in parts {
            hash.update(&(part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        SceneIdentity(hash.digest128())
    }
}

impl std::fmt::Display for SceneIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Everything needed to continue a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// The scene it belongs to.
    pub scene: SceneIdentity,
    /// Version of the program that wrote it: another one may round differently.
    pub version: String,
    /// Time, s.
    pub time: f64,
    /// How far the recording belongs to the run so far: the part of it that was
    /// being written.
    pub mark: RecordingMark,
    /// Named sums over the run so far that its summary needs.
    pub tally: Vec<(String, f64)>,
    /// The state of the world.
    pub state: WorldState,
}

/// What the first bytes of a checkpoint say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CheckpointHeader {
    /// Version of the format.
    pub format: u32,
    /// The scene it belongs to.
    pub scene: SceneIdentity,
    /// Steps done.
    pub steps_done: u64,
    /// Time, s.
    pub time: f64,
    payload_size: u64,
    payload_checksum: u64,
}

/// Why a checkpoint cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// It cannot be opened, read or written.
    #[error("cannot {action} checkpoint `{}`: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// It is something else.
    #[error("`{}` is not a checkpoint of Esker", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// It was written by a newer program.
    #[error(
        "checkpoint `{}` has format {format}, but this program reads only up to {CHECKPOINT_FORMAT}: \
         use a newer Esker",
        path.display()
    )]
    TooNew {
        /// The file.
        path: PathBuf,
        /// Its format.
        format: u32,
    },
    /// Its end is missing.
    #[error("checkpoint `{}` is truncated: it has {found} bytes of {expected}", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Bytes there.
        found: u64,
        /// Bytes that belong there.
        expected: u64,
    },
    /// A checksum does not match, or the content contradicts itself.
    #[error("checkpoint `{}` is damaged: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// How it shows.
        what: &'static str,
    },
    /// It belongs to another scene.
    #[error(
        "checkpoint `{}` belongs to another scene, or the physics of this one was changed",
        path.display()
    )]
    OtherScene {
        /// The file.
        path: PathBuf,
    },
    /// There is none.
    #[error("no checkpoint in `{}`", dir.display())]
    None {
        /// The folder.
        dir: PathBuf,
    },
}

impl Checkpoint {
    /// The bytes of the file.
    pub fn encode(&self) -> Vec<u8> {
        let mut payload = Vec::new();
        put_text(&mut payload, &self.version);
        self.mark.frames.put(&mut payload);
        self.mark.scalar_rows.put(&mut payload);
        (self.tally.len() as u64).put(&mut payload);
        for (name, value) in &self.tally {
            put_text(&mut payload, name);
            value.put(&mut payload);
        }
        put_state(&mut payload, &self.state);
        let mut out = Vec::with_capacity(HEADER_SIZE + payload.len());
        out.extend_from_slice(MAGIC);
        CHECKPOINT_FORMAT.put(&mut out);
        self.scene.0.put(&mut out);
        self.state.steps_done.put(&mut out);
        self.time.put(&mut out);
        (payload.len() as u64).put(&mut out);
        xxh3_64(&payload).put(&mut out);
        xxh3_64(&out).put(&mut out);
        out.extend_from_slice(&payload);
        out
    }

    /// Reads a checkpoint from the bytes of the file `path`.
    pub fn decode(bytes: &[u8], path: &Path) -> Result<Self, CheckpointError> {
        let header = CheckpointHeader::decode(bytes, path)?;
        let payload = &bytes[HEADER_SIZE..];
        if (payload.len() as u64) < header.payload_size {
            return Err(CheckpointError::Truncated {
                path: path.to_owned(),
                found: bytes.len() as u64,
                expected: header.payload_size.saturating_add(HEADER_SIZE as u64),
            });
        }
        let damaged = |what| CheckpointError::Damaged {
            path: path.to_owned(),
            what,
        };
        if payload.len() as u64 > header.payload_size {
            return Err(damaged("bytes follow its end"));
        }
        if xxh3_64(payload) != header.payload_checksum {
            return Err(damaged("the checksum of its content does not match"));
        }
        Checkpoint::decode_payload(payload, &header)
            .map_err(|Malformed| damaged("its content contradicts itself"))
    }

    fn decode_payload(payload: &[u8], header: &CheckpointHeader) -> Result<Self, Malformed> {
        let mut source = Source::new(payload);
        let checkpoint = Checkpoint {
            scene: header.scene,
            time: header.time,
            version: source.text()?,
            mark: RecordingMark {
                frames: source.get()?,
                scalar_rows: source.get()?,
            },
            tally: {
                let count = source.get::<u64>()?;
                (0..count)
                    .map(|_| Ok((source.text()?, source.get()?)))
                    .collect::<Result<_, Malformed>>()?
            },
            state: get_state(&mut source, header.format)?,
        };
        source.end()?;
        if checkpoint.state.steps_done == header.steps_done {
            Ok(checkpoint)
        } else {
            Err(Malformed)
        }
    }

    /// The step that the run began with, s; `None` before the first one.
    pub fn first_step(&self) -> Option<f64> {
        let ticks = self.state.ticks;
        (ticks > 0).then(|| self.time / ticks as f64 * TICKS_PER_STEP)
    }

    /// Reads a checkpoint file.
    pub fn read(path: &Path) -> Result<Self, CheckpointError> {
        let bytes = fs::read(path).map_err(|source| CheckpointError::Io {
            action: "read",
            path: path.to_owned(),
            source,
        })?;
        Checkpoint::decode(&bytes, path)
    }
}

impl CheckpointHeader {
    /// Reads the header from the bytes of the file `path`.
    fn decode(bytes: &[u8], path: &Path) -> Result<Self, CheckpointError> {
        let known = bytes.len().min(MAGIC.len());
        if bytes[..known] != MAGIC[..known] {
            return Err(CheckpointError::Foreign {
                path: path.to_owned(),
            });
        }
        let truncated = |Malformed| CheckpointError::Truncated {
            path: path.to_owned(),
            found: bytes.len() as u64,
            expected: HEADER_SIZE as u64,
        };
        let mut source = Source::new(bytes);
        source.take(MAGIC.len()).map_err(truncated)?;
        let format = source.get::<u32>().map_err(truncated)?;
        if format > CHECKPOINT_FORMAT {
            return Err(CheckpointError::TooNew {
                path: path.to_owned(),
                format,
            });
        }
        let (header, checksum) = (|| {
            let header = CheckpointHeader {
                format,
                scene: SceneIdentity(source.get()?),
                steps_done: source.get()?,
                time: source.get()?,
                payload_size: source.get()?,
                payload_checksum: source.get()?,
            };
            Ok((header, source.get::<u64>()?))
        })()
        .map_err(truncated)?;
        if checksum == xxh3_64(&bytes[..HEADER_SIZE - 8]) {
            Ok(header)
        } else {
            Err(CheckpointError::Damaged {
                path: path.to_owned(),
                what: "the checksum of its header does not match",
            })
        }
    }

    /// Reads the header of a checkpoint file, and nothing more.
    pub fn read(path: &Path) -> Result<Self, CheckpointError> {
        let mut bytes = Vec::with_capacity(HEADER_SIZE);
        File::open(path)
            .and_then(|file| file.take(HEADER_SIZE as u64).read_to_end(&mut bytes))
            .map_err(|source| CheckpointError::Io {
                action: "read",
                path: path.to_owned(),
                source,
            })?;
        CheckpointHeader::decode(&bytes, path)
    }
}

/// The checkpoints of one run, in its folder.
#[derive(Clone, Debug)]
pub struct CheckpointStore {
    dir: PathBuf,
}

/// The newest usable checkpoint, and why newer ones were passed over.
#[derive(Debug)]
pub struct Latest {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// Its file.
    pub path: PathBuf,
    /// Newer ones that cannot be used.
    pub refused: Vec<CheckpointError>,
}

impl CheckpointStore {
    /// The checkpoints in a folder.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        CheckpointStore { dir: dir.into() }
    }

    /// The checkpoint files, newest first.
    pub fn list(&self) -> Result<Vec<PathBuf>, CheckpointError> {
        let unreadable = |source| CheckpointError::Io {
            action: "list",
            path: self.dir.clone(),
            source,
        };
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.dir).map_err(unreadable)? {
            let name = entry.map_err(unreadable)?.file_name();
            if let Some(step) = step_of_name(&name.to_string_lossy()) {
                found.push((step, self.dir.join(name)));
            }
        }
        found.sort_unstable_by(|a, b| b.cmp(a));
        Ok(found.into_iter().map(|(_, path)| path).collect())
    }

    /// Writes a checkpoint and removes all but the newest two.
    pub fn save(&self, checkpoint: &Checkpoint) -> Result<PathBuf, CheckpointError> {
        let path = self.dir.join(name_of_step(checkpoint.state.steps_done));
        write_atomically(&path, &checkpoint.encode()).map_err(|source| CheckpointError::Io {
            action: "write",
            path: path.clone(),
            source,
        })?;
        // After a resume from the older one, files of later steps are of a
        // past that is being replaced.
        let (newer, older): (Vec<_>, Vec<_>) = self.list()?.into_iter().partition(|p| *p > path);
        for outdated in newer.iter().chain(older.iter().skip(KEPT)) {
            fs::remove_file(outdated).map_err(|source| CheckpointError::Io {
                action: "remove",
                path: outdated.clone(),
                source,
            })?;
        }
        Ok(path)
    }

    /// The newest checkpoint of this scene that can be used; when none can,
    /// why the newest cannot.
    pub fn latest(&self, scene: SceneIdentity) -> Result<Latest, CheckpointError> {
        let mut refused = Vec::new();
        for path in self.list()? {
            match Checkpoint::read(&path) {
                Ok(checkpoint) if checkpoint.scene == scene => {
                    return Ok(Latest {
                        checkpoint,
                        path,
                        refused,
                    });
                }
                Ok(_) => refused.push(CheckpointError::OtherScene { path }),
                Err(error) => refused.push(error),
            }
        }
        Err(refused
            .into_iter()
            .next()
            .unwrap_or_else(|| CheckpointError::None {
                dir: self.dir.clone(),
            }))
    }
}

fn name_of_step(step: u64) -> String {
    // Twenty digits hold any u64, so that names sort as steps do.
    format!("checkpoint-{step:020}.esker")
}

fn step_of_name(name: &str) -> Option<u64> {
    name.strip_prefix("checkpoint-")?
        .strip_suffix(".esker")?
        .parse()
        .ok()
}

/// Writes a file so that its name stands for the old or the new content, also
/// after a crash.
fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = path.with_extension("partial");
    let written = (|| {
        let mut file = File::create(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    })();
    if written.is_err() {
        // Best effort: the first error is the one to report.
        let _ = fs::remove_file(&temporary);
        return written;
    }
    match path.parent() {
        // The new name is in the folder's own data.
        Some(dir) if cfg!(unix) => File::open(dir)?.sync_all(),
        _ => Ok(()),
    }
}
