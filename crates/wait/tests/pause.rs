//! Faults: threads stop for up to 50 ms before any of their steps. Many hand-offs run at once, because most are paused
//! at any time; a thread that sleeps for a minute has lost its wakeup.
//!
//! 2,000 pauses per form by default; `UNC_DEPTH=full` takes 10,000.
//!
//!     RUSTFLAGS="--cfg unc_pause" cargo test -p uncontended-wait --test pause --target-dir target/pause

#![cfg(unc_pause)]

use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_atomic::{AtomicBool, AtomicU64, inject_pauses, pauses};
use uncontended_testkit::repetitions;
use uncontended_wait::event_count::{EventCount, OneWord, SingleProducer, TwoWords};
use uncontended_wait::{Deadline, Sleepers, many};

/// Hand-offs that run at once, with two threads each.
const PAIRS: u64 = 40;
/// One step in this many is preceded by a pause.
const ONE_IN: u64 = 12;

fn wanted() -> u64 {
    uncontended_testkit::repetitions("pauses of each form", 2_000, 10_000)
}

/// Longer than any sum of pauses.
fn forgotten() -> Deadline {
    Deadline::after(Duration::from_secs(60))
}

/// Runs `pair` many times at once, until there were enough pauses. Each returns its number of hand-offs.
fn run(name: &str, pair: impl Fn(&AtomicBool) -> u64 + Sync) {
    let before = pauses();
    let enough = AtomicBool::new(false);
    let (hand_offs, wanted) = (AtomicU64::new(0), wanted());
    std::thread::scope(|threads| {
        for _ in 0..PAIRS {
            threads.spawn(|| hand_offs.fetch_add(pair(&enough), Relaxed));
        }
        while pauses() - before < wanted {
            std::thread::sleep(Duration::from_millis(5));
        }
        enough.store(true, Relaxed);
    });
    println!("{name}: {} hand-offs, {} pauses", hand_offs.load(Relaxed), pauses() - before);
}

fn by_sleepers(enough: &AtomicBool) -> u64 {
    let (sleepers, turn) = (Sleepers::new(), AtomicU64::new(0));
    let over = u64::MAX;
    let take = |mine: u64| {
        let mut wanted = mine;
        loop {
            let ready = || Some(turn.load(Acquire)).filter(|&turn| turn >= wanted);
            let now = sleepers.sleep_until_deadline(ready, forgotten()).expect("forgotten");
            let is_over = now == over || (mine == 0 && enough.load(Relaxed));
            assert!(is_over || now == wanted, "a lost turn");
            turn.store(if is_over { over } else { now + 1 }, Release);
            sleepers.wake();
            if is_over {
                return wanted;
            }
            wanted += 2;
        }
    };
    std::thread::scope(|threads| {
        threads.spawn(|| take(0));
        take(1)
    })
}

fn by_event_counts<F: SingleProducer<Value = u64> + Sync + Send>(enough: &AtomicBool) -> u64 {
    let counts = [EventCount::<F>::new(), EventCount::new()];
    std::thread::scope(|threads| {
        let counts = &counts;
        threads.spawn(move || {
            let mut mine = counts[0].producer().unwrap();
            while !enough.load(Relaxed) {
                mine.increment();
                let turn = mine.value();
                let answer = counts[1].wait_deadline(turn - 1, forgotten());
                assert_eq!(answer, Ok(turn), "a lost wakeup, or an event too many");
            }
        });
        let mut mine = counts[1].producer().unwrap();
        // Until the other side is done and closes its count.
        while let Ok(turn) = counts[0].wait_until(|value| value > mine.value()) {
            assert_eq!(turn, mine.value() + 1);
            mine.increment();
        }
    });
    assert_eq!(counts[0].value(), counts[1].value());
    counts[0].value()
}

fn by_many(enough: &AtomicBool) -> u64 {
    let (asked, answered) = (many::EventCount32::new(), many::EventCount64::new());
    std::thread::scope(|threads| {
        let askers = [(), ()].map(|()| {
            threads.spawn(|| {
                while !enough.load(Relaxed) {
                    let ticket = asked.increment();
                    let is_answered = |value| value > u64::from(ticket);
                    answered.wait_until_deadline(is_answered, forgotten()).expect("forgotten");
                }
            })
        });
        threads.spawn(|| {
            let mut seen = 0;
            while let Ok(now) = asked.wait(seen) {
                answered.add(u64::from(now - seen));
                seen = now;
            }
        });
        for asker in askers {
            asker.join().unwrap();
        }
        asked.close();
    });
    assert_eq!(answered.value(), u64::from(asked.value()));
    answered.value()
}

/// Pauses are counted over all threads, so the tests run one at a time.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn no_waiter_and_no_event_is_lost() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    inject_pauses(ONE_IN, 7);
    run("sleepers", by_sleepers);
    run("two words", by_event_counts::<TwoWords<u64>>);
    #[cfg(target_arch = "x86_64")]
    run("one word", by_event_counts::<OneWord<u64, uncontended_wait::event_count::Unlocked>>);
    run("many", by_many);
}

#[test]
fn fresh_sleepers_lose_no_wake_up() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    inject_pauses(ONE_IN, 7);
    let time = Duration::from_secs(repetitions("seconds of fresh sleepers", 5, 20));
    assert!(!is_lost_within(time), "a publisher's store was missed");
}

/// Whether a wakeup is lost, with sleepers that are used once each.
fn is_lost_within(time: Duration) -> bool {
    let (lost, over) = (AtomicBool::new(false), Deadline::after(time));
    std::thread::scope(|threads| {
        for _ in 0..PAIRS {
            threads.spawn(|| {
                while !lost.load(Relaxed) && !over.has_passed() {
                    let (sleepers, ready) = (Sleepers::new(), AtomicBool::new(false));
                    std::thread::scope(|pair| {
                        pair.spawn(|| {
                            ready.store(true, Release);
                            sleepers.wake();
                        });
                        let look = || ready.load(Acquire);
                        let soon = Deadline::after(Duration::from_secs(2));
                        let began = std::time::Instant::now();
                        let _ = sleepers.sleep_until_deadline(look, soon);
                        if began.elapsed() > Duration::from_secs(2) {
                            lost.store(true, Relaxed);
                        }
                    });
                }
            });
        }
    });
    lost.load(Relaxed)
}
