//! Mechanisms whose motion is known: references for tests and experiments.

use std::f64::consts::TAU;

use glam::{DQuat, DVec3};

use crate::rig::{GRAVITY, Plan};
use crate::{
    BodyPose, Coordinate, DriveKind, GearDef, JointCoordinate, JointKind, Signal, Spatial,
};

/// Torque or force of motors that no mechanism here brings to its limit.
const STRONG: f64 = 1e6;

/// A rod of 1 kg and 1 m, 0.1 m wide, that swings about its end, released horizontally.
pub fn pendulum() -> Plan {
    let mut plan = Plan {
        gravity: GRAVITY,
        ..Plan::default()
    };
    let rod = plan.add_rod(1.0, DVec3::ZERO, DVec3::X);
    let bodies = [None, Some(rod)];
    plan.join(JointKind::Revolute, bodies, DVec3::ZERO, DVec3::Y);
    plan
}

/// Angle of [`pendulum`] above the horizontal after 2 s, rad.
pub const PENDULUM_AFTER_TWO_SECONDS: f64 = -0.030_295_538;

/// Two such rods one on another, released horizontally; the second body ends in the tip.
pub fn double_pendulum() -> Plan {
    let mut plan = Plan {
        gravity: GRAVITY,
        ..Plan::default()
    };
    plan.add_arm([1.0, 1.0], 2.0 * DVec3::X, DVec3::Y);
    plan
}

/// Where the tip of [`double_pendulum`] is after 1 s, m.
pub const DOUBLE_PENDULUM_TIP: DVec3 = DVec3::new(-1.66473, 0.0, -1.04056);

/// A crank that moves a slider through a rod; all bodies have 1 kg.
#[derive(Clone, Copy, Debug)]
pub struct SliderCrank {
    /// Length of the crank, m.
    pub crank: f64,
    /// Length of the rod, m.
    pub rod: f64,
    /// Angular velocity of the crank, rad/s.
    pub rate: f64,
}

impl SliderCrank {
    /// Index of the joint that guides the slider.
    pub const GUIDE: usize = 3;
    /// Index of the slider.
    pub const SLIDER: usize = 2;

    /// The mechanism, stretched out along x.
    pub fn plan(&self) -> Plan {
        let mut plan = Plan::default();
        let (pin, end) = (DVec3::X * self.crank, DVec3::X * (self.crank + self.rod));
        let crank = plan.add_rod(1.0, DVec3::ZERO, pin);
        let rod = plan.add_rod(1.0, pin, end);
        let pose = BodyPose {
            position: end,
            orientation: DQuat::IDENTITY,
        };
        let slider = plan.add_box(1.0, DVec3::splat(0.1), pose);
        let revolute = JointKind::Revolute;
        let pivot = plan.join(revolute, [None, Some(crank)], DVec3::ZERO, DVec3::Y);
        plan.join(revolute, [Some(crank), Some(rod)], pin, DVec3::Y);
        plan.join(revolute, [Some(rod), Some(slider)], end, DVec3::Y);
        plan.join(JointKind::Prismatic, [None, Some(slider)], end, DVec3::X);
        plan.motor(pivot, Coordinate::Angle, self.rate, STRONG);
        plan
    }

    /// Slide of the guide at a time (s), m.
    pub fn slide(&self, time: f64) -> f64 {
        let angle = self.rate * time;
        let height = self.crank * angle.sin();
        self.crank * (angle.cos() - 1.0) + (self.rod.powi(2) - height.powi(2)).sqrt() - self.rod
    }

    /// Largest acceleration of the slider, where crank and rod are stretched out, m/s².
    pub fn peak_acceleration(&self) -> f64 {
        self.crank * self.rate.powi(2) * (1.0 + self.crank / self.rod)
    }
}

/// Four revolutes in a plane, of which the first turns with 2 rad/s: three rows too many.
#[derive(Clone, Copy, Debug)]
pub struct FourBar {
    pins: [DVec3; 4],
    lengths: [f64; 3],
}

impl FourBar {
    /// Angular velocity of the first bar, rad/s.
    pub const RATE: f64 = 2.0;

    /// The mechanism.
    pub fn new() -> Self {
        let pins = [[0.0, 0.0], [0.0, 0.3], [0.8, 0.7], [1.0, 0.0]];
        let pins = pins.map(|[x, z]| DVec3::new(x, 0.0, z));
        let lengths = [0, 1, 2].map(|i| pins[i].distance(pins[i + 1]));
        FourBar { pins, lengths }
    }

    /// Its bodies and joints; the end of the second body is the third pin.
    pub fn plan(&self) -> Plan {
        let mut plan = Plan::default();
        let bars = [0, 1, 2].map(|i| plan.add_rod(1.0, self.pins[i], self.pins[i + 1]));
        let sides = [
            [None, Some(bars[0])],
            [Some(bars[0]), Some(bars[1])],
            [Some(bars[1]), Some(bars[2])],
            [Some(bars[2]), None],
        ];
        for (bodies, pin) in sides.into_iter().zip(self.pins) {
            plan.join(JointKind::Revolute, bodies, pin, DVec3::Y);
        }
        plan.motor(0, Coordinate::Angle, Self::RATE, STRONG);
        plan
    }

    /// The third pin in the frame of the second body.
    pub fn pin_in_body(&self) -> DVec3 {
        DVec3::X * (0.5 * self.lengths[1])
    }

    /// Where the third pin is at a time (s): circles about the second and fourth cross there.
    pub fn third_pin(&self, time: f64) -> DVec3 {
        let second = DQuat::from_rotation_y(Self::RATE * time) * self.pins[1];
        let base = self.pins[3] - second;
        let d = base.length();
        let [_, own, other] = self.lengths;
        let along = (d * d + own.powi(2) - other.powi(2)) / (2.0 * d);
        let up = (own.powi(2) - along * along).sqrt();
        second + base * (along / d) + DVec3::new(-base.z, 0.0, base.x) * (up / d)
    }
}

impl Default for FourBar {
    fn default() -> Self {
        FourBar::new()
    }
}

/// A body of 2 kg that slides along x.
pub fn slider() -> Plan {
    let mut plan = Plan::default();
    let body = plan.add(2.0, DVec3::ONE, BodyPose::IDENTITY);
    let bodies = [None, Some(body)];
    plan.join(JointKind::Prismatic, bodies, DVec3::ZERO, DVec3::X);
    plan
}

/// Where [`slider`] is at a time (s) after a servo of this stiffness and damping was set to 1 m:
/// `x = 1 − e^(−d t) (cos w t + d/w sin w t)`.
pub fn servo_response([stiffness, damping]: [f64; 2], time: f64) -> f64 {
    let mass = 2.0;
    let d = damping / (2.0 * mass);
    let w = (stiffness / mass - d * d).sqrt();
    1.0 - (-d * time).exp() * ((w * time).cos() + d / w * (w * time).sin())
}

/// Three sliders one on another, of 5, 2 and 1 kg, each with a motor against the one below; the
/// first (4 N) and the last (3 N) are too weak for what they are set to.
pub fn saturated_motors() -> Plan {
    let mut plan = Plan::default();
    let mut below = None;
    for (mass, limit, rate) in [(5.0, 4.0, 1.0), (2.0, 1e3, 0.5), (1.0, 3.0, -2.0)] {
        let body = plan.add(mass, DVec3::ONE, BodyPose::IDENTITY);
        let bodies = [below, Some(body)];
        let joint = plan.join(JointKind::Prismatic, bodies, DVec3::ZERO, DVec3::X);
        plan.motor(joint, Coordinate::Slide, rate, limit);
        below = Some(body);
    }
    plan
}

/// Velocities of [`saturated_motors`] at a time (s) while two motors are at their limits, m/s: the
/// third is pulled back by 3 N, and the first two, which the second motor keeps apart by 0.5 m/s,
/// are pushed by 4 N and 3 N.
pub fn saturated_velocities(time: f64) -> [f64; 3] {
    let (force, mass) = (4.0 + 3.0, 5.0 + 2.0);
    let common = force / mass * time;
    [
        common - 0.5 * 2.0 / 7.0,
        common + 0.5 * 5.0 / 7.0,
        -3.0 * time,
    ]
}

/// Two rotors on a gear `x₁ = i x₂`, the second driven by a torque.
#[derive(Clone, Copy, Debug)]
pub struct GearedRotors {
    /// Ratio i.
    pub ratio: f64,
    /// Moments of inertia, kg m².
    pub inertias: [f64; 2],
    /// Torque, N m.
    pub torque: f64,
}

impl GearedRotors {
    /// The mechanism.
    pub fn plan(&self) -> Plan {
        let mut plan = Plan::default();
        for inertia in self.inertias {
            let rotor = plan.add(1.0, DVec3::splat(inertia), BodyPose::IDENTITY);
            let bodies = [None, Some(rotor)];
            plan.join(JointKind::Revolute, bodies, DVec3::ZERO, DVec3::Z);
        }
        plan.gears.push(GearDef {
            name: "gear".into(),
            coordinates: [0, 1].map(|joint| JointCoordinate {
                joint,
                coordinate: Coordinate::Angle,
            }),
            ratio: self.ratio,
        });
        let signal = Signal::Constant(self.torque);
        plan.drive(1, Coordinate::Angle, DriveKind::Force, signal, None);
        plan
    }

    /// Angular acceleration of the second rotor, rad/s²: as one with the inertia `I₂ + i² I₁`.
    pub fn acceleration(&self) -> f64 {
        let [first, second] = self.inertias;
        self.torque / (second + self.ratio.powi(2) * first)
    }
}

/// A body of 1 kg on a ball joint at its tip, 0.1 m from its centre, that spins about its tilted
/// axis and precesses.
#[derive(Clone, Copy, Debug)]
pub struct HeavyTop {
    /// Tilt of its axis, rad.
    pub tilt: f64,
    /// Spin about it, rad/s.
    pub spin: f64,
}

impl HeavyTop {
    const LEVER: f64 = 0.1;
    const MOMENTS: DVec3 = DVec3::new(6e-4, 6e-4, 1e-3);

    /// The mechanism.
    pub fn plan(&self) -> Plan {
        let mut plan = Plan {
            gravity: GRAVITY,
            ..Plan::default()
        };
        let top = plan.add(1.0, Self::MOMENTS, self.pose());
        plan.join(JointKind::Ball, [None, Some(top)], DVec3::ZERO, DVec3::Z);
        plan
    }

    fn pose(&self) -> BodyPose {
        let orientation = DQuat::from_rotation_y(self.tilt);
        BodyPose {
            position: orientation * DVec3::Z * Self::LEVER,
            orientation,
        }
    }

    /// Rate of its steady precession, rad/s: `I cos(tilt) Ω² − I₃ ω₃ Ω + m g l = 0` about the tip.
    pub fn precession(&self) -> f64 {
        let a = (Self::MOMENTS.x + Self::LEVER.powi(2)) * self.tilt.cos();
        let b = Self::MOMENTS.z * self.spin;
        (b - (b * b - 4.0 * a * GRAVITY.length() * Self::LEVER).sqrt()) / (2.0 * a)
    }

    /// Velocity with which it precesses steadily.
    pub fn velocity(&self) -> Spatial {
        let pose = self.pose();
        let axis = pose.orientation * DVec3::Z;
        let rate = self.precession();
        let angular = DVec3::Z * rate + axis * (self.spin - rate * self.tilt.cos());
        Spatial::new(angular.cross(pose.position), angular)
    }
}

/// A body of 1 kg with these moments on a ball joint at its centre of mass: no torque acts on it.
pub fn torque_free_top(moments: DVec3) -> Plan {
    let mut plan = Plan::default();
    let top = plan.add(1.0, moments, BodyPose::IDENTITY);
    plan.join(JointKind::Ball, [None, Some(top)], DVec3::ZERO, DVec3::Z);
    plan
}

/// A nut that runs down a vertical screw under gravity.
#[derive(Clone, Copy, Debug)]
pub struct ScrewNut {
    /// Advance per revolution, m.
    pub pitch: f64,
    /// Mass, kg.
    pub mass: f64,
    /// Moment of inertia about the screw, kg m².
    pub inertia: f64,
}

impl ScrewNut {
    /// The mechanism.
    pub fn plan(&self) -> Plan {
        let mut plan = Plan {
            gravity: GRAVITY,
            ..Plan::default()
        };
        let moments = DVec3::splat(self.inertia);
        let nut = plan.add(self.mass, moments, BodyPose::IDENTITY);
        let pitch = self.pitch;
        plan.join(
            JointKind::Screw { pitch },
            [None, Some(nut)],
            DVec3::ZERO,
            DVec3::Z,
        );
        plan
    }

    /// Its acceleration upwards, m/s²: `−g m/(m + I (2π/p)²)`.
    pub fn acceleration(&self) -> f64 {
        let per_metre = TAU / self.pitch;
        GRAVITY.z * self.mass / (self.mass + self.inertia * per_metre * per_metre)
    }
}
