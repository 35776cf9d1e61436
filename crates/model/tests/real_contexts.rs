//! Executions with a bound on contexts, against every candidate execution and every order of its events; locks and
//! other waits, against orders of critical sections; bugs of known depth.
//!
//! `UNC_DEPTH=full` runs fifty times as many programs.

mod candidates;
mod programs;

use candidates::{Model, Program, Within, executions, executions_within};
use programs::{LOCATIONS, outcome, program};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Release, SeqCst};
use uncontended_model::random::Random;
use uncontended_model::real::{
    AtomicBool, AtomicU32, Bound, Explorer, Failure, Memory, Mutex, Verdict, futex_wait,
    futex_wake, spawn, wait_until,
};
use uncontended_testkit::repetitions;

const MODELS: [(Memory, Model); 3] =
    [(Memory::C11, Model::C11), (Memory::Tso, Model::Tso), (Memory::Sc, Model::Sc)];

/// Counts within a bound equal the enumerator's and grow to the total. Returns the contexts that the last execution
/// needs.
fn check(program: &Program, memory: Memory, model: Model) -> u32 {
    let all = executions(program, LOCATIONS, model);
    for most in program.len() as u32.. {
        let expected = executions_within(program, LOCATIONS, model, Some(Within::Contexts(most)));
        let explored = program.clone();
        // The first thread starts the others, and joins them.
        let explorer = Explorer::new(memory).contexts(most + 2);
        let (found, report) = explorer.outcomes(move || outcome(&explored, || ())).unwrap();
        assert!(report.holds(), "{report}");
        assert_eq!((report.contexts, report.preemptions), (Some(most + 2), None));
        assert_eq!(
            found, expected,
            "{memory:?}, at most {most} contexts: found, expected, for {program:#?}"
        );
        if found == all {
            return most;
        }
    }
    unreachable!("there is no execution without a number");
}

#[test]
fn each_bound_is_exact() {
    let mut random = Random(0xc0_47e6);
    let mut most = 0;
    for _ in 0..repetitions("contexts", 40, 2_000) {
        let program = program(&mut random);
        for (memory, model) in MODELS {
            most = most.max(check(&program, memory, model));
        }
    }
    assert!(most >= 5, "programs whose bound matters: {most}");
}

/// Words with the given numbers of `a` and `b`, with at most this many runs of one letter.
fn words(a: u32, b: u32, last: Option<char>, stretches: u32) -> u64 {
    if a + b == 0 {
        return 1;
    }
    let after = |letter, a, b| match stretches.checked_sub(u32::from(last != Some(letter))) {
        Some(left) => words(a, b, Some(letter), left),
        None => 0,
    };
    let first = if a > 0 { after('a', a - 1, b) } else { 0 };
    first + if b > 0 { after('b', a, b - 1) } else { 0 }
}

#[test]
fn critical_sections_are_counted_as_they_come() {
    for rounds in 1..4 {
        for most in 2..2 * rounds + 2 {
            let body = move || {
                let count = Arc::new(Mutex::new(0));
                let threads = [(); 2].map(|()| {
                    let count = Arc::clone(&count);
                    spawn(move || (0..rounds).for_each(|_| *count.lock().unwrap() += 1))
                });
                threads.into_iter().for_each(|thread| thread.join().unwrap());
            };
            for (memory, _) in MODELS {
                let report = Explorer::new(memory).contexts(most + 2).explore(body).unwrap();
                let executions = words(rounds, rounds, None, most);
                let said = format!(
                    "holds in all {executions} executions with at most {} contexts",
                    most + 2
                );
                assert!(report.to_string().starts_with(&said), "{report}");
            }
        }
    }
}

#[test]
fn too_few_contexts_for_any_execution_are_no_verdict() {
    let body = || spawn(|| ()).join().unwrap();
    for most in 0..3 {
        let report = Explorer::new(Memory::C11).contexts(most).explore(body).unwrap();
        let Verdict::Unknown(Bound::Contexts(said)) = report.verdict else { panic!("{report}") };
        assert_eq!(said, most.max(1));
    }
    assert!(Explorer::new(Memory::C11).contexts(3).explore(body).unwrap().holds());
}

/// The lock is held, its thread is preempted, and the other one stops at the lock: six contexts.
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

fn two_locks() {
    let locks = Arc::new((Mutex::new(()), Mutex::new(())));
    let other = Arc::clone(&locks);
    let thread = spawn(move || {
        let _one = other.1.lock().unwrap();
        let _other = other.0.lock().unwrap();
    });
    {
        let _one = locks.0.lock().unwrap();
        let _other = locks.1.lock().unwrap();
    }
    thread.join().unwrap();
}

/// Bounds within which a search finds nothing, and those within which it must.
#[test]
fn bugs_behind_locks_are_found_within_their_contexts() {
    for (memory, _) in MODELS {
        let found = |body: fn(), most| {
            let report = Explorer::new(memory).contexts(most).explore(body).unwrap();
            let violation = report.violation();
            violation.map(|it| (it.contexts, matches!(it.failure, Failure::Deadlock { .. })))
        };
        let least = found(behind_a_lock, 20).and_then(|(contexts, _)| contexts);
        let least = least.expect("there is such an execution");
        assert_eq!(found(behind_a_lock, least), Some((Some(least), false)), "{memory:?}");
        // If the search meets one beyond the bound, it is reported as such.
        for fewer in 1..least {
            assert!(found(behind_a_lock, fewer).is_none_or(|(told, _)| told == Some(least)));
        }
        let (least, is_deadlock) = found(two_locks, 20).expect("each takes one");
        assert!(is_deadlock && found(two_locks, least.unwrap()).is_some(), "{memory:?}");
    }
}

#[test]
fn other_waits_are_counted() {
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
    for (memory, _) in MODELS {
        for body in [futex, until] {
            let all = Explorer::new(memory).explore(body).unwrap();
            let counts = (3..8).map(|most| {
                let report = Explorer::new(memory).contexts(most).explore(body).unwrap();
                assert!(report.holds(), "{report}");
                report.executions
            });
            let counts: Vec<u64> = counts.collect();
            assert!(counts.is_sorted() && counts[4] == all.executions, "{counts:?}, {all}");
        }
    }
}
