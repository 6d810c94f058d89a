//! The plug zone of a turning drum: grains that move with it as if fixed.
//!
//! A grain belongs to it when `|v − Ω × x| / (R Ω) ≤ 0.15` (Wang et al. 2016 § 4.3).

use glam::DVec3;

use crate::{MissingField, Snapshot};

/// The threshold of Wang et al. 2016, in units of the drum's surface speed.
pub const THRESHOLD: f64 = 0.15;

/// Speed of each grain relative to the turning drum, in units of its surface
/// speed `R Ω`. `centre` is a point of the axis.
pub fn relative_speeds(
    snapshot: &Snapshot,
    rate: DVec3,
    centre: DVec3,
    radius: f64,
) -> Result<Vec<f64>, MissingField> {
    let surface = radius * rate.length();
    Ok(snapshot
        .velocities()?
        .iter()
        .zip(&snapshot.positions)
        .map(|(v, x)| (*v - rate.cross(*x - centre)).length() / surface)
        .collect())
}

/// Share of grains in the plug zone, by number.
pub fn fraction(
    snapshot: &Snapshot,
    rate: DVec3,
    centre: DVec3,
    radius: f64,
) -> Result<f64, MissingField> {
    let speeds = relative_speeds(snapshot, rate, centre, radius)?;
    let inside = speeds.iter().filter(|s| **s <= THRESHOLD).count();
    Ok(inside as f64 / speeds.len().max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::equal_grains;

    #[test]
    fn grains_that_turn_with_the_drum_are_counted_and_no_others() {
        let rate = DVec3::Y * 2.0;
        let positions: Vec<DVec3> = (0..10).map(|i| DVec3::X * (0.1 * i as f64)).collect();
        let mut snapshot = equal_grains(positions.clone(), 0.01);
        let slip = |i: usize| if i < 3 { 0.29 } else { 0.31 };
        snapshot.velocities = Some(
            positions
                .iter()
                .enumerate()
                // 0.15 of the surface speed of a drum of radius 1 is 0.3 m/s.
                .map(|(i, x)| rate.cross(*x) + DVec3::Z * slip(i))
                .collect(),
        );
        assert_eq!(fraction(&snapshot, rate, DVec3::ZERO, 1.0), Ok(0.3));
    }
}
