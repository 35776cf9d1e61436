//! Misbehaving programs, most of which cannot be explored: each is reported with its place and its remedy, and none
//! kills the process, except by a stack overflow.

#![allow(clippy::disallowed_types)] // State that explorations share.

use std::cell::Cell;
use std::io::{BufRead, BufReader};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, OnceLock};
use uncontended_model::real::{
    self, AtomicU32, Bound, Explorer, Failure, MAX_THREADS, Memory, Mutex, Report, Verdict, park,
    spawn, spin_loop,
};
use uncontended_testkit::one_line;

fn explorer() -> Explorer {
    Explorer::new(Memory::C11)
}

fn unknown(report: &Report, bound: Bound, text: &str) {
    assert!(matches!(report.verdict, Verdict::Unknown(found) if found == bound), "{report}");
    assert!(one_line(report).contains(text), "{report}");
}

fn panics(report: &Report) -> (&str, &str) {
    match &report.violation().unwrap_or_else(|| panic!("{report}")).failure {
        Failure::Panic { place, message, .. } => (place.as_deref().unwrap(), message),
        other => panic!("{other}"),
    }
}

#[test]
fn more_threads_than_there_may_be() {
    let report = explorer()
        .explore(|| {
            let threads: Vec<_> = (0..MAX_THREADS).map(|_| spawn(|| ())).collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        })
        .unwrap();
    unknown(&report, Bound::Threads(MAX_THREADS), "more than 16 threads, the first one included");
}

#[test]
fn memory_without_end() {
    let boxes = explorer().memory_bytes(1 << 20).explore(|| {
        let mut kept = Vec::new();
        loop {
            kept.push(real::Box::new([0u64; 128]));
        }
    });
    unknown(&boxes.unwrap(), Bound::Memory(1 << 20), "or raise `Explorer::memory_bytes`");
    let atomics = explorer().memory_bytes(1 << 20).explore(|| {
        loop {
            AtomicU32::new(0);
        }
    });
    unknown(&atomics.unwrap(), Bound::Memory(1 << 20), "more than 1048576 bytes");
    let enough = explorer().memory_bytes(1 << 20).explore(|| drop(real::Box::new([0u64; 128])));
    assert!(enough.unwrap().holds());
}

#[test]
fn more_options_than_can_be_explored() {
    let report = explorer().explore(|| _ = real::choose(u64::MAX)).unwrap();
    let (place, message) = panics(&report);
    assert!(message.contains("options, at most 65536") && message.contains("choose among fewer"));
    assert!(place.contains("real_bad.rs:"), "{report}");
    let all = explorer().events(10).explore(|| _ = real::choose(1_000)).unwrap();
    assert!(all.holds() && all.executions == 1_000, "{all}");
}

#[test]
fn an_exploration_inside_another_one() {
    let inside = || {
        AtomicU32::new(0).store(1, Relaxed);
        explorer().explore(|| ()).unwrap();
    };
    let why = explorer().explore(inside).unwrap_err().to_string();
    assert!(why.contains("thread 0 starts an exploration inside an exploration"), "{why}");
    assert!(why.contains("Explore one after the other"), "{why}");
    assert!(explorer().explore(|| AtomicU32::new(0).store(1, Relaxed)).unwrap().holds());
    struct Explores;
    impl Drop for Explores {
        fn drop(&mut self) {
            explorer().explore(|| ()).unwrap();
        }
    }
    let unwinding = explorer().explore(|| {
        let _guard = Explores;
        panic!("the first one");
    });
    let report = unwinding.unwrap();
    let (_, message) = panics(&report);
    assert!(message.starts_with("the first one; while it unwinds"), "{report}");
    assert!(message.contains("no exploration starts while another one ends"), "{report}");
    assert!(explorer().explore(|| AtomicU32::new(0).store(1, Relaxed)).unwrap().holds());
}

#[test]
fn threads_without_end_and_a_lock_taken_twice() {
    fn again() {
        spawn(again).join().unwrap();
    }
    let report = explorer().explore(again).unwrap();
    unknown(&report, Bound::Threads(MAX_THREADS), "start one or two threads per role");
    let twice = explorer().explore(|| {
        let lock = Mutex::new(());
        let _first = lock.lock();
        drop(lock.lock());
    });
    let report = twice.unwrap();
    let violation = report.violation().unwrap();
    assert!(matches!(violation.failure, Failure::Deadlock { .. }), "{report}");
    assert!(report.to_string().contains("real_bad.rs:"), "{report}");
}

#[test]
fn bounds_that_leave_no_room() {
    let body = || AtomicU32::new(0).store(1, Relaxed);
    let none = |explorer: Explorer| match explorer.explore(body).unwrap().verdict {
        Verdict::Unknown(bound) => bound,
        verdict => panic!("{verdict:?}"),
    };
    assert_eq!(none(explorer().events(0)), Bound::Events(0));
    assert_eq!(none(explorer().memory_bytes(0)), Bound::Memory(0));
    assert_eq!(none(explorer().sample(0, 1)), Bound::Sampled(0));
    assert!(explorer().stack_bytes(0).explore(body).unwrap().holds());
    assert!(explorer().stack_bytes(usize::MAX).explore(body).unwrap().holds());
}

struct Panics(&'static str);

impl Drop for Panics {
    fn drop(&mut self) {
        panic!("{}", self.0);
    }
}

#[test]
fn a_destructor_that_panics() {
    let alone = explorer().explore(|| drop(Panics("on the way out"))).unwrap();
    assert_eq!(panics(&alone).1, "on the way out");
    assert!(panics(&alone).0.contains("real_bad.rs:"), "{alone}");
}

#[test]
fn a_destructor_that_panics_while_its_thread_unwinds() {
    let twice = explorer()
        .explore(|| {
            let _guard = Panics("as well");
            let word = Arc::new(AtomicU32::new(0));
            let other = Arc::clone(&word);
            spawn(move || other.store(1, Relaxed)).join().unwrap();
            assert_eq!(word.load(Relaxed), 2, "the first one");
        })
        .unwrap();
    let (place, message) = panics(&twice);
    assert!(message.contains("the first one") && place.contains("real_bad.rs"), "{twice}");
    assert!(message.contains("while it unwinds, a destructor panics at "), "{twice}");
    assert!(message.ends_with("as well"), "{twice}");
    assert!(!std::thread::panicking());
    // The OS thread can explore again, and panics behave as before.
    assert!(explorer().explore(|| AtomicU32::new(0).store(1, Relaxed)).unwrap().holds());
    assert_eq!(panics(&explorer().explore(|| panic!("again")).unwrap()).1, "again");
    assert!(catch_unwind(|| panic!("here")).is_err() && !std::thread::panicking());
}

#[test]
fn a_destructor_that_panics_where_the_checker_ends_its_thread() {
    let why = explorer()
        .explore(|| {
            let _guard = Panics("not done");
            park();
        })
        .unwrap();
    // The deadlock is reported; the destructor ran after it.
    assert!(matches!(why.violation().unwrap().failure, Failure::Deadlock { .. }), "{why}");
    let blocked = explorer().explore(|| {
        let lock = Arc::new(Mutex::new(0));
        let other = Arc::clone(&lock);
        let thread = spawn(move || *other.lock().unwrap() += 1);
        let unfinished = Panics("cut short");
        *lock.lock().unwrap() += 1;
        std::mem::forget(unfinished);
        thread.join().unwrap();
    });
    let why = blocked.unwrap_err().to_string();
    assert!(why.contains("the checker ended thread 0"), "{why}");
    assert!(why.contains("cut short. Do nothing of the kind in a destructor"), "{why}");
    assert!(!std::thread::panicking());
}

#[test]
fn a_destructor_that_waits_keeps_the_message_of_the_panic() {
    struct Waits(Arc<AtomicU32>);
    impl Drop for Waits {
        fn drop(&mut self) {
            while self.0.load(Acquire) == 0 {
                spin_loop();
            }
        }
    }
    let report = explorer()
        .explore(|| {
            let word = Arc::new(AtomicU32::new(0));
            let _guard = Waits(Arc::clone(&word));
            let thread = spawn(move || word.store(1, Release));
            thread.join().unwrap();
            let never = Arc::new(AtomicU32::new(0));
            let _forever = Waits(never);
            panic!("what was wrong");
        })
        .unwrap();
    let (_, message) = panics(&report);
    assert!(message.starts_with("what was wrong; while it unwinds"), "{report}");
    assert!(message.ends_with("a destructor waits forever"), "{report}");
    assert!(!std::thread::panicking());
}

#[test]
fn a_panic_that_the_program_catches() {
    let outside = explorer().explore(|| {
        let word = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&word);
        let thread = spawn(move || {
            let caught = catch_unwind(AssertUnwindSafe(|| {
                assert!(other.load(Relaxed) > 7, "never");
            }));
            assert!(caught.is_err());
            other.fetch_add(1, Relaxed);
        });
        word.fetch_add(1, Relaxed);
        thread.join().unwrap();
        assert_eq!(word.load(Relaxed), 2);
    });
    assert!(outside.unwrap().holds(), "nothing that is explored was unwound");
    let inside = explorer().explore(|| {
        let lock = Mutex::new(0);
        let caught = catch_unwind(AssertUnwindSafe(|| {
            let _held = lock.lock().unwrap();
            panic!("in the middle");
        }));
        assert!(caught.is_err() && lock.try_lock().is_ok());
    });
    let why = inside.unwrap_err().to_string();
    assert!(why.contains("thread 0 catches a panic that has unwound through its steps"), "{why}");
    assert!(why.contains("real_bad.rs:") && why.contains("Let the panic end the thread"), "{why}");
}

#[test]
fn state_that_stays_from_run_to_run() {
    static COUNT: OnceLock<u32> = OnceLock::new();
    let once = explorer().explore(|| {
        let word = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&word);
        let thread = spawn(move || other.store(1, Relaxed));
        if *COUNT.get_or_init(|| word.load(Relaxed)) == 0 {
            word.load(Relaxed);
        }
        thread.join().unwrap();
    });
    let why = once.unwrap_err().to_string();
    assert!(why.contains("state that the checker can't see"), "{why}");
    assert!(
        why.contains("`OnceLock`") && why.contains("create such state in the explored closure"),
        "{why}"
    );
    thread_local!(static RUNS: Cell<u32> = const { Cell::new(0) });
    let counted = explorer().explore(|| {
        RUNS.set(RUNS.get() + 1);
        assert!(RUNS.get() < 2, "a second run");
    });
    assert!(counted.unwrap_err().to_string().contains("thread-locals"));
}

#[test]
fn a_loop_without_a_hint_is_reported_with_its_place() {
    let report = explorer()
        .events(60)
        .executions(1)
        .explore(|| {
            let word = Arc::new(AtomicU32::new(0));
            let other = Arc::clone(&word);
            let thread = spawn(move || other.load(Relaxed));
            let line = line!();
            while word.load(Acquire) == 0 {}
            assert!(line > 0);
            thread.join().unwrap();
        })
        .unwrap();
    assert!(matches!(report.verdict, Verdict::Unknown(_)), "{report}");
    let looping = report.looping.as_ref().unwrap();
    assert!(looping.starts_with("thread 0 loops at "), "{report}");
    assert!(looping.contains("without a hint: call `spin_loop`"), "{report}");
    assert!(looping.contains("real_bad.rs:") && one_line(&report).contains(looping), "{report}");
    let straight =
        explorer().explore(|| (0..9).for_each(|at| AtomicU32::new(0).store(at, Relaxed)));
    assert!(straight.unwrap().looping.is_none());
}

#[test]
fn a_loop_that_changes_something_in_each_round_is_reported_with_its_remedy() {
    let waits = |change: fn(&AtomicU32)| {
        let report = explorer().events(60).explore(move || {
            let words = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
            let other = Arc::clone(&words);
            spawn(move || other.0.store(1, Release));
            while words.0.load(Acquire) == 0 {
                change(&words.1);
                spin_loop();
            }
        });
        let report = report.unwrap();
        unknown(&report, Bound::Events(60), "an execution of more than 60 events");
        report.looping.unwrap()
    };
    let adds = |word: &AtomicU32| _ = word.fetch_add(1, Relaxed);
    for change in [|word: &AtomicU32| word.store(1, Relaxed), adds] {
        let looping = waits(change);
        for part in ["each round writes (", "real_bad.rs:", "`wait_until`", "`Explorer::rounds`"] {
            assert!(looping.contains(part), "{part}: {looping}");
        }
    }
    let hints = explorer().explore(|| {
        loop {
            spin_loop();
        }
    });
    let looping = hints.unwrap().looping.unwrap();
    assert!(looping.starts_with("thread 0 only gives hints at "), "{looping}");
}

#[test]
fn code_that_makes_no_step_is_reported() {
    if std::env::var_os("UNC_TEST_STUCK").is_some() {
        let begun = std::time::Instant::now();
        explorer().explore(move || while begun.elapsed().as_secs() < 24 {}).unwrap();
        return;
    }
    if !uncontended_testkit::is_full() {
        uncontended_testkit::skip!(
            "code_that_makes_no_step_is_reported",
            "it takes 24 s: UNC_DEPTH=full"
        );
        return;
    }
    let again = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "code_that_makes_no_step_is_reported"])
        .env("UNC_TEST_STUCK", "1")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&again.stderr);
    assert!(
        told.contains("code_that_makes_no_step_is_reported: thread 0 of an exploration"),
        "{told}"
    );
    assert!(told.contains("has made no step for 20 s"), "{told}");
}

#[test]
fn a_lock_of_std_that_is_held_across_a_step_is_reported() {
    const TEST: &str = "a_lock_of_std_that_is_held_across_a_step_is_reported";
    if std::env::var_os("UNC_TEST_LOCKED").is_some() {
        let report = explorer().explore(|| {
            let count = Arc::new((std::sync::Mutex::new(0), AtomicU32::new(0)));
            let threads = [0, 1].map(|_| {
                let count = Arc::clone(&count);
                spawn(move || {
                    let mut held = count.0.lock().unwrap();
                    while count.1.load(Acquire) == 0 {
                        spin_loop();
                    }
                    *held += 1;
                })
            });
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
        panic!("{report:?}");
    }
    let mut stuck = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", TEST])
        .env("UNC_TEST_LOCKED", "1")
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(stuck.stderr.take().unwrap()).lines().map_while(Result::ok);
    let told = lines.find(|line| line.contains("of an exploration"));
    stuck.kill().unwrap();
    stuck.wait().unwrap();
    let told = told.expect("it is reported, and waits on");
    // A build without debug information cannot tell the line.
    let line = if cfg!(debug_assertions) { &["slept at ", "real_bad.rs:"][..] } else { &[] };
    for part in [TEST, "a lock of `std`", "use the checker's `Mutex`"].iter().chain(line) {
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[inline(never)]
fn down(depth: u64) -> u64 {
    let frame = std::hint::black_box([depth; 64]);
    if depth == 0 { 0 } else { down(depth - 1) + frame[7] }
}

#[test]
fn a_stack_overflow_is_reported_before_the_process_ends() {
    const DEEP: u64 = 4_000;
    if std::env::var_os("UNC_TEST_OVERFLOW").is_some() {
        explorer().explore(|| assert!(down(DEEP) > 0)).unwrap();
        return;
    }
    let again = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_stack_overflow_is_reported_before_the_process_ends"])
        .env("UNC_TEST_OVERFLOW", "1")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&again.stderr);
    assert!(!again.status.success(), "{told}");
    assert!(told.contains("overflowed its stack of 256 KiB"), "{told}");
    assert!(told.contains("or raise `Explorer::stack_bytes`"), "{told}");
    let more = explorer().stack_bytes(16 << 20);
    assert!(more.explore(|| assert!(down(DEEP) > 0)).unwrap().holds());
}
