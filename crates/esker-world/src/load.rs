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

use esker_contact::Impulse;
use esker_geometry::Side;
use glam::DVec3;

use crate::World;
use crate::contact::{ContactGeometry, Partner};
use crate::grains::shape_of;
use crate::resident_rows::{TrackedRecord, impulse_of};
use crate::table::BodyKind;
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
    /// What a contact gives to one of its sides with the impulse of a whole step; `sign` is one
    /// for the second body of a contact, and minus one for the first.
    fn of(loaded: &LoadedSide, normal: DVec3, impulse: &Impulse, sign: f64) -> Self {
        let given = (normal * impulse.normal + impulse.friction) * sign;
        let torque_impulse = (normal * impulse.twisting + impulse.rolling) * sign;
        LoadIntegral {
            impulse: given,
            angular_impulse: loaded.arm.cross(given) + torque_impulse,
            work: -given.dot(loaded.velocity) - torque_impulse.dot(loaded.angular_velocity),
        }
    }

    /// What a force, N, and a torque about the wall's origin, N m, give to a wall over a step, s.
    fn of_frozen(wall: &Wall, [force, torque]: [DVec3; 2], step: f64) -> Self {
        let origin = wall.twist.at(wall.pose.position) + wall.belt();
        let power = -force.dot(origin) - torque.dot(wall.twist.angular_velocity);
        LoadIntegral {
            impulse: force * step,
            angular_impulse: torque * step,
            work: power * step,
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

/// A side of a contact whose load is summed: a wall, or a body of its own.
struct LoadedSide {
    /// From the origin of its frame to the contact point, m.
    arm: DVec3,
    /// Of its surface at the contact point, m/s.
    velocity: DVec3,
    /// rad/s.
    angular_velocity: DVec3,
}

impl LoadedSide {
    /// A wall at a contact point, m, with this normal.
    fn of_wall(wall: &Wall, point: DVec3, normal: DVec3) -> Self {
        LoadedSide {
            arm: point - wall.pose.position,
            velocity: wall.surface_velocity_at(point, normal),
            angular_velocity: wall.twist.angular_velocity,
        }
    }
}

/// What a contact that a device solved gave to its wall.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GivenToWall {
    wall: u32,
    /// Whether a closed container held the grain from outside.
    is_outside: bool,
    load: LoadIntegral,
}

impl GivenToWall {
    /// None where nothing was given: most that are near a wall do not load it, and would add zeros.
    fn of(walls: &[Wall], record: &TrackedRecord) -> Option<Self> {
        if record.impulse == [0.0; 8] {
            return None;
        }
        let wall = &walls[record.wall as usize];
        let [normal, point] = [record.normal, record.point].map(DVec3::from_array);
        let impulse = impulse_of(&record.impulse);
        let is_outside = impulse.normal > 0.0
            && wall.shape.is_closed_container()
            && wall.shape.side_of(record.feature) == Some(Side::Outside);
        let loaded = LoadedSide::of_wall(wall, point, normal);
        Some(GivenToWall {
            wall: record.wall,
            is_outside,
            load: LoadIntegral::of(&loaded, normal, &impulse, 1.0),
        })
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

    /// A side of a contact of the step that was just made; none of grains.
    fn loaded_side(&self, kind: BodyKind, contact: &ContactGeometry) -> Option<LoadedSide> {
        let point = contact.point;
        match kind {
            BodyKind::Grain(_) => None,
            BodyKind::Body(body) => {
                let row = self.grains.count() + body;
                let middle = self.workspace.midpoints.0[row].pose;
                let origin = (middle * self.bodies[body].frame).position;
                let branch = |branch: DVec3| self.periodic.map_or(branch, |p| p.branch(branch));
                let state = &self.grains.state[row];
                let arm = branch(point - middle.position);
                Some(LoadedSide {
                    arm: branch(point - origin),
                    velocity: state.velocity + state.angular_velocity.cross(arm),
                    angular_velocity: state.angular_velocity,
                })
            }
            BodyKind::Wall(wall) => Some(LoadedSide::of_wall(
                &self.walls[wall],
                point,
                contact.normal,
            )),
        }
    }

    /// Adds what contacts gave to the bodies of their own, then to the walls.
    fn add_contact_loads(&self, sums: &mut [LoadIntegral]) {
        let (work, table) = (&self.workspace, self.table());
        let first = self.grains.count();
        for (&i, impulse) in work.tracked.iter().zip(&work.tracked_impulses) {
            let contact = &work.contacts[i as usize];
            let attraction = work.cohesion.of_contact(i as usize);
            let net = Impulse {
                normal: impulse.normal - self.step * attraction,
                ..*impulse
            };
            for (row, sign) in table.rows_of(contact).into_iter().zip([-1.0, 1.0]) {
                if let Some(loaded) = self.loaded_side(table.kind(row), contact) {
                    sums[row - first] += LoadIntegral::of(&loaded, contact.normal, &net, sign);
                }
            }
        }
    }

    /// Counts the contacts in which closed containers held grains from outside.
    fn count_outer_contacts(&mut self) {
        let (work, walls) = (&self.workspace, &mut self.walls);
        for wall in walls.iter_mut() {
            wall.outer_contacts = 0;
        }
        for (&i, impulse) in work.tracked.iter().zip(&work.tracked_impulses) {
            let contact = &work.contacts[i as usize];
            let Partner::Wall(wall) = contact.partner else {
                continue;
            };
            let wall = &mut walls[wall as usize];
            let shape = shape_of(&self.grains, &self.shapes, contact.grain);
            if impulse.normal > 0.0 && wall.is_held_outside(contact, shape) {
                wall.outer_contacts += 1;
            }
        }
    }

    /// Books what walls got in a step that a device made, contact by contact in the order of its
    /// plan.
    pub fn book_tracked(&mut self, tracked: &[TrackedRecord]) {
        for wall in &mut self.walls {
            wall.outer_contacts = 0;
        }
        let mut sums = vec![LoadIntegral::default(); self.walls.len()];
        // What every contact gives is computed by all threads, and added up by one in their order.
        self.share_on_host(tracked.len());
        let mut given = std::mem::take(&mut self.workspace.given_by_tracked);
        let walls = &self.walls;
        self.team.fill(&mut given, tracked.len(), |k| {
            GivenToWall::of(walls, &tracked[k])
        });
        for given in given.iter().flatten() {
            let index = given.wall as usize;
            self.walls[index].outer_contacts += usize::from(given.is_outside);
            sums[index] += given.load;
        }
        self.workspace.given_by_tracked = given;
        for (wall, sum) in self.walls.iter_mut().zip(&sums) {
            wall.load = sum.mean(self.step);
            wall.total_load += *sum;
        }
    }

    /// Books the impulses of the step that was just made on the walls and on the bodies of
    /// their own. Returns the work of the walls' drives in it, J.
    pub(crate) fn book_loads(&mut self) -> f64 {
        self.count_outer_contacts();
        let mut sums = std::mem::take(&mut self.workspace.load_sums);
        sums.clear();
        sums.resize(
            self.bodies.len() + self.walls.len(),
            LoadIntegral::default(),
        );
        self.add_contact_loads(&mut sums);
        let (of_bodies, of_walls) = sums.split_at_mut(self.bodies.len());
        for load in self.book_frozen_loads() {
            let wall = &self.walls[load.wall];
            of_walls[load.wall] +=
                LoadIntegral::of_frozen(wall, [load.force, load.torque], self.step);
        }
        for (wall, sum) in self.walls.iter_mut().zip(&*of_walls) {
            wall.load = sum.mean(self.step);
            wall.total_load += *sum;
        }
        for (body, sum) in self.bodies.iter_mut().zip(of_bodies) {
            body.load = sum.mean(self.step);
            body.total_load += *sum;
        }
        let work = of_walls.iter().map(|sum| sum.work).sum();
        self.workspace.load_sums = sums;
        work
    }
}
