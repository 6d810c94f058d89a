//! Files that are written complete, or not at all.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::Error;

/// Writes a file at once; see [`write_with`].
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    write_with(path, |out| out.write_all(bytes))
}

/// Writes a file beside its place and moves it there when it is complete, so
/// that a full disk leaves no half file and what was there before stays.
pub fn write_with(
    path: &Path,
    content: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), Error> {
    // Devices and pipes have no content to keep.
    let is_special = fs::metadata(path).is_ok_and(|data| !data.is_file());
    let target = if is_special {
        path.to_owned()
    } else {
        beside(path)
    };
    let written = (|| {
        let mut out = BufWriter::new(File::create(&target)?);
        content(&mut out)?;
        out.flush()?;
        if is_special {
            return Ok(());
        }
        fs::rename(&target, path)
    })();
    if written.is_err() && !is_special {
        // Best effort: the first error is the one to tell.
        let _ = fs::remove_file(&target);
    }
    written.map_err(Error::file("write", path))
}

/// A name in the same folder for a file that is on its way.
fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(path.file_name().unwrap_or_default());
    name.push(".partial");
    path.with_file_name(name)
}
