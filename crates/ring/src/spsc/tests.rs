//! Each value arrives once, in order, and is dropped once, for any capacity and across the wrap of positions.

use super::*;
use crate::{ClaimError, PopError, PushError};
use std::mem::MaybeUninit;
use std::sync::Arc as Count;
use std::thread;

/// Rings that start at zero and just before positions wrap.
const STARTS: [u64; 3] = [0, (1 << 63) - 1, (1 << 63) - 3];

fn small<T>(capacity: usize, start: u64) -> (Producer<T>, Consumer<T>) {
    ring_at(capacity, Position::new(start), Default::default()).unwrap()
}

#[test]
fn every_capacity_is_exact() {
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
fn pushed_values_are_popped_after_the_producer_has_gone() {
    let (mut producer, mut consumer) = small(2, 0);
    producer.push(1).unwrap();
    assert!(!consumer.is_closed());
    drop(producer);
    assert!(consumer.is_closed());
    assert_eq!(consumer.pop(), Ok(1));
    assert_eq!(consumer.pop(), Err(PopError::Closed));
}

#[test]
fn a_push_learns_that_the_consumer_has_gone() {
    let (mut producer, consumer) = small(1, 0);
    drop(consumer);
    assert!(producer.is_closed());
    assert_eq!(producer.push(1), Err(PushError::Closed(1)));
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

#[test]
fn batches_are_claimed_written_read_and_released_in_place() {
    for start in STARTS {
        let (mut producer, mut consumer) = small(5, start);
        assert_eq!(producer.claim(6).err(), Some(ClaimError::TooLong { most: 5 }));
        assert_eq!(producer.claim(0).unwrap().publish(), 0);
        for round in 0..4 {
            let mut claim = producer.claim(5).unwrap();
            for value in 0..4 {
                assert_eq!(claim.push(round * 10 + value), Ok(()));
            }
            assert_eq!(claim.room(), 1);
            assert_eq!(consumer.read(9).err(), Some(PopError::Empty), "nothing is published yet");
            assert_eq!(claim.publish(), 4);
            assert_eq!(producer.claim(2).err(), Some(ClaimError::Full));
            let batch = consumer.read(3).unwrap();
            assert_eq!(
                batch.iter().collect::<Vec<_>>(),
                [0, 1, 2].map(|v| round * 10 + v).each_ref()
            );
            let (one, two) = batch.as_slices();
            assert_eq!([one, two].concat(), [0, 1, 2].map(|v| round * 10 + v));
            batch.release_first(1);
            let mut taken = consumer.read(9).unwrap().into_iter();
            assert_eq!((taken.len(), taken.next()), (3, Some(round * 10 + 1)));
            drop(taken);
            consumer.read(9).unwrap().release();
            assert_eq!(consumer.pop(), Err(PopError::Empty));
        }
        let mut claim = producer.claim(3).unwrap();
        assert_eq!((0..4).map(|value| claim.push(value)).last(), Some(Err(PushError::Full(3))));
        drop(claim);
        assert_eq!(consumer.pop(), Err(PopError::Empty), "what was not published never was");
        assert_eq!(producer.push_slice(&[1, 2, 3, 4, 5, 6]), 5);
        let mut all = [0; 9];
        assert_eq!((consumer.pop_slice(&mut all), all), (5, [1, 2, 3, 4, 5, 0, 0, 0, 0]));
        drop(consumer);
        assert_eq!(producer.push_slice(&[1, 2, 3, 4, 5, 6]), 0);
        assert_eq!(producer.claim(1).err(), Some(ClaimError::Closed));
    }
}

#[test]
fn a_claim_takes_the_room_there_is_and_is_filled_across_the_end_of_the_array() {
    for (start, capacity) in STARTS.into_iter().flat_map(|start| (1..8).map(move |n| (start, n))) {
        let (mut producer, mut consumer) = small(capacity, start);
        let (mut sent, mut came) = (0.., 0..);
        for most in (0..3 * capacity).chain([usize::MAX]) {
            let mut claim = producer.claim_up_to(most).unwrap();
            let room = claim.room();
            assert_eq!(room, most.clamp(1, capacity));
            assert_eq!(claim.fill(sent.by_ref().take(1)), 1);
            assert_eq!(claim.fill(&mut sent), room - 1, "and no value is taken without room");
            assert_eq!(
                (claim.fill(&mut sent), claim.push(0), claim.publish()),
                (0, Err(PushError::Full(0)), room)
            );
            let is_full = producer.claim_up_to(1).err() == Some(ClaimError::Full);
            assert_eq!(is_full, room == capacity);
            let batch = consumer.read(usize::MAX).unwrap();
            assert_eq!((batch.len(), batch.iter().len()), (room, room));
            let folded = batch.iter().fold(Vec::new(), |all, &value| [all, vec![value]].concat());
            assert!(batch.iter().copied().eq(folded.iter().copied()));
            assert!(came.by_ref().take(room).eq(folded));
            batch.release();
        }
        drop(consumer);
        assert_eq!(producer.claim_up_to(1).err(), Some(ClaimError::Closed));
    }
}

#[test]
fn a_claim_whose_values_panic_drops_what_it_has() {
    let value = Count::new(());
    let (mut producer, mut consumer) = small(4, STARTS[1]);
    let filled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let values = (0..4).map(|number| {
            if number == 3 {
                std::panic::resume_unwind(Box::new("on purpose"));
            }
            Count::clone(&value)
        });
        producer.claim(4).unwrap().fill(values)
    }));
    assert!(filled.is_err());
    assert_eq!((Count::strong_count(&value), consumer.pop().err()), (1, Some(PopError::Empty)));
    assert_eq!(producer.room(), 4);
}

#[test]
fn memory_is_written_in_place() {
    let (mut producer, mut consumer) = small(4, STARTS[1]);
    producer.push_slice(&[0, 0]);
    assert_eq!(consumer.pop_slice(&mut [9, 9]), 2);
    let mut claim = producer.claim(4).unwrap();
    claim.push(1).unwrap();
    let (one, two) = claim.as_uninit();
    assert_eq!(one.len() + two.len(), 3);
    one.iter_mut().chain(two).zip(2..).for_each(|(slot, value)| *slot = MaybeUninit::new(value));
    // SAFETY: three were written just now (I5).
    unsafe { claim.assume_written(3) };
    assert_eq!(claim.publish(), 4);
    assert_eq!(consumer.read(4).unwrap().into_iter().collect::<Vec<_>>(), [1, 2, 3, 4]);
}

#[test]
fn a_batch_drops_every_value_once_wherever_it_ends() {
    let value = Count::new(());
    let count = || Count::strong_count(&value) - 1;
    let (mut producer, mut consumer) = small(4, STARTS[1]);
    let mut fill = |publish: bool| {
        let mut claim = producer.claim(4).unwrap();
        (0..4).for_each(|_| drop(claim.push(Count::clone(&value))));
        publish.then(|| claim.publish())
    };
    assert_eq!((fill(false), count()), (None, 0));
    assert_eq!((fill(true), count()), (Some(4), 4));
    drop(consumer.read(4));
    consumer.read(4).unwrap().into_iter().next();
    assert_eq!(count(), 3);
    consumer.read(4).unwrap().release_first(2);
    assert_eq!(count(), 1);
    consumer.read(4).unwrap().release();
    assert_eq!((fill(true), count()), (Some(4), 4));
    drop(producer);
    drop(consumer);
    assert_eq!(Count::strong_count(&value), 1);
}

/// Streams boxed numbers through a ring. Each must arrive once, in order.
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
