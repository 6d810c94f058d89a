//! Convex hull of points: quickhull with exact predicates.
//!
//! Which facets a point sees is decided by `orient3d` in exact arithmetic, so that the facets seen
//! always form one disc and the surface stays closed, however flat, doubled or nearly coplanar
//! points lie. Only points that stand out by more than [`TOLERANCE`] are taken at all; facets whose
//! corners lie in one plane to within [`COPLANAR`] are then merged into faces. Both are parts of
//! the diagonal of the points' box.

use super::polyhedron::HullError;
use crate::Aabb;
use glam::DVec3;
use robust::{Coord3D, orient3d};

/// A point nearer than this to the hull of the others is not one of its corners.
const TOLERANCE: f64 = 1e-9;

/// Facets within this of one plane are one face, and points within this of one plane are flat.
/// Single precision files carry errors of 6e-8 of the largest coordinate.
const COPLANAR: f64 = 1e-7;

/// The surface of a hull: corners, triangles seen counter-clockwise from outside, and the same
/// surface with coplanar triangles merged.
pub(super) struct Hull {
    pub vertices: Vec<DVec3>,
    pub triangles: Vec<[u32; 3]>,
    /// Corners of each face, counter-clockwise from outside.
    pub faces: Vec<Vec<u32>>,
}

struct Facet {
    corners: [u32; 3],
    /// Facet across the edge from corner `k` to `k + 1`.
    neighbours: [u32; 3],
    normal: DVec3,
    /// Points above the facet, each in the list of one facet only.
    outside: Vec<u32>,
    is_alive: bool,
}

struct Builder<'a> {
    points: &'a [DVec3],
    facets: Vec<Facet>,
    tolerance: f64,
}

/// The hull of finite points.
pub(super) fn convex_hull(points: &[DVec3]) -> Result<Hull, HullError> {
    let extent = Aabb::of_points(points.iter().copied()).size().length();
    let mut builder = Builder::start(points, extent)?;
    builder.grow();
    let facets = alive(builder.facets);
    Ok(assemble(points, &facets, COPLANAR * extent))
}

impl<'a> Builder<'a> {
    /// A tetrahedron of points far from one another.
    fn start(points: &'a [DVec3], extent: f64) -> Result<Self, HullError> {
        let farthest = |measure: &dyn Fn(DVec3) -> f64| {
            let mut best = (0, f64::NEG_INFINITY);
            for (index, &point) in points.iter().enumerate() {
                let value = measure(point);
                if value > best.1 {
                    best = (index, value);
                }
            }
            best
        };
        let (a, _) = farthest(&|p| -p.x);
        let (b, length) = farthest(&|p| p.distance(points[a]));
        let along = (points[b] - points[a]).normalize_or_zero();
        let (c, width) = farthest(&|p| (p - points[a]).cross(along).length());
        let normal = along.cross(points[c] - points[a]).normalize_or_zero();
        let (d, height) = farthest(&|p| (p - points[a]).dot(normal).abs());
        let min = length.min(width).min(height);
        if min.is_nan() || min <= COPLANAR * extent {
            return Err(HullError::Flat);
        }
        let [a, mut b, mut c, d] = [a, b, c, d].map(|index| index as u32);
        let mut builder = Self {
            points,
            facets: Vec::new(),
            tolerance: TOLERANCE * extent,
        };
        if builder.is_above([a, b, c], d) {
            std::mem::swap(&mut b, &mut c);
        }
        let corners = [[a, b, c], [a, d, b], [b, d, c], [c, d, a]];
        let neighbours = [[1, 2, 3], [3, 2, 0], [1, 3, 0], [2, 1, 0]];
        for (corners, neighbours) in corners.into_iter().zip(neighbours) {
            builder.push(corners, neighbours);
        }
        builder.assign(0..points.len() as u32, 0);
        Ok(builder)
    }

    fn push(&mut self, corners: [u32; 3], neighbours: [u32; 3]) {
        let [a, b, c] = corners.map(|corner| self.points[corner as usize]);
        self.facets.push(Facet {
            corners,
            neighbours,
            normal: (b - a).cross(c - a).normalize_or_zero(),
            outside: Vec::new(),
            is_alive: true,
        });
    }

    /// Whether a point is strictly outside of the plane of three, decided exactly.
    fn is_above(&self, corners: [u32; 3], point: u32) -> bool {
        let [a, b, c, d] = [corners[0], corners[1], corners[2], point].map(|index| {
            let DVec3 { x, y, z } = self.points[index as usize];
            Coord3D { x, y, z }
        });
        orient3d(a, b, c, d) < 0.0
    }

    fn height(&self, facet: &Facet, point: u32) -> f64 {
        let corner = self.points[facet.corners[0] as usize];
        (self.points[point as usize] - corner).dot(facet.normal)
    }

    /// Puts every point that stands out of a facet from `first` on into the list of the one it
    /// stands out of most.
    fn assign(&mut self, points: impl IntoIterator<Item = u32>, first: usize) {
        for point in points {
            let mut best = (usize::MAX, self.tolerance);
            for (index, facet) in self.facets.iter().enumerate().skip(first) {
                let height = self.height(facet, point);
                if height > best.1 {
                    best = (index, height);
                }
            }
            if let Some(facet) = self.facets.get_mut(best.0) {
                facet.outside.push(point);
            }
        }
    }

    fn grow(&mut self) {
        let mut next = 0;
        while next < self.facets.len() {
            let facet = &self.facets[next];
            let height = |point: &u32| self.height(facet, *point);
            let farthest = facet
                .outside
                .iter()
                .copied()
                .max_by(|one, two| height(one).total_cmp(&height(two)));
            match farthest {
                Some(point) if facet.is_alive && self.is_above(facet.corners, point) => {
                    self.add(point, next);
                }
                // A height that is rounding alone.
                Some(point) if facet.is_alive => {
                    self.facets[next].outside.retain(|other| *other != point);
                }
                _ => next += 1,
            }
        }
    }

    /// Replaces all facets that the point sees by the cone from the point to their border.
    fn add(&mut self, point: u32, seed: usize) {
        let mut seen = vec![seed];
        self.facets[seed].is_alive = false;
        let mut border = Vec::new();
        let mut next = 0;
        while let Some(&facet) = seen.get(next) {
            next += 1;
            for k in 0..3 {
                let across = self.facets[facet].neighbours[k] as usize;
                if !self.facets[across].is_alive {
                    continue;
                }
                if self.is_above(self.facets[across].corners, point) {
                    self.facets[across].is_alive = false;
                    seen.push(across);
                }
            }
        }
        for &facet in &seen {
            let Facet {
                corners,
                neighbours,
                ..
            } = self.facets[facet];
            for k in 0..3 {
                let across = neighbours[k] as usize;
                if self.facets[across].is_alive {
                    border.push((corners[k], corners[(k + 1) % 3], across));
                }
            }
        }
        let first = self.facets.len();
        for &(from, to, across) in &border {
            let new = self.facets.len() as u32;
            let (mut before, mut after) = (0, 0);
            for (index, &(other_from, other_to, _)) in border.iter().enumerate() {
                let other = (first + index) as u32;
                if other_to == from {
                    before = other;
                }
                if other_from == to {
                    after = other;
                }
            }
            let shared = self.facets[across]
                .corners
                .iter()
                .position(|&corner| corner == to)
                .expect("neighbours share the edge");
            self.facets[across].neighbours[shared] = new;
            self.push([from, to, point], [across as u32, after, before]);
        }
        for facet in seen {
            let waiting = std::mem::take(&mut self.facets[facet].outside);
            let others = waiting.into_iter().filter(|other| *other != point);
            self.assign(others.collect::<Vec<_>>(), first);
        }
    }
}

/// The facets that are part of the surface.
fn alive(mut facets: Vec<Facet>) -> Vec<Facet> {
    let mut count = 0;
    let names: Vec<u32> = facets
        .iter()
        .map(|facet| {
            count += u32::from(facet.is_alive);
            count.saturating_sub(1)
        })
        .collect();
    facets.retain(|facet| facet.is_alive);
    for facet in &mut facets {
        facet.neighbours = facet.neighbours.map(|other| names[other as usize]);
    }
    facets
}

/// Merges facets and drops vertices that are corners of fewer than three faces. Where that does
/// not give a polyhedron (facets about as small as the tolerance), facets stay as they are.
fn assemble(points: &[DVec3], facets: &[Facet], tolerance: f64) -> Hull {
    let corners = |facet: &Facet| facet.corners.map(|corner| points[corner as usize]);
    let groups = group_coplanar(facets, corners, tolerance);
    let faces = merge(facets, &groups)
        .unwrap_or_else(|| facets.iter().map(|facet| facet.corners.to_vec()).collect());
    // Corners in order of the input, so that names of features follow from it.
    let mut names = vec![u32::MAX; points.len()];
    for &corner in faces.iter().flatten() {
        names[corner as usize] = 0;
    }
    let mut vertices = Vec::new();
    for (name, &point) in names.iter_mut().zip(points) {
        if *name == 0 {
            *name = vertices.len() as u32;
            vertices.push(point);
        }
    }
    let rename = |loops: Vec<u32>| -> Vec<u32> {
        let renamed = loops.into_iter().map(|corner| names[corner as usize]);
        renamed.collect()
    };
    let faces: Vec<Vec<u32>> = faces.into_iter().map(rename).collect();
    let triangles = faces
        .iter()
        .flat_map(|face| (1..face.len() - 1).map(|k| [face[0], face[k], face[k + 1]]))
        .collect();
    Hull {
        vertices,
        triangles,
        faces,
    }
}

/// Number of the face of each facet: flood fill from the largest facets.
fn group_coplanar(
    facets: &[Facet],
    corners: impl Fn(&Facet) -> [DVec3; 3],
    tolerance: f64,
) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    let area = |index: usize| {
        let [a, b, c] = corners(&facets[index]);
        (b - a).cross(c - a).length()
    };
    let mut order: Vec<usize> = (0..facets.len()).collect();
    order.sort_by(|&one, &two| area(two).total_cmp(&area(one)).then(one.cmp(&two)));
    let mut groups = vec![NONE; facets.len()];
    let mut count = 0;
    for seed in order {
        if groups[seed] != NONE {
            continue;
        }
        groups[seed] = count;
        let (origin, normal) = (corners(&facets[seed])[0], facets[seed].normal);
        let is_in_plane = |facet: &Facet| {
            let near = |corner: DVec3| (corner - origin).dot(normal).abs() <= tolerance;
            facet.normal.dot(normal) > 0.0 && corners(facet).into_iter().all(near)
        };
        let mut waiting = vec![seed];
        while let Some(facet) = waiting.pop() {
            for other in facets[facet].neighbours {
                let other = other as usize;
                if groups[other] == NONE && is_in_plane(&facets[other]) {
                    groups[other] = count;
                    waiting.push(other);
                }
            }
        }
        count += 1;
    }
    groups
}

/// The borders of the groups, or `None` where they do not bound a polyhedron.
fn merge(facets: &[Facet], groups: &[u32]) -> Option<Vec<Vec<u32>>> {
    let count = groups.iter().max()? + 1;
    let mut borders: Vec<Vec<(u32, u32)>> = vec![Vec::new(); count as usize];
    for (facet, &group) in facets.iter().zip(groups) {
        for k in 0..3 {
            if groups[facet.neighbours[k] as usize] != group {
                let edge = (facet.corners[k], facet.corners[(k + 1) % 3]);
                borders[group as usize].push(edge);
            }
        }
    }
    let mut faces = Vec::with_capacity(borders.len());
    for border in &borders {
        let mut face = Vec::with_capacity(border.len());
        let (first, mut at) = *border.first()?;
        face.push(first);
        while at != first {
            face.push(at);
            at = border.iter().find(|edge| edge.0 == at)?.1;
            if face.len() > border.len() {
                return None;
            }
        }
        if face.len() != border.len() {
            return None;
        }
        faces.push(face);
    }
    let mut uses = std::collections::HashMap::new();
    for &corner in faces.iter().flatten() {
        *uses.entry(corner).or_insert(0_usize) += 1;
    }
    for face in &mut faces {
        face.retain(|corner| uses[corner] > 2);
    }
    let vertices = uses.values().filter(|uses| **uses > 2).count();
    let sides: usize = faces.iter().map(Vec::len).sum();
    let is_polyhedron =
        faces.iter().all(|face| face.len() > 2) && vertices + faces.len() == sides / 2 + 2;
    is_polyhedron.then_some(faces)
}
