//! Strategies, as types, for a loop that polls and finds nothing.
//!
//! # Contract
//! The loop calls [`Idle::idle`] after a poll that found nothing and [`Idle::reset`] after one that found something. No
//! notifier is involved. To wait without polling see [`Sleepers`](crate::Sleepers).
//!
//! | | CPU while idle | latency |
//! |---|---|---|
//! | [`Spin`] | all of it, at full power | lowest |
//! | [`HintedSpin`] | all of it; leaves more to a hyperthread's sibling | one pause instruction |
//! | [`Yield`] | what no other thread wants | one system call |
//! | [`Park`] | little | up to its longest sleep |
//! | [`Backoff`] | little after a while | grows from that of `HintedSpin` to that of `Park` |

use crate::deadline::Deadline;
use std::time::Duration;
use uncontended_atomic::{AtomicU32, Scope, futex_wait, spin_loop, yield_now};

/// What a loop does after a poll that found nothing.
///
/// ```
/// use uncontended_wait::idle::{Backoff, Idle};
/// let mut idle = Backoff::default();
/// let mut left = 100;
/// let found = loop {
///     left -= 1;
///     if left == 0 {
///         idle.reset();
///         break "it";
///     }
///     idle.idle();
/// };
/// assert_eq!(found, "it");
/// ```
pub trait Idle {
    /// Nothing was found: lets time pass according to the strategy.
    fn idle(&mut self);

    /// Something was found: starts over.
    fn reset(&mut self) {}
}

/// Polls again at once.
///
/// ```
/// use uncontended_wait::idle::{Idle, Spin};
/// let (mut idle, mut looks) = (Spin, 0);
/// while looks < 3 {
///     looks += 1;
///     idle.idle();
/// }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Spin;

impl Idle for Spin {
    #[inline(always)]
    fn idle(&mut self) {}
}

/// Hints to the processor that the loop spins.
///
/// ```
/// use uncontended_wait::idle::{Idle, HintedSpin};
/// let (mut idle, mut looks) = (HintedSpin, 0);
/// while looks < 3 {
///     looks += 1;
///     idle.idle();
/// }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct HintedSpin;

impl Idle for HintedSpin {
    #[inline(always)]
    fn idle(&mut self) {
        spin_loop();
    }
}

/// Yields the CPU to other threads.
///
/// ```
/// use uncontended_wait::idle::{Idle, Yield};
/// let (mut idle, mut looks) = (Yield, 0);
/// while looks < 3 {
///     looks += 1;
///     idle.idle();
/// }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Yield;

impl Idle for Yield {
    fn idle(&mut self) {
        yield_now();
    }
}

/// Sleeps, each twice as long as the last up to a limit.
///
/// ```
/// use std::time::{Duration, Instant};
/// use uncontended_wait::idle::{Idle, Park};
/// let mut idle = Park::new(Duration::from_millis(1), Duration::from_millis(2));
/// let begun = Instant::now();
/// idle.idle();
/// idle.idle();
/// assert!(begun.elapsed() > Duration::ZERO);
/// idle.reset(); // starts over with the shortest
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Park {
    shortest: Duration,
    longest: Duration,
    next: Duration,
}

impl Park {
    /// Sleeps from `shortest` to `longest`, never longer. From less than half a microsecond they grow to one at once.
    /// The kernel adds about 50 µs to each.
    pub const fn new(shortest: Duration, longest: Duration) -> Park {
        Park { shortest, longest, next: shortest }
    }
}

impl Park {
    fn next(&self) -> Duration {
        self.next.min(self.longest)
    }

    fn grow(&mut self) {
        let twice = self.next.saturating_mul(2);
        self.next = twice.max(Duration::from_micros(1)).min(self.longest);
    }
}

impl Default for Park {
    /// From 1 µs to 1 ms.
    fn default() -> Park {
        Park::new(Duration::from_micros(1), Duration::from_millis(1))
    }
}

impl Idle for Park {
    fn idle(&mut self) {
        if cfg!(unc_model) {
            return yield_now();
        }
        // A word that no other thread knows of. A sleep that ends early does no harm.
        let word = AtomicU32::new(0);
        futex_wait(&word, 0, Deadline::after(self.next()).limit_ns(), Scope::Private);
        self.grow();
    }

    fn reset(&mut self) {
        self.next = self.shortest;
    }
}

/// First hints, then yields, then sleeps.
///
/// ```
/// use uncontended_wait::idle::{Backoff, Idle, Park};
/// let mut idle = Backoff::new(2, 1, Park::default());
/// for _look in 0..5 {
///     idle.idle(); // a hint, a hint, a yield, a sleep of 1 µs, one of 2 µs
/// }
/// idle.reset();
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    hints: u32,
    yields: u32,
    taken: u64,
    park: Park,
}

impl Backoff {
    /// `hints` hints, then `yields` yields, then the sleeps of `park`.
    pub const fn new(hints: u32, yields: u32, park: Park) -> Backoff {
        Backoff { hints, yields, taken: 0, park }
    }
}

impl Default for Backoff {
    /// 100 hints, 10 yields, sleeps from 1 µs to 1 ms.
    fn default() -> Backoff {
        Backoff::new(100, 10, Park::default())
    }
}

impl Idle for Backoff {
    fn idle(&mut self) {
        let hints = u64::from(self.hints);
        if self.taken < hints {
            spin_loop();
        } else if self.taken < hints + u64::from(self.yields) {
            yield_now();
        } else {
            return self.park.idle();
        }
        self.taken += 1;
    }

    fn reset(&mut self) {
        self.taken = 0;
        self.park.reset();
    }
}

#[cfg(all(test, not(unc_model)))]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn sleeps_double_up_to_the_longest_and_start_over() {
        let (shortest, longest) = (Duration::from_micros(100), Duration::from_millis(1));
        let mut park = Park::new(shortest, longest);
        let began = Instant::now();
        (0..6).for_each(|_| park.idle());
        assert_eq!(park.next, longest);
        assert!(began.elapsed() >= Duration::from_micros(1_500 + 2 * 1_000));
        park.reset();
        assert_eq!(park.next, shortest);
    }

    #[test]
    fn sleeps_grow_from_nothing_and_never_pass_the_longest() {
        let mut park = Park::new(Duration::ZERO, Duration::from_millis(1));
        (0..20).for_each(|_| park.grow());
        assert_eq!(park.next(), Duration::from_millis(1));
        let mut park = Park::new(Duration::MAX / 2 + Duration::from_secs(1), Duration::MAX);
        park.grow();
        assert_eq!(park.next(), Duration::MAX);
        let mut park = Park::new(Duration::from_millis(2), Duration::from_millis(1));
        assert_eq!(park.next(), Duration::from_millis(1));
        park.grow();
        assert_eq!(park.next(), Duration::from_millis(1));
        let mut park = Park::new(Duration::ZERO, Duration::ZERO);
        park.grow();
        assert_eq!(park.next(), Duration::ZERO);
    }

    #[test]
    fn a_backoff_with_the_most_hints_goes_on_to_yield_and_to_sleep() {
        let mut backoff = Backoff::new(u32::MAX, 1, Park::default());
        backoff.taken = u64::from(u32::MAX);
        backoff.idle();
        assert_eq!(backoff.park.next, backoff.park.shortest);
        backoff.idle();
        assert!(backoff.park.next > backoff.park.shortest);
    }

    #[test]
    fn backoff_goes_through_all_its_stages() {
        let mut backoff = Backoff::new(2, 1, Park::default());
        for _ in 0..3 {
            backoff.idle();
            assert_eq!(backoff.park.next, backoff.park.shortest);
        }
        backoff.idle();
        assert!(backoff.park.next > backoff.park.shortest);
        backoff.reset();
        assert_eq!((backoff.taken, backoff.park.next), (0, backoff.park.shortest));
        fn poll(mut idle: impl Idle) {
            (0..3).for_each(|_| idle.idle());
            idle.reset();
        }
        poll(Spin);
        poll(HintedSpin);
        poll(Yield);
    }
}
