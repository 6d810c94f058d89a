//! The capsule: all points within a radius of a segment.

use crate::body::PlacedShape;
use glam::DVec3;

/// A capsule where it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Capsule {
    pub centre: DVec3,
    /// Unit vector.
    pub axis: DVec3,
    /// Half the length of the segment (m).
    pub half_length: f64,
    /// Radius (m).
    pub radius: f64,
}

impl Capsule {
    pub fn new(radius: f64, half_length: f64, placed: &PlacedShape) -> Self {
        Self {
            centre: placed.position,
            axis: placed.rotation.z_axis,
            half_length: half_length * placed.scale,
            radius: radius * placed.scale,
        }
    }

    /// The point of the axis at `along` from the centre.
    pub fn at(&self, along: f64) -> DVec3 {
        self.centre + along * self.axis
    }

    /// Both ends of the segment, the one at `−axis` first.
    pub fn ends(&self) -> [DVec3; 2] {
        [self.at(-self.half_length), self.at(self.half_length)]
    }

    /// How far along the axis the segment's nearest point to `p` is from the centre (m).
    pub fn nearest_to(&self, p: DVec3) -> f64 {
        let along = self.axis.dot(p - self.centre);
        along.clamp(-self.half_length, self.half_length)
    }

    /// How far along both axes the nearest points of two segments are from their centres (m).
    pub fn nearest_points(&self, other: &Self) -> (f64, f64) {
        let offset = other.centre - self.centre;
        let cosine = self.axis.dot(other.axis);
        let (own, others) = (self.axis.dot(offset), other.axis.dot(offset));
        // 1 − cos² without cancellation.
        let squared_sine = self.axis.cross(other.axis).length_squared();
        let clamp = |t: f64, half: f64| t.clamp(-half, half);
        let first = if squared_sine > f64::MIN_POSITIVE {
            (own - cosine * others) / squared_sine
        } else {
            0.0
        };
        let along = clamp(first, self.half_length);
        // The nearest point of the other's line, clamped, and back again: exact for segments.
        let other_along = clamp(cosine * along - others, other.half_length);
        let along = clamp(own + cosine * other_along, self.half_length);
        (along, other_along)
    }
}
