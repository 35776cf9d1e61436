//! Each value arrives once, in its producer's order, and is dropped once, for any capacity and across the wrap of
//! positions.

use super::*;
use crate::{ClaimError, PopError, PushError};
use std::sync::Arc as Count;
use std::thread;
use std::time::Duration;
use uncontended_wait::{Deadline, Sleepers};

const STARTS: [u64; 3] = [0, (1 << 63) - 1, (1 << 63) - 3];

fn small<T>(capacity: usize, start: u64) -> Sides<T> {
    ring_at(capacity, Position::new(start), Default::default()).unwrap()
}

fn sleeping<T>(capacity: usize, start: u64) -> Sides<T, Sleepers> {
    ring_at(capacity, Position::new(start), Default::default()).unwrap()
}

#[test]
fn every_capacity_is_exact() {
    for start in STARTS {
        for capacity in 1..10 {
            let (mut producer, mut consumer) = small(capacity, start);
            for round in 0..3 {
                for value in 0..capacity {
                    let mut other = producer.clone();
                    if value % 2 == 0 { &mut other } else { &mut producer }
                        .push((round, value))
                        .unwrap();
                }
                assert_eq!(producer.push((9, 9)), Err(PushError::Full((9, 9))));
                for value in 0..capacity {
                    assert_eq!(consumer.peek(), Ok(&(round, value)));
                    assert_eq!(consumer.pop(), Ok((round, value)));
                }
                assert_eq!(consumer.pop(), Err(PopError::Empty));
            }
        }
    }
}

#[test]
fn batches_go_in_whole_and_come_out_together() {
    for start in STARTS {
        let (producer, mut consumer) = small(5, start);
        let mut values = vec![1, 2, 3, 4, 5, 6];
        assert_eq!(producer.push_all(&mut values), Err(ClaimError::TooLong { most: 5 }));
        values.truncate(4);
        assert_eq!(producer.push_all(&mut values), Ok(()));
        assert!(values.is_empty() && values.capacity() >= 6);
        assert_eq!(producer.push_all(&mut values), Ok(()), "nothing is always done");
        values.extend([7, 8]);
        assert_eq!(producer.push_all(&mut values), Err(ClaimError::Full));
        assert_eq!(values, [7, 8]);
        let mut out = vec![0];
        assert_eq!(consumer.pop_into(&mut out, 3), Ok(3));
        assert_eq!(consumer.pop_into(&mut out, 9), Ok(1));
        assert_eq!(consumer.pop_into(&mut out, 9), Err(PopError::Empty));
        assert_eq!(out, [0, 1, 2, 3, 4]);
        drop(consumer);
        assert_eq!(producer.push_all(&mut vec![1, 2, 3, 4]), Err(ClaimError::Closed));
        assert_eq!(producer.push(2), Err(PushError::Closed(2)));
    }
}

#[test]
fn every_value_is_dropped_once_wherever_it_ends() {
    let value = Count::new(());
    let count = || Count::strong_count(&value) - 1;
    for capacity in 1..6 {
        for popped in 0..=capacity {
            let (producer, mut consumer) = small(capacity, STARTS[1]);
            (0..=capacity).for_each(|_| drop(producer.push(Count::clone(&value))));
            assert_eq!(count(), capacity);
            (0..popped).for_each(|_| drop(consumer.pop().unwrap()));
            assert_eq!(count(), capacity - popped);
            drop(producer.clone());
            if popped % 2 == 0 {
                drop(producer);
                assert!(consumer.is_closed());
            }
            drop(consumer);
        }
        assert_eq!(count(), 0);
    }
}

#[test]
fn the_last_producer_to_go_tells_by_a_panic_too() {
    let (producer, mut consumer) = small(4, STARTS[2]);
    let other = producer.clone();
    producer.push(1).unwrap();
    drop(producer);
    assert_eq!((consumer.pop(), consumer.pop()), (Ok(1), Err(PopError::Empty)));
    let panicked = thread::spawn(move || {
        other.push(2).unwrap();
        std::panic::resume_unwind(Box::new("on purpose"));
    });
    assert!(panicked.join().is_err());
    assert_eq!((consumer.pop(), consumer.pop()), (Ok(2), Err(PopError::Closed)));
}

#[test]
fn all_come_once_in_each_producers_order_however_often_sides_sleep() {
    const PRODUCERS: usize = 3;
    let count = if cfg!(miri) { 30 } else { 5_000 };
    for capacity in [1, 2, 5, 64] {
        let (producer, mut consumer) = sleeping(capacity, STARTS[1] - 20);
        thread::scope(|threads| {
            for id in 0..PRODUCERS {
                let producer = producer.clone();
                threads.spawn(move || {
                    for value in 0..count {
                        producer.push_wait((id, Box::new(value))).unwrap();
                    }
                });
            }
            drop(producer);
            let mut next = [0; PRODUCERS];
            while let Some((id, value)) = consumer.pop_wait() {
                assert_eq!(*value, next[id]);
                next[id] += 1;
            }
            assert_eq!(next, [count; PRODUCERS]);
        });
    }
}

#[test]
fn deadlines_are_kept_and_sleepers_learn_of_the_end() {
    let (producer, mut consumer) = sleeping(2, 0);
    let soon = || Deadline::after(Duration::from_millis(2));
    let deadline = soon();
    assert_eq!(consumer.pop_deadline(deadline), Err(PopError::Empty));
    assert!(deadline.has_passed());
    producer.push_wait(1).unwrap();
    let mut two = vec![2, 3];
    assert_eq!(producer.push_all_deadline(&mut two, soon()), Err(ClaimError::Full));
    assert_eq!(producer.push_deadline(2, Deadline::at_ns(0)), Ok(()));
    assert_eq!(producer.push_deadline(3, soon()), Err(PushError::Full(3)));
    let other = producer.clone();
    let sleepers =
        [thread::spawn(move || producer.push_wait(3)), thread::spawn(move || other.push_wait(4))];
    thread::sleep(Duration::from_millis(5));
    drop(consumer);
    let mut refused = sleepers.map(|sleeper| sleeper.join().unwrap().unwrap_err().into_inner());
    refused.sort_unstable();
    assert_eq!(refused, [3, 4]);

    let (producer, mut consumer) = sleeping::<u32>(2, 0);
    let sleeper = thread::spawn(move || consumer.pop_wait());
    thread::sleep(Duration::from_millis(5));
    drop(producer);
    assert_eq!(sleeper.join().unwrap(), None);
}
