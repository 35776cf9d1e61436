//! Forks while other threads take, drain and claim: what the child can still do, and that it never waits for a thread
//! that it does not have.

#![cfg(all(target_os = "linux", not(any(miri, unc_model))))]

use std::time::Duration;
use uncontended_atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use uncontended_percpu::{FreeList, Node, PerCpu, Revocable};
use uncontended_testkit::repetitions;

/// Forks again and again while two threads do `busy`. Each child must find `is_well` within ten seconds.
fn forked(test: &str, busy: impl Fn() + Sync, is_well: impl Fn() -> bool) {
    let ends = AtomicBool::new(false);
    std::thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                while !ends.load(SeqCst) {
                    busy();
                }
            });
        }
        let are_well = (0..repetitions(test, 300, 5_000)).all(|_| {
            std::thread::sleep(Duration::from_micros(200));
            status_of_child(&is_well) == 0
        });
        ends.store(true, SeqCst);
        assert!(are_well, "a child hangs, or finds more taken than one thread can have taken");
    });
}

fn status_of_child(is_well: &impl Fn() -> bool) -> i32 {
    // SAFETY: the child calls only what a child of several threads may call, and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: it takes a number; the signal ends a child that hangs.
        unsafe { libc::alarm(10) };
        let is_well = is_well();
        // SAFETY: it takes a number, and runs no handlers.
        unsafe { libc::_exit(i32::from(!is_well)) };
    }
    let mut status = 0;
    // SAFETY: the number of a child, and a number to write to.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    status
}

/// A try that another thread of the parent was in the middle of ends no cell but its own.
#[test]
fn a_child_takes_every_value_but_one() {
    static VALUES: PerCpu<u64> = PerCpu::new();
    drop(VALUES.here());
    forked(
        "forks during take",
        || drop(VALUES.take(0)),
        || (0..VALUES.len()).filter(|&cell| VALUES.take(cell).is_err()).count() <= 1,
    );
}

#[test]
fn a_child_drains_every_list_but_one() {
    static LIST: FreeList<u64> = FreeList::new(16);
    LIST.push(Node::new(1)).unwrap();
    forked(
        "forks during drain",
        || drop(LIST.drain(0)),
        || (0..LIST.lists()).filter(|&list| LIST.drain(list).is_err()).count() <= 1,
    );
}

#[test]
fn a_child_claims_at_once() {
    static RIGHT: Revocable = Revocable::new();
    let word = AtomicU64::new(0);
    let claim_and_store = || RIGHT.claim().is_ok_and(|claim| claim.store(&word, 1).is_ok());
    forked("forks during claim", || _ = claim_and_store(), claim_and_store);
}
