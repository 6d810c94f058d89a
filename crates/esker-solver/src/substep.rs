//! Sub-stepping: contacts stay the same over a step, and the step is cut into
//! `n` substeps of length `h_s` with one warm-started sweep each.
//!
//! Frozen over the step: the contact list, friction limits, and the normals and
//! arms of contacts that do not follow their bodies (see `follow.rs`).
//! Per substep `k`, with `v° ` the velocities at its start:
//!
//! ```text
//! v ← v° + h_s (g + a) + M⁻¹ Gᵀ p          (p of the last substep)             (1)
//! δ ← δ − h_s n·(v°_b − v°_a)        (k > 0)                             (2)
//! one sweep with σ(δ) and b_n(δ, v°) of `esker_contact::Spring`          (3)
//! ```
//!
//! Contacts of the general form take their geometry at the middle of the step and
//! have a rate `u'`: with `t` the end of the substep from there on, `v°` above and
//! the rows see `u(v) + t u'`, and (2) takes the rate in the middle of the substep
//! that has passed.
//!
//! With `a` the accelerations of other forces that are constant over the step.
//! For `k > 0` the warm start (1) needs no pass over contacts: `M⁻¹ Gᵀ p` is
//! `v − v° − h_s (g + a)` of the substep before, body by body.
//!
//! A contact that carries no load and closes faster than the impact speed
//! becomes an impact row for one substep, `b_n = −e u_n`, `σ = 0`; what it does
//! to its bodies is summed body by body and taken out of the warm start again. Where another contact has slowed the
//! approach within the same sweep, the slower approach is returned: together
//! with `p = 0` before, no impact row can then add energy. The order of contacts must not change
//! from substep to substep: reversing it makes the scheme unstable.

use std::ops::Range;

use esker_contact::{
    BodyState, Contact, ContactProblem, GeneralContact, Impulse, ResidualSum, RowCompliance, Spring,
};
use glam::DVec3;

use crate::follow::follow;
use crate::impact_changes::{VelocityChange, at_rest};
use crate::sweep::{Diagonal, TangentCompliance, relax};

/// What impacts do at a contact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Impact {
    /// Newton's coefficient of restitution e.
    pub restitution: f64,
    /// Approach speed above which the contact is an impact, m/s.
    pub speed: f64,
}

/// What one step of substeps works on; all slices have one entry per contact.
pub struct Substeps<'a> {
    /// Contacts in sweep order; their `target` and `compliance` are not used,
    /// normals and arms of those that follow their bodies are updated.
    pub contacts: &'a mut [Contact],
    /// What those of the general form have beside that.
    pub general: &'a [GeneralContact],
    /// How many substeps the step has.
    pub substeps: usize,
    /// Whether a contact follows its bodies.
    pub follows: &'a [bool],
    /// Normal rows; overlaps are updated.
    pub springs: &'a mut [Spring],
    /// Impact behaviour.
    pub impacts: &'a [Impact],
    /// Impulses of one substep; on entry those of the last substep before.
    pub impulses: &'a mut [Impulse],
    /// Bodies; velocities are updated.
    pub bodies: &'a mut [BodyState],
    /// Length of a substep `h_s`, s.
    pub step: f64,
    /// Acceleration of every body with a finite mass, m/s².
    pub gravity: DVec3,
    /// What accelerates bodies besides.
    pub accelerations: Accelerations<'a>,
    /// Compliance of friction and rolling rows.
    pub compliance: TangentCompliance,
}

/// What a force and a torque give to a body.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Acceleration {
    /// Rate of the velocity, m/s².
    pub linear: DVec3,
    /// Rate of the angular velocity, rad/s², or of the metric one where bodies have that.
    pub angular: DVec3,
}

/// Accelerations beside gravity, of the bodies from the `first` on; none where there is no
/// entry.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Accelerations<'a> {
    /// Index of the body that the first entry belongs to.
    pub first: usize,
    /// One entry per body.
    pub list: &'a [Acceleration],
}

impl Accelerations<'_> {
    /// That of a body, if there is one.
    pub fn of(&self, body: usize) -> Option<&Acceleration> {
        self.list.get(body.checked_sub(self.first)?)
    }

    /// Gives the bodies from index `start` on what they gain within a time, s.
    pub fn act(&self, start: usize, bodies: &mut [BodyState], time: f64) {
        let before = self.first.saturating_sub(start).min(bodies.len());
        let past = start.saturating_sub(self.first).min(self.list.len());
        for (body, rate) in bodies[before..].iter_mut().zip(&self.list[past..]) {
            body.velocity += rate.linear * time;
            body.angular_velocity += rate.angular * time;
        }
    }
}

/// Scratch of the sub-stepped way, kept between steps.
#[derive(Clone, Debug, Default)]
pub struct SubStepper {
    /// Bodies with the velocities `v°` at the start of the substep.
    before: Vec<BodyState>,
    diagonals: Vec<Diagonal>,
    /// Contacts that were impact rows in the last substep.
    impacted: Vec<u32>,
    /// What these have changed, by body.
    impact_changes: Vec<Option<VelocityChange>>,
    /// Impact rows over the whole step.
    pub impact_count: usize,
    /// Impulses of each contact over the whole step, impacts included.
    pub impulse_sums: Vec<Impulse>,
}

impl SubStepper {
    /// Begins a step: warm start from the impulses given.
    pub fn begin(&mut self, s: &mut Substeps<'_>) {
        self.begin_bodies(s);
        self.apply_impulses(s, 0..s.contacts.len());
    }

    /// First half of [`SubStepper::begin`], body by body.
    pub fn begin_bodies(&mut self, s: &mut Substeps<'_>) {
        let Substeps {
            contacts, bodies, ..
        } = s;
        self.diagonals.clear();
        self.diagonals.extend(
            contacts
                .iter()
                .map(|c| Diagonal::of(c.rows(s.general, 0.0), bodies, s.compliance)),
        );
        self.impacted.clear();
        self.impact_changes.clear();
        self.impact_changes.resize(bodies.len(), None);
        self.impact_count = 0;
        self.impulse_sums.clear();
        self.impulse_sums.resize(contacts.len(), Impulse::default());
        self.before.clear();
        self.before.extend_from_slice(bodies);
        let fall = s.gravity * s.step;
        for body in bodies.iter_mut().filter(|b| b.inverse_mass > 0.0) {
            body.velocity += fall;
        }
        s.accelerations.act(0, bodies, s.step);
    }

    /// Second half of [`SubStepper::begin`], for some of the contacts.
    pub fn apply_impulses(&self, s: &mut Substeps<'_>, range: Range<usize>) {
        for (contact, impulse) in s.contacts[range.clone()].iter().zip(&s.impulses[range]) {
            if impulse.normal > 0.0 {
                let (a, b) = ContactProblem::bodies_of(s.bodies, contact);
                contact.rows(s.general, 0.0).apply(impulse, a, b);
            }
        }
    }

    /// Substep `index`: equation (1) for all but the first, then the sweep.
    pub fn substep(&mut self, s: &mut Substeps<'_>, index: usize) {
        if index > 0 {
            self.warm_start_bodies(s);
        }
        self.sweep(s, index, 0..s.contacts.len());
    }

    /// What impacts have changed in this substep, by body.
    pub fn impact_changes(&mut self) -> &mut [Option<VelocityChange>] {
        &mut self.impact_changes
    }

    /// The sweep of substep `index` over some of the contacts.
    pub fn sweep(&mut self, s: &mut Substeps<'_>, index: usize, range: Range<usize>) {
        let first = index == 0;
        let time = time_of_end(index, s.substeps, s.step);
        let Substeps {
            contacts,
            springs,
            impacts,
            impulses,
            bodies,
            step,
            ..
        } = s;
        let step = *step;
        for (i, (((contact, spring), impact), impulse)) in contacts
            .iter_mut()
            .zip(springs.iter_mut())
            .zip(impacts.iter())
            .zip(impulses.iter_mut())
            .enumerate()
            .take(range.end)
            .skip(range.start)
        {
            let [a, b] = contact.bodies.map(|i| &self.before[i as usize]);
            if !first && s.follows[i] {
                let (a_now, b_now) = ContactProblem::bodies_of(bodies, contact);
                let apart = (b.velocity - a.velocity) * step;
                let overlap = &mut spring.overlap;
                follow(contact, overlap, apart, impulse, [a_now, b_now]);
            }
            let normal_velocity = |time| contact.rows(s.general, time).normal_velocity(a, b);
            let u_n = normal_velocity(time - step);
            if !first && !s.follows[i] {
                spring.overlap -= step * normal_velocity(time - 1.5 * step);
            }
            let impacts = impulse.normal == 0.0
                && !spring.is_resolved
                && u_n < -impact.speed
                && (spring.overlap > 0.0 || -spring.overlap < -u_n * step);
            let pair = ContactProblem::bodies_of(bodies, contact);
            let rows = contact.rows(s.general, time);
            let normal = if impacts {
                self.impacted.push(i as u32);
                self.impact_count += 1;
                let u_now = rows.normal_velocity(pair.0, pair.1);
                (-impact.restitution * u_n.max(u_now).min(0.0), 0.0)
            } else {
                spring.row(u_n, step)
            };
            relax(
                rows,
                &self.diagonals[i],
                normal,
                s.compliance,
                pair,
                impulse,
            );
            self.impulse_sums[i] = self.impulse_sums[i].plus(impulse);
            if impacts {
                let [mut a, mut b] = contact.bodies.map(|k| at_rest(&bodies[k as usize]));
                contact.rows(s.general, 0.0).apply(impulse, &mut a, &mut b);
                for (body, state) in contact.bodies.into_iter().zip([a, b]) {
                    let change = VelocityChange::of(&state);
                    let sum = &mut self.impact_changes[body as usize];
                    *sum = Some(sum.map_or(change, |sum| sum.plus(&change)));
                }
            }
        }
    }

    /// Equation (1): gravity, other forces and the last substep's impulses once more, without
    /// those of impacts.
    pub fn warm_start_bodies(&mut self, s: &mut Substeps<'_>) {
        let before = self.before.iter_mut().zip(&mut self.impact_changes);
        for (body, (before, impacts)) in s.bodies.iter_mut().zip(before) {
            // v + (v − v° − h_s g) + h_s g: gravity, and the like, is in the difference already.
            let now = *body;
            body.velocity += now.velocity - before.velocity;
            body.angular_velocity += now.angular_velocity - before.angular_velocity;
            *before = now;
            if let Some(change) = impacts.take() {
                change.subtract_from(body);
            }
        }
        self.finish(s.impulses);
    }

    /// Ends a step: impulses of impacts are forgotten, so that what is left is
    /// fit to start the next step.
    pub fn finish(&mut self, impulses: &mut [Impulse]) {
        for i in self.impacted.drain(..) {
            impulses[i as usize] = Impulse::default();
        }
    }

    /// Residual of the last substep's rows (see [`ResidualSum`]); call before
    /// [`SubStepper::finish`]. Impact rows are exact and belong to what had to be
    /// solved alone.
    pub fn residual(&self, s: &Substeps<'_>) -> f64 {
        let mut sum = ResidualSum::default();
        let mut impacted = self.impacted.iter().peekable();
        let fall = s.gravity * s.step;
        let time = time_of_end(s.substeps - 1, s.substeps, s.step);
        for (i, contact) in s.contacts.iter().enumerate() {
            let rows = contact.rows(s.general, time);
            let now = contact.bodies.map(|k| &s.bodies[k as usize]);
            let free = contact.bodies.map(|k| {
                let mut free = self.before[k as usize];
                if free.inverse_mass > 0.0 {
                    free.velocity += fall;
                }
                s.accelerations
                    .act(k as usize, std::slice::from_mut(&mut free), s.step);
                free
            });
            let [a, b] = contact.bodies.map(|k| &self.before[k as usize]);
            let at_start = contact.rows(s.general, time - s.step);
            let u_n = at_start.normal_velocity(a, b);
            if impacted.next_if(|&&k| k as usize == i).is_some() {
                let target = -s.impacts[i].restitution * u_n;
                sum.add_impact(rows, target, [&free[0], &free[1]]);
                continue;
            }
            let (target, normal) = s.springs[i].row(u_n, s.step);
            let compliance = RowCompliance {
                normal,
                tangent: s.compliance.friction,
                rolling: s.compliance.rolling,
            };
            if s.impulses[i].normal > 0.0 {
                sum.add_weight(rows, now, fall.length());
            }
            sum.add(
                rows,
                target,
                compliance,
                now,
                [&free[0], &free[1]],
                &s.impulses[i],
            );
        }
        sum.relative()
    }
}

/// Time from the middle of a step of so many substeps to the end of one, s: what
/// rates of general contacts count from.
pub(crate) fn time_of_end(index: usize, substeps: usize, step: f64) -> f64 {
    (index as f64 + 1.0 - 0.5 * substeps as f64) * step
}
