//! Memory: use after free, double free and leaks are reported with their places; correct programs hold.

#![allow(clippy::disallowed_types, clippy::disallowed_methods)] // Counters outside the exploration.

use std::alloc::Layout;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use uncontended_model::real::{
    Arc, AtomicPtr, AtomicU32, Box, Explorer, Failure, Memory, Mutex, Report, UnsafeCell, Weak,
    alloc, dealloc, spawn,
};
use uncontended_testkit::one_line;

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
    let Failure::UseAfterFree { thread: 0, site, made, freed, after: true } = later else {
        panic!("{later}")
    };
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
    let is_found = matches!(unordered, Failure::UseAfterFree { thread: 1, after: false, .. });
    assert!(is_found, "{unordered}");
}

/// A value whose destructor uses what it is in.
struct Ends<T>(T, fn(&mut T));

impl<T> Drop for Ends<T> {
    fn drop(&mut self) {
        (self.1)(&mut self.0);
    }
}

/// A list that its destructor frees.
struct List(AtomicPtr<List>);

impl Drop for List {
    fn drop(&mut self) {
        let next = *self.0.get_mut();
        if !next.is_null() {
            // SAFETY: made by `into_raw`, and freed once.
            drop(unsafe { Box::from_raw(next) });
        }
    }
}

#[test]
fn a_destructor_may_use_the_memory_that_it_is_in() {
    let ends: [fn(); 5] = [
        || drop(Box::new(Ends(AtomicU32::new(1), |n| _ = n.load(Relaxed)))),
        || drop(Box::new(Ends(Mutex::new(1), |n| *n.lock().unwrap() += 1))),
        || drop(Box::new(Ends(UnsafeCell::new(1), |n| n.with(|_| ())))),
        || {
            let end = List(AtomicPtr::new(std::ptr::null_mut()));
            let last = Box::into_raw(Box::new(end));
            drop(Box::new(List(AtomicPtr::new(last))));
        },
        || {
            let owned = Box::new(Ends(AtomicU32::new(1), |n| _ = n.load(Relaxed)));
            let thread = spawn(move || drop(owned));
            thread.join().unwrap();
        },
    ];
    for end in ends {
        let report = explore(end);
        assert!(report.holds(), "{report}");
    }
}

#[test]
fn the_free_comes_after_the_destructor_and_only_one_thread_makes_it() {
    // The other thread has seen the destructor's last step; what it does then is not ordered before the free.
    let late = failure(|| {
        let memory = Box::into_raw(Box::new(Ends(AtomicU32::new(0), |n| n.store(1, Release))));
        let user = Raw(memory);
        let thread = spawn(move || {
            let user = user;
            // SAFETY: the memory stays mapped while the execution runs.
            let found = unsafe { &(*user.0).0 };
            if found.load(Acquire) == 1 {
                found.store(2, Relaxed);
            }
        });
        // SAFETY: made by `into_raw`, and freed once.
        drop(unsafe { Box::from_raw(memory) });
        thread.join().unwrap();
    });
    assert!(matches!(late, Failure::UseAfterFree { thread: 1, .. }), "{late}");
    // A destructor that frees its own memory again.
    let twice = failure(|| {
        let memory = Box::into_raw(Box::new(List(AtomicPtr::new(std::ptr::null_mut()))));
        // SAFETY: made by `into_raw`; the checker stops the second free.
        let mut list = unsafe { Box::from_raw(memory) };
        *list.0.get_mut() = memory;
    });
    assert!(matches!(twice, Failure::DoubleFree { thread: 0, .. }), "{twice}");
}

/// A pointer for another thread.
struct Raw<T>(*mut T);

// SAFETY: the checker watches the memory it points to, and reports every wrong use of it.
unsafe impl<T> Send for Raw<T> {}

#[test]
fn a_use_after_the_free_is_said_to_come_after_it() {
    let report = explore(|| {
        let memory = Box::into_raw(Box::new(AtomicU32::new(0)));
        // SAFETY: made by `into_raw`, and not freed yet.
        drop(unsafe { Box::from_raw(memory) });
        Shared(memory).get().store(1, Relaxed);
    });
    let told = one_line(&report);
    assert!(told.contains("; it comes after the free at "), "{told}");
    assert!(told.contains("=> #2 comes after #1"), "{told}");
    assert!(!told.contains("release/acquire"), "{told}");
}

#[test]
fn a_weak_that_is_forgotten_keeps_the_memory() {
    let leak = failure(|| std::mem::forget(Arc::downgrade(&Arc::new(1))));
    assert!(matches!(leak, Failure::Leak { .. }), "{leak}");
    let report = explore(|| {
        let weak = Arc::downgrade(&Arc::new(1));
        assert!(weak.upgrade().is_none());
        assert_eq!(Arc::try_unwrap(Arc::new(2)).unwrap(), 2);
    });
    assert!(report.holds(), "{report}");
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
