//! Arrays of the grains of one state of a world.
//!
//! An array is a read-only snapshot in memory of its own: it is made when it is first asked for
//! after a step, and the same one is given out until the state changes. Whoever keeps it has the
//! state that it was taken from, whatever becomes of the simulation.
//!
//! Rows are in the order of ids, as in recordings: the order in memory changes as grains move.

use std::collections::HashMap;

use esker::record::{Frame, FrameContact, FramePartner, LoadInterval, Precision, RecordSettings};
use esker::world::{GrainId, Grains, World};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::conversion::{to_array, to_rows};

/// What arrays show of grains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field {
    Id,
    Position,
    Orientation,
    Velocity,
    AngularVelocity,
    Radius,
    Mass,
    Material,
    Shape,
}

/// Arrays of the present state, as far as they were asked for.
#[derive(Default)]
pub struct Arrays {
    made: HashMap<Field, Py<PyAny>>,
    /// All at once, by name.
    of_contacts: Option<Py<PyDict>>,
    order: Order,
}

/// Rows of the table of grains in the order of ids.
#[derive(Default)]
struct Order {
    rows: Vec<usize>,
    /// Ids by row when this was made; not looked at again until the state changes.
    ids: Vec<GrainId>,
    is_checked: bool,
}

impl Order {
    fn update(&mut self, grains: &Grains) {
        if self.is_checked {
            return;
        }
        self.is_checked = true;
        let ids = &grains.id()[..grains.count()];
        // Comparing is much cheaper than sorting, and memory is sorted anew rarely.
        if self.ids != ids {
            self.ids = ids.to_vec();
            self.rows = grains.in_id_order();
        }
    }
}

impl Arrays {
    /// Lets go of everything: the state has changed.
    pub fn forget(&mut self) {
        self.made.clear();
        self.of_contacts = None;
        self.order.is_checked = false;
    }

    /// An array of the grains of a world, which has not changed since others were made.
    pub fn of_grains(
        &mut self,
        py: Python<'_>,
        world: &World,
        field: Field,
    ) -> PyResult<Py<PyAny>> {
        if let Some(array) = self.made.get(&field) {
            return Ok(array.clone_ref(py));
        }
        let grains = &*world.all_grains();
        self.order.update(grains);
        let rows = self.order.rows.iter();
        let state = |i: &usize| &grains.state()[*i];
        let array = match field {
            Field::Id => to_array(py, rows.map(|&i| grains.id()[i].as_u64()).collect())?.into_any(),
            Field::Position => {
                to_rows(py, rows.map(|&i| grains.position()[i].to_array()))?.into_any()
            }
            Field::Orientation => {
                to_rows(py, rows.map(|&i| grains.orientation()[i].to_array()))?.into_any()
            }
            Field::Velocity => to_rows(py, rows.map(|i| state(i).velocity.to_array()))?.into_any(),
            Field::AngularVelocity => {
                to_rows(py, rows.map(|i| state(i).angular_velocity.to_array()))?.into_any()
            }
            Field::Radius => to_array(py, rows.map(|&i| grains.radius()[i]).collect())?.into_any(),
            Field::Mass => to_array(py, rows.map(|&i| grains.mass()[i]).collect())?.into_any(),
            Field::Material => {
                to_array(py, rows.map(|&i| grains.material()[i]).collect())?.into_any()
            }
            Field::Shape => {
                let shape = |&i: &usize| grains.shape_of(i).map_or(0, |shape| shape.shape + 1);
                to_array(py, rows.map(shape).collect())?.into_any()
            }
        };
        self.made.insert(field, array.clone().unbind());
        Ok(array.unbind())
    }

    /// Arrays of the contacts of a world, by name.
    pub fn of_contacts<'py>(
        &mut self,
        py: Python<'py>,
        world: &World,
    ) -> PyResult<Bound<'py, PyDict>> {
        if let Some(arrays) = &self.of_contacts {
            return Ok(arrays.bind(py).clone());
        }
        let settings = RecordSettings {
            fields: Vec::new(),
            precision: Precision::Double,
            compression: 0,
            contacts: true,
        };
        let frame = Frame::of(world, &settings, &LoadInterval::from_now(world));
        let arrays = contact_arrays(py, &frame.contacts, world.substep())?;
        self.of_contacts = Some(arrays.clone().unbind());
        Ok(arrays)
    }
}

/// Arrays of the contacts of grains, whose impulses are those of a step of this length, s.
pub fn contact_arrays<'py>(
    py: Python<'py>,
    contacts: &[FrameContact],
    impulse_step: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let of_grains = contacts.iter().filter(|c| c.owning_body().is_none());
    let of_grains: Vec<&FrameContact> = of_grains.collect();
    let all = || of_grains.iter().copied();
    let ids = |contact: &FrameContact| match contact.partner {
        FramePartner::Grain(id) => (id as i64, -1),
        FramePartner::Wall(wall) => (-1, wall as i64),
    };
    let normal_forces = all().map(|c| c.normal_impulse / impulse_step).collect();
    let friction_forces = all().map(|c| (c.friction_impulse / impulse_step).to_array());
    let dict = PyDict::new(py);
    dict.set_item("grain", to_array(py, all().map(|c| c.grain).collect())?)?;
    dict.set_item("partner", to_array(py, all().map(|c| ids(c).0).collect())?)?;
    dict.set_item("wall", to_array(py, all().map(|c| ids(c).1).collect())?)?;
    dict.set_item("point", to_rows(py, all().map(|c| c.point.to_array()))?)?;
    dict.set_item("normal", to_rows(py, all().map(|c| c.normal.to_array()))?)?;
    dict.set_item("overlap", to_array(py, all().map(|c| c.overlap).collect())?)?;
    dict.set_item("normal_force", to_array::<f64>(py, normal_forces)?)?;
    dict.set_item("friction_force", to_rows(py, friction_forces)?)?;
    Ok(dict)
}
