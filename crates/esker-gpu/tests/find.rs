//! Contacts that a device finds are those of the CPU, to the last bit of their geometry.

use std::path::Path;

use esker_gpu::resident::find::{FindNumbers, Finder, SentHistory};
use esker_gpu::resident::grains::ResidentGrains;
use esker_gpu::resident::meshes::Meshes;
use esker_gpu::{Executor, Host};
use esker_world::resident::CandidateRecord;
use esker_world::{AddedGrain, World};
use glam::{DQuat, DVec3};

fn world_after(scene: &str, steps: usize) -> World {
    let scenes = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes");
    let scene = esker_scene::load(scenes.join(scene)).expect("a shipped scene is right");
    let mut world = World::new(&scene.world).expect("a shipped scene has a world");
    advance(&mut world, steps);
    world
}

fn advance(world: &mut World, steps: usize) {
    for _ in 0..steps {
        world.step().expect("a step");
    }
}

/// What names a candidate.
fn name(c: &CandidateRecord) -> [u32; 4] {
    [c.grain, c.is_wall, c.partner, c.feature]
}

fn bits(c: &CandidateRecord) -> [u64; 6] {
    let [x, y, z] = c.normal;
    [x, y, z, c.overlap, c.approach, c.curvature].map(f64::to_bits)
}

/// Compares one search on the CPU and on a device; returns how many were chosen, and what the
/// search left in numbers.
fn compare<E: Executor>(executor: &mut E, world: &mut World) -> (usize, FindNumbers) {
    let expected = world.choose_candidates().expect("a search");
    let mut meshes = Meshes::default();
    let walls = meshes.wall_records(executor, world).unwrap();
    let settings = world.find_settings();
    let mut grains = ResidentGrains::default();
    grains.send(executor, world.grain_rows()).unwrap();
    let mut history = SentHistory::default();
    history.send(executor, &world.held_contacts()).unwrap();
    let mut finder = Finder::default();
    loop {
        finder
            .send(executor, &grains, &walls, settings, history.address())
            .unwrap();
        finder.launch(executor, history.count()).unwrap();
        finder.fetch_numbers().unwrap();
        executor.wait().unwrap();
        if !finder.grow() {
            break;
        }
    }
    let numbers = finder.numbers();
    let (reaches, mut chosen) = finder.fetch_found(executor).unwrap();
    let of_reaches = |reaches: &[f64]| reaches.iter().map(|r| r.to_bits()).collect::<Vec<_>>();
    assert!(
        of_reaches(&reaches) == of_reaches(&expected.reaches),
        "reaches"
    );
    assert_eq!(
        numbers.longest_sleep.to_bits(),
        expected.longest_sleep.to_bits()
    );
    let mut on_cpu = expected.chosen;
    on_cpu.sort_by_key(name);
    chosen.sort_by_key(name);
    assert_eq!(on_cpu.len(), chosen.len(), "candidates that were chosen");
    for (a, b) in on_cpu.iter().zip(&chosen) {
        assert_eq!(name(a), name(b));
        assert_eq!(bits(a), bits(b), "{a:?} and {b:?}");
    }
    println!("{numbers:?}");
    (on_cpu.len(), numbers)
}

fn compare_on_all(mut world: World, steps: usize) {
    let mut most = 0;
    for _ in 0..steps {
        most = most.max(compare(&mut Host::default(), &mut world).0);
        #[cfg(feature = "cuda")]
        if let Ok(mut cuda) = esker_gpu::Cuda::new(0) {
            compare(&mut cuda, &mut world);
        }
        advance(&mut world, 1);
    }
    assert!(most > 10, "there is something to compare");
}

#[test]
fn candidates_of_a_drum_are_those_of_the_cpu() {
    compare_on_all(world_after("drum.toml", 0), 3);
    compare_on_all(world_after("drum.toml", 100), 5);
}

#[test]
fn candidates_of_a_pile_are_those_of_the_cpu() {
    compare_on_all(world_after("pile.toml", 600), 5);
}

#[test]
fn candidates_of_a_hopper_are_those_of_the_cpu() {
    compare_on_all(world_after("hopper.toml", 150), 5);
}

#[test]
fn candidates_of_a_silo_are_those_of_the_cpu() {
    compare_on_all(world_after("silo.toml", 100), 5);
}

#[test]
fn candidates_of_a_conveyor_are_those_of_the_cpu() {
    compare_on_all(world_after("conveyor.toml", 400), 5);
}

#[test]
fn candidates_at_a_mesh_are_those_of_the_cpu() {
    compare_on_all(world_after("lifter-drum.toml", 0), 3);
    compare_on_all(world_after("lifter-drum.toml", 200), 5);
}

/// A grain that moves by so many diameters in a step gets beyond the cells around its own.
#[test]
fn candidates_of_fast_grains_are_those_of_the_cpu() {
    for (diameters, is_anywhere) in [(5.0, false), (40.0, true)] {
        let mut world = world_after("drum.toml", 40);
        let (id, radius) = (world.grains().id()[0], world.grains().radius()[0]);
        let speed = diameters * 2.0 * radius / world.next_step_length();
        world
            .set_velocities(&[id], &[DVec3::Z * speed])
            .expect("the grain is there");
        let (_, numbers) = compare(&mut Host::default(), &mut world);
        assert!(numbers.far > 0, "{numbers:?}");
        assert_eq!(numbers.hit_anywhere > 0, is_anywhere, "{numbers:?}");
        compare_on_all(world, 3);
    }
}

/// A world of resting spheres without walls.
fn world_of(spheres: impl IntoIterator<Item = (DVec3, f64)>) -> World {
    let scenes = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes");
    let mut scene = esker_scene::load(scenes.join("drum.toml")).expect("a shipped scene is right");
    scene.world.walls.clear();
    scene.world.packings.clear();
    let mut world = World::new(&scene.world).expect("a world");
    let added = spheres.into_iter().map(|(position, radius)| AddedGrain {
        position,
        velocity: DVec3::ZERO,
        angular_velocity: DVec3::ZERO,
        orientation: DQuat::IDENTITY,
        radius,
        material: 0,
        shape: None,
    });
    let added: Vec<AddedGrain> = added.collect();
    world.add_grains(&added).expect("grains");
    world
}

/// Numbers without a pattern, from zero to one.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// In a cube about the origin.
    fn place(&mut self, edge: f64) -> DVec3 {
        DVec3::from_array([(); 3].map(|()| edge * (self.next() - 0.5)))
    }
}

fn compare_spheres(spheres: impl IntoIterator<Item = (DVec3, f64)>) -> (usize, FindNumbers) {
    let mut world = world_of(spheres);
    #[cfg(feature = "cuda")]
    if let Ok(mut cuda) = esker_gpu::Cuda::new(0) {
        compare(&mut cuda, &mut world);
    }
    compare(&mut Host::default(), &mut world)
}

/// On all sides of the origin, from one to two hundred times as large as the smallest.
#[test]
fn candidates_of_spheres_of_many_sizes_are_those_of_the_cpu() {
    let mut numbers = Numbers(1);
    let sizes = |k| if k % 50 == 0 { 200.0 } else { 2.0 };
    let spheres = (0..4000).map(|k| {
        let radius = 1e-3 * f64::powf(sizes(k), numbers.next());
        (numbers.place(0.08), radius)
    });
    let (chosen, found) = compare_spheres(spheres);
    assert!(chosen > 4000, "{found:?}");
    assert!(found.levels.count_ones() > 4, "{found:?}");
}

/// Cells of a layer fill a part of every cube of cells.
#[test]
fn candidates_of_a_layer_are_those_of_the_cpu() {
    let mut numbers = Numbers(2);
    let mut of_layer = |up: DVec3| {
        let spheres = (0..20_000).map(|_| (numbers.place(0.2).reject_from(up), 1e-3));
        let (chosen, found) = compare_spheres(spheres);
        assert!(chosen > 20_000, "{found:?}");
    };
    of_layer(DVec3::Z);
    of_layer(DVec3::X);
}

/// More pairs than a thread block keeps, and than there is room for at first.
#[test]
fn candidates_of_a_crowd_are_those_of_the_cpu() {
    let mut numbers = Numbers(3);
    let spheres = (0..400).map(|_| (numbers.place(2e-3), 1e-3));
    let (chosen, found) = compare_spheres(spheres);
    assert!(chosen > 40_000, "{found:?}");
}

/// Spheres beyond the outermost cells of the grid are in these, on either side.
#[test]
fn candidates_far_from_the_origin_are_those_of_the_cpu() {
    let mut numbers = Numbers(4);
    let spheres = (0..900).map(|k| {
        let far = [DVec3::ZERO, DVec3::ONE, DVec3::new(-1.0, 1.0, -1.0)][k % 3];
        (5e3 * far + numbers.place(0.02), 1e-3)
    });
    let (chosen, found) = compare_spheres(spheres);
    assert!(chosen > 300, "{found:?}");
}

/// Spheres that are too large for any grid.
#[test]
fn candidates_of_giants_are_those_of_the_cpu() {
    let mut numbers = Numbers(5);
    let giants = [-1.0, 1.0].map(|side| (DVec3::X * (3e3 * side), 3e3));
    let spheres = (0..500).map(|_| (numbers.place(0.02), 1e-3));
    let (chosen, found) = compare_spheres(giants.into_iter().chain(spheres));
    assert!(chosen > 1000, "{found:?}");
    assert!(found.levels >> 20 == 1, "{found:?}");
}
