//! A scene together with what identifies it for a restart.

use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use esker_record::{Recording, SceneIdentity};
use esker_scene::{Files, Folder, Scene};

use crate::run_folder::recording_path;

/// A scene, its text, and its identity: what decides the course of a run, and
/// all files that it names.
pub struct SceneFile {
    path: PathBuf,
    pub scene: Scene,
    pub text: String,
    pub identity: SceneIdentity,
}

/// Files of a folder; remembers what was read.
struct Remembering {
    folder: Folder,
    read: RefCell<Vec<Vec<u8>>>,
}

impl Files for Remembering {
    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let content = self.folder.read(name)?;
        self.read.borrow_mut().push(content.clone());
        Ok(content)
    }
}

/// The folder whose files a scene names.
fn folder_of(scene: &Path) -> Folder {
    Folder(scene.parent().unwrap_or(Path::new("")).to_path_buf())
}

impl SceneFile {
    /// Reads and checks a scene file.
    pub fn load(path: &Path) -> anyhow::Result<Self> {
        let scene = esker_scene::load(path)?;
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let files = Remembering {
            folder: folder_of(path),
            read: RefCell::default(),
        };
        esker_scene::interpret(&text, &path.display().to_string(), &files)?;
        let files = files.read.into_inner();
        let physics = scene.physics.join("\n");
        let parts = std::iter::once(physics.as_bytes()).chain(files.iter().map(Vec::as_slice));
        let identity = SceneIdentity::of_parts(parts);
        Ok(SceneFile {
            path: path.to_owned(),
            scene,
            text,
            identity,
        })
    }

    /// What has changed since the run in a folder was started, as far as its
    /// recording tells.
    pub fn changes_since(&self, run: &Path) -> Option<String> {
        let recording = Recording::open(&recording_path(run)).ok()?;
        let text = &recording.header().scene;
        let before = esker_scene::interpret(text, "recorded scene", &folder_of(&self.path)).ok()?;
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
