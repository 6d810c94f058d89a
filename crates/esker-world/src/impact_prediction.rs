//! Impacts within a step, and how far they change the velocities of grains.
//!
//! A pair that closes within the step with speed `u` changes the velocity of
//! each of its grains along the normal by at most
//!
//! ```text
//! (1 + e) u,                                                             (1)
//! ```
//!
//! which it does where the other one cannot give way: a wall, or a grain with
//! others behind it. What an impact gives a grain it passes on to those that it
//! can meet then; impacts are propagated once more. (Shares by mass, `m_j/(m_i +
//! m_j)`, overlook that a heap stops what falls on it: a dropped lattice then
//! overlaps twice as far. Propagating impacts further gains little, but for whole
//! steps: their solve stops a falling column all at once.)
//!
//! Changes are kept per grain as a box: the largest one along each axis, in
//! both senses. So a grain that is stopped from below is not expected to move
//! sideways. A largest value does not depend on the order in which values are
//! found: threads raise them together with the same result.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use esker_parallel::Team;
use glam::DVec3;

use crate::candidate::Candidate;
use crate::contact::Partner;
use crate::grains::Grains;
use crate::reach::Reach;

/// A box about zero that holds the changes of a grain's velocity by impacts, m/s.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
struct VelocityChange {
    /// Largest change to +x, −x, +y, −y, +z, −z.
    sides: [f32; 6],
}

impl VelocityChange {
    /// Largest change along a unit vector, m/s.
    #[inline]
    fn along(&self, direction: DVec3) -> f64 {
        let part = |axis: usize, n: f64| n.abs() * f64::from(self.sides[side(axis, n)]);
        part(0, direction.x) + part(1, direction.y) + part(2, direction.z)
    }

    /// Largest change in any direction, m/s.
    #[inline]
    fn max_change(&self) -> f64 {
        let [x, y, z] = [0, 2, 4].map(|k| f64::from(self.sides[k].max(self.sides[k + 1])));
        DVec3::new(x, y, z).length()
    }
}

/// Index of the side that a component along an axis points to.
#[inline]
fn side(axis: usize, component: f64) -> usize {
    2 * axis + usize::from(component < 0.0)
}

/// An [`VelocityChange`] that threads raise together. Floats above zero order as
/// their bits do.
#[derive(Debug, Default)]
#[repr(align(32))]
struct Rising {
    sides: [AtomicU32; 6],
}

impl Rising {
    #[inline]
    fn raise(&self, change: DVec3) {
        for (axis, x) in change.to_array().into_iter().enumerate() {
            let bits = (x.abs() as f32).to_bits();
            let now = &self.sides[side(axis, x)];
            if now.load(Ordering::Relaxed) < bits {
                now.fetch_max(bits, Ordering::Relaxed);
            }
        }
    }

    fn now(&self) -> VelocityChange {
        let value = |bits: &AtomicU32| f32::from_bits(bits.load(Ordering::Relaxed));
        VelocityChange {
            sides: std::array::from_fn(|k| value(&self.sides[k])),
        }
    }
}

/// Impacts that move a grain by less than this share of the margin within the
/// step are not propagated: what they bring about is near enough already.
const FAINT: f64 = 0.125;

/// Whether a pair that closes with this speed does so within the step, and hard
/// enough to be propagated.
#[inline(always)]
fn is_impact(grains: &Grains, pair: &Candidate, speed: f64, reach: Reach) -> bool {
    let faint = FAINT * reach.margin * pair.min_diameter(grains);
    let closing = reach.step * reach.closing_speed(speed, pair.normal);
    (reach.step * speed > faint) & (-pair.overlap < closing)
}

/// Pairs that are looked at together.
const BATCH: usize = 256;

/// The impacts of a step.
#[derive(Debug, Default)]
pub(crate) struct ImpactPrediction {
    rising: Vec<Rising>,
    /// A bit per grain that was impacted: at rest few are, and bits are near.
    impacted_grains: Vec<AtomicU64>,
    /// What impacts amount to so far, by grain.
    changes: Vec<VelocityChange>,
}

impl ImpactPrediction {
    /// Finds the impacts between these pairs; returns whether there are any. Those
    /// that they bring about come with [`ImpactPrediction::propagate`].
    pub(crate) fn find(
        &mut self,
        team: &mut Team,
        grains: &Grains,
        parts: &[Vec<Candidate>],
        reach: Reach,
    ) -> bool {
        self.rising.resize_with(grains.len(), Rising::default);
        team.for_each_part(&mut self.rising, 1, |_, part| {
            part.fill_with(Rising::default);
        });
        self.impacted_grains.clear();
        self.impacted_grains
            .resize_with(grains.len().div_ceil(64), AtomicU64::default);
        self.predict_all(team, grains, parts, reach, |pair| pair.approach);
        let mut words = self.impacted_grains.iter();
        words.any(|word| word.load(Ordering::Relaxed) != 0)
    }

    /// Largest change of a grain's velocity by the impacts found so far, m/s.
    #[inline]
    pub(crate) fn change(&self, grain: usize) -> f64 {
        if self.is_impacted(grain as u32) {
            self.rising[grain].now().max_change()
        } else {
            0.0
        }
    }

    /// The impacts of pairs that close with these speeds: equation (1).
    fn predict_all(
        &self,
        team: &mut Team,
        grains: &Grains,
        parts: &[Vec<Candidate>],
        reach: Reach,
        speed: impl Fn(&Candidate) -> f64 + Sync,
    ) {
        team.run(|worker| {
            let mut impacting = [(0, 0.0); BATCH];
            let own = parts.iter().skip(worker.index).step_by(worker.count);
            for pairs in own.flat_map(|part| part.chunks(BATCH)) {
                // Branchless: which pairs impact is hard to predict.
                let mut count = 0;
                for (k, pair) in pairs.iter().enumerate() {
                    let speed = speed(pair);
                    impacting[count] = (k, speed);
                    count += usize::from(is_impact(grains, pair, speed, reach));
                }
                for &(k, speed) in &impacting[..count] {
                    self.predict(&pairs[k], (1.0 + reach.restitution) * speed);
                }
            }
        });
    }

    /// An impact that changes velocities by this much, m/s.
    fn predict(&self, pair: &Candidate, speed: f64) {
        let change = pair.normal * speed;
        self.raise(pair.grain, -change);
        if let Partner::Grain(j) = pair.partner {
            self.raise(j, change);
        }
    }

    #[inline]
    fn raise(&self, grain: u32, change: DVec3) {
        self.rising[grain as usize].raise(change);
        let (word, bit) = (
            &self.impacted_grains[grain as usize / 64],
            1 << (grain % 64),
        );
        if word.load(Ordering::Relaxed) & bit == 0 {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// Whether a grain was impacted.
    #[inline]
    fn is_impacted(&self, grain: u32) -> bool {
        let word = self.impacted_grains[grain as usize / 64].load(Ordering::Relaxed);
        word >> (grain % 64) & 1 == 1
    }

    /// The greater of `a_i` and `a_j`, m/s.
    #[inline]
    pub(crate) fn velocity_change(&self, pair: &Candidate) -> f64 {
        let along = |grain: u32, direction: DVec3| {
            if self.is_impacted(grain) {
                self.changes[grain as usize].along(direction)
            } else {
                0.0
            }
        };
        let partner = match pair.partner {
            Partner::Grain(j) => along(j, -pair.normal),
            Partner::Wall(_) => 0.0,
        };
        along(pair.grain, pair.normal).max(partner)
    }

    /// Propagates the impacts found by one more.
    pub(crate) fn propagate(
        &mut self,
        team: &mut Team,
        grains: &Grains,
        parts: &[Vec<Candidate>],
        reach: Reach,
    ) {
        let rising = &self.rising;
        team.fill(&mut self.changes, rising.len(), |i| rising[i].now());
        // Impacts of pairs without a velocity change count again, which changes nothing.
        let prediction = &*self;
        prediction.predict_all(team, grains, parts, reach, |pair| {
            pair.approach + prediction.velocity_change(pair)
        });
        let rising = &self.rising;
        team.fill(&mut self.changes, rising.len(), |i| rising[i].now());
    }
}
