//! The table of bodies and walls.

use super::body_body::ellipsoid;
use super::ellipsoid_box::{self, BoxWall};
use super::sharp::PlacedEllipsoid;
use super::sphere_frustum::Frustum;
use super::{
    Each, Probe, capsule_wall, clump_body, compound_body, convex, ellipsoid_half_space,
    ellipsoid_mesh,
};
use crate::body::{BodyShape, PlacedShape};
use crate::manifold::{Conformity, ContactPoint};
use crate::shape::{Side, Touch, WallShape, WallSurface};
use crate::smooth::capsule::Capsule;
use glam::DVec3;

/// What is asked of a body and a wall.
#[derive(Clone, Copy)]
pub struct WallQuery<'a> {
    /// Points with a gap below this are reported (m).
    pub margin: f64,
    /// How far the body may move before it is looked at again (m), see [`Probe::motion`].
    pub motion: f64,
    /// From which side the wall held it last, see [`Probe::last_side`].
    pub last_side: &'a dyn Fn() -> Option<Side>,
}

impl<'a> WallQuery<'a> {
    /// A query that knows nothing of before and after.
    pub fn within(margin: f64) -> WallQuery<'a> {
        WallQuery {
            margin,
            motion: 0.0,
            last_side: &|| None,
        }
    }

    pub(super) fn probe(&self, centre: DVec3, radius: f64) -> Probe<'a> {
        Probe {
            centre,
            radius,
            margin: self.margin,
            motion: self.motion,
            last_side: self.last_side,
        }
    }
}

impl WallShape {
    /// Appends all points of contact with a gap below the margin of a body that is placed in the
    /// wall's local frame. Normals point from the body to the wall.
    ///
    /// Containers are thin shells and solids are convex, as for spheres: see
    /// [`WallShape::touches_of`].
    pub fn body_contacts(
        &self,
        body: &PlacedShape,
        query: &WallQuery<'_>,
        out: &mut Vec<ContactPoint>,
    ) {
        match body.shape {
            BodyShape::Sphere { radius } => {
                let radius = body.scale * radius;
                self.sphere_contacts(&query.probe(body.position, radius), |contact| {
                    out.push(contact);
                });
            }
            BodyShape::Clump(clump) => {
                let count = clump.spheres().len() as u32;
                for (part, (centre, radius)) in (0..).zip(clump_body::spheres(clump, body)) {
                    self.sphere_contacts(&query.probe(centre, radius), |contact| {
                        out.push(contact.of_part(part, count));
                    });
                }
            }
            BodyShape::Capsule {
                radius,
                half_length,
            } => {
                let capsule = Capsule::new(*radius, *half_length, body);
                capsule_wall::contacts(self, &capsule, query, out);
            }
            BodyShape::Ellipsoid { semi_axes } => {
                let body = PlacedEllipsoid {
                    body: &ellipsoid(*semi_axes, body),
                    centre: body.position,
                };
                self.ellipsoid_contacts(&body, query, out);
            }
            BodyShape::Box { .. } | BodyShape::Cylinder { .. } | BodyShape::Polyhedron(_) => {
                convex::wall_contacts(self, body, query, out);
            }
            BodyShape::Compound(compound) => {
                compound_body::wall_contacts(self, (compound, body), query, out);
            }
            // Two thin surfaces pass through each other.
            BodyShape::Mesh(_) => {}
        }
    }

    fn ellipsoid_contacts(
        &self,
        body: &PlacedEllipsoid,
        query: &WallQuery<'_>,
        out: &mut Vec<ContactPoint>,
    ) {
        match self.surface() {
            WallSurface::HalfSpace => ellipsoid_half_space::contacts(body, query, out),
            WallSurface::Box {
                half_extents: half,
                side,
                open,
            } => match side {
                Side::Inside => ellipsoid_box::shell(&BoxWall { half, open }, body, query, out),
                Side::Outside => ellipsoid_box::solid(half, body, query, out),
            },
            WallSurface::Frustum {
                radii,
                length,
                side,
                open,
            } => {
                let frustum = Frustum::new(radii, length);
                frustum.ellipsoid_contacts(body, (side, open), query, out);
            }
            WallSurface::Mesh(mesh) => ellipsoid_mesh::contacts(mesh, body, query, out),
        }
    }

    /// The contacts of a sphere.
    pub(super) fn sphere_contacts(&self, probe: &Probe, mut push: impl FnMut(ContactPoint)) {
        self.each_touch(
            probe,
            &mut Each(|touch: Touch| push(touch.contact(probe.radius))),
        );
    }

    /// From which side a container holds a body of this shape that touches this feature; `None` for
    /// rims and for walls that are no containers.
    pub fn side_of_body(&self, shape: &BodyShape, feature: u32) -> Option<Side> {
        match shape {
            BodyShape::Box { .. }
            | BodyShape::Cylinder { .. }
            | BodyShape::Polyhedron(_)
            | BodyShape::Compound(_) => convex::container_side(self, feature),
            _ => self.side_of(feature / parts_of(shape)),
        }
    }
}

/// In how many parts, each with contacts of its own, a shape meets a wall.
fn parts_of(shape: &BodyShape) -> u32 {
    match shape {
        BodyShape::Clump(clump) => clump.spheres().len() as u32,
        BodyShape::Capsule { .. } => capsule_wall::PARTS,
        _ => 1,
    }
}

impl ContactPoint {
    /// The contact of one of several parts of a body, named so.
    pub(super) fn of_part(self, part: u32, count: u32) -> Self {
        Self {
            feature: self.feature.wrapping_mul(count).wrapping_add(part),
            ..self
        }
    }
}

impl Touch {
    /// The contact of a sphere with this radius (m).
    pub(super) fn contact(&self, radius: f64) -> ContactPoint {
        ContactPoint {
            point: self.point + 0.5 * self.overlap * self.normal,
            normal: self.normal,
            gap: -self.overlap,
            feature: self.feature,
            conformity: Conformity::of_sphere(radius, self.curvature),
        }
    }
}
