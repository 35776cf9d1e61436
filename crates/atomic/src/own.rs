//! A word of one thread, which its signal handlers reach too.

use crate::pause::step;
use core::cell::Cell;

/// A value that only its own thread reads and writes; see `core::cell::Cell`. A signal handler may run before each
/// access, as a test can have it (`interrupt_after`).
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Own<T: Copy>(Cell<T>);

impl<T: Copy> Own<T> {
    /// A word that holds `value`.
    #[inline(always)]
    pub const fn new(value: T) -> Self {
        Own(Cell::new(value))
    }

    /// The value.
    #[inline(always)]
    pub fn get(&self) -> T {
        step();
        self.0.get()
    }

    /// Replaces the value.
    #[inline(always)]
    pub fn set(&self, value: T) {
        step();
        self.0.set(value);
    }
}
