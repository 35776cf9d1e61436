//! Names for shared objects, used only in the checker's traces.

/// Names an object in the traces of explored code. In a program this does nothing.
///
/// ```
/// use uncontended_atomic::{AtomicU32, Named};
///
/// let head = AtomicU32::new(0).named("head");
/// # drop(head);
/// ```
pub trait Named: Sized {
    /// The same object, named `name`.
    #[must_use]
    fn named(self, name: &'static str) -> Self;
}

impl<T> Named for T {
    #[inline(always)]
    fn named(self, _name: &'static str) -> T {
        self
    }
}
