//! Each value arrives once, in its lane's order, and is dropped once; lanes pass from one producer to another.

use super::*;
use crate::{PopError, PushError};
use std::sync::Arc as Count;
use std::thread;
use std::time::Duration;
use uncontended_wait::Deadline;

#[test]
fn a_lane_has_exactly_its_capacity_and_is_not_anothers() {
    for capacity in 1..6 {
        let (mut one, mut consumer) = ring(2, capacity).unwrap();
        let mut other = one.try_clone().unwrap();
        assert!(one.try_clone().is_none() && other.try_clone().is_none());
        (0..capacity).for_each(|value| one.push(value).unwrap());
        assert_eq!(one.push(9), Err(PushError::Full(9)));
        assert_eq!((one.room(), other.room(), other.capacity()), (0, capacity, capacity));
        other.push(7).unwrap();
        let mut seen = Vec::new();
        assert_eq!(consumer.pop_into(&mut seen, 99), Ok(capacity + 1));
        assert_eq!(consumer.pop_into(&mut seen, 99), Err(PopError::Empty));
        assert_eq!(seen[..capacity], (0..capacity).collect::<Vec<_>>());
        assert_eq!((seen[capacity], consumer.capacity()), (7, capacity));
    }
    assert_eq!(ring::<u8>(0, 1).err(), Some(CapacityError::Zero));
    assert_eq!(ring::<u8>(1, 0).err(), Some(CapacityError::Zero));
    assert_eq!(ring::<u8>(usize::MAX, 1).err(), Some(CapacityError::TooLarge));
    assert_eq!(ring::<u8>(MAX_LANES + 1, 1).err(), Some(CapacityError::TooLarge));
    assert_eq!(ring::<u8>(1, crate::MAX_CAPACITY + 1).err(), Some(CapacityError::TooLarge));
}

#[test]
fn a_full_lane_keeps_no_other_waiting_for_longer_than_its_quantum() {
    let quantum = QUANTUM as usize;
    let (mut busy, mut consumer) = ring(3, 4 * quantum).unwrap();
    let (mut quiet, mut late) = (busy.try_clone().unwrap(), busy.try_clone().unwrap());
    (0..4 * quantum).for_each(|_| busy.push("busy").unwrap());
    quiet.push("quiet").unwrap();
    late.push("late").unwrap();
    let mut seen = Vec::new();
    consumer.pop_into(&mut seen, usize::MAX).unwrap();
    assert_eq!(seen.len(), 4 * quantum + 2);
    let (quiet, late) = (
        seen.iter().position(|&value| value == "quiet").unwrap(),
        seen.iter().position(|&value| value == "late").unwrap(),
    );
    assert!(quiet <= quantum && late == quiet + 1, "{quiet}, {late}");
}

#[test]
fn a_lane_goes_with_its_values_to_the_next_producer() {
    let (keeps, mut consumer) = ring(2, 2).unwrap();
    let mut first = keeps.try_clone().unwrap();
    first.push(2).unwrap();
    drop(first);
    let mut second = keeps.try_clone().unwrap();
    second.push(3).unwrap();
    assert_eq!(second.push(4), Err(PushError::Full(4)), "the lane is the one that was given back");
    assert_eq!(
        (consumer.pop(), consumer.pop(), consumer.pop()),
        (Ok(2), Ok(3), Err(PopError::Empty))
    );
    drop((second, keeps));
    assert_eq!((consumer.pop(), consumer.is_closed()), (Err(PopError::Closed), true));
}

#[test]
fn what_is_left_is_dropped_once() {
    let value = Count::new(());
    let (mut producer, mut consumer) = ring(3, 4).unwrap();
    let mut other = producer.try_clone().unwrap();
    for _ in 0..3 {
        producer.push(Count::clone(&value)).unwrap();
        other.push(Count::clone(&value)).unwrap();
    }
    drop(consumer.pop().unwrap());
    drop(consumer);
    assert_eq!(Count::strong_count(&value), 1, "the consumer drops what is queued");
    let refused = producer.push(Count::clone(&value)).unwrap_err();
    assert!(matches!(refused, PushError::Closed(_)) && producer.is_closed() && other.room() == 0);
    drop((refused, producer, other));
    assert_eq!(Count::strong_count(&value), 1);
}

/// A producer with the next lane that is free.
fn another<T, N: Notifier>(producer: &Producer<T, N>) -> Producer<T, N> {
    let next = || producer.try_clone();
    std::iter::repeat_with(next).inspect(|_| thread::yield_now()).flatten().next().unwrap()
}

#[test]
fn all_values_pass_once_while_lanes_change_hands() {
    const EACH: u64 = if cfg!(miri) { 40 } else { 4_000 };
    for (lanes, capacity) in [(3, 1), (3, 64), (40, 3)] {
        let (producer, mut consumer) = blocking(lanes, capacity).unwrap();
        let seen = thread::scope(|threads| {
            let sides = [producer.try_clone().unwrap(), producer];
            for (from, producer) in (0..).zip(sides) {
                threads.spawn(move || {
                    // Each value by another producer, which takes a lane that was given back.
                    (0..EACH)
                        .for_each(|value| another(&producer).push_wait((from, value)).unwrap());
                });
            }
            std::iter::from_fn(|| consumer.pop_wait()).collect::<Vec<(u64, u64)>>()
        });
        assert_eq!(seen.len() as u64, 2 * EACH);
        for from in 0..2 {
            let mut own: Vec<u64> = seen.iter().filter(|of| of.0 == from).map(|of| of.1).collect();
            own.sort_unstable();
            assert!(own.into_iter().eq(0..EACH), "{lanes} lanes of {capacity}");
        }
    }
}

#[test]
fn waits_end_at_their_deadline() {
    let soon = || Deadline::after(Duration::from_millis(1));
    let (mut producer, mut consumer) = blocking(1, 1).unwrap();
    assert_eq!(consumer.pop_deadline(soon()), Err(PopError::Empty));
    assert_eq!(producer.push_deadline(1, soon()), Ok(()));
    assert_eq!(producer.push_deadline(2, soon()), Err(PushError::Full(2)));
    assert_eq!(consumer.pop_deadline(soon()), Ok(1));
    drop(producer);
    assert_eq!(consumer.pop_deadline(soon()), Err(PopError::Closed));
}
