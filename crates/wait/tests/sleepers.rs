//! Sleepers with real threads: no wakeup is lost, deadlines are kept, a panic strands no waiter.

#![allow(clippy::disallowed_types, clippy::disallowed_methods)] // A user's own atomics.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::time::Duration;
use uncontended_wait::{Deadline, Sleepers, TimedOut};

const HAND_OFFS: u64 = if cfg!(miri) { 40 } else { 20_000 };

/// Two threads take turns counting up; each sleeps for the other.
#[test]
fn two_threads_take_turns_and_no_turn_is_lost() {
    let (sleepers, turn) = (Sleepers::new(), AtomicU64::new(0));
    let take = |mine: u64| {
        for round in 0..HAND_OFFS {
            let wanted = 2 * round + mine;
            sleepers.sleep_until(|| turn.load(Acquire) == wanted);
            turn.store(wanted + 1, Release);
            sleepers.wake();
        }
    };
    std::thread::scope(|threads| {
        threads.spawn(|| take(0));
        threads.spawn(|| take(1));
    });
    assert_eq!(turn.load(Relaxed), 2 * HAND_OFFS);
}

#[test]
fn one_sleeper_is_woken_for_each_token_and_every_token_is_taken() {
    let (sleepers, tokens, taken) = (Sleepers::new(), AtomicU64::new(0), AtomicU64::new(0));
    let take = || {
        let claim = |tokens: u64| tokens.checked_sub(1);
        tokens.fetch_update(AcqRel, Relaxed, claim).ok()
    };
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                for _ in 0..HAND_OFFS / 8 {
                    sleepers.sleep_until(take);
                    taken.fetch_add(1, Relaxed);
                }
            });
        }
        for _ in 0..HAND_OFFS / 2 {
            tokens.fetch_add(1, Release);
            sleepers.wake_one();
        }
    });
    assert_eq!((tokens.load(Relaxed), taken.load(Relaxed)), (0, HAND_OFFS / 2));
}

#[test]
fn a_deadline_is_never_early_and_one_in_the_past_looks_once() {
    let sleepers = Sleepers::new();
    let deadline = Deadline::after(Duration::from_millis(20));
    assert_eq!(sleepers.sleep_until_deadline(|| None::<()>, deadline), Err(TimedOut));
    assert!(deadline.has_passed() && deadline.remaining().is_zero());
    let mut looks = 0;
    let mut look = |value: Option<u32>| {
        sleepers.sleep_until_deadline(
            || {
                looks += 1;
                value
            },
            Deadline::at_ns(1),
        )
    };
    assert_eq!((look(None), look(Some(7))), (Err(TimedOut), Ok(7)));
    assert_eq!(looks, 2);
    assert_eq!(sleepers.wakes(), 0);
}

#[test]
fn a_condition_that_panics_wakes_the_other_waiters() {
    let (sleepers, tokens) = (Sleepers::new(), AtomicU64::new(0));
    std::thread::scope(|threads| {
        let clumsy = threads.spawn(|| {
            let looks = std::cell::Cell::new(0);
            sleepers.sleep_until(|| {
                looks.set(looks.get() + 1);
                assert!(tokens.load(Acquire) == 0, "clumsy: panics on purpose");
                None::<()>
            })
        });
        while !sleepers.has_waiters() {
            std::thread::yield_now();
        }
        let patient = threads.spawn(|| {
            let claim = |tokens: u64| tokens.checked_sub(1);
            sleepers.sleep_until(|| tokens.fetch_update(AcqRel, Relaxed, claim).ok())
        });
        std::thread::sleep(Duration::from_millis(20));
        tokens.store(1, Release);
        sleepers.wake_one();
        // The wakeup may have gone to either; the patient waiter takes the token.
        assert_eq!(patient.join().unwrap(), 1);
        // Whichever came first, the clumsy waiter meets a token and ends.
        tokens.store(1, Release);
        sleepers.wake();
        assert!(clumsy.join().is_err());
    });
}

#[test]
fn sleepers_between_processes_serve_within_one_as_well() {
    let (sleepers, cursor) = (Sleepers::shared(), AtomicU64::new(0));
    if let Err(refused) = sleepers.attach() {
        println!("sleeping for bounded times: {refused}");
    }
    assert!(format!("{sleepers:?}").contains("Shared"));
    std::thread::scope(|threads| {
        threads.spawn(|| {
            for wanted in 1..=HAND_OFFS / 20 {
                sleepers.sleep_until(|| cursor.load(Acquire) >= wanted);
            }
        });
        for _ in 0..HAND_OFFS / 20 {
            cursor.fetch_add(1, Release);
            sleepers.wake();
        }
    });
}

/// A plain `bool` is waited for; what is in an `Option` does not matter.
#[test]
fn a_bool_ends_a_wait_once_it_is_true_and_some_false_ends_it_at_once() {
    let (sleepers, is_set) = (Sleepers::new(), AtomicBool::new(false));
    let past = Deadline::at_ns(1);
    assert_eq!(sleepers.sleep_until_deadline(|| is_set.load(Acquire), past), Err(TimedOut));
    assert_eq!(sleepers.sleep_until_deadline(|| Some(is_set.load(Acquire)), past), Ok(false));
    std::thread::scope(|threads| {
        threads.spawn(|| {
            sleepers.sleep_until(|| is_set.load(Acquire));
            assert!(is_set.load(Relaxed), "it waited");
        });
        std::thread::yield_now();
        is_set.store(true, Release);
        sleepers.wake();
    });
    assert_eq!(sleepers.sleep_until_deadline(|| is_set.load(Acquire), past), Ok(()));
}

/// Closures that say `Option` only by `?`, by a branch or by what becomes of the value.
#[test]
fn what_a_closure_finds_is_inferred() {
    let (sleepers, mut left) = (Sleepers::new(), vec!["3", "word", "1"]);
    let all: Vec<u8> = sleepers.sleep_until(|| Some("12".bytes().collect()));
    assert_eq!(all, *b"12");
    let number: u32 = sleepers.sleep_until(|| left.pop()?.parse().ok());
    assert_eq!(number, 1);
    let number: u32 = sleepers.sleep_until(|| match left.pop() {
        Some(word) if word.len() > 1 => None,
        word => Some(word.map_or_else(Default::default, |word| word.parse().unwrap())),
    });
    assert_eq!((number, left.len()), (3, 0));
    let into = sleepers.sleep_until_deadline(|| Some(1_u8.into()), Deadline::NEVER);
    assert_eq!(into, Ok(1_u64));
    assert_eq!(sleepers.sleep_until(|| Some(None::<u8>)), None);
}

#[test]
fn a_wakeup_for_none_wakes_no_thread() {
    let (sleepers, is_over) = (&Sleepers::new(), &AtomicU64::new(0));
    std::thread::scope(|threads| {
        let ready = || (is_over.load(Acquire) == 1).then_some(());
        threads.spawn(move || sleepers.sleep_until(ready));
        while !sleepers.has_waiters() {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_millis(20));
        let before = sleepers.wakes();
        let wake = std::panic::AssertUnwindSafe(|| sleepers.wake_for(0));
        let woken = std::panic::catch_unwind(wake);
        is_over.store(1, Release);
        let after = sleepers.wakes();
        sleepers.wake();
        assert!(woken.is_ok());
        assert_eq!((before, after), (0, 0));
    });
}
