//! What computes the steps of a simulation.

use esker_scene::{Device, DevicePrecision};
use esker_solver::device::SubstepDevice;
use esker_world::definition::WorldDef;
use esker_world::{DeviceObstacle, ResidentDevice, StepError, World};

/// Why a simulation cannot use a GPU.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DeviceUnavailable {
    /// The scene has what GPUs do not compute.
    #[error("{}", esker_scene::obstacle_in_words(*.0))]
    Obstacle(DeviceObstacle),
    /// The program knows nothing of GPUs.
    #[error("this program was built without GPUs; `--features gpu` builds it with them")]
    NotBuilt,
    /// There is none, or it cannot be used.
    #[cfg(feature = "gpu")]
    #[error(transparent)]
    Cuda(#[from] esker_gpu::CudaError),
}

/// A device as worlds use it: for whole steps where grains can stay there, and for the substeps
/// of others.
#[derive(Debug)]
pub struct WorldDevice {
    substeps: Box<dyn SubstepDevice>,
    steps: Box<dyn ResidentDevice>,
}

impl WorldDevice {
    /// What it is called, for people.
    pub fn name(&self) -> &str {
        self.substeps.name()
    }

    /// Lets a world use it.
    pub fn hand_to(self, world: &mut World) -> Result<(), StepError> {
        world.set_device(Some(self.substeps));
        world.set_resident_device(Some(self.steps))
    }
}

/// The GPU for a scene, or why there is none.
#[cfg(feature = "gpu")]
fn open(precision: DevicePrecision) -> Result<WorldDevice, DeviceUnavailable> {
    use esker_gpu::{Cuda, Gpu, Precision, resident::device::Resident};
    let precision = match precision {
        DevicePrecision::Double => Precision::Double,
        DevicePrecision::Mixed => Precision::Mixed,
    };
    Ok(WorldDevice {
        // Substeps whose rows the processor makes are those of the processor.
        substeps: Box::new(Gpu::new(Cuda::new(0)?)),
        steps: Box::new(Resident::new(Cuda::with_precision(0, precision)?)),
    })
}

#[cfg(not(feature = "gpu"))]
fn open(_: DevicePrecision) -> Result<WorldDevice, DeviceUnavailable> {
    Err(DeviceUnavailable::NotBuilt)
}

/// What a choice of device comes to.
#[derive(Debug)]
pub enum ChosenDevice {
    /// The processor, as was asked for.
    Cpu,
    /// A GPU.
    Gpu(WorldDevice),
    /// The processor, as no GPU can be used, for this reason.
    NoGpu(DeviceUnavailable),
}

impl ChosenDevice {
    /// The GPU, if it is one.
    pub fn gpu(self) -> Option<WorldDevice> {
        match self {
            ChosenDevice::Gpu(device) => Some(device),
            ChosenDevice::Cpu | ChosenDevice::NoGpu(_) => None,
        }
    }
}

/// What a choice of device means for a world. Mixed precision is that of whole steps on a GPU.
pub fn device_for(
    choice: Device,
    precision: DevicePrecision,
    def: &WorldDef,
) -> Result<ChosenDevice, DeviceUnavailable> {
    let gpu = || match def.device_obstacle() {
        Some(obstacle) => Err(DeviceUnavailable::Obstacle(obstacle)),
        None => open(precision),
    };
    match choice {
        Device::Cpu => Ok(ChosenDevice::Cpu),
        Device::Gpu => gpu().map(ChosenDevice::Gpu),
        Device::Auto => Ok(gpu().map_or_else(ChosenDevice::NoGpu, ChosenDevice::Gpu)),
    }
}
