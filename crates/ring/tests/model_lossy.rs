//! The lossy broadcast, explored: every execution that C11 or x86-TSO allows of a few operations per side.
//!
//!     RUSTFLAGS="--cfg unc_model" cargo test -p uncontended-ring --test model_lossy --target-dir target/model
#![cfg(unc_model)]

mod exploring;

use exploring::{holds, holds_in_three_rounds};
use uncontended_model::real::{spawn, spin_loop};
use uncontended_ring::lossy::{self, ObserveError, Observer};
use uncontended_ring::notifier::Joint;
use uncontended_ring::{PopError, spsc};

/// What an observer has yet to see of values of two words, each of which is its own number.
struct Observed {
    observer: Observer<[u64; 2]>,
    next: u64,
}

impl Observed {
    /// Asks once: a value is whole and the next in order, or some were lost. True at the end.
    fn ask(&mut self) -> bool {
        match self.observer.read() {
            Ok(value) => {
                assert_eq!(value, [self.next; 2]);
                self.next += 1;
            }
            Err(ObserveError::Lost(count)) => self.next += count,
            Err(ObserveError::Empty) => spin_loop(),
            Err(ObserveError::Closed) => return true,
        }
        false
    }
}

/// `COUNT` values pass through a ring of `CAPACITY`; the observer asks `at_once` times alongside the producer, or until
/// the end, then for the rest.
fn observe_from<const CAPACITY: usize, const COUNT: u64>(at_once: Option<u32>) {
    let (mut producer, observer) = lossy::ring::<[u64; 2]>(CAPACITY).unwrap();
    let sender = spawn(move || (1..=COUNT).for_each(|value| producer.push([value; 2])));
    let mut observed = Observed { observer, next: 1 };
    let ended = match at_once {
        Some(times) => (0..times).any(|_| observed.ask()),
        None => (0..).any(|_| observed.ask()),
    };
    sender.join().unwrap();
    while !ended && !observed.ask() {}
    assert_eq!(observed.next, COUNT + 1, "all were read or lost");
}

fn observe<const CAPACITY: usize, const COUNT: u64>() {
    observe_from::<CAPACITY, COUNT>(None);
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
    holds(|| observe_from::<1, 3>(Some(2)));
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

/// One thread sleeps for a lossy ring and for another one: the end of the other wakes it, then a value. What comes last
/// has to wake it by itself.
fn a_joint_for_a_value() {
    let joint = Joint::new();
    let (mut ticks, mut observer) = lossy::blocking_at::<u64>(1, &joint).unwrap();
    let (orders, mut control) = spsc::blocking_at::<u64>(1, &joint).unwrap();
    let sender = spawn(move || {
        drop(orders);
        ticks.push(1);
        ticks
    });
    joint.sleep_until(|| control.pop() == Err(PopError::Closed));
    assert_eq!(joint.sleep_until(|| observer.read().ok()), 1);
    sender.join().unwrap();
}

/// The same: a value of the other ring wakes it, then the end of the lossy one.
fn a_joint_for_the_end() {
    let joint = Joint::new();
    let (ticks, mut observer) = lossy::blocking_at::<u64>(1, &joint).unwrap();
    let (mut orders, mut control) = spsc::blocking_at(1, &joint).unwrap();
    let sender = spawn(move || {
        orders.push(5).unwrap();
        drop(ticks);
        orders
    });
    assert_eq!(joint.sleep_until(|| control.pop().ok()), 5);
    joint.sleep_until(|| observer.read() == Err(ObserveError::Closed));
    drop(sender.join().unwrap());
}

#[test]
fn a_value_wakes_a_thread_that_sleeps_for_two_rings() {
    holds(a_joint_for_a_value);
}

#[test]
fn the_end_wakes_a_thread_that_sleeps_for_two_rings() {
    holds(a_joint_for_the_end);
}
