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
//! Momentum is conserved with the masses of (1), not with the grains' own: a
//! pebble that a boulder hits leaves more slowly than it should. (Masses from the
//! present load instead of from weights were tried: they rise under load, and
//! throw the boulder up.)

use std::sync::atomic::{AtomicU64, Ordering};

use esker_contact::BodyState;
use esker_parallel::Team;

use crate::collide::{ContactGeometry, Partner};
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

/// Scratch, kept between steps.
#[derive(Debug, Default)]
pub(crate) struct InertiaFloor {
    /// Mass that each grain may carry, kg, as bits: numbers above zero order as
    /// their bits do.
    carried: Vec<AtomicU64>,
}

impl InertiaFloor {
    /// Raises the masses of bodies (grains first) to (1).
    pub(crate) fn raise(
        &mut self,
        team: &mut Team,
        load: LoadedInertia,
        grains: &Grains,
        (contacts, bodies): (&[ContactGeometry], &mut [BodyState]),
    ) {
        let extremes = team.fold(
            grains.len(),
            (f64::INFINITY, 0.0),
            |range| {
                let spheres = grains.mass[range.clone()].iter().zip(&grains.radius[range]);
                spheres.fold((f64::INFINITY, 0.0), |(lightest, heaviest), (&m, &r)| {
                    (f64::min(lightest, m / load.share(r)), f64::max(heaviest, m))
                })
            },
            |a, b| (f64::min(a.0, b.0), f64::max(a.1, b.1)),
        );
        // The heaviest grain is no burden even to the weakest one.
        if extremes.1 <= extremes.0 {
            return;
        }
        self.carried.clear();
        self.carried.resize_with(grains.len(), AtomicU64::default);
        for _ in 0..LAYERS {
            if !self.pass_on(team, grains, contacts) {
                break;
            }
        }
        let carried = &self.carried;
        team.for_each_part(&mut bodies[..grains.len()], 1, |start, bodies| {
            for (k, body) in bodies.iter_mut().enumerate() {
                let i = start + k;
                let weight = f64::from_bits(carried[i].load(Ordering::Relaxed));
                let mass = weight * load.share(grains.radius[i]);
                if mass > grains.mass[i] && body.inverse_mass > 0.0 {
                    let factor = grains.mass[i] / mass;
                    body.inverse_mass *= factor;
                    body.inverse_inertia *= factor;
                }
            }
        });
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
            let mass = grains.mass[j].max(PASSED_ON * before[j]);
            if mass > grains.mass[i] && mass > before[i] {
                self.carried[i].fetch_max(mass.to_bits(), Ordering::Relaxed);
                changed.store(1, Ordering::Relaxed);
            }
        };
        team.run(|worker| {
            for contact in &contacts[worker.part_of(contacts.len(), 1)] {
                if let Partner::Grain(j) = contact.partner {
                    let (i, j) = (contact.grain as usize, j as usize);
                    burden(i, j);
                    burden(j, i);
                }
            }
        });
        changed.into_inner() != 0
    }
}
