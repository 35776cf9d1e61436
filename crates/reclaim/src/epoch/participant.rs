//! A reader that its owner holds, instead of a thread-local.
//!
//! # Invariants
//! I1: the place is this participant's until it is dropped, and stays in the thread that made it.

use super::Guard;
use super::collector::{Inner, wait};
use super::record::Record;
use crate::garbage::Collected;
use crate::registry::Place;
use crate::retired::Retired;
use std::fmt;
use std::marker::PhantomData;
use uncontended_atomic::Box;
use uncontended_fence::Refused;

/// A reader of a collector, for a thread that pins often: [`pin`](Participant::pin) looks nothing up.
///
/// ```
/// use uncontended_reclaim::epoch::{Collector, Shared};
///
/// let collector = Collector::new();
/// let cell = Shared::new(Box::new(1), &collector);
/// let reader = collector.participant();
/// assert_eq!((0..100).filter_map(|_| cell.load(&reader.pin()).copied()).sum::<i32>(), 100);
/// ```
pub struct Participant<'c> {
    inner: &'c Inner,
    place: &'c Place<Record>,
    of_thread: PhantomData<*mut ()>,
}

impl<'c> Participant<'c> {
    #[cfg_attr(unc_model, track_caller)]
    pub(super) fn new(inner: &'c Inner) -> Participant<'c> {
        Participant { inner, place: inner.register(), of_thread: PhantomData }
    }

    /// Pins this reader. Pins may nest; the outermost one counts.
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    pub fn pin(&self) -> Guard<'_> {
        Guard::new(self.inner, self.place)
    }

    /// Retires an object without being pinned: for a writer that has no need to read.
    pub fn retire<T: Send + 'static>(&self, object: Box<T>) {
        self.inner.retire(&self.place.value, Retired::new(object, 0));
    }

    /// The same for the object at `object`, which weighs its own size and `more` bytes.
    ///
    /// # Safety
    /// As for [`Guard::retire_raw`].
    #[cfg_attr(unc_model, track_caller)]
    pub unsafe fn retire_raw<T: Send + 'static>(&self, object: *mut T, more: usize) {
        // SAFETY: from now on it is the collector's, as the caller says (I1: the bag is this thread's).
        self.inner.retire(&self.place.value, unsafe { Retired::raw(object, more) });
    }

    /// [`Collector::collect`](super::Collector::collect), with what this reader has retired.
    ///
    /// # Errors
    /// As there.
    #[cfg_attr(unc_model, track_caller)]
    pub fn collect(&self) -> Result<Collected, Refused> {
        self.inner.hand_over(|| self.place.value.take_bag());
        self.inner.collect_all(wait)
    }
}

impl Drop for Participant<'_> {
    fn drop(&mut self) {
        self.inner.resign(self.place);
    }
}

impl fmt::Debug for Participant<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Participant").finish_non_exhaustive()
    }
}
