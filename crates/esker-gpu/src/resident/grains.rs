//! Grains that stay on a device.

use esker_contact::BodyState;
use esker_solver::device::DeviceError;
use esker_world::resident::GrainRows;
use glam::{DQuat, DVec3};

use crate::backend::reserve;
use crate::launch::Executor;
use crate::memory::{Array, DeviceMemory, Layout, Plain, staged, staged_mut};

/// `struct Grains` of `kernels/grains.h`; addresses on the device.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
#[allow(missing_docs, reason = "fields are documented in kernels/grains.h")]
pub struct GrainsRecord {
    pub count: u32,
    pub walls: u32,
    pub position: u64,
    pub state: u64,
    pub orientation: u64,
    pub radius: u64,
    pub mass: u64,
    pub id: u64,
    pub slot: u64,
    pub material: u64,
}

// SAFETY: a record of numbers.
unsafe impl Plain for GrainsRecord {}

#[derive(Clone, Copy, Debug, Default)]
struct GrainArrays {
    position: Array<DVec3>,
    state: Array<BodyState>,
    orientation: Array<DQuat>,
    radius: Array<f64>,
    mass: Array<f64>,
    id: Array<u64>,
    slot: Array<u32>,
    material: Array<u16>,
}

impl GrainArrays {
    fn new(count: usize) -> (Self, usize) {
        let mut layout = Layout::default();
        let arrays = GrainArrays {
            position: layout.array(count),
            state: layout.array(count),
            orientation: layout.array(count),
            radius: layout.array(count),
            mass: layout.array(count),
            id: layout.array(count),
            slot: layout.array(count),
            material: layout.array(count),
        };
        (arrays, layout.end())
    }
}

/// Rows that there is room for where so many grains are: others come.
pub(super) fn room_of_rows(grains: usize) -> usize {
    grains + grains / 8 + 1024
}

/// Rows of grains on a device.
#[derive(Debug)]
pub struct ResidentGrains<E: Executor> {
    memory: Option<E::Memory>,
    arrays: GrainArrays,
    count: usize,
}

impl<E: Executor> Default for ResidentGrains<E> {
    fn default() -> Self {
        ResidentGrains {
            memory: None,
            arrays: GrainArrays::default(),
            count: 0,
        }
    }
}

impl<E: Executor> ResidentGrains<E> {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// How many more there is room for.
    pub fn room(&self) -> usize {
        self.arrays.position.count() - self.count
    }

    /// Lets there be so many, of which the last are about to be written.
    pub(super) fn set_count(&mut self, count: usize) {
        assert!(count <= self.arrays.position.count());
        self.count = count;
    }

    /// Begins to send all rows.
    pub fn send(&mut self, executor: &mut E, rows: GrainRows<'_>) -> Result<(), DeviceError> {
        let count = rows.len();
        let (arrays, bytes) = GrainArrays::new(room_of_rows(count));
        reserve(executor, &mut self.memory, bytes, (count, 0))?;
        (self.arrays, self.count) = (arrays, count);
        let memory = self.memory.as_mut().expect("just reserved");
        staged_mut(memory, arrays.position)[..count].copy_from_slice(rows.position);
        staged_mut(memory, arrays.state)[..count].copy_from_slice(rows.state);
        staged_mut(memory, arrays.orientation)[..count].copy_from_slice(rows.orientation);
        staged_mut(memory, arrays.radius)[..count].copy_from_slice(rows.radius);
        staged_mut(memory, arrays.mass)[..count].copy_from_slice(rows.mass);
        staged_mut(memory, arrays.material)[..count].copy_from_slice(rows.material);
        let ids = staged_mut(memory, arrays.id)[..count].iter_mut();
        for (row, id) in ids.enumerate() {
            *id = rows.id(row);
        }
        let slots = staged_mut(memory, arrays.slot)[..count].iter_mut();
        for (row, slot) in slots.enumerate() {
            *slot = rows.slot(row);
        }
        memory.upload(0..bytes)
    }

    /// Brings positions, velocities and orientations back.
    pub fn fetch(&mut self, executor: &mut E) -> Result<MovedGrains<'_>, DeviceError> {
        let arrays = self.arrays;
        let memory = self.memory.as_mut().expect("grains were sent");
        memory.download(0..arrays.orientation.bytes().end)?;
        executor.wait()?;
        Ok(MovedGrains {
            position: &staged(memory, arrays.position)[..self.count],
            state: &staged(memory, arrays.state)[..self.count],
            orientation: &staged(memory, arrays.orientation)[..self.count],
        })
    }

    /// Where everything is, beside so many walls.
    pub fn record(&self, walls: usize) -> GrainsRecord {
        let (memory, a) = (
            self.memory.as_ref().expect("grains were sent"),
            &self.arrays,
        );
        GrainsRecord {
            count: self.count as u32,
            walls: walls as u32,
            position: a.position.address(memory),
            state: a.state.address(memory),
            orientation: a.orientation.address(memory),
            radius: a.radius.address(memory),
            mass: a.mass.address(memory),
            id: a.id.address(memory),
            slot: a.slot.address(memory),
            material: a.material.address(memory),
        }
    }
}

/// What steps change of grains.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "as in `GrainRows`")]
pub struct MovedGrains<'a> {
    pub position: &'a [DVec3],
    pub state: &'a [BodyState],
    pub orientation: &'a [DQuat],
}
