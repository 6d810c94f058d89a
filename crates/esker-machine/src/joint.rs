//! Rows of joints: violations `g` and Jacobians `J` with `dg/dt = J v`.
//!
//! With the anchors `r_a`, `r_b` in world axes from the centres of mass, `D = x_b + r_b − x_a − r_a`,
//! the axes `t_1`, `t_2`, `s_a` of the frame on `a` and the axis `s_b` of that on `b`:
//!
//! | block | g | J on (v_a, ω_a, v_b, ω_b) |
//! |---|---|---|
//! | point | `e·D`, world axes `e` | `−e, −r_a × e, e, r_b × e` |
//! | axis | `s_b·t_k` | `0, −u, 0, u`, `u = s_b × t_k` |
//! | line | `t_k·D` | `−t, −(r_a + D) × t, t, r_b × t` |
//! | orientation | `2 e_k·y`, `y` the vector part of `q = (q_a f_a)* q_b f_b` | `0, −u, 0, u`, `u = w e_k + y × e_k` in the axes of `a` |
//! | universal | `s_a·s_b` | `0, −u, 0, u`, `u = s_b × s_a` |
//! | distance | `|D| − L`, `n = D/|D|` | `−n, −(r_a + D) × n, n, r_b × n` |
//! | slide | `s_a·D` | as a line, along `s_a` |
//! | angle | that of `b`'s first axis about `s_a` | `0, −s_a, 0, s_a` |
//!
//! `f` are the orientations of the joint frames on the bodies, and `w ≥ 0` is the scalar part of `q`.
//! The lever `r_a + D` of a line keeps angular momentum; the angle's Jacobian holds where the axes
//! align.

use glam::{DMat3, DQuat, DVec3};

use crate::body::{BodyPose, Spatial};
use crate::definition::{Coordinate, JointKind};

/// A joint frame with a unit quaternion for its axes: z is the joint's axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) anchor: DVec3,
    pub(crate) orientation: DQuat,
}

/// Which compliance a row has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Linear,
    Angular,
}

/// One row of a joint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JointRow {
    /// Violation `g`, m or rad.
    pub(crate) violation: f64,
    pub(crate) part: Part,
    /// Jacobian on the first and second body.
    pub(crate) jacobian: [Spatial; 2],
}

/// A joint where its bodies are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlacedJoint {
    /// Anchors from the centres of mass, world axes, m.
    pub(crate) arms: [DVec3; 2],
    /// From the first anchor to the second, m.
    pub(crate) offset: DVec3,
    /// Axes of the joint frames in world axes.
    axes: [DMat3; 2],
    /// Orientation of the second frame in the first.
    relative: DQuat,
}

impl PlacedJoint {
    pub(crate) fn new(frames: &[Frame; 2], poses: [&BodyPose; 2]) -> Self {
        let arms = [0, 1].map(|i| poses[i].orientation * frames[i].anchor);
        let turned = [0, 1].map(|i| poses[i].orientation * frames[i].orientation);
        let relative = turned[0].conjugate() * turned[1];
        PlacedJoint {
            arms,
            offset: poses[1].position + arms[1] - poses[0].position - arms[0],
            axes: turned.map(DMat3::from_quat),
            relative: if relative.w < 0.0 {
                -relative
            } else {
                relative
            },
        }
    }

    /// Unit vector along the axis of the first body.
    pub(crate) fn first_axis(&self) -> DVec3 {
        self.axes[0].z_axis
    }

    /// Row along a unit direction that moves with the first body; also of the distance, whose
    /// direction moves but whose violation does not change with it.
    fn along(&self, direction: DVec3, violation: f64) -> JointRow {
        let first = (self.arms[0] + self.offset).cross(direction);
        JointRow {
            violation,
            part: Part::Linear,
            jacobian: [
                Spatial::new(-direction, -first),
                Spatial::new(direction, self.arms[1].cross(direction)),
            ],
        }
    }

    fn about(&self, u: DVec3, violation: f64) -> JointRow {
        JointRow {
            violation,
            part: Part::Angular,
            jacobian: [Spatial::new(DVec3::ZERO, -u), Spatial::new(DVec3::ZERO, u)],
        }
    }

    fn point(&self, k: usize) -> JointRow {
        let e = DVec3::AXES[k];
        JointRow {
            violation: self.offset[k],
            part: Part::Linear,
            jacobian: [
                Spatial::new(-e, -self.arms[0].cross(e)),
                Spatial::new(e, self.arms[1].cross(e)),
            ],
        }
    }

    fn axis(&self, k: usize) -> JointRow {
        let (t, s) = (self.axes[0].col(k), self.axes[1].z_axis);
        self.about(s.cross(t), s.dot(t))
    }

    fn line(&self, k: usize) -> JointRow {
        let t = self.axes[0].col(k);
        self.along(t, t.dot(self.offset))
    }

    fn orientation(&self, k: usize) -> JointRow {
        let (e, y) = (DVec3::AXES[k], self.relative.xyz());
        let u = self.axes[0] * (self.relative.w * e + y.cross(e));
        self.about(u, 2.0 * y[k])
    }

    fn universal(&self) -> JointRow {
        let [a, b] = self.axes.map(|axes| axes.z_axis);
        self.about(b.cross(a), a.dot(b))
    }

    fn distance(&self, length: f64) -> JointRow {
        let now = self.offset.length();
        self.along(self.offset / now, now - length)
    }

    /// The row of a coordinate; its violation is the value, an angle within half a revolution.
    pub(crate) fn coordinate(&self, coordinate: Coordinate) -> JointRow {
        let [a, b] = &self.axes;
        match coordinate {
            Coordinate::Slide => self.along(a.z_axis, a.z_axis.dot(self.offset)),
            Coordinate::Angle => {
                let angle = b.x_axis.dot(a.y_axis).atan2(b.x_axis.dot(a.x_axis));
                self.about(a.z_axis, angle)
            }
        }
    }

    /// How far the axes are from where a joint of this kind has them, rad. Unlike violations of rows
    /// it tells axes that point against each other.
    pub(crate) fn misalignment(&self, kind: JointKind) -> f64 {
        let [a, b] = self.axes.map(|axes| axes.z_axis);
        match kind {
            JointKind::Fixed | JointKind::Prismatic => {
                2.0 * self.relative.xyz().length().atan2(self.relative.w)
            }
            JointKind::Revolute | JointKind::Cylindrical | JointKind::Screw { .. } => {
                a.cross(b).length().atan2(a.dot(b))
            }
            JointKind::Universal => a.dot(b).clamp(-1.0, 1.0).asin().abs(),
            JointKind::Ball | JointKind::Distance { .. } => 0.0,
        }
    }

    /// Hands on the rows of a joint of this kind; `angle` is its angle with all revolutions.
    pub(crate) fn rows(&self, kind: JointKind, angle: f64, mut row: impl FnMut(JointRow)) {
        let (point, axis, line, orientation) = match kind {
            JointKind::Fixed => (3, 0, 0, 3),
            JointKind::Revolute => (3, 2, 0, 0),
            JointKind::Prismatic => (0, 0, 2, 3),
            JointKind::Cylindrical | JointKind::Screw { .. } => (0, 2, 2, 0),
            JointKind::Ball | JointKind::Universal => (3, 0, 0, 0),
            JointKind::Distance { .. } => (0, 0, 0, 0),
        };
        (0..point).for_each(|k| row(self.point(k)));
        (0..line).for_each(|k| row(self.line(k)));
        (0..axis).for_each(|k| row(self.axis(k)));
        (0..orientation).for_each(|k| row(self.orientation(k)));
        match kind {
            JointKind::Universal => row(self.universal()),
            JointKind::Distance { length } => row(self.distance(length)),
            JointKind::Screw { pitch } => {
                let ratio = pitch / std::f64::consts::TAU;
                let slide = self.coordinate(Coordinate::Slide);
                let turn = self.coordinate(Coordinate::Angle);
                row(JointRow {
                    violation: slide.violation - ratio * angle,
                    part: Part::Linear,
                    jacobian: [0, 1].map(|i| slide.jacobian[i] - turn.jacobian[i] * ratio),
                });
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames() -> [Frame; 2] {
        let frame = |anchor: [f64; 3], turn: [f64; 3]| Frame {
            anchor: anchor.into(),
            orientation: DQuat::from_scaled_axis(turn.into()),
        };
        [
            frame([0.3, -0.2, 0.5], [0.4, -0.7, 0.1]),
            frame([-0.1, 0.6, 0.2], [1.1, 0.3, -0.5]),
        ]
    }

    fn poses() -> [BodyPose; 2] {
        let pose = |position: [f64; 3], turn: [f64; 3]| BodyPose {
            position: position.into(),
            orientation: DQuat::from_scaled_axis(turn.into()),
        };
        [
            pose([0.1, 0.2, -0.3], [-0.6, 0.2, 0.9]),
            pose([0.9, -0.4, 0.7], [0.5, -0.3, 0.8]),
        ]
    }

    fn violations(kind: JointKind, poses: &[BodyPose; 2]) -> Vec<f64> {
        let placed = PlacedJoint::new(&frames(), [&poses[0], &poses[1]]);
        let angle = placed.coordinate(Coordinate::Angle).violation;
        let mut list = Vec::new();
        placed.rows(kind, angle, |row| list.push(row.violation));
        list
    }

    /// Sides are far apart and turned by a radian: Jacobians hold there too, not only where
    /// violations are small.
    #[test]
    fn jacobians_are_derivatives_of_violations() {
        let kinds = [
            JointKind::Fixed,
            JointKind::Revolute,
            JointKind::Prismatic,
            JointKind::Cylindrical,
            JointKind::Ball,
            JointKind::Universal,
            JointKind::Distance { length: 0.7 },
        ];
        for kind in kinds {
            let poses = poses();
            let placed = PlacedJoint::new(&frames(), [&poses[0], &poses[1]]);
            let mut rows = Vec::new();
            placed.rows(kind, 0.0, |row| rows.push(row));
            assert_eq!(rows.len(), kind.rows());
            for (body, component) in (0..2).flat_map(|b| (0..6).map(move |c| (b, c))) {
                let small = 1e-5;
                let [less, more] = [-small, small].map(|h| {
                    let mut moved = poses;
                    moved[body] = moved[body].moved(Spatial::unit(component), h);
                    violations(kind, &moved)
                });
                for (k, row) in rows.iter().enumerate() {
                    let slope = (more[k] - less[k]) / (2.0 * small);
                    let entry = row.jacobian[body].component(component);
                    assert!(
                        (slope - entry).abs() < 2e-9,
                        "{kind:?} row {k} body {body} component {component}: {slope} {entry}"
                    );
                }
            }
        }
    }

    /// The angle's Jacobian needs aligned axes, so that of a screw does too.
    #[test]
    fn jacobians_of_coordinates_hold_on_aligned_axes() {
        let (frames, mut poses) = (frames(), poses());
        let first = poses[0].orientation * frames[0].orientation;
        let turned = first * DQuat::from_rotation_z(2.0);
        poses[1].orientation = turned * frames[1].orientation.conjugate();
        let pitch = 0.3;
        let values = |poses: &[BodyPose; 2]| {
            let placed = PlacedJoint::new(&frames, [&poses[0], &poses[1]]);
            let angle = placed.coordinate(Coordinate::Angle);
            let mut rows = vec![angle, placed.coordinate(Coordinate::Slide)];
            placed.rows(JointKind::Screw { pitch }, angle.violation, |row| {
                rows.push(row);
            });
            rows
        };
        let rows = values(&poses);
        assert!((rows[0].violation - 2.0).abs() < 1e-12);
        for (body, component) in (0..2).flat_map(|b| (0..6).map(move |c| (b, c))) {
            let small = 1e-5;
            let [less, more] = [-small, small].map(|h| {
                let mut moved = poses;
                moved[body] = moved[body].moved(Spatial::unit(component), h);
                values(&moved)
            });
            for (k, row) in rows.iter().enumerate() {
                let slope = (more[k].violation - less[k].violation) / (2.0 * small);
                let entry = row.jacobian[body].component(component);
                assert!((slope - entry).abs() < 2e-9, "row {k}: {slope} {entry}");
            }
        }
    }
}
