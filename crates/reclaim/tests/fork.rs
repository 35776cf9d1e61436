//! A forked child: readers of threads that it does not have keep nothing of an epoch, and at most an object each of
//! hazards.

#![cfg(all(target_os = "linux", not(any(unc_model, miri))))]

use std::sync::mpsc::channel;
use std::thread::scope;
use uncontended_atomic::{AtomicBool, Ordering::Relaxed};
use uncontended_reclaim::epoch::{self, Collector};
use uncontended_reclaim::hazard::{self, Domain};
use uncontended_reclaim::{Life, Limits};
use uncontended_testkit::skip;

/// Runs `check` in a child, while another thread reads; whether it returned true.
fn in_child(read: impl FnOnce(&dyn Fn()) + Send, check: impl FnOnce() -> bool) -> bool {
    let ((reading, reads), (end, ended)) = (channel::<()>(), channel::<()>());
    scope(|threads| {
        threads.spawn(move || {
            read(&|| {
                reading.send(()).unwrap();
                ended.recv().unwrap();
            })
        });
        reads.recv().unwrap();
        let passed = forked(check);
        end.send(()).unwrap();
        passed
    })
}

/// Runs `check` in a child; whether it returned true, within ten seconds.
fn forked(check: impl FnOnce() -> bool) -> bool {
    status_of_child(|| i32::from(!check())) == Some(0)
}

/// The exit status of a child that runs `body`; none if it panics, or hangs for ten seconds.
fn status_of_child(body: impl FnOnce() -> i32) -> Option<i32> {
    // SAFETY: the child only runs `check`, and leaves by `_exit`; glibc's allocator works in a child.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: it ends the child later, if it hangs (L1).
        unsafe { libc::alarm(10) };
        let status = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
        // SAFETY: it ends the child at once (L1).
        unsafe { libc::_exit(status.unwrap_or(PANICKED)) };
    }
    assert!(child > 0, "{}", std::io::Error::last_os_error());
    let mut status = 0;
    // SAFETY: waits for the child above, and writes its status (L2).
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    (libc::WIFEXITED(status) && libc::WEXITSTATUS(status) != PANICKED)
        .then(|| libc::WEXITSTATUS(status))
}

const PANICKED: i32 = 101;
const REFUSED: i32 = 77;

const LIMITS: Limits = Limits { objects: 1, bytes: usize::MAX };

#[test]
fn a_childs_epochs_do_not_wait_for_threads_that_it_lacks() {
    let collector = Collector::with_limits(LIMITS);
    let cell = epoch::Shared::new(Box::new(1), &collector);
    let own = collector.pin();
    let found = cell.load(&own).unwrap();
    let passed = in_child(
        |wait| {
            let guard = collector.pin();
            assert!(cell.load(&guard).is_some());
            wait();
        },
        || {
            // The forking thread's own pin counts.
            cell.replace(Some(Box::new(2)), &own);
            let pinned = collector.collect().unwrap();
            let stalled = collector.stalled();
            let is_own = stalled.len() == 1 && stalled[0].reader.life == Life::Exists;
            let tid = i64::from(stalled[0].reader.tid);
            // SAFETY: the call receives nothing (L1).
            let is_own = is_own && tid == i64::from(unsafe { libc::getpid() });
            *found == 1 && pinned.freed.objects == 0 && pinned.waits.objects == 1 && is_own
        },
    );
    assert!(passed);
    drop(own);
    let passed = in_child(
        |wait| {
            let _guard = collector.pin();
            wait();
        },
        || {
            cell.replace(None, &collector.pin());
            let collected = collector.collect().unwrap();
            collected.freed.objects == 1 && collector.stalled().is_empty()
        },
    );
    assert!(passed);
}

#[test]
fn a_childs_hazards_keep_at_most_an_object_for_each_thread_that_it_lacks() {
    let (domain, cell) = (Domain::new(), hazard::Shared::new(Box::new(1)));
    let passed = in_child(
        |wait| {
            let guard = cell.guard().unwrap();
            wait();
            assert_eq!(*guard, 1);
        },
        || {
            for round in 0..1_000 {
                cell.replace(Some(Box::new(round)), &domain);
            }
            let collected = domain.collect().unwrap();
            let held = domain.held();
            collected.waits.objects == 1 && held.len() == 1 && held[0].by.life == Life::Vanished
        },
    );
    assert!(passed);
}

/// What a vanished thread had retired and not handed over leaks, and does not count for good.
#[test]
fn a_child_does_not_count_what_vanished_threads_had_retired() {
    let collector = Collector::new();
    drop(collector.pin());
    let passed = in_child(
        |wait| {
            (0..5).for_each(|at| collector.pin().retire(Box::new(at)));
            wait();
        },
        || collector.collect().unwrap().waits.objects == 0,
    );
    assert!(passed);
}

/// Process 1 of a namespace is forked from process 1 of another one, whose other thread is pinned.
#[test]
fn a_child_with_its_parents_process_number_is_another_process() {
    let is_unshared = |what| {
        // SAFETY: the call receives a number (L1).
        unsafe { libc::unshare(what) == 0 }
    };
    let collector = Collector::with_limits(LIMITS);
    let first = || {
        let check = || {
            assert_eq!(std::process::id(), 1);
            collector.pin().retire(Box::new(1));
            let collected = collector.collect().unwrap();
            collected.freed.objects == 1 && collector.stalled().is_empty()
        };
        assert_eq!(std::process::id(), 1);
        let (pinned, is_pinned) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
        scope(|threads| {
            threads.spawn(|| {
                let _guard = collector.pin();
                pinned.wait();
                is_pinned.wait();
            });
            pinned.wait();
            let status =
                if is_unshared(libc::CLONE_NEWPID) { i32::from(!forked(check)) } else { REFUSED };
            is_pinned.wait();
            status
        })
    };
    let status = status_of_child(|| match is_unshared(libc::CLONE_NEWUSER | libc::CLONE_NEWPID) {
        true => status_of_child(first).unwrap_or(PANICKED),
        false => REFUSED,
    });
    if status == Some(REFUSED) {
        return skip!("process 1 of a namespace", "namespaces are refused");
    }
    assert_eq!(status, Some(0));
}

/// Forks while another thread is in latches, or has a batch in hand: a child never hangs, and a ticket is not over
/// while its only thread is pinned since before.
#[test]
fn forks_at_any_time_leave_a_child_that_works() {
    let (collector, domain) = (Collector::with_limits(LIMITS), Domain::with_limits(LIMITS));
    let is_over = AtomicBool::new(false);
    scope(|threads| {
        threads.spawn(|| {
            while !is_over.load(Relaxed) {
                collector.pin().retire(Box::new(1));
                domain.retire(Box::new(1));
                collector.collect().unwrap();
                for _ in 0..20 {
                    let _ = (collector.garbage(), domain.garbage());
                }
                drop((collector.stalled(), domain.held()));
            }
        });
        let all_passed = (0..300).all(|_| {
            let guard = collector.pin();
            let before = collector.ticket();
            forked(|| {
                domain.retire(Box::new(2));
                domain.collect().unwrap();
                let after = collector.ticket();
                guard.retire(Box::new(2));
                let _ = [(); 3].map(|()| collector.collect().unwrap());
                let is_early = before.is_over() || after.is_over();
                drop(guard);
                let _ = [(); 2].map(|()| collector.collect().unwrap());
                assert_eq!((is_early, before.is_over(), after.is_over()), (false, true, true));
                true
            })
        });
        is_over.store(true, Relaxed);
        assert!(all_passed);
    });
}
