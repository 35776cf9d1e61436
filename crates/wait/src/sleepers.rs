//! Threads that sleep until a condition holds, and pay for those who make it hold.
//!
//! # Contract
//! A *publisher* makes a condition hold by a release store of its own, wherever that is, then calls [`Sleepers::wake`].
//! A *waiter* gives a closure that looks (with acquire loads) whether the condition holds. No wake-up is lost: a waiter
//! whose condition was made to hold before a `wake` returns. Any number of either, conditions of any kind.
//!
//! While nobody sleeps, `wake` is a load and a branch; there is no atomic read-modify-write and no fence in it. The
//! waiter pays: before it sleeps, it runs a heavy fence (a membarrier), in whose eyes every publisher is either before
//! its store or past its load. Where barriers are refused, waiters sleep for bounded times instead (`patience`), so
//! that a wake-up missed is a delay of at most 16 ms, never a hang.
//!
//! # State
//! A [`Flagged`] word whose count says how often sleepers were woken. It wraps after 2^31 wake-ups; a waiter that is
//! preempted between setting the flag and sleeping for exactly that many can miss them all.
//!
//! # Edges
//! None by release and acquire; one of fences, [`bare::light`] in `wake` against `bare::heavy` in `sleep_until`:
//! - The light fence first: what the publisher stored before it is seen by the look after the heavy fence (I3).
//! - The heavy fence first: the flag set before it is seen by the publisher's load after the light one, unless it was
//!   cleared since; then the word has changed (I6), and the kernel does not let the waiter sleep on it.
//!
//! What the publisher wrote is carried by its own release store to the acquire load of the look.
//!
//! # Invariants
//! I1 to I5: those of [`Flagged`].
//! I6: every clear, and every `wake_one`, advances the count: the word never holds the same flagged value again.
//!
//! # Evidence
//! tests/model.rs: explored under C11 and TSO; tests/sleepers.rs.
//! # Sources
//! Seastar issue 856 (a barrier prepaid by who sleeps); Concurrency Kit's `ck_ec`; futex(2), membarrier(2).

use crate::deadline::{Deadline, TimedOut};
use crate::flagged::{Flagged, Publishers};
use std::fmt;
use uncontended_atomic::Ordering::Relaxed;
use uncontended_atomic::Scope;
use uncontended_fence::{Refused, bare};

/// Carried out of the flag into the count.
const CLEAR_AND_COUNT: u32 = 1;
const COUNT: u32 = 2;
const _: () = assert!(1 + CLEAR_AND_COUNT == COUNT, "I6");

/// Threads that sleep until a condition holds.
///
/// ```
/// use uncontended_wait::Sleepers;
/// use std::sync::atomic::{AtomicU64, Ordering::{Acquire, Release}};
/// let (sleepers, cursor) = (Sleepers::new(), AtomicU64::new(0));
/// std::thread::scope(|threads| {
///     let reader = threads.spawn(|| {
///         sleepers.sleep_until(|| Some(cursor.load(Acquire)).filter(|&cursor| cursor > 0))
///     });
///     cursor.store(3, Release);
///     sleepers.wake();
///     assert_eq!(reader.join().unwrap(), 3);
/// });
/// ```
#[repr(transparent)]
pub struct Sleepers(Flagged<u32>);

#[cfg(not(unc_model))]
const _: () = assert!(size_of::<Sleepers>() == 12 && align_of::<Sleepers>() == 4);

impl Sleepers {
    /// For threads of one process. Zeroed memory is the same.
    #[cfg(not(unc_model))]
    pub const fn new() -> Sleepers {
        Sleepers(Flagged::zeroed(uncontended_atomic::AtomicU32::new(0)))
    }

    /// For threads of one process.
    #[cfg(unc_model)]
    pub fn new() -> Sleepers {
        Sleepers(Flagged::new(Scope::Private))
    }

    /// For threads of several processes that map its memory. Each process calls [`attach`](Sleepers::attach) before
    /// anything else, the one that made it too. A sleep lasts at most
    /// [`LONGEST_SHARED_SLEEP`](crate::LONGEST_SHARED_SLEEP) before the sleeper looks again.
    pub fn shared() -> Sleepers {
        Sleepers(Flagged::new(Scope::Shared))
    }

    /// Makes this process's publishers ones that the waiters' heavy fences reach. Where that is refused, every waiter
    /// sleeps for bounded times from now on, in all processes. Within one process it is not needed and does nothing.
    ///
    /// # Errors
    /// Why it was refused; the sleepers can be used all the same.
    pub fn attach(&self) -> Result<(), Refused> {
        self.0.attach()
    }

    /// The threads that may sleep here.
    pub fn scope(&self) -> Scope {
        self.0.scope()
    }

    /// Wakes everybody who sleeps, if anybody does: the condition that the caller's last release store made hold may be
    /// theirs.
    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    pub fn wake(&self) {
        if self.is_flagged_after_publishing() {
            self.wake_all();
        }
    }

    /// Wakes everybody who sleeps, whether or not anybody is known to: in the place of a process that died, perhaps
    /// between saying that nobody sleeps any more and waking who did.
    #[cold]
    pub fn wake_after_a_death(&self) {
        self.0.advance(|word| word.wrapping_add(CLEAR_AND_COUNT));
        self.0.wake_waiters(u32::MAX);
    }

    /// Wakes one of those who sleep, the one who has slept longest: for conditions that any of them can make use of,
    /// and that no two can. A waiter that is looking just now may be faster.
    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    pub fn wake_one(&self) {
        self.wake_for(1);
    }

    /// The same for `count` such conditions at once: wakes so many, or all if there are no more.
    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    pub fn wake_for(&self, count: usize) {
        if self.is_flagged_after_publishing() {
            self.wake_oldest(u32::try_from(count).unwrap_or(u32::MAX));
        }
    }

    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn is_flagged_after_publishing(&self) -> bool {
        bare::light();
        self.has_waiters()
    }

    /// Whether somebody may be asleep.
    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    pub fn has_waiters(&self) -> bool {
        self.0.is_flagged()
    }

    /// How often somebody was woken, modulo 2^31.
    pub fn wakes(&self) -> u32 {
        self.0.word.load(Relaxed) / COUNT
    }

    /// Waits until `ready` gives a value, and returns it. It is called at least once and more often than somebody
    /// wakes, must not wait by itself, and must not give up after losing a race: it says "nothing there" only if
    /// nothing is.
    #[cfg_attr(unc_model, track_caller)]
    pub fn sleep_until<R>(&self, mut ready: impl FnMut() -> Option<R>) -> R {
        loop {
            if let Ok(value) = self.sleep_until_deadline(&mut ready, Deadline::NEVER) {
                return value;
            }
        }
    }

    /// The same, but not longer than to `deadline`, never a moment less; if that has passed, `ready` is asked once.
    ///
    /// # Errors
    /// The deadline has passed, and `ready` had still nothing to give.
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    pub fn sleep_until_deadline<R>(
        &self,
        ready: impl FnMut() -> Option<R>,
        deadline: Deadline,
    ) -> Result<R, TimedOut> {
        self.0.sleep_until_deadline(ready, deadline, Publishers::Elsewhere)
    }

    /// A future that is ready once `ready` gives a value: for async tasks, whose deadlines are their executor's
    /// business. It may be dropped at any time.
    #[cfg(feature = "async")]
    pub fn until<R>(&self, ready: impl FnMut() -> Option<R>) -> impl Future<Output = R> {
        crate::tasks::until(&self.0, Publishers::Elsewhere, ready)
    }

    /// What an event count on top keeps in the same word.
    pub(crate) fn flagged(&self) -> &Flagged<u32> {
        &self.0
    }

    /// Clears the flag, then wakes all who slept under it (I2, I6).
    #[cold]
    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn wake_all(&self) {
        if self.0.advance(|word| word.wrapping_add(CLEAR_AND_COUNT)) {
            self.0.wake_waiters(u32::MAX);
        }
    }

    /// Advances the count, then wakes so many; if fewer slept there, clears the flag as `wake_all` does (I4, I6).
    #[cold]
    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn wake_oldest(&self, count: u32) {
        if self.0.advance(|word| word.wrapping_add(COUNT))
            && self.0.wake_waiters(count) < count as usize
        {
            self.wake_all();
        }
    }
}

impl Default for Sleepers {
    fn default() -> Sleepers {
        Sleepers::new()
    }
}

impl fmt::Debug for Sleepers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleepers")
            .field("wakes", &self.wakes())
            .field("has_waiters", &self.has_waiters())
            .field("scope", &self.scope())
            .finish()
    }
}

#[cfg(all(test, not(unc_model)))]
mod tests {
    use super::*;
    use uncontended_atomic::AtomicBool;

    /// Clears the flag of who sleeps, and dies before the wake-up.
    fn die_between(sleepers: &Sleepers, is_over: &AtomicBool) {
        while !sleepers.has_waiters() {
            std::thread::yield_now();
        }
        is_over.store(true, Relaxed);
        assert!(sleepers.0.advance(|word| word.wrapping_add(CLEAR_AND_COUNT)));
    }

    #[test]
    fn who_slept_under_a_flag_that_a_dead_process_cleared_comes_back() {
        let (sleepers, is_over) = (Sleepers::shared(), AtomicBool::new(false));
        let _ = sleepers.attach();
        std::thread::scope(|threads| {
            threads.spawn(|| sleepers.sleep_until(|| is_over.load(Relaxed).then_some(())));
            die_between(&sleepers, &is_over);
        });
        // Within one process nobody dies alone, and sleeps have no limit: here a successor's wake-up is all there is.
        let (sleepers, is_over) = (Sleepers::new(), AtomicBool::new(false));
        std::thread::scope(|threads| {
            let sleeper =
                threads.spawn(|| sleepers.sleep_until(|| is_over.load(Relaxed).then_some(())));
            die_between(&sleepers, &is_over);
            while !sleeper.is_finished() {
                sleepers.wake_after_a_death();
                std::thread::yield_now();
            }
        });
        assert!(!sleepers.has_waiters());
    }
}
