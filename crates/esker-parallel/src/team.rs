//! The team: threads that wait for a closure, run it together and meet at
//! barriers inside it.

use std::any::Any;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;

use crate::SharedSlice;

/// Threads that work together. Dropping the team ends them.
#[derive(Debug)]
pub struct Team {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
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
    shared: Option<&'a Shared>,
}

/// A closure lent to the threads: valid from the moment the job number goes up
/// until every thread has counted itself out.
type Job = *const (dyn Fn(Worker<'_>) + Sync);

#[derive(Debug)]
struct Shared {
    count: usize,
    /// Looks at a flag before a thread gives its core away: zero when there
    /// are more threads than cores, where spinning only delays the others.
    spins: u32,
    job: Mutex<Option<JobPointer>>,
    wake: Condvar,
    job_number: AtomicUsize,
    stop: AtomicBool,
    unfinished: AtomicUsize,
    arrived: AtomicUsize,
    round: AtomicUsize,
    /// A member panicked: barriers give up instead of waiting for it.
    broken: AtomicBool,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

#[derive(Clone, Copy, Debug)]
struct JobPointer(Job);

// SAFETY: the closure behind the pointer is `Sync`, and `Team::run` keeps it
// alive until every thread has finished with it.
unsafe impl Send for JobPointer {}

/// Looks at a flag before yielding: 10–100 µs, longer than the gaps between
/// the parallel sections of a step.
const SPINS: u32 = 2_000;
/// Yields before a waiting thread sleeps.
const YIELDS: u32 = 200;

impl Default for Team {
    fn default() -> Self {
        Team::new(1)
    }
}

impl Team {
    /// A team of this many threads, the caller's own included (at least one).
    pub fn new(threads: usize) -> Self {
        let count = threads.max(1);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let shared = Arc::new(Shared {
            count,
            spins: if count > cores { 0 } else { SPINS },
            job: Mutex::new(None),
            wake: Condvar::new(),
            job_number: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            unfinished: AtomicUsize::new(0),
            arrived: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            panic: Mutex::new(None),
        });
        let threads = (1..count)
            .map(|index| {
                let shared = Arc::clone(&shared);
                std::thread::Builder::new()
                    .name(format!("esker-{index}"))
                    .spawn(move || shared.serve(index))
                    .expect("the system has a thread to give")
            })
            .collect();
        Team {
            shared,
            threads,
            results: Vec::new(),
            counts: Vec::new(),
        }
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.shared.count
    }

    /// Runs `work` on every thread at once; returns when all are done. A panic
    /// in any of them is passed on.
    pub fn run(&mut self, work: impl Fn(Worker<'_>) + Sync) {
        let shared = &*self.shared;
        if shared.count == 1 {
            return work(Worker {
                index: 0,
                count: 1,
                shared: None,
            });
        }
        let job: &(dyn Fn(Worker<'_>) + Sync) = &work;
        // SAFETY: only the lifetime is erased. The pointer is used between the
        // store below and the moment `unfinished` is zero, and this function
        // does not return (nor unwind) before that.
        let job: Job = unsafe { std::mem::transmute(job) };
        shared.unfinished.store(shared.count - 1, Ordering::Relaxed);
        {
            let mut slot = shared.job.lock().expect("no panic holds this lock");
            *slot = Some(JobPointer(job));
            shared.job_number.fetch_add(1, Ordering::Release);
        }
        shared.wake.notify_all();
        shared.perform(0, &work);
        let mut waiting = Patience::new(shared.spins);
        while shared.unfinished.load(Ordering::Acquire) > 0 {
            waiting.pause();
        }
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
        make_room(out, length);
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
        make_room(out, total);
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
pub fn make_room<T>(vector: &mut Vec<T>, length: usize) {
    vector.clear();
    if vector.capacity() < length {
        *vector = Vec::new();
        vector.reserve_exact(2 * length);
    }
}

/// Makes a vector this long, with room to spare as [`make_room`] leaves it, for
/// a caller who writes every element: what is in it is anything.
pub fn fit<T: Clone + Default>(vector: &mut Vec<T>, length: usize) {
    if vector.capacity() < length {
        make_room(vector, length);
    }
    vector.resize(length, T::default());
}

/// Doubles the room of a vector that is nearly full: the next length may be a
/// little greater, and a step in steady state should not allocate.
pub fn keep_slack<T>(vector: &mut Vec<T>) {
    if vector.capacity() < vector.len() + vector.len() / 4 {
        vector.reserve(vector.len());
    }
}

/// Length of the chunks of [`Team::fold`].
const FOLD_CHUNK: usize = 4096;

impl Drop for Team {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        {
            let _slot = self.shared.job.lock();
            self.shared.job_number.fetch_add(1, Ordering::Release);
        }
        self.shared.wake.notify_all();
        for thread in self.threads.drain(..) {
            // A thread's own panic was passed on by `run` already.
            let _ = thread.join();
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
            shared.meet();
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

/// Waits in growing steps: look again, let others run.
struct Patience {
    spins_left: u32,
}

impl Patience {
    fn new(spins: u32) -> Self {
        Patience { spins_left: spins }
    }

    #[inline]
    fn pause(&mut self) {
        if self.spins_left > 0 {
            self.spins_left -= 1;
            std::hint::spin_loop();
        } else {
            std::thread::yield_now();
        }
    }
}

impl Shared {
    /// The life of a thread: wait for the next job, do it, count out.
    fn serve(&self, index: usize) {
        let mut done = 0;
        loop {
            done = self.next_job_after(done);
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let slot = *self.job.lock().expect("no panic holds this lock");
            let job = slot.expect("a job number comes with a job").0;
            // SAFETY: `Team::run` keeps the closure alive until this thread
            // has counted itself out below.
            self.perform(index, unsafe { &*job });
            self.unfinished.fetch_sub(1, Ordering::Release);
        }
    }

    fn next_job_after(&self, done: usize) -> usize {
        let mut waiting = Patience::new(self.spins);
        for _ in 0..self.spins + YIELDS {
            let number = self.job_number.load(Ordering::Acquire);
            if number != done {
                return number;
            }
            waiting.pause();
        }
        let mut slot = self.job.lock().expect("no panic holds this lock");
        loop {
            let number = self.job_number.load(Ordering::Acquire);
            if number != done {
                return number;
            }
            slot = self.wake.wait(slot).expect("no panic holds this lock");
        }
    }

    fn perform(&self, index: usize, work: &(dyn Fn(Worker<'_>) + Sync)) {
        let worker = Worker {
            index,
            count: self.count,
            shared: Some(self),
        };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(worker))) {
            let mut first = self.panic.lock().expect("no panic holds this lock");
            first.get_or_insert(panic);
            self.broken.store(true, Ordering::Release);
        }
    }

    fn meet(&self) {
        let round = self.round.load(Ordering::Relaxed);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.count {
            self.arrived.store(0, Ordering::Relaxed);
            self.round.store(round.wrapping_add(1), Ordering::Release);
            return;
        }
        let mut waiting = Patience::new(self.spins);
        while self.round.load(Ordering::Acquire) == round {
            assert!(
                !self.broken.load(Ordering::Acquire),
                "another thread of the team panicked"
            );
            waiting.pause();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTS: [usize; 6] = [1, 2, 3, 4, 7, 16];

    #[test]
    fn every_pattern_gives_the_serial_result_for_every_thread_count() {
        let length = 10_007;
        let value = |i: usize| 1.0 / (i as f64 + 0.3);
        let mut sums = Vec::new();
        for threads in COUNTS {
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
        for threads in COUNTS {
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
