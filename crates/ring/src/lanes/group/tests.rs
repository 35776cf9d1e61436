//! Each value goes to one consumer, in its lane's order, and is dropped once; lanes pass from one producer to another.

use super::*;
use crate::lanes::QUANTUM;
use crate::{PopError, PushError};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc as Count;
use std::thread;
use std::time::Duration;
use uncontended_atomic::AtomicBool;
use uncontended_atomic::Ordering::Relaxed;
use uncontended_wait::Deadline;

#[test]
fn a_lane_has_exactly_its_capacity_and_is_not_anothers() {
    for capacity in 1..10 {
        let (mut one, mut consumer) = ring(2, capacity).unwrap();
        let mut other = one.try_clone().unwrap();
        assert!(one.try_clone().is_none() && other.try_clone().is_none());
        for lap in 0..5 {
            assert_eq!((one.room(), other.room()), (capacity, capacity), "lap {lap}");
            (0..capacity).for_each(|value| one.push(value).unwrap());
            assert_eq!(one.push(9), Err(PushError::Full(9)));
            assert_eq!((one.room(), other.room(), one.len()), (0, capacity, capacity));
            other.push(99).unwrap();
            assert_eq!((consumer.len(), consumer.capacity()), (capacity + 1, capacity));
            let mut seen = Vec::new();
            assert_eq!(consumer.pop_into(&mut seen, 50), Ok(capacity + 1));
            assert_eq!(consumer.pop_into(&mut seen, 50), Err(PopError::Empty));
            seen.sort_unstable();
            assert!(seen.into_iter().eq((0..capacity).chain([99])), "lap {lap} of {capacity}");
        }
    }
    assert_eq!(ring::<u8>(0, 1).err(), Some(CapacityError::Zero));
    assert_eq!(ring::<u8>(1, 0).err(), Some(CapacityError::Zero));
    assert_eq!(ring::<u8>(usize::MAX, 1).err(), Some(CapacityError::TooLarge));
    assert_eq!(ring::<u8>(1, crate::MAX_CAPACITY + 1).err(), Some(CapacityError::TooLarge));
}

#[test]
fn positions_wrap() {
    for (capacity, before) in [(1, 1), (2, 3), (3, 2), (5, 9), (8, 5)] {
        let start = Position::new((1 << 63) - before);
        let (mut producer, mut consumer) = ring_at(1, capacity, start, Silent).unwrap();
        let mut values = 0..;
        for lap in 0..6 {
            assert_eq!(producer.room(), capacity, "{capacity}, lap {lap}");
            let sent: Vec<i32> = values.by_ref().take(capacity).collect();
            assert_eq!(producer.push_slice(&sent), capacity);
            assert_eq!(producer.push_slice(&sent), 0);
            let mut seen = vec![consumer.pop().unwrap()];
            let _ = consumer.pop_into(&mut seen, capacity);
            assert_eq!(seen, sent);
            assert_eq!(consumer.pop(), Err(PopError::Empty));
        }
    }
}

#[test]
fn a_full_lane_keeps_no_other_waiting_for_longer_than_its_quantum() {
    let quantum = QUANTUM as usize;
    for together in [1, usize::MAX] {
        let (mut busy, mut consumer) = ring(3, 4 * quantum).unwrap();
        let (mut quiet, mut late) = (busy.try_clone().unwrap(), busy.try_clone().unwrap());
        (0..4 * quantum).for_each(|_| busy.push("busy").unwrap());
        quiet.push("quiet").unwrap();
        late.push("late").unwrap();
        let mut seen = Vec::new();
        while consumer.pop_into(&mut seen, together).is_ok() {}
        assert_eq!(seen.len(), 4 * quantum + 2);
        let at = |name| seen.iter().position(|&value| value == name).unwrap();
        assert!(at("quiet") <= quantum && at("late") == at("quiet") + 1, "{seen:?}");
    }
}

#[test]
fn a_lane_goes_with_its_values_to_the_next_producer() {
    let (keeps, mut consumer) = ring(2, 2).unwrap();
    let mut another = consumer.clone();
    let mut first = keeps.try_clone().unwrap();
    first.push(2).unwrap();
    drop(first);
    let mut second = keeps.try_clone().unwrap();
    second.push(3).unwrap();
    assert_eq!(second.push(4), Err(PushError::Full(4)), "the lane is the one that was given back");
    assert_eq!(
        (consumer.pop(), another.pop(), consumer.pop()),
        (Ok(2), Ok(3), Err(PopError::Empty))
    );
    drop((second, keeps));
    assert_eq!((consumer.pop(), consumer.is_closed()), (Err(PopError::Closed), true));
    assert_eq!((another.pop(), another.is_closed()), (Err(PopError::Closed), true));
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
    drop(consumer.clone());
    assert_eq!(Count::strong_count(&value), 6, "one consumer is left");
    assert!(!producer.is_closed());
    drop(consumer);
    assert_eq!(Count::strong_count(&value), 1, "the last consumer drops what is queued");
    let refused = producer.push(Count::clone(&value)).unwrap_err();
    assert!(matches!(refused, PushError::Closed(_)) && producer.is_closed() && other.room() == 0);
    drop((refused, producer, other));
    assert_eq!(Count::strong_count(&value), 1);
}

/// A value whose drop panics, once.
struct Panics(Count<AtomicBool>);

impl Drop for Panics {
    fn drop(&mut self) {
        assert!(self.0.swap(true, Relaxed), "the first one");
    }
}

#[test]
fn producers_learn_of_the_end_even_if_the_drop_of_a_value_panics() {
    let has_panicked = Count::new(AtomicBool::new(false));
    let (mut producer, consumer) = blocking(1, 2).unwrap();
    let value = || Panics(Count::clone(&has_panicked));
    assert!(producer.push(value()).is_ok() && producer.push(value()).is_ok());
    let refused = thread::scope(|threads| {
        let sleeper = threads.spawn(move || producer.push_wait(value()));
        assert!(catch_unwind(AssertUnwindSafe(|| drop(consumer))).is_err());
        // The refused value comes back to this thread: were the sleeper to drop it, its drop could be the first.
        sleeper.join().unwrap()
    });
    assert!(refused.is_err());
    drop(refused);
    assert_eq!(Count::strong_count(&has_panicked), 1);
}

/// A producer with the next lane that is free.
fn another<T, N: Notifier>(producer: &Producer<T, N>) -> Producer<T, N> {
    let next = || producer.try_clone();
    std::iter::repeat_with(next).inspect(|_| thread::yield_now()).flatten().next().unwrap()
}

#[test]
fn all_values_pass_once_while_lanes_change_hands() {
    const EACH: u64 = if cfg!(miri) { 30 } else { 4_000 };
    for (lanes, capacity, consumers) in [(3, 1, 3), (3, 64, 2), (40, 3, 3)] {
        let (producer, consumer) = blocking(lanes, capacity).unwrap();
        let mut seen = thread::scope(|threads| {
            let sides = [producer.try_clone().unwrap(), producer];
            for (from, producer) in (0..).zip(sides) {
                threads.spawn(move || {
                    // Each value by another producer, which takes a lane that was given back.
                    (0..EACH)
                        .for_each(|value| another(&producer).push_wait((from, value)).unwrap());
                });
            }
            let each = |consumer: Consumer<(u64, u64), _>| {
                threads.spawn(move || consumer.into_iter().collect::<Vec<(u64, u64)>>())
            };
            let consumers: Vec<_> = vec![consumer; consumers].into_iter().map(each).collect();
            consumers.into_iter().flat_map(|seen| seen.join().unwrap()).collect::<Vec<_>>()
        });
        seen.sort_unstable();
        let all = (0..2).flat_map(|from| (0..EACH).map(move |value| (from, value)));
        assert!(seen.into_iter().eq(all), "{lanes} lanes of {capacity}, {consumers} consumers");
    }
}

#[test]
fn each_consumer_sees_a_producers_values_in_order() {
    const EACH: u64 = if cfg!(miri) { 50 } else { 10_000 };
    for together in [1, 5] {
        let (first, consumer) = ring(2, 8).unwrap();
        let producers = [first.try_clone().unwrap(), first];
        let count: usize = thread::scope(|threads| {
            for (from, mut producer) in producers.into_iter().enumerate() {
                threads.spawn(move || {
                    for value in 0..EACH {
                        while producer.push((from, value)).is_err() {
                            thread::yield_now();
                        }
                    }
                });
            }
            let pop = |mut consumer: Consumer<(usize, u64)>| {
                let mut seen = Vec::new();
                while consumer.pop_into(&mut seen, together) != Err(PopError::Closed) {
                    thread::yield_now();
                }
                for from in 0..2 {
                    let own = seen.iter().filter(|value| value.0 == from);
                    assert!(own.is_sorted_by(|one, next| one.1 < next.1));
                }
                seen.len()
            };
            let other = consumer.clone();
            let other = threads.spawn(move || pop(other));
            pop(consumer) + other.join().unwrap()
        });
        assert_eq!(count as u64, 2 * EACH);
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
