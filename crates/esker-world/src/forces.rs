//! Forces beside gravity and contacts: cohesion, what is applied to bodies of their own, and what
//! others apply to grains.
//!
//! A body with the inverse mass `1/m` and the inverse root `C = I^(−1/2)` of its inertia (see
//! `midpoint.rs`) is accelerated by a force `F` and a torque `τ` at
//!
//! ```text
//! v' = P F/m − (1 − P) g,    z' = C τ                                    (1)
//! ```
//!
//! in its metric angular velocity `z`; with the projection `P` on the axes that it can move
//! along, which takes back the gravity that every body falls with. Both are evaluated once per
//! step, in its middle.

use esker_solver::substep::{Acceleration, Accelerations};
use glam::{DQuat, DVec3};

use crate::World;
use crate::bodies::Body;
use crate::intervention::AppliedForce;

/// Accelerations of a step; keeps its memory.
#[derive(Debug, Default)]
pub(crate) struct BodyForces {
    first: usize,
    list: Vec<Acceleration>,
}

impl BodyForces {
    /// As solvers take them: no entries where nothing but gravity and contacts acts.
    pub(crate) fn accelerations(&self) -> Accelerations<'_> {
        Accelerations {
            first: self.first,
            list: &self.list,
        }
    }
}

impl World {
    /// Sets the accelerations (1) of the step; `bodies` of the equations have its masses.
    pub(crate) fn evaluate_forces(&mut self) {
        let count = self.grains.count();
        let time = self.time() + 0.5 * self.step;
        let applied = self.applied_by_row();
        let work = &mut self.workspace;
        let bodies = &work.equations.bodies[..self.grains.len()];
        let forces = &mut work.forces;
        forces.list.clear();
        let cohesive = work.cohesion.forces();
        let acts_on_grains = !cohesive.is_empty() || !applied.is_empty();
        let is_acted_on = self.bodies.iter().zip(&self.grains.locks).any(|(b, l)| {
            l.translation.contains(&true) || b.applied.iter().any(|force| !force.is_zero())
        });
        forces.first = if acts_on_grains { 0 } else { count };
        if !acts_on_grains && !is_acted_on {
            return;
        }
        let turned = |i: usize, torque: DVec3| match work.midpoints.0.get(i) {
            Some(midpoint) => midpoint.inverse_root * torque * bodies[i].inverse_inertia,
            None => torque * bodies[i].inverse_inertia,
        };
        let of_cohesion = cohesive.iter().zip(bodies).enumerate();
        forces
            .list
            .extend(of_cohesion.map(|(i, (force, body))| Acceleration {
                linear: *force * body.inverse_mass,
                angular: turned(i, work.cohesion.torque(i)),
            }));
        forces
            .list
            .resize(bodies.len() - forces.first, Acceleration::default());
        for (i, AppliedForce { force, torque, .. }) in &applied {
            let entry = &mut forces.list[*i];
            entry.linear += *force * bodies[*i].inverse_mass;
            entry.angular += turned(*i, *torque);
        }
        let own = &mut forces.list[count - forces.first..];
        for (k, (entry, body)) in own.iter_mut().zip(&self.bodies).enumerate() {
            let (i, [force, torque]) = (count + k, body.applied.each_ref().map(|f| f.at(time)));
            let (state, free) = (&bodies[i], self.grains.free_translation(i));
            *entry = Acceleration {
                linear: free * (entry.linear + force * state.inverse_mass)
                    - (DVec3::ONE - free) * self.gravity,
                angular: entry.angular + turned(i, torque),
            };
        }
    }

    /// Where grains that others push are, then bodies of their own.
    pub(crate) fn places_of_pushed(&self) -> Vec<(DVec3, DQuat)> {
        let pushed = self.applied_by_row().into_iter().map(|(row, _)| row);
        let rows = pushed.chain(self.grains.count()..self.grains.len());
        rows.map(|i| (self.grains.position[i], self.grains.orientation[i]))
            .collect()
    }

    /// Work of applied forces and torques in the step that moved them from these places, J.
    pub(crate) fn work_of_forces(&self, before: &[(DVec3, DQuat)]) -> f64 {
        let time = self.time() + 0.5 * self.step;
        let after = self.places_of_pushed();
        let on_grains = self.applied_by_row().into_iter();
        let on_grains = on_grains.map(|(_, applied)| [applied.force, applied.torque]);
        let of_body = |body: &Body| body.applied.each_ref().map(|f| f.at(time));
        let acting = on_grains.chain(self.bodies.iter().map(of_body));
        let places = before.iter().zip(&after).zip(acting);
        let work = places.map(|((&(x, q), &(end, turned)), [force, torque])| {
            let rotation = (turned * q.conjugate()).to_scaled_axis();
            force.dot(end - x) + torque.dot(rotation)
        });
        work.sum()
    }
}
