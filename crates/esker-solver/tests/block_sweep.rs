//! The vector sweep against the scalar reference, on every instruction set of
//! this processor and on several threads.

use esker_contact::{
    BodyState, Contact, ContactProblem, ContactState, Damping, EnergyLoss, Form, GeneralContact,
    Impulse, Stabilisation, cross_matrix,
};
use esker_parallel::Team;
use esker_solver::block_sweep::{BlockSweeper, SubstepRun, WholeStepProblem};
use esker_solver::lanes::Instructions;
use esker_solver::packed::{Law, Packing, Row, RowKind};
use esker_solver::plan::{ContactDescriptor, FIXED, SweepPlan};
use esker_solver::substep::{Acceleration, Accelerations, Impact, SubStepper, Substeps};
use esker_solver::sweep::{GaussSeidel, Stop, TangentCompliance};
use glam::{DMat3, DVec3};

const STEP: f64 = 2e-4;
const SUBSTEPS: usize = 25;
const COMPLIANCE: TangentCompliance = TangentCompliance {
    friction: 1e-5,
    rolling: 1e-3,
};
const GRAVITY: DVec3 = DVec3::new(0.3, 0.0, -9.81);

/// A small generator, so that the test needs no other.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn vector(&mut self, size: f64) -> DVec3 {
        DVec3::new(self.next() - 0.5, self.next() - 0.5, self.next() - 0.5) * (2.0 * size)
    }
}

/// More than the speed at which any pair of the crowd closes, m/s.
const CLOSING: f64 = 0.5;

/// A box of bodies in contact, some pairs apart, some about to collide, in
/// the order of a plan. Some contacts are of the general form.
struct Crowd {
    bodies: Vec<BodyState>,
    movable: usize,
    /// Beside gravity, of the movable bodies but for the first.
    accelerations: Vec<Acceleration>,
    rows: Vec<Row>,
    general: Vec<GeneralContact>,
    laws: [Law; 6],
    plan: SweepPlan,
}

/// Body from which on a crowd is accelerated.
const FIRST_ACCELERATED: usize = 5;

impl Crowd {
    fn accelerations(&self) -> Accelerations<'_> {
        Accelerations {
            first: FIRST_ACCELERATED,
            list: &self.accelerations,
        }
    }
}

fn crowd(side: usize, rolls: bool) -> Crowd {
    crowd_with_locks(side, rolls, true)
}

/// A crowd in which bodies of some contacts of the general form are locked along axes.
fn crowd_with_locks(side: usize, rolls: bool, locks: bool) -> Crowd {
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
                compliance: spring.compliance(),
                target: spring.target(0.0, STEP),
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

/// Bodies, impulses and number of impacts after a step.
type Outcome = (Vec<BodyState>, Vec<Impulse>, usize);

fn reference_substeps(crowd: &Crowd) -> (Outcome, f64) {
    let reference = reference_sums(crowd, GRAVITY, crowd.accelerations());
    (reference.outcome, reference.residual)
}

/// What the scalar substeps give.
struct Reference {
    outcome: Outcome,
    residual: f64,
    /// Impulses of every contact over the whole step.
    sums: Vec<Impulse>,
    /// Max speed of each body in any substep, m/s.
    fastest: Vec<f64>,
}

fn reference_sums(crowd: &Crowd, gravity: DVec3, accelerations: Accelerations<'_>) -> Reference {
    let mut contacts: Vec<Contact> = crowd.rows.iter().map(|r| r.contact).collect();
    let laws = crowd.plan.laws_of_contacts();
    let follows: Vec<bool> = laws.map(|law| crowd.laws[law as usize].follows).collect();
    let mut springs: Vec<_> = crowd.rows.iter().map(|r| r.spring).collect();
    let impact = Impact {
        restitution: crowd.laws[0].restitution,
        speed: crowd.laws[0].impact_speed,
    };
    let impacts = vec![impact; crowd.rows.len()];
    let mut impulses: Vec<_> = crowd.rows.iter().map(|r| r.impulse).collect();
    let mut bodies = crowd.bodies.clone();
    let mut substeps = Substeps {
        contacts: &mut contacts,
        general: &crowd.general,
        substeps: SUBSTEPS,
        follows: &follows,
        springs: &mut springs,
        impacts: &impacts,
        impulses: &mut impulses,
        bodies: &mut bodies,
        step: STEP,
        gravity,
        accelerations,
        compliance: COMPLIANCE,
    };
    let mut stepper = SubStepper::default();
    let mut fastest = vec![0.0_f64; substeps.bodies.len()];
    let mut watch = |bodies: &[BodyState]| {
        for (speed, body) in fastest.iter_mut().zip(bodies) {
            *speed = speed.max(body.velocity.length());
        }
    };
    watch(substeps.bodies);
    stepper.begin(&mut substeps);
    for k in 0..SUBSTEPS {
        stepper.substep(&mut substeps, k);
        watch(substeps.bodies);
    }
    let residual = stepper.residual(&substeps);
    stepper.finish(&mut substeps);
    Reference {
        outcome: (bodies, impulses, stepper.impact_count),
        residual,
        sums: stepper.impulse_sums,
        fastest,
    }
}

fn block_substeps(crowd: &Crowd, instructions: Instructions, threads: usize) -> (Outcome, f64) {
    block_substeps_with(crowd, instructions, threads, f64::INFINITY)
}

fn block_substeps_with(
    crowd: &Crowd,
    instructions: Instructions,
    threads: usize,
    longest_sleep: f64,
) -> (Outcome, f64) {
    let mut team = Team::new(threads);
    let mut sweeper = BlockSweeper::with_instructions(instructions);
    let mut bodies = crowd.bodies.clone();
    let packing = Packing {
        kind: RowKind::Substep,
        laws: &crowd.laws,
        compliance: COMPLIANCE,
        general: &crowd.general,
        time: 0.0,
    };
    sweeper
        .packed
        .pack(&mut team, &crowd.plan, packing, &bodies, |i| crowd.rows[i]);
    let run = SubstepRun {
        substeps: SUBSTEPS,
        step: STEP,
        gravity: GRAVITY,
        accelerations: crowd.accelerations(),
        tracked: &crowd.plan.fixed,
        movable: crowd.movable,
        compliance: COMPLIANCE,
        longest_sleep,
        general: &crowd.general,
    };
    let impacts = sweeper.substeps(&mut team, &crowd.plan, &mut bodies, run, None);
    let residual =
        sweeper.substep_residual(&mut team, &crowd.plan, &bodies, run, |i| crowd.rows[i]);
    sweeper.forget_impacts();
    let mut impulses = Vec::new();
    sweeper
        .packed
        .impulses(&mut team, &crowd.plan, &mut impulses);
    ((bodies, impulses, impacts), residual)
}

/// What walls were given over a step, and what contacts took out of the motion.
fn block_sums(crowd: &Crowd, threads: usize) -> (Vec<BodyState>, Vec<Impulse>, EnergyLoss) {
    let mut team = Team::new(threads);
    let mut sweeper = BlockSweeper::default();
    sweeper.measure_losses(true);
    let mut bodies = crowd.bodies.clone();
    let packing = Packing {
        kind: RowKind::Substep,
        laws: &crowd.laws,
        compliance: COMPLIANCE,
        general: &crowd.general,
        time: 0.0,
    };
    sweeper
        .packed
        .pack(&mut team, &crowd.plan, packing, &bodies, |i| crowd.rows[i]);
    let run = SubstepRun {
        substeps: SUBSTEPS,
        step: STEP,
        gravity: DVec3::ZERO,
        accelerations: Accelerations::default(),
        tracked: &crowd.plan.fixed,
        movable: crowd.movable,
        compliance: COMPLIANCE,
        longest_sleep: f64::INFINITY,
        general: &crowd.general,
    };
    sweeper.substeps(&mut team, &crowd.plan, &mut bodies, run, None);
    (bodies, sweeper.impulse_sums().to_vec(), sweeper.losses())
}

#[test]
fn sums_over_substeps_balance_momentum_and_energy_with_the_same_bits_on_any_thread_count() {
    for rolls in [false, true] {
        // Locked bodies are held by something that is not there.
        let crowd = crowd_with_locks(9, rolls, false);
        let (bodies, walls, loss) = block_sums(&crowd, 1);
        for threads in [2, 3, 7] {
            let other = block_sums(&crowd, threads);
            assert!(other == (bodies.clone(), walls.clone(), loss), "{threads}");
        }
        assert_eq!(walls.len(), crowd.plan.fixed.len());
        let sums = reference_sums(&crowd, DVec3::ZERO, Accelerations::default()).sums;
        let load = sums.iter().map(|p| p.normal).fold(0.0, f64::max);
        for (&i, sum) in crowd.plan.fixed.iter().zip(&walls) {
            let other = &sums[i as usize];
            assert!((sum.normal - other.normal).abs() < 1e-11 * load);
            assert!((sum.friction - other.friction).length() < 1e-11 * load);
            assert!((sum.rolling - other.rolling).length() < 1e-13 * load);
        }
        let movable = |bodies: &[BodyState]| bodies[..crowd.movable].to_vec();
        let (before, after) = (movable(&crowd.bodies), movable(&bodies));
        let momentum = |bodies: &[BodyState]| -> DVec3 {
            bodies.iter().map(|b| b.velocity / b.inverse_mass).sum()
        };
        let energy = |bodies: &[BodyState]| -> f64 {
            let linear = |b: &BodyState| b.velocity.length_squared() / b.inverse_mass;
            let angular = |b: &BodyState| b.angular_velocity.length_squared() / b.inverse_inertia;
            0.5 * bodies.iter().map(|b| linear(b) + angular(b)).sum::<f64>()
        };
        let mut given = DVec3::ZERO;
        let mut work = 0.0;
        for (&i, sum) in crowd.plan.fixed.iter().zip(&walls) {
            let contact = &crowd.rows[i as usize].contact;
            let impulse = contact.normal * sum.normal + sum.friction;
            given += impulse;
            work -= impulse.dot(crowd.bodies[contact.bodies[1] as usize].velocity);
        }
        assert!(given.length() > 0.0 && work.abs() > 0.0);
        let gained = momentum(&after) - momentum(&before);
        assert!((gained + given).length() < 1e-12 * given.length());
        // Impacts, friction and, where there is any, rolling resistance only lose.
        assert!(loss.impact > 0.0 && loss.friction > 0.0);
        assert_eq!(loss.rolling > 0.0, rolls);
        let balance = energy(&after) - energy(&before) + loss.total() - work;
        assert!(
            balance.abs() < 1e-12 * energy(&before),
            "{balance} of {loss:?}"
        );
    }
}

fn assert_close(a: &Outcome, b: &Outcome) {
    let speed = a.0.iter().map(|s| s.velocity.length()).fold(0.0, f64::max);
    let angular_velocity =
        a.0.iter()
            .map(|s| s.angular_velocity.length())
            .fold(0.0, f64::max);
    let load = a.1.iter().map(|p| p.normal).fold(0.0, f64::max);
    for (x, y) in a.0.iter().zip(&b.0) {
        assert!((x.velocity - y.velocity).length() < 1e-11 * speed);
        assert!((x.angular_velocity - y.angular_velocity).length() < 1e-11 * angular_velocity);
    }
    for (x, y) in a.1.iter().zip(&b.1) {
        assert!((x.normal - y.normal).abs() < 1e-11 * load);
        assert!((x.friction - y.friction).length() < 1e-11 * load);
        assert!((x.rolling - y.rolling).length() < 1e-13 * load);
        assert!((x.twisting - y.twisting).abs() < 1e-13 * load);
    }
    assert_eq!(a.2, b.2, "numbers of impacts differ");
}

#[test]
fn vector_substeps_equal_the_scalar_reference_to_rounding() {
    for rolls in [false, true] {
        let crowd = crowd(11, rolls);
        let (reference, residual) = reference_substeps(&crowd);
        assert!(reference.2 > 10, "the crowd has impacts");
        for instructions in Instructions::available() {
            let (outcome, other) = block_substeps(&crowd, instructions, 1);
            assert_close(&reference, &outcome);
            assert!((other / residual - 1.0).abs() < 1e-9, "{other} {residual}");
        }
    }
}

#[test]
fn groups_sleep_for_as_long_as_their_closing_speeds_allow() {
    let mut crowd = crowd(11, true);
    let Reference {
        outcome: reference,
        fastest,
        ..
    } = reference_sums(&crowd, GRAVITY, crowd.accelerations());
    let is_open = |row: &Row| row.spring.overlap < 0.0 && row.impulse.normal <= 0.0;
    // What the crowd declares is a bound for the speeds that came true, and every
    // pair may declare its own: groups then sleep for different times. Twice
    // the speeds at the ends of substeps leaves room for those within a sweep.
    let movable = crowd.movable as u32;
    for row in &mut crowd.rows {
        let [a, b] = row.contact.bodies;
        if b < movable {
            let speed = fastest[a as usize] + fastest[b as usize];
            assert!(speed < CLOSING, "a pair may close at {speed} m/s");
            row.closing = 2.0 * speed;
        }
    }
    let (own, _) = block_substeps(&crowd, Instructions::detect(), 2);
    assert_close(&reference, &own);
    let mut never = reference.clone();
    for closing in [f64::INFINITY, 10.0, CLOSING, 0.0] {
        for row in &mut crowd.rows {
            if row.contact.bodies[1] < movable {
                row.closing = closing;
            }
        }
        let (outcome, _) = block_substeps(&crowd, Instructions::detect(), 2);
        if closing > 0.0 {
            assert_close(&reference, &outcome);
        } else {
            never = outcome;
        }
    }
    // With speeds that promise that no gap ever closes, none does but in
    // groups with a wall and in those of the general form, which do not sleep.
    let closed = |outcome: &Outcome| {
        let grains = crowd.rows.iter().zip(&outcome.1);
        let grains = grains.filter(|(row, _)| {
            is_open(row) && row.closing == 0.0 && row.contact.form == Form::Radial
        });
        grains.filter(|(_, p)| p.normal > 0.0).count()
    };
    assert!(closed(&reference) > 100);
    assert!(closed(&never) < closed(&reference) / 10);
    // A look every other substep finds them nevertheless.
    let (watched, _) = block_substeps_with(&crowd, Instructions::detect(), 2, 2.0);
    assert!(10 * closed(&watched) > 9 * closed(&reference));
}

#[test]
fn substeps_give_the_same_bits_on_any_thread_count_and_instruction_set() {
    let crowd = crowd(12, true);
    let widest = Instructions::detect();
    let (reference, residual) = block_substeps(&crowd, widest, 1);
    for threads in [2, 3, 4, 7, 16] {
        let (outcome, other) = block_substeps(&crowd, widest, threads);
        assert!(reference == outcome, "{threads} threads");
        assert_eq!(residual.to_bits(), other.to_bits());
    }
    for instructions in Instructions::available() {
        let (outcome, _) = block_substeps(&crowd, instructions, 2);
        assert!(reference == outcome, "{instructions:?}");
    }
}

#[test]
fn vector_whole_step_sweeps_equal_the_scalar_reference() {
    for rolls in [false, true] {
        let crowd = crowd(9, rolls);
        let problem = ContactProblem {
            bodies: crowd.bodies.clone(),
            contacts: crowd.rows.iter().map(|r| r.contact).collect(),
            general: crowd.general.clone(),
            time: 0.5 * STEP,
            tangent_compliance: COMPLIANCE.friction,
            rolling_compliance: COMPLIANCE.rolling,
        };
        let mut impulses: Vec<_> = crowd.rows.iter().map(|r| r.impulse).collect();
        let mut bodies = Vec::new();
        let stop = Stop {
            min_sweeps: 0,
            sweeps: 30,
            tolerance: None,
        };
        let report = GaussSeidel::default().solve(&problem, &mut impulses, &mut bodies, stop);
        let reference = (bodies, impulses, 0);
        for (instructions, threads) in Instructions::available().into_iter().zip([1, 3, 2]) {
            let mut team = Team::new(threads);
            let mut sweeper = BlockSweeper::with_instructions(instructions);
            let mut impulses: Vec<_> = crowd.rows.iter().map(|r| r.impulse).collect();
            let mut bodies = Vec::new();
            let whole = WholeStepProblem {
                plan: &crowd.plan,
                laws: &crowd.laws,
                problem: &problem,
                stop,
            };
            let other = sweeper.solve(&mut team, whole, None, &mut impulses, &mut bodies);
            assert!((other.residual / report.residual - 1.0).abs() < 1e-9);
            assert_close(&reference, &(bodies, impulses, 0));
        }
    }
}
