//! What a child of `fork` has of its parent's fences, tickets and registered threads.

#![cfg(all(target_os = "linux", not(any(miri, unc_model))))]

use std::sync::Barrier;
use std::time::Duration;
use uncontended_fence::{Fences, Quiescent, Ticket};

/// Runs `body` in a child, and returns whether it returned `true` there.
fn in_a_child(body: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child runs no more than atomics and system calls, neither of which needs the parent's other threads.
    let process = unsafe { libc::fork() };
    assert!(process >= 0);
    if process == 0 {
        let status = i32::from(!body());
        // SAFETY: ends the child at once, without what the parent has to do at its own end.
        unsafe { libc::_exit(status) };
    }
    let mut status = 0;
    // SAFETY: `status` lives until the call returns.
    assert_eq!(unsafe { libc::waitpid(process, &raw mut status, 0) }, process);
    status == 0
}

#[test]
fn a_childs_fences_and_its_parents_tickets_are_completed_in_it() {
    for fences in [Fences::process(), Fences::best()] {
        let ticket = fences.ticket();
        let child = || {
            fences.light();
            fences.heavy().is_ok() && ticket.wait().is_ok() && ticket.is_complete()
        };
        assert!(in_a_child(child));
    }
}

/// A barrier that another thread of the parent runs at the fork never ends in the child.
#[test]
fn a_child_does_not_wait_for_barriers_of_its_parents_threads() {
    let is_over = std::thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(|| (0..3_000).for_each(|_| Fences::best().heavy().unwrap()));
        }
        (0..20).all(|_| in_a_child(|| Fences::best().heavy().is_ok()))
    });
    assert!(is_over);
}

#[test]
fn a_child_removes_threads_that_do_not_exist_in_it() {
    static THREADS: Quiescent = Quiescent::new();
    // SAFETY: no thread runs a light fence unless it is registered.
    let fences = unsafe { Fences::by_check_in(&THREADS) };
    let is_soon = |ticket: Ticket| ticket.wait_for(Duration::from_millis(20)).unwrap();
    let (registered, over) = (Barrier::new(2), Barrier::new(2));
    let own = THREADS.register();
    let child = || {
        let before = is_soon(fences.ticket());
        THREADS.after_fork_in_child();
        own.check_in();
        fences.light();
        let after = is_soon(fences.ticket());
        !before && after && THREADS.members() == 1
    };
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let _other = THREADS.register();
            registered.wait();
            over.wait();
        });
        registered.wait();
        assert!(in_a_child(child));
        THREADS.after_fork_in_child();
        assert_eq!(THREADS.members(), 2, "its parent keeps them");
        over.wait();
    });
}
