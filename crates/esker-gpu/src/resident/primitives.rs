//! Sums before every entry, and stable sorting, of what lies on the device
//! (`kernels/primitives.h`).

use esker_solver::device::DeviceError;

use super::kernels;
use crate::launch::{Executor, ResidentKernel, ResidentLaunch};
use crate::layout::{DIGIT_BITS, DIGITS, RESIDENT_THREADS, TILE};
use crate::memory::{Array, DeviceMemory, Layout, Plain, staged_mut};

/// Thread blocks that a pass over so many entries is launched with; more than a device runs at a
/// time gain nothing.
pub fn blocks_for(entries: usize) -> u32 {
    (entries as u32).div_ceil(RESIDENT_THREADS).clamp(1, 4096)
}

/// A launch of a kernel over so many entries.
pub fn over(kernel: &'static ResidentKernel, entries: usize, record: u64) -> ResidentLaunch {
    ResidentLaunch {
        kernel,
        thread_blocks: blocks_for(entries),
        record,
        number: 0,
    }
}

fn over_tiles(kernel: &'static ResidentKernel, entries: usize, record: u64) -> ResidentLaunch {
    ResidentLaunch {
        thread_blocks: (entries.div_ceil(TILE) as u32).clamp(1, 4096),
        ..over(kernel, entries, record)
    }
}

/// `struct Scan` of the kernels; addresses on the device.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
#[allow(missing_docs, reason = "fields are documented in kernels/primitives.h")]
pub struct ScanRecord {
    pub input: u64,
    pub output: u64,
    pub length: u64,
    pub total: u64,
    pub tiles: u64,
}

/// `struct Sort` of the kernels; addresses on the device.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
#[allow(missing_docs, reason = "fields are documented in kernels/primitives.h")]
pub struct SortRecord {
    pub keys: [u64; 2],
    pub values: [u64; 2],
    pub length: u64,
    pub counts: u64,
    pub count_length: u64,
}

// SAFETY: records of numbers.
unsafe impl Plain for ScanRecord {}
// SAFETY: as above.
unsafe impl Plain for SortRecord {}

/// Numbers that a scan of at most so many entries needs as scratch ([`ScanRecord::tiles`]).
pub fn scan_scratch(most: usize) -> usize {
    most.div_ceil(TILE).max(1)
}

/// Numbers that a sort of at most so many entries needs as [`SortRecord::counts`].
pub fn sort_scratch(most: usize) -> usize {
    DIGITS * most.div_ceil(TILE).max(1)
}

/// Begins a scan of at most `most` entries, whose record is at an address on the device.
pub fn scan<E: Executor>(executor: &mut E, record: u64, most: usize) -> Result<(), DeviceError> {
    executor.launch(over_tiles(&kernels::scan_tiles, most, record))?;
    executor.launch(over(&kernels::scan_sums, 1, record))?;
    executor.launch(over_tiles(&kernels::scan_entries, most, record))
}

/// Where the records of a sort are in a memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct SortPlace {
    sort: Array<SortRecord>,
    scan: Array<ScanRecord>,
    most: usize,
}

impl SortPlace {
    /// Makes room for the records of a sort of at most `most` entries.
    pub fn new(layout: &mut Layout, most: usize) -> Self {
        SortPlace {
            sort: layout.array(1),
            scan: layout.array(1),
            most,
        }
    }

    /// Writes the records to staging; `tiles` is the address of [`scan_scratch`] numbers for
    /// [`sort_scratch`] entries, and `total` that of one number.
    pub fn write(&self, memory: &mut impl DeviceMemory, sort: SortRecord, tiles: u64, total: u64) {
        staged_mut(memory, self.sort)[0] = sort;
        staged_mut(memory, self.scan)[0] = ScanRecord {
            input: sort.counts,
            output: sort.counts,
            length: sort.count_length,
            total,
            tiles,
        };
    }

    /// Begins to sort by the lowest bits of the keys. Returns which of the two arrays has the
    /// result.
    pub fn sort<E: Executor>(
        &self,
        executor: &mut E,
        memory: &E::Memory,
        bits: u32,
    ) -> Result<usize, DeviceError> {
        let (sort, scan_record) = (self.sort.address(memory), self.scan.address(memory));
        let mut from = 0;
        for shift in (0..bits).step_by(DIGIT_BITS as usize) {
            let number = shift | from << 8;
            for kernel in [&kernels::sort_count, &kernels::sort_place] {
                executor.launch(ResidentLaunch {
                    number,
                    ..over_tiles(kernel, self.most, sort)
                })?;
                if kernel.name == kernels::sort_count.name {
                    scan(executor, scan_record, sort_scratch(self.most))?;
                }
            }
            from = 1 - from;
        }
        Ok(from as usize)
    }
}
