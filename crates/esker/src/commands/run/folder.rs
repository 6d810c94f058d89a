//! The folder that a run writes to: one program at a time.
//!
//! A lock of the operating system keeps others out. It ends with the process
//! that holds it, however that ends, so that a killed run blocks nothing; the
//! lock's file only says who holds it and stays behind empty.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use esker::RECORDING_FILE_NAME;

use super::summary;

/// Name of the lock's file in the folder.
const LOCK_FILE_NAME: &str = "run.lock";

/// A folder of results that this process alone writes to while this lives.
pub struct ResultFolder {
    path: PathBuf,
    lock: File,
}

impl ResultFolder {
    /// Makes the folder, or empties it when `replace` is given. A folder that
    /// holds anything but results of a run is never emptied.
    pub fn create(path: &Path, replace: bool) -> anyhow::Result<Self> {
        let failed = || format!("cannot create {}", path.display());
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).with_context(failed)?;
        }
        match fs::create_dir(path) {
            Ok(()) => return ResultFolder::lock(path),
            Err(_) if path.exists() => {}
            Err(error) => return Err(error).with_context(failed),
        }
        if !replace {
            bail!(
                "{} exists already; choose another folder with -o, or replace it with --force",
                path.display()
            );
        }
        if !holds_results(path) {
            bail!(
                "{} is not a folder of results (it has no {}), so --force does not replace it",
                path.display(),
                summary::FILE_NAME
            );
        }
        let folder = ResultFolder::lock(path)?;
        for entry in other_entries(path)? {
            let removed = match entry.is_dir() && !entry.is_symlink() {
                true => fs::remove_dir_all(&entry),
                false => fs::remove_file(&entry),
            };
            removed.with_context(|| format!("cannot replace {}", path.display()))?;
        }
        Ok(folder)
    }

    /// Takes up the folder of an earlier run.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        if !path.is_dir() {
            bail!("there is no folder {} to resume", path.display());
        }
        ResultFolder::lock(path)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    fn lock(path: &Path) -> anyhow::Result<Self> {
        let file = path.join(LOCK_FILE_NAME);
        let failed = || format!("cannot lock {}", path.display());
        let mut lock = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&file)
            .with_context(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let holder = fs::read_to_string(&file).unwrap_or_default();
                let holder = match holder.trim() {
                    "" => "another process",
                    named => named,
                };
                bail!(
                    "{} is in use: {holder} writes to it; wait for its end or stop it, \
                     or choose another folder with -o",
                    path.display()
                );
            }
            Err(TryLockError::Error(error)) if error.kind() == std::io::ErrorKind::Unsupported => {
                eprintln!(
                    "warning: {} cannot be locked here ({error}): \
                     take care that no other run writes to it",
                    path.display()
                );
            }
            Err(TryLockError::Error(error)) => return Err(error).with_context(failed),
        }
        lock.set_len(0)
            .and_then(|()| writeln!(lock, "process {} on {}", std::process::id(), host()))
            .with_context(failed)?;
        Ok(ResultFolder {
            path: path.to_owned(),
            lock,
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
    [summary::FILE_NAME, RECORDING_FILE_NAME]
        .iter()
        .any(|name| path.join(name).exists())
        || other_entries(path).is_ok_and(|entries| entries.is_empty())
}

/// What is in a folder beside the lock.
fn other_entries(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let unreadable = || format!("cannot read {}", path.display());
    let entries = path.read_dir().with_context(unreadable)?;
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.with_context(unreadable)?;
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
