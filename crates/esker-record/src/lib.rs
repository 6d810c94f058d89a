//! Everything that Esker reads and writes.

pub mod fclib;
