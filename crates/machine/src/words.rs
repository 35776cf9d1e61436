//! Memory that generated code and this process take turns with.
//!
//! # State
//! I1: the words are touched only through raw pointers and only by the thread whose turn it is; the meetings of
//! [`mod@crate::run`] hand the turn on.

use crate::layout::LINE;
use std::cell::UnsafeCell;

/// One cache line.
#[repr(align(64))]
struct Line([UnsafeCell<u64>; LINE]);

/// Words that start on a cache line.
pub(crate) struct Words(Box<[Line]>);

// SAFETY: no reference to a word is ever made, and turns never overlap (I1).
unsafe impl Sync for Words {}

impl Words {
    /// At least so many words, all zero.
    pub(crate) fn new(words: usize) -> Words {
        let line = || Line(std::array::from_fn(|_| UnsafeCell::new(0)));
        Words((0..words.div_ceil(LINE).max(1)).map(|_| line()).collect())
    }

    /// The first word; the others follow it.
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
