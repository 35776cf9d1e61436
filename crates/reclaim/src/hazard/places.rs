//! The places of a process's hazards, and those that a thread keeps for its next hazards.
//!
//! # State
//! One list, which never shrinks. Of the places that are taken, a thread keeps up to eight that its hazards do not use;
//! they go back when it ends.
//!
//! # Invariants
//! I1: a place in a thread's cache is taken, protects nothing, and has no other owner.

use crate::registry::{Place, Registry};
use std::ptr::null_mut;
use uncontended_atomic::AtomicPtr;
use uncontended_atomic::Ordering::Acquire;

/// A pointer that is published.
pub(super) type Published = AtomicPtr<()>;

#[cfg(not(unc_model))]
static PLACES: Registry<Published> = Registry::new();

#[cfg(not(unc_model))]
fn places() -> &'static Registry<Published> {
    &PLACES
}

#[cfg(unc_model)]
thread_local! {
    static PLACES: std::cell::Cell<Option<&'static Registry<Published>>> = const { std::cell::Cell::new(None) };
}

#[cfg(unc_model)]
fn places() -> &'static Registry<Published> {
    PLACES.get().expect("a scenario begins with `fresh`")
}

/// Begins a scenario without a hazard of the last one, whose places leak: to free them would be a step of this one.
#[cfg(unc_model)]
pub fn fresh() {
    PLACES.set(Some(Box::leak(Box::new(Registry::new()))));
}

/// Decides which fences the process has before the first read: until then a light fence is a full one.
#[cold]
fn take_new() -> &'static Place<Published> {
    uncontended_fence::backend();
    places().take(|| AtomicPtr::new(null_mut()))
}

/// How many hazards there are, those that were leaked and the few that threads keep for their next hazards included.
pub fn in_use() -> usize {
    places().iter().filter(|place| place.is_taken()).count()
}

/// How many places there are.
pub(super) fn count() -> usize {
    places().len()
}

/// All places, with what each protects.
#[cfg_attr(unc_model, track_caller)]
pub(super) fn protected() -> impl Iterator<Item = (&'static Place<Published>, usize)> {
    places().iter().filter_map(|place| {
        // EDGE cleared (acquire): the reader's last use of what it protected before.
        let protected = place.value.load(Acquire).addr();
        (protected != 0).then_some((place, protected))
    })
}

#[cfg(not(unc_model))]
pub(super) use cached::{give_back, take};
#[cfg(unc_model)]
pub(super) use uncached::{give_back, take};

#[cfg(not(unc_model))]
mod cached {
    use super::{Place, Published, places, take_new};
    use std::cell::Cell;

    const MOST: usize = 8;

    /// Places of this thread that no hazard uses.
    struct Cache {
        places: [Cell<Option<&'static Place<Published>>>; MOST],
        count: Cell<usize>,
    }

    thread_local! {
        static CACHE: Cache =
            const { Cache { places: [const { Cell::new(None) }; MOST], count: Cell::new(0) } };
    }

    impl Cache {
        #[inline]
        fn pop(&self) -> Option<&'static Place<Published>> {
            let last = self.count.get().checked_sub(1)?;
            self.count.set(last);
            self.places[last].get()
        }

        /// Keeps a place, if there is room.
        #[inline]
        fn push(&self, place: &'static Place<Published>) -> bool {
            let count = self.count.get();
            let Some(free) = self.places.get(count) else { return false };
            free.set(Some(place));
            self.count.set(count + 1);
            true
        }
    }

    impl Drop for Cache {
        fn drop(&mut self) {
            while let Some(place) = self.pop() {
                places().give_back(place);
            }
        }
    }

    #[inline]
    pub(in crate::hazard) fn take() -> &'static Place<Published> {
        let kept = CACHE.try_with(Cache::pop).ok().flatten();
        kept.unwrap_or_else(|| take_new())
    }

    /// Takes back a place that protects nothing.
    #[inline]
    pub(in crate::hazard) fn give_back(place: &'static Place<Published>) {
        if !CACHE.try_with(|cache| cache.push(place)).unwrap_or(false) {
            places().give_back(place);
        }
    }
}

#[cfg(unc_model)]
mod uncached {
    use super::{Place, Published, places, take_new};

    #[track_caller]
    pub(in crate::hazard) fn take() -> &'static Place<Published> {
        take_new()
    }

    #[track_caller]
    pub(in crate::hazard) fn give_back(place: &'static Place<Published>) {
        places().give_back(place);
    }
}
