//! An object with a hazard of its own.
//!
//! # Invariants
//! I1: the hazard protects the object as long as the guard exists, and the cell is borrowed.

use super::{Hazard, Shared};
use std::fmt;
use std::ops::Deref;
use std::ptr::NonNull;

/// An object that a hazard of its own protects. It may be sent to another thread, and read and dropped there.
///
/// ```
/// use uncontended_reclaim::hazard::Shared;
///
/// let word = Shared::new(Box::new("sent".to_owned()));
/// let guard = word.guard().unwrap();
/// std::thread::scope(|threads| {
///     threads.spawn(move || assert_eq!(*guard, "sent"));
/// });
/// ```
///
/// It does not outlive its cell:
///
/// ```compile_fail,E0597
/// let guard = {
///     let cell = uncontended_reclaim::hazard::Shared::new(Box::new(1));
///     cell.guard()
/// };
/// assert!(guard.is_some());
/// ```
#[must_use = "an object is protected while its guard exists"]
pub struct Guard<'s, T> {
    hazard: Hazard,
    object: NonNull<T>,
    cell: std::marker::PhantomData<&'s T>,
}

// SAFETY: a hazard, and a shared reference to the object (I1).
unsafe impl<T: Sync> Send for Guard<'_, T> {}
// SAFETY: it gives shared references alone (I1).
unsafe impl<T: Sync> Sync for Guard<'_, T> {}

impl<'s, T> Guard<'s, T> {
    #[inline]
    pub(super) fn new(cell: &'s Shared<T>) -> Option<Guard<'s, T>> {
        let mut hazard = Hazard::new();
        let object = NonNull::new(hazard.protect_raw(cell.as_atomic()))?;
        Some(Guard { hazard, object, cell: std::marker::PhantomData })
    }

    /// The hazard, which then protects something else.
    pub fn into_hazard(self) -> Hazard {
        self.hazard
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: protected by the hazard (I1).
        unsafe { self.object.as_ref() }
    }
}

impl<T: fmt::Debug> fmt::Debug for Guard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
