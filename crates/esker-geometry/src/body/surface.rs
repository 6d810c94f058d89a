//! Bodies as triangles, for export and pictures of other programs.

use super::BodyShape;
use crate::mesh::TriangleSoup;
use crate::shape::OpenFaces;
use crate::triangulate::cuboid;
use glam::{DVec2, DVec3};
use std::f64::consts::{FRAC_PI_2, PI, TAU};

/// Facets around a round body: the sagitta is 0.9 % of the radius.
const AROUND: u32 = 24;
/// Facets from pole to pole of a sphere.
const ALONG: u32 = 12;

impl BodyShape {
    /// The surface as triangles, counter-clockwise seen from outside. Corners lie on the surface,
    /// so that round bodies are a little too small; spheres of a clump are whole.
    pub fn triangulate(&self) -> TriangleSoup {
        match self {
            Self::Sphere { radius } => ball(DVec3::ZERO, DVec3::splat(*radius)),
            Self::Ellipsoid { semi_axes } => ball(DVec3::ZERO, *semi_axes),
            Self::Capsule {
                radius,
                half_length,
            } => {
                let half = ALONG / 2;
                let arc = |k: u32| {
                    *radius * DVec2::from_angle(PI * f64::from(k) / f64::from(ALONG) - FRAC_PI_2)
                };
                let lower = (0..=half).map(|k| arc(k) - half_length * DVec2::Y);
                let upper = (half..=ALONG).map(|k| arc(k) + half_length * DVec2::Y);
                revolved(&lower.chain(upper).collect::<Vec<_>>())
            }
            Self::Cylinder {
                radius,
                half_length,
            } => revolved(&[
                DVec2::new(0.0, -half_length),
                DVec2::new(*radius, -half_length),
                DVec2::new(*radius, *half_length),
                DVec2::new(0.0, *half_length),
            ]),
            Self::Box { half_edges } => cuboid(*half_edges, OpenFaces::NONE),
            Self::Polyhedron(polyhedron) => TriangleSoup {
                vertices: polyhedron.vertices().to_vec(),
                triangles: polyhedron.triangles().collect(),
            },
            Self::Clump(clump) => {
                let mut all = TriangleSoup::default();
                for &(centre, radius) in clump.spheres() {
                    let first = all.vertices.len() as u32;
                    let sphere = ball(centre, DVec3::splat(radius));
                    all.vertices.extend(sphere.vertices);
                    let triangles = sphere.triangles.into_iter();
                    all.triangles
                        .extend(triangles.map(|corners| corners.map(|corner| first + corner)));
                }
                all
            }
        }
    }
}

/// An ellipsoid about a centre.
fn ball(centre: DVec3, semi_axes: DVec3) -> TriangleSoup {
    let profile =
        (0..=ALONG).map(|k| DVec2::from_angle(PI * f64::from(k) / f64::from(ALONG) - FRAC_PI_2));
    let mut soup = revolved(&profile.collect::<Vec<_>>());
    for vertex in &mut soup.vertices {
        *vertex = centre + *vertex * semi_axes;
    }
    soup
}

/// The surface that a profile (distance from the z axis, height) describes about that axis. The
/// ends of the profile lie on the axis, the lower one first.
fn revolved(profile: &[DVec2]) -> TriangleSoup {
    let Some(([bottom, inner @ ..], top)) = profile.split_last().map(|(top, rest)| (rest, top))
    else {
        return TriangleSoup::default();
    };
    let mut soup = TriangleSoup {
        vertices: vec![DVec3::Z * bottom.y, DVec3::Z * top.y],
        triangles: Vec::new(),
    };
    for point in inner {
        for k in 0..AROUND {
            let around = DVec2::from_angle(TAU * f64::from(k) / f64::from(AROUND));
            soup.vertices.push((point.x * around).extend(point.y));
        }
    }
    let rings = inner.len() as u32;
    let at = |ring: u32, k: u32| 2 + ring * AROUND + k % AROUND;
    for k in 0..AROUND {
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
