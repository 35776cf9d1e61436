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

    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    fn notify_sharers(&self, count: usize) {
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
/// # Contract
/// - Make each ring by its `blocking_at` instead of `blocking`, and keep the consumers in the thread that waits.
/// - Wait by [`sleep_until`](Sleepers::sleep_until) or [until a deadline](Sleepers::sleep_until_deadline). The closure
///   asks each ring by its call that tries once (`pop`, `read`), in an order of its own, which decides what comes
///   first. It returns `bool` or an `Option`; `Some` ends the wait whatever is in it. A batch or a record borrows its
///   consumer and cannot leave the closure: return whether there is one, and read it after the wait.
/// - Whatever may end a wait for one of the rings wakes the joint: a value, a release by a stage before, the departure
///   of a producer. `Closed` comes again at each look: let it end the wait once, or once all rings are closed.
/// - A joint wakes all threads that sleep on it, and each checks its own closure. For one thread each, make one joint
///   each: otherwise a thread is also woken for the others.
/// - Producers that wait for room sleep on their own ring, never on the joint.
///
/// # What can join
/// - The consumers of [`spsc`](crate::spsc::blocking_at), [`mpsc`](crate::mpsc::blocking_at),
///   [`lanes`](crate::lanes::blocking_at), [`lanes::group`](crate::lanes::group::blocking_at),
///   [`lossy`](crate::lossy::blocking_at), [`broadcast`](crate::broadcast::Plan::blocking_at) (all stages on one
///   joint), [`records::spsc`](crate::records::spsc::blocking_at) and
///   [`records::mpsc`](crate::records::mpsc::blocking_at).
/// - Any other condition, a flag for example: publish it, then call [`wake`](Sleepers::wake) on the joint.
///
/// # What cannot
/// - Rings in memory that several processes map (`spsc::shared`, `records::shared`): a joint lies in the memory of one
///   process, where a producer in another one cannot reach it. Let a thread of its own wait for such a ring and push
///   into one that can join.
/// - Rings of which the sides poll (`ring`): they notify nothing. Rings made by `blocking`: they notify their own side.
///   **Nothing tells a closure that looks at such a ring that it will not be woken**, so name the type
///   (`spsc::Consumer<T, Joint>`) where the ring is handed to it.
/// - Event counts: they wake their own waiters. A thread that increments one calls [`wake`](Sleepers::wake) on the
///   joint as well, and the closure compares [`value`](uncontended_wait::EventCount::value) with the last that it saw.
/// - File descriptors.
///
/// # Example
/// ```
/// use uncontended_ring::lossy::{self, ObserveError};
/// use uncontended_ring::{PopError, notifier::Joint, spsc};
///
/// enum Next {
///     Order(&'static str),
///     Price(u64),
///     Lost(u64),
///     End,
/// }
///
/// let joint = Joint::new();
/// let (mut feed, mut market) = lossy::blocking_at(64, &joint)?;
/// let (mut control, mut orders) = spsc::blocking_at(4, &joint)?;
/// let trader = std::thread::spawn(move || {
///     let (mut price, mut missed, mut done) = (0, 0, Vec::new());
///     loop {
///         // Orders first: what arrives by the other ring may wait.
///         let next = joint.sleep_until(|| match orders.pop() {
///             Ok(order) => Some(Next::Order(order)),
///             Err(PopError::Closed) => Some(Next::End),
///             Err(PopError::Empty) => match market.read() {
///                 Ok(price) => Some(Next::Price(price)),
///                 Err(ObserveError::Lost(count)) => Some(Next::Lost(count)),
///                 Err(ObserveError::Closed) => Some(Next::End),
///                 Err(ObserveError::Empty) => None, // nothing in either ring: sleep
///             },
///         });
///         match next {
///             Next::Order(order) => done.push((order, price)),
///             Next::Price(new) => price = new,
///             Next::Lost(count) => missed += count,
///             Next::End => return (done, missed),
///         }
///     }
/// });
/// feed.push(101);
/// control.push_wait("buy").unwrap();
/// drop(control); // its orders are read, then it is closed
/// let (done, missed) = trader.join().unwrap();
/// assert!(matches!(done[..], [("buy", 0 | 101)]) && missed == 0);
/// # Ok::<(), uncontended_ring::CapacityError>(())
/// ```
#[derive(Clone, Debug)]
#[doc(alias("select", "Select"))]
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

    /// Wakes all: some may wait for another ring.
    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    fn notify_sharers(&self, _: usize) {
        self.0.wake();
    }
}

impl Sleeping for Joint {
    #[inline(always)]
    fn sleepers(&self) -> &Sleepers {
        self
    }
}
