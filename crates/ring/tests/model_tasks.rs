//! Rings whose sides are tasks, explored: every execution that C11 or x86-TSO allows of a few operations per side.
//!
//!     RUSTFLAGS="--cfg unc_model" cargo test -p uncontended-ring --test model_tasks --target-dir target/model
#![cfg(unc_model)]

mod exploring;

use exploring::holds;
use std::pin::pin;
use uncontended_model::real::spawn;
use uncontended_ring::lanes::{self, group};
use uncontended_ring::{Closed, spsc};
use uncontended_testkit::explored::{block_on, poll_once};

/// A task pops while a thread pushes, sleeps for room, and goes.
fn a_task_pops() {
    let (mut producer, mut consumer) = spsc::blocking(1).unwrap();
    let sender = spawn(move || {
        producer.push_wait(1).unwrap();
        producer.push_wait(2).unwrap();
    });
    assert_eq!([(); 3].map(|()| block_on(consumer.pop_async())), [Some(1), Some(2), None]);
    sender.join().unwrap();
}

/// The same for lanes, of which one has no producer.
fn a_task_pops_from_lanes() {
    let (mut producer, mut consumer) = lanes::blocking(2, 1).unwrap();
    let sender = spawn(move || producer.push(1).unwrap());
    assert_eq!([(); 2].map(|()| block_on(consumer.pop_async())), [Some(1), None]);
    sender.join().unwrap();
}

/// A task pushes while a thread pops.
fn a_task_pushes() {
    let (mut producer, mut consumer) = spsc::blocking(1).unwrap();
    producer.push(1).unwrap();
    let task = spawn(move || block_on(producer.push_async(2)));
    assert_eq!(consumer.pop_wait(), Some(1));
    assert_eq!(consumer.pop_wait(), Some(2));
    assert_eq!((task.join().unwrap(), consumer.pop_wait()), (Ok(()), None));
}

/// A task that pushes learns that the consumer has gone.
fn a_task_learns_of_the_end() {
    let (mut producer, consumer) = spsc::blocking(1).unwrap();
    producer.push(1).unwrap();
    let task = spawn(move || block_on(producer.push_async(2)));
    drop(consumer);
    assert_eq!(task.join().unwrap(), Err(Closed(2)));
}

/// A pop is given up while a value comes: it has taken the value, or left it.
fn a_pop_is_given_up() {
    let (mut producer, mut consumer) = spsc::blocking(1).unwrap();
    let sender = spawn(move || producer.push(1).unwrap());
    let first = poll_once(pin!(consumer.pop_async()));
    match first {
        Some(value) => assert_eq!(value, Some(1)),
        None => assert_eq!(block_on(consumer.pop_async()), Some(1)),
    }
    assert_eq!(consumer.pop_wait(), None);
    sender.join().unwrap();
}

/// A member of a group gives its pop up, after the value came that it was woken for: the other member pops it.
fn a_member_gives_up() {
    let (mut producer, mut consumer) = group::blocking(1, 1).unwrap();
    let mut another = consumer.clone();
    let other = spawn(move || block_on(another.pop_async()));
    let mut given_up = Box::pin(consumer.pop_async());
    assert!(poll_once(given_up.as_mut()).is_none());
    producer.push(1).unwrap();
    drop(given_up);
    assert_eq!(other.join().unwrap(), Some(1));
}

/// A thread and a task share what a producer pushed; the end reaches the one that did not get it.
fn a_thread_and_a_task_share() {
    let (mut producer, mut consumer) = group::blocking(1, 1).unwrap();
    producer.push(1).unwrap();
    let mut another = consumer.clone();
    let sender = spawn(move || drop(producer));
    let task = spawn(move || block_on(another.pop_async()));
    let seen = [consumer.pop_wait(), task.join().unwrap()];
    assert!(seen == [Some(1), None] || seen == [None, Some(1)], "{seen:?}");
    sender.join().unwrap();
}

#[test]
fn a_task_sleeps_for_values_and_the_end() {
    holds(a_task_pops);
}

#[test]
fn a_task_sleeps_for_values_of_lanes() {
    holds(a_task_pops_from_lanes);
}

#[test]
fn a_task_sleeps_for_room() {
    holds(a_task_pushes);
}

#[test]
fn a_task_that_pushes_learns_that_the_consumer_has_gone() {
    holds(a_task_learns_of_the_end);
}

#[test]
fn a_pop_that_is_given_up_loses_no_value() {
    holds(a_pop_is_given_up);
}

#[test]
fn a_member_that_gives_up_leaves_its_value_to_another() {
    holds(a_member_gives_up);
}

#[test]
fn a_thread_and_a_task_share_what_comes() {
    holds(a_thread_and_a_task_share);
}
