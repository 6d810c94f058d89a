//! Which grains, bodies and walls are so near that they may become contacts.

use std::ops::Range;

use esker_geometry::{Aabb, PairEntry, Probe, SphereTouch, Touch};
use glam::DVec3;

use crate::candidate::{Candidate, Detail, FOLLOWS, SHAPED};
use crate::collide::Scene;
use crate::contact::Partner;
use crate::grains::Grains;
use crate::reach::{Proxy, Reach};
use crate::wall::Wall;

/// Motion within a step, in radii, from which on a grain's present direction
/// says little about the walls that it will meet.
pub(crate) const THROWN_RADII: f64 = 4.0;
/// Motion across the normal within the step, in diameters of the smaller grain,
/// from which a contact follows its grains.
const FOLLOWED_MOTION: f64 = 0.01;

/// Two grains as a candidate, the one with the smaller id first, and whether
/// they may become a contact.
#[inline(always)]
pub(crate) fn near_grains([a, b]: [PairEntry<'_, Proxy>; 2], reach: Reach) -> (Candidate, bool) {
    let [a, b] = if a.user_data.id < b.user_data.id {
        [a, b]
    } else {
        [b, a]
    };
    let radii = [a.user_data.radius, b.user_data.radius];
    let touch = SphereTouch::of(a.centre, radii[0], b.centre, radii[1]);
    let closing = a.user_data.velocity - b.user_data.velocity;
    let approach = touch.normal.dot(closing);
    let across = closing.length_squared() - approach * approach;
    let followed = FOLLOWED_MOTION * 2.0 * radii[0].min(radii[1]);
    let follows = across * reach.step * reach.step > followed * followed;
    let candidate = Candidate {
        grain: a.index,
        partner: Partner::Grain(b.index),
        feature: u32::from(follows) * FOLLOWS,
        normal: touch.normal,
        overlap: touch.overlap,
        approach,
        detail: Detail::curvature(0.0),
    };
    (
        candidate,
        reach.covers(&touch, approach, [a.user_data, b.user_data]),
    )
}

/// [`near_grains`] where some grains are no spheres: pairs of which one at least is none
/// are marked, and near where the balls that hold them are.
#[inline(always)]
pub(crate) fn near_bodies(
    pair: [PairEntry<'_, Proxy>; 2],
    reach: Reach,
    grains: &Grains,
) -> (Candidate, bool) {
    let (mut candidate, mut is_near) = near_grains(pair, reach);
    if !pair.iter().all(|body| body.user_data.is_sphere) {
        candidate.feature = SHAPED;
        is_near = near_shapes(&pair, reach, grains);
    }
    (candidate, is_near)
}

/// Whether two bodies of which one at least is no sphere may become a contact. Not inlined: most
/// pairs of a bed are spheres, whose search must stay small.
#[inline(never)]
fn near_shapes(pair: &[PairEntry<'_, Proxy>; 2], reach: Reach, grains: &Grains) -> bool {
    let [a, b] = pair;
    let indices = [a, b].map(|body| body.index as usize);
    if grains.pass_each_other(indices) {
        return false;
    }
    let [held_a, held_b] = indices.map(|i| grains.bounding_radius(i));
    let mut gap = a.centre.distance(b.centre) - held_a - held_b;
    if indices[0].max(indices[1]) >= grains.count() {
        // Bodies of their own may be long and flat, and far larger than what is near them.
        gap = gap
            .max(grains.distance_from_box(indices[0], a.centre, b.centre) - held_b)
            .max(grains.distance_from_box(indices[1], b.centre, a.centre) - held_a);
    }
    let impact_reach = [a, b].map(|body| body.user_data.impact_reach);
    gap < reach_of_bodies(grains, indices, impact_reach, reach)
}

/// The gap of two bodies, m, below which they may become contacts.
pub(crate) fn reach_of_bodies(
    grains: &Grains,
    indices: [usize; 2],
    impact_reach: [f64; 2],
    reach: Reach,
) -> f64 {
    let [a, b] = indices;
    let turning = |i: usize| grains.rotation_speed(i);
    let speed = grains.state[a].velocity.distance(grains.state[b].velocity);
    let closing = reach.step * (speed + turning(a) + turning(b) + reach.fall.length());
    let near = reach.margin * 2.0 * grains.radius[a].min(grains.radius[b]);
    near.max(closing + impact_reach[0] + impact_reach[1]) + reach.cohesive_gap
}

/// Grains side by side, as seen from a wall.
pub(crate) struct ClusterBounds {
    centre: DVec3,
    /// Farthest that a grain's centre is from the middle, m.
    extent: f64,
    max_radius: f64,
    max_speed: f64,
    /// Largest speed at which a rotation moves a surface, m/s; spheres have none.
    max_rotation_speed: f64,
    max_impact_reach: f64,
}

impl ClusterBounds {
    pub(crate) fn of(
        grains: &Grains,
        impact_reach: impl Fn(usize) -> f64,
        range: Range<usize>,
    ) -> Self {
        let mut bounds = Aabb::EMPTY;
        let (mut max_radius, mut max_square) = (0.0, 0.0);
        let (mut max_rotation_speed, mut max_impact_reach) = (0.0, 0.0);
        for i in range {
            bounds = bounds.including(grains.position[i]);
            max_radius = f64::max(max_radius, grains.bounding_radius(i));
            max_square = f64::max(max_square, grains.state[i].velocity.length_squared());
            max_rotation_speed = f64::max(max_rotation_speed, grains.rotation_speed(i));
            max_impact_reach = f64::max(max_impact_reach, impact_reach(i));
        }
        ClusterBounds {
            centre: 0.5 * (bounds.min + bounds.max),
            extent: 0.5 * bounds.min.distance(bounds.max),
            max_radius,
            max_speed: max_square.sqrt(),
            max_rotation_speed,
            max_impact_reach,
        }
    }

    /// Whether none of the grains can be near the wall in the sense of [`near_wall`], or where
    /// they are no spheres of the narrow phase.
    pub(crate) fn is_clear_of(&self, wall: &Wall, reach: Reach) -> bool {
        let radius = self.max_radius;
        let turning = wall.twist.angular_velocity.length() * (self.extent + radius);
        let own = self.max_speed + self.max_rotation_speed;
        let speed = own + wall.twist.at(self.centre).length() + turning;
        let margin = 2.0 * reach.beyond_surface(radius, speed, self.max_impact_reach);
        // Planes ahead of a fast sphere are touched within its motion.
        let fastest = own + wall.twist.at(wall.pose.position).length();
        let margin = margin.max(self.max_impact_reach + reach.step * fastest);
        let local = wall.pose.to_local(self.centre);
        wall.shape.is_clear_of(local, self.extent + radius + margin)
    }
}

/// Adds the touches of a grain with a wall; `touches` is scratch.
pub(crate) fn near_wall(
    scene: &Scene<'_>,
    (i, impact_reach): (usize, f64),
    (index, wall): (u32, &Wall),
    touches: &mut Vec<Touch>,
    out: &mut Vec<Candidate>,
) {
    let Scene {
        grains,
        history,
        reach,
        ..
    } = *scene;
    let (position, radius) = (grains.position[i], grains.radius[i]);
    let velocity = grains.state[i].velocity;
    let speed =
        velocity.distance(wall.twist.at(position)) + wall.twist.angular_velocity.length() * radius;
    // Twice, because at a wall the grain's distance stands alone.
    let margin = 2.0 * reach.beyond_surface(radius, speed, impact_reach);
    let local = wall.pose.to_local(position);
    if let Some(bounds) = wall.local_bounds()
        && bounds.distance_squared(local) > (radius + margin).powi(2)
    {
        return;
    }
    // In a drum half of the grains are, and all touches of a shell take several times as long.
    if wall.shape.is_clear_of(local, radius + margin) {
        return;
    }
    let probe = Probe {
        centre: local,
        radius,
        margin,
        motion: impact_reach + reach.step * velocity.distance(wall.twist.at(wall.pose.position)),
        last_side: &|| wall.last_side(history.features_at(grains, i, index), None),
    };
    wall.shape.touches_of(&probe, touches);
    if touches.is_empty() {
        return;
    }
    // Such a grain may be turned by one wall to another within the step.
    let fastest = speed.max(impact_reach / reach.step);
    let is_fast = reach.step * fastest > THROWN_RADII * radius;
    for touch in touches.iter() {
        let normal = wall.pose.orientation * touch.normal;
        let point = position + normal * (radius - 0.5 * touch.overlap);
        let approach = if is_fast {
            fastest
        } else {
            normal.dot(velocity - wall.twist.at(point))
        };
        out.push(Candidate {
            grain: i as u32,
            partner: Partner::Wall(index),
            feature: touch.feature,
            normal,
            overlap: touch.overlap,
            approach,
            detail: Detail::curvature(touch.curvature),
        });
    }
}
