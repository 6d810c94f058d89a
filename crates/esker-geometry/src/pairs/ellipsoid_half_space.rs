//! Ellipsoid against the half-space `z < 0`.

use super::body_wall::WallQuery;
use super::ellipsoid_wall::WallSurface;
use super::sharp::PlacedEllipsoid;
use crate::manifold::ContactPoint;
use crate::smooth::Support;
use glam::DVec3;

pub(super) fn contacts(body: &PlacedEllipsoid, query: &WallQuery, out: &mut Vec<ContactPoint>) {
    let gap = body.centre.z - body.body.extent(DVec3::NEG_Z).h;
    if gap < query.margin {
        let plane = WallSurface::plane(DVec3::NEG_Z, gap, 0);
        out.push(plane.contact(body.body, body.centre));
    }
}
