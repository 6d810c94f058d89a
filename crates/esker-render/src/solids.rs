//! Grains that are no spheres: where a sight line meets them, and which way their surface faces.
//!
//! Everything is exact: a sight line `o + t d` in the body's own axes enters
//!
//! ```text
//! an ellipsoid   at the first root of |D (o + t d)|² = 1,  D = diag(1/a, 1/b, 1/c)            (1)
//! a polyhedron   at t = max (h − n·o)/(n·d) over faces with n·d < 0, if that is before it
//!                leaves at t = min (h − n·o)/(n·d) over faces with n·d > 0                    (2)
//! ```
//!
//! and a capsule or cylinder through its side, or else through one of its ends.

use glam::{DMat3, DVec3};

use crate::camera::View;
use crate::picture::Solid;
use crate::visibility::Ball;

/// Shape of a grain in its own axes. Lengths in m.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// An ellipsoid with its axes along x, y, z.
    Ellipsoid {
        /// Half of each axis, m.
        semi_axes: DVec3,
    },
    /// All points within `radius` of a segment of the z axis.
    Capsule {
        /// Radius, m.
        radius: f64,
        /// Half the length of the segment, m.
        half_length: f64,
    },
    /// A circular cylinder about the z axis.
    Cylinder {
        /// Radius, m.
        radius: f64,
        /// Half the length, m.
        half_length: f64,
    },
    /// The points that lie behind all faces.
    Polyhedron {
        /// The faces.
        faces: Vec<Face>,
        /// Largest distance of a point from the origin, m.
        reach: f64,
    },
}

/// A face of a polyhedron: the plane `normal · x = offset`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Face {
    /// Outward unit normal.
    pub normal: DVec3,
    /// Distance of the plane from the origin, m.
    pub offset: f64,
}

impl Form {
    /// A cuboid about the origin with edges along the axes, from half of each edge, m.
    pub fn cuboid(half_edges: DVec3) -> Self {
        let faces = [DVec3::X, DVec3::Y, DVec3::Z].into_iter().flat_map(|axis| {
            let offset = half_edges.dot(axis);
            [axis, -axis].map(|normal| Face { normal, offset })
        });
        Self::Polyhedron {
            faces: faces.collect(),
            reach: half_edges.length(),
        }
    }

    /// Largest distance of a point from the origin, m.
    pub fn reach(&self) -> f64 {
        match self {
            Self::Ellipsoid { semi_axes } => semi_axes.max_element(),
            Self::Capsule {
                radius,
                half_length,
            } => radius + half_length,
            Self::Cylinder {
                radius,
                half_length,
            } => radius.hypot(*half_length),
            Self::Polyhedron { reach, .. } => *reach,
        }
    }

    /// The first `t` at which `o + t d` lies in the body.
    fn entry(&self, o: DVec3, d: DVec3) -> Option<f64> {
        match self {
            // Eq. (1).
            Self::Ellipsoid { semi_axes } => first_root(o / *semi_axes, d / *semi_axes, 1.0),
            Self::Capsule {
                radius,
                half_length,
            } => side_entry(o, d, *radius, *half_length).or_else(|| {
                let ends = [DVec3::Z * *half_length, DVec3::NEG_Z * *half_length];
                let entries = ends
                    .into_iter()
                    .filter_map(|c| first_root(o - c, d, *radius));
                entries.min_by(f64::total_cmp)
            }),
            Self::Cylinder {
                radius,
                half_length,
            } => side_entry(o, d, *radius, *half_length).or_else(|| {
                let t = (-half_length.copysign(d.z) - o.z) / d.z;
                let across = (o + t * d).truncate().length_squared();
                (d.z != 0.0 && across <= radius * radius).then_some(t)
            }),
            Self::Polyhedron { faces, .. } => {
                // Eq. (2).
                let (mut enters, mut leaves) = (f64::NEG_INFINITY, f64::INFINITY);
                for face in faces {
                    let height = face.offset - face.normal.dot(o);
                    let along = face.normal.dot(d);
                    if along < 0.0 {
                        enters = enters.max(height / along);
                    } else if along > 0.0 {
                        leaves = leaves.min(height / along);
                    } else if height < 0.0 {
                        return None;
                    }
                }
                (enters <= leaves && enters.is_finite()).then_some(enters)
            }
        }
    }

    /// Outward normal at a point of the surface, of any length.
    fn normal(&self, p: DVec3) -> DVec3 {
        match self {
            Self::Ellipsoid { semi_axes } => p / (*semi_axes * *semi_axes),
            Self::Capsule { half_length, .. } => {
                p - DVec3::Z * p.z.clamp(-half_length, *half_length)
            }
            Self::Cylinder { .. } if self.is_on_end(p) => DVec3::Z * p.z.signum(),
            Self::Cylinder { .. } => p.with_z(0.0),
            Self::Polyhedron { faces, .. } => {
                let height = |face: &Face| face.normal.dot(p) - face.offset;
                let nearest = faces.iter().max_by(|a, b| height(a).total_cmp(&height(b)));
                nearest.map_or(DVec3::Z, |face| face.normal)
            }
        }
    }

    /// Whether a point of a cylinder's surface lies on an end rather than on its side.
    fn is_on_end(&self, p: DVec3) -> bool {
        match self {
            Self::Cylinder {
                radius,
                half_length,
            } => p.z.abs() - half_length > p.truncate().length() - radius,
            _ => false,
        }
    }

    /// Distance of a point of the surface from the nearest sharp edge, m; infinite where there
    /// is none.
    fn edge_distance(&self, p: DVec3) -> f64 {
        match self {
            Self::Ellipsoid { .. } | Self::Capsule { .. } => f64::INFINITY,
            Self::Cylinder {
                radius,
                half_length,
            } => {
                if self.is_on_end(p) {
                    radius - p.truncate().length()
                } else {
                    half_length - p.z.abs()
                }
            }
            Self::Polyhedron { faces, .. } => {
                let normal = self.normal(p);
                let to_edge = faces.iter().filter_map(|face| {
                    // Within the face, the plane of another is farther by the sine between them.
                    let sine = face.normal.cross(normal).length();
                    (sine > 1e-9).then(|| (face.offset - face.normal.dot(p)) / sine)
                });
                to_edge.fold(f64::INFINITY, f64::min)
            }
        }
    }

    /// Radius of curvature of the surface at a point along the unit direction to the eye, m;
    /// infinite where it is flat.
    fn curvature_radius(&self, p: DVec3, towards_eye: DVec3) -> f64 {
        let round = |radius: f64| radius / (1.0 - towards_eye.z * towards_eye.z);
        match self {
            Self::Ellipsoid { semi_axes } => {
                let gradient = self.normal(p).length();
                gradient / (towards_eye / *semi_axes).length_squared()
            }
            Self::Capsule {
                radius,
                half_length,
            } if p.z.abs() < *half_length => round(*radius),
            Self::Capsule { radius, .. } => *radius,
            Self::Cylinder { .. } if self.is_on_end(p) => f64::INFINITY,
            Self::Cylinder { radius, .. } => round(*radius),
            Self::Polyhedron { .. } => f64::INFINITY,
        }
    }
}

/// The first `t` at which `o + t d` is not farther from the origin than `radius`.
fn first_root(o: DVec3, d: DVec3, radius: f64) -> Option<f64> {
    let (a, b) = (d.length_squared(), o.dot(d));
    let radicand = b * b - a * (o.length_squared() - radius * radius);
    (a > 0.0 && radicand >= 0.0).then(|| (-b - radicand.sqrt()) / a)
}

/// The first `t` at which `o + t d` is not farther from the z axis than `radius`, where that is on
/// the side of a cylinder.
fn side_entry(o: DVec3, d: DVec3, radius: f64, half_length: f64) -> Option<f64> {
    first_root(o.with_z(0.0), d.with_z(0.0), radius)
        .filter(|t| (o.z + t * d.z).abs() <= half_length)
}

/// A solid in camera space.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlacedSolid<'a> {
    form: &'a Form,
    pub centre: DVec3,
    /// The body's axes, each as long as a unit of the form (columns).
    axes: DMat3,
    to_own: DMat3,
    /// Camera units per unit of the form.
    scale: f64,
}

impl<'a> PlacedSolid<'a> {
    /// `None` where it cannot be drawn.
    pub fn new(solid: &Solid<'a>, view: &View) -> Option<Self> {
        let orientation = solid.orientation;
        let is_drawable = solid.centre.is_finite()
            && solid.scale.is_finite()
            && solid.scale > 0.0
            && orientation.is_finite()
            && orientation.length_squared() > 0.0;
        is_drawable.then(|| {
            let scale = solid.scale * view.scale;
            let axis = |axis: DVec3| scale * view.turn(orientation.normalize() * axis);
            let axes = DMat3::from_cols(axis(DVec3::X), axis(DVec3::Y), axis(DVec3::Z));
            Self::with_axes(solid.form, view.to_camera(solid.centre), axes, scale)
        })
    }

    fn with_axes(form: &'a Form, centre: DVec3, axes: DMat3, scale: f64) -> Self {
        Self {
            form,
            centre,
            axes,
            to_own: axes.transpose() * (1.0 / (scale * scale)),
            scale,
        }
    }

    /// The same moved, turned and scaled; `factor` is that of lengths.
    pub fn moved(&self, place: impl Fn(DVec3) -> DVec3, factor: f64) -> Self {
        let turn = |axis: DVec3| place(axis) - place(DVec3::ZERO);
        let axes = DMat3::from_cols(
            turn(self.axes.x_axis),
            turn(self.axes.y_axis),
            turn(self.axes.z_axis),
        );
        Self::with_axes(self.form, place(self.centre), axes, self.scale * factor)
    }

    /// A ball that holds it.
    pub fn ball(&self) -> Ball {
        Ball {
            centre: self.centre,
            radius: self.scale * self.form.reach(),
        }
    }

    /// Depth at which the sight line `origin + z direction` enters.
    pub fn depth(&self, origin: DVec3, direction: DVec3) -> Option<f64> {
        let o = self.to_own * (origin - self.centre);
        self.form.entry(o, self.to_own * direction)
    }

    /// Unit normal at a point of the surface.
    pub fn normal(&self, p: DVec3) -> DVec3 {
        let own = self.form.normal(self.to_own * (p - self.centre));
        (self.axes * own).normalize_or(DVec3::NEG_Z)
    }

    /// How far inside its outline and its edges a point of the surface appears, in camera units;
    /// `facing` is the cosine between normal and sight line.
    pub fn inset(&self, p: DVec3, towards_eye: DVec3, facing: f64) -> f64 {
        let own = self.to_own * (p - self.centre);
        let eye = (self.to_own * towards_eye).normalize_or(DVec3::Z);
        let curved = self.form.curvature_radius(own, eye);
        let from_rim = match curved.is_finite() {
            true => curved * (1.0 - (1.0 - facing * facing).sqrt()),
            false => f64::INFINITY,
        };
        self.scale * from_rim.min(self.form.edge_distance(own))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::camera::{Camera, Projection};
    use glam::DQuat;
    use proptest::prelude::*;

    fn forms() -> Vec<Form> {
        let cut = DVec3::ONE.normalize();
        let Form::Polyhedron { mut faces, reach } = Form::cuboid(DVec3::new(0.5, 0.8, 1.1)) else {
            unreachable!()
        };
        faces.push(Face {
            normal: cut,
            offset: 0.9,
        });
        vec![
            Form::Ellipsoid {
                semi_axes: DVec3::new(0.4, 0.8, 1.3),
            },
            Form::Capsule {
                radius: 0.4,
                half_length: 0.9,
            },
            Form::Cylinder {
                radius: 0.7,
                half_length: 0.5,
            },
            Form::Polyhedron { faces, reach },
        ]
    }

    /// Below zero within the body, zero on its surface; no distance.
    fn level(form: &Form, p: DVec3) -> f64 {
        match form {
            Form::Ellipsoid { semi_axes } => (p / *semi_axes).length() - 1.0,
            Form::Capsule {
                radius,
                half_length,
            } => p.distance(DVec3::Z * p.z.clamp(-half_length, *half_length)) - radius,
            Form::Cylinder {
                radius,
                half_length,
            } => (p.truncate().length() - radius).max(p.z.abs() - half_length),
            Form::Polyhedron { faces, .. } => {
                let heights = faces.iter().map(|f| f.normal.dot(p) - f.offset);
                heights.fold(f64::NEG_INFINITY, f64::max)
            }
        }
    }

    proptest! {
        /// Marching along the line finds the body where the formulas do, and nowhere else.
        #[test]
        fn sight_lines_enter_where_the_body_begins(
            from in prop::array::uniform3(-1.0..1.0_f64),
            at in prop::array::uniform3(-1.0..1.0_f64),
        ) {
            let away = DVec3::from(from).try_normalize().unwrap_or(DVec3::X);
            let (o, d) = (3.0 * away, (DVec3::from(at) - 3.0 * away).normalize());
            for form in forms() {
                let steps = 3000;
                let marched = (0..steps)
                    .map(|k| 6.0 * f64::from(k) / f64::from(steps))
                    .find(|t| level(&form, o + t * d) <= 0.0);
                let found = form.entry(o, d);
                if let Some(t) = found {
                    let p = o + t * d;
                    prop_assert!(level(&form, p).abs() < 1e-9, "{form:?}: {p}");
                    prop_assert!(form.normal(p).dot(d) < 1e-9, "{form:?}: leaves at {p}");
                    prop_assert!(p.length() < form.reach() + 1e-9);
                }
                if let Some(marched) = marched {
                    let t = found.expect("a line within the body enters it");
                    prop_assert!((marched - 2.0e-3 - 1e-9..=marched + 1e-9).contains(&t));
                }
            }
        }

        /// Normals point along the rise of the level.
        #[test]
        fn normals_are_those_of_the_surface(
            from in prop::array::uniform3(-1.0..1.0_f64),
        ) {
            let away = DVec3::from(from).try_normalize().unwrap_or(DVec3::X);
            for form in forms() {
                let t = form.entry(3.0 * away, -away).unwrap();
                let p = (3.0 - t) * away;
                if form.edge_distance(p) < 1e-3 {
                    continue;
                }
                let normal = form.normal(p).normalize();
                let rise = |axis: DVec3| level(&form, p + 1e-6 * axis) - level(&form, p - 1e-6 * axis);
                let gradient = DVec3::new(rise(DVec3::X), rise(DVec3::Y), rise(DVec3::Z));
                prop_assert!(normal.dot(gradient.normalize()) > 1.0 - 1e-6, "{form:?}: {p}");
            }
        }
    }

    #[test]
    fn edges_are_where_faces_meet() {
        let cuboid = Form::cuboid(DVec3::new(1.0, 2.0, 3.0));
        let on_top = DVec3::new(0.9, 0.0, 3.0);
        assert!((cuboid.edge_distance(on_top) - 0.1).abs() < 1e-12);
        let cylinder = &forms()[2];
        assert!((cylinder.edge_distance(DVec3::new(0.6, 0.0, 0.5)) - 0.1).abs() < 1e-12);
        assert!((cylinder.edge_distance(DVec3::new(0.7, 0.0, 0.3)) - 0.2).abs() < 1e-12);
        assert!(forms()[0].edge_distance(DVec3::X * 0.4).is_infinite());
    }

    /// The camera's axes are left-handed: a mirrored body would show here.
    #[test]
    fn a_placed_solid_is_turned_as_the_world_says() {
        let camera = Camera {
            eye: DVec3::NEG_Y * 4.0,
            target: DVec3::ZERO,
            up: DVec3::Z,
            projection: Projection::Orthographic { height: 4.0 },
        };
        let view = View::new(&camera, (40, 40)).unwrap();
        let orientation = DQuat::from_rotation_y(0.5) * DQuat::from_rotation_x(0.8);
        let form = &forms()[3];
        let solid = Solid {
            form,
            centre: DVec3::new(0.2, 0.1, -0.1),
            scale: 0.7,
            orientation,
            value: 0.0,
        };
        let placed = PlacedSolid::new(&solid, &view).unwrap();
        for (x, z) in [(0.2, -0.1), (0.4, 0.1), (0.0, -0.3), (0.5, -0.2)] {
            let start = DVec3::new(x, -4.0, z);
            let back = orientation.inverse();
            let own = |p: DVec3| back * (p - solid.centre) / solid.scale;
            let t = form
                .entry(own(start), own(start + DVec3::Y) - own(start))
                .unwrap();
            let origin = view.to_camera(start);
            let depth = placed.depth(origin, DVec3::Z).unwrap();
            assert!((depth - view.scale * t).abs() < 1e-12);
            let normal = orientation * form.normal(own(start + t * DVec3::Y));
            let seen = placed.normal(origin + depth * DVec3::Z);
            assert!((seen - view.turn(normal)).length() < 1e-9);
        }
    }
}
