//! A number that threads wait on: they look at it for a few microseconds, then
//! sleep until it changes.
//!
//! Nobody sleeps past a change. A waiter counts itself among the sleepers and
//! then looks at the number; whoever changes the number does so and then looks
//! at the count. Both orders are sequentially consistent, so one of the two
//! sees the other: either the waiter finds the new number, or the changer
//! finds a sleeper and wakes it, under the lock that the waiter holds from its
//! look at the number until it sleeps.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A counter whose changes can be waited for.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Signal {
    value: AtomicUsize,
    sleepers: AtomicUsize,
    lock: Mutex<()>,
    changed: Condvar,
}

/// Looks at the number between two looks at the clock: about a microsecond.
const LOOKS_PER_CLOCK: u32 = 16;

impl Signal {
    /// The number now. What was written before it was set can be read.
    #[inline]
    pub(crate) fn value(&self) -> usize {
        self.value.load(Ordering::Acquire)
    }

    /// Goes to the next number and wakes whoever sleeps.
    #[inline]
    pub(crate) fn advance(&self) {
        self.value.fetch_add(1, Ordering::SeqCst);
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            // Whoever counted itself in before holds the lock or sleeps.
            drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner));
            self.changed.notify_all();
        }
    }

    /// Waits until the number is another than `old` and returns it; keeps the
    /// core for as long as `spin`, then gives it up.
    #[inline]
    pub(crate) fn wait_for_change(&self, old: usize, spin: Duration) -> usize {
        let value = self.value();
        if value != old {
            return value;
        }
        self.spin(old, spin).unwrap_or_else(|| self.sleep(old))
    }

    /// Threads that gave up their core to wait.
    #[cfg(test)]
    pub(crate) fn sleepers(&self) -> usize {
        self.sleepers.load(Ordering::SeqCst)
    }

    fn spin(&self, old: usize, spin: Duration) -> Option<usize> {
        if spin.is_zero() {
            return None;
        }
        let start = Instant::now();
        loop {
            for _ in 0..LOOKS_PER_CLOCK {
                std::hint::spin_loop();
                let value = self.value();
                if value != old {
                    return Some(value);
                }
            }
            if start.elapsed() >= spin {
                return None;
            }
        }
    }

    #[cold]
    fn sleep(&self, old: usize) -> usize {
        let mut guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        let value = loop {
            let value = self.value.load(Ordering::SeqCst);
            if value != old {
                break value;
            }
            guard = self
                .changed
                .wait(guard)
                .unwrap_or_else(PoisonError::into_inner);
        };
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two threads hand a number to and fro. Without a spin every hand-over
    /// goes through a sleep; a lost wake-up would never end.
    #[test]
    fn no_change_is_slept_through() {
        let rounds = if cfg!(miri) { 30 } else { 20_000 };
        for spin in [Duration::ZERO, Duration::from_micros(2)] {
            let (ping, pong) = (Signal::default(), Signal::default());
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    for round in 0..rounds {
                        ping.wait_for_change(round, spin);
                        pong.advance();
                    }
                });
                for round in 0..rounds {
                    ping.advance();
                    pong.wait_for_change(round, spin);
                }
            });
            assert_eq!([ping.value(), pong.value()], [rounds; 2]);
            assert_eq!([ping.sleepers(), pong.sleepers()], [0; 2]);
        }
    }

    /// What was written before a change can be read after it.
    #[test]
    fn a_change_publishes_what_was_written_before() {
        let rounds = if cfg!(miri) { 20 } else { 5_000 };
        let (signal, data) = (Signal::default(), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut seen = 0;
                    while seen < rounds {
                        seen = signal.wait_for_change(seen, Duration::ZERO);
                        assert!(data.load(Ordering::Relaxed) >= seen);
                    }
                });
            }
            for round in 1..=rounds {
                data.store(round, Ordering::Relaxed);
                signal.advance();
            }
        });
    }
}
