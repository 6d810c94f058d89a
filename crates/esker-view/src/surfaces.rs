//! Surfaces of walls, of shapes of grains and of marks of joints as bytes for the graphics card, sent once.
//!
//! A surface is a list of corners, three per triangle, each with its place, its normal (smooth
//! where the surface is) and its distances from the triangle's sharp sides, and a list of edges with
//! the normals of the faces that meet there: an edge is drawn where it is sharp, or where one of
//! its faces looks away. What is smooth and sharp is decided by [`esker::render::Surface`], as in
//! pictures. `docs/src/view.md` has the layout.

use esker::geometry::{BodyShape, TriangleSoup};
use esker::picture::joint_surfaces;
use esker::record::RecordingHeader;
use esker::render::{Surface, Triangle};
use glam::DVec3;

use crate::frame_bytes::Bytes;

/// First four bytes: `ESKS`.
pub const MAGIC: u32 = u32::from_le_bytes(*b"ESKS");
/// Version of the layout.
pub const VERSION: u32 = 1;
/// Facets around round grains: near by, and where there are many.
const AROUND: [u32; 2] = [24, 8];

/// The surfaces of all walls, then those of all shapes, fine and coarse, then ball and bar of joints.
pub fn encode(header: &RecordingHeader) -> Vec<u8> {
    let mut out = Bytes(Vec::new());
    out.u32(MAGIC);
    out.u32(VERSION);
    out.u32(header.walls.len() as u32);
    out.u32(header.shapes.len() as u32);
    for wall in &header.walls {
        put_surface(&mut out, &Surface::new(&triangles(&wall.surface)));
    }
    for shape in &header.shapes {
        for around in AROUND {
            put_surface(&mut out, &surface_of(shape, around));
        }
    }
    for soup in joint_surfaces() {
        put_surface(&mut out, &Surface::new(&triangles(&soup)));
    }
    out.0
}

fn surface_of(shape: &BodyShape, around: u32) -> Surface {
    match shape {
        // Drawn as spheres: see `about`.
        BodyShape::Clump(_) | BodyShape::Sphere { .. } => Surface::new(&[]),
        BodyShape::Box { .. } | BodyShape::Polyhedron(_) => {
            Surface::of_flat_faces(&triangles(&shape.triangulate()))
        }
        shape => Surface::new(&triangles(&shape.triangulate_with(around))),
    }
}

fn triangles(soup: &TriangleSoup) -> Vec<Triangle> {
    let triangles = (0..soup.triangles.len()).map(|i| Triangle {
        corners: soup.corners(i),
    });
    triangles.collect()
}

fn put_surface(out: &mut Bytes, surface: &Surface) {
    let sides = surface.sides();
    let edges: Vec<_> = sides
        .chunk_by(|one, other| one.ends == other.ends)
        .map(|edge| (edge, surface.smooth_neighbours(edge).is_none()))
        .collect();
    let mut sharp: Vec<[usize; 2]> = edges
        .iter()
        .filter(|(_, is_sharp)| *is_sharp)
        .map(|(edge, _)| edge[0].ends)
        .collect();
    sharp.sort_unstable();
    out.u32(3 * surface.faces.len() as u32);
    out.u32(edges.len() as u32);
    for (face, corners) in surface.faces.iter().enumerate() {
        let points = corners.map(|corner| surface.points[corner]);
        let is_sharp = |side: usize| {
            let (a, b) = (corners[side], corners[(side + 1) % 3]);
            sharp.binary_search(&[a.min(b), a.max(b)]).is_ok()
        };
        let normals = surface.corner_normals(face);
        for corner in 0..3 {
            out.point(points[corner]);
            out.point(normals[corner]);
            for side in 0..3 {
                out.f32(match is_sharp(side) {
                    true => distance(points[corner], points[side], points[(side + 1) % 3]),
                    // Farther than any point of the surface.
                    false => f64::from(f32::MAX),
                });
            }
        }
    }
    for (edge, is_sharp) in edges {
        edge[0]
            .ends
            .iter()
            .for_each(|&end| out.point(surface.points[end]));
        let last = edge[edge.len() - 1];
        let one = surface.normals[edge[0].face];
        // Faces of opposite orientation are turned, so that both normals are of one side.
        let flipped = edge.len() == 2 && edge[0].forward == last.forward;
        let other = surface.normals[last.face] * if flipped { -1.0 } else { 1.0 };
        out.point(one);
        out.point(other);
        out.f32(if is_sharp { 1.0 } else { 0.0 });
    }
}

/// Distance of a point from the line through two others.
fn distance(p: DVec3, a: DVec3, b: DVec3) -> f64 {
    let along = (b - a).normalize_or_zero();
    (p - a).reject_from_normalized(along).length()
}
