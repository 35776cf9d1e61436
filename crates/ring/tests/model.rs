//! The very code of the rings, explored: every execution that C11 or x86-TSO allows of a few operations a side.
//!
//!     RUSTFLAGS="--cfg unc_model" cargo test --release -p uncontended-ring --test model --target-dir target/model
#![cfg(unc_model)]

mod exploring;

use exploring::{caught, holds};
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
