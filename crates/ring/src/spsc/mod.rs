//! One producer, one consumer.
//!
//! # Contract
//! [`Producer::push`] and [`Consumer::pop`] are wait-free: no loop, no lock, no atomic read-modify-write. Each value
//! comes out once, in FIFO order. A ring of capacity n is full when it holds n values, no sooner. [`Producer::claim`]
//! and [`Consumer::read`] handle several values in place; one store publishes or releases all of them.
//!
//! After the producer is dropped, the consumer pops what is left, then gets [`PopError::Closed`](crate::PopError).
//! After the consumer is dropped, pushes fail with [`PushError::Closed`](crate::PushError). The consumer's drop drops
//! the queued values; a value that was being pushed at that moment is dropped with the producer.
//!
//! # State
//! `tail`, written by the producer, and `head`, written by the consumer, on separate cache lines. Each side caches the
//! other's position and reloads it only when the cached one says full or empty; a consumer in a stream pauses first
//! (`pace`).
//!
//! I1: `0 <= tail - head <= capacity`.
//! I2: slots from `head` to `tail` hold values and belong to the consumer; the others are empty and belong to the
//!     producer.
//! I3: there is one producer and one consumer; both need `&mut self`.
//! I4: the control block and the slots live as long as the keeper, which both sides hold.
//! I5: the slots of a [`Claim`] before its free ones hold values.
//! I6: in a [`Batch`], the first `len` slots from `head` on hold values.
//! I7: while an iterator owns values that were set aside, the consumer's `head` is right after them. So no value is
//!     read after it was taken, even if the iterator is leaked.
//!
//! # Edges
//! publish: `Producer::publish` stores `tail` -> `Consumer::look` loads it. Carries the values.
//! vacate: `Consumer::vacate` stores `head` -> `Producer::look` loads it. Carries the end of the last read.
//!
//! # Evidence
//! Tests below; tests/model.rs.
//!
//! # Sources
//! Lamport, 1983. The cached opposite index: Lee, Bu, Chandranmenon, MCRingBuffer, 2010. Prefetching: `view`.

mod batch;
#[cfg(feature = "std")]
mod blocking;
#[cfg(all(test, not(unc_model)))]
mod blocking_tests;
mod claim;
mod consumer;
mod producer;
#[cfg(all(feature = "std", not(unc_model)))]
pub mod shared;
#[cfg(all(test, not(unc_model)))]
mod shared_tests;
#[cfg(all(test, not(unc_model)))]
mod tests;

pub use self::batch::{Batch, Iter, Taken};
#[cfg(feature = "std")]
pub use self::blocking::{BlockingConsumer, BlockingProducer, blocking, blocking_at};
pub use self::claim::Claim;
pub use self::consumer::Consumer;
pub use self::producer::Producer;

use crate::CapacityError;
use crate::notifier::{Listeners, Notifier, Silent};
use crate::position::{Cursor, Position};
use crate::slots::{Slot, Slots};
use crate::view::View;
use core::ptr::NonNull;
use uncontended_atomic::Arc;
use uncontended_atomic::CachePadded;
use uncontended_atomic::Ordering::Relaxed;

/// Both sides of a ring.
pub type Sides<T, N = Silent> = (Producer<T, N>, Consumer<T, N>);

/// Makes a ring for at most `capacity` values whose sides poll.
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
/// The capacity is zero, or exceeds [`MAX_CAPACITY`](crate::MAX_CAPACITY) or the available memory.
#[doc(alias("bounded", "channel"))]
pub fn ring<T>(capacity: usize) -> Result<Sides<T>, CapacityError> {
    ring_at(capacity, Position::new(0), Silent)
}

/// The state that both sides share.
#[repr(C)]
pub(crate) struct Control<N> {
    /// The position of the next value to push; only the producer stores it.
    pub(crate) tail: CachePadded<Cursor>,
    /// The position of the next value to pop; only the consumer stores it.
    pub(crate) head: CachePadded<Cursor>,
    /// Notifiers for the consumer, which waits for values, and for the producer, which waits for room.
    pub(crate) values: CachePadded<Listeners<N>>,
    pub(crate) room: CachePadded<N>,
}

impl<N: Notifier> Control<N> {
    fn new(start: Position, values: N) -> Control<N> {
        Control {
            tail: CachePadded::new(Cursor::new("tail", start)),
            head: CachePadded::new(Cursor::new("head", start)),
            values: CachePadded::new(Listeners::at(values)),
            room: CachePadded::new(N::default()),
        }
    }
}

/// Owner of a ring's memory.
enum Keeper<T, N> {
    /// The heap.
    Owned { _ring: Arc<Owned<T, N>> },
    /// The caller, while the role is held.
    #[cfg(all(feature = "std", not(unc_model)))]
    Given(crate::given::Held),
}

impl<T, N> Keeper<T, N> {
    /// Whether its side is the copy that a fork left in a child, and changes nothing when it is dropped.
    fn is_a_copy(&self) -> bool {
        match self {
            Keeper::Owned { .. } => false,
            #[cfg(all(feature = "std", not(unc_model)))]
            Keeper::Given(role) => role.is_a_copy(),
        }
    }
}

/// A ring in its own memory.
struct Owned<T, N> {
    control: Control<N>,
    slots: Slots<Slot<T>>,
}

/// Makes a ring whose first value is at `start`, and whose pushes notify `values`.
pub(crate) fn ring_at<T, N: Notifier>(
    capacity: usize,
    start: Position,
    values: N,
) -> Result<Sides<T, N>, CapacityError> {
    let slots = Slots::new(capacity, |_| Slot::new())?;
    let ring = Arc::new(Owned { control: Control::new(start, values), slots });
    let place = Place {
        control: NonNull::from(&ring.control),
        slots: ring.slots.view(),
        capacity: capacity as u64,
    };
    let keeper = Keeper::Owned { _ring: Arc::clone(&ring) };
    // SAFETY: the ring is new, and both sides keep it (I4).
    let producer = unsafe { Producer::new(place, start, start, keeper) };
    // SAFETY: as for the producer (I4).
    Ok((producer, unsafe { Consumer::new(place, start, Keeper::Owned { _ring: ring }) }))
}

impl<T, N> Drop for Owned<T, N> {
    fn drop(&mut self) {
        // Both sides have gone, so these no longer change.
        let tail = self.control.tail.load(Relaxed).position();
        let mut head = self.control.head.load(Relaxed).position();
        while core::mem::needs_drop::<T>() && head != tail {
            // SAFETY: slots from `head` to `tail` hold values (I2), and each is taken once.
            drop(unsafe { self.slots.at(head).read() });
            head = head.plus(1);
        }
    }
}

/// Pointers into a ring, which each side keeps for itself. They are valid as long as the keeper lives (I4).
struct Place<T, N> {
    control: NonNull<Control<N>>,
    slots: View<Slot<T>>,
    capacity: u64,
}

impl<T, N> Place<T, N> {
    /// The control block. The caller must hold the keeper (I4).
    #[inline(always)]
    unsafe fn control(&self) -> &Control<N> {
        // SAFETY: the caller holds the keeper (I4).
        unsafe { self.control.as_ref() }
    }
}

impl<T, N> Clone for Place<T, N> {
    fn clone(&self) -> Place<T, N> {
        *self
    }
}

impl<T, N> Copy for Place<T, N> {}
