//! Bodies of their own: single, named, free rigid bodies.
//!
//! In every stage of a step a body is a row of the table of grains, after all grains: it has an
//! id, a pose, velocities, inertia and a shape as they have, and its contacts are theirs. What a
//! body has besides is here: a name, axes that it is locked in, forces and torques that act on
//! it, and the load that contacts put on it, as on a wall.
//!
//! A body is given in a frame of its own, its table row in that of its principal axes about the
//! centre of mass; [`Body::frame`] leads from one to the other.

use esker_geometry::Pose;
use esker_machine::bracket;
use glam::DVec3;

use crate::World;
use crate::definition::{BodyDef, Locks, VectorOfTime, WorldDef};
use crate::grains::{GrainShape, Grains, NewGrain};
use crate::load::{LoadIntegral, WallLoad};
use crate::table::BodyKind;

/// A body of its own while a world runs.
#[derive(Clone, Debug)]
pub struct Body {
    /// Its name.
    pub name: String,
    /// Pose of the frame that it was given in, in the frame of its table row.
    pub frame: Pose,
    /// Force and torque on it, N and N m, in world axes; the force acts on the centre of mass.
    pub(crate) applied: [VectorOfTime; 2],
    /// Load of contacts on it, mean over the last step; torques are about the origin of its
    /// frame. Written by stage `finish`.
    pub load: WallLoad,
    /// The same, integrated since the start. Written by stage `finish`.
    pub total_load: LoadIntegral,
}

impl Body {
    pub(crate) fn new(def: &BodyDef) -> Self {
        Body {
            name: def.name.clone(),
            frame: def.frame,
            applied: [def.force.clone(), def.torque.clone()],
            load: WallLoad::default(),
            total_load: LoadIntegral::default(),
        }
    }
}

impl BodyDef {
    /// Pose of the centre of mass and the principal axes at the start.
    pub fn centre(&self) -> Pose {
        self.pose * self.frame.inverse()
    }

    /// Its row of the table at the start; `index` is that of its shape among those of the world.
    pub(crate) fn row(&self, index: usize) -> NewGrain {
        let centre = self.centre();
        NewGrain {
            position: centre.position,
            velocity: self.velocity,
            angular_velocity: self.angular_velocity,
            orientation: centre.orientation,
            radius: self.shape.volume_radius(),
            mass: self.mass,
            material: self.material as u16,
            shape: Some(self.grain_shape(index)),
        }
    }

    pub(crate) fn grain_shape(&self, index: usize) -> GrainShape {
        GrainShape {
            moments: self.moments,
            ..GrainShape::new(index, &self.shape, 1.0, self.mass)
        }
    }
}

impl VectorOfTime {
    /// The value at a time, s.
    pub fn at(&self, time: f64) -> DVec3 {
        match self {
            VectorOfTime::Constant(value) => *value,
            VectorOfTime::Table { times, values } => {
                let (k, share) = bracket(times, time);
                let next = values.get(k + 1).unwrap_or(&values[k]);
                values[k].lerp(*next, share)
            }
        }
    }

    /// Whether it is zero at all times.
    pub fn is_zero(&self) -> bool {
        match self {
            VectorOfTime::Constant(value) => *value == DVec3::ZERO,
            VectorOfTime::Table { values, .. } => values.iter().all(|v| *v == DVec3::ZERO),
        }
    }
}

impl Locks {
    /// One along world axes that are free to move along, zero along the others.
    #[inline]
    pub(crate) fn free_translation(&self) -> DVec3 {
        mask(self.translation)
    }

    /// The same of axes that are free to rotate about.
    #[inline]
    pub(crate) fn free_rotation(&self) -> DVec3 {
        mask(self.rotation)
    }
}

fn mask(locked: [bool; 3]) -> DVec3 {
    DVec3::from(locked.map(|locked| f64::from(u8::from(!locked))))
}

impl WorldDef {
    /// Adds the rows of the bodies after those of the grains.
    pub(crate) fn insert_bodies(&self, grains: &mut Grains, place: impl Fn(DVec3) -> DVec3) {
        for (k, body) in self.bodies.iter().enumerate() {
            let row = body.row(self.shapes.len() + k);
            let position = place(row.position);
            let held = (body.locks, self.is_jointed(k));
            let moved = NewGrain { position, ..row };
            grains.insert_body(moved, self.rotation, held, body.shape.bounding_box());
        }
        grains.passing = self.passing_bodies();
    }
}

impl World {
    /// Pose of the frame that a body was given in.
    pub fn body_pose(&self, body: usize) -> Pose {
        let table = self.table();
        table.pose(table.row(BodyKind::Body(body)))
    }

    /// Velocity of the centre of mass of a body, m/s, and its angular velocity, rad/s.
    pub fn body_velocity(&self, body: usize) -> [DVec3; 2] {
        let state = &self.grains.state[self.grains.count() + body];
        [state.velocity, state.angular_velocity]
    }

    /// The body with a name.
    pub fn body_named(&self, name: &str) -> Option<usize> {
        self.bodies.iter().position(|body| body.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_interpolated_and_holds_its_ends() {
        let table = VectorOfTime::Table {
            times: vec![1.0, 2.0, 4.0],
            values: vec![DVec3::X, 3.0 * DVec3::X, DVec3::Y],
        };
        assert_eq!(table.at(0.0), DVec3::X);
        assert_eq!(table.at(1.5), 2.0 * DVec3::X);
        assert_eq!(table.at(3.0), DVec3::new(1.5, 0.5, 0.0));
        assert_eq!(table.at(9.0), DVec3::Y);
        assert!(!table.is_zero() && VectorOfTime::default().is_zero());
    }
}
