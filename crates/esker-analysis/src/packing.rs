//! Packing fraction: volume of grains over volume of space.
//!
//! Between two levels of a container with straight walls the volume of each
//! sphere is exact: a sphere of radius `r` has, below the level `t` above its
//! centre, the volume `π (t + r)² (2r − t)/3` for `|t| ≤ r`.

use std::f64::consts::PI;

use glam::DVec3;

use crate::Snapshot;

/// Volume of a sphere below a plane at signed distance `t` from its centre, m³.
pub fn sphere_volume_below(radius: f64, t: f64) -> f64 {
    let t = t.clamp(-radius, radius);
    PI * (t + radius).powi(2) * (2.0 * radius - t) / 3.0
}

/// Packing fraction between the levels `low` and `high` along the unit
/// direction `up`, in a container with cross-section `area`, m².
pub fn slab_fraction(snapshot: &Snapshot, up: DVec3, [low, high]: [f64; 2], area: f64) -> f64 {
    let volume: f64 = snapshot
        .positions
        .iter()
        .zip(&snapshot.radii)
        .map(|(x, &r)| {
            let z = x.dot(up);
            sphere_volume_below(r, high - z) - sphere_volume_below(r, low - z)
        })
        .sum();
    volume / (area * (high - low))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::equal_grains;

    #[test]
    fn a_cubic_lattice_has_pi_over_six_in_every_slab_of_whole_layers() {
        let positions = (0..6)
            .flat_map(|i| (0..6).flat_map(move |j| (0..6).map(move |k| (i, j, k))))
            .map(|(i, j, k)| DVec3::new(i as f64, j as f64, k as f64))
            .collect();
        let snapshot = equal_grains(positions, 0.5);
        for low in [0.0, 0.3, 0.5] {
            let fraction = slab_fraction(&snapshot, DVec3::Z, [low, low + 3.0], 36.0);
            assert!((fraction - PI / 6.0).abs() < 1e-12);
        }
    }

    #[test]
    fn half_a_sphere_is_half_its_volume() {
        let whole = sphere_volume_below(2.0, 9.0);
        assert!((whole - 4.0 / 3.0 * PI * 8.0).abs() < 1e-12);
        assert!((sphere_volume_below(2.0, 0.0) - 0.5 * whole).abs() < 1e-12);
        assert_eq!(sphere_volume_below(2.0, -3.0), 0.0);
    }
}
