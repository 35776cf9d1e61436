//! Names for what explored code shares, as a trace tells them.

/// Gives a stand-in a name for traces. Without one it is called by the place in the code where it was made.
///
/// ```
/// use uncontended_model::real::{AtomicU32, Named};
///
/// let head = AtomicU32::new(0).named("head");
/// assert_eq!(head.into_inner(), 0);
/// ```
pub trait Named: Sized {
    /// The same, called `name`.
    #[must_use]
    fn named(self, name: &'static str) -> Self;
}
