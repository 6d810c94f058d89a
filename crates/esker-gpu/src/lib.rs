//! Substeps on a GPU, with the bits of the CPU.
//!
//! [`Gpu`] is a [`SubstepDevice`](esker_solver::device::SubstepDevice): a world that is handed one
//! computes its substeps there and everything else as before. The order of the sweep is that of
//! the plan. What decides a bit is the order in which a body meets its contacts, so within a block
//! contacts are put into levels ([`levels`]) that keep it, and a thread block sweeps level by
//! level.
//!
//! Kernels (`kernels/substep.cu`) are written in what CUDA and C have in common. For a device
//! they are compiled to PTX, which is part of the program; users need a driver and nothing
//! else, and it is loaded when a device is asked for (feature `cuda`). With the feature `host`
//! they are compiled for the host too, where tests run them: the same text, the same bits.
//!
//! `unsafe` is in the files that lay out memory for kernels ([`memory`], [`layout`]), fill it
//! (`backend.rs`, `upload.rs`) and launch them (`host.rs`, `cuda.rs`).

mod arrays;
mod backend;
#[cfg(feature = "cuda")]
mod cuda;
#[cfg(feature = "host")]
mod host;
mod launch;
pub mod layout;
pub mod levels;
pub mod memory;
pub mod resident;
mod upload;

pub use backend::Gpu;
#[cfg(feature = "cuda")]
pub use cuda::{Cuda, CudaError, DeviceInfo, devices};
#[cfg(feature = "host")]
pub use host::Host;
pub use launch::{Executor, KernelLaunch, ResidentKernel, ResidentLaunch, StepShape};
pub use layout::Precision;
