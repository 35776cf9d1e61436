//! Locks with a bug are named by the survey's own checks, as what they are.

use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_atomic::{AtomicU32, AtomicU64, spin_loop};
use uncontended_bench::{Bench, Options, Place};
use uncontended_locks::{Backoff, Futex, Mcs, Mutex, Order, RawLock, SpinThenPark, Ticket, Ttas};
use uncontended_survey::locks::{Guarding, Inside, Subject, Work};

const WORK: Work = Work { inside: 4, outside: 0 };

/// Measures one lock for a moment; returns why it failed.
fn failure(mut subject: Subject) -> Option<String> {
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

/// Lets every thread in. (What it guards is an atomic, so that the test itself has no race.)
#[derive(Default)]
struct NoExclusion(AtomicU64);

impl Guarding for NoExclusion {
    fn around(inside: Inside) -> Self {
        NoExclusion(AtomicU64::new(inside.changes))
    }

    fn with<R>(&self, f: impl FnOnce(&mut Inside) -> R) -> R {
        let mut inside = Inside::default();
        inside.changes = self.0.load(Relaxed);
        std::thread::yield_now();
        let result = f(&mut inside);
        self.0.store(inside.changes, Relaxed);
        result
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
    let why = failure(Subject::of_guarding::<NoExclusion>(3, WORK)).expect("a failure");
    assert!(why.contains("it does not lock"), "{why}");
}

#[test]
fn a_lock_whose_waiter_is_never_woken_hangs() {
    let why = failure(Subject::of::<LostWakeup>(3, WORK)).expect("a failure");
    assert!(why.contains("hung: a block did not end within 2s"), "{why}");
}

/// Gives the lock back before the last write. (What it guards is an atomic, as above.)
#[derive(Default)]
struct EarlyUnlock(Mutex<AtomicU64, Ttas>);

impl Guarding for EarlyUnlock {
    fn around(inside: Inside) -> Self {
        EarlyUnlock(Mutex::with(Ttas::new(), AtomicU64::new(inside.changes)))
    }

    fn with<R>(&self, f: impl FnOnce(&mut Inside) -> R) -> R {
        let mut inside = Inside::default();
        let guard = self.0.lock();
        inside.changes = guard.load(Relaxed);
        let result = f(&mut inside);
        let value: *const AtomicU64 = &raw const *guard;
        drop(guard);
        std::thread::yield_now();
        // SAFETY: the mutex is borrowed by `self`, and the value in it is an atomic.
        unsafe { (*value).store(inside.changes, Relaxed) };
        result
    }
}

#[test]
fn a_lock_that_is_given_back_before_the_last_write_is_named() {
    let why = failure(Subject::of_guarding::<EarlyUnlock>(3, WORK)).expect("a failure");
    assert!(why.contains("it does not lock"), "{why}");
}

/// Hands over to any thread that comes, although it is said to keep the order of arrival.
#[test]
fn a_lock_that_does_not_keep_its_order_is_named() {
    let unfair = || Subject::of::<Ttas<Backoff>>(2, WORK);
    let tried = (0..5).find_map(|_| failure(unfair().promising(Order::Arrival)));
    let Some(why) = tried else {
        let why = "on this machine no thread overtook another, as with one CPU";
        return uncontended_testkit::skip(&"a_lock_that_does_not_keep_its_order_is_named", &why);
    };
    assert!(why.contains("does not keep the order"), "{why}");
    assert_eq!(failure(unfair()), None, "it promises nothing");
}

#[test]
fn a_lock_does_not_fail() {
    assert_eq!(failure(Subject::of::<Futex>(3, WORK)), None);
    assert_eq!(failure(Subject::of::<Mcs<SpinThenPark>>(3, WORK)), None);
    assert_eq!(failure(Subject::of::<Ticket>(2, WORK).promising(Order::Arrival)), None);
}
