//! What machines tell about themselves.

use std::ops::AddAssign;

use glam::DVec3;

use crate::body::Spatial;

/// How far a joint is from where it should be.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Violation {
    /// m.
    pub distance: f64,
    /// rad.
    pub angle: f64,
}

impl Violation {
    /// The larger of both, part by part.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Violation {
            distance: self.distance.max(other.distance),
            angle: self.angle.max(other.angle),
        }
    }
}

/// Where a joint is, world coordinates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointPlace {
    /// Its anchors on the first and on the second body, m.
    pub anchors: [DVec3; 2],
    /// Its axis on the first body, a unit vector, where its kind has one.
    pub axis: Option<DVec3>,
}

/// What a joint has done since the start; means over an interval are differences of two, divided by
/// its length.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JointTotals {
    /// Impulse and torque impulse about the second anchor of the joint (with its limits and friction,
    /// without drives) on its second body, world axes, N s and N m s.
    pub impulse: Spatial,
    /// Work on the bodies, J: negative where it dissipates.
    pub work: f64,
    /// Violation now.
    pub violation: Violation,
    /// Largest violation at the end of any substep.
    pub max_violation: Violation,
}

impl JointTotals {
    pub(crate) fn add(&mut self, impulse: Spatial, work: f64) {
        self.impulse += impulse;
        self.work += work;
    }
}

/// What a drive has done since the start; means over an interval are differences of two, divided by
/// its length.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DriveTotals {
    /// Impulse or torque impulse along its coordinate, N s or N m s.
    pub impulse: f64,
    /// Work on the bodies, J.
    pub work: f64,
}

impl DriveTotals {
    pub(crate) fn add(&mut self, impulse: f64, work: f64) {
        self.impulse += impulse;
        self.work += work;
    }
}

/// What a gear has done since the start, as [`DriveTotals`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GearTotals {
    /// Impulse or torque impulse along its first coordinate, N s or N m s.
    pub impulse: f64,
    /// Work on the bodies, J.
    pub work: f64,
    /// Violation now, in units of its first coordinate.
    pub violation: f64,
    /// Largest violation at the end of any substep.
    pub max_violation: f64,
}

impl GearTotals {
    pub(crate) fn add(&mut self, impulse: f64, work: f64) {
        self.impulse += impulse;
        self.work += work;
    }
}

/// What went wrong, counted over substeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Troubles {
    /// Bodies that rotated by more than a radian within a substep: the gyroscopic term loses energy.
    pub fast_rotations: u64,
    /// Solves that failed: velocities are then no solution.
    pub unsolved: u64,
}

impl AddAssign for Troubles {
    fn add_assign(&mut self, other: Self) {
        self.fast_rotations += other.fast_rotations;
        self.unsolved += other.unsolved;
    }
}
