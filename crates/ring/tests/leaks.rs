//! Leaks (`mem::forget`) every guard, claim, batch, iterator and handle at every stage: no value is dropped twice or
//! read after its drop, and the remaining sides continue. A leak costs memory, and the room of a leaked `mpsc` claim.
//!
//! Also under Miri, which reports a value taken twice as a use after free:
//!
//!     MIRIFLAGS="-Zmiri-ignore-leaks" cargo +nightly miri test -p uncontended-ring --test leaks
#![cfg(not(unc_model))]
#![allow(clippy::forget_non_drop)] // Whether a leaked type has a drop is up to the library.

use std::cell::Cell;
use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use uncontended_ring::broadcast::{self, Plan};
use uncontended_ring::records::{self, RecordError};
use uncontended_ring::{ClaimError, PopError, PushError, lanes, lossy, mpsc, spsc};

/// A value on the heap that counts its drops. A second drop is a double free, which Miri reports, and a count above
/// one, which the test reports without Miri.
#[derive(Debug)]
struct Value {
    number: usize,
    drops: Drops,
}

/// How often each value was dropped.
type Drops = Rc<[Cell<u8>]>;

fn drops(count: usize) -> Drops {
    (0..count).map(|_| Cell::new(0)).collect()
}

fn value(drops: &Drops, number: usize) -> Box<Value> {
    Box::new(Value { number, drops: Rc::clone(drops) })
}

impl Drop for Value {
    fn drop(&mut self) {
        let count = &self.drops[self.number];
        count.set(count.get() + 1);
        assert_eq!(count.get(), 1, "value {} was dropped before", self.number);
    }
}

fn counts(drops: &Drops) -> Vec<u8> {
    drops.iter().map(Cell::get).collect()
}

#[test]
fn what_a_leaked_iterator_took_out_is_not_there_again() {
    for taken in 0..=3 {
        let drops = drops(4);
        let (mut producer, mut consumer) = spsc::ring(4).unwrap();
        (0..3).for_each(|number| producer.push(value(&drops, number)).unwrap());
        let mut all = consumer.read(3).unwrap().into_iter();
        let mut out: Vec<_> = all.by_ref().take(taken).collect();
        forget(all);
        producer.push(value(&drops, 3)).unwrap();
        out.extend(std::iter::from_fn(|| consumer.pop().ok()));
        let numbers: Vec<_> = out.iter().map(|value| value.number).collect();
        assert!(numbers.is_sorted_by(|a, b| a < b), "each at most once, in order: {numbers:?}");
        assert!(numbers.starts_with(&[0, 1, 2][..taken]) && numbers.ends_with(&[3]));
        drop((out, producer, consumer));
        assert!(counts(&drops).iter().all(|&drops| drops <= 1));
    }
}

#[test]
fn the_room_of_what_a_leaked_iterator_took_out_comes_back() {
    let (mut producer, mut consumer) = spsc::ring(1).unwrap();
    for number in 0..5 {
        producer.push(number).unwrap();
        let mut all = consumer.read(1).unwrap().into_iter();
        assert_eq!(all.next(), Some(number));
        forget(all);
        assert_eq!(consumer.pop(), Err(PopError::Empty), "this check gives the room back");
    }
}

#[test]
fn leaked_batches_and_claims_of_spsc_leave_the_ring_as_it_was() {
    let drops = drops(6);
    let (mut producer, mut consumer) = spsc::ring(4).unwrap();
    let mut claim = producer.claim(3).unwrap();
    claim.push(value(&drops, 0)).unwrap();
    forget(claim);
    assert_eq!(consumer.pop().err(), Some(PopError::Empty), "it was never published");
    (1..4).for_each(|number| producer.push(value(&drops, number)).unwrap());
    forget(consumer.read(2).unwrap());
    let batch = consumer.read(2).unwrap();
    forget(batch.iter());
    assert_eq!(batch.as_slices().0[0].number, 1, "a leaked batch is read again");
    batch.release_first(1);
    assert_eq!(consumer.pop().unwrap().number, 2);
    producer.push(value(&drops, 4)).unwrap();
    producer.push(value(&drops, 5)).unwrap();
    drop((producer, consumer));
    assert_eq!(counts(&drops), [0, 1, 1, 1, 1, 1], "the contents of the leaked claim are leaked");
}

#[test]
fn leaked_sides_leak_what_is_in_the_ring() {
    let drops = drops(5);
    let (mut producer, mut consumer) = spsc::ring(2).unwrap();
    producer.push(value(&drops, 0)).unwrap();
    producer.push(value(&drops, 1)).unwrap();
    forget(producer);
    drop(consumer.pop());
    drop(consumer);
    let (producer, consumer) = mpsc::ring(2).unwrap();
    producer.push(value(&drops, 2)).unwrap();
    forget(producer.clone());
    forget(consumer);
    producer.push(value(&drops, 3)).unwrap();
    assert!(matches!(producer.push(value(&drops, 4)), Err(PushError::Full(_))));
    drop(producer);
    assert!(counts(&drops).iter().all(|&drops| drops <= 1));
    assert_eq!((drops[0].get(), drops[2].get(), drops[3].get()), (1, 0, 0));
}

#[test]
fn leaked_lanes_leak_what_is_in_them() {
    let drops = drops(5);
    let (mut producer, mut consumer) = lanes::ring(3, 2).unwrap();
    let mut other = producer.try_clone().unwrap();
    other.push(value(&drops, 0)).unwrap();
    forget(other);
    assert!(producer.try_clone().is_some() && producer.push(value(&drops, 1)).is_ok());
    drop(producer);
    drop((consumer.pop().unwrap(), consumer.pop().unwrap()));
    assert!(matches!(consumer.pop(), Err(PopError::Empty)), "a leaked producer has not gone");
    let (mut producer, consumer) = lanes::ring(1, 1).unwrap();
    producer.push(value(&drops, 2)).unwrap();
    forget(consumer);
    assert!(matches!(producer.push(value(&drops, 3)), Err(PushError::Full(_))));
    drop(producer);
    assert_eq!(counts(&drops)[..4], [1, 1, 0, 1]);
}

#[test]
fn a_leaked_side_of_a_group_keeps_what_is_in_the_lanes() {
    let drops = drops(6);
    let (mut producer, mut consumer) = lanes::group::ring(3, 2).unwrap();
    let mut other = producer.try_clone().unwrap();
    other.push(value(&drops, 0)).unwrap();
    forget(other);
    producer.push(value(&drops, 1)).unwrap();
    forget(consumer.clone());
    drop(producer);
    drop((consumer.pop().unwrap(), consumer.pop().unwrap()));
    assert!(matches!(consumer.pop(), Err(PopError::Empty)), "a leaked producer has not gone");
    let (mut producer, consumer) = lanes::group::ring(1, 1).unwrap();
    producer.push(value(&drops, 2)).unwrap();
    forget(consumer.clone());
    drop(consumer);
    assert!(matches!(producer.push(value(&drops, 3)), Err(PushError::Full(_))));
    drop(producer);
    assert_eq!(counts(&drops)[..4], [1, 1, 0, 1]);
    let (mut producer, mut consumer) = lanes::group::ring(1, 2).unwrap();
    producer.push(value(&drops, 4)).unwrap();
    producer.push(value(&drops, 5)).unwrap();
    forget(consumer.pop().unwrap());
    drop((producer, consumer));
    assert_eq!(counts(&drops)[4..], [0, 1], "the leaked value is not there again");
}

#[test]
fn what_a_broadcast_leaks_is_dropped_at_most_once() {
    let drops = drops(9);
    let (mut producer, mut consumers) =
        Plan::new(2).consumer("a", &[]).group("g", 2, &[]).polling::<Shared>().unwrap();
    let (mut a, mut g, other) =
        (consumers.take("a").unwrap(), consumers.take("g").unwrap(), consumers.take("g").unwrap());
    let mut claim = producer.claim(2).unwrap();
    claim.push(Shared(value(&drops, 0))).unwrap();
    forget(claim);
    let read = |consumer: &mut broadcast::Consumer<Shared>| {
        forget(consumer.read(1).unwrap());
        let batch = consumer.read(1).unwrap();
        let number = batch.iter().next().unwrap().0.number;
        forget(batch.iter());
        batch.release();
        number
    };
    for number in 1..8 {
        producer.push(Shared(value(&drops, number))).unwrap();
        assert_eq!((read(&mut a), read(&mut g)), (number, number), "a leaked batch is read again");
    }
    producer.push(Shared(value(&drops, 8))).unwrap();
    forget(g.read(1).unwrap());
    forget(g);
    forget(other);
    drop((producer, a, consumers));
    let leaked = counts(&drops);
    assert!(leaked.iter().all(|&drops| drops <= 1));
    assert_eq!(leaked[..7], [1; 7], "values whose slots were overwritten");
}

/// The test has one thread, but a broadcast requires `Send + Sync` values.
#[derive(Debug)]
struct Shared(Box<Value>);

// SAFETY: the test has only one thread.
unsafe impl Send for Shared {}
// SAFETY: as for `Send`.
unsafe impl Sync for Shared {}

#[test]
fn leaked_records_are_read_again_and_leaked_chunks_are_passed_over() {
    let (mut producer, mut consumer) = records::spsc::ring(64).unwrap();
    forget(producer.claim(9).unwrap());
    producer.push(b"one").unwrap();
    forget(consumer.read().unwrap());
    let record = consumer.read().unwrap();
    assert_eq!(&*record, b"one");
    record.release();
    assert_eq!(consumer.read().err(), Some(RecordError::Empty), "the leaked chunk left no trace");

    let (mut producer, mut consumer) = records::mpsc::ring(64).unwrap();
    let mut other = producer.clone();
    forget(producer.claim(9).unwrap());
    other.push(b"two").unwrap();
    assert_eq!(consumer.read().err(), Some(RecordError::Empty), "it is in the way");
    // SAFETY: the claim was leaked just now, and only this thread uses the ring.
    assert_eq!(unsafe { consumer.unblock() }, Ok(24));
    forget(consumer.read().unwrap());
    let record = consumer.read().unwrap();
    assert_eq!(&*record, b"two");
    record.release();
    forget(producer.claim(1).unwrap());
    drop((producer, other));
    assert_eq!(
        consumer.read().err(),
        Some(RecordError::Closed),
        "no producer is left to commit it"
    );
}

#[test]
fn leaked_observers_and_producers_hold_up_none() {
    let (mut producer, mut observer) = lossy::ring(2).unwrap();
    forget(observer.clone());
    (0..5u64).for_each(|number| producer.push(number));
    forget(producer);
    while observer.read().is_err() {}
    assert_eq!(
        observer.read().err(),
        Some(lossy::ObserveError::Empty),
        "it is not known to have gone"
    );
}

/// Counts its drops, and panics in them if `panics` is set.
struct Fragile {
    value: Option<Box<Value>>,
    panics: bool,
}

impl Drop for Fragile {
    fn drop(&mut self) {
        drop(self.value.take());
        assert!(!self.panics, "a drop that panics");
    }
}

// SAFETY: the test has only one thread.
unsafe impl Send for Fragile {}
// SAFETY: as for `Send`.
unsafe impl Sync for Fragile {}

fn fragile(drops: &Drops, number: usize, panics: bool) -> Fragile {
    Fragile { value: Some(value(drops, number)), panics }
}

#[test]
fn a_drop_that_panics_happens_once_wherever_it_does() {
    // In a released batch, a claim, and the drop of the ring.
    let all = drops(8);
    let (mut producer, mut consumer) = spsc::ring(4).unwrap();
    (0..3).for_each(|n| producer.push(fragile(&all, n, n == 1)).ok().unwrap());
    let release = AssertUnwindSafe(|| consumer.read(3).unwrap().release());
    assert!(catch_unwind(release).is_err());
    let left = consumer.read(9).unwrap();
    assert_eq!(
        left.iter().map(|left| left.value.as_ref().unwrap().number).collect::<Vec<_>>(),
        [2]
    );
    left.release();
    let mut claim = producer.claim(2).unwrap();
    claim.push(fragile(&all, 3, false)).ok().unwrap();
    claim.push(fragile(&all, 4, true)).ok().unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| drop(claim))).is_err());
    (5..8).for_each(|n| producer.push(fragile(&all, n, n == 5)).ok().unwrap());
    assert!(catch_unwind(AssertUnwindSafe(|| drop((producer, consumer)))).is_err());
    assert_eq!(counts(&all)[..3], [1; 3]);
    assert!(counts(&all).iter().all(|&drops| drops <= 1));

    // Overwritten by a broadcast's next value.
    let all = drops(4);
    let (mut producer, mut consumers) = Plan::new(1).consumer("a", &[]).polling().unwrap();
    let mut a = consumers.take("a").unwrap();
    producer.push(fragile(&all, 0, true)).ok().unwrap();
    a.read(1).unwrap().release();
    let push = AssertUnwindSafe(|| drop(producer.push(fragile(&all, 1, false))));
    assert!(catch_unwind(push).is_err());
    assert!(matches!(a.read(1), Err(PopError::Empty)));
    producer.push(fragile(&all, 2, false)).ok().unwrap();
    assert_eq!(a.read(1).unwrap().iter().next().unwrap().value.as_ref().unwrap().number, 2);
    drop((producer, a, consumers));
    assert_eq!(counts(&all), [1, 1, 1, 0]);
}

#[test]
fn a_claim_that_is_refused_takes_nothing() {
    let drops = drops(3);
    let (producer, consumer) = mpsc::ring(1).unwrap();
    let mut values = vec![value(&drops, 0), value(&drops, 1)];
    assert_eq!(producer.push_all(&mut values), Err(ClaimError::TooLong { most: 1 }));
    assert_eq!(values.len(), 2);
    values.pop();
    producer.push_all(&mut values).unwrap();
    values.push(value(&drops, 2));
    assert_eq!(producer.push_all(&mut values), Err(ClaimError::Full));
    drop((producer, consumer, values));
    assert_eq!(counts(&drops), [1, 1, 1]);
}
