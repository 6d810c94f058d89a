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

/// Standard errors by which a slope must exceed zero.
const SIGNIFICANT: f64 = 3.0;
/// Share of the peak by which a surface must fall from its centre to its foot;
/// a cone falls by all but what is left out at the toe.
const LEAST_FALL: f64 = 0.3;

/// Whether a surface falls from a centre outwards, beyond its own roughness: a
/// line through the heights of all cells with grains, from the centre to the
/// radius at which the mean height is a fifth of the peak, falls significantly,
/// by at least a grain `diameter` and by three tenths of the peak. A flat bed
/// with edges does not.
pub fn falls_from(map: &HeightMap, centre: [f64; 2], floor: f64, diameter: f64) -> bool {
    let profile = map.radial_profile(centre, 2.0 * map.cell, floor);
    let heights = profile.iter().map(|p| p[1] - floor);
    let peak = heights.fold(f64::NEG_INFINITY, f64::max);
    let in_pile = |p: &&[f64; 2]| p[1] - floor >= FLANK[0] * peak;
    let Some(foot) = profile.iter().rev().find(in_pile).map(|p| p[0]) else {
        return false;
    };
    let mut points = map.points_about(centre);
    points.retain(|[r, _]| *r <= foot);
    fit::line(&points).is_some_and(|line| {
        let fall = -line.slope * foot;
        -line.slope > SIGNIFICANT * line.slope_error
            && fall >= diameter
            && fall >= LEAST_FALL * peak
    })
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

    /// Grains on a floor in layers with holes, in boxes and round containers:
    /// their edges are no slope. A cone and a dome are one, also small ones.
    #[test]
    fn a_flat_bed_does_not_fall_and_a_heap_does() {
        let hash = |i: i32, j: i32| {
            let x = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (j as u64) << 17;
            (x.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as f64 / (1u64 << 24) as f64
        };
        let surface = |reach: i32, height: &dyn Fn(i32, i32) -> f64| {
            let places = (-reach..=reach).flat_map(|i| (-reach..=reach).map(move |j| (i, j)));
            let positions = places
                .map(|(i, j)| DVec3::new(f64::from(i), f64::from(j), height(i, j)))
                .filter(|x| x.z >= 0.5)
                .collect();
            let snapshot = equal_grains(positions, 0.5);
            // Grains are in the middles of cells.
            let edge = f64::from(reach) + 0.5;
            let map = HeightMap::new(&snapshot, Frame::WORLD, [-edge; 2], [edge; 2], 1.0);
            falls_from(&map, [0.0; 2], 0.0, 1.0)
        };
        let radius = |i: i32, j: i32| f64::from(i).hypot(f64::from(j));
        for layers in [1.0, 2.0, 5.0] {
            let rough = |i, j| 0.5 + (layers - 1.0 + 0.8 * hash(i, j)).floor();
            assert!(!surface(12, &rough), "a box of {layers} layers");
            let round = |i, j| {
                if radius(i, j) <= 12.0 {
                    rough(i, j)
                } else {
                    -1.0
                }
            };
            assert!(!surface(12, &round), "a tub of {layers} layers");
            let oblong = |i, j: i32| if j.abs() < 5 { rough(i, j) } else { -1.0 };
            assert!(!surface(12, &oblong), "a trough of {layers} layers");
        }
        let tilted = |i: i32, _| 8.0 + 0.5 * f64::from(i);
        assert!(!surface(12, &tilted), "a tilted bed has no peak");
        for base in [5.0, 12.0] {
            let cone = |i, j| 0.4 * (base - radius(i, j)) + 0.5 * hash(i, j);
            assert!(surface(12, &cone), "a cone of radius {base}");
        }
        let dome = |i, j| 6.0 * (1.0 - (radius(i, j) / 11.0).powi(2));
        assert!(surface(12, &dome));
    }

    #[test]
    fn a_flat_bed_has_no_flank() {
        assert_eq!(flank_angle(&[], 0.0), None);
    }
}
