//! A mutex that the first to come takes, but the first of the waiters is overtaken by a bounded number.
//!
//! # Weak spot
//! Two locks in one: a waiter queues, and the head of the queue waits for the word, so a contended acquisition costs
//! more than [`Futex`](crate::Futex)'s. Once the bound is reached, the lock stands idle while the head wakes up. The
//! bound is of each head: a waiter that is the n-th of the queue may see n times as many come before it. `try_lock`
//! refuses a lock that is free but reserved for the head.
//!
//! # State
//! `word`: HELD; ASLEEP: the head may sleep on the word; HEAD: a head waits, and above it, how many threads have
//! overtaken it. `queue`: the waiters, in order of arrival; its holder is the head.
//!
//! # Invariants
//! I1: the thread that sets HELD holds the lock until HELD is cleared.
//! I2: HEAD is set by the head, or for it by the one before, which holds the lock: so no thread overtakes the next head
//!     uncounted while that wakes up. Taking the lock clears HEAD, and the count, which is of one head's overtakers.
//! I3: a thread that finds HEAD takes the lock only by counting itself, and not if `MOST` are counted.
//! I4: the head sleeps only while HELD and ASLEEP are set: so a holder that clears HELD and finds ASLEEP wakes it.
//!
//! # Edges
//! bounded: `unlock` -> `take`. What the holder did.
//!
//! # Evidence
//! tests/model.rs: with `MOST` 0 and 1, also that no more overtake; tests/mutants/bounded.toml.
//! # Sources
//! Dice and Kogan, "Fissile Locks", arXiv 2003.05025: a queue whose head competes with those that come.

use crate::pause::look;
use crate::{Mcs, RawLock, SpinThenPark};
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_atomic::{AtomicU32, Named, Scope, futex_wait, futex_wake};

const HELD: u32 = 1;
const ASLEEP: u32 = 2;
const HEAD: u32 = 4;
const OVERTAKER: u32 = 8;

/// A mutex whose first waiter is overtaken by at most `MOST` threads, the n-th by n times as many. 24 bytes.
///
/// `MOST` is less than 2^29, the numbers that the word has room for.
#[derive(Debug)]
pub struct Bounded<const MOST: u32 = 64> {
    word: AtomicU32,
    queue: Mcs<SpinThenPark>,
}

impl<const MOST: u32> Bounded<MOST> {
    const IS_IN_RANGE: () = assert!(MOST < 1 << 29, "the word has no room for such a number");

    /// A lock that is free.
    #[cfg(not(unc_model))]
    pub const fn new() -> Bounded<MOST> {
        let () = Self::IS_IN_RANGE;
        Bounded { word: AtomicU32::new(0), queue: Mcs::new() }
    }

    /// How many threads have overtaken the head of the queue so far; none if no thread waits.
    pub fn overtakers(&self) -> Option<u32> {
        let word = self.word.load(Relaxed);
        (word & HEAD != 0).then_some(word / OVERTAKER)
    }

    /// How many threads wait, as far as can be told without a walk: none, the head, or two and more.
    #[cfg(unc_model)]
    pub fn queued(&self) -> u32 {
        u32::from(self.queue.is_locked()) + u32::from(self.queue.has_waiters())
    }

    /// The word after a thread that is not the head has taken the lock; none if it may not.
    fn taken(word: u32) -> Option<u32> {
        match word {
            _ if word & HELD != 0 => None,
            _ if word & HEAD == 0 => Some(word | HELD),
            _ if word / OVERTAKER < MOST => Some((word | HELD) + OVERTAKER), // I3
            _ => None,
        }
    }

    /// Replaces `word` by `next`, which has HELD.
    #[cfg_attr(unc_model, track_caller)]
    fn take(&self, word: u32, next: u32) -> bool {
        // EDGE bounded (acquire): what the last holder did. I1
        self.word.compare_exchange(word, next, Acquire, Relaxed).is_ok()
    }

    #[cold]
    #[cfg_attr(unc_model, track_caller)]
    fn wait(&self) {
        self.queue.lock();
        self.word.fetch_or(HEAD, Relaxed); // I2
        loop {
            let word = look(|| self.word.load(Relaxed), |word| word & HELD == 0);
            if word & HELD == 0 {
                // The head clears what was its own (I2).
                if self.take(word, HELD) {
                    break;
                }
                continue;
            }
            let asleep = word | ASLEEP;
            if word == asleep || self.word.compare_exchange(word, asleep, Relaxed, Relaxed).is_ok()
            {
                futex_wait(&self.word, asleep, None, Scope::Private); // I4
            }
        }
        // SAFETY: this thread took the queue's lock above (I1 of `mcs` keeps it until here).
        unsafe { self.queue.unlock() };
        // This thread holds the lock, so no other has come between. I2
        if self.queue.is_locked() {
            self.word.fetch_or(HEAD, Relaxed);
        }
    }
}

impl<const MOST: u32> Default for Bounded<MOST> {
    fn default() -> Bounded<MOST> {
        let () = Self::IS_IN_RANGE;
        Bounded { word: AtomicU32::new(0).named("word"), queue: Mcs::default() }
    }
}

// SAFETY: one thread at a time sets HELD (I1), and sees what the last holder did (edge bounded).
unsafe impl<const MOST: u32> RawLock for Bounded<MOST> {
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    fn lock(&self) {
        if !self.take(0, HELD) && !self.try_lock() {
            self.wait();
        }
    }

    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    fn try_lock(&self) -> bool {
        let mut word = self.word.load(Relaxed);
        while let Some(next) = Self::taken(word) {
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
