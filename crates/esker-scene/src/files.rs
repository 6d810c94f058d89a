//! The files that a scene names: meshes, lists of grains, motion tables, runs.

use std::io;
use std::path::{Path, PathBuf};

use esker_geometry::BodyShape;
use esker_world::definition::ListedGrain;
use glam::DQuat;

/// Where a scene's files come from.
///
/// A seam for tests and fuzzing, which must not depend on a disk.
pub trait Files {
    /// The content of a file, named as in the scene.
    fn read(&self, name: &str) -> io::Result<Vec<u8>>;

    /// Grains of an earlier run, named as in the scene, near a time in seconds
    /// or at its end. How runs are stored is not known here: whoever has the
    /// programs that read them gives this.
    fn grains_of_run(&self, name: &str, at: Option<f64>) -> Result<GrainList, RunError> {
        let _ = (name, at);
        Err(RunError("runs cannot be read here".into()))
    }
}

/// Grains one by one, as a file or an earlier run lists them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GrainList {
    /// The grains.
    pub grains: Vec<ListedGrain>,
    /// Whether their velocities are known; else they are zero.
    pub has_velocities: bool,
    /// Names of materials; empty where they are not known.
    pub materials: Vec<String>,
    /// Material of each grain, by its index in `materials`; empty as they are.
    pub material: Vec<u16>,
    /// Shapes of grains that are no spheres.
    pub shapes: Vec<BodyShape>,
    /// Shape of each grain that is no sphere; empty where all are spheres.
    pub shape: Vec<Option<ListedShape>>,
}

/// Shape and orientation of a listed grain; its radius is that of the sphere of
/// equal volume.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ListedShape {
    /// Index into [`GrainList::shapes`].
    pub index: usize,
    /// Orientation, a unit quaternion.
    pub orientation: DQuat,
}

impl GrainList {
    /// Keeps the grains that are wanted.
    pub fn keep(&mut self, wanted: impl Fn(&ListedGrain) -> bool) {
        let keep: Vec<bool> = self.grains.iter().map(wanted).collect();
        fn retain<T>(list: &mut Vec<T>, keep: &[bool]) {
            let mut kept = keep.iter();
            list.retain(|_| kept.next().is_some_and(|&keep| keep));
        }
        retain(&mut self.grains, &keep);
        retain(&mut self.material, &keep);
        retain(&mut self.shape, &keep);
    }
}

/// Why the grains of a run cannot be had.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct RunError(
    /// Why, for people.
    pub String,
);

/// Files on disk, relative to a folder.
#[derive(Clone, Debug)]
pub struct Folder(
    /// The folder, usually that of the scene file.
    pub PathBuf,
);

impl Folder {
    /// The folder of a scene file.
    pub fn of_scene(scene: &Path) -> Self {
        Folder(scene.parent().unwrap_or(Path::new("")).to_path_buf())
    }
}

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
