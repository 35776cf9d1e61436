//! Threads that sleep until a condition holds, and pay for the barrier so that publishers do not.
//!
//! # Contract
//! A *publisher* makes a condition hold by a release store of its own, anywhere, then calls [`Sleepers::wake`]. A
//! *waiter* passes a closure that checks the condition with acquire loads. No wakeup is lost: if a condition holds
//! before a `wake`, its waiter returns. There may be any number of publishers, waiters and conditions. What a closure
//! may return is in `ready`.
//!
//! While no thread sleeps, `wake` is a load and a branch, without an atomic read-modify-write or a fence. The waiter
//! pays: before it sleeps it runs a heavy fence (a membarrier), which finds every publisher either before its store or
//! past its load. Waiters that find another one asleep rely on its fence. Where barriers are refused, waiters sleep for
//! bounded times instead (`spin`), so a missed wakeup is a delay of at most 16 ms, never a hang.
//!
//! # State
//! A [`Flagged`] word whose count is the number of wakeups. It wraps after 2^30 of them; a waiter that is preempted
//! between setting the flag and sleeping for exactly that many can miss them all.
//!
//! # Edges
//! No release/acquire edges; one pair of fences, [`bare::light`] in `wake` and `bare::heavy` in `sleep_until`:
//! - If the light fence comes first, the check after the heavy fence sees what the publisher stored before it (I3).
//! - If the heavy fence comes first, the publisher's load after the light one sees the flag that was set before it,
//!   unless it was cleared since; then the word has changed (I6), and the kernel refuses the sleep.
//!
//! The publisher's own release store, paired with the acquire load of the check, carries what the publisher wrote.
//!
//! # Invariants
//! I1 to I5, and I7: those of [`Flagged`].
//! I6: every clear, and every `wake_one`, advances the count: the word never holds the same flagged value again.
//!
//! # Evidence
//! tests/model.rs: explored under C11 and TSO; tests/sleepers.rs.
//! # Sources
//! Seastar issue 856 (the sleeper pays for the barrier in advance); Concurrency Kit's `ck_ec`; futex(2), membarrier(2).

use crate::deadline::{Deadline, TimedOut};
use crate::flagged::{Flagged, Publishers};
use crate::ready::Ready;
use std::fmt;
use uncontended_atomic::Ordering::Relaxed;
use uncontended_atomic::Scope;
use uncontended_fence::{Refused, bare};

/// The flag, and whether it is ordered.
const FLAGS: u32 = 3;
const COUNT: u32 = 4;

/// Clears the flags and advances the count.
fn cleared(word: u32) -> u32 {
    (word | FLAGS).wrapping_add(1)
}

/// Threads that sleep until a condition holds: any condition, of any atomics.
///
/// # Contract
/// - A publisher makes a condition hold by a [`Release`] store, then calls [`wake`](Sleepers::wake), in this order.
///   While no thread sleeps, `wake` is a load and a branch.
/// - A waiter passes a closure that checks the condition by [`Acquire`] loads. It returns `bool`, and `true` ends the
///   wait; or an `Option`, and `Some` ends the wait, which returns what is in it ([`Ready`]). So `Some(false)` ends a
///   wait, and `false` does not.
/// - The waiting thread calls the closure at least once, and more often than it is woken. It must not block. It
///   answers `false` or `None` only if there really is nothing; after a lost race, it looks again.
/// - If a condition holds before a `wake`, its waiters return: no wakeup is lost. There may be any number of
///   conditions, publishers and waiters.
///
/// [`Release`]: std::sync::atomic::Ordering::Release
/// [`Acquire`]: std::sync::atomic::Ordering::Acquire
///
/// # Example
/// ```
/// use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::{Acquire, Release}};
/// use uncontended_wait::Sleepers;
///
/// let sleepers = Sleepers::new();
/// let (is_open, cursor) = (AtomicBool::new(false), AtomicU64::new(0));
/// std::thread::scope(|threads| {
///     let reader = threads.spawn(|| {
///         sleepers.sleep_until(|| is_open.load(Acquire));
///         sleepers.sleep_until(|| Some(cursor.load(Acquire)).filter(|&cursor| cursor > 0))
///     });
///     is_open.store(true, Release);
///     sleepers.wake();
///     cursor.store(3, Release);
///     sleepers.wake();
///     assert_eq!(reader.join().unwrap(), 3);
/// });
/// ```
#[repr(transparent)]
#[doc(alias("Event", "Condvar"))]
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

    /// For threads of several processes that map its memory. Each process, including the one that created it, first
    /// calls [`attach`](Sleepers::attach). A sleep lasts at most [`LONGEST_SHARED_SLEEP`](crate::LONGEST_SHARED_SLEEP);
    /// then the sleeper checks again.
    pub fn shared() -> Sleepers {
        Sleepers(Flagged::new(Scope::Shared))
    }

    /// Registers this process, so that waiters' heavy fences reach its publishers. Where that is refused, all waiters
    /// in all processes use bounded sleeps from then on. Within one process it does nothing and is not needed.
    ///
    /// # Errors
    /// Why it was refused. The sleepers work all the same.
    pub fn attach(&self) -> Result<(), Refused> {
        self.0.attach()
    }

    /// Whether the threads are of one process or of several.
    pub fn scope(&self) -> Scope {
        self.0.scope()
    }

    /// Wakes all sleepers, if there are any. Call it after the release store that makes a condition hold.
    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    #[doc(alias("notify", "notify_all", "unpark"))]
    pub fn wake(&self) {
        if self.is_flagged_after_publishing() {
            self.wake_all();
        }
    }

    /// Wakes all sleepers, whether or not the flag is set. Call it in place of a process that died: it may have cleared
    /// the flag and not yet woken anyone.
    #[cold]
    pub fn wake_after_a_death(&self) {
        self.0.advance(cleared);
        self.0.wake_waiters(u32::MAX);
    }

    /// Wakes one waiter. Use it for a condition that any one waiter can consume, but only one. A waiter that is just
    /// checking may consume it first.
    ///
    /// Of the threads, the kernel chooses: first those of the highest real-time priority, and among equal ones (all
    /// that have no such priority are equal) the one that has slept longest. Of the tasks, it is the one that has
    /// waited longest. Where threads and tasks wait, they take turns, so neither starves.
    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    #[doc(alias("notify_one", "notify"))]
    pub fn wake_one(&self) {
        self.wake_for(1);
    }

    /// Like [`wake_one`](Sleepers::wake_one), for `count` such conditions at once: wakes that many waiters, or all if
    /// there are fewer; for none, no waiter.
    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    #[doc(alias = "notify")]
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

    /// Whether a thread may be asleep.
    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    pub fn has_waiters(&self) -> bool {
        self.0.is_flagged()
    }

    /// How often a publisher woke sleepers, modulo 2^30.
    pub fn wakes(&self) -> u32 {
        self.0.word.load(Relaxed) / COUNT
    }

    /// Waits until `ready` returns `true`, or `Some` value, which it then returns. `ready` is called at least once, and
    /// may be called more often than threads are woken. It must not block, and answers `false`
    /// or `None` only if there really is nothing; after a lost race, it looks again. `Some(false)` is a value, and ends
    /// the wait.
    #[cfg_attr(unc_model, track_caller)]
    pub fn sleep_until<R: Ready>(&self, mut ready: impl FnMut() -> R) -> R::Value {
        loop {
            if let Ok(value) = self.sleep_until_deadline(&mut ready, Deadline::NEVER) {
                return value;
            }
        }
    }

    /// Like [`sleep_until`](Sleepers::sleep_until), but ends at `deadline`, never earlier. If the deadline has passed,
    /// `ready` is called once.
    ///
    /// # Errors
    /// The deadline passed and `ready` still returned `false` or `None`.
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    #[doc(alias("listen", "park_timeout", "wait_timeout"))]
    pub fn sleep_until_deadline<R: Ready>(
        &self,
        mut ready: impl FnMut() -> R,
        deadline: Deadline,
    ) -> Result<R::Value, TimedOut> {
        self.0.sleep_until_deadline(|| ready().found(), deadline, Publishers::Elsewhere)
    }

    /// [`sleep_until`](Sleepers::sleep_until) as a future. Deadlines are left to the executor. The future may be
    /// dropped at any time.
    ///
    /// **A future that waits has to be polled when it is woken, or dropped.** One that
    /// [`wake_one`](Sleepers::wake_one) chose, and that lives on without being polled, holds the wakeup back from other
    /// waiters. For one that lives longer than the wait, as a stream does, see [`poll_until`](Sleepers::poll_until).
    #[cfg(feature = "async")]
    #[doc(alias("listen", "notified"))]
    pub fn until<R: Ready>(&self, mut ready: impl FnMut() -> R) -> impl Future<Output = R::Value> {
        crate::tasks::until(&self.0, Publishers::Elsewhere, move || ready().found())
    }

    /// The same for a future or stream of your own: is ready once `ready` returns `true` or `Some` value, or registers
    /// the task for the next wakeup. `ticket` belongs to these sleepers until it is ready or
    /// [given up](Sleepers::give_up).
    ///
    /// The task need not be polled after a wakeup: [`wake_one`](Sleepers::wake_one) wakes tasks with tickets **in
    /// addition** to the waiter it is for. If tasks with tickets alone wait, it wakes them all, and one of them finds
    /// the condition. Where many tasks wait for one condition each, [`until`](Sleepers::until) wakes fewer.
    #[cfg(feature = "async")]
    pub fn poll_until<R: Ready>(
        &self,
        ticket: &mut crate::Ticket,
        context: &mut std::task::Context<'_>,
        mut ready: impl FnMut() -> R,
    ) -> std::task::Poll<R::Value> {
        let ready = || ready().found();
        crate::tasks::poll(&self.0, Publishers::Elsewhere, ticket, context, ready, true)
    }

    /// Ends the wait of a task that is no longer interested: it is not woken, and its waker is dropped. A ticket that
    /// is dropped instead leaves the waker registered until the next wakeup of all.
    #[cfg(feature = "async")]
    pub fn give_up(&self, ticket: &mut crate::Ticket) {
        crate::tasks::give_up(&self.0, ticket);
    }

    /// The word, for an event count built on it.
    pub(crate) fn flagged(&self) -> &Flagged<u32> {
        &self.0
    }

    /// Clears the flag, then wakes all waiters that slept under it (I2, I6).
    #[cold]
    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn wake_all(&self) {
        if self.0.advance(cleared) {
            self.0.wake_waiters(u32::MAX);
        }
    }

    /// Advances the count, then wakes `count` sleepers; if there were fewer, clears the flag as `wake_all` does (I4,
    /// I6).
    #[cold]
    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn wake_oldest(&self, count: u32) {
        if count > 0
            && self.0.advance(|word| word.wrapping_add(COUNT))
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

    /// Clears the flag, and dies before the wakeup.
    fn die_between(sleepers: &Sleepers, is_over: &AtomicBool) {
        while !sleepers.has_waiters() {
            std::thread::yield_now();
        }
        is_over.store(true, Relaxed);
        assert!(sleepers.0.advance(cleared));
    }

    #[test]
    fn waiters_under_a_flag_that_a_dead_process_cleared_return() {
        let (sleepers, is_over) = (Sleepers::shared(), AtomicBool::new(false));
        let _ = sleepers.attach();
        std::thread::scope(|threads| {
            threads.spawn(|| sleepers.sleep_until(|| is_over.load(Relaxed)));
            die_between(&sleepers, &is_over);
        });
        // Within one process no holder dies alone and sleeps are unbounded, so only a successor's wakeup ends this
        // one.
        let (sleepers, is_over) = (Sleepers::new(), AtomicBool::new(false));
        std::thread::scope(|threads| {
            let sleeper = threads.spawn(|| sleepers.sleep_until(|| is_over.load(Relaxed)));
            die_between(&sleepers, &is_over);
            while !sleeper.is_finished() {
                sleepers.wake_after_a_death();
                std::thread::yield_now();
            }
        });
        assert!(!sleepers.has_waiters());
    }
}
