//! Flow in a section of a rotating drum: the angle of its bed, how fast it goes along the axis, and
//! how its surface moves, as Wang et al. 2015 (Table 4) measure them.

use glam::DVec3;

use crate::repose::centre_of_mass_angle;
use crate::{MissingField, Snapshot};

/// Angles from straight down between which the surface is looked at, degrees: 160° and 135° from
/// straight up.
const SURFACE: [f64; 2] = [20.0, 45.0];
/// Sectors of it, each with a surface of its own.
const SECTORS: usize = 12;

/// A section of a drum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DrumSection {
    /// A point of the axis, m.
    pub centre: DVec3,
    /// Unit direction of the axis.
    pub axis: DVec3,
    /// Where it begins and ends along the axis, from that point, m.
    pub from_to: [f64; 2],
}

/// Velocities of the surface, m/s.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SurfaceFlow {
    /// Speed `v_s`.
    pub speed: f64,
    /// Along the axis, `v_sz`.
    pub axial: f64,
    /// In the cross-section, `v_s⊥`.
    pub across: f64,
}

impl DrumSection {
    /// Whether a point lies in the section.
    pub fn contains(&self, point: DVec3) -> bool {
        let along = (point - self.centre).dot(self.axis);
        (self.from_to[0]..self.from_to[1]).contains(&along)
    }

    /// The part of a snapshot in the section, without contacts.
    pub fn part_of(&self, snapshot: &Snapshot) -> Snapshot {
        let inside: Vec<usize> = (0..snapshot.len())
            .filter(|&i| self.contains(snapshot.positions[i]))
            .collect();
        let vectors = |v: &[DVec3]| inside.iter().map(|&i| v[i]).collect::<Vec<_>>();
        let numbers = |v: &[f64]| inside.iter().map(|&i| v[i]).collect::<Vec<_>>();
        Snapshot {
            time: snapshot.time,
            gravity: snapshot.gravity,
            positions: vectors(&snapshot.positions),
            radii: numbers(&snapshot.radii),
            masses: snapshot.masses.as_deref().map(numbers),
            velocities: snapshot.velocities.as_deref().map(vectors),
            ..Default::default()
        }
    }

    /// Angle of the bed of a part from straight down to its centre of mass, rad.
    pub fn angle(&self, part: &Snapshot) -> Result<f64, MissingField> {
        centre_of_mass_angle(part, self.axis, self.centre)
    }

    /// Mean velocity of a part along the axis, m/s; not a number where there is none.
    pub fn transport(&self, part: &Snapshot) -> f64 {
        let velocities = part.velocities.as_deref().unwrap_or(&[]);
        let sum: f64 = velocities.iter().map(|v| v.dot(self.axis)).sum();
        sum / velocities.len() as f64
    }

    /// Mean velocity of the grains at the surface of a part. In every sector they are the
    /// innermost layer, one diameter thick, m, that has at least half as many grains as the
    /// fullest one. (The innermost grain of a sector, which was the surface once, is most often
    /// one in flight, and so are those beside it.)
    pub fn surface(&self, part: &Snapshot, diameter: f64) -> Option<SurfaceFlow> {
        let up = part.up();
        let up = up.reject_from_normalized(self.axis).normalize_or_zero();
        let side = self.axis.cross(up);
        let mut sectors = [const { Vec::new() }; SECTORS];
        for (x, &velocity) in part.positions.iter().zip(part.velocities.as_deref()?) {
            let arm = *x - self.centre;
            let (aside, below) = (arm.dot(side), -arm.dot(up));
            let angle = aside.abs().atan2(below).to_degrees();
            let share = (angle - SURFACE[0]) / (SURFACE[1] - SURFACE[0]);
            if (0.0..1.0).contains(&share) {
                let sector = (share * SECTORS as f64) as usize;
                sectors[sector].push((aside.hypot(below), velocity));
            }
        }
        let (mut sum, mut count) = (DVec3::ZERO, 0.0);
        for sector in &mut sectors {
            sector.sort_by(|a, b| a.0.total_cmp(&b.0));
            for (_, velocity) in surface_layer(sector, diameter) {
                sum += *velocity;
                count += 1.0;
            }
        }
        let mean = (count > 0.0).then(|| sum / count)?;
        let axial = mean.dot(self.axis);
        Some(SurfaceFlow {
            speed: mean.length(),
            axial,
            across: mean.reject_from_normalized(self.axis).length(),
        })
    }
}

/// Of distances in ascending order the first layer of this thickness that has at least half as
/// many as any.
fn surface_layer<T>(sorted: &[(f64, T)], thickness: f64) -> &[(f64, T)] {
    let layer = |first: usize| {
        let end = sorted[first].0 + thickness;
        let within = sorted[first..].partition_point(|(distance, _)| *distance < end);
        &sorted[first..first + within]
    };
    let layers = || (0..sorted.len()).map(layer);
    let fullest = layers().map(<[_]>::len).max().unwrap_or(0);
    let mut full = layers().filter(|layer| 2 * layer.len() >= fullest);
    full.next().unwrap_or(&[])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A layer at 30° in a drum along y, of which the inner half flows, a grain in flight above it,
    /// and one elsewhere.
    #[test]
    fn measures_of_a_bed_are_those_that_it_was_made_with() {
        let at = |angle: f64, r: f64, y: f64| {
            let (sine, cosine) = angle.to_radians().sin_cos();
            DVec3::new(-r * sine, y, -r * cosine)
        };
        let mut snapshot = Snapshot {
            gravity: DVec3::new(0.0, 1.0, -9.0),
            ..Default::default()
        };
        let (mut velocities, mut masses) = (Vec::new(), Vec::new());
        let mut add = |x: DVec3, velocity: DVec3| {
            snapshot.positions.push(x);
            snapshot.radii.push(0.02);
            velocities.push(velocity);
            masses.push(1.0);
        };
        for k in 0..26 {
            for y in [0.3, 0.5, 0.7] {
                add(at(17.0 + f64::from(k), 1.0, y), DVec3::ZERO);
                add(at(17.0 + f64::from(k), 0.95, y), DVec3::new(0.6, 0.5, -0.8));
            }
        }
        // In the middle, where it does not turn the centre of mass.
        add(at(29.5, 0.8, 0.5), DVec3::new(6.0, 0.25, -8.0));
        add(at(30.0, 0.9, 2.0), DVec3::splat(9.0));
        (snapshot.velocities, snapshot.masses) = (Some(velocities), Some(masses));
        let section = DrumSection {
            centre: DVec3::ZERO,
            axis: DVec3::Y,
            from_to: [0.0, 1.0],
        };
        let part = section.part_of(&snapshot);
        assert_eq!(part.len(), 157);
        let angle = section.angle(&part).unwrap().to_degrees();
        assert!((angle - 29.5).abs() < 0.1, "{angle}");
        assert!((section.transport(&part) - 0.25).abs() < 1e-12);
        let surface = section.surface(&part, 0.04).unwrap();
        assert!((surface.axial - 0.5).abs() < 1e-12);
        assert!((surface.across - 1.0).abs() < 1e-12);
        assert!((surface.speed - 1.25_f64.sqrt()).abs() < 1e-12);
    }
}
