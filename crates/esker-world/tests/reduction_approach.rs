//! Walls that move relative to frozen grains, and groups of these that meet each other.

use std::sync::Arc;

use esker_geometry::{Face, OpenFaces, Pose, Region, Side, TriangleMesh, TriangleSoup, WallShape};
use esker_world::World;
use esker_world::definition::*;
use glam::{DQuat, DVec3};

const D: f64 = 0.01;

/// Glass beads between these corners, in these walls.
fn scene(walls: Vec<WallDef>, beds: &[[DVec3; 2]], reduction: Option<Reduction>) -> WorldDef {
    let packing = |[low, high]: &[DVec3; 2]| PackingDef {
        material: 0,
        shape: None,
        velocity: DVec3::ZERO,
        placement: Placement::Lattice {
            region: Region::Box {
                half_extents: 0.5 * (*high - *low),
                pose: Pose::from_position(0.5 * (*low + *high)),
            },
            spacing: None,
            jitter: 0.0,
            count: None,
            sizes: SizeDistribution::Uniform {
                min: 0.499 * D,
                max: 0.5 * D,
            },
        },
    };
    let law = PairLaw {
        friction: 0.6,
        rolling: 0.1,
        ..Default::default()
    };
    WorldDef {
        reduction,
        materials: vec![Material {
            name: "glass".into(),
            density: 2500.0,
            young: 5e7,
            poisson: 0.3,
        }],
        pairs: vec![PairDef {
            materials: [0, 0],
            law,
        }],
        packings: beds.iter().map(packing).collect(),
        walls,
        step: 2e-3,
        ..Default::default()
    }
}

/// The same with beds that are no lattices once they have fallen.
fn disordered(def: WorldDef) -> WorldDef {
    let mut def = def;
    for packing in &mut def.packings {
        if let Placement::Lattice {
            spacing,
            jitter,
            sizes,
            ..
        } = &mut packing.placement
        {
            (*spacing, *jitter) = (Some(1.1 * D), 0.9);
            *sizes = SizeDistribution::Uniform {
                min: 0.4 * D,
                max: 0.5 * D,
            };
        }
    }
    def
}

/// A wall that is a box of this size, m.
fn block(name: &str, centre: DVec3, size: DVec3) -> WallDef {
    let shape = WallShape::Box {
        half_extents: 0.5 * size,
        side: Side::Outside,
        open: OpenFaces::NONE,
    };
    WallDef::new(name, shape, Pose::from_position(centre))
}

fn translate(velocity: DVec3, start: f64, stop: f64) -> Motion {
    Motion::Translate {
        velocity,
        start,
        stop,
    }
}

/// The bin that [`bed`] fills.
fn bin() -> WallDef {
    let shape = WallShape::Box {
        half_extents: DVec3::new(0.05, 0.03, 0.1),
        side: Side::Inside,
        open: OpenFaces::NONE.with(Face::Top),
    };
    WallDef::new("bin", shape, Pose::from_position(DVec3::Z * 0.1))
}

fn bed() -> [DVec3; 2] {
    [DVec3::new(-0.05, -0.03, 0.0), DVec3::new(0.05, 0.03, 0.04)]
}

/// A bed of columns in a bin, and a plunger that is driven into it from 1 s on.
fn plunger(reduction: Option<Reduction>) -> WorldDef {
    let plunger = WallDef {
        motion: translate(DVec3::NEG_Z * 0.05, 1.0, 1.7),
        ..block("plunger", DVec3::Z * 0.08, DVec3::new(0.03, 0.03, 0.05))
    };
    scene(vec![bin(), plunger], &[bed()], reduction)
}

fn run(world: &mut World, seconds: f64) {
    let end = world.time() + seconds;
    while world.time() < end - 0.5 * world.step_length() {
        world.step().unwrap();
    }
}

/// Deepest overlap of two grains, frozen or not, and of a grain with a wall, in diameters.
fn deepest_overlap(world: &World) -> f64 {
    let all = world.all_grains();
    let (places, radii) = (all.position(), all.radius());
    let mut deepest = 0.0_f64;
    let mut touches = Vec::new();
    for i in 0..all.len() {
        for j in 0..i {
            deepest = deepest.max(radii[i] + radii[j] - places[i].distance(places[j]));
        }
        for wall in world.walls().iter().filter(|wall| wall.is_present) {
            touches.clear();
            let place = wall.pose.to_local(places[i]);
            wall.shape.touches(place, radii[i], 0.0, &mut touches);
            deepest = touches
                .iter()
                .fold(deepest, |d, touch| d.max(touch.overlap));
        }
    }
    deepest / D
}

/// Runs on, and finds the deepest overlap on the way.
fn run_looking(world: &mut World, seconds: f64) -> f64 {
    let end = world.time() + seconds;
    let mut deepest = 0.0_f64;
    while world.time() < end - 0.5 * world.step_length() {
        world.step().unwrap();
        if world.steps_done().is_multiple_of(4) {
            deepest = deepest.max(deepest_overlap(world));
        }
    }
    deepest
}

fn frozen_share(world: &World) -> f64 {
    world.frozen_count() as f64 / world.grain_count() as f64
}

/// The work that walls but the first do from now on for so long, s, the length of the impulse that
/// they get, and the deepest overlap.
fn pressed(world: &mut World, seconds: f64) -> [f64; 3] {
    let loads = |world: &World| {
        let loads = world.walls()[1..].iter().map(|wall| wall.total_load);
        loads.fold([0.0; 2], |[work, impulse], load| {
            [work + load.work, impulse + load.impulse.length()]
        })
    };
    let before = loads(world);
    let overlap = run_looking(world, seconds);
    let after = loads(world);
    [after[0] - before[0], after[1] - before[1], overlap]
}

/// It did no work, went through the bed, and the verdict was good.
#[test]
fn a_plunger_does_the_same_work_on_a_frozen_bed_as_on_a_free_one() {
    let [full, reduced] = [None, Some(Reduction::default())].map(|reduction| {
        let mut world = World::new(&plunger(reduction)).unwrap();
        run(&mut world, 1.0);
        assert!(reduction.is_none() || frozen_share(&world) == 1.0);
        pressed(&mut world, 0.7)
    });
    assert!(full[0] > 5.0, "{} J", full[0]);
    for k in 0..2 {
        let ratio = reduced[k] / full[k];
        assert!((ratio - 1.0).abs() < 0.03, "{reduced:?}, not {full:?}");
    }
    assert!(reduced[2] < 1.2 * full[2], "{reduced:?}, not {full:?}");
}

/// One bed jams under the plunger where another one does not yet: the mean of some.
#[test]
fn a_plunger_presses_frozen_disordered_beds_as_free_ones() {
    let [low, high] = bed();
    let mut sums = [[0.0; 3]; 2];
    for seed in 1..7 {
        let mut def = plunger(None);
        def.walls[1].pose.position.z += 0.005;
        def = disordered(scene(def.walls, &[[low, high + DVec3::Z * 0.02]], None));
        def.seed = seed;
        let mut full = World::new(&def).unwrap();
        run(&mut full, 0.7);
        def.reduction = Some(Reduction::default());
        let mut reduced = World::restore(&def, full.state()).unwrap();
        run(&mut full, 0.3);
        run(&mut reduced, 0.3);
        assert!(frozen_share(&reduced) > 0.9, "{}", frozen_share(&reduced));
        for (world, sums) in [&mut full, &mut reduced].into_iter().zip(&mut sums) {
            assert_eq!(world.walls()[1].total_load.work, 0.0);
            let of = pressed(world, 0.6);
            for k in 0..3 {
                sums[k] += of[k];
            }
        }
    }
    let [full, reduced] = sums;
    for k in 0..2 {
        let ratio = reduced[k] / full[k];
        assert!((ratio - 1.0).abs() < 0.15, "{reduced:?}, not {full:?}");
    }
    assert!(reduced[2] < 1.2 * full[2], "{reduced:?}, not {full:?}");
}

/// The box of this size, m, as a mesh.
fn mesh_of_box(size: DVec3) -> WallShape {
    let corner = |k: u32| {
        let along = |axis: u32| f64::from(k >> axis & 1) - 0.5;
        DVec3::new(along(0), along(1), along(2)) * size
    };
    let faces = [
        [0, 2, 3, 1],
        [4, 5, 7, 6],
        [0, 1, 5, 4],
        [2, 6, 7, 3],
        [0, 4, 6, 2],
        [1, 3, 7, 5],
    ];
    let halves = |[a, b, c, d]: [u32; 4]| [[a, b, c], [a, c, d]];
    let soup = TriangleSoup {
        vertices: (0..8).map(corner).collect(),
        triangles: faces.into_iter().flat_map(halves).collect(),
    };
    WallShape::Mesh(Arc::new(TriangleMesh::new(soup).unwrap()))
}

/// A belt that carries a bed against a scraper, which is a box or a mesh.
fn scraper(is_mesh: bool, reduction: Option<Reduction>) -> WorldDef {
    let belt = WallDef {
        surface_velocity: DVec3::X * 0.1,
        ..WallDef::new("belt", WallShape::HalfSpace, Pose::IDENTITY)
    };
    let size = DVec3::new(0.01, 0.2, 0.06);
    let mut scraper = block("scraper", DVec3::new(0.12, 0.0, 0.03), size);
    if is_mesh {
        scraper.shape = mesh_of_box(size);
    }
    let [low, high] = bed();
    let deep = [low - DVec3::X * 0.1, high];
    disordered(scene(vec![belt, scraper], &[deep], reduction))
}

/// It was carried through the scraper.
#[test]
fn a_scraper_holds_a_frozen_bed_that_a_belt_carries() {
    for is_mesh in [false, true] {
        let [full, reduced] = [None, Some(Reduction::default())].map(|reduction| {
            let mut world = World::new(&scraper(is_mesh, reduction)).unwrap();
            run(&mut world, 0.6);
            let frozen = frozen_share(&world);
            assert!(reduction.is_none() || frozen > 0.8, "{frozen}");
            let overlap = run_looking(&mut world, 1.4);
            let all = world.all_grains();
            let through = all.position().iter().filter(|x| x.x > 0.115 && x.z < 0.06);
            let load = &world.walls()[1].total_load;
            [through.count() as f64, load.impulse.x, overlap]
        });
        // Some fall over it.
        assert!(
            (full[0] - reduced[0]).abs() < 5.0,
            "{reduced:?}, not {full:?}"
        );
        assert!(
            (reduced[1] / full[1] - 1.0).abs() < 0.1,
            "{reduced:?}, not {full:?}"
        );
        assert!(reduced[2] < 1.2 * full[2], "{reduced:?}, not {full:?}");
    }
}

/// A plate under a shelf carries a layer of grains against the layer on the shelf, of which the
/// first ones lie at its edge: they are met before the shelf is.
#[test]
fn grains_frozen_to_a_plate_push_those_frozen_to_a_shelf() {
    let plate = WallDef {
        motion: translate(DVec3::X * 0.05, 0.0, f64::INFINITY),
        ..block(
            "plate",
            DVec3::new(0.0, 0.0, -0.008),
            DVec3::new(0.4, 0.08, 0.01),
        )
    };
    let shelf = block(
        "shelf",
        DVec3::new(0.2, 0.0, -0.001),
        DVec3::new(0.2, 0.08, 0.002),
    );
    let carried = [
        DVec3::new(0.0, -0.021, -0.003),
        DVec3::new(0.062, 0.021, 0.0075),
    ];
    let at_rest = [
        DVec3::new(0.096, -0.021, 0.0),
        DVec3::new(0.158, 0.021, 0.0105),
    ];
    let [full, reduced] = [None, Some(Reduction::default())].map(|reduction| {
        let def = scene(
            vec![plate.clone(), shelf.clone()],
            &[carried, at_rest],
            reduction,
        );
        let mut world = World::new(&def).unwrap();
        run(&mut world, 0.3);
        assert!(reduction.is_none() || frozen_share(&world) > 0.95);
        // The first ones touch each other after 0.71 s, and would meet the shelf after 0.78 s.
        let overlap = run_looking(&mut world, 0.46);
        let all = world.all_grains();
        let order = all.in_id_order();
        let on_shelf = &order[all.len() / 2..];
        let pushed = on_shelf.iter().map(|&i| all.position()[i].x).sum::<f64>();
        [overlap, pushed / on_shelf.len() as f64]
    });
    assert!(reduced[0] < full[0] + 1e-3, "{reduced:?}, not {full:?}");
    assert!(full[1] > 0.1273, "{full:?}");
    assert!(
        (full[1] - reduced[1]).abs() < 0.02 * D,
        "{reduced:?}, not {full:?}"
    );
}

/// Neither a paddle above a bed, nor a lid that moves away from it, nor a shell that rotates around
/// the bin concerns anybody.
#[test]
fn a_wall_that_moves_far_from_frozen_grains_wakes_nobody() {
    let paddle = WallDef {
        motion: Motion::Rotate {
            axis: DVec3::Z,
            centre: DVec3::ZERO,
            rate: 3.0,
            start: 0.0,
            stop: f64::INFINITY,
        },
        ..block("paddle", DVec3::Z * 0.06, DVec3::new(0.08, 0.01, 0.02))
    };
    let lid = WallDef {
        motion: translate(DVec3::Z * 0.05, 0.0, f64::INFINITY),
        ..WallDef::new(
            "lid",
            WallShape::HalfSpace,
            Pose::new(
                DVec3::Z * 0.08,
                DQuat::from_rotation_x(std::f64::consts::PI),
            ),
        )
    };
    let shell = WallDef {
        motion: paddle.motion.clone(),
        ..WallDef::new(
            "shell",
            WallShape::Cylinder {
                radius: 0.0595,
                length: 0.3,
                side: Side::Inside,
                open: OpenFaces::ENDS,
            },
            Pose::IDENTITY,
        )
    };
    let walls = vec![bin(), paddle, lid, shell];
    let mut world = World::new(&scene(walls, &[bed()], Some(Reduction::default()))).unwrap();
    run(&mut world, 0.4);
    assert_eq!(frozen_share(&world), 1.0);
    let before = *world.reduction().unwrap();
    for _ in 0..400 {
        world.step().unwrap();
        let now = world.reduction().unwrap();
        assert_eq!(now.splits(), before.splits());
    }
}

/// Who touched a wall of another group stayed free for ever, though it stood still.
#[test]
fn a_wall_of_another_group_that_stands_still_beside_a_bed_lets_it_freeze() {
    let mut pusher = block("pusher", DVec3::X * -0.06, DVec3::new(0.02, 0.06, 0.2));
    pusher.motion = translate(DVec3::X * 0.1, 0.5, 0.75);
    let [low, high] = bed();
    let beds = [[low, high + DVec3::Z * 0.02]];
    let mut def = disordered(scene(vec![bin(), pusher], &beds, None));
    def.reduction = Some(Reduction {
        refresh_time: 1e4,
        ..Default::default()
    });
    let mut world = World::new(&def).unwrap();
    run(&mut world, 2.0);
    let pushed = world.walls()[1].load.force.x;
    assert!(pushed < -1.0, "{pushed} N");
    assert!(frozen_share(&world) > 0.95, "{:?}", world.reduction());
    let totals = *world.reduction().unwrap();
    run(&mut world, 0.4);
    let merges = world.reduction().unwrap().merges - totals.merges;
    assert!(merges < 10, "{merges}");
}

/// What a plate that has stopped carries is frozen to it, and what a shelf carries to that.
#[test]
fn beds_on_walls_that_have_stopped_are_frozen() {
    let size = DVec3::new(0.1, 0.06, 0.01);
    let plate = WallDef {
        motion: translate(DVec3::Z * 0.05, 0.0, 0.2),
        ..block("plate", DVec3::Z * -0.005, size)
    };
    let shelf = block("shelf", DVec3::new(0.2, 0.0, -0.005), size);
    let [low, high] = [
        DVec3::new(-0.03, -0.02, 0.0),
        DVec3::new(0.03, 0.02, 0.0105),
    ];
    let beds = [0.0, 0.2].map(|x| [low, high].map(|corner| corner + DVec3::X * x));
    let def = scene(vec![plate, shelf], &beds, Some(Reduction::default()));
    let mut world = World::new(&def).unwrap();
    run(&mut world, 0.4);
    let all = world.all_grains();
    for (id, x) in all.id().iter().zip(all.position()) {
        let group = if x.x < 0.1 { 1 } else { 2 };
        assert_eq!(world.aggregate_of(*id), group, "{x}");
    }
}

/// A plane that comes down on a bed used to pass it.
#[test]
fn a_plane_that_comes_down_on_a_frozen_bed_wakes_its_surface_first() {
    let turned = DQuat::from_rotation_x(std::f64::consts::PI);
    let lid = WallDef {
        motion: translate(DVec3::NEG_Z * 0.02, 0.0, f64::INFINITY),
        ..WallDef::new(
            "lid",
            WallShape::HalfSpace,
            Pose::new(DVec3::Z * 0.09, turned),
        )
    };
    let mut world = World::new(&scene(
        vec![bin(), lid],
        &[[bed()[0], bed()[1] + DVec3::Z * 0.04]],
        Some(Reduction {
            refresh_time: 1e4,
            ..Default::default()
        }),
    ))
    .unwrap();
    run(&mut world, 0.4);
    assert_eq!(frozen_share(&world), 1.0);
    let mut steps = 0;
    while world.frozen_count() == world.grain_count() {
        world.step().unwrap();
        steps += 1;
        assert!(steps < 600, "nobody is woken");
    }
    let top = |world: &World| {
        let all = world.all_grains();
        all.position().iter().fold(0.0, |top, x| f64::max(top, x.z)) + 0.5 * D
    };
    let gap = world.walls()[1].pose.position.z - top(&world);
    assert!(gap > -1e-3 * D && gap < 0.05 * D, "{gap} m");
    let all = world.all_grains();
    for (id, x) in all.id().iter().zip(all.position()) {
        // Two layers around those that are met first.
        let is_frozen = world.aggregate_of(*id) > 0;
        assert!(is_frozen || x.z > top(&world) - 3.2 * D, "{x} is free");
    }
}

/// A belt beside a bed rubs on those that touch it: they stay free, all others are frozen once.
#[test]
fn who_touches_a_wall_that_moves_along_itself_stays_free_and_nobody_else() {
    let side = WallDef {
        surface_velocity: DVec3::X * 0.02,
        ..WallDef::new(
            "side",
            WallShape::HalfSpace,
            Pose::new(
                DVec3::Y * -0.029,
                DQuat::from_rotation_x(-std::f64::consts::FRAC_PI_2),
            ),
        )
    };
    let shape = WallShape::Cylinder {
        radius: 0.0501,
        length: 0.2,
        side: Side::Outside,
        open: OpenFaces::NONE,
    };
    let shell = WallDef {
        motion: Motion::Rotate {
            axis: DVec3::Y,
            centre: DVec3::ZERO,
            rate: 0.4,
            start: 0.0,
            stop: f64::INFINITY,
        },
        ..WallDef::new(
            "shell",
            shape,
            Pose::new(
                DVec3::new(0.094, 0.0, 0.025),
                DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2),
            ),
        )
    };
    for wall in [side, shell] {
        let name = wall.name.clone();
        let [low, high] = bed();
        let mut def = scene(vec![bin(), wall], &[[low, high + DVec3::Z * 0.03]], None);
        def.reduction = Some(Reduction {
            refresh_time: 1e4,
            ..Default::default()
        });
        let mut world = World::new(&disordered(def)).unwrap();
        run(&mut world, 2.0);
        let before = *world.reduction().unwrap();
        let (steps, mut rubbed) = (200, 0);
        for _ in 0..steps {
            world.step().unwrap();
            let all = world.all_grains();
            let wall = &world.walls()[1];
            for (i, (id, x)) in all.id().iter().zip(all.position()).enumerate() {
                let mut touches = Vec::new();
                let place = wall.pose.to_local(*x);
                wall.shape
                    .touches(place, all.radius()[i], -1e-5 * D, &mut touches);
                assert!(
                    touches.is_empty() || world.aggregate_of(*id) == 0,
                    "{name}: {x}"
                );
                rubbed += touches.len();
            }
        }
        let share = frozen_share(&world);
        let merges = world.reduction().unwrap().merges - before.merges;
        // Grains roll away from the shell until it does not touch anybody.
        assert!(
            name == "shell" || rubbed > 10 * steps as usize,
            "{name}: {rubbed}"
        );
        assert!(share > 0.5, "{name}: {share}");
        assert!(
            merges < steps * world.grain_count() as u64 / 20,
            "{name}: {merges}"
        );
    }
}

#[test]
fn beds_that_walls_wake_have_the_same_bits_on_any_number_of_threads_and_after_a_restart() {
    let reduction = Some(Reduction::default());
    let mut belt = scraper(false, reduction);
    belt.walls[1].pose.position.x = 0.1;
    for (def, begins) in [(plunger(reduction), 1.3), (belt, 0.3)] {
        let mut reference = World::new(&def).unwrap();
        let mut others = [2, 4].map(|threads| {
            let mut world = World::new(&def).unwrap();
            world.set_threads(threads);
            world
        });
        run(&mut reference, begins);
        others.iter_mut().for_each(|world| run(world, begins));
        for step in 0..150 {
            reference.step().unwrap();
            let hash = reference.all_grains().state_hash();
            for world in &mut others {
                world.step().unwrap();
                assert_eq!(world.all_grains().state_hash(), hash, "step {step}");
            }
            if step % 3 == 0 {
                let state = others[0].state();
                others[0] = World::restore(&def, state.clone()).unwrap();
                others[0].set_threads(3);
                assert!(others[0].state() == state, "restored after step {step}");
            }
        }
        assert!(
            others
                .iter()
                .all(|world| world.state() == reference.state())
        );
        let totals = reference.reduction().unwrap();
        assert!(totals.split_by_impact > 5, "{totals:?}");
    }
}

#[test]
fn a_plunger_presses_a_bed_with_trial_steps_too() {
    let trial = Reduction {
        split: Split::Trial(Trial::default()),
        ..Default::default()
    };
    let [full, tried] = [None, Some(trial)].map(|reduction| {
        let mut world = World::new(&plunger(reduction)).unwrap();
        run(&mut world, 1.0);
        assert!(reduction.is_none() || frozen_share(&world) == 1.0);
        pressed(&mut world, 0.7)
    });
    assert!(
        (tried[0] / full[0] - 1.0).abs() < 0.05,
        "{tried:?}, not {full:?}"
    );
    assert!(tried[2] < 1.2 * full[2], "{tried:?}, not {full:?}");
}
