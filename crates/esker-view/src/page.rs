//! The page: its files are part of the program.

/// A file of the page.
pub struct PageFile {
    name: &'static str,
    /// Its media type.
    pub kind: &'static str,
    /// Its text.
    pub text: &'static str,
}

macro_rules! files {
    ($($name:literal: $kind:literal),* $(,)?) => {
        &[$(PageFile {
            name: $name,
            kind: $kind,
            text: include_str!(concat!("../page/", $name)),
        }),*]
    };
}

const FILES: &[PageFile] = files! {
    "index.html": "text/html; charset=utf-8",
    "style.css": "text/css; charset=utf-8",
    "main.js": "text/javascript; charset=utf-8",
    "connection.js": "text/javascript; charset=utf-8",
    "frame.js": "text/javascript; charset=utf-8",
    "vectors.js": "text/javascript; charset=utf-8",
    "camera.js": "text/javascript; charset=utf-8",
    "shaders.js": "text/javascript; charset=utf-8",
    "graphics.js": "text/javascript; charset=utf-8",
    "renderer.js": "text/javascript; charset=utf-8",
    "player.js": "text/javascript; charset=utf-8",
    "plots.js": "text/javascript; charset=utf-8",
    "legend.js": "text/javascript; charset=utf-8",
    "picks.js": "text/javascript; charset=utf-8",
};

/// The file of a name; the page itself has none.
pub fn file(name: &str) -> Option<&'static PageFile> {
    let name = if name.is_empty() { "index.html" } else { name };
    FILES.iter().find(|file| file.name == name)
}
