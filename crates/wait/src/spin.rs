//! How long to spin before a sleep, and how long to sleep where a wake-up may be missed.

use crate::deadline::{Deadline, TimedOut, now_ns};
use std::time::Duration;
use uncontended_atomic::{AtomicU32, Ordering::Relaxed, spin_for_ns, yield_now};

/// How long the threads that wait at one place look again and again before they sleep. All zero is as long as ever.
///
/// To fall asleep and be woken costs some microseconds, in a virtual machine some tens, and who is woken that late
/// often keeps the other waiting so long that it sleeps as well. But to spin for that long each time that nothing will
/// come for a while is a waste. So a place learns: a wait that ended while it spun, or soon after it fell asleep, lets
/// the next one spin for [`LONGEST`]; one that did not halves that, six times at most. Other threads of its CPU are let
/// run meanwhile, so that on one CPU the look comes after whoever is waited for. Nothing depends on it, so loads and
/// stores are relaxed.
#[derive(Debug)]
pub(crate) struct AdaptiveSpin {
    /// How often [`LONGEST`] was halved.
    halved: AtomicU32,
}

const LONGEST: Duration = Duration::from_micros(50);
const MOST_HALVED: u32 = 6;
/// However little patience is left, others have the CPU so many times before a sleep. Among more threads than CPUs that
/// is mostly who one waits for, and no sleep is needed; where nobody else wants the CPU it is cheaper than a sleep by
/// far.
const FEWEST_YIELDS: u32 = 10;
/// The first look comes after a pause of so long, the next after one of twice that, all others after other threads had
/// the CPU.
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

    /// Looks until `ready` gives a value; then sleeps by `sleep` if patience comes to its end before. Not under the
    /// checker, to which a look is a look, nor where faults are injected, so that they fall into sleeps.
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
        // In shared memory another process may have written anything.
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
        // Publishers read this line.
        if next != halved {
            self.halved.store(next, Relaxed);
        }
        result
    }
}

/// Looks again and again until `ready` gives a value, or `end` has passed and others had the CPU a few times.
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

/// Bounded sleeps for where no barrier reaches the publishers: each up to twice as long as the last, from 50 µs to 16
/// ms, shortened by up to half at random, so that sleepers do not all come back at once.
#[derive(Debug, Default)]
pub(crate) struct SleepBackoff {
    sleeps: u32,
}

const SHORTEST_NS: u64 = 50_000;
const LONGEST_NS: u64 = 16_000_000;

impl SleepBackoff {
    /// When the next nap ends, never after `deadline`.
    pub(crate) fn next(&mut self, deadline: Deadline) -> Deadline {
        let now = now_ns();
        let longest = (SHORTEST_NS << self.sleeps.min(16)).min(LONGEST_NS);
        self.sleeps += 1;
        // The last digits of the clock and where this thread's stack is tell sleepers apart.
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
            return; // There no look is over before the shortest patience is.
        }
        // On a busy machine this thread may not run again before its patience is at its end.
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
