//! Tasks that wait, explored: every execution that C11 and x86-TSO allow.
//!
//!     RUSTFLAGS="--cfg unc_model" cargo test -p uncontended-wait --test model_tasks --target-dir target/model
#![cfg(unc_model)]

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use uncontended_atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use uncontended_atomic::{Arc, AtomicU32, UnsafeCell, spawn};
use uncontended_model::real::{Explorer, Memory};
use uncontended_testkit::explored::{self, BOTH, block_on, poll_once};
use uncontended_wait::{Sleepers, Ticket};

fn explorer(memory: Memory) -> Explorer {
    Explorer::new(memory).events(300)
}

fn holds(scenario: fn()) {
    explored::holds(&BOTH, explorer, || scenario);
}

/// The same for a large scenario: the short form explores only its first executions.
fn begins(name: &str, scenario: fn()) {
    explored::begins(name, (5_000, None), &BOTH, explorer, || scenario);
}

struct Letterbox {
    sleepers: Sleepers,
    full: AtomicU32,
    letter: UnsafeCell<u32>,
}

// SAFETY: the letter is written before `full` says so and read after (release and acquire on `full`).
unsafe impl Sync for Letterbox {}

/// A letter is published in two steps, so the first wakeup is spurious.
fn one_publisher_and_one_task() {
    let (sleepers, full, letter) = (Sleepers::new(), AtomicU32::new(0), UnsafeCell::new(0));
    let post = Arc::new(Letterbox { sleepers, full, letter });
    let theirs = Arc::clone(&post);
    let task = spawn(move || {
        block_on(theirs.sleepers.until(|| theirs.full.load(Acquire) == 2));
        // SAFETY: `full` is 2 (see `Letterbox`).
        theirs.letter.with(|letter| unsafe { *letter })
    });
    post.full.store(1, Release);
    post.sleepers.wake();
    // SAFETY: `full` is not 2 yet (see `Letterbox`).
    post.letter.with_mut(|letter| unsafe { *letter = 7 });
    post.full.store(2, Release);
    post.sleepers.wake();
    assert_eq!(task.join().unwrap(), 7);
}

/// Tokens, and those that wait for one each.
struct Tokens {
    sleepers: Sleepers,
    count: AtomicU32,
}

impl Tokens {
    fn none() -> Arc<Tokens> {
        Arc::new(Tokens { sleepers: Sleepers::new(), count: AtomicU32::new(0) })
    }

    fn give(&self) {
        self.count.fetch_add(1, Release);
        self.sleepers.wake_one();
    }

    fn take(&self) -> Option<()> {
        let mut count = self.count.load(Relaxed);
        while count > 0 {
            match self.count.compare_exchange(count, count - 1, AcqRel, Relaxed) {
                Ok(_) => return Some(()),
                Err(now) => count = now,
            }
        }
        None
    }
}

/// A thread and a task wait for one token each.
fn a_thread_and_a_task() {
    let tokens = Tokens::none();
    let (first, second) = (Arc::clone(&tokens), Arc::clone(&tokens));
    let task = spawn(move || block_on(first.sleepers.until(|| first.take())));
    let giver = spawn(move || (0..2).for_each(|_| second.give()));
    tokens.sleepers.sleep_until(|| tokens.take());
    task.join().unwrap();
    giver.join().unwrap();
}

/// Two tasks wait for one token each.
fn two_tasks() {
    let tokens = Tokens::none();
    let (first, second) = (Arc::clone(&tokens), Arc::clone(&tokens));
    let task = spawn(move || block_on(first.sleepers.until(|| first.take())));
    let giver = spawn(move || (0..2).for_each(|_| second.give()));
    block_on(tokens.sleepers.until(|| tokens.take()));
    task.join().unwrap();
    giver.join().unwrap();
}

/// A future that has registered is dropped after the token came; another task waits for it.
fn the_chosen_one_is_dropped() {
    let tokens = Tokens::none();
    let theirs = Arc::clone(&tokens);
    let task = spawn(move || block_on(theirs.sleepers.until(|| theirs.take())));
    let mut future = Box::pin(tokens.sleepers.until(|| None::<()>));
    assert!(poll_once(future.as_mut()).is_none());
    tokens.give();
    drop(future);
    task.join().unwrap();
}

/// A future is dropped at any moment around the token; another task waits for it.
fn one_of_two_is_dropped() {
    let tokens = Tokens::none();
    let (first, second) = (Arc::clone(&tokens), Arc::clone(&tokens));
    let task = spawn(move || block_on(first.sleepers.until(|| first.take())));
    let giver = spawn(move || second.give());
    let is_ready = poll_once(pin!(tokens.sleepers.until(|| tokens.take()))).is_some();
    if is_ready {
        tokens.give();
    }
    task.join().unwrap();
    giver.join().unwrap();
}

/// A task is polled by one thread, then awaited by another: the wakeup reaches the second one.
fn a_task_changes_hands() {
    let tokens = Tokens::none();
    let theirs = Arc::clone(&tokens);
    let mut future = Box::pin(tokens.sleepers.until(|| tokens.take()));
    let idle = &mut Context::from_waker(Waker::noop());
    let is_pending = future.as_mut().poll(idle).is_pending();
    assert!(is_pending, "no token was given yet");
    let giver = spawn(move || theirs.give());
    block_on(future);
    giver.join().unwrap();
}

/// A ticket that is given up leaves the token to a thread.
fn a_ticket_is_given_up() {
    let tokens = Tokens::none();
    let (first, second) = (Arc::clone(&tokens), Arc::clone(&tokens));
    let thread = spawn(move || first.sleepers.sleep_until(|| first.take()));
    let giver = spawn(move || second.give());
    let mut ticket = Ticket::default();
    let polled = poll_once(pin!(poll_fn(|context| {
        Poll::Ready(tokens.sleepers.poll_until(&mut ticket, context, || tokens.take()))
    })));
    match polled {
        Some(Poll::Ready(())) => tokens.give(),
        _ => tokens.sleepers.give_up(&mut ticket),
    }
    thread.join().unwrap();
    giver.join().unwrap();
}

#[test]
fn a_task_sleeps_until_its_condition_holds() {
    holds(one_publisher_and_one_task);
}

#[test]
fn a_thread_and_a_task_are_woken_one_at_a_time() {
    begins("a_thread_and_a_task_are_woken_one_at_a_time", a_thread_and_a_task);
}

#[test]
fn two_tasks_are_woken_one_at_a_time() {
    begins("two_tasks_are_woken_one_at_a_time", two_tasks);
}

#[test]
fn a_future_that_is_dropped_passes_its_wakeup_on() {
    holds(the_chosen_one_is_dropped);
}

#[test]
fn a_future_may_be_dropped_while_a_token_comes() {
    begins("a_future_may_be_dropped_while_a_token_comes", one_of_two_is_dropped);
}

#[test]
fn a_wakeup_reaches_the_last_waker() {
    holds(a_task_changes_hands);
}

#[test]
fn a_ticket_that_is_given_up_passes_its_wakeup_on() {
    begins("a_ticket_that_is_given_up_passes_its_wakeup_on", a_ticket_is_given_up);
}
