//! A machine with its bodies, stepped as a world does, without contacts.
#![allow(dead_code)]

use esker_machine::{
    Assembly, BodyPose, BodyProperties, Coordinate, DriveDef, DriveKind, GearDef, JointCoordinate,
    JointDef, JointKind, MachineDef, MachineError, Machines, Signal, Spatial, Substep,
};
use glam::{DMat3, DQuat, DVec3};

pub const GRAVITY: DVec3 = DVec3::new(0.0, 0.0, -9.81);

/// What a [`Rig`] is made of.
#[derive(Clone, Default)]
pub struct Plan {
    pub bodies: Vec<BodyProperties>,
    pub poses: Vec<BodyPose>,
    pub joints: Vec<JointDef>,
    pub gears: Vec<GearDef>,
    pub drives: Vec<DriveDef>,
    pub gravity: DVec3,
}

pub struct Rig {
    pub plan: Plan,
    pub machines: Machines,
    pub poses: Vec<BodyPose>,
    pub velocities: Vec<Spatial>,
    /// Forces on bodies beside gravity.
    pub forces: Vec<Spatial>,
    pub steps: u64,
    pub step: f64,
}

impl Plan {
    /// Adds a box of this mass and size; returns its index.
    pub fn add_box(&mut self, mass: f64, size: DVec3, pose: BodyPose) -> usize {
        let s = size * size;
        let moments = DVec3::new(s.y + s.z, s.x + s.z, s.x + s.y) * (mass / 12.0);
        self.add(mass, moments, pose)
    }

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

    pub fn try_build(&self, step: f64) -> Result<Rig, MachineError> {
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

    pub fn build(&self, step: f64) -> Rig {
        self.try_build(step).unwrap()
    }
}

impl Rig {
    pub fn time(&self) -> f64 {
        self.steps as f64 * self.step
    }

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

    pub fn angle(&self, joint: usize) -> f64 {
        self.coordinate(joint, Coordinate::Angle)
    }

    pub fn slide(&self, joint: usize) -> f64 {
        self.coordinate(joint, Coordinate::Slide)
    }

    fn coordinate(&self, joint: usize, coordinate: Coordinate) -> f64 {
        let at = JointCoordinate { joint, coordinate };
        self.machines.coordinate(at).unwrap()
    }

    /// Rate of a coordinate's joint: relative angular velocity about the axis of the first body.
    pub fn inertia(&self, body: usize) -> DMat3 {
        let axes = DMat3::from_quat(self.poses[body].orientation);
        axes * DMat3::from_diagonal(self.plan.bodies[body].moments) * axes.transpose()
    }

    pub fn kinetic_energy(&self) -> f64 {
        let bodies = (0..self.poses.len()).map(|b| {
            let Spatial { linear, angular } = self.velocities[b];
            let mass = self.plan.bodies[b].mass;
            0.5 * (mass * linear.length_squared() + angular.dot(self.inertia(b) * angular))
        });
        bodies.sum()
    }

    pub fn energy(&self) -> f64 {
        let potential = (0..self.poses.len())
            .map(|b| -self.plan.bodies[b].mass * self.plan.gravity.dot(self.poses[b].position));
        self.kinetic_energy() + potential.sum::<f64>()
    }

    pub fn momentum(&self) -> DVec3 {
        let bodies = self.velocities.iter().zip(&self.plan.bodies);
        bodies.map(|(v, body)| v.linear * body.mass).sum()
    }

    /// About the origin.
    pub fn angular_momentum(&self) -> DVec3 {
        let bodies = (0..self.poses.len()).map(|b| {
            let v = self.velocities[b];
            let orbital = self.poses[b].position.cross(v.linear) * self.plan.bodies[b].mass;
            orbital + self.inertia(b) * v.angular
        });
        bodies.sum()
    }
}

/// The value lies within a share of what is expected.
pub fn assert_close(what: &str, value: f64, expected: f64, share: f64) {
    assert!(
        (value / expected - 1.0).abs() <= share,
        "{what}: {value:.6e}, expected {expected:.6e} within {share}"
    );
}
