//! A cell whose object a pinned thread reads.
//!
//! # Invariants
//! I1: an object that leaves the cell while others may read it is retired into the cell's collector; all other ways out
//!     need the cell alone.
//! I2: a guard of another collector is refused.
//!
//! # Edges
//! linked: `Shared::replace` -> `Shared::load`. What is in an object.

use super::{Collector, Guard};
use crate::owned::{Owned, into_raw};
use std::fmt;
use std::sync::Arc;
use uncontended_atomic::Box;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};

/// Owns an object, or none. Threads that are pinned read it, and replace it as a whole; the old object is freed when no
/// thread is pinned any more that was pinned before.
///
/// ```
/// use uncontended_reclaim::epoch::{Collector, Shared};
///
/// let collector = Collector::new();
/// let (guard, word) = (collector.pin(), Shared::new(Box::new("old".to_owned()), &collector));
/// let old = word.load(&guard).unwrap();
/// word.replace(Some(Box::new("new".to_owned())), &guard);
/// assert_eq!((old.as_str(), word.load(&guard).unwrap().as_str()), ("old", "new"));
/// ```
pub struct Shared<T> {
    owned: Owned<T>,
    /// Where the collector is. Objects of one that was dropped are free of readers, so another one may be there.
    collector: usize,
}

impl<T> Shared<T> {
    /// A cell that owns `object`, whose readers are pinned in `collector`.
    pub fn new(object: Box<T>, collector: &Collector) -> Shared<T> {
        Shared { owned: Owned::new(object), collector: Arc::as_ptr(&collector.inner).addr() }
    }

    /// A cell without an object.
    pub fn empty(collector: &Collector) -> Shared<T> {
        Shared { owned: Owned::empty(), collector: Arc::as_ptr(&collector.inner).addr() }
    }

    /// The object; `None` if there is none.
    ///
    /// # Panics
    /// If the guard is of another collector.
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    pub fn load<'g>(&'g self, guard: &'g Guard<'_>) -> Option<&'g T> {
        self.check(guard);
        // EDGE linked (acquire): what is in the object.
        let object = self.owned.at.load(Acquire);
        // SAFETY: null, or the cell's: only a retirement into the guard's own collector takes it out (I1, I2).
        unsafe { object.as_ref() }
    }

    #[inline(always)]
    #[track_caller]
    fn check(&self, guard: &Guard<'_>) {
        #[cold]
        #[track_caller]
        fn refuse() -> ! {
            panic!("a guard of another collector; pin the one that the cell was made for")
        }
        if guard.collector() != self.collector {
            refuse();
        }
    }

    /// The object, to be changed: the cell is not shared.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.owned.get_mut()
    }

    /// Takes the object out: the cell is not shared.
    pub fn take(&mut self) -> Option<Box<T>> {
        self.owned.take()
    }
}

impl<T: Send + Sync + 'static> Shared<T> {
    /// Puts another object into the cell, or none, and retires the old one, which may run destructors here and now.
    ///
    /// # Panics
    /// If the guard is of another collector.
    #[cfg_attr(unc_model, track_caller)]
    #[inline]
    pub fn replace(&self, new: Option<Box<T>>, guard: &Guard<'_>) {
        self.replace_weighing(new, 0, guard);
    }

    /// The same, where the old object holds `more` bytes besides its own size.
    ///
    /// # Panics
    /// If the guard is of another collector.
    #[cfg_attr(unc_model, track_caller)]
    pub fn replace_weighing(&self, new: Option<Box<T>>, more: usize, guard: &Guard<'_>) {
        self.check(guard);
        // EDGE linked (release): what is in the new object. The old one's publisher was pinned, so `unpinned` brings
        // what is in it to its destructor.
        let old = self.owned.at.swap(into_raw(new), Release);
        // SAFETY: it was this cell's, and has left it (I1).
        unsafe { retire(old, more, guard) };
    }

    /// The same, if the cell still holds `current`.
    ///
    /// # Errors
    /// The new object, if the cell holds another one.
    ///
    /// # Panics
    /// If the guard is of another collector.
    #[cfg_attr(unc_model, track_caller)]
    pub fn compare_exchange(
        &self,
        current: Option<&T>,
        new: Option<Box<T>>,
        guard: &Guard<'_>,
    ) -> Result<(), Option<Box<T>>> {
        self.check(guard);
        let current =
            current.map_or(std::ptr::null_mut(), |object| (&raw const *object).cast_mut());
        let new = into_raw(new);
        // EDGE linked (release): what is in the new object. What is in the old one was seen with `current`.
        match self.owned.at.compare_exchange(current, new, Release, Relaxed) {
            Ok(old) => {
                // SAFETY: it was this cell's, and has left it (I1).
                unsafe { retire(old, 0, guard) };
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
/// Null, or from a box, and only threads that are pinned in the guard's collector still read it.
#[cfg_attr(unc_model, track_caller)]
unsafe fn retire<T: Send + Sync + 'static>(old: *mut T, more: usize, guard: &Guard<'_>) {
    if !old.is_null() {
        // SAFETY: unlinked and owned, as the caller says (I1).
        unsafe { guard.retire_raw(old, more) };
    }
}

impl<T> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Shared").field(&self.owned.at).finish()
    }
}
