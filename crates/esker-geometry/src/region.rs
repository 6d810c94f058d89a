//! Volumes in space: where grains are made and where they are removed.

use crate::{Aabb, Pose};
use glam::{DVec2, DVec3};
use std::f64::consts::{PI, TAU};

/// The form of a [`Region`] in its local frame. Lengths in m.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RegionShape {
    /// A box about the origin.
    Box {
        /// Half of each edge length (m).
        half_extents: DVec3,
    },
    /// A cylinder about the z axis, from `-length/2` to `+length/2`.
    Cylinder {
        /// Radius (m).
        radius: f64,
        /// Length along the axis (m).
        length: f64,
    },
    /// A ball about the origin.
    Sphere {
        /// Radius (m).
        radius: f64,
    },
}

/// A volume placed in the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Region {
    /// Its form.
    pub shape: RegionShape,
    /// Where it is.
    pub pose: Pose,
}

impl Region {
    /// Whether the world point is in the region, its surface included.
    pub fn contains(&self, point: DVec3) -> bool {
        let local = self.pose.to_local(point);
        match self.shape {
            RegionShape::Box { half_extents } => local.abs().cmple(half_extents).all(),
            RegionShape::Cylinder { radius, length } => {
                local.truncate().length() <= radius && local.z.abs() <= 0.5 * length
            }
            RegionShape::Sphere { radius } => local.length() <= radius,
        }
    }

    /// A world point for three numbers in [0, 1): uniform numbers give points uniform in volume.
    ///
    /// ```text
    /// disc  ρ = R √u₁,      φ = 2π u₂;                                       (1)
    /// ball  r = R ∛u₁,      z/r = 2 u₃ − 1,   φ = 2π u₂.                     (2)
    /// ```
    pub fn sample(&self, uniform: [f64; 3]) -> DVec3 {
        let [u1, u2, u3] = uniform;
        let azimuth = DVec2::from_angle(TAU * u2);
        let local = match self.shape {
            RegionShape::Box { half_extents } => half_extents * (2.0 * DVec3::from(uniform) - 1.0),
            RegionShape::Cylinder { radius, length } => {
                (radius * u1.sqrt() * azimuth).extend(length * (u3 - 0.5))
            }
            RegionShape::Sphere { radius } => {
                let height = 2.0 * u3 - 1.0;
                let width = (1.0 - height * height).sqrt();
                radius * u1.cbrt() * (width * azimuth).extend(height)
            }
        };
        self.pose.to_world(local)
    }

    /// Volume (m³).
    pub fn volume(&self) -> f64 {
        match self.shape {
            RegionShape::Box { half_extents } => 8.0 * half_extents.element_product(),
            RegionShape::Cylinder { radius, length } => PI * radius * radius * length,
            RegionShape::Sphere { radius } => 4.0 / 3.0 * PI * radius.powi(3),
        }
    }

    /// The smallest world box around the local box of the region (m).
    pub fn bounds(&self) -> Aabb {
        let half = match self.shape {
            RegionShape::Box { half_extents } => half_extents,
            RegionShape::Cylinder { radius, length } => DVec3::new(radius, radius, 0.5 * length),
            RegionShape::Sphere { radius } => {
                // A ball is the same from all sides: turning its box would only widen it.
                let centre = self.pose.position;
                return Aabb::new(centre - radius, centre + radius);
            }
        };
        Aabb::new(-half, half).transformed(&self.pose)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;

    fn regions() -> [Region; 3] {
        let pose = Pose::new(
            DVec3::new(5.0, -3.0, 2.0),
            DQuat::from_euler(glam::EulerRot::XYZ, 0.4, 1.0, -0.3),
        );
        let half_extents = DVec3::new(1.0, 2.0, 0.5);
        [
            RegionShape::Box { half_extents },
            RegionShape::Cylinder {
                radius: 1.5,
                length: 0.8,
            },
            RegionShape::Sphere { radius: 1.2 },
        ]
        .map(|shape| Region { shape, pose })
    }

    /// Midpoints of a regular grid in the unit cube.
    fn grid(n: u32) -> impl Iterator<Item = [f64; 3]> {
        let at = move |k: u32| (f64::from(k) + 0.5) / f64::from(n);
        (0..n * n * n).map(move |k| [at(k % n), at(k / n % n), at(k / n / n)])
    }

    #[test]
    fn samples_are_inside_the_region_and_its_bounds() {
        for region in regions() {
            for uniform in grid(12).chain([[1e-9; 3], [1.0 - 1e-9, 0.5, 0.1]]) {
                let point = region.sample(uniform);
                assert!(region.contains(point) && region.bounds().contains(point));
            }
        }
    }

    #[test]
    fn samples_are_uniform_in_volume() {
        for region in regions() {
            // A small box about a point inside must get its share of the samples.
            let n = 80;
            let half = 0.35;
            let centre = region.pose.to_world(DVec3::new(0.3, 0.2, 0.0));
            let probe = Aabb::new(centre - half, centre + half);
            let cells = 60;
            let mut part = 0.0;
            for [x, y, z] in grid(cells) {
                let point = probe.min + probe.size() * DVec3::new(x, y, z);
                part += f64::from(u8::from(region.contains(point)));
            }
            let part = part / f64::from(cells.pow(3)) * probe.size().element_product();
            let hits = grid(n)
                .filter(|&u| probe.contains(region.sample(u)))
                .count() as f64;
            let share = hits / f64::from(n.pow(3));
            let expected = part / region.volume();
            assert!((share / expected - 1.0).abs() < 0.03, "{share} {expected}");
        }
    }

    #[test]
    fn volume_matches_the_share_of_the_bounds() {
        for region in regions() {
            let bounds = region.bounds();
            let inside = grid(60)
                .filter(|&u| region.contains(bounds.min + bounds.size() * DVec3::from(u)))
                .count() as f64;
            let estimate = inside / 60.0_f64.powi(3) * bounds.size().element_product();
            assert!((estimate / region.volume() - 1.0).abs() < 0.01);
        }
    }
}
