//! The files that a scene names: meshes, lists of grains, motion tables.

use std::io;
use std::path::PathBuf;

/// Where a scene's files come from.
///
/// A seam for tests and fuzzing, which must not depend on a disk.
pub trait Files {
    /// The content of a file, named as in the scene.
    fn read(&self, name: &str) -> io::Result<Vec<u8>>;
}

/// Files on disk, relative to a folder.
#[derive(Clone, Debug)]
pub struct Folder(
    /// The folder, usually that of the scene file.
    pub PathBuf,
);

impl Files for Folder {
    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        std::fs::read(self.0.join(name))
    }
}

/// No file at all.
#[derive(Clone, Copy, Debug)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _name: &str) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::NotFound.into())
    }
}
