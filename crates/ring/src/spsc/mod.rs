//! One producer, one consumer.
//!
//! # Contract
//! [`Producer::push`] and [`Consumer::pop`] are wait-free: no loop, no lock, no atomic read-modify-write. Values come
//! out once each, in the order in which they went in. A ring of capacity n is full when n values are in it, no sooner.
//! Several values at once: [`Producer::claim`] and [`Consumer::read`], in place; one store publishes or releases them
//! all.
//!
//! When the producer goes, the consumer pops what is left, then sees [`PopError::Closed`](crate::PopError). When the
//! consumer goes, pushes fail from then on, with [`PushError::Closed`](crate::PushError), and what is in the ring is
//! dropped by the consumer's drop; what was being pushed at that moment is dropped when the producer goes.
//!
//! # State
//! `tail`, written by the producer, and `head`, written by the consumer, each on lines of its own. Each side keeps what
//! it last saw of the other's, and looks again only when that says full or empty; a consumer in a stream not at once
//! (`pace`).
//!
//! I1: `0 <= tail - head <= capacity`.
//! I2: slots from `head` to `tail` hold values and are the consumer's; the others are empty and the producer's.
//! I3: there is one producer and one consumer; both need `&mut self`.
//! I4: the control block and the slots live as long as the keeper, which both sides have.
//! I5: the first `written` slots of a [`Claim`] hold values.
//! I6: the first `len` slots from `head` on of a [`Batch`] hold values.
//! I7: the consumer's `head` is the `end` of the iterator for which values were set aside, as long as that is there, so
//!     that nobody comes upon values that were taken, whether the iterator is leaked or not.
//!
//! # Edges
//! publish: `Producer::publish` stores `tail` -> `Consumer::look` loads it. Carries the values.
//! vacate: `Consumer::vacate` stores `head` -> `Producer::look` loads it. Carries the end of the last read.
//!
//! # Evidence
//! Tests below; tests/model.rs.
//!
//! # Sources
//! Lamport, 1983; the cached opposite index: Lee, Bu, Chandranmenon, MCRingBuffer, 2010. Fetching ahead: `view`.

mod batch;
mod blocking;
#[cfg(all(test, not(unc_model)))]
mod blocking_tests;
mod claim;
mod consumer;
mod producer;
#[cfg(not(unc_model))]
pub mod shared;
#[cfg(all(test, not(unc_model)))]
mod shared_tests;
#[cfg(all(test, not(unc_model)))]
mod tests;

pub use self::batch::{Batch, Iter, Taken};
pub use self::blocking::blocking;
pub use self::claim::Claim;
pub use self::consumer::Consumer;
pub use self::producer::Producer;

use crate::CapacityError;
use crate::notifier::{Listeners, Notifier, Silent};
use crate::position::{Cursor, Position};
use crate::slots::{Slot, Slots};
use crate::view::View;
use std::ptr::NonNull;
use uncontended_atomic::Arc;
use uncontended_atomic::CachePadded;
use uncontended_atomic::Ordering::Relaxed;

/// Both sides of a ring.
pub type Sides<T, B = Silent> = (Producer<T, B>, Consumer<T, B>);

/// A ring for at most `capacity` values, whose sides poll.
///
/// ```
/// let (mut producer, mut consumer) = uncontended_ring::spsc::ring(2)?;
/// std::thread::spawn(move || producer.push("hello"));
/// let greeting = loop {
///     match consumer.pop() {
///         Ok(value) => break value,
///         Err(_) => std::thread::yield_now(),
///     }
/// };
/// assert_eq!(greeting, "hello");
/// # Ok::<(), uncontended_ring::CapacityError>(())
/// ```
///
/// # Errors
/// Zero, or more than [`MAX_CAPACITY`](crate::MAX_CAPACITY) or than there is memory for.
pub fn ring<T>(capacity: usize) -> Result<Sides<T>, CapacityError> {
    ring_at(capacity, Position::new(0))
}

/// What both sides see of each other.
#[repr(C)]
pub(crate) struct Control<B> {
    /// Where the next value goes; only the producer stores it.
    pub(crate) tail: CachePadded<Cursor>,
    /// Where the next value is; only the consumer stores it.
    pub(crate) head: CachePadded<Cursor>,
    /// For those who wait for values, and for room.
    pub(crate) values: CachePadded<Listeners<B>>,
    pub(crate) room: CachePadded<B>,
}

impl<B: Notifier> Control<B> {
    fn new(start: Position) -> Control<B> {
        Control {
            tail: CachePadded::new(Cursor::new("tail", start)),
            head: CachePadded::new(Cursor::new("head", start)),
            values: CachePadded::new(Listeners::default()),
            room: CachePadded::new(B::default()),
        }
    }
}

/// What keeps a ring's memory.
enum Keeper<T, B> {
    /// The heap.
    Owned { _ring: Arc<Owned<T, B>> },
    /// The caller, as long as the role is held.
    #[cfg(not(unc_model))]
    Given(#[allow(dead_code, reason = "it is for its drop")] crate::given::Held),
}

/// A ring in memory of its own.
struct Owned<T, B> {
    control: Control<B>,
    slots: Slots<Slot<T>>,
}

/// A ring whose first value is at `start`.
fn ring_at<T, B: Notifier>(capacity: usize, start: Position) -> Result<Sides<T, B>, CapacityError> {
    let slots = Slots::new(capacity, |_| Slot::new())?;
    let ring = Arc::new(Owned { control: Control::new(start), slots });
    let place = Place {
        control: NonNull::from(&ring.control),
        slots: ring.slots.view(),
        capacity: capacity as u64,
    };
    let keeper = Keeper::Owned { _ring: Arc::clone(&ring) };
    // SAFETY: the ring is new, and kept by both (I4).
    let producer = unsafe { Producer::new(place, start, start, keeper) };
    // SAFETY: as for the producer (I4).
    Ok((producer, unsafe { Consumer::new(place, start, Keeper::Owned { _ring: ring }) }))
}

impl<T, B> Drop for Owned<T, B> {
    fn drop(&mut self) {
        // Both sides have gone, so nobody moves these any more.
        let tail = self.control.tail.load(Relaxed).position();
        let mut head = self.control.head.load(Relaxed).position();
        while std::mem::needs_drop::<T>() && head != tail {
            // SAFETY: slots from `head` to `tail` hold values (I2), each taken once.
            drop(unsafe { self.slots.at(head).read() });
            head = head.plus(1);
        }
    }
}

/// Where a ring is, for a side to keep at hand; good as long as its keeper (I4).
struct Place<T, B> {
    control: NonNull<Control<B>>,
    slots: View<Slot<T>>,
    capacity: u64,
}

impl<T, B> Place<T, B> {
    /// The control block, for as long as the caller has the keeper (I4).
    #[inline(always)]
    unsafe fn control(&self) -> &Control<B> {
        // SAFETY: the caller has the keeper (I4).
        unsafe { self.control.as_ref() }
    }
}

impl<T, B> Clone for Place<T, B> {
    fn clone(&self) -> Place<T, B> {
        *self
    }
}

impl<T, B> Copy for Place<T, B> {}
