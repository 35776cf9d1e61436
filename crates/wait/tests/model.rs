//! `Sleepers`, `Parker` and `Role`, explored: every execution that C11 and x86-TSO allow.

#![cfg(unc_model)]

use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_atomic::{Arc, AtomicU32, UnsafeCell, spawn};
use uncontended_model::real::{Explorer, Memory, spawn_symmetric};
use uncontended_testkit::explored::{self, BOTH};
use uncontended_wait::role::Role;
use uncontended_wait::{Deadline, Parker, Scope, Sleepers};

/// Interleavings first: they end soonest.
const ALL: [Memory; 3] = [Memory::Sc, Memory::C11, Memory::Tso];

fn explorer(memory: Memory) -> Explorer {
    Explorer::new(memory).events(300)
}

fn holds(scenario: fn()) {
    explored::holds(&BOTH, explorer, || scenario);
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

/// A letter is published in two steps, so the first wakeup is spurious.
fn one_publisher_and_one_waiter() {
    let post = letterbox();
    let theirs = Arc::clone(&post);
    let waiter = spawn(move || {
        theirs.sleepers.sleep_until(|| theirs.full.load(Acquire) == 2);
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
        theirs.0.sleep_until(come);
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
    let theirs = Arc::clone(&shared);
    let waiters = spawn_symmetric(2, move || {
        theirs.0.sleep_until(|| theirs.1.load(Acquire) == 1);
    });
    shared.1.store(1, Release);
    shared.0.wake();
    waiters.join().unwrap();
}

/// Two tokens, each taken by one of two waiters, woken one at a time.
fn one_wake_a_token() {
    let shared = Arc::new((Sleepers::new(), AtomicU32::new(0)));
    let theirs = Arc::clone(&shared);
    let waiters = spawn_symmetric(2, move || {
        // A check that lost a race tries again: "not now" would be taken for "not there".
        let take = || theirs.1.fetch_update(Acquire, Relaxed, |tokens| tokens.checked_sub(1)).ok();
        theirs.0.sleep_until(take);
    });
    for _ in 0..2 {
        shared.1.fetch_add(1, Release);
        shared.0.wake_one();
    }
    waiters.join().unwrap();
}

/// An end for two waiters, after one of them may have been woken for nothing. Both at once end for event counts, which
/// have the same word (`one_for_all_and_one_for_one`).
fn one_wake_then_an_end() {
    let shared = Arc::new((Sleepers::new(), AtomicU32::new(0)));
    let theirs = Arc::clone(&shared);
    let waiters = spawn_symmetric(2, move || {
        theirs.0.sleep_until(|| theirs.1.load(Acquire) == 1);
    });
    shared.0.wake_one();
    shared.1.store(1, Release);
    shared.0.wake();
    waiters.join().unwrap();
}

/// An end for a waiter, while another thread wakes it for nothing.
fn one_wake_and_an_end() {
    let shared = Arc::new((Sleepers::new(), AtomicU32::new(0)));
    let theirs = Arc::clone(&shared);
    let waiter = spawn(move || theirs.0.sleep_until(|| theirs.1.load(Acquire) == 1));
    let theirs = Arc::clone(&shared);
    let other = spawn(move || theirs.0.wake_one());
    shared.1.store(1, Release);
    shared.0.wake();
    other.join().unwrap();
    waiter.join().unwrap();
}

/// Two waiters, each for its own event: the first may set the flag for both.
fn two_waiters_for_different_events() {
    let shared = Arc::new((Sleepers::new(), AtomicU32::new(0)));
    let waiters = [1, 2].map(|wanted| {
        let shared = Arc::clone(&shared);
        spawn(move || shared.0.sleep_until(|| shared.1.load(Acquire) >= wanted))
    });
    for event in [1, 2] {
        shared.1.store(event, Release);
        shared.0.wake();
    }
    for waiter in waiters {
        waiter.join().unwrap();
    }
}

/// A wait that may end by its deadline at any moment, after a last check.
fn a_deadline() {
    let shared = Arc::new((Sleepers::new(), AtomicU32::new(0)));
    let theirs = Arc::clone(&shared);
    let waiter = spawn(move || {
        let ready = || theirs.1.load(Acquire) == 1;
        theirs.0.sleep_until_deadline(ready, Deadline::at_ns(2)).is_ok()
    });
    shared.1.store(1, Release);
    shared.0.wake();
    waiter.join().unwrap();
}

#[test]
fn a_waiter_sleeps_until_its_condition_holds() {
    holds(one_publisher_and_one_waiter);
}

#[test]
fn a_deadline_ends_a_wait() {
    holds(a_deadline);
}

#[test]
fn a_waiter_sleeps_for_two_publishers() {
    holds(two_publishers_and_one_waiter);
}

#[test]
fn two_waiters_are_woken_by_one_event() {
    holds(one_publisher_and_two_waiters);
}

#[test]
fn every_token_is_taken_when_each_wakes_one() {
    let name = "two tokens, each of which wakes one";
    explored::begins(name, (3_000, None), &BOTH, explorer, || one_wake_a_token);
}

#[test]
fn an_end_reaches_both_after_one_was_woken() {
    let name = "an end for two waiters, after one was woken";
    // The property does not depend on the memory order.
    let explorer = |memory| explorer(memory).executions(4_000_000);
    explored::begins(name, (3_000, None), &[Memory::Sc], explorer, || one_wake_then_an_end);
}

#[test]
fn an_end_reaches_a_waiter_while_another_thread_wakes_it() {
    holds(one_wake_and_an_end);
}

#[test]
fn two_waiters_are_woken_by_different_events() {
    let name = "two waiters for different events";
    let explorer = |memory| explorer(memory).executions(20_000_000);
    explored::begins(name, (30_000, None), &ALL, explorer, || two_waiters_for_different_events);
}

/// A producer's role goes from one thread to another that asks until it is free; the count continues.
fn a_role_goes_on() {
    let shared = Arc::new((Role::new(), Letter(UnsafeCell::new(0))));
    let theirs = Arc::clone(&shared);
    let other = spawn(move || {
        if theirs.0.claim(Scope::Private).is_ok() {
            // SAFETY: the role is this thread's (edge `role`).
            theirs.1.0.with_mut(|letter| unsafe { *letter += 1 });
            theirs.0.give_back();
        }
    });
    let has_it =
        [Role::claim, Role::take_over].iter().any(|ask| ask(&shared.0, Scope::Private).is_ok());
    if has_it {
        // SAFETY: the role is this thread's (edge `role`).
        shared.1.0.with_mut(|letter| unsafe { *letter += 1 });
        shared.0.give_back();
    }
    other.join().unwrap();
}

#[test]
fn what_the_holder_of_a_role_did_is_seen_by_the_next() {
    holds(a_role_goes_on);
}

#[test]
fn without_barriers_bounded_sleeps_lose_nothing_either() {
    uncontended_fence::refuse_barriers();
    holds(one_publisher_and_one_waiter);
}

/// Two tokens, each with its data, for a thread that parks for each; it may take the second with the first.
fn tokens() {
    let letter = Arc::new(Letter(UnsafeCell::new(0)));
    let (mut parker, theirs) = (Parker::new(), Arc::clone(&letter));
    let unparker = parker.unparker();
    let other = spawn(move || {
        // SAFETY: no thread reads before the token is given (edge `token`).
        theirs.0.with_mut(|letter| unsafe { *letter = 7 });
        unparker.unpark();
    });
    parker.park();
    // SAFETY: the token was given (edge `token`).
    assert_eq!(letter.0.with(|letter| unsafe { *letter }), 7);
    other.join().unwrap();
}

/// Two tokens, the second handed over once the first was taken.
fn tokens_in_turn() {
    let (mut parker, taken) = (Parker::new(), Arc::new(AtomicU32::new(0)));
    let (unparker, theirs) = (parker.unparker(), Arc::clone(&taken));
    let other = spawn(move || {
        unparker.unpark();
        if theirs.load(Acquire) == 1 {
            unparker.unpark();
        }
        unparker
    });
    parker.park();
    taken.store(1, Release);
    let is_again = parker.park_deadline(Deadline::at_ns(2)).is_ok();
    let unparker = other.join().unwrap();
    if !is_again {
        unparker.unpark();
        parker.park();
    }
}

/// The same with a deadline: a token carries its data, whether it came in time or at the last moment.
fn tokens_in_time() {
    let letter = Arc::new(Letter(UnsafeCell::new(0)));
    let (mut parker, theirs) = (Parker::new(), Arc::clone(&letter));
    let unparker = parker.unparker();
    let other = spawn(move || {
        // SAFETY: no thread reads before the token is given (edge `token`).
        theirs.0.with_mut(|letter| unsafe { *letter = 7 });
        unparker.unpark();
    });
    if parker.park_deadline(Deadline::at_ns(2)).is_ok() {
        // SAFETY: the token was given (edge `token`).
        assert_eq!(letter.0.with(|letter| unsafe { *letter }), 7);
    }
    other.join().unwrap();
}

/// A park that may end by its deadline at any moment; the token comes before or after that, and is not lost.
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
fn tokens_carry_what_they_are_about() {
    holds(tokens);
}

#[test]
fn two_tokens_in_turn() {
    holds(tokens_in_turn);
}

#[test]
fn a_token_in_time_carries_what_it_is_about() {
    holds(tokens_in_time);
}

#[test]
fn a_token_that_comes_with_the_deadline_is_not_lost() {
    holds(tokens_and_a_deadline);
}
