//! How long to spin before a sleep, and how long to sleep where a wakeup may be missed.

use crate::deadline::{Deadline, TimedOut, now_ns};
use std::time::Duration;
use uncontended_atomic::{AtomicU32, Ordering::Relaxed, spin_for_ns, yield_now};

/// How long the waiters of one place spin before they sleep. All zero means the longest spin.
///
/// Falling asleep and waking up costs a few microseconds, and tens of them in a virtual machine. A waiter that wakes
/// that late often delays its peer so long that the peer sleeps as well. But a full spin before every long wait wastes
/// CPU. So each place adapts: after a wait that ended during the spin, or soon after the waiter fell asleep, the next
/// one spins for [`LONGEST`]; after any other wait the spin is halved, at most six times. The spin yields the CPU, so
/// with a single CPU the thread that is waited for runs before the next check. Correctness does not depend on the
/// value, so loads and stores are relaxed.
#[derive(Debug)]
pub(crate) struct AdaptiveSpin {
    /// How many times [`LONGEST`] is halved.
    halved: AtomicU32,
}

const LONGEST: Duration = Duration::from_micros(50);
const MOST_HALVED: u32 = 6;
/// However short the spin, a waiter yields at least this often before it sleeps. With more threads than CPUs a yield
/// mostly lets the awaited thread run, and no sleep is needed; where no other thread wants the CPU, a yield is far
/// cheaper than a sleep.
const FEWEST_YIELDS: u32 = 10;
/// The first check follows a pause of this length, the second a pause twice as long, and every later one a yield.
const FIRST_PAUSE_NS: u32 = 25;
const LAST_PAUSE_NS: u32 = 50;

impl AdaptiveSpin {
    #[cfg(not(unc_model))]
    pub(crate) const fn new() -> AdaptiveSpin {
        AdaptiveSpin { halved: AtomicU32::new(0) }
    }

    #[cfg(unc_model)]
    pub(crate) fn new() -> AdaptiveSpin {
        AdaptiveSpin { halved: AtomicU32::new(0) }
    }

    /// Checks `ready` until it returns a value, and calls `sleep` if the spin ends first. Does not spin under the
    /// checker, where a repeated check explores nothing new, nor under fault injection, so that faults hit the sleeps.
    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn spin_then_sleep<R, F: FnMut() -> Option<R>>(
        &self,
        ready: &mut F,
        deadline: Deadline,
        sleep: impl FnOnce(&mut F) -> Result<R, TimedOut>,
    ) -> Result<R, TimedOut> {
        if cfg!(any(unc_model, unc_pause)) {
            return sleep(ready);
        }
        // In shared memory another process may have written any value.
        let halved = self.halved.load(Relaxed).min(MOST_HALVED);
        let end = Deadline::after(LONGEST / (1 << halved)).min(deadline);
        let found = spin_until(&mut *ready, end, deadline);
        let soon = Deadline::after(LONGEST);
        let is_found = found.is_some();
        let result = found.map_or_else(|| sleep(ready), Ok);
        let next = match is_found || !soon.has_passed() {
            true => 0,
            false => (halved + 1).min(MOST_HALVED),
        };
        // Store only a change: publishers read this cache line.
        if next != halved {
            self.halved.store(next, Relaxed);
        }
        result
    }
}

/// Checks `ready` until it returns a value, or until `end` has passed and the thread has yielded often enough.
fn spin_until<R>(
    mut ready: impl FnMut() -> Option<R>,
    end: Deadline,
    deadline: Deadline,
) -> Option<R> {
    let (mut pause_ns, mut yields) = (FIRST_PAUSE_NS, 0);
    while !end.has_passed() || yields < FEWEST_YIELDS && !deadline.has_passed() {
        if pause_ns <= LAST_PAUSE_NS {
            spin_for_ns(pause_ns);
            pause_ns *= 2;
        } else {
            yields += 1;
            yield_now();
        }
        if let Some(value) = ready() {
            return Some(value);
        }
    }
    None
}

/// Bounded sleeps for waiters whose publishers no barrier reaches. The bound doubles from 50 µs to 16 ms; jitter
/// shortens each sleep by up to half, so that waiters do not all wake at once.
#[derive(Debug, Default)]
pub(crate) struct SleepBackoff {
    sleeps: u32,
}

const SHORTEST_NS: u64 = 50_000;
const LONGEST_NS: u64 = 16_000_000;

impl SleepBackoff {
    /// When the next sleep ends, never after `deadline`.
    pub(crate) fn next(&mut self, deadline: Deadline) -> Deadline {
        let now = now_ns();
        let longest = (SHORTEST_NS << self.sleeps.min(16)).min(LONGEST_NS);
        self.sleeps += 1;
        // The low digits of the clock and the address of this thread's stack differ between waiters.
        let seed = now ^ (&raw const *self).addr() as u64;
        let random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let sleep_ns = longest - ((random * (longest / 2)) >> 32);
        Deadline::at_ns(now.saturating_add(sleep_ns)).min(deadline)
    }
}

#[cfg(all(test, not(unc_model)))]
mod tests {
    use super::*;

    #[test]
    fn backoff_grows_is_bounded_and_never_passes_the_deadline() {
        let mut backoff = SleepBackoff::default();
        for sleeps in 0..40u32 {
            let before = now_ns();
            let sleep_ns = backoff.next(Deadline::NEVER).as_ns() - before;
            let longest = (SHORTEST_NS << sleeps.min(16)).min(LONGEST_NS);
            assert!(sleep_ns >= longest / 2, "{sleeps}: {sleep_ns}");
        }
        let deadline = Deadline::at_ns(now_ns() + 1000);
        assert_eq!(backoff.next(deadline), deadline);
    }

    #[test]
    fn the_spin_shrinks_and_is_restored() {
        let spin = AdaptiveSpin::new();
        for _ in 0..20 {
            let late = spin.spin_then_sleep(&mut || None, Deadline::NEVER, |_| {
                std::thread::sleep(2 * LONGEST);
                Ok(7)
            });
            assert_eq!(late, Ok(7));
        }
        assert_eq!(spin.halved.load(Relaxed), MOST_HALVED);
        if cfg!(miri) {
            return; // Under Miri one check takes longer than the shortest spin.
        }
        // On a busy machine this thread may not run again before the spin ends.
        while spin.halved.load(Relaxed) == MOST_HALVED {
            let found = spin
                .spin_then_sleep(&mut || Some(3), Deadline::NEVER, |look| look().ok_or(TimedOut));
            assert_eq!(found, Ok(3));
        }
        assert_eq!(spin.halved.load(Relaxed), 0);
        let no_time = || -> Option<u32> { unreachable!("no time to look") };
        assert_eq!(
            spin.spin_then_sleep(&mut { no_time }, Deadline::at_ns(0), |_| Err(TimedOut)),
            Err(TimedOut)
        );
    }
}
