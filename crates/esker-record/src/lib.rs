//! Esker: record.
