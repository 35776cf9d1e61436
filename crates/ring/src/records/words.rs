//! The memory of a byte ring: words, of which any may be a header and any part of a payload.
//!
//! # State
//! I1: `base` points to `mask + 1` words, a power of two, all of them initialised, for as long as `self` lives.
//! I2: a range of words is the caller's by the ring's own rules, except for its header where the other side may look at
//!     that: then both use atomics for it.
//!
//! Under the checker a payload is stored in the same atomics word by word, so that what is left of it is found where a
//! header is looked for; and whose the range is, is held against cells.

use super::header::{Header, WORD};
use crate::CapacityError;
use crate::position::Position;
use crate::slots::MAX_CAPACITY;
use std::fmt;
use std::ptr::NonNull;
use uncontended_atomic::{AtomicU64, Named, Ordering};

/// The fewest words: less would hold no record that is worth it.
const LEAST: usize = 4;

/// The memory of a ring.
pub struct Words {
    base: NonNull<AtomicU64>,
    mask: u64,
    /// Whether the memory is ours to give back.
    is_owned: bool,
    #[cfg(unc_model)]
    owners: Box<[uncontended_atomic::UnsafeCell<()>]>,
}

// SAFETY: words are atomics, and whose a payload is, the ring's rules say (I2).
unsafe impl Send for Words {}
// SAFETY: as above (I2).
unsafe impl Sync for Words {}

/// How many words a capacity of so many bytes is rounded up to.
pub(super) const fn count_for(capacity: usize) -> Result<usize, CapacityError> {
    match capacity {
        0 => Err(CapacityError::Zero),
        1..=MAX_CAPACITY => {
            let count = capacity.div_ceil(WORD).next_power_of_two();
            Ok(if count < LEAST { LEAST } else { count })
        }
        _ => Err(CapacityError::TooLarge),
    }
}

impl Words {
    /// Memory of at least `capacity` bytes.
    pub(super) fn new(capacity: usize) -> Result<Words, CapacityError> {
        let count = count_for(capacity)?;
        let mut words = Vec::new();
        words.try_reserve_exact(count).map_err(|_| CapacityError::TooLarge)?;
        words.extend((0..count).map(|_| AtomicU64::new(0).named("words")));
        Ok(Words {
            base: NonNull::from(Box::leak(words.into_boxed_slice())).cast(),
            mask: count as u64 - 1,
            is_owned: true,
            #[cfg(unc_model)]
            owners: (0..count)
                .map(|_| uncontended_atomic::UnsafeCell::new(()).named("owner"))
                .collect(),
        })
    }

    /// The `count` words at `base`.
    ///
    /// # Safety
    /// They are there and initialised as long as the result, a power of two of them (I1), and used by nobody but as a
    /// ring.
    #[cfg(not(unc_model))]
    pub(super) unsafe fn given(base: NonNull<AtomicU64>, count: usize) -> Words {
        debug_assert!(count.is_power_of_two());
        Words { base, mask: count as u64 - 1, is_owned: false }
    }

    /// How many words there are.
    #[inline(always)]
    pub(super) fn len(&self) -> u64 {
        self.mask + 1
    }

    /// The longest record: one of which there is room for wherever the ring stands, with the padding before it.
    #[inline(always)]
    pub(super) fn longest(&self) -> usize {
        (self.len() as usize / 2 - 1) * WORD
    }

    /// The words from `at` to the end of the memory.
    #[inline(always)]
    pub(super) fn to_end(&self, at: Position) -> u64 {
        self.len() - self.index(at) as u64
    }

    #[inline(always)]
    fn index(&self, at: Position) -> usize {
        (at.steps() & self.mask) as usize
    }

    /// The header at a position.
    #[inline(always)]
    fn word(&self, at: Position) -> &AtomicU64 {
        // SAFETY: the index is at most `mask` (I1).
        let word = unsafe { self.base.add(self.index(at)) };
        // SAFETY: the word is initialised (I1), and shared only as an atomic as long as it may be a header (I2).
        unsafe { word.as_ref() }
    }

    #[inline(always)]
    pub(super) fn load(&self, at: Position, order: Ordering) -> Header {
        Header::of(self.word(at).load(order))
    }

    /// Writes what no producer writes into the first word.
    #[cfg(all(test, not(unc_model)))]
    pub(super) fn scribble(&self, word: u64) {
        // SAFETY: there is a first word (I1), and nobody else looks at it while the test writes it (I2).
        unsafe { self.base.as_ptr().cast::<u64>().write(word) };
    }

    #[inline(always)]
    pub(super) fn store(&self, at: Position, header: Header, order: Ordering) {
        self.word(at).store(header.word(), order);
    }
}

#[cfg(not(unc_model))]
impl Words {
    /// Where the payload behind the header at a position begins.
    #[inline(always)]
    pub(super) fn payload(&self, at: Position) -> NonNull<u8> {
        // SAFETY: the index is at most `mask`, so this is at most one past the last word (I1).
        unsafe { self.base.add(self.index(at) + 1) }.cast()
    }

    /// Writes the header of a range that is the caller's alone, header included.
    ///
    /// # Safety
    /// As for [`write`](Words::write).
    #[inline(always)]
    pub(super) unsafe fn put(&self, at: Position, header: Header) {
        let target = self.word(at).as_ptr();
        // SAFETY: the word is the caller's (I2).
        unsafe { target.write(header.word()) };
    }

    /// Reads the header of a range that is the caller's alone.
    ///
    /// # Safety
    /// As for [`write`](Words::write).
    #[inline(always)]
    pub(super) unsafe fn get(&self, at: Position) -> Header {
        let source = self.word(at).as_ptr();
        // SAFETY: the word is the caller's (I2), and initialised (I1).
        Header::of(unsafe { source.read() })
    }

    /// Copies `bytes` behind the header at a position.
    ///
    /// # Safety
    /// The range belongs to the caller, and does not go beyond the end of the memory.
    #[inline(always)]
    pub(super) unsafe fn write(&self, at: Position, bytes: &[u8]) {
        let target = self.payload(at).as_ptr();
        // SAFETY: so many bytes there are the caller's (I2).
        unsafe { target.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    }

    /// Fills words with zeros, so that none looks like a header when the next round comes.
    ///
    /// # Safety
    /// As for [`write`](Words::write).
    #[inline(always)]
    pub(super) unsafe fn clear(&self, at: Position, words: u64) {
        // SAFETY: the index is at most `mask` (I1).
        let target = unsafe { self.base.add(self.index(at)) }.as_ptr();
        // SAFETY: so many words there are the caller's (I2); a word of zeros is an atomic of zero.
        unsafe { target.write_bytes(0, words as usize) };
    }
}

/// The checker's part: the same, word by word.
#[cfg(unc_model)]
impl Words {
    fn own(&self, at: Position) {
        self.owners[self.index(at)].with_mut(|_| ());
    }

    pub(super) unsafe fn put(&self, at: Position, header: Header) {
        self.own(at);
        self.store(at, header, Ordering::Relaxed);
    }

    pub(super) unsafe fn get(&self, at: Position) -> Header {
        self.owners[self.index(at)].with(|_| ());
        self.load(at, Ordering::Relaxed)
    }

    pub(super) unsafe fn write(&self, at: Position, bytes: &[u8]) {
        for (index, part) in bytes.chunks(WORD).enumerate() {
            let at = at.plus(1 + index as u64);
            let mut word = [0; WORD];
            word[..part.len()].copy_from_slice(part);
            self.own(at);
            self.word(at).store(u64::from_ne_bytes(word), Ordering::Relaxed);
        }
    }

    pub(super) unsafe fn read(&self, at: Position, len: usize) -> Vec<u8> {
        let words = (0..len.div_ceil(WORD) as u64).map(|index| {
            let at = at.plus(1 + index);
            self.owners[self.index(at)].with(|_| ());
            self.word(at).load(Ordering::Relaxed).to_ne_bytes()
        });
        let mut bytes = words.collect::<Vec<_>>().concat();
        bytes.truncate(len);
        bytes
    }

    pub(super) unsafe fn clear(&self, at: Position, words: u64) {
        for index in 0..words {
            self.own(at.plus(index));
            self.word(at.plus(index)).store(0, Ordering::Relaxed);
        }
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        let words = std::ptr::slice_from_raw_parts_mut(self.base.as_ptr(), self.mask as usize + 1);
        if self.is_owned {
            // SAFETY: `new` leaked a box of that many (I1).
            drop(unsafe { Box::from_raw(words) });
        }
    }
}

impl fmt::Debug for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Words").field("len", &self.len()).finish_non_exhaustive()
    }
}
