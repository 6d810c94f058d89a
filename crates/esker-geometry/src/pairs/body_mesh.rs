//! Any body against one whose surface is a triangle mesh: as against a wall that is a mesh.

use crate::body::{BodyMesh, BodyShape, PlacedShape};
use crate::manifold::{ContactPoint, ContactRates, RigidMotion};
use crate::pairs::body_body::BodyQuery;
use crate::pairs::body_wall::WallQuery;

/// `a` in the frame of `surface`, which only bodies of their own have: those are as large as they
/// are given.
fn in_frame_of<'a>(a: &PlacedShape<'a>, surface: &PlacedShape) -> PlacedShape<'a> {
    debug_assert_eq!(surface.scale, 1.0, "meshes are not scaled");
    let to_local = surface.rotation.transpose();
    PlacedShape {
        position: to_local * (a.position - surface.position),
        rotation: to_local * a.rotation,
        ..*a
    }
}

/// Appends the contacts of `a` with the surface. Two surfaces have none.
pub(super) fn contacts(
    a: &PlacedShape,
    (mesh, placed): (&BodyMesh, &PlacedShape),
    query: &BodyQuery,
    out: &mut Vec<ContactPoint>,
) {
    if matches!(a.shape, BodyShape::Mesh(_)) {
        return;
    }
    let local = in_frame_of(a, placed);
    let reach = local.bounding_radius() + query.margin;
    if mesh.wall().is_clear_of(local.position, reach) {
        return;
    }
    let first = out.len();
    let within = WallQuery::within(query.margin);
    mesh.wall().body_contacts(&local, &within, out);
    for contact in &mut out[first..] {
        contact.point = placed.position + placed.rotation * contact.point;
        contact.normal = placed.rotation * contact.normal;
    }
}

/// Rates of a contact of `a` with the surface.
pub(super) fn rates(
    (a, motion): (&PlacedShape, &RigidMotion),
    (mesh, placed, of_mesh): (&BodyMesh, &PlacedShape, &RigidMotion),
    contact: &ContactPoint,
) -> ContactRates {
    let to_local = placed.rotation.transpose();
    let local = |motion: &RigidMotion| RigidMotion {
        velocity: to_local * motion.velocity,
        angular_velocity: to_local * motion.angular_velocity,
    };
    let contact = ContactPoint {
        point: to_local * (contact.point - placed.position),
        normal: to_local * contact.normal,
        ..*contact
    };
    let body = (&in_frame_of(a, placed), &local(motion));
    let rates = (mesh.wall()).contact_rates(body, &local(of_mesh), &contact);
    ContactRates {
        tangential: placed.rotation * rates.tangential,
        ..rates
    }
}
