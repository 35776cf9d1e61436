//! One scenario, two runners: real threads, or under `RUSTFLAGS="--cfg unc_model"` every execution that C11 allows.
//!
//!     RUSTFLAGS="--cfg unc_model" cargo test -p uncontended-atomic --target-dir target/unc_model

use std::sync::Arc;
use uncontended_atomic::Ordering::{self, Acquire, Relaxed, Release};
use uncontended_atomic::{AtomicU32, UnsafeCell, spin_loop};

#[cfg(not(unc_model))]
use std::thread::spawn;
#[cfg(unc_model)]
use uncontended_model::real::spawn;

struct Mailbox {
    full: AtomicU32,
    letter: UnsafeCell<u32>,
}

// SAFETY: I1: the letter is written before `full` says so, and read after (edge `sent`).
unsafe impl Sync for Mailbox {}

fn send_and_receive(release: Ordering) {
    let mailbox = Arc::new(Mailbox { full: AtomicU32::new(0), letter: UnsafeCell::new(0) });
    let to = Arc::clone(&mailbox);
    let sender = spawn(move || {
        // SAFETY: nobody reads the letter before `full` is set (I1).
        to.letter.with_mut(|letter| unsafe { *letter = 7 });
        // EDGE sent (release): the letter.
        to.full.store(1, release);
    });
    // EDGE sent (acquire): the letter.
    while mailbox.full.load(Acquire) == 0 {
        spin_loop();
    }
    // SAFETY: `full` is set, so the letter has been written (I1).
    assert_eq!(mailbox.letter.with(|letter| unsafe { *letter }), 7);
    sender.join().unwrap();
}

#[cfg(not(unc_model))]
#[test]
fn a_letter_arrives_between_real_threads() {
    for _ in 0..200 {
        send_and_receive(Release);
    }
    let mut cell = UnsafeCell::new(1);
    *cell.get_mut() += 1;
    assert_eq!((cell.into_inner(), Relaxed), (2, Ordering::Relaxed));
}

#[cfg(unc_model)]
#[test]
fn a_letter_arrives_in_every_execution_and_not_without_release() {
    use uncontended_model::real::{Explorer, Memory};
    let right = Explorer::new(Memory::C11).explore(|| send_and_receive(Release)).unwrap();
    assert!(right.holds(), "{right}");
    let wrong = Explorer::new(Memory::C11).explore(|| send_and_receive(Relaxed)).unwrap();
    assert!(wrong.violation().is_some(), "{wrong}");
}
