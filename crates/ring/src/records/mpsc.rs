//! Byte records from many producers to one consumer.
//!
//! # Contract
//! A claim is one compare-and-swap when nobody else claims at that moment; producers fill their chunks at the same
//! time, and each commits its own. Records come in the order of the claims, so one that is claimed and not yet
//! committed or aborted holds up those behind it. The rest is said in [`records`](super).
//!
//! A chunk that is leaked (`mem::forget`), or whose process died, holds them up for ever: [`Consumer::unblock`] passes
//! over it. When all producers have gone, that happens by itself.
//!
//! # State
//! `tail`, moved by the producers, and `head`, written by the consumer, in words; a header before each record.
//!
//! I1: `0 <= tail - head <= words`.
//! I2: a range between `head` and `tail` is its producer's from the claim to the commit or abort, then the consumer's.
//! I3: words that nobody has claimed are zeros: no header is found where none was stored.
//! I4: there is one consumer, and it needs `&mut self`.
//! I5: the control block and the words live as long as the ring: they are its own, or kept. A side keeps its ring until
//!     it is dropped.
//!
//! # Edges
//! records-commit: `commit` and `abort` store a header -> the consumer loads it. Carries the record.
//! records-free: the consumer stores `head` -> a producer loads it. Carries the end of the last read, and the zeros.
//! records-last: a producer goes -> the consumer sees that there is none left. Carries all that it committed.
//! None for `tail`: who claims after another learns nothing of it.
//!
//! # Evidence
//! Tests in `records`; tests/model_records.rs; fuzz target `records`.
//!
//! # Sources
//! Agrona's many-to-one ring buffer for the shape, and `unblock`; its issue 160 (a full ring) does not arise: positions
//! do not wrap.

use super::header::{Header, words_for};
use super::record::{Found, judge};
use super::sides::{Claimed, Place, Reader, Writer};
use super::words::Words;
use super::{Chunk, Record, RecordError};
#[cfg(not(unc_model))]
use crate::given::Held;
use crate::notifier::{Listeners, Notifier, Silent};
use crate::position::{Cursor, Position};
use crate::{CapacityError, ClaimError};
use std::fmt;
use std::ptr::NonNull;
use uncontended_atomic::CachePadded;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_atomic::{Arc, AtomicU64, Named, fence};
use uncontended_wait::Sleepers;

/// A first producer, to be cloned, and the consumer.
pub type Sides<B = Silent> = (Producer<B>, Consumer<B>);

/// A ring of at least `capacity` bytes, whose sides poll.
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
/// Zero, or more than [`MAX_CAPACITY`](crate::MAX_CAPACITY) or than there is memory for.
pub fn ring(capacity: usize) -> Result<Sides, CapacityError> {
    build(capacity)
}

/// The same, whose sides may sleep.
///
/// # Errors
/// As for [`ring`].
pub fn blocking(capacity: usize) -> Result<Sides<Sleepers>, CapacityError> {
    build(capacity)
}

/// What all sides see of each other.
#[repr(C)]
pub(super) struct Control<B> {
    pub(super) tail: CachePadded<Cursor>,
    pub(super) head: CachePadded<Cursor>,
    /// For those who wait for records, and for room.
    pub(super) values: CachePadded<Listeners<B>>,
    pub(super) room: CachePadded<B>,
    /// How many producers have not gone; and whether others may come, [`OPEN`].
    pub(super) living: CachePadded<AtomicU64>,
}

/// Besides the number of producers: the ring is where others may find it, and has not been closed.
pub(super) const OPEN: u64 = 1 << 63;

/// A ring, as one process has it.
pub(super) struct Ring<B> {
    control: NonNull<Control<B>>,
    pub(super) words: Words,
    /// What keeps memory that was given; none: the memory is the ring's own.
    keep: Option<Box<dyn Send + Sync>>,
}

// SAFETY: it is a control block of atomics and `Words`; both are there as long as `self` (I5).
unsafe impl<B: Notifier> Send for Ring<B> {}
// SAFETY: as for `Send` (I5).
unsafe impl<B: Notifier> Sync for Ring<B> {}

impl<B> Ring<B> {
    /// A ring in memory that `keep` keeps.
    ///
    /// # Safety
    /// I5 holds as long as `keep` is not dropped.
    #[cfg(not(unc_model))]
    pub(super) unsafe fn given(
        control: NonNull<Control<B>>,
        words: Words,
        keep: impl Send + Sync + 'static,
    ) -> Ring<B> {
        Ring { control, words, keep: Some(Box::new(keep)) }
    }

    /// Where consumers sleep.
    pub(super) fn values(&self) -> &Listeners<B> {
        &self.control().values
    }

    /// Where producers sleep.
    pub(super) fn room(&self) -> &B {
        &self.control().room
    }

    #[inline(always)]
    pub(super) fn control(&self) -> &Control<B> {
        // SAFETY: the control block is there (I5), and reached by shared references only.
        unsafe { self.control.as_ref() }
    }
}

impl<B> Drop for Ring<B> {
    fn drop(&mut self) {
        if self.keep.is_none() {
            // SAFETY: `build` leaked it from a box (I5).
            drop(unsafe { Box::from_raw(self.control.as_ptr()) });
        }
    }
}

fn build<B: Notifier>(capacity: usize) -> Result<Sides<B>, CapacityError> {
    let words = Words::new(capacity)?;
    let start = Position::new(0);
    let control = Box::new(Control {
        tail: CachePadded::new(Cursor::new("tail", start)),
        head: CachePadded::new(Cursor::new("head", start)),
        values: CachePadded::new(Listeners::default()),
        room: CachePadded::new(B::default()),
        living: CachePadded::new(AtomicU64::new(0).named("living")),
    });
    let control = NonNull::from(Box::leak(control));
    let ring = Arc::new(Ring { control, words, keep: None });
    let producer = Producer::join(Arc::clone(&ring));
    // SAFETY: it is the first of a new ring (I4).
    Ok((producer, unsafe { Consumer::go_on(ring) }))
}

/// A side that writes records. Clone it for more.
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
pub struct Producer<B: Notifier = Silent> {
    pub(super) ring: Arc<Ring<B>>,
    /// Up to where there was room when this producer last saw `head`.
    limit: Position,
}

impl<B: Notifier> Producer<B> {
    /// One more producer.
    pub(super) fn join(ring: Arc<Ring<B>>) -> Producer<B> {
        ring.control().living.fetch_add(1, Relaxed);
        // It has not looked for room yet.
        Producer { limit: Position::new(0), ring }
    }

    /// Claims room for a record of `len` bytes.
    ///
    /// # Errors
    /// There is not that much room now or, beyond the longest record, ever; or the consumer has gone.
    #[inline]
    pub fn claim(&mut self, len: usize) -> Result<Chunk<'_, Self>, ClaimError> {
        let claimed = self.find(len)?;
        // SAFETY: it was claimed just now (I2).
        Ok(unsafe { Chunk::new(self, claimed) })
    }

    /// Puts a copy of `bytes` in.
    ///
    /// # Errors
    /// As for [`claim`](Producer::claim).
    #[inline]
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
                // No side of this ring says that of all producers: somebody else wrote it, and no claim can succeed.
                return Err(ClaimError::Closed);
            }
            let tail = tail.position();
            let to_end = words.to_end(tail);
            let padding = if span > to_end { to_end } else { 0 };
            let end = tail.plus(padding + span);
            if end > self.limit {
                // EDGE records-free (acquire): the consumer has read what was there, and cleared it.
                let head = self.ring.control().head.load(Acquire);
                self.limit = head.position().plus(words.len());
                // `tail` may be older than that; then it passes here, and the claim fails.
                if end > self.limit {
                    return Err(ClaimError::Full);
                }
            }
            if self.ring.control().tail.advance(tail, end, Relaxed) {
                return Ok(Claimed { at: tail.plus(padding), padding, len });
            }
        }
    }

    /// Says what was claimed, so that it can be passed over if this producer dies.
    #[inline]
    fn mark(&self, claimed: Claimed) {
        let words = &self.ring.words;
        if claimed.padding > 0 {
            let at = claimed.at.minus(claimed.padding);
            // EDGE records-commit (release): this store comes before the consumer clears the word.
            words.store(at, Header::skip(claimed.padding), Release);
        }
        // EDGE records-commit (release): as above, if it is the last.
        words.store(claimed.at, Header::Claimed(claimed.len as u32), Release);
    }

    /// The longest record, in bytes.
    pub fn longest(&self) -> usize {
        self.ring.words.longest()
    }

    /// Whether the consumer has gone.
    #[inline(always)]
    pub fn is_closed(&self) -> bool {
        self.ring.control().values.have_gone()
    }
}

impl<B: Notifier> Writer for Producer<B> {
    #[inline(always)]
    fn words(&self) -> &Words {
        &self.ring.words
    }

    #[inline]
    unsafe fn commit(&mut self, claimed: Claimed) {
        // EDGE records-commit (release): who sees this sees the record.
        self.ring.words.store(claimed.at, Header::Record(claimed.len as u32), Release);
        self.ring.control().values.notify();
    }

    unsafe fn abort(&mut self, claimed: Claimed) {
        // EDGE records-commit (release): this producer writes there no more.
        self.ring.words.store(claimed.at, Header::Skip(claimed.len as u32), Release);
        // The consumer passes over it, which may be what others wait for.
        self.ring.control().values.notify();
    }
}

impl<B: Notifier> Clone for Producer<B> {
    fn clone(&self) -> Producer<B> {
        Producer::join(Arc::clone(&self.ring))
    }
}

impl<B: Notifier> Drop for Producer<B> {
    fn drop(&mut self) {
        // EDGE records-last (release): all that this one committed.
        self.ring.control().living.fetch_sub(1, Release);
        self.ring.control().values.notify();
    }
}

impl<B: Notifier> fmt::Debug for Producer<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("longest", &self.longest()).finish_non_exhaustive()
    }
}

/// The side that reads records.
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
pub struct Consumer<B: Notifier = Silent> {
    pub(super) ring: Arc<Ring<B>>,
    /// What `ring.head` is: nobody else stores it.
    head: Position,
    /// In memory that was given: the role, given up last.
    #[cfg(not(unc_model))]
    pub(super) role: Option<Held>,
}

impl<B: Notifier> Consumer<B> {
    /// The consumer, where the last one left off.
    ///
    /// # Safety
    /// There is no other (I4).
    pub(super) unsafe fn go_on(ring: Arc<Ring<B>>) -> Consumer<B> {
        // Only a consumer that was here before has stored it, or one that died.
        let head = ring.control().head.load(Relaxed).position();
        Consumer {
            ring,
            head,
            #[cfg(not(unc_model))]
            role: None,
        }
    }

    /// The oldest record that was not released.
    ///
    /// # Errors
    /// There is none now, or will never be one.
    #[inline]
    pub fn read(&mut self) -> Result<Record<'_, Self>, RecordError> {
        let place = self.find()?;
        // SAFETY: it was found just now (I2).
        Ok(unsafe { Record::new(self, place) })
    }

    #[inline]
    pub(super) fn find(&mut self) -> Result<Place, RecordError> {
        let mut is_last = false;
        loop {
            match self.look()? {
                Found::Record(len) => return Ok(Place { at: self.head, len }),
                // SAFETY: its header was found, so the range is the consumer's (I2).
                Found::Skip(span) => unsafe { self.free(span) },
                // SAFETY: no producer is left to commit what is claimed (I2).
                Found::Claimed(span) if is_last => unsafe { self.free(span) },
                Found::Nothing if is_last => return Err(RecordError::Closed),
                Found::Nothing | Found::Claimed(_) => {
                    // EDGE records-last (acquire): all that the producers committed is seen by the next look.
                    if self.ring.control().living.load(Acquire) > 0 {
                        return Err(RecordError::Empty);
                    }
                    is_last = true;
                }
            }
        }
    }

    /// What is next.
    #[inline]
    fn look(&self) -> Result<Found, RecordError> {
        let words = &self.ring.words;
        // EDGE records-commit (acquire): the record has been written, or its producer has done with it.
        judge(words, self.head, words.load(self.head, Acquire), words.len())
    }

    /// Gives `span` words back, cleared (I3).
    ///
    /// # Safety
    /// They are the consumer's: a header of that span was found, or nobody will ever commit them.
    #[inline]
    unsafe fn free(&mut self, span: u64) {
        let words = &self.ring.words;
        // Whenever this process dies, the next consumer finds something to pass over, or zeros up to the next header.
        words.store(self.head, Header::skip(span), Relaxed);
        // EDGE records-commit (release): the header says so before the payload goes.
        fence(Release);
        // SAFETY: the range is the consumer's since it found its header (I2), and `look` saw it lie in the memory.
        unsafe { words.clear(self.head.plus(1), span - 1) };
        // EDGE records-commit (release): the payload has gone before the header does.
        words.store(self.head, Header::None, Release);
        self.head = self.head.plus(span);
        // EDGE records-free (release): this has been read and cleared.
        self.ring.control().head.store(self.head, Release);
        self.ring.control().room.notify();
    }

    /// Passes over what a producer that died or leaked its chunk has claimed, if the next record is such a one. Returns
    /// how many bytes that gave back; 0: no claim is in the way.
    ///
    /// # Safety
    /// The claim that is next will never be committed or aborted, nor written to, and no living producer is inside of
    /// `claim` or `push` now. Producers may hold other chunks.
    pub unsafe fn unblock(&mut self) -> Result<usize, RecordError> {
        let span = match self.look()? {
            Found::Record(_) | Found::Skip(_) => return Ok(0),
            Found::Claimed(span) => span,
            Found::Nothing => self.unmarked(),
        };
        if span > 0 {
            // SAFETY: nobody will commit what is claimed there, as the caller promises (I2).
            unsafe { self.free(span) };
        }
        Ok(span as usize * super::header::WORD)
    }

    /// How many words from `head` on were claimed by one who died before it could say so: up to the next header, the
    /// end of the memory, or `tail`. It wrote nothing else there.
    fn unmarked(&self) -> u64 {
        let words = &self.ring.words;
        let claimed = self.ring.control().tail.load(Relaxed).position().since(self.head);
        let most = claimed.min(words.to_end(self.head));
        let is_none = |&step: &u64| words.load(self.head.plus(step), Relaxed) == Header::None;
        (0..most).take_while(is_none).count() as u64
    }

    /// Whether all producers have gone. What they left can still be read.
    pub fn is_closed(&self) -> bool {
        self.ring.control().living.load(Relaxed) == 0
    }
}

impl<B: Notifier> Reader for Consumer<B> {
    #[inline(always)]
    fn words(&self) -> &Words {
        &self.ring.words
    }

    #[inline]
    unsafe fn release(&mut self, record: Place) {
        // SAFETY: the record's words are the consumer's, which has done with them (I2).
        unsafe { self.free(words_for(record.len)) };
    }
}

impl<B: Notifier> Drop for Consumer<B> {
    fn drop(&mut self) {
        self.ring.control().values.go();
        // EDGE records-free (release): who sees that the consumer has gone sees what it read.
        self.ring.control().head.store_gone(self.head, Release);
        self.ring.control().room.notify();
    }
}

impl<B: Notifier> fmt::Debug for Consumer<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").finish_non_exhaustive()
    }
}
