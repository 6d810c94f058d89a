//! Where a wall is at a time: closed functions of time.

use esker_geometry::Pose;
use esker_machine::bracket;
use glam::{DQuat, DVec3};

use crate::definition::Motion;

/// Displacement and rotation of a wall relative to its pose at time zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offset {
    /// Displacement, m.
    pub displacement: DVec3,
    /// Angle about the motion's axis, rad.
    pub angle: f64,
}

/// Rigid velocity of a wall over a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Twist {
    /// Velocity of the point [`Twist::centre`], m/s.
    pub velocity: DVec3,
    /// Angular velocity, rad/s.
    pub angular_velocity: DVec3,
    /// Reference point, m.
    pub centre: DVec3,
}

impl Twist {
    /// Velocity of a point that moves with the wall, m/s.
    #[inline]
    pub fn at(&self, point: DVec3) -> DVec3 {
        self.velocity + self.angular_velocity.cross(point - self.centre)
    }
}

impl Motion {
    /// Offset from the pose at time zero; for several motions together their
    /// displacement alone.
    pub fn offset(&self, time: f64) -> Offset {
        let mut offset = Offset {
            displacement: DVec3::ZERO,
            angle: 0.0,
        };
        match self {
            Motion::Still => {}
            Motion::Translate {
                velocity,
                start,
                stop,
            } => {
                offset.displacement = *velocity * active(time, *start, *stop);
            }
            Motion::Rotate {
                rate, start, stop, ..
            } => {
                offset.angle = rate * active(time, *start, *stop);
            }
            Motion::Oscillate {
                direction,
                amplitude,
                frequency,
                phase,
            } => {
                let angle = std::f64::consts::TAU * frequency * time + phase;
                offset.displacement = *direction * (amplitude * (angle.sin() - phase.sin()));
            }
            Motion::Table {
                times,
                displacements,
                angles,
                ..
            } => {
                let (low, weight) = bracket(times, time);
                let high = (low + 1).min(times.len() - 1);
                offset.displacement = displacements[low].lerp(displacements[high], weight);
                offset.angle = angles[low] + (angles[high] - angles[low]) * weight;
            }
            Motion::During {
                motion,
                start,
                stop,
            } => return motion.offset(active(time, *start, *stop)),
            Motion::Together(motions) => {
                let parts = motions.iter().map(|motion| motion.offset(time));
                offset.displacement = parts.map(|part| part.displacement).sum();
            }
        }
        offset
    }

    /// Whether there may be rotations about several axes.
    fn is_composed(&self) -> bool {
        match self {
            Motion::Together(_) => true,
            Motion::During { motion, .. } => motion.is_composed(),
            _ => false,
        }
    }

    /// Axis and centre of the angle of [`Motion::offset`].
    fn axis(&self) -> (DVec3, DVec3) {
        match self {
            Motion::Rotate { axis, centre, .. } | Motion::Table { axis, centre, .. } => {
                (*axis, *centre)
            }
            Motion::During { motion, .. } => motion.axis(),
            _ => (DVec3::Z, DVec3::ZERO),
        }
    }

    /// Pose at a time of a wall that is at `initial` at time zero.
    pub fn pose(&self, initial: &Pose, time: f64) -> Pose {
        if let Motion::During {
            motion,
            start,
            stop,
        } = self
        {
            return motion.pose(initial, active(time, *start, *stop));
        }
        if let Motion::Together(motions) = self {
            let turned = motions.iter().fold(*initial, |pose, motion| {
                let shift = motion.offset(time).displacement;
                let Pose {
                    position,
                    orientation,
                } = motion.pose(&pose, time);
                Pose {
                    position: position - shift,
                    orientation,
                }
            });
            return Pose {
                position: turned.position + self.offset(time).displacement,
                ..turned
            };
        }
        let offset = self.offset(time);
        let (axis, centre) = self.axis();
        let turn = DQuat::from_axis_angle(axis, offset.angle);
        Pose {
            position: centre + offset.displacement + turn * (initial.position - centre),
            orientation: (turn * initial.orientation).normalize(),
        }
    }

    /// The mean velocity from `time` to `time + step`: what carries the wall
    /// exactly to where it is next.
    pub fn twist(&self, initial: &Pose, time: f64, step: f64) -> Twist {
        if self.is_composed() {
            let (from, to) = (self.pose(initial, time), self.pose(initial, time + step));
            let turn = to.orientation * from.orientation.conjugate();
            return Twist {
                velocity: (to.position - from.position) / step,
                angular_velocity: turn.to_scaled_axis() / step,
                centre: from.position,
            };
        }
        let (from, to) = (self.offset(time), self.offset(time + step));
        let (axis, centre) = self.axis();
        Twist {
            velocity: (to.displacement - from.displacement) / step,
            angular_velocity: axis * ((to.angle - from.angle) / step),
            centre: centre + from.displacement,
        }
    }

    /// Largest speed of these points of the wall at time zero, m/s: a bound for
    /// advice on the time step.
    pub fn max_speed(&self, points: &[DVec3]) -> f64 {
        let (axis, centre) = self.axis();
        let from_axis = |x: &DVec3| (*x - centre).reject_from_normalized(axis).length();
        let distance = points.iter().map(from_axis).fold(0.0, f64::max);
        match self {
            Motion::Still => 0.0,
            Motion::Translate { velocity, .. } => velocity.length(),
            Motion::Rotate { rate, .. } => rate.abs() * distance,
            Motion::Oscillate {
                amplitude,
                frequency,
                ..
            } => (std::f64::consts::TAU * frequency * amplitude).abs(),
            Motion::Table {
                times,
                displacements,
                angles,
                ..
            } => (1..times.len())
                .map(|i| {
                    let span = times[i] - times[i - 1];
                    (displacements[i].distance(displacements[i - 1])
                        + (angles[i] - angles[i - 1]).abs() * distance)
                        / span
                })
                .fold(0.0, f64::max),
            Motion::During { motion, .. } => motion.max_speed(points),
            Motion::Together(motions) => motions.iter().map(|m| m.max_speed(points)).sum(),
        }
    }
}

/// How long a motion from `start` to `stop` has been going on.
fn active(time: f64, start: f64, stop: f64) -> f64 {
    (time.min(stop) - start).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn motions() -> Vec<Motion> {
        let axis = DVec3::new(1.0, 2.0, 2.0) / 3.0;
        let centre = DVec3::new(0.3, -0.2, 0.1);
        vec![
            Motion::Translate {
                velocity: DVec3::new(1.0, 0.0, 2.0),
                start: 0.5,
                stop: 1.5,
            },
            Motion::Rotate {
                axis,
                centre,
                rate: 2.0,
                start: 0.0,
                stop: f64::INFINITY,
            },
            Motion::Oscillate {
                direction: DVec3::X,
                amplitude: 0.1,
                frequency: 3.0,
                phase: 0.4,
            },
            Motion::Table {
                times: vec![0.0, 1.0, 1.5],
                displacements: vec![DVec3::ZERO, DVec3::X, DVec3::new(1.0, 1.0, 0.0)],
                angles: vec![0.0, 0.0, 1.0],
                axis,
                centre,
            },
            Motion::During {
                motion: Box::new(Motion::Oscillate {
                    direction: DVec3::Y,
                    amplitude: 0.2,
                    frequency: 1.0,
                    phase: 0.3,
                }),
                start: 0.3,
                stop: 1.25,
            },
            Motion::Together(vec![
                Motion::Rotate {
                    axis: DVec3::Z,
                    centre,
                    rate: 3.0,
                    start: 0.0,
                    stop: f64::INFINITY,
                },
                Motion::Translate {
                    velocity: DVec3::X,
                    start: 0.5,
                    stop: 1.0,
                },
                Motion::Rotate {
                    axis: DVec3::X,
                    centre: DVec3::ZERO,
                    rate: 1.0,
                    start: 0.6,
                    stop: f64::INFINITY,
                },
            ]),
        ]
    }

    /// A planet gear: it turns about its own axis, which another motion
    /// carries around, while the whole is lifted.
    #[test]
    fn motions_together_carry_axes_along() {
        let turn = |centre: DVec3, rate: f64| Motion::Rotate {
            axis: DVec3::Z,
            centre,
            rate,
            start: 0.0,
            stop: f64::INFINITY,
        };
        let lift = Motion::Translate {
            velocity: DVec3::Z,
            start: 0.0,
            stop: f64::INFINITY,
        };
        let quarter = std::f64::consts::FRAC_PI_2;
        let planet = |motions: Vec<Motion>| {
            let initial = Pose::from_position(DVec3::X);
            Motion::Together(motions).pose(&initial, 1.0)
        };
        let own = turn(DVec3::X, -quarter);
        let around = turn(DVec3::ZERO, quarter);
        let pose = planet(vec![own.clone(), around.clone(), lift.clone()]);
        assert!(pose.position.distance(DVec3::new(0.0, 1.0, 1.0)) < 1e-12);
        assert!((pose.orientation * DVec3::X).distance(DVec3::X) < 1e-12);
        let lifted_first = planet(vec![lift, own, around]);
        assert!(pose.position.distance(lifted_first.position) < 1e-12);
    }

    /// A motion that starts later is the same motion, later; it stays where it
    /// stops.
    #[test]
    fn a_motion_during_a_time_counts_from_its_start() {
        let initial = Pose::from_position(DVec3::X);
        for motion in motions() {
            let late = Motion::During {
                motion: Box::new(motion.clone()),
                start: 2.0,
                stop: 2.7,
            };
            for (time, own) in [(1.0, 0.0), (2.5, 0.5), (9.0, 0.7)] {
                let (here, there) = (late.pose(&initial, time), motion.pose(&initial, own));
                assert!(here.position.distance(there.position) < 1e-12, "{motion:?}");
            }
        }
    }

    /// The velocity reported for a step is what moves every point of the wall.
    #[test]
    fn twist_is_the_derivative_of_the_pose() {
        let initial = Pose {
            position: DVec3::new(0.5, 0.1, -0.4),
            orientation: DQuat::from_rotation_x(0.3),
        };
        let local = DVec3::new(0.2, -0.1, 0.7);
        for motion in motions() {
            for time in [0.2, 0.7, 1.2, 1.7] {
                let small = 1e-6;
                let here = motion.pose(&initial, time).to_world(local);
                let there = motion.pose(&initial, time + small).to_world(local);
                let velocity = motion.twist(&initial, time, small).at(here);
                assert!(
                    ((there - here) / small - velocity).length() < 1e-5,
                    "{motion:?} at {time}"
                );
            }
        }
    }

    #[test]
    fn motions_start_from_the_initial_pose() {
        let initial = Pose {
            position: DVec3::X,
            orientation: DQuat::IDENTITY,
        };
        for motion in motions() {
            assert!(motion.pose(&initial, 0.0).position.distance(DVec3::X) < 1e-15);
        }
    }
}
