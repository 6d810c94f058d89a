//! Walls: shapes with prescribed motion.

use esker_geometry::{Aabb, Pose, WallShape};
use glam::DVec3;

use crate::definition::{Motion, WallDef};
use crate::drive::Twist;
use crate::load::{LoadIntegral, WallLoad};

/// A wall of the world.
#[derive(Clone, Debug)]
pub struct Wall {
    /// Name used by reports.
    pub name: String,
    /// Shape in its own frame.
    pub shape: WallShape,
    /// Index of its material.
    pub material: u16,
    /// How it moves.
    pub motion: Motion,
    /// Surface velocity in its own frame, m/s.
    pub surface_velocity: DVec3,
    /// Pose now. Written by stage `finish`.
    pub pose: Pose,
    /// Mean velocity over the last step; over the first before it. Written by
    /// stage `begin`.
    pub twist: Twist,
    /// Mean load of the grains in the last step. Written by stage `finish`.
    pub load: WallLoad,
    /// Load integrated since the start. Written by stage `finish`.
    pub total_load: LoadIntegral,
    /// Surface velocity in the world's frame as the last step began, m/s.
    /// Written by stage `begin`.
    belt: DVec3,
    initial: Pose,
    bounds: Option<Aabb>,
}

impl Wall {
    /// A wall at time zero, about to step by `step`.
    pub fn new(def: &WallDef, step: f64) -> Self {
        let mut wall = Wall {
            name: def.name.clone(),
            shape: def.shape.clone(),
            material: def.material as u16,
            motion: def.motion.clone(),
            surface_velocity: def.surface_velocity,
            pose: def.pose,
            twist: Twist::default(),
            load: WallLoad::default(),
            total_load: LoadIntegral::default(),
            belt: DVec3::ZERO,
            initial: def.pose,
            bounds: def.shape.bounds(),
        };
        wall.move_to(0.0);
        wall.set_velocity(0.0, step);
        wall
    }

    /// Puts the wall where it is at `time`.
    pub fn move_to(&mut self, time: f64) {
        self.pose = self.motion.pose(&self.initial, time);
    }

    /// Sets the velocity of a wall that stands where it is at `time` for the
    /// step that begins there.
    pub fn set_velocity(&mut self, time: f64, step: f64) {
        self.twist = self.motion.twist(time, step);
        self.belt = self.pose.orientation * self.surface_velocity;
    }

    /// Bounds in the wall's own frame; `None` when unbounded.
    pub fn local_bounds(&self) -> Option<&Aabb> {
        self.bounds.as_ref()
    }

    /// Velocity of the surface over the last step at a point with this unit
    /// normal, m/s.
    #[inline]
    pub fn surface_velocity_at(&self, point: DVec3, normal: DVec3) -> DVec3 {
        self.twist.at(point) + self.belt - normal * normal.dot(self.belt)
    }
}
