//! Every lock, used as it should not be, or when the system is unkind: guards that are forgotten, holders that panic
//! while others wait, forks, stops, far more threads than CPUs.

#![cfg(not(unc_model))]

use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::scope;
use std::time::Duration;
use uncontended_locks::*;

/// Runs a test for each lock, and says for which.
struct Each<F>(F);

trait Test {
    fn test<L: RawLock + 'static>(&self, name: &str);
    /// Only of locks whose waiters do not just spin.
    const SKIPS_SPINNERS: bool = false;
}

impl<F: Test> Visit for Each<F> {
    fn visit<L: RawLock + 'static>(&mut self, name: &'static str, _: Order, waits: Waits) {
        if !F::SKIPS_SPINNERS || waits != Waits::Spins {
            self.0.test::<L>(name);
        }
    }
}

struct Forgotten;

impl Test for Forgotten {
    fn test<L: RawLock + 'static>(&self, name: &str) {
        let mut mutex = Mutex::with(L::default(), String::from("kept"));
        forget(mutex.lock());
        assert!(mutex.is_locked() && mutex.try_lock().is_none(), "{name}");
        mutex.get_mut().push('!');
        assert_eq!(mutex.into_inner(), "kept!", "{name}");
        let mutex = Mutex::with(L::default(), String::from("kept"));
        forget(Guard::map(mutex.lock(), |text| text.as_mut_str()));
        assert!(mutex.try_lock().is_none(), "{name}");
        assert_eq!(mutex.into_inner(), "kept", "{name}");
    }
}

#[test]
fn a_guard_that_is_forgotten_keeps_the_lock_and_nothing_else() {
    each(&mut Each(Forgotten));
}

struct Panics;

/// Each holder panics, which gives the lock to the next.
impl Test for Panics {
    fn test<L: RawLock + 'static>(&self, name: &str) {
        let mutex = Mutex::with(L::default(), 0);
        let panics = || {
            let mut number = mutex.lock();
            *number += 1;
            // Unlike `panic!`, it writes no line.
            std::panic::resume_unwind(Box::new(*number));
        };
        scope(|threads| {
            for _ in 0..3 {
                threads.spawn(|| assert!(catch_unwind(AssertUnwindSafe(panics)).is_err()));
            }
        });
        assert!(!mutex.is_locked(), "{name}");
        assert_eq!(mutex.into_inner(), 3, "{name}");
    }
}

#[test]
fn a_holder_that_panics_gives_the_lock_to_those_that_wait() {
    each(&mut Each(Panics));
}

struct Crowd;

impl Test for Crowd {
    const SKIPS_SPINNERS: bool = true;

    fn test<L: RawLock + 'static>(&self, name: &str) {
        const THREADS: u32 = if cfg!(miri) { 3 } else { 48 };
        let mutex = Mutex::with(L::default(), 0);
        let guard = mutex.lock();
        scope(|threads| {
            for _ in 0..THREADS {
                threads.spawn(|| *mutex.lock() += 1);
            }
            drop(guard);
        });
        assert!(!mutex.is_locked(), "{name}");
        assert_eq!(mutex.into_inner(), THREADS, "{name}");
    }
}

#[test]
fn far_more_threads_than_cpus_all_get_the_lock() {
    each(&mut Each(Crowd));
}

/// The number of nodes that waiters leave behind does not grow with the number of those that gave up.
#[test]
fn waiters_that_give_up_leave_a_bounded_number_of_nodes() {
    let mutex = Mutex::with(Published::new(), 0);
    let raw = Published::new();
    RawLock::lock(&raw);
    let (times, us) = if cfg!(miri) { (70, 2000) } else { (300, 5) };
    let most = scope(|threads| {
        let gives_up = || {
            let tried = |_| raw.lock_deadline(Deadline::after(Duration::from_micros(us))).is_err();
            assert!((0..times).all(tried));
            raw.left()
        };
        threads.spawn(gives_up).join().unwrap()
    });
    assert!((1..=64).contains(&most), "{most}");
    // SAFETY: this thread took it above, and gives it back once.
    unsafe { RawLock::unlock(&raw) };
    assert!(!raw.is_locked() && raw.left() == 0);
    assert!(mutex.try_lock_for(Duration::ZERO).is_some());
}

#[cfg(all(target_os = "linux", not(miri), not(unc_portable)))]
mod processes {
    use super::*;
    use std::time::Instant;

    /// Runs `child` in a child of this process, which has this thread alone, and returns its status.
    fn forked(child: impl FnOnce() -> bool) -> i32 {
        // SAFETY: fork(2) (L1). The child takes locks and ends: no other thread of the parent's is needed.
        let pid = unsafe { libc::fork() };
        assert!(pid >= 0, "fork failed");
        if pid == 0 {
            let is_right = catch_unwind(AssertUnwindSafe(child)).unwrap_or(false);
            // SAFETY: _exit(2) ends this process (L1).
            unsafe { libc::_exit(i32::from(!is_right)) };
        }
        let mut status = 0;
        // SAFETY: waitpid(2), for a child of this process, into a variable of this thread (L1).
        assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
        status
    }

    struct Forks;

    impl Test for Forks {
        fn test<L: RawLock + 'static>(&self, name: &str) {
            let (free, held) = (Mutex::with(L::default(), 1), Mutex::with(L::default(), 1));
            let guard = held.lock();
            let status = forked(|| {
                *free.lock() += 1;
                let by_two = free.try_lock().is_some_and(|number| *number == 2);
                // The child has what the parent's thread had.
                let is_held = held.try_lock().is_none();
                drop(guard);
                by_two && is_held && held.try_lock().is_some()
            });
            assert_eq!(status, 0, "{name}");
            assert_eq!(*free.lock(), 1, "{name}: the child's was a copy");
        }
    }

    #[test]
    fn a_child_has_locks_of_its_own_as_they_were() {
        each(&mut Each(Forks));
    }

    #[test]
    fn a_child_gives_up_on_a_lock_whose_holder_stayed_in_the_parent() {
        fn scenario<L: Timed + 'static>() {
            let mutex = Mutex::with(L::default(), 0);
            let guard = mutex.lock();
            let status = forked(|| mutex.try_lock_for(Duration::from_millis(2)).is_none());
            assert_eq!(status, 0);
            drop(guard);
        }
        scenario::<Tas>();
        scenario::<Ttas>();
        scenario::<Ttas<Backoff>>();
        scenario::<Ttas<HintThenYield>>();
        scenario::<Futex>();
        scenario::<PreemptionAware>();
        scenario::<Published>();
    }

    struct Stops;

    /// Threads of a process that is stopped and continued, at any step of a hand-over, lose nothing.
    impl Test for Stops {
        const SKIPS_SPINNERS: bool = true;

        fn test<L: RawLock + 'static>(&self, name: &str) {
            // SAFETY: fork(2) (L1). The child makes threads of its own.
            let pid = unsafe { libc::fork() };
            assert!(pid >= 0, "fork failed");
            if pid == 0 {
                let mutex = Mutex::with(L::default(), 0);
                let end = Instant::now() + Duration::from_millis(12);
                let adds = || {
                    (0..).find(|_| {
                        *mutex.lock() += 1;
                        Instant::now() >= end
                    })
                };
                let added = scope(|threads| {
                    let others = [threads.spawn(adds), threads.spawn(adds)];
                    others.map(|other| other.join().ok().flatten().map_or(0, |last| last + 1))
                });
                // SAFETY: _exit(2) ends this process (L1).
                unsafe { libc::_exit(i32::from(*mutex.lock() != added[0] + added[1])) };
            }
            let mut status = 0;
            for _ in 0..20 {
                // SAFETY: kill(2) of a child that is not yet waited for (L1).
                unsafe { libc::kill(pid, libc::SIGSTOP) };
                std::thread::sleep(Duration::from_micros(200));
                // SAFETY: as above (L1).
                unsafe { libc::kill(pid, libc::SIGCONT) };
                std::thread::sleep(Duration::from_micros(300));
            }
            // SAFETY: waitpid(2), for a child of this process, into a variable of this thread (L1).
            assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
            assert_eq!(status, 0, "{name}");
        }
    }

    #[test]
    fn a_process_that_is_stopped_at_any_step_loses_nothing() {
        each(&mut Each(Stops));
    }
}
