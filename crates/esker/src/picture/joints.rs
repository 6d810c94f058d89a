//! Joints of machines as pictures show them: a ball at the anchor, a bar along the axis.

use esker_geometry::{BodyShape, Pose, TriangleSoup};
use esker_record::{Frame, FrameJoint, RecordingHeader, walls_in_frame};
use esker_render::{Bounds, Triangle, Wall};
use glam::{DQuat, DVec3};

use super::scenery::{Scenery, Shown};

/// Colours of joints, and of those that a drive drives, sRGB and opacity.
pub const JOINT_COLORS: [[f32; 4]; 2] = [[0.13, 0.20, 0.42, 1.0], [0.80, 0.12, 0.10, 1.0]];
/// Opacity of bodies around joints that are drawn.
pub const JOINTED_GHOST: f32 = 0.3;
/// Radius of the bar along an axis, in that of the ball.
pub const JOINT_BAR: f64 = 0.4;
/// Radius of the ball at an anchor, in diagonals of all bodies.
const BALL: f64 = 0.009;
/// Length of the bar along an axis, in radii of the ball.
const BAR_LENGTH: f64 = 8.0;
/// Facets around balls and bars.
const FACETS: u32 = 12;

/// How a joint is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointMark {
    /// Its anchor on the second body, where the ball is, m.
    pub anchor: DVec3,
    /// Radius of the ball, m.
    pub ball: f64,
    /// Ends of the bar, m: along the axis, or between anchors that are apart.
    pub bar: Option<[DVec3; 2]>,
    /// Whether a drive drives it.
    pub is_driven: bool,
}

/// How the joints of a frame are drawn; none where the recording has no joints.
pub fn joint_marks(header: &RecordingHeader, frame: &Frame) -> Vec<JointMark> {
    if header.joints.is_empty() {
        return Vec::new();
    }
    let ball = BALL * size_of_bodies(header, frame);
    let joints = header.joints.iter().zip(&frame.joints);
    let marks = joints.map(|(label, joint)| JointMark {
        anchor: joint.anchors[1],
        ball,
        bar: bar(joint, ball),
        is_driven: !label.drives.is_empty(),
    });
    marks.collect()
}

/// Surfaces of the ball, of radius 1 m, and of the bar, of radius 1 m and from −1 to 1 m along z.
pub fn joint_surfaces() -> [TriangleSoup; 2] {
    let ball = BodyShape::Sphere { radius: 1.0 };
    let bar = BodyShape::Cylinder {
        radius: 1.0,
        half_length: 1.0,
    };
    [ball, bar].map(|shape| shape.triangulate_with(FACETS))
}

impl Scenery {
    /// Adds the joints of a frame and makes the bodies around them half-transparent.
    pub(super) fn show_joints(&mut self, header: &RecordingHeader, frame: &Frame, shown: &Shown) {
        let opaque = self.walls.iter_mut().filter(|wall| wall.color[3] == 1.0);
        opaque.for_each(|wall| wall.color[3] = JOINTED_GHOST);
        let surfaces = joint_surfaces();
        let marks = joint_marks(header, frame).into_iter();
        let shown = marks.filter(|mark| shown.shows(mark.anchor));
        self.walls.extend(shown.map(|mark| Wall {
            triangles: triangles(&mark, &surfaces),
            color: JOINT_COLORS[usize::from(mark.is_driven)],
        }));
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

/// Ends of the bar of a joint whose ball has this radius, m.
fn bar(joint: &FrameJoint, ball: f64) -> Option<[DVec3; 2]> {
    let [first, second] = joint.anchors;
    // What slides reaches from one anchor to the other, and beyond as any axis.
    match joint.axis {
        Some(axis) => {
            let half = 0.5 * BAR_LENGTH * ball * axis;
            let slide = joint.slide.unwrap_or(0.0);
            let [back, ahead] = [slide.max(0.0), slide.min(0.0)];
            Some([second - half - back * axis, second + half - ahead * axis])
        }
        None => (first.distance(second) > ball).then_some([first, second]),
    }
}

/// The surface of a mark, from those of ball and bar.
fn triangles(mark: &JointMark, surfaces: &[TriangleSoup; 2]) -> Vec<Triangle> {
    let place = Pose::from_position(mark.anchor);
    let mut triangles = placed(&surfaces[0], DVec3::splat(mark.ball), place);
    if let Some([from, to]) = mark.bar {
        let along = to - from;
        let thickness = JOINT_BAR * mark.ball;
        let size = DVec3::new(thickness, thickness, 0.5 * along.length());
        let turn = DQuat::from_rotation_arc(DVec3::Z, along.normalize_or(DVec3::Z));
        let place = Pose::new(0.5 * (from + to), turn);
        triangles.extend(placed(&surfaces[1], size, place));
    }
    triangles
}

fn placed(soup: &TriangleSoup, size: DVec3, place: Pose) -> Vec<Triangle> {
    let triangles = (0..soup.triangles.len()).map(|i| Triangle {
        corners: soup.corners(i).map(|corner| place.to_world(size * corner)),
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
            let mark = JointMark {
                anchor: joint.anchors[1],
                ball: 0.01,
                bar: bar(joint, 0.01),
                is_driven: false,
            };
            let drawn = triangles(&mark, &joint_surfaces()).into_iter();
            let corners = drawn.flat_map(|t| t.corners);
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
