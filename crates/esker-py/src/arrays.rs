//! Arrays of the grains of one state of a world.
//!
//! An array is a read-only snapshot in memory of its own: it is made when it is first asked for
//! after a step, and the same one is given out until the state changes. Whoever keeps it has the
//! state that it was taken from, whatever becomes of the simulation.
//!
//! Rows are in the order of ids, as in recordings: the order in memory changes as grains move.

use std::collections::HashMap;

use esker::record::{Frame, FramePartner, LoadInterval, Precision, RecordSettings};
use esker::world::{GrainId, Grains, World};
use pyo3::prelude::*;

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

/// What arrays show of contacts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ContactField {
    Grain,
    Partner,
    Wall,
    Point,
    Normal,
    Overlap,
    NormalForce,
    FrictionForce,
}

/// Arrays of the present state, as far as they were asked for.
#[derive(Default)]
pub struct Arrays {
    made: HashMap<Field, Py<PyAny>>,
    of_contacts: HashMap<ContactField, Py<PyAny>>,
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
        self.of_contacts.clear();
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
        let grains = world.grains();
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

    /// An array of the contacts of a world.
    pub fn of_contacts(
        &mut self,
        py: Python<'_>,
        world: &World,
        field: ContactField,
    ) -> PyResult<Py<PyAny>> {
        if self.of_contacts.is_empty() {
            self.of_contacts = contact_arrays(py, world)?;
        }
        Ok(self.of_contacts[&field].clone_ref(py))
    }
}

/// All arrays of contacts that touch or carry load, as recordings have them.
fn contact_arrays(py: Python<'_>, world: &World) -> PyResult<HashMap<ContactField, Py<PyAny>>> {
    let settings = RecordSettings {
        fields: Vec::new(),
        precision: Precision::Double,
        compression: 0,
        contacts: true,
    };
    let frame = Frame::of(world, &settings, &LoadInterval::from_now(world));
    let per_second = world.substep().recip();
    let contacts = || frame.contacts.iter();
    let partner = |partner: FramePartner| match partner {
        FramePartner::Grain(id) => id as i64,
        FramePartner::Wall(_) => -1,
    };
    let wall = |partner: FramePartner| match partner {
        FramePartner::Grain(_) => -1,
        FramePartner::Wall(wall) => wall as i64,
    };
    let arrays = [
        (
            ContactField::Grain,
            to_array(py, contacts().map(|c| c.grain).collect())?.into_any(),
        ),
        (
            ContactField::Partner,
            to_array(py, contacts().map(|c| partner(c.partner)).collect())?.into_any(),
        ),
        (
            ContactField::Wall,
            to_array(py, contacts().map(|c| wall(c.partner)).collect())?.into_any(),
        ),
        (
            ContactField::Point,
            to_rows(py, contacts().map(|c| c.point.to_array()))?.into_any(),
        ),
        (
            ContactField::Normal,
            to_rows(py, contacts().map(|c| c.normal.to_array()))?.into_any(),
        ),
        (
            ContactField::Overlap,
            to_array(py, contacts().map(|c| c.overlap).collect())?.into_any(),
        ),
        (
            ContactField::NormalForce,
            to_array(
                py,
                contacts().map(|c| c.normal_impulse * per_second).collect(),
            )?
            .into_any(),
        ),
        (
            ContactField::FrictionForce,
            to_rows(
                py,
                contacts().map(|c| (c.friction_impulse * per_second).to_array()),
            )?
            .into_any(),
        ),
    ];
    Ok(arrays
        .into_iter()
        .map(|(field, array)| (field, array.unbind()))
        .collect())
}
