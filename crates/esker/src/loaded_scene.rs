//! A scene together with what identifies it for a restart.

use std::cell::RefCell;
use std::io;
use std::path::Path;

use esker_record::{Recording, SceneIdentity};
use esker_scene::{Checked, Files, GrainList, Overrides, RunError, Scene, SceneErrors};
use esker_world::definition::ListedGrain;
use esker_world::packing::PlacedGrains;
use glam::DQuat;

use crate::SceneFolder;
use crate::run_folder::recording_path;

/// A checked scene with all that it takes from files, ready to be simulated.
#[derive(Clone, Debug)]
pub struct LoadedScene {
    folder: SceneFolder,
    scene: Scene,
    identity: SceneIdentity,
    grains: Option<PlacedGrains>,
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

/// What is wanted of a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// Its grains are placed.
    Start,
    /// A checkpoint has the grains.
    Resume,
}

impl Purpose {
    fn most_placed(self) -> usize {
        match self {
            Purpose::Start => usize::MAX,
            Purpose::Resume => 0,
        }
    }
}

impl LoadedScene {
    /// Reads a scene file, checks it and places its grains.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, SceneErrors> {
        LoadedScene::load_overridden(path, Overrides::default())
    }

    /// As [`LoadedScene::load`], with another device or precision than the file says.
    pub fn load_overridden(
        path: impl AsRef<Path>,
        overrides: Overrides,
    ) -> Result<Self, SceneErrors> {
        LoadedScene::of_file(path.as_ref(), Purpose::Start, overrides)
    }

    /// Reads and checks a scene file whose run is to be continued: its grains are in a
    /// checkpoint.
    pub fn load_to_resume(
        path: impl AsRef<Path>,
        overrides: Overrides,
    ) -> Result<Self, SceneErrors> {
        LoadedScene::of_file(path.as_ref(), Purpose::Resume, overrides)
    }

    /// Checks a scene that is given as text and places its grains. Files that it names are in
    /// `folder`; errors and results call it `name`, unless it says its name.
    pub fn parse(text: &str, name: &str, folder: impl AsRef<Path>) -> Result<Self, SceneErrors> {
        let folder = SceneFolder::new(folder.as_ref());
        LoadedScene::with_files(folder, |files| {
            esker_scene::check(text, name, files, usize::MAX)
        })
    }

    fn of_file(path: &Path, purpose: Purpose, overrides: Overrides) -> Result<Self, SceneErrors> {
        LoadedScene::with_files(SceneFolder::of_scene(path), |files| {
            esker_scene::load_overridden(path, files, purpose.most_placed(), overrides)
        })
    }

    fn with_files(
        folder: SceneFolder,
        check: impl FnOnce(&dyn Files) -> Result<Checked, SceneErrors>,
    ) -> Result<Self, SceneErrors> {
        let files = Remembering {
            folder,
            read: RefCell::default(),
        };
        let Checked { scene, grains } = check(&files)?;
        let read = files.read.into_inner();
        let physics = scene.physics.join("\n");
        let parts = std::iter::once(physics.as_bytes()).chain(read.iter().map(Vec::as_slice));
        Ok(LoadedScene {
            identity: SceneIdentity::of_parts(parts),
            folder: files.folder,
            scene,
            grains,
        })
    }

    /// What the scene says.
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// What decides the course of its run: scenes that differ only in their words, their
    /// duration or what they record have the same.
    pub fn identity(&self) -> SceneIdentity {
        self.identity
    }

    /// What a careful reader would be warned of: steps that are too long, grains that are too
    /// soft.
    pub fn warnings(&self) -> Vec<String> {
        esker_scene::estimate::estimate(&self.scene, None).warnings
    }

    /// Its grains at the start, once, where they were placed.
    pub(crate) fn take_grains(&mut self) -> Option<PlacedGrains> {
        self.grains.take()
    }

    /// What has changed since the run in a folder was started, as far as its
    /// recording tells.
    pub(crate) fn changes_since(&self, run: &Path) -> Option<String> {
        let recording = Recording::open(&recording_path(run)).ok()?;
        let text = &recording.header().scene;
        let before = esker_scene::interpret(text, "recorded scene", &self.folder).ok()?;
        let only_in = |some: &[String], others: &[String]| -> Vec<String> {
            let missing = some.iter().filter(|line| !others.contains(line));
            missing.map(|line| format!("`{line}`")).collect()
        };
        let removed = only_in(&before.physics, &self.scene.physics);
        let added = only_in(&self.scene.physics, &before.physics);
        Some(match (removed.as_slice(), added.as_slice()) {
            ([], []) => "a file that the scene names was changed since the run began, an option \
                         --precision or --device is not as it was then, or an earlier version of \
                         the program began it"
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
