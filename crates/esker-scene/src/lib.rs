//! Esker: scene.
