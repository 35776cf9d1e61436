//! Loops that wait for a while and then give up: what they do then is explored, or the verdict says that it was not.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_model::real::{
    AtomicBool, AtomicPtr, AtomicU32, Bound, Explorer, Failure, Memory, Mutex, Report, Verdict,
    choose, spawn, spin_loop, wait_until, yield_now,
};
use uncontended_testkit::one_line;

fn explore(body: impl Fn() + 'static) -> Report {
    Explorer::new(Memory::C11).explore(body).unwrap()
}

fn panics(report: &Report) -> bool {
    report.violation().is_some_and(|it| matches!(it.failure, Failure::Panic { .. }))
}

/// For how many rounds the loops were followed, if they are assumed to go on forever.
fn livelocks(report: &Report) -> Option<u32> {
    match report.violation()?.failure {
        Failure::Livelock { rounds, .. } => Some(rounds),
        _ => None,
    }
}

/// Whether the word was set within this many rounds.
fn poll(word: &AtomicU32, rounds: u32) -> bool {
    (0..rounds).any(|_| {
        let is_set = word.load(Acquire) != 0;
        if !is_set {
            spin_loop();
        }
        is_set
    })
}

/// Whether the flag was set within `outer` rounds, each of which polls up to `inner` times before it tries again.
fn nested(flag: &AtomicBool, outer: u32, inner: u32) -> bool {
    (0..outer).any(|_| {
        let is_taken = flag.compare_exchange(true, false, Acquire, Relaxed).is_ok();
        if !is_taken {
            for _ in 0..inner {
                if flag.load(Relaxed) {
                    break;
                }
                spin_loop();
            }
        }
        is_taken
    })
}

#[test]
fn a_nested_loop_that_gives_up_after_many_outer_rounds_is_explored_to_its_end() {
    for (outer, inner) in [(1, 4), (9, 4), (80, 4), (120, 4), (190, 4), (190, 2), (60, 9), (20, 40)]
    {
        let report = Explorer::new(Memory::C11).events(20_000).explore(move || {
            let flag = Arc::new(AtomicBool::new(false));
            let other = Arc::clone(&flag);
            let writer = spawn(move || other.store(true, Release));
            assert!(nested(&flag, outer, inner), "gives up");
            writer.join().unwrap();
        });
        let report = report.unwrap();
        assert!(panics(&report), "{outer} of {inner}: {report}");
    }
}

#[test]
fn a_nested_loop_that_pauses_without_looking_is_explored_to_its_end() {
    for outer in [3, 40, 80, 190, 240, 900] {
        let report = explore(move || {
            let word = Arc::new(AtomicU32::new(0));
            let other = Arc::clone(&word);
            let writer = spawn(move || other.store(1, Release));
            let is_set = (0..outer).any(|_| {
                let is_set = word.load(Acquire) != 0;
                (0..4).for_each(|_| spin_loop());
                is_set
            });
            assert!(is_set, "gives up");
            writer.join().unwrap();
        });
        assert!(panics(&report), "{outer}: {report}");
    }
}

#[test]
fn a_lone_loop_gives_up_after_as_many_rounds_as_it_likes() {
    for rounds in [31, 40, 233, 500, 999] {
        let report = explore(move || assert!(!poll(&AtomicU32::new(0), rounds)));
        assert!(report.holds() && report.executions == 1, "{rounds}: {report}");
    }
    let endless = explore(|| {
        let word = AtomicU32::new(0);
        while !poll(&word, 1) {}
    });
    assert_eq!(livelocks(&endless), Some(1000), "{endless}");
    for part in ["no sign of giving up in 1000 rounds", "`Explorer::spins`", "`wait_until`"] {
        assert!(one_line(&endless).contains(part), "{part}: {endless}");
    }
    let lone = || assert!(!poll(&AtomicU32::new(0), 1_500));
    let report = explore(lone);
    assert!(matches!(report.verdict, Verdict::Unknown(Bound::Spins(1000))), "{report}");
    let report = Explorer::new(Memory::C11).spins(2_000).events(4_000).explore(lone).unwrap();
    assert!(report.holds(), "{report}");
}

/// Waits until the word is set: in a loop, or by a condition.
#[track_caller]
fn wait(word: &AtomicU32, by_condition: bool) {
    let is_set = || word.load(Acquire) != 0;
    if by_condition {
        wait_until(is_set);
    }
    while !is_set() {
        spin_loop();
    }
}

#[test]
fn what_is_assumed_to_wait_forever_is_told_from_what_does() {
    // Thread 1 holds the lock and waits for a word that no thread sets; thread 0 waits for the lock, or for thread 1.
    let explore = |by_condition, locks, spins| {
        let body = move || {
            let all = Arc::new((Mutex::new(()), [0; 2].map(AtomicU32::new)));
            let other = Arc::clone(&all);
            let thread = spawn(move || {
                let _held = other.0.lock().unwrap();
                other.1[0].store(1, Release);
                wait(&other.1[1], by_condition);
            });
            wait_until(|| all.1[0].load(Acquire) == 1);
            if locks {
                drop(all.0.lock().unwrap());
            }
            thread.join().unwrap();
        };
        let explorer = Explorer::new(Memory::C11).spins(spins);
        let found = explorer.explore(body).unwrap();
        let again = explorer.replay(&found.violation().unwrap().schedule, body).unwrap();
        [found, again]
    };
    for locks in [false, true] {
        for report in explore(true, locks, 50) {
            let failure = &report.violation().unwrap().failure;
            let waits = matches!(failure, Failure::Deadlock { threads } if *threads == [0, 1]);
            assert!(waits && !report.to_string().contains("`Explorer::spins`"), "{report}");
        }
        for report in explore(false, locks, 50) {
            let failure = &report.violation().unwrap().failure;
            let waits = matches!(failure, Failure::Livelock { threads, .. } if *threads == [0, 1]);
            assert!(waits && livelocks(&report) == Some(50), "{report}");
            assert!(report.violation().unwrap().html().contains("Explorer::spins"));
        }
    }
}

#[test]
fn a_livelock_is_not_shrunk_to_a_deadlock() {
    // Both wait at one place; the deadlock needs fewer switches.
    let report = explore(|| {
        let words = Arc::new([0; 2].map(AtomicU32::new));
        let by_condition = choose(2) == 1;
        if !by_condition {
            let other = Arc::clone(&words);
            spawn(move || other[0].store(1, Release)).join().unwrap();
        }
        wait(&words[1], by_condition);
    });
    assert!(livelocks(&report).is_some(), "{report}");
    assert!(report.violation().unwrap().shrunk.unwrap().to.switches > 0, "{report}");
}

#[test]
fn what_follows_a_loop_that_gives_up_is_explored_if_it_waits_itself() {
    // The second loop is at another hint, or at the same one, and waits for good.
    for (rounds, is_apart) in [(31, false), (31, true), (100, false), (100, true), (500, true)] {
        let report = explore(move || {
            let words = Arc::new([0; 2].map(AtomicU32::new));
            let other = Arc::clone(&words);
            let writer = spawn(move || {
                other[1].store(1, Release);
                other[1].store(2, Release);
            });
            poll(&words[0], rounds);
            let mut waited = 0;
            while words[1].load(Acquire) == 0 {
                waited += 1;
                if is_apart {
                    yield_now()
                } else {
                    poll(&words[0], 1);
                }
            }
            assert!(waited < 3 || words[1].load(Acquire) == 2, "seen after three rounds");
            writer.join().unwrap();
        });
        assert!(panics(&report), "{rounds}, {is_apart}: {report}");
    }
}

#[test]
fn a_second_wait_at_the_same_hint_has_rounds_of_its_own() {
    for rounds in [1, 29, 30, 31, 32, 33] {
        let report = explore(move || {
            let words = Arc::new([0; 2].map(AtomicU32::new));
            let other = Arc::clone(&words);
            let writer = spawn(move || other[1].store(1, Release));
            poll(&words[0], rounds);
            let waited = (0..).find(|_| poll(&words[1], 1));
            assert_ne!(waited, Some(3), "seen after three rounds");
            writer.join().unwrap();
        });
        assert!(panics(&report), "{rounds}: {report}");
    }
}

#[test]
fn a_loop_that_finds_something_new_now_and_then_is_not_left_waiting() {
    let report = explore(|| {
        let word = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&word);
        let writer = spawn(move || (1..=40).for_each(|value| other.store(value, Release)));
        let (mut rounds, mut last) = (0, 0);
        loop {
            let seen = word.load(Acquire);
            // Only the execution that sees all values, in order.
            if seen > last + 1 || rounds > seen {
                break;
            }
            if seen == 40 {
                assert_ne!(rounds, 40, "seen");
                break;
            }
            (rounds, last) = (rounds + 1, seen);
            spin_loop();
        }
        writer.join().unwrap();
    });
    assert!(panics(&report), "{report}");
}

#[test]
fn a_loop_that_looks_seldom_is_not_stuck_while_there_is_news() {
    for inner in [3, 8, 20, 40] {
        let report = Explorer::new(Memory::C11).events(20_000).explore(move || {
            let words = Arc::new([0; 2].map(AtomicU32::new));
            let other = Arc::clone(&words);
            let writer = spawn(move || other[0].store(1, Release));
            while words[0].load(Acquire) == 0 {
                poll(&words[1], inner);
            }
            writer.join().unwrap();
        });
        let report = report.unwrap();
        assert!(report.holds() && (4..=5).contains(&report.executions), "{inner}: {report}");
        assert!(report.rounds.is_some() && report.left_waiting > 0, "{inner}: {report}");
        let dead = explore(move || {
            let words = [0; 2].map(AtomicU32::new);
            while words[0].load(Acquire) == 0 {
                poll(&words[1], inner);
            }
        });
        assert!(livelocks(&dead).is_some(), "{inner}: {dead}");
    }
}

#[test]
fn a_loop_that_cannot_be_followed_far_enough_is_unknown() {
    let report = explore(|| {
        let words = [0; 60].map(AtomicU32::new);
        while words.iter().all(|word| word.load(Relaxed) == 0) {
            spin_loop();
        }
    });
    assert!(livelocks(&report).is_some(), "{report}");
    let report = Explorer::new(Memory::C11)
        .spins(5_000)
        .explore(|| {
            let words = [0; 60].map(AtomicU32::new);
            while words.iter().all(|word| word.load(Relaxed) == 0) {
                spin_loop();
            }
        })
        .unwrap();
    assert!(matches!(report.verdict, Verdict::Unknown(Bound::Spins(5_000))), "{report}");
    for part in ["real_patience.rs:", "could not be followed", "`Explorer::spins`"] {
        assert!(one_line(&report).contains(part), "{part}: {report}");
    }
}

#[test]
fn a_violation_behind_a_loop_that_gives_up_is_replayed() {
    let body = || {
        let word = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&word);
        let writer = spawn(move || other.store(1, Release));
        assert!(poll(&word, 150), "gives up");
        writer.join().unwrap();
    };
    let found = explore(body);
    assert!(panics(&found), "{found}");
    let schedule = &found.violation().unwrap().schedule;
    let again = Explorer::new(Memory::C11).replay(schedule, body).unwrap();
    assert!(panics(&again), "{again}");
}

/// How long a loop waits may come from a thread's result: 10 rounds or all, whichever is met first.
#[test]
fn a_limit_that_a_joined_thread_returns() {
    for endless_if in [0, 1] {
        let report = explore(move || {
            let (choice, word) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
            let (theirs, set) = (Arc::clone(&choice), Arc::clone(&word));
            let setter = spawn(move || set.store(1, Release));
            let chooser = spawn(move || match theirs.load(Relaxed) {
                found if found == endless_if => u32::MAX,
                _ => 10,
            });
            choice.store(1, Relaxed);
            let rounds = chooser.join().unwrap();
            assert!(poll(&word, rounds), "it gave up");
            setter.join().unwrap();
        });
        assert!(panics(&report), "{endless_if}: {report}");
    }
}

/// The same from a mutex: 10 rounds, or all by the thread that has set the word, so that nothing waits forever.
#[test]
fn a_limit_that_a_mutex_holds() {
    for endless_first in [false, true] {
        let report = explore(move || {
            let (limit, word) = (Arc::new(Mutex::new(0)), Arc::new(AtomicU32::new(0)));
            let offer = |rounds, sets| {
                let (limit, word) = (Arc::clone(&limit), Arc::clone(&word));
                move || {
                    let mut limit = limit.lock().unwrap();
                    if *limit == 0 {
                        *limit = rounds;
                        if sets {
                            word.store(1, Release);
                        }
                    }
                }
            };
            let (short, endless) = (offer(10, false), offer(u32::MAX, true));
            let threads = match endless_first {
                true => [spawn(endless), spawn(short)],
                false => [spawn(short), spawn(endless)],
            };
            let rounds = std::mem::replace(&mut *limit.lock().unwrap(), 5);
            poll(&word, rounds);
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
        assert!(report.holds(), "{endless_first}: {report}");
    }
}

/// An address of std's allocator is another one in each run; it must not keep the loop from being known again.
#[test]
fn a_loop_after_a_pointer_without_a_name() {
    let report = explore(|| {
        let kept = std::boxed::Box::into_raw(std::boxed::Box::new([7; 10]));
        let (pointer, word) = (AtomicPtr::new(kept), Arc::new(AtomicU32::new(0)));
        let theirs = Arc::clone(&word);
        let setter = spawn(move || theirs.store(1, Release));
        let found = pointer.load(Acquire);
        poll(&word, 50);
        setter.join().unwrap();
        // SAFETY: the pointer of the box above, which nothing else frees.
        assert_eq!(unsafe { std::boxed::Box::from_raw(found) }[0], 7);
    });
    assert!(report.holds(), "{report}");
}

#[test]
fn bounds_agree_with_their_numbers() {
    let bounds = |n: u32| {
        let many = u64::from(n);
        [
            Bound::Executions(many),
            Bound::Events(n as usize),
            Bound::Threads(n as usize),
            Bound::Spins(n),
            Bound::Timeouts(n),
            Bound::Contexts(n),
            Bound::Memory(n as usize),
            Bound::Sampled(many),
        ]
    };
    for (one, two) in bounds(1).iter().zip(bounds(2)) {
        let (one, two) = (one.to_string(), two.to_string());
        let noun = |text: &str, n: &str| {
            let noun = text.split_once(n).unwrap().1.split(|c: char| !c.is_alphabetic()).next();
            noun.unwrap().to_owned()
        };
        assert_eq!(noun(&one, "1 ") + "s", noun(&two, "2 "), "{one} / {two}");
    }
}
