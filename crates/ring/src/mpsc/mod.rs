//! Many producers, one consumer.
//!
//! # Contract
//! Each thread that pushes has its own clone of the producer, or shares one. The values of one thread come out in the
//! order in which it pushed them. `push` is lock-free: it retries if another thread was faster. `pop` is wait-free.
//!
//! A producer claims a slot, then writes and publishes it; the consumer waits for the oldest claim. Between claim and
//! publication the producer only moves values and runs no user code, so it cannot panic there and leave the consumer
//! waiting for a value that never comes. (A thread stopped there, by a debugger or by preemption, does hold up the
//! consumer.) For the same reason a batch is passed as a whole: [`Producer::push_all`].
//!
//! After the last producer is dropped, the consumer pops what is left, then gets
//! [`PopError::Closed`](crate::PopError::Closed). After the consumer is dropped, pushes fail with
//! [`PushError::Closed`](crate::PushError::Closed). The consumer's drop drops the queued values; a value that was being
//! pushed at that moment is dropped with the last producer.
//!
//! # State
//! `tail`: the next slot to claim. `head`: the next slot to pop, written by the consumer. `end`: where the values end,
//! once the last producer has gone. Each slot has a sequence: one more than the position of the value last published in
//! it.
//!
//! I1: `0 <= tail - head <= capacity`.
//! I2: a slot between `head` and `tail` belongs to the push that claimed it until its sequence says that it is
//!     published, then to the consumer; the others are empty.
//! I3: a position is claimed once: by a compare-and-swap of `tail`, which never takes the same value twice.
//! I4: there is one consumer, and it needs `&mut self`.
//! I5: `producers` counts the handles; the producer that takes it to zero is the last one to read `tail`.
//! I6: a side keeps its ring until it is dropped.
//!
//! # Edges
//! mpsc-publish: `Producer::publish` stores a slot's sequence -> `Consumer::is_published` loads it. Carries the value.
//! mpsc-vacate: `Consumer::vacate` stores `head` -> `Producer::look` and `Producer::len` load it. Carries the end of
//!     the last read, and the claims of what was read.
//! mpsc-share: `Producer::look` stores the producer's `limit` -> another thread's claim by the same producer loads
//!     it. Carries mpsc-vacate on.
//! mpsc-last: each producer's drop -> the last one's. Carries their claims.
//!
//! # Evidence
//! Tests below; tests/model_mpsc.rs, tests/model_turns.rs; compare/: `r7_many_producers`.
//!
//! # Sources
//! Vyukov's bounded queue, 2010 (a sequence in each slot); here with one consumer and any capacity.

#[cfg(feature = "std")]
mod blocking;
mod consumer;
mod producer;
#[cfg(all(test, not(unc_model)))]
mod tests;

#[cfg(feature = "std")]
pub use self::blocking::{BlockingConsumer, BlockingProducer, blocking, blocking_at};
pub use self::consumer::Consumer;
pub use self::producer::Producer;

use crate::CapacityError;
use crate::notifier::{Listeners, Notifier, Silent};
use crate::position::{Cursor, Position};
use crate::slots::{Slot, Slots};
use uncontended_atomic::CachePadded;
use uncontended_atomic::Ordering::Relaxed;
use uncontended_atomic::{Arc, AtomicUsize, Named};

/// The first producer, to be cloned, and the consumer.
pub type Sides<T, N = Silent> = (Producer<T, N>, Consumer<T, N>);

/// Makes a ring for at most `capacity` values whose sides poll.
///
/// ```
/// let (producer, mut consumer) = uncontended_ring::mpsc::ring(8)?;
/// let threads = [1, 2, 3].map(|value| {
///     let producer = producer.clone();
///     std::thread::spawn(move || producer.push(value).unwrap())
/// });
/// threads.map(|thread| thread.join().unwrap());
/// assert_eq!((0..3).map(|_| consumer.pop().unwrap()).sum::<i32>(), 6);
/// # Ok::<(), uncontended_ring::CapacityError>(())
/// ```
///
/// # Errors
/// The capacity is zero, or exceeds [`MAX_CAPACITY`](crate::MAX_CAPACITY) or the available memory.
#[doc(alias("bounded", "channel"))]
pub fn ring<T>(capacity: usize) -> Result<Sides<T>, CapacityError> {
    ring_at(capacity, Position::new(0), Silent)
}

/// The state that all sides share.
struct Ring<T, N> {
    tail: CachePadded<Cursor>,
    head: CachePadded<Cursor>,
    /// Notifiers for the consumer, which waits for values, and for producers, which wait for room.
    values: CachePadded<Listeners<N>>,
    room: CachePadded<Room<N>>,
    producers: AtomicUsize,
    /// Where the values end, once the last producer has gone.
    end: Cursor,
    slots: Slots<Sequenced<T>>,
    capacity: u64,
}

/// The notifiers of producers that wait for room. A free slot wakes one of those that wait for one slot, and all that
/// wait for several, since the ring does not know how many each of them needs.
#[derive(Default)]
struct Room<N> {
    one: N,
    several: N,
}

impl<N: Notifier> Room<N> {
    /// The notifier of a producer that waits for `count` slots.
    fn notifier(&self, count: u64) -> &N {
        if count == 1 { &self.one } else { &self.several }
    }

    /// Notifies producers of `count` free slots.
    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    fn notify(&self, count: u64) {
        self.one.notify_for(count as usize);
        self.several.notify();
    }
}

/// A slot and its sequence: one more than the position of the value last published in it.
struct Sequenced<T> {
    sequence: Cursor,
    slot: Slot<T>,
}

/// Makes a ring whose first value is at `start`, and whose pushes notify `values`.
fn ring_at<T, N: Notifier>(
    capacity: usize,
    start: Position,
    values: N,
) -> Result<Sides<T, N>, CapacityError> {
    // Nothing is published: the first value in each slot has a sequence of at least `start + 1`.
    let empty = |_| Sequenced { sequence: Cursor::new("sequence", start), slot: Slot::new() };
    let ring = Arc::new(Ring {
        tail: CachePadded::new(Cursor::new("tail", start)),
        head: CachePadded::new(Cursor::new("head", start)),
        values: CachePadded::new(Listeners::at(values)),
        room: CachePadded::new(Room::default()),
        producers: AtomicUsize::new(1).named("producers"),
        end: Cursor::new("end", start),
        slots: Slots::new(capacity, empty)?,
        capacity: capacity as u64,
    });
    // SAFETY: the ring is new, starts at `start`, and counts one producer (I1, I5).
    let producer = unsafe { Producer::new(Arc::clone(&ring), start) };
    // SAFETY: this is the first consumer of a new ring (I4).
    Ok((producer, unsafe { Consumer::new(ring, start) }))
}

impl<T, N> Drop for Ring<T, N> {
    fn drop(&mut self) {
        // All sides have gone, so every claim is published, and these no longer change.
        let tail = self.tail.load(Relaxed).position();
        let mut head = self.head.load(Relaxed).position();
        while core::mem::needs_drop::<T>() && head != tail {
            // SAFETY: slots from `head` to `tail` hold values (I2), and each is taken once.
            drop(unsafe { self.slots.at(head).slot.read() });
            head = head.plus(1);
        }
    }
}
