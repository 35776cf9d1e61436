//! The rings, explored: every execution that C11 or x86-TSO allows of a few operations per side.
//!
//!     RUSTFLAGS="--cfg unc_model" cargo test -p uncontended-ring --test model --target-dir target/model
#![cfg(unc_model)]

mod exploring;

use exploring::{begins, holds, holds_in_three_rounds};
use std::cell::Cell;
use uncontended_model::real::{spawn, spin_loop};
use uncontended_ring::spsc::{self, Producer};
use uncontended_ring::{PopError, PushError};

fn push(producer: &mut Producer<u32>, value: u32) {
    while let Err(error) = producer.push(value) {
        assert_eq!(error, PushError::Full(value), "no side has gone");
        spin_loop();
    }
}

/// Values pass through a ring in order; then the consumer learns that the producer has gone.
fn pass<const CAPACITY: usize, const VALUES: u32>() {
    let (mut producer, mut consumer) = spsc::ring(CAPACITY).unwrap();
    let sender = spawn(move || (1..=VALUES).for_each(|value| push(&mut producer, value)));
    let mut expected = 1;
    loop {
        match consumer.pop() {
            Ok(value) => {
                assert_eq!(value, expected);
                expected += 1;
            }
            Err(PopError::Empty) => spin_loop(),
            Err(PopError::Closed) => break,
        }
    }
    assert_eq!(expected, VALUES + 1, "all values arrive before `Closed`");
    sender.join().unwrap();
}

#[test]
fn one_slot_passes_all_in_order() {
    holds(pass::<1, 3>);
}

#[test]
fn two_slots_pass_all_in_order() {
    holds(pass::<2, 3>);
}

#[test]
fn values_pass_however_often_the_sides_ask() {
    holds_in_three_rounds(pass::<1, 2>);
}

/// Claims and batches: two values are published together, read in place, and released together.
fn batches() {
    let (mut producer, mut consumer) = spsc::ring(2).unwrap();
    let sender = spawn(move || {
        for first in [1, 3] {
            let mut claim = loop {
                match producer.claim(2) {
                    Ok(claim) => break claim,
                    Err(_) => spin_loop(),
                }
            };
            claim.push(first).unwrap();
            assert_eq!(claim.fill(first + 1..), 1);
            claim.publish();
        }
    });
    let mut seen = Vec::new();
    loop {
        match consumer.read(2) {
            Ok(batch) => {
                assert_eq!(batch.len(), 2, "a claim is published as a whole");
                seen.extend(batch.iter().copied());
                batch.release();
            }
            Err(PopError::Empty) => spin_loop(),
            Err(PopError::Closed) => break,
        }
    }
    assert_eq!(seen, [1, 2, 3, 4]);
    sender.join().unwrap();
}

#[test]
fn claims_and_batches_are_seen_as_a_whole() {
    holds(batches);
}

thread_local! {
    // Shared by the explored threads.
    static DROPPED: Cell<u32> = const { Cell::new(0) };
}

struct Counted;

impl Drop for Counted {
    fn drop(&mut self) {
        DROPPED.set(DROPPED.get() + 1);
    }
}

/// Each of three values is dropped once, whichever side goes first and wherever the value is then.
fn drops() {
    DROPPED.set(0);
    let (mut producer, mut consumer) = spsc::ring(2).unwrap();
    let sender = spawn(move || {
        drop(producer.push(Counted));
        drop(producer.push(Counted));
        drop(producer.push(Counted));
    });
    drop(consumer.pop());
    drop(consumer);
    sender.join().unwrap();
    assert_eq!(DROPPED.get(), 3);
}

#[test]
fn every_value_is_dropped_once() {
    holds(drops);
}

/// Values pass through a ring whose sides sleep; then the end.
fn sleep_and_pass<const CAPACITY: usize, const VALUES: u32>() {
    let (mut producer, mut consumer) = spsc::blocking(CAPACITY).unwrap();
    let sender = spawn(move || (1..=VALUES).for_each(|value| producer.push_wait(value).unwrap()));
    for expected in 1..=VALUES {
        assert_eq!(consumer.pop_wait(), Some(expected));
    }
    assert_eq!(consumer.pop_wait(), None);
    sender.join().unwrap();
}

/// A producer that sleeps for room learns that the consumer has gone.
fn no_side_sleeps_for_one_that_has_gone() {
    let (mut producer, mut consumer) = spsc::blocking(1).unwrap();
    let sender = spawn(move || {
        let pushed = (1..=3).take_while(|&value| producer.push_wait(value).is_ok()).count();
        assert!((1..=2).contains(&pushed), "one value, or a second in the slot of the first");
    });
    assert_eq!(consumer.pop_wait(), Some(1));
    drop(consumer);
    sender.join().unwrap();
}

#[test]
fn nothing_is_lost_by_sides_that_sleep_at_one_slot() {
    holds(sleep_and_pass::<1, 2>);
}

#[test]
fn nothing_is_lost_by_sides_that_sleep_at_two_slots() {
    holds(sleep_and_pass::<2, 2>);
}

#[test]
fn three_values_pass_through_two_slots_asleep() {
    begins("three values through two slots, asleep", sleep_and_pass::<2, 3>);
}

#[test]
fn a_sleeping_producer_learns_that_the_consumer_has_gone() {
    holds(no_side_sleeps_for_one_that_has_gone);
}
