//! A record, being read.

use super::header::{Header, words_for};
use super::sides::{Place, Reader};
use super::words::Words;
use crate::position::Position;
use std::fmt;

/// A record, read in place: it is a slice of bytes. What is not released is read again.
///
/// ```
/// let (mut producer, mut consumer) = uncontended_ring::records::spsc::ring(64)?;
/// producer.push(b"a line\n")?;
/// let line = consumer.read()?;
/// assert!(line.ends_with(b"\n"));
/// line.release();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "what is not released is read again, and holds the producers up"]
pub struct Record<'c, C: Reader> {
    consumer: &'c mut C,
    place: Place,
}

impl<'c, C: Reader> Record<'c, C> {
    /// # Safety
    /// This consumer found it just now.
    pub(super) unsafe fn new(consumer: &'c mut C, place: Place) -> Record<'c, C> {
        Record { consumer, place }
    }

    /// Gives its room back.
    #[inline]
    pub fn release(self) {
        // SAFETY: this consumer found the record, which ends here (R2).
        unsafe { self.consumer.release(self.place) };
    }

    /// A copy.
    #[cfg(unc_model)]
    pub fn to_vec(&self) -> Vec<u8> {
        // SAFETY: the record is the consumer's until it is released (R2).
        unsafe { self.consumer.words().read(self.place.at, self.place.len) }
    }
}

#[cfg(not(unc_model))]
impl<C: Reader> std::ops::Deref for Record<'_, C> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        let payload = self.consumer.words().payload(self.place.at).as_ptr();
        // SAFETY: `len` initialised bytes lie in the memory, the consumer's until released (R2, R3).
        unsafe { std::slice::from_raw_parts(payload, self.place.len) }
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
    /// There is none now.
    Empty,
    /// There is none, and none will ever come.
    Closed,
    /// The memory was written by somebody other than a producer of this ring: nothing in it can be trusted.
    Corrupt,
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RecordError::Empty => "there is no record",
            RecordError::Closed => "there is no record, and the other side has gone",
            RecordError::Corrupt => {
                "the ring's memory was written by somebody other than its producers"
            }
        })
    }
}

impl std::error::Error for RecordError {}

/// What a consumer does about a header.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found {
    Nothing,
    /// Being filled; so many words.
    Claimed(u64),
    /// A record of so many bytes.
    Record(usize),
    /// So many words to pass over.
    Skip(u64),
}

/// Judges a header found at a position: what it spans must lie within the memory, and within `most` words.
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
