//! Stage `collide`: from candidate pairs to contacts with geometry.
//!
//! A pair is a contact when its gap is below the larger of
//!
//! ```text
//! margin · d_min        and        h (max(0, −u_n) + g h),               (1)
//! ```
//!
//! so that no grain can fall or fly into another between two detections.
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
}

impl Reach {
    /// Bound (1) for an approach speed.
    #[inline]
    fn gap(&self, diameter: f64, approach: f64) -> f64 {
        (self.margin * diameter).max(self.step * (approach.max(0.0) + self.gravity * self.step))
    }

    /// Radius within which a grain of this radius and speed can meet another:
    /// two grains' reaches add up to at least (1).
    #[inline]
    pub fn of_grain(&self, radius: f64, speed: f64) -> f64 {
        radius + self.gap(radius, speed)
    }
}

/// Adds the contacts among grains.
pub fn grain_contacts(
    grains: &Grains,
    pairs: &[[u32; 2]],
    reach: Reach,
    out: &mut Vec<ContactGeometry>,
) {
    for &[i, j] in pairs {
        let (a, b) = if grains.id[i as usize] < grains.id[j as usize] {
            (i, j)
        } else {
            (j, i)
        };
        let (ia, ib) = (a as usize, b as usize);
        let (ra, rb) = (grains.radius[ia], grains.radius[ib]);
        let Some(touch) = sphere_sphere(
            grains.position[ia],
            ra,
            grains.position[ib],
            rb,
            f64::INFINITY,
        ) else {
            continue;
        };
        let u_n = touch
            .normal
            .dot(grains.state[ib].velocity - grains.state[ia].velocity);
        if -touch.overlap >= reach.gap(2.0 * ra.min(rb), -u_n) {
            continue;
        }
        let arms = [ra - 0.5 * touch.overlap, rb - 0.5 * touch.overlap];
        let effective_radius = ra * rb / (ra + rb);
        out.push(ContactGeometry {
            key: ContactKey::grains(grains.id[ia], grains.id[ib]),
            grain: a,
            partner: Partner::Grain(b),
            normal: touch.normal,
            point: touch.point,
            overlap: touch.overlap,
            arms,
            rolling_radius: effective_radius,
            elastic_radius: effective_radius,
            diameter: ra + rb,
        });
    }
}

/// Adds the contacts of grains with one wall; `touches` is scratch.
pub fn wall_contacts(
    grains: &Grains,
    (index, wall): (u32, &Wall),
    reach: Reach,
    touches: &mut Vec<Touch>,
    out: &mut Vec<ContactGeometry>,
) {
    for i in 0..grains.len() {
        let (position, radius) = (grains.position[i], grains.radius[i]);
        let velocity = grains.state[i].velocity;
        let speed =
            (velocity - wall.twist.at(position)).length() + wall.twist.spin.length() * radius;
        let margin = reach.gap(2.0 * radius, speed);
        let local = wall.pose.to_local(position);
        if let Some(bounds) = wall.local_bounds()
            && bounds.distance_squared(local) > (radius + margin).powi(2)
        {
            continue;
        }
        touches.clear();
        wall.shape.touches(local, radius, margin, touches);
        for touch in touches.iter() {
            let normal = wall.pose.orientation * touch.normal;
            let arm = radius - 0.5 * touch.overlap;
            let point = position + normal * arm;
            let u_n = normal.dot(wall.twist.at(point) - velocity);
            if -touch.overlap >= reach.gap(2.0 * radius, -u_n) {
                continue;
            }
            out.push(ContactGeometry {
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
        }
    }
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
