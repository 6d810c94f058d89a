//! A device that stops answering ends a run, and loses nothing that was saved.

use esker::solver::device::{DeviceError, DeviceWork};
use esker::world::resident::{BorderGrain, RowChanges};
use esker::world::resident_look::LookTotals;
use esker::world::{ResidentDevice, ResidentStep, StepReport, World};
use esker::{Error, LoadedScene, Simulation, Until};

const SCENE: &str = r#"
    duration = 0.2
    step = 2e-3
    record.every = 0.02
    material.glass = { density = 2500, young = 1e7 }
    pair = [{ materials = ["glass", "glass"], friction = 0.4 }]
    [[wall]]
    shape = "plane"
    [[grains]]
    place = "lattice"
    material = "glass"
    region = { box = [[-0.03, -0.03, 0], [0.03, 0.03, 0.05]] }
    diameter = 0.01
    jitter = 1.0
"#;

/// What fails.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Loss {
    /// The device takes no grains.
    Memory,
    /// It does not answer in this step.
    Step(u64),
}

/// A device that leaves steps to the host until it fails.
#[derive(Debug)]
struct Failing(Loss);

fn lost() -> DeviceError {
    DeviceError::Failed {
        device: "a device of glass".into(),
        call: "cuCtxSynchronize",
        message: "it fell off the bus".into(),
    }
}

impl ResidentDevice for Failing {
    fn name(&self) -> &str {
        "a device of glass"
    }

    fn work(&self) -> Result<DeviceWork, DeviceError> {
        Ok(DeviceWork::default())
    }

    fn send(&mut self, _: &mut World) -> Result<(), DeviceError> {
        match self.0 {
            Loss::Memory => Err(DeviceError::OutOfMemory {
                device: self.name().into(),
                bodies: 180,
                contacts: 500,
                needed: 9 << 20,
                free: 4 << 20,
                fitting: 80,
            }),
            Loss::Step(_) => Ok(()),
        }
    }

    fn step(&mut self, world: &mut World) -> Result<Option<ResidentStep>, DeviceError> {
        match self.0 {
            Loss::Step(step) if world.steps_done() + 1 == step => Err(lost()),
            _ => Ok(None),
        }
    }

    fn look(&mut self, _: &World, _: bool) -> Result<LookTotals, DeviceError> {
        Err(lost())
    }

    fn scale_remembered(&mut self, _: f64) -> Result<(), DeviceError> {
        Err(lost())
    }

    fn listed(&self) -> Option<&[BorderGrain]> {
        None
    }

    fn room(&self) -> usize {
        0
    }

    fn change_rows(&mut self, _: &World, _: &RowChanges) -> Result<(), DeviceError> {
        Err(lost())
    }

    fn reorder(&mut self, _: &World, _: &[u32]) -> Result<(), DeviceError> {
        Err(lost())
    }

    fn fetch_grains(&mut self, _: &mut World) -> Result<(), DeviceError> {
        Err(lost())
    }

    fn fetch(&mut self, _: &mut World) -> Result<(), DeviceError> {
        Err(lost())
    }
}

fn scene() -> LoadedScene {
    let text = format!("device = \"cpu\"\n{SCENE}");
    LoadedScene::parse(&text, "bed", ".").expect("a right scene")
}

fn nothing(_: &mut Simulation, _: &StepReport) -> Result<(), Error> {
    Ok(())
}

/// A run to step 40 that was saved after step 10 and then handed a device.
fn run_with(loss: Loss, folder: &std::path::Path) -> (Simulation, Error) {
    let mut simulation = Simulation::new(scene()).unwrap();
    simulation.record_to(folder, false).unwrap();
    simulation.run(Until::steps(10), || false, nothing).unwrap();
    simulation.checkpoint().unwrap();
    let device = Some(Box::new(Failing(loss)) as Box<dyn ResidentDevice>);
    simulation.world_mut().set_resident_device(device).unwrap();
    simulation.leave_on_device(true);
    let failed = simulation.run(Until::steps(40), || false, nothing);
    (simulation, failed.expect_err("the device is lost"))
}

#[test]
fn a_run_whose_device_is_lost_goes_on_from_its_last_checkpoint_with_the_bits_of_an_unbroken_one() {
    let mut unbroken = Simulation::new(scene()).unwrap();
    unbroken.run(Until::steps(40), || false, nothing).unwrap();

    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("run");
    let (mut broken, error) = run_with(Loss::Step(25), &folder);
    let message = error.to_string();
    for part in ["a device of glass", "it fell off the bus", "00000010.esker"] {
        assert!(message.contains(part), "{part} is missing: {message}");
    }
    // The grains are lost: no step may go on with those of an earlier one.
    assert_eq!(broken.world().steps_done(), 24);
    assert_eq!(broken.step().unwrap_err().to_string(), message);
    drop(broken);

    let mut resumed = Simulation::resume(scene(), &folder).unwrap();
    assert_eq!(resumed.world().steps_done(), 10);
    resumed.run(Until::steps(40), || false, nothing).unwrap();
    assert_eq!(
        resumed.summary().state_hash(),
        unbroken.summary().state_hash()
    );
}

#[test]
fn a_device_without_room_for_a_scene_says_how_many_grains_fit() {
    let folder = tempfile::tempdir().unwrap();
    let (_, error) = run_with(Loss::Memory, &folder.path().join("run"));
    let message = error.to_string();
    assert!(message.contains("about 80 such bodies fit"), "{message}");
}
