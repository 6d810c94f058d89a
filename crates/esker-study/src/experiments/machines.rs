//! Joints and drives against what they must do: mechanisms whose motion is known, and machines
//! that touch.
//!
//! Errors of mechanisms are of known size in the substep: joints are violated by
//! `1.25 a h²` where an anchor accelerates by `a`, and the motion is of first order. The numbers
//! that they are held against come from an independent program, and where nothing else is said
//! from closed formulas.

use std::f64::consts::TAU;

use esker_machine::mechanisms::{
    self, FourBar, GearedRotors, HeavyTop, ScrewNut, SliderCrank, saturated_velocities,
    servo_response, torque_free_top,
};
use esker_machine::rig::{GRAVITY, Plan, Rig};
use esker_machine::{Coordinate, DriveKind, Signal};
use esker_plot::{Axis, Plot, Series, number};
use esker_world::World;
use glam::DVec3;

use crate::bench;
use crate::criterion::Criterion;
use crate::experiment::{About, Case, Experiment, Outcome, Size, Table};
use crate::results::{Results, StudyError};

/// See the module.
pub struct Machines;

const BLOCK: &str = include_str!("../../../../scenes/experiments/machines/block.toml");
const PLATE: &str = include_str!("../../../../scenes/experiments/machines/plate.toml");
const ROD: &str = include_str!("../../../../scenes/experiments/machines/rod.toml");
const BEAM: &str = include_str!("../../../../scenes/experiments/machines/beam.toml");

/// A number of a test, and what it must be.
struct Expected {
    what: String,
    value: f64,
    /// How far it may be off.
    within: f64,
}

impl Expected {
    /// A value to a share of itself.
    fn share(what: &str, value: f64, share: f64) -> Self {
        Expected {
            what: what.into(),
            value,
            within: share * value.abs(),
        }
    }
}

type Job = Box<dyn Fn() -> Result<Vec<f64>, StudyError> + Send + Sync>;

/// Something that is known of machines.
struct Test {
    /// Name of its case.
    name: String,
    /// Substep where errors are shown over it, s.
    substep: Option<f64>,
    /// What its run gives, in order.
    expected: Vec<Expected>,
    /// Where the expected values come from.
    basis: &'static str,
    job: Job,
}

const REFERENCE: &str = "an independent program";
const EXACT: &str = "closed formula";

fn rig(plan: &Plan, step: f64) -> Result<Rig, StudyError> {
    plan.build(step).map_err(|e| bench::failed("machine", e))
}

/// Largest gap of the joints of a rig so far, m.
fn gap(rig: &Rig) -> f64 {
    let joints = 0..rig.plan.joints.len();
    let gaps = joints.map(|j| rig.machines.joint(j).max_violation.distance);
    gaps.fold(0.0, f64::max)
}

/// Finest substep of a mechanism at reduced size, s.
const FINEST_REDUCED: f64 = 3e-4;

/// Substeps of a kind of mechanism with the errors of the reference at each.
fn ladder<const N: usize>(
    size: Size,
    name: &str,
    (whats, share): ([&str; N], f64),
    rungs: &[(f64, [f64; N])],
    job: impl Fn(f64) -> Result<Vec<f64>, StudyError> + Copy + Send + Sync + 'static,
) -> Vec<Test> {
    let finest = size.pick(0.0, FINEST_REDUCED);
    let test = |&(substep, errors): &(f64, [f64; N])| Test {
        name: format!("{name}, substep of {} ms", number(1e3 * substep, 3)),
        substep: Some(substep),
        expected: whats
            .iter()
            .zip(errors)
            .map(|(what, error)| Expected::share(what, error, share))
            .collect(),
        basis: REFERENCE,
        job: Box::new(move || job(substep)),
    };
    let rungs = rungs.iter().filter(|rung| rung.0 > finest);
    rungs.map(test).collect()
}

fn pendulum(step: f64) -> Result<Vec<f64>, StudyError> {
    let mut rig = rig(&mechanisms::pendulum(), step)?;
    let start = rig.energy();
    let (mut at_two, mut loss) = (f64::NAN, 0.0_f64);
    rig.run(10.0, |rig| {
        loss = loss.max(start - rig.energy());
        if (rig.time() - 2.0).abs() < 0.1 * step {
            at_two = -rig.angle(0);
        }
    });
    let scale = 0.5 * GRAVITY.length();
    let error = at_two - mechanisms::PENDULUM_AFTER_TWO_SECONDS;
    Ok(vec![gap(&rig), loss / scale, -error])
}

fn double_pendulum(step: f64) -> Result<Vec<f64>, StudyError> {
    let mut rig = rig(&mechanisms::double_pendulum(), step)?;
    rig.run(1.0, |_| {});
    let tip = rig.poses[1].to_world(DVec3::X * 0.5);
    let error = tip.distance(mechanisms::DOUBLE_PENDULUM_TIP);
    rig.run(5.0, |_| {});
    Ok(vec![error, gap(&rig)])
}

const SLIDER_CRANK: SliderCrank = SliderCrank {
    crank: 0.1,
    rod: 0.3,
    rate: 20.0,
};

fn slider_crank(step: f64) -> Result<Vec<f64>, StudyError> {
    let mut rig = rig(&SLIDER_CRANK.plan(), step)?;
    let mut worst = 0.0_f64;
    rig.run(2.0, |rig| {
        let error = rig.slide(SliderCrank::GUIDE) - SLIDER_CRANK.slide(rig.time());
        worst = worst.max(error.abs());
    });
    Ok(vec![worst])
}

fn four_bar(step: f64) -> Result<Vec<f64>, StudyError> {
    let linkage = FourBar::new();
    let mut rig = rig(&linkage.plan(), step)?;
    let mut worst = 0.0_f64;
    rig.run(4.0, |rig| {
        let pin = rig.poses[1].to_world(linkage.pin_in_body());
        worst = worst.max(pin.distance(linkage.third_pin(rig.time())));
    });
    Ok(vec![worst])
}

/// A test of what a formula says.
fn exact(
    name: impl Into<String>,
    expected: Vec<Expected>,
    job: impl Fn() -> Result<Vec<f64>, StudyError> + Send + Sync + 'static,
) -> Test {
    Test {
        name: name.into(),
        substep: None,
        expected,
        basis: EXACT,
        job: Box::new(job),
    }
}

/// Drives, limits and gears without contacts.
fn drives() -> Vec<Test> {
    let servo = [200.0, 4.0];
    let gear = GearedRotors {
        ratio: -2.5,
        inertias: [0.4, 3.0],
        torque: 11.0,
    };
    let nut = ScrewNut {
        pitch: 0.2,
        mass: 2.0,
        inertia: 1e-3,
    };
    let at_limit = |what: &str, value: f64, within: f64| Expected {
        what: what.into(),
        value,
        within,
    };
    vec![
        exact(
            "position servo of 200 N/m and 4 N s/m, set to 1 m",
            vec![at_limit("largest error over 3 s, m", 0.0, 6e-4)],
            move || {
                let [stiffness, damping] = servo;
                let mut plan = mechanisms::slider();
                plan.drive(
                    0,
                    Coordinate::Slide,
                    DriveKind::PositionServo { stiffness, damping },
                    Signal::Constant(1.0),
                    None,
                );
                let mut rig = rig(&plan, 1e-4)?;
                let mut worst = 0.0_f64;
                rig.run(3.0, |rig| {
                    let error = rig.slide(0) - servo_response(servo, rig.time());
                    worst = worst.max(error.abs());
                });
                Ok(vec![worst])
            },
        ),
        exact(
            "limit at -0.5 m, pushed with 10 N",
            vec![
                at_limit("lowest place, m", -0.5, 1e-9),
                Expected::share("force of the limit, N", 10.0, 1e-6),
            ],
            || {
                let mut plan = mechanisms::slider();
                plan.joints[0].slide.limits = [-0.5, 0.25];
                let step = 1e-3;
                let mut rig = rig(&plan, step)?;
                rig.forces[0].linear.x = -10.0;
                let mut lowest = 0.0_f64;
                rig.run(1.0, |rig| lowest = lowest.min(rig.slide(0)));
                let before = rig.machines.joint(0).impulse.linear.x;
                rig.step();
                let after = rig.machines.joint(0).impulse.linear.x;
                Ok(vec![lowest, (after - before) / step])
            },
        ),
        exact(
            "three motors one on another, two at their limits, after 0.05 s",
            ["first", "second", "third"]
                .iter()
                .zip(saturated_velocities(0.05))
                .map(|(which, v)| Expected::share(&format!("{which} velocity, m/s"), v, 1e-6))
                .collect(),
            || {
                let mut rig = rig(&mechanisms::saturated_motors(), 1e-3)?;
                rig.run(0.05, |_| {});
                Ok(rig.velocities.iter().map(|v| v.linear.x).collect())
            },
        ),
        exact(
            "gear of ratio -2.5 between two rotors, 4 s",
            vec![
                Expected::share(
                    "angular velocity of the second, rad/s",
                    4.0 * gear.acceleration(),
                    1e-6,
                ),
                Expected::share("angle of the first over that of the second", -2.5, 1e-9),
            ],
            move || {
                let mut rig = rig(&gear.plan(), 1e-3)?;
                rig.run(4.0, |_| {});
                let ratio = rig.angle(0) / rig.angle(1);
                Ok(vec![rig.velocities[1].angular.z, ratio])
            },
        ),
        exact(
            "slider-crank: largest acceleration",
            vec![Expected::share(
                "acceleration, m/s²",
                SLIDER_CRANK.peak_acceleration(),
                5e-3,
            )],
            || {
                let step = 5e-4;
                let mut rig = rig(&SLIDER_CRANK.plan(), step)?;
                let (mut peak, mut last) = (0.0_f64, 0.0);
                rig.run(2.0, |rig| {
                    let velocity = rig.velocities[SliderCrank::SLIDER].linear.x;
                    // The crank takes up its rate within the first step.
                    if rig.steps > 10 {
                        peak = peak.max(((velocity - last) / step).abs());
                    }
                    last = velocity;
                });
                Ok(vec![peak])
            },
        ),
        exact(
            "nut on a screw of 0.2 m per revolution, 1 s",
            vec![
                Expected::share("velocity, m/s", nut.acceleration(), 1e-6),
                Expected::share("advance per revolution, m", nut.pitch, 1e-9),
            ],
            move || {
                let mut rig = rig(&nut.plan(), 1e-3)?;
                rig.run(1.0, |_| {});
                let advance = TAU * rig.slide(0) / rig.angle(0);
                Ok(vec![rig.velocities[0].linear.z, advance])
            },
        ),
    ]
}

/// A fast top that falls over as it precesses, by the substep.
fn heavy_top(step: f64) -> Result<Vec<f64>, StudyError> {
    let top = HeavyTop {
        tilt: 0.5,
        spin: 1000.0,
    };
    let mut rig = rig(&top.plan(), step)?;
    rig.velocities[0] = top.velocity();
    rig.run(0.5, |_| {});
    let axis = rig.poses[0].orientation * DVec3::Z;
    let precession = axis.y.atan2(axis.x) / 0.5;
    let error = (precession - top.precession()) / top.precession();
    let tilted = axis.angle_between(DVec3::Z) - top.tilt;
    Ok(vec![error.abs(), tilted.abs()])
}

/// Bodies that tumble at 1000 rad/s without any torque: the largest changes within a second
/// that an independent program found.
fn tumbling(substep: f64, turned: f64) -> Test {
    let near = |what: &str, within: f64| Expected {
        what: what.into(),
        value: 0.0,
        within,
    };
    Test {
        name: format!(
            "tops without a torque at 1000 rad/s, substep of {} ms",
            number(1e3 * substep, 3)
        ),
        substep: None,
        expected: vec![
            near("change of energy", 1e-9),
            near("change of angular momentum", turned),
        ],
        basis: REFERENCE,
        job: Box::new(move || {
            let mut worst = vec![0.0_f64; 2];
            for moments in [[1.0, 2.0, 3.0], [0.1, 1.0, 1.0], [1.0, 1.0, 1.9]] {
                let mut rig = rig(&torque_free_top(moments.into()), substep)?;
                rig.velocities[0].angular = DVec3::new(0.3, 1.0, 0.4).normalize() * 1000.0;
                let (energy, momentum) = (rig.kinetic_energy(), rig.angular_momentum());
                rig.run(1.0, |_| {});
                let changed = rig.angular_momentum().distance(momentum) / momentum.length();
                worst[0] = worst[0].max((rig.kinetic_energy() / energy - 1.0).abs());
                worst[1] = worst[1].max(changed);
            }
            Ok(worst)
        }),
    }
}

fn run_to(world: &mut World, time: f64) -> Result<(), StudyError> {
    let seconds = time - world.time();
    bench::run(world, seconds, |_, _| {})
}

/// A motor that is weaker than the friction of its load, and one that is stronger.
fn block(limit: f64) -> Test {
    let (weight, moved) = (10.0 * 9.81, 11.0);
    let friction = 0.4 * weight;
    let slips = limit > friction;
    let near = |what: &str, value: f64, within: f64| Expected {
        what: what.into(),
        value,
        within,
    };
    exact(
        format!("block of 10 kg on a floor, motor of {limit} N"),
        vec![
            near(
                "acceleration, m/s²",
                (limit - friction).max(0.0) / moved,
                1e-3,
            ),
            near("speed, m/s", if slips { 0.5 } else { 0.0 }, 1e-4),
            near("force of the motor, N", limit.min(friction), 1e-2),
            Expected::share("force on the floor, N", weight, 1e-3),
        ],
        move || {
            let mut def = bench::world_of_scene(BLOCK)?;
            def.drives[0].force_limit = Some(limit);
            let mut world = bench::build(&def)?;
            run_to(&mut world, 0.1)?;
            let start = world.body_velocity(1)[0].x;
            run_to(&mut world, 0.2)?;
            let acceleration = (world.body_velocity(1)[0].x - start) / 0.1;
            run_to(&mut world, 1.0)?;
            let before = world.drive(0).impulse;
            run_to(&mut world, 1.5)?;
            let force = (world.drive(0).impulse - before) / 0.5;
            let speed = world.body_velocity(1)[0].x;
            Ok(vec![
                acceleration,
                speed,
                force,
                world.bodies()[1].load.force.z,
            ])
        },
    )
}

/// A plate that grains carry.
fn plate(mass: f64) -> Test {
    exact(
        format!("plate of {mass} kg on a bed, pressed with 40 N"),
        vec![
            Expected {
                what: "force of the bed, N".into(),
                value: 40.0 + mass * 9.81,
                within: 0.01,
            },
            Expected {
                what: "speed, m/s".into(),
                value: 0.0,
                within: 1e-4,
            },
        ],
        move || {
            let mut def = bench::world_of_scene(PLATE)?;
            let plate = &mut def.bodies[0];
            plate.moments *= mass / plate.mass;
            plate.mass = mass;
            let mut world = bench::build(&def)?;
            run_to(&mut world, 3.0)?;
            let before = world.bodies()[0].total_load.impulse.z;
            run_to(&mut world, 3.1)?;
            let force = (world.bodies()[0].total_load.impulse.z - before) / 0.1;
            Ok(vec![force, world.body_velocity(0)[0].length()])
        },
    )
}

/// A servo wall of 100 kg: pressed with 40 N on a bed at rest against a damper, it settles. The
/// time after which its force stays within 2 % depends on the bed, the force at rest does not.
fn servo_wall(damping: f64, time: f64) -> Test {
    const MASS: f64 = 100.0;
    /// When it is released, s: until then its weight is held.
    const RELEASE: f64 = 0.5;
    const END: f64 = 2.5;
    const FORCE: f64 = 40.0;
    Test {
        name: format!("servo wall of {MASS} kg pressed with 40 N, {damping} N s/m"),
        substep: None,
        expected: vec![
            Expected::share("time until it stays within 2 %, s", time, 0.5),
            Expected::share("force at the end, N", FORCE, 1e-3),
        ],
        basis: "an independent program, on another bed",
        job: Box::new(move || {
            let mut def = bench::world_of_scene(PLATE)?;
            let weight = MASS * def.gravity.length();
            let plate = &mut def.bodies[0];
            plate.moments *= MASS / plate.mass;
            plate.mass = MASS;
            // Its lower face is where the grains end.
            plate.pose.position.z = 0.085;
            def.drives[0].kind = DriveKind::DampedForce { damping };
            let (held, pressed) = (-weight, FORCE - weight);
            def.drives[0].signal = Signal::Table {
                times: vec![0.0, RELEASE, RELEASE + def.step, END],
                values: vec![held, held, pressed, pressed],
            };
            let mut world = bench::build(&def)?;
            run_to(&mut world, RELEASE)?;
            let (mut settled, mut last) = (RELEASE, 0.0);
            bench::run(&mut world, END - RELEASE, |world, report| {
                last = world.bodies()[0].load.force.z;
                if (last / FORCE - 1.0).abs() > 0.02 {
                    settled = report.time;
                }
            })?;
            Ok(vec![settled - RELEASE, last])
        }),
    }
}

/// A ball that hits a hinged rod: both leave as restitution and the inertia about the hinge say.
fn impact(restitution: f64) -> Test {
    let (speed, lever) = (2.0, 0.7);
    let ball = 2000.0 * 4.0 / 3.0 * std::f64::consts::PI * 0.05_f64.powi(3);
    // A box about its end.
    let inertia = 3.0 * (1.0 / 3.0 + 0.1 * 0.1 / 12.0);
    let rod = inertia / (lever * lever);
    let impulse = (1.0 + restitution) * speed / (1.0 / ball + 1.0 / rod);
    exact(
        format!("ball against a hinged rod, restitution {restitution}"),
        vec![
            Expected {
                what: "velocity of the ball, m/s".into(),
                value: speed - impulse / ball,
                within: 0.01 * speed,
            },
            Expected::share(
                "angular velocity of the rod, rad/s",
                -impulse * lever / inertia,
                0.01,
            ),
        ],
        move || {
            let mut def = bench::world_of_scene(ROD)?;
            def.pairs[0].law.restitution = restitution;
            let mut world = bench::build(&def)?;
            run_to(&mut world, 0.02)?;
            let turning = world.body_velocity(0)[1].y;
            Ok(vec![world.grains().state()[0].velocity.x, turning])
        },
    )
}

/// One machine that touches with two bodies: each carries what statics says.
fn beam() -> Test {
    let share = |arm: f64| (2.0 + 5.0 + 5.0 * (0.4 + arm) / 0.8) * 9.81;
    exact(
        "beam with a load off its middle, on two pads",
        vec![
            Expected::share("force on the left pad, N", share(-0.25), 1e-3),
            Expected::share("force on the right pad, N", share(0.25), 1e-3),
        ],
        || {
            let mut world = bench::build(&bench::world_of_scene(BEAM)?)?;
            run_to(&mut world, 0.8)?;
            let on = |world: &World| [0, 1].map(|pad| world.bodies()[pad].total_load.impulse.z);
            let before = on(&world);
            run_to(&mut world, 1.0)?;
            let after = on(&world);
            Ok([0, 1].map(|pad| (after[pad] - before[pad]) / 0.2).to_vec())
        },
    )
}

fn tests(size: Size) -> Vec<Test> {
    let mut tests = ladder(
        size,
        "rod pendulum",
        (
            ["gap of the joint, m", "energy lost", "angle after 2 s, rad"],
            0.1,
        ),
        &[
            (5e-3, [4.57e-4, 1.1e-2, 2.2e-3]),
            (1e-3, [1.83e-5, 1.7e-3, 4.5e-4]),
            (5e-4, [4.59e-6, 8.5e-4, 2.3e-4]),
            (1e-4, [1.83e-7, 1.7e-4, 4.7e-5]),
        ],
        pendulum,
    );
    tests.extend(ladder(
        size,
        "double pendulum",
        (["tip after 1 s, m", "gap of a joint, m"], 0.05),
        &[
            (5e-3, [8.2e-3, 3.4e-3]),
            (5e-4, [9.5e-4, 3.5e-5]),
            (1e-4, [1.9e-4, 1.4e-6]),
            (2e-5, [3.9e-5, 5.6e-8]),
        ],
        double_pendulum,
    ));
    tests.extend(ladder(
        size,
        "slider-crank",
        (["slider, m"], 0.1),
        &[
            (5e-3, [1.66e-3]),
            (1e-3, [6.7e-5]),
            (5e-4, [1.67e-5]),
            (1e-4, [6.7e-7]),
        ],
        slider_crank,
    ));
    tests.extend(ladder(
        size,
        "four-bar with redundant rows",
        (["pin, m"], 0.15),
        &[(5e-3, [6.5e-5]), (5e-4, [6.5e-7])],
        four_bar,
    ));
    tests.extend(ladder(
        size,
        "heavy top at 1000 rad/s",
        (["precession, share of it", "tilt after 0.5 s, rad"], 0.25),
        &[(5e-4, [4.2e-3, 0.042]), (1e-4, [4.7e-4, 0.008])],
        heavy_top,
    ));
    tests.extend([tumbling(5e-4, 0.25), tumbling(1e-4, 0.05)]);
    tests.extend(drives());
    tests.extend([30.0, 60.0].map(block));
    tests.extend([0.01, 0.1, 1.0, 10.0].map(plate));
    tests.extend([servo_wall(2000.0, 0.65), servo_wall(400.0, 1.2)]);
    tests.extend([0.0, 0.5, 0.9].map(impact));
    tests.push(beam());
    tests
}

impl Experiment for Machines {
    fn about(&self) -> About {
        About {
            name: "machines",
            paper: "closed formulas and an independent program",
            shows: "Joints, drives, limits and gears move as they must, and machines of any mass \
                    touch, rest and bounce as they must.",
            seconds_full: 3.0,
            seconds_reduced: 1.3,
        }
    }

    fn scene(&self) -> &'static str {
        BLOCK
    }

    fn cases(&self, size: Size) -> Vec<Case> {
        let case = |test: Test| Case::new(test.name, test.job);
        tests(size).into_iter().map(case).collect()
    }

    fn judge(&self, size: Size, results: &Results) -> Result<Outcome, StudyError> {
        let mut outcome = Outcome::default();
        let mut table = Table::new(
            "Found and expected",
            &["test", "what", "found", "expected", "may be off by", "from"],
        );
        let mut plot = Plot::new(
            "Errors of mechanisms over the substep",
            Axis::log("substep (ms)"),
            Axis::log("error (m, rad, or share of the energy)"),
        );
        for test in tests(size) {
            let found: Vec<f64> = results.get(&test.name)?;
            if found.len() != test.expected.len() {
                let missing = format!("{}: all numbers are there", test.name);
                outcome.require(Criterion::missing(missing, "numbers are missing"));
            }
            for (&found, expected) in found.iter().zip(&test.expected) {
                let Expected {
                    what,
                    value,
                    within,
                } = expected;
                table.row([
                    test.name.clone(),
                    what.clone(),
                    number(found, 6),
                    number(*value, 6),
                    number(*within, 2),
                    test.basis.into(),
                ]);
                outcome.require(
                    Criterion::within(
                        format!("{}: {what}", test.name),
                        found,
                        [value - within, value + within],
                        number(*value, 6),
                    )
                    .because(test.basis),
                );
                if let Some(substep) = test.substep {
                    let mechanism = test.name.split(',').next().unwrap_or(&test.name);
                    add_point(
                        &mut plot,
                        format!("{mechanism}: {what}"),
                        [1e3 * substep, found.abs()],
                    );
                }
            }
        }
        outcome.svg(plot.svg());
        outcome.table(table);
        Ok(outcome)
    }
}

/// Adds a point to the series of a name, which is made where there is none.
fn add_point(plot: &mut Plot, name: String, point: [f64; 2]) {
    match plot.series.iter_mut().find(|series| series.name == name) {
        Some(series) => series.points.push(point),
        None => plot
            .series
            .push(Series::line(name, vec![point]).with_points()),
    }
}
