//! Who sweeps which blocks of a plan.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use esker_parallel::Worker;

use crate::plan::SweepPlan;

/// Who sweeps which blocks: per colour one contiguous share per worker, of
/// about equal weight. Neighbours take over what is left of a share.
#[derive(Debug, Default)]
pub(crate) struct Shares {
    workers: usize,
    pub(crate) colours: usize,
    /// Blocks of worker `w` in colour `c`: `bounds[c (workers + 1) + w]` to the next.
    bounds: Vec<u32>,
    /// Blocks of that share already taken.
    taken: Vec<Cursor>,
}

/// A counter with a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Cursor(AtomicUsize);

/// Neighbours on each side that a worker helps.
const HELPED: usize = 2;

impl Shares {
    pub(crate) fn divide(&mut self, plan: &SweepPlan, workers: usize) {
        self.workers = workers;
        self.colours = plan.colours.len().saturating_sub(1);
        self.bounds.clear();
        for colour in plan.colours.windows(2) {
            let blocks = colour[0] as usize..colour[1] as usize;
            let first = plan.blocks[blocks.start] as usize;
            let weight = plan.blocks[blocks.end] as usize - first;
            for worker in 0..=workers {
                let target = (first + weight * worker / workers) as u32;
                let block = plan.blocks[blocks.clone()].partition_point(|&g| g < target);
                self.bounds.push((blocks.start + block) as u32);
            }
            if let Some(last) = self.bounds.last_mut() {
                *last = colour[1];
            }
        }
        self.taken
            .resize_with(self.colours * workers, Cursor::default);
        for cursor in &mut self.taken {
            *cursor.0.get_mut() = 0;
        }
    }

    fn share(&self, colour: usize, worker: usize) -> Range<usize> {
        let at = colour * (self.workers + 1) + worker;
        self.bounds[at] as usize..self.bounds[at + 1] as usize
    }

    /// Calls `sweep` for every block once, colour by colour, on some worker;
    /// all workers must call this together. `after` is called once per worker
    /// at the end of each colour, before the barrier if there is one, and `meet` after it.
    pub(crate) fn for_each_block(
        &self,
        worker: Worker<'_>,
        sweep: impl Fn(usize),
        after: impl Fn(usize),
        meet: impl Fn(usize),
    ) {
        for colour in 0..self.colours {
            if self.share(colour, 0).start == self.share(colour, self.workers - 1).end {
                after(colour);
                if colour + 1 == self.colours {
                    worker.wait_for_all();
                }
                meet(colour);
                continue;
            }
            self.sweep_share(colour, worker.index, &sweep);
            for distance in 1..=HELPED.min(self.workers / 2) {
                let up = (worker.index + distance) % self.workers;
                let down = (worker.index + self.workers - distance) % self.workers;
                self.sweep_share(colour, up, &sweep);
                self.sweep_share(colour, down, &sweep);
            }
            after(colour);
            worker.wait_for_all();
            // Nobody looks at this colour again before the next sweep, which
            // a barrier of another colour or pass separates from here.
            self.taken[colour * self.workers + worker.index]
                .0
                .store(0, Ordering::Relaxed);
            meet(colour);
        }
    }

    fn sweep_share(&self, colour: usize, owner: usize, sweep: &impl Fn(usize)) {
        let share = self.share(colour, owner);
        let taken = &self.taken[colour * self.workers + owner].0;
        while taken.load(Ordering::Relaxed) < share.len() {
            let next = share.start + taken.fetch_add(1, Ordering::Relaxed);
            if next >= share.end {
                break;
            }
            sweep(next);
        }
    }
}
