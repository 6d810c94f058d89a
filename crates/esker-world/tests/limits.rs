//! Right at every step, size and load: what must not depend on the step, on the
//! size of grains or on what stands on them.

mod common;

use common::*;
use esker_geometry::Pose;
use esker_world::World;
use esker_world::definition::*;
use glam::{DQuat, DVec3};

/// A law without friction.
fn bouncing(restitution: f64) -> PairLaw {
    PairLaw {
        restitution,
        ..smooth()
    }
}

const METHODS: [fn() -> Method; 2] = [
    || sub_stepped(25),
    || {
        Method::WholeStep(WholeStep {
            sweeps: 50,
            ..Default::default()
        })
    },
];

/// Effective restitution of a grain of 10 mm that meets the floor, under
/// gravity, or another grain, without, at `speed` in the middle of a step.
fn effective_restitution(def: &WorldDef, speed: f64, on_floor: bool) -> f64 {
    restitution_after_flight(def, speed, on_floor, 1.37)
}

/// The same where the collision begins after so many steps.
fn restitution_after_flight(def: &WorldDef, speed: f64, on_floor: bool, steps: f64) -> f64 {
    let (d, h) = (0.01, def.step);
    let fall = steps * h;
    let mut def = def.clone();
    let start = ListedGrain {
        velocity: -DVec3::Z * speed,
        ..grain(DVec3::Z * (0.5 * d + speed * fall), 0.5 * d)
    };
    let gravity = if on_floor { G } else { 0.0 };
    def.gravity = -DVec3::Z * gravity;
    let other = ListedGrain {
        velocity: DVec3::ZERO,
        ..grain(-DVec3::Z * 0.5 * d, 0.5 * d)
    };
    if on_floor {
        def.walls = vec![floor()];
        def.packings = vec![listed(vec![start])];
    } else {
        def.packings = vec![listed(vec![start, other])];
    }
    let mut world = build(&def);
    // What free flight in steps of h_s conserves exactly, over the mass: this
    // gives the speed at the floor from any moment of the flight.
    let speed_at_floor = |world: &World| {
        let (v, z) = (
            world.grains().state()[0].velocity.z,
            world.grains().position()[0].z,
        );
        let energy = 0.5 * v * v + gravity * (z - 0.5 * d - 0.5 * world.substep() * v);
        (2.0 * energy).max(0.0).sqrt()
    };
    let approach = if on_floor {
        speed_at_floor(&world)
    } else {
        speed
    };
    // Far more than a collision lasts: 2.9 (m²/(k² v))^(1/5).
    let mass = sphere_mass(def.materials[0].density, 0.5 * d);
    let k = hertz_stiffness(&def.materials[0], 0.5 * d);
    let end = fall + 3.0 * h + 12.0 * (mass * mass / (k * k * speed)).powf(0.2);
    let mut rebound = 0.0_f64;
    while world.time() < end {
        world.step().unwrap();
        if world.grains().state()[0].velocity.z > 0.0 {
            rebound = rebound.max(speed_at_floor(&world));
        }
    }
    let velocity = |i: usize| world.grains().state()[i].velocity.z;
    if on_floor {
        rebound / approach
    } else {
        (velocity(0) - velocity(1)) / approach
    }
}

#[test]
fn restitution_does_not_depend_on_the_step() {
    let mut wrong = Vec::new();
    for method in METHODS {
        for young in [5e6, 1e8, 1e9] {
            for h in [1e-2, 1e-3, 1e-4, 1e-5, 1e-6] {
                for e in [0.0, 0.05, 0.3, 0.5, 0.75, 0.9, 0.95] {
                    let def = scene(material(2500.0, young, 0.2), bouncing(e), method(), h);
                    for (speed, on_floor) in [(2.0, true), (2.0, false), (0.2, false)] {
                        let found = effective_restitution(&def, speed, on_floor);
                        if (found - e).abs() > 0.01 {
                            wrong.push(format!(
                                "{found:.4} for {e}, E {young:e}, h {h:e}, {speed} m/s, \
                                 floor {on_floor}, {:?}",
                                def.method
                            ));
                        }
                    }
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Where a substep resolves a collision and where it just does not, what comes back does
/// not depend on the moment of a step, or of a substep, at which the grains meet.
#[test]
fn restitution_does_not_depend_on_when_in_a_step_grains_meet() {
    const SUBSTEPS: usize = 25;
    let (young, speed, d) = (1e8, 1.0_f64, 0.01);
    let glass = material(2500.0, young, 0.2);
    let mut worst = (0.0_f64, String::new());
    for linear in [false, true] {
        let k = 1e6;
        // Two grains: S_n = 2/m, and stiffness of equal spheres.
        let mobility = 2.0 / sphere_mass(2500.0, 0.5 * d);
        let frequency = if linear {
            (mobility * k).sqrt()
        } else {
            let linear = mobility * hertz_stiffness(&glass, 0.25 * d);
            (linear * (1.25 * speed * speed / linear).powf(0.2)).sqrt()
        };
        for phase in [0.02, 0.07, 0.12, 0.19, 0.24, 0.29, 0.35] {
            for e in [0.06, 0.1, 0.3, 0.5, 0.75, 0.9] {
                let law = PairLaw {
                    normal: if linear {
                        NormalLaw::Linear { stiffness: k }
                    } else {
                        bouncing(e).normal
                    },
                    ..bouncing(e)
                };
                let h = SUBSTEPS as f64 * phase / frequency;
                let def = scene(glass.clone(), law, sub_stepped(SUBSTEPS), h);
                for moment in 0..40 {
                    // 29 is prime to 40 and 25: all phases of substeps and of steps.
                    let steps = 1.0 + (f64::from(moment) + 0.5) / 40.0 * 29.0 / 25.0;
                    let found = restitution_after_flight(&def, speed, false, steps);
                    if (found - e).abs() > worst.0 {
                        let case = format!("{found} for {e}, ω h_s {phase}, linear {linear}");
                        worst = ((found - e).abs(), format!("{case}, after {steps} steps"));
                    }
                }
            }
        }
    }
    assert!(worst.0 <= 0.01, "{}", worst.1);
}

/// Twenty grains in a row without gravity, pushed by a plane at 1 m/s.
fn row(restitution: f64, method: Method, step: f64) -> WorldDef {
    let d = 0.01;
    let mut def = scene(
        material(2500.0, 5e9, 0.2),
        bouncing(restitution),
        method,
        step,
    );
    def.gravity = DVec3::ZERO;
    let mut plane = floor();
    plane.pose = Pose::new(DVec3::ZERO, DQuat::from_rotation_arc(DVec3::Z, DVec3::X));
    plane.motion = Motion::Translate {
        velocity: DVec3::X,
        start: 0.0,
        stop: f64::INFINITY,
    };
    def.walls = vec![plane];
    let at = |k: usize| 0.5 * d + 0.001 * d + k as f64 * 1.001 * d;
    def.packings = vec![listed(
        (0..20).map(|k| grain(DVec3::X * at(k), 0.5 * d)).collect(),
    )];
    def
}

/// Kinetic energy in units of ½ M U² and largest overlap in diameters after 20 ms.
fn pushed(def: &WorldDef) -> (f64, f64) {
    let mut world = build(def);
    let mut worst = 0.0_f64;
    for _ in 0..(0.02 / def.step).round() as usize {
        worst = worst.max(world.step().unwrap().max_overlap);
    }
    let squares = world
        .grains()
        .state()
        .iter()
        .map(|s| s.velocity.length_squared());
    (squares.sum::<f64>() / 20.0, worst)
}

/// A row of elastic grains throws off its end as a rod does, and damping the
/// pair damps the chain but little: even perfectly inelastic pairs leave the row
/// with twice the energy of a rigid body.
#[test]
fn the_limit_of_small_steps_is_the_physics() {
    for e in [0.0, 0.5, 0.9] {
        let smooth = Method::Smooth(Smooth {
            substeps: 40,
            ..Default::default()
        });
        let (limit, _) = pushed(&row(e, smooth, 1e-5));
        for (h, bound) in [(1e-3, 0.25), (1e-4, 0.05), (2e-5, 0.02)] {
            let (energy, overlap) = pushed(&row(e, sub_stepped(25), h));
            assert!(
                relative(energy, limit) < bound,
                "e {e}, h {h:e}: {energy:.3} for {limit:.3}"
            );
            assert!(overlap <= 0.02, "e {e}, h {h:e}: {overlap:.4}");
        }
    }
}

/// An impact takes no time, and contacts that touch are springs. With rigid rows
/// in its impact stage the row moved as one body here, with half of the energy; with
/// impacts where grains meet others before a collision is over it lost a quarter.
#[test]
fn whole_steps_have_the_same_limit_of_small_steps() {
    for (e, steps) in [
        (0.0, &[1e-4, 2e-5, 5e-6][..]),
        (0.5, &[2e-5, 1e-5, 5e-6]),
        (0.9, &[2e-5, 1e-5, 5e-6]),
    ] {
        let smooth = Method::Smooth(Smooth {
            substeps: 40,
            ..Default::default()
        });
        let (limit, _) = pushed(&row(e, smooth, 1e-5));
        for &h in steps {
            let method = Method::WholeStep(WholeStep {
                sweeps: 200,
                tolerance: Some(1e-6),
                impact_sweeps: 200,
                ..Default::default()
            });
            let (energy, overlap) = pushed(&row(e, method, h));
            assert!(
                relative(energy, limit) < 0.05,
                "e {e}, h {h:e}: {energy:.3} for {limit:.3}"
            );
            assert!(overlap <= 0.02, "e {e}, h {h:e}: {overlap:.4}");
        }
    }
}

/// Creep velocity of a grain that sticks on a slope of 15°, over √(g d), after
/// it has come to rest.
fn creep(d: f64, method: Method, step: f64) -> f64 {
    let law = PairLaw {
        friction: 0.5,
        ..Default::default()
    };
    let mut def = scene(material(2500.0, 1e8, 0.2), law, method, step);
    def.gravity = inclined_gravity(15_f64.to_radians().tan());
    def.rotation = false;
    def.walls = vec![floor()];
    def.packings = vec![listed(vec![grain(DVec3::Z * 0.5 * d, 0.5 * d)])];
    let mut world = build(&def);
    run(&mut world, 400.0 * step);
    let start = world.grains().position()[0].x;
    run(&mut world, 100.0 * step);
    (world.grains().position()[0].x - start) / (100.0 * step) / (G * d).sqrt()
}

#[test]
fn a_grain_of_any_size_sticks_on_a_slope() {
    for d in [1e-4, 1e-2, 0.4, 3.0, 10.0] {
        for method in METHODS {
            let method = method();
            // A step in which the grain falls by 1 % of its diameter.
            let found = creep(d, method.clone(), (0.02 * d / G).sqrt().min(1e-2));
            assert!(found.abs() < 1e-6, "{d} m: {found:.1e}, {method:?}");
        }
    }
}

/// A boulder on three pebbles of 10 mm that touch the floor, and on as many
/// more as make a second layer; largest overlap of its contacts in diameters of
/// a pebble after it has come to rest.
fn boulder(diameter: f64, layers: usize) -> f64 {
    let (d, big) = (0.01, 0.5 * diameter);
    let law = PairLaw {
        friction: 0.5,
        ..Default::default()
    };
    let mut def = scene(material(2500.0, 5e10, 0.2), law, sub_stepped(25), 5e-3);
    def.walls = vec![floor()];
    let mut grains = Vec::new();
    let mut height = 0.5 * d;
    for layer in 0..layers {
        // Triangles of touching grains, each one in the hollow of the last.
        let turn = std::f64::consts::PI / 3.0 * layer as f64;
        for k in 0..3 {
            let angle = turn + std::f64::consts::TAU / 3.0 * f64::from(k);
            let (sin, cos) = angle.sin_cos();
            let across = d / 3_f64.sqrt();
            grains.push(grain(
                DVec3::new(across * cos, across * sin, height),
                0.5 * d,
            ));
        }
        height += d * (2.0_f64 / 3.0).sqrt();
    }
    let (reach, across) = (big + 0.5 * d, d / 3_f64.sqrt());
    let top = height - d * (2.0_f64 / 3.0).sqrt();
    let z = top + (reach * reach - across * across).sqrt();
    grains.push(grain(DVec3::Z * z, big));
    // The pebbles would be squeezed out from under it.
    def.rotation = false;
    def.pairs[0].law.friction = 1.0;
    def.packings = vec![listed(grains)];
    let mut world = build(&def);
    run(&mut world, 0.5);
    let contacts = world.contacts().map(|(c, _)| c.overlap / d);
    contacts.fold(0.0, f64::max)
}

/// The pebbles' own contacts yield by what the weight of the boulder gives
/// them; the stiffness cap must not add to it.
#[test]
fn a_boulder_does_not_sink_into_pebbles() {
    for (diameter, layers) in [(0.1, 1), (0.4, 1), (0.464, 1), (0.4, 2)] {
        let overlap = boulder(diameter, layers);
        assert!(overlap <= 0.02, "{diameter} m on {layers}: {overlap:.4}");
    }
}

/// A collision between grains that slide past each other keeps its angular
/// momentum: contacts turn with the grains.
#[test]
fn an_off_centre_impact_keeps_its_angular_momentum() {
    let law = PairLaw {
        friction: 0.5,
        restitution: 0.5,
        ..Default::default()
    };
    let mut def = scene(material(2500.0, 1e8, 0.2), law, sub_stepped(25), 1e-3);
    def.gravity = DVec3::ZERO;
    let r = 5e-3;
    let moving = ListedGrain {
        velocity: DVec3::X * 2.0,
        ..grain(DVec3::new(-2.5 * r, 1.2 * r, 0.0), r)
    };
    def.packings = vec![listed(vec![moving, grain(DVec3::ZERO, r)])];
    let mut world = build(&def);
    let angular_momentum_of_all = |world: &World| -> DVec3 {
        let g = world.grains();
        let of = |i: usize| {
            let orbital = g.position()[i].cross(g.state()[i].velocity) * g.mass()[i];
            orbital + g.state()[i].angular_velocity / g.state()[i].inverse_inertia
        };
        (0..g.len()).map(of).sum()
    };
    let before = angular_momentum_of_all(&world);
    run(&mut world, 0.02);
    assert!(
        world.grains().state()[1].velocity.length() > 0.5,
        "they must meet"
    );
    let drift = (angular_momentum_of_all(&world) - before).length() / before.length();
    assert!(drift < 1e-12, "{drift:.1e}");
}
