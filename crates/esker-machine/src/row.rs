//! Rows of a machine's equations, `J v + Σ λ = q` with an impulse `λ` between bounds.

use crate::body::{Spatial, WorldMass};

/// Most bodies that a row acts on: a gear joins the bodies of two joints.
const MAX_BODIES: usize = 4;

/// What a row does to one body.
#[derive(Clone, Copy, Debug, Default)]
pub struct RowEntry {
    /// Index into [`crate::Machine::bodies`].
    pub body: usize,
    /// Its part `J_b` of the Jacobian.
    pub jacobian: Spatial,
    /// Velocity per impulse of the row, `M_b⁻¹ J_bᵀ`.
    pub response: Spatial,
}

/// A row of the equations of a machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Row {
    entries: [RowEntry; MAX_BODIES],
    count: usize,
    /// Regularisation `Σ`.
    pub sigma: f64,
    /// Right-hand side `q`, m/s or rad/s.
    pub target: f64,
    /// Smallest and largest impulse; infinite where there is no bound.
    pub bounds: [f64; 2],
    /// Violation `g`, or what else the right-hand side was made of, m or rad.
    pub violation: f64,
    /// Force and torque about the joint's second anchor that unit impulse puts on the second body.
    pub(crate) reaction: Spatial,
}

impl Row {
    /// The bodies that it acts on; none is the ground.
    #[inline]
    pub fn entries(&self) -> &[RowEntry] {
        &self.entries[..self.count]
    }

    /// Adds a Jacobian on a body; parts of one body are summed.
    pub(crate) fn add(&mut self, body: usize, jacobian: Spatial) {
        let present = self.entries[..self.count]
            .iter_mut()
            .find(|entry| entry.body == body);
        if let Some(entry) = present {
            entry.jacobian += jacobian;
            return;
        }
        self.entries[self.count] = RowEntry {
            body,
            jacobian,
            response: Spatial::ZERO,
        };
        self.count += 1;
    }

    /// Sets the responses; returns `J M⁻¹ Jᵀ`.
    pub(crate) fn set_responses(&mut self, masses: &[WorldMass]) -> f64 {
        let mut sum = 0.0;
        for entry in &mut self.entries[..self.count] {
            entry.response = masses[entry.body].velocity_of(entry.jacobian);
            sum += entry.jacobian.dot(entry.response);
        }
        sum
    }

    /// `J v`.
    #[inline]
    pub fn velocity(&self, velocities: &[Spatial]) -> f64 {
        let parts = self.entries().iter();
        parts.map(|e| e.jacobian.dot(velocities[e.body])).sum()
    }

    /// `v ← v + M⁻¹ Jᵀ λ`.
    #[inline]
    pub(crate) fn apply(&self, impulse: f64, velocities: &mut [Spatial]) {
        for entry in self.entries() {
            velocities[entry.body] += entry.response * impulse;
        }
    }

    pub(crate) fn shares_body_with(&self, other: &Row) -> bool {
        let mut own = self.entries().iter();
        own.any(|a| other.entries().iter().any(|b| a.body == b.body))
    }

    /// `J M⁻¹ J'ᵀ` with another row.
    #[inline]
    pub(crate) fn coupling(&self, other: &Row) -> f64 {
        let mut sum = 0.0;
        for a in self.entries() {
            for b in other.entries() {
                if a.body == b.body {
                    sum += a.jacobian.dot(b.response);
                }
            }
        }
        sum
    }
}
