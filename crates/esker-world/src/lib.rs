//! Esker: world.
