//! Surfaces of triangles whose neighbours are known: what is smooth, and where edges are.
//!
//! Corners are welded by position, which gives the neighbours of each triangle whatever the order
//! of the list. Neighbours that meet at less than 40° share a smooth normal, unless the surface is
//! known to have flat faces.

use glam::DVec3;

use crate::picture::Triangle;

/// Largest angle between neighbours that belong to one smooth surface: cos 40°.
const CREASE: f64 = 0.766;
/// The same of a body with flat faces, which are triangles in one plane: cos 0.8°.
const FLAT: f64 = 0.9999;
/// Corners closer than this part of the surface's size are one.
const WELD: f64 = 1e-7;

/// A welded surface.
pub struct Surface {
    /// Corners, each once.
    pub points: Vec<DVec3>,
    /// Indices into `points`.
    pub faces: Vec<[usize; 3]>,
    /// Unit normal of each face's front.
    pub normals: Vec<DVec3>,
    /// Faces at each point: those of point `p` are `incident[first[p]..first[p + 1]]`.
    first: Vec<usize>,
    incident: Vec<usize>,
    /// Cosine of the largest angle between neighbours that belong together.
    crease: f64,
}

/// One side of a face.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Side {
    /// Points at its ends, the smaller index first.
    pub ends: [usize; 2],
    /// The face.
    pub face: usize,
    /// Whether the face runs from the first end to the second. Neighbours of equal orientation
    /// run along their edge in opposite ways.
    pub forward: bool,
}

impl Surface {
    /// Welds triangles; those that are not finite or have no area are left out.
    pub fn new(triangles: &[Triangle]) -> Self {
        Self::with_crease(triangles, CREASE)
    }

    /// The same of a body with flat faces: every edge between two of them is sharp.
    pub fn of_flat_faces(triangles: &[Triangle]) -> Self {
        Self::with_crease(triangles, FLAT)
    }

    fn with_crease(triangles: &[Triangle], crease: f64) -> Self {
        let whole = triangles
            .iter()
            .filter(|triangle| triangle.corners.iter().all(|corner| corner.is_finite()));
        let corners: Vec<DVec3> = whole.flat_map(|triangle| triangle.corners).collect();
        let low = corners.iter().fold(DVec3::INFINITY, |low, p| low.min(*p));
        let high = corners
            .iter()
            .fold(DVec3::NEG_INFINITY, |high, p| high.max(*p));
        let grid = (high - low).length() * WELD;
        let key = |p: DVec3| {
            let cell = ((p - low) / grid).round();
            [cell.x as i64, cell.y as i64, cell.z as i64]
        };
        let mut order: Vec<usize> = (0..corners.len()).collect();
        order.sort_by_key(|&i| (key(corners[i]), i));
        let mut points: Vec<DVec3> = Vec::new();
        let mut welded = vec![0; corners.len()];
        for (position, &i) in order.iter().enumerate() {
            if position == 0 || key(corners[order[position - 1]]) != key(corners[i]) {
                points.push(corners[i]);
            }
            welded[i] = points.len() - 1;
        }
        let mut faces = Vec::new();
        let mut normals = Vec::new();
        for face in welded.chunks_exact(3) {
            let [a, b, c] = [points[face[0]], points[face[1]], points[face[2]]];
            if let Some(normal) = ((b - a) / grid).cross((c - a) / grid).try_normalize() {
                faces.push([face[0], face[1], face[2]]);
                normals.push(normal);
            }
        }
        let mut first = vec![0; points.len() + 1];
        for &point in faces.as_flattened() {
            first[point + 1] += 1;
        }
        for point in 0..points.len() {
            first[point + 1] += first[point];
        }
        let mut fill = first.clone();
        let mut incident = vec![0; 3 * faces.len()];
        for (face, corners) in faces.iter().enumerate() {
            for &point in corners {
                incident[fill[point]] = face;
                fill[point] += 1;
            }
        }
        Self {
            points,
            faces,
            normals,
            first,
            incident,
            crease,
        }
    }

    /// The mean normal, at each corner, of the faces that continue this one smoothly.
    pub fn corner_normals(&self, face: usize) -> [DVec3; 3] {
        let own = self.normals[face];
        self.faces[face].map(|point| {
            let around = &self.incident[self.first[point]..self.first[point + 1]];
            let sum = around.iter().fold(DVec3::ZERO, |sum, &other| {
                let cosine = own.dot(self.normals[other]);
                if cosine.abs() > self.crease {
                    sum + self.normals[other] * cosine.signum()
                } else {
                    sum
                }
            });
            sum.normalize_or(own)
        })
    }

    /// The sides of all faces, those of one edge (with the same ends) beside each other.
    pub fn sides(&self) -> Vec<Side> {
        let mut sides: Vec<Side> = Vec::with_capacity(3 * self.faces.len());
        for (face, corners) in self.faces.iter().enumerate() {
            for i in 0..3 {
                let (a, b) = (corners[i], corners[(i + 1) % 3]);
                sides.push(Side {
                    ends: [a.min(b), a.max(b)],
                    face,
                    forward: a < b,
                });
            }
        }
        sides.sort_unstable();
        sides
    }

    /// The two sides of an edge at which the surface goes on smoothly; `None` where the edge is
    /// sharp, open or common to three or more faces.
    pub fn smooth_neighbours<'a>(&self, edge: &'a [Side]) -> Option<[&'a Side; 2]> {
        let [one, other] = edge else {
            return None;
        };
        let cosine = self.normals[one.face].dot(self.normals[other.face]);
        let bend = if one.forward == other.forward {
            -cosine
        } else {
            cosine
        };
        (bend >= self.crease).then_some([one, other])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A blunt roof of two triangles, whose sides meet at 20°.
    fn roof() -> [Triangle; 2] {
        let (sin, cos) = 10_f64.to_radians().sin_cos();
        let eave = |side: f64| DVec3::new(side * cos, 0.5, -sin);
        let ridge = [DVec3::ZERO, DVec3::Y];
        [
            Triangle {
                corners: [ridge[0], eave(1.0), ridge[1]],
            },
            Triangle {
                corners: [ridge[0], ridge[1], eave(-1.0)],
            },
        ]
    }

    #[test]
    fn a_blunt_edge_is_smooth_on_a_surface_and_sharp_between_flat_faces() {
        let ridge_is_smooth = |surface: &Surface| {
            let sides = surface.sides();
            let mut edges = sides.chunk_by(|one, other| one.ends == other.ends);
            edges.any(|edge| surface.smooth_neighbours(edge).is_some())
        };
        let smooth = Surface::new(&roof());
        assert!(ridge_is_smooth(&smooth));
        assert!(smooth.corner_normals(0)[0].distance(DVec3::Z) < 1e-12);
        let flat = Surface::of_flat_faces(&roof());
        assert!(!ridge_is_smooth(&flat));
        for normal in flat.corner_normals(0) {
            assert!(normal.distance(flat.normals[0]) < 1e-12, "{normal}");
        }
    }
}
