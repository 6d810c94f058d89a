//! A body at a plane: the points of its outline that are near.

use super::conformity::{flat_at_wall, on_face};
use super::manifold::{LINE_TILT, TOLERANCE};
use super::polygon::{Candidate, Corner, reduce};
use super::solid::{Core, Extreme, Solid};
use crate::manifold::ContactPoint;
use glam::DVec3;
use smallvec::SmallVec;

/// `normal · x > offset` is solid.
pub(super) struct Plane {
    /// Unit vector into the wall.
    pub normal: DVec3,
    pub offset: f64,
}

impl Plane {
    /// Appends up to four points. Only points that `is_over` says to be over the wall count, and
    /// points beyond it only where the way to them from the body's centre leads through the wall,
    /// not past its end.
    pub fn contacts(
        &self,
        body: &Solid,
        margin: f64,
        is_over: impl Fn(DVec3) -> bool,
        out: &mut Vec<ContactPoint>,
    ) {
        let mut candidates: SmallVec<[Candidate; 12]> = SmallVec::new();
        let to_centre = self.offset - self.normal.dot(body.position);
        body.for_each_extreme_point(self.normal, |corner: Corner| {
            let gap = self.offset - self.normal.dot(corner.point);
            let passage = passage(to_centre, gap);
            if gap < margin && is_over(body.position.lerp(corner.point, passage)) {
                candidates.push(Candidate { corner, gap });
            }
        });
        if candidates.is_empty() {
            return;
        }
        reduce(&mut candidates, self.normal, TOLERANCE * body.inner_radius);
        let line = match (&body.core, body.extreme(self.normal, LINE_TILT)) {
            (Core::Frustum { .. }, Extreme::Line { ends, .. }) => Some(ends),
            _ => None,
        };
        let conformity = line
            .and_then(|line| on_face(body, self.normal, Some(&line)))
            .unwrap_or_else(|| flat_at_wall(body));
        out.extend(
            candidates
                .iter()
                .map(|&Candidate { corner, gap }| ContactPoint {
                    point: corner.point + 0.5 * gap * self.normal,
                    normal: self.normal,
                    gap,
                    feature: corner.name,
                    conformity,
                }),
        );
    }
}

/// Part of the way from a body's centre to a point of it after which the wall is passed, from their
/// distances to it; the whole way where it is not.
pub(super) fn passage(to_centre: f64, to_point: f64) -> f64 {
    if to_point < 0.0 && to_centre > 0.0 {
        to_centre / (to_centre - to_point)
    } else {
        1.0
    }
}
