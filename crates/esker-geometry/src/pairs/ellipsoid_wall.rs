//! What all contacts of an ellipsoid with a wall have in common.

use crate::hertz::OtherCurvature;
use crate::manifold::{Conformity, ContactPoint};
use crate::smooth::Support;
use crate::smooth::ellipsoid::Ellipsoid;
use glam::{DVec2, DVec3};

/// Curvature (1/m) of a wall, positive where it bends away from the body.
#[derive(Clone, Copy, Debug)]
pub(super) enum WallCurvature {
    /// A plane, or an edge or corner, which count as one.
    None,
    /// The same in all directions.
    Isotropic(f64),
    /// Along one direction in space.
    Along(DVec3, f64),
}

/// Part of a wall that an ellipsoid meets, seen from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct WallSurface {
    /// Unit vector from the body to the wall.
    pub normal: DVec3,
    /// Distance along the normal (m).
    pub gap: f64,
    pub curvature: WallCurvature,
    pub feature: u32,
}

impl WallSurface {
    /// A plane, edge or corner.
    pub fn plane(normal: DVec3, gap: f64, feature: u32) -> Self {
        Self {
            normal,
            gap,
            curvature: WallCurvature::None,
            feature,
        }
    }

    /// Whether the ellipsoid about `centre` reaches the surface where it is nearest to its tangent
    /// plane, or has not reached that plane. A long body can cross the plane far from its centre and
    /// pass the surface by.
    pub fn is_met(&self, body: &Ellipsoid, centre_to_foot: DVec3) -> bool {
        self.gap >= 0.0 || body.contains(centre_to_foot + self.gap * self.normal)
    }

    /// The contact of an ellipsoid about `centre`.
    pub fn contact(&self, body: &Ellipsoid, centre: DVec3) -> ContactPoint {
        let extent = body.extent(self.normal);
        let (x, y) = self.normal.any_orthonormal_pair();
        let curvature = match self.curvature {
            WallCurvature::None => OtherCurvature::None,
            WallCurvature::Isotropic(value) => OtherCurvature::Isotropic(value),
            WallCurvature::Along(direction, value) => {
                OtherCurvature::Along(DVec2::new(x.dot(direction), y.dot(direction)), value)
            }
        };
        ContactPoint {
            point: centre + body.point(&extent) + 0.5 * self.gap * self.normal,
            normal: self.normal,
            gap: self.gap,
            feature: self.feature,
            conformity: Conformity::against(body.radii(&extent, [x, y]), curvature),
        }
    }
}
