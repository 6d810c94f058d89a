//! Whole scenes whose grains stay on a device have the bits of the CPU. Kernels run on the host
//! here; with the feature `cuda` and a GPU the same tests run there too.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use esker_gpu::Host;
use esker_gpu::resident::device::Resident;
use esker_solver::device::{DeviceError, DeviceWork};
use esker_world::resident::{BorderGrain, RowChanges};
use esker_world::resident_look::LookTotals;
use esker_world::{ResidentDevice, ResidentStep, World};

/// A device that counts how often grains are sent there.
#[derive(Debug)]
struct Counted<D> {
    device: D,
    sent: Arc<AtomicUsize>,
}

impl<D: ResidentDevice> ResidentDevice for Counted<D> {
    fn name(&self) -> &str {
        self.device.name()
    }

    fn work(&self) -> Result<DeviceWork, DeviceError> {
        self.device.work()
    }

    fn send(&mut self, world: &mut World) -> Result<(), DeviceError> {
        self.sent.fetch_add(1, Ordering::Relaxed);
        self.device.send(world)
    }

    fn step(&mut self, world: &mut World) -> Result<Option<ResidentStep>, DeviceError> {
        self.device.step(world)
    }

    fn look(&mut self, world: &World, with_residual: bool) -> Result<LookTotals, DeviceError> {
        self.device.look(world, with_residual)
    }

    fn scale_remembered(&mut self, factor: f64) -> Result<(), DeviceError> {
        self.device.scale_remembered(factor)
    }

    fn listed(&self) -> Option<&[BorderGrain]> {
        self.device.listed()
    }

    fn room(&self) -> usize {
        self.device.room()
    }

    fn change_rows(&mut self, world: &World, changes: &RowChanges) -> Result<(), DeviceError> {
        self.device.change_rows(world, changes)
    }

    fn reorder(&mut self, world: &World, order: &[u32]) -> Result<(), DeviceError> {
        self.device.reorder(world, order)
    }

    fn fetch_grains(&mut self, world: &mut World) -> Result<(), DeviceError> {
        self.device.fetch_grains(world)
    }

    fn fetch(&mut self, world: &mut World) -> Result<(), DeviceError> {
        self.device.fetch(world)
    }
}

/// A shipped scene, with a stated accuracy where there is one.
fn world_of(scene: &str, accuracy: Option<f64>) -> World {
    let scenes = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes");
    let mut scene = esker_scene::load(scenes.join(scene)).expect("a shipped scene is right");
    // Whose energy is booked does not stay.
    scene.world.energy_ledger = false;
    scene.world.accuracy = accuracy;
    if accuracy.is_some() {
        scene.world.longest_step = Some(2.0 * scene.world.step);
    }
    let mut world = World::new(&scene.world).expect("a shipped scene has a world");
    world.set_device_order(true);
    world
}

fn advance(world: &mut World, steps: usize) {
    for _ in 0..steps {
        world.step().expect("a step");
    }
}

/// Steps of one world on the CPU and of another on a device. Returns how many the device made.
fn compare(
    make: &dyn Fn() -> World,
    before: usize,
    steps: usize,
    device: Box<dyn ResidentDevice>,
) -> usize {
    let [mut on_cpu, mut on_device] = [(); 2].map(|()| {
        let mut world = make();
        advance(&mut world, before);
        world
    });
    println!("on {}", device.name());
    on_device
        .set_resident_device(Some(device))
        .expect("a device");
    on_device.leave_on_device(true);
    assert_eq!(on_device.resident_obstacle(), None);
    let mut made = 0;
    for k in 0..steps {
        let [cpu, device] =
            [&mut on_cpu, &mut on_device].map(|world| world.step().expect("a step"));
        made += usize::from(on_device.is_on_device());
        assert_eq!(cpu.contacts, device.contacts, "step {}", cpu.step);
        assert_eq!(cpu.impacts, device.impacts, "impacts of step {}", cpu.step);
        assert_eq!(cpu.grains, device.grains);
        assert_eq!(
            (cpu.emitted, cpu.removed, cpu.lost),
            (device.emitted, device.removed, device.lost)
        );
        assert_eq!(cpu.touching, device.touching);
        assert_eq!(cpu.max_overlap.to_bits(), device.max_overlap.to_bits());
        assert_eq!(cpu.mean_overlap.to_bits(), device.mean_overlap.to_bits());
        assert_eq!(
            cpu.residual.map(f64::to_bits),
            device.residual.map(f64::to_bits)
        );
        assert_eq!(cpu.errors, device.errors, "errors of step {}", cpu.step);
        assert_eq!(cpu.missed, device.missed);
        assert_eq!(
            (cpu.step_length, cpu.sweeps),
            (device.step_length, device.sweeps)
        );
        assert_eq!(
            on_cpu.kinetic_energy().to_bits(),
            on_device.kinetic_energy().to_bits()
        );
        for (one, other) in on_cpu.walls().iter().zip(on_device.walls()) {
            assert_eq!(one.load, other.load, "{} in step {}", one.name, cpu.step);
            assert_eq!(one.total_load, other.total_load);
            assert_eq!(one.outer_contacts, other.outer_contacts);
        }
        // Now and then somebody looks at the grains.
        if k % 7 == 3 {
            on_device.fetch_grains().expect("grains");
            assert_eq!(
                on_cpu.grains().state_hash(),
                on_device.grains().state_hash(),
                "after step {}",
                cpu.step
            );
        }
    }
    on_device.fetch().expect("grains");
    assert_eq!(
        on_cpu.grains().state_hash(),
        on_device.grains().state_hash()
    );
    // What is remembered came back as well.
    on_device
        .set_resident_device(None)
        .expect("the device goes");
    for world in [&mut on_cpu, &mut on_device] {
        advance(world, 2);
    }
    assert_eq!(
        on_cpu.grains().state_hash(),
        on_device.grains().state_hash(),
        "back on the CPU"
    );
    made
}

fn scene_is_the_same(scene: &str, before: usize, steps: usize, least: usize) {
    world_is_the_same(&|| world_of(scene, None), before, steps, least);
}

fn world_is_the_same(make: &dyn Fn() -> World, before: usize, steps: usize, least: usize) {
    // In turn, and a kernel for every colour.
    for thread_blocks in [3, 0] {
        let host = Host::default().with_thread_blocks(thread_blocks);
        let made = compare(make, before, steps, Box::new(Resident::new(host)));
        assert!(made >= least, "{made} of {steps} steps on the device");
    }
    #[cfg(feature = "cuda")]
    match esker_gpu::Cuda::new(0) {
        Ok(cuda) => {
            let made = compare(make, before, steps, Box::new(Resident::new(cuda)));
            assert!(made >= least, "{made} of {steps} steps on the device");
        }
        Err(error) => println!("on the host alone: {error}"),
    }
}

#[test]
fn a_drum_that_stays_on_a_device_has_the_bits_of_the_cpu() {
    scene_is_the_same("drum.toml", 0, 60, 50);
    scene_is_the_same("drum.toml", 150, 60, 50);
    // Of more contacts than a flat plan has.
    let in_blocks = || {
        let mut world = world_of("drum.toml", None);
        world.set_most_flat(0);
        world
    };
    world_is_the_same(&in_blocks, 150, 30, 25);
}

#[test]
fn a_silo_that_stays_on_a_device_has_the_bits_of_the_cpu() {
    scene_is_the_same("silo.toml", 100, 40, 30);
}

#[test]
fn a_hopper_that_stays_on_a_device_has_the_bits_of_the_cpu() {
    scene_is_the_same("hopper.toml", 150, 40, 30);
}

/// From the first grains on: in steps without contacts nothing but their fall is computed.
#[test]
fn a_pile_that_is_poured_has_the_bits_of_the_cpu() {
    scene_is_the_same("pile.toml", 0, 60, 50);
    scene_is_the_same("pile.toml", 500, 150, 100);
}

#[test]
fn a_conveyor_that_is_fed_has_the_bits_of_the_cpu() {
    scene_is_the_same("conveyor.toml", 0, 120, 100);
    scene_is_the_same("conveyor.toml", 300, 150, 100);
}

#[test]
fn a_drum_whose_shell_is_a_mesh_has_the_bits_of_the_cpu() {
    scene_is_the_same("lifter-drum.toml", 0, 30, 30);
    scene_is_the_same("lifter-drum.toml", 150, 40, 40);
}

#[test]
fn a_hopper_that_is_a_mesh_has_the_bits_of_the_cpu() {
    scene_is_the_same("cookbook/hopper-belt.toml", 100, 20, 20);
}

#[test]
fn a_mixer_whose_paddle_is_a_mesh_has_the_bits_of_the_cpu() {
    scene_is_the_same("cookbook/paddle-mixer.toml", 200, 30, 30);
}

/// A drum with bumps and gaps, a belt and a sieve: pellets come all the time.
#[test]
fn a_balling_circuit_has_the_bits_of_the_cpu() {
    scene_is_the_same("plant.toml", 60, 60, 60);
}

/// A tray that is fed from above, whose grains run off a slope into a sink and over an edge out
/// of the bounds: of different sizes, so that the largest and smallest go, too.
const TURNOVER: &str = r#"
    duration = 2.0
    step = 2e-3
    solver.substeps = 8
    bounds = { min = [-0.4, -0.25, -0.3], max = [0.4, 0.25, 0.6] }
    material.ore = { density = 2500, young = 1e7 }
    pair = [{ materials = ["ore", "ore"], friction = 0.4, restitution = 0.3 }]
    [[wall]]
    shape = "plane"
    normal = [0.3, 0.1, 1]
    [[grains]]
    place = "lattice"
    material = "ore"
    region = { box = [[-0.15, -0.15, 0.08], [0.15, 0.15, 0.3]] }
    sizes = { uniform = [0.008, 0.012] }
    count = 5000
    [[emitter]]
    material = "ore"
    region = { box = [[-0.2, -0.2, 0.3], [0.2, 0.2, 0.34]] }
    rate = { mass = 8 }
    sizes = { uniform = [0.009, 0.013] }
    velocity = [0, 0, -1]
    [[emitter]]
    material = "ore"
    region = { box = [[-0.1, -0.1, 0.33], [0.2, 0.2, 0.38]] }
    rate = { number = 900 }
    diameter = 0.007
    velocity = [0, 0, -1]
    [[sink]]
    region = { box = [[0.12, -0.4, -0.3], [0.4, 0.0, 0.3]] }
    [[sink]]
    region = { cylinder = { position = [0.05, 0.1, -0.1], axis = [0.1, 0, 1], radius = 0.06, length = 0.4 } }
"#;

/// Rows change in nearly every step, and are sorted twice, while grains stay on the device.
#[test]
fn grains_come_and_go_while_the_others_stay_on_the_device() {
    let make = || {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let scene = esker_scene::parse(TURNOVER, "turnover", folder).expect("a right scene");
        let mut world = World::new(&scene.world).expect("a world");
        world.set_device_order(true);
        world
    };
    let sent = Arc::new(AtomicUsize::new(0));
    let device = Counted {
        device: Resident::new(Host::default()),
        sent: Arc::clone(&sent),
    };
    let mut world = make();
    let (mut busy, steps) = (0, 130);
    for _ in 0..40 {
        let report = world.step().expect("a step");
        busy += usize::from(report.emitted > 0 && report.removed + report.lost > 0);
    }
    assert!(busy > 12, "{busy} steps with grains that come and go");
    let made = compare(&make, 0, steps, Box::new(device));
    assert_eq!(made, steps);
    let sent = sent.load(Ordering::Relaxed);
    assert!(sent <= 3, "sent {sent} times in {steps} steps");
    #[cfg(feature = "cuda")]
    if let Ok(cuda) = esker_gpu::Cuda::new(0) {
        compare(&make, 0, steps, Box::new(Resident::new(cuda)));
    }
}

/// Every step is judged there, and steps and substeps change from one to the next.
#[test]
fn a_drum_that_keeps_an_accuracy_has_the_bits_of_the_cpu() {
    let make = || world_of("drum.toml", Some(0.01));
    let mut world = make();
    let mut resolutions: Vec<_> = (0..100)
        .map(|_| world.step().expect("a step"))
        .map(|report| (report.step_length.to_bits(), report.sweeps))
        .collect();
    resolutions.dedup();
    assert!(resolutions.len() > 3, "{resolutions:?}");
    world_is_the_same(&make, 5, 80, 70);
}
