//! Hand-offs under adverse scheduling: thousands of signals, real-time priority, one CPU for all threads.
//!
//! 20,000 hand-offs each by default; `UNC_HAND_OFFS` sets another number, `UNC_DEPTH=full` does ten million. Waiters
//! spin before they sleep, so most hand-offs end before a sleep; under `--cfg unc_pause`, used here without pauses,
//! they sleep at once:
//!
//!     RUSTFLAGS="--cfg unc_pause" cargo test --release -p uncontended-wait --test faults --target-dir target/pause

#![cfg(not(any(miri, unc_model)))]
#![allow(clippy::disallowed_types)] // A user's own atomics.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use uncontended_wait::event_count::{EventCount, SingleProducer, TwoWords};
use uncontended_wait::{Parker, Sleepers, many};

fn hand_offs() -> u64 {
    uncontended_testkit::hand_offs("hand-offs", 20_000)
}

/// Two threads take turns with sleepers; `each` prepares either thread.
fn by_sleepers(turns: u64, each: impl Fn() + Sync) {
    let (sleepers, turn) = (Sleepers::new(), AtomicU64::new(0));
    let take = |mine: u64| {
        each();
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
    println!("{turns} turns, {} sleepers woken", sleepers.wakes());
}

/// The same with two event counts.
fn by_event_counts<F: SingleProducer<Value = u64> + Sync + Send>(
    turns: u64,
    each: impl Fn() + Sync,
) {
    let counts = [EventCount::<F>::new(), EventCount::new()];
    std::thread::scope(|threads| {
        for me in 0..2 {
            let (counts, each) = (&counts, &each);
            threads.spawn(move || {
                each();
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

fn by_many(turns: u64, each: impl Fn() + Sync) {
    let (asked, answered) = (many::EventCount64::new(), many::EventCount64::new());
    std::thread::scope(|threads| {
        threads.spawn(|| {
            each();
            for turn in 1..=turns / 2 {
                assert_eq!(asked.wait_until(|value| value >= turn), Ok(turn));
                answered.increment();
            }
        });
        each();
        for turn in 1..=turns / 2 {
            asked.increment();
            assert_eq!(answered.wait_until(|value| value >= turn), Ok(turn));
        }
    });
}

fn by_parkers(turns: u64, each: impl Fn() + Sync) {
    let parkers = [Parker::new(), Parker::new()];
    let [ask, answer] = [parkers[0].unparker(), parkers[1].unparker()];
    let [mut asked, mut answered] = parkers;
    let served = AtomicU64::new(0);
    std::thread::scope(|threads| {
        let (served, each) = (&served, &each);
        threads.spawn(move || {
            each();
            for _ in 0..turns / 2 {
                asked.park();
                served.fetch_add(1, Relaxed);
                answer.unpark();
            }
        });
        threads.spawn(move || {
            each();
            for _ in 0..turns / 2 {
                ask.unpark();
                answered.park();
            }
        });
    });
    assert_eq!(served.load(Relaxed), turns / 2);
}

fn every_kind(each: impl Fn() + Sync) {
    let share = hand_offs() / 5;
    by_sleepers(share, &each);
    by_event_counts::<TwoWords<u64>>(share, &each);
    #[cfg(target_arch = "x86_64")]
    by_event_counts::<
        uncontended_wait::event_count::OneWord<u64, uncontended_wait::event_count::Unlocked>,
    >(share, &each);
    by_many(share, &each);
    by_parkers(share, &each);
}

#[test]
fn on_one_cpu() {
    let cpu = *uncontended_sys::affinity::allowed().unwrap().last().unwrap();
    // On a thread of its own, so that the other threads of this process keep their CPUs.
    let pinned = || uncontended_sys::affinity::pin(cpu).unwrap();
    std::thread::scope(|threads| threads.spawn(|| every_kind(pinned)).join().unwrap());
}

/// Gives the calling thread real-time priority, if it may.
fn first_in_first_out() -> bool {
    let param = libc::sched_param { sched_priority: 1 };
    // SAFETY: the parameter lives until the call returns; 0 names the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const param) == 0 }
}

/// Runs every kind of hand-off with threads of real-time priority, which `each` prepares further.
fn in_real_time(test: &str, each: impl Fn() + Sync) {
    if !std::thread::scope(|threads| threads.spawn(first_in_first_out).join().unwrap()) {
        uncontended_testkit::skip!(test, "no right to SCHED_FIFO");
        return;
    }
    let prepare = || {
        assert!(first_in_first_out());
        each();
    };
    std::thread::scope(|threads| threads.spawn(|| every_kind(prepare)).join().unwrap());
}

#[test]
fn with_real_time_priority() {
    in_real_time("with_real_time_priority", || {});
}

#[test]
fn with_real_time_priority_on_one_cpu() {
    let cpu = *uncontended_sys::affinity::allowed().unwrap().last().unwrap();
    let pinned = || uncontended_sys::affinity::pin(cpu).unwrap();
    in_real_time("with_real_time_priority_on_one_cpu", pinned);
}

extern "C" fn nothing(_: libc::c_int) {}

/// Signals that interrupt the system calls of the threads.
#[test]
fn under_a_storm_of_signals() {
    // SAFETY: a sigaction is plain data; all zero is one without flags (so that calls are not restarted) and mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as usize;
    // SAFETY: the action lives until the call returns, and its handler does nothing.
    let set = unsafe { libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut()) };
    assert_eq!(set, 0);
    let (targets, over) = (std::sync::Mutex::new(Vec::new()), AtomicBool::new(false));
    let (sent, process) = (AtomicU64::new(0), std::process::id());
    let be_a_target = || {
        // SAFETY: names the calling thread.
        targets.lock().unwrap().push(unsafe { libc::syscall(libc::SYS_gettid) });
    };
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while !over.load(Relaxed) {
                for target in targets.lock().unwrap().iter() {
                    // SAFETY: a thread of this process, or one that has ended, which is an error and no more.
                    unsafe { libc::syscall(libc::SYS_tgkill, process, *target, libc::SIGUSR1) };
                    sent.fetch_add(1, Relaxed);
                }
                std::thread::yield_now();
            }
        });
        threads.spawn(|| every_kind(be_a_target)).join().unwrap();
        over.store(true, Relaxed);
    });
    println!("{} signals", sent.load(Relaxed));
}
