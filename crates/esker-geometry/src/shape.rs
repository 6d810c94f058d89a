//! The shapes walls are made of, and what a touch of a sphere with one is.

use crate::Aabb;
use crate::mesh::TriangleMesh;
use glam::{DVec2, DVec3};
use std::sync::Arc;
use thiserror::Error;

/// On which side of a closed surface the grains are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The surface is a container around the grains.
    Inside,
    /// The surface bounds a solid that the grains surround.
    Outside,
}

/// A face of a box, or an end of a cylinder or cone, in the wall's local frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Face {
    /// At the lowest x.
    Left,
    /// At the highest x.
    Right,
    /// At the lowest y.
    Front,
    /// At the highest y.
    Back,
    /// At the lowest z.
    Bottom,
    /// At the highest z.
    Top,
}

impl Face {
    /// All six, in the order of the axes.
    pub const ALL: [Face; 6] = [
        Face::Left,
        Face::Right,
        Face::Front,
        Face::Back,
        Face::Bottom,
        Face::Top,
    ];

    /// The face across an axis (0 to 2) at its lower or upper end.
    pub fn across(axis: usize, upper: bool) -> Self {
        Self::ALL[2 * axis + usize::from(upper)]
    }
}

/// Faces of a container that are not there: grains pass, and the rims of the others can be
/// touched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenFaces(u8);

impl OpenFaces {
    /// A closed container.
    pub const NONE: Self = Self(0);
    /// Both ends of a cylinder or cone: a tube.
    pub const ENDS: Self = Self(0b11_0000);

    /// Opens one more face.
    #[must_use]
    pub fn with(self, face: Face) -> Self {
        Self(self.0 | 1 << face as u8)
    }

    /// Whether this face is open.
    pub fn contains(self, face: Face) -> bool {
        self.0 >> face as u8 & 1 == 1
    }

    /// Whether any face across these axes is open.
    fn any_across(self, axes: std::ops::Range<usize>) -> bool {
        let mut ends = axes.flat_map(|axis| [false, true].map(|upper| Face::across(axis, upper)));
        ends.any(|face| self.contains(face))
    }
}

impl FromIterator<Face> for OpenFaces {
    fn from_iter<I: IntoIterator<Item = Face>>(faces: I) -> Self {
        faces.into_iter().fold(Self::NONE, Self::with)
    }
}

/// A wall in its local frame. Lengths in m.
///
/// A container is a thin shell: grains can touch it from inside, from outside and at the rims of
/// its open faces.
#[derive(Clone, Debug)]
pub enum WallShape {
    /// `z < 0` is solid, the surface is `z = 0`.
    HalfSpace,
    /// A box about the origin. `Inside`: a container. `Outside`: a solid block.
    Box {
        /// Half of each edge length (m).
        half_extents: DVec3,
        /// Where the grains are.
        side: Side,
        /// Faces that are missing; only read for `Side::Inside`.
        open: OpenFaces,
    },
    /// A circular cylinder about the local z axis, from `-length/2` to `+length/2`.
    ///
    /// `Inside` is a drum, a beaker or a tube, as its ends are open or not. `Outside` is a solid,
    /// always with both ends.
    Cylinder {
        /// Radius (m).
        radius: f64,
        /// Length along the axis (m).
        length: f64,
        /// Where the grains are.
        side: Side,
        /// Ends that are missing (bottom, top); only read for `Side::Inside`.
        open: OpenFaces,
    },
    /// A frustum of a cone about the local z axis; either radius may be zero. Sides and ends as
    /// for the cylinder.
    Cone {
        /// Radius at `z = -length/2` (m).
        radius_bottom: f64,
        /// Radius at `z = +length/2` (m).
        radius_top: f64,
        /// Length along the axis (m).
        length: f64,
        /// Where the grains are.
        side: Side,
        /// Ends that are missing (bottom, top); only read for `Side::Inside`.
        open: OpenFaces,
    },
    /// A triangulated thin surface; grains can be on either side.
    Mesh(Arc<TriangleMesh>),
}

/// A wall as the narrow phase sees it: a cylinder is a frustum with two equal radii.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WallSurface<'a> {
    HalfSpace,
    Box {
        half_extents: DVec3,
        side: Side,
        open: OpenFaces,
    },
    Frustum {
        /// Radii at the lower and the upper end (m).
        radii: [f64; 2],
        length: f64,
        side: Side,
        open: OpenFaces,
    },
    Mesh(&'a TriangleMesh),
}

/// One place where a sphere touches a wall, in the wall's local frame.
///
/// All fields obey `point = centre + (radius - overlap) normal`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Touch {
    /// Unit vector from the sphere to the wall. The wall pushes along `-normal`.
    pub normal: DVec3,
    /// The touched point of the wall's surface (m).
    pub point: DVec3,
    /// Penetration (m), `-gap` when the surfaces do not meet yet.
    pub overlap: f64,
    /// Curvature of the wall (1/m), signed such that the effective radius of the contact is
    /// `1 / (1/r + curvature)`: negative inside a tube, positive on a convex wall, zero on
    /// planes, sharp edges and corners. At least `-0.9/r` (see [`MAX_CONFORMITY`]).
    pub curvature: f64,
    /// Stable name of the touched face, edge or corner, unique within the wall.
    pub feature: u32,
}

/// Bound on how closely a hollow wall can fit a sphere: `curvature ≥ -MAX_CONFORMITY / r`.
///
/// A sphere as wide as its tube has an infinite effective radius, and a wider one a negative
/// one; contact laws need a positive number, so the effective radius ends at ten radii.
pub const MAX_CONFORMITY: f64 = 0.9;

/// A wall or body whose dimensions make no sense.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum ShapeError {
    /// A length that must be positive and finite is not.
    #[error("{what} of the {shape} must be positive and finite, but is {value} m")]
    NotPositive {
        /// Name of the shape.
        shape: &'static str,
        /// Name of the dimension.
        what: &'static str,
        /// What was given (m).
        value: f64,
    },
    /// A radius that must be finite and not negative is.
    #[error("{what} of the {shape} must be finite and at least zero, but is {value} m")]
    Negative {
        /// Name of the shape.
        shape: &'static str,
        /// Name of the dimension.
        what: &'static str,
        /// What was given (m).
        value: f64,
    },
    /// Both ends of a cone are points.
    #[error("a cone needs at least one radius above zero")]
    NeedleCone,
    /// A mantle cannot be opened.
    #[error("a {shape} has two ends that can be open, \"bottom\" and \"top\"")]
    OpenMantle {
        /// Name of the shape.
        shape: &'static str,
    },
    /// Nothing of a box is left.
    #[error("all six faces of the box are open: there is no wall")]
    NoFaces,
}

pub(crate) fn positive(
    shape: &'static str,
    what: &'static str,
    value: f64,
) -> Result<(), ShapeError> {
    if value > 0.0 && value.is_finite() {
        Ok(())
    } else {
        Err(ShapeError::NotPositive { shape, what, value })
    }
}

pub(crate) fn not_negative(
    shape: &'static str,
    what: &'static str,
    value: f64,
) -> Result<(), ShapeError> {
    if value >= 0.0 && value.is_finite() {
        Ok(())
    } else {
        Err(ShapeError::Negative { shape, what, value })
    }
}

fn closed_mantle(shape: &'static str, open: OpenFaces) -> Result<(), ShapeError> {
    if open.any_across(0..2) {
        return Err(ShapeError::OpenMantle { shape });
    }
    Ok(())
}

impl WallShape {
    /// The wall's surface.
    #[inline]
    pub(crate) fn surface(&self) -> WallSurface<'_> {
        match *self {
            Self::HalfSpace => WallSurface::HalfSpace,
            Self::Box {
                half_extents,
                side,
                open,
            } => WallSurface::Box {
                half_extents,
                side,
                open,
            },
            Self::Cylinder {
                radius,
                length,
                side,
                open,
            } => WallSurface::Frustum {
                radii: [radius; 2],
                length,
                side,
                open,
            },
            Self::Cone {
                radius_bottom,
                radius_top,
                length,
                side,
                open,
            } => WallSurface::Frustum {
                radii: [radius_bottom, radius_top],
                length,
                side,
                open,
            },
            Self::Mesh(ref mesh) => WallSurface::Mesh(mesh),
        }
    }

    /// Whether a ball, in the wall's local frame, certainly meets no part of the wall: then no
    /// sphere within the ball has a touch. Quick, and false in case of doubt.
    pub fn is_clear_of(&self, centre: DVec3, radius: f64) -> bool {
        match self.surface() {
            WallSurface::HalfSpace => centre.z > radius,
            // Thin shells, of which open faces are no part.
            WallSurface::Box {
                half_extents,
                side: Side::Inside,
                open,
            } => squared_distance_to_box(half_extents, open, centre) > radius * radius,
            WallSurface::Frustum {
                radii,
                length,
                side: Side::Inside,
                open,
            } => squared_distance_to_frustum((radii, length), open, centre) > radius * radius,
            _ => {
                let outside = |bounds: Aabb| bounds.distance_squared(centre) > radius * radius;
                self.bounds().is_some_and(outside)
            }
        }
    }

    /// Whether a ball, in the wall's local frame, meets no part of the surface but for these faces
    /// of a box. Takes longer than [`WallShape::is_clear_of`], and knows more of solids, of which
    /// the inside is clear, and of meshes. False in case of doubt.
    pub fn is_surface_clear_of(&self, centre: DVec3, radius: f64, ignored: OpenFaces) -> bool {
        match self.surface() {
            WallSurface::Box {
                half_extents,
                side,
                open,
            } => {
                let open = match side {
                    Side::Inside => OpenFaces(open.0 | ignored.0),
                    Side::Outside => ignored,
                };
                squared_distance_to_box(half_extents, open, centre) > radius * radius
            }
            WallSurface::Mesh(mesh) => !mesh.bvh.is_any_near(centre, radius),
            _ => self.is_clear_of(centre, radius),
        }
    }

    /// Whether this is a container without an open face: grains inside and outside never mix.
    pub fn is_closed_container(&self) -> bool {
        match self.surface() {
            WallSurface::Box { side, open, .. } | WallSurface::Frustum { side, open, .. } => {
                side == Side::Inside && open == OpenFaces::NONE
            }
            WallSurface::HalfSpace | WallSurface::Mesh(_) => false,
        }
    }

    /// Whether a point, in the local frame, lies within the surface of a box, cylinder or cone;
    /// false for other walls.
    pub fn encloses(&self, point: DVec3) -> bool {
        match self.surface() {
            WallSurface::HalfSpace | WallSurface::Mesh(_) => false,
            WallSurface::Box { half_extents, .. } => point.abs().cmple(half_extents).all(),
            WallSurface::Frustum {
                radii: [bottom, top],
                length,
                ..
            } => {
                let height = point.z / length + 0.5;
                let radius = bottom + (top - bottom) * height;
                (0.0..=1.0).contains(&height) && point.truncate().length() <= radius
            }
        }
    }

    /// Checks the dimensions. The other methods assume a valid shape: with an invalid one they
    /// return meaningless touches, but do not panic.
    pub fn validate(&self) -> Result<(), ShapeError> {
        match self {
            // A mesh is checked when it is built.
            Self::HalfSpace | Self::Mesh(_) => Ok(()),
            Self::Box {
                half_extents, open, ..
            } => {
                positive("box", "half extent in x", half_extents.x)?;
                positive("box", "half extent in y", half_extents.y)?;
                positive("box", "half extent in z", half_extents.z)?;
                if Face::ALL.iter().all(|face| open.contains(*face)) {
                    return Err(ShapeError::NoFaces);
                }
                Ok(())
            }
            Self::Cylinder {
                radius,
                length,
                open,
                ..
            } => {
                closed_mantle("cylinder", *open)?;
                positive("cylinder", "radius", *radius)?;
                positive("cylinder", "length", *length)
            }
            Self::Cone {
                radius_bottom,
                radius_top,
                length,
                open,
                ..
            } => {
                closed_mantle("cone", *open)?;
                not_negative("cone", "bottom radius", *radius_bottom)?;
                not_negative("cone", "top radius", *radius_top)?;
                positive("cone", "length", *length)?;
                if *radius_bottom == 0.0 && *radius_top == 0.0 {
                    return Err(ShapeError::NeedleCone);
                }
                Ok(())
            }
        }
    }

    /// The local box around the surface; `None` when it is unbounded.
    ///
    /// A sphere whose box grown by the margin does not meet this one has no touch.
    pub fn bounds(&self) -> Option<Aabb> {
        let half = match self.surface() {
            WallSurface::HalfSpace => return None,
            WallSurface::Mesh(mesh) => return Some(mesh.bounds()),
            WallSurface::Box { half_extents, .. } => half_extents,
            WallSurface::Frustum { radii, length, .. } => {
                let radius = radii[0].max(radii[1]);
                DVec3::new(radius, radius, 0.5 * length)
            }
        };
        Some(Aabb::new(-half, half))
    }
}

/// From a point to the nearest point of the faces of a box that are not open, m².
fn squared_distance_to_box(half_extents: DVec3, open: OpenFaces, point: DVec3) -> f64 {
    let within = point.clamp(-half_extents, half_extents);
    let to_face = |axis: usize, is_upper: bool| {
        let mut nearest = within;
        nearest[axis] = if is_upper {
            half_extents[axis]
        } else {
            -half_extents[axis]
        };
        nearest.distance_squared(point)
    };
    let faces = (0..3).flat_map(|axis| [(axis, false), (axis, true)]);
    faces
        .filter(|&(axis, is_upper)| !open.contains(Face::across(axis, is_upper)))
        .map(|(axis, is_upper)| to_face(axis, is_upper))
        .fold(f64::INFINITY, f64::min)
}

/// From a point to the nearest point of the mantle and the ends of a frustum that are not open, m².
fn squared_distance_to_frustum(
    (radii, length): ([f64; 2], f64),
    open: OpenFaces,
    point: DVec3,
) -> f64 {
    let point = DVec2::new(point.truncate().length(), point.z);
    let to_line = |from: DVec2, to: DVec2| {
        let along = to - from;
        let place = (point - from).dot(along) / along.length_squared();
        (from + along * place.clamp(0.0, 1.0)).distance_squared(point)
    };
    let rims = [
        DVec2::new(radii[0], -0.5 * length),
        DVec2::new(radii[1], 0.5 * length),
    ];
    let mut nearest = to_line(rims[0], rims[1]);
    for (face, rim) in [Face::Bottom, Face::Top].into_iter().zip(rims) {
        if !open.contains(face) && rim.x > 0.0 {
            nearest = nearest.min(to_line(DVec2::new(0.0, rim.y), rim));
        }
    }
    nearest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_sphere_within_a_clear_ball_touches() {
        let boxed = |side| WallShape::Box {
            half_extents: DVec3::new(1.0, 0.8, 0.6),
            side,
            open: OpenFaces::NONE,
        };
        let tray = WallShape::Box {
            half_extents: DVec3::new(1.0, 0.8, 0.3),
            side: Side::Inside,
            open: OpenFaces::NONE.with(Face::Top).with(Face::Left),
        };
        let tube = |side, open| WallShape::Cylinder {
            radius: 1.0,
            length: 1.5,
            side,
            open,
        };
        let cone = |open| WallShape::Cone {
            radius_bottom: 0.2,
            radius_top: 1.0,
            length: 1.5,
            side: Side::Inside,
            open,
        };
        let shapes = [
            WallShape::HalfSpace,
            boxed(Side::Inside),
            boxed(Side::Outside),
            tray,
            tube(Side::Inside, OpenFaces::NONE),
            tube(Side::Inside, OpenFaces::ENDS),
            tube(Side::Inside, OpenFaces::NONE.with(Face::Top)),
            tube(Side::Outside, OpenFaces::NONE),
            cone(OpenFaces::NONE),
            cone(OpenFaces::ENDS),
        ];
        let mut state = 1_u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        for shape in shapes {
            let (mut clear, mut touched) = (0, 0);
            for _ in 0..4000 {
                let mut point = || DVec3::new(random(), random(), random()) * 4.0 - 2.0;
                let (centre, direction) = (point(), point().normalize());
                let radius = 0.5 * random();
                // A sphere that touches the ball from within, gap included.
                let (inner, gap) = (0.3 * radius, 0.2 * radius);
                let mut touches = Vec::new();
                let place = centre + direction * (radius - inner - gap);
                shape.touches(place, inner, gap, &mut touches);
                let is_clear = shape.is_clear_of(centre, radius);
                assert!(!is_clear || touches.is_empty(), "{shape:?} at {centre}");
                let is_inside = matches!(
                    shape,
                    WallShape::Box {
                        side: Side::Outside,
                        ..
                    }
                ) && shape.encloses(place);
                assert!(
                    touches.is_empty()
                        || is_inside
                        || !shape.is_surface_clear_of(centre, radius, OpenFaces::NONE),
                    "{shape:?} at {centre}"
                );
                clear += usize::from(is_clear);
                touched += usize::from(!touches.is_empty());
            }
            assert!(
                clear > 100 && touched > 100,
                "{shape:?}: {clear}, {touched}"
            );
        }
    }

    /// Grains at open ends and above the narrow end of a hopper were held against the whole wall.
    #[test]
    fn a_ball_in_an_opening_or_far_from_a_steep_mantle_is_clear() {
        let tube = WallShape::Cylinder {
            radius: 1.0,
            length: 0.5,
            side: Side::Inside,
            open: OpenFaces::ENDS,
        };
        assert!(tube.is_clear_of(DVec3::Z * 0.25, 0.9));
        assert!(!tube.is_clear_of(DVec3::new(0.9, 0.0, 0.3), 0.15));
        let hopper = WallShape::Cone {
            radius_bottom: 0.1,
            radius_top: 1.0,
            length: 1.0,
            side: Side::Inside,
            open: OpenFaces::ENDS,
        };
        assert!(hopper.is_clear_of(DVec3::Z * 0.4, 0.5));
        let tray = WallShape::Box {
            half_extents: DVec3::ONE,
            side: Side::Inside,
            open: OpenFaces::NONE.with(Face::Top),
        };
        assert!(tray.is_clear_of(DVec3::Z, 0.9));
        assert!(!tray.is_clear_of(DVec3::Z, 1.1));
    }

    #[test]
    fn a_ball_at_faces_that_are_ignored_or_away_from_all_triangles_is_clear() {
        let solid = WallShape::Box {
            half_extents: DVec3::ONE,
            side: Side::Outside,
            open: OpenFaces::NONE,
        };
        let ignored = OpenFaces::NONE.with(Face::Top);
        let near_top = (DVec3::Z * 1.1, 0.5);
        assert!(!solid.is_surface_clear_of(near_top.0, near_top.1, OpenFaces::NONE));
        assert!(solid.is_surface_clear_of(near_top.0, near_top.1, ignored));
        assert!(!solid.is_surface_clear_of(DVec3::new(0.8, 0.0, 1.1), 0.5, ignored));
        assert!(solid.is_surface_clear_of(DVec3::ZERO, 0.9, OpenFaces::NONE));
        let soup = crate::TriangleSoup {
            vertices: vec![DVec3::ZERO, DVec3::X, DVec3::ONE],
            triangles: vec![[0, 1, 2]],
        };
        let mesh = WallShape::Mesh(Arc::new(TriangleMesh::new(soup).unwrap()));
        assert!(!mesh.is_surface_clear_of(DVec3::splat(0.5), 0.1, OpenFaces::NONE));
        assert!(mesh.is_surface_clear_of(DVec3::splat(3.0), 1.0, OpenFaces::NONE));
    }

    #[test]
    fn impossible_dimensions_are_named() {
        let flat = WallShape::Box {
            half_extents: DVec3::new(1.0, 0.0, 1.0),
            side: Side::Inside,
            open: OpenFaces::NONE,
        };
        assert_eq!(
            flat.validate().unwrap_err().to_string(),
            "half extent in y of the box must be positive and finite, but is 0 m"
        );
        let cone = |radius_bottom, radius_top| WallShape::Cone {
            radius_bottom,
            radius_top,
            length: 1.0,
            side: Side::Inside,
            open: OpenFaces::ENDS,
        };
        assert_eq!(cone(0.0, 0.0).validate(), Err(ShapeError::NeedleCone));
        assert_eq!(cone(0.0, 1.0).validate(), Ok(()));
        assert!(cone(f64::NAN, 1.0).validate().is_err());
        let slit = WallShape::Cylinder {
            radius: 1.0,
            length: 1.0,
            side: Side::Inside,
            open: OpenFaces::NONE.with(Face::Left),
        };
        let shape = "cylinder";
        assert_eq!(slit.validate(), Err(ShapeError::OpenMantle { shape }));
        let nothing = WallShape::Box {
            half_extents: DVec3::ONE,
            side: Side::Inside,
            open: Face::ALL.into_iter().collect(),
        };
        assert_eq!(nothing.validate(), Err(ShapeError::NoFaces));
    }
}
