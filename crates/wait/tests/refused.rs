//! Membarrier refused by a seccomp filter: hand-offs continue with bounded sleeps. Each case runs in its own process,
//! because a filter cannot be removed.
//!
//! Runs a tenth of the hand-offs by default; `UNC_DEPTH=full` does 100,000 per form.

#![allow(clippy::disallowed_types, clippy::disallowed_methods)] // A user's own atomics.
#![cfg(all(target_os = "linux", not(any(miri, unc_model, unc_portable))))]

use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::*};
use uncontended_sys::{filter, membarrier};
use uncontended_wait::event_count::{EventCount, SingleProducer};
use uncontended_wait::{Backend, Sleepers, backend, single};

const CASE: &str = "UNC_WAIT_CASE";

fn hand_offs() -> u64 {
    uncontended_testkit::repetitions("hand-offs of each form", 10_000, 100_000)
}

fn forbid() -> bool {
    let number = membarrier::NUMBER.try_into().unwrap();
    match filter::forbid(number, 1) {
        Ok(()) => true,
        Err(error) => {
            uncontended_testkit::skip!("refused", "no filters here: {error}");
            false
        }
    }
}

fn by_sleepers(turns: u64) {
    let (sleepers, turn) = (Sleepers::new(), AtomicU64::new(0));
    let take = |mine: u64| {
        for wanted in (mine..turns).step_by(2) {
            sleepers.sleep_until(|| turn.load(Acquire) == wanted);
            turn.store(wanted + 1, Release);
            sleepers.wake();
        }
    };
    std::thread::scope(|threads| {
        threads.spawn(|| take(0));
        threads.spawn(|| take(1));
    });
    assert_eq!(turn.load(Relaxed), turns);
}

fn by_event_counts<F: SingleProducer<Value = u64> + Sync + Send>(turns: u64) {
    let counts = [EventCount::<F>::new(), EventCount::new()];
    std::thread::scope(|threads| {
        for me in 0..2 {
            let counts = &counts;
            threads.spawn(move || {
                let mut mine = counts[me].producer().unwrap();
                for turn in 1..=turns / 2 {
                    if me == 0 {
                        mine.increment();
                    }
                    assert_eq!(counts[1 - me].wait_until(|value| value >= turn), Ok(turn));
                    if me == 1 {
                        mine.increment();
                    }
                }
                mine.release();
            });
        }
    });
    assert!(counts.iter().all(|count| count.value() == turns / 2));
}

fn hand_over() {
    by_sleepers(hand_offs());
    by_event_counts::<uncontended_wait::event_count::TwoWords<u64>>(hand_offs());
    #[cfg(target_arch = "x86_64")]
    by_event_counts::<
        uncontended_wait::event_count::OneWord<u64, uncontended_wait::event_count::Unlocked>,
    >(hand_offs());
}

fn in_a_process_of_its_own(test: &str, case: impl FnOnce()) {
    if std::env::var(CASE).is_ok_and(|case| case == test) {
        return case();
    }
    let exe = std::env::current_exe().unwrap();
    if !Command::new(&exe).arg("--list").output().is_ok_and(|output| output.status.success()) {
        uncontended_testkit::skip!(
            test,
            "this program can't be started from within (an emulator?)"
        );
        return;
    }
    let mut child = Command::new(exe);
    let output = child.args(["--exact", test, "--nocapture"]).env(CASE, test).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    print!("{said}");
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn forbidden_from_the_start() {
    in_a_process_of_its_own("forbidden_from_the_start", || {
        if forbid() {
            assert!(matches!(backend(), Backend::FullFences(_)));
            hand_over();
        }
    });
}

#[test]
fn forbidden_after_it_worked() {
    in_a_process_of_its_own("forbidden_after_it_worked", || {
        let worked = backend();
        single::EventCount64::shared().attach().unwrap_or_else(|refused| println!("{refused}"));
        if forbid() {
            assert_eq!(backend(), worked);
            hand_over();
        }
    });
}

#[test]
fn forbidden_to_one_side_only() {
    in_a_process_of_its_own("forbidden_to_one_side_only", || {
        let (sleepers, turn) = (Sleepers::new(), AtomicU64::new(0));
        let turns = hand_offs();
        std::thread::scope(|threads| {
            for mine in 0..2 {
                let (sleepers, turn) = (&sleepers, &turn);
                threads.spawn(move || {
                    if mine == 1 && !forbid() {
                        println!("both sides may");
                    }
                    for wanted in (mine..turns).step_by(2) {
                        sleepers.sleep_until(|| turn.load(Acquire) == wanted);
                        turn.store(wanted + 1, Release);
                        sleepers.wake();
                    }
                });
            }
        });
        assert_eq!(turn.load(Relaxed), turns);
    });
}
