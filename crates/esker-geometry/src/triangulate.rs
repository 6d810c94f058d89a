//! Analytic walls as triangles, for pictures, export and comparison with meshes.

use crate::mesh::TriangleSoup;
use crate::shape::{Face, OpenFaces, Side, WallShape, WallSurface};
use glam::{DVec2, DVec3};
use std::f64::consts::TAU;

/// Facets around a circle: the sagitta is 0.12 % of the radius.
const CIRCLE_SEGMENTS: u32 = 64;

impl WallShape {
    /// The surface as triangles whose normals point to the grains, circles as polygons of 64
    /// corners on the circle. A half-space becomes a square of half-width `extent` (m); the other
    /// shapes do not read it.
    pub fn triangulate(&self, extent: f64) -> TriangleSoup {
        match self.surface() {
            WallSurface::HalfSpace => half_space(extent),
            WallSurface::Box {
                half_extents,
                side,
                open,
            } => facing(cuboid(half_extents, open_faces(open, side)), side),
            WallSurface::Frustum {
                radii,
                length,
                side,
                open,
            } => frustum(radii, length, side, open),
            WallSurface::Mesh(mesh) => mesh.soup().clone(),
        }
    }
}

fn half_space(extent: f64) -> TriangleSoup {
    let corner = |x: f64, y: f64| DVec3::new(x * extent, y * extent, 0.0);
    TriangleSoup {
        vertices: vec![
            corner(-1.0, -1.0),
            corner(1.0, -1.0),
            corner(1.0, 1.0),
            corner(-1.0, 1.0),
        ],
        triangles: vec![[0, 1, 2], [0, 2, 3]],
    }
}

/// Turns outward triangles to the grains.
fn facing(mut outward: TriangleSoup, side: Side) -> TriangleSoup {
    if side == Side::Inside {
        for triangle in &mut outward.triangles {
            triangle.swap(1, 2);
        }
    }
    outward
}

/// A solid has all of its faces.
fn open_faces(open: OpenFaces, side: Side) -> OpenFaces {
    match side {
        Side::Inside => open,
        Side::Outside => OpenFaces::NONE,
    }
}

/// Corner `x + 2y + 4z` with each of `x`, `y`, `z` 0 or 1; faces in the order of [`Face::ALL`].
pub(crate) fn cuboid(half: DVec3, open: OpenFaces) -> TriangleSoup {
    let sign = |bit: u32| if bit == 0 { -1.0 } else { 1.0 };
    let corner = |k: u32| half * DVec3::new(sign(k & 1), sign(k & 2), sign(k & 4));
    let faces = [
        [0, 4, 6, 2],
        [1, 3, 7, 5],
        [0, 1, 5, 4],
        [2, 6, 7, 3],
        [0, 2, 3, 1],
        [4, 5, 7, 6],
    ];
    TriangleSoup {
        vertices: (0..8).map(corner).collect(),
        triangles: faces
            .iter()
            .zip(Face::ALL)
            .filter(|(_, face)| !open.contains(*face))
            .flat_map(|(&[a, b, c, d], _)| [[a, b, c], [a, c, d]])
            .collect(),
    }
}

fn frustum(radii: [f64; 2], length: f64, side: Side, open: OpenFaces) -> TriangleSoup {
    let heights = [-0.5 * length, 0.5 * length];
    let mut soup = TriangleSoup::default();
    // Each end is a ring of vertices, or its only point where the radius is zero.
    let mut end = |k: usize| {
        let first = soup.vertices.len() as u32;
        let count = if radii[k] > 0.0 { CIRCLE_SEGMENTS } else { 1 };
        for corner in 0..count {
            let angle = TAU * f64::from(corner) / f64::from(CIRCLE_SEGMENTS);
            let point = radii[k] * DVec2::from_angle(angle);
            soup.vertices.push(point.extend(heights[k]));
        }
        move |corner: u32| first + corner % count
    };
    let (bottom, top) = (end(0), end(1));
    for corner in 0..CIRCLE_SEGMENTS {
        if radii[0] > 0.0 {
            soup.triangles
                .push([bottom(corner), bottom(corner + 1), top(corner)]);
        }
        if radii[1] > 0.0 {
            soup.triangles
                .push([bottom(corner + 1), top(corner + 1), top(corner)]);
        }
    }
    let open = open_faces(open, side);
    let has_cap = |k: usize, face: Face| radii[k] > 0.0 && !open.contains(face);
    let caps = [has_cap(0, Face::Bottom), has_cap(1, Face::Top)];
    for corner in 1..CIRCLE_SEGMENTS - 1 {
        if caps[0] {
            soup.triangles
                .push([bottom(0), bottom(corner + 1), bottom(corner)]);
        }
        if caps[1] {
            soup.triangles.push([top(0), top(corner), top(corner + 1)]);
        }
    }
    facing(soup, side)
}
