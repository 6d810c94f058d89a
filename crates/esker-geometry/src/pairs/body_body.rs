//! The table of pairs of bodies.

use super::{
    body_mesh, capsule_capsule, capsule_ellipsoid, clump_body, compound_body, convex,
    ellipsoid_ellipsoid,
};
use crate::body::{BodyShape, PlacedShape};
use crate::manifold::{Conformity, ContactPoint};
use crate::pairs::sphere_sphere::sphere_sphere;
use crate::smooth::Ball;
use crate::smooth::capsule::Capsule;
use crate::smooth::ellipsoid::Ellipsoid;
use glam::DVec3;

/// What is asked of two bodies.
#[derive(Clone, Copy, Debug, Default)]
pub struct BodyQuery {
    /// Points with a gap below this are reported (m).
    pub margin: f64,
    /// Normal of the contact when the pair was last looked at: a start for the search.
    pub last_normal: Option<DVec3>,
}

/// Appends all points of contact of two bodies with a gap below the margin.
///
/// Swapped bodies have the same points with opposite normals, to rounding.
pub fn body_contacts(
    a: &PlacedShape,
    b: &PlacedShape,
    query: &BodyQuery,
    out: &mut Vec<ContactPoint>,
) {
    use BodyShape as S;
    match (a.shape, b.shape) {
        (S::Compound(compound), _) => compound_body::contacts((compound, a), b, query, out),
        (_, S::Compound(_)) => reversed(a, b, query, out),

        (S::Clump(clump), _) => clump_body::contacts((clump, a), b, query, out),
        (_, S::Clump(_)) => reversed(a, b, query, out),

        (_, S::Mesh(mesh)) => body_mesh::contacts(a, (mesh, b), query, out),
        (S::Mesh(_), _) => reversed(a, b, query, out),

        (S::Box { .. } | S::Cylinder { .. } | S::Polyhedron(_), _)
        | (_, S::Box { .. } | S::Cylinder { .. } | S::Polyhedron(_)) => {
            convex::body_contacts(a, b, query, out);
        }

        (S::Sphere { radius: ra }, S::Sphere { radius: rb }) => {
            out.extend(sphere_contact(a, *ra, b, *rb, query.margin));
        }
        (S::Sphere { .. }, S::Ellipsoid { .. } | S::Capsule { .. }) => {
            reversed(a, b, query, out);
        }

        (S::Ellipsoid { semi_axes }, S::Sphere { radius }) => {
            let ball = Ball {
                radius: b.scale * radius,
            };
            let a = (&ellipsoid(*semi_axes, a), a.position);
            out.extend(ellipsoid_ellipsoid::contact(a, (&ball, b.position), query));
        }
        (S::Ellipsoid { semi_axes }, S::Ellipsoid { semi_axes: other }) => {
            let first = (&ellipsoid(*semi_axes, a), a.position);
            let second = (&ellipsoid(*other, b), b.position);
            out.extend(ellipsoid_ellipsoid::contact(first, second, query));
        }
        (
            S::Ellipsoid { semi_axes },
            S::Capsule {
                radius,
                half_length,
            },
        ) => {
            let first = (&ellipsoid(*semi_axes, a), a.position);
            let capsule = Capsule::new(*radius, *half_length, b);
            out.extend(capsule_ellipsoid::contact(first, &capsule, query));
        }

        (
            S::Capsule {
                radius,
                half_length,
            },
            S::Sphere { radius: ball },
        ) => {
            let capsule = Capsule::new(*radius, *half_length, a);
            let ball = b.scale * ball;
            let contact = capsule_capsule::sphere_contact(&capsule, b.position, ball, query);
            out.extend(contact);
        }
        (S::Capsule { .. }, S::Ellipsoid { .. }) => reversed(a, b, query, out),
        (
            S::Capsule {
                radius,
                half_length,
            },
            S::Capsule {
                radius: other_radius,
                half_length: other_length,
            },
        ) => {
            let first = Capsule::new(*radius, *half_length, a);
            let second = Capsule::new(*other_radius, *other_length, b);
            capsule_capsule::contacts(&first, &second, query, out);
        }
    }
}

/// The pair the other way round.
fn reversed(a: &PlacedShape, b: &PlacedShape, query: &BodyQuery, out: &mut Vec<ContactPoint>) {
    let query = BodyQuery {
        last_normal: query.last_normal.map(|n| -n),
        ..*query
    };
    let first = out.len();
    body_contacts(b, a, &query, out);
    for contact in &mut out[first..] {
        contact.normal = -contact.normal;
    }
}

pub(super) fn ellipsoid(semi_axes: DVec3, placed: &PlacedShape) -> Ellipsoid {
    Ellipsoid::new(placed.scale * semi_axes, placed.rotation)
}

fn sphere_contact(
    a: &PlacedShape,
    radius_a: f64,
    b: &PlacedShape,
    radius_b: f64,
    margin: f64,
) -> Option<ContactPoint> {
    let (ra, rb) = (a.scale * radius_a, b.scale * radius_b);
    let touch = sphere_sphere(a.position, ra, b.position, rb, margin)?;
    Some(ContactPoint {
        point: touch.point,
        normal: touch.normal,
        gap: -touch.overlap,
        feature: 0,
        conformity: Conformity::of_sphere(ra, 1.0 / rb),
    })
}
