//! Inertia of light grains under heavy ones.
//!
//! The stiffness cap of sub-stepping softens a contact by `S_n f h_s²`, and `S_n`
//! is that of the lighter body. A boulder on pebbles presses them in by many
//! diameters: `f` is a thousand times their weight. In the rows of a substep a
//! grain that may carry the weight `W` is therefore given at least the mass
//!
//! ```text
//! m' = W h_s² / (ε d),                                                  (1)
//! ```
//!
//! with which the cap costs no more than `ε` of its diameter. `W` is the weight
//! of its heaviest neighbour, or what a neighbour carries in turn, spread over
//! the grains below it. The false inertial force is at most `W a h_s²/(ε d)` at an
//! acceleration `a`. Between grains of similar mass nothing changes: (1) acts
//! from a mass ratio of `ε d/(g h_s²)` on, some hundreds.
//!
//! A pebble that a boulder hits leaves more slowly than it should. (Masses from the
//! present load instead of from weights were tried: they rise under load, and
//! throw the boulder up.)
//!
//! Contacts conserve momentum with the masses of (1), not with the grains' own. What
//! they give to the mass that a grain does not have,
//!
//! ```text
//! q = (m' − m) (v⁺ − v⁻ − a h),                                         (2)
//! ```
//!
//! with the acceleration `a` of gravity and cohesion, is returned to the grain
//! whose weight it is there for as the step ends: grains gain what gravity and walls
//! give them, and walls do not carry the weight of masses that nobody has.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use esker_contact::BodyState;
use esker_parallel::Team;
use glam::DVec3;

use crate::contact::{ContactGeometry, Partner};
use crate::grains::Grains;

/// Overlap `ε` that the cap may cost, in diameters.
const ALLOWED_OVERLAP: f64 = 0.02;
/// Part of a carried weight that a grain below has to carry.
const PASSED_ON: f64 = 0.5;
/// Layers of grains that a weight is followed through.
const LAYERS: usize = 8;

/// What (1) depends on besides the grains.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadedInertia {
    /// |g|, m/s².
    pub(crate) gravity: f64,
    /// Substep h_s, s.
    pub(crate) substep: f64,
}

impl LoadedInertia {
    /// Mass (1) over the mass that is carried, for a grain of this radius.
    fn share(&self, radius: f64) -> f64 {
        self.gravity * self.substep * self.substep / (ALLOWED_OVERLAP * 2.0 * radius)
    }
}

/// A grain with more mass than its own.
#[derive(Clone, Copy, Debug)]
struct Raised {
    grain: u32,
    /// Whose weight it may carry.
    burden: u32,
    /// `m' − m`, kg.
    added: f64,
    /// `q` of (2), N s.
    returned: DVec3,
}

/// The weakest and the heaviest grain of some.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Burden {
    /// Mass that the weakest one can carry, kg.
    weakest: f64,
    /// Mass of the heaviest one that is carried, kg.
    heaviest: f64,
}

impl Default for Burden {
    fn default() -> Self {
        Burden {
            weakest: f64::INFINITY,
            heaviest: 0.0,
        }
    }
}

impl Burden {
    /// Of all grains.
    pub(crate) fn of(team: &mut Team, load: LoadedInertia, grains: &Grains) -> Self {
        team.fold(
            grains.len(),
            Burden::default(),
            |rows| Burden::default().with(load, grains, rows),
            |a, b| a.or(*b),
        )
    }

    /// The same with the grains of these rows.
    pub(crate) fn with(self, load: LoadedInertia, grains: &Grains, rows: Range<usize>) -> Self {
        rows.fold(self, |so_far, i| {
            so_far.or(Burden {
                weakest: grains.mass[i] / load.share(grains.radius[i]),
                heaviest: weight(grains, i),
            })
        })
    }

    fn or(self, other: Self) -> Self {
        Burden {
            weakest: f64::min(self.weakest, other.weakest),
            heaviest: f64::max(self.heaviest, other.heaviest),
        }
    }

    /// Whether the heaviest is a burden to the weakest.
    pub(crate) fn is_one(self) -> bool {
        self.heaviest > self.weakest
    }
}

/// No grain.
const NOBODY: u32 = u32::MAX;

/// Scratch, kept between steps.
#[derive(Debug, Default)]
pub(crate) struct InertiaFloor {
    /// Mass that each grain may carry, kg, as bits: numbers above zero order as
    /// their bits do.
    carried: Vec<AtomicU64>,
    /// The neighbour from which each grain has it.
    bearing: Vec<AtomicU32>,
    raised: Vec<Raised>,
}

impl InertiaFloor {
    /// Whether the heaviest grain is a burden to the weakest one.
    pub(crate) fn is_needed(team: &mut Team, load: LoadedInertia, grains: &Grains) -> bool {
        Burden::of(team, load, grains).is_one()
    }

    /// Raises the masses of bodies (grains first) to (1).
    pub(crate) fn raise(
        &mut self,
        team: &mut Team,
        load: LoadedInertia,
        grains: &Grains,
        (contacts, bodies): (&[ContactGeometry], &mut [BodyState]),
    ) {
        self.raised.clear();
        if !Self::is_needed(team, load, grains) {
            return;
        }
        self.carried.clear();
        self.carried.resize_with(grains.len(), AtomicU64::default);
        for _ in 0..LAYERS {
            if !self.pass_on(team, grains, contacts) {
                break;
            }
        }
        self.find_bearing(team, grains, contacts);
        let mut raised = std::mem::take(&mut self.raised);
        let added = |i: usize| self.carried(i) * load.share(grains.radius[i]) - grains.mass[i];
        let is_raised = |i: usize| added(i) > 0.0 && grains.state[i].inverse_mass > 0.0;
        team.select(grains.len(), &mut raised, is_raised, |i| Raised {
            grain: i as u32,
            burden: self.burden_of(i, is_raised),
            added: added(i),
            returned: DVec3::ZERO,
        });
        for raised in &raised {
            let i = raised.grain as usize;
            let factor = grains.mass[i] / (grains.mass[i] + raised.added);
            bodies[i].inverse_mass *= factor;
            bodies[i].inverse_inertia *= factor;
        }
        self.raised = raised;
    }

    /// Returns what contacts gave to masses that nobody has (2) within a step:
    /// `bodies` are those after it, `free(i)` is the velocity that grain `i` gained
    /// without contacts, m/s.
    pub(crate) fn return_momentum(
        &mut self,
        grains: &Grains,
        bodies: &mut [BodyState],
        free: impl Fn(usize) -> DVec3,
    ) {
        for raised in &mut self.raised {
            let i = raised.grain as usize;
            let gained = bodies[i].velocity - grains.state[i].velocity - free(i);
            raised.returned = gained * raised.added;
        }
        for raised in &self.raised {
            let burden = raised.burden as usize;
            let free = grains.free_translation(burden);
            bodies[burden].velocity += free * raised.returned / grains.mass[burden];
        }
    }

    /// Mass that a grain may carry, kg.
    fn carried(&self, i: usize) -> f64 {
        f64::from_bits(self.carried[i].load(Ordering::Relaxed))
    }

    /// The mass with which a grain burdens others, kg.
    fn weighs(&self, grains: &Grains, j: usize) -> f64 {
        weight(grains, j).max(PASSED_ON * self.carried(j))
    }

    /// Finds from whom each grain has what it carries: the heaviest neighbour, the
    /// first of several.
    fn find_bearing(&mut self, team: &mut Team, grains: &Grains, contacts: &[ContactGeometry]) {
        self.bearing.clear();
        self.bearing
            .resize_with(grains.len(), || AtomicU32::new(NOBODY));
        let floor = &*self;
        let bears = |i: usize, j: usize| {
            if floor.weighs(grains, j) >= floor.carried(i) {
                floor.bearing[i].fetch_min(j as u32, Ordering::Relaxed);
            }
        };
        for_each_neighbour(team, contacts, bears);
    }

    /// The grain on top of those through which a grain has its burden.
    fn burden_of(&self, i: usize, is_raised: impl Fn(usize) -> bool) -> u32 {
        let mut at = i;
        for _ in 0..LAYERS {
            let next = self.bearing[at].load(Ordering::Relaxed);
            if next == NOBODY {
                break;
            }
            at = next as usize;
            if !is_raised(at) {
                break;
            }
        }
        at as u32
    }

    /// Lets every grain burden its lighter neighbours; whether anything changed.
    fn pass_on(&self, team: &mut Team, grains: &Grains, contacts: &[ContactGeometry]) -> bool {
        let before: Vec<f64> = self
            .carried
            .iter()
            .map(|bits| f64::from_bits(bits.load(Ordering::Relaxed)))
            .collect();
        let changed = AtomicU64::new(0);
        let burden = |i: usize, j: usize| {
            let mass = weight(grains, j).max(PASSED_ON * before[j]);
            if mass > grains.mass[i] && mass > before[i] && !grains.is_jointed(i) {
                self.carried[i].fetch_max(mass.to_bits(), Ordering::Relaxed);
                changed.store(1, Ordering::Relaxed);
            }
        };
        for_each_neighbour(team, contacts, burden);
        changed.into_inner() != 0
    }
}

/// The mass that a row rests on others with, kg: joints hold what they hold.
fn weight(grains: &Grains, i: usize) -> f64 {
    if grains.is_jointed(i) {
        0.0
    } else {
        grains.mass[i]
    }
}

/// Calls `with(i, j)` and `with(j, i)` for all grains `i` and `j` in contact.
fn for_each_neighbour(
    team: &mut Team,
    contacts: &[ContactGeometry],
    with: impl Fn(usize, usize) + Sync,
) {
    team.run(|worker| {
        for contact in &contacts[worker.part_of(contacts.len(), 1)] {
            if let Partner::Grain(j) = contact.partner {
                let (i, j) = (contact.grain as usize, j as usize);
                with(i, j);
                with(j, i);
            }
        }
    });
}
