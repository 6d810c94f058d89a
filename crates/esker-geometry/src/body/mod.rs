//! Shapes of rigid bodies: grains and parts of machines that are not (only) spheres.
//!
//! A body's frame has its origin at the centre of mass of the homogeneous shape and its axes along
//! the principal axes of inertia, so that mass properties are three numbers. A shape is shared by
//! all bodies that have it; each body scales it by a factor of its own.

use crate::shape::{ShapeError, not_negative, positive};
use crate::{Aabb, Pose};
use glam::{DMat3, DVec3};
use std::f64::consts::PI;
use std::sync::Arc;

mod clump;
mod compound;
mod hull;
mod mesh;
mod polyhedron;
mod principal;
mod surface;
mod union;

pub use clump::{Clump, ClumpError};
pub use compound::{Compound, CompoundError, InertiaError, principal_moments};
pub use mesh::{BodyMesh, BodyMeshError};
pub use polyhedron::{HullError, Polyhedron, PolyhedronEdge, PolyhedronFace};

/// The shape of a rigid body in its own frame. Lengths in m.
#[derive(Clone, Debug, PartialEq)]
pub enum BodyShape {
    /// A ball about the origin.
    Sphere {
        /// Radius (m).
        radius: f64,
    },
    /// An ellipsoid with its axes along x, y, z.
    Ellipsoid {
        /// Half of each axis (m).
        semi_axes: DVec3,
    },
    /// All points within `radius` of a segment of the z axis.
    Capsule {
        /// Radius (m).
        radius: f64,
        /// Half the length of the segment between the centres of the two end caps (m).
        half_length: f64,
    },
    /// A circular cylinder about the z axis.
    Cylinder {
        /// Radius (m).
        radius: f64,
        /// Half of the length (m).
        half_length: f64,
    },
    /// A cuboid.
    Box {
        /// Half of each edge (m).
        half_edges: DVec3,
    },
    /// A convex polyhedron.
    Polyhedron(Arc<Polyhedron>),
    /// Spheres that move as one; they may overlap.
    Clump(Arc<Clump>),
    /// Shapes that move as one.
    Compound(Arc<Compound>),
    /// A triangulated thin surface, of bodies of their own; others can be on either side.
    Mesh(Arc<BodyMesh>),
}

/// Volume, mean square extents and bounds of a shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MassProperties {
    /// Volume (m³).
    pub volume: f64,
    /// Principal moments of inertia per mass (m²), about the body's axes.
    pub inertia_per_mass: DVec3,
}

/// A body's shape where it is: the argument of every pair function.
#[derive(Clone, Copy, Debug)]
pub struct PlacedShape<'a> {
    /// The shape, in its own frame.
    pub shape: &'a BodyShape,
    /// Factor on all of its lengths.
    pub scale: f64,
    /// Centre of mass (m).
    pub position: DVec3,
    /// Body axes in world axes (columns).
    pub rotation: DMat3,
}

impl<'a> PlacedShape<'a> {
    /// The shape at a pose.
    pub fn new(shape: &'a BodyShape, scale: f64, pose: Pose) -> Self {
        Self {
            shape,
            scale,
            position: pose.position,
            rotation: DMat3::from_quat(pose.orientation),
        }
    }

    /// Radius of a ball about the centre that holds the body (m).
    pub fn bounding_radius(&self) -> f64 {
        self.scale * self.shape.bounding_radius()
    }
}

/// Principal moments of inertia per mass (m²) of a body with these mean squares of the coordinates.
fn inertia_of(mean_squares: DVec3) -> DVec3 {
    DVec3::splat(mean_squares.element_sum()) - mean_squares
}

impl BodyShape {
    /// Checks the dimensions. The other methods assume a valid shape: with an invalid one they
    /// return meaningless values, but do not panic.
    pub fn validate(&self) -> Result<(), ShapeError> {
        let each = |shape, what: [&'static str; 3], values: DVec3| {
            (0..3).try_for_each(|k| positive(shape, what[k], values[k]))
        };
        match self {
            Self::Sphere { radius } => positive("sphere", "radius", *radius),
            Self::Ellipsoid { semi_axes } => {
                let names = ["semi-axis in x", "semi-axis in y", "semi-axis in z"];
                each("ellipsoid", names, *semi_axes)
            }
            Self::Capsule {
                radius,
                half_length,
            } => {
                positive("capsule", "radius", *radius)?;
                not_negative("capsule", "half length", *half_length)
            }
            Self::Cylinder {
                radius,
                half_length,
            } => {
                positive("cylinder", "radius", *radius)?;
                positive("cylinder", "half length", *half_length)
            }
            Self::Box { half_edges } => {
                let names = ["half edge in x", "half edge in y", "half edge in z"];
                each("box", names, *half_edges)
            }
            // These are checked when they are built.
            Self::Polyhedron(_) | Self::Clump(_) | Self::Mesh(_) => Ok(()),
            Self::Compound(compound) => {
                let mut parts = compound.parts().iter();
                parts.try_for_each(|(part, _)| part.validate())
            }
        }
    }

    /// Volume and inertia of the homogeneous shape.
    pub fn mass_properties(&self) -> MassProperties {
        let (volume, inertia_per_mass) = match self {
            Self::Sphere { radius } => {
                let volume = 4.0 / 3.0 * PI * radius.powi(3);
                (volume, DVec3::splat(0.4 * radius * radius))
            }
            Self::Ellipsoid { semi_axes } => {
                let volume = 4.0 / 3.0 * PI * semi_axes.element_product();
                (volume, inertia_of(*semi_axes * *semi_axes / 5.0))
            }
            Self::Capsule {
                radius: r,
                half_length: l,
            } => {
                let cylinder = 2.0 * PI * r * r * l;
                let ball = 4.0 / 3.0 * PI * r.powi(3);
                let volume = cylinder + ball;
                let across = cylinder * (0.25 * r * r + l * l / 3.0)
                    + ball * (0.4 * r * r + l * l + 0.75 * l * r);
                let along = cylinder * 0.5 * r * r + ball * 0.4 * r * r;
                (volume, DVec3::new(across, across, along) / volume)
            }
            Self::Cylinder {
                radius: r,
                half_length: l,
            } => {
                let mean_squares = DVec3::new(0.25 * r * r, 0.25 * r * r, l * l / 3.0);
                (2.0 * PI * r * r * l, inertia_of(mean_squares))
            }
            Self::Box { half_edges } => {
                let volume = 8.0 * half_edges.element_product();
                (volume, inertia_of(*half_edges * *half_edges / 3.0))
            }
            Self::Polyhedron(polyhedron) => return polyhedron.mass_properties(),
            Self::Clump(clump) => return clump.mass_properties(),
            Self::Compound(compound) => return compound.mass_properties(),
            Self::Mesh(mesh) => return mesh.mass_properties(),
        };
        MassProperties {
            volume,
            inertia_per_mass,
        }
    }

    /// Radius of a ball about the origin that holds the shape (m), for compounds not always the
    /// smallest.
    pub fn bounding_radius(&self) -> f64 {
        match self {
            Self::Sphere { radius } => *radius,
            Self::Ellipsoid { semi_axes } => semi_axes.max_element(),
            Self::Capsule {
                radius,
                half_length,
            } => radius + half_length,
            Self::Cylinder {
                radius,
                half_length,
            } => radius.hypot(*half_length),
            Self::Box { half_edges } => half_edges.length(),
            Self::Polyhedron(polyhedron) => polyhedron.bounding_radius(),
            Self::Clump(clump) => clump.max_of(|centre, radius| centre.length() + radius),
            Self::Compound(compound) => {
                compound.max_of(|part, pose| pose.position.length() + part.bounding_radius())
            }
            Self::Mesh(mesh) => mesh.bounding_radius(),
        }
    }

    /// A box along the body's axes that holds the shape, for compounds not always the smallest.
    pub fn bounding_box(&self) -> Aabb {
        let about_origin = |half: DVec3| Aabb::new(-half, half);
        match self {
            Self::Sphere { radius } => about_origin(DVec3::splat(*radius)),
            Self::Ellipsoid { semi_axes } => about_origin(*semi_axes),
            Self::Capsule {
                radius,
                half_length,
            } => about_origin(DVec3::new(*radius, *radius, radius + half_length)),
            Self::Cylinder {
                radius,
                half_length,
            } => about_origin(DVec3::new(*radius, *radius, *half_length)),
            Self::Box { half_edges } => about_origin(*half_edges),
            Self::Polyhedron(polyhedron) => Aabb::of_points(polyhedron.vertices().iter().copied()),
            Self::Clump(clump) => {
                let balls = clump.spheres().iter();
                balls.fold(Aabb::EMPTY, |all, (centre, radius)| {
                    all.union(Aabb::new(*centre, *centre).inflated(*radius))
                })
            }
            Self::Compound(compound) => {
                let parts = compound.parts().iter();
                parts.fold(Aabb::EMPTY, |all, (part, pose)| {
                    let Aabb { min, max } = part.bounding_box();
                    let corner = |k: u8| {
                        let pick = |axis: usize| if k >> axis & 1 == 0 { min } else { max }[axis];
                        pose.to_world(DVec3::new(pick(0), pick(1), pick(2)))
                    };
                    all.union(Aabb::of_points((0..8).map(corner)))
                })
            }
            Self::Mesh(mesh) => mesh.mesh().bounds(),
        }
    }

    /// Radius `(3V/4π)^(1/3)` of the ball of equal volume (m): the body's length wherever one
    /// number has to do. Thin surfaces are as large as what they reach around, however little they
    /// enclose.
    pub fn volume_radius(&self) -> f64 {
        match self {
            Self::Sphere { radius } => *radius,
            Self::Mesh(mesh) => mesh.bounding_radius(),
            Self::Compound(compound) => {
                let of_surfaces = compound.max_of(|part, _| match part {
                    Self::Mesh(mesh) => mesh.bounding_radius(),
                    _ => 0.0,
                });
                of_surfaces.max(self.ball_of_equal_volume())
            }
            _ => self.ball_of_equal_volume(),
        }
    }

    fn ball_of_equal_volume(&self) -> f64 {
        (self.mass_properties().volume * 3.0 / (4.0 * PI)).cbrt()
    }

    /// Whether it has no part but thin surfaces: walls and other surfaces do not touch it.
    pub fn is_surface(&self) -> bool {
        match self {
            Self::Mesh(_) => true,
            Self::Compound(compound) => compound.parts().iter().all(|(part, _)| part.is_surface()),
            _ => false,
        }
    }

    /// Bound on `|s × n|` over all points `s` of the surface with normal `n` (m): at unit angular
    /// velocity a gap closes at most this fast.
    pub fn rotation_reach(&self) -> f64 {
        match self {
            Self::Sphere { .. } => 0.0,
            Self::Ellipsoid { semi_axes } => semi_axes.max_element() - semi_axes.min_element(),
            Self::Capsule { half_length, .. } => *half_length,
            Self::Cylinder { .. } | Self::Box { .. } | Self::Polyhedron(_) | Self::Mesh(_) => {
                self.bounding_radius()
            }
            Self::Clump(clump) => clump.max_of(|centre, _| centre.length()),
            Self::Compound(compound) => {
                compound.max_of(|part, pose| pose.position.length() + part.rotation_reach())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes() -> Vec<BodyShape> {
        let semi_axes = DVec3::new(0.3, 0.5, 0.9);
        let (clump, _) = Clump::new(&[(DVec3::ZERO, 0.5), (0.6 * DVec3::X, 0.4)]).unwrap();
        vec![
            BodyShape::Sphere { radius: 0.5 },
            BodyShape::Ellipsoid { semi_axes },
            BodyShape::Capsule {
                radius: 0.3,
                half_length: 0.7,
            },
            BodyShape::Cylinder {
                radius: 0.4,
                half_length: 0.6,
            },
            BodyShape::Box {
                half_edges: semi_axes,
            },
            BodyShape::Clump(Arc::new(clump)),
        ]
    }

    /// Points that fill the cube of half edge 1 evenly (the additive recurrence of the plastic
    /// number's generalisation).
    pub(super) fn quasi_random(k: i32) -> DVec3 {
        let g = 1.220_744_084_605_759_5_f64;
        let steps = DVec3::new(1.0 / g, 1.0 / (g * g), 1.0 / (g * g * g));
        2.0 * (0.5 + f64::from(k) * steps).fract() - 1.0
    }

    /// Whether a point of the body frame lies in the shape.
    fn contains(shape: &BodyShape, p: DVec3) -> bool {
        match shape {
            BodyShape::Sphere { radius } => p.length() < *radius,
            BodyShape::Ellipsoid { semi_axes } => (p / *semi_axes).length() < 1.0,
            BodyShape::Capsule {
                radius,
                half_length,
            } => p.distance(DVec3::Z * p.z.clamp(-half_length, *half_length)) < *radius,
            BodyShape::Cylinder {
                radius,
                half_length,
            } => p.truncate().length() < *radius && p.z.abs() < *half_length,
            BodyShape::Box { half_edges } => p.abs().cmplt(*half_edges).all(),
            BodyShape::Clump(clump) => clump.spheres().iter().any(|s| s.0.distance(p) < s.1),
            BodyShape::Polyhedron(_) | BodyShape::Compound(_) | BodyShape::Mesh(_) => false,
        }
    }

    /// The box holds every point of the surface and is inside the ball.
    #[test]
    fn the_bounding_box_holds_the_surface() {
        for shape in shapes() {
            let bounds = shape.bounding_box();
            let surface = shape.triangulate();
            let inside = bounds.inflated(1e-9);
            assert!(
                surface.vertices.iter().all(|v| inside.contains(*v)),
                "{shape:?}"
            );
            // The surface reaches every face, as far as triangles follow it.
            let reached = Aabb::of_points(surface.vertices.iter().copied());
            let left = (bounds.size() - reached.size()).max_element();
            assert!(
                left < 0.02 * bounds.size().max_element(),
                "{shape:?}: {left}"
            );
        }
    }

    #[test]
    fn mass_properties_and_bounds_agree_with_counted_points() {
        for shape in shapes() {
            let count = 1_000_000;
            let weight = 2.4_f64.powi(3) / f64::from(count);
            let (mut volume, mut squares, mut farthest) = (0.0, DVec3::ZERO, 0.0_f64);
            let mut first = DVec3::ZERO;
            for k in 0..count {
                let p = 1.2 * quasi_random(k);
                if contains(&shape, p) {
                    volume += weight;
                    first += weight * p;
                    squares += weight * p * p;
                    farthest = farthest.max(p.length());
                }
            }
            let exact = shape.mass_properties();
            assert!((volume / exact.volume - 1.0).abs() < 1e-3, "{shape:?}");
            assert!((first / volume).length() < 1e-3, "{shape:?}");
            let inertia = inertia_of(squares / volume);
            let error = (inertia / exact.inertia_per_mass - 1.0).abs().max_element();
            assert!(error < 2e-3, "{shape:?}: {error}");
            let bound = shape.bounding_radius();
            assert!(farthest < bound && farthest > 0.93 * bound, "{shape:?}");
            let ball = 4.0 / 3.0 * PI * shape.volume_radius().powi(3);
            assert!((ball / exact.volume - 1.0).abs() < 1e-14);
            assert_eq!(shape.validate(), Ok(()));
        }
    }

    #[test]
    fn impossible_sizes_are_named() {
        let message = |shape: BodyShape| shape.validate().unwrap_err().to_string();
        let semi_axes = DVec3::new(1.0, f64::NAN, 1.0);
        assert_eq!(
            message(BodyShape::Ellipsoid { semi_axes }),
            "semi-axis in y of the ellipsoid must be positive and finite, but is NaN m"
        );
        let capsule = |radius, half_length| BodyShape::Capsule {
            radius,
            half_length,
        };
        assert!(message(capsule(1.0, -1.0)).starts_with("half length of the capsule"));
        assert_eq!(capsule(1.0, 0.0).validate(), Ok(()));
        let half_edges = DVec3::new(1.0, 1.0, 0.0);
        assert!(message(BodyShape::Box { half_edges }).starts_with("half edge in z of the box"));
    }
}
