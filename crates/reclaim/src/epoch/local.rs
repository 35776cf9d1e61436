//! The readers that the calling thread is: one for each collector that it has pinned.
//!
//! # State
//! `REGISTERED`: their places. `LAST`: the collector that the thread pinned last, and its place: most threads pin one.
//!
//! # Invariants
//! I1: a registered place is this thread's, and lives as long as the collector that its registration keeps.
//!     A guard that outlives the registration, in another thread-local, gives the place back.
//! I2: `LAST` is null, or a registered place and its collector.

use super::Guard;
use super::collector::Inner;
use super::record::Record;
use crate::registry::Place;
use std::cell::{Cell, RefCell};
use std::ptr::null;
use std::sync::Arc;
use uncontended_atomic::Ordering::Relaxed;

type Last = (*const Inner, *const Place<Record>);

const NONE: Last = (null(), null());

struct Registration {
    inner: Arc<Inner>,
    place: *const Place<Record>,
}

impl Drop for Registration {
    fn drop(&mut self) {
        if LAST.get().1 == self.place {
            LAST.set(NONE);
        }
        // SAFETY: this thread's, and its collector still exists (I1).
        self.inner.resign(unsafe { &*self.place });
    }
}

thread_local! {
    static REGISTERED: RefCell<Vec<Registration>> = const { RefCell::new(Vec::new()) };
    static LAST: Cell<Last> = const { Cell::new(NONE) };
}

#[inline]
pub(super) fn pin(inner: &Arc<Inner>) -> Guard<'_> {
    let (last, place) = LAST.get();
    if last == Arc::as_ptr(inner) {
        // SAFETY: the place that this thread has in this collector, which the caller borrows (I1, I2).
        Guard::new(inner, unsafe { &*place })
    } else {
        pin_another(inner)
    }
}

#[cold]
fn pin_another(inner: &Arc<Inner>) -> Guard<'_> {
    match REGISTERED.try_with(|registered| place(&mut registered.borrow_mut(), inner)) {
        // SAFETY: the place that this thread has in this collector, which the caller borrows (I1).
        Ok(place) => Guard::new(inner, unsafe { &*place }),
        // The thread's own are gone: it is ending. So the guard has a place of its own.
        Err(_) => {
            let place = inner.register();
            place.value.is_left.set(true);
            Guard::new(inner, place)
        }
    }
}

/// The thread's place in a collector, new if it has none.
fn place(registered: &mut Vec<Registration>, inner: &Arc<Inner>) -> *const Place<Record> {
    let place = find(registered, inner).unwrap_or_else(|| {
        registered.retain(|registration| !registration.inner.is_closed.load(Relaxed));
        let place: *const Place<Record> = inner.register();
        registered.push(Registration { inner: Arc::clone(inner), place });
        place
    });
    LAST.set((Arc::as_ptr(inner), place));
    place
}

fn find(registered: &[Registration], inner: &Arc<Inner>) -> Option<*const Place<Record>> {
    registered.iter().find(|own| Arc::ptr_eq(&own.inner, inner)).map(|own| own.place)
}

/// The record of the calling thread, if it has one.
pub(super) fn registered(inner: &Arc<Inner>) -> Option<&Record> {
    let place = REGISTERED.try_with(|registered| find(&registered.borrow(), inner)).ok()??;
    // SAFETY: the place that this thread has in this collector, which the caller borrows (I1).
    Some(unsafe { &(*place).value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoch::Collector;

    #[test]
    fn a_guard_kept_in_a_thread_local_gives_its_place_back() {
        thread_local!(static KEPT: RefCell<Option<Guard<'static>>> = const { RefCell::new(None) });
        let collector: &Collector = Box::leak(Box::default());
        for _ in 0..10 {
            let thread = std::thread::spawn(|| {
                KEPT.set(None);
                KEPT.set(Some(collector.pin()));
            });
            thread.join().expect("it does not panic");
        }
        assert_eq!(collector.inner.readers.len(), 1);
    }
}
