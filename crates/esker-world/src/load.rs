//! Loads on walls and on bodies of their own: what contacts give them over an interval of time.
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
//! counts as much as the rest that follows it. For a body of its own `o` is the origin of the
//! frame that it was given in, and `v` its velocity at the end of the step. For a wall that turns about its
//! origin, (3) is its rate times the torque that the drive has to overcome.

use std::ops::{AddAssign, Sub};

use esker_contact::{BodyState, Impulse};
use glam::DVec3;

use crate::World;
use crate::contact::{ContactGeometry, Partner};
use crate::grains::shape_of;
use crate::periodic::Periodic;
use crate::wall::Wall;

/// Mean load of the grains on a wall, or of contacts on a body, over some interval.
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

    /// What a force, N, and a torque about the wall's origin, N m, give to a wall over a step, s.
    fn of_stored(wall: &Wall, [force, torque]: [DVec3; 2], step: f64) -> Self {
        let origin = wall.twist.at(wall.pose.position) + wall.belt();
        let power = -force.dot(origin) - torque.dot(wall.twist.angular_velocity);
        LoadIntegral {
            impulse: force * step,
            angular_impulse: torque * step,
            work: power * step,
        }
    }

    /// What a contact gives to a body of its own with the impulse of a whole step; `sign` is
    /// one for the second body of a contact, and minus one for the first.
    fn of_body(
        motion: &BodyMotion,
        contact: &ContactGeometry,
        impulse: &Impulse,
        sign: f64,
    ) -> Self {
        let given = (contact.normal * impulse.normal + impulse.friction) * sign;
        let torque_impulse = (contact.normal * impulse.twisting + impulse.rolling) * sign;
        let arm = |from: DVec3| motion.branch(contact.point - from);
        let surface =
            motion.state.velocity + motion.state.angular_velocity.cross(arm(motion.centre));
        LoadIntegral {
            impulse: given,
            angular_impulse: arm(motion.origin).cross(given) + torque_impulse,
            work: -given.dot(surface) - torque_impulse.dot(motion.state.angular_velocity),
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

/// A body of its own in the step that was just made.
struct BodyMotion {
    /// Centre of mass and origin of its frame in the middle of the step, m.
    centre: DVec3,
    origin: DVec3,
    /// At the end of the step.
    state: BodyState,
    periodic: Option<Periodic>,
}

impl BodyMotion {
    fn branch(&self, branch: DVec3) -> DVec3 {
        self.periodic.map_or(branch, |p| p.branch(branch))
    }
}

impl World {
    /// Work of tools on the grains since the start, J: of moving walls, and of bodies that joints
    /// hold.
    pub(crate) fn work_of_tools(&self) -> f64 {
        let jointed = self.bodies.iter().zip(&self.grains.jointed);
        let of_bodies = jointed.filter(|(_, jointed)| **jointed);
        let of_walls = self.walls.iter().map(|wall| wall.total_load.work);
        of_walls.sum::<f64>() + of_bodies.map(|(body, _)| body.total_load.work).sum::<f64>()
    }

    /// Books the impulses of the step that was just made on the walls and on the bodies of
    /// their own. Returns the work of the walls' drives in it, J.
    pub(crate) fn book_loads(&mut self) -> f64 {
        let first_body = self.grains.count();
        let World {
            workspace: work,
            walls,
            bodies,
            grains,
            ..
        } = self;
        let motion = |body: usize| {
            let middle = work.midpoints.0[first_body + body].pose;
            BodyMotion {
                centre: middle.position,
                origin: (middle * bodies[body].frame).position,
                state: grains.state[first_body + body],
                periodic: self.periodic,
            }
        };
        let sums = &mut work.load_sums;
        sums.clear();
        sums.resize(walls.len() + bodies.len(), LoadIntegral::default());
        for wall in walls.iter_mut() {
            wall.outer_contacts = 0;
        }
        for (&i, impulse) in work.tracked.iter().zip(&work.tracked_impulses) {
            let contact = &work.contacts[i as usize];
            let attraction = work.cohesion.of_contact(i as usize);
            let net = Impulse {
                normal: impulse.normal - self.step * attraction,
                ..*impulse
            };
            let rows = [Some(contact.grain), contact.partner.row()];
            for (row, sign) in rows.into_iter().zip([-1.0, 1.0]) {
                let body = row.and_then(|row| (row as usize).checked_sub(first_body));
                if let Some(body) = body {
                    sums[walls.len() + body] +=
                        LoadIntegral::of_body(&motion(body), contact, &net, sign);
                }
            }
            if let Partner::Wall(w) = contact.partner {
                let wall = &mut walls[w as usize];
                sums[w as usize] += LoadIntegral::of(wall, contact, &net);
                let shape = shape_of(grains, &self.shapes, contact.grain);
                if impulse.normal > 0.0 && wall.is_held_outside(contact, shape) {
                    wall.outer_contacts += 1;
                }
            }
        }
        let mut sums = std::mem::take(&mut work.load_sums);
        for (wall, force, torque) in self.stored_loads() {
            sums[wall] += LoadIntegral::of_stored(&self.walls[wall], [force, torque], self.step);
        }
        let (walls, bodies) = (&mut self.walls, &mut self.bodies);
        let (of_walls, of_bodies) = sums.split_at(walls.len());
        for (wall, sum) in walls.iter_mut().zip(of_walls) {
            wall.load = sum.mean(self.step);
            wall.total_load += *sum;
        }
        for (body, sum) in bodies.iter_mut().zip(of_bodies) {
            body.load = sum.mean(self.step);
            body.total_load += *sum;
        }
        let work = of_walls.iter().map(|sum| sum.work).sum();
        self.workspace.load_sums = sums;
        work
    }
}
