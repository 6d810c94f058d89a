//! Contacts of a step: who touches whom, where, and how contacts are named.

use esker_contact::Form;
use glam::DVec3;

use crate::grains::GrainId;
use crate::material::ContactClass;

/// Who a grain touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partner {
    /// The grain with this dense index.
    Grain(u32),
    /// The wall with this index.
    Wall(u32),
}

impl Partner {
    /// Dense index of a grain.
    #[inline]
    pub(crate) fn row(self) -> Option<u32> {
        match self {
            Partner::Grain(j) => Some(j),
            Partner::Wall(_) => None,
        }
    }
}

/// Stable name of a contact: it stays while the pair touches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContactKey {
    /// The grain with the smaller id, or the grain at a wall.
    pub owner: GrainId,
    /// The other one: a grain's id, or a wall and its feature.
    pub other: u64,
    /// Which of several points of contact of two grains; zero for spheres and at walls.
    pub feature: u32,
}

/// Marks the `other` of a [`ContactKey`] as a wall; ids of grains stay below.
const WALL_MARK: u64 = 1 << 63;

impl ContactKey {
    /// Key of a contact with a wall.
    pub fn wall(owner: GrainId, wall: u32, feature: u32) -> Self {
        ContactKey {
            owner,
            other: WALL_MARK | (wall as u64) << 32 | feature as u64,
            feature: 0,
        }
    }

    /// Key of two grains, the smaller id first.
    pub fn grains(owner: GrainId, other: GrainId) -> Self {
        ContactKey {
            owner,
            other: other.as_u64(),
            feature: 0,
        }
    }

    /// The wall's feature, of a contact with a wall.
    pub fn wall_feature(&self) -> u32 {
        self.other as u32
    }

    /// Whether two contacts are of the same two bodies, whatever their features.
    pub fn is_of_same_pair(&self, other: &Self) -> bool {
        let bodies = |key: &Self| match key.wall_index() {
            Some(wall) => WALL_MARK | u64::from(wall),
            None => key.other,
        };
        self.owner == other.owner && bodies(self) == bodies(other)
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
    /// Overlap δ at the start of the step, m; negative for a gap.
    pub overlap: f64,
    /// Arms `l_a`, `l_b`, m; where a body is no sphere, those of the spheres of
    /// equal volume.
    pub arms: [f64; 2],
    /// Effective radius r* of rolling, m.
    pub rolling_radius: f64,
    /// Effective radius r* of the elastic contact, m; of a flat one its length.
    pub elastic_radius: f64,
    /// What kind of surfaces meet.
    pub class: ContactClass,
    /// Whether it is a contact of spheres, or which entry of the general ones.
    pub form: Form,
    /// Largest speed at which the bodies can close a gap within the step, m/s.
    pub closing_speed: f64,
}

impl ContactGeometry {
    /// Diameter that overlaps are measured in, m: the pair's mean, or the grain's at a wall.
    #[inline]
    pub fn diameter(&self) -> f64 {
        // An arm is the radius less half of the overlap.
        let arms = match self.partner {
            Partner::Grain(_) => self.arms[0] + self.arms[1],
            Partner::Wall(_) => 2.0 * self.arms[0],
        };
        arms + self.overlap
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_tell_walls_from_grains() {
        let a = GrainId::new(GrainId::SOURCES - 1, 3);
        let b = GrainId::new(0, 9);
        assert_eq!(ContactKey::wall(a, 7, 12).wall_index(), Some(7));
        assert_eq!(ContactKey::grains(b, a).wall_index(), None);
    }
}
