//! Esker: geometry.
