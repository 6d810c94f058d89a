//! Esker: analysis.
