//! A word that says in bit 0 that somebody may sleep on it: the waiting side of everything here.
//!
//! # Contract
//! [`Flagged::sleep_until_deadline`] waits until a look finds what it wants. What stands in the word's upper bits, and
//! how a publisher finds the flag, is the business of who uses it.
//!
//! # State
//! ```text
//! word:  a count of the user's, which says that something may have happened | 1 bit ASLEEP: somebody may sleep
//! mode:  CLOSED | TIMED | SHARED
//! ```
//!
//! # Edges
//! close: `close` -> a look that finds the mode closed. What was published before.
//! flag: `advance` -> `flag`. What was published before, where publishers and waiters change the word by
//! read-modify-writes alone and therefore need no fence.
//!
//! # Invariants
//! I1: the flag is set only by a compare-and-swap that keeps the count.
//! I2: the flag is cleared only when the count advances or just has, so that a waiter that saw it set can't sleep on
//!     the word any more; and every clear is followed by a wake-up of all. (After a close the one-word forms clear it
//!     at the same count; there whoever leaves because of the close clears it, and wakes all, once more.) Only a
//!     process that dies in between leaves it at that: sleeps between processes end by themselves, and who takes over
//!     wakes all, flag or not.
//! I3: a waiter sleeps on a word only after: the flag seen set in it, the user's order (a heavy fence), a look, these
//!     in turn. Without the order it sleeps with a time limit.
//! I4: waking one leaves the flag while it finds somebody asleep, and clears it by I2 otherwise.
//! I5: a waiter that unwinds out of its look wakes all others: it may have been the one that was chosen.
//! I6: an unlocked addition that was under way when the flag was set stores it away. The setter finds that out after
//!     its heavy fence. But another waiter, whose own fence lay before a clear and who saw the same word flagged then,
//!     may have gone to sleep under the flag that was lost: so who set it and finds it gone wakes all.
//!
//! # Evidence
//! tests/model.rs, tests/model_event_counts.rs: every user. Mutants: tests/mutants/sleepers.toml.

use crate::deadline::{Deadline, TimedOut};
use crate::spin::{AdaptiveSpin, SleepBackoff};
use crate::width::Width;
use std::time::Duration;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use uncontended_atomic::{AtomicU32, Scope, Wait, futex_wait, futex_wake};
use uncontended_fence::{Refused, bare};

pub(crate) const SHARED: u32 = 1;
const TIMED: u32 = 2;
const CLOSED: u32 = 4;

/// How long a sleep in memory that several processes share lasts at most, before the sleeper looks again by itself.
///
/// A process can die between clearing the flag and waking who slept under it; then nobody else knows that somebody
/// sleeps.
pub const LONGEST_SHARED_SLEEP: Duration = Duration::from_millis(100);

/// The word, and what is known about its users.
#[repr(C)]
pub(crate) struct Flagged<W: Width> {
    pub(crate) word: W::Atomic,
    mode: AtomicU32,
    spin: AdaptiveSpin,
}

impl<W: Width> std::fmt::Debug for Flagged<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Flagged")
            .field("word", &W::load(&self.word, Relaxed))
            .finish_non_exhaustive()
    }
}

/// How publishers come to find the flag, and so what a waiter has to do before it may sleep (I3).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Publishers {
    /// They store elsewhere, pass a light fence, look at the flag: a heavy fence.
    Elsewhere,
    /// One adds to the word without LOCK: a heavy fence, and to make good a flag that it stored away (I6).
    Unlocked,
    /// They change the word by atomic read-modify-writes alone: nothing.
    Locked,
}

impl<W: Width> Flagged<W> {
    #[cfg(not(unc_model))]
    pub(crate) const fn zeroed(word: W::Atomic) -> Flagged<W> {
        Flagged { word, mode: AtomicU32::new(0), spin: AdaptiveSpin::new() }
    }

    pub(crate) fn new(scope: Scope) -> Flagged<W> {
        let mode = if scope == Scope::Shared { SHARED } else { 0 };
        Flagged { word: W::atomic(W::ZERO), mode: AtomicU32::new(mode), spin: AdaptiveSpin::new() }
    }

    pub(crate) fn scope(&self) -> Scope {
        if self.mode.load(Relaxed) & SHARED == 0 { Scope::Private } else { Scope::Shared }
    }

    pub(crate) fn is_flagged(&self) -> bool {
        W::load(&self.word, Relaxed).is_flagged()
    }

    /// Makes this process's light fences ones that heavy fences in `scope` reach, or all waiters careful.
    pub(crate) fn attach(&self) -> Result<(), Refused> {
        if self.scope() == Scope::Private {
            return Ok(());
        }
        let registered = bare::register(Scope::Shared);
        if registered.is_err() {
            self.mode.fetch_or(TIMED, Relaxed);
        }
        // SeqCst: keeps the mode (and the registration) written above before every look for a flag to come; a waiter's
        // heavy fence keeps its flag before its look at the mode. So either it knows of us, or we see its flag.
        uncontended_atomic::fence(SeqCst);
        registered
    }

    /// No more events come. The caller then wakes all who sleep.
    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn close(&self) {
        // EDGE close (release): all events so far.
        self.mode.fetch_or(CLOSED, Release);
    }

    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn is_closed(&self) -> bool {
        // EDGE close (acquire): whoever finds it closed finds the last event as well.
        self.mode.load(Acquire) & CLOSED != 0
    }

    /// Waits until `ready` gives a value. A deadline in the past means one look.
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn sleep_until_deadline<R>(
        &self,
        mut ready: impl FnMut() -> Option<R>,
        deadline: Deadline,
        publishers: Publishers,
    ) -> Result<R, TimedOut> {
        let on_unwind = WakeOthers(self);
        let result = match ready() {
            Some(value) => Ok(value),
            None => self.spin.spin_then_sleep(&mut ready, deadline, |ready| {
                self.sleep(ready, deadline, publishers)
            }),
        };
        std::mem::forget(on_unwind);
        result
    }

    #[cold]
    #[cfg_attr(unc_model, track_caller)]
    fn sleep<R>(
        &self,
        ready: &mut impl FnMut() -> Option<R>,
        deadline: Deadline,
        publishers: Publishers,
    ) -> Result<R, TimedOut> {
        let (mut backoff, mut repair) = (SleepBackoff::default(), FlagRepair::new(self));
        while !deadline.has_passed() {
            let flagged = self.flag(&mut repair);
            let is_ordered = flagged.is_some() && self.order(publishers);
            repair.check(publishers, is_ordered);
            // Also where the word changed under our hands: somebody woke meanwhile.
            if let Some(value) = ready() {
                return Ok(value);
            }
            let Some(word) = flagged else { continue };
            // I3: the flag, the order, the look; now the kernel compares and queues in one step.
            let until = if is_ordered { self.longest(deadline) } else { backoff.next(deadline) };
            let end = self.block(word, until, is_ordered);
            if let Some(value) = ready() {
                return Ok(value);
            }
            if end == Wait::TimedOut && until == deadline {
                break;
            }
        }
        Err(TimedOut)
    }

    /// The low half of the word with the flag set; `None` if it changed under our hands.
    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn flag(&self, repair: &mut FlagRepair<'_, W>) -> Option<u32> {
        // EDGE flag (acquire): where no fence follows, this puts the look after all that was published before a clear.
        let found = W::load(&self.word, Acquire);
        if found.is_flagged() {
            return Some(found.low());
        }
        // EDGE flag (acquire): likewise.
        W::compare_exchange(&self.word, found, found.flagged(), Acquire, Relaxed).ok()?;
        repair.set = Some(found.flagged());
        Some(found.flagged().low())
    }

    /// Puts the look to come after the flag in the eyes of every publisher. False: some may see it otherwise.
    #[cfg_attr(unc_model, track_caller)]
    fn order(&self, publishers: Publishers) -> bool {
        if publishers == Publishers::Locked {
            return true;
        }
        bare::heavy(self.scope()).is_ok() && self.mode.load(Relaxed) & TIMED == 0
    }

    /// Until when to sleep at most (I2). To the checker no process dies.
    fn longest(&self, deadline: Deadline) -> Deadline {
        match self.scope() {
            Scope::Shared if !cfg!(unc_model) => {
                Deadline::after(LONGEST_SHARED_SLEEP).min(deadline)
            }
            _ => deadline,
        }
    }

    #[cfg_attr(unc_model, track_caller)]
    fn block(&self, word: u32, until: Deadline, is_ordered: bool) -> Wait {
        if cfg!(unc_model) && !is_ordered {
            // To the checker a bounded sleep is a poll: sleeps that may end at any time are more executions than can
            // be.
            uncontended_atomic::spin_loop();
            return Wait::Woken;
        }
        debug_assert_eq!(word & 1, 1, "I3: under the flag alone");
        futex_wait(&self.word, word, until.limit_ns(), self.scope())
    }

    /// Turns the flagged word into what `next` makes of it (I2). False: there is no flag; whoever took it away wakes.
    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn advance(&self, next: impl Fn(W) -> W) -> bool {
        let mut found = W::load(&self.word, Relaxed);
        while found.is_flagged() {
            debug_assert!(next(found) != found, "I2: who saw it can sleep on it no more");
            // EDGE flag (release): what was published.
            match W::compare_exchange(&self.word, found, next(found), Release, Relaxed) {
                Ok(_) => return true,
                Err(now) => found = now,
            }
        }
        false
    }

    /// Wakes the `count` who have slept longest, threads before tasks, and returns how many there were.
    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn wake_waiters(&self, count: u32) -> usize {
        let threads = futex_wake(&self.word, count, self.scope());
        #[cfg(feature = "async")]
        {
            let left = if count == u32::MAX { usize::MAX } else { count as usize - threads };
            threads + crate::tasks::wake(self.address(), left)
        }
        #[cfg(not(feature = "async"))]
        threads
    }
}

#[cfg(feature = "async")]
impl<W: Width> Flagged<W> {
    /// What tells this word from others.
    pub(crate) fn address(&self) -> usize {
        (&raw const self.word).addr()
    }

    /// As [`Flagged::order`]; and publishers of other processes don't know this one's tasks.
    pub(crate) fn order_for_task(&self, publishers: Publishers) -> bool {
        self.order(publishers) && self.scope() == Scope::Private
    }
}

/// Nobody waits here any more; futures that were leaked must not be woken in the place of others at this address later.
#[cfg(feature = "async")]
impl<W: Width> Drop for Flagged<W> {
    fn drop(&mut self) {
        crate::tasks::forget(self.address());
    }
}

/// A flag that this waiter has set and that a publisher may have stored away unseen (I6).
pub(crate) struct FlagRepair<'f, W: Width> {
    flagged: &'f Flagged<W>,
    set: Option<W>,
}

impl<'f, W: Width> FlagRepair<'f, W> {
    pub(crate) fn new(flagged: &'f Flagged<W>) -> FlagRepair<'f, W> {
        FlagRepair { flagged, set: None }
    }

    /// Wakes who may have fallen asleep under the flag, if it is gone; once an order found it there it can't go unseen.
    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn check(&mut self, publishers: Publishers, is_ordered: bool) {
        if publishers != Publishers::Unlocked {
            self.set = None;
        }
        let Some(set) = self.set else { return };
        let is_gone = W::load(&self.flagged.word, Relaxed) != set;
        if is_gone {
            self.flagged.wake_waiters(u32::MAX);
        }
        if is_gone || is_ordered {
            self.set = None;
        }
    }
}

impl<W: Width> Drop for FlagRepair<'_, W> {
    /// A waiter that leaves without an order can't know.
    fn drop(&mut self) {
        if self.set.is_some() {
            self.flagged.wake_waiters(u32::MAX);
        }
    }
}

/// Wakes everybody when a look panics (I5). The flag stays: who has seen it and is about to sleep relies on it (I2).
struct WakeOthers<'f, W: Width>(&'f Flagged<W>);

impl<W: Width> Drop for WakeOthers<'_, W> {
    fn drop(&mut self) {
        self.0.wake_waiters(u32::MAX);
    }
}
