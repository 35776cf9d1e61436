//! What code needs that is ported by exchanging its imports: values made once, scoped threads, exclusive access.
#![allow(clippy::disallowed_types)] // Flags that outlive explorations.

use std::sync::Arc;
use std::sync::atomic::AtomicBool as StdBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;
use uncontended_model::real::{
    self, AtomicBool, AtomicPtr, AtomicU32, Barrier, Condvar, Explorer, Failure, LazyLock, Memory,
    Mutex, Named, Once, OnceLock, Report, UnsafeCell, park, scope, spawn,
};

fn explore(body: impl Fn() + 'static) -> Report {
    Explorer::new(Memory::C11).explore(body).unwrap()
}

struct Plain(UnsafeCell<u32>);

// SAFETY: the tests are about who may access it when.
unsafe impl Sync for Plain {}

impl Plain {
    fn new() -> Plain {
        Plain(UnsafeCell::new(0))
    }

    fn set(&self) {
        // SAFETY: the checker reports a race.
        self.0.with_mut(|n| unsafe { *n = 1 });
    }

    fn get(&self) -> u32 {
        // SAFETY: the checker reports a race.
        self.0.with(|n| unsafe { *n })
    }
}

#[test]
fn of_the_threads_that_make_a_value_one_does() {
    for threads in 1..4 {
        let report = explore(move || {
            let (made, value) = (Arc::new(AtomicU32::new(0)), Arc::new(OnceLock::new()));
            let threads: Vec<_> = (0..threads)
                .map(|number| {
                    let (made, value) = (Arc::clone(&made), Arc::clone(&value));
                    spawn(move || {
                        let make = || {
                            made.fetch_add(1, Relaxed);
                            number
                        };
                        *value.get_or_init(make)
                    })
                })
                .collect();
            let seen: Vec<usize> = threads.into_iter().map(|it| it.join().unwrap()).collect();
            assert!(seen.iter().all(|it| Some(it) == value.get()), "{seen:?}");
            assert_eq!(made.load(Relaxed), 1);
        });
        assert!(report.holds(), "{report}");
        // One for each thread that may be first.
        assert_eq!(report.executions, threads as u64, "{report}");
    }
}

/// Plain memory that is written before a value is set, and read where the value is seen.
fn published(seen: impl Fn(&OnceLock<u32>, &AtomicBool) -> bool + 'static) -> impl Fn() + 'static {
    move || {
        let shared = Arc::new((Plain::new(), OnceLock::new(), AtomicBool::new(false)));
        let other = Arc::clone(&shared);
        let thread = spawn(move || {
            other.0.set();
            let _ = other.1.set(5);
            other.2.store(true, Relaxed);
        });
        if seen(&shared.1, &shared.2) {
            assert_eq!(shared.0.get(), 1);
        }
        thread.join().unwrap();
    }
}

#[test]
fn a_value_that_is_seen_publishes_and_a_relaxed_flag_beside_it_does_not() {
    let report = explore(published(|value, _| value.get() == Some(&5)));
    assert!(report.holds(), "{report}");
    // The state is read as empty, in between, or done.
    assert_eq!(report.executions, 3, "{report}");
    let report = explore(published(|value, _| value.set(6) == Err(6)));
    assert!(report.holds() && report.executions == 2, "{report}");
    let report = explore(published(|_, flag| flag.load(Relaxed)));
    let failure = &report.violation().expect("nothing orders the accesses").failure;
    assert!(matches!(failure, Failure::Race { .. }), "{report}");
}

#[test]
fn who_returns_from_a_once_has_seen_what_it_did() {
    let report = explore(|| {
        let shared = Arc::new((Once::new(), Plain::new()));
        let other = Arc::clone(&shared);
        let uses = |(once, plain): &(Once, Plain)| {
            once.call_once(|| plain.set());
            assert!(once.is_completed());
            assert_eq!(plain.get(), 1);
        };
        let thread = spawn(move || uses(&other));
        uses(&shared);
        thread.join().unwrap();
    });
    assert!(report.holds(), "{report}");
    assert_eq!(report.executions, 2, "{report}");
}

#[test]
fn a_value_that_is_made_from_itself_is_a_deadlock() {
    let report = explore(|| {
        let value = OnceLock::new();
        value.get_or_init(|| *value.get_or_init(|| 1));
    });
    let failure = &report.violation().expect("it waits for itself").failure;
    assert!(matches!(failure, Failure::Deadlock { .. }), "{report}");
}

#[test]
fn a_lazy_value_is_made_when_it_is_used() {
    let report = explore(|| {
        let made = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&made);
        let lazy = Arc::new(LazyLock::new(move || count.fetch_add(1, Relaxed) + 5));
        assert_eq!(made.load(Relaxed), 0);
        let other = Arc::clone(&lazy);
        let thread = spawn(move || **other);
        assert_eq!((**lazy, thread.join().unwrap(), made.load(Relaxed)), (5, 5, 1));
    });
    assert!(report.holds(), "{report}");
    assert_eq!(report.executions, 2, "{report}");
}

#[test]
fn a_value_that_outlives_its_execution_is_hidden_state() {
    let kept = Arc::new(OnceLock::new());
    let error = Explorer::new(Memory::C11)
        .explore(move || {
            let other = Arc::clone(&kept);
            let thread = spawn(move || *other.get_or_init(|| 1));
            kept.get_or_init(|| 2);
            thread.join().unwrap();
        })
        .unwrap_err();
    assert!(error.to_string().contains("an earlier run has set a `OnceLock`"), "{error}");
}

#[test]
fn scoped_threads_borrow_and_have_ended_afterwards() {
    let report = explore(|| {
        let (plain, count) = (Plain::new(), AtomicU32::new(0));
        let sum = scope(|s| {
            s.spawn(|| plain.set());
            let inner = s.spawn(|| {
                s.spawn(|| count.fetch_add(1, Relaxed));
                2
            });
            let outer = s.spawn(|| 1);
            inner.join().unwrap() + outer.join().unwrap()
        });
        assert_eq!((sum, plain.get(), count.into_inner()), (3, 1, 1));
    });
    assert!(report.holds(), "{report}");
    assert_eq!(report.executions, 1, "{report}");
}

#[test]
fn a_scope_has_as_many_executions_as_joined_threads() {
    let scoped = explore(|| {
        let count = AtomicU32::new(0);
        scope(|s| (0..3).for_each(|_| drop(s.spawn(|| count.fetch_add(1, Relaxed)))));
        assert_eq!(count.load(Relaxed), 3);
    });
    assert_eq!(scoped.executions, 6, "{scoped}");
    let racing = explore(|| {
        let plain = Plain::new();
        scope(|s| {
            s.spawn(|| plain.set());
            s.spawn(|| plain.get());
        });
    });
    let failure = &racing.violation().expect("the two are not ordered").failure;
    assert!(matches!(failure, Failure::Race { .. }), "{racing}");
}

/// What a scoped thread borrows; notes when it is gone.
struct Borrowed(Arc<StdBool>);

impl Drop for Borrowed {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Held by a scoped thread; notes if what it borrows is gone before it is.
struct Borrower<'a>(&'a Borrowed, Arc<StdBool>, Arc<StdBool>);

impl Drop for Borrower<'_> {
    fn drop(&mut self) {
        let is_gone = self.1.load(Relaxed);
        assert!(is_gone || !self.0.0.load(Relaxed));
        self.2.fetch_or(is_gone, Relaxed);
    }
}

#[test]
fn a_scope_that_panics_or_waits_forever_ends_its_threads_before_what_they_borrow() {
    for panics in [true, false] {
        for started_by_thread in [true, false] {
            let wrong = Arc::new(StdBool::new(false));
            let (seen, gone) = (Arc::clone(&wrong), Arc::new(StdBool::new(false)));
            let ended = Arc::clone(&gone);
            let report = explore(move || {
                gone.store(false, Relaxed);
                let borrowed = Borrowed(Arc::clone(&gone));
                let wrong = Arc::clone(&wrong);
                let held = Mutex::new(0);
                let waits = || {
                    let _borrower = Borrower(&borrowed, Arc::clone(&gone), Arc::clone(&wrong));
                    let _held = held.lock().unwrap();
                    park();
                };
                scope(|s| {
                    if started_by_thread {
                        s.spawn(|| s.spawn(waits)).join().unwrap();
                    } else {
                        s.spawn(waits);
                    }
                    let _also = Borrower(&borrowed, Arc::clone(&gone), Arc::clone(&wrong));
                    assert!(!panics, "the scope's own closure");
                });
            });
            let violation = report.violation().unwrap_or_else(|| panic!("{report}"));
            match &violation.failure {
                Failure::Panic { thread: 0, place: Some(place), message } if panics => {
                    assert!(place.contains("real_ports.rs:"), "{place}");
                    assert_eq!(message, "the scope's own closure");
                }
                Failure::Deadlock { .. } if !panics => {}
                other => panic!("{other}: {report}"),
            }
            assert!(!seen.load(Relaxed), "{panics} {started_by_thread}");
            assert!(ended.load(Relaxed), "the thread that opened the scope has unwound");
        }
    }
}

#[test]
fn scopes_work_by_themselves() {
    let count = AtomicU32::new(0);
    let sum = scope(|s| {
        let threads: Vec<_> = (0..4)
            .map(|n| {
                s.spawn({
                    let count = &count;
                    move || count.fetch_add(n, Relaxed)
                })
            })
            .collect();
        s.spawn(|| count.fetch_add(100, Relaxed));
        threads.into_iter().map(|it| it.join().map_or(1, |_| 0)).sum::<u32>()
    });
    assert_eq!((sum, count.load(Relaxed)), (0, 106));
    let panics = || scope(|s| drop(s.spawn(|| panic!("not joined"))));
    assert!(std::panic::catch_unwind(panics).is_err());
    let joined = scope(|s| s.spawn(|| panic!("joined")).join().is_err());
    assert!(joined);
}

#[test]
fn exclusive_access_finds_and_leaves_the_value() {
    let uses = || {
        let mut count = AtomicU32::from(1);
        count.store(2, Release);
        *count.get_mut() += 3;
        assert_eq!((count.load(Acquire), *count.get_mut()), (5, 5));
        assert_eq!(count.into_inner(), 5);
        let mut flag = AtomicBool::default();
        *flag.get_mut() = true;
        assert!(flag.load(Relaxed) && AtomicBool::from(true).into_inner());
        let mut value = 1;
        let mut pointer: AtomicPtr<u32> = AtomicPtr::default();
        assert!(pointer.get_mut().is_null());
        *pointer.get_mut() = &raw mut value;
        assert_eq!(pointer.into_inner(), &raw mut value);
        let mut lock: Mutex<u32> = Mutex::default();
        *lock.get_mut().unwrap() += 1;
        assert_eq!((lock.into_inner().unwrap(), *Mutex::from(4).lock().unwrap()), (1, 4));
        let mut once = OnceLock::from(7);
        assert_eq!((once.get().copied(), once.set(8)), (Some(7), Err(8)));
        *once.get_mut().unwrap() += 1;
        assert_eq!((once.take(), once.get(), once.set(9)), (Some(8), None, Ok(())));
        assert_eq!((once.into_inner(), UnsafeCell::from(3).into_inner()), (Some(9), 3));
    };
    uses();
    let report = explore(uses);
    assert!(report.holds() && report.executions == 1, "{report}");
}

#[test]
fn a_change_through_exclusive_access_is_seen_by_the_next_owner() {
    let report = explore(|| {
        let mut count = std::boxed::Box::new(AtomicU32::new(0));
        *count.get_mut() = 5;
        let thread = spawn(move || *count.get_mut());
        assert_eq!(thread.join().unwrap(), 5);
    });
    assert!(report.holds(), "{report}");
}

#[test]
fn waiting_while_a_condition_holds_ends_when_it_does_not() {
    let report = explore(|| {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let other = Arc::clone(&pair);
        let thread = spawn(move || {
            *other.0.lock().unwrap() = true;
            other.1.notify_one();
        });
        let ready = pair.1.wait_while(pair.0.lock().unwrap(), |ready| !*ready).unwrap();
        assert!(*ready);
        drop(ready);
        thread.join().unwrap();
    });
    assert!(report.holds(), "{report}");
}

#[test]
fn statics_hold_pointers_and_flags_and_each_execution_starts_with_their_first_values() {
    static HEAD: AtomicPtr<u32> = AtomicPtr::null_static();
    static IS_SET: AtomicBool = AtomicBool::new_static(false);
    let report = explore(|| {
        let thread = spawn(|| IS_SET.fetch_not(Release));
        let (mine, mut value) = (IS_SET.fetch_not(Relaxed), 1);
        assert_ne!(mine, thread.join().unwrap(), "one of them sees what the other negated");
        assert!(!IS_SET.load(Relaxed) && HEAD.load(Acquire).is_null());
        HEAD.store(&raw mut value, Release);
    });
    assert!(report.holds() && report.executions > 1, "{report}");
}

/// Each of two threads writes its cell before the barrier and reads the other's after it, twice.
#[test]
fn a_barrier_orders_what_comes_before_it_and_has_one_leader() {
    for memory in [Memory::C11, Memory::Tso, Memory::Sc] {
        let report = Explorer::new(memory).explore(|| {
            let shared = Arc::new((Barrier::new(2).named("barrier"), [Plain::new(), Plain::new()]));
            let meets = |shared: &(Barrier, [Plain; 2]), me: usize| {
                let mut leads = Vec::new();
                for round in 1..=2 {
                    // SAFETY: only this thread writes the cell, and only before the barrier.
                    shared.1[me].0.with_mut(|n| unsafe { *n = round });
                    leads.push(shared.0.wait().is_leader());
                    // SAFETY: the barrier orders the write before this, and the next write after the next barrier.
                    let seen = shared.1[1 - me].0.with(|n| unsafe { *n });
                    assert_eq!(seen, round);
                    shared.0.wait();
                }
                leads
            };
            let other = Arc::clone(&shared);
            let thread = spawn(move || meets(&other, 1));
            let (mine, theirs) = (meets(&shared, 0), thread.join().unwrap());
            assert!(mine.iter().zip(theirs).all(|(&mine, theirs)| mine != theirs));
        });
        let report = report.unwrap();
        assert!(report.holds(), "{memory:?}: {report}");
    }
    // What comes after the barrier is not ordered.
    let report = Explorer::new(Memory::C11).explore(|| {
        let shared = Arc::new((Barrier::new(2), Plain::new()));
        let other = Arc::clone(&shared);
        let thread = spawn(move || {
            other.0.wait();
            other.1.set();
        });
        shared.0.wait();
        shared.1.get();
        thread.join().unwrap();
    });
    let report = report.unwrap();
    assert!(matches!(report.violation().unwrap().failure, Failure::Race { .. }), "{report}");
    assert!(Barrier::new(1).wait().is_leader(), "outside an exploration");
    let lonely = Explorer::new(Memory::C11).explore(|| _ = Barrier::new(2).wait()).unwrap();
    assert!(matches!(lonely.violation().unwrap().failure, Failure::Deadlock { .. }), "{lonely}");
}

#[test]
fn a_wait_with_a_limit_is_notified_or_times_out() {
    let waits = |condition: bool| {
        let (found, report) = Explorer::new(Memory::C11)
            .outcomes(move || {
                let shared = Arc::new((Mutex::new(false), Condvar::new()));
                let other = Arc::clone(&shared);
                let thread = spawn(move || {
                    *other.0.lock().unwrap() = true;
                    other.1.notify_one();
                });
                let (held, limit) = (shared.0.lock().unwrap(), Duration::from_secs(1));
                let (held, waited) = if condition {
                    shared.1.wait_timeout_while(held, limit, |is_set| !*is_set).unwrap()
                } else {
                    shared.1.wait_timeout(held, limit).unwrap()
                };
                let found = (waited.timed_out(), *held);
                drop(held);
                thread.join().unwrap();
                found
            })
            .unwrap();
        assert!(report.holds(), "{report}");
        found.into_keys().collect::<Vec<_>>()
    };
    // Set before the wait, or during it: a plain wait may then miss the notification and time out.
    assert_eq!(waits(false), [(false, true), (true, false), (true, true)]);
    assert_eq!(waits(true), [(false, true), (true, false)]);
    let (alone, limit) = ((Mutex::new(0), Condvar::new()), Duration::from_millis(1));
    let (held, waited) = alone.1.wait_timeout(alone.0.lock().unwrap(), limit).unwrap();
    assert!(waited.timed_out() && *held == 0, "outside an exploration");
    let (_, waited) = alone.1.wait_timeout_while(held, limit, |_| true).unwrap();
    assert!(waited.timed_out());
}

#[test]
fn one_of_two_gets_the_value_out_of_an_arc() {
    let report = Explorer::new(Memory::C11).explore(|| {
        let one = real::Arc::new(Plain::new());
        let other = real::Arc::clone(&one);
        assert_eq!(real::Arc::as_ptr(&one), real::Arc::as_ptr(&other));
        let reads = |shared: real::Arc<Plain>| {
            shared.get();
            real::Arc::into_inner(shared)
        };
        let thread = spawn(move || reads(other).map(|cell| cell.0.into_inner()));
        let mine = reads(one).map(|cell| cell.0.into_inner());
        let theirs = thread.join().unwrap();
        assert!(mine.is_some() != theirs.is_some(), "{mine:?} {theirs:?}");
    });
    let report = report.unwrap();
    assert!(report.holds(), "{report}");
}
