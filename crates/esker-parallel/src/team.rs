//! The team: threads that sleep until there is a closure for them, run it
//! together and meet at barriers inside it.
//!
//! A thread that waits keeps its core for [`SPIN`] and then sleeps, so that on
//! a busy machine the threads it waits for get the core. Threads are started
//! when they are first needed, and those above [`Team::threads`] sleep on.

use std::any::Any;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::SharedSlice;
use crate::signal::Signal;

/// Threads that work together. Dropping the team ends them.
#[derive(Debug)]
pub struct Team {
    /// Threads that the next closures run on, the caller's included.
    count: usize,
    /// Cores of this machine.
    cores: usize,
    shared: Arc<Shared>,
    helpers: Vec<Helper>,
    /// Room for the chunks' results of [`Team::fold`].
    results: Vec<u128>,
    counts: Vec<usize>,
}

/// What a member of the team knows while a closure runs.
#[derive(Clone, Copy, Debug)]
pub struct Worker<'a> {
    /// Which member this is, from zero.
    pub index: usize,
    /// How many there are.
    pub count: usize,
    spin: Duration,
    shared: Option<&'a Shared>,
}

/// A closure lent to the threads: valid from its delivery until every thread
/// that got it has counted itself out.
#[derive(Clone, Copy, Debug)]
struct Job {
    work: *const (dyn Fn(Worker<'_>) + Sync),
    count: usize,
    spin: Duration,
}

// SAFETY: the closure behind the pointer is `Sync`, and `Team::run` keeps it
// alive until every thread has finished with it.
unsafe impl Send for Job {}

/// A thread other than the caller's.
#[derive(Debug)]
struct Helper {
    mailbox: Arc<Mailbox>,
    thread: JoinHandle<()>,
}

/// Where a helper finds its jobs.
#[derive(Debug, Default)]
struct Mailbox {
    /// The job of the last delivery; none when the helper shall end.
    job: Mutex<Option<Job>>,
    deliveries: Signal,
}

/// What the members of a team share.
#[derive(Debug, Default)]
struct Shared {
    /// Helpers that have not finished the present job.
    unfinished: AtomicUsize,
    /// Jobs that all helpers finished.
    finished: Signal,
    /// Members at the present barrier.
    arrived: AtomicUsize,
    /// Barriers passed.
    round: Signal,
    /// A member panicked: barriers give up instead of waiting for it.
    broken: AtomicBool,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

/// How long a waiting thread keeps its core: about what it costs to sleep and
/// be woken, and longer than the gaps between most parallel sections of a step.
const SPIN: Duration = Duration::from_micros(20);

impl Default for Team {
    fn default() -> Self {
        Team::new(1)
    }
}

impl Team {
    /// A team of this many threads, the caller's own included (at least one).
    pub fn new(threads: usize) -> Self {
        let mut team = Team {
            count: 1,
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            shared: Arc::default(),
            helpers: Vec::new(),
            results: Vec::new(),
            counts: Vec::new(),
        };
        team.set_threads(threads);
        team
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.count
    }

    /// Uses this many threads from now on (at least one). Threads that are not
    /// there yet are started; those that are not needed sleep.
    pub fn set_threads(&mut self, threads: usize) {
        self.count = threads.max(1);
        while self.helpers.len() + 1 < self.count {
            let helper = Helper::start(self.helpers.len() + 1, &self.shared);
            self.helpers.push(helper);
        }
    }

    /// Runs `work` on every thread at once; returns when all are done. A panic
    /// in any of them is passed on.
    pub fn run(&mut self, work: impl Fn(Worker<'_>) + Sync) {
        if self.count == 1 {
            return work(Worker {
                index: 0,
                count: 1,
                spin: Duration::ZERO,
                shared: None,
            });
        }
        let shared = &*self.shared;
        let lent: &(dyn Fn(Worker<'_>) + Sync) = &work;
        // SAFETY: only the lifetime is erased. The pointer is used between its
        // delivery below and the moment `unfinished` is zero, and this function
        // does not return (nor unwind) before that.
        let lent: *const (dyn Fn(Worker<'_>) + Sync) = unsafe { std::mem::transmute(lent) };
        let job = Job {
            work: lent,
            count: self.count,
            // With more threads than cores, spinning only delays the others.
            spin: if self.count > self.cores {
                Duration::ZERO
            } else {
                SPIN
            },
        };
        let finished = shared.finished.value();
        shared.unfinished.store(self.count - 1, Ordering::Relaxed);
        for helper in &self.helpers[..self.count - 1] {
            helper.mailbox.deliver(Some(job));
        }
        shared.perform(0, job, &work);
        shared.finished.wait_for_change(finished, job.spin);
        if shared.broken.swap(false, Ordering::Relaxed) {
            shared.arrived.store(0, Ordering::Relaxed);
            let panic = shared
                .panic
                .lock()
                .expect("no panic holds this lock")
                .take();
            resume_unwind(panic.expect("a broken team keeps the panic that broke it"));
        }
    }

    /// Hands every thread one contiguous part of `data`, whose bounds are
    /// multiples of `grain`; `work` gets the index of the part's first element.
    pub fn for_each_part<T: Send>(
        &mut self,
        data: &mut [T],
        grain: usize,
        work: impl Fn(usize, &mut [T]) + Sync,
    ) {
        let shared = SharedSlice::new(data);
        self.run(|worker| {
            let part = worker.part_of(shared.len(), grain);
            if !part.is_empty() {
                let start = part.start;
                // SAFETY: the parts of different workers are disjoint.
                work(start, unsafe { shared.part(part) });
            }
        });
    }

    /// Replaces `out` by `value(0), value(1), … value(length − 1)`.
    pub fn fill<T: Copy + Send>(
        &mut self,
        out: &mut Vec<T>,
        length: usize,
        value: impl Fn(usize) -> T + Sync,
    ) {
        clear_and_reserve(out, length);
        let shared = SharedSlice::new(&mut out.spare_capacity_mut()[..length]);
        self.run(|worker| {
            let part = worker.part_of(length, 1);
            let start = part.start;
            // SAFETY: the parts of different workers are disjoint.
            for (k, place) in unsafe { shared.part(part) }.iter_mut().enumerate() {
                place.write(value(start + k));
            }
        });
        // SAFETY: the parts cover the range, and all were written (a panic
        // would not have come here).
        unsafe { out.set_len(length) };
    }

    /// Replaces `out` by `value(i)` for all `i` below `length` that `keep`
    /// says yes to, in order.
    pub fn select<T: Copy + Send>(
        &mut self,
        length: usize,
        out: &mut Vec<T>,
        keep: impl Fn(usize) -> bool + Sync,
        value: impl Fn(usize) -> T + Sync,
    ) {
        let mut counts = std::mem::take(&mut self.counts);
        counts.clear();
        counts.resize(self.threads(), 0);
        let own_counts = SharedSlice::new(&mut counts);
        self.run(|worker| {
            let part = worker.part_of(length, 1);
            // SAFETY: every worker has a count of its own.
            unsafe { *own_counts.at(worker.index) = part.filter(|&i| keep(i)).count() };
        });
        let total = counts.iter().sum();
        clear_and_reserve(out, total);
        let shared = SharedSlice::new(&mut out.spare_capacity_mut()[..total]);
        self.run(|worker| {
            let start: usize = counts[..worker.index].iter().sum();
            let mut kept = worker.part_of(length, 1).filter(|&i| keep(i));
            // SAFETY: starts and counts of the parts make the ranges disjoint.
            let places = unsafe { shared.part(start..start + counts[worker.index]) };
            for place in places {
                let i = kept.next().expect("`keep` says the same twice");
                place.write(value(i));
            }
        });
        // SAFETY: the parts cover the range, and all were written (a panic
        // would not have come here).
        unsafe { out.set_len(total) };
        self.counts = counts;
    }

    /// Folds chunks of a fixed length in parallel and joins their results in
    /// order: the same rounding for every number of threads.
    pub fn fold<S: Copy + Send>(
        &mut self,
        length: usize,
        zero: S,
        fold: impl Fn(Range<usize>) -> S + Sync,
        join: impl Fn(S, &S) -> S,
    ) -> S {
        const { assert!(align_of::<S>() <= align_of::<u128>()) };
        let chunks = length.div_ceil(FOLD_CHUNK);
        let words = (chunks * size_of::<S>()).div_ceil(size_of::<u128>());
        let mut room = std::mem::take(&mut self.results);
        room.resize(words.max(room.len()), 0);
        // SAFETY: the room is large enough and aligned for `chunks` results,
        // and each is written (as `MaybeUninit`) before it is read below.
        let results = unsafe {
            std::slice::from_raw_parts_mut(room.as_mut_ptr().cast::<MaybeUninit<S>>(), chunks)
        };
        self.for_each_part(results, 1, |first, own| {
            for (k, result) in own.iter_mut().enumerate() {
                let start = (first + k) * FOLD_CHUNK;
                result.write(fold(start..(start + FOLD_CHUNK).min(length)));
            }
        });
        let sum = results.iter().fold(zero, |sum, result| {
            // SAFETY: the parts above cover all results.
            join(sum, unsafe { result.assume_init_ref() })
        });
        self.results = room;
        sum
    }
}

/// Empties a vector and makes room for so many elements, and then some: the
/// next length may be a little greater, and a step in steady state should not
/// allocate. What was in it is given back first: large arrays need
/// not be there twice.
pub fn clear_and_reserve<T>(vector: &mut Vec<T>, length: usize) {
    vector.clear();
    if vector.capacity() < length {
        *vector = Vec::new();
        vector.reserve_exact(2 * length);
    }
}

/// Makes a vector this long, with room to spare as [`clear_and_reserve`] leaves it, for
/// a caller who writes every element: what is in it is anything.
pub fn resize<T: Clone + Default>(vector: &mut Vec<T>, length: usize) {
    if vector.capacity() < length {
        clear_and_reserve(vector, length);
    }
    vector.resize(length, T::default());
}

/// Doubles the room of a vector that is nearly full: the next length may be a
/// little greater, and a step in steady state should not allocate.
pub fn reserve_slack<T>(vector: &mut Vec<T>) {
    if vector.capacity() < vector.len() + vector.len() / 4 {
        vector.reserve(vector.len());
    }
}

/// Length of the chunks of [`Team::fold`].
const FOLD_CHUNK: usize = 4096;

impl Drop for Team {
    fn drop(&mut self) {
        for helper in &self.helpers {
            helper.mailbox.deliver(None);
        }
        for helper in self.helpers.drain(..) {
            // A thread's own panic was passed on by `run` already.
            let _ = helper.thread.join();
        }
    }
}

impl Worker<'_> {
    /// Waits until every member of the team has come here as often as this one.
    ///
    /// # Panics
    /// When another member panicked.
    #[inline]
    pub fn wait_for_all(&self) {
        if let Some(shared) = self.shared {
            shared.meet(self.count, self.spin);
        }
    }

    /// This worker's contiguous part of `0..length`; bounds are multiples of
    /// `grain`.
    pub fn part_of(&self, length: usize, grain: usize) -> Range<usize> {
        part_of(length, grain, self.index, self.count)
    }
}

fn part_of(length: usize, grain: usize, index: usize, count: usize) -> Range<usize> {
    let grains = length.div_ceil(grain);
    let bound = |k: usize| (grains * k / count * grain).min(length);
    bound(index)..bound(index + 1)
}

impl Helper {
    fn start(index: usize, shared: &Arc<Shared>) -> Self {
        let mailbox = Arc::<Mailbox>::default();
        let (own_mailbox, shared) = (Arc::clone(&mailbox), Arc::clone(shared));
        let thread = std::thread::Builder::new()
            .name(format!("esker-{index}"))
            .spawn(move || shared.serve(index, &own_mailbox))
            .expect("the system has a thread to give");
        Helper { mailbox, thread }
    }
}

impl Mailbox {
    fn deliver(&self, job: Option<Job>) {
        *self.job.lock().expect("no panic holds this lock") = job;
        self.deliveries.advance();
    }
}

impl Shared {
    /// The life of a helper: wait for the next job, do it, count out.
    fn serve(&self, index: usize, mailbox: &Mailbox) {
        let (mut seen, mut spin) = (0, Duration::ZERO);
        loop {
            seen = mailbox.deliveries.wait_for_change(seen, spin);
            let delivered = *mailbox.job.lock().expect("no panic holds this lock");
            let Some(job) = delivered else {
                return;
            };
            // SAFETY: `Team::run` keeps the closure alive until this thread
            // has counted itself out below.
            self.perform(index, job, unsafe { &*job.work });
            if self.unfinished.fetch_sub(1, Ordering::AcqRel) == 1 {
                self.finished.advance();
            }
            spin = job.spin;
        }
    }

    fn perform(&self, index: usize, job: Job, work: &(dyn Fn(Worker<'_>) + Sync)) {
        let worker = Worker {
            index,
            count: job.count,
            spin: job.spin,
            shared: Some(self),
        };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(worker))) {
            let mut first = self.panic.lock().expect("no panic holds this lock");
            first.get_or_insert(panic);
            // Whoever waits at a barrier sees that the team is broken when it
            // wakes; whoever comes later sees it before it waits.
            self.broken.store(true, Ordering::SeqCst);
            self.round.advance();
        }
    }

    fn meet(&self, count: usize, spin: Duration) {
        let round = self.round.value();
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == count {
            self.arrived.store(0, Ordering::Relaxed);
            self.round.advance();
            return;
        }
        let check = || {
            assert!(
                !self.broken.load(Ordering::SeqCst),
                "another thread of the team panicked"
            );
        };
        check();
        self.round.wait_for_change(round, spin);
        check();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTS: &[usize] = if cfg!(miri) {
        &[1, 2, 3]
    } else {
        &[1, 2, 3, 4, 7, 16]
    };

    #[test]
    fn every_pattern_gives_the_serial_result_for_every_thread_count() {
        // More than two chunks of a fold.
        let length = 10_007;
        let value = |i: usize| 1.0 / (i as f64 + 0.3);
        let mut sums = Vec::new();
        for &threads in COUNTS {
            let mut team = Team::new(threads);
            let mut filled = Vec::new();
            team.fill(&mut filled, length, value);
            assert!((0..length).all(|i| filled[i] == value(i)));
            let mut kept = vec![7];
            team.select(length, &mut kept, |i| i % 5 == 2, |i| 2 * i);
            assert!(kept.iter().copied().eq((4..2 * length).step_by(10)));
            team.for_each_part(&mut filled, 8, |start, part| {
                assert_eq!(start % 8, 0);
                for (k, x) in part.iter_mut().enumerate() {
                    *x += (start + k) as f64;
                }
            });
            assert!((0..length).all(|i| filled[i] == value(i) + i as f64));
            let sum = team.fold(
                length,
                0.0,
                |range| range.map(value).sum::<f64>(),
                |a, b| a + b,
            );
            sums.push(f64::to_bits(sum));
        }
        assert!(sums.iter().all(|s| *s == sums[0]));
    }

    /// Barriers order writes before reads: each round reads what the
    /// neighbour wrote in the round before.
    #[test]
    fn barriers_separate_rounds() {
        for &threads in COUNTS {
            let mut team = Team::new(threads);
            let mut values = vec![0_u64; threads];
            let mut next = vec![0_u64; threads];
            let (a, b) = (SharedSlice::new(&mut values), SharedSlice::new(&mut next));
            team.run(|worker| {
                for _ in 0..50 {
                    let from = (worker.index + 1) % worker.count;
                    // SAFETY: `a` is only read before the barrier, each
                    // element of `b` written by its own worker; then reversed.
                    unsafe {
                        *b.at(worker.index) = *a.at(from) + 1;
                        worker.wait_for_all();
                        *a.at(worker.index) = *b.at(worker.index);
                    }
                    worker.wait_for_all();
                }
            });
            assert!(values.iter().all(|v| *v == 50));
        }
    }

    /// Members that wait for another used to spin, and took the core that it
    /// needed. Member zero comes only when all others sleep.
    #[test]
    fn who_waits_at_a_barrier_gives_up_the_core() {
        let mut team = Team::new(3);
        team.run(|worker| {
            if worker.index == 0 {
                let shared = worker.shared.expect("a team of three shares");
                while shared.round.sleepers() < worker.count - 1 {
                    std::thread::yield_now();
                }
            }
            worker.wait_for_all();
        });
        let idle = || team.helpers.iter().map(|h| h.mailbox.deliveries.sleepers());
        while idle().sum::<usize>() < team.helpers.len() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn threads_that_are_not_needed_are_not_started_or_left_asleep() {
        let mut team = Team::new(1);
        let members = |team: &mut Team| {
            let ran = AtomicUsize::new(0);
            team.run(|worker| {
                ran.fetch_add(1 << (8 * worker.index), Ordering::Relaxed);
                worker.wait_for_all();
            });
            ran.into_inner()
        };
        assert_eq!(members(&mut team), 1);
        assert!(team.helpers.is_empty());
        team.set_threads(3);
        assert_eq!(members(&mut team), 0x01_01_01);
        for (count, ran) in [(1, 0x01), (2, 0x01_01), (3, 0x01_01_01), (0, 0x01)] {
            team.set_threads(count);
            assert_eq!(team.threads(), count.max(1));
            assert_eq!(members(&mut team), ran);
        }
        let deliveries = [0, 1].map(|k: usize| team.helpers[k].mailbox.deliveries.value());
        assert_eq!(deliveries, [3, 2], "nobody is woken in vain");
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_team_lives_on() {
        let mut team = Team::new(3);
        for _ in 0..3 {
            let result = catch_unwind(AssertUnwindSafe(|| {
                team.run(|worker| {
                    assert!(worker.index != 1, "member one fails");
                    worker.wait_for_all();
                });
            }));
            assert!(result.is_err());
        }
        let mut out = Vec::new();
        team.fill(&mut out, 100, |i| i);
        assert_eq!(out.iter().sum::<usize>(), 4950);
    }
}
