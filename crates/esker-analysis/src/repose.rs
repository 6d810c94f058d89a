//! Angles of repose, static and dynamic.
//!
//! * Static, from the surface: the slope of the flank between 20 and 80 % of
//!   the peak, for a cone about its centre or a ridge across its length.
//! * Dynamic, from the centre of mass of a bed in a drum (Wang et al. 2016 § 4.3): the angle
//!   from straight down to the centre of mass, about the drum's axis.
//! * Dynamic, from the surface: the slope of the surface within half a radius
//!   of the axis (Servin and Wang 2015).
//!
//! All angles in rad, positive, whatever the sense of rotation.

use glam::DVec3;

use crate::fit;
use crate::surface::{Frame, HeightMap, Profile};
use crate::{MissingField, Snapshot};

/// Shares of the peak between which a flank is fitted: below is the toe, above
/// the rounded tip.
const FLANK: [f64; 2] = [0.2, 0.8];

/// Angle of the flank of a profile that falls from its highest point, rad;
/// `None` when there are fewer than two points on the flank.
pub fn flank_angle(profile: &[[f64; 2]], floor: f64) -> Option<f64> {
    let peak = profile
        .iter()
        .map(|p| p[1])
        .fold(f64::NEG_INFINITY, f64::max)
        - floor;
    let flank: Vec<[f64; 2]> = profile
        .iter()
        .copied()
        .filter(|p| (FLANK[0] * peak..=FLANK[1] * peak).contains(&(p[1] - floor)))
        .collect();
    fit::line(&flank).map(|l| l.slope.abs().atan())
}

/// Angle of a cone about a centre, rad.
pub fn cone_angle(map: &HeightMap, centre: [f64; 2], floor: f64) -> Option<f64> {
    // Rings as wide as a cell would alternate between few and many cells.
    let profile = map.radial_profile(centre, 2.0 * map.cell, floor);
    flank_angle(&profile, floor)
}

/// Mean angle of the two flanks of a ridge profile, rad.
pub fn ridge_angle(profile: &Profile, floor: f64) -> Option<f64> {
    let top = (0..profile.len()).max_by(|&i, &j| profile[i][1].total_cmp(&profile[j][1]))?;
    let left = flank_angle(&profile[..=top], floor)?;
    let right = flank_angle(&profile[top..], floor)?;
    Some(0.5 * (left + right))
}

/// Dynamic angle in a drum from the centre of mass, rad: from straight down
/// to the centre of mass, seen along the axis.
pub fn centre_of_mass_angle(
    snapshot: &Snapshot,
    axis: DVec3,
    centre: DVec3,
) -> Result<f64, MissingField> {
    let up = snapshot.up();
    let up = (up - axis * axis.dot(up)).normalize_or_zero();
    let side = axis.cross(up);
    let arm = snapshot.centre_of_mass()? - centre;
    Ok(arm.dot(side).abs().atan2(-arm.dot(up)))
}

/// Dynamic angle in a drum from the slope of the surface within half a radius
/// of the axis, rad; `None` when there is no surface there.
pub fn drum_surface_angle(
    snapshot: &Snapshot,
    axis: DVec3,
    centre: DVec3,
    radius: f64,
) -> Option<f64> {
    let up = snapshot.up();
    let up = (up - axis * axis.dot(up)).normalize_or_zero();
    let frame = Frame {
        origin: centre,
        u: axis.cross(up),
        v: axis,
        up,
    };
    let (low, high) = snapshot
        .positions
        .iter()
        .map(|x| (*x - centre).dot(axis))
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), a| {
            (l.min(a), h.max(a))
        });
    if low >= high {
        return None;
    }
    let half = 0.5 * radius;
    let cell = 0.5 * snapshot.mean_diameter();
    let map = HeightMap::new(snapshot, frame, [-half, low], [half, high], cell);
    let points: Vec<[f64; 2]> = (0..map.cells[1])
        .flat_map(|j| (0..map.cells[0]).map(move |i| (i, j)))
        .map(|(i, j)| {
            [
                map.low[0] + (i as f64 + 0.5) * cell,
                map.height[j * map.cells[0] + i],
            ]
        })
        .filter(|p| p[1].is_finite())
        .collect();
    fit::line(&points).map(|l| l.slope.abs().atan())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::equal_grains;

    /// A solid heap of small grains on a lattice below the surface `height(x, y)`.
    fn heap(height: impl Fn(f64, f64) -> f64) -> Snapshot {
        let mut positions = Vec::new();
        for i in -40..=40 {
            for j in -40..=40 {
                let (x, y) = (i as f64 * 0.05, j as f64 * 0.05);
                let mut z = height(x, y) - 0.04;
                while z > -1.0 {
                    positions.push(DVec3::new(x, y, z));
                    z -= 0.5;
                }
            }
        }
        equal_grains(positions, 0.04)
    }

    #[test]
    fn a_cone_and_a_ridge_give_their_angle() {
        let slope = 30_f64.to_radians().tan();
        let cone = heap(|x, y| (1.0 - slope * x.hypot(y)).max(0.0));
        let map = HeightMap::new(&cone, Frame::WORLD, [-2.0; 2], [2.0; 2], 0.04);
        let angle = cone_angle(&map, [0.0; 2], 0.0).unwrap().to_degrees();
        assert!((angle - 30.0).abs() < 1.0, "{angle}");
        let ridge = heap(|x, _| (1.0 - slope * x.abs()).max(0.0));
        let map = HeightMap::new(&ridge, Frame::WORLD, [-2.0; 2], [2.0; 2], 0.05);
        let angle = ridge_angle(&map.profile_along_u(0.0), 0.0).unwrap();
        assert!((angle.to_degrees() - 30.0).abs() < 1.0);
    }

    #[test]
    fn a_tilted_bed_in_a_drum_gives_its_tilt_both_ways() {
        let tilt = 25_f64.to_radians();
        let normal = DVec3::new(-tilt.sin(), 0.0, tilt.cos());
        let positions = (-50..=50)
            .flat_map(|i| (-50..=50).map(move |k| (i as f64 * 0.02, k as f64 * 0.02)))
            .flat_map(|(x, z)| [-0.05, 0.0, 0.05].map(|y| DVec3::new(x, y, z)))
            .filter(|x| x.x.hypot(x.z) < 1.0 && x.dot(normal) < 0.0)
            .collect();
        let snapshot = equal_grains(positions, 0.015);
        let by_mass = centre_of_mass_angle(&snapshot, DVec3::Y, DVec3::ZERO)
            .unwrap()
            .to_degrees();
        let by_surface = drum_surface_angle(&snapshot, DVec3::Y, DVec3::ZERO, 1.0)
            .unwrap()
            .to_degrees();
        assert!((by_mass - 25.0).abs() < 0.3, "{by_mass}");
        assert!((by_surface - 25.0).abs() < 1.5, "{by_surface}");
    }

    #[test]
    fn a_flat_bed_has_no_flank() {
        assert_eq!(flank_angle(&[], 0.0), None);
    }
}
