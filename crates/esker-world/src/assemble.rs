//! Stage `assemble`: contacts with geometry become equations. The only place
//! that knows both bodies and equations.

use esker_contact::{
    BodyState, Contact, ContactProblem, ContactState, Form, GeneralContact, Impulse, Spring,
    SpringLaw, cross_matrix, single,
};
use esker_parallel::{SharedSlice, Team, prefetch, resize};
use esker_solver::backend::SubstepProblem;
use esker_solver::packed::{Law, Row};
use esker_solver::plan::SweepPlan;
use esker_solver::substep::Accelerations;
use esker_solver::sweep::TangentCompliance;

use glam::{DMat3, DVec3};

use crate::contact::{ContactGeometry, Partner};
use crate::definition::{ContactSettings, WarmStart};
use crate::flight::{Impacts, Meeting};
use crate::ghosts::Ghosts;
use crate::grains::Grains;
use crate::material::{ContactClass, PairConstants, PairTable};
use crate::midpoint::Midpoints;
use crate::periodic::Periodic;
use crate::shaped_contacts::ShapedContacts;
use crate::wall::Wall;

/// The equations of a step.
#[derive(Clone, Debug, Default)]
pub struct Equations {
    /// Bodies: grains, then ghosts, which carry the velocity of a surface at one contact.
    pub bodies: Vec<BodyState>,
    /// Compliances of friction and rolling rows.
    pub compliance: TangentCompliance,
    /// What contacts of one law share: all laws with frozen normals, then all
    /// of them for contacts that follow their bodies, then for general ones, then
    /// for those of bodies that are locked along axes.
    pub laws: Vec<Law>,
    /// Law of each pair of materials, by the index of the pair table. Pairs
    /// with equal laws share one, so that their contacts share lanes.
    law_of_pair: Vec<u16>,
    /// What contacts of the general form have beside their rows.
    pub general: Vec<GeneralContact>,
    /// By what each ghost's inverse mass has to be multiplied to be that along its contact's normal:
    /// ghosts of machines share one, and yield alike in all directions (see `machinery.rs`). Empty
    /// where no joints hold anything.
    pub(crate) shares: Vec<f64>,
    /// What the rotation of frozen grains would add to `S_n` of each general contact, 1/kg;
    /// empty where none are copied into the table.
    frozen_rotation: Vec<f64>,
    spring_laws: Vec<SpringLaw>,
    base_laws: usize,
}

/// Who meets in the contacts of a step.
#[derive(Clone, Copy)]
pub(crate) struct Bodies<'a> {
    pub(crate) grains: &'a Grains,
    pub(crate) walls: &'a [Wall],
    pub(crate) midpoints: &'a Midpoints,
    pub(crate) shaped: &'a ShapedContacts,
    pub(crate) periodic: Option<Periodic>,
}

/// What assembly needs to know about the step.
#[derive(Clone, Copy, Debug)]
pub struct StepConstants<'a> {
    /// Whole step h, s.
    pub step: f64,
    /// Step of the rows: h, or h/n when sub-stepping, s.
    pub substep: f64,
    /// Stiffness cap κ; zero for a whole step.
    pub cap: f64,
    /// |g|, m/s².
    pub gravity: f64,
    /// Contact settings.
    pub settings: &'a ContactSettings,
}

impl StepConstants<'_> {
    /// Approach speed above which a contact is an impact, m/s.
    pub(crate) fn impact_speed(&self) -> f64 {
        let default = IMPACT_FALLS * self.gravity * self.step;
        self.settings.impact_speed.unwrap_or(default)
    }
}

/// `δ_min` is this share of the overlap under the grains' own weight.
const LEAST_OVERLAP_SHARE: f64 = 0.01;
/// `δ_min` where there is no weight, in diameters.
const LEAST_OVERLAP_DIAMETERS: f64 = 1e-12;
/// Default impact speed, in units of `g h`: what a contact at rest that was lost
/// for a step can come back with is no impact.
const IMPACT_FALLS: f64 = 2.0;

/// Contacts whose bodies are prefetched.
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
    /// Ghosts of walls and of what joints hold.
    pub(crate) ghosts: Ghosts<'a>,
    /// Impulses to start from, one per contact.
    pub impulses: &'a [Impulse],
    /// The step.
    pub constants: StepConstants<'a>,
}

impl Rows<'_> {
    #[inline]
    fn pair(&self, contact: &ContactGeometry) -> (usize, &PairConstants) {
        let index = if self.pairs.is_single() {
            self.pairs.index(0, 0, contact.class)
        } else {
            let other = contact.partner.material(self.grains, self.walls);
            let own = self.grains.material[contact.grain as usize];
            self.pairs.index(own, other, contact.class)
        };
        (index, self.pairs.at(index))
    }

    /// The equations of one contact; `SHAPED` says whether some bodies are no spheres.
    /// (What these need costs a bed of spheres a tenth of the stage if it is asked for
    /// contact by contact.)
    // Always inlined: what it returns is taken apart at once.
    #[inline(always)]
    pub fn row<const SHAPED: bool>(&self, i: usize) -> Row {
        if let Some(ahead) = self.contacts.get(i + PREFETCHED) {
            prefetch(&self.equations.bodies, ahead.grain as usize);
            if let Partner::Grain(j) = ahead.partner {
                prefetch(&self.equations.bodies, j as usize);
            }
        }
        let c = &self.contacts[i];
        let (pair_index, pair) = self.pair(c);
        let bodies = &self.equations.bodies;
        let form = if SHAPED { c.form } else { Form::Radial };
        let acted_on = self.ghosts.bodies_of(i, c, self.grains);
        let [a, b] = acted_on.map(|k| &bodies[k as usize]);
        let rolls = match form {
            Form::Radial => 1.0,
            Form::General(_) => f64::from(u8::from(pair.law.rolling_of_shapes)),
        };
        let contact = Contact {
            bodies: acted_on,
            normal: c.normal,
            arms: c.arms,
            form,
            friction: pair.law.friction,
            rolling: pair.law.rolling * c.rolling_radius * rolls,
            twisting: pair.law.twisting * c.rolling_radius * rolls,
            compliance: 0.0,
            target: 0.0,
        };
        let at_start = contact.rows(&self.equations.general, -0.5 * self.constants.step);
        let mobility = if self.equations.shares.is_empty() {
            at_start.normal_mobility(a, b)
        } else {
            let [a, b] = acted_on.map(|k| self.along_normal(k as usize));
            at_start.normal_mobility(&a, &b)
        };
        let of_law = self.mobility_of_law(c, form, mobility);
        let stiffness = pair.stiffness(c.elastic_radius);
        let weight_overlap = static_overlap(pair, self.constants.gravity / (of_law * stiffness));
        let min_overlap =
            (LEAST_OVERLAP_SHARE * weight_overlap).max(LEAST_OVERLAP_DIAMETERS * c.diameter());
        let mut spring = self.equations.spring_laws[pair_index].spring(ContactState {
            overlap: c.overlap,
            stiffness,
            min_overlap: single(min_overlap),
            mobility: of_law,
            normal_velocity: at_start.normal_velocity(a, b),
            // What everything falls with within a step says nothing of a contact.
            closing_speed: c.closing_speed - self.constants.gravity * self.constants.step,
        });
        if of_law != mobility {
            spring.cap = single(spring.cap * (of_law / mobility));
            spring.mobility = mobility;
        }
        Row {
            contact,
            spring,
            closing: c.closing_speed,
            impulse: self.impulses[i],
        }
    }

    /// `S_n` that the law of a contact goes by, 1/kg: with the inertia of a frozen grain, which the
    /// solve does not see. The stiffness cap would make its contacts stiffer than they were
    /// before, by two between equal grains, and overlaps that carried a weight then press with
    /// twice of it.
    #[inline(always)]
    fn mobility_of_law(&self, contact: &ContactGeometry, form: Form, mobility: f64) -> f64 {
        let held = self.grains.held_rows();
        if held.is_empty() {
            return mobility;
        }
        let rows = [Some(contact.grain), contact.partner.row()];
        let mut frozen = rows.into_iter().flatten().map(|row| row as usize);
        let Some(row) = frozen.find(|row| held.contains(row)) else {
            return mobility;
        };
        let rotation = match form {
            Form::Radial => 0.0,
            Form::General(index) => self.equations.frozen_rotation[index as usize],
        };
        mobility + self.equations.bodies[row].inverse_mass + rotation
    }

    /// A body with the inverse mass that it has along the normal of its contact, alone.
    fn along_normal(&self, k: usize) -> BodyState {
        let body = self.equations.bodies[k];
        let share = k.checked_sub(self.ghosts.rows);
        let share = share.map_or(1.0, |ghost| self.equations.shares[ghost]);
        BodyState {
            inverse_mass: body.inverse_mass * share,
            ..body
        }
    }

    /// Static normal force of a contact's overlap, N: what model-based warm
    /// starting starts from.
    pub fn static_force(&self, i: usize) -> f64 {
        let c = &self.contacts[i];
        let (_, pair) = self.pair(c);
        pair.static_force(pair.stiffness(c.elastic_radius), c.overlap.max(0.0))
    }
}

/// Static overlap under a force over the stiffness, m, nearly: it only bounds
/// `δ` from below.
fn static_overlap(pair: &PairConstants, force_over_stiffness: f64) -> f64 {
    if pair.is_hertz() {
        let root = rough_cube_root(force_over_stiffness as f32);
        f64::from(root * root)
    } else {
        force_over_stiffness
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

/// `B` and `C` of a ghost: what a surface does at the contact is its velocity.
const GHOST: (DMat3, DMat3) = (DMat3::ZERO, DMat3::IDENTITY);

impl Bodies<'_> {
    /// The general part of a contact.
    fn general(&self, contact: &ContactGeometry, index: u32) -> GeneralContact {
        let own = &self.midpoints.0[contact.grain as usize];
        let side = |row: u32, centre: DVec3| {
            if self.grains.has_ghost(row as usize) {
                return GHOST;
            }
            let turn = self.midpoints.0[row as usize].inverse_root;
            (turn * cross_matrix(contact.point - centre), turn)
        };
        let x = own.pose.position;
        let a = side(contact.grain, x);
        let b = contact.partner.row().map_or(GHOST, |j| {
            let branch = self.midpoints.0[j as usize].pose.position - x;
            let branch = self.periodic.map_or(branch, |p| p.branch(branch));
            side(j, x + branch)
        });
        GeneralContact {
            angular: [a.0, b.0],
            angular_velocity: [a.1, b.1],
            rate: self.shaped.point(index as usize).rate,
            free: [Some(contact.grain), contact.partner.row()].map(|row| {
                row.map_or(DVec3::ONE, |row| self.grains.free_translation(row as usize))
            }),
        }
    }

    /// What the rotation of a frozen grain would add to `S_n` of a general contact, 1/kg.
    fn frozen_rotation(&self, contact: &ContactGeometry) -> f64 {
        let held = self.grains.held_rows();
        let rows = [Some(contact.grain), contact.partner.row()];
        let mut frozen = rows.into_iter().flatten().map(|row| row as usize);
        frozen.find(|row| held.contains(row)).map_or(0.0, |row| {
            let midpoint = &self.midpoints.0[row];
            let arm = contact.point - midpoint.pose.position;
            let arm = self.periodic.map_or(arm, |p| p.branch(arm));
            (midpoint.inverse_root * arm.cross(contact.normal)).length_squared()
        })
    }
}

impl Bodies<'_> {
    /// A frozen grain as one of its contacts sees it: by its centre among spheres, else by its
    /// velocity at the point of contact.
    fn ghost_of_held(&self, contact: &ContactGeometry, row: usize) -> BodyState {
        let state = &self.grains.state[row];
        let velocity = match contact.form {
            Form::Radial => state.velocity,
            Form::General(_) => {
                let arm = contact.point - self.midpoints.0[row].pose.position;
                let arm = self.periodic.map_or(arm, |p| p.branch(arm));
                state.velocity + state.angular_velocity.cross(arm)
            }
        };
        BodyState {
            velocity,
            angular_velocity: state.angular_velocity,
            ..Default::default()
        }
    }
}

impl Equations {
    /// Sets the laws of the step, those of general contacts where there are bodies
    /// that are no spheres.
    pub fn set_laws(&mut self, pairs: &PairTable, constants: StepConstants<'_>, grains: &Grains) {
        let has_shapes = grains.has_shapes();
        let settings = constants.settings;
        self.compliance = TangentCompliance {
            friction: settings.friction_compliance,
            rolling: settings.rolling_compliance,
        };
        self.spring_laws.clear();
        self.laws.clear();
        self.law_of_pair.clear();
        for (class, pair) in pairs.all() {
            if class != ContactClass::Curved && !has_shapes {
                break;
            }
            let stabilisation = pair.stabilisation(class, constants);
            let law = Law {
                friction: pair.law.friction,
                rolls: pair.law.rolling > 0.0 || pair.law.twisting > 0.0,
                bias_rate: stabilisation.bias_rate(),
                hertz: stabilisation.hertz,
                restitution: pair.law.restitution,
                impact_speed: constants.impact_speed(),
                follows: false,
                general: false,
                locks: false,
            };
            let known = self.laws.iter().position(|l| *l == law);
            self.law_of_pair
                .push(known.unwrap_or(self.laws.len()) as u16);
            if known.is_none() {
                self.laws.push(law);
            }
            self.spring_laws.push(stabilisation.law());
        }
        self.base_laws = self.laws.len();
        for base in 0..self.base_laws {
            let follows = true;
            self.laws.push(Law {
                follows,
                ..self.laws[base]
            });
        }
        // Mostly shape does what rolling resistance stands for; limits of pairs that say
        // nothing are zero.
        let shapes_roll = pairs.all().any(|(_, pair)| pair.law.rolling_of_shapes);
        if has_shapes {
            for base in 0..self.base_laws {
                let law = self.laws[base];
                let (general, rolls) = (true, law.rolls && shapes_roll);
                self.laws.push(Law {
                    general,
                    rolls,
                    ..law
                });
            }
        }
        if (grains.count()..grains.len()).any(|body| grains.is_locked(body)) {
            for general in 2 * self.base_laws..3 * self.base_laws {
                let locks = true;
                self.laws.push(Law {
                    locks,
                    ..self.laws[general]
                });
            }
        }
    }

    /// What a back end needs to know of the contacts of a plan beside their rows.
    pub(crate) fn problem<'a>(&'a self, plan: &'a SweepPlan) -> SubstepProblem<'a> {
        SubstepProblem {
            plan,
            laws: &self.laws,
            compliance: self.compliance,
            general: &self.general,
        }
    }

    /// Laws of the pairs of materials, by the index of the pair table, with
    /// frozen normals.
    pub fn laws_of_pairs(&self) -> &[u16] {
        &self.law_of_pair
    }

    /// What makes the normal rows of each pair of materials.
    pub(crate) fn spring_laws(&self) -> &[SpringLaw] {
        &self.spring_laws
    }

    /// How much larger the index of a law is for contacts that follow their
    /// bodies.
    pub fn following(&self) -> u16 {
        self.base_laws as u16
    }

    /// Sets what general contacts have beside their rows.
    pub(crate) fn set_general(
        &mut self,
        team: &mut Team,
        bodies: Bodies<'_>,
        contacts: &[ContactGeometry],
    ) {
        self.general.clear();
        self.general
            .resize(bodies.shaped.count(), GeneralContact::default());
        self.frozen_rotation.clear();
        if self.general.is_empty() {
            return;
        }
        if !bodies.grains.held_rows().is_empty() {
            self.frozen_rotation.resize(self.general.len(), 0.0);
            for contact in contacts {
                if let Form::General(index) = contact.form {
                    self.frozen_rotation[index as usize] = bodies.frozen_rotation(contact);
                }
            }
        }
        let general = SharedSlice::new(&mut self.general);
        team.run(|worker| {
            for contact in &contacts[worker.part_of(contacts.len(), 1)] {
                if let Form::General(index) = contact.form {
                    // SAFETY: every general contact has an entry of its own.
                    unsafe { *general.at(index as usize) = bodies.general(contact, index) };
                }
            }
        });
    }

    /// Sets the bodies: grains, then ghosts. Those of what joints hold are still to come.
    pub(crate) fn set_bodies(
        &mut self,
        team: &mut Team,
        bodies: Bodies<'_>,
        (contacts, ghosts): (&[ContactGeometry], Ghosts<'_>),
    ) {
        let Bodies { grains, walls, .. } = bodies;
        let count = ghosts.rows;
        self.shares.clear();
        team.fill(&mut self.bodies, count + ghosts.count(), |k| {
            if k < count {
                let state = grains.state[k];
                return match grains.shape_of(k) {
                    None => state,
                    Some(_) => bodies.midpoints.0[k].metric_state(state),
                };
            }
            let (contact, row) = ghosts.of(k - count, contacts, grains);
            match (row, contact.partner) {
                (None, Partner::Wall(w)) => {
                    let wall = &walls[w as usize];
                    BodyState {
                        velocity: wall.surface_velocity_at(contact.point, contact.normal),
                        angular_velocity: wall.twist.angular_velocity,
                        ..Default::default()
                    }
                }
                (Some(row), _) if grains.held_rows().contains(&(row as usize)) => {
                    bodies.ghost_of_held(contact, row as usize)
                }
                // What joints hold is still to come.
                _ => BodyState::default(),
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
    restitutions: Vec<f64>,
    impact_speed: f64,
    impacts: Impacts,
    /// Targets and compliances of the impact stage.
    impact_rows: Vec<(f64, f64)>,
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
        problem.general.clone_from(&rows.equations.general);
        problem.time = 0.5 * rows.constants.step;
        let count = rows.contacts.len();
        resize(&mut self.springs, count);
        let springs = SharedSlice::new(&mut self.springs);
        team.fill(&mut problem.contacts, count, |i| {
            let row = rows.row::<true>(i);
            // SAFETY: `fill` calls this once per contact.
            unsafe { *springs.at(i) = row.spring };
            row.contact
        });
        let restitution = |i: usize| rows.pair(&rows.contacts[i]).1.law.restitution;
        team.fill(&mut self.restitutions, count, restitution);
        self.impact_speed = rows.constants.impact_speed();
    }

    /// Sets the rows of the impact stage. Returns the number of impacts.
    ///
    /// Impacts get `u_n⁺ = −e u_n⁻`, and open contacts may close their gap. An
    /// impact takes no time, and contacts that touch are springs: they pass on as
    /// much of it as the step gives them time for, `u_n⁺ + σ p ≥ min(u_n⁻, 0)`
    /// with the compliance of the main stage, which then deals with the velocity
    /// that they are left with. (As rigid rows they make one body of every grain
    /// in reach of an impact, however short the step is: a row of twenty grains
    /// that is pushed then never throws off its end.)
    ///
    /// A contact that separates (`u_n⁻ > 0`) and is pressed together by impacts
    /// beside it gets `u_n⁺ ≥ −e u_n⁻` like them. Stopping it at zero would add
    /// the energy `½ p u_n⁻`; with one law for all, frictionless impacts at once
    /// change the energy by `−(1 − e)/(1 + e) ½ p·W p ≤ 0` (Moreau).
    ///
    /// An impact happens when its gap is closed, and under gravity with another
    /// speed than that of the start: see `flight.rs`. Contacts that carried load
    /// in the last step, whose impulses are given, are none.
    pub fn set_impact_rows(
        &mut self,
        team: &mut Team,
        impulses: &[Impulse],
        step: f64,
        gravity: DVec3,
    ) -> usize {
        let (problem, springs) = (&mut self.problem, &self.springs);
        let meeting = Meeting {
            contacts: &problem.contacts,
            general: &problem.general,
            springs,
            bodies: &problem.bodies,
            restitutions: &self.restitutions,
            impulses,
            impact_speed: self.impact_speed,
            gravity,
            step,
        };
        let count = self.impacts.find(team, meeting);
        if count == 0 {
            return 0;
        }
        let impacts = &self.impacts;
        team.fill(&mut self.impact_rows, meeting.contacts.len(), |i| {
            let contact = &meeting.contacts[i];
            let restitution = meeting.restitutions[i];
            if let Some(flight) = impacts.flight(i) {
                return (flight.target(restitution), 0.0);
            }
            let [a, b] = contact.bodies.map(|k| &meeting.bodies[k as usize]);
            let u_n = meeting.rows(i).normal_velocity(a, b);
            let returned = restitution * u_n.max(0.0);
            let spring = &springs[i];
            if spring.overlap > 0.0 {
                (u_n.min(0.0) - returned, spring.compliance())
            } else {
                (spring.overlap / step - returned, 0.0)
            }
        });
        let rows = &self.impact_rows;
        team.for_each_part(&mut problem.contacts, 1, |start, contacts| {
            for (contact, row) in contacts.iter_mut().zip(&rows[start..]) {
                (contact.target, contact.compliance) = *row;
            }
        });
        count
    }

    /// Displacements that impacts in the middle of the step ask for (see
    /// `flight.rs`), from the velocities after it.
    pub fn place_impacts(&self, after: &[BodyState], shift: impl FnMut(usize, DVec3)) {
        let contacts = &self.problem.contacts;
        let general = &self.problem.general;
        self.impacts
            .place((contacts, general), &self.springs, after, shift);
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

    /// Adds the velocities that constant accelerations give within the step, s.
    pub fn accelerate(&mut self, accelerations: Accelerations<'_>, step: f64) {
        accelerations.act(0, &mut self.problem.bodies, step);
    }

    /// Sets the rows of the main stage from overlaps and current velocities.
    pub fn set_main_rows(&mut self, team: &mut Team, step: f64) {
        let (bodies, springs) = (&self.problem.bodies, &self.springs);
        let general = &self.problem.general;
        team.for_each_part(&mut self.problem.contacts, 1, |start, contacts| {
            for (contact, spring) in contacts.iter_mut().zip(&springs[start..]) {
                let [a, b] = contact.bodies.map(|i| &bodies[i as usize]);
                let at_start = contact.rows(general, -0.5 * step);
                let u_n = at_start.normal_velocity(a, b);
                (contact.target, contact.compliance) = spring.row(u_n, step);
            }
        });
    }

    /// Takes the velocity changes of impulses away beforehand, so that a solve
    /// that starts from them and applies them ends up without.
    fn subtract_impulses(&mut self, impulses: &[Impulse]) {
        let bodies = &mut self.problem.bodies;
        for (contact, impulse) in self.problem.contacts.iter().zip(impulses) {
            let (a, b) = ContactProblem::bodies_of(bodies, contact);
            let rows = contact.rows(&self.problem.general, 0.0);
            rows.apply(&impulse.scaled(-1.0), a, b);
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
                self.subtract_impulses(impulses);
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
