//! A consumer that goes: pushes then fail whatever room there is, and queued values are dropped at once (in a
//! broadcast, when the last side goes).
#![cfg(not(unc_model))]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use uncontended_ring::broadcast::Plan;
use uncontended_ring::{ClaimError, Closed, PushError, mpsc, records, spsc};
use uncontended_wait::Deadline;

#[test]
fn no_value_goes_to_a_consumer_that_has_gone_and_what_was_queued_is_dropped_then() {
    let value = Arc::new(7);
    let (mut producer, consumer) = spsc::blocking(8).unwrap();
    (0..3).for_each(|_| producer.push(Arc::clone(&value)).unwrap());
    drop(consumer);
    assert_eq!(Arc::strong_count(&value), 1);
    assert!(producer.is_closed());
    let back = producer.push(Arc::clone(&value));
    assert_eq!(back, Err(PushError::Closed(Arc::clone(&value))));
    assert_eq!(producer.push_wait(Arc::clone(&value)), Err(Closed(Arc::clone(&value))));
    assert_eq!(producer.claim(1).err(), Some(ClaimError::Closed));
    assert_eq!(producer.claim_wait(9).err(), Some(ClaimError::TooLong { most: 8 }));
    assert_eq!(producer.room(), 0);

    let (producer, consumer) = mpsc::blocking(8).unwrap();
    let other = producer.clone();
    producer.push(Arc::clone(&value)).unwrap();
    other.push_all(&mut vec![Arc::clone(&value); 3]).unwrap();
    drop(consumer);
    assert_eq!(Arc::strong_count(&value), 2, "except for what `back` has");
    assert!(matches!(other.push(Arc::clone(&value)), Err(PushError::Closed(_))));
    assert!(producer.push_wait(Arc::clone(&value)).is_err());
    let mut values = vec![Arc::clone(&value)];
    assert_eq!(other.push_all(&mut values), Err(ClaimError::Closed));
    assert_eq!(other.push_all_deadline(&mut values, Deadline::NEVER), Err(ClaimError::Closed));
    assert_eq!(values.len(), 1, "they stay with the caller");
}

#[test]
fn a_slice_or_a_record_does_not_go_there_either() {
    let (mut producer, consumer) = spsc::ring(8).unwrap();
    drop(consumer);
    assert_eq!(producer.push_slice(&[1, 2, 3]), 0);

    let (mut producer, consumer) = records::spsc::blocking(256).unwrap();
    producer.push(b"unread").unwrap();
    drop(consumer);
    assert_eq!(producer.push(b"late"), Err(ClaimError::Closed));
    assert_eq!(producer.claim_wait(1).err(), Some(ClaimError::Closed));

    let (mut producer, consumer) = records::mpsc::blocking(256).unwrap();
    let mut other = producer.clone();
    drop(consumer);
    assert_eq!(producer.push(b"late"), Err(ClaimError::Closed));
    assert_eq!(other.claim_wait(1).err(), Some(ClaimError::Closed));
}

#[test]
fn a_broadcast_learns_that_its_last_consumer_has_gone() {
    let value = Arc::new(7);
    let plan = Plan::new(8).consumer("a", &[]).group("g", 2, &[]);
    let (mut producer, mut consumers) = plan.blocking().unwrap();
    drop(consumers.take("a"));
    drop(consumers.take("g"));
    producer.push(Arc::clone(&value)).unwrap();
    assert!(!producer.is_closed());
    drop(consumers);
    assert!(producer.is_closed());
    assert!(matches!(producer.push(Arc::clone(&value)), Err(PushError::Closed(_))));
    assert!(producer.push_wait(Arc::clone(&value)).is_err());
    assert_eq!(producer.claim(1).err(), Some(ClaimError::Closed));
    assert_eq!((producer.room(), producer.lag()), (0, 0));
    drop(producer);
    assert_eq!(Arc::strong_count(&value), 1);
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("a drop that panics");
    }
}

#[test]
fn a_value_whose_drop_panics_does_not_keep_the_ring_open() {
    let (mut producer, consumer) = spsc::blocking(1).unwrap();
    producer.push(Some(Bomb)).ok().unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| drop(consumer))).is_err());
    assert!(producer.push_wait(None).is_err());

    let (producer, consumer) = mpsc::blocking(1).unwrap();
    producer.push(Some(Bomb)).ok().unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| drop(consumer))).is_err());
    assert!(producer.push_wait(None).is_err());
}
