//! The stamp of a ring in given memory, explored: a thread that accepts the memory finds the whole layout.
//!
//!     RUSTFLAGS="--cfg unc_model" cargo test -p uncontended-ring --test model_given --target-dir target/model
#![cfg(unc_model)]

mod exploring;

use exploring::holds;
use uncontended_atomic::{Arc, UnsafeCell};
use uncontended_model::real::spawn;
use uncontended_ring::given::{AttachError, Kind, Stamp};

/// The stamp, and what stands for the rest.
struct Memory {
    stamp: Stamp,
    layout: UnsafeCell<u32>,
}

// SAFETY: the layout is written before the stamp is set and read after it was found, as the checker verifies.
unsafe impl Sync for Memory {}

fn laid_out_and_found() {
    let memory =
        Arc::new(Memory { stamp: Stamp::unset(Kind::Records), layout: UnsafeCell::new(0) });
    let theirs = Arc::clone(&memory);
    let creator = spawn(move || {
        // SAFETY: no thread reads before the stamp is set (edge `made`).
        theirs.layout.with_mut(|layout| unsafe { *layout = 7 });
        theirs.stamp.set();
    });
    match memory.stamp.check(Kind::Records) {
        // SAFETY: the stamp was found (edge `made`).
        Ok(()) => assert_eq!(memory.layout.with(|layout| unsafe { *layout }), 7),
        Err(why) => assert_eq!(why, AttachError::NoRing),
    }
    creator.join().unwrap();
    assert_eq!(memory.stamp.check(Kind::Spsc), Err(AttachError::Kind { found: 2 }));
}

#[test]
fn memory_that_is_accepted_is_laid_out() {
    holds(laid_out_and_found);
}
