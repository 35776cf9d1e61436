//! Executions with a bound on preemptions, against every candidate execution and every order of its events; bugs of
//! known depth; joins and hints, where leaving a thread is free; locks and other waits, which are refused.
//!
//! `UNC_DEPTH=full` runs fifty times as many programs.

mod candidates;
mod programs;

use candidates::{Model, Program, Within, executions, executions_within};
use programs::{LOCATIONS, outcome, program};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use uncontended_model::random::Random;
use uncontended_model::real::{
    AtomicBool, AtomicU32, Bound, Condvar, Explorer, Memory, Mutex, Verdict, futex_wait,
    futex_wake, park, spawn, spin_loop, wait_until,
};
use uncontended_testkit::{one_line, repetitions};

/// Counts within a bound equal the enumerator's, grow with the bound, and reach the total.
fn check(program: &Program, memory: Memory, model: Model) -> u32 {
    let all = executions(program, LOCATIONS, model);
    let mut before = 0;
    for most in 0.. {
        let expected =
            executions_within(program, LOCATIONS, model, Some(Within::Preemptions(most)));
        let explored = program.clone();
        let (found, report) = Explorer::new(memory)
            .preemptions(most)
            .outcomes(move || outcome(&explored, || ()))
            .unwrap();
        assert!(report.holds(), "{report}");
        assert_eq!(report.preemptions, Some(most));
        assert_eq!(
            found, expected,
            "{memory:?}, at most {most} preemptions: found, expected, for {program:#?}"
        );
        assert!(report.executions >= before);
        before = report.executions;
        if found == all {
            return most;
        }
    }
    unreachable!("there is no execution without a number");
}

#[test]
fn the_union_over_all_bounds_is_everything_and_each_bound_is_exact() {
    let mut random = Random(0x5eed_b0b5);
    let mut deepest = 0;
    for _ in 0..repetitions("preemptions", 40, 2_000) {
        let program = program(&mut random);
        for (memory, model) in
            [(Memory::C11, Model::C11), (Memory::Tso, Model::Tso), (Memory::Sc, Model::Sc)]
        {
            deepest = deepest.max(check(&program, memory, model));
        }
    }
    assert!(deepest >= 2, "programs whose bound matters: {deepest}");
}

/// Two threads take turns; wrong when all are taken. Each turn except the first and the last two preempts a thread.
fn turns(steps: u32) {
    let turn = Arc::new(AtomicU32::new(0));
    let player = |first: u32| {
        let turn = Arc::clone(&turn);
        spawn(move || {
            let mut taken = 0;
            for step in (first..steps).step_by(2) {
                if turn.load(SeqCst) == step {
                    turn.store(step + 1, SeqCst);
                    taken += 1;
                }
            }
            taken
        })
    };
    let players = [player(0), player(1)];
    let taken: u32 = players.into_iter().map(|player| player.join().unwrap()).sum();
    assert!(taken < steps, "all turns are taken");
}

#[test]
fn a_bug_is_found_at_its_depth_and_reported_with_it() {
    let mut below = 0;
    for (steps, depth) in [(2, 0), (3, 1), (4, 2), (5, 3)] {
        for memory in [Memory::C11, Memory::Tso, Memory::Sc] {
            for most in 0..=depth + 1 {
                let explorer = Explorer::new(memory).preemptions(most);
                let report = explorer.explore(move || turns(steps)).unwrap();
                match report.violation() {
                    // If the search meets one beyond the bound, it is reported as such.
                    Some(violation) => assert_eq!(violation.preemptions, Some(depth), "{report}"),
                    None => assert!(most < depth && report.holds(), "{steps}, {most}: {report}"),
                }
                let executions = if most < depth { report.executions } else { 0 };
                below = below.max(executions);
            }
        }
    }
    assert!(below > 0, "no search below a depth counted executions");
}

/// Wrong with one preemption: the lock is held, its thread is preempted, and the other one stops at the lock. A count
/// that lets the holder continue to its next stop finds two.
fn behind_a_lock() {
    let all = Arc::new((Mutex::new(()), AtomicU32::new(0), AtomicU32::new(0)));
    let other = Arc::clone(&all);
    let thread = spawn(move || {
        other.1.store(4, SeqCst);
        let _held = other.0.lock().unwrap();
        other.2.load(SeqCst)
    });
    drop(all.0.lock().unwrap());
    let first = all.1.load(SeqCst);
    all.2.store(1, SeqCst);
    let second = thread.join().unwrap();
    assert!(!(first == 4 && second == 1));
}

/// Each of them waits, even if only in some executions.
fn waits() -> [(&'static str, fn()); 5] {
    fn condition() {
        let pair = Arc::new((Mutex::new(0), Condvar::new()));
        let other = Arc::clone(&pair);
        let waits = spawn(move || drop(other.1.wait(other.0.lock().unwrap())));
        pair.1.notify_one();
        drop(waits);
    }
    fn parked() {
        let waits = spawn(|| {
            park();
            1
        });
        waits.thread().unpark();
        waits.join().unwrap();
    }
    fn futex() {
        let word = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&word);
        let waits = spawn(move || futex_wait(&*other, 0));
        word.store(1, SeqCst);
        futex_wake(&*word, 1);
        waits.join().unwrap();
    }
    fn until() {
        let ready = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&ready);
        let waits = spawn(move || wait_until(|| other.load(Acquire)));
        ready.store(true, Release);
        waits.join().unwrap();
    }
    [
        ("lock", behind_a_lock),
        ("condition", condition),
        ("park", parked),
        ("futex", futex),
        ("until", until),
    ]
}

#[test]
fn code_that_waits_for_a_step_is_refused_with_its_place() {
    assert!(Explorer::new(Memory::Sc).explore(behind_a_lock).unwrap().violation().is_some());
    for (name, body) in waits() {
        for memory in [Memory::C11, Memory::Tso, Memory::Sc] {
            for explorer in [Explorer::new(memory), Explorer::new(memory).jobs(2)] {
                for most in 0..3 {
                    let report = explorer.clone().preemptions(most).explore(body).unwrap();
                    let Verdict::Unknown(Bound::Waits(site)) = report.verdict else {
                        panic!("{name}, {memory:?}, {most}: {report}");
                    };
                    assert_eq!(site.file(), file!());
                    let said = format!("plain atomics, and this one waits at {site}");
                    assert!(one_line(&report).contains(&said), "{report}");
                }
            }
        }
    }
}

/// A wait that only a few executions reach, deep in a part that another process explores.
#[test]
fn a_late_wait_is_reported_by_processes_that_share() {
    let body = || {
        let x = Arc::new(AtomicU32::new(0));
        let threads = [(); 4].map(|()| {
            let x = Arc::clone(&x);
            spawn(move || x.fetch_add(1, Relaxed))
        });
        let last = threads.map(|thread| thread.join().unwrap());
        if last == [3, 2, 1, 0] {
            park();
        }
    };
    for processes in [1, 2] {
        let explorer = Explorer::new(Memory::C11).preemptions(4).jobs(processes);
        let report = explorer.explore(body).unwrap();
        assert!(matches!(report.verdict, Verdict::Unknown(Bound::Waits(_))), "{report}");
    }
}

/// Letting a thread end costs its joiner no more than it saves.
#[test]
fn a_join_in_front_of_which_a_thread_stops_costs_nothing() {
    let body = || {
        let words = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
        let (a, b) = (Arc::clone(&words), Arc::clone(&words));
        let joined = spawn(move || {
            a.0.store(1, SeqCst);
            a.1.load(SeqCst)
        });
        let other = spawn(move || {
            let seen = b.0.load(SeqCst);
            b.1.store(1, SeqCst);
            seen
        });
        let first = joined.join().unwrap();
        words.1.store(2, SeqCst);
        let second = other.join().unwrap();
        // One thread is preempted between its two steps.
        assert!(!(first == 1 && second == 1));
    };
    for memory in [Memory::C11, Memory::Tso, Memory::Sc] {
        let found = |most| {
            let report = Explorer::new(memory).preemptions(most).explore(body).unwrap();
            report.violation().map(|violation| violation.preemptions)
        };
        assert_eq!(found(1), Some(Some(1)), "{memory:?}");
        assert!(found(0).is_none_or(|told| told == Some(1)), "{memory:?}");
    }
}

#[test]
fn after_a_hint_a_thread_is_left_for_nothing() {
    let counted = |hints: bool| {
        let polls = move || {
            let ready = Arc::new(AtomicBool::new(false));
            let other = Arc::clone(&ready);
            let polls = spawn(move || {
                let first = other.load(Acquire);
                if hints {
                    spin_loop();
                }
                (first, other.load(Acquire))
            });
            let writer = spawn(move || ready.store(true, Release));
            writer.join().unwrap();
            polls.join().unwrap();
        };
        Explorer::new(Memory::Sc).preemptions(0).explore(polls).unwrap().executions
    };
    assert_eq!((counted(false), counted(true)), (2, 3));
}

#[test]
fn what_a_bound_counts_and_says() {
    let increments = || {
        let x = Arc::new(AtomicU32::new(0));
        let thread = || {
            let x = Arc::clone(&x);
            spawn(move || {
                (0..4).for_each(|_| {
                    x.fetch_add(1, Relaxed);
                })
            })
        };
        let threads = [thread(), thread()];
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    };
    let all = Explorer::new(Memory::C11).explore(increments).unwrap();
    assert_eq!((all.executions, all.preemptions), (70, None));
    let counts = (0..5).map(|most| {
        let report = Explorer::new(Memory::C11).preemptions(most).explore(increments).unwrap();
        assert!(report.executions + report.beyond <= 70, "{report}");
        let said =
            format!("holds in all {} executions with at most {most} preemption", report.executions);
        assert!(report.to_string().starts_with(&said), "{report}");
        report.executions
    });
    // Words of four a and four b with at most this many changes, the last one apart: 2 with one change, 6 with two, …
    assert_eq!(counts.collect::<Vec<_>>(), [2, 8, 26, 44, 62]);
}
