//! The `lanes`, explored: every execution that C11 or x86-TSO allows of a few operations per side.
//!
//!     RUSTFLAGS="--cfg unc_model" cargo test -p uncontended-ring --test model_lanes --target-dir target/model
#![cfg(unc_model)]

mod exploring;

use exploring::holds;
use uncontended_model::real::{spawn, spin_loop};
use uncontended_ring::notifier::Joint;
use uncontended_ring::{Closed, PopError, PushError, lanes, spsc};

/// All values, to the end.
fn drain(consumer: &mut lanes::Consumer<u32>) -> Vec<u32> {
    let mut seen = Vec::new();
    loop {
        match consumer.pop() {
            Ok(value) => seen.push(value),
            Err(PopError::Empty) => spin_loop(),
            Err(PopError::Closed) => return seen,
        }
    }
}

/// Two producers: each value arrives once, those of one producer in order.
fn two_producers() {
    let (mut one, mut consumer) = lanes::ring(2, 2).unwrap();
    let mut other = one.try_clone().unwrap();
    let first = spawn(move || [1, 2].map(|value| one.push(value).unwrap()));
    let second = spawn(move || other.push(10).unwrap());
    let mut seen = drain(&mut consumer);
    let order = |value| seen.iter().position(|&seen| seen == value);
    assert!(order(1) < order(2), "{seen:?}");
    seen.sort_unstable();
    assert_eq!(seen, [1, 2, 10]);
    first.join().unwrap();
    second.join().unwrap();
}

/// A producer joins, pushes and goes, and the other one goes, while the consumer looks for the end.
fn a_producer_joins_before_the_end() {
    let (one, mut consumer) = lanes::ring(2, 1).unwrap();
    let sender = spawn(move || {
        let mut late = one.try_clone().unwrap();
        late.push(7).unwrap();
    });
    assert_eq!(drain(&mut consumer), [7]);
    sender.join().unwrap();
}

/// Two threads use one lane, one after the other.
fn a_lane_changes_hands() {
    let (keeps, mut consumer) = lanes::ring(2, 2).unwrap();
    let mut first = keeps.try_clone().unwrap();
    let sender = spawn(move || first.push(1).unwrap());
    let next = spawn(move || {
        let Some(mut second) = keeps.try_clone() else { return 0 };
        second.push(2).unwrap();
        1
    });
    let seen = drain(&mut consumer);
    sender.join().unwrap();
    match next.join().unwrap() {
        0 => assert_eq!(seen, [1]),
        _ => assert_eq!(seen, [1, 2], "the lane's order"),
    }
}

/// A consumer that sleeps for a value; no side goes.
fn consumer_sleeps() {
    let (one, mut consumer) = lanes::blocking(2, 1).unwrap();
    let mut other = one.try_clone().unwrap();
    let sender = spawn(move || other.push(1).unwrap());
    assert_eq!(consumer.pop_wait(), Some(1));
    sender.join().unwrap();
    drop(one);
    assert_eq!(consumer.pop_wait(), None);
}

/// A consumer that sleeps while a producer joins, pushes and goes.
fn consumer_sleeps_while_a_producer_joins() {
    let (one, mut consumer) = lanes::blocking(2, 1).unwrap();
    let sender = spawn(move || {
        one.try_clone().unwrap().push(1).unwrap();
        one
    });
    assert_eq!(consumer.pop_wait(), Some(1));
    drop(sender.join().unwrap());
}

/// A consumer that sleeps until the last producer goes.
fn consumer_sleeps_to_the_end() {
    let (producer, mut consumer) = lanes::blocking::<u32>(1, 1).unwrap();
    let sender = spawn(move || drop(producer));
    assert_eq!(consumer.pop_wait(), None);
    sender.join().unwrap();
}

/// A producer that sleeps for room in its lane.
fn producer_sleeps() {
    let (mut producer, mut consumer) = lanes::blocking(1, 1).unwrap();
    producer.push(1).unwrap();
    let sender = spawn(move || producer.push_wait(2).unwrap());
    assert_eq!(consumer.pop(), Ok(1));
    sender.join().unwrap();
    assert_eq!(consumer.pop(), Ok(2));
}

/// A producer that sleeps for room learns that the consumer has gone; so does one that joins later.
fn no_side_sleeps_for_one_that_has_gone() {
    let (mut producer, consumer) = lanes::blocking(2, 1).unwrap();
    producer.push(1).unwrap();
    let sleeper = spawn(move || {
        assert_eq!(producer.push_wait(2), Err(Closed(2)));
        producer
    });
    drop(consumer);
    let mut late = sleeper.join().unwrap().try_clone().unwrap();
    assert_eq!(late.push(3), Err(PushError::Closed(3)));
}

/// One thread sleeps for two rings: a value in the second one, and the end of the first, wake it.
fn one_sleeps_for_two_rings() {
    let joint = Joint::new();
    let (first, mut one) = spsc::blocking_at::<u32>(1, &joint).unwrap();
    let (mut second, mut other) = spsc::blocking_at(1, &joint).unwrap();
    let sender = spawn(move || {
        second.push(5).unwrap();
        drop(first);
        second
    });
    assert_eq!(joint.sleep_until(|| other.pop().ok()), 5);
    joint.sleep_until(|| one.pop() == Err(PopError::Closed));
    drop(sender.join().unwrap());
}

#[test]
fn two_producers_pass_all_once() {
    holds(two_producers);
}

#[test]
fn what_a_late_producer_leaves_comes_before_the_end() {
    holds(a_producer_joins_before_the_end);
}

#[test]
fn a_lane_keeps_its_order_when_it_changes_hands() {
    holds(a_lane_changes_hands);
}

#[test]
fn a_consumer_sleeps_for_a_value() {
    holds(consumer_sleeps);
}

#[test]
fn a_consumer_sleeps_while_a_producer_joins() {
    holds(consumer_sleeps_while_a_producer_joins);
}

#[test]
fn a_consumer_sleeps_for_the_end() {
    holds(consumer_sleeps_to_the_end);
}

#[test]
fn a_producer_sleeps_for_room() {
    holds(producer_sleeps);
}

#[test]
fn a_producer_learns_that_the_consumer_has_gone() {
    holds(no_side_sleeps_for_one_that_has_gone);
}

#[test]
fn one_thread_sleeps_for_two_rings() {
    holds(one_sleeps_for_two_rings);
}
