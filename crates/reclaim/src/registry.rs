//! A list of places, each of which belongs to one thread at a time: the hazards of a process, the readers of a
//! collector.
//!
//! # Contract
//! A place stays where it is until the list is dropped, and is given to the next that asks. Walking the list visits
//! every place that was there when the walk began.
//!
//! # Invariants
//! I1: a place that is in the list stays there, and its `next` does not change, until the list is dropped.
//! I2: a place belongs to the thread that changed `taken` from 0 to the number of its process, until it stores 0.
//! I3: so one that was taken in this process by another thread than the forking one is never taken for a vanished
//!     thread's, whatever its `owner` says meanwhile.
//!
//! # Edges
//! listed: `take` -> `first`. A new place, as it was made.
//! given-back: `give_back` -> `take`. What the last owner of a place did with it.
//!
//! # Evidence
//! tests/model_hazards.rs, tests/mutants/hazards.toml.
//! # Sources
//! Michael, "Hazard Pointers: Safe Memory Reclamation for Lock-Free Objects", TPDS 2004: the list of records.

use crate::latch::{Latch, Reopened};
use crate::thread::{Identity, Life, Reader, current, forks};
use std::ptr::null_mut;
use std::sync::Arc;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_atomic::{AtomicPtr, AtomicU32, AtomicUsize};

/// A place, on cache lines of its own.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct Place<T> {
    pub(crate) value: T,
    taken: AtomicU32,
    next: AtomicPtr<Place<T>>,
    /// The thread that took it last.
    owner: Latch<Option<Arc<Identity>>>,
}

impl Reopened for Option<Arc<Identity>> {}

/// In `taken`.
const FREE: u32 = 0;

impl<T> Place<T> {
    /// The thread that took it last.
    pub(crate) fn reader(&self) -> Reader {
        let known = self.owner.with(|owner| owner.as_ref().map(|owner| owner.reader()));
        known.unwrap_or(Reader { name: None, tid: 0, life: Life::Vanished })
    }

    /// Whether the thread that took it last is one of the process that this one was forked from. Not if its name was
    /// lost, because a vanished thread was reading it: it may be the forking thread's.
    pub(crate) fn has_vanished(&self) -> bool {
        if forks() == 1 {
            return false;
        }
        let taken = self.taken.load(Relaxed);
        taken != FREE
            && taken != forks()
            && self.owner.with(|owner| owner.as_ref().is_some_and(|owner| owner.has_vanished()))
    }

    pub(crate) fn is_taken(&self) -> bool {
        self.taken.load(Relaxed) != FREE
    }
}

/// The list.
#[derive(Debug)]
pub(crate) struct Registry<T> {
    first: AtomicPtr<Place<T>>,
    length: AtomicUsize,
}

impl<T> Registry<T> {
    #[cfg(not(unc_model))]
    pub(crate) const fn new() -> Registry<T> {
        Registry { first: AtomicPtr::new(null_mut()), length: AtomicUsize::new(0) }
    }

    #[cfg(unc_model)]
    pub(crate) fn new() -> Registry<T> {
        Registry { first: AtomicPtr::new(null_mut()), length: AtomicUsize::new(0) }
    }

    /// How many places there are, or a few less.
    pub(crate) fn len(&self) -> usize {
        self.length.load(Relaxed)
    }

    /// A place for the calling thread: a free one, or one that `make` makes.
    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn take(&self, make: impl FnOnce() -> T) -> &Place<T> {
        for place in self.iter().filter(|place| !place.is_taken()) {
            // EDGE given-back (acquire): what the last owner did.
            if place.taken.compare_exchange(FREE, forks(), Acquire, Relaxed).is_ok() {
                let own = current();
                place.owner.with(|owner| *owner = Some(own));
                return place;
            }
        }
        let place = Place {
            value: make(),
            taken: AtomicU32::new(forks()),
            next: AtomicPtr::new(null_mut()),
            owner: Latch::new(Some(current())),
        };
        self.add(Box::into_raw(Box::new(place)))
    }

    #[cfg_attr(unc_model, track_caller)]
    fn add(&self, address: *mut Place<T>) -> &Place<T> {
        // SAFETY: just made, and freed with the list (I1).
        let place: &Place<T> = unsafe { &*address };
        let mut first = self.first.load(Relaxed);
        loop {
            place.next.store(first, Relaxed);
            // EDGE listed (release): the new place. An earlier one is in the same release sequence.
            match self.first.compare_exchange(first, address, Release, Relaxed) {
                Ok(_) => break,
                Err(now) => first = now,
            }
        }
        self.length.fetch_add(1, Relaxed);
        place
    }

    /// Gives a place back, for the next that asks.
    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn give_back(&self, place: &Place<T>) {
        // EDGE given-back (release): what this owner did.
        place.taken.store(FREE, Release);
    }

    /// All places, taken or not.
    #[cfg_attr(unc_model, track_caller)]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Place<T>> {
        // EDGE listed (acquire): the places, as they were made.
        let mut next = self.first.load(Acquire);
        std::iter::from_fn(move || {
            // SAFETY: null, or a place of this list (I1).
            let place = unsafe { next.as_ref() }?;
            next = place.next.load(Relaxed);
            Some(place)
        })
    }
}

impl<T> Drop for Registry<T> {
    fn drop(&mut self) {
        let mut next = *self.first.get_mut();
        while !next.is_null() {
            // SAFETY: from a box, and no longer in use: the list is being dropped (I1).
            let mut place = unsafe { Box::from_raw(next) };
            next = *place.next.get_mut();
        }
    }
}
