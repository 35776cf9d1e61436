//! Sleepers, explored: every execution that C11 and x86-TSO allow, and every seeded bug caught by name.

#![cfg(unc_model)]

use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_atomic::{Arc, AtomicU32, UnsafeCell, seed_mutant, spawn};
use uncontended_model::real::{Explorer, Memory, Report};
use uncontended_wait::{Deadline, Parker, Sleepers};

const BOTH: [Memory; 2] = [Memory::C11, Memory::Tso];

fn explore(memory: Memory, mutant: &'static str, scenario: fn()) -> Report {
    seed_mutant(mutant);
    let report = Explorer::new(memory).events(300).explore(scenario).unwrap();
    seed_mutant("");
    report
}

fn holds(scenario: fn()) {
    for memory in BOTH {
        let report = explore(memory, "", scenario);
        assert!(report.holds(), "{memory:?}: {report}");
        assert!(report.executions > 1);
        println!("{memory:?}: {report}");
    }
}

fn caught(memory: Memory, mutant: &'static str, scenario: fn()) {
    let report = explore(memory, mutant, scenario);
    let violation = report.violation().unwrap_or_else(|| panic!("{mutant}: {memory:?}: {report}"));
    println!("{mutant}: {memory:?}: {} (after {})", violation.failure, violation.after);
}

struct Box2 {
    sleepers: Sleepers,
    full: AtomicU32,
    letter: UnsafeCell<u32>,
}

// SAFETY: the letter is written before `full` says so and read after (release and acquire on `full`).
unsafe impl Sync for Box2 {}

fn letterbox() -> Arc<Box2> {
    Arc::new(Box2 {
        sleepers: Sleepers::new(),
        full: AtomicU32::new(0),
        letter: UnsafeCell::new(0),
    })
}

/// A letter is published in two steps, so that there is one that wakes for nothing.
fn one_publisher_and_one_waiter() {
    let post = letterbox();
    let theirs = Arc::clone(&post);
    let waiter = spawn(move || {
        theirs.sleepers.sleep_until(|| (theirs.full.load(Acquire) == 2).then_some(()));
        // SAFETY: `full` is 2 (see `Box2`).
        theirs.letter.with(|letter| unsafe { *letter })
    });
    post.full.store(1, Release);
    post.sleepers.wake();
    // SAFETY: `full` is not 2 yet (see `Box2`).
    post.letter.with_mut(|letter| unsafe { *letter = 7 });
    post.full.store(2, Release);
    post.sleepers.wake();
    assert_eq!(waiter.join().unwrap(), 7);
}

/// Two publishers, and a waiter that needs both.
fn two_publishers_and_one_waiter() {
    let shared = Arc::new((Sleepers::new(), AtomicU32::new(0), AtomicU32::new(0)));
    let theirs = Arc::clone(&shared);
    let waiter = spawn(move || {
        let come = || theirs.1.load(Acquire) + theirs.2.load(Acquire) == 2;
        theirs.0.sleep_until(|| come().then_some(()));
    });
    let theirs = Arc::clone(&shared);
    let other = spawn(move || {
        theirs.2.store(1, Release);
        theirs.0.wake();
    });
    shared.1.store(1, Release);
    shared.0.wake();
    other.join().unwrap();
    waiter.join().unwrap();
}

/// Two waiters for one event.
fn one_publisher_and_two_waiters() {
    let shared = Arc::new((Sleepers::new(), AtomicU32::new(0)));
    let waiters = [(), ()].map(|()| {
        let shared = Arc::clone(&shared);
        spawn(move || shared.0.sleep_until(|| (shared.1.load(Acquire) == 1).then_some(())))
    });
    shared.1.store(1, Release);
    shared.0.wake();
    for waiter in waiters {
        waiter.join().unwrap();
    }
}

/// Two tokens, each taken by one of two waiters, woken one at a time.
fn one_wake_a_token() {
    let shared = Arc::new((Sleepers::new(), AtomicU32::new(0)));
    let waiters = [(), ()].map(|()| {
        let shared = Arc::clone(&shared);
        spawn(move || {
            // A look that lost a race looks again: "not now" would be taken for "not there".
            let take =
                || shared.1.fetch_update(Acquire, Relaxed, |tokens| tokens.checked_sub(1)).ok();
            shared.0.sleep_until(take);
        })
    });
    for _ in 0..2 {
        shared.1.fetch_add(1, Release);
        shared.0.wake_one();
    }
    for waiter in waiters {
        waiter.join().unwrap();
    }
}

/// A wait that may end by its deadline at any moment, and then has looked a last time.
fn a_deadline() {
    let shared = Arc::new((Sleepers::new(), AtomicU32::new(0)));
    let theirs = Arc::clone(&shared);
    let waiter = spawn(move || {
        let ready = || (theirs.1.load(Acquire) == 1).then_some(());
        theirs.0.sleep_until_deadline(ready, Deadline::at_ns(2)).is_ok()
    });
    shared.1.store(1, Release);
    shared.0.wake();
    waiter.join().unwrap();
}

#[test]
fn nobody_sleeps_for_ever() {
    holds(one_publisher_and_one_waiter);
    holds(a_deadline);
}

#[test]
fn nobody_sleeps_for_ever_with_several_of_each() {
    holds(two_publishers_and_one_waiter);
    holds(one_publisher_and_two_waiters);
}

#[test]
fn every_token_is_taken_when_each_wakes_one() {
    // Half a minute under each model.
    let models = if std::env::var("UNC_DEPTH").is_ok_and(|depth| depth == "full") { 2 } else { 1 };
    println!("{models} of 2 memory models; UNC_DEPTH=full explores both");
    for memory in &BOTH[..models] {
        let report = explore(*memory, "", one_wake_a_token);
        assert!(report.holds(), "{memory:?}: {report}");
        println!("{memory:?}: {report}");
    }
}

#[test]
fn without_barriers_bounded_sleeps_lose_nothing_either() {
    for memory in BOTH {
        let report = explore(memory, "barriers are refused", one_publisher_and_one_waiter);
        assert!(report.holds(), "{memory:?}: {report}");
    }
}

#[test]
fn every_seeded_bug_is_caught() {
    for memory in BOTH {
        for mutant in [
            "waiter: no heavy fence",
            "no fence on either side",
            "waiter: heavy fence before the flag",
            "waiter: no look after the fence",
            "waker: wakes before the flag is cleared",
        ] {
            caught(memory, mutant, one_publisher_and_one_waiter);
        }
    }
    for memory in BOTH {
        let mutant = "waker: clears the flag without counting";
        caught(memory, mutant, one_publisher_and_two_waiters);
    }
    // Only C11 needs this one: TSO keeps program order except for buffers, which the heavy fence drains.
    caught(Memory::C11, "publisher: no light fence", one_publisher_and_one_waiter);
}

/// Tokens given twice, with what they are about, to a thread that parks for each; the second may be taken with the
/// first.
fn tokens() {
    let letter = Arc::new(Letter(UnsafeCell::new(0)));
    let (mut parker, theirs) = (Parker::new(), Arc::clone(&letter));
    let unparker = parker.unparker();
    let other = spawn(move || {
        // SAFETY: nobody reads before the token is given (edge `token`).
        theirs.0.with_mut(|letter| unsafe { *letter = 7 });
        unparker.unpark();
    });
    parker.park();
    // SAFETY: the token was given (edge `token`).
    assert_eq!(letter.0.with(|letter| unsafe { *letter }), 7);
    other.join().unwrap();
}

/// A park that may end by its deadline at any moment; the token is there then or later, and not lost.
fn tokens_and_a_deadline() {
    let mut parker = Parker::new();
    let unparker = parker.unparker();
    let other = spawn(move || unparker.unpark());
    if parker.park_deadline(Deadline::at_ns(2)).is_err() {
        parker.park();
    }
    other.join().unwrap();
}

struct Letter(UnsafeCell<u32>);

// SAFETY: written before the token is given, read after it was taken.
unsafe impl Sync for Letter {}
// SAFETY: a number may go to any thread.
unsafe impl Send for Letter {}

#[test]
fn tokens_are_not_lost_and_carry_what_they_are_about() {
    holds(tokens);
    holds(tokens_and_a_deadline);
    caught(Memory::C11, "parker: the token is given relaxed", tokens);
    caught(Memory::C11, "parker: the token is taken relaxed", tokens);
}
