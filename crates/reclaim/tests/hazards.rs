//! Hazard pointers with real threads: what is freed, when, and how much waits.

#![cfg(not(unc_model))]

mod common;

use common::{Counted, counted, counter};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::scope;
use uncontended_atomic::{AtomicUsize, Ordering::Relaxed};
use uncontended_reclaim::epoch::Collector;
use uncontended_reclaim::hazard::{Changed, Domain, Hazard, Shared};
use uncontended_reclaim::{Garbage, Limits};

#[test]
fn an_object_is_freed_when_no_hazard_protects_it() {
    let (domain, dropped) = (Domain::new(), counter());
    let cell = Shared::new(counted(&dropped));
    let mut hazard = Hazard::new();
    let read = hazard.protect(&cell).unwrap();
    cell.replace(None, &domain);
    let collected = domain.collect().unwrap();
    let size = size_of::<Counted>();
    assert_eq!(collected.waits, Garbage { objects: 1, bytes: size });
    assert_eq!((collected.freed.objects, read.0, dropped.load(Relaxed)), (0, 7, 0));
    hazard.reset();
    let collected = domain.collect().unwrap();
    assert_eq!(collected.freed, Garbage { objects: 1, bytes: size });
    assert_eq!((collected.waits.objects, dropped.load(Relaxed)), (0, 1));
    assert!(hazard.protect(&cell).is_none());
}

#[test]
fn a_domain_frees_its_objects_at_its_end_except_those_that_are_protected() {
    let (domain, dropped) = (Domain::new(), counter());
    let cell = Shared::new(counted(&dropped));
    let guard = cell.guard().unwrap();
    cell.replace(None, &domain);
    domain.retire(counted(&dropped));
    drop(domain);
    assert_eq!((dropped.load(Relaxed), guard.0), (1, 7));
    drop(guard);
    Domain::global().collect().unwrap();
    assert_eq!(dropped.load(Relaxed), 2);
}

/// As many domains as objects, each dropped while a hazard protects its object.
#[test]
fn what_domains_leave_to_the_global_one_is_bounded() {
    let rounds = if cfg!(miri) { 20 } else { 6_000 };
    for round in 0..rounds {
        let (domain, cell) = (Domain::new(), Shared::new(Box::new(round)));
        let guard = cell.guard().unwrap();
        cell.replace(None, &domain);
        drop(domain);
        assert_eq!(*guard, round);
    }
    // This thread used one shelf.
    assert!(Domain::global().garbage().objects <= 2 * Limits::DEFAULT.objects);
}

/// Each thread uses a shelf of its own.
#[test]
fn garbage_of_threads_that_come_one_after_another_is_bounded() {
    let domain = Domain::with_limits(Limits { objects: 50, bytes: usize::MAX });
    for _ in 0..24 {
        scope(|threads| {
            threads.spawn(|| (0..49).for_each(|at| domain.retire(Box::new(at))));
        });
        assert!(domain.garbage().objects <= domain.bound(1), "{}", domain.garbage());
    }
}

/// Destructors of one domain feed another one, and a collector.
#[test]
fn garbage_that_destructors_of_another_domain_make_is_bounded() {
    const LIMITS: Limits = Limits { objects: 50, bytes: usize::MAX };
    static INNER: Domain = Domain::with_limits(LIMITS);
    struct Outer(Arc<Collector>);
    impl Drop for Outer {
        fn drop(&mut self) {
            INNER.retire(Box::new(1));
            self.0.pin().retire(Box::new(1));
        }
    }
    let (outer, collector) =
        (Domain::with_limits(LIMITS), Arc::new(Collector::with_limits(LIMITS)));
    for _ in 0..if cfg!(miri) { 500 } else { 20_000 } {
        outer.retire(Box::new(Outer(Arc::clone(&collector))));
        assert!(INNER.garbage().objects <= INNER.bound(1), "{}", INNER.garbage());
        assert!(collector.garbage().objects <= 400, "{}", collector.garbage());
    }
    assert!(outer.garbage().objects <= outer.bound(1));
}

/// Readers that never let go, and a writer: what waits stays below the bound.
#[test]
fn garbage_is_bounded_whatever_readers_do() {
    let limits = Limits { objects: 50, bytes: usize::MAX };
    let (domain, dropped) = (Domain::with_limits(limits), counter());
    let cell = Shared::new(counted(&dropped));
    let rounds = if cfg!(miri) { 30 } else { 20_000 };
    scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                let mut held: Vec<_> = (0..10).map(|_| cell.guard()).collect();
                for round in 0..rounds {
                    held[round % 10] = cell.guard();
                    assert!(held.iter().flatten().all(|object| object.0 == 7));
                }
            });
        }
        for _ in 0..2 {
            threads.spawn(|| {
                for _ in 0..rounds {
                    cell.replace(Some(counted(&dropped)), &domain);
                    assert!(domain.garbage().objects <= domain.bound(2));
                }
            });
        }
    });
    let collected = domain.collect().unwrap();
    assert_eq!((collected.waits.objects, dropped.load(Relaxed)), (0, 2 * rounds));
}

#[test]
fn heavy_objects_are_reclaimed_sooner() {
    let limits = Limits { objects: usize::MAX, bytes: 1 << 20 };
    let (domain, dropped) = (Domain::with_limits(limits), counter());
    domain.retire_weighing(counted(&dropped), 1 << 19);
    assert_eq!(dropped.load(Relaxed), 0);
    domain.retire_weighing(counted(&dropped), 1 << 19);
    assert_eq!(dropped.load(Relaxed), 2);
}

#[test]
fn a_destructor_that_panics_loses_nothing() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("on purpose");
        }
    }
    let (domain, dropped) = (Domain::new(), counter());
    domain.retire(counted(&dropped));
    domain.retire(Box::new((Panics, 1)));
    domain.retire(counted(&dropped));
    catch_unwind(AssertUnwindSafe(|| domain.collect())).expect_err("a destructor panics");
    assert_eq!((dropped.load(Relaxed), domain.garbage().objects), (1, 1));
    assert_eq!(domain.collect().unwrap().freed.objects, 1);
    assert_eq!(dropped.load(Relaxed), 2);
}

/// Nor does one that panics while its domain is dropped.
#[test]
fn a_destructor_that_panics_at_the_end_of_a_domain_loses_nothing() {
    struct Panics(bool, Arc<AtomicUsize>);
    impl Drop for Panics {
        fn drop(&mut self) {
            self.1.fetch_add(1, Relaxed);
            assert!(!self.0, "on purpose");
        }
    }
    let (domain, dropped) = (Domain::new(), counter());
    (0..100).for_each(|at| domain.retire(Box::new(Panics(at % 40 == 0, Arc::clone(&dropped)))));
    catch_unwind(AssertUnwindSafe(|| drop(domain))).expect_err("destructors panic");
    assert_eq!(dropped.load(Relaxed), 100);
}

/// A list of objects whose destructors retire the next: one retirement does not free all of it, a collection does, and
/// neither by as many nested calls.
#[test]
fn destructors_that_retire_more_do_not_nest() {
    static FREED: AtomicUsize = AtomicUsize::new(0);
    struct Link(usize, &'static Domain);
    impl Drop for Link {
        fn drop(&mut self) {
            FREED.fetch_add(1, Relaxed);
            if self.0 > 1 {
                self.1.retire(Box::new(Link(self.0 - 1, self.1)));
            }
        }
    }
    static DOMAIN: Domain = Domain::with_limits(Limits { objects: 1, bytes: usize::MAX });
    let length = if cfg!(miri) { 100 } else { 100_000 };
    DOMAIN.retire(Box::new(Link(length, &DOMAIN)));
    assert!(FREED.load(Relaxed) <= 2, "{FREED:?}");
    assert_eq!(DOMAIN.collect().unwrap().waits.objects, 0);
    assert_eq!(FREED.load(Relaxed), length);
}

/// Domains and collectors in objects of other ones, which end while those free.
#[test]
fn domains_and_collectors_may_be_nested() {
    struct Nested(Domain, Collector, Arc<AtomicUsize>);
    impl Drop for Nested {
        fn drop(&mut self) {
            self.0.retire(counted(&self.2));
            self.1.pin().retire(counted(&self.2));
        }
    }
    let (domain, collector, dropped) = (Domain::new(), Collector::new(), counter());
    let nested = || {
        let limits = Limits { objects: 1, bytes: usize::MAX };
        let inner = (Domain::with_limits(limits), Collector::with_limits(limits));
        Box::new(Nested(inner.0, inner.1, Arc::clone(&dropped)))
    };
    let (guard, other) = (collector.pin(), Collector::global().pin());
    domain.retire(nested());
    guard.retire(nested());
    drop(other);
    domain.collect().unwrap();
    assert_eq!(dropped.load(Relaxed), 2);
    drop(guard);
    collector.collect().unwrap();
    assert_eq!(dropped.load(Relaxed), 4);
}

#[test]
fn cells_can_be_changed_and_emptied_alone() {
    let mut cell = Shared::empty();
    assert!(cell.get_mut().is_none() && cell.guard().is_none());
    let domain = Domain::new();
    assert_eq!(cell.compare_exchange(None, Some(Box::new(1)), &domain), Ok(()));
    assert_eq!(cell.compare_exchange(None, Some(Box::new(2)), &domain), Err(Some(Box::new(2))));
    let mut hazard = Hazard::new();
    let current = hazard.try_protect(&cell).unwrap();
    assert_eq!(cell.compare_exchange(current, None, &domain), Ok(()));
    cell.replace(Some(Box::new(3)), &domain);
    *cell.get_mut().unwrap() += 1;
    assert_eq!((cell.take(), cell.take(), domain.garbage().objects), (Some(Box::new(4)), None, 1));
    assert!(Changed.to_string().contains("read again"));
    let held = cell.guard().map(uncontended_reclaim::hazard::Guard::into_hazard);
    assert!(held.is_none());
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "the ledger is in debug builds alone")]
#[should_panic(expected = "retired twice")]
fn a_second_retirement_panics_in_debug_builds() {
    let domain = Domain::new();
    let object = Box::into_raw(Box::new(1));
    // SAFETY: from a box; the second call panics before it retires.
    unsafe { domain.retire_raw(object, 0) };
    // SAFETY: as above: what the test is about.
    unsafe { domain.retire_raw(object, 0) };
}
