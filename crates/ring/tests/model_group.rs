//! The groups of `lanes`, explored: every execution that C11 or x86-TSO allows of a few operations per side.
//!
//!     RUSTFLAGS="--cfg unc_model" cargo test -p uncontended-ring --test model_group --target-dir target/model
#![cfg(unc_model)]

mod exploring;

use exploring::{begins, begins_with, holds};
use uncontended_model::real::{spawn, spin_loop};
use uncontended_ring::lanes::group::{self, Consumer};
use uncontended_ring::notifier::{Joint, Notifier};
use uncontended_ring::{Closed, PopError, PushError, spsc};

/// All values, to the end.
fn drain<N: Notifier>(mut consumer: Consumer<u32, N>) -> Vec<u32> {
    let mut seen = Vec::new();
    loop {
        match consumer.pop() {
            Ok(value) => seen.push(value),
            Err(PopError::Empty) => spin_loop(),
            Err(PopError::Closed) => return seen,
        }
    }
}

/// Asserts that these values were seen, each once.
#[track_caller]
fn are<const N: usize>(mut seen: Vec<u32>, values: [u32; N]) {
    seen.sort_unstable();
    assert_eq!(seen, values);
}

/// One of two consumers pops what the other one leaves, through one slot.
fn two_consumers_through_one_slot() {
    let (mut producer, mut consumer) = group::ring(1, 1).unwrap();
    let mut another = consumer.clone();
    let sender = spawn(move || {
        producer.push(1).unwrap();
        (producer.push(2).is_ok(), producer)
    });
    let other = spawn(move || another.pop().ok());
    let mine = consumer.pop().ok();
    let (is_second, _producer) = sender.join().unwrap();
    let seen: Vec<u32> =
        [mine, other.join().unwrap(), consumer.pop().ok()].into_iter().flatten().collect();
    match is_second {
        true => are(seen, [1, 2]),
        false => are(seen, [1]),
    }
}

/// A capacity of three has four slots: one of them is free before the value that makes room has gone.
fn a_capacity_that_is_no_power_of_two() {
    let (mut producer, mut consumer) = group::ring(1, 3).unwrap();
    let mut another = consumer.clone();
    assert_eq!(producer.push_slice(&[1, 2, 3, 4]), 3);
    let other = spawn(move || another.pop().unwrap());
    let sender =
        spawn(move || [4, 5].into_iter().take_while(|&value| producer.push(value).is_ok()).count());
    let mut seen = vec![consumer.pop().unwrap()];
    seen.push(other.join().unwrap());
    let pushed = sender.join().unwrap();
    are(seen, [1, 2]);
    let rest = std::iter::from_fn(|| consumer.pop().ok()).collect::<Vec<_>>();
    assert_eq!(rest, [3, 4, 5][..=pushed]);
}

/// One consumer pops two of three values while another pops one, and loses to both.
fn one_pop_against_two() {
    let (mut producer, mut consumer) = group::ring(1, 3).unwrap();
    let mut another = consumer.clone();
    assert_eq!(producer.push_slice(&[1, 2, 3]), 3);
    let other = spawn(move || [another.pop().unwrap(), another.pop().unwrap()]);
    let mine = consumer.pop().unwrap();
    let [first, second] = other.join().unwrap();
    are(vec![mine, first, second], [1, 2, 3]);
}

/// Two consumers claim several values at once.
fn several_at_once() {
    let (mut producer, mut consumer) = group::ring(1, 2).unwrap();
    let mut another = consumer.clone();
    producer.push(1).unwrap();
    let sender = spawn(move || {
        producer.push(2).unwrap();
        producer
    });
    let other = spawn(move || {
        let mut seen = Vec::new();
        let _ = another.pop_into(&mut seen, 2);
        seen
    });
    let mut seen = Vec::new();
    let _ = consumer.pop_into(&mut seen, 2);
    drop(sender.join().unwrap());
    let other = other.join().unwrap();
    let in_order = |seen: &[u32]| seen.is_sorted();
    assert!(in_order(&seen) && in_order(&other), "{seen:?} {other:?}");
    seen.extend(other);
    while consumer.pop_into(&mut seen, 2).is_ok() {}
    are(seen, [1, 2]);
}

/// Two producers, two consumers, of which one pops once: each value arrives once.
fn two_to_two() {
    let (mut one, consumer) = group::ring(2, 1).unwrap();
    let mut other = one.try_clone().unwrap();
    let first = spawn(move || one.push(1).unwrap());
    let mut another = consumer.clone();
    let popper = spawn(move || another.pop().ok());
    other.push(2).unwrap();
    drop(other);
    let mut seen = drain(consumer);
    seen.extend(popper.join().unwrap());
    are(seen, [1, 2]);
    first.join().unwrap();
}

/// A producer joins, pushes and goes, and the other one goes, while a consumer looks for the end.
fn a_producer_joins_before_the_end() {
    let (one, consumer) = group::ring(2, 1).unwrap();
    let sender = spawn(move || {
        let mut late = one.try_clone().unwrap();
        late.push(7).unwrap();
    });
    assert_eq!(drain(consumer), [7]);
    sender.join().unwrap();
}

/// Two threads use one lane, one after the other.
fn a_lane_changes_hands() {
    let (keeps, consumer) = group::ring(2, 2).unwrap();
    let mut first = keeps.try_clone().unwrap();
    let sender = spawn(move || first.push(1).unwrap());
    let next = spawn(move || {
        let Some(mut second) = keeps.try_clone() else { return 0 };
        second.push(2).unwrap();
        1
    });
    let seen = drain(consumer);
    sender.join().unwrap();
    match next.join().unwrap() {
        0 => assert_eq!(seen, [1]),
        _ => assert_eq!(seen, [1, 2], "the lane's order"),
    }
}

/// Two consumers sleep, each for one of two values; no side goes.
fn two_consumers_sleep() {
    let (mut producer, mut consumer) = group::blocking(1, 2).unwrap();
    let mut another = consumer.clone();
    let sender = spawn(move || {
        producer.push(1).unwrap();
        producer.push(2).unwrap();
        producer
    });
    let other = spawn(move || (another.pop_wait().unwrap(), another));
    let mine = consumer.pop_wait().unwrap();
    let (other, _another) = other.join().unwrap();
    are(vec![mine, other], [1, 2]);
    drop(sender.join().unwrap());
}

/// Two consumers sleep for values of two producers.
fn two_consumers_sleep_for_two_producers() {
    let (mut one, mut consumer) = group::blocking(2, 1).unwrap();
    let (mut other, mut another) = (one.try_clone().unwrap(), consumer.clone());
    let first = spawn(move || (one.push(1).unwrap(), one));
    let sleeper = spawn(move || (another.pop_wait().unwrap(), another));
    other.push(2).unwrap();
    let mine = consumer.pop_wait().unwrap();
    let (theirs, _another) = sleeper.join().unwrap();
    are(vec![mine, theirs], [1, 2]);
    drop(first.join().unwrap());
}

/// A consumer sleeps while a producer joins, pushes and goes, and another consumer is there.
fn a_consumer_sleeps_while_a_producer_joins() {
    let (one, mut consumer) = group::blocking(2, 1).unwrap();
    let sender = spawn(move || {
        one.try_clone().unwrap().push(1).unwrap();
        one
    });
    assert_eq!(consumer.pop_wait(), Some(1));
    drop(sender.join().unwrap());
}

/// Two consumers, of which one may sleep, and one value: the end wakes the one that did not get it.
fn consumers_sleep_to_the_end() {
    let (mut producer, mut consumer) = group::blocking(1, 1).unwrap();
    producer.push(1).unwrap();
    let mut another = consumer.clone();
    let sender = spawn(move || drop(producer));
    let other = spawn(move || another.pop_wait());
    let mine = consumer.pop_wait();
    let seen = [mine, other.join().unwrap()];
    assert!(seen == [Some(1), None] || seen == [None, Some(1)], "{seen:?}");
    sender.join().unwrap();
}

/// Two consumers sleep until the last producer goes.
fn both_sleep_to_the_end() {
    let (producer, mut consumer) = group::blocking::<u32>(1, 1).unwrap();
    let mut another = consumer.clone();
    let other = spawn(move || another.pop_wait());
    let sender = spawn(move || drop(producer));
    assert_eq!(consumer.pop_wait(), None);
    assert_eq!(other.join().unwrap(), None);
    sender.join().unwrap();
}

/// Two consumers sleep; two values come together.
fn two_consumers_sleep_for_one_push() {
    let (mut producer, mut consumer) = group::blocking(1, 2).unwrap();
    let mut another = consumer.clone();
    let sender = spawn(move || (producer.push_slice(&[1, 2]), producer));
    let other = spawn(move || (another.pop_wait().unwrap(), another));
    let mine = consumer.pop_wait().unwrap();
    let (theirs, _another) = other.join().unwrap();
    are(vec![mine, theirs], [1, 2]);
    assert_eq!(sender.join().unwrap().0, 2);
}

/// One consumer sleeps, another polls once: the value that it leaves or takes is not the sleeper's last.
fn one_sleeps_while_another_polls() {
    let (mut producer, mut consumer) = group::blocking(1, 2).unwrap();
    let mut another = consumer.clone();
    let sender = spawn(move || {
        producer.push(1).unwrap();
        producer.push(2).unwrap();
        producer
    });
    let other = spawn(move || (another.pop().ok(), another));
    let mine = consumer.pop_wait().unwrap();
    let (theirs, _another) = other.join().unwrap();
    drop(sender.join().unwrap());
    let seen = [Some(mine), theirs, consumer.pop().ok()];
    are(seen.into_iter().flatten().collect(), [1, 2]);
}

/// A producer sleeps for room in its lane, of one slot.
fn a_producer_sleeps() {
    let (mut producer, mut consumer) = group::blocking(1, 1).unwrap();
    producer.push(1).unwrap();
    let sender = spawn(move || producer.push_wait(2).unwrap());
    assert_eq!(consumer.pop(), Ok(1));
    sender.join().unwrap();
    assert_eq!(consumer.pop(), Ok(2));
}

/// A producer sleeps for room of which two consumers each make a part.
fn a_producer_sleeps_for_the_older_slot() {
    let (mut producer, mut consumer) = group::blocking(1, 2).unwrap();
    producer.push_slice(&[1, 2]);
    let mut another = consumer.clone();
    let sender = spawn(move || {
        producer.push_wait(3).unwrap();
        producer
    });
    let other = spawn(move || (another.pop().unwrap(), another));
    let mine = consumer.pop().unwrap();
    let (other, _another) = other.join().unwrap();
    assert!(mine != other);
    drop(sender.join().unwrap());
}

/// A producer that sleeps for room learns that the consumers have gone; so does one that joins later.
fn no_side_sleeps_for_those_that_have_gone() {
    let (mut producer, consumer) = group::blocking(2, 1).unwrap();
    producer.push(1).unwrap();
    let another = consumer.clone();
    let sleeper = spawn(move || {
        assert_eq!(producer.push_wait(2), Err(Closed(2)));
        producer
    });
    let other = spawn(move || drop(another));
    drop(consumer);
    other.join().unwrap();
    let mut late = sleeper.join().unwrap().try_clone().unwrap();
    assert_eq!(late.push(3), Err(PushError::Closed(3)));
}

#[test]
fn two_consumers_pass_values_through_one_slot() {
    holds(two_consumers_through_one_slot);
}

#[test]
fn a_capacity_of_three_is_exact() {
    holds(a_capacity_that_is_no_power_of_two);
}

#[test]
fn a_pop_that_loses_twice_is_not_empty() {
    holds(one_pop_against_two);
}

#[test]
fn values_claimed_together_arrive_once() {
    holds(several_at_once);
}

#[test]
fn two_producers_pass_all_to_two_consumers() {
    begins("two_producers_pass_all_to_two_consumers", two_to_two);
}

#[test]
fn what_a_late_producer_leaves_comes_before_the_end() {
    holds(a_producer_joins_before_the_end);
}

#[test]
fn a_lane_keeps_its_order_when_it_changes_hands() {
    holds(a_lane_changes_hands);
}

#[test]
fn two_consumers_sleep_for_a_value_each() {
    begins("two_consumers_sleep_for_a_value_each", two_consumers_sleep);
}

#[test]
fn two_consumers_sleep_for_values_of_two_lanes() {
    holds(two_consumers_sleep_for_two_producers);
}

#[test]
fn a_consumer_finds_the_lane_of_a_producer_that_joins() {
    holds(a_consumer_sleeps_while_a_producer_joins);
}

#[test]
fn two_consumers_sleep_for_the_end() {
    holds(consumers_sleep_to_the_end);
}

#[test]
fn two_consumers_that_sleep_both_learn_of_the_end() {
    holds(both_sleep_to_the_end);
}

#[test]
fn two_consumers_sleep_for_values_that_come_together() {
    holds(two_consumers_sleep_for_one_push);
}

#[test]
fn a_consumer_sleeps_for_what_another_leaves() {
    holds(one_sleeps_while_another_polls);
}

#[test]
fn a_producer_sleeps_for_room() {
    holds(a_producer_sleeps);
}

#[test]
fn a_producer_sleeps_for_the_slot_that_is_next() {
    holds(a_producer_sleeps_for_the_older_slot);
}

/// A producer sleeps for room in the second lane while the only consumer goes.
fn the_producer_of_another_lane_sleeps() {
    let (first, consumer) = group::blocking(2, 1).unwrap();
    let mut second = first.try_clone().unwrap();
    second.push(1).unwrap();
    let sender = spawn(move || assert!(second.push_wait(2).is_err(), "no consumer is left"));
    drop(consumer);
    sender.join().unwrap();
    drop(first);
}

#[test]
fn each_lanes_producer_learns_that_all_consumers_have_gone() {
    holds(the_producer_of_another_lane_sleeps);
}

#[test]
fn a_producer_learns_that_all_consumers_have_gone() {
    holds(no_side_sleeps_for_those_that_have_gone);
}

/// Two threads sleep on one joint, one for another ring: a value of the group wakes the one that takes it.
fn a_joint_of_two() {
    let joint = Joint::new();
    let (mut producer, mut consumer) = group::blocking_at(1, 1, &joint).unwrap();
    let (mut orders, mut control) = spsc::blocking_at(1, &joint).unwrap();
    let other = spawn(move || joint.sleep_until(|| control.pop().ok()));
    let taker = spawn(move || consumer.pop_wait());
    producer.push(1).unwrap();
    assert_eq!(taker.join().unwrap(), Some(1));
    orders.push(2).unwrap();
    assert_eq!(other.join().unwrap(), 2);
}

#[test]
fn a_value_wakes_the_consumer_among_those_that_sleep_on_a_joint() {
    let name = "a_value_wakes_the_consumer_among_those_that_sleep_on_a_joint";
    begins_with(30_000, name, a_joint_of_two);
}
