//! What others do to a world between two steps: grains that they add, take away, push or set in
//! motion, and walls that they lead.
//!
//! Everything is checked before anything is changed, but that frozen grains are set free (see
//! `reduction/`): whoever acts on grains at rest finds them in the table. Grains that come and go leave the list of
//! contacts of the last step empty, as in a world that was just restored: its rows would name
//! others. Velocities that are set and forces that are applied do work, which the energy ledger
//! books with that of drives.
//!
//! Forces act over the next step alone, and a wall is led to the end of the next step alone, so
//! that whoever acts decides anew before each. Neither is kept in a checkpoint.

use std::collections::HashMap;

use esker_geometry::Pose;
use glam::{DQuat, DVec3};

use crate::World;
use crate::definition::{Orientation, ShapeUse};
use crate::grains::{GrainId, Grains, NewGrain, sphere_inertia};
use crate::outline::Outline;
use crate::packing::sphere_mass;
use crate::validate::MOST_GRAINS;

/// A grain that is put into a world from outside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AddedGrain {
    /// Centre of mass, m.
    pub position: DVec3,
    /// Velocity, m/s.
    pub velocity: DVec3,
    /// Angular velocity, rad/s.
    pub angular_velocity: DVec3,
    /// Orientation, a unit quaternion.
    pub orientation: DQuat,
    /// Radius, m; of the sphere of equal volume, where it is none.
    pub radius: f64,
    /// Index of its material, which gives its density.
    pub material: usize,
    /// Index of its shape among [`World::shapes`], where it is no sphere.
    pub shape: Option<usize>,
}

/// What acts on the centre of mass of a grain over one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AppliedForce {
    /// The grain.
    pub grain: GrainId,
    /// Force, N.
    pub force: DVec3,
    /// Torque, N m.
    pub torque: DVec3,
}

/// Why a world cannot be changed so. Nothing of it was.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum InterventionError {
    /// No grain has this id.
    #[error("{0} is not there")]
    NoGrain(GrainId),
    /// No wall has this index.
    #[error("there is no wall {wall}: there are {walls}")]
    NoWall {
        /// The index.
        wall: usize,
        /// Walls that are there.
        walls: usize,
    },
    /// There are not as many values as grains.
    #[error("{values} values were given for {grains} grains")]
    Count {
        /// Grains.
        grains: usize,
        /// Values.
        values: usize,
    },
    /// A value is impossible.
    #[error("{what} must be {expected}")]
    Value {
        /// Which.
        what: &'static str,
        /// What it must be.
        expected: &'static str,
    },
    /// No material has this index.
    #[error("there is no material {material}: there are {materials}")]
    NoMaterial {
        /// The index.
        material: usize,
        /// Materials that are there.
        materials: usize,
    },
    /// No shape has this index.
    #[error("there is no shape {shape}: there are {shapes}")]
    NoShape {
        /// The index.
        shape: usize,
        /// Shapes that are there.
        shapes: usize,
    },
    /// No more grains can be added.
    #[error("a world holds at most {MOST_GRAINS} grains")]
    TooMany,
}

/// Which component of velocities is set.
type Component = fn(&mut esker_contact::BodyState) -> &mut DVec3;

impl World {
    /// Adds grains, which must not overlap others much; their ids, in the same order.
    pub fn add_grains(&mut self, added: &[AddedGrain]) -> Result<Vec<GrainId>, InterventionError> {
        let grains: Vec<NewGrain> = added
            .iter()
            .map(|grain| self.new_grain(grain))
            .collect::<Result<_, _>>()?;
        if grains.len() > MOST_GRAINS - self.grains.len().min(MOST_GRAINS) {
            return Err(InterventionError::TooMany);
        }
        self.set_all_free();
        self.forget_contacts();
        Ok(self.book_grains(|world| {
            let rotates = world.rotation;
            let grains = grains.into_iter();
            grains.map(|g| world.grains.insert(g, rotates)).collect()
        }))
    }

    fn new_grain(&self, grain: &AddedGrain) -> Result<NewGrain, InterventionError> {
        let &AddedGrain {
            position,
            velocity,
            angular_velocity,
            orientation,
            radius,
            material,
            shape,
        } = grain;
        for (what, vector) in [
            ("position", position),
            ("velocity", velocity),
            ("angular velocity", angular_velocity),
        ] {
            check_finite(what, vector)?;
        }
        let unit = "a unit quaternion";
        check("orientation", unit, orientation.is_normalized())?;
        let positive = "a positive finite number";
        check("radius", positive, radius.is_finite() && radius > 0.0)?;
        let Some(density) = self.densities.get(material) else {
            return Err(InterventionError::NoMaterial {
                material,
                materials: self.densities.len(),
            });
        };
        let shapes = self.shapes().len();
        if let Some(shape) = shape.filter(|&shape| shape >= shapes) {
            return Err(InterventionError::NoShape { shape, shapes });
        }
        let uses = shape.map(|shape| ShapeUse {
            shape,
            orientation: Orientation::Given(orientation),
        });
        let mass = sphere_mass(*density, radius);
        // Materials of walls alone may have no density.
        let has_inertia = mass.is_normal() && sphere_inertia(mass, radius).is_normal();
        let heavy = "large enough for a mass, and its material must have a density";
        check("radius", heavy, has_inertia)?;
        Ok(NewGrain {
            position: self.periodic.map_or(position, |p| p.wrapped(position)),
            velocity,
            angular_velocity,
            orientation,
            radius,
            mass,
            material: material as u16,
            shape: Outline::new(self.shapes(), uses.as_ref()).shape(radius, mass),
        })
    }

    /// Takes grains away, for good.
    pub fn remove_grains(&mut self, ids: &[GrainId]) -> Result<(), InterventionError> {
        self.set_all_free();
        let mut rows = self.rows_of(ids)?;
        rows.sort_unstable();
        rows.dedup();
        self.forget_contacts();
        let mut gone: Vec<GrainId> = ids.to_vec();
        gone.sort_unstable();
        let is_gone = |id: GrainId| gone.binary_search(&id).is_ok();
        self.history.forget(|contact| {
            let key = &contact.key;
            let other = key.wall_index().is_none().then_some(key.other);
            is_gone(key.owner) || other.is_some_and(|id| is_gone(GrainId::from_u64(id)))
        });
        self.applied.retain(|force| !is_gone(force.grain));
        self.book_grains(|world| {
            for row in rows.into_iter().rev() {
                world.grains.remove(row);
            }
        });
        Ok(())
    }

    /// Sets velocities of grains, m/s.
    pub fn set_velocities(
        &mut self,
        ids: &[GrainId],
        velocities: &[DVec3],
    ) -> Result<(), InterventionError> {
        self.set_components(ids, velocities, |state| &mut state.velocity)
    }

    /// Sets angular velocities of grains, rad/s. Where rotation is locked it stays so.
    pub fn set_angular_velocities(
        &mut self,
        ids: &[GrainId],
        velocities: &[DVec3],
    ) -> Result<(), InterventionError> {
        match self.rotation {
            true => self.set_components(ids, velocities, |state| &mut state.angular_velocity),
            false => Ok(()),
        }
    }

    fn set_components(
        &mut self,
        ids: &[GrainId],
        values: &[DVec3],
        component: Component,
    ) -> Result<(), InterventionError> {
        if ids.len() != values.len() {
            return Err(InterventionError::Count {
                grains: ids.len(),
                values: values.len(),
            });
        }
        self.set_all_free();
        let rows = self.rows_of(ids)?;
        for value in values {
            check_finite("velocity", *value)?;
        }
        let before = self.energy.map(|_| self.grains.kinetic_energy());
        for (row, value) in rows.into_iter().zip(values) {
            *component(&mut self.grains.state[row]) = *value;
        }
        if let (Some(ledger), Some(before)) = (&mut self.energy, before) {
            ledger.drives += self.grains.kinetic_energy() - before;
        }
        Ok(())
    }

    /// Lets forces act on grains over the next step, in place of those that were to.
    pub fn apply_forces(&mut self, forces: &[AppliedForce]) -> Result<(), InterventionError> {
        let ids: Vec<GrainId> = forces.iter().map(|force| force.grain).collect();
        self.set_all_free();
        self.rows_of(&ids)?;
        for applied in forces {
            check_finite("force", applied.force)?;
            check_finite("torque", applied.torque)?;
        }
        self.applied.clear();
        self.applied.extend_from_slice(forces);
        Ok(())
    }

    /// Leads a wall to a pose, where it is at the end of the next step and stays.
    pub fn move_wall(&mut self, wall: usize, pose: Pose) -> Result<(), InterventionError> {
        let (time, step) = (self.time(), self.next_step_length());
        self.wall_to_lead(wall, &pose)?;
        self.lead_without_aggregates(wall);
        let wall = self.wall_to_lead(wall, &pose)?;
        wall.lead(pose, [time, time + step]);
        Ok(())
    }

    /// Puts a wall somewhere at once, where it stays.
    pub fn place_wall(&mut self, wall: usize, pose: Pose) -> Result<(), InterventionError> {
        let time = self.time();
        self.wall_to_lead(wall, &pose)?;
        self.lead_without_aggregates(wall);
        let wall = self.wall_to_lead(wall, &pose)?;
        wall.place(pose);
        wall.move_to(time);
        Ok(())
    }

    fn wall_to_lead(
        &mut self,
        wall: usize,
        pose: &Pose,
    ) -> Result<&mut crate::Wall, InterventionError> {
        check_finite("position", pose.position)?;
        let unit = "a unit quaternion";
        check("orientation", unit, pose.orientation.is_normalized())?;
        let walls = self.walls.len();
        let found = self.walls.get_mut(wall);
        found.ok_or(InterventionError::NoWall { wall, walls })
    }

    /// The wall with a name.
    pub fn wall_named(&self, name: &str) -> Option<usize> {
        self.walls.iter().position(|wall| wall.name == name)
    }

    /// Puts the grains into another order in memory: grain `order[k]` gets row `k`. Nothing
    /// else changes.
    ///
    /// # Panics
    /// When `order` is no permutation of the rows of grains.
    pub fn reorder_grains(&mut self, order: &[u32]) {
        self.set_all_free();
        self.forget_contacts();
        self.grains.reorder(order, &mut self.team);
    }

    /// Rows of forces that act over the step, with these.
    pub(crate) fn applied_by_row(&self) -> Vec<(usize, AppliedForce)> {
        let rows = RowsOfIds::new(&self.grains, self.applied.len());
        let applied = self.applied.iter();
        // A sink may have taken the grain since.
        applied
            .filter_map(|force| Some((rows.find(force.grain)?, *force)))
            .collect()
    }

    fn rows_of(&self, ids: &[GrainId]) -> Result<Vec<usize>, InterventionError> {
        let rows = RowsOfIds::new(&self.grains, ids.len());
        let row = |id: &GrainId| rows.find(*id).ok_or(InterventionError::NoGrain(*id));
        ids.iter().map(row).collect()
    }

    /// Empties the list of contacts of the last step.
    pub(crate) fn forget_contacts(&mut self) {
        let work = &mut self.workspace;
        work.contacts.clear();
        work.impulses.clear();
        work.tracked.clear();
        work.tracked_impulses.clear();
        work.between_ghosts.clear();
    }
}

/// Rows of grains by id: searched where few are wanted, else looked up.
struct RowsOfIds<'a> {
    ids: &'a [GrainId],
    table: Option<HashMap<GrainId, usize>>,
}

/// Grains up to which a search through all is quicker than a table of all.
const FEW: usize = 8;

impl<'a> RowsOfIds<'a> {
    fn new(grains: &'a Grains, wanted: usize) -> Self {
        let ids = &grains.id[..grains.count()];
        let table =
            (wanted > FEW).then(|| ids.iter().enumerate().map(|(i, id)| (*id, i)).collect());
        RowsOfIds { ids, table }
    }

    fn find(&self, id: GrainId) -> Option<usize> {
        match &self.table {
            Some(table) => table.get(&id).copied(),
            None => self.ids.iter().position(|other| *other == id),
        }
    }
}

fn check(what: &'static str, expected: &'static str, right: bool) -> Result<(), InterventionError> {
    match right {
        true => Ok(()),
        false => Err(InterventionError::Value { what, expected }),
    }
}

fn check_finite(what: &'static str, vector: DVec3) -> Result<(), InterventionError> {
    check(what, "finite", vector.is_finite())
}
