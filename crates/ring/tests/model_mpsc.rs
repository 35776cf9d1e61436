//! The `mpsc` ring, explored: every execution that C11 or x86-TSO allows of a few operations per side.
//!
//!     RUSTFLAGS="--cfg unc_model" cargo test -p uncontended-ring --test model_mpsc --target-dir target/model
#![cfg(unc_model)]

mod exploring;

use exploring::{begins, holds, holds_in_three_rounds};
use uncontended_atomic::Arc;
use uncontended_model::real::{spawn, spin_loop};
use uncontended_ring::mpsc::{self, Consumer, Producer};
use uncontended_ring::{Closed, PopError, PushError};

fn push(producer: Producer<u32>, values: &[u32]) {
    push_by(&producer, values);
}

fn push_by(producer: &Producer<u32>, values: &[u32]) {
    for &value in values {
        while let Err(error) = producer.push(value) {
            assert_eq!(error, PushError::Full(value), "no side has gone");
            spin_loop();
        }
    }
}

/// All values, to the end.
fn drain(consumer: &mut Consumer<u32>) -> Vec<u32> {
    let mut seen = Vec::new();
    loop {
        match consumer.pop() {
            Ok(value) => seen.push(value),
            Err(PopError::Empty) => spin_loop(),
            Err(PopError::Closed) => return seen,
        }
    }
}

/// Two producers and three values: each value arrives once, those of one producer in order.
fn two_producers<const CAPACITY: usize>() {
    let (one, mut consumer) = mpsc::ring(CAPACITY).unwrap();
    let other = one.clone();
    let first = spawn(move || push(one, &[1, 2]));
    let second = spawn(move || push(other, &[10]));
    let mut seen = drain(&mut consumer);
    let order = |value| seen.iter().position(|&seen| seen == value);
    assert!(order(1) < order(2), "{seen:?}");
    seen.sort_unstable();
    assert_eq!(seen, [1, 2, 10]);
    first.join().unwrap();
    second.join().unwrap();
}

/// Two threads that share a producer: what one of them saw of the consumer, the other relies on.
fn a_shared_producer() {
    let (producer, mut consumer) = mpsc::ring(1).unwrap();
    let shared = Arc::new(producer);
    shared.push(1).unwrap();
    let other = Arc::clone(&shared);
    let first = spawn(move || push_by(&other, &[2]));
    let second = spawn(move || push_by(&shared, &[3]));
    let mut seen = drain(&mut consumer);
    seen.sort_unstable();
    assert_eq!(seen, [1, 2, 3]);
    first.join().unwrap();
    second.join().unwrap();
}

/// One producer and the consumer: more rounds.
fn one_producer<const VALUES: u32>() {
    let (producer, mut consumer) = mpsc::ring(1).unwrap();
    let values = (1..=VALUES).collect::<Vec<_>>();
    let sender = spawn(move || push(producer, &(1..=VALUES).collect::<Vec<_>>()));
    assert_eq!(drain(&mut consumer), values);
    sender.join().unwrap();
}

/// One producer may be faster than the other three times in a row.
fn three_against_one() {
    let (one, mut consumer) = mpsc::ring(4).unwrap();
    let other = one.clone();
    let first = spawn(move || push(one, &[1, 2, 3]));
    push(other, &[10]);
    first.join().unwrap();
    let mut seen = drain(&mut consumer);
    seen.sort_unstable();
    assert_eq!(seen, [1, 2, 3, 10]);
}

/// A batch stays together: no other producer's values come in between.
fn batches() {
    let (producer, mut consumer) = mpsc::ring(2).unwrap();
    let other = producer.clone();
    let first = spawn(move || {
        while producer.push_all(&mut vec![1, 2]).is_err() {
            spin_loop();
        }
    });
    let second = spawn(move || push(other, &[10]));
    let mut seen = Vec::new();
    loop {
        match consumer.pop_into(&mut seen, 2) {
            Ok(_) => {}
            Err(PopError::Empty) => spin_loop(),
            Err(PopError::Closed) => break,
        }
    }
    assert!(seen == [1, 2, 10] || seen == [10, 1, 2], "{seen:?}");
    first.join().unwrap();
    second.join().unwrap();
}

/// A producer that only looks, while another and the consumer are at work.
fn a_producer_counts() {
    let (one, mut consumer) = mpsc::ring(4).unwrap();
    let looks = one.clone();
    let counter = spawn(move || {
        let len = looks.len();
        assert!(len <= 1, "{len} values in a ring that never holds more than one");
        looks
    });
    let sender = spawn(move || push(one, &[1]));
    let _ = consumer.pop();
    drop(counter.join().unwrap());
    sender.join().unwrap();
}

#[test]
fn no_more_values_are_counted_than_there_were() {
    holds(a_producer_counts);
}

#[test]
fn two_producers_pass_all_once_through_one_slot() {
    holds(two_producers::<1>);
}

#[test]
fn two_producers_pass_all_once_through_two_slots() {
    holds(two_producers::<2>);
}

#[test]
fn two_threads_pass_all_once_by_one_producer() {
    holds(a_shared_producer);
}

#[test]
fn one_producer_passes_all_in_order() {
    holds(one_producer::<3>);
}

#[test]
fn values_pass_however_often_the_sides_ask() {
    holds_in_three_rounds(one_producer::<2>);
}

#[test]
fn one_producer_competes_with_three_values_of_another() {
    holds(three_against_one);
}

#[test]
fn a_batch_goes_in_whole() {
    holds(batches);
}

/// A consumer that sleeps for a value; no side goes.
fn consumer_sleeps() {
    let (producer, mut consumer) = mpsc::blocking(1).unwrap();
    let another = producer.clone();
    let sender = spawn(move || producer.push(1).unwrap());
    assert_eq!(consumer.pop_wait(), Some(1));
    sender.join().unwrap();
    drop(another);
    assert_eq!(consumer.pop_wait(), None);
}

/// A consumer that sleeps until the last producer goes.
fn consumer_sleeps_to_the_end() {
    let (producer, mut consumer) = mpsc::blocking(1).unwrap();
    let sender = spawn(move || producer.push(1).unwrap());
    assert_eq!((consumer.pop_wait(), consumer.pop_wait()), (Some(1), None));
    sender.join().unwrap();
}

/// A producer that sleeps for room.
fn producer_sleeps() {
    let (producer, mut consumer) = mpsc::blocking(1).unwrap();
    producer.push(1).unwrap();
    let sender = spawn(move || producer.push_wait(2).unwrap());
    assert_eq!(consumer.pop(), Ok(1));
    sender.join().unwrap();
    assert_eq!(consumer.pop(), Ok(2));
}

/// Both sides sleep, each waiting for the other.
fn both_sleep() {
    let (producer, mut consumer) = mpsc::blocking(1).unwrap();
    let sender = spawn(move || (1..=2).for_each(|value| producer.push_wait(value).unwrap()));
    assert_eq!([consumer.pop_wait(), consumer.pop_wait()], [Some(1), Some(2)]);
    sender.join().unwrap();
}

/// All producers that sleep for room learn that the consumer has gone.
fn no_side_sleeps_for_one_that_has_gone<const PRODUCERS: usize>() {
    let (producer, consumer) = mpsc::blocking(1).unwrap();
    producer.push(1).unwrap();
    let sleepers = [(); PRODUCERS].map(|()| {
        let producer = producer.clone();
        spawn(move || assert_eq!(producer.push_wait(2), Err(Closed(2))))
    });
    drop(consumer);
    for sleeper in sleepers {
        sleeper.join().unwrap();
    }
}

#[test]
fn a_consumer_sleeps_for_a_value() {
    holds(consumer_sleeps);
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
fn both_sides_sleep() {
    begins("both sides asleep", both_sleep);
}

#[test]
fn a_sleeping_producer_learns_that_the_consumer_has_gone() {
    holds(no_side_sleeps_for_one_that_has_gone::<1>);
}

#[test]
fn two_sleeping_producers_learn_that_the_consumer_has_gone() {
    begins("two producers asleep", no_side_sleeps_for_one_that_has_gone::<2>);
}
