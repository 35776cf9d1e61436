//! The cell that owns an object which others may be reading: what `hazard::Shared` and `epoch::Shared` have in common.
//!
//! # Invariants
//! I1: the word is null, or from a box that belongs to this cell alone.
//! I2: what a cell lends is borrowed from the cell too, so an exclusive borrow of it means that no reader is left.

use std::marker::PhantomData;
use std::ptr::null_mut;
use uncontended_atomic::{AtomicPtr, Box};

#[derive(Debug)]
pub(crate) struct Owned<T> {
    pub(crate) at: AtomicPtr<T>,
    owns: PhantomData<Box<T>>,
}

// SAFETY: threads read the object through shared references, and any of them may replace and free it (I1).
unsafe impl<T: Send + Sync> Sync for Owned<T> {}

impl<T> Owned<T> {
    #[cfg(not(unc_model))]
    pub(crate) const fn empty() -> Owned<T> {
        Owned { at: AtomicPtr::new(null_mut()), owns: PhantomData }
    }

    #[cfg(unc_model)]
    pub(crate) fn empty() -> Owned<T> {
        Owned { at: AtomicPtr::new(null_mut()), owns: PhantomData }
    }

    pub(crate) fn new(object: Box<T>) -> Owned<T> {
        Owned { at: AtomicPtr::new(Box::into_raw(object)), owns: PhantomData }
    }

    pub(crate) fn take(&mut self) -> Option<Box<T>> {
        let at = std::mem::replace(&mut *self.at.get_mut(), null_mut());
        // SAFETY: this cell's, and not lent (I1, I2).
        (!at.is_null()).then(|| unsafe { Box::from_raw(at) })
    }

    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        let at = *self.at.get_mut();
        // SAFETY: null, or this cell's, and not lent (I1, I2).
        unsafe { at.as_mut() }
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

/// The pointer of an object to be published; null for none.
pub(crate) fn into_raw<T>(object: Option<Box<T>>) -> *mut T {
    object.map_or(null_mut(), Box::into_raw)
}
