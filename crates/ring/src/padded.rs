//! A value on cache lines of its own.

use std::ops::Deref;

/// Keeps its neighbours off the pair of cache lines that adjacent-line prefetch fetches together.
#[derive(Debug, Default)]
#[repr(C, align(128))]
pub(crate) struct Padded<T>(pub(crate) T);

impl<T> Deref for Padded<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}
