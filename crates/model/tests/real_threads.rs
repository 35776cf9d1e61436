//! Threads, waiting and bounds: what blocks, what is distinguished, and what gets no verdict.

#![allow(clippy::disallowed_types, clippy::disallowed_methods)] // Threads outside the exploration.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::time::Duration;
use uncontended_model::real::{
    AtomicBool, AtomicU32, Bound, Condvar, Explorer, Failure, MAX_THREADS, Memory, Mutex, Named,
    Report, UnsafeCell, Verdict, Wait, choose, current, futex_wait, futex_wait_timeout, futex_wake,
    park, park_timeout, spawn, spin_loop, thread_number, yield_now,
};

fn explore(body: impl Fn() + 'static) -> Report {
    Explorer::new(Memory::C11).explore(body).unwrap()
}

fn outcomes<T: Ord + 'static>(body: impl Fn() -> T + 'static) -> BTreeSet<T> {
    let (outcomes, report) = Explorer::new(Memory::C11).outcomes(body).unwrap();
    assert!(report.holds(), "{report}");
    outcomes.into_keys().collect()
}

fn failure(body: impl Fn() + 'static) -> Failure {
    let report = explore(body);
    report.violation().unwrap_or_else(|| panic!("{report}")).failure.clone()
}

#[test]
fn a_mutex_excludes_in_every_order() {
    let seen = outcomes(|| {
        let log = Arc::new(Mutex::new(Vec::new()));
        let threads = [1, 2, 3].map(|name| {
            let log = Arc::clone(&log);
            spawn(move || log.lock().unwrap().push(name))
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        log.lock().unwrap().clone()
    });
    assert_eq!(seen.len(), 6, "every order of three critical sections: {seen:?}");
}

#[test]
fn two_locks_in_two_orders_deadlock() {
    let found = failure(|| {
        let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
        let (c, d) = (Arc::clone(&a), Arc::clone(&b));
        let other = spawn(move || {
            let _first = d.lock().unwrap();
            let _second = c.lock().unwrap();
        });
        {
            let _first = a.lock().unwrap();
            let _second = b.lock().unwrap();
        }
        other.join().unwrap();
    });
    assert!(matches!(found, Failure::Deadlock { ref threads } if threads == &[0, 1]), "{found}");
}

#[test]
fn try_lock_may_fail_and_a_held_lock_makes_it() {
    let seen = outcomes(|| {
        let lock = Arc::new(Mutex::new(0));
        let other = Arc::clone(&lock);
        let thread = spawn(move || *other.lock().unwrap() += 1);
        let got = lock.try_lock().is_ok();
        thread.join().unwrap();
        got
    });
    assert_eq!(seen, BTreeSet::from([false, true]));
}

fn hand_over(wait_in_a_loop: bool) -> Report {
    explore(move || {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let other = Arc::clone(&pair);
        let thread = spawn(move || {
            *other.0.lock().unwrap() = true;
            other.1.notify_one();
        });
        let mut ready = pair.0.lock().unwrap();
        if wait_in_a_loop {
            while !*ready {
                ready = pair.1.wait(ready).unwrap();
            }
        } else {
            ready = pair.1.wait(ready).unwrap();
        }
        drop(ready);
        thread.join().unwrap();
    })
}

#[test]
fn a_condition_is_waited_for_under_its_lock() {
    let right = hand_over(true);
    assert!(right.holds() && right.executions == 2, "{right}");
    assert!(matches!(hand_over(false).violation().unwrap().failure, Failure::Deadlock { .. }));
}

#[test]
fn park_takes_one_token() {
    let report = explore(|| {
        let first = current();
        let data = Arc::new(AtomicU32::new(0));
        let written = Arc::clone(&data);
        let thread = spawn(move || {
            written.store(1, Relaxed);
            first.unpark();
        });
        park();
        assert_eq!(data.load(Relaxed), 1, "unpark releases, park acquires");
        thread.join().unwrap();
    });
    assert!(report.holds(), "{report}");
    let twice = failure(|| {
        let thread = spawn(|| {
            park();
            park();
        });
        thread.thread().unpark();
        thread.thread().unpark();
        thread.join().unwrap();
    });
    assert!(matches!(twice, Failure::Deadlock { .. }), "two unparks may be one token");
    let seen = outcomes(|| {
        park_timeout(Duration::from_secs(1));
        true
    });
    assert_eq!(
        seen.len(),
        1,
        "no thread unparks it, the time-out ends it: no deadlock, since the wait may end"
    );
}

#[test]
fn a_futex_wait_ends_in_every_way_it_can() {
    let seen = outcomes(|| {
        let word = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&word);
        let waker = spawn(move || {
            other.store(1, Relaxed);
            futex_wake(&*other, 1)
        });
        let end = match futex_wait(&*word, 0) {
            Wait::Woken => "woken",
            Wait::Changed => "changed",
            Wait::TimedOut => unreachable!(),
        };
        (end, waker.join().unwrap())
    });
    assert_eq!(seen, BTreeSet::from([("changed", 0), ("woken", 1)]));
    let timed = outcomes(|| {
        let word = AtomicU32::new(0);
        [0, 1].map(|expected| matches!(futex_wait_timeout(&word, expected), Wait::TimedOut))
    });
    assert_eq!(timed, BTreeSet::from([[true, false]]), "no time-out where the word is another one");
}

#[test]
fn a_wake_reaches_the_oldest_waiter_only() {
    let report = explore(|| {
        let word = Arc::new(AtomicU32::new(0));
        let waiters = [0, 1].map(|_| {
            let word = Arc::clone(&word);
            spawn(move || futex_wait(&*word, 0))
        });
        // No thread changes the word: each waiter needs its own wake.
        let mut woken = 0;
        while woken < 2 {
            woken += futex_wake(&*word, 1);
            if woken < 2 {
                yield_now();
            }
        }
        for waiter in waiters {
            assert_eq!(waiter.join().unwrap(), Wait::Woken);
        }
    });
    assert!(report.holds(), "{report}");
}

#[test]
fn a_spin_lock_ends_and_a_wait_for_no_thread_does_not() {
    let report = explore(|| {
        struct Shared(AtomicBool, UnsafeCell<u32>);
        // SAFETY: the number is only accessed while the flag is held.
        unsafe impl Sync for Shared {}
        let shared = Arc::new(Shared(AtomicBool::new(false), UnsafeCell::new(0)));
        let add = |shared: &Shared| {
            while shared.0.compare_exchange(false, true, Acquire, Relaxed).is_err() {
                spin_loop();
            }
            // SAFETY: we hold the flag, and so own the number until we release it.
            shared.1.with_mut(|n| unsafe { *n += 1 });
            shared.0.store(false, Release);
        };
        let threads = [0, 1].map(|_| {
            let shared = Arc::clone(&shared);
            spawn(move || add(&shared))
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        // SAFETY: both threads have ended, so no other thread accesses the number.
        assert_eq!(shared.1.with(|n| unsafe { *n }), 2);
    });
    // Either thread may be first; the other one fails up to three times.
    assert!(report.holds() && report.executions == 2 * 4, "{report}");
    assert_eq!(report.rounds, Some(3));
    let endless = failure(|| {
        let flag = AtomicBool::new(false);
        while !flag.load(Relaxed) {
            spin_loop();
        }
    });
    assert!(matches!(endless, Failure::Livelock { .. }), "{endless}");
}

#[test]
fn a_loop_that_counts_its_rounds_finds_its_way_out() {
    let seen = outcomes(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let thread = spawn(move || other.store(true, Release));
        let mut rounds = 0;
        while !flag.load(Acquire) && rounds < 5 {
            spin_loop();
            rounds += 1;
        }
        thread.join().unwrap();
        rounds == 5
    });
    assert_eq!(seen, BTreeSet::from([false, true]), "seen at once, or given up");
}

#[test]
fn a_loop_that_gives_up_late_is_explored_to_its_end() {
    let found = failure(|| {
        let flag = AtomicBool::new(false);
        let mut rounds = 0;
        while !flag.load(Acquire) && rounds < 100 {
            spin_loop();
            rounds += 1;
        }
        assert!(rounds < 100, "gives up");
    });
    assert!(matches!(found, Failure::Panic { .. }), "{found}");
}

#[test]
fn a_loop_without_a_hint_is_unknown_with_its_bound() {
    let report = Explorer::new(Memory::C11)
        .events(50)
        .executions(100)
        .explore(|| {
            let flag = Arc::new(AtomicBool::new(false));
            let other = Arc::clone(&flag);
            let thread = spawn(move || other.store(true, Relaxed));
            while !flag.load(Relaxed) {}
            thread.join().unwrap();
        })
        .unwrap();
    assert!(
        matches!(report.verdict, Verdict::Unknown(Bound::Events(50) | Bound::Executions(100))),
        "{report}"
    );
    assert!(report.to_string().contains("unknown"));
}

#[test]
fn bounds_are_stated() {
    let many = explore(|| {
        let threads: Vec<_> = (0..MAX_THREADS).map(|_| spawn(|| ())).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    assert!(matches!(many.verdict, Verdict::Unknown(Bound::Threads(MAX_THREADS))), "{many}");
    let few =
        Explorer::new(Memory::C11).executions(3).explore(|| assert!(choose(10) < 10)).unwrap();
    assert!(matches!(few.verdict, Verdict::Unknown(Bound::Executions(3))), "{few}");
    let all = explore(|| assert!(choose(10) < 10));
    assert!(all.holds() && all.executions == 10, "{all}");
}

#[test]
fn hidden_state_is_an_error_and_no_verdict() {
    let counter = Cell::new(0);
    let diverged = Explorer::new(Memory::C11).explore(move || {
        counter.set(counter.get() + 1);
        AtomicU32::new(0).store(counter.get(), Relaxed);
    });
    let why = diverged.unwrap_err().to_string();
    assert!(why.contains("can't see"), "{why}");
    let fewer = Cell::new(3);
    let shrinking = Explorer::new(Memory::C11).explore(move || {
        let word = AtomicU32::new(0);
        for _ in 0..fewer.get() {
            word.load(Relaxed);
        }
        fewer.set(fewer.get() - 1);
    });
    assert!(shrinking.is_err());
    let failing = Cell::new(true);
    let once = Explorer::new(Memory::C11)
        .explore(move || assert!(!failing.replace(false), "only the first time"));
    assert!(once.is_err(), "a violation that does not happen again is none");
    let runs = Cell::new(0);
    let later = Explorer::new(Memory::C11).explore(move || {
        runs.set(runs.get() + 1);
        choose(5);
        assert!(runs.get() < 5, "from the fifth run on");
    });
    assert!(later.is_err(), "a violation that follows from the number of runs is none");
    let runs = Cell::new(0);
    let counted = Explorer::new(Memory::C11).outcomes(move || {
        runs.set(runs.get() + 1);
        runs.get()
    });
    assert!(counted.is_err(), "the same execution returns the same");
    let runs = Cell::new(0);
    let third = Explorer::new(Memory::C11).outcomes(move || {
        runs.set(runs.get() + 1);
        (choose(2), if runs.get() == 3 { 99 } else { 0 })
    });
    assert!(third.is_err(), "the third run is a sample too");
    let runs = Cell::new(0);
    let changing = Explorer::new(Memory::C11).outcomes(move || {
        runs.set(runs.get() + 1);
        (choose(2), runs.get() > 3)
    });
    assert!(changing.is_err(), "so does it after all others");
}

#[test]
fn an_atomic_must_be_published_before_it_is_used() {
    let found = failure(|| {
        let slot =
            Arc::new(uncontended_model::real::AtomicPtr::new(std::ptr::null_mut::<AtomicU32>()));
        let other = Arc::clone(&slot);
        let thread = spawn(move || {
            let fresh = Box::leak(Box::new(AtomicU32::new(7)));
            other.store(fresh, Relaxed);
        });
        let found = slot.load(Acquire);
        if !found.is_null() {
            // SAFETY: leaked above, so it exists; the checker finds that the use is not ordered after its creation.
            unsafe { &*found }.load(Relaxed);
        }
        thread.join().unwrap();
    });
    assert!(matches!(found, Failure::Unpublished { thread: 0, .. }), "{found}");
}

#[test]
fn a_panic_is_reported_with_its_text_and_a_trace() {
    let report = explore(|| {
        let word = Arc::new(AtomicU32::new(0).named("word"));
        let other = Arc::clone(&word);
        let thread = spawn(move || other.fetch_add(1, AcqRel));
        assert_ne!(word.load(Relaxed), 1, "seen by the first thread");
        thread.join().unwrap();
    });
    let violation = report.violation().unwrap();
    assert!(
        matches!(&violation.failure, Failure::Panic { thread: 0, message, .. } if message.contains("first thread"))
    );
    let expected = ["spawn 1", "word: 0x0 -> 0x1 acq_rel (initial)", "word = 0x1 rlx (from #2)"];
    for line in expected {
        assert!(violation.trace.text().contains(line), "{line}:\n{violation}");
    }
}

#[test]
fn a_static_begins_every_execution_afresh() {
    static COUNT: AtomicU32 = AtomicU32::new_static(5);
    let seen = outcomes(|| {
        let threads = [0, 1].map(|_| spawn(|| COUNT.fetch_add(1, Relaxed)));
        threads.map(|thread| thread.join().unwrap())
    });
    assert_eq!(seen, BTreeSet::from([[5, 6], [6, 5]]));
    assert_eq!(COUNT.load(Relaxed), 5);
}

#[test]
fn outside_an_exploration_the_stand_ins_are_real() {
    let count = Arc::new(AtomicU32::new(0));
    let lock = Arc::new(Mutex::new(0));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let (count, lock) = (Arc::clone(&count), Arc::clone(&lock));
            spawn(move || {
                for _ in 0..1_000 {
                    count.fetch_add(1, Relaxed);
                    *lock.lock().unwrap() += 1;
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!((count.load(Relaxed), *lock.lock().unwrap()), (4_000, 4_000));
}

#[test]
fn destructors_of_an_execution_that_ends_early_see_its_newest_values() {
    struct Last(Arc<AtomicU32>, Arc<std::sync::atomic::AtomicU32>);
    impl Drop for Last {
        fn drop(&mut self) {
            self.1.store(self.0.load(Relaxed), std::sync::atomic::Ordering::Relaxed);
        }
    }
    let seen = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let shown = Arc::clone(&seen);
    let report = explore(move || {
        let word = Arc::new(AtomicU32::new(0));
        let _last = Last(Arc::clone(&word), Arc::clone(&shown));
        word.store(9, Relaxed);
        let closed = AtomicU32::new(0);
        futex_wait(&closed, 0);
    });
    assert!(matches!(report.violation().unwrap().failure, Failure::Deadlock { .. }));
    assert_eq!(seen.load(std::sync::atomic::Ordering::Relaxed), 9);
}

/// A value that is taken out when it is dropped, like a ring's or a list's.
struct Owner(UnsafeCell<u32>);

// SAFETY: the threads below only read until the last of them drops it.
unsafe impl Sync for Owner {}

impl Owner {
    fn read(&self) -> u32 {
        // SAFETY: no thread writes while it is shared.
        self.0.with(|n| unsafe { *n })
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        *self.0.get_mut() = 0;
    }
}

#[test]
fn the_last_arc_knows_of_all_others() {
    use uncontended_model::real::Arc as Counted;
    let counted = explore(|| {
        let shared = Counted::new(Owner(UnsafeCell::new(1)));
        let other = Counted::clone(&shared);
        assert!(Counted::ptr_eq(&shared, &other));
        let thread = spawn(move || other.read());
        assert_eq!(shared.read(), 1);
        drop(shared);
        thread.join().unwrap();
    });
    assert!(counted.holds() && counted.executions == 2, "{counted}");
    let uncounted = failure(|| {
        let shared = Arc::new(Owner(UnsafeCell::new(1)));
        let other = Arc::clone(&shared);
        let thread = spawn(move || other.read());
        assert_eq!(shared.read(), 1);
        drop(shared);
        thread.join().unwrap();
    });
    assert!(matches!(uncounted, Failure::Race { .. }), "{uncounted}");
}

#[test]
fn what_a_thread_that_never_ran_was_given_is_dropped_outside() {
    struct Tells(AtomicU32);
    impl Drop for Tells {
        fn drop(&mut self) {
            self.0.store(1, Release);
        }
    }
    let early = failure(|| {
        let tells = Tells(AtomicU32::new(0));
        let _never = spawn(move || tells.0.store(2, Relaxed));
        panic!("before it begins");
    });
    assert!(matches!(early, Failure::Panic { thread: 0, .. }), "{early}");
}

#[test]
fn threads_are_numbered_in_the_order_in_which_they_start() {
    let numbers = outcomes(|| {
        let started = [spawn(thread_number), spawn(thread_number)];
        let word = Arc::new(AtomicU32::new(0));
        let theirs = Arc::clone(&word);
        let third = spawn(move || (theirs.swap(1, Relaxed), thread_number()));
        let first = word.swap(2, Relaxed);
        let [one, two] = started.map(|thread| thread.join().unwrap());
        (first, [thread_number(), one, two, third.join().unwrap().1])
    });
    assert_eq!(numbers, BTreeSet::from([(0, [0, 1, 2, 3]), (1, [0, 1, 2, 3])]));
    assert_eq!(thread_number(), 0);
}
