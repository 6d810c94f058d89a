//! One machine: bodies that joints connect, and the direct solve of its equations.
//!
//! A substep of length `h` begins with the velocity `v°`. With the gyroscopic term (see
//! `gyroscopic.rs`), forces `f` and impulses `P` of contacts
//!
//! ```text
//! v_free = v° + gyro + h M⁻¹ f + M⁻¹ P                                    (1)
//! S λ = q − G v_free,    S = G M⁻¹ Gᵀ + Σ,    v = v_free + M⁻¹ Gᵀ λ       (2)
//! ```
//!
//! Rows without bounds (index 1) are eliminated, and what is left of (2) is a small box problem for
//! those with bounds (index 2):
//!
//! ```text
//! C = S₂₂ − S₂₁ S₁₁⁻¹ S₁₂                                                 (3)
//! ```
//!
//! A contact on a body sees the machine through the articulated inverse mass, over all rows that are
//! not at a bound,
//!
//! ```text
//! A = M⁻¹ − M⁻¹ Gᵀ S⁻¹ G M⁻¹                                              (4)
//! ```

use crate::body::{BodyPose, BodyProperties, InverseMass6, Spatial, WorldMass};
use crate::box_problem::BoxProblem;
use crate::definition::{Coordinate, CoordinateLaw, DriveDef, DriveKind, Elasticity, JointKind};
use crate::dense::{Cholesky, dot};
use crate::gyroscopic::gyroscopic_step;
use crate::joint::{Frame, Part, PlacedJoint};
use crate::report::{DriveTotals, GearTotals, JointTotals, Troubles, Violation};
use crate::row::Row;
use crate::sparse::SparseFactor;
use glam::{DMat3, DVec3};

/// Machines with more rows without bounds than this are factorised as sparse matrices: chains of
/// hinges take equal time at forty to sixty rows.
const MAX_DENSE_ROWS: usize = 60;

/// Regularisation `ρ` of rigid rows of joints and gears relative to `J M⁻¹ Jᵀ`. Rows that are redundant need it, and so
/// do those that would be if joints did not gape: where they do by the share `g` of a link's length,
/// a redundant row has `g²` of the mobility of others, and a linkage that moves by its geometry alone
/// jams unless `ρ` is far above that. What it costs: a rigid row gapes by `9/4 ρ` of what its load
/// would move its own bodies by within a substep, with a link of a millionth of its neighbours' mass
/// 0.05 mm in a substep of 1 ms. A four-bar's torque changes by 0.3 % at 1e-4, not at 1e-6.
pub const REGULARISATION: f64 = 1e-6;

/// The same for rows of limits, friction and drives, which must not creep at rest.
const HELD_REGULARISATION: f64 = 1e-10;

/// `Σ` of rows that move nothing.
pub(crate) const IMMOVABLE: f64 = 1e150;

/// What a substep begins with. Slices have an entry per body, of whatever machine.
#[derive(Clone, Copy, Debug)]
pub struct Substep<'a> {
    /// Length `h`, s.
    pub length: f64,
    /// Time at its start, s.
    pub time: f64,
    /// Poses.
    pub poses: &'a [BodyPose],
    /// Velocities `v°`.
    pub velocities: &'a [Spatial],
    /// Forces and torques, gravity included; contacts, joints and drives left out.
    pub forces: &'a [Spatial],
}

/// A joint of a machine.
#[derive(Clone, Debug)]
pub(crate) struct Joint {
    pub(crate) name: String,
    pub(crate) kind: JointKind,
    /// Indices into the machine's bodies.
    pub(crate) bodies: [Option<usize>; 2],
    pub(crate) frames: [Frame; 2],
    pub(crate) linear: Elasticity,
    pub(crate) angular: Elasticity,
    /// Index of its first coordinate, if it has one.
    pub(crate) coordinate: usize,
    pub(crate) totals: JointTotals,
}

impl Joint {
    pub(crate) fn placed(&self, poses: &[BodyPose]) -> PlacedJoint {
        let pose = |side: usize| self.bodies[side].map_or(&BodyPose::IDENTITY, |b| &poses[b]);
        PlacedJoint::new(&self.frames, [pose(0), pose(1)])
    }

    /// The angle with all its revolutions, where it has one.
    pub(crate) fn angle(&self, coordinates: &[JointAxis]) -> f64 {
        if self.kind.has(Coordinate::Angle) {
            coordinates[self.coordinate].value
        } else {
            0.0
        }
    }

    pub(crate) fn elasticity(&self, part: Part) -> Elasticity {
        match part {
            Part::Linear => self.linear,
            Part::Angular => self.angular,
        }
    }
}

/// A coordinate of a joint.
#[derive(Clone, Debug)]
pub(crate) struct JointAxis {
    /// Index of the joint in the machine.
    pub(crate) joint: usize,
    pub(crate) coordinate: Coordinate,
    pub(crate) limits: [f64; 2],
    pub(crate) friction: f64,
    /// Its value, rad or m. Written at the start and end of a substep.
    pub(crate) value: f64,
    /// Its Jacobian on the joint's bodies. Written at the start of a substep.
    pub(crate) jacobian: [Spatial; 2],
    /// Second anchor from the centre of mass. Written at the start of a substep.
    pub(crate) arm: DVec3,
}

impl JointAxis {
    pub(crate) fn new(joint: usize, coordinate: Coordinate, law: CoordinateLaw) -> Self {
        JointAxis {
            joint,
            coordinate,
            limits: law.limits,
            friction: law.friction,
            value: 0.0,
            jacobian: [Spatial::ZERO; 2],
            arm: DVec3::ZERO,
        }
    }

    /// Takes up the value and Jacobian of a placed joint; whole revolutions follow the last value.
    fn place(&mut self, placed: &PlacedJoint) {
        let row = placed.coordinate(self.coordinate);
        self.value = match self.coordinate {
            Coordinate::Slide => row.violation,
            Coordinate::Angle => {
                let turns = (self.value - row.violation) / std::f64::consts::TAU;
                row.violation + turns.round() * std::f64::consts::TAU
            }
        };
        self.jacobian = row.jacobian;
        self.arm = placed.arms[1];
    }
}

/// A gear of a machine.
#[derive(Clone, Debug)]
pub(crate) struct Gear {
    /// Indices of its coordinates.
    pub(crate) axes: [usize; 2],
    pub(crate) ratio: f64,
    /// `x₁ − ratio x₂` at the start.
    pub(crate) offset: f64,
    pub(crate) totals: GearTotals,
}

impl Gear {
    pub(crate) fn violation(&self, axes: &[JointAxis]) -> f64 {
        let [x, y] = self.axes.map(|k| axes[k].value);
        x - self.ratio * y - self.offset
    }
}

/// A drive of a machine.
#[derive(Clone, Debug)]
pub(crate) struct Drive {
    pub(crate) def: DriveDef,
    /// Index of its coordinate.
    pub(crate) axis: usize,
    /// What was set from outside.
    pub(crate) external: f64,
    pub(crate) totals: DriveTotals,
}

impl Drive {
    fn row_class(&self) -> RowClass {
        match (self.def.kind, self.def.force_limit) {
            (DriveKind::Force, _) => RowClass::Applied,
            (_, Some(_)) => RowClass::Bounded,
            (_, None) => RowClass::Bilateral,
        }
    }
}

/// How a row is solved; rows of a machine are in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowClass {
    /// Any impulse.
    Bilateral,
    /// An impulse between bounds.
    Bounded,
    /// A given impulse: no unknown.
    Applied,
}

/// What a row belongs to, by index in the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowSource {
    Joint(usize),
    Gear(usize),
    /// A limit of a coordinate: 0 the lower, 1 the upper.
    Limit(usize, usize),
    /// Friction of a coordinate.
    Friction(usize),
    Drive(usize),
}

/// Which rows a solve has at their bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bounds {
    /// Those that meet them.
    Met,
    /// Those that are expected to.
    Expected,
}

#[derive(Debug)]
enum Factor {
    Dense(Cholesky),
    Sparse(Box<SparseFactor>),
}

/// Bodies that joints connect, with their joints, gears and drives.
///
/// A substep is [`Machine::begin_substep`], any number of [`Machine::solve`], the caller's motion of
/// the bodies ([`BodyPose::moved`]), then [`Machine::end_substep`].
#[derive(Debug)]
pub struct Machine {
    bodies: Vec<usize>,
    pub(crate) properties: Vec<BodyProperties>,
    pub(crate) joints: Vec<Joint>,
    pub(crate) axes: Vec<JointAxis>,
    pub(crate) gears: Vec<Gear>,
    pub(crate) drives: Vec<Drive>,
    pub(crate) sources: Vec<RowSource>,
    /// How many rows have no bounds, and how many of the next have.
    bilateral: usize,
    bounded: usize,
    /// Regularisation `ρ` of rigid rows of joints and gears.
    pub(crate) regularisation: f64,
    /// That of limits, friction and drives.
    pub(crate) held_regularisation: f64,
    /// What went wrong in substeps that have ended.
    pub(crate) troubles: Troubles,

    // Of the substep, written by `begin_substep`.
    /// What went wrong in it so far.
    new_troubles: Troubles,
    pub(crate) step: f64,
    pub(crate) time: f64,
    pub(crate) poses: Vec<BodyPose>,
    pub(crate) masses: Vec<WorldMass>,
    /// `v°` as it was given.
    pub(crate) given: Vec<Spatial>,
    /// `v°` with the gyroscopic term.
    start: Vec<Spatial>,
    /// `v_free` without impulses of contacts.
    free: Vec<Spatial>,
    pub(crate) rows: Vec<Row>,
    factor: Factor,
    is_factorised: bool,
    /// `S₁₂` and `S₁₁⁻¹ S₁₂`, one column per bounded row.
    couplings: Vec<f64>,
    columns: Vec<f64>,
    pub(crate) box_problem: BoxProblem,

    // Written by `solve`.
    velocities: Vec<Spatial>,
    impulses: Vec<f64>,
    /// Right-hand sides and scratch per row.
    residuals: Vec<f64>,
    scratch: Vec<f64>,
    response: Vec<Spatial>,
}

/// What a machine is made of, with indices of its own.
pub(crate) struct MachineParts {
    pub(crate) bodies: Vec<usize>,
    pub(crate) properties: Vec<BodyProperties>,
    pub(crate) joints: Vec<Joint>,
    pub(crate) axes: Vec<JointAxis>,
    pub(crate) gears: Vec<Gear>,
    pub(crate) drives: Vec<Drive>,
}

impl Machine {
    pub(crate) fn new(parts: MachineParts, poses: &[BodyPose]) -> Self {
        let MachineParts {
            bodies,
            properties,
            joints,
            axes,
            gears,
            drives,
        } = parts;
        let of_class = |class: RowClass| {
            let list = drives.iter().enumerate();
            list.filter(move |(_, drive)| drive.row_class() == class)
                .map(|(d, _)| RowSource::Drive(d))
        };
        let mut sources = Vec::new();
        for (j, joint) in joints.iter().enumerate() {
            sources.extend((0..joint.kind.rows()).map(|_| RowSource::Joint(j)));
        }
        sources.extend((0..gears.len()).map(RowSource::Gear));
        sources.extend(of_class(RowClass::Bilateral));
        let bilateral = sources.len();
        for (k, axis) in axes.iter().enumerate() {
            let sides = (0..2).filter(|&side| axis.limits[side].is_finite());
            sources.extend(sides.map(|side| RowSource::Limit(k, side)));
            sources.extend((axis.friction > 0.0).then_some(RowSource::Friction(k)));
        }
        sources.extend(of_class(RowClass::Bounded));
        let bounded = sources.len() - bilateral;
        sources.extend(of_class(RowClass::Applied));
        let (count, size) = (sources.len(), bodies.len());
        let mut box_problem = BoxProblem::default();
        box_problem.resize(bounded);
        let mut machine = Machine {
            poses: bodies.iter().map(|&b| poses[b]).collect(),
            masses: Vec::with_capacity(size),
            given: vec![Spatial::ZERO; size],
            start: vec![Spatial::ZERO; size],
            free: vec![Spatial::ZERO; size],
            velocities: vec![Spatial::ZERO; size],
            response: vec![Spatial::ZERO; size],
            rows: vec![Row::default(); count],
            impulses: vec![0.0; count],
            residuals: vec![0.0; bilateral + bounded],
            scratch: vec![0.0; bilateral + bounded],
            couplings: vec![0.0; bilateral * bounded],
            columns: vec![0.0; bilateral * bounded],
            factor: Factor::Dense(Cholesky::default()),
            is_factorised: false,
            regularisation: REGULARISATION,
            held_regularisation: HELD_REGULARISATION,
            troubles: Troubles::default(),
            new_troubles: Troubles::default(),
            step: 1.0,
            time: 0.0,
            bodies,
            properties,
            joints,
            axes,
            gears,
            drives,
            sources,
            bilateral,
            bounded,
            box_problem,
        };
        machine.place();
        machine.set_rows();
        if bilateral > MAX_DENSE_ROWS {
            machine.use_sparse_factor();
        }
        machine
    }

    /// Solves through the sparse factorisation from now on, whatever the size.
    pub(crate) fn use_sparse_factor(&mut self) {
        let rows = &self.rows[..self.bilateral];
        self.factor = Factor::Sparse(Box::new(SparseFactor::new(rows)));
    }

    /// Its bodies, as indices into the list that [`crate::Machines`] was made with, in order.
    pub fn bodies(&self) -> &[usize] {
        &self.bodies
    }

    /// The rows of (2) that have an unknown, since [`Self::begin_substep`]: first those without
    /// bounds, then those with. For solvers that take the machine into a common problem, as
    /// `M + Gᵀ Σ⁻¹ G` and `f + Gᵀ Σ⁻¹ q`, with bounded rows beside the contacts.
    pub fn rows(&self) -> (&[Row], &[Row]) {
        self.rows[..self.bilateral + self.bounded].split_at(self.bilateral)
    }

    /// `v_free` without impulses of contacts, per body of [`Self::bodies`].
    pub fn free_velocities(&self) -> &[Spatial] {
        &self.free
    }

    /// Index in the machine of a body of the whole list.
    fn local(&self, body: usize) -> usize {
        self.bodies
            .binary_search(&body)
            .expect("the body belongs to this machine")
    }

    /// Rebuilds and factorises the equations from the present poses.
    pub fn begin_substep(&mut self, substep: &Substep<'_>) {
        self.step = substep.length;
        self.time = substep.time;
        self.new_troubles = Troubles::default();
        for (k, &b) in self.bodies.iter().enumerate() {
            self.poses[k] = substep.poses[b];
            self.given[k] = substep.velocities[b];
        }
        self.place();
        for (k, &b) in self.bodies.iter().enumerate() {
            let (properties, mass) = (&self.properties[k], &self.masses[k]);
            let free = properties.free_rotation;
            let w = self.given[k].angular;
            let (angular, kept) = gyroscopic_step(mass, free, w, self.step);
            self.new_troubles.fast_rotations += u64::from(!kept);
            self.start[k] = Spatial::new(self.given[k].linear, angular);
            let change = mass.velocity_of(substep.forces[b]) * self.step;
            self.free[k] = self.start[k] + change;
        }
        self.set_rows();
        for i in self.bilateral + self.bounded..self.rows.len() {
            self.impulses[i] = self.rows[i].bounds[0];
            self.rows[i].apply(self.impulses[i], &mut self.free);
        }
        self.factorise();
    }

    /// Velocities at the end of the substep under these impulses of contacts, per body of the whole
    /// list. May be called again with others; rows start from where they were at their bounds.
    pub fn solve(&mut self, impulses: &[Spatial], velocities: &mut [Spatial]) {
        self.solve_rows(Bounds::Met, impulses, velocities);
    }

    /// From now on rows with bounds are expected to be where these impulses of contacts take them:
    /// [`Self::articulated_inverse_mass`] and [`Self::solve_expected`] have them there.
    pub fn expect(&mut self, impulses: &[Spatial], velocities: &mut [Spatial]) {
        self.solve(impulses, velocities);
        self.box_problem.expect(|_| true);
    }

    /// [`Self::expect`] with impulses that contacts may come to give, for all rows but limits. A
    /// limit that holds takes its coordinate there within the substep, however far it is, which is
    /// for impulses that are there.
    pub fn expect_more(&mut self, impulses: &[Spatial], velocities: &mut [Spatial]) {
        self.solve(impulses, velocities);
        let bounded = &self.sources[self.bilateral..];
        let is_limit = |j: usize| matches!(bounded[j], RowSource::Limit(..));
        self.box_problem.expect(|j| !is_limit(j));
    }

    /// [`Self::solve`] with rows at their bounds that are expected to be there, and free otherwise:
    /// what contacts act on that are about to take them there.
    pub fn solve_expected(&mut self, impulses: &[Spatial], velocities: &mut [Spatial]) {
        self.solve_rows(Bounds::Expected, impulses, velocities);
    }

    fn solve_rows(&mut self, bounds: Bounds, impulses: &[Spatial], velocities: &mut [Spatial]) {
        for (k, &b) in self.bodies.iter().enumerate() {
            self.velocities[k] = self.free[k] + self.masses[k].velocity_of(impulses[b]);
        }
        self.solve_joints(bounds);
        for (k, &b) in self.bodies.iter().enumerate() {
            velocities[b] = self.velocities[k];
        }
    }

    /// Takes up where the bodies were moved to with the velocities of the last solve.
    pub fn end_substep(&mut self, poses: &[BodyPose]) {
        self.troubles += self.new_troubles;
        for i in 0..self.sources.len() {
            let row = &self.rows[i];
            let mean = 0.5 * (row.velocity(&self.start) + row.velocity(&self.velocities));
            self.book(i, self.impulses[i], mean);
        }
        for (k, &b) in self.bodies.iter().enumerate() {
            self.poses[k] = poses[b];
        }
        self.place_axes();
        for j in 0..self.joints.len() {
            let violation = self.violation(j);
            let totals = &mut self.joints[j].totals;
            totals.violation = violation;
            totals.max_violation = totals.max_violation.max(violation);
        }
        for gear in &mut self.gears {
            let violation = gear.violation(&self.axes);
            gear.totals.violation = violation;
            gear.totals.max_violation = gear.totals.max_violation.max(violation.abs());
        }
    }

    /// Takes up impacts, which take no time: `velocities` go from those before to those after.
    /// Forces, and what is left of violations, do not matter.
    pub(crate) fn take_up_impacts(&mut self, impulses: &[Spatial], velocities: &mut [Spatial]) {
        let nothing = vec![Spatial::ZERO; impulses.len()];
        let (mut unmoved, mut moved) = (nothing.clone(), nothing.clone());
        self.solve(&nothing, &mut unmoved);
        let of_forces = self.impulses.clone();
        self.solve(impulses, &mut moved);
        let before: Vec<Spatial> = self.bodies.iter().map(|&b| velocities[b]).collect();
        for &b in &self.bodies {
            velocities[b] += moved[b] - unmoved[b];
        }
        let after: Vec<Spatial> = self.bodies.iter().map(|&b| velocities[b]).collect();
        for (i, of_forces) in of_forces.iter().enumerate() {
            let row = &self.rows[i];
            let mean = 0.5 * (row.velocity(&before) + row.velocity(&after));
            self.book(i, self.impulses[i] - of_forces, mean);
        }
    }

    /// Books the impulse of a row, with the mean velocity along it.
    fn book(&mut self, row: usize, impulse: f64, velocity: f64) {
        let (work, reaction) = (impulse * velocity, self.rows[row].reaction * impulse);
        match self.sources[row] {
            RowSource::Joint(j) => self.joints[j].totals.add(reaction, work),
            RowSource::Limit(k, _) | RowSource::Friction(k) => {
                let joint = self.axes[k].joint;
                self.joints[joint].totals.add(reaction, work);
            }
            RowSource::Gear(g) => self.gears[g].totals.add(impulse, work),
            RowSource::Drive(d) => self.drives[d].totals.add(impulse, work),
        }
    }

    /// Velocity of a body per impulse on it, with all joints and the drives that are not at their
    /// limit: its block of (4), for the rows as the last solve left them.
    pub fn articulated_inverse_mass(&mut self, body: usize) -> InverseMass6 {
        let k = self.local(body);
        let columns: [Spatial; 6] = std::array::from_fn(|c| {
            self.respond_to(k, Spatial::unit(c));
            self.response[k]
        });
        let block = |first: usize, part: fn(&Spatial) -> DVec3| {
            let [x, y, z] = [0, 1, 2].map(|c| part(&columns[first + c]));
            DMat3::from_cols(x, y, z)
        };
        InverseMass6 {
            linear_linear: block(0, |v| v.linear),
            linear_angular: block(3, |v| v.linear),
            angular_angular: block(3, |v| v.angular),
        }
    }

    /// Velocity change of all bodies of the machine by an impulse on one, by (4): what a contact does
    /// that is solved one by one. In the order of [`Self::bodies`].
    pub fn response(&mut self, body: usize, impulse: Spatial) -> &[Spatial] {
        let k = self.local(body);
        self.respond_to(k, impulse);
        &self.response
    }

    fn respond_to(&mut self, body: usize, impulse: Spatial) {
        let (n, m) = (self.bilateral, self.bounded);
        self.response.fill(Spatial::ZERO);
        self.response[body] = self.masses[body].velocity_of(impulse);
        for (r, row) in self.scratch.iter_mut().zip(&self.rows[..n + m]) {
            *r = -row.velocity(&self.response);
        }
        let (first, second) = self.scratch.split_at_mut(n);
        for (j, b) in second.iter_mut().enumerate() {
            *b -= dot(&self.columns[j * n..][..n], first);
        }
        self.box_problem.solve_free(second);
        self.back_substitute_scratch();
        for (row, impulse) in self.rows.iter().zip(&self.scratch) {
            row.apply(*impulse, &mut self.response);
        }
    }

    /// With residuals of the first rows and impulses of the second in `scratch`: impulses of all.
    fn back_substitute_scratch(&mut self) {
        let n = self.bilateral;
        let (first, second) = self.scratch.split_at_mut(n);
        self.factor.solve(first);
        for (j, impulse) in second.iter().enumerate() {
            let column = &self.columns[j * n..][..n];
            for (x, c) in first.iter_mut().zip(column) {
                *x -= c * impulse;
            }
        }
    }

    /// Solves (2) for `velocities`, which are `v_free` before.
    fn solve_joints(&mut self, kept: Bounds) {
        let (n, m) = (self.bilateral, self.bounded);
        for (r, row) in self.residuals.iter_mut().zip(&self.rows[..n + m]) {
            *r = row.target - row.velocity(&self.velocities);
        }
        let (first, second) = self.residuals.split_at_mut(n);
        for (j, b) in second.iter_mut().enumerate() {
            *b -= dot(&self.columns[j * n..][..n], first);
        }
        let bounds = |j: usize| self.rows[n + j].bounds;
        let impulses = &mut self.scratch[n..];
        let solved = match kept {
            Bounds::Met => self.box_problem.solve(second, bounds, impulses),
            Bounds::Expected => {
                self.box_problem.solve_expected(second, bounds, impulses);
                true
            }
        };
        self.new_troubles.unsolved = u64::from(!(solved && self.is_factorised));
        self.scratch[..n].copy_from_slice(first);
        self.back_substitute_scratch();
        self.impulses[..n + m].copy_from_slice(&self.scratch);
        for (row, impulse) in self.rows.iter().zip(&self.scratch) {
            row.apply(*impulse, &mut self.velocities);
        }
    }

    /// Mass in world axes and coordinates of the present poses.
    fn place(&mut self) {
        self.masses.clear();
        let bodies = self.properties.iter().zip(&self.poses);
        self.masses
            .extend(bodies.map(|(body, pose)| WorldMass::new(body, pose.orientation)));
        self.place_axes();
    }

    fn place_axes(&mut self) {
        for axis in &mut self.axes {
            axis.place(&self.joints[axis.joint].placed(&self.poses));
        }
    }

    /// How far a joint is from where it should be.
    pub(crate) fn violation(&self, joint: usize) -> Violation {
        let joint = &self.joints[joint];
        let mut squares = [0.0; 2];
        let placed = joint.placed(&self.poses);
        placed.rows(joint.kind, joint.angle(&self.axes), |row| {
            squares[row.part as usize] += row.violation * row.violation;
        });
        let [distance, angle] = squares.map(f64::sqrt);
        Violation { distance, angle }
    }

    /// Factorises `S₁₁` and makes the box problem (3).
    fn factorise(&mut self) {
        let (n, m) = (self.bilateral, self.bounded);
        let (first, second) = self.rows[..n + m].split_at(n);
        self.is_factorised = self.factor.factorise(first);
        for (j, row) in second.iter().enumerate() {
            let coupling = &mut self.couplings[j * n..][..n];
            for (c, other) in coupling.iter_mut().zip(first) {
                *c = other.coupling(row);
            }
            let column = &mut self.columns[j * n..][..n];
            column.copy_from_slice(coupling);
            self.factor.solve(column);
        }
        for j in 0..m {
            let coupling = &self.couplings[j * n..][..n];
            for k in 0..=j {
                let own = second[j].coupling(&second[k]);
                let regularised = if j == k { own + second[j].sigma } else { own };
                let entry = regularised - dot(coupling, &self.columns[k * n..][..n]);
                // Rounding must not make the matrix indefinite.
                let entry = if j == k {
                    entry.max(second[j].sigma)
                } else {
                    entry
                };
                self.box_problem.set_entry(j, k, entry);
            }
        }
        self.box_problem.factorise();
    }

    /// One step of Newton's method for the joints alone, weighted by mass: displacements that take
    /// the violations of the present poses away to first order.
    pub(crate) fn project(&mut self) {
        self.place();
        self.set_rows();
        for (row, source) in self.rows[..self.bilateral].iter_mut().zip(&self.sources) {
            let rigid = row.coupling(row) * self.regularisation;
            let is_joint = matches!(source, RowSource::Joint(_)) && rigid > 0.0;
            row.sigma = if is_joint { rigid } else { IMMOVABLE };
        }
        let n = self.bilateral;
        self.factor.factorise(&self.rows[..n]);
        for (x, row) in self.scratch.iter_mut().zip(&self.rows[..n]) {
            *x = -row.violation;
        }
        self.factor.solve(&mut self.scratch[..n]);
        self.response.fill(Spatial::ZERO);
        for (row, x) in self.rows[..n].iter().zip(&self.scratch) {
            row.apply(*x, &mut self.response);
        }
        for (pose, displacement) in self.poses.iter_mut().zip(&self.response) {
            *pose = pose.moved(*displacement, 1.0);
        }
        self.place();
    }

    /// Poses as the machine has them, in the order of its bodies.
    pub(crate) fn poses(&self) -> &[BodyPose] {
        &self.poses
    }

    /// How far axes of a joint are from being aligned, rad.
    pub(crate) fn misalignment(&self, joint: usize) -> f64 {
        let joint = &self.joints[joint];
        joint.placed(&self.poses).misalignment(joint.kind)
    }
}

impl Factor {
    /// Factorises `S₁₁`; false where that failed.
    fn factorise(&mut self, rows: &[Row]) -> bool {
        match self {
            Factor::Dense(cholesky) => {
                cholesky.resize(rows.len());
                let mut smallest = f64::INFINITY;
                for (i, row) in rows.iter().enumerate() {
                    for (j, other) in rows[..i].iter().enumerate() {
                        *cholesky.entry(i, j) = row.coupling(other);
                    }
                    *cholesky.entry(i, i) = row.coupling(row) + row.sigma;
                    smallest = smallest.min(row.sigma);
                }
                cholesky.factorise(smallest);
                true
            }
            Factor::Sparse(sparse) => sparse.factorise(rows),
        }
    }

    /// `x ← S₁₁⁻¹ x`.
    fn solve(&mut self, x: &mut [f64]) {
        match self {
            Factor::Dense(cholesky) => cholesky.solve(x),
            Factor::Sparse(sparse) => sparse.solve(x),
        }
    }
}
