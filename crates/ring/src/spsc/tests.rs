//! Exactly once, in order, one drop a value, for any capacity and across the wrap of positions.

use super::*;
use std::sync::Arc as Count;
use std::thread;

/// Rings that begin at zero and just before positions wrap.
const STARTS: [u64; 3] = [0, (1 << 63) - 1, (1 << 63) - 3];

fn small<T>(capacity: usize, start: u64) -> (Producer<T>, Consumer<T>) {
    ring_at(capacity, Position::new(start)).unwrap()
}

#[test]
fn every_capacity_takes_so_many_and_no_more() {
    for start in STARTS {
        for capacity in 1..10 {
            let (mut producer, mut consumer) = small(capacity, start);
            for round in 0..3 {
                for value in 0..capacity {
                    assert_eq!(producer.room(), capacity - value);
                    producer.push((round, value)).unwrap();
                }
                assert_eq!(producer.push((9, 9)), Err(PushError::Full((9, 9))));
                assert_eq!(consumer.available(), capacity);
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
fn every_value_is_dropped_once_wherever_it_ends() {
    let value = Count::new(());
    let count = || Count::strong_count(&value) - 1;
    for capacity in 1..6 {
        for popped in 0..=capacity {
            let (mut producer, mut consumer) = small(capacity, STARTS[1]);
            for _ in 0..capacity {
                producer.push(Count::clone(&value)).unwrap();
            }
            drop(producer.push(Count::clone(&value)));
            assert_eq!(count(), capacity);
            (0..popped).for_each(|_| drop(consumer.pop().unwrap()));
            assert_eq!(count(), capacity - popped);
            if popped % 2 == 0 {
                drop(producer);
                drop(consumer);
            } else {
                drop(consumer);
                drop(producer);
            }
            assert_eq!(count(), 0);
        }
    }
}

#[test]
fn what_was_pushed_comes_out_after_the_producer_went() {
    let (mut producer, mut consumer) = small(2, 0);
    producer.push(1).unwrap();
    assert!(!consumer.is_closed());
    drop(producer);
    assert!(consumer.is_closed());
    assert_eq!(consumer.pop(), Ok(1));
    assert_eq!(consumer.pop(), Err(PopError::Closed));
}

#[test]
fn a_push_is_told_that_the_consumer_went() {
    let (mut producer, consumer) = small(1, 0);
    drop(consumer);
    assert!(producer.is_closed());
    producer.push(1).unwrap();
    assert_eq!(producer.push(2), Err(PushError::Closed(2)));
}

#[test]
fn a_side_that_panics_has_gone() {
    let (mut producer, mut consumer) = small(4, 0);
    let panicked = thread::spawn(move || {
        producer.push(1).unwrap();
        std::panic::resume_unwind(Box::new("on purpose"));
    });
    assert!(panicked.join().is_err());
    assert_eq!((consumer.pop(), consumer.pop()), (Ok(1), Err(PopError::Closed)));
}

#[test]
fn values_of_any_size_and_alignment() {
    #[derive(Clone, Copy, PartialEq, Debug)]
    #[repr(align(256))]
    struct Wide([u8; 300]);
    let (mut producer, mut consumer) = small(3, STARTS[2]);
    for value in 0..7 {
        producer.push(Wide([value; 300])).unwrap();
        let seen = consumer.peek().unwrap();
        assert_eq!(std::ptr::from_ref(seen).addr() % 256, 0);
        assert_eq!(consumer.pop(), Ok(Wide([value; 300])));
    }
    let (mut producer, mut consumer) = small(3, STARTS[2]);
    for _ in 0..3 {
        producer.push(()).unwrap();
    }
    assert_eq!(producer.push(()), Err(PushError::Full(())));
    assert_eq!(consumer.available(), 3);
}

/// Streams boxed numbers through a ring; each must come once, in order.
fn stream(capacity: usize, start: u64, count: u64) {
    let (mut producer, mut consumer) = small(capacity, start);
    let sender = thread::spawn(move || {
        for value in 0..count {
            let mut item = Box::new(value);
            while let Err(error) = producer.push(item) {
                item = error.into_inner();
                thread::yield_now();
            }
        }
    });
    for expected in 0..count {
        let value = loop {
            match consumer.pop() {
                Ok(value) => break value,
                Err(PopError::Empty) => thread::yield_now(),
                Err(PopError::Closed) => panic!("closed before {expected}"),
            }
        };
        assert_eq!(*value, expected);
    }
    sender.join().unwrap();
    assert_eq!(consumer.pop(), Err(PopError::Closed));
}

#[test]
fn streams_come_once_and_in_order() {
    let count = if cfg!(miri) { 100 } else { 20_000 };
    for capacity in [1, 2, 3, 64] {
        stream(capacity, STARTS[1] - 50, count);
    }
}
