//! Pairs of bodies of which one at least has flat faces, and such bodies at walls: box, cylinder,
//! polyhedron.
//!
//! | file | holds |
//! | --- | --- |
//! | `solid.rs` | what every convex shape can tell: support points, faces, lines, curvatures |
//! | `gjk.rs`, `epa.rs`, `axis.rs` | the direction in which two bodies are nearest |
//! | `polygon.rs`, `manifold.rs`, `conformity.rs` | the points of contact along it |
//! | `plane.rs`, `container.rs`, `mesh.rs` | walls that are not convex bodies |

mod axis;
mod conformity;
mod container;
mod epa;
mod gjk;
mod manifold;
mod mesh;
mod plane;
mod polygon;
mod solid;

use super::body_body::BodyQuery;
use super::body_wall::WallQuery;
use crate::Pose;
use crate::body::{BodyShape, PlacedShape};
use crate::manifold::ContactPoint;
use crate::shape::{Side, WallShape, WallSurface};
use container::{BoxShell, FrustumShell};
use glam::{DMat3, DVec3};
use manifold::Pair;
use plane::Plane;
use solid::Solid;

pub(crate) use container::{container_side, feature_of_part, feature_of_part_at_wall};

#[cfg(test)]
mod tests;
#[cfg(test)]
mod wall_tests;

/// Appends the points of contact of two bodies, neither of them a clump, with gaps below the margin.
pub(crate) fn body_contacts(
    a: &PlacedShape,
    b: &PlacedShape,
    query: &BodyQuery,
    out: &mut Vec<ContactPoint>,
) {
    let (Some(mut one), Some(mut two)) = (Solid::new(a), Solid::new(b)) else {
        return;
    };
    // About the centre of a: far from the origin digits would be lost.
    two.position -= one.position;
    one.position = DVec3::ZERO;
    let reach = one.bounding_radius() + two.bounding_radius() + query.margin;
    let is_near = two.position.length_squared() < reach * reach;
    if !is_near {
        return;
    }
    let first = out.len();
    let pair = Pair {
        a: &one,
        b: &two,
        margin: query.margin,
    };
    pair.contacts(query.last_normal, out);
    for point in &mut out[first..] {
        point.point += a.position;
    }
}

/// Appends the points of contact of a body, all in the wall's local frame, with gaps below the
/// margin; normals point from the body to the wall.
pub(crate) fn wall_contacts(
    wall: &WallShape,
    body: &PlacedShape,
    query: &WallQuery,
    out: &mut Vec<ContactPoint>,
) {
    let Some(solid) = Solid::new(body).filter(|solid| solid.position.is_finite()) else {
        return;
    };
    match wall.surface() {
        WallSurface::HalfSpace => {
            let floor = Plane {
                normal: DVec3::NEG_Z,
                offset: 0.0,
            };
            floor.contacts(&solid, query.margin, |_| true, out);
        }
        WallSurface::Box {
            half_extents,
            side,
            open,
        } => match side {
            Side::Inside => BoxShell {
                half: half_extents,
                open,
            }
            .contacts(&solid, query, out),
            Side::Outside => box_contacts(&solid, half_extents, query.margin, out),
        },
        WallSurface::Frustum {
            radii,
            length,
            side,
            open,
        } => {
            let shell = FrustumShell::new(radii, length, open);
            match side {
                Side::Inside => shell.contacts(&solid, query, out),
                Side::Outside => frustum_contacts(&solid, &shell, query.margin, out),
            }
        }
        WallSurface::Mesh(triangles) => mesh::contacts(&solid, triangles, query.margin, out),
    }
}

/// A body at a solid block.
fn box_contacts(body: &Solid, half_edges: DVec3, margin: f64, out: &mut Vec<ContactPoint>) {
    let shape = BodyShape::Box { half_edges };
    let placed = PlacedShape::new(&shape, 1.0, Pose::IDENTITY);
    if let Some(wall) = Solid::new(&placed) {
        solid_contacts(body, wall, margin, out);
    }
}

/// A body at a solid cylinder or cone.
fn frustum_contacts(body: &Solid, shell: &FrustumShell, margin: f64, out: &mut Vec<ContactPoint>) {
    let wall = Solid::frustum(
        shell.radii(),
        shell.half_length(),
        DVec3::ZERO,
        DMat3::IDENTITY,
    );
    solid_contacts(body, wall, margin, out);
}

fn solid_contacts(body: &Solid, mut wall: Solid, margin: f64, out: &mut Vec<ContactPoint>) {
    wall.is_wall = true;
    let pair = Pair {
        a: body,
        b: &wall,
        margin,
    };
    pair.contacts(None, out);
}
