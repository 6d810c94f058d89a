//! From material properties to the constants of a contact.

use esker_contact::{Damping, Stabilisation};

use crate::assemble::StepConstants;
use crate::definition::{Cohesion, Material, NormalLaw, PairDef, PairLaw};

/// The law of one pair of materials, ready for assembly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairConstants {
    /// The law as given.
    pub law: PairLaw,
    /// `4/3 E*`, Pa, for Hertz; the stiffness k, N/m, for the linear law.
    stiffness_scale: f64,
    /// Normal damping.
    damping: Damping,
}

impl PairConstants {
    fn new(a: &Material, b: &Material, law: PairLaw) -> Self {
        let stiffness_scale = match law.normal {
            NormalLaw::Hertz => {
                // 1/E* = Σ (1 − ν²)/E.
                let compliance = |m: &Material| (1.0 - m.poisson * m.poisson) / m.young;
                4.0 / 3.0 / (compliance(a) + compliance(b))
            }
            NormalLaw::Linear { stiffness } => stiffness,
        };
        let damping = if law.damping > 0.0 {
            Damping::Time(law.damping)
        } else {
            Damping::of_restitution(law.restitution, law.normal == NormalLaw::Hertz)
        };
        PairConstants {
            law,
            stiffness_scale,
            damping,
        }
    }

    /// Stiffness `k`: N/m^(3/2) for Hertz with effective radius `r*`, N/m else.
    #[inline]
    pub fn stiffness(&self, effective_radius: f64) -> f64 {
        match self.law.normal {
            NormalLaw::Hertz => self.stiffness_scale * effective_radius.sqrt(),
            NormalLaw::Linear { .. } => self.stiffness_scale,
        }
    }

    /// Static force at an overlap, N.
    #[inline]
    pub fn static_force(&self, stiffness: f64, overlap: f64) -> f64 {
        match self.law.normal {
            NormalLaw::Hertz => stiffness * overlap * overlap.sqrt(),
            NormalLaw::Linear { .. } => stiffness * overlap,
        }
    }

    /// Elastic energy at an overlap, J: the static force integrated.
    #[inline]
    pub fn elastic_energy(&self, stiffness: f64, overlap: f64) -> f64 {
        let exponent = match self.law.normal {
            NormalLaw::Hertz => 1.5,
            NormalLaw::Linear { .. } => 1.0,
        };
        self.static_force(stiffness, overlap) * overlap / (exponent + 1.0)
    }

    /// Static overlap under a force, m.
    #[inline]
    pub fn static_overlap(&self, stiffness: f64, force: f64) -> f64 {
        match self.law.normal {
            NormalLaw::Hertz => (force / stiffness).powf(2.0 / 3.0),
            NormalLaw::Linear { .. } => force / stiffness,
        }
    }

    /// Normal damping: the law's own damping time, or what returns its restitution.
    pub fn damping(&self) -> Damping {
        self.damping
    }

    /// Damping time `c` of a contact at an overlap, s, with the mobility `S_n`:
    /// the material's own, where nothing is frozen over a step.
    pub fn damping_time(&self, stiffness: f64, mobility: f64, overlap: f64) -> f64 {
        let square = match self.law.normal {
            NormalLaw::Hertz => mobility * stiffness * overlap.sqrt(),
            NormalLaw::Linear { .. } => mobility * stiffness,
        };
        self.damping.time(square.sqrt(), 0.0)
    }

    /// Stabilisation parameters of a step.
    pub fn stabilisation(&self, constants: StepConstants<'_>) -> Stabilisation {
        Stabilisation {
            step: constants.row_step,
            whole_step: constants.step,
            hertz: self.law.normal == NormalLaw::Hertz,
            damping: self.damping,
            damping_steps: constants.settings.damping_steps,
            cap: constants.cap,
            restitution: self.law.restitution,
            impact_speed: constants.impact_speed(),
        }
    }
}

/// Laws of all pairs of materials.
#[derive(Clone, Debug)]
pub struct PairTable {
    count: usize,
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
        let table = (0..count * count)
            .map(|k| {
                let (i, j) = (k / count, k % count);
                PairConstants::new(&materials[i], &materials[j], law(i, j))
            })
            .collect();
        PairTable { count, table }
    }

    /// The law of two materials.
    #[inline]
    pub fn get(&self, a: u16, b: u16) -> &PairConstants {
        &self.table[a as usize * self.count + b as usize]
    }

    /// Index of a pair in [`PairTable::all`].
    #[inline]
    pub fn index(&self, a: u16, b: u16) -> usize {
        a as usize * self.count + b as usize
    }

    /// All pairs, by [`PairTable::index`].
    pub fn all(&self) -> &[PairConstants] {
        &self.table
    }

    /// Greatest coefficient of restitution of all pairs.
    pub fn greatest_restitution(&self) -> f64 {
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
        let pair = PairConstants::new(&pellet, &pellet, PairLaw::default());
        assert!((pair.stiffness(6.5e-3) / 3.440e5 - 1.0).abs() < 1e-3);
        let force = pair.static_force(3.44e5, 2e-5);
        assert!((pair.static_overlap(3.44e5, force) / 2e-5 - 1.0).abs() < 1e-14);
        // ∫ k δ^(3/2) dδ = 2/5 k δ^(5/2).
        let energy = 0.4 * 3.44e5 * f64::powf(2e-5, 2.5);
        assert!((pair.elastic_energy(3.44e5, 2e-5) / energy - 1.0).abs() < 1e-14);
    }
}
