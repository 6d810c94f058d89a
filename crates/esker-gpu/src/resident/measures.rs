//! What the host wants to know of grains after a step: their energy, and whether some may leave.

use esker_parallel::ExactSum;
use esker_solver::device::DeviceError;
use esker_world::resident::Exits;

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
    unused: u32,
}

/// `struct Measures` of `kernels/measures.h`; addresses on the device.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct MeasuresRecord {
    grains: u64,
    numbers: u64,
    boxes: u64,
    sinks: u32,
    has_bounds: u32,
}

// SAFETY: records of numbers.
unsafe impl Plain for MeasuredNumbers {}
// SAFETY: as above.
unsafe impl Plain for MeasuresRecord {}

#[derive(Clone, Copy, Debug, Default)]
struct Staged {
    record: Array<MeasuresRecord>,
    boxes: Array<f64>,
    numbers: Array<MeasuredNumbers>,
}

/// Measures of grains on a device.
#[derive(Debug)]
pub struct Measures<E: Executor> {
    memory: Option<E::Memory>,
    staged: Staged,
}

impl<E: Executor> Default for Measures<E> {
    fn default() -> Self {
        Measures {
            memory: None,
            staged: Staged::default(),
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
        let staged = Staged {
            record: layout.array(1),
            boxes: layout.array(BOX * (1 + exits.sinks.len())),
            numbers: layout.array(1),
        };
        reserve(executor, &mut self.memory, layout.end(), (0, 0))?;
        self.staged = staged;
        let memory = self.memory.as_mut().expect("just reserved");
        staged_mut(memory, staged.record)[0] = MeasuresRecord {
            grains,
            numbers: staged.numbers.address(memory),
            boxes: staged.boxes.address(memory),
            sinks: exits.sinks.len() as u32,
            has_bounds: exits.bounds.is_some().into(),
        };
        let boxes = std::iter::once(exits.bounds.unwrap_or_default()).chain(exits.sinks.clone());
        let places = staged_mut(memory, staged.boxes).chunks_exact_mut(BOX);
        for (place, [low, high]) in places.zip(boxes) {
            place[..3].copy_from_slice(&low.to_array());
            place[3..].copy_from_slice(&high.to_array());
        }
        memory.upload(0..staged.boxes.bytes().end)?;
        let record = staged.record.address(memory);
        executor.launch(over(&kernels::measures_begin, 1, record))?;
        executor.launch(over(&kernels::measure_grains, count, record))?;
        memory.download(staged.numbers.bytes())
    }

    fn numbers(&self) -> MeasuredNumbers {
        let memory = self.memory.as_ref().expect("something was measured");
        staged(memory, self.staged.numbers)[0]
    }

    /// Kinetic energy, J, once it is there.
    pub fn kinetic_energy(&self) -> f64 {
        ExactSum::of_limbs(self.numbers().energy.map(|limb| limb as i64)).value()
    }

    /// Whether some grain may be in a sink or beyond the bounds.
    pub fn may_leave(&self) -> bool {
        self.numbers().may_leave != 0
    }
}
