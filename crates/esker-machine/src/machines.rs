//! All machines of a world: bodies that joints connect, split into independent problems.

use glam::{DMat3, DQuat};

use crate::body::{BodyPose, BodyProperties, InverseMass6, Spatial};
use crate::box_problem::Activity;
use crate::definition::{
    Coordinate, DriveDef, Elasticity, GearDef, JointCoordinate, JointDef, JointFrame, JointKind,
    Signal,
};
use crate::error::MachineError;
use crate::joint::{Frame, PlacedJoint};
use crate::machine::{Drive, Gear, Joint, JointAxis, Machine, MachineParts, Substep};
use crate::report::{DriveTotals, GearTotals, JointPlace, JointTotals, Troubles, Violation};
use crate::validate::validate;

/// What machines are made of.
#[derive(Clone, Copy, Debug)]
pub struct MachineDef<'a> {
    /// All bodies; those without a joint belong to no machine.
    pub bodies: &'a [BodyProperties],
    /// Joints.
    pub joints: &'a [JointDef],
    /// Gears.
    pub gears: &'a [GearDef],
    /// Drives.
    pub drives: &'a [DriveDef],
}

/// How far sides of joints may be apart at the start; they are brought together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Assembly {
    /// Distance of anchors, m.
    pub distance: f64,
    /// Angle between axes, rad.
    pub angle: f64,
}

impl Default for Assembly {
    fn default() -> Self {
        Assembly {
            distance: 1e-3,
            angle: 1e-3,
        }
    }
}

/// Where something is: index of its machine and index in there.
type Place = (usize, usize);

/// All machines of a world.
#[derive(Debug, Default)]
pub struct Machines {
    machines: Vec<Machine>,
    /// Machine of every body.
    of_body: Vec<Option<usize>>,
    joints: Vec<Place>,
    gears: Vec<Place>,
    drives: Vec<Place>,
    /// What went wrong before the state that was restored.
    restored_troubles: Troubles,
}

/// What a restart needs, in a fixed order; plain numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachineState {
    /// Coordinates of all machines with their revolutions, rad and m.
    pub coordinates: Vec<f64>,
    /// Where bounded rows of all machines were.
    pub activities: Vec<Activity>,
    /// What was set from outside, per drive.
    pub external: Vec<f64>,
    /// Per joint.
    pub joints: Vec<JointTotals>,
    /// Per gear.
    pub gears: Vec<GearTotals>,
    /// Per drive.
    pub drives: Vec<DriveTotals>,
    /// What went wrong.
    pub troubles: Troubles,
}

impl Machines {
    /// Validates a definition, splits it into machines and assembles these: `poses` of their bodies
    /// are moved so that the sides of all joints meet.
    pub fn new(
        def: &MachineDef<'_>,
        poses: &mut [BodyPose],
        assembly: Assembly,
    ) -> Result<Self, MachineError> {
        validate(def)?;
        let of_body = connected(def);
        let count = of_body.iter().flatten().max().map_or(0, |last| last + 1);
        let machine_of = |joint: usize| {
            let mut bodies = def.joints[joint].bodies.iter().flatten();
            bodies
                .find_map(|&b| of_body[b])
                .expect("a joint has a body")
        };
        let mut machines = Machines {
            joints: vec![(0, 0); def.joints.len()],
            gears: vec![(0, 0); def.gears.len()],
            drives: vec![(0, 0); def.drives.len()],
            ..Machines::default()
        };
        for m in 0..count {
            let parts = machines.parts(m, def, (&of_body, &machine_of));
            let mut machine = Machine::new(parts, poses);
            machine.assemble(assembly)?;
            for (&b, pose) in machine.bodies().iter().zip(machine.poses()) {
                poses[b] = *pose;
            }
            machines.machines.push(machine);
        }
        machines.of_body = of_body;
        Ok(machines)
    }

    /// What machine `m` is made of; notes where its parts are.
    fn parts(
        &mut self,
        m: usize,
        def: &MachineDef<'_>,
        (of_body, machine_of): (&[Option<usize>], &dyn Fn(usize) -> usize),
    ) -> MachineParts {
        let bodies: Vec<usize> = (0..of_body.len())
            .filter(|&b| of_body[b] == Some(m))
            .collect();
        let local = |b: usize| bodies.binary_search(&b).expect("a body of this machine");
        let (mut joints, mut axes) = (Vec::new(), Vec::new());
        for (j, joint) in def.joints.iter().enumerate() {
            if machine_of(j) != m {
                continue;
            }
            let own = joints.len();
            self.joints[j] = (m, own);
            joints.push(Joint {
                name: joint.name.clone(),
                kind: joint.kind,
                bodies: joint.bodies.map(|body| body.map(local)),
                frames: joint.frames.map(frame),
                linear: joint.linear,
                angular: joint.angular,
                coordinate: axes.len(),
                totals: JointTotals::default(),
            });
            for coordinate in Coordinate::ALL {
                if joint.kind.has(coordinate) {
                    let law = match coordinate {
                        Coordinate::Angle => joint.angle,
                        Coordinate::Slide => joint.slide,
                    };
                    axes.push(JointAxis::new(own, coordinate, law));
                }
            }
        }
        let places = &self.joints;
        let axis_of = |at: JointCoordinate| {
            let (_, own) = places[at.joint];
            let is_it = |axis: &JointAxis| axis.joint == own && axis.coordinate == at.coordinate;
            axes.iter().position(is_it).expect("validated")
        };
        let mut gears = Vec::new();
        for (g, gear) in def.gears.iter().enumerate() {
            if machine_of(gear.coordinates[0].joint) == m {
                self.gears[g] = (m, gears.len());
                gears.push(Gear {
                    axes: gear.coordinates.map(axis_of),
                    ratio: gear.ratio,
                    offset: 0.0,
                    totals: GearTotals::default(),
                });
            }
        }
        let mut drives = Vec::new();
        for (d, drive) in def.drives.iter().enumerate() {
            if machine_of(drive.coordinate.joint) == m {
                self.drives[d] = (m, drives.len());
                let external = match drive.signal {
                    Signal::External(value) => value,
                    _ => 0.0,
                };
                drives.push(Drive {
                    axis: axis_of(drive.coordinate),
                    def: drive.clone(),
                    external,
                    totals: DriveTotals::default(),
                });
            }
        }
        MachineParts {
            properties: bodies.iter().map(|&b| def.bodies[b]).collect(),
            bodies,
            joints,
            axes,
            gears,
            drives,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.machines.is_empty()
    }

    /// The machines.
    pub fn machines(&self) -> &[Machine] {
        &self.machines
    }

    /// The machines, to be solved one by one: they do not depend on each other.
    pub fn machines_mut(&mut self) -> &mut [Machine] {
        &mut self.machines
    }

    /// Index of the machine that a body belongs to.
    pub fn machine_of(&self, body: usize) -> Option<usize> {
        self.of_body.get(body).copied().flatten()
    }

    /// [`Machine::begin_substep`] of all.
    pub fn begin_substep(&mut self, substep: &Substep<'_>) {
        for machine in &mut self.machines {
            machine.begin_substep(substep);
        }
    }

    /// [`Machine::solve`] of all.
    pub fn solve(&mut self, impulses: &[Spatial], velocities: &mut [Spatial]) {
        for machine in &mut self.machines {
            machine.solve(impulses, velocities);
        }
    }

    /// [`Machine::expect`] of all.
    pub fn expect(&mut self, impulses: &[Spatial], velocities: &mut [Spatial]) {
        for machine in &mut self.machines {
            machine.expect(impulses, velocities);
        }
    }

    /// [`Machine::expect_more`] of all.
    pub fn expect_more(&mut self, impulses: &[Spatial], velocities: &mut [Spatial]) {
        for machine in &mut self.machines {
            machine.expect_more(impulses, velocities);
        }
    }

    /// [`Machine::solve_expected`] of all.
    pub fn solve_expected(&mut self, impulses: &[Spatial], velocities: &mut [Spatial]) {
        for machine in &mut self.machines {
            machine.solve_expected(impulses, velocities);
        }
    }

    /// Takes up impacts in the midst of a substep: `velocities` of bodies that joints hold go from
    /// those before to those after, and what joints and drives gave is booked.
    pub fn take_up_impacts(&mut self, impulses: &[Spatial], velocities: &mut [Spatial]) {
        for machine in &mut self.machines {
            machine.take_up_impacts(impulses, velocities);
        }
    }

    /// [`Machine::end_substep`] of all.
    pub fn end_substep(&mut self, poses: &[BodyPose]) {
        for machine in &mut self.machines {
            machine.end_substep(poses);
        }
    }

    /// [`Machine::articulated_inverse_mass`] of a body that belongs to a machine.
    pub fn articulated_inverse_mass(&mut self, body: usize) -> InverseMass6 {
        let machine = self
            .machine_of(body)
            .expect("the body belongs to a machine");
        self.machines[machine].articulated_inverse_mass(body)
    }

    /// Regularisation of all rigid rows, at first [`crate::REGULARISATION`] for joints and gears and
    /// 1e-10 for limits, friction and drives. Where rows enter a common problem as `M + Gᵀ Σ⁻¹ G`,
    /// whose condition is its inverse, all of them should have 1e-6.
    pub fn set_regularisation(&mut self, regularisation: f64) {
        for machine in &mut self.machines {
            machine.regularisation = regularisation;
            machine.held_regularisation = regularisation;
        }
    }

    /// Sets the value of a drive with an external signal; false where its signal is another, or the
    /// value is not finite.
    pub fn set_drive(&mut self, drive: usize, value: f64) -> bool {
        let (m, d) = self.drives[drive];
        let drive = &mut self.machines[m].drives[d];
        let settable = matches!(drive.def.signal, Signal::External(_)) && value.is_finite();
        if settable {
            drive.external = value;
        }
        settable
    }

    /// A coordinate of a joint, rad or m; `None` where its kind has none.
    pub fn coordinate(&self, at: JointCoordinate) -> Option<f64> {
        let (m, own) = self.joints[at.joint];
        let mut axes = self.machines[m].axes.iter();
        axes.find(|axis| axis.joint == own && axis.coordinate == at.coordinate)
            .map(|axis| axis.value)
    }

    /// Names of the joints, in the order of the definition.
    pub fn joint_names(&self) -> impl Iterator<Item = &str> {
        let places = self.joints.iter();
        places.map(|&(m, own)| self.machines[m].joints[own].name.as_str())
    }

    /// What a joint lets its bodies do.
    pub fn joint_kind(&self, joint: usize) -> JointKind {
        let (m, own) = self.joints[joint];
        self.machines[m].joints[own].kind
    }

    /// Where a joint is with these poses of the bodies.
    pub fn joint_place(&self, joint: usize, pose: impl Fn(usize) -> BodyPose) -> JointPlace {
        let (m, own) = self.joints[joint];
        let machine = &self.machines[m];
        let joint = &machine.joints[own];
        let poses = joint
            .bodies
            .map(|own| own.map_or(BodyPose::IDENTITY, |own| pose(machine.bodies()[own])));
        let placed = PlacedJoint::new(&joint.frames, [&poses[0], &poses[1]]);
        JointPlace {
            anchors: [0, 1].map(|side| poses[side].position + placed.arms[side]),
            axis: joint.kind.has_axis().then(|| placed.first_axis()),
        }
    }

    /// What a drive drives.
    pub fn drive_coordinate(&self, drive: usize) -> JointCoordinate {
        let (m, own) = self.drives[drive];
        self.machines[m].drives[own].def.coordinate
    }

    /// Names of the drives, in the order of the definition.
    pub fn drive_names(&self) -> impl Iterator<Item = &str> {
        let places = self.drives.iter();
        places.map(|&(m, own)| self.machines[m].drives[own].def.name.as_str())
    }

    /// Work of drives, and of joints and gears, on the bodies since the start, J.
    pub fn work(&self) -> [f64; 2] {
        let of_joints: f64 = (0..self.joints.len()).map(|j| self.joint(j).work).sum();
        let of_gears: f64 = (0..self.gears.len()).map(|g| self.gear(g).work).sum();
        let of_drives = (0..self.drives.len()).map(|d| self.drive(d).work).sum();
        [of_drives, of_joints + of_gears]
    }

    /// What a joint has done.
    pub fn joint(&self, joint: usize) -> &JointTotals {
        let (m, own) = self.joints[joint];
        &self.machines[m].joints[own].totals
    }

    /// Bodies of every joint, and how far it is from where it should be now; what is meant to
    /// yield is where it should be.
    pub fn violations(&self) -> impl Iterator<Item = ([Option<usize>; 2], Violation)> + '_ {
        self.machines.iter().flat_map(|machine| {
            machine.joints.iter().map(|joint| {
                let of_rigid = |part: Elasticity, violation: f64| match part.compliance {
                    0.0 => violation,
                    _ => 0.0,
                };
                let now = joint.totals.violation;
                let violation = Violation {
                    distance: of_rigid(joint.linear, now.distance),
                    angle: of_rigid(joint.angular, now.angle),
                };
                let bodies = joint.bodies.map(|own| Some(machine.bodies()[own?]));
                (bodies, violation)
            })
        })
    }

    /// What a gear has done.
    pub fn gear(&self, gear: usize) -> &GearTotals {
        let (m, own) = self.gears[gear];
        &self.machines[m].gears[own].totals
    }

    /// What a drive has done.
    pub fn drive(&self, drive: usize) -> &DriveTotals {
        let (m, own) = self.drives[drive];
        &self.machines[m].drives[own].totals
    }

    /// What went wrong since the start.
    pub fn troubles(&self) -> Troubles {
        let mut sum = self.restored_troubles;
        self.machines.iter().for_each(|m| sum += m.troubles);
        sum
    }

    /// What a restart needs.
    pub fn state(&self) -> MachineState {
        let machines = &self.machines;
        MachineState {
            coordinates: machines
                .iter()
                .flat_map(|m| m.axes.iter().map(|axis| axis.value))
                .collect(),
            activities: machines
                .iter()
                .flat_map(|m| m.box_problem.activity.iter().copied())
                .collect(),
            external: self
                .drives
                .iter()
                .map(|&(m, d)| machines[m].drives[d].external)
                .collect(),
            joints: (0..self.joints.len()).map(|j| *self.joint(j)).collect(),
            gears: (0..self.gears.len()).map(|g| *self.gear(g)).collect(),
            drives: (0..self.drives.len()).map(|d| *self.drive(d)).collect(),
            troubles: self.troubles(),
        }
    }

    /// Goes on from a state of machines with the same definition.
    pub fn restore(&mut self, state: &MachineState) -> Result<(), MachineError> {
        let fits = |what: &'static str, found: usize, expected: usize| {
            if found == expected {
                Ok(())
            } else {
                Err(MachineError::StateMismatch {
                    what,
                    found,
                    expected,
                })
            }
        };
        let axes = self.machines.iter().map(|m| m.axes.len()).sum();
        fits("coordinates", state.coordinates.len(), axes)?;
        let bounded = self.machines.iter().map(|m| m.box_problem.activity.len());
        fits("bounded rows", state.activities.len(), bounded.sum())?;
        fits("joints", state.joints.len(), self.joints.len())?;
        fits("gears", state.gears.len(), self.gears.len())?;
        fits("drives", state.drives.len(), self.drives.len())?;
        fits("drive values", state.external.len(), self.drives.len())?;
        let mut coordinates = state.coordinates.iter();
        let mut activities = state.activities.iter();
        for machine in &mut self.machines {
            for (axis, value) in machine.axes.iter_mut().zip(&mut coordinates) {
                axis.value = *value;
            }
            let rows = machine.box_problem.activity.iter_mut();
            for (row, activity) in rows.zip(&mut activities) {
                *row = *activity;
            }
            machine.troubles = Troubles::default();
        }
        for (&(m, own), totals) in self.joints.iter().zip(&state.joints) {
            self.machines[m].joints[own].totals = *totals;
        }
        for (&(m, own), totals) in self.gears.iter().zip(&state.gears) {
            self.machines[m].gears[own].totals = *totals;
        }
        let drives = state.drives.iter().zip(&state.external);
        for (&(m, own), (totals, external)) in self.drives.iter().zip(drives) {
            let drive = &mut self.machines[m].drives[own];
            (drive.totals, drive.external) = (*totals, *external);
        }
        self.restored_troubles = state.troubles;
        Ok(())
    }
}

impl Machine {
    /// Moves bodies so that the sides of all joints meet, and starts coordinates and gears.
    fn assemble(&mut self, assembly: Assembly) -> Result<(), MachineError> {
        /// What is left after assembly, relative to the lengths of the machine.
        const TOLERANCE: f64 = 1e-12;
        const ROUNDS: usize = 50;
        for j in 0..self.joints.len() {
            let (distance, angle) = (self.violation(j).distance, self.misalignment(j));
            if !(distance <= assembly.distance && angle <= assembly.angle) {
                return Err(MachineError::Apart {
                    joint: self.joints[j].name.clone(),
                    distance,
                    angle,
                    max_distance: assembly.distance,
                    max_angle: assembly.angle,
                });
            }
        }
        let length = self.extent();
        let worst = |machine: &Machine| {
            let violations = (0..machine.joints.len()).map(|j| {
                let violation = machine.violation(j);
                (
                    j,
                    violation,
                    (violation.distance / length).max(violation.angle),
                )
            });
            violations
                .max_by(|a, b| a.2.total_cmp(&b.2))
                .expect("a machine has joints")
        };
        for _ in 0..ROUNDS {
            if worst(self).2 <= TOLERANCE {
                break;
            }
            self.project();
        }
        let (joint, violation, left) = worst(self);
        if left > TOLERANCE {
            return Err(MachineError::CannotAssemble {
                joint: self.joints[joint].name.clone(),
                distance: violation.distance,
                angle: violation.angle,
            });
        }
        for axis in &self.axes {
            let [lower, upper] = axis.limits;
            let slack = TOLERANCE * length.max(1.0);
            if !(axis.value >= lower - slack && axis.value <= upper + slack) {
                return Err(MachineError::OutsideLimits {
                    joint: self.joints[axis.joint].name.clone(),
                    coordinate: axis.coordinate.name(),
                    value: axis.value,
                    lower,
                    upper,
                });
            }
        }
        for gear in &mut self.gears {
            let [x, y] = gear.axes.map(|k| self.axes[k].value);
            gear.offset = x - gear.ratio * y;
        }
        Ok(())
    }

    /// A length of the machine: the largest lever of its joints, or the largest distance of two
    /// of its bodies.
    fn extent(&self) -> f64 {
        let poses = self.poses();
        let levers = self
            .joints
            .iter()
            .flat_map(|joint| joint.bodies.iter().zip(&joint.frames))
            .filter(|(body, _)| body.is_some())
            .map(|(_, frame)| frame.anchor.length());
        let distances = poses.iter().map(|p| p.position.distance(poses[0].position));
        let longest = levers.chain(distances).fold(0.0, f64::max);
        if longest > 0.0 { longest } else { 1.0 }
    }
}

/// Machine of every body: bodies that joints and gears connect.
fn connected(def: &MachineDef<'_>) -> Vec<Option<usize>> {
    let mut leader: Vec<usize> = (0..def.bodies.len()).collect();
    fn find(leader: &mut [usize], mut b: usize) -> usize {
        while leader[b] != b {
            leader[b] = leader[leader[b]];
            b = leader[b];
        }
        b
    }
    let mut join = |bodies: &[usize]| {
        for pair in bodies.windows(2) {
            let [a, b] = [0, 1].map(|i| find(&mut leader, pair[i]));
            leader[a.max(b)] = a.min(b);
        }
    };
    let bodies_of = |joint: usize| def.joints[joint].bodies.into_iter().flatten();
    let mut jointed = vec![false; def.bodies.len()];
    for j in 0..def.joints.len() {
        let bodies: Vec<usize> = bodies_of(j).collect();
        bodies.iter().for_each(|&b| jointed[b] = true);
        join(&bodies);
    }
    for gear in def.gears {
        let [first, second] = gear.coordinates;
        let bodies: Vec<usize> = bodies_of(first.joint)
            .chain(bodies_of(second.joint))
            .collect();
        join(&bodies);
    }
    let mut numbers = vec![None; def.bodies.len()];
    let mut next = 0;
    (0..def.bodies.len())
        .map(|b| {
            let first = find(&mut leader, b);
            jointed[b].then(|| {
                *numbers[first].get_or_insert_with(|| {
                    next += 1;
                    next - 1
                })
            })
        })
        .collect()
}

/// A joint frame with orthonormal axes: z along the axis, x towards the reference.
fn frame(def: JointFrame) -> Frame {
    let z = def.axis.normalize();
    let x = def.reference.reject_from_normalized(z).normalize();
    let axes = DMat3::from_cols(x, z.cross(x), z);
    Frame {
        anchor: def.anchor,
        orientation: DQuat::from_mat3(&axes).normalize(),
    }
}
