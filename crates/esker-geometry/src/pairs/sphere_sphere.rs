//! Sphere against sphere.

use glam::DVec3;

/// Where two spheres touch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SphereTouch {
    /// Unit vector from the centre of `a` to the centre of `b`.
    pub normal: DVec3,
    /// Midway between the two surfaces on the line of centres (m).
    pub point: DVec3,
    /// Penetration (m), `-gap` when the spheres do not meet yet.
    pub overlap: f64,
}

/// The touch of spheres `a` and `b` if `overlap > -margin`.
///
/// Coincident centres have no direction of their own and get `+z`, so that the same state always
/// gives the same normal. Non-finite centres never touch.
pub fn sphere_sphere(
    centre_a: DVec3,
    radius_a: f64,
    centre_b: DVec3,
    radius_b: f64,
    margin: f64,
) -> Option<SphereTouch> {
    let offset = centre_b - centre_a;
    let reach = radius_a + radius_b + margin;
    let squared = offset.length_squared();
    if reach <= 0.0 || squared.is_nan() || squared >= reach * reach {
        return None;
    }
    Some(SphereTouch::of(centre_a, radius_a, centre_b, radius_b))
}

impl SphereTouch {
    /// Of two spheres with finite centres, however far apart.
    #[inline]
    pub fn of(centre_a: DVec3, radius_a: f64, centre_b: DVec3, radius_b: f64) -> Self {
        let offset = centre_b - centre_a;
        // The square of a distance below 1e-154 underflows; such spheres are coincident anyway.
        let distance = offset.length();
        let normal = if distance > f64::MIN_POSITIVE.sqrt() {
            offset / distance
        } else {
            DVec3::Z
        };
        SphereTouch {
            normal,
            point: centre_a + 0.5 * (radius_a + distance - radius_b) * normal,
            overlap: radius_a + radius_b - distance,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn point_lies_midway_between_the_surfaces() {
        let touch = sphere_sphere(DVec3::ZERO, 1.0, DVec3::new(0.0, 2.8, 0.0), 2.0, 0.0).unwrap();
        assert_eq!(touch.normal, DVec3::Y);
        assert!((touch.overlap - 0.2).abs() < 1e-15);
        assert!((touch.point - DVec3::new(0.0, 0.9, 0.0)).length() < 1e-15);
    }

    #[test]
    fn margin_reports_gaps_and_nothing_beyond() {
        let at = |x| sphere_sphere(DVec3::ZERO, 1.0, DVec3::new(x, 0.0, 0.0), 1.0, 0.1);
        assert!((at(2.05).unwrap().overlap + 0.05).abs() < 1e-15);
        assert!(at(2.15).is_none());
    }

    #[test]
    fn coincident_and_non_finite_centres_are_survived() {
        let touch = sphere_sphere(DVec3::ONE, 1.0, DVec3::ONE, 0.5, 0.0).unwrap();
        assert_eq!((touch.normal, touch.overlap), (DVec3::Z, 1.5));
        assert!(sphere_sphere(DVec3::NAN, 1.0, DVec3::ONE, 0.5, 0.0).is_none());
        let denormal = DVec3::new(1e-200, 0.0, 0.0);
        let touch = sphere_sphere(DVec3::ZERO, 1.0, denormal, 0.5, 0.0).unwrap();
        assert!(touch.normal.is_normalized());
    }
}
