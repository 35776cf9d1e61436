//! The broadcast ring, explored: every execution that C11 or x86-TSO allows of a few operations per side.
//!
//!     RUSTFLAGS="--cfg unc_model" cargo test -p uncontended-ring --test model_broadcast --target-dir target/model
#![cfg(unc_model)]

mod exploring;

use exploring::{begins, holds, holds_in_three_rounds};
use std::sync::atomic::Ordering::Relaxed;
use uncontended_model::real::{Arc, AtomicU32, spawn, spin_loop};
use uncontended_ring::broadcast::{Consumer, Plan, Producer};
use uncontended_ring::notifier::Joint;
use uncontended_ring::{Closed, PopError, PushError, spsc};
use uncontended_wait::Sleepers;

fn feed(mut producer: Producer<u32>, count: u32) {
    for value in 1..=count {
        while let Err(error) = producer.push(value) {
            assert_eq!(error, PushError::Full(value), "no side has gone");
            spin_loop();
        }
    }
}

/// The values that a consumer sees until the end.
fn drain(consumer: Consumer<u32>, most: usize) -> Vec<u32> {
    drain_with(consumer, most, |_| ())
}

fn drain_with(mut consumer: Consumer<u32>, most: usize, see: impl Fn(u32)) -> Vec<u32> {
    let mut seen = Vec::new();
    loop {
        match consumer.read(most) {
            Ok(batch) => {
                batch.iter().for_each(|&value| see(value));
                seen.extend(batch.iter());
                batch.release();
            }
            Err(PopError::Empty) => spin_loop(),
            Err(PopError::Closed) => return seen,
        }
    }
}

/// Two consumers see two values each through a ring of one.
fn both_see_all() {
    let plan = Plan::new(1).consumer("a", &[]).consumer("b", &[]);
    let (producer, mut consumers) = plan.polling().unwrap();
    let (a, b) = (consumers.take("a").unwrap(), consumers.take("b").unwrap());
    let one = spawn(move || assert_eq!(drain(a, 1), [1, 2]));
    let other = spawn(move || assert_eq!(drain(b, 2), [1, 2]));
    feed(producer, 2);
    one.join().unwrap();
    other.join().unwrap();
}

/// One consumer.
fn one_sees_all<const CAPACITY: usize, const VALUES: u32>() {
    let (producer, mut consumers) = Plan::new(CAPACITY).consumer("a", &[]).polling().unwrap();
    let a = consumers.take("a").unwrap();
    let reader = spawn(move || assert_eq!(drain(a, CAPACITY), (1..=VALUES).collect::<Vec<_>>()));
    feed(producer, VALUES);
    reader.join().unwrap();
}

/// One consumer follows another: what the first did with a value is done when the second sees it. The ring is full at
/// the start.
fn one_after_the_other() {
    let plan = Plan::new(1).consumer("a", &[]).consumer("b", &["a"]);
    let (mut producer, mut consumers) = plan.polling().unwrap();
    let (a, b) = (consumers.take("a").unwrap(), consumers.take("b").unwrap());
    producer.push(1).unwrap();
    let (written, done) = shared(AtomicU32::new(0));
    let first = spawn(move || drain_with(a, 1, |value| written.store(value, Relaxed)));
    let second = spawn(move || drain_with(b, 1, |value| assert!(done.load(Relaxed) >= value)));
    while producer.push(2).is_err() {
        spin_loop();
    }
    drop(producer);
    assert_eq!(first.join().unwrap(), [1, 2]);
    assert_eq!(second.join().unwrap(), [1, 2]);
}

fn shared<T>(value: T) -> (Arc<T>, Arc<T>) {
    let value = Arc::new(value);
    (Arc::clone(&value), value)
}

/// Each of two values goes to one of two members, through a ring of one that is full at the start.
fn each_goes_to_one() {
    let (mut producer, mut consumers) = Plan::new(1).group("g", 2, &[]).polling().unwrap();
    let members = [consumers.take("g").unwrap(), consumers.take("g").unwrap()];
    producer.push(1).unwrap();
    let members = members.map(|mut member| {
        spawn(move || {
            loop {
                if let Ok(batch) = member.read(1) {
                    let value = *batch.iter().next().unwrap();
                    batch.release();
                    return (value, member);
                }
                spin_loop();
            }
        })
    });
    while producer.push(2).is_err() {
        spin_loop();
    }
    // Into the slot of the second value, if that was read.
    let _ = producer.push(3);
    let mut all = members.map(|member| member.join().unwrap().0);
    all.sort_unstable();
    assert_eq!(all, [1, 2]);
}

/// The only member of a group releases the first of two values, which a third overwrites.
fn one_member_releases_in_part() {
    let (mut producer, mut consumers) = Plan::new(2).group("g", 1, &[]).polling().unwrap();
    let mut member = consumers.take("g").unwrap();
    producer.push(1).unwrap();
    producer.push(2).unwrap();
    let reader = spawn(move || {
        let batch = member.read(2).unwrap();
        assert!(batch.iter().eq(&[1, 2]));
        batch.release_first(1);
        member
    });
    let _ = producer.push(3);
    drop(reader.join().unwrap());
}

/// A value for one of two members, each of which reads once. The slower one does not hold up the producer.
fn one_of_two_fails() {
    let (mut producer, mut consumers) = Plan::new(1).group("g", 2, &[]).polling().unwrap();
    let members = [consumers.take("g").unwrap(), consumers.take("g").unwrap()];
    producer.push(1).unwrap();
    let members = members.map(|mut member| {
        spawn(move || {
            let _ = member.read(1).map(|batch| batch.release());
            member
        })
    });
    let _members = members.map(|member| member.join().unwrap());
    assert_eq!(producer.push(2), Ok(()));
}

/// The same, while the producer sleeps for room.
fn one_of_two_fails_beside_a_sleeper() {
    let (mut producer, mut consumers) = Plan::new(1).group("g", 2, &[]).blocking().unwrap();
    let members = [consumers.take("g").unwrap(), consumers.take("g").unwrap()];
    producer.push(1).unwrap();
    let members = members.map(|mut member| {
        spawn(move || {
            let _ = member.read(1).map(|batch| batch.release());
            member
        })
    });
    producer.push_wait(2).unwrap();
    members.into_iter().for_each(|member| drop(member.join().unwrap()));
}

/// The only member of a group announces what it holds next before the producer has seen its previous release.
fn one_member_continues() {
    let (mut producer, mut consumers) = Plan::new(2).group("g", 1, &[]).polling().unwrap();
    let member = consumers.take("g").unwrap();
    producer.push(1).unwrap();
    producer.push(2).unwrap();
    let reader = spawn(move || {
        let seen = drain(member, 1);
        assert_eq!(seen, [1, 2, 3]);
    });
    while producer.push(3).is_err() {
        spin_loop();
    }
    drop(producer);
    reader.join().unwrap();
}

/// A consumer that follows a group sees what both members released.
fn one_after_a_group() {
    let plan = Plan::new(2).group("g", 2, &[]).consumer("after", &["g"]);
    let (mut producer, mut consumers) = plan.polling().unwrap();
    let members = [consumers.take("g").unwrap(), consumers.take("g").unwrap()];
    producer.push(1).unwrap();
    producer.push(2).unwrap();
    let members = members.map(|mut member| {
        spawn(move || {
            let batch = member.read(1).unwrap();
            let value = *batch.iter().next().unwrap();
            batch.release();
            (value, member)
        })
    });
    let mut after = consumers.take("after").unwrap();
    let mut seen = Vec::new();
    while let Ok(batch) = after.read(2) {
        seen.extend(batch.iter().copied());
        batch.release();
    }
    assert_eq!(seen, (1..=seen.len() as u32).collect::<Vec<_>>());
    let mut all = members.map(|member| member.join().unwrap().0);
    all.sort_unstable();
    assert_eq!(all, [1, 2]);
}

/// The producer no longer waits for a consumer that went with a value unreleased, and a later stage does not pass it.
fn a_consumer_that_goes_is_not_waited_for() {
    let plan = Plan::new(1).consumer("a", &[]).consumer("b", &["a"]);
    let (mut producer, mut consumers) = plan.polling().unwrap();
    let (mut a, b) = (consumers.take("a").unwrap(), consumers.take("b").unwrap());
    let first = spawn(move || {
        while a.read(1).map(|batch| batch.release()).is_err() {
            spin_loop();
        }
    });
    let second = spawn(move || assert_eq!(drain(b, 1), [1]));
    let mut value = 1;
    while value <= 2 {
        match producer.push(value) {
            Ok(()) => value += 1,
            Err(PushError::Full(_)) => spin_loop(),
            Err(PushError::Closed(_)) => break,
        }
    }
    drop(producer);
    first.join().unwrap();
    second.join().unwrap();
}

#[test]
fn a_consumer_sees_all() {
    holds(one_sees_all::<2, 3>);
}

#[test]
fn a_consumer_sees_all_however_often_the_sides_ask() {
    holds_in_three_rounds(one_sees_all::<1, 2>);
}

#[test]
fn two_consumers_both_see_all() {
    holds(both_see_all);
}

#[test]
fn a_later_stage_is_held_back() {
    holds(one_after_the_other);
}

#[test]
fn a_consumer_that_goes_holds_up_none() {
    holds(a_consumer_that_goes_is_not_waited_for);
}

#[test]
fn a_group_shares() {
    holds(each_goes_to_one);
}

#[test]
fn what_a_member_releases_in_part_has_been_read() {
    holds(one_member_releases_in_part);
}

#[test]
fn a_failed_claim_holds_up_none() {
    holds(one_of_two_fails);
}

#[test]
fn a_failed_claim_wakes_those_it_held_up() {
    begins("a producer asleep, and two members", one_of_two_fails_beside_a_sleeper);
}

#[test]
fn a_stage_after_a_group_sees_what_it_released() {
    holds(one_after_a_group);
}

#[test]
fn what_a_member_holds_next_is_seen_after_what_it_released() {
    holds(one_member_continues);
}

/// Sleeps for a value, and reads it.
fn read(consumer: &mut Consumer<u32, Sleepers>, expected: u32) {
    let batch = consumer.read_wait(1).unwrap();
    assert!(batch.iter().eq(&[expected]));
    batch.release();
}

/// A consumer that sleeps for a value.
fn sleep_for_a_value() {
    let (mut producer, mut consumers) = Plan::new(1).consumer("a", &[]).blocking().unwrap();
    let mut a = consumers.take("a").unwrap();
    let sender = spawn(move || {
        producer.push(1).unwrap();
        producer
    });
    read(&mut a, 1);
    drop(sender.join().unwrap());
}

/// A consumer that sleeps for a value, then for the end.
fn sleep_for_the_end() {
    let (mut producer, mut consumers) = Plan::new(1).consumer("a", &[]).blocking().unwrap();
    let mut a = consumers.take("a").unwrap();
    let sender = spawn(move || producer.push(1).unwrap());
    read(&mut a, 1);
    assert!(a.read_wait(1).is_none());
    sender.join().unwrap();
}

/// A producer that sleeps for room.
fn sleep_for_room() {
    let (mut producer, mut consumers) = Plan::new(1).consumer("a", &[]).blocking().unwrap();
    let mut a = consumers.take("a").unwrap();
    producer.push(1).unwrap();
    let reader = spawn(move || {
        read(&mut a, 1);
        a
    });
    producer.push_wait(2).unwrap();
    reader.join().unwrap();
}

/// One consumer sleeps until the other has released.
fn sleep_after_the_other() {
    let plan = Plan::new(1).consumer("a", &[]).consumer("b", &["a"]);
    let (mut producer, mut consumers) = plan.blocking().unwrap();
    let (mut a, mut b) = (consumers.take("a").unwrap(), consumers.take("b").unwrap());
    producer.push(1).unwrap();
    let first = spawn(move || read(&mut a, 1));
    read(&mut b, 1);
    assert!(b.read_wait(1).is_none(), "a has gone");
    first.join().unwrap();
}

/// A producer that sleeps for room learns that the last consumer has gone.
fn no_side_sleeps_for_one_that_has_gone() {
    let (mut producer, mut consumers) = Plan::new(1).consumer("a", &[]).blocking().unwrap();
    let a = consumers.take("a").unwrap();
    producer.push(1).unwrap();
    let goes = spawn(move || drop(a));
    assert_eq!(producer.push_wait(2), Err(Closed(2)));
    goes.join().unwrap();
}

#[test]
fn a_consumer_sleeps_for_a_value() {
    holds(sleep_for_a_value);
}

#[test]
fn a_consumer_sleeps_for_the_end() {
    holds(sleep_for_the_end);
}

#[test]
fn a_producer_sleeps_for_room() {
    holds(sleep_for_room);
}

#[test]
fn a_consumer_sleeps_for_one_before_it() {
    holds(sleep_after_the_other);
}

#[test]
fn a_sleeping_producer_learns_that_all_have_gone() {
    holds(no_side_sleeps_for_one_that_has_gone);
}

/// A thread that sleeps for a member of a group and for another ring: the end of the other wakes it, then a value. What
/// comes last has to wake it by itself.
fn a_joint_of_two_rings() {
    let joint = Joint::new();
    let plan = Plan::new(1).group("g", 1, &[]);
    let (mut producer, mut consumers) = plan.blocking_at(&joint).unwrap();
    let (orders, mut control) = spsc::blocking_at::<u32>(1, &joint).unwrap();
    let mut member = consumers.take("g").unwrap();
    let sender = spawn(move || {
        drop(orders);
        producer.push(1).unwrap();
        producer
    });
    joint.sleep_until(|| control.pop() == Err(PopError::Closed));
    joint.sleep_until(|| member.read(1).is_ok());
    drop(sender.join().unwrap());
}

#[test]
fn a_value_wakes_a_member_that_sleeps_for_two_rings() {
    holds(a_joint_of_two_rings);
}
