//! Waits that a call leaves without a return: its thread was cancelled, or a signal handler jumped out of it.
//!
//! # Contract
//! Such a wait is kept with its thread from its beginning to its return ([`InWait`]), and ends without what it was for
//! ([`Wait::left`]) at an event of its thread that shows that it is over. A cancelled wait for a condition lasted until
//! the thread was cancelled ([`cancels`]). The C library then locks the mutex: the thread has had it since the last
//! release after that, if there was one.
//! # Invariants
//! I1: only its own thread reaches an [`InWait`].
//! # Evidence
//! `tests/programs`: `cancelled_in_semaphore.c`, `cancelled_mid_wait.c`, `cancelled_in_join.c`, `signal_jumps_out.c`.

use crate::events::{self, Back, Blocked, End, Waited, bump};
use crate::log::By;
use crate::passing;
use crate::recent;
use crate::site::{Recorder, Row, Site};
use crate::slept::Before;
use crate::wants;
use std::cell::Cell as Own;
use std::fmt;
use uncontended_atomic::Ordering::Relaxed;
use uncontended_trace::layout::Thread;

/// A wait for a condition.
#[derive(Debug, Clone, Copy)]
pub struct Away {
    /// The condition.
    pub condition: Row,
    /// The mutex to which the thread returns.
    pub mutex: Row,
    /// When it called.
    pub call: u64,
    /// The stack of the call.
    pub stack: u32,
    /// How often the thread had slept.
    pub sleeps: Before,
    /// What is known of its beginning.
    pub begun: passing::Begun,
}

impl Away {
    /// The calling thread, marked as recording, waits no longer.
    pub fn is_over(&self, at: impl Site) {
        no_longer_asleep(at);
        passing::ended(self.condition.lock);
        bump(&self.condition.cell.acquisitions);
    }

    /// It was left. `has_mutex`: the C library has relocked the mutex for the thread, as it does for a cancelled one.
    fn left(self, at: impl Site, has_mutex: bool) {
        let Away { condition, mutex, call, stack, sleeps, begun } = self;
        if !at.is_here() {
            return;
        }
        let now = at.ticks();
        let busy = at.begin();
        self.is_over(at);
        let asked = at.recorder().thread.cancelled_at.load(Relaxed);
        let ended = if asked == 0 { now } else { asked.clamp(call, now) };
        let slept = sleeps.slept(at);
        let waited = Waited {
            call,
            now: ended,
            ended: End::TimedOut,
            stack,
            continues_after: begun.continues_after,
            slept,
            ..Waited::default()
        };
        events::record_wait(at, condition, waited);
        passing::timed_out(at.recorder(), condition, (call, ended), ended);
        let has_mutex = has_mutex || asked != 0;
        if has_mutex && events::is_unheld(at.recorder(), mutex.lock) {
            recent::come_back(mutex.lock);
            bump(&mutex.cell.acquisitions);
            let had = self.waited_for_mutex(at, (ended, now), slept);
            events::take(at.recorder(), mutex, stack, had);
        }
        drop(busy);
    }

    /// Records that the thread waited for the mutex from `ended` on, if it did, and returns since when it has it.
    fn waited_for_mutex(self, at: impl Site, (ended, now): (u64, u64), slept: Option<bool>) -> u64 {
        let Away { mutex, stack, .. } = self;
        let release = mutex.lock.release.load(Relaxed);
        if release <= ended || release > now {
            return ended;
        }
        let by = By::owner(at.recorder(), mutex.lock, release);
        let back = Back { ended, is_signalled: false, release, now: release };
        let free = events::came_back(at, mutex, back);
        let (call, now) = (ended, release);
        let waited = Waited { call, now, release, stack, by, free, slept, ..Waited::default() };
        events::record_wait(at, mutex, waited);
        release
    }
}

/// The calling thread is about to cancel the thread of its process with this handle.
pub fn cancels(at: impl Site, handle: u64) {
    let Recorder { arena, process, .. } = at.recorder();
    let threads = arena.list::<Thread>(&process.threads).map(|(_, thread)| thread);
    let is_it = |thread: &&Thread| {
        thread.handle.load(Relaxed) == handle && thread.end_ticks.load(Relaxed) == 0
    };
    for thread in threads.filter(is_it).filter(|of| of.cancelled_at.load(Relaxed) == 0) {
        thread.cancelled_at.store(at.ticks(), Relaxed);
    }
}

/// The calling thread, which called at `call`, waits for another one's end no longer. Returns the time.
pub fn joins_no_longer(at: impl Site, call: u64) -> u64 {
    no_longer_asleep(at);
    let (now, sum) = (at.ticks(), &at.recorder().thread.joined);
    sum.store(sum.load(Relaxed).wrapping_add(now.saturating_sub(call)), Relaxed);
    now
}

fn no_longer_asleep(at: impl Site) {
    at.recorder().thread.asleep_since.store(0, Relaxed);
    wants::end(at.recorder());
}

/// A wait that cancellation may end.
#[derive(Debug)]
pub enum Wait<S> {
    /// For a semaphore.
    Semaphore(Blocked<S>),
    /// For a condition.
    Condition(Away),
    /// For another thread's end, since this time.
    Join(u64),
}

impl<S: Site> Wait<S> {
    /// It is over, and `at` is its thread now: the place where it waited is gone. `has_mutex`: if it was for a
    /// condition, the thread has the mutex again.
    pub fn left(self, at: S, has_mutex: bool) {
        match self {
            Wait::Semaphore(blocked) => blocked.moved_to(at).gave_up(),
            Wait::Condition(away) => away.left(at, has_mutex),
            Wait::Join(call) if at.is_here() => {
                joins_no_longer(at, call);
            }
            Wait::Join(_) => {}
        }
    }
}

/// A wait, and where the stack of its thread ended then.
#[derive(Debug)]
pub struct Kept<S> {
    wait: Wait<S>,
    place: usize,
}

/// The wait in which a thread is, if it is in one.
pub struct InWait<S>(Own<Option<Kept<S>>>);

impl<S> fmt::Debug for InWait<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InWait")
    }
}

impl<S: Site> InWait<S> {
    /// None.
    pub const fn none() -> Self {
        InWait(Own::new(None))
    }

    /// Keeps a wait whose frame is at `place`, and returns the one that a signal handler interrupted, if it is in one.
    #[inline(always)]
    pub fn enter(&self, wait: Wait<S>, place: usize) -> Option<Kept<S>> {
        self.0.replace(Some(Kept { wait, place }))
    }

    /// Takes the wait back, which returns now, and keeps that `outer` one again; none if it was closed meanwhile.
    #[inline(always)]
    pub fn leave(&self, outer: Option<Kept<S>>) -> Option<Wait<S>> {
        self.0.replace(outer).map(|kept| kept.wait)
    }

    fn take_if(&self, is: impl FnOnce(&Kept<S>) -> bool) -> Option<Wait<S>> {
        let kept = self.0.take()?;
        if is(&kept) {
            return Some(kept.wait);
        }
        self.0.set(Some(kept));
        None
    }

    /// Takes the wait, whatever it is.
    pub fn take(&self) -> Option<Wait<S>> {
        self.take_if(|_| true)
    }

    /// Takes the wait if the frame at its place `is_gone`.
    #[inline(always)]
    pub fn take_gone(&self, is_gone: impl FnOnce(usize) -> bool) -> Option<Wait<S>> {
        self.take_if(|kept| is_gone(kept.place))
    }

    /// Takes the wait if it is for a condition with the mutex of this row: a thread that unlocks it was cancelled.
    #[cold]
    pub fn take_with(&self, mutex: Row) -> Option<Wait<S>> {
        let is_its = |away: &Away| std::ptr::eq(away.mutex.cell, mutex.cell);
        self.take_if(|kept| matches!(&kept.wait, Wait::Condition(away) if is_its(away)))
    }
}
