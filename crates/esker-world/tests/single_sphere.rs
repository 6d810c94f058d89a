//! What is known in closed form about one grain on a plane, or two that meet.

mod common;

use common::*;
use esker_world::World;
use esker_world::definition::*;
use glam::DVec3;

const STEPS: [f64; 3] = [1e-3, 5e-3, 1e-2];

fn methods() -> [Method; 4] {
    [
        whole_step(20, WarmStart::Cold),
        whole_step(20, history(0.85)),
        whole_step(20, WarmStart::Model),
        sub_stepped(25),
    ]
}

/// The two ways to advance, with settings that users have.
fn both_ways() -> [Method; 2] {
    [whole_step(20, history(0.85)), sub_stepped(25)]
}

fn pellet_weight() -> f64 {
    sphere_mass(pellet().density, PELLET_RADIUS) * G
}

/// Overlap of a pellet under a force, m.
fn static_overlap(force: f64) -> f64 {
    (force / hertz_stiffness(&pellet(), PELLET_RADIUS)).powf(2.0 / 3.0)
}

/// A pellet in static contact with the floor, on an incline of this slope.
fn resting_pellet(law: PairLaw, method: Method, step: f64, slope: f64) -> WorldDef {
    let gravity = inclined_gravity(slope);
    let overlap = static_overlap(pellet_weight() * -gravity.z / G);
    WorldDef {
        gravity,
        walls: vec![floor()],
        packings: vec![listed(vec![grain(
            DVec3::Z * (PELLET_RADIUS - overlap),
            PELLET_RADIUS,
        )])],
        ..scene(pellet(), law, method, step)
    }
}

fn with_motion(mut def: WorldDef, velocity: DVec3, angular_velocity: DVec3) -> WorldDef {
    let Placement::Listed { grains } = &def.packings[0].placement else {
        unreachable!("these scenes list their grains")
    };
    let moving = ListedGrain {
        velocity,
        angular_velocity,
        ..grains[0]
    };
    def.packings = vec![listed(vec![moving])];
    def
}

fn floor_overlap(world: &World) -> f64 {
    world.grains().radius()[0] - world.grains().position()[0].z
}

#[test]
fn a_grain_at_rest_overlaps_as_hertz_says_for_every_step_and_start() {
    let expected = static_overlap(pellet_weight());
    assert!(relative(expected, 2.451523e-5) < 1e-6);
    for step in STEPS {
        for method in methods() {
            let mut def = resting_pellet(PairLaw::default(), method.clone(), step, 0.0);
            def.packings = vec![listed(vec![grain(
                DVec3::Z * (PELLET_RADIUS - 1e-6),
                PELLET_RADIUS,
            )])];
            let mut world = build(&def);
            run(&mut world, 3.0);
            let error = relative(floor_overlap(&world), expected);
            assert!(error < 1e-10, "{error:.1e} for h = {step} s, {method:?}");
        }
    }
}

#[test]
fn a_grain_at_rest_overlaps_as_the_linear_law_says() {
    let stiffness = 5e3;
    let law = PairLaw {
        normal: NormalLaw::Linear { stiffness },
        ..Default::default()
    };
    for step in STEPS {
        for method in methods() {
            let mut world = build(&resting_pellet(law, method.clone(), step, 0.0));
            run(&mut world, 3.0);
            let error = relative(floor_overlap(&world), pellet_weight() / stiffness);
            assert!(error < 1e-10, "{error:.1e} for h = {step} s, {method:?}");
        }
    }
}

#[test]
fn an_impact_returns_the_approach_speed_times_restitution() {
    let speed = 1.0;
    for restitution in [0.0, 0.18, 0.5, 0.9, 1.0] {
        for method in methods() {
            let law = PairLaw {
                restitution,
                ..Default::default()
            };
            let step = 1e-3;
            // On the floor.
            let start = ListedGrain {
                velocity: -DVec3::Z * speed,
                ..grain(
                    DVec3::Z * (PELLET_RADIUS + 0.3 * speed * step),
                    PELLET_RADIUS,
                )
            };
            let mut def = scene(stiff(), law, method.clone(), step);
            def.walls = vec![floor()];
            def.gravity = DVec3::ZERO;
            def.packings = vec![listed(vec![start])];
            let mut world = build(&def);
            assert_eq!(world.step().unwrap().impacts, 1);
            let error = (world.grains().state()[0].velocity.z - restitution * speed).abs();
            assert!(
                error < 1e-12,
                "floor, e = {restitution}, {method:?}: {error:.1e}"
            );
            // Of two unequal grains.
            let other = ListedGrain {
                velocity: DVec3::Z * speed,
                ..grain(
                    start.position - DVec3::Z * (3.0 * PELLET_RADIUS + 0.6 * speed * step),
                    2.0 * PELLET_RADIUS,
                )
            };
            def.walls.clear();
            def.packings = vec![listed(vec![start, other])];
            let mut world = build(&def);
            world.step().unwrap();
            let [a, b] = [0, 1].map(|i| world.grains().state()[i].velocity.z);
            let error = (a - b - restitution * 2.0 * speed).abs();
            assert!(
                error < 2e-12,
                "pair, e = {restitution}, {method:?}: {error:.1e}"
            );
        }
    }
}

/// A pellet so stiff that its collisions are impacts at any step here.
fn stiff() -> Material {
    material(3700.0, 6e10, 0.25)
}

/// Under gravity a whole step that holds an impact ends with the mean speed over
/// the step: that of the rebound at the touch, less half a step's fall from there.
#[test]
fn a_whole_step_with_an_impact_adds_nothing_but_gravity() {
    for restitution in [0.18, 0.5, 0.9] {
        let law = PairLaw {
            restitution,
            ..Default::default()
        };
        let step = 1e-3;
        let mut def = scene(stiff(), law, whole_step(20, history(0.85)), step);
        def.walls = vec![floor()];
        def.packings = vec![listed(vec![ListedGrain {
            velocity: -DVec3::Z,
            ..grain(DVec3::Z * (PELLET_RADIUS + 0.3 * step), PELLET_RADIUS)
        }])];
        let mut world = build(&def);
        world.step().unwrap();
        let (start, gap) = (1.0 + 0.5 * G * step, 0.3 * step);
        let touch = (start * start + 2.0 * G * gap).sqrt();
        let time = (touch - start) / G;
        let expected = restitution * touch - G * (0.5 * step - time);
        assert!((world.grains().state()[0].velocity.z - expected).abs() < 1e-12);
    }
}

/// `√(rebound height / drop height)`.
fn rebound(restitution: f64, step: f64, method: &Method, drop: f64) -> f64 {
    let law = PairLaw {
        restitution,
        ..Default::default()
    };
    // A soft grain parts from the floor below its surface.
    let firm = material(3700.0, 1e8, 0.25);
    let mut def = scene(firm, law, method.clone(), step);
    def.walls = vec![floor()];
    def.packings = vec![listed(vec![grain(
        DVec3::Z * (PELLET_RADIUS + drop),
        PELLET_RADIUS,
    )])];
    let mut world = build(&def);
    while world.grains().state()[0].velocity.z <= 0.0 {
        world.step().unwrap();
    }
    let mut highest = world.grains().position()[0].z;
    while world.grains().state()[0].velocity.z > 0.0 {
        world.step().unwrap();
        highest = highest.max(world.grains().position()[0].z);
    }
    ((highest - PELLET_RADIUS) / drop).sqrt()
}

/// Wherever in its step the impact falls.
#[test]
fn a_dropped_grain_rebounds_to_its_height() {
    let whole = whole_step(20, history(0.85));
    for method in [whole, sub_stepped(25)] {
        for restitution in [0.18, 0.5, 0.9] {
            for step in [5e-3, 1e-3, 2e-4] {
                for drop in [0.05, 0.1, 0.2, 0.3] {
                    let ratio = rebound(restitution, step, &method, drop);
                    assert!(
                        (ratio - restitution).abs() < 0.01,
                        "{ratio:.4} for e = {restitution}, h = {step} s, drop {drop} m, {method:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_grain_that_cannot_roll_slides_off_at_the_slope_mu_and_not_below() {
    let friction = 0.91;
    let law = PairLaw {
        friction,
        ..Default::default()
    };
    for method in both_ways() {
        for step in STEPS {
            let speed_after_a_second = |slope: f64| {
                let mut def = resting_pellet(law, method.clone(), step, slope);
                def.rotation = false;
                let mut world = build(&def);
                run(&mut world, 1.0);
                world.grains().state()[0].velocity.x
            };
            let held = speed_after_a_second(friction * (1.0 - 1e-3));
            assert!(
                held.abs() < 1e-6,
                "{held:.1e} m/s, h = {step} s, {method:?}"
            );
            let slope = friction * (1.0 + 1e-3);
            let angle = slope.atan();
            let expected = G * (angle.sin() - friction * angle.cos());
            let slid = speed_after_a_second(slope);
            assert!(
                relative(slid, expected) < 1e-6,
                "{slid} for {expected} m/s, {method:?}"
            );
        }
    }
}

#[test]
fn sliding_acceleration_is_exact() {
    let (friction, slope) = (0.3, 0.7_f64);
    let law = PairLaw {
        friction,
        ..Default::default()
    };
    let angle = slope.atan();
    let expected = G * (angle.sin() - friction * angle.cos());
    for method in methods() {
        for step in STEPS {
            let mut def = resting_pellet(law, method.clone(), step, slope);
            def.rotation = false;
            let mut world = build(&with_motion(def, DVec3::X * 0.1, DVec3::ZERO));
            run(&mut world, 0.5);
            let acceleration = (world.grains().state()[0].velocity.x - 0.1) / 0.5;
            let error = relative(acceleration, expected);
            assert!(error < 1e-9, "{error:.1e} for h = {step} s, {method:?}");
        }
    }
}

const ROLLING_PELLET: PairLaw = PairLaw {
    normal: NormalLaw::Hertz,
    friction: 0.91,
    rolling: 0.32,
    twisting: 0.0,
    rolling_of_shapes: false,
    restitution: 0.0,
    damping: 0.0,
    cohesion: Cohesion::None,
};

/// Arm of a resting pellet, m: the contact point lies in the middle of the overlap.
fn pellet_arm(normal_share: f64) -> f64 {
    PELLET_RADIUS - 0.5 * static_overlap(pellet_weight() * normal_share)
}

#[test]
fn a_grain_starts_to_roll_at_the_slope_of_its_rolling_coefficient() {
    for method in both_ways() {
        let speed_after_a_second = |slope: f64| {
            let mut world = build(&resting_pellet(ROLLING_PELLET, method.clone(), 5e-3, slope));
            run(&mut world, 1.0);
            world.grains().state()[0].velocity.x
        };
        let mu_r = ROLLING_PELLET.rolling;
        let share = 1.0 / (1.0 + mu_r * mu_r).sqrt();
        let onset = mu_r * PELLET_RADIUS / pellet_arm(share);
        assert!(relative(onset, mu_r) < 0.01);
        let held = speed_after_a_second(onset * (1.0 - 1e-3));
        assert!(held.abs() < 1e-5, "{held:.1e} m/s at rest, {method:?}");
        let rolled = speed_after_a_second(onset * (1.0 + 1e-3));
        assert!(rolled > 1e-3, "{rolled:.1e} m/s rolling, {method:?}");
    }
}

#[test]
fn a_rolling_grain_slows_down_by_five_sevenths_mu_r_g() {
    let (r, arm) = (PELLET_RADIUS, pellet_arm(1.0));
    let mu_r = ROLLING_PELLET.rolling;
    let exact = mu_r * G * r / (arm + 0.4 * r * r / arm);
    assert!(relative(exact, 5.0 / 7.0 * mu_r * G) < 2e-3);
    for method in both_ways() {
        for step in STEPS {
            let speed = 1.0;
            let def = resting_pellet(ROLLING_PELLET, method.clone(), step, 0.0);
            let rolling = with_motion(def, DVec3::X * speed, DVec3::Y * speed / arm);
            let mut world = build(&rolling);
            run(&mut world, 0.3);
            let deceleration = (speed - world.grains().state()[0].velocity.x) / 0.3;
            assert!(relative(deceleration, 5.0 / 7.0 * mu_r * G) < 2e-3);
            let error = relative(deceleration, exact);
            assert!(error < 1e-5, "{error:.1e} for h = {step} s, {method:?}");
            run(&mut world, 0.3);
            let rest = world.grains().state()[0].velocity.length();
            assert!(
                rest < 1e-6,
                "still {rest:.1e} m/s after stopping, {method:?}"
            );
        }
    }
}

#[test]
fn a_twisting_grain_slows_down_by_its_couple_and_stops() {
    let twisting = 0.05;
    let law = PairLaw {
        twisting,
        ..Default::default()
    };
    let slowing = twisting * G / (0.4 * PELLET_RADIUS);
    for method in both_ways() {
        for step in STEPS {
            let angular_velocity = 40.0;
            let def = resting_pellet(law, method.clone(), step, 0.0);
            let mut world = build(&with_motion(def, DVec3::ZERO, DVec3::Z * angular_velocity));
            run(&mut world, 0.1);
            let error = relative(
                (angular_velocity - world.grains().state()[0].angular_velocity.z) / 0.1,
                slowing,
            );
            assert!(error < 1e-9, "{error:.1e} for h = {step} s, {method:?}");
            run(&mut world, 0.3);
            let rest = world.grains().state()[0].angular_velocity.length();
            assert!(rest < 1e-6, "still {rest:.1e} rad/s, {method:?}");
        }
    }
}

/// Velocity and angular velocity after an impact on the plane z = 0: Newton's law along
/// the normal, Coulomb's across it.
fn oblique_rebound(
    velocity: DVec3,
    angular_velocity: DVec3,
    arm: f64,
    law: &PairLaw,
) -> (DVec3, DVec3) {
    let n = DVec3::Z;
    let inertia_per_mass = 0.4 * PELLET_RADIUS * PELLET_RADIUS;
    let normal = -(1.0 + law.restitution) * velocity.z;
    let arm_vector = -n * arm;
    let slip = velocity + angular_velocity.cross(arm_vector);
    let slip = slip - n * slip.dot(n);
    let stick = slip.length() / (1.0 + arm * arm / inertia_per_mass);
    let friction = -slip.normalize_or_zero() * stick.min(law.friction * normal);
    (
        velocity + n * normal + friction,
        angular_velocity + arm_vector.cross(friction) / inertia_per_mass,
    )
}

#[test]
fn an_oblique_impact_sticks_or_slips_as_newton_and_coulomb_say() {
    let law = PairLaw {
        friction: 0.3,
        restitution: 0.6,
        ..Default::default()
    };
    let step = 1e-3;
    // Sticks; slips; slips because of angular velocity alone; sticks out of plane.
    let cases = [
        (DVec3::new(0.5, 0.0, -1.0), DVec3::ZERO),
        (DVec3::new(3.0, 0.0, -1.0), DVec3::ZERO),
        (DVec3::new(0.0, 0.0, -1.0), DVec3::new(0.0, 800.0, 0.0)),
        (DVec3::new(0.3, -0.4, -1.0), DVec3::new(20.0, 5.0, -30.0)),
    ];
    let gap = 1e-5;
    // Against the arm that the contact has, without compliance, the law is
    // exact to the digits of the row's diagonal; with the default compliance it is as good as that is small.
    let exact = (PELLET_RADIUS + 0.5 * gap, 0.0, 1e-6);
    let usual = (PELLET_RADIUS, 1e-7, 1e-3);
    for (method, (arm, compliance, tolerance)) in both_ways()
        .into_iter()
        .flat_map(|m| [(m.clone(), exact), (m, usual)])
    {
        for (velocity, angular_velocity) in cases {
            let mut def = scene(stiff(), law, method.clone(), step);
            def.contact.friction_compliance = compliance;
            def.gravity = DVec3::ZERO;
            def.walls = vec![floor()];
            def.packings = vec![listed(vec![ListedGrain {
                velocity,
                angular_velocity,
                ..grain(DVec3::Z * (PELLET_RADIUS + gap), PELLET_RADIUS)
            }])];
            let mut world = build(&def);
            assert_eq!(world.step().unwrap().impacts, 1);
            let state = world.grains().state()[0];
            let (v, w) = oblique_rebound(velocity, angular_velocity, arm, &law);
            let off = (state.velocity - v)
                .length()
                .max((state.angular_velocity - w).length() * arm);
            assert!(
                off < tolerance,
                "{off:.1e} m/s for {velocity}, {angular_velocity}, {method:?}"
            );
        }
    }
}

/// Two grains at rest that touch, impacted by a third: a simultaneous Newton
/// impact for a whole step, momentum shared as its closed form says; the
/// collision of three springs for substeps that resolve it, as smooth stepping
/// has it.
#[test]
fn a_impacted_pair_answers_as_its_impact_law_says() {
    let law = PairLaw {
        friction: 0.0,
        restitution: 0.9,
        ..Default::default()
    };
    let d = 2.0 * PELLET_RADIUS;
    let speeds = |method: Method, step: f64| {
        let grains = [-1e-5, d, 2.0 * d].map(|x| grain(DVec3::X * x, PELLET_RADIUS));
        let mut def = scene(pellet(), law, method, step);
        def.gravity = DVec3::ZERO;
        let mut grains = grains.to_vec();
        grains[0].velocity = DVec3::X;
        def.packings = vec![listed(grains)];
        let mut world = build(&def);
        run(&mut world, 0.05);
        [0, 1, 2].map(|i| world.grains().state()[i].velocity.x)
    };
    let springs = Method::Smooth(Smooth {
        substeps: 1000,
        ..Default::default()
    });
    let cases = [
        // u₁₂⁺ = e and u₂₃⁺ = 0 with the momentum of one grain.
        (
            whole_step(50, history(0.85)),
            [-0.8 / 3.0, 1.9 / 3.0, 1.9 / 3.0],
            1e-6,
        ),
        (sub_stepped(25), speeds(springs, 1e-3), 0.02),
    ];
    for (method, expected, tolerance) in cases {
        for (speed, expected) in speeds(method, 1e-3).into_iter().zip(expected) {
            assert!(
                (speed - expected).abs() < tolerance,
                "{speed} for {expected}"
            );
        }
    }
}

/// Rebound ratio and largest overlap of a pellet that hits the floor at
/// 0.5 m/s with the damped elastic law alone: no impact stage, no gravity.
fn elastic_bounce(damping: f64, method: Method, step: f64) -> (f64, f64) {
    let speed = 0.5;
    let law = PairLaw {
        damping,
        ..smooth()
    };
    let mut def = scene(pellet(), law, method, step);
    def.gravity = DVec3::ZERO;
    def.contact.damping_steps = 0.0;
    def.contact.impact_speed = Some(f64::INFINITY);
    def.walls = vec![floor()];
    def.packings = vec![listed(vec![ListedGrain {
        velocity: -DVec3::Z * speed,
        ..grain(DVec3::Z * (PELLET_RADIUS - 1e-9), PELLET_RADIUS)
    }])];
    let mut world = build(&def);
    let mut deepest: f64 = 0.0;
    while floor_overlap(&world) > 0.0 {
        world.step().unwrap();
        deepest = deepest.max(floor_overlap(&world));
    }
    (world.grains().state()[0].velocity.z / speed, deepest)
}

/// The limit is a spring and dashpot integrated with steps of 1 µs:
/// (damping time, rebound, largest overlap, errors of both at h = 0.1 ms).
#[test]
fn small_steps_approach_the_damped_hertz_law() {
    let references = [
        (1e-4, 0.86691, 4.0789e-4, 2e-3, 5e-3),
        (1e-3, 0.32639, 2.8219e-4, 2.75e-2, 3.95e-2),
    ];
    for (damping, rebound, overlap, rebound_error, overlap_error) in references {
        let bounce = |step| elastic_bounce(damping, whole_step(5, WarmStart::Cold), step);
        let (fine, coarse) = (bounce(1e-6), bounce(1e-4));
        assert!(relative(fine.0, rebound) < 5e-4, "{fine:?}");
        assert!(relative(fine.1, overlap) < 1e-3, "{fine:?}");
        assert!(relative(coarse.0, rebound) < rebound_error, "{coarse:?}");
        assert!(relative(coarse.1, overlap) < overlap_error, "{coarse:?}");
        // Substeps of 0.1 ms are as good as steps of 0.1 ms.
        let sub_stepped = elastic_bounce(damping, sub_stepped(10), 1e-3);
        assert!(relative(sub_stepped.0, coarse.0) < 1e-9, "{sub_stepped:?}");
    }
}
