//! Rows of grains change while the grains stay on the device (`kernels/turnover.h`).

use esker_solver::device::DeviceError;
use esker_world::resident::{GrainRows, RowChanges};

use super::advance::RememberedRows;
use super::grains::{GrainsRecord, ResidentGrains};
use super::kernels;
use super::primitives::over;
use crate::backend::{reserve, reserve_scratch};
use crate::launch::Executor;
use crate::memory::{Array, DeviceMemory, Layout, Plain, staged_mut};

/// The row of a grain that had none.
const NOBODY: u32 = u32::MAX;

/// `struct ChangedRow` of `kernels/turnover.h`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct ChangedRow {
    to: u32,
    from: u32,
    slot: u32,
    material: u32,
    radius: f64,
    mass: f64,
    id: u64,
    position: [f64; 3],
    state: [f64; 8],
    orientation: [f64; 4],
    entry: u32,
    unused: u32,
}

impl ChangedRow {
    /// The grain that a row has now.
    fn of(rows: &GrainRows<'_>, to: u32, from: u32) -> Self {
        let row = to as usize;
        let state = &rows.state[row];
        let [velocity, spin] = [state.velocity, state.angular_velocity];
        ChangedRow {
            to,
            from,
            slot: rows.slot(row),
            material: rows.material[row].into(),
            radius: rows.radius[row],
            mass: rows.mass[row],
            id: rows.id(row),
            position: rows.position[row].to_array(),
            state: [
                velocity.x,
                velocity.y,
                velocity.z,
                state.inverse_mass,
                spin.x,
                spin.y,
                spin.z,
                state.inverse_inertia,
            ],
            orientation: rows.orientation[row].to_array(),
            entry: 0,
            unused: 0,
        }
    }
}

/// `struct Turnover` of `kernels/turnover.h`; addresses on the device.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct TurnoverRecord {
    grains: u64,
    changed: u64,
    gone: u64,
    changed_count: u32,
    gone_count: u32,
    remembered: RememberedRows,
}

/// `struct Reorder` of `kernels/turnover.h`; addresses on the device.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct ReorderRecord {
    order: u64,
    now: u64,
    entry: u64,
    count: u32,
    unused: u32,
    remembered: RememberedRows,
}

// SAFETY: records of numbers; so below.
unsafe impl Plain for ChangedRow {}
// SAFETY: as above.
unsafe impl Plain for TurnoverRecord {}
// SAFETY: as above.
unsafe impl Plain for ReorderRecord {}

/// Changes rows of grains on a device.
#[derive(Debug)]
pub struct Turnover<E: Executor> {
    memory: Option<E::Memory>,
    scratch: Option<E::Memory>,
}

impl<E: Executor> Default for Turnover<E> {
    fn default() -> Self {
        Turnover {
            memory: None,
            scratch: None,
        }
    }
}

impl<E: Executor> Turnover<E> {
    /// Begins to change rows as those of the world have changed, which are `rows` now.
    pub(super) fn change_rows(
        &mut self,
        executor: &mut E,
        grains: &mut ResidentGrains<E>,
        remembered: RememberedRows,
        (rows, changes): (GrainRows<'_>, &RowChanges),
    ) -> Result<(), DeviceError> {
        grains.set_count(rows.len());
        let moved = changes.moved.iter().map(|&[to, from]| (to, from));
        let come = (changes.kept..rows.len()).map(|row| (row as u32, NOBODY));
        let count = changes.moved.len() + rows.len() - changes.kept;
        let mut layout = Layout::default();
        let record: Array<TurnoverRecord> = layout.array(1);
        let of_grains: Array<GrainsRecord> = layout.array(1);
        let changed: Array<ChangedRow> = layout.array(count);
        let gone: Array<u32> = layout.array(changes.gone.len());
        // What was sent before may be on its way still.
        executor.wait()?;
        reserve(executor, &mut self.memory, layout.end(), (rows.len(), 0))?;
        let memory = self.memory.as_mut().expect("just reserved");
        staged_mut(memory, record)[0] = TurnoverRecord {
            grains: of_grains.address(memory),
            changed: changed.address(memory),
            gone: gone.address(memory),
            changed_count: count as u32,
            gone_count: changes.gone.len() as u32,
            remembered,
        };
        staged_mut(memory, of_grains)[0] = grains.record(0);
        let places = staged_mut(memory, changed).iter_mut();
        for (place, (to, from)) in places.zip(moved.chain(come)) {
            *place = ChangedRow::of(&rows, to, from);
        }
        staged_mut(memory, gone).copy_from_slice(&changes.gone);
        memory.upload(0..layout.end())?;
        let record = record.address(memory);
        let entries = count.max(changes.gone.len());
        executor.launch(over(&kernels::turnover_take, entries, record))?;
        executor.launch(over(&kernels::turnover_put, count, record))
    }

    /// Begins to put what is remembered, so many entries at most, into an order of rows: the
    /// row that each had.
    pub(super) fn reorder(
        &mut self,
        executor: &mut E,
        (remembered, most): (RememberedRows, usize),
        rows: &[u32],
    ) -> Result<(), DeviceError> {
        let count = rows.len();
        let mut layout = Layout::default();
        let [now, entry]: [Array<u32>; 2] = layout.arrays(count);
        reserve_scratch(executor, &mut self.scratch, layout.end(), (count, most))?;
        let mut layout = Layout::default();
        let record: Array<ReorderRecord> = layout.array(1);
        let order: Array<u32> = layout.array(count);
        executor.wait()?;
        reserve(executor, &mut self.memory, layout.end(), (count, most))?;
        let memory = self.memory.as_mut().expect("just reserved");
        let hidden = self.scratch.as_ref().expect("just reserved");
        staged_mut(memory, record)[0] = ReorderRecord {
            order: order.address(memory),
            now: now.address(hidden),
            entry: entry.address(hidden),
            count: count as u32,
            unused: 0,
            remembered,
        };
        staged_mut(memory, order).copy_from_slice(rows);
        memory.upload(0..layout.end())?;
        let record = record.address(memory);
        executor.launch(over(&kernels::reorder_take, count, record))?;
        executor.launch(over(&kernels::reorder_put, most.max(count), record))
    }
}
