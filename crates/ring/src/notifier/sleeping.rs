//! Notifiers of sides that sleep: `Sleepers`, of one ring or, as [`Joint`], of several.
//!
//! # State
//! I1: a side keeps its ring, at one address, until it is dropped.

use super::{Notifier, sealed};
use std::ops::Deref;
use std::ptr::NonNull;
use uncontended_atomic::Arc;
use uncontended_wait::{Deadline, Ready, Sleepers, TimedOut};

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

/// Sleeps on a notifier of `side`'s ring until `look` finds something or `deadline` passes. `look` needs `side`
/// mutably, so the notifier cannot be borrowed from it.
///
/// # Safety
/// The notifier lies in the ring that the side keeps (I1), and `look` does not replace `side` by another one.
#[cfg_attr(unc_model, track_caller)]
pub(crate) unsafe fn sleep<S, R: Ready>(
    side: &mut S,
    notifier: impl FnOnce(&S) -> &Sleepers,
    mut look: impl FnMut(&mut S) -> R,
    deadline: Deadline,
) -> Result<R::Value, TimedOut> {
    // SAFETY: the side keeps the ring for the whole call, and only the side's own fields change meanwhile (I1).
    let notifier = unsafe { kept(notifier(side)) };
    notifier.sleep_until_deadline(|| look(side), deadline)
}

/// The same for a task.
///
/// # Safety
/// As for [`sleep`].
#[cfg(feature = "async")]
pub(crate) unsafe fn wait<'s, S, R: Ready>(
    side: &'s mut S,
    notifier: impl FnOnce(&S) -> &Sleepers,
    mut look: impl FnMut(&mut S) -> R + 's,
) -> impl Future<Output = R::Value> {
    // SAFETY: the future has the side, which keeps the ring, and only the side's own fields change meanwhile (I1).
    let notifier: &'s Sleepers = unsafe { kept(notifier(side)) };
    notifier.until(move || look(side))
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
