//! Grains a hundred times larger than others in one scene.

mod common;

use std::f64::consts::PI;

use common::*;
use esker_world::Partner;
use esker_world::Stage;
use esker_world::World;
use esker_world::definition::*;
use glam::DVec3;

const SMALL: f64 = 2e-3;
const LARGE: f64 = 0.2;

fn rough() -> PairLaw {
    PairLaw {
        friction: 0.5,
        rolling: 0.02,
        restitution: 0.3,
        ..Default::default()
    }
}

/// Small grains in layers around a sphere of radius [`LARGE`], at most `count` per layer from the
/// bottom up, pressed together by a hundredth of a diameter.
fn layers(layers: u32, count: usize) -> Vec<ListedGrain> {
    let golden = PI * (3.0 - 5_f64.sqrt());
    (0..layers)
        .flat_map(|layer| {
            let radius = LARGE + SMALL * (0.99 + 1.9 * f64::from(layer));
            // Fibonacci's spiral: neighbours are 0.95 √(4π / n) radii apart at least.
            let all = 4.0 * PI * (0.95 * radius / (2.0 * SMALL)).powi(2);
            (0..count.min(all as usize)).map(move |k| {
                let z = (2.0 * k as f64 + 1.0) / all - 1.0;
                let (sin, cos) = (golden * k as f64).sin_cos();
                let around = (1.0 - z * z).sqrt();
                grain(radius * DVec3::new(around * cos, around * sin, z), SMALL)
            })
        })
        .collect()
}

fn scene_of(grains: Vec<ListedGrain>, method: Method) -> WorldDef {
    let mut def = scene(material(2500.0, 1e4, 0.3), rough(), method, 1e-4);
    def.gravity = DVec3::ZERO;
    def.contact.impact_speed = Some(0.05);
    def.packings = vec![listed(grains)];
    def
}

/// A ball of radius [`LARGE`] in two layers of 1,500 small grains, all in motion.
fn ball_in_layers() -> Vec<ListedGrain> {
    let mut grains = layers(2, 1500);
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state >> 8) / f64::from(1 << 23) - 1.0
    };
    for grain in &mut grains {
        grain.velocity = 0.1 * DVec3::new(next(), next(), next());
        grain.angular_velocity = 20.0 * DVec3::new(next(), next(), next());
    }
    grains.push(ListedGrain {
        velocity: DVec3::new(0.05, 0.02, -0.3),
        angular_velocity: DVec3::new(0.3, -0.2, 0.1),
        ..grain(DVec3::ZERO, LARGE)
    });
    grains
}

fn contacts_of_the_ball(world: &World) -> usize {
    let is_of_ball = |arms: [f64; 2]| arms[0].max(arms[1]) > 0.5 * LARGE;
    world.contacts().filter(|(c, _)| is_of_ball(c.arms)).count()
}

fn stepped(mut world: World, threads: usize, steps: usize) -> World {
    world.set_threads(threads);
    for _ in 0..steps {
        world.step().unwrap();
    }
    world
}

fn methods() -> [Method; 2] {
    [sub_stepped(25), whole_step(40, WarmStart::Cold)]
}

#[test]
fn threads_do_not_change_a_bit_of_a_large_grain_among_small_ones() {
    for method in methods() {
        let run = |threads| {
            let def = scene_of(ball_in_layers(), method.clone());
            stepped(World::new(&def).unwrap(), threads, 12)
        };
        let one = run(1);
        assert!(contacts_of_the_ball(&one) > 1000);
        for threads in [2, 3, 7] {
            let many = run(threads);
            assert_eq!(one.grains().position(), many.grains().position());
            assert_eq!(one.grains().state(), many.grains().state());
        }
    }
}

/// They were one serial block with one contact per group.
#[test]
fn contacts_of_a_large_grain_are_spread_over_blocks_and_lanes() {
    let world = World::new(&scene_of(ball_in_layers(), sub_stepped(25))).unwrap();
    let world = stepped(world, 1, 1);
    let plan = world.last_problem().plan;
    let of_block = |b: &[u32]| plan.groups[b[1] as usize] - plan.groups[b[0] as usize];
    let largest = plan.blocks.windows(2).map(of_block).max().unwrap() as usize;
    assert!(contacts_of_the_ball(&world) > 1000);
    assert!(
        largest < plan.contacts() / 8,
        "{largest} of {}",
        plan.contacts()
    );
    assert!(plan.fill() > 0.6, "lanes are filled to {}", plan.fill());
}

/// One ball, and another that hits it: that contact is between the undivided grains.
#[test]
fn momentum_is_conserved_to_rounding_with_large_grains() {
    let one = ball_in_layers();
    let mut two = one.clone();
    two.push(ListedGrain {
        velocity: DVec3::new(0.1, 0.0, -1.0),
        ..grain(DVec3::Z * (1.9999 * LARGE), LARGE)
    });
    let cases = methods().map(|m| [(one.clone(), m.clone()), (two.clone(), m)]);
    for (grains, method) in cases.into_iter().flatten() {
        let momentum = |world: &World| -> (DVec3, f64) {
            let momenta = world
                .grains()
                .state()
                .iter()
                .map(|b| b.velocity / b.inverse_mass);
            momenta.fold((DVec3::ZERO, 0.0), |(sum, size), p| {
                (sum + p, size + p.length())
            })
        };
        let mut world = World::new(&scene_of(grains, method)).unwrap();
        let (before, _) = momentum(&world);
        let ball = world
            .grains()
            .radius()
            .iter()
            .position(|&r| r == LARGE)
            .unwrap();
        let ball_before = world.grains().state()[ball].velocity;
        world.set_threads(2);
        let touching: usize = (0..20).map(|_| world.step().unwrap().touching).sum();
        assert!(touching > 1000, "{touching} contacts");
        let (after, size) = momentum(&world);
        assert!(before.distance(after) < 1e-12 * size, "{before} {after}");
        let change = world.grains().state()[ball].velocity.distance(ball_before);
        assert!(change > 1e-7, "the ball must feel the grains: {change} m/s");
    }
}

/// Copies of the large grain must not change what the sweeps converge to.
#[test]
fn the_solution_is_that_of_the_undivided_grain() {
    for (friction, tolerance) in [(0.0, 1e-9), (0.5, 1e-6)] {
        let solve = |plain| {
            let method = Method::WholeStep(WholeStep {
                sweeps: 20_000,
                tolerance: Some(1e-12),
                warm_start: WarmStart::Cold,
                ..Default::default()
            });
            let mut def = scene_of(ball_in_layers(), method);
            // The impact stage has no tolerance: no impacts.
            def.contact.impact_speed = Some(10.0);
            def.pairs[0].law = PairLaw {
                friction,
                ..smooth()
            };
            let mut world = World::new(&def).unwrap();
            world.set_plain_order(plain);
            assert!(world.step().unwrap().converged);
            world
        };
        let (divided, undivided) = (solve(false), solve(true));
        assert!(contacts_of_the_ball(&divided) > 1000);
        let pairs = divided
            .grains()
            .state()
            .iter()
            .zip(undivided.grains().state());
        let scale = 0.1;
        for (one, two) in pairs {
            let off = one.velocity.distance(two.velocity) / scale;
            assert!(off < tolerance, "off by {off}");
        }
        // Of the ball, what the grains changed.
        let ball = divided
            .grains()
            .radius()
            .iter()
            .position(|&r| r == LARGE)
            .unwrap();
        let [one, two] = [&divided, &undivided].map(|world| world.grains().state()[ball].velocity);
        let change = one.distance(DVec3::new(0.05, 0.02, -0.3));
        assert!(one.distance(two) < 1e-4 * change, "{one} {two} {change}");
    }
}

/// All pairs that overlap before or after a step are contacts of the step.
#[test]
fn no_contact_of_a_moving_large_grain_is_missed() {
    let mut grains = layers(2, 700);
    for grain in &mut grains {
        // Room to move: twice the distances.
        grain.position *= 1.02;
    }
    grains.push(ListedGrain {
        velocity: DVec3::new(0.3, -0.2, -1.5),
        angular_velocity: DVec3::X,
        ..grain(DVec3::ZERO, LARGE)
    });
    let mut def = scene_of(grains, sub_stepped(25));
    def.step = 5e-4;
    let mut world = World::new(&def).unwrap();
    let overlapping = |world: &World| -> Vec<[u32; 2]> {
        let (x, r) = (world.grains().position(), world.grains().radius());
        let mut pairs = Vec::new();
        for i in 0..x.len() {
            for j in i + 1..x.len() {
                // More than rounding leaves.
                let reach = r[i] + r[j] - 1e-9;
                if x[i].distance_squared(x[j]) < reach * reach {
                    pairs.push([i as u32, j as u32]);
                }
            }
        }
        pairs
    };
    let (mut of_ball, mut before) = (0, overlapping(&world));
    for _ in 0..40 {
        world.step().unwrap();
        let mut known: Vec<[u32; 2]> = world
            .contacts()
            .filter_map(|(c, _)| match c.partner {
                Partner::Grain(j) => Some([c.grain.min(j), c.grain.max(j)]),
                Partner::Wall(_) => None,
            })
            .collect();
        known.sort_unstable();
        let after = overlapping(&world);
        for pair in before.iter().chain(&after) {
            assert!(known.binary_search(pair).is_ok(), "{pair:?} was missed");
        }
        of_ball = of_ball.max(contacts_of_the_ball(&world));
        before = after;
    }
    assert!(of_ball > 100, "{of_ball} contacts of the ball");
}

/// Prints times per step and contact; run with `--ignored --nocapture`.
#[test]
#[ignore = "measures instead of checking"]
fn time_per_contact() {
    for (name, count) in [("cap", 5_000), ("buried", 40_000)] {
        for with_ball in [false, true] {
            for threads in [1, 2, 4, 8, 16] {
                if std::thread::available_parallelism().is_ok_and(|n| n.get() < threads) {
                    continue;
                }
                let mut grains = layers(4, count);
                if with_ball {
                    grains.push(grain(DVec3::ZERO, LARGE));
                }
                let mut world = World::new(&scene_of(grains, sub_stepped(25))).unwrap();
                world.set_threads(threads);
                let mut best = [f64::INFINITY; 4];
                let mut contacts = 0;
                for _ in 0..12 {
                    let report = world.step().unwrap();
                    contacts = report.contacts;
                    let stages = [
                        Stage::FindPairs,
                        Stage::Collide,
                        Stage::Assemble,
                        Stage::Advance,
                    ];
                    for (best, stage) in best.iter_mut().zip(stages) {
                        *best = best.min(report.times.get(stage).as_secs_f64());
                    }
                }
                let of_ball = world
                    .contacts()
                    .filter(|(c, _)| c.arms[1] > 0.1 || c.arms[0] > 0.1);
                println!(
                    "{name} ball {with_ball} threads {threads}: {contacts} contacts, {} of the ball; ms {:.2?}; advance {:.2} ns per contact and sweep",
                    of_ball.count(),
                    best.map(|t| 1e3 * t),
                    1e9 * best[3] / contacts as f64 / 25.0,
                );
            }
        }
    }
}
