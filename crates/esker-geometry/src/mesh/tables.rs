//! A mesh as tables of plain numbers: what the contact search reads, for whoever searches
//! elsewhere than in this program's memory.

use super::TriangleMesh;

/// A node of the tree of boxes; see `bvh.rs`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct NodeRecord {
    /// Lower corner of its box, m.
    pub lower: [f64; 3],
    /// Upper corner of its box, m.
    pub upper: [f64; 3],
    /// Leaf: first triangle. Inner node: position of the second child; the first one follows.
    pub first: u32,
    /// Number of triangles; zero for an inner node.
    pub count: u32,
}

/// A triangle; edge `k` joins corners `k` and `k + 1`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct FacetRecord {
    /// Corners, m.
    pub corners: [[f64; 3]; 3],
    /// Unit normal.
    pub normal: [f64; 3],
    /// Unit vectors in the plane, square to the edges, into the triangle.
    pub inward: [[f64; 3]; 3],
    /// Curvature of the surface seen from the side of the normal, 1/m.
    pub curvature: f64,
    /// Its patch.
    pub patch: u32,
    /// Bits: whether it is the lowest triangle at each of its edges, then of its corners.
    pub owned: u32,
    /// Its edges.
    pub edges: [u32; 3],
    /// Its corners as vertices.
    pub vertices: [u32; 3],
}

/// An edge or a vertex: how it is called, the curvature there, and a run of unit vectors: for an
/// edge into its triangles, from its lowest on, for a vertex along its edges.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct FeatureRecord {
    /// Curvature seen from the side of the lowest triangle's normal, 1/m.
    pub curvature: f64,
    /// First of its vectors.
    pub first: u32,
    /// How many there are.
    pub count: u32,
    /// Its name.
    pub feature: u32,
    /// Not used.
    pub unused: u32,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct MeshTables {
    /// The tree of boxes.
    pub nodes: Vec<NodeRecord>,
    /// Triangles in its order.
    pub facets: Vec<FacetRecord>,
    /// Edges.
    pub edges: Vec<FeatureRecord>,
    /// Vertices.
    pub vertices: Vec<FeatureRecord>,
    /// Unit vectors of edges.
    pub sides: Vec<[f64; 3]>,
    /// Unit vectors of vertices.
    pub rays: Vec<[f64; 3]>,
}

impl TriangleMesh {
    /// The mesh as tables.
    pub fn tables(&self) -> MeshTables {
        let (topology, curvature) = (&self.topology, &self.curvature);
        let facet = |triangle: usize| {
            let facet = &topology.facets[triangle];
            let owned = facet.owns_edge.into_iter().chain(facet.owns_vertex);
            FacetRecord {
                corners: facet.corners.map(|corner| corner.to_array()),
                normal: facet.normal.to_array(),
                inward: facet.inward.map(|inward| inward.to_array()),
                curvature: curvature.of_triangles[triangle],
                patch: topology.patches[triangle],
                owned: (0..)
                    .zip(owned)
                    .map(|(bit, owns)| u32::from(owns) << bit)
                    .sum(),
                edges: topology.triangle_edges[triangle],
                vertices: self.soup().triangles[triangle],
            }
        };
        let mut tables = MeshTables {
            nodes: self.bvh.records(),
            facets: (0..topology.facets.len()).map(facet).collect(),
            ..Default::default()
        };
        for (edge, &feature) in topology.edge_features.iter().enumerate() {
            let sides = topology.edge_sides.of(edge as u32);
            tables.edges.push(FeatureRecord {
                curvature: curvature.of_edges[edge],
                first: tables.sides.len() as u32,
                count: sides.len() as u32,
                feature,
                unused: 0,
            });
            let inward = sides.iter().map(|side| side.inward.to_array());
            tables.sides.extend(inward);
        }
        for (vertex, &feature) in topology.vertex_features.iter().enumerate() {
            let rays = topology.vertex_rays.of(vertex as u32);
            tables.vertices.push(FeatureRecord {
                curvature: curvature.of_vertices[vertex],
                first: tables.rays.len() as u32,
                count: rays.len() as u32,
                feature,
                unused: 0,
            });
            tables.rays.extend(rays.iter().map(|ray| ray.to_array()));
        }
        tables
    }
}
