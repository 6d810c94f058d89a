//! A scene together with what identifies it for a restart.

use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};

use esker::SceneFolder;
use esker_record::{Recording, SceneIdentity};
use esker_scene::{Checked, Files, GrainList, RunError, Scene};
use esker_world::definition::ListedGrain;
use esker_world::packing::PlacedGrains;
use glam::DQuat;

use crate::run_folder::recording_path;

/// A scene and its identity: what decides the course of a run, and
/// all files that it names.
pub struct SceneFile {
    path: PathBuf,
    pub scene: Scene,
    pub identity: SceneIdentity,
}

/// Files of a scene; remembers what was read.
struct Remembering {
    folder: SceneFolder,
    read: RefCell<Vec<Vec<u8>>>,
}

impl Files for Remembering {
    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let content = self.folder.read(name)?;
        self.read.borrow_mut().push(content.clone());
        Ok(content)
    }

    fn grains_of_run(&self, name: &str, at: Option<f64>) -> Result<GrainList, RunError> {
        let list = self.folder.grains_of_run(name, at)?;
        // What is taken counts, not the rest of a run's large files.
        self.read.borrow_mut().push(bytes_of(&list));
        Ok(list)
    }
}

/// Everything of a list that a run depends on.
fn bytes_of(list: &GrainList) -> Vec<u8> {
    let vectors = |grain: &ListedGrain| [grain.position, grain.velocity, grain.angular_velocity];
    let numbers = list.grains.iter().flat_map(|grain| {
        let vectors = vectors(grain).into_iter().flat_map(|v| v.to_array());
        vectors.chain([grain.radius])
    });
    let mut bytes: Vec<u8> = numbers.flat_map(f64::to_le_bytes).collect();
    for shape in &list.shape {
        let (number, orientation) = match shape {
            None => (0, DQuat::IDENTITY),
            Some(shape) => (1 + shape.index as u64, shape.orientation),
        };
        bytes.extend(number.to_le_bytes());
        bytes.extend(
            orientation
                .to_array()
                .into_iter()
                .flat_map(f64::to_le_bytes),
        );
    }
    // All digits of all dimensions.
    bytes.extend(
        list.shapes
            .iter()
            .flat_map(|s| format!("{s:?}").into_bytes()),
    );
    bytes.extend(list.material.iter().flat_map(|m| m.to_le_bytes()));
    bytes.extend(list.materials.join("\n").into_bytes());
    bytes
}

impl SceneFile {
    /// Reads and checks a scene file. Its grains are placed, unless a run is continued, which
    /// has them.
    pub fn load(path: &Path, resumes: bool) -> anyhow::Result<(Self, Option<PlacedGrains>)> {
        let files = Remembering {
            folder: SceneFolder::of_scene(path),
            read: RefCell::default(),
        };
        let most_placed = if resumes { 0 } else { usize::MAX };
        let Checked { scene, grains } = esker_scene::load_from(path, &files, most_placed)?;
        let files = files.read.into_inner();
        let physics = scene.physics.join("\n");
        let parts = std::iter::once(physics.as_bytes()).chain(files.iter().map(Vec::as_slice));
        let identity = SceneIdentity::of_parts(parts);
        let file = SceneFile {
            path: path.to_owned(),
            scene,
            identity,
        };
        Ok((file, grains))
    }

    /// What has changed since the run in a folder was started, as far as its
    /// recording tells.
    pub fn changes_since(&self, run: &Path) -> Option<String> {
        let recording = Recording::open(&recording_path(run)).ok()?;
        let text = &recording.header().scene;
        let before =
            esker_scene::interpret(text, "recorded scene", &SceneFolder::of_scene(&self.path))
                .ok()?;
        let only_in = |some: &[String], others: &[String]| -> Vec<String> {
            let missing = some.iter().filter(|line| !others.contains(line));
            missing.map(|line| format!("`{line}`")).collect()
        };
        let removed = only_in(&before.physics, &self.scene.physics);
        let added = only_in(&self.scene.physics, &before.physics);
        Some(match (removed.as_slice(), added.as_slice()) {
            ([], []) => "a file that the scene names was changed since the run began, \
                         or an earlier version of the program began it"
                .to_owned(),
            ([], _) => format!("added since the run began: {}", added.join(", ")),
            (_, []) => format!("removed since the run began: {}", removed.join(", ")),
            _ => format!(
                "changed since the run began: {} to {}",
                removed.join(", "),
                added.join(", ")
            ),
        })
    }
}
