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
//! Contacts are then put into an order that depends on where they are and on
//! nothing else: cell by cell from the bottom up. The order in which grains
//! are stored or listed therefore does not change the result.

use esker_geometry::{Touch, sphere_sphere};
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

impl Reach {
    /// Reach of a step for the grains as they move now.
    pub fn new(grains: &Grains, margin: f64, step: f64, gravity: f64) -> Self {
        let count = grains.len().max(1) as f64;
        let drift = grains.state.iter().map(|s| s.velocity).sum::<DVec3>() / count;
        let greatest_speed = grains
            .state
            .iter()
            .map(|s| s.velocity.distance(drift))
            .fold(0.0, f64::max);
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

/// Pairs that may become contacts; scratch that is kept between steps.
#[derive(Clone, Debug, Default)]
pub struct Candidates {
    geometry: Vec<ContactGeometry>,
    /// `−u_n` of each candidate, m/s.
    approach: Vec<f64>,
    /// Agitation of each grain, m/s.
    agitation: Vec<f64>,
    agitation_before: Vec<f64>,
    touches: Vec<Touch>,
}

impl Candidates {
    /// Forgets all candidates.
    pub fn clear(&mut self) {
        self.geometry.clear();
        self.approach.clear();
    }

    /// Adds pairs of grains.
    pub fn add_grains(&mut self, grains: &Grains, pairs: &[[u32; 2]]) {
        for &[i, j] in pairs {
            let (a, b) = if grains.id[i as usize] < grains.id[j as usize] {
                (i, j)
            } else {
                (j, i)
            };
            let (ia, ib) = (a as usize, b as usize);
            let (ra, rb) = (grains.radius[ia], grains.radius[ib]);
            let (xa, xb) = (grains.position[ia], grains.position[ib]);
            let Some(touch) = sphere_sphere(xa, ra, xb, rb, f64::INFINITY) else {
                continue;
            };
            let effective_radius = ra * rb / (ra + rb);
            self.geometry.push(ContactGeometry {
                key: ContactKey::grains(grains.id[ia], grains.id[ib]),
                grain: a,
                partner: Partner::Grain(b),
                normal: touch.normal,
                point: touch.point,
                overlap: touch.overlap,
                arms: [ra - 0.5 * touch.overlap, rb - 0.5 * touch.overlap],
                rolling_radius: effective_radius,
                elastic_radius: effective_radius,
                diameter: ra + rb,
            });
            let approach = touch
                .normal
                .dot(grains.state[ia].velocity - grains.state[ib].velocity);
            self.approach.push(approach);
        }
    }

    /// Adds grains near a wall.
    pub fn add_wall(&mut self, grains: &Grains, (index, wall): (u32, &Wall), reach: Reach) {
        for i in 0..grains.len() {
            let (position, radius) = (grains.position[i], grains.radius[i]);
            let velocity = grains.state[i].velocity;
            let speed =
                velocity.distance(wall.twist.at(position)) + wall.twist.spin.length() * radius;
            // Twice, because at a wall the grain's distance stands alone.
            let margin = 2.0 * reach.beyond_surface(radius, speed);
            let local = wall.pose.to_local(position);
            if let Some(bounds) = wall.local_bounds()
                && bounds.distance_squared(local) > (radius + margin).powi(2)
            {
                continue;
            }
            self.touches.clear();
            wall.shape.touches(local, radius, margin, &mut self.touches);
            for touch in &self.touches {
                let normal = wall.pose.orientation * touch.normal;
                let arm = radius - 0.5 * touch.overlap;
                let point = position + normal * arm;
                self.geometry.push(ContactGeometry {
                    key: ContactKey::wall(grains.id[i], index, touch.feature),
                    grain: i as u32,
                    partner: Partner::Wall(index),
                    normal,
                    point,
                    overlap: touch.overlap,
                    arms: [arm, 0.0],
                    rolling_radius: 1.0 / (1.0 / radius + touch.curvature),
                    elastic_radius: radius,
                    diameter: 2.0 * radius,
                });
                self.approach
                    .push(normal.dot(velocity - wall.twist.at(point)));
            }
        }
    }

    /// Adds those candidates to `contacts` that obey (1).
    pub fn select(&mut self, grains: &Grains, reach: Reach, contacts: &mut Vec<ContactGeometry>) {
        self.agitation.clear();
        self.agitation.resize(grains.len(), 0.0);
        for _ in 0..=BLOW_DEPTH {
            self.spread_agitation(reach);
        }
        for (c, &approach) in self.geometry.iter().zip(&self.approach) {
            let smallest = match c.partner {
                Partner::Grain(j) => grains.radius[c.grain as usize].min(grains.radius[j as usize]),
                Partner::Wall(_) => grains.radius[c.grain as usize],
            };
            let agitated = approach + pair_agitation(c, &self.agitation);
            if -c.overlap < reach.gap(2.0 * smallest, agitated) {
                contacts.push(*c);
            }
        }
    }

    /// Lets every pair that closes within the step pass its approach speed on
    /// to its grains.
    fn spread_agitation(&mut self, reach: Reach) {
        let (before, now) = (&mut self.agitation_before, &mut self.agitation);
        before.clone_from(now);
        for (c, &approach) in self.geometry.iter().zip(&self.approach) {
            let speed = approach + pair_agitation(c, before);
            if speed <= 0.0 || -c.overlap >= reach.closing(speed) {
                continue;
            }
            let a = c.grain as usize;
            match c.partner {
                Partner::Grain(j) => {
                    let b = j as usize;
                    now[a] = now[a].max(approach + before[b]);
                    now[b] = now[b].max(approach + before[a]);
                }
                Partner::Wall(_) => now[a] = now[a].max(approach),
            }
        }
    }
}

/// `a_i + a_j` of a candidate, m/s.
#[inline]
fn pair_agitation(contact: &ContactGeometry, agitation: &[f64]) -> f64 {
    let partner = match contact.partner {
        Partner::Grain(j) => agitation[j as usize],
        Partner::Wall(_) => 0.0,
    };
    agitation[contact.grain as usize] + partner
}

/// Sort keys of contacts; scratch that is kept between steps.
#[derive(Clone, Debug, Default)]
pub struct SpatialOrder {
    keys: Vec<(u64, u32)>,
    sorted: Vec<ContactGeometry>,
}

/// Bits per axis for the cell and for the place inside it: 3·(14 + 7) = 63.
const CELL_BITS: u32 = 14;
const PLACE_BITS: u32 = 7;

impl SpatialOrder {
    /// Puts contacts into spatial order: by cell (z, then y, then x), then by
    /// place inside the cell, then exactly.
    pub fn sort(&mut self, contacts: &mut Vec<ContactGeometry>, cell: f64) {
        self.keys.clear();
        self.keys.extend(
            contacts
                .iter()
                .enumerate()
                .map(|(i, c)| (spatial_key(c.point, cell), i as u32)),
        );
        self.keys.sort_unstable_by(|(ka, ia), (kb, ib)| {
            ka.cmp(kb).then_with(|| {
                let (a, b) = (&contacts[*ia as usize], &contacts[*ib as usize]);
                exact_order(a, b)
            })
        });
        self.sorted.clear();
        self.sorted
            .extend(self.keys.iter().map(|&(_, i)| contacts[i as usize]));
        std::mem::swap(contacts, &mut self.sorted);
    }
}

fn exact_order(a: &ContactGeometry, b: &ContactGeometry) -> std::cmp::Ordering {
    let by = |f: fn(DVec3) -> f64, a: DVec3, b: DVec3| f(a).total_cmp(&f(b));
    by(|p| p.z, a.point, b.point)
        .then(by(|p| p.y, a.point, b.point))
        .then(by(|p| p.x, a.point, b.point))
        .then(by(|p| p.z, a.normal, b.normal))
        .then(by(|p| p.y, a.normal, b.normal))
        .then(a.key.cmp(&b.key))
}

fn spatial_key(point: DVec3, cell: f64) -> u64 {
    let half = 1_i64 << (CELL_BITS - 1 + PLACE_BITS);
    let fine = f64::from(1 << PLACE_BITS) / cell;
    // `as` saturates and maps NaN to zero: strays land in the outermost cells.
    let axis = |x: f64| {
        ((x * fine).floor() as i64)
            .clamp(-half, half - 1)
            .wrapping_add(half) as u64
    };
    let coordinates = [axis(point.z), axis(point.y), axis(point.x)];
    let mask = (1_u64 << PLACE_BITS) - 1;
    let cells = coordinates
        .iter()
        .fold(0, |key, c| key << CELL_BITS | c >> PLACE_BITS);
    coordinates
        .iter()
        .fold(cells, |key, c| key << PLACE_BITS | c & mask)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spatial_keys_go_up_cell_by_cell() {
        let key = |x, y, z| spatial_key(DVec3::new(x, y, z), 1.0);
        assert!(key(5.5, 5.5, -0.5) < key(0.5, 0.5, 0.5));
        assert!(key(0.9, 0.5, 0.5) < key(1.1, 0.5, 0.1));
        assert!(key(0.5, 0.5, 0.1) < key(0.5, 0.5, 0.3));
        assert!(key(f64::NAN, 1e300, -1e300) < key(0.0, 0.0, 0.0));
    }

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
