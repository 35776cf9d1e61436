//! Epochs with real threads: what is freed, when, and by which thread.

#![cfg(not(unc_model))]

mod common;

use common::{Counted, counted, counter};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::scope;
use std::time::Duration;
use uncontended_atomic::{AtomicUsize, Ordering::Relaxed};
use uncontended_reclaim::epoch::{Collector, Guard, Shared};
use uncontended_reclaim::{Garbage, Limits};

#[test]
fn nothing_is_freed_while_a_guard_exists_and_all_is_when_none_does() {
    let (collector, dropped) = (Collector::new(), counter());
    let cell = Shared::new(counted(&dropped), &collector);
    let (outer, inner) = (collector.pin(), collector.pin());
    let read = cell.load(&outer).unwrap();
    cell.replace(None, &inner);
    drop(inner);
    let weight = Garbage { objects: 1, bytes: size_of::<Counted>() };
    assert_eq!(collector.collect().unwrap().waits, weight);
    assert_eq!((read.0, dropped.load(Relaxed)), (7, 0));
    drop(outer);
    assert_eq!(collector.collect().unwrap().freed, weight);
    assert_eq!((dropped.load(Relaxed), collector.garbage()), (1, Garbage::default()));
}

#[test]
fn a_guard_that_pins_again_gives_up_what_it_found() {
    let (collector, dropped) = (Collector::new(), counter());
    let mut guard = collector.pin();
    let first = guard.epoch();
    guard.retire(counted(&dropped));
    collector.collect().unwrap();
    assert_eq!((collector.epoch(), guard.epoch(), dropped.load(Relaxed)), (first + 1, first, 0));
    guard.repin();
    assert_eq!(guard.epoch(), first + 1);
    collector.collect().unwrap();
    assert_eq!(dropped.load(Relaxed), 1);
    let _second = collector.pin();
    guard.repin();
    assert_eq!(guard.epoch(), first + 1, "with two guards it does nothing");
}

#[test]
fn closures_run_later_and_a_panic_in_one_loses_no_other() {
    let (collector, ran) = (Collector::new(), counter());
    let guard = collector.pin();
    for panics in [false, true, false] {
        let ran = Arc::clone(&ran);
        guard.defer(10, move || {
            ran.fetch_add(1, Relaxed);
            assert!(!panics, "on purpose");
        });
    }
    drop(guard);
    assert!(collector.garbage().bytes >= 30 && ran.load(Relaxed) == 0);
    catch_unwind(AssertUnwindSafe(|| collector.collect())).expect_err("a closure panics");
    assert_eq!((ran.load(Relaxed), collector.garbage().objects), (2, 1));
    collector.collect().unwrap();
    assert_eq!(ran.load(Relaxed), 3);
}

#[test]
fn a_closure_may_retire_more() {
    fn chain(collector: Arc<Collector>, length: u32) {
        if length > 0 {
            let next = Arc::clone(&collector);
            collector.pin().defer(0, move || chain(next, length - 1));
        }
    }
    let collector = Arc::new(Collector::with_limits(Limits { objects: 1, bytes: usize::MAX }));
    chain(Arc::clone(&collector), if cfg!(miri) { 30 } else { 3_000 });
    while collector.collect().unwrap().waits.objects > 0 {}
    assert_eq!(Arc::strong_count(&collector), 1);
}

/// A retirement pays for one round, whatever destructors retire meanwhile.
#[test]
fn a_retirement_frees_what_one_round_found() {
    struct Link(Arc<Collector>, Arc<AtomicUsize>);
    impl Drop for Link {
        fn drop(&mut self) {
            self.1.fetch_add(1, Relaxed);
            self.0.pin().retire(Box::new(Link(Arc::clone(&self.0), Arc::clone(&self.1))));
        }
    }
    let limits = Limits { objects: 1, bytes: usize::MAX };
    let (collector, freed) = (Arc::new(Collector::with_limits(limits)), counter());
    collector.pin().retire(Box::new(Link(Arc::clone(&collector), Arc::clone(&freed))));
    for retired in 1..100 {
        let guard = collector.pin();
        guard.retire(Box::new(1));
        guard.flush();
        assert!(freed.load(Relaxed) <= 2 * retired, "{freed:?} after {retired}");
    }
    assert!(freed.load(Relaxed) > 0);
    // The last one is its collector's owner.
    std::mem::forget(collector);
}

#[test]
fn what_a_thread_retired_is_not_lost_when_it_ends() {
    let (collector, dropped) = (Collector::new(), counter());
    let collector = Arc::new(collector);
    for round in 0..10 {
        let (theirs, count) = (Arc::clone(&collector), Arc::clone(&dropped));
        let thread = std::thread::spawn(move || theirs.pin().retire(counted(&count)));
        thread.join().unwrap();
        assert_eq!(collector.collect().unwrap().freed.objects, 1, "round {round}");
    }
    assert_eq!(dropped.load(Relaxed), 10);
}

#[test]
fn a_collector_frees_everything_at_its_end() {
    let (collector, dropped) = (Collector::new(), counter());
    scope(|threads| {
        threads.spawn(|| {
            collector.pin().retire(counted(&dropped));
            std::mem::forget(collector.pin());
        });
    });
    collector.participant().retire(counted(&dropped));
    collector.pin().retire(counted(&dropped));
    std::mem::forget(collector.pin());
    collector.collect().unwrap();
    assert_eq!(dropped.load(Relaxed), 0, "leaked guards");
    drop(collector);
    assert_eq!(dropped.load(Relaxed), 3);
}

#[test]
fn heavy_garbage_is_reclaimed_sooner() {
    let limits = Limits { objects: usize::MAX, bytes: 1 << 20 };
    let (collector, dropped) = (Collector::with_limits(limits), counter());
    // A retirement waits for no other thread's barrier: a later one ends its round then.
    for _ in 0..100 {
        collector.pin().retire_weighing(counted(&dropped), 1 << 20);
    }
    assert!(dropped.load(Relaxed) >= 50, "{}", dropped.load(Relaxed));
}

#[test]
fn a_ticket_is_over_when_earlier_pins_are() {
    let collector = Collector::new();
    let before = collector.ticket();
    assert!(!before.is_over());
    assert_eq!(before.wait_for(Duration::ZERO), Ok(true));
    let guard = collector.pin();
    let pinned = collector.ticket();
    assert_eq!(pinned.wait_for(Duration::from_millis(2)), Ok(false));
    drop(guard);
    assert_eq!(pinned.wait_for(Duration::from_secs(60)), Ok(true));
}

#[test]
#[should_panic(expected = "a guard of another collector")]
fn a_guard_of_another_collector_is_refused() {
    let (one, other) = (Collector::new(), Collector::new());
    let cell = Shared::new(Box::new(1), &one);
    cell.load(&other.pin());
}

#[test]
fn cells_can_be_changed_and_emptied_alone() {
    let collector = Collector::new();
    let guard = collector.pin();
    let mut cell = Shared::empty(&collector);
    assert!(cell.get_mut().is_none() && cell.load(&guard).is_none());
    assert_eq!(cell.compare_exchange(None, Some(Box::new(1)), &guard), Ok(()));
    assert_eq!(cell.compare_exchange(None, Some(Box::new(2)), &guard), Err(Some(Box::new(2))));
    assert_eq!(cell.compare_exchange(cell.load(&guard), None, &guard), Ok(()));
    cell.replace(Some(Box::new(3)), &guard);
    *cell.get_mut().unwrap() += 1;
    assert_eq!(
        (cell.take(), cell.take(), collector.garbage().objects),
        (Some(Box::new(4)), None, 1)
    );
}

/// Threads that read, replace and end, in two collectors.
#[test]
fn many_threads_lose_nothing() {
    let rounds = if cfg!(miri) { 20 } else { 3_000 };
    let limits = Limits { objects: 100, bytes: usize::MAX };
    let dropped = counter();
    let worlds = [(); 2].map(|()| {
        let collector = Collector::with_limits(limits);
        (Shared::new(counted(&dropped), &collector), collector)
    });
    for _ in 0..3 {
        scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    for round in 0..rounds {
                        let (cell, collector) = &worlds[round % 2];
                        let guard = collector.pin();
                        assert_eq!(cell.load(&guard).unwrap().0, 7);
                        cell.replace(Some(counted(&dropped)), &guard);
                    }
                });
            }
        });
    }
    drop(worlds);
    assert_eq!(dropped.load(Relaxed), 3 * 4 * rounds + 2);
}

/// A scope's end does not wait for the thread-locals of its threads, which hand over what they retired.
#[test]
fn a_collector_that_ends_while_threads_end_frees_everything() {
    for _ in 0..if cfg!(miri) { 5 } else { 2_000 } {
        let dropped = counter();
        let limits = Limits { objects: 1, bytes: usize::MAX };
        let collector = Collector::with_limits(limits);
        scope(|threads| {
            for _ in 0..2 {
                threads.spawn(|| (0..20).for_each(|_| collector.pin().retire(counted(&dropped))));
            }
        });
        drop(collector);
        assert_eq!(dropped.load(Relaxed), 40);
    }
}

/// It would end the process.
#[test]
fn threads_that_end_run_no_destructor() {
    let limits = Limits { objects: 1, bytes: usize::MAX };
    let collector = Arc::new(Collector::with_limits(limits));
    for _ in 0..6 {
        let theirs = Arc::clone(&collector);
        let pinned = move || theirs.pin().defer(8, || panic!("on purpose"));
        let _ = std::thread::spawn(pinned).join();
    }
    while catch_unwind(AssertUnwindSafe(|| collector.collect())).is_err() {}
    assert_eq!(collector.garbage(), Garbage::default());
}

#[test]
fn garbage_of_short_threads_and_of_flushes_is_bounded() {
    let limits = Limits { objects: 100, bytes: usize::MAX };
    let collector = Collector::with_limits(limits);
    for _ in 0..if cfg!(miri) { 20 } else { 1_000 } {
        scope(|threads| {
            threads.spawn(|| collector.pin().retire(Box::new(1)));
        });
        assert!(collector.garbage().objects <= 500, "{}", collector.garbage());
    }
    for _ in 0..if cfg!(miri) { 200 } else { 10_000 } {
        let guard = collector.pin();
        guard.retire(Box::new(1));
        guard.flush();
        assert!(collector.garbage().objects <= 500, "{}", collector.garbage());
    }
}

/// What is retired by a guard that is dropped with another thread-local, after the thread's registration.
#[test]
fn a_guard_kept_in_a_thread_local_leaves_nothing() {
    struct Late(Guard<'static>, Arc<AtomicUsize>);
    impl Drop for Late {
        fn drop(&mut self) {
            self.0.retire(counted(&self.1));
        }
    }
    thread_local!(static LATE: std::cell::RefCell<Option<Late>> = const { std::cell::RefCell::new(None) });
    let (collector, dropped) = (&*Box::leak(Box::new(Collector::new())), counter());
    for _ in 0..20 {
        let count = Arc::clone(&dropped);
        let thread = std::thread::spawn(move || {
            LATE.set(None);
            LATE.set(Some(Late(collector.pin(), count)));
        });
        thread.join().unwrap();
    }
    assert_eq!(collector.collect().unwrap().waits, Garbage::default());
    assert_eq!((dropped.load(Relaxed), collector.stalled()), (20, vec![]));
}

/// A thread that pins while its thread-locals are destroyed has a place for each guard.
#[test]
fn a_thread_may_pin_while_it_ends() {
    struct Late(Arc<Collector>, Arc<AtomicUsize>);
    impl Drop for Late {
        fn drop(&mut self) {
            self.0.pin().retire(counted(&self.1));
        }
    }
    thread_local!(static LATE: std::cell::RefCell<Option<Late>> = const { std::cell::RefCell::new(None) });
    let (collector, dropped) = (Arc::new(Collector::new()), counter());
    let (theirs, count) = (Arc::clone(&collector), Arc::clone(&dropped));
    let thread = std::thread::spawn(move || {
        LATE.set(Some(Late(Arc::clone(&theirs), count)));
        drop(theirs.pin());
    });
    thread.join().unwrap();
    collector.collect().unwrap();
    assert_eq!(dropped.load(Relaxed), 1);
}
