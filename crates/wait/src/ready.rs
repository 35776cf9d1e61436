//! What the condition of a wait returns.
//!
//! # Contract
//! `bool`: whether it holds. `Option`: what was found, once something is. The trait is sealed, so that no third kind
//! of answer is mistaken for one of these.

mod sealed {
    pub trait Sealed {}
}

/// What the condition of a wait returns: `bool`, or an `Option` of what it found.
///
/// `true` and `Some` end the wait, whatever is in the `Some`: so does `Some(false)`.
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering::Acquire};
/// use uncontended_wait::Sleepers;
///
/// let (sleepers, is_ready, mut queue) = (Sleepers::new(), AtomicBool::new(true), vec!["work"]);
/// sleepers.sleep_until(|| is_ready.load(Acquire));
/// assert_eq!(sleepers.sleep_until(|| queue.pop()), "work");
/// ```
///
/// Nothing else is a condition:
///
/// ```compile_fail,E0277
/// uncontended_wait::Sleepers::new().sleep_until(|| 1);
/// ```
#[diagnostic::on_unimplemented(
    message = "the condition of a wait returns `bool` or an `Option`, not `{Self}`",
    label = "returns `{Self}`",
    note = "`true` or `Some` ends the wait, and it returns what is in the `Some`"
)]
pub trait Ready: sealed::Sealed {
    /// What the wait returns: nothing for `bool`, and what was found for an `Option`.
    type Value;

    /// The value that ends the wait, if one does.
    #[doc(hidden)]
    fn found(self) -> Option<Self::Value>;
}

impl sealed::Sealed for bool {}

impl Ready for bool {
    type Value = ();

    #[inline(always)]
    fn found(self) -> Option<()> {
        self.then_some(())
    }
}

impl<T> sealed::Sealed for Option<T> {}

impl<T> Ready for Option<T> {
    type Value = T;

    #[inline(always)]
    fn found(self) -> Option<T> {
        self
    }
}
