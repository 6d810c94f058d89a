//! Convex shapes as the pair functions see them: support points, and the faces, lines and curvatures
//! that meet a direction.

use super::polygon::{Corner, Plate, Polygon, edge_name};
use crate::body::{BodyShape, PlacedShape, Polyhedron};
use glam::{DMat3, DVec2, DVec3};
use smallvec::SmallVec;
use std::f64::consts::{FRAC_PI_4, PI};

/// Points that stand for the rim of a cap: the deepest one and others in equal steps.
pub(super) const RIM_POINTS: u32 = 8;

/// Below this tilt (rad) of a cap against a plane no point of its rim is the deepest, and the points
/// are fixed to the body. The deepest one is then wrong by at most 1e-5 radii.
const LEVEL_CAP: f64 = 1e-4;

/// A convex body: all points within `rounding` of its core.
pub(super) struct Solid<'a> {
    pub core: Core<'a>,
    pub position: DVec3,
    pub rotation: DMat3,
    /// Radius of a sphere or capsule (m), zero for others.
    pub rounding: f64,
    /// Radius of a ball about the centre that is within the body, or about as large (m).
    pub inner_radius: f64,
    /// Whether it is a wall, which is no lighter than anything.
    pub is_wall: bool,
}

/// What is left of a body without its rounding, in the body's axes.
pub(super) enum Core<'a> {
    Point,
    /// Along z.
    Segment {
        half_length: f64,
    },
    Ellipsoid {
        semi_axes: DVec3,
    },
    Box {
        half: DVec3,
    },
    Hull {
        hull: &'a Polyhedron,
        scale: f64,
    },
    /// About z, with its radius at the bottom and at the top.
    Frustum {
        radii: [f64; 2],
        half_length: f64,
    },
    /// A flat piece of a wall, in the wall's frame.
    Plate(&'a Plate),
}

/// Directions `n` with `n · axis = height`: those that meet an edge, or a line of a mantle.
#[derive(Clone, Copy)]
pub(super) struct Circle {
    pub axis: DVec3,
    pub height: f64,
}

/// A straight line on the surface (of the core), or its support point where there is none.
pub(super) enum Extreme {
    Line { ends: [Corner; 2], name: u32 },
    Point(Corner),
}

impl<'a> Solid<'a> {
    /// A placed shape; `None` for a clump, which is not convex.
    pub fn new(placed: &PlacedShape<'a>) -> Option<Self> {
        let scale = placed.scale;
        let (core, rounding, inner_radius) = match *placed.shape {
            BodyShape::Sphere { radius } => (Core::Point, scale * radius, scale * radius),
            BodyShape::Capsule {
                radius,
                half_length,
            } => {
                let half_length = scale * half_length;
                (
                    Core::Segment { half_length },
                    scale * radius,
                    scale * radius,
                )
            }
            BodyShape::Ellipsoid { semi_axes } => {
                let semi_axes = scale * semi_axes;
                (Core::Ellipsoid { semi_axes }, 0.0, semi_axes.min_element())
            }
            BodyShape::Box { half_edges } => {
                let half = scale * half_edges;
                (Core::Box { half }, 0.0, half.min_element())
            }
            BodyShape::Cylinder {
                radius,
                half_length,
            } => {
                return Some(Self::frustum(
                    [scale * radius; 2],
                    scale * half_length,
                    placed.position,
                    placed.rotation,
                ));
            }
            BodyShape::Polyhedron(ref hull) => {
                (Core::Hull { hull, scale }, 0.0, scale * hull.inner_radius())
            }
            BodyShape::Clump(_) | BodyShape::Compound(_) | BodyShape::Mesh(_) => return None,
        };
        Some(Self {
            core,
            position: placed.position,
            rotation: placed.rotation,
            rounding,
            inner_radius,
            is_wall: false,
        })
    }

    /// A frustum of a cone with its axis along z of its frame.
    pub fn frustum(radii: [f64; 2], half_length: f64, position: DVec3, rotation: DMat3) -> Self {
        Self {
            core: Core::Frustum { radii, half_length },
            position,
            rotation,
            rounding: 0.0,
            inner_radius: half_length.min(0.5 * (radii[0] + radii[1])),
            is_wall: false,
        }
    }

    /// Radius of the ball of equal volume (m).
    pub fn equivalent_radius(&self) -> f64 {
        let volume = match self.core {
            Core::Point => return self.rounding,
            Core::Plate(_) => return f64::INFINITY,
            Core::Hull { hull, scale } => return scale * hull.equivalent_radius(),
            Core::Ellipsoid { semi_axes } => return semi_axes.element_product().cbrt(),
            Core::Segment { half_length } => {
                let square = self.rounding * self.rounding;
                PI * square * (4.0 / 3.0 * self.rounding + 2.0 * half_length)
            }
            Core::Box { half } => 8.0 * half.element_product(),
            Core::Frustum {
                radii: [r, s],
                half_length,
            } => 2.0 / 3.0 * PI * half_length * (r * r + r * s + s * s),
        };
        (0.75 / PI * volume).cbrt()
    }

    /// A flat piece of a wall next to a body.
    pub fn plate(plate: &'a Plate, body: &Solid) -> Self {
        Self {
            core: Core::Plate(plate),
            position: DVec3::ZERO,
            rotation: DMat3::IDENTITY,
            rounding: 0.0,
            inner_radius: body.inner_radius,
            is_wall: true,
        }
    }

    pub fn as_plate(&self) -> Option<&'a Plate> {
        match self.core {
            Core::Plate(plate) => Some(plate),
            _ => None,
        }
    }

    pub fn to_world(&self, local: DVec3) -> DVec3 {
        self.position + self.rotation * local
    }

    pub fn to_local(&self, direction: DVec3) -> DVec3 {
        self.rotation.transpose() * direction
    }

    /// Whether no face, edge or line ever meets another body: there is one point of contact.
    pub fn is_round(&self) -> bool {
        matches!(self.core, Core::Point | Core::Ellipsoid { .. })
    }

    /// The point of the core that is farthest along a direction.
    pub fn support(&self, direction: DVec3) -> DVec3 {
        let local = self.to_local(direction);
        self.to_world(match &self.core {
            Core::Point => return self.position,
            Core::Segment { half_length } => DVec3::Z * half_length.copysign(local.z),
            Core::Ellipsoid { semi_axes } => {
                let scaled = *semi_axes * local;
                *semi_axes * scaled / scaled.length().max(f64::MIN_POSITIVE)
            }
            Core::Plate(plate) => plate.corners()[plate_support(plate, local)].point,
            Core::Box { half } => half.copysign(local),
            Core::Hull { hull, scale } => *scale * hull.vertices()[hull.support(local) as usize],
            Core::Frustum { radii, half_length } => {
                let end = usize::from(frustum_top(*radii, *half_length, local));
                rim_point(*radii, *half_length, end, local)
            }
        })
    }

    /// The flat face that meets a direction best, with its outward normal.
    pub fn face_towards(&self, direction: DVec3) -> Option<(u32, DVec3)> {
        let local = self.to_local(direction);
        let (face, normal) = match &self.core {
            Core::Point | Core::Segment { .. } | Core::Ellipsoid { .. } => return None,
            Core::Plate(plate) => (0, plate.normal),
            Core::Box { .. } => {
                let axis = local.abs().max_position();
                let is_lower = local[axis] < 0.0;
                let sign = if is_lower { -1.0 } else { 1.0 };
                (
                    2 * axis as u32 + u32::from(!is_lower),
                    sign * DVec3::AXES[axis],
                )
            }
            Core::Hull { hull, .. } => {
                let faces = hull.faces_at(hull.support(local));
                let height = |face: u32| hull.faces()[face as usize].normal.dot(local);
                let best = faces.max_by(|one, two| height(*one).total_cmp(&height(*two)))?;
                (best, hull.faces()[best as usize].normal)
            }
            Core::Frustum { radii, .. } => {
                let end = usize::from(local.z >= 0.0);
                if radii[end] == 0.0 {
                    return None;
                }
                (end as u32, [DVec3::NEG_Z, DVec3::Z][end])
            }
        };
        Some((face, self.rotation * normal))
    }

    /// The face that an incident polygon is taken from: as [`Solid::face_towards`], but of a
    /// frustum only where the direction is nearer to its axis than to its mantle.
    pub fn incident_face(&self, direction: DVec3) -> Option<Polygon> {
        match self.core {
            // A face of a body lies on an edge of it.
            Core::Plate(_) => return None,
            Core::Frustum { .. } if self.to_local(direction).z.abs() < 0.7 => return None,
            _ => {}
        }
        let (face, _) = self.face_towards(direction)?;
        Some(self.polygon(face, direction))
    }

    /// A face as a polygon, counter-clockwise seen from outside. `direction` says which point of a
    /// cap's rim is to be one of its corners.
    pub fn polygon(&self, face: u32, direction: DVec3) -> Polygon {
        match &self.core {
            Core::Point | Core::Segment { .. } | Core::Ellipsoid { .. } => SmallVec::new(),
            Core::Plate(plate) => SmallVec::from_slice(plate.corners()),
            Core::Box { half } => {
                let axis = face as usize / 2;
                let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
                let is_upper = face % 2 == 1;
                let turns = [[false, false], [true, false], [true, true], [false, true]];
                let corner = |k: usize| {
                    let [along_u, along_v] = turns[if is_upper { k } else { 3 - k }];
                    let bits = usize::from(is_upper) << axis
                        | usize::from(along_u) << u
                        | usize::from(along_v) << v;
                    self.box_corner(*half, bits)
                };
                (0..4).map(corner).collect()
            }
            Core::Hull { hull, scale } => {
                let corners = hull.corners_of(face as usize).iter();
                let corner = |&name: &u32| Corner {
                    point: self.to_world(*scale * hull.vertices()[name as usize]),
                    name,
                };
                corners.map(corner).collect()
            }
            Core::Frustum { radii, half_length } => {
                let local = self.to_local(direction).truncate();
                let first = if local.length() > LEVEL_CAP {
                    local.normalize()
                } else {
                    DVec2::X
                };
                let end = face as usize;
                let sense = if end == 1 { 1.0 } else { -1.0 };
                let corner = |k: u32| {
                    let turn = DVec2::from_angle(sense * FRAC_PI_4 * f64::from(k));
                    let local = turn.rotate(first).extend(0.0);
                    Corner {
                        point: self.to_world(rim_point(*radii, *half_length, end, local)),
                        name: RIM_POINTS * face + k,
                    }
                };
                (0..RIM_POINTS).map(corner).collect()
            }
        }
    }

    fn box_corner(&self, half: DVec3, bits: usize) -> Corner {
        let sign = |axis: usize| if bits >> axis & 1 == 1 { 1.0 } else { -1.0 };
        Corner {
            point: self.to_world(half * DVec3::new(sign(0), sign(1), sign(2))),
            name: bits as u32,
        }
    }

    /// Calls with every vertex of a box or hull.
    pub fn for_each_vertex(&self, mut visit: impl FnMut(Corner)) {
        match &self.core {
            Core::Box { half } => (0..8).for_each(|bits| visit(self.box_corner(*half, bits))),
            Core::Hull { hull, scale } => {
                for (name, vertex) in hull.vertices().iter().enumerate() {
                    visit(Corner {
                        point: self.to_world(*scale * *vertex),
                        name: name as u32,
                    });
                }
            }
            _ => {}
        }
    }

    /// Calls with points among which are all that a plane in this direction can touch: every
    /// vertex, or points of the rims of a frustum.
    pub fn for_each_extreme_point(&self, direction: DVec3, mut visit: impl FnMut(Corner)) {
        let Core::Frustum { .. } = self.core else {
            self.for_each_vertex(visit);
            return;
        };
        if let Some(cap) = self.incident_face(direction) {
            cap.into_iter().for_each(visit);
        } else if let Extreme::Line { ends, .. } = self.extreme(direction, 2.0) {
            ends.into_iter().for_each(&mut visit);
        }
    }

    /// The point of a frustum's rim at an azimuth of its own.
    pub fn rim_point(&self, end: usize, azimuth: DVec2) -> DVec3 {
        match &self.core {
            Core::Frustum { radii, half_length } => {
                let local = azimuth.extend(0.0);
                self.to_world(rim_point(*radii, *half_length, end, local))
            }
            _ => self.position,
        }
    }

    /// Radius of a ball about the centre around the body (m).
    pub fn bounding_radius(&self) -> f64 {
        let core = match &self.core {
            Core::Point => 0.0,
            Core::Plate(plate) => {
                let distances = plate.corners().iter().map(|corner| corner.point.length());
                distances.fold(0.0, f64::max)
            }
            Core::Segment { half_length } => *half_length,
            Core::Ellipsoid { semi_axes } => semi_axes.max_element(),
            Core::Box { half } => half.length(),
            Core::Hull { hull, scale } => scale * hull.bounding_radius(),
            Core::Frustum { radii, half_length } => radii[0].max(radii[1]).hypot(*half_length),
        };
        core + self.rounding
    }

    /// Directions that meet a line of the surface, next to this one.
    pub fn circle(&self, direction: DVec3) -> Option<Circle> {
        let local = self.to_local(direction);
        let (axis, height) = match &self.core {
            Core::Point | Core::Ellipsoid { .. } => return None,
            Core::Segment { .. } => (DVec3::Z, 0.0),
            Core::Plate(plate) => (plate_edge(plate, local).2, 0.0),
            Core::Box { .. } => (DVec3::AXES[local.abs().min_position()], 0.0),
            Core::Hull { hull, .. } => {
                let vertices = hull.vertices();
                let from = hull.support(local);
                let along = |to: u32| (vertices[to as usize] - vertices[from as usize]).normalize();
                let slope = |to: u32| along(to).dot(local).abs();
                let to = hull
                    .neighbours_of(from)
                    .min_by(|one, two| slope(*one).total_cmp(&slope(*two)))?;
                (along(to), 0.0)
            }
            Core::Frustum { radii, half_length } => {
                let taper = radii[0] - radii[1];
                (DVec3::Z, taper / taper.hypot(2.0 * half_length))
            }
        };
        Some(Circle {
            axis: self.rotation * axis,
            height,
        })
    }

    /// The line of the surface that meets a direction to within `tolerance` (sine), or the support
    /// point.
    pub fn extreme(&self, direction: DVec3, tolerance: f64) -> Extreme {
        let local = self.to_local(direction);
        let meets = |circle: Circle| (circle.axis.dot(direction) - circle.height).abs() < tolerance;
        let is_line = self.circle(direction).is_some_and(meets);
        let corner = |name: u32, local: DVec3| Corner {
            point: self.to_world(local),
            name,
        };
        match &self.core {
            Core::Segment { half_length } if is_line => Extreme::line(
                corner(0, DVec3::NEG_Z * *half_length),
                corner(1, DVec3::Z * *half_length),
            ),
            Core::Segment { half_length } => {
                let name = u32::from(local.z >= 0.0);
                Extreme::Point(corner(name, DVec3::Z * half_length.copysign(local.z)))
            }
            Core::Plate(plate) if is_line => {
                let (side, ends, _) = plate_edge(plate, local);
                let name = plate.sides[side];
                Extreme::Line { ends, name }
            }
            Core::Plate(plate) => Extreme::Point(plate.corners()[plate_support(plate, local)]),
            Core::Box { half } => {
                let bits = (0..3).fold(0, |bits, k| bits | usize::from(local[k] >= 0.0) << k);
                let here = self.box_corner(*half, bits);
                if !is_line {
                    return Extreme::Point(here);
                }
                let there = self.box_corner(*half, bits ^ 1 << local.abs().min_position());
                Extreme::line(here, there)
            }
            Core::Hull { hull, scale } => {
                let vertices = hull.vertices();
                let from = hull.support(local);
                let here = corner(from, *scale * vertices[from as usize]);
                let along = |to: u32| (vertices[to as usize] - vertices[from as usize]).normalize();
                let slope = |to: u32| along(to).dot(local).abs();
                let nearest = hull
                    .neighbours_of(from)
                    .min_by(|one, two| slope(*one).total_cmp(&slope(*two)));
                match nearest.filter(|_| is_line) {
                    Some(to) => Extreme::line(here, corner(to, *scale * vertices[to as usize])),
                    None => Extreme::Point(here),
                }
            }
            Core::Frustum { radii, half_length } => {
                let at = |end: usize| {
                    let name = RIM_POINTS * end as u32;
                    corner(name, rim_point(*radii, *half_length, end, local))
                };
                if is_line {
                    return Extreme::line(at(0), at(1));
                }
                let end = usize::from(frustum_top(*radii, *half_length, local));
                Extreme::Point(at(end))
            }
            Core::Point | Core::Ellipsoid { .. } => Extreme::Point(Corner {
                point: self.support(direction),
                name: 0,
            }),
        }
    }

    /// Second derivative of the support function (m): radii of curvature on the plane square to
    /// the direction, zero at edges and corners.
    pub fn radii_of_curvature(&self, direction: DVec3) -> DMat3 {
        let local = self.to_local(direction);
        let radii = match &self.core {
            Core::Ellipsoid { semi_axes } => {
                let squares = *semi_axes * *semi_axes;
                let scaled = squares * local;
                let height = scaled.dot(local).sqrt();
                let outer =
                    DMat3::from_cols(scaled.x * scaled, scaled.y * scaled, scaled.z * scaled);
                DMat3::from_diagonal(squares) * (1.0 / height) - outer * height.powi(-3)
            }
            Core::Frustum { radii, half_length } => {
                let end = usize::from(frustum_top(*radii, *half_length, local));
                let across = local.truncate();
                let length = across.length();
                if length < 1e-12 {
                    return DMat3::ZERO;
                }
                let around = (across / length).perp().extend(0.0);
                let factor = radii[end] / length;
                DMat3::from_cols(around.x * around, around.y * around, around.z * around) * factor
            }
            _ => return DMat3::ZERO,
        };
        self.rotation * radii * self.rotation.transpose()
    }

    /// Curvature (1/m) in the plane square to a direction; `line` where a line of the surface is
    /// met. `None` at flat faces, edges and corners.
    pub fn curvature(&self, direction: DVec3, line: Option<&[Corner; 2]>) -> Option<DMat3> {
        let n = direction;
        let outer = |v: DVec3| DMat3::from_cols(v.x * v, v.y * v, v.z * v);
        let across = |line: &[Corner; 2]| {
            let along = (line[1].point - line[0].point).normalize_or_zero();
            outer(n.cross(along))
        };
        match &self.core {
            // A straight piece of a rim.
            Core::Segment { .. } if self.rounding == 0.0 => None,
            Core::Point => Some((DMat3::IDENTITY - outer(n)) * self.rounding.recip()),
            Core::Segment { .. } => Some(match line {
                Some(line) => across(line) * self.rounding.recip(),
                None => (DMat3::IDENTITY - outer(n)) * self.rounding.recip(),
            }),
            Core::Ellipsoid { .. } => {
                let (t, s) = n.any_orthonormal_pair();
                let radii = self.radii_of_curvature(n);
                let (tt, ts, ss) = (t.dot(radii * t), t.dot(radii * s), s.dot(radii * s));
                let determinant = tt * ss - ts * ts;
                let mixed = DMat3::from_cols(t.x * s, t.y * s, t.z * s);
                let mixed = mixed + mixed.transpose();
                Some((outer(t) * ss + outer(s) * tt - mixed * ts) * determinant.recip())
            }
            Core::Frustum { radii, .. } => {
                let mean = 0.5 * (radii[0] + radii[1]);
                let slope = self.to_local(n).truncate().length();
                line.map(|line| across(line) * (slope / mean))
            }
            Core::Box { .. } | Core::Hull { .. } | Core::Plate(_) => None,
        }
    }
}

impl Extreme {
    /// A line that is the same from either end.
    fn line(one: Corner, two: Corner) -> Self {
        let ends = if one.name < two.name {
            [one, two]
        } else {
            [two, one]
        };
        let name = edge_name(ends.map(|end| end.name));
        Self::Line { ends, name }
    }
}

/// The corner of a plate that is farthest along a direction.
fn plate_support(plate: &Plate, direction: DVec3) -> usize {
    let height = |k: usize| plate.corners[k].point.dot(direction);
    (1..plate.count).fold(0, |best, k| if height(k) > height(best) { k } else { best })
}

/// The side at that corner that is most square to the direction: number, ends and direction.
fn plate_edge(plate: &Plate, direction: DVec3) -> (usize, [Corner; 2], DVec3) {
    let corner = plate_support(plate, direction);
    let side = |number: usize| {
        let ends = [number, (number + 1) % plate.count].map(|k| plate.corners[k]);
        let along = (ends[1].point - ends[0].point).normalize_or_zero();
        (number, ends, along)
    };
    let (before, after) = (side((corner + plate.count - 1) % plate.count), side(corner));
    if before.2.dot(direction).abs() < after.2.dot(direction).abs() {
        before
    } else {
        after
    }
}

/// Whether the upper rim is farther along a direction than the lower.
fn frustum_top(radii: [f64; 2], half_length: f64, local: DVec3) -> bool {
    (radii[1] - radii[0]) * local.truncate().length() + 2.0 * half_length * local.z >= 0.0
}

/// The point of a rim at the azimuth of a direction.
fn rim_point(radii: [f64; 2], half_length: f64, end: usize, local: DVec3) -> DVec3 {
    let across = local.truncate().try_normalize().unwrap_or(DVec2::X);
    (radii[end] * across).extend([-half_length, half_length][end])
}
