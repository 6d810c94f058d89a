//! Where grains were before the step.

use esker_world::{GrainId, Grains};
use glam::DVec3;

/// Positions of all grains after the step before, by slot.
#[derive(Default)]
pub(crate) struct Track {
    places: Vec<Option<(u32, DVec3)>>,
}

impl Track {
    /// Remembers where the grains are now.
    pub(crate) fn update(&mut self, grains: &Grains) {
        self.places.clear();
        self.places.resize(grains.slots(), None);
        for (id, &x) in grains.id.iter().zip(&grains.position) {
            self.places[id.slot as usize] = Some((id.generation, x));
        }
    }

    /// Where a grain was; `None` for one that came in this step.
    pub(crate) fn before(&self, id: GrainId) -> Option<DVec3> {
        let (generation, x) = (*self.places.get(id.slot as usize)?)?;
        (generation == id.generation).then_some(x)
    }
}
