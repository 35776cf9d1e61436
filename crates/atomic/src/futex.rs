//! Sleeping on a word: in the kernel (`kernel`), in the table of a program that does without Linux's futexes
//! (`table`), or in the checker (`modelled`).

use crate::{AtomicU32, AtomicU64};
pub use uncontended_sys::futex::{Scope, Wait};

#[cfg(not(any(unc_model, unc_portable, not(target_os = "linux"))))]
#[path = "futex/kernel.rs"]
#[expect(unnameable_types, reason = "sealed")]
mod way;
#[cfg(all(any(unc_portable, not(target_os = "linux")), not(unc_model)))]
#[path = "futex/table.rs"]
#[expect(unnameable_types, reason = "sealed")]
mod way;
#[cfg(unc_model)]
#[path = "futex/modelled.rs"]
mod way;

/// A word to sleep on: 32 bits, or the low half of 64.
pub trait FutexWord: way::Word {}

impl FutexWord for AtomicU32 {}
impl FutexWord for AtomicU64 {}

/// Sleeps while `word` (its low half) holds `expected`, until a wakeup or until `CLOCK_MONOTONIC` reaches
/// `deadline_ns`.
///
/// Under the checker the clock stands still: a sleep with a deadline may end by itself at any time.
#[cfg_attr(unc_model, track_caller)]
pub fn futex_wait(
    word: &impl FutexWord,
    expected: u32,
    deadline_ns: Option<u64>,
    scope: Scope,
) -> Wait {
    way::wait(word, expected, deadline_ns, scope)
}

/// Wakes `count` threads that sleep on `word` (its low half), and returns how many were woken. Threads under a
/// real-time policy come first, by priority; among equals, those that have slept longest.
#[cfg_attr(unc_model, track_caller)]
pub fn futex_wake(word: &impl FutexWord, count: u32, scope: Scope) -> usize {
    // The kernel would wake one thread for none.
    if count == 0 { 0 } else { way::wake(word, count, scope) }
}
