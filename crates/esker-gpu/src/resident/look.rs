//! A close look at a step that a device has made: its residual and its errors.

use esker_parallel::ExactSum;
use esker_solver::device::DeviceError;
use esker_world::resident_look::{LookSettings, LookTotals, WorstRecord};

use super::advance::Advancer;
use super::kernels;
use super::primitives::over;
use crate::backend::{reserve, reserve_scratch};
use crate::launch::{Executor, ResidentKernel, ResidentLaunch};
use crate::memory::{Array, DeviceMemory, Layout, Plain, staged, staged_mut};

/// Sums of numbers of contacts at a time, at most.
const SUMS: usize = 6;
/// Sums of numbers of grains.
const TRAVEL_SUMS: usize = 2;
/// Lists that a number is chosen of, and values of a digit.
const LISTS: usize = 3;
const BINS: usize = 256;
/// Digits of a number.
const DIGITS: u32 = 4;
/// `SUM_…` of `kernels/look.h`.
const SUM_RESIDUAL: u32 = 0;
const SUM_ERRORS: u32 = 1;
const SUM_TRAVEL: u32 = 2;
/// Contacts per thread where several are summed by one.
const SUMMED_BY_THREAD: usize = 16;

/// `struct ExactSum` of `kernels/look.h`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct SumRecord {
    limbs: [i64; 8],
    beyond: u32,
    unused: u32,
}

/// `BEYOND_…` of `kernels/look.h`: a bit each, and what it stands for.
const BEYOND: [f64; 3] = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN];

impl From<SumRecord> for ExactSum {
    fn from(record: SumRecord) -> Self {
        let numbers = BEYOND.into_iter().enumerate();
        let there = numbers.filter(|(bit, _)| record.beyond >> bit & 1 != 0);
        let beyond = there.fold(0.0, |sum, (_, number)| sum + number);
        ExactSum::of_limbs(record.limbs).and_beyond(beyond)
    }
}

/// `struct Selection` of `kernels/look.h`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Selection {
    prefix: u32,
    place: u32,
    count: u32,
    is_there: u32,
}

impl Selection {
    /// The number that was found; zero for none and where it is negative.
    fn value(&self) -> f32 {
        let bits = match self.prefix >> 31 {
            0 => !self.prefix,
            _ => self.prefix & !(1 << 31),
        };
        match self.is_there {
            0 => 0.0,
            _ => f32::from_bits(bits).max(0.0),
        }
    }
}

/// `struct LookNumbers` of `kernels/look.h`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct LookNumbers {
    residual: [SumRecord; 5],
    errors: [SumRecord; SUMS],
    travel: [SumRecord; TRAVEL_SUMS],
    worst: u64,
    worst_overlap: f64,
    worst_grain: u32,
    worst_is_wall: u32,
    worst_partner: u32,
    unused: u32,
    selection: [Selection; LISTS],
}

impl LookNumbers {
    fn totals(&self, has_residual: bool) -> LookTotals {
        let [excess, load @ ..] = self.errors.map(ExactSum::from);
        let [grains, walls, _] = self.selection;
        LookTotals {
            residual: has_residual.then(|| self.residual.map(ExactSum::from)),
            touching: (grains.count + walls.count) as usize,
            excess,
            load,
            percentiles: self.selection.map(|selection| selection.value()),
            travel: self.travel.map(ExactSum::from),
            worst: (self.worst != 0).then_some(WorstRecord {
                grain: self.worst_grain,
                is_wall: self.worst_is_wall != 0,
                partner: self.worst_partner,
                overlap: self.worst_overlap,
                excess: f32::from_bits((self.worst >> 32) as u32),
            }),
        }
    }
}

/// `struct Look` of `kernels/look.h`; addresses on the device.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct LookRecord {
    advance: u64,
    numbers: u64,
    relaxed: f64,
    sticking: f64,
    shares: [f64; LISTS],
    values: u64,
    keys: u64,
    bins: u64,
}

// SAFETY: records of numbers; so below.
unsafe impl Plain for LookNumbers {}
// SAFETY: as above.
unsafe impl Plain for LookRecord {}

/// Looks at steps.
#[derive(Debug)]
pub struct Looker<E: Executor> {
    memory: Option<E::Memory>,
    scratch: Option<E::Memory>,
}

impl<E: Executor> Default for Looker<E> {
    fn default() -> Self {
        Looker {
            memory: None,
            scratch: None,
        }
    }
}

impl<E: Executor> Looker<E> {
    /// Looks at the step that was just made, of so many grains and contacts.
    pub fn look(
        &mut self,
        executor: &mut E,
        advancer: &Advancer<E>,
        settings: LookSettings,
        size: (usize, usize),
    ) -> Result<LookTotals, DeviceError> {
        let (grains, contacts) = size;
        let mut layout = Layout::default();
        let record: Array<LookRecord> = layout.array(1);
        let numbers: Array<LookNumbers> = layout.array(1);
        reserve(executor, &mut self.memory, layout.end(), size)?;
        let mut layout = Layout::default();
        let values: Array<f64> = layout.array((SUMS * contacts).max(TRAVEL_SUMS * grains));
        let keys: Array<u32> = layout.array(LISTS * contacts);
        let bins: Array<u32> = layout.array(LISTS * BINS);
        reserve_scratch(executor, &mut self.scratch, layout.end(), size)?;
        let hidden = self.scratch.as_ref().expect("just reserved");
        let memory = self.memory.as_mut().expect("just reserved");
        staged_mut(memory, record)[0] = LookRecord {
            advance: advancer.record(),
            numbers: numbers.address(memory),
            relaxed: settings.relaxed,
            sticking: settings.sticking,
            shares: settings.shares,
            values: values.address(hidden),
            keys: keys.address(hidden),
            bins: bins.address(hidden),
        };
        memory.upload(record.bytes())?;
        launch(executor, record.address(memory), size, &settings)?;
        memory.download(numbers.bytes())?;
        executor.wait()?;
        Ok(staged(memory, numbers)[0].totals(settings.with_residual))
    }
}

/// Begins the kernels of a look.
fn launch<E: Executor>(
    executor: &mut E,
    record: u64,
    (grains, contacts): (usize, usize),
    settings: &LookSettings,
) -> Result<(), DeviceError> {
    use kernels::*;
    let mut begin = |kernel: &'static ResidentKernel, entries: usize, number: u32| {
        executor.launch(ResidentLaunch {
            number,
            ..over(kernel, entries, record)
        })
    };
    let summed = |lists: usize, entries: usize| lists * entries.div_ceil(SUMMED_BY_THREAD);
    begin(&look_begin, LISTS * BINS, 0)?;
    if settings.with_residual {
        begin(&look_residual, contacts, 0)?;
        begin(&look_sum, summed(SUMS, contacts), SUM_RESIDUAL)?;
    }
    begin(&look_errors, contacts, 0)?;
    begin(&look_sum, summed(SUMS, contacts), SUM_ERRORS)?;
    begin(&look_worst, 1, 0)?;
    for digit in 0..DIGITS {
        begin(&select_count, summed(LISTS, contacts), digit)?;
        begin(&select_digit, 1, digit)?;
    }
    begin(&look_travel, grains, 0)?;
    begin(&look_sum, summed(TRAVEL_SUMS, grains), SUM_TRAVEL)
}
