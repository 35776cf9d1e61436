//! The value of an atomic that is borrowed exclusively: what `get_mut` returns.

use super::atomics::Word;
use super::op::{Op, Order};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location as Site;

/// The value of an atomic, borrowed exclusively. It stands in for the `&mut T` that `std`'s `get_mut` returns:
/// borrowing is a relaxed load, and dropping it after a change is a relaxed store.
pub struct AtomicMut<'a, T: Copy> {
    word: &'a Word,
    value: T,
    to_bits: fn(T) -> u64,
    before: u64,
    address: bool,
    site: &'static Site<'static>,
}

/// How a value is made of bits, and its bits.
type Bits<T> = (fn(u64) -> T, fn(T) -> u64);

impl<'a, T: Copy> AtomicMut<'a, T> {
    /// `address`: the value is a pointer.
    pub(crate) fn new(
        word: &'a Word,
        (from_bits, to_bits): Bits<T>,
        address: bool,
        site: &'static Site<'static>,
    ) -> AtomicMut<'a, T> {
        let before = word.perform(Op::Load { order: Order::RELAXED }, address, site);
        AtomicMut { word, value: from_bits(before), to_bits, before, address, site }
    }
}

impl<T: Copy> Drop for AtomicMut<'_, T> {
    fn drop(&mut self) {
        let value = (self.to_bits)(self.value);
        if value != self.before {
            self.word.perform(Op::Store { value, order: Order::RELAXED }, self.address, self.site);
        }
    }
}

impl<T: Copy> Deref for AtomicMut<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Copy> DerefMut for AtomicMut<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T: Copy + fmt::Debug> fmt::Debug for AtomicMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}
