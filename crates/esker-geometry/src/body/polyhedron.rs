//! Convex polyhedra.
//!
//! Mass properties are sums over the tetrahedra `(o, a, b, c)` from the origin to the triangles of
//! the surface, with `D = a · (b × c)`:
//!
//! ```text
//! V = Σ D/6,   V x̄ = Σ D (a + b + c)/24,                                 (1)
//! ∫ x xᵀ dV = Σ D/120 (a aᵀ + b bᵀ + c cᵀ + s sᵀ),   s = a + b + c,      (2)
//! inertia per mass = tr(C) 1 − C,   C = ∫ x xᵀ dV / V about x̄.           (3)
//! ```

use super::hull::{Hull, convex_hull};
use super::principal::principal_axes;
use super::{MassProperties, inertia_of};
use crate::mesh::{MeshError, TriangleMesh, TriangleSoup};
use crate::{Aabb, Pose};
use glam::{DMat3, DQuat, DVec3};
use std::f64::consts::PI;
use thiserror::Error;

/// Hulls with more vertices than this are climbed along edges to find the extreme one.
const FEW_VERTICES: usize = 24;

/// How far the volume of a surface may be from that of its hull to count as convex.
const CONVEX_TOLERANCE: f64 = 1e-6;

/// A convex polyhedron about its centre of mass, in its principal axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Polyhedron {
    vertices: Vec<DVec3>,
    faces: Vec<PolyhedronFace>,
    edges: Vec<PolyhedronEdge>,
    /// Vertices of all faces, one after the other.
    corners: Vec<u32>,
    /// For each vertex where its neighbours start; one more at the end.
    fan_starts: Vec<u32>,
    /// Across the edges at each vertex: the vertex, and the face to the left of the way there.
    fans: Vec<Spoke>,
    volume: f64,
    inertia_per_mass: DVec3,
    bounding_radius: f64,
    inner_radius: f64,
    equivalent_radius: f64,
}

/// A face of a polyhedron.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PolyhedronFace {
    /// Outward unit normal.
    pub normal: DVec3,
    /// Distance of its plane from the centre of mass (m).
    pub offset: f64,
    start: u32,
    count: u32,
}

/// An edge of a polyhedron.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolyhedronEdge {
    /// Its ends.
    pub vertices: [u32; 2],
    /// The face to the left of the way from the first end to the second, seen from outside, and
    /// the face to the right.
    pub faces: [u32; 2],
}

/// An edge seen from one of its ends.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Spoke {
    vertex: u32,
    face: u32,
}

/// Points or a surface that bound no convex body.
#[derive(Debug, Error)]
pub enum HullError {
    /// A body needs four points at least.
    #[error("a polyhedron needs at least four points, but there are {count}")]
    TooFewPoints {
        /// How many there are.
        count: usize,
    },
    /// A coordinate is infinite or not a number.
    #[error("point {index} has a coordinate that is not a finite number")]
    NonFinite {
        /// Index of the point, from 0.
        index: usize,
    },
    /// All points lie in one plane.
    #[error("the points lie in one plane: the polyhedron has no volume")]
    Flat,
    /// The surface is no surface.
    #[error(transparent)]
    Mesh(#[from] MeshError),
    /// The surface has an edge with one triangle, or more than two.
    #[error(
        "the surface is not closed: close it, or take its convex hull, which needs the vertices only"
    )]
    Open,
    /// Triangles that share an edge are wound against each other.
    #[error(
        "neighbouring triangles of the surface are wound against each other: wind them all \
         counter-clockwise seen from outside, or take its convex hull, which needs the vertices only"
    )]
    MixedWinding,
    /// Triangles are clockwise seen from outside.
    #[error(
        "the surface is inside out: its triangles are clockwise seen from outside. Turn them \
         round, or take its convex hull, which needs the vertices only"
    )]
    InsideOut,
    /// There are dents.
    #[error(
        "the surface is not convex: it fills {:.3} % of its convex hull. Take the hull, or build \
         the body as a clump",
        100.0 * fill
    )]
    NotConvex {
        /// Volume over that of the hull.
        fill: f64,
    },
}

impl Polyhedron {
    /// The convex hull of points in any order (m); doubled points and points within it are
    /// ignored. With it the pose of its frame in that of the points: the centre of mass and the
    /// principal axes, in which the polyhedron is kept.
    pub fn from_points(points: &[DVec3]) -> Result<(Self, Pose), HullError> {
        let hull = hull_of_points(points)?;
        let solid = Solid::of_hull(&hull)?;
        let (mean_squares, axes) = principal_axes(without_rounding(solid.second_moment));
        let to_body = axes.transpose();
        let place = |vertex: DVec3| to_body * (vertex - solid.centre);
        let polyhedron = Self::of_hull(hull, solid.volume, mean_squares, place);
        let pose = Pose::new(solid.centre, DQuat::from_mat3(&axes).normalize());
        Ok((polyhedron, pose))
    }

    /// The convex hull of points that are given in its own frame, as [`Polyhedron::vertices`]
    /// gives them: they stay where they are, also where principal axes are a matter of choice.
    pub fn in_body_frame(points: &[DVec3]) -> Result<Self, HullError> {
        let hull = hull_of_points(points)?;
        let solid = Solid::of_hull(&hull)?;
        let second = solid.second_moment;
        let mean_squares = DVec3::new(second.x_axis.x, second.y_axis.y, second.z_axis.z);
        Ok(Self::of_hull(hull, solid.volume, mean_squares, |vertex| {
            vertex
        }))
    }

    /// A surface that is closed, wound outward and convex. See [`Polyhedron::from_points`].
    pub fn from_surface(soup: &TriangleSoup) -> Result<(Self, Pose), HullError> {
        let mesh = TriangleMesh::new(soup.clone())?;
        let (polyhedron, pose) = Self::from_points(&mesh.soup().vertices)?;
        if !mesh.is_closed() {
            return Err(HullError::Open);
        }
        let volume = enclosed_volume(mesh.soup(), pose.position).ok_or(HullError::MixedWinding)?;
        let fill = volume / polyhedron.volume;
        if fill < 0.0 {
            return Err(HullError::InsideOut);
        }
        if (fill - 1.0).abs() > CONVEX_TOLERANCE {
            return Err(HullError::NotConvex { fill });
        }
        Ok((polyhedron, pose))
    }

    /// The convex hull of any surface. See [`Polyhedron::from_points`].
    pub fn hull_of(soup: &TriangleSoup) -> Result<(Self, Pose), HullError> {
        let mesh = TriangleMesh::new(soup.clone())?;
        Self::from_points(&mesh.soup().vertices)
    }

    /// The polyhedron with this volume (m³) and these mean squares of the coordinates (m²);
    /// `place` gives points of the hull in the body's frame.
    fn of_hull(
        hull: Hull,
        volume: f64,
        mean_squares: DVec3,
        place: impl Fn(DVec3) -> DVec3,
    ) -> Self {
        let vertices: Vec<DVec3> = hull.vertices.iter().map(|&v| place(v)).collect();
        let mut polyhedron = Self {
            faces: Vec::with_capacity(hull.faces.len()),
            edges: Vec::new(),
            corners: Vec::new(),
            fan_starts: Vec::new(),
            fans: Vec::new(),
            volume,
            inertia_per_mass: inertia_of(mean_squares),
            bounding_radius: vertices.iter().map(|v| v.length()).fold(0.0, f64::max),
            inner_radius: 0.0,
            equivalent_radius: (0.75 / PI * volume).cbrt(),
            vertices,
        };
        for face in &hull.faces {
            polyhedron.push_face(face);
        }
        polyhedron.join_edges();
        let offsets = polyhedron.faces.iter().map(|face| face.offset);
        polyhedron.inner_radius = offsets.fold(f64::INFINITY, f64::min);
        polyhedron
    }

    fn push_face(&mut self, corners: &[u32]) {
        let at = |k: usize| self.vertices[corners[k % corners.len()] as usize];
        let normal: DVec3 = (0..corners.len())
            .map(|k| (at(k) - at(0)).cross(at(k + 1) - at(0)))
            .sum();
        let normal = normal.normalize_or_zero();
        let heights = (0..corners.len()).map(|k| at(k).dot(normal));
        self.faces.push(PolyhedronFace {
            normal,
            offset: heights.fold(f64::NEG_INFINITY, f64::max),
            start: self.corners.len() as u32,
            count: corners.len() as u32,
        });
        self.corners.extend(corners);
    }

    /// Edges, and what is around each vertex.
    fn join_edges(&mut self) {
        let mut half_edges = Vec::with_capacity(self.corners.len());
        for (face, &PolyhedronFace { start, count, .. }) in self.faces.iter().enumerate() {
            for k in 0..count {
                let [from, to] = [k, (k + 1) % count].map(|k| self.corners[(start + k) as usize]);
                half_edges.push(([from.min(to), from.max(to)], from > to, face as u32));
            }
        }
        half_edges.sort_unstable();
        let mut fans: Vec<(u32, Spoke)> = Vec::with_capacity(half_edges.len());
        for pair in half_edges.chunks_exact(2) {
            let [(vertices, _, left), (_, _, right)] = [pair[0], pair[1]];
            self.edges.push(PolyhedronEdge {
                vertices,
                faces: [left, right],
            });
            let [a, b] = vertices;
            for (vertex, other, face) in [(a, b, left), (b, a, right)] {
                let spoke = Spoke {
                    vertex: other,
                    face,
                };
                fans.push((vertex, spoke));
            }
        }
        fans.sort_unstable_by_key(|(vertex, spoke)| (*vertex, spoke.vertex));
        self.fan_starts = vec![0; self.vertices.len() + 1];
        for (vertex, _) in &fans {
            self.fan_starts[*vertex as usize + 1] += 1;
        }
        for vertex in 0..self.vertices.len() {
            self.fan_starts[vertex + 1] += self.fan_starts[vertex];
        }
        self.fans = fans.into_iter().map(|(_, spoke)| spoke).collect();
    }

    /// Corners (m).
    pub fn vertices(&self) -> &[DVec3] {
        &self.vertices
    }

    /// Faces; none lies in the plane of a neighbour.
    pub fn faces(&self) -> &[PolyhedronFace] {
        &self.faces
    }

    /// Edges, each once.
    pub fn edges(&self) -> &[PolyhedronEdge] {
        &self.edges
    }

    /// Vertices of a face, counter-clockwise seen from outside.
    pub fn corners_of(&self, face: usize) -> &[u32] {
        let PolyhedronFace { start, count, .. } = self.faces[face];
        &self.corners[start as usize..(start + count) as usize]
    }

    fn spokes(&self, vertex: u32) -> &[Spoke] {
        let vertex = vertex as usize;
        &self.fans[self.fan_starts[vertex] as usize..self.fan_starts[vertex + 1] as usize]
    }

    /// The surface as triangles, counter-clockwise seen from outside.
    pub fn triangles(&self) -> impl Iterator<Item = [u32; 3]> + '_ {
        (0..self.faces.len()).flat_map(|face| {
            let corners = self.corners_of(face);
            let fan = corners.windows(2).skip(1);
            fan.map(|pair| [corners[0], pair[0], pair[1]])
        })
    }

    /// Vertices across the edges that leave a vertex.
    pub fn neighbours_of(&self, vertex: u32) -> impl Iterator<Item = u32> + '_ {
        self.spokes(vertex).iter().map(|spoke| spoke.vertex)
    }

    /// Faces that meet in a vertex.
    pub fn faces_at(&self, vertex: u32) -> impl Iterator<Item = u32> + '_ {
        self.spokes(vertex).iter().map(|spoke| spoke.face)
    }

    /// The vertex that is farthest along a direction; of equal ones the lowest, or one of them
    /// where there are many.
    pub fn support(&self, direction: DVec3) -> u32 {
        let height = |vertex: u32| self.vertices[vertex as usize].dot(direction);
        let mut best = (0, height(0));
        if self.vertices.len() <= FEW_VERTICES {
            for vertex in 1..self.vertices.len() as u32 {
                let height = height(vertex);
                if height > best.1 {
                    best = (vertex, height);
                }
            }
            return best.0;
        }
        // A vertex lower than another has a neighbour that is higher: the body is convex.
        loop {
            let from = best.0;
            for vertex in self.neighbours_of(from) {
                let height = height(vertex);
                if height > best.1 {
                    best = (vertex, height);
                }
            }
            if best.0 == from {
                return from;
            }
        }
    }

    /// Radius of the largest ball about the centre of mass within the body (m).
    pub fn inner_radius(&self) -> f64 {
        self.inner_radius
    }

    pub(crate) fn mass_properties(&self) -> MassProperties {
        MassProperties {
            volume: self.volume,
            inertia_per_mass: self.inertia_per_mass,
        }
    }

    /// Radius of the smallest ball about the centre of mass around the body (m).
    pub(crate) fn bounding_radius(&self) -> f64 {
        self.bounding_radius
    }

    /// Radius of the ball of equal volume (m).
    pub(crate) fn equivalent_radius(&self) -> f64 {
        self.equivalent_radius
    }
}

/// Volume within a closed surface, negative where it is inside out; `None` where neighbours are
/// wound against each other.
pub(super) fn enclosed_volume(soup: &TriangleSoup, origin: DVec3) -> Option<f64> {
    let mut ways = std::collections::HashSet::new();
    for &[a, b, c] in &soup.triangles {
        for way in [(a, b), (b, c), (c, a)] {
            if !ways.insert(way) {
                return None;
            }
        }
    }
    let sixth = |triangle: usize| {
        let [a, b, c] = soup.corners(triangle).map(|corner| corner - origin);
        a.dot(b.cross(c)) / 6.0
    };
    Some((0..soup.triangles.len()).map(sixth).sum())
}

fn hull_of_points(points: &[DVec3]) -> Result<Hull, HullError> {
    if points.len() < 4 {
        let count = points.len();
        return Err(HullError::TooFewPoints { count });
    }
    if let Some(index) = points.iter().position(|point| !point.is_finite()) {
        return Err(HullError::NonFinite { index });
    }
    convex_hull(points)
}

/// Equations (1) and (2).
pub(super) struct Solid {
    volume: f64,
    pub(super) centre: DVec3,
    /// `C` of equation (3).
    pub(super) second_moment: DMat3,
}

impl Solid {
    fn of_hull(hull: &Hull) -> Result<Self, HullError> {
        let solid = Self::of(&hull.vertices, &hull.triangles);
        if solid.volume.is_nan() || solid.volume <= 0.0 {
            return Err(HullError::Flat);
        }
        Ok(solid)
    }

    /// What a closed surface that is wound outwards encloses.
    pub(super) fn of(vertices: &[DVec3], triangles: &[[u32; 3]]) -> Self {
        // About a point within, so that a far origin costs no digits.
        let within = Aabb::of_points(vertices.iter().copied()).centre();
        let tetrahedra = |origin: DVec3| {
            triangles.iter().map(move |triangle| {
                let [a, b, c] = triangle.map(|corner| vertices[corner as usize] - origin);
                (a, b, c, a.dot(b.cross(c)))
            })
        };
        let (mut volume, mut centre) = (0.0, DVec3::ZERO);
        for (a, b, c, determinant) in tetrahedra(within) {
            volume += determinant / 6.0;
            centre += determinant / 24.0 * (a + b + c);
        }
        let centre = within + centre / volume;
        let outer = |v: DVec3| DMat3::from_cols(v.x * v, v.y * v, v.z * v);
        let mut second_moment = DMat3::ZERO;
        for (a, b, c, determinant) in tetrahedra(centre) {
            let sum = outer(a) + outer(b) + outer(c) + outer(a + b + c);
            second_moment += sum * (determinant / 120.0);
        }
        Self {
            volume,
            centre,
            second_moment: second_moment * (1.0 / volume),
        }
    }
}

/// Without the elements off the diagonal that are rounding alone: a body given in its own axes keeps
/// them, however many of its moments are equal.
pub(super) fn without_rounding(tensor: DMat3) -> DMat3 {
    let diagonal = DVec3::new(tensor.x_axis.x, tensor.y_axis.y, tensor.z_axis.z);
    let negligible = 1e-15 * diagonal.element_sum();
    let clean = |value: f64| if value.abs() > negligible { value } else { 0.0 };
    let (xy, xz, yz) = (
        clean(tensor.y_axis.x),
        clean(tensor.z_axis.x),
        clean(tensor.z_axis.y),
    );
    DMat3::from_cols(
        DVec3::new(diagonal.x, xy, xz),
        DVec3::new(xy, diagonal.y, yz),
        DVec3::new(xz, yz, diagonal.z),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OpenFaces, Side, WallShape};
    use proptest::prelude::*;
    use std::f64::consts::TAU;

    fn cuboid(half: DVec3) -> Vec<DVec3> {
        let sign = |bit: u32, corner: u32| if corner >> bit & 1 == 0 { -1.0 } else { 1.0 };
        (0..8)
            .map(|corner| half * DVec3::new(sign(0, corner), sign(1, corner), sign(2, corner)))
            .collect()
    }

    fn rotated() -> Pose {
        let axis = DVec3::new(2.0, -1.0, 2.0) / 3.0;
        Pose::new(
            DVec3::new(3.0, -2.0, 5.0),
            DQuat::from_axis_angle(axis, 1.1),
        )
    }

    fn assert_close(got: DVec3, expected: DVec3) {
        assert!(
            (got - expected).length() < 1e-12 * expected.length(),
            "{got} for {expected}"
        );
    }

    #[test]
    fn cuboid_has_its_mass_properties_whatever_points_it_is_made_of() {
        let half = DVec3::new(0.1, 0.2, 0.3);
        let mut points = cuboid(half);
        // Centres of faces and edges, points within, everything doubled.
        points.extend([
            half * DVec3::X,
            half * DVec3::new(1.0, 1.0, 0.0),
            0.3 * half,
        ]);
        points.extend(points.clone());
        let (body, pose) = Polyhedron::from_points(&points).unwrap();
        assert_eq!(
            (body.vertices.len(), body.edges.len(), body.faces.len()),
            (8, 12, 6)
        );
        assert_eq!(pose.orientation, DQuat::IDENTITY);
        assert!(pose.position.length() < 1e-15);
        let squares = half * half;
        let expected = (DVec3::splat(squares.element_sum()) - squares) / 3.0;
        let MassProperties {
            volume,
            inertia_per_mass,
        } = body.mass_properties();
        assert!((volume / (8.0 * half.element_product()) - 1.0).abs() < 1e-12);
        assert_close(inertia_per_mass, expected);
        assert!((body.inner_radius() - 0.1).abs() < 1e-15);
        assert!((body.bounding_radius() - half.length()).abs() < 1e-15);
    }

    #[test]
    fn frame_is_at_the_centre_of_mass_along_the_principal_axes() {
        let half = DVec3::new(0.1, 0.2, 0.3);
        let given = rotated();
        let points: Vec<DVec3> = cuboid(half).iter().map(|p| given.to_world(*p)).collect();
        let (body, pose) = Polyhedron::from_points(&points).unwrap();
        assert_eq!((body.vertices.len(), body.faces.len()), (8, 6));
        assert!((pose.position - given.position).length() < 1e-14);
        for (vertex, point) in body.vertices.iter().zip(&points) {
            assert!((pose.to_world(*vertex) - *point).length() < 1e-13);
        }
        let squares = half * half;
        let expected = (DVec3::splat(squares.element_sum()) - squares) / 3.0;
        let mut moments = body.mass_properties().inertia_per_mass.to_array();
        moments.sort_by(f64::total_cmp);
        assert_close(
            DVec3::from(moments),
            DVec3::new(expected.z, expected.y, expected.x),
        );
    }

    #[test]
    fn regular_tetrahedron_has_its_mass_properties() {
        let points =
            [[1., 1., 1.], [1., -1., -1.], [-1., 1., -1.], [-1., -1., 1.]].map(DVec3::from);
        let (body, pose) = Polyhedron::from_points(&points).unwrap();
        let MassProperties {
            volume,
            inertia_per_mass,
        } = body.mass_properties();
        let edge = 8_f64.sqrt();
        assert!((volume - edge.powi(3) / 72_f64.sqrt()).abs() < 1e-12);
        assert_close(inertia_per_mass, DVec3::splat(edge * edge / 20.0));
        // Equal moments have no axes of their own.
        assert_eq!(pose.orientation, DQuat::IDENTITY);
        assert!((body.inner_radius() - edge / 24_f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn prism_has_two_large_faces_and_its_mass_properties() {
        // n-gon of circumradius r: area n/2 r² sin(2π/n), second moment per area
        // r²/24 (4 + 2 cos(2π/n)) about each axis in its plane.
        let (n, radius, half_length) = (40_u32, 0.5, 0.7);
        let step = TAU / f64::from(n);
        let points: Vec<DVec3> = (0..n)
            .flat_map(|k| {
                let (sin, cos) = (step * f64::from(k)).sin_cos();
                [-half_length, half_length].map(|z| DVec3::new(radius * cos, radius * sin, z))
            })
            .collect();
        let (body, _) = Polyhedron::from_points(&points).unwrap();
        assert_eq!(body.faces.len(), 42);
        let caps = (0..42)
            .filter(|face| body.corners_of(*face).len() == 40)
            .count();
        assert_eq!(caps, 2);
        let across = radius * radius / 24.0 * (4.0 + 2.0 * step.cos());
        let along = half_length * half_length / 3.0;
        let MassProperties {
            volume,
            inertia_per_mass,
        } = body.mass_properties();
        let area = 0.5 * f64::from(n) * radius * radius * step.sin();
        assert!((volume / (2.0 * half_length * area) - 1.0).abs() < 1e-12);
        let mut moments = inertia_per_mass.to_array();
        moments.sort_by(f64::total_cmp);
        let mut expected = [across + along, across + along, 2.0 * across];
        expected.sort_by(f64::total_cmp);
        assert_close(DVec3::from(moments), DVec3::from(expected));
    }

    #[test]
    fn points_without_volume_are_refused() {
        let flat: Vec<DVec3> = (0..20)
            .map(|k| rotated().to_world(DVec3::new(f64::from(k % 5), f64::from(k / 5), 0.0)))
            .collect();
        let line: Vec<DVec3> = (0..9)
            .map(|k| f64::from(k) * DVec3::new(0.3, 0.2, 0.1))
            .collect();
        for points in [flat, line, vec![DVec3::ONE; 7]] {
            assert!(matches!(
                Polyhedron::from_points(&points),
                Err(HullError::Flat)
            ));
        }
        let few = Polyhedron::from_points(&[DVec3::ZERO; 3]).unwrap_err();
        assert_eq!(
            few.to_string(),
            "a polyhedron needs at least four points, but there are 3"
        );
        let mut points = cuboid(DVec3::ONE);
        points[5].y = f64::INFINITY;
        assert!(matches!(
            Polyhedron::from_points(&points),
            Err(HullError::NonFinite { index: 5 })
        ));
    }

    #[test]
    fn surfaces_that_are_no_convex_body_are_told_so() {
        let cube = |side| {
            let shape = WallShape::Box {
                half_extents: DVec3::ONE,
                side,
                open: OpenFaces::NONE,
            };
            shape.triangulate(0.0)
        };
        let outward = cube(Side::Outside);
        let (body, _) = Polyhedron::from_surface(&outward).unwrap();
        assert_eq!(body.faces.len(), 6);
        let inward = Polyhedron::from_surface(&cube(Side::Inside));
        assert!(matches!(inward, Err(HullError::InsideOut)), "{inward:?}");
        let mut open = outward.clone();
        open.triangles.pop();
        assert!(matches!(
            Polyhedron::from_surface(&open),
            Err(HullError::Open)
        ));
        let mut mixed = outward.clone();
        mixed.triangles[0].swap(0, 1);
        assert!(matches!(
            Polyhedron::from_surface(&mixed),
            Err(HullError::MixedWinding)
        ));
        // A cube with one face pulled in to its centre.
        let mut dented = outward.clone();
        let [a, b, c] = dented.triangles[0];
        dented.triangles[0] = [a, b, dented.vertices.len() as u32];
        let tip = dented.vertices.len() as u32;
        dented.vertices.push(DVec3::ZERO);
        dented.triangles.extend([[b, c, tip], [c, a, tip]]);
        let error = Polyhedron::from_surface(&dented).unwrap_err();
        assert!(matches!(error, HullError::NotConvex { .. }));
        assert!(error.to_string().contains("Take the hull"), "{error}");
        assert_eq!(Polyhedron::hull_of(&dented).unwrap().0.faces.len(), 6);
    }

    /// All points within, every corner one of them, a closed surface, and neighbours that agree.
    fn check(points: &[DVec3], tolerance: f64) -> Result<(), TestCaseError> {
        let Ok((body, pose)) = Polyhedron::from_points(points) else {
            return Ok(());
        };
        let counts = [body.vertices.len(), body.faces.len(), body.edges.len()];
        prop_assert_eq!(counts[0] + counts[1], counts[2] + 2);
        let tolerance = tolerance * body.bounding_radius();
        for point in points.iter().map(|point| pose.to_local(*point)) {
            for face in &body.faces {
                prop_assert!(point.dot(face.normal) < face.offset + tolerance);
            }
        }
        for edge in &body.edges {
            let [one, two] = edge.faces.map(|face| body.faces[face as usize].normal);
            let [a, b] = edge.vertices.map(|vertex| body.vertices[vertex as usize]);
            prop_assert!(one.cross(two).dot(b - a) > 0.0);
        }
        for k in 0..50 {
            let angle = f64::from(k);
            let direction = DVec3::new(angle.cos(), angle.sin(), (2.0 * angle).sin());
            let heights = body.vertices.iter().map(|vertex| vertex.dot(direction));
            let support = body.vertices[body.support(direction) as usize].dot(direction);
            prop_assert!(support > heights.fold(f64::NEG_INFINITY, f64::max) - tolerance);
        }
        Ok(())
    }

    fn point() -> impl Strategy<Value = DVec3> {
        (-1.0..1.0, -1.0..1.0, -1.0..1.0).prop_map(|(x, y, z)| DVec3::new(x, y, z))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn hull_of_points_anywhere_holds_them(points in prop::collection::vec(point(), 4..60)) {
            check(&points, 1e-8)?;
        }

        #[test]
        fn hull_of_many_points_on_a_sphere_holds_them(points in prop::collection::vec(point(), 100..200)) {
            let points: Vec<DVec3> = points.iter().map(|p| p.normalize_or(DVec3::X)).collect();
            check(&points, 1e-7)?;
        }

        #[test]
        fn hull_of_points_on_a_rotated_lattice_holds_them(
            cells in prop::collection::vec((0..4_i32, 0..4_i32, 0..4_i32), 4..80),
            is_single in any::<bool>(),
        ) {
            let points: Vec<DVec3> = cells
                .iter()
                .map(|&(x, y, z)| rotated().rotate(DVec3::new(x.into(), y.into(), z.into())))
                .map(|p| if is_single { p.as_vec3().as_dvec3() } else { p })
                .collect();
            check(&points, 1e-6)?;
        }
    }

    /// A cube has no principal axes of its own: kept points must not be turned to others.
    #[test]
    fn points_in_the_body_frame_stay_where_they_are() {
        let turn = DQuat::from_rotation_z(0.3) * DQuat::from_rotation_x(0.7);
        let corner = |k: u32| {
            let sign = |bit: u32| if k & bit == 0 { -1.0 } else { 1.0 };
            turn * DVec3::new(sign(1), sign(2), sign(4))
        };
        let corners: Vec<DVec3> = (0..8).map(corner).collect();
        let cube = Polyhedron::in_body_frame(&corners).unwrap();
        for corner in &corners {
            assert!(cube.vertices().contains(corner), "{corner}");
        }
        assert_eq!(cube.faces().len(), 6);
        let inertia = cube.mass_properties().inertia_per_mass;
        assert!(
            (inertia - 2.0 / 3.0).abs().max_element() < 1e-14,
            "{inertia}"
        );
        assert!(matches!(
            Polyhedron::in_body_frame(&corners[..3]),
            Err(HullError::TooFewPoints { count: 3 })
        ));
    }
}
