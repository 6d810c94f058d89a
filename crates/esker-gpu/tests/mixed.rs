//! Mixed precision: velocities and contacts of single precision have bits of their own, and are
//! held to double precision by what is measured. Kernels run on the host here.

use std::path::Path;

use esker_gpu::resident::device::Resident;
use esker_gpu::{Host, Precision};
use esker_world::World;
use glam::DVec3;

/// Grains that fall into a box and come to rest.
fn bed() -> World {
    let text = r#"
        duration = 1.0
        step = 5e-3
        solver.substeps = 25
        [material.stone]
        density = 2500
        young = 1e7
        poisson = 0.3
        [[pair]]
        materials = ["stone", "stone"]
        friction = 0.5
        rolling = 0.05
        restitution = 0.3
        [[wall]]
        name = "floor"
        shape = "plane"
        [[wall]]
        shape = "cylinder"
        position = [0, 0, 0.15]
        radius = 0.05
        length = 0.3
        [[grains]]
        place = "lattice"
        region = { cylinder = { position = [0, 0, 0.06], radius = 0.048, length = 0.11 } }
        sizes = { mixture = [{ diameter = 0.009 }, { diameter = 0.010 }] }
    "#;
    let scene = esker_scene::parse(text, "bed.toml", Path::new("."))
        .unwrap_or_else(|errors| panic!("{errors}"));
    let mut world = World::new(&scene.world).expect("the scene has a world");
    world.set_device_order(true);
    world
}

/// What is held against double precision.
#[derive(Debug)]
struct Measured {
    mean_height: f64,
    mean_overlap: f64,
    floor_over_weight: f64,
    energy_per_grain: f64,
    hash: u64,
}

/// A bed that the CPU has let fall for some steps, and so many more on a device.
fn measure(precision: Precision, fallen: usize, steps: usize) -> Measured {
    measure_on(Host::default().with_precision(precision), fallen, steps)
}

fn measure_on(host: Host, fallen: usize, steps: usize) -> Measured {
    let mut world = bed();
    for _ in 0..fallen {
        world.step().expect("a step");
    }
    let device = Resident::new(host);
    world
        .set_resident_device(Some(Box::new(device)))
        .expect("a device");
    world.leave_on_device(true);
    assert_eq!(world.resident_obstacle(), None);
    let (mut overlap, mut force, averaged) = (0.0, 0.0, 40);
    let mut on_device = 0;
    for k in 0..steps {
        let report = world.step().expect("a step");
        on_device += usize::from(world.is_on_device());
        if k + averaged >= steps {
            overlap += report.mean_overlap / averaged as f64;
            force += world.walls()[0].load.force.z.abs() / averaged as f64;
        }
    }
    assert!(2 * on_device > steps, "{on_device} of {steps} steps");
    let energy = world.kinetic_energy();
    world.fetch().expect("grains");
    let rows = world.grain_rows();
    let count = rows.len() as f64;
    let weight: f64 = (0..rows.len())
        .map(|row| 9.81 / rows.state[row].inverse_mass)
        .sum();
    let middle: DVec3 = (0..rows.len()).map(|row| rows.position[row]).sum();
    Measured {
        mean_height: middle.z / count,
        mean_overlap: overlap,
        floor_over_weight: force / weight,
        energy_per_grain: energy / count,
        hash: world.grains().state_hash(),
    }
}

/// A bed at rest stays what it is: the two begin from one state, so that what they differ by is
/// no chance of another packing.
#[test]
fn a_bed_at_rest_in_mixed_precision_is_that_of_double_precision() {
    let [double, mixed] =
        [Precision::Double, Precision::Mixed].map(|precision| measure(precision, 240, 200));
    println!("{double:?}\n{mixed:?}");
    assert_ne!(double.hash, mixed.hash, "bits of their own");
    let near = |one: f64, other: f64, share: f64| (one - other).abs() <= share * one.abs();
    assert!(near(double.mean_height, mixed.mean_height, 1e-3));
    assert!(near(double.mean_overlap, mixed.mean_overlap, 0.01));
    assert!(near(
        double.floor_over_weight,
        mixed.floor_over_weight,
        0.01
    ));
    assert!(mixed.energy_per_grain < 1e-8, "at rest");
}

/// Grains fall and come to rest as in double precision, in another packing.
#[test]
fn a_bed_that_falls_in_mixed_precision_comes_to_rest() {
    let [double, mixed] =
        [Precision::Double, Precision::Mixed].map(|precision| measure(precision, 0, 240));
    println!("{double:?}\n{mixed:?}");
    let near = |one: f64, other: f64, share: f64| (one - other).abs() <= share * one.abs();
    assert!(near(double.mean_height, mixed.mean_height, 0.02));
    assert!(near(double.mean_overlap, mixed.mean_overlap, 0.1));
    assert!(mixed.energy_per_grain < 1e-8, "at rest");
    // Every run has the same bits, whether bodies meet their contacts in turn or colour by colour.
    let by_colours = Host::default()
        .with_thread_blocks(0)
        .with_precision(Precision::Mixed);
    let again = measure_on(by_colours, 0, 240);
    assert_eq!(mixed.hash, again.hash);
}
