//! Version and flag in one word: the form for many producers with a LOCKed addition, and the x86 form for a single
//! producer with an unlocked one.
//!
//! # Contract
//! An increment adds 2 and tests bit 0 of the result.
//!
//! # State
//! A [`Flagged`] word whose count is the version. A futex compares only the low half, which holds the flag in the
//! 64-bit form too.
//!
//! # Edges
//! event: `publish` -> `load`. What happened before the increment.
//!
//! # Invariants
//! I1 to I5: those of [`Flagged`].
//! I6, many producers: every change of the word is an atomic read-modify-write. So an increment comes either before the
//! flag, and the kernel finds a different version, or after it, and finds the flag. No fence or barrier is needed.
//! I7, single producer: an increment that loaded the word before the flag was set may overwrite the flag. The waiter's
//! heavy fence, which runs after the flag is set and before the kernel compares, falls before or after the whole
//! instruction (`unlocked`). If after, the version has changed and the kernel refuses the sleep; if before, the
//! increment finds the flag. I6 of [`Flagged`] covers a flag that is cleared and set again at the same version.
//! I8: with 64 bits the kernel cannot distinguish versions that are 2^31 apart. If that many increments pass between a
//!     waiter's flag and its sleep, and it finds another waiter's flag there, it sleeps until the next increment.
//!
//! # Evidence
//! tests/model_event_counts.rs: under TSO; many producers under C11 too.
//! # Sources
//! Concurrency Kit, `ck_ec.h` (which bounds the loss of the flag by sleeps of a second).

use crate::deadline::{Deadline, TimedOut};
#[cfg(target_arch = "x86_64")]
use crate::event_count::form::SingleProducer;
use crate::event_count::form::{Form, Layout, Valued};
use crate::flagged::{Flagged, Publishers};
use crate::width::Width;
use std::marker::PhantomData;
use uncontended_atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use uncontended_atomic::{AtomicU32, Named, Scope};

/// The form with version and flag in one word. `A` says how to add: [`Locked`], or `Unlocked` on x86-64.
#[derive(Debug)]
#[repr(C)]
pub struct OneWord<W: Width, A> {
    flagged: Flagged<W>,
    /// How many publishers found the flag.
    wakes: AtomicU32,
    addition: PhantomData<A>,
}

/// Any thread adds, by an atomic read-modify-write.
#[derive(Debug)]
pub enum Locked {}

/// One thread adds, by an x86 instruction without LOCK.
#[cfg(target_arch = "x86_64")]
#[derive(Debug)]
pub enum Unlocked {}

/// How a form adds.
pub(crate) trait Addition {
    const PUBLISHERS: Publishers;
}

impl Addition for Locked {
    const PUBLISHERS: Publishers = Publishers::Locked;
}

#[cfg(target_arch = "x86_64")]
impl Addition for Unlocked {
    const PUBLISHERS: Publishers = Publishers::Unlocked;
}

impl<W: Width, A: Addition> Layout for OneWord<W, A> {
    type Word = W;

    #[cfg(not(unc_model))]
    const ZEROED: OneWord<W, A> = OneWord {
        flagged: Flagged::zeroed(W::ZEROED),
        wakes: AtomicU32::new(0),
        addition: PhantomData,
    };

    fn new(scope: Scope) -> OneWord<W, A> {
        OneWord {
            flagged: Flagged::new(scope),
            wakes: AtomicU32::new(0).named("wakes"),
            addition: PhantomData,
        }
    }

    #[inline(always)]
    fn flagged(&self) -> &Flagged<W> {
        &self.flagged
    }

    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    fn load(&self) -> W {
        // EDGE event (acquire): what happened before the increment.
        W::load(&self.flagged.word, Acquire).lower()
    }

    /// Clears the flag, then wakes all waiters that slept under it (I2).
    #[cold]
    #[cfg_attr(unc_model, track_caller)]
    fn wake_all(&self) {
        if self.flagged.advance(W::unflagged) {
            self.wakes.fetch_add(1, Relaxed);
            self.flagged.wake_waiters(u32::MAX);
        }
    }

    /// Wakes one waiter; if none was asleep, clears the flag as `wake_all` does (I4). The version has just advanced.
    #[cold]
    #[cfg_attr(unc_model, track_caller)]
    fn wake_oldest(&self) {
        if self.flagged.wake_waiters(1) == 0 {
            self.wake_all();
        } else {
            self.wakes.fetch_add(1, Relaxed);
        }
    }

    fn wake_after_a_death(&self) {
        self.flagged.advance(W::unflagged);
        self.flagged.wake_waiters(u32::MAX);
    }

    fn wakes(&self) -> u32 {
        self.wakes.load(Relaxed)
    }

    #[cfg_attr(unc_model, track_caller)]
    fn wake_after_close(&self) {
        if A::PUBLISHERS == Publishers::Locked {
            // EDGE flag (release): the closed mode, for threads that set or see the flag from now on.
            W::fetch_add(&self.flagged.word, W::ZERO, Release);
        } else {
            uncontended_fence::bare::light();
        }
        self.wake_all();
    }

    /// This waiter may have set the flag again after the close cleared it, at the same version, and waiters that saw it
    /// set before may sleep under it.
    #[cfg_attr(unc_model, track_caller)]
    fn leave_closed(&self) {
        self.wake_all();
    }

    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    fn sleep_until_deadline<R>(
        &self,
        ready: impl FnMut() -> Option<R>,
        deadline: Deadline,
    ) -> Result<R, TimedOut> {
        self.flagged.sleep_until_deadline(ready, deadline, A::PUBLISHERS)
    }

    #[cfg(feature = "async")]
    fn until<R>(&self, ready: impl FnMut() -> Option<R>) -> impl Future<Output = R> {
        crate::tasks::until(&self.flagged, A::PUBLISHERS, ready)
    }
}

#[allow(private_bounds)]
impl<W: Width, A: Addition> Form for OneWord<W, A> {}

impl<W: Width, A: Addition> Valued for OneWord<W, A> {
    type Value = W;
}

impl<W: Width> OneWord<W, Locked> {
    /// The value before the events, and whether a thread may be asleep.
    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn publish(&self, events: W) -> (W, bool) {
        // EDGE event (acq-rel): what happened before this increment, and before the increments already counted.
        let found = W::fetch_add(&self.flagged.word, events.raise(), AcqRel);
        (found.lower(), found.is_flagged())
    }
}

#[cfg(target_arch = "x86_64")]
impl<W: Width> SingleProducer for OneWord<W, Unlocked> {}

#[cfg(target_arch = "x86_64")]
impl<W: Width> crate::event_count::form::Publish for OneWord<W, Unlocked> {
    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    fn publish(&self, _: W, events: W) -> bool {
        // EDGE event (release): what happened before the increment, because x86 keeps the order of stores (`unlocked`).
        W::add_unlocked(&self.flagged.word, events)
    }
}
