//! A hazard: what one reader protects.
//!
//! # Invariants
//! I1: the hazard is the only one that writes its place, until it gives it back with nothing in it.
//! I2: what `protect` lends is borrowed from the hazard, which publishes the same pointer until that borrow ends.

use super::Shared;
use super::places::{self, Published};
use crate::registry::Place;
use std::fmt;
use std::ptr::null_mut;
use uncontended_atomic::AtomicPtr;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};

/// Protects one object at a time from being freed.
///
/// Make it once and use it for many reads: making one takes a place from the thread's cache, a read is a store, a light
/// fence and two loads. It may be sent to another thread. A hazard that is leaked keeps its last object, and a place in
/// the list, for the rest of the program.
///
/// ```
/// use uncontended_reclaim::hazard::{Domain, Hazard, Shared};
///
/// static LIMITS: Domain = Domain::new();
/// let limit = Shared::new(Box::new(10));
/// let mut hazard = Hazard::new();
/// let read = hazard.protect(&limit).unwrap();
/// limit.replace(Some(Box::new(20)), &LIMITS);  // in any thread
/// assert_eq!(*read, 10);                       // not freed yet
/// assert_eq!(hazard.protect(&limit), Some(&20));
/// ```
///
/// What it lends ends with the next read:
///
/// ```compile_fail,E0499
/// use uncontended_reclaim::hazard::{Hazard, Shared};
///
/// let (one, two) = (Shared::new(Box::new(1)), Shared::new(Box::new(2)));
/// let mut hazard = Hazard::new();
/// let first = hazard.protect(&one);
/// let second = hazard.protect(&two);
/// assert!(first < second);
/// ```
#[must_use = "a hazard protects nothing until it is used"]
pub struct Hazard {
    place: &'static Place<Published>,
}

/// The cell changed while it was read: what it held may be gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed;

impl fmt::Display for Changed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the cell changed while it was read; read again")
    }
}

impl std::error::Error for Changed {}

impl Default for Hazard {
    fn default() -> Hazard {
        Hazard::new()
    }
}

impl Hazard {
    /// A hazard that protects nothing yet.
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    pub fn new() -> Hazard {
        Hazard { place: places::take() }
    }

    /// Several, for a thread that reads several objects at a time.
    ///
    /// ```
    /// use uncontended_reclaim::hazard::{Hazard, Shared};
    ///
    /// let [mut left, mut right] = Hazard::several();
    /// let (one, two) = (Shared::new(Box::new(1)), Shared::new(Box::new(2)));
    /// assert!(left.protect(&one) < right.protect(&two));
    /// ```
    pub fn several<const N: usize>() -> [Hazard; N] {
        std::array::from_fn(|_| Hazard::new())
    }

    /// The object in the cell, protected until the hazard is used again; `None` if the cell is empty. Lock-free: it
    /// tries again only if the cell has changed.
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    pub fn protect<'h, T>(&'h mut self, cell: &'h Shared<T>) -> Option<&'h T> {
        let object = self.protect_raw(cell.as_atomic());
        // SAFETY: null, or the cell's object, which this hazard protects until its borrow ends (I2); only a retirement
        // takes it from the cell while the cell is borrowed.
        unsafe { object.as_ref() }
    }

    /// The same in a single attempt: wait-free.
    ///
    /// # Errors
    /// [`Changed`]: the cell has changed meanwhile.
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    pub fn try_protect<'h, T>(&'h mut self, cell: &'h Shared<T>) -> Result<Option<&'h T>, Changed> {
        let seen = cell.as_atomic().load(Relaxed);
        let object = self.attempt(cell.as_atomic(), seen);
        // SAFETY: null, or the cell's object, which this hazard protects until its borrow ends (I2), as in `protect`.
        if object == seen { Ok(unsafe { object.as_ref() }) } else { Err(Changed) }
    }

    /// The pointer in a word, published in this hazard when the word held it. What that protects is up to the program's
    /// own protocol: an object that is retired ([`Domain::retire_raw`](super::Domain::retire_raw)) only after the word
    /// no longer leads to it.
    ///
    /// A word inside an object that was itself unlinked never changes: that it still holds the pointer then means
    /// nothing. Check that the object is still linked, or do not walk through unlinked ones.
    ///
    /// Tags stay in the pointer, and then it protects nothing, as what is retired has another address: use
    /// [`protect_tagged`](Hazard::protect_tagged).
    ///
    /// # Panics
    /// In debug builds, if the pointer has a tag: it is not aligned.
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    pub fn protect_raw<T>(&mut self, word: &AtomicPtr<T>) -> *mut T {
        let found = self.protect_tagged(word, |found| found);
        debug_assert!(
            found.is_aligned(),
            "{found:?} has a tag, so it protects nothing; use protect_tagged"
        );
        found
    }

    /// The same for a word whose pointers have tags: protects the object at `address` of what the word holds, and
    /// returns what it holds, with its tag.
    ///
    /// ```
    /// use std::sync::atomic::Ordering::Relaxed;
    /// use uncontended_reclaim::AtomicPtr;
    /// use uncontended_reclaim::hazard::{Domain, Hazard};
    ///
    /// const CLOSED: usize = 1; // The lowest bit, which the address of an i32 does not have.
    /// let address = |tagged: *mut i32| tagged.map_addr(|tagged| tagged & !CLOSED);
    /// let (domain, object) = (Domain::new(), Box::into_raw(Box::new(7)));
    /// let word = AtomicPtr::new(object.map_addr(|object| object | CLOSED));
    ///
    /// let mut hazard = Hazard::new();
    /// let found = hazard.protect_tagged(&word, address);
    /// word.store(std::ptr::null_mut(), Relaxed);
    /// // SAFETY: from a box, unlinked, and retired once.
    /// unsafe { domain.retire_raw(object, 0) };
    /// assert_eq!(domain.collect()?.waits.objects, 1);
    /// // SAFETY: protected.
    /// assert_eq!((found.addr() & CLOSED, unsafe { *address(found) }), (CLOSED, 7));
    /// # Ok::<(), uncontended_reclaim::Refused>(())
    /// ```
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    pub fn protect_tagged<T>(
        &mut self,
        word: &AtomicPtr<T>,
        address: impl Fn(*mut T) -> *mut T,
    ) -> *mut T {
        let mut seen = word.load(Relaxed);
        loop {
            let now = self.attempt(word, address(seen));
            if now == seen {
                return now;
            }
            seen = now;
        }
    }

    /// Publishes the address of an object, and returns what the word holds then.
    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    fn attempt<T>(&mut self, word: &AtomicPtr<T>, object: *mut T) -> *mut T {
        // EDGE cleared (release): the last use of what was protected before.
        self.place.value.store(object.cast(), Release);
        uncontended_fence::light();
        // EDGE object (acquire): what is in the object.
        word.load(Acquire)
    }

    /// Protects nothing from now on.
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    pub fn reset(&mut self) {
        // EDGE cleared (release): the last use of what was protected.
        self.place.value.store(null_mut(), Release);
    }
}

impl Drop for Hazard {
    #[inline]
    fn drop(&mut self) {
        self.reset();
        places::give_back(self.place);
    }
}

impl fmt::Debug for Hazard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Hazard").field(&self.place.value).finish()
    }
}
