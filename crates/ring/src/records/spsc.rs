//! Byte records from one producer to one consumer.
//!
//! # Contract
//! Wait-free on both sides, without an atomic read-modify-write. A claim changes nothing that the consumer sees, so an
//! aborted claim leaves no trace. For the rest see [`records`](super).
//!
//! # State
//! `tail`, written by the producer, and `head`, written by the consumer, in words.
//!
//! I1: `0 <= tail - head <= words`.
//! I2: words from `head` to `tail` are whole records and belong to the consumer; the others belong to the producer.
//! I3: there is one producer and one consumer; both need `&mut self`.
//! I4: a side keeps its ring until it is dropped.
//!
//! # Edges
//! records-publish: `commit` stores `tail` -> the consumer loads it. Carries the record, its header and the padding
//!     before it.
//! records-vacate: the consumer stores `head` -> the producer loads it. Carries the end of the last read.
//!
//! # Evidence
//! Tests in `records`; tests/model_records.rs; fuzz target `records`.
//!
//! # Sources
//! Agrona's one-to-one ring buffer, for its interface: claim, commit, abort, padding.

use super::header::{Header, words_for};
use super::record::{Found, judge};
use super::sides::{Claimed, Place, Reader, Writer};
use super::words::Words;
use super::{Chunk, Record, RecordError};
#[cfg(feature = "std")]
use crate::notifier::Joint;
use crate::notifier::{Listeners, Notifier, Silent};
use crate::position::{Cursor, Mark, Position};
use crate::{CapacityError, ClaimError};
use core::fmt;
use uncontended_atomic::Arc;
use uncontended_atomic::CachePadded;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
#[cfg(feature = "std")]
use uncontended_wait::Sleepers;

/// Both sides of a ring.
pub type Sides<N = Silent> = (Producer<N>, Consumer<N>);

/// Makes a ring of at least `capacity` bytes whose sides poll.
///
/// # Errors
/// The capacity is zero, or exceeds [`MAX_CAPACITY`](crate::MAX_CAPACITY) or the available memory.
#[doc(alias("bounded", "channel"))]
pub fn ring(capacity: usize) -> Result<Sides, CapacityError> {
    build(capacity, Silent)
}

/// Like [`ring`], but with sides that may sleep.
///
/// # Errors
/// As for [`ring`].
#[cfg(feature = "std")]
#[doc(alias("bounded", "channel"))]
pub fn blocking(capacity: usize) -> Result<Sides<Sleepers>, CapacityError> {
    build(capacity, Sleepers::new())
}

/// The same for a consumer that also waits for other rings: what it may wait for (a commit, the departure of
/// the producer) notifies `joint`.
///
/// # Errors
/// As for [`ring`].
#[cfg(feature = "std")]
pub fn blocking_at(capacity: usize, joint: &Joint) -> Result<Sides<Joint>, CapacityError> {
    build(capacity, joint.clone())
}

/// The state that both sides share.
pub(super) struct Ring<N> {
    tail: CachePadded<Cursor>,
    head: CachePadded<Cursor>,
    /// Notifiers for the consumer, which waits for records, and for the producer, which waits for room.
    values: CachePadded<Listeners<N>>,
    room: CachePadded<N>,
    words: Words,
}

impl<N> Ring<N> {
    /// The notifier of the consumer.
    pub(super) fn values(&self) -> &N {
        &self.values
    }

    /// The notifier of the producer.
    pub(super) fn room(&self) -> &N {
        &self.room
    }
}

/// Makes a ring whose records notify `values`.
fn build<N: Notifier>(capacity: usize, values: N) -> Result<Sides<N>, CapacityError> {
    let start = Position::new(0);
    let ring = Arc::new(Ring {
        tail: CachePadded::new(Cursor::new("tail", start)),
        head: CachePadded::new(Cursor::new("head", start)),
        values: CachePadded::new(Listeners::at(values)),
        room: CachePadded::new(N::default()),
        words: Words::new(capacity)?,
    });
    let limit = start.plus(ring.words.len());
    let producer = Producer { ring: Arc::clone(&ring), tail: start, limit };
    Ok((producer, Consumer { ring, head: start, seen: start }))
}

/// The producer: the side that writes records.
///
/// ```
/// use uncontended_ring::ClaimError;
///
/// let (mut producer, mut consumer) = uncontended_ring::records::spsc::ring(64)?;
/// producer.push(b"whole")?;
/// let mut chunk = producer.claim(2)?;
/// chunk.copy_from_slice(b"ok");
/// chunk.commit();
/// assert_eq!(producer.push(&[0; 1000]), Err(ClaimError::TooLong { most: producer.longest() }));
/// for expected in [&b"whole"[..], b"ok"] {
///     let record = consumer.read()?;
///     assert_eq!(&*record, expected);
///     record.release();
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "Sender")]
pub struct Producer<N: Notifier = Silent> {
    pub(super) ring: Arc<Ring<N>>,
    /// `ring.tail`, which only this side stores.
    tail: Position,
    /// Where the ring is full, according to the last load of `head`.
    limit: Position,
}

impl<N: Notifier> Producer<N> {
    /// Claims room for a record of `len` bytes.
    ///
    /// # Errors
    /// There is not enough room now; or `len` exceeds the longest record; or the consumer has gone.
    #[inline]
    pub fn claim(&mut self, len: usize) -> Result<Chunk<'_, Self>, ClaimError> {
        let claimed = self.find(len)?;
        // SAFETY: the range was claimed just now (I2).
        Ok(unsafe { Chunk::new(self, claimed) })
    }

    /// Pushes a record with a copy of `bytes`.
    ///
    /// # Errors
    /// As for [`claim`](Producer::claim).
    #[inline]
    #[doc(alias = "try_send")]
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), ClaimError> {
        let mut chunk = self.claim(bytes.len())?;
        chunk.fill(bytes);
        chunk.commit();
        Ok(())
    }

    #[inline]
    pub(super) fn find(&mut self, len: usize) -> Result<Claimed, ClaimError> {
        let words = &self.ring.words;
        if len > words.longest() {
            return Err(ClaimError::TooLong { most: words.longest() });
        }
        if self.is_closed() {
            return Err(ClaimError::Closed);
        }
        let (span, to_end) = (words_for(len), words.to_end(self.tail));
        let padding = if span > to_end { to_end } else { 0 };
        if self.limit.since(self.tail) < padding + span {
            // EDGE records-vacate (acquire): the consumer has read what the room held.
            let head = self.ring.head.load(Acquire);
            self.limit = head.position().plus(words.len());
            if self.limit.since(self.tail) < padding + span {
                return Err(ClaimError::Full);
            }
        }
        Ok(Claimed { at: self.tail.plus(padding), padding, len })
    }

    /// The length of the longest record, in bytes.
    pub fn longest(&self) -> usize {
        self.ring.words.longest()
    }

    /// Whether the consumer has gone.
    #[inline(always)]
    pub fn is_closed(&self) -> bool {
        self.ring.values.have_gone()
    }
}

impl<N: Notifier> Writer for Producer<N> {
    #[inline(always)]
    fn words(&self) -> &Words {
        &self.ring.words
    }

    #[inline]
    unsafe fn commit(&mut self, claimed: Claimed) {
        let words = &self.ring.words;
        if claimed.padding > 0 {
            // SAFETY: the padding was claimed with the record (I2).
            unsafe { words.put(self.tail, Header::skip(claimed.padding)) };
        }
        // SAFETY: the record's words were claimed (I2).
        unsafe { words.put(claimed.at, Header::Record(claimed.len as u32)) };
        self.tail = claimed.at.plus(words_for(claimed.len));
        debug_assert!(!self.tail.is_after(self.limit), "I1: no more than there was room for");
        // EDGE records-publish (release): a consumer that sees this sees the record.
        self.ring.tail.store(self.tail, Release);
        self.ring.values.notify();
    }

    unsafe fn abort(&mut self, _: Claimed) {}
}

impl<N: Notifier> Drop for Producer<N> {
    fn drop(&mut self) {
        // EDGE records-publish (release): a consumer that sees that the producer has gone sees all its records.
        self.ring.tail.store_gone(self.tail, Release);
        self.ring.values.notify();
    }
}

impl<N: Notifier> fmt::Debug for Producer<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("longest", &self.longest()).finish_non_exhaustive()
    }
}

/// The consumer: the side that reads records.
///
/// ```
/// use uncontended_ring::records::RecordError;
///
/// let (mut producer, mut consumer) = uncontended_ring::records::spsc::ring(64)?;
/// producer.push(b"again")?;
/// drop(consumer.read()?); // not released
/// consumer.read()?.release();
/// assert_eq!(consumer.read().err(), Some(RecordError::Empty));
/// drop(producer);
/// assert_eq!(consumer.read().err(), Some(RecordError::Closed));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "Receiver")]
pub struct Consumer<N: Notifier = Silent> {
    pub(super) ring: Arc<Ring<N>>,
    /// `ring.head`, which only this side stores; or past the padding after it.
    head: Position,
    /// The last load of `tail`.
    seen: Position,
}

impl<N: Notifier> Consumer<N> {
    /// Reads the oldest record that was not released. **One that is not released is returned again by the next read**,
    /// and the producer waits for room.
    ///
    /// # Errors
    /// There is no record now, or there will never be one.
    #[inline]
    #[doc(alias = "try_recv")]
    pub fn read(&mut self) -> Result<Record<'_, Self>, RecordError> {
        let place = self.find()?;
        // SAFETY: the record was found just now (I2).
        Ok(unsafe { Record::new(self, place) })
    }

    #[inline]
    pub(super) fn find(&mut self) -> Result<Place, RecordError> {
        loop {
            if self.head == self.seen {
                let tail = self.look();
                if self.head == self.seen {
                    return Err(if tail.is_gone() {
                        RecordError::Closed
                    } else {
                        RecordError::Empty
                    });
                }
            }
            let words = &self.ring.words;
            let left = self.seen.since(self.head);
            // SAFETY: `head` is before `tail`, so a record, or padding and a record, is there and belongs to the
            // consumer (I2).
            let header = unsafe { words.get(self.head) };
            match judge(words, self.head, header, left)? {
                Found::Record(len) => return Ok(Place { at: self.head, len }),
                // A record follows. Its release frees the padding too.
                Found::Skip(span) => self.head = self.head.plus(span),
                Found::Nothing | Found::Claimed(_) => return Err(RecordError::Corrupt),
            }
        }
    }

    /// Loads how far the producer has come.
    fn look(&mut self) -> Mark {
        // EDGE records-publish (acquire): the records before `tail` have been written.
        let tail = self.ring.tail.load(Acquire);
        self.seen = tail.position();
        tail
    }

    /// Whether the producer has gone. The values that it left can still be read.
    pub fn is_closed(&self) -> bool {
        self.ring.tail.load(Relaxed).is_gone()
    }
}

impl<N: Notifier> Reader for Consumer<N> {
    #[inline(always)]
    fn words(&self) -> &Words {
        &self.ring.words
    }

    #[inline]
    unsafe fn release(&mut self, record: Place) {
        self.head = record.at.plus(words_for(record.len));
        debug_assert!(!self.head.is_after(self.seen), "I2: no more than was seen to be published");
        // EDGE records-vacate (release): the record has been read.
        self.ring.head.store(self.head, Release);
        self.ring.room.notify();
    }
}

impl<N: Notifier> Drop for Consumer<N> {
    fn drop(&mut self) {
        self.ring.values.go();
        // EDGE records-vacate (release): a producer that sees that the consumer has gone sees all its reads done.
        self.ring.head.store_gone(self.head, Release);
        self.ring.room.notify();
    }
}

impl<N: Notifier> fmt::Debug for Consumer<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").finish_non_exhaustive()
    }
}
