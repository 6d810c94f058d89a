//! Narrow phase: where a sphere touches another shape.
//!
//! One file per pair; [`WallShape::touches`] below is the table of all of them. Every touch is
//! fixed by a unit normal `n` from the sphere to the wall and the signed distance `d` from the
//! centre `c` to the surface along it (negative when the centre is beyond the surface):
//!
//! ```text
//! point = c + d n,    overlap = r − d.                                   (1)
//! ```

mod sphere_box;
mod sphere_frustum;
mod sphere_half_space;
mod sphere_mesh;
mod sphere_sphere;

pub use sphere_sphere::{SphereTouch, sphere_sphere};

use crate::shape::{MAX_CONFORMITY, Touch, WallShape};
use glam::DVec3;
use sphere_frustum::Frustum;

/// The sphere of a query, in the wall's local frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    pub centre: DVec3,
    pub radius: f64,
    /// Touches with a gap below this are reported (m).
    pub margin: f64,
}

impl Probe {
    /// Whether a surface at this signed distance counts as touched.
    fn reaches(&self, distance: f64) -> bool {
        self.radius - distance > -self.margin
    }

    /// The touch of equation (1).
    fn touch(&self, normal: DVec3, distance: f64, curvature: f64, feature: u32) -> Touch {
        Touch {
            normal,
            point: self.centre + distance * normal,
            overlap: self.radius - distance,
            curvature: curvature.max(-MAX_CONFORMITY / self.radius),
            feature,
        }
    }
}

impl WallShape {
    /// Appends every touch with `overlap > -margin` of the sphere, all in the wall's local frame.
    ///
    /// Containers (`Side::Inside`) report each face separately. A centre up to one radius beyond
    /// a face of a closed container is pushed back inside; further out the sphere is taken to be
    /// outside, where a container has no touches. Solids report one touch, the nearest point, and
    /// push a centre inside them out through the nearest face.
    pub fn touches(&self, centre: DVec3, radius: f64, margin: f64, out: &mut Vec<Touch>) {
        let probe = Probe {
            centre,
            radius,
            margin,
        };
        match self {
            Self::HalfSpace => sphere_half_space::touches(&probe, out),
            Self::Box { half_extents, side } => {
                sphere_box::touches(&probe, *half_extents, *side, out);
            }
            Self::Cylinder {
                radius,
                length,
                side,
                caps,
            } => Frustum::new(*radius, *radius, *length).touches(&probe, *side, *caps, out),
            Self::Cone {
                radius_bottom,
                radius_top,
                length,
                side,
                caps,
            } => Frustum::new(*radius_bottom, *radius_top, *length)
                .touches(&probe, *side, *caps, out),
            Self::Mesh(mesh) => sphere_mesh::touches(&probe, mesh, out),
        }
    }
}
