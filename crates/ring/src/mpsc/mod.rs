//! Many producers, one consumer.
//!
//! # Contract
//! Producers are cloned and used by as many threads; values of one producer come out in the order in which it pushed
//! them. `push` is lock-free: a try that another producer's came before is made again. `pop` is wait-free.
//!
//! A producer first claims a slot, then writes and publishes it, and the consumer waits for the oldest claim. Between
//! claiming and publishing only moves of values happen, no code of the user's: so nothing can panic there, and the
//! consumer is never left waiting for a value that does not come. (A thread stopped there, by a debugger or for want of
//! a CPU, does hold the consumer up.) Batches are given as a whole for the same reason: [`Producer::push_all`].
//!
//! When the last producer goes, the consumer pops what is left, then sees
//! [`PopError::Closed`](crate::PopError::Closed). When the consumer goes, pushes fail from then on, with
//! [`PushError::Closed`](crate::PushError::Closed), and what is in the ring is dropped by the consumer's drop; what was
//! being pushed at that moment is dropped when the last producer goes.
//!
//! # State
//! `tail`: the next slot to be claimed; `head`: the next to be popped, written by the consumer; `end`: where the values
//! end, once the last producer has gone. Each slot has a sequence: the position after the value that was last published
//! in it.
//!
//! I1: `0 <= tail - head <= capacity`.
//! I2: a slot between `head` and `tail` is its claimer's until its sequence says that it is published, then the
//!     consumer's; the others are empty.
//! I3: a position is claimed once: by a compare-and-swap of `tail`, which never comes back to a value.
//! I4: there is one consumer, and it needs `&mut self`.
//! I5: `producers` counts the handles; who takes it to zero is the last who reads `tail`.
//! I6: a side keeps its ring until it is dropped.
//!
//! # Edges
//! mpsc-publish: `Producer::publish` stores a slot's sequence -> `Consumer::is_published` loads it. Carries the value.
//! mpsc-vacate: `Consumer::vacate` stores `head` -> `Producer::look` loads it. Carries the end of the last read.
//! mpsc-last: each producer's drop -> the last one's. Carries their claims.
//!
//! # Evidence
//! Tests below; tests/model_mpsc.rs, tests/model_turns.rs; compare/: `r7_many_producers`.
//!
//! # Sources
//! Vyukov's bounded queue, 2010 (a sequence in each slot); here the consumer is one, and capacity is any number.

mod blocking;
mod consumer;
mod producer;
#[cfg(all(test, not(unc_model)))]
mod tests;

pub use self::blocking::blocking;
pub use self::consumer::Consumer;
pub use self::producer::Producer;

use crate::CapacityError;
use crate::notifier::{Listeners, Notifier, Silent};
use crate::position::{Cursor, Position};
use crate::slots::{Slot, Slots};
use uncontended_atomic::CachePadded;
use uncontended_atomic::Ordering::Relaxed;
use uncontended_atomic::{Arc, AtomicUsize, Named};

/// A producer, to be cloned, and the consumer.
pub type Sides<T, B = Silent> = (Producer<T, B>, Consumer<T, B>);

/// A ring for at most `capacity` values, whose sides poll.
///
/// ```
/// let (producer, mut consumer) = uncontended_ring::mpsc::ring(8)?;
/// let threads = [1, 2, 3].map(|value| {
///     let mut producer = producer.clone();
///     std::thread::spawn(move || producer.push(value).unwrap())
/// });
/// threads.map(|thread| thread.join().unwrap());
/// assert_eq!((0..3).map(|_| consumer.pop().unwrap()).sum::<i32>(), 6);
/// # Ok::<(), uncontended_ring::CapacityError>(())
/// ```
///
/// # Errors
/// Zero, or more than [`MAX_CAPACITY`](crate::MAX_CAPACITY) or than there is memory for.
pub fn ring<T>(capacity: usize) -> Result<Sides<T>, CapacityError> {
    ring_at(capacity, Position::new(0))
}

/// What all sides share.
struct Ring<T, B> {
    tail: CachePadded<Cursor>,
    head: CachePadded<Cursor>,
    /// For who waits for values, and for those who wait for room.
    values: CachePadded<Listeners<B>>,
    room: CachePadded<Room<B>>,
    producers: AtomicUsize,
    /// Where the values end, once the last producer has gone.
    end: Cursor,
    slots: Slots<Sequenced<T>>,
    capacity: u64,
}

/// For those who wait for room: for one slot, of whom a slot that is free wakes one, and for several at once, who all
/// are woken because nobody knows for which of them it is enough.
#[derive(Default)]
struct Room<B> {
    one: B,
    several: B,
}

impl<B: Notifier> Room<B> {
    /// Where to wait for `count` slots.
    fn notifier(&self, count: u64) -> &B {
        if count == 1 { &self.one } else { &self.several }
    }

    /// `count` slots are free.
    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    fn notify(&self, count: u64) {
        self.one.notify_for(count as usize);
        self.several.notify();
    }
}

/// A slot, and the position after the value last published in it.
struct Sequenced<T> {
    sequence: Cursor,
    slot: Slot<T>,
}

/// A ring whose first value is at `start`.
fn ring_at<T, B: Notifier>(capacity: usize, start: Position) -> Result<Sides<T, B>, CapacityError> {
    // Nothing is published: the sequence of the first value in each slot is at least `start + 1`.
    let empty = |_| Sequenced { sequence: Cursor::new("sequence", start), slot: Slot::new() };
    let ring = Arc::new(Ring {
        tail: CachePadded::new(Cursor::new("tail", start)),
        head: CachePadded::new(Cursor::new("head", start)),
        values: CachePadded::new(Listeners::default()),
        room: CachePadded::new(Room::default()),
        producers: AtomicUsize::new(1).named("producers"),
        end: Cursor::new("end", start),
        slots: Slots::new(capacity, empty)?,
        capacity: capacity as u64,
    });
    Ok((Producer::new(Arc::clone(&ring), start), Consumer::new(ring, start)))
}

impl<T, B> Drop for Ring<T, B> {
    fn drop(&mut self) {
        // All sides have gone, so what was claimed is published, and nobody moves these any more.
        let tail = self.tail.load(Relaxed).position();
        let mut head = self.head.load(Relaxed).position();
        while std::mem::needs_drop::<T>() && head != tail {
            // SAFETY: slots from `head` to `tail` hold values (I2), each taken once.
            drop(unsafe { self.slots.at(head).slot.read() });
            head = head.plus(1);
        }
    }
}
