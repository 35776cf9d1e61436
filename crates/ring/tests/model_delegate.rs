//! Delegation, explored: every execution that C11 or x86-TSO allows.
//!
//!     RUSTFLAGS="--cfg unc_model" cargo test -p uncontended-ring --test model_delegate --target-dir target/model
#![cfg(unc_model)]

mod exploring;

use exploring::{begins, holds};
use uncontended_model::real::spawn;
use uncontended_ring::Closed;
use uncontended_ring::delegate::delegate;

/// One tells, then asks; the owner runs until the sender has gone.
#[test]
fn an_answer_comes_after_what_was_told() {
    begins("one tells, then asks", || {
        let (value, owner) = delegate(1, 2).unwrap();
        let owner = spawn(move || owner.run());
        value.tell(|value| *value += 1).unwrap();
        assert_eq!(value.ask(|value| *value * 10), Ok(20));
        drop(value);
        assert_eq!(owner.join().unwrap(), 2);
    });
}

/// The owner goes while another asks: the asker has the answer, or learns that there is none.
#[test]
fn an_asker_whose_owner_goes_does_not_wait() {
    holds(|| {
        let (value, mut owner) = delegate(1, 1).unwrap();
        let asker = spawn(move || value.ask(|value| *value));
        let run = owner.run_some(1);
        drop(owner);
        let answer = asker.join().unwrap();
        assert!(answer == Ok(1) || run == 0 && answer == Err(Closed(())), "{run}: {answer:?}");
    });
}
