//! Devices of NVIDIA, through their driver, which is loaded when one is asked for.
//!
//! All kernels of a step are one graph, which the driver launches at once: a step has some 250 of
//! them, and what they work on is read from memory, so that a graph serves all steps of about one
//! size.
//!
//! `unsafe`: calls of the driver. Handles are made here and live as long as [`Context`], which all
//! that uses them keeps alive; memory is copied within the ranges that were allocated, and kernels
//! get the address of a record whose memory outlives the wait for them.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_void};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys;
use esker_solver::device::{DeviceError, DeviceWork};

use crate::launch::{Executor, Kernel, KernelLaunch, MOMENTS, ResidentLaunch, StepShape};
use crate::layout::{Precision, RESIDENT_THREADS, StepRecord, TURN_THREADS, fitting_bodies};
use crate::memory::{Array, DeviceMemory, Plain};
use crate::resident::kernels;

/// A compiled text of kernels, in double and in mixed precision, as the driver takes it:
/// `crates/esker-gpu/compile` makes it.
macro_rules! compiled {
    ($text:literal, $suffix:literal) => {
        [
            concat!(
                include_str!(concat!("../ptx/", $text, $suffix, ".ptx")),
                "\0"
            ),
            concat!(
                include_str!(concat!("../ptx/", $text, "_mixed", $suffix, ".ptx")),
                "\0"
            ),
        ]
    };
}

/// The kernels of substeps and those of the other stages.
const PTX: [[&str; 2]; 2] = [compiled!("substep", ""), compiled!("resident", "")];
/// The same for devices whose kernels may begin before the one before has ended.
const PTX_90: [[&str; 2]; 2] = [compiled!("substep", "_90"), compiled!("resident", "_90")];

/// Version of the driver's interface that has graphs of such launches, 12.3, and the compute
/// capability of the devices.
const OVERLAPPING: (i32, i32) = (12030, 9);

/// Places of contacts that a thread may have where one kernel does all substeps. With few it
/// is what they wait for one another that counts, with many what memory moves, and more threads than
/// such a kernel has room for move more. (25 substeps of 26,000, 319,000 and 919,000 contacts, 0.8, 9 and
/// 27 a thread, took an H200 0.85, 2.04 and 5.7 ms in turn, 1.09, 1.98 and 4.9 ms by colours.)
const MOST_PLACES_PER_THREAD: u32 = 8;

/// Version of the driver's interface that the kernels need: 12.1, of driver 530.
const OLDEST_DRIVER: i32 = 12010;

/// Why no device can be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CudaError {
    /// There is no driver library.
    #[error("no NVIDIA driver was found on this machine (libcuda)")]
    NoDriver,
    /// It does not know the kernels' format.
    #[error(
        "the NVIDIA driver is too old: it speaks CUDA {}.{}, and {}.{} is needed (driver 530 or newer)",
        found / 1000, found % 1000 / 10, OLDEST_DRIVER / 1000, OLDEST_DRIVER % 1000 / 10
    )]
    DriverTooOld {
        /// Version of its interface.
        found: i32,
    },
    /// A driver without a device.
    #[error("the NVIDIA driver has no device")]
    NoDevice,
    /// There are not so many.
    #[error("there is no device {index}: {count} devices were found")]
    NoSuchDevice {
        /// The one asked for, counted from 0.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// A call failed.
    #[error("the NVIDIA driver failed in {call}: {message}")]
    Failed {
        /// The call.
        call: &'static str,
        /// What the driver says.
        message: String,
    },
}

/// A device.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceInfo {
    /// What it is called.
    pub name: String,
    /// Its memory, bytes.
    pub memory: usize,
    /// Multiprocessors.
    pub multiprocessors: usize,
    /// Compute capability.
    pub capability: [i32; 2],
    /// Bytes per second that its memory can move, by its clock and width; zero where the driver does not say.
    pub bandwidth: f64,
}

fn message(error: DriverError) -> String {
    match error.error_string() {
        Ok(text) => text.to_string_lossy().into_owned(),
        Err(_) => format!("{error:?}"),
    }
}

fn failed(call: &'static str) -> impl FnOnce(DriverError) -> CudaError {
    move |error| CudaError::Failed {
        call,
        message: message(error),
    }
}

/// Loads the driver and counts its devices.
fn start_driver() -> Result<(usize, i32), CudaError> {
    // SAFETY: loading a library of this name runs its initialisation, as for any program that
    // links to it.
    if !unsafe { sys::is_culib_present() } {
        return Err(CudaError::NoDriver);
    }
    if let Err(error) = result::init() {
        return Err(match error.0 {
            sys::CUresult::CUDA_ERROR_NO_DEVICE => CudaError::NoDevice,
            // The library of a driver that is not there.
            sys::CUresult::CUDA_ERROR_STUB_LIBRARY => CudaError::NoDriver,
            _ => failed("cuInit")(error),
        });
    }
    let mut found = 0;
    // SAFETY: writes to the number.
    let version = unsafe { sys::cuDriverGetVersion(&mut found) };
    version.result().map_err(failed("cuDriverGetVersion"))?;
    if found < OLDEST_DRIVER {
        return Err(CudaError::DriverTooOld { found });
    }
    let count = result::device::get_count().map_err(failed("cuDeviceGetCount"))?;
    match count {
        0 => Err(CudaError::NoDevice),
        count => Ok((count as usize, found)),
    }
}

fn info(device: sys::CUdevice) -> Result<DeviceInfo, CudaError> {
    use sys::CUdevice_attribute as Attribute;
    // SAFETY: the device is one of the driver's; so below.
    let attribute = |which| unsafe {
        result::device::get_attribute(device, which).map_err(failed("cuDeviceGetAttribute"))
    };
    let clock = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE).unwrap_or(0);
    let width = attribute(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH).unwrap_or(0);
    Ok(DeviceInfo {
        name: result::device::get_name(device).map_err(failed("cuDeviceGetName"))?,
        // SAFETY: as above.
        memory: unsafe { result::device::total_mem(device) }.map_err(failed("cuDeviceTotalMem"))?,
        multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as usize,
        capability: [
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ],
        // Two transfers per cycle of a clock in kHz, a bus in bits.
        bandwidth: 2.0 * f64::from(clock) * 1e3 * f64::from(width) / 8.0,
    })
}

/// All devices.
pub fn devices() -> Result<Vec<DeviceInfo>, CudaError> {
    let (count, _) = start_driver()?;
    (0..count as i32)
        .map(|k| info(result::device::get(k).map_err(failed("cuDeviceGet"))?))
        .collect()
}

/// How a kernel begins.
#[derive(Clone, Copy, Debug)]
enum How {
    /// Once the one before has ended.
    InOrder,
    /// Before it has, where the device can.
    Early,
    /// With all its thread blocks, which wait for one another.
    AllAtOnce,
}

/// Thread blocks that a device has room for at one time, of kernels that do all substeps; none where
/// it does not promise that all of a kernel are there at once.
fn room_for_turns(
    device: sys::CUdevice,
    info: &DeviceInfo,
    kernels: [sys::CUfunction; 2],
) -> Result<[u32; 2], CudaError> {
    use sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH;
    // SAFETY: the device is one of the driver's.
    let promises =
        unsafe { result::device::get_attribute(device, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH) }
            .map_err(failed("cuDeviceGetAttribute"))?;
    let mut room = [0; 2];
    for (room, kernel) in room.iter_mut().zip(kernels) {
        let mut per_multiprocessor = 0;
        // SAFETY: writes to the number; the function is one of a loaded module.
        unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &raw mut per_multiprocessor,
                kernel,
                TURN_THREADS as i32,
                0,
            )
        }
        .result()
        .map_err(failed("cuOccupancyMaxActiveBlocksPerMultiprocessor"))?;
        if promises != 0 {
            *room = per_multiprocessor as u32 * info.multiprocessors as u32;
        }
    }
    Ok(room)
}

/// A device in use.
#[derive(Debug)]
struct Context {
    device: sys::CUdevice,
    context: sys::CUcontext,
    stream: sys::CUstream,
    name: String,
    /// Whether what was begun last on the stream is a kernel of `kernels/resident.cu`: the next one
    /// may begin before it has ended.
    ends_with_kernel: AtomicBool,
}

// SAFETY: the driver's handles may be used from any thread once the context is made current
// there, which every use does; one `Gpu` uses a stream, behind `&mut`.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    /// Calls the driver with this device being current.
    fn call<T>(
        &self,
        call: &'static str,
        with: impl FnOnce() -> Result<T, DriverError>,
    ) -> Result<T, DeviceError> {
        self.ends_with_kernel.store(false, Ordering::Relaxed);
        self.call_on(call, with)
    }

    /// The same, of a call that knows what the stream ends with.
    fn call_on<T>(
        &self,
        call: &'static str,
        with: impl FnOnce() -> Result<T, DriverError>,
    ) -> Result<T, DeviceError> {
        // SAFETY: the context lives as long as this.
        let result = unsafe { result::ctx::set_current(self.context) }.and_then(|()| with());
        result.map_err(|error| DeviceError::Failed {
            device: self.name.clone(),
            call,
            message: message(error),
        })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: nothing uses the stream any more. A device that was lost refuses, and there is
        // nothing left to do about it.
        unsafe {
            let _ = result::ctx::set_current(self.context);
            let _ = result::stream::destroy(self.stream);
            let _ = result::primary_ctx::release(self.device);
        }
    }
}

/// Executes kernels on a device of NVIDIA.
#[derive(Debug)]
pub struct Cuda {
    context: Arc<Context>,
    info: DeviceInfo,
    shared_bytes: usize,
    functions: Functions,
    /// Whether kernels may begin before the one before has ended.
    overlaps: bool,
    /// Thread blocks that the device has room for at one time, of each of the kernels that do all
    /// substeps; none where it does not promise that they are.
    room_for_turns: [u32; 2],
    /// Kernels of the other stages, by name.
    resident: HashMap<&'static str, sys::CUfunction>,
    /// Where kernels find what they work on.
    step: sys::CUdeviceptr,
    graph: Option<Graph>,
    /// Before and after the kernels of a step.
    events: [sys::CUevent; 2],
    moments: [sys::CUevent; MOMENTS],
    launches: usize,
}

// SAFETY: as for `Context`.
unsafe impl Send for Cuda {}
// SAFETY: as for `Context`; `&Cuda` only reads and asks the driver.
unsafe impl Sync for Cuda {}

/// The kernels of the module.
#[derive(Clone, Copy, Debug)]
struct Functions {
    begin_step: sys::CUfunction,
    apply_impulses: sys::CUfunction,
    repeat_changes: sys::CUfunction,
    join_copies: sys::CUfunction,
    sweep: sys::CUfunction,
    sweep_rolling: sys::CUfunction,
    apply_flat: sys::CUfunction,
    sweep_flat: sys::CUfunction,
    sweep_flat_rolling: sys::CUfunction,
    find_losses: sys::CUfunction,
    sum_losses: sys::CUfunction,
    begin_turns: sys::CUfunction,
    list_turns: sys::CUfunction,
    number_turns: sys::CUfunction,
    finish_turns: sys::CUfunction,
    /// Where no contact resists rolling, and where some do.
    substeps_in_turn: [sys::CUfunction; 2],
    finish_step: sys::CUfunction,
}

/// The launches of a step, ready to go.
#[derive(Debug)]
struct Graph {
    shape: StepShape,
    executable: sys::CUgraphExec,
    launches: usize,
}

impl Cuda {
    /// The device of this number, counted from 0.
    pub fn new(index: usize) -> Result<Self, CudaError> {
        Cuda::with_precision(index, Precision::Double)
    }

    /// The device of this number, for substeps in this precision.
    pub fn with_precision(index: usize, precision: Precision) -> Result<Self, CudaError> {
        let (count, version) = start_driver()?;
        if index >= count {
            return Err(CudaError::NoSuchDevice { index, count });
        }
        let device = result::device::get(index as i32).map_err(failed("cuDeviceGet"))?;
        let info = info(device)?;
        let overlaps = version >= OVERLAPPING.0 && info.capability[0] >= OVERLAPPING.1;
        let texts = if overlaps { PTX_90 } else { PTX };
        let [substeps, other_stages] = texts.map(|[double, mixed]| match precision {
            Precision::Double => double,
            Precision::Mixed => mixed,
        });
        // SAFETY: the device is one of the driver's.
        let context = unsafe { result::primary_ctx::retain(device) }
            .map_err(failed("cuDevicePrimaryCtxRetain"))?;
        // SAFETY: just made.
        unsafe { result::ctx::set_current(context) }.map_err(failed("cuCtxSetCurrent"))?;
        let stream = result::stream::create(result::stream::StreamKind::NonBlocking)
            .map_err(failed("cuStreamCreate"))?;
        let context = Arc::new(Context {
            device,
            context,
            stream,
            name: info.name.clone(),
            ends_with_kernel: AtomicBool::new(false),
        });
        let load = |ptx: &str| {
            // SAFETY: a text that ends with zero.
            unsafe { result::module::load_data(ptx.as_ptr().cast::<c_void>()) }
                .map_err(failed("cuModuleLoadData"))
        };
        let function_of = |module, name: CString| {
            // SAFETY: the module is loaded, and stays so until the program ends.
            unsafe { result::module::get_function(module, name) }
                .map_err(failed("cuModuleGetFunction"))
        };
        let module = load(substeps)?;
        let function = |name: &CStr| function_of(module, CString::from(name));
        let others = load(other_stages)?;
        let resident = kernels::ALL.iter().map(|kernel| {
            let name = CString::new(kernel.name).expect("names have no zeros");
            Ok((kernel.name, function_of(others, name)?))
        });
        let resident = resident.collect::<Result<HashMap<_, _>, CudaError>>()?;
        let functions = Functions {
            begin_step: function(c"begin_step")?,
            apply_impulses: function(c"apply_impulses")?,
            repeat_changes: function(c"repeat_changes")?,
            join_copies: function(c"join_copies")?,
            sweep: function(c"sweep")?,
            sweep_rolling: function(c"sweep_rolling")?,
            apply_flat: function(c"apply_flat")?,
            sweep_flat: function(c"sweep_flat")?,
            sweep_flat_rolling: function(c"sweep_flat_rolling")?,
            find_losses: function(c"find_losses")?,
            sum_losses: function(c"sum_losses")?,
            begin_turns: function(c"begin_turns")?,
            list_turns: function(c"list_turns")?,
            number_turns: function(c"number_turns")?,
            finish_turns: function(c"finish_turns")?,
            substeps_in_turn: [
                function(c"substeps_in_turn")?,
                function(c"substeps_in_turn_rolling")?,
            ],
            finish_step: function(c"finish_step")?,
        };
        // SAFETY: as for functions.
        let (step, bytes) = unsafe { result::module::get_global(module, c"esker_step".into()) }
            .map_err(failed("cuModuleGetGlobal"))?;
        assert_eq!(
            bytes,
            size_of::<StepRecord>(),
            "kernels and layout.rs differ"
        );
        // SAFETY: the device is one of the driver's.
        let most = unsafe {
            result::device::get_attribute(
                device,
                sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
            )
        };
        // What the kernels have beside bodies is far less than this.
        let shared_bytes = most.map_err(failed("cuDeviceGetAttribute"))? - 1024;
        let Functions {
            sweep,
            sweep_rolling,
            apply_impulses,
            ..
        } = functions;
        for function in [sweep, sweep_rolling, apply_impulses] {
            let attribute =
                sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            // SAFETY: the function is one of the module.
            unsafe { result::function::set_function_attribute(function, attribute, shared_bytes) }
                .map_err(failed("cuFuncSetAttribute"))?;
        }
        let room_for_turns = room_for_turns(device, &info, functions.substeps_in_turn)?;
        let event = || {
            let flags = sys::CUevent_flags::CU_EVENT_DEFAULT;
            result::event::create(flags).map_err(failed("cuEventCreate"))
        };
        let moments = (0..MOMENTS).map(|_| event());
        let moments = moments.collect::<Result<Vec<_>, CudaError>>()?;
        Ok(Cuda {
            context,
            info,
            shared_bytes: shared_bytes as usize,
            functions,
            overlaps,
            room_for_turns,
            resident,
            step,
            graph: None,
            events: [event()?, event()?],
            moments: moments.try_into().expect("as many as were made just now"),
            launches: 0,
        })
    }

    /// What device it is.
    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn function(&self, kernel: Kernel) -> (sys::CUfunction, [u32; 2]) {
        let f = &self.functions;
        match kernel {
            Kernel::BeginStep => (f.begin_step, [0; 2]),
            Kernel::ApplyImpulses { colour } => (f.apply_impulses, [colour, 0]),
            Kernel::RepeatChanges {
                substep,
                last_colours,
            } => (f.repeat_changes, [substep, last_colours]),
            Kernel::JoinCopies { substep } => (f.join_copies, [substep, 0]),
            Kernel::Sweep { colour, substep } => (f.sweep, [colour, substep]),
            Kernel::SweepRolling { colour, substep } => (f.sweep_rolling, [colour, substep]),
            Kernel::ApplyFlat { colours } => (f.apply_flat, [colours, 0]),
            Kernel::SweepFlat { colours, substep } => (f.sweep_flat, [colours, substep]),
            Kernel::SweepFlatRolling { colours, substep } => {
                (f.sweep_flat_rolling, [colours, substep])
            }
            Kernel::FindLosses => (f.find_losses, [0; 2]),
            Kernel::SumLosses => (f.sum_losses, [0; 2]),
            Kernel::BeginTurns => (f.begin_turns, [0; 2]),
            Kernel::ListTurns => (f.list_turns, [0; 2]),
            Kernel::NumberTurns => (f.number_turns, [0; 2]),
            Kernel::FinishTurns => (f.finish_turns, [0; 2]),
            Kernel::SubstepsInTurn => (f.substeps_in_turn[0], [0; 2]),
            Kernel::SubstepsInTurnRolling => (f.substeps_in_turn[1], [0; 2]),
            Kernel::FinishStep => (f.finish_step, [0; 2]),
        }
    }

    fn launch_in_step(&self, launch: &KernelLaunch) -> Result<(), DeviceError> {
        let (function, mut numbers) = self.function(launch.kernel);
        let [first, second] = &mut numbers;
        // A kernel takes as many of them as it has parameters.
        let mut arguments = [
            (&raw mut *first).cast::<c_void>(),
            (&raw mut *second).cast(),
        ];
        let thread_blocks = match launch.kernel {
            Kernel::SubstepsInTurn => launch.thread_blocks.min(self.room_for_turns[0]),
            Kernel::SubstepsInTurnRolling => launch.thread_blocks.min(self.room_for_turns[1]),
            _ => launch.thread_blocks,
        };
        let size = [thread_blocks, launch.threads, launch.shared_bytes];
        let how = match (launch.is_all_at_once, launch.begins_early) {
            (true, _) => How::AllAtOnce,
            (false, true) => How::Early,
            (false, false) => How::InOrder,
        };
        // SAFETY: the kernel's parameters are up to two numbers of 32 bits.
        self.context.call("cuLaunchKernelEx", || unsafe {
            self.begin(function, size, how, &mut arguments)
        })
    }

    /// Begins a kernel of so many thread blocks, threads of each and bytes that each has for
    /// itself.
    ///
    /// # Safety
    /// The arguments are those that the kernel has, and a kernel that begins early waits by itself.
    unsafe fn begin(
        &self,
        function: sys::CUfunction,
        [thread_blocks, threads, shared_bytes]: [u32; 3],
        how: How,
        arguments: &mut [*mut c_void],
    ) -> Result<(), DriverError> {
        use sys::CUlaunchAttributeID as Id;
        let (id, value) = match how {
            How::AllAtOnce => (
                Id::CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
                sys::CUlaunchAttributeValue { cooperative: 1 },
            ),
            How::Early | How::InOrder => (
                Id::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                sys::CUlaunchAttributeValue {
                    programmaticStreamSerializationAllowed: 1,
                },
            ),
        };
        let has_attribute = match how {
            How::AllAtOnce => true,
            How::Early => self.overlaps,
            How::InOrder => false,
        };
        let mut attribute = sys::CUlaunchAttribute {
            id,
            pad: [0; 4],
            value,
        };
        let config = sys::CUlaunchConfig {
            gridDimX: thread_blocks,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: threads,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: shared_bytes,
            hStream: self.context.stream,
            attrs: &raw mut attribute,
            numAttrs: has_attribute.into(),
        };
        // SAFETY: of the arguments, the caller's; the driver copies them and the configuration
        // before it returns.
        unsafe {
            sys::cuLaunchKernelEx(
                &raw const config,
                function,
                arguments.as_mut_ptr(),
                std::ptr::null_mut(),
            )
            .result()
        }
    }

    /// Whether one kernel is to do all substeps of a step of a flat plan.
    fn prefers_turns(&self, shape: &StepShape) -> bool {
        let threads = TURN_THREADS * self.room_for_turns[usize::from(shape.rolls)];
        let most = MOST_PLACES_PER_THREAD * threads;
        let is_taking = self
            .graph
            .as_ref()
            .is_some_and(|graph| graph.shape.is_in_turn);
        // Who is at the border does not go to and fro: every change is another graph.
        let most = if is_taking { most + most / 8 } else { most };
        threads > 0 && shape.blocks.iter().sum::<u32>() <= most
    }

    /// Makes the graph of a step.
    fn capture(&mut self, shape: &StepShape) -> Result<(), DeviceError> {
        self.forget_graph();
        let mut shape = shape.rounded_up();
        let most = fitting_bodies(self.shared_bytes);
        shape.cached_bodies = shape.cached_bodies.min(most as u32);
        let launches = shape.launches();
        let stream = self.context.stream;
        // SAFETY: the stream is this device's; so below.
        self.context.call("cuStreamBeginCapture", || unsafe {
            let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
            result::stream::begin_capture(stream, mode)
        })?;
        let captured = launches
            .iter()
            .try_for_each(|launch| self.launch_in_step(launch));
        // SAFETY: as above; ended also where a launch failed, or the stream stays unusable.
        let graph = self.context.call("cuStreamEndCapture", || unsafe {
            result::stream::end_capture(stream)
        });
        captured?;
        let graph = graph?;
        // SAFETY: the graph was just made, and an executable one does not need it any more.
        let executable = self.context.call("cuGraphInstantiate", || unsafe {
            let executable = result::graph::instantiate(graph, sys::CUgraphInstantiate_flags(0));
            let _ = result::graph::destroy(graph);
            executable
        })?;
        self.graph = Some(Graph {
            shape,
            executable,
            launches: launches.len(),
        });
        Ok(())
    }

    /// Memory of so many bytes, and as much of the host's where that is wanted.
    fn allocate_with(
        &mut self,
        bytes: usize,
        is_staged: bool,
    ) -> Result<Option<CudaMemory>, DeviceError> {
        // A driver has no memory of no bytes.
        let bytes = bytes.max(1);
        let is_full = |error: &DriverError| error.0 == sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY;
        // SAFETY: what is allocated is plain memory, freed by `CudaMemory`.
        let allocated = self.context.call("cuMemAlloc", || unsafe {
            let device = match result::malloc_sync(bytes) {
                Err(error) if is_full(&error) => return Ok(None),
                device => device?,
            };
            if !is_staged {
                return Ok(Some((device, std::ptr::null_mut())));
            }
            match result::malloc_host(bytes, 0) {
                Ok(staging) => {
                    // Rows that are not written, at the ends of lists, are copied too.
                    staging.cast::<u8>().write_bytes(0, bytes);
                    Ok(Some((device, staging)))
                }
                Err(error) => {
                    let _ = result::free_sync(device);
                    if is_full(&error) {
                        Ok(None)
                    } else {
                        Err(error)
                    }
                }
            }
        })?;
        Ok(allocated.map(|(device, staging)| CudaMemory {
            context: Arc::clone(&self.context),
            device,
            staging: staging.cast(),
            bytes,
        }))
    }

    fn forget_graph(&mut self) {
        if let Some(graph) = self.graph.take() {
            // SAFETY: made by this object; a lost device refuses.
            unsafe {
                let _ = result::ctx::set_current(self.context.context);
                let _ = result::graph::exec_destroy(graph.executable);
            }
        }
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        self.forget_graph();
        for event in self.events.into_iter().chain(self.moments) {
            // SAFETY: made by this object; a lost device refuses.
            let _ = unsafe { result::event::destroy(event) };
        }
    }
}

/// Memory of a device, and pages of the host that its copy engine reaches.
#[derive(Debug)]
pub struct CudaMemory {
    context: Arc<Context>,
    device: sys::CUdeviceptr,
    staging: *mut u8,
    bytes: usize,
}

// SAFETY: as for `Context`; the staging memory is this object's alone.
unsafe impl Send for CudaMemory {}
// SAFETY: as above; `&CudaMemory` hands out an address.
unsafe impl Sync for CudaMemory {}

impl Drop for CudaMemory {
    fn drop(&mut self) {
        // SAFETY: both were allocated here; copies that are under way are waited for. A lost
        // device refuses.
        unsafe {
            let _ = result::ctx::set_current(self.context.context);
            let _ = result::stream::synchronize(self.context.stream);
            let _ = result::free_sync(self.device);
            if !self.staging.is_null() {
                let _ = result::free_host(self.staging.cast());
            }
        }
    }
}

impl DeviceMemory for CudaMemory {
    fn address(&self) -> u64 {
        self.device
    }

    fn staging(&self) -> *mut u8 {
        self.staging
    }

    fn len(&self) -> usize {
        self.bytes
    }

    fn upload(&mut self, range: Range<usize>) -> Result<(), DeviceError> {
        assert!(range.end <= self.bytes && !self.staging.is_null());
        // SAFETY: within both memories. Who writes to staging before the wait sends it again.
        self.context.call("cuMemcpyHtoDAsync", || unsafe {
            let from = std::slice::from_raw_parts(self.staging.add(range.start), range.len());
            let to = self.device + range.start as u64;
            result::memcpy_htod_async(to, from, self.context.stream)
        })
    }

    fn download(&mut self, range: Range<usize>) -> Result<(), DeviceError> {
        assert!(range.end <= self.bytes && !self.staging.is_null());
        // SAFETY: within both memories; nobody reads from staging before the wait.
        self.context.call("cuMemcpyDtoHAsync", || unsafe {
            let to = std::slice::from_raw_parts_mut(self.staging.add(range.start), range.len());
            let from = self.device + range.start as u64;
            result::memcpy_dtoh_async(to, from, self.context.stream)
        })
    }
}

impl Executor for Cuda {
    type Memory = CudaMemory;

    fn name(&self) -> &str {
        &self.info.name
    }

    fn shared_bytes(&self) -> usize {
        self.shared_bytes
    }

    fn free_bytes(&self) -> Result<usize, DeviceError> {
        let (free, _) = self.context.call("cuMemGetInfo", result::mem_get_info)?;
        Ok(free)
    }

    fn allocate(&mut self, bytes: usize) -> Result<Option<CudaMemory>, DeviceError> {
        self.allocate_with(bytes, true)
    }

    fn allocate_scratch(&mut self, bytes: usize) -> Result<Option<CudaMemory>, DeviceError> {
        self.allocate_with(bytes, false)
    }

    fn read_scratch<T: Plain>(
        &mut self,
        memory: &CudaMemory,
        array: Array<T>,
    ) -> Result<Vec<T>, DeviceError> {
        assert!(array.bytes().end <= memory.bytes);
        let mut values = Vec::with_capacity(array.count());
        // SAFETY: within the memory; all bits are values, and as many are written as there is
        // room for.
        self.context.call("cuMemcpyDtoH", || unsafe {
            let to = std::slice::from_raw_parts_mut(values.as_mut_ptr(), array.count());
            result::stream::synchronize(self.context.stream)?;
            result::memcpy_dtoh_sync::<T>(to, array.address(memory))
        })?;
        // SAFETY: just written.
        unsafe { values.set_len(array.count()) };
        Ok(values)
    }

    fn launch(&mut self, launch: ResidentLaunch) -> Result<(), DeviceError> {
        let function = self.resident[launch.kernel.name];
        let (mut record, mut number) = (launch.record, launch.number);
        let mut arguments = [(&raw mut record).cast::<c_void>(), (&raw mut number).cast()];
        let how = match self.context.ends_with_kernel.swap(true, Ordering::Relaxed) {
            true => How::Early,
            false => How::InOrder,
        };
        let size = [launch.thread_blocks, RESIDENT_THREADS, 0];
        // SAFETY: the kernel's parameters are an address and a number of 32 bits; all these kernels
        // wait before they do anything.
        self.context.call_on("cuLaunchKernelEx", || unsafe {
            self.begin(function, size, how, &mut arguments)
        })
    }

    fn mark(&mut self, moment: usize) -> Result<(), DeviceError> {
        // SAFETY: event and stream are this object's.
        self.context.call("cuEventRecord", || unsafe {
            result::event::record(self.moments[moment], self.context.stream)
        })
    }

    fn seconds_between(&self, from: usize, to: usize) -> Result<f64, DeviceError> {
        // SAFETY: the events are this object's.
        let time = self.context.call("cuEventElapsedTime", || unsafe {
            result::event::elapsed(self.moments[from], self.moments[to])
        })?;
        Ok(f64::from(time) * 1e-3)
    }

    fn run(&mut self, shape: &StepShape, step: u64) -> Result<(), DeviceError> {
        let shape = &shape.in_turn_if(self.prefers_turns(shape));
        let is_current = |graph: &Graph| graph.shape.covers(shape);
        if !self.graph.as_ref().is_some_and(is_current) {
            self.capture(shape)?;
        }
        let Some(graph) = &self.graph else {
            return Ok(());
        };
        self.launches = graph.launches;
        let (stream, [start, end]) = (self.context.stream, self.events);
        // SAFETY: graph, events and stream are this object's.
        self.context.call("cuGraphLaunch", || unsafe {
            let bytes = size_of::<StepRecord>();
            result::memcpy_dtod_async(self.step, step, bytes, stream)?;
            result::event::record(start, stream)?;
            result::graph::launch(graph.executable, stream)?;
            result::event::record(end, stream)
        })
    }

    fn work(&self) -> Result<DeviceWork, DeviceError> {
        let [start, end] = self.events;
        // SAFETY: the events are this object's.
        let time = self.context.call("cuEventElapsedTime", || unsafe {
            result::event::elapsed(start, end)
        })?;
        Ok(DeviceWork {
            kernel_seconds: f64::from(time) * 1e-3,
            launches: self.launches,
            copied: [0; 2],
            bandwidth: self.info.bandwidth,
        })
    }

    fn wait(&mut self) -> Result<(), DeviceError> {
        // SAFETY: the stream is this device's.
        self.context.call("cuStreamSynchronize", || unsafe {
            result::stream::synchronize(self.context.stream)
        })
    }
}
