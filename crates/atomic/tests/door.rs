//! Scenarios with two runners: real threads, or, under `RUSTFLAGS="--cfg unc_model"`, every execution that C11 allows.
//!
//!     RUSTFLAGS="--cfg unc_model" cargo test -p uncontended-atomic --target-dir target/unc_model

use uncontended_atomic::Ordering::{self, Acquire, Relaxed, Release};
use uncontended_atomic::{
    Arc, AtomicU32, Condvar, Mutex, Named, Scope, UnsafeCell, futex_wait, futex_wake, park, spawn,
    spin_loop,
};

struct Mailbox {
    full: AtomicU32,
    letter: UnsafeCell<u32>,
}

// SAFETY: I1: the letter is written before `full` says so, and read after (edge `sent`).
unsafe impl Sync for Mailbox {}

fn send_and_receive(release: Ordering) {
    let mailbox = Arc::new(Mailbox {
        full: AtomicU32::new(0).named("full"),
        letter: UnsafeCell::new(0).named("letter"),
    });
    let to = Arc::clone(&mailbox);
    let sender = spawn(move || {
        // SAFETY: no thread reads the letter before `full` is set (I1).
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

/// A sleeper, and a waker that changes the word before or after it wakes.
fn sleep_and_wake(change_first: bool) {
    let word = Arc::new(AtomicU32::new(0));
    let theirs = Arc::clone(&word);
    let sleeper = spawn(move || {
        while theirs.load(Acquire) == 0 {
            futex_wait(&*theirs, 0, None, Scope::Private);
        }
    });
    if change_first {
        word.store(1, Release);
        futex_wake(&*word, 1, Scope::Private);
    } else {
        futex_wake(&*word, 1, Scope::Private);
        word.store(1, Release);
    }
    sleeper.join().unwrap();
}

/// A turn taken under a lock and announced by a condition variable; then one more announced by a token.
fn take_turns() {
    let turn = Arc::new((Mutex::new(false), Condvar::new()));
    let theirs = Arc::clone(&turn);
    let other = spawn(move || {
        let mut ready = theirs.0.lock().unwrap();
        while !*ready {
            ready = theirs.1.wait(ready).unwrap();
        }
        drop(ready);
        park();
    });
    *turn.0.lock().unwrap() = true;
    turn.1.notify_one();
    other.thread().unpark();
    other.join().unwrap();
}

#[cfg(not(unc_model))]
#[test]
fn every_scenario_ends_with_real_threads() {
    for _ in 0..200 {
        send_and_receive(Release);
        sleep_and_wake(true);
        take_turns();
    }
    let mut cell = UnsafeCell::new(1);
    *cell.get_mut() += 1;
    assert_eq!((cell.into_inner(), Relaxed), (2, Ordering::Relaxed));
    assert_eq!(
        futex_wait(&AtomicU32::new(0), 1, None, Scope::Private),
        uncontended_atomic::Wait::Changed
    );
}

#[cfg(unc_model)]
#[test]
fn every_scenario_holds_in_every_execution_and_its_mutant_does_not() {
    use uncontended_model::real::{Explorer, Memory, Report};
    let explore = |body: fn()| -> Report { Explorer::new(Memory::C11).explore(body).unwrap() };
    for right in [|| send_and_receive(Release), || sleep_and_wake(true), take_turns as fn()] {
        let report = explore(right);
        assert!(report.holds(), "{report}");
    }
    for wrong in [|| send_and_receive(Relaxed), (|| sleep_and_wake(false)) as fn()] {
        let report = explore(wrong);
        assert!(report.violation().is_some(), "{report}");
    }
}
