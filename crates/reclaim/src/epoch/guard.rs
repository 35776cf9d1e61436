//! A guard: its thread is pinned while it exists.
//!
//! # Invariants
//! I1: the place is the calling thread's: a guard is neither sent nor shared.

use super::collector::Inner;
use super::record::Record;
use crate::registry::Place;
use crate::retired::Retired;
use std::fmt;
use std::marker::PhantomData;
use uncontended_atomic::Box;

/// Pins its thread: nothing is freed that the thread finds while this exists.
///
/// A guard that is leaked keeps the garbage of its collector for good; [`stalled`](super::Collector::stalled) names the
/// thread. It stays in its thread:
///
/// ```compile_fail,E0277
/// let guard = uncontended_reclaim::epoch::Collector::global().pin();
/// std::thread::spawn(move || drop(guard));
/// ```
///
/// Nor does what it found outlive it:
///
/// ```compile_fail,E0597
/// use uncontended_reclaim::epoch::{Collector, Shared};
///
/// let collector = Collector::new();
/// let cell = Shared::new(Box::new(1), &collector);
/// let found = {
///     let guard = collector.pin();
///     cell.load(&guard)
/// };
/// assert_eq!(found, Some(&1));
/// ```
#[must_use = "the thread is pinned while the guard exists"]
pub struct Guard<'c> {
    inner: &'c Inner,
    place: &'c Place<Record>,
    of_thread: PhantomData<*mut ()>,
}

impl<'c> Guard<'c> {
    /// For the owner of `place` (I1).
    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    pub(super) fn new(inner: &'c Inner, place: &'c Place<Record>) -> Guard<'c> {
        place.value.enter(&inner.epoch, inner.fences);
        Guard { inner, place, of_thread: PhantomData }
    }

    /// Where its collector is, which tells collectors apart.
    #[inline(always)]
    pub(super) fn collector(&self) -> usize {
        (&raw const *self.inner).addr()
    }

    /// Retires an object that no word leads to any more. It weighs its own size.
    #[inline]
    pub fn retire<T: Send + 'static>(&self, object: Box<T>) {
        self.retire_weighing(object, 0);
    }

    /// The same, for an object that holds `more` bytes besides its own size: buffers, files, handles. Heavy garbage is
    /// reclaimed sooner.
    #[inline]
    pub fn retire_weighing<T: Send + 'static>(&self, object: Box<T>, more: usize) {
        self.inner.retire(&self.place.value, Retired::new(object, more));
    }

    /// Retires the object at `object`, which weighs its own size and `more` bytes.
    ///
    /// # Safety
    /// It comes from [`Box::into_raw`], is retired once, and no word leads to it any more through which a thread that
    /// is pinned later could find it. In debug builds a second retirement panics.
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    pub unsafe fn retire_raw<T: Send + 'static>(&self, object: *mut T, more: usize) {
        // SAFETY: from now on it is the collector's, as the caller says (I1: the bag is this thread's).
        self.inner.retire(&self.place.value, unsafe { Retired::raw(object, more) });
    }

    /// Runs `closure` when no thread is pinned any more that is pinned now; in any thread. It stands for `bytes` of
    /// garbage. If it panics, the panic leaves the call that collects, and the other closures run in the next one.
    #[inline]
    pub fn defer(&self, bytes: usize, closure: impl FnOnce() + Send + 'static) {
        self.inner.retire(&self.place.value, Retired::closure(bytes, closure));
    }

    /// Hands over what this thread has retired, so that any thread may collect it; collects if that reaches the limits.
    #[cfg_attr(unc_model, track_caller)]
    pub fn flush(&self) {
        self.inner.flush(&self.place.value);
    }

    /// The epoch to which the thread is pinned. The collector's is the same, or the next one.
    #[cfg_attr(unc_model, track_caller)]
    pub fn epoch(&self) -> u64 {
        self.place.value.state()
    }

    /// Pins the thread to the current epoch, for a long read that can begin again: what was found is given up. It does
    /// nothing if the thread has another guard.
    #[cfg_attr(unc_model, track_caller)]
    pub fn repin(&mut self) {
        self.place.value.repin(&self.inner.epoch, self.inner.fences);
    }
}

impl Drop for Guard<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.place.value.leave() {
            self.inner.resign(self.place);
        }
    }
}

impl fmt::Debug for Guard<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").finish_non_exhaustive()
    }
}
