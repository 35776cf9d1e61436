//! The lossy broadcast, explored: every execution that C11 or x86-TSO allows of a few operations per side.
//!
//!     RUSTFLAGS="--cfg unc_model" cargo test -p uncontended-ring --test model_lossy --target-dir target/model
#![cfg(unc_model)]

mod exploring;

use exploring::{begins, holds, holds_in_three_rounds};
use uncontended_model::real::{spawn, spin_loop};
use uncontended_ring::lossy::{self, ObserveError};

/// Values of two words pass through a ring of `CAPACITY`: whole, in order, read or counted as lost.
fn observe<const CAPACITY: usize, const COUNT: u64>() {
    let (mut producer, mut observer) = lossy::ring::<[u64; 2]>(CAPACITY).unwrap();
    let sender = spawn(move || (1..=COUNT).for_each(|value| producer.push([value; 2])));
    let mut next = 1;
    loop {
        match observer.read() {
            Ok(value) => {
                assert_eq!(value, [next; 2]);
                next += 1;
            }
            Err(ObserveError::Lost(count)) => next += count,
            Err(ObserveError::Empty) => spin_loop(),
            Err(ObserveError::Closed) => break,
        }
    }
    assert_eq!(next, COUNT + 1, "all were read or lost");
    sender.join().unwrap();
}

#[test]
fn nothing_is_torn_or_forgotten_in_one_slot() {
    holds(observe::<1, 2>);
}

#[test]
fn nothing_is_torn_or_forgotten_in_two_slots() {
    holds(observe::<2, 3>);
}

#[test]
fn nothing_is_torn_or_forgotten_in_the_third_round_of_a_slot() {
    begins("three values through one slot", observe::<1, 3>);
}

#[test]
fn nothing_is_torn_or_forgotten_however_often_an_observer_asks() {
    holds_in_three_rounds(observe::<1, 1>);
}

/// An observer that sleeps for the end.
fn wake_for_the_end() {
    let (producer, mut observer) = lossy::blocking::<u64>(1).unwrap();
    let sender = spawn(move || drop(producer));
    assert_eq!(observer.read_wait(), Err(ObserveError::Closed));
    sender.join().unwrap();
}

/// An observer that sleeps for one value.
fn wake_for_one() {
    let (mut producer, mut observer) = lossy::blocking::<u64>(1).unwrap();
    let sender = spawn(move || {
        producer.push(1);
        producer
    });
    assert_eq!(observer.read_wait(), Ok(1));
    sender.join().unwrap();
}

#[test]
fn an_observer_sleeps_for_the_end() {
    holds(wake_for_the_end);
}

#[test]
fn an_observer_sleeps_for_a_value() {
    holds(wake_for_one);
}
