//! Contacts that a device finds are those of the CPU, to the last bit of their geometry.

use std::path::Path;

use esker_gpu::resident::find::{FindNumbers, Finder, SentHistory};
use esker_gpu::resident::grains::ResidentGrains;
use esker_gpu::resident::meshes::Meshes;
use esker_gpu::{Executor, Host};
use esker_world::World;
use esker_world::resident::CandidateRecord;
use glam::DVec3;

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
