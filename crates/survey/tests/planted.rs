//! Locks with a bug are named by the survey's own checks, as what they are.

use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_atomic::{AtomicBool, AtomicU32, spin_loop};
use uncontended_bench::{Bench, Options, Place};
use uncontended_locks::RawLock;
use uncontended_survey::locks::{Subject, Work};

/// Measures one lock for a moment; returns why it failed.
fn failure<L: RawLock + 'static>(threads: usize) -> Option<String> {
    let mut subject = Subject::of::<L>(threads, Work { inside: 4, outside: 0 });
    let bench = Bench::new("planted", "is it a lock")
        .places([Place::Free])
        .limit(std::time::Duration::from_secs(2))
        .subject("std", |block| {
            let n = block.operations();
            block.measure(|| (0..n).map(std::hint::black_box).sum::<u64>());
        })
        .subject("planted", move |block| subject.run(block));
    let options = Options { seconds: 3.0, quiet: true, rounds: 40, ..Options::default() };
    let report = bench.run(&options);
    let measured = report.tables[0].outcome.as_ref().unwrap();
    measured.rows.iter().find(|row| row.name == "planted").unwrap().failed.clone()
}

/// The test and the set are two steps.
#[derive(Default)]
struct NoExclusion(AtomicBool);

// SAFETY: it is not one: that is what is to be found.
unsafe impl RawLock for NoExclusion {
    fn lock(&self) {
        while !self.try_lock() {
            std::thread::yield_now();
        }
    }
    fn try_lock(&self) -> bool {
        let is_free = !self.0.load(Acquire);
        if is_free {
            std::thread::yield_now();
            self.0.store(true, Relaxed);
        }
        is_free
    }
    unsafe fn unlock(&self) {
        self.0.store(false, Release);
    }
    fn is_locked(&self) -> bool {
        self.0.load(Relaxed)
    }
}

/// Sleeps without a wakeup: a waiter stays asleep.
#[derive(Default)]
struct LostWakeup(AtomicU32);

// SAFETY: it excludes; who waits may wait forever.
unsafe impl RawLock for LostWakeup {
    fn lock(&self) {
        let mut looks = 0;
        while !self.try_lock() {
            looks += 1;
            if looks > 3 {
                loop {
                    std::thread::park();
                }
            }
            spin_loop();
        }
    }
    fn try_lock(&self) -> bool {
        self.0.compare_exchange(0, 1, Acquire, Relaxed).is_ok()
    }
    unsafe fn unlock(&self) {
        self.0.store(0, Release);
    }
    fn is_locked(&self) -> bool {
        self.0.load(Relaxed) != 0
    }
}

#[test]
fn a_lock_that_lets_two_in_is_named() {
    let why = failure::<NoExclusion>(3).expect("a failure");
    assert!(why.contains("it does not lock"), "{why}");
}

#[test]
fn a_lock_whose_waiter_is_never_woken_hangs() {
    let why = failure::<LostWakeup>(3).expect("a failure");
    assert!(why.contains("hung: a block did not end within 2s"), "{why}");
}

#[test]
fn a_lock_does_not_fail() {
    assert_eq!(failure::<uncontended_locks::Futex>(3), None);
    assert_eq!(failure::<uncontended_locks::Mcs<uncontended_locks::SpinThenPark>>(3), None);
}
