//! Pressure on the wall of an upright container over height, and Janssen's law.
//!
//! The pressure of a strip of height `Δz` on a wall of perimeter `P` is the
//! sum of normal forces of its contacts over `P Δz`. Janssen: below a depth of
//! some radii walls carry the weight, and the pressure saturates,
//!
//! ```text
//! p(ζ) = p_sat (1 − exp(−ζ/ζ_0)),                                  (1)
//! m_app = m_sat (1 − exp(−m_fill/m_sat)),                          (2)
//! ```
//!
//! with depth `ζ` below the surface and apparent mass `m_app` on the base
//! (Servin et al. 2014 § 5.3; `m_sat = ρ A R/(2 µ_w K)`, R the radius).

use crate::fit::{self, Fit};
use crate::{MissingField, Partner, Snapshot};

/// One strip of wall.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Strip {
    /// Height of its middle, m.
    pub height: f64,
    /// Mean normal pressure, Pa.
    pub pressure: f64,
    /// Mean shear stress along gravity, Pa: the weight it carries per area.
    pub shear: f64,
}

/// What a profile is taken over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Strips {
    /// Index of the wall.
    pub wall: usize,
    /// Perimeter of the wall, m.
    pub perimeter: f64,
    /// Height of the base, m.
    pub base: f64,
    /// Height of a strip, m.
    pub height: f64,
    /// How many strips.
    pub count: usize,
}

/// Pressure and shear on the strips of a wall.
pub fn profile(snapshot: &Snapshot, strips: Strips) -> Result<Vec<Strip>, MissingField> {
    let up = snapshot.up();
    let area = strips.perimeter * strips.height;
    let mut out: Vec<Strip> = (0..strips.count)
        .map(|k| Strip {
            height: strips.base + (k as f64 + 0.5) * strips.height,
            pressure: 0.0,
            shear: 0.0,
        })
        .collect();
    let on_wall = snapshot
        .contacts()?
        .iter()
        .filter(|c| c.partner == Partner::Wall(strips.wall));
    for contact in on_wall {
        let place = (contact.point.dot(up) - strips.base) / strips.height;
        // Contacts with the base are not horizontal and do not count.
        let sideways = contact.normal.dot(up).abs() < 0.5;
        if place >= 0.0
            && sideways
            && let Some(strip) = out.get_mut(place as usize)
        {
            strip.pressure += contact.normal_force / area;
            strip.shear -= contact.friction_force.dot(up) / area;
        }
    }
    Ok(out)
}

/// Fits (1) to points (depth, pressure): parameters `[p_sat, ζ_0]`.
pub fn fit_janssen(points: &[[f64; 2]]) -> Option<Fit> {
    let data: Vec<f64> = points.iter().map(|p| p[1]).collect();
    let max = data.iter().copied().fold(0.0, f64::max);
    let depth = points.iter().map(|p| p[0]).fold(0.0, f64::max);
    if max <= 0.0 || depth <= 0.0 {
        return None;
    }
    // In the logarithms both parameters stay positive.
    let law = |q: &[f64], i: usize| q[0].exp() * (1.0 - (-points[i][0] / q[1].exp()).exp());
    let found = fit::model(&data, &[max.ln(), (0.3 * depth).ln()], law)?;
    let parameters: Vec<f64> = found.parameters.iter().map(|q| q.exp()).collect();
    let errors = found
        .errors
        .iter()
        .zip(&parameters)
        .map(|(e, p)| e * p)
        .collect();
    Some(Fit {
        parameters,
        errors,
        r_squared: found.r_squared,
    })
}

/// Apparent mass (2) on the base, kg.
pub fn apparent_mass(fill: f64, saturation: f64) -> f64 {
    saturation * (1.0 - (-fill / saturation).exp())
}

/// The saturation mass of (2) that gives a measured apparent mass; `None` when
/// the base carries all or more.
pub fn saturation_mass(fill: f64, apparent: f64) -> Option<f64> {
    if !(0.0 < apparent && apparent < fill) {
        return None;
    }
    // m_app grows with m_sat: bisection on a bracket that always holds it.
    let (mut low, mut high) = (apparent, apparent);
    while apparent_mass(fill, high) < apparent {
        high *= 2.0;
        if high > 1e9 * fill {
            return None;
        }
    }
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if apparent_mass(fill, middle) < apparent {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(0.5 * (low + high))
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;
    use crate::snapshot::{bare_contact, equal_grains};

    #[test]
    fn strips_collect_normal_force_over_area_and_ignore_the_base() {
        let mut snapshot = equal_grains(vec![DVec3::ZERO], 0.1);
        let at = |z: f64, force: f64| {
            let mut c = bare_contact(0, Partner::Wall(1), DVec3::X);
            c.point = DVec3::new(1.0, 0.0, z);
            c.normal_force = force;
            // Friction on the wall points down: it carries weight.
            c.friction_force = DVec3::NEG_Z * (0.5 * force);
            c
        };
        let mut base = at(0.05, 100.0);
        base.normal = DVec3::NEG_Z;
        let mut other = at(0.05, 100.0);
        other.partner = Partner::Wall(0);
        snapshot.contacts = Some(vec![at(0.1, 4.0), at(0.2, 2.0), at(0.7, 8.0), base, other]);
        let strips = Strips {
            wall: 1,
            perimeter: 2.0,
            base: 0.0,
            height: 0.5,
            count: 2,
        };
        let found = profile(&snapshot, strips).unwrap();
        assert_eq!([found[0].pressure, found[1].pressure], [6.0, 8.0]);
        assert_eq!([found[0].shear, found[1].height], [3.0, 0.75]);
    }

    #[test]
    fn janssen_parameters_come_back_from_its_own_law() {
        let points: Vec<[f64; 2]> = (1..30)
            .map(|i| 0.02 * i as f64)
            .map(|z| [z, 900.0 * (1.0 - (-z / 0.11_f64).exp())])
            .collect();
        let fit = fit_janssen(&points).unwrap();
        assert!((fit.parameters[0] / 900.0 - 1.0).abs() < 1e-6);
        assert!((fit.parameters[1] / 0.11 - 1.0).abs() < 1e-6);
        assert_eq!(fit_janssen(&[[0.1, 0.0]]), None);
    }

    #[test]
    fn saturation_mass_inverts_apparent_mass() {
        let apparent = apparent_mass(3.0, 1.2);
        assert!((saturation_mass(3.0, apparent).unwrap() - 1.2).abs() < 1e-9);
        assert_eq!(saturation_mass(3.0, 3.0), None);
    }
}
