//! Triangle meshes: files in, a searchable surface out.
//!
//! [`TriangleSoup`] is what a file or a drawing holds: points and index triples. [`TriangleMesh`]
//! is a soup made fit for contacts: welded, cleaned, with neighbours, named features, curvatures and a
//! tree of boxes. It never changes afterwards, since walls move rigidly.

mod bvh;
mod curvature;
mod error;
mod obj;
mod stl;
mod tables;
mod topology;
mod weld;

pub use error::{MeshError, Place};
pub use obj::parse_obj;
pub use stl::parse_stl;
pub use tables::{FacetRecord, FeatureRecord, MeshTables, NodeRecord};
pub(crate) use topology::EdgeSide;
pub use topology::{Edge, EdgeKind};

use crate::Aabb;
use bvh::Bvh;
use curvature::Curvature;
use glam::DVec3;
use std::path::Path;
use topology::Topology;

/// Points and triangles without further structure. Lengths in m.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TriangleSoup {
    /// Positions (m).
    pub vertices: Vec<DVec3>,
    /// Counter-clockwise corners seen from the side the normal points to.
    pub triangles: Vec<[u32; 3]>,
}

impl TriangleSoup {
    /// Reads STL (text or binary) or OBJ, chosen by the extension of `name`.
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Result<Self, MeshError> {
        let extension = Path::new(name)
            .extension()
            .and_then(|extension| extension.to_str())
            .map(str::to_ascii_lowercase);
        match extension.as_deref() {
            Some("stl") => parse_stl(bytes),
            Some("obj") => parse_obj(bytes),
            _ => Err(MeshError::UnsupportedFormat { name: name.into() }),
        }
    }

    /// The corners of a triangle (m).
    pub fn corners(&self, triangle: usize) -> [DVec3; 3] {
        self.triangles[triangle].map(|vertex| self.vertices[vertex as usize])
    }
}

/// A triangulated surface that spheres can touch.
#[derive(Clone, Debug)]
pub struct TriangleMesh {
    soup: TriangleSoup,
    pub(crate) topology: Topology,
    pub(crate) curvature: Curvature,
    pub(crate) bvh: Bvh,
    dropped: usize,
}

impl TriangleMesh {
    /// Builds the mesh: welds vertices closer than 1e-7 of the diagonal, drops triangles that
    /// are thinner than that or doubled, and finds neighbours, patches and the tree of boxes.
    pub fn new(soup: TriangleSoup) -> Result<Self, MeshError> {
        let (mut soup, dropped) = weld::weld(soup)?;
        let bvh = Bvh::new(&mut soup);
        let topology = Topology::new(&soup)?;
        let curvature = Curvature::new(&soup, &topology);
        Ok(Self {
            soup,
            topology,
            curvature,
            bvh,
            dropped,
        })
    }

    /// Reads and builds; the format follows from the extension of `name` (`.stl`, `.obj`).
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Result<Self, MeshError> {
        Self::new(TriangleSoup::from_bytes(name, bytes)?)
    }

    /// [`TriangleMesh::from_bytes`] of a file.
    pub fn from_path(path: impl AsRef<Path>) -> Result<Self, MeshError> {
        let path = path.as_ref();
        let name = path.to_string_lossy();
        let bytes = std::fs::read(path).map_err(|source| MeshError::Unreadable {
            name: name.to_string(),
            source,
        })?;
        Self::from_bytes(&name, &bytes)
    }

    /// The welded vertices and the triangles that were kept, near ones near each other.
    pub fn soup(&self) -> &TriangleSoup {
        &self.soup
    }

    /// How many degenerate or doubled triangles were dropped.
    pub fn dropped_triangles(&self) -> usize {
        self.dropped
    }

    /// Unit normal of each triangle.
    pub fn normals(&self) -> impl ExactSizeIterator<Item = DVec3> {
        self.topology.facets.iter().map(|facet| facet.normal)
    }

    /// Patch of each triangle: connected triangles in one plane share theirs.
    pub fn patches(&self) -> &[u32] {
        &self.topology.patches
    }

    /// Number of patches; features below this number are patches, the others creases and corners.
    pub fn patch_count(&self) -> usize {
        self.topology.patch_count as usize
    }

    /// Whether a feature is a crease or corner, rather than a patch.
    pub(crate) fn is_sharp(&self, feature: u32) -> bool {
        feature >= self.topology.patch_count
    }

    /// All edges, each once.
    pub fn edges(&self) -> &[Edge] {
        &self.topology.edges
    }

    /// Whether every edge has exactly two triangles.
    pub fn is_closed(&self) -> bool {
        let is_open = |edge: &Edge| matches!(edge.kind, EdgeKind::Boundary | EdgeKind::Branching);
        !self.topology.edges.iter().any(is_open)
    }

    /// The local box around the mesh (m).
    pub fn bounds(&self) -> Aabb {
        self.bvh.bounds()
    }
}
