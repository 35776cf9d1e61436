//! Time-outs, spurious failures and wakeups, and which waiter is woken.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use uncontended_model::real::{
    AtomicBool, AtomicU32, Condvar, Explorer, Failure, Memory, Mutex, Report, Wait, current,
    futex_wait, futex_wait_timeout, futex_wake, park, spawn, yield_now,
};

fn explore(body: impl Fn() + 'static) -> Report {
    Explorer::new(Memory::C11).explore(body).unwrap()
}

fn outcomes<T: Ord + 'static>(body: impl Fn() -> T + 'static) -> BTreeSet<T> {
    let (outcomes, report) = Explorer::new(Memory::C11).outcomes(body).unwrap();
    assert!(report.holds(), "{report}");
    outcomes.into_keys().collect()
}

#[test]
fn time_outs_are_bounded_and_that_is_said() {
    let report = explore(|| {
        let word = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&word);
        let waker = spawn(move || {
            other.store(1, Release);
            futex_wake(&*other, 1);
        });
        while word.load(Acquire) == 0 {
            futex_wait_timeout(&*word, 0);
        }
        waker.join().unwrap();
    });
    assert!(report.holds() && report.timeouts == Some(3), "{report}");
    assert!(report.to_string().contains("with at most 3 time-outs a thread"), "{report}");
    let twice = explore(|| {
        let word = AtomicU32::new(0);
        (0..2).for_each(|_| assert_eq!(futex_wait_timeout(&word, 0), Wait::TimedOut));
    });
    assert!(twice.holds() && twice.timeouts.is_none(), "{twice}");
}

#[test]
fn a_condition_wakes_any_of_the_threads_that_wait() {
    let seen = outcomes(|| {
        let pair = Arc::new((Mutex::new((0, Vec::new())), Condvar::new()));
        let waiters = [1, 2].map(|name| {
            let pair = Arc::clone(&pair);
            spawn(move || {
                let mut state = pair.0.lock().unwrap();
                state.0 += 1;
                let first = state.0;
                state = pair.1.wait(state).unwrap();
                state.1.push((first, name));
                drop(state);
                pair.1.notify_one();
            })
        });
        // Both wait before the first is woken.
        loop {
            if pair.0.lock().unwrap().0 == 2 {
                break;
            }
            yield_now();
            uncontended_model::real::assume(pair.0.lock().unwrap().0 == 2);
        }
        pair.1.notify_one();
        waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
        let order: Vec<i32> = pair.0.lock().unwrap().1.iter().map(|woken| woken.0).collect();
        order
    });
    assert_eq!(
        seen.into_iter().collect::<Vec<_>>(),
        [[1, 2], [2, 1]],
        "the later one may be first"
    );
}

fn spuriously(body: impl Fn() + 'static) -> Report {
    Explorer::new(Memory::C11).spurious(true).explore(body).unwrap()
}

#[test]
fn what_may_fail_by_itself_does_where_it_is_asked_for() {
    let once = || {
        let word = AtomicU32::new(0);
        assert!(word.compare_exchange_weak(0, 1, AcqRel, Relaxed).is_ok());
    };
    assert!(explore(once).holds());
    assert!(spuriously(once).violation().is_some());
    let report = spuriously(|| {
        let word = AtomicU32::new(0);
        while word.compare_exchange_weak(0, 1, AcqRel, Relaxed).is_err() {}
    });
    assert!(report.holds() && report.executions == 3, "no failure, one, two: {report}");
    let parked = || {
        let main = current();
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let thread = spawn(move || {
            other.store(true, Release);
            main.unpark();
        });
        park();
        assert!(flag.load(Acquire), "woken by the other thread");
        thread.join().unwrap();
    };
    assert!(explore(parked).holds());
    assert!(spuriously(parked).violation().is_some());
    let waits = |in_a_loop: bool| {
        move || {
            let pair = Arc::new((Mutex::new(false), Condvar::new()));
            let other = Arc::clone(&pair);
            let thread = spawn(move || {
                *other.0.lock().unwrap() = true;
                other.1.notify_one();
            });
            let mut ready = pair.0.lock().unwrap();
            while !*ready {
                ready = pair.1.wait(ready).unwrap();
                assert!(in_a_loop || *ready, "taken for granted");
            }
            drop(ready);
            thread.join().unwrap();
        }
    };
    assert!(explore(waits(false)).holds());
    assert!(spuriously(waits(true)).holds());
    assert!(spuriously(waits(false)).violation().is_some());
    let futex = spuriously(|| {
        let word = AtomicU32::new(0);
        assert_eq!(futex_wait(&word, 0), Wait::Woken);
        assert_eq!(futex_wait(&word, 0), Wait::Woken);
    });
    assert!(matches!(futex.violation().unwrap().failure, Failure::Deadlock { .. }), "{futex}");
}
