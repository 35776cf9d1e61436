//! Notifiers: how a ring wakes the threads that wait for it to change.
//!
//! # Contract
//! A side that polls has the notifier [`Silent`], a side that sleeps has [`Sleepers`](uncontended_wait::Sleepers). A
//! ring calls [`Notifier::notify`] after each store that may end a wait. The call follows the store in program order,
//! so a woken thread finds the change. The notifier itself checks whether anyone sleeps. The trait is sealed, because
//! the cost of a notification is part of each ring's contract.
//!
//! A side waits on a notifier of its own ring by `sleep` alone; for several rings at once, on their [`Joint`]. A ring
//! made by `blocking_at` has the joint in place of the notifier of its consumers.

#[cfg(feature = "std")]
mod sleeping;

#[cfg(feature = "futures")]
pub(crate) use sleeping::kept;
#[cfg(feature = "std")]
pub(crate) use sleeping::sleep;
#[cfg(feature = "async")]
pub(crate) use sleeping::wait;
#[cfg(feature = "std")]
pub use sleeping::{Joint, Sleeping};

use core::ops::Deref;
use uncontended_atomic::{AtomicU32, Named, Ordering::Relaxed};

#[expect(unnameable_types, reason = "sealed")]
mod sealed {
    pub trait Sealed {}
}

/// Wakes waiters after a change to a ring.
pub trait Notifier: sealed::Sealed + Default + Send + Sync + 'static {
    /// Wakes all waiters, if there are any. Call it after the release store that they wait for.
    fn notify(&self);

    /// Wakes up to `count` waiters for `count` interchangeable items: each waiter needs one of them, and looks for it
    /// once awake. Which ones, `Sleepers::wake_one` of `uncontended-wait` says.
    fn notify_for(&self, count: usize);

    /// Like [`notify_for`](Notifier::notify_for), for items that the consumers of one ring share. Where a waiter may
    /// wait for something else, the items could miss those that need them: then it wakes all.
    fn notify_sharers(&self, count: usize);
}

/// A notifier and, on the same cache line (which a notification reads anyway), whether all its waiters have gone.
///
/// `gone` orders nothing: where the sides stood when they went, and what they had read, is in their positions.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Listeners<N> {
    notifier: N,
    gone: AtomicU32,
}

impl<N: Default> Default for Listeners<N> {
    fn default() -> Listeners<N> {
        Listeners::at(N::default())
    }
}

impl<N> Listeners<N> {
    /// The listeners that wait on `notifier`.
    pub(crate) fn at(notifier: N) -> Listeners<N> {
        Listeners { notifier, gone: AtomicU32::new(0).named("gone") }
    }

    /// Records that all have gone, or are about to go.
    pub(crate) fn go(&self) {
        self.gone.store(1, Relaxed);
    }

    /// Whether all have gone.
    #[inline(always)]
    pub(crate) fn have_gone(&self) -> bool {
        self.gone.load(Relaxed) != 0
    }
}

impl<N> Deref for Listeners<N> {
    type Target = N;

    #[inline(always)]
    fn deref(&self) -> &N {
        &self.notifier
    }
}

/// The notifier of a ring whose sides poll: there are no waiters. It has no size, and a notification costs nothing.
#[derive(Clone, Copy, Default, Debug)]
pub struct Silent;

impl sealed::Sealed for Silent {}

impl Notifier for Silent {
    #[inline(always)]
    fn notify(&self) {}

    #[inline(always)]
    fn notify_for(&self, _: usize) {}

    #[inline(always)]
    fn notify_sharers(&self, _: usize) {}
}
