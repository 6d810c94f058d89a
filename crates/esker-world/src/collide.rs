//! Stage `collide`: from candidate pairs to contacts with geometry.
//!
//! Contacts are found once per step, so every pair that could meet within it
//! must be among them. A pair is a contact when its gap is below the larger of
//!
//! ```text
//! margin · d_min    and    h (max(0, −u_n + a_i + a_j) + g h),           (1)
//! ```
//!
//! where the agitation `a_i` bounds how much a grain's velocity can change
//! within the step because something strikes it: the greatest approach speed
//! among its pairs that close within the step, and that of neighbours that a
//! blow reaches through closing pairs. Without it a grain that is stopped in
//! mid-step meets the one that follows undetected: a lattice dropped on a
//! floor then overlaps by most of a diameter. At rest `a` is zero and (1)
//! adds nothing.
//!
//! Contacts are then put into the order of a [`SweepPlan`], which depends on
//! where they are and on nothing else. The order in which grains are stored or
//! listed therefore does not change the result, nor does the number of threads.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use esker_geometry::{Aabb, Touch, sphere_sphere};
use esker_parallel::{Team, prefetch};
use esker_solver::plan::{FIXED, Place, SweepPlan};
use glam::DVec3;

use crate::grains::{GrainId, Grains};
use crate::wall::Wall;

/// Who a grain touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partner {
    /// The grain with this dense index.
    Grain(u32),
    /// The wall with this index.
    Wall(u32),
}

/// Stable name of a contact: it stays while the pair touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContactKey {
    /// The grain with the smaller id, or the grain at a wall.
    pub owner: GrainId,
    /// The other one: a grain's id, or a wall and its feature.
    pub other: u64,
}

/// Marks the `other` of a [`ContactKey`] as a wall; grain generations stay below.
const WALL_MARK: u64 = 1 << 63;

impl ContactKey {
    /// Key of a contact with a wall.
    pub fn wall(owner: GrainId, wall: u32, feature: u32) -> Self {
        ContactKey {
            owner,
            other: WALL_MARK | (wall as u64) << 32 | feature as u64,
        }
    }

    /// Key of two grains, the smaller id first.
    pub fn grains(owner: GrainId, other: GrainId) -> Self {
        ContactKey {
            owner,
            other: other.as_u64(),
        }
    }

    /// The wall of the contact, if it is one with a wall.
    pub fn wall_index(&self) -> Option<u32> {
        (self.other & WALL_MARK != 0).then_some(((self.other & !WALL_MARK) >> 32) as u32)
    }
}

/// Geometry of one contact.
#[derive(Clone, Copy, Debug)]
pub struct ContactGeometry {
    /// Stable name.
    pub key: ContactKey,
    /// Dense index of the owner, body `a`.
    pub grain: u32,
    /// Body `b`.
    pub partner: Partner,
    /// Unit normal from `a` to `b`.
    pub normal: DVec3,
    /// Contact point, m.
    pub point: DVec3,
    /// Overlap δ, m; negative for a gap.
    pub overlap: f64,
    /// Arms `l_a`, `l_b`, m.
    pub arms: [f64; 2],
    /// Effective radius r* of rolling, m.
    pub rolling_radius: f64,
    /// Effective radius r* of the elastic contact, m.
    pub elastic_radius: f64,
    /// Diameter that overlaps are measured in, m: the pair's mean, or the grain's at a wall.
    pub diameter: f64,
}

/// What the stage needs to know about the step.
#[derive(Clone, Copy, Debug)]
pub struct Reach {
    /// Margin in diameters of the smaller grain.
    pub margin: f64,
    /// Step h, s.
    pub step: f64,
    /// |g|, m/s².
    pub gravity: f64,
    /// Mean velocity of the grains, m/s: speeds are reckoned from it.
    pub drift: DVec3,
    /// Greatest speed of a grain, m/s.
    pub greatest_speed: f64,
}

/// Agitation is looked for up to gaps of this many radii per grain.
const AGITATED_RADII: f64 = 0.5;
/// Pairs through which a blow is followed within a step.
const BLOW_DEPTH: usize = 2;
/// Grains that are held against a wall together: neighbours in memory, which
/// are neighbours in space where there are many grains.
const WALL_CHUNK: usize = 64;
/// Contacts whose candidate is asked for ahead of its use.
const PREFETCHED: usize = 16;

impl Reach {
    /// Reach of a step for the grains as they move now.
    pub fn new(team: &mut Team, grains: &Grains, margin: f64, step: f64, gravity: f64) -> Self {
        let count = grains.len();
        let velocity = |i: usize| grains.state[i].velocity;
        let sum = team.fold(
            count,
            DVec3::ZERO,
            |range| range.map(velocity).sum(),
            |a, b| a + *b,
        );
        let drift = sum / count.max(1) as f64;
        let greatest_speed = team.fold(
            count,
            0.0,
            |range| {
                range
                    .map(|i| velocity(i).distance(drift))
                    .fold(0.0, f64::max)
            },
            |a: f64, b| a.max(*b),
        );
        Reach {
            margin,
            step,
            gravity,
            drift,
            greatest_speed,
        }
    }

    /// Bound (1) for an approach speed with agitation.
    #[inline]
    fn gap(&self, diameter: f64, approach: f64) -> f64 {
        (self.margin * diameter).max(self.closing(approach))
    }

    /// How far a pair can close within the step, m.
    #[inline]
    fn closing(&self, approach: f64) -> f64 {
        self.step * (approach.max(0.0) + self.gravity * self.step)
    }

    /// Distance from its surface within which a grain can meet something: two
    /// grains' distances add up to at least (1), agitation included up to
    /// [`AGITATED_RADII`].
    #[inline]
    fn beyond_surface(&self, radius: f64, speed: f64) -> f64 {
        let agitated = (self.step * self.greatest_speed).min(AGITATED_RADII * radius);
        self.gap(radius, speed).max(agitated)
    }

    /// Radius within which a grain can meet something.
    #[inline]
    pub fn of_grain(&self, radius: f64, velocity: DVec3) -> f64 {
        radius + self.beyond_surface(radius, velocity.distance(self.drift))
    }
}

/// A pair that may become a contact: one cache line, as the last pass jumps.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Candidate {
    grain: u32,
    partner: Partner,
    /// Wall feature; zero between grains.
    feature: u32,
    normal: DVec3,
    overlap: f64,
    /// `−u_n`, m/s.
    approach: f64,
    /// Curvature of the wall at the touch, 1/m; zero between grains.
    curvature: f64,
}

/// Finds contacts and their order; scratch that is kept between steps.
#[derive(Debug, Default)]
pub struct Collider {
    candidates: Vec<Candidate>,
    wall_candidates: Vec<Candidate>,
    parts: Vec<Vec<Candidate>>,
    /// Agitation of each grain, m/s, as bits: they order as the numbers do.
    agitation: Vec<AtomicU64>,
    agitation_before: Vec<f64>,
    /// Candidates that are contacts.
    chosen: Vec<u32>,
    chosen_parts: Vec<Vec<u32>>,
    places: Vec<Place>,
    /// Order of the contacts found last.
    pub plan: SweepPlan,
}

/// What contacts are found among.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    /// The grains.
    pub grains: &'a Grains,
    /// The walls.
    pub walls: &'a [Wall],
    /// Pairs of grains that may touch.
    pub pairs: &'a [[u32; 2]],
    /// Reach of the step.
    pub reach: Reach,
}

/// The order that contacts are put into.
#[derive(Clone, Copy)]
pub struct Order<'a> {
    /// Edge of the plan's blocks, m.
    pub edge: f64,
    /// Law of a contact between a grain and another body of these materials.
    pub law: &'a (dyn Fn(u16, u16) -> u16 + Sync),
    /// Whether contacts simply go from the bottom up, one per group: the plain
    /// serial order that block orders are compared with.
    pub plain: bool,
}

impl Collider {
    /// Replaces `contacts` by all contacts, in the order of the new plan.
    pub fn collide(
        &mut self,
        team: &mut Team,
        scene: Scene<'_>,
        order: Order<'_>,
        contacts: &mut Vec<ContactGeometry>,
    ) {
        self.find_candidates(team, scene);
        self.choose(team, scene);
        let Scene { grains, walls, .. } = scene;
        let (candidates, chosen) = (&self.candidates, &self.chosen);
        let geometry = |i: u32| candidates[i as usize].geometry(grains);
        team.fill(&mut self.places, chosen.len(), |k| {
            let contact = geometry(chosen[k]);
            let material = |i: u32| grains.material[i as usize];
            let (body, arm, other) = match contact.partner {
                Partner::Grain(j) => (j, contact.arms[0].max(contact.arms[1]), material(j)),
                Partner::Wall(w) => (FIXED, contact.arms[0], walls[w as usize].material),
            };
            Place {
                point: contact.point,
                arm,
                bodies: [contact.grain, body],
                name: [contact.key.owner.as_u64(), contact.key.other],
                law: (order.law)(material(contact.grain), other),
                open: contact.overlap <= 0.0,
            }
        });
        if order.plain {
            self.plan.build_plain(&self.places);
        } else {
            self.plan
                .build(team, &self.places, order.edge, grains.len());
        }
        let plan = &self.plan;
        team.fill(contacts, chosen.len(), |k| {
            if let Some(&ahead) = plan.order.get(k + PREFETCHED) {
                prefetch(candidates, chosen[ahead as usize] as usize);
            }
            geometry(chosen[plan.order[k] as usize])
        });
    }

    fn find_candidates(&mut self, team: &mut Team, scene: Scene<'_>) {
        let Scene {
            grains,
            walls,
            pairs,
            reach,
        } = scene;
        team.gather(
            pairs.len(),
            &mut self.parts,
            &mut self.candidates,
            |range, out| out.extend(pairs[range].iter().filter_map(|p| near_grains(grains, *p))),
        );
        team.gather(
            grains.len(),
            &mut self.parts,
            &mut self.wall_candidates,
            |range, out| {
                TOUCHES.with_borrow_mut(|touches| {
                    for start in range.clone().step_by(WALL_CHUNK) {
                        let chunk = start..range.end.min(start + WALL_CHUNK);
                        let swarm = Swarm::of(grains, chunk.clone());
                        for (w, wall) in walls.iter().enumerate() {
                            if swarm.is_clear_of(wall, reach) {
                                continue;
                            }
                            for i in chunk.clone() {
                                touches.clear();
                                near_wall(grains, i, (w as u32, wall), reach, touches, out);
                            }
                        }
                    }
                });
            },
        );
        self.candidates.append(&mut self.wall_candidates);
    }

    /// Chooses those candidates that obey (1).
    fn choose(&mut self, team: &mut Team, scene: Scene<'_>) {
        let Scene { grains, reach, .. } = scene;
        self.agitation.clear();
        self.agitation.resize_with(grains.len(), AtomicU64::default);
        self.agitation_before.clear();
        self.agitation_before.resize(grains.len(), 0.0);
        for _ in 0..=BLOW_DEPTH {
            if !self.spread_agitation(team, reach) {
                break;
            }
            let now = &self.agitation;
            team.fill(&mut self.agitation_before, grains.len(), |i| {
                f64::from_bits(now[i].load(Ordering::Relaxed))
            });
        }
        let (candidates, agitation) = (&self.candidates, &self.agitation_before);
        // Never more than candidates: grows with their buffer.
        self.chosen.clear();
        self.chosen.reserve(candidates.capacity());
        team.gather(
            candidates.len(),
            &mut self.chosen_parts,
            &mut self.chosen,
            |range, out| {
                out.extend(range.filter_map(|k| {
                    let c = &candidates[k];
                    let radius = grains.radius[c.grain as usize];
                    let smallest = match c.partner {
                        Partner::Grain(j) => radius.min(grains.radius[j as usize]),
                        Partner::Wall(_) => radius,
                    };
                    let agitated = c.approach + c.agitation(agitation);
                    (-c.overlap < reach.gap(2.0 * smallest, agitated)).then_some(k as u32)
                }));
            },
        );
    }

    /// Lets every pair that closes within the step pass its approach speed on
    /// to its grains. Greatest values do not depend on the order in which they
    /// are found. Returns whether any pair closes.
    fn spread_agitation(&mut self, team: &mut Team, reach: Reach) -> bool {
        let (candidates, before, now) = (&self.candidates, &self.agitation_before, &self.agitation);
        let raise = |i: usize, speed: f64| {
            if speed > 0.0 {
                now[i].fetch_max(speed.to_bits(), Ordering::Relaxed);
            }
        };
        team.fold(
            candidates.len(),
            false,
            |range| {
                let mut any = false;
                for c in &candidates[range] {
                    let speed = c.approach + c.agitation(before);
                    if speed <= 0.0 || -c.overlap >= reach.closing(speed) {
                        continue;
                    }
                    any = true;
                    let a = c.grain as usize;
                    match c.partner {
                        Partner::Grain(j) => {
                            let b = j as usize;
                            raise(a, c.approach + before[b]);
                            raise(b, c.approach + before[a]);
                        }
                        Partner::Wall(_) => raise(a, c.approach),
                    }
                }
                any
            },
            |a, b| a | *b,
        )
    }
}

impl Candidate {
    /// `a_i + a_j`, m/s.
    #[inline]
    fn agitation(&self, agitation: &[f64]) -> f64 {
        let partner = match self.partner {
            Partner::Grain(j) => agitation[j as usize],
            Partner::Wall(_) => 0.0,
        };
        agitation[self.grain as usize] + partner
    }

    #[inline]
    fn geometry(&self, grains: &Grains) -> ContactGeometry {
        let a = self.grain as usize;
        let (radius, owner) = (grains.radius[a], grains.id[a]);
        let arm = radius - 0.5 * self.overlap;
        let point = grains.position[a] + self.normal * arm;
        let shared = ContactGeometry {
            key: ContactKey { owner, other: 0 },
            grain: self.grain,
            partner: self.partner,
            normal: self.normal,
            point,
            overlap: self.overlap,
            arms: [arm, 0.0],
            rolling_radius: radius,
            elastic_radius: radius,
            diameter: 2.0 * radius,
        };
        match self.partner {
            Partner::Grain(j) => {
                let other = grains.radius[j as usize];
                let effective_radius = radius * other / (radius + other);
                ContactGeometry {
                    key: ContactKey::grains(owner, grains.id[j as usize]),
                    arms: [arm, other - 0.5 * self.overlap],
                    rolling_radius: effective_radius,
                    elastic_radius: effective_radius,
                    diameter: radius + other,
                    ..shared
                }
            }
            Partner::Wall(w) => ContactGeometry {
                key: ContactKey::wall(owner, w, self.feature),
                rolling_radius: 1.0 / (1.0 / radius + self.curvature),
                ..shared
            },
        }
    }
}

thread_local! {
    /// Touches of one grain with one wall: scratch.
    static TOUCHES: RefCell<Vec<Touch>> = const { RefCell::new(Vec::new()) };
}

/// Grains side by side, as seen from a wall.
struct Swarm {
    centre: DVec3,
    /// Farthest that a grain's centre is from the middle, m.
    extent: f64,
    greatest_radius: f64,
    greatest_speed: f64,
}

impl Swarm {
    fn of(grains: &Grains, range: Range<usize>) -> Self {
        let mut bounds = Aabb::EMPTY;
        let (mut greatest_radius, mut greatest_square) = (0.0, 0.0);
        for i in range {
            bounds = bounds.including(grains.position[i]);
            greatest_radius = f64::max(greatest_radius, grains.radius[i]);
            greatest_square = f64::max(greatest_square, grains.state[i].velocity.length_squared());
        }
        Swarm {
            centre: 0.5 * (bounds.min + bounds.max),
            extent: 0.5 * bounds.min.distance(bounds.max),
            greatest_radius,
            greatest_speed: greatest_square.sqrt(),
        }
    }

    /// Whether none of the grains can be near the wall in the sense of [`near_wall`].
    fn is_clear_of(&self, wall: &Wall, reach: Reach) -> bool {
        let radius = self.greatest_radius;
        let turning = wall.twist.spin.length() * (self.extent + radius);
        let speed = self.greatest_speed + wall.twist.at(self.centre).length() + turning;
        let margin = 2.0 * reach.beyond_surface(radius, speed);
        let local = wall.pose.to_local(self.centre);
        wall.shape.is_clear_of(local, self.extent + radius + margin)
    }
}

/// Two grains as a candidate, the one with the smaller id first.
#[inline]
fn near_grains(grains: &Grains, [i, j]: [u32; 2]) -> Option<Candidate> {
    let (a, b) = if grains.id[i as usize] < grains.id[j as usize] {
        (i, j)
    } else {
        (j, i)
    };
    let (ia, ib) = (a as usize, b as usize);
    let (ra, rb) = (grains.radius[ia], grains.radius[ib]);
    let (xa, xb) = (grains.position[ia], grains.position[ib]);
    let touch = sphere_sphere(xa, ra, xb, rb, f64::INFINITY)?;
    Some(Candidate {
        grain: a,
        partner: Partner::Grain(b),
        feature: 0,
        normal: touch.normal,
        overlap: touch.overlap,
        approach: touch
            .normal
            .dot(grains.state[ia].velocity - grains.state[ib].velocity),
        curvature: 0.0,
    })
}

/// Adds the touches of a grain with a wall; `touches` is scratch.
fn near_wall(
    grains: &Grains,
    i: usize,
    (index, wall): (u32, &Wall),
    reach: Reach,
    touches: &mut Vec<Touch>,
    out: &mut Vec<Candidate>,
) {
    let (position, radius) = (grains.position[i], grains.radius[i]);
    let velocity = grains.state[i].velocity;
    let speed = velocity.distance(wall.twist.at(position)) + wall.twist.spin.length() * radius;
    // Twice, because at a wall the grain's distance stands alone.
    let margin = 2.0 * reach.beyond_surface(radius, speed);
    let local = wall.pose.to_local(position);
    if let Some(bounds) = wall.local_bounds()
        && bounds.distance_squared(local) > (radius + margin).powi(2)
    {
        return;
    }
    wall.shape.touches(local, radius, margin, touches);
    for touch in touches.iter() {
        let normal = wall.pose.orientation * touch.normal;
        let point = position + normal * (radius - 0.5 * touch.overlap);
        out.push(Candidate {
            grain: i as u32,
            partner: Partner::Wall(index),
            feature: touch.feature,
            normal,
            overlap: touch.overlap,
            approach: normal.dot(velocity - wall.twist.at(point)),
            curvature: touch.curvature,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_tell_walls_from_grains() {
        let a = GrainId {
            slot: 3,
            generation: 1,
        };
        let b = GrainId {
            slot: 9,
            generation: 0,
        };
        assert_eq!(ContactKey::wall(a, 7, 12).wall_index(), Some(7));
        assert_eq!(ContactKey::grains(b, a).wall_index(), None);
    }
}
