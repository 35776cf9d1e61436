//! Names for what is shared, told by the checker's traces and by nothing else.

/// Gives something a name for the traces of explored code. In a program it is nothing at all.
///
/// ```
/// use uncontended_atomic::{AtomicU32, Named};
///
/// let head = AtomicU32::new(0).named("head");
/// # drop(head);
/// ```
pub trait Named: Sized {
    /// The same, called `name`.
    #[must_use]
    fn named(self, name: &'static str) -> Self;
}

impl<T> Named for T {
    #[inline(always)]
    fn named(self, _name: &'static str) -> T {
        self
    }
}
