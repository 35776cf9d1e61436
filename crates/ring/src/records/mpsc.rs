//! Byte records from many producers to one consumer.
//!
//! # Contract
//! An uncontended claim is one compare-and-swap. Producers fill their chunks concurrently, and each commits its own.
//! Records arrive in the order of the claims, so a claim that is neither committed nor aborted holds up those after it.
//! For the rest see [`records`](super).
//!
//! A chunk that was leaked (`mem::forget`), or whose process died, holds up the others forever;
//! [`Consumer::unblock`] skips it. Once all producers have gone, the consumer skips it by itself.
//!
//! # State
//! `tail`, moved by the producers, and `head`, written by the consumer, in words; a header before each record.
//!
//! I1: `0 <= tail - head <= words`.
//! I2: a range between `head` and `tail` belongs to its producer from the claim to the commit or abort, then to the
//!     consumer.
//! I3: unclaimed words are zeros, so no header is found where none was stored.
//! I4: there is one consumer, and it needs `&mut self`.
//! I5: the control block and the words live as long as the ring, which owns them or keeps their keeper. A side keeps
//!     its ring until it is dropped.
//!
//! # Edges
//! records-commit: `commit` and `abort` store a header -> the consumer loads it. Carries the record.
//! records-free: the consumer stores `head` -> a producer loads it. Carries the end of the last read, and the zeros.
//! records-last: the edge of the last producer (`door`).
//! None for `tail`: a claim carries nothing to later claims.
//!
//! # Evidence
//! Tests in `records`; tests/model_records.rs; fuzz target `records`.
//!
//! # Sources
//! Agrona's many-to-one ring buffer, for its interface and `unblock`. Its issue 160 (a full ring) does not arise:
//! positions do not wrap.

#[cfg(unc_model)]
use super::door::Door;
use super::door::Living;
use super::header::{Header, words_for};
use super::record::{Found, judge};
use super::sides::{Claimed, Place, Reader, Writer};
use super::words::Words;
use super::{Chunk, Record, RecordError};
#[cfg(all(feature = "std", not(unc_model)))]
use crate::given::Held;
#[cfg(feature = "std")]
use crate::notifier::Joint;
use crate::notifier::{Listeners, Notifier, Silent};
use crate::position::{Cursor, Position};
use crate::{CapacityError, ClaimError};
use alloc::boxed::Box;
use core::fmt;
use core::ptr::NonNull;
use uncontended_atomic::CachePadded;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_atomic::{Arc, fence};
#[cfg(feature = "std")]
use uncontended_wait::Sleepers;

/// The first producer, to be cloned, and the consumer.
pub type Sides<N = Silent> = (Producer<N>, Consumer<N>);

/// Makes a ring of at least `capacity` bytes whose sides poll.
///
/// ```
/// let (producer, mut consumer) = uncontended_ring::records::mpsc::ring(4096)?;
/// let producers = [producer.clone(), producer];
/// let threads = producers.map(|mut producer| std::thread::spawn(move || producer.push(b"here").unwrap()));
/// threads.into_iter().for_each(|thread| thread.join().unwrap());
/// for _ in 0..2 {
///     let record = consumer.read()?;
///     assert_eq!(&*record, b"here");
///     record.release();
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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

/// The same for a consumer that also waits for other rings: what it may wait for (a commit, an abort, the departure of
/// a producer) notifies `joint`.
///
/// # Errors
/// As for [`ring`].
#[cfg(feature = "std")]
pub fn blocking_at(capacity: usize, joint: &Joint) -> Result<Sides<Joint>, CapacityError> {
    build(capacity, joint.clone())
}

/// The state that all sides share.
#[repr(C)]
pub(super) struct Control<N> {
    pub(super) tail: CachePadded<Cursor>,
    pub(super) head: CachePadded<Cursor>,
    /// Notifiers for the consumer, which waits for records, and for producers, which wait for room.
    pub(super) values: CachePadded<Listeners<N>>,
    pub(super) room: CachePadded<N>,
    /// The producers that have not gone, and whether others may join.
    pub(super) living: CachePadded<Living>,
}

/// One process's handle to a ring.
pub(super) struct Ring<N> {
    control: NonNull<Control<N>>,
    pub(super) words: Words,
    /// The keeper of provided memory; `None`: the ring owns its memory.
    keep: Option<Box<dyn Send + Sync>>,
}

// SAFETY: a ring is a control block of atomics and `Words`; both live as long as `self` (I5).
unsafe impl<N: Notifier> Send for Ring<N> {}
// SAFETY: as for `Send` (I5).
unsafe impl<N: Notifier> Sync for Ring<N> {}

impl<N> Ring<N> {
    /// Makes a ring in memory that `keep` keeps.
    ///
    /// # Safety
    /// I5 holds until `keep` is dropped.
    #[cfg(all(feature = "std", not(unc_model)))]
    pub(super) unsafe fn given(
        control: NonNull<Control<N>>,
        words: Words,
        keep: impl Send + Sync + 'static,
    ) -> Ring<N> {
        Ring { control, words, keep: Some(Box::new(keep)) }
    }

    /// The notifier of the consumer.
    pub(super) fn values(&self) -> &Listeners<N> {
        &self.control().values
    }

    /// The notifier of the producers.
    pub(super) fn room(&self) -> &N {
        &self.control().room
    }

    #[inline(always)]
    pub(super) fn control(&self) -> &Control<N> {
        // SAFETY: the control block lives (I5), and only shared references to it exist.
        unsafe { self.control.as_ref() }
    }
}

impl<N> Drop for Ring<N> {
    fn drop(&mut self) {
        if self.keep.is_none() {
            // SAFETY: `build` leaked it from a box (I5).
            drop(unsafe { Box::from_raw(self.control.as_ptr()) });
        }
    }
}

/// Makes a ring whose records notify `values`.
fn build<N: Notifier>(capacity: usize, values: N) -> Result<Sides<N>, CapacityError> {
    let ring = allocate(capacity, values, Living::closed())?;
    ring.control().living.add();
    // SAFETY: it was added just now (I1 of `door`).
    let producer = unsafe { Producer::counted(Arc::clone(&ring)) };
    // SAFETY: this is the first consumer of a new ring (I4).
    Ok((producer, unsafe { Consumer::go_on(ring) }))
}

/// A ring that producers join from outside, as in memory that processes share.
#[cfg(unc_model)]
pub fn open<N: Notifier>(capacity: usize) -> Result<(Door<N>, Consumer<N>), CapacityError> {
    let ring = allocate(capacity, N::default(), Living::open())?;
    // SAFETY: this is the first consumer of a new ring (I4).
    Ok((Door::to(Arc::clone(&ring)), unsafe { Consumer::go_on(ring) }))
}

fn allocate<N: Notifier>(
    capacity: usize,
    values: N,
    living: Living,
) -> Result<Arc<Ring<N>>, CapacityError> {
    let words = Words::new(capacity)?;
    let start = Position::new(0);
    let control = Box::new(Control {
        tail: CachePadded::new(Cursor::new("tail", start)),
        head: CachePadded::new(Cursor::new("head", start)),
        values: CachePadded::new(Listeners::at(values)),
        room: CachePadded::new(N::default()),
        living: CachePadded::new(living),
    });
    let control = NonNull::from(Box::leak(control));
    Ok(Arc::new(Ring { control, words, keep: None }))
}

/// A producer: a side that writes records. Each clone is another producer.
///
/// ```
/// use uncontended_ring::ClaimError;
///
/// let (mut producer, mut consumer) = uncontended_ring::records::mpsc::ring(64)?;
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
    /// In provided memory: the process that it is counted for. A fork leaves a copy in a child, which is not counted.
    #[cfg(all(feature = "std", not(unc_model)))]
    process: Option<u32>,
    /// Where the ring is full, according to this producer's last load of `head`.
    limit: Position,
}

impl<N: Notifier> Producer<N> {
    /// A producer that `living` counts.
    ///
    /// # Safety
    /// It does (I1 of `door`): once `living` is zero, the consumer frees what a producer may still write to (I2).
    pub(super) unsafe fn counted(ring: Arc<Ring<N>>) -> Producer<N> {
        Producer {
            // It has not loaded `head` yet.
            limit: Position::new(0),
            #[cfg(all(feature = "std", not(unc_model)))]
            process: ring.keep.is_some().then(std::process::id),
            ring,
        }
    }

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
        let claimed = self.reserve(len)?;
        self.mark(claimed);
        Ok(claimed)
    }

    /// Moves `tail` past room for a record.
    #[inline]
    pub(super) fn reserve(&mut self, len: usize) -> Result<Claimed, ClaimError> {
        let words = &self.ring.words;
        if len > words.longest() {
            return Err(ClaimError::TooLong { most: words.longest() });
        }
        if self.is_closed() {
            return Err(ClaimError::Closed);
        }
        let span = words_for(len);
        loop {
            let tail = self.ring.control().tail.load(Relaxed);
            if tail.is_gone() {
                // No side of this ring stores that in `tail`: another program did, and no claim can succeed.
                return Err(ClaimError::Closed);
            }
            let tail = tail.position();
            let to_end = words.to_end(tail);
            let padding = if span > to_end { to_end } else { 0 };
            let end = tail.plus(padding + span);
            if end > self.limit {
                // EDGE records-free (acquire): the consumer has read what the room held, and cleared it.
                let head = self.ring.control().head.load(Acquire);
                self.limit = head.position().plus(words.len());
                // `tail` may be older than `head`. Then this check passes, and the compare-and-swap fails.
                if end > self.limit {
                    return Err(ClaimError::Full);
                }
            }
            if self.ring.control().tail.advance(tail, end, Relaxed) {
                return Ok(Claimed { at: tail.plus(padding), padding, len });
            }
        }
    }

    /// Stores headers for the claim, so that it can be skipped if this producer dies.
    #[inline]
    fn mark(&self, claimed: Claimed) {
        let words = &self.ring.words;
        if claimed.padding > 0 {
            let at = claimed.at.minus(claimed.padding);
            // EDGE records-commit (release): orders this store before the consumer clears the word.
            words.store(at, Header::skip(claimed.padding), Release);
        }
        // EDGE records-commit (release): as above, if this store is the last.
        words.store(claimed.at, Header::Claimed(claimed.len as u32), Release);
    }

    /// The length of the longest record, in bytes.
    pub fn longest(&self) -> usize {
        self.ring.words.longest()
    }

    /// Whether the consumer has gone.
    #[inline(always)]
    pub fn is_closed(&self) -> bool {
        self.ring.control().values.have_gone()
    }
}

impl<N: Notifier> Writer for Producer<N> {
    #[inline(always)]
    fn words(&self) -> &Words {
        &self.ring.words
    }

    #[inline]
    unsafe fn commit(&mut self, claimed: Claimed) {
        // EDGE records-commit (release): a consumer that sees this sees the record.
        self.ring.words.store(claimed.at, Header::Record(claimed.len as u32), Release);
        self.ring.control().values.notify();
    }

    unsafe fn abort(&mut self, claimed: Claimed) {
        // EDGE records-commit (release): this producer no longer writes there.
        self.ring.words.store(claimed.at, Header::Skip(claimed.len as u32), Release);
        // The consumer skips it, and may wait for that.
        self.ring.control().values.notify();
    }
}

impl<N: Notifier> Clone for Producer<N> {
    fn clone(&self) -> Producer<N> {
        self.ring.control().living.add();
        // SAFETY: it was added just now (I1 of `door`).
        unsafe { Producer::counted(Arc::clone(&self.ring)) }
    }
}

impl<N: Notifier> Drop for Producer<N> {
    fn drop(&mut self) {
        #[cfg(all(feature = "std", not(unc_model)))]
        if self.process.is_some_and(|process| process != std::process::id()) {
            return;
        }
        self.ring.control().living.leave();
        self.ring.control().values.notify();
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
/// let (mut producer, mut consumer) = uncontended_ring::records::mpsc::ring(64)?;
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
    /// `ring.head`, which only this side stores.
    head: Position,
    /// In provided memory: the role, given up last.
    #[cfg(all(feature = "std", not(unc_model)))]
    pub(super) role: Option<Held>,
}

impl<N: Notifier> Consumer<N> {
    /// Makes the consumer, which continues where the last one stopped.
    ///
    /// # Safety
    /// There is no other consumer (I4).
    pub(super) unsafe fn go_on(ring: Arc<Ring<N>>) -> Consumer<N> {
        // Only consumers that have gone or died have stored it.
        let head = ring.control().head.load(Relaxed).position();
        Consumer {
            ring,
            head,
            #[cfg(all(feature = "std", not(unc_model)))]
            role: None,
        }
    }

    /// Reads the oldest record that was not released. **One that is not released is returned again by the next read**,
    /// and the producers wait for room.
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
        let mut is_last = false;
        loop {
            match self.look()? {
                Found::Record(len) => return Ok(Place { at: self.head, len }),
                // SAFETY: its header was found, so the range belongs to the consumer (I2).
                Found::Skip(span) => unsafe { self.free(span) },
                // SAFETY: no producer is left to commit the claim, and none will come (I2).
                Found::Claimed(span) if is_last => unsafe { self.free(span) },
                Found::Nothing if is_last => return Err(RecordError::Closed),
                Found::Nothing | Found::Claimed(_) => {
                    if !self.ring.control().living.are_none() {
                        return Err(RecordError::Empty);
                    }
                    is_last = true;
                }
            }
        }
    }

    /// Loads what is at `head`.
    #[inline]
    fn look(&self) -> Result<Found, RecordError> {
        let words = &self.ring.words;
        // EDGE records-commit (acquire): the record has been written, or its producer is done with it.
        judge(words, self.head, words.load(self.head, Acquire), words.len())
    }

    /// Clears `span` words and gives them back (I3).
    ///
    /// # Safety
    /// They belong to the consumer: it found a header of that span, or no producer will ever commit them.
    #[inline]
    unsafe fn free(&mut self, span: u64) {
        let words = &self.ring.words;
        // If this process dies at any point, the next consumer finds a range to skip, or zeros up to the next header.
        words.store(self.head, Header::skip(span), Relaxed);
        // EDGE records-commit (release): orders the header before the clearing of the payload.
        fence(Release);
        // SAFETY: the range belongs to the consumer, which found its header (I2), and `look` checked its bounds.
        unsafe { words.clear(self.head.plus(1), span - 1) };
        // EDGE records-commit (release): orders the clearing of the payload before that of the header.
        words.store(self.head, Header::None, Release);
        self.head = self.head.plus(span);
        // EDGE records-free (release): the range has been read and cleared.
        self.ring.control().head.store(self.head, Release);
        self.ring.control().room.notify();
    }

    /// Skips the next claim, whose producer died or leaked its chunk. Returns the number of bytes given back; 0: no
    /// claim is in the way.
    ///
    /// # Safety
    /// The next claim will never be committed, aborted, or written to, and no living producer is inside `claim` or
    /// `push` now. Producers may hold other chunks.
    pub unsafe fn unblock(&mut self) -> Result<usize, RecordError> {
        let span = match self.look()? {
            Found::Record(_) | Found::Skip(_) => return Ok(0),
            Found::Claimed(span) => span,
            Found::Nothing => self.unmarked(),
        };
        if span > 0 {
            // SAFETY: the claim will never be committed, as the caller promises (I2).
            unsafe { self.free(span) };
        }
        Ok(span as usize * super::header::WORD)
    }

    /// How many words from `head` on were claimed by a producer that died before it stored a header: up to the next
    /// header, the end of the memory, or `tail`. It wrote nothing else there.
    fn unmarked(&self) -> u64 {
        let words = &self.ring.words;
        let claimed = self.ring.control().tail.load(Relaxed).position().since(self.head);
        let most = claimed.min(words.to_end(self.head));
        let is_none = |&step: &u64| words.load(self.head.plus(step), Relaxed) == Header::None;
        (0..most).take_while(is_none).count() as u64
    }

    /// Whether all producers have gone. The records that they left can still be read.
    pub fn is_closed(&self) -> bool {
        self.ring.control().living.are_none()
    }
}

impl<N: Notifier> Reader for Consumer<N> {
    #[inline(always)]
    fn words(&self) -> &Words {
        &self.ring.words
    }

    #[inline]
    unsafe fn release(&mut self, record: Place) {
        // SAFETY: the record's words belong to the consumer, which is done with them (I2).
        unsafe { self.free(words_for(record.len)) };
    }
}

impl<N: Notifier> Drop for Consumer<N> {
    fn drop(&mut self) {
        #[cfg(all(feature = "std", not(unc_model)))]
        if self.role.as_ref().is_some_and(Held::is_a_copy) {
            return;
        }
        self.ring.control().values.go();
        // EDGE records-free (release): a producer that sees that the consumer has gone sees all its reads done.
        self.ring.control().head.store_gone(self.head, Release);
        self.ring.control().room.notify();
    }
}

impl<N: Notifier> fmt::Debug for Consumer<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").finish_non_exhaustive()
    }
}
