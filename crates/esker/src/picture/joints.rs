//! Joints of machines as pictures show them: a ball at the anchor, a bar along the axis.

use esker_geometry::{BodyShape, Pose};
use esker_record::{Frame, FrameJoint, RecordingHeader, walls_in_frame};
use esker_render::{Bounds, Triangle, Wall};
use glam::{DQuat, DVec3};

use super::scenery::{Scenery, Shown};

/// Colour of joints, and of those that a drive drives, sRGB and opacity.
const JOINT_COLOR: [f32; 4] = [0.13, 0.20, 0.42, 1.0];
const DRIVEN_COLOR: [f32; 4] = [0.80, 0.12, 0.10, 1.0];
/// Opacity of bodies around them.
const GHOST: f32 = 0.3;
/// Radius of the ball at an anchor, in diagonals of all bodies.
const BALL: f64 = 0.009;
/// Length of the bar along an axis and its radius, in those of the ball.
const BAR: [f64; 2] = [8.0, 0.4];
/// Facets around balls and bars.
const FACETS: u32 = 12;

impl Scenery {
    /// Adds the joints of a frame and makes the bodies around them half-transparent.
    pub(super) fn show_joints(&mut self, header: &RecordingHeader, frame: &Frame, shown: &Shown) {
        let opaque = self.walls.iter_mut().filter(|wall| wall.color[3] == 1.0);
        opaque.for_each(|wall| wall.color[3] = GHOST);
        let ball = BALL * size_of_bodies(header, frame);
        let joints = header.joints.iter().zip(&frame.joints);
        for (label, joint) in joints.filter(|(_, joint)| shown.shows(joint.anchors[1])) {
            let color = match label.drives.is_empty() {
                true => JOINT_COLOR,
                false => DRIVEN_COLOR,
            };
            self.walls.push(Wall {
                triangles: mark(joint, ball),
                color,
            });
        }
    }
}

/// Diagonal of the bodies of a frame, or of their anchors, m.
fn size_of_bodies(header: &RecordingHeader, frame: &Frame) -> f64 {
    let is_body = |name: &String| {
        header
            .walls
            .iter()
            .any(|w| w.name == *name && w.body.is_some())
    };
    let bodies = walls_in_frame(header, frame).into_iter();
    let surfaces = bodies.filter(|(name, _)| is_body(name));
    let points = surfaces.flat_map(|(_, soup)| soup.vertices);
    let anchors = frame.joints.iter().flat_map(|joint| joint.anchors);
    let bounds = points
        .chain(anchors)
        .fold(Bounds::EMPTY, |all, point| Bounds {
            min: all.min.min(point),
            max: all.max.max(point),
        });
    (bounds.max - bounds.min).length()
}

/// The surface of a joint's mark with a ball of this radius, m.
fn mark(joint: &FrameJoint, radius: f64) -> Vec<Triangle> {
    let [first, second] = joint.anchors;
    let mut triangles = placed(&BodyShape::Sphere { radius }, Pose::from_position(second));
    let [length, thickness] = BAR.map(|factor| factor * radius);
    // What slides reaches from one anchor to the other, and beyond as any axis.
    let ends = match joint.axis {
        Some(axis) => {
            let half = 0.5 * length * axis;
            let slide = joint.slide.map_or(DVec3::ZERO, |slide| slide * axis);
            let [low, high] = [slide.dot(axis).max(0.0), slide.dot(axis).min(0.0)];
            Some([second - half - low * axis, second + half - high * axis])
        }
        None => (first.distance(second) > radius).then_some([first, second]),
    };
    if let Some([from, to]) = ends {
        let along = to - from;
        let bar = BodyShape::Cylinder {
            radius: thickness,
            half_length: 0.5 * along.length(),
        };
        let turn = DQuat::from_rotation_arc(DVec3::Z, along.normalize_or(DVec3::Z));
        triangles.extend(placed(&bar, Pose::new(0.5 * (from + to), turn)));
    }
    triangles
}

fn placed(shape: &BodyShape, pose: Pose) -> Vec<Triangle> {
    let soup = shape.triangulate_with(FACETS);
    let triangles = (0..soup.triangles.len()).map(|i| Triangle {
        corners: soup.corners(i).map(|corner| pose.to_world(corner)),
    });
    triangles.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mark of a slider reaches from one anchor to the other, that of a hinge along its axis
    /// only, that of a ball not at all.
    #[test]
    fn marks_show_anchor_axis_and_slide() {
        let at = DVec3::new(1.0, 2.0, 3.0);
        let extent = |joint: &FrameJoint| {
            let corners = mark(joint, 0.01).into_iter().flat_map(|t| t.corners);
            let (low, high) = corners.fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |b, p| {
                (b.0.min(p), b.1.max(p))
            });
            [low - at, high - at]
        };
        let ball = FrameJoint {
            anchors: [at; 2],
            ..FrameJoint::default()
        };
        let [low, high] = extent(&ball);
        assert!((high - 0.01).abs().max_element() < 1e-3 && (low + high).length() < 1e-3);
        let hinge = FrameJoint {
            axis: Some(DVec3::Y),
            angle: Some(1.0),
            ..ball
        };
        let [low, high] = extent(&hinge);
        assert!((high.y - 0.04).abs() < 1e-9 && (low.y + 0.04).abs() < 1e-9);
        assert!(high.x < 0.011);
        let slider = FrameJoint {
            anchors: [at - DVec3::Y * 0.5, at],
            axis: Some(DVec3::Y),
            slide: Some(0.5),
            ..ball
        };
        let [low, high] = extent(&slider);
        assert!(
            (high.y - 0.04).abs() < 1e-9 && (low.y + 0.54).abs() < 1e-9,
            "{low} {high}"
        );
    }
}
