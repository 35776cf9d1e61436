//! A value on cache lines of its own.

use core::fmt;
use core::ops::{Deref, DerefMut};

/// Keeps a value off its neighbours' cache lines, which prevents false sharing.
///
/// 128 bytes: x86 prefetches lines in pairs, and some AArch64 processors have lines that long.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[repr(C, align(128))]
pub struct CachePadded<T>(T);

impl<T> CachePadded<T> {
    /// Pads a value.
    pub const fn new(value: T) -> CachePadded<T> {
        CachePadded(value)
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> Deref for CachePadded<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for CachePadded<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T> From<T> for CachePadded<T> {
    fn from(value: T) -> CachePadded<T> {
        CachePadded(value)
    }
}

impl<T: fmt::Debug> fmt::Debug for CachePadded<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_never_share_a_line() {
        let mut pair = [CachePadded::new(1u8), CachePadded::from(2)];
        *pair[0] += 1;
        let apart = (&raw const *pair[1]).addr() - (&raw const *pair[0]).addr();
        assert_eq!((apart, pair[0].into_inner(), align_of::<CachePadded<u8>>()), (128, 2, 128));
        assert_eq!(format!("{:?}", pair[1]), "2");
    }
}
