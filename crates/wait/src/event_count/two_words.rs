//! The portable single-producer form: a version with [`Sleepers`] next to it.
//!
//! # Contract
//! An increment is a release store of the version and [`Sleepers::wake`]: a load and a branch. It is the same on every
//! processor.
//!
//! # State
//! `version` counts in its upper 31 or 63 bits, as in the other forms. Only the producer stores it, and keeps a copy,
//! so it never loads it.
//!
//! # Edges
//! event: `publish` -> `load`. What happened before the increment.
//!
//! # Evidence
//! tests/model_event_counts.rs: under C11 and TSO.

use crate::deadline::{Deadline, TimedOut};
use crate::event_count::form::{Form, Layout, Publish, SingleProducer, Valued};
use crate::flagged::Flagged;
use crate::sleepers::Sleepers;
use crate::width::Width;
use uncontended_atomic::Ordering::{Acquire, Release};
use uncontended_atomic::Scope;

/// The form with a version and sleepers, for every processor.
#[derive(Debug)]
#[repr(C)]
pub struct TwoWords<W: Width> {
    version: W::Atomic,
    sleepers: Sleepers,
}

impl<W: Width> Layout for TwoWords<W> {
    type Word = u32;

    #[cfg(not(unc_model))]
    const ZEROED: TwoWords<W> = TwoWords { version: W::ZEROED, sleepers: Sleepers::new() };

    fn new(scope: Scope) -> TwoWords<W> {
        let sleepers = if scope == Scope::Shared { Sleepers::shared() } else { Sleepers::new() };
        TwoWords { version: W::atomic(W::ZERO), sleepers }
    }

    fn flagged(&self) -> &Flagged<u32> {
        self.sleepers.flagged()
    }

    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    fn load(&self) -> W {
        // EDGE event (acquire): what happened before the increment.
        W::load(&self.version, Acquire).lower()
    }

    #[cfg_attr(unc_model, track_caller)]
    fn wake_all(&self) {
        self.sleepers.wake_all();
    }

    #[cfg_attr(unc_model, track_caller)]
    fn wake_oldest(&self) {
        self.sleepers.wake_oldest(1);
    }

    fn wake_after_a_death(&self) {
        self.sleepers.wake_after_a_death();
    }

    fn wakes(&self) -> u32 {
        self.sleepers.wakes()
    }

    #[cfg_attr(unc_model, track_caller)]
    fn wake_after_close(&self) {
        self.sleepers.wake();
    }

    /// Nothing to do: a flag that was cleared never comes back with the same count (I6 of [`Sleepers`]).
    fn leave_closed(&self) {}

    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    fn sleep_until_deadline<R>(
        &self,
        ready: impl FnMut() -> Option<R>,
        deadline: Deadline,
    ) -> Result<R, TimedOut> {
        self.sleepers.sleep_until_deadline(ready, deadline)
    }

    #[cfg(feature = "async")]
    fn until<R>(&self, ready: impl FnMut() -> Option<R>) -> impl Future<Output = R> {
        self.sleepers.until(ready)
    }
}

impl<W: Width> Form for TwoWords<W> {}

impl<W: Width> Valued for TwoWords<W> {
    type Value = W;
}

impl<W: Width> SingleProducer for TwoWords<W> {}

impl<W: Width> Publish for TwoWords<W> {
    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    fn publish(&self, sum: W, _: W) -> bool {
        // EDGE event (release): what happened before the increment.
        W::store(&self.version, sum, Release);
        self.sleepers.is_flagged_after_publishing()
    }
}
