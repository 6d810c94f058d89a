//! Grains that come, grains that go, and walls that carry them.

mod common;

use common::*;
use esker_geometry::{Pose, Region, WallShape};
use esker_world::World;
use esker_world::definition::*;
use glam::DVec3;

const RADIUS: f64 = 5e-3;

fn emitter(name: &str, x: f64, rate: Rate, total: Total) -> EmitterDef {
    EmitterDef {
        shape: None,
        name: name.into(),
        material: 0,
        region: Region::Box {
            half_extents: DVec3::new(0.1, 0.1, 0.02),
            pose: Pose::from_position(DVec3::new(x, 0.0, 1.0)),
        },
        rate,
        sizes: SizeDistribution::Uniform {
            min: 0.6 * RADIUS,
            max: RADIUS,
        },
        velocity: -DVec3::Z,
        total,
        start: 0.0,
        stop: f64::INFINITY,
    }
}

fn feed(emitters: Vec<EmitterDef>) -> WorldDef {
    WorldDef {
        emitters,
        ..scene(pellet(), PairLaw::default(), sub_stepped(10), 5e-3)
    }
}

fn emitted_mass(world: &World) -> f64 {
    world.grains().mass().iter().sum()
}

#[test]
fn an_emitter_by_number_gives_its_rate_and_stops_at_its_total() {
    let mut world = build(&feed(vec![emitter(
        "a",
        0.0,
        Rate::Number(333.0),
        Total::Number(400),
    )]));
    run(&mut world, 1.0);
    let count = world.grains().len();
    assert!((332..=333).contains(&count), "{count} after one second");
    assert_eq!(world.emitters()[0].progress.emitted as usize, count);
    run(&mut world, 1.0);
    assert_eq!(world.grains().len(), 400);
    assert!(world.emitters()[0].is_finished(world.time()));
    assert_eq!(world.emitters()[0].progress.blocked_steps, 0);
}

#[test]
fn an_emitter_by_mass_gives_its_rate_and_stops_before_its_total() {
    let (rate, total) = (0.5, 0.7);
    let mut world = build(&feed(vec![emitter(
        "a",
        0.0,
        Rate::Mass(rate),
        Total::Mass(total),
    )]));
    let grain = sphere_mass(pellet().density, RADIUS);
    run(&mut world, 1.0);
    let mass = emitted_mass(&world);
    assert!(
        (rate - grain..=rate + 1e-12).contains(&mass),
        "{mass} kg after one second"
    );
    run(&mut world, 1.0);
    let mass = emitted_mass(&world);
    assert!(
        (total - grain..=total).contains(&mass),
        "{mass} kg in the end"
    );
    assert!((world.emitters()[0].progress.mass - mass).abs() < 1e-12);
}

#[test]
fn an_emitter_works_between_its_start_and_its_stop() {
    let mut def = feed(vec![emitter(
        "a",
        0.0,
        Rate::Number(200.0),
        Total::Unlimited,
    )]);
    def.emitters[0].start = 0.5;
    def.emitters[0].stop = 1.0;
    let mut world = build(&def);
    run(&mut world, 0.5);
    assert_eq!(world.grains().len(), 0);
    run(&mut world, 1.0);
    let count = world.grains().len();
    assert!(
        (99..=101).contains(&count),
        "{count} grains in half a second"
    );
}

/// A region that stays full lets no grain appear inside another.
#[test]
fn a_blocked_emitter_waits_and_does_not_overlap_grains() {
    let mut def = feed(vec![emitter("a", 0.0, Rate::Number(1e4), Total::Unlimited)]);
    def.gravity = DVec3::ZERO;
    def.emitters[0].velocity = DVec3::ZERO;
    let mut world = build(&def);
    let mut worst: f64 = 0.0;
    for _ in 0..100 {
        worst = worst.max(world.step().unwrap().max_overlap);
    }
    assert!(world.emitters()[0].progress.blocked_steps > 0);
    assert!(worst < 1e-9, "{worst:.1e} diameters of overlap");
}

fn first_places(world: &World, x: f64) -> Vec<(u64, u64)> {
    let g = world.grains();
    (0..g.len())
        .filter(|&i| (g.position()[i].x - x).abs() < 0.2)
        .map(|i| (g.position()[i].x.to_bits(), g.radius()[i].to_bits()))
        .collect()
}

#[test]
fn emitters_are_reproducible_by_seed_and_independent_of_one_another() {
    let a = || emitter("a", 0.0, Rate::Number(300.0), Total::Unlimited);
    let b = |rate| emitter("b", 1.0, Rate::Number(rate), Total::Unlimited);
    let after = |emitters, seed| {
        let mut def = feed(emitters);
        def.seed = seed;
        let mut world = build(&def);
        run(&mut world, 0.3);
        world
    };
    let alone = after(vec![a()], 7);
    assert!(alone.grains().len() > 50);
    assert_eq!(
        after(vec![a()], 7).grains().state_hash(),
        alone.grains().state_hash()
    );
    assert_ne!(
        after(vec![a()], 8).grains().state_hash(),
        alone.grains().state_hash()
    );
    let places = first_places(&alone, 0.0);
    for rate in [100.0, 700.0] {
        let mut beside = first_places(&after(vec![a(), b(rate)], 7), 0.0);
        let mut places = places.clone();
        beside.sort_unstable();
        places.sort_unstable();
        assert_eq!(beside, places, "a second source changed the first");
    }
}

#[test]
fn sinks_and_bounds_count_what_they_take() {
    let mut def = feed(vec![emitter(
        "a",
        0.0,
        Rate::Number(400.0),
        Total::Number(300),
    )]);
    def.sinks = vec![SinkDef {
        name: "left half".into(),
        region: Region::Box {
            half_extents: DVec3::new(1.0, 1.0, 0.1),
            pose: Pose::from_position(DVec3::new(-1.0, 0.0, 0.0)),
        },
    }];
    def.bounds = Some([DVec3::splat(-2.0), DVec3::splat(2.0)]);
    let mut world = build(&def);
    let (mut emitted, mut removed, mut lost) = (0, 0, 0);
    for _ in 0..600 {
        let report = world.step().unwrap();
        emitted += report.emitted;
        removed += report.removed;
        lost += report.lost;
        assert_eq!(report.grains, emitted - removed - lost);
    }
    assert_eq!((emitted, world.grains().len()), (300, 0));
    assert_eq!(world.lost() as usize, lost);
    let taken = world.sinks()[0].total();
    assert_eq!(taken.number as usize, removed);
    assert!(removed > 100 && lost > 100, "{removed} and {lost}");
    // Numbers and masses only grow, and the mass is that of such grains.
    let rows = &world.sinks()[0].taken;
    assert!(rows.is_sorted_by(|a, b| a.time < b.time && a.number < b.number && a.mass < b.mass));
    let mean = sphere_mass(pellet().density, def.emitters[0].sizes.mean_cube().cbrt());
    assert!(relative(taken.mass, removed as f64 * mean) < 0.1);
}

/// A pellet on a plane that does something.
fn on_moving_floor(motion: Motion, surface_velocity: DVec3, rotation: bool) -> World {
    let law = PairLaw {
        friction: 0.5,
        rolling: 0.3,
        ..Default::default()
    };
    let mut def = scene(pellet(), law, sub_stepped(25), 2e-3);
    def.rotation = rotation;
    def.walls = vec![WallDef {
        motion,
        surface_velocity,
        ..floor()
    }];
    def.packings = vec![listed(vec![grain(
        DVec3::Z * (PELLET_RADIUS - 2.45e-5),
        PELLET_RADIUS,
    )])];
    build(&def)
}

#[test]
fn a_conveyor_brings_a_grain_to_its_speed_at_the_rate_of_friction() {
    let speed = 0.4;
    let mut world = on_moving_floor(Motion::Still, DVec3::X * speed, false);
    run(&mut world, 0.05);
    let v = world.grains().state()[0].velocity.x;
    assert!(relative(v, 0.5 * G * 0.05) < 1e-3, "{v} m/s while it slips");
    run(&mut world, 0.5);
    let v = world.grains().state()[0].velocity.x;
    assert!((v - speed).abs() < 1e-6, "{v} m/s on the belt");
    assert_eq!(world.walls()[0].pose.position, DVec3::ZERO);
}

#[test]
fn a_grain_rests_on_a_floor_that_translates() {
    let velocity = DVec3::new(0.3, 0.0, 0.2);
    let motion = Motion::Translate {
        velocity,
        start: 0.0,
        stop: 0.6,
    };
    let mut world = on_moving_floor(motion, DVec3::ZERO, true);
    run(&mut world, 0.5);
    let v = world.grains().state()[0].velocity;
    assert!((v - velocity).length() < 1e-4, "{v}");
    run(&mut world, 0.5);
    let g = world.grains();
    assert!(g.state()[0].velocity.length() < 1e-4);
    // It was carried up with the floor and lies on it as before.
    let overlap = PELLET_RADIUS - (g.position()[0].z - 0.12);
    assert!(relative(overlap, 2.4515e-5) < 1e-3, "{overlap:.3e} m");
}

#[test]
fn a_grain_follows_a_floor_that_oscillates_gently() {
    let motion = Motion::Oscillate {
        direction: DVec3::Z,
        amplitude: 2e-3,
        frequency: 5.0,
        phase: 0.0,
    };
    let mut world = on_moving_floor(motion.clone(), DVec3::ZERO, true);
    run(&mut world, 0.4);
    for _ in 0..200 {
        world.step().unwrap();
        let height = world.grains().position()[0].z - motion.offset(world.time()).displacement.z;
        assert!(
            (height - PELLET_RADIUS).abs() < 5e-5,
            "{height} m above the floor"
        );
    }
}

#[test]
fn a_grain_follows_a_table_of_displacements_and_angles() {
    // Up by 2 cm in half a second, then a quarter turn about the z axis
    // through a point 5 cm away, which carries the grain round.
    let quarter = std::f64::consts::FRAC_PI_2;
    let motion = Motion::Table {
        times: vec![0.0, 0.5, 2.5],
        displacements: vec![DVec3::ZERO, DVec3::Z * 0.02, DVec3::Z * 0.02],
        angles: vec![0.0, 0.0, quarter],
        axis: DVec3::Z,
        centre: DVec3::X * 0.05,
    };
    let mut world = on_moving_floor(motion, DVec3::ZERO, false);
    run(&mut world, 3.0);
    let x = world.grains().position()[0];
    let expected = DVec3::new(0.05, -0.05, 0.02 + PELLET_RADIUS);
    assert!((x - expected).length() < 1e-3, "{x} for {expected}");
    assert!(world.grains().state()[0].velocity.length() < 1e-4);
}

/// 845 of 3,819 grains came, and nothing was said.
#[test]
fn an_emitter_without_room_counts_what_it_owes() {
    let totals = [Total::Unlimited, Total::Number(5000)];
    for (rate, total) in [Rate::Number(1e4), Rate::Mass(50.0)]
        .into_iter()
        .zip(totals)
    {
        let mut def = feed(vec![emitter("a", 0.0, rate, total)]);
        def.gravity = DVec3::ZERO;
        def.emitters[0].velocity = DVec3::ZERO;
        let mut world = build(&def);
        let mut owed = 0;
        for _ in 0..200 {
            owed = world.step().unwrap().owed;
        }
        let given = world.emitters()[0].progress.emitted;
        let grain = world.grains().mass().iter().sum::<f64>() / given as f64;
        let due = match (rate, total) {
            (_, Total::Number(number)) => number as f64,
            (Rate::Number(rate), _) => rate,
            (Rate::Mass(rate), _) => rate / grain,
        };
        let missing = due - given as f64;
        assert!(missing > 20.0);
        assert!((owed as f64 - missing).abs() < 2.0, "{owed}, not {missing}");
        let restored = World::restore(&def, world.state()).unwrap();
        assert_eq!(restored.emitters()[0].owed(restored.time()), owed);
    }
}

/// A floor that vanishes lets its ball fall on the one below; one that appears
/// holds what arrives then.
#[test]
fn walls_are_there_from_a_time_until_another() {
    let mut def = scene(pellet(), PairLaw::default(), sub_stepped(10), 1e-3);
    let at = |z: f64, from: f64, until: f64| WallDef {
        presence: Presence { from, until },
        ..wall(WallShape::HalfSpace, Pose::from_position(DVec3::Z * z))
    };
    def.walls = vec![at(0.0, 0.0, 0.2), at(-1.0, 0.2, f64::INFINITY)];
    def.packings = vec![listed(vec![grain(DVec3::Z * 0.01, 0.01)])];
    let mut world = build(&def);
    run(&mut world, 0.2);
    assert!((world.grains().position()[0].z - 0.01).abs() < 1e-4);
    run(&mut world, 0.2);
    let fallen = 0.5 * 9.81 * 0.2_f64.powi(2);
    assert!((world.grains().position()[0].z - (0.01 - fallen)).abs() < 0.01);
    let mut restored = World::restore(&def, world.state()).unwrap();
    run(&mut world, 0.8);
    run(&mut restored, 0.8);
    assert!((world.grains().position()[0].z + 0.99).abs() < 1e-4);
    assert_eq!(world.grains().state_hash(), restored.grains().state_hash());
}
