//! How many threads a step should use, found out while steps run.
//!
//! Results are the same bits on any number of threads, so every step may use
//! as many as are fastest. Two things decide:
//!
//! * **Work.** Threads meet hundreds of times per step. Below
//!   [`WORK_PER_THREAD`] for each of them, meeting costs more than sharing gains.
//! * **The clock.** On a busy machine a thread waits at every barrier for
//!   others that have no core. So the number in use is compared with fewer and
//!   more by wall time per work: once at the start, whenever the time per work
//!   has changed, and else the more seldom the longer nothing else was better.
//!   Trials may cost a small share of the run and no more, see [`TIMED_COST`].
//!
//! Numbers to choose from are powers of two and the most there may be.

use std::time::Duration;

/// Chooses the number of threads step by step.
#[derive(Clone, Debug)]
pub struct ThreadChoice {
    /// Numbers to choose from, ascending from one. "Level" below is an index.
    numbers: Vec<usize>,
    /// The level in use when nothing is tried.
    level: usize,
    /// Highest level that the work of the last step allows.
    cap: usize,
    /// A lower level than the work allows was found faster.
    below_cap: bool,
    trial: Option<Trial>,
    /// Work of the step under way.
    work: usize,
    /// Steps that do not count yet.
    skipped: u32,
    window: Window,
    /// Time per work of the level in use, s.
    pace: Option<f64>,
    /// The same when the level was last compared with others.
    compared_pace: Option<f64>,
    /// Time since then, s.
    since_trial: f64,
    /// What the last comparison cost, s.
    cost: f64,
    /// Time to wait for the next where nothing has changed, s.
    interval: f64,
    /// Where the next of these goes.
    next: Direction,
}

/// Other levels under comparison with the one in use.
#[derive(Clone, Copy, Debug)]
struct Trial {
    direction: Direction,
    level: usize,
    /// The fastest so far, and its time per work, s.
    best: (usize, f64),
    cost: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Fewer,
    More,
}

/// Steps of one level, seen together.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    time: f64,
    work: f64,
}

/// Grains and contacts that are worth a thread: 8,000 contacts in eight colours
/// are 15 µs each, a few times what a barrier takes.
pub const WORK_PER_THREAD: usize = 4_000;

/// Time over which steps are seen together, s: several turns of the system's
/// scheduler.
const WINDOW: f64 = 0.03;
/// First steps, in which memory is taken.
const SKIPPED_STEPS: u32 = 2;
/// Another level is taken when its time per work is below this share.
const BETTER: f64 = 0.9;
/// With fewer threads, the search goes on until it is slower by this factor.
const WORSE: f64 = 1.25;
/// A change of the time per work by this factor asks for a comparison.
const CHANGED: f64 = 1.3;
/// Weight of the newest window in the time per work.
const SMOOTHING: f64 = 0.3;
/// Shortest and longest time between comparisons where nothing has changed, s.
const INTERVALS: [f64; 2] = [1.0, 60.0];
/// Share of the time that such comparisons may cost.
const TIMED_COST: f64 = 0.02;
/// Share of the time that comparisons after a change may cost.
const CHANGE_COST: f64 = 0.1;

impl ThreadChoice {
    /// A choice of up to this many threads.
    pub fn up_to(most: usize) -> Self {
        let most = most.max(1);
        let mut numbers: Vec<usize> = std::iter::successors(Some(1), |n| Some(2 * n))
            .take_while(|&n| n < most)
            .collect();
        numbers.push(most);
        ThreadChoice {
            numbers,
            level: 0,
            cap: 0,
            below_cap: false,
            trial: None,
            work: 0,
            skipped: 0,
            window: Window::default(),
            pace: None,
            compared_pace: None,
            since_trial: 0.0,
            cost: 0.0,
            interval: INTERVALS[0],
            next: Direction::Fewer,
        }
    }

    /// Threads for the step that begins, whose work is about this many grains
    /// and contacts.
    pub fn begin_step(&mut self, work: usize) -> usize {
        self.work = work;
        let cap = self.cap_of(work);
        if cap != self.cap {
            self.cap = cap;
            self.trial = None;
            self.window = Window::default();
            let level = if self.below_cap {
                self.level.min(cap)
            } else {
                cap
            };
            if level != self.level {
                self.level = level;
                (self.pace, self.compared_pace) = (None, None);
            }
        }
        self.numbers[self.trial.map_or(self.level, |trial| trial.level)]
    }

    /// The highest level that this work allows.
    fn cap_of(&self, work: usize) -> usize {
        let worth = work / WORK_PER_THREAD;
        self.numbers.iter().rposition(|&n| n <= worth).unwrap_or(0)
    }

    /// Threads for work that is none of a step's, and not compared by the clock.
    pub fn for_work(&self, work: usize) -> usize {
        self.numbers[self.cap_of(work)]
    }

    /// Notes how long the step took.
    pub fn end_step(&mut self, time: Duration) {
        if self.cap == 0 {
            return;
        }
        if self.skipped < SKIPPED_STEPS {
            self.skipped += 1;
            return;
        }
        self.window.time += time.as_secs_f64();
        self.window.work += self.work as f64;
        if self.window.time < WINDOW {
            return;
        }
        let window = std::mem::take(&mut self.window);
        match self.trial.take() {
            None => self.note_in_use(window),
            Some(trial) => self.note_trial(trial, window),
        }
    }

    fn note_in_use(&mut self, window: Window) {
        let pace = match self.pace {
            None => window.pace(),
            Some(before) => before + SMOOTHING * (window.pace() - before),
        };
        self.pace = Some(pace);
        self.since_trial += window.time;
        let direction = match self.compared_pace {
            None => Some(Direction::Fewer),
            Some(then) if pace > CHANGED * then => self.after_change(Direction::Fewer),
            Some(then) if CHANGED * pace < then => self.after_change(Direction::More),
            Some(_) => self.after_interval(),
        };
        let level = direction.and_then(|direction| self.level_in(direction, self.level));
        if let (Some(direction), Some(level)) = (direction, level) {
            self.trial = Some(Trial {
                direction,
                level,
                best: (self.level, pace),
                cost: 0.0,
            });
        } else if direction.is_some() {
            self.end_comparison();
        }
    }

    fn after_change(&self, direction: Direction) -> Option<Direction> {
        (CHANGE_COST * self.since_trial >= self.cost).then_some(direction)
    }

    fn after_interval(&mut self) -> Option<Direction> {
        if self.since_trial < self.interval || TIMED_COST * self.since_trial < self.cost {
            return None;
        }
        let direction = self.next;
        self.next = direction.reversed();
        let possible = self.level_in(direction, self.level).is_some();
        Some(if possible { direction } else { self.next })
    }

    fn level_in(&self, direction: Direction, from: usize) -> Option<usize> {
        match direction {
            Direction::Fewer => from.checked_sub(1),
            Direction::More => (from < self.cap).then_some(from + 1),
        }
    }

    fn note_trial(&mut self, mut trial: Trial, window: Window) {
        let in_use = self.pace.unwrap_or(f64::INFINITY);
        let (pace, best) = (window.pace(), trial.best.1);
        trial.cost += (window.time - in_use * window.work).max(0.0);
        let goes_on = match trial.direction {
            Direction::Fewer => pace < WORSE * best,
            Direction::More => pace < BETTER * best,
        };
        if pace < BETTER * best {
            trial.best = (trial.level, pace);
        }
        match self.level_in(trial.direction, trial.level) {
            Some(level) if goes_on => self.trial = Some(Trial { level, ..trial }),
            _ => {
                self.cost = trial.cost;
                self.interval = if trial.best.0 == self.level {
                    (2.0 * self.interval).min(INTERVALS[1])
                } else {
                    INTERVALS[0]
                };
                self.level = trial.best.0;
                self.pace = Some(trial.best.1);
                self.end_comparison();
            }
        }
    }

    fn end_comparison(&mut self) {
        self.below_cap = self.level < self.cap;
        self.compared_pace = self.pace;
        self.since_trial = 0.0;
    }
}

impl Direction {
    fn reversed(self) -> Self {
        match self {
            Direction::Fewer => Direction::More,
            Direction::More => Direction::Fewer,
        }
    }
}

impl Window {
    fn pace(self) -> f64 {
        self.time / self.work
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps until so much time has passed, each of `time(threads, now)`
    /// seconds; returns how many there were.
    fn steps_in(
        choice: &mut ThreadChoice,
        seconds: f64,
        work: usize,
        time: impl Fn(usize, f64) -> f64,
    ) -> usize {
        let (mut now, mut steps) = (0.0, 0);
        while now < seconds {
            let threads = choice.begin_step(work);
            let time = time(threads, now);
            choice.end_step(Duration::from_secs_f64(time));
            now += time;
            steps += 1;
        }
        steps
    }

    const MUCH: usize = 1_000_000;

    /// Noise of a loaded machine: 0.6 to 1.4, another every call.
    fn noise() -> impl Fn() -> f64 {
        let state = std::cell::Cell::new(1_u64);
        move || {
            state.set(
                state
                    .get()
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1),
            );
            0.6 + 0.8 * (state.get() >> 40) as f64 / (1_u64 << 24) as f64
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "long, and without unsafe code")]
    fn small_work_is_never_shared() {
        let mut choice = ThreadChoice::up_to(16);
        for work in [0, 2, 700, WORK_PER_THREAD, 2 * WORK_PER_THREAD - 1] {
            for _ in 0..1000 {
                assert_eq!(choice.begin_step(work), 1, "{work}");
                choice.end_step(Duration::from_millis(5));
            }
        }
        assert_eq!(choice.begin_step(2 * WORK_PER_THREAD), 2);
    }

    #[test]
    fn threads_grow_with_the_work() {
        let mut choice = ThreadChoice::up_to(12);
        let used = [1, 2, 3, 5, 11, 12, 100].map(|threads| {
            let used = choice.begin_step(threads * WORK_PER_THREAD);
            choice.end_step(Duration::from_micros(50));
            used
        });
        assert_eq!(used, [1, 2, 2, 4, 8, 12, 12]);
    }

    #[test]
    #[cfg_attr(miri, ignore = "long, and without unsafe code")]
    fn a_quiet_machine_is_used_whole() {
        for (cores, step) in [(2, 0.004), (2, 0.5), (16, 0.002), (16, 1.0)] {
            let mut choice = ThreadChoice::up_to(cores);
            let steps = steps_in(&mut choice, 100.0, MUCH, |n, _| step / n as f64);
            let ideal = 100.0 * cores as f64 / step;
            assert!(
                steps as f64 > 0.93 * ideal,
                "{cores} cores, {step} s: {steps} of {ideal}"
            );
        }
    }

    /// Steps of 10 to 150 ms were seen where one thread needs a tenth.
    #[test]
    #[cfg_attr(miri, ignore = "long, and without unsafe code")]
    fn one_thread_is_found_where_others_wait_for_cores() {
        for slower in [1.5, 4.0, 20.0] {
            let mut choice = ThreadChoice::up_to(2);
            let time = |n: usize, _: f64| 0.005 * if n > 1 { slower } else { 1.0 };
            let steps = steps_in(&mut choice, 2.0, MUCH, time);
            assert!(steps as f64 > 0.8 * 400.0, "{slower}: {steps} of 400");
            let steps = steps_in(&mut choice, 60.0, MUCH, time);
            assert!(steps as f64 > 0.95 * 12_000.0, "{slower}: {steps} of 12000");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "long, and without unsafe code")]
    fn noise_costs_little() {
        for slower in [0.6, 1.0, 2.0, 4.0] {
            let (mut choice, noise) = (ThreadChoice::up_to(2), noise());
            let time = |n: usize, _: f64| 0.01 * noise() * if n > 1 { slower } else { 1.0 };
            let steps = steps_in(&mut choice, 60.0, MUCH, time);
            let ideal = 6000.0 / slower.min(1.0);
            assert!(steps as f64 > 0.8 * ideal, "{slower}: {steps} of {ideal}");
        }
    }

    /// Eight of sixteen cores are taken; more than eight threads wait.
    #[test]
    #[cfg_attr(miri, ignore = "long, and without unsafe code")]
    fn the_number_between_is_found() {
        let mut choice = ThreadChoice::up_to(16);
        let time = |n: usize, _: f64| 0.1 * if n <= 8 { 1.0 / n as f64 } else { 3.0 / 16.0 };
        steps_in(&mut choice, 5.0, MUCH, time);
        let steps = steps_in(&mut choice, 60.0, MUCH, time);
        assert!(steps as f64 > 0.9 * 4800.0, "{steps} of 4800");
    }

    #[test]
    #[cfg_attr(miri, ignore = "long, and without unsafe code")]
    fn load_that_comes_and_goes_is_followed() {
        let mut choice = ThreadChoice::up_to(2);
        let loaded = |now: f64| (20.0..60.0).contains(&now);
        let time = |n: usize, now: f64| match (n, loaded(now)) {
            (1, false) => 0.01,
            (1, true) => 0.025,
            (_, false) => 0.0055,
            (_, true) => 0.1,
        };
        let steps = steps_in(&mut choice, 100.0, MUCH, time) as f64;
        let ideal = 60.0 / 0.0055 + 40.0 / 0.025;
        assert!(steps > 0.9 * ideal, "{steps} of {ideal}");
    }
}
