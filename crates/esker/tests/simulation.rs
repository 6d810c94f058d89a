//! A simulation does what the program does, and what it is told.

use std::cell::Cell;

use esker::record::Recording;
use esker::{Error, LoadedScene, RECORDING_FILE_NAME, SUMMARY_FILE_NAME, Simulation, Until};

const SCENE: &str = r#"
    duration = 0.1
    step = 1e-3
    record.every = 0.02
    material.glass = { density = 2500, young = 5e7, poisson = 0.3 }
    pair = [{ materials = ["glass", "glass"], friction = 0.5 }]
    wall = [{ name = "floor", shape = "plane" }]
    grains = [{ place = "column", count = 4, diameter = 0.01, gap = 0.002 }]

    [[probe]]
    name = "floor"
    measure = "wall"
    wall = "floor"
    every = 0.02
"#;

/// Grains enough for several colours.
const PILE: &str = r#"
    duration = 1.0
    step = 2e-3
    solver.substeps = 8
    material.glass = { density = 2500, young = 1e7 }
    pair = [{ materials = ["glass", "glass"], friction = 0.4 }]
    [[wall]]
    shape = "plane"
    [[grains]]
    place = "lattice"
    material = "glass"
    region = { box = [[-0.05, -0.05, 0], [0.05, 0.05, 0.1]] }
    diameter = 0.01
    jitter = 1.0
"#;

fn scene() -> LoadedScene {
    LoadedScene::parse(SCENE, "column", ".").expect("a right scene")
}

fn nothing(_: &mut Simulation, _: &esker::world::StepReport) -> Result<(), Error> {
    Ok(())
}

#[test]
fn a_run_that_is_stopped_and_resumed_ends_with_the_bits_of_an_unbroken_one() {
    let mut unbroken = Simulation::new(scene()).unwrap();
    let end = unbroken.end_of_scene();
    assert!(unbroken.run(end, || false, nothing).unwrap());

    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("run");
    let mut stopped = Simulation::new(scene()).unwrap();
    stopped.record_to(&folder, false).unwrap();
    let steps = Cell::new(0);
    let reached = stopped.run(
        end,
        || steps.get() == 37,
        |_, report| {
            steps.set(report.step);
            Ok::<(), Error>(())
        },
    );
    assert!(!reached.unwrap());
    let summary = stopped.finish().unwrap();
    assert!(summary.is_interrupted());
    assert!(summary.to_string().contains("stopped after 37 steps"));
    // Unrecorded it may go on.
    stopped.step().unwrap();

    let mut resumed = Simulation::resume(scene(), &folder).unwrap();
    assert_eq!(resumed.take_warnings(), Vec::<String>::new());
    assert_eq!(resumed.world().steps_done(), 37);
    resumed.run(end, || false, nothing).unwrap();
    let summary = resumed.finish().unwrap();
    assert!(!summary.is_interrupted());
    assert_eq!(summary.state_hash(), unbroken.summary().state_hash());
    assert!(folder.join(SUMMARY_FILE_NAME).exists());
    let recording = Recording::open(&folder.join(RECORDING_FILE_NAME)).unwrap();
    let steps: Vec<u64> = recording.frames().iter().map(|frame| frame.step).collect();
    assert_eq!(steps, [0, 20, 40, 60, 80, 100]);
    assert_eq!(recording.probe_rows(0).unwrap().len(), 5);
}

/// Runs that state a device sweep contacts in another order than those that state none. One that
/// is resumed goes on in its own, whatever it states.
#[test]
fn a_resumed_run_keeps_its_order_of_sweeps_on_any_device() {
    let with_device = |is_stated: bool| {
        let device = if is_stated { "device = \"cpu\"\n" } else { "" };
        LoadedScene::parse(&format!("{device}{PILE}"), "pile", ".").expect("a right scene")
    };
    let hashes = [false, true].map(|begun_with| {
        let mut unbroken = Simulation::new(with_device(begun_with)).unwrap();
        unbroken.run(Until::steps(60), || false, nothing).unwrap();
        let hash = unbroken.summary().state_hash().to_owned();
        for resumed_with in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let folder = folder.path().join("run");
            let mut begun = Simulation::new(with_device(begun_with)).unwrap();
            begun.record_to(&folder, false).unwrap();
            begun.run(Until::steps(30), || false, nothing).unwrap();
            begun.finish().unwrap();
            let mut resumed = Simulation::resume(with_device(resumed_with), &folder).unwrap();
            resumed.run(Until::steps(60), || false, nothing).unwrap();
            assert_eq!(
                resumed.finish().unwrap().state_hash(),
                hash,
                "begun with a device: {begun_with}, resumed with one: {resumed_with}"
            );
        }
        hash
    });
    assert_ne!(hashes[0], hashes[1], "the orders differ in this scene");
}

#[test]
fn an_observer_may_change_the_world_and_end_the_run() {
    let mut simulation = Simulation::new(scene()).unwrap();
    let error = simulation
        .run(
            Until::steps(50),
            || false,
            |simulation, report| {
                let last = *simulation.world().grains().id().last().unwrap();
                simulation.world_mut().remove_grains(&[last]).unwrap();
                match report.step {
                    3 => Err(Error::NoRecording),
                    _ => Ok(()),
                }
            },
        )
        .unwrap_err();
    assert!(matches!(error, Error::NoRecording));
    assert_eq!(simulation.world().grains().count(), 1);
    assert_eq!(simulation.world().steps_done(), 3);
}

/// A cart on a rail that a program pushes: what was set last is part of the state.
#[test]
fn a_drive_is_set_while_the_scene_runs_and_keeps_its_value_over_a_restart() {
    let text = r#"
        duration = 0.3
        step = 1e-3
        gravity = [0, 0, 0]
        material.steel = { density = 8000, young = 1e9 }
        body = [{ name = "cart", shape = { box = [0.2, 0.1, 0.1] }, mass = 2 }]
        joint = [{ name = "rail", kind = "prismatic", bodies = ["ground", "cart"], anchor = [0, 0, 0], axis = [1, 0, 0] }]
        drive = [
            { name = "push", joint = "rail", kind = "force", external = 4 },
            { name = "brake", joint = "rail", kind = "force", value = 0 },
        ]
    "#;
    let cart = || LoadedScene::parse(text, "cart", ".").expect("a right scene");
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("run");
    let mut simulation = Simulation::new(cart()).unwrap();
    simulation.record_to(&folder, false).unwrap();
    let push = |simulation: &mut Simulation, _: &esker::world::StepReport| {
        if simulation.world().steps_done() == 100 {
            let world = simulation.world_mut();
            assert!(world.set_drive(0, -12.0));
            assert!(!world.set_drive(1, 1.0), "its scene gives its value");
        }
        Ok::<(), Error>(())
    };
    simulation.run(Until::steps(150), || false, push).unwrap();
    let speed = |simulation: &Simulation| simulation.world().body_velocity(0)[0].x;
    assert!((speed(&simulation) + 0.1).abs() < 1e-9);
    simulation.finish().unwrap();
    let mut resumed = Simulation::resume(cart(), &folder).unwrap();
    resumed.run(Until::steps(200), || false, nothing).unwrap();
    assert!((speed(&resumed) + 0.4).abs() < 1e-9, "{}", speed(&resumed));
}

#[test]
fn folders_are_neither_shared_nor_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let mut first = Simulation::new(scene()).unwrap();
    assert!(matches!(first.checkpoint(), Err(Error::NoRecording)));
    first.record_to(&path, false).unwrap();
    assert!(matches!(
        first.record_to(&path, true),
        Err(Error::Recording { .. })
    ));
    let mut second = Simulation::new(scene()).unwrap();
    assert!(matches!(
        second.record_to(&path, false),
        Err(Error::Exists { .. })
    ));
    assert!(matches!(
        second.record_to(&path, true),
        Err(Error::InUse { .. })
    ));
    first.checkpoint().unwrap();
    first.finish().unwrap();
    second.record_to(&path, true).unwrap();
    assert!(matches!(
        second.record_to(folder.path(), true),
        Err(Error::Recording { .. })
    ));
    let mut third = Simulation::new(scene()).unwrap();
    let refused = third.record_to(folder.path(), true);
    assert!(matches!(refused, Err(Error::NotResults { .. })));
    let missing = Simulation::resume(scene(), folder.path().join("nowhere"));
    assert!(matches!(missing, Err(Error::NoFolder { .. })));
}

#[test]
fn after_a_step_that_failed_there_is_no_other() {
    let mut simulation = Simulation::new(scene()).unwrap();
    let world = simulation.world_mut();
    let ids = world.grains().id().to_vec();
    let far = glam::DVec3::X * f64::MAX;
    world.set_velocities(&ids[..1], &[far]).unwrap();
    let first = simulation.step().unwrap_err().to_string();
    assert!(first.contains("there is no checkpoint yet"), "{first}");
    assert_eq!(simulation.step().unwrap_err().to_string(), first);
}
