//! The energy ledger: where the energy of the grains comes from and goes to.
//!
//! Every term is measured for itself, so that the balance is a check:
//!
//! ```text
//! Δkinetic + Δstored = gravity + drives + cohesion + emitted − removed
//!                      − friction − rolling − impact − damping − joints + error   (1)
//! ```
//!
//! - kinetic: of translation and rotation, from the grains.
//! - stored: elastic energy `∫ f dδ` of the law at the overlaps of the contacts.
//! - gravity: `Σ m g·Δx`, from the grains' displacements.
//! - drives: work of the walls, from what contacts gave them (see `load.rs`), and of
//!   forces and torques that are applied to bodies of their own, and of the drives of machines.
//! - joints: what joints and gears of machines take: friction, damping, limits.
//! - cohesion: `Σ F n·(Δx_a − Δx_b)` of the contact points over the contacts (see `cohesion.rs`);
//!   negative where bodies are pulled apart.
//! - emitted, removed: kinetic energy of grains that enter and leave.
//! - friction, rolling, impact: from impulses and relative velocities, contact
//!   by contact and substep by substep (`esker_contact::EnergyLoss`).
//! - damping: what normal rows take beyond what their contacts store, and what freezing grains at
//!   rest takes.
//!
//! What contacts do is exact, so the error is that of the integration (gravity
//! acts over a substep on velocities before and after it, positions move with
//! those after), of overlaps that appear or vanish between two steps, and of
//! elastic energy that leaves with a grain.

use esker_contact::{BodyState, ContactProblem, EnergyLoss, Impulse};
use esker_parallel::{ExactSum, Team};
use glam::DVec3;

use crate::World;
use crate::contact::Partner;
use crate::end_of_step::EndOfStep;
use crate::step::StepError;
use crate::world::pair_of;

/// Sums since the ledger was opened, J.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EnergyLedger {
    /// Steps booked.
    pub steps: u64,
    /// Kinetic energy at the start.
    pub initial_kinetic: f64,
    /// Elastic energy at the start.
    pub initial_stored: f64,
    /// Elastic energy now.
    pub stored: f64,
    /// Work of gravity.
    pub gravity: f64,
    /// Work of the walls' drives, and of what is applied to bodies of their own.
    pub drives: f64,
    /// Work of cohesion.
    pub cohesion: f64,
    /// Kinetic energy of grains that entered.
    pub emitted: f64,
    /// Kinetic energy of grains that left.
    pub removed: f64,
    /// Taken by friction.
    pub friction: f64,
    /// Taken by rolling and twisting resistance.
    pub rolling: f64,
    /// Taken by impacts.
    pub impact: f64,
    /// Taken by the damping of lasting contacts, and by freezing grains at rest.
    pub damping: f64,
    /// Taken by joints.
    pub joints: f64,
}

impl EnergyLedger {
    /// A new ledger of grains with this kinetic energy, J.
    pub(crate) fn open(kinetic: f64) -> Self {
        EnergyLedger {
            initial_kinetic: kinetic,
            ..Default::default()
        }
    }

    /// Books what contacts did in a step that changed the elastic energy from
    /// the first to the second of `stored`; that of frozen contacts is not among it and stays.
    fn book_contacts(&mut self, loss: &EnergyLoss, stored: [f64; 2], some_are_frozen: bool) {
        if self.steps == 0 {
            self.initial_stored = stored[0];
        }
        self.steps += 1;
        self.stored = if some_are_frozen {
            self.stored + stored[1] - stored[0]
        } else {
            stored[1]
        };
        self.friction += loss.friction;
        self.rolling += loss.rolling;
        self.impact += loss.impact;
        self.damping += loss.normal - (stored[1] - stored[0]);
    }

    /// The terms of (1) but for the error, with their signs on the right-hand
    /// side, for grains with this kinetic energy, J.
    fn terms(&self, kinetic: f64) -> [f64; 12] {
        [
            self.drives,
            self.gravity,
            self.cohesion,
            self.emitted,
            -self.removed,
            -self.friction,
            -self.rolling,
            -self.impact,
            -self.damping,
            -self.joints,
            self.initial_kinetic - kinetic,
            self.initial_stored - self.stored,
        ]
    }

    /// How far the ledger is from closing, J, for grains with this kinetic
    /// energy, J: the negative of the error in (1).
    pub fn imbalance(&self, kinetic: f64) -> f64 {
        self.terms(kinetic).iter().sum()
    }

    /// Energy that went through: the greater of all that came and all that
    /// went, J.
    pub fn throughput(&self, kinetic: f64) -> f64 {
        let terms = self.terms(kinetic);
        let came: f64 = terms.iter().map(|x| x.max(0.0)).sum();
        let went: f64 = terms.iter().map(|x| (-x).max(0.0)).sum();
        came.max(went)
    }
}

/// Energy that contacts take with these impulses, from the bodies' states
/// before and after.
pub(crate) fn loss_of_impulses(
    team: &mut Team,
    problem: &ContactProblem,
    impulse: impl Fn(usize) -> Impulse + Sync,
    [before, after]: [&[BodyState]; 2],
) -> EnergyLoss {
    team.fold(
        problem.contacts.len(),
        EnergyLoss::default(),
        |range| {
            range.fold(EnergyLoss::default(), |sum, i| {
                let rows = problem.contacts[i].rows(&problem.general, 0.0);
                let bodies = rows.contact.bodies.map(|b| b as usize);
                let [before, after] = [before, after].map(|states| bodies.map(|b| &states[b]));
                sum.plus(&EnergyLoss::of(rows, &impulse(i), before, after))
            })
        },
        |sum, loss| sum.plus(loss),
    )
}

impl World {
    /// The ledger, where the definition asks for one.
    pub fn energy(&self) -> Option<&EnergyLedger> {
        self.energy.as_ref()
    }

    /// Lets `change` add or remove grains and books the kinetic energy that
    /// they bring or take.
    pub(crate) fn book_grains<T>(&mut self, change: impl FnOnce(&mut World) -> T) -> T {
        let before = self.energy.map(|_| self.grains.kinetic_energy());
        let count = self.grains.len();
        let result = change(self);
        if let (Some(ledger), Some(before)) = (&mut self.energy, before)
            && self.grains.len() != count
        {
            let change = self.grains.kinetic_energy() - before;
            ledger.emitted += change.max(0.0);
            ledger.removed += (-change).max(0.0);
        }
        result
    }

    /// Books a step of `advance`, which returns with the energy that contacts
    /// took.
    pub(crate) fn book_advance<T>(
        &mut self,
        advance: impl FnOnce(&mut World) -> Result<(T, EnergyLoss), StepError>,
    ) -> Result<T, StepError> {
        let before = self.energy.map(|_| self.first_moment_of_mass(self.time()));
        let places = self.energy.map(|_| self.places_of_pushed());
        let work_before = self.energy.map(|_| self.machinery.machines.work());
        let cohesion_before = self.workspace.cohesion.dot_positions(&self.grains);
        let orientations = self
            .energy
            .map(|_| self.workspace.cohesion.turned_orientations(&self.grains));
        let (result, loss) = advance(self)?;
        if let Some(before) = before {
            let forces = &self.workspace.cohesion;
            let orientations = orientations.unwrap_or_default();
            let on_grains = forces.dot_positions(&self.grains) - cohesion_before
                + forces.work_of_torques(&orientations, &self.grains);
            let cohesion = on_grains - self.work_of_walls_on_cohesion();
            let end = self.time() + self.step;
            let gravity = self.gravity.dot(self.first_moment_of_mass(end) - before);
            let applied = places.map_or(0.0, |places| self.work_of_forces(&places));
            let stored = self.elastic_energies();
            let some_are_frozen = self.frozen_count() > 0;
            let [drives_before, joints_before] = work_before.unwrap_or_default();
            let [drives, joints] = self.machinery.machines.work();
            if let Some(ledger) = &mut self.energy {
                ledger.gravity += gravity;
                ledger.cohesion += cohesion;
                ledger.drives += applied + (drives - drives_before);
                ledger.joints -= joints - joints_before;
                ledger.book_contacts(&loss, stored, some_are_frozen);
            }
        }
        Ok(result)
    }

    /// Work of the walls against the attraction of grains in the step, J: what
    /// `load.rs` books as that of drives.
    fn work_of_walls_on_cohesion(&self) -> f64 {
        let work = &self.workspace;
        let at_walls = work.collider.plan.fixed.iter().map(|&i| {
            let contact = &work.contacts[i as usize];
            let Partner::Wall(w) = contact.partner else {
                return 0.0;
            };
            let wall = self.walls[w as usize].surface_velocity_at(contact.point, contact.normal);
            work.cohesion.of_contact(i as usize) * contact.normal.dot(wall) * self.step
        });
        at_walls.sum()
    }

    /// Kinetic energy of all grains and bodies, J, rotation included.
    pub fn kinetic_energy(&self) -> f64 {
        if let Some(energy) = self.resident_kinetic_energy() {
            return energy;
        }
        let rows = (0..self.grains.len()).filter(|row| !self.grains.held_rows().contains(row));
        let of_rows = rows.map(|row| self.grains.kinetic_energy_of(row));
        of_rows
            .chain(self.frozen_kinetic_energies())
            .collect::<ExactSum>()
            .value()
    }

    /// `Σ m x`, kg m, of all grains and bodies, with frozen ones where they are at a time.
    fn first_moment_of_mass(&mut self, time: f64) -> DVec3 {
        let (grains, held) = (&self.grains, self.grains.held_rows());
        let moments = self
            .team
            .reduce(grains.len(), |sums: &mut [ExactSum; 3], i| {
                if held.contains(&i) {
                    return;
                }
                let moment = grains.position[i] * grains.mass[i];
                for (sum, x) in sums.iter_mut().zip(moment.to_array()) {
                    sum.add(x);
                }
            });
        DVec3::from_array(moments.map(|sum| sum.value())) + self.frozen_moment_of_mass(time)
    }

    /// Elastic energy of the contacts of the step at its start and at its end,
    /// J; between stages `advance` and `finish`.
    fn elastic_energies(&mut self) -> [f64; 2] {
        let World {
            team,
            grains,
            walls,
            pairs,
            workspace,
            periodic,
            step,
            ..
        } = self;
        let end = EndOfStep {
            grains,
            walls,
            periodic: *periodic,
            midpoints: &workspace.midpoints,
            shaped: &workspace.collider.shaped,
            step: *step,
        };
        let contacts = &workspace.contacts;
        team.fold(
            contacts.len(),
            [0.0; 2],
            |range| {
                contacts[range].iter().fold([0.0; 2], |sum, contact| {
                    let pair = pair_of(contact, pairs, grains, walls);
                    let stiffness = pair.stiffness(contact.elastic_radius);
                    let end = end.contact(contact).overlap;
                    let [start, end] = [contact.overlap, end]
                        .map(|overlap| pair.elastic_energy(stiffness, overlap.max(0.0)));
                    [sum[0] + start, sum[1] + end]
                })
            },
            |a, b| [a[0] + b[0], a[1] + b[1]],
        )
    }
}
