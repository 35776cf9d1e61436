//! What a waiter does between two looks at a lock that all waiters look at.

use std::fmt;
use std::time::Duration;
use uncontended_atomic::{spin_for_ns, spin_loop, yield_now};
use uncontended_wait::Deadline;

/// What to do between two looks. A new one for each wait.
pub trait Pause: Default + Send + Sync + fmt::Debug + 'static {
    /// Lets some time pass.
    fn pause(&mut self);
}

/// How long a hint to the processor lasts here, about as long as a cache line takes from one CPU to another.
pub(crate) const HINT_NS: u32 = 25;
/// Looks before a waiter sleeps: about a microsecond, a fraction of what a sleep costs.
const LOOKS: u32 = 40;

/// Looks at a word until `is_over`, or for about a microsecond. Returns what it saw last. Under the checker, where a
/// wait of any length is the same, it looks once.
#[cfg_attr(unc_model, track_caller)]
pub(crate) fn look<T: Copy>(load: impl Fn() -> T, is_over: impl Fn(T) -> bool) -> T {
    let looks = if cfg!(unc_model) { 0 } else { LOOKS };
    for _ in 0..looks {
        let seen = load();
        if is_over(seen) {
            return seen;
        }
        spin_for_ns(HINT_NS);
    }
    load()
}

/// Whether a deadline has passed. Under the checker, any but [`Deadline::NEVER`] may have.
#[cfg_attr(unc_model, track_caller)]
pub(crate) fn has_passed(deadline: Deadline) -> bool {
    #[cfg(unc_model)]
    return deadline != Deadline::NEVER && uncontended_atomic::choose(2) == 1;
    #[cfg(not(unc_model))]
    deadline.has_passed()
}

/// For a store that another thread makes next, in a few nanoseconds unless it has lost its CPU: hints for about a
/// microsecond, then yields, then sleeps. If this thread has a real-time priority and that one has not, a sleep alone
/// lets it run.
#[derive(Debug, Default)]
pub(crate) struct AboutToStore {
    looks: u32,
}

impl AboutToStore {
    const YIELDS: u32 = 16;
    const SLEEP: Duration = Duration::from_micros(50);

    pub(crate) fn pause(&mut self) {
        if cfg!(unc_model) {
            return spin_loop();
        }
        self.looks = (self.looks + 1).min(LOOKS + Self::YIELDS + 1);
        match self.looks {
            ..=LOOKS => spin_for_ns(HINT_NS),
            looks if looks <= LOOKS + Self::YIELDS => yield_now(),
            _ => std::thread::sleep(Self::SLEEP),
        }
    }
}

/// The processor's hint for wait loops, for about 25 ns.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hint;

impl Pause for Hint {
    #[inline]
    fn pause(&mut self) {
        spin_for_ns(HINT_NS);
    }
}

/// Hints for twice as long as before, from 25 ns to 12.8 µs.
///
/// A waiter that has waited long looks seldom: the lock may stay idle for as long as the last pause.
#[derive(Clone, Copy, Debug, Default)]
pub struct Backoff {
    doubled: u32,
}

impl Backoff {
    const MOST_DOUBLED: u32 = 9;
}

impl Pause for Backoff {
    #[inline]
    fn pause(&mut self) {
        spin_for_ns(HINT_NS << self.doubled);
        self.doubled = (self.doubled + 1).min(Backoff::MOST_DOUBLED);
    }
}

/// Sixteen hints, then a yield, over and over.
#[derive(Clone, Copy, Debug, Default)]
pub struct HintThenYield {
    hints: u32,
}

impl Pause for HintThenYield {
    #[inline]
    fn pause(&mut self) {
        if self.hints < 16 {
            self.hints += 1;
            spin_for_ns(HINT_NS);
        } else {
            self.hints = 0;
            yield_now();
        }
    }
}

/// Yields the CPU to other threads each time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Yield;

impl Pause for Yield {
    #[inline]
    fn pause(&mut self) {
        yield_now();
    }
}

#[cfg(all(test, not(unc_model)))]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_does_not_come_is_slept_for() {
        let mut pause = AboutToStore::default();
        (0..LOOKS + AboutToStore::YIELDS).for_each(|_| pause.pause());
        let begun = std::time::Instant::now();
        (0..5).for_each(|_| pause.pause());
        assert!(begun.elapsed() >= 5 * AboutToStore::SLEEP);
    }
}
