//! How long to spin before a sleep, and how long to sleep where a wakeup may be missed.

use crate::deadline::{Deadline, TimedOut, now_ns};
use std::time::Duration;
use uncontended_atomic::{AtomicU32, Ordering::Relaxed, spin_for_ns, yield_now};

/// How long the waiters of one place spin before they sleep. All zero is the beginning.
///
/// Falling asleep and waking up costs a few microseconds, and tens of them in a virtual machine. A waiter that wakes
/// that late often delays its peer so long that the peer sleeps as well. But a full spin before every long wait wastes
/// CPU. So each place adapts: after a wait that ended during the spin, or soon after the waiter fell asleep, the next
/// one spins for [`LONGEST`]; after any other wait the spin is halved, at most six times.
///
/// The spin begins with pauses and continues with yields, so with a single CPU the thread that is waited for runs
/// before the next check. With a CPU of its own, it has long been ready when a yield returns. So the pauses adapt as
/// well: they are doubled after a wait that ended within [`SHORT`], and halved after any other. Correctness does not
/// depend on the values, so loads and stores are relaxed.
#[derive(Debug)]
pub(crate) struct AdaptiveSpin {
    learned: AtomicU32,
}

/// What [`AdaptiveSpin`] has learned from the waits so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Learned {
    /// How many times [`LONGEST`] is halved.
    halved: u32,
    /// How many times [`PAUSES_NS`] is doubled.
    doubled: u32,
}

const LONGEST: Duration = Duration::from_micros(50);
const MOST_HALVED: u32 = 6;
/// However short the spin, a waiter yields at least this often before it sleeps. With more threads than CPUs a yield
/// mostly lets the awaited thread run, and no sleep is needed; where no other thread wants the CPU, a yield is far
/// cheaper than a sleep.
const FEWEST_YIELDS: u32 = 10;
/// The spin begins with pauses of this length, and a check after each.
const PAUSE_NS: u32 = 25;
/// How long the pauses take together if the place has not learned that waits are short. Then come yields.
const PAUSES_NS: u32 = 75;
/// How many times they are doubled at most.
const MOST_DOUBLED: u32 = 4;
/// A wait that is worth longer pauses: about what a yield to another thread and back takes.
const SHORT: Duration = Duration::from_micros(1);

impl Learned {
    /// In shared memory another process may have written any value.
    fn from_word(word: u32) -> Learned {
        Learned { halved: (word & 0xff).min(MOST_HALVED), doubled: (word >> 8).min(MOST_DOUBLED) }
    }

    fn word(self) -> u32 {
        self.doubled << 8 | self.halved
    }

    /// After a wait that was `short`, or ended `early`: in the spin or soon after.
    fn after(self, is_short: bool, is_early: bool) -> Learned {
        Learned {
            halved: if is_early { 0 } else { (self.halved + 1).min(MOST_HALVED) },
            doubled: match is_short {
                true => (self.doubled + 1).min(MOST_DOUBLED),
                false => self.doubled.saturating_sub(1),
            },
        }
    }
}

impl AdaptiveSpin {
    #[cfg(not(unc_model))]
    pub(crate) const fn new() -> AdaptiveSpin {
        AdaptiveSpin { learned: AtomicU32::new(0) }
    }

    #[cfg(unc_model)]
    pub(crate) fn new() -> AdaptiveSpin {
        AdaptiveSpin { learned: AtomicU32::new(0) }
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
        if deadline.has_passed() {
            return sleep(ready);
        }
        let learned = Learned::from_word(self.learned.load(Relaxed));
        if let Some(value) = pause_until(&mut *ready, PAUSES_NS << learned.doubled) {
            self.learn(learned, learned.after(true, true));
            return Ok(value);
        }
        let short = Deadline::after(SHORT);
        let end = Deadline::after(LONGEST / (1 << learned.halved)).min(deadline);
        let found = yield_until(&mut *ready, end, deadline);
        let is_short = found.is_some() && !short.has_passed();
        let soon = Deadline::after(LONGEST);
        let is_found = found.is_some();
        let result = found.map_or_else(|| sleep(ready), Ok);
        self.learn(learned, learned.after(is_short, is_found || !soon.has_passed()));
        result
    }

    /// For a task that found nothing and does not wait yet: looks again after one yield, if waits have ended soon of
    /// late. Where its peer is a thread on the same CPU, that is what lets the peer run; without it, each value costs
    /// two context switches.
    #[cfg(feature = "async")]
    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn yield_once<R>(&self, ready: &mut impl FnMut() -> Option<R>) -> Option<R> {
        let learned = Learned::from_word(self.learned.load(Relaxed));
        if cfg!(any(unc_model, unc_pause)) || learned.halved == MOST_HALVED {
            return None;
        }
        yield_now();
        let found = ready();
        self.learn(learned, learned.after(false, found.is_some()));
        found
    }

    /// A task's wait is over that began at this time.
    #[cfg(feature = "async")]
    pub(crate) fn waited_since(&self, since_ns: u64) {
        if cfg!(any(unc_model, unc_pause)) {
            return;
        }
        let learned = Learned::from_word(self.learned.load(Relaxed));
        let is_early = now_ns().saturating_sub(since_ns) < LONGEST.as_nanos() as u64;
        self.learn(learned, learned.after(false, is_early));
    }

    /// Stores only a change: publishers read this cache line.
    #[inline(always)]
    fn learn(&self, before: Learned, now: Learned) {
        if now != before {
            self.learned.store(now.word(), Relaxed);
        }
    }
}

/// Checks `ready` after each pause until it returns a value, or the pauses have taken about `most_ns`. Reads no clock:
/// a reading takes as long as a pause.
#[inline(always)]
fn pause_until<R>(mut ready: impl FnMut() -> Option<R>, most_ns: u32) -> Option<R> {
    (0..most_ns / PAUSE_NS).find_map(|_| {
        spin_for_ns(PAUSE_NS);
        ready()
    })
}

/// Checks `ready` after each yield until it returns a value, or until `end` has passed and the thread has yielded often
/// enough.
fn yield_until<R>(
    mut ready: impl FnMut() -> Option<R>,
    end: Deadline,
    deadline: Deadline,
) -> Option<R> {
    let mut yields = 0;
    while !end.has_passed() || yields < FEWEST_YIELDS && !deadline.has_passed() {
        yields += 1;
        yield_now();
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

    fn halved(spin: &AdaptiveSpin) -> u32 {
        Learned::from_word(spin.learned.load(Relaxed)).halved
    }

    #[test]
    fn what_a_place_learned_is_one_word_and_bounded() {
        let mut learned = Learned::from_word(0);
        for waits in 1..20 {
            learned = learned.after(true, true);
            assert_eq!(learned, Learned { halved: 0, doubled: MOST_DOUBLED.min(waits) });
            assert_eq!(Learned::from_word(learned.word()), learned);
        }
        for waits in 1..20 {
            learned = learned.after(false, false);
            let (halved, doubled) = (MOST_HALVED.min(waits), MOST_DOUBLED.saturating_sub(waits));
            assert_eq!(learned, Learned { halved, doubled });
            assert_eq!(Learned::from_word(learned.word()), learned);
        }
        assert_eq!(
            Learned::from_word(u32::MAX),
            Learned { halved: MOST_HALVED, doubled: MOST_DOUBLED },
            "whatever another process wrote"
        );
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
        assert_eq!(halved(&spin), MOST_HALVED);
        if cfg!(miri) {
            return; // Under Miri one check takes longer than the shortest spin.
        }
        // On a busy machine this thread may not run again before the spin ends.
        while halved(&spin) == MOST_HALVED {
            let found = spin
                .spin_then_sleep(&mut || Some(3), Deadline::NEVER, |look| look().ok_or(TimedOut));
            assert_eq!(found, Ok(3));
        }
        assert_eq!(halved(&spin), 0);
        let no_time = || -> Option<u32> { unreachable!("no time to look") };
        assert_eq!(
            spin.spin_then_sleep(&mut { no_time }, Deadline::at_ns(0), |_| Err(TimedOut)),
            Err(TimedOut)
        );
    }
}
