//! What a device needs to know to make rows of contacts, sweep them and remember them, for a world
//! whose grains stay there (`resident.rs`): records of numbers, laid out as kernels read them.

use esker_contact::{Damping, Impulse, raise_of_cap};
use esker_solver::packed::Law;
use esker_solver::plan::block_edge;
use esker_solver::sweep::TangentCompliance;
use glam::DVec3;

use crate::World;
use crate::contact::ContactKey;
use crate::grains::GrainId;
use crate::history::{Entry, NO_SLOT, Remembered};
use crate::material::{ContactClass, PairConstants};

/// What two materials have in a step (`struct Pair` of `esker-gpu/kernels/advance.h`).
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
#[allow(missing_docs, reason = "as in `PairConstants` and `SpringLaw`")]
pub struct PairRecord {
    pub rolling: f64,
    pub twisting: f64,
    pub stiffness: f64,
    pub restitution_raise: f64,
    pub cap: f64,
    pub still: f64,
    pub bias_rate: f64,
    pub unresolved_time: f64,
    pub unresolved_factor: f64,
    pub damping_time: f64,
    pub alpha: f64,
    pub lag: f64,
    pub spent: f64,
    pub resolved_square: f64,
    pub followed_square: f64,
    pub exponent: f64,
    pub law: u32,
    pub hertz: u32,
    pub has_damping_time: u32,
    pub is_slow_above_step: u32,
    pub returns_restitution: u32,
    pub unused: u32,
}

impl PairRecord {
    fn of(pair: &PairConstants, spring: &esker_contact::SpringLaw, law: u16) -> Self {
        let with = &spring.stabilisation;
        let mut record = PairRecord {
            rolling: pair.law.rolling,
            twisting: pair.law.twisting,
            stiffness: pair.unit_stiffness(),
            restitution_raise: raise_of_cap(with.restitution),
            cap: with.cap,
            still: with.impact_speed * with.impact_speed + f64::MIN_POSITIVE,
            bias_rate: spring.bias_rate,
            unresolved_time: spring.unresolved_time,
            unresolved_factor: spring.unresolved_factor,
            resolved_square: spring.resolved_square,
            followed_square: spring.followed_square,
            exponent: with.exponent(),
            law: law.into(),
            hertz: with.hertz.into(),
            is_slow_above_step: spring.is_slow_above_step.into(),
            returns_restitution: spring.returns_restitution.into(),
            ..Default::default()
        };
        match with.damping {
            Damping::Restitution { alpha, lag, spent } => {
                (record.alpha, record.lag, record.spent) = (alpha, lag, spent);
            }
            Damping::Time(time) => {
                (record.damping_time, record.has_damping_time) = (time, 1);
            }
        }
        record
    }
}

/// Numbers that rows and substeps go by.
#[derive(Clone, Debug, Default)]
pub struct AdvanceSettings {
    /// Whole step h, s.
    pub whole_step: f64,
    /// Substep, s.
    pub step: f64,
    /// Substeps.
    pub substeps: usize,
    /// Gravity, m/s².
    pub gravity: DVec3,
    /// Edge of the plan's blocks, m.
    pub edge: f64,
    /// Contacts up to which colours are those of all of space.
    pub most_flat: usize,
    /// Whether a substep is the whole step.
    pub is_whole_step: bool,
    /// Compliances of friction and rolling rows.
    pub compliance: TangentCompliance,
    /// Number of materials.
    pub materials: usize,
    /// How much larger the index of a law is for contacts that follow their bodies.
    pub following: u16,
    /// The laws.
    pub laws: Vec<Law>,
    /// What pairs of materials have, first material by first material.
    pub pairs: Vec<PairRecord>,
}

/// A contact that is remembered (`struct Entry` of `esker-gpu/kernels/advance.h`).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
#[allow(missing_docs, reason = "fields are documented in kernels/advance.h")]
pub struct EntryRecord {
    pub other: u64,
    pub normal: [f64; 3],
    pub impulse: [f64; 8],
    pub row: u32,
    pub rank: u32,
    pub next: u32,
    pub is_claimed: u32,
}

/// What a wall got of a contact (`struct Tracked` of `esker-gpu/kernels/advance.h`).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
#[allow(missing_docs, reason = "fields are documented in kernels/advance.h")]
pub struct TrackedRecord {
    pub grain: u32,
    pub wall: u32,
    pub feature: u32,
    pub unused: u32,
    pub normal: [f64; 3],
    pub point: [f64; 3],
    pub impulse: [f64; 8],
}

/// An impulse as eight numbers: normal, friction, rolling, twisting.
pub fn numbers_of(impulse: &Impulse) -> [f64; 8] {
    let (t, r) = (impulse.friction, impulse.rolling);
    [
        impulse.normal,
        t.x,
        t.y,
        t.z,
        r.x,
        r.y,
        r.z,
        impulse.twisting,
    ]
}

/// The impulse of eight numbers.
pub fn impulse_of(numbers: &[f64; 8]) -> Impulse {
    Impulse {
        normal: numbers[0],
        friction: DVec3::from_slice(&numbers[1..]),
        rolling: DVec3::from_slice(&numbers[4..]),
        twisting: numbers[7],
    }
}

impl World {
    /// What rows and substeps of the step go by.
    pub fn advance_settings(&mut self) -> AdvanceSettings {
        let constants =
            crate::step::step_constants(&self.contact, &self.method, self.step, self.gravity);
        let diameters = self.grains.diameters(&mut self.team);
        let equations = &mut self.workspace.equations;
        equations.set_laws(&self.pairs, constants, &self.grains);
        let curved = self
            .pairs
            .all()
            .filter(|(class, _)| *class == ContactClass::Curved);
        let springs = equations.spring_laws();
        let pairs: Vec<PairRecord> = curved
            .zip(springs.iter().zip(equations.laws_of_pairs()))
            .map(|((_, pair), (spring, &law))| PairRecord::of(pair, spring, law))
            .collect();
        let phase = springs.first().map(|law| law.stabilisation);
        AdvanceSettings {
            whole_step: self.step,
            step: self.step / self.method.moves(),
            substeps: self.method.sweeps(),
            gravity: self.gravity,
            edge: block_edge(self.grains.len(), diameters.mean, diameters.max, true),
            most_flat: self.most_flat,
            is_whole_step: phase.is_some_and(|law| law.is_whole_step()),
            compliance: equations.compliance,
            materials: pairs.len().isqrt(),
            following: equations.following(),
            laws: equations.laws.clone(),
            pairs,
        }
    }

    /// What is remembered of the last step.
    pub fn remembered(&self) -> Vec<EntryRecord> {
        let mut rows = vec![u32::MAX; self.grains.slots()];
        for row in 0..self.grains.len() {
            rows[self.grains.slot(row)] = row as u32;
        }
        let entries = (0..).zip(self.history.entries_with_slots());
        let known = entries.filter_map(|(rank, entry)| {
            let (row, contact) = (rows[entry.slot as usize], &entry.contact);
            let is_there = row != u32::MAX && self.grains.id[row as usize] == contact.key.owner;
            is_there.then(|| EntryRecord {
                other: contact.key.other,
                normal: contact.normal.to_array(),
                impulse: numbers_of(&contact.impulse),
                row,
                rank,
                next: 0,
                is_claimed: 0,
            })
        });
        known.collect()
    }

    /// Remembers what a device did, whose entries are in the order of their ranks.
    pub fn remember(&mut self, entries: &[EntryRecord]) {
        let grains = &self.grains;
        let rows: std::collections::HashMap<u64, usize> = (0..grains.len())
            .map(|row| (grains.id[row].as_u64(), row))
            .collect();
        // Some owners may be gone.
        let known = entries
            .iter()
            .filter(|entry| (entry.row as usize) < grains.len());
        let remembered = known.map(|entry| {
            let owner: GrainId = grains.id[entry.row as usize];
            let other = rows.get(&entry.other);
            Entry {
                contact: Remembered {
                    key: ContactKey {
                        owner,
                        other: entry.other,
                        feature: 0,
                    },
                    normal: DVec3::from_array(entry.normal),
                    impulse: impulse_of(&entry.impulse),
                },
                slot: grains.slot(entry.row as usize) as u32,
                other_slot: other.map_or(NO_SLOT, |&row| grains.slot(row) as u32),
            }
        });
        let remembered = remembered.collect();
        self.history
            .replace(&mut self.team, &self.grains, remembered);
    }

    /// A step with a look at the world as its contacts are to be found: grains have come and
    /// gone, and walls have taken up their velocities.
    #[doc(hidden)]
    pub fn step_observed(
        &mut self,
        observe: impl FnOnce(&mut World),
    ) -> Result<crate::StepReport, crate::StepError> {
        self.step_with(observe)
    }

    /// Impulses that walls got in the last step, contact by contact.
    #[doc(hidden)]
    pub fn tracked_impulses(&self) -> &[Impulse] {
        &self.workspace.tracked_impulses
    }
}
