//! Memory: use after free, double free and leaks are reported with their places; correct programs hold.

#![allow(clippy::disallowed_types, clippy::disallowed_methods)] // Counters outside the exploration.

use std::alloc::Layout;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use uncontended_model::real::{
    Arc, AtomicPtr, AtomicU32, Box, Explorer, Failure, Memory, Report, Weak, alloc, dealloc, spawn,
};

fn explore(body: impl Fn() + 'static) -> Report {
    Explorer::new(Memory::C11).explore(body).unwrap()
}

fn failure(body: impl Fn() + 'static) -> Failure {
    let report = explore(body);
    report.violation().unwrap_or_else(|| panic!("{report}")).failure.clone()
}

fn outcomes<T: Ord + 'static>(body: impl Fn() -> T + 'static) -> BTreeMap<T, u64> {
    let (outcomes, report) = Explorer::new(Memory::C11).outcomes(body).unwrap();
    assert!(report.holds(), "{report}");
    outcomes
}

/// A pointer for another thread.
struct Shared(*mut AtomicU32);

// SAFETY: the checker watches the memory it points to, and reports every wrong use of it.
unsafe impl Send for Shared {}

impl Shared {
    fn get(&self) -> &AtomicU32 {
        // SAFETY: the memory stays mapped while the execution runs, freed or not: the checker's heap ensures it.
        unsafe { &*self.0 }
    }

    fn free(self) {
        // SAFETY: made by `into_raw`; a second free is what the tests are about, and the checker stops it.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

#[test]
fn memory_that_is_handed_over_and_freed_is_right() {
    let report = explore(|| {
        let slot = std::sync::Arc::new(AtomicPtr::new(std::ptr::null_mut()));
        let other = std::sync::Arc::clone(&slot);
        let thread = spawn(move || {
            let fresh = Box::into_raw(Box::new(AtomicU32::new(7)));
            other.store(fresh, Release);
        });
        let found = slot.swap(std::ptr::null_mut(), Acquire);
        let is_there = !found.is_null();
        if is_there {
            assert_eq!(Shared(found).get().load(Relaxed), 7);
            Shared(found).free();
        }
        thread.join().unwrap();
        if !is_there {
            Shared(slot.load(Relaxed)).free();
        }
    });
    assert!(report.holds() && report.executions == 2, "{report}");
}

#[test]
fn a_use_after_free_is_reported_in_either_order() {
    let later = failure(|| {
        let memory = Box::into_raw(Box::new(AtomicU32::new(0)));
        // SAFETY: made by `into_raw`, and not freed yet.
        drop(unsafe { Box::from_raw(memory) });
        Shared(memory).get().store(1, Relaxed);
    });
    let Failure::UseAfterFree { thread: 0, site, made, freed } = later else { panic!("{later}") };
    assert!([made, freed, site].iter().all(|place| place.file().ends_with("real_heap.rs")));
    assert!(made.line() < freed.line() && freed.line() < site.line(), "{later:?}");
    // Here the use always runs first, but nothing orders it.
    let unordered = failure(|| {
        let memory = Box::into_raw(Box::new(AtomicU32::new(0)));
        let flag = std::sync::Arc::new(AtomicU32::new(0));
        let (other, user) = (std::sync::Arc::clone(&flag), Shared(memory));
        let thread = spawn(move || {
            user.get().store(1, Relaxed);
            other.store(1, Relaxed);
        });
        if flag.load(Relaxed) == 1 {
            Shared(memory).free();
            thread.join().unwrap();
        } else {
            thread.join().unwrap();
            Shared(memory).free();
        }
    });
    assert!(matches!(unordered, Failure::UseAfterFree { thread: 1, .. }), "{unordered}");
}

#[test]
fn a_free_that_release_and_acquire_order_is_right() {
    let report = explore(|| {
        let memory = Box::into_raw(Box::new(AtomicU32::new(0)));
        let flag = std::sync::Arc::new(AtomicU32::new(0));
        let (other, user) = (std::sync::Arc::clone(&flag), Shared(memory));
        let thread = spawn(move || {
            user.get().store(1, Relaxed);
            other.store(1, Release);
        });
        if flag.load(Acquire) == 1 {
            Shared(memory).free();
            thread.join().unwrap();
        } else {
            thread.join().unwrap();
            Shared(memory).free();
        }
    });
    assert!(report.holds(), "{report}");
}

#[test]
fn a_double_free_is_reported_and_the_value_dropped_once() {
    struct Counts(std::sync::Arc<std::sync::atomic::AtomicU32>);
    impl Drop for Counts {
        fn drop(&mut self) {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    }
    let drops = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let counted = std::sync::Arc::clone(&drops);
    let made = std::rc::Rc::new(std::cell::Cell::new(0));
    let runs = std::rc::Rc::clone(&made);
    let found = failure(move || {
        runs.set(runs.get() + 1);
        let memory = Box::into_raw(Box::new(Counts(std::sync::Arc::clone(&counted))));
        // SAFETY: made by `into_raw`, and not freed yet.
        drop(unsafe { Box::from_raw(memory) });
        // SAFETY: the checker stops this second free before it drops the value.
        drop(unsafe { Box::from_raw(memory) });
    });
    assert!(matches!(found, Failure::DoubleFree { .. }), "{found}");
    // At least two runs: the second confirms the violation.
    assert!(made.get() > 1);
    assert_eq!(drops.load(std::sync::atomic::Ordering::Relaxed), made.get());
}

#[test]
fn a_leak_is_reported_unless_it_is_allowed() {
    let leaks = || {
        Box::into_raw(Box::new(3));
    };
    let found = failure(leaks);
    assert!(matches!(found, Failure::Leak { .. }) && found.to_string().contains("leak"), "{found}");
    assert!(Explorer::new(Memory::C11).leaks(true).explore(leaks).unwrap().holds());
    let cycle = failure(|| {
        let shared = Arc::new(AtomicU32::new(0));
        std::mem::forget(Arc::clone(&shared));
    });
    assert!(matches!(cycle, Failure::Leak { .. }), "{cycle}");
}

#[test]
fn bare_memory_is_watched_too() {
    let layout = Layout::new::<AtomicU32>();
    let body = move |frees: usize| {
        move || {
            // SAFETY: the layout's size is not zero, four bytes.
            let memory = unsafe { alloc(layout) };
            // SAFETY: fresh memory of this layout.
            unsafe { memory.cast::<AtomicU32>().write(AtomicU32::new(0)) };
            Shared(memory.cast()).get().store(1, Relaxed);
            for _ in 0..frees {
                // SAFETY: ours, with this layout; the checker reports a second free.
                unsafe { dealloc(memory, layout) };
            }
        }
    };
    assert!(matches!(failure(body(0)), Failure::Leak { .. }));
    assert!(explore(body(1)).holds());
    assert!(matches!(failure(body(2)), Failure::DoubleFree { .. }));
}

#[test]
fn a_box_gives_its_value_back() {
    let report = explore(|| {
        let mut boxed = Box::new(vec![1, 2]);
        boxed.push(3);
        assert_eq!(*boxed, [1, 2, 3]);
        assert_eq!(Box::into_inner(boxed), [1, 2, 3]);
    });
    assert!(report.holds(), "{report}");
    let outside = Box::new(String::from("outside"));
    assert_eq!(Box::into_inner(outside), "outside");
}

#[test]
fn an_arc_that_is_alone_can_be_changed_and_taken() {
    let seen = outcomes(|| {
        let mut shared = Arc::new(0);
        let other = Arc::clone(&shared);
        let thread = spawn(move || drop(other));
        let changed = Arc::get_mut(&mut shared).map(|value| *value = 1).is_some();
        thread.join().unwrap();
        assert_eq!(Arc::strong_count(&shared), 1);
        (changed, Arc::try_unwrap(shared).ok())
    });
    assert_eq!(seen, BTreeMap::from([((false, Some(0)), 1), ((true, Some(1)), 1)]));
}

#[test]
fn one_of_two_takes_the_value() {
    let seen = outcomes(|| {
        let shared = Arc::new(5);
        let other = Arc::clone(&shared);
        let thread = spawn(move || Arc::try_unwrap(other).ok());
        let mine = Arc::try_unwrap(shared).ok();
        (mine, thread.join().unwrap())
    });
    // Each may find the other still there, and then drops its own.
    let all = [(None, None), (None, Some(5)), (Some(5), None)];
    assert_eq!(seen.into_keys().collect::<Vec<_>>(), all);
}

#[test]
fn a_weak_handle_finds_the_value_or_nothing() {
    let seen = outcomes(|| {
        let shared = Arc::new(AtomicU32::new(5));
        let weak = Arc::downgrade(&shared);
        let thread = spawn(move || weak.upgrade().map(|value| value.fetch_add(1, AcqRel)));
        drop(shared);
        thread.join().unwrap()
    });
    assert_eq!(seen.into_keys().collect::<Vec<_>>(), [None, Some(5)]);
    let never = outcomes(|| {
        let mut shared = Arc::new(5);
        let weak: Weak<i32> = Arc::downgrade(&shared);
        let again = weak.clone();
        assert!(Arc::get_mut(&mut shared).is_none(), "a handle could upgrade");
        drop((weak, again));
        Arc::get_mut(&mut shared).is_some()
    });
    assert_eq!(never, BTreeMap::from([(true, 1)]));
}
