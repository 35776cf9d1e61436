//! Version and flag in one word: with an unlocked addition the x86 form for a single producer, with a LOCKed one the
//! form for many.
//!
//! # Contract
//! An increment adds 2 and tests bit 0 of the result.
//!
//! # State
//! A [`Flagged`] word whose count is the version. A futex sees its low half alone, so with 64 bits too the flag is
//! there.
//!
//! # Edges
//! event: `publish` -> `load`. What happened before the increment.
//!
//! # Invariants
//! I1 to I5: those of [`Flagged`].
//! I6, many producers: every change of the word is an atomic read-modify-write, so an increment either comes before the
//!     flag is set, and the kernel finds another version, or after, and finds the flag. No fence, no barrier.
//! I7, single producer: an increment that had loaded the word when the flag was set may store it away. The waiter's
//!     heavy fence, after the flag and before the kernel looks, lies before or after the whole instruction
//!     (`unlocked`): if after, the version has changed and the kernel refuses the sleep; if before, the increment finds
//!     the flag. That a flag may be cleared and set anew at the same version is I6 of [`Flagged`].
//! I8: with 64 bits, the kernel cannot tell versions that are 2^31 apart. A waiter that is overtaken by that many
//!     between its flag and its sleep, and finds another waiter's flag there, sleeps until the next increment.
//!
//! # Evidence
//! tests/model_event_counts.rs: under TSO; many producers under C11 too.
//! # Sources
//! Concurrency Kit, `ck_ec.h` (there the flag's loss is bounded by a second's sleep).

use crate::deadline::{Deadline, TimedOut};
#[cfg(target_arch = "x86_64")]
use crate::event_count::form::SingleProducer;
use crate::event_count::form::{Form, Layout, Valued};
use crate::flagged::{Flagged, Publishers};
use crate::width::Width;
use std::marker::PhantomData;
use uncontended_atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use uncontended_atomic::{AtomicU32, Scope};

/// Form: version and flag in one word, to which is added by `A`: [`Locked`], or `Unlocked` on x86-64.
#[derive(Debug)]
#[repr(C)]
pub struct OneWord<W: Width, A> {
    flagged: Flagged<W>,
    /// How often a publisher found the flag.
    wakes: AtomicU32,
    addition: PhantomData<A>,
}

/// By any thread, with an atomic read-modify-write.
#[derive(Debug)]
pub enum Locked {}

/// By one thread, with an x86 instruction that is none.
#[cfg(target_arch = "x86_64")]
#[derive(Debug)]
pub enum Unlocked {}

/// A way to add.
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

    fn new(scope: Scope) -> OneWord<W, A> {
        OneWord { flagged: Flagged::new(scope), wakes: AtomicU32::new(0), addition: PhantomData }
    }

    #[inline(always)]
    fn flagged(&self) -> &Flagged<W> {
        &self.flagged
    }

    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    fn load(&self) -> W {
        // EDGE event (acquire): what happened before.
        W::load(&self.flagged.word, Acquire).lower()
    }

    /// Clears the flag, then wakes all who slept under it (I2).
    #[cold]
    #[cfg_attr(unc_model, track_caller)]
    fn wake_all(&self) {
        if self.flagged.advance(W::unflagged) {
            self.wakes.fetch_add(1, Relaxed);
            self.flagged.wake_waiters(u32::MAX);
        }
    }

    /// Wakes one; if none slept there, clears the flag as `wake_all` does (I4). The version has advanced just now.
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
            // EDGE flag (release): the mode is closed, for whoever sets or sees the flag from now on.
            W::fetch_add(&self.flagged.word, W::ZERO, Release);
        } else {
            uncontended_fence::bare::light();
        }
        self.wake_all();
    }

    /// It may have set the flag anew after the close had cleared it, at the same version, and others who saw it set
    /// before may sleep under it.
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
    /// The value before the events, and whether somebody may sleep.
    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn publish(&self, events: W) -> (W, bool) {
        // EDGE event (acq-rel): what happened before, and what did before the events that were counted already.
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
        // EDGE event (release): what happened before, because x86 keeps the order of stores (`unlocked`).
        W::add_unlocked(&self.flagged.word, events)
    }
}
