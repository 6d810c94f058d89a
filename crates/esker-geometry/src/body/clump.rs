//! Spheres that move as one.

use glam::DVec3;
use thiserror::Error;

/// Spheres fixed to one body, about the centre of mass of their union, in its principal axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Clump {
    spheres: Vec<(DVec3, f64)>,
}

/// A clump that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum ClumpError {
    /// There is nothing.
    #[error("a clump needs at least one sphere")]
    Empty,
}
