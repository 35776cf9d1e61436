//! Memory that generated code and this process access in turn.
//!
//! # State
//! I1: only the thread whose turn it is accesses a word, through raw pointers; the barriers of [`mod@crate::run`] pass
//!     the turn on.

use crate::layout::LINE;
use std::cell::UnsafeCell;

/// One cache line.
#[repr(align(64))]
struct Line([UnsafeCell<u64>; LINE]);

/// Words that start on a cache line.
pub(crate) struct Words(Box<[Line]>);

// SAFETY: there is never a reference to a word, and turns do not overlap (I1).
unsafe impl Sync for Words {}

impl Words {
    /// At least `words` words, all zero.
    pub(crate) fn new(words: usize) -> Words {
        let line = || Line(std::array::from_fn(|_| UnsafeCell::new(0)));
        Words((0..words.div_ceil(LINE).max(1)).map(|_| line()).collect())
    }

    /// The first word; the others follow.
    pub(crate) fn base(&self) -> *mut u64 {
        self.0.as_ptr().cast::<u64>().cast_mut()
    }

    fn word(&self, at: usize) -> *mut u64 {
        self.0[at / LINE].0[at % LINE].get()
    }

    /// Writes a word.
    ///
    /// # Safety
    /// It is the caller's turn with this word (I1).
    pub(crate) unsafe fn set(&self, at: usize, value: u64) {
        let word = self.word(at);
        // SAFETY: the word exists, and it is the caller's turn with it (I1).
        unsafe { word.write(value) };
    }

    /// Reads a word.
    ///
    /// # Safety
    /// It is the caller's turn with this word (I1).
    pub(crate) unsafe fn get(&self, at: usize) -> u64 {
        let word = self.word(at);
        // SAFETY: the word exists, and it is the caller's turn with it (I1).
        unsafe { word.read() }
    }
}
