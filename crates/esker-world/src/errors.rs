//! What is wrong with a step, measured on the state that it leaves.
//!
//! With `d` a contact's diameter (see [`ContactGeometry::diameter`]):
//!
//! * The excess of a contact: overlap beyond what its law gives for the force
//!   `f` that it carries and the speed `u_n` at which it moves,
//!
//!   ```text
//!   x = (δ − δ_static(f) − c |u_n|) / d                                     (1)
//!   ```
//!
//!   with the damping time `c` of the material. An exact step has none, loaded or
//!   not; the stiffness cap, a truncated solve and an impact that was not seen
//!   in time all leave some.
//! * The creep: speed at which contacts slip that friction could hold, over
//!   `√(g d)`: the median, since some are just about to slide.
//! * The travel: contacts are found once per step, while a grain of speed `v`
//!   moves by `v h`. What changes unseen over the way is of second order,
//!
//!   ```text
//!   s = ½ (v̄ h/d)²,    v̄ = Σ m v³ / Σ m v²                                  (2)
//!   ```
//!
//!   with the speed of those that carry the energy: a few stray grains do not
//!   count, one heavy ball does.
//! * The error of the forces of tools, see [`crate::tool_forces`].
//! * The violation of joints: gaps, and what tilts move at the ends of the bodies, over the
//!   mean diameter.
//! * The residual of the solve, where it was measured.

use esker_contact::{Impulse, highest_cap};
use esker_parallel::{ExactSum, Team};

use crate::World;
use crate::contact::{ContactGeometry, Partner};
use crate::end_of_step::{ContactAtEnd, EndOfStep};
use crate::grains::GrainId;
use crate::material::PairTable;
use crate::table::BodyId;
use crate::world::pair_of;

/// Share of the substeps that is left where they are relaxed.
pub(crate) const RELAXED: f64 = crate::accuracy::CHANGE[0];
/// Share of contacts that the 99.9th percentile leaves out.
pub(crate) const LEFT_OUT: f64 = 0.001;
/// Share of sticking contacts that slip faster than their median.
pub(crate) const MEDIAN: f64 = 0.5;
/// Share of the friction bound below which a contact should stick.
pub(crate) const STICKING: f64 = 0.95;

/// Errors of one step, dimensionless but for energies.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepErrors {
    /// Mean excess (1) of touching contacts.
    pub mean_excess: f64,
    /// 99.9th percentile of the excess of contacts between grains.
    pub grain_excess: f64,
    /// 99.9th percentile of the excess of contacts with walls.
    pub wall_excess: f64,
    /// Median creep over `√(g d)`; zero without gravity.
    pub creep: f64,
    /// Travel (2).
    pub travel: f64,
    /// How much softer loaded contacts are than their law: `s` of the module `tool_forces`.
    pub softening: f64,
    /// The same as it would be if substeps were relaxed at one look.
    pub relaxed_softening: f64,
    /// Energy stored in contacts, J.
    pub stored_energy: f64,
    /// Share of the work of tools that is stored there, see [`crate::state::ToolWork`].
    pub stored_share: f64,
    /// Largest violation of a joint, over the mean diameter.
    pub joints: f64,
    /// Residual of the contact problem; `None` where it was not measured.
    pub residual: Option<f64>,
    /// The contact with the largest excess, if any has one.
    pub worst: Option<WorstContact>,
}

impl StepErrors {
    /// Share by which the forces of tools are too small: (2) of the module `tool_forces`, which
    /// is a part of it where the residual was not measured.
    pub fn tool_force(&self) -> f64 {
        (self.softening + self.residual.unwrap_or(0.0)) * self.stored_share
    }

    /// The same as it would be if substeps were relaxed.
    pub fn relaxed_tool_force(&self) -> f64 {
        (self.relaxed_softening + self.residual.unwrap_or(0.0) / RELAXED) * self.stored_share
    }
}

/// The contact that is most in excess of its law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorstContact {
    /// Its owner.
    pub grain: GrainId,
    /// The other body.
    pub other: BodyId,
    /// Overlap, in diameters.
    pub overlap: f64,
    /// Its excess (1).
    pub excess: f64,
}

/// What a contact adds to the errors.
#[derive(Clone, Copy, Debug)]
struct ContactError {
    /// Excess (1); negative for none, NaN where the contact does not touch.
    excess: f32,
    with_wall: bool,
    /// Slip speed, m/s, where friction could hold the contact; else NaN.
    slip: f32,
    load: ContactLoad,
}

/// What the softness of contacts is computed from, J.
#[derive(Clone, Copy, Debug, Default)]
struct ContactLoad {
    /// `f δ`.
    work: f64,
    /// `f x` of (1) of `tool_forces`, and as it would be with fewer substeps.
    softened: f64,
    relaxed: f64,
    /// `q f δ`.
    exponent: f64,
    stored: f64,
}

impl ContactLoad {
    const NONE: ContactLoad = ContactLoad {
        work: 0.0,
        softened: 0.0,
        relaxed: 0.0,
        exponent: 0.0,
        stored: 0.0,
    };

    fn to_array(self) -> [f64; 5] {
        [
            self.work,
            self.softened,
            self.relaxed,
            self.exponent,
            self.stored,
        ]
    }

    fn from_array([work, softened, relaxed, exponent, stored]: [f64; 5]) -> Self {
        ContactLoad {
            work,
            softened,
            relaxed,
            exponent,
            stored,
        }
    }

    /// `s` of `tool_forces` where this is the work done beyond the law.
    fn softening(&self, beyond: f64) -> f64 {
        if beyond > 0.0 {
            1.0 - (1.0 - beyond / self.work).powf(self.exponent / self.work)
        } else {
            0.0
        }
    }
}

const APART: ContactError = ContactError {
    excess: f32::NAN,
    with_wall: false,
    slip: f32::NAN,
    load: ContactLoad::NONE,
};

/// Reused storage.
#[derive(Default)]
pub(crate) struct ErrorScratch {
    contacts: Vec<ContactError>,
    sorted: Vec<f32>,
}

/// A step as it left the world.
struct Finished<'a> {
    end: EndOfStep<'a>,
    pairs: &'a PairTable,
    substep: f64,
    /// Stiffness cap κ.
    cap: f64,
}

impl World {
    /// Errors of the last step, but for the residual and the forces of tools.
    pub fn errors(&mut self) -> StepErrors {
        let (work, team) = (&mut self.workspace, &mut self.team);
        let finished = Finished {
            end: EndOfStep {
                grains: &self.grains,
                walls: &self.walls,
                periodic: self.periodic,
                midpoints: &work.midpoints,
                shaped: &work.collider.shaped,
                step: self.step,
            },
            pairs: &self.pairs,
            substep: self.step / self.method.moves(),
            cap: self.method.stiffness_cap(),
        };
        let (contacts, impulses) = (&work.contacts, &work.impulses);
        team.fill(&mut work.errors.contacts, contacts.len(), |i| {
            finished.contact_error(&contacts[i], &impulses[i])
        });
        let travel = finished.travel(team);
        let totals = work
            .errors
            .summed(|i, excess| finished.worst_contact(&contacts[i], excess));
        self.errors_of(&ErrorTotals { travel, ..totals })
    }

    /// Errors of the last step from what its contacts and grains add up to.
    pub(crate) fn errors_of(&self, totals: &ErrorTotals) -> StepErrors {
        let diameter = self.workspace.diameters.mean;
        let fall = (self.gravity.length() * diameter).sqrt();
        let load = ContactLoad::from_array(totals.load.map(|sum| sum.value()));
        let [cubes, squares] = totals.travel.map(|sum| sum.value());
        let way = cubes / squares * self.step / diameter;
        let [grain_excess, wall_excess, slip] = totals.percentiles;
        StepErrors {
            mean_excess: totals.excess.value() / totals.touching.max(1) as f64,
            grain_excess: f64::from(grain_excess),
            wall_excess: f64::from(wall_excess),
            creep: if fall > 0.0 {
                f64::from(slip) / fall
            } else {
                0.0
            },
            travel: if squares > 0.0 { 0.5 * way * way } else { 0.0 },
            softening: load.softening(load.softened),
            relaxed_softening: load.softening(load.relaxed),
            stored_energy: load.stored,
            joints: self.largest_joint_violation() / diameter,
            worst: totals.worst,
            ..Default::default()
        }
    }
}

/// What errors are computed from: sums over all contacts and grains, which do not depend on who
/// makes them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ErrorTotals {
    /// Contacts that touch at the end of the step.
    pub(crate) touching: usize,
    /// Sum of their excess, where they have some.
    pub(crate) excess: ExactSum,
    /// Sums of a [`ContactLoad`].
    pub(crate) load: [ExactSum; 5],
    /// Excess between grains and on walls that [`LEFT_OUT`] of the contacts exceed, and the
    /// median slip, m/s.
    pub(crate) percentiles: [f32; 3],
    /// `Σ m v³` and `Σ m v²` of (2).
    pub(crate) travel: [ExactSum; 2],
    /// The contact with the largest excess, if any has one.
    pub(crate) worst: Option<WorstContact>,
}

impl ErrorScratch {
    /// Errors of all contacts together.
    fn summed(&mut self, named: impl Fn(usize, f32) -> WorstContact) -> ErrorTotals {
        let ErrorScratch { contacts, sorted } = self;
        let mut totals = ErrorTotals::default();
        let mut worst = (0.0_f32, None);
        for (i, error) in contacts.iter().enumerate() {
            if error.excess.is_nan() {
                continue;
            }
            totals.touching += 1;
            totals.excess.add(f64::from(error.excess.max(0.0)));
            for (sum, x) in totals.load.iter_mut().zip(error.load.to_array()) {
                sum.add(x);
            }
            if error.excess > worst.0 {
                worst = (error.excess, Some(i));
            }
        }
        let mut percentile = |share: f64, value: &dyn Fn(&ContactError) -> f32| {
            sorted.clear();
            sorted.extend(contacts.iter().map(value).filter(|x| !x.is_nan()));
            exceeded_by(share, sorted)
        };
        let excess_of = |walls: bool| {
            move |e: &ContactError| match e.with_wall == walls {
                true => e.excess,
                false => f32::NAN,
            }
        };
        totals.percentiles = [
            percentile(LEFT_OUT, &excess_of(false)),
            percentile(LEFT_OUT, &excess_of(true)),
            percentile(MEDIAN, &|e| e.slip),
        ];
        totals.worst = worst.1.map(|i| named(i, worst.0));
        totals
    }
}

impl Finished<'_> {
    /// The contact as the step left it: grains have moved since it was found.
    fn contact_error(&self, contact: &ContactGeometry, impulse: &Impulse) -> ContactError {
        let ContactAtEnd {
            normal,
            overlap,
            relative_velocity: relative,
        } = self.end.contact(contact);
        if overlap <= 0.0 && impulse.normal <= 0.0 {
            return APART;
        }
        let pair = pair_of(contact, self.pairs, self.end.grains, self.end.walls);
        let inverse_mass = |i: u32| self.end.grains.state[i as usize].inverse_mass;
        let (mobility, with_wall) = match contact.partner {
            Partner::Grain(j) => (inverse_mass(contact.grain) + inverse_mass(j), false),
            Partner::Wall(_) => (inverse_mass(contact.grain), true),
        };
        let mut error = ContactError { with_wall, ..APART };
        if overlap > 0.0 {
            let stiffness = pair.stiffness(contact.elastic_radius);
            let force = impulse.normal / self.substep;
            let elastic = pair.static_overlap(stiffness, force);
            let damping_time = pair.damping_time(stiffness, mobility, overlap);
            let damped = damping_time * relative.dot(normal).abs();
            let excess = overlap - elastic - damped;
            error.excess = (excess / contact.diameter()) as f32;
            let work = force * overlap;
            let cap = highest_cap(self.cap, pair.law.restitution);
            let phase = pair.frequency(stiffness, mobility, overlap) * self.substep / RELAXED;
            let hardest = cap * phase * phase;
            let beyond = excess.clamp(0.0, overlap);
            error.load = ContactLoad {
                work,
                softened: force * beyond,
                relaxed: work * (1.0 - hardest.max(1.0).recip()),
                exponent: pair.force_exponent() * work,
                stored: pair.elastic_energy(stiffness, elastic) + 0.5 * force * beyond,
            };
        }
        let bound = STICKING * pair.law.friction * impulse.normal;
        let sticks = impulse.normal > 0.0 && impulse.friction.length_squared() < bound * bound;
        if sticks {
            error.slip = relative.reject_from_normalized(normal).length() as f32;
        }
        error
    }

    /// The sums of (2).
    fn travel(&self, team: &mut Team) -> [ExactSum; 2] {
        let grains = self.end.grains;
        team.reduce(grains.len(), |[cubes, squares]: &mut [ExactSum; 2], i| {
            let square = grains.state[i].velocity.length_squared();
            let energy = grains.mass[i] * square;
            cubes.add(energy * square.sqrt());
            squares.add(energy);
        })
    }

    fn worst_contact(&self, contact: &ContactGeometry, excess: f32) -> WorstContact {
        let ids = &self.end.grains.id;
        WorstContact {
            grain: ids[contact.grain as usize],
            other: match contact.partner {
                Partner::Grain(j) => BodyId::Grain(ids[j as usize]),
                Partner::Wall(w) => BodyId::Wall(w),
            },
            overlap: contact.overlap / contact.diameter(),
            excess: f64::from(excess),
        }
    }
}
/// The value that a share of all exceeds: the largest where the share is less
/// than one of them; zero of none or where it is negative.
fn exceeded_by(share: f64, values: &mut [f32]) -> f32 {
    let above = (share * values.len() as f64) as usize;
    let Some(place) = values.len().checked_sub(above + 1) else {
        return 0.0;
    };
    let (_, value, _) = values.select_nth_unstable_by(place, f32::total_cmp);
    value.max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_high_percentile_is_the_largest_of_few_and_leaves_out_a_thousandth_of_many() {
        assert_eq!(exceeded_by(LEFT_OUT, &mut []), 0.0);
        assert_eq!(exceeded_by(LEFT_OUT, &mut [-1.0]), 0.0);
        assert_eq!(exceeded_by(LEFT_OUT, &mut [0.5, 2.0, 1.0]), 2.0);
        assert_eq!(exceeded_by(0.5, &mut [0.5, 2.0, 1.0]), 1.0);
        let mut many: Vec<f32> = (1..=5000).rev().map(|k| k as f32).collect();
        assert_eq!(exceeded_by(LEFT_OUT, &mut many), 4995.0);
    }
}
