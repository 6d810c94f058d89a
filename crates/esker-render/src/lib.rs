//! Esker: render.
