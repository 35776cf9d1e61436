//! A change wakes as many waiters as can use it, explored: no waiter sleeps while a value or room is left for it.
//!
//!     RUSTFLAGS="--cfg unc_model" cargo test -p uncontended-ring --test model_turns --target-dir target/model
#![cfg(unc_model)]

mod exploring;

use exploring::{begins, begins_with, holds};
use uncontended_model::real::spawn;
use uncontended_ring::broadcast::Plan;
use uncontended_ring::mpsc;
use uncontended_wait::Deadline;

/// Several slots given back together, and as many producers that sleep for one each.
fn two_slots_for_two() {
    let (first, mut consumer) = mpsc::blocking(2).unwrap();
    first.push_all(&mut vec![1, 2]).unwrap();
    // Not symmetric threads: each producer has a limit of its own.
    let sleepers = [first.clone(), first]
        .map(|producer| spawn(move || producer.push_wait(3).map(|()| producer).unwrap()));
    assert_eq!(consumer.pop_into(&mut Vec::new(), 2), Ok(2));
    sleepers.into_iter().for_each(|sleeper| drop(sleeper.join().unwrap()));
}

/// A producer that sleeps for two slots, which come one by one.
fn two_slots_for_one() {
    let (producer, mut consumer) = mpsc::blocking(2).unwrap();
    producer.push_all(&mut vec![1, 2]).unwrap();
    let sleeper = spawn(move || {
        producer.push_all_deadline(&mut vec![3, 4], Deadline::NEVER).unwrap();
    });
    assert_eq!((consumer.pop(), consumer.pop()), (Ok(1), Ok(2)));
    sleeper.join().unwrap();
    assert_eq!((consumer.pop(), consumer.pop()), (Ok(3), Ok(4)));
}

/// Several values published together, and as many members of a group, each of which takes one and then does something
/// else.
fn two_values_for_two() {
    let plan = Plan::new(2).group("workers", 2, &[]);
    let (mut producer, mut consumers) = plan.blocking().unwrap();
    let workers = std::iter::from_fn(|| consumers.take("workers"));
    let workers: Vec<_> = workers
        .map(|mut worker| {
            spawn(move || {
                let batch = worker.read_wait(1).unwrap();
                assert_eq!(batch.len(), 1);
                batch.release();
                worker
            })
        })
        .collect();
    let mut claim = producer.claim(2).unwrap();
    claim.push(1).unwrap();
    claim.push(2).unwrap();
    claim.publish();
    workers.into_iter().for_each(|worker| drop(worker.join().unwrap()));
}

#[test]
fn a_sleeper_for_two_slots_is_woken_by_each() {
    holds(two_slots_for_one);
}

#[test]
fn two_slots_wake_two_producers() {
    begins_with(20_000, "two producers asleep for two slots", two_slots_for_two);
}

#[test]
fn two_values_wake_two_members() {
    begins("two members asleep for two values", two_values_for_two);
}
