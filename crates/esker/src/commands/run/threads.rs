//! How many threads to use where the user did not say.
//!
//! Threads of a step meet at a barrier per colour of the sweep. On a machine
//! that is busy with other work, or for few grains, fewer threads are faster.
//! Results are the same bits on any number of threads, so a run may try.

use std::time::Duration;

/// Steps between two trials.
const STEPS_PER_TRIAL: u64 = 400;
/// Steps that a number of threads is tried for.
const STEPS_TRIED: u64 = 4;

/// Chooses between one thread and all cores by the clock.
pub struct ThreadChoice {
    all: usize,
    step: u64,
    time_of_one: Duration,
    time_of_all: Duration,
}

impl ThreadChoice {
    /// A choice between one thread and this many.
    pub fn new(all: usize) -> Self {
        ThreadChoice {
            all,
            step: 0,
            time_of_one: Duration::ZERO,
            time_of_all: Duration::ZERO,
        }
    }

    /// Threads for the next step.
    pub fn threads(&self) -> usize {
        match self.step % STEPS_PER_TRIAL {
            step if step < STEPS_TRIED => self.all,
            step if step < 2 * STEPS_TRIED => 1,
            _ if self.time_of_one < self.time_of_all => 1,
            _ => self.all,
        }
    }

    /// Notes how long the step took.
    pub fn note(&mut self, time: Duration) {
        let step = self.step % STEPS_PER_TRIAL;
        if step == 0 {
            (self.time_of_one, self.time_of_all) = (Duration::ZERO, Duration::ZERO);
        }
        if step < STEPS_TRIED {
            self.time_of_all += time;
        } else if step < 2 * STEPS_TRIED {
            self.time_of_one += time;
        }
        self.step += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(time: impl Fn(usize) -> u64) -> usize {
        let mut choice = ThreadChoice::new(8);
        for _ in 0..STEPS_PER_TRIAL / 2 {
            let threads = choice.threads();
            choice.note(Duration::from_micros(time(threads)));
        }
        choice.threads()
    }

    #[test]
    fn the_faster_number_of_threads_is_kept() {
        assert_eq!(chosen(|threads| 1000 / threads as u64), 8);
        assert_eq!(chosen(|threads| 100 * threads as u64), 1);
    }
}
