//! The table of bodies: grains, then free rigid bodies, then walls.
//!
//! All that a contact can touch is a row of one table, in this order. What rows have in common can
//! be read here, whatever they are: a name, a pose, velocities, a material, the force and the
//! torque of their contacts. Their arrays stay apart, since a step goes through a million grains
//! and a dozen walls: this is the place that knows which row is what.
//!
//! Rows are those of the last step. A frozen grain that no free one was near has none.

use esker_geometry::Pose;
use glam::DVec3;

use crate::World;
use crate::bodies::Body;
use crate::contact::{ContactGeometry, Partner};
use crate::grains::{GrainId, Grains};
use crate::load::{LoadIntegral, WallLoad};
use crate::wall::Wall;

/// What a row of the table of bodies is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyKind {
    /// A grain, by its dense index.
    Grain(usize),
    /// A free rigid body, by its place in the definition.
    Body(usize),
    /// A wall, by its place in the definition.
    Wall(usize),
}

/// A row of the table of bodies by a name that lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyId {
    /// A grain or a free rigid body.
    Grain(GrainId),
    /// A wall, by its place in the definition.
    Wall(u32),
}

/// All bodies of a world, in rows.
#[derive(Clone, Copy, Debug)]
pub struct BodyTable<'a> {
    grains: &'a Grains,
    bodies: &'a [Body],
    walls: &'a [Wall],
}

impl World {
    /// Grains, free rigid bodies and walls as rows of one table.
    pub fn table(&self) -> BodyTable<'_> {
        BodyTable {
            grains: &self.grains,
            bodies: &self.bodies,
            walls: &self.walls,
        }
    }
}

impl Partner {
    /// Index of its material.
    #[inline]
    pub(crate) fn material(self, grains: &Grains, walls: &[Wall]) -> u16 {
        match self {
            Partner::Grain(j) => grains.material[j as usize],
            Partner::Wall(w) => walls[w as usize].material,
        }
    }
}

impl<'a> BodyTable<'a> {
    /// How many rows there are.
    pub fn count(&self) -> usize {
        self.grains.len() + self.walls.len()
    }

    /// The row of something.
    pub fn row(&self, kind: BodyKind) -> usize {
        match kind {
            BodyKind::Grain(index) => index,
            BodyKind::Body(index) => self.grains.count() + index,
            BodyKind::Wall(index) => self.grains.len() + index,
        }
    }

    /// What a row is.
    ///
    /// # Panics
    /// From here on, when there is no such row.
    pub fn kind(&self, row: usize) -> BodyKind {
        assert!(row < self.count(), "row {row} of {}", self.count());
        match row.checked_sub(self.grains.count()) {
            None => BodyKind::Grain(row),
            Some(body) => match body.checked_sub(self.bodies.len()) {
                None => BodyKind::Body(body),
                Some(wall) => BodyKind::Wall(wall),
            },
        }
    }

    /// The two rows that a contact of the last step joins.
    pub fn rows_of(&self, contact: &ContactGeometry) -> [usize; 2] {
        let other = match contact.partner {
            Partner::Grain(j) => j as usize,
            Partner::Wall(w) => self.row(BodyKind::Wall(w as usize)),
        };
        [contact.grain as usize, other]
    }

    /// Rows that have a name and whose contacts are summed up: walls, then free rigid bodies, as
    /// recordings list them.
    pub fn named_rows(&self) -> impl Iterator<Item = usize> + use<> {
        let [bodies, walls] = [self.grains.count(), self.grains.len()];
        (walls..walls + self.walls.len()).chain(bodies..walls)
    }

    /// The row with a lasting name, if it is there.
    pub fn find(&self, id: BodyId) -> Option<usize> {
        match id {
            BodyId::Grain(id) => self.grains.id.iter().position(|&other| other == id),
            BodyId::Wall(wall) => {
                let wall = wall as usize;
                (wall < self.walls.len()).then(|| self.row(BodyKind::Wall(wall)))
            }
        }
    }

    /// The lasting name of a row.
    pub fn id(&self, row: usize) -> BodyId {
        match self.kind(row) {
            BodyKind::Wall(wall) => BodyId::Wall(wall as u32),
            _ => BodyId::Grain(self.grains.id[row]),
        }
    }

    /// What the definition calls it; grains have no such name.
    pub fn name(&self, row: usize) -> Option<&'a str> {
        match self.kind(row) {
            BodyKind::Grain(_) => None,
            BodyKind::Body(body) => Some(&self.bodies[body].name),
            BodyKind::Wall(wall) => Some(&self.walls[wall].name),
        }
    }

    /// Index of its material.
    pub fn material(&self, row: usize) -> u16 {
        match self.kind(row) {
            BodyKind::Wall(wall) => self.walls[wall].material,
            _ => self.grains.material[row],
        }
    }

    /// Where its frame is: that of a grain is at its centre, the others' are as the definition
    /// gives them.
    pub fn pose(&self, row: usize) -> Pose {
        let of_row = || Pose::new(self.grains.position[row], self.grains.orientation[row]);
        match self.kind(row) {
            BodyKind::Grain(_) => of_row(),
            BodyKind::Body(body) => of_row() * self.bodies[body].frame,
            BodyKind::Wall(wall) => self.walls[wall].pose,
        }
    }

    /// Angular velocity, rad/s.
    pub fn angular_velocity(&self, row: usize) -> DVec3 {
        match self.kind(row) {
            BodyKind::Wall(wall) => self.walls[wall].twist.angular_velocity,
            _ => self.grains.state[row].angular_velocity,
        }
    }

    /// Velocity of its surface at a point with this unit normal, m/s; belts convey along it.
    pub fn surface_velocity_at(&self, row: usize, point: DVec3, normal: DVec3) -> DVec3 {
        match self.kind(row) {
            BodyKind::Wall(wall) => self.walls[wall].surface_velocity_at(point, normal),
            _ => {
                let state = &self.grains.state[row];
                let arm = point - self.grains.position[row];
                state.velocity + state.angular_velocity.cross(arm)
            }
        }
    }

    /// Mean load of its contacts over the last step; not known of grains.
    pub fn load(&self, row: usize) -> Option<WallLoad> {
        match self.kind(row) {
            BodyKind::Grain(_) => None,
            BodyKind::Body(body) => Some(self.bodies[body].load),
            BodyKind::Wall(wall) => Some(self.walls[wall].load),
        }
    }

    /// The same, integrated since the start.
    pub fn total_load(&self, row: usize) -> Option<LoadIntegral> {
        match self.kind(row) {
            BodyKind::Grain(_) => None,
            BodyKind::Body(body) => Some(self.bodies[body].total_load),
            BodyKind::Wall(wall) => Some(self.walls[wall].total_load),
        }
    }
}
