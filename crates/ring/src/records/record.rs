//! A record that is being read.

use super::header::{Header, WORD, words_for};
use super::sides::{Place, Reader};
use super::words::Words;
use crate::position::Position;
use alloc::vec::Vec;
use core::fmt;

/// A record, read in place as a slice of bytes. **A record that is not released is read again, and holds up the
/// producers.**
///
/// The slice must not change while it is borrowed. In memory that processes [share](super::shared), that depends on the
/// others; [`to_vec`](Record::to_vec) and [`copy_into`](Record::copy_into) do not.
///
/// ```
/// let (mut producer, mut consumer) = uncontended_ring::records::spsc::ring(64)?;
/// producer.push(b"a line\n")?;
/// let line = consumer.read()?;
/// assert!(line.ends_with(b"\n"));
/// line.release();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a record that is not released is read again, and holds up the producers"]
pub struct Record<'c, C: Reader> {
    consumer: &'c mut C,
    place: Place,
}

impl<'c, C: Reader> Record<'c, C> {
    /// # Safety
    /// This consumer found the record just now.
    pub(super) unsafe fn new(consumer: &'c mut C, place: Place) -> Record<'c, C> {
        Record { consumer, place }
    }

    /// Gives the room of the record back to the producers.
    #[inline]
    pub fn release(self) {
        // SAFETY: this consumer found the record, which ends here (R2).
        unsafe { self.consumer.release(self.place) };
    }

    /// Where it is.
    #[cfg(all(feature = "std", not(unc_model)))]
    pub(super) fn place(&self) -> Place {
        self.place
    }

    /// A copy of the record, made by atomic loads. Unlike the slice, it stays as it is if another process breaks the
    /// rules and writes to the record meanwhile; for [`shared`](super::shared) memory whose other users are not
    /// trusted.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut copy = Vec::new();
        self.copy_into(&mut copy);
        copy
    }

    /// The same, into a vector that has room from earlier records, in place of what it holds.
    ///
    /// ```
    /// let (mut producer, mut consumer) = uncontended_ring::records::mpsc::ring(64)?;
    /// let mut line = b"an earlier one".to_vec();
    /// producer.push(b"a line")?;
    /// let record = consumer.read()?;
    /// record.copy_into(&mut line);
    /// record.release();
    /// assert_eq!(line, b"a line");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn copy_into(&self, copy: &mut Vec<u8>) {
        copy.clear();
        copy.reserve(self.place.len.next_multiple_of(WORD));
        // SAFETY: the record belongs to the consumer until it is released (R2).
        let words = unsafe { self.consumer.words().read(self.place.at, self.place.len) };
        words.for_each(|word| copy.extend_from_slice(&word));
        copy.truncate(self.place.len);
    }

    /// Its length in bytes, which does not change.
    #[allow(clippy::len_without_is_empty, reason = "a slice has it")]
    #[inline]
    pub fn len(&self) -> usize {
        self.place.len
    }
}

/// The bytes of a record.
///
/// # Safety
/// This consumer found the record last, and does not release it as long as it is borrowed.
#[cfg(not(unc_model))]
pub(super) unsafe fn payload<C: Reader>(consumer: &C, place: Place) -> &[u8] {
    let payload = consumer.words().payload(place.at).as_ptr();
    // SAFETY: these `len` bytes are initialised (R3), and belong to the consumer, which is borrowed, until it releases
    // them (R2).
    unsafe { core::slice::from_raw_parts(payload, place.len) }
}

#[cfg(not(unc_model))]
impl<C: Reader> core::ops::Deref for Record<'_, C> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: this consumer found the record, and releases it no earlier than `self` ends (R2).
        unsafe { payload(&*self.consumer, self.place) }
    }
}

impl<C: Reader> fmt::Debug for Record<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record").field("len", &self.place.len).finish_non_exhaustive()
    }
}

/// Why no record was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordError {
    /// There is no record now.
    Empty,
    /// There is no record, and none will ever come.
    Closed,
    /// Something other than this ring's producers wrote to its memory: none of its contents can be trusted.
    Corrupt,
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RecordError::Empty => "there is no record",
            RecordError::Closed => "there is no record, and none will come",
            RecordError::Corrupt => {
                "the ring is corrupt: something other than its producers wrote to it"
            }
        })
    }
}

impl core::error::Error for RecordError {}

/// What a consumer found at its position.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found {
    Nothing,
    /// A record of this many words that is being filled.
    Claimed(u64),
    /// A record of this many bytes.
    Record(usize),
    /// This many words to skip.
    Skip(u64),
}

/// Interprets the header found at `at`. Its range must lie within the memory and span at most `most` words.
#[inline]
pub(super) fn judge(
    words: &Words,
    at: Position,
    header: Header,
    most: u64,
) -> Result<Found, RecordError> {
    let (found, span) = match header {
        Header::None => return Ok(Found::Nothing),
        Header::Claimed(len) => {
            let span = words_for(len as usize);
            (Found::Claimed(span), span)
        }
        Header::Record(len) => (Found::Record(len as usize), words_for(len as usize)),
        Header::Skip(len) => {
            let span = words_for(len as usize);
            (Found::Skip(span), span)
        }
        Header::Foreign => return Err(RecordError::Corrupt),
    };
    if span <= words.to_end(at).min(most) { Ok(found) } else { Err(RecordError::Corrupt) }
}
