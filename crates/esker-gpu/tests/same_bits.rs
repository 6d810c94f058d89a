//! Substeps on a device have the bits of the CPU. Kernels run on the host here, thread after
//! thread, but for thread blocks that wait for one another; what a GPU does beyond that is to run all
//! threads at the same time. With the feature `cuda` and a GPU the same tests run there too.

use std::path::Path;

use esker_contact::{BodyState, Impulse};
use esker_gpu::{Gpu, Host};
use esker_parallel::Team;
use esker_solver::backend::{Partners, SubstepBackend, SubstepProblem, SubstepRun};
use esker_solver::device::{DeviceError, SubstepDevice, WorldBackend};
use esker_world::{StepError, World};
use glam::DVec3;

/// A shipped scene after some steps on the CPU.
fn world_after(scene: &str, steps: usize) -> World {
    let scenes = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes");
    let scene = esker_scene::load(scenes.join(scene)).expect("a shipped scene is right");
    let mut world = World::new(&scene.world).expect("a shipped scene has a world");
    advance(&mut world, steps);
    world
}

fn world_of(text: &str, steps: usize) -> World {
    let scene = esker_scene::parse(text, "test.toml", Path::new("."))
        .unwrap_or_else(|errors| panic!("{errors}"));
    let mut world = World::new(&scene.world).expect("the scene has a world");
    advance(&mut world, steps);
    world
}

fn advance(world: &mut World, steps: usize) {
    for _ in 0..steps {
        world.step().expect("a step");
    }
}

/// Steps of one world on the CPU and of another, in the same state, on a device; both end with
/// the same state, and every step reports the same.
fn assert_same_bits(
    [mut on_cpu, mut on_device]: [World; 2],
    device: Box<dyn SubstepDevice>,
    steps: usize,
) {
    assert_eq!(
        on_cpu.grains().state_hash(),
        on_device.grains().state_hash()
    );
    println!("on {}", device.name());
    on_device.set_device(Some(device));
    let mut impacts = 0;
    for _ in 0..steps {
        let [cpu, device] =
            [&mut on_cpu, &mut on_device].map(|world| world.step().expect("a step"));
        impacts += cpu.impacts;
        assert_eq!(cpu.contacts, device.contacts);
        assert_eq!(cpu.impacts, device.impacts);
        assert_eq!(
            cpu.residual.map(f64::to_bits),
            device.residual.map(f64::to_bits)
        );
        let losses = [&on_cpu, &on_device].map(|world| world.energy().copied());
        assert_eq!(losses[0], losses[1]);
        assert_eq!(cpu.max_overlap.to_bits(), device.max_overlap.to_bits());
        assert_eq!(
            on_cpu.grains().state_hash(),
            on_device.grains().state_hash(),
            "after step {}",
            cpu.step
        );
    }
    assert!(on_cpu.grains().len() > 10, "there is something to compare");
    println!("{} contacts, {impacts} impacts", on_cpu.contacts().len());
    // Checkpoints know nothing of devices.
    on_device.set_device(None);
    let [cpu, device] = [&mut on_cpu, &mut on_device].map(|world| {
        world.step().expect("a step");
        world.grains().state_hash()
    });
    assert_eq!(cpu, device, "back on the CPU");
}

/// The host, and a GPU where there is one.
fn devices() -> Vec<Box<dyn SubstepDevice>> {
    // In turn, and a kernel for every colour.
    let on_host = [3, 0].map(|thread_blocks| Host::default().with_thread_blocks(thread_blocks));
    #[cfg_attr(
        not(feature = "cuda"),
        expect(unused_mut, reason = "there is no other")
    )]
    let mut devices: Vec<Box<dyn SubstepDevice>> =
        on_host.map(|host| Box::new(Gpu::new(host)) as _).into();
    #[cfg(feature = "cuda")]
    match esker_gpu::Cuda::new(0) {
        Ok(cuda) => devices.push(Box::new(Gpu::new(cuda))),
        Err(error) => println!("on the host alone: {error}"),
    }
    devices
}

/// In the order of the CPU, and by colours of all of space.
fn scene_has_the_same_bits(scene: &str, before: usize, steps: usize) {
    for is_flat in [false, true] {
        for device in devices() {
            let worlds = [(); 2].map(|()| {
                let mut world = world_after(scene, before);
                world.set_device_order(is_flat);
                world
            });
            assert_same_bits(worlds, device, steps);
        }
    }
}

#[test]
fn a_rotating_drum_has_the_bits_of_the_cpu() {
    scene_has_the_same_bits("drum.toml", 100, 12);
}

#[test]
fn a_pile_that_is_poured_has_the_bits_of_the_cpu() {
    scene_has_the_same_bits("pile.toml", 600, 30);
}

#[test]
fn a_hopper_with_a_sink_has_the_bits_of_the_cpu() {
    scene_has_the_same_bits("hopper.toml", 150, 12);
}

#[test]
fn a_silo_has_the_bits_of_the_cpu() {
    scene_has_the_same_bits("silo.toml", 100, 12);
}

#[test]
fn a_conveyor_has_the_bits_of_the_cpu() {
    scene_has_the_same_bits("conveyor.toml", 400, 30);
}

#[test]
fn a_drum_with_lifters_of_a_mesh_has_the_bits_of_the_cpu() {
    scene_has_the_same_bits("lifter-drum.toml", 100, 12);
}

/// Grains that are frozen at rest, and set free as a wall vanishes.
#[test]
fn a_bed_with_frozen_grains_has_the_bits_of_the_cpu() {
    let text = r#"
        duration = 1.0
        step = 4e-3
        reduction = "on"
        material.gravel = { density = 2600, young = 1e7 }
        pair = [{ materials = ["gravel", "gravel"], friction = 0.6, rolling = 0.1 }]
        [[wall]]
        shape = "plane"
        [[wall]]
        shape = "cylinder"
        position = [0, 0, 0.05]
        radius = 0.04
        length = 0.3
        until = 0.5
        [[grains]]
        place = "lattice"
        region = { cylinder = { position = [0, 0, 0.025], radius = 0.04, length = 0.05 } }
        diameter = 0.01
    "#;
    for device in devices() {
        let worlds = [(); 2].map(|()| world_of(text, 120));
        let frozen = worlds[0].frozen_count();
        assert!(frozen > worlds[0].grain_count() / 2, "{frozen}");
        // They are free as it ends.
        assert_same_bits(worlds, device, 8);
    }
}

/// A boulder in gravel, whose contacts act on copies of it; cohesion, which accelerates grains;
/// a periodic axis, across which contacts go into the last block.
const BOULDER: &str = r#"
duration = 1.0
step = 1e-3
periodic = { x = [-0.25, 0.25] }
material.stone = { density = 2500, young = 1e7, poisson = 0.3 }

[[pair]]
materials = ["stone", "stone"]
friction = 0.5
rolling = 0.1
restitution = 0.3
cohesion = { force = 0.02 }

[[wall]]
name = "floor"
shape = "plane"

[[grains]]
place = "lattice"
region = { box = [[-0.25, -0.05, 0.0], [0.25, 0.05, 0.04]] }
diameter = 0.008

[[grains]]
place = "column"
base = [0.0, 0.0, 0.042]
count = 1
diameter = 0.12
"#;

#[test]
fn copies_of_a_large_grain_have_the_bits_of_the_cpu() {
    for device in devices() {
        let worlds = [(); 2].map(|()| world_of(BOULDER, 60));
        assert!(
            worlds[0].last_problem().plan.copies.count() > 0,
            "there are copies"
        );
        assert_same_bits(worlds, device, 15);
    }
}

/// Bodies of a block that do not fit into the memory of a thread block are worked on where they
/// are.
#[test]
fn blocks_that_do_not_fit_have_the_bits_of_the_cpu() {
    let worlds = [(); 2].map(|()| world_after("silo.toml", 60));
    let small = Gpu::new(Host::default().with_shared_bytes(80 << 10));
    assert_same_bits(worlds, Box::new(small), 5);
}

#[test]
fn a_device_without_memory_says_how_many_bodies_fit() {
    let mut world = world_after("drum.toml", 20);
    world.set_device(Some(Box::new(Gpu::new(
        Host::default().with_memory_bytes(200_000),
    ))));
    match world.step() {
        Err(StepError::Device {
            source: DeviceError::OutOfMemory {
                bodies, fitting, ..
            },
            ..
        }) => assert!(0 < fitting && fitting < bodies, "{fitting} of {bodies}"),
        other => panic!("{other:?}"),
    }
}

/// A second step on the same device begins with what the first left in its memory; rows of the
/// seam are compared here, impulses included.
#[test]
fn impulses_and_sums_are_those_of_the_cpu() {
    let mut world = world_after("drum.toml", 60);
    advance(&mut world, 1);
    let last = world.last_problem();
    let tracked = last.plan.fixed.clone();
    let movable = world.grains().len();
    let problem = SubstepProblem {
        plan: last.plan,
        laws: last.laws,
        compliance: last.compliance,
        general: last.general,
    };
    let run = SubstepRun {
        substeps: 7,
        step: 1e-4,
        gravity: DVec3::new(0.1, 0.0, -9.81),
        accelerations: Default::default(),
        tracked: &tracked,
        movable,
        longest_sleep: 3.0,
    };
    let outcome = |device: Option<Box<dyn SubstepDevice>>| -> (Vec<BodyState>, Vec<Impulse>, Vec<Impulse>, usize) {
        let mut backend = WorldBackend::default();
        backend.set_device(device);
        let (mut team, mut bodies, mut impulses) = (Team::new(2), last.bodies.to_vec(), Vec::new());
        let mut impacts = 0;
        for _ in 0..2 {
            backend
                .upload(&mut team, problem, &bodies, |i| last.rows[i])
                .expect("uploaded");
            impacts += backend
                .advance(&mut team, problem, &mut bodies, run, Partners::alone(None))
                .expect("advanced");
            backend
                .download(&mut team, problem.plan, &mut impulses)
                .expect("downloaded");
        }
        (bodies, impulses, backend.impulse_sums().to_vec(), impacts)
    };
    let on_cpu = outcome(None);
    assert!(
        on_cpu.2.iter().any(|sum| sum.normal > 0.0),
        "walls are pushed"
    );
    for device in devices() {
        assert_eq!(on_cpu, outcome(Some(device)));
    }
}
