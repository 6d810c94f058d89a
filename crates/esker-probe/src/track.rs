//! Where grains were before the step.

use esker_world::{GrainId, Grains};
use glam::DVec3;

/// Positions of all grains after the step before, by slot. Who is not told about has not moved.
#[derive(Default)]
pub(crate) struct Track {
    places: Vec<Option<(GrainId, DVec3)>>,
}

impl Track {
    /// Remembers where the grains are now.
    pub(crate) fn update(&mut self, grains: &Grains) {
        // Frozen grains are not in every table, and are where they were.
        self.places
            .resize(grains.slots().max(self.places.len()), None);
        for (row, (&id, &x)) in grains.id().iter().zip(grains.position()).enumerate() {
            self.places[grains.slot(row)] = Some((id, x));
        }
    }

    /// Where the grain in a row was; `None` for one that came in this step.
    pub(crate) fn before(&self, grains: &Grains, row: usize) -> Option<DVec3> {
        let (id, x) = (*self.places.get(grains.slot(row))?)?;
        (id == grains.id()[row]).then_some(x)
    }
}
