//! Kernels compiled for the host: what tests run without a GPU.
//!
//! Memory of the "device" is apart from staging, and filled with rubbish at first, so that what is
//! not copied or not written shows.
//!
//! `unsafe`: kernels are C functions that work on the addresses they are given, which are those
//! of this file's memories.

use std::ops::Range;
use std::time::Instant;

use esker_solver::device::{DeviceError, DeviceWork};

use crate::launch::{Executor, Kernel, KernelLaunch, MOMENTS, ResidentLaunch, StepShape};
use crate::layout::{Precision, RESIDENT_THREADS, StepRecord};
use crate::memory::{Array, DeviceMemory, Plain};

/// Where a thread block of a launch is (`struct Launch` of `kernels/portable.h`).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Launch {
    thread_block: u32,
    thread_blocks: u32,
    threads: u32,
    shared: *mut f64,
    step: *const StepRecord,
}

/// A kernel of `kernels/resident.cu`.
pub(crate) type HostKernel = unsafe extern "C" fn(Launch, *mut u8, u32);

/// The kernels of `kernels/substep.cu` of one precision, and what executes one of them.
macro_rules! substep_kernels {
    ($module:ident, $suffix:literal) => {
        mod $module {
            use super::{Kernel, Launch};

            unsafe extern "C" {
                #[link_name = concat!("begin_step", $suffix)]
                fn begin_step(launch: Launch);
                #[link_name = concat!("apply_impulses", $suffix)]
                fn apply_impulses(launch: Launch, colour: u32);
                #[link_name = concat!("repeat_changes", $suffix)]
                fn repeat_changes(launch: Launch, substep: u32, last_colours: u32);
                #[link_name = concat!("join_copies", $suffix)]
                fn join_copies(launch: Launch, substep: u32);
                #[link_name = concat!("sweep", $suffix)]
                fn sweep(launch: Launch, colour: u32, substep: u32);
                #[link_name = concat!("sweep_rolling", $suffix)]
                fn sweep_rolling(launch: Launch, colour: u32, substep: u32);
                #[link_name = concat!("apply_flat", $suffix)]
                fn apply_flat(launch: Launch, colours: u32);
                #[link_name = concat!("sweep_flat", $suffix)]
                fn sweep_flat(launch: Launch, colours: u32, substep: u32);
                #[link_name = concat!("sweep_flat_rolling", $suffix)]
                fn sweep_flat_rolling(launch: Launch, colours: u32, substep: u32);
                #[link_name = concat!("find_losses", $suffix)]
                fn find_losses(launch: Launch);
                #[link_name = concat!("sum_losses", $suffix)]
                fn sum_losses(launch: Launch);
                #[link_name = concat!("begin_turns", $suffix)]
                fn begin_turns(launch: Launch);
                #[link_name = concat!("list_turns", $suffix)]
                fn list_turns(launch: Launch);
                #[link_name = concat!("number_turns", $suffix)]
                fn number_turns(launch: Launch);
                #[link_name = concat!("finish_turns", $suffix)]
                fn finish_turns(launch: Launch);
                #[link_name = concat!("substeps_in_turn", $suffix)]
                fn substeps_in_turn(launch: Launch);
                #[link_name = concat!("substeps_in_turn_rolling", $suffix)]
                fn substeps_in_turn_rolling(launch: Launch);
                #[link_name = concat!("finish_step", $suffix)]
                fn finish_step(launch: Launch);
            }

            /// # Safety
            /// The step of the launch and all that it names are valid for the kernel.
            pub(super) unsafe fn execute(kernel: Kernel, at: Launch) {
                // SAFETY: passed on to the caller.
                unsafe {
                    match kernel {
                        Kernel::BeginStep => begin_step(at),
                        Kernel::ApplyImpulses { colour } => apply_impulses(at, colour),
                        Kernel::RepeatChanges {
                            substep,
                            last_colours,
                        } => repeat_changes(at, substep, last_colours),
                        Kernel::JoinCopies { substep } => join_copies(at, substep),
                        Kernel::Sweep { colour, substep } => sweep(at, colour, substep),
                        Kernel::SweepRolling { colour, substep } => {
                            sweep_rolling(at, colour, substep);
                        }
                        Kernel::ApplyFlat { colours } => apply_flat(at, colours),
                        Kernel::SweepFlat { colours, substep } => sweep_flat(at, colours, substep),
                        Kernel::SweepFlatRolling { colours, substep } => {
                            sweep_flat_rolling(at, colours, substep);
                        }
                        Kernel::FindLosses => find_losses(at),
                        Kernel::SumLosses => sum_losses(at),
                        Kernel::BeginTurns => begin_turns(at),
                        Kernel::ListTurns => list_turns(at),
                        Kernel::NumberTurns => number_turns(at),
                        Kernel::FinishTurns => finish_turns(at),
                        Kernel::SubstepsInTurn => substeps_in_turn(at),
                        Kernel::SubstepsInTurnRolling => substeps_in_turn_rolling(at),
                        Kernel::FinishStep => finish_step(at),
                    }
                }
            }
        }
    };
}

substep_kernels!(double, "");
substep_kernels!(mixed, "_mixed");

/// Executes kernels on the host, thread after thread; thread blocks that wait for one another run at the
/// same time.
#[derive(Debug)]
pub struct Host {
    shared_bytes: usize,
    memory_bytes: usize,
    precision: Precision,
    thread_blocks: u32,
    moments: [Instant; MOMENTS],
}

impl Default for Host {
    fn default() -> Self {
        Host {
            shared_bytes: 200 << 10,
            memory_bytes: usize::MAX,
            precision: Precision::Double,
            thread_blocks: 2,
            moments: [Instant::now(); MOMENTS],
        }
    }
}

impl Host {
    /// One that gives thread blocks so many bytes for themselves.
    pub fn with_shared_bytes(self, shared_bytes: usize) -> Self {
        Host {
            shared_bytes,
            ..self
        }
    }

    /// One that computes substeps in this precision.
    pub fn with_precision(self, precision: Precision) -> Self {
        Host { precision, ..self }
    }

    /// One that has so many thread blocks at a time where they wait for one another; with none, every
    /// colour of a flat plan is a kernel.
    pub fn with_thread_blocks(self, thread_blocks: u32) -> Self {
        Host {
            thread_blocks,
            ..self
        }
    }

    /// One that has so many bytes for a memory.
    pub fn with_memory_bytes(self, memory_bytes: usize) -> Self {
        Host {
            memory_bytes,
            ..self
        }
    }
}

/// A line of memory at a time, so that arrays are aligned.
#[derive(Clone, Copy)]
#[repr(C, align(256))]
struct Line([u8; 256]);

/// Memory of [`Host`].
pub struct HostMemory {
    device: Vec<Line>,
    staging: Vec<Line>,
}

impl std::fmt::Debug for HostMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "HostMemory({} bytes)", self.len())
    }
}

/// What memory holds before anything is written: not a number, as doubles.
const RUBBISH: u8 = 0xff;

impl DeviceMemory for HostMemory {
    fn address(&self) -> u64 {
        self.device.as_ptr() as u64
    }

    fn staging(&self) -> *mut u8 {
        if self.staging.is_empty() {
            return std::ptr::null_mut();
        }
        self.staging.as_ptr().cast_mut().cast()
    }

    fn len(&self) -> usize {
        self.device.len() * size_of::<Line>()
    }

    fn upload(&mut self, range: Range<usize>) -> Result<(), DeviceError> {
        assert!(range.end <= self.staging.len() * size_of::<Line>());
        // SAFETY: within both, which are apart.
        unsafe {
            let to = self.device.as_mut_ptr().cast::<u8>().add(range.start);
            std::ptr::copy_nonoverlapping(self.staging().add(range.start), to, range.len());
        }
        Ok(())
    }

    fn download(&mut self, range: Range<usize>) -> Result<(), DeviceError> {
        assert!(range.end <= self.staging.len() * size_of::<Line>());
        // SAFETY: within both, which are apart.
        unsafe {
            let from = self.device.as_ptr().cast::<u8>().add(range.start);
            std::ptr::copy_nonoverlapping(from, self.staging().add(range.start), range.len());
        }
        Ok(())
    }
}

impl Executor for Host {
    type Memory = HostMemory;

    fn name(&self) -> &str {
        "the host"
    }

    fn shared_bytes(&self) -> usize {
        self.shared_bytes
    }

    fn free_bytes(&self) -> Result<usize, DeviceError> {
        Ok(self.memory_bytes)
    }

    fn allocate(&mut self, bytes: usize) -> Result<Option<HostMemory>, DeviceError> {
        if bytes > self.memory_bytes {
            return Ok(None);
        }
        let lines = vec![Line([RUBBISH; 256]); bytes.div_ceil(size_of::<Line>())];
        Ok(Some(HostMemory {
            device: lines.clone(),
            staging: lines,
        }))
    }

    fn allocate_scratch(&mut self, bytes: usize) -> Result<Option<HostMemory>, DeviceError> {
        let memory = self.allocate(bytes)?;
        Ok(memory.map(|memory| HostMemory {
            staging: Vec::new(),
            ..memory
        }))
    }

    fn read_scratch<T: Plain>(
        &mut self,
        memory: &HostMemory,
        array: Array<T>,
    ) -> Result<Vec<T>, DeviceError> {
        assert!(array.bytes().end <= memory.len());
        let from = array.address(memory) as *const T;
        // SAFETY: within the memory, aligned; all bits are values.
        Ok(unsafe { std::slice::from_raw_parts(from, array.count()) }.to_vec())
    }

    fn launch(&mut self, launch: ResidentLaunch) -> Result<(), DeviceError> {
        for thread_block in 0..launch.thread_blocks {
            let at = Launch {
                thread_block,
                thread_blocks: launch.thread_blocks,
                threads: RESIDENT_THREADS,
                shared: std::ptr::null_mut(),
                step: std::ptr::null(),
            };
            // SAFETY: the record and all that it names are memories of this file, laid out as
            // the kernel has it.
            unsafe {
                let kernel = launch.kernel.on_host[self.precision as usize];
                kernel(at, launch.record as *mut u8, launch.number);
            }
        }
        Ok(())
    }

    fn mark(&mut self, moment: usize) -> Result<(), DeviceError> {
        self.moments[moment] = Instant::now();
        Ok(())
    }

    fn seconds_between(&self, from: usize, to: usize) -> Result<f64, DeviceError> {
        Ok((self.moments[to] - self.moments[from]).as_secs_f64())
    }

    fn run(&mut self, shape: &StepShape, step: u64) -> Result<(), DeviceError> {
        let step = step as *const StepRecord;
        let shape = shape.in_turn_if(self.thread_blocks > 0);
        for launch in shape.rounded_up().launches() {
            let most = match launch.is_all_at_once {
                true => self.thread_blocks,
                false => u32::MAX,
            };
            let launch = KernelLaunch {
                thread_blocks: launch.thread_blocks.min(most),
                ..launch
            };
            // SAFETY: the record and all that it names are memories of this file, laid out as
            // the kernels have it.
            unsafe { execute(self.precision, launch, step) };
        }
        Ok(())
    }

    fn work(&self) -> Result<DeviceWork, DeviceError> {
        Ok(DeviceWork::default())
    }

    fn wait(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }
}

/// # Safety
/// `step` and all that it names are valid for the kernel.
unsafe fn execute(precision: Precision, launch: KernelLaunch, step: *const StepRecord) {
    let step = step as u64;
    let execute = |thread_block| {
        // SAFETY: passed on to the caller.
        unsafe { execute_block(precision, launch, thread_block, step as *const StepRecord) };
    };
    if launch.is_all_at_once {
        std::thread::scope(|scope| {
            for thread_block in 0..launch.thread_blocks {
                scope.spawn(move || execute(thread_block));
            }
        });
    } else {
        (0..launch.thread_blocks).for_each(execute);
    }
}

/// # Safety
/// As for [`execute`].
unsafe fn execute_block(
    precision: Precision,
    launch: KernelLaunch,
    thread_block: u32,
    step: *const StepRecord,
) {
    let mut shared = vec![f64::NAN; launch.shared_bytes as usize / size_of::<f64>()];
    let at = Launch {
        thread_block,
        thread_blocks: launch.thread_blocks,
        threads: launch.threads,
        shared: shared.as_mut_ptr(),
        step,
    };
    // SAFETY: passed on to the caller.
    unsafe {
        match precision {
            Precision::Double => double::execute(launch.kernel, at),
            Precision::Mixed => mixed::execute(launch.kernel, at),
        }
    }
}
