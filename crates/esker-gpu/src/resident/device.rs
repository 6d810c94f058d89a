//! Whole steps on a device: [`Resident`] is a [`ResidentDevice`].

use std::time::Duration;

use esker_geometry::BroadPhase;
use esker_solver::device::{DeviceError, DeviceWork};
use esker_world::resident::{BorderGrain, RowChanges, WallRecord};
use esker_world::resident_look::LookTotals;
use esker_world::{ResidentDevice, ResidentStep, World};

use super::advance::{ADVANCED, ASSEMBLED, AdvanceInput, Advancer, PLANNED};
use super::find::{Finder, HistoryAddress};
use super::grains::{ResidentGrains, room_of_rows};
use super::look::Looker;
use super::measures::Measures;
use super::meshes::Meshes;
use super::turnover::Turnover;
use crate::launch::Executor;

/// Moments of a step: it begins, contacts are found, it has ended.
const BEGUN: usize = 0;
const FOUND: usize = 1;
const ENDED: usize = 5;

/// Makes whole steps of grains that stay on a device.
#[derive(Debug)]
pub struct Resident<E: Executor> {
    executor: E,
    grains: ResidentGrains<E>,
    finder: Finder<E>,
    advancer: Advancer<E>,
    measures: Measures<E>,
    looker: Looker<E>,
    meshes: Meshes<E>,
    turnover: Turnover<E>,
    contacts: usize,
    kernel_seconds: f64,
}

impl<E: Executor> Resident<E> {
    /// Steps by this executor.
    pub fn new(executor: E) -> Self {
        Resident {
            executor,
            grains: ResidentGrains::default(),
            finder: Finder::default(),
            advancer: Advancer::default(),
            measures: Measures::default(),
            looker: Looker::default(),
            meshes: Meshes::default(),
            turnover: Turnover::default(),
            contacts: 0,
            kernel_seconds: 0.0,
        }
    }

    fn walls(&mut self, world: &World) -> Result<Vec<WallRecord>, DeviceError> {
        self.meshes.wall_records(&mut self.executor, world)
    }

    /// Finds the contacts of the step; false where there are more than any packing has.
    fn find(&mut self, world: &mut World) -> Result<bool, DeviceError> {
        let walls = self.walls(world)?;
        let settings = world.find_settings();
        let history = self.advancer.history();
        let executor = &mut self.executor;
        loop {
            self.finder
                .send(executor, &self.grains, &walls, settings, history)?;
            executor.mark(BEGUN)?;
            self.finder.launch(executor, 2 * self.grains.count())?;
            executor.mark(FOUND)?;
            self.finder.fetch_numbers()?;
            executor.wait()?;
            let limit = BroadPhase::<()>::pair_limit(self.grains.count());
            let numbers = self.finder.numbers();
            if numbers.found.max(numbers.in_reach) as usize > limit {
                return Ok(false);
            }
            if !self.finder.grow() {
                return Ok(true);
            }
        }
    }
}

impl<E: Executor> ResidentDevice for Resident<E> {
    fn name(&self) -> &str {
        self.executor.name()
    }

    fn work(&self) -> Result<DeviceWork, DeviceError> {
        Ok(DeviceWork {
            kernel_seconds: self.kernel_seconds,
            ..self.executor.work()?
        })
    }

    fn send(&mut self, world: &mut World) -> Result<(), DeviceError> {
        let (walls, find) = (self.walls(world)?, world.find_settings());
        let executor = &mut self.executor;
        self.grains.send(executor, world.grain_rows())?;
        let nothing = HistoryAddress::default();
        self.finder
            .send(executor, &self.grains, &walls, find, nothing)?;
        let at = self.finder.found();
        let input = AdvanceInput {
            settings: &world.advance_settings(),
            grains: at.grains,
            grain_count: self.grains.count(),
            walls: at.walls,
            chosen: at.chosen,
            candidates: 0,
            longest_sleep: 0.0,
        };
        self.advancer
            .send_history(executor, &input, &world.remembered())
    }

    fn step(&mut self, world: &mut World) -> Result<Option<ResidentStep>, DeviceError> {
        if !self.find(world)? {
            return Ok(None);
        }
        let (at, found) = (self.finder.found(), self.finder.numbers());
        let input = AdvanceInput {
            settings: &world.advance_settings(),
            grains: at.grains,
            grain_count: self.grains.count(),
            walls: at.walls,
            chosen: at.chosen,
            candidates: found.chosen as usize,
            longest_sleep: found.longest_sleep,
        };
        let executor = &mut self.executor;
        let numbers = self.advancer.advance(executor, &input)?;
        if numbers.obstacle != 0 {
            return Ok(None);
        }
        let grains = (at.grains, self.grains.count());
        self.measures.launch(executor, grains, &world.exits())?;
        executor.mark(ENDED)?;
        world.book_tracked(self.advancer.tracked());
        executor.wait()?;
        self.measures.grow();
        self.contacts = numbers.contacts as usize;
        let touching = numbers.touching as usize;
        let moments = [BEGUN, FOUND, PLANNED, ASSEMBLED, ADVANCED, ENDED];
        let mut times = [Duration::ZERO; 5];
        for (time, ends) in times.iter_mut().zip(moments.windows(2)) {
            *time = Duration::from_secs_f64(executor.seconds_between(ends[0], ends[1])?);
        }
        self.kernel_seconds = executor.work()?.kernel_seconds;
        Ok(Some(ResidentStep {
            contacts: numbers.contacts as usize,
            impacts: self.advancer.impacts(),
            touching,
            mean_overlap: match touching {
                0 => 0.0,
                touching => numbers.overlap_sum() / touching as f64,
            },
            max_overlap: f64::from_bits(numbers.max_overlap),
            kinetic_energy: self.measures.kinetic_energy(),
            is_broken: numbers.broken != 0,
            may_leave: self.measures.may_leave(),
            times,
        }))
    }

    fn look(&mut self, world: &World, with_residual: bool) -> Result<LookTotals, DeviceError> {
        let size = (self.grains.count(), self.contacts);
        let settings = world.look_settings(with_residual);
        self.looker
            .look(&mut self.executor, &self.advancer, settings, size)
    }

    fn scale_remembered(&mut self, factor: f64) -> Result<(), DeviceError> {
        self.advancer.scale_history(&mut self.executor, factor)
    }

    fn listed(&self) -> Option<&[BorderGrain]> {
        self.measures.listed()
    }

    fn room(&self) -> usize {
        let remembered = room_of_rows(self.grains.count()) - self.grains.count();
        self.grains.room().min(remembered)
    }

    fn change_rows(&mut self, world: &World, changes: &RowChanges) -> Result<(), DeviceError> {
        let remembered = self.advancer.remembered();
        self.turnover.change_rows(
            &mut self.executor,
            &mut self.grains,
            remembered,
            (world.grain_rows(), changes),
        )
    }

    fn reorder(&mut self, world: &World, order: &[u32]) -> Result<(), DeviceError> {
        let executor = &mut self.executor;
        self.grains.send(executor, world.grain_rows())?;
        let remembered = (self.advancer.remembered(), self.advancer.most_remembered());
        self.turnover.reorder(executor, remembered, order)
    }

    fn fetch_grains(&mut self, world: &mut World) -> Result<(), DeviceError> {
        let moved = self.grains.fetch(&mut self.executor)?;
        world.set_moved_grains(moved.position, moved.state, moved.orientation);
        Ok(())
    }

    fn fetch(&mut self, world: &mut World) -> Result<(), DeviceError> {
        self.fetch_grains(world)?;
        let entries = self.advancer.fetch_history(&mut self.executor)?;
        world.remember(&entries);
        Ok(())
    }
}
