//! Notifiers: how a ring wakes the threads that wait for it to change.
//!
//! # Contract
//! A side that polls has the notifier [`Silent`], a side that sleeps has [`Sleepers`]. A ring calls
//! [`Notifier::notify`] after each store that may end a wait. The call follows the store in program order, so a woken
//! thread finds the change. The notifier itself checks whether anyone sleeps. The trait is sealed, because the cost of
//! a notification is part of each ring's contract.
//!
//! A side waits on a notifier of its own ring by `sleep` alone; for several rings at once, on their [`Joint`].
//!
//! # State
//! I1: a side keeps its ring, at one address, until it is dropped.

use std::ops::Deref;
use std::ptr::NonNull;
use uncontended_atomic::{Arc, AtomicU32, Named, Ordering::Relaxed};
use uncontended_wait::{Deadline, Sleepers, TimedOut};

#[expect(unnameable_types, reason = "sealed")]
mod sealed {
    pub trait Sealed {}
}

/// Wakes waiters after a change to a ring.
pub trait Notifier: sealed::Sealed + Default + Send + Sync + 'static {
    /// Wakes all waiters, if there are any. Call it after the release store that they wait for.
    fn notify(&self);

    /// Wakes up to `count` waiters, longest sleepers first, for `count` interchangeable items: each waiter needs one
    /// of them, and looks for it once awake.
    fn notify_for(&self, count: usize);
}

/// A notifier of sides that sleep.
pub trait Sleeping: Notifier {
    /// The threads that it wakes.
    fn sleepers(&self) -> &Sleepers;
}

/// The sleepers for longer than the borrow of their side, which has to be borrowed mutably meanwhile.
///
/// # Safety
/// The side keeps the ring that they lie in (I1) as long as the caller uses them.
#[inline(always)]
pub(crate) unsafe fn kept<'s>(sleepers: &Sleepers) -> &'s Sleepers {
    // SAFETY: by the contract (I1).
    unsafe { NonNull::from(sleepers).as_ref() }
}

/// Sleeps on a notifier of `side`'s ring until `look` returns a value or `deadline` passes. `look` needs `side`
/// mutably, so the notifier cannot be borrowed from it.
///
/// # Safety
/// The notifier lies in the ring that the side keeps (I1), and `look` does not replace `side` by another one.
#[cfg_attr(unc_model, track_caller)]
pub(crate) unsafe fn sleep<S, R>(
    side: &mut S,
    notifier: impl FnOnce(&S) -> &Sleepers,
    mut look: impl FnMut(&mut S) -> Option<R>,
    deadline: Deadline,
) -> Result<R, TimedOut> {
    // SAFETY: the side keeps the ring for the whole call, and only the side's own fields change meanwhile (I1).
    let notifier = unsafe { kept(notifier(side)) };
    notifier.sleep_until_deadline(|| look(side), deadline)
}

/// The same for a task.
///
/// # Safety
/// As for [`sleep`].
#[cfg(feature = "async")]
pub(crate) unsafe fn wait<'s, S, R>(
    side: &'s mut S,
    notifier: impl FnOnce(&S) -> &Sleepers,
    mut look: impl FnMut(&mut S) -> Option<R> + 's,
) -> impl Future<Output = R> {
    // SAFETY: the future has the side, which keeps the ring, and only the side's own fields change meanwhile (I1).
    let notifier: &'s Sleepers = unsafe { kept(notifier(side)) };
    notifier.until(move || look(side))
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
}

impl sealed::Sealed for Sleepers {}

/// While no thread sleeps, a notification is a load and a branch: the sleeper pays for the ordering.
impl Notifier for Sleepers {
    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    fn notify(&self) {
        self.wake();
    }

    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    fn notify_for(&self, count: usize) {
        self.wake_for(count);
    }
}

impl Sleeping for Sleepers {
    #[inline(always)]
    fn sleepers(&self) -> &Sleepers {
        self
    }
}

/// [`Sleepers`] that several rings notify, so that one thread waits for whichever has a value first. A clone is the
/// same sleepers.
///
/// Pass it to the rings' constructors, [`spsc::blocking_at`](crate::spsc::blocking_at) and
/// [`mpsc::blocking_at`](crate::mpsc::blocking_at), and wait by
/// [`Sleepers::sleep_until`], or until a deadline. The closure asks the rings in an order of its own, and so decides
/// which comes first. A push into any of them, and the departure of a producer, wakes it. For anything else (an event
/// count, a flag), publish it, then call [`Sleepers::wake`].
///
/// ```
/// use uncontended_ring::{notifier::Joint, spsc};
///
/// let joint = Joint::new();
/// let (mut quotes, mut market) = spsc::blocking_at(64, &joint)?;
/// let (mut control, mut orders) = spsc::blocking_at(4, &joint)?;
/// let trader = std::thread::spawn(move || {
///     let mut seen = Vec::new();
///     loop {
///         // Orders first: what arrives by the other ring may wait.
///         let next = joint.sleep_until(|| orders.pop().or_else(|_| market.pop()).ok());
///         if next == "stop" {
///             return seen;
///         }
///         seen.push(next);
///     }
/// });
/// quotes.push_wait("101.5").unwrap();
/// # while quotes.room() < 64 { std::thread::yield_now() }
/// control.push_wait("stop").unwrap();
/// assert_eq!(trader.join().unwrap(), ["101.5"]);
/// # Ok::<(), uncontended_ring::CapacityError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Joint(Arc<Sleepers>);

impl Joint {
    /// Sleepers that no ring notifies yet.
    pub fn new() -> Joint {
        Joint(Arc::new(Sleepers::new()))
    }
}

impl Default for Joint {
    fn default() -> Joint {
        Joint::new()
    }
}

impl Deref for Joint {
    type Target = Sleepers;

    #[inline(always)]
    fn deref(&self) -> &Sleepers {
        &self.0
    }
}

impl sealed::Sealed for Joint {}

impl Notifier for Joint {
    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    fn notify(&self) {
        self.0.wake();
    }

    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    fn notify_for(&self, count: usize) {
        self.0.wake_for(count);
    }
}

impl Sleeping for Joint {
    #[inline(always)]
    fn sleepers(&self) -> &Sleepers {
        self
    }
}
