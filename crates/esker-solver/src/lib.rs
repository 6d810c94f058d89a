//! Esker: solver.
