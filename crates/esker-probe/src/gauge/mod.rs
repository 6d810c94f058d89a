//! One file per quantity.

mod bulk;
mod drive;
mod drum;
mod flow;
mod front;
mod joint;
mod mixing;
mod profile;
mod wall;

use esker_world::{Wanted, World};

use crate::definition::{Column, Quantity};
use crate::track::Track;

/// What measures one quantity.
pub(crate) trait Gauge: Send {
    /// Looks at the step just made; `track` knows where grains were before it.
    fn after_step(&mut self, _world: &World, _track: &Track) {}

    /// Whether [`Gauge::after_step`] needs the track.
    fn follows_grains(&self) -> bool {
        false
    }

    /// What its samples and rows are made from.
    fn reads(&self) -> Wanted {
        Wanted::Grains
    }

    /// Takes a sample.
    fn sample(&mut self, _world: &World) {}

    /// Samples per row.
    fn samples_per_row(&self) -> f64 {
        1.0
    }

    /// Whether a row is the state at its time, so that there is one at the start.
    fn measures_states(&self) -> bool {
        false
    }

    /// The row of the interval that ends now and has this length, s; the next one starts.
    fn close(&mut self, world: &World, length: f64) -> Vec<f64>;

    /// Everything that the next row depends on besides the world.
    fn state(&self) -> Vec<f64> {
        Vec::new()
    }

    /// Takes up a state; false where it is none of this gauge.
    fn restore(&mut self, state: &[f64]) -> bool {
        state.is_empty()
    }
}

/// A gauge that starts now.
pub(crate) fn new(quantity: &Quantity, world: &World) -> Box<dyn Gauge> {
    match *quantity {
        Quantity::Flow(opening) => Box::new(flow::Flow::new(opening)),
        Quantity::Bulk { region, samples } => Box::new(bulk::Bulk::new(region, samples)),
        Quantity::Wall { wall } => Box::new(wall::WallGauge::new(wall, world)),
        Quantity::Joint { joint } => Box::new(joint::JointGauge::new(joint, world)),
        Quantity::Drive { drive, at } => Box::new(drive::DriveGauge::new(drive, at, world)),
        Quantity::Mixing {
            class,
            region,
            cell,
            direction,
        } => Box::new(mixing::Mixing {
            class,
            region,
            cell,
            direction,
        }),
        Quantity::Drum { section } => Box::new(drum::DrumGauge { section }),
        Quantity::Front { path, share } => Box::new(front::FrontGauge { path, share }),
        Quantity::Profile {
            base,
            direction,
            length,
            width,
            cells,
        } => Box::new(profile::Profile {
            base,
            direction,
            length,
            width,
            cells: cells as usize,
        }),
    }
}

/// Columns of a quantity.
pub(crate) fn columns(quantity: &Quantity) -> Vec<Column> {
    match *quantity {
        Quantity::Flow(_) => flow::COLUMNS.to_vec(),
        Quantity::Bulk { .. } => bulk::COLUMNS.to_vec(),
        Quantity::Wall { .. } => wall::COLUMNS.to_vec(),
        Quantity::Joint { .. } => joint::COLUMNS.to_vec(),
        Quantity::Drive { at, .. } => drive::columns(at.coordinate).to_vec(),
        Quantity::Mixing { .. } => mixing::COLUMNS.to_vec(),
        Quantity::Drum { .. } => drum::COLUMNS.to_vec(),
        Quantity::Front { .. } => front::COLUMNS.to_vec(),
        Quantity::Profile { length, cells, .. } => vec![profile::column(length, cells as usize)],
    }
}

/// The direction against gravity; z where there is none.
fn up(world: &World) -> glam::DVec3 {
    (-world.gravity()).try_normalize().unwrap_or(glam::DVec3::Z)
}
