//! Bodies against what is sharp: edges, corners and rims.
//!
//! An edge or corner is touched where the distance to the body has a local minimum over the
//! surface that it bounds. With `n` the normal from the body to the nearest point of the edge,
//! the distance grows along a direction `m` of the surface exactly when `n·m ≥ 0`.

use super::ellipsoid_wall::WallSurface;
use crate::hertz::PARALLEL_SINE;
use crate::manifold::{Conformity, ContactPoint};
use crate::smooth::capsule::Capsule;
use crate::smooth::circle::{Circle, Facing};
use crate::smooth::ellipsoid::Ellipsoid;
use crate::smooth::separation::separation;
use crate::smooth::{Ball, Support};
use glam::{DVec2, DVec3};
use std::f64::consts::{PI, TAU};

/// Where a body is nearest to a point or line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Near {
    /// Unit vector from the body.
    pub normal: DVec3,
    /// Distance along it (m).
    pub gap: f64,
    /// Point of the body's surface (m).
    pub surface: DVec3,
}

impl Near {
    /// The nearest point of the line, or the point (m).
    pub fn wall_point(&self) -> DVec3 {
        self.surface + self.gap * self.normal
    }
}

/// A body that meets edges and corners in one point.
pub(super) trait Sharp {
    /// By how much `n·m` may fall short of zero.
    const TOLERANCE: f64;

    fn centre(&self) -> DVec3;

    /// Radius of a ball about the centre that holds the body (m).
    fn bound(&self) -> f64;

    /// A direction fixed to the body, by which several contacts with one rim are told apart.
    fn long_axis(&self) -> DVec3;

    /// Points of the body far from each other: the nearest points of a rim are near some of them.
    fn reach_points(&self) -> [DVec3; 4];

    /// The nearest point of a line; `None` where it is not this part of the body that is nearest.
    fn near_line(&self, origin: DVec3, direction: DVec3) -> Option<Near>;

    /// The same of a point.
    fn near_point(&self, point: DVec3) -> Option<Near>;

    /// The contact with an edge or corner.
    fn contact(&self, near: &Near, feature: u32) -> ContactPoint;

    /// Whether the distance does not fall along any of these directions.
    fn is_minimum(&self, near: &Near, inward: impl IntoIterator<Item = DVec3>) -> bool {
        let mut inward = inward.into_iter();
        inward.all(|m| near.normal.dot(m) >= -Self::TOLERANCE)
    }
}

/// An ellipsoid at a place.
#[derive(Clone, Copy)]
pub(super) struct PlacedEllipsoid<'a> {
    pub body: &'a Ellipsoid,
    pub centre: DVec3,
}

impl Sharp for PlacedEllipsoid<'_> {
    /// Of rounding.
    const TOLERANCE: f64 = 1e-9;

    fn centre(&self) -> DVec3 {
        self.centre
    }

    fn bound(&self) -> f64 {
        self.body.size()
    }

    fn long_axis(&self) -> DVec3 {
        self.body.long_axis()
    }

    fn reach_points(&self) -> [DVec3; 4] {
        let [one, two] = self.body.long_axes();
        [one, -one, two, -two].map(|offset| self.centre + offset)
    }

    fn near_line(&self, origin: DVec3, direction: DVec3) -> Option<Near> {
        let circle = Circle::across(direction);
        let offset = origin - self.centre;
        let start = circle.outer_start(self.body, offset);
        let near = circle.climb(self.body, offset, Facing::Outer, start);
        Some(Near {
            normal: near.normal,
            gap: near.value,
            surface: self.centre + near.point,
        })
    }

    fn near_point(&self, point: DVec3) -> Option<Near> {
        let offset = point - self.centre;
        let start = self.body.normal_towards(offset);
        let bodies = (self.body, &Ball { radius: 0.0 });
        let near = separation(bodies, offset, start, f64::INFINITY)?;
        Some(Near {
            normal: near.normal,
            gap: near.gap,
            surface: self.centre + near.point_a,
        })
    }

    fn contact(&self, near: &Near, feature: u32) -> ContactPoint {
        WallSurface::plane(near.normal, near.gap, feature).contact(self.body, self.centre)
    }
}

/// A capsule without its ends.
#[derive(Clone, Copy)]
pub(super) struct CapsuleMiddle<'a>(pub &'a Capsule);

impl CapsuleMiddle<'_> {
    /// The surface point over the axis at `along`, towards a point.
    fn towards(&self, along: f64, point: DVec3) -> Option<Near> {
        let capsule = self.0;
        if along.abs() >= capsule.half_length {
            return None;
        }
        let offset = point - capsule.at(along);
        let distance = offset.length();
        let normal = offset.try_normalize()?;
        Some(Near {
            normal,
            gap: distance - capsule.radius,
            surface: capsule.at(along) + capsule.radius * normal,
        })
    }
}

impl Sharp for CapsuleMiddle<'_> {
    /// A capsule that lies across a narrow plate rests on both of its edges, though one of them is
    /// a little farther.
    const TOLERANCE: f64 = PARALLEL_SINE;

    fn centre(&self) -> DVec3 {
        self.0.centre
    }

    fn bound(&self) -> f64 {
        self.0.half_length + self.0.radius
    }

    fn long_axis(&self) -> DVec3 {
        self.0.axis
    }

    fn reach_points(&self) -> [DVec3; 4] {
        let half = self.0.half_length;
        [half, -half, 0.5 * half, -0.5 * half].map(|along| self.0.at(along))
    }

    fn near_line(&self, origin: DVec3, direction: DVec3) -> Option<Near> {
        let capsule = self.0;
        let cosine = capsule.axis.dot(direction);
        let squared_sine = capsule.axis.cross(direction).length_squared();
        // Beside a line that is nearly parallel the ends are touched, or the ends of the line.
        if squared_sine < 0.25 * PARALLEL_SINE * PARALLEL_SINE {
            return None;
        }
        let offset = origin - capsule.centre;
        let (own, others) = (capsule.axis.dot(offset), direction.dot(offset));
        let along = (own - cosine * others) / squared_sine;
        self.towards(along, origin + (cosine * along - others) * direction)
    }

    fn near_point(&self, point: DVec3) -> Option<Near> {
        let along = self.0.axis.dot(point - self.0.centre);
        self.towards(along, point)
    }

    fn contact(&self, near: &Near, feature: u32) -> ContactPoint {
        ContactPoint {
            point: near.surface + 0.5 * near.gap * near.normal,
            normal: near.normal,
            gap: near.gap,
            feature,
            conformity: Conformity::of_sphere(self.0.radius, 0.0),
        }
    }
}

/// A circle about the z axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rim {
    /// Radius (m).
    pub radius: f64,
    /// Height (m).
    pub z: f64,
}

/// Evaluations of the distance while a minimum is bracketed and refined.
const MAX_EVALUATIONS: usize = 60;

/// Places on one rim at most: so many have a name.
const MAX_ON_RIM: usize = 3;

/// Places on a rim, by azimuth: of long bodies there can be several.
#[derive(Clone, Copy)]
pub(super) struct RimPlaces {
    items: [(f64, Near); MAX_ON_RIM],
    count: usize,
}

impl RimPlaces {
    const NONE: Self = Self {
        items: [(0.0, BLANK); MAX_ON_RIM],
        count: 0,
    };

    /// Adds a place, if there is room.
    fn push(&mut self, place: (f64, Near)) {
        if self.count < MAX_ON_RIM {
            self.items[self.count] = place;
            self.count += 1;
        }
    }

    pub fn as_slice(&self) -> &[(f64, Near)] {
        &self.items[..self.count]
    }

    /// Those that are kept, in their order along the body.
    pub fn kept(&self, body: &impl Sharp, keep: impl Fn(f64, &Near) -> bool) -> Self {
        let mut kept = Self::NONE;
        for &(azimuth, near) in self.as_slice() {
            if keep(azimuth, &near) {
                kept.push((azimuth, near));
            }
        }
        let along = |place: &(f64, Near)| body.long_axis().dot(place.1.surface);
        kept.items[..kept.count].sort_by(|a, b| along(a).total_cmp(&along(b)));
        kept
    }
}

impl Rim {
    pub fn point(&self, azimuth: f64) -> DVec3 {
        (self.radius * DVec2::from_angle(azimuth)).extend(self.z)
    }

    /// Whether the ball that holds the body comes nearer than the margin.
    pub fn is_in_reach(&self, body: &impl Sharp, margin: f64) -> bool {
        let centre = body.centre();
        let across = centre.truncate().length() - self.radius;
        across.hypot(centre.z - self.z) < body.bound() + margin
    }

    /// The minima of the distance, each once.
    pub fn minima(&self, body: &impl Sharp) -> RimPlaces {
        let mut minima = RimPlaces::NONE;
        let own = body.centre().truncate();
        let own = if own == DVec2::ZERO {
            0.0
        } else {
            own.to_angle()
        };
        let others = body.reach_points().map(|p| p.truncate().to_angle());
        for (index, start) in std::iter::once(own).chain(others).enumerate() {
            let Some((azimuth, near)) = self.descend(body, start, index > 0) else {
                continue;
            };
            let is_known = minima.as_slice().iter().any(|(known, _)| {
                let apart = (known - azimuth).rem_euclid(TAU);
                apart.min(TAU - apart) < 1e-5
            });
            if !is_known {
                minima.push((azimuth, near));
            }
        }
        minima
    }

    /// The minimum that is reached from an azimuth by going down. A start where the distance does
    /// not change, as anywhere around a ball on the axis, is one unless `must_fall`.
    fn descend(&self, body: &impl Sharp, start: f64, must_fall: bool) -> Option<(f64, Near)> {
        let look = |azimuth: f64| {
            let near = body.near_point(self.point(azimuth))?;
            let along = DVec2::from_angle(azimuth).perp().extend(0.0);
            Some((near, near.normal.dot(along)))
        };
        let (near, slope) = look(start)?;
        if slope.abs() < 1e-12 {
            return (!must_fall).then_some((start, near));
        }
        let down = -slope.signum();
        let (mut low, mut slope_low) = (start, slope);
        let mut step = 0.05 * down;
        let (mut high, mut slope_high, mut nearest) = loop {
            let at = low + step;
            let (near, slope) = look(at)?;
            if slope * down >= 0.0 {
                break (at, slope, near);
            }
            if (at - start).abs() > PI {
                return None;
            }
            (low, slope_low) = (at, slope);
            step *= 1.5;
        };
        // Regula falsi with the weight of a stale end halved (Illinois).
        let mut azimuth = high;
        for _ in 0..MAX_EVALUATIONS {
            let next = (low * slope_high - high * slope_low) / (slope_high - slope_low);
            if !next.is_finite() || (next - azimuth).abs() < 1e-15 * (1.0 + azimuth.abs()) {
                break;
            }
            azimuth = next;
            let (near, slope) = look(azimuth)?;
            nearest = near;
            if slope == 0.0 {
                break;
            }
            if slope * slope_high < 0.0 {
                (low, slope_low) = (high, slope_high);
            } else {
                slope_low *= 0.5;
            }
            (high, slope_high) = (azimuth, slope);
        }
        Some((azimuth, nearest))
    }
}

const BLANK: Near = Near {
    normal: DVec3::ZERO,
    gap: f64::INFINITY,
    surface: DVec3::ZERO,
};
