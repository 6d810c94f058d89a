//! Neighbours and names: what the contact search needs to know about edges and vertices.
//!
//! Features are numbered so that a sphere that slides over a surface keeps its key as long as it
//! can: first the patches (connected triangles in one plane), then the creases (sharp edges in one
//! line), then the corners (vertices where creases end, meet or turn).

use super::{MeshError, TriangleSoup};
use glam::DVec3;

/// Neighbouring triangles whose normals differ by less than this (rad) from that of the first
/// triangle of a patch belong to the patch; creases turn less than this at a vertex inside them.
/// Single precision files need 1e-4 for triangles a thousand times smaller than the mesh.
const FLAT_ANGLE: f64 = 1e-3;

/// How the triangles at an edge lie to each other, seen from the side their normals point to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeKind {
    /// Both triangles belong to one patch.
    Flat,
    /// A ridge.
    Convex,
    /// A valley.
    Concave,
    /// One triangle only.
    Boundary,
    /// Three triangles or more.
    Branching,
}

/// An edge of the mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Its ends, the lower index first.
    pub vertices: [u32; 2],
    /// How its triangles lie to each other.
    pub kind: EdgeKind,
}

/// For each item a run of `values`.
#[derive(Clone, Debug)]
pub(crate) struct Runs<T> {
    starts: Vec<u32>,
    values: Vec<T>,
}

impl<T: Copy> Runs<T> {
    /// Gathers `(item, value)` in the given order per item.
    fn new(items: usize, pairs: impl Iterator<Item = (u32, T)> + Clone, blank: T) -> Self {
        let mut starts = vec![0_u32; items + 1];
        for (item, _) in pairs.clone() {
            starts[item as usize + 1] += 1;
        }
        for item in 0..items {
            starts[item + 1] += starts[item];
        }
        let mut next = starts.clone();
        let mut values = vec![blank; starts[items] as usize];
        for (item, value) in pairs {
            let slot = &mut next[item as usize];
            values[*slot as usize] = value;
            *slot += 1;
        }
        Self { starts, values }
    }

    pub(crate) fn of(&self, item: u32) -> &[T] {
        let item = item as usize;
        &self.values[self.starts[item] as usize..self.starts[item + 1] as usize]
    }
}

/// A triangle at an edge.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EdgeSide {
    pub triangle: u32,
    /// Unit vector in the triangle's plane, square to the edge, into the triangle.
    pub inward: DVec3,
}

/// What the contact search reads of every triangle it meets, side by side in memory.
#[derive(Clone, Debug)]
pub(crate) struct Facet {
    pub corners: [DVec3; 3],
    pub normal: DVec3,
    /// Unit vectors in the plane, square to the edges, into the triangle; edge `k` joins corners
    /// `k` and `k + 1`.
    pub inward: [DVec3; 3],
    /// Whether this is the lowest triangle at its edges.
    pub owns_edge: [bool; 3],
    /// Whether this is the lowest triangle at its corners.
    pub owns_vertex: [bool; 3],
}

impl Facet {
    fn new(corners: [DVec3; 3]) -> Self {
        let [a, b, c] = corners;
        let normal = (b - a).cross(c - a).normalize_or(DVec3::Z);
        let inward = |k: usize| {
            let along = (corners[(k + 1) % 3] - corners[k]).normalize_or_zero();
            normal.cross(along)
        };
        Self {
            corners,
            normal,
            inward: [0, 1, 2].map(inward),
            owns_edge: [false; 3],
            owns_vertex: [false; 3],
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Topology {
    pub facets: Vec<Facet>,
    pub patches: Vec<u32>,
    pub patch_count: u32,
    pub edges: Vec<Edge>,
    /// Edges of each triangle; number `k` joins corners `k` and `k + 1`.
    pub triangle_edges: Vec<[u32; 3]>,
    /// Triangles at each edge, in ascending order.
    pub edge_sides: Runs<EdgeSide>,
    /// Unit vectors along the edges that leave each vertex.
    pub vertex_rays: Runs<DVec3>,
    /// Patch (flat edges) or crease.
    pub edge_features: Vec<u32>,
    /// Patch, crease or corner.
    pub vertex_features: Vec<u32>,
    /// Features from here on are corners.
    pub first_corner: u32,
}

impl Topology {
    pub(super) fn new(soup: &TriangleSoup) -> Result<Self, MeshError> {
        let triangle_count = soup.triangles.len();
        let vertex_count = soup.vertices.len();
        // Features are named by 32 bits: patches, creases and corners together.
        if u32::try_from(5 * triangle_count + vertex_count).is_err() {
            return Err(MeshError::TooLarge);
        }
        let mut facets: Vec<Facet> = (0..triangle_count)
            .map(|triangle| Facet::new(soup.corners(triangle)))
            .collect();
        let (ends, triangle_edges) = number_edges(soup);
        let sides = (0..triangle_count).flat_map(|triangle| {
            let (edges, inward) = (triangle_edges[triangle], facets[triangle].inward);
            (0..3).map(move |k| {
                let side = EdgeSide {
                    triangle: triangle as u32,
                    inward: inward[k],
                };
                (edges[k], side)
            })
        });
        let edge_sides = Runs::new(ends.len(), sides, EdgeSide::default());
        let (patches, patch_count) = grow_patches(&facets, &triangle_edges, &edge_sides);

        let edges: Vec<Edge> = (0..ends.len())
            .map(|edge| Edge {
                vertices: ends[edge],
                kind: classify(edge_sides.of(edge as u32), &facets, &patches),
            })
            .collect();
        let rays = ends.iter().flat_map(|&[a, b]| {
            let ray = (soup.vertices[b as usize] - soup.vertices[a as usize]).normalize_or_zero();
            [(a, ray), (b, -ray)]
        });
        let vertex_rays = Runs::new(vertex_count, rays, DVec3::ZERO);
        // Counting down leaves the lowest triangle as the owner.
        let mut vertex_owner = vec![0; vertex_count];
        for (triangle, corners) in soup.triangles.iter().enumerate().rev() {
            for &vertex in corners {
                vertex_owner[vertex as usize] = triangle;
            }
        }
        for (triangle, facet) in facets.iter_mut().enumerate() {
            let owns_edge = |edge| edge_sides.of(edge)[0].triangle as usize == triangle;
            let owns_vertex = |vertex: u32| vertex_owner[vertex as usize] == triangle;
            facet.owns_edge = triangle_edges[triangle].map(owns_edge);
            facet.owns_vertex = soup.triangles[triangle].map(owns_vertex);
        }
        let mut topology = Self {
            facets,
            patches,
            patch_count,
            edges,
            triangle_edges,
            edge_sides,
            vertex_rays,
            edge_features: Vec::new(),
            vertex_features: Vec::new(),
            first_corner: 0,
        };
        topology.name_creases_and_corners(soup, &vertex_owner);
        Ok(topology)
    }

    fn name_creases_and_corners(&mut self, soup: &TriangleSoup, vertex_owner: &[usize]) {
        let is_sharp = |edge: &Edge| edge.kind != EdgeKind::Flat;
        let sharp = self
            .edges
            .iter()
            .enumerate()
            .filter(|(_, edge)| is_sharp(edge));
        let sharp_at_vertex = Runs::new(
            soup.vertices.len(),
            sharp.flat_map(|(index, edge)| edge.vertices.map(|vertex| (vertex, index as u32))),
            0,
        );
        let direction = |edge: u32, from: u32| {
            let [a, b] = self.edges[edge as usize].vertices;
            let other = if a == from { b } else { a };
            (soup.vertices[other as usize] - soup.vertices[from as usize]).normalize_or_zero()
        };
        // The two creases at a vertex go on as one when they form a straight line.
        let straight = |vertex: u32| match sharp_at_vertex.of(vertex) {
            &[one, two] => {
                let bend = direction(one, vertex) + direction(two, vertex);
                (bend.length() < FLAT_ANGLE).then_some([one, two])
            }
            _ => None,
        };
        let mut joined = Vec::new();
        for vertex in 0..soup.vertices.len() as u32 {
            joined.extend(straight(vertex));
        }
        let mut names = DisjointSets::new(self.edges.len());
        for [one, two] in joined {
            names.join(one, two);
        }
        let mut next = self.patch_count;
        let mut features = vec![u32::MAX; self.edges.len()];
        for edge in 0..self.edges.len() {
            if !is_sharp(&self.edges[edge]) {
                let side = self.edge_sides.of(edge as u32)[0];
                features[edge] = self.patches[side.triangle as usize];
                continue;
            }
            // The root is the lowest edge of its crease, hence named first.
            let root = names.root(edge as u32) as usize;
            if root == edge {
                features[edge] = next;
                next += 1;
            } else {
                features[edge] = features[root];
            }
        }
        let vertex_features = (0..soup.vertices.len() as u32)
            .map(|vertex| {
                if sharp_at_vertex.of(vertex).is_empty() {
                    return self.patches[vertex_owner[vertex as usize]];
                }
                straight(vertex).map_or(next + vertex, |[edge, _]| features[edge as usize])
            })
            .collect();
        self.edge_features = features;
        self.vertex_features = vertex_features;
        self.first_corner = next;
    }
}

/// Ends of each edge and the edges of each triangle, numbered in the order of their ends.
fn number_edges(soup: &TriangleSoup) -> (Vec<[u32; 2]>, Vec<[u32; 3]>) {
    let mut uses: Vec<([u32; 2], u32, u32)> = Vec::with_capacity(3 * soup.triangles.len());
    for (triangle, corners) in soup.triangles.iter().enumerate() {
        for k in 0..3 {
            let (a, b) = (corners[k], corners[(k + 1) % 3]);
            uses.push(([a.min(b), a.max(b)], triangle as u32, k as u32));
        }
    }
    uses.sort_unstable();
    let mut ends: Vec<[u32; 2]> = Vec::new();
    let mut triangle_edges = vec![[0; 3]; soup.triangles.len()];
    for (pair, triangle, k) in uses {
        if ends.last() != Some(&pair) {
            ends.push(pair);
        }
        triangle_edges[triangle as usize][k as usize] = ends.len() as u32 - 1;
    }
    (ends, triangle_edges)
}

/// Two triangles that continue each other across their edge, rather than folding back.
fn is_continued(one: &EdgeSide, two: &EdgeSide) -> bool {
    one.inward.dot(two.inward) < 0.0
}

/// Flood fill from the lowest unnamed triangle. Comparing with the first triangle instead of the
/// last keeps a finely cut curved surface from becoming one patch.
fn grow_patches(
    facets: &[Facet],
    triangle_edges: &[[u32; 3]],
    edge_sides: &Runs<EdgeSide>,
) -> (Vec<u32>, u32) {
    const UNNAMED: u32 = u32::MAX;
    let mut patches = vec![UNNAMED; facets.len()];
    let mut count = 0;
    let mut waiting = Vec::new();
    for seed in 0..facets.len() {
        if patches[seed] != UNNAMED {
            continue;
        }
        patches[seed] = count;
        waiting.push(seed);
        while let Some(triangle) = waiting.pop() {
            for &edge in &triangle_edges[triangle] {
                let &[one, two] = edge_sides.of(edge) else {
                    continue;
                };
                let other = if one.triangle as usize == triangle {
                    two
                } else {
                    one
                };
                let other = other.triangle as usize;
                // The sine resolves small angles, which the cosine does not; triangles wound
                // the other way are coplanar all the same.
                let sine = facets[seed].normal.cross(facets[other].normal).length();
                if patches[other] == UNNAMED && sine < FLAT_ANGLE && is_continued(&one, &two) {
                    patches[other] = count;
                    waiting.push(other);
                }
            }
        }
        count += 1;
    }
    (patches, count)
}

fn classify(sides: &[EdgeSide], facets: &[Facet], patches: &[u32]) -> EdgeKind {
    match sides {
        [_] => EdgeKind::Boundary,
        [one, two] => {
            let [first, second] = [one, two].map(|side| side.triangle as usize);
            if patches[first] == patches[second] && is_continued(one, two) {
                EdgeKind::Flat
            } else if facets[first].normal.dot(two.inward) > 0.0 {
                EdgeKind::Concave
            } else {
                EdgeKind::Convex
            }
        }
        _ => EdgeKind::Branching,
    }
}

/// Union-find whose roots are the lowest members.
struct DisjointSets {
    parents: Vec<u32>,
}

impl DisjointSets {
    fn new(size: usize) -> Self {
        Self {
            parents: (0..size as u32).collect(),
        }
    }

    fn root(&mut self, mut item: u32) -> u32 {
        while self.parents[item as usize] != item {
            let parent = self.parents[item as usize];
            self.parents[item as usize] = self.parents[parent as usize];
            item = parent;
        }
        item
    }

    fn join(&mut self, one: u32, two: u32) {
        let (one, two) = (self.root(one), self.root(two));
        self.parents[one.max(two) as usize] = one.min(two);
    }
}

#[cfg(test)]
mod tests {
    use crate::{DVec3, EdgeKind, OpenFaces, Side, TriangleMesh, WallShape};

    #[test]
    fn cube_has_six_patches_twelve_creases_and_eight_corners() {
        for (side, kind) in [
            (Side::Outside, EdgeKind::Convex),
            (Side::Inside, EdgeKind::Concave),
        ] {
            let half_extents = DVec3::ONE;
            let cube = WallShape::Box {
                half_extents,
                side,
                open: OpenFaces::NONE,
            }
            .triangulate(0.0);
            let mesh = TriangleMesh::new(cube).unwrap();
            assert_eq!(mesh.patch_count(), 6);
            let count = |kind| mesh.edges().iter().filter(|edge| edge.kind == kind).count();
            assert_eq!((count(EdgeKind::Flat), count(kind)), (6, 12));
            assert!(mesh.is_closed());
            let mut corners = mesh.topology.vertex_features.clone();
            corners.dedup();
            assert_eq!(corners.len(), 8);
        }
    }
}
