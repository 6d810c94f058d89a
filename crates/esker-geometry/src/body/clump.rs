//! Spheres that move as one.

use super::principal::principal_axes;
use super::union::Moments;
use super::{MassProperties, inertia_of};
use crate::Pose;
use glam::{DQuat, DVec3};
use thiserror::Error;

/// Two spheres count as touching when the gap between them is below this, in radii of the
/// smaller: users write lengths with few digits.
const TOUCHING: f64 = 1e-6;

/// Spheres fixed to one body, about the centre of mass of their union, in its principal axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Clump {
    spheres: Vec<(DVec3, f64)>,
    mass_properties: MassProperties,
    is_connected: bool,
}

/// A clump that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum ClumpError {
    /// There is nothing.
    #[error("a clump needs at least one sphere")]
    Empty,
    /// A sphere without a size.
    #[error(
        "radius of sphere {sphere} of the clump must be positive and finite, but is {radius} m"
    )]
    Radius {
        /// Its number, from one.
        sphere: usize,
        /// What was given (m).
        radius: f64,
    },
    /// A sphere that is nowhere.
    #[error("centre of sphere {sphere} of the clump must be finite, but is {centre} m")]
    Centre {
        /// Its number, from one.
        sphere: usize,
        /// What was given (m).
        centre: DVec3,
    },
}

impl Clump {
    /// The clump of these spheres (centre and radius, m), which may overlap, and the pose of its
    /// body frame in the frame that they were given in: a given point `x` is `pose.to_local(x)` in
    /// the body, and a body that shall have the spheres where they were given has that pose.
    ///
    /// Volume and inertia are those of the union, to a relative error of 1e-9.
    pub fn new(spheres: &[(DVec3, f64)]) -> Result<(Self, Pose), ClumpError> {
        check(spheres)?;
        let moments = Moments::of_union(spheres);
        let (centroid, second) = moments.central();
        let (extents, axes) = principal_axes(second * (1.0 / moments.volume));
        let pose = Pose::new(centroid, DQuat::from_mat3(&axes).normalize());
        let local = |&(centre, radius): &(DVec3, f64)| (pose.to_local(centre), radius);
        let spheres = spheres.iter().map(local).collect();
        Ok((Self::of_spheres(spheres, moments.volume, extents), pose))
    }

    /// The clump of spheres that are given in its own frame, as [`Clump::spheres`] gives them:
    /// they stay where they are, also where principal axes are a matter of choice.
    pub fn in_body_frame(spheres: &[(DVec3, f64)]) -> Result<Self, ClumpError> {
        check(spheres)?;
        let moments = Moments::of_union(spheres);
        let (_, second) = moments.central();
        let extents = DVec3::new(second.x_axis.x, second.y_axis.y, second.z_axis.z);
        let volume = moments.volume;
        Ok(Self::of_spheres(spheres.to_vec(), volume, extents / volume))
    }

    /// A clump with this volume (m³) and these mean squares of the coordinates (m²).
    fn of_spheres(spheres: Vec<(DVec3, f64)>, volume: f64, extents: DVec3) -> Self {
        Self {
            mass_properties: MassProperties {
                volume,
                inertia_per_mass: inertia_of(extents),
            },
            is_connected: is_connected(&spheres),
            spheres,
        }
    }

    /// Centres in the body frame and radii (m).
    pub fn spheres(&self) -> &[(DVec3, f64)] {
        &self.spheres
    }

    /// Whether the spheres form one piece. One that falls apart is a rigid body all the same.
    pub fn is_connected(&self) -> bool {
        self.is_connected
    }

    pub(super) fn mass_properties(&self) -> MassProperties {
        self.mass_properties
    }

    /// Largest value of a sphere.
    pub(super) fn max_of(&self, value: impl Fn(DVec3, f64) -> f64) -> f64 {
        let values = self.spheres.iter().map(|&(c, r)| value(c, r));
        values.fold(0.0, f64::max)
    }
}

fn check(spheres: &[(DVec3, f64)]) -> Result<(), ClumpError> {
    if spheres.is_empty() {
        return Err(ClumpError::Empty);
    }
    for (sphere, &(centre, radius)) in (1..).zip(spheres) {
        if !(radius > 0.0 && radius.is_finite()) {
            return Err(ClumpError::Radius { sphere, radius });
        }
        if !centre.is_finite() {
            return Err(ClumpError::Centre { sphere, centre });
        }
    }
    Ok(())
}

fn is_connected(spheres: &[(DVec3, f64)]) -> bool {
    let mut is_reached = vec![false; spheres.len()];
    is_reached[0] = true;
    let mut waiting = vec![0];
    while let Some(at) = waiting.pop() {
        let (centre, radius) = spheres[at];
        for (other, &(c, r)) in spheres.iter().enumerate() {
            let reach = radius + r + TOUCHING * radius.min(r);
            if !is_reached[other] && centre.distance(c) <= reach {
                is_reached[other] = true;
                waiting.push(other);
            }
        }
    }
    is_reached.iter().all(|reached| *reached)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body_frame_is_the_centre_of_mass_and_its_principal_axes() {
        let axis = DVec3::new(1.0, 1.0, 0.0).normalize();
        let given = [
            (DVec3::new(3.0, 1.0, 0.0) - 2.0 * axis, 1.0),
            (DVec3::new(3.0, 1.0, 0.0) + 2.0 * axis, 1.0),
        ];
        let (clump, pose) = Clump::new(&given).unwrap();
        assert!((pose.position - DVec3::new(3.0, 1.0, 0.0)).length() < 1e-14);
        for (&(local, _), (world, _)) in clump.spheres().iter().zip(given) {
            assert!((pose.to_world(local) - world).length() < 1e-14);
            let along = [local.x, local.y, local.z].map(f64::abs);
            assert_eq!(along.iter().filter(|x| **x > 1e-12).count(), 1, "{local}");
        }
        // Two balls of equal mass: 2/5 r² about the axis, and 2² more across it.
        let mut inertia = clump.mass_properties().inertia_per_mass.to_array();
        inertia.sort_by(f64::total_cmp);
        for (got, expected) in inertia.iter().zip([0.4, 4.4, 4.4]) {
            assert!((got - expected).abs() < 1e-13);
        }
        assert!(!clump.is_connected());
        assert!(
            Clump::new(&[(DVec3::ZERO, 1.0), (2.0 * DVec3::X, 1.0)])
                .unwrap()
                .0
                .is_connected()
        );
    }

    /// Four spheres at the corners of a tetrahedron have no principal axes of their own.
    #[test]
    fn spheres_in_the_body_frame_stay_where_they_are() {
        let corners = [[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]];
        let turn = DQuat::from_rotation_y(0.4);
        let given = corners.map(|c| (turn * DVec3::from(c.map(f64::from)), 1.2));
        let clump = Clump::in_body_frame(&given).unwrap();
        assert_eq!(clump.spheres(), given);
        let (other, _) = Clump::new(&given).unwrap();
        let (kept, turned) = (clump.mass_properties(), other.mass_properties());
        assert!((kept.volume / turned.volume - 1.0).abs() < 1e-8);
        let ratio = kept.inertia_per_mass / turned.inertia_per_mass;
        assert!((ratio - 1.0).abs().max_element() < 1e-8, "{ratio}");
    }

    #[test]
    fn impossible_spheres_are_named() {
        assert_eq!(Clump::new(&[]).unwrap_err(), ClumpError::Empty);
        let bad = Clump::new(&[(DVec3::ZERO, 1.0), (DVec3::X, 0.0)]).unwrap_err();
        assert_eq!(
            bad.to_string(),
            "radius of sphere 2 of the clump must be positive and finite, but is 0 m"
        );
        let lost = Clump::new(&[(DVec3::new(f64::NAN, 0.0, 0.0), 1.0)]).unwrap_err();
        assert!(matches!(lost, ClumpError::Centre { sphere: 1, .. }));
    }
}
