//! Stage `assemble`: contacts with geometry become equations. The only place
//! that knows both bodies and equations.

use std::sync::atomic::{AtomicUsize, Ordering};

use esker_contact::{BodyState, Contact, ContactProblem, Impulse, Spring, Stepping};
use esker_parallel::{Team, prefetch};
use esker_solver::packed::{Law, Row};
use esker_solver::substep::Impact;
use esker_solver::sweep::TangentCompliance;

use glam::DVec3;

use crate::collide::{ContactGeometry, Partner};
use crate::definition::{ContactSettings, NormalLaw, WarmStart};
use crate::grains::Grains;
use crate::material::{PairConstants, PairTable};
use crate::wall::Wall;

/// The equations of a step.
#[derive(Clone, Debug, Default)]
pub struct Equations {
    /// Bodies: grains, then one ghost per wall contact that carries the wall's
    /// velocity at the contact.
    pub bodies: Vec<BodyState>,
    /// Compliances of friction and rolling rows.
    pub compliance: TangentCompliance,
    /// What contacts of one law share.
    pub laws: Vec<Law>,
    /// Law of each pair of materials, by the index of the pair table. Pairs
    /// with equal laws share one, so that their contacts share lanes.
    law_of_pair: Vec<u16>,
    steppings: Vec<Stepping>,
}

/// What assembly needs to know about the step.
#[derive(Clone, Copy, Debug)]
pub struct StepConstants<'a> {
    /// Whole step h, s.
    pub step: f64,
    /// Step of the rows: h, or h/n when sub-stepping, s.
    pub row_step: f64,
    /// Stiffness cap κ; zero for a whole step.
    pub cap: f64,
    /// |g|, m/s².
    pub gravity: f64,
    /// Contact settings.
    pub settings: &'a ContactSettings,
}

/// `δ_min` is this share of the overlap under the grains' own weight.
const LEAST_OVERLAP_SHARE: f64 = 0.01;
/// `δ_min` where there is no weight, in diameters.
const LEAST_OVERLAP_DIAMETERS: f64 = 1e-12;
/// Default impact speed, in diameters per step.
const IMPACT_DIAMETERS_PER_STEP: f64 = 0.01;

/// Contacts whose bodies are asked for ahead of their use.
const PREFETCHED: usize = 16;

/// The contacts of a step on their way into equations.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    /// Laws, bodies and partners.
    pub equations: &'a Equations,
    /// The grains.
    pub grains: &'a Grains,
    /// The walls.
    pub walls: &'a [Wall],
    /// Laws of materials.
    pub pairs: &'a PairTable,
    /// All contacts in sweep order.
    pub contacts: &'a [ContactGeometry],
    /// Those with walls, as indices of all contacts, ascending.
    pub wall_contacts: &'a [u32],
    /// Impulses to start from, one per contact.
    pub impulses: &'a [Impulse],
    /// The step.
    pub constants: StepConstants<'a>,
}

impl Rows<'_> {
    fn pair(&self, contact: &ContactGeometry) -> (usize, &PairConstants) {
        let other = match contact.partner {
            Partner::Grain(j) => self.grains.material[j as usize],
            Partner::Wall(w) => self.walls[w as usize].material,
        };
        let own = self.grains.material[contact.grain as usize];
        (self.pairs.index(own, other), self.pairs.get(own, other))
    }

    /// The equations of one contact.
    #[inline]
    pub fn row(&self, i: usize) -> Row {
        if let Some(ahead) = self.contacts.get(i + PREFETCHED) {
            prefetch(&self.equations.bodies, ahead.grain as usize);
            if let Partner::Grain(j) = ahead.partner {
                prefetch(&self.equations.bodies, j as usize);
            }
        }
        let c = &self.contacts[i];
        let StepConstants {
            step,
            gravity,
            settings,
            ..
        } = self.constants;
        let (pair_index, pair) = self.pair(c);
        let law = &self.equations.laws[self.equations.law_of_pair[pair_index] as usize];
        let bodies = &self.equations.bodies;
        let body = match c.partner {
            Partner::Grain(j) => j,
            Partner::Wall(_) => self.ghost_of(i),
        };
        let mobility = bodies[c.grain as usize].inverse_mass + bodies[body as usize].inverse_mass;
        let stiffness = pair.stiffness(c.elastic_radius);
        let weight_overlap = static_overlap(pair, gravity / (mobility * stiffness));
        let least_overlap =
            (LEAST_OVERLAP_SHARE * weight_overlap).max(LEAST_OVERLAP_DIAMETERS * c.diameter());
        let speed = settings
            .impact_speed
            .unwrap_or(IMPACT_DIAMETERS_PER_STEP * c.diameter() / step);
        let spring = self.equations.steppings[pair_index].spring(
            c.overlap,
            stiffness,
            single(least_overlap),
            mobility,
            self.constants.cap,
        );
        Row {
            contact: Contact {
                bodies: [c.grain, body],
                normal: c.normal,
                arms: c.arms,
                friction: pair.law.friction,
                rolling: pair.law.rolling * c.rolling_radius,
                twisting: pair.law.twisting * c.rolling_radius,
                compliance: 0.0,
                target: 0.0,
            },
            spring: Spring {
                least_compliance: law.cap * mobility,
                ..spring
            },
            impact: Impact {
                restitution: law.restitution,
                speed: single(speed),
            },
            closing: c.closing_speed,
            impulse: self.impulses[i],
        }
    }

    /// The body that stands for the wall of contact `i`.
    fn ghost_of(&self, i: usize) -> u32 {
        let place = self.wall_contacts.partition_point(|&k| (k as usize) < i);
        (self.grains.len() + place) as u32
    }

    /// Static normal force of a contact's overlap, N: what model-based warm
    /// starting starts from.
    pub fn static_force(&self, i: usize) -> f64 {
        let c = &self.contacts[i];
        let (_, pair) = self.pair(c);
        pair.static_force(pair.stiffness(c.elastic_radius), c.overlap.max(0.0))
    }
}

/// A number as 32 bits hold it: bounds that packed contacts keep as such.
fn single(x: f64) -> f64 {
    f64::from(x as f32)
}

/// Static overlap under a force over the stiffness, m, nearly: it only bounds
/// `δ` from below.
fn static_overlap(pair: &PairConstants, force_over_stiffness: f64) -> f64 {
    match pair.law.normal {
        NormalLaw::Hertz => {
            let root = rough_cube_root(force_over_stiffness as f32);
            f64::from(root * root)
        }
        NormalLaw::Linear { .. } => force_over_stiffness,
    }
}

/// Cube root of a number that is not negative, to a thousandth: a library's
/// takes longer than a whole sweep.
fn rough_cube_root(x: f32) -> f32 {
    // A third of the exponent, and the offset that makes 1 nearly 1.
    let guess = f32::from_bits(x.to_bits() / 3 + 0x2a50_8c2d);
    // One step of Newton's method.
    guess - (guess - x / (guess * guess)) * (1.0 / 3.0)
}

impl Equations {
    /// Sets the laws of the step.
    pub fn set_laws(&mut self, pairs: &PairTable, constants: StepConstants<'_>) {
        let StepConstants {
            step,
            row_step,
            cap,
            settings,
            ..
        } = constants;
        self.compliance = TangentCompliance {
            friction: settings.friction_compliance / row_step,
            rolling: settings.rolling_compliance / row_step,
        };
        self.steppings.clear();
        self.laws.clear();
        self.law_of_pair.clear();
        for pair in pairs.all() {
            let stepping = pair.stepping(step, row_step, settings);
            let law = Law {
                friction: pair.law.friction,
                rolls: pair.law.rolling > 0.0 || pair.law.twisting > 0.0,
                push: stepping.push,
                keep: stepping.keep,
                cap: stepping.spring(0.0, 1.0, 1.0, 1.0, cap).least_compliance,
                hertz: stepping.exponent > 1.0,
                restitution: pair.law.restitution,
            };
            let known = self.laws.iter().position(|l| *l == law);
            self.law_of_pair
                .push(known.unwrap_or(self.laws.len()) as u16);
            if known.is_none() {
                self.laws.push(law);
            }
            self.steppings.push(stepping);
        }
    }

    /// Laws of the pairs of materials, by the index of the pair table.
    pub fn laws_of_pairs(&self) -> &[u16] {
        &self.law_of_pair
    }

    /// Sets the bodies: grains, then a ghost for every contact with a wall, of
    /// which the second list has the indices.
    pub fn set_bodies(
        &mut self,
        team: &mut Team,
        grains: &Grains,
        walls: &[Wall],
        (contacts, wall_contacts): (&[ContactGeometry], &[u32]),
    ) {
        let count = grains.len();
        let ghosts = wall_contacts.len();
        team.fill(&mut self.bodies, count + ghosts, |k| {
            if k < count {
                return grains.state[k];
            }
            let contact = &contacts[wall_contacts[k - count] as usize];
            let Partner::Wall(w) = contact.partner else {
                return BodyState::default();
            };
            let wall = &walls[w as usize];
            BodyState {
                velocity: wall.surface_velocity_at(contact.point, contact.normal),
                spin: wall.twist.spin,
                ..Default::default()
            }
        });
    }
}

/// The equations of a whole step, one entry per contact in every vector.
#[derive(Clone, Debug, Default)]
pub struct WholeStepEquations {
    /// Bodies and contacts.
    pub problem: ContactProblem,
    springs: Vec<Spring>,
    impacts: Vec<Impact>,
}

impl WholeStepEquations {
    /// Sets bodies and contacts; the normal rows are still to come.
    pub fn assemble(&mut self, team: &mut Team, rows: Rows<'_>) {
        let problem = &mut self.problem;
        let compliance = rows.equations.compliance;
        problem.tangent_compliance = compliance.friction;
        problem.rolling_compliance = compliance.rolling;
        let bodies = &rows.equations.bodies;
        team.fill(&mut problem.bodies, bodies.len(), |i| bodies[i]);
        let count = rows.contacts.len();
        team.fill(&mut problem.contacts, count, |i| rows.row(i).contact);
        team.fill(&mut self.springs, count, |i| rows.row(i).spring);
        team.fill(&mut self.impacts, count, |i| rows.row(i).impact);
    }

    /// Sets every contact's normal row from its velocity, spring and impact.
    fn set_rows(
        &mut self,
        team: &mut Team,
        row: impl Fn(f64, &Spring, &Impact, &mut Contact) + Sync,
    ) {
        let (bodies, springs, impacts) = (&self.problem.bodies, &self.springs, &self.impacts);
        team.for_each_part(&mut self.problem.contacts, 1, |start, contacts| {
            for (k, contact) in contacts.iter_mut().enumerate() {
                let [a, b] = contact.bodies.map(|i| bodies[i as usize].velocity);
                let u_n = contact.normal.dot(b - a);
                row(u_n, &springs[start + k], &impacts[start + k], contact);
            }
        });
    }

    /// Sets the rows of the impact stage: impacts get `u_n⁺ = −e u_n⁻`, all
    /// others `u_n⁺ ≥ 0` (or may close their gap). Returns the number of impacts.
    ///
    /// A contact that separates (`u_n⁻ > 0`) and is pressed together by impacts
    /// beside it gets `u_n⁺ ≥ −e u_n⁻` like them. Stopping it at zero would add
    /// the energy `½ p u_n⁻`; with one law for all, frictionless impacts at once
    /// change the energy by `−(1 − e)/(1 + e) ½ p·W p ≤ 0` (Moreau).
    pub fn set_impact_rows(&mut self, team: &mut Team, step: f64) -> usize {
        let count = AtomicUsize::new(0);
        self.set_rows(team, |u_n, spring, impact, contact| {
            let closes = spring.overlap > 0.0 || -spring.overlap < -u_n * step;
            let strikes = u_n < -impact.speed && closes;
            contact.compliance = 0.0;
            contact.target = if strikes {
                count.fetch_add(1, Ordering::Relaxed);
                -impact.restitution * u_n
            } else {
                (spring.overlap / step).min(0.0) - impact.restitution * u_n.max(0.0)
            };
        });
        count.into_inner()
    }

    /// Adds the velocity that a force like gravity gives to every body with a
    /// finite mass, m/s.
    pub fn add_velocity(&mut self, team: &mut Team, velocity: DVec3) {
        team.for_each_part(&mut self.problem.bodies, 1, |_, bodies| {
            for body in bodies.iter_mut().filter(|b| b.inverse_mass > 0.0) {
                body.velocity += velocity;
            }
        });
    }

    /// Sets the rows of the main stage from overlaps and current velocities.
    pub fn set_main_rows(&mut self, team: &mut Team, step: f64) {
        self.set_rows(team, |u_n, spring, _, contact| {
            contact.compliance = spring.compliance();
            contact.target = spring.target(u_n, step);
        });
    }

    /// Takes the velocity changes of impulses away beforehand, so that a solve
    /// that starts from them and applies them ends up without.
    fn withdraw(&mut self, impulses: &[Impulse]) {
        let bodies = &mut self.problem.bodies;
        for (contact, impulse) in self.problem.contacts.iter().zip(impulses) {
            let (a, b) = ContactProblem::bodies_of(bodies, contact);
            contact.apply(&impulse.scaled(-1.0), a, b);
        }
    }

    /// Turns remembered impulses into those that a whole-step solve starts
    /// from; `static_force(i)` is that of a contact's overlap, N.
    pub fn warm_start(
        &mut self,
        start: WarmStart,
        step: f64,
        impulses: &mut [Impulse],
        static_force: impl Fn(usize) -> f64,
    ) {
        match start {
            WarmStart::Cold => impulses.fill(Impulse::default()),
            WarmStart::History { factor } => {
                for impulse in impulses {
                    *impulse = impulse.scaled(factor);
                }
            }
            WarmStart::HistoryOfNormals { factor } => {
                for impulse in impulses {
                    *impulse = Impulse {
                        normal: factor * impulse.normal,
                        ..Default::default()
                    };
                }
            }
            WarmStart::HistoryWithoutVelocity { factor } => {
                for impulse in impulses.iter_mut() {
                    *impulse = impulse.scaled(factor);
                }
                self.withdraw(impulses);
            }
            WarmStart::Model => {
                for (i, impulse) in impulses.iter_mut().enumerate() {
                    *impulse = Impulse {
                        normal: step * static_force(i),
                        ..Default::default()
                    };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rough_cube_roots_are_good_to_a_thousandth() {
        for k in -300..300 {
            let x = 10_f32.powf(f32::from(k as i16) * 0.1);
            let root = rough_cube_root(x);
            assert!((root / x.cbrt() - 1.0).abs() < 1.5e-3, "{x}: {root}");
        }
        assert!(rough_cube_root(0.0) < 1e-10);
    }
}
