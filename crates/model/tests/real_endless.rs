//! Waits that nothing can end are deadlocks, whatever they read; waits that only a bound keeps from ending are not; and
//! a helper that gives up may be called again.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;
use uncontended_model::real::{
    AtomicBool, AtomicU32, Bound, Condvar, Coverage, Explorer, Failure, Limit, Memory, Mutex,
    Report, UnsafeCell, Verdict, current, futex_wait, futex_wake, park, park_timeout, spawn,
    spawn_symmetric, spin_loop, wait_until, yield_now,
};
use uncontended_testkit::one_line;

const MODELS: [Memory; 3] = [Memory::Sc, Memory::Tso, Memory::C11];

fn explore(body: impl Fn() + 'static) -> Report {
    Explorer::new(Memory::C11).explore(body).unwrap()
}

fn is_deadlock(report: &Report) -> bool {
    report.violation().is_some_and(|it| matches!(it.failure, Failure::Deadlock { .. }))
}

fn panics(report: &Report) -> bool {
    report.violation().is_some_and(|it| matches!(it.failure, Failure::Panic { .. }))
}

/// Waits for what it read before, which no thread can change.
fn stale() {
    let word = Arc::new(AtomicU32::new(0));
    let other = Arc::clone(&word);
    let writer = spawn(move || other.store(1, Release));
    let seen = word.load(Acquire);
    wait_until(|| seen == 1);
    writer.join().unwrap();
}

/// The same in a thread that no thread joins.
fn stale_detached() {
    let word = Arc::new(AtomicU32::new(0));
    let other = Arc::clone(&word);
    spawn(move || {
        let seen = other.load(Acquire);
        wait_until(|| seen == 1);
    });
    word.store(1, Release);
}

/// The same in a thread that only sometimes waits.
fn stale_sometimes() {
    let word = Arc::new(AtomicU32::new(0));
    let (theirs, mine) = (Arc::clone(&word), Arc::clone(&word));
    let writer = spawn(move || theirs.store(1, Release));
    let reader = spawn(move || {
        let seen = mine.load(Acquire);
        if seen == 0 {
            wait_until(|| seen != 0);
        }
    });
    writer.join().unwrap();
    reader.join().unwrap();
}

/// The same in symmetric threads.
fn stale_symmetric() {
    let word = Arc::new(AtomicU32::new(0));
    let theirs = Arc::clone(&word);
    let readers = spawn_symmetric(2, move || {
        let seen = theirs.load(Acquire);
        wait_until(|| seen == 1);
        0
    });
    word.store(1, Release);
    readers.join().unwrap();
}

struct Flag(UnsafeCell<bool>);

// SAFETY: the mutex next to it orders its uses.
unsafe impl Sync for Flag {}

/// A flag under a mutex that the waiting thread holds.
fn held() {
    let both = Arc::new((Mutex::new(()), Flag(UnsafeCell::new(false))));
    let other = Arc::clone(&both);
    let setter = spawn(move || {
        let other = &*other;
        let _held = other.0.lock().unwrap();
        // SAFETY: this thread holds the mutex that guards the flag.
        other.1.0.with_mut(|flag| unsafe { *flag = true });
    });
    let guard = both.0.lock().unwrap();
    let flag = &both.1;
    // SAFETY: as above, this thread holds the mutex.
    wait_until(|| flag.0.with(|flag| unsafe { *flag }));
    drop(guard);
    setter.join().unwrap();
}

#[test]
fn a_condition_that_reads_nothing_waits_forever() {
    let never = || wait_until(|| false);
    let programs: [fn(); 6] =
        [stale, stale_detached, stale_sometimes, stale_symmetric, held, never];
    for (number, program) in programs.into_iter().enumerate() {
        for memory in MODELS {
            let report = Explorer::new(memory).explore(program).unwrap();
            assert!(is_deadlock(&report), "{number}, {memory:?}: {report}");
            let told = one_line(&report);
            assert!(told.contains("reads nothing that can change"), "{number}: {report}");
            let schedule = &report.violation().unwrap().schedule;
            let again = Explorer::new(memory).replay(schedule, program).unwrap();
            assert!(is_deadlock(&again), "{number}, {memory:?}: {again}");
        }
        let shared = Explorer::new(Memory::C11).jobs(2).explore(program).unwrap();
        assert!(is_deadlock(&shared), "{number}: {shared}");
    }
}

#[test]
fn a_condition_that_reads_nothing_ends_a_random_run() {
    let explorer = Explorer::new(Memory::C11).sample(100, 1);
    let report = explorer.explore(stale).unwrap();
    assert!(is_deadlock(&report), "{report}");
}

fn poll(word: &AtomicU32, rounds: u32) -> bool {
    (0..rounds).any(|_| {
        let is_set = word.load(Acquire) == 1;
        if !is_set {
            spin_loop();
        }
        is_set
    })
}

#[test]
fn a_helper_that_gives_up_is_explored_in_its_second_call() {
    for rounds in [2, 3, 4, 5, 33, 100] {
        for memory in MODELS {
            let report = Explorer::new(memory).explore(move || {
                let word = Arc::new(AtomicU32::new(0));
                let other = Arc::clone(&word);
                let writer = spawn(move || other.store(1, Release));
                let (first, second) = (poll(&word, rounds), poll(&word, rounds));
                writer.join().unwrap();
                assert!(first || !second, "the second call finds it");
            });
            let report = report.unwrap();
            assert!(panics(&report), "{rounds}, {memory:?}: {report}");
        }
    }
}

#[test]
fn a_helper_that_gives_up_is_explored_in_each_of_several_calls() {
    for (attempts, rounds) in [(3, 5), (3, 40), (5, 4), (8, 5), (8, 12)] {
        for found_in in 0..attempts {
            let report = explore(move || {
                let word = Arc::new(AtomicU32::new(0));
                let other = Arc::clone(&word);
                let writer = spawn(move || other.store(1, Release));
                let found = (0..attempts).find(|_| poll(&word, rounds));
                writer.join().unwrap();
                assert_ne!(found, Some(found_in), "found in this call");
            });
            assert!(panics(&report), "{attempts} of {rounds}, call {found_in}: {report}");
        }
    }
}

#[test]
fn a_lock_that_is_tried_for_a_while_may_be_had_the_second_time() {
    let report = explore(|| {
        let lock = Arc::new(Mutex::new(0));
        let other = Arc::clone(&lock);
        let holder = spawn(move || *other.lock().unwrap() += 1);
        let try_for = |rounds| {
            (0..rounds).any(|_| {
                let is_had = lock.try_lock().is_ok();
                if !is_had {
                    spin_loop();
                }
                is_had
            })
        };
        let (first, second) = (try_for(5), try_for(5));
        holder.join().unwrap();
        assert!(first || !second, "had the second time");
    });
    assert!(panics(&report), "{report}");
}

#[test]
fn a_loop_that_gives_up_beyond_the_bound_is_unknown() {
    let right = |rounds| move || assert!(!poll(&AtomicU32::new(0), rounds));
    for rounds in [1_001, 5_000, 20_000] {
        let report = explore(right(rounds));
        assert!(matches!(report.verdict, Verdict::Unknown(Bound::Spins(1000))), "{report}");
        for part in ["real_endless.rs:", "gives up after", "`Explorer::spins`"] {
            assert!(one_line(&report).contains(part), "{part}: {report}");
        }
    }
    let raised = Explorer::new(Memory::C11).spins(6_000).events(20_000);
    let report = raised.explore(right(5_000)).unwrap();
    assert!(report.holds(), "{report}");
    let endless = explore(right(u32::MAX));
    let failure = &endless.violation().unwrap_or_else(|| panic!("{endless}")).failure;
    assert!(matches!(failure, Failure::Livelock { rounds: 1000, .. }), "{endless}");
}

#[test]
fn a_real_violation_beside_a_loop_that_gives_up_late_is_found() {
    let report = explore(|| {
        let word = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&word);
        let writer = spawn(move || other.store(1, Release));
        assert!(!poll(&word, 5_000), "found");
        writer.join().unwrap();
    });
    assert!(panics(&report), "{report}");
}

#[test]
fn what_could_have_happened_spuriously_is_a_limit() {
    let weak = || assert!(AtomicU32::new(0).compare_exchange_weak(0, 1, Acquire, Relaxed).is_ok());
    let notified = || {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let other = Arc::clone(&pair);
        let thread = spawn(move || {
            *other.0.lock().unwrap() = true;
            other.1.notify_one();
        });
        let mut ready = pair.0.lock().unwrap();
        if !*ready {
            ready = pair.1.wait(ready).unwrap();
            assert!(*ready);
        }
        drop(ready);
        thread.join().unwrap();
    };
    let parked = || {
        current().unpark();
        park();
    };
    let futex = || {
        let word = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&word);
        let thread = spawn(move || {
            other.store(1, Release);
            futex_wake(&*other, 1);
        });
        futex_wait(&*word, 0);
        thread.join().unwrap();
    };
    let programs: [fn(); 4] = [weak, notified, parked, futex];
    for (number, program) in programs.into_iter().enumerate() {
        for jobs in [1, 2] {
            let report = Explorer::new(Memory::C11).jobs(jobs).explore(program).unwrap();
            let limits = Coverage::Within(vec![Limit::Spurious(0)]);
            assert_eq!(report.coverage(), limits, "{number}: {report}");
            let told = one_line(&report);
            assert!(told.contains(" with no spurious failures or wakeups"), "{number}: {report}");
        }
    }
    let strong = || assert!(AtomicU32::new(0).compare_exchange(0, 1, Acquire, Relaxed).is_ok());
    assert_eq!(explore(strong).coverage(), Coverage::Complete);
    // Nothing fails spuriously inside a condition: it would only be evaluated again.
    let inside = || {
        let word = AtomicU32::new(0);
        wait_until(|| word.compare_exchange_weak(0, 1, Acquire, Relaxed).is_ok());
    };
    assert_eq!(explore(inside).coverage(), Coverage::Complete);
}

#[test]
fn messages_name_the_remedy_that_helps() {
    let fourth = explore(|| (0..4).for_each(|_| park_timeout(Duration::from_millis(1))));
    assert!(matches!(fourth.verdict, Verdict::Unknown(Bound::Timeouts(3))), "{fourth}");
    assert!(one_line(&fourth).contains("`Explorer::timeouts`"), "{fourth}");
    let enough = Explorer::new(Memory::C11).timeouts(4);
    let body = || (0..4).for_each(|_| park_timeout(Duration::from_millis(1)));
    assert!(enough.explore(body).unwrap().holds());
    let polled = explore(|| {
        let ready = Arc::new(Mutex::new(false));
        let other = Arc::clone(&ready);
        spawn(move || *other.lock().unwrap() = true);
        while !*ready.lock().unwrap() {
            yield_now();
        }
    });
    let told = one_line(&polled);
    assert!(matches!(polled.verdict, Verdict::Unknown(Bound::Events(_))), "{polled}");
    assert!(told.contains("`wait_until`") && !told.contains("`Explorer::events`"), "{polled}");
    let long = Explorer::new(Memory::C11).events(3).explore(|| {
        let word = AtomicBool::new(false);
        word.store(true, Relaxed);
        word.store(false, Release);
        word.swap(true, Acquire);
    });
    assert!(one_line(long.unwrap()).contains("`Explorer::events`"));
}

/// Two threads wait, and one is woken.
fn notify_one_for_two() {
    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    let waiters = [(); 2].map(|()| {
        let pair = Arc::clone(&pair);
        spawn(move || drop(pair.1.wait_while(pair.0.lock().unwrap(), |ready| !*ready).unwrap()))
    });
    *pair.0.lock().unwrap() = true;
    pair.1.notify_one();
    waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
}

/// The waiter checks outside the mutex that it waits with.
fn notify_before_wait() {
    let all = Arc::new((AtomicU32::new(0), Mutex::new(()), Condvar::new()));
    let other = Arc::clone(&all);
    let thread = spawn(move || {
        other.0.store(1, Release);
        other.2.notify_one();
    });
    if all.0.load(Acquire) == 0 {
        drop(all.2.wait(all.1.lock().unwrap()).unwrap());
    }
    thread.join().unwrap();
}

#[test]
fn a_deadlock_is_called_one_and_fits_a_terminal() {
    let none_woken = explore(notify_one_for_two);
    let lost = explore(notify_before_wait);
    assert!(is_deadlock(&none_woken) && is_deadlock(&lost), "{none_woken}\n{lost}");
    assert!(one_line(&none_woken).contains("deadlock: threads 0 and "), "{none_woken}");
    for part in ["lost wakeup: thread 0 waits forever", "found no waiter"] {
        assert!(one_line(&lost).contains(part), "{part}: {lost}");
    }
    for report in [none_woken, lost] {
        let text = report.to_string();
        let wide = |line: &&str| line.chars().count() > 80 && !line.contains("UNC_REPLAY");
        assert_eq!(text.lines().find(wide), None, "{text}");
    }
}
