//! Sides that sleep: hand-offs, departures and deadlines.

use super::*;
use crate::{ClaimError, Closed, PopError, PushError};
use std::thread;
use std::time::Duration;
use uncontended_atomic::{AtomicU64, Ordering::Relaxed};
use uncontended_wait::{Deadline, Sleepers};

type Sleeping = (Producer<u64, Sleepers>, Vec<Consumer<u64, Sleepers>>);

fn sleeping(plan: &Plan, names: &[&str]) -> Sleeping {
    let (producer, mut consumers) = plan.blocking().unwrap();
    (producer, names.iter().map(|name| consumers.take(name).unwrap()).collect())
}

/// The number and the sum of the values that a consumer sees until the end.
fn drain(mut consumer: Consumer<u64, Sleepers>, most: usize) -> (u64, u64) {
    let (mut count, mut sum) = (0, 0);
    while let Some(batch) = consumer.read_wait(most) {
        count += batch.len() as u64;
        sum += batch.iter().sum::<u64>();
        batch.release();
    }
    (count, sum)
}

#[test]
fn a_stream_reaches_all_however_often_they_sleep() {
    let (count, most) = if cfg!(miri) { (8, 1) } else { (10_000, 64) };
    for capacity in [1, 2, 64].into_iter().filter(|&capacity| capacity <= most) {
        let plan =
            Plan::new(capacity).consumer("a", &[]).consumer("b", &["g"]).group("g", 2, &["a"]);
        let (mut producer, all) = sleeping(&plan, &["a", "b", "g", "g"]);
        let sums = [const { AtomicU64::new(0) }; 4];
        let counts = [const { AtomicU64::new(0) }; 4];
        thread::scope(|scope| {
            for (index, consumer) in all.into_iter().enumerate() {
                let (sums, counts) = (&sums, &counts);
                scope.spawn(move || {
                    let (count, sum) = drain(consumer, if index == 0 { usize::MAX } else { 1 });
                    sums[index].store(sum, Relaxed);
                    counts[index].store(count, Relaxed);
                });
            }
            for value in 0..count {
                producer.push_wait(value).unwrap();
            }
            drop(producer);
        });
        let [a, b, one, two] = sums.map(|sum| sum.into_inner());
        let sum = count * (count - 1) / 2;
        assert_eq!((a, b, one + two), (sum, sum, sum));
        let [a, b, one, two] = counts.map(|sum| sum.into_inner());
        assert_eq!((a, b, one + two), (count, count, count));
    }
}

#[test]
fn deadlines_are_kept_and_one_that_has_passed_is_one_try() {
    let (mut producer, mut all) = sleeping(&Plan::new(1).consumer("a", &[]), &["a"]);
    let (past, consumer) = (Deadline::at_ns(0), &mut all[0]);
    assert_eq!(consumer.read_deadline(1, past).err(), Some(PopError::Empty));
    let deadline = Deadline::after(Duration::from_millis(2));
    assert_eq!(consumer.read_deadline(1, deadline).err(), Some(PopError::Empty));
    assert!(deadline.has_passed());
    assert_eq!(producer.push_deadline(1, past), Ok(()));
    let deadline = Deadline::after(Duration::from_millis(2));
    assert_eq!(producer.push_deadline(2, deadline), Err(PushError::Full(2)));
    assert!(deadline.has_passed());
    assert_eq!(producer.claim_deadline(1, past).err(), Some(ClaimError::Full));
    assert_eq!(producer.claim_wait(2).err(), Some(ClaimError::TooLong { most: 1 }));
    consumer.read_deadline(9, past).unwrap().release();
    assert_eq!(producer.claim_wait(1).unwrap().publish(), 0);
}

/// Waits until `sleeper` sleeps, then runs `event`, which must wake it.
fn ends<R: Send + 'static>(
    sleeper: impl FnOnce() -> R + Send + 'static,
    event: impl FnOnce(),
) -> R {
    let sleeper = thread::spawn(sleeper);
    thread::sleep(Duration::from_millis(5));
    event();
    sleeper.join().unwrap()
}

#[test]
fn sleepers_learn_that_others_have_gone() {
    let plan = Plan::new(1).consumer("a", &[]).consumer("b", &["a"]).group("g", 2, &[]);
    let (producer, mut all) = sleeping(&plan, &["a", "b", "g", "g"]);
    let (mut member, other, b) = (all.pop().unwrap(), all.pop().unwrap(), all.remove(1));
    assert!(ends(move || member.read_wait(1).is_none(), || drop(producer)));
    drop((other, b, all));

    // A consumer that follows one that goes.
    let (mut producer, mut all) = sleeping(&plan, &["a", "b", "g", "g"]);
    producer.push(1).unwrap();
    let mut b = all.remove(1);
    assert!(ends(move || b.read_wait(1).is_none(), || drop(all.remove(0))));
    // The producer, when the last consumer that it waits for goes.
    assert_eq!(ends(move || producer.push_wait(2), || drop(all)), Err(Closed(2)));
}

#[test]
fn a_panic_wakes_the_sleeper() {
    let (producer, mut all) =
        sleeping(&Plan::new(1).consumer("a", &[]).consumer("b", &[]), &["a", "b"]);
    let (mut a, mut b) = (all.remove(0), all.remove(0));
    let sleeper = thread::spawn(move || b.read_wait(1).is_none());
    let mut panicking = producer;
    let panicked = thread::spawn(move || {
        panicking.push_wait(1).unwrap();
        panicking.push_wait(2).unwrap();
        std::panic::resume_unwind(Box::new("on purpose"));
    });
    a.read_wait(1).unwrap().release();
    assert!(!sleeper.join().unwrap(), "b saw a value, and went");
    assert!(panicked.join().is_err());
    a.read_wait(1).unwrap().release();
    assert!(a.read_wait(1).is_none());
}
