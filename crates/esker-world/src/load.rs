//! Loads on walls: what contacts give them over an interval of time.
//!
//! A contact that gives a wall the impulse `J = n (p − h F) + p_t`, with its
//! attraction `F` (see `cohesion.rs`), and the torque impulse `L = p_r + n p_w`
//! over a step h, at the point `x`, adds
//!
//! ```text
//! impulse          J                                                     (1)
//! angular impulse  (x − o) × J + L        about the origin o of the wall (2)
//! work             −J·v(x) − L·ω          of the drive on the grains     (3)
//! ```
//!
//! with `v` the velocity of the wall's surface, belts included. Forces, torques
//! and powers are these over the length of an interval: means, in which an impact
//! counts as much as the rest that follows it. For a wall that turns about its
//! origin, (3) is its rate times the torque that the drive has to overcome.

use std::ops::{AddAssign, Sub};

use esker_contact::Impulse;
use glam::DVec3;

use crate::World;
use crate::collide::{ContactGeometry, Partner};
use crate::grains::shape_of;
use crate::wall::Wall;

/// Mean load of the grains on a wall over some interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WallLoad {
    /// Force, N.
    pub force: DVec3,
    /// Torque about the origin of the wall's frame, N m.
    pub torque: DVec3,
    /// Power that the wall's drive puts into the grains, W.
    pub power: f64,
}

/// A wall's load integrated over time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LoadIntegral {
    /// Impulse of the grains on the wall (1), N s.
    pub impulse: DVec3,
    /// Angular impulse about the origin of the wall's frame (2), N m s.
    pub angular_impulse: DVec3,
    /// Work of the wall's drive on the grains (3), J.
    pub work: f64,
}

impl LoadIntegral {
    /// What a contact gives to its wall with the impulse of a whole step.
    fn of(wall: &Wall, contact: &ContactGeometry, impulse: &Impulse) -> Self {
        let given = contact.normal * impulse.normal + impulse.friction;
        let torque_impulse = contact.normal * impulse.twisting + impulse.rolling;
        let surface = wall.surface_velocity_at(contact.point, contact.normal);
        let arm = contact.point - wall.pose.position;
        LoadIntegral {
            impulse: given,
            angular_impulse: arm.cross(given) + torque_impulse,
            work: -given.dot(surface) - torque_impulse.dot(wall.twist.angular_velocity),
        }
    }

    /// The mean over an interval of this length, s; zero for no time at all.
    pub fn mean(&self, duration: f64) -> WallLoad {
        if duration > 0.0 {
            WallLoad {
                force: self.impulse / duration,
                torque: self.angular_impulse / duration,
                power: self.work / duration,
            }
        } else {
            WallLoad::default()
        }
    }
}

impl AddAssign for LoadIntegral {
    fn add_assign(&mut self, other: Self) {
        self.impulse += other.impulse;
        self.angular_impulse += other.angular_impulse;
        self.work += other.work;
    }
}

impl Sub for LoadIntegral {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        LoadIntegral {
            impulse: self.impulse - other.impulse,
            angular_impulse: self.angular_impulse - other.angular_impulse,
            work: self.work - other.work,
        }
    }
}

impl World {
    /// Books the impulses of the step that was just made on the walls. Returns
    /// the work of all drives in it, J.
    pub(crate) fn book_wall_loads(&mut self) -> f64 {
        let (work, walls) = (&mut self.workspace, &mut self.walls);
        let sums = &mut work.wall_sums;
        sums.clear();
        sums.resize(walls.len(), LoadIntegral::default());
        for wall in walls.iter_mut() {
            wall.outer_contacts = 0;
        }
        let contacts = work.collider.plan.fixed.iter();
        for (&i, impulse) in contacts.zip(&work.wall_impulses) {
            let contact = &work.contacts[i as usize];
            if let Partner::Wall(w) = contact.partner {
                let wall = &mut walls[w as usize];
                let attraction = work.cohesion.of_contact(i as usize);
                let net = Impulse {
                    normal: impulse.normal - self.step * attraction,
                    ..*impulse
                };
                sums[w as usize] += LoadIntegral::of(wall, contact, &net);
                let shape = shape_of(&self.grains, &self.shapes, contact.grain);
                if impulse.normal > 0.0 && wall.is_held_outside(contact, shape) {
                    wall.outer_contacts += 1;
                }
            }
        }
        for (wall, sum) in walls.iter_mut().zip(&*sums) {
            wall.load = sum.mean(self.step);
            wall.total_load += *sum;
        }
        sums.iter().map(|sum| sum.work).sum()
    }
}
