//! Periodic boundaries: nothing in the world knows where they are.

mod common;

use common::*;
use esker_geometry::{DQuat, OpenFaces, Pose, Region, Side, WallShape};
use esker_world::World;
use esker_world::definition::*;
use glam::DVec3;

const RADIUS: f64 = 5e-3;
const WIDTH: f64 = 0.1;

fn methods() -> [Method; 3] {
    [
        sub_stepped(10),
        whole_step(30, history(0.85)),
        Method::Smooth(Smooth {
            substeps: 200,
            ..Default::default()
        }),
    ]
}

/// A crowd of grains with random velocities in a box that is periodic along
/// the first `axes` axes, its lower corner here.
fn gas(method: Method, axes: usize, corner: DVec3) -> WorldDef {
    let law = PairLaw {
        restitution: 0.8,
        friction: 0.3,
        ..Default::default()
    };
    let mut def = scene(material(2500.0, 5e7, 0.3), law, method, 5e-4);
    def.gravity = DVec3::ZERO;
    for axis in 0..axes {
        def.periodic[axis] = Some([corner[axis], corner[axis] + WIDTH]);
    }
    let mut state = 5_u64;
    let mut random = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    };
    let mut vector = || DVec3::new(random(), random(), random());
    let mut grains = Vec::new();
    for k in 0..8 * 8 * 8 {
        let place = [k % 8, k / 8 % 8, k / 64].map(f64::from);
        // Positions are whole numbers of 2^-13 m, so that shifts are exact.
        let place = (DVec3::from(place) + 0.5) * (WIDTH / 8.0) + vector() * 1e-3;
        let place = (place * 8192.0).round() / 8192.0;
        grains.push(ListedGrain {
            velocity: vector() * 2.0,
            ..grain(corner + place, RADIUS)
        });
    }
    def.packings = vec![listed(grains)];
    def
}

fn momentum(world: &World) -> DVec3 {
    let g = world.grains();
    g.state()
        .iter()
        .zip(g.mass())
        .map(|(s, m)| s.velocity * *m)
        .sum()
}

fn is_inside(def: &WorldDef, world: &World) -> bool {
    let mut positions = world.grains().position().iter();
    positions.all(|x| {
        (0..3).all(|k| def.periodic[k].is_none_or(|[low, high]| (low..high).contains(&x[k])))
    })
}

#[test]
fn momentum_is_conserved_across_boundaries() {
    for method in methods() {
        for axes in 1..=3 {
            let def = gas(method.clone(), axes, DVec3::splat(-0.03));
            let mut world = build(&def);
            let scale: f64 = world.grains().mass().iter().sum();
            let (before, energy) = (momentum(&world), world.grains().kinetic_energy());
            let mut across = 0;
            for _ in 0..200 {
                world.step().expect("finite");
                across += contacts_across(&world);
                assert!(is_inside(&def, &world));
            }
            let drift = momentum(&world).distance(before) / scale;
            assert!(
                drift < 1e-13,
                "{drift:.1e} m/s with {axes} axes, {method:?}"
            );
            assert!(world.grains().kinetic_energy() < energy);
            assert!(across > 50, "{across} contacts across boundaries");
        }
    }
}

/// Contacts, predicted ones included, of grains that are far apart but for
/// their images.
fn contacts_across(world: &World) -> usize {
    let positions = world.grains().position();
    world
        .contacts()
        .filter(|(c, _)| match c.partner {
            esker_world::Partner::Grain(j) => {
                positions[c.grain as usize].distance(positions[j as usize]) > 0.5 * WIDTH
            }
            esker_world::Partner::Wall(_) => false,
        })
        .count()
}

/// Largest distance of grains of two worlds but for whole periods, m.
fn difference(here: &World, there: &World) -> f64 {
    let place = |world: &World| {
        let order = world.grains().in_id_order();
        let positions = order.into_iter().map(|i| world.grains().position()[i]);
        positions.collect::<Vec<DVec3>>()
    };
    let offsets = place(here).into_iter().zip(place(there));
    let offsets = offsets.map(|(a, b)| a - b - ((a - b) / WIDTH).round() * WIDTH);
    offsets.map(DVec3::length).fold(0.0, f64::max)
}

/// Grains do not know where the boundary is: with it shifted by half a period
/// everything goes on as before, to rounding. (Sweeps only until grains meet
/// others by twos: from then on their order counts, and that follows places.)
#[test]
fn results_do_not_depend_on_where_the_boundary_is() {
    for (method, steps) in methods().into_iter().zip([3, 4, 20]) {
        let here = gas(method.clone(), 3, DVec3::ZERO);
        let mut there = here.clone();
        for range in there.periodic.iter_mut().flatten() {
            *range = range.map(|end| end - 0.5 * WIDTH);
        }
        let (mut here, mut there) = (build(&here), build(&there));
        let mut across = 0;
        for _ in 0..steps {
            here.step().expect("finite");
            there.step().expect("finite");
            across += contacts_across(&here);
        }
        let worst = difference(&here, &there);
        assert!(worst < 1e-11, "{worst:.1e} m, {method:?}");
        assert!(across > 0);
    }
}

/// A layer on a frictionless incline that goes on for ever slides with g sin θ.
#[test]
fn a_layer_slides_down_an_endless_frictionless_incline() {
    let slope = 0.5_f64;
    let mut def = scene(pellet(), smooth(), sub_stepped(20), 1e-3);
    def.gravity = inclined_gravity(slope);
    let width = 12.0 * 2.0 * PELLET_RADIUS;
    def.periodic = [Some([0.0, width]), Some([0.0, width]), None];
    def.walls = vec![floor()];
    let spacing = width / 12.0;
    let grains = (0..12 * 12 * 4).map(|k| {
        let place = DVec3::from([k % 12, k / 12 % 12, k / 144].map(f64::from));
        grain((place + 0.5) * spacing, PELLET_RADIUS)
    });
    def.packings = vec![listed(grains.collect())];
    let mut world = build(&def);
    run(&mut world, 0.5);
    let count = world.grains().len() as f64;
    let mean: DVec3 = world
        .grains()
        .state()
        .iter()
        .map(|s| s.velocity)
        .sum::<DVec3>()
        / count;
    let expected = G * slope.atan().sin() * 0.5;
    assert!(
        (mean.x / expected - 1.0).abs() < 1e-9,
        "{} m/s, not {expected}",
        mean.x
    );
    assert!(mean.y.abs() < 1e-9, "{} m/s sideways", mean.y);
    // It has gone round more than three times.
    assert!(0.5 * expected * 0.5 > 3.0 * width);
}

#[test]
fn threads_and_restarts_give_the_same_bits() {
    let mut def = gas(sub_stepped(10), 2, DVec3::ZERO);
    def.gravity = DVec3::new(1.0, 0.0, -9.81);
    def.walls = vec![floor()];
    let mut one = build(&def);
    let mut many = build(&def);
    many.set_threads(3);
    let mut restored = None;
    for step in 0..120 {
        one.step().expect("finite");
        many.step().expect("finite");
        if step == 60 {
            restored = World::restore(&def, many.state()).ok();
        } else if let Some(world) = &mut restored {
            world.step().expect("finite");
        }
        assert_eq!(
            one.grains().state_hash(),
            many.grains().state_hash(),
            "step {step}"
        );
    }
    let restored = restored.expect("the state fits");
    assert_eq!(one.grains().state_hash(), restored.grains().state_hash());
    assert!(contacts_across(&one) > 0);
}

#[test]
fn an_emitter_leaves_room_for_grains_across_the_boundary() {
    let mut def = scene(pellet(), PairLaw::default(), sub_stepped(10), 1e-3);
    def.gravity = DVec3::ZERO;
    def.periodic = [Some([0.0, WIDTH]), Some([0.0, WIDTH]), Some([0.0, WIDTH])];
    def.emitters = vec![EmitterDef {
        shape: None,
        name: "feed".into(),
        material: 0,
        region: Region::Box {
            // Whole grains reach beyond the box.
            half_extents: DVec3::splat(0.5 * WIDTH + RADIUS),
            pose: Pose::from_position(DVec3::splat(0.5 * WIDTH)),
        },
        rate: Rate::Number(1e5),
        sizes: SizeDistribution::Fixed { radius: RADIUS },
        velocity: DVec3::ZERO,
        total: Total::Unlimited,
        start: 0.0,
        stop: f64::INFINITY,
    }];
    let mut world = build(&def);
    let mut worst: f64 = 0.0;
    let mut across = 0;
    for _ in 0..20 {
        worst = worst.max(world.step().expect("finite").max_overlap);
        across += contacts_across(&world);
        assert!(is_inside(&def, &world));
    }
    assert!(across > 0);
    assert!(worst < 1e-9, "{worst:.1e} diameters of overlap");
}

fn problem(change: impl Fn(&mut WorldDef)) -> String {
    let mut def = gas(sub_stepped(10), 1, DVec3::ZERO);
    change(&mut def);
    match World::new(&def) {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn boxes_that_are_too_narrow_and_walls_that_end_at_a_boundary_are_refused() {
    let narrow = problem(|def| def.periodic[0] = Some([0.0, 7.0 * RADIUS]));
    assert!(
        narrow.contains("periodic.x") && narrow.contains("0.04 m"),
        "{narrow}"
    );
    let with = |shape: WallShape, pose: Pose| {
        problem(move |def| def.walls = vec![wall(shape.clone(), pose)])
    };
    let turned = |axis: DVec3| Pose::new(DVec3::ZERO, DQuat::from_rotation_arc(DVec3::Z, axis));
    assert_eq!(with(WallShape::HalfSpace, turned(DVec3::Y)), "");
    assert!(with(WallShape::HalfSpace, turned(DVec3::X)).contains("continue itself"));
    let pipe = |length: f64| WallShape::Cylinder {
        radius: 1.0,
        length,
        side: Side::Inside,
        open: OpenFaces::ENDS,
    };
    assert_eq!(with(pipe(1.0), turned(DVec3::X)), "");
    assert!(with(pipe(0.1), turned(DVec3::X)).contains("wall.0"));
    assert!(with(pipe(1.0), turned(DVec3::Y)).contains("wall.0"));
    let ball = WallShape::Box {
        half_extents: DVec3::splat(0.02),
        side: Side::Outside,
        open: OpenFaces::NONE,
    };
    assert_eq!(with(ball, Pose::from_position(DVec3::splat(0.05))), "");
}

#[test]
fn grains_that_overlap_across_a_boundary_at_the_start_are_found() {
    let mut def = gas(sub_stepped(10), 1, DVec3::ZERO);
    let pair = |x: f64| {
        listed(vec![
            grain(DVec3::X * x, RADIUS),
            grain(DVec3::X * 0.002, RADIUS),
        ])
    };
    def.packings = vec![pair(0.05)];
    assert!(esker_world::check::find_problems(&def).is_empty());
    def.packings = vec![pair(0.098)];
    let problems = esker_world::check::find_problems(&def);
    assert!(
        problems[0].message.contains("1 pairs of grains overlap"),
        "{problems:?}"
    );
}

/// Who has placed grains to look at them need not place them again.
#[test]
fn a_world_with_grains_that_were_placed_before_is_the_same() {
    let mut def = scene(pellet(), smooth(), sub_stepped(5), 1e-3);
    def.periodic[0] = Some([0.0, 0.2]);
    let region = esker_geometry::Region::Box {
        half_extents: DVec3::splat(0.08),
        pose: Pose::from_position(DVec3::X * 0.15),
    };
    let lattice = PackingDef {
        placement: Placement::Lattice {
            region,
            spacing: None,
            jitter: 0.5,
            count: None,
            sizes: SizeDistribution::Uniform {
                min: 5e-3,
                max: 6e-3,
            },
        },
        ..listed(Vec::new())
    };
    let far = listed(vec![grain(DVec3::new(0.5, 0.0, 1.0), 0.01)]);
    def.packings = vec![lattice, far];
    let placed = esker_world::check::place_grains(&def).unwrap();
    let (before, anew) = (
        World::with_grains_of(&def, placed.clone()).unwrap(),
        build(&def),
    );
    let (before, anew) = (before.grains(), anew.grains());
    assert_eq!(before.count(), placed.count());
    assert_eq!(before.state_hash(), anew.state_hash());
    assert_eq!(
        (before.radius(), before.mass()),
        (anew.radius(), anew.mass())
    );
}
