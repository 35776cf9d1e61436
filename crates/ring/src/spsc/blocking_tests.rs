//! Sides that sleep: hand-offs, departures and deadlines.

use super::*;
use crate::{ClaimError, Closed, PopError, PushError};
use std::thread;
use std::time::Duration;
use uncontended_wait::{Deadline, Sleepers};

fn sleeping<T>(capacity: usize, start: u64) -> Sides<T, Sleepers> {
    ring_at(capacity, Position::new(start), Default::default()).unwrap()
}

fn soon() -> Deadline {
    Deadline::after(Duration::from_millis(2))
}

#[test]
fn streams_come_once_and_in_order_however_often_sides_sleep() {
    let count = if cfg!(miri) { 50 } else { 20_000 };
    for capacity in [1, 2, 3, 64] {
        let (mut producer, mut consumer) = sleeping(capacity, (1 << 63) - 50);
        thread::scope(|threads| {
            threads.spawn(move || {
                for value in 0..count {
                    producer.push_wait(Box::new(value)).unwrap();
                }
            });
            for expected in 0..count {
                assert_eq!(consumer.pop_wait().as_deref(), Some(&expected));
            }
            assert_eq!(consumer.pop_wait(), None);
        });
    }
}

#[test]
fn slices_of_any_length_pass_a_ring_of_any_capacity() {
    let values: Vec<u32> = (0..if cfg!(miri) { 60 } else { 10_000 }).collect();
    for (capacity, part) in [(1, 1), (1, 7), (4, 3), (7, 16), (64, 64)] {
        let (mut producer, mut consumer) = sleeping(capacity, (1 << 63) - 50);
        thread::scope(|threads| {
            threads.spawn(|| assert_eq!(producer.push_slice_wait(&values), values.len()));
            let (mut came, mut into) = (Vec::new(), vec![0; part]);
            while came.len() < values.len() {
                let popped = consumer.pop_slice_wait(&mut into);
                assert!((1..=part).contains(&popped), "at least one, at most what fits");
                came.extend_from_slice(&into[..popped]);
            }
            assert_eq!(came, values);
        });
        assert_eq!(consumer.pop_slice_deadline(&mut [0], soon()), 0, "the deadline passes");
        assert_eq!(consumer.pop_slice_wait(&mut []), 0, "nothing fits");
        assert_eq!(producer.push_slice_deadline(&vec![0; capacity + 1], soon()), capacity);
        drop(producer);
        assert_eq!(consumer.pop_slice_wait(&mut vec![0; 99]), capacity);
        assert_eq!(consumer.pop_slice_wait(&mut [0]), 0, "the producer has gone");
    }
    let (mut producer, consumer) = sleeping(2, 0);
    drop(consumer);
    assert_eq!(producer.push_slice_wait(&[0]), 0);
    assert_eq!(producer.claim_up_to_wait(1).err(), Some(ClaimError::Closed));
}

#[test]
fn batches_wait_for_room_and_for_values() {
    let (mut producer, mut consumer) = sleeping(4, 0);
    let rounds = if cfg!(miri) { 10 } else { 1_000 };
    thread::scope(|threads| {
        threads.spawn(move || {
            for round in 0..rounds {
                let mut claim = producer.claim_wait(3).unwrap();
                (0..3).for_each(|value| claim.push(3 * round + value).unwrap());
                claim.publish();
            }
            assert!(matches!(producer.claim_wait(5), Err(ClaimError::TooLong { most: 4 })));
        });
        let mut next = 0;
        while let Some(batch) = consumer.read_wait(2) {
            for value in batch {
                assert_eq!(value, next);
                next += 1;
            }
        }
        assert_eq!(next, 3 * rounds);
    });
}

#[test]
fn deadlines_are_kept_and_one_that_has_passed_is_one_try() {
    let (mut producer, mut consumer) = sleeping(1, 0);
    let past = Deadline::at_ns(0);
    assert_eq!(consumer.pop_deadline(past), Err(PopError::Empty));
    let deadline = soon();
    assert_eq!(consumer.pop_deadline(deadline), Err(PopError::Empty));
    assert!(deadline.has_passed());
    assert_eq!(producer.push_deadline(1, past), Ok(()));
    let deadline = soon();
    assert_eq!(producer.push_deadline(2, deadline), Err(PushError::Full(2)));
    assert!(deadline.has_passed());
    assert_eq!(producer.claim_deadline(1, past).err(), Some(ClaimError::Full));
    assert_eq!(consumer.read_deadline(9, past).unwrap().len(), 1);
    assert_eq!(consumer.pop_deadline(past), Ok(1));
}

#[test]
fn a_sleeper_learns_that_the_other_side_has_gone() {
    let (producer, mut consumer) = sleeping::<u32>(1, 0);
    let sleeper = thread::spawn(move || consumer.pop_wait());
    thread::sleep(Duration::from_millis(5));
    drop(producer);
    assert_eq!(sleeper.join().unwrap(), None);

    let (mut producer, consumer) = sleeping(1, 0);
    producer.push(1).unwrap();
    let sleeper = thread::spawn(move || producer.push_wait(2));
    thread::sleep(Duration::from_millis(5));
    drop(consumer);
    assert_eq!(sleeper.join().unwrap(), Err(Closed(2)));
}

#[test]
fn a_panic_wakes_the_sleeper() {
    let (mut producer, mut consumer) = sleeping(2, 0);
    let sleeper = thread::spawn(move || (consumer.pop_wait(), consumer.pop_wait()));
    let panicked = thread::spawn(move || {
        producer.push(1).unwrap();
        std::panic::resume_unwind(Box::new("on purpose"));
    });
    assert!(panicked.join().is_err());
    assert_eq!(sleeper.join().unwrap(), (Some(1), None));
}
