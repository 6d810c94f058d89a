//! Shortest way out of an overlap by the expanding polytope algorithm.
//!
//! A polytope within the Minkowski difference `B − A` grows from a tetrahedron by support points
//! along the normal of the face nearest to the origin, until that face is part of the difference's
//! surface. It lives in arrays of fixed size. With bodies that are curved it never ends by itself:
//! the normal found is the start of a search that does.

use super::gjk::{Simplex, difference_support};
use super::solid::Solid;
use glam::DVec3;

const MAX_VERTICES: usize = 96;
const MAX_FACES: usize = 192;

/// A support point nearer than this to the face, in sizes of the first tetrahedron, ends the search.
const TOLERANCE: f64 = 1e-10;

/// How far above a face, in sizes of the first tetrahedron, a point must be to see it: a point in the
/// plane of several faces would see some of them by rounding, and leave slivers.
const VISIBLE: f64 = 1e-12;

#[derive(Clone, Copy)]
struct Face {
    corners: [u8; 3],
    normal: DVec3,
    distance: f64,
}

struct Polytope {
    vertices: [DVec3; MAX_VERTICES],
    vertex_count: usize,
    faces: [Face; MAX_FACES],
    face_count: usize,
}

/// The unit vector from `a` to `b` along which the overlap is smallest.
pub(super) fn min_overlap(a: &Solid, b: &Solid, simplex: &Simplex) -> Option<DVec3> {
    let tetrahedron = tetrahedron(a, b, simplex)?;
    let size = tetrahedron
        .iter()
        .fold(0.0, |size: f64, v| size.max(v.length()));
    let mut polytope = Polytope::new(tetrahedron)?;
    loop {
        let nearest = polytope.nearest();
        let new = difference_support(a, b, nearest.normal);
        let is_surface = new.dot(nearest.normal) - nearest.distance <= TOLERANCE * size;
        if is_surface || !polytope.expand(new, VISIBLE * size) {
            return Some(-nearest.normal);
        }
    }
}

/// Completes the simplex to a tetrahedron.
fn tetrahedron(a: &Solid, b: &Solid, simplex: &Simplex) -> Option<[DVec3; 4]> {
    let mut points = simplex.points;
    let mut count = simplex.count;
    let size = (0..3)
        .map(|k| {
            let ends = [1.0, -1.0].map(|s| difference_support(a, b, s * DVec3::AXES[k])[k]);
            ends[0] - ends[1]
        })
        .fold(0.0, f64::max);
    let negligible = 1e-9 * size;
    // A simplex that lost its volume to rounding starts again from fewer points.
    while count > 1 && spread(&points[..count]) < negligible {
        count -= 1;
    }
    while count < 4 {
        let directions: [DVec3; 6] = match count {
            1 => [
                DVec3::X,
                DVec3::Y,
                DVec3::Z,
                DVec3::NEG_X,
                DVec3::NEG_Y,
                DVec3::NEG_Z,
            ],
            2 => {
                let (s, t) = (points[1] - points[0])
                    .normalize_or(DVec3::X)
                    .any_orthonormal_pair();
                [s, t, -s, -t, s + t, s - t]
            }
            _ => {
                let normal = (points[1] - points[0])
                    .cross(points[2] - points[0])
                    .normalize_or(DVec3::X);
                [normal, -normal, normal, normal, normal, normal]
            }
        };
        let mut best = (points[0], 0.0);
        for direction in directions {
            points[count] = difference_support(a, b, direction);
            let spread = spread(&points[..=count]);
            if spread > best.1 {
                best = (points[count], spread);
            }
        }
        if best.1 < negligible {
            return None;
        }
        points[count] = best.0;
        count += 1;
    }
    Some(points)
}

/// Distance of the last point from the line or plane of the others (m).
fn spread(points: &[DVec3]) -> f64 {
    match *points {
        [a, b] => a.distance(b),
        [a, b, c] => (c - a).cross((b - a).normalize_or_zero()).length(),
        [a, b, c, d] => (d - a).dot((b - a).cross(c - a).normalize_or_zero()).abs(),
        _ => f64::INFINITY,
    }
}

impl Polytope {
    fn new(corners: [DVec3; 4]) -> Option<Self> {
        let [a, b, c, d] = corners;
        let blank = Face {
            corners: [0; 3],
            normal: DVec3::ZERO,
            distance: f64::INFINITY,
        };
        let mut polytope = Self {
            vertices: [DVec3::ZERO; MAX_VERTICES],
            vertex_count: 4,
            faces: [blank; MAX_FACES],
            face_count: 0,
        };
        polytope.vertices[..4].copy_from_slice(&corners);
        let is_outward = (b - a).cross(c - a).dot(d - a) < 0.0;
        for [i, j, k] in [[0, 1, 2], [0, 3, 1], [1, 3, 2], [2, 3, 0]] {
            let face = if is_outward { [i, j, k] } else { [i, k, j] };
            polytope.push(face).then_some(())?;
        }
        Some(polytope)
    }

    /// Adds a face; false where it has no normal or there is no room.
    fn push(&mut self, corners: [u8; 3]) -> bool {
        let [a, b, c] = corners.map(|corner| self.vertices[corner as usize]);
        let Some(normal) = (b - a).cross(c - a).try_normalize() else {
            return false;
        };
        if self.face_count == MAX_FACES {
            return false;
        }
        self.faces[self.face_count] = Face {
            corners,
            normal,
            distance: normal.dot(a),
        };
        self.face_count += 1;
        true
    }

    fn nearest(&self) -> Face {
        let faces = &self.faces[..self.face_count];
        let first = faces[0];
        faces.iter().fold(first, |best, face| {
            if face.distance < best.distance {
                *face
            } else {
                best
            }
        })
    }

    /// Takes in a point; false where the polytope cannot grow any more.
    fn expand(&mut self, point: DVec3, visible: f64) -> bool {
        if self.vertex_count == MAX_VERTICES {
            return false;
        }
        let new = self.vertex_count as u8;
        self.vertices[self.vertex_count] = point;
        self.vertex_count += 1;
        // Edges of the faces that see the point; one that comes from both sides is no border.
        let mut border = [(0_u8, 0_u8); MAX_FACES];
        let mut border_count = 0;
        let mut index = 0;
        while index < self.face_count {
            let face = self.faces[index];
            if face.normal.dot(point) <= face.distance + visible {
                index += 1;
                continue;
            }
            for k in 0..3 {
                let (from, to) = (face.corners[k], face.corners[(k + 1) % 3]);
                let opposite = |edge: &(u8, u8)| *edge == (to, from);
                if let Some(known) = border[..border_count].iter().position(opposite) {
                    border_count -= 1;
                    border[known] = border[border_count];
                } else if border_count < MAX_FACES {
                    border[border_count] = (from, to);
                    border_count += 1;
                }
            }
            self.face_count -= 1;
            self.faces[index] = self.faces[self.face_count];
        }
        border_count > 2
            && border[..border_count]
                .iter()
                .all(|&(from, to)| self.push([from, to, new]))
    }
}
