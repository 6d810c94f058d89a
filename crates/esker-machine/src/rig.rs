//! Machines alone: bodies with joints and drives, stepped as a world does, without contacts.
//!
//! For what needs no grains: mechanisms whose motion is known ([`crate::mechanisms`]), tests, and
//! studies of a machine before it digs.

use crate::{
    Assembly, BodyPose, BodyProperties, Coordinate, DriveDef, DriveKind, GearDef, JointCoordinate,
    JointDef, JointKind, MachineDef, MachineError, Machines, Signal, Spatial, Substep,
};
use glam::{DMat3, DQuat, DVec3};

/// Gravity where a plan has some, m/s².
pub const GRAVITY: DVec3 = DVec3::new(0.0, 0.0, -9.81);

/// What a [`Rig`] is made of.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Mass properties of the bodies.
    pub bodies: Vec<BodyProperties>,
    /// Their poses at the start.
    pub poses: Vec<BodyPose>,
    /// Joints between them.
    pub joints: Vec<JointDef>,
    /// Gears between joints.
    pub gears: Vec<GearDef>,
    /// Drives of joints.
    pub drives: Vec<DriveDef>,
    /// Gravity, m/s².
    pub gravity: DVec3,
}

/// A machine with the state of its bodies.
#[derive(Debug)]
pub struct Rig {
    /// What it is made of.
    pub plan: Plan,
    /// Its equations.
    pub machines: Machines,
    /// Present poses.
    pub poses: Vec<BodyPose>,
    /// Present velocities.
    pub velocities: Vec<Spatial>,
    /// Forces on bodies beside gravity.
    pub forces: Vec<Spatial>,
    /// Steps done.
    pub steps: u64,
    /// Length of a step, s.
    pub step: f64,
}

impl Plan {
    /// Adds a box of this mass and size; returns its index.
    pub fn add_box(&mut self, mass: f64, size: DVec3, pose: BodyPose) -> usize {
        let s = size * size;
        let moments = DVec3::new(s.y + s.z, s.x + s.z, s.x + s.y) * (mass / 12.0);
        self.add(mass, moments, pose)
    }

    /// Adds a body of this mass and these principal moments of inertia; returns its index.
    pub fn add(&mut self, mass: f64, moments: DVec3, pose: BodyPose) -> usize {
        self.bodies.push(BodyProperties::new(mass, moments));
        self.poses.push(pose);
        self.bodies.len() - 1
    }

    /// Adds a rod between two points, 0.1 m wide.
    pub fn add_rod(&mut self, mass: f64, from: DVec3, to: DVec3) -> usize {
        let along = to - from;
        let pose = BodyPose {
            position: 0.5 * (from + to),
            orientation: DQuat::from_rotation_arc(DVec3::X, along.normalize()),
        };
        self.add_box(mass, DVec3::new(along.length(), 0.1, 0.1), pose)
    }

    /// Adds two rods of 1 m, the first from the origin along x and the second from there to a
    /// point, on hinges at their beginnings: about y, and about this axis. Returns their indices.
    pub fn add_arm(&mut self, masses: [f64; 2], tip: DVec3, elbow: DVec3) -> [usize; 2] {
        let first = self.add_rod(masses[0], DVec3::ZERO, DVec3::X);
        let second = self.add_rod(masses[1], DVec3::X, tip);
        let revolute = JointKind::Revolute;
        self.join(revolute, [None, Some(first)], DVec3::ZERO, DVec3::Y);
        self.join(revolute, [Some(first), Some(second)], DVec3::X, elbow);
        [first, second]
    }

    /// Adds a joint at a place in the world; returns its index.
    pub fn join(
        &mut self,
        kind: JointKind,
        bodies: [Option<usize>; 2],
        anchor: DVec3,
        axis: DVec3,
    ) -> usize {
        let name = format!("joint {}", self.joints.len());
        let joint = JointDef::at(name, kind, bodies, (anchor, axis), &self.poses);
        self.joints.push(joint);
        self.joints.len() - 1
    }

    /// Adds a drive of a joint's coordinate; returns its index.
    pub fn drive(
        &mut self,
        joint: usize,
        coordinate: Coordinate,
        kind: DriveKind,
        signal: Signal,
        force_limit: Option<f64>,
    ) -> usize {
        self.drives.push(DriveDef {
            name: format!("drive {}", self.drives.len()),
            coordinate: JointCoordinate { joint, coordinate },
            kind,
            signal,
            force_limit,
        });
        self.drives.len() - 1
    }

    /// Adds a motor that keeps a velocity with at most a force; returns its index.
    pub fn motor(&mut self, joint: usize, coordinate: Coordinate, rate: f64, limit: f64) -> usize {
        let signal = Signal::Constant(rate);
        let kind = DriveKind::VelocityMotor;
        self.drive(joint, coordinate, kind, signal, Some(limit))
    }

    /// A rig at rest, with steps of this length (s).
    pub fn build(&self, step: f64) -> Result<Rig, MachineError> {
        let mut poses = self.poses.clone();
        let def = MachineDef {
            bodies: &self.bodies,
            joints: &self.joints,
            gears: &self.gears,
            drives: &self.drives,
        };
        Ok(Rig {
            machines: Machines::new(&def, &mut poses, Assembly::default())?,
            poses,
            velocities: vec![Spatial::ZERO; self.bodies.len()],
            forces: vec![Spatial::ZERO; self.bodies.len()],
            plan: self.clone(),
            steps: 0,
            step,
        })
    }
}

impl Rig {
    /// Time since the start, s.
    pub fn time(&self) -> f64 {
        self.steps as f64 * self.step
    }

    /// One step.
    pub fn step(&mut self) {
        let forces: Vec<Spatial> = (0..self.poses.len())
            .map(|b| {
                let weight = self.plan.gravity * self.plan.bodies[b].mass;
                self.forces[b] + Spatial::new(weight, DVec3::ZERO)
            })
            .collect();
        let time = self.time();
        self.machines.begin_substep(&Substep {
            length: self.step,
            time,
            poses: &self.poses,
            velocities: &self.velocities,
            forces: &forces,
        });
        let none = vec![Spatial::ZERO; self.poses.len()];
        self.machines.solve(&none, &mut self.velocities);
        for (pose, velocity) in self.poses.iter_mut().zip(&self.velocities) {
            *pose = pose.moved(*velocity, self.step);
        }
        self.machines.end_substep(&self.poses);
        self.steps += 1;
    }

    /// Steps up to a time, looking at the rig after every step.
    pub fn run(&mut self, until: f64, mut look: impl FnMut(&Rig)) {
        let last = (until / self.step).round() as u64;
        while self.steps < last {
            self.step();
            look(self);
        }
    }

    /// Angle of a joint, rad; NaN where its kind has none.
    pub fn angle(&self, joint: usize) -> f64 {
        self.coordinate(joint, Coordinate::Angle)
    }

    /// Slide of a joint, m; NaN where its kind has none.
    pub fn slide(&self, joint: usize) -> f64 {
        self.coordinate(joint, Coordinate::Slide)
    }

    fn coordinate(&self, joint: usize, coordinate: Coordinate) -> f64 {
        let at = JointCoordinate { joint, coordinate };
        self.machines.coordinate(at).unwrap_or(f64::NAN)
    }

    /// Inertia of a body about its centre of mass in world axes, kg m².
    pub fn inertia(&self, body: usize) -> DMat3 {
        let axes = DMat3::from_quat(self.poses[body].orientation);
        axes * DMat3::from_diagonal(self.plan.bodies[body].moments) * axes.transpose()
    }

    /// Kinetic energy, J.
    pub fn kinetic_energy(&self) -> f64 {
        let bodies = (0..self.poses.len()).map(|b| {
            let Spatial { linear, angular } = self.velocities[b];
            let mass = self.plan.bodies[b].mass;
            0.5 * (mass * linear.length_squared() + angular.dot(self.inertia(b) * angular))
        });
        bodies.sum()
    }

    /// Kinetic energy and that of gravity, J.
    pub fn energy(&self) -> f64 {
        let potential = (0..self.poses.len())
            .map(|b| -self.plan.bodies[b].mass * self.plan.gravity.dot(self.poses[b].position));
        self.kinetic_energy() + potential.sum::<f64>()
    }

    /// Linear momentum, N s.
    pub fn momentum(&self) -> DVec3 {
        let bodies = self.velocities.iter().zip(&self.plan.bodies);
        bodies.map(|(v, body)| v.linear * body.mass).sum()
    }

    /// Angular momentum about the origin, N m s.
    pub fn angular_momentum(&self) -> DVec3 {
        let bodies = (0..self.poses.len()).map(|b| {
            let v = self.velocities[b];
            let orbital = self.poses[b].position.cross(v.linear) * self.plan.bodies[b].mass;
            orbital + self.inertia(b) * v.angular
        });
        bodies.sum()
    }
}
