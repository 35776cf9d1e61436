//! The waiting side of every primitive in this crate: a word whose bit 0 says that a thread may be asleep on it.
//!
//! # Contract
//! [`Flagged::sleep_until_deadline`] waits until a condition returns a value. What the word's upper bits mean, and how
//! a publisher sees the flag, is up to the primitive built on it.
//!
//! # State
//! ```text
//! word:  the primitive's count: a change says that something may have happened | 1 bit ASLEEP: a thread may sleep.
//!        `Publishers::Elsewhere`: between the two | 1 bit ORDERED: a heavy fence has followed the flag
//! mode:  28 bits: the word's number among those with tasks (I4 of `tasks`) | TURN | CLOSED | TIMED | SHARED
//! ```
//!
//! # Edges
//! close: `close` -> a check that finds the mode closed. Everything published before the close.
//! ordered: `order` -> `flag`. The heavy fence of one waiter, for others (I7).
//! flag: `advance` -> `flag`. Everything published before, for primitives whose publishers and waiters change the word
//! only by read-modify-writes and therefore need no fence.
//!
//! # Invariants
//! I1: the flag is set only by a compare-and-swap that keeps the count.
//! I2: the flag is cleared only when the count advances or has just advanced, so that a waiter that saw it set can no
//!     longer sleep on the word; and every clear is followed by a wakeup of all waiters. (After a close the one-word
//!     forms clear it at the same count; there every waiter that leaves because of the close clears it and wakes all
//!     once more.) The wakeup is missing only if a process dies in between: sleeps between processes are bounded, and
//!     a successor that takes over wakes all waiters, flag or not.
//! I3: before it sleeps on a word, a waiter sees the flag set in it, then orders (the heavy fence its publishers
//!     require), then checks its condition. Without the order it sleeps with a time limit.
//! I4: waking one waiter leaves the flag set if a waiter was found asleep, and clears it by I2 otherwise.
//! I5: a waiter that unwinds out of its condition wakes all others: it may have been the one chosen to wake.
//! I6: an unlocked addition that was in flight when the flag was set overwrites the flag. The setter notices after its
//!     heavy fence. Meanwhile another waiter may have gone to sleep under the lost flag: one whose own fence preceded a
//!     clear and that then saw the same flagged word. So a waiter that set the flag and finds it gone wakes all.
//! I7: ORDERED is set only in the very word that held the flag before the heavy fence, and goes with the flag. So a
//!     waiter that finds it needs no fence of its own. A publisher that passed its light fence before that heavy fence
//!     has published what the waiter's check now sees (edge `ordered`); one that passes it later loads this word, and
//!     finds the flag, or a later one, under which no thread sleeps that saw this one.
//!
//! # Evidence
//! tests/model.rs, tests/model_event_counts.rs: every primitive. Mutants: tests/mutants/sleepers.toml.

use crate::deadline::{Deadline, TimedOut};
use crate::spin::{AdaptiveSpin, SleepBackoff};
#[cfg(feature = "async")]
use crate::tasks::{Key, List, lock};
use crate::width::Width;
use std::time::Duration;
#[cfg(feature = "async")]
use uncontended_atomic::MutexGuard;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use uncontended_atomic::{AtomicU32, Named, Scope, Wait, futex_wait, futex_wake};
use uncontended_fence::{Refused, bare};

pub(crate) const SHARED: u32 = 1;
const TIMED: u32 = 2;
const CLOSED: u32 = 4;
/// The next wakeup for one of several is for a task first.
#[cfg(feature = "async")]
const TURN: u32 = 8;
#[cfg(all(feature = "async", not(unc_model)))]
const ID: u32 = 16;
#[cfg(all(feature = "async", not(unc_model)))]
pub(crate) const MOST_IDS: usize = (u32::MAX / ID) as usize;

/// The longest sleep in memory that several processes share; after it the sleeper checks again by itself.
///
/// A process can die between clearing the flag and waking the waiters that slept under it. After that no other process
/// knows of these waiters.
pub const LONGEST_SHARED_SLEEP: Duration = Duration::from_millis(100);

/// The word, its mode, and how long its waiters spin.
#[repr(C)]
pub(crate) struct Flagged<W: Width> {
    pub(crate) word: W::Atomic,
    mode: AtomicU32,
    pub(crate) spin: AdaptiveSpin,
    #[cfg(all(unc_model, feature = "async"))]
    tasks: uncontended_atomic::Mutex<List>,
}

impl<W: Width> std::fmt::Debug for Flagged<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Flagged")
            .field("word", &W::load(&self.word, Relaxed))
            .finish_non_exhaustive()
    }
}

/// How publishers see the flag, and therefore what a waiter does before it may sleep (I3).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Publishers {
    /// They store elsewhere, pass a light fence, then load the flag. The first waiter runs a heavy fence (I7).
    Elsewhere,
    /// One publisher adds to the word without LOCK. The waiter runs a heavy fence and repairs a flag that an addition
    /// overwrote (I6).
    Unlocked,
    /// They change the word by atomic read-modify-writes only. The waiter needs no fence.
    Locked,
}

impl<W: Width> Flagged<W> {
    #[cfg(not(unc_model))]
    pub(crate) const fn zeroed(word: W::Atomic) -> Flagged<W> {
        Flagged { word, mode: AtomicU32::new(0), spin: AdaptiveSpin::new() }
    }

    pub(crate) fn new(scope: Scope) -> Flagged<W> {
        let mode = if scope == Scope::Shared { SHARED } else { 0 };
        Flagged {
            word: W::atomic(W::ZERO),
            mode: AtomicU32::new(mode).named("mode"),
            spin: AdaptiveSpin::new(),
            #[cfg(all(unc_model, feature = "async"))]
            tasks: uncontended_atomic::Mutex::new(List::new()),
        }
    }

    pub(crate) fn scope(&self) -> Scope {
        if self.mode.load(Relaxed) & SHARED == 0 { Scope::Private } else { Scope::Shared }
    }

    pub(crate) fn is_flagged(&self) -> bool {
        W::load(&self.word, Relaxed).is_flagged()
    }

    /// Registers this process, so that heavy fences in `scope` reach its light ones; if that fails, all waiters use
    /// bounded sleeps.
    pub(crate) fn attach(&self) -> Result<(), Refused> {
        if self.scope() == Scope::Private {
            return Ok(());
        }
        let registered = bare::register(Scope::Shared);
        if registered.is_err() {
            self.mode.fetch_or(TIMED, Relaxed);
        }
        // SeqCst: orders the store of the mode (and the registration) before every later load of the flag. A waiter's
        // heavy fence orders its flag before its load of the mode. So either the waiter sees our mode, or we see its
        // flag.
        uncontended_atomic::fence(SeqCst);
        registered
    }

    /// Ends the events. The caller then wakes all sleepers.
    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn close(&self) {
        // EDGE close (release): all events so far.
        self.mode.fetch_or(CLOSED, Release);
    }

    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn is_closed(&self) -> bool {
        // EDGE close (acquire): a thread that finds it closed sees the last event as well.
        self.mode.load(Acquire) & CLOSED != 0
    }

    /// Waits until `ready` returns a value. If the deadline has passed, `ready` is called once.
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
            let flagged = self.flag(&mut repair).map(|word| self.order(publishers, word));
            let is_ordered = flagged.is_some_and(|(_, is_ordered)| is_ordered);
            repair.check(publishers, is_ordered);
            // Also after a failed exchange: the word changed, so a publisher may have woken the waiters.
            if let Some(value) = ready() {
                return Ok(value);
            }
            let Some((word, _)) = flagged else { continue };
            // I3: flag, order, check; now the kernel compares the word and queues this thread in one step.
            let until = if is_ordered { self.longest(deadline) } else { backoff.next(deadline) };
            let end = self.block(word.low(), until, is_ordered);
            if let Some(value) = ready() {
                return Ok(value);
            }
            if end == Wait::TimedOut && until == deadline {
                // Under the checker no time passes.
                debug_assert!(cfg!(unc_model) || deadline.has_passed(), "V8 of `event_count`");
                break;
            }
        }
        Err(TimedOut)
    }

    /// The word with the flag set; `None` if it changed in between.
    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn flag(&self, repair: &mut FlagRepair<'_, W>) -> Option<W> {
        // EDGE flag (acquire): where no fence follows, orders the check after everything published before a clear.
        // EDGE ordered (acquire): and after the fence of the waiter that set ORDERED.
        let found = W::load(&self.word, Acquire);
        if found.is_flagged() {
            return Some(found);
        }
        // EDGE flag (acquire): likewise.
        W::compare_exchange(&self.word, found, found.flagged(), Acquire, Relaxed).ok()?;
        debug_assert!(found.flagged().is_flagged() && found.flagged().unflagged() == found, "I1");
        repair.set = Some(found.flagged());
        Some(found.flagged())
    }

    /// Orders the flag in `word` before the coming check, in the view of every publisher. False: some publisher may see
    /// it otherwise. Returns the word to sleep under as well.
    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn order(&self, publishers: Publishers, word: W) -> (W, bool) {
        let is_elsewhere = publishers == Publishers::Elsewhere;
        if publishers == Publishers::Locked {
            return (word, true);
        }
        if is_elsewhere && word.is_ordered() {
            return (word, self.mode.load(Relaxed) & TIMED == 0);
        }
        let is_ordered = bare::heavy(self.scope()).is_ok() && self.mode.load(Relaxed) & TIMED == 0;
        if !(is_elsewhere && is_ordered) {
            return (word, is_ordered);
        }
        // EDGE ordered (release): the fence. If the word has changed, the kernel refuses the sleep under it.
        let set = W::compare_exchange(&self.word, word, word.ordered(), Release, Relaxed);
        (if set.is_ok() { word.ordered() } else { word }, true)
    }

    /// When a sleep ends at the latest (I2). Under the checker no process dies.
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
            // Under the checker a bounded sleep is a poll: sleeps that may end at any time multiply the executions.
            uncontended_atomic::spin_loop();
            return Wait::Woken;
        }
        debug_assert_eq!(word & 1, 1, "I3: under the flag alone");
        futex_wait(&self.word, word, until.limit_ns(), self.scope())
    }

    /// Replaces a flagged word by `next` of it (I2). False: the flag is not set, and the thread that cleared it wakes
    /// the waiters.
    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn advance(&self, next: impl Fn(W) -> W) -> bool {
        let mut found = W::load(&self.word, Relaxed);
        while found.is_flagged() {
            debug_assert!(next(found) != found, "I2: a waiter that saw it cannot sleep on it");
            // EDGE flag (release): everything published so far.
            match W::compare_exchange(&self.word, found, next(found), Release, Relaxed) {
                Ok(_) => return true,
                Err(now) => found = now,
            }
        }
        false
    }

    /// Wakes `count` waiters: threads in the kernel's order (`futex_wake`), tasks in the order in which they came.
    /// Returns how many were woken.
    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn wake_waiters(&self, count: u32) -> usize {
        let threads = |count| futex_wake(&self.word, count, self.scope());
        #[cfg(feature = "async")]
        return crate::tasks::wake(self, count, threads);
        #[cfg(not(feature = "async"))]
        threads(count)
    }
}

#[cfg(feature = "async")]
impl<W: Width> Flagged<W> {
    fn address(&self) -> usize {
        (&raw const self.word).addr()
    }

    /// The list of this word's tasks, locked, and the word's key there; `None` if no task has waited here.
    #[cfg(not(unc_model))]
    #[inline]
    pub(crate) fn tasks(&self) -> (MutexGuard<'_, List>, Option<Key>) {
        let address = Key::Address(self.address());
        if self.scope() == Scope::Shared {
            return (lock(address.list()), Some(address));
        }
        // Relaxed, both: the lock orders what it guards, and the number is looked at again under it (I4 of `tasks`).
        let list = lock(self.key().unwrap_or(address).list());
        (list, self.key())
    }

    #[cfg(not(unc_model))]
    fn key(&self) -> Option<Key> {
        let id = self.mode.load(Relaxed) / ID;
        (id != 0).then_some(Key::Id(id))
    }

    /// The same for a task that will be listed.
    #[cfg(not(unc_model))]
    pub(crate) fn tasks_for_one_more(&self) -> (MutexGuard<'_, List>, Key) {
        let (mut list, key) = self.tasks();
        let key = key.unwrap_or_else(|| {
            let id = Key::first(&mut list, self.address());
            self.mode.fetch_or(id * ID, Relaxed);
            Key::Id(id)
        });
        (list, key)
    }

    #[cfg(unc_model)]
    #[track_caller]
    pub(crate) fn tasks(&self) -> (MutexGuard<'_, List>, Option<Key>) {
        (lock(&self.tasks), Some(Key::Address(self.address())))
    }

    #[cfg(unc_model)]
    #[track_caller]
    pub(crate) fn tasks_for_one_more(&self) -> (MutexGuard<'_, List>, Key) {
        (lock(&self.tasks), Key::Address(self.address()))
    }

    /// Whether the next wakeup for one of several is for a task first. Between processes it never is: tasks look by
    /// themselves there.
    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn is_tasks_turn(&self) -> bool {
        self.mode.load(Relaxed) & (TURN | SHARED) == TURN
    }

    /// Lets threads and tasks take turns.
    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn take_turns(&self) {
        self.mode.fetch_xor(TURN, Relaxed);
    }

    /// Like `order`, but false between processes: a publisher in another process cannot wake this one's tasks.
    pub(crate) fn order_for_task(&self, publishers: Publishers, word: W) -> bool {
        self.order(publishers, word).1 && self.scope() == Scope::Private
    }
}

/// A future that was leaked stays registered until its word is gone.
#[cfg(all(feature = "async", not(unc_model)))]
impl<W: Width> Drop for Flagged<W> {
    fn drop(&mut self) {
        match self.scope() {
            Scope::Shared => Key::Address(self.address()).forget(),
            Scope::Private => self.key().into_iter().for_each(Key::forget),
        }
    }
}

/// A flag that this waiter set and that an addition may have overwritten (I6).
pub(crate) struct FlagRepair<'f, W: Width> {
    flagged: &'f Flagged<W>,
    set: Option<W>,
}

impl<'f, W: Width> FlagRepair<'f, W> {
    pub(crate) fn new(flagged: &'f Flagged<W>) -> FlagRepair<'f, W> {
        FlagRepair { flagged, set: None }
    }

    /// If the flag is gone, wakes the waiters that may sleep under it. A flag seen after the order cannot be lost
    /// unnoticed.
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
    /// A waiter that leaves without an order cannot know, so it wakes all.
    fn drop(&mut self) {
        if self.set.is_some() {
            self.flagged.wake_waiters(u32::MAX);
        }
    }
}

/// Wakes all waiters when a condition panics (I5). The flag stays: waiters that saw it and are about to sleep rely on
/// it (I2).
struct WakeOthers<'f, W: Width>(&'f Flagged<W>);

impl<W: Width> Drop for WakeOthers<'_, W> {
    fn drop(&mut self) {
        self.0.wake_waiters(u32::MAX);
    }
}

#[cfg(all(test, not(unc_model)))]
mod tests {
    use super::*;
    use crate::width::Sealed as _;
    use std::sync::Arc;

    #[test]
    fn a_word_whose_barrier_may_be_refused_is_never_ordered_by_it() {
        let flagged = Flagged::<u32>::new(Scope::Shared);
        let is_ordered = |publishers| flagged.order(publishers, 1).1;
        assert!(is_ordered(Publishers::Locked));
        flagged.mode.fetch_or(TIMED, Relaxed);
        assert!(!is_ordered(Publishers::Elsewhere) && !is_ordered(Publishers::Unlocked));
        assert!(!flagged.order(Publishers::Elsewhere, 1_u32.ordered()).1, "nor by that of another");
        assert!(is_ordered(Publishers::Locked), "which needs no barrier");
    }

    /// The last sentence of I6.
    #[test]
    fn a_waiter_that_leaves_with_a_flag_that_may_be_lost_wakes_the_others() {
        let flagged = Arc::new(Flagged::<u32>::new(Scope::Private));
        let low = flagged.flag(&mut FlagRepair::new(&flagged)).expect("no other thread").low();
        let until = Deadline::after(Duration::from_secs(60));
        let sleeper = std::thread::spawn({
            let flagged = Arc::clone(&flagged);
            move || futex_wait(&flagged.word, low, until.limit_ns(), Scope::Private)
        });
        while !sleeper.is_finished() {
            let mut leaving = FlagRepair::new(&flagged);
            leaving.set = Some(flagged.word.load(Relaxed));
            drop(leaving);
            std::thread::yield_now();
        }
        assert_eq!(sleeper.join().unwrap(), Wait::Woken);
    }
}
