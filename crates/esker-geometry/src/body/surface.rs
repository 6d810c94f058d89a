//! Bodies as triangles, for export and pictures of other programs.

use super::BodyShape;
use crate::mesh::TriangleSoup;
use crate::shape::OpenFaces;
use crate::triangulate::cuboid;
use glam::{DVec2, DVec3};
use std::f64::consts::{FRAC_PI_2, PI, TAU};

/// Facets around a round body: the sagitta is 0.9 % of the radius.
const AROUND: u32 = 24;

impl BodyShape {
    /// The surface as triangles, counter-clockwise seen from outside. Corners lie on the surface,
    /// so that round bodies are a little too small; spheres of a clump and parts of a
    /// compound are whole.
    pub fn triangulate(&self) -> TriangleSoup {
        self.triangulate_with(AROUND)
    }

    /// The same with so many facets around round bodies, an even number, and half as many from
    /// pole to pole.
    pub fn triangulate_with(&self, around: u32) -> TriangleSoup {
        match self {
            Self::Sphere { radius } => ball(DVec3::ZERO, DVec3::splat(*radius), around),
            Self::Ellipsoid { semi_axes } => ball(DVec3::ZERO, *semi_axes, around),
            Self::Capsule {
                radius,
                half_length,
            } => {
                // From a pole to the equator, and on from there.
                let quarter = (around / 4).max(1);
                let arc = |k: u32| {
                    let share = f64::from(k) / f64::from(2 * quarter);
                    *radius * DVec2::from_angle(PI * share - FRAC_PI_2)
                };
                let lower = (0..=quarter).map(|k| arc(k) - half_length * DVec2::Y);
                let upper = (quarter..=2 * quarter).map(|k| arc(k) + half_length * DVec2::Y);
                revolved(&lower.chain(upper).collect::<Vec<_>>(), around)
            }
            Self::Cylinder {
                radius,
                half_length,
            } => {
                let profile = [
                    DVec2::new(0.0, -half_length),
                    DVec2::new(*radius, -half_length),
                    DVec2::new(*radius, *half_length),
                    DVec2::new(0.0, *half_length),
                ];
                revolved(&profile, around)
            }
            Self::Box { half_edges } => cuboid(*half_edges, OpenFaces::NONE),
            Self::Polyhedron(polyhedron) => TriangleSoup {
                vertices: polyhedron.vertices().to_vec(),
                triangles: polyhedron.triangles().collect(),
            },
            Self::Clump(clump) => {
                let spheres = clump.spheres().iter();
                let whole = |&(centre, radius): &_| ball(centre, DVec3::splat(radius), around);
                joined(spheres.map(whole))
            }
            Self::Mesh(mesh) => mesh.mesh().soup().clone(),
            Self::Compound(compound) => joined(compound.parts().iter().map(|(part, pose)| {
                let mut surface = part.triangulate_with(around);
                for vertex in &mut surface.vertices {
                    *vertex = pose.to_world(*vertex);
                }
                surface
            })),
        }
    }
}

/// Several surfaces as one.
fn joined(surfaces: impl Iterator<Item = TriangleSoup>) -> TriangleSoup {
    let mut all = TriangleSoup::default();
    for surface in surfaces {
        let first = all.vertices.len() as u32;
        all.vertices.extend(surface.vertices);
        let triangles = surface.triangles.into_iter();
        all.triangles
            .extend(triangles.map(|corners| corners.map(|corner| first + corner)));
    }
    all
}

/// An ellipsoid about a centre.
fn ball(centre: DVec3, semi_axes: DVec3, around: u32) -> TriangleSoup {
    let along = (around / 2).max(2);
    let profile =
        (0..=along).map(|k| DVec2::from_angle(PI * f64::from(k) / f64::from(along) - FRAC_PI_2));
    let mut soup = revolved(&profile.collect::<Vec<_>>(), around);
    for vertex in &mut soup.vertices {
        *vertex = centre + *vertex * semi_axes;
    }
    soup
}

/// The surface that a profile (distance from the z axis, height) describes about that axis. The
/// ends of the profile lie on the axis, the lower one first.
fn revolved(profile: &[DVec2], around: u32) -> TriangleSoup {
    let Some(([bottom, inner @ ..], top)) = profile.split_last().map(|(top, rest)| (rest, top))
    else {
        return TriangleSoup::default();
    };
    let mut soup = TriangleSoup {
        vertices: vec![DVec3::Z * bottom.y, DVec3::Z * top.y],
        triangles: Vec::new(),
    };
    for point in inner {
        for k in 0..around {
            let direction = DVec2::from_angle(TAU * f64::from(k) / f64::from(around));
            soup.vertices.push((point.x * direction).extend(point.y));
        }
    }
    let rings = inner.len() as u32;
    let at = |ring: u32, k: u32| 2 + ring * around + k % around;
    for k in 0..around {
        soup.triangles.push([0, at(0, k + 1), at(0, k)]);
        for ring in 1..rings {
            let [a, b] = [at(ring - 1, k), at(ring - 1, k + 1)];
            let [c, d] = [at(ring, k + 1), at(ring, k)];
            soup.triangles.extend([[a, b, c], [a, c, d]]);
        }
        soup.triangles
            .push([1, at(rings - 1, k), at(rings - 1, k + 1)]);
    }
    soup
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::{Clump, Polyhedron};
    use crate::mesh::TriangleMesh;
    use std::sync::Arc;

    /// Inside out, a hole or a wrong dimension would show in the enclosed volume.
    #[test]
    fn surfaces_are_closed_and_enclose_the_volume_of_the_body() {
        let points = [
            [0, 0, 0],
            [3, 0, 0],
            [0, 2, 0],
            [0, 0, 1],
            [2, 2, 2],
            [3, 2, 0],
        ];
        let points = points.map(|p| DVec3::from(p.map(f64::from)));
        let two = [(DVec3::ZERO, 1.0), (3.0 * DVec3::X, 0.5)];
        let semi_axes = DVec3::new(0.3, 0.5, 0.9);
        let (radius, half_length) = (0.4, 0.7);
        for (shape, tolerance) in [
            (BodyShape::Sphere { radius }, 0.05),
            (BodyShape::Ellipsoid { semi_axes }, 0.05),
            (
                BodyShape::Capsule {
                    radius,
                    half_length,
                },
                0.05,
            ),
            (
                BodyShape::Cylinder {
                    radius,
                    half_length,
                },
                0.02,
            ),
            (
                BodyShape::Box {
                    half_edges: semi_axes,
                },
                1e-12,
            ),
            (
                BodyShape::Polyhedron(Arc::new(Polyhedron::from_points(&points).unwrap().0)),
                1e-12,
            ),
            (
                BodyShape::Clump(Arc::new(Clump::new(&two).unwrap().0)),
                0.05,
            ),
        ] {
            let soup = shape.triangulate();
            let mesh = TriangleMesh::new(soup.clone()).unwrap();
            assert!(mesh.is_closed(), "{shape:?}");
            assert_eq!(mesh.dropped_triangles(), 0, "{shape:?}");
            let sixth = |index: usize| {
                let [a, b, c] = soup.corners(index);
                a.dot(b.cross(c)) / 6.0
            };
            let volume: f64 = (0..soup.triangles.len()).map(sixth).sum();
            let exact = shape.mass_properties().volume;
            let missing = 1.0 - volume / exact;
            assert!(
                (-1e-12..tolerance).contains(&missing),
                "{shape:?}: {missing}"
            );
        }
    }
}
