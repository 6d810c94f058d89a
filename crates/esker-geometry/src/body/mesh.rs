//! Bodies whose surface is a triangle mesh: buckets, screws, liners of drums.
//!
//! The surface need not be convex nor closed, and grains can be on either side of it: they touch
//! it as they touch a wall that is a mesh (`pairs/sphere_mesh.rs`). A closed surface has the mass
//! properties of what it encloses; those of an open one must be given.

use super::compound::{InertiaError, principal_moments};
use super::polyhedron::{Solid, enclosed_volume, without_rounding};
use super::principal::principal_axes;
use super::{MassProperties, inertia_of};
use crate::mesh::{MeshError, TriangleMesh, TriangleSoup};
use crate::{Pose, WallShape};
use glam::{DMat3, DQuat, DVec3};
use std::sync::Arc;
use thiserror::Error;

/// The surface of a body, about its centre of mass, in its principal axes.
#[derive(Clone, Debug)]
pub struct BodyMesh {
    mesh: Arc<TriangleMesh>,
    /// The surface as grains touch it.
    wall: WallShape,
    mass_properties: MassProperties,
    bounding_radius: f64,
}

/// A surface that a body cannot have.
#[derive(Debug, Error)]
pub enum BodyMeshError {
    /// It is no surface.
    #[error(transparent)]
    Mesh(#[from] MeshError),
    /// It has an edge with one triangle, or more than two.
    #[error(
        "the surface is not closed: it has no volume that its mass and inertia could follow from"
    )]
    Open,
    /// Triangles that share an edge are wound against each other.
    #[error("neighbouring triangles of the surface are wound against each other")]
    MixedWinding,
    /// Triangles are clockwise seen from outside.
    #[error("the surface is inside out: its triangles are clockwise seen from outside")]
    InsideOut,
}

/// Two bodies have the same surface where its points and triangles are the same.
impl PartialEq for BodyMesh {
    fn eq(&self, other: &Self) -> bool {
        self.mass_properties == other.mass_properties && self.mesh.soup() == other.mesh.soup()
    }
}

impl BodyMesh {
    /// A closed surface, wound outwards, filled homogeneously; with it the pose of its frame (the
    /// centre of mass and the principal axes) in that of the points.
    pub fn closed(soup: &TriangleSoup) -> Result<(Self, Pose), BodyMeshError> {
        let mesh = TriangleMesh::new(soup.clone())?;
        if !mesh.is_closed() {
            return Err(BodyMeshError::Open);
        }
        let soup = mesh.soup();
        let within = mesh.bounds().centre();
        let volume = enclosed_volume(soup, within).ok_or(BodyMeshError::MixedWinding)?;
        if volume <= 0.0 {
            return Err(BodyMeshError::InsideOut);
        }
        let solid = Solid::of(&soup.vertices, &soup.triangles);
        let (mean_squares, axes) = principal_axes(without_rounding(solid.second_moment));
        let frame = Pose::new(solid.centre, DQuat::from_mat3(&axes).normalize());
        let mass_properties = MassProperties {
            volume,
            inertia_per_mass: inertia_of(mean_squares),
        };
        Ok((Self::in_frame(soup, frame, mass_properties)?, frame))
    }

    /// Any surface as it is given. Mass properties are to be given too: see
    /// [`BodyMesh::with_inertia`].
    pub fn hollow(soup: &TriangleSoup) -> Result<Self, BodyMeshError> {
        let mass_properties = MassProperties {
            volume: 0.0,
            inertia_per_mass: DVec3::ZERO,
        };
        Self::in_frame(soup, Pose::IDENTITY, mass_properties)
    }

    /// The surface at a pose of a body with this centre of mass (m) and this inertia per mass about it
    /// (m²); with it the pose of its frame, as in [`BodyMesh::closed`].
    pub fn with_inertia(
        &self,
        place: Pose,
        centre: DVec3,
        inertia_per_mass: DMat3,
    ) -> Result<(Self, Pose), InertiaError> {
        let (moments, axes) = principal_moments(inertia_per_mass)?;
        let frame = Pose::new(centre, DQuat::from_mat3(&axes).normalize());
        let mass_properties = MassProperties {
            inertia_per_mass: moments,
            ..self.mass_properties
        };
        let moved = Self::in_frame(self.mesh.soup(), place.inverse() * frame, mass_properties);
        // A surface that is moved stays one.
        let moved = moved.unwrap_or_else(|_| self.clone());
        Ok((moved, frame))
    }

    fn in_frame(
        soup: &TriangleSoup,
        frame: Pose,
        mass_properties: MassProperties,
    ) -> Result<Self, BodyMeshError> {
        let vertices = soup.vertices.iter().map(|&vertex| frame.to_local(vertex));
        let mesh = Arc::new(TriangleMesh::new(TriangleSoup {
            vertices: vertices.collect(),
            triangles: soup.triangles.clone(),
        })?);
        let lengths = mesh.soup().vertices.iter().map(|vertex| vertex.length());
        Ok(Self {
            bounding_radius: lengths.fold(0.0, f64::max),
            wall: WallShape::Mesh(mesh.clone()),
            mesh,
            mass_properties,
        })
    }

    /// The surface in the body's frame.
    pub fn mesh(&self) -> &TriangleMesh {
        &self.mesh
    }

    /// The surface as a wall in the body's frame.
    pub(crate) fn wall(&self) -> &WallShape {
        &self.wall
    }

    pub(super) fn mass_properties(&self) -> MassProperties {
        self.mass_properties
    }

    /// Radius of the smallest ball about the centre of mass around the surface (m).
    pub(super) fn bounding_radius(&self) -> f64 {
        self.bounding_radius
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BodyShape;

    fn tilted() -> Pose {
        let axis = DVec3::new(2.0, -1.0, 2.0) / 3.0;
        Pose::new(
            DVec3::new(3.0, -2.0, 5.0),
            DQuat::from_axis_angle(axis, 1.1),
        )
    }

    fn cuboid(place: Pose) -> TriangleSoup {
        let half_edges = DVec3::new(0.1, 0.2, 0.3);
        let mut soup = BodyShape::Box { half_edges }.triangulate();
        let vertices = soup.vertices.iter_mut();
        vertices.for_each(|vertex| *vertex = place.to_world(*vertex));
        soup
    }

    /// Wherever a closed surface is given, it encloses the body's mass.
    #[test]
    fn a_closed_surface_has_the_mass_properties_of_what_it_encloses() {
        let half_edges = DVec3::new(0.1, 0.2, 0.3);
        let exact = BodyShape::Box { half_edges }.mass_properties();
        for place in [Pose::IDENTITY, tilted()] {
            let (mesh, frame) = BodyMesh::closed(&cuboid(place)).unwrap();
            let MassProperties {
                volume,
                inertia_per_mass,
            } = mesh.mass_properties();
            assert!((volume / exact.volume - 1.0).abs() < 1e-12);
            assert!(frame.position.distance(place.position) < 1e-12);
            let sorted = |v: DVec3| {
                let mut list = v.to_array();
                list.sort_by(f64::total_cmp);
                DVec3::from(list)
            };
            let error = sorted(inertia_per_mass) - sorted(exact.inertia_per_mass);
            assert!(error.length() < 1e-12);
            assert!((mesh.bounding_radius() - half_edges.length()).abs() < 1e-12);
        }
    }

    #[test]
    fn surfaces_without_a_volume_need_a_given_inertia() {
        let mut open = cuboid(tilted());
        open.triangles.pop();
        assert!(matches!(BodyMesh::closed(&open), Err(BodyMeshError::Open)));
        let mut inside_out = cuboid(Pose::IDENTITY);
        inside_out.triangles.iter_mut().for_each(|t| t.swap(0, 1));
        let turned = BodyMesh::closed(&inside_out);
        assert!(matches!(turned, Err(BodyMeshError::InsideOut)));
        let mut mixed = cuboid(Pose::IDENTITY);
        mixed.triangles[0].swap(0, 1);
        let mixed = BodyMesh::closed(&mixed);
        assert!(matches!(mixed, Err(BodyMeshError::MixedWinding)));
        let hollow = BodyMesh::hollow(&open).unwrap();
        assert_eq!(hollow.mass_properties().volume, 0.0);
        let centre = DVec3::new(0.0, 0.0, 0.1);
        let moments = DVec3::new(0.02, 0.03, 0.04);
        let inertia = DMat3::from_diagonal(moments);
        let (mesh, frame) = hollow.with_inertia(tilted(), centre, inertia).unwrap();
        assert_eq!(frame.position, centre);
        let found = mesh.mass_properties().inertia_per_mass;
        assert!(found.distance(moments) < 1e-15);
        // Its points are where they were.
        for given in &open.vertices {
            let own = frame.to_local(tilted().to_world(*given));
            let found = mesh.mesh().soup().vertices.iter();
            let nearest = found.map(|v| v.distance(own)).fold(f64::INFINITY, f64::min);
            assert!(nearest < 1e-12, "{nearest}");
        }
        let impossible = DMat3::from_diagonal(DVec3::new(0.02, 0.03, 0.4));
        let refused = hollow.with_inertia(Pose::IDENTITY, centre, impossible);
        assert!(matches!(refused, Err(InertiaError::Triangle(_))));
    }
}
