//! Sphere against a triangle mesh.
//!
//! The touches are the local minima of the distance from the centre `c` to the surface:
//!
//! ```text
//! face     the foot of c lies in the triangle,                           (1)
//! edge     the foot of c lies on the edge, and (c − a) · m ≤ 0 for the
//!          inward vector m of every triangle at the edge,                (2)
//! vertex   (c − v) · e ≤ 0 for every edge direction e that leaves v.     (3)
//! ```
//!
//! On a flat stretch only the foot itself is a minimum, so that a sphere that slides or rolls over
//! inner edges meets one touch with the normal of the plane, as on a half-space: no ghost
//! contacts. A valley edge is never a minimum: its faces are touched instead. A ridge is one when
//! the centre is between the normals of its faces. Grains can be on either side; the touch faces
//! the side of the centre, and the triangle's own normal only decides when the centre lies in the
//! plane. There is therefore no memory of the side: a centre that has crossed the surface, deeper
//! than any sensible overlap, is through.
//!
//! Minima are then thinned (`mesh_minima.rs`).
//!
//! # Curved surfaces
//!
//! A tessellated convex surface gives one touch. In a tessellated tube with facets less than
//! `SMOOTH_ANGLE` apart a sphere up to about half the tube's radius has one touch, or two next to
//! an edge; in a doubly curved bowl up to three. Facets less than `MERGE_ANGLE` apart act as a
//! smooth surface with one touch. The resting height differs from that of the true surface by at
//! most the sagitta of the facets. Only a sphere nearly as wide as the hollow has more: one group
//! for each `SMOOTH_ANGLE` around. In every case `MAX_MINIMA` bounds the number of touches.
//!
//! A touch has the curvature of the surface that the mesh stands for (`mesh/curvature.rs`), not
//! that of its facets, so that spheres roll in a meshed tube as in the analytic one.

use super::mesh_minima::{Minima, Minimum};
use super::{Probe, TouchSink};
use crate::mesh::TriangleMesh;
use glam::DVec3;

/// How exactly the conditions (2) and (3) are asked for, in radii. Covers rounding, so that a
/// sphere exactly over an edge is missed by none of its neighbours.
pub(super) const FOOT_TOLERANCE: f64 = 1e-8;

pub(super) fn touches(probe: &Probe, mesh: &TriangleMesh, out: &mut impl TouchSink) {
    let range = probe.radius + probe.margin;
    let mut minima = Minima::new();
    mesh.bvh.for_each_near(probe.centre, range, |triangle| {
        collect_minima(probe, mesh, triangle, &mut minima);
    });
    let point = |minimum: &Minimum| minimum.distance * minimum.normal;
    minima.keep_independent(probe.radius, point, |new| {
        out.push(probe.touch(new.normal, new.distance, new.curvature, new.feature));
    });
}

/// Minima in the face of the triangle and on those of its edges and vertices that it owns, being
/// the lowest triangle there; a minimum on them is no farther from the owner than from others.
fn collect_minima(probe: &Probe, mesh: &TriangleMesh, triangle: usize, minima: &mut Minima) {
    let topology = &mesh.topology;
    let facet = &topology.facets[triangle];
    let corners = facet.corners;
    let offsets = corners.map(|corner| probe.centre - corner);
    let height = facet.normal.dot(offsets[0]);
    if !probe.reaches(height.abs()) {
        return;
    }
    let sides = [0, 1, 2].map(|k| facet.inward[k].dot(offsets[k]));
    // From the centre to the plane; a centre in the plane counts as in front.
    let front = if height < 0.0 { -1.0 } else { 1.0 };
    let normal = -front * facet.normal;
    let on_patch = || Minimum {
        normal,
        distance: height.abs(),
        gap: height.abs() - probe.radius,
        curvature: front * mesh.curvature.of_triangles[triangle],
        feature: topology.patches[triangle],
        is_face: true,
    };
    if sides.iter().all(|&side| side >= 0.0) {
        minima.insert(on_patch());
    }
    // An edge or vertex of the patch's interior stands for the plane, a sharp one for itself.
    let mut insert = |foot: DVec3, feature: u32, curvature: f64| {
        if (feature as usize) < mesh.patch_count() {
            minima.insert(on_patch());
            return;
        }
        let offset = foot - probe.centre;
        let distance = offset.length();
        if probe.reaches(distance) {
            minima.insert(Minimum {
                normal: offset.try_normalize().unwrap_or(normal),
                distance,
                gap: distance - probe.radius,
                curvature: front * curvature,
                feature,
                is_face: false,
            });
        }
    };
    let tolerance = FOOT_TOLERANCE * probe.radius;
    let spans = [0, 1, 2].map(|k| corners[(k + 1) % 3] - corners[k]);
    for k in 0..3 {
        let span = spans[k];
        let along = offsets[k].dot(span);
        let length_squared = span.length_squared();
        if facet.owns_edge[k] && sides[k] <= tolerance && (0.0..=length_squared).contains(&along) {
            let edge = topology.triangle_edges[triangle][k];
            let others = &topology.edge_sides.of(edge)[1..];
            if others
                .iter()
                .all(|side| side.inward.dot(offsets[k]) <= tolerance)
            {
                let foot = corners[k] + along / length_squared * span;
                let edge = edge as usize;
                insert(
                    foot,
                    topology.edge_features[edge],
                    mesh.curvature.of_edges[edge],
                );
            }
        }
        // The own edges, at hand, rule out nearly all vertices.
        let previous = (k + 2) % 3;
        let may_be_minimum = facet.owns_vertex[k]
            && along <= tolerance * length_squared.sqrt()
            && -offsets[k].dot(spans[previous]) <= tolerance * spans[previous].length();
        if may_be_minimum {
            let vertex = mesh.soup().triangles[triangle][k];
            let mut rays = topology.vertex_rays.of(vertex).iter();
            if rays.all(|ray| ray.dot(offsets[k]) <= tolerance) {
                let vertex = vertex as usize;
                insert(
                    corners[k],
                    topology.vertex_features[vertex],
                    mesh.curvature.of_vertices[vertex],
                );
            }
        }
    }
}
