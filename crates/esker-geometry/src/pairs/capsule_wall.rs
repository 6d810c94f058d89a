//! Capsule against a wall: its two ends as spheres, and what lies between them.
//!
//! A capsule is the hull of the spheres at its ends, so planes and hollow walls, being convex from
//! inside, hold it by the ends alone. Edges, corners, rims and round walls from outside can touch it
//! between them. There an end is not touched by what lies beside the capsule, but for what is
//! nearly parallel to it: then both ends are.

use super::body_wall::WallQuery;
use super::ellipsoid_box::{BoxWall, Sought};
use super::sharp::{CapsuleMiddle, Near, Sharp};
use super::sphere_frustum::{Frustum, feature};
use super::{ellipsoid_mesh, sphere_box, sphere_frustum};
use crate::hertz::{PARALLEL_SINE, Sym2};
use crate::manifold::{Conformity, ContactPoint};
use crate::shape::{OpenFaces, Side, WallShape, WallSurface};
use crate::smooth::capsule::Capsule;
use glam::{DVec2, DVec3};

/// Both ends, and the stretch between them.
pub(super) const PARTS: u32 = 3;
const MIDDLE: u32 = 2;

/// Appends the contacts of a capsule.
pub(super) fn contacts(
    wall: &WallShape,
    capsule: &Capsule,
    query: &WallQuery,
    out: &mut Vec<ContactPoint>,
) {
    if capsule.half_length == 0.0 {
        let probe = query.probe(capsule.centre, capsule.radius);
        wall.sphere_contacts(&probe, |contact| out.push(contact.of_part(0, PARTS)));
        return;
    }
    for (part, end) in (0..).zip(capsule.ends()) {
        let outward = if part == 0 {
            -capsule.axis
        } else {
            capsule.axis
        };
        wall.sphere_contacts(&query.probe(end, capsule.radius), |contact| {
            let lean = contact.normal.dot(outward);
            if is_hull_touched_at_ends(wall, contact.feature) {
                out.push(lying(contact, capsule, lean).of_part(part, PARTS));
            } else if lean >= -PARALLEL_SINE {
                out.push(contact.of_part(part, PARTS));
            }
        });
    }
    middle_contacts(wall, capsule, query, |contact| {
        out.push(contact.of_part(MIDDLE, PARTS));
    });
}

/// Whether a feature is a plane or hollow.
fn is_hull_touched_at_ends(wall: &WallShape, feature: u32) -> bool {
    match wall.surface() {
        WallSurface::HalfSpace => true,
        WallSurface::Box { .. } => sphere_box::is_face(feature),
        WallSurface::Frustum { .. } => sphere_frustum::is_plane_or_hollow(feature),
        WallSurface::Mesh(mesh) => !mesh.is_sharp(feature),
    }
}

/// The contact of an end, stiffer where the capsule lies along the wall.
fn lying(contact: ContactPoint, capsule: &Capsule, lean: f64) -> ContactPoint {
    let radius = match contact.conformity {
        Conformity::Curved { radius, .. } => radius,
        Conformity::Flat { .. } => capsule.radius,
    };
    ContactPoint {
        conformity: Conformity::of_line_end(radius, capsule.half_length, lean),
        ..contact
    }
}

/// Contacts between the ends.
fn middle_contacts(
    wall: &WallShape,
    capsule: &Capsule,
    query: &WallQuery,
    mut push: impl FnMut(ContactPoint),
) {
    let middle = CapsuleMiddle(capsule);
    match wall.surface() {
        WallSurface::HalfSpace => {}
        WallSurface::Box {
            half_extents: half,
            side,
            open,
        } => {
            let open = if side == Side::Inside {
                open
            } else {
                OpenFaces::NONE
            };
            let wall = BoxWall { half, open };
            if !wall.is_in_reach(capsule.centre, middle.bound() + query.margin) {
                return;
            }
            let mut push_near = |near: Near, feature: u32| {
                if near.gap < query.margin {
                    push(middle.contact(&near, feature));
                }
            };
            let sought = Sought::within(query.margin, &middle);
            wall.each_edge(&middle, &sought, &mut push_near);
            wall.each_corner(&middle, &sought, &mut push_near);
        }
        WallSurface::Frustum {
            radii,
            length,
            side,
            open,
        } => {
            let frustum = Frustum::new(radii, length);
            frustum.capsule_middle(&middle, (side, open), query.margin, push);
        }
        WallSurface::Mesh(mesh) => {
            ellipsoid_mesh::sharp_contacts(mesh, &middle, query.margin, push);
        }
    }
}

impl Frustum {
    /// Rims, and the mantle from outside, between the ends of a capsule.
    fn capsule_middle(
        &self,
        middle: &CapsuleMiddle,
        (side, open): (Side, OpenFaces),
        margin: f64,
        mut push: impl FnMut(ContactPoint),
    ) {
        let open = if side == Side::Inside {
            open
        } else {
            OpenFaces::NONE
        };
        let is_open = self.open_ends(open);
        for (end, is_open) in is_open.into_iter().enumerate() {
            if self.rim(end).is_in_reach(middle, margin) {
                self.each_rim_minimum(middle, end, is_open, |near, name| {
                    if near.gap < margin {
                        push(middle.contact(&near, name));
                    }
                });
            }
        }
        self.capsule_on_mantle(middle.0, margin, push);
    }

    /// The tangent plane of the mantle that a capsule's side touches from outside has a normal
    /// `n(φ)` across the capsule's axis; where the mantle touches it the axis crosses the meridian
    /// plane.
    fn capsule_on_mantle(
        &self,
        capsule: &Capsule,
        margin: f64,
        mut push: impl FnMut(ContactPoint),
    ) {
        let axis = capsule.axis;
        let across = self.outward.x * axis.truncate().length();
        let cosine = -self.outward.y * axis.z / across;
        let has_tangent = cosine.abs() <= 1.0;
        if !has_tangent {
            return;
        }
        for side in [-1.0, 1.0] {
            let azimuth = axis.truncate().to_angle() + side * cosine.acos();
            let radial = DVec2::from_angle(azimuth).extend(0.0);
            let around = DVec3::Z.cross(radial);
            let outward = self.outward.x * radial + self.outward.y * DVec3::Z;
            // Along the mantle's line the ends are touched.
            let crossing = around.dot(axis);
            if crossing.abs() < 0.5 * PARALLEL_SINE {
                continue;
            }
            let along = -around.dot(capsule.centre) / crossing;
            let point = capsule.at(along);
            let height = outward.dot(point) - self.offset();
            let up = self.along(radial, point);
            let is_over_mantle = (0.0..=self.slant).contains(&up) && radial.dot(point) > 0.0;
            let gap = height - capsule.radius;
            if along.abs() < capsule.half_length && is_over_mantle && height > 0.0 && gap < margin {
                let foot = point - height * outward;
                let flat = (around - around.dot(axis) * axis).dot(outward.cross(axis));
                let direction = DVec2::new(around.dot(axis), flat);
                push(ContactPoint {
                    point: point - (capsule.radius + 0.5 * gap) * outward,
                    normal: -outward,
                    gap,
                    feature: feature::MANTLE_OUTER,
                    conformity: crossed(capsule, direction, self.curvature(radial, foot)),
                });
            }
        }
    }
}

/// Of a capsule's side against a wall that is curved along a direction, in the basis of the axis
/// and the direction across it.
fn crossed(capsule: &Capsule, direction: DVec2, curvature: f64) -> Conformity {
    // Against a plane the side would be a line: the wall's curvature along the axis ends it.
    let along = curvature * direction.x * direction.x;
    let across = 1.0 / capsule.radius + curvature * direction.y * direction.y;
    let mixed = curvature * direction.x * direction.y;
    let tensor = Sym2 {
        xx: along,
        xy: mixed,
        yy: across,
    };
    Conformity::from_curvature(tensor.trace(), tensor.determinant())
}
