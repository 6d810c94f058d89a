//! Contacts as a step leaves them: bodies have moved since they were found.

use esker_contact::Form;
use glam::{DMat3, DVec3};

use crate::contact::{ContactGeometry, Partner};
use crate::grains::Grains;
use crate::midpoint::Midpoints;
use crate::periodic::Periodic;
use crate::shaped_contacts::ShapedContacts;
use crate::wall::Wall;

/// A step between stages `advance` and `finish`.
#[derive(Clone, Copy)]
pub(crate) struct EndOfStep<'a> {
    pub(crate) grains: &'a Grains,
    pub(crate) walls: &'a [Wall],
    pub(crate) periodic: Option<Periodic>,
    pub(crate) midpoints: &'a Midpoints,
    pub(crate) shaped: &'a ShapedContacts,
    /// Step h, s.
    pub(crate) step: f64,
}

/// A contact at the end of its step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ContactAtEnd {
    /// Unit normal.
    pub(crate) normal: DVec3,
    /// Overlap, m: exact among spheres; else along the normal that the step used.
    pub(crate) overlap: f64,
    /// Relative velocity at the contact point, m/s.
    pub(crate) relative_velocity: DVec3,
}

impl EndOfStep<'_> {
    pub(crate) fn contact(&self, contact: &ContactGeometry) -> ContactAtEnd {
        match contact.form {
            Form::Radial => self.of_sphere(contact),
            Form::General(index) => self.of_body(contact, index),
        }
    }

    fn of_sphere(&self, contact: &ContactGeometry) -> ContactAtEnd {
        let i = contact.grain as usize;
        let (a, x) = (&self.grains.state[i], self.grains.position[i]);
        let (normal, overlap, velocity) = match contact.partner {
            Partner::Grain(j) => {
                let j = j as usize;
                let b = &self.grains.state[j];
                let branch = self.grains.position[j] - x;
                let branch = self.periodic.map_or(branch, |p| p.branch(branch));
                let distance = branch.length();
                let normal = branch / distance;
                let overlap = self.grains.radius[i] + self.grains.radius[j] - distance;
                let velocity = b.velocity - b.angular_velocity.cross(normal) * contact.arms[1];
                (normal, overlap, velocity)
            }
            Partner::Wall(w) => {
                let normal = contact.normal;
                let velocity = self.walls[w as usize].surface_velocity_at(contact.point, normal);
                let found_at = contact.point - normal * contact.arms[0];
                let moved = x - found_at - velocity * self.step;
                (normal, contact.overlap + normal.dot(moved), velocity)
            }
        };
        let own = a.velocity + a.angular_velocity.cross(normal) * contact.arms[0];
        ContactAtEnd {
            normal,
            overlap,
            relative_velocity: velocity - own,
        }
    }

    fn of_body(&self, contact: &ContactGeometry, index: u32) -> ContactAtEnd {
        let (n, point) = (contact.normal, contact.point);
        let (from_a, velocity_a) = self.since_middle(contact.grain as usize, point);
        let (from_b, velocity_b) = match contact.partner {
            Partner::Grain(j) => {
                let at = |i: u32| self.midpoints.0[i as usize].pose.position;
                let branch = at(j) - at(contact.grain);
                let image = self.periodic.map_or(branch, |p| p.branch(branch)) - branch;
                self.since_middle(j as usize, point - image)
            }
            Partner::Wall(w) => {
                let velocity = self.walls[w as usize].surface_velocity_at(point, n);
                (velocity * (0.5 * self.step), velocity)
            }
        };
        ContactAtEnd {
            normal: n,
            overlap: -self.shaped.point(index as usize).gap - n.dot(from_b - from_a),
            relative_velocity: velocity_b - velocity_a,
        }
    }

    /// How far a point of a body has moved since the middle of the step, m, and its
    /// velocity, m/s.
    fn since_middle(&self, i: usize, point: DVec3) -> (DVec3, DVec3) {
        let midpoint = &self.midpoints.0[i];
        let arm = point - midpoint.pose.position;
        // A sphere's midpoint has no axes: rotation about the centre keeps its surface.
        let arm_now = match self.grains.shape_of(i) {
            Some(_) => {
                let axes = DMat3::from_quat(self.grains.orientation[i]);
                axes * (midpoint.axes.transpose() * arm)
            }
            None => arm,
        };
        let state = &self.grains.state[i];
        let moved = self.grains.position[i] + arm_now - point;
        (
            moved,
            state.velocity + state.angular_velocity.cross(arm_now),
        )
    }
}
