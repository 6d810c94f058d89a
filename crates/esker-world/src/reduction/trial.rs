//! Trial steps: the way in which Servin and Wang (2015) find out who is to be set free.
//!
//! After a step a copy of the world, in which nobody is frozen, makes the next one with few sweeps
//! of one solve, which starts from the impulses that are remembered and stored. Frozen grains are
//! set free, each by itself, that are out of balance in it,
//!
//! ```text
//! |m (g − a) + Σ f| > ξ_f (|m (g − a)| + |Σ f|)                          (1)
//! ```
//!
//! with the forces `f` of all contacts and the acceleration `a` of the group, or that have a
//! contact which approaches, separates or slips at more than given speeds. A trial costs more than
//! a step of all grains: this is for comparison, and for scenes too small for it to matter.

use glam::DVec3;

use super::members::remembered;
use super::{Aggregates, Scales};
use crate::World;
use crate::contact::{ContactGeometry, Partner};
use crate::definition::{Method, Solver, Split, Trial, WarmStart, WholeStep, WorldDef};
use crate::state::RestoreError;

/// The world of trial steps, where there are some.
pub(super) fn definition(def: &WorldDef, split: Split) -> Option<Box<WorldDef>> {
    let Split::Trial(trial) = split else {
        return None;
    };
    let mut def = def.clone();
    def.reduction = None;
    def.energy_ledger = false;
    def.accuracy = None;
    def.method = Method::WholeStep(WholeStep {
        solver: Solver::Sweep,
        sweeps: trial.sweeps,
        warm_start: WarmStart::FULL_HISTORY,
        ..Default::default()
    });
    Some(Box::new(def))
}

impl World {
    /// Members that a trial step wants to set free, where there are trial steps. All of them where
    /// it fails.
    pub(super) fn find_by_trial(&self) -> Vec<u32> {
        let Some(aggregates) = self.aggregates.as_ref() else {
            return Vec::new();
        };
        let (Split::Trial(trial), Some(def)) = (aggregates.settings.split, &aggregates.trial)
        else {
            return Vec::new();
        };
        if aggregates.members.is_empty() {
            return Vec::new();
        }
        let Ok(mut copy) = self.with_all_free(def, aggregates) else {
            return aggregates.members.in_id_order();
        };
        copy.set_threads(self.team.threads());
        match copy.step() {
            Ok(_) => {
                let test = TrialTest {
                    trial,
                    scales: self.reduction_scales(aggregates),
                    tried: &copy,
                };
                test.members_to_free(aggregates)
            }
            Err(_) => aggregates.members.in_id_order(),
        }
    }

    /// A copy of the world in which nobody is frozen, with what all contacts carry.
    fn with_all_free(
        &self,
        def: &WorldDef,
        aggregates: &Aggregates,
    ) -> Result<World, RestoreError> {
        let mut state = self.state();
        // Remembered impulses are those of a substep, and the trial has none.
        let (time, step) = (self.time(), self.next_step_length());
        let factor = step / self.next_substep();
        for contact in &mut state.remembered {
            contact.impulse = contact.impulse.scaled(factor);
        }
        let stored = aggregates.members.contacts_in_key_order().into_iter();
        state.remembered.extend(stored.map(|contact| {
            let group = aggregates.members.get(contact.first).group;
            remembered(contact, &aggregates.groups.get(group).frame(time), step)
        }));
        state.sweeps = def.method.sweeps() as u64;
        if let Some(frozen) = state.aggregates.take() {
            let bodies = state.grains.iter().filter(|grain| grain.is_body()).count();
            let end = state.grains.len() - bodies;
            let frozen = frozen.frozen.iter().map(|frozen| frozen.grain);
            state.grains.splice(end..end, frozen);
        }
        state.energy = None;
        World::restore(def, state)
    }
}

/// What a trial step is judged by.
struct TrialTest<'a> {
    trial: Trial,
    scales: Scales,
    /// The copy of the world after it.
    tried: &'a World,
}

impl TrialTest<'_> {
    /// Members that are out of balance, or have a contact that moves.
    fn members_to_free(&self, aggregates: &Aggregates) -> Vec<u32> {
        let World { grains, step, .. } = self.tried;
        let mut forces = vec![DVec3::ZERO; grains.len()];
        let mut moves = vec![false; grains.len()];
        for (contact, impulse) in self.tried.contacts() {
            let given = (contact.normal * impulse.normal + impulse.friction) / *step;
            let touches = impulse.normal > 0.0 || contact.overlap > 0.0;
            let moved = touches && self.has_moved(contact);
            let rows = [Some(contact.grain), contact.partner.row()];
            for (row, sign) in rows.into_iter().zip([-1.0, 1.0]) {
                if let Some(row) = row {
                    forces[row as usize] += given * sign;
                    moves[row as usize] |= moved;
                }
            }
        }
        let is_to_free = |row: usize, member: u32| {
            let group = aggregates.groups.get(aggregates.members.get(member).group);
            let free_fall = self.tried.gravity - group.acceleration(grains.position[row]);
            let (weight, force) = (free_fall * grains.mass[row], forces[row]);
            let carried = weight.length() + force.length();
            moves[row] || (weight + force).length() > self.trial.force * carried
        };
        (0..grains.count())
            .filter_map(|row| Some((row, aggregates.members.find(grains.id[row])?)))
            .filter(|&(row, member)| is_to_free(row, member))
            .map(|(_, member)| member)
            .collect()
    }

    /// Whether the bodies of a contact move relative to each other after the trial.
    fn has_moved(&self, contact: &ContactGeometry) -> bool {
        let grains = &self.tried.grains;
        // Arms are those of the start of the step, as normals are.
        let surface = |row: u32, arm: DVec3| {
            let state = &grains.state[row as usize];
            state.velocity + state.angular_velocity.cross(arm)
        };
        let n = contact.normal;
        let other = match contact.partner {
            Partner::Grain(j) => surface(j, n * -contact.arms[1]),
            Partner::Wall(w) => self.tried.walls[w as usize].surface_velocity_at(contact.point, n),
        };
        let relative = other - surface(contact.grain, n * contact.arms[0]);
        let normal = relative.dot(n);
        let bound = |speed: f64| speed * self.scales.speed;
        normal < -bound(self.trial.approach)
            || normal > bound(self.trial.separation)
            || (relative - n * normal).length() > bound(self.trial.slip)
    }
}
