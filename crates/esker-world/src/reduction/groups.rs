//! Groups of walls that move as one, and carry what rests on them.

use esker_geometry::Pose;
use glam::DVec3;

use crate::definition::{Motion, WallDef};
use crate::drive::Twist;
use crate::wall::Wall;

/// Relative change of a velocity that is rounding.
const STEADY: f64 = 1e-6;

/// What all walls of a group do.
#[derive(Clone, Debug, PartialEq)]
enum CommonMotion {
    /// The walls move, and their surfaces with them.
    Walls(Motion),
    /// The walls stand still, and their surfaces move along them, m/s.
    Belt(DVec3),
}

impl CommonMotion {
    /// None where walls move in a way that nothing can be at rest with.
    fn of(wall: &WallDef) -> Option<Self> {
        let belt = wall.pose.orientation * wall.surface_velocity;
        match (&wall.motion, belt == DVec3::ZERO) {
            (motion, true) => Some(CommonMotion::Walls(motion.clone())),
            (Motion::Still, false) => Some(CommonMotion::Belt(belt)),
            (_, false) => None,
        }
    }
}

/// Walls that move as one.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    motion: CommonMotion,
    /// How it moves in the step.
    pub(crate) twist: Twist,
    /// When that step begins, and how long it is, s.
    step: [f64; 2],
    /// Where its frame is as the step begins and ends, and when that is: nearly all who ask want
    /// to know one of these.
    frames: [(f64, Pose); 2],
}

/// All groups.
#[derive(Clone, Debug)]
pub(crate) struct Groups {
    groups: Vec<Group>,
    /// Of each wall.
    of_wall: Vec<Option<u8>>,
}

impl Groups {
    /// The groups of these walls. In a periodic world nothing rests on walls that move: it would
    /// leave the box.
    pub(crate) fn new(walls: &[WallDef], is_periodic: bool) -> Self {
        let mut groups: Vec<Group> = Vec::new();
        let of_wall = walls.iter().map(|wall| {
            let still = CommonMotion::Walls(Motion::Still);
            let motion = CommonMotion::of(wall).filter(|m| !is_periodic || *m == still)?;
            let known = groups.iter().position(|group| group.motion == motion);
            let index = known.unwrap_or_else(|| {
                groups.push(Group {
                    motion,
                    twist: Twist::default(),
                    step: [f64::NAN; 2],
                    frames: [(f64::NAN, Pose::IDENTITY); 2],
                });
                groups.len() - 1
            });
            u8::try_from(index).ok()
        });
        let of_wall = of_wall.collect();
        // More than can be told apart carry nothing.
        groups.truncate(usize::from(u8::MAX) + 1);
        Groups { groups, of_wall }
    }

    pub(crate) fn len(&self) -> usize {
        self.groups.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Group> {
        self.groups.iter()
    }

    pub(crate) fn get(&self, group: u8) -> &Group {
        &self.groups[group as usize]
    }

    /// The group of a wall.
    pub(crate) fn of_wall(&self, wall: usize) -> Option<u8> {
        self.of_wall[wall]
    }

    /// Takes a wall out of its group.
    pub(crate) fn release_wall(&mut self, wall: usize) {
        self.of_wall[wall] = None;
    }

    /// All groups that have the velocity of this one at a point, up to `slack`, m/s: those after
    /// it, then those before it and itself.
    pub(crate) fn still_with(
        &self,
        group: u8,
        point: DVec3,
        slack: f64,
    ) -> impl Iterator<Item = u8> {
        let own = self.get(group).twist.at(point);
        let count = self.len();
        let others = (1..=count).map(move |next| ((usize::from(group) + next) % count) as u8);
        others.filter(move |&other| self.get(other).twist.at(point).distance(own) <= slack)
    }

    /// Sets how groups move from `time` on over `step`.
    pub(crate) fn set_twists(&mut self, time: f64, step: f64) {
        for group in &mut self.groups {
            group.twist = group.motion.twist(time, step);
            group.step = [time, step];
            group.frames = [time, time + step].map(|time| (time, group.motion.frame(time)));
        }
    }

    /// Whether a group goes on, in a step of this length that begins at `time`, as it moved in
    /// the last one.
    pub(crate) fn is_steady(&self, group: u8, time: f64, step: f64) -> bool {
        let group = self.get(group);
        let (now, next) = (&group.twist, group.motion.twist(time, step));
        let is_same = |a: DVec3, b: DVec3| a.distance(b) <= STEADY * a.length();
        is_same(now.angular_velocity, next.angular_velocity)
            && is_same(now.at(next.centre), next.velocity)
    }

    /// Whether contacts of a group's grains with a wall stay as they are while both move: the
    /// wall's shape moves with the group.
    pub(crate) fn carries_shape(&self, group: u8, wall: &Wall) -> bool {
        match &self.get(group).motion {
            CommonMotion::Walls(motion) => {
                *motion == wall.motion && wall.surface_velocity == DVec3::ZERO
            }
            CommonMotion::Belt(_) => false,
        }
    }
}

impl CommonMotion {
    /// How a body that is at rest with the group at `IDENTITY` at time zero moves.
    fn frame(&self, time: f64) -> Pose {
        match self {
            CommonMotion::Walls(motion) => motion.pose(&Pose::IDENTITY, time),
            CommonMotion::Belt(velocity) => Pose::from_position(*velocity * time),
        }
    }

    fn twist(&self, time: f64, step: f64) -> Twist {
        match self {
            CommonMotion::Walls(motion) => motion.twist(&Pose::IDENTITY, time, step),
            CommonMotion::Belt(velocity) => Twist {
                velocity: *velocity,
                ..Default::default()
            },
        }
    }
}

impl Group {
    /// Where the group's frame is at a time.
    pub(crate) fn frame(&self, time: f64) -> Pose {
        let known = self.frames.iter().find(|(known, _)| *known == time);
        known.map_or_else(|| self.motion.frame(time), |(_, frame)| *frame)
    }

    /// A pose in the group's frame, in the world. Nothing is rounded where nothing moves.
    pub(crate) fn in_world(&self, time: f64, pose: &Pose) -> Pose {
        if self.is_still() {
            return *pose;
        }
        let frame = self.frame(time);
        Pose::new(
            frame.to_world(pose.position),
            (frame.orientation * pose.orientation).normalize(),
        )
    }

    /// A pose in the world, in the group's frame.
    pub(crate) fn in_frame(&self, time: f64, pose: &Pose) -> Pose {
        if self.is_still() {
            return *pose;
        }
        let frame = self.frame(time);
        Pose::new(
            frame.to_local(pose.position),
            (frame.orientation.conjugate() * pose.orientation).normalize(),
        )
    }

    /// How it moves from `time` on over `step`.
    pub(crate) fn twist_over(&self, time: f64, step: f64) -> Twist {
        match self.step == [time, step] {
            true => self.twist,
            false => self.motion.twist(time, step),
        }
    }

    /// Whether it stands still for ever.
    pub(crate) fn is_still(&self) -> bool {
        self.motion == CommonMotion::Walls(Motion::Still)
    }

    /// Acceleration of a point that moves with the group, m/s².
    pub(crate) fn acceleration(&self, point: DVec3) -> DVec3 {
        let omega = self.twist.angular_velocity;
        omega.cross(omega.cross(point - self.twist.centre))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use esker_geometry::WallShape;

    fn rotate(rate: f64, start: f64) -> Motion {
        Motion::Rotate {
            axis: DVec3::Y,
            centre: DVec3::X,
            rate,
            start,
            stop: f64::INFINITY,
        }
    }

    fn wall(motion: Motion, surface_velocity: DVec3) -> WallDef {
        WallDef {
            motion,
            surface_velocity,
            ..WallDef::new("wall", WallShape::HalfSpace, Pose::IDENTITY)
        }
    }

    #[test]
    fn walls_that_move_as_one_are_one_group() {
        let walls = [
            wall(Motion::Still, DVec3::ZERO),
            wall(rotate(1.0, 0.0), DVec3::ZERO),
            wall(Motion::Still, DVec3::X),
            wall(rotate(1.0, 0.0), DVec3::ZERO),
            wall(rotate(2.0, 0.0), DVec3::ZERO),
            wall(rotate(1.0, 0.0), DVec3::X),
            wall(Motion::Still, DVec3::ZERO),
        ];
        let groups = Groups::new(&walls, false);
        let of_wall = [Some(0), Some(1), Some(2), Some(1), Some(3), None, Some(0)];
        assert_eq!(groups.of_wall, of_wall);
        assert_eq!(groups.len(), 4);
        let belt = groups.get(2);
        assert_eq!(belt.frame(3.0).position, DVec3::X * 3.0);
        assert!(groups.get(0).is_still() && !belt.is_still());
    }

    #[test]
    fn a_group_that_starts_or_speeds_up_is_not_steady() {
        let walls = [
            wall(rotate(1.0, 0.5), DVec3::ZERO),
            wall(
                Motion::Oscillate {
                    direction: DVec3::Z,
                    amplitude: 0.1,
                    frequency: 1.0,
                    phase: 0.0,
                },
                DVec3::ZERO,
            ),
        ];
        let mut groups = Groups::new(&walls, false);
        let step = 0.01;
        for (time, steady) in [(0.1, true), (0.48, true), (0.49, false), (0.6, true)] {
            groups.set_twists(time, step);
            assert_eq!(groups.is_steady(0, time + step, step), steady, "{time}");
            // Its velocity has no extreme between these steps.
            assert!(time == 0.49 || !groups.is_steady(1, time + step, step));
            // Another step length is the same motion.
            assert_eq!(groups.is_steady(0, time + step, 0.5 * step), steady);
        }
        let point = DVec3::new(3.0, 1.0, 0.0);
        let radial = groups.get(0).acceleration(point);
        assert!(radial.distance(DVec3::NEG_X * 2.0) < 1e-12, "{radial}");
    }

    /// What is kept of a step are the bits of the motion, and other times are none of it.
    #[test]
    fn what_groups_know_of_a_step_is_their_motion() {
        let mut groups = Groups::new(&[wall(rotate(0.7, 0.0), DVec3::ZERO)], false);
        for (time, step) in [(0.3, 0.01), (0.31, 0.01), (0.31, 0.005)] {
            groups.set_twists(time, step);
            let group = groups.get(0);
            for at in [time, time + step, time + 0.5 * step, 0.0] {
                assert_eq!(group.frame(at), group.motion.frame(at));
            }
            for (at, over) in [(time, step), (time, 2.0 * step), (0.0, step)] {
                assert_eq!(group.twist_over(at, over), group.motion.twist(at, over));
            }
        }
    }
}
