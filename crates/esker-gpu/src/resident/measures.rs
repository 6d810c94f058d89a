//! What the host wants to know of grains after a step: their energy, and whether some may leave.

use esker_parallel::ExactSum;
use esker_solver::device::DeviceError;
use esker_world::resident::{BorderGrain, Exits};

use super::kernels;
use super::primitives::over;
use crate::backend::reserve;
use crate::launch::Executor;
use crate::memory::{Array, DeviceMemory, Layout, Plain, staged, staged_mut};

/// `struct MeasuredNumbers` of `kernels/measures.h`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct MeasuredNumbers {
    energy: [u64; 8],
    may_leave: u32,
    listed: u32,
}

/// `struct Measures` of `kernels/measures.h`; addresses on the device.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct MeasuresRecord {
    grains: u64,
    numbers: u64,
    boxes: u64,
    sinks: u32,
    emitters: u32,
    has_bounds: u32,
    room: u32,
    listed: u64,
}

// SAFETY: records of numbers.
unsafe impl Plain for MeasuredNumbers {}
// SAFETY: as above.
unsafe impl Plain for MeasuresRecord {}
// SAFETY: as above.
unsafe impl Plain for BorderGrain {}

#[derive(Clone, Copy, Debug, Default)]
struct Staged {
    record: Array<MeasuresRecord>,
    boxes: Array<f64>,
    numbers: Array<MeasuredNumbers>,
    listed: Array<BorderGrain>,
}

/// Grains that there is room for in the list at first.
const ROOM_IN_LIST: usize = 1024;

/// Measures of grains on a device.
#[derive(Debug)]
pub struct Measures<E: Executor> {
    memory: Option<E::Memory>,
    staged: Staged,
    room: usize,
}

impl<E: Executor> Default for Measures<E> {
    fn default() -> Self {
        Measures {
            memory: None,
            staged: Staged::default(),
            room: ROOM_IN_LIST,
        }
    }
}

/// Numbers of a box.
const BOX: usize = 6;

impl<E: Executor> Measures<E> {
    /// Begins to measure grains whose record is at an address, and to bring back the result.
    pub fn launch(
        &mut self,
        executor: &mut E,
        (grains, count): (u64, usize),
        exits: &Exits,
    ) -> Result<(), DeviceError> {
        let mut layout = Layout::default();
        let boxes = 1 + exits.sinks.len() + exits.emitters.len();
        let staged = Staged {
            record: layout.array(1),
            boxes: layout.array(BOX * boxes),
            numbers: layout.array(1),
            listed: layout.array(if boxes > 1 { self.room } else { 0 }),
        };
        reserve(executor, &mut self.memory, layout.end(), (0, 0))?;
        self.staged = staged;
        let memory = self.memory.as_mut().expect("just reserved");
        staged_mut(memory, staged.record)[0] = MeasuresRecord {
            grains,
            numbers: staged.numbers.address(memory),
            boxes: staged.boxes.address(memory),
            sinks: exits.sinks.len() as u32,
            emitters: exits.emitters.len() as u32,
            has_bounds: exits.bounds.is_some().into(),
            room: staged.listed.count() as u32,
            listed: staged.listed.address(memory),
        };
        let around = exits.sinks.iter().chain(&exits.emitters).copied();
        let boxes = std::iter::once(exits.bounds.unwrap_or_default()).chain(around);
        let places = staged_mut(memory, staged.boxes).chunks_exact_mut(BOX);
        for (place, [low, high]) in places.zip(boxes) {
            place[..3].copy_from_slice(&low.to_array());
            place[3..].copy_from_slice(&high.to_array());
        }
        memory.upload(0..staged.boxes.bytes().end)?;
        let record = staged.record.address(memory);
        executor.launch(over(&kernels::measures_begin, 1, record))?;
        executor.launch(over(&kernels::measure_grains, count, record))?;
        memory.download(staged.numbers.bytes().start..staged.listed.bytes().end)
    }

    fn numbers(&self) -> MeasuredNumbers {
        let memory = self.memory.as_ref().expect("something was measured");
        staged(memory, self.staged.numbers)[0]
    }

    /// Kinetic energy, J, once it is there.
    pub fn kinetic_energy(&self) -> f64 {
        ExactSum::of_limbs(self.numbers().energy.map(|limb| limb as i64)).value()
    }

    /// Grains that may leave or are near emitters, once they are there; `None` where there were
    /// more than there was room for.
    pub fn listed(&self) -> Option<&[BorderGrain]> {
        let memory = self.memory.as_ref()?;
        staged(memory, self.staged.listed).get(..self.numbers().listed as usize)
    }

    /// Makes room for as many as were to be listed, from the next step on.
    pub fn grow(&mut self) {
        let listed = self.numbers().listed as usize;
        self.room = self.room.max(listed + listed / 2);
    }

    /// Whether some grain may be in a sink or beyond the bounds.
    pub fn may_leave(&self) -> bool {
        self.numbers().may_leave != 0
    }
}
