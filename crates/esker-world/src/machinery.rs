//! Machines among the grains: bodies of their own that joints hold.
//!
//! A jointed body is a row of the table of grains like every body, and its contacts are found as
//! theirs. In the equations of a step each of its contacts acts on a ghost (`ghosts.rs`), and
//! after every sweep the machine takes up the sum of the impulses (`esker_solver::jointed`). A
//! ghost yields as the machine does at the contact point `d` from the body's centre of mass: with
//! the articulated inverse mass `A` of the body,
//!
//! ```text
//! w = ‖J A Jᵀ‖,   J = [1, −[d]×],     ghosts have the inverse mass k w,          (1)
//! ```
//!
//! where `k` is the number of the machine's contacts that may carry load in the step. A machine
//! of which every one of `k` contacts sees the `k`th part reacts to all of them together as it
//! should. The law of a contact goes by `n·J A Jᵀ n`, what the machine yields by along its normal:
//! damping, and with it the restitution, and the stiffness cap. They depend neither on how many
//! others there are nor on how a body on a hinge yields sideways. (By `w` a ball that carries one
//! end of a hinged rod came back from a floor with 0.70 of its speed for 0.5.)
//!
//! A motor at its limit pushes with that and yields, one that is not at it keeps its velocity
//! whatever contacts do; and so for limits and friction of joints. Which of both is so depends on
//! the contacts that `A` is there for. As a step is assembled machines are therefore solved with
//! what contacts are expected to give within a substep: what they gave in the last one, and what
//! stops the grains and walls that come near. Contacts act on machines whose drives are at
//! their limits where that says so; what the sweep gave decides after it. Were the motor of a
//! plate that meets a floor taken for one that holds its velocity, a contact between two things
//! that do not yield would throw the plate off as soon as its motor gives way.
//!
//! Joints are rebuilt from the present poses in every substep; contacts keep the geometry of the
//! middle of the step.

use esker_contact::{
    BodyOperator, BodyState, Contact, ContactProblem, CoupledSide, FactoredOperator, Impulse,
    ProblemError,
};
use esker_geometry::Pose;
use esker_machine::{
    Assembly, BodyPose, BodyProperties, DriveTotals, GearTotals, JointCoordinate, JointPlace,
    JointTotals, MachineDef, MachineError, Machines, Spatial, Substep,
};
use esker_solver::jointed::{Jointed, JointedBodies, JointedSide};
use glam::DVec3;

use crate::World;
use crate::definition::{Method, WorldDef};
use crate::ghosts::Ghosts;
use crate::grains::Grains;
use crate::step::Workspace;

/// Regularisation of rigid rows where they become part of the mass of a common problem.
const WHOLE_STEP_REGULARISATION: f64 = 1e-6;

/// Share of `w` of (1) that the law of a contact has at least: joints may hold a body along its
/// normal altogether.
const LEAST_SHARE: f64 = 1e-2;
/// How often an impulse is doubled at most to find the one that stops a machine.
const MAX_DOUBLINGS: usize = 40;
/// What may be left of a closing speed.
const STOPPED: f64 = 0.01;

/// The machines of a world. Slices have an entry per body of its own, jointed or not.
#[derive(Debug, Default)]
pub(crate) struct Machinery {
    pub(crate) machines: Machines,
    /// Poses and velocities within a step. Written by stages `assemble` and `advance`.
    poses: Vec<BodyPose>,
    velocities: Vec<Spatial>,
    forces: Vec<Spatial>,
    /// Contacts of jointed bodies. Written by stage `assemble`.
    sides: Vec<JointedSide>,
    /// How many of each machine's contacts may carry load.
    loaded: Vec<u32>,
    /// What contacts are expected to give to each body within a substep. Written by stage
    /// `assemble`.
    expected: Vec<Spatial>,
    /// Velocities that this leads to, and what stands in the way: scratch.
    outcome: Vec<Spatial>,
    stops: Vec<Stop>,
}

/// Something that does not move in the way of a machine.
#[derive(Debug)]
struct Stop {
    body: usize,
    /// From the body's centre of mass to the contact point, m.
    arm: DVec3,
    /// Direction in which it pushes the body.
    push: DVec3,
    /// Velocity of its surface, m/s.
    velocity: DVec3,
    /// Speed at which the body comes, m/s.
    closing: f64,
    /// What is tried next to stop it, N s.
    impulse: f64,
}

impl Stop {
    /// Speed at which the body comes with these velocities of all bodies, m/s.
    fn closing_in(&self, velocities: &[Spatial]) -> f64 {
        self.push
            .dot(self.velocity - velocities[self.body].at(self.arm))
    }
}

impl WorldDef {
    /// Whether joints hold a body.
    pub(crate) fn is_jointed(&self, body: usize) -> bool {
        self.joints.iter().any(|j| j.bodies.contains(&Some(body)))
    }

    /// Whether two bodies do not touch each other: a joint joins them, or they are of one group.
    pub(crate) fn pass_each_other(&self, bodies: [usize; 2]) -> bool {
        let [group, other] = bodies.map(|body| &self.bodies[body].group);
        let [a, b] = bodies.map(Some);
        let mut joints = self.joints.iter();
        let are_joined = joints.any(|j| j.bodies == [a, b] || j.bodies == [b, a]);
        are_joined || (group.is_some() && group == other)
    }

    /// Pairs of bodies that do not touch each other, the one of the smaller index first.
    pub(crate) fn passing_bodies(&self) -> Vec<[u32; 2]> {
        let pairs = (0..self.bodies.len()).flat_map(|b| (0..b).map(move |a| [a, b]));
        let passing = pairs.filter(|&pair| self.pass_each_other(pair));
        passing.map(|pair| pair.map(|body| body as u32)).collect()
    }
}

impl Machinery {
    /// The machines of a definition, and where they are at the start: assembled.
    pub(crate) fn new(def: &WorldDef) -> Result<(Self, Vec<BodyPose>), MachineError> {
        let properties: Vec<BodyProperties> = def
            .bodies
            .iter()
            .map(|body| BodyProperties {
                free_translation: body.locks.free_translation(),
                free_rotation: body.locks.free_rotation() * f64::from(u8::from(def.rotation)),
                ..BodyProperties::new(body.mass, body.moments)
            })
            .collect();
        let mut poses: Vec<BodyPose> = def
            .bodies
            .iter()
            .map(|body| {
                let Pose {
                    position,
                    orientation,
                } = body.centre();
                BodyPose {
                    position,
                    orientation,
                }
            })
            .collect();
        let parts = MachineDef {
            bodies: &properties,
            joints: &def.joints,
            gears: &def.gears,
            drives: &def.drives,
        };
        let mut machines = Machines::new(&parts, &mut poses, Assembly::default())?;
        if let Method::WholeStep(_) = def.method {
            machines.set_regularisation(WHOLE_STEP_REGULARISATION);
        }
        let machinery = Machinery {
            machines,
            ..Default::default()
        };
        Ok((machinery, poses))
    }

    /// Whether there are no machines.
    pub(crate) fn is_empty(&self) -> bool {
        self.machines.is_empty()
    }

    /// How many contacts machines have in this step.
    pub(crate) fn contacts(&self) -> usize {
        self.sides.len()
    }

    /// Solves machines with what contacts are expected to give them within a substep (s) of a step
    /// (s): the impulses that they start with, and those that stop what comes near.
    fn expect_impulses(
        &mut self,
        grains: &Grains,
        (work, ghosts): (&Workspace, &Ghosts<'_>),
        [substep, step]: [f64; 2],
    ) {
        let Machinery {
            machines,
            sides,
            expected,
            outcome,
            stops,
            ..
        } = self;
        stops.clear();
        for list in [&mut *expected, &mut *outcome] {
            list.clear();
            list.resize(self.velocities.len(), Spatial::ZERO);
        }
        for side in &*sides {
            let i = side.contact as usize;
            let given = side.given(work.contacts[i].normal, &work.impulses[i]);
            expected[side.body as usize] += given;
        }
        machines.expect(expected, outcome);
        for side in &*sides {
            let (i, body) = (side.contact as usize, side.body as usize);
            let contact = &work.contacts[i];
            let other = 1 - side.side as usize;
            let row = [Some(contact.grain), contact.partner.row()][other].map(|row| row as usize);
            let (velocity, inverse_mass) = match row {
                Some(row) if grains.is_jointed(row) => {
                    let arm = contact.point - work.midpoints.0[row].pose.position;
                    let velocity = outcome[row - grains.count()].at(arm);
                    (velocity, grains.mass[row].recip())
                }
                _ => {
                    let acted_on = ghosts.bodies_of(i, contact, grains);
                    let state = &work.equations.bodies[acted_on[other] as usize];
                    (state.velocity, state.inverse_mass)
                }
            };
            let own = outcome[body].at(side.arm);
            let towards: f64 = if side.side == 0 { 1.0 } else { -1.0 };
            let closing = (towards * contact.normal.dot(own - velocity)).max(0.0);
            // Grains come one after another; what does not move stops a machine whenever it comes.
            let is_grain = inverse_mass > 0.0;
            let time = if is_grain { substep } else { step };
            if -contact.overlap >= closing * time {
                continue;
            }
            let push = -towards * contact.normal;
            if is_grain {
                let impulse = push * (closing / inverse_mass);
                expected[body] += Spatial::from_impulse_at(impulse, side.arm);
            } else {
                stops.push(Stop {
                    body,
                    arm: side.arm,
                    push,
                    velocity,
                    closing,
                    impulse: closing * grains.mass[grains.count() + body],
                });
            }
        }
        for _ in 0..MAX_DOUBLINGS {
            machines.solve(expected, outcome);
            let before = stops.len();
            stops.retain(|stop| stop.closing_in(outcome) > STOPPED * stop.closing);
            for stop in &mut *stops {
                expected[stop.body] += Spatial::from_impulse_at(stop.push * stop.impulse, stop.arm);
                stop.impulse *= 2.0;
            }
            if before == 0 || stops.is_empty() {
                break;
            }
        }
        machines.expect_more(expected, outcome);
    }

    /// Where contacts have jointed bodies, and what moves these in a step that begins at `time`
    /// with substeps of this length, s.
    pub(crate) fn running(&mut self, time: f64, length: f64) -> Coupling<'_, Running<'_>> {
        Coupling {
            sides: &self.sides,
            count: self.velocities.len(),
            bodies: Running {
                machines: &mut self.machines,
                poses: &mut self.poses,
                velocities: &mut self.velocities,
                forces: &self.forces,
                time,
                length,
            },
        }
    }

    /// The same in the impact stage of a whole step.
    pub(crate) fn impacting(&mut self) -> Coupling<'_, Impacting<'_>> {
        Coupling {
            sides: &self.sides,
            count: self.velocities.len(),
            bodies: Impacting::new(&mut self.machines, &self.velocities),
        }
    }

    /// Goes on after the impact stage, in which contacts gave these impulses.
    pub(crate) fn take_up_impacts(&mut self, contacts: &[Contact], impulses: &[Impulse]) {
        let given = self.impulses(contacts, |i| impulses[i]);
        self.machines.take_up_impacts(&given, &mut self.velocities);
    }

    /// Begins the main stage of a whole step: `bodies` of the equations get the velocities that
    /// ghosts have without impulses.
    pub(crate) fn free_ghosts(&mut self, time: f64, step: f64, bodies: &mut [BodyState]) {
        let nothing = vec![Spatial::ZERO; self.velocities.len()];
        let mut free = nothing.clone();
        let mut running = self.running(time, step).bodies;
        running.begin(&nothing, &mut free);
        self.set_ghosts(&free, bodies);
    }

    /// Ends a whole step with these impulses; `bodies` of the equations get the velocities that
    /// ghosts end with.
    pub(crate) fn end_whole_step(
        &mut self,
        time: f64,
        step: f64,
        (contacts, impulses): (&[Contact], &[Impulse]),
        bodies: &mut [BodyState],
    ) {
        let given = self.impulses(contacts, |i| impulses[i]);
        let mut after = given.clone();
        let mut running = self.running(time, step).bodies;
        running.end(&given, &mut after);
        self.set_ghosts(&after, bodies);
    }

    /// What contacts give to every body.
    fn impulses(&self, contacts: &[Contact], impulse: impl Fn(usize) -> Impulse) -> Vec<Spatial> {
        let mut sums = vec![Spatial::ZERO; self.velocities.len()];
        for side in &self.sides {
            let i = side.contact as usize;
            sums[side.body as usize] += side.given(contacts[i].normal, &impulse(i));
        }
        sums
    }

    fn set_ghosts(&self, velocities: &[Spatial], bodies: &mut [BodyState]) {
        for side in &self.sides {
            let velocity = velocities[side.body as usize];
            let ghost = &mut bodies[side.ghost as usize];
            ghost.velocity = velocity.at(side.arm);
            ghost.angular_velocity = velocity.angular;
        }
    }

    /// The contacts of a whole step together with the equations of the machines, in generalised
    /// velocities; the rows of machines with bounds come after the contacts.
    pub(crate) fn couple(
        &self,
        problem: &ContactProblem,
    ) -> Result<FactoredOperator, ProblemError> {
        let mut problem = problem.clone();
        let mut first = 0;
        let mut machines = Vec::new();
        let mut velocities = self.velocities.clone();
        for machine in self.machines.machines() {
            let generalised = machine.generalised();
            for (&body, velocity) in machine.bodies().iter().zip(&generalised.velocities) {
                velocities[body] = *velocity;
            }
            let count = generalised.modes.len() as u32;
            machines.push((machine, generalised, first));
            first += count;
        }
        self.set_ghosts(&velocities, &mut problem.bodies);
        let mut sides = Vec::new();
        for side in &self.sides {
            problem.bodies[side.ghost as usize].inverse_mass = 0.0;
            let body = side.body as usize;
            let machine = self
                .machines
                .machine_of(body)
                .expect("joints make machines");
            let (machine, generalised, first) = &machines[machine];
            let own = machine.bodies().binary_search(&body).expect("its own body");
            sides.push(CoupledSide {
                contact: side.contact as usize,
                side: side.side as usize,
                first: *first,
                motions: generalised
                    .modes
                    .iter()
                    .map(|mode| [mode[own].at(side.arm), mode[own].angular])
                    .collect(),
            });
        }
        sides.sort_by_key(|side| (side.contact, side.side));
        let operator = BodyOperator::new(&problem)?;
        let mass = vec![1.0; first as usize];
        let mut coupled = FactoredOperator::with_coupled_sides(&operator, &mass, &sides);
        let before = coupled.space().mass.len() as u32 - first;
        for (machine, generalised, first) in &machines {
            let dofs: Vec<u32> = (0..generalised.modes.len() as u32)
                .map(|k| before + first + k)
                .collect();
            let (_, bounded) = machine.rows();
            for row in bounded {
                let jacobian = row.entries().iter().map(|e| (e.body, e.jacobian));
                let entries = generalised.row(&jacobian.collect::<Vec<_>>());
                let velocity = row.velocity(&generalised.velocities) - row.target;
                let [lower, upper] = row.bounds;
                if lower == 0.0 && upper == f64::INFINITY {
                    coupled.push_unilateral(&dofs, &entries, (velocity, row.sigma));
                } else {
                    // Motors and friction: the same in both directions.
                    coupled.push_bounded(&dofs, &entries, (velocity, row.sigma), upper);
                }
            }
        }
        Ok(coupled)
    }

    /// Gives jointed rows the poses and velocities that the step ended with.
    pub(crate) fn place_bodies(&self, grains: &mut Grains) {
        let first = grains.count();
        for (k, (pose, velocity)) in self.poses.iter().zip(&self.velocities).enumerate() {
            if grains.jointed[k] {
                grains.position[first + k] = pose.position;
                grains.orientation[first + k] = pose.orientation;
                let state = &mut grains.state[first + k];
                state.velocity = velocity.linear;
                state.angular_velocity = velocity.angular;
            }
        }
    }
}

/// Machines in the impact stage of a whole step, which takes no time: joints respond, forces and
/// what is left of violations do not matter.
pub(crate) struct Impacting<'a> {
    machines: &'a mut Machines,
    /// Before the impacts.
    velocities: &'a [Spatial],
    /// What the equations of the step make of the velocities without impulses.
    unmoved: Vec<Spatial>,
}

impl<'a> Impacting<'a> {
    fn new(machines: &'a mut Machines, velocities: &'a [Spatial]) -> Self {
        let mut unmoved = velocities.to_vec();
        machines.solve(&vec![Spatial::ZERO; velocities.len()], &mut unmoved);
        Impacting {
            machines,
            velocities,
            unmoved,
        }
    }
}

impl JointedBodies for Impacting<'_> {
    fn begin(&mut self, impulses: &[Spatial], velocities: &mut [Spatial]) {
        self.solve(impulses, velocities);
    }

    fn solve(&mut self, impulses: &[Spatial], velocities: &mut [Spatial]) {
        self.machines.solve(impulses, velocities);
        let states = self.velocities.iter().zip(&self.unmoved);
        for (velocity, (before, unmoved)) in velocities.iter_mut().zip(states) {
            *velocity = *before + (*velocity - *unmoved);
        }
    }

    fn end(&mut self, impulses: &[Spatial], velocities: &mut [Spatial]) {
        self.solve(impulses, velocities);
    }
}

/// What moves jointed bodies, and where contacts have them.
pub(crate) struct Coupling<'a, B> {
    sides: &'a [JointedSide],
    count: usize,
    bodies: B,
}

impl<B: JointedBodies> Coupling<'_, B> {
    /// The jointed bodies of a sweep; `None` where there are none.
    pub(crate) fn jointed(&mut self) -> Option<Jointed<'_>> {
        (self.count > 0).then_some(Jointed {
            sides: self.sides,
            count: self.count,
            bodies: &mut self.bodies,
        })
    }
}

/// Machines within a step.
pub(crate) struct Running<'a> {
    machines: &'a mut Machines,
    poses: &'a mut [BodyPose],
    /// At the start of the substep.
    velocities: &'a mut [Spatial],
    forces: &'a [Spatial],
    /// At the start of the substep, s.
    time: f64,
    /// Of a substep, s.
    length: f64,
}

impl JointedBodies for Running<'_> {
    fn begin(&mut self, impulses: &[Spatial], velocities: &mut [Spatial]) {
        self.machines.begin_substep(&Substep {
            length: self.length,
            time: self.time,
            poses: self.poses,
            velocities: self.velocities,
            forces: self.forces,
        });
        self.machines.solve_expected(impulses, velocities);
    }

    fn solve(&mut self, impulses: &[Spatial], velocities: &mut [Spatial]) {
        self.machines.solve(impulses, velocities);
    }

    fn end(&mut self, impulses: &[Spatial], velocities: &mut [Spatial]) {
        self.solve(impulses, velocities);
        for (pose, velocity) in self.poses.iter_mut().zip(&*velocities) {
            *pose = pose.moved(*velocity, self.length);
        }
        self.machines.end_substep(self.poses);
        self.velocities.copy_from_slice(velocities);
        self.time += self.length;
    }
}

impl World {
    /// Sets what contacts see of machines: their ghosts. Forces, impulses and all other bodies of
    /// the equations are there.
    pub(crate) fn set_jointed_ghosts(&mut self) {
        if self.machinery.is_empty() {
            return;
        }
        let first = self.grains.count();
        let (time, substep) = (self.time(), self.substep());
        let World {
            machinery,
            grains,
            workspace: work,
            gravity,
            step,
            ..
        } = self;
        let Machinery {
            machines,
            poses,
            velocities,
            forces,
            sides,
            loaded,
            ..
        } = &mut *machinery;
        poses.clear();
        velocities.clear();
        forces.clear();
        let accelerations = work.forces.accelerations();
        for row in first..grains.len() {
            poses.push(BodyPose {
                position: grains.position[row],
                orientation: grains.orientation[row],
            });
            let state = &grains.state[row];
            velocities.push(Spatial::new(state.velocity, state.angular_velocity));
            let applied = accelerations.of(row).copied().unwrap_or_default();
            forces.push(Spatial::new(
                (*gravity + applied.linear) * grains.mass[row],
                work.midpoints.0[row].root * applied.angular,
            ));
        }
        machines.begin_substep(&Substep {
            length: substep,
            time,
            poses,
            velocities,
            forces,
        });
        let ghosts = Ghosts::new(grains, &work.collider.plan, &work.between_ghosts);
        sides.clear();
        loaded.clear();
        loaded.resize(machines.machines().len(), 0);
        for &i in ghosts.contacts {
            let contact = &work.contacts[i as usize];
            let rows = [Some(contact.grain), contact.partner.row()];
            let acted_on = ghosts.bodies_of(i as usize, contact, grains);
            let may_load = work.impulses[i as usize].normal > 0.0
                || -contact.overlap < contact.closing_speed.max(0.0) * *step;
            for (side, row) in rows.into_iter().enumerate() {
                let body = row.and_then(|row| (row as usize).checked_sub(first));
                let Some(body) = body.filter(|&body| grains.jointed[body]) else {
                    continue;
                };
                let machine = machines.machine_of(body).expect("joints make machines");
                loaded[machine] += u32::from(may_load);
                sides.push(JointedSide {
                    contact: i,
                    side: side as u8,
                    body: body as u32,
                    ghost: acted_on[side],
                    arm: contact.point - work.midpoints.0[first + body].pose.position,
                });
            }
        }
        sides.sort_by_key(|side| side.body);
        machinery.expect_impulses(grains, (work, &ghosts), [substep, *step]);
        let Machinery {
            machines,
            velocities,
            sides,
            loaded,
            ..
        } = machinery;
        let equations = &mut work.equations;
        equations.shares.clear();
        equations.shares.resize(ghosts.count(), 1.0);
        for of_body in sides.chunk_by(|a, b| a.body == b.body) {
            let body = of_body[0].body as usize;
            let machine = machines.machine_of(body).expect("joints make machines");
            let inverse_mass = machines.articulated_inverse_mass(body);
            let count = f64::from(loaded[machine].max(1));
            for side in of_body {
                let normal = work.contacts[side.contact as usize].normal;
                let response = inverse_mass.at(side.arm);
                let columns = [response.x_axis, response.y_axis, response.z_axis];
                let w = columns
                    .iter()
                    .map(|c| c.length_squared())
                    .sum::<f64>()
                    .sqrt();
                let ghost_inverse_mass = count * w;
                equations.bodies[side.ghost as usize] = BodyState {
                    velocity: velocities[body].at(side.arm),
                    inverse_mass: ghost_inverse_mass,
                    angular_velocity: velocities[body].angular,
                    inverse_inertia: 0.0,
                };
                if ghost_inverse_mass > 0.0 {
                    let along_normal = normal.dot(response * normal).max(LEAST_SHARE * w);
                    equations.shares[side.ghost as usize - ghosts.rows] =
                        along_normal / ghost_inverse_mass;
                }
            }
        }
    }
}

/// What can be read of machines, and set while they run. Joints and drives by their index in the
/// definition.
impl World {
    /// All machines.
    pub fn machines(&self) -> &Machines {
        &self.machinery.machines
    }

    /// What a joint has done since the start, and how far it is from where it should be.
    pub fn joint(&self, joint: usize) -> &JointTotals {
        self.machinery.machines.joint(joint)
    }

    /// Where a joint is.
    pub fn joint_place(&self, joint: usize) -> JointPlace {
        let first = self.grains.count();
        let pose = |body: usize| BodyPose {
            position: self.grains.position[first + body],
            orientation: self.grains.orientation[first + body],
        };
        self.machinery.machines.joint_place(joint, pose)
    }

    /// What a gear has done since the start.
    pub fn gear(&self, gear: usize) -> &GearTotals {
        self.machinery.machines.gear(gear)
    }

    /// What a drive has done since the start.
    pub fn drive(&self, drive: usize) -> &DriveTotals {
        self.machinery.machines.drive(drive)
    }

    /// Largest violation of a joint now, m: its gap, or what its tilt moves at the far end of
    /// one of its bodies.
    pub(crate) fn largest_joint_violation(&self) -> f64 {
        let first = self.grains.count();
        let joints = self.machinery.machines.violations();
        let of_joint = joints.map(|(bodies, violation)| {
            let rows = bodies.into_iter().flatten().map(|body| first + body);
            let reach = rows.map(|row| self.grains.bounding_radius(row));
            let tilted = violation.angle * reach.fold(0.0, f64::max);
            violation.distance.max(tilted)
        });
        of_joint.fold(0.0, f64::max)
    }

    /// A coordinate of a joint, rad or m; `None` where its kind has none.
    pub fn joint_coordinate(&self, at: JointCoordinate) -> Option<f64> {
        self.machinery.machines.coordinate(at)
    }

    /// Sets the value of a drive whose signal comes from outside; false where it has another.
    pub fn set_drive(&mut self, drive: usize, value: f64) -> bool {
        self.machinery.machines.set_drive(drive, value)
    }
}
