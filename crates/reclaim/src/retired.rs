//! An object that waits to be freed, or a closure that waits to run.
//!
//! # Invariants
//! I1: `free` gets `what` once, by [`Retired::free`], and only when no reader uses it: the caller of `free` says so.
//! I2: what is in `what` is `Send`: any thread may free it.
//! I3: in debug builds, and in tests, the address of each object that waits is in the ledger; the second retirement of
//!     one panics.

use std::fmt;
use uncontended_atomic::Box;

/// A retired object. Dropping it leaks the object: it never frees too early.
pub(crate) struct Retired {
    what: *mut (),
    free: unsafe fn(*mut ()),
    bytes: usize,
    /// When a reclaimer first found that a reader uses it; 0 before.
    held_since_ns: u64,
}

impl fmt::Debug for Retired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes at {:#x}", self.bytes, self.address())
    }
}

// SAFETY: what it refers to is `Send` (I2).
unsafe impl Send for Retired {}

impl Retired {
    /// An owned object that weighs its own size and `more` bytes.
    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn new<T: Send + 'static>(object: Box<T>, more: usize) -> Retired {
        // SAFETY: it was owned, so it is retired once (I1).
        unsafe { Retired::raw(Box::into_raw(object), more) }
    }

    /// The object at `object`, which comes from a [`Box`].
    ///
    /// # Safety
    /// From now on it belongs to the result.
    #[cfg_attr(unc_model, track_caller)]
    pub(crate) unsafe fn raw<T: Send + 'static>(object: *mut T, more: usize) -> Retired {
        unsafe fn free<T>(what: *mut ()) {
            // SAFETY: made from a box of this type below, and freed once (I1).
            drop(unsafe { Box::from_raw(what.cast::<T>()) });
        }
        if size_of::<T>() > 0 {
            ledger::add(object.addr());
        }
        let bytes = size_of::<T>().saturating_add(more);
        Retired { what: object.cast(), free: free::<T>, bytes, held_since_ns: 0 }
    }

    /// A closure that runs instead of a destructor.
    pub(crate) fn closure(bytes: usize, closure: impl FnOnce() + Send + 'static) -> Retired {
        struct Runs<F: FnOnce()>(Option<F>);
        impl<F: FnOnce()> Drop for Runs<F> {
            fn drop(&mut self) {
                if let Some(closure) = self.0.take() {
                    closure();
                }
            }
        }
        Retired::new(Box::new(Runs(Some(closure))), bytes)
    }

    pub(crate) fn address(&self) -> usize {
        self.what.addr()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn held_since_ns(&self) -> u64 {
        self.held_since_ns
    }

    /// A reader was found to use it, now.
    pub(crate) fn is_held(&mut self, now_ns: u64) {
        if self.held_since_ns == 0 {
            self.held_since_ns = now_ns;
        }
    }

    /// Runs its destructor.
    ///
    /// # Safety
    /// No reader uses it any more.
    pub(crate) unsafe fn free(self) {
        ledger::remove(self.address());
        // SAFETY: by value, so once, and no reader uses it (I1).
        unsafe { (self.free)(self.what) };
    }
}

/// What waits, in debug builds (I3).
#[cfg(all(debug_assertions, not(unc_model)))]
mod ledger {
    use crate::latch::{Latch, Reopened};
    use std::collections::BTreeSet;

    impl Reopened for BTreeSet<usize> {}

    static WAITING: Latch<BTreeSet<usize>> = Latch::new(BTreeSet::new());

    pub(super) fn add(address: usize) {
        let is_new = WAITING.with(|waiting| waiting.insert(address));
        assert!(is_new, "retired twice: the object at {address:#x} already waits to be freed");
    }

    pub(super) fn remove(address: usize) {
        WAITING.with(|waiting| waiting.remove(&address));
    }
}

#[cfg(not(all(debug_assertions, not(unc_model))))]
mod ledger {
    pub(super) fn add(_: usize) {}
    pub(super) fn remove(_: usize) {}
}
