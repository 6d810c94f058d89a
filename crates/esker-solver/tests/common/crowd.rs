//! A crowd of bodies in contact that back ends are held against one another on.

use esker_contact::{
    BodyState, Contact, ContactState, Damping, Form, GeneralContact, Impulse, Stabilisation,
    cross_matrix,
};
use esker_parallel::Team;
use esker_solver::backend::{SubstepProblem, SubstepRun};
use esker_solver::packed::{Law, Row};
use esker_solver::plan::{ContactDescriptor, FIXED, SweepPlan};
use esker_solver::substep::{Acceleration, Accelerations};
use esker_solver::sweep::TangentCompliance;
use glam::{DMat3, DVec3};

pub const STEP: f64 = 2e-4;
pub const SUBSTEPS: usize = 25;
pub const COMPLIANCE: TangentCompliance = TangentCompliance {
    friction: 1e-5,
    rolling: 1e-3,
};
pub const GRAVITY: DVec3 = DVec3::new(0.3, 0.0, -9.81);

/// A small generator, so that the test needs no other.
pub struct Noise(pub u64);

impl Noise {
    pub fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn vector(&mut self, size: f64) -> DVec3 {
        DVec3::new(self.next() - 0.5, self.next() - 0.5, self.next() - 0.5) * (2.0 * size)
    }
}

/// More than the speed at which any pair of the crowd closes, m/s.
pub const CLOSING: f64 = 0.5;

/// A box of bodies in contact, some pairs apart, some about to collide, in
/// the order of a plan. Some contacts are of the general form.
pub struct Crowd {
    pub bodies: Vec<BodyState>,
    pub movable: usize,
    /// Beside gravity, of the movable bodies but for the first.
    pub accelerations: Vec<Acceleration>,
    pub rows: Vec<Row>,
    pub general: Vec<GeneralContact>,
    pub laws: [Law; 6],
    pub plan: SweepPlan,
}

/// Body from which on a crowd is accelerated.
pub const FIRST_ACCELERATED: usize = 5;

impl Crowd {
    /// Accelerations of its bodies.
    pub fn accelerations(&self) -> Accelerations<'_> {
        Accelerations {
            first: FIRST_ACCELERATED,
            list: &self.accelerations,
        }
    }

    /// Its contacts in the order of a plan of them.
    pub fn problem<'a>(&'a self, plan: &'a SweepPlan) -> SubstepProblem<'a> {
        SubstepProblem {
            plan,
            laws: &self.laws,
            compliance: COMPLIANCE,
            general: &self.general,
        }
    }

    /// A step of it under gravity, with sums for these contacts.
    pub fn run<'a>(&'a self, tracked: &'a [u32]) -> SubstepRun<'a> {
        SubstepRun {
            substeps: SUBSTEPS,
            step: STEP,
            gravity: GRAVITY,
            accelerations: self.accelerations(),
            tracked,
            movable: self.movable,
            longest_sleep: f64::INFINITY,
        }
    }
}

pub fn crowd(side: usize, rolls: bool) -> Crowd {
    crowd_with_locks(side, rolls, true)
}

/// A crowd in which bodies of some contacts of the general form are locked along axes.
pub fn crowd_with_locks(side: usize, rolls: bool, locks: bool) -> Crowd {
    let mut noise = Noise(7);
    let d = 0.01;
    let mass = 2500.0 * std::f64::consts::PI / 6.0 * d * d * d;
    let mut centres = Vec::new();
    let mut bodies = Vec::new();
    for k in 0..side * side * side {
        let (x, y, z) = (k % side, k / side % side, k / side / side);
        let cell = DVec3::new(x as f64, y as f64, z as f64);
        centres.push((cell * 0.99 + noise.vector(0.03)) * d);
        bodies.push(BodyState {
            velocity: noise.vector(0.05),
            inverse_mass: 1.0 / mass,
            angular_velocity: noise.vector(3.0),
            inverse_inertia: 2.5 / (mass * d * d / 4.0),
        });
    }
    let movable = bodies.len();
    let stabilisation = [true, false].map(|hertz| Stabilisation {
        step: STEP,
        whole_step: STEP * SUBSTEPS as f64,
        hertz,
        damping: Damping::of_restitution(0.3, hertz),
        damping_steps: 2.0,
        cap: 1.0,
        restitution: 0.3,
        impact_speed: 0.02,
    });
    // Every law once for contacts with frozen normals, once for those that follow, and
    // once for contacts of the general form.
    let laws = [0, 1, 2, 3, 4, 5].map(|k| {
        let stabilisation = &stabilisation[k % 2];
        Law {
            friction: 0.5 - 0.2 * (k % 2) as f64,
            rolls,
            bias_rate: stabilisation.bias_rate(),
            hertz: stabilisation.hertz,
            restitution: stabilisation.restitution,
            impact_speed: 0.02,
            follows: k / 2 == 1,
            general: k / 2 == 2,
            locks: locks && k == 5,
        }
    });
    let mut rows = Vec::new();
    let mut general = Vec::new();
    let mut descriptors = Vec::new();
    let mut add = |a: usize, b: Option<usize>, noise: &mut Noise, bodies: &mut Vec<BodyState>| {
        let other = b.map_or(centres[a] - DVec3::Z * d, |b| centres[b]);
        let overlap = d - centres[a].distance(other);
        let normal = (other - centres[a]).normalize();
        let follows = b.is_some() && noise.next() < 0.5;
        let kind = usize::from(noise.next() < 0.3);
        let is_general = noise.next() < 0.3;
        let law = match (is_general, follows) {
            (true, _) => kind + 4,
            (false, true) => kind + 2,
            (false, false) => kind,
        };
        let index = b.unwrap_or_else(|| {
            bodies.push(BodyState {
                velocity: DVec3::X * 0.02,
                ..Default::default()
            });
            bodies.len() - 1
        });
        let stiffness = [2e7, 3e4][kind];
        let loaded = overlap > 0.0 && noise.next() < 0.8;
        let tangent = normal.cross(noise.vector(1.0));
        let form = if is_general {
            let mut bent = |centre: DVec3| {
                let skew =
                    DMat3::from_cols(noise.vector(0.2), noise.vector(0.2), noise.vector(0.2));
                let root = DMat3::IDENTITY + skew + skew.transpose();
                let point = 0.5 * (centres[a] + other) + noise.vector(0.1 * d);
                (root * cross_matrix(point - centre), root)
            };
            let (own, theirs) = (bent(centres[a]), bent(other));
            general.push(GeneralContact {
                angular: [own.0, theirs.0],
                angular_velocity: [own.1, theirs.1],
                rate: noise.vector(2.0),
                free: if locks && kind == 1 {
                    [DVec3::new(1.0, 0.0, 1.0), DVec3::new(0.0, 1.0, 1.0)]
                } else {
                    [DVec3::ONE; 2]
                },
            });
            Form::General(general.len() as u32 - 1)
        } else {
            Form::Radial
        };
        descriptors.push(ContactDescriptor {
            point: 0.5 * (centres[a] + other),
            arms: [0.5 * d; 2],
            bodies: [a as u32, b.map_or(FIXED, |b| b as u32)],
            name: [a as u64, index as u64, 0],
            law: law as u16,
            class: u8::from(overlap <= 0.0),
        });
        let apart = bodies[index].velocity - bodies[a].velocity;
        let geometry = Contact {
            form,
            ..Contact::frictionless([a as u32, index as u32], normal, [0.5 * d; 2])
        };
        let mobility = geometry
            .rows(&general, 0.0)
            .normal_mobility(&bodies[a], &bodies[index]);
        let spring = stabilisation[kind].law().spring(ContactState {
            overlap,
            stiffness,
            min_overlap: f64::from(1e-7_f32),
            mobility,
            normal_velocity: normal.dot(apart),
            closing_speed: 0.0,
        });
        rows.push(Row {
            contact: Contact {
                bodies: [a as u32, index as u32],
                normal,
                arms: [
                    0.5 * (d - overlap),
                    if b.is_some() {
                        0.5 * (d - overlap)
                    } else {
                        0.0
                    },
                ],
                form,
                friction: laws[law].friction,
                rolling: if rolls { 0.02 * d } else { 0.0 },
                twisting: if rolls { 0.01 * d } else { 0.0 },
                compliance: spring.row(0.0, STEP).1,
                target: spring.row(0.0, STEP).0,
            },
            spring,
            closing: if b.is_some() { CLOSING } else { f64::INFINITY },
            impulse: if loaded {
                Impulse {
                    normal: mass * STEP * (1.0 + noise.next()),
                    friction: tangent * (mass * STEP),
                    rolling: tangent * (mass * STEP * d * f64::from(u8::from(rolls))),
                    twisting: 0.0,
                }
            } else {
                Impulse::default()
            },
        });
    };
    for a in 0..movable {
        let (x, y, z) = (a % side, a / side % side, a / side / side);
        if x + 1 < side {
            add(a, Some(a + 1), &mut noise, &mut bodies);
        }
        if y + 1 < side {
            add(a, Some(a + side), &mut noise, &mut bodies);
        }
        if z + 1 < side {
            add(a, Some(a + side * side), &mut noise, &mut bodies);
        }
        if z == 0 {
            add(a, None, &mut noise, &mut bodies);
        }
    }
    let mut plan = SweepPlan::default();
    plan.build(&mut Team::new(1), &descriptors[..], (movable, 3.5 * d));
    let rows = plan.order.iter().map(|&i| rows[i as usize]).collect();
    let accelerations = (FIRST_ACCELERATED..movable).map(|_| Acceleration {
        linear: noise.vector(3.0),
        angular: noise.vector(30.0),
    });
    Crowd {
        bodies,
        movable,
        accelerations: accelerations.collect(),
        rows,
        general,
        laws,
        plan,
    }
}
