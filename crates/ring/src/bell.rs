//! Bells: how a ring tells those who may wait for a change that it happened.
//!
//! # Contract
//! There are two: [`Silent`] for those who poll, and [`Sleepers`] for those who sleep. A ring calls [`Bell::ring`]
//! after each store that may end somebody's waiting: after the store, in program order, so that whoever is woken by it
//! finds the change. A bell decides by itself whether anybody is asleep. The trait is sealed: what it costs to ring is
//! part of each ring's promise.
//!
//! A waiter calls [`sleep`], the one way to sleep at a bell of one's own ring.
//!
//! # State
//! I1: a side keeps its ring, at one place, until it is dropped.

use std::ops::Deref;
use std::ptr::NonNull;
use uncontended_atomic::{AtomicU32, Ordering::Relaxed};
use uncontended_wait::{Deadline, Sleepers, TimedOut};

mod sealed {
    pub trait Sealed {}
}

/// Tells who waits that something changed.
pub trait Bell: sealed::Sealed + Default + Send + Sync + 'static {
    /// Wakes all who sleep, if there are any. Comes after the release store that they wait for.
    fn ring(&self);

    /// Wakes as many of those who sleep as can make use of `count` equal things, those first who have slept longest.
    /// Each of them wants one, whichever; and whoever is woken looks for it.
    fn ring_for(&self, count: usize);
}

/// Sleeps at a bell of `side`'s ring until a look at the side gives something, but not longer than to `deadline`. The
/// look changes the side, so that the bell cannot be borrowed from it.
///
/// # Safety
/// The bell lies in the ring that the side keeps (I1), and `look` does not put another side in its place.
#[cfg_attr(unc_model, track_caller)]
pub(crate) unsafe fn sleep<S, R>(
    side: &mut S,
    bell: impl FnOnce(&S) -> &Sleepers,
    mut look: impl FnMut(&mut S) -> Option<R>,
    deadline: Deadline,
) -> Result<R, TimedOut> {
    let bell = NonNull::from(bell(side));
    // SAFETY: the side keeps the ring for the whole call, and only the side's own fields change meanwhile (I1).
    let bell = unsafe { bell.as_ref() };
    bell.sleep_until_deadline(|| look(side), deadline)
}

/// A bell, and on the same line, which whoever rings it reads anyway, whether all for whom it rings have gone.
///
/// That they have is news and no more, so no order belongs to it: where they stood when they went, and what they had
/// read, is in their positions.
#[repr(C)]
#[derive(Debug, Default)]
pub(crate) struct Listeners<B> {
    bell: B,
    gone: AtomicU32,
}

impl<B> Listeners<B> {
    /// Those who wait at `bell`.
    #[cfg(not(unc_model))]
    pub(crate) fn at(bell: B) -> Listeners<B> {
        Listeners { bell, gone: AtomicU32::new(0) }
    }

    /// All have gone, or are about to.
    pub(crate) fn go(&self) {
        self.gone.store(1, Relaxed);
    }

    /// Whether all have gone.
    #[inline(always)]
    pub(crate) fn have_gone(&self) -> bool {
        self.gone.load(Relaxed) != 0
    }
}

impl<B> Deref for Listeners<B> {
    type Target = B;

    #[inline(always)]
    fn deref(&self) -> &B {
        &self.bell
    }
}

/// Nobody ever sleeps: both sides poll. It has no size, and ringing it is nothing.
#[derive(Clone, Copy, Default, Debug)]
pub struct Silent;

impl sealed::Sealed for Silent {}

impl Bell for Silent {
    #[inline(always)]
    fn ring(&self) {}

    #[inline(always)]
    fn ring_for(&self, _: usize) {}
}

impl sealed::Sealed for Sleepers {}

/// While nobody sleeps, to ring is a load and a branch: whoever goes to sleep pays for the order of things.
impl Bell for Sleepers {
    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    fn ring(&self) {
        self.wake();
    }

    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    fn ring_for(&self, count: usize) {
        self.wake_for(count);
    }
}
