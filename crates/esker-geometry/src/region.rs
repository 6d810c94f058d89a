//! Regions of space in which grains appear or vanish.

use glam::DVec3;

use crate::{Aabb, Pose};

/// A solid region.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Region {
    /// A box about the origin of its frame.
    Box {
        /// Half of its size along each local axis (m).
        half_extents: DVec3,
        /// Where its frame is.
        pose: Pose,
    },
    /// A cylinder about its local z axis, from `-length/2` to `+length/2`.
    Cylinder {
        /// Radius (m).
        radius: f64,
        /// Length (m).
        length: f64,
        /// Where its frame is.
        pose: Pose,
    },
    /// A ball about the origin of its frame.
    Sphere {
        /// Radius (m).
        radius: f64,
        /// Where its frame is.
        pose: Pose,
    },
}

impl Region {
    /// Whether a point of the world lies inside.
    pub fn contains(&self, point: DVec3) -> bool {
        match *self {
            Region::Box { half_extents, pose } => {
                pose.to_local(point).abs().cmple(half_extents).all()
            }
            Region::Cylinder {
                radius,
                length,
                pose,
            } => {
                let local = pose.to_local(point);
                local.truncate().length_squared() <= radius * radius
                    && local.z.abs() <= 0.5 * length
            }
            Region::Sphere { radius, pose } => {
                point.distance_squared(pose.position) <= radius * radius
            }
        }
    }

    /// The point of the region that is nearest to a point of the world.
    pub fn nearest(&self, point: DVec3) -> DVec3 {
        match *self {
            Region::Box { half_extents, pose } => {
                pose.to_world(pose.to_local(point).clamp(-half_extents, half_extents))
            }
            Region::Cylinder {
                radius,
                length,
                pose,
            } => {
                let local = pose.to_local(point);
                let across = local.truncate().clamp_length_max(radius);
                pose.to_world(across.extend(local.z.clamp(-0.5 * length, 0.5 * length)))
            }
            Region::Sphere { radius, pose } => {
                pose.position + (point - pose.position).clamp_length_max(radius)
            }
        }
    }

    /// The point of the region that three numbers in [0, 1) stand for; uniform
    /// numbers give uniform points.
    pub fn sample(&self, uniform: [f64; 3]) -> DVec3 {
        let [a, b, c] = uniform;
        match *self {
            Region::Box { half_extents, pose } => {
                pose.to_world((DVec3::new(a, b, c) * 2.0 - DVec3::ONE) * half_extents)
            }
            Region::Cylinder {
                radius,
                length,
                pose,
            } => {
                let (sin, cos) = (std::f64::consts::TAU * b).sin_cos();
                let rho = radius * a.sqrt();
                pose.to_world(DVec3::new(rho * cos, rho * sin, (c - 0.5) * length))
            }
            Region::Sphere { radius, pose } => {
                let (sin, cos) = (std::f64::consts::TAU * b).sin_cos();
                let z = 2.0 * c - 1.0;
                let rho = (1.0 - z * z).max(0.0).sqrt();
                pose.to_world(DVec3::new(rho * cos, rho * sin, z) * (radius * a.cbrt()))
            }
        }
    }

    /// Volume (m³).
    pub fn volume(&self) -> f64 {
        use std::f64::consts::PI;
        match *self {
            Region::Box {
                half_extents: h, ..
            } => 8.0 * h.x * h.y * h.z,
            Region::Cylinder { radius, length, .. } => PI * radius * radius * length,
            Region::Sphere { radius, .. } => 4.0 / 3.0 * PI * radius.powi(3),
        }
    }

    /// Smallest upright box around it.
    pub fn bounds(&self) -> Aabb {
        let (half, pose) = match *self {
            Region::Box { half_extents, pose } => (half_extents, pose),
            Region::Cylinder {
                radius,
                length,
                pose,
            } => {
                // A disc of unit normal a reaches r √(1 − a_i²) along axis i.
                let axis = pose.rotate(DVec3::Z);
                let disc = (DVec3::ONE - axis * axis).max(DVec3::ZERO).map(f64::sqrt) * radius;
                let half = disc + axis.abs() * (0.5 * length);
                return Aabb {
                    min: pose.position - half,
                    max: pose.position + half,
                };
            }
            Region::Sphere { radius, pose } => {
                let half = DVec3::splat(radius);
                return Aabb {
                    min: pose.position - half,
                    max: pose.position + half,
                };
            }
        };
        Aabb {
            min: -half,
            max: half,
        }
        .transformed(&pose)
    }

    /// Where the centres of spheres of a radius can be that lie wholly inside;
    /// `None` when not one fits.
    pub fn shrunk(&self, distance: f64) -> Option<Region> {
        // Rounding must not refuse a sphere that fits exactly.
        let less = |length: f64| {
            let rest = length - distance;
            if rest >= 0.0 {
                Some(rest)
            } else {
                (rest > -1e-9 * distance).then_some(0.0)
            }
        };
        Some(match *self {
            Region::Box {
                half_extents: h,
                pose,
            } => Region::Box {
                half_extents: DVec3::new(less(h.x)?, less(h.y)?, less(h.z)?),
                pose,
            },
            Region::Cylinder {
                radius,
                length,
                pose,
            } => Region::Cylinder {
                radius: less(radius)?,
                length: 2.0 * less(0.5 * length)?,
                pose,
            },
            Region::Sphere { radius, pose } => Region::Sphere {
                radius: less(radius)?,
                pose,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;

    fn regions() -> [Region; 3] {
        let pose = Pose {
            position: DVec3::new(1.0, -2.0, 0.5),
            orientation: DQuat::from_axis_angle(DVec3::new(1.0, 1.0, 0.0).normalize(), 0.7),
        };
        [
            Region::Box {
                half_extents: DVec3::new(0.5, 1.0, 2.0),
                pose,
            },
            Region::Cylinder {
                radius: 0.7,
                length: 3.0,
                pose,
            },
            Region::Sphere { radius: 1.3, pose },
        ]
    }

    /// Samples lie inside, reach everywhere, and fill a half-size region by
    /// its share of the volume.
    #[test]
    fn samples_are_uniform_in_the_region() {
        for region in regions() {
            let inner = match region {
                Region::Box { half_extents, pose } => Region::Box {
                    half_extents: half_extents * 0.5,
                    pose,
                },
                Region::Cylinder {
                    radius,
                    length,
                    pose,
                } => Region::Cylinder {
                    radius: 0.5 * radius,
                    length: 0.5 * length,
                    pose,
                },
                Region::Sphere { radius, pose } => Region::Sphere {
                    radius: 0.5 * radius,
                    pose,
                },
            };
            let n = 24;
            let (mut inside, mut total) = (0, 0);
            let bounds = region.bounds().inflated(1e-12);
            let at = |i: usize| (i as f64 + 0.5) / n as f64;
            for i in 0..n * n * n {
                let x = region.sample([at(i % n), at(i / n % n), at(i / n / n)]);
                assert!(region.contains(x) && bounds.contains(x));
                inside += usize::from(inner.contains(x));
                total += 1;
            }
            assert!(
                (inside as f64 / total as f64 - 0.125).abs() < 0.01,
                "{region:?}"
            );
            assert!((inner.volume() / region.volume() - 0.125).abs() < 1e-12);
        }
    }

    #[test]
    fn a_shrunk_region_keeps_spheres_inside_and_vanishes_when_none_fits() {
        for region in regions() {
            let inner = region.shrunk(0.3).unwrap();
            let x = inner.sample([0.999, 0.3, 0.999]);
            for direction in [DVec3::X, DVec3::Y, DVec3::Z, -DVec3::ONE.normalize()] {
                assert!(region.contains(x + direction * 0.3 * (1.0 - 1e-9)));
            }
            assert!(region.shrunk(1.4).is_none());
        }
        let exact = Region::Box {
            half_extents: DVec3::splat(0.1),
            pose: Pose::IDENTITY,
        };
        assert!(exact.shrunk(0.1 + 1e-15).is_some());
    }
}
