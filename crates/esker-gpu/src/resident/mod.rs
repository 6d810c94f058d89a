//! The stages of a step beside its substeps, for grains that stay on the device.

pub mod advance;
pub mod device;
pub mod find;
pub mod grains;
pub mod kernels;
pub mod look;
pub mod measures;
pub mod meshes;
pub mod primitives;
pub mod turnover;
