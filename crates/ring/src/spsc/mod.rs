//! One producer, one consumer.
//!
//! # Contract
//! [`Producer::push`] and [`Consumer::pop`] are wait-free: no loop, no lock, no atomic read-modify-write. Values come out
//! once each, in the order in which they went in. A ring of capacity n is full when n values are in it, no sooner.
//!
//! When the producer goes, the consumer pops what is left, then sees [`PopError::Closed`]. When the consumer goes, pushes
//! may go on to succeed until the ring is full, just as if they had come before; then comes [`PushError::Closed`].
//! What nobody popped is dropped when the second side goes.
//!
//! # State
//! `tail`, written by the producer, and `head`, written by the consumer, each on lines of its own. Each side keeps what it
//! last saw of the other's, and looks again only when that says full or empty.
//!
//! I1: `0 <= tail - head <= capacity`.
//! I2: slots from `head` to `tail` hold values and are the consumer's; the others are empty and the producer's.
//! I3: there is one producer and one consumer; both need `&mut self`.
//!
//! # Edges
//! publish: `Producer::push` stores `tail` -> `Consumer::look` loads it. Carries the value.
//! vacate: `Consumer::pop` stores `head` -> `Producer::look` loads it. Carries the end of the last read.
//!
//! # Evidence
//! Tests below; tests/model.rs.
//!
//! # Sources
//! Lamport, 1983; the cached opposite index: Lee, Bu, Chandranmenon, MCRingBuffer, 2010.

#[cfg(all(test, not(unc_model)))]
mod tests;

use crate::bell::{Bell, Silent};
use crate::mutant;
use crate::padded::Padded;
use crate::position::{Cursor, Mark, Position};
use crate::slots::{Slot, Slots};
use crate::{CapacityError, PopError, PushError};
use std::fmt;
use uncontended_atomic::Arc;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};

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

/// What both sides share.
struct Ring<T, B> {
    /// Where the next value goes; only the producer stores it.
    tail: Padded<Cursor>,
    /// Where the next value is; only the consumer stores it.
    head: Padded<Cursor>,
    /// For those who wait for values, and for room.
    values: Padded<B>,
    room: Padded<B>,
    slots: Slots<Slot<T>>,
    capacity: u64,
}

/// A ring whose first value is at `start`.
fn ring_at<T, B: Bell>(capacity: usize, start: Position) -> Result<Sides<T, B>, CapacityError> {
    let ring = Arc::new(Ring {
        tail: Padded(Cursor::new(start)),
        head: Padded(Cursor::new(start)),
        values: Padded(B::default()),
        room: Padded(B::default()),
        slots: Slots::new(capacity, |_| Slot::new())?,
        capacity: capacity as u64,
    });
    let limit = start.plus(ring.capacity);
    let producer = Producer { ring: Arc::clone(&ring), tail: start, limit };
    Ok((producer, Consumer { ring, head: start, seen: start }))
}

impl<T, B> Drop for Ring<T, B> {
    fn drop(&mut self) {
        // Both sides have gone, so nobody moves these any more.
        let tail = self.tail.load(Relaxed).position();
        let mut head = self.head.load(Relaxed).position();
        while std::mem::needs_drop::<T>() && head != tail {
            // SAFETY: slots from `head` to `tail` hold values (I2), each taken once.
            drop(unsafe { self.slots.at(head).read() });
            head = head.plus(1);
        }
    }
}

/// The side that pushes.
pub struct Producer<T, B: Bell = Silent> {
    ring: Arc<Ring<T, B>>,
    /// What `ring.tail` is: nobody else stores it.
    tail: Position,
    /// Where the ring is full, by what was last seen of `head`. It only refuses too early, never too late.
    limit: Position,
}

impl<T, B: Bell> Producer<T, B> {
    /// Puts `value` in, if there is room.
    ///
    /// # Errors
    /// The value, when the ring is full, or full and its consumer has gone.
    #[inline]
    pub fn push(&mut self, value: T) -> Result<(), PushError<T>> {
        if self.tail == self.limit {
            let head = self.look();
            if self.tail == self.limit {
                let refuse = if head.is_gone() { PushError::Closed } else { PushError::Full };
                return Err(refuse(value));
            }
        }
        let next = self.tail.plus(1);
        if mutant::is("spsc: publish before the slot is written") {
            // EDGE publish (release): too early.
            self.ring.tail.store(next, Release);
        }
        // SAFETY: there is room, so this slot is empty and the producer's (I1, I2), and there is one producer (I3).
        unsafe { self.ring.slots.at(self.tail).write(value) };
        self.tail = next;
        // EDGE publish (release): who sees this tail sees the value.
        self.ring.tail.store(next, mutant::order("spsc: publish is relaxed", Release));
        self.ring.values.ring();
        Ok(())
    }

    /// Sees how far the consumer has come.
    fn look(&mut self) -> Mark {
        // EDGE vacate (acquire): whoever freed those slots has read them.
        let order = mutant::order("spsc: vacate is read relaxed", Acquire);
        let head = self.ring.head.load(order);
        let extra = u64::from(mutant::is("spsc: one slot too many"));
        self.limit = head.position().plus(self.ring.capacity + extra);
        head
    }

    /// How many values there is room for now; there can only be more later.
    pub fn room(&mut self) -> usize {
        self.look();
        self.limit.since(self.tail) as usize
    }

    /// How many values the ring takes.
    pub fn capacity(&self) -> usize {
        self.ring.capacity as usize
    }

    /// Whether the consumer has gone.
    pub fn is_closed(&self) -> bool {
        self.ring.head.load(Relaxed).is_gone()
    }
}

impl<T, B: Bell> Drop for Producer<T, B> {
    fn drop(&mut self) {
        // EDGE publish (release): who sees that the producer has gone sees all its values.
        self.ring.tail.store_gone(self.tail, Release);
        self.ring.values.ring();
    }
}

impl<T, B: Bell> fmt::Debug for Producer<T, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

/// The side that pops.
pub struct Consumer<T, B: Bell = Silent> {
    ring: Arc<Ring<T, B>>,
    /// What `ring.head` is: nobody else stores it.
    head: Position,
    /// What was last seen of `tail`.
    seen: Position,
}

impl<T, B: Bell> Consumer<T, B> {
    /// Takes the oldest value out.
    ///
    /// # Errors
    /// There is none, or there will never be one.
    #[inline]
    pub fn pop(&mut self) -> Result<T, PopError> {
        self.find()?;
        let next = self.head.plus(1);
        if mutant::is("spsc: vacate before the slot is read") {
            // EDGE vacate (release): too early.
            self.ring.head.store(next, Release);
        }
        // SAFETY: the ring is not empty, so this slot is full and the consumer's (I2), and there is one consumer (I3).
        let value = unsafe { self.ring.slots.at(self.head).read() };
        self.head = next;
        // EDGE vacate (release): the slot has been read.
        self.ring.head.store(next, mutant::order("spsc: vacate is relaxed", Release));
        self.ring.room.ring();
        Ok(value)
    }

    /// The oldest value, left where it is.
    ///
    /// # Errors
    /// There is none, or there will never be one.
    pub fn peek(&mut self) -> Result<&T, PopError> {
        self.find()?;
        // SAFETY: the ring is not empty, so this slot holds a value (I2) until `head` moves, which takes `&mut self` (I3).
        Ok(unsafe { &*self.ring.slots.at(self.head).as_ptr() })
    }

    /// Makes sure that there is a value.
    #[inline(always)]
    fn find(&mut self) -> Result<(), PopError> {
        if self.head == self.seen {
            let tail = self.look();
            if self.head == self.seen {
                return Err(if tail.is_gone() { PopError::Closed } else { PopError::Empty });
            }
        }
        Ok(())
    }

    /// Sees how far the producer has come.
    fn look(&mut self) -> Mark {
        // EDGE publish (acquire): the values up to there have been written.
        let order = mutant::order("spsc: publish is read relaxed", Acquire);
        let tail = self.ring.tail.load(order);
        self.seen = tail.position();
        tail
    }

    /// How many values are there now; there can only be more later.
    pub fn available(&mut self) -> usize {
        self.look();
        self.seen.since(self.head) as usize
    }

    /// How many values the ring takes.
    pub fn capacity(&self) -> usize {
        self.ring.capacity as usize
    }

    /// Whether the producer has gone. What it left can still be popped.
    pub fn is_closed(&self) -> bool {
        self.ring.tail.load(Relaxed).is_gone()
    }
}

impl<T, B: Bell> Drop for Consumer<T, B> {
    fn drop(&mut self) {
        // EDGE vacate (release): who sees that the consumer has gone sees what it took.
        self.ring.head.store_gone(self.head, Release);
        self.ring.room.ring();
    }
}

impl<T, B: Bell> fmt::Debug for Consumer<T, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}
