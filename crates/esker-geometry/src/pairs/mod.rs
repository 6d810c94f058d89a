//! Narrow phase: where two shapes touch.
//!
//! One file per pair. Three tables hold all of them: [`body_contacts`] of two bodies,
//! [`WallShape::body_contacts`] of a body and a wall, and, for spheres alone, the short way of
//! [`WallShape::touches`] below. Every touch of a sphere is
//! fixed by a unit normal `n` from the sphere to the wall and the signed distance `d` from the
//! centre `c` to the surface along it (negative when the centre is beyond the surface):
//!
//! ```text
//! point = c + d n,    overlap = r − d.                                   (1)
//! ```

mod body_body;
mod body_mesh;
mod body_wall;
mod capsule_capsule;
mod capsule_ellipsoid;
mod capsule_wall;
mod clump_body;
mod compound_body;
mod convex;
mod ellipsoid_box;
mod ellipsoid_ellipsoid;
mod ellipsoid_frustum;
mod ellipsoid_half_space;
mod ellipsoid_mesh;
mod ellipsoid_wall;
mod mesh_minima;
mod rates;
mod sharp;
mod sphere_box;
mod sphere_frustum;
mod sphere_half_space;
mod sphere_mesh;
mod sphere_sphere;

pub use body_body::{BodyQuery, body_contacts};
pub use body_wall::WallQuery;
pub use rates::contact_rates;
pub use sphere_sphere::{SphereTouch, sphere_sphere};

use crate::shape::{MAX_CONFORMITY, Side, Touch, WallShape, WallSurface};
use glam::DVec3;
pub use sphere_frustum::Frustum;

/// How far beyond the surface of a container a centre is taken for one that was squeezed out of
/// it, where it was held inside last, in radii.
const INSIDE_RECOVERY: f64 = 1.0;
/// How far within a container a centre is taken for one that was squeezed in, where it was held
/// outside last, in radii.
const OUTSIDE_RECOVERY: f64 = 0.5;

/// The sphere of a query, in the wall's local frame.
#[derive(Clone, Copy)]
pub struct Probe<'a> {
    /// Its centre (m).
    pub centre: DVec3,
    /// Its radius (m).
    pub radius: f64,
    /// Touches with a gap below this are reported (m).
    pub margin: f64,
    /// How far it may move before it is looked at again (m). Tangent planes of a hollow wall that
    /// it can reach on its way are touches too.
    pub motion: f64,
    /// From which side the wall held it last. Asked only where the centre is so near the surface
    /// of a container that it may have been squeezed through; without an answer the centre decides.
    pub last_side: &'a dyn Fn() -> Option<Side>,
}

impl<'a> Probe<'a> {
    /// A sphere of which nothing else is known.
    pub fn at(centre: DVec3, radius: f64, margin: f64) -> Probe<'a> {
        Probe {
            centre,
            radius,
            margin,
            motion: 0.0,
            last_side: &|| None,
        }
    }

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

    /// The touch of a point, if in reach; `fallback` is its normal where the centre is the point.
    fn point_touch(&self, point: DVec3, fallback: DVec3, feature: u32) -> Option<Touch> {
        let offset = point - self.centre;
        let distance = offset.length();
        if !self.reaches(distance) {
            return None;
        }
        let normal = if distance > 0.0 {
            offset / distance
        } else {
            fallback
        };
        Some(self.touch(normal, distance, 0.0, feature))
    }

    /// Whether a container holds the sphere from inside, from the depth of its centre within the
    /// container (negative beyond it) and whether all faces that are that near are closed.
    ///
    /// The side of the centre decides, but for a sphere that was squeezed more than a radius into
    /// the shell: it goes back to where it was. Whichever way it is decided, a sphere that changes
    /// sides then overlaps less than before, so that the wall does not add energy.
    fn is_held_inside(&self, depth: f64, is_closed: bool) -> bool {
        let is_inside = depth >= 0.0;
        let recovery = if is_inside {
            OUTSIDE_RECOVERY
        } else {
            INSIDE_RECOVERY
        };
        if !is_closed || depth.abs() > recovery * self.radius {
            return is_inside;
        }
        (self.last_side)().map_or(is_inside, |side| side == Side::Inside)
    }
}

/// Takes touches one by one.
pub(crate) trait TouchSink {
    fn push(&mut self, touch: Touch);

    fn extend(&mut self, touches: impl IntoIterator<Item = Touch>) {
        for touch in touches {
            self.push(touch);
        }
    }
}

impl TouchSink for Vec<Touch> {
    fn push(&mut self, touch: Touch) {
        Vec::push(self, touch);
    }
}

/// Hands touches to a function.
pub(crate) struct Each<F>(pub F);

impl<F: FnMut(Touch)> TouchSink for Each<F> {
    fn push(&mut self, touch: Touch) {
        (self.0)(touch);
    }
}

impl WallShape {
    /// Appends every touch with `overlap > -margin` of the sphere, all in the wall's local frame.
    /// See [`WallShape::touches_of`].
    pub fn touches(&self, centre: DVec3, radius: f64, margin: f64, out: &mut Vec<Touch>) {
        self.touches_of(&Probe::at(centre, radius, margin), out);
    }

    /// Appends every touch with `overlap > -margin` of the sphere, all in the wall's local frame.
    ///
    /// Containers (`Side::Inside`) are thin shells: from inside each face is reported separately,
    /// from outside the nearest point, and around open faces the rims. Solids report one touch,
    /// the nearest point, and push a centre inside them out through the nearest face.
    pub fn touches_of(&self, probe: &Probe<'_>, out: &mut Vec<Touch>) {
        self.each_touch(probe, out);
    }

    /// [`WallShape::touches_of`], to whoever takes them.
    pub(crate) fn each_touch(&self, probe: &Probe<'_>, out: &mut impl TouchSink) {
        match self.surface() {
            WallSurface::HalfSpace => sphere_half_space::touches(probe, out),
            WallSurface::Box {
                half_extents,
                side,
                open,
            } => match side {
                Side::Inside => sphere_box::shell(probe, half_extents, open, out),
                Side::Outside => sphere_box::solid(probe, half_extents, out),
            },
            WallSurface::Frustum {
                radii,
                length,
                side,
                open,
            } => Frustum::new(radii, length).touches(probe, side, open, out),
            WallSurface::Mesh(mesh) => sphere_mesh::touches(probe, mesh, out),
        }
    }

    /// The mantle of a cylinder or cone.
    pub fn mantle(&self) -> Option<Frustum> {
        match self.surface() {
            WallSurface::Frustum { radii, length, .. } => Some(Frustum::new(radii, length)),
            _ => None,
        }
    }

    /// From which side a container holds a sphere that touches this feature; `None` for rims and
    /// for walls that are no containers.
    pub fn side_of(&self, feature: u32) -> Option<Side> {
        match self.surface() {
            WallSurface::Box {
                side: Side::Inside, ..
            } => sphere_box::side_of(feature),
            WallSurface::Frustum {
                side: Side::Inside, ..
            } => sphere_frustum::side_of(feature),
            _ => None,
        }
    }
}
