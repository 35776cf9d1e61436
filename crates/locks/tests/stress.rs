//! Every lock with more threads than CPUs, whose holders lose their CPU: nothing is lost, and all come to an end.

#![cfg(not(unc_model))]

use std::time::{Duration, Instant};
use uncontended_atomic::{AtomicU32, Ordering::Relaxed};
use uncontended_locks::*;

/// Runs a test for each lock, and says for which.
struct Each<F>(F);

trait Test {
    fn test<L: RawLock + 'static>(&self, name: &str);
}

impl<F: Test> Visit for Each<F> {
    fn visit<L: RawLock + 'static>(&mut self, name: &'static str, _: Order, _: Waits) {
        self.0.test::<L>(name);
    }
}

struct Preempted;

impl Test for Preempted {
    fn test<L: RawLock + 'static>(&self, name: &str) {
        const THREADS: u64 = if cfg!(miri) { 2 } else { 4 };
        const ROUNDS: u64 = if cfg!(miri) { 3 } else { 60 };
        let total = Mutex::<(u64, u64), L>::default();
        let tried = AtomicU32::new(0);
        std::thread::scope(|threads| {
            for thread in 0..THREADS {
                let (total, tried) = (&total, &tried);
                threads.spawn(move || {
                    for round in 0..ROUNDS {
                        let mut both = total.lock();
                        both.0 += 1;
                        if (round + thread) % 16 == 0 {
                            std::thread::sleep(Duration::from_micros(200)); // It loses its CPU.
                        }
                        both.1 += 1;
                        drop(both);
                        if let Some(both) = total.try_lock() {
                            assert_eq!(both.0, both.1, "{name}");
                            tried.fetch_add(1, Relaxed);
                        }
                    }
                });
            }
        });
        assert_eq!(*total.lock(), (THREADS * ROUNDS, THREADS * ROUNDS), "{name}");
        assert!(!total.is_locked(), "{name}");
    }
}

#[test]
fn holders_that_lose_their_cpu_lose_no_update() {
    each(&mut Each(Preempted));
}

struct Conditions;

const VALUES: u32 = if cfg!(miri) { 4 } else { 200 };

impl Test for Conditions {
    fn test<L: RawLock + 'static>(&self, name: &str) {
        let (queue, changed) = (Mutex::<Vec<u32>, L>::default(), Condvar::new());
        let sum: u32 = std::thread::scope(|threads| {
            let workers: Vec<_> = (0..3)
                .map(|_| {
                    threads.spawn(|| {
                        let mut sum = 0;
                        loop {
                            let mut queue = queue.lock();
                            changed.wait_while(&mut queue, |queue| queue.is_empty());
                            match queue.pop() {
                                Some(0) | None => return sum,
                                Some(value) => sum += value,
                            }
                        }
                    })
                })
                .collect();
            for value in (1..=VALUES).rev().chain([0, 0, 0]) {
                // What ends them comes out last: the queue is a stack.
                queue.lock().insert(0, value);
                changed.notify_one();
            }
            workers.into_iter().map(|worker| worker.join().unwrap()).sum()
        });
        assert_eq!(sum, VALUES * (VALUES + 1) / 2, "{name}");
    }
}

#[test]
fn a_condition_variable_works_with_every_lock() {
    each(&mut Each(Conditions));
}

fn gives_up<L: Timed>() {
    let mutex = Mutex::with(L::default(), ());
    let guard = mutex.lock();
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let begun = Instant::now();
            let deadline = Deadline::after(Duration::from_millis(5));
            assert!(mutex.lock_deadline(deadline).is_err());
            assert!(begun.elapsed() >= Duration::from_millis(5));
        });
    });
    drop(guard);
    assert!(mutex.lock_deadline(Deadline::at_ns(0)).is_ok(), "a free one is taken, however late");
}

#[test]
fn a_wait_ends_at_its_deadline_and_never_earlier() {
    gives_up::<Tas>();
    gives_up::<Ttas>();
    gives_up::<Ttas<Backoff>>();
    gives_up::<Ttas<HintThenYield>>();
    gives_up::<Futex>();
    gives_up::<PreemptionAware>();
    gives_up::<Published>();
}

#[test]
fn small_locks_are_small() {
    let sizes = [size_of::<Tas>(), size_of::<Ttas>(), size_of::<Futex>(), size_of::<Ticket>()];
    assert_eq!(sizes, [1, 1, 4, 8]);
    assert_eq!([size_of::<PreemptionAware>(), size_of::<WordQueue>()], [4, 8]);
    assert_eq!(
        [size_of::<Mcs<SpinThenPark>>(), size_of::<Reciprocating>(), size_of::<Bounded>()],
        [16, 16, 32]
    );
    assert_eq!([size_of::<Clh>(), size_of::<Published>()], [24; 2]);
}

/// Guards and mutexes of `lock_api` work over each.
#[test]
fn each_is_a_raw_mutex_of_lock_api() {
    const ADDED: u64 = if cfg!(miri) { 5 } else { 1000 };
    static TOTAL: lock_api::Mutex<Mcs<SpinThenPark>, u64> = lock_api::Mutex::new(0);
    std::thread::scope(|threads| {
        (0..4).for_each(|_| {
            threads.spawn(|| (0..ADDED).for_each(|_| *TOTAL.lock() += 1));
        });
    });
    assert_eq!(*TOTAL.lock(), 4 * ADDED);
    let timed = lock_api::Mutex::<Futex, ()>::new(());
    let guard = timed.lock();
    assert!(timed.try_lock_for(Duration::from_millis(1)).is_none());
    drop(guard);
    assert!(timed.try_lock_until(Instant::now()).is_some());
}

/// More threads than CPUs hand closures over, some of which sleep or panic: none is lost, none is run twice, and a
/// panic is that of the thread whose closure it was.
#[test]
fn combining_runs_each_closure_once_and_gives_panics_back() {
    const THREADS: u64 = if cfg!(miri) { 2 } else { 4 };
    const ROUNDS: u64 = if cfg!(miri) { 6 } else { 400 };
    let sum = Combining::new(0_u64);
    let run = &|thread: u64, round: u64| {
        sum.run(|sum| {
            if round % 100 == 3 {
                std::thread::sleep(Duration::from_micros(200)); // The thread that runs it loses its CPU.
            }
            *sum += round;
            assert!(round % 50 != 5, "thread {thread}");
            *sum
        })
    };
    let panicked: u64 = std::thread::scope(|threads| {
        let threads = (0..THREADS).map(|thread| {
            threads.spawn(move || {
                let mut panicked = 0;
                for round in 0..ROUNDS {
                    let ran = std::panic::AssertUnwindSafe(|| run(thread, round));
                    if let Err(panic) = std::panic::catch_unwind(ran) {
                        let said = panic.downcast_ref::<String>().expect("a message");
                        assert_eq!(*said, format!("thread {thread}"));
                        panicked += 1;
                    }
                }
                panicked
            })
        });
        threads.collect::<Vec<_>>().into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(panicked, THREADS * (0..ROUNDS).filter(|round| round % 50 == 5).count() as u64);
    assert_eq!(sum.into_inner(), THREADS * ROUNDS * (ROUNDS - 1) / 2);
}
