//! The experiments, one file each.

pub mod accuracy;
pub mod beverloo;
pub mod blade;
pub mod column;
pub mod drum;
pub mod ellipsoid_drum;
pub mod excavator;
pub mod impact;
pub mod inclined_drum;
pub mod limits;
pub mod machines;
pub mod packing;
pub mod parallel_physics;
pub mod pile;
pub mod reduction;
pub mod repose;
pub mod silo;
pub mod smooth_vs_nonsmooth;
pub mod triaxial;
pub mod verification;
