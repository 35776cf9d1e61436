//! Mapped words, as this crate's atomics.
//!
//! # Invariants
//! I1: the atomic of the crate `atomic` is a transparent wrapper of std's.

use std::io;
use std::os::fd::BorrowedFd;
use uncontended_atomic::AtomicU64;
pub use uncontended_sys::window::Access;
use uncontended_sys::window::Window;

/// Memory of a descriptor, mapped ([`uncontended_sys::window`]).
#[derive(Debug)]
pub struct Words(Window);

impl Words {
    /// Maps the first `words` words of a file that cannot become shorter.
    ///
    /// # Errors
    /// Those of `mmap`; `InvalidInput` if there are none, or the file is shorter.
    pub fn open(file: BorrowedFd<'_>, words: usize, access: Access) -> io::Result<Words> {
        Window::open(file, words * 8, access).map(Words)
    }

    /// The words.
    pub fn all(&self) -> &[AtomicU64] {
        let words = self.0.words();
        // SAFETY: the same words under another name (I1), borrowed as long.
        unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len()) }
    }
}
