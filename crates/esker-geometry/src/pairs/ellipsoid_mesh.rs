//! Ellipsoid against a triangle mesh, and sharp edges and corners of a mesh for any body.
//!
//! As for a sphere (`sphere_mesh.rs`), the contacts are the local minima of the distance from the body
//! to the surface, thinned:
//!
//! ```text
//! face     the foot, x + s(n) for the normal n towards the plane, lies in the triangle,       (1)
//! edge     the nearest point of its line lies on it, and n·m ≥ 0 for the normal n towards it
//!          and the inward vector m of every triangle there,                        (2)
//! vertex   n·e ≥ 0 for the normal n towards it and every edge e that leaves it.    (3)
//! ```
//!
//! The touch of a face is on the side of the centre. A long body can cross the plane of a face and
//! pass the face by: it touches a face only if it holds the point of the face under its foot, once
//! the foot is through. A body stuck in a surface so deeply that nothing of the above holds touches
//! the plane, of all triangles that cut it, that it has the shortest way back from.

use super::body_wall::WallQuery;
use super::ellipsoid_wall::{WallCurvature, WallSurface};
use super::mesh_minima::{Minima, Minimum};
use super::sharp::{Near, PlacedEllipsoid, Sharp};
use super::sphere_mesh::FOOT_TOLERANCE;
use crate::manifold::ContactPoint;
use crate::mesh::{EdgeSide, TriangleMesh};
use crate::smooth::Support;
use glam::DVec3;

/// Appends the contacts of an ellipsoid.
pub(super) fn contacts(
    mesh: &TriangleMesh,
    body: &PlacedEllipsoid,
    query: &WallQuery,
    out: &mut Vec<ContactPoint>,
) {
    let mut minima = Minima::new();
    let range = body.bound() + query.margin;
    mesh.bvh.for_each_near(body.centre, range, |triangle| {
        collect_minima(mesh, body, (triangle, query.margin), &mut minima);
    });
    if minima.is_empty() {
        mesh.bvh
            .for_each_near(body.centre, body.bound(), |triangle| {
                if is_cut(mesh, body, triangle) {
                    let seen = view(mesh, body, triangle);
                    minima.insert(seen.minimum(mesh, triangle));
                }
            });
        let shallowest = minima.iter().max_by(|a, b| a.gap.total_cmp(&b.gap));
        out.extend(shallowest.map(|minimum| contact(body, minimum)));
        return;
    }
    let point = |minimum: &Minimum| {
        let extent = body.body.extent(minimum.normal);
        body.body.point(&extent) + minimum.gap * minimum.normal
    };
    minima.keep_independent(body.body.min_extent(), point, |kept| {
        out.push(contact(body, kept));
    });
}

fn contact(body: &PlacedEllipsoid, minimum: &Minimum) -> ContactPoint {
    let curvature = if minimum.curvature == 0.0 {
        WallCurvature::None
    } else {
        WallCurvature::Isotropic(minimum.curvature)
    };
    let surface = WallSurface {
        normal: minimum.normal,
        gap: minimum.gap,
        curvature,
        feature: minimum.feature,
    };
    surface.contact(body.body, body.centre)
}

/// Whether a triangle cuts the body: in the coordinates in which it is a ball.
fn is_cut(mesh: &TriangleMesh, body: &PlacedEllipsoid, triangle: usize) -> bool {
    let corners = mesh.topology.facets[triangle].corners;
    let [a, b, c] = corners.map(|corner| body.body.scaled(corner - body.centre));
    let normal = (b - a).cross(c - a).normalize_or_zero();
    let foot = normal.dot(a) * normal;
    let is_inside = [(a, b), (b, c), (c, a)]
        .iter()
        .all(|(from, to)| normal.dot((to - from).cross(foot - from)) >= 0.0);
    let to_edge = [(a, b), (b, c), (c, a)].map(|(from, to)| {
        let span = to - from;
        let along = -from.dot(span) / span.length_squared().max(f64::MIN_POSITIVE);
        (from + along.clamp(0.0, 1.0) * span).length_squared()
    });
    (is_inside && foot.length_squared() <= 1.0) || to_edge.iter().any(|squared| *squared <= 1.0)
}

/// A triangle's plane seen from a body.
struct PlaneView {
    /// From the body to the plane.
    normal: DVec3,
    gap: f64,
    distance: f64,
    /// Of the body, nearest to the plane (m).
    foot: DVec3,
    /// Whether the triangle's normal points to the centre (1) or away from it (−1).
    front: f64,
}

impl PlaneView {
    fn minimum(&self, mesh: &TriangleMesh, triangle: usize) -> Minimum {
        Minimum {
            normal: self.normal,
            distance: self.distance,
            gap: self.gap,
            curvature: self.front * mesh.curvature.of_triangles[triangle],
            feature: mesh.topology.patches[triangle],
            is_face: true,
        }
    }
}

fn view(mesh: &TriangleMesh, body: &PlacedEllipsoid, triangle: usize) -> PlaneView {
    let facet = &mesh.topology.facets[triangle];
    let height = facet.normal.dot(body.centre - facet.corners[0]);
    // A centre in the plane counts as in front.
    let front = if height < 0.0 { -1.0 } else { 1.0 };
    let normal = -front * facet.normal;
    let extent = body.body.extent(normal);
    PlaneView {
        normal,
        gap: height.abs() - extent.h,
        distance: height.abs(),
        foot: body.centre + body.body.point(&extent),
        front,
    }
}

/// Minima in the face of the triangle and on those of its sharp edges and vertices that it owns.
fn collect_minima(
    mesh: &TriangleMesh,
    body: &PlacedEllipsoid,
    (triangle, margin): (usize, f64),
    minima: &mut Minima,
) {
    let topology = &mesh.topology;
    let facet = &topology.facets[triangle];
    let seen = view(mesh, body, triangle);
    let is_near = seen.gap < margin;
    if !is_near {
        return;
    }
    let tolerance = FOOT_TOLERANCE * body.bound();
    let sides = [0, 1, 2].map(|k| facet.inward[k].dot(seen.foot - facet.corners[k]));
    let plane = WallSurface::plane(seen.normal, seen.gap, 0);
    let is_met = plane.is_met(body.body, seen.foot - body.centre);
    if is_met && sides.iter().all(|&side| side >= -tolerance) {
        minima.insert(seen.minimum(mesh, triangle));
    }
    let mut insert = |near: &Near, feature: u32, curvature: f64| {
        if near.gap < margin {
            minima.insert(Minimum {
                normal: near.normal,
                distance: near.normal.dot(near.wall_point() - body.centre),
                gap: near.gap,
                curvature: seen.front * curvature,
                feature,
                is_face: false,
            });
        }
    };
    for (k, &edge) in topology.triangle_edges[triangle].iter().enumerate() {
        // In a plane apart from the body the distance grows away from the foot: an edge on the far
        // side of it is no minimum. So most need no search.
        let may_be_minimum = |side: &EdgeSide| {
            let seen = view(mesh, body, side.triangle as usize);
            seen.gap < 0.0 || side.inward.dot(seen.foot - facet.corners[k]) <= tolerance
        };
        let inward = || topology.edge_sides.of(edge).iter().map(|side| side.inward);
        if facet.owns_edge[k]
            && (seen.gap < 0.0 || sides[k] <= tolerance)
            && mesh.is_sharp(topology.edge_features[edge as usize])
            && topology.edge_sides.of(edge)[1..].iter().all(may_be_minimum)
            && let Some(near) = near_edge(body, facet.corners[k], facet.corners[(k + 1) % 3])
            && body.is_minimum(&near, inward())
        {
            let (feature, curvature) = edge_of(mesh, edge);
            insert(&near, feature, curvature);
        }
        if facet.owns_vertex[k]
            && let Some((near, vertex)) = near_vertex(mesh, body, (triangle, k), margin)
        {
            let feature = topology.vertex_features[vertex];
            insert(&near, feature, mesh.curvature.of_vertices[vertex]);
        }
    }
}

fn edge_of(mesh: &TriangleMesh, edge: u32) -> (u32, f64) {
    let edge = edge as usize;
    (
        mesh.topology.edge_features[edge],
        mesh.curvature.of_edges[edge],
    )
}

/// Where the body is nearest to the line through two points, if that lies between them.
fn near_edge(body: &impl Sharp, from: DVec3, to: DVec3) -> Option<Near> {
    let span = to - from;
    let length = span.length();
    let direction = span / length;
    let near = body.near_line(from, direction)?;
    let along = direction.dot(near.wall_point() - from);
    (0.0..=length).contains(&along).then_some(near)
}

/// The corner of a triangle, if it is sharp, in reach and a minimum; and its number.
fn near_vertex(
    mesh: &TriangleMesh,
    body: &impl Sharp,
    (triangle, corner): (usize, usize),
    margin: f64,
) -> Option<(Near, usize)> {
    let vertex = mesh.soup().triangles[triangle][corner];
    if !mesh.is_sharp(mesh.topology.vertex_features[vertex as usize]) {
        return None;
    }
    let point = mesh.topology.facets[triangle].corners[corner];
    let range = body.bound() + margin;
    let is_near = point.distance_squared(body.centre()) < range * range;
    if !is_near {
        return None;
    }
    let near = body.near_point(point)?;
    let rays = mesh.topology.vertex_rays.of(vertex).iter().copied();
    body.is_minimum(&near, rays)
        .then_some((near, vertex as usize))
}

/// Appends the contacts of a body with sharp edges and corners alone.
pub(super) fn sharp_contacts(
    mesh: &TriangleMesh,
    body: &impl Sharp,
    margin: f64,
    mut push: impl FnMut(ContactPoint),
) {
    let topology = &mesh.topology;
    let range = body.bound() + margin;
    mesh.bvh.for_each_near(body.centre(), range, |triangle| {
        let facet = &topology.facets[triangle];
        for k in 0..3 {
            let edge = topology.triangle_edges[triangle][k];
            let (feature, _) = edge_of(mesh, edge);
            let inward = || topology.edge_sides.of(edge).iter().map(|side| side.inward);
            if facet.owns_edge[k]
                && mesh.is_sharp(feature)
                && let Some(near) = near_edge(body, facet.corners[k], facet.corners[(k + 1) % 3])
                && near.gap < margin
                && body.is_minimum(&near, inward())
            {
                push(body.contact(&near, feature));
            }
            if facet.owns_vertex[k]
                && let Some((near, vertex)) = near_vertex(mesh, body, (triangle, k), margin)
                && near.gap < margin
            {
                push(body.contact(&near, topology.vertex_features[vertex]));
            }
        }
    });
}
