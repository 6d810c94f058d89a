//! Curvature of the surface that a mesh stands for.
//!
//! Triangles are flat, and all curvature of a mesh sits in its edges. An edge that bends by less
//! than [`SHARP_ANGLE`] is taken as part of a curved surface, any other, an open one too, as an
//! edge of the body. At a vertex the normal of the curved surface is the weighted mean of the
//! normals `n_t` of the triangles that smooth edges join there,
//!
//! ```text
//! n_v ∝ Σ_t n_t |a × b| / (|a|² |b|²),   a, b the triangle's edges at v, (1)
//! ```
//!
//! the normal of the sphere through the vertex and its neighbours, where there is one (N. Max,
//! Weights for computing vertex normals from facet normals, 1999). With normals that change
//! linearly along edges, the mean of their gradient over a patch `P` of area `A` in one plane with
//! normal `n_P` follows from the border of the patch alone:
//!
//! ```text
//! S = 1/A ∫_P ∇n dA = 1/A Σ_e |e| ½ (n_a + n_b − 2 n_P) ⊗ ν_e,           (2)
//! ```
//!
//! with `ν_e` outward and square to the edge `e = ab`. So the way a plane facet is cut into
//! triangles does not matter. Of the symmetric part of `S` the eigenvalue of greater magnitude is
//! the curvature of the patch: what the analytic cylinder, cone and sphere have.
//!
//! Vertices on a sphere and rings of vertices on a cylinder give its curvature exactly, however
//! long, thin or few the triangles are. Elsewhere the normals of (1) are approximate where
//! triangles are irregular (on a cylinder with vertices anywhere the curvature scatters by 1 to
//! 4 %), and a patch has one curvature: a facet that runs along a whole cone that of its
//! middle. Patches between sharp edges alone have exactly none. At a sharp or open edge that
//! runs along the axis the surface is taken to go on straight: the outermost facets of a trough
//! feel half of the curvature, and a wide floor feels nearly nothing of a ramp that leaves it.

use super::TriangleSoup;
use super::topology::{EdgeKind, Topology};
use glam::{DMat2, DVec2, DVec3};

/// An edge that bends by this or more is one of the body: cos 40°. A tube may have nine facets; a
/// box with eight sides has flat sides.
const SHARP_ANGLE: f64 = 0.766_044_443_118_978;

/// Curvatures (1/m), positive where the surface bends away from the side that a normal points to.
#[derive(Clone, Debug)]
pub(crate) struct Curvature {
    /// Of each triangle, seen from the side of its normal.
    pub of_triangles: Vec<f64>,
    /// Of each edge, seen from the side of its lowest triangle's normal; zero where it is sharp.
    pub of_edges: Vec<f64>,
    /// Of each vertex, likewise; zero at the end or side of a sharp edge.
    pub of_vertices: Vec<f64>,
}

impl Curvature {
    pub(super) fn new(soup: &TriangleSoup, topology: &Topology) -> Self {
        let surface = Surface {
            soup,
            topology,
            folds: folds(topology),
        };
        let fans = surface.fans();
        let of_triangles = surface.patch_curvatures(&surface.normals(&fans));
        let of_edges = surface.edge_curvatures(&of_triangles);
        let of_vertices = surface.vertex_curvatures(&fans, &of_triangles);
        Self {
            of_triangles,
            of_edges,
            of_vertices,
        }
    }
}

/// What lies across a smooth edge: the triangles' normals agree (1) or are opposed (−1), when the
/// two are wound against each other. `None` for a sharp or open edge.
fn folds(topology: &Topology) -> Vec<Option<f64>> {
    let fold = |edge: usize| {
        let &[one, two] = topology.edge_sides.of(edge as u32) else {
            return None;
        };
        let [n, m] = [one, two].map(|side| topology.facets[side.triangle as usize].normal);
        (one.inward.dot(two.inward) < -SHARP_ANGLE).then(|| 1_f64.copysign(n.dot(m)))
    };
    (0..topology.edges.len()).map(fold).collect()
}

struct Surface<'a> {
    soup: &'a TriangleSoup,
    topology: &'a Topology,
    /// See [`folds`].
    folds: Vec<Option<f64>>,
}

/// A corner of a triangle among those that smooth edges join at a vertex.
#[derive(Clone, Copy)]
struct Corner {
    triangle: u32,
    corner: u32,
    /// Whether the triangle's normal agrees (1) with that of the fan's first, or is opposed (−1).
    sign: f64,
}

impl Surface<'_> {
    /// The triangle across an edge that is smooth, and how its normal lies to this one's.
    fn across(&self, triangle: u32, edge: u32) -> Option<(u32, f64)> {
        let fold = self.folds[edge as usize]?;
        let mut sides = self.topology.edge_sides.of(edge).iter();
        let other = sides.find(|side| side.triangle != triangle)?;
        Some((other.triangle, fold))
    }

    /// All corners, gathered into fans; the first of a fan is the one of the lowest triangle.
    fn fans(&self) -> Vec<Vec<Corner>> {
        let triangles = &self.soup.triangles;
        let mut is_seen = vec![[false; 3]; triangles.len()];
        let mut fans = Vec::new();
        for first in 0..3 * triangles.len() {
            let (triangle, corner) = (first / 3, first % 3);
            if std::mem::replace(&mut is_seen[triangle][corner], true) {
                continue;
            }
            let vertex = triangles[triangle][corner];
            let mut fan = vec![Corner {
                triangle: triangle as u32,
                corner: corner as u32,
                sign: 1.0,
            }];
            let mut next = 0;
            while let Some(&Corner {
                triangle,
                corner,
                sign,
            }) = fan.get(next)
            {
                next += 1;
                for side in [corner, (corner + 2) % 3] {
                    let edge = self.topology.triangle_edges[triangle as usize][side as usize];
                    let Some((other, fold)) = self.across(triangle, edge) else {
                        continue;
                    };
                    let is_seen = &mut is_seen[other as usize];
                    for corner in 0..3 {
                        if triangles[other as usize][corner] == vertex && !is_seen[corner] {
                            is_seen[corner] = true;
                            fan.push(Corner {
                                triangle: other,
                                corner: corner as u32,
                                sign: sign * fold,
                            });
                        }
                    }
                }
            }
            fans.push(fan);
        }
        fans
    }

    /// The weight of equation (1).
    fn weight(&self, at: &Corner) -> f64 {
        let corners = self.topology.facets[at.triangle as usize].corners;
        let corner = at.corner as usize;
        let [a, b] = [1, 2].map(|k| corners[(corner + k) % 3] - corners[corner]);
        a.cross(b).length() / (a.length_squared() * b.length_squared())
    }

    /// The normal of equation (1) at every corner, on the side of the triangle's own; none where
    /// all triangles of the fan belong to one patch.
    fn normals(&self, fans: &[Vec<Corner>]) -> Vec<[Option<DVec3>; 3]> {
        let Topology {
            facets, patches, ..
        } = self.topology;
        let mut normals = vec![[None; 3]; facets.len()];
        for fan in fans {
            let patch = |at: &Corner| patches[at.triangle as usize];
            if fan.iter().all(|at| patch(at) == patch(&fan[0])) {
                continue;
            }
            let normal = |at: &Corner| at.sign * facets[at.triangle as usize].normal;
            let sum: DVec3 = fan.iter().map(|at| self.weight(at) * normal(at)).sum();
            let mean = sum.normalize_or_zero();
            for at in fan {
                normals[at.triangle as usize][at.corner as usize] = Some(at.sign * mean);
            }
        }
        normals
    }

    /// Equation (2) and the eigenvalue of greater magnitude, for every triangle that of its patch.
    fn patch_curvatures(&self, normals: &[[Option<DVec3>; 3]]) -> Vec<f64> {
        let Topology {
            facets,
            patches,
            patch_count,
            edges,
            triangle_edges,
            ..
        } = self.topology;
        // A patch has the normal of its first triangle.
        let mut patch_normals = vec![DVec3::ZERO; *patch_count as usize];
        for (facet, &patch) in facets.iter().zip(patches).rev() {
            patch_normals[patch as usize] = facet.normal;
        }
        let sign = |triangle: usize| {
            let normal = patch_normals[patches[triangle] as usize];
            1_f64.copysign(normal.dot(facets[triangle].normal))
        };
        let mut integrals = vec![(DMat2::ZERO, 0.0); patch_normals.len()];
        for (triangle, facet) in facets.iter().enumerate() {
            let patch = patches[triangle] as usize;
            let normal = patch_normals[patch];
            let (x, y) = normal.any_orthonormal_pair();
            let in_plane = |v: DVec3| DVec2::new(v.dot(x), v.dot(y));
            let bend = |k: usize| {
                let vertex_normal = normals[triangle][k];
                vertex_normal.map_or(DVec3::ZERO, |n| sign(triangle) * n - normal)
            };
            let (integral, area) = &mut integrals[patch];
            let [a, b, c] = facet.corners;
            *area += 0.5 * (b - a).cross(c - a).length();
            for k in 0..3 {
                let next = (k + 1) % 3;
                if edges[triangle_edges[triangle][k] as usize].kind != EdgeKind::Flat {
                    let length = facet.corners[k].distance(facet.corners[next]);
                    let mean = in_plane(0.5 * length * (bend(k) + bend(next)));
                    let outward = in_plane(-facet.inward[k]);
                    *integral += DMat2::from_cols(mean * outward.x, mean * outward.y);
                }
            }
        }
        let curvature = |triangle: usize| {
            let (integral, area) = integrals[patches[triangle] as usize];
            sign(triangle) * principal(integral) / area
        };
        (0..facets.len()).map(curvature).collect()
    }

    /// The mean of the two triangles' at a smooth edge.
    fn edge_curvatures(&self, of_triangles: &[f64]) -> Vec<f64> {
        let sides = |edge: usize| self.topology.edge_sides.of(edge as u32);
        let mean = |edge: usize| match (self.folds[edge], sides(edge)) {
            (Some(fold), &[one, two]) => {
                let [one, two] = [one, two].map(|side| of_triangles[side.triangle as usize]);
                0.5 * (one + fold * two)
            }
            _ => 0.0,
        };
        (0..self.folds.len()).map(mean).collect()
    }

    /// The mean of the triangles' at a vertex without sharp edges, weighted as in equation (1).
    fn vertex_curvatures(&self, fans: &[Vec<Corner>], of_triangles: &[f64]) -> Vec<f64> {
        let mut is_sharp = vec![false; self.soup.vertices.len()];
        for (edge, fold) in self.topology.edges.iter().zip(&self.folds) {
            for vertex in edge.vertices {
                is_sharp[vertex as usize] |= fold.is_none();
            }
        }
        let mut means = vec![0.0; is_sharp.len()];
        // Backwards: the fan of the lowest triangle has the last word.
        for fan in fans.iter().rev() {
            let vertex = self.soup.triangles[fan[0].triangle as usize][fan[0].corner as usize];
            if !is_sharp[vertex as usize] {
                let weights: f64 = fan.iter().map(|at| self.weight(at)).sum();
                let curvature = |at: &Corner| at.sign * of_triangles[at.triangle as usize];
                let sum: f64 = fan.iter().map(|at| self.weight(at) * curvature(at)).sum();
                means[vertex as usize] = sum / weights;
            }
        }
        means
    }
}

/// The eigenvalue of greater magnitude of the symmetric part; of equal ones the positive.
fn principal(gradient: DMat2) -> f64 {
    let mean = 0.5 * (gradient.x_axis.x + gradient.y_axis.y);
    let difference = 0.5 * (gradient.x_axis.x - gradient.y_axis.y);
    let shear = 0.5 * (gradient.x_axis.y + gradient.y_axis.x);
    mean + difference.hypot(shear).copysign(mean)
}
