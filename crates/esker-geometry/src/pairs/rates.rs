//! How the geometry of a contact changes while bodies move on.
//!
//! Bodies move with constant velocity `v` and angular velocity `w`. With `m = w × n`, for each body
//!
//! ```text
//! att = s·(w × m) + m·H m   (∂²h/∂t² at fixed n),   ds = w × s − H m   (∂s/∂t at fixed n),      (1)
//! y = v_b − v_a − ds_a − ds_b,   ṅ = (S + gap I)⁻¹ y   in the contact plane,                 (2)
//! d²gap/dt² = y·ṅ − att_a − att_b,                                                   (3)
//! a_t = P (w_b × ḋ_b − w_a × ḋ_a),   ḋ_a = ds_a + H_a ṅ,   ḋ_b = −(ds_b + H_b ṅ).         (4)
//! ```
//!
//! On a plane `ṅ = 0`. In a tube or cone `n` stays on a circle, `ṅ = d φ̇`, and with `F` of
//! `smooth/circle.rs`
//!
//! ```text
//! φ̇ = d·(v + ds)/(−F″),   d²gap/dt² = −att − φ̇² (−F″).                        (5)
//! ```
//!
//! A wall that moves is seen from its own frame, in which a body that moves uniformly has the
//! acceleration `−2Ω × v − Ω × (Ω × x)` and the angular acceleration `−Ω × w`.

use super::sphere_frustum::{Frustum, is_hollow_mantle, is_plane_or_hollow};
use super::{body_body, body_mesh, sphere_box};
use crate::body::{BodyShape, PlacedShape};
use crate::hertz::Sym2;
use crate::manifold::{ContactPoint, ContactRates, RigidMotion};
use crate::shape::{Side, WallShape, WallSurface};
use crate::smooth::circle::Facing;
use crate::smooth::{Ball, Support};
use glam::{DVec2, DVec3};

/// A body's surface at a contact, and how it moves.
struct Surface {
    /// `s(n)` (m).
    point: DVec3,
    radii: Sym2,
    basis: [DVec3; 2],
    /// Equation (1) (m/s², m/s).
    att: f64,
    ds: DVec3,
}

impl Surface {
    /// `None` for bodies whose surface is not smooth.
    fn new(body: &PlacedShape, w: DVec3, n: DVec3) -> Option<Self> {
        match body.shape {
            BodyShape::Sphere { radius } => {
                let radius = body.scale * radius;
                Some(Self::of(&Ball { radius }, w, n))
            }
            BodyShape::Ellipsoid { semi_axes } => {
                Some(Self::of(&body_body::ellipsoid(*semi_axes, body), w, n))
            }
            _ => None,
        }
    }

    fn of(body: &impl Support, w: DVec3, n: DVec3) -> Self {
        let (x, y) = n.any_orthonormal_pair();
        let basis = [x, y];
        let extent = body.extent(n);
        let point = body.point(&extent);
        let radii = body.radii(&extent, basis);
        let m = w.cross(n);
        let flat = DVec2::new(x.dot(m), y.dot(m));
        let bent = radii * flat;
        Self {
            point,
            radii,
            basis,
            att: point.dot(w.cross(m)) + flat.dot(bent),
            ds: w.cross(point) - (bent.x * x + bent.y * y),
        }
    }

    /// `H v` for a vector of the contact plane.
    fn bend(&self, v: DVec3) -> DVec3 {
        let bent = self.radii * self.in_plane(v);
        bent.x * self.basis[0] + bent.y * self.basis[1]
    }

    fn in_plane(&self, v: DVec3) -> DVec2 {
        DVec2::new(self.basis[0].dot(v), self.basis[1].dot(v))
    }
}

/// Rates of a contact of two spheres or ellipsoids, or of one of them with a face of a mesh; zero
/// for other bodies.
pub fn contact_rates(
    a: (&PlacedShape, &RigidMotion),
    b: (&PlacedShape, &RigidMotion),
    contact: &ContactPoint,
) -> ContactRates {
    let n = contact.normal;
    if let BodyShape::Mesh(mesh) = b.0.shape {
        return body_mesh::rates(a, (mesh, b.0, b.1), contact);
    }
    if let BodyShape::Mesh(mesh) = a.0.shape {
        let turned = ContactPoint {
            normal: -n,
            ..*contact
        };
        // The relative velocity is that of the second body: here of the other one.
        let rates = body_mesh::rates(b, (mesh, a.0, a.1), &turned);
        return ContactRates {
            tangential: -rates.tangential,
            ..rates
        };
    }
    let surface = |(body, motion): (&PlacedShape, &RigidMotion)| {
        Surface::new(body, motion.angular_velocity, n)
    };
    let (Some(first), Some(second)) = (surface(a), surface(b)) else {
        return ContactRates::default();
    };
    let y = b.1.velocity - a.1.velocity - first.ds - second.ds;
    let y = first.in_plane(y);
    let s = first.radii + second.radii;
    // Bodies deep in each other have no maximum to follow.
    if contact.gap <= -s.determinant() / s.max_eigenvalue() {
        return ContactRates::default();
    }
    let turn = s.solve_shifted(contact.gap, y);
    let n_dot = turn.x * first.basis[0] + turn.y * first.basis[1];
    let moved_a = first.ds + first.bend(n_dot);
    let moved_b = -(second.ds + second.bend(n_dot));
    let tangential = b.1.angular_velocity.cross(moved_b) - a.1.angular_velocity.cross(moved_a);
    ContactRates {
        normal: y.dot(turn) - first.att - second.att,
        tangential: tangential - tangential.dot(n) * n,
    }
}

/// What a wall's tangent plane at a contact does.
enum Tangent {
    /// It stays.
    Fixed,
    /// It rolls around the inner side of a frustum.
    Hollow(Frustum),
}

impl WallShape {
    /// Rates of a contact of a sphere or ellipsoid with a plane or the inside of a cylinder or
    /// cone; zero for other bodies and features. All in the wall's local axes, the wall's motion
    /// being that of its local origin.
    pub fn contact_rates(
        &self,
        (body, motion): (&PlacedShape, &RigidMotion),
        wall: &RigidMotion,
        contact: &ContactPoint,
    ) -> ContactRates {
        let (n, x) = (contact.normal, body.position);
        let rotation = wall.angular_velocity;
        let w = motion.angular_velocity - rotation;
        let v = motion.velocity - wall.velocity - rotation.cross(x);
        let (Some(tangent), Some(surface)) =
            (self.tangent_at(contact.feature), Surface::new(body, w, n))
        else {
            return ContactRates::default();
        };
        let mut normal = -surface.att;
        let mut n_dot = DVec3::ZERO;
        if let Tangent::Hollow(frustum) = tangent {
            let circle = frustum.normals();
            let angle = circle.angle_of(n);
            let (d, second) = match body.shape {
                BodyShape::Sphere { radius } => {
                    let radius = body.scale * radius;
                    let at = circle.measure(&Ball { radius }, x, Facing::Hollow, angle);
                    (at.tangent, at.second)
                }
                BodyShape::Ellipsoid { semi_axes } => {
                    let ellipsoid = body_body::ellipsoid(*semi_axes, body);
                    let at = circle.measure(&ellipsoid, x, Facing::Hollow, angle);
                    (at.tangent, at.second)
                }
                _ => return ContactRates::default(),
            };
            // A body that fits the wall has no one place to follow.
            if second >= -1e-9 * surface.radii.trace() {
                return ContactRates::default();
            }
            let turn = d.dot(v + surface.ds) / -second;
            normal += turn * turn * second;
            n_dot = turn * d;
        }
        let acceleration = -2.0 * rotation.cross(v) - rotation.cross(rotation.cross(x));
        let angular = -rotation.cross(motion.angular_velocity);
        normal -= n.dot(acceleration + angular.cross(surface.point));
        // In the wall's frame, and then as seen from outside.
        let on_body = surface.ds + surface.bend(n_dot);
        let on_wall = v + on_body + rotation.cross(x + surface.point);
        let on_body = on_body + rotation.cross(surface.point);
        let tangential = rotation.cross(on_wall) - motion.angular_velocity.cross(on_body);
        ContactRates {
            normal,
            tangential: tangential - tangential.dot(n) * n,
        }
    }

    /// The tangent plane at a feature; `None` where it is not followed.
    fn tangent_at(&self, feature: u32) -> Option<Tangent> {
        match self.surface() {
            WallSurface::HalfSpace => Some(Tangent::Fixed),
            WallSurface::Box { .. } => sphere_box::is_face(feature).then_some(Tangent::Fixed),
            WallSurface::Frustum {
                radii,
                length,
                side: Side::Inside,
                ..
            } if is_hollow_mantle(feature) => Some(Tangent::Hollow(Frustum::new(radii, length))),
            WallSurface::Frustum { .. } => is_plane_or_hollow(feature).then_some(Tangent::Fixed),
            WallSurface::Mesh(mesh) => (!mesh.is_sharp(feature)).then_some(Tangent::Fixed),
        }
    }
}
