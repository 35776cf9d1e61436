//! Names of shared objects, as shown in traces.

/// Gives a stand-in a name for traces. Without one it is shown as the place in the code where it was created.
///
/// ```
/// use uncontended_model::real::{AtomicU32, Named};
///
/// let head = AtomicU32::new(0).named("head");
/// assert_eq!(head.into_inner(), 0);
/// ```
pub trait Named: Sized {
    /// Returns the object, named `name`.
    #[must_use]
    fn named(self, name: &'static str) -> Self;
}
