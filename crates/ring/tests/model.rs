//! The very code of the rings, explored: every execution that C11 or x86-TSO allows of a few operations a side.
//!
//!     RUSTFLAGS="--cfg unc_model" cargo test --release -p uncontended-ring --test model --target-dir target/model
#![cfg(unc_model)]

mod exploring;

use exploring::{caught, holds};
use std::cell::Cell;
use uncontended_model::real::{spawn, spin_loop};
use uncontended_ring::spsc::{self, Producer};
use uncontended_ring::{PopError, PushError};

fn push(producer: &mut Producer<u32>, value: u32) {
    while let Err(error) = producer.push(value) {
        assert_eq!(error, PushError::Full(value), "nobody went");
        spin_loop();
    }
}

/// Three values through a ring of `capacity`, in order; then the consumer is told that the producer went.
fn pass<const CAPACITY: usize>() {
    let (mut producer, mut consumer) = spsc::ring(CAPACITY).unwrap();
    let sender = spawn(move || (1..=3).for_each(|value| push(&mut producer, value)));
    let mut expected = 1;
    loop {
        match consumer.pop() {
            Ok(value) => {
                assert_eq!(value, expected);
                expected += 1;
            }
            Err(PopError::Empty) => spin_loop(),
            Err(PopError::Closed) => break,
        }
    }
    assert_eq!(expected, 4, "all came before the end was told");
    sender.join().unwrap();
}

const SPSC: [&str; 7] = [
    "spsc: publish is relaxed",
    "spsc: publish is read relaxed",
    "spsc: vacate is relaxed",
    "spsc: vacate is read relaxed",
    "spsc: publish before the slot is written",
    "spsc: vacate before the slot is read",
    "spsc: one slot too many",
];

#[test]
fn spsc_passes_all_in_order_and_its_mutants_do_not() {
    holds(pass::<1>);
    holds(pass::<2>);
    caught(pass::<1>, &SPSC, &SPSC[4..]);
    caught(pass::<2>, &SPSC, &SPSC[4..]);
}

/// Claims and batches: two values published at once, read in place, released at once.
fn batches() {
    let (mut producer, mut consumer) = spsc::ring(2).unwrap();
    let sender = spawn(move || {
        for first in [1, 3] {
            let mut claim = loop {
                match producer.claim(2) {
                    Ok(claim) => break claim,
                    Err(_) => spin_loop(),
                }
            };
            claim.push(first).unwrap();
            claim.push(first + 1).unwrap();
            claim.publish();
        }
    });
    let mut seen = Vec::new();
    loop {
        match consumer.read(2) {
            Ok(batch) => {
                assert_eq!(batch.len(), 2, "a claim is published as a whole");
                seen.extend(batch.iter().copied());
                batch.release();
            }
            Err(PopError::Empty) => spin_loop(),
            Err(PopError::Closed) => break,
        }
    }
    assert_eq!(seen, [1, 2, 3, 4]);
    sender.join().unwrap();
}

#[test]
fn spsc_batches_are_seen_as_a_whole_and_its_mutants_are_caught() {
    holds(batches);
    caught(batches, &SPSC[..4], &[]);
}

thread_local! {
    // Explored threads share it.
    static DROPPED: Cell<u32> = const { Cell::new(0) };
}

struct Counted;

impl Drop for Counted {
    fn drop(&mut self) {
        DROPPED.set(DROPPED.get() + 1);
    }
}

/// Each of three values is dropped once, whoever goes first and wherever it is then.
fn drops() {
    DROPPED.set(0);
    let (mut producer, mut consumer) = spsc::ring(2).unwrap();
    let sender = spawn(move || {
        drop(producer.push(Counted));
        drop(producer.push(Counted));
        drop(producer.push(Counted));
    });
    drop(consumer.pop());
    drop(consumer);
    sender.join().unwrap();
    assert_eq!(DROPPED.get(), 3);
}

#[test]
fn spsc_drops_every_value_once() {
    holds(drops);
}

/// Values through a ring whose sides sleep; then the end.
fn sleep_and_pass<const CAPACITY: usize, const VALUES: u32>() {
    let (mut producer, mut consumer) = spsc::blocking(CAPACITY).unwrap();
    let sender = spawn(move || (1..=VALUES).for_each(|value| producer.push_wait(value).unwrap()));
    for expected in 1..=VALUES {
        assert_eq!(consumer.pop_wait(), Some(expected));
    }
    assert_eq!(consumer.pop_wait(), None);
    sender.join().unwrap();
}

/// A producer that sleeps for room is told that the consumer went.
fn nobody_sleeps_for_who_went() {
    let (mut producer, mut consumer) = spsc::blocking(1).unwrap();
    let sender = spawn(move || {
        let pushed = (1..=3).take_while(|&value| producer.push_wait(value).is_ok()).count();
        assert!((1..=2).contains(&pushed), "one, or a second into the place of the first");
    });
    assert_eq!(consumer.pop_wait(), Some(1));
    drop(consumer);
    sender.join().unwrap();
}

#[test]
fn sleeping_sides_lose_nothing_and_their_mutants_do() {
    holds(sleep_and_pass::<1, 2>);
    holds(sleep_and_pass::<2, 2>);
    if std::env::var("UNC_DEPTH").is_ok_and(|depth| depth == "full") {
        holds(sleep_and_pass::<2, 3>);
    } else {
        uncontended_testkit::skip!(
            "three values through two slots, asleep",
            "171,776 executions, with UNC_DEPTH=full"
        );
    }
    holds(nobody_sleeps_for_who_went);
    let bells = [
        "spsc: no bell after publish",
        "spsc: bell before publish",
        "spsc: no bell after vacate",
        "spsc: bell before vacate",
        "spsc: the producer goes without a bell",
    ];
    caught(sleep_and_pass::<1, 2>, &bells, &bells);
    let gone = ["spsc: the consumer goes without a bell"];
    caught(nobody_sleeps_for_who_went, &gone, &gone);
    // The bell's own (`wait`), in this use of it.
    let sleepers = [
        "no fence on either side",
        "waiter: no heavy fence",
        "waiter: no look after the fence",
        "waiter: heavy fence before the flag",
        "waker: wakes before the flag is cleared",
    ];
    caught(sleep_and_pass::<1, 2>, &sleepers, &[]);
}
