//! The state of a granular system at one time, as plain data.

use glam::DVec3;

/// The other body of a contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Partner {
    /// The grain with this index in the snapshot.
    Grain(usize),
    /// The wall with this index.
    Wall(usize),
}

/// One contact that carries load or touches. `a` is the grain, `b` its partner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactState {
    /// Body `a`: a grain.
    pub grain: usize,
    /// Body `b`.
    pub partner: Partner,
    /// Contact point, m.
    pub point: DVec3,
    /// Unit normal from `a` to `b`.
    pub normal: DVec3,
    /// Overlap δ, m; negative for a gap.
    pub overlap: f64,
    /// Diameter that overlaps are compared with, m.
    pub diameter: f64,
    /// Normal force, N; ≥ 0 pushes apart.
    pub normal_force: f64,
    /// Friction force on `b`, N, perpendicular to the normal.
    pub friction_force: DVec3,
    /// Rolling and twisting torque on `b`, N m.
    pub torque: DVec3,
    /// Velocity of `b` relative to `a` at the contact point, m/s.
    pub relative_velocity: DVec3,
    /// Angular velocity of `b` relative to `a`, rad/s.
    pub relative_angular_velocity: DVec3,
    /// Velocity of `b`'s material at the contact point, m/s.
    pub partner_velocity: DVec3,
    /// Coulomb friction coefficient of the pair.
    pub friction: f64,
}

impl ContactState {
    /// Force on `b`, N.
    pub fn force(&self) -> DVec3 {
        self.normal * self.normal_force + self.friction_force
    }

    /// Normal velocity, m/s; positive when separating.
    pub fn normal_velocity(&self) -> f64 {
        self.normal.dot(self.relative_velocity)
    }

    /// Sliding velocity of `b` over `a`, m/s.
    pub fn slip(&self) -> DVec3 {
        self.relative_velocity - self.normal * self.normal_velocity()
    }
}

/// The state of a granular system at one time. Arrays share one index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// Time, s.
    pub time: f64,
    /// Gravity, m/s².
    pub gravity: DVec3,
    /// Centres, m.
    pub positions: Vec<DVec3>,
    /// Radii, m.
    pub radii: Vec<f64>,
    /// Masses, kg, where known.
    pub masses: Option<Vec<f64>>,
    /// Velocities, m/s, where known.
    pub velocities: Option<Vec<DVec3>>,
    /// Angular velocities, rad/s, where known.
    pub angular_velocities: Option<Vec<DVec3>>,
    /// Contacts, where known.
    pub contacts: Option<Vec<ContactState>>,
}

/// A measure needs a field that the snapshot does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this measure needs {field}, which were not recorded: \
     write `{advice}` in the [record] table of the scene and run it again"
)]
pub struct MissingField {
    /// Name of the field.
    pub field: &'static str,
    /// What to write in the scene's `[record]` table.
    pub advice: &'static str,
}

impl Snapshot {
    /// How many grains there are.
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// Masses, kg.
    pub fn masses(&self) -> Result<&[f64], MissingField> {
        self.masses.as_deref().ok_or(MissingField {
            field: "masses",
            advice: "fields = [\"position\", \"radius\", \"mass\"]",
        })
    }

    /// Velocities, m/s.
    pub fn velocities(&self) -> Result<&[DVec3], MissingField> {
        self.velocities.as_deref().ok_or(MissingField {
            field: "velocities",
            advice: "fields = [\"position\", \"velocity\"]",
        })
    }

    /// Angular velocities, rad/s.
    pub fn angular_velocities(&self) -> Result<&[DVec3], MissingField> {
        self.angular_velocities.as_deref().ok_or(MissingField {
            field: "angular velocities",
            advice: "fields = [\"position\", \"velocity\", \"spin\"]",
        })
    }

    /// Contacts.
    pub fn contacts(&self) -> Result<&[ContactState], MissingField> {
        self.contacts.as_deref().ok_or(MissingField {
            field: "contacts",
            advice: "contacts = true",
        })
    }

    /// Mass of all grains, kg.
    pub fn mass(&self) -> Result<f64, MissingField> {
        Ok(self.masses()?.iter().sum())
    }

    /// Centre of mass, m; zero when there are no grains.
    pub fn centre_of_mass(&self) -> Result<DVec3, MissingField> {
        let terms = self.positions.iter().zip(self.masses()?);
        let moment: DVec3 = terms.map(|(x, m)| *x * *m).sum();
        if self.is_empty() {
            Ok(DVec3::ZERO)
        } else {
            Ok(moment / self.mass()?)
        }
    }

    /// Direction against gravity; z where there is no gravity.
    pub fn up(&self) -> DVec3 {
        let up = (-self.gravity).normalize_or_zero();
        if up == DVec3::ZERO { DVec3::Z } else { up }
    }

    /// Mean diameter by number, m; zero when there are no grains.
    pub fn mean_diameter(&self) -> f64 {
        if self.is_empty() {
            0.0
        } else {
            2.0 * self.radii.iter().sum::<f64>() / self.len() as f64
        }
    }

    /// Kinetic energy of translation, J.
    pub fn translational_energy(&self) -> Result<f64, MissingField> {
        let terms = self.velocities()?.iter().zip(self.masses()?);
        Ok(terms.map(|(v, m)| 0.5 * m * v.length_squared()).sum())
    }

    /// Kinetic energy of rotation, J, of homogeneous spheres.
    pub fn rotational_energy(&self) -> Result<f64, MissingField> {
        let terms = self
            .angular_velocities()?
            .iter()
            .zip(self.masses()?)
            .zip(&self.radii);
        Ok(terms
            .map(|((w, m), r)| 0.2 * m * r * r * w.length_squared())
            .sum())
    }
}

/// Grains of equal size with unit density: what tests are made of.
#[cfg(test)]
pub(crate) fn equal_grains(positions: Vec<DVec3>, radius: f64) -> Snapshot {
    let count = positions.len();
    let mass = 4.0 / 3.0 * std::f64::consts::PI * radius.powi(3);
    Snapshot {
        gravity: DVec3::new(0.0, 0.0, -9.81),
        positions,
        radii: vec![radius; count],
        masses: Some(vec![mass; count]),
        ..Default::default()
    }
}

/// A contact with nothing but bodies and a normal: what tests are made of.
#[cfg(test)]
pub(crate) fn bare_contact(grain: usize, partner: Partner, normal: DVec3) -> ContactState {
    ContactState {
        grain,
        partner,
        point: DVec3::ZERO,
        normal,
        overlap: 0.0,
        diameter: 1.0,
        normal_force: 0.0,
        friction_force: DVec3::ZERO,
        torque: DVec3::ZERO,
        relative_velocity: DVec3::ZERO,
        relative_angular_velocity: DVec3::ZERO,
        partner_velocity: DVec3::ZERO,
        friction: 0.5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_field_is_named_with_the_way_to_record_it() {
        let snapshot = equal_grains(vec![DVec3::ZERO], 0.1);
        let text = snapshot.contacts().unwrap_err().to_string();
        assert!(text.contains("contacts") && text.contains("[record]"));
        assert!(snapshot.velocities().is_err() && snapshot.angular_velocities().is_err());
    }

    #[test]
    fn unknown_masses_give_no_number_that_needs_them() {
        let mut snapshot = equal_grains(vec![DVec3::ZERO, DVec3::X], 0.1);
        snapshot.velocities = Some(vec![DVec3::X; 2]);
        assert_eq!(snapshot.centre_of_mass(), Ok(DVec3::X * 0.5));
        snapshot.masses = None;
        let text = snapshot.mass().unwrap_err().to_string();
        assert!(
            text.contains("masses") && text.contains("\"mass\""),
            "{text}"
        );
        assert!(snapshot.centre_of_mass().is_err() && snapshot.translational_energy().is_err());
    }

    #[test]
    fn a_rolling_sphere_has_two_fifths_more_energy() {
        let mut snapshot = equal_grains(vec![DVec3::ZERO], 0.5);
        snapshot.velocities = Some(vec![DVec3::X]);
        snapshot.angular_velocities = Some(vec![DVec3::Y / 0.5]);
        let ratio =
            snapshot.rotational_energy().unwrap() / snapshot.translational_energy().unwrap();
        assert!((ratio - 0.4).abs() < 1e-12);
    }
}
