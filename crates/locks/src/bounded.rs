//! A mutex that the first to come takes, but every waiter is overtaken a bounded number of times.
//!
//! # Contract
//! From the moment that it stands in the queue, at most `MOST` threads that came later have the lock before a waiter,
//! however many wait ahead of it. It stands there after two steps, in which it does not wait.
//!
//! # Weak spot
//! Two locks in one: a waiter queues, and the head of the queue waits for the word, so a contended acquisition costs
//! more than [`Futex`](crate::Futex)'s. Any other does, too: a free word has a count, and is read first. Once the bound
//! is reached, the lock is passed on in order of arrival, and stands idle while each head wakes up, until one is next
//! that came later. `try_lock` refuses a lock that is free but reserved.
//!
//! # State
//! `word`: HELD; ASLEEP: the head may sleep on the word; how many threads wait; and in the upper half, how many have
//! ever overtaken waiters. `limit`: what the upper half may reach. `queue`: the waiters, in order of arrival; its
//! holder is the head. Counts are modulo 2^32.
//!
//! # Invariants
//! I1: the thread that sets HELD holds the lock until HELD is cleared.
//! I2: a thread that finds waiters takes the lock only by adding itself to the upper half, and only below the limit.
//! I3: the limit is `MOST` more than what the upper half was when some head came. All that stand in the queue behind
//!     that head came to stand there after that: so the limit is at most `MOST` more than it was then, and an older
//!     limit, which is lower, is no less true. It is ahead of the upper half by 0 to `MOST`.
//! I4: the head sleeps only while HELD and ASLEEP are set: so a holder that clears HELD and finds ASLEEP wakes it.
//!
//! # Edges
//! bounded: `unlock` -> `take`. What the holder did.
//!
//! # Evidence
//! tests/model.rs; tests/model_order.rs: with `MOST` 0 and 1, no more overtake the first and the second waiter;
//! tests/mutants/bounded.toml.
//! # Sources
//! Dice and Kogan, "Fissile Locks", arXiv 2003.05025: a queue whose head competes with those that come. Bounded bypass
//! after a doorway: Lamport, "A new solution of Dijkstra's concurrent programming problem", CACM 17 (1974).

use crate::pause::look;
use crate::{Mcs, RawLock, SpinThenPark};
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_atomic::{AtomicU32, AtomicU64, Named, Scope, futex_wait, futex_wake};

const HELD: u64 = 1;
const ASLEEP: u64 = 2;
const WAITER: u64 = 4;
const OVERTAKER: u64 = 1 << 32;

/// A mutex each of whose waiters is overtaken by at most `MOST` threads. 32 bytes.
///
/// `MOST` is less than 2^31, half of what is counted to. [`Bounded::<8>::new()`](Bounded::new), or `<Bounded>::new()`
/// for the default.
///
/// ```compile_fail,E0080
/// let lock = uncontended_locks::Bounded::<{ u32::MAX }>::new();
/// ```
#[derive(Debug)]
pub struct Bounded<const MOST: u32 = 64> {
    word: AtomicU64,
    limit: AtomicU32,
    queue: Mcs<SpinThenPark>,
}

/// The number of waiters.
fn waiters(word: u64) -> u32 {
    low(word) / low(WAITER)
}

/// How many have ever overtaken waiters.
fn overtakers(word: u64) -> u32 {
    (word / OVERTAKER) as u32
}

/// The half that the head sleeps on.
fn low(word: u64) -> u32 {
    word as u32
}

/// How far `count` is behind `limit`; 0 if it is not.
fn behind(count: u32, limit: u32) -> u32 {
    limit.wrapping_sub(count).cast_signed().max(0).cast_unsigned()
}

impl<const MOST: u32> Bounded<MOST> {
    const IS_IN_RANGE: () = assert!(
        MOST < 1 << 31,
        "MOST must be below 2^31: the threads that overtake are counted modulo 2^32"
    );

    /// A lock that is free.
    #[cfg(not(unc_model))]
    pub const fn new() -> Bounded<MOST> {
        let () = Self::IS_IN_RANGE;
        Bounded { word: AtomicU64::new(0), limit: AtomicU32::new(0), queue: Mcs::new() }
    }

    /// How many threads wait; others may change that at once.
    pub fn waiters(&self) -> u32 {
        waiters(self.word.load(Relaxed))
    }

    /// How many threads stand in the queue, as far as can be told without a walk: none, the head, or two and more.
    #[cfg(unc_model)]
    pub fn queued(&self) -> u32 {
        u32::from(self.queue.is_locked()) + u32::from(self.queue.has_waiters())
    }

    /// How many more threads may overtake those that wait.
    #[cfg(unc_model)]
    pub fn may_overtake(&self) -> u32 {
        behind(overtakers(self.word.load(Relaxed)), self.limit.load(Relaxed))
    }

    /// The word after a thread that does not wait has taken the lock; none if it may not.
    #[cfg_attr(unc_model, track_caller)]
    fn taken(&self, word: u64) -> Option<u64> {
        match word {
            _ if word & HELD != 0 => None,
            _ if waiters(word) == 0 => Some(word | HELD),
            _ if behind(overtakers(word), self.limit.load(Relaxed)) > 0 => {
                Some((word | HELD).wrapping_add(OVERTAKER)) // I2
            }
            _ => None,
        }
    }

    /// Replaces `word` by `next`, which has HELD.
    #[cfg_attr(unc_model, track_caller)]
    fn take(&self, word: u64, next: u64) -> bool {
        // EDGE bounded (acquire): what the last holder did. I1
        self.word.compare_exchange(word, next, Acquire, Relaxed).is_ok()
    }

    #[cold]
    #[cfg_attr(unc_model, track_caller)]
    fn wait(&self) {
        let came = overtakers(self.word.fetch_add(WAITER, Relaxed));
        self.queue.lock();
        let limit = came.wrapping_add(MOST);
        if behind(self.limit.load(Relaxed), limit) > 0 {
            self.limit.store(limit, Relaxed); // I3
        }
        loop {
            let word = look(|| self.word.load(Relaxed), |word| word & HELD == 0);
            if word & HELD == 0 {
                if self.take(word, (word | HELD) - WAITER) {
                    break;
                }
                continue;
            }
            let asleep = word | ASLEEP;
            if word == asleep || self.word.compare_exchange(word, asleep, Relaxed, Relaxed).is_ok()
            {
                futex_wait(&self.word, low(asleep), None, Scope::Private); // I4
            }
        }
        // SAFETY: this thread took the queue's lock above (I1 of `mcs` keeps it until here).
        unsafe { self.queue.unlock() };
    }
}

impl<const MOST: u32> Default for Bounded<MOST> {
    fn default() -> Bounded<MOST> {
        let () = Self::IS_IN_RANGE;
        Bounded {
            word: AtomicU64::new(0).named("word"),
            limit: AtomicU32::new(0).named("limit"),
            queue: Mcs::default(),
        }
    }
}

// SAFETY: one thread at a time sets HELD (I1), and sees what the last holder did (edge bounded).
unsafe impl<const MOST: u32> RawLock for Bounded<MOST> {
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    fn lock(&self) {
        if !self.try_lock() {
            self.wait();
        }
    }

    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    fn try_lock(&self) -> bool {
        let mut word = self.word.load(Relaxed);
        while let Some(next) = self.taken(word) {
            if self.take(word, next) {
                return true;
            }
            word = self.word.load(Relaxed);
        }
        false
    }

    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    unsafe fn unlock(&self) {
        // EDGE bounded (release): what this holder did. ASLEEP goes with HELD: the head that it wakes sets it again.
        let word = self.word.fetch_and(!(HELD | ASLEEP), Release);
        if word & ASLEEP != 0 {
            futex_wake(&self.word, 1, Scope::Private); // I4
        }
    }

    fn is_locked(&self) -> bool {
        self.word.load(Relaxed) & HELD != 0
    }
}

#[cfg(all(test, not(unc_model)))]
mod tests {
    use super::*;

    #[test]
    fn counts_go_on_beyond_what_they_hold() {
        assert_eq!((behind(u32::MAX, 3), behind(3, 3), behind(4, 3)), (4, 0, 0));
        let last = u64::from(u32::MAX) * OVERTAKER + 2 * WAITER;
        let lock = Bounded::<5>::default();
        lock.limit.store(2, Relaxed);
        let next = lock.taken(last).expect("below the limit");
        assert_eq!((overtakers(next), waiters(next), next & HELD), (0, 2, HELD));
        let reached = 2 * OVERTAKER + WAITER;
        assert_eq!(
            (lock.taken(reached), lock.taken(reached - WAITER)),
            (None, Some(2 * OVERTAKER + HELD))
        );
    }
}
