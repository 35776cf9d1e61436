//! The memory of a byte ring: words, each of which may be a header or part of a payload.
//!
//! # State
//! I1: `base` points to `mask + 1` initialised words, a power of two, as long as `self` lives.
//! I2: the ring's own rules give a range of words to one side. Where the other side may read its header, both access
//!     the header atomically.
//!
//! Under the checker, payloads are stored word by word in the same atomics, so that a stale payload can be mistaken for
//! a header; and a cell per word lets the checker detect accesses to a range that belongs to the other side.

use super::header::{Header, WORD, words_for};
use crate::CapacityError;
use crate::position::Position;
use crate::slots::MAX_CAPACITY;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::ptr::NonNull;
use uncontended_atomic::{AtomicU64, Named, Ordering};

/// The fewest words: fewer would hold no useful record.
const LEAST: usize = 4;

/// The memory of a ring.
pub struct Words {
    base: NonNull<AtomicU64>,
    mask: u64,
    /// Whether `drop` frees the memory.
    is_owned: bool,
    #[cfg(unc_model)]
    owners: Box<[uncontended_atomic::UnsafeCell<()>]>,
}

// SAFETY: words are atomics, and the ring's rules give each payload to one side (I2).
unsafe impl Send for Words {}
// SAFETY: as for `Send` (I2).
unsafe impl Sync for Words {}

/// The number of words to which a capacity in bytes is rounded up.
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
    /// Allocates at least `capacity` bytes.
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

    /// Uses the `count` words at `base`.
    ///
    /// # Safety
    /// They are initialised and live as long as the result; `count` is a power of two (I1); and they are used only as a
    /// ring.
    #[cfg(not(unc_model))]
    pub(super) unsafe fn given(base: NonNull<AtomicU64>, count: usize) -> Words {
        debug_assert!(count.is_power_of_two());
        Words { base, mask: count as u64 - 1, is_owned: false }
    }

    /// The number of words.
    #[inline(always)]
    pub(super) fn len(&self) -> u64 {
        self.mask + 1
    }

    /// The longest record that fits at any position, including the padding before it.
    #[inline(always)]
    pub(super) fn longest(&self) -> usize {
        (self.len() as usize / 2 - 1) * WORD
    }

    /// The number of words from `at` to the end of the memory.
    #[inline(always)]
    pub(super) fn to_end(&self, at: Position) -> u64 {
        self.len() - self.index(at) as u64
    }

    #[inline(always)]
    fn index(&self, at: Position) -> usize {
        (at.steps() & self.mask) as usize
    }

    /// The header word at a position.
    #[inline(always)]
    fn word(&self, at: Position) -> &AtomicU64 {
        // SAFETY: the index is at most `mask` (I1).
        let word = unsafe { self.base.add(self.index(at)) };
        // SAFETY: the word is initialised (I1), and accessed only as an atomic while it may be a header (I2).
        unsafe { word.as_ref() }
    }

    #[inline(always)]
    pub(super) fn load(&self, at: Position, order: Ordering) -> Header {
        Header::of(self.word(at).load(order))
    }

    /// Writes a header that no producer writes into the first word.
    #[cfg(all(test, not(unc_model)))]
    pub(super) fn scribble(&self, word: u64) {
        // SAFETY: there is a first word (I1), and only this thread accesses it while the test writes it (I2).
        unsafe { self.base.as_ptr().cast::<u64>().write(word) };
    }

    /// The words of the payload after the header at a position, by atomic loads.
    ///
    /// # Safety
    /// The range belongs to the caller and does not exceed the end of the memory.
    pub(super) unsafe fn read(&self, at: Position, len: usize) -> impl Iterator<Item = [u8; WORD]> {
        (1..words_for(len)).map(move |index| {
            let at = at.plus(index);
            #[cfg(unc_model)]
            self.owners[self.index(at)].with(|_| ());
            self.word(at).load(Ordering::Relaxed).to_ne_bytes()
        })
    }

    #[inline(always)]
    pub(super) fn store(&self, at: Position, header: Header, order: Ordering) {
        self.word(at).store(header.word(), order);
    }
}

#[cfg(not(unc_model))]
impl Words {
    /// The payload after the header at a position.
    #[inline(always)]
    pub(super) fn payload(&self, at: Position) -> NonNull<u8> {
        // SAFETY: the index is at most `mask`, so this is at most one past the last word (I1).
        unsafe { self.base.add(self.index(at) + 1) }.cast()
    }

    /// Writes the header of a range that belongs to the caller alone, header included.
    ///
    /// # Safety
    /// As for [`write`](Words::write).
    #[inline(always)]
    pub(super) unsafe fn put(&self, at: Position, header: Header) {
        let target = self.word(at).as_ptr();
        // SAFETY: the word belongs to the caller (I2).
        unsafe { target.write(header.word()) };
    }

    /// Reads the header of a range that belongs to the caller alone.
    ///
    /// # Safety
    /// As for [`write`](Words::write).
    #[inline(always)]
    pub(super) unsafe fn get(&self, at: Position) -> Header {
        let source = self.word(at).as_ptr();
        // SAFETY: the word belongs to the caller (I2) and is initialised (I1).
        Header::of(unsafe { source.read() })
    }

    /// Copies `bytes` to the payload after the header at a position.
    ///
    /// # Safety
    /// The range belongs to the caller and does not exceed the end of the memory.
    #[inline(always)]
    pub(super) unsafe fn write(&self, at: Position, bytes: &[u8]) {
        let target = self.payload(at).as_ptr();
        // SAFETY: these `bytes.len()` bytes belong to the caller (I2).
        unsafe { target.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    }

    /// Zeroes words, so that none is taken for a header in the next round.
    ///
    /// # Safety
    /// As for [`write`](Words::write).
    #[inline(always)]
    pub(super) unsafe fn clear(&self, at: Position, words: u64) {
        // SAFETY: the index is at most `mask` (I1).
        let target = unsafe { self.base.add(self.index(at)) }.as_ptr();
        // SAFETY: these `words` words belong to the caller (I2); all zeros is a valid atomic.
        unsafe { target.write_bytes(0, words as usize) };
    }
}

/// Under the checker: the same, word by word.
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

    pub(super) unsafe fn clear(&self, at: Position, words: u64) {
        for index in 0..words {
            self.own(at.plus(index));
            self.word(at.plus(index)).store(0, Ordering::Relaxed);
        }
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        let words = core::ptr::slice_from_raw_parts_mut(self.base.as_ptr(), self.mask as usize + 1);
        if self.is_owned {
            // SAFETY: `new` leaked a box of this length (I1).
            drop(unsafe { Box::from_raw(words) });
        }
    }
}

impl fmt::Debug for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Words").field("len", &self.len()).finish_non_exhaustive()
    }
}
