//! Time in whole ticks, so that steps of different lengths do not drift.
//!
//! A step is `h = h₀ 2^(−k)` with the scene's step `h₀` and a level `k`. A tick is
//! the shortest of these; steps of level `k` begin at multiples of their own
//! length, so that the grid of the scene's step is always met. While the level
//! stays 0, `t = n h₀` to the last bit.

/// Levels that a step can have: eight times the scene's step to a 64th of it.
pub(crate) const LEVELS: std::ops::RangeInclusive<i32> = -3..=6;

/// Most steps and ticks: whole numbers are exact up to here.
const LATEST: u64 = 1 << 53;

/// When it is, and how long a step takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Clock {
    base: f64,
    level: i32,
    /// Ticks when the level was set, and the steps done then.
    ticks: u64,
    since: u64,
}

impl Clock {
    /// At time zero, with the scene's step, s.
    pub fn new(base: f64) -> Self {
        Clock {
            base,
            level: 0,
            ticks: 0,
            since: 0,
        }
    }

    /// The present level.
    pub fn level(&self) -> i32 {
        self.level
    }

    /// Length of a step of a level, s.
    pub fn step_at(&self, level: i32) -> f64 {
        self.base * 0.5_f64.powi(level)
    }

    /// Ticks after so many steps.
    pub fn ticks(&self, steps_done: u64) -> u64 {
        self.ticks + (steps_done - self.since) * ticks_of(self.level)
    }

    /// Time after so many steps, s. A product rather than a sum: it does not drift.
    pub fn time(&self, steps_done: u64) -> f64 {
        self.ticks(steps_done) as f64 * (self.base * 0.5_f64.powi(*LEVELS.end()))
    }

    /// The level, or the nearest that a step can have.
    pub fn within(&self, level: i32) -> i32 {
        level.clamp(*LEVELS.start(), *LEVELS.end())
    }

    /// Whether a step of this level may begin now.
    pub fn may_begin(&self, level: i32, steps_done: u64) -> bool {
        LEVELS.contains(&level) && self.ticks(steps_done).is_multiple_of(ticks_of(level))
    }

    /// Sets the level from now on.
    pub fn set_level(&mut self, level: i32, steps_done: u64) {
        self.restart(level, self.ticks(steps_done), steps_done);
    }

    /// Continues from a saved state; see [`Clock::can_show`].
    pub fn restart(&mut self, level: i32, ticks: u64, steps_done: u64) {
        self.level = level;
        self.ticks = ticks;
        self.since = steps_done;
    }

    /// Whether a clock can have got to this: a step of the level may begin at
    /// so many ticks, and there is room to go on.
    pub fn can_show(level: i64, ticks: u64, steps_done: u64) -> bool {
        let known = i32::try_from(level).ok().filter(|l| LEVELS.contains(l));
        known.is_some_and(|l| ticks.is_multiple_of(ticks_of(l))) && ticks.max(steps_done) <= LATEST
    }
}

fn ticks_of(level: i32) -> u64 {
    1 << (LEVELS.end() - level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_a_product_to_the_last_bit_while_the_step_stays() {
        for base in [5e-3, 1e-2, 0.001_234_567] {
            let clock = Clock::new(base);
            for steps in [0, 1, 7, 1000, 123_456_789] {
                assert_eq!(clock.time(steps), steps as f64 * base);
            }
        }
    }

    #[test]
    fn steps_of_any_length_meet_the_grid_of_the_first() {
        let mut clock = Clock::new(0.01);
        clock.set_level(2, 3);
        assert_eq!(clock.step_at(clock.level()), 0.0025);
        assert_eq!(clock.time(3), 3.0 * 0.01);
        assert!(!clock.may_begin(0, 5) && clock.may_begin(1, 5) && clock.may_begin(0, 7));
        clock.set_level(0, 7);
        assert_eq!(clock.time(8), 5.0 * 0.01);
        assert!(!clock.may_begin(-1, 8) && clock.may_begin(-1, 9));
        assert!(!clock.may_begin(7, 8));
    }
}
