//! What computes the substeps of a simulation.

use esker_scene::Device;
use esker_solver::device::SubstepDevice;
use esker_world::DeviceObstacle;
use esker_world::definition::WorldDef;

/// Why a simulation cannot use a GPU.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DeviceUnavailable {
    /// The scene has what GPUs do not compute.
    #[error(transparent)]
    Obstacle(#[from] DeviceObstacle),
    /// The program knows nothing of GPUs.
    #[error("this program was built without GPUs; `--features gpu` builds it with them")]
    NotBuilt,
    /// There is none, or it cannot be used.
    #[cfg(feature = "gpu")]
    #[error(transparent)]
    Cuda(#[from] esker_gpu::CudaError),
}

/// The GPU for a scene, or why there is none.
#[cfg(feature = "gpu")]
fn open() -> Result<Box<dyn SubstepDevice>, DeviceUnavailable> {
    Ok(Box::new(esker_gpu::Gpu::new(esker_gpu::Cuda::new(0)?)))
}

#[cfg(not(feature = "gpu"))]
fn open() -> Result<Box<dyn SubstepDevice>, DeviceUnavailable> {
    Err(DeviceUnavailable::NotBuilt)
}

/// What a choice of device means for a world: a GPU, or none for the processor.
pub fn device_for(
    choice: Device,
    def: &WorldDef,
) -> Result<Option<Box<dyn SubstepDevice>>, DeviceUnavailable> {
    let gpu = || match def.device_obstacle() {
        Some(obstacle) => Err(obstacle.into()),
        None => open(),
    };
    match choice {
        Device::Cpu => Ok(None),
        Device::Gpu => gpu().map(Some),
        Device::Auto => Ok(gpu().ok()),
    }
}
