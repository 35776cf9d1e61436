//! Rings whose sides are tasks, explored: every execution that C11 or x86-TSO allows of a few operations per side.
//!
//!     RUSTFLAGS="--cfg unc_model" cargo test -p uncontended-ring --test model_tasks --target-dir target/model
#![cfg(unc_model)]

mod exploring;

use exploring::holds;
use futures_core::Stream;
use futures_sink::Sink;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use uncontended_model::real::spawn;
use uncontended_ring::lanes::{self, group};
use uncontended_ring::{Closed, mpsc, spsc};
use uncontended_testkit::explored::{block_on, poll_once};
use uncontended_wait::Sleepers;

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

fn next<S: Stream + Unpin>(stream: &mut S) -> impl Future<Output = Option<S::Item>> {
    poll_fn(|context| Pin::new(&mut *stream).poll_next(context))
}

/// Waits until all that was sent is in the ring. False: it is closed.
fn flush<S: Sink<u32> + Unpin>(sink: &mut S) -> impl Future<Output = bool> {
    poll_fn(|context| Pin::new(&mut *sink).poll_flush(context).map(|done| done.is_ok()))
}

/// A stream of a side whose producer is a sink.
fn a_stream_and_a_sink() {
    let (producer, consumer) = spsc::blocking(1).unwrap();
    let sender = spawn(move || {
        let mut sink = producer.into_sink();
        for value in 1..=2 {
            assert!(block_on(flush(&mut sink)));
            assert_eq!(Pin::new(&mut sink).start_send(value), Ok(()));
        }
        assert!(block_on(flush(&mut sink)));
    });
    let mut stream = consumer.into_stream();
    assert_eq!([(); 3].map(|()| block_on(next(&mut stream))), [Some(1), Some(2), None]);
    sender.join().unwrap();
}

/// A stream that has registered lives, but is not polled: another member of the group gets the value.
fn a_stream_is_idle(other: fn(group::Consumer<u32, Sleepers>) -> Option<u32>) {
    let (mut producer, consumer) = group::blocking(1, 1).unwrap();
    let another = consumer.clone();
    let mut idle = consumer.into_stream();
    assert!(poll_once(pin!(next(&mut idle))).is_none());
    let popped = spawn(move || other(another));
    producer.push(1).unwrap();
    assert_eq!(popped.join().unwrap(), Some(1));
    drop(idle);
}

fn a_stream_is_idle_beside_a_thread() {
    a_stream_is_idle(|mut other| other.pop_wait());
}

fn a_stream_is_idle_beside_a_task() {
    a_stream_is_idle(|mut other| block_on(other.pop_async()));
}

fn a_stream_is_idle_beside_a_stream() {
    a_stream_is_idle(|other| block_on(next(&mut other.into_stream())));
}

/// A sink that waits for room lives, but is not polled: another producer gets the room.
fn a_sink_is_idle(other: fn(mpsc::Producer<u32, Sleepers>) -> bool) {
    let (producer, mut consumer) = mpsc::blocking(1).unwrap();
    let another = producer.clone();
    let mut idle = producer.into_sink();
    assert_eq!(Pin::new(&mut idle).start_send(1), Ok(()));
    assert_eq!(Pin::new(&mut idle).start_send(2), Ok(()), "it waits");
    assert!(poll_once(pin!(flush(&mut idle))).is_none());
    let pushed = spawn(move || other(another));
    assert_eq!(consumer.pop(), Ok(1));
    assert!(pushed.join().unwrap());
    assert_eq!(consumer.pop(), Ok(3));
    drop(idle);
}

fn a_sink_is_idle_beside_a_thread() {
    a_sink_is_idle(|other| other.push_wait(3).is_ok());
}

fn a_sink_is_idle_beside_a_task() {
    a_sink_is_idle(|mut other| block_on(other.push_async(3)).is_ok());
}

fn a_sink_is_idle_beside_a_sink() {
    a_sink_is_idle(|other| {
        let mut other = other.into_sink();
        Pin::new(&mut other).start_send(3) == Ok(()) && block_on(flush(&mut other))
    });
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

#[test]
fn a_stream_has_all_that_a_sink_sent() {
    holds(a_stream_and_a_sink);
}

#[test]
fn an_idle_stream_leaves_its_value_to_a_thread() {
    holds(a_stream_is_idle_beside_a_thread);
}

#[test]
fn an_idle_stream_leaves_its_value_to_a_task() {
    holds(a_stream_is_idle_beside_a_task);
}

#[test]
fn an_idle_stream_leaves_its_value_to_another() {
    holds(a_stream_is_idle_beside_a_stream);
}

#[test]
fn an_idle_sink_leaves_the_room_to_a_thread() {
    holds(a_sink_is_idle_beside_a_thread);
}

#[test]
fn an_idle_sink_leaves_the_room_to_a_task() {
    holds(a_sink_is_idle_beside_a_task);
}

#[test]
fn an_idle_sink_leaves_the_room_to_another() {
    holds(a_sink_is_idle_beside_a_sink);
}
