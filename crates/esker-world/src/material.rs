//! From material properties to the constants of a contact.

use esker_contact::{Damping, Stabilisation};
use esker_geometry::portable;

use crate::assemble::StepConstants;
use crate::definition::{Cohesion, Material, NormalLaw, PairDef, PairLaw};

/// The law of one pair of materials, ready for assembly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairConstants {
    /// The law as given.
    pub law: PairLaw,
    elastic: Elastic,
    /// Normal damping.
    damping: Damping,
}

/// How stiff a contact is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Elastic {
    /// Curved surfaces: `4/3 E*`, Pa.
    Hertz(f64),
    /// The law's own stiffness, N/m.
    Linear(f64),
    /// Flat faces, edges and corners: `E*`, Pa.
    Flat(f64),
}

/// What kind of surfaces meet in a contact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContactClass {
    /// Spheres and smooth walls, or other curved bodies in one point.
    #[default]
    Curved,
    /// One of several points in which curved bodies touch.
    Several,
    /// A point of flat faces, edges and corners.
    Flat,
}

impl ContactClass {
    /// All of them.
    pub const ALL: [ContactClass; 3] = [
        ContactClass::Curved,
        ContactClass::Several,
        ContactClass::Flat,
    ];

    /// Stiffness cap over that of single points: with several points a body that
    /// rocks on them needs twice as much.
    fn cap_factor(self) -> f64 {
        match self {
            ContactClass::Curved => 1.0,
            ContactClass::Several | ContactClass::Flat => 2.0,
        }
    }
}

impl PairConstants {
    fn new(a: &Material, b: &Material, law: PairLaw, class: ContactClass) -> Self {
        // 1/E* = Σ (1 − ν²)/E.
        let compliance = |m: &Material| (1.0 - m.poisson * m.poisson) / m.young;
        let modulus = 1.0 / (compliance(a) + compliance(b));
        let elastic = match (law.normal, class) {
            (NormalLaw::Linear { stiffness }, _) => Elastic::Linear(stiffness),
            (NormalLaw::Hertz, ContactClass::Flat) => Elastic::Flat(modulus),
            (NormalLaw::Hertz, _) => Elastic::Hertz(4.0 / 3.0 * modulus),
        };
        let is_hertz = matches!(elastic, Elastic::Hertz(_));
        let damping = if law.damping > 0.0 {
            Damping::Time(law.damping)
        } else {
            Damping::of_restitution(law.restitution, is_hertz)
        };
        PairConstants {
            law,
            elastic,
            damping,
        }
    }

    /// Whether the force grows with the overlap to the power 3/2; else linearly.
    #[inline]
    pub fn is_hertz(&self) -> bool {
        matches!(self.elastic, Elastic::Hertz(_))
    }

    /// Stiffness of a curved contact: of Hertz's law that of a unit of effective radius.
    pub(crate) fn unit_stiffness(&self) -> f64 {
        match self.elastic {
            Elastic::Hertz(scale) => scale,
            Elastic::Linear(stiffness) => stiffness,
            Elastic::Flat(modulus) => modulus,
        }
    }

    /// Power of the overlap with which the force grows.
    #[inline]
    pub fn force_exponent(&self) -> f64 {
        if self.is_hertz() { 1.5 } else { 1.0 }
    }

    /// Stiffness `k`: N/m^(3/2) for Hertz, N/m else. `length` is the effective radius
    /// of a curved contact, the length of a flat one (`ContactGeometry::elastic_radius`).
    #[inline]
    pub fn stiffness(&self, length: f64) -> f64 {
        match self.elastic {
            Elastic::Hertz(scale) => scale * length.sqrt(),
            Elastic::Linear(stiffness) => stiffness,
            Elastic::Flat(modulus) => modulus * length,
        }
    }

    /// Static force at an overlap, N.
    #[inline]
    pub fn static_force(&self, stiffness: f64, overlap: f64) -> f64 {
        if self.is_hertz() {
            stiffness * overlap * overlap.sqrt()
        } else {
            stiffness * overlap
        }
    }

    /// Elastic energy at an overlap, J: the static force integrated.
    #[inline]
    pub fn elastic_energy(&self, stiffness: f64, overlap: f64) -> f64 {
        self.static_force(stiffness, overlap) * overlap / (self.force_exponent() + 1.0)
    }

    /// Static overlap under a force, m.
    #[inline]
    pub fn static_overlap(&self, stiffness: f64, force: f64) -> f64 {
        if self.is_hertz() {
            let root = portable::cube_root(force / stiffness);
            root * root
        } else {
            force / stiffness
        }
    }

    /// Normal damping: the law's own damping time, or what returns its restitution.
    pub fn damping(&self) -> Damping {
        self.damping
    }

    /// Frequency `ω` of a contact at an overlap, rad/s, with the mobility `S_n`.
    pub fn frequency(&self, stiffness: f64, mobility: f64, overlap: f64) -> f64 {
        let square = if self.is_hertz() {
            mobility * stiffness * overlap.sqrt()
        } else {
            mobility * stiffness
        };
        square.sqrt()
    }

    /// Damping time `c` of a contact at an overlap, s, with the mobility `S_n`:
    /// the material's own, where nothing is frozen over a step.
    pub fn damping_time(&self, stiffness: f64, mobility: f64, overlap: f64) -> f64 {
        let frequency = self.frequency(stiffness, mobility, overlap);
        self.damping.time_at_rest(frequency)
    }

    /// Stabilisation parameters of a step for contacts of a class.
    pub fn stabilisation(
        &self,
        class: ContactClass,
        constants: StepConstants<'_>,
    ) -> Stabilisation {
        Stabilisation {
            step: constants.substep,
            whole_step: constants.step,
            hertz: self.is_hertz(),
            damping: self.damping,
            damping_steps: constants.settings.damping_steps,
            cap: constants.cap * class.cap_factor(),
            restitution: self.law.restitution,
            impact_speed: constants.impact_speed(),
        }
    }
}

/// Laws of all pairs of materials.
#[derive(Clone, Debug)]
pub struct PairTable {
    count: usize,
    /// One table of all pairs per class, in the order of [`ContactClass::ALL`].
    table: Vec<PairConstants>,
}

impl PairTable {
    /// The table of all pairs; those not listed get [`PairLaw::default`].
    pub fn new(materials: &[Material], pairs: &[PairDef]) -> Self {
        let count = materials.len();
        let law = |i: usize, j: usize| {
            pairs
                .iter()
                .find(|p| p.materials == [i, j] || p.materials == [j, i])
                .map_or_else(PairLaw::default, |p| p.law)
        };
        let pairs = (0..count * count).map(|k| (k / count, k % count));
        let table = ContactClass::ALL
            .into_iter()
            .flat_map(|class| pairs.clone().map(move |pair| (class, pair)))
            .map(|(class, (i, j))| {
                PairConstants::new(&materials[i], &materials[j], law(i, j), class)
            })
            .collect();
        PairTable { count, table }
    }

    /// The law of two materials between spheres.
    #[inline]
    pub fn get(&self, a: u16, b: u16) -> &PairConstants {
        self.at(self.index(a, b, ContactClass::Curved))
    }

    /// Whether there is one material alone.
    #[inline]
    pub fn is_single(&self) -> bool {
        self.count == 1
    }

    /// How many materials there are.
    pub(crate) fn materials(&self) -> usize {
        self.count
    }

    /// The law with this index.
    #[inline]
    pub fn at(&self, index: usize) -> &PairConstants {
        &self.table[index]
    }

    /// Index of the law of two materials in contacts of a class.
    #[inline]
    pub fn index(&self, a: u16, b: u16, class: ContactClass) -> usize {
        (class as usize * self.count + a as usize) * self.count + b as usize
    }

    /// All laws, by [`PairTable::index`], with their classes.
    pub fn all(&self) -> impl Iterator<Item = (ContactClass, &PairConstants)> {
        let pairs = (self.count * self.count).max(1);
        let laws = self.table.iter().enumerate();
        laws.map(move |(k, pair)| (ContactClass::ALL[k / pairs], pair))
    }

    /// Largest coefficient of restitution of all pairs.
    pub fn max_restitution(&self) -> f64 {
        let restitution = self.table.iter().map(|p| p.law.restitution);
        restitution.fold(0.0, f64::max)
    }

    /// Whether any pair attracts.
    pub fn is_cohesive(&self) -> bool {
        let mut cohesion = self.table.iter().map(|p| p.law.cohesion);
        cohesion.any(|cohesion| cohesion != Cohesion::None)
    }

    /// The longest gap at which a pair attracts, m.
    pub fn longest_cohesive_gap(&self) -> f64 {
        let gaps = self.table.iter().map(|p| p.law.cohesion.longest_gap());
        gaps.fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pellet of 13 mm, E = 6 MPa, on a plane: 3.440e5 N/m^(3/2).
    #[test]
    fn hertz_stiffness_of_a_pellet_on_a_plane() {
        let pellet = Material {
            name: "pellet".into(),
            density: 3700.0,
            young: 6e6,
            poisson: 0.25,
        };
        let pair = PairConstants::new(&pellet, &pellet, PairLaw::default(), ContactClass::Curved);
        assert!((pair.stiffness(6.5e-3) / 3.440e5 - 1.0).abs() < 1e-3);
        let force = pair.static_force(3.44e5, 2e-5);
        assert!((pair.static_overlap(3.44e5, force) / 2e-5 - 1.0).abs() < 1e-14);
        // ∫ k δ^(3/2) dδ = 2/5 k δ^(5/2).
        let energy = 0.4 * 3.44e5 * f64::powf(2e-5, 2.5);
        assert!((pair.elastic_energy(3.44e5, 2e-5) / energy - 1.0).abs() < 1e-14);
    }
}
