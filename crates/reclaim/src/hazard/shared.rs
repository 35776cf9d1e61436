//! A cell whose object hazards protect.
//!
//! # Invariants
//! I1: an object that leaves the cell while others may read it is retired; all other ways out need the cell alone.

use super::{Domain, Guard};
use crate::owned::{Owned, into_raw};
use std::fmt;
use uncontended_atomic::Ordering::{AcqRel, Relaxed, Release};
use uncontended_atomic::{AtomicPtr, Box};

/// Owns an object, or none. Threads read it through a [`Hazard`](super::Hazard) or a [`Guard`], and replace it as a
/// whole; the old object is freed when no hazard protects it.
///
/// ```
/// use uncontended_reclaim::hazard::{Domain, Shared};
///
/// let (route, garbage) = (Shared::new(Box::new("old".to_owned())), Domain::new());
/// std::thread::scope(|threads| {
///     threads.spawn(|| assert!(route.guard().is_some_and(|route| route.len() == 3)));
///     route.replace(Some(Box::new("new".to_owned())), &garbage);
/// });
/// assert_eq!(*route.guard().unwrap(), "new");
/// ```
///
/// It is shared between threads if its objects may be:
///
/// ```compile_fail,E0277
/// fn is_shared<T: Sync>(_: T) {}
/// is_shared(uncontended_reclaim::hazard::Shared::new(Box::new(std::cell::Cell::new(1))));
/// ```
///
/// Objects without a size have no address of their own, so they do not compile:
///
/// ```compile_fail,E0080
/// uncontended_reclaim::hazard::Shared::new(Box::new(()));
/// ```
pub struct Shared<T>(Owned<T>);

impl<T> Shared<T> {
    /// A cell that owns `object`.
    pub fn new(object: Box<T>) -> Shared<T> {
        super::has_address::<T>();
        Shared(Owned::new(object))
    }

    /// A cell without an object; `const`.
    #[cfg(not(unc_model))]
    pub const fn empty() -> Shared<T> {
        super::has_address::<T>();
        Shared(Owned::empty())
    }

    /// A cell without an object.
    #[cfg(unc_model)]
    pub fn empty() -> Shared<T> {
        super::has_address::<T>();
        Shared(Owned::empty())
    }

    pub(super) fn as_atomic(&self) -> &AtomicPtr<T> {
        &self.0.at
    }

    /// The object, protected by a hazard of its own; `None` if there is none. A [`Hazard`](super::Hazard) that is kept
    /// between reads is cheaper.
    #[inline]
    pub fn guard(&self) -> Option<Guard<'_, T>> {
        Guard::new(self)
    }

    /// The object, to be changed: the cell is not shared.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.0.get_mut()
    }

    /// Takes the object out: the cell is not shared.
    pub fn take(&mut self) -> Option<Box<T>> {
        self.0.take()
    }
}

impl<T: Send + Sync + 'static> Shared<T> {
    /// Puts another object into the cell, or none, and retires the old one into `garbage`, which may free objects here
    /// and now. The old one is kept until the domain's [`Limits`](crate::Limits) are reached, or until it collects: of
    /// an object that leads to much memory, say how much ([`Self::replace_weighing`]), or collect after a replacement.
    #[cfg_attr(unc_model, track_caller)]
    pub fn replace(&self, new: Option<Box<T>>, garbage: &Domain) {
        self.replace_weighing(new, 0, garbage);
    }

    /// The same, where the old object holds `more` bytes besides its own size.
    #[cfg_attr(unc_model, track_caller)]
    pub fn replace_weighing(&self, new: Option<Box<T>>, more: usize, garbage: &Domain) {
        // EDGE object (release): what is in the new object.
        // EDGE object (acquire): what is in the old one, whose destructor may run in this thread.
        let old = self.0.at.swap(into_raw(new), AcqRel);
        // SAFETY: it was this cell's, and has left it (I1).
        unsafe { retire(old, more, garbage) };
    }

    /// The same, if the cell still holds `current`, which a hazard protects.
    ///
    /// # Errors
    /// The new object, if the cell holds another one.
    #[cfg_attr(unc_model, track_caller)]
    pub fn compare_exchange(
        &self,
        current: Option<&T>,
        new: Option<Box<T>>,
        garbage: &Domain,
    ) -> Result<(), Option<Box<T>>> {
        let current =
            current.map_or(std::ptr::null_mut(), |object| (&raw const *object).cast_mut());
        let new = into_raw(new);
        // EDGE object (release): what is in the new object. What is in the old one was seen with `current`.
        match self.0.at.compare_exchange(current, new, Release, Relaxed) {
            Ok(old) => {
                // SAFETY: it was this cell's, and has left it (I1).
                unsafe { retire(old, 0, garbage) };
                Ok(())
            }
            // SAFETY: made from a box above, and never published (I1).
            Err(_) => Err((!new.is_null()).then(|| unsafe { Box::from_raw(new) })),
        }
    }
}

/// Retires what a cell held.
///
/// # Safety
/// Null, or from a box, and only hazards still protect it.
#[cfg_attr(unc_model, track_caller)]
unsafe fn retire<T: Send + Sync + 'static>(old: *mut T, more: usize, garbage: &Domain) {
    if !old.is_null() {
        // SAFETY: unlinked and owned, as the caller says (I1).
        unsafe { garbage.retire_raw(old, more) };
    }
}

impl<T> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Shared").field(&self.0.at).finish()
    }
}
