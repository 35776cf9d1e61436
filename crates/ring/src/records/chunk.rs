//! Room for a record that is being filled.

use super::sides::{Claimed, Writer};
use core::fmt;

/// Room for a record, filled in place as a slice of bytes. A chunk dropped without [`Chunk::commit`] is aborted.
///
/// ```
/// let (mut producer, mut consumer) = uncontended_ring::records::spsc::ring(4096)?;
/// let mut chunk = producer.claim(5)?;
/// chunk.copy_from_slice(b"hello");
/// chunk.commit();
/// drop(producer.claim(100)?); // aborted
/// let record = consumer.read()?;
/// assert_eq!(&*record, b"hello");
/// record.release();
/// assert!(consumer.read().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a chunk that is not committed is aborted"]
pub struct Chunk<'p, P: Writer> {
    producer: &'p mut P,
    claimed: Claimed,
}

impl<'p, P: Writer> Chunk<'p, P> {
    /// # Safety
    /// `claimed` was claimed from this producer just now, for this chunk alone.
    pub(super) unsafe fn new(producer: &'p mut P, claimed: Claimed) -> Chunk<'p, P> {
        Chunk { producer, claimed }
    }

    /// Publishes the record to the consumer.
    #[inline]
    pub fn commit(self) {
        let mut chunk = core::mem::ManuallyDrop::new(self);
        let claimed = chunk.claimed;
        // SAFETY: the range was claimed for this chunk, which ends here (R2).
        unsafe { chunk.producer.commit(claimed) };
    }

    /// Fills the chunk with a copy of `bytes`, which must have its length.
    #[inline]
    pub(super) fn fill(&mut self, bytes: &[u8]) {
        assert_eq!(bytes.len(), self.claimed.len);
        // SAFETY: the range was claimed for this chunk (R2).
        unsafe { self.producer.words().write(self.claimed.at, bytes) };
    }
}

/// Under the checker: the part of the slice interface that the tests need.
#[cfg(unc_model)]
impl<P: Writer> Chunk<'_, P> {
    /// As for a slice.
    pub fn copy_from_slice(&mut self, bytes: &[u8]) {
        self.fill(bytes);
    }
}

#[cfg(not(unc_model))]
impl<P: Writer> core::ops::Deref for Chunk<'_, P> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        let payload = self.producer.words().payload(self.claimed.at).as_ptr();
        // SAFETY: `len` initialised bytes were claimed for this chunk (R2, R3).
        unsafe { core::slice::from_raw_parts(payload, self.claimed.len) }
    }
}

#[cfg(not(unc_model))]
impl<P: Writer> core::ops::DerefMut for Chunk<'_, P> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        let payload = self.producer.words().payload(self.claimed.at).as_ptr();
        // SAFETY: `len` initialised bytes were claimed for this chunk alone (R2, R3).
        unsafe { core::slice::from_raw_parts_mut(payload, self.claimed.len) }
    }
}

impl<P: Writer> Drop for Chunk<'_, P> {
    fn drop(&mut self) {
        // SAFETY: the range was claimed for this chunk, which ends here (R2).
        unsafe { self.producer.abort(self.claimed) };
    }
}

impl<P: Writer> fmt::Debug for Chunk<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chunk").field("len", &self.claimed.len).finish_non_exhaustive()
    }
}
