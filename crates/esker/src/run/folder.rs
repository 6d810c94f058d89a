//! The folder that a run writes to: one program at a time.
//!
//! A lock of the operating system keeps others out. It ends with the process
//! that holds it, however that ends, so that a killed run blocks nothing; the
//! lock's file only says who holds it and stays behind empty.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};

use super::summary::SUMMARY_FILE_NAME;
use crate::{Error, RECORDING_FILE_NAME};

/// Name of the lock's file in the folder.
const LOCK_FILE_NAME: &str = "run.lock";

/// A folder of results that this process alone writes to while this lives.
pub struct ResultFolder {
    path: PathBuf,
    lock: File,
    /// Why others are not kept out, where they are not.
    warning: Option<String>,
}

impl ResultFolder {
    /// Makes the folder, or empties it when `replace` is given. A folder that
    /// holds anything but results of a run is never emptied.
    pub fn create(path: &Path, replace: bool) -> Result<Self, Error> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(Error::file("create", path))?;
        }
        match fs::create_dir(path) {
            Ok(()) => return ResultFolder::lock(path),
            Err(_) if path.exists() => {}
            Err(error) => return Err(Error::file("create", path)(error)),
        }
        let path_of = || path.to_owned();
        if !replace {
            return Err(Error::Exists { path: path_of() });
        }
        if !holds_results(path) {
            return Err(Error::NotResults { path: path_of() });
        }
        let folder = ResultFolder::lock(path)?;
        for entry in other_entries(path)? {
            let removed = match entry.is_dir() && !entry.is_symlink() {
                true => fs::remove_dir_all(&entry),
                false => fs::remove_file(&entry),
            };
            removed.map_err(Error::file("replace", path))?;
        }
        Ok(folder)
    }

    /// Takes up the folder of an earlier run.
    pub fn open(path: &Path) -> Result<Self, Error> {
        if !path.is_dir() {
            let path = path.to_owned();
            return Err(Error::NoFolder { path });
        }
        ResultFolder::lock(path)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What to take care of, where the folder cannot be locked.
    pub fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    fn lock(path: &Path) -> Result<Self, Error> {
        let file = path.join(LOCK_FILE_NAME);
        let mut lock = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&file)
            .map_err(Error::file("lock", path))?;
        let mut warning = None;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let holder = fs::read_to_string(&file).unwrap_or_default();
                let holder = match holder.trim() {
                    "" => "another process",
                    named => named,
                };
                return Err(Error::InUse {
                    path: path.to_owned(),
                    holder: holder.to_owned(),
                });
            }
            Err(TryLockError::Error(error)) if error.kind() == std::io::ErrorKind::Unsupported => {
                warning = Some(format!(
                    "{} cannot be locked here ({error}): \
                     take care that no other run writes to it",
                    path.display()
                ));
            }
            Err(TryLockError::Error(error)) => return Err(Error::file("lock", path)(error)),
        }
        lock.set_len(0)
            .and_then(|()| writeln!(lock, "process {} on {}", std::process::id(), host()))
            .map_err(Error::file("lock", path))?;
        Ok(ResultFolder {
            path: path.to_owned(),
            lock,
            warning,
        })
    }
}

impl Drop for ResultFolder {
    fn drop(&mut self) {
        // The file stays: removed, it could be the one that another process has
        // just opened to lock it. Its text is for people only.
        let _ = self.lock.rewind().and_then(|()| self.lock.set_len(0));
    }
}

/// Whether a folder was made by a run, or is empty.
fn holds_results(path: &Path) -> bool {
    [SUMMARY_FILE_NAME, RECORDING_FILE_NAME]
        .iter()
        .any(|name| path.join(name).exists())
        || other_entries(path).is_ok_and(|entries| entries.is_empty())
}

/// What is in a folder beside the lock.
fn other_entries(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = path.read_dir().map_err(Error::file("read", path))?;
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(Error::file("read", path))?;
        if entry.file_name() != LOCK_FILE_NAME {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// Name of this machine, for people.
fn host() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname")
        .ok()
        .or_else(|| std::env::var("HOSTNAME").ok())
        .or_else(|| std::env::var("COMPUTERNAME").ok())
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "an unnamed machine".to_owned())
}
