//! Stage `begin`: the one place where the resolution of a step changes, grains
//! come and go, and walls take up their velocity.
//!
//! Between two steps nothing of this has happened yet. Contacts, impulses,
//! grains and walls are then those of the last step and belong together:
//! whoever looks at the world finds every grain that a contact names, and
//! whoever saves it keeps everything that the next step starts from.

use glam::DVec3;

use crate::World;
use crate::clock::Clock;
use crate::definition::Method;
use crate::known_rows::KnownRows;
use crate::supply::{EmissionStep, Emitter};

/// Steps between two re-sortings of the grains in memory: grains move a
/// fraction of a diameter per step.
const STEPS_PER_MEMORY_ORDER: u64 = 64;
/// Grains below which memory order does not matter: all fit the nearest cache.
const MEMORY_ORDER_GRAINS: usize = 4096;

/// How finely steps resolve time: what a stated accuracy changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Resolution {
    /// How many times the scene's step is halved (doubled if negative).
    pub(crate) level: i32,
    /// Sweeps (or substeps) per step.
    pub(crate) sweeps: usize,
}

impl Resolution {
    /// Step that impulses of this resolution belong to, s.
    pub(crate) fn substep(self, clock: &Clock, method: &Method) -> f64 {
        clock.step_at(self.level) / method.moves_with(self.sweeps)
    }
}

/// Grains that came and went as a step began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Turnover {
    /// Added by emitters.
    pub(crate) emitted: usize,
    /// Removed by sinks.
    pub(crate) removed: usize,
    /// Removed beyond the bounds.
    pub(crate) lost: usize,
}

impl World {
    /// Sets the step up: its resolution, its grains and the velocities of its
    /// walls.
    pub(crate) fn begin(&mut self) -> Turnover {
        self.take_up_resolution();
        self.begin_reduction();
        let turnover = self.turn_over(&mut KnownRows::All);
        if self.sorts_memory() {
            let order = self.memory_order();
            self.grains.reorder(&order, &mut self.team);
        }
        self.hold_near_members();
        self.history.link(&mut self.team);
        turnover
    }

    /// Lets grains go and come, and walls take up their velocities.
    pub(crate) fn turn_over(&mut self, rows: &mut KnownRows) -> Turnover {
        let (removed, lost) = self.book_grains(|world| world.take_out_grains(rows));
        let emitted = self.book_grains(|world| world.emit_grains(rows));
        self.set_wall_velocities();
        Turnover {
            emitted,
            removed,
            lost,
        }
    }

    /// Whether emitters may add grains as the next step begins.
    pub(crate) fn may_emit(&self) -> bool {
        let (time, step) = (self.time(), self.next_step_length());
        self.emitters.iter().any(|e| e.may_emit(time, step))
    }

    /// How many grains emitters may add as the next step begins, at most.
    pub(crate) fn most_emitted(&self) -> usize {
        let step = self.next_step_length();
        self.emitters.iter().map(|e| e.most_due(step)).sum()
    }

    /// Radius of the largest ball that holds a grain which is there or may come, m.
    pub(crate) fn largest_radius(&mut self) -> f64 {
        let of_emitters = self.emitters.iter().map(Emitter::largest);
        let largest = of_emitters.fold(0.0, f64::max);
        if self.bodies.is_empty() && !self.grains.is_empty() {
            return largest.max(0.5 * self.grains.diameters(&mut self.team).max);
        }
        let radii = (0..self.grains.count()).map(|i| self.grains.bounding_radius(i));
        radii.fold(largest, f64::max)
    }

    /// Whether grains are sorted in memory as the next step begins.
    pub(crate) fn sorts_memory(&self) -> bool {
        self.steps_done.is_multiple_of(STEPS_PER_MEMORY_ORDER)
            && self.grains.len() > MEMORY_ORDER_GRAINS
    }

    /// Decides the resolution of the next step. Remembered impulses belong to
    /// that step and are scaled to it: forces stay.
    pub(crate) fn set_next_resolution(&mut self, next: Resolution) {
        let substep = |resolution: Resolution| resolution.substep(&self.clock, &self.method);
        let (before, after) = (substep(self.next), substep(next));
        if after != before && self.is_on_device() {
            self.scale_on_device(after / before);
        } else if after != before {
            self.history.scale(after / before);
        }
        self.next = next;
    }

    /// Step length of the next step, s.
    pub fn next_step_length(&self) -> f64 {
        self.clock.step_at(self.next.level)
    }

    /// Makes the resolution that was decided the present one.
    pub(crate) fn take_up_resolution(&mut self) {
        if self.next.level != self.clock.level() {
            self.clock.set_level(self.next.level, self.steps_done);
        }
        self.step = self.next_step_length();
        self.method.set_sweeps(self.next.sweeps);
    }

    /// Takes out the grains that reached a sink or left the bounds in the last
    /// step; returns how many of each.
    fn take_out_grains(&mut self, rows: &mut KnownRows) -> (usize, usize) {
        let time = self.time();
        let (sinks, grains) = (self.sinks.iter_mut(), &mut self.grains);
        let removed = sinks.map(|sink| sink.take(time, grains, rows)).sum();
        let lost = self.remove_lost(rows);
        self.lost += lost as u64;
        (removed, lost)
    }

    /// Adds the grains that are due; returns how many.
    fn emit_grains(&mut self, rows: &mut KnownRows) -> usize {
        if self.emitters.is_empty() {
            return 0;
        }
        let period = EmissionStep {
            largest: self.largest_radius(),
            time: self.time(),
            step: self.step,
            rotates: self.rotation,
            periodic: self.periodic,
            shapes: &self.shapes,
        };
        let (emitters, grains) = (self.emitters.iter_mut(), &mut self.grains);
        emitters.map(|e| e.emit(period, grains, rows)).sum()
    }

    fn remove_lost(&mut self, rows: &mut KnownRows) -> usize {
        let Some([low, high]) = self.bounds else {
            return 0;
        };
        let before = self.grains.count();
        let mut next = rows.before(before);
        while let Some(i) = next {
            let x = self.grains.position[i];
            if x.cmplt(low).any() || x.cmpgt(high).any() {
                self.grains.remove(i);
                rows.remove(i, self.grains.count());
            }
            next = rows.before(i);
        }
        before - self.grains.count()
    }

    /// Gives every wall its velocity for the step that begins now.
    pub(crate) fn set_wall_velocities(&mut self) {
        let (time, step) = (self.time(), self.step);
        for wall in &mut self.walls {
            wall.set_velocity(time, step);
        }
    }

    /// The order in memory, row by row, that puts neighbours in space near each other, along a
    /// space-filling curve. Nothing else depends on it.
    pub(crate) fn memory_order(&mut self) -> Vec<u32> {
        let cell = self.grains.diameters(&mut self.team).mean;
        let (grains, [order, room]) = (&self.grains, &mut self.workspace.memory_order);
        self.team.fill(order, grains.count(), |i| {
            (morton(grains.position[i] / cell), i as u32)
        });
        // Names are far away in memory, and decide only within a cell.
        let name = |i: u32| grains.id[i as usize];
        self.team.sort_by(order, room, |(a, i), (b, j)| {
            a.cmp(b).then_with(|| name(*i).cmp(&name(*j)))
        });
        order.iter().map(|&(_, i)| i).collect()
    }
}

/// Place of a point along a space-filling curve through unit cells.
fn morton(point: DVec3) -> u64 {
    const BITS: u32 = 20;
    // `as` saturates and maps NaN to zero; the offset makes coordinates positive.
    let cell = |x: f64| ((x.floor() as i64) + (1 << BITS)).clamp(0, (1 << (BITS + 1)) - 1) as u64;
    let cells = point.to_array().map(cell);
    let mut key = 0;
    for bit in (0..=BITS).rev() {
        for coordinate in cells.iter().rev() {
            key = key << 1 | (coordinate >> bit & 1);
        }
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_stays_in_a_cell_before_it_goes_on() {
        let at = |x: f64, y: f64, z: f64| morton(DVec3::new(x, y, z));
        assert!(at(0.5, 0.5, 0.5) < at(1.5, 1.5, 1.5));
        assert!(at(1.5, 1.5, 1.5) < at(2.5, 0.5, 0.5));
        assert!(at(-0.5, 0.5, 0.5) < at(0.5, 0.5, 0.5));
        assert!(at(f64::NAN, 1e300, -1e300) > 0);
    }
}
