//! Walls: shapes with prescribed motion.

use esker_geometry::{Aabb, BodyShape, Pose, Side, WallShape};
use glam::DVec3;

use crate::contact::ContactGeometry;
use crate::definition::{Motion, Presence, WallDef};
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
    /// Whether it is there in the last step; in the first before it. Written by
    /// stage `begin`.
    pub is_present: bool,
    /// Mean load of the grains in the last step. Written by stage `finish`.
    pub load: WallLoad,
    /// Load integrated since the start. Written by stage `finish`.
    pub total_load: LoadIntegral,
    /// Contacts in which it held grains from outside in the last step, where it
    /// is a closed container. Written by stage `finish`.
    pub outer_contacts: usize,
    /// Surface velocity in the world's frame as the last step began, m/s.
    /// Written by stage `begin`.
    belt: DVec3,
    initial: Pose,
    presence: Presence,
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
            outer_contacts: 0,
            belt: DVec3::ZERO,
            initial: def.pose,
            presence: def.presence,
            is_present: true,
            bounds: def.shape.bounds(),
        };
        wall.move_to(0.0);
        wall.set_velocity(0.0, step);
        wall
    }

    /// Where the wall is at `time`.
    pub fn pose_at(&self, time: f64) -> Pose {
        self.motion.pose(&self.initial, time)
    }

    /// Puts the wall where it is at `time`.
    pub fn move_to(&mut self, time: f64) {
        self.pose = self.pose_at(time);
    }

    /// Sets the velocity of a wall that stands where it is at `time` for the
    /// step that begins there, and whether it is there in that step.
    pub fn set_velocity(&mut self, time: f64, step: f64) {
        self.twist = self.motion.twist(&self.initial, time, step);
        self.is_present = self.is_present_in(time, step);
        self.belt = self.pose.orientation * self.surface_velocity;
    }

    /// Whether it is there in a step that begins at `time`.
    pub(crate) fn is_present_in(&self, time: f64, step: f64) -> bool {
        self.presence.contains(time + 0.5 * step)
    }

    /// Lets it stand at a pose from now on.
    pub(crate) fn place(&mut self, pose: Pose) {
        self.initial = pose;
        self.motion = Motion::Still;
    }

    /// Leads it from where it is to a pose between two times, s; it stays there.
    pub(crate) fn lead(&mut self, to: Pose, times: [f64; 2]) {
        let turn = (to.orientation * self.pose.orientation.conjugate()).normalize();
        // The shorter way round.
        let turn = if turn.w < 0.0 { -turn } else { turn };
        let (axis, angle) = turn.to_scaled_axis().normalize_and_length();
        self.initial = self.pose;
        self.motion = Motion::Table {
            times: times.to_vec(),
            displacements: vec![DVec3::ZERO, to.position - self.pose.position],
            angles: vec![0.0, angle],
            axis: if angle > 0.0 { axis } else { DVec3::Z },
            centre: self.pose.position,
        };
    }

    /// From which side a container holds a grain that touches this feature, a sphere
    /// or one of another shape.
    pub(crate) fn side_of(&self, feature: u32, shape: Option<&BodyShape>) -> Option<Side> {
        match shape {
            None => self.shape.side_of(feature),
            Some(shape) => self.shape.side_of_body(shape, feature),
        }
    }

    /// From which side it held a grain that touched these features.
    pub(crate) fn last_side(
        &self,
        features: impl Iterator<Item = u32>,
        shape: Option<&BodyShape>,
    ) -> Option<Side> {
        let mut sides = features.filter_map(|feature| self.side_of(feature, shape));
        let first = sides.next()?;
        let is_inside = first == Side::Inside || sides.any(|side| side == Side::Inside);
        Some(if is_inside {
            Side::Inside
        } else {
            Side::Outside
        })
    }

    /// Whether a closed container holds the grain of a contact from outside.
    pub(crate) fn is_held_outside(
        &self,
        contact: &ContactGeometry,
        shape: Option<&BodyShape>,
    ) -> bool {
        self.shape.is_closed_container()
            && self.side_of(contact.key.wall_feature(), shape) == Some(Side::Outside)
    }

    /// Velocity of its surface relative to the wall in the world's frame, m/s, as the last step
    /// began.
    pub(crate) fn belt(&self) -> DVec3 {
        self.belt
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
