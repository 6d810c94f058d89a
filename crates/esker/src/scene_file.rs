//! A scene together with what identifies it.

use std::cell::RefCell;
use std::io;
use std::path::Path;

use anyhow::Context;
use esker_record::SceneIdentity;
use esker_scene::{Files, Folder, Scene};

/// A scene, its text, and its identity: text and all files that it names.
pub struct SceneFile {
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

impl SceneFile {
    /// Reads and checks a scene file.
    pub fn load(path: &Path) -> anyhow::Result<Self> {
        let scene = esker_scene::load(path)?;
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let files = Remembering {
            folder: Folder(path.parent().unwrap_or(Path::new("")).to_path_buf()),
            read: RefCell::default(),
        };
        esker_scene::interpret(&text, &path.display().to_string(), &files)?;
        let files = files.read.into_inner();
        let parts = std::iter::once(text.as_bytes()).chain(files.iter().map(Vec::as_slice));
        let identity = SceneIdentity::of_parts(parts);
        Ok(SceneFile {
            scene,
            text,
            identity,
        })
    }
}
