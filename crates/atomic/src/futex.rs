//! Sleeping on a word, in the checker's words.

use core::sync::atomic::AtomicU32;
use uncontended_sys::futex;

/// Why a wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// Somebody woke the thread, or the kernel did for no reason: look at the word again.
    Woken,
    /// The word did not hold the value.
    Changed,
}

/// Waits while `word` holds `expected`, until a wake.
pub fn futex_wait(word: &AtomicU32, expected: u32) -> Wait {
    if futex::wait(word, expected) { Wait::Woken } else { Wait::Changed }
}

/// Wakes the `count` threads that have waited longest and returns how many that were.
pub fn futex_wake(word: &AtomicU32, count: u32) -> usize {
    futex::wake(word, count)
}
