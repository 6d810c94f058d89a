//! A body at a triangle mesh.
//!
//! Every near triangle is a flat piece of wall that faces the side of the body's centre; there is no
//! memory of the side, as for spheres. A body touches a piece
//!
//! ```text
//! on its face      points of the body's lowest face over the triangle, normal of the triangle,
//! on a ridge       an edge or corner over which the wall does not go on, where the direction d from
//!                  the wall to the body is between the faces that meet there:
//!                  d · m ≤ 0 for the inward vector m of each.                           (1)
//! ```
//!
//! and on a ridge only where that overlaps less than the face does. Where (1) does not hold on the
//! side of a neighbour, the neighbour's face or another of its edges has the contact. Edges within a
//! patch and in valleys have none, so that a body that slides over them meets the plane alone.
//!
//! Points of one patch are gathered: those where the body's face crosses an edge within the patch are
//! no points of the outline and are dropped, and four of the others are kept. A point on a ridge that
//! lies on or behind the plane of a patch that is touched as deeply adds nothing and is dropped.

use super::axis::{self, Axis, FACE_BIAS, Owner};
use super::manifold::{LINE_TILT, MISSED, Pair, TOLERANCE};
use super::polygon::{Candidate, Corner, Plate, mix, reduce};
use super::solid::{Extreme, Solid};
use crate::manifold::ContactPoint;
use crate::mesh::{EdgeKind, TriangleMesh};
use glam::DVec3;
use smallvec::SmallVec;

/// How exactly (1) is asked for: the sine of an angle.
const BETWEEN: f64 = 1e-6;

/// Faces within this angle (rad) of one plane continue each other.
const LEVEL: f64 = 1e-3;

/// How far in front of a touched patch a ridge must lie to be touched too, in inner radii.
const COVER_DEPTH: f64 = 1e-3;

/// Points and the patch that they lie on; `None` on ridges.
struct Found {
    patch: Option<u32>,
    point: ContactPoint,
}

type Findings = SmallVec<[Found; 16]>;

pub(super) fn contacts(
    body: &Solid,
    mesh: &TriangleMesh,
    margin: f64,
    out: &mut Vec<ContactPoint>,
) {
    let mut search = Search {
        body,
        mesh,
        margin,
        found: Findings::new(),
    };
    let range = body.bounding_radius() + margin;
    mesh.bvh
        .for_each_near(body.position, range, |triangle| search.visit(triangle, out));
    search.keep(out);
}

struct Search<'a> {
    body: &'a Solid<'a>,
    mesh: &'a TriangleMesh,
    margin: f64,
    found: Findings,
}

/// Who has a contact on an edge or corner.
enum Holder {
    /// It itself.
    Ridge,
    /// The face of the triangle.
    Face,
    /// A neighbour.
    Other,
}

impl Search<'_> {
    /// Finds the points on one triangle; `scratch` is left as it was.
    fn visit(&mut self, triangle: usize, scratch: &mut Vec<ContactPoint>) {
        let (body, margin) = (self.body, self.margin);
        let facet = &self.mesh.topology.facets[triangle];
        let is_front = facet.normal.dot(body.position - facet.corners[0]) >= 0.0;
        let normal = if is_front {
            facet.normal
        } else {
            -facet.normal
        };
        let gap = normal.dot(body.support(-normal) - facet.corners[0]);
        let is_beside = |k: usize| {
            let inward = facet.inward[k];
            inward.dot(body.support(inward) - facet.corners[k]) < -margin
        };
        if gap > margin || (0..3).any(is_beside) {
            return;
        }
        let plate = self.plate(triangle, is_front);
        let solid = Solid::plate(&plate, body);
        let pair = Pair {
            a: body,
            b: &solid,
            margin,
        };
        let face = Axis {
            normal: -normal,
            gap,
            owner: Owner::FaceOfB(0),
        };
        let first = scratch.len();
        let (mut is_on_face, mut is_apart) = (true, false);
        if plate.is_ridge.contains(&true) || plate.is_corner.contains(&true) {
            let Some(axes) = axis::general(body, &solid, margin, None) else {
                return;
            };
            is_apart = axes.best.gap > 0.0;
            if axes.best.gap > gap + FACE_BIAS * body.inner_radius {
                match self.holder(triangle, &plate, &solid, axes.best.normal) {
                    Holder::Face => {}
                    Holder::Other => return,
                    Holder::Ridge => {
                        is_on_face = false;
                        let is_face_of_body = matches!(axes.chosen.owner, Owner::FaceOfA(_));
                        let deepest = axes.best.gap + MISSED * body.inner_radius;
                        if !(is_face_of_body && pair.on_face(&axes.chosen, deepest, scratch)) {
                            pair.between_edges(&axes.best, scratch);
                        }
                    }
                }
            }
        }
        if is_on_face {
            pair.on_face(&face, f64::INFINITY, scratch);
            // Points behind a triangle that the body does not meet are not over it.
            if is_apart {
                let kept = scratch[first..].iter().filter(|point| point.gap > 0.0);
                let kept: SmallVec<[ContactPoint; 12]> = kept.copied().collect();
                scratch.truncate(first);
                scratch.extend(kept);
            }
        }
        let patch = is_on_face.then(|| self.mesh.topology.patches[triangle]);
        for point in &scratch[first..] {
            let feature = mix(patch.unwrap_or(u32::MAX), point.feature);
            let point = ContactPoint { feature, ..*point };
            let same = |known: &&mut Found| known.point.feature == feature;
            match self.found.iter_mut().find(same) {
                Some(known) if known.point.gap <= point.gap => {}
                Some(known) => *known = Found { patch, point },
                None => self.found.push(Found { patch, point }),
            }
        }
        scratch.truncate(first);
    }

    /// The triangle as seen from the body.
    fn plate(&self, triangle: usize, is_front: bool) -> Plate {
        let topology = &self.mesh.topology;
        let facet = &topology.facets[triangle];
        let vertices = self.mesh.soup().triangles[triangle];
        // Corners counter-clockwise, and the edges between them.
        let (order, edges) = if is_front {
            ([0, 1, 2], [0, 1, 2])
        } else {
            ([0, 2, 1], [2, 1, 0])
        };
        let normal = if is_front {
            facet.normal
        } else {
            -facet.normal
        };
        let corner = |k: usize| Corner {
            point: facet.corners[k],
            name: vertices[k],
        };
        let is_ridge = |k: usize| {
            let sides = topology.edge_sides.of(topology.triangle_edges[triangle][k]);
            let others = sides
                .iter()
                .filter(|side| side.triangle as usize != triangle);
            others
                .into_iter()
                .all(|side| normal.dot(side.inward) < -LEVEL)
        };
        let side_name =
            |k: usize| topology.edge_features[topology.triangle_edges[triangle][k] as usize];
        let is_corner =
            |k: usize| topology.vertex_features[vertices[k] as usize] >= topology.first_corner;
        let [a, b, c] = order;
        let [e, f, g] = edges;
        Plate {
            corners: [corner(a), corner(b), corner(c), corner(c)],
            count: 3,
            normal,
            sides: [side_name(e), side_name(f), side_name(g), 0],
            is_ridge: [is_ridge(e), is_ridge(f), is_ridge(g), false],
            is_corner: [is_corner(a), is_corner(b), is_corner(c), false],
        }
    }

    /// Equation (1) for the edge or corner of the plate that meets the direction to the body.
    fn holder(&self, triangle: usize, plate: &Plate, solid: &Solid, normal: DVec3) -> Holder {
        let topology = &self.mesh.topology;
        let to_body = -normal;
        let points_in = |inward: DVec3| inward.dot(to_body) > BETWEEN;
        match solid.extreme(to_body, LINE_TILT) {
            Extreme::Line { ends, .. } => {
                let ends = ends.map(|end| end.name);
                let is_edge = |edge: &&u32| {
                    let [a, b] = topology.edges[**edge as usize].vertices;
                    [a, b] == ends || [b, a] == ends
                };
                let Some(edge) = topology.triangle_edges[triangle].iter().find(is_edge) else {
                    return Holder::Face;
                };
                if topology.edges[*edge as usize].kind == EdgeKind::Flat {
                    return Holder::Face;
                }
                let mut holder = Holder::Ridge;
                for side in topology.edge_sides.of(*edge) {
                    if points_in(side.inward) {
                        if side.triangle as usize != triangle {
                            return Holder::Other;
                        }
                        holder = Holder::Face;
                    }
                }
                holder
            }
            Extreme::Point(corner) => {
                let is_corner = |vertex: u32| {
                    topology.vertex_features[vertex as usize] >= topology.first_corner
                };
                let mut own = plate
                    .corners()
                    .iter()
                    .map(|other| other.point - corner.point);
                if !is_corner(corner.name) || own.any(points_in) {
                    return Holder::Face;
                }
                let mut rays = topology.vertex_rays.of(corner.name).iter();
                if rays.any(|ray| points_in(*ray)) {
                    Holder::Other
                } else {
                    Holder::Ridge
                }
            }
        }
    }

    /// Thins what was found and appends it.
    fn keep(&self, out: &mut Vec<ContactPoint>) {
        let inner = self.body.inner_radius;
        for (index, Found { patch, point }) in self.found.iter().enumerate() {
            let Some(patch) = patch else {
                let is_behind = |known: &Found| {
                    let lead = known.point.normal.dot(known.point.point - point.point);
                    let slack = COVER_DEPTH * inner;
                    let is_deeper = known.point.gap <= point.gap + slack;
                    known.patch.is_some() && lead <= slack && is_deeper
                };
                if !self.found.iter().any(is_behind) {
                    out.push(*point);
                }
                continue;
            };
            let is_same = |known: &Found| known.patch == Some(*patch);
            if self.found[..index].iter().any(is_same) {
                continue;
            }
            let mut kept: SmallVec<[Candidate; 16]> = SmallVec::new();
            for (name, known) in self
                .found
                .iter()
                .enumerate()
                .filter(|(_, found)| is_same(found))
            {
                let corner = Corner {
                    point: known.point.point,
                    name: name as u32,
                };
                let gap = known.point.gap;
                kept.push(Candidate { corner, gap });
            }
            // The order of the triangles decides nothing.
            kept.sort_by_key(|kept| self.found[kept.corner.name as usize].point.feature);
            reduce(&mut kept, point.normal, TOLERANCE * inner);
            out.extend(
                kept.iter()
                    .map(|kept| self.found[kept.corner.name as usize].point),
            );
        }
    }
}
