//! Stage `assemble`: contacts with geometry become equations. The only place
//! that knows both bodies and equations.

use esker_contact::{BodyState, Contact, ContactProblem, Impulse, Spring, Stepping};
use esker_solver::substep::Impact;

use crate::collide::{ContactGeometry, Partner};
use crate::definition::{ContactSettings, WarmStart};
use crate::grains::Grains;
use crate::material::PairTable;
use crate::wall::Wall;

/// The equations of a step, one entry per contact in every vector.
#[derive(Clone, Debug, Default)]
pub struct Equations {
    /// Bodies (grains, then one ghost per wall contact that carries the wall's
    /// velocity at the contact) and contacts.
    pub problem: ContactProblem,
    /// Normal rows.
    pub springs: Vec<Spring>,
    /// Impact behaviour.
    pub impacts: Vec<Impact>,
    /// Static normal forces of the overlaps, N (what model-based warm starting starts from).
    pub static_forces: Vec<f64>,
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

impl Equations {
    /// Builds the equations of all contacts.
    pub fn assemble(
        &mut self,
        grains: &Grains,
        walls: &[Wall],
        pairs: &PairTable,
        contacts: &[ContactGeometry],
        constants: StepConstants<'_>,
    ) {
        let StepConstants {
            step,
            row_step,
            cap,
            gravity,
            settings,
        } = constants;
        self.steppings.clear();
        self.steppings.extend(
            pairs
                .all()
                .iter()
                .map(|p| p.stepping(step, row_step, settings)),
        );
        let problem = &mut self.problem;
        problem.tangent_compliance = settings.friction_compliance / row_step;
        problem.rolling_compliance = settings.rolling_compliance / row_step;
        problem.bodies.clear();
        problem.bodies.extend_from_slice(&grains.state);
        problem.contacts.clear();
        self.springs.clear();
        self.impacts.clear();
        self.static_forces.clear();
        for c in contacts {
            let (body, material) = match c.partner {
                Partner::Grain(j) => (j, grains.material[j as usize]),
                Partner::Wall(w) => {
                    let wall = &walls[w as usize];
                    problem.bodies.push(BodyState {
                        velocity: wall.surface_velocity_at(c.point, c.normal),
                        spin: wall.twist.spin,
                        ..Default::default()
                    });
                    (problem.bodies.len() as u32 - 1, wall.material)
                }
            };
            let own_material = grains.material[c.grain as usize];
            let pair = pairs.get(own_material, material);
            let stiffness = pair.stiffness(c.elastic_radius);
            let mobility = problem.bodies[c.grain as usize].inverse_mass
                + problem.bodies[body as usize].inverse_mass;
            let least_overlap = (LEAST_OVERLAP_SHARE
                * pair.static_overlap(stiffness, gravity / mobility))
            .max(LEAST_OVERLAP_DIAMETERS * c.diameter);
            problem.contacts.push(Contact {
                bodies: [c.grain, body],
                normal: c.normal,
                arms: c.arms,
                friction: pair.law.friction,
                rolling: pair.law.rolling * c.rolling_radius,
                twisting: pair.law.twisting * c.rolling_radius,
                compliance: 0.0,
                target: 0.0,
            });
            self.springs
                .push(self.steppings[pairs.index(own_material, material)].spring(
                    c.overlap,
                    stiffness,
                    least_overlap,
                    mobility,
                    cap,
                ));
            self.impacts.push(Impact {
                restitution: pair.law.restitution,
                speed: settings
                    .impact_speed
                    .unwrap_or(IMPACT_DIAMETERS_PER_STEP * c.diameter / step),
            });
            self.static_forces
                .push(pair.static_force(stiffness, c.overlap.max(0.0)));
        }
    }

    /// Normal velocity of a contact with the problem's bodies, m/s.
    fn normal_velocity(&self, contact: &Contact) -> f64 {
        let [a, b] = contact
            .bodies
            .map(|i| self.problem.bodies[i as usize].velocity);
        contact.normal.dot(b - a)
    }

    /// Sets the rows of the impact stage: impacts get `u_n⁺ = −e u_n⁻`, all
    /// others `u_n⁺ ≥ 0` (or may close their gap). Returns the number of impacts.
    ///
    /// A contact that separates (`u_n⁻ > 0`) and is pressed together by impacts
    /// beside it gets `u_n⁺ ≥ −e u_n⁻` like them. Stopping it at zero would add
    /// the energy `½ p u_n⁻`; with one law for all, frictionless impacts at once
    /// change the energy by `−(1 − e)/(1 + e) ½ p·W p ≤ 0` (Moreau).
    pub fn set_impact_rows(&mut self, step: f64) -> usize {
        let mut count = 0;
        for i in 0..self.springs.len() {
            let u_n = self.normal_velocity(&self.problem.contacts[i]);
            let (spring, impact) = (&self.springs[i], &self.impacts[i]);
            let closes = spring.overlap > 0.0 || -spring.overlap < -u_n * step;
            let strikes = u_n < -impact.speed && closes;
            let row = &mut self.problem.contacts[i];
            row.compliance = 0.0;
            row.target = if strikes {
                count += 1;
                -impact.restitution * u_n
            } else {
                (spring.overlap / step).min(0.0) - impact.restitution * u_n.max(0.0)
            };
        }
        count
    }

    /// Sets the rows of the main stage from overlaps and current velocities.
    pub fn set_main_rows(&mut self, step: f64) {
        for i in 0..self.springs.len() {
            let u_n = self.normal_velocity(&self.problem.contacts[i]);
            let row = &mut self.problem.contacts[i];
            row.compliance = self.springs[i].compliance();
            row.target = self.springs[i].target(u_n, step);
        }
    }

    /// Takes the velocity changes of impulses away beforehand, so that a solve
    /// that starts from them and applies them ends up without.
    fn withdraw(&mut self, impulses: &[Impulse]) {
        let bodies = &mut self.problem.bodies;
        for (contact, impulse) in self.problem.contacts.iter().zip(impulses) {
            let [a, b] = contact.bodies.map(|i| i as usize);
            let (mut body_a, mut body_b) = (bodies[a], bodies[b]);
            contact.apply(&impulse.scaled(-1.0), &mut body_a, &mut body_b);
            (bodies[a], bodies[b]) = (body_a, body_b);
        }
    }

    /// Turns remembered impulses into those that a whole-step solve starts from.
    pub fn warm_start(&mut self, start: WarmStart, step: f64, impulses: &mut [Impulse]) {
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
                for (impulse, force) in impulses.iter_mut().zip(&self.static_forces) {
                    *impulse = Impulse {
                        normal: step * force,
                        ..Default::default()
                    };
                }
            }
        }
    }
}
